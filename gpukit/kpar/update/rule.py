"""Scalar rules for the places of edges in slot tables, and for the steps of updatable walks (docs/kpar.md).

An edge of weight w, a whole number from 1 on, takes ⌈w / u⌉ slots of its tail's table: a *part*, which a step that
finds it accepts with probability (w - 1 mod u + 1) / u, and copies, which are always accepted. The unit u = 2**k is the
least one that the mean weight of the row does not exceed, so d edges take at most 2·d slots. If edges are not weighted,
every weight is 1, u is 1, and there are no copies. A table has S = 2**bits slots; S is the least power of 2 that is at
least twice the number of taken slots. The home of a copy is a hash of its edge and its number (0: the part). The copy
is in the first slot from its home on (cyclically) that no copy of a lower head needs. This is the one stable matching
of copies and slots, so a table is a function of its edges (Blelloch, Golovin, "Strongly history-independent hashing
with applications", FOCS 2007).

Draws, homes and the order of heads use the *names* of vertices (uint64), which do not change when vertices are added or
removed.
"""

import numba
from numba import int64, uint8, uint64

from gpukit.device.compiled import njit
from gpukit.device.philox import draw4

_GOLDEN = 0x9E3779B97F4A7C15


@numba.njit(inline="always")
def mixed(word):
    """Return the finaliser of SplitMix64 of 64 bits (Steele, Lea, Flood, OOPSLA 2014), a bijection."""
    word = (word ^ (word >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> uint64(27))) * uint64(0x94D049BB133111EB)
    return word ^ (word >> uint64(31))


@njit
def bits_for(taken):
    """Return log2 of the number of slots of a table with ``taken`` slots (uint8), 1 … 34.

    0 without taken slots (no table).
    """
    bits = uint8(0)
    while taken > 0 and (int64(1) << int64(bits)) < 2 * taken:
        bits += uint8(1)
    return bits


@njit
def unit_for(weight, degree):
    """Return log2 of the unit of a row of ``degree`` edges whose weights sum to ``weight``: 0 … 32."""
    unit = int64(0)
    while weight > degree << unit:
        unit += 1
    return unit


@numba.njit(inline="always")
def folded(name):
    """Return 32 bits of a name, which are the name itself if it fits."""
    return (name ^ (name >> uint64(32))) & uint64(0xFFFFFFFF)


@numba.njit(inline="always")
def home(tail, head, copy, bits):
    """Return the slot at which the search for a copy of an edge begins; the ends are names."""
    word = mixed((folded(tail) << uint64(32)) | folded(head))
    if copy > 0:
        word = mixed(word + uint64(copy) * uint64(_GOLDEN))
    return int64(word >> uint64(64 - int64(bits)))


@numba.njit(inline="always")
def tried(word, attempt):
    """Return the 64 bits of an attempt of a step with these 64, the number of attempts before it in ``attempt``."""
    if attempt > 0:
        word = mixed(word + uint64(attempt) * uint64(_GOLDEN))
    return word


@numba.njit(inline="always")
def slot_of(word, bits):
    """Return the slot of an attempt, from the highest of its bits."""
    return int64(word >> uint64(64 - int64(bits)))


@numba.njit(inline="always")
def accepts(word, weight, unit):
    """Return whether an attempt accepts the part of an edge of weight ``weight`` + 1, from the lowest of its bits."""
    below = (uint64(1) << uint64(unit)) - uint64(1)
    return word & below <= uint64(weight) & below


@numba.njit(inline="always")
def head_in(slots, weights, place, unit, word):
    """Return the head that an attempt finds in a slot; -1 if the slot is empty, or its part is not accepted."""
    slot = int64(slots[place])
    if unit > 0:
        if slot < -1:
            return -2 - slot
        if slot >= 0 and not accepts(word, weights[place], unit):
            return int64(-1)
    return slot


@numba.njit(inline="always")
def chosen(slots, weights, begin, shape, word):
    """Return the head that a step chooses by 64 bits: that of the first successful attempt.

    The probability of each edge is its share of the weights; with fixed 64 bits it is within about (d / 2**64)**½ of
    that. ``shape`` is unit << 8 | bits.
    """
    bits, unit, attempt = shape & 255, shape >> 8, 0
    while True:
        now = tried(word, attempt)
        head = head_in(slots, weights, begin + slot_of(now, bits), unit, now)
        if head >= 0:
            return head
        attempt += 1


@numba.njit(inline="always")
def drawn(seed, tag, walk, name, step):
    """Return the draws of a step of walk ``walk`` from a vertex: 32 bits to stop by, and 64 to choose by.

    The higher half of the name uses bits that walks (below 2**32) and steps (below 2**16) do not use.
    """
    name = uint64(name)
    walk = uint64(walk) | ((name >> uint64(32)) & uint64(0xFFFF)) << uint64(32)
    step = uint64(step) | (name >> uint64(48)) << uint64(16)
    w0, w1, w2, _ = draw4(seed, tag, walk, name & uint64(0xFFFFFFFF), step)
    return w0, (uint64(w1) << uint64(32)) | uint64(w2)
