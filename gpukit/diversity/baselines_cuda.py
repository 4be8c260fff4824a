"""The ablation NoGPUEgo: ego-networks extracted by one CPU thread, and scored by the kernel of ``contexts_cuda.py``."""

import numpy as np

from gpukit.device.arrays import Buffer
from gpukit.diversity.egos import extract
from gpukit.diversity.scores_cuda import CudaNetwork, Lists
from gpukit.graph.csr import Graph


class NoGpuEgo(CudaNetwork):
    """A network whose ego-networks come from the CPU, in CSR, each time that scores are asked for.

    Every row of an ego-network becomes a vertex of its own, so that the kernel finds nothing but edges.
    """

    def __init__(self, graph: Graph, *, memory: int | None = None, full: bool = False) -> None:
        super().__init__(graph, memory=memory, full=full)
        self._graph = graph

    def _lists_of(self, least: int, edge_least: int) -> Lists:
        egos = extract(self._graph, self.order)
        rows = np.repeat(np.arange(len(egos.nodes)), np.diff(egos.indptr))
        heads = (
            np.repeat(np.repeat(egos.node_begin[:-1], np.diff(egos.node_begin)), np.diff(egos.indptr)) + egos.indices
        )
        up_begin = np.zeros(len(egos.nodes) + 1, np.int64)
        np.cumsum(np.bincount(rows[heads > rows], minlength=len(egos.nodes)), out=up_begin[1:])
        edges = np.diff(egos.indptr[egos.node_begin]) // 2
        up = heads[heads > rows].astype(np.int32)
        own = np.arange(max(1, len(egos.nodes)), dtype=np.int32)
        return Lists(Buffer(egos.node_begin), Buffer(own), Buffer(up_begin), Buffer(up), Buffer(edges))
