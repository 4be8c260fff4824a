"""Scores and contexts of chosen vertices on the CPU: the network, and the division of work among threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpukit.diversity import contexts_cpu, decomposition_cpu
from gpukit.diversity.bounds import least_size
from gpukit.diversity.contexts_cpu import EgoScratch, Rows, make_space
from gpukit.diversity.problem import Contexts, EgoTrusses, Params, Progress, group_members, running
from gpukit.graph.csr import Graph

TASKS_PER_THREAD = 16
SUPPORT_BYTES = 1 << 30
"""Memory limit for the per-thread counters of triangle counting."""


@dataclass(frozen=True, eq=False)
class Network:
    """An undirected graph with its vertices by rank (ascending degree, then id) and the support of each edge.

    Attributes
    ----------
    indptr : int64 array, shape (n + 1,)
    indices : int32 array, shape (m,)
        Neighbours by rank, ascending in a row.
    up : int64 array, shape (n,)
        Place of the first neighbour of higher rank.
    support : int32 array, shape (m,)
        Triangles of each edge, in both rows: the degree of one end in the ego-network of the other.
    order, rank : int32 arrays, shape (n,)
        Internal id of each rank, and rank of each internal id.
    threads : int
        CPU threads to use.
    full : bool
        Whether :meth:`scores` decomposes every ego-network (truss). If not, it only removes vertices and edges in no
        context.
    """

    indptr: np.ndarray
    indices: np.ndarray
    up: np.ndarray
    support: np.ndarray
    order: np.ndarray
    rank: np.ndarray
    threads: int
    full: bool = False

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.order)

    @cached_property
    def cost(self) -> np.ndarray:
        """Estimated work of each ego-network by rank (int64): degree plus edges."""
        return np.diff(running(self.support)[self.indptr]) // 2 + np.diff(self.indptr)

    @property
    def ego_sizes(self) -> np.ndarray:
        """Edges of each ego-network (int64, n), by internal id."""
        return (self.cost - np.diff(self.indptr))[self.rank]

    @property
    def ego_edges(self) -> int:
        """Edges of all ego-networks."""
        return int(self.support.sum(dtype=np.int64)) // 2

    def bounds(self, params: Params) -> np.ndarray:
        """Return an upper bound of the score of each vertex (int32, n), by internal id."""
        return contexts_cpu.upper_bounds(params.code, params.k, self.indptr, self.support)[self.rank]

    def scores(self, vertices: np.ndarray, params: Params, progress: Progress | None = None) -> np.ndarray:
        """Return the number of contexts of each vertex.

        Parameters
        ----------
        vertices : integer array
            Internal ids, each once.
        params : Params
        progress : callable, optional
            Called as ``progress(done, total)`` with numbers of vertices.

        Returns
        -------
        int32 array
            In the order of the vertices; the same for any number of threads.
        """
        if self.full and params.model == "truss":
            return self.decompose(vertices, params, progress).scores
        result, asked = np.zeros(self.n, np.int32), (params.code, params.k, self.rows)
        work = contexts_cpu.score_vertices
        self.share(vertices, lambda part, space: work(part, *asked, space, result), progress)
        return result[self.rank[vertices]]

    def contexts(self, vertices: np.ndarray, counts: np.ndarray, params: Params) -> Contexts:
        """Return the members of the contexts of vertices whose scores are known.

        Parameters
        ----------
        vertices : integer array
            Internal ids.
        counts : integer array
            The score of each.
        params : Params
        """
        found = np.flatnonzero(counts)
        ranks = self.rank[vertices[found]]
        labels, members = np.empty((2, np.diff(self.indptr)[ranks].sum()), np.int32)
        asked = (ranks, params.code, params.k, self.rows, self._space())
        sizes = contexts_cpu.label_members(*asked, members, labels)
        owners, end = np.repeat(found, sizes), sizes.sum()
        smallest = least_size(params.code, params.k)
        return group_members(owners, labels[:end], self.order[members[:end]], len(vertices), smallest)

    def decompose(self, vertices: np.ndarray, params: Params, progress: Progress | None = None) -> EgoTrusses:
        """Return the trussness of every edge of ego-networks, and the resulting scores.

        Parameters
        ----------
        vertices : integer array
            Internal ids, each once.
        params : Params
            Of the model ``truss``.
        """
        ranks = self.rank[vertices]
        offsets = running((self.cost - np.diff(self.indptr))[ranks])
        places = np.zeros(self.n, np.int64)
        places[ranks] = offsets[:-1]
        trussness, result = np.empty(offsets[-1], np.int32), np.zeros(self.n, np.int32)
        work, outs = decomposition_cpu.decompose_vertices, (places, trussness, result)
        self.share(vertices, lambda part, space: work(part, params.k, self.rows, space, *outs), progress)
        return EgoTrusses(offsets, trussness, result[ranks])

    def share(
        self, vertices: np.ndarray, work: Callable[[np.ndarray, EgoScratch], None], progress: Progress | None = None
    ) -> None:
        """Call ``work(ranks, space)`` for parts of the vertices, heaviest first; each thread takes the next part."""
        ranks = self.rank[vertices]
        ranks = ranks[np.argsort(-self.cost[ranks], kind="stable")]
        cuts = even_cuts(self.cost[ranks], TASKS_PER_THREAD * self.threads if self.threads > 1 else 1)
        parts = [part for part in np.split(ranks, cuts[1:-1]) if len(part)]
        waiting, done = iter(parts), [0]

        def take() -> None:
            space = self._space()
            for part in waiting:  # one `next` is one bytecode, so no two threads get the same part
                work(part, space)
                done[0] += len(part)
                if progress is not None:
                    progress(done[0], len(ranks))

        workers = max(1, min(self.threads, len(parts)))
        with ThreadPoolExecutor(workers) as pool:
            for task in [pool.submit(take) for _ in range(workers)]:
                task.result()

    def _space(self) -> EgoScratch:
        """Return the working space of one thread."""
        return make_space(self.n, int(np.diff(self.indptr).max(initial=0)), int(self.cost.max(initial=0)))

    @property
    def rows(self) -> Rows:
        """The network in the form that the kernels take."""
        return Rows(self.indptr, self.indices, self.up, self.support)


def build_network(graph: Graph, threads: int = 1, full: bool = False) -> Network:
    """Rename the vertices of an undirected graph by rank and count the triangles of each edge.

    Each thread counts the triangles of its own range of lowest ranks, in its own counters; the sum is the same for any
    number of threads.
    """
    order = np.argsort(np.diff(graph.indptr), kind="stable").astype(np.int32)
    rank = np.empty(graph.n, np.int32)
    rank[order] = np.arange(graph.n, dtype=np.int32)
    indptr, indices, up = contexts_cpu.rename(graph.indptr, graph.indices, order, rank)
    workers = max(1, min(threads, SUPPORT_BYTES // (4 * len(indices) + 1)))
    higher = indptr[1:] - up
    cuts = even_cuts(higher * higher, workers)

    def count(part: int) -> np.ndarray:
        rows = Rows(indptr, indices, up, np.zeros(len(indices), np.int32))
        contexts_cpu.count_triangles(cuts[part], cuts[part + 1], rows, np.zeros(graph.n, np.int64))
        return rows.support

    with ThreadPoolExecutor(workers) as pool:
        support, *others = pool.map(count, range(workers))
    for other in others:
        support += other
    contexts_cpu.mirror(Rows(indptr, indices, up, support))
    return Network(indptr, indices, up, support, order, rank, threads, full)


def even_cuts(cost: np.ndarray, parts: int) -> np.ndarray:
    """Return the boundaries (int64, parts + 1) of ranges of about equal cost."""
    sums = running(cost)[1:]
    total = int(sums[-1]) if len(sums) else 0
    cuts = np.searchsorted(sums, np.arange(parts + 1) * total // parts, side="left")
    cuts[0], cuts[-1] = 0, len(cost)
    return cuts
