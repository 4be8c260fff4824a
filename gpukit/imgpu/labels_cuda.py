"""Join labels on a GPU, a thread a component: lists, and bitsets where a list would be too long.

Device functions of ``reach_cuda.py``. A list is made in local memory and stored in the block's pool; a bitset lies in
the pool and has a bit a join of the world.
"""

from numba import cuda, int32, uint32

from gpukit.imgpu.world_cuda import (
    CHILD,
    JOIN_NO,
    JOINS,
    LEVEL,
    MARK,
    NUMBERED,
    PARENT,
    POOL,
    POOL_ROWS,
    REACH,
    ROW,
    SEARCHED,
    SEARCHES,
    SIZE,
    SKIP,
    START,
    TOTAL,
    USED,
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
def label(work, base, cap, c, unroll, found, ahead):
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
        kept = base + POOL * cap + work[start + v]
        if work[size + v] == BITSET:
            for i in range(words):
                work[bits + i] |= work[kept + i]
        else:
            for i in range(work[size + v]):
                _set_bit(work, bits, work[number + work[kept + i]])
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
def label_in_band(work, base, cap, c, bottom, first, found, stack, seen):
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
def keep_label(work, base, cap, c, found, listed, bitset, shared):
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
