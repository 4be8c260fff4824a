"""An RR collection drawn by several GPUs: the sets, seeds and counts of the CPU collection."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from gpukit.device.arrays import on_gpu, wait_for_gpu, xp
from gpukit.worlds.collection import Query, Report, Sampler, Selection, check_ids
from gpukit.worlds.collection_cuda import CudaCollection, Piece
from gpukit.worlds.graph_cuda import DeviceGraph, placement
from gpukit.worlds.reverse import NEVER, Ending, Reverse


class MultiCudaCollection:
    """An RR collection drawn by several GPUs; ids are split among them, and the first GPU selects.

    Sets stay on the GPU that drew them until a selection, coverage or export asks for them; then they move to the
    first. Edges that one GPU has no room for lie in parts on all of them.

    Parameters
    ----------
    reverse, seed, first, sampler, memory, ending
        As for :class:`CudaCollection`; ``memory`` counts for each GPU.
    gpus : sequence of int
        CUDA device numbers, at least one; the first must be current.
    graph : dict, optional
        Graph arrays by GPU, filled and shared with other collections.
    """

    def __init__(
        self,
        reverse: Reverse,
        seed: int,
        first: int = 0,
        *,
        gpus: Sequence[int],
        sampler: Sampler | None = None,
        memory: int | None = None,
        graph: "dict[int, DeviceGraph] | None" = None,
        ending: Ending = NEVER,
    ) -> None:
        self.reverse, self.first, self.size, self.ids = reverse, first, 0, 0
        self.gpus = tuple(gpus)
        self.graph: dict[int, DeviceGraph] = {} if graph is None else graph
        # A thread per GPU: parts on one share its working space. The simulator runs one kernel at a time.
        self._pool = ThreadPoolExecutor(1 if xp is np else len(set(self.gpus)))

        placed = None if self.graph else placement(reverse, self.gpus)

        def build(gpu: int) -> CudaCollection:
            if gpu not in self.graph:
                self.graph[gpu] = DeviceGraph(reverse, placed)
            return CudaCollection(
                reverse, seed, first, sampler=sampler, memory=memory, graph=self.graph[gpu], ending=ending
            )

        self._parts = self._on_each(build, self.gpus)
        self._whole = build(self.gpus[0])
        self._pieces: list[tuple[CudaCollection, Piece]] = []
        self.drawn = 0

    def _on_each(self, function: Callable, *arguments: Sequence) -> list:
        """Call ``function`` once per GPU, in a thread where that GPU is current."""

        def call(gpu: int, *rest: Any) -> Any:
            with on_gpu(gpu):
                result = function(*rest)
                wait_for_gpu()
                return result

        return list(self._pool.map(call, self.gpus, *arguments))

    def extend(self, size: int, report: Report | None = None) -> None:
        """Draw sets until there are ``size``."""
        while size > self.drawn:
            self._append(self.reverse.ids_for(size - self.drawn))
            if report is not None:
                report(self.drawn)
        self.size = max(self.size, size)

    def extend_over(self, ids: int) -> None:
        """Draw the sets of the first ``ids`` sample ids, however many these are; nothing was drawn before."""
        self._append(ids)
        self.size = self.drawn

    def _append(self, ids: int) -> None:
        """Draw the sets of the next ids, a part of them on each GPU."""
        check_ids(self.first, self.ids + ids)
        bounds = np.linspace(self.ids, self.ids + ids, len(self.gpus) + 1).astype(np.int64).tolist()
        pieces = self._on_each(
            lambda part, low, high: part.piece(low, high - low), self._parts, bounds[:-1], bounds[1:]
        )
        self._pieces.extend(zip(self._parts, pieces, strict=True))
        self.drawn += sum(piece.sets_end - piece.sets for piece in pieces)
        self.ids += ids

    def _gathered(self) -> CudaCollection:
        """Return the collection on the first GPU, with all sets in the order of their ids."""
        for part, piece in self._pieces:
            self._whole.take_over(part, piece)
        if self._pieces:
            for part in self._parts:
                self._whole.take_counts(part)
        self._on_each(lambda part: part.clear(), self._parts)
        self._pieces.clear()
        self._whole.size = self.size
        return self._whole

    def members(self) -> int:
        """Return the number of members of all sets."""
        return self._gathered().members()

    def select(self, query: Query) -> Selection:
        """Choose k elements a round greedily (:func:`gpukit.worlds.cover_cpu.greedy`)."""
        return self._gathered().select(query)

    def coverage(self, seeds: np.ndarray) -> np.ndarray:
        """Return, as int64 (len(seeds) + 1,), how many sets the first i seeds cover."""
        return self._gathered().coverage(seeds)

    def ended(self) -> int:
        """Return how many sets ended early and have no member that stands for them."""
        return self._gathered().ended()

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32) in host memory, members of a set ascending."""
        return self._gathered().export()
