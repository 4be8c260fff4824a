"""Change edges and vertices of a graph; the result equals an import of the new edge list."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.build import degree_facts, transpose
from gpukit.graph.csr import MAX_EDGES, Graph
from gpukit.graph.labels import Labels
from gpukit.graph.probabilities import drawn_stored
from gpukit.wording import spelled


class Vertices(NamedTuple):
    """The vertices of a new graph: their number, ids or labels as in a graph, and their old places.

    ``place`` (int64) maps each old vertex to its new number, or to -1 if it is removed. Numbers keep their order.
    """

    n: int
    ids: np.ndarray | None
    labels: Labels | None
    place: np.ndarray


def change(
    graph: Graph, keys: np.ndarray, there: np.ndarray, words: np.ndarray | None = None, vertices: Vertices | None = None
) -> Graph:
    """Return the graph with given edges present or absent, in O(n + m); the probability scheme is unchanged.

    Parameters
    ----------
    graph : Graph
    keys : int64 array
        tail << 32 | head, ascending, of internal ids in the new graph.
    there : bool array
        Whether each of these edges is to be present.
    words : uint32 array, optional
        Probabilities of the edges that are to be present, minus one, in units of 2**-32.
    vertices : Vertices, optional
        The vertices of the new graph; by default those of the old one. Edges of removed vertices are removed.

    Returns
    -------
    Graph
        With in-edges if the graph has them. Facts on degrees are computed for the new edges.

    Raises
    ------
    InputError
        If there are too many edges, or edges are added without probabilities to a graph with explicit ones.
    """
    added = keys[there]
    if len(added) and words is None:
        check_addable(graph)
    n, ids, labels, found = graph.n, graph.ids, graph.labels, graph.probabilities
    edges = np.repeat(np.arange(graph.n, dtype=np.int64) << 32, np.diff(graph.indptr))
    edges |= graph.indices
    if vertices is not None:
        n, ids, labels, place = vertices
        tails, heads = place[edges >> 32], place[edges & 0xFFFFFFFF]
        stays = (tails >= 0) & (heads >= 0)
        edges = (tails << 32 | heads)[stays]
        found = None if found is None else found[stays]
    nearest = np.searchsorted(edges, keys)
    known = np.zeros(len(edges), bool)
    known[nearest[edges.take(nearest, mode="clip") == keys] if len(edges) else []] = True
    edges = edges[~known]
    places = np.searchsorted(edges, added)
    edges = np.insert(edges, places, added)
    if len(edges) > MAX_EDGES:
        raise InputError(f"{len(added):,} edges are too many; a graph holds at most 2**32 - 1 directed edges")
    if found is not None:
        found = np.insert(found[~known], places, np.zeros(len(added), np.uint32) if words is None else words[there])
    indptr = np.searchsorted(edges, np.arange(n + 1, dtype=np.int64) << 32)
    indices = edges.astype(np.int32)
    if graph.weights.drawn:
        found = drawn_stored(graph.weights, indptr, indices)
    bare = replace(
        graph, indptr=indptr, indices=indices, probabilities=found, in_indptr=None, in_indices=None,
        in_probabilities=None, ids=ids, labels=labels,
    )  # fmt: skip
    whole = bare if graph.in_indptr is None else transpose(bare)
    return replace(whole, facts=graph.facts | degree_facts(whole))


def check_addable(graph: Graph) -> None:
    """Refuse a graph to which no edges can be added; raises InputError."""
    if graph.weights.scheme == "file":
        raise InputError(
            "the edges of this graph have individual probabilities, and the new edges have none; import all edges "
            f"again, or use {spelled('weights', 'none')}"
        )
