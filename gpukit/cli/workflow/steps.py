"""Run the commands of a longer task in a folder, one after another; outputs that are up to date are kept."""

import hashlib
import json
import logging
import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpukit import __version__
from gpukit.cli.batch import run_command
from gpukit.cli.common import Run
from gpukit.cli.graph.edge_lists import digest_of
from gpukit.errors import UsageError
from gpukit.files import write_text

_log = logging.getLogger("gpukit")

STATE = "steps.json"
"""The file that records what each output was made from; it is in the folder of the outputs."""


class Steps:
    """The steps of a task. An output is up to date as long as its command, its inputs and the version are unchanged.

    Parameters
    ----------
    folder : Path
        A new folder, an empty one, or one with an earlier run of the task.
    run : Run
        Provides the device options of the commands, and records their times.
    count : int
        Number of steps, for the log.

    Attributes
    ----------
    files : Path
        The folder of the outputs, inside ``folder``.
    lines : list of str
        The commands, as a user would type them.
    made, kept : list of str
        The outputs that were made, and those that were kept.

    Raises
    ------
    UsageError
        If the folder has other files.
    """

    def __init__(self, folder: Path, run: Run, count: int) -> None:
        self.folder, self.files = folder, folder / "files"
        state = self.files / STATE
        if folder.exists() and not state.is_file() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} holds other files; name a new folder")
        self.run, self.count, self.number = run, count, 0
        self.lines: list[str] = []
        self.made: list[str] = []
        self.kept: list[str] = []
        self.base = ""
        self._known: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            self._known = dict(json.loads(state.read_text(encoding="utf-8")))

    def command(
        self, title: str, out: str, words: Sequence[str], inputs: Sequence[str | None] = (), *, device: bool = True
    ) -> dict[str, Any]:
        """Run a command that writes a file, unless the file is up to date; return its record.

        Parameters
        ----------
        title : str
            Title of the step, for the log.
        out : str
            The file; its record is next to it.
        words : sequence of str
            The command, without ``--out``.
        inputs : sequence of str
            Words that may name files that it reads; other words are ignored.
        device : bool
            Whether the command takes device options, which affect only the time.
        """
        target, run = self.files / out, self.run
        record, line = target.with_suffix(".json"), [*words, "--out", str(target)]
        self.lines.append(shlex.join(["gpukit", *line]))
        where = ["--device", run.requested or "auto", "--gpus", str(run.gpus)] if device else []
        where += ["--gpu-memory", str(run.gpu_memory)] if device and run.gpu_memory is not None else []
        where += ["--threads", str(run.threads)] if run.threads is not None else []
        whole = [*line, "--force", *where, "--json"]
        self.step(title, out, [line, self.digests(inputs)], [target, record], lambda: run_command(whole, str(record)))
        return dict(json.loads(record.read_text(encoding="utf-8")))

    def digests(self, words: Sequence[str | None]) -> list[str]:
        """Return the digests of the words that name files."""
        paths = [Path(one) for one in words if one and os.path.isfile(one)]
        return [digest_of(path, self.files / f"{path.name}.sha256") for path in paths]

    def step(self, title: str, name: str, about: Any, files: Sequence[Path], make: Callable[[], object]) -> None:
        """Make files, unless they exist unchanged and were made from the same input."""
        self.number += 1
        key = hashlib.sha256(json.dumps([__version__, self.base, about]).encode()).hexdigest()
        if self._known.get(name) == [key, _states(files)]:
            self.kept.append(name)
            return
        _log.info("step %d of %d: %s", self.number, self.count, title)
        self.files.mkdir(parents=True, exist_ok=True)
        try:
            with self.run.phase(name.partition(".")[0]):
                make()
        except BaseException:
            with suppress(OSError):  # a failed first step leaves nothing behind, not even its folders
                self.files.rmdir()
                self.folder.rmdir()
            raise
        self.made.append(name)
        self._known[name] = [key, _states(files)]
        write_text(self.files / STATE, json.dumps(self._known, indent=1) + "\n")


def _states(files: Sequence[Path]) -> list[Any]:
    """Return size and time of files; None for a missing file."""
    return [[one.stat().st_size, one.stat().st_mtime_ns] if one.is_file() else None for one in files]
