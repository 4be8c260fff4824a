"""Operations of blocks of a GPU as a *team*: barriers, sums, and appending to lists.

A team is a group of blocks of one cooperative launch: all blocks for one query, or a few for each of many queries. Its
threads work in *phases* separated by :func:`team_barrier`. The shared state is in ``control`` (int64), in one section
per team that begins at ``home``: the count of arrivals, four sets of counters, the sums of each block, and two
histograms. Counters written in a phase are read in the next one and are zero again two phases later.
"""

from typing import Any, NamedTuple

from numba import int32, int64

from gpukit.device.kernels import cuda, device, group, libdevice
from gpukit.device.select import simulated

MAX_BLOCK_SIZE = 512
"""Most threads of a block; the number of threads is a power of two."""

PREFIX_SUMS = 2 * MAX_BLOCK_SIZE
"""Words of shared memory for a prefix sum."""

MAX_BLOCKS = 511
"""Most blocks of a team."""

STAGE = 2048
"""Entries that a block collects in shared memory before it appends them to a list."""

POOL = 2560
"""Words of shared memory for histograms, sorting and the ranges of a sweep."""

BUCKETS = 2048

AT_ONCE = 4
"""Vertices whose values a thread loads before it uses the first, in passes over many vertices: the loads overlap."""

GROUP_SIZE = 4 if simulated() else 16
"""Most queries whose start lists are read together: their units of a vertex, interleaved, fill 32 bytes."""

PAIRS = GROUP_SIZE // 2
"""32-bit words that these units fill."""

RELEASED, COUNTERS, SUMS, HISTOGRAMS = 8, 16, 80, 80 + MAX_BLOCKS + 1
CONTROL = HISTOGRAMS + 2 * BUCKETS
"""Places in the section of a team, after the count of arrivals: the number of phases released, counters, sums of the
blocks, histograms; the section's length."""

COUNTED = 5
"""Counters of a phase; the functions that write them name them."""

RESIDUE, RESERVE, WALKED, SCORES, LIMITS, SPARE, ROOM, LONG_ROWS = 0, 1, 2, 3, 4, 5, 6, 7
TOUCHED, FRONTIER, UPCOMING, CANDIDATES, SHORT_ROWS = 0, 1, 2, 3, 4
"""Rows of n int64 and of n int32: the working space of a query (:class:`Slot`)."""

BASE, EPOCH, RAISED, PLACE, SMALL = 2, 3, 4, 5, 8
"""Places in the small shared array: the first place of a flush; the number of calls of :func:`block_any`; the call in
which a flag was last raised; the result of :func:`locate`; its length. Places 0 and 1 count staged entries.
:func:`clear` initialises it."""


class Memory(NamedTuple):
    """The shared memory of a block: POOL and PREFIX_SUMS words, two stages of STAGE half words, SMALL half words."""

    pool: Any
    sums: Any
    stage: Any
    other_stage: Any
    small: Any


class Team(NamedTuple):
    """A block within its team.

    ``control``; the start of the team's section in it; the number of this block; the number of blocks; the block's
    shared memory.
    """

    control: Any
    home: Any
    block: Any
    blocks: Any
    memory: Any


class TeamArrays(NamedTuple):
    """The working space of all teams (:func:`gpukit.kpar.query.answer_cuda.answer`)."""

    long: Any
    short: Any
    top: Any
    control: Any
    units: Any
    pairs: Any
    marks: Any
    states: Any


TEAM_ARRAYS = group(
    TeamArrays, "int64[:, :, ::1]", "int32[:, :, ::1]", "int64[:, :, ::1]", "int64[::1]", "uint16[:, ::1]",
    "uint32[::1]", "uint32[:, ::1]", "int64[:, ::1]",
)  # fmt: skip
"""The type of :class:`TeamArrays` in signatures of kernels."""


class Slot(NamedTuple):
    """Working arrays of a query, of n entries.

    ``residue``, ``reserve``, ``walked`` (mass brought by walks), ``scores``, ``limits`` (offsets, upper bounds),
    ``spare`` and ``room`` are int64. ``unit`` (uint16) is the mass per walk, packed. ``touched`` (vertices met),
    ``candidates``, ``frontier`` and ``upcoming`` are int32. ``marks`` (uint32) has a bit for each vertex, set once it
    is met.
    """

    residue: Any
    reserve: Any
    unit: Any
    walked: Any
    scores: Any
    limits: Any
    spare: Any
    room: Any
    touched: Any
    candidates: Any
    frontier: Any
    upcoming: Any
    marks: Any


class Met(NamedTuple):
    """The vertices of a pass over those met: the first ``span`` of ``touched``, or all n if ``dense``."""

    span: Any
    dense: Any


class Staged(NamedTuple):
    """A list to which a block appends through a stage in its shared memory.

    ``small[slot]`` counts the staged entries. The counter ``at + which`` of ``control`` counts the entries of the list.
    """

    stage: Any
    small: Any
    slot: Any
    target: Any
    control: Any
    at: Any
    which: Any


if simulated():

    def times(a, b):
        """Return a · b as a rounded float64."""
        return a * b

else:

    @device
    def times(a, b):
        """Return a · b, rounded by itself: never fused with a sum."""
        return libdevice.dmul_rn(a, b)


@device
def slot_of(space, i):
    """Return the arrays of a slot."""
    long, short = space.long, space.short
    return Slot(
        long[i, RESIDUE], long[i, RESERVE], space.units[i], long[i, WALKED], long[i, SCORES],
        long[i, LIMITS], long[i, SPARE], long[i, ROOM], short[i, TOUCHED], short[i, CANDIDATES],
        short[i, FRONTIER], short[i, UPCOMING], space.marks[i],
    )  # fmt: skip


@device
def group_end(space, first):
    """Return the end (exclusive) of the group of up to GROUP_SIZE slots that begins with ``first``."""
    return min(first + GROUP_SIZE, len(space.states))


@device
def met_of(count, listed, n):
    """Return the vertices for passes over those met: ``count`` of the list if it is complete and short, else all n."""
    dense = not listed or count > n >> 2
    return Met(n if dense else count, dense)


@device
def met_vertex(met, touched, j):
    """Return the j-th vertex of a pass over those met."""
    return j if met.dense else int64(touched[j])


@device(inline="always")
def block_memory():
    """Return all shared memory that a block of a team needs; call it once in a kernel."""
    # One line per array: the simulator tells shared arrays apart by the line that creates them.
    return Memory(
        cuda.shared.array(POOL, int64),
        cuda.shared.array(PREFIX_SUMS, int64),
        cuda.shared.array(STAGE, int32),
        cuda.shared.array(STAGE, int32),
        cuda.shared.array(SMALL, int32),
    )


@device
def clear(small):
    """Set the small shared array to zero, with any number of threads in the block; a barrier must follow."""
    i = cuda.threadIdx.x
    while i < SMALL:
        small[i] = 0
        i += cuda.blockDim.x


@device
def team_barrier(team, phase):
    """Wait for all threads of the team and return the number of the new phase; the first one has number 1."""
    control, home = team.control, team.home
    cuda.syncthreads()
    if team.blocks > 1:
        if cuda.threadIdx.x == 0:
            cuda.threadfence()
            if cuda.atomic.add(control, home, 1) == team.blocks * phase - 1:
                # The fence publishes the writes of all blocks that arrived, not only those of this block.
                cuda.threadfence()
                cuda.atomic.add(control, home + RELEASED, 1)
            # An atomic read: the compiler would move a plain load out of the loop.
            while cuda.atomic.add(control, home + RELEASED, 0) < phase:
                pass
            cuda.threadfence()
        cuda.syncthreads()
    phase += 1
    if team.block == 0:
        # A block may have fewer threads than there are counters.
        i = cuda.threadIdx.x
        while i < COUNTED:
            control[home + COUNTERS + 16 * ((phase + 2) & 3) + i] = 0
            i += cuda.blockDim.x
    return phase


@device
def counters(team, phase):
    """Return the first place of the counters of a phase."""
    return team.home + COUNTERS + 16 * (phase & 3)


@device
def block_any(flag, small):
    """Return whether a flag is set for any thread of the block; all its threads, with a barrier.

    The barriers that combine flags (``syncthreads_or`` and similar) are not used. In these kernels, an H200 hung in
    them or stopped with an illegal instruction, although every thread of the block had reached the same barrier.
    """
    parity = small[EPOCH] + 1
    if flag:
        small[RAISED] = parity
    cuda.syncthreads()
    found = small[RAISED] == parity
    if cuda.threadIdx.x == 0:
        small[EPOCH] = parity
    cuda.syncthreads()
    return found


@device
def block_prefix_sum(value, sums):
    """Return the sum of ``value`` over the threads of the block up to and including this one, and over all."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    here, step = 0, 1
    sums[tid] = value
    cuda.syncthreads()
    while step < block_size:
        total = sums[here + tid]
        if tid >= step:
            total += sums[here + tid - step]
        here = MAX_BLOCK_SIZE - here
        sums[here + tid] = total
        cuda.syncthreads()
        step *= 2
    mine, whole = sums[here + tid], sums[here + block_size - 1]
    cuda.syncthreads()
    return mine, whole


@device
def put(staged, value):
    """Append a value to a list through the block's stage; return its place there, STAGE or more if it was full."""
    counter = staged.at + staged.which
    place = cuda.atomic.add(staged.small, staged.slot, 1)
    if place < STAGE:
        staged.stage[place] = value
    else:
        staged.target[cuda.atomic.add(staged.control, counter, 1)] = value
    return place


@device
def time_to_flush(passes, fullest, small):
    """Return whether to flush; checked only in every fourth pass of a loop, because a check is a barrier.

    ``fullest`` is the highest place that a thread's ``put`` returned since the last flush. Entries that do not fit into
    the stage go to the list one by one.
    """
    return (passes & 3) == 3 and block_any(fullest >= STAGE >> 2, small)


@device
def flush(staged):
    """Append the staged entries of the block to the list; all its threads."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    small, counter = staged.small, staged.at + staged.which
    cuda.syncthreads()
    count = min(int64(small[staged.slot]), STAGE)
    cuda.syncthreads()
    if count > 0:
        if tid == 0:
            small[BASE] = cuda.atomic.add(staged.control, counter, count)
            small[staged.slot] = 0
        cuda.syncthreads()
        base = small[BASE]
        i = tid
        while i < count:
            staged.target[base + i] = staged.stage[i]
            i += block_size
        cuda.syncthreads()


@device
def prefix_over_blocks(team, pool, sums):
    """Put the prefix sums of the blocks' sums into ``pool[: blocks + 1]`` and return the total; all threads."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    running = int64(0)
    first = 0
    while first < team.blocks:
        b = first + tid
        mine, whole = block_prefix_sum(team.control[team.home + SUMS + b] if b < team.blocks else int64(0), sums)
        if b < team.blocks:
            pool[b + 1] = running + mine
        running += whole
        first += block_size
    if tid == 0:
        pool[0] = 0
    cuda.syncthreads()
    return running


@device
def doublings(block_size):
    """Return log₂ of the threads of a block; shifts by it replace divisions, which take a hundred instructions."""
    return 31 - cuda.clz(int32(block_size))


@device
def locate(offsets, first, last, goal, small):
    """Return the last item in first … last - 1 whose offset does not exceed ``goal``; all threads of the block.

    Each thread probes one place. The thread whose offset does not exceed the goal, while the next one does, reports.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    shift = doublings(block_size)
    while last - first > 1:
        stride = (last - first + block_size - 1) >> shift
        probe = first + tid * stride
        following = probe + stride
        if probe < last and offsets[probe] <= goal:
            if tid + 1 == block_size or following >= last or offsets[following] > goal:
                small[PLACE] = tid
        cuda.syncthreads()
        first += small[PLACE] * stride
        cuda.syncthreads()
        last = min(last, first + stride)
    return first
