"""Run the commands of a longer task in a folder, one after another; current outputs are kept."""

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
"""Says what each file was made of; it lies among the files that commands write."""


class Steps:
    """The steps of a piece of work. A file is current while what it was made of is the same: command, inputs, version.

    Parameters
    ----------
    folder : Path
        A new one, an empty one, or one with such work in it.
    run : Run
        Says where commands run, and takes their times.
    count : int
        How many steps are told of.

    Attributes
    ----------
    files : Path
        The folder of what commands write, inside ``folder``.
    lines : list of str
        The commands, as a person would give them.
    made, kept : list of str
        What was made now, and what was there.

    Raises
    ------
    UsageError
        If the folder holds something else.
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
        """Run a command that writes a file, if that is not there and current; return its record.

        Parameters
        ----------
        title : str
            What is being done, for people.
        out : str
            The file; its record lies beside it.
        words : sequence of str
            The command, without ``--out``.
        inputs : sequence of str
            What may name files that it reads; other words are passed over.
        device : bool
            Whether it runs on a device, which decides nothing but time.
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
        """Return the digests of those words that name files."""
        paths = [Path(one) for one in words if one and os.path.isfile(one)]
        return [digest_of(path, self.files / f"{path.name}.sha256") for path in paths]

    def step(self, title: str, name: str, about: Any, files: Sequence[Path], make: Callable[[], object]) -> None:
        """Make files, unless they are there as they were made of just this."""
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
            with suppress(OSError):  # of the first step nothing is left, folders among it
                self.files.rmdir()
                self.folder.rmdir()
            raise
        self.made.append(name)
        self._known[name] = [key, _states(files)]
        write_text(self.files / STATE, json.dumps(self._known, indent=1) + "\n")


def _states(files: Sequence[Path]) -> list[Any]:
    """Return size and time of files; None for one that is not there."""
    return [[one.stat().st_size, one.stat().st_mtime_ns] if one.is_file() else None for one in files]
