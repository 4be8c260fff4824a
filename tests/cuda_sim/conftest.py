"""Tests here run kernels in Numba's CUDA simulator: ``NUMBA_ENABLE_CUDASIM=1 pytest tests/cuda_sim``.

Numba reads the variable when it is imported, so these tests need their own process; in other processes they are
skipped. The CPU functions run in the same process, so results are compared directly. Keep graphs tiny: the simulator
runs about 10,000 threads per second.
"""

import random
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from gpukit.device.select import Device, simulated


def pytest_collection_modifyitems(items) -> None:
    """Skip the tests of this folder outside the simulator."""
    if simulated():
        return
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="needs NUMBA_ENABLE_CUDASIM=1 before Numba is imported"))


@pytest.fixture(scope="session")
def simulator():
    """Return the device choice of the simulated GPU."""
    return Device("cuda", "simulator", (0,), 1, "simulator")


@pytest.fixture(autouse=True, scope="session")
def _threads_wait_without_being_polled():
    """Let the last thread that reaches a barrier release the others, in random order.

    In the original simulator another thread polls all of them, which takes most of the time. Threads switch often, so a
    missing barrier shows.
    """
    if not simulated():
        yield
        return
    from numba.cuda.simulator import kernel

    order = random.Random(1)

    class Thread(kernel.BlockThread):
        def __init__(self, *args):
            super().__init__(*args)
            self.gate = threading.Lock()
            self.gate.acquire()

        def run(self):
            super().run()
            self._manager.leave(self)

        def syncthreads(self):
            self._manager.arrive(self)
            if self.abort:
                raise RuntimeError("another thread of the block failed")

    class Manager(kernel.BlockManager):
        def run(self, grid_point, *args):
            self.lock, self.ended, self.failure = threading.Lock(), threading.Event(), None
            places = list(np.ndindex(*self._block_dim))
            self.threads = [Thread(lambda: self._f(*args), self, grid_point, place, self._debug) for place in places]
            self.live, self.waiting = len(places), []
            for thread in self.threads:
                thread.start()
            self.ended.wait()
            if self.failure:
                raise self.failure[0].with_traceback(self.failure[1])

        def arrive(self, thread):
            with self.lock:
                self.waiting.append(thread)
                self.open()
            thread.gate.acquire()

        def leave(self, thread):
            with self.lock:
                self.live -= 1
                if thread.exception and not self.failure:
                    self.failure = thread.exception
                    for other in self.threads:
                        other.abort = True
                self.open()

        def open(self):
            """Release the threads if all live ones wait, or one failed; then threads in a loop may never end."""
            if self.failure or len(self.waiting) == self.live:
                order.shuffle(self.waiting)
                for thread in self.waiting:
                    thread.gate.release()
                self.waiting = []
            if self.failure or self.live == 0:
                self.ended.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "BlockManager", Manager)
        patch.setattr(kernel, "BlockThread", Thread)
        yield
    sys.setswitchinterval(interval)


@pytest.fixture
def blocks_at_once(monkeypatch):
    """Run all blocks of a launch concurrently, each with its own shared memory, for kernels whose blocks wait."""
    from numba.cuda.simulator import kernel, kernelapi

    running, shared = [], {}

    class Manager(kernel.BlockManager):
        def run(self, grid_point, *args):
            errors = []

            def work():
                try:
                    super(Manager, self).run(grid_point, *args)
                except BaseException as error:
                    errors.append(error)

            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            running.append((thread, errors))
            if all(i == n - 1 for i, n in zip(grid_point, self._grid_dim, strict=True)):
                for one, raised in running:
                    while one.is_alive() and not any(errors for _, errors in running):
                        one.join(0.1)
                    if raised:
                        raise raised[0]
                running.clear()

    def allocations(self):
        return shared.setdefault((id(self), tuple(threading.current_thread().blockIdx)), {})

    monkeypatch.setattr(kernel, "BlockManager", Manager)
    own = property(allocations, lambda self, value: None)
    monkeypatch.setattr(kernelapi.FakeCUDAShared, "_allocations", own, raising=False)


class Written(np.ndarray):
    """Memory of a block or a thread that records which of its places were written."""

    def __array_finalize__(self, source) -> None:
        if type(self.base) is not Written:
            self.written = np.zeros(self.shape, np.bool_)

    def __getitem__(self, place):
        found = super().__getitem__(place)
        if isinstance(found, Written):
            found.written = self.written[place]
        elif not self.written[place]:
            raise IndexError(f"read before it was written: place {place} of {self.shape}")
        return found

    def __setitem__(self, place, value) -> None:
        super().__setitem__(place, value)
        self.written[place] = True


@pytest.fixture(autouse=True)
def _nothing_is_read_before_it_is_written(monkeypatch):
    """Refuse reads of unwritten shared and local memory: a GPU would return values of an earlier block."""
    if not simulated():
        return
    from numba.cuda.simulator import kernelapi

    # Two threads that come first must not make an array each, as in the simulator they may.
    making = threading.Lock()

    allocate = kernelapi.FakeCUDAShared.array

    def fresh(shape, dtype):
        kind = kernelapi.numpy_support.as_dtype(dtype) if isinstance(dtype, kernelapi.types.Type) else dtype
        return np.empty(shape, kind).view(Written)

    def shared(self, shape, dtype):
        if shape == 0:
            with making:
                if not hasattr(self, "left"):
                    self.left = self._dynshared.fill(0x5A)  # nobody says what was written in which type
                return allocate(self, shape, dtype)
        frame = sys._getframe(1)
        place = frame.f_code.co_filename, frame.f_lineno
        with making:
            if place not in self._allocations:
                self._allocations[place] = fresh(shape, dtype)
            return self._allocations[place]

    monkeypatch.setattr(kernelapi.FakeCUDAShared, "array", shared)
    monkeypatch.setattr(kernelapi.FakeCUDALocal, "array", lambda self, shape, dtype: fresh(shape, dtype))
