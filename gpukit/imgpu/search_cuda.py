"""Exact reach in one world by short searches, by one block of a GPU; device functions as in ``world_cuda.py``.

Most slots of a world reach a few others, and a thread counts these alone. A slot that reaches more is *large*, and so
is whatever reaches it. In most worlds slots are large because of one strong component, the core: with a pivot p in it,
F all that p reaches and A all that reach p, a slot of A reaches F and what it finds outside F, which is little again.
Where there are several cores, there are several turns. What is large for another reason is counted by the whole block,
slot by slot, while that is seldom. It is the split of ``reach_cuda.py``, but no component has to be known, and threads
that count wait for each other once, not at each level.

Two facts make it exact. A thread gives up by the number of slots and of arcs there are below its slot, so that large
slots are those by these numbers, whoever comes first; and all that reaches a large one has no fewer and is large, too.
Hence a path from a large slot to p is one of large slots, and A is found along the few arcs between these. In a later
turn it may lead through slots that were counted before; then a slot of A is missed, and left over.
"""

from numba import int32, int64

from gpukit.device.kernels import cuda, device
from gpukit.imgpu import world_cuda as world
from gpukit.imgpu.world_cuda import (
    AT_ONCE,
    COMP,
    ENDS,
    GONE,
    JOIN_COUNT,
    LEFT_HEAD,
    LEFT_TAIL,
    MARK,
    ORDER,
    PARENT,
    PLACED,
    POOL_USED,
    QUEUE,
    REACH,
    ROW,
    SEARCHED,
    SEARCHES,
    SIZE,
    START,
    at,
)

ALONE, LOOKED = 64, 256
"""Slots that a thread finds at most, and arcs that it looks at; a slot that needs more is large."""

BESIDE, LOOKED_BESIDE = 256, 1024
"""The same for searches outside what a pivot reaches: near the threshold of a giant component these are longer."""

PIVOTS = 8
"""Turns at most, each with a pivot; one that leaves over seven eighths of the large slots is the last."""

FEW = 4
"""For up to so many large slots a pivot costs more than to count them one by one."""

TOGETHER = 64
"""Slots of a world that the whole block counts one by one at most; with more, labels count the world."""

OPEN, CLOSED, LARGE = 0, 1, 2
"""What MARK says of a slot to a search: to be found, to be passed over, and that whoever meets it is large, too."""


@device
def _search_alone(space, source, count, base, large, counter, found, alone, arcs):
    """Write ``base`` and the number of slots that it finds to REACH of each open slot, or put it into row ``large``.

    The slots are 0 … count - 1, or those in row ``source`` unless that is negative. A thread owns every
    ``block_size``-th and searches breadth-first: its list is the queue, and tells what was found. It takes its next
    slot in the step after it is done with one, while its neighbours go on with theirs: the threads of a warp wait for
    the longest of their sums, not for the longest of each search. Cost: a step of up to two dependent reads for each
    slot found, and for every AT_ONCE arcs of it. ``large`` has ``counters[counter]`` places taken, more afterwards.
    ``found`` is local memory for the ``alone`` slots that a search finds at most; it looks at most at ``arcs`` arcs.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, row, child, mark = space.work, at(space, ROW), at(space, world.CHILD), at(space, MARK)
    heads_ahead = cuda.local.array(AT_ONCE, int32)
    marks_ahead = cuda.local.array(AT_ONCE, int32)
    i = int64(tid) - block_size
    s, done, listed, looked, low, high = int32(-1), 0, 0, 0, 0, 0
    while True:
        too_many = False
        if low < high:
            for j in range(AT_ONCE):
                heads_ahead[j] = work[child + min(low + j, high - 1)]
            for j in range(AT_ONCE):
                marks_ahead[j] = work[mark + heads_ahead[j]]
            # The last arc of a slot may come several times: its head is known by then.
            for j in range(AT_ONCE):
                if marks_ahead[j] == LARGE:
                    too_many = True
                elif marks_ahead[j] == OPEN and not too_many:
                    known = False
                    for k in range(listed):
                        known = known | (found[k] == heads_ahead[j])
                    if not known:
                        if listed == alone:
                            too_many = True
                        else:
                            found[listed] = heads_ahead[j]
                            listed += 1
            low += AT_ONCE
        elif done < listed:
            low, high = work[row + found[done]], work[row + found[done] + 1]
            done += 1
            looked += high - low
            too_many = looked > arcs
        else:
            if s >= 0:
                work[at(space, REACH) + s] = base + listed
            i += block_size
            if i >= count:
                break
            s, done, listed, looked = int32(-1), 0, 0, 0
            candidate = int32(i) if source < 0 else work[source + i]
            if work[mark + candidate] == OPEN:
                s = candidate
                found[0] = s
                listed = 1
        if too_many:
            work[mark + s] = LARGE
            work[large + cuda.atomic.add(space.counters, counter, int32(1))] = s
            s, done, listed, low, high = int32(-1), 0, 0, 0, 0


@device
def _search_together(space, s, stamp):
    """Put what slot s reaches of what is not gone into QUEUE, and return how much; by the whole block, breadth-first.

    START says who found a slot last: ``stamp`` must be higher than any there. Threads share the arcs of a slot where
    the frontier has fewer slots than the block has threads: that of a hub is the hub alone. Cost: for each step of the
    search four dependent reads and an atomic, between two barriers. All threads leave at one barrier.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, counters, row, child, gone = (
        space.work, space.counters, at(space, ROW), at(space, world.CHILD), at(space, GONE)
    )  # fmt: skip
    seen, queue = at(space, START), at(space, QUEUE)
    if tid == 0:
        work[queue] = s
        work[seen + s] = stamp
        counters[PLACED] = 1
    head = int32(0)
    while True:
        cuda.syncthreads()
        tail = counters[PLACED]
        cuda.syncthreads()
        if head == tail:
            break
        share = max(1, block_size // (tail - head))
        j = head + tid // share
        while j < tail:
            u = work[queue + j]
            e = work[row + u] + tid % share
            while e < work[row + u + 1]:
                v = work[child + e]
                if work[gone + v] == 0 and work[seen + v] != stamp:
                    if cuda.atomic.max(work, seen + v, stamp) != stamp:
                        work[queue + cuda.atomic.add(counters, PLACED, int32(1))] = v
                e += share
            j += block_size // share
        head = tail
    return tail


@device
def _choose_pivot(space, count, source, large, highest):
    """Return the slot of row ``source`` with most arcs from large ones, which LEFT_TAIL and LEFT_HEAD hold.

    Any large slot would do, but one in the core leaves least to count otherwise. A thread has AT_ONCE arcs at a
    time. Cost: a pass along the arcs, with two reads that depend on each other; two atomics for an arc between large
    slots. The number of these arcs is ``counters[POOL_USED]``.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, mark, into = space.work, at(space, MARK), at(space, PARENT)
    ends = cuda.local.array(ENDS, int32)
    marks = cuda.local.array(ENDS, int32)
    for i in range(tid, large, block_size):
        work[into + work[source + i]] = 0
    if tid == 0:
        space.counters[POOL_USED] = 0
        highest[0] = 0
    cuda.syncthreads()
    for first in range(tid, count, AT_ONCE * block_size):
        world.read_arcs(space, first, count, ends)
        for j in range(ENDS):
            marks[j] = work[mark + ends[j]] if ends[j] >= 0 else int32(OPEN)
        for j in range(AT_ONCE):
            if marks[j] == LARGE and marks[AT_ONCE + j] == LARGE:
                place = cuda.atomic.add(space.counters, POOL_USED, int32(1))
                work[at(space, LEFT_TAIL) + place] = ends[j]
                work[at(space, LEFT_HEAD) + place] = ends[AT_ONCE + j]
                cuda.atomic.add(work, into + ends[AT_ONCE + j], int32(1))
    cuda.syncthreads()
    own = int64(0)
    for i in range(tid, large, block_size):
        s = work[source + i]
        own = max(own, int64(work[into + s]) << 32 | int64(s))
    cuda.atomic.max(highest, 0, own)
    cuda.syncthreads()
    return int32(highest[0] & int64(0xFFFFFFFF))


@device
def _mark_above(space, pivot):
    """Make SIZE 1 for large slots that reach the pivot, where it was 0 for all large ones; barriers at both ends.

    A thread owns every ``block_size``-th arc between large slots, and drops those whose tail is marked. Cost: a pass
    along the arcs that are left for each step of the longest way to the pivot, at most.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, tail, head, above = space.work, at(space, LEFT_TAIL), at(space, LEFT_HEAD), at(space, SIZE)
    left = int64(space.counters[POOL_USED])
    if tid == 0:
        work[above + pivot] = 1
    cuda.syncthreads()
    while True:
        changed = 0
        still = int64(tid)
        for e in range(tid, left, block_size):
            a, b = work[tail + e], work[head + e]
            if work[above + a] == 0:
                if work[above + b] == 1:
                    work[above + a] = 1
                    changed = 1
                else:
                    work[tail + still], work[head + still] = a, b
                    still += block_size
        left = still
        if cuda.syncthreads_or(changed) == 0:
            break


@device
def _search_beside(space, count, source, large, rest, stamp, highest, found):
    """Count the large slots that reach a pivot: the weight of what it reaches, and what they find outside that.

    The ``large`` slots are those of row ``source``. Those for which it is too much, and those that do not reach the
    pivot, go to row ``rest``, and their number is returned. START becomes ``stamp`` for what the pivot reaches.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, counters, mark, queue = space.work, space.counters, at(space, MARK), at(space, QUEUE)
    above, below = at(space, SIZE), at(space, START)
    for i in range(tid, large, block_size):
        work[above + work[source + i]] = 0
    pivot = _choose_pivot(space, count, source, large, highest)
    if tid == 0:
        counters[JOIN_COUNT] = 0
    weight = _search_together(space, pivot, stamp)
    _mark_above(space, pivot)
    # What the pivot reaches is closed. Beside it, what reaches the pivot is open again; the core is done.
    for i in range(tid, weight, block_size):
        work[mark + work[queue + i]] = CLOSED
    for i in range(tid, large, block_size):
        s = work[source + i]
        if work[above + s] == 0:
            work[rest + cuda.atomic.add(counters, JOIN_COUNT, int32(1))] = s
        elif work[below + s] == stamp:
            work[at(space, REACH) + s] = weight
        else:
            work[mark + s] = OPEN
    cuda.syncthreads()
    _search_alone(space, source, large, weight, rest, JOIN_COUNT, found, BESIDE, LOOKED_BESIDE)
    cuda.syncthreads()
    # For the next turn all is open but what is left.
    left = counters[JOIN_COUNT]
    for i in range(tid, weight, block_size):
        work[mark + work[queue + i]] = OPEN
    cuda.syncthreads()
    for i in range(tid, left, block_size):
        work[mark + work[rest + i]] = LARGE
    cuda.syncthreads()
    return left


@device
def search_all(space, count, slots, highest):
    """Fill REACH for every slot that is not gone, and make each a component of its own; False if labels must do it.

    By the whole block, for a world with rows (:func:`gpukit.imgpu.world_cuda.make_rows`) and GONE; its arcs stay as
    they are. ``highest`` is shared memory. Cost: the searches of all slots; for each pivot a pass along all arcs, some
    along the few between large slots, a search from the pivot, and others of large slots that are short.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    work, counters = space.work, space.counters
    found = cuda.local.array(BESIDE, int32)
    source, rest = at(space, SEARCHED), at(space, ORDER)
    for s in range(tid, slots, block_size):
        work[at(space, MARK) + s] = CLOSED if work[at(space, GONE) + s] != 0 else OPEN
        work[at(space, COMP) + s] = s
        work[at(space, START) + s] = 0
    if tid == 0:
        counters[SEARCHES] = 0
    cuda.syncthreads()
    _search_alone(space, int64(-1), slots, int32(0), source, SEARCHES, found, ALONE, LOOKED)
    cuda.syncthreads()
    left, stamp, enough = counters[SEARCHES], int32(0), True
    while left > FEW and stamp < PIVOTS and enough:
        stamp += int32(1)
        large = left
        left = _search_beside(space, count, source, large, rest, stamp, highest, found)
        source, rest = rest, source
        enough = 8 * left <= 7 * large
    if left > TOGETHER:
        return False
    for i in range(left):
        s = work[source + i]
        stamp += int32(1)
        reached = _search_together(space, s, stamp)
        if tid == 0:
            work[at(space, REACH) + s] = reached
    cuda.syncthreads()
    return True
