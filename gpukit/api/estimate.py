"""Time and memory that an import will take, estimated from the start of the text: ``graph import --estimate``."""

import logging
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.api.edges import import_edges
from gpukit.api.session import Session
from gpukit.errors import InputError, UsageError
from gpukit.graph.memory import EDGE_BYTES, LINE_BYTES, UNEQUAL_BYTES, VERTEX_BYTES
from gpukit.parameters.graph import Import
from gpukit.wording import spelled

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph

BLOCKS = 32
"""Blocks of the text that are read: 32 MiB."""

START_BYTES, START_S = 150 << 20, 0.4
"""Bytes of the process besides its data: Python and compiled code (measured)."""

WRITTEN_BYTES_A_S = 400 << 20
"""Bytes that are digested, written and synced per second (measured, on a virtual disk)."""

_log = logging.getLogger("gpukit")


def estimate_import(session: Session, edges: Path, asked: Import) -> dict[str, Any]:
    """Return the resources that an import will take; this imports the start of the text and writes nothing.

    Edges and time grow with the bytes of the file. Vertices follow Heaps' law: k edges have about c · k^b distinct
    ends, with c and b fitted to the start of the text and to its first half (H. S. Heaps, "Information retrieval",
    1978).

    Parameters
    ----------
    session, edges, asked
        As for :func:`gpukit.api.edges.import_edges`.

    Returns
    -------
    dict
        ``vertices``, ``edges`` (directed), ``graph_bytes`` (of the file, with in-edges), ``memory_bytes``, ``time_s``,
        ``share`` (fraction of the file that was read for the estimate).

    Raises
    ------
    UsageError
        If the input is not a text in a file.
    InputError
        If its start cannot be imported.
    """
    if edges.exists() and not edges.is_file() or str(edges) == "-":
        raise UsageError(
            f"{edges} is no file, and its size is not known before it is read; leave {spelled('estimate', True)} out"
        )
    half, _, _ = import_edges(session, edges, asked, BLOCKS // 2)
    level = _log.level
    _log.setLevel(logging.WARNING)  # how the text was read is logged only once
    try:
        start = time.perf_counter()
        graph, _, share = import_edges(session, edges, asked, BLOCKS)
        seconds = time.perf_counter() - start
    finally:
        _log.setLevel(level)
    if not graph.m:
        raise InputError(
            f"{edges}: the start of the text has no edges to judge by; leave {spelled('estimate', True)} out"
        )
    n, m = _vertices(half, graph, share), round(graph.m / share)
    lines = round(graph.facts["lines"] / share)
    unequal, wide = graph.probabilities is not None, graph.ids is not None and graph.ids[-1] >= 2**31
    in_place = not (unequal or wide or graph.undirected)
    each = 0 if in_place else (UNEQUAL_BYTES if unequal else EDGE_BYTES) * (2 if graph.undirected else 1)
    listed = (2 * LINE_BYTES if wide else LINE_BYTES) + each
    graph_bytes = (2 if asked.transpose else 1) * (8 * n + (8 if unequal else 4) * m) + 24 * n
    return {
        "vertices": n,
        "edges": m,
        "graph_bytes": graph_bytes,
        "memory_bytes": START_BYTES + lines * listed + n * VERTEX_BYTES,
        "time_s": round(START_S + seconds / share + graph_bytes / WRITTEN_BYTES_A_S, 2),
        "share": share,
    }


def _vertices(half: "Graph", whole: "Graph", share: float) -> int:
    """Estimate the vertices of a text from the graphs of a share of it and of half that share."""
    if share == 1 or whole.m <= half.m:
        return whole.n
    power = min(1.0, math.log(whole.n / half.n) / math.log(whole.m / half.m))
    expected = round(whole.n * share**-power)
    if whole.labels is not None:
        return expected
    before, now = (one.n - 1 if one.ids is None else int(one.ids[-1]) for one in (half, whole))
    # If the highest id has occurred already, there are no more vertices than that.
    return min(expected, now + 1) if now <= 1.01 * before else expected
