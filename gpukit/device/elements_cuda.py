"""Small steps over all elements of an array, as kernels: CuPy would compile each of its own when it is first needed."""

from typing import Any

import numpy as np
from numba import int32, int64

from gpukit.device.arrays import Buffer, multiprocessors, xp
from gpukit.device.kernels import cuda, kernel
from gpukit.device.launch import launch
from gpukit.device.prefix_sum_cuda import add_up

BLOCK = 256 if xp is not np else 8
"""Threads of a block; few in the simulator, where each is slow."""

BLOCKS = 8
"""Blocks for each multiprocessor."""


@kernel(("int32[::1]", "int64"))
def _fill(array, value):
    """Give all elements a value; any grid. A thread writes each ``gridsize``-th element."""
    for i in range(cuda.grid(1), len(array), cuda.gridsize(1)):
        array[i] = int32(value)


@kernel(("float64[::1]", "float64", "int32[::1]"))
def _round_up(values, scale, out):
    """Write ⌈value · scale⌉ of each value; any grid. A thread reads and writes each ``gridsize``-th element."""
    for i in range(cuda.grid(1), len(values), cuda.gridsize(1)):
        scaled = values[i] * scale
        whole = int64(scaled)
        out[i] = int32(whole + (1 if scaled > whole else 0))


@kernel(("uint8[::1]", "int64", "int64[::1]"))
def _count(flags, each, counts):
    """Count the flags that are set; a block owns ``each`` of them, and adds to its element of ``counts``."""
    first, found = cuda.blockIdx.x * each, int64(0)
    for i in range(first + cuda.threadIdx.x, min(first + each, len(flags)), cuda.blockDim.x):
        found += flags[i]
    cuda.atomic.add(counts, cuda.blockIdx.x, found)


@kernel(("uint8[::1]", "int64", "int64[::1]", "int64[::1]"))
def _place(flags, each, starts, out):
    """Write the places of the flags that are set, in order; a block owns ``each`` flags.

    ``starts`` has the number of flags set before those of a block. A block reads a flag per thread at a time, and adds
    them up in shared memory: 1 byte read per flag, 8 written per one that is set.
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
    """Return ⌈value · scale⌉ of each value (float64, at least 0), as int32, in which the results have room."""
    array = Buffer(len(values), np.int32)
    launch(_round_up, _grid(len(values)), BLOCK, values.view, scale, array.view)
    return array


def nonzero(flags: Buffer) -> Buffer:
    """Return the places of the flags (uint8, 0 or 1) that are 1, as int64, in order."""
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
    """Return how many blocks share so many elements."""
    return max(1, min(-(-size // BLOCK), 2 if xp is np else BLOCKS * multiprocessors()))
