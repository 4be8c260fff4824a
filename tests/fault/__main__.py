"""``python -m fault``: make faults, judge the results, and count them.

``--seed`` and ``--first`` select the faults, and ``--count`` is their number; the same numbers make the same faults.
``--record`` adds the counts to a file. ``--keep`` names the folder that keeps failed faults for inspection.
"""

import argparse
import json
import os
import pickle
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from fault import counts, workflow
from fault.commands import Command, commands, provide, write_sources
from fault.faults import Stage, choose, strike
from fault.judge import Answer, run_undisturbed
from fault.process import import_commands, serve

WORKFLOW_EVERY = 50
"""With ``--workflow``, one fault in this many strikes the workflow."""


def needed(asked: argparse.Namespace) -> list[Command]:
    """Return the commands that the requested faults strike, and those that make their inputs, in order."""
    struck = {choose(asked.seed, number)[1] for number in range(asked.first, asked.first + asked.count)}
    wanted: set[str] = set()
    found = []
    for command in reversed(commands()):
        if command in struck or wanted & {command.out, command.kept} and command.out not in command.inputs:
            found.append(command)
            wanted.update(command.inputs)
    return found[::-1]


def prepare(pool: Path, wanted: list[Command]) -> None:
    """Run commands undisturbed; keep their files, what they print, their time and their memory."""
    write_sources(pool)
    answers = {}
    for command in wanted:
        trial = pool / "trial"
        trial.mkdir()
        provide(command, pool, trial)
        done = run_undisturbed(list(command.words), trial)
        if done.code != 0:
            words = " ".join(command.words)
            raise SystemExit(f"undisturbed, gpukit {words} ends with {done.code}: {done.err.decode()}")
        out = (trial / command.out).read_bytes() if command.out else None
        if command.out and command.out not in command.inputs:
            shutil.copyfile(trial / command.out, pool / command.out)
        if command.kept:
            (pool / command.kept).write_bytes(done.out)
        answers[command] = Answer(out, done.out, done.seconds, done.memory)
        shutil.rmtree(trial)
    (pool / "answers").write_bytes(pickle.dumps(answers))


def work(asked: argparse.Namespace) -> int:
    """Make every ``jobs``-th of the requested faults, in one process, and print a line of JSON for each."""
    root = Path(asked.keep)
    folder = root / f"job-{asked.job}"
    folder.mkdir()
    os.environ["TMPDIR"] = str(folder)
    os.environ["XDG_CACHE_HOME"] = str(root / "cache")  # leave the user's cache alone
    tempfile.tempdir = None
    import_commands()
    pool = root / "pool"
    if asked.job == asked.jobs:
        pool.mkdir()
        prepare(pool, needed(asked))
        return 0
    stage = Stage(pool, pickle.loads((pool / "answers").read_bytes()), folder)
    for number in range(asked.first + asked.job, asked.first + asked.count, asked.jobs):
        if asked.workflow and number % WORKFLOW_EVERY == 0:
            verdict = workflow.strike(root, asked.seed, number)
        else:
            verdict = strike(stage, asked.seed, number)
        print(json.dumps({"number": number, **asdict(verdict)}), flush=True)
    return 0


def start(arguments: list[str], job: int, keep: Path) -> subprocess.Popen[str]:
    """Start a process of the harness that Ctrl-C in the terminal does not reach."""
    words = [sys.executable, "-m", "fault", *arguments, "--job", str(job), "--keep", str(keep)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)


def lead(asked: argparse.Namespace, arguments: list[str]) -> int:
    """Start the other processes, print failures as they happen, and count."""
    began = time.monotonic()
    keep = Path(asked.keep or tempfile.mkdtemp(prefix="gpukit-fault-"))
    keep.mkdir(exist_ok=True)
    running = [start(arguments, asked.jobs, keep)]
    verdicts = []
    try:
        if running[0].wait():
            return 1
        print(f"undisturbed: {time.monotonic() - began:.0f} s; now {asked.count} faults", flush=True)
        if asked.workflow:
            workflow.prepare(keep)
        running = [start(arguments, job, keep) for job in range(asked.jobs)]
        with selectors.DefaultSelector() as ready:
            for process in running:
                ready.register(process.stdout, selectors.EVENT_READ)
            while ready.get_map():
                for key, _ in ready.select():
                    line = key.fileobj.readline()
                    if not line:
                        ready.unregister(key.fileobj)
                        continue
                    verdict = json.loads(line)
                    verdicts.append(verdict)
                    if verdict["wrong"]:
                        print(f"FAULT {asked.seed}/{verdict['number']}  {verdict['fault']}  {verdict['said']}")
                        print("".join(f"    {text}\n" for text in verdict["wrong"]), end="", flush=True)
        broken = any([process.wait() for process in running])
    finally:
        for process in running:
            process.kill()
        for disk in keep.glob("job-*/disk"):
            subprocess.run(["umount", "-l", str(disk)], capture_output=True)
    return conclude(asked, verdicts, keep, broken or len(verdicts) < asked.count, time.monotonic() - began)


def conclude(asked: argparse.Namespace, verdicts: list[dict], keep: Path, broken: bool, seconds: float) -> int:
    """Print the counts, add them to the record, and clean up."""
    for reason in sorted({verdict["skipped"] for verdict in verdicts if verdict["skipped"]}):
        number = sum(verdict["skipped"] == reason for verdict in verdicts)
        print(f"SKIPPED {number} faults: {reason}")
    sitting = counts.sitting(asked.seed, asked.first, verdicts, seconds)
    print(counts.lines(sitting))
    if broken:
        print("the harness itself failed: not every fault was judged")
        return 1
    if asked.record:
        counts.add(Path(asked.record), "faults", sitting)
    if sitting["failed"]:
        print(f"what is left of failed faults: {keep}; again: make fault SEED={asked.seed} FIRST=NUMBER FAULTS=1")
        return 1
    shutil.rmtree(keep)
    return 0


def with_mounts(arguments: list[str]) -> None:
    """Restart as root in a separate mount namespace: any user may then mount, and mounts end with the process."""
    if "GPUKIT_FAULT_NAMESPACE" in os.environ or not (unshare := shutil.which("unshare")):
        return
    words = [unshare, "--mount"] + (["--user", "--map-root-user"] if os.geteuid() else [])
    if subprocess.run([*words, "true"], capture_output=True).returncode == 0:
        os.environ["GPUKIT_FAULT_NAMESPACE"] = "1"
        os.execv(unshare, [*words, sys.executable, "-m", "fault", *arguments])


def main() -> int:
    """Parse the options and begin."""
    parser = argparse.ArgumentParser(prog="python -m fault", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="number of the first fault")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--workflow", action="store_true", help=f"every {WORKFLOW_EVERY}th fault is the workflow's")
    parser.add_argument("--record", help="JSON file to add the counts to")
    parser.add_argument("--keep", help="folder to work in; failed faults stay there")
    parser.add_argument("--job", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job is not None:
        return serve(lambda: work(asked))
    with_mounts(sys.argv[1:])
    return lead(asked, sys.argv[1:])


sys.exit(main())
