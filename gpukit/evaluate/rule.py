"""The threshold rule of LT for forward runs, the same on every device."""

import numpy as np
from numba import int64, uint64

from gpukit.device.compiled import njit
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import ONE, in_degrees, out_probabilities


def lt_weights(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return the LT weight of each out-edge, minus one, and the scale of each vertex: a weight means ``value / scale``.

    Under weighted cascade every in-edge of v has weight 1 at scale d_in(v), so the weights sum to one exactly.
    Otherwise the weights are the 32-bit thresholds and the scale is 2**32.

    Parameters
    ----------
    graph : Graph
        With probabilities.

    Returns
    -------
    weights : uint32 array, shape (m,) or (0,)
        Empty: every edge weighs 1.
    scales : int64 array, shape (n,)
    """
    if graph.weights.scheme == "wc" and graph.probabilities is None:
        return np.empty(0, np.uint32), in_degrees(graph)
    return out_probabilities(graph), np.full(graph.n, ONE, np.int64)


@njit
def lt_quota(low, high, scale):
    """Return the sum of active weights at which a vertex activates: ``floor(x * scale) + 1`` for a uniform x in [0, 1).

    Active weights that sum to W reach the quota with probability ``min(1, W / scale)``: exactly for a scale of 2**32,
    else to 2**-32.

    Parameters
    ----------
    low, high : uint32
        A 64-bit uniform word in two halves; x is the word over 2**64.
    scale : int64
        Scale of the vertex, in [1, 2**32].

    Returns
    -------
    int64
        In [1, scale].
    """
    size = uint64(scale)
    return int64((uint64(high) * size + ((uint64(low) * size) >> uint64(32))) >> uint64(32)) + int64(1)
