"""What every command shares: one run from its checks to its record, and how results are printed."""

import json
import logging
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.device import lease
from gpukit.device.memory import check_start, limit_data
from gpukit.device.probe import start_contexts
from gpukit.device.select import Device, choose
from gpukit.device.timing import PhaseTimer, synchroniser
from gpukit.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts.labels import Texts
    from gpukit.graph.csr import Graph

MAX_SEED = 2**64 - 1

_log = logging.getLogger("gpukit")


def set_logging(verbose: int) -> None:
    """Send the log of gpukit to standard error: what matters, with ``-v`` more."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("gpukit: %(message)s"))
    _log.handlers[:] = [handler]
    _log.propagate = False
    _log.setLevel(logging.DEBUG if verbose else logging.INFO)


class Run:
    """One run of a command: log, device and lease, inputs, phases, and the record at the end.

    Parameters
    ----------
    out : path, optional
        The artifact that will be written; checked before by :mod:`gpukit.cli.outputs`.
    device : str, optional
        ``auto``, ``cpu`` or ``cuda``; None for a command that knows the CPU alone.
    gpus : int
        Number of GPUs that were asked for.
    threads : int, optional
        Number of CPU threads that were asked for.
    seed : int, optional
        The user's seed.
    as_json : bool
        Whether to print the record as JSON instead of a summary.
    verbose : int
        Number of ``-v``.

    Attributes
    ----------
    params : dict
        What decides the result, for the record and the artifact: no paths, no device, no threads. The command fills it.
    inputs : dict of str to str
        The digest of each input, by what it is to the command.
    graph : object with n and m, or None
        The graph the run is about.
    labels : what has a method ``texts``, or None
        What knows the names of the vertices in its results, where the graph has names.
    device : Device or None
        What the run uses, once it was chosen.
    out, requested, gpus, threads, seed, as_json
        What was asked for; ``requested`` is the device. A command may change them before it uses them.
    timer : PhaseTimer
        The times of the record; ``run.phase(name)`` is a phase of it.

    Raises
    ------
    UsageError
        If the seed is out of range.
    """

    def __init__(
        self,
        *,
        out: Path | None = None,
        device: str | None = None,
        gpus: int = 1,
        threads: int | None = None,
        seed: int | None = None,
        as_json: bool = False,
        verbose: int = 0,
    ) -> None:
        set_logging(verbose)
        if seed is not None and not 0 <= seed <= MAX_SEED:
            raise UsageError(f"--seed is {seed}; 0 to {MAX_SEED} are allowed")
        self.out, self.requested, self.gpus, self.threads = out, device, gpus, threads
        self.seed: Any = seed
        self.as_json = as_json
        self.params: dict[str, Any] = {}
        self.inputs: dict[str, str] = {}
        self.graph: Any = None
        self.labels: Texts | None = None
        self.timer = PhaseTimer()
        self.device: Device | None = None
        self.phase = self.timer.phase
        self._lease: lease.Lease | None = None

    @property
    def target(self) -> Path:
        """The artifact to write, of a command that must have one."""
        assert self.out is not None
        return self.out

    def read_graph(
        self, path: Path, *, transpose: bool = True, tables: bool = False
    ) -> "tuple[Graph, dict[str, np.ndarray] | None]":
        """Return a graph and its sampling tables; arguments are those of :func:`gpukit.artifacts.read_graph_file`."""
        with self.phase("read"):
            from gpukit.artifacts import read_graph_file

            self.graph, self.inputs["graph"], found = read_graph_file(path, transpose=transpose, tables=tables)
            self.labels = self.graph.labels
            return self.graph, found

    def use_device(
        self, requested: str | None = None, *, threads: int | None = None, work: float | None = None
    ) -> Device:
        """Choose the device, lease its GPUs, set the threads, and say what and why.

        Call it before a system is imported: threads beyond the available ones and the choice of GPUs take effect only
        before numba starts. ``requested`` and ``threads`` take the place of what was asked for, where a command knows
        better; ``work`` and the errors are those of :func:`gpukit.device.select.choose`, but a command that requests
        nothing knows the CPU alone.
        """
        requested = requested or self.requested
        threads = self.threads if threads is None else threads
        device, self._lease = lease.take(choose(requested or "cpu", self.gpus, threads, work=work))
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

    def save(
        self, kind: str, arrays: "Mapping[str, np.ndarray]", attributes: Mapping[str, Any], *, compress: bool = False
    ) -> None:
        """Write an artifact; arguments are those of :func:`gpukit.artifacts.write`, and the run knows the rest."""
        with self.phase("write"):
            from gpukit.artifacts import write
            from gpukit.artifacts.labels import packed_of

            arrays = {**arrays, **packed_of(kind, arrays, self.labels)}
            write(
                self.target, kind, arrays, attributes, params=self.params, seed=self.seed, inputs=self.inputs,
                compress=compress,
            )  # fmt: skip

    def save_metrics(self, columns: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        """Write a table of numbers, if the command was given a place for it."""
        if self.out is not None:
            with self.phase("write"):
                from gpukit.artifacts import write_metrics

                write_metrics(self.out, columns, attributes, params=self.params, seed=self.seed, inputs=self.inputs)

    def save_seeds(self, seeds: "np.ndarray", method: str, **known: Any) -> list[Any]:
        """Write the seeds (internal ids) that a method chose, and return them as people call them.

        ``known`` is what is known of them: further arguments of :func:`gpukit.artifacts.write_seeds`.
        """
        with self.phase("write"):
            from gpukit.artifacts import write_seeds

            write_seeds(
                self.target, self.graph.numbers(seeds), seeds, n=self.graph.n, method=method, labels=self.labels,
                graph=self.inputs["graph"], seed=self.seed, params=self.params, inputs=self.inputs, **known,
            )  # fmt: skip
            return self.graph.original(seeds).tolist()

    def finish(self, record: Mapping[str, Any] | None = None, summary: Mapping[str, Any] | None = None) -> None:
        """Print the record (with ``--json``) or a summary.

        Parameters
        ----------
        record : mapping
            The keys of this command, beside params, graph, device, seed and time_s.
        summary : mapping, optional
            What people read, by title; ``record`` by default.
        """
        graph = self.graph
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


def quoted(item: Any) -> str:
    """Return an item of a list for people; a name that holds a comma or a quote in quotes, as commands take it."""
    text = str(item)
    return '"' + text.replace('"', '""') + '"' if isinstance(item, str) and re.search('[",]', text) else text


def cut_list(first: Sequence[Any], total: int) -> str:
    """Return the first items of a list for people; where these are not all, how many are left out, and who has them."""
    left = total - len(first)
    return ", ".join(map(quoted, first)) + (f", … and {left:,} more (--json has all)" if left else "")


def print_table(lines: Mapping[str, Any]) -> None:
    """Print titles and values, one line each."""
    width = max((len(title) for title in lines), default=0)
    for title, value in lines.items():
        text = ", ".join(map(quoted, value)) if isinstance(value, list | tuple) else str(value)
        print(f"{title:<{width}}  {text}")
