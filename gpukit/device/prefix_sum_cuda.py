"""Sums within a block of a GPU."""

from gpukit.device.kernels import cuda, device


@device
def add_up(values):
    """Replace each of a block's integers in shared memory, one per thread, by its inclusive prefix sum."""
    tid, block_size, step = cuda.threadIdx.x, cuda.blockDim.x, 1
    cuda.syncthreads()
    while step < block_size:
        before = values[max(tid - step, 0)]
        cuda.syncthreads()
        if tid >= step:
            values[tid] += before
        cuda.syncthreads()
        step *= 2
