"""A greedy choice on a GPU between barriers of its blocks: the steps of :mod:`gpukit.worlds.cover_cuda` for each seed.

Every block keeps the counts of all candidates, and finds the best one for itself. With it the best ones of other warps
are prepared, which probably follow it: what candidates lose by each of them if all before are seeds. As long as they
do, a seed takes no barrier between blocks.
"""

from numba import int32, int64, uint32, uint64

from gpukit.device.kernels import cuda, device
from gpukit.device.select import simulated
from gpukit.worlds.block_cuda import step
from gpukit.worlds.candidates_cuda import AT_ONCE, BUCKETS, CHOSEN, MAX_CANDIDATES, PREPARED, ROWS, find, number_of

BLOCK, WARP = 512, 32

STRIDE = 32 if simulated() else BLOCK
"""Threads of a block: known beforehand, so that places of candidates cost no arithmetic."""

LOSSES = 4 if simulated() else 8
"""Candidates whose losses a thread asks for before it looks at the first."""

CHUNK = LOSSES * STRIDE
"""Candidates that a block takes at a time; up to a multiple of these there are some that nobody can choose."""

WARP_SETS, BLOCK_SETS, MET, READY = 0, 1, 2, 3
"""Places in ``todo``: new sets that warps take, and that the block takes; whether one of these has a seed already; how
many seeds are prepared."""

PLACE = 13
"""Bits of a candidate's place in a key that orders candidates: by value, and among equals the lower one first."""

LISTED = 56
"""Bit of the number of a prepared seed, above the first member of a set that it covers."""

LARGE_SET = 256
"""Members above which a whole block takes a set instead of a warp."""


if simulated():
    LED = 1  # threads for each key: there are no warps

    @device
    def best_of_warp(key):
        """Return the greatest key of a warp's threads, here one."""
        return key

    @device
    def sum_of_warp(value):
        """Return the sum of the values of a warp's threads, here one."""
        return value

    @device
    def any_of_warp(flag):
        """Return whether a flag is set for any thread of the block, which stands for a warp."""
        return cuda.syncthreads_or(flag)

    @device
    def best_of_block(keys, first):
        """Return the greatest of the block's keys."""
        best = int64(0)
        for i in range(cuda.blockDim.x):
            best = max(best, keys[first + i])
        return best

    @device
    def sum_of_block(values, first):
        """Return the sum of the block's values."""
        total = int32(0)
        for i in range(cuda.blockDim.x):
            total += values[first + i]
        return total

else:
    LED = WARP

    @device
    def _best_of_half(key):
        """Return the greatest key of half a warp's threads; all of them."""
        key = max(key, cuda.shfl_xor_sync(0xFFFFFFFF, key, 8))
        key = max(key, cuda.shfl_xor_sync(0xFFFFFFFF, key, 4))
        key = max(key, cuda.shfl_xor_sync(0xFFFFFFFF, key, 2))
        return max(key, cuda.shfl_xor_sync(0xFFFFFFFF, key, 1))

    @device
    def _sum_of_half(value):
        """Return the sum of the values of half a warp's threads; all of them."""
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, 8)
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, 4)
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, 2)
        return value + cuda.shfl_xor_sync(0xFFFFFFFF, value, 1)

    @device
    def best_of_warp(key):
        """Return the greatest key of a warp's threads; all of them."""
        return _best_of_half(max(key, cuda.shfl_xor_sync(0xFFFFFFFF, key, 16)))

    @device
    def sum_of_warp(value):
        """Return the sum of the values of a warp's threads; all of them."""
        return _sum_of_half(value + cuda.shfl_xor_sync(0xFFFFFFFF, value, 16))

    @device
    def any_of_warp(flag):
        """Return whether a flag is set for any of a warp's threads; all of them."""
        return cuda.ballot_sync(0xFFFFFFFF, flag) != 0

    @device
    def best_of_block(keys, first):
        """Return the greatest of the keys of a block's warps; all threads."""
        return _best_of_half(keys[first + cuda.threadIdx.x % (BLOCK // WARP)])

    @device
    def sum_of_block(values, first):
        """Return the sum of the values of a block's warps; all threads."""
        return _sum_of_half(values[first + cuda.threadIdx.x % (BLOCK // WARP)])


@device
def after(turn):
    """Return the first row of ``taken`` of the turn after the one whose first row this is.

    One turn is filled while slow blocks read the one before and the one after is cleared.
    """
    return turn + int32(PREPARED) if turn < ROWS - PREPARED else int32(0)


# Each WARP of candidates is that of a warp of one block, as the others wait for the slowest; with fewer blocks than a
# block has warps, the first one notes all. A thread reads what it wrote itself.
@step
def _note_values(me, work, block, pick, total):
    """Note the values of the candidates before a seed, for the bound."""
    warps = STRIDE // WARP
    writers = me.blocks // warps * warps
    if writers == 0:
        if me.block == 0:
            for c in range(me.tid, total, STRIDE):
                work.snapshot[pick, c] = block.current[c]
    elif me.block < writers and me.tid // WARP == me.block % warps:
        for c in range(me.block * WARP + me.tid % WARP, total, writers * WARP):
            work.snapshot[pick, c] = block.current[c]


# Algorithm 7, line 14, and algorithm 1, line 7. Afterwards the block's counts are those of the sets that the seeds so
# far do not cover. Returns the highest value of a thread's candidates, the first that has it, and how many reach the
# limit. A thread asks for several losses before it looks at one: else each subtraction waits for memory. Places are
# unsigned: of others Numba asks whether they are negative, and to issue that takes longer than to wait.
@step
def _best_of_thread(me, query, work, block, pick, row, limit, total):
    unit, taken, losses = int32(query.unit), work.taken[row], cuda.local.array(LOSSES, int32)
    highest, first, reaching = int32(0), uint64(0), int32(0)
    base = uint64(me.tid)
    while base < uint64(total):
        for i in range(LOSSES):
            losses[i] = taken[base + uint64(i * STRIDE)]
        for i in range(LOSSES):
            c = base + uint64(i * STRIDE)
            value = int32(block.current[c] - int32(unit * losses[i]))
            block.current[c] = value
            reaching += int32(value >= limit)
            if query.rounds == 1 and value > highest:
                highest, first = value, c
        base += uint64(CHUNK)
    if query.rounds > 1:
        for c in range(me.tid, total, STRIDE):
            round_, value = work.candidates[c] // query.n, block.current[c]
            if value >= limit:
                cuda.atomic.add(block.local, round_, 1)
            if block.quota[round_] > 0 and value > highest:
                highest, first = value, uint64(c)
    if query.bounds and pick >= len(query.forced):
        _note_values(me, work, block, pick, total)
    return highest, first, reaching


# Algorithm 1, line 7. The seed is one for certain if no other element can be chosen, or be among the k largest of a
# round. The lists of the best candidates of warps are on their way meanwhile. What a warp writes another one may still
# read of the seed before, hence two halves.
@step
def next_choice(me, query, work, block, pick, row, limit, total):
    """Return the next seed, and whether it is one for certain."""
    tid, forced = me.tid, query.forced
    if query.rounds > 1:
        for t in range(tid, query.rounds, STRIDE):
            block.local[t] = 0
        cuda.syncthreads()
    highest, first, reaching = _best_of_thread(me, query, work, block, pick, row, limit, total)
    begin, end, key = int64(0), int64(0), int64(0)
    if highest > 0:
        begin, end = work.list_start[first], work.list_end[first]
        key = int64(highest) << PLACE | int64(MAX_CANDIDATES - 1) - int64(first)
    best, leader, half = best_of_warp(key), uint32(tid // LED), uint32(pick & 1)
    if key == best and (key > 0 or tid % LED == 0):
        block.sums[half * uint32(BLOCK // 2) + leader] = key
        block.todo_start[leader], block.todo_size[leader] = begin, int32(end - begin)
    asked = query.bounds and limit > 1
    if asked and query.rounds == 1:
        reaching = sum_of_warp(reaching)
        if tid % LED == 0:
            block.local[half * uint32(BUCKETS // 2) + leader] = reaching
    cuda.syncthreads()
    key = best_of_block(block.sums, half * uint32(BLOCK // 2))
    c, value = int32(MAX_CANDIDATES - 1) - int32(key & int64(MAX_CANDIDATES - 1)), int32(key >> PLACE)
    enough = pick == query.k * query.rounds or value >= limit
    if asked:
        if query.rounds == 1:
            enough = enough and sum_of_block(block.local, half * uint32(BUCKETS // 2)) >= query.k
        else:
            for t in range(query.rounds):
                enough = enough and block.local[t] >= query.k
    if pick < len(forced):
        c = int32(number_of(work.marks[forced[pick] >> 5], forced[pick] & 31))
        enough = True
    return c, enough


# These are the next one, and the best candidates of other warps, which probably follow it, in their order. Afterwards
# the block has them and their lists.
@step
def prepare(me, query, work, block, pick, c):
    """Return how many seeds are prepared together."""
    tid, half, leaders = me.tid, uint32(pick & 1) * uint32(BLOCK // 2), STRIDE // LED
    cuda.syncthreads()  # all threads know that those that were prepared before are not the next ones
    if pick < len(query.forced):
        if tid == 0:
            begin, end = work.list_start[c], work.list_end[c]
            block.prepared[0], block.begin[0], block.length[0] = c, begin, int32(end - begin)
            block.todo[READY] = 1
    elif tid < leaders:
        own, before, others = block.sums[half + uint32(tid)], int32(0), int32(0)
        for i in range(leaders):
            key = block.sums[half + uint32(i)]
            before += int32(key > own)
            others += int32(key > 0)
        ready = min(int32(query.ahead), others)
        if before < ready and own > 0:
            block.prepared[uint32(before)] = int32(MAX_CANDIDATES - 1) - int32(own & int64(MAX_CANDIDATES - 1))
            block.begin[uint32(before)] = block.todo_start[uint32(tid)]
            block.length[uint32(before)] = block.todo_size[uint32(tid)]
        if tid == 0:
            block.todo[READY] = ready
    if tid == 0:
        block.todo[WARP_SETS], block.todo[BLOCK_SETS] = 0, 0
    cuda.syncthreads()
    return block.todo[READY]


@device
def _has_seed(places, block, at):
    """Return whether one of some candidates is a seed, or is prepared before another one that is."""
    met = False
    for i in range(AT_ONCE):
        if places[i] >= 0:
            met |= block.current[uint32(places[i])] < 0
            for j in range(at):
                met |= block.prepared[uint32(j)] == places[i]
    return met


# Whether a set in the list of a prepared seed is new shows in its members: it has no seed, and none that is prepared
# before. Afterwards the candidates in a new set are counted in ``taken``. ``stride`` threads, those of a warp or of the
# block, take AT_ONCE members each a turn; where one turn is enough, each member is looked at once.
@step
def _take_out(sets, work, block, start, end, rank, stride, at, taken):
    names, places = cuda.local.array(AT_ONCE, int64), cuda.local.array(AT_ONCE, int32)
    for i in range(AT_ONCE):
        places[i] = -1
    met, place = False, start + rank
    while place < end:
        find(sets.entries, place, stride, end, work.marks, names, places)
        met |= _has_seed(places, block, at)
        place += AT_ONCE * stride
    if stride == WARP:
        met = any_of_warp(met)
    else:
        if met:
            block.todo[MET] = 1
        cuda.syncthreads()
        met = block.todo[MET] > 0
    if not met:
        if end - start > AT_ONCE * stride:
            place = start + rank
        else:
            for i in range(AT_ONCE):
                if places[i] >= 0:
                    cuda.atomic.add(taken, uint32(places[i]), 1)
        while place < end:
            find(sets.entries, place, stride, end, work.marks, names, places)
            for i in range(AT_ONCE):
                if places[i] >= 0:
                    cuda.atomic.add(taken, uint32(places[i]), 1)
            place += AT_ONCE * stride


# Algorithm 7, lines 1 to 18, for the sets of the lists of some prepared seeds, end to end. Afterwards, and after a grid
# barrier, the rows of ``taken`` of this turn have what each candidate loses by each of them if all before are seeds,
# those of the next are clear, and the sets of the first, which is a seed, are noted as covered.
@step
def cover(me, sets, query, work, block, turn, ready, total):
    """Count what candidates lose by the prepared seeds."""
    tid, block_size = me.tid, me.block_size
    todo = block.todo
    next_ = after(turn)
    c = uint32(me.thread)
    while c < total:
        for j in range(query.ahead):
            work.taken[uint32(next_ + j), c] = 0
        c = uint32(c + me.threads)
    base, end = int64(0), int64(0)
    for j in range(ready):
        end += block.length[uint32(j)]
    while base < end:
        i, at = base + int64(tid) * me.blocks + me.block, uint32(0)
        if i < end:
            while i >= block.length[at]:
                i -= block.length[at]
                at = uint32(at + 1)
            s = uint32(work.inverted[uint64(block.begin[at] + i)])
            before, start, size = work.covered[s], sets.starts[s], sets.sizes[s]
            if before == 0:
                if at == 0:
                    work.covered[s] = 1
                if size <= LARGE_SET:
                    place = uint32(cuda.atomic.add(todo, WARP_SETS, 1))
                else:
                    place = uint32(block_size - 1 - cuda.atomic.add(todo, BLOCK_SETS, 1))
                block.todo_start[place] = start | int64(at) << LISTED
                block.todo_size[place] = size
        cuda.syncthreads()
        q = uint32(tid // WARP)
        while q < todo[WARP_SETS]:
            start, at = block.todo_start[q] & (int64(1) << LISTED) - 1, int32(block.todo_start[q] >> LISTED)
            taken = work.taken[uint32(turn + at)]
            _take_out(sets, work, block, start, start + block.todo_size[q], tid % WARP, WARP, at, taken)
            q = uint32(q + STRIDE // WARP)
        q = uint32(block_size - todo[BLOCK_SETS])
        while q < block_size:
            start, at = block.todo_start[q] & (int64(1) << LISTED) - 1, int32(block.todo_start[q] >> LISTED)
            taken = work.taken[uint32(turn + at)]
            cuda.syncthreads()
            if tid == 0:
                todo[MET] = 0
            cuda.syncthreads()
            _take_out(sets, work, block, start, start + block.todo_size[q], tid, block_size, at, taken)
            q = uint32(q + 1)
        cuda.syncthreads()
        if tid == 0:
            todo[WARP_SETS], todo[BLOCK_SETS] = 0, 0
        cuda.syncthreads()
        base += me.threads


# Algorithm 1, lines 8 and 9. Afterwards, and after a barrier, a candidate is a seed, and will not be one again. Of one
# that was prepared after another the sets are noted as covered, each by a block that will note it before it begins
# another epoch; until then their members tell.
@step
def note_choice(me, query, work, block, answer, pick, c, at):
    """Note a seed."""
    if me.tid == c & (STRIDE - 1):  # the thread that has its count
        if me.block == 0:
            answer.seeds[pick] = work.candidates[c]
            answer.gains[pick] = block.current[c]
        block.current[c] -= int32(CHOSEN)
        if query.rounds > 1:
            block.quota[work.candidates[c] // query.n] -= 1
    if at > 0:
        i, begin, length = uint32(me.thread), block.begin[uint32(at)], block.length[uint32(at)]
        while i < length:
            work.covered[uint32(work.inverted[uint64(begin + i)])] = 1
            i = uint32(i + me.threads)
    if query.rounds > 1:
        cuda.syncthreads()
