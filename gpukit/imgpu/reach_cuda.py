"""Exact reach in one world by one block of a GPU: tree sums and join labels, level by level.

The rule is that of ``reach_cpu.py``. Labels are lists; where a list would be too long, bitsets; where these have no
room, the block searches from the component. Three switches of the paper (section 4) change how it is done and never
what comes out:

- K, *combine*: adjacent levels with at most ``BAND`` components together are done at once. Each component searches its
  band for joins and for what lies below; tree sums climb from each component through its parents in the band.
- R, *reorder*: the components of a level lie by falling number of children, so that the threads of a warp do alike.
- U, *unroll*: children are read this many at a time before any is looked at.
"""

from numba import cuda, int32, int64, uint32

from gpukit.imgpu.world_cuda import (
    CHILD,
    FOUND,
    GONE,
    HEAD,
    JOIN_NO,
    JOINS,
    LEVEL,
    LEVEL_START,
    MARK,
    NUMBERED,
    ORDER,
    PARENT,
    PLACED,
    POOL,
    POOL_ROWS,
    QUEUE,
    REACH,
    ROW,
    SEARCHED,
    SEARCHES,
    SIDE,
    SIZE,
    SKIP,
    START,
    TAIL,
    TOTAL,
    USED,
    WEIGHT,
    flood,
    make_rows,
)

INLINE = 32
"""Joins a list holds at most."""

BAND = 256
"""Components of a band at most (equation 2 of the paper)."""

BAND_WORDS = BAND // 32

NONE, JOIN = -1, -2
"""No parent, and several parents."""

SEARCH, BITSET = -1, -2
"""Sizes of a label that is not kept, and of one that is a bitset over the joins."""

DEGREES = 32
"""Classes of components by number of children."""


@cuda.jit(device=True)
def _add(found, listed, join):
    """Add a join to a list of ``listed``, unless it is there; return the new length, INLINE + 1 if it has no room."""
    for i in range(listed):
        if found[i] == join:
            return listed
    if listed == INLINE:
        return INLINE + 1
    found[listed] = join
    return listed + 1


@cuda.jit(device=True)
def _add_label(work, base, cap, found, listed, v):
    """Add the label of a component below to a list; return the new length, INLINE + 1 if it has no room."""
    size = work[base + SIZE * cap + v]
    if size < 0:
        return INLINE + 1
    start = base + POOL * cap + work[base + START * cap + v]
    for i in range(size):
        listed = _add(found, listed, work[start + i])
        if listed > INLINE:
            break
    return listed


@cuda.jit(device=True)
def _label(work, base, cap, c, unroll, found, ahead):
    """Write the joins that a component reaches to ``found``, from its children's labels; return their number."""
    row, child, skip, parent = base + ROW * cap, base + CHILD * cap, base + SKIP * cap, base + PARENT * cap
    size = base + SIZE * cap
    listed = 0
    low, high = work[row + c], work[row + c + 1]
    while low < high and listed <= INLINE:
        many = min(unroll, high - low)
        for i in range(many):
            ahead[i] = work[child + low + i]
        for i in range(many):
            v = ahead[i]
            if work[skip + v] == 0 and listed <= INLINE:
                if work[parent + v] == JOIN:
                    listed = _add(found, listed, v)
                if work[size + v] != 0 and listed <= INLINE:
                    listed = _add_label(work, base, cap, found, listed, v)
        low += many
    return listed


@cuda.jit(device=True)
def _set_bit(work, bits, number):
    work[bits + (number >> 5)] |= int32(uint32(1) << uint32(number & 31))


@cuda.jit(device=True)
def _label_as_bitset(work, base, cap, c, shared):
    """Make the label of a component a bitset, from its children's, and store the reach that follows.

    Returns whether it could: not where a child has no label, or there is no room.
    """
    row, child, skip, parent = base + ROW * cap, base + CHILD * cap, base + SKIP * cap, base + PARENT * cap
    size, start, number = base + SIZE * cap, base + START * cap, base + JOIN_NO * cap
    words = int32((shared[NUMBERED] + 31) >> 5)
    if shared[USED] + words > POOL_ROWS * cap:
        return False
    for e in range(work[row + c], work[row + c + 1]):
        if work[skip + work[child + e]] == 0 and work[size + work[child + e]] == SEARCH:
            return False
    place = cuda.atomic.add(shared, USED, words)
    if place + words > POOL_ROWS * cap:
        return False
    bits = base + POOL * cap + place
    for i in range(words):
        work[bits + i] = 0
    for e in range(work[row + c], work[row + c + 1]):
        v = work[child + e]
        if work[skip + v] != 0:
            continue
        if work[parent + v] == JOIN:
            _set_bit(work, bits, work[number + v])
        label = base + POOL * cap + work[start + v]
        if work[size + v] == BITSET:
            for i in range(words):
                work[bits + i] |= work[label + i]
        else:
            for i in range(work[size + v]):
                _set_bit(work, bits, work[number + work[label + i]])
    reach = work[base + TOTAL * cap + c]
    for i in range(words):
        word = uint32(work[bits + i])
        at = base + JOINS * cap + 32 * i
        while word != 0:
            if word & uint32(1):
                reach += work[base + TOTAL * cap + work[at]]
            word >>= uint32(1)
            at += 1
    work[size + c] = BITSET
    work[start + c] = place
    work[base + REACH * cap + c] = reach
    return True


@cuda.jit(device=True)
def _label_in_band(work, base, cap, c, bottom, first, found, stack, seen):
    """Write the joins that a component reaches to ``found``, by a search of its band; return their number.

    ``bottom`` is the lowest level of the band, whose components have places ``first`` … in the order; MARK holds the
    place of each component.
    """
    row, child, skip, parent = base + ROW * cap, base + CHILD * cap, base + SKIP * cap, base + PARENT * cap
    place = base + MARK * cap
    for i in range(BAND_WORDS):
        seen[i] = uint32(0)
    listed, top = 0, 1
    stack[0] = c
    while top > 0 and listed <= INLINE:
        top -= 1
        u = stack[top]
        for e in range(work[row + u], work[row + u + 1]):
            v = work[child + e]
            if work[skip + v] != 0:
                continue
            if work[parent + v] == JOIN:
                listed = _add(found, listed, v)
            if listed > INLINE:
                break
            if work[base + LEVEL * cap + v] >= bottom:
                number = work[place + v] - first
                bit = uint32(1) << uint32(number & 31)
                if seen[number >> 5] & bit == 0:
                    seen[number >> 5] |= bit
                    stack[top] = v
                    top += 1
            else:
                listed = _add_label(work, base, cap, found, listed, v)
                if listed > INLINE:
                    break
    return listed


@cuda.jit(device=True)
def _keep_label(work, base, cap, c, found, listed, bitset, shared):
    """Store a label and the reach that follows from it, or note that the component must be searched from.

    ``bitset`` says whether the labels of the children are there, so that a long one can be made of them.
    """
    reach = work[base + TOTAL * cap + c]
    size = listed
    if 0 < listed <= INLINE:
        start = cuda.atomic.add(shared, USED, int32(listed))
        if start + listed > POOL_ROWS * cap:
            size = INLINE + 1
        else:
            work[base + START * cap + c] = start
            for i in range(listed):
                work[base + POOL * cap + start + i] = found[i]
                reach += work[base + TOTAL * cap + found[i]]
    if size > INLINE:
        if bitset and _label_as_bitset(work, base, cap, c, shared):
            return
        work[base + SIZE * cap + c] = SEARCH
        work[base + SEARCHED * cap + cuda.atomic.add(shared, SEARCHES, int32(1))] = c
        return
    work[base + SIZE * cap + c] = size
    work[base + REACH * cap + c] = reach


@cuda.jit(device=True)
def _search(work, base, cap, c, stamp, shared):
    """Count what a component reaches, by a breadth-first search of the whole block; MARK below ``stamp`` is unseen."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    row, child, skip = base + ROW * cap, base + CHILD * cap, base + SKIP * cap
    mark, queue = base + MARK * cap, base + QUEUE * cap
    if lane == 0:
        work[queue] = c
        work[mark + c] = stamp
        shared[PLACED] = 1
        shared[FOUND] = 0
    head, mine = 0, 0
    while True:
        cuda.syncthreads()
        tail = shared[PLACED]
        cuda.syncthreads()
        if head == tail:
            break
        for j in range(head + lane, tail, width):
            u = work[queue + j]
            mine += work[base + WEIGHT * cap + u]
            for e in range(work[row + u], work[row + u + 1]):
                v = work[child + e]
                if work[skip + v] == 0 and work[mark + v] != stamp:
                    if cuda.atomic.max(work, mark + v, stamp) != stamp:
                        work[queue + cuda.atomic.add(shared, PLACED, int32(1))] = v
        head = tail
    cuda.atomic.add(shared, FOUND, int32(mine))
    cuda.syncthreads()
    if lane == 0:
        work[base + REACH * cap + c] = shared[FOUND]
    cuda.syncthreads()


@cuda.jit(device=True)
def _within(work, base, cap, count, slots, levels, combine, unroll, with_rows, shared):
    """Fill REACH of every component outside SKIP, within those. CHILD is there if ``with_rows``, else there is no join.

    A thread owns a component of a level: it adds its sum to its one parent (an atomic), reads its children and writes
    its list. Cost: every child read once, every label once a parent.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    tail, head, skip = base + TAIL * cap, base + HEAD * cap, base + SKIP * cap
    parent, total, size, mark = base + PARENT * cap, base + TOTAL * cap, base + SIZE * cap, base + MARK * cap
    order, start, reach, part = base + ORDER * cap, base + LEVEL_START * cap, base + REACH * cap, base + QUEUE * cap
    found = cuda.local.array(INLINE, int32)
    ahead = cuda.local.array(128, int32)
    stack = cuda.local.array(BAND, int32)
    seen = cuda.local.array(BAND_WORDS, uint32)
    for s in range(lane, slots, width):
        work[parent + s] = NONE
        work[total + s] = work[base + WEIGHT * cap + s]
        work[size + s] = 0
        work[mark + s] = 0
    if lane == 0:
        shared[USED] = 0
        shared[SEARCHES] = 0
        shared[NUMBERED] = 0
    cuda.syncthreads()
    for e in range(lane, count, width):
        a, b = work[tail + e], work[head + e]
        if a >= 0 and work[skip + a] == 0 and work[skip + b] == 0:
            before = cuda.atomic.cas(work, parent + b, int32(NONE), a)
            if before != NONE and before != a:
                work[parent + b] = JOIN
    cuda.syncthreads()
    if with_rows:
        for s in range(lane, slots, width):
            if work[parent + s] == JOIN:
                number = cuda.atomic.add(shared, NUMBERED, int32(1))
                work[base + JOIN_NO * cap + s] = number
                work[base + JOINS * cap + number] = s
        cuda.syncthreads()
    low = 0
    while low < levels:
        high = low + 1
        if combine and with_rows:
            while high < levels and work[start + high + 1] - work[start + low] <= BAND:
                high += 1
        first, end = work[start + low], work[start + high]
        if high > low + 1:
            for i in range(first + lane, end, width):
                work[mark + work[order + i]] = i
                work[part + work[order + i]] = work[total + work[order + i]]
            cuda.syncthreads()
            for i in range(first + lane, end, width):
                c = work[order + i]
                if work[skip + c] == 0:
                    p = work[parent + c]
                    while p >= 0:
                        if work[base + LEVEL * cap + p] >= high:
                            break
                        cuda.atomic.add(work, total + p, work[part + c])
                        p = work[parent + p]
            cuda.syncthreads()
        for i in range(first + lane, end, width):
            c = work[order + i]
            if work[skip + c] != 0:
                continue
            p = work[parent + c]
            if p >= 0 and work[base + LEVEL * cap + p] >= high:
                cuda.atomic.add(work, total + p, work[total + c])
            if not with_rows:
                work[reach + c] = work[total + c]
            elif high > low + 1:
                listed = _label_in_band(work, base, cap, c, low, first, found, stack, seen)
                _keep_label(work, base, cap, c, found, listed, False, shared)
            else:
                listed = _label(work, base, cap, c, unroll, found, ahead)
                _keep_label(work, base, cap, c, found, listed, True, shared)
        cuda.syncthreads()
        low = high
    if with_rows and shared[SEARCHES] > 0:
        for s in range(lane, slots, width):
            work[mark + s] = 0
        cuda.syncthreads()
        for i in range(shared[SEARCHES]):
            _search(work, base, cap, work[base + SEARCHED * cap + i], int32(i + 1), shared)
    cuda.syncthreads()


@cuda.jit(device=True)
def _reorder(work, base, cap, levels, counts):
    """Sort each level by falling number of children, in classes up to ``DEGREES - 1``; ``counts`` is shared memory."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    order, start, row, spare = base + ORDER * cap, base + LEVEL_START * cap, base + ROW * cap, base + QUEUE * cap
    for level in range(levels):
        low, high = work[start + level], work[start + level + 1]
        for i in range(lane, DEGREES, width):
            counts[i] = 0
        cuda.syncthreads()
        for i in range(low + lane, high, width):
            c = work[order + i]
            work[spare + i] = c
            cuda.atomic.add(counts, DEGREES - 1 - min(DEGREES - 1, work[row + c + 1] - work[row + c]), int32(1))
        cuda.syncthreads()
        if lane == 0:
            place = low
            for i in range(DEGREES):
                many = counts[i]
                counts[i] = place
                place += many
        cuda.syncthreads()
        for i in range(low + lane, high, width):
            c = work[spare + i]
            degree = DEGREES - 1 - min(DEGREES - 1, work[row + c + 1] - work[row + c])
            work[order + cuda.atomic.add(counts, degree, int32(1))] = c
        cuda.syncthreads()


@cuda.jit(device=True)
def reach_all(work, base, cap, count, slots, levels, split, combine, reorder, unroll, shared, partial, heaviest):
    """Fill REACH for every component that is not gone; see :func:`gpukit.imgpu.reach_cpu.reach_all`."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    tail, head = base + TAIL * cap, base + HEAD * cap
    gone, skip, weight = base + GONE * cap, base + SKIP * cap, base + WEIGHT * cap
    below, above = base + START * cap, base + SIZE * cap
    joins = 0
    mine = int64(0)
    if lane == 0:
        heaviest[0] = 0
    for s in range(lane, slots, width):
        work[skip + s] = work[gone + s]
        work[base + PARENT * cap + s] = NONE
        mine = max(mine, int64(work[weight + s]) << 32 | int64(s))
    cuda.syncthreads()
    cuda.atomic.max(heaviest, 0, mine)
    for e in range(lane, count, width):
        if work[tail + e] >= 0:
            before = cuda.atomic.cas(work, base + PARENT * cap + work[head + e], int32(NONE), work[tail + e])
            if before != NONE and before != work[tail + e]:
                joins = 1
    with_rows = cuda.syncthreads_or(joins) != 0
    if with_rows:
        make_rows(work, base, cap, count, slots, partial)
        if reorder:
            _reorder(work, base, cap, levels, partial)
    heavy = int64(heaviest[0] & int64(0xFFFFFFFF))
    divided = with_rows and heaviest[0] >> 32 >= split
    side, under = base + SIDE * cap, int32(0)
    if divided:
        for s in range(lane, slots, width):
            work[below + s] = 1 if s == heavy else 0
            work[above + s] = 1 if s == heavy else 0
        if lane == 0:
            shared[FOUND] = 0
        cuda.syncthreads()
        flood(work, tail, head, count, below, gone)
        flood(work, head, tail, count, above, gone)
        for s in range(lane, slots, width):
            work[side + s] = (2 if work[below + s] else 0) | (1 if work[above + s] else 0)
            under += work[weight + s] if work[below + s] else 0
            work[skip + s] = 1 if work[gone + s] or work[below + s] else 0
        cuda.atomic.add(shared, FOUND, under)
        cuda.syncthreads()
        under = shared[FOUND]
        cuda.syncthreads()
    for turn in range(2 if divided else 1):
        _within(work, base, cap, count, slots, levels, combine, unroll, with_rows, shared)
        if divided:
            for s in range(lane, slots, width):
                if turn == 0:
                    if work[side + s] == 1:
                        work[base + REACH * cap + s] += under
                    work[skip + s] = 1 if work[gone + s] or work[side + s] & 1 else 0
                elif s == heavy:
                    work[base + REACH * cap + s] = under
            cuda.syncthreads()
