"""Concurrent queries of many callers: workers on CPU threads or GPUs take them in turn.

A CPU worker is a thread that answers one piece of a batch at a time, so that all threads share a large one; it keeps
its workspace. A GPU has one worker. One launch answers all waiting queries with the same k and the same set of allowed
vertices.
"""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpukit.device.select import Device
from gpukit.errors import UsageError
from gpukit.kpar.problem import Result, Sources

PIECE = 8
"""Queries that a CPU thread takes at a time."""
AT_ONCE = 4096
"""Queries that a GPU takes at a time."""


@dataclass(eq=False)
class _Job:
    """Some waiting queries, and the future for their answers."""

    sources: Sources
    k: int
    among: bytes | None
    """The ids (int32) that answers may name, ascending; many jobs may wait, and a mask is n bytes."""
    home: Any
    """The prepared index for them; None: that of the worker."""
    future: "Future[Result]" = field(default_factory=Future)


class Busy(UsageError):
    """Too many queries wait, or the engine is closed."""


class Engine:
    """Answers queries from any threads on the result of :func:`gpukit.kpar.run.prepare_on`, like :func:`query_on`.

    Parameters
    ----------
    device : Device
        Its ``threads`` or ``gpus`` determine the number of workers.
    prepared : list
        The result of :func:`gpukit.kpar.run.prepare_on`.
    refine : bool
        Whether to resolve near ties with additional work, like :func:`query_on`.
    capacity : int
        Most waiting queries; more are refused.
    """

    def __init__(
        self, device: Device, prepared: Sequence[Any], *, refine: bool = False, capacity: int = 1 << 16
    ) -> None:
        self._refine = refine
        self._capacity, self._waiting, self._closed = capacity, 0, False
        self._jobs: deque[_Job] = deque()
        self._changed = threading.Condition()
        on_cpu = device.kind == "cpu"
        self._piece = PIECE if on_cpu else AT_ONCE
        homes = [prepared[0]] * device.threads if on_cpu else list(prepared)
        # Daemons: a program that forgets to close an engine still ends.
        self._workers = [
            threading.Thread(target=self._work, args=(home, on_cpu), name="gpukit-engine", daemon=True)
            for home in homes
        ]
        for worker in self._workers:
            worker.start()

    @property
    def waiting(self) -> int:
        """Number of queries that no worker has taken yet."""
        return self._waiting

    def submit(
        self, sources: Sources, k: int, among: Sequence[int] | None = None, home: Any = None
    ) -> "list[Future[Result]]":
        """Submit queries, and return futures for their answers, one per piece.

        Parameters
        ----------
        sources : Sources
        k : int
            Length of an answer.
        among : sequence of int, optional
            Internal ids of the vertices that answers may name, each once; all by default.
        home : Prepared, optional
            A prepared index that replaces that of the engine, for a changed graph; only on the CPU.

        Raises
        ------
        UsageError
            ``Busy`` if too many wait, or the engine is closed.
        """
        named = None if among is None else np.sort(np.array(among, np.int32)).tobytes()
        firsts = range(0, len(sources), self._piece)
        parts = [sources.part(first, min(first + self._piece, len(sources))) for first in firsts]
        jobs = [_Job(part, k, named, home) for part in parts]
        with self._changed:
            if self._closed:
                raise Busy("no more queries are taken: the engine is closed")
            if self._waiting + len(sources) > self._capacity:
                raise Busy(f"{self._waiting} queries wait, and no more than {self._capacity} may; ask again later")
            self._waiting += len(sources)
            self._jobs.extend(jobs)
            self._changed.notify(len(jobs))
        return [job.future for job in jobs]

    def answer(self, sources: Sources, k: int, among: Sequence[int] | None = None) -> Result:
        """Answer queries, and wait for the answers. Raises like :meth:`submit`."""
        pieces = self.submit(sources, k, among)
        try:
            return Result.joined([piece.result() for piece in pieces])
        except BaseException:
            for piece in pieces:
                piece.cancel()
            raise

    def close(self) -> None:
        """Accept no more queries, and wait until the waiting ones are answered."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.join()

    def _work(self, home: Any, on_cpu: bool) -> None:
        """Answer waiting queries until the engine is closed and none is waiting."""
        while jobs := self._take(1 if on_cpu else AT_ONCE):
            running = [job for job in jobs if job.future.set_running_or_notify_cancel()]
            if not running:
                continue
            sources, first_job = Sources.joined([job.sources for job in running]), running[0]
            try:
                on = first_job.home or home
                among = _mask(on.constants.n, first_job.among)
                result = on.query(sources, first_job.k, refine=self._refine, among=among)
            except BaseException as error:
                for job in running:
                    job.future.set_exception(error)
                continue
            first = 0
            for job in running:
                job.future.set_result(_part(result, first, first + len(job.sources)))
                first += len(job.sources)

    def _take(self, limit: int) -> list[_Job]:
        """Wait for jobs and return the first, with others of the same k and vertices, up to ``limit`` queries.

        None at the end.
        """
        with self._changed:
            while not self._jobs and not self._closed:
                self._changed.wait()
            taken: list[_Job] = []
            left: list[_Job] = []
            size = 0
            while self._jobs and size < limit:
                job = self._jobs.popleft()
                alike = not taken or (job.k, job.among, job.home) == (taken[0].k, taken[0].among, taken[0].home)
                if not alike or (taken and size + len(job.sources) > limit):
                    left.append(job)
                    continue
                taken.append(job)
                size += len(job.sources)
            self._jobs.extendleft(reversed(left))
            self._waiting -= size
            return taken


def _mask(n: int, among: bytes | None) -> np.ndarray | None:
    """Return which vertices answers may name (bool, n); None: all."""
    if among is None:
        return None
    mask = np.zeros(n, np.bool_)
    mask[np.frombuffer(among, np.int32)] = True
    return mask


def _part(result: Result, first: int, last: int) -> Result:
    """Return the answers of the queries first … last - 1 of a result."""
    inside = slice(result.offsets[first], result.offsets[last])
    offsets = result.offsets[first : last + 1] - inside.start
    nodes, scores = result.nodes[inside], result.scores[inside]
    certain = None if result.certain is None else result.certain[inside]
    return Result(offsets, nodes, scores, result.steps[first:last], result.traces[first:last], result.schedule, certain)
