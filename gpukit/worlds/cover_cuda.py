"""Greedy maximum coverage over an RR collection on a GPU: the seeds of ``cover_cpu.py``, in one launch.

The same idea and the same steps: only *candidates*, elements in many sets, can be chosen, and an inverted index of them
finds the sets that a seed covers; when counts have fallen so far that another element could matter, the candidates are
chosen again, and a new *epoch* begins (``candidates_cuda.py``). Where even that does not suffice (all sets are covered,
or too many elements are equally frequent) the kernel says ``INCOMPLETE`` and the host chooses instead.
"""

from collections import namedtuple

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.prefix_sum_cuda import add_up
from gpukit.worlds.block_cuda import MEMBER_TAIL, OVERFLOW, TICKET, step
from gpukit.worlds.candidates_cuda import (
    BUCKETS,
    CHOSEN,
    CONTROL_EPOCH,
    EPOCHS,
    MAX_CANDIDATES,
    PREPARED,
    begin_epoch,
    bucket_floor,
    index_candidates,
)
from gpukit.worlds.choice_cuda import (
    BLOCK,
    CHUNK,
    STRIDE,
    after,
    cover,
    next_choice,
    note_choice,
    prepare,
)

STATUS, CONTROL = 0, CONTROL_EPOCH + EPOCHS
"""Places in ``control``: the outcome; its length."""

RUNNING, DONE, INCOMPLETE = 0, 1, 2


class Sets(namedtuple("Sets", "starts sizes size entries used counts whole control asked")):
    """The sets to choose from.

    Attributes
    ----------
    starts, sizes : int64 and int32 arrays
        First member and size of each set.
    size : int
        How many sets count: those numbered below it.
    entries : int64 array
        set << 32 | element for each member.
    used : int
        Number of members, but for those of the launch that ``control`` is of.
    counts : int32 array, shape (n * rounds,)
        Occurrence counters of the whole collection; unchanged.
    whole : bool
        Whether ``size`` is the whole collection.
    control : int64 array, shape (block_cuda.CONTROL,)
        Of the launch that draws the last of the sets, which the host need not know yet; or zero.
    asked : int
        Sets of that launch; 0 for none.
    """


class DeviceQuery(namedtuple("DeviceQuery", "n rounds k forced state target bounds own unit ahead")):
    """What to choose.

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
    own : int32 array, shape (n,) or (0,)
        What each element counts for besides the sets it covers; empty: nothing.
    unit : int
        What a set counts for; values stay below 2**31.
    ahead : int
        How many seeds are prepared together, 1 to PREPARED.
    """


class Work(
    namedtuple("Work", "remaining histogram candidates marks parts list_start list_end inverted covered taken snapshot")
):
    """Working space; need not be cleared.

    Attributes
    ----------
    remaining : int32 array, shape (n * rounds,)
        Uncovered sets that hold each element, at the begin of an epoch.
    histogram : int32 array, shape (BUCKETS * EPOCHS,)
    candidates : int32 array, shape (MAX_CANDIDATES,)
    marks, parts : int64 arrays, shape (⌈n * rounds / 32⌉,)
        Bits of the candidates (``candidates_cuda.py``), and their sums in each part of the words that a block takes.
    list_start, list_end : int64 arrays, shape (MAX_CANDIDATES,)
        Bounds of each candidate's sets in ``inverted``.
    inverted : int32 array, shape (used,)
    covered : int32 array, shape (>= size,)
    taken : int32 array, shape (ROWS, MAX_CANDIDATES)
        Sets that candidates lose by each of the seeds prepared together (:func:`gpukit.worlds.choice_cuda.after`).
    snapshot : int32 array, shape (k * rounds + 1, MAX_CANDIDATES)
        Values of the candidates before each seed.
    """


class Answer(namedtuple("Answer", "seeds gains largest")):
    """Results: ``seeds``, ``gains`` in values (int64, k * rounds) and ``largest`` (int64, k * rounds + 1)."""


class Thread(namedtuple("Thread", "tid block_size block blocks thread threads")):
    """Where a thread stands: in its block of so many threads, its block in the grid, and in the whole grid."""


class Shared(namedtuple("Shared", "current local quota sums todo_start todo_size todo few prepared begin length")):
    """Shared memory of a block.

    Attributes
    ----------
    current : int32 array, shape (MAX_CANDIDATES,)
        Value of each candidate, below zero once it is chosen; every block has all of them.
    local : int32 array, shape (BUCKETS,)
        Histograms; candidates that reach the limit, of each round, or of each warp where there is one round.
    quota : int32 array, shape (BUCKETS,)
        Seeds that each round may still get.
    sums : int64 array, shape (BLOCK,)
        Sums; the key of each warp's best candidate, in one half for even seeds and in the other for odd ones.
    todo_start, todo_size : int64 and int32 arrays, shape (BLOCK,)
        New sets: those of warps from the front, those of the block from the back. Before, the list of sets of each
        warp's best candidate.
    todo : int32 array, shape (4,)
        How many these are. Of 32 bits, as all that threads add to at the same time (:mod:`sample_cuda`).
    few : int64 array, shape (3,)
    prepared, begin, length : int32, int64 and int32 arrays, shape (PREPARED,)
        The candidates that are prepared together, and the lists of their sets.
    """


@device
def members_of(sets):
    """Return how many members there are; -1 where sets are not, as the launch that was to draw them found no room."""
    used = sets.used + sets.control[MEMBER_TAIL]
    failed = sets.control[OVERFLOW] > 0 or sets.control[TICKET] < sets.asked or used > len(sets.entries)
    return int64(-1) if failed else used


# OPIM-C, section 5: the terms of the bound. Afterwards ``largest`` is the sum of a prefix's k largest marginal counts.
@device
def _largest(snapshot, row, candidates, total, n, rounds, round_, k, block):
    """Return the sum of the k largest values of a snapshot row in a round, or of all if there are fewer; one block.

    Radix selection finds the k-th largest value 8 bits at a time, then one pass adds up the larger ones. What the block
    holds of candidates and threads is overwritten.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    values, histogram, few = block.current, block.local, block.few
    if tid == 0:
        histogram[0] = 0
    cuda.syncthreads()
    highest = int32(0)
    for c in range(tid, total, block_size):
        mine = rounds == 1 or candidates[c] // n == round_
        values[c] = snapshot[row, c] if mine else int32(-1)
        highest = max(highest, values[c])
    cuda.atomic.max(histogram, 0, highest)
    cuda.syncthreads()
    highest = histogram[0]
    prefix, rest = int64(0), int64(k)
    for shift in (24, 16, 8, 0):
        if shift > 0 and highest >> shift == 0:
            continue
        cuda.syncthreads()
        for b in range(tid, 256, block_size):
            histogram[b] = 0
        cuda.syncthreads()
        for c in range(tid, total, block_size):
            value = int64(values[c])
            if value >> (shift + 8) == prefix >> (shift + 8):
                cuda.atomic.add(histogram, (value >> shift) & 255, 1)
        cuda.syncthreads()
        # A thread looks at a digit, since one alone would wait for each of them.
        for digit in range(tid, 256, block_size):
            above = int64(0)
            for higher in range(digit + 1, 256):
                above += histogram[higher]
            found = above + histogram[digit]
            if above < rest and (found >= rest or digit == 0):
                few[0], few[1], few[2] = digit, rest - above, found
        cuda.syncthreads()
        prefix += few[0] << shift
        short = few[2] < rest
        rest = few[1]
        if short:
            prefix = int64(-1)
            break
    part = int64(0)
    for c in range(tid, total, block_size):
        if int64(values[c]) > prefix:
            part += int64(values[c])
    block.sums[tid] = part
    add_up(block.sums)
    result = block.sums[block_size - 1]
    if prefix > 0:
        result += prefix * rest
    cuda.syncthreads()
    return result


# Afterwards, and after a barrier, no set is covered and each round may get k seeds.
@step
def _clear(me, sets, query, work, quota):
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


# Block b sums the k largest marginal counts of prefix b, in each round.
@step
def _sum_largest(query, work, block, first_row, last_row, total, largest):
    for row in range(first_row + cuda.blockIdx.x, last_row, cuda.gridDim.x):
        sum_ = int64(0)
        for t in range(query.rounds):
            sum_ += _largest(work.snapshot, row, work.candidates, total, query.n, query.rounds, t, query.k, block)
        if cuda.threadIdx.x == 0:
            largest[row] = sum_


_bool, _int, _i32, _i64, _u8 = "boolean", "int64", "int32[::1]", "int64[::1]", "uint8[::1]"
_rows = "int32[:, ::1]"
SETS = group(Sets, _i64, _i32, _int, _i64, _int, _i32, _bool, _i64, _int)
QUERY = group(DeviceQuery, _int, _int, _int, _i32, _u8, _int, _bool, _i32, _int, _int)
WORK = group(Work, _i32, _i32, _i32, _i64, _i64, _i64, _i64, _i32, _i32, _rows, _rows)
ANSWER = group(Answer, _i64, _i64, _i64)


@kernel((SETS, QUERY, WORK, ANSWER, _i64), max_registers=64)
def greedy(sets, query, work, answer, control):
    """Choose seeds greedily; cooperative, any grid. Returns what :func:`gpukit.worlds.cover_cpu.greedy` does.

    For each choice of candidates: copies the counters, or counts the sets that are not covered (one pass over the
    members, an atomic add each); a histogram of counts, the candidates, and their inverted index (one pass over the
    members, 8 bytes and a bit each); then for each seed one grid barrier: every block keeps the candidates' counts in
    its shared memory and finds the highest for itself; a warp owns a newly covered set (a block a large one) and takes
    the candidates in it out of the counts, in ``taken``, from where all blocks read them after the barrier. All seeds
    together cost about one pass over the members, with an atomic add for each candidate. Last, block b sums the k
    largest marginal counts of prefix b.

    Parameters
    ----------
    sets : Sets
    query : DeviceQuery
    work : Work
    answer : Answer
    control : int64 array, shape (CONTROL,)
        Zero at the start; ``STATUS`` ends as DONE or INCOMPLETE, or stays RUNNING where the sets are not there.
    """
    used = members_of(sets)
    if used < 0:
        return
    sets = Sets(
        sets.starts, sets.sizes, sets.size, sets.entries, used, sets.counts, sets.whole, sets.control, sets.asked
    )
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    me = Thread(tid, block_size, cuda.blockIdx.x, cuda.gridDim.x, thread, threads)
    # A line for each array: the simulator tells shared arrays apart by the line that makes them.
    block = Shared(
        cuda.shared.array(MAX_CANDIDATES, int32),
        cuda.shared.array(BUCKETS, int32),
        cuda.shared.array(BUCKETS, int32),
        cuda.shared.array(BLOCK, int64),
        cuda.shared.array(BLOCK, int64),
        cuda.shared.array(BLOCK, int32),
        cuda.shared.array(4, int32),
        cuda.shared.array(3, int64),
        cuda.shared.array(PREPARED, int32),
        cuda.shared.array(PREPARED, int64),
        cuda.shared.array(PREPARED, int32),
    )
    forced, few = query.forced, block.few
    _clear(me, sets, query, work, block.quota)
    picks = query.k * query.rounds
    pick, epoch, status = 0, 0, RUNNING
    bucket, turn = BUCKETS, int32(0)
    while status == RUNNING:
        begin_epoch(me, grid, sets, query, work, block, epoch, bucket)
        if few[0] >= bucket:
            status = INCOMPLETE
            break
        bucket = int(few[0])
        limit = bucket_floor(bucket)
        total = index_candidates(me, grid, sets, query, work, block, answer.seeds, pick, control, epoch, limit)
        epoch_first, ready, at = pick, int32(0), int32(0)
        for c in range(total + tid, (total + CHUNK - 1) // CHUNK * CHUNK, STRIDE):
            block.current[c] = -int32(CHOSEN)
        cuda.syncthreads()
        while True:
            c, enough = next_choice(me, query, work, block, pick, uint32(turn + at), limit, total)
            if not enough:
                break
            if pick == picks:
                status = DONE
                break
            at = int32(at + 1)
            if at >= ready or block.prepared[uint32(at)] != c:
                turn, at = after(turn), int32(0)
                ready = prepare(me, query, work, block, pick, c)
                cover(me, sets, query, work, block, turn, ready, total)
                grid.sync()
            note_choice(me, query, work, block, answer, pick, c, at)
            pick += 1
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

    A thread owns members one by one: 8 bytes and the position of the element read, an atomic minimum where it is a
    seed.

    Parameters
    ----------
    sets : Sets
        If they are not there, nothing happens.
    seeds : int64 array
        The sequence.
    position : int32 array, shape (n * rounds,)
        All 2**31 - 1 at the start and at the end.
    earliest : int32 array, shape (>= sets.size,)
        Working space.
    totals : int64 array, shape (len(seeds) + 1,)
        Zero at the start; ends as the number of sets whose first seed is seeds[i], i < len(seeds).
    """
    used, entries, size = members_of(sets), sets.entries, sets.size
    if used < 0:
        return
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
