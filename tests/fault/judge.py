"""The oracle of the harness: the conditions that must hold after every fault."""

import io
import json
import re
import shutil
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py

from fault.commands import Command
from fault.damage import datasets
from fault.process import Process, finish

LIMIT_S = 120.0
"""Longest time of a command here; undisturbed commands take less than three seconds."""
MEMORY = 256 << 20
"""Bytes that a command may use beyond those of its undisturbed run."""
CODES = range(6)
INTERRUPTED = 5
TEMPORARY = re.compile(r"\..+\.(tmp|lock)")


@dataclass(frozen=True)
class Answer:
    """The result of an undisturbed command."""

    out: bytes | None
    printed: bytes
    seconds: float
    memory: int
    own_seconds: float = 1.5


@dataclass
class Scene:
    """The folder of one fault: its files before the fault, and the fault.

    Attributes
    ----------
    damaged : tuple of str
        Inputs that differ from those of the pool, so another answer may be right.
    signals : tuple of int
        The signals that were sent.
    silent : bool
        Whether standard error could not be read, or standard output was no longer read.
    unprinted : bool
        Whether the printed text does not matter.
    extra : frozenset of str
        Names of files that may be in the folder afterwards.
    before : dict of str to bytes
        The files before the fault.
    """

    folder: Path
    command: Command
    out: Path | None
    damaged: tuple[str, ...] = ()
    signals: tuple[int, ...] = ()
    silent: bool = False
    unprinted: bool = False
    extra: frozenset[str] = frozenset()
    before: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def set(cls, folder: Path, command: Command, **more: Any) -> "Scene":
        """Record the files that are in the folder now."""
        scene = cls(folder, command, folder / command.out if command.out else None, **more)
        scene.before = files(folder)
        return scene


def files(folder: Path) -> dict[str, bytes]:
    """Return the regular files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and not path.is_symlink()}


def judge(scene: Scene, process: Process, answer: Answer) -> list[str]:
    """Return one line for each condition that does not hold after a command has ended."""
    wrong = _ending(scene, process) + _leftovers(scene)
    if process.memory > answer.memory + MEMORY:
        wrong.append(f"took {process.memory >> 20} MiB; undisturbed {answer.memory >> 20}")
    state = scene.out is not None and scene.out.name in scene.command.inputs
    for name, content in scene.before.items():
        if not (state or scene.out is not None and name == scene.out.name):
            if not (scene.folder / name).is_file() or (scene.folder / name).read_bytes() != content:
                wrong.append(f"changed {name}, which it only reads")
    found = scene.out.read_bytes() if scene.out is not None and scene.out.is_file() else None
    old = None if scene.out is None else scene.before.get(scene.out.name)
    if process.code == 0 and not scene.damaged:
        if not scene.command.timed and found != answer.out:
            wrong.append("exit code 0, but the output is not the undisturbed one")
        if not scene.unprinted and not same_print(scene.command, process.out, answer.printed):
            wrong.append("exit code 0, but it printed something else than undisturbed")
    if found == old:
        if process.code == 0 and old is None and scene.out is not None:
            wrong.append("exit code 0, but there is no output")
    elif found != answer.out:
        assert scene.out is not None
        wrong += incomplete(scene, scene.out)
    return wrong


def _ending(scene: Scene, process: Process) -> list[str]:
    """Judge exit code and standard error."""
    if process.hung:
        return ["did not end"]
    wrong, code = [], process.code
    lines = process.err.decode(errors="replace").splitlines()
    told = [line for line in lines if line.startswith("gpukit: interrupted")]
    # Before a command watches for signals, and after its work, Python answers them in its own way.
    if code not in CODES and (told or -(code or 0) not in scene.signals):
        wrong.append(f"ended with {code}" if code >= 0 else f"died of {signal.Signals(-code).name}")
        wrong += [f"its last word: {line[:300]}" for line in lines[-1:]]
    if strange := [line for line in lines if not line.startswith("gpukit: ")]:
        wrong.append(f"standard error: {strange[-1][:200]!r}, {len(lines)} lines")
    errors = [line for line in lines if line.startswith("gpukit: error")]
    if code in (1, 2, 3, 4) and not scene.silent and len(errors) != 1:
        wrong.append(f"exit code {code} with {len(errors)} lines of error")
    if code == INTERRUPTED and (not scene.signals and not scene.silent or len(told) != 1 and not scene.silent):
        wrong.append(f"exit code 5 after {scene.signals or 'no signal'} with {len(told)} lines that say so")
    if code == 0 and errors:
        wrong.append(f"exit code 0, but {errors[0]!r}")
    return wrong


def _leftovers(scene: Scene) -> list[str]:
    """Judge new files in the folder: only SIGKILL may leave files, which must be temporary ones."""
    allowed = set(scene.before) | scene.extra | ({scene.out.name} if scene.out else set())
    left = {path.name for path in scene.folder.iterdir()} - allowed
    if signal.SIGKILL in scene.signals:
        left = {name for name in left if not TEMPORARY.fullmatch(name)}
    return [f"left {', '.join(sorted(left))} behind"] if left else []


def incomplete(scene: Scene, path: Path) -> list[str]:
    """Return the faults of an output that is neither the old one nor the undisturbed one."""
    if path.suffix == ".h5":
        check = run_undisturbed(["verify", path.name], scene.folder)
        return [] if check.code == 0 else [f"the output is broken: {check.err.decode(errors='replace').strip()[-200:]}"]
    if path.suffix == ".json":
        try:
            json.loads(path.read_bytes())
        except ValueError as error:
            return [f"the output is no JSON: {error}"]
        return []
    if scene.damaged and path.stat().st_size:
        return []
    return ["the output is neither the old one nor the undisturbed one"]


def same_answer(one: bytes | None, other: bytes | None) -> bool:
    """Return whether two outputs are equal, except that artifacts may name inputs with other digests."""
    signature = b"\x89HDF\r\n\x1a\n"
    if one is None or other is None or not (one.startswith(signature) and other.startswith(signature)):
        return one == other
    found = []
    for content in (one, other):
        with h5py.File(io.BytesIO(content)) as file:
            found.append({name: item[()].tobytes() for name, item in datasets(file).items()})
    return found[0] == found[1]


def run_undisturbed(words: list[str], folder: Path) -> Process:
    """Run a command to its end in a fork."""
    process = Process(words, folder).start()
    finish([process], LIMIT_S)
    return process


def refused(path: Path) -> str:
    """Return the reason why ``gpukit verify`` refuses an artifact; empty if it does not."""
    aside = path.parent / "aside"
    aside.mkdir()
    shutil.copy(path, aside)
    for other in path.parent.glob(f"{path.stem}.*"):  # what a disguised artifact points at
        shutil.copy(other, aside)
    check = run_undisturbed(["verify", path.name], aside)
    shutil.rmtree(aside)
    return "" if check.code == 0 else check.err.decode(errors="replace").strip() or f"it ends with {check.code}"


_TIMES = re.compile(r"time_s|.*_s|.*memory.*|device|versions|machine|command")


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if not _TIMES.fullmatch(key)}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


def same_print(command: Command, one: bytes, other: bytes) -> bool:
    """Return whether two printed texts are equal, except for times and free memory, which other processes change.

    Of summaries for people only the lines without such values are compared.
    """
    if command.timed:
        return True
    if "--json" in command.words:
        try:
            return bool(_timeless(json.loads(one)) == _timeless(json.loads(other)))
        except ValueError:
            return False
    plain = [[line for line in text.splitlines() if not re.search(rb"\btime\b|\bfree$", line)] for text in (one, other)]
    return plain[0] == plain[1]
