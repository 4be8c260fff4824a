"""PageRank and the PRO-rank list (section 3.2 of the paper), which selects the vertices with additional walks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from gpukit.errors import UsageError
from gpukit.graph.build import transpose
from gpukit.graph.csr import Graph
from gpukit.graph.kernels import rows_by_edges, transpose_rows
from gpukit.kpar.problem import ONE, Params
from gpukit.kpar.weights import edge_chances

ROUNDS = 100_000
"""Most rounds; without dangling vertices, (1 - alpha)**rounds of the mass is left."""

TOLERANCE = 1e-10
"""Mass that may remain unspread."""

PARTS = 16
"""Ranges of rows for each thread."""


@dataclass(frozen=True, eq=False)
class Rank:
    """Global PageRank with absorbing dangling vertices.

    Attributes
    ----------
    pagerank : uint64 array, shape (n,)
        In units of 2**-62; the sum and the mass not yet spread make 2**62.
    order : int32 array
        The PRO-rank list: vertices with out-edges by falling PageRank / out-degree, ties by id.
    alpha : float
        Stop probability.
    rounds : int
        Synchronous rounds done.
    remaining : int
        Mass not yet spread, in units of 2**-62.
    """

    pagerank: np.ndarray
    order: np.ndarray
    alpha: float
    rounds: int
    remaining: int


def rank(graph: Graph, params: Params | None = None) -> Rank:
    """Compute PageRank (every vertex is the source with probability 1/n) and the PRO-rank list.

    Parameters
    ----------
    graph : Graph
        With or without its transpose.
    params : Params, optional
        Only ``alpha`` and ``weighted`` matter.

    Returns
    -------
    Rank

    Raises
    ------
    UsageError
        If edges are to be weighted and the graph has no weights; or if alpha is too small for :data:`ROUNDS`.
    """
    from gpukit.kpar.rank_cpu import arrive, leave, leave_weighted

    params = params or Params()
    rows: tuple[Any, ...]
    if params.weighted:
        in_indptr, _, places = transpose_rows(graph.indptr, graph.indices, np.arange(graph.m, dtype=np.uint32))
        rows, push, room = (graph.indptr, _parts(graph.indptr), edge_chances(graph)), leave_weighted, graph.m
    else:
        graph = transpose(graph)
        assert graph.in_indptr is not None and graph.in_indices is not None
        in_indptr, places = graph.in_indptr, graph.in_indices
        rows, push, room = (graph.indptr,), leave, graph.n
    in_parts, taken = _parts(in_indptr), np.zeros(room, np.uint64)

    def one_round(rest: np.ndarray, pagerank: np.ndarray) -> None:
        push(*rows, np.uint64(params.one_minus_alpha), rest, taken, pagerank)
        arrive(in_indptr, in_parts, places, taken, rest)

    return spread_mass(graph, params, one_round)


def _parts(indptr: np.ndarray) -> np.ndarray:
    """Return ranges of rows for the threads; a row costs about as much as an edge, and none is divided."""
    return rows_by_edges(indptr + np.arange(len(indptr)), PARTS * numba.get_num_threads())


def spread_mass(graph: Graph, params: Params, one_round: Callable[[Any, Any], None], xp: Any = np) -> Rank:
    """Spread the mass of all vertices in rounds, until at most TOLERANCE of it is not yet spread.

    Parameters
    ----------
    graph, params
        As for :func:`rank`; the arrays of the graph are those of ``xp``.
    one_round : callable
        Updates the mass not yet spread at each vertex, and PageRank (both uint64, n).
    xp : module
        NumPy, or CuPy for arrays on a GPU.

    Raises
    ------
    UsageError
        If alpha is too small for :data:`ROUNDS`.
    """
    n = graph.n
    start, extra = divmod(ONE, max(n, 1))
    # The remainder of rounding down has fewer units than there are vertices; the first vertices get one each.
    rest, pagerank = xp.full(n, start, np.uint64), xp.zeros(n, np.uint64)
    rest[:extra] += np.uint64(1)
    remaining, rounds = (ONE if n else 0), 0
    while remaining > TOLERANCE * ONE and rounds < ROUNDS:
        one_round(rest, pagerank)
        remaining = int(rest.sum())
        rounds += 1
    if remaining > TOLERANCE * ONE:
        raise UsageError(
            f"with alpha {params.alpha}, {remaining / ONE:.2g} of the mass is still under way after {ROUNDS:,} rounds; "
            "alpha of 0.0003 and more is always enough"
        )
    return Rank(pagerank, pro_rank(graph, pagerank, xp), params.alpha, rounds, remaining)


def pro_rank(graph: Graph, pagerank: np.ndarray, xp: Any = np) -> np.ndarray:
    """Return the vertices with out-edges by falling PageRank / out-degree (int32), ties by id."""
    degrees = xp.diff(graph.indptr)
    vertices = xp.flatnonzero(degrees)
    score = pagerank[vertices].astype(np.float64) / degrees[vertices]
    return vertices[xp.argsort(-score, kind="stable")].astype(np.int32)
