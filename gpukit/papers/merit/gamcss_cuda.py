"""Kernels of GAMCSS (``gamcss.py``): sets in one array, searched through anew for every seed."""

from numba import int32, int64

from gpukit.device.kernels import cuda, kernel
from gpukit.merit.best_cuda import BLOCK, Best, best_of_block, best_of_grid_share, write_champion
from gpukit.papers.merit.discover_cuda import BATCH, find_marked
from gpukit.papers.merit.table_cuda import Ring, at

_u8, _i32, _i64, _int = "uint8[::1]", "int32[::1]", "int64[::1]", "int64"


@kernel((_i32, _i32, _i32, _int, _int, _int, _i32, _i64))
def pack(starts, sizes, ring, segments, low, high, common, used):
    """Copy the sets low … high - 1 to the common array, at places that the counter ``used[0]`` gives; a block a set."""
    shared = cuda.shared.array(1, int64)
    length = int64(len(ring) // segments)
    for r in range(low + cuda.blockIdx.x, high, cuda.gridDim.x):
        part, start = Ring(ring, r % segments * length, length), int64(starts[r])
        if cuda.threadIdx.x == 0:
            shared[0] = cuda.atomic.add(used, 0, int64(sizes[r]))
        cuda.syncthreads()
        place = shared[0]
        for i in range(cuda.threadIdx.x, sizes[r], cuda.blockDim.x):
            common[place + i] = ring[at(part, start + i)]
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            starts[r] = place


@kernel((_i32, _i32, _i32, _int, _int, _i32))
def count(starts, sizes, common, low, high, counts):
    """Add the occurrences in the sets low … high - 1 to ``counts``; a block a set."""
    for r in range(low + cuda.blockIdx.x, high, cuda.gridDim.x):
        for i in range(cuda.threadIdx.x, sizes[r], cuda.blockDim.x):
            cuda.atomic.add(counts, common[starts[r] + i], 1)


@kernel((_i32, _i32, "int64[:, ::1]"))
def best_of_blocks(work, costs, champions):
    """Write the best vertex of each block's share, with its count and cost, to ``champions``; blocks of BLOCK."""
    best_vertex = cuda.shared.array(BLOCK, int64)
    best_count = cuda.shared.array(BLOCK, int64)
    best_cost = cuda.shared.array(BLOCK, int64)
    best = Best(best_vertex, best_count, best_cost)
    top, top_count, top_cost = best_of_grid_share(work, costs)
    best_of_block(top, top_count, top_cost, best)
    write_champion(best, champions)


@kernel((_i32, _i32, _i32, _int, _int, _i32, _i32))
def cover(starts, sizes, common, high, seed, covered, work):
    """Cover the sets that hold a seed and take their members out of ``work`` (algorithm 3); a block a set."""
    held = cuda.shared.array(1, int32)
    for r in range(cuda.blockIdx.x, high, cuda.gridDim.x):
        if cuda.threadIdx.x == 0:
            held[0] = 0
        cuda.syncthreads()
        if covered[r] == 0:
            for i in range(cuda.threadIdx.x, sizes[r], cuda.blockDim.x):
                if common[starts[r] + i] == seed:
                    held[0] = 1
        cuda.syncthreads()
        if held[0] != 0:
            for i in range(cuda.threadIdx.x, sizes[r], cuda.blockDim.x):
                cuda.atomic.add(work, common[starts[r] + i], -1)
            if cuda.threadIdx.x == 0:
                covered[r] = 1
        cuda.syncthreads()


@kernel((_i32, _i32, _i32, _int, _u8, _i64))
def count_hits(starts, sizes, common, high, marks, hits):
    """Add the number of sets with a marked member to ``hits[0]``."""
    found = cuda.shared.array(BATCH, int32)
    for place in range(cuda.blockIdx.x * BATCH, high, cuda.gridDim.x * BATCH):
        find_marked(starts, sizes, common, 1, place, high, marks, found)
        for q in range(cuda.threadIdx.x, BATCH, cuda.blockDim.x):
            if found[q] != 0:
                cuda.atomic.add(hits, 0, 1)
        cuda.syncthreads()
