"""Graphs for benchmarks, made in GPU memory: those of ``gpukit graph generate``, in a second instead of minutes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, on_gpu, xp
from gpukit.device.launch import launch
from gpukit.graph.csr import Graph
from gpukit.graph.generators.draws import TAG_RMAT
from gpukit.graph.generators.quadrants_cuda import draw

BLOCK = 256

PART = 1 << 28
"""Most elements of a mask that are selected together: CuPy counts them in 32 bits."""


def rmat_graph(scale: int, draws: int, seed: int = 0, *, vertices: int | None = None) -> Graph:
    """Return the graph of R-MAT draws without loops and repeats, its arrays in the memory of the first GPU.

    Parameters
    ----------
    scale : int
        log2 of the number of vertices, 1 … 30.
    draws : int
        Number of draws; each takes about 17 bytes of device memory, 16 of which sorting takes.
    seed : int
    vertices : int, optional
        Keep only edges among this number of first vertices; all by default.

    Returns
    -------
    Graph
        Without ``vertices``, equal to ``rmat(scale, draws=draws, seed=seed)`` imported.
    """
    n = vertices or 1 << scale
    with on_gpu(0):
        # After sorting, equal edges are adjacent.
        pairs = rmat_draws(scale, draws, seed)
        if vertices is not None:
            pairs = _compacted(pairs, lambda part, _: ((part >> 32) < n) & ((part & 0xFFFFFFFF) < n))
        pairs.sort()
        pairs = _compacted(pairs, lambda part, before: (part >= 0) & (part != before))
        indptr = xp.searchsorted(pairs, xp.arange(n + 1, dtype=np.int64) << 32).astype(np.int64)
        return Graph(indptr, pairs.astype(np.int32))


def rmat_draws(scale: int, draws: int, seed: int = 0) -> Any:
    """Return R-MAT draws, int64 in the memory of the current GPU: tail << 32 | head of each, and -1 for a loop."""
    limits = np.array([int(x * 2**32 + 0.5) for x in (0.57, 0.57 + 0.19, 0.57 + 0.19 + 0.19)], np.uint64)
    keys = Buffer(draws, np.int64)
    launch(draw, -(-draws // BLOCK), BLOCK, np.uint64(seed), TAG_RMAT, scale, Buffer(limits).view, keys.view)
    return keys.array


def _compacted(values: Any, wanted: Callable[[Any, Any], Any]) -> Any:
    """Move the elements that ``wanted(part, elements before it)`` selects to the front of an array, and return them."""
    kept, last = 0, xp.full(1, -1, np.int64)
    for first in range(0, len(values), PART):
        part = values[first : first + PART].copy()
        chosen = part[wanted(part, xp.concatenate([last, part[:-1]]))]
        values[kept : kept + len(chosen)] = chosen
        kept, last = kept + len(chosen), part[-1:]
    return values[:kept]
