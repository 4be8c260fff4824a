"""Sampling of LT sets on a GPU: the sets of ``sample_cpu.py``, to the bit, for one round.

Under LT every vertex has one live in-edge at most, so an RR set is a walk, and since the choice of a vertex in a sample
is a function of both, a walk that comes back to a vertex goes round in a circle from there. A thread owns a walk and
needs no set of visited vertices: a stack of the smallest hashes met so far finds the circle within one turn (Nivasch,
"Cycle detection using a stack", IPL 2004), and the walk itself, still at hand, tells by bisection where it begins.
"""

from collections import namedtuple

from numba import int32, int64, uint32, uint64

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.select import for_kernels
from gpukit.device.warp_cuda import warp_barrier
from gpukit.worlds import rule
from gpukit.worlds.block_cuda import MEMBER_TAIL, OVERFLOW, TICKET, id_of
from gpukit.worlds.block_cuda import step as _step
from gpukit.worlds.sample_cuda import OUTPUT, SAMPLES

BLOCK, REGISTERS = 128, 96
"""Threads in a block, and the registers each may take."""

BLOCKS = 5
"""Blocks on a multiprocessor: enough walks at a time to hide the latency of memory, and as many as have room."""

WARP, STEPS = 32, 16
"""Threads of a warp, and the steps it takes before it writes them to its logs; a power of two up to 32."""

WARPS, ROW = BLOCK // WARP, BLOCK + WARP // STEPS
"""Warps in a block, and the places for a step of its threads: neighbours write, and read, in different banks."""

PROBES = 8
"""Places of a walk that a thread asks for at once where it looks for the begin of a circle."""

LEVELS = 24
"""Height of a stack; a walk of t steps needs about ln t."""

SHARED_PART, SHARED_TAKEN = 4, 3
"""The part of the walks that belongs to no block, one in SHARED_PART, so that all end at about the same time, and the
place in ``control`` that counts those taken."""

DEEP = 2
"""``OVERFLOW`` where a stack was too low."""

draw_root, lt_choice = (for_kernels(f) for f in (rule.draw_root, rule.lt_choice))


class WalkTables(namedtuple("WalkTables", "rows walk_steps lt_kind lt_constant lt_prefix roots n")):
    """What walks read of a graph: as :class:`gpukit.worlds.reverse.SamplerTables`, for one round, and ``walk_steps``.

    Attributes
    ----------
    walk_steps : uint64 array, shape (m, 2)
        The in-edges (:func:`link`), at least one.
    """


class Stack(namedtuple("Stack", "hash when")):
    """The smallest hashes that each thread of a block met so far, ascending, and when; shape (LEVELS, BLOCK)."""


class Recent(namedtuple("Recent", "vertex size ticket used")):
    """What the threads of a block met since they wrote their logs last.

    Attributes
    ----------
    vertex : uint32 array, shape (STEPS, ROW)
    size : int32 array, ticket, used : int64 arrays, shape (BLOCK,)
        How many vertices, of which walk, and the place of the first in the log.
    """


_int, _u64, _u32, _words = "int64", "uint64", "uint32[::1]", "uint64[::1]"
_rows, _walk_steps = "uint32[:, ::1]", "uint64[:, ::1]"
TABLES = group(WalkTables, _rows, _walk_steps, _int, _u64, _u32, _words, _int)


@kernel((_rows, "int32[::1]", _walk_steps))
def link(rows, indices, walk_steps):
    """Put the row of its tail beside each in-edge; any grid.

    A thread owns an edge: it reads the tail (4 bytes) and its row (a 32-byte sector), and writes 16 bytes: tail |
    in-degree << 32, and the first of the tail's in-edges. So a step of a walk waits for memory once, not twice.
    """
    for edge in range(cuda.grid(1), len(indices), cuda.gridsize(1)):
        u = int64(indices[edge])
        walk_steps[edge, 0] = uint64(u) | uint64(rows[u, 1]) << uint64(32)
        walk_steps[edge, 1] = uint64(rows[u, 0])


@device
def _circle_entry(log, thread, begin, last, circle):
    """Return where a walk enters its circle: the first of places 0 … last that is visited again a turn later.

    The last place is; whether those before it are, the log tells, a few places at a time.
    """
    low, high = int64(0), last
    while low < high:
        part, before = (high - low) // PROBES + 1, 0
        for j in range(1, PROBES + 1):
            place = low + j * part - 1
            at = begin + min(place, high - 1)
            before += log[thread, at] != log[thread, at + circle] and place < high
        low += part * before
        high = min(low + part - 1, high)
    return low


# The walk is over: its set is what lies before the circle, and one turn. Returns where the log ends now.
@_step
def _end_walk(out, log, thread, ticket, begin, used, circle):
    if ticket >= 0:
        if circle > 0:
            used = begin + circle + _circle_entry(log, thread, begin, used - begin - circle, circle)
        out.sizes[out.set_base + ticket] = int32(used - begin)
    return used


# Each row of the log is written by neighbouring threads, because single writes would cost as much as the reads of a
# walk. Afterwards the logs of a warp have all that its threads met.
@_step
def _append(recent, log, tid, thread):
    warp, lane = tid // WARP, tid % WARP
    i = lane % STEPS
    for j in range(lane // STEPS, WARP, WARP // STEPS):
        owner = warp * WARP + j
        if i < recent.size[owner]:
            found = uint64(recent.ticket[owner]) << uint64(32) | uint64(recent.vertex[i, owner])
            log[thread - tid + owner, recent.used[owner] + i] = found


# Algorithm 6, lines 3 to 7, for all sets of a block. Afterwards each thread knows where its log goes.
@_step
def _place(out, recent, base_of, drawn, tid, block_size, control):
    if tid == 0:
        total = int64(0)
        for i in range(block_size):
            base_of[i] = total
            total += recent.used[i]
        total = int64(out.entry_base) + cuda.atomic.add(control, MEMBER_TAIL, total)
        cuda.atomic.add(control, TICKET, int64(drawn[0]))
        for i in range(block_size):
            base_of[i] += total


# Algorithm 6, lines 9 to 11: a warp copies the log of a thread. Afterwards the sets lie in the entries.
@_step
def _pack(out, recent, base_of, log, tid, block_size, thread):
    for owner in range(tid // WARP, block_size, (block_size + WARP - 1) // WARP):
        row = thread - tid + owner
        for i in range(tid % WARP, recent.used[owner], WARP):
            found = log[row, i]
            s = out.set_base + int64(found >> uint64(32))
            v = int64(found & uint64(0xFFFFFFFF))
            place = base_of[owner] + i
            if i == 0 or log[row, i - 1] >> uint64(32) != found >> uint64(32):
                out.starts[s] = place
            if place < len(out.entries):
                out.entries[place] = s << 32 | v
            cuda.atomic.add(out.counts, v, 1)


# whole: nine values change in every step of the walk, and all would have to travel
@kernel((TABLES, SAMPLES, _walk_steps, OUTPUT, "int64[::1]"), max_registers=REGISTERS)
def walk(tables, samples, log, out, control):
    """Draw RR sets of the LT model and pack them; any grid.

    A block owns consecutive walks, as many as any other, and a thread one of them at a time, the next one that is not
    taken; then threads take those that belong to no block, an atomic add each. A step reads the chosen edge (a 32-byte
    sector), and looks for a circle while that is on its way. After STEPS of them a warp appends what its threads met to
    their rows of ``log``, 8 bytes each. In the end a block takes a place for all its members at once, and a warp copies
    the log of a thread: 8 bytes read and written, one atomic add for the occurrence counter.

    Parameters
    ----------
    tables : WalkTables
    samples : gpukit.worlds.reverse.Samples
    log : uint64 array, shape (threads, c)
        Working space: set << 32 | vertex. A thread whose log is half full starts no further walk.
    out, control
        As in :func:`gpukit.worlds.sample_cuda.sample`. ``TICKET`` ends below ``count`` where the logs were too small
        for all walks, ``OVERFLOW`` is set where one was too small for a walk, and is DEEP where a stack was.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    thread = cuda.grid(1)
    capacity = log.shape[1]
    # A line for each array: the simulator tells shared arrays apart by the line that makes them.
    stack = Stack(
        cuda.shared.array((LEVELS, BLOCK), uint32),
        cuda.shared.array((LEVELS, BLOCK), int32),
    )
    taken = cuda.shared.array(1, int32)
    drawn = cuda.shared.array(1, int32)
    walking = cuda.shared.array(WARPS, int32)
    recent = Recent(
        cuda.shared.array((STEPS, ROW), uint32),
        cuda.shared.array(BLOCK, int32),
        cuda.shared.array(BLOCK, int64),
        cuda.shared.array(BLOCK, int64),
    )
    base_of = cuda.shared.array(BLOCK, int64)
    owned = int64(samples.size) - int64(samples.size) // SHARED_PART
    low = owned * cuda.blockIdx.x // cuda.gridDim.x
    part = owned * (cuda.blockIdx.x + 1) // cuda.gridDim.x - low
    warp, lane = tid // WARP, tid % WARP
    if tid == 0:
        taken[0] = 0
        drawn[0] = 0
    if lane == 0:
        walking[warp] = WARP
    cuda.syncthreads()
    used, begin, depth, circle = int64(0), int64(0), 0, int64(0)
    ticket, v, start, degree, going = int64(-1), int64(0), int64(0), int64(0), False
    sample_id = int64(0)
    ready, more = True, True
    while more:
        if ready and not going:
            used = _end_walk(out, log, thread, ticket, begin, used, circle)
            ready = 2 * used <= capacity
            if ready:
                ticket = int64(cuda.atomic.add(taken, 0, 1))
                ticket = low + ticket if ticket < part else owned + cuda.atomic.add(control, SHARED_TAKEN, 1)
                ready = ticket < samples.size
            if ready:
                cuda.atomic.add(drawn, 0, 1)
                begin, depth, circle, going = used, 0, int64(0), True
                sample_id = int64(id_of(samples, ticket))
                v = int64(draw_root(tables.n, tables.roots, samples.seed, samples.root_tag, sample_id))
                start, degree = int64(tables.rows[v, 0]), int64(tables.rows[v, 1])
            else:
                cuda.atomic.sub(walking, warp, 1)
        # Section 3.7: the one live in-edge of each vertex, until there is none, or a vertex comes again.
        step = 0
        while step < STEPS and going:
            chosen = lt_choice(
                tables.lt_kind, degree, start, tables.lt_constant, tables.lt_prefix,
                samples.seed, samples.tag, sample_id, v, 0,
            )  # fmt: skip
            going = chosen >= 0
            edge = start + chosen if going else int64(0)
            tail, onward = tables.walk_steps[edge, 0], tables.walk_steps[edge, 1]
            mixed = uint32(uint64(v) * uint64(0x9E3779B1))
            while depth > 0 and stack.hash[depth - 1, tid] > mixed:
                depth -= 1
            if depth > 0 and stack.hash[depth - 1, tid] == mixed:
                circle = used + step - begin - int64(stack.when[depth - 1, tid])
                going = False
            elif depth == LEVELS or used + step == capacity:
                control[OVERFLOW] = DEEP if depth == LEVELS else 1
                going = False
            else:
                stack.hash[depth, tid] = mixed
                stack.when[depth, tid] = int32(used + step - begin)
                depth += 1
                recent.vertex[step, tid] = uint32(v)
                step += 1
            v, degree, start = int64(tail & uint64(0xFFFFFFFF)), int64(tail >> uint64(32)), int64(onward)
        recent.size[tid], recent.ticket[tid], recent.used[tid] = step, ticket, used
        used += step
        warp_barrier()
        more = walking[warp] > 0
        _append(recent, log, tid, thread)
        warp_barrier()
    recent.used[tid] = used
    cuda.syncthreads()
    _place(out, recent, base_of, drawn, tid, block_size, control)
    cuda.syncthreads()
    _pack(out, recent, base_of, log, tid, block_size, thread)
