"""A block's table of a few vertices in shared memory, to find out which of them a set has already.

A set that only gains members is long, and what it gains short: reading the set once past such a table, neighbouring
entries at a time, costs less than a bit in global memory for each member, set before the search and cleared after it.
"""

from numba import cuda, int32, int64, uint64

STAGE = 256
"""Live edges, or vertices drawn as roots, that a block holds at a time."""

TABLE_BITS = 9
TABLE = 1 << TABLE_BITS
"""Places of the table, at least twice ``STAGE``."""

EMPTY = -1
"""The key of a free place."""

FREE, SAME_KIND, OTHER_KIND = 0, 1, 2
"""What is known of a vertex in the table: it was not met, it was met among members of its kind, or of the other."""

_SPREAD = 0x9E3779B9
"""Multiplier that spreads ids over 32 bits (2^32 over the golden ratio)."""


@cuda.jit(device=True)
def hashed(v, bits):
    """Return so many bits that stand for a vertex (multiplicative hashing)."""
    return int64(((uint64(v) * uint64(_SPREAD)) & uint64(0xFFFFFFFF)) >> uint64(32 - bits))


@cuda.jit(device=True)
def open_table(keys, met):
    """Empty a table; one block, which must meet before it is used."""
    place = cuda.threadIdx.x
    while place < TABLE:
        keys[place] = EMPTY
        met[place] = FREE
        place += cuda.blockDim.x


@cuda.jit(device=True)
def enter(keys, v):
    """Enter a vertex; return its place, or -1 if it is there."""
    place = hashed(v, TABLE_BITS)
    while True:
        seen = cuda.atomic.cas(keys, place, int32(EMPTY), int32(v))
        if seen == EMPTY:
            return place
        if seen == v:
            return int64(-1)
        place = (place + 1) & (TABLE - 1)


@cuda.jit(device=True)
def find(keys, v):
    """Return the place of a vertex, or -1."""
    place = hashed(v, TABLE_BITS)
    while True:
        seen = keys[place]
        if seen == v:
            return place
        if seen == EMPTY:
            return int64(-1)
        place = (place + 1) & (TABLE - 1)


@cuda.jit(device=True)
def leave(keys, met, place):
    """Free a place; only when nobody enters or looks for a vertex."""
    keys[place] = EMPTY
    met[place] = FREE


@cuda.jit(device=True)
def meet_members(keys, met, ring, base, start, low, high, length, kind):
    """Note which vertices of a table are among the entries low … high - 1 of a record; one block.

    A thread reads four entries at a time (4 bytes each, neighbouring threads neighbouring ones), and then four places
    of the table, which most often are free.
    """
    width, last = int64(cuda.blockDim.x), high - 1
    i = low + cuda.threadIdx.x
    while i < high:
        a = ring[base + wrapped(start + i, length)]
        b = ring[base + wrapped(start + min(i + width, last), length)]
        c = ring[base + wrapped(start + min(i + 2 * width, last), length)]
        d = ring[base + wrapped(start + min(i + 3 * width, last), length)]
        # No id is negative, and an EMPTY key has all bits set.
        if (a | b | c | d) >= 0:
            one = keys[hashed(a, TABLE_BITS)] & keys[hashed(b, TABLE_BITS)]
            if one & keys[hashed(c, TABLE_BITS)] & keys[hashed(d, TABLE_BITS)] != EMPTY:
                turn = 0
                while turn < 4:
                    place = find(keys, a)
                    if place >= 0:
                        met[place] = kind
                    a, b, c, d = b, c, d, a
                    turn += 1
        i += 4 * width


@cuda.jit(device=True)
def wrapped(place, length):
    """Return a place in a ring for one below twice its length."""
    return place - length if place >= length else place
