"""Draws and updates mRR sets in hash tables on a GPU; the sets equal those of ``update_cpu.py`` bit by bit.

Roots are drawn first. Then one search continues from the new roots of all sets at once.
"""

from collections import namedtuple

from numba import int32, int64, uint32, uint64

from gpukit.device.kernels import cuda, device, kernel
from gpukit.device.philox import draw4
from gpukit.device.select import for_kernels, simulated
from gpukit.merit import rule
from gpukit.merit.clocks import first_clock
from gpukit.merit.hashed_cuda import (
    AHEAD,
    EDGES,
    EMPTY,
    FEW,
    HOLE,
    KEY,
    MANY,
    OVERFLOW,
    PROBES,
    QUEUED,
    QUEUES,
    QUEUES_TYPE,
    REMAINING,
    TABLES,
    TABLES_TYPE,
    TAKEN,
    TALLY,
    first_place,
    insert,
    insert_root,
    member_of,
    note,
    wanted_roots,
)  # fmt: skip
from gpukit.merit.rule import SEQUENCE
from gpukit.worlds.rule import CALLS_PER_ROW, biased, word_of
from gpukit.worlds.rule import live_edges as _live_edges
from gpukit.worlds.rule import lt_choice as _lt_choice

BLOCK = 256
"""Threads of a block of :func:`search` and :func:`add_few_roots`."""

REGISTERS = 64
"""Register limit of a thread of these kernels."""

MAX_BLOCK = 1024
"""Most threads of a block of :func:`add_roots`."""

STAGE = 1024
"""Live edges that a block holds at a time; edges beyond these are followed at once."""

STACK = 2 * STAGE
"""Most waiting members of a block; when the stack is more than half full, a part moves to the global queue."""


live_edges = for_kernels(_live_edges)
living_choice = rule.living_choice
if simulated():
    living_choice = rule.make_living_choice(_lt_choice.py_func, first_clock.py_func)


class BlockPlace(namedtuple("BlockPlace", "tid size numbers base stage sets stack")):
    """A thread's place in its block, and the block's arrays in shared memory.

    Attributes
    ----------
    tid, size : int
        Number of the thread, and of threads in the block.
    numbers : int32 array, shape (4,)
        Live edges found and new members, in this step and the next.
    base : int64 array, shape (1,)
        Position in a queue where the block takes or puts members.
    stage : uint32 array, sets : int32 array, shape (STAGE,)
        Live edges and their sets.
    stack : int64 array, shape (STACK,)
        Waiting members, set << 32 | vertex.
    """


@device
def root_of(word, n, key, sample):
    """Return the vertex at a position of a set's root sequence, or -1 if the draw is rejected."""
    product = uint64(word_of(draw4(key.seed, key.root_tag, sample, SEQUENCE, word >> 2), word & 3)) * uint64(n)
    return int64(-1) if biased(product, n) else int64(product >> uint64(32))


@device
def draw_row(v, row, draw, edges, remaining, key, sample, live):
    """Write the live in-edges of one row of a vertex to ``live``, relative to the row's start; return their number."""
    start, degree = edges.rows[row, 0], edges.rows[row, 1]
    hits = 0
    if edges.lt_kind >= 0:
        chosen = living_choice(edges, remaining, int64(degree), int64(start), key, sample, v)
        if chosen >= 0:
            live[0] = uint32(chosen)
            hits = 1
    elif degree > 0:
        words = draw4(key.seed, key.tag, sample, v, draw)
        hits = live_edges(
            degree, edges.rows[row, 2], start, draw, edges.accept, edges.thresholds,
            key.seed, key.tag, sample, v, words, live,
        )  # fmt: skip
    return hits


@device
def _add_probes(probes, found, tally):
    """Sum the probes of a block's threads, then add once: an atomic per thread on one address would be slow."""
    if cuda.threadIdx.x == 0:
        found[0] = 0
    cuda.syncthreads()
    if probes > 0:
        cuda.atomic.add(found, 0, probes)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and found[0] > 0:
        cuda.atomic.add(tally.control, PROBES, found[0])


_int = "int64"


@kernel((REMAINING, KEY, _int, TABLES_TYPE, QUEUES_TYPE, TALLY))
def add_few_roots(remaining, key, first, tables, queues, tally):
    """Draw the missing roots of the sets in the list ``few``; blocks of ``BLOCK`` threads, any grid.

    Algorithm 5, lines 9 to 18. A thread owns a set.
    """
    total = cuda.shared.array(1, int32)
    base = cuda.shared.array(1, int64)
    found = cuda.shared.array(1, int64)
    tid = cuda.threadIdx.x
    capacity = int64(queues.waiting.shape[1])
    probes = int64(0)
    count, pass_ = int64(tally.control[FEW]), int64(cuda.blockIdx.x) * cuda.blockDim.x
    while pass_ < count:
        if tid == 0:
            total[0] = 0
        cuda.syncthreads()
        r, missing, place = int64(0), int64(0), int64(0)
        if pass_ + tid < count:
            r = int64(queues.few[pass_ + tid])
            missing = wanted_roots(r, remaining, key, first) - tables.roots[r]
            place = int64(cuda.atomic.add(total, 0, int32(missing)))
        cuda.syncthreads()
        if tid == 0:
            base[0] = cuda.atomic.add(tally.control, QUEUED, int64(total[0]))
        cuda.syncthreads()
        place += base[0]
        if missing > 0:
            end = place + missing
            tables.roots[r] += missing
            cursor, fresh = tables.cursors[r], int64(0)
            while missing > 0:
                v = root_of(cursor, int64(len(remaining.dead)), key, first + r)
                cursor += 1
                if v >= 0 and remaining.dead[v] == 0:
                    got = insert_root(tables, r, v)
                    if got < 0:
                        break
                    if got > 0:
                        missing -= 1
                    if got == 2:
                        note(r, v, 1, tally)
                        if place < capacity:
                            queues.waiting[0, place] = r << 32 | v
                        place += 1
                        fresh += 1
            tables.cursors[r] = cursor
            tables.sizes[r] += fresh
            probes += fresh
            if missing > 0:
                cuda.atomic.or_(tally.control, OVERFLOW, int64(TABLES))
            if end > capacity:
                cuda.atomic.or_(tally.control, OVERFLOW, int64(QUEUES))
            while place < min(end, capacity):
                queues.waiting[0, place] = HOLE
                place += 1
        cuda.syncthreads()
        pass_ += cuda.gridDim.x * cuda.blockDim.x
    _add_probes(probes, found, tally)


@device
def _empty(r, tables, tally):
    """Remove all members from a set; one block."""
    got = cuda.local.array(AHEAD, int32)
    entries = tables.entries[r * tables.length :]
    last, i, stride = uint32(tables.length - 1), uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
    while i <= last:
        some = int32(EMPTY)
        for j in range(AHEAD):
            got[j] = entries[min(uint32(i + j * stride), last)]
            some &= got[j]
        if some != EMPTY:
            for j in range(AHEAD):
                if got[j] != EMPTY and i + j * stride <= last:
                    entries[i + j * stride] = EMPTY
                    v = member_of(got[j])
                    if v >= 0:
                        note(r, v, -1, tally)
        i = uint32(i + AHEAD * stride)


@kernel((REMAINING, KEY, _int, _int, _int, TABLES_TYPE, QUEUES_TYPE, TALLY), max_registers=REGISTERS)
def add_roots(remaining, key, first, begin, end, tables, queues, tally):
    """Draw the missing roots of the sets begin … end - 1 of the list ``many``; any grid, at most ``MAX_BLOCK`` threads.

    A negative ``end`` stands for the end of the list.

    Algorithm 5, lines 9 to 25, and algorithm 2, lines 6 to 9. A block owns a set; it clears a polluted set first.
    """
    got_roots = cuda.shared.array(1, int32)
    fresh = cuda.shared.array(1, int32)
    base = cuda.shared.array(1, int64)
    out = cuda.shared.array(MAX_BLOCK, int32)
    tid, block_size = int64(cuda.threadIdx.x), int64(cuda.blockDim.x)
    capacity = int64(queues.waiting.shape[1])
    probes = int64(0)
    item, stop = int64(begin) + cuda.blockIdx.x, int64(end) if end >= 0 else int64(tally.control[MANY])
    while item < stop:
        r, afresh = int64(queues.many[item]), False
        if r < 0:
            r, afresh = -1 - r, True
        roots, cursor, size = int64(0), int64(0), int64(0)
        if afresh:
            _empty(r, tables, tally)
            cuda.syncthreads()
        else:
            roots, cursor, size = int64(tables.roots[r]), tables.cursors[r], int64(tables.sizes[r])
        wanted = wanted_roots(r, remaining, key, first)
        missing, full = wanted - roots, 0
        while missing > 0 and full == 0:
            if tid == 0:
                got_roots[0] = 0
                fresh[0] = 0
            full = int32(0)
            cuda.syncthreads()
            # There are at most as many draws as missing roots. Each draw gives at most one root, so none is wasted.
            chunk = min(missing, block_size)
            if tid < chunk:
                v = root_of(cursor + tid, int64(len(remaining.dead)), key, first + r)
                if v >= 0 and remaining.dead[v] == 0:
                    got = insert_root(tables, r, v)
                    if got > 0:
                        cuda.atomic.add(got_roots, 0, 1)
                    if got == 2:
                        out[cuda.atomic.add(fresh, 0, 1)] = v
                        note(r, v, 1, tally)
                    if got < 0:
                        full = int32(1)
            cursor += chunk
            full = cuda.syncthreads_or(full)
            missing -= int64(got_roots[0])
            new = int64(fresh[0])
            if tid == 0:
                base[0] = cuda.atomic.add(tally.control, QUEUED, new)
            cuda.syncthreads()
            if tid < new:
                if base[0] + tid < capacity:
                    queues.waiting[0, base[0] + tid] = r << 32 | int64(out[tid])
                else:
                    cuda.atomic.or_(tally.control, OVERFLOW, int64(QUEUES))
            size += new
            probes += new
            cuda.syncthreads()
        if tid == 0:
            tables.roots[r], tables.cursors[r], tables.sizes[r] = wanted, cursor, size
            if missing > 0:
                cuda.atomic.or_(tally.control, OVERFLOW, int64(TABLES))
        cuda.syncthreads()
        item += cuda.gridDim.x
    if tid == 0 and probes > 0:
        cuda.atomic.add(tally.control, PROBES, probes)


@device
def _is_new(u, r, dead, tables, tally):
    """Add a vertex that reaches a set to it; return whether it is a new member to search from."""
    # Load both values before testing either.
    held = int64(tables.entries[int64(r) * tables.length + first_place(u, r, tables.length)])
    if (dead[u] != 0) | (held == u) | (held == -2 - u):
        return False
    got = insert(tables, r, u)
    if got > 0:
        note(r, u, 1, tally)
        cuda.atomic.add(tables.sizes, r, 1)
    if got < 0:
        cuda.atomic.or_(tally.control, OVERFLOW, int64(TABLES))
    return got > 0


@device
def _push(r, v, queue, queues, tally):
    """Queue a member for the next pass; one thread alone."""
    place = cuda.atomic.add(tally.control, QUEUED + (queue + 1) % 3, int64(1))
    if place < queues.waiting.shape[1]:
        queues.waiting[(queue + 1) & 1, place] = r << 32 | v
    else:
        cuda.atomic.or_(tally.control, OVERFLOW, int64(QUEUES))


@device
def _stage_live_edges(r, v, pass_, half, edges, remaining, key, sample, tables, queues, tally, block, live):
    """Draw the live in-edges of a member of a set and stage them; follow edges that find no room at once, alone.

    Draw the live in-edges of a member of a set and stage them; this thread follows edges without room at once.
    """
    row, draw, made = v, 0, 0
    while True:
        start = edges.rows[row, 0]
        hits = draw_row(v, row, draw, edges, remaining, key, sample, live)
        if hits > 0:
            place = int64(cuda.atomic.add(block.numbers, half, int32(hits)))
            for j in range(hits):
                edge = int64(start) + int64(live[j])
                if place + j < STAGE:
                    block.stage[place + j] = edge
                    block.sets[place + j] = r
                else:
                    u = int64(edges.indices[edge])
                    if _is_new(u, r, remaining.dead, tables, tally):
                        made += 1
                        _push(r, u, pass_, queues, tally)
        row = int64(edges.rows[row, 3])
        if row == 0 or edges.lt_kind >= 0:
            return made
        draw += CALLS_PER_ROW


@device
def _spill(low, high, pass_, queues, tally, block):
    """Move the members low … high - 1 of a block's stack to the queue of the next pass; one block."""
    capacity = int64(queues.waiting.shape[1])
    if block.tid == 0:
        block.base[0] = cuda.atomic.add(tally.control, QUEUED + (pass_ + 1) % 3, high - low)
        if block.base[0] + high - low > capacity:
            cuda.atomic.or_(tally.control, OVERFLOW, int64(QUEUES))
    cuda.syncthreads()
    i = low + block.tid
    while i < high:
        place = block.base[0] + i - low
        if place < capacity:
            queues.waiting[(pass_ + 1) & 1, place] = block.stack[i]
        i += block.size
    cuda.syncthreads()


@kernel((EDGES, REMAINING, KEY, _int, "boolean", TABLES_TYPE, QUEUES_TYPE, TALLY), max_registers=REGISTERS)
def search(edges, remaining, key, first, last, tables, queues, tally):
    """Add all vertices that reach the waiting members to the sets (procedure Probe); cooperative, any block.

    A block searches from the members that it took, of any sets, and from all members that it finds. When it holds fewer
    members than it has threads, it takes more. In a step each thread reads the row of its member and draws live edges.
    Then each takes a live edge, reads its tail (one sector) and inserts the tail into the set (another). Members that
    find no room in the block wait for the next pass. With ``last`` the lists of sets are empty afterwards.
    """
    grid = cuda.cg.this_grid()
    tid, block_size = int64(cuda.threadIdx.x), int64(cuda.blockDim.x)
    numbers = cuda.shared.array(4, int32)
    base = cuda.shared.array(1, int64)
    stage = cuda.shared.array(STAGE, uint32)
    sets = cuda.shared.array(STAGE, int32)
    stack = cuda.shared.array(STACK, int64)
    block = BlockPlace(tid, block_size, numbers, base, stage, sets, stack)
    live = cuda.local.array(64, uint32)
    control, pass_, probes = tally.control, 0, int64(0)
    while True:
        waiting = min(int64(control[QUEUED + pass_ % 3]), int64(queues.waiting.shape[1]))
        if cuda.grid(1) == 0:
            control[QUEUED + (pass_ + 2) % 3] = 0
            control[TAKEN + (pass_ + 2) % 3] = 0
        if waiting == 0:
            # No thread reads these before the next round counts again.
            if cuda.grid(1) == 0 and last:
                for place in range(FEW, QUEUED):
                    control[place] = 0
            break
        if tid < 4:
            numbers[tid] = 0
        held, taken, half = int64(0), int64(0), 0
        while held > 0 or taken < waiting:
            # Each thread takes at most one member: from the top of the stack, then from the queue.
            from_stack = min(held, block_size)
            if held < block_size and taken < waiting:
                if tid == 0:
                    base[0] = cuda.atomic.add(control, TAKEN + pass_ % 3, block_size - held)
                cuda.syncthreads()
                taken = base[0]
            entry = int64(HOLE)
            if tid < from_stack:
                entry = stack[held - 1 - tid]
            elif held < block_size and taken + tid - held < waiting:
                entry = queues.waiting[pass_ & 1, taken + tid - held]
            held -= from_stack
            if entry != HOLE:
                r, v = entry >> 32, entry & 0xFFFFFFFF
                probes += _stage_live_edges(
                    r, v, pass_, half, edges, remaining, key, int64(first) + r, tables, queues, tally, block, live
                )
            cuda.syncthreads()
            if tid < 2:
                numbers[2 - half + tid] = 0
            kids = min(int64(numbers[half]), int64(STAGE))
            j = tid
            while j < kids:
                u, r = int64(edges.indices[stage[j]]), int64(sets[j])
                if _is_new(u, r, remaining.dead, tables, tally):
                    stack[held + cuda.atomic.add(numbers, half + 1, 1)] = r << 32 | u
                    probes += 1
                j += block_size
            cuda.syncthreads()
            held += int64(numbers[half + 1])
            if held > STACK - STAGE:
                _spill((STACK - STAGE) // 2, held, pass_, queues, tally, block)
                held = int64((STACK - STAGE) // 2)
            half = 2 - half
        grid.sync()
        pass_ += 1
    _add_probes(probes, base, tally)
