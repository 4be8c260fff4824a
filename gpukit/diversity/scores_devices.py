"""Scores on several GPUs: each GPU has the whole network, and the vertices are divided (section 6 of the paper)."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, copy, on_gpu, wait_for_gpu, xp
from gpukit.device.on_each import quick_turns
from gpukit.device.shape import kernel_lock
from gpukit.diversity import balance
from gpukit.diversity.problem import Contexts, Params, Progress, running
from gpukit.diversity.scores_cuda import CudaNetwork
from gpukit.graph.csr import Graph

_kernel_lock = kernel_lock()

LEAST = 0.2
"""Least seconds of a batch by the cost model: a batch costs launches and ends with few busy blocks. The model is
fitted to small samples, so work estimated at 0.2 s takes about 20 ms."""

HEAD, GROUPS = 512, 64
"""The ``HEAD`` vertices of most ego edges are tasks of their own; the rest are dealt to ``GROUPS`` tasks of similar
cost."""


class _Part:
    """The network on one GPU, and the requested vertices, divided into tasks."""

    def __init__(self, gpu: int, graph: Graph, full: bool) -> None:
        self.gpu = gpu
        with _kernel_lock, on_gpu(gpu):
            self.network = CudaNetwork(graph, full=full, patient=True)
        self._asked = self._order = xp.zeros(0, np.int32)
        self._ends = running([])
        self.leader: _Part | None = None

    def __call__(self, method: Callable[..., Any], *arguments: Any) -> Any:
        """Call a method while this GPU is current, and wait for it."""
        with _kernel_lock, on_gpu(self.gpu):
            result = method(*arguments)
            wait_for_gpu()
            return result

    def prepare(self, vertices: np.ndarray) -> None:
        """Divide vertices into tasks by cost: the costliest ones are single tasks, the rest is dealt to groups."""
        self._asked = self.network.ranks(vertices)
        count = len(vertices)
        falling = self._by_edges()
        head = min(HEAD, count)
        groups = max(1, min(GROUPS, count - head))
        dealt = [falling[head + group :: groups] for group in range(groups)]
        self._order = xp.concatenate([falling[:head], *dealt])
        self._ends = running(head * [1] + [len(group) for group in dealt])

    def _by_edges(self) -> Any:
        """Return the ranks of the requested vertices, by falling number of ego edges."""
        return self._asked[xp.argsort(-self.network.sizes(self._asked)[1], kind="stable")]

    def _follow(self) -> None:
        """Copy the tasks of the leader if there are new ones, and clear all scores."""
        if self.leader is None:
            return
        self.network.known.fill(0)
        if self.leader is not self:
            self._ends, self._order = self.leader._ends, xp.empty_like(self.leader._order)
            copy(self._order, self.leader._order)
        self.leader = None

    def tasks(self, cost_of: Callable[[Any, Any], Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return the cost (float64) and the number of vertices (int64) of each task."""
        sums = xp.zeros(len(self._order) + 1)
        xp.cumsum(cost_of(*self.network.sizes(self._order)), out=sums[1:])
        return np.diff(Buffer(sums[xp.asarray(self._ends)]).host()), np.diff(self._ends)

    def sample(self, groups: Sequence[np.ndarray], params: Params, model: Any) -> tuple[list, list[float]]:
        """Score groups of places in the order of cost; return the features and the seconds of each."""
        known, seconds, falling = [], [], self._by_edges()
        for group in groups:
            ranks = falling[xp.asarray(group)]
            wait_for_gpu()
            start = time.perf_counter()
            self.network.score(ranks, params)
            wait_for_gpu()
            seconds.append(time.perf_counter() - start)
            known.append(Buffer(model(*self.network.sizes(ranks))).host())
        return known, seconds

    def work(self, params: Params, tasks: np.ndarray) -> None:
        """Score the vertices of some of the leader's tasks."""
        self._follow()
        lows, highs = self._ends[tasks], self._ends[tasks + 1]
        alone = highs - lows == 1
        single = self._order[xp.asarray(lows[alone])]
        groups = zip(lows[~alone].tolist(), highs[~alone].tolist(), strict=True)
        self.network.score(xp.concatenate([single, *(self._order[low:high] for low, high in groups)]), params)

    def gather(self, others: "Sequence[_Part]") -> np.ndarray:
        """Return the scores of the requested vertices, in the order of the request, from this GPU and the others."""
        self._follow()
        total = self.network.known.copy()
        for part in others:
            if part.leader is not None:
                continue  # it had nothing to do
            found = xp.empty_like(total)
            copy(found, part.network.known)
            total += found
        return Buffer(total[self._asked]).host()


class MultiCudaNetwork:
    """An undirected graph on several GPUs. Scores equal those of one GPU, for any number of GPUs and any balance.

    Parameters
    ----------
    graph, full
        As for :class:`CudaNetwork`.
    gpus : sequence of int
        CUDA device numbers, at least one.

    Attributes
    ----------
    shares : list of balance.Share
        What each GPU did in the last :meth:`scores`.
    """

    fraction = balance.SAMPLE
    """Fraction of the vertices to time for the cost model, in (0, 1]."""

    make_lists = balance.WorkLists

    def __init__(self, graph: Graph, gpus: Sequence[int], *, full: bool = False) -> None:
        self.n, self.full = graph.n, full
        self.shares: list[balance.Share] = []
        self._weights: dict[Params, np.ndarray] = {}
        with ThreadPoolExecutor(len(gpus)) as pool:
            self._parts = list(pool.map(lambda gpu: _Part(gpu, graph, full), gpus))

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

    @quick_turns()
    def scores(self, vertices: np.ndarray, params: Params, progress: Progress | None = None) -> np.ndarray:
        """Return the number of contexts of each vertex (int32)."""
        if not len(vertices):
            return np.zeros(0, np.int32)
        first = self._parts[0]
        first(self._prepare, first, np.asarray(vertices, np.int32))

        def model(degrees: Any, edges: Any) -> Any:
            return balance.features(params.model, self.full, degrees, edges)

        if params not in self._weights:
            groups = balance.sample(len(vertices), self.fraction)
            self._weights[params] = balance.fit(*first(first.sample, groups, params, model))
        weights = self._weights[params]
        cost, counts = first(first.tasks, lambda *sizes: model(*sizes) @ xp.asarray(weights))
        for part in self._parts:
            part.leader = first
        workers = [partial(part, part.work, params) for part in self._parts]
        self.shares = balance.run(workers, self.make_lists(cost, len(workers), LEAST), counts, progress)
        return first(first.gather, self._parts[1:])

    def _prepare(self, first: _Part, vertices: np.ndarray) -> None:
        """Divide vertices into the tasks of the first GPU, which the other GPUs share."""
        first.prepare(vertices)
