"""Lists that a team of blocks makes of the vertices a query has met on a GPU; a thread owns a vertex at a time."""

from numba import cuda, int64, uint64

from gpukit.kpar.team_cuda import (
    AT_ONCE,
    FIRST,
    FLAG,
    SECOND,
    STAGE,
    TOTAL_A,
    TOTAL_B,
    anywhere,
    counters,
    due,
    flush,
    put,
    scan,
)


@cuda.jit(device=True)
def settle(
    span, dense, touched, residue, reserve, unit, walks, row_begin, floor, carriers, large,
    control, home, member, blocks, phase, sums, stage, local, shared,
):  # fmt: skip
    """After a push: what absorbing vertices got becomes reserve, and ``unit`` what a walk of each vertex carries.

    Lists the vertices with a unit in ``carriers`` and those with a reserve of ``floor`` or more in ``large``, and adds
    up index entries of the carriers (TOTAL_A), vertices met (TOTAL_B) and blocks that saw residue (FLAG). A thread owns
    ``AT_ONCE`` vertices at a time.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    at = counters(home, phase)
    cost, seen, left = int64(0), int64(0), False
    rests, keeps = cuda.local.array(AT_ONCE, int64), cuda.local.array(AT_ONCE, int64)
    first = AT_ONCE * member * width
    while first < span:
        fullest = -1
        for i in range(AT_ONCE):
            j = first + i * width + lane
            rests[i], keeps[i] = 0, 0
            if j < span:
                v = j if dense else int64(touched[j])
                rests[i], keeps[i] = residue[v], reserve[v]
        for i in range(AT_ONCE):
            rest, kept = rests[i], keeps[i]
            if rest > 0 or kept > 0:
                j = first + i * width + lane
                v = j if dense else int64(touched[j])
                seen += 1
                w = int64(walks[v])
                if w == 0 and rest > 0:
                    kept += rest
                    reserve[v] = kept
                    residue[v] = 0
                    rest = int64(0)
                value = int64(0)
                if rest > 0:
                    left = True
                    value = int64(uint64(rest) // uint64(w))
                unit[v] = value
                if value > 0:
                    cost += row_begin[v + 1] - row_begin[v]
                    fullest = max(fullest, put(stage, shared, 0, carriers, control, at + FIRST, v))
                if kept >= floor:
                    fullest = max(fullest, put(local, shared, 1, large, control, at + SECOND, v))
        if anywhere(fullest >= STAGE >> 2, shared):
            flush(stage, shared, 0, carriers, control, at + FIRST)
            flush(local, shared, 1, large, control, at + SECOND)
        first += AT_ONCE * blocks * width
    flush(stage, shared, 0, carriers, control, at + FIRST)
    flush(local, shared, 1, large, control, at + SECOND)
    _, cost = scan(cost, sums)
    _, seen = scan(seen, sums)
    left = anywhere(left, shared)
    if lane == 0:
        cuda.atomic.add(control, at + TOTAL_A, cost)
        cuda.atomic.add(control, at + TOTAL_B, seen)
        if left:
            cuda.atomic.add(control, at + FLAG, 1)


@cuda.jit(device=True)
def list_candidates(
    span, dense, touched, residue, reserve, arrivals, by_arrivals, src_begin, rho, most, least, candidates,
    control, home, member, blocks, phase, sums, stage, shared,
):  # fmt: skip
    """List the vertices whose reserve and walks could reach ``least``, and add up their index entries (TOTAL_A).

    A thread owns ``AT_ONCE`` of the vertices met at a time, and then one of the first in the list sorted by ω_I, if it
    was not met.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    n = len(by_arrivals)
    at = counters(home, phase)
    cost, fullest = int64(0), -1
    many, keeps = cuda.local.array(AT_ONCE, int64), cuda.local.array(AT_ONCE, int64)
    first = AT_ONCE * member * width
    while first < span:
        fullest = -1
        for i in range(AT_ONCE):
            j = first + i * width + lane
            many[i], keeps[i] = 0, -1
            if j < span:
                v = j if dense else int64(touched[j])
                many[i], keeps[i] = arrivals[v], reserve[v]
        for i in range(AT_ONCE):
            if keeps[i] >= 0 and (many[i] > most or keeps[i] + many[i] * rho >= least):
                j = first + i * width + lane
                v = j if dense else int64(touched[j])
                fullest = max(fullest, put(stage, shared, 0, candidates, control, at + FIRST, v))
                cost += src_begin[v + 1] - src_begin[v]
        if anywhere(fullest >= STAGE >> 2, shared):
            flush(stage, shared, 0, candidates, control, at + FIRST)
            fullest = -1
        first += AT_ONCE * blocks * width
    going = not dense
    first = member * width
    while going:
        passed = False
        if first + lane < n:
            v = int64(by_arrivals[first + lane])
            walks_here = arrivals[v]
            if walks_here > most or walks_here * rho >= least:
                passed = True
                if residue[v] == 0 and reserve[v] == 0:
                    fullest = max(fullest, put(stage, shared, 0, candidates, control, at + FIRST, v))
                    cost += src_begin[v + 1] - src_begin[v]
        if anywhere(fullest >= STAGE - width, shared):
            flush(stage, shared, 0, candidates, control, at + FIRST)
            fullest = -1
        going = anywhere(passed, shared)
        first += blocks * width
    flush(stage, shared, 0, candidates, control, at + FIRST)
    _, cost = scan(cost, sums)
    if lane == 0:
        cuda.atomic.add(control, at + TOTAL_A, cost)


@cuda.jit(device=True)
def list_reached(
    span, dense, touched, reserve, reached, ends, candidates, control, home, member, blocks, phase, stage, shared
):  # fmt: skip
    """List the vertices with a reserve, and the ``ends`` of walks without one; a thread owns a vertex."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    counter = counters(home, phase) + FIRST
    passes, fullest = 0, -1
    first = member * width
    while first < span + reached:
        j = first + lane
        if j < span + reached:
            if j < span:
                v = j if dense else int64(touched[j])
            else:
                v = int64(ends[j - span])
            if (reserve[v] > 0) == (j < span):
                fullest = max(fullest, put(stage, shared, 0, candidates, control, counter, v))
        if due(passes, fullest, shared):
            flush(stage, shared, 0, candidates, control, counter)
            fullest = -1
        passes += 1
        first += blocks * width
    flush(stage, shared, 0, candidates, control, counter)
