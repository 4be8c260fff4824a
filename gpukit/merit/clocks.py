"""Choice of an LT vertex whose draws repeatedly hit dead vertices: a clock per in-neighbour, and one for "none".

The clock of weight w runs out at -log2(u) / w, with its own uniform u. So among the living each clock is first with a
probability proportional to its weight, exactly as with further draws. Clocks are whole multiples of 2**-32 and are
compared as fractions, so the choice is the same on every device. Scalar integer code, compiled for CPUs and for CUDA.
"""

from decimal import Decimal, localcontext

import numba
import numpy as np
from numba import int64, uint64

from gpukit.device.philox import Stream, draw4, join64
from gpukit.worlds.rule import LT_CASCADE, LT_CONSTANT

FACTORS = 40
"""Number of factors 1 + 2**-k, k = 1, 2, …; for any m in [1, 2) a subset of them has a product close to 2 / m."""

GUARD = 24
"""Guard bits of the logarithms, beyond the 32 fractional bits of a clock."""


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
    """Return -log2(u) of u = (word + 1) / 2**64 for a 64-bit word, in multiples of 2**-32, to within one multiple.

    u = m / 2**(``whole`` + 1) with m in [1, 2), so -log2(u) = ``whole`` + log2(2 / m). m is multiplied by each
    factor that keeps it below 2. After the k-th factor the remaining ratio is less than 1 + 2**-k.

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
    """Return a product of less than 2**96 as two words: all bits above the lowest 32, and the lowest 32."""
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
    """Return the position of the living in-edge whose clock runs out first, or -1 if "none" is chosen.

    Weights are those of :func:`gpukit.worlds.rule.lt_choice`, in units of 2**-32 (of 1 / degree under weighted
    cascade). What they lack of one is the weight of "none", which has no clock if this is 0. Rounding may leave an
    in-edge without weight, because the edges before it already sum to one. Such an edge counts as one unit: otherwise
    nothing could be chosen if all other in-neighbours are dead.

    Parameters
    ----------
    kind, degree, start, constant, prefix, seed, sample, vertex
        As for :func:`gpukit.worlds.rule.lt_choice`. The clock of a position is keyed by (set, vertex, position); "none"
        has the position after the last.
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
