"""Kernels that go from world ids to sums over worlds, a block per world: the functions of ``count_cpu.py``.

A block keeps its world in its own part of global memory, which stays in the cache for worlds of a few thousand arcs;
hundreds of blocks have as many worlds under way. All that a block adds to are integers.
"""

from typing import Any, NamedTuple

from numba import int32, int64

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.imgpu import world_cuda as world
from gpukit.imgpu.condense_cuda import condense
from gpukit.imgpu.reach import Switches
from gpukit.imgpu.reach_cuda import reach_all
from gpukit.imgpu.search_cuda import search_all
from gpukit.imgpu.world import Arcs
from gpukit.imgpu.world_cuda import (
    COMP,
    COUNTERS,
    GONE,
    MAX_THREADS,
    REACH,
    SUM,
    TICKET,
    VERTEX,
    Memory,
    at,
)

REGISTERS, LABEL_REGISTERS = 80, 64
"""Registers that a thread may take: 768 threads are then on a multiprocessor, 1,024 where labels count.

Searches would take 134. With a limit of 40, 48, 64, 80 and 96 worlds and selection at Amazon's size take 691, 571 to
580, 516, 476 and 513 ms on an H100 (``imgpu-h100-searches.json``): with fewer, more values go to memory and back, with
more, fewer worlds are under way.
"""

OVERFLOW, TAKEN, KEPT, WIDEST, LEFT, CONTROL = range(6)
"""Places in ``control``: a flag, worlds begun, slots << 32 | arcs that are kept, most slots of a world, worlds left to
labels; its length."""

TRIED = 64
"""Worlds from which on none is searched where most were left to labels."""


class Kept(NamedTuple):
    """Where worlds are kept, end to end (:func:`gpukit.imgpu.fixed_cuda.Slots`); empty where they are not.

    Attributes
    ----------
    vertices, homes : int32 arrays
        Vertex of each slot, and the first slot of its world.
    rows : int64 array
        First arc of each slot.
    heads : int32 array
        Heads of the live arcs, as slots.
    worlds : int64 array
        First slot << 32 | slots of each world.
    """

    vertices: Any
    homes: Any
    rows: Any
    heads: Any
    worlds: Any


@device
def _keep_world(kept, space, ticket, arcs, slots, places, control):
    """Append a world with rows to those that are kept, if it has room there; ``places`` is shared memory."""
    tid, block_size, work = cuda.threadIdx.x, cuda.blockDim.x, space.work
    if tid == 0:
        places[0] = cuda.atomic.add(control, KEPT, slots << 32 | arcs)
        cuda.atomic.max(control, WIDEST, slots)
    cuda.syncthreads()
    first_slot, first_arc = places[0] >> 32, places[0] & int64(0xFFFFFFFF)
    cuda.syncthreads()
    if first_slot + slots <= len(kept.vertices) and first_arc + arcs <= len(kept.heads):
        if tid == 0:
            kept.worlds[ticket] = first_slot << 32 | slots
        for s in range(tid, slots, block_size):
            vertex, low = work[at(space, VERTEX) + s], work[at(space, world.ROW) + s]
            kept.vertices[first_slot + s] = vertex
            kept.homes[first_slot + s] = first_slot
            kept.rows[first_slot + s] = first_arc + low
        for e in range(tid, arcs, block_size):
            kept.heads[first_arc + e] = first_slot + work[at(space, world.CHILD) + e]
    elif tid == 0:
        control[OVERFLOW] = 1


@device
def _open_kept(kept, state, ticket, space):
    """Copy a world that is kept to the block's rows, with what is gone by ``state``; return (live, slots).

    A thread owns every ``block_size``-th slot, of which it reads 20 bytes and writes 12, and writes the tails of its
    arcs; and every ``block_size``-th arc: 4 bytes read, 8 written. No read but that of a row's ends waits for another.
    """
    tid, block_size, work = cuda.threadIdx.x, cuda.blockDim.x, space.work
    first_slot, slots = kept.worlds[ticket] >> 32, kept.worlds[ticket] & int64(0xFFFFFFFF)
    first_arc = kept.rows[first_slot]
    live = kept.rows[first_slot + slots] - first_arc
    for s in range(tid, slots, block_size):
        vertex, gone = kept.vertices[first_slot + s], state[first_slot + s]
        low, high = kept.rows[first_slot + s] - first_arc, kept.rows[first_slot + s + 1] - first_arc
        work[at(space, VERTEX) + s] = vertex
        work[at(space, GONE) + s] = gone
        work[at(space, world.ROW) + s] = low
        for e in range(low, high):
            work[at(space, world.TAIL) + e] = s
    if tid == 0:
        work[at(space, world.ROW) + slots] = live
    for e in range(tid, live, block_size):
        head = kept.heads[first_arc + e] - first_slot
        work[at(space, world.CHILD) + e] = head
        work[at(space, world.HEAD) + e] = head
    cuda.syncthreads()
    return live, slots


@device
def _take_world(counters, control, count):
    """Return the next world for the block, ``count`` if there is none, and whether most were left so far.

    Then searches are of no use. Two barriers.
    """
    if cuda.threadIdx.x == 0:
        ticket = cuda.atomic.add(control, TAKEN, int64(1))
        left = cuda.atomic.add(control, LEFT, int64(0))  # a plain read might find what the cache has of it
        counters[TICKET] = int32(min(ticket, int64(count)))
        counters[SUM] = 1 if ticket >= TRIED and 2 * left > ticket else 0
    cuda.syncthreads()
    ticket, useless = int64(counters[TICKET]), counters[SUM] == 1
    cuda.syncthreads()
    return ticket, useless


@device
def _add_gains(space, slots, gains):
    """Add what each vertex of a world reaches, itself left out, to ``gains``; a vertex that is gone counts -1."""
    work = space.work
    for s in range(cuda.threadIdx.x, slots, cuda.blockDim.x):
        vertex, gone, c = work[at(space, VERTEX) + s], work[at(space, GONE) + s], work[at(space, COMP) + s]
        gain = int64(work[at(space, REACH) + c]) - 1 if gone == 0 else int64(-1)
        if gain != 0:
            cuda.atomic.add(gains, vertex, gain)


_i32, _i64, _int, _bool = "int32[::1]", "int64[::1]", "int64", "boolean"
_arcs = group(Arcs, _i32, _i32, "uint32[:, ::1]", "uint32[::1]", "uint64[::1]", _int, _bool)
_how = group(Switches, _int, _bool, _bool, _int, _bool)
_memory = group(Memory, _i32, _int, _i32)
_kept = group(Kept, _i32, _i32, _i64, _i32, _i64)


@kernel((_arcs, "uint64", _int, _int, _i32, _bool, _memory, _i64, _kept, _i32, _i64), max_registers=REGISTERS)
def sum_gains(arcs, seed, first, count, seeds, search, memory, gains, kept, left, control):
    """Add the marginal reach of every vertex over worlds first … first + count - 1, less ``count``, to ``gains``.

    Algorithm 2, lines 4 to 14: a block owns a world at a time and all its steps. Worlds whose reach short searches do
    not find add nothing and are left to :func:`sum_gains_by_labels`. Cost: some twenty passes over the world's arcs or
    slots, 4 bytes each, between barriers of the block, and its searches (``search_cuda.py``); one 64-bit atomic for
    each slot.

    Parameters
    ----------
    arcs : Arcs
        The graph.
    seed, first, count
        The worlds.
    seeds : int32 array
        Vertices whose reach counts no more.
    search : bool
        Whether to search; if not, all worlds of a graph that is not paired are left.
    memory : Memory
        Working space.
    gains : int64 array, shape (n,)
        Increased.
    kept : Kept
        Where worlds are kept, if anywhere; then ``seeds`` must be empty.
    left : int32 array, shape (count,)
        The worlds that are left, as numbers from ``first`` on; ``control[LEFT]`` of them.
    control : int64 array, shape (CONTROL,)
        Zero at the start. ``OVERFLOW`` becomes 1 if a world did not fit into ``memory``, or what is kept into its
        arrays: then nothing is of use.
    """
    tid = cuda.threadIdx.x
    counters = cuda.shared.array(COUNTERS, int32)
    partial = cuda.shared.array(MAX_THREADS, int32)
    heaviest = cuda.shared.array(2, int64)
    space = world.space_of(memory, arcs.n, counters)
    while True:
        ticket, useless = _take_world(counters, control, count)
        if ticket >= count:
            break
        # Line 5: the live arcs, and local numbers for their vertices.
        live = world.draw(arcs, seed, first + ticket, space)
        if live > memory.cap // 2:
            if tid == 0:
                control[OVERFLOW] = 1
            break
        slots = world.number_slots(space, live)
        if arcs.paired:
            world.join_pairs(space, live, slots)
        searched = search and not (useless or arcs.paired)
        if len(kept.vertices) > 0 or searched:
            linked = world.make_stars(space, slots) if arcs.paired else live
            world.make_rows(space, linked, slots, partial)
            if len(kept.vertices) > 0:
                _keep_world(kept, space, ticket, linked, slots, heaviest, control)
        # Marginal reach: what the seeds reach is closed, so it can go.
        world.remove_reached(space, seeds, live, slots, arcs.paired)
        # Lines 6 to 11. In a paired world the reach is known.
        if arcs.paired or searched and search_all(space, live, slots, heaviest):
            _add_gains(space, slots, gains)
        elif tid == 0:
            left[cuda.atomic.add(control, LEFT, int64(1))] = ticket
        world.forget_slots(space, slots)


@kernel((_kept, _i32, _memory, _int, _i64, _i32, _i64), max_registers=REGISTERS)
def sum_gains_kept(kept, state, memory, n, gains, left, control):
    """Add to ``gains`` what :func:`sum_gains` would for the worlds that are kept, which need not be drawn again.

    A block owns a world at a time. The graph must not be paired. Cost: a pass over slots and one over arcs to copy the
    world, and its searches; one 64-bit atomic for each slot.

    Parameters
    ----------
    kept : Kept
        The worlds, all that ``worlds`` names; ``rows`` has one more element, the number of arcs.
    state : int32 array
        GONE of each slot that is kept.
    memory, gains, left, control
        As for :func:`sum_gains`; no world can be too large.
    n : int
        Number of vertices.
    """
    tid = cuda.threadIdx.x
    counters = cuda.shared.array(COUNTERS, int32)
    heaviest = cuda.shared.array(2, int64)
    space = world.space_of(memory, n, counters)
    while True:
        ticket, useless = _take_world(counters, control, len(kept.worlds))
        if ticket >= len(kept.worlds):
            break
        counted = False
        if not useless:
            live, slots = _open_kept(kept, state, ticket, space)
            counted = search_all(space, live, slots, heaviest)
            if counted:
                _add_gains(space, slots, gains)
        if tid == 0 and not counted:
            left[cuda.atomic.add(control, LEFT, int64(1))] = ticket


@kernel((_arcs, "uint64", _int, _i32, _i32, _how, _memory, _i64, _i64), max_registers=LABEL_REGISTERS)
def sum_gains_by_labels(arcs, seed, first, which, seeds, how, memory, gains, control):
    """Add the marginal reach of every vertex over worlds ``first + which[i]``, less their number, to ``gains``.

    Algorithm 2, lines 4 to 14, by the paper's steps: a block owns a world at a time. The graph must not be paired.
    Cost: some 90 passes over the world's arcs or slots, 4 bytes each, between barriers of the block; one 64-bit atomic
    for each slot. A kernel of its own, since the labels take more registers than all else.

    Parameters
    ----------
    which : int32 array
        The worlds, as numbers from ``first`` on.
    how : Switches
        How worlds are counted; changes no sum.
    arcs, seed, first, seeds, memory, gains, control
        As for :func:`sum_gains`.
    """
    tid = cuda.threadIdx.x
    counters = cuda.shared.array(COUNTERS, int32)
    partial = cuda.shared.array(MAX_THREADS, int32)
    heaviest = cuda.shared.array(2, int64)
    space = world.space_of(memory, arcs.n, counters)
    while True:
        ticket, _ = _take_world(counters, control, len(which))
        if ticket >= len(which):
            break
        # Line 5: the live arcs, and local numbers for their vertices.
        live = world.draw(arcs, seed, first + which[ticket], space)
        if live > memory.cap // 2:
            if tid == 0:
                control[OVERFLOW] = 1
            break
        slots = world.number_slots(space, live)
        # Marginal reach: what the seeds reach is closed, so it can go.
        world.remove_reached(space, seeds, live, slots, False)
        # Lines 6 to 10: a DAG by level, then every reach, from the sinks up.
        levels, _ = condense(space, live, slots)
        reach_all(space, how, live, slots, levels, partial, heaviest)
        _add_gains(space, slots, gains)  # line 11
        world.forget_slots(space, slots)


@kernel((_arcs, "uint64", _int, _i32, _memory, _i64, _i64), max_registers=REGISTERS)
def count_reached(arcs, seed, first, seeds, memory, values, control):
    """Write how many vertices the seeds reach in worlds first … to ``values`` (int64); a block owns a world at a time.

    Parameters are those of :func:`sum_gains`. Cost: drawing, two passes to number the vertices, and one pass over
    the arcs for each step of the longest search.
    """
    tid = cuda.threadIdx.x
    counters = cuda.shared.array(COUNTERS, int32)
    space = world.space_of(memory, arcs.n, counters)
    for i in range(cuda.blockIdx.x, len(values), cuda.gridDim.x):
        live = world.draw(arcs, seed, first + i, space)
        if live > memory.cap // 2:
            if tid == 0:
                control[OVERFLOW] = 1
            break
        slots = world.number_slots(space, live)
        if arcs.paired:
            world.join_pairs(space, live, slots)
        reached = world.remove_reached(space, seeds, live, slots, arcs.paired)
        if tid == 0:
            values[i] = reached
        world.forget_slots(space, slots)
