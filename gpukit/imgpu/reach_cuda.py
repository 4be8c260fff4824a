"""Exact reach in one world by one block of a GPU: tree sums and join labels, level by level.

The rule is that of ``reach_cpu.py``. Labels are lists; where a list would be too long, bitsets; where these have no
room, the block searches from the component. Three switches of the paper (section 4) change how it is done and never
what comes out:

- K, *combine*: adjacent levels with at most ``BAND`` components together are done at once. Each component searches its
  band for joins and for what lies below; tree sums climb from each component through its parents in the band.
- R, *reorder*: the components of a level lie by falling number of children, so that the threads of a warp do alike.
- U, *unroll*: children are read this many at a time before any is looked at.
"""

from numba import cuda, int32, int64, uint32

from gpukit.imgpu.labels_cuda import BAND, BAND_WORDS, INLINE, JOIN, NONE, keep_label, label, label_in_band
from gpukit.imgpu.world_cuda import (
    CHILD,
    FOUND,
    GONE,
    HEAD,
    JOIN_NO,
    JOINS,
    LEVEL,
    LEVEL_START,
    MARK,
    NUMBERED,
    ORDER,
    PARENT,
    PLACED,
    QUEUE,
    REACH,
    ROW,
    SEARCHED,
    SEARCHES,
    SIDE,
    SIZE,
    SKIP,
    START,
    TAIL,
    TOTAL,
    USED,
    WEIGHT,
    flood,
    make_rows,
)

DEGREES = 32
"""Classes of components by number of children."""


@cuda.jit(device=True)
def _search(work, base, cap, c, stamp, shared):
    """Count what a component reaches, by a breadth-first search of the whole block; MARK below ``stamp`` is unseen."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    row, child, skip = base + ROW * cap, base + CHILD * cap, base + SKIP * cap
    mark, queue = base + MARK * cap, base + QUEUE * cap
    if lane == 0:
        work[queue] = c
        work[mark + c] = stamp
        shared[PLACED] = 1
        shared[FOUND] = 0
    head, mine = 0, 0
    while True:
        cuda.syncthreads()
        tail = shared[PLACED]
        cuda.syncthreads()
        if head == tail:
            break
        for j in range(head + lane, tail, width):
            u = work[queue + j]
            mine += work[base + WEIGHT * cap + u]
            for e in range(work[row + u], work[row + u + 1]):
                v = work[child + e]
                if work[skip + v] == 0 and work[mark + v] != stamp:
                    if cuda.atomic.max(work, mark + v, stamp) != stamp:
                        work[queue + cuda.atomic.add(shared, PLACED, int32(1))] = v
        head = tail
    cuda.atomic.add(shared, FOUND, int32(mine))
    cuda.syncthreads()
    if lane == 0:
        work[base + REACH * cap + c] = shared[FOUND]
    cuda.syncthreads()


@cuda.jit(device=True)
def _within(work, base, cap, count, slots, levels, combine, unroll, with_rows, shared):
    """Fill REACH of every component outside SKIP, within those. CHILD is there if ``with_rows``, else there is no join.

    A thread owns a component of a level: it adds its sum to its one parent (an atomic), reads its children and writes
    its list. Cost: every child read once, every label once a parent.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    tail, head, skip = base + TAIL * cap, base + HEAD * cap, base + SKIP * cap
    parent, total, size, mark = base + PARENT * cap, base + TOTAL * cap, base + SIZE * cap, base + MARK * cap
    order, start, reach, part = base + ORDER * cap, base + LEVEL_START * cap, base + REACH * cap, base + QUEUE * cap
    found = cuda.local.array(INLINE, int32)
    ahead = cuda.local.array(128, int32)
    stack = cuda.local.array(BAND, int32)
    seen = cuda.local.array(BAND_WORDS, uint32)
    for s in range(lane, slots, width):
        work[parent + s] = NONE
        work[total + s] = work[base + WEIGHT * cap + s]
        work[size + s] = 0
        work[mark + s] = 0
    if lane == 0:
        shared[USED] = 0
        shared[SEARCHES] = 0
        shared[NUMBERED] = 0
    cuda.syncthreads()
    for e in range(lane, count, width):
        a, b = work[tail + e], work[head + e]
        if a >= 0 and work[skip + a] == 0 and work[skip + b] == 0:
            before = cuda.atomic.cas(work, parent + b, int32(NONE), a)
            if before != NONE and before != a:
                work[parent + b] = JOIN
    cuda.syncthreads()
    if with_rows:
        for s in range(lane, slots, width):
            if work[parent + s] == JOIN:
                number = cuda.atomic.add(shared, NUMBERED, int32(1))
                work[base + JOIN_NO * cap + s] = number
                work[base + JOINS * cap + number] = s
        cuda.syncthreads()
    low = 0
    while low < levels:
        high = low + 1
        if combine and with_rows:
            while high < levels and work[start + high + 1] - work[start + low] <= BAND:
                high += 1
        first, end = work[start + low], work[start + high]
        if high > low + 1:
            for i in range(first + lane, end, width):
                work[mark + work[order + i]] = i
                work[part + work[order + i]] = work[total + work[order + i]]
            cuda.syncthreads()
            for i in range(first + lane, end, width):
                c = work[order + i]
                if work[skip + c] == 0:
                    p = work[parent + c]
                    while p >= 0:
                        if work[base + LEVEL * cap + p] >= high:
                            break
                        cuda.atomic.add(work, total + p, work[part + c])
                        p = work[parent + p]
            cuda.syncthreads()
        for i in range(first + lane, end, width):
            c = work[order + i]
            if work[skip + c] != 0:
                continue
            p = work[parent + c]
            if p >= 0 and work[base + LEVEL * cap + p] >= high:
                cuda.atomic.add(work, total + p, work[total + c])
            if not with_rows:
                work[reach + c] = work[total + c]
            elif high > low + 1:
                listed = label_in_band(work, base, cap, c, low, first, found, stack, seen)
                keep_label(work, base, cap, c, found, listed, False, shared)
            else:
                listed = label(work, base, cap, c, unroll, found, ahead)
                keep_label(work, base, cap, c, found, listed, True, shared)
        cuda.syncthreads()
        low = high
    if with_rows and shared[SEARCHES] > 0:
        for s in range(lane, slots, width):
            work[mark + s] = 0
        cuda.syncthreads()
        for i in range(shared[SEARCHES]):
            _search(work, base, cap, work[base + SEARCHED * cap + i], int32(i + 1), shared)
    cuda.syncthreads()


@cuda.jit(device=True)
def _reorder(work, base, cap, levels, counts):
    """Sort each level by falling number of children, in classes up to ``DEGREES - 1``; ``counts`` is shared memory."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    order, start, row, spare = base + ORDER * cap, base + LEVEL_START * cap, base + ROW * cap, base + QUEUE * cap
    for level in range(levels):
        low, high = work[start + level], work[start + level + 1]
        for i in range(lane, DEGREES, width):
            counts[i] = 0
        cuda.syncthreads()
        for i in range(low + lane, high, width):
            c = work[order + i]
            work[spare + i] = c
            cuda.atomic.add(counts, DEGREES - 1 - min(DEGREES - 1, work[row + c + 1] - work[row + c]), int32(1))
        cuda.syncthreads()
        if lane == 0:
            place = low
            for i in range(DEGREES):
                many = counts[i]
                counts[i] = place
                place += many
        cuda.syncthreads()
        for i in range(low + lane, high, width):
            c = work[spare + i]
            degree = DEGREES - 1 - min(DEGREES - 1, work[row + c + 1] - work[row + c])
            work[order + cuda.atomic.add(counts, degree, int32(1))] = c
        cuda.syncthreads()


@cuda.jit(device=True)
def reach_all(work, base, cap, count, slots, levels, split, combine, reorder, unroll, shared, partial, heaviest):
    """Fill REACH for every component that is not gone; see :func:`gpukit.imgpu.reach_cpu.reach_all`."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    tail, head = base + TAIL * cap, base + HEAD * cap
    gone, skip, weight = base + GONE * cap, base + SKIP * cap, base + WEIGHT * cap
    below, above = base + START * cap, base + SIZE * cap
    joins = 0
    mine = int64(0)
    if lane == 0:
        heaviest[0] = 0
    for s in range(lane, slots, width):
        work[skip + s] = work[gone + s]
        work[base + PARENT * cap + s] = NONE
        mine = max(mine, int64(work[weight + s]) << 32 | int64(s))
    cuda.syncthreads()
    cuda.atomic.max(heaviest, 0, mine)
    for e in range(lane, count, width):
        if work[tail + e] >= 0:
            before = cuda.atomic.cas(work, base + PARENT * cap + work[head + e], int32(NONE), work[tail + e])
            if before != NONE and before != work[tail + e]:
                joins = 1
    with_rows = cuda.syncthreads_or(joins) != 0
    if with_rows:
        make_rows(work, base, cap, count, slots, partial)
        if reorder:
            _reorder(work, base, cap, levels, partial)
    heavy = int64(heaviest[0] & int64(0xFFFFFFFF))
    divided = with_rows and heaviest[0] >> 32 >= split
    side, under = base + SIDE * cap, int32(0)
    if divided:
        for s in range(lane, slots, width):
            work[below + s] = 1 if s == heavy else 0
            work[above + s] = 1 if s == heavy else 0
        if lane == 0:
            shared[FOUND] = 0
        cuda.syncthreads()
        flood(work, tail, head, count, below, gone)
        flood(work, head, tail, count, above, gone)
        for s in range(lane, slots, width):
            work[side + s] = (2 if work[below + s] else 0) | (1 if work[above + s] else 0)
            under += work[weight + s] if work[below + s] else 0
            work[skip + s] = 1 if work[gone + s] or work[below + s] else 0
        cuda.atomic.add(shared, FOUND, under)
        cuda.syncthreads()
        under = shared[FOUND]
        cuda.syncthreads()
    for turn in range(2 if divided else 1):
        _within(work, base, cap, count, slots, levels, combine, unroll, with_rows, shared)
        if divided:
            for s in range(lane, slots, width):
                if turn == 0:
                    if work[side + s] == 1:
                        work[base + REACH * cap + s] += under
                    work[skip + s] = 1 if work[gone + s] or work[side + s] & 1 else 0
                elif s == heavy:
                    work[base + REACH * cap + s] = under
            cuda.syncthreads()
