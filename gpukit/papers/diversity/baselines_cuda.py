"""The ablation NoGPUEgo: ego-networks extracted by one CPU thread, and scored by the kernel of ``contexts_cuda.py``."""

import numpy as np

from gpukit.device.arrays import Buffer
from gpukit.diversity.contexts_cuda import MemberLists
from gpukit.diversity.egos import extract
from gpukit.diversity.problem import Params, running
from gpukit.diversity.scores_cuda import CudaNetwork
from gpukit.graph.csr import Graph


class NoGpuEgo:
    """A network whose ego-networks come from the CPU, in CSR, each time that scores are asked for.

    Every row of an ego-network becomes a vertex of its own, so that the kernel finds nothing but edges.
    """

    def __init__(self, graph: Graph, *, full: bool = False) -> None:
        self._graph, self._network = graph, CudaNetwork(graph, full=full)

    def scores(self, vertices: np.ndarray, params: Params) -> np.ndarray:
        """Return the number of contexts of each vertex (int32)."""
        egos = extract(self._graph, self._network.order)
        rows = np.repeat(np.arange(len(egos.nodes)), np.diff(egos.indptr))
        first_nodes = np.repeat(egos.node_begin[:-1], np.diff(egos.node_begin))
        heads = np.repeat(first_nodes, np.diff(egos.indptr)) + egos.indices
        higher = heads > rows
        up_begin = running(np.bincount(rows[higher], minlength=len(egos.nodes)))
        kept = np.arange(max(1, len(egos.nodes)), dtype=np.int32)
        lists = MemberLists(*map(Buffer, (egos.node_begin, kept, up_begin, heads[higher].astype(np.int32))))
        self._network.given = lists, Buffer(np.diff(egos.indptr[egos.node_begin]) // 2)
        return self._network.scores(vertices, params)
