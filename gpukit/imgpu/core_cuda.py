"""Exact reach in a world in shared memory: a core first, then short searches; device functions of ``shared_cuda.py``.

What ``search_cuda.py`` says of searches and of a core holds here. But the core is looked for before them, so that slots
that reach it need not find out that they reach too much:

1. The slot with the highest product of in- and out-arcs is taken for one of the core. F is all that it reaches.
2. Where F is large, A is all that reaches this slot. A slot of A reaches F and what a search finds outside F.
3. What is no part of A starts again at 1; once no F is large, searches count the rest.

Source of 1 and 2: the forward-backward search for strong components (Barnat and others, as in ``condense_cuda.py``).
"""

from numba import cuda, int32, int64, uint8, uint16, uint32

from gpukit.imgpu.world_cuda import PLACED, REACH, SEARCHED, SEARCHES, SUM, at

GONE, BELOW, ABOVE, INNER, DONE = 1, 2, 4, 8, 16
"""Bits of a slot: reached by seeds, in F, in A, has arcs in and out, counted."""

ALONE, LOOKED = 128, 512
"""Slots that a thread finds at most, and arcs that it looks at."""

CORE, LARGE = 16, 64
"""In-arcs times out-arcs from which on a slot may be in a core, and slots that F has at least."""

CORES = 8
"""Cores of a world at most."""

TOGETHER = 512
"""Slots of a world that the whole block counts one by one at most; with more, labels count the world."""


@cuda.jit(device=True)
def half(own, i):
    """Return a number of ``halves`` as one that can be reckoned with."""
    return int32(own.halves[i])


@cuda.jit(device=True)
def add_half(own, i, what):
    """Add to a number of ``halves`` that stays below 65,536, and return what it was."""
    shift = uint32(16 * (i & 1))
    return int32((cuda.atomic.add(own.words, i >> 1, uint32(uint32(what) << shift)) >> shift) & uint32(0xFFFF))


@cuda.jit(device=True)
def _search_together(own, s, counters):
    """Make BELOW what slot s reaches of what is not GONE, list it in ``aux``, and return how much; a whole block."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    if tid == 0:
        own.halves[own.aux] = uint16(s)
        own.bytes[own.mark + s] |= uint8(BELOW)
        counters[PLACED] = 1
    head = int32(0)
    while True:
        cuda.syncthreads()
        tail = counters[PLACED]
        cuda.syncthreads()
        if head == tail:
            break
        # Threads share the arcs of a slot where the frontier is small: that of a hub is the hub alone.
        share = max(1, block_size // (tail - head))
        j = head + tid // share
        while j < tail:
            u = half(own, own.aux + j)
            e = half(own, own.row + u) + tid % share
            while e < half(own, own.row + u + 1):
                v = half(own, own.child + e)
                if own.bytes[own.mark + v] & (GONE | BELOW) == 0:
                    place = own.mark + v
                    bit = uint32(BELOW) << uint32(8 * (place & 3))
                    if cuda.atomic.or_(own.words, place >> 2, bit) & bit == 0:
                        own.halves[own.aux + cuda.atomic.add(counters, PLACED, int32(1))] = uint16(v)
                e += share
            j += block_size // share
        head = tail
    return tail


@cuda.jit(device=True)
def _find_core(own, slots, arcs, counters, highest):
    """Make BELOW and ABOVE what a core reaches and what reaches it; return how much the first is, 0 if there is none.

    A core is looked for among what is neither GONE nor DONE. INNER, BELOW and ABOVE are clear before.
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
            if into > 0 and out > 0:
                own.bytes[own.mark + s] = uint8(INNER)
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


@cuda.jit(device=True)
def _search_alone(own, space, slots, weight):
    """Count the slots of A where there is a core (``weight`` > 0), else all that are not DONE; a thread each.

    REACH gets the sums. Those that find too much get 1 and go to SEARCHED, ``counters[SEARCHES]`` of them.
    """
    tid, block_size, work, reach = cuda.threadIdx.x, cuda.blockDim.x, space.work, at(space, REACH)
    found = cuda.local.array(ALONE, uint16)
    i = int32(tid) - int32(block_size)
    s, done, listed, looked, low, high = int32(-1), int32(0), int32(0), int32(0), int32(0), int32(0)
    closed = uint8(GONE | BELOW) if weight > 0 else uint8(GONE)
    wanted, base = (uint8(ABOVE), weight) if weight > 0 else (uint8(0), int32(0))
    while True:
        too_many = False
        if low < high:
            v = own.halves[own.child + low]
            low += int32(1)
            if own.bytes[own.mark + v] & closed == 0:
                known = False
                for k in range(listed):
                    known = known | (found[k] == v)
                if not known:
                    if listed == ALONE:
                        too_many = True
                    else:
                        found[listed] = v
                        listed += int32(1)
        elif done < listed:
            u = int32(found[done])
            low, high = half(own, own.row + u), half(own, own.row + u + 1)
            done += int32(1)
            looked += high - low
            too_many = looked > LOOKED
        else:
            if s >= 0:
                work[reach + s] = base + listed
            i += int32(block_size)
            if i >= slots:
                break
            s, done, listed, looked = int32(-1), int32(0), int32(0), int32(0)
            mark = own.bytes[own.mark + i]
            if mark & (GONE | DONE) == 0 and mark & wanted == wanted:
                if mark & wanted & ABOVE != 0 and mark & BELOW != 0:
                    work[reach + i] = weight
                else:
                    s = i
                    found[0] = uint16(s)
                    listed = int32(1)
        if too_many:
            place = cuda.atomic.add(space.counters, SEARCHES, int32(1))
            work[at(space, SEARCHED) + place] = s
            work[reach + s] = 1
            s, done, listed, low, high = int32(-1), int32(0), int32(0), int32(0), int32(0)


@cuda.jit(device=True)
def _count_world(own, space, slots, arcs, highest):
    """Fill REACH of every slot that is not GONE, with 1 for those in SEARCHED; return how many these are."""
    tid, block_size, counters = cuda.threadIdx.x, cuda.blockDim.x, space.counters
    if tid == 0:
        counters[SEARCHES] = 0
    cores = 0
    while True:
        weight = int32(0)
        if cores < CORES:
            weight = _find_core(own, slots, arcs, counters, highest)
        cuda.syncthreads()
        _search_alone(own, space, slots, weight)
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


@cuda.jit(device=True)
def add_gains(own, space, slots, arcs, vertices, first, highest, gains):
    """Add what each vertex reaches, itself left out, to ``gains``, -1 for those that are gone; False if labels must.

    ``vertices`` from ``first`` on are those of the slots.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    left = _count_world(own, space, slots, arcs, highest)
    if left > TOGETHER:
        return False
    for s in range(tid, slots, block_size):
        gain = space.work[at(space, REACH) + s] - int32(1) if own.bytes[own.mark + s] & GONE == 0 else int32(-1)
        if gain != 0:
            cuda.atomic.add(gains, vertices[first + s], int64(gain))
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
