"""What blocks of a GPU do together as a *team*: wait for each other, add up, and append to lists.

A team is some blocks of one cooperative launch, all of them for one query or one each for many. Its threads work in
*phases* with :func:`meet` between them. What they share lies in ``control`` (int64), a stretch of it for each team that
begins at ``home``: the count of arrivals, four sets of counters, the sums of each block, and two histograms. Counters
written in a phase are read in the next one and zero again two phases later.
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

RELEASED, COUNTERS, SUMS, HISTOGRAMS = 8, 16, 80, 80 + MOST_BLOCKS + 1
CONTROL = HISTOGRAMS + 2 * BUCKETS
"""Places in the stretch of a team, after the count of arrivals: the phases it was let into, counters, sums of the
blocks, histograms; its length."""

FIRST, SECOND, TOTAL_A, TOTAL_B, FLAG = 0, 1, 2, 3, 4
"""Counters: the lengths of two lists, two sums and a flag."""

BASE = 2
"""Place in the small shared array where a flush keeps its first place; 0 and 1 count staged entries."""


if simulated():

    def converge():
        """Threads of the simulator run on their own."""

    def times(a, b):
        """Return a · b, rounded on its own."""
        return a * b

else:
    from numba.cuda import libdevice

    @cuda.jit(device=True)
    def converge():
        """Bring the threads of the warp together, as barriers of a block need them."""
        cuda.syncwarp()

    @cuda.jit(device=True)
    def times(a, b):
        """Return a · b, rounded on its own: never fused with a sum."""
        return libdevice.dmul_rn(a, b)


@cuda.jit(device=True)
def wait():
    """Wait for all threads of the block."""
    converge()
    cuda.syncthreads()


@cuda.jit(device=True)
def wait_and_count(flag):
    """Wait for all threads of the block and return how many have a flag of 1 (int32)."""
    converge()
    return cuda.syncthreads_count(flag)


@cuda.jit(device=True)
def meet(control, home, blocks, phase):
    """Wait for all threads of the team and return the number of the new phase; the first one has number 1."""
    wait()
    if blocks > 1:
        if cuda.threadIdx.x == 0:
            cuda.threadfence()
            if cuda.atomic.add(control, home, 1) == blocks * phase - 1:
                cuda.atomic.add(control, home + RELEASED, 1)
            # An atomic read: a plain load would be moved out of the loop.
            while cuda.atomic.add(control, home + RELEASED, 0) < phase:
                pass
            cuda.threadfence()
        wait()
    phase += 1
    if cuda.blockIdx.x % blocks == 0 and cuda.threadIdx.x < 16:
        control[home + COUNTERS + 16 * ((phase + 2) & 3) + cuda.threadIdx.x] = 0
    return phase


@cuda.jit(device=True)
def counters(home, phase):
    """Return where the counters of a phase lie."""
    return home + COUNTERS + 16 * (phase & 3)


@cuda.jit(device=True)
def anywhere(flag):
    """Return whether a flag is set for any thread of the block, which waits for all."""
    converge()
    return cuda.syncthreads_or(int32(1) if flag else int32(0)) != 0


@cuda.jit(device=True)
def scan(value, sums):
    """Return the sum of ``value`` over the threads of the block up to this one, and over all."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    here, step = 0, 1
    sums[lane] = value
    wait()
    while step < width:
        total = sums[here + lane]
        if lane >= step:
            total += sums[here + lane - step]
        here = WIDTH - here
        sums[here + lane] = total
        wait()
        step *= 2
    mine, whole = sums[here + lane], sums[here + width - 1]
    wait()
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
def due(passes, fullest):
    """Return whether to flush: looked at every fourth pass of a loop, so that others need not wait for each other.

    ``fullest`` is the highest place a thread's ``put`` returned since the last flush. What a stage cannot hold goes to
    its list one by one.
    """
    return (passes & 3) == 3 and anywhere(fullest >= STAGE >> 2)


@cuda.jit(device=True)
def flush(stage, shared, slot, target, control, counter):
    """Append what the block has staged to the list; all its threads."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    wait()
    count = min(int64(shared[slot]), STAGE)
    wait()
    if count > 0:
        if lane == 0:
            shared[BASE] = cuda.atomic.add(control, counter, count)
            shared[slot] = 0
        wait()
        base = shared[BASE]
        for i in range(lane, count, width):
            target[base + i] = stage[i]
        wait()


@cuda.jit(device=True)
def share_out(control, home, blocks, pool, sums):
    """Put the prefix sums of the blocks' sums into ``pool[: blocks + 1]`` and return the whole; all threads."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    running = int64(0)
    for first in range(0, blocks, width):
        b = first + lane
        mine, whole = scan(control[home + SUMS + b] if b < blocks else int64(0), sums)
        if b < blocks:
            pool[b + 1] = running + mine
        running += whole
    if lane == 0:
        pool[0] = 0
    wait()
    return running


@cuda.jit(device=True)
def locate(offsets, first, last, goal):
    """Return the last item in first … last - 1 whose offset does not exceed ``goal``; all threads of the block."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    while last - first > 1:
        stride = (last - first + width - 1) // width
        probe = first + lane * stride
        below = 0
        if probe < last and offsets[probe] <= goal:
            below = 1
        first += (wait_and_count(int32(below)) - 1) * stride
        last = min(last, first + stride)
    return first
