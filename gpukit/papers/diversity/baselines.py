"""Decomposition of ego-networks by BC-Div and PGL-Div (section 7, experiment 3).

CPU-Div and MCPU-Div are ``build_network(graph, threads, full=True)`` with one and more threads.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from gpukit.device.select import Device
from gpukit.diversity.decomposition import core_numbers, truss_numbers
from gpukit.diversity.egos import EgoNetworks, extract
from gpukit.diversity.problem import Params, running
from gpukit.graph.csr import Graph

BATCH = 1 << 27
"""Most edges of ego-networks that are decomposed together (both directions, bounded from above by degrees)."""


@dataclass(frozen=True, eq=False)
class EgoByEgo:
    """Scores by a decomposition for whole graphs, applied to extracted ego-networks.

    BC-Div with ``core`` (k-core decomposition of Ahmad et al., 2023, in this project's form), PGL-Div with ``truss``
    (Almasri et al., 2019). Extraction is sequential, as in the paper. Several ego-networks form one graph, whose
    decomposition contains that of each. So a batch takes as many launches as a single ego-network.

    Attributes
    ----------
    graph : Graph
        Undirected.
    device : Device, optional
        The device for the decompositions; the CPU if not given.
    """

    graph: Graph
    device: Device | None = None

    def scores(self, vertices: np.ndarray, params: Params) -> np.ndarray:
        """Return the number of contexts of each vertex (int32); ``comp`` needs no decomposition."""
        degrees = np.diff(self.graph.indptr)
        around = np.diff(running(degrees[self.graph.indices])[self.graph.indptr])
        cuts = np.flatnonzero(np.diff(running(around[vertices])[1:] // BATCH)) + 1
        parts = np.split(np.asarray(vertices, np.int32), cuts)
        return np.concatenate([self._count(extract(self.graph, part), params) for part in parts])

    def _count(self, egos: EgoNetworks, params: Params) -> np.ndarray:
        """Return the number of contexts in each ego-network."""
        centres, rows = len(egos.centres), len(egos.nodes)
        if not rows:
            return np.zeros(centres, np.int32)
        owner = np.repeat(np.arange(centres), np.diff(egos.node_begin))
        tails = np.repeat(np.arange(rows, dtype=np.int32), np.diff(egos.indptr))
        heads = (egos.indices + egos.node_begin[owner[tails]]).astype(np.int32)
        together = Graph(egos.indptr, heads, undirected=True)
        members, kept = np.ones(rows, np.bool_), np.ones(len(tails), np.bool_)
        if params.model == "core":
            members = core_numbers(together, self.device) >= params.k
            kept = members[tails] & members[heads]
        elif params.model == "truss":
            tails, heads, trussness = truss_numbers(together, self.device)
            kept = trussness >= params.k
            members = np.zeros(rows, np.bool_)
            members[tails[kept]] = members[heads[kept]] = True
        matrix = csr_array((np.ones(kept.sum(), np.int8), (tails[kept], heads[kept])), shape=(rows, rows))
        number, labels = connected_components(matrix, directed=False)
        sizes, owners = np.bincount(labels[members], minlength=number), np.zeros(number, np.int64)
        owners[labels] = owner
        contexts = sizes >= (params.k if params.model == "comp" else 1)
        return np.bincount(owners[contexts], minlength=centres).astype(np.int32)
