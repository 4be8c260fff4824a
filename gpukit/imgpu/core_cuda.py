"""Exact reach in a world in shared memory: a core first, then short searches; device functions of ``shared_cuda.py``.

What ``search_cuda.py`` says of searches and of a core holds here. But the core is looked for before them, so that slots
that reach it need not find out that they reach too much:

1. The slot with the highest product of in- and out-arcs is taken for one of the core. F is all that it reaches.
2. Where F is large, A is all that reaches this slot. A slot of A reaches F and what a search finds outside F.
3. What is no part of A starts again at 1; once no F is large, searches count the rest.

Source of 1 and 2: the forward-backward search for strong components (Barnat and others, as in ``condense_cuda.py``).
"""

from numba import int32, int64, uint8, uint16, uint32, uint64

from gpukit.device.kernels import cuda, device
from gpukit.imgpu.world_cuda import AT_ONCE, PLACED, REACH, SEARCHED, SEARCHES, SUM, at

GONE, BELOW, ABOVE, INNER, DONE, ONCE, LEAF = 1, 2, 4, 8, 16, 32, 64
"""Bits of a slot: reached by seeds, in F, in A, has arcs in and out, counted; has one arc in at most, none out."""

ALONE, LOOKED = 128, 512
"""Slots that a thread lists at most, and arcs that it looks at."""

CORE, LARGE = 16, 64
"""In-arcs times out-arcs from which on a slot may be in a core, and slots that F has at least."""

CORES = 8
"""Cores of a world at most."""

TOGETHER = 512
"""Slots of a world that the whole block counts one by one at most; with more, labels count the world."""


@device
def half(own, i):
    """Return a number of ``halves`` as one that can be reckoned with."""
    return int32(own.halves[i])


@device
def add_half(own, i, what):
    """Add to a number of ``halves`` that stays below 65,536, and return what it was."""
    shift = uint32(16 * (i & 1))
    return int32((cuda.atomic.add(own.words, i >> 1, uint32(uint32(what) << shift)) >> shift) & uint32(0xFFFF))


@device
def search_listed(own, bit, counters):
    """Set a bit of what the slots in ``aux`` reach of what is not GONE, list it there, and return how much is listed.

    By a whole block. ``counters[PLACED]`` slots are listed before, and have the bit; a barrier must come before.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    head = int32(0)
    while True:
        tail = counters[PLACED]
        cuda.syncthreads()
        if head == tail:
            break
        # Threads share the arcs of a slot where the frontier is small: that of a hub is the hub alone. So many that no
        # number must be divided, which takes longer than most steps.
        shift = int32(0)
        while (tail - head) << (shift + 1) <= block_size:
            shift += int32(1)
        share = int32(1) << shift
        j = head + (tid >> shift)
        while j < tail:
            u = half(own, own.aux + j)
            e = half(own, own.row + u) + (tid & (share - 1))
            while e < half(own, own.row + u + 1):
                v = half(own, own.child + e)
                if own.bytes[own.mark + v] & (GONE | bit) == 0:
                    place = own.mark + v
                    shifted = uint32(bit) << uint32(8 * (place & 3))
                    if cuda.atomic.or_(own.words, place >> 2, shifted) & shifted == 0:
                        own.halves[own.aux + cuda.atomic.add(counters, PLACED, int32(1))] = uint16(v)
                e += share
            j += block_size >> shift
        head = tail
        cuda.syncthreads()
    return tail


@device
def _search_together(own, s, counters):
    """Make BELOW what slot s reaches of what is not GONE, and return how much; a whole block."""
    if cuda.threadIdx.x == 0:
        own.halves[own.aux] = uint16(s)
        own.bytes[own.mark + s] |= uint8(BELOW)
        counters[PLACED] = 1
    cuda.syncthreads()
    return search_listed(own, BELOW, counters)


@device
def _find_core(own, slots, arcs, counters, highest):
    """Make BELOW and ABOVE what a core reaches and what reaches it; return how much the first is, 0 if there is none.

    A core is looked for among what is neither GONE nor DONE. The other bits are clear before; INNER, ONCE and LEAF are
    set then.
    """
    tid, block_size, halves = cuda.threadIdx.x, cuda.blockDim.x, own.halves
    for s in range(tid, (slots + 1) >> 1, block_size):
        own.words[(own.aux >> 1) + s] = uint32(0)
    if tid == 0:
        highest[0] = 0
        counters[SUM] = 0
    cuda.syncthreads()
    for e in range(tid, arcs, block_size):
        add_half(own, own.aux + half(own, own.child + e), 1)
    cuda.syncthreads()
    best = int64(0)
    for s in range(tid, slots, block_size):
        if own.bytes[own.mark + s] & (GONE | DONE) == 0:
            into, out = half(own, own.aux + s), half(own, own.row + s + 1) - half(own, own.row + s)
            best = max(best, int64(into) * int64(out) << 32 | int64(s))
            inner, once, leaf = INNER if into > 0 and out > 0 else 0, ONCE if into < 2 else 0, LEAF if out == 0 else 0
            own.bytes[own.mark + s] = uint8(inner | once | leaf)
    if best >= int64(CORE) << 32:
        cuda.atomic.max(highest, 0, best)
    cuda.syncthreads()
    if highest[0] == 0:
        return int32(0)
    pivot = int32(highest[0] & int64(0xFFFFFFFF))
    weight = _search_together(own, pivot, counters)
    if weight < LARGE:
        return int32(0)
    # The slots on ways of more than one arc are few: they are listed.
    cuda.syncthreads()
    for s in range(tid, slots, block_size):
        if own.bytes[own.mark + s] & INNER:
            halves[own.aux + cuda.atomic.add(counters, SUM, int32(1))] = uint16(s)
    cuda.syncthreads()
    if tid == 0:
        own.bytes[own.mark + pivot] |= uint8(ABOVE)
    inner = counters[SUM]
    cuda.syncthreads()
    while True:
        changed = 0
        for i in range(tid, inner, block_size):
            s = half(own, own.aux + i)
            if own.bytes[own.mark + s] & ABOVE == 0:
                for e in range(half(own, own.row + s), half(own, own.row + s + 1)):
                    if own.bytes[own.mark + half(own, own.child + e)] & ABOVE:
                        own.bytes[own.mark + s] |= uint8(ABOVE)
                        changed = 1
                        break
        if cuda.syncthreads_or(changed) == 0:
            break
    for s in range(tid, slots, block_size):
        if own.bytes[own.mark + s] & (GONE | DONE | INNER) == 0:
            for e in range(half(own, own.row + s), half(own, own.row + s + 1)):
                if own.bytes[own.mark + half(own, own.child + e)] & ABOVE:
                    own.bytes[own.mark + s] |= uint8(ABOVE)
                    break
    cuda.syncthreads()
    return weight


@device
def _list_searches(own, space, slots, weight):
    """List in ``aux`` what must be searched from and return how much: slots of A, or all but DONE and LEAF.

    A thread has four slots at a time, whose marks are a word. REACH of the core becomes ``weight``.
    """
    tid, block_size, counters = cuda.threadIdx.x, cuda.blockDim.x, space.counters
    passed = uint32(GONE | BELOW | DONE | LEAF) if weight > 0 else uint32(GONE | DONE | LEAF)
    wanted = uint32(ABOVE) if weight > 0 else uint32(0)
    if tid == 0:
        counters[PLACED] = 0
    cuda.syncthreads()
    for quarter in range(tid, (slots + 3) >> 2, block_size):
        marks = own.words[(own.mark >> 2) + quarter]
        left = int32(0)
        for j in range(4):
            mark = (marks >> uint32(8 * j)) & uint32(0xFF)
            if 4 * quarter + j < slots and mark & wanted == wanted:
                if mark & passed == uint32(0):
                    left |= int32(1) << int32(j)
                elif weight > 0 and mark & uint32(BELOW) != uint32(0):
                    space.work[at(space, REACH) + 4 * quarter + j] = weight
        if left != 0:
            place = cuda.atomic.add(counters, PLACED, int32(cuda.popc(left)))
            for j in range(4):
                if (left >> int32(j)) & 1:
                    own.halves[own.aux + place] = uint16(4 * quarter + j)
                    place += int32(1)
    cuda.syncthreads()
    return counters[PLACED]


@device
def _search_alone(own, space, count, weight):
    """Count from each of the ``count`` slots in ``aux``, a thread each: ``weight`` and what is beside F.

    REACH gets the sums. Those that find too much get 1 and go to SEARCHED, ``counters[SEARCHES]`` of them. A slot with
    one arc into it is found once, so that only others, *joins*, are looked up among those found, where a word with a
    bit for each 64th slot does not say that they are new; a leaf that is found once is not even listed. The threads of
    a warp wait for each other at every turn of the loop: each takes the next slot, the next row and an arc in one.
    """
    tid, block_size, work, reach = cuda.threadIdx.x, cuda.blockDim.x, space.work, at(space, REACH)
    found = cuda.local.array(ALONE, uint16)
    closed = uint8(GONE | BELOW) if weight > 0 else uint8(GONE)
    i, s = int32(tid) - int32(block_size), int32(-1)
    done, listed, leaves, looked, low, high = int32(0), int32(0), int32(0), int32(0), int32(0), int32(0)
    joins = uint64(0)
    while True:
        if low >= high:
            if done == listed:
                if s >= 0:
                    work[reach + s] = weight + listed + leaves
                i += int32(block_size)
                if i >= count:
                    break
                s = half(own, own.aux + i)
                found[0] = uint16(s)
                done, listed, leaves, looked, joins = int32(0), int32(1), int32(0), int32(0), uint64(0)
            u = int32(found[done])
            low, high = half(own, own.row + u), half(own, own.row + u + 1)
            done += int32(1)
            looked += high - low
        too_many = looked > LOOKED
        if low < high and not too_many:
            v = own.halves[own.child + low]
            low += int32(1)
            mark = own.bytes[own.mark + v]
            if mark & closed == 0:
                known = int32(v) == s
                if mark & (ONCE | LEAF) == ONCE | LEAF:
                    leaves += int32(1)
                    known = True
                elif mark & ONCE == 0:
                    bit = uint64(1) << uint64(v & 63)
                    if joins & bit != uint64(0):
                        for k in range(listed):
                            known = known | (found[k] == v)
                    joins |= bit
                if not known:
                    if listed == ALONE:
                        too_many = True
                    else:
                        found[listed] = v
                        listed += int32(1)
        if too_many:
            place = cuda.atomic.add(space.counters, SEARCHES, int32(1))
            work[at(space, SEARCHED) + place] = s
            work[reach + s] = 1
            s, done, listed, low, high = int32(-1), int32(0), int32(0), int32(0), int32(0)


@device
def _count_world(own, space, slots, arcs, highest):
    """Fill REACH of every slot that is not GONE nor a LEAF, with 1 for those in SEARCHED; return how many these are."""
    tid, block_size, counters = cuda.threadIdx.x, cuda.blockDim.x, space.counters
    if tid == 0:
        counters[SEARCHES] = 0
    cores = 0
    while True:
        weight = int32(0)
        if cores < CORES:
            weight = _find_core(own, slots, arcs, counters, highest)
        cuda.syncthreads()
        _search_alone(own, space, _list_searches(own, space, slots, weight), weight)
        cuda.syncthreads()
        if weight == 0:
            break
        cores += 1
        for s in range(tid, slots, block_size):
            mark = own.bytes[own.mark + s]
            if mark & ABOVE:
                own.bytes[own.mark + s] = uint8(DONE)
            elif mark & (GONE | DONE) == 0:
                own.bytes[own.mark + s] = uint8(0)
        cuda.syncthreads()
    return counters[SEARCHES]


@device
def add_gains(own, space, slots, arcs, vertices, first, highest, gains):
    """Add what each vertex reaches, itself left out, to ``gains``, -1 for those that are gone; False if labels must.

    ``vertices`` from ``first`` on are those of the slots.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    left = _count_world(own, space, slots, arcs, highest)
    if left > TOGETHER:
        return False
    reaches, owners = cuda.local.array(AT_ONCE, int32), cuda.local.array(AT_ONCE, int32)
    for low in range(tid, slots, AT_ONCE * block_size):
        for j in range(AT_ONCE):
            s = min(low + j * block_size, slots - 1)
            reaches[j], owners[j] = space.work[at(space, REACH) + s], vertices[first + s]
        for j in range(AT_ONCE):
            s = low + j * block_size
            if s < slots:
                mark = own.bytes[own.mark + s]
                if mark & LEAF == 0:
                    gain = reaches[j] - int32(1) if mark & GONE == 0 else int32(-1)
                    if gain != 0:
                        cuda.atomic.add(gains, owners[j], int64(gain))
    for i in range(left):
        for s in range(tid, slots, block_size):
            own.bytes[own.mark + s] &= uint8(GONE)
        cuda.syncthreads()
        s = space.work[at(space, SEARCHED) + i]
        reached = _search_together(own, s, space.counters)
        if tid == 0:
            cuda.atomic.add(gains, vertices[first + s], int64(reached - 1))
        cuda.syncthreads()
    return True
