"""What every command shares: the common options, and one run from its checks to its record."""

import json
import logging
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gpukit.device import lease
from gpukit.device.memory import check_start, limit_data
from gpukit.device.probe import start_contexts
from gpukit.device.select import Device, choose, look_for_gpus
from gpukit.device.timing import PhaseTimer, synchroniser
from gpukit.errors import UsageError

MAX_SEED = 2**64 - 1

_log = logging.getLogger("gpukit")


class DeviceChoice(StrEnum):
    """Values of ``--device``."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


def _look_ahead(device: DeviceChoice) -> DeviceChoice:
    """Look for GPUs while the command reads its files."""
    if device is not DeviceChoice.cpu:
        look_for_gpus()
    return device


DeviceOption = Annotated[DeviceChoice, typer.Option("--device", help="Where to run.", callback=_look_ahead)]
GpusOption = Annotated[int, typer.Option("--gpus", metavar="N", help="Number of GPUs; 0 means the CPU.")]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", metavar="N", help="CPU threads; all available by default.")
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="S", help="Seed of all random numbers, 0 to 2^64 - 1.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
VerboseOption = Annotated[int, typer.Option("-v", "--verbose", count=True, help="More on standard error; -vv for all.")]
OutOption = Annotated[Path, typer.Option("--out", metavar="FILE", help="The artifact to write.")]
CompressOption = Annotated[bool, typer.Option("--compress", help="Compress the artifact (needs hdf5plugin).")]


def set_logging(verbose: int) -> None:
    """Send the log of gpukit to standard error: what matters, with ``-v`` more."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("gpukit: %(message)s"))
    _log.handlers[:] = [handler]
    _log.propagate = False
    _log.setLevel(logging.DEBUG if verbose else logging.INFO)


class Run:
    """One run of a command: log, device and lease, phases, and the record at the end.

    Parameters
    ----------
    params : mapping
        What decides the result, for the record and the artifact: no paths, no device, no threads.
    seed : int, optional
        The user's seed.
    out : path, optional
        The artifact that will be written; checked before by :mod:`gpukit.cli.outputs`.
    as_json : bool
        Whether to print the record as JSON instead of a summary.
    verbose : int
        Number of ``-v``.

    Raises
    ------
    UsageError
        If the seed is out of range.
    """

    def __init__(
        self,
        params: Mapping[str, Any] | None = None,
        *,
        seed: int | None = None,
        out: Path | None = None,
        as_json: bool = False,
        verbose: int = 0,
    ) -> None:
        set_logging(verbose)
        if seed is not None and not 0 <= seed <= MAX_SEED:
            raise UsageError(f"--seed is {seed}; 0 to {MAX_SEED} are allowed")
        self.params = dict(params or {})
        self.seed = seed
        self.out = out
        self.as_json = as_json
        self.timer = PhaseTimer()
        self.device: Device | None = None
        self.phase = self.timer.phase
        self._lease: lease.Lease | None = None

    def use_device(
        self,
        requested: str | None = None,
        gpus: int = 1,
        threads: int | None = None,
        *,
        work: float | None = None,
    ) -> Device:
        """Choose the device, lease its GPUs, set the threads, and say what and why.

        Call it before a system is imported: threads beyond the available ones and the choice of GPUs take effect only
        before numba starts. Arguments and errors are those of :func:`gpukit.device.select.choose`, but a command that
        requests nothing knows the CPU alone.
        """
        device, self._lease = lease.take(choose(str(requested or "cpu"), gpus, threads, work=work))
        if requested is None:
            device = replace(device, reason="this command runs on the CPU")
        if device.pool:
            start_contexts(len(device.gpus))
        check_compiler(device.threads)
        if device.kind == "cpu":
            limit_data(device.threads)
        threads = set_threads(device.threads)
        if threads != device.threads:
            device = replace(device, threads=threads)
        self.timer.sync = synchroniser(device)
        self.device = device
        where = (
            f"{len(device.gpus)} × {device.name}" if device.kind == "cuda" else f"{threads} thread(s) of {device.name}"
        )
        _log.info("device %s: %s (%s)", device.kind, where, device.reason)
        return device

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[int, int], None]]:
        """Yield ``update(done, total)``; a bar on a terminal's standard error, nothing elsewhere."""
        if not sys.stderr.isatty():
            yield lambda done, total: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    def finish(
        self, graph: Any = None, record: Mapping[str, Any] | None = None, summary: Mapping[str, Any] | None = None
    ) -> None:
        """Print the record (with ``--json``) or a summary.

        Parameters
        ----------
        graph : object with n and m, optional
            The graph the run was about.
        record : mapping
            The keys of this command, beside params, graph, device, seed and time_s.
        summary : mapping, optional
            What people read, by title; ``record`` by default.
        """
        seconds = {name: round(value, 6) for name, value in self.timer.seconds().items()}
        record = dict(record or {})
        if self.as_json:
            whole: dict[str, Any] = {"params": self.params}
            if graph is not None:
                whole["graph"] = {"n": graph.n, "m": graph.m}
            if self.device is not None:
                whole["device"] = self.device.record()
            if self.seed is not None:
                whole["seed"] = self.seed
            print_json({**whole, "time_s": seconds, **record})
            return
        lines = dict(summary if summary is not None else record)
        if graph is not None:
            lines["graph"] = f"{graph.n:,} vertices, {graph.m:,} edges"
        lines["time"] = ", ".join(f"{name} {value:.3f} s" for name, value in seconds.items())
        if self.out is not None:
            lines["written"] = self.out
        print_table(lines)


def check_compiler(threads: int) -> None:
    """Check, before numba is imported, that code can be compiled and that there is room for it.

    Raises
    ------
    UsageError
        If the environment switches compilation off: most of the code then gives up, and some gives other answers, since
        NumPy's numbers do not wrap as compiled ones do.
    DeviceError
        If there is no room (:func:`gpukit.device.memory.check_start`).
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise UsageError("NUMBA_DISABLE_JIT is set, and gpukit runs compiled code only; unset it")
    check_start(threads)


def set_threads(threads: int) -> int:
    """Let numba use ``threads`` CPU threads and return how many it does.

    Before numba is imported any number is possible; afterwards no more than it started with.
    """
    if "numba" not in sys.modules:
        os.environ["NUMBA_NUM_THREADS"] = str(threads)
        return threads
    import numba

    threads = min(threads, numba.config.NUMBA_NUM_THREADS)
    numba.set_num_threads(threads)
    return threads


def print_json(value: Any) -> None:
    """Print one JSON object on standard output: NumPy values as numbers and lists, what JSON lacks (NaN) as null."""
    print(json.dumps(_plain(value), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def cut_list(first: Sequence[Any], total: int) -> str:
    """Return the first items of a list for people, with the number of all where these are not all."""
    return ", ".join(map(str, first)) + (f", … ({total})" if total > len(first) else "")


def print_table(lines: Mapping[str, Any]) -> None:
    """Print titles and values, one line each."""
    width = max((len(title) for title in lines), default=0)
    for title, value in lines.items():
        text = ", ".join(str(item) for item in value) if isinstance(value, list | tuple) else str(value)
        print(f"{title:<{width}}  {text}")
