"""Groups of arrays for queries on the CPU: rows have gaps between them, so that single rows can change."""

from typing import Any, NamedTuple

from gpukit.kpar.groups import Edges, InEdges


class SpacedEdges(NamedTuple):
    """:class:`Edges` with gaps between the rows: the row of v ends at ``until[v]`` (int64, n).

    For queries on the CPU.
    """

    indptr: Any
    indices: Any
    one_minus_alpha: Any
    until: Any


class SpacedWalks(NamedTuple):
    """:class:`Walks` with gaps between the rows: ``…_until`` (int64, n) has the end of each. For queries on the CPU."""

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
    """:class:`InEdges` with gaps between the rows: the row of v ends at ``until[v]`` (int64, n).

    For queries on the CPU.
    """

    begin: Any
    until: Any
    tails: Any
    prices: Any


def spaced_edges(edges: Edges) -> SpacedEdges:
    """Return out-edges without gaps in the form for queries on the CPU."""
    return SpacedEdges(*edges, edges.indptr[1:])


def spaced_in_edges(in_edges: InEdges | SpacedInEdges) -> SpacedInEdges:
    """Return in-edges in the form for queries on the CPU."""
    if isinstance(in_edges, SpacedInEdges):
        return in_edges
    return SpacedInEdges(in_edges.begin, in_edges.begin[1:], in_edges.tails, in_edges.prices)
