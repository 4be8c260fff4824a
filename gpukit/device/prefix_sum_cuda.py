"""Sums within a block of a GPU."""

from numba import cuda


@cuda.jit(device=True)
def add_up(values):
    """Add to each of the block's numbers, a thread one, in shared memory, those before it; any integer type."""
    lane, width, reach = cuda.threadIdx.x, cuda.blockDim.x, 1
    cuda.syncthreads()
    while reach < width:
        before = values[max(lane - reach, 0)]
        cuda.syncthreads()
        if lane >= reach:
            values[lane] += before
        cuda.syncthreads()
        reach *= 2
