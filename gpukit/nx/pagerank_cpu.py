"""A step of PageRank on the CPU (Numba)."""

from gpukit.device.compiled import njit


@njit
def step(in_indptr, in_indices, weights, share, base, alpha, x, first, last):
    """Write the rank of some nodes after a step: ``base`` + ``alpha`` times what comes along their edges.

    Threads that share the nodes out call it beside one another: Numba's own threads would take 4 s to compile.

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
    first, last : int64
        The nodes are first … last - 1.
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
