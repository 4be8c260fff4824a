"""The baselines of ``baselines.py`` on a GPU, with the same answers."""

from dataclasses import replace
from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, on_gpu, xp
from gpukit.device.launch import launch
from gpukit.device.philox import Stream, stream_tag
from gpukit.graph.csr import Graph
from gpukit.kpar.batch.workspace_cuda import BLOCK, Shape, Workspaces
from gpukit.kpar.groups import Edges, edges_of
from gpukit.kpar.problem import Params, Result, Sources
from gpukit.kpar.rows_cuda import for_each, on_device, to_host
from gpukit.kpar.weights_cuda import chances_for
from gpukit.papers.kpar import fora_cuda
from gpukit.papers.kpar.baselines import ROUND, Fora, fora_settings, shares_of_walks, walks_needed


def _drawn(graph: Graph, params: Params, seed: int) -> tuple:
    """Return what walks are drawn from, the chances of weighted edges third."""
    indptr, indices, one_minus_alpha = edges_of(graph, params)
    return indptr, indices, chances_for(graph, params), one_minus_alpha, np.uint64(seed), stream_tag(Stream.WALK, ROUND)


def fora_index(graph: Graph, params: Params | None = None, *, delta: int = 1, seed: int = 0, gpu: int = 0) -> Fora:
    """Draw the walks of FORA+ as :func:`gpukit.papers.kpar.baselines.fora_index` does; arrays stay on the GPU."""
    params = params or Params()
    limit, worth = fora_settings(graph, params, delta)
    with on_gpu(gpu):
        graph = on_device(graph)
        places = xp.zeros(graph.n + 1, np.int64)
        xp.cumsum(-(-xp.diff(graph.indptr) * limit // worth), out=places[1:])
        ends = xp.empty(int(places[-1]), np.int32)
        drawn = _drawn(graph, params, seed)
        for_each(fora_cuda.walk_ends, len(ends), *drawn, places, ends)
        return Fora(params, limit, worth, places, ends, drawn[2])


class CudaFora:
    """A graph and its FORA+ index in the memory of a GPU, ready for queries."""

    def __init__(self, graph: Graph, index: Fora, gpu: int = 0) -> None:
        self.index, self.gpu, self.n = index, gpu, graph.n
        with on_gpu(gpu):
            self._indptr, self._indices = Buffer(graph.indptr), Buffer(graph.indices)
            self._degrees = Buffer(xp.diff(self._indptr.array).astype(np.uint32))
            self._places, self._ends, self._none = Buffer(index.places), Buffer(index.ends), Buffer(1, np.uint32)
            self._chances = None if index.chances is None else Buffer(index.chances)
            self._space = Workspaces(graph.n, graph.m)

    def query(self, sources: Sources, k: int, *, shape: Shape | None = None) -> Result:
        """Answer a batch; arguments, result and errors are those of :func:`gpukit.papers.kpar.baselines.fora`."""
        width, alone = 2 + 2 * k, replace(shape or Shape(), slots_per_team=1)
        rows = np.empty((len(sources), width), np.int64)
        with on_gpu(self.gpu):
            for first, last in self._space.launches(len(sources), width, alone):
                rows[first:last] = self._launch(sources, first, last, k, alone, width)
        return Result.of_rows(rows[:, 0], rows[:, 2 + k :], rows[:, 2 : 2 + k])

    def _launch(self, sources: Sources, first: int, last: int, k: int, shape: Shape, width: int) -> np.ndarray:
        queries, index = last - first, self.index
        source, out = self._space.sources(sources, first, last), self._space.out(queries, width)

        edges = Edges(self._indptr.view, self._indices.view, np.uint64(index.params.one_minus_alpha))
        chances = None if self._chances is None else self._chances.view
        rows = fora_cuda.ForaIndex(
            self._degrees.view, index.limit, index.worth, self._places.view, self._ends.view, self._none.view
        )

        def arguments(blocks: int, space: tuple) -> tuple:
            return edges, chances, rows, source, queries, blocks, k, *space[:4], out.view

        teams, blocks, slots_per_team = self._space.spread(fora_cuda.fora, arguments, queries, k, shape)
        space = self._space.arrays(teams, slots_per_team, k)
        launch(fora_cuda.fora, teams * blocks, BLOCK, *arguments(blocks, space))
        return out.host()


def fora(graph: Graph, index: Fora, sources: Sources, k: int, *, gpu: int = 0) -> Result:
    """Answer by FORA+ as :func:`gpukit.papers.kpar.baselines.fora` does."""
    return CudaFora(graph, index, gpu).query(sources, k)


def monte_carlo(
    graph: Graph, sources: Sources, k: int, params: Params | None = None, *, delta: int = 1, seed: int = 0, gpu: int = 0
) -> Result:
    """Answer by walks as :func:`gpukit.papers.kpar.baselines.monte_carlo` does."""
    params = params or Params()
    total = walks_needed(graph.n, params, delta)
    answers: list[tuple[Any, Any]] = []
    with on_gpu(gpu):
        graph = on_device(graph)
        drawn = _drawn(graph, params, seed)
        for q in range(len(sources)):
            part = slice(sources.offsets[q], sources.offsets[q + 1])
            walks, worth, extra = shares_of_walks(sources.mass[part], total)
            reserve = xp.zeros(graph.n, np.int64)
            for_each(
                fora_cuda.walk_counts, int(walks[-1]), *drawn, sources.vertices[part], walks, worth, extra, reserve
            )
            nodes = xp.flatnonzero(reserve)
            best = nodes[xp.argsort(-reserve[nodes], kind="stable")[:k]]
            answers.append((to_host(best), to_host(reserve[best])))
    return Result.of(answers)
