"""One live-edge world by one block of a GPU, for labels: its vertices by local number, what seeds reach, rows of arcs.

Device functions of the kernel in ``levels_cuda.py``; all threads of a block call them together. A block keeps a world
in its own part of one array, ``work``: rows of ``cap`` 32-bit words, named below. It holds arcs as a list and works
along them in passes, so that little depends on how many arcs a vertex has. The functions of
:mod:`gpukit.imgpu.world_cuda` that draw a world and read its arcs are used here, too, so rows and counters that both
name have the same numbers.
"""

from typing import Any, NamedTuple

from numba import int32, int64

from gpukit.device.kernels import cuda, device
from gpukit.imgpu import world_cuda
from gpukit.imgpu.world_cuda import AT_ONCE, ENDS, at, read_arcs

(
    VERTEX, TAIL, HEAD, GONE, COMP, WEIGHT, LEVEL, ORDER, LEVEL_START, OUT, ROW, CHILD,
    SKIP, MARK, QUEUE, PARENT, TOTAL, REACH, START, SIZE, SEARCHED, SIDE, JOIN_NO, JOINS, POOL,
) = range(25)  # fmt: skip
"""Rows of a block's work: by slot (vertex, …), by arc (TAIL, HEAD, CHILD), by place in an order, or lists."""

LEFT_TAIL, LEFT_HEAD = POOL, POOL + 1
"""Rows of the pool, which has something else to hold until there are labels: arcs that a pass left for the next."""

POOL_ROWS = 2
ROWS = POOL + POOL_ROWS

SLOTS, POOL_USED, JOIN_COUNT, COUNTERS = range(world_cuda.COUNTERS, world_cuda.COUNTERS + 4)
"""What a block counts in shared memory beside what :mod:`gpukit.imgpu.world_cuda` names: slots, words of the pool in
use, and joins; and the number of all counters."""


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


class WorldMemory(NamedTuple):
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
    return WorldMemory(memory.work, memory.cap, memory.slot_of, block * ROWS * memory.cap, block * n, counters)


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
def remove_reached(space, seeds, count, slots):
    """Mark in GONE what the seeds reach."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, gone = space.work, at(space, GONE)
    for s in range(tid, slots, block_size):
        work[gone + s] = 0
    cuda.syncthreads()
    for i in range(tid, len(seeds), block_size):
        s = space.slot_of[space.slot_base + seeds[i]]
        if s >= 0:
            work[gone + s] = 1
    cuda.syncthreads()
    _flood(work, at(space, TAIL), at(space, HEAD), count, gone)


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
