"""Balance of work among devices (section 6 of the paper): cost model, packing, and stealing of waiting work.

Nothing here changes a score: each vertex is scored once, on any device. The paper's other ways to balance are in
:mod:`gpukit.papers.diversity.balance`.
"""

import heapq
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from gpukit.diversity.problem import Progress

SAMPLE = 0.01
"""Fraction of the vertices timed for the cost model (section 7, experiment 1)."""

FRONT, LEAST = 7 / 8, 1 / 8
"""If work can be stolen, a device takes the fraction ``FRONT`` of its unfinished work as its next batch. It takes
everything if less than ``LEAST`` of an even share would remain. Running work cannot be stolen, and each batch costs
launches and ends with few busy blocks."""

STRATA = 16
"""Groups of the sample that are timed for the cost model; the vertices of a group have similar cost."""


def features(model: str, full: bool, degrees: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the features whose weighted sum is the cost of an ego-network (float64, vertices by features).

    ``comp``: edges. ``core``: neighbours and edges. ``truss``: neighbours and edges ** 1.5; without the full
    decomposition also edges.
    """
    columns = {"comp": [edges], "core": [degrees, edges], "truss": [degrees, edges**1.5]}[model]
    if model == "truss" and not full:
        columns.append(edges)
    return np.column_stack(columns).astype(np.float64)


def sample(count: int, fraction: float) -> list[np.ndarray]:
    """Return evenly spaced positions in the order of cost, in groups of adjacent positions.

    Parameters
    ----------
    count : int
        Number of vertices, at least 1.
    fraction : float
        Fraction of them to take, in (0, 1]; at least one vertex is taken.
    """
    taken = max(1, round(fraction * count))
    places = ((np.arange(taken) + 0.5) * count / taken).astype(np.int64)
    return np.array_split(places, min(STRATA, taken))


def fit(groups: Sequence[np.ndarray], seconds: Sequence[float]) -> np.ndarray:
    """Return the non-negative weight of each feature (least squares); a separate term absorbs the cost of a launch.

    Parameters
    ----------
    groups : sequence of float64 arrays, shape (vertices, features)
    seconds : sequence of float
        Time that each group took.
    """
    from scipy.optimize import nnls

    sums = np.array([group.sum(axis=0) for group in groups])
    scale = np.maximum(sums.max(axis=0), 1e-300)
    weights = nnls(np.column_stack([sums / scale, np.ones(len(sums))]), np.asarray(seconds))[0][:-1] / scale
    # All weights are 0 if the sample is too small to show any cost; then every feature gets the same weight.
    return weights if weights.any() else 1 / scale


def pack(cost: np.ndarray, devices: int) -> list[np.ndarray]:
    """Return each device's tasks by falling cost: the longest first, to the least loaded device (algorithm 8)."""
    load = [(0.0, device) for device in range(devices)]
    lists: list[list[int]] = [[] for _ in range(devices)]
    for task in np.argsort(-cost, kind="stable").tolist():
        least, device = heapq.heappop(load)
        lists[device].append(task)
        heapq.heappush(load, (least + float(cost[task]), device))
    return [np.array(one, np.int64) for one in lists]


@dataclass
class Share:
    """What one device did: busy seconds, cost and number of its tasks, their vertices, batches, and stolen tasks."""

    seconds: float = 0.0
    cost: float = 0.0
    tasks: int = 0
    vertices: int = 0
    batches: int = 0
    stolen: int = 0


class WorkLists:
    """The waiting tasks of every device, each list by task number; safe to use from one thread per device.

    Lists are packed by cost. An idle device steals half of the waiting tasks of the device that has most (MGPU-Div-D,
    algorithm 9).

    Parameters
    ----------
    cost : float64 array
        Estimated cost of each task, not negative. Indivisible tasks should come first, because the last batches and the
        stolen work come from the end.
    devices : int
    least : float
        Least cost of a batch.
    """

    assign = staticmethod(pack)
    """Returns each device's tasks, from the cost of each task and the number of devices."""

    def __init__(self, cost: np.ndarray, devices: int, least: float = 0.0) -> None:
        self._cost = cost
        self._lists = [_List(np.sort(one), cost) for one in self.assign(cost, devices)]
        self._grain = max(least, LEAST * float(cost.sum()) / devices)
        self._lock = threading.Lock()
        self.shares = [Share() for _ in range(devices)]

    def take(self, device: int) -> np.ndarray:
        """Return the next batch of tasks for a device; empty if none is left for it."""
        with self._lock:
            mine, share = self._lists[device], self.shares[device]
            mine.running = 0.0
            if not mine.waiting:
                others = [one for one in self._lists if one.waiting]
                stolen = self._steal(others) if others else np.empty(0, np.int64)
                mine = self._lists[device] = _List(stolen, self._cost)
                share.stolen += mine.waiting
            everything = (1 - FRONT) * mine.unfinished() < self._grain
            batch = mine.front(np.inf if everything else FRONT * mine.unfinished())
            mine.running = float(self._cost[batch].sum())
            share.cost += mine.running
            share.tasks += len(batch)
            share.batches += len(batch) > 0
            return batch

    def _steal(self, others: "list[_List]") -> np.ndarray:
        """Take waiting work from the back of another device's list; ``others`` have some."""
        heaviest = max(others, key=_List.unfinished)  # the first of equals
        return heaviest.back(heaviest.unfinished() / 2)


class _List:
    """Tasks in order of execution; tasks low … high - 1 wait."""

    def __init__(self, tasks: np.ndarray, cost: np.ndarray) -> None:
        self.tasks, self.running, self.low, self.high = tasks, 0.0, 0, len(tasks)
        self.sums = np.concatenate([[0.0], np.cumsum(cost[tasks])])

    @property
    def waiting(self) -> int:
        """Number of waiting tasks."""
        return self.high - self.low

    def unfinished(self) -> float:
        """Return the cost of the waiting and the running tasks."""
        return self.running + float(self.sums[self.high] - self.sums[self.low])

    def front(self, cost: float) -> np.ndarray:
        """Take tasks from the front until their total reaches ``cost``; at least one."""
        end = int(np.searchsorted(self.sums, self.sums[self.low] + cost, side="left"))
        start, self.low = self.low, min(max(end, self.low + 1), self.high)
        return self.tasks[start : self.low]

    def back(self, cost: float) -> np.ndarray:
        """Take tasks from the back; stop before the total would exceed ``cost``."""
        cut = int(np.searchsorted(self.sums, self.sums[self.high] - cost, side="left"))
        end, self.high = self.high, min(max(cut, self.low), self.high)
        return self.tasks[self.high : end]


def run(
    workers: Sequence[Callable[[np.ndarray], None]],
    lists: WorkLists,
    vertices: np.ndarray,
    progress: Progress | None = None,
) -> list[Share]:
    """Run tasks on several devices, one host thread each, and return what each device did.

    Parameters
    ----------
    workers : sequence of callables
        One per device: runs a batch of tasks and returns when it is done.
    lists : WorkLists
        The tasks, for as many devices.
    vertices : int64 array
        Number of vertices of each task.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of vertices.
    """
    total, done = int(vertices.sum()), [0]

    def work(device: int) -> None:
        share = lists.shares[device]
        while len(batch := lists.take(device)):
            start = time.perf_counter()
            workers[device](batch)
            share.seconds += time.perf_counter() - start
            scored = int(vertices[batch].sum())
            share.vertices += scored
            done[0] += scored
            if progress is not None:
                progress(done[0], total)

    with ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(work, range(len(workers))))
    return lists.shares
