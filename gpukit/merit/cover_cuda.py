"""Greedy coverage per cost and its certificate's counts on a GPU, in one launch: the seeds of ``cover_cpu.py``.

The same idea: only *candidates*, vertices with a large count per cost, can be chosen, and an inverted index of them
finds the sets that a seed covers; all seeds together then cost about one pass over the members and a grid barrier each.
When ratios have fallen so far that another vertex could matter, the candidates are chosen again, twice as many. Where
that cannot be (too many vertices are alike), the rest is chosen as MERIT's algorithm 4 does: for each seed a search
through all vertices and one through all uncovered sets.
"""

import numba
from numba import cuda, int32, int64, uint32

from gpukit.device.select import register_limit
from gpukit.merit.discover_cuda import BATCH, scan_batch
from gpukit.merit.table_cuda import AHEAD, ask, at, mark, marked, ring_of, straight
from gpukit.merit.update_cuda import OVERFLOW
from gpukit.worlds.candidates_cuda import AT_ONCE

BLOCK = 256

BUCKET_BITS = 11
BUCKETS = 1 << BUCKET_BITS
"""Classes of ratios: 32 to a power of two, so that those of many vertices that are much alike are not too large. Their
place in shared memory then marks the candidates: one other vertex in 2,300 passes for one of 512."""

MOST, WANTED = 2048, 512
"""Candidates at most, and as many as are aimed at first: their counts and costs lie in a block's shared memory."""

EPOCHS = 4
"""How often candidates are chosen at most."""

CHOSEN, HITS, OVER, HELD, JUDGE_HELD, FOUND, LISTED = 0, 1, 2, 3, 4, 5, 9
RESULT = 16
"""Places in ``result``: seeds chosen, sets of the judge hit, whose rings were too short (1: the collection's, 2: the
judge's), members of the sets that count and of the judge's; candidates of each epoch and their occurrences; where
seeds and gains begin, and after them the first candidates: counts in the upper halves, costs in the lower ones."""


@cuda.jit(device=True)
def _class(count, cost):
    """Return the class of a ratio, never falling with it; 0 for a count of 0."""
    ratio = (int64(count) << 31) // int64(cost)
    bits = 0
    for step in (32, 16, 8, 4, 2, 1):
        if ratio >> (bits + step) > 0:
            bits += step
    return 32 * bits + int32(ratio >> max(bits - 5, 0) & 31) if ratio > 0 else 0


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


@cuda.jit(device=True)
def _member(ring, base, start, length, i, size):
    """Return member i of a set in a ring, or -1 beyond its end; no branch stands before the load."""
    v = ring[at(base, start + min(int64(i), size - 1), length)]
    return v if i < size else int32(-1)


@cuda.jit(device=True)
def _count(ring, base, start, length, size, lane, change, counts):
    """Add ``change`` to the counts of the members of a set; a warp, four loads a thread at once."""
    for i in range(lane, size, 128):
        first = _member(ring, base, start, length, i, size)
        second = _member(ring, base, start, length, i + 32, size)
        third = _member(ring, base, start, length, i + 64, size)
        fourth = _member(ring, base, start, length, i + 96, size)
        cuda.atomic.add(counts, first, change)
        if second >= 0:
            cuda.atomic.add(counts, second, change)
        if third >= 0:
            cuda.atomic.add(counts, third, change)
        if fourth >= 0:
            cuda.atomic.add(counts, fourth, change)


@cuda.jit(device=True)
def _list(ring, base, start, length, size, lane, r, marks, slot, list_start, list_fill, inverted):
    """Enter a set in the lists of the candidates in it, which are marked; a warp."""
    got, places = cuda.local.array(AHEAD, int32), cuda.local.array(AHEAD, int32)
    done = int64(0)
    while done < size:
        entries, piece = straight(ring, base, start, done, size, length)
        last, i = uint32(piece - 1), uint32(lane)
        while i <= last:
            if ask(entries, i, uint32(32), last, got):
                maybe = uint32(0)
                for j in range(AHEAD):
                    maybe |= marked(marks, BUCKET_BITS, got[j]) << uint32(j)
                if maybe != 0:
                    for j in range(AHEAD):
                        asked = maybe >> uint32(j) & uint32(1) != 0 and i + 32 * j <= last
                        places[j] = slot[uint32(got[j])] if asked else int32(-1)
                    for j in range(AHEAD):
                        c = places[j]
                        if c >= 0:
                            inverted[list_start[c] + cuda.atomic.add(list_fill, c, 1)] = r
            i = uint32(i + AHEAD * 32)
        done += piece


@cuda.jit(device=True)
def _take(v, slot, taken, turn, work):
    """Take one occurrence of a vertex out of the counts."""
    c = slot[v]
    if c >= 0:
        cuda.atomic.add(taken, (turn, c), 1)
    else:
        cuda.atomic.add(work, v, -1)


@cuda.jit(cache=True, **register_limit(64))
def select(
    starts, sizes, ring, segments, low, high, control, judge_starts, judge_sizes, judge_ring, judge_segments,
    judge_high, judge_control, costs, b, counts, work, slot, covered, none, champions, histogram, candidates,
    list_start, list_fill, inverted, taken, result,
):  # fmt: skip
    """Choose up to b vertices from the sets 0 … high - 1, and count the sets of the judge they hit; cooperative.

    Members are read once to count them (only of sets that came or went), once to index the candidates and once where
    they are covered, 4 bytes and an atomic each; a warp owns a set, a block one that a seed covers. Every block keeps
    the candidates' counts for itself and finds the best alike.

    Parameters
    ----------
    starts, sizes, ring, segments, control
        The collection (:func:`gpukit.merit.update_cuda.advance`).
    low, high : int
        Sets counted already in ``counts``, and all that count.
    judge_…
        The judging collection and how many of its sets count; 0: none.
    costs : int32 array, shape (n,)
    b : int
        Seeds at most.
    counts : int32 array, shape (n,)
        Occurrences in the sets below ``low``; at the end, in those below ``high``.
    work, slot : int32 arrays, shape (n,)
    covered : int32 array, shape (>= high,)
        Working space: which seed covers a set, counted from 1.
    none : uint8 array, shape (n,)
        Zero at the start and at the end.
    champions : int64 array, shape (3, blocks)
    histogram : int32 array, shape (EPOCHS * BUCKETS,)
    candidates, list_fill : int32 arrays, list_start : int64 array, shape (MOST,)
    inverted : int32 array
        Room for the occurrences of the candidates; fewer candidates are taken where it is short.
    taken : int32 array, shape (4, MOST)
        Working space.
    result : int64 array, shape (RESULT + 2 * b + MOST,)
        Zero at the start.
    """
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    lane, width, block, blocks = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x, cuda.gridDim.x
    found = cuda.shared.array(BATCH, int32)
    current = cuda.shared.array(MOST, int32)
    names = cuda.shared.array(MOST, int32)
    price = cuda.shared.array(MOST, int32)
    marks = cuda.shared.array(BUCKETS, uint32)
    less = cuda.local.array(AT_ONCE, int32)
    best = cuda.shared.array(BLOCK, int64)
    best_count = cuda.shared.array(BLOCK, int64)
    best_cost = cuda.shared.array(BLOCK, int64)
    shared = cuda.shared.array(2, int64)
    n = len(work)
    length = int64(len(ring) // segments)
    over = control[OVERFLOW] + 2 * judge_control[OVERFLOW]
    if over > 0:
        if thread == 0:
            result[OVER] = over
        return
    warps = (width + 31) // 32
    first_warp = int64(lane // 32) * blocks + block
    change = 1 if low < high else -1
    for r in range(min(low, high) + first_warp, max(low, high), warps * blocks):
        _count(ring, ring_of(r, segments, length), int64(starts[r]), length, int64(sizes[r]), lane % 32, change, counts)
    held = int64(0)
    for r in range(thread, high, threads):
        covered[r] = 0
        held += int64(sizes[r])
    if held > 0:
        cuda.atomic.add(result, HELD, held)
    for c in range(thread, EPOCHS * BUCKETS, threads):
        histogram[c] = 0
    grid.sync()
    for v in range(thread, n, threads):
        work[v] = counts[v]
    chosen, epoch, seed = 0, 0, int64(0)
    while chosen < b and seed >= 0 and epoch < EPOCHS:
        for c in range(lane, BUCKETS, width):
            marks[c] = 0
        if lane == 0:
            shared[0] = 0
        cuda.syncthreads()
        for v in range(thread, n, threads):
            if work[v] > 0:
                cuda.atomic.add(marks, _class(work[v], costs[v]), uint32(1))
        cuda.syncthreads()
        for c in range(lane, BUCKETS, width):
            if marks[c] > 0:
                cuda.atomic.add(histogram, epoch * BUCKETS + c, int32(marks[c]))
        grid.sync()
        for c in range(lane, BUCKETS, width):
            marks[c] = histogram[epoch * BUCKETS + c]
            if marks[c] > 0:
                cuda.atomic.max(shared, 0, int64(c + 1))
        cuda.syncthreads()
        if lane == 0:
            limit, reached = shared[0], int64(0)
            while limit > 1 and reached < WANTED << epoch:
                more = int64(marks[limit - 1])
                if reached + more > MOST:
                    break
                limit -= 1
                reached += more
            shared[0], shared[1] = limit, reached
        cuda.syncthreads()
        limit = shared[0]
        if shared[1] == 0:
            break
        for v in range(thread, n, threads):
            c = -1
            if work[v] > 0 and _class(work[v], costs[v]) >= limit:
                c = int(cuda.atomic.add(result, FOUND + epoch, 1))
                candidates[c] = v
                if epoch == 0:
                    result[RESULT + 2 * b + c] = int64(work[v]) << 32 | int64(costs[v])
                list_fill[c] = 0
                list_start[c] = cuda.atomic.add(result, LISTED + epoch, int64(work[v]))
            slot[v] = c
        for c in range(thread, 4 * MOST, threads):
            taken[c // MOST, c % MOST] = 0
        grid.sync()
        total = result[FOUND + epoch]
        if result[LISTED + epoch] > len(inverted):
            break
        for x in range(lane, BUCKETS, width):
            marks[x] = 0
        cuda.syncthreads()
        for c in range(lane, total, width):
            names[c] = candidates[c]
            current[c], price[c] = work[names[c]], costs[names[c]]
            mark(marks, BUCKET_BITS, names[c])
        cuda.syncthreads()
        for r in range(first_warp, high, warps * blocks):
            if covered[r] == 0:
                base, start, size = ring_of(r, segments, length), int64(starts[r]), int64(sizes[r])
                _list(ring, base, start, length, size, lane % 32, r, marks, slot, list_start, list_fill, inverted)
        grid.sync()
        epoch_first = chosen
        while chosen < b:
            top, top_count, top_cost = int64(-1), int64(0), int64(1)
            for first in range(lane, total, AT_ONCE * width):
                for i in range(AT_ONCE):
                    c = first + i * width
                    less[i] = taken[(chosen - 1) & 3, c] if c < total and chosen > epoch_first else 0
                for i in range(AT_ONCE):
                    c = first + i * width
                    if c < total:
                        count = current[c] - less[i]
                        current[c] = count
                        if block == 0:
                            taken[(chosen + 2) & 3, c] = 0
                        v = int64(names[c])
                        if count > 0 and better(int64(count), price[c], v, top_count, top_cost, top):
                            top, top_count, top_cost = v, int64(count), int64(price[c])
            best[lane], best_count[lane], best_cost[lane] = top, top_count, top_cost
            reduce_best(best, best_count, best_cost)
            seed = best[0]
            if seed < 0 or _class(best_count[0], best_cost[0]) < limit:
                break
            if thread == 0:
                result[RESULT + chosen] = seed
                result[RESULT + b + chosen] = best_count[0]
                none[seed] = 1
            c = slot[seed]
            for i in range(list_start[c] + block, list_start[c] + list_fill[c], blocks):
                # Threads may write the mark of this seed before others read it; it means the same to them.
                r = inverted[i]
                before = covered[r]
                if before == 0 or before == chosen + 1:
                    covered[r] = chosen + 1
                    base, start = ring_of(r, segments, length), int64(starts[r])
                    for j in range(lane, sizes[r], width):
                        _take(ring[at(base, start + j, length)], slot, taken, chosen & 3, work)
            chosen += 1
            grid.sync()
        grid.sync()
        if seed < 0 and limit > 1:
            seed = 0
        if block == 0:
            for c in range(lane, total, width):
                work[candidates[c]] = current[c]
        epoch += 1
        grid.sync()
    while chosen < b and seed >= 0:
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
            none[seed] = 1
        cuda.syncthreads()
        if seed < 0:
            break
        chosen += 1
        for place in range(block * BATCH, high, blocks * BATCH):
            for q in range(lane, BATCH, width):
                found[q] = 0
            cuda.syncthreads()
            for q in range(lane // 32, min(int64(BATCH), int64(high) - place), warps):
                r = place + q
                if covered[r] == 0:
                    base, start = ring_of(r, segments, length), int64(starts[r])
                    for i in range(lane % 32, sizes[r], 32):
                        if ring[at(base, start + i, length)] == seed:
                            found[q] = 1
            cuda.syncthreads()
            for q in range(lane // 32, min(int64(BATCH), int64(high) - place), warps):
                if found[q] != 0:
                    r = place + q
                    base, start = ring_of(r, segments, length), int64(starts[r])
                    for i in range(lane % 32, sizes[r], 32):
                        cuda.atomic.add(work, ring[at(base, start + i, length)], -1)
                    covered[r] = chosen
            cuda.syncthreads()
        grid.sync()
    hits, held = int64(0), int64(0)
    for r in range(thread, judge_high, threads):
        held += int64(judge_sizes[r])
    if held > 0:
        cuda.atomic.add(result, JUDGE_HELD, held)
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


_u8, _i32, _i64, _int = numba.uint8[::1], numba.int32[::1], numba.int64[::1], numba.int64

KERNELS = {
    "select": (
        select,
        (_i32, _i32, _i32, _int, _int, _int, _i64, _i32, _i32, _i32, _int, _int, _i64)
        + (_i32, _int, _i32, _i32, _i32, _i32, _u8, numba.int64[:, ::1], _i32, _i32, _i64, _i32, _i32)
        + (numba.int32[:, ::1], _i64),
    ),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
