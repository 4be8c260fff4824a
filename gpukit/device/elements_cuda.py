"""Kernels for simple operations on all elements of an array: CuPy would compile each of its own at the first use."""

from typing import Any

import numpy as np
from numba import int32, int64

from gpukit.device.arrays import Buffer, multiprocessors, xp
from gpukit.device.kernels import cuda, kernel
from gpukit.device.launch import launch
from gpukit.device.prefix_sum_cuda import add_up

BLOCK = 256 if xp is not np else 8
"""Threads of a block; few in the simulator, where threads are slow."""

BLOCKS = 8
"""Blocks per multiprocessor."""


@kernel(("int32[::1]", "int64"))
def _fill(array, value):
    """Set all elements to a value; any grid. A thread owns every ``gridsize``-th element."""
    for i in range(cuda.grid(1), len(array), cuda.gridsize(1)):
        array[i] = int32(value)


@kernel(("float64[::1]", "float64", "int32[::1]"))
def _round_up(values, scale, out):
    """Write ⌈value · scale⌉ of each value; any grid. A thread owns every ``gridsize``-th element."""
    for i in range(cuda.grid(1), len(values), cuda.gridsize(1)):
        scaled = values[i] * scale
        whole = int64(scaled)
        out[i] = int32(whole + (1 if scaled > whole else 0))


@kernel(("uint8[::1]", "int64", "int64[::1]"))
def _count(flags, each, counts):
    """Count the flags that are set; a block owns ``each`` flags, and adds to its element of ``counts``."""
    first, found = cuda.blockIdx.x * each, int64(0)
    for i in range(first + cuda.threadIdx.x, min(first + each, len(flags)), cuda.blockDim.x):
        found += flags[i]
    cuda.atomic.add(counts, cuda.blockIdx.x, found)


@kernel(("uint8[::1]", "int64", "int64[::1]", "int64[::1]"))
def _place(flags, each, starts, out):
    """Write the positions of the flags that are set, in order; a block owns ``each`` flags.

    ``starts`` has the number of flags set before each block's part. A block reads one flag per thread at a time, and
    adds them up in shared memory: 1 byte read per flag, 8 written per flag that is set.
    """
    sums = cuda.shared.array(BLOCK, int32)
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    base, first = starts[cuda.blockIdx.x], cuda.blockIdx.x * each
    end = min(first + each, len(flags))
    for low in range(first, end, block_size):
        i = low + tid
        is_set = i < end and flags[i] != 0
        sums[tid] = int32(1) if is_set else int32(0)
        add_up(sums)
        if is_set:
            out[base + sums[tid] - 1] = i
        base += sums[block_size - 1]
        cuda.syncthreads()


def filled(size: int, value: int) -> Buffer:
    """Return an int32 array of one value."""
    array = Buffer(size, np.int32)
    launch(_fill, _grid(size), BLOCK, array.view, value)
    return array


def rounded_up(values: Buffer, scale: float) -> Buffer:
    """Return ⌈value · scale⌉ of each value (float64, at least 0), as int32; the results must fit."""
    array = Buffer(len(values), np.int32)
    launch(_round_up, _grid(len(values)), BLOCK, values.view, scale, array.view)
    return array


def nonzero(flags: Buffer) -> Buffer:
    """Return the positions of the flags (uint8, 0 or 1) that are 1, as int64, in order."""
    grid = _grid(len(flags))
    each = -(-len(flags) // grid)
    counts = Buffer(grid, np.int64, 0)
    launch(_count, grid, BLOCK, flags.view, each, counts.view)
    ends: Any = np.cumsum(counts.host())
    starts = np.concatenate([[0], ends[:-1]])
    found = Buffer(int(ends[-1]), np.int64)
    if len(found):
        launch(_place, grid, BLOCK, flags.view, each, Buffer(starts).view, found.view)
    return found


def _grid(size: int) -> int:
    """Return the number of blocks for ``size`` elements."""
    return max(1, min(-(-size // BLOCK), 2 if xp is np else BLOCKS * multiprocessors()))
