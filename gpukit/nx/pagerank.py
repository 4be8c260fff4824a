"""PageRank by the power method, with NetworkX's definition."""

from collections import deque
from collections.abc import Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import networkx as nx
import numpy as np

from gpukit.nx.graph import NodeRows

_NETWORKX = tuple(map(int, nx.__version__.split(".")[:2]))
_EDGES_OF_A_THREAD = 1 << 18
"""Least number of edges per thread."""


def pagerank(
    G: NodeRows,
    alpha: float = 0.85,
    personalization: Mapping[Hashable, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Mapping[Hashable, float] | None = None,
    weight: Hashable | None = "weight",
    dangling: Mapping[Hashable, float] | None = None,
) -> dict[Hashable, float]:
    """Return the PageRank of each node; parameters and errors are those of :func:`networkx.pagerank`.

    A node whose out-edges have no weight distributes its rank over all nodes by ``dangling``, or by default by
    ``personalization``. (In kPAR a walk ends at such a node.) An iteration reads each edge once, from the row of its
    head, so sums do not depend on the number of threads.
    """
    import numba

    from gpukit.graph.kernels import rows_by_edges
    from gpukit.nx.pagerank_cpu import step

    n = len(G)
    if n == 0:
        return {}
    weights = G.weights(weight)
    sums = np.diff(G.indptr).astype(np.float64) if weights is None else _row_sums(G, weights)
    part = np.divide(1.0, sums, out=np.zeros(n), where=sums != 0)
    # Before 3.7 NetworkX treated a row whose weights add up to infinity like a row without weights; since then its rank
    # is lost.
    is_dangling = np.flatnonzero((sums if _NETWORKX >= (3, 7) else part) == 0)
    in_indptr, in_indices, entries = G.incoming
    carried = np.empty(0)
    if weights is not None:
        each, part = part[in_indices], np.ones(n)
        carried = np.multiply(each, weights[entries], out=np.zeros(len(each)), where=each != 0)
    x, p = _shares(G, nstart), _shares(G, personalization, sum_may_be_zero=False)
    to = p if dangling is None else _shares(G, dangling)
    workers = max(1, min(numba.get_num_threads(), len(in_indices) // _EDGES_OF_A_THREAD))
    starts = rows_by_edges(in_indptr, workers)
    with ThreadPoolExecutor(workers) as pool:
        for _ in range(max_iter):
            last, x = x, np.empty(n)
            given = last[is_dangling].sum()
            base = (1 - alpha) * p + alpha * given * to
            work = partial(step, in_indptr, in_indices, carried, last * part, base, float(alpha), x)
            deque((pool.map if workers > 1 else map)(work, starts[:-1], starts[1:]), maxlen=0)
            if np.absolute(x - last).sum() < n * tol:
                return dict(zip(G.nodes, x.tolist(), strict=True))
    raise nx.PowerIterationFailedConvergence(max_iter)


def _row_sums(G: NodeRows, weights: np.ndarray) -> np.ndarray:
    """Return the sum of weights of each row (float64), added in SciPy's order; changes the weights of self-loops.

    NetworkX adds a self-loop of an undirected graph twice and subtracts it once, which overflows for huge weights.
    """
    if not G.is_directed():
        loops = np.flatnonzero(G.tails == G.indices)
        weights[loops] = weights[loops] + weights[loops] - weights[loops]
    indptr, _, entries = G.outgoing
    sums, filled = np.zeros(len(G)), np.flatnonzero(np.diff(indptr))
    sums[filled] = np.add.reduceat(weights[entries], indptr[filled])
    return sums


def _shares(G: NodeRows, given: Mapping[Hashable, float] | None, sum_may_be_zero: bool = True) -> np.ndarray:
    """Return shares of the nodes (float64) that add up to 1, the same for all if none are given.

    If the numbers add up to 0, NetworkX fails for ``personalization``, and continues with NaN for other arguments.
    """
    if given is None:
        return np.full(len(G), 1.0 / len(G))
    x = np.array([given.get(node, 0) for node in G.nodes], np.float64)
    if not sum_may_be_zero and x.sum() == 0:
        raise ZeroDivisionError
    return x / x.sum()
