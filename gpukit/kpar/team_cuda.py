"""What blocks of a GPU do together as a *team*: wait, add up, append to lists, select and sort.

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

SORTED_IN_BLOCK = 1024
"""Most pairs that one block sorts alone."""

POOL = 2560
"""Words of shared memory for histograms, sorting and the ranges of a sweep."""

RANKED = 256
"""Most values whose order is found by comparing all with all."""

BUCKETS = 2048

RELEASED, COUNTERS, SUMS, HISTOGRAMS = 8, 16, 80, 80 + MOST_BLOCKS + 1
CONTROL = HISTOGRAMS + 2 * BUCKETS
"""Places in the stretch of a team, after the count of arrivals: the phases it was let into, counters, sums of the
blocks, histograms; its length."""

FIRST, SECOND, TOTAL_A, TOTAL_B, FLAG = 0, 1, 2, 3, 4
"""Counters: the lengths of two lists, two sums and a flag."""

BASE = 2
"""Place in the small shared array where a flush keeps its first place; 0 and 1 count staged entries."""


@cuda.jit(device=True)
def meet(control, home, blocks, phase):
    """Wait for all threads of the team and return the number of the new phase; the first one has number 1."""
    cuda.syncthreads()
    if blocks > 1:
        if cuda.threadIdx.x == 0:
            cuda.threadfence()
            if cuda.atomic.add(control, home, 1) == blocks * phase - 1:
                cuda.atomic.add(control, home + RELEASED, 1)
            # An atomic read: a plain load would be moved out of the loop.
            while cuda.atomic.add(control, home + RELEASED, 0) < phase:
                pass
            cuda.threadfence()
        cuda.syncthreads()
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
    return cuda.syncthreads_or(int32(1) if flag else int32(0)) != 0


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
        for i in range(lane, count, width):
            target[base + i] = stage[i]
        cuda.syncthreads()


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
    cuda.syncthreads()
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
        first += (cuda.syncthreads_count(int32(below)) - 1) * stride
        last = min(last, first + stride)
    return first


@cuda.jit(device=True)
def _exponent(value):
    """Return ⌊log₂ value⌋ of a positive value."""
    high = int32(value >> 32)
    return 63 - cuda.clz(high) if high > 0 else 31 - _leading(int64(value & 0xFFFFFFFF))


@cuda.jit(device=True)
def _leading(value):
    """Return the zeros before the first one of a 32-bit value."""
    return cuda.clz(int32(value >> 1)) - 1 if value > 1 else 31


@cuda.jit(device=True)
def _bucket(value, low, shift):
    """Return the bucket of a value: by its first bits (``shift`` < 0), a thirty-second of a doubling, or linear."""
    if shift >= 0:
        return (value - low) >> shift
    if value < 1:
        return int64(0)
    exponent = int64(_exponent(value))
    following = value >> (exponent - 5) if exponent >= 5 else value << (5 - exponent)
    return 1 + 32 * exponent + (following & 31)


@cuda.jit(device=True)
def kth(source, count, k, spare, other, control, home, blocks, phase, turn, pool, sums, local, shared):
    """Find the k-th largest of ``source[:count]`` (int64, not negative), 1 ≤ k ≤ count; all threads of the team.

    A histogram of the values shrinks the list to one bucket, again and again, until so few are left that every block
    ranks them for itself: two phases a histogram, nearly always one histogram.

    Parameters
    ----------
    spare, other : int64 arrays
        Room for the shrunk lists; ``other`` may be ``source``, which is then lost.
    turn : int
        Which of the two histograms is clear; the other one is cleared here.
    pool, sums, local, shared
        Shared memory: POOL and 2 WIDTH words, STAGE and 8 half words.

    Returns
    -------
    value, above, equal, phase, turn
        The k-th largest, how many are larger and how many equal, the new phase and turn.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    me, everyone = (cuda.blockIdx.x % blocks) * width + lane, blocks * width
    low, shift, bits = int64(0), int64(-1), int64(64)
    above = int64(0)
    values = source
    while count > RANKED and bits > 0:
        histogram, clear = home + HISTOGRAMS + turn * BUCKETS, home + HISTOGRAMS + (1 - turn) * BUCKETS
        for b in range(lane, BUCKETS, width):
            local[b] = 0
        for b in range(me, BUCKETS, everyone):
            control[clear + b] = 0
        cuda.syncthreads()
        for i in range(me, count, everyone):
            cuda.atomic.add(local, _bucket(values[i], low, shift), 1)
        cuda.syncthreads()
        for b in range(lane, BUCKETS, width):
            if local[b] > 0:
                cuda.atomic.add(control, histogram + b, int64(local[b]))
        phase = meet(control, home, blocks, phase)
        # Thread i owns the buckets from part · i on, counted from the top.
        part = BUCKETS // width
        own = int64(0)
        for i in range(part):
            own += control[histogram + BUCKETS - 1 - lane * part - i]
        upto, _ = scan(own, sums)
        if upto >= k - above and upto - own < k - above:
            larger = upto - own
            bucket = BUCKETS - 1 - lane * part
            while larger + control[histogram + bucket] < k - above:
                larger += control[histogram + bucket]
                bucket -= 1
            pool[BUCKETS], pool[BUCKETS + 1] = bucket, larger
        cuda.syncthreads()
        chosen = pool[BUCKETS]
        above += pool[BUCKETS + 1]
        counter = counters(home, phase) + FIRST
        for first in range(me - lane, count, everyone):
            i = first + lane
            place = 0
            if i < count and _bucket(values[i], low, shift) == chosen:
                place = put(pool, shared, 0, spare, control, counter, values[i])
            if anywhere(place >= STAGE - width):
                flush(pool, shared, 0, spare, control, counter)
        flush(pool, shared, 0, spare, control, counter)
        phase = meet(control, home, blocks, phase)
        count = control[counters(home, phase - 1) + FIRST]
        values, spare, other = spare, other, spare
        if shift < 0:
            exponent, following = (chosen - 1) >> 5, 32 + ((chosen - 1) & 31)
            bits = max(exponent - 5, int64(0))
            low = following << bits
        else:
            low += chosen << shift
            bits = shift
        shift = max(bits - 11, int64(0))
        turn = 1 - turn
    cuda.syncthreads()
    if bits == 0:
        if lane == 0:
            pool[BUCKETS], pool[BUCKETS + 1], pool[BUCKETS + 2] = values[0], above, count
    else:
        for i in range(lane, count, width):
            pool[i] = values[i]
        cuda.syncthreads()
        for i in range(lane, count, width):
            mine, larger, equal = pool[i], int64(0), int64(0)
            for j in range(count):
                larger += pool[j] > mine
                equal += pool[j] == mine
            if above + larger < k and above + larger + equal >= k:
                pool[BUCKETS], pool[BUCKETS + 1], pool[BUCKETS + 2] = mine, above + larger, equal
    phase = meet(control, home, blocks, phase)
    value, above, equal = pool[BUCKETS], pool[BUCKETS + 1], pool[BUCKETS + 2]
    cuda.syncthreads()
    return value, above, equal, phase, turn


@cuda.jit(device=True)
def _order(keys, ids, i, j, falling):
    """Put two pairs into order: larger key first, then smaller id, or the other way round."""
    first = keys[i] > keys[j] or (keys[i] == keys[j] and ids[i] <= ids[j])
    if first != falling:
        keys[i], keys[j] = keys[j], keys[i]
        ids[i], ids[j] = ids[j], ids[i]


@cuda.jit(device=True)
def sort_in_block(keys, ids, size, pool):
    """Sort ``size`` pairs, a power of two of at most SORTED_IN_BLOCK, by falling key, then id; one block."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    local_keys, local_ids = pool[:SORTED_IN_BLOCK], pool[SORTED_IN_BLOCK : 2 * SORTED_IN_BLOCK]
    cuda.syncthreads()
    for i in range(lane, size, width):
        local_keys[i], local_ids[i] = keys[i], ids[i]
    run = 2
    while run <= size:
        step = run >> 1
        while step > 0:
            cuda.syncthreads()
            for pair in range(lane, size >> 1, width):
                i = 2 * pair - (pair & (step - 1))
                _order(local_keys, local_ids, i, i + step, (i & run) == 0)
            step >>= 1
        run *= 2
    cuda.syncthreads()
    for i in range(lane, size, width):
        keys[i], ids[i] = local_keys[i], local_ids[i]
    cuda.syncthreads()


@cuda.jit(device=True)
def sort_in_team(keys, ids, size, control, home, blocks, phase):
    """Sort ``size`` pairs, a power of two, by falling key, then id; all threads of the team. Returns the phase."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    me, everyone = (cuda.blockIdx.x % blocks) * width + lane, blocks * width
    run = 2
    while run <= size:
        step = run >> 1
        while step > 0:
            for pair in range(me, size >> 1, everyone):
                i = 2 * pair - (pair & (step - 1))
                _order(keys, ids, i, i + step, (i & run) == 0)
            phase = meet(control, home, blocks, phase)
            step >>= 1
        run *= 2
    return phase


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
