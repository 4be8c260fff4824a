"""A step of PageRank on the CPU (Numba)."""

from gpukit.device.compiled import njit


@njit
def step(in_indptr, in_indices, weights, share, base, alpha, x, first, last):
    """Write the rank of some nodes after a step: ``base`` + ``alpha`` · (rank that arrives along their in-edges).

    Python threads call it concurrently for ranges of nodes; code for Numba's own threads would take 4 s to compile.

    Parameters
    ----------
    in_indptr : int64 array, shape (n + 1,)
    in_indices : int32 array, shape (m,)
        Tails of the edges to each node.
    weights : float64 array, shape (m,) or (0,)
        Weights of the edges; empty: all 1.
    share : float64 array, shape (n,)
        The rank of each node, divided by the weight of its out-edges.
    base : float64 array, shape (n,)
        The rank that a node gets without edges.
    alpha : float
    x : float64 array, shape (n,)
        The result.
    first, last : int64
        The range of nodes, first … last - 1.
    """
    for v in range(first, last):
        total = 0.0
        if len(weights):
            for e in range(in_indptr[v], in_indptr[v + 1]):
                total += share[in_indices[e]] * weights[e]
        else:
            for e in range(in_indptr[v], in_indptr[v + 1]):
                total += share[in_indices[e]]
        x[v] = base[v] + alpha * total
