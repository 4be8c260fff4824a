"""Greedy maximum coverage over an RR collection on a GPU: the seeds of ``cover_cpu.py``, in one launch.

It takes the same steps. Only *candidates*, elements in many sets, can be chosen. An inverted index of the candidates
finds the sets that a seed covers. When counts have fallen so far that another element could matter, a new *epoch*
begins: the candidates are chosen again (``candidates_cuda.py``). This may not suffice, if all sets are covered or too
many elements are equally frequent. Then the kernel reports ``INCOMPLETE`` and the host chooses instead.
"""

from collections import namedtuple

from numba import int32, int64

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.prefix_sum_cuda import add_up
from gpukit.worlds.block_cuda import step
from gpukit.worlds.candidates_cuda import (
    BUCKETS,
    CHOSEN,
    CONTROL_EPOCH,
    EPOCHS,
    MAX_CANDIDATES,
    begin_epoch,
    bucket_floor,
    count_candidates,
    index_candidates,
    number_of,
)

BLOCK, WARP = 512, 32

LOSSES = 8
"""Candidates whose losses a thread loads before it uses the first."""

STATUS, CONTROL = 0, CONTROL_EPOCH + EPOCHS
"""Places in ``control``: the outcome. Its length."""

RUNNING, DONE, INCOMPLETE = 0, 1, 2

WARP_SETS, BLOCK_SETS = 0, 1
"""Places in ``todo``: new sets for warps, and new sets for the whole block."""

VALUE, FIRST = 0, 1
"""Places in ``best``: the highest value, and the first candidate that has it."""

BEGIN, END = 0, 1
"""Places of a list's bounds in ``few``."""

LARGE_SET = 256
"""Members above which a whole block processes a set instead of a warp."""


class Sets(namedtuple("Sets", "starts sizes size entries used counts whole")):
    """The sets to choose from.

    Attributes
    ----------
    starts, sizes : int64 and int32 arrays
        First member and size of each set.
    size : int
        Number of sets to choose from: those numbered below it.
    entries : int64 array
        set << 32 | element for each member.
    used : int
        Number of members.
    counts : int32 array, shape (n * rounds,)
        Occurrence counters of the whole collection; unchanged.
    whole : bool
        Whether ``size`` is the whole collection.
    """


class DeviceQuery(namedtuple("DeviceQuery", "n rounds k forced state target bounds bonus unit")):
    """A selection to make, for the kernel.

    Attributes
    ----------
    n, rounds, k, forced
        As in :func:`gpukit.worlds.cover_cpu.greedy`.
    state : uint8 array, shape (n * rounds,)
        FREE, BLOCKED or FORCED.
    target : int
        Number of candidates to aim at in the first epoch.
    bounds : bool
        Whether to fill ``largest``.
    bonus : int32 array, shape (n,) or (0,)
        Value of each element besides the sets it covers; empty: none.
    unit : int
        Value of a set; values stay below 2**31.
    """


class Work(
    namedtuple("Work", "remaining histogram candidates marks parts list_start list_end inverted covered taken snapshot")
):
    """Working space; need not be cleared.

    Attributes
    ----------
    remaining : int32 array, shape (n * rounds,)
        Uncovered sets that hold each element, at the start of an epoch.
    histogram : int32 array, shape (BUCKETS * EPOCHS,)
    candidates : int32 array, shape (MAX_CANDIDATES,)
    marks, parts : int64 arrays, shape (⌈n * rounds / 32⌉,)
        Bits of the candidates (``candidates_cuda.py``), and their sums in each part of the words that a block
        processes.
    list_start, list_end : int64 arrays, shape (MAX_CANDIDATES,)
        Bounds of each candidate's sets in ``inverted``.
    inverted : int32 array, shape (used,)
    covered : int32 array, shape (>= size,)
    taken : int32 array, shape (4, MAX_CANDIDATES)
        Sets that the candidates lose to the last seed, in the row of the seed's number modulo 4.
    snapshot : int32 array, shape (k * rounds + 1, MAX_CANDIDATES)
        Values of the candidates before each seed.
    """


class Answer(namedtuple("Answer", "seeds gains largest")):
    """Results: ``seeds``, ``gains`` in values (int64, k * rounds) and ``largest`` (int64, k * rounds + 1)."""


class Thread(namedtuple("Thread", "tid block_size block blocks thread threads")):
    """Position of a thread in its block, of the block in the grid, and of the thread in the grid."""


class Shared(namedtuple("Shared", "current local quota best sums todo_start todo_size todo few")):
    """Shared memory of a block.

    Attributes
    ----------
    current : int32 array, shape (MAX_CANDIDATES,)
        Value of each candidate, below zero once it is chosen; every block has a full copy.
    local : int32 array, shape (BUCKETS,)
        Histograms; later the number of candidates of each round that reach the limit.
    quota : int32 array, shape (BUCKETS,)
        Number of seeds that each round may still get.
    best : int32 array, shape (2,)
        The highest value, and the first candidate that has it.
    sums : int64 array, shape (BLOCK,)
    todo_start, todo_size : int64 and int32 arrays, shape (BLOCK,)
        New sets: those for warps from the front, those for the block from the back.
    todo : int32 array, shape (2,)
        Numbers of these sets. They have 32 bits, because a multiprocessor does 64-bit atomic adds by retrying.
    few : int64 array, shape (2,)
        The bucket of the candidates; later the bounds of the list of a seed's sets.
    """


@device
def _largest(snapshot, row, candidates, total, n, rounds, round_, k, block):
    """Return the sum of the k largest values of a snapshot row in a round, or of all if there are fewer; one block.

    The k-th largest value is found bit by bit; it is 0 if there are fewer values. The block's ``current``, ``local``
    and ``sums`` are overwritten. Source: OPIM-C, section 5, the terms of the bound.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    values, reached, kth = block.current, block.local, int32(0)
    for c in range(tid, total, block_size):
        mine = rounds == 1 or candidates[c] // n == round_
        values[c] = snapshot[row, c] if mine else int32(-1)
    for bit in range(30, -1, -1):
        if tid == 0:
            reached[0] = 0
        cuda.syncthreads()
        trial, some = int32(kth | int32(1) << bit), int32(0)
        for c in range(tid, total, block_size):
            some += int32(values[c] >= trial)
        cuda.atomic.add(reached, 0, some)
        cuda.syncthreads()
        if reached[0] >= k:
            kth = trial
        cuda.syncthreads()
    part = int64(0)
    for c in range(tid, total, block_size):
        part += max(int64(0), int64(values[c]) - kth)
    block.sums[tid] = part
    add_up(block.sums)
    result = block.sums[block_size - 1] + int64(k) * kth
    cuda.syncthreads()
    return result


@step
def _clear(me, sets, query, work, quota):
    """Clear the state; after it and a barrier, no set is covered and each round may get k seeds."""
    tid, block_size = me.tid, me.block_size
    thread, threads = me.thread, me.threads
    s = thread
    while s < sets.size:
        work.covered[s] = 0
        s += threads
    for b in range(thread, BUCKETS * EPOCHS, threads):
        work.histogram[b] = 0
    for b in range(tid, BUCKETS, block_size):
        quota[b] = query.k


@step
def _best_of_thread(me, query, work, block, pick, limit, total):
    """Update the counts; return the highest value of a thread's candidates, and the first candidate that has it.

    Algorithm 7, line 14, and algorithm 1, line 7. Afterwards the block's counts are those of the sets that no seed
    covers yet. After a barrier, ``local`` counts the candidates of each round that reach the limit. A thread loads
    several losses before it uses the first; otherwise each subtraction waits for memory. Block 0 clears the losses of
    the seed after next.
    """
    tid, block_size, unit = me.tid, me.block_size, int32(query.unit)
    row, losses = work.taken[(pick - 1) & 3], cuda.local.array(LOSSES, int32)
    highest, first, reaching = int32(0), int32(0), int32(0)
    base = tid
    while base < total:
        for i in range(LOSSES):
            losses[i] = row[min(base + i * block_size, total - 1)]
        for i in range(LOSSES):
            c = base + i * block_size
            if c < total:
                value, free = block.current[c] - unit * losses[i], True
                block.current[c] = value
                if me.block == 0:
                    work.taken[(pick + 2) & 3, c] = 0
                    if query.bounds and pick >= len(query.forced):
                        work.snapshot[pick, c] = value
                if query.rounds > 1:
                    round_ = work.candidates[c] // query.n
                    free = block.quota[round_] > 0
                    if value >= limit:
                        cuda.atomic.add(block.local, round_, 1)
                reaching += int32(value >= limit)
                if free and value > highest:
                    highest, first = value, int32(c)
        base += LOSSES * block_size
    if query.rounds == 1:
        cuda.atomic.add(block.local, 0, reaching)
    return highest, first


@step
def _next_choice(me, query, work, block, pick, limit, total):
    """Return the next seed, and whether it is final.

    Algorithm 1, line 7. The seed is final if no element outside the candidates can be chosen or be among the k largest
    of a round. Ties go to the lower candidate, hence the lower id. Afterwards ``few`` has the bounds of the seed's
    list. Each thread loads the bounds for its own best candidate early, while the block finds the best of all.
    """
    forced, few, best = query.forced, block.few, block.best
    highest, first = _best_of_thread(me, query, work, block, pick, limit, total)
    begin, end = int64(0), int64(0)
    if highest > 0:
        begin, end = work.list_start[first], work.list_end[first]
    cuda.atomic.max(best, VALUE, highest)
    cuda.syncthreads()
    value = best[VALUE]
    if highest == value:
        cuda.atomic.min(best, FIRST, first)
    cuda.syncthreads()
    c = int64(best[FIRST])
    enough = pick == query.k * query.rounds or value >= limit
    if query.bounds and limit > 1:
        for t in range(query.rounds):
            enough = enough and block.local[t] >= query.k
    if pick < len(forced):
        c = int64(number_of(work.marks[forced[pick] >> 5], forced[pick] & 31))
        enough = True
        if me.tid == 0:
            few[BEGIN], few[END] = work.list_start[c], work.list_end[c]
    elif highest == value and first == c:
        few[BEGIN], few[END] = begin, end
    cuda.syncthreads()
    return c, enough


@step
def _note_choice(me, query, work, block, answer, pick, c):
    """Record a seed; after it and a barrier, the candidate cannot be chosen again (algorithm 1, lines 8 and 9)."""
    if me.thread == 0:
        answer.seeds[pick] = work.candidates[c]
        answer.gains[pick] = block.current[c]
    if me.tid == 0:
        block.current[c] -= int32(CHOSEN)
        if query.rounds > 1:
            block.quota[work.candidates[c] // query.n] -= 1


@step
def _cover(me, sets, work, block, pick):
    """Cover the sets of one list (algorithm 7, lines 1 to 18).

    After it and a grid barrier, they are covered, and this seed's row of ``taken`` has the loss of each candidate.
    """
    tid, block_size = me.tid, me.block_size
    todo = block.todo
    base, end = block.few[BEGIN], block.few[END]
    while base < end:
        if tid == 0:
            todo[WARP_SETS] = 0
            todo[BLOCK_SETS] = 0
        cuda.syncthreads()
        i = base + int64(tid) * me.blocks + me.block
        if i < end:
            s = work.inverted[i]
            before, start, size = work.covered[s], sets.starts[s], sets.sizes[s]
            if before == 0:
                work.covered[s] = 1
                if size <= LARGE_SET:
                    place = cuda.atomic.add(todo, WARP_SETS, 1)
                else:
                    place = block_size - 1 - cuda.atomic.add(todo, BLOCK_SETS, 1)
                block.todo_start[place] = start
                block.todo_size[place] = size
        cuda.syncthreads()
        q = tid // WARP
        while q < todo[WARP_SETS]:
            taken, start = work.taken[pick & 3], block.todo_start[q]
            count_candidates(sets.entries, start, start + block.todo_size[q], tid % WARP, WARP, work.marks, taken)
            q += (block_size + WARP - 1) // WARP
        q = block_size - todo[BLOCK_SETS]
        while q < block_size:
            taken, start = work.taken[pick & 3], block.todo_start[q]
            count_candidates(sets.entries, start, start + block.todo_size[q], tid, block_size, work.marks, taken)
            q += 1
        cuda.syncthreads()
        base += me.threads


@step
def _sum_largest(query, work, block, first_row, last_row, total, largest):
    """Sum the k largest marginal counts in each round; block b owns prefix b."""
    for row in range(first_row + cuda.blockIdx.x, last_row, cuda.gridDim.x):
        sum_ = int64(0)
        for t in range(query.rounds):
            sum_ += _largest(work.snapshot, row, work.candidates, total, query.n, query.rounds, t, query.k, block)
        if cuda.threadIdx.x == 0:
            largest[row] = sum_


_bool, _int, _i32, _i64, _u8 = "boolean", "int64", "int32[::1]", "int64[::1]", "uint8[::1]"
_rows = "int32[:, ::1]"
SETS = group(Sets, _i64, _i32, _int, _i64, _int, _i32, _bool)
QUERY = group(DeviceQuery, _int, _int, _int, _i32, _u8, _int, _bool, _i32, _int)
WORK = group(Work, _i32, _i32, _i32, _i64, _i64, _i64, _i64, _i32, _i32, _rows, _rows)
ANSWER = group(Answer, _i64, _i64, _i64)


@kernel((SETS, QUERY, WORK, ANSWER, _i64), max_registers=64)
def greedy(sets, query, work, answer, control):
    """Choose seeds greedily; cooperative, any grid; the same result as :func:`gpukit.worlds.cover_cpu.greedy`.

    Each epoch copies the counters, or counts the uncovered sets (one pass over the members, one atomic add each). It
    then makes a histogram of the counts, the candidates, and their inverted index (one pass over the members, 8 bytes
    and a bit each).

    Each seed needs one grid barrier. Every block keeps the candidates' counts in its shared memory and finds the
    highest by itself. A warp owns a newly covered set; a block owns a large one. It adds the candidates in the set to
    ``taken``; after the barrier, all blocks subtract these losses. All seeds together cost about one pass over the
    members, with one atomic add for each candidate.

    At the end of each epoch, block b sums the k largest marginal counts of prefix b.

    Parameters
    ----------
    sets : Sets
    query : DeviceQuery
    work : Work
    answer : Answer
    control : int64 array, shape (CONTROL,)
        Zero at the start; ``STATUS`` ends as DONE or INCOMPLETE.
    """
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    me = Thread(tid, block_size, cuda.blockIdx.x, cuda.gridDim.x, thread, threads)
    # One line per array: the simulator tells shared arrays apart by the line that creates them.
    block = Shared(
        cuda.shared.array(MAX_CANDIDATES, int32),
        cuda.shared.array(BUCKETS, int32),
        cuda.shared.array(BUCKETS, int32),
        cuda.shared.array(2, int32),
        cuda.shared.array(BLOCK, int64),
        cuda.shared.array(BLOCK, int64),
        cuda.shared.array(BLOCK, int32),
        cuda.shared.array(2, int32),
        cuda.shared.array(2, int64),
    )
    forced, few = query.forced, block.few
    _clear(me, sets, query, work, block.quota)
    picks = query.k * query.rounds
    pick, epoch, status = 0, 0, RUNNING
    bucket = BUCKETS
    while status == RUNNING:
        begin_epoch(me, grid, sets, query, work, block, epoch, bucket)
        if few[0] >= bucket:
            status = INCOMPLETE
            break
        bucket = int(few[0])
        limit = bucket_floor(bucket)
        total = index_candidates(me, grid, sets, query, work, block, answer.seeds, pick, control, epoch, limit)
        epoch_first = pick
        while True:
            for b in range(tid, query.rounds, block_size):
                block.local[b] = 0
            if tid == 0:
                block.best[VALUE], block.best[FIRST] = 0, 0x7FFFFFFF
            cuda.syncthreads()
            c, enough = _next_choice(me, query, work, block, pick, limit, total)
            if not enough:
                break
            if pick == picks:
                status = DONE
                break
            _note_choice(me, query, work, block, answer, pick, c)
            _cover(me, sets, work, block, pick)
            pick += 1
            grid.sync()
        if query.bounds:
            grid.sync()
            first_row, last_row = max(epoch_first, len(forced)), pick + 1 if status == DONE else pick
            _sum_largest(query, work, block, first_row, last_row, total, answer.largest)
        epoch += 1
        if status == RUNNING:
            if limit <= 1 or epoch == EPOCHS:
                status = INCOMPLETE
    if thread == 0:
        control[STATUS] = status


@kernel((SETS, _i64, _i32, _i32, _i64))
def coverage(sets, seeds, position, earliest, totals):
    """Count the sets that the first i seeds cover; cooperative, any grid.

    A thread owns members one by one. It reads 8 bytes and the position of the element, and does an atomic minimum if
    the element is a seed.

    Parameters
    ----------
    sets : Sets
    seeds : int64 array
        The sequence.
    position : int32 array, shape (n * rounds,)
        All 2**31 - 1 at the start and at the end.
    earliest : int32 array, shape (>= sets.size,)
        Working space.
    totals : int64 array, shape (len(seeds) + 1,)
        Zero at the start; ends as the number of sets whose first seed is seeds[i], i < len(seeds).
    """
    entries, used, size = sets.entries, sets.used, sets.size
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    for s in range(thread, size, threads):
        earliest[s] = len(seeds)
    for i in range(thread, len(seeds), threads):
        position[seeds[i]] = i
    grid.sync()
    for i in range(thread, used, threads):
        place = position[entries[i] & 0xFFFFFFFF]
        if place < len(seeds) and entries[i] >> 32 < size:
            cuda.atomic.min(earliest, entries[i] >> 32, place)
    grid.sync()
    for s in range(thread, size, threads):
        if earliest[s] < len(seeds):
            cuda.atomic.add(totals, earliest[s], 1)
    for i in range(thread, len(seeds), threads):
        position[seeds[i]] = 0x7FFFFFFF
