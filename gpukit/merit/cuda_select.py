"""Greedy coverage per cost and its certificate's counts on a GPU, in one launch: the seeds of ``cover_cpu.py``.

MERIT's algorithm 4, with the loop on the device: for each seed the blocks look for the largest count per cost, then
through the uncovered sets for the vertex. A seed costs two grid barriers and one read of the members.
"""

import numba
from numba import cuda, int32, int64

from gpukit.device.select import register_limit
from gpukit.merit.cuda import BATCH, MEMBERS, OVERFLOW, scan_batch, wrapped

BLOCK = 256

CHOSEN, HITS, OVER, HELD, JUDGE_HELD, RESULT = 0, 1, 2, 3, 4, 8
"""Places in ``result``: seeds chosen, sets of the judge hit, whose rings were too short (1: the collection's, 2: the
judge's), members of the collection and of the judge; where seeds and gains begin."""


@cuda.jit(device=True)
def better(count, cost, v, other_count, other_cost, other):
    """Return whether the first vertex has the larger count per cost, or the same and the lower id; -1 is no vertex."""
    if other < 0 or v < 0:
        return v >= 0
    left, right = int64(count) * int64(other_cost), int64(other_count) * int64(cost)
    return left > right or (left == right and v < other)


@cuda.jit(device=True)
def reduce_best(best, counts, costs):
    """Leave the best of a block's vertices (-1: none) in ``best[0]``, with its count and cost beside."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if lane < half and lane + half < width:
            other = lane + half
            if better(counts[other], costs[other], best[other], counts[lane], costs[lane], best[lane]):
                best[lane], counts[lane], costs[lane] = best[other], counts[other], costs[other]
        cuda.syncthreads()
        half //= 2


@cuda.jit(cache=True, **register_limit(64))
def select(
    starts, sizes, ring, segments, low, high, control, judge_starts, judge_sizes, judge_ring, judge_segments,
    judge_high, judge_control, costs, b, counts, work, covered, none, champions, result,
):  # fmt: skip
    """Choose up to b vertices from the sets 0 … high - 1, and count the sets of the judge they hit; cooperative.

    Parameters
    ----------
    starts, sizes, ring, segments, control
        The collection (:func:`gpukit.merit.cuda.advance`).
    low, high : int
        Sets counted already in ``counts``, and all that count.
    judge_…
        The judging collection and how many of its sets count; 0: none.
    costs : int32 array, shape (n,)
    b : int
        Seeds at most.
    counts : int32 array, shape (n,)
        Occurrences in the sets below ``low``; ends as those below ``high``.
    work : int32 array, shape (n,)
        Working space: counts in uncovered sets.
    covered : uint8 array, shape (>= high,)
        Working space.
    none : uint8 array, shape (n,)
        Zero at the start and at the end.
    champions : int64 array, shape (3, blocks)
        Working space: the best vertex of each block, its count and its cost.
    result : int64 array, shape (RESULT + 2 * b,)
        Zero at the start.
    """
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    lane, width, block, blocks = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x, cuda.gridDim.x
    found = cuda.shared.array(BATCH, int32)
    best = cuda.shared.array(BLOCK, int64)
    best_count = cuda.shared.array(BLOCK, int64)
    best_cost = cuda.shared.array(BLOCK, int64)
    n = len(work)
    length = int64(len(ring) // segments)
    over = control[OVERFLOW] + 2 * judge_control[OVERFLOW]
    if over > 0:
        if thread == 0:
            result[OVER] = over
        return
    warps = (width + 31) // 32
    for r in range(low + int64(lane // 32) * blocks + block, high, warps * blocks):
        base, start = r % segments * length, int64(starts[r])
        for i in range(lane % 32, sizes[r], 32):
            cuda.atomic.add(counts, ring[base + wrapped(start + i, length)], 1)
    for r in range(thread, high, threads):
        covered[r] = 0
    grid.sync()
    for v in range(thread, n, threads):
        work[v] = counts[v]
    chosen = 0
    while chosen < b:
        top, top_count, top_cost = int64(-1), int64(0), int64(1)
        for v in range(thread, n, threads):
            count = int64(work[v])
            if count > 0 and better(count, costs[v], v, top_count, top_cost, top):
                top, top_count, top_cost = int64(v), count, int64(costs[v])
        best[lane], best_count[lane], best_cost[lane] = top, top_count, top_cost
        reduce_best(best, best_count, best_cost)
        if lane == 0:
            champions[0, block], champions[1, block], champions[2, block] = best[0], best_count[0], best_cost[0]
        grid.sync()
        top, top_count, top_cost = int64(-1), int64(0), int64(1)
        for other in range(lane, blocks, width):
            if better(champions[1, other], champions[2, other], champions[0, other], top_count, top_cost, top):
                top, top_count, top_cost = champions[0, other], champions[1, other], champions[2, other]
        cuda.syncthreads()
        best[lane], best_count[lane], best_cost[lane] = top, top_count, top_cost
        reduce_best(best, best_count, best_cost)
        seed = best[0]
        if thread == 0 and seed >= 0:
            result[RESULT + chosen] = seed
            result[RESULT + b + chosen] = best_count[0]
        cuda.syncthreads()
        if seed < 0:
            break
        if thread == 0:
            none[seed] = 1
        chosen += 1
        for place in range(block * BATCH, high, blocks * BATCH):
            for q in range(lane, BATCH, width):
                found[q] = 0
            cuda.syncthreads()
            for q in range(lane // 32, min(int64(BATCH), int64(high) - place), warps):
                r = place + q
                if covered[r] == 0:
                    base, start = r % segments * length, int64(starts[r])
                    for i in range(lane % 32, sizes[r], 32):
                        if ring[base + wrapped(start + i, length)] == seed:
                            found[q] = 1
            cuda.syncthreads()
            for q in range(lane // 32, min(int64(BATCH), int64(high) - place), warps):
                if found[q] != 0:
                    r = place + q
                    base, start = r % segments * length, int64(starts[r])
                    for i in range(lane % 32, sizes[r], 32):
                        cuda.atomic.add(work, ring[base + wrapped(start + i, length)], -1)
                    covered[r] = 1
            cuda.syncthreads()
        grid.sync()
    hits = int64(0)
    for place in range(block * BATCH, judge_high, blocks * BATCH):
        scan_batch(judge_starts, judge_sizes, judge_ring, judge_segments, place, judge_high, none, 1, found)
        for q in range(lane, BATCH, width):
            hits += found[q]
        cuda.syncthreads()
    if hits > 0:
        cuda.atomic.add(result, HITS, hits)
    grid.sync()
    for i in range(thread, chosen, threads):
        none[result[RESULT + i]] = 0
    if thread == 0:
        result[CHOSEN] = chosen
        result[HELD] = control[MEMBERS]
        result[JUDGE_HELD] = judge_control[MEMBERS]


_u8, _i32, _i64, _int = numba.uint8[::1], numba.int32[::1], numba.int64[::1], numba.int64

KERNELS = {
    "select": (
        select,
        (_i32, _i32, _i32, _int, _int, _int, _i64, _i32, _i32, _i32, _int, _int, _i64)
        + (_i32, _int, _i32, _i32, _u8, _u8, numba.int64[:, ::1], _i64),
    ),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
