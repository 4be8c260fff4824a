"""A tiny input: running on it loads the compiled code before the measured phases."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph


def one_edge(graph: "Graph", vertices: int = 2) -> "Graph":
    """Return a graph of one edge, 0 → 1, with the kind of probabilities of a given graph; none of them is tiny."""
    import numpy as np

    from gpukit.graph.csr import Graph, Weights

    words = None if graph.probabilities is None else np.full(1, 1 << 31, np.uint32)
    weights = Weights("const", 0.5) if graph.weights.scheme == "const" else graph.weights
    return Graph(
        indptr=np.array([0] + vertices * [1]),
        indices=np.ones(1, np.int32),
        weights=weights,
        probabilities=words,
        in_indptr=np.array([0, 0] + (vertices - 1) * [1]),
        in_indices=np.zeros(1, np.int32),
        in_probabilities=words,
    )
