"""One live-edge world by one block of a GPU: its arcs, its vertices by local number, what seeds reach.

Device functions of the kernels in ``count_cuda.py``; all threads of a block call them together. A block keeps a world
in its own part of one array, ``work``: rows of ``cap`` 32-bit words, named below. It holds arcs as a list and works
along them in passes, so that little depends on how many arcs a vertex has. Passes are few, since worlds are shallow,
and where each ends with arcs that no later one needs, a thread leaves these out.
"""

from typing import Any, NamedTuple

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device
from gpukit.device.philox import draw4
from gpukit.device.select import for_kernels
from gpukit.imgpu.world import WORLD
from gpukit.worlds import rule

(
    VERTEX, TAIL, HEAD, GONE, COMP, WEIGHT, LEVEL, ORDER, LEVEL_START, OUT, ROW, CHILD,
    SKIP, MARK, QUEUE, PARENT, TOTAL, REACH, START, SIZE, SEARCHED, SIDE, JOIN_NO, JOINS, POOL,
) = range(25)  # fmt: skip
"""Rows of a block's work: by slot (vertex, …), by arc (TAIL, HEAD, CHILD), by place in an order, or lists."""

LEFT_TAIL, LEFT_HEAD = POOL, POOL + 1
"""Rows of the pool, which has something else to hold until there are labels: arcs that a pass left for the next."""

POOL_ROWS = 2
ROWS = POOL + POOL_ROWS

LIVE, SLOTS, PLACED, SUM, POOL_USED, SEARCHES, TICKET, JOIN_COUNT, COUNTERS = range(9)
"""What a block counts in shared memory: live arcs, slots, places taken in an order, the sum of what its threads found,
words of the pool (or arcs) in use, components to search from, its world, and joins (or what searches left); and the
number of these counters."""

MAX_THREADS = 1024

AT_ONCE = 4
"""Arcs that a thread reads before it looks at the first, where what follows from one does not need the one before."""

ENDS = 2 * AT_ONCE

live_edges = for_kernels(rule.live_edges)


class Memory(NamedTuple):
    """Working space of all blocks of a launch.

    Attributes
    ----------
    work : int32 array, shape (grid * ROWS * cap,)
        Each block's rows; need not be cleared.
    cap : int
        Words in a row: room for cap // 2 live arcs.
    slot_of : int32 array, shape (grid * n,)
        Each block's slots of the vertices: -1 everywhere, before and after a kernel.
    """

    work: Any
    cap: Any
    slot_of: Any


class Space(NamedTuple):
    """Working space of one block: where its rows start in ``work``, and its slots in ``slot_of``; its counters."""

    work: Any
    cap: Any
    slot_of: Any
    base: Any
    slot_base: Any
    counters: Any


@device
def space_of(memory, n, counters):
    """Return the working space of this block, with ``n`` places in ``slot_of``."""
    block = int64(cuda.blockIdx.x)
    return Space(memory.work, memory.cap, memory.slot_of, block * ROWS * memory.cap, block * n, counters)


@device
def at(space, row):
    """Return where a row of the block starts in ``work``."""
    return space.base + row * space.cap


@device
def draw(arcs, seed, id_, space):
    """Write tails and heads of the live arcs; return their number, of which only cap // 2 were written.

    A thread owns an arc block: one Philox call, a look into its table, and another call for every three live arcs.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    counters = space.counters
    live = cuda.local.array(64, uint32)
    if tid == 0:
        counters[LIVE] = 0
        counters[SLOTS] = 0
    cuda.syncthreads()
    for b in range(tid, arcs.blocks.shape[0], block_size):
        start, length, meta = arcs.blocks[b, 0], arcs.blocks[b, 1], arcs.blocks[b, 2]
        words = draw4(seed, WORLD, id_, b, 0)
        found = live_edges(length, meta, start, 0, arcs.accept, arcs.thresholds, seed, WORLD, id_, b, words, live)
        if found > 0:
            place = cuda.atomic.add(counters, LIVE, int32(found))
            for j in range(found):
                if place + j < space.cap // 2:
                    arc = int64(start) + int64(live[j])
                    tail, head = arcs.tails[arc], arcs.heads[arc]
                    space.work[at(space, TAIL) + place + j], space.work[at(space, HEAD) + place + j] = tail, head
    cuda.syncthreads()
    return int64(counters[LIVE])


@device
def read_arcs(space, first, count, ends):
    """Read AT_ONCE arcs, ``block_size`` apart from ``first``, to ``ends``: tails, then heads; -1 beyond ``count``.

    The compiler moves no read of a block's rows over a write to them, so that a loop with one arc at a time has a wait
    for each.
    """
    for j in range(AT_ONCE):
        e = first + j * cuda.blockDim.x
        ends[j] = ends[AT_ONCE + j] = -1
        if e < count:
            ends[j] = space.work[at(space, TAIL) + e]
            ends[AT_ONCE + j] = space.work[at(space, HEAD) + e]


@device
def number_slots(space, count):
    """Give slots to the vertices of the arcs and put slots into the arcs; return the number of slots.

    A thread has AT_ONCE arcs at a time. A vertex without a slot (-1) is for the thread that writes -2 there first.
    Cost: two passes along the arcs, with two reads that depend on each other; in the first a compare-and-swap for each
    end that had no slot yet.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, tail, head, slot_of = space.work, at(space, TAIL), at(space, HEAD), space.slot_of
    ends = cuda.local.array(ENDS, int32)
    found = cuda.local.array(ENDS, int32)
    for first in range(tid, count, AT_ONCE * block_size):
        read_arcs(space, first, count, ends)
        for j in range(ENDS):
            found[j] = slot_of[space.slot_base + ends[j]] if ends[j] >= 0 else int32(0)
        for j in range(ENDS):
            # The same vertex may come twice.
            if found[j] == -1:
                found[j] = cuda.atomic.cas(slot_of, space.slot_base + ends[j], int32(-1), int32(-2))
            else:
                found[j] = 0
        own = 0
        for j in range(ENDS):
            own += 1 if found[j] == -1 else 0
        if own > 0:
            slot = cuda.atomic.add(space.counters, SLOTS, int32(own))
            for j in range(ENDS):
                if found[j] == -1:
                    work[at(space, VERTEX) + slot] = ends[j]
                    slot_of[space.slot_base + ends[j]] = slot
                    slot += 1
    cuda.syncthreads()
    for first in range(tid, count, AT_ONCE * block_size):
        read_arcs(space, first, count, ends)
        for j in range(ENDS):
            if ends[j] >= 0:
                found[j] = slot_of[space.slot_base + ends[j]]
        for j in range(AT_ONCE):
            if ends[j] >= 0:
                work[tail + first + j * block_size] = found[j]
                work[head + first + j * block_size] = found[AT_ONCE + j]
    cuda.syncthreads()
    return int64(space.counters[SLOTS])


@device
def forget_slots(space, slots):
    """Make ``slot_of`` -1 again, for the next world."""
    for s in range(cuda.threadIdx.x, slots, cuda.blockDim.x):
        space.slot_of[space.slot_base + space.work[at(space, VERTEX) + s]] = -1
    cuda.syncthreads()


@device
def _flood(work, tail, head, count, mark):
    """Pass marks from tails to heads until nothing changes."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    while True:
        changed = 0
        for e in range(tid, count, block_size):
            a, b = work[tail + e], work[head + e]
            if work[mark + a] == 1 and work[mark + b] == 0:
                work[mark + b] = 1
                changed = 1
        if cuda.syncthreads_or(changed) == 0:
            break


@device
def remove_reached(space, seeds, count, slots, paired):
    """Mark in GONE what the seeds reach, and return how many vertices that is, seeds without slots included."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, counters = space.work, space.counters
    gone, comp, mark = at(space, GONE), at(space, COMP), at(space, MARK)
    for s in range(tid, slots, block_size):
        work[gone + s] = 0
        work[mark + s] = 0
    if tid == 0:
        counters[SUM] = 0
    cuda.syncthreads()
    if len(seeds) == 0:
        return int64(0)
    for i in range(tid, len(seeds), block_size):
        s = space.slot_of[space.slot_base + seeds[i]]
        if s < 0:
            cuda.atomic.add(counters, SUM, int32(1))
        elif paired:
            work[mark + work[comp + s]] = 1
        else:
            work[gone + s] = 1
    cuda.syncthreads()
    if paired:
        for s in range(tid, slots, block_size):
            work[gone + s] = work[mark + work[comp + s]]
        cuda.syncthreads()
    else:
        _flood(work, at(space, TAIL), at(space, HEAD), count, gone)
    found = 0
    for s in range(tid, slots, block_size):
        found += work[gone + s]
    cuda.atomic.add(counters, SUM, int32(found))
    cuda.syncthreads()
    reached = int64(counters[SUM])
    cuda.syncthreads()
    return reached


@device
def join_pairs(space, count, slots):
    """Find the connected components of a paired world: roots hook to lower roots, paths are halved.

    COMP is the lowest slot of a component, WEIGHT and REACH its size there.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, tail, head, comp, weight = space.work, at(space, TAIL), at(space, HEAD), at(space, COMP), at(space, WEIGHT)
    for s in range(tid, slots, block_size):
        work[comp + s] = s
        work[weight + s] = 0
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
        cuda.atomic.add(work, weight + work[comp + s], int32(1))
    cuda.syncthreads()
    for s in range(tid, slots, block_size):
        work[at(space, REACH) + s] = work[weight + s]
    cuda.syncthreads()


@device
def make_stars(space, slots):
    """Replace the arcs of a paired world by arcs between each slot and its component's root; return their number."""
    work, tail, head, comp = space.work, at(space, TAIL), at(space, HEAD), at(space, COMP)
    if cuda.threadIdx.x == 0:
        space.counters[LIVE] = 0
    cuda.syncthreads()
    for s in range(cuda.threadIdx.x, slots, cuda.blockDim.x):
        root = work[comp + s]
        if root != s:
            e = cuda.atomic.add(space.counters, LIVE, int32(2))
            work[tail + e], work[head + e] = s, root
            work[tail + e + 1], work[head + e + 1] = root, s
    cuda.syncthreads()
    return int64(space.counters[LIVE])


@device
def make_rows(space, count, slots, partial):
    """Sort the arcs by tail: ROW (slots + 1 places) and CHILD; a tail of -1 is no arc.

    A thread has AT_ONCE arcs at a time, and a run of slots. Cost: two passes along the arcs, each with an atomic for
    each arc, and three along the slots.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, out, row, child = space.work, at(space, OUT), at(space, ROW), at(space, CHILD)
    ends = cuda.local.array(ENDS, int32)
    places = cuda.local.array(AT_ONCE, int32)
    for s in range(tid, slots, block_size):
        work[out + s] = 0
    cuda.syncthreads()
    for first in range(tid, count, AT_ONCE * block_size):
        read_arcs(space, first, count, ends)
        for j in range(AT_ONCE):
            if ends[j] >= 0:
                cuda.atomic.add(work, out + ends[j], int32(1))
    cuda.syncthreads()
    # Where each row starts: a thread adds up a run of slots, the first thread adds up the runs.
    chunk = (slots + block_size - 1) // block_size
    low, high = min(tid * chunk, slots), min((tid + 1) * chunk, slots)
    sum_ = 0
    for s in range(low, high):
        sum_ += work[out + s]
    partial[tid] = sum_
    cuda.syncthreads()
    if tid == 0:
        total = 0
        for j in range(block_size):
            part = partial[j]
            partial[j] = total
            total += part
        work[row + slots] = total
    cuda.syncthreads()
    sum_ = partial[tid]
    for s in range(low, high):
        size = work[out + s]
        work[row + s] = sum_
        work[out + s] = sum_
        sum_ += size
    cuda.syncthreads()
    for first in range(tid, count, AT_ONCE * block_size):
        read_arcs(space, first, count, ends)
        for j in range(AT_ONCE):
            if ends[j] >= 0:
                places[j] = cuda.atomic.add(work, out + ends[j], int32(1))
        for j in range(AT_ONCE):
            if ends[j] >= 0:
                work[child + places[j]] = ends[AT_ONCE + j]
    cuda.syncthreads()
