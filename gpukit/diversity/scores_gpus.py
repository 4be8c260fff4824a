"""Scores on several GPUs: each has the whole network, the vertices are shared (section 6 of the paper)."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numba import cuda

from gpukit.device.arrays import Buffer, copy, on_gpu, xp
from gpukit.diversity import balance
from gpukit.diversity.problem import Contexts, Params, Progress
from gpukit.diversity.scores_cuda import CudaNetwork
from gpukit.graph.csr import Graph

_turn: AbstractContextManager = threading.Lock() if xp is np else nullcontext()
"""The simulator runs one kernel at a time."""


HEAD, GROUPS = 2048, 64
"""Vertices of most ego edges that are tasks of their own; the others are dealt to so many tasks of like cost."""


class _Part:
    """The network on one GPU, and the vertices that are asked for, by falling number of ego edges.

    Every GPU finds the same order by itself: it depends on integers alone.
    """

    def __init__(self, gpu: int, graph: Graph, memory: int | None, full: bool) -> None:
        self.gpu = gpu
        with _turn, on_gpu(gpu):
            self.network = CudaNetwork(graph, memory=memory, full=full)
        self._order: Any = None
        self._slices: list[slice] = []
        self._head = 0

    def __call__(self, method: Callable[..., Any], *arguments: Any) -> Any:
        """Call a method while this GPU is current, and wait for it."""
        with _turn, on_gpu(self.gpu):
            result = method(*arguments)
            cuda.synchronize()
            return result

    def prepare(self, vertices: np.ndarray, by_cost: bool) -> None:
        """Take vertices: in order of cost, the first tasks one each; or as they are, in groups."""
        ranks, count = self.network.ranks(vertices), len(vertices)
        self.network.known.fill(0)
        self._head = min(HEAD, count) if by_cost else 0
        if by_cost:
            ranks = ranks[xp.argsort(-self.network.sizes(ranks)[1], kind="stable")]
            self._slices = [slice(self._head + g, count, GROUPS) for g in range(min(GROUPS, count - self._head))]
        else:
            ends = np.linspace(0, count, min(GROUPS, count) + 1).astype(np.int64).tolist()
            self._slices = [slice(low, high) for low, high in zip(ends[:-1], ends[1:], strict=True)]
        self._order = ranks

    def tasks(self, cost_of: Callable[[Any, Any], Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return cost (float64) and number of vertices (int64) of each task."""
        cost = cost_of(*self.network.sizes(self._order))
        counts = np.array([len(range(*part.indices(len(cost)))) for part in self._slices], np.int64)
        groups = [self._of_groups(cost[self._head :], counts)] if len(counts) else []
        costs = Buffer(xp.concatenate([cost[: self._head], *groups])).host()
        return costs, np.concatenate([np.ones(self._head, np.int64), counts])

    def _of_groups(self, cost: Any, counts: np.ndarray) -> Any:
        """Return the cost of each group, given that of the vertices that are not tasks of their own."""
        if self._head:
            padded = xp.zeros(int(counts[0]) * len(counts))
            padded[: len(cost)] = cost
            return padded.reshape(-1, len(counts)).sum(axis=0)
        ends = xp.asarray(np.cumsum(counts) - 1)
        sums = xp.cumsum(cost)[ends]
        return xp.diff(sums, prepend=xp.zeros(1))

    def sample(self, groups: Sequence[np.ndarray], params: Params, model: Any) -> tuple[list, list[float]]:
        """Score groups of places in the order; return the features of each and the seconds it took."""
        known, seconds = [], []
        for group in groups:
            ranks = self._order[xp.asarray(group)]
            cuda.synchronize()
            start = time.perf_counter()
            self.network.score(ranks, params)
            cuda.synchronize()
            seconds.append(time.perf_counter() - start)
            known.append(Buffer(model(*self.network.sizes(ranks))).host())
        return known, seconds

    def work(self, tasks: np.ndarray, params: Params) -> None:
        """Score the vertices of some tasks."""
        single = tasks[tasks < self._head]
        chosen = [self._order[self._slices[task - self._head]] for task in tasks[tasks >= self._head].tolist()]
        self.network.score(xp.concatenate([self._order[xp.asarray(single)], *chosen]), params)


class MultiCudaNetwork:
    """An undirected graph on several GPUs; the scores of one, for any number of them and any balance.

    Parameters
    ----------
    graph, memory, full
        As for :class:`CudaNetwork`; ``memory`` counts for each GPU.
    gpus : sequence of int
        CUDA device numbers, at least one.
    strategy : str
        One of :data:`gpukit.diversity.balance.STRATEGIES`.
    fraction : float
        Part of the vertices to time for the cost model, in (0, 1].

    Attributes
    ----------
    shares : list of balance.Share
        What each GPU did in the last :meth:`scores`.
    """

    def __init__(
        self,
        graph: Graph,
        gpus: Sequence[int],
        *,
        strategy: str = "dynamic",
        fraction: float = balance.SAMPLE,
        memory: int | None = None,
        full: bool = False,
    ) -> None:
        self.n, self.full, self.strategy, self.fraction = graph.n, full, strategy, fraction
        self.shares: list[balance.Share] = []
        self._weights: dict[Params, np.ndarray] = {}
        with ThreadPoolExecutor(len(gpus)) as pool:
            self._parts = list(pool.map(lambda gpu: _Part(gpu, graph, memory, full), gpus))

    @property
    def ego_edges(self) -> int:
        """Edges of all ego-networks."""
        return self._parts[0].network.ego_edges

    def bounds(self, params: Params) -> np.ndarray:
        """Return an upper bound of the score of each vertex (int32, n), by internal id."""
        first = self._parts[0]
        return first(first.network.bounds, params)

    def contexts(self, vertices: np.ndarray, counts: np.ndarray, params: Params) -> Contexts:
        """Return the members of the contexts of vertices whose scores are known."""
        first = self._parts[0]
        return first(first.network.contexts, vertices, counts, params)

    def scores(self, vertices: np.ndarray, params: Params, progress: Progress | None = None) -> np.ndarray:
        """Return the number of contexts of each vertex (int32)."""
        if not len(vertices):
            return np.zeros(0, np.int32)
        first, vertices = self._parts[0], np.asarray(vertices, np.int32)
        self._on_each(lambda part: part.prepare(vertices, self.strategy != "none"))

        def model(degrees: Any, edges: Any) -> Any:
            return balance.features(params.model, self.full, degrees, edges)

        if params not in self._weights:
            groups = balance.sample(len(vertices), self.fraction)
            self._weights[params] = balance.fit(*first(first.sample, groups, params, model))
            first(first.network.known.fill, 0)
        weights = self._weights[params]
        cost, counts = first(first.tasks, lambda *sizes: model(*sizes) @ xp.asarray(weights))
        workers = [self._worker(part, params) for part in self._parts]
        self.shares = balance.run(workers, cost, counts, self.strategy, progress)
        return first(self._gather, vertices)

    @staticmethod
    def _worker(part: _Part, params: Params) -> Callable[[np.ndarray], None]:
        return lambda tasks: part(part.work, tasks, params)

    def _on_each(self, function: Callable[[_Part], None]) -> None:
        """Call a function once a GPU, each in a thread where that GPU is current."""
        with ThreadPoolExecutor(len(self._parts)) as pool:
            list(pool.map(lambda part: part(function, part), self._parts))

    def _gather(self, vertices: np.ndarray) -> np.ndarray:
        """Return the scores that the GPUs found; the first must be current."""
        network = self._parts[0].network
        total = network.known.copy()
        for part in self._parts[1:]:
            other = xp.empty(self.n, np.int32)
            copy(other, part.network.known)
            total += other
        return Buffer(total[network.ranks(vertices)]).host()
