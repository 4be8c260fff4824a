"""Launch shapes from the properties of the current GPU, and the small ones of the simulator.

The simulator runs each thread of a block as one of the host's, and one kernel at a time.
"""

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from gpukit.device.arrays import device_attribute, multiprocessors
from gpukit.device.select import simulated

SIMULATED_BLOCKS, SIMULATED_THREADS = 2, 32


class Shape(NamedTuple):
    """Blocks of a launch, and threads of each."""

    grid: int
    block: int


def block_size(wanted: int, few: int = SIMULATED_THREADS) -> int:
    """Return the threads of a block: those wanted, or at most ``few`` under the simulator."""
    return min(wanted, few) if simulated() else wanted


def shape(kernel: Any, work: int, block: int, each: int | None = None, few: int = SIMULATED_BLOCKS) -> Shape:
    """Return the launch shape of a kernel whose blocks take their work in turns.

    Parameters
    ----------
    kernel : Kernel
        Its ``max_registers``, if it has any, counts for how many of its blocks a multiprocessor holds.
    work : int
        How many blocks would have something to do; more are not launched.
    block : int
        Threads of a block.
    each : int, optional
        Blocks for each multiprocessor; if not given, as many as it holds at once, by blocks, threads and registers.
    few : int
        Blocks under the simulator.

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
    """Return the shape with most threads on the device: blocks of so many threads, or of half as many whole warps.

    With 80 registers for a thread, say, a multiprocessor with 65,536 of them has room for one block of 512 threads, but
    for three of 256; and none for a block of 1,024. Arguments are those of :func:`shape`.
    """
    if simulated():
        return shape(kernel, work, block)
    widths = (block, block // 2) if block % 64 == 0 else (block,)
    fitting = [width for width in widths if _resident(kernel, width)]
    return max((shape(kernel, work, width) for width in fitting), key=lambda one: one.grid * one.block)


def _resident(kernel: Any, block: int) -> int:
    """Return the blocks of a kernel that a multiprocessor holds at once, by blocks, threads and registers."""
    per = device_attribute("MAX_THREADS_PER_MULTIPROCESSOR") // block
    each = min(device_attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"), per)
    if registers := kernel.max_registers:
        each = min(each, device_attribute("MAX_REGISTERS_PER_MULTIPROCESSOR") // (block * registers))
    return each


def kernel_lock() -> AbstractContextManager:
    """Return a lock to hold around launches from several host threads; only the simulator needs one."""
    return threading.Lock() if simulated() else nullcontext()
