"""Faults of the whole workflow: it is killed or fills its disk, and runs again; it must not end with wrong results."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from fault.faults import Verdict
from fault.judge import TEMPORARY

ROOT = Path(__file__).parents[2]
CONFIG = """
graphs:
  - {name: tiny, edges: tiny.txt, undirected: true, models: [ic], systems: [gim]}
gim: {k: 3, epsilon: 0.3, min_sets: 2000}
baselines: [degree]
evaluate: {prefixes: [1, 3], runs: 400}
"""
LIMIT_S = 900.0
KINDS = ("SIGKILL", "SIGTERM", "SIGINT", "full disk")


def _command(*options: str) -> list[str]:
    words = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "--configfile", "mine.yaml"]
    return [*words, "--cores", "2", *options]


def _log(folder: Path) -> Path:
    """Return the file for Snakemake's messages; it is outside the folder, whose disk may be full."""
    return folder.with_suffix(".log")


def _start(folder: Path, *options: str) -> subprocess.Popen[Any]:
    with open(_log(folder), "ab") as log:
        return subprocess.Popen(_command(*options), cwd=folder, stdout=log, stderr=log, start_new_session=True)


def _finish(process: subprocess.Popen[Any], limit_s: float = LIMIT_S) -> int | None:
    """Wait for a workflow; kill all its processes if it takes too long."""
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def _set(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    ring = [(v, (v + 1) % 30) for v in range(30)] + [(7, v) for v in range(12, 28)]
    (folder / "tiny.txt").write_text("".join(f"{100 + u} {100 + v}\n" for u, v in ring))
    (folder / "mine.yaml").write_text(CONFIG)
    return folder


def _answers(folder: Path) -> dict[str, bytes]:
    """Return the artifacts of a run, and only the names of other files; skip temporary files that SIGKILL left."""
    found = {}
    for path in (folder / "results").rglob("*"):
        inside = path.relative_to(folder / "results")
        aside = inside.parts[0] in ("logs", "benchmarks", "warm-up") or TEMPORARY.fullmatch(path.name)
        if path.is_file() and not aside:
            found[str(inside)] = path.read_bytes() if path.suffix == ".h5" else b""
    return found


def prepare(keep: Path) -> None:
    """Run the workflow undisturbed, twice; the second run has everything compiled, so its time is taken."""
    for name in ("workflow-first", "workflow"):
        folder = _set(keep / name)
        began = time.monotonic()
        if _finish(_start(folder)) != 0:
            raise SystemExit(f"undisturbed, the workflow fails: see {_log(folder)}")
        (folder / "seconds").write_text(str(time.monotonic() - began))


def strike(root: Path, seed: int, number: int) -> Verdict:
    """Disturb a run of the workflow, run it again, and compare the results."""
    draw = Random(f"gpukit workflow {seed}/{number}")
    kind = draw.choice(KINDS)
    verdict = Verdict("workflow", f"workflow: {kind}")
    folder = root / f"workflow-{seed}-{number}"
    whole = root / "workflow"
    folder.mkdir()
    if kind == "full disk" and not _small(folder, room := draw.randrange(16, 400)):
        verdict.skipped = "mounting a small disk needs root or user namespaces (unshare)"
        return verdict
    _set(folder)
    process = _start(folder)
    if kind == "full disk":
        verdict.said = f"{room} KiB of room"
        code = _finish(process)
    else:
        everyone, after = draw.random() < 0.5, draw.random() * float((whole / "seconds").read_text())
        verdict.said = f"after {after:.2f} s, " + ("the whole group" if everyone else "snakemake alone")
        time.sleep(after)
        verdict.late = process.poll() is not None
        if not verdict.late:
            (os.killpg if everyone else os.kill)(process.pid, signal.Signals[kind])
        code = _finish(process)
        _wait_for_jobs(folder)
    if kind == "full disk":
        subprocess.run(["mount", "-o", "remount,size=1g", str(folder)], check=True)
    verdict.wrong = _again(folder, whole, code)
    if kind == "full disk":
        subprocess.run(["umount", "-l", str(folder)], check=True)
    if not verdict.wrong:
        shutil.rmtree(folder)
        _log(folder).unlink()
    return verdict


def _small(folder: Path, room: int) -> bool:
    words = ["mount", "-t", "tmpfs", "-o", f"size={room}k", "tmpfs", str(folder)]
    return subprocess.run(words, capture_output=True).returncode == 0


def _wait_for_jobs(folder: Path) -> None:
    """Wait for the jobs of a snakemake that was killed alone."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if not any(_works_in(entry, folder) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
            return
        time.sleep(0.1)


def _works_in(entry: Path, folder: Path) -> bool:
    try:
        return (entry / "cwd").resolve() == folder.resolve()
    except OSError:
        return False


def _again(folder: Path, whole: Path, code: int | None) -> list[str]:
    """Run again without options or, if that is refused, as Snakemake's message says; return what is wrong."""
    wrong = ["did not end"] if code is None else []
    wanted = _answers(whole)
    if code == 0 and _answers(folder) != wanted:
        wrong.append("exit code 0 at once, but not the undisturbed results")
    code = _finish(_start(folder))
    if code == 0 and _answers(folder) != wanted:
        wrong.append("exit code 0 the second time, but not the undisturbed results")
    if code != 0:
        _finish(_start(folder, "--unlock"))
        code = _finish(_start(folder, "--rerun-incomplete"))
        if code != 0 or _answers(folder) != wanted:
            wrong.append(f"unlocked and with --rerun-incomplete: exit code {code}, {_difference(folder, wanted)}")
    return wrong


def _difference(folder: Path, wanted: dict[str, bytes]) -> str:
    found = _answers(folder)
    missing = sorted(wanted.keys() - found.keys())
    other = sorted(name for name in wanted.keys() & found.keys() if wanted[name] != found[name])
    return f"missing {missing[:3]}, different {other[:3]}, more {sorted(found.keys() - wanted.keys())[:3]}"
