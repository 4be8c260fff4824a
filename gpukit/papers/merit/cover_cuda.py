"""Greedy coverage per cost on sets in rings: the seeds of :mod:`gpukit.merit.cover_cuda`, most of whose steps it takes.

An inverted index of the candidates finds the sets that a seed covers; all seeds together then cost about one pass over
the members and a grid barrier each. Where candidates do not suffice, all uncovered sets are searched for each seed.
"""

from collections import namedtuple

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.merit import cover_cuda as cover
from gpukit.merit.best_cuda import BLOCK, Best
from gpukit.merit.cover_cuda import (
    AT_ONCE,
    BUCKETS,
    CHOSEN,
    EPOCHS,
    FOUND,
    HELD,
    HITS,
    JUDGE_HELD,
    LISTED,
    MAX_CANDIDATES,
    OVER,
    RESULT,
    BlockCandidates,
    SelectionMemory,
    step,
)  # fmt: skip
from gpukit.merit.hashed_cuda import AHEAD
from gpukit.papers.merit.discover_cuda import BATCH, find_marked
from gpukit.papers.merit.table_cuda import at, contiguous_run, load_ahead, mark, marked, ring_of
from gpukit.papers.merit.update_cuda import OVERFLOW

BUCKET_BITS = 11
"""Of ``BUCKETS``: the place of the classes in shared memory then marks the candidates, and one other vertex in 2,300
passes for one of 512."""


class RingSets(namedtuple("RingSets", "starts sizes entries segments")):
    """A collection: first entry in its ring and members of each set, all rings, and how many there are."""


@device
def _member(ring, start, i, size):
    """Return member i of a set in a ring, or -1 beyond its end; no branch stands before the load."""
    v = ring.entries[at(ring, start + min(int64(i), size - 1))]
    return v if i < size else int32(-1)


@device
def _count_members(ring, start, size, lane, change, counts):
    """Add ``change`` to the counts of the members of a set; a warp, four loads a thread at once."""
    for i in range(lane, size, 128):
        first = _member(ring, start, i, size)
        second = _member(ring, start, i + 32, size)
        third = _member(ring, start, i + 64, size)
        fourth = _member(ring, start, i + 96, size)
        cuda.atomic.add(counts, first, change)
        if second >= 0:
            cuda.atomic.add(counts, second, change)
        if third >= 0:
            cuda.atomic.add(counts, third, change)
        if fourth >= 0:
            cuda.atomic.add(counts, fourth, change)


@device
def _list_set(ring, start, size, lane, r, marks, space):
    """Enter a set in the lists of the candidates in it, which are marked; a warp."""
    got, places = cuda.local.array(AHEAD, int32), cuda.local.array(AHEAD, int32)
    done = int64(0)
    while done < size:
        entries, piece = contiguous_run(ring, start, done, size)
        last, i = uint32(piece - 1), uint32(lane)
        while i <= last:
            if load_ahead(entries, i, uint32(32), last, got):
                maybe = uint32(0)
                for j in range(AHEAD):
                    maybe |= marked(marks, BUCKET_BITS, got[j]) << uint32(j)
                if maybe != 0:
                    for j in range(AHEAD):
                        asked = maybe >> uint32(j) & uint32(1) != 0 and i + 32 * j <= last
                        places[j] = space.slot[uint32(got[j])] if asked else int32(-1)
                    for j in range(AHEAD):
                        c = places[j]
                        if c >= 0:
                            space.inverted[space.list_start[c] + cuda.atomic.add(space.list_fill, c, 1)] = r
            i = uint32(i + AHEAD * 32)
        done += piece


@device
def _take(v, taken_row, space):
    """Take one occurrence of a vertex out of the counts."""
    c = space.slot[v]
    if c >= 0:
        cuda.atomic.add(space.taken, (taken_row, c), 1)
    else:
        cuda.atomic.add(space.work, v, -1)


@step
def _begin(first_warp, warps, low, high, sets, length, counts, space, result):
    """Count the members of sets that came, or take out those of sets that went; no set is covered."""
    change = 1 if low < high else -1
    for r in range(min(low, high) + first_warp, max(low, high), warps * cuda.gridDim.x):
        ring = ring_of(sets.entries, r, sets.segments, length)
        _count_members(ring, int64(sets.starts[r]), int64(sets.sizes[r]), cuda.threadIdx.x % 32, change, counts)
    held = int64(0)
    for r in range(cuda.grid(1), high, cuda.gridsize(1)):
        space.covered[r] = 0
        held += int64(sets.sizes[r])
    if held > 0:
        cuda.atomic.add(result, HELD, held)
    for c in range(cuda.grid(1), EPOCHS * BUCKETS, cuda.gridsize(1)):
        space.histogram[c] = 0


@step
def _invert(first_warp, warps, high, total, costs, sets, length, space, block):
    """Load the candidates to shared memory, and enter all uncovered sets in their lists (the CPU's ``invert``)."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    for x in range(tid, BUCKETS, block_size):
        block.marks[x] = 0
    cuda.syncthreads()
    for c in range(tid, total, block_size):
        block.names[c] = space.candidates[c]
        block.current[c], block.price[c] = space.work[block.names[c]], costs[block.names[c]]
        mark(block.marks, BUCKET_BITS, block.names[c])
    cuda.syncthreads()
    for r in range(first_warp, high, warps * cuda.gridDim.x):
        if space.covered[r] == 0:
            ring, start, size = (
                ring_of(sets.entries, r, sets.segments, length),
                int64(sets.starts[r]),
                int64(sets.sizes[r]),
            )
            _list_set(ring, start, size, tid % 32, r, block.marks, space)


@step
def _cover_listed(seed, chosen, sets, length, space):
    """Cover the sets in the list of a seed, and take their members out of the counts (algorithm 3, lines 14 to 17)."""
    c = space.slot[seed]
    for i in range(space.list_start[c] + cuda.blockIdx.x, space.list_start[c] + space.list_fill[c], cuda.gridDim.x):
        # Threads may write the mark of this seed before others read it; it means the same to them.
        r = space.inverted[i]
        before = space.covered[r]
        if before == 0 or before == chosen + 1:
            space.covered[r] = chosen + 1
            ring, start = ring_of(sets.entries, r, sets.segments, length), int64(sets.starts[r])
            for j in range(cuda.threadIdx.x, sets.sizes[r], cuda.blockDim.x):
                _take(ring.entries[at(ring, start + j)], chosen & 3, space)


@step
def _cover_searched(seed, chosen, high, sets, length, space, found):
    """Search all uncovered sets for a seed, cover those that hold it and take their members out (algorithm 3)."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    warps = (block_size + 31) // 32
    for place in range(cuda.blockIdx.x * BATCH, high, cuda.gridDim.x * BATCH):
        for q in range(tid, BATCH, block_size):
            found[q] = 0
        cuda.syncthreads()
        for q in range(tid // 32, min(int64(BATCH), int64(high) - place), warps):
            r = place + q
            if space.covered[r] == 0:
                ring, start = ring_of(sets.entries, r, sets.segments, length), int64(sets.starts[r])
                for i in range(tid % 32, sets.sizes[r], 32):
                    if ring.entries[at(ring, start + i)] == seed:
                        found[q] = 1
        cuda.syncthreads()
        for q in range(tid // 32, min(int64(BATCH), int64(high) - place), warps):
            if found[q] != 0:
                r = place + q
                ring, start = ring_of(sets.entries, r, sets.segments, length), int64(sets.starts[r])
                for i in range(tid % 32, sets.sizes[r], 32):
                    cuda.atomic.add(space.work, ring.entries[at(ring, start + i)], -1)
                space.covered[r] = chosen
        cuda.syncthreads()


@step
def _count_hits(judge, judge_high, space, found, result):
    """Count the members of the judge's sets, and those of these sets that hold a seed."""
    hits, held = int64(0), int64(0)
    for r in range(cuda.grid(1), judge_high, cuda.gridsize(1)):
        held += int64(judge.sizes[r])
    if held > 0:
        cuda.atomic.add(result, JUDGE_HELD, held)
    for place in range(cuda.blockIdx.x * BATCH, judge_high, cuda.gridDim.x * BATCH):
        find_marked(judge.starts, judge.sizes, judge.entries, judge.segments, place, judge_high, space.is_seed, found)
        for q in range(cuda.threadIdx.x, BATCH, cuda.blockDim.x):
            hits += found[q]
        cuda.syncthreads()
    if hits > 0:
        cuda.atomic.add(result, HITS, hits)


_i32, _i64, _int = "int32[::1]", "int64[::1]", "int64"
_lists = group(RingSets, _i32, _i32, _i32, _int)
_matrices = "int64[:, ::1]", "int32[:, ::1]"
_space = group(
    SelectionMemory, _i32, _i32, _i32, "uint8[::1]", _matrices[0], _i32, _i32, _i64, _i32, _i32, _matrices[1]
)


@kernel((_lists, _int, _int, _i64, _lists, _int, _i64, _i32, _int, _i32, _space, _i64), max_registers=64)
def select(sets, low, high, control, judge, judge_high, judge_control, costs, b, counts, space, result):
    """Choose up to b vertices from the sets 0 … high - 1, and count the sets of the judge they hit; cooperative.

    Members are read once to count them (only of sets that came or went), once to index the candidates and once where
    they are covered, 4 bytes and an atomic each; a warp owns a set, a block one that a seed covers. Every block keeps
    the candidates' counts for itself and finds the best alike.

    Parameters
    ----------
    sets, judge : RingSets
        The collection, and the judging one.
    low, high : int
        Sets counted already in ``counts``, and all that count.
    judge_high : int
        How many of the judge's sets count; 0: none.
    control, judge_control
        See :func:`gpukit.papers.merit.update_cuda.update_sets`.
    costs : int32 array, shape (n,)
    b : int
        Seeds at most.
    counts : int32 array, shape (n,)
        Occurrences in the sets below ``low``; at the end, in those below ``high``.
    space : SelectionMemory
    result : int64 array, shape (RESULT + 2 * b + MAX_CANDIDATES,)
        Zero at the start.
    """
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    tid, block_size, block_id, blocks = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x, cuda.gridDim.x
    found = cuda.shared.array(BATCH, int32)
    current = cuda.shared.array(MAX_CANDIDATES, int32)
    names = cuda.shared.array(MAX_CANDIDATES, int32)
    price = cuda.shared.array(MAX_CANDIDATES, int32)
    marks = cuda.shared.array(BUCKETS, uint32)
    less = cuda.local.array(AT_ONCE, int32)
    best_vertex = cuda.shared.array(BLOCK, int64)
    best_count = cuda.shared.array(BLOCK, int64)
    best_cost = cuda.shared.array(BLOCK, int64)
    shared = cuda.shared.array(2, int64)
    best, block = Best(best_vertex, best_count, best_cost), BlockCandidates(current, names, price, marks, shared)
    n = len(space.work)
    length = int64(len(sets.entries) // sets.segments)
    over = control[OVERFLOW] + 2 * judge_control[OVERFLOW]
    if over > 0:
        if thread == 0:
            result[OVER] = over
        return
    warps = (block_size + 31) // 32
    first_warp = int64(tid // 32) * blocks + block_id
    _begin(first_warp, warps, low, high, sets, length, counts, space, result)
    grid.sync()
    for v in range(thread, n, threads):
        space.work[v] = counts[v]
    chosen, epoch, seed = 0, 0, int64(0)
    while chosen < b and seed >= 0 and epoch < EPOCHS:
        # Choose candidates: no other vertex can be the best until one of a lower class is.
        cover.highest_classes(grid, epoch, costs, space, block)
        limit = shared[0]
        if shared[1] == 0:
            break
        cover.number_candidates(epoch, limit, costs, b, space, result)
        grid.sync()
        total = result[FOUND + epoch]
        if result[LISTED + epoch] > len(space.inverted):
            break
        _invert(first_warp, warps, high, total, costs, sets, length, space, block)
        grid.sync()
        # Algorithm 4, lines 2 to 5, among the candidates.
        epoch_first = chosen
        while chosen < b:
            cover.best_candidate(chosen, epoch_first, total, less, space, block, best)
            seed = best_vertex[0]
            if seed < 0 or cover.class_of(best_count[0], best_cost[0]) < limit:
                break
            if thread == 0:
                cover.note_seed(seed, best, chosen, b, space, result)
            _cover_listed(seed, chosen, sets, length, space)
            chosen += 1
            grid.sync()
        grid.sync()
        if seed < 0 and limit > 1:
            seed = 0
        if block_id == 0:
            for c in range(tid, total, block_size):
                space.work[space.candidates[c]] = current[c]
        epoch += 1
        grid.sync()
    # Algorithm 4, lines 2 to 5, among all vertices.
    while chosen < b and seed >= 0:
        cover.best_of_grid(grid, costs, space, best)
        seed = best_vertex[0]
        if thread == 0 and seed >= 0:
            cover.note_seed(seed, best, chosen, b, space, result)
        cuda.syncthreads()
        if seed < 0:
            break
        chosen += 1
        _cover_searched(seed, chosen, high, sets, length, space, found)
        grid.sync()
    _count_hits(judge, judge_high, space, found, result)
    grid.sync()
    for i in range(thread, chosen, threads):
        space.is_seed[result[RESULT + i]] = 0
    if thread == 0:
        result[CHOSEN] = chosen
