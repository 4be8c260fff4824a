"""From live arcs to a DAG by level, by one block of a GPU; device functions as in ``label_world_cuda.py``."""

from numba import int32, int64

from gpukit.device.kernels import cuda, device
from gpukit.imgpu.world_cuda import PLACED, SUM, at
from gpukit.papers.imgpu import label_world_cuda as world
from gpukit.papers.imgpu.label_world_cuda import (
    COMP,
    GONE,
    HEAD,
    LEFT_HEAD,
    LEFT_TAIL,
    LEVEL,
    MARK,
    ORDER,
    OUT,
    TAIL,
    WEIGHT,
)


@device
def _order_by_level(space, count, slots):
    """Order what stands for itself and is not gone by level, from the sinks.

    A level is the longest distance to a sink. Slots on cycles, and what reaches them, get no level (-1). A thread drops
    its arcs into what has a level: those that are left, all between slots without one, lie in LEFT_TAIL and LEFT_HEAD,
    each thread's in the places that are its own, from ``tid`` on, ``block_size`` apart.

    Returns
    -------
    levels, placed : int
    left : int
        One more than the last place of this thread's arcs that are left, at most.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, counters, tail, head = space.work, space.counters, at(space, TAIL), at(space, HEAD)
    out, level, order, start = at(space, OUT), at(space, LEVEL), at(space, ORDER), at(space, world.LEVEL_START)
    left_tail, left_head = at(space, LEFT_TAIL), at(space, LEFT_HEAD)
    for s in range(tid, slots, block_size):
        work[out + s] = 0
        work[level + s] = -1
    if tid == 0:
        counters[PLACED] = 0
    cuda.syncthreads()
    left = int64(tid)
    for e in range(tid, count, block_size):
        a = work[tail + e]
        if a >= 0:
            cuda.atomic.add(work, out + a, int32(1))
            work[left_tail + left], work[left_head + left] = a, work[head + e]
            left += block_size
    cuda.syncthreads()
    for s in range(tid, slots, block_size):
        if work[out + s] == 0 and work[at(space, GONE) + s] == 0 and work[at(space, COMP) + s] == s:
            work[level + s] = 0
            work[order + cuda.atomic.add(counters, PLACED, int32(1))] = s
    begin, depth = 0, 0
    while True:
        cuda.syncthreads()
        end = counters[PLACED]
        if tid == 0:
            work[start + depth] = begin
        cuda.syncthreads()
        if end == begin:
            break
        # Who loses its last child of no level lies one level up.
        still = int64(tid)
        for e in range(tid, left, block_size):
            a, b = work[left_tail + e], work[left_head + e]
            if work[level + b] == depth:
                if cuda.atomic.add(work, out + a, int32(-1)) == 1:
                    work[level + a] = depth + 1
                    work[order + cuda.atomic.add(counters, PLACED, int32(1))] = a
            else:
                work[left_tail + still], work[left_head + still] = a, b
                still += block_size
        left = still
        begin = end
        depth += 1
    return depth, int64(begin), left


@device
def _find_cycles(space, left, slots):
    """Give the slots without a level their strongly connected components: forward-backward search with trimming.

    Sinks were trimmed by :func:`_order_by_level`, which left this thread the arcs below ``left``; here first sources,
    and their arcs are dropped. Then every slot left is a pivot at once: forward, each gets the highest pivot that
    reaches it; backward from each pivot that kept its own, within its colour, lies its component; what is left starts
    again. Source: Barnat, Bauch, Brim, Ceska, "Computing strongly connected components in parallel on CUDA", IPDPS
    2011 (the paper's reference 1), forward-backward and colouring. It is one function because trimming, taken out,
    compiles to other code.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, tail, head, comp = space.work, at(space, LEFT_TAIL), at(space, LEFT_HEAD), at(space, COMP)
    mark, colour, into, hit = at(space, MARK), at(space, world.QUEUE), at(space, world.PARENT), at(space, world.SIZE)
    # Trimming: MARK is 0 for what may lie on a cycle; INTO counts the arcs into it from other such slots.
    for s in range(tid, slots, block_size):
        work[mark + s] = 0 if work[at(space, LEVEL) + s] < 0 and work[at(space, GONE) + s] == 0 else -1
        work[into + s] = 0
    cuda.syncthreads()
    for e in range(tid, left, block_size):
        cuda.atomic.add(work, into + work[head + e], int32(1))
    cuda.syncthreads()
    for s in range(tid, slots, block_size):
        if work[mark + s] == 0 and work[into + s] == 0:
            work[mark + s] = 1
    cuda.syncthreads()
    pass_ = 1
    while True:
        changed = 0
        still = int64(tid)
        for e in range(tid, left, block_size):
            a, b = work[tail + e], work[head + e]
            if work[mark + a] == pass_:
                if cuda.atomic.add(work, into + b, int32(-1)) == 1:
                    work[mark + b] = pass_ + 1
                    changed = 1
            else:
                work[tail + still], work[head + still] = a, b
                still += block_size
        left = still
        pass_ += 1
        if cuda.syncthreads_or(changed) == 0:
            break
    while True:
        # Forward: the colour of a slot becomes the highest pivot that reaches it.
        for s in range(tid, slots, block_size):
            work[colour + s] = s
        cuda.syncthreads()
        while True:
            changed = 0
            for e in range(tid, left, block_size):
                a, b = work[tail + e], work[head + e]
                if work[mark + a] == 0 and work[mark + b] == 0 and work[colour + a] > work[colour + b]:
                    cuda.atomic.max(work, colour + b, work[colour + a])
                    changed = 1
            if cuda.syncthreads_or(changed) == 0:
                break
        # Backward: what reaches its own colour is hit, and that is the component of the pivot.
        for s in range(tid, slots, block_size):
            work[hit + s] = 1 if work[colour + s] == s else 0
        cuda.syncthreads()
        while True:
            changed = 0
            for e in range(tid, left, block_size):
                a, b = work[tail + e], work[head + e]
                if work[mark + a] == 0 and work[mark + b] == 0 and work[colour + a] == work[colour + b]:
                    if work[hit + b] == 1 and work[hit + a] == 0:
                        work[hit + a] = 1
                        changed = 1
            if cuda.syncthreads_or(changed) == 0:
                break
        again = 0
        for s in range(tid, slots, block_size):
            if work[mark + s] == 0:
                if work[hit + s] == 1:
                    work[comp + s] = work[colour + s]
                    work[mark + s] = -1
                else:
                    again = 1
        if cuda.syncthreads_or(again) == 0:
            break


@device
def condense(space, count, slots):
    """Merge strongly connected components, drop arcs into what is gone and inside components, and order by level.

    Returns (levels, components). COMP, WEIGHT, LEVEL, ORDER and LEVEL_START (one more than levels) are filled; TAIL and
    HEAD become components, with a tail of -1 where no arc is left.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, tail, head, comp = space.work, at(space, TAIL), at(space, HEAD), at(space, COMP)
    gone, weight = at(space, GONE), at(space, WEIGHT)
    if tid == 0:
        space.counters[SUM] = 0
    alive = 0
    for s in range(tid, slots, block_size):
        work[comp + s] = s
        work[weight + s] = 1 - work[gone + s]
        alive += 1 - work[gone + s]
    cuda.syncthreads()
    cuda.atomic.add(space.counters, SUM, int32(alive))
    for e in range(tid, count, block_size):
        if work[gone + work[head + e]] == 1:
            work[tail + e] = -1
    cuda.syncthreads()
    # Most worlds of few arcs have no cycle: then all are placed by level at once.
    levels, placed, left = _order_by_level(space, count, slots)
    if placed < space.counters[SUM]:
        _find_cycles(space, left, slots)
        for s in range(tid, slots, block_size):
            work[weight + s] = 0
        cuda.syncthreads()
        for s in range(tid, slots, block_size):
            if work[gone + s] == 0:
                cuda.atomic.add(work, weight + work[comp + s], int32(1))
        for e in range(tid, count, block_size):
            if work[tail + e] >= 0:
                a, b = work[comp + work[tail + e]], work[comp + work[head + e]]
                work[tail + e] = a if a != b else -1
                work[head + e] = b
        cuda.syncthreads()
        levels, placed, _ = _order_by_level(space, count, slots)
    return levels, placed
