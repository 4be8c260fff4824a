"""Wall time by phase, with the device synchronised at both ends of each phase."""

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from gpukit.device.select import Device, simulated

TRANSFER = "transfer"
"""The phase in which data are copied to a device."""

READY = 64
"""Number of moments created in advance: creating one takes as long as recording it."""


def synchroniser(device: Device) -> Callable[[], None]:
    """Return a function that waits until all GPUs of a device have finished their work; it does nothing on the CPU."""
    if device.kind == "cpu":
        return lambda: None

    def synchronise() -> None:
        # If this module is not loaded, nothing was launched, so there is nothing to wait for and CuPy need not be
        # imported.
        arrays = sys.modules.get("gpukit.device.arrays")
        if arrays is not None:
            for gpu in device.gpus:
                arrays.synchronise(gpu)

    return synchronise


def marker(device: Device) -> Callable[[], Callable[[], float]] | None:
    """Return a function that records when a GPU finishes the work given so far, for :class:`PhaseTimer`.

    None if only waiting can tell: on the CPU, on several GPUs, and in the simulator.
    """
    if device.kind == "cpu" or len(device.gpus) > 1 or simulated():
        return None
    from gpukit.device.arrays import Moment, synchronise

    synchronise(device.gpus[0])
    first, *ready = (Moment() for _ in range(READY))
    first.note()
    first.wait()
    start = time.perf_counter()

    def mark() -> Callable[[], float]:
        moment = ready.pop() if ready else Moment()
        moment.note()
        return lambda: start + moment.since(first)

    return mark


class PhaseTimer:
    """Adds up wall time by name; the time of an inner phase does not count for the outer one.

    Parameters
    ----------
    sync : callable, optional
        Waits for the device. It is called at the start and end of a phase, so that work launched in a phase counts
        there.
    mark : callable, optional
        Used instead of ``sync``. It records the work given to the current stream of the device so far, and returns a
        function that returns when this work finished, on the clock of ``time.perf_counter``. So a phase may begin while
        the device still works on the phase before; its time counts from the end of that work. At the end of
        ``TRANSFER``, ``sync`` is called as well: otherwise the copies of the graph would hide the host's next work.

    Attributes
    ----------
    laps : list of float
        Seconds from the creation of the timer to each :meth:`lap`.
    """

    def __init__(
        self, sync: Callable[[], object] | None = None, mark: Callable[[], Callable[[], float]] | None = None
    ) -> None:
        self.sync, self.mark = sync, mark
        self._changes: list[tuple[str | None, float, Callable[[], float] | None]] = []
        self._start = self._mark = time.perf_counter()
        self._spent: dict[str, float] = {}
        self._open: list[str] = []
        self.laps: list[float] = []

    def lap(self) -> None:
        """Record the time; for work whose first steps are already an answer, such as greedy selection."""
        self.laps.append(time.perf_counter() - self._start)

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Count the time of the ``with`` body for ``name``, even if it raises."""
        return _Phase(self, name)

    def _change(self, entered: str | None, broken: bool = False) -> None:
        """Enter the phase ``entered``, or leave the innermost phase."""
        if self.mark is not None:
            done = None if broken else self.mark()
            self._changes.append((entered, time.perf_counter(), done))
            return
        if self.sync is not None and not broken:
            self.sync()
        self._charge(entered, time.perf_counter())

    def _charge(self, entered: str | None, now: float) -> None:
        """Add the time since the last change to the innermost phase, then enter ``entered`` or leave that phase."""
        if self._open:
            self._spent[self._open[-1]] += now - self._mark
        self._mark = now
        if entered is None:
            self._open.pop()
        else:
            self._spent.setdefault(entered, 0.0)
            self._open.append(entered)

    def seconds(self) -> dict[str, float]:
        """Return ``total`` (since the timer was created) and the seconds of each phase, in order of first entry."""
        for entered, now, done in self._changes:
            self._charge(entered, now if done is None else max(now, done()))
        self._changes.clear()
        return {"total": time.perf_counter() - self._start, **self._spent}


class _Phase:
    """A phase of a timer, as a context manager; one made from a generator takes three times as long."""

    __slots__ = ("_name", "_timer")

    def __init__(self, timer: PhaseTimer, name: str) -> None:
        self._timer, self._name = timer, name

    def __enter__(self) -> None:
        self._timer._change(self._name)

    def __exit__(self, raised: type[BaseException] | None, *_: object) -> None:
        timer, broken = self._timer, raised is not None  # a failed device would raise again here and hide the cause
        if not broken and self._name == TRANSFER and timer.mark is not None and timer.sync is not None:
            timer.sync()
        timer._change(None, broken)
