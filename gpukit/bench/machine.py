"""The machine under a benchmark: how fast its memory copies, and how much of it was held."""

import time
from collections.abc import Callable

import numpy as np

from gpukit.device.select import Device
from gpukit.device.timing import synchroniser

COPY_BYTES = 1 << 30


def copy_bandwidth(device: Device) -> float:
    """Return the bytes a second that a large copy reads and writes on the device."""
    if device.kind == "cpu":
        source = np.ones(COPY_BYTES // 8, np.int64)
        target = np.empty_like(source)
        best = min(_timed(lambda: np.copyto(target, source)) for _ in range(3))
    else:
        from gpukit.device.arrays import Buffer, copy

        sync = synchroniser(device)
        first, second = Buffer(COPY_BYTES, np.uint8, 1), Buffer(COPY_BYTES, np.uint8, 0)

        def run() -> None:
            copy(second.array, first.array)
            sync()

        best = min(_timed(run) for _ in range(5))
    return 2 * COPY_BYTES / best


def _timed(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def peak_memory(device: Device) -> int:
    """Return the most bytes held so far: on the GPU by the array pool, on the CPU by the process."""
    if device.kind == "cpu":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    from gpukit.device.arrays import xp

    return int(xp.get_default_memory_pool().total_bytes())
