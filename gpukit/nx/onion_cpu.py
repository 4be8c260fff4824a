"""Onion layers on the CPU (Numba)."""

import numpy as np

from gpukit.device.compiled import njit


@njit
def onion_layers(indptr, indices):
    """Return each vertex's layer (1: outermost) and its degree at removal, in O(m + n · largest core number).

    A layer holds the remaining vertices whose degree is at most the current core number; they are removed together. If
    there are none, the core number rises to the smallest remaining degree. Vertices without neighbours form a separate
    layer.

    Parameters
    ----------
    indptr : int64 array, shape (n + 1,)
    indices : int32 array, shape (2m,)
        Rows of a symmetric graph without self-loops.

    Returns
    -------
    layers, degrees : int32 array, shape (n,)
    """
    n = len(indptr) - 1
    layers, degrees = np.zeros(n, np.int32), (indptr[1:] - indptr[:-1]).astype(np.int32)
    queue = np.empty(n, np.int32)
    first, last, layer, core = 0, 0, 0, 0
    while first < n:
        if first == last:
            core = n
            for v in range(n):
                if layers[v] == 0:
                    core = min(core, degrees[v])
            for v in range(n):
                if layers[v] == 0 and degrees[v] == core:
                    queue[last] = v
                    last += 1
        layer += 1
        end = last
        for place in range(first, end):
            layers[queue[place]] = layer
        for place in range(first, end):
            v = queue[place]
            for e in range(indptr[v], indptr[v + 1]):
                u = indices[e]
                if layers[u] == 0:
                    degrees[u] -= 1
                    if degrees[u] == core:
                        queue[last] = u
                        last += 1
        first = end
    return layers, degrees
