"""What a block has that draws RR sets on a GPU (``sample_cuda.py``): its working space, its table, and its counters."""

from collections import namedtuple

from numba import int32, uint64

from gpukit.device.kernels import cuda, device

BLOCK, WARP, REGISTERS = 128, 32, 64
"""Threads in a block and in a warp, and the registers each may take."""

STAGE, RECENT = 4 * BLOCK, 4 * BLOCK
"""What a block has in shared memory: live edges it did not follow yet, and last pairs of its queue (a power of two)."""

SLOTS, FULLEST = 32 * BLOCK, 2
"""A block's table begins with at least SLOTS slots, and with FULLEST for each expected pair: clearing all its room
takes as long as drawing few sets. It grows, while there is room, once one slot in FULLEST may be taken: the threads of
a warp wait for the longest search."""

AHEAD = 4
"""Pairs that a thread reads before it uses the first, where a block goes over all its pairs."""

MARGIN = STAGE + 2 * BLOCK
"""Pairs that a turn may add: new sets, and the live edges that find room in shared memory; it seldom adds more."""

UNRANKED = -1
"""The rank of an element until its set is packed, where sets do not end early."""

NO_PAIR = -2
"""The rank where there is no pair, or none that is packed."""

ROWS_ALONE = 8
"""Rows of a vertex that a thread draws by itself; the block draws the others of a hub together, and later."""

OVERFLOW, TICKET, MEMBER_TAIL, VISITED, CONTROL = 0, 1, 2, 3, 4
"""Places in ``control``: a flag, sets started, members packed, and members found where sets may end early; its
length."""

OVER = 256
"""The bit of ``met``, above those of marks, that says that a set has ended early."""

USED, STAGED, FULL, OFFSET, LEFT, LONG, LAST, SIZE, COUNTERS = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Places in a block's shared counters: pairs, live edges, whether a table is full; where the next set of the block is
packed, counted from the base of them all; members that are packed where sets end early; pairs whose rows are left, and
which thread has the last row of one; slots of the table. Of 32 bits, since a multiprocessor adds 64 bits to its shared
memory by trying until no other thread came between."""

GOT, BASE = 0, 1
"""Places of what is larger: the first of a group of sets, and the base."""

step = device(inline="always")
"""A step of a kernel. Put in place before types are found, steps give the machine code of one long function."""


class BlockMemory(namedtuple("BlockMemory", "table queue ranks met")):
    """Working space of all blocks.

    Attributes
    ----------
    table : uint64 array, shape (blocks * slots,), slots a power of two
        Hash tables of pairs; a block clears what it uses.
    queue : uint64 array, shape (blocks * c,)
        All pairs of a block in the order of discovery, owner << 32 | element + 1; the frontier is what is left of them.
        From the end of the block's part backwards, two words each: a pair that has rows left, and the first of these.
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
        set << 32 | element for each member, written from ``entry_base`` on; room for all pairs must be left.
    entry_base : int
    counts : int32 array, shape (n * rounds,)
        Occurrence counters, increased.
    """


class BlockPlace(namedtuple("BlockPlace", "tid block_size queue_base capacity table_base")):
    """A thread's place in its block, and the block's part of the working space."""


class Stage(namedtuple("Stage", "edge owner shift recent")):
    """In shared memory: live edges that wait to be followed (edge, set, round * n), and the last RECENT pairs."""


@device
def id_of(samples, place):
    """Return the sample id of a set that is drawn: of all ids in turn, or of those that are kept."""
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
    """Note the marks of a member of a set, which now has so many, and end the set if that is enough."""
    if len(samples.marks) > 0:
        mark = int32(samples.marks[min(vertex, len(samples.marks) - 1)])
        met = (cuda.atomic.or_(space.met, owner, mark) if mark else int32(0)) | mark
        if met & 255 == samples.all_marks or size > samples.limit:
            cuda.atomic.or_(space.met, owner, int32(OVER))
