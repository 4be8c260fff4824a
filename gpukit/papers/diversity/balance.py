"""The paper's other strategies to balance several devices (section 6), and a simulation of all strategies."""

import heapq
import random
from typing import Any

import numpy as np

from gpukit.device.select import Device
from gpukit.diversity import networks
from gpukit.diversity.balance import SAMPLE, WorkLists
from gpukit.diversity.problem import Scorer, running
from gpukit.errors import UsageError
from gpukit.graph.csr import Graph


class Packed(WorkLists):
    """Lists packed by cost, without stealing."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._grain = np.inf  # each device takes its whole list at once

    def _steal(self, others: list[Any]) -> np.ndarray:
        return np.empty(0, np.int64)


class Even(Packed):
    """Equal numbers of tasks in the given order."""

    @staticmethod
    def assign(cost: np.ndarray, devices: int) -> list[np.ndarray]:
        """Return each device's tasks."""
        return np.array_split(np.arange(len(cost)), devices)


class RandomTheft(WorkLists):
    """An idle device steals one batch of a random device."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._random = random.Random(0)

    def _steal(self, others: list[Any]) -> np.ndarray:
        return self._random.choice(others).back(self._grain)


class WholeTheft(WorkLists):
    """An idle device steals all waiting tasks of the device that has most (MGPU-Div-E)."""

    def _steal(self, others: list[Any]) -> np.ndarray:
        return max(others, key=lambda one: one.unfinished()).back(np.inf)


STRATEGIES: dict[str, type[WorkLists]] = {
    "none": Even,
    "pack": Packed,
    "random": RandomTheft,
    "exhausted": WholeTheft,
    "dynamic": WorkLists,
}
"""How tasks are assigned to devices, and stolen."""


def lists_of(strategy: str) -> type[WorkLists]:
    """Return the lists of a strategy; raises UsageError if it is unknown."""
    if strategy not in STRATEGIES:
        raise UsageError(f"balance {strategy!r} is unknown; choose {', '.join(STRATEGIES)}")
    return STRATEGIES[strategy]


def make_network(
    graph: Graph,
    device: Device | None = None,
    *,
    strategy: str = "dynamic",
    fraction: float = SAMPLE,
    full: bool = False,
) -> Scorer:
    """Return a network like :func:`gpukit.diversity.make_network`.

    Parameters
    ----------
    graph, device, full
        See there.
    strategy : str
        The strategy for several GPUs, a key of :data:`STRATEGIES`.
    fraction : float
        Fraction of the vertices that several GPUs time for the cost model, in (0, 1].

    Raises
    ------
    UsageError
        If the strategy is unknown or the fraction out of range.
    DeviceError
        If the graph does not fit on the GPU.
    """
    lists = lists_of(strategy)
    if not 0 < fraction <= 1:
        raise UsageError(f"the part of the vertices to sample is {fraction}; above 0, up to 1 is allowed")
    if device is None or len(device.gpus) < 2:
        return networks.make_network(graph, device, full=full)
    return several(graph, device.gpus, lists, fraction, full)


def several(graph: Graph, gpus: Any, lists: type[WorkLists], fraction: float = SAMPLE, full: bool = False) -> Any:
    """Return a network on several GPUs that are balanced by a kind of lists."""
    from gpukit.diversity.scores_devices import GROUPS, MultiCudaNetwork

    class Network(MultiCudaNetwork):
        def _prepare(self, first: Any, vertices: np.ndarray) -> None:
            first.prepare(vertices)
            if lists is Even:  # consecutive groups, whatever they cost
                count = len(vertices)
                ends = np.linspace(0, count, min(GROUPS, count) + 1).astype(np.int64)
                first._order, first._ends = first._asked, running(np.diff(ends))

    network = Network(graph, gpus, full=full)
    network.make_lists, network.fraction = lists, fraction
    return network


def makespan(cost: np.ndarray, spent: np.ndarray, devices: int, strategy: str) -> float:
    """Return the simulated time of devices that balance by estimated cost, divided by an even share; 1 is the optimum.

    Parameters
    ----------
    cost : float64 array
        Estimated cost of each task.
    spent : float64 array
        True time of each task, the same on every device.
    devices : int
    strategy : str
        One of :data:`STRATEGIES`.
    """
    lists = lists_of(strategy)(cost, devices)
    clocks, end = [(0.0, device) for device in range(devices)], 0.0
    while clocks:
        now, device = heapq.heappop(clocks)
        if len(batch := lists.take(device)):
            end = max(end, now + float(spent[batch].sum()))
            heapq.heappush(clocks, (now + float(spent[batch].sum()), device))
    return end * devices / float(spent.sum()) if len(spent) else 1.0
