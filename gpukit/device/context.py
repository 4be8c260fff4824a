"""Which GPU is current for Numba in a thread; safe where several threads are the first to use CUDA."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from numba import cuda

_starting = threading.Lock()

loading = threading.Lock()
"""Held where Numba may load a kernel onto a GPU, which it does not do for two threads at once."""


@contextmanager
def numba_on(gpu: int) -> Iterator[None]:
    """Make a GPU current for Numba's kernels and arrays in this thread.

    Numba counts its driver as started before it is, so of several threads that begin at once all but one would be told
    that CUDA is not initialised.
    """
    with _starting:
        context = cuda.gpus[gpu]
    with context:
        yield
