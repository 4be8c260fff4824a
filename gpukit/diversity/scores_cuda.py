"""Scores, bounds and contexts of chosen vertices on the current GPU: the numbers of :mod:`gpukit.diversity.scores`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from gpukit.device.arrays import Buffer, cooperative_grid, free_memory, xp
from gpukit.device.launch import launch
from gpukit.device.memory import check_budget, readable
from gpukit.diversity import contexts_cuda as kernels
from gpukit.diversity import network_cuda, teams_cuda
from gpukit.diversity.bounds import COMP, CORE, TRUSS, least_degree, least_size
from gpukit.diversity.problem import Contexts, EgoTrusses, Params, Progress, group_members
from gpukit.errors import DeviceError
from gpukit.graph.csr import Graph

BLOCK, GRID = 256, 264
"""Threads in a block of a kernel that walks the whole graph, and blocks where few are better."""

ARC_BYTES, VERTEX_BYTES = 44, 40
"""Device memory that building a network takes for each arc and vertex, sorting space included."""

LISTS_BYTES, RESIDENT_BYTES = 32, 28
"""Device memory for each arc of the lists of possible members and their edges while they are made, and of all that
stays when they are."""

WARP_MEMBERS = 32
"""Egos of up to so many possible members get a warp."""

SMALL_EDGES, SMALL_WORDS = 4096, 1 << 14
"""Egos of up to so many edges and words of the bit matrix get a small block."""

BLOCK_EDGES, MOST_BLOCK_EDGES, BLOCK_WORDS = 1 << 14, 1 << 17, 1 << 17
"""Egos of up to so many get a large block, also those of more edges up to a block's even share of all; larger ones get
several."""

LARGEST_TEAM = 32

_SHAPES = ((kernels.BLOCK, 4), (kernels.BLOCK, 1), (128, 1), (32, 1))
"""Threads of a block and least blocks of a team: many blocks, a large and a small block, a warp."""

_TYPES = {"bits": np.uint32, "edges": np.uint32, "nodes": np.int32, "control": np.int64}
"""Working space of the kernel."""


@dataclass(frozen=True, eq=False)
class Lists:
    """Possible members of every ego-network and their edges, for one least degree.

    Attributes
    ----------
    kept_begin, kept, up_begin, up
        See :func:`gpukit.diversity.contexts_cuda.score_egos`.
    room : int64 array, shape (n,)
        Edges among the possible members at most; all edges if the least degree is 1.
    """

    kept_begin: Buffer
    kept: Buffer
    up_begin: Buffer
    up: Buffer
    room: Buffer


class CudaNetwork:
    """An undirected graph on the current GPU, vertices by rank, with the support of each edge.

    Parameters
    ----------
    graph : Graph
        Undirected.
    memory : int, optional
        Bytes of device memory to use at most; most of what is free if not given.
    full : bool
        Whether :meth:`scores` decomposes every ego-network (trussness by levels, coreness by H-index), as the paper
        does, instead of removing what is in no context.
    patient : bool
        Whether the host waits for each launch of :meth:`score` before it prepares the next one, so that threads of
        other GPUs can run meanwhile.

    Attributes
    ----------
    arcs : tuple of Buffer
        Row starts (int64, n + 1), tails and heads by rank (int32, m), the first neighbour of higher rank of each vertex
        (int64, n) and the triangles of each arc (int32, m).
    ids : Buffer
        Internal id of each rank (int32, n).
    ego_edges : int
        Edges of all ego-networks.
    memory : int
        Bytes that scoring may take beside the graph.

    Raises
    ------
    DeviceError
        If the graph does not fit.
    """

    def __init__(self, graph: Graph, *, memory: int | None = None, full: bool = False, patient: bool = False) -> None:
        self.n, self.full, self._patient = graph.n, full, patient
        memory = int(0.9 * free_memory()) if memory is None else memory
        needs = {"the graph": ARC_BYTES * graph.m + VERTEX_BYTES * graph.n, "lists": LISTS_BYTES * graph.m}
        check_budget(needs, memory, "the GPU", "use --device cpu")
        self.memory = memory - RESIDENT_BYTES * graph.m - VERTEX_BYTES * graph.n
        degrees = np.diff(graph.indptr)
        by_degree = xp.argsort(xp.asarray(degrees), kind="stable")
        self.ids = Buffer(by_degree.astype(np.int32))
        self._rank = Buffer(graph.n, np.int32)
        self._rank.array[self.ids.array] = xp.arange(graph.n, dtype=np.int32)
        rows, targets, keys = Buffer(graph.indptr), Buffer(graph.indices), Buffer(graph.m, np.int64)
        self.over(graph.n * network_cuda.LANES, network_cuda.arc_keys, rows, targets, self._rank, keys)
        del rows, targets
        keys.array.sort()
        self._heads = Buffer((keys.array & 0xFFFFFFFF).astype(np.int32))
        self._tails = Buffer((keys.array >> 32).astype(np.int32))
        del keys
        starts = xp.zeros(graph.n + 1, np.int64)
        xp.cumsum(xp.asarray(degrees)[by_degree], out=starts[1:])
        self._indptr = Buffer(starts)
        self._up, self._support = Buffer(graph.n, np.int64), Buffer(graph.m, np.int32, 0)
        self.arcs = (self._indptr, self._tails, self._heads, self._up, self._support)
        self.over(graph.n, network_cuda.first_higher, self._indptr, self._heads, self._up)
        self.over(graph.m * network_cuda.LANES, network_cuda.count_triangles, *self.arcs)
        self.over(graph.m, network_cuda.mirror, *self.arcs)
        self._degrees = starts[1:] - starts[:-1]
        total = self._running(self._support.array).array[starts]
        self._edges = (total[1:] - total[:-1]) // 2
        self.ego_edges = int(self._edges.sum())
        self._lists: dict[tuple[int, int], Lists] = {}
        self._work: dict[str, Buffer] = {}
        self._queue: tuple[Buffer, Buffer, Buffer, Buffer] | None = None
        self._places: tuple[Any, Buffer] | None = None
        self._facts = Buffer(kernels.ALL_FACTS, np.int64)
        self._most: dict[int, int] = {}  # blocks that the GPU holds at once, by their threads
        self._scores = Buffer(graph.n, np.int32, 0)
        self._none = Buffer(1, np.int32)
        self._seen = xp.zeros(1, np.int64)

    @property
    def order(self) -> np.ndarray:
        """Internal id of each rank (int32, n), in host memory."""
        return self.ids.host()

    @staticmethod
    def over(threads: int, kernel: Any, *arguments: Any) -> None:
        """Launch a kernel with about so many threads."""
        if threads:
            views = [one.view if isinstance(one, Buffer) else one for one in arguments]
            blocks = 1 if xp is np else min(-(-threads // BLOCK), 1 << 15)
            launch(kernel, blocks, 32 if xp is np else BLOCK, *views)

    def support(self) -> np.ndarray:
        """Return the triangles of each edge (int32, m), by tail and head in ranks."""
        return self._support.host()

    def ranks(self, vertices: np.ndarray) -> Any:
        """Return the ranks (int32, on the GPU) of internal ids."""
        return self._rank.array[xp.asarray(np.asarray(vertices, np.int32))]

    def sizes(self, ranks: Any) -> tuple[Any, Any]:
        """Return the numbers (int64, on the GPU) of neighbours and of edges in the ego-network of each rank."""
        return self._degrees[ranks], self._edges[ranks]

    def bounds(self, params: Params) -> np.ndarray:
        """Return an upper bound of the score of each vertex (int32, n), by internal id."""
        enough = self._support.array >= least_degree(params.code, params.k)
        members, degrees = self._running(enough), self._running(xp.where(enough, self._support.array, 0))
        bounds = Buffer(self.n, np.int32)
        arrays = (params.code, params.k, self._indptr, members, degrees, bounds)
        self.over(self.n, network_cuda.upper_bounds, *arrays)
        return Buffer(bounds.array[self._rank.array]).host()

    @staticmethod
    def _running(numbers: Any) -> Buffer:
        sums = xp.zeros(len(numbers) + 1, np.int64)
        xp.cumsum(numbers, out=sums[1:])
        return Buffer(sums)

    def forget(self) -> None:
        """Forget the lists of possible members, so that the next scores make them again."""
        self._lists = {}

    def _lists_of(self, least: int, edge_least: int) -> Lists:
        if (least, edge_least) not in self._lists:
            support, starts = self._support.array, self._indptr.array
            enough = support >= least
            kept_begin = self._running(enough).array[starts]
            degrees = self._running(xp.where(enough, support, 0)).array[starts]
            higher = (self._heads.array > self._tails.array) & (support >= edge_least)
            up_begin = self._running(higher).array[starts]
            self._lists = {
                (least, edge_least): Lists(
                    Buffer(kept_begin),
                    Buffer(self._heads.array[enough]),
                    Buffer(up_begin),
                    Buffer(self._heads.array[higher]),
                    Buffer((degrees[1:] - degrees[:-1]) // 2),
                )
            }
        return self._lists[least, edge_least]

    def scores(self, vertices: np.ndarray, params: Params, progress: Progress | None = None) -> np.ndarray:
        """Return the number of contexts of each vertex (int32).

        Parameters
        ----------
        vertices : integer array
            Internal ids, each once.
        params : Params
        progress : callable, optional
            Called as ``progress(done, total)`` with numbers of vertices.
        """
        if not len(vertices):
            return np.zeros(0, np.int32)
        ranks = self.ranks(vertices)
        self.score(ranks, params)
        if progress is not None:
            progress(len(vertices), len(vertices))
        return Buffer(self._scores.array[ranks]).host()

    def score(self, ranks: Any, params: Params) -> None:
        """Score vertices into :attr:`known`, by ranks on the GPU; the scores of others stay."""
        if not self.full or params.code != TRUSS:
            wanted = kernels.FULL if self.full and params.code == CORE else kernels.SCORE
            self._score(ranks, xp.zeros(len(ranks), np.int64), params, wanted, self._none)
        else:
            # The trussness is not kept. Where there is room for that of all edges, each has its place once and for all.
            if 4 * self.ego_edges <= self.memory // 4:
                if self._places is None:
                    self._places = self._running(self._edges).array, Buffer(max(1, self.ego_edges), np.int32)
                first_edges, values = self._places
                self._score(ranks, first_edges[ranks], params, kernels.FULL, values)
                return
            offsets = self._running(self._edges[ranks]).array
            parts = 1 + int(offsets[-1]) * 4 // max(1, self.memory // 4)
            cuts = xp.searchsorted(offsets, offsets[-1] * xp.arange(1, parts) // parts) if parts > 1 else []
            ends = [0, *(int(cut) for cut in cuts), len(ranks)]
            for low, high in zip(ends[:-1], ends[1:], strict=True):
                self._decompose(ranks[low:high], params)

    @property
    def known(self) -> Any:
        """The last score of each rank (int32, n, on the GPU); may be changed."""
        return self._scores.array

    def contexts(self, vertices: np.ndarray, counts: np.ndarray, params: Params) -> Contexts:
        """Return the members of the contexts of vertices whose scores are known."""
        found = np.flatnonzero(counts)
        ranks = self.ranks(vertices[found])
        lists = self._lists_of(*self._least(params, False))
        sizes = lists.kept_begin.array[ranks + 1] - lists.kept_begin.array[ranks]
        begin = self._running(sizes)
        offsets = begin.host()
        labels = Buffer(max(1, int(offsets[-1])), np.int32)
        self._score(ranks, begin.array[:-1], params, kernels.LABEL, labels)
        starts = np.repeat(Buffer(lists.kept_begin.array[ranks]).host() - offsets[:-1], np.diff(offsets))
        places = xp.asarray(starts + np.arange(offsets[-1]))
        members = Buffer(self.ids.array[lists.kept.array[places]]).host()
        owners = np.repeat(found, np.diff(offsets))
        smallest = least_size(params.code, params.k)
        return group_members(owners, labels.host(int(offsets[-1])), members, len(vertices), smallest)

    def decompose(self, vertices: np.ndarray, params: Params, *, keep: bool = False) -> EgoTrusses:
        """Return the trussness of every edge of ego-networks, and the scores that follow.

        Parameters
        ----------
        vertices : integer array
            Internal ids, each once.
        params : Params
            Of the model ``truss``.
        keep : bool
            Whether to copy the trussness to host memory.

        Raises
        ------
        DeviceError
            If the edges do not fit.
        """
        ranks = self.ranks(vertices)
        offsets, values = self._decompose(ranks, params)
        scores = Buffer(self._scores.array[ranks]).host()
        return EgoTrusses(offsets.host(), values.host(int(offsets.array[-1])) if keep else None, scores)

    def _decompose(self, ranks: Any, params: Params) -> tuple[Buffer, Buffer]:
        """Return the first edge of each ego-network, and the trussness of all edges."""
        offsets = self._running(self._edges[ranks])
        edges = int(offsets.array[-1])
        if 4 * edges > self.memory:
            raise DeviceError(
                f"the trussness of {edges:,} ego edges needs {readable(4 * edges)}, the GPU has "
                f"{readable(self.memory)}; give fewer vertices at a time"
            )
        values = Buffer(max(1, edges), np.int32)
        self._score(ranks, offsets.array[:-1], params, kernels.FULL, values)
        return offsets, values

    def triangles_of(self, vertices: np.ndarray, params: Params) -> int:
        """Return the number of triangles in the ego-networks of vertices, as their decomposition counts them."""
        self._seen.fill(0)
        self._decompose(self.ranks(vertices), params)
        return int(self._seen[0]) // 3

    def _least(self, params: Params, whole: bool) -> tuple[int, int]:
        """Return the least support of a member's edge to the centre, and of an edge between members."""
        if whole:
            return 1, 1
        return least_degree(params.code, params.k), params.k - 1 if params.code == TRUSS else 1

    def _score(self, ranks: Any, outs: Any, params: Params, wanted: int, values: Buffer) -> None:
        """Score vertices into ``self._scores``: one launch for each size of team, the largest first."""
        if not len(ranks):
            return
        trusses = params.code == TRUSS
        by_edges = wanted == kernels.FULL and trusses
        lists = self._lists_of(*self._least(params, by_edges))
        asked, keys, egos, places, facts = self._queues(len(ranks))
        asked.array[: len(ranks)] = ranks
        share = min(max(BLOCK_EDGES, self.ego_edges // GRID), MOST_BLOCK_EDGES)
        limits = (WARP_MEMBERS, SMALL_EDGES, SMALL_WORDS, share, BLOCK_WORDS)
        # Few blocks, because each adds its facts to the same places.
        launch(kernels.classify, 1 if xp is np else GRID, 32 if xp is np else BLOCK,
            asked.view, len(ranks), lists.kept_begin.view, lists.room.view, params.code != COMP,
            2 if by_edges else least_size(params.code, params.k), by_edges, *limits, keys.view, facts.view,
            self._scores.view,
        )  # fmt: skip
        queue = xp.argsort(keys.array[: len(ranks)])
        xp.take(ranks, queue, out=egos.array[: len(ranks)])
        xp.take(outs, queue, out=places.array[: len(ranks)])
        known = facts.host().reshape(-1, kernels.FACTS).tolist()
        longest = max(most for _, most, _, _ in known[:-1])
        if trusses and longest > kernels.MOST_MEMBERS:
            raise DeviceError(
                f"an ego-network has {longest:,} possible members, the GPU takes {kernels.MOST_MEMBERS:,}; "
                "use --device cpu"
            )
        start = 0
        for (count, members, edges, words), (block, team) in zip(known[:-1], _SHAPES, strict=True):
            if count:
                room = (words, edges if trusses else 0, teams_cuda.NODE_ARRAYS * (members + 1))
                self._launch(egos, places, (start, count), params, wanted, lists, values, block, team, room)
                start += count
                if self._patient:
                    cuda.synchronize()

    def _queues(self, length: int) -> tuple[Buffer, Buffer, Buffer, Buffer, Buffer]:
        """Return room for the ranks of so many ego-networks, keys, ranks and places in order, and clean facts.

        They are kept, because every new array costs the host more than what is done with it.
        """
        if self._queue is None or len(self._queue[0]) < length:
            self._queue = None
            ranks, egos = Buffer(length, np.int32), Buffer(length, np.int32)
            self._queue = (ranks, Buffer(length, np.int64), egos, Buffer(length, np.int64))
        self._facts.array.fill(0)
        return *self._queue, self._facts

    def _launch(
        self, egos: Buffer, outs: Buffer, which: tuple[int, int], params: Params, wanted: int, lists: Lists,
        values: Buffer, block: int, team: int, room: tuple[int, int, int],
    ) -> None:  # fmt: skip
        """Launch the kernel on one class (first and number), with as many teams as the GPU and its memory hold."""
        each = 4 * sum(room)
        if each > self.memory:
            raise DeviceError(
                f"an ego-network needs {readable(each)} to be scored, the GPU has {readable(self.memory)}; "
                "use --device cpu"
            )
        block = 8 if xp is np else block

        def arguments(teams: int, team: int) -> tuple:
            sizes = dict(zip(("bits", "edges", "nodes"), room, strict=True)) | {"control": teams_cuda.PER_TEAM}
            for name, size in sizes.items():
                length = teams * size + teams_cuda.TEAMS
                if name not in self._work or len(self._work[name]) < length:
                    self._work.pop(name, None)
                    self._work[name] = Buffer(length, _TYPES[name])
            self._work["control"].array.fill(0)
            return (
                egos.view, outs.view, *which, params.code, params.k, wanted, lists.kept_begin.view, lists.kept.view,
                lists.up_begin.view, lists.up.view, team, *room, *(self._work[name].view for name in sizes),
                self._scores.view, values.view,
            )  # fmt: skip

        if block not in self._most:
            self._most[block] = cooperative_grid(kernels.score_egos, block, arguments(1, 1))
        most = self._most[block]
        if team > 1:
            team = min(LARGEST_TEAM, max(team, most // which[1]), most)
        teams = max(1, min(most // team, which[1], self.memory // each))
        launch(kernels.score_egos, teams * team, block, *arguments(teams, team))
        if wanted == kernels.FULL:
            self._seen += self._work["control"].array[teams_cuda.TRIANGLES]
