"""Candidates of greedy coverage on a GPU: which elements they are, their numbers, and how often they stand in entries.

An element has a bit in the lower half of a word of ``marks``, one word for 32 elements; the upper half is the number of
the first candidate among these. So candidates are numbered in the order of their ids.
"""

from numba import cuda, int32, int64, uint32, uint64

AT_ONCE = 4
"""Members that a thread asks for before it looks at the first."""

PACKED = 40
"""Bits of a sum of occurrences; a number of candidates lies above it."""

FREE, BLOCKED, FORCED = 0, 1, 2
"""States of an element."""


@cuda.jit(device=True)
def value_of(counts, own, unit, e):
    """Return what an element is worth: the sets it is in, and what it counts for besides."""
    if len(own) > 0:
        return int32(unit) * counts[e] + own[e]
    return counts[e]


@cuda.jit(device=True)
def bits_of(work, query, limit, word):
    """Return the bits of the candidates among 32 elements, and 1 << PACKED for each plus all their occurrences."""
    bits, sums = int64(0), int64(0)
    for i in range(32):
        e = 32 * word + i
        if e < len(work):
            free = query.state[e] == FREE and value_of(work, query.own, query.unit, e) >= limit
            if free or query.state[e] == FORCED:
                bits |= int64(1) << i
                sums += (int64(1) << PACKED) + work[e]
    return bits, sums


@cuda.jit(device=True)
def number_of(word, bit):
    """Return the number of the candidate that has a bit in a word of marks."""
    return int32(word >> 32) + int32(cuda.popc(uint32(word & ((int64(1) << bit) - 1))))


@cuda.jit(device=True)
def find(entries, at, stride, end, marks, names, places):
    """Find the candidates that AT_ONCE entries name: from ``at`` on, each ``stride``-th, below ``end``.

    ``names`` gets the entries, ``places`` the candidates' numbers, -1 for another element. The sign bits, all 0, make
    each load of marks depend on all entries, and each place on all marks: else the compiler, to save registers, asks
    for an entry when the marks of the one before have come, and the loads wait for one another.
    """
    words = cuda.local.array(AT_ONCE, int64)
    left = int32(min(end - at, int64(0x7FFFFFFF)))
    signs = int64(-1)
    for i in range(AT_ONCE):
        names[i] = entries[uint64(at + min(int32(i * stride), int32(left - 1)))]
        signs &= names[i]
    zero, signs = uint32(uint64(signs) >> uint64(63)), int64(-1)
    for i in range(AT_ONCE):
        words[i] = marks[uint32((uint32(names[i] & 0xFFFFFFFF) >> uint32(5)) + zero)]
        signs &= words[i]
    zero = uint32(uint64(signs) >> uint64(63))
    for i in range(AT_ONCE):
        bit = uint32(names[i] & 31)
        marked = (uint32(words[i] & 0xFFFFFFFF) >> bit) & uint32(1) & uint32(int32(i * stride) < left)
        places[i] = int32(number_of(words[i], bit) + int32(zero)) if marked else int32(-1)


@cuda.jit(device=True)
def count_candidates(entries, start, end, rank, stride, marks, taken):
    """Count the candidates in entries start … end - 1 in ``taken``; ``stride`` threads, AT_ONCE entries each a turn."""
    names, places = cuda.local.array(AT_ONCE, int64), cuda.local.array(AT_ONCE, int32)
    at = start + rank
    while at < end:
        find(entries, at, stride, end, marks, names, places)
        for i in range(AT_ONCE):
            if places[i] >= 0:
                cuda.atomic.add(taken, uint32(places[i]), 1)
        at += AT_ONCE * stride
