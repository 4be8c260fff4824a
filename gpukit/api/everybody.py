"""The answers of all vertices: a table of edges with personalised PageRank as weights, written batch by batch."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpukit.api.results import Label, arrow_for

if TYPE_CHECKING:
    import numpy as np
    import pyarrow

    from gpukit.api.session import Session
    from gpukit.device.select import Device
    from gpukit.graph.csr import Graph
    from gpukit.kpar.problem import Result

_log = logging.getLogger("gpukit")

KIND, VERSION = "ppr-edges", 1
ROWS = 1 << 20
"""Most rows of a batch (if k is not larger): a kill loses at most these, and a reader reads them at once."""
REPORT_S = 60.0
"""Seconds between two log lines about the pace."""


def batch_of(k: int) -> int:
    """Return the number of vertices of a batch; the table's bytes depend on it, so it is the same on every device."""
    return max(1, ROWS // k)


def about_all(session: "Session", first: int, last: int) -> dict[str, Any]:
    """Return everything that determines the table of the vertices first … last - 1, for its metadata."""
    return {
        "kind": KIND,
        "version": VERSION,
        "params": session.params,
        "inputs": session.inputs,
        "n": session.graph.n,
        "first": first,
        "last": last,
    }


def write_all(
    session: "Session", device: "Device", prepared: Any, out: Path, k: int, first: int, last: int, *, refine: bool
) -> tuple[int, int]:
    """Answer every vertex first … last - 1 and write the table; resume an earlier run of the same table.

    Parameters
    ----------
    session : Session
        With its graph, parameters and digests of inputs.
    device, prepared
        The device given to :func:`gpukit.kpar.run.prepare_on`, and its result.
    out : path
        The Parquet file, with columns ``source``, ``target`` (external names) and ``weight`` (float64, π̂). Sources are
        in the order of internal ids, the targets of each by falling weight.
    k : int
    first, last : int
    refine : bool
        Whether to resolve near ties with additional work.

    Returns
    -------
    rows, resumed
        Number of rows of the table, and number of vertices that an earlier run had answered.

    Raises
    ------
    UsageError, InputError
        As for :func:`gpukit.artifacts.batches.in_batches`.
    """
    from gpukit.artifacts.batches import in_batches
    from gpukit.files import check_target
    from gpukit.kpar.problem import Sources
    from gpukit.kpar.run import query_on

    check_target(out)
    size, total = batch_of(k), last - first
    count = -(-total // size)
    session.load(lambda: query_on(device, prepared, Sources.single([0]), k, refine=refine))
    with in_batches(out, about_all(session, first, last), count) as batches:
        missing = batches.missing()
        places = {number: (first + number * size, min(first + (number + 1) * size, last)) for number in missing}
        done = resumed = total - sum(end - begin for begin, end in places.values())
        if resumed:
            _log.info("resuming: %d of %d batches are in %s", count - len(missing), count, batches.folder)
        with session.phase("query"), session.progress("vertices") as update, ThreadPoolExecutor(1) as writer:
            pace = _Pace(done, total, update)
            written: Future[None] | None = None
            for number in missing:
                begin, end = places[number]
                sources = Sources.single(range(begin, end))
                result = query_on(device, prepared, sources, k, refine=refine, progress=pace.of_batch(done))
                if written is not None:
                    written.result()
                # This runs while the next batch is answered.
                written = writer.submit(_put, batches, number, session.graph, begin, result)
                done += end - begin
            if written is not None:
                written.result()
        with session.phase("write"), session.progress("batches") as update:
            return batches.join(update), resumed


class PageRankEdges(NamedTuple):
    """The answers of all vertices as edges, for graph neural networks; arrays are shared, not copied, through DLPack.

    Attributes
    ----------
    edge_index : int64 array, shape (2, rows)
        Sources, ascending, and targets, by falling weight for each source; both are positions 0 … n-1 in ``vertices``.
    edge_weight : float32 array, shape (rows,)
        Personalised PageRank of the target from the source.
    vertices : list
        The external names of the vertices.
    """

    edge_index: "np.ndarray"
    edge_weight: "np.ndarray"
    vertices: list[Label]

    def to_arrow(self) -> Any:
        """Return an Arrow table with the columns of ``kpar all``.

        Vertices appear by name if names are texts, otherwise by their position in ``vertices``. Positions and weights
        are not copied.

        Raises
        ------
        UsageError
            If pyarrow is not installed.
        """
        arrow = arrow_for("to_arrow")
        columns = [arrow.array(ends) for ends in self.edge_index]
        if self.vertices and isinstance(self.vertices[0], str):
            names = arrow.array(self.vertices, arrow.string())
            columns = [arrow.DictionaryArray.from_arrays(ends, names) for ends in columns]
        return arrow.table([*columns, arrow.array(self.edge_weight)], names=["source", "target", "weight"])


def all_edges(graph: "Graph", result: "Result") -> PageRankEdges:
    """Return the answers of all vertices of a graph as edges."""
    import numpy as np

    from gpukit.kpar.problem import ONE

    edge_index = np.empty((2, len(result.nodes)), np.int64)
    edge_index[0] = np.repeat(np.arange(graph.n), np.diff(result.offsets))
    edge_index[1] = result.nodes
    weights = (result.scores / float(ONE)).astype(np.float32)
    return PageRankEdges(edge_index, weights, graph.original(range(graph.n)).tolist())


def _put(batches: Any, number: int, graph: "Graph", begin: int, result: "Result") -> None:
    batches.put(number, _table(graph, begin, result))


def _table(graph: "Graph", begin: int, result: "Result") -> "pyarrow.Table":
    """Return the answers of the vertices from ``begin`` on as a table."""
    import numpy as np
    import pyarrow

    from gpukit.kpar.problem import ONE

    lengths = np.diff(result.offsets)
    sources = np.repeat(np.arange(begin, begin + len(lengths)), lengths)
    weights = result.scores / float(ONE)
    if graph.labels is None:
        columns = [pyarrow.array(graph.numbers(vertices)) for vertices in (sources, result.nodes)]
    else:
        columns = []
        for vertices in (sources, result.nodes):
            distinct, where = np.unique(vertices, return_inverse=True)
            names = pyarrow.array(graph.labels.texts(distinct), pyarrow.string())
            columns.append(names.take(pyarrow.array(where)))
    return pyarrow.table([*columns, pyarrow.array(weights)], names=["source", "target", "weight"])


class _Pace:
    """Reports the progress, and logs the pace from time to time, for logs that are read later."""

    def __init__(self, done: int, total: int, update: Callable[[int, int], None]) -> None:
        self.began, self.at_first, self.total, self.update = time.monotonic(), done, total, update
        self.reported_at = self.began
        update(done, total)

    def of_batch(self, before: int) -> Callable[[int, int], None]:
        """Return the progress function of a batch; ``before`` vertices were done before it."""
        return lambda now, _: self._tell(before + now)

    def _tell(self, done: int) -> None:
        self.update(done, self.total)
        now = time.monotonic()
        if now - self.reported_at >= REPORT_S and done > self.at_first:
            self.reported_at = now
            a_second = (done - self.at_first) / (now - self.began)
            left = (self.total - done) / a_second / 60
            _log.info("%s of %s vertices, %.0f a second, %.0f min left", f"{done:,}", f"{self.total:,}", a_second, left)
