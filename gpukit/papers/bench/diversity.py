"""Structural diversity, timed repeatedly after a warm-up: scores of all vertices, searches, ablations and baselines."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gpukit.device.select import Device
from gpukit.device.timing import synchroniser
from gpukit.diversity import Params, build_network, egos, search
from gpukit.errors import UsageError
from gpukit.graph.csr import Graph
from gpukit.papers.bench.machine import extent
from gpukit.papers.diversity.balance import make_network, makespan
from gpukit.papers.diversity.baselines import EgoByEgo

EDGE_BYTES, FULL_EDGE_BYTES = 4 + 4 + 4 + 8, 4 + 4 + 4 + 8 + 4
"""Least memory traffic of an edge of an ego-network: it is read from a row of the graph, listed, and read again with a
word of each end's row; a decomposition also writes its trussness."""

MEMBER_BYTES = 8
"""Least memory traffic of a member of an ego-network: it is read from the graph, and its component is written."""

METHODS = (
    *("score", "full", "search", "whole", "extract", "scatter", "no-gpu-ego"),
    *("cpu-div", "mcpu-div", "bc-div", "pgl-div", "steal"),
)
"""The methods: all scores; all full decompositions; our search; the paper's search (full decompositions, from the graph
in host memory to the answer) on the device, and on one CPU thread or all; extraction of all ego-networks, also by
scatter and aggregation; all full decompositions with extraction by one CPU thread; the baselines of the paper; and a
simulation of stealing with a wrong cost estimate."""

PRETENDED = 4
"""Devices of the simulation, the number of the paper's GPUs."""

SAMPLED = ("bc-div", "pgl-div")
"""Methods that can be timed on a sample, because one thread extracts their ego-networks."""


def warm(function: Callable[[], Any], repeat: int, device: Device) -> tuple[dict[str, Any], Any]:
    """Return the times (ms: ``cold``, ``median``, ``min``, ``max``, ``each``) of calls, and the last result."""
    sync, spent = synchroniser(device), []
    result = None
    for _ in range(repeat + 1):
        result = None
        start = time.perf_counter()
        result = function()
        sync()
        spent.append(1e3 * (time.perf_counter() - start))
    cold, *rest = spent
    return {"cold": cold, **extent(rest), "each": rest}, result


class Bench:
    """Timed runs on one graph.

    Parameters
    ----------
    graph : Graph
        Undirected.
    device : Device
    repeat : int
        Timed runs of each configuration, at least 1, after one untimed run.
    bandwidth : float
        Bytes per second that the device's memory moves (:func:`gpukit.papers.bench.machine.copy_bandwidth`).
    balance : str
        A key of :data:`gpukit.papers.diversity.balance.STRATEGIES`; only for several GPUs.
    fraction : float
        Fraction of the vertices timed for the cost model.
    """

    def __init__(
        self, graph: Graph, device: Device, *, repeat: int, bandwidth: float, balance: str, fraction: float
    ) -> None:
        self.graph, self.device, self.repeat, self.bandwidth = graph, device, repeat, bandwidth
        self.balance, self.fraction = balance, fraction
        self.everyone = np.arange(graph.n, dtype=np.int32)
        self.build, self.network = self._warm(self._network)
        self.ego_edges = self.network.ego_edges

    def _warm(self, function: Callable[[], Any]) -> tuple[dict[str, Any], Any]:
        return warm(function, self.repeat, self.device)

    def _network(self, full: bool = False, device: Device | None = None) -> Any:
        where = device or self.device
        return make_network(self.graph, where, strategy=self.balance, fraction=self.fraction, full=full)

    def _ready(self, full: bool) -> Any:
        """Return the network for one way of scoring; device memory holds one at a time."""
        if self.network is None or self.network.full != full:
            self.network = None
            self.network = self._network(full)
        return self.network

    def measure(self, method: str, params: Params, t: int, sample: int) -> dict[str, Any]:
        """Time or simulate one method.

        Parameters
        ----------
        method : str
            One of :data:`METHODS`.
        params : Params
        t : int
            Length of the search's answer.
        sample : int
            Number of vertices on which methods that extract with one thread are timed; 0: all.

        Returns
        -------
        dict
            ``method``, ``model``, ``k``, and except for ``steal`` the times ``ms`` (:func:`warm`). ``score`` and
            ``full`` add ``scores_sum``, ``floor_ms`` and ``floor_share``. On several GPUs they also add ``balance``,
            ``shares`` and ``imbalance``: the longest time of a GPU over the mean time. On one GPU ``full`` adds
            ``ego_triangles`` and ``triangles_per_second`` for trusses. ``search`` adds ``t``, ``scored`` and
            ``t_th_score``. A method of :data:`SAMPLED` adds ``vertices``, ``of`` and ``ms_scaled``. ``steal`` has
            ``balance`` and ``makespan``.

        Raises
        ------
        UsageError
            If the method can be timed only on GPUs.
        """
        facts: dict[str, Any] = {"method": method, "model": params.model, "k": params.k}
        if method in ("score", "full"):
            return facts | self._all(params, method == "full")
        if method == "search":
            network = self._ready(False)
            spent, answer = self._warm(lambda: search(network, params, t))
            return facts | {"ms": spent, "t": t, "scored": answer.scored, "t_th_score": int(answer.scores[-1])}
        if method in SAMPLED:
            return facts | self._sampled(params, sample)
        if method == "steal":
            return facts | {"balance": self.balance, "makespan": self._steal()}
        return facts | {"ms": self._other(method, params, t)}

    def _all(self, params: Params, full: bool) -> dict[str, Any]:
        network = self._ready(full)
        spent, found = self._warm(lambda: network.scores(self.everyone, params))
        each = FULL_EDGE_BYTES if full else EDGE_BYTES
        floor = (self.ego_edges * each + self.graph.m * MEMBER_BYTES) / self.bandwidth * 1e3
        facts = {"ms": spent, "scores_sum": int(found.sum()), "floor_ms": floor, "floor_share": floor / spent["median"]}
        if shares := getattr(network, "shares", []):
            busy = [share.seconds for share in shares]
            facts |= {"balance": self.balance, "shares": [vars(share) for share in shares]}
            facts["imbalance"] = max(busy) * len(busy) / sum(busy)
        elif full and params.model == "truss" and self.device.kind == "cuda":
            triangles = network.triangles_of(self.everyone, params)
            facts |= {"ego_triangles": triangles, "triangles_per_second": triangles / spent["median"] * 1e3}
        return facts

    def _other(self, method: str, params: Params, t: int) -> dict[str, Any]:
        graph, everyone = self.graph, self.everyone
        if method in ("whole", "cpu-div", "mcpu-div"):
            threads = 1 if method == "cpu-div" else self.device.threads
            where = self.device if method == "whole" else Device("cpu", self.device.name, (), threads, "")
            self.network = None
            return warm(lambda: search(self._network(True, where), params, t), self.repeat, where)[0]
        if self.device.kind == "cpu":
            if method != "extract":
                raise UsageError(f"{method} is timed on a GPU; use --device cuda")
            return self._warm(lambda: egos.extract(graph, everyone, self.device.threads))[0]
        from gpukit.diversity import egos_cuda
        from gpukit.papers.diversity import baselines_cuda, scatter_cuda

        if method == "no-gpu-ego":
            given = baselines_cuda.NoGpuEgo(graph, full=True)
            return self._warm(lambda: given.scores(everyone, params))[0]
        if method == "scatter":
            return self._warm(lambda: scatter_cuda.extract_scatter(graph))[0]
        return self._warm(lambda: egos_cuda.extract(graph, everyone))[0]

    def _steal(self) -> float:
        """Return the makespan over an even share, if the estimate is the degree, and the true time is edges ** 1.5."""
        plain = build_network(self.graph, self.device.threads)
        degrees = np.diff(self.graph.indptr).astype(np.float64)
        edges = plain.cost[plain.rank] - degrees
        return makespan(degrees, edges**1.5, PRETENDED, self.balance)

    def _sampled(self, params: Params, sample: int) -> dict[str, Any]:
        """Time the decomposition of ego-networks of vertices spread evenly over the order of cost."""
        count = min(sample or self.graph.n, self.graph.n)
        plain = build_network(self.graph, self.device.threads)
        by_cost = plain.order[np.argsort(plain.cost, kind="stable")]
        vertices = by_cost[(np.arange(count) + 0.5).astype(np.int64) * self.graph.n // count]
        baseline = EgoByEgo(self.graph, self.device)
        spent, _ = warm(lambda: baseline.scores(vertices, params), 1, self.device)
        return {"ms": spent, "vertices": count, "of": self.graph.n, "ms_scaled": spent["median"] * self.graph.n / count}
