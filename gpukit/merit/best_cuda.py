"""The vertex with the largest count per cost, ties to the lower id: in a block and in a grid (algorithm 4)."""

from collections import namedtuple

from numba import int64

from gpukit.device.kernels import cuda, device

BLOCK = 256
"""Most threads of a block."""


class Best(namedtuple("Best", "vertex count cost")):
    """One vertex per thread of a block, with its count and its cost, in shared memory."""


@device
def better(count, cost, v, other_count, other_cost, other):
    """Return whether the first vertex has the larger count per cost, ties to the lower id; -1 means no vertex."""
    if other < 0 or v < 0:
        return v >= 0
    left, right = int64(count) * int64(other_cost), int64(other_count) * int64(cost)
    return left > right or (left == right and v < other)


@device
def best_of_block(vertex, count, cost, best):
    """Write the best of the vertices of a block's threads (-1: none) to the first place of each array of ``best``."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    best.vertex[tid], best.count[tid], best.cost[tid] = vertex, count, cost
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if tid < half and tid + half < block_size:
            other = tid + half
            if better(
                best.count[other], best.cost[other], best.vertex[other],
                best.count[tid], best.cost[tid], best.vertex[tid],
            ):  # fmt: skip
                best.vertex[tid], best.count[tid], best.cost[tid] = (
                    best.vertex[other], best.count[other], best.cost[other]
                )  # fmt: skip
        cuda.syncthreads()
        half //= 2


@device
def best_of_grid_share(work, costs):
    """Return the best vertex of the thread's share (every gridsize-th vertex), with its count and cost."""
    top, top_count, top_cost = int64(-1), int64(0), int64(1)
    for v in range(cuda.grid(1), len(work), cuda.gridsize(1)):
        count = int64(work[v])
        if count > 0 and better(count, costs[v], v, top_count, top_cost, top):
            top, top_count, top_cost = int64(v), count, int64(costs[v])
    return top, top_count, top_cost


@device
def write_champion(best, champions):
    """Write the best vertex of a block to global memory, for other blocks or the host."""
    if cuda.threadIdx.x == 0:
        block = cuda.blockIdx.x
        champions[0, block], champions[1, block], champions[2, block] = best.vertex[0], best.count[0], best.cost[0]
