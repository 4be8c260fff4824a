"""The simulator's blocks, as ``conftest.py`` runs them: barriers, threads that leave or fail, values of all threads."""

import numpy as np
import pytest
from numba import cuda, int32

WIDTH = 32


def test_writes_before_a_barrier_are_read_after_it(simulator):
    @cuda.jit
    def turn_round(x):
        i, places = cuda.threadIdx.x, cuda.shared.array(WIDTH, int32)
        for _ in range(3):
            places[i] = x[cuda.blockIdx.x, i]
            cuda.syncthreads()
            x[cuda.blockIdx.x, i] = places[WIDTH - 1 - i]
            cuda.syncthreads()
        if cuda.syncthreads_or(i == 5) and not cuda.syncthreads_and(i == 5):
            x[cuda.blockIdx.x, i] += 100 * cuda.syncthreads_count(i < 7)

    x = np.tile(np.arange(WIDTH), (2, 1))
    turn_round[2, WIDTH](x)
    assert x.tolist() == [[WIDTH - 1 - i + 700 for i in range(WIDTH)]] * 2


def test_threads_that_are_done_are_not_waited_for(simulator):
    @cuda.jit
    def leave(x):
        for _ in range(cuda.threadIdx.x):
            cuda.syncthreads()
        x[cuda.threadIdx.x] = 1

    x = np.zeros(WIDTH, np.int32)
    leave[1, WIDTH](x)
    assert x.all()


def test_a_thread_that_fails_ends_the_launch(simulator):
    """The other threads wait at a barrier, or reach one later."""

    @cuda.jit
    def fail(x):
        for _ in range(cuda.threadIdx.x % 4):
            cuda.syncthreads()
        if cuda.threadIdx.x == 3:
            raise ValueError("three")
        while x[0] == 0:
            cuda.syncthreads()

    with pytest.raises(ValueError, match="three"):
        fail[2, WIDTH](np.zeros(1))
