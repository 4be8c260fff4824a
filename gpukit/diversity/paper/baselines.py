"""Decomposition of ego-networks one by one, as BC-Div and PGL-Div do (section 7, experiment 3).

CPU-Div and MCPU-Div are ``build_network(graph, threads, full=True)`` with one and more threads.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from gpukit.device.select import Device
from gpukit.diversity.decomposition import core_numbers, truss_numbers
from gpukit.diversity.egos import extract
from gpukit.diversity.problem import Params
from gpukit.graph.csr import Graph


@dataclass(frozen=True, eq=False)
class EgoByEgo:
    """Scores by a decomposition made for whole graphs, applied to one extracted ego-network after the other.

    BC-Div with ``core`` (k-core decomposition of Ahmad et al., 2023, in this project's form), PGL-Div with ``truss``
    (Almasri et al., 2019). Extraction is sequential. For comparison: each ego-network costs some launches.

    Attributes
    ----------
    graph : Graph
        Undirected.
    device : Device, optional
        Where the decompositions run; the CPU if not given.
    """

    graph: Graph
    device: Device | None = None

    def scores(self, vertices: np.ndarray, params: Params) -> np.ndarray:
        """Return the number of contexts of each vertex (int32); ``comp`` needs no decomposition."""
        egos, found = extract(self.graph, vertices), np.zeros(len(vertices), np.int32)
        for place in range(len(vertices)):
            starts = egos.indptr[egos.node_begin[place] : egos.node_begin[place + 1] + 1]
            inner = Graph(starts - starts[0], egos.indices[starts[0] : starts[-1]], undirected=True)
            found[place] = self._count(inner, params)
        return found

    def _count(self, ego: Graph, params: Params) -> int:
        """Return the number of contexts in one ego-network."""
        tails, heads = np.repeat(np.arange(ego.n), np.diff(ego.indptr)), ego.indices
        members, kept = np.ones(ego.n, np.bool_), np.ones(ego.m, np.bool_)
        if params.model == "core":
            members = core_numbers(ego, self.device) >= params.k
            kept = members[tails] & members[heads]
        elif params.model == "truss":
            tails, heads, trussness = truss_numbers(ego, self.device)
            kept = trussness >= params.k
            members = np.isin(np.arange(ego.n), (tails[kept], heads[kept]))
        matrix = csr_array((np.ones(kept.sum(), np.int8), (tails[kept], heads[kept])), shape=(ego.n, ego.n))
        _, labels = connected_components(matrix, directed=False)
        sizes = np.bincount(labels[members])
        return int(np.count_nonzero(sizes >= (params.k if params.model == "comp" else 1)))
