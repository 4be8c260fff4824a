"""Searches in worlds kept on a GPU: one large graph of (world, vertex) slots, as in ``fixed_cpu.py``.

Most searches end after a few slots, because they skip slots reached by seeds. A single thread runs such a search, so no
thread waits at a barrier and hundreds of thousands of searches run concurrently. A thread leaves a longer search to a
block.
"""

from typing import Any, NamedTuple

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device, group, kernel

BLOCK = 64
"""Fewest threads that search together; the reach of a vertex in one world is small."""

ALONE_BLOCK = 128
"""Threads of a block whose threads search individually."""

BATCH = 32
"""Most vertices to evaluate at a time."""

ALONE, LOOKED = 32, 128
"""Limits of a search by one thread: slots found, and arcs examined. Blocks run longer searches."""

LEFT = 8
"""About one in ``LEFT`` searches is expected to be left to blocks. Few kept worlds are large worlds, so these blocks
are wide."""

AT_ONCE = 4
"""Arcs that a thread loads before it examines the first."""

ALIVE, GONE = 0, 1


class Slots(NamedTuple):
    """The kept worlds, for searches.

    Attributes
    ----------
    starts, of_vertex : int64 (n + 1,) and int32 arrays
        The slots of each vertex.
    home : int32 array
        First slot of the world of each slot.
    row, heads : int64 and int32 arrays
        Out-arcs of each slot.
    state : int32 array
        GONE if seeds reach a slot.
    """

    starts: Any
    of_vertex: Any
    home: Any
    row: Any
    heads: Any
    state: Any


class Room(NamedTuple):
    """Working space of searches, one row per block.

    Attributes
    ----------
    seen : uint32 array, shape (blocks, words), zero before and after a search
        A bit for each slot of a world.
    queue : int32 array, shape (blocks, most slots of a world)
        The slots found.
    """

    seen: Any
    queue: Any


_i32, _i64, _int = "int32[::1]", "int64[::1]", "int64"
_slots = group(Slots, _i64, _i32, _i32, _i64, _i32, _i32)
_room = group(Room, "uint32[:, ::1]", "int32[:, ::1]")


@kernel((_i32, _i32))
def count_slots(vertices, counts):
    """Add the number of slots of each vertex to ``counts`` (int32); a thread owns one slot per grid stride.

    ``bincount`` would count in 64 bits, and read the slots three times.
    """
    for s in range(cuda.grid(1), len(vertices), cuda.gridsize(1)):
        cuda.atomic.add(counts, vertices[s], int32(1))


@kernel((_i32, _i32, _i32))
def index_slots(vertices, ends, of_vertex):
    """Write the slots of each vertex, in no particular order, to ``of_vertex``; a thread owns one slot per grid stride.

    Cost per slot: 4 bytes read, an atomic, and 4 bytes written to a random place.

    Parameters
    ----------
    vertices : int32 array
        The vertex of each slot.
    ends : int32 array, shape (n,)
        End of the slots of each vertex; afterwards their start.
    of_vertex : int32 array, shape (slots,)
        Written.
    """
    for s in range(cuda.grid(1), len(vertices), cuda.gridsize(1)):
        of_vertex[cuda.atomic.add(ends, vertices[s], int32(-1)) - 1] = s


@device
def _search_alone(slots, s, found):
    """Write the living slots that slot s reaches to ``found`` and return their number; ALONE + 1 if there are too many.

    One thread. It loads AT_ONCE arcs and the states of their heads together, and looks up known slots in the list.
    """
    heads_ahead = cuda.local.array(AT_ONCE, int32)
    states_ahead = cuda.local.array(AT_ONCE, int32)
    found[0] = s
    done, listed, looked = 0, 1, int64(0)
    while done < listed:
        low, high = slots.row[found[done]], slots.row[found[done] + 1]
        done += 1
        looked += high - low
        if looked > LOOKED:
            return ALONE + 1
        while low < high:
            for i in range(AT_ONCE):
                heads_ahead[i] = slots.heads[min(low + i, high - 1)]
            for i in range(AT_ONCE):
                states_ahead[i] = slots.state[heads_ahead[i]]
            # The last arc of a slot may be read several times; then its head is already known.
            for i in range(AT_ONCE):
                if states_ahead[i] == ALIVE:
                    known = False
                    for j in range(listed):
                        known = known | (found[j] == heads_ahead[i])
                    if not known:
                        if listed == ALONE:
                            return ALONE + 1
                        found[listed] = heads_ahead[i]
                        listed += 1
            low += AT_ONCE
    return listed


@kernel((_i32, _i64, _slots, _i64, _i64))
def evaluate(vertices, item_start, slots, totals, left):
    """Add the reach of vertex ``vertices[i]`` among living slots to ``totals[i]`` if one thread can find it.

    A thread owns an item, which is one slot of one vertex, and searches breadth-first from it (:func:`_search_alone`).
    Cost: about five dependent reads, and four bytes per arc and per state of its head; one atomic of the block per
    item, and one of the launch per vertex and block.

    Parameters
    ----------
    vertices : int32 array, at most BATCH
        The vertices.
    item_start : int64 array, shape (len(vertices) + 1,)
        First item of each vertex.
    slots : Slots
        The worlds.
    totals : int64 array, shape (len(vertices) + 1,)
        Incremented; the last entry is the number of items left over.
    left : int64 array, shape (items,)
        Items left to :func:`evaluate_long`: index into ``vertices`` << 32 | slot.
    """
    sums = cuda.shared.array(BATCH, int32)
    found = cuda.local.array(ALONE, int32)
    for i in range(cuda.threadIdx.x, BATCH, cuda.blockDim.x):
        sums[i] = 0
    cuda.syncthreads()
    which = 0
    item = int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while item < item_start[len(vertices)]:
        while item >= item_start[which + 1]:
            which += 1
        s = slots.of_vertex[slots.starts[vertices[which]] + item - item_start[which]]
        if slots.state[s] == ALIVE:
            listed = _search_alone(slots, s, found)
            if listed <= ALONE:
                cuda.atomic.add(sums, which, int32(listed))
            else:
                left[cuda.atomic.add(totals, len(vertices), int64(1))] = int64(which) << 32 | int64(s)
        item += int64(cuda.gridDim.x) * cuda.blockDim.x
    cuda.syncthreads()
    for i in range(cuda.threadIdx.x, len(vertices), cuda.blockDim.x):
        if sums[i] > 0:
            cuda.atomic.add(totals, i, int64(sums[i]))


@device
def _search(slots, room, s, queued):
    """Put the living slots that slot s reaches into the block's queue, and return their number; ``queued`` is shared.

    A whole block searches breadth-first. If the frontier has fewer slots than the block has threads, threads share the
    arcs of a slot; a hub is often alone in the frontier. New slots are claimed with an atomic on the block's bitmap,
    which is cleared along the queue afterwards. All threads leave at the same barrier.
    """
    tid, block_size, block = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x
    seen, queue, first = room.seen, room.queue, slots.home[s]
    if tid == 0:
        queue[block, 0] = s
        queued[0] = 1
        seen[block, (s - first) >> 5] = uint32(1) << uint32((s - first) & 31)
    head = 0
    while True:
        cuda.syncthreads()
        tail = queued[0]
        cuda.syncthreads()
        if head == tail:
            break
        share = max(1, block_size // (tail - head))
        j = head + tid // share
        while j < tail:
            u = queue[block, j]
            e = slots.row[u] + tid % share
            while e < slots.row[u + 1]:
                v = slots.heads[e]
                if slots.state[v] == ALIVE:
                    bit = uint32(1) << uint32((v - first) & 31)
                    if cuda.atomic.or_(seen, (block, (v - first) >> 5), bit) & bit == 0:
                        queue[block, cuda.atomic.add(queued, 0, int32(1))] = v
                e += share
            j += block_size // share
        head = tail
    for j in range(tid, tail, block_size):
        seen[block, (queue[block, j] - first) >> 5] = uint32(0)
    cuda.syncthreads()
    return tail


@kernel((_slots, _room, _i64, _i64))
def evaluate_long(slots, room, totals, left):
    """Add the reach of the items that :func:`evaluate` left over to ``totals``; a block owns an item at a time.

    Parameters are as for :func:`evaluate`, plus the working space ``room``. Cost: four dependent reads and an atomic
    for each step of a search, between two barriers.
    """
    queued = cuda.shared.array(1, int32)
    for i in range(cuda.blockIdx.x, totals[len(totals) - 1], cuda.gridDim.x):
        reached = _search(slots, room, left[i] & int64(0xFFFFFFFF), queued)
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(totals, left[i] >> 32, int64(reached))


@kernel((_int, _slots, _room))
def choose(v, slots, room):
    """Mark the reach of vertex v as gone; a block owns one slot of v, and so one world, and searches from it.

    Parameters are as for :func:`evaluate_long`; the ``state`` of slots is changed.
    """
    queued = cuda.shared.array(1, int32)
    for i in range(slots.starts[v] + cuda.blockIdx.x, slots.starts[v + 1], cuda.gridDim.x):
        if slots.state[slots.of_vertex[i]] == ALIVE:
            reached = _search(slots, room, slots.of_vertex[i], queued)
            for j in range(cuda.threadIdx.x, reached, cuda.blockDim.x):
                slots.state[room.queue[cuda.blockIdx.x, j]] = GONE
        cuda.syncthreads()
