"""Triangles, and quantities derived from them."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.nx.graph import NodeRows

if TYPE_CHECKING:
    from gpukit.diversity.scores import Network


def triangles(G: NodeRows, nodes: Any = None) -> Any:
    """Return the number of triangles of each node, or of one; as :func:`networkx.triangles`."""
    _, counts = _degrees_and_triangles(G)
    return _of(G, nodes, counts.tolist())


def clustering(G: NodeRows, nodes: Any = None, weight: None = None) -> Any:
    """Return the share of pairs of neighbours that are neighbours, as :func:`networkx.clustering` without weights."""
    degrees, counts = (numbers.tolist() for numbers in _degrees_and_triangles(G))
    return _of(G, nodes, [2 * t / (d * (d - 1)) if t else 0 for d, t in zip(degrees, counts, strict=True)])


def average_clustering(G: NodeRows, nodes: Any = None, weight: None = None, count_zeros: bool = True) -> float:
    """Return the mean of :func:`clustering`, as :func:`networkx.average_clustering` without weights."""
    found = clustering(G, nodes).values()
    if not count_zeros:
        found = [value for value in found if value > 0]
    return sum(found) / len(found)


def transitivity(G: NodeRows) -> float:
    """Return three times the triangles over the pairs of neighbours, as :func:`networkx.transitivity`."""
    degrees, counts = _degrees_and_triangles(G)
    closed = 2 * int(counts.sum())
    return closed / int((degrees * (degrees - 1)).sum()) if closed else 0


def generalized_degree(G: NodeRows, nodes: Any = None) -> Any:
    """Return for each node the number of its edges in 0, 1, 2, … triangles, as :func:`networkx.generalized_degree`."""
    network = _network(G)
    starts, support = network.indptr.tolist(), network.support.tolist()
    ranks = network.rank.tolist()

    def count(place: int) -> Counter:
        return Counter(support[starts[ranks[place]] : starts[ranks[place] + 1]])

    if nodes in G:
        return count(G.index[nodes])
    return {node: count(G.index[node]) for node in G.nbunch_iter(nodes)}


def _of(G: NodeRows, nodes: Any, values: list) -> Any:
    """Return the value of one node, or values of several, by node; of all if ``nodes`` is None."""
    if nodes is None:
        return dict(zip(G.nodes, values, strict=True))
    if nodes in G:
        return values[G.index[nodes]]
    return {node: values[G.index[node]] for node in G.nbunch_iter(nodes)}


def _network(G: NodeRows) -> "Network":
    """Return the rows without self-loops, and the triangles of each edge; both are stored with the graph."""
    if "network" not in G.found:
        G.found["network"] = _make_network(G)
    return G.found["network"]


def _make_network(G: NodeRows) -> "Network":
    """Return the rows without self-loops, and the triangles of each edge."""
    import numba

    from gpukit.diversity.scores import build_network
    from gpukit.graph.csr import Graph

    # Rows of predecessors are ascending.
    indptr, indices, _ = G.incoming
    if G.self_loops:
        keep = indices != G.tails
        indptr = np.concatenate([[0], np.cumsum(keep)])[indptr]
        indices = indices[keep]
    return build_network(Graph(indptr, indices, undirected=True), numba.get_num_threads())


def _degrees_and_triangles(G: NodeRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours of each node, without itself, and its triangles (int64), by position."""
    network = _network(G)
    degrees = np.diff(network.indptr)
    return degrees[network.rank], (network.cost - degrees)[network.rank]
