"""One live-edge world by one block of a GPU: its arcs, its vertices by local number, what seeds reach.

Device functions of the kernels in ``count_cuda.py``; all threads of a block call them together. A block keeps a world
in its own part of one array, ``work``: rows of ``cap`` 32-bit words, named below. It holds arcs as a list and floods
along them in passes, so that nothing depends on how many arcs a vertex has, and passes are few: worlds are shallow.
"""

from numba import cuda, int32, int64, uint32

from gpukit.device.philox import Stream, draw4
from gpukit.device.select import for_kernels
from gpukit.worlds import rule

(
    VERTEX, TAIL, HEAD, GONE, COMP, WEIGHT, LEVEL, ORDER, LEVEL_START, OUT, ROW, CHILD,
    SKIP, MARK, QUEUE, PARENT, TOTAL, REACH, START, SIZE, SEARCHED, SIDE, JOIN_NO, JOINS, POOL,
) = range(25)  # fmt: skip
"""Rows of a block's work: by slot (vertex, …), by arc (TAIL, HEAD, CHILD), by place in an order, or lists."""

POOL_ROWS = 2
ROWS = POOL + POOL_ROWS

COUNT, SLOTS, PLACED, FOUND, USED, SEARCHES, TICKET, NUMBERED, SHARED = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Places in a block's shared counters; their number."""

MOST_THREADS = 1024

WORLD = int(Stream.WORLD)

live_edges = for_kernels(rule.live_edges)


@cuda.jit(device=True)
def draw(tails, heads, blocks, accept, thresholds, seed, id_, work, base, cap, shared):
    """Write tails and heads of the live arcs; return their number, of which only cap // 2 were written.

    A thread owns an arc block: one Philox call, a look into its table, and another call for every three live arcs.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    live = cuda.local.array(64, uint32)
    if lane == 0:
        shared[COUNT] = 0
        shared[SLOTS] = 0
    cuda.syncthreads()
    for b in range(lane, blocks.shape[0], width):
        start, length, meta = blocks[b, 0], blocks[b, 1], blocks[b, 2]
        words = draw4(seed, WORLD, id_, b, 0)
        found = live_edges(length, meta, start, 0, accept, thresholds, seed, WORLD, id_, b, words, live)
        if found > 0:
            place = cuda.atomic.add(shared, COUNT, int32(found))
            for j in range(found):
                if place + j < cap // 2:
                    arc = int64(start) + int64(live[j])
                    work[base + TAIL * cap + place + j] = tails[arc]
                    work[base + HEAD * cap + place + j] = heads[arc]
    cuda.syncthreads()
    return int64(shared[COUNT])


@cuda.jit(device=True)
def _claim(slot_of, place, v, work, vertex, shared):
    if slot_of[place] == -1 and cuda.atomic.cas(slot_of, place, int32(-1), int32(-2)) == -1:
        slot = cuda.atomic.add(shared, SLOTS, int32(1))
        work[vertex + slot] = v
        slot_of[place] = slot


@cuda.jit(device=True)
def localise(slot_of, slot_base, work, base, cap, count, shared):
    """Give slots to the vertices of the arcs and put slots into the arcs; return the number of slots."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    tail, head, vertex = base + TAIL * cap, base + HEAD * cap, base + VERTEX * cap
    for e in range(lane, count, width):
        _claim(slot_of, slot_base + work[tail + e], work[tail + e], work, vertex, shared)
        _claim(slot_of, slot_base + work[head + e], work[head + e], work, vertex, shared)
    cuda.syncthreads()
    for e in range(lane, count, width):
        work[tail + e] = slot_of[slot_base + work[tail + e]]
        work[head + e] = slot_of[slot_base + work[head + e]]
    cuda.syncthreads()
    return int64(shared[SLOTS])


@cuda.jit(device=True)
def forget(slot_of, slot_base, work, base, cap, slots):
    """Make ``slot_of`` -1 again."""
    for s in range(cuda.threadIdx.x, slots, cuda.blockDim.x):
        slot_of[slot_base + work[base + VERTEX * cap + s]] = -1
    cuda.syncthreads()


@cuda.jit(device=True)
def flood(work, tail, head, count, mark, skip):
    """Pass marks from tails to heads until nothing changes; slots in ``skip`` get none (-1: all may)."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    while True:
        changed = 0
        for e in range(lane, count, width):
            a, b = work[tail + e], work[head + e]
            if a >= 0 and b >= 0 and work[mark + a] == 1 and work[mark + b] == 0:
                if skip < 0 or work[skip + b] == 0:
                    work[mark + b] = 1
                    changed = 1
        if cuda.syncthreads_or(changed) == 0:
            break


@cuda.jit(device=True)
def kill(seeds, slot_of, slot_base, work, base, cap, count, slots, paired, shared):
    """Mark in GONE what the seeds reach, and return how many vertices that is, seeds without slots included."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    gone, comp, mark = base + GONE * cap, base + COMP * cap, base + MARK * cap
    for s in range(lane, slots, width):
        work[gone + s] = 0
        work[mark + s] = 0
    if lane == 0:
        shared[FOUND] = 0
    cuda.syncthreads()
    if len(seeds) == 0:
        return int64(0)
    for i in range(lane, len(seeds), width):
        s = slot_of[slot_base + seeds[i]]
        if s < 0:
            cuda.atomic.add(shared, FOUND, int32(1))
        elif paired:
            work[mark + work[comp + s]] = 1
        else:
            work[gone + s] = 1
    cuda.syncthreads()
    if paired:
        for s in range(lane, slots, width):
            work[gone + s] = work[mark + work[comp + s]]
        cuda.syncthreads()
    else:
        flood(work, base + TAIL * cap, base + HEAD * cap, count, gone, int64(-1))
    found = 0
    for s in range(lane, slots, width):
        found += work[gone + s]
    cuda.atomic.add(shared, FOUND, int32(found))
    cuda.syncthreads()
    reached = int64(shared[FOUND])
    cuda.syncthreads()
    return reached


@cuda.jit(device=True)
def join_pairs(work, base, cap, count, slots):
    """Find the connected components of a paired world: roots hook to lower roots, paths are halved.

    COMP is the lowest slot of a component, WEIGHT and REACH its size there.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    tail, head, comp = base + TAIL * cap, base + HEAD * cap, base + COMP * cap
    weight = base + WEIGHT * cap
    for s in range(lane, slots, width):
        work[comp + s] = s
        work[weight + s] = 0
    cuda.syncthreads()
    while True:
        changed = 0
        for e in range(lane, count, width):
            p, q = work[comp + work[tail + e]], work[comp + work[head + e]]
            if p != q:
                cuda.atomic.min(work, comp + max(p, q), min(p, q))
                changed = 1
        cuda.syncthreads()
        for s in range(lane, slots, width):
            while work[comp + s] != work[comp + work[comp + s]]:
                work[comp + s] = work[comp + work[comp + s]]
        if cuda.syncthreads_or(changed) == 0:
            break
    for s in range(lane, slots, width):
        cuda.atomic.add(work, weight + work[comp + s], int32(1))
    cuda.syncthreads()
    for s in range(lane, slots, width):
        work[base + REACH * cap + s] = work[weight + s]
    cuda.syncthreads()


@cuda.jit(device=True)
def make_stars(work, base, cap, slots, shared):
    """Replace the arcs of a paired world by arcs between each slot and its component's root; return their number."""
    tail, head, comp = base + TAIL * cap, base + HEAD * cap, base + COMP * cap
    if cuda.threadIdx.x == 0:
        shared[COUNT] = 0
    cuda.syncthreads()
    for s in range(cuda.threadIdx.x, slots, cuda.blockDim.x):
        root = work[comp + s]
        if root != s:
            e = cuda.atomic.add(shared, COUNT, int32(2))
            work[tail + e], work[head + e] = s, root
            work[tail + e + 1], work[head + e + 1] = root, s
    cuda.syncthreads()
    return int64(shared[COUNT])


@cuda.jit(device=True)
def make_rows(work, base, cap, count, slots, partial):
    """Sort the arcs by tail: ROW (slots + 1 places) and CHILD; a tail of -1 is no arc."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    tail, head, out, row, child = (
        base + TAIL * cap, base + HEAD * cap, base + OUT * cap, base + ROW * cap, base + CHILD * cap
    )  # fmt: skip
    for s in range(lane, slots, width):
        work[out + s] = 0
    cuda.syncthreads()
    for e in range(lane, count, width):
        if work[tail + e] >= 0:
            cuda.atomic.add(work, out + work[tail + e], int32(1))
    cuda.syncthreads()
    chunk = (slots + width - 1) // width
    low, high = min(lane * chunk, slots), min((lane + 1) * chunk, slots)
    sum_ = 0
    for s in range(low, high):
        sum_ += work[out + s]
    partial[lane] = sum_
    cuda.syncthreads()
    if lane == 0:
        total = 0
        for j in range(width):
            part = partial[j]
            partial[j] = total
            total += part
        work[row + slots] = total
    cuda.syncthreads()
    sum_ = partial[lane]
    for s in range(low, high):
        size = work[out + s]
        work[row + s] = sum_
        work[out + s] = sum_
        sum_ += size
    cuda.syncthreads()
    for e in range(lane, count, width):
        if work[tail + e] >= 0:
            work[child + cuda.atomic.add(work, out + work[tail + e], int32(1))] = work[head + e]
    cuda.syncthreads()
