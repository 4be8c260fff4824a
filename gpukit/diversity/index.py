"""The index: the contexts of every vertex for every k of the three models. It answers any search at once.

Contexts are nested: a context of k + 1 lies in one of k. So one row per vertex holds its contexts of every k. For each
k a list has the vertices and their numbers of contexts; see :mod:`gpukit.diversity.index_cpu`. Model ``comp`` has no
rows of its own: its components are those of the 1-core, and neighbours outside the 1-core are components of one vertex.

The index is built from the trussness of every edge of every ego-network, which a network on the CPU or a GPU computes.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gpukit.diversity.bounds import CODES, least_size
from gpukit.diversity.contexts_cpu import EgoScratch
from gpukit.diversity.index_cpu import Links, Neighbours, link_vertices, list_scores, make_forest
from gpukit.diversity.problem import Contexts, Decomposer, Params, Progress, Result, running
from gpukit.diversity.scores import Network
from gpukit.errors import InputError
from gpukit.graph.csr import Graph

AT_ONCE = 1 << 24
"""The most edges whose trussness is kept at a time; a single ego-network may have more."""


class ScoreLists(NamedTuple):
    """The vertices with contexts and their numbers of contexts, for each k of a model."""

    first: np.ndarray  # int64: start of the list of k = 0, 1, …, and the end of the last
    vertices: np.ndarray  # int32: internal ids, by falling score, equal scores ascending
    scores: np.ndarray  # int32: 1 or more


@dataclass(frozen=True, eq=False)
class Index:
    """The contexts of every vertex for every k.

    Attributes
    ----------
    offsets : int64 array, shape (n + 1,)
        Start of the row of each vertex.
    rows : mapping of str to Links
        The rows of the models ``core`` and ``truss``; a model that is not needed may be missing.
    lists : mapping of str to ScoreLists
        The lists of each model; a model that is not needed may be missing.
    """

    offsets: np.ndarray
    rows: Mapping[str, Links]
    lists: Mapping[str, ScoreLists]

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> "Index":
        """Return the index from arrays named as in :attr:`arrays`; some models may be missing."""
        rows = {m: Links(arrays[f"{m}/members"], arrays[f"{m}/links"]) for m in CODES if f"{m}/links" in arrays}
        there = [model for model in CODES if f"{model}/first" in arrays]
        lists = {model: ScoreLists(*(arrays[f"{model}/{name}"] for name in ScoreLists._fields)) for model in there}
        return cls(arrays["offsets"], rows, lists)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name: ``offsets``, and for example ``core/members`` and ``comp/first``."""
        found = {"offsets": self.offsets}
        for parts in (self.rows, self.lists):
            for model, part in parts.items():
                found |= {f"{model}/{name}": array for name, array in part._asdict().items()}
        return found

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.offsets) - 1

    @property
    def largest(self) -> dict[str, int]:
        """The largest k of each model for which a vertex has a context; 0 if there is none."""
        return {model: max(0, len(lists.first) - 2) for model, lists in self.lists.items()}

    def search(self, params: Params, t: int, *, among: range | None = None) -> Result:
        """Return the result of :func:`gpukit.diversity.search` without looking at ego-networks.

        The cost is proportional to the neighbours of the vertices in the answer.

        Raises
        ------
        InputError
            If the index contradicts itself.
        """
        among = range(self.n) if among is None else among
        vertices, scores = self._top(self.lists[params.model], params.k, min(t, len(among)), among)
        return Result(vertices, scores, self._contexts(vertices, scores, params), 0)

    def _top(self, lists: ScoreLists, k: int, t: int, among: range) -> tuple[np.ndarray, np.ndarray]:
        """Return the t vertices with most contexts, and their scores; vertices without contexts come last, by id."""
        first, last = lists.first[k : k + 2].tolist() if k < len(lists.first) - 1 else (0, 0)
        vertices, scores = lists.vertices[first:last], lists.scores[first:last]
        if len(among) < self.n:
            inside = (vertices >= among.start) & (vertices < among.stop)
            vertices, scores = vertices[inside], scores[inside]
        if len(vertices) >= t:
            return vertices[:t], scores[:t]
        others = np.ones(min(t, len(among)), np.bool_)  # enough ids to fill the answer
        listed = vertices - among.start
        others[listed[listed < len(others)]] = False
        rest = (np.flatnonzero(others)[: t - len(vertices)] + among.start).astype(np.int32)
        return np.concatenate([vertices, rest]), np.concatenate([scores, np.zeros(len(rest), np.int32)])

    def _contexts(self, vertices: np.ndarray, scores: np.ndarray, params: Params) -> Contexts:
        """Return the contexts of vertices, read as runs of their rows."""
        rows = self.rows["core" if params.model == "comp" else params.model]
        found = np.flatnonzero(scores)
        starts = self.offsets[vertices[found]]
        ends = running(self.offsets[vertices[found] + 1] - starts)
        sizes = np.diff(ends)
        places = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], sizes)
        members, links = rows.members[places], rows.links[places]
        begins = links < (1 if params.model == "comp" else params.k)
        begins[ends[:-1]] = True
        begin = np.flatnonzero(begins)
        length = np.diff(begin, append=len(members))
        # A run begins with its lowest member; the contexts of a vertex are ordered by this member.
        kept = np.flatnonzero(length >= least_size(params.code, params.k))
        owner = np.searchsorted(ends, begin[kept], side="right") - 1
        order = np.lexsort((members[begin[kept]], owner))
        if not np.array_equal(np.bincount(owner, minlength=len(found)), scores[found]):
            raise InputError("the index lists other numbers of contexts than its rows have; make it again")
        runs = kept[order]
        offsets = running(length[runs])
        chosen = members[np.arange(offsets[-1]) + np.repeat(begin[runs] - offsets[:-1], length[runs])]
        for low, high in pairwise(offsets.tolist()):  # a third of the time of sorting all at once
            chosen[low:high].sort()
        return Contexts(running(np.bincount(found[owner], minlength=len(vertices))), offsets, chosen)


def build_index(graph: Graph, network: Network, trusses: Decomposer, progress: Progress | None = None) -> Index:
    """Return the index of an undirected graph.

    Parameters
    ----------
    graph : Graph
    network : Network
        Of the graph, on the CPU.
    trusses : Decomposer
        The network that decomposes: ``network``, or one on a GPU.
    progress : callable, optional
        Called as ``progress(done, total)`` with edges of ego-networks.
    """
    neighbours = Neighbours(graph.indptr, graph.indices, network.order, network.rank)
    cores, trussed = (Links(*np.empty((2, graph.m), np.int32)) for _ in range(2))
    places = np.zeros(graph.n, np.int64)
    widest = int(np.diff(graph.indptr).max(initial=0))
    edges = running(network.ego_sizes)
    low = 0
    while low < graph.n:
        high = max(low + 1, int(np.searchsorted(edges, edges[low] + AT_ONCE, side="right")) - 1)
        vertices = np.arange(low, high, dtype=np.int32)
        egos = trusses.decompose(vertices, Params("truss", 2))
        places[network.rank[vertices]] = egos.offsets[:-1]

        def link(part: np.ndarray, space: EgoScratch, trussness: np.ndarray = egos.trussness) -> None:
            forest = make_forest(widest)
            link_vertices(part, network.rows, space, neighbours, forest, places, trussness, cores, trussed)

        network.share(vertices, link)
        low = high
        if progress is not None:
            progress(int(edges[low]), int(edges[-1]))
    rows = {"core": cores, "truss": trussed}
    with ThreadPoolExecutor(min(network.threads, len(CODES))) as pool:
        links = [rows["core" if model == "comp" else model].links for model in CODES]
        listed = pool.map(list_scores, CODES.values(), [graph.indptr] * len(links), links)
        return Index(graph.indptr, rows, {model: ScoreLists(*one) for model, one in zip(CODES, listed, strict=True)})
