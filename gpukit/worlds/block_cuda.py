"""State of a block that draws RR sets on a GPU (``sample_cuda.py``): its working space, hash table and counters."""

from collections import namedtuple

from numba import int32, uint64

from gpukit.device.kernels import cuda, device

BLOCK, WARP, REGISTERS = 128, 32, 64
"""Threads in a block and in a warp, and the most registers per thread."""

STAGE, RECENT = 4 * BLOCK, 4 * BLOCK
"""Places in a block's shared memory: live edges not yet followed, and last pairs of its queue (a power of two)."""

SLOTS, FULLEST = 32 * BLOCK, 2
"""A block's table starts with at least SLOTS slots, and with FULLEST slots for each expected pair. It is not larger,
because clearing all its memory takes as long as drawing a few sets. It grows, while there is room, before more than one
slot in FULLEST is taken: the threads of a warp wait for the longest probe sequence."""

AHEAD = 4
"""Pairs that a thread loads before it uses the first, where a block goes over all its pairs."""

MARGIN = STAGE + 2 * BLOCK
"""Pairs that one iteration may add: new sets, and the live edges that fit into shared memory; it seldom adds more."""

UNRANKED = -1
"""The rank of an element until its set is packed, where sets never end early."""

NO_PAIR = -2
"""The rank where there is no pair, or a pair that is not packed."""

ROWS_ALONE = 8
"""Rows of a vertex that one thread draws alone; the block draws the remaining rows of a hub together, and later."""

OVERFLOW, TICKET, MEMBER_TAIL, VISITED, CONTROL = 0, 1, 2, 3, 4
"""Places in ``control``: a flag, sets started, members packed, and members found where sets may end early; its
length."""

OVER = 256
"""The bit of ``met``, above the bits of marks, that is set once a set has ended early."""

USED, STAGED, FULL, OFFSET, LEFT, LONG, LAST, SIZE, COUNTERS = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Places in a block's shared counters. In order: pairs; live edges; whether a table is full; where the next set of the
block is packed, relative to the base of all its sets; members to pack where sets end early; pairs with rows left; which
thread has the last row of such a pair; slots of the table. The counters have 32 bits, because a multiprocessor does
64-bit atomic adds in shared memory by retrying until no other thread interferes."""

GOT, BASE = 0, 1
"""Places of 64-bit values: the first ticket of a group of sets, and the base."""

step = device(inline="always")
"""A step of a kernel. Numba inlines steps before type inference, so they give the machine code of one long function."""


class BlockMemory(namedtuple("BlockMemory", "table queue ranks met")):
    """Working space of all blocks.

    Attributes
    ----------
    table : uint64 array, shape (blocks * slots,), slots a power of two
        Hash tables of pairs; a block clears what it uses.
    queue : uint64 array, shape (blocks * c,)
        All pairs of a block in the order of discovery, owner << 32 | element + 1; the frontier is the part not yet
        expanded. From the end of the block's part backwards, two words each: a pair that has rows left, and the first
        of these rows.
    ranks : int32 array, shape (blocks, c)
        Rank of each pair's element in its set.
    met : int32 array, shape (sets,), or (1,) where sets do not end early
        Marks of the members of each set, and ``OVER``; zero at the start.
    """


class Output(namedtuple("Output", "sizes starts set_base entries entry_base counts")):
    """Where sets are written.

    Attributes
    ----------
    sizes, starts : int32 and int64 arrays
        Size and first entry of each set, written from ``set_base`` on.
    set_base : int
    entries : int64 array
        set << 32 | element for each member, written from ``entry_base`` on; there must be room for all pairs.
    entry_base : int
    counts : int32 array, shape (n * rounds,)
        Occurrence counters, increased.
    """


class BlockPlace(namedtuple("BlockPlace", "tid block_size queue_base capacity table_base")):
    """A thread's place in its block, and the block's part of the working space."""


class Stage(namedtuple("Stage", "edge owner shift recent")):
    """In shared memory: live edges to be followed (edge, set, round * n), and the last RECENT pairs."""


@device
def id_of(samples, place):
    """Return the sample id of a set: one of consecutive ids, or one of those that are kept."""
    if len(samples.kept) > 0:
        return samples.first + samples.kept[place]
    return samples.first + place


@device
def insert(table, base, size, key):
    """Insert a nonzero key into a block's table; return 1 if it was absent, 0 if present, -1 if the table is full."""
    mask = uint64(size - 1)
    slot = (key * uint64(0x9E3779B97F4A7C15)) >> uint64(32) & mask
    for _ in range(min(4096, size)):
        found = cuda.atomic.cas(table, uint64(base) + slot, uint64(0), key)
        if found == uint64(0):
            return 1
        if found == key:
            return 0
        slot = (slot + uint64(1)) & mask
    return -1


@device
def is_over(samples, space, owner):
    """Return whether a set has ended early."""
    return len(samples.marks) > 0 and (space.met[owner] & OVER) > 0


@device
def note_member(samples, space, owner, vertex, size):
    """Record the marks of a member of a set that now has ``size`` members; end the set if it meets its condition."""
    if len(samples.marks) > 0:
        mark = int32(samples.marks[min(vertex, len(samples.marks) - 1)])
        met = (cuda.atomic.or_(space.met, owner, mark) if mark else int32(0)) | mark
        if met & 255 == samples.all_marks or size > samples.limit:
            cuda.atomic.or_(space.met, owner, int32(OVER))
