"""Wall time by phase, with the device synchronised at both ends of each phase."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpukit.device.select import Device, simulated


def synchroniser(device: Device) -> Callable[[], None]:
    """Return what waits until all GPUs of a device have done what they were given; the CPU has nothing to wait for."""
    if device.kind == "cpu":
        return lambda: None

    def synchronise() -> None:
        # Where arrays were not needed yet, nothing was launched, and CuPy need not be imported to know that.
        arrays = sys.modules.get("gpukit.device.arrays")
        if arrays is not None:
            for gpu in device.gpus:
                arrays.synchronise(gpu)

    return synchronise


@contextmanager
def profiled(device: Device) -> Iterator[None]:
    """Show the ``with`` body to a profiler that was told to wait for it, as ``ncu --profile-from-start off`` is.

    Without a profiler, and on the CPU, this does nothing.
    """
    if device.kind == "cpu" or simulated():
        yield
        return
    from numba import cuda

    cuda.profile_start()
    try:
        yield
    finally:
        cuda.profile_stop()


class PhaseTimer:
    """Adds up wall time by name; the time of an inner phase does not count for the outer one.

    Parameters
    ----------
    sync : callable, optional
        Waits for the device; called where a phase begins and ends, so that work launched in a phase counts there.

    Attributes
    ----------
    laps : list of float
        Seconds since the timer was made, at each :meth:`lap`.
    """

    def __init__(self, sync: Callable[[], object] | None = None) -> None:
        self.sync = sync
        self._start = self._mark = time.perf_counter()
        self._spent: dict[str, float] = {}
        self._open: list[str] = []
        self.laps: list[float] = []

    def lap(self) -> None:
        """Note the time; for work whose first steps are an answer already, as greedy choices are."""
        self.laps.append(time.perf_counter() - self._start)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time of the ``with`` body for ``name``, also when it raises."""
        self._charge(name, self.sync)
        try:
            yield
        except BaseException:
            # A broken device would raise again here and hide the cause.
            self._charge(None, None)
            raise
        self._charge(None, self.sync)

    def _charge(self, entered: str | None, sync: Callable[[], object] | None) -> None:
        """Give the time since the last change to the innermost phase, then enter ``entered`` or leave that phase."""
        if sync is not None:
            sync()
        now = time.perf_counter()
        if self._open:
            self._spent[self._open[-1]] += now - self._mark
        self._mark = now
        if entered is None:
            self._open.pop()
        else:
            self._spent.setdefault(entered, 0.0)
            self._open.append(entered)

    def seconds(self) -> dict[str, float]:
        """Return ``total`` (since the timer was made) and the seconds of each phase, in order of first entry."""
        return {"total": time.perf_counter() - self._start, **self._spent}
