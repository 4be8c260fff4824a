"""The current GPU of a thread."""

import threading
from concurrent.futures import ThreadPoolExecutor

from gpukit.device import context


class Driver:
    """Starts as Numba's does: counts as started at once, is ready later, and fails whoever comes in between."""

    def __init__(self) -> None:
        self.started = self.ready = False
        self.others = threading.Event()
        self.current = threading.local()

    def __getitem__(self, gpu: int) -> "Current":
        if not self.started:
            self.started = True
            self.others.wait(0.3)  # until another thread is here, which must not happen
            self.ready = True
        elif not self.ready:
            self.others.set()
            raise RuntimeError("CUDA_ERROR_NOT_INITIALIZED")
        return Current(self, gpu)


class Current:
    def __init__(self, driver: Driver, gpu: int) -> None:
        self.driver, self.gpu = driver, gpu

    def __enter__(self) -> None:
        self.driver.current.gpu = self.gpu

    def __exit__(self, *error: object) -> None:
        self.driver.current.gpu = None


def test_threads_that_begin_at_once(monkeypatch) -> None:
    driver = Driver()
    monkeypatch.setattr(context.cuda, "gpus", driver)
    begin = threading.Barrier(4)

    def use(gpu: int) -> tuple[int, None]:
        begin.wait()
        with context.numba_on(gpu):
            inside = driver.current.gpu
        return inside, driver.current.gpu

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(use, range(4))) == [(gpu, None) for gpu in range(4)]
