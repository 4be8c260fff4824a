"""Scores on several GPUs: each has the whole network, the vertices are shared (section 6 of the paper)."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from gpukit.device.arrays import on_gpu, xp
from gpukit.diversity import balance
from gpukit.diversity.problem import Contexts, Params, Progress
from gpukit.diversity.scores_cuda import CudaNetwork
from gpukit.graph.csr import Graph

_turn: AbstractContextManager = threading.Lock() if xp is np else nullcontext()
"""The simulator runs one kernel at a time."""


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
        self.gpus = tuple(gpus)
        self.shares: list[balance.Share] = []
        self._weights: dict[tuple, np.ndarray] = {}

        def build(gpu: int) -> CudaNetwork:
            return CudaNetwork(graph, memory=memory, full=full)

        with ThreadPoolExecutor(len(self.gpus)) as pool:
            self._parts = list(pool.map(lambda gpu: _on(gpu, build, gpu), self.gpus))

    def bounds(self, params: Params) -> np.ndarray:
        """Return an upper bound of the score of each vertex (int32, n), by internal id."""
        return _on(self.gpus[0], self._parts[0].bounds, params)

    def ego_sizes(self, vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers (int64) of neighbours and of edges in the ego-network of each vertex."""
        return _on(self.gpus[0], self._parts[0].ego_sizes, vertices)

    def scores(self, vertices: np.ndarray, params: Params, progress: Progress | None = None) -> np.ndarray:
        """Return the number of contexts of each vertex (int32)."""
        degrees, edges = self.ego_sizes(vertices)
        known = balance.features(params.model, self.full, degrees, edges)
        key = (params, self.full, self.fraction)
        if key not in self._weights:
            groups = balance.sample(edges, self.fraction)
            seconds = [self._time(vertices[group], params) for group in groups]
            self._weights[key] = balance.fit([known[group] for group in groups], seconds)
        workers = [self._worker(gpu, part, params) for gpu, part in zip(self.gpus, self._parts, strict=True)]
        found, self.shares = balance.run(workers, vertices, known @ self._weights[key], self.strategy, progress)
        return found

    def _time(self, vertices: np.ndarray, params: Params) -> float:
        start = time.perf_counter()
        _on(self.gpus[0], self._parts[0].scores, vertices, params)
        return time.perf_counter() - start

    @staticmethod
    def _worker(gpu: int, part: CudaNetwork, params: Params) -> Callable[[np.ndarray], np.ndarray]:
        return lambda vertices: _on(gpu, part.scores, vertices, params)

    def contexts(self, vertices: np.ndarray, counts: np.ndarray, params: Params) -> Contexts:
        """Return the members of the contexts of vertices whose scores are known."""
        return _on(self.gpus[0], self._parts[0].contexts, vertices, counts, params)


def _on(gpu: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function while a GPU is current; it returns host arrays, so it waits for the device itself."""
    with _turn, on_gpu(gpu):
        return function(*arguments)
