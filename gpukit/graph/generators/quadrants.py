"""R-MAT graphs (Chakrabarti, Zhan, Faloutsos, SDM 2004) with the parameters of Graph500."""

import math

import numba
import numpy as np
from numba import prange, uint64

from gpukit.device.compiled import njit
from gpukit.device.philox import draw4
from gpukit.errors import UsageError
from gpukit.graph.generators.draws import TAG_FIRST, TAG_RMAT, canonical, check_size, first_distinct, unpack
from gpukit.graph.memory import DRAW_BYTES, check_drawing

BLOCK = 512
ATTEMPTS = 200


def rmat(
    scale: int | None = None,
    edge_factor: float = 16,
    seed: int = 0,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    *,
    vertices: int | None = None,
    draws: int | None = None,
    edges: int | None = None,
    undirected: bool = False,
    no_dangling: bool = False,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Draw an R-MAT graph: per level, each edge descends into one quadrant of the adjacency matrix, by a 32-bit word.

    Parameters
    ----------
    scale : int
        log2 of the number of vertices, 1 … 30.
    edge_factor : float
        Draws per vertex; loops and repeats are removed when the graph is built.
    seed : int
        In [0, 2**64).
    a, b, c : float
        Probabilities of the upper left, upper right and lower left quadrant; the rest falls to the lower right.
    vertices : int
        Number of vertices, instead of ``scale``; edges outside the range are drawn again.
    draws : int
        Number of draws, instead of ``edge_factor``.
    edges : int
        Draw until there are this many distinct edges without loops, instead of ``edge_factor``.
    undirected : bool
        Whether (u, v) and (v, u) are the same edge for ``edges``.
    no_dangling : bool
        Whether each vertex first gets an out-edge, with a head drawn by the distribution of columns. The rest of
        ``edges`` is drawn as usual.

    Returns
    -------
    u, v : int32 arrays
        The draws in order, or the distinct edges in ascending order.
    n : int
        Number of vertices.
    """
    if (scale is None) == (vertices is None):
        raise UsageError("R-MAT: give either a scale (log2 of the number of vertices) or a number of vertices")
    if scale is not None and not 1 <= scale <= 30:
        raise UsageError(f"R-MAT scale {scale}; it must be in 1 … 30")
    n = 1 << scale if scale is not None else int(vertices or 0)
    if min(a, b, c) < 0 or not a + b + c <= 1:
        raise UsageError(f"R-MAT a = {a}, b = {b}, c = {c}; they must not be negative and sum to at most 1")
    possible = check_size(n, 1 if edges is None else edges, undirected)
    if not math.isfinite(edge_factor * n):
        raise UsageError(f"R-MAT edge factor {edge_factor}; a number is needed that gives 1 … 2**40 draws")
    count = edges if edges is not None else draws if draws is not None else round(edge_factor * n)
    if edges is not None and edges > possible // 2:
        raise UsageError(f"R-MAT with {edges} of {possible} possible edges would draw for too long; use er")
    if not 1 <= count < 2**40:
        raise UsageError(f"R-MAT with {count} draws; 1 … 2**40 are possible")
    if no_dangling and edges is None:
        raise UsageError("R-MAT without dangling vertices has a number of edges; give edges")
    levels = (n - 1).bit_length()
    limits = np.array([int(x * 2**32 + 0.5) for x in (a, a + b, a + b + c)], np.uint64)

    def draw(first: int, number: int) -> np.ndarray:
        return _draw(np.uint64(seed), first, number, np.uint64(n), levels, limits, TAG_RMAT)

    if edges is None:
        check_drawing(f"{count:,} draws", DRAW_BYTES // 2 * count)
        keys = draw(0, count)
    else:
        kept = None
        if no_dangling:
            check_drawing(f"a first edge of {n:,} vertices", DRAW_BYTES * n)
            leaving = _first_edges(np.uint64(seed), np.uint64(n), levels, limits, TAG_FIRST)
            kept = np.unique(canonical(leaving, undirected))
            if edges < len(kept):
                raise UsageError(f"R-MAT with {edges} edges leaves vertices dangling; give {len(kept)} or more")
        keys = first_distinct(lambda first, number: canonical(draw(first, number), undirected), edges, kept)
    return *unpack(keys), n


@numba.njit
def _descend(seed, tag, sample, call, take, limits):
    """Return the quadrants of ``take`` <= 4 levels as two ``take``-bit numbers (row, column); no branches."""
    w0, w1, w2, w3 = draw4(seed, tag, sample, 0, call)
    down, right = uint64(0), uint64(0)
    for word in (w0, w1, w2, w3):
        wide = uint64(word)
        lower = uint64(wide >= limits[1])
        down = (down << uint64(1)) | lower
        right = (right << uint64(1)) | (uint64(wide >= limits[0]) - lower + uint64(wide >= limits[2]))
    unused = uint64(4 - take)
    return down >> unused, right >> unused


@njit(parallel=True)
def _draw(seed, first, number, n, levels, limits, tag):
    """Return u << 32 | v (int64) of draws first … first + number - 1; draw i is keyed by i.

    A block of draws descends four levels at a time, so that the compiler can vectorise over draws.
    """
    keys = np.empty(number, np.int64)
    calls = (levels + 3) // 4
    for block in prange((number + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        size = min(BLOCK, number - start)
        u, v = np.zeros(BLOCK, np.uint64), np.zeros(BLOCK, np.uint64)
        for call in range(calls):
            take = min(4, levels - 4 * call)
            for i in range(size):
                down, right = _descend(seed, tag, first + start + i, call, take, limits)
                u[i] = (u[i] << uint64(take)) | down
                v[i] = (v[i] << uint64(take)) | right
        for i in range(size):
            attempt = 1
            while u[i] >= n or v[i] >= n:
                u[i], v[i] = 0, 0
                for call in range(calls):
                    take = min(4, levels - 4 * call)
                    down, right = _descend(seed, tag, first + start + i, attempt * calls + call, take, limits)
                    u[i] = (u[i] << uint64(take)) | down
                    v[i] = (v[i] << uint64(take)) | right
                attempt += 1
            keys[start + i] = np.int64(u[i] << uint64(32) | v[i])
    return keys


@njit(parallel=True)
def _first_edges(seed, n, levels, limits, tag):
    """Return v << 32 | w (int64) for each vertex v; w ≠ v is the column of an R-MAT draw keyed by v."""
    keys = np.empty(n, np.int64)
    calls = (levels + 3) // 4
    for v in prange(n):
        w = uint64(v)
        attempt = 0
        while (w == uint64(v) or w >= n) and attempt < ATTEMPTS:
            w = uint64(0)
            for call in range(calls):
                take = min(4, levels - 4 * call)
                _, right = _descend(seed, tag, v, attempt * calls + call, take, limits)
                w = (w << uint64(take)) | right
            attempt += 1
        if w == uint64(v) or w >= n:  # the distribution of columns has hardly any other vertex
            w = (uint64(v) + uint64(1)) % n
        keys[v] = np.int64(uint64(v) << uint64(32) | w)
    return keys
