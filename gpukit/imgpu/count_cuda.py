"""Kernels that compute sums over worlds from world ids, one block per world: the functions of ``count_cpu.py``.

Each kernel exists twice: for worlds in shared memory, and for larger ones in global memory. Both run the same device
function. Shared memory stays because it makes ``imgpu run`` with fixed worlds more than 1.5 times as fast. At Amazon's
size on an H100, worlds and selection took 509 ms in global memory and 259 ms in shared memory
(``imgpu-h100-shared.json``). On an H200, drawing, counting and keeping worlds with the same search took 206 ms in
global memory and 96 ms in shared memory. Blocks add only integers, so the order of additions does not matter.
"""

from typing import Any, NamedTuple

from numba import int32, int64, uint8, uint16

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.imgpu import search_cuda
from gpukit.imgpu import world_cuda as world_
from gpukit.imgpu.search_cuda import ALONE
from gpukit.imgpu.world import Arcs
from gpukit.imgpu.world_cuda import COMPONENT, COUNTERS, GONE, MAX_THREADS, PLACED, SIZE, SUM, TICKET, VERTEX, Fit, at

SHARED_REGISTERS, REGISTERS = 64, 80
"""Most registers of a thread, with worlds in shared and in global memory.

With 64 registers two blocks of 512 threads run on a multiprocessor; at Amazon's size shared memory has room for two. In
global memory 64, 80 and 96 registers took 516, 476 and 513 ms there on an H100, with an earlier search
(``imgpu-h100-searches.json``). Fewer registers spill more values to memory; more registers leave fewer concurrent
worlds.
"""

OVERFLOW, TAKEN, KEPT, WIDEST, CONTROL = range(5)
"""Places in ``control``: an overflow flag, worlds begun, slots << 32 | arcs that are kept, most slots of a world;
its length."""


class Kept(NamedTuple):
    """Arrays of the kept worlds, packed end to end (:func:`gpukit.imgpu.fixed_cuda.Slots`); empty if none are kept.

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
def _draw(arcs, seed, id_, seeds, world, partial, control):
    """Draw a world and number its slots; return (live arcs, slots). On overflow set OVERFLOW and return (-1, 0)."""
    live = world_.draw(arcs, seed, id_, world)
    if live > world.cap // 2:
        if cuda.threadIdx.x == 0:
            control[OVERFLOW] = 1
        return int64(-1), int32(0)
    slots = world_.number_slots(world, live, seeds, partial)
    if slots > world.fit.slots:
        if cuda.threadIdx.x == 0:
            control[OVERFLOW] = 1
            cuda.atomic.max(control, WIDEST, int64(slots))
        return int64(-1), int32(0)
    return live, slots


@device
def _remove_reached(world, slots, seeds):
    """Mark all slots that the seeds reach as GONE, and return their number."""
    if len(seeds) == 0:
        return int32(0)
    if cuda.threadIdx.x == 0:
        world.counters[PLACED] = 0
    cuda.syncthreads()
    for s in range(cuda.threadIdx.x, slots, cuda.blockDim.x):
        if world.bytes[world.mark + s] & GONE:
            world.numbers[world.aux + cuda.atomic.add(world.counters, PLACED, int32(1))] = s
    cuda.syncthreads()
    return search_cuda.search_listed(world, GONE)


@device
def _keep_world(world, kept, ticket, arcs, slots, places, control):
    """Append a world with rows to the kept worlds, or set OVERFLOW if there is no room; ``places`` is shared memory."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    if tid == 0:
        places[0] = cuda.atomic.add(control, KEPT, int64(slots) << 32 | arcs)
        cuda.atomic.max(control, WIDEST, int64(slots))
    cuda.syncthreads()
    first_slot, first_arc = places[0] >> 32, places[0] & int64(0xFFFFFFFF)
    cuda.syncthreads()
    if first_slot + slots <= len(kept.vertices) and first_arc + arcs <= len(kept.heads):
        if tid == 0:
            kept.worlds[ticket] = first_slot << 32 | int64(slots)
        for s in range(tid, slots, block_size):
            kept.vertices[first_slot + s] = world.work[at(world, VERTEX) + s]
            kept.homes[first_slot + s] = first_slot
            kept.rows[first_slot + s] = first_arc + world_.number_at(world, world.row + s)
        for e in range(tid, arcs, block_size):
            kept.heads[first_arc + e] = first_slot + world_.number_at(world, world.child + e)
    elif tid == 0:
        control[OVERFLOW] = 1


@device
def take_world(counters, control, count):
    """Return the block's next world, or ``count`` if there is none. Two barriers."""
    if cuda.threadIdx.x == 0:
        counters[TICKET] = int32(min(cuda.atomic.add(control, TAKEN, int64(1)), int64(count)))
    cuda.syncthreads()
    ticket = int64(counters[TICKET])
    cuda.syncthreads()
    return ticket


@device
def _add_components(world, slots, gains):
    """Add the reach of each vertex of a paired world, itself excluded, to ``gains``; -1 for vertices that are gone."""
    for s in range(cuda.threadIdx.x, slots, cuda.blockDim.x):
        size = world.work[at(world, SIZE) + world.work[at(world, COMPONENT) + s]]
        cuda.atomic.add(gains, world.work[at(world, VERTEX) + s], int64(size - 1))
    cuda.syncthreads()


@device
def _sum_gains(world, arcs, seed, first, count, seeds, gains, kept, control, partial, highest, found):
    """Body of :func:`sum_gains`; ``partial`` and ``highest`` are shared memory, ``found`` is local memory."""
    while True:
        ticket = take_world(world.counters, control, count)
        if ticket >= count:
            break
        # Line 5: draw the live arcs, and number their vertices locally.
        live, slots = _draw(arcs, seed, first + ticket, seeds, world, partial, control)
        if live < 0:
            break
        paired = not world.packed and arcs.paired
        if paired:
            # Line 6: reach is the size of a component. Worlds are kept as stars, which have the same components.
            world_.join_pairs(world, live, slots)
            _add_components(world, slots, gains)
            if len(kept.vertices) > 0:
                live = world_.make_stars(world, slots)
        if not paired or len(kept.vertices) > 0:
            world_.make_rows(world, live, slots, partial)
        if len(kept.vertices) > 0:
            _keep_world(world, kept, ticket, live, slots, highest, control)
        if not paired:
            # Marginal reach: the seeds' reach is closed, so it can be removed. Then lines 7 to 11.
            _remove_reached(world, slots, seeds)
            search_cuda.add_gains(world, slots, live, world.work, at(world, VERTEX), gains, highest, found)
        cuda.syncthreads()


@device
def _sum_gains_kept(world, kept, state, gains, control, highest, found):
    """Body of :func:`sum_gains_kept`; ``highest`` is shared memory, ``found`` is local memory."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    while True:
        ticket = take_world(world.counters, control, len(kept.worlds))
        if ticket >= len(kept.worlds):
            break
        first_slot, slots = kept.worlds[ticket] >> 32, int32(kept.worlds[ticket] & int64(0xFFFFFFFF))
        first_arc = kept.rows[first_slot]
        live = kept.rows[first_slot + slots] - first_arc
        for s in range(tid, slots + 1, block_size):
            world.numbers[world.row + s] = kept.rows[first_slot + s] - first_arc
        for s in range(tid, slots, block_size):
            world.bytes[world.mark + s] = uint8(state[first_slot + s])
        for e in range(tid, live, block_size):
            world.numbers[world.child + e] = kept.heads[first_arc + e] - first_slot
        cuda.syncthreads()
        search_cuda.add_gains(world, slots, live, kept.vertices, first_slot, gains, highest, found)
        cuda.syncthreads()


@device
def _count_reached(world, arcs, seed, first, seeds, values, control, partial):
    """Body of :func:`count_reached`; ``partial`` is shared memory."""
    for i in range(cuda.blockIdx.x, len(values), cuda.gridDim.x):
        live, slots = _draw(arcs, seed, first + i, seeds, world, partial, control)
        if live < 0:
            break
        if not world.packed and arcs.paired:
            world_.join_pairs(world, live, slots)
            reached = world_.count_gone_pairs(world, slots)
        else:
            world_.make_rows(world, live, slots, partial)
            reached = _remove_reached(world, slots, seeds)
        if cuda.threadIdx.x == 0:
            values[i] = world.counters[SUM] + reached
        cuda.syncthreads()


_i32, _i64, _int = "int32[::1]", "int64[::1]", "int64"
ARCS = group(Arcs, _i32, _i32, "uint32[:, ::1]", "uint32[::1]", "uint64[::1]", _int, "boolean")
_fit = group(Fit, _int, _int, _int)
_memory = group(world_.Memory, _i32, _int, "uint32[::1]", "uint8[::1]")
_kept = group(Kept, _i32, _i32, _i64, _i32, _i64)
_sum = ARCS, "uint64", _int, _int, _i32, _fit, _memory, _i64, _kept, _i64
_sum_kept = _kept, _i32, _fit, _memory, _i64, _i64
_reached = ARCS, "uint64", _int, _i32, _fit, _memory, _i64, _i64


@kernel(_sum, max_registers=REGISTERS)
def sum_gains(arcs, seed, first, count, seeds, fit, memory, gains, kept, control):
    """Add the marginal reach of every vertex over worlds first … first + count - 1, minus ``count``, to ``gains``.

    Algorithm 2, lines 4 to 14. A block owns one world at a time and does all its steps. Cost: about twenty passes over
    the world's arcs or slots between barriers of the block, its searches (``search_cuda.py``), and one 64-bit atomic
    per slot.

    Parameters
    ----------
    arcs : Arcs
        The graph.
    seed, first, count
        The user's seed, and the range of world ids.
    seeds : int32 array
        Vertices whose reach is excluded.
    fit : Fit
        Room of a world, in slots and arcs.
    memory : Memory
        Working space.
    gains : int64 array, shape (n,)
        Incremented.
    kept : Kept
        Arrays for keeping the worlds; empty to keep none. With arrays, ``seeds`` must be empty.
    control : int64 array, shape (CONTROL,)
        Zero at the start. ``OVERFLOW`` becomes 1 if a world does not fit into ``memory``, or the kept worlds do not fit
        into their arrays. Then all results are invalid.
    """
    counters = cuda.shared.array(COUNTERS, int32)
    partial = cuda.shared.array(MAX_THREADS, int32)
    highest = cuda.shared.array(2, int64)
    found = cuda.local.array(ALONE, int32)
    world = world_.in_global_memory(fit, memory, counters)
    _sum_gains(world, arcs, seed, first, count, seeds, gains, kept, control, partial, highest, found)


@kernel(_sum, max_registers=SHARED_REGISTERS)
def sum_gains_shared(arcs, seed, first, count, seeds, fit, memory, gains, kept, control):
    """Like :func:`sum_gains`, in shared memory; not for paired graphs.

    A launch needs :func:`gpukit.imgpu.world_cuda.bytes_of` of shared memory.
    """
    counters = cuda.shared.array(COUNTERS, int32)
    partial = cuda.shared.array(MAX_THREADS, int32)
    highest = cuda.shared.array(2, int64)
    found = cuda.local.array(ALONE, uint16)
    world = world_.in_shared_memory(fit, memory, counters)
    _sum_gains(world, arcs, seed, first, count, seeds, gains, kept, control, partial, highest, found)


@kernel(_sum_kept, max_registers=REGISTERS)
def sum_gains_kept(kept, state, fit, memory, gains, control):
    """Add the sums of :func:`sum_gains` over the kept worlds to ``gains``, without drawing these again.

    A block owns one world at a time. The graph must not be paired. Cost: a pass over slots and a pass over arcs to copy
    the world, its searches, and one 64-bit atomic per slot.

    Parameters
    ----------
    kept : Kept
        The kept worlds; all in ``worlds`` are counted. ``rows`` has one more element, the number of arcs.
    state : int32 array
        GONE or 0 for each kept slot.
    fit, memory, gains, control
        As for :func:`sum_gains`; no world can be too large.
    """
    counters = cuda.shared.array(COUNTERS, int32)
    highest = cuda.shared.array(2, int64)
    found = cuda.local.array(ALONE, int32)
    world = world_.in_global_memory(fit, memory, counters)
    _sum_gains_kept(world, kept, state, gains, control, highest, found)


@kernel(_sum_kept, max_registers=SHARED_REGISTERS)
def sum_gains_kept_shared(kept, state, fit, memory, gains, control):
    """Like :func:`sum_gains_kept`, in shared memory."""
    counters = cuda.shared.array(COUNTERS, int32)
    highest = cuda.shared.array(2, int64)
    found = cuda.local.array(ALONE, uint16)
    world = world_.in_shared_memory(fit, memory, counters)
    _sum_gains_kept(world, kept, state, gains, control, highest, found)


@kernel(_reached, max_registers=REGISTERS)
def count_reached(arcs, seed, first, seeds, fit, memory, values, control):
    """Write the number of vertices that the seeds reach in each world from ``first`` on to ``values`` (int64).

    A block owns one world at a time. Parameters are those of :func:`sum_gains`. Cost: drawing, five passes over the
    arcs, and one step of the block for each step of the longest search.
    """
    counters = cuda.shared.array(COUNTERS, int32)
    partial = cuda.shared.array(MAX_THREADS, int32)
    world = world_.in_global_memory(fit, memory, counters)
    _count_reached(world, arcs, seed, first, seeds, values, control, partial)


@kernel(_reached, max_registers=SHARED_REGISTERS)
def count_reached_shared(arcs, seed, first, seeds, fit, memory, values, control):
    """Like :func:`count_reached`, in shared memory; not for paired graphs."""
    counters = cuda.shared.array(COUNTERS, int32)
    partial = cuda.shared.array(MAX_THREADS, int32)
    world = world_.in_shared_memory(fit, memory, counters)
    _count_reached(world, arcs, seed, first, seeds, values, control, partial)


class Counting(NamedTuple):
    """The kernels for worlds in one kind of memory."""

    sum_gains: Any
    sum_gains_kept: Any
    count_reached: Any


IN_GLOBAL_MEMORY = Counting(sum_gains, sum_gains_kept, count_reached)
IN_SHARED_MEMORY = Counting(sum_gains_shared, sum_gains_kept_shared, count_reached_shared)
