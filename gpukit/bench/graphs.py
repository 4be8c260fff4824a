"""Graphs of benchmarks, made in GPU memory: those of ``gpukit graph generate``, in a second instead of minutes."""

import numpy as np

from gpukit.device.arrays import Buffer, on_gpu, xp
from gpukit.device.launch import launch
from gpukit.graph.csr import Graph
from gpukit.graph.generators.draws import TAG_RMAT
from gpukit.graph.generators.quadrants_cuda import draw

BLOCK = 256


def rmat_graph(scale: int, draws: int, seed: int = 0, *, vertices: int | None = None) -> Graph:
    """Return the graph of R-MAT draws without loops and repeats, its arrays in the memory of the first GPU.

    Parameters
    ----------
    scale : int
        log2 of the number of vertices, 1 … 30.
    draws : int
        Number of draws; each takes about 24 bytes of device memory.
    seed : int
    vertices : int, optional
        Keep only edges among the first so many vertices; all by default.

    Returns
    -------
    Graph
        Without ``vertices``, equal to ``rmat(scale, draws=draws, seed=seed)`` imported.
    """
    limits = np.array([int(x * 2**32 + 0.5) for x in (0.57, 0.57 + 0.19, 0.57 + 0.19 + 0.19)], np.uint64)
    n = vertices or 1 << scale
    with on_gpu(0):
        keys = Buffer(draws, np.int64)
        launch(draw, -(-draws // BLOCK), BLOCK, np.uint64(seed), TAG_RMAT, scale, Buffer(limits).view, keys.view)
        # A key is tail and head in one number: sorted, equal edges stand side by side, and loops are negative.
        pairs = keys.array
        if vertices is not None:
            pairs = pairs[((pairs >> 32) < n) & ((pairs & 0xFFFFFFFF) < n)]
        pairs.sort()
        kept = pairs >= 0
        kept[1:] &= pairs[1:] != pairs[:-1]
        pairs = pairs[kept]
        del keys, kept
        indptr = xp.searchsorted(pairs, xp.arange(n + 1, dtype=np.int64) << 32).astype(np.int64)
        return Graph(indptr, pairs.astype(np.int32))
