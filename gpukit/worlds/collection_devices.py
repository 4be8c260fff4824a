"""An RR collection drawn by several GPUs: the same sets, seeds and counts as the CPU collection."""

from collections.abc import Sequence

import numpy as np

from gpukit.device.on_each import OnEach
from gpukit.worlds.collection import Report, Sampler
from gpukit.worlds.collection_cuda import CudaCollection
from gpukit.worlds.graph_cuda import DeviceGraph, placement
from gpukit.worlds.reverse import NEVER, Ending, Reverse


class MultiCudaCollection(CudaCollection):
    """An RR collection drawn by several GPUs: they divide the ids, and their sets move to the first GPU.

    Edges that do not fit on one GPU are split among all of them.

    Parameters
    ----------
    reverse, seed, first, sampler, memory, ending
        As for :class:`CudaCollection`; ``memory`` is per GPU.
    gpus : sequence of int
        CUDA device numbers, at least one; the first must be current.
    graphs : dict, optional
        Graph arrays by GPU, from another collection.
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
        graphs: dict[int, DeviceGraph] | None = None,
        ending: Ending = NEVER,
    ) -> None:
        self._gpus, distinct = tuple(gpus), list(dict.fromkeys(gpus))
        self._on_each = OnEach(gpus)
        if graphs is None:
            placed = placement(reverse, self._gpus)
            made = self._on_each(distinct, lambda: DeviceGraph(reverse, placed))
            graphs = dict(zip(distinct, made, strict=True))
        self.graphs = graphs

        def part(graph: DeviceGraph) -> CudaCollection:
            return CudaCollection(reverse, seed, first, sampler=sampler, memory=memory, graph=graph, ending=ending)

        self._parts = self._on_each(self._gpus, part, [graphs[gpu] for gpu in self._gpus])
        graph = graphs[self._gpus[0]]
        super().__init__(reverse, seed, first, sampler=sampler, memory=memory, graph=graph, ending=ending)

    def append(self, low: int, count: int, report: Report | None = None) -> None:
        """Draw a part of the sets on each GPU, and append them in order."""
        bounds = np.linspace(low, low + count, len(self._gpus) + 1).astype(np.int64)
        starts, counts = bounds[:-1].tolist(), np.diff(bounds).tolist()
        self._on_each(self._gpus, CudaCollection.append, self._parts, starts, counts)
        for part in self._parts:
            self.take_over(part)
        self._on_each(self._gpus, CudaCollection.clear, self._parts)
        if report is not None:
            report(self.drawn)
