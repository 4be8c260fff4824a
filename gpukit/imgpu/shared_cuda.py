"""Worlds in the shared memory of a block of a GPU, for worlds of some 10,000 arcs: kernels as in ``count_cuda.py``.

A world whose slots and arcs are numbers of 16 bits fits there, and what waits for a read waits a tenth of the time that
one of global memory takes. Slots are the vertices with a live arc in ascending order, which a bit for each vertex of
the graph gives.
"""

from typing import Any, NamedTuple

from numba import int32, int64, uint8, uint16, uint32

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.prefix_sum_cuda import add_up
from gpukit.imgpu import world_cuda as world
from gpukit.imgpu.core_cuda import GONE, add_gains, add_half, half, search_listed
from gpukit.imgpu.count_cuda import KEPT, LEFT, OVERFLOW, WIDEST, _arcs, _kept, _memory, _take_world
from gpukit.imgpu.world_cuda import (
    AT_ONCE,
    COUNTERS,
    ENDS,
    MAX_THREADS,
    PLACED,
    SUM,
    TAIL,
    VERTEX,
    at,
)

REGISTERS = 64
"""Registers that a thread may take: two blocks of 512 threads are then on a multiprocessor, as many as it has shared
memory for at Amazon's size."""


class Fit(NamedTuple):
    """How many slots and arcs, multiples of 4, shared memory has room for; and words for a bit per vertex."""

    slots: Any
    arcs: Any
    words: Any


class Inside(NamedTuple):
    """A world in shared memory.

    Attributes
    ----------
    halves, words, bytes : uint16, uint32 and uint8 arrays
        The same memory.
    aux, row, child, rank : int
        Where each starts in ``halves``: a number for each slot, first arc and heads of each, slots before each word of
        ``bits``; ``bits`` and ``rank`` lie over ``row`` and ``child``.
    bits, mark : int
        Where these start in ``words`` and ``bytes``: a bit for each vertex that has a slot; what is known of a slot.
    """

    halves: Any
    words: Any
    bytes: Any
    aux: Any
    row: Any
    child: Any
    rank: Any
    bits: Any
    mark: Any


def bytes_of(fit: Fit) -> int:
    """Return the bytes of shared memory that a world takes."""
    return 2 * max(2 * fit.slots + 4 + fit.arcs, fit.slots + 3 * fit.words + (fit.words & 1)) + fit.slots


@device
def _inside(fit):
    """Return where everything lies."""
    halves, words = cuda.shared.array(0, uint16), cuda.shared.array(0, uint32)
    bytes_ = cuda.shared.array(0, uint8)
    mark = 2 * max(2 * fit.slots + 4 + fit.arcs, fit.slots + 3 * fit.words + (fit.words & 1))
    return Inside(
        halves, words, bytes_, int64(0), fit.slots, 2 * fit.slots + 4, fit.slots + 2 * fit.words, fit.slots >> 1, mark
    )


@device
def _slot_of(own, v):
    """Return the slot of a vertex that has one."""
    word = own.words[own.bits + (v >> 5)]
    below = word & ((uint32(1) << uint32(v & 31)) - uint32(1))
    return half(own, own.rank + (v >> 5)) + int32(cuda.popc(below))


@device
def _make_rows(own, space, live, slots, partial):
    """Sort the arcs, in TAIL as tail << 16 | head, by tail; ``aux`` has how many each slot has. The bits are lost."""
    tid, block_size, work, tail = cuda.threadIdx.x, cuda.blockDim.x, space.work, at(space, TAIL)
    ends = cuda.local.array(AT_ONCE, int32)
    chunk = (slots + block_size - 1) // block_size
    low, high = min(tid * chunk, slots), min((tid + 1) * chunk, slots)
    sum_ = int32(0)
    for s in range(low, high):
        sum_ += half(own, own.aux + s)
    partial[tid] = sum_
    add_up(partial)
    sum_ = int32(partial[tid]) - sum_
    for s in range(low, high):
        size = half(own, own.aux + s)
        own.halves[own.row + s] = uint16(sum_)
        own.halves[own.aux + s] = uint16(sum_)
        sum_ += size
    if tid == 0:
        own.halves[own.row + slots] = uint16(live)
    cuda.syncthreads()
    for first in range(tid, live, AT_ONCE * block_size):
        for j in range(AT_ONCE):
            e = first + j * block_size
            ends[j] = work[tail + e] if e < live else int32(0)
        for j in range(AT_ONCE):
            if first + j * block_size < live:
                a, b = (ends[j] >> 16) & 0xFFFF, ends[j] & 0xFFFF
                own.halves[own.child + add_half(own, own.aux + a, 1)] = uint16(b)
    cuda.syncthreads()


@device
def _number(own, fit, space, live, seeds, partial):
    """Give slots to the vertices of the arcs, and rows to the slots; return the slots, more than fit where too many.

    VERTEX becomes the vertex of each slot, TAIL loses what it was. Seeds are GONE; those without a slot are
    ``counters[SUM]``.
    """
    tid, block_size, work = cuda.threadIdx.x, cuda.blockDim.x, space.work
    tail = at(space, TAIL)
    ends = cuda.local.array(ENDS, int32)
    if tid == 0:
        space.counters[SUM] = 0
    for w in range(tid, fit.words, block_size):
        own.words[own.bits + w] = uint32(0)
    for s in range(tid, fit.slots >> 1, block_size):
        own.words[(own.aux >> 1) + s] = uint32(0)
    for s in range(tid, fit.slots >> 2, block_size):
        own.words[(own.mark >> 2) + s] = uint32(0)
    cuda.syncthreads()
    for first in range(tid, live, AT_ONCE * block_size):
        world.read_arcs(space, first, live, ends)
        for j in range(ENDS):
            if ends[j] >= 0:
                cuda.atomic.or_(own.words, own.bits + (ends[j] >> 5), uint32(1) << uint32(ends[j] & 31))
    cuda.syncthreads()
    # A thread numbers the vertices of a run of words.
    chunk = (fit.words + block_size - 1) // block_size
    low, high = min(tid * chunk, fit.words), min((tid + 1) * chunk, fit.words)
    sum_ = int32(0)
    for w in range(low, high):
        sum_ += int32(cuda.popc(own.words[own.bits + w]))
    partial[tid] = sum_
    add_up(partial)
    slots = int32(partial[block_size - 1])
    slot = int32(partial[tid]) - sum_
    cuda.syncthreads()
    if slots > fit.slots:
        return slots
    for w in range(low, high):
        own.halves[own.rank + w] = uint16(slot)
        slot += int32(cuda.popc(own.words[own.bits + w]))
    cuda.syncthreads()
    # Not each its own run: most of the vertices may be those of a few words.
    for w in range(tid, fit.words, block_size):
        slot, left = half(own, own.rank + w), own.words[own.bits + w]
        while left != uint32(0):
            work[at(space, VERTEX) + slot] = int32(32 * w) + int32(cuda.ffs(left)) - int32(1)
            left &= left - uint32(1)
            slot += int32(1)
    cuda.syncthreads()
    for first in range(tid, live, AT_ONCE * block_size):
        world.read_arcs(space, first, live, ends)
        for j in range(AT_ONCE):
            if ends[j] >= 0:
                a, b = _slot_of(own, ends[j]), _slot_of(own, ends[AT_ONCE + j])
                add_half(own, own.aux + a, 1)
                work[tail + first + j * block_size] = a << 16 | b
    for i in range(tid, len(seeds), block_size):
        v = seeds[i]
        if own.words[own.bits + (v >> 5)] >> uint32(v & 31) & uint32(1) != uint32(0):
            own.bytes[own.mark + _slot_of(own, v)] = uint8(GONE)
        else:
            cuda.atomic.add(space.counters, SUM, int32(1))
    cuda.syncthreads()
    _make_rows(own, space, live, slots, partial)
    return slots


@device
def _remove_reached(own, slots, seeds, counters):
    """Make GONE what the seeds reach, and return how many slots that is."""
    if len(seeds) == 0:
        return int32(0)
    if cuda.threadIdx.x == 0:
        counters[PLACED] = 0
    cuda.syncthreads()
    for s in range(cuda.threadIdx.x, slots, cuda.blockDim.x):
        if own.bytes[own.mark + s] & GONE:
            own.halves[own.aux + cuda.atomic.add(counters, PLACED, int32(1))] = uint16(s)
    cuda.syncthreads()
    return search_listed(own, GONE, counters)


@device
def _keep_world(own, kept, space, ticket, arcs, slots, places, control):
    """Append a world with rows to those that are kept, if it has room there; ``places`` is shared memory."""
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
            kept.vertices[first_slot + s] = space.work[at(space, VERTEX) + s]
            kept.homes[first_slot + s] = first_slot
            kept.rows[first_slot + s] = first_arc + half(own, own.row + s)
        for e in range(tid, arcs, block_size):
            kept.heads[first_arc + e] = first_slot + half(own, own.child + e)
    elif tid == 0:
        control[OVERFLOW] = 1


_i32, _i64, _int = "int32[::1]", "int64[::1]", "int64"
_fit = group(Fit, _int, _int, _int)


@kernel((_arcs, "uint64", _int, _int, _i32, _fit, _memory, _i64, _kept, _i32, _i64), max_registers=REGISTERS)
def sum_gains(arcs, seed, first, count, seeds, fit, memory, gains, kept, left, control):
    """Do what :func:`gpukit.imgpu.count_cuda.sum_gains` does, by searches, in shared memory; not for paired graphs.

    Parameters are those of that function, and ``fit`` the room of a world. A launch needs :func:`bytes_of` of shared
    memory.
    """
    tid = cuda.threadIdx.x
    counters = cuda.shared.array(COUNTERS, int32)
    partial = cuda.shared.array(MAX_THREADS, int32)
    highest = cuda.shared.array(2, int64)
    own, space = _inside(fit), world.space_of(memory, 0, counters)
    while True:
        ticket, useless = _take_world(counters, control, count)
        if ticket >= count:
            break
        live = world.draw(arcs, seed, first + ticket, space)
        if live > memory.cap // 2:
            if tid == 0:
                control[OVERFLOW] = 1
            break
        slots = _number(own, fit, space, live, seeds, partial)
        if slots > fit.slots:
            if tid == 0:
                control[OVERFLOW] = 1
                cuda.atomic.max(control, WIDEST, int64(slots))
            break
        if len(kept.vertices) > 0:
            _keep_world(own, kept, space, ticket, live, slots, highest, control)
        _remove_reached(own, slots, seeds, counters)
        counted = False
        if not useless:
            counted = add_gains(own, space, slots, live, space.work, at(space, VERTEX), highest, gains)
        if tid == 0 and not counted:
            left[cuda.atomic.add(control, LEFT, int64(1))] = ticket
        cuda.syncthreads()


@kernel((_kept, _i32, _fit, _memory, _i64, _i32, _i64), max_registers=REGISTERS)
def sum_gains_kept(kept, state, fit, memory, gains, left, control):
    """Do what :func:`gpukit.imgpu.count_cuda.sum_gains_kept` does in shared memory, for worlds made there."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    counters = cuda.shared.array(COUNTERS, int32)
    highest = cuda.shared.array(2, int64)
    own, space = _inside(fit), world.space_of(memory, 0, counters)
    while True:
        ticket, useless = _take_world(counters, control, len(kept.worlds))
        if ticket >= len(kept.worlds):
            break
        counted = False
        if not useless:
            first_slot, slots = kept.worlds[ticket] >> 32, int32(kept.worlds[ticket] & int64(0xFFFFFFFF))
            first_arc = kept.rows[first_slot]
            live = kept.rows[first_slot + slots] - first_arc
            for s in range(tid, slots + 1, block_size):
                own.halves[own.row + s] = uint16(kept.rows[first_slot + s] - first_arc)
            for s in range(tid, slots, block_size):
                own.bytes[own.mark + s] = uint8(state[first_slot + s])
            for e in range(tid, live, block_size):
                own.halves[own.child + e] = uint16(kept.heads[first_arc + e] - first_slot)
            cuda.syncthreads()
            counted = add_gains(own, space, slots, live, kept.vertices, first_slot, highest, gains)
        if tid == 0 and not counted:
            left[cuda.atomic.add(control, LEFT, int64(1))] = ticket
        cuda.syncthreads()


@kernel((_arcs, "uint64", _int, _i32, _fit, _memory, _i64, _i64), max_registers=REGISTERS)
def count_reached(arcs, seed, first, seeds, fit, memory, values, control):
    """Do what :func:`gpukit.imgpu.count_cuda.count_reached` does, in shared memory; not for paired graphs."""
    tid = cuda.threadIdx.x
    counters = cuda.shared.array(COUNTERS, int32)
    partial = cuda.shared.array(MAX_THREADS, int32)
    own, space = _inside(fit), world.space_of(memory, 0, counters)
    for i in range(cuda.blockIdx.x, len(values), cuda.gridDim.x):
        live = world.draw(arcs, seed, first + i, space)
        if live > memory.cap // 2:
            if tid == 0:
                control[OVERFLOW] = 1
            break
        slots = _number(own, fit, space, live, seeds, partial)
        if slots > fit.slots:
            if tid == 0:
                control[OVERFLOW] = 1
                cuda.atomic.max(control, WIDEST, int64(slots))
            break
        reached = _remove_reached(own, slots, seeds, counters)
        if tid == 0:
            values[i] = counters[SUM] + reached
        cuda.syncthreads()
