"""Cores and trusses."""

import math
from collections.abc import Hashable, Mapping
from typing import Any

import networkx as nx
import numpy as np

from gpukit.nx.graph import NodeRows, subgraph


def core_number(G: NodeRows) -> dict[Hashable, int]:
    """Return the core number of each node, as :func:`networkx.core_number`; edges to and from a node both count."""
    return dict(zip(G.nodes, _core_numbers(G).tolist(), strict=True))


def onion_layers(G: NodeRows) -> dict[Hashable, int]:
    """Return the layer of each node in the onion decomposition, as :func:`networkx.onion_layers`."""
    from gpukit.nx import onion_cpu

    _refuse_loops(G, "contains")
    layers, degrees = onion_cpu.onion_layers(G.indptr, G.indices)
    return {G.nodes[v]: int(layers[v]) for v in np.lexsort((degrees, layers))}


def k_core(G: NodeRows, k: int | None = None, core_number: Mapping[Hashable, int] | None = None) -> nx.Graph:
    """Return the nodes of core number k or more (by default the largest), as :func:`networkx.k_core`."""
    numbers, k = _asked(G, k, core_number)
    return _induced(G, numbers >= k, core_number)


def k_shell(G: NodeRows, k: int | None = None, core_number: Mapping[Hashable, int] | None = None) -> nx.Graph:
    """Return the nodes of core number k (by default the largest), as :func:`networkx.k_shell`."""
    numbers, k = _asked(G, k, core_number)
    return _induced(G, numbers == k, core_number)


def k_crust(G: NodeRows, k: int | None = None, core_number: Mapping[Hashable, int] | None = None) -> nx.Graph:
    """Return the nodes of core number k or less (by default one less than the largest), as :func:`networkx.k_crust`."""
    numbers, bound = _asked(G, k, core_number)
    return _induced(G, numbers <= (bound - 1 if k is None else bound), core_number)


def k_corona(G: NodeRows, k: int, core_number: Mapping[Hashable, int] | None = None) -> nx.Graph:
    """Return the nodes of core number k with k neighbours of core number k or more, as :func:`networkx.k_corona`."""
    numbers, k = _asked(G, k, core_number)
    needed = G.indices[numbers[G.tails] == k]
    absent = needed[np.isnan(numbers[needed])]
    if len(absent):
        raise KeyError(G.nodes[absent[0]])
    neighbours = np.bincount(G.tails[numbers[G.indices] >= k], minlength=len(G))
    return _induced(G, (numbers == k) & (neighbours == k), core_number)


def k_truss(G: NodeRows, k: int) -> nx.Graph:
    """Return the largest subgraph whose edges are each in k - 2 of its triangles, as :func:`networkx.k_truss`.

    Nodes without edges are left out.
    """
    _refuse_loops(G)
    _, indices, entries = G.outgoing
    needed = math.ceil(min(max(k - 2, 0), len(G))) + 2
    trussness = _trussness(G, needed)
    # Edges have their lower end first and are ascending, like the entries above the diagonal.
    found = entries[indices > G.tails][trussness >= needed]
    edges = np.zeros(len(indices), bool)
    edges[found] = True
    return subgraph(G, np.unique([G.tails[found], G.indices[found]]), edges)


def _trussness(G: NodeRows, needed: int) -> np.ndarray:
    """Return the trussness of each edge, or a value of at least ``needed``; the result is stored with the graph."""
    from gpukit.diversity.decomposition import truss_numbers
    from gpukit.graph.csr import Graph

    known, trussness = G.found.get("trussness", (0, None))
    if trussness is None or known < needed:
        indptr, indices, _ = G.outgoing
        trussness = truss_numbers(Graph(indptr, indices, undirected=True), k_max=needed)[2]
        G.found["trussness"] = needed, trussness
    return trussness


def _induced(G: NodeRows, kept: np.ndarray, core_number: Mapping[Hashable, int] | None) -> nx.Graph:
    """Return some nodes and the edges between them, as ``G.subgraph(nodes).copy()`` does.

    NetworkX iterates over the set of the nodes if they are fewer than half.
    """
    places = np.flatnonzero(kept)
    if 2 * len(places) < G.underlying:
        chosen = {node for node in core_number or G.index if node in G.index and kept[G.index[node]]}
        places = np.array([G.index[node] for node in chosen], np.int64)
    return subgraph(G, places)


def _refuse_loops(G: NodeRows, verb: str = "has") -> None:
    if G.self_loops:
        raise nx.NetworkXNotImplemented(
            f"Input graph {verb} self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )


def _core_numbers(G: NodeRows) -> np.ndarray:
    """Return the core numbers (int32) by position."""
    from gpukit.diversity.decomposition_cpu import coreness

    _refuse_loops(G)
    if not G.is_directed():
        return coreness(G.indptr, G.indices)
    in_indptr, in_indices, _ = G.incoming
    both = np.empty(2 * len(G.indices), np.int32)
    each = np.arange(len(G.indices))
    both[each + in_indptr[G.tails]] = G.indices
    both[each + np.repeat(G.indptr[1:], np.diff(in_indptr))] = in_indices
    return coreness(G.indptr + in_indptr, both)


def _asked(G: NodeRows, k: int | None, core_number: Mapping[Hashable, int] | None) -> tuple[np.ndarray, Any]:
    """Return the core numbers by position, NaN for nodes without one; and k, or by default the largest core number."""
    if core_number is None:
        numbers = _core_numbers(G)
        return numbers, max(numbers.tolist()) if k is None else k
    numbers = np.array([core_number.get(node, np.nan) for node in G.nodes], np.float64)
    return numbers, max(core_number.values()) if k is None else k
