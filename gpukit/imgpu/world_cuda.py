"""One live-edge world per GPU block: its arcs, its vertices with local numbers, and the seeds' reach.

Device functions of the kernels in ``count_cuda.py``; all threads of a block call them together. A world has two parts.
The arcs, and the vertex and the result of each slot, are in rows of ``work`` in global memory. The data that searches
read is in shared memory as 16-bit numbers, if it fits: a world of about 10,000 arcs does. A read there takes a tenth of
the time. Larger worlds are in global memory as 32-bit numbers. Both use the same code: ``packed`` is a constant to the
compiler. Slots are the vertices with a live arc in ascending order, numbered with a bitmap over the vertices of the
graph.
"""

from typing import Any, NamedTuple

from numba import int32, int64, uint8, uint16, uint32

from gpukit.device.kernels import cuda, device
from gpukit.device.philox import draw4
from gpukit.device.prefix_sum_cuda import add_up
from gpukit.device.select import for_kernels
from gpukit.imgpu.world import WORLD
from gpukit.worlds import rule

VERTEX, TAIL, HEAD, REACH, SEARCHED, ROWS = range(6)
"""Rows of ``work``: vertex and reach of each slot, tails and heads of the arcs, slots whose search a thread gave up;
the number of rows. In a paired world REACH is the size of a component and SEARCHED the component of a slot."""

SIZE, COMPONENT = REACH, SEARCHED

LIVE, PLACED, SUM, SEARCHES, TICKET, COUNTERS = range(6)
"""Counters of a block in shared memory: live arcs, listed slots, the sum over its threads' findings, slots in
SEARCHED, its world; and the number of counters."""

GONE = 1
"""The bit of a slot that seeds reach; ``search_cuda.py`` has the remaining bits."""

MAX_THREADS = 1024

AT_ONCE = 4
"""Independent arcs that a thread loads before it processes the first."""

ENDS = 2 * AT_ONCE

live_edges = for_kernels(rule.live_edges)


class Fit(NamedTuple):
    """Room of a world in slots and arcs, both multiples of 4; and the words of a bitmap over the vertices."""

    slots: Any
    arcs: Any
    words: Any


class Memory(NamedTuple):
    """Working space of all blocks of a launch; it need not be cleared.

    Attributes
    ----------
    work : int32 array, shape (grid * ROWS * cap,)
        Each block's rows.
    cap : int
        Words in a row: room for cap // 2 live arcs.
    words, bytes : uint32 and uint8 arrays
        The same memory twice: the search data of each block's world. Empty if this is in shared memory.
    """

    work: Any
    cap: Any
    words: Any
    bytes: Any


class World(NamedTuple):
    """Working space of one block.

    Attributes
    ----------
    numbers, words, bytes : uint16 or uint32, uint32 and uint8 arrays
        The same memory, in three views.
    packed : int
        1 if a word holds two numbers, else 0.
    aux, row, child, rank : int
        Start of each array in ``numbers``: one number per slot; first arc of each slot; heads of the arcs; number of
        slots before each word of ``bits``. ``bits`` and ``rank`` share the memory of ``row`` and ``child``.
    bits, mark : int
        Starts in ``words`` and ``bytes``: a bit per vertex, set if it has a slot; the mark bits of each slot.
    fit : Fit
    work, cap, base : int32 array, int, int
        Rows of ``cap`` words, and the start of this block's rows.
    counters : int32 array, shape (COUNTERS,)
        In shared memory.
    """

    numbers: Any
    words: Any
    bytes: Any
    packed: Any
    aux: Any
    row: Any
    child: Any
    rank: Any
    bits: Any
    mark: Any
    fit: Any
    work: Any
    cap: Any
    base: Any
    counters: Any


def bytes_of(fit: Fit, packed: bool) -> int:
    """Return the bytes of a world's search data, in shared memory (packed) or in global memory."""
    if packed:
        return 2 * max(2 * fit.slots + 4 + fit.arcs, fit.slots + 3 * fit.words + (fit.words & 1)) + fit.slots
    return 4 * max(2 * fit.slots + 4 + fit.arcs, fit.slots + 2 * fit.words) + fit.slots


@device
def in_shared_memory(fit, memory, counters):
    """Return the working space of this block with search data in shared memory (:func:`bytes_of` bytes)."""
    base = int64(cuda.blockIdx.x) * ROWS * memory.cap
    numbers, words = cuda.shared.array(0, uint16), cuda.shared.array(0, uint32)
    bytes_ = cuda.shared.array(0, uint8)
    mark = 2 * max(2 * fit.slots + 4 + fit.arcs, fit.slots + 3 * fit.words + (fit.words & 1))
    return World(
        numbers, words, bytes_, 1, int64(0), fit.slots, 2 * fit.slots + 4, fit.slots + 2 * fit.words, fit.slots >> 1,
        mark, fit, memory.work, memory.cap, base, counters,
    )  # fmt: skip


@device
def in_global_memory(fit, memory, counters):
    """Return the working space of this block with search data in its part of ``memory.words``."""
    block = int64(cuda.blockIdx.x)
    numbers = max(2 * fit.slots + 4 + fit.arcs, fit.slots + 2 * fit.words)
    aux = block * (numbers + (fit.slots >> 2))
    row = aux + fit.slots
    return World(
        memory.words, memory.words, memory.bytes, 0, aux, row, row + fit.slots + 4, row + fit.words, row,
        4 * (aux + numbers), fit, memory.work, memory.cap, block * ROWS * memory.cap, counters,
    )  # fmt: skip


@device
def at(world, row):
    """Return the start of a row of this block in ``work``."""
    return world.base + row * world.cap


@device
def number_at(world, i):
    """Return an element of ``numbers`` as int32, for arithmetic."""
    return int32(world.numbers[i])


@device
def add_number(world, i, what):
    """Add to an element of ``numbers``, which must not overflow, and return its old value."""
    shift = uint32(16 * (i & world.packed))
    before = cuda.atomic.add(world.words, i >> world.packed, uint32(uint32(what) << shift)) >> shift
    return int32(before & (uint32(0xFFFFFFFF) >> uint32(16 * world.packed)))


@device
def draw(arcs, seed, id_, world):
    """Write tails and heads of the live arcs; return the number of live arcs, even if only cap // 2 had room.

    A thread owns an arc block. It costs one Philox call, one table lookup, and another call for every three live arcs.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    counters = world.counters
    live = cuda.local.array(64, uint32)
    if tid == 0:
        counters[LIVE] = 0
    cuda.syncthreads()
    for b in range(tid, arcs.blocks.shape[0], block_size):
        start, length, meta = arcs.blocks[b, 0], arcs.blocks[b, 1], arcs.blocks[b, 2]
        words = draw4(seed, WORLD, id_, b, 0)
        found = live_edges(length, meta, start, 0, arcs.accept, arcs.thresholds, seed, WORLD, id_, b, words, live)
        if found > 0:
            place = cuda.atomic.add(counters, LIVE, int32(found))
            for j in range(found):
                if place + j < world.cap // 2:
                    arc = int64(start) + int64(live[j])
                    tail, head = arcs.tails[arc], arcs.heads[arc]
                    world.work[at(world, TAIL) + place + j], world.work[at(world, HEAD) + place + j] = tail, head
    cuda.syncthreads()
    return int64(counters[LIVE])


@device
def read_arcs(world, first, count, ends):
    """Read AT_ONCE arcs, ``block_size`` apart from ``first`` on, to ``ends``: tails, then heads; -1 from ``count`` on.

    The compiler never moves a read of a block's rows across a write to them. So a loop that reads one arc at a time
    would wait for each read.
    """
    for j in range(AT_ONCE):
        e = first + j * cuda.blockDim.x
        ends[j] = ends[AT_ONCE + j] = -1
        if e < count:
            ends[j] = world.work[at(world, TAIL) + e]
            ends[AT_ONCE + j] = world.work[at(world, HEAD) + e]


@device
def _slot_of(world, v):
    """Return the slot of a vertex that has one."""
    word = world.words[world.bits + (v >> 5)]
    below = word & ((uint32(1) << uint32(v & 31)) - uint32(1))
    return number_at(world, world.rank + (v >> 5)) + int32(cuda.popc(below))


@device
def number_slots(world, live, seeds, partial):
    """Give slots to the vertices of the arcs; return the number of slots, even if it exceeds the room.

    VERTEX becomes the vertex of each slot. The arcs then connect slots: TAIL and HEAD, or tail << 16 | head in TAIL if
    numbers are packed. ``aux`` counts the arcs of each slot. Seeds become GONE; ``counters[SUM]`` counts seeds without
    a slot.
    """
    tid, block_size, work, fit = cuda.threadIdx.x, cuda.blockDim.x, world.work, world.fit
    tail = at(world, TAIL)
    ends = cuda.local.array(ENDS, int32)
    if tid == 0:
        world.counters[SUM] = 0
    for w in range(tid, fit.words, block_size):
        world.words[world.bits + w] = uint32(0)
    for s in range(tid, fit.slots >> world.packed, block_size):
        world.words[(world.aux >> world.packed) + s] = uint32(0)
    for s in range(tid, fit.slots >> 2, block_size):
        world.words[(world.mark >> 2) + s] = uint32(0)
    cuda.syncthreads()
    for first in range(tid, live, AT_ONCE * block_size):
        read_arcs(world, first, live, ends)
        for j in range(ENDS):
            if ends[j] >= 0:
                cuda.atomic.or_(world.words, world.bits + (ends[j] >> 5), uint32(1) << uint32(ends[j] & 31))
    cuda.syncthreads()
    # Each thread numbers the vertices of a contiguous range of words.
    chunk = (fit.words + block_size - 1) // block_size
    low, high = min(tid * chunk, fit.words), min((tid + 1) * chunk, fit.words)
    sum_ = int32(0)
    for w in range(low, high):
        sum_ += int32(cuda.popc(world.words[world.bits + w]))
    partial[tid] = sum_
    add_up(partial)
    slots = int32(partial[block_size - 1])
    slot = int32(partial[tid]) - sum_
    cuda.syncthreads()
    if slots > fit.slots:
        return slots
    for w in range(low, high):
        world.numbers[world.rank + w] = slot
        slot += int32(cuda.popc(world.words[world.bits + w]))
    cuda.syncthreads()
    # Words are interleaved among threads here, because most vertices may lie in a few adjacent words.
    for w in range(tid, fit.words, block_size):
        slot, left = number_at(world, world.rank + w), world.words[world.bits + w]
        while left != uint32(0):
            work[at(world, VERTEX) + slot] = int32(32 * w) + int32(cuda.ffs(left)) - int32(1)
            left &= left - uint32(1)
            slot += int32(1)
    cuda.syncthreads()
    for first in range(tid, live, AT_ONCE * block_size):
        read_arcs(world, first, live, ends)
        for j in range(AT_ONCE):
            if ends[j] >= 0:
                a, b = _slot_of(world, ends[j]), _slot_of(world, ends[AT_ONCE + j])
                add_number(world, world.aux + a, 1)
                if world.packed:
                    work[tail + first + j * block_size] = a << 16 | b
                else:
                    work[tail + first + j * block_size] = a
                    work[at(world, HEAD) + first + j * block_size] = b
    for i in range(tid, len(seeds), block_size):
        v = seeds[i]
        if world.words[world.bits + (v >> 5)] >> uint32(v & 31) & uint32(1) != uint32(0):
            world.bytes[world.mark + _slot_of(world, v)] = uint8(GONE)
        else:
            cuda.atomic.add(world.counters, SUM, int32(1))
    cuda.syncthreads()
    return slots


@device
def _read_slots(world, first, count, ends):
    """Like :func:`read_arcs`, for arcs between slots; values from ``count`` on are arbitrary."""
    if world.packed:
        for j in range(AT_ONCE):
            e = first + j * cuda.blockDim.x
            both = world.work[at(world, TAIL) + e] if e < count else int32(0)
            ends[j], ends[AT_ONCE + j] = (both >> 16) & 0xFFFF, both & 0xFFFF
    else:
        read_arcs(world, first, count, ends)


@device
def make_rows(world, count, slots, partial):
    """Sort the arcs by tail into ``row`` (slots + 1 places) and ``child``; overwrites the bits and ``aux``."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    ends = cuda.local.array(ENDS, int32)
    chunk = (slots + block_size - 1) // block_size
    low, high = min(tid * chunk, slots), min((tid + 1) * chunk, slots)
    sum_ = int32(0)
    for s in range(low, high):
        sum_ += number_at(world, world.aux + s)
    partial[tid] = sum_
    add_up(partial)
    sum_ = int32(partial[tid]) - sum_
    for s in range(low, high):
        size = number_at(world, world.aux + s)
        world.numbers[world.row + s] = sum_
        world.numbers[world.aux + s] = sum_
        sum_ += size
    if tid == 0:
        world.numbers[world.row + slots] = count
    cuda.syncthreads()
    for first in range(tid, count, AT_ONCE * block_size):
        _read_slots(world, first, count, ends)
        for j in range(AT_ONCE):
            if first + j * block_size < count:
                place = add_number(world, world.aux + ends[j], 1)
                world.numbers[world.child + place] = ends[AT_ONCE + j]
    cuda.syncthreads()


@device
def join_pairs(world, count, slots):
    """Find the connected components of a paired world: higher roots hook to lower ones, and paths are halved.

    COMPONENT becomes the lowest slot of a component. SIZE becomes its size, stored at that slot; 0 if any slot is GONE.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, tail, head = world.work, at(world, TAIL), at(world, HEAD)
    comp, size = at(world, COMPONENT), at(world, SIZE)
    for s in range(tid, slots, block_size):
        work[comp + s] = s
        work[size + s] = 0
    cuda.syncthreads()
    while True:
        changed = 0
        for e in range(tid, count, block_size):
            p, q = work[comp + work[tail + e]], work[comp + work[head + e]]
            if p != q:
                cuda.atomic.min(work, comp + max(p, q), min(p, q))
                changed = 1
        cuda.syncthreads()
        for s in range(tid, slots, block_size):
            while work[comp + s] != work[comp + work[comp + s]]:
                work[comp + s] = work[comp + work[comp + s]]
        if cuda.syncthreads_or(changed) == 0:
            break
    for s in range(tid, slots, block_size):
        cuda.atomic.add(work, size + work[comp + s], int32(1))
    cuda.syncthreads()
    for s in range(tid, slots, block_size):
        if world.bytes[world.mark + s] & GONE:
            work[size + work[comp + s]] = 0
    cuda.syncthreads()


@device
def count_gone_pairs(world, slots):
    """Return the number of slots in components that are gone."""
    found = 0
    for s in range(cuda.threadIdx.x, slots, cuda.blockDim.x):
        found += 1 if world.work[at(world, SIZE) + world.work[at(world, COMPONENT) + s]] == 0 else 0
    if cuda.threadIdx.x == 0:
        world.counters[PLACED] = 0
    cuda.syncthreads()
    cuda.atomic.add(world.counters, PLACED, int32(found))
    cuda.syncthreads()
    return world.counters[PLACED]


@device
def make_stars(world, slots):
    """Replace the arcs of a paired world by arcs between each slot and its component's root; return their number.

    ``aux`` counts the arcs of each slot.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, tail, head, comp = world.work, at(world, TAIL), at(world, HEAD), at(world, COMPONENT)
    for s in range(tid, slots, block_size):
        world.words[world.aux + s] = uint32(0)
    if tid == 0:
        world.counters[LIVE] = 0
    cuda.syncthreads()
    for s in range(tid, slots, block_size):
        root = work[comp + s]
        if root != s:
            e = cuda.atomic.add(world.counters, LIVE, int32(2))
            work[tail + e], work[head + e] = s, root
            work[tail + e + 1], work[head + e + 1] = root, s
            add_number(world, world.aux + s, 1)
            add_number(world, world.aux + root, 1)
    cuda.syncthreads()
    return int64(world.counters[LIVE])
