"""Exact reach in a world by short searches, one GPU block per world; device functions like those of ``world_cuda.py``.

Most slots of a world reach few others, and one thread counts these alone. If many slots reach many others, the usual
reason is one large strong component, the core. The core is found first, so that slots that reach it need no long
search:

1. The slot with the highest product of in- and out-arcs is assumed to be in the core. F is the set of all slots that
   it reaches.
2. If F is large, A is the set of slots that reach this slot. A slot of A reaches F, and what a search finds outside F.
3. Step 1 starts again on the slots outside A. Once F is not large, searches count the rest.

A thread gives up a search that finds too much. The whole block repeats these searches, one by one. Most worlds have
none; with weighted cascade a world of 31,000 slots has up to about 1,400. Source of 1 and 2: the forward-backward
search for strong components (Barnat, Bauch, Brim, Ceska, "Computing strongly connected components in parallel on CUDA",
IPDPS 2011, the paper's reference 1).
"""

from numba import int32, int64, uint8, uint32, uint64

from gpukit.device.kernels import cuda, device
from gpukit.imgpu.world_cuda import (
    AT_ONCE,
    GONE,
    PLACED,
    REACH,
    SEARCHED,
    SEARCHES,
    SUM,
    add_number,
    at,
    number_at,
)

BELOW, ABOVE, INNER, DONE, ONCE, LEAF = 2, 4, 8, 16, 32, 64
"""Bits of a slot besides GONE: in F; in A; has in-arcs and out-arcs; counted; has at most one in-arc; has no
out-arcs."""

ALONE, LOOKED = 128, 512
"""Limits of a search by one thread: slots listed, and arcs examined."""

CORE, LARGE = 16, 64
"""Least product of in-arcs and out-arcs of a slot of a core, and fewest slots of a large F."""

CORES = 8
"""Most cores of a world."""


@device
def search_listed(world, bit):
    """Set a bit of all slots reachable from those in ``aux``, except GONE ones; list and count them in ``aux``.

    By a whole block. ``counters[PLACED]`` slots must be listed and have the bit; a barrier must come before.
    """
    tid, block_size, counters = cuda.threadIdx.x, cuda.blockDim.x, world.counters
    head = int32(0)
    while True:
        tail = counters[PLACED]
        cuda.syncthreads()
        if head == tail:
            break
        # If the frontier is small, several threads share the arcs of a slot; a hub is often alone in the frontier.
        # Their number is a power of two, because an integer division takes longer than most steps.
        shift = int32(0)
        while (tail - head) << (shift + 1) <= block_size:
            shift += int32(1)
        share = int32(1) << shift
        j = head + (tid >> shift)
        while j < tail:
            u = number_at(world, world.aux + j)
            e = number_at(world, world.row + u) + (tid & (share - 1))
            while e < number_at(world, world.row + u + 1):
                v = number_at(world, world.child + e)
                if world.bytes[world.mark + v] & (GONE | bit) == 0:
                    place = world.mark + v
                    shifted = uint32(bit) << uint32(8 * (place & 3))
                    if cuda.atomic.or_(world.words, place >> 2, shifted) & shifted == 0:
                        world.numbers[world.aux + cuda.atomic.add(counters, PLACED, int32(1))] = v
                e += share
            j += block_size >> shift
        head = tail
        cuda.syncthreads()
    return tail


@device
def _search_together(world, s):
    """Mark the slots that slot s reaches as BELOW, except GONE ones, and return their number; a whole block."""
    if cuda.threadIdx.x == 0:
        world.numbers[world.aux] = s
        world.bytes[world.mark + s] |= uint8(BELOW)
        world.counters[PLACED] = 1
    cuda.syncthreads()
    return search_listed(world, BELOW)


@device
def _find_core(world, slots, arcs, highest):
    """Mark what a core reaches as BELOW and what reaches it as ABOVE; return the reach of the core, 0 if there is none.

    The core is searched among slots that are neither GONE nor DONE. Other bits must be clear before; INNER, ONCE and
    LEAF are set afterwards.
    """
    tid, block_size, counters = cuda.threadIdx.x, cuda.blockDim.x, world.counters
    for s in range(tid, (slots + world.packed) >> world.packed, block_size):
        world.words[(world.aux >> world.packed) + s] = uint32(0)
    if tid == 0:
        highest[0] = 0
        counters[SUM] = 0
    cuda.syncthreads()
    for e in range(tid, arcs, block_size):
        add_number(world, world.aux + number_at(world, world.child + e), 1)
    cuda.syncthreads()
    best = int64(0)
    for s in range(tid, slots, block_size):
        if world.bytes[world.mark + s] & (GONE | DONE) == 0:
            into = number_at(world, world.aux + s)
            out = number_at(world, world.row + s + 1) - number_at(world, world.row + s)
            best = max(best, min(int64(into) * int64(out), int64(0x7FFFFFFF)) << 32 | int64(s))
            inner, once, leaf = INNER if into > 0 and out > 0 else 0, ONCE if into < 2 else 0, LEAF if out == 0 else 0
            world.bytes[world.mark + s] = uint8(inner | once | leaf)
    if best >= int64(CORE) << 32:
        cuda.atomic.max(highest, 0, best)
    cuda.syncthreads()
    if highest[0] == 0:
        return int32(0)
    pivot = int32(highest[0] & int64(0xFFFFFFFF))
    weight = _search_together(world, pivot)
    if weight < LARGE:
        return int32(0)
    # Few slots are on paths of more than one arc; these are listed.
    cuda.syncthreads()
    for s in range(tid, slots, block_size):
        if world.bytes[world.mark + s] & INNER:
            world.numbers[world.aux + cuda.atomic.add(counters, SUM, int32(1))] = s
    cuda.syncthreads()
    if tid == 0:
        world.bytes[world.mark + pivot] |= uint8(ABOVE)
    inner = counters[SUM]
    cuda.syncthreads()
    while True:
        changed = 0
        for i in range(tid, inner, block_size):
            s = number_at(world, world.aux + i)
            if world.bytes[world.mark + s] & ABOVE == 0:
                for e in range(number_at(world, world.row + s), number_at(world, world.row + s + 1)):
                    if world.bytes[world.mark + number_at(world, world.child + e)] & ABOVE:
                        world.bytes[world.mark + s] |= uint8(ABOVE)
                        changed = 1
                        break
        if cuda.syncthreads_or(changed) == 0:
            break
    for s in range(tid, slots, block_size):
        if world.bytes[world.mark + s] & (GONE | DONE | INNER) == 0:
            for e in range(number_at(world, world.row + s), number_at(world, world.row + s + 1)):
                if world.bytes[world.mark + number_at(world, world.child + e)] & ABOVE:
                    world.bytes[world.mark + s] |= uint8(ABOVE)
                    break
    cuda.syncthreads()
    return weight


@device
def _list_searches(world, slots, weight):
    """List the slots to search from in ``aux`` and return their number: slots of A outside F, or all but DONE and LEAF.

    A thread handles four slots at a time, because their marks are one word. REACH of the core becomes ``weight``.
    """
    tid, block_size, counters = cuda.threadIdx.x, cuda.blockDim.x, world.counters
    passed = uint32(GONE | BELOW | DONE | LEAF) if weight > 0 else uint32(GONE | DONE | LEAF)
    wanted = uint32(ABOVE) if weight > 0 else uint32(0)
    if tid == 0:
        counters[PLACED] = 0
    cuda.syncthreads()
    for quarter in range(tid, (slots + 3) >> 2, block_size):
        marks = world.words[(world.mark >> 2) + quarter]
        left = int32(0)
        for j in range(4):
            mark = (marks >> uint32(8 * j)) & uint32(0xFF)
            if 4 * quarter + j < slots and mark & wanted == wanted:
                if mark & passed == uint32(0):
                    left |= int32(1) << int32(j)
                elif weight > 0 and mark & uint32(BELOW) != uint32(0):
                    world.work[at(world, REACH) + 4 * quarter + j] = weight
        if left != 0:
            place = cuda.atomic.add(counters, PLACED, int32(cuda.popc(left)))
            for j in range(4):
                if (left >> int32(j)) & 1:
                    world.numbers[world.aux + place] = 4 * quarter + j
                    place += int32(1)
    cuda.syncthreads()
    return counters[PLACED]


@device
def _search_alone(world, count, weight, found):
    """Count the reach of each of the ``count`` slots in ``aux``, one thread each: ``weight`` plus the slots outside F.

    REACH gets the sums. A slot that finds too much gets 1 and is appended to SEARCHED (``counters[SEARCHES]`` slots). A
    slot with one in-arc is found only once. So only slots with several, *joins*, are looked up among the found slots,
    unless a 64-bit filter of their numbers modulo 64 shows that they are new. A leaf with one in-arc is not even
    listed. The threads of a warp run the loop in lockstep, so one iteration takes the next slot, the next row and an
    arc.
    """
    tid, block_size, work, reach = cuda.threadIdx.x, cuda.blockDim.x, world.work, at(world, REACH)
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
                s = number_at(world, world.aux + i)
                found[0] = s
                done, listed, leaves, looked, joins = int32(0), int32(1), int32(0), int32(0), uint64(0)
            u = int32(found[done])
            low, high = number_at(world, world.row + u), number_at(world, world.row + u + 1)
            done += int32(1)
            looked += high - low
        too_many = looked > LOOKED
        if low < high and not too_many:
            v = world.numbers[world.child + low]
            low += int32(1)
            mark = world.bytes[world.mark + v]
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
            place = cuda.atomic.add(world.counters, SEARCHES, int32(1))
            work[at(world, SEARCHED) + place] = s
            work[reach + s] = 1
            s, done, listed, low, high = int32(-1), int32(0), int32(0), int32(0), int32(0)


@device
def _count_world(world, slots, arcs, highest, found):
    """Fill REACH of every slot that is neither GONE nor a LEAF, 1 for slots in SEARCHED; return the number of these."""
    tid, block_size, counters = cuda.threadIdx.x, cuda.blockDim.x, world.counters
    if tid == 0:
        counters[SEARCHES] = 0
    cores = 0
    while True:
        weight = int32(0)
        if cores < CORES:
            weight = _find_core(world, slots, arcs, highest)
        cuda.syncthreads()
        _search_alone(world, _list_searches(world, slots, weight), weight, found)
        cuda.syncthreads()
        if weight == 0:
            break
        cores += 1
        for s in range(tid, slots, block_size):
            mark = world.bytes[world.mark + s]
            if mark & ABOVE:
                world.bytes[world.mark + s] = uint8(DONE)
            elif mark & (GONE | DONE) == 0:
                world.bytes[world.mark + s] = uint8(0)
        cuda.syncthreads()
    return counters[SEARCHES]


@device
def add_gains(world, slots, arcs, vertices, first, gains, highest, found):
    """Add the reach of each vertex, itself excluded, to ``gains``; -1 for vertices that are gone.

    ``vertices[first:]`` are the vertices of the slots. ``highest`` is shared memory, and ``found`` local memory for
    ALONE numbers.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    left = _count_world(world, slots, arcs, highest, found)
    reaches, owners = cuda.local.array(AT_ONCE, int32), cuda.local.array(AT_ONCE, int32)
    for low in range(tid, slots, AT_ONCE * block_size):
        for j in range(AT_ONCE):
            s = min(low + j * block_size, slots - 1)
            reaches[j], owners[j] = world.work[at(world, REACH) + s], vertices[first + s]
        for j in range(AT_ONCE):
            s = low + j * block_size
            if s < slots:
                mark = world.bytes[world.mark + s]
                if mark & LEAF == 0:
                    gain = reaches[j] - int32(1) if mark & GONE == 0 else int32(-1)
                    if gain != 0:
                        cuda.atomic.add(gains, owners[j], int64(gain))
                world.bytes[world.mark + s] = mark & uint8(GONE)
    cuda.syncthreads()
    for i in range(left):
        s = world.work[at(world, SEARCHED) + i]
        reached = _search_together(world, s)
        if tid == 0:
            cuda.atomic.add(gains, vertices[first + s], int64(reached - 1))
        for j in range(tid, reached, block_size):
            world.bytes[world.mark + number_at(world, world.aux + j)] = uint8(0)
        cuda.syncthreads()
