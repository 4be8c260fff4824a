"""Join labels on a GPU, a thread per component: lists, and bitsets where a list would be too long.

Device functions that ``reach_cuda.py`` calls. A list is made in local memory and stored in the block's pool; a bitset
lies in the pool and has a bit for each join of the world.
"""

from numba import int32, uint32

from gpukit.device.kernels import cuda, device
from gpukit.imgpu.reach import BITSET, INLINE, JOIN, SEARCH
from gpukit.imgpu.world_cuda import SEARCHES, at
from gpukit.papers.imgpu import label_world_cuda as world
from gpukit.papers.imgpu.label_world_cuda import (
    CHILD,
    PARENT,
    POOL,
    POOL_ROWS,
    POOL_USED,
    REACH,
    ROW,
    SIZE,
    SKIP,
    START,
    TOTAL,
)
from gpukit.papers.imgpu.switches import BAND

BAND_WORDS = BAND // 32


@device
def _add(found, listed, join):
    """Add a join to a list of ``listed``, unless it is there; return the new length, INLINE + 1 if it has no room."""
    for i in range(listed):
        if found[i] == join:
            return listed
    if listed == INLINE:
        return INLINE + 1
    found[listed] = join
    return listed + 1


@device
def _add_label(space, found, listed, v):
    """Add the label of a component below to a list; return the new length, INLINE + 1 if it has no room.

    The label must not be empty: nothing says then where it starts.
    """
    size = space.work[at(space, SIZE) + v]
    if size < 0:
        return INLINE + 1
    start = at(space, POOL) + space.work[at(space, START) + v]
    for i in range(size):
        listed = _add(found, listed, space.work[start + i])
        if listed > INLINE:
            break
    return listed


@device
def label(space, c, unroll, found, ahead):
    """Write the joins that a component reaches to ``found``, from its children's labels; return their number.

    U: ``unroll`` children are read ahead before any is looked at, so that their loads are under way together.
    """
    work, row, child, skip, parent, size = (
        space.work, at(space, ROW), at(space, CHILD), at(space, SKIP), at(space, PARENT), at(space, SIZE)
    )  # fmt: skip
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
                    listed = _add_label(space, found, listed, v)
        low += many
    return listed


@device
def _set_bit(work, bits, number):
    """Set bit ``number`` of the bitset that begins at ``bits``."""
    work[bits + (number >> 5)] |= int32(uint32(1) << uint32(number & 31))


@device
def _add_totals(space, reach, bits, words):
    """Return ``reach`` plus T of every join of a bitset."""
    work = space.work
    for i in range(words):
        word = uint32(work[bits + i])
        place = at(space, world.JOINS) + 32 * i
        while word != 0:
            if word & uint32(1):
                reach += work[at(space, TOTAL) + work[place]]
            word >>= uint32(1)
            place += 1
    return reach


@device
def _label_as_bitset(space, c):
    """Make the label of a component a bitset, from its children's, and store the reach that follows.

    Returns whether it could: not where a child has no label, or there is no room.
    """
    work, row, child, skip, parent = space.work, at(space, ROW), at(space, CHILD), at(space, SKIP), at(space, PARENT)
    size, start, number = at(space, SIZE), at(space, START), at(space, world.JOIN_NO)
    words = int32((space.counters[world.JOIN_COUNT] + 31) >> 5)
    if space.counters[POOL_USED] + words > POOL_ROWS * space.cap:
        return False
    for e in range(work[row + c], work[row + c + 1]):
        if work[skip + work[child + e]] == 0 and work[size + work[child + e]] == SEARCH:
            return False
    place = cuda.atomic.add(space.counters, POOL_USED, words)
    if place + words > POOL_ROWS * space.cap:
        return False
    bits = at(space, POOL) + place
    for i in range(words):
        work[bits + i] = 0
    for e in range(work[row + c], work[row + c + 1]):
        v = work[child + e]
        if work[skip + v] != 0:
            continue
        if work[parent + v] == JOIN:
            _set_bit(work, bits, work[number + v])
        if work[size + v] == 0:
            continue
        kept = at(space, POOL) + work[start + v]
        if work[size + v] == BITSET:
            for i in range(words):
                work[bits + i] |= work[kept + i]
        else:
            for i in range(work[size + v]):
                _set_bit(work, bits, work[number + work[kept + i]])
    reach = _add_totals(space, work[at(space, TOTAL) + c], bits, words)
    work[size + c] = BITSET
    work[start + c] = place
    work[at(space, REACH) + c] = reach
    return True


@device
def label_in_band(space, c, bottom, first, found, stack, seen):
    """Write the joins that a component reaches to ``found``, by a search of its band; return their number.

    ``bottom`` is the lowest level of the band, whose components have places ``first`` … in the order; MARK holds the
    place of each component.
    """
    work, row, child, skip, parent = space.work, at(space, ROW), at(space, CHILD), at(space, SKIP), at(space, PARENT)
    place = at(space, world.MARK)
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
            if work[at(space, world.LEVEL) + v] >= bottom:
                number = work[place + v] - first
                bit = uint32(1) << uint32(number & 31)
                if seen[number >> 5] & bit == 0:
                    seen[number >> 5] |= bit
                    stack[top] = v
                    top += 1
            elif work[at(space, SIZE) + v] != 0:
                listed = _add_label(space, found, listed, v)
                if listed > INLINE:
                    break
    return listed


@device
def keep_label(space, c, found, listed, bitset):
    """Store a label and the reach that follows from it, or note that the component must be searched from.

    ``bitset`` says whether the labels of the children are there, so that a long one can be made of them.
    """
    work, counters = space.work, space.counters
    reach = work[at(space, TOTAL) + c]
    size = listed
    if 0 < listed <= INLINE:
        start = cuda.atomic.add(counters, POOL_USED, int32(listed))
        if start + listed > POOL_ROWS * space.cap:
            size = INLINE + 1
        else:
            work[at(space, START) + c] = start
            for i in range(listed):
                work[at(space, POOL) + start + i] = found[i]
                reach += work[at(space, TOTAL) + found[i]]
    if size > INLINE:
        if bitset and _label_as_bitset(space, c):
            return
        work[at(space, SIZE) + c] = SEARCH
        work[at(space, world.SEARCHED) + cuda.atomic.add(counters, SEARCHES, int32(1))] = c
        return
    work[at(space, SIZE) + c] = size
    work[at(space, REACH) + c] = reach
