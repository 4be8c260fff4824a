"""PageRank and the PRO-rank list (section 3.2 of the paper): which vertices get more walks than the rest."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpukit.graph.build import transpose
from gpukit.graph.csr import Graph
from gpukit.kpar.problem import ONE, Params

ROUNDS = 10_000


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


def rank(graph: Graph, params: Params | None = None, *, tolerance: float = 1e-10) -> Rank:
    """Compute PageRank (every vertex is the source with probability 1/n) and the PRO-rank list.

    Parameters
    ----------
    graph : Graph
        With or without its transpose.
    params : Params, optional
        Only ``alpha`` matters.
    tolerance : float
        Mass that may remain unspread, in [0, 1).

    Returns
    -------
    Rank
    """
    from gpukit.kpar.cpu import rank_round

    params = params or Params()
    n = graph.n
    if graph.in_indptr is None:
        graph = transpose(graph)
    start, extra = divmod(ONE, max(n, 1))
    rest = np.full(n, start, np.uint64)
    rest[:extra] += np.uint64(1)
    share, pagerank = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    remaining, rounds = (ONE if n else 0), 0
    while remaining > tolerance * ONE and rounds < ROUNDS:
        rank_round(graph.indptr, graph.in_indptr, graph.in_indices, np.uint64(params.go_on), rest, share, pagerank)
        remaining = int(rest.sum())
        rounds += 1
    return Rank(pagerank, pro_rank(graph, pagerank), params.alpha, rounds, remaining)


def pro_rank(graph: Graph, pagerank: np.ndarray, xp: Any = np) -> np.ndarray:
    """Return the vertices with out-edges by falling PageRank / out-degree (int32), ties by id."""
    degrees = xp.diff(graph.indptr)
    vertices = xp.flatnonzero(degrees)
    score = pagerank[vertices].astype(np.float64) / degrees[vertices]
    return vertices[xp.argsort(-score, kind="stable")].astype(np.int32)
