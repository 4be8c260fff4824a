"""The residual graph: the inactive vertices, and the number of vertices that remain to be activated."""

import numpy as np

from gpukit.graph.csr import Graph


class Residual:
    """The state of the graph in the current round, shared by all collections of a campaign.

    Parameters
    ----------
    graph : Graph
        With its transpose.
    eta : int
        Vertices to activate.
    model : str
        ``ic`` or ``lt``.

    Attributes
    ----------
    dead : uint8 array, shape (n,)
        1 for active vertices, 0 for inactive ones.
    living, eta : int
        Numbers of inactive vertices, n_i, and of vertices that remain to be activated, η_i (η_i <= 0: done).
    living_in : int32 array, shape (n,) or (0,)
        Number of inactive in-neighbours of each vertex; LT only.
    """

    def __init__(self, graph: Graph, eta: int, model: str) -> None:
        assert graph.in_indptr is not None
        self._graph = graph
        self.dead = np.zeros(graph.n, np.uint8)
        self.living, self.eta = graph.n, eta
        self.living_in = np.diff(graph.in_indptr).astype(np.int32) if model == "lt" else np.zeros(0, np.int32)

    def kill(self, vertices: np.ndarray) -> np.ndarray:
        """Mark distinct inactive vertices as active.

        Returns the vertices that lost an inactive in-neighbour under LT, and an empty array under IC.
        """
        assert not self.dead[vertices].any()
        self.dead[vertices] = 1
        self.living -= len(vertices)
        self.eta -= len(vertices)
        if not len(self.living_in):
            return np.zeros(0, np.int64)
        starts, ends = self._graph.indptr[vertices], self._graph.indptr[vertices + 1]
        pieces = [self._graph.indices[low:high] for low, high in zip(starts, ends, strict=True)]
        heads, times = np.unique(np.concatenate(pieces), return_counts=True) if pieces else (np.zeros(0, int),) * 2
        self.living_in[heads] -= times.astype(np.int32)
        return heads
