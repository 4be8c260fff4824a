"""Affiliation graphs: people meet in communities, which creates the triangles and cliques of real social networks.

They are stand-ins for problems in which clustering matters (structural diversity): Holme–Kim graphs of LiveJournal's
size have a quarter of its triangles.
"""

from decimal import Decimal, localcontext
from itertools import pairwise

import numba
import numpy as np
from numba import prange, uint64

from gpukit.device.compiled import njit
from gpukit.device.philox import draw4
from gpukit.errors import UsageError
from gpukit.graph.generators.draws import (
    TAG_BACKGROUND,
    TAG_COIN,
    TAG_COMMUNITY,
    TAG_WEIGHT,
    below64,
    canonical,
    check_size,
    first_distinct,
    unpack,
)
from gpukit.graph.memory import DRAW_BYTES, check_drawing

SMALLEST, LARGEST = 3, 350
SIZE_EXPONENT = Decimal("2.6")
DENSITY_SCALE, DENSITY_EXPONENT = Decimal(6), Decimal("0.04")
WEIGHT_EXPONENT, WEIGHT_CAP, WEIGHT_STEPS = Decimal("2.5"), 60, 64
TRIANGLE_UNIT = 2**16


def affiliation(vertices: int, edges: int, triangles: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, int]:
    """Draw an undirected graph with the given number of edges and about the given number of triangles.

    Communities have s = 3 … 350 members, with P(s) ∝ s**-2.6. Each pair of members is joined with probability min(1,
    (s/6)**-0.04). Members are chosen by Pareto weights (density exponent 2.5, cap 60). Communities are added until the
    expected triangles inside them reach ``triangles``; overlaps and chance triangles change the number by less than 1 %
    (measured at n = 400,000). Then edges are added by the product of the weights (Chung, Lu 2002) until there are
    ``edges``. If the communities alone have more, the graph has more.

    Parameters
    ----------
    vertices : int
        Number of vertices, at least 351.
    edges, triangles : int
        Target numbers of edges and of triangles.
    seed : int
        In [0, 2**64).

    Returns
    -------
    u, v : int32 arrays
        Each edge once, u < v, ascending.
    n : int
    """
    n = vertices
    check_size(n, edges, undirected=True)
    if n <= LARGEST:
        raise UsageError(f"{n} vertices; communities have up to {LARGEST} members, so more are needed")
    if triangles < 0:
        raise UsageError(f"{triangles} triangles; give 0 or more")
    size_limits, coins, expected = _size_tables()
    pairs = triangles * TRIANGLE_UNIT * _pairs_per_triangle(size_limits, expected)
    check_drawing(f"{triangles:,} triangles of {n:,} people", int(24 * n + DRAW_BYTES // 2 * pairs))
    reach = np.cumsum(_weights(np.uint64(seed), n, _weight_limits(), TAG_WEIGHT))
    sizes = _sizes(np.uint64(seed), size_limits, expected, triangles * TRIANGLE_UNIT, TAG_COMMUNITY)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes * (sizes - 1) // 2)))
    keys = _communities(np.uint64(seed), sizes, starts, coins, reach, TAG_COMMUNITY, TAG_COIN)
    keys = keys[keys >= 0]
    keys.sort()
    keys = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys

    def draw(first: int, number: int) -> np.ndarray:
        return canonical(_background(np.uint64(seed), first, number, reach, TAG_BACKGROUND), True)

    return *unpack(first_distinct(draw, edges, keys)), n


def _cumulative(weights: list[Decimal]) -> np.ndarray:
    """Return floor(2**64 · cdf) of each value (uint64), except the last, which has no limit."""
    total, running, limits = sum(weights), Decimal(0), []
    for weight in weights[:-1]:
        running += weight
        limits.append(int(running / total * 2**64))
    return np.array(limits, np.uint64)


def _size_tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for s = 3 …, the limits of P(s) (uint64), the coin of a pair and the expected triangles (int64).

    Coins are in units of 2**-32, triangles in units of 2**-16.
    """
    with localcontext() as context:
        context.prec = 60
        sizes = [Decimal(s) for s in range(SMALLEST, LARGEST + 1)]
        limits = _cumulative([s**-SIZE_EXPONENT for s in sizes])
        density = [min(Decimal(1), (s / DENSITY_SCALE) ** -DENSITY_EXPONENT) for s in sizes]
        coins = [int(p * 2**32) for p in density]
        expected = [int(s * (s - 1) * (s - 2) / 6 * p**3 * TRIANGLE_UNIT) for s, p in zip(sizes, density, strict=True)]
    return limits, np.array(coins, np.int64), np.array(expected, np.int64)


def _pairs_per_triangle(limits: np.ndarray, expected: np.ndarray) -> float:
    """Return the number of pairs of community members per unit of expected triangles."""
    sizes = np.arange(SMALLEST, LARGEST + 1)
    chances = np.diff(np.concatenate(([0.0], limits / 2**64, [1.0])))
    return float(chances @ (sizes * (sizes - 1) / 2)) / float(chances @ expected)


def _weight_limits() -> np.ndarray:
    """Return the limits (uint64) of Pareto weights, rounded down to 1, 1 + 1/64, … 60: P(W >= w) = w**-1.5."""
    with localcontext() as context:
        context.prec = 60
        steps = range(WEIGHT_STEPS, WEIGHT_CAP * WEIGHT_STEPS + 1)
        tail = [(Decimal(step) / WEIGHT_STEPS) ** (1 - WEIGHT_EXPONENT) for step in steps]
        return _cumulative([here - above for here, above in pairwise(tail)] + tail[-1:])


@njit(parallel=True)
def _weights(seed, n, limits, tag):
    """Return the weight (int64, in 64ths) of each vertex; the draw is keyed by the vertex."""
    weights = np.empty(n, np.int64)
    for v in prange(n):
        words = draw4(seed, tag, v, 0, 0)
        weights[v] = 64 + np.searchsorted(limits, uint64(words[0]) | uint64(words[1]) << uint64(32), side="right")
    return weights


@njit
def _sizes(seed, limits, expected, wanted, tag):
    """Return the sizes (int64) of communities whose total of expected triangles is at most 1 % below ``wanted``.

    A community that would exceed ``wanted`` is skipped, because the largest ones have millions of triangles. Draw i is
    keyed by i.
    """
    sizes = np.empty(1024, np.int64)
    count, reached, i = 0, 0, 0
    while wanted - reached >= max(wanted // 100, expected[0]):
        words = draw4(seed, tag, i, 0, 0)
        i += 1
        size = 3 + np.searchsorted(limits, uint64(words[0]) | uint64(words[1]) << uint64(32), side="right")
        if reached + expected[size - 3] <= wanted:
            if count == len(sizes):
                sizes = np.concatenate((sizes, np.empty(count, np.int64)))
            sizes[count] = size
            count += 1
            reached += expected[size - 3]
    return sizes[:count]


@numba.njit
def _vertex(low, high, reach):
    """Return a vertex with probability proportional to its weight; ``reach`` holds the running sums of the weights."""
    return np.searchsorted(reach, np.int64(below64(low, high, reach[-1])), side="right")


@numba.njit
def _members(seed, tag, c, members, reach):
    """Fill ``members`` with distinct vertices by weight, ascending; draw d >= 1 of community c is keyed by (c, d)."""
    count, draw = 0, 1
    while count < len(members):
        words = draw4(seed, tag, c, 0, draw)
        draw += 1
        v = _vertex(words[0], words[1], reach)
        place = count
        while place > 0 and members[place - 1] > v:
            place -= 1
        if place == 0 or members[place - 1] != v:
            for i in range(count, place, -1):
                members[i] = members[i - 1]
            members[place] = v
            count += 1


@njit(parallel=True)
def _communities(seed, sizes, starts, coins, reach, tag, coin_tag):
    """Return u << 32 | v, u < v, for each joined pair of members, and -1 for other pairs (int64, starts[-1]).

    Community c has ``sizes[c]`` members, and its pairs start at ``starts[c]``; the coin of its pair i is keyed by (c,
    i).
    """
    keys = np.empty(starts[-1], np.int64)
    for c in prange(len(sizes)):
        members = np.empty(sizes[c], np.int64)
        _members(seed, tag, c, members, reach)
        pair = 0
        for i in range(sizes[c]):
            for j in range(i + 1, sizes[c]):
                if pair % 4 == 0:
                    words = draw4(seed, coin_tag, c, 0, pair // 4)
                joined = np.int64(words[pair % 4]) < coins[sizes[c] - 3]
                keys[starts[c] + pair] = (members[i] << 32 | members[j]) if joined else -1
                pair += 1
    return keys


@njit(parallel=True)
def _background(seed, first, number, reach, tag):
    """Return u << 32 | v (int64) of draws first … first + number - 1, both by weight; draw i is keyed by i."""
    keys = np.empty(number, np.int64)
    for i in prange(number):
        words = draw4(seed, tag, first + i, 0, 0)
        keys[i] = np.int64(_vertex(words[0], words[1], reach)) << 32 | np.int64(_vertex(words[2], words[3], reach))
    return keys
