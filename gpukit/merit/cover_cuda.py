"""Greedy coverage per cost and the counts of its certificate on a GPU, in one launch; seeds equal ``cover_cpu.py``.

As there, only *candidates*, vertices with a large count per cost, can be chosen. Each set is tested for holding a seed,
so only covered sets are read. When ratios have fallen so far that another vertex could be chosen, the candidates are
chosen again, twice as many. If too many vertices have similar ratios, this is impossible. Then the rest is chosen as in
MERIT's algorithm 4, with a search through all vertices for each seed.
"""

from collections import namedtuple

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.merit.best_cuda import BLOCK, Best, best_of_block, best_of_grid_share, better, write_champion
from gpukit.merit.hashed_cuda import AHEAD, EMPTY, OVERFLOW, PARTS, holds, member_of
from gpukit.worlds.candidates_cuda import AT_ONCE

BUCKETS = 1 << 11
"""Number of classes of ratios; 32 classes per power of two, so that classes stay small even if many ratios are
similar."""

MAX_CANDIDATES, WANTED = 2048, 512
"""Most candidates, and the number wanted at first: their counts and costs are in shared memory."""

EPOCHS = 4
"""Most times that candidates are chosen."""

CHOSEN, HITS, OVER, HELD, JUDGE_HELD, FOUND, LISTED, COVERED, LARGEST = 0, 1, 2, 3, 4, 5, 9, 13, 15
RESULT = 16
"""Places in ``result``: seeds chosen; judging sets hit; overflow flags (1: the collection, 2: the judge); members of
the counted sets and of the judge's; candidates of each epoch and their occurrences; sets that the seed of a step
covers (two slots, in turn); members of the largest set. From ``RESULT`` on: seeds, gains, and the first candidates
with counts in the upper halves and costs in the lower ones."""


step = device(inline="always")
"""Marks a step of :func:`select`. Numba inlines it before the compiler orders the loads."""


class StoredSets(namedtuple("StoredSets", "entries length sizes")):
    """A collection: all tables, their common length, and the number of members of each set."""


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
        Occurrences in uncovered sets, except that losses of candidates in this epoch are missing; numbers of the
        candidates, or -1.
    covered : int32 array, shape (>= high,)
        Number of the seed that covers a set, from 1; 0 if uncovered.
    is_seed : uint8 array, shape (n,)
        Zero at the start and at the end.
    champions : int64 array, shape (3, blocks)
        Best vertex of each block, its count and its cost.
    histogram : int32 array, shape (EPOCHS * BUCKETS,)
        Vertices of each class, in each epoch.
    candidates, list_start, list_fill : int32, int64 and int32 arrays, shape (MAX_CANDIDATES,)
        The candidates; the start in ``inverted`` that an index of their sets would have; and 0.
    inverted : int32 array, shape (>= high,)
        The sets that the current seed covers.
    taken : int32 array, shape (4, MAX_CANDIDATES)
        Amounts that a seed subtracts from the counts of candidates, in four rotating rows.
    """


class BlockCandidates(namedtuple("BlockCandidates", "current names price marks shared")):
    """The candidates in a block's shared memory: counts, ids, costs; counts of the classes of ratios; two numbers."""


@device
def class_of(count, cost):
    """Return the class of a ratio, monotonic in the ratio; 0 for a count of 0."""
    ratio = (int64(count) << 31) // int64(cost)
    bits = 0
    for step in (32, 16, 8, 4, 2, 1):
        if ratio >> (bits + step) > 0:
            bits += step
    return 32 * bits + int32(ratio >> max(bits - 5, 0) & 31) if ratio > 0 else 0


@device
def _take_piece(sets, r, first, taken_row, space):
    """Subtract ``AHEAD`` members per thread from the counts; if ``taken_row`` < 0, candidates get no special treatment.

    One block; it handles the set's places from ``first`` on. A thread reads everything before it writes.
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
    """Sum the counts of the given parts, clear the covers and histograms, and count members and the largest set."""
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
    """Find the fewest highest classes of ratios with as many candidates as wanted; stop before there are too many.

    Afterwards ``shared`` of every block holds the lowest of these classes and the number of candidates.
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
    """Make each vertex of class ``limit`` or above a numbered candidate; reserve a list for its occurrences."""
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
    """Subtract the last seed's share from the candidates' counts; leave the best in ``best`` (algorithm 4, line 3)."""
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
    """Cover the sets that hold a seed, and subtract their members from the counts (algorithm 3, lines 14 to 17)."""
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
    """Leave the best of all vertices in the first places of every block's ``best`` (algorithm 4, line 3)."""
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
    """Append a seed and its new coverage to the result (algorithm 4, line 4); one thread."""
    result[RESULT + chosen] = seed
    result[RESULT + b + chosen] = best.count[0]
    space.is_seed[seed] = 1


@step
def _count_hits(judge, judge_high, chosen, result):
    """Count the members of the judge's sets, and the sets among them that hold a seed."""
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
    """Choose up to b vertices from the sets 0 … high - 1, and count the judge's sets that they hit; cooperative.

    Each set is tested for each seed, usually one sector. Members are read once, when their set is covered: 4 bytes and
    one atomic each. Every block keeps its own copy of the candidates' counts, and all find the same best.

    Parameters
    ----------
    sets, judge : StoredSets
        The collection, and the judging one.
    parts : int
        One bit for each part that makes up the sets 0 … high - 1.
    judge_high : int
        Number of judging sets that count; 0: none.
    control, judge_control
        See :mod:`gpukit.merit.hashed_cuda`.
    costs : int32 array, shape (n,)
    b : int
        Most seeds.
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
        # Choose candidates. No other vertex can be the best until the best ratio falls to a lower class.
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
