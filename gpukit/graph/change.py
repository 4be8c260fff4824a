"""A graph with edges added and removed: the one an import of the new list of edges would give."""

from dataclasses import replace

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.build import degree_facts, transpose
from gpukit.graph.csr import MAX_EDGES, Graph
from gpukit.graph.probabilities import drawn_stored
from gpukit.wording import spelled


def change(graph: Graph, added: np.ndarray, removed: np.ndarray) -> Graph:
    """Return the graph with other edges, in O(n + m); its vertices and the scheme of its probabilities stay.

    Parameters
    ----------
    graph : Graph
    added, removed : int64 arrays
        tail << 32 | head of internal ids, ascending: edges that are not there, and edges that are.

    Returns
    -------
    Graph
        With in-edges where the graph has them. Of its facts those on degrees are those of the new edges.

    Raises
    ------
    InputError
        If there are too many edges, or those that come have no probability, since the graph has its own for each.
    """
    if len(added):
        check_addable(graph)
    if graph.m + len(added) - len(removed) > MAX_EDGES:
        raise InputError(f"{len(added):,} edges are too many; a graph holds at most 2**32 - 1 directed edges")
    keys = np.repeat(np.arange(graph.n, dtype=np.int64) << 32, np.diff(graph.indptr))
    keys |= graph.indices
    gone = np.searchsorted(keys, removed)
    keys = np.delete(keys, gone)
    keys = np.insert(keys, np.searchsorted(keys, added), added)
    indptr = np.searchsorted(keys, np.arange(graph.n + 1, dtype=np.int64) << 32)
    indices = keys.astype(np.int32)
    words = None if graph.probabilities is None else np.delete(graph.probabilities, gone)
    if graph.weights.drawn:
        words = drawn_stored(graph.weights, indptr, indices)
    bare = replace(
        graph, indptr=indptr, indices=indices, probabilities=words, in_indptr=None, in_indices=None,
        in_probabilities=None,
    )  # fmt: skip
    found = bare if graph.in_indptr is None else transpose(bare)
    return replace(found, facts=graph.facts | degree_facts(found))


def check_addable(graph: Graph) -> None:
    """Refuse a graph to which no edge can be added; raises InputError."""
    if graph.weights.scheme == "file":
        raise InputError(
            "the edges of this graph have probabilities of their own, and those to add have none; import it anew with "
            f"all edges, or with {spelled('weights', 'none')}"
        )
