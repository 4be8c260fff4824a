"""Searches in worlds that are kept on a GPU: one large graph of (world, vertex) slots, as ``fixed_cpu.py`` has it."""

from numba import cuda, int32, int64, types, uint32

from gpukit.device.compiled import kernel

BLOCK = 32
"""Threads that search together: what a vertex reaches in one world is little."""

ALIVE, GONE = 0, 1


@kernel
def evaluate(vertices, item_start, starts, index, home, row, heads, state, seen, queue, totals):
    """Add to ``totals[i]`` what vertex ``vertices[i]`` reaches of what is alive, over the slots it has.

    A block owns an item, one slot of one vertex, and searches breadth-first from it: a thread owns a slot of the
    frontier, reads its arcs and the state of their heads (4 bytes each), and claims new ones with an atomic on
    the block's bitmap, which is cleared along the queue afterwards.

    Parameters
    ----------
    vertices : int32 array
        The vertices.
    item_start : int64 array, shape (len(vertices) + 1,)
        First item of each.
    starts, index : int64 (n + 1,) and int32 arrays
        The slots of each vertex.
    home : int32 array
        First slot of the world of each slot.
    row, heads : int64 and int32 arrays
        Out-arcs of each slot.
    state : int32 array
        GONE where seeds reach a slot.
    seen, queue : uint32 array, shape (blocks, words), zero, and int32 array, shape (blocks, most slots of a world)
        Working space.
    totals : int64 array, shape (len(vertices),)
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    queued = cuda.shared.array(1, int32)
    block = cuda.blockIdx.x
    which = 0
    for item in range(block, item_start[len(vertices)], cuda.gridDim.x):
        while item >= item_start[which + 1]:
            which += 1
        s = index[starts[vertices[which]] + item - item_start[which]]
        if state[s] != ALIVE:
            continue
        first = home[s]
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
            for j in range(head + tid, tail, block_size):
                u = queue[block, j]
                for e in range(row[u], row[u + 1]):
                    v = heads[e]
                    if state[v] == ALIVE:
                        bit = uint32(1) << uint32((v - first) & 31)
                        if cuda.atomic.or_(seen, (block, (v - first) >> 5), bit) & bit == 0:
                            queue[block, cuda.atomic.add(queued, 0, int32(1))] = v
            head = tail
        for j in range(tid, tail, block_size):
            seen[block, (queue[block, j] - first) >> 5] = uint32(0)
        if tid == 0:
            cuda.atomic.add(totals, which, int64(tail))
        cuda.syncthreads()


@kernel
def choose(v, starts, index, row, heads, state, queue):
    """Mark as gone what vertex v reaches; a block owns a slot of v, hence a world, and searches breadth-first.

    Parameters are those of :func:`evaluate`; ``state`` is changed.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    queued = cuda.shared.array(1, int32)
    block = cuda.blockIdx.x
    for i in range(starts[v] + block, starts[v + 1], cuda.gridDim.x):
        s = index[i]
        alive = state[s] == ALIVE
        cuda.syncthreads()
        if not alive:
            continue
        if tid == 0:
            queue[block, 0] = s
            queued[0] = 1
            state[s] = GONE
        head = 0
        while True:
            cuda.syncthreads()
            tail = queued[0]
            cuda.syncthreads()
            if head == tail:
                break
            for j in range(head + tid, tail, block_size):
                u = queue[block, j]
                for e in range(row[u], row[u + 1]):
                    if (
                        state[heads[e]] == ALIVE
                        and cuda.atomic.cas(state, heads[e], int32(ALIVE), int32(GONE)) == ALIVE
                    ):
                        queue[block, cuda.atomic.add(queued, 0, int32(1))] = heads[e]
            head = tail


_i32, _i64, _int = types.int32[::1], types.int64[::1], types.int64
_queue = types.int32[:, ::1]

KERNELS = {
    "evaluate": (
        evaluate,
        (_i32, _i64, _i64, _i32, _i32, _i64, _i32, _i32, types.uint32[:, ::1], _queue, _i64),
    ),
    "choose": (choose, (_int, _i64, _i32, _i64, _i32, _i32, _queue)),
}
"""Every kernel with the types of the arguments it is launched with."""
