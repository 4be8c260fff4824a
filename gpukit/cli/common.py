"""The code that all commands share: a run from its checks to its record, and the printing of results."""

import codecs
import json
import logging
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from gpukit.api.session import Session
from gpukit.device.memory import limit_data, unlimit_data
from gpukit.device.select import Device
from gpukit.files import write_text
from gpukit.graph.lines import quoted
from gpukit.wording import counted

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts import Artifact
    from gpukit.graph.csr import Graph

_log = logging.getLogger("gpukit")


def set_logging(verbose: int) -> None:
    """Send the log of gpukit to standard error: important messages, and with ``-v`` more."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("gpukit: %(message)s"))
    _log.handlers[:] = [handler]
    _log.propagate = False
    _log.setLevel(logging.DEBUG if verbose else logging.INFO)


class Run(Session):
    """One run of a command: log, device and lease, inputs, phases, and the record at the end.

    Parameters
    ----------
    out : path, optional
        The artifact that will be written; checked before by :mod:`gpukit.cli.outputs`.
    as_json : bool
        Whether to print the record as JSON instead of a summary.
    verbose : int
        Number of ``-v``.
    explain : bool
        Whether to explain the words of the summary.
    **asked
        The requested device, GPUs, threads and seed, see :class:`gpukit.api.session.Session`.

    Attributes
    ----------
    out, as_json, explain
        The arguments; a command may change them before it uses them.
    writes : str or None
        The kind of file that the command declares to write.
    """

    def __init__(
        self,
        *,
        out: Path | None = None,
        as_json: bool = False,
        verbose: int = 0,
        explain: bool = False,
        **asked: Any,
    ) -> None:
        set_logging(verbose)
        super().__init__(progress=sys.stderr.isatty(), **asked)
        self.out = out
        self.as_json = as_json
        self.explain = explain
        self.writes: str | None = None

    @property
    def target(self) -> Path:
        """The artifact to write, for a command that requires one."""
        assert self.out is not None
        return self.out

    def read_graph(
        self, path: Path, *, transpose: bool = True, tables: bool = False
    ) -> "tuple[Graph, dict[str, np.ndarray] | None]":
        """Return a graph and its sampling tables; arguments are those of :func:`gpukit.artifacts.read_graph_file`."""
        with self.phase("read"):
            from gpukit.artifacts import read_graph_file

            self.graph, self.inputs["graph"], self.tables = read_graph_file(path, transpose=transpose, tables=tables)
            self.labels = self.graph.labels
            return self.graph, self.tables

    def load(self, warm_up: Callable[[], object]) -> None:
        """Run ``warm_up``, a small task that loads compiled code, before the phases whose times are compared."""
        with self.phase("load"):
            warm_up()

    def _set_threads(self, device: Device) -> int:
        """Set the number of Numba's threads to that of a device and return it; limit the memory of a run on the CPU."""
        if device.kind == "cpu":
            limit_data(device.threads)
        else:
            unlimit_data()
        return set_threads(device.threads)

    def save(
        self, kind: str, arrays: "Mapping[str, np.ndarray]", attributes: Mapping[str, Any], *, compress: bool = False
    ) -> None:
        """Write an artifact; arguments are those of :func:`gpukit.artifacts.write`, and the run adds the rest."""
        with self.phase("write"):
            self.put(self.artifact(kind, arrays, attributes), compress=compress)

    def put(self, artifact: "Artifact", *, compress: bool = False) -> None:
        """Write a given artifact."""
        with self.phase("write"):
            from gpukit.artifacts import put

            assert artifact.kind == self.writes
            put(self.target, artifact, compress=compress)

    def save_metrics(self, columns: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        """Write a table of numbers, if the command has an output."""
        if self.out is not None:
            with self.phase("write"):
                from gpukit.artifacts import write_metrics

                write_metrics(self.out, columns, attributes, params=self.params, seed=self.seed, inputs=self.inputs)

    def save_seeds(self, seeds: "np.ndarray", method: str, **known: Any) -> list[Any]:
        """Write the seeds (internal ids) that a method chose, and return their external names.

        ``known`` has further fields of :class:`gpukit.artifacts.SeedSet`.
        """
        with self.phase("write"):
            self.put(self.seeds_artifact(seeds, method, **known))
            return self.graph.original(seeds).tolist()

    def finish(self, record: Mapping[str, Any] | None = None, summary: Mapping[str, Any] | None = None) -> None:
        """Print the record (with ``--json``) or a summary.

        Parameters
        ----------
        record : mapping
            The keys of this command, besides params, graph, device, seed and time_s.
        summary : mapping, optional
            The lines of the summary, by title; ``record`` by default.
        """
        graph = self.graph
        record = dict(record or {})
        if self.as_json:
            print_json(self._record(record))
            return
        lines = dict(summary if summary is not None else record)
        if graph is not None:
            weighted = f", weighted by {graph.weights}" if self.params.get("weighted") else ""
            lines["graph"] = f"{counted(graph.n, 'vertex')}, {counted(graph.m, 'edge')}{weighted}"
        lines["time"] = ", ".join(f"{name} {value:.3f} s" for name, value in self._seconds().items())
        if self.out is not None:
            lines["written"] = self.out
        print_table(lines)
        if self.explain:
            from gpukit.cli.meanings import print_meanings

            print_meanings(lines)

    def write_record(self, path: Path, record: Mapping[str, Any]) -> None:
        """Write the output of :meth:`finish` with ``--json`` to a file."""
        write_text(path, f"{json_of(self._record(record))}\n")

    def _record(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keys that every record has, followed by those of the command."""
        whole: dict[str, Any] = {"params": self.params}
        if self.graph is not None:
            whole["graph"] = {"n": self.graph.n, "m": self.graph.m}
            if self.params.get("weighted"):
                whole["graph"]["weights"] = str(self.graph.weights)
        if self.device is not None:
            whole["device"] = self.device.record()
        if self.seed is not None:
            whole["seed"] = self.seed
        return {**whole, "time_s": self._seconds(), **record}

    def _seconds(self) -> dict[str, float]:
        return {name: round(value, 6) for name, value in self.timer.seconds().items()}


def set_threads(threads: int) -> int:
    """Make Numba use ``threads`` CPU threads, and return the number that it uses.

    Before Numba is imported any number is possible; afterwards at most the number with which it started.
    """
    if "numba" not in sys.modules:
        os.environ["NUMBA_NUM_THREADS"] = str(threads)
        return threads
    import numba

    threads = min(threads, numba.config.NUMBA_NUM_THREADS)
    numba.set_num_threads(threads)
    return threads


def print_json(value: Any) -> None:
    """Print one JSON object on standard output."""
    print(json_of(value))


def json_of(value: Any) -> str:
    """Return a value as JSON: NumPy values become numbers and lists, and NaN becomes null."""
    return json.dumps(_plain(value), allow_nan=False)


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


LONG, FIRST = 20, 10
"""Most items of a list that is printed completely, and number of items printed of a longer list."""


def cut_list(first: Sequence[str], total: int) -> str:
    """Return the first texts of a list.

    If the list is longer, add the number of omitted items, and that --json has all.
    """
    left = total - len(first)
    return ", ".join(first) + (f", … and {left:,} more (--json has all)" if left else "")


def print_table(lines: Mapping[str, Any]) -> None:
    """Print titles and values, one line each; of a long list the first items, and the number of omitted ones."""
    width = max((len(title) for title in lines), default=0)
    for title, value in lines.items():
        text = str(value)
        if isinstance(value, list | tuple):
            text = cut_list([*map(quoted, value[: FIRST if len(value) > LONG else LONG])], len(value))
        if not takes_utf8(
            sys.stdout
        ):  # missing characters are printed with a backslash; a backslash in a name must look different
            text = text.replace("\\", r"\\")
        print(f"{title:<{width}}  {text}")


def takes_utf8(stream: TextIO) -> bool:
    """Return whether a stream encodes its output in UTF-8, or keeps it as text."""
    return not stream.encoding or codecs.lookup(stream.encoding).name == "utf-8"
