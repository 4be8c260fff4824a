"""What a block holds in shared memory to find out which vertices a set has already: marks, and a table of a few.

A set that only gains members is long, and what it gains short. While the set is copied its members are marked, by two
bits of a word each; who finds a bit clear is new. Who finds both set may share them with others, and waits in the table
until the search has nothing else to do: then the set is read once past the table. That costs less than a bit in global
memory for each member, set before the search and cleared after it.
"""

from numba import cuda, int32, int64, uint32, uint64

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
"""Words of marks: one new vertex in 40 is taken for one of 2,400 members at first, one in 6 for one of 7,000."""

AHEAD = 4
"""Entries that a thread asks for before it looks at the first; more make loops that push each other out of the caches
for instructions."""

_SPREAD = 0x9E3779B9
"""Multiplier that spreads ids over 32 bits (2^32 over the golden ratio)."""


@cuda.jit(device=True)
def wrapped(place, length):
    """Return a place in a ring for one below twice its length."""
    return place - length if place >= length else place


@cuda.jit(device=True)
def ring_of(r, segments, length):
    """Return where the ring of a set begins."""
    return int64(uint32(r) % uint32(segments)) * length


@cuda.jit(device=True)
def at(base, place, length):
    """Return where an entry of a ring lies, for a place below twice its length; unsigned, so that no sign is tested."""
    return uint64(base + (place - length if place >= length else place))


@cuda.jit(device=True)
def hashed(v, bits):
    """Return so many bits that stand for a vertex (multiplicative hashing)."""
    return int64(((uint64(v) * uint64(_SPREAD)) & uint64(0xFFFFFFFF)) >> uint64(32 - bits))


@cuda.jit(device=True)
def marked(marks, bits, v):
    """Return 1 if a vertex may be marked, 0 if it is not."""
    spread = hashed(v, bits + 10)
    word = uint32(marks[uint64(spread >> 10)])
    return (word >> uint32(spread >> 5 & 31)) & (word >> uint32(spread & 31)) & uint32(1)


@cuda.jit(device=True)
def suspect(filter_, v, bits):
    """Return whether a filter of 2**bits bits may hold a vertex: never 0 for one that it does."""
    bit = hashed(v, bits)
    return uint32(filter_[uint64(bit >> 5)] >> uint32(bit & 31)) & uint32(1)


@cuda.jit(device=True)
def mark(marks, bits, v):
    """Mark a vertex in 2**bits words; return whether nobody did before: then it is not among those marked."""
    spread = hashed(v, bits + 10)
    pair = uint32(uint32(1) << uint32(spread >> 5 & 31)) | uint32(uint32(1) << uint32(spread & 31))
    return cuda.atomic.or_(marks, uint64(spread >> 10), pair) & pair != pair


@cuda.jit(device=True)
def move(ring, base, start, target, count, length):
    """Copy consecutive entries of a ring to where they do not meet those; one block."""
    got = cuda.local.array(AHEAD, int32)
    width, last = int64(cuda.blockDim.x), count - 1
    i = int64(cuda.threadIdx.x)
    while i < count:
        signs = int32(0)
        for j in range(AHEAD):
            got[j] = ring[at(base, start + min(i + j * width, last), length)]
            signs |= got[j]
        # No entry is negative: the compiler cannot ask for one only when its turn comes.
        if signs >= 0:
            for j in range(AHEAD):
                if i + j * width < count:
                    ring[at(base, target + i + j * width, length)] = got[j]
        i += AHEAD * width


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
        a = ring[at(base, start + i, length)]
        b = ring[at(base, start + min(i + width, last), length)]
        c = ring[at(base, start + min(i + 2 * width, last), length)]
        d = ring[at(base, start + min(i + 3 * width, last), length)]
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
def count_members(ring, base, start, low, high, length, change, counts, row):
    """Add ``change`` to a row of counts for each entry low … high - 1 of a record; one block, an atomic each."""
    i = low + cuda.threadIdx.x
    while i < high:
        cuda.atomic.add(counts, (row, ring[at(base, start + i, length)]), int32(change))
        i += cuda.blockDim.x
