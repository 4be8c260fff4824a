"""Greedy coverage per cost and its certificate's counts on a GPU, in one launch: the seeds of ``cover_cpu.py``.

The same idea: only *candidates*, vertices with a large count per cost, can be chosen. Each set is asked whether it
holds a seed, so that only sets which a seed covers are read. When ratios have fallen so far that another vertex could
matter, the candidates are chosen again, twice as many. Where that cannot be (too many vertices are alike), the rest is
chosen as MERIT's algorithm 4 does: for each seed a search through all vertices.
"""

from collections import namedtuple

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.merit.best_cuda import BLOCK, Best, best_of_block, best_of_grid_share, better, write_champion
from gpukit.merit.hashed_cuda import AHEAD, EMPTY, OVERFLOW, PARTS, holds, member_of
from gpukit.worlds.candidates_cuda import AT_ONCE

BUCKETS = 1 << 11
"""Classes of ratios: 32 to a power of two, so that those of many vertices that are much alike are not too large."""

MAX_CANDIDATES, WANTED = 2048, 512
"""Candidates at most, and as many as are aimed at first: their counts and costs lie in a block's shared memory."""

EPOCHS = 4
"""How often candidates are chosen at most."""

CHOSEN, HITS, OVER, HELD, JUDGE_HELD, FOUND, LISTED, COVERED, LARGEST = 0, 1, 2, 3, 4, 5, 9, 13, 15
RESULT = 16
"""Places in ``result``: seeds chosen, sets of the judge hit, whose memory was too small (1: the collection's, 2: the
judge's), members of the sets that count and of the judge's; candidates of each epoch and their occurrences; how many
sets the seed of a step covers, in two turns; members of the largest set; where seeds and gains begin, and after them
the first candidates: counts in the upper halves, costs in the lower ones."""


step = device(inline="always")
"""Marks a step of :func:`select`: Numba puts it where it is called, before the compiler orders what it loads."""


class StoredSets(namedtuple("StoredSets", "entries length sizes")):
    """A collection: all tables, the length of each, and how many members each has."""


class SelectionMemory(
    namedtuple(
        "SelectionMemory",
        "work slot covered is_seed champions histogram candidates list_start list_fill inverted taken",
    )
):
    """Working space of a selection in global memory.

    Attributes
    ----------
    work, slot : int32 arrays, shape (n,)
        Occurrences in uncovered sets, but for what candidates lost in this epoch; numbers of candidates, or -1.
    covered : int32 array, shape (>= high,)
        Which seed covers a set, counted from 1.
    is_seed : uint8 array, shape (n,)
        Zero at the start and at the end.
    champions : int64 array, shape (3, blocks)
        Best vertex of each block, its count and its cost.
    histogram : int32 array, shape (EPOCHS * BUCKETS,)
        Vertices of each class, in each epoch.
    candidates, list_start, list_fill : int32, int64 and int32 arrays, shape (MAX_CANDIDATES,)
        The candidates; where an index of their sets would begin for each in ``inverted``, and 0.
    inverted : int32 array, shape (>= high,)
        The sets that a seed covers.
    taken : int32 array, shape (4, MAX_CANDIDATES)
        What a seed takes from the counts of candidates, in four turns.
    """


class BlockCandidates(namedtuple("BlockCandidates", "current names price marks shared")):
    """The candidates in a block's shared memory: counts, ids, costs; classes of ratios; and two numbers."""


@device
def class_of(count, cost):
    """Return the class of a ratio, never falling with it; 0 for a count of 0."""
    ratio = (int64(count) << 31) // int64(cost)
    bits = 0
    for step in (32, 16, 8, 4, 2, 1):
        if ratio >> (bits + step) > 0:
            bits += step
    return 32 * bits + int32(ratio >> max(bits - 5, 0) & 31) if ratio > 0 else 0


@device
def _take_piece(sets, r, first, taken_row, space):
    """Take ``AHEAD`` members for each thread out of the counts (turn < 0: of all vertices, as if none were candidates).

    A block; the set's places from ``first`` on. All that a thread reads it reads before it writes.
    """
    got, places = cuda.local.array(AHEAD, int32), cuda.local.array(AHEAD, int32)
    base, first = int64(r) * sets.length, int64(first) + cuda.threadIdx.x
    some = int32(EMPTY)
    for j in range(AHEAD):
        got[j] = sets.entries[base + min(first + j * cuda.blockDim.x, sets.length - 1)]
        some &= got[j]
    if some != EMPTY:
        for j in range(AHEAD):
            v = int32(member_of(got[j]))
            got[j] = v if first + j * cuda.blockDim.x < sets.length else int32(EMPTY)
            places[j] = space.slot[max(v, int32(0))]
        for j in range(AHEAD):
            v = int64(got[j])
            if v != EMPTY:
                if taken_row >= 0 and places[j] >= 0:
                    cuda.atomic.add(space.taken, (taken_row, int64(places[j])), 1)
                else:
                    cuda.atomic.add(space.work, v, -1)


@step
def _begin(high, parts, sets, counts, space, block, result):
    """Add up the counts of the parts that count; no set is covered."""
    for v in range(cuda.grid(1), len(space.work), cuda.gridsize(1)):
        total = int32(0)
        for part in range(PARTS):
            if parts >> part & 1 != 0:
                total += counts[part, v]
        space.work[v] = total
    shared, held, largest = block.shared, int64(0), int64(0)
    if cuda.threadIdx.x < 2:
        shared[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    for r in range(cuda.grid(1), high, cuda.gridsize(1)):
        space.covered[r] = 0
        held += int64(sets.sizes[r])
        largest = max(largest, int64(sets.sizes[r]))
    if held > 0:
        cuda.atomic.add(shared, 0, held)
        cuda.atomic.max(shared, 1, largest)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and shared[0] > 0:
        cuda.atomic.add(result, HELD, shared[0])
        cuda.atomic.max(result, LARGEST, shared[1])
    for c in range(cuda.grid(1), EPOCHS * BUCKETS, cuda.gridsize(1)):
        space.histogram[c] = 0


@step
def highest_classes(grid, epoch, costs, space, block):
    """Find the highest classes of ratios that hold as many candidates as are wanted, and are not more than fit.

    Afterwards ``shared`` of every block has the lowest of these classes, and how many candidates there are.
    """
    tid, block_size, marks, shared = cuda.threadIdx.x, cuda.blockDim.x, block.marks, block.shared
    for c in range(tid, BUCKETS, block_size):
        marks[c] = 0
    if tid == 0:
        shared[0] = 0
    cuda.syncthreads()
    for v in range(cuda.grid(1), len(space.work), cuda.gridsize(1)):
        if space.work[v] > 0:
            cuda.atomic.add(marks, class_of(space.work[v], costs[v]), uint32(1))
    cuda.syncthreads()
    for c in range(tid, BUCKETS, block_size):
        if marks[c] > 0:
            cuda.atomic.add(space.histogram, epoch * BUCKETS + c, int32(marks[c]))
    grid.sync()
    for c in range(tid, BUCKETS, block_size):
        marks[c] = space.histogram[epoch * BUCKETS + c]
        if marks[c] > 0:
            cuda.atomic.max(shared, 0, int64(c + 1))
    cuda.syncthreads()
    if tid == 0:
        limit, reached = shared[0], int64(0)
        while limit > 1 and reached < WANTED << epoch:
            more = int64(marks[limit - 1])
            if reached + more > MAX_CANDIDATES:
                break
            limit -= 1
            reached += more
        shared[0], shared[1] = limit, reached
    cuda.syncthreads()


@step
def number_candidates(epoch, limit, costs, b, space, result):
    """Give each vertex of class ``limit`` and above a number, and a list as long as it has occurrences."""
    work = space.work
    for v in range(cuda.grid(1), len(work), cuda.gridsize(1)):
        c = -1
        if work[v] > 0 and class_of(work[v], costs[v]) >= limit:
            c = int(cuda.atomic.add(result, FOUND + epoch, 1))
            space.candidates[c] = v
            if epoch == 0:
                result[RESULT + 2 * b + c] = int64(work[v]) << 32 | int64(costs[v])
            space.list_fill[c] = 0
            space.list_start[c] = cuda.atomic.add(result, LISTED + epoch, int64(work[v]))
        space.slot[v] = c
    for c in range(cuda.grid(1), 4 * MAX_CANDIDATES, cuda.gridsize(1)):
        space.taken[c // MAX_CANDIDATES, c % MAX_CANDIDATES] = 0


@step
def _load_candidates(total, costs, space, block):
    """Load the candidates to shared memory."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    for c in range(tid, total, block_size):
        block.names[c] = space.candidates[c]
        block.current[c], block.price[c] = space.work[block.names[c]], costs[block.names[c]]
    cuda.syncthreads()


@step
def best_candidate(chosen, epoch_first, total, less, space, block, best):
    """Take the last seed's share out of the candidates' counts and find the best (algorithm 4, line 3), in ``best``."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    top, top_count, top_cost = int64(-1), int64(0), int64(1)
    for first in range(tid, total, AT_ONCE * block_size):
        for i in range(AT_ONCE):
            c = first + i * block_size
            less[i] = space.taken[(chosen - 1) & 3, c] if c < total and chosen > epoch_first else 0
        for i in range(AT_ONCE):
            c = first + i * block_size
            if c < total:
                count = block.current[c] - less[i]
                block.current[c] = count
                if cuda.blockIdx.x == 0:
                    space.taken[(chosen + 2) & 3, c] = 0
                v = int64(block.names[c])
                if count > 0 and better(int64(count), block.price[c], v, top_count, top_cost, top):
                    top, top_count, top_cost = v, int64(count), int64(block.price[c])
    best_of_block(top, top_count, top_cost, best)


@step
def _cover(grid, seed, chosen, taken_row, high, sets, space, result):
    """Cover the sets that hold a seed, and take their members out of the counts (algorithm 3, lines 14 to 17)."""
    for r in range(cuda.grid(1), high, cuda.gridsize(1)):
        if space.covered[r] == 0 and holds(sets.entries, sets.length, r, seed):
            space.covered[r] = chosen + 1
            space.inverted[cuda.atomic.add(result, COVERED + (chosen & 1), 1)] = r
    grid.sync()
    if cuda.grid(1) == 0:
        result[COVERED + (1 - chosen & 1)] = 0
    size = int64(AHEAD) * cuda.blockDim.x
    pieces = (sets.length + size - 1) // size
    for i in range(cuda.blockIdx.x, pieces * result[COVERED + (chosen & 1)], cuda.gridDim.x):
        _take_piece(sets, space.inverted[i // pieces], i % pieces * size, taken_row, space)


@step
def best_of_grid(grid, costs, space, best):
    """Find the best of all vertices (algorithm 4, line 3): every block has it in the first places of ``best``."""
    top, top_count, top_cost = best_of_grid_share(space.work, costs)
    best_of_block(top, top_count, top_cost, best)
    write_champion(best, space.champions)
    grid.sync()
    champions = space.champions
    top, top_count, top_cost = int64(-1), int64(0), int64(1)
    for other in range(cuda.threadIdx.x, cuda.gridDim.x, cuda.blockDim.x):
        if better(champions[1, other], champions[2, other], champions[0, other], top_count, top_cost, top):
            top, top_count, top_cost = champions[0, other], champions[1, other], champions[2, other]
    cuda.syncthreads()
    best_of_block(top, top_count, top_cost, best)


@step
def note_seed(seed, best, chosen, b, space, result):
    """Append a seed and what it newly covers to the result (algorithm 4, line 4); one thread."""
    result[RESULT + chosen] = seed
    result[RESULT + b + chosen] = best.count[0]
    space.is_seed[seed] = 1


@step
def _count_hits(judge, judge_high, chosen, result):
    """Count the members of the judge's sets, and those of these sets that hold a seed."""
    hits, held = int64(0), int64(0)
    for r in range(cuda.grid(1), judge_high, cuda.gridsize(1)):
        held += int64(judge.sizes[r])
        for i in range(chosen):
            if holds(judge.entries, judge.length, r, result[RESULT + i]):
                hits += 1
                break
    if held > 0:
        cuda.atomic.add(result, JUDGE_HELD, held)
    if hits > 0:
        cuda.atomic.add(result, HITS, hits)


_i32, _i64, _int = "int32[::1]", "int64[::1]", "int64"
_lists = group(StoredSets, _i32, _int, _i32)
_matrices = "int64[:, ::1]", "int32[:, ::1]"
_space = group(
    SelectionMemory, _i32, _i32, _i32, "uint8[::1]", _matrices[0], _i32, _i32, _i64, _i32, _i32, _matrices[1]
)


@kernel((_lists, _int, _int, _i64, _lists, _int, _i64, _i32, _int, _matrices[1], _space, _i64), max_registers=64)
def select(sets, parts, high, control, judge, judge_high, judge_control, costs, b, counts, space, result):
    """Choose up to b vertices from the sets 0 … high - 1, and count the sets of the judge they hit; cooperative.

    Each set is asked whether it holds a seed: a sector, mostly. Members are read once, where they are covered, 4 bytes
    and an atomic each. Every block keeps the candidates' counts for itself and finds the best alike.

    Parameters
    ----------
    sets, judge : StoredSets
        The collection, and the judging one.
    parts : int
        A bit for each of the parts that the sets 0 … high - 1 are.
    judge_high : int
        How many of the judge's sets count; 0: none.
    control, judge_control
        See :mod:`gpukit.merit.hashed_cuda`.
    costs : int32 array, shape (n,)
    b : int
        Seeds at most.
    counts : int32 array, shape (PARTS, n)
        Occurrences in the sets of each part.
    space : SelectionMemory
    result : int64 array, shape (RESULT + 2 * b + MAX_CANDIDATES,)
        Zero at the start.
    """
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
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
    over = (control[OVERFLOW] != 0) + 2 * (judge_control[OVERFLOW] != 0)
    if over > 0:
        if thread == 0:
            result[OVER] = over
        return
    _begin(high, parts, sets, counts, space, block, result)
    grid.sync()
    chosen, epoch, seed = 0, 0, int64(0)
    while chosen < b and seed >= 0 and epoch < EPOCHS:
        # Choose candidates: no other vertex can be the best until one of a lower class is.
        highest_classes(grid, epoch, costs, space, block)
        limit = shared[0]
        if shared[1] == 0:
            break
        number_candidates(epoch, limit, costs, b, space, result)
        grid.sync()
        total = result[FOUND + epoch]
        _load_candidates(total, costs, space, block)
        # Algorithm 4, lines 2 to 5, among the candidates.
        epoch_first = chosen
        while chosen < b:
            best_candidate(chosen, epoch_first, total, less, space, block, best)
            seed = best_vertex[0]
            if seed < 0 or class_of(best_count[0], best_cost[0]) < limit:
                break
            if thread == 0:
                note_seed(seed, best, chosen, b, space, result)
            _cover(grid, seed, chosen, chosen & 3, high, sets, space, result)
            chosen += 1
            grid.sync()
        grid.sync()
        if seed < 0 and limit > 1:
            seed = 0
        if cuda.blockIdx.x == 0:
            for c in range(tid, total, block_size):
                space.work[space.candidates[c]] = current[c]
        epoch += 1
        grid.sync()
    # Algorithm 4, lines 2 to 5, among all vertices.
    while chosen < b and seed >= 0:
        best_of_grid(grid, costs, space, best)
        seed = best_vertex[0]
        if thread == 0 and seed >= 0:
            note_seed(seed, best, chosen, b, space, result)
        cuda.syncthreads()
        if seed < 0:
            break
        _cover(grid, seed, chosen, -1, high, sets, space, result)
        chosen += 1
        grid.sync()
    _count_hits(judge, judge_high, chosen, result)
    grid.sync()
    for i in range(thread, chosen, threads):
        space.is_seed[result[RESULT + i]] = 0
    if thread == 0:
        result[CHOSEN] = chosen
