"""Launch shapes from the properties of the current GPU, and small ones for the simulator.

The simulator runs each thread of a block as a thread of the host, and one kernel at a time.
"""

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from gpukit.device.arrays import device_attribute, multiprocessors
from gpukit.device.select import simulated

SIMULATED_BLOCKS, SIMULATED_THREADS = 2, 32


class Shape(NamedTuple):
    """Number of blocks of a launch, and of threads of each block."""

    grid: int
    block: int


def block_size(wanted: int, few: int = SIMULATED_THREADS) -> int:
    """Return the number of threads of a block: ``wanted``, or at most ``few`` in the simulator."""
    return min(wanted, few) if simulated() else wanted


def shape(kernel: Any, work: int, block: int, each: int | None = None, few: int = SIMULATED_BLOCKS) -> Shape:
    """Return the launch shape of a kernel whose blocks divide the work in a loop.

    Parameters
    ----------
    kernel : Kernel
        Its ``max_registers``, if set, limits how many of its blocks a multiprocessor holds.
    work : int
        Number of blocks that would have work; no more are launched.
    block : int
        Threads of a block.
    each : int, optional
        Blocks per multiprocessor; if not given, as many as it holds at once, by blocks, threads and registers.
    few : int
        Blocks in the simulator.

    Returns
    -------
    Shape
        At least one block.
    """
    if simulated():
        return Shape(max(1, min(work, few)), block)
    if each is None:
        each = _resident(kernel, block)
    return Shape(max(1, min(work, multiprocessors() * max(1, each))), block)


def fullest(kernel: Any, work: int, block: int) -> Shape:
    """Return the launch shape with most threads on the device, for two widths of blocks.

    The widths are ``block``, and half of it if that is a whole number of warps. For example, with 80 registers per
    thread, a multiprocessor with 65,536 registers holds one block of 512 threads, but three of 256, and none of 1,024.
    Arguments are those of :func:`shape`.
    """
    if simulated():
        return shape(kernel, work, block)
    widths = (block, block // 2) if block % 64 == 0 else (block,)
    fitting = [width for width in widths if _resident(kernel, width)]
    return max((shape(kernel, work, width) for width in fitting), key=lambda one: one.grid * one.block)


def _resident(kernel: Any, block: int) -> int:
    """Return the number of blocks of a kernel that a multiprocessor holds at once, by blocks, threads and registers."""
    per = device_attribute("MAX_THREADS_PER_MULTIPROCESSOR") // block
    each = min(device_attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"), per)
    if registers := kernel.max_registers:
        each = min(each, device_attribute("MAX_REGISTERS_PER_MULTIPROCESSOR") // (block * registers))
    return each


def kernel_lock() -> AbstractContextManager:
    """Return a lock to hold around launches from several host threads; only the simulator needs one."""
    return threading.Lock() if simulated() else nullcontext()
