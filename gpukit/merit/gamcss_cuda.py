"""Kernels of GAMCSS (``gamcss.py``): sets in one array, searched through anew for every seed."""

import numba
from numba import cuda, int32, int64

from gpukit.merit.cover_cuda import BLOCK, better, reduce_best
from gpukit.merit.discover_cuda import BATCH, scan_batch
from gpukit.merit.table_cuda import at


@cuda.jit(cache=True)
def pack(starts, sizes, ring, segments, low, high, common, used):
    """Copy the sets low … high - 1 to the common array, at places that the counter ``used[0]`` gives; a block a set."""
    shared = cuda.shared.array(1, int64)
    length = int64(len(ring) // segments)
    for r in range(low + cuda.blockIdx.x, high, cuda.gridDim.x):
        base, start = r % segments * length, int64(starts[r])
        if cuda.threadIdx.x == 0:
            shared[0] = cuda.atomic.add(used, 0, int64(sizes[r]))
        cuda.syncthreads()
        place = shared[0]
        for i in range(cuda.threadIdx.x, sizes[r], cuda.blockDim.x):
            common[place + i] = ring[at(base, start + i, length)]
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            starts[r] = place


@cuda.jit(cache=True)
def count(starts, sizes, common, low, high, counts):
    """Add the occurrences in the sets low … high - 1 to ``counts``; a block a set."""
    for r in range(low + cuda.blockIdx.x, high, cuda.gridDim.x):
        for i in range(cuda.threadIdx.x, sizes[r], cuda.blockDim.x):
            cuda.atomic.add(counts, common[starts[r] + i], 1)


@cuda.jit(cache=True)
def lead(work, costs, champions):
    """Write the best vertex of each block's share, with its count and cost, to ``champions``; blocks of BLOCK."""
    best = cuda.shared.array(BLOCK, int64)
    best_count = cuda.shared.array(BLOCK, int64)
    best_cost = cuda.shared.array(BLOCK, int64)
    top, top_count, top_cost = int64(-1), int64(0), int64(1)
    for v in range(cuda.grid(1), len(work), cuda.gridsize(1)):
        if work[v] > 0 and better(int64(work[v]), costs[v], v, top_count, top_cost, top):
            top, top_count, top_cost = int64(v), int64(work[v]), int64(costs[v])
    lane = cuda.threadIdx.x
    best[lane], best_count[lane], best_cost[lane] = top, top_count, top_cost
    reduce_best(best, best_count, best_cost)
    if lane == 0:
        block = cuda.blockIdx.x
        champions[0, block], champions[1, block], champions[2, block] = best[0], best_count[0], best_cost[0]


@cuda.jit(cache=True)
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


@cuda.jit(cache=True)
def count_hits(starts, sizes, common, high, marks, hits):
    """Add the number of sets with a marked member to ``hits[0]``."""
    found = cuda.shared.array(BATCH, int32)
    for place in range(cuda.blockIdx.x * BATCH, high, cuda.gridDim.x * BATCH):
        scan_batch(starts, sizes, common, 1, place, high, marks, 1, found)
        for q in range(cuda.threadIdx.x, BATCH, cuda.blockDim.x):
            if found[q] != 0:
                cuda.atomic.add(hits, 0, 1)
        cuda.syncthreads()


_u8, _i32, _i64, _int = numba.uint8[::1], numba.int32[::1], numba.int64[::1], numba.int64

KERNELS = {
    "pack": (pack, (_i32, _i32, _i32, _int, _int, _int, _i32, _i64)),
    "count": (count, (_i32, _i32, _i32, _int, _int, _i32)),
    "lead": (lead, (_i32, _i32, numba.int64[:, ::1])),
    "cover": (cover, (_i32, _i32, _i32, _int, _int, _i32, _i32)),
    "count_hits": (count_hits, (_i32, _i32, _i32, _int, _u8, _i64)),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
