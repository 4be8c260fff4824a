"""Uniform random graphs G(n, m) of Erdős and Rényi."""

import numpy as np
from numba import prange

from gpukit.device.compiled import njit
from gpukit.device.philox import draw4
from gpukit.graph.generators.draws import TAG_ER, below64, canonical, check_size, first_distinct, unpack
from gpukit.graph.memory import check_drawing

PAIR_BYTES = 64
"""Bytes per pair of vertices, if all pairs are listed."""


def er(vertices: int, edges: int, seed: int = 0, *, undirected: bool = False) -> tuple[np.ndarray, np.ndarray, int]:
    """Choose exactly ``edges`` distinct edges without loops; every such set is equally likely.

    Parameters
    ----------
    vertices, edges : int
        Numbers of vertices and of edges.
    seed : int
        In [0, 2**64).
    undirected : bool
        Whether to choose among unordered pairs.

    Returns
    -------
    u, v : int32 arrays, shape (edges,)
        Ascending by (u, v).
    n : int
    """
    n, m = vertices, edges
    possible = check_size(n, m, undirected)

    def draw(first: int, number: int) -> np.ndarray:
        return canonical(_draw(np.uint64(seed), first, number, n, TAG_ER), undirected)

    if m <= possible // 2:
        keys = first_distinct(draw, m)
    else:  # drawing the absent edges takes fewer rounds
        check_drawing(f"{n * n:,} pairs of vertices", PAIR_BYTES * n * n)
        u, v = np.divmod(np.arange(n * n, dtype=np.int64), n)
        every = (u << 32 | v)[u < v if undirected else u != v]
        keys = np.setdiff1d(every, first_distinct(draw, possible - m), assume_unique=True)
    return *unpack(keys), n


@njit(parallel=True)
def _draw(seed, first, number, n, tag):
    """Return u << 32 | v (int64) of draws first … first + number - 1, uniform over u ≠ v; draw i is keyed by i."""
    keys = np.empty(number, np.int64)
    for i in prange(number):
        words = draw4(seed, tag, first + i, 0, 0)
        u = np.int64(below64(words[0], words[1], n))
        v = np.int64(below64(words[2], words[3], n - 1))
        keys[i] = u << 32 | (v + (v >= u))
    return keys
