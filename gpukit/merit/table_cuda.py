"""What a block holds in shared memory to find out which vertices a set has already: marks, and a table of a few.

A set that only gains members is long, and what it gains short. While the set is copied its members are marked, by three
bits of a word each; who finds a bit clear is new. Who finds all set may share them with others, and waits in the table
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
"""Words of marks: one new vertex in 60 is taken for one of 2,400 members at first, one in 8 for one of 7,000."""

AHEAD = 8
"""Entries that a thread asks for before it looks at the first."""

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
    """Return where an entry of a ring lies, for a place below twice its length (of at most 2**31).

    A place below the length less the length is, without sign, larger: the lesser of the two is the place in the ring.
    """
    before = uint32((place - length) & 0xFFFFFFFF)
    return uint64(base) + uint64(min(uint32(place), before))


@cuda.jit(device=True)
def straight(ring, base, start, low, high, length):
    """Return the entries of a ring from place ``low`` of a record on, and how many come before the ring or it ends."""
    place = wrapped(start + low, length)
    return ring[base + place :], min(high - low, length - place)


@cuda.jit(device=True)
def hashed(v, bits):
    """Return so many bits that stand for a vertex (multiplicative hashing)."""
    spread = uint32((uint64(v) * uint64(_SPREAD)) & uint64(0xFFFFFFFF))
    return uint32(spread >> uint32(32 - bits))


@cuda.jit(device=True)
def marked(marks, bits, v):
    """Return 1 if a vertex may be marked, 0 if it is not."""
    spread = hashed(v, bits + 15)
    word = marks[uint32(spread >> uint32(15))]
    a, b, c = uint32(spread >> uint32(10)) & uint32(31), uint32(spread >> uint32(5)) & uint32(31), spread & uint32(31)
    return uint32(word >> a) & uint32(word >> b) & uint32(word >> c) & uint32(1)


@cuda.jit(device=True)
def suspect(filter_, v, bits):
    """Return whether a filter of 2**bits bits may hold a vertex: never 0 for one that it does."""
    bit = hashed(v, bits)
    return uint32(filter_[uint32(bit >> uint32(5))] >> (bit & uint32(31))) & uint32(1)


@cuda.jit(device=True)
def mark(marks, bits, v):
    """Mark a vertex in 2**bits words; return whether nobody did before: then it is not among those marked."""
    spread = hashed(v, bits + 15)
    a, b, c = uint32(spread >> uint32(10)) & uint32(31), uint32(spread >> uint32(5)) & uint32(31), spread & uint32(31)
    three = uint32(uint32(1) << a) | uint32(uint32(1) << b) | uint32(uint32(1) << c)
    return cuda.atomic.or_(marks, uint32(spread >> uint32(15)), three) & three != three


@cuda.jit(device=True)
def ask(entries, i, width, last, got):
    """Read ``AHEAD`` entries, i and those ``width`` apart behind it, or the last one instead; return if all are ids.

    They are: none is negative. But the compiler does not know, and cannot ask for one only when its turn comes.
    """
    signs = int32(0)
    for j in range(AHEAD):
        got[j] = entries[min(uint32(i + j * width), last)]
        signs |= got[j]
    return signs >= 0


@cuda.jit(device=True)
def _copy(source, target, count, marks, marking):
    """Copy the first entries of an array to another one, and mark them if so asked; one block.

    Threads that have no entry left do again what is done with the last one.
    """
    got = cuda.local.array(AHEAD, int32)
    width, last = uint32(cuda.blockDim.x), uint32(count - 1)
    i = uint32(cuda.threadIdx.x)
    while i <= last:
        if ask(source, i, width, last, got):
            for j in range(AHEAD):
                target[min(uint32(i + j * width), last)] = got[j]
                if marking:
                    mark(marks, MARK_BITS, got[j])
        i = uint32(i + AHEAD * width)


@cuda.jit(device=True)
def move(ring, base, start, target, count, length, gap_at, gap, marks, marking):
    """Copy consecutive entries of a ring to where they do not meet those; one block. Marks them if so asked.

    Those from place ``gap_at`` among them on come ``gap`` entries later. Starts are places in the ring.
    """
    done = int64(0)
    while done < count:
        end, shift = (gap_at, int64(0)) if done < gap_at else (count, gap)
        source, piece = straight(ring, base, start, done, end, length)
        goal, room = straight(ring, base, target, done + shift, end + shift, length)
        piece = min(piece, room)
        _copy(source, goal, piece, marks, marking)
        done += piece


@cuda.jit(device=True)
def open_table(keys):
    """Empty a table; one block, which must meet before it is used."""
    place = cuda.threadIdx.x
    while place < TABLE:
        keys[place] = EMPTY
        place += cuda.blockDim.x


@cuda.jit(device=True)
def enter(keys, met, v):
    """Enter a vertex, as one that was not met; return its place, or -1 if it is there."""
    place = hashed(v, TABLE_BITS)
    while True:
        seen = cuda.atomic.cas(keys, place, int32(EMPTY), int32(v))
        if seen == EMPTY:
            met[place] = FREE
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
def meet_members(keys, met, ring, base, start, low, high, length, kind):
    """Note which vertices of a table are among the entries low … high - 1 of a record; one block.

    A thread reads ``AHEAD`` entries at a time (4 bytes each, neighbouring threads neighbouring ones), and then their
    places of the table, which most often are free.
    """
    got = cuda.local.array(AHEAD, int32)
    width = uint32(cuda.blockDim.x)
    while low < high:
        entries, piece = straight(ring, base, start, low, high, length)
        last, i = uint32(piece - 1), uint32(cuda.threadIdx.x)
        while i <= last:
            if ask(entries, i, width, last, got):
                maybe = uint32(0)
                for j in range(AHEAD):
                    if keys[hashed(got[j], TABLE_BITS)] != EMPTY:
                        maybe |= uint32(uint32(1) << uint32(j))
                while maybe != 0:
                    j = cuda.ffs(maybe) - 1
                    maybe &= uint32(maybe - uint32(1))
                    found = find(keys, entries[min(uint32(i + j * width), last)])
                    if found >= 0:
                        met[found] = kind
            i = uint32(i + AHEAD * width)
        low += piece


@cuda.jit(device=True)
def count_members(ring, base, start, low, high, length, change, counts):
    """Add ``change`` to the count of each entry low … high - 1 of a record; one block, an atomic each."""
    i = low + cuda.threadIdx.x
    while i < high:
        cuda.atomic.add(counts, ring[at(base, start + i, length)], int32(change))
        i += cuda.blockDim.x
