"""Kernels of ego-network extraction on the CPU (Numba): row u of ego(v) is N(u) ∩ N(v); count, then fill."""

from gpukit.device.compiled import njit
from gpukit.diversity.bounds import lower_bound
from gpukit.diversity.contexts_cpu import SKEW


@njit
def ego_rows(first, last, centres, node_begin, indptr, indices, mark, starts, targets, fill):
    """Count or fill the rows of some ego-networks; centres share nothing, so no locks are needed.

    Parameters
    ----------
    first, last : int
        Places in ``centres``.
    centres : int32 array
        Vertices.
    node_begin : int64 array
        First row of each centre's ego-network: the sum of the degrees before it.
    indptr, indices
        The graph, rows ascending.
    mark : int32 array, shape (n,)
        Zeros at the start and at the end.
    starts : int64 array, shape (rows + 1,)
        Counting: receives the length of row r at r + 1. Filling: the start of each row.
    targets : int32 array
        Receives places in the list of the centre's neighbours, ascending in a row; only when filling.
    fill : bool
        Whether to fill.
    """
    for place in range(first, last):
        v = centres[place]
        begin, end = indptr[v], indptr[v + 1]
        for p in range(begin, end):
            mark[indices[p]] = p - begin + 1
        for p in range(begin, end):
            u = indices[p]
            row = node_begin[place] + p - begin
            at = starts[row] if fill else 0
            q, q_end = indptr[u], indptr[u + 1]
            if q_end - q <= SKEW * (end - begin):
                for i in range(q, q_end):
                    j = mark[indices[i]]
                    if j > 0:
                        if fill:
                            targets[at] = j - 1
                        at += 1
            else:
                for i in range(begin, end):
                    q = lower_bound(indices, q, q_end, indices[i])
                    if q < q_end and indices[q] == indices[i]:
                        if fill:
                            targets[at] = i - begin
                        at += 1
            if not fill:
                starts[row + 1] = at
        for p in range(begin, end):
            mark[indices[p]] = 0
