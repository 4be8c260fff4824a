"""A step of PageRank on the CPU (Numba)."""

from numba import prange

from gpukit.device.compiled import njit


@njit(parallel=True)
def step(in_indptr, in_indices, weights, share, base, alpha, x):
    """Write the rank of each node after a step: ``base`` + ``alpha`` times what comes along its edges.

    Parameters
    ----------
    in_indptr : int64 array, shape (n + 1,)
    in_indices : int32 array, shape (m,)
        Where the edges to each node come from.
    weights : float64 array, shape (m,) or (0,)
        Weights of the edges; all 1 if it is empty.
    share : float64 array, shape (n,)
        The rank of each node over the weight of its edges.
    base : float64 array, shape (n,)
        What a node gets without edges.
    alpha : float
    x : float64 array, shape (n,)
        The result.
    """
    for v in prange(len(x)):
        total = 0.0
        if len(weights):
            for e in range(in_indptr[v], in_indptr[v + 1]):
                total += share[in_indices[e]] * weights[e]
        else:
            for e in range(in_indptr[v], in_indptr[v + 1]):
                total += share[in_indices[e]]
        x[v] = base[v] + alpha * total
