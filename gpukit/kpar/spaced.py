"""The groups of arrays of queries on the CPU: rows with gaps between them, so that they can change one by one."""

from typing import Any, NamedTuple

from gpukit.kpar.groups import Edges, InEdges


class SpacedEdges(NamedTuple):
    """:class:`Edges` with gaps between the rows: that of v ends at ``until[v]`` (int64, n). Queries on the CPU."""

    indptr: Any
    indices: Any
    one_minus_alpha: Any
    until: Any


class SpacedWalks(NamedTuple):
    """:class:`Walks` with gaps between the rows: ``…_until`` (int64, n) says where each ends. Queries on the CPU."""

    row_begin: Any
    row_until: Any
    row_ends: Any
    row_freqs: Any
    src_begin: Any
    src_until: Any
    starts: Any
    frequent_begin: Any
    frequent_until: Any
    frequencies: Any
    counts: Any
    arrivals: Any
    by_arrivals: Any
    light: Any
    seed: Any
    tag: Any


class SpacedInEdges(NamedTuple):
    """:class:`InEdges` with gaps between the rows: that of v ends at ``until[v]`` (int64, n). Queries on the CPU."""

    begin: Any
    until: Any
    tails: Any
    prices: Any


def spaced_edges(edges: Edges) -> SpacedEdges:
    """Return out-edges whose rows lie end to end as queries on the CPU take them."""
    return SpacedEdges(*edges, edges.indptr[1:])


def spaced_in_edges(in_edges: InEdges | SpacedInEdges) -> SpacedInEdges:
    """Return in-edges as queries on the CPU take them."""
    if isinstance(in_edges, SpacedInEdges):
        return in_edges
    return SpacedInEdges(in_edges.begin, in_edges.begin[1:], in_edges.tails, in_edges.prices)
