"""Greedy maximum coverage over an RR collection on a GPU: the seeds of ``cover_cpu.py``, in one launch.

The same idea: only *candidates*, elements in many sets, can be chosen, and an inverted index of them finds the sets
that a seed covers; when counts have fallen so far that another element could matter, the candidates are chosen again.
Where even that does not suffice (all sets are covered, or too many elements are equally frequent) the kernel says
``INCOMPLETE`` and the host chooses instead. Numba's cache notices changes of this file alone: touch it after one of
``candidates_cuda.py``.
"""

import numba
from numba import cuda, int32, int64, uint32, uint64

from gpukit.device.prefix_sum_cuda import add_up
from gpukit.device.select import register_limit
from gpukit.worlds.candidates_cuda import AT_ONCE, FREE, PACKED, gather, look, number, take

BLOCK = 512
BUCKETS = 256
"""Buckets of counts: exact below 8, eight to a power of two above."""

MAX_CANDIDATES = 8192
"""Most candidates at a time: their counts lie in a block's shared memory, of which there are 48 KiB."""

LOSSES = 8
"""Candidates whose losses a thread asks for before it looks at the first."""

EPOCHS = 16
"""How often the candidates are chosen at most; each time twice as many."""

STATUS, CONTROL_EPOCH, CONTROL = 0, 1, 1 + EPOCHS
"""Places in ``control``: the outcome; from the second on, for each choice, the number of candidates; its length."""

RUNNING, DONE, INCOMPLETE = 0, 1, 2
SMALL, LARGE, BEGIN, END, LARGE_SET = 0, 1, 2, 3, 256
"""Places of two counters and of the bounds of a list in shared memory, and the size above which a whole block takes a
set instead of a warp."""


@cuda.jit(device=True)
def _bucket(count):
    if count < 8:
        return int32(count)
    exponent = 31 - cuda.clz(int32(count))
    return int32(8 * (exponent - 2) + ((count >> (exponent - 3)) & 7))


@cuda.jit(device=True)
def _bucket_floor(bucket):
    if bucket < 8:
        return int32(bucket)
    return int32((8 + bucket % 8) << (bucket // 8 - 1))


@cuda.jit(device=True)
def _largest(snapshot, row, candidates, total, n, round_, k, histogram, shared):
    """Return the sum of the k largest values of a snapshot row in a round, or of all if there are fewer; one block.

    Radix selection finds the k-th largest value 8 bits at a time, then one pass adds up the larger ones.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    prefix, rest = int64(0), int64(k)
    for shift in (24, 16, 8, 0):
        for b in range(tid, 256, block_size):
            histogram[b] = 0
        cuda.syncthreads()
        for c in range(tid, total, block_size):
            value = int64(snapshot[row, c])
            if candidates[c] // n == round_ and value >> (shift + 8) == prefix >> (shift + 8):
                cuda.atomic.add(histogram, (value >> shift) & 255, 1)
        cuda.syncthreads()
        if tid == 0:
            digit, above = 255, int64(0)
            while digit > 0 and above + histogram[digit] < rest:
                above += histogram[digit]
                digit -= 1
            shared[0] = digit
            shared[1] = rest - above
            shared[2] = above + histogram[digit]
        cuda.syncthreads()
        prefix += shared[0] << shift
        short = shared[2] < rest
        rest = shared[1]
        cuda.syncthreads()
        if short:
            prefix = int64(-1)
            break
    if tid == 0:
        shared[0] = 0
    cuda.syncthreads()
    part, more = int64(0), int64(0)
    for c in range(tid, total, block_size):
        if candidates[c] // n == round_ and int64(snapshot[row, c]) > prefix:
            part += int64(snapshot[row, c])
            more += 1
    cuda.atomic.add(shared, 0, part)
    cuda.syncthreads()
    result = shared[0]
    if prefix > 0:
        result += prefix * rest
    cuda.syncthreads()
    return result


@cuda.jit(cache=True, **register_limit(64))
def greedy(
    starts, sizes, sets, entries, used, counts, whole, n, rounds, k, forced, state, wanted, bounds,
    work, histogram, candidates, marks, parts, list_start, list_end, inverted, covered, taken, snapshot,
    seeds, gains, largest, control,
):  # fmt: skip
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
    starts, sizes : int64 and int32 arrays
        First member and size of each set.
    sets : int
        How many sets count: those numbered below it.
    entries : int64 array
        set << 32 | element for each member.
    used : int
        Number of members.
    counts : int32 array
        Occurrence counters of the whole collection; unchanged.
    whole : bool
        Whether ``sets`` is the whole collection.
    n, rounds, k, forced
        As in :func:`gpukit.worlds.cover_cpu.greedy`.
    state : uint8 array, shape (n * rounds,)
        FREE, BLOCKED or FORCED.
    wanted : int
        Number of candidates to aim at.
    bounds : bool
        Whether to fill ``largest``.
    work : int32 array, shape (n * rounds,)
    marks, parts : int64 arrays, shape (⌈n * rounds / 32⌉,)
    candidates : int32 array, list_start, list_end : int64 arrays, shape (MAX_CANDIDATES,)
    histogram : int32 array, shape (256 * EPOCHS,)
    inverted : int32 array, shape (used,)
    covered : int32 array, shape (>= sets,)
    taken : int32 array, shape (4, MAX_CANDIDATES)
    snapshot : int32 array, shape (k * rounds + 1, MAX_CANDIDATES)
        Working space; need not be cleared.
    seeds, gains : int64 arrays, shape (k * rounds,)
    largest : int64 array, shape (k * rounds + 1,)
        Results.
    control : int64 array, shape (CONTROL,)
        Zero at the start; ``STATUS`` ends as DONE or INCOMPLETE.
    """
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    tid, block_size, block, blocks = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x, cuda.gridDim.x
    current = cuda.shared.array(MAX_CANDIDATES, int32)
    local = cuda.shared.array(BUCKETS, int32)
    room = cuda.shared.array(BUCKETS, int32)
    best = cuda.shared.array(BLOCK, int64)
    todo_start = cuda.shared.array(BLOCK, int64)
    todo_size = cuda.shared.array(BLOCK, int32)
    shared = cuda.shared.array(4, int64)
    less = cuda.local.array(LOSSES, int32)
    names, places = cuda.local.array(AT_ONCE, int64), cuda.local.array(AT_ONCE, int32)
    elements, words = len(work), len(marks)
    s = thread
    while s < sets:
        covered[s] = 0
        s += threads
    for b in range(thread, BUCKETS * EPOCHS, threads):
        histogram[b] = 0
    for b in range(tid, BUCKETS, block_size):
        room[b] = k
    picks = k * rounds
    step, epoch, status = 0, 0, RUNNING
    bucket = BUCKETS
    while status == RUNNING:
        fresh = whole and epoch == 0
        e = thread
        while e < elements:
            work[e] = counts[e] if fresh else 0
            e += threads
        grid.sync()
        if not fresh:
            i = thread
            while i < used:
                s = entries[i] >> 32
                if s < sets and covered[s] == 0:
                    cuda.atomic.add(work, entries[i] & 0xFFFFFFFF, 1)
                i += threads
            grid.sync()
        for b in range(tid, BUCKETS, block_size):
            local[b] = 0
        cuda.syncthreads()
        e = thread
        while e < elements:
            if work[e] > 0 and state[e] == FREE:
                cuda.atomic.add(local, _bucket(work[e]), 1)
            e += threads
        cuda.syncthreads()
        for b in range(tid, BUCKETS, block_size):
            if local[b] > 0:
                cuda.atomic.add(histogram, epoch * BUCKETS + b, local[b])
        grid.sync()
        for b in range(tid, BUCKETS, block_size):
            local[b] = histogram[epoch * BUCKETS + b]
        cuda.syncthreads()
        if tid == 0:
            lower, reached = BUCKETS, int64(len(forced))
            while lower > 1 and (lower >= bucket or reached < wanted << epoch):
                more = local[lower - 1]
                if reached + more > MAX_CANDIDATES:
                    break
                lower -= 1
                reached += more
            shared[0] = lower
        cuda.syncthreads()
        if shared[0] >= bucket:
            status = INCOMPLETE
            break
        bucket = int(shared[0])
        limit = _bucket_floor(bucket)
        candidates_at = CONTROL_EPOCH + epoch
        part = block
        while part * block_size < words:
            word = part * block_size + tid
            bits, sums = int64(0), int64(0)
            if word < words:
                bits, sums = gather(work, state, limit, word)
                marks[word] = bits
            best[tid] = sums
            add_up(best)
            if tid == block_size - 1:
                parts[part] = best[tid]
            cuda.syncthreads()
            part += blocks
        for c in range(thread, 4 * MAX_CANDIDATES, threads):
            taken[c // MAX_CANDIDATES, c % MAX_CANDIDATES] = 0
        grid.sync()
        part = block
        while part * block_size < words:
            word = part * block_size + tid
            if tid == 0:
                shared[0] = 0
            cuda.syncthreads()
            before = int64(0)
            for other in range(tid, part, block_size):
                before += parts[other]
            cuda.atomic.add(shared, 0, before)
            bits, sums = int64(0), int64(0)
            if word < words and marks[word] > 0:
                bits, sums = gather(work, state, limit, word)
            best[tid] = sums
            add_up(best)
            before = shared[0] + best[tid] - sums
            c, start = before >> PACKED, before & ((1 << PACKED) - 1)
            if bits > 0:
                marks[word] = bits | c << 32
            while bits > 0:
                e = 32 * word + cuda.ffs(int32(bits)) - 1
                candidates[c] = e
                list_start[c] = start
                list_end[c] = start
                start += work[e]
                c += 1
                bits &= bits - 1
            if word == words - 1:
                control[candidates_at] = c
            cuda.syncthreads()
            part += blocks
        grid.sync()
        total = int(control[candidates_at])
        for c in range(tid, total, block_size):
            current[c] = work[candidates[c]]
        at = thread
        while at < used:
            look(entries, at, threads, used, marks, names, places)
            for i in range(AT_ONCE):
                s = names[i] >> 32
                if places[i] >= 0 and s < sets and (epoch == 0 or covered[s] == 0):
                    inverted[uint64(cuda.atomic.add(list_end, uint32(places[i]), 1))] = s
            at += AT_ONCE * threads
        grid.sync()
        epoch_first = step
        while True:
            b = tid
            while b < rounds:
                local[b] = 0
                b += block_size
            cuda.syncthreads()
            row = taken[(step - 1) & 3]
            base = tid
            while base < total:
                for i in range(LOSSES):
                    less[i] = row[min(base + i * block_size, total - 1)]
                for i in range(LOSSES):
                    if base + i * block_size < total:
                        current[base + i * block_size] -= less[i]
                base += LOSSES * block_size
            mine, reaching = int64(0), 0
            c = tid
            while c < total:
                count, free = current[c], True
                if block == 0:
                    taken[(step + 2) & 3, c] = 0
                    if bounds and step >= len(forced):
                        snapshot[step, c] = count
                if rounds > 1:
                    round_ = candidates[c] // n
                    free = room[round_] > 0
                    if count >= limit:
                        cuda.atomic.add(local, round_, 1)
                reaching += count >= limit
                if free:
                    mine = max(mine, int64(count) << 32 | (0xFFFFFFFF - c))
                c += block_size
            best[tid] = mine
            if rounds == 1 and reaching > 0:
                cuda.atomic.add(local, 0, reaching)
            begin, end = int64(0), int64(0)
            if mine > 0:
                c = 0xFFFFFFFF - (mine & 0xFFFFFFFF)
                begin, end = list_start[c], list_end[c]
            cuda.syncthreads()
            left = block_size
            while left > 1:
                quarter = (left + 3) // 4
                for i in range(1, 4):
                    if tid < quarter and tid + i * quarter < left:
                        best[tid] = max(best[tid], best[tid + i * quarter])
                cuda.syncthreads()
                left = quarter
            c = 0xFFFFFFFF - (best[0] & 0xFFFFFFFF)
            enough = step == picks or best[0] >> 32 >= limit
            if bounds and limit > 1:
                for t in range(rounds):
                    enough = enough and local[t] >= k
            if step < len(forced):
                c = int64(number(marks[forced[step] >> 5], forced[step] & 31))
                enough = True
                if tid == 0:
                    shared[BEGIN], shared[END] = list_start[c], list_end[c]
            elif mine == best[0]:
                shared[BEGIN], shared[END] = begin, end
            cuda.syncthreads()
            if not enough:
                break
            if step == picks:
                status = DONE
                break
            if thread == 0:
                seeds[step] = candidates[c]
                gains[step] = current[c]
            if rounds > 1 and tid == 0:
                room[candidates[c] // n] -= 1
            base, end = shared[BEGIN], shared[END]
            while base < end:
                if tid == 0:
                    shared[SMALL] = 0
                    shared[LARGE] = 0
                cuda.syncthreads()
                i = base + int64(tid) * blocks + block
                if i < end:
                    s = inverted[i]
                    before, start, size = covered[s], starts[s], sizes[s]
                    if before == 0:
                        covered[s] = 1
                        if size <= LARGE_SET:
                            place = cuda.atomic.add(shared, SMALL, 1)
                        else:
                            place = block_size - 1 - cuda.atomic.add(shared, LARGE, 1)
                        todo_start[place] = start
                        todo_size[place] = size
                cuda.syncthreads()
                q = tid // 32
                while q < shared[SMALL]:
                    take(entries, todo_start[q], todo_start[q] + todo_size[q], tid % 32, 32, marks, taken[step & 3])
                    q += (block_size + 31) // 32
                q = block_size - shared[LARGE]
                while q < block_size:
                    take(entries, todo_start[q], todo_start[q] + todo_size[q], tid, block_size, marks, taken[step & 3])
                    q += 1
                cuda.syncthreads()
                base += threads
            step += 1
            grid.sync()
        if bounds:
            grid.sync()
            first_row = max(epoch_first, len(forced))
            last_row = step + 1 if status == DONE else step
            for row in range(first_row + cuda.blockIdx.x, last_row, cuda.gridDim.x):
                sum_ = int64(0)
                for t in range(rounds):
                    sum_ += _largest(snapshot, row, candidates, total, n, t, k, local, shared)
                if tid == 0:
                    largest[row] = sum_
        epoch += 1
        if status == RUNNING:
            if limit <= 1 or epoch == EPOCHS:
                status = INCOMPLETE
    if thread == 0:
        control[STATUS] = status


@cuda.jit(cache=True)
def coverage(entries, used, sets, seeds, position, earliest, totals):
    """Count the sets that the first i seeds cover; cooperative, any grid.

    A thread owns members one by one: 8 bytes and the position of the element read, an atomic minimum where it is a
    seed.

    Parameters
    ----------
    entries, used, sets
        As in :func:`greedy`.
    seeds : int64 array
        The sequence.
    position : int32 array, shape (n * rounds,)
        All 2**31 - 1 at the start and at the end.
    earliest : int32 array, shape (>= sets,)
        Working space.
    totals : int64 array, shape (len(seeds) + 1,)
        Zero at the start; ends as the number of sets whose first seed is seeds[i], i < len(seeds).
    """
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    for s in range(thread, sets, threads):
        earliest[s] = len(seeds)
    for i in range(thread, len(seeds), threads):
        position[seeds[i]] = i
    grid.sync()
    for i in range(thread, used, threads):
        place = position[entries[i] & 0xFFFFFFFF]
        if place < len(seeds) and entries[i] >> 32 < sets:
            cuda.atomic.min(earliest, entries[i] >> 32, place)
    grid.sync()
    for s in range(thread, sets, threads):
        if earliest[s] < len(seeds):
            cuda.atomic.add(totals, earliest[s], 1)
    for i in range(thread, len(seeds), threads):
        position[seeds[i]] = 0x7FFFFFFF


_i32, _i64 = numba.int32[::1], numba.int64[::1]
_int = numba.int64

KERNELS = {
    "greedy": (
        greedy,
        (_i64, _i32, _int, _i64, _int, _i32, numba.boolean, _int, _int, _int, _i32, numba.uint8[::1], _int)
        + (numba.boolean, _i32, _i32, _i32, _i64, _i64, _i64, _i64, _i32, _i32)
        + (numba.int32[:, ::1], numba.int32[:, ::1])
        + (_i64, _i64, _i64, _i64),
    ),
    "coverage": (coverage, (_i64, _int, _int, _i64, _i32, _i32, _i64)),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
