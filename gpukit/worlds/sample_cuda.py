"""Sampling of RR sets on a GPU: the same sets as ``sample_cpu.py``, bit for bit.

A block advances many sets at once. Their frontier is one queue of (set, element) pairs in the block's own part of
global memory. In each iteration the block takes as many pairs as it has threads, whatever sets they belong to. It
starts new sets when the queue runs low. So all threads stay busy although set sizes differ by five orders of magnitude.
A hash table of pairs, one per block, records which elements a set already has. Blocks share only the ticket counter for
the next set.
"""

from numba import int32, int64, uint32, uint64

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.philox import draw4
from gpukit.device.select import for_kernels
from gpukit.device.warp_cuda import any_goes_on, warp_fence
from gpukit.worlds import rule
from gpukit.worlds.block_cuda import (
    AHEAD,
    BASE,
    COUNTERS,
    FULL,
    FULLEST,
    GOT,
    LAST,
    LEFT,
    LONG,
    MARGIN,
    MEMBER_TAIL,
    NO_PAIR,
    OFFSET,
    OVERFLOW,
    RECENT,
    REGISTERS,
    ROWS_ALONE,
    SIZE,
    STAGE,
    STAGED,
    TICKET,
    UNRANKED,
    USED,
    VISITED,
    WARP,
    BlockMemory,
    BlockPlace,
    Output,
    Stage,
    id_of,
    insert,
    is_over,
    note_member,
    step,
)
from gpukit.worlds.reverse import SamplerTables, Samples
from gpukit.worlds.rule import CALLS_PER_ROW
from gpukit.worlds.tables import MAX_LIVE

draw_root, is_kept, live_edges, lt_choice = (
    for_kernels(f) for f in (rule.draw_root, rule.is_kept, rule.live_edges, rule.lt_choice)
)


_int, _u64, _u32, _i32, _i64 = "int64", "uint64", "uint32[::1]", "int32[::1]", "int64[::1]"
_words, _square = "uint64[::1]", "int32[:, ::1]"
TABLES = group(SamplerTables, "uint32[:, ::1]", _i32, _u32, _words, _int, _u64, _u32, _words, _int, _int)
SAMPLES = group(Samples, _u64, _int, _int, _int, _int, _i64, "uint8[::1]", _int, _int, _int)
SPACE = group(BlockMemory, _words, _words, _square, _i32)
OUTPUT = group(Output, _i32, _i64, _int, _i64, _int, _i32)


@kernel((TABLES, SAMPLES, "uint8[::1]"))
def keep(tables, samples, flags):
    """Mark the sets that are not trivial; any grid.

    A thread owns a sample id. It draws the root and the coins of its first row, reads the row (16 bytes) and a
    threshold, and writes one byte.

    Parameters
    ----------
    tables : gpukit.worlds.reverse.SamplerTables
    samples : gpukit.worlds.reverse.Samples
    flags : uint8 array, shape (size,)
        1 where an in-edge of the root is live, else 0.
    """
    live = cuda.local.array(MAX_LIVE, uint32)
    for i in range(cuda.grid(1), samples.size, cuda.gridsize(1)):
        sample_id = samples.first + i
        root = int64(draw_root(tables.n, tables.roots, samples.seed, samples.root_tag, sample_id))
        words = draw4(samples.seed, samples.tag, sample_id, root, 0)
        flags[i] = 1 if is_kept(tables, samples, sample_id, root, words, live) else 0


@device
def _try(tables, samples, space, block, edge, owner, shift, shared):
    """Return the key of a live edge's tail, and the result of inserting it: 1 absent, 0 present, -1 table full.

    Algorithm 3, lines 19 to 21, with the root marked visited and an atomic test-and-set. Both values are 0 if the set
    has ended.
    """
    if is_over(samples, space, owner):
        return uint64(0), 0
    key = uint64(owner) << uint64(32) | uint64(int64(tables.indices[uint64(edge)]) + shift + 1)
    return key, insert(space.table, block.table_base, shared[SIZE], key)


@device
def _add(samples, space, out, block, stage, key, absent, shared):
    """Add a pair to its set and to the queue if it was absent; set ``FULL`` if the table had no slot for it."""
    if absent > 0:
        owner, rank = int64(key >> uint64(32)), int32(UNRANKED)
        if len(samples.marks) > 0:
            rank = cuda.atomic.add(out.sizes, out.set_base + owner, 1)
        place = cuda.atomic.add(shared, USED, 1)
        stage.recent[uint32(place & (RECENT - 1))] = key
        if place < block.capacity:
            space.queue[uint64(block.queue_base + place)] = key
            space.ranks[uint32(cuda.blockIdx.x), uint32(place)] = rank
        note_member(samples, space, owner, int64(key & uint64(0xFFFFFFFF)) - 1, rank + 1)
    elif absent < 0:
        shared[FULL] = 1


@step
def _rebuild(space, block, used, size):
    """Resize the table; after it and a barrier, the table has ``size`` slots and holds all pairs the block found."""
    for i in range(block.tid, size, block.block_size):
        space.table[block.table_base + i] = uint64(0)
    cuda.syncthreads()
    for i in range(block.tid, used, block.block_size):
        insert(space.table, block.table_base, size, space.queue[block.queue_base + i])


@step
def _grow(space, block, shared, used, size, full):
    """Grow the table if there is room; return its number of slots.

    If an insertion found no slot (``full``), the table gets the largest size. The caller then repeats the iteration; it
    does not find again the pairs that were inserted.
    """
    slots = int32(len(space.table) // cuda.gridDim.x)
    larger = slots if full else min(slots, int32(4 * size))
    if larger > size:
        if block.tid == 0:
            shared[SIZE] = larger
        _rebuild(space, block, min(used, int32(block.capacity)), larger)
        cuda.syncthreads()
    return larger


@step
def _start_sets(tables, samples, space, out, block, stage, ticket, got, used, shared):
    """Start a group of sets; afterwards their roots, once per round, are in the queue (algorithm 3, lines 1 to 7)."""
    for i in range(block.tid, got, block.block_size):
        root = int64(draw_root(tables.n, tables.roots, samples.seed, samples.root_tag, id_of(samples, ticket + i)))
        out.sizes[out.set_base + ticket + i] = tables.rounds
        note_member(samples, space, ticket + i, root, 1)
        for t in range(tables.rounds):
            place = used + int64(i) * tables.rounds + t
            key = uint64(ticket + i) << uint64(32) | uint64(root + int64(t) * tables.n + 1)
            stage.recent[place & (RECENT - 1)] = key
            if place < block.capacity:
                space.queue[block.queue_base + place] = key
                space.ranks[cuda.blockIdx.x, place] = t
            if insert(space.table, block.table_base, shared[SIZE], key) < 0:
                shared[FULL] = 1


@step
def _take(tables, samples, space, block, recent, head, used, shared):
    """Return a thread's pair, the number of the first row to draw of it, and the number of rows.

    ``recent`` is the thread's pair if at most RECENT pairs wait; it was read before any pair is added. While the queue
    holds pairs, a thread gets the first rows of one of them. Once the queue is empty, each thread gets one row of the
    pair that was put back last. That pair is removed if these were its last rows or if its set has ended. All rows of a
    vertex except the first are contiguous.
    """
    key, first, rows = uint64(0), int64(0), int64(0)
    if head < used:
        if block.tid < used - head:
            key, rows = recent, int64(ROWS_ALONE)
            if used - head > RECENT:
                key = space.queue[uint64(block.queue_base + head + block.tid)]
    else:
        place = block.queue_base + block.capacity - 2 * int64(shared[LONG])
        key, begin = space.queue[place], int64(space.queue[place + 1])
        over = is_over(samples, space, int64(key >> uint64(32)))
        if block.tid == 0:
            shared[LAST] = block.block_size
        cuda.syncthreads()
        first = begin + block.tid
        v = (int64(key & uint64(0xFFFFFFFF)) - 1) % tables.n
        row = int64(tables.rows[v, 3]) + first - 1
        if row < len(tables.rows) and tables.rows[row, 3] == 0:
            cuda.atomic.min(shared, LAST, int32(block.tid))
        cuda.syncthreads()
        last = shared[LAST]
        rows = int64(block.tid <= last and not over)
        if block.tid == 0:
            space.queue[place + 1] = uint64(begin + block.block_size)
            shared[LONG] -= int32(over or last < block.block_size)
    return key, first, rows


@step
def _expand(tables, samples, space, out, block, stage, live, key, first, rows, shared):
    """Draw rows of a pair; afterwards their live in-edges are in the stage.

    Algorithm 3, lines 15 to 19 (section 3.7 under LT), without a draw for each dead edge. Live edges that do not fit
    into the stage are followed immediately. A pair of the queue is put back if it has rows left. The threads of a warp
    iterate as often as the one with most rows.
    """
    owner = int64(key >> uint64(32))
    if rows > 0 and is_over(samples, space, owner):
        rows = int64(0)
    drawn = rows > 0
    element = int64(key & uint64(0xFFFFFFFF)) - 1
    t = 0 if tables.rounds == 1 else element // tables.n
    shift = int64(t) * tables.n
    v = element - shift
    row = v if first == 0 else int64(tables.rows[v, 3]) + first - 1
    draw, round_tag = first * CALLS_PER_ROW, samples.tag + (t << 8)
    sample_id = id_of(samples, owner)
    while any_goes_on(rows > 0):
        start, found = uint32(0), 0
        if rows > 0:
            start, length, meta, following = (
                tables.rows[uint64(row), 0], tables.rows[uint64(row), 1], tables.rows[uint64(row), 2],
                int64(tables.rows[uint64(row), 3]),
            )  # fmt: skip
            if tables.lt_kind >= 0:
                chosen = lt_choice(
                    tables.lt_kind, int64(length), int64(start), tables.lt_constant, tables.lt_prefix,
                    samples.seed, round_tag, sample_id, v, 0,
                )  # fmt: skip
                if chosen >= 0:
                    live[0] = uint32(chosen)
                    found = 1
            else:
                words = draw4(samples.seed, round_tag, sample_id, v, draw)  # overlaps the load of the row
                if length > 0:
                    found = live_edges(
                        length, meta, start, draw, tables.accept, tables.thresholds,
                        samples.seed, round_tag, sample_id, v, words, live,
                    )  # fmt: skip
            row, draw = following, draw + CALLS_PER_ROW
            rows = rows - 1 if following > 0 else int64(0)
        warp_fence()
        if found > 0:
            place = cuda.atomic.add(shared, STAGED, int32(found))
            for j in range(found):
                edge, at = int64(start) + int64(live[j]), uint32(place + j)
                if at < STAGE:
                    stage.edge[at] = edge
                    stage.owner[at] = owner
                    stage.shift[at] = shift
                else:
                    pair, absent = _try(tables, samples, space, block, edge, owner, shift, shared)
                    _add(samples, space, out, block, stage, pair, absent, shared)
    if drawn and first == 0 and row > 0:
        place = block.capacity - 2 * (cuda.atomic.add(shared, LONG, 1) + 1)
        if place >= 0:
            space.queue[block.queue_base + place] = key
            space.queue[block.queue_base + place + 1] = uint64(ROWS_ALONE)


@step
def _follow_staged(tables, samples, space, out, block, stage, shared):
    """Follow the live edges in the stage; the threads of a warp iterate as often as its first thread."""
    j, staged = int32(block.tid), int32(min(shared[STAGED], STAGE))
    first = int32(j - j % WARP)
    while first < staged:
        key, absent = uint64(0), 0
        if j < staged:
            at = uint32(j)
            edge, owner, shift = int64(stage.edge[at]), int64(stage.owner[at]), int64(stage.shift[at])
            key, absent = _try(tables, samples, space, block, edge, owner, shift, shared)
        warp_fence()
        _add(samples, space, out, block, stage, key, absent, shared)
        j, first = int32(j + block.block_size), int32(first + block.block_size)


@step
def _drop(samples, space, out, block, used, control, shared):
    """Drop the members of sets that ended early.

    Afterwards these sets have the size of what is left, 1 for a representative or 0. ``LEFT`` counts the members left
    in all sets of the block.
    """
    if block.tid == 0:
        shared[LEFT] = 0
        cuda.atomic.add(control, VISITED, used)
    cuda.syncthreads()
    represented = int64(samples.representative >= 0)
    left = int64(0)
    for i in range(block.tid, used, block.block_size):
        owner = int64(space.queue[block.queue_base + i] >> uint64(32))
        if not is_over(samples, space, owner):
            left += 1
        elif space.ranks[cuda.blockIdx.x, i] == 0:
            out.sizes[out.set_base + owner] = represented
            left += represented
    cuda.atomic.add(shared, LEFT, int32(left))
    cuda.syncthreads()


@step
def _look_ahead(space, block, i, used, keys, ranks):
    """Load AHEAD pairs and their ranks, from pair ``i`` on; those beyond the last are NO_PAIR.

    The loads are issued together, so a thread waits for memory once, not once per pair.
    """
    for j in range(AHEAD):
        at = i + j * block.block_size
        keys[j], ranks[j] = uint64(0), int32(NO_PAIR)
        if at < used:
            keys[j] = space.queue[uint64(block.queue_base + at)]
            ranks[j] = space.ranks[uint32(cuda.blockIdx.x), uint32(at)]


@step
def _rank(space, out, block, used, keys, ranks):
    """Rank the members; after it and a barrier, each member has its rank and each set its size.

    Counting members as they are found would add a wait to each step of a search.
    """
    for i in range(block.tid, used, AHEAD * block.block_size):
        _look_ahead(space, block, i, used, keys, ranks)
        for j in range(AHEAD):
            if ranks[j] == UNRANKED:
                ranks[j] = cuda.atomic.add(out.sizes, out.set_base + int64(keys[j] >> uint64(32)), 1)
        for j in range(AHEAD):
            if ranks[j] != NO_PAIR:
                space.ranks[uint32(cuda.blockIdx.x), uint32(i + j * block.block_size)] = ranks[j]


@step
def _pack(samples, space, out, block, used, control, shared, wide):
    """Pack all sets of the block (algorithm 6, lines 3 to 11); afterwards each is contiguous in the entries."""
    keys, ranks = cuda.local.array(AHEAD, uint64), cuda.local.array(AHEAD, int32)
    places = cuda.local.array(AHEAD, int64)
    if len(samples.marks) > 0:
        _drop(samples, space, out, block, used, control, shared)
    else:
        _rank(space, out, block, used, keys, ranks)
    if block.tid == 0:
        shared[OFFSET] = 0
        members = int64(shared[LEFT]) if len(samples.marks) > 0 else used
        wide[BASE] = int64(out.entry_base) + cuda.atomic.add(control, MEMBER_TAIL, members)
    cuda.syncthreads()
    for i in range(block.tid, used, AHEAD * block.block_size):
        _look_ahead(space, block, i, used, keys, ranks)
        for j in range(AHEAD):
            places[j] = out.set_base + int64(keys[j] >> uint64(32))
            ranks[j] = out.sizes[places[j]] if ranks[j] == 0 else int32(NO_PAIR)
        for j in range(AHEAD):
            if ranks[j] != NO_PAIR:
                out.starts[places[j]] = wide[BASE] + cuda.atomic.add(shared, OFFSET, ranks[j])
    cuda.syncthreads()
    for i in range(block.tid, used, AHEAD * block.block_size):
        _look_ahead(space, block, i, used, keys, ranks)
        for j in range(AHEAD):
            places[j] = out.starts[out.set_base + int64(keys[j] >> uint64(32))] if ranks[j] != NO_PAIR else int64(0)
        for j in range(AHEAD):
            owner, element = int64(keys[j] >> uint64(32)), int64(keys[j] & uint64(0xFFFFFFFF)) - 1
            if ranks[j] != NO_PAIR and is_over(samples, space, owner):
                element = int64(samples.representative)
                ranks[j] = ranks[j] if ranks[j] == 0 and element >= 0 else int32(NO_PAIR)
            if ranks[j] != NO_PAIR:
                place = places[j] + ranks[j]
                if 0 <= place < len(out.entries):
                    out.entries[place] = (out.set_base + owner) << 32 | element
                cuda.atomic.add(out.counts, element, 1)


@kernel((TABLES, SAMPLES, _int, _int, SPACE, OUTPUT, _i64), max_registers=REGISTERS)
def sample(tables, samples, group, begin, space, out, control):
    """Draw RR sets and pack them; any grid, blocks of whole warps, 256 threads at most.

    A thread owns one pair of the queue at a time. It reads the vertex's row (16 bytes) and a few thresholds and writes
    the live edges to shared memory. Of a hub it draws only the first rows. The remaining rows wait until the queue is
    empty, because the set may end before. Then each thread owns one of these rows.

    Next, a thread owns one live edge. It reads the tail (one 32-byte sector) and does one 64-bit compare-and-swap in
    the block's table. For a new element it does an atomic add on the size of the set; the result is the element's rank.
    Where sets may end early, a new element costs another byte and, if it is marked, an atomic operation on the set.

    When its sets are complete, the block reserves space for all their members at once and writes each: 12 bytes read, 8
    written, one atomic add for the occurrence counter.

    Parameters
    ----------
    tables : gpukit.worlds.reverse.SamplerTables
    samples : gpukit.worlds.reverse.Samples
    group : int
        Sets a block starts at a time.
    begin : int
        Initial number of slots of a block's table, a power of two.
    space : BlockMemory
    out : Output
    control : int64 array, shape (CONTROL,)
        Zero at the start. ``MEMBER_TAIL`` ends as the number of members. ``OVERFLOW`` is set if a queue or table was
        too small; entries and counters are then invalid.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    capacity = space.ranks.shape[1]
    queue_base = int64(cuda.blockIdx.x) * capacity
    slots = len(space.table) // cuda.gridDim.x
    table_base, size = int64(cuda.blockIdx.x) * slots, int32(min(int64(slots), int64(begin)))
    block = BlockPlace(tid, block_size, queue_base, capacity, table_base)
    # One line per array: the simulator tells shared arrays apart by the line that creates them.
    shared = cuda.shared.array(COUNTERS, int32)
    wide = cuda.shared.array(2, int64)
    stage = Stage(
        cuda.shared.array(STAGE, uint32),
        cuda.shared.array(STAGE, int32),
        cuda.shared.array(STAGE, int32),
        cuda.shared.array(RECENT, uint64),
    )
    live = cuda.local.array(MAX_LIVE, uint32)
    if tid < COUNTERS:
        shared[tid] = 0
    head, used, long, exhausted, full = int32(0), int32(0), int32(0), False, False
    _rebuild(space, block, used, size)
    if tid == 0:
        shared[SIZE] = size
    # Without a limit, the blocks that start first would take nearly all sets, and run out of memory for them.
    share = int32(2 * (samples.size // cuda.gridDim.x) + group)
    while True:
        if full or FULLEST * (used + MARGIN) > size:
            larger = _grow(space, block, shared, used, size, full)
            full, size = full and larger == size, larger
        if not exhausted and long == 0 and used - head < block_size:
            if tid == 0:
                wide[GOT] = cuda.atomic.add(control, TICKET, group)
            cuda.syncthreads()
            ticket = wide[GOT]
            got = min(int64(group), int64(samples.size) - ticket)
            share = int32(share - group)
            exhausted = got < group or share <= 0
            _start_sets(tables, samples, space, out, block, stage, ticket, got, used, shared)
            used = int32(used + max(got, 0) * tables.rounds)
            cuda.syncthreads()
        recent = stage.recent[uint32(head + tid & (RECENT - 1))] if tid < used - head else uint64(0)
        if tid == 0:
            shared[USED] = used
            shared[STAGED] = 0
        cuda.syncthreads()
        if used + 2 * long > capacity or full:
            if tid == 0:
                control[OVERFLOW] = 1
            return
        if exhausted and head == used and long == 0:
            break
        key, first, rows = _take(tables, samples, space, block, recent, head, used, shared)
        _expand(tables, samples, space, out, block, stage, live, key, first, rows, shared)
        cuda.syncthreads()
        _follow_staged(tables, samples, space, out, block, stage, shared)
        cuda.syncthreads()
        # Only here: while edges are followed, a thread may set the flag before another thread reads it.
        found, left, full = shared[USED], shared[LONG], shared[FULL] > 0
        cuda.syncthreads()
        if full and size < len(space.table) // cuda.gridDim.x:
            if tid == 0:
                shared[LONG], shared[FULL] = long, 0
                if head == used:
                    space.queue[queue_base + capacity - 2 * long + 1] = uint64(first)
        else:
            head, long = int32(min(head + block_size, used)), left
        used = found
    cuda.syncthreads()
    _pack(samples, space, out, block, used, control, shared, wide)
