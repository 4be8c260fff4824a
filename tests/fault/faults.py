"""The kinds of faults, and one fault from its seed and number to its judgement."""

import errno
import os
import resource
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from fault import damage
from fault.commands import Command, commands, provide
from fault.judge import LIMIT_S, Answer, Scene, files, judge, refused, run_undisturbed, same_answer
from fault.process import Process, finish, limit, starve

SMALL_DISK = 2 << 20
ENDS_S = 20.0
"""Time to end after SIGINT or SIGTERM; on an idle machine it takes three seconds."""


class Skipped(Exception):
    """A fault that cannot be made here; the message says why."""


@dataclass
class Verdict:
    """The result of one fault."""

    command: str
    fault: str
    said: str = ""
    wrong: list[str] = field(default_factory=list)
    late: bool = False
    skipped: str = ""


@dataclass
class Stage:
    """The undisturbed files and answers, and the folder in which this process makes faults."""

    pool: Path
    answers: dict[Command, Answer]
    folder: Path

    def scene(self, command: Command, draw: Random, name: str, small: bool = False) -> Scene:
        """Set up a folder for a command; in half of the cases it has an older output with other bytes."""
        folder = (self.small_disk() if small else self.folder) / name
        folder.mkdir(parents=True)
        provide(command, self.pool, folder)
        if command.out and command.out not in command.inputs and draw.random() < 0.5:
            older = self.answers[command].out
            assert older is not None
            (folder / command.out).write_bytes(older + b"\n")
        return Scene.set(folder, command)

    def small_disk(self) -> Path:
        """Return a file system of 2 MiB, mounted once."""
        disk = self.folder / "disk"
        if not disk.is_dir():
            disk.mkdir()
            words = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(disk)]
            if subprocess.run(words, capture_output=True).returncode:
                disk.rmdir()
                raise Skipped("mounting a small disk needs root or user namespaces (unshare)")
        return disk


def kill(stage: Stage, scene: Scene, draw: Random, verdict: Verdict) -> list[str]:
    """Send one or two signals, at a random time or as soon as a temporary file exists."""
    number = signal.Signals[verdict.fault]
    answer = stage.answers[scene.command]
    own = draw.random() < 0.1
    writing = bool(scene.command.out) and draw.random() < 0.3
    again = number != signal.SIGKILL and draw.random() < 0.25
    after = draw.random() * (answer.own_seconds if own else answer.seconds)
    verdict.said = ("while it writes" if writing else f"after {after:.3f} s") + (", twice" if again else "")
    verdict.said += ", in a process of its own" if own else ""
    scene.signals = (number,)
    sent: list[float] = []
    begun: list[float] = []

    def step() -> None:
        now = time.monotonic()
        if process.code is not None:
            return
        if not begun:
            if number == signal.SIGKILL or process.listens():
                begun.append(now)
        elif not sent:
            written = writing and any(entry.name.endswith(".tmp") for entry in os.scandir(scene.folder))
            if written or not writing and now - begun[0] >= after:
                process.send(number)
                sent.append(now)
        elif again and len(sent) == 1 and now - sent[0] > 0.01:
            process.send(number)
            sent.append(now)
        elif now - sent[0] > ENDS_S and not slow:
            slow.append(f"still ran {ENDS_S:.0f} s after {number.name}")

    slow: list[str] = []
    process = Process(scene.command.words, scene.folder, own=own).start()
    finish([process], LIMIT_S, step)
    verdict.late = not sent
    return slow + judge(scene, process, answer)


def no_room(stage: Stage, scene: Scene, draw: Random, verdict: Verdict) -> list[str]:
    """Limit the size of files to a few bytes."""
    answer = stage.answers[scene.command]
    room = int(draw.random() * 1.2 * len(answer.out or b""))
    verdict.said = f"files of {room} bytes at most"
    process = Process(scene.command.words, scene.folder, limit(resource.RLIMIT_FSIZE, room)).start()
    finish([process], LIMIT_S)
    return judge(scene, process, answer)


def full_disk(stage: Stage, scene: Scene, draw: Random, verdict: Verdict) -> list[str]:
    """Write to a disk that has a few free pages."""
    answer = stage.answers[scene.command]
    pages = draw.randrange(len(answer.out or b"") // 4096 + 4)
    verdict.said = f"{pages} pages left"
    filler = scene.folder / "filler"
    free = os.statvfs(scene.folder)
    with open(filler, "wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, max(1, (free.f_bavail - pages) * free.f_bsize))
    scene.before["filler"] = filler.read_bytes()
    process = Process(scene.command.words, scene.folder).start()
    finish([process], LIMIT_S)
    scene.before.pop("filler")
    filler.unlink()
    return judge(scene, process, answer)


def streams(stage: Stage, scene: Scene, draw: Random, verdict: Verdict) -> list[str]:
    """Give standard streams that are full, closed or no longer read."""
    kind = verdict.said = draw.choice(("output full", "output closed", "not read on", "input closed", "error closed"))

    def prepare() -> None:
        if kind == "output full":
            os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        elif kind.endswith("closed"):
            os.close(("input closed", "output closed", "error closed").index(kind))

    scene.silent = kind in ("not read on", "error closed")
    scene.unprinted = kind in ("output full", "output closed", "not read on")
    process = Process(scene.command.words, scene.folder, prepare).start()
    if kind == "not read on":
        process.deafen()
    finish([process], LIMIT_S)
    wrong = judge(scene, process, stage.answers[scene.command])
    if kind in ("output full", "output closed") and process.code == 0 and stage.answers[scene.command].printed:
        wrong.append("exit code 0, but nobody got what it printed")
    return wrong


def memory(stage: Stage, scene: Scene, draw: Random, verdict: Verdict) -> list[str]:
    """Limit the address space."""
    extra = int(2 ** draw.uniform(20, 31))
    verdict.said = f"{extra >> 20} MiB more than at the start"
    scene.unprinted = scene.command.words[0] == "doctor"  # it may well say that something is missing
    process = Process(scene.command.words, scene.folder, starve(extra)).start()
    finish([process], LIMIT_S)
    return judge(scene, process, stage.answers[scene.command])


def damaged(change: Callable[[Path, Random], str], artifact: bool) -> Callable[..., list[str]]:
    """Return the fault that damages one input."""

    def fault(stage: Stage, scene: Scene, draw: Random, verdict: Verdict) -> list[str]:
        command, answer = scene.command, stage.answers[scene.command]
        name = draw.choice([one for one in command.inputs if one.endswith(".h5") or not artifact])
        path = scene.folder / name
        digest = _digest(path) if artifact else ""
        verdict.said = f"{name}: {change(path, draw)}"
        scene.damaged, scene.before = (name,), files(scene.folder)
        process = Process(command.words, scene.folder).start()
        finish([process], LIMIT_S)
        if path.read_bytes() != scene.before[name] and path != scene.out:
            return [f"changed {name}"]
        path.write_bytes(scene.before[name])
        wrong = judge(scene, process, answer)
        if process.code == 0 and name.endswith(".h5") and command.words[0] not in ("inspect", "diff", "report"):
            found = None if scene.out is None else scene.out.read_bytes()
            other = not command.timed and not same_answer(found, answer.out)
            # What a command does not read is none of its business, so long as its answer is that of the sound file.
            if other and (why := refused(path)):
                wrong.append(f"another answer, exit code 0, from an input that verify refuses: {why[-200:]}")
            elif other and artifact and digest == _digest(path):
                wrong.append("another answer from an input of the same digest")
        return wrong

    return fault


def _digest(path: Path) -> str:
    from gpukit.artifacts import store

    return store.read_header(path).payload


def two(stage: Stage, scene: Scene, draw: Random, verdict: Verdict) -> list[str]:
    """Run a command twice concurrently, with the same output or the same state; one of the two may be killed."""
    command, answer = scene.command, stage.answers[scene.command]
    delay, killed = draw.random() * answer.seconds, draw.random() < 0.3
    number = draw.choice((signal.SIGKILL, signal.SIGTERM))
    verdict.said = f"the second {delay:.3f} s later" + (f", the first ended by {number.name}" if killed else "")
    first = Process(command.words, scene.folder).start()
    begun = time.monotonic()
    while time.monotonic() - begun < delay:
        first.poll()
    second = Process(command.words, scene.folder).start()
    if killed:
        first.send(number)
    finish([first, second], LIMIT_S)
    state = command.out in command.inputs
    wanted = answer
    if state and second.code == 0 and (scene.folder / str(command.out)).read_bytes() != answer.out:
        # The first came to its end, killed later or not, and the second went on from there.
        again = stage.folder / "again"
        again.mkdir()
        provide(command, stage.pool, again)
        for _ in range(2):
            run_undisturbed(list(command.words), again)
        wanted = replace(answer, out=(again / str(command.out)).read_bytes())
        shutil.rmtree(again)
    elif state and (first.code, second.code) == (0, 0):
        return ["both ended with 0, but the state holds one of the two observations"]
    wrong = []
    for process, sent in ((first, (number,) if killed else ()), (second, ())):
        scene.signals = (number,) if killed else ()
        scene.unprinted = state
        wrong += judge(scene, process, wanted)
        locked = command.words[0] == "merit" and b"another process works on" in process.err
        if process.code and not sent and not locked and not (state and process.code in (2, 3)):
            wrong.append(f"one of two ended with {process.code}")
    return wrong


def odd_output(stage: Stage, scene: Scene, draw: Random, verdict: Verdict) -> list[str]:
    """Name an output that is no regular file: a pipe, a device, a folder, a link, or an input."""
    command, answer = scene.command, stage.answers[scene.command]
    kinds = ["pipe", "device", "folder", "missing folder", "link", "dangling link", "long name"]
    kind = draw.choice(kinds + (["input", "link to input", "hard link to input"] if command.inputs else []))
    suffix = Path(str(command.out)).suffix
    path = scene.folder / f"odd{suffix}"
    given = draw.choice(command.inputs) if command.inputs else ""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        except PermissionError:
            raise Skipped("making a device needs root") from None
    elif kind == "folder":
        path.mkdir()
    elif kind == "missing folder":
        path = scene.folder / "missing" / path.name
    elif kind == "link":
        (scene.folder / "target").write_bytes(b"old")
        path.symlink_to("target")
    elif kind == "dangling link":
        path.symlink_to("target")
    elif kind == "long name":
        path = scene.folder / ("x" * (255 - len(suffix)) + suffix)
    elif kind == "input":
        path = scene.folder / given
    elif kind == "link to input":
        path.symlink_to(given)
    else:
        os.link(scene.folder / given, path)
    verdict.said = kind
    name = str(path.relative_to(scene.folder))
    words = [name if word == command.out else word for word in command.words]
    before = path.lstat() if os.path.lexists(path) else None
    content = files(scene.folder)
    scene.before = content
    process = Process(words, scene.folder).start()
    finish([process], LIMIT_S)
    scene.extra, scene.out, scene.unprinted = frozenset({"target", path.name}), None, True  # it prints the name
    wrong = _only(judge(scene, process, answer), "exit code 0, but the output", "target, which")
    if kind in ("pipe", "device", "folder", "link", "dangling link", "link to input"):
        after = path.lstat() if os.path.lexists(path) else None
        if before is None or after is None or (before.st_mode, before.st_ino) != (after.st_mode, after.st_ino):
            wrong.append(f"destroyed the {kind} that --out names")
    if process.code == 0 and kind in ("device", "folder", "missing folder", "input", "link to input"):
        wrong.append(f"exit code 0 with an output that is a {kind}")
    return wrong


def _only(wrong: list[str], *without: str) -> list[str]:
    return [line for line in wrong if not any(text in line for text in without)]


def _writes(command: Command) -> bool:
    return command.out is not None and command.out not in command.inputs


def _reads(command: Command) -> bool:
    return any(name.endswith(".h5") for name in command.inputs)


# name: (weight, what it does, which commands it may strike)
KINDS: dict[str, tuple[int, Callable[..., list[str]], Callable[[Command], bool]]] = {
    "SIGKILL": (10, kill, lambda command: True),
    "SIGTERM": (10, kill, lambda command: True),
    "SIGINT": (10, kill, lambda command: True),
    "file size limit": (8, no_room, lambda command: command.out is not None),
    "full disk": (8, full_disk, lambda command: command.out is not None),
    "streams": (6, streams, lambda command: True),
    "memory": (8, memory, lambda command: True),
    "cut off": (4, damaged(damage.truncate, False), lambda command: bool(command.inputs)),
    "flipped": (6, damaged(damage.flip, False), lambda command: bool(command.inputs)),
    "wiped": (4, damaged(damage.wipe, False), lambda command: bool(command.inputs)),
    "appended": (2, damaged(damage.grow, False), lambda command: bool(command.inputs)),
    "right checksums": (16, damaged(damage.lie, True), _reads),
    "disguised storage": (4, damaged(damage.disguise, True), _reads),
    "two on one output": (6, two, lambda command: _writes(command) and not command.timed),
    "two on one state": (3, two, lambda command: command.out in command.inputs),
    "odd output": (5, odd_output, _writes),
}


def choose(seed: int, number: int) -> tuple[str, Command, Random]:
    """Return the kind of a fault, the command that it strikes, and the generator of its other draws."""
    draw = Random(f"gpukit fault {seed}/{number}")
    kind = draw.choices(list(KINDS), [weight for weight, _, _ in KINDS.values()])[0]
    suitable = [command for command in commands() if KINDS[kind][2](command)]
    # Benchmarks take fifty times as long as what they time.
    command = draw.choices(suitable, [0.1 if command.timed else 1.0 for command in suitable])[0]
    return kind, command, draw


def strike(stage: Stage, seed: int, number: int) -> Verdict:
    """Make one fault; it depends on seed and number, and on the timing of processes."""
    kind, command, draw = choose(seed, number)
    fault = KINDS[kind][1]
    verdict = Verdict(command.name, kind)
    name = f"{seed}-{number}"
    scene = None
    try:
        scene = stage.scene(command, draw, name, small=kind == "full disk")
        verdict.wrong = fault(stage, scene, draw, verdict)
    except Skipped as reason:
        verdict.skipped = str(reason)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        verdict.skipped = "the small disk is too small for the inputs"
    if scene is not None and (not verdict.wrong or kind == "full disk"):
        shutil.rmtree(scene.folder)
    if verdict.wrong:
        verdict.said += f" [gpukit {' '.join(command.words)}]"
    return verdict
