"""What blocks of a GPU do together as a *team*: wait for each other, add up, and append to lists.

A team is some blocks of one cooperative launch, all of them for one query or one each for many. Its threads work in
*phases* with :func:`meet` between them. What they share lies in ``control`` (int64), a stretch of it for each team that
begins at ``home``: the count of arrivals, four sets of counters, the sums of each block, two histograms, and what
queries that were put off left. Counters written in a phase are read in the next one and zero again two phases later.
"""

from numba import cuda, int32, int64

from gpukit.device.select import simulated

WIDTH = 512
"""Most threads of a block; their number is a power of two."""

SCANNED = 2 * WIDTH
"""Words of shared memory for a scan."""

MOST_BLOCKS = 511
"""Most blocks of a team."""

STAGE = 2048
"""Entries a block gathers in shared memory before it appends them to a list."""

POOL = 2560
"""Words of shared memory for histograms, sorting and the ranges of a sweep."""

BUCKETS = 2048

AT_ONCE = 4
"""Vertices whose values a thread asks for before it looks at the first, in passes over many."""

TOGETHER = 4
"""Queries of a team whose start lists are read together: their units of a vertex fill a sector of 32 bytes."""

HELD = 8
"""Words that a query leaves when it is put off."""

RELEASED, COUNTERS, SUMS, HISTOGRAMS = 8, 16, 80, 80 + MOST_BLOCKS + 1
PUT_OFF = HISTOGRAMS + 2 * BUCKETS
CONTROL = PUT_OFF + TOGETHER * HELD
"""Places in the stretch of a team, after the count of arrivals: the phases it was let into, counters, sums of the
blocks, histograms, queries put off; its length."""

FIRST, SECOND, TOTAL_A, TOTAL_B, FLAG = 0, 1, 2, 3, 4
"""Counters: the lengths of two lists, two sums and a flag."""

RESIDUE, RESERVE, UNIT, WALKED, SCORES, LIMITS, SPARE, LONG_ROWS = 0, 1, 2, 3, 4, 5, 6, 7
TOUCHED, FRONTIER, UPCOMING, CANDIDATES, SHORT_ROWS = 0, 1, 2, 3, 4
"""Rows of n int64 and of n int32 that a query works in."""

BASE, EPOCH, RAISED, PLACE, SMALL = 2, 3, 4, 5, 8
"""Places in the small shared array: the first place of a flush, how often :func:`anywhere` was asked, when a flag was
raised last, and what :func:`locate` finds; 0 and 1 count staged entries; its length. :func:`clear` begins it."""


if simulated():

    def times(a, b):
        """Return a · b, rounded on its own."""
        return a * b

else:
    from numba.cuda import libdevice

    @cuda.jit(device=True)
    def times(a, b):
        """Return a · b, rounded on its own: never fused with a sum."""
        return libdevice.dmul_rn(a, b)


@cuda.jit(device=True)
def clear(shared):
    """Begin the small shared array with zeros, whatever the threads of the block; a barrier must follow."""
    i = cuda.threadIdx.x
    while i < SMALL:
        shared[i] = 0
        i += cuda.blockDim.x


@cuda.jit(device=True)
def meet(control, home, member, blocks, phase):
    """Wait for all threads of the team and return the number of the new phase; the first one has number 1."""
    cuda.syncthreads()
    if blocks > 1:
        if cuda.threadIdx.x == 0:
            cuda.threadfence()
            if cuda.atomic.add(control, home, 1) == blocks * phase - 1:
                # The release hands on what the other arrivals brought, not only what this block wrote.
                cuda.threadfence()
                cuda.atomic.add(control, home + RELEASED, 1)
            # An atomic read: a plain load would be moved out of the loop.
            while cuda.atomic.add(control, home + RELEASED, 0) < phase:
                pass
            cuda.threadfence()
        cuda.syncthreads()
    phase += 1
    if member == 0:
        # A block may have fewer threads than there are counters.
        i = cuda.threadIdx.x
        while i <= FLAG:
            control[home + COUNTERS + 16 * ((phase + 2) & 3) + i] = 0
            i += cuda.blockDim.x
    return phase


@cuda.jit(device=True)
def counters(home, phase):
    """Return where the counters of a phase lie."""
    return home + COUNTERS + 16 * (phase & 3)


@cuda.jit(device=True)
def anywhere(flag, shared):
    """Return whether a flag is set for any thread of the block, which waits for all.

    The barriers that combine flags (``syncthreads_or`` and its kin) are not used: in these kernels an H200 hung in them
    or stopped with an illegal instruction, though every thread of the block had come to the same one.
    """
    turn = shared[EPOCH] + 1
    if flag:
        shared[RAISED] = turn
    cuda.syncthreads()
    found = shared[RAISED] == turn
    if cuda.threadIdx.x == 0:
        shared[EPOCH] = turn
    cuda.syncthreads()
    return found


@cuda.jit(device=True)
def scan(value, sums):
    """Return the sum of ``value`` over the threads of the block up to this one, and over all."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    here, step = 0, 1
    sums[lane] = value
    cuda.syncthreads()
    while step < width:
        total = sums[here + lane]
        if lane >= step:
            total += sums[here + lane - step]
        here = WIDTH - here
        sums[here + lane] = total
        cuda.syncthreads()
        step *= 2
    mine, whole = sums[here + lane], sums[here + width - 1]
    cuda.syncthreads()
    return mine, whole


@cuda.jit(device=True)
def put(stage, shared, slot, target, control, counter, value):
    """Append a value to a list through the block's stage; return how full the stage was."""
    place = cuda.atomic.add(shared, slot, 1)
    if place < STAGE:
        stage[place] = value
    else:
        target[cuda.atomic.add(control, counter, 1)] = value
    return place


@cuda.jit(device=True)
def due(passes, fullest, shared):
    """Return whether to flush: looked at every fourth pass of a loop, so that others need not wait for each other.

    ``fullest`` is the highest place a thread's ``put`` returned since the last flush. What a stage cannot hold goes to
    its list one by one.
    """
    return (passes & 3) == 3 and anywhere(fullest >= STAGE >> 2, shared)


@cuda.jit(device=True)
def flush(stage, shared, slot, target, control, counter):
    """Append what the block has staged to the list; all its threads."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    cuda.syncthreads()
    count = min(int64(shared[slot]), STAGE)
    cuda.syncthreads()
    if count > 0:
        if lane == 0:
            shared[BASE] = cuda.atomic.add(control, counter, count)
            shared[slot] = 0
        cuda.syncthreads()
        base = shared[BASE]
        i = lane
        while i < count:
            target[base + i] = stage[i]
            i += width
        cuda.syncthreads()


@cuda.jit(device=True)
def share_out(control, home, blocks, pool, sums):
    """Put the prefix sums of the blocks' sums into ``pool[: blocks + 1]`` and return the whole; all threads."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    running = int64(0)
    first = 0
    while first < blocks:
        b = first + lane
        mine, whole = scan(control[home + SUMS + b] if b < blocks else int64(0), sums)
        if b < blocks:
            pool[b + 1] = running + mine
        running += whole
        first += width
    if lane == 0:
        pool[0] = 0
    cuda.syncthreads()
    return running


@cuda.jit(device=True)
def doublings(width):
    """Return log₂ of the threads of a block: shifts by it stand for divisions, which cost a hundred instructions."""
    return 31 - cuda.clz(int32(width))


@cuda.jit(device=True)
def locate(offsets, first, last, goal, shared):
    """Return the last item in first … last - 1 whose offset does not exceed ``goal``; all threads of the block.

    Each thread looks at one place; the one at whose place offsets do not exceed the goal, but do at the next, says so.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    shift = doublings(width)
    while last - first > 1:
        stride = (last - first + width - 1) >> shift
        probe = first + lane * stride
        following = probe + stride
        if probe < last and offsets[probe] <= goal:
            if lane + 1 == width or following >= last or offsets[following] > goal:
                shared[PLACE] = lane
        cuda.syncthreads()
        first += shared[PLACE] * stride
        cuda.syncthreads()
        last = min(last, first + stride)
    return first
