"""From live arcs to a DAG by level, by one block of a GPU; device functions as in ``world_cuda.py``."""

from numba import cuda, int32, int64

from gpukit.imgpu.world_cuda import (
    COMP,
    FOUND,
    GONE,
    HEAD,
    LEVEL,
    LEVEL_START,
    MARK,
    ORDER,
    OUT,
    PARENT,
    PLACED,
    QUEUE,
    SIZE,
    TAIL,
    WEIGHT,
)


@cuda.jit(device=True)
def _peel(work, base, cap, count, slots, shared):
    """Order what stands for itself and is not gone by level, from the sinks; return (levels, how many were placed).

    A level is the longest distance to a sink. Slots on cycles, and what reaches them, get no level (-1).
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    tail, head, out, level = base + TAIL * cap, base + HEAD * cap, base + OUT * cap, base + LEVEL * cap
    order, start = base + ORDER * cap, base + LEVEL_START * cap
    for s in range(lane, slots, width):
        work[out + s] = 0
        work[level + s] = -1
    if lane == 0:
        shared[PLACED] = 0
    cuda.syncthreads()
    for e in range(lane, count, width):
        if work[tail + e] >= 0:
            cuda.atomic.add(work, out + work[tail + e], int32(1))
    cuda.syncthreads()
    for s in range(lane, slots, width):
        if work[out + s] == 0 and work[base + GONE * cap + s] == 0 and work[base + COMP * cap + s] == s:
            work[level + s] = 0
            work[order + cuda.atomic.add(shared, PLACED, int32(1))] = s
    begin, depth = 0, 0
    while True:
        cuda.syncthreads()
        end = shared[PLACED]
        if lane == 0:
            work[start + depth] = begin
        cuda.syncthreads()
        if end == begin:
            break
        for e in range(lane, count, width):
            a = work[tail + e]
            if a >= 0 and work[level + work[head + e]] == depth:
                if cuda.atomic.add(work, out + a, int32(-1)) == 1:
                    work[level + a] = depth + 1
                    work[order + cuda.atomic.add(shared, PLACED, int32(1))] = a
        begin = end
        depth += 1
    return depth, int64(begin)


@cuda.jit(device=True)
def _find_cycles(work, base, cap, count, slots):
    """Give the slots without a level their strongly connected components: forward-backward search with trimming.

    Sinks were trimmed by :func:`_peel`; here first sources. Then every slot left is a pivot at once: forward, each gets
    the highest pivot that reaches it; backward from each pivot that kept its own, within its colour, lies its
    component; what is left starts again. Source: Barnat, Bauch, Brim, Ceska, "Computing strongly connected components
    in parallel on CUDA", IPDPS 2011 (the paper's reference 1), forward-backward and colouring.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    tail, head, comp = base + TAIL * cap, base + HEAD * cap, base + COMP * cap
    mark, colour, into, hit = base + MARK * cap, base + QUEUE * cap, base + PARENT * cap, base + SIZE * cap
    for s in range(lane, slots, width):
        work[mark + s] = 0 if work[base + LEVEL * cap + s] < 0 and work[base + GONE * cap + s] == 0 else -1
        work[into + s] = 0
    cuda.syncthreads()
    for e in range(lane, count, width):
        a, b = work[tail + e], work[head + e]
        if a >= 0 and work[mark + a] == 0 and work[mark + b] == 0:
            cuda.atomic.add(work, into + b, int32(1))
    cuda.syncthreads()
    for s in range(lane, slots, width):
        if work[mark + s] == 0 and work[into + s] == 0:
            work[mark + s] = 1
    cuda.syncthreads()
    turn = 1
    while True:
        changed = 0
        for e in range(lane, count, width):
            a, b = work[tail + e], work[head + e]
            if a >= 0 and work[mark + a] == turn and work[mark + b] == 0:
                if cuda.atomic.add(work, into + b, int32(-1)) == 1:
                    work[mark + b] = turn + 1
                    changed = 1
        turn += 1
        if cuda.syncthreads_or(changed) == 0:
            break
    while True:
        for s in range(lane, slots, width):
            work[colour + s] = s
        cuda.syncthreads()
        while True:
            changed = 0
            for e in range(lane, count, width):
                a, b = work[tail + e], work[head + e]
                if a >= 0 and work[mark + a] == 0 and work[mark + b] == 0 and work[colour + a] > work[colour + b]:
                    cuda.atomic.max(work, colour + b, work[colour + a])
                    changed = 1
            if cuda.syncthreads_or(changed) == 0:
                break
        for s in range(lane, slots, width):
            work[hit + s] = 1 if work[colour + s] == s else 0
        cuda.syncthreads()
        while True:
            changed = 0
            for e in range(lane, count, width):
                a, b = work[tail + e], work[head + e]
                if a >= 0 and work[mark + a] == 0 and work[mark + b] == 0 and work[colour + a] == work[colour + b]:
                    if work[hit + b] == 1 and work[hit + a] == 0:
                        work[hit + a] = 1
                        changed = 1
            if cuda.syncthreads_or(changed) == 0:
                break
        left = 0
        for s in range(lane, slots, width):
            if work[mark + s] == 0:
                if work[hit + s] == 1:
                    work[comp + s] = work[colour + s]
                    work[mark + s] = -1
                else:
                    left = 1
        if cuda.syncthreads_or(left) == 0:
            break


@cuda.jit(device=True)
def condense(work, base, cap, count, slots, shared):
    """Merge strongly connected components, drop arcs into what is gone and inside components, and order by level.

    Returns (levels, components). COMP, WEIGHT, LEVEL, ORDER and LEVEL_START (one more than levels) are filled; TAIL and
    HEAD become components, with a tail of -1 where no arc is left.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    tail, head, comp = base + TAIL * cap, base + HEAD * cap, base + COMP * cap
    gone, weight = base + GONE * cap, base + WEIGHT * cap
    if lane == 0:
        shared[FOUND] = 0
    alive = 0
    for s in range(lane, slots, width):
        work[comp + s] = s
        work[weight + s] = 1 - work[gone + s]
        alive += 1 - work[gone + s]
    cuda.syncthreads()
    cuda.atomic.add(shared, FOUND, int32(alive))
    for e in range(lane, count, width):
        if work[gone + work[head + e]] == 1:
            work[tail + e] = -1
    cuda.syncthreads()
    levels, placed = _peel(work, base, cap, count, slots, shared)
    if placed < shared[FOUND]:
        _find_cycles(work, base, cap, count, slots)
        for s in range(lane, slots, width):
            work[weight + s] = 0
        cuda.syncthreads()
        for s in range(lane, slots, width):
            if work[gone + s] == 0:
                cuda.atomic.add(work, weight + work[comp + s], int32(1))
        for e in range(lane, count, width):
            if work[tail + e] >= 0:
                a, b = work[comp + work[tail + e]], work[comp + work[head + e]]
                work[tail + e] = a if a != b else -1
                work[head + e] = b
        cuda.syncthreads()
        levels, placed = _peel(work, base, cap, count, slots, shared)
    return levels, placed
