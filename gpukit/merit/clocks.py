"""The choice of an LT vertex whose draws keep meeting the dead: clocks, one for each in-neighbour and one for none.

The clock of weight w runs out at -log2(u) / w for a uniform u of its own, so among the living each is the first with
a chance in proportion to its weight, as it is among further draws. Clocks are whole numbers of 2**-32 and compared as
fractions, so that the choice is the same on every device. Scalar integer code, compiled for CPUs and for CUDA.
"""

from decimal import Decimal, localcontext

import numba
import numpy as np
from numba import int64, uint64

from gpukit.device.philox import Stream, draw4, join64
from gpukit.worlds.rule import LT_CASCADE, LT_CONSTANT

FACTORS = 40
"""Factors 1 + 2**-k, k = 1, 2, …, of which some multiply to nearly 2 / m, for any m in [1, 2)."""

GUARD = 24
"""Bits of the logarithms beyond the 32 that a clock has after its point."""


def _logarithms() -> np.ndarray:
    """Return log2(1 + 2**-k) for k = 1, 2, … in fixed point (uint64)."""
    with localcontext(prec=40):
        logs = [(1 + Decimal(2) ** -k).ln() / Decimal(2).ln() for k in range(1, FACTORS + 1)]
        return np.array([int((one * 2 ** (32 + GUARD)).to_integral_value()) for one in logs], np.uint64)


LOGARITHMS = _logarithms()

_TAG = int(Stream.LT_CLOCK)
_TOP = 1 << 63
_ONE = 1 << 32


@numba.njit
def halvings(word):
    """Return -log2(u) of u = (word + 1) / 2**64 for a 64-bit word, as a multiple of 2**-32: the nearest, or its next.

    u is halved ``whole`` times from m in [1, 2), so what is missing is log2(2 / m). m is raised towards 2 by each
    factor that does not lead beyond, after which the k-th leaves less than a factor 1 + 2**-k.

    Returns
    -------
    uint64
        In [0, 2**38].
    """
    m, whole = uint64(word) + uint64(1), uint64(0)
    if m == uint64(0):
        return uint64(0)
    while m < uint64(_TOP):
        m <<= uint64(1)
        whole += uint64(1)
    m >>= uint64(1)
    total = whole << uint64(32 + GUARD)
    for k in range(FACTORS):
        raised = m + (m >> uint64(k + 1))
        if raised < uint64(_TOP):
            m = raised
            total += LOGARITHMS[k]
    return (total + (uint64(1) << uint64(GUARD - 1))) >> uint64(GUARD)


@numba.njit
def _product(clock, weight):
    """Return the upper and the lower 32 bits, as two words, of a product of less than 2**96."""
    low = (uint64(clock) & uint64(0xFFFFFFFF)) * uint64(weight)
    return (uint64(clock) >> uint64(32)) * uint64(weight) + (low >> uint64(32)), low & uint64(0xFFFFFFFF)


@numba.njit
def is_before(clock, weight, other_clock, other_weight):
    """Return whether clock / weight < other_clock / other_weight; clocks up to 2**38, weights up to 2**32."""
    high, low = _product(clock, other_weight)
    other_high, other_low = _product(other_clock, weight)
    return high < other_high or (high == other_high and low < other_low)


@numba.njit
def first_clock(kind, degree, start, constant, prefix, seed, sample, vertex, indices, dead):
    """Return the position of the living in-edge of a vertex whose clock runs out first, or -1 if none is chosen.

    Weights are those that :func:`gpukit.worlds.rule.lt_choice` draws by, in units of 2**-32 (of 1 / degree, under
    weighted cascade); what they lack of one is the weight of none, which has no clock if it is 0. An in-edge that
    rounding left without weight, because those before it sum to one already, counts as a unit: otherwise nothing
    would be left to choose where all others are dead.

    Parameters
    ----------
    kind, degree, start, constant, prefix, seed, sample, vertex
        As for :func:`gpukit.worlds.rule.lt_choice`. The clock of a position is keyed by (set, vertex, position), that
        of none by the position behind the last.
    indices : int32 array
        Tails of the in-edges.
    dead : uint8 array, shape (n,)
        Nonzero for activated vertices.
    """
    first, first_time, first_weight = int64(-1), uint64(1), uint64(0)
    below = uint64(0)
    for place in range(degree + 1):
        above = uint64(_ONE)
        if kind == LT_CASCADE:
            above = uint64(min(place + 1, degree))
        elif place < degree and kind == LT_CONSTANT:
            above = min(below + uint64(constant), above)
        elif place < degree:
            above = uint64(prefix[start + place]) + uint64(1)
        weight = above - below
        below = above
        if place < degree:
            if dead[indices[start + place]] != 0:
                continue
            weight = max(weight, uint64(1))
        elif weight == uint64(0):
            break
        words = draw4(seed, _TAG, sample, vertex, place)
        time = halvings(uint64(join64(words[0], words[1])))
        if is_before(time, weight, first_time, first_weight):
            first, first_time, first_weight = int64(place), time, weight
    return first if first < degree else int64(-1)
