"""Greedy coverage per cost on sets in hash tables: the seeds of ``cover_cuda.py``, whose steps it takes.

Which sets hold a seed is looked up in each, so that no set is read but those that a seed covers.
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
    MAX_CANDIDATES,
    OVER,
    RESULT,
    Block,
    Space,
    step,
)  # fmt: skip
from gpukit.merit.hashed_cuda import EMPTY, PARTS, holds, member_of
from gpukit.merit.table_cuda import AHEAD
from gpukit.merit.update_cuda import OVERFLOW

COVERED, LARGEST = 13, 15
"""Places in ``result``: how many sets the seed of a step covers, in two turns; members of the largest set."""


class Lists(namedtuple("Lists", "entries length sizes")):
    """A collection: all tables, the length of each, and how many members each has."""


@device
def _take_piece(sets, r, first, turn, space):
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
                if turn >= 0 and places[j] >= 0:
                    cuda.atomic.add(space.taken, (turn, int64(places[j])), 1)
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
def _load_candidates(total, costs, space, block):
    """Load the candidates to shared memory."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    for c in range(tid, total, block_size):
        block.names[c] = space.candidates[c]
        block.current[c], block.price[c] = space.work[block.names[c]], costs[block.names[c]]
    cuda.syncthreads()


@step
def _cover(grid, seed, chosen, turn, high, sets, space, result):
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
        _take_piece(sets, space.inverted[i // pieces], i % pieces * size, turn, space)


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
_lists = group(Lists, _i32, _int, _i32)
_matrices = "int64[:, ::1]", "int32[:, ::1]"
_space = group(Space, _i32, _i32, _i32, "uint8[::1]", _matrices[0], _i32, _i32, _i64, _i32, _i32, _matrices[1])


@kernel((_lists, _int, _int, _i64, _lists, _int, _i64, _i32, _int, _matrices[1], _space, _i64), max_registers=64)
def select(sets, parts, high, control, judge, judge_high, judge_control, costs, b, counts, space, result):
    """Choose up to b vertices from the sets 0 … high - 1, and count the sets of the judge they hit; cooperative.

    Arguments and result are those of :func:`gpukit.merit.cover_cuda.select`, but for the form of the sets; for
    ``parts``, a bit for each of the parts that these sets are; for ``counts``, which has a row for each part and is
    only read; and ``space.inverted`` has room for all sets.
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
    best, block = Best(best_vertex, best_count, best_cost), Block(current, names, price, marks, shared)
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
        cover._highest_classes(grid, epoch, costs, space, block)
        limit = shared[0]
        if shared[1] == 0:
            break
        cover._number_candidates(epoch, limit, costs, b, space, result)
        grid.sync()
        total = result[FOUND + epoch]
        _load_candidates(total, costs, space, block)
        # Algorithm 4, lines 2 to 5, among the candidates.
        epoch_first = chosen
        while chosen < b:
            cover._best_candidate(chosen, epoch_first, total, less, space, block, best)
            seed = best_vertex[0]
            if seed < 0 or cover._class(best_count[0], best_cost[0]) < limit:
                break
            if thread == 0:
                cover._note_seed(seed, best, chosen, b, space, result)
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
        cover._best_of_grid(grid, costs, space, best)
        seed = best_vertex[0]
        if thread == 0 and seed >= 0:
            cover._note_seed(seed, best, chosen, b, space, result)
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
