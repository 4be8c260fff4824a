"""Work on several GPUs at once: one thread per GPU, in which that GPU is current."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from gpukit.device.arrays import on_gpu, wait_for_gpu
from gpukit.device.select import simulated

SWITCH = 1e-4
"""Seconds that a thread may keep other threads from running Python while there is one per GPU: a GPU waits for its
thread."""


class OnEach:
    """Calls functions on several GPUs at once.

    Parameters
    ----------
    gpus : sequence of int
        CUDA device numbers. There is a thread for each distinct number; calls for the same GPU may run one after the
        other.
    """

    def __init__(self, gpus: Sequence[int]) -> None:
        # The simulator runs one kernel at a time.
        self._pool = ThreadPoolExecutor(1 if simulated() else len(set(gpus)))

    def __call__(self, gpus: Sequence[int], function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Call ``function`` once per GPU, with its elements of ``arguments``, and return the results in order.

        Each call ends when the GPU has finished its work.
        """
        return list(self._pool.map(partial(_call, function), gpus, *arguments))


def _call(function: Callable[..., Any], gpu: int, *arguments: Any) -> Any:
    """Call a function with a GPU as the current one, and wait for that GPU."""
    with on_gpu(gpu):
        result = function(*arguments)
        wait_for_gpu()
        return result


@contextmanager
def quick_turns() -> Iterator[None]:
    """Let threads switch more often than Python's default (5 ms); the simulator's threads keep the default."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual if simulated() else SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)
