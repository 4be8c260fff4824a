"""Structural diversity by NetworkX, straight from the definitions."""

import networkx as nx

from gpukit.graph.csr import Graph


def as_networkx(graph: Graph) -> nx.Graph:
    """Return an undirected NetworkX graph on internal ids."""
    result = nx.Graph()
    result.add_nodes_from(range(graph.n))
    result.add_edges_from(
        (u, int(v)) for u in range(graph.n) for v in graph.indices[graph.indptr[u] : graph.indptr[u + 1]]
    )
    return result


def ego(graph: nx.Graph, v: int) -> nx.Graph:
    """Return the subgraph that the neighbours of v induce."""
    return nx.Graph(graph.subgraph(graph[v]))


def contexts(graph: nx.Graph, v: int, model: str, k: int) -> list[list[int]]:
    """Return the members of each social context of v, ascending, ordered by first member."""
    net = ego(graph, v)
    if model == "comp":
        parts = [part for part in nx.connected_components(net) if len(part) >= k]
    elif model == "core":
        parts = list(nx.connected_components(nx.k_core(net, k)))
    else:
        parts = list(nx.connected_components(nx.k_truss(net, k)))
    return sorted(sorted(part) for part in parts)


def trussness(graph: nx.Graph) -> dict[tuple[int, int], int]:
    """Return the largest k whose k-truss has each edge (lower end first), by peeling again for every k."""
    found, k = {}, 2
    while graph.number_of_edges():
        found |= {tuple(sorted(edge)): k for edge in graph.edges}
        k += 1
        graph = nx.k_truss(graph, k)
    return found
