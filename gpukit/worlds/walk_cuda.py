"""Sampling of LT sets on a GPU: the same sets as ``sample_cpu.py``, bit for bit, for one round.

Under LT every vertex has at most one live in-edge, so an RR set is a walk. The choice at a vertex is a function of
vertex and sample. So a walk that returns to a vertex repeats the same cycle from there. A thread owns a walk and needs
no set of visited vertices. A stack of the smallest hashes so far detects the cycle within one period (Nivasch, "Cycle
detection using a stack", IPL 2004). Bisection over the logged walk then finds where the cycle begins.
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
"""Threads in a block, and the most registers per thread."""

BLOCKS = 5
"""Blocks on a multiprocessor: enough concurrent walks to hide the latency of memory, and as many as fit."""

WARP, STEPS = 32, 16
"""Threads of a warp, and the steps it takes before it writes them to its logs; a power of two up to 32."""

WARPS, ROW = BLOCK // WARP, BLOCK + WARP // STEPS
"""Warps in a block, and the row length of the step buffer: neighbouring threads write, and read, different banks."""

PROBES = 8
"""Places of a walk that a thread loads at once when it searches for the start of a cycle."""

LEVELS = 24
"""Height of a stack; a walk of t steps needs about ln t."""

SHARED_PART, SHARED_TAKEN = 4, 3
"""One walk in SHARED_PART belongs to no block, so that all blocks end at about the same time. SHARED_TAKEN is the place
in ``control`` that counts the walks taken from these."""

DEEP = 2
"""Value of ``OVERFLOW`` if a stack was too low."""

draw_root, lt_choice = (for_kernels(f) for f in (rule.draw_root, rule.lt_choice))


class WalkTables(namedtuple("WalkTables", "rows walk_steps lt_kind lt_constant lt_prefix roots n")):
    """Graph arrays for walks: as :class:`gpukit.worlds.reverse.SamplerTables`, for one round, and ``walk_steps``.

    Attributes
    ----------
    walk_steps : uint64 array, shape (m, 2)
        The in-edges (:func:`link`), at least one.
    """


class Stack(namedtuple("Stack", "hash when")):
    """The smallest hashes so far of each thread of a block, ascending, and their steps; shape (LEVELS, BLOCK)."""


class Recent(namedtuple("Recent", "vertex size ticket used")):
    """Steps of a block's threads since they last wrote their logs.

    Attributes
    ----------
    vertex : uint32 array, shape (STEPS, ROW)
    size : int32 array, ticket, used : int64 arrays, shape (BLOCK,)
        Number of vertices, the walk they belong to, and the place of the first in the log.
    """


_int, _u64, _u32, _words = "int64", "uint64", "uint32[::1]", "uint64[::1]"
_rows, _walk_steps = "uint32[:, ::1]", "uint64[:, ::1]"
TABLES = group(WalkTables, _rows, _walk_steps, _int, _u64, _u32, _words, _int)


@kernel((_rows, "int32[::1]", _walk_steps))
def link(rows, indices, walk_steps):
    """Store the row of its tail with each in-edge; any grid.

    A thread owns an edge. It reads the tail (4 bytes) and the tail's row (a 32-byte sector), and writes 16 bytes: tail
    | in-degree << 32, and the tail's first in-edge. So a step of a walk waits for memory once, not twice.
    """
    for edge in range(cuda.grid(1), len(indices), cuda.gridsize(1)):
        u = int64(indices[edge])
        walk_steps[edge, 0] = uint64(u) | uint64(rows[u, 1]) << uint64(32)
        walk_steps[edge, 1] = uint64(rows[u, 0])


@device
def _circle_entry(log, thread, begin, last, circle):
    """Return where a walk enters its cycle: the first of places 0 … last whose vertex appears again one period later.

    This is known to hold for the last place. For the places before, the log is searched, PROBES places at a time.
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


@_step
def _end_walk(out, log, thread, ticket, begin, used, circle):
    """End a walk; its set is the part before the cycle plus one period. Return where the log ends now."""
    if ticket >= 0:
        if circle > 0:
            used = begin + circle + _circle_entry(log, thread, begin, used - begin - circle, circle)
        out.sizes[out.set_base + ticket] = int32(used - begin)
    return used


@_step
def _append(recent, log, tid, thread):
    """Append the buffered steps; afterwards the logs of a warp hold all vertices its threads met.

    Neighbouring threads write each row of the log together. Single writes would cost as much as the reads of a walk.
    """
    warp, lane = tid // WARP, tid % WARP
    i = lane % STEPS
    for j in range(lane // STEPS, WARP, WARP // STEPS):
        owner = warp * WARP + j
        if i < recent.size[owner]:
            found = uint64(recent.ticket[owner]) << uint64(32) | uint64(recent.vertex[i, owner])
            log[thread - tid + owner, recent.used[owner] + i] = found


@_step
def _place(out, recent, base_of, drawn, tid, block_size, control):
    """Reserve space for all sets of a block (algorithm 6, lines 3 to 7).

    Afterwards ``base_of`` says where the log of each thread goes.
    """
    if tid == 0:
        total = int64(0)
        for i in range(block_size):
            base_of[i] = total
            total += recent.used[i]
        total = int64(out.entry_base) + cuda.atomic.add(control, MEMBER_TAIL, total)
        cuda.atomic.add(control, TICKET, int64(drawn[0]))
        for i in range(block_size):
            base_of[i] += total


@_step
def _pack(out, recent, base_of, log, tid, block_size, thread):
    """Copy the logs, a warp per log (algorithm 6, lines 9 to 11); afterwards the sets are in the entries."""
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


# whole: nine values change in every step of the walk, and would all have to be passed around
@kernel((TABLES, SAMPLES, _walk_steps, OUTPUT, "int64[::1]"), max_registers=REGISTERS)
def walk(tables, samples, log, out, control):
    """Draw RR sets of the LT model and pack them; any grid.

    A block owns an equal share of consecutive walks. A thread owns one of them at a time: the next one not yet taken.
    Once the share is used up, threads take walks that belong to no block, one atomic add each.

    A step reads the chosen edge (a 32-byte sector), and checks for a cycle during that load. After STEPS steps a warp
    appends the vertices that its threads met to their rows of ``log``, 8 bytes each. At the end a block reserves space
    for all its members at once, and a warp copies the log of a thread: 8 bytes read and written, one atomic add for the
    occurrence counter.

    Parameters
    ----------
    tables : WalkTables
    samples : gpukit.worlds.reverse.Samples
    log : uint64 array, shape (threads, c)
        Working space: set << 32 | vertex. A thread whose log is half full starts no further walk.
    out, control
        As in :func:`gpukit.worlds.sample_cuda.sample`. ``TICKET`` ends below ``count`` if the logs were too small for
        all walks. ``OVERFLOW`` is set if one log was too small for a walk, and is DEEP if a stack was too low.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    thread = cuda.grid(1)
    capacity = log.shape[1]
    # One line per array: the simulator tells shared arrays apart by the line that creates them.
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
        # Section 3.7: follow the one live in-edge of each vertex until there is none, or until a vertex repeats.
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
