"""The input graph and the results of structural diversity search."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpukit.errors import UsageError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Graph, Weights
from gpukit.parameters.diversity import Params
from gpukit.wording import spelled

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Contexts:
    """The social contexts of some vertices.

    Attributes
    ----------
    first : int64 array, shape (vertices + 1,)
        First context of each vertex, and the number of contexts.
    offsets : int64 array, shape (contexts + 1,)
        Start of each context in ``members``.
    members : int32 array
        Internal ids, ascending in a context; the contexts of a vertex ascend by their first member.
    """

    first: np.ndarray
    offsets: np.ndarray
    members: np.ndarray

    def of(self, place: int) -> list[np.ndarray]:
        """Return the contexts of the vertex at a place, each an int32 array of members."""
        rows = range(self.first[place], self.first[place + 1])
        return [self.members[self.offsets[row] : self.offsets[row + 1]] for row in rows]


def running(numbers: Any, xp: Any = np) -> Any:
    """Return 0 and the running sums of a list or of an array of ``xp`` (int64, one entry longer)."""
    sums = xp.zeros(len(numbers) + 1, np.int64)
    xp.cumsum(numbers, out=sums[1:])
    return sums


def take_contexts(first: np.ndarray, offsets: np.ndarray, members: np.ndarray, places: np.ndarray) -> Contexts:
    """Return the contexts of the vertices at some places, in that order; the arrays are those of :class:`Contexts`."""
    found = Contexts(first, offsets, members)
    each = [found.of(place) for place in places]
    rows = [context for contexts in each for context in contexts]
    taken, offsets = (running([len(one) for one in group]) for group in (each, rows))
    return Contexts(taken, offsets, np.concatenate(rows) if rows else members[:0])


def group_members(
    owners: np.ndarray, labels: np.ndarray, members: np.ndarray, vertices: int, smallest: int
) -> Contexts:
    """Return contexts from labelled members.

    Parameters
    ----------
    owners : integer array
        Place of the vertex whose ego-network each member is in, ascending.
    labels : integer array
        Component of the ego-network that each member is in.
    members : int32 array
        Internal ids.
    vertices : int
        Number of vertices.
    smallest : int
        Least size of a context; smaller components are dropped.
    """
    by_part = np.lexsort((members, labels, owners))
    owners, labels, members = owners[by_part], labels[by_part], members[by_part]
    starts = np.flatnonzero((np.diff(owners, prepend=-1) != 0) | (np.diff(labels, prepend=-1) != 0))
    sizes = np.diff(starts, append=len(members))
    starts, sizes = starts[sizes >= smallest], sizes[sizes >= smallest]
    order = np.lexsort((members[starts], owners[starts]))
    starts, sizes = starts[order], sizes[order]
    offsets = running(sizes)
    places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)
    return Contexts(running(np.bincount(owners[starts], minlength=vertices)), offsets, members[places])


@dataclass(frozen=True, eq=False)
class EgoTrusses:
    """Full truss decompositions of ego-networks.

    Attributes
    ----------
    offsets : int64 array, shape (vertices + 1,)
        First edge of each ego-network.
    trussness : int32 array
        Largest k such that the k-truss contains the edge, at least 2. The edges of an ego-network are ordered by lower
        and then higher end, in the order of ranks (degree in the graph, then id).
    scores : int32 array
        Number of contexts of each vertex.
    """

    offsets: np.ndarray
    trussness: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class Result:
    """The t vertices with most contexts.

    Attributes
    ----------
    vertices : int32 array, shape (t,)
        Internal ids, by falling score, equal scores by ascending id.
    scores : int32 array, shape (t,)
        Number of contexts of each.
    contexts : Contexts
        Of the vertices, in the same order.
    scored : int
        Number of scored ego-networks; upper bounds excluded the rest.
    """

    vertices: np.ndarray
    scores: np.ndarray
    contexts: Contexts
    scored: int


class Scorer(Protocol):
    """The interface of a network that the search needs, on any device; vertices are internal ids."""

    @property
    def n(self) -> int:
        """Number of vertices."""

    @property
    def ego_edges(self) -> int:
        """Edges of all ego-networks."""

    def bounds(self, params: Params) -> np.ndarray:
        """Return an upper bound of each score (int32, n)."""

    def scores(self, vertices: np.ndarray, params: Params, progress: Progress | None = None) -> np.ndarray:
        """Return the number of contexts (int32) of each of the vertices."""

    def contexts(self, vertices: np.ndarray, counts: np.ndarray, params: Params) -> Contexts:
        """Return the contexts of vertices whose scores are known."""


class Decomposer(Protocol):
    """The interface of a network that the index needs, on any device."""

    def decompose(self, vertices: np.ndarray, params: Params) -> EgoTrusses:
        """Return the trussness of every edge of the ego-networks of vertices (internal ids, each once)."""


def ignores_directions(graph: Graph, symmetrise: bool) -> bool:
    """Return whether directions must be dropped; raises UsageError like :func:`as_undirected`."""
    if not graph.undirected and not symmetrise:
        raise UsageError(
            "the graph is directed, structural diversity is defined on undirected graphs; give "
            f"{spelled('undirected', True)} to ignore "
            f"the directions, or import the edge list with {spelled('undirected', True)}"
        )
    return not graph.undirected


def as_undirected(graph: Graph, symmetrise: bool = False) -> Graph:
    """Return a graph with every edge in both directions.

    Parameters
    ----------
    graph : Graph
    symmetrise : bool
        Whether a directed graph may be made undirected by dropping directions.

    Raises
    ------
    UsageError
        If the graph is directed and ``symmetrise`` is false.
    """
    if not ignores_directions(graph, symmetrise):
        return graph
    tails = np.repeat(np.arange(graph.n, dtype=np.int64), np.diff(graph.indptr))
    built = build_graph(
        tails, graph.indices, weights=Weights("none"), undirected=True, ids=False, n=graph.n, transpose=False
    )
    return Graph(built.indptr, built.indices, graph.ids, Weights("none"), undirected=True, labels=graph.labels)
