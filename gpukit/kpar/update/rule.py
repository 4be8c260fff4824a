"""What an edge's place in a slot table is, and what a step of an updatable walk is: scalar rules (docs/kpar.md).

A vertex with d out-edges has a table of S = 2**bits slots, the least S >= 2d, with a head or -1 in each. An edge's home
is a hash of its ends; it stands in the first slot from there on (cyclically) that no lower head needs. This is the one
stable matching of edges and slots, so a table is a function of its edges (Blelloch, Golovin, "Strongly
history-independent hashing with applications", FOCS 2007).
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
def bits_for(degree):
    """Return log2 of the slots for so many edges (uint8), 1 … 32; 0 where there are none and no table."""
    bits = uint8(0)
    while degree > 0 and (int64(1) << int64(bits)) < 2 * degree:
        bits += uint8(1)
    return bits


@numba.njit(inline="always")
def home(tail, head, bits):
    """Return the slot at which the search for the edge begins."""
    return int64(mixed((uint64(tail) << uint64(32)) | uint64(head)) >> uint64(64 - int64(bits)))


@numba.njit(inline="always")
def slot_of(word, attempt, bits):
    """Return the slot that a step with these 64 bits tries, the number of attempts before it in ``attempt``."""
    if attempt > 0:
        word = mixed(word + uint64(attempt) * uint64(_GOLDEN))
    return int64(word >> uint64(64 - int64(bits)))


@numba.njit(inline="always")
def chosen(slots, begin, bits, word):
    """Return the head that a step chooses by 64 bits: that of the first occupied slot it tries.

    All d edges are equally likely; with fixed 64 bits the chance of one is within about (d / 2**64)**½ of its value.
    """
    attempt = 0
    while True:
        head = slots[begin + slot_of(word, attempt, bits)]
        if head >= 0:
            return head
        attempt += 1


@numba.njit(inline="always")
def drawn(seed, tag, walk, vertex, step):
    """Return the draws of a step of walk ``walk`` from ``vertex``: 32 bits to stop by, and 64 to choose by."""
    w0, w1, w2, _ = draw4(seed, tag, walk, vertex, step)
    return w0, (uint64(w1) << uint64(32)) | uint64(w2)
