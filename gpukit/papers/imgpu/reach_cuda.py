"""Exact reach in one world by one block of a GPU: tree sums and join labels, level by level.

The rule is that of :mod:`gpukit.imgpu.reach`. Labels are lists; where a list would be too long, bitsets; where these
have no room, the block searches from the component. Three switches of the paper (section 4) change how it is done and
never what comes out:

- K, *combine*: adjacent levels with at most ``BAND`` components together are done at once. Each component searches its
  band for joins and for what lies below; tree sums climb from each component through its parents in the band.
- R, *reorder*: the components of a level lie by falling number of children, so that the threads of a warp do alike.
- U, *unroll*: children are read this many at a time before any is looked at.
"""

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device
from gpukit.imgpu.reach import INLINE, JOIN, NONE
from gpukit.imgpu.world_cuda import PLACED, SEARCHES, SUM, at
from gpukit.papers.imgpu import label_world_cuda as world
from gpukit.papers.imgpu import labels_cuda as labels
from gpukit.papers.imgpu.label_world_cuda import (
    GONE,
    HEAD,
    LEVEL,
    MARK,
    ORDER,
    PARENT,
    REACH,
    ROW,
    SKIP,
    TAIL,
    TOTAL,
    WEIGHT,
)
from gpukit.papers.imgpu.labels_cuda import BAND_WORDS
from gpukit.papers.imgpu.switches import BAND

DEGREES = 32
"""Classes of components by number of children."""


@device
def _search(space, c, stamp):
    """Count what a component reaches, by a breadth-first search of the whole block; MARK below ``stamp`` is unseen."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, counters, row, child, skip = (
        space.work,
        space.counters,
        at(space, ROW),
        at(space, world.CHILD),
        at(space, SKIP),
    )
    mark, queue = at(space, MARK), at(space, world.QUEUE)
    if tid == 0:
        work[queue] = c
        work[mark + c] = stamp
        counters[PLACED] = 1
        counters[SUM] = 0
    head, own = 0, 0
    while True:
        cuda.syncthreads()
        tail = counters[PLACED]
        cuda.syncthreads()
        if head == tail:
            break
        for j in range(head + tid, tail, block_size):
            u = work[queue + j]
            own += work[at(space, WEIGHT) + u]
            for e in range(work[row + u], work[row + u + 1]):
                v = work[child + e]
                if work[skip + v] == 0 and work[mark + v] != stamp:
                    if cuda.atomic.max(work, mark + v, stamp) != stamp:
                        work[queue + cuda.atomic.add(counters, PLACED, int32(1))] = v
        head = tail
    cuda.atomic.add(counters, SUM, int32(own))
    cuda.syncthreads()
    if tid == 0:
        work[at(space, REACH) + c] = counters[SUM]
    cuda.syncthreads()


# whole: cutting it further changes the order of instructions; it waits for a GPU to time that
@device
def _reach_without(space, how, count, slots, levels, with_rows):
    """Fill REACH of every component outside SKIP, within those (Algorithm 2, lines 7 to 13).

    A thread owns a component of a level: it adds its sum to its one parent (an atomic), reads its children and writes
    its list. CHILD is there if ``with_rows``, else there is no join. Cost: every child read once, every label once for
    each parent. It is one function because its parts, taken out, compile to other code.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, counters, tail, head, skip = space.work, space.counters, at(space, TAIL), at(space, HEAD), at(space, SKIP)
    parent, total, size, mark = at(space, PARENT), at(space, TOTAL), at(space, world.SIZE), at(space, MARK)
    order, start, reach, part = at(space, ORDER), at(space, world.LEVEL_START), at(space, REACH), at(space, world.QUEUE)
    found = cuda.local.array(INLINE, int32)
    ahead = cuda.local.array(128, int32)
    stack = cuda.local.array(BAND, int32)
    seen = cuda.local.array(BAND_WORDS, uint32)
    # Parents and joins; no component has a label yet.
    for s in range(tid, slots, block_size):
        work[parent + s] = NONE
        work[total + s] = work[at(space, WEIGHT) + s]
        work[size + s] = 0
        work[mark + s] = 0
    if tid == 0:
        counters[world.POOL_USED] = 0
        counters[SEARCHES] = 0
        counters[world.JOIN_COUNT] = 0
    cuda.syncthreads()
    for e in range(tid, count, block_size):
        a, b = work[tail + e], work[head + e]
        if a >= 0 and work[skip + a] == 0 and work[skip + b] == 0:
            before = cuda.atomic.cas(work, parent + b, int32(NONE), a)
            if before != NONE and before != a:
                work[parent + b] = JOIN
    cuda.syncthreads()
    if with_rows:
        for s in range(tid, slots, block_size):
            if work[parent + s] == JOIN:
                number = cuda.atomic.add(counters, world.JOIN_COUNT, int32(1))
                work[at(space, world.JOIN_NO) + s] = number
                work[at(space, world.JOINS) + number] = s
        cuda.syncthreads()
    low = 0
    while low < levels:
        # K, equation 2: as many levels as have BAND components together; one level if it alone has more.
        high = low + 1
        if how.combine and with_rows:
            while high < levels and work[start + high + 1] - work[start + low] <= BAND:
                high += 1
        first, end = work[start + low], work[start + high]
        if high > low + 1:
            # In a band each sum climbs to its ancestors at once, up to the first join.
            for i in range(first + tid, end, block_size):
                work[mark + work[order + i]] = i
                work[part + work[order + i]] = work[total + work[order + i]]
            cuda.syncthreads()
            for i in range(first + tid, end, block_size):
                c = work[order + i]
                if work[skip + c] == 0:
                    p = work[parent + c]
                    while p >= 0:
                        if work[at(space, LEVEL) + p] >= high:
                            break
                        cuda.atomic.add(work, total + p, work[part + c])
                        p = work[parent + p]
            cuda.syncthreads()
        # Lines 9 and 10: T is final for all of the band; the label, and the reach that follows from it.
        for i in range(first + tid, end, block_size):
            c = work[order + i]
            if work[skip + c] != 0:
                continue
            p = work[parent + c]
            if p >= 0 and work[at(space, LEVEL) + p] >= high:
                cuda.atomic.add(work, total + p, work[total + c])
            if not with_rows:
                work[reach + c] = work[total + c]
            elif high > low + 1:
                listed = labels.label_in_band(space, c, low, first, found, stack, seen)
                labels.keep_label(space, c, found, listed, False)
            else:
                listed = labels.label(space, c, how.unroll, found, ahead)
                labels.keep_label(space, c, found, listed, True)
        cuda.syncthreads()
        low = high
    # What got no label is counted by a search of the whole block.
    if with_rows and counters[SEARCHES] > 0:
        for s in range(tid, slots, block_size):
            work[mark + s] = 0
        cuda.syncthreads()
        for i in range(counters[SEARCHES]):
            _search(space, work[at(space, world.SEARCHED) + i], int32(i + 1))
    cuda.syncthreads()


@device
def _reorder(space, levels, counts):
    """R: sort each level by falling number of children, in classes; ``counts`` is shared memory.

    Above DEGREES - 2 children all are one class.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, order, start, row = space.work, at(space, ORDER), at(space, world.LEVEL_START), at(space, ROW)
    spare = at(space, world.QUEUE)
    for level in range(levels):
        low, high = work[start + level], work[start + level + 1]
        for i in range(tid, DEGREES, block_size):
            counts[i] = 0
        cuda.syncthreads()
        for i in range(low + tid, high, block_size):
            c = work[order + i]
            work[spare + i] = c
            cuda.atomic.add(counts, DEGREES - 1 - min(DEGREES - 1, work[row + c + 1] - work[row + c]), int32(1))
        cuda.syncthreads()
        if tid == 0:
            place = low
            for i in range(DEGREES):
                many = counts[i]
                counts[i] = place
                place += many
        cuda.syncthreads()
        for i in range(low + tid, high, block_size):
            c = work[spare + i]
            degree = DEGREES - 1 - min(DEGREES - 1, work[row + c + 1] - work[row + c])
            work[order + cuda.atomic.add(counts, degree, int32(1))] = c
        cuda.syncthreads()


@device
def _mark_from(space, heavy, levels, below, above):
    """Mark what a component reaches, and what reaches it: level by level away from it, a thread per component.

    The whole block reads the children of the first, which may be thousands. Cost: every child of what is marked below
    is read once, and of what lies above, up to a marked one.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, order, start = space.work, at(space, ORDER), at(space, world.LEVEL_START)
    row, child = at(space, ROW), at(space, world.CHILD)
    level = work[at(space, LEVEL) + heavy]
    for e in range(work[row + heavy] + tid, work[row + heavy + 1], block_size):
        work[below + work[child + e]] = 1
    cuda.syncthreads()
    for lower in range(level - 1, 0, -1):
        for i in range(work[start + lower] + tid, work[start + lower + 1], block_size):
            c = work[order + i]
            if work[below + c]:
                for e in range(work[row + c], work[row + c + 1]):
                    work[below + work[child + e]] = 1
        cuda.syncthreads()
    for higher in range(level + 1, levels):
        for i in range(work[start + higher] + tid, work[start + higher + 1], block_size):
            c = work[order + i]
            for e in range(work[row + c], work[row + c + 1]):
                if work[above + work[child + e]]:
                    work[above + c] = 1
                    break
        cuda.syncthreads()


@device
def reach_all(space, how, count, slots, levels, partial, heaviest):
    """Fill REACH for every component that is not gone; see :func:`gpukit.imgpu.reach_cpu.reach_all`."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, counters, tail, head = space.work, space.counters, at(space, TAIL), at(space, HEAD)
    gone, skip, weight = at(space, GONE), at(space, SKIP), at(space, WEIGHT)
    below, above = at(space, world.START), at(space, world.SIZE)
    # Is there a join at all, and which component is the heaviest?
    joins = 0
    own = int64(0)
    if tid == 0:
        heaviest[0] = 0
    for s in range(tid, slots, block_size):
        work[skip + s] = work[gone + s]
        work[at(space, PARENT) + s] = NONE
        own = max(own, int64(work[weight + s]) << 32 | int64(s))
    cuda.syncthreads()
    cuda.atomic.max(heaviest, 0, own)
    for e in range(tid, count, block_size):
        if work[tail + e] >= 0:
            before = cuda.atomic.cas(work, at(space, PARENT) + work[head + e], int32(NONE), work[tail + e])
            if before != NONE and before != work[tail + e]:
                joins = 1
    with_rows = cuda.syncthreads_or(joins) != 0
    if with_rows:
        world.make_rows(space, count, slots, partial)
        if how.reorder:
            _reorder(space, levels, partial)
    heavy = int64(heaviest[0] & int64(0xFFFFFFFF))
    divided = with_rows and heaviest[0] >> 32 >= how.split
    side, weight_below = at(space, world.SIDE), int32(0)
    if divided:
        # SIDE: what the heavy component reaches (2), what reaches it (1), both for itself (3).
        for s in range(tid, slots, block_size):
            work[below + s] = 1 if s == heavy else 0
            work[above + s] = 1 if s == heavy else 0
        if tid == 0:
            counters[SUM] = 0
        cuda.syncthreads()
        _mark_from(space, heavy, levels, below, above)
        for s in range(tid, slots, block_size):
            work[side + s] = (2 if work[below + s] else 0) | (1 if work[above + s] else 0)
            weight_below += work[weight + s] if work[below + s] else 0
            work[at(space, SKIP) + s] = 1 if work[gone + s] or work[below + s] else 0
        cuda.atomic.add(counters, SUM, weight_below)
        cuda.syncthreads()
        weight_below = counters[SUM]
        cuda.syncthreads()
    # Once; in a divided world first without what the heavy component reaches, then without what reaches it.
    for pass_ in range(2 if divided else 1):
        _reach_without(space, how, count, slots, levels, with_rows)
        if divided:
            for s in range(tid, slots, block_size):
                if pass_ == 0:
                    if work[side + s] == 1:
                        work[at(space, REACH) + s] += weight_below
                    work[skip + s] = 1 if work[gone + s] or work[side + s] & 1 else 0
                elif s == heavy:
                    work[at(space, REACH) + s] = weight_below
            cuda.syncthreads()
