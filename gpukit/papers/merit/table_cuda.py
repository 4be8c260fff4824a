"""What a block holds in shared memory to find out which vertices a set has already: marks, and a table of a few.

A set that only gains members is long, and what it gains short. While the set is copied its members are marked, by three
bits of a word each; who finds a bit clear is new. Who finds all set may share them with others, and waits in the table
until the search has nothing else to do: then the set is read once past the table. That costs less than a bit in global
memory for each member, set before the search and cleared after it.
"""

from collections import namedtuple

from numba import int32, int64, uint32, uint64

from gpukit.device.kernels import cuda, device
from gpukit.merit.hashed_cuda import AHEAD

STAGE = 256
"""Live edges, or vertices drawn as roots, that a block holds at a time."""

TABLE_BITS = 9
TABLE = 1 << TABLE_BITS
"""Places of the table, at least twice ``STAGE``."""

EMPTY = -1
"""The key of a free place."""

FREE, SAME_KIND, OTHER_KIND = 0, 1, 2
"""What is known of a vertex in the table: it was not met, it was met among members of its kind, or of the other."""

MARK_BITS = 10
MARKS = 1 << MARK_BITS
"""Words of marks: one new vertex in 60 is taken for one of 2,400 members at first, one in 8 for one of 7,000."""

_SPREAD = 0x9E3779B9
"""Multiplier that spreads ids over 32 bits (2^32 over the golden ratio)."""


class Ring(namedtuple("Ring", "entries base length")):
    """The ring of a segment: the entries of all rings, where this one begins among them, and how many it has."""


class Record(namedtuple("Record", "ring start limit")):
    """The set that a block writes: its ring, the place of its first member there, and how many there is room for."""


class BlockTable(namedtuple("BlockTable", "tid size counters stage keys met marks")):
    """A thread's place in its block, and what the block holds in shared memory.

    Attributes
    ----------
    tid, size : int
        The thread, and how many the block has.
    counters : int32 array, shape (COUNTERS,)
        See ``grow_cuda.py``.
    stage : uint32 array, shape (STAGE,)
        Live edges, by number, or vertices drawn as roots, by their places in the table.
    keys : int32 array, met : int8 array, shape (TABLE,)
        The table: vertices, and whether they were met.
    marks : uint32 array, shape (MARKS,)
    """


@device
def wrapped(place, length):
    """Return a place in a ring for one below twice its length."""
    return place - length if place >= length else place


@device
def ring_of(entries, r, segments, length):
    """Return the ring of a set."""
    return Ring(entries, int64(uint32(r) % uint32(segments)) * length, length)


@device
def at(ring, place):
    """Return where among all entries one of a ring lies, for a place below twice its length (of at most 2**31).

    A place below the length less the length is, without sign, larger: the lesser of the two is the place in the ring.
    """
    before = uint32((place - ring.length) & 0xFFFFFFFF)
    return uint64(ring.base) + uint64(min(uint32(place), before))


@device
def contiguous_run(ring, start, low, high):
    """Return the entries of a ring from place ``low`` of a record on, and how many come before the ring or it ends."""
    place = wrapped(start + low, ring.length)
    return ring.entries[ring.base + place :], min(high - low, ring.length - place)


@device
def hashed(v, bits):
    """Return so many bits that stand for a vertex (multiplicative hashing)."""
    spread = uint32((uint64(v) * uint64(_SPREAD)) & uint64(0xFFFFFFFF))
    return uint32(spread >> uint32(32 - bits))


@device
def marked(marks, bits, v):
    """Return 1 if a vertex may be marked, 0 if it is not."""
    spread = hashed(v, bits + 15)
    word = marks[uint32(spread >> uint32(15))]
    a, b, c = uint32(spread >> uint32(10)) & uint32(31), uint32(spread >> uint32(5)) & uint32(31), spread & uint32(31)
    return uint32(word >> a) & uint32(word >> b) & uint32(word >> c) & uint32(1)


@device
def may_contain(filter_, v, bits):
    """Return whether a filter of 2**bits bits may hold a vertex: never 0 for one that it does."""
    bit = hashed(v, bits)
    return uint32(filter_[uint32(bit >> uint32(5))] >> (bit & uint32(31))) & uint32(1)


@device
def mark(marks, bits, v):
    """Mark a vertex in 2**bits words; return whether nobody did before: then it is not among those marked."""
    spread = hashed(v, bits + 15)
    a, b, c = uint32(spread >> uint32(10)) & uint32(31), uint32(spread >> uint32(5)) & uint32(31), spread & uint32(31)
    three = uint32(uint32(1) << a) | uint32(uint32(1) << b) | uint32(uint32(1) << c)
    return cuda.atomic.or_(marks, uint32(spread >> uint32(15)), three) & three != three


@device
def load_ahead(entries, i, stride, last, got):
    """Read ``AHEAD`` entries, i and those ``stride`` apart behind it, or the last one instead; return if all are ids.

    They are: none is negative. But the compiler does not know, and cannot load one only when its turn comes.
    """
    signs = int32(0)
    for j in range(AHEAD):
        got[j] = entries[min(uint32(i + j * stride), last)]
        signs |= got[j]
    return signs >= 0


@device
def _copy_run(source, target, count, marks, marking):
    """Copy the first entries of an array to another one, and mark them if so asked; one block.

    Threads that have no entry left do again what is done with the last one.
    """
    got = cuda.local.array(AHEAD, int32)
    block_size, last = uint32(cuda.blockDim.x), uint32(count - 1)
    i = uint32(cuda.threadIdx.x)
    while i <= last:
        if load_ahead(source, i, block_size, last, got):
            for j in range(AHEAD):
                target[min(uint32(i + j * block_size), last)] = got[j]
                if marking:
                    mark(marks, MARK_BITS, got[j])
        i = uint32(i + AHEAD * block_size)


@device
def move(ring, start, target, count, gap_at, gap, marks, marking):
    """Copy consecutive entries of a ring to where they do not overlap those; one block. Marks them if so asked.

    Those from place ``gap_at`` among them on come ``gap`` entries later. Starts are places in the ring.
    """
    done = int64(0)
    while done < count:
        end, shift = (gap_at, int64(0)) if done < gap_at else (count, gap)
        source, piece = contiguous_run(ring, start, done, end)
        goal, room = contiguous_run(ring, target, done + shift, end + shift)
        piece = min(piece, room)
        _copy_run(source, goal, piece, marks, marking)
        done += piece


@device
def clear_table(block):
    """Empty the table of a block, which needs a barrier before it is used."""
    place = cuda.threadIdx.x
    while place < TABLE:
        block.keys[place] = EMPTY
        place += cuda.blockDim.x


@device
def enter(block, v):
    """Enter a vertex, as one that was not met; return its place, or -1 if it is there."""
    place = hashed(v, TABLE_BITS)
    while True:
        seen = cuda.atomic.cas(block.keys, place, int32(EMPTY), int32(v))
        if seen == EMPTY:
            block.met[place] = FREE
            return place
        if seen == v:
            return int64(-1)
        place = (place + 1) & (TABLE - 1)


@device
def find(block, v):
    """Return the place of a vertex, or -1."""
    place = hashed(v, TABLE_BITS)
    while True:
        seen = block.keys[place]
        if seen == v:
            return place
        if seen == EMPTY:
            return int64(-1)
        place = (place + 1) & (TABLE - 1)


@device
def match_members(block, ring, start, low, high, kind):
    """Note which vertices of the table are among the entries low … high - 1 of a record; one block.

    A thread reads ``AHEAD`` entries at a time (4 bytes each, neighbouring threads neighbouring ones), and then their
    places of the table, which most often are free.
    """
    got = cuda.local.array(AHEAD, int32)
    block_size = uint32(cuda.blockDim.x)
    while low < high:
        entries, piece = contiguous_run(ring, start, low, high)
        last, i = uint32(piece - 1), uint32(cuda.threadIdx.x)
        while i <= last:
            if load_ahead(entries, i, block_size, last, got):
                maybe = uint32(0)
                for j in range(AHEAD):
                    if block.keys[hashed(got[j], TABLE_BITS)] != EMPTY:
                        maybe |= uint32(uint32(1) << uint32(j))
                while maybe != 0:
                    j = cuda.ffs(maybe) - 1
                    maybe &= uint32(maybe - uint32(1))
                    found = find(block, entries[min(uint32(i + j * block_size), last)])
                    if found >= 0:
                        block.met[found] = kind
            i = uint32(i + AHEAD * block_size)
        low += piece


@device
def count_members(ring, start, low, high, change, counts):
    """Add ``change`` to the count of each entry low … high - 1 of a record; one block, an atomic each."""
    i = low + cuda.threadIdx.x
    while i < high:
        cuda.atomic.add(counts, ring.entries[at(ring, start + i)], int32(change))
        i += cuda.blockDim.x
