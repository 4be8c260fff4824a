"""Scores, bounds and contexts of chosen vertices on the current GPU; they equal :mod:`gpukit.diversity.scores`."""

from contextlib import nullcontext
from typing import Any

import numpy as np

from gpukit.device.arrays import (
    Buffer,
    free_memory,
    join_side_stream,
    resident_blocks,
    shared_memory,
    side_stream,
    wait_for_gpu,
    xp,
)
from gpukit.device.launch import cooperative_grid, launch
from gpukit.device.memory import check_budget, readable
from gpukit.diversity import contexts_cuda as kernels
from gpukit.diversity import network_cuda, teams_cuda, truss_shared_cuda
from gpukit.diversity.bounds import COMP, CORE, TRUSS, least_degree, least_size, least_support
from gpukit.diversity.network_cuda import ROW_THREADS, over, views
from gpukit.diversity.problem import Contexts, EgoTrusses, Params, Progress, group_members, running
from gpukit.errors import DeviceError
from gpukit.graph.csr import Graph
from gpukit.wording import spelled

ARC_BYTES, VERTEX_BYTES = 44, 40
"""Device memory for building a network, per arc and per vertex, sorting space included."""

LISTS_BYTES, RESIDENT_BYTES = 32, 28
"""Device memory per arc: for the lists of possible members and their edges while they are built, and for everything
that stays afterwards."""

WARP_MEMBERS = 32
"""Ego-networks with at most this many possible members get a warp."""

SMALL_EDGES, SMALL_WORDS = 4096, 1 << 14
"""Ego-networks with at most this many edges, and words of the bit matrix, get a small block."""

BLOCK_EDGES, LARGEST_BLOCK_EDGES, BLOCK_WORDS = 1 << 14, 1 << 17, 1 << 17
"""An ego-network gets a large block if its matrix has at most ``BLOCK_WORDS`` words and it has at most
``BLOCK_EDGES`` edges. The limit of edges rises to a block's even share of all edges, at most
``LARGEST_BLOCK_EDGES``. Larger ego-networks get several blocks."""

LARGEST_TEAM = 32

SHARED_EDGES = 1 << 26
"""Least number of edges of all ego-networks for decomposition in shared memory. On an H100 shared memory was four
times as fast as global memory with 531 M edges, and a quarter slower with 5 M. Graphs between these were not timed."""

SIDE_MEMBERS = 256
"""Ego-networks with more possible members are decomposed on a separate stream, if they fit in shared memory. They
are few and take long; the smaller ones fill the GPU meanwhile."""

_SHAPES = ((kernels.BLOCK, 4), (kernels.BLOCK, 1), (128, 1), (32, 1))
"""Threads of a block and fewest blocks of a team for each class: several blocks, a large block, a small block, a
warp."""


class CudaNetwork:
    """An undirected graph on the current GPU, vertices by rank, with the support of each edge.

    Parameters
    ----------
    graph : Graph
        Undirected.
    memory : int, optional
        Bytes of device memory to use at most; most of the free memory if not given.
    full : bool
        Whether :meth:`scores` decomposes every ego-network (trussness by levels, coreness by H-index), as the paper
        does. If not, it only removes vertices and edges that are in no context.
    patient : bool
        Whether the host waits for each launch of :meth:`score` before it prepares the next, so that threads of other
        GPUs can run meanwhile.

    Attributes
    ----------
    arcs : network_cuda.Arcs
        The graph by rank, in buffers.
    ids : Buffer
        Internal id of each rank (int32, n).
    ego_edges : int
        Edges of all ego-networks.
    memory : int
        Bytes that scoring may take besides the graph.
    given : tuple or None
        Ego-networks to score instead of those of the graph, as :meth:`_lists_of` returns them.

    Raises
    ------
    DeviceError
        If the graph does not fit.
    """

    def __init__(self, graph: Graph, *, memory: int | None = None, full: bool = False, patient: bool = False) -> None:
        self.n, self.full, self._patient = graph.n, full, patient
        memory = int(0.9 * free_memory()) if memory is None else memory
        needs = {"the graph": ARC_BYTES * graph.m + VERTEX_BYTES * graph.n, "lists": LISTS_BYTES * graph.m}
        check_budget(needs, memory, "the GPU", f"use {spelled('device', 'cpu')}")
        self.memory = memory - RESIDENT_BYTES * graph.m - VERTEX_BYTES * graph.n
        degrees = xp.asarray(np.diff(graph.indptr))
        by_degree = xp.argsort(degrees, kind="stable")
        self._degrees, self.ids = degrees[by_degree], Buffer(by_degree.astype(np.int32))
        self._rank = Buffer(graph.n, np.int32)
        self._rank.array[self.ids.array] = xp.arange(graph.n, dtype=np.int32)
        # Sort the arcs by rank, as keys.
        keys = Buffer(graph.m, np.int64)
        rows = (Buffer(graph.indptr), Buffer(graph.indices), self._rank)
        over(graph.n * ROW_THREADS, network_cuda.arc_keys, *rows, keys)
        del rows
        keys.array.sort()
        heads, tails = Buffer((keys.array & 0xFFFFFFFF).astype(np.int32)), Buffer((keys.array >> 32).astype(np.int32))
        del keys
        # The support of each edge is counted at its lower end and copied to the other end.
        indptr, up = Buffer(running(self._degrees, xp)), Buffer(graph.n, np.int64)
        over(graph.n, network_cuda.first_higher, indptr, heads, up)
        self.arcs = network_cuda.Arcs(indptr, tails, heads, up, Buffer(graph.m, np.int32, 0))
        over(graph.m * ROW_THREADS, network_cuda.count_triangles, self.arcs)
        over(graph.m, network_cuda.mirror, self.arcs)
        self._edges = xp.diff(running(self.arcs.support.array, xp)[indptr.array]) // 2
        self.ego_edges = int(self._edges.sum())
        self.given: tuple[kernels.MemberLists, Buffer] | None = None
        self._lists: dict[tuple[int, int], tuple[kernels.MemberLists, Buffer]] = {}
        self._places: tuple[Any, Buffer] | None = None
        # These are kept because a new array costs the host more than the work on it.
        self._queue = tuple(Buffer(0, dtype) for dtype in (np.int32, np.int64, np.int32, np.int64))
        self._space = tuple(Buffer(0, dtype) for dtype in (np.uint32, np.uint32, np.int32, np.int64))
        self._classes = Buffer(kernels.CLASS_TABLE, np.int64)
        self._capacity: dict[int, int] = {}  # blocks that the GPU holds at once, by their threads
        self._few = 1 if xp is np else resident_blocks(1024, 32)  # two blocks per multiprocessor
        self._scores = Buffer(graph.n, np.int32, 0)
        self._none = Buffer(1, np.int32)
        self._triangles, self._taken = Buffer(1, np.int64, 0), Buffer(len(kernels.SHARED_WORDS), np.int64)
        self._shared_members = 0
        if self.ego_edges >= SHARED_EDGES:
            room, widths = shared_memory() - truss_shared_cuda.OWN_BYTES, [32 * w for w in kernels.SHARED_WORDS]
            self._shared_members = max(width for width in widths if truss_shared_cuda.room_bytes(width) <= room)

    @property
    def order(self) -> np.ndarray:
        """Internal id of each rank (int32, n), in host memory."""
        return self.ids.host()

    @property
    def known(self) -> Any:
        """The last score of each rank (int32, n, on the GPU); callers may change it."""
        return self._scores.array

    def ranks(self, vertices: np.ndarray) -> Any:
        """Return the ranks (int32, on the GPU) of internal ids."""
        return self._rank.array[xp.asarray(np.asarray(vertices, np.int32))]

    def sizes(self, ranks: Any) -> tuple[Any, Any]:
        """Return the numbers (int64, on the GPU) of neighbours and of edges in the ego-network of each rank."""
        return self._degrees[ranks], self._edges[ranks]

    def bounds(self, params: Params) -> np.ndarray:
        """Return an upper bound of the score of each vertex (int32, n), by internal id."""
        support = self.arcs.support.array
        enough = support >= least_degree(params.code, params.k)
        members, degrees = Buffer(running(enough, xp)), Buffer(running(xp.where(enough, support, 0), xp))
        bounds = Buffer(self.n, np.int32)
        over(self.n, network_cuda.upper_bounds, params.code, params.k, self.arcs.indptr, members, degrees, bounds)
        return Buffer(bounds.array[self._rank.array]).host()

    def _lists_of(self, params: Params, whole: bool) -> tuple[kernels.MemberLists, Buffer]:
        """Return the lists that ego-networks are built from, and an upper bound on the edges of each (int64, n).

        ``whole``: all members and edges, including those that cannot be in a context.
        """
        if self.given is not None:
            return self.given
        least, edge_least = least_degree(params.code, params.k), least_support(params.code, params.k)
        if whole:
            least, edge_least = 1, 1
        if (least, edge_least) not in self._lists:
            starts, heads, support = (one.array for one in (self.arcs.indptr, self.arcs.heads, self.arcs.support))
            enough = support >= least
            kept_begin = running(enough, xp)[starts]
            ego_edges = xp.diff(running(xp.where(enough, support, 0), xp)[starts]) // 2
            higher = (heads > self.arcs.tails.array) & (support >= edge_least)
            lists = (kept_begin, heads[enough], running(higher, xp)[starts], heads[higher])
            self._lists = {(least, edge_least): (kernels.MemberLists(*map(Buffer, lists)), Buffer(ego_edges))}
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
        """Score vertices into :attr:`known`, by ranks on the GPU; scores of other vertices stay."""
        if not self.full or params.code != TRUSS:
            wanted = kernels.FULL if self.full and params.code == CORE else kernels.SCORE
            self._score(ranks, xp.zeros(len(ranks), np.int64), params, wanted, self._none)
        elif 4 * self.ego_edges <= self.memory // 4:
            # The trussness is not kept. There is room for all edges, so each edge has a fixed place.
            if self._places is None:
                self._places = running(self._edges, xp), Buffer(max(1, self.ego_edges), np.int32)
            first_edges, values = self._places
            self._score(ranks, first_edges[ranks], params, kernels.FULL, values)
        else:
            offsets = running(self._edges[ranks], xp)
            parts = 1 + int(offsets[-1]) * 4 // max(1, self.memory // 4)
            cuts = xp.searchsorted(offsets, offsets[-1] * xp.arange(1, parts) // parts) if parts > 1 else []
            ends = [0, *(int(cut) for cut in cuts), len(ranks)]
            for low, high in zip(ends[:-1], ends[1:], strict=True):
                self._decompose(ranks[low:high], params)

    def contexts(self, vertices: np.ndarray, counts: np.ndarray, params: Params) -> Contexts:
        """Return the members of the contexts of vertices whose scores are known."""
        found = np.flatnonzero(counts)
        ranks = self.ranks(vertices[found])
        lists, _ = self._lists_of(params, False)
        kept_begin = lists.kept_begin.array
        begin = running(kept_begin[ranks + 1] - kept_begin[ranks], xp)
        offsets = Buffer(begin).host()
        labels = Buffer(max(1, int(offsets[-1])), np.int32)
        self._score(ranks, begin[:-1], params, kernels.LABEL, labels)
        starts = np.repeat(Buffer(kept_begin[ranks]).host() - offsets[:-1], np.diff(offsets))
        places = xp.asarray(starts + np.arange(offsets[-1]))
        members = Buffer(self.ids.array[lists.kept.array[places]]).host()
        owners = np.repeat(found, np.diff(offsets))
        smallest = least_size(params.code, params.k)
        return group_members(owners, labels.host(int(offsets[-1])), members, len(vertices), smallest)

    def decompose(self, vertices: np.ndarray, params: Params) -> EgoTrusses:
        """Return the trussness of every edge of ego-networks, and the resulting scores.

        Parameters
        ----------
        vertices : integer array
            Internal ids, each once.
        params : Params
            Of the model ``truss``.

        Raises
        ------
        DeviceError
            If the edges do not fit.
        """
        ranks = self.ranks(vertices)
        offsets, values = self._decompose(ranks, params)
        scores = Buffer(self._scores.array[ranks]).host()
        return EgoTrusses(Buffer(offsets).host(), values.host(int(offsets[-1])), scores)

    def _decompose(self, ranks: Any, params: Params) -> tuple[Any, Buffer]:
        """Return the first edge of each ego-network, and the trussness of all edges."""
        offsets = running(self._edges[ranks], xp)
        edges = int(offsets[-1])
        if 4 * edges > self.memory:
            raise DeviceError(
                f"the trussness of {edges:,} ego edges needs {readable(4 * edges)}, the GPU has "
                f"{readable(self.memory)}; give fewer vertices at a time"
            )
        values = Buffer(max(1, edges), np.int32)
        self._score(ranks, offsets[:-1], params, kernels.FULL, values)
        return offsets, values

    def triangles_of(self, vertices: np.ndarray, params: Params) -> int:
        """Return the number of triangles in the ego-networks of vertices, as their decomposition counts them."""
        self._triangles.array.fill(0)
        self._decompose(self.ranks(vertices), params)
        return int(self._triangles.array[0]) // 3

    def _score(self, ranks: Any, outs: Any, params: Params, wanted: int, values: Buffer) -> None:
        """Score vertices into ``self._scores``: one launch per class, the largest ego-networks first."""
        count = len(ranks)
        if not count:
            return
        truss = params.code == TRUSS
        whole = wanted == kernels.FULL and truss
        lists, ego_edges = self._lists_of(params, whole)
        for buffer in self._queue:
            buffer.reserve(count, 0, count)
        asked, keys, egos, places = self._queue
        asked.array[:count] = ranks
        self._classes.array.fill(0)
        share = min(max(BLOCK_EDGES, self.ego_edges // self._few), LARGEST_BLOCK_EDGES)
        limits = kernels.Limits(
            WARP_MEMBERS, SMALL_EDGES, SMALL_WORDS, share, BLOCK_WORDS, self._shared_members if whole else 0
        )
        least = 2 if whole else least_size(params.code, params.k)
        sizes = (lists.kept_begin, ego_edges, params.code != COMP, least, whole, limits)
        # Few blocks, because each block adds its numbers to the same places.
        shape = (1, 32) if xp is np else (self._few, 256)
        launch(kernels.classify, *shape, *views((asked, count, *sizes, keys, self._classes, self._scores)))
        order = xp.argsort(keys.array[:count])
        xp.take(ranks, order, out=egos.array[:count])
        xp.take(outs, order, out=places.array[:count])
        classes = self._classes.host().reshape(-1, kernels.PER_CLASS).tolist()[:-1]
        widest = max(members for _, members, _, _ in classes[: kernels.TEAM_CLASSES])
        if truss and widest > kernels.MAX_MEMBERS:
            raise DeviceError(
                f"an ego-network has {widest:,} possible members, the GPU takes {kernels.MAX_MEMBERS:,}; "
                f"use {spelled('device', 'cpu')}"
            )
        query, start = kernels.Query(params.code, params.k, wanted), 0
        self._taken.array.fill(0)
        aside = False
        for kind, (length, members, edges, words) in enumerate(classes):
            if length and kind < kernels.TEAM_CLASSES:
                queue = kernels.Queue(egos, places, start, length)
                room = (words, edges if truss else 0, teams_cuda.NODE_ARRAYS * (members + 1))
                self._launch(queue, query, lists, values, _SHAPES[kind], room)
                if self._patient:
                    wait_for_gpu()
            elif length:
                queue, concurrent = kernels.Queue(egos, places, start, length), members > SIDE_MEMBERS
                with side_stream() if concurrent else nullcontext():
                    self._launch_shared(queue, params.k, lists, values, members, kind - kernels.TEAM_CLASSES)
                aside = aside or concurrent
            start += length
        if aside:
            join_side_stream()
        if self._patient:
            wait_for_gpu()

    def _launch_shared(
        self, queue: kernels.Queue, k: int, lists: kernels.MemberLists, values: Buffer, members: int, slot: int
    ) -> None:
        """Launch the kernel for one class in shared memory, of at most ``members`` members."""
        block = 8 if xp is np else min(truss_shared_cuda.BLOCK, -(-members // 32) * 32)
        grid = 1 if xp is np else min(queue.length, resident_blocks(block, truss_shared_cuda.REGISTERS))
        arguments = (queue, k, lists, slot, self._taken, self._triangles, self._scores, values)
        shared = truss_shared_cuda.room_bytes(members)
        launch(truss_shared_cuda.decompose_egos, grid, block, *views(arguments), shared=shared)

    def _launch(
        self, queue: kernels.Queue, query: kernels.Query, lists: kernels.MemberLists, values: Buffer,
        shape: tuple[int, int], room: tuple[int, ...],
    ) -> None:  # fmt: skip
        """Launch the kernel on one class, with as many teams as the GPU and its memory hold.

        ``shape``: threads of a block and fewest blocks of a team. ``room``: working space of the largest ego-network.
        """
        each = 4 * sum(room)
        if each > self.memory:
            raise DeviceError(
                f"an ego-network needs {readable(each)} to be scored, the GPU has {readable(self.memory)}; "
                f"use {spelled('device', 'cpu')}"
            )
        block, blocks = (8, shape[1]) if xp is np else shape

        def arguments(teams: int, blocks: int) -> tuple:
            for buffer, size in zip(self._space, (*room, teams_cuda.PER_TEAM), strict=True):
                length = teams * size + teams_cuda.TEAMS
                buffer.reserve(length, 0, length)
            self._space[-1].array.fill(0)
            return views((queue, query, lists, kernels.TeamMemory(blocks, *room, *self._space), self._scores, values))

        if block not in self._capacity:
            self._capacity[block] = cooperative_grid(kernels.score_egos, block, arguments(1, 1))
        capacity = self._capacity[block]
        if blocks > 1:
            blocks = min(LARGEST_TEAM, max(blocks, capacity // queue.length), capacity)
        teams = max(1, min(capacity // blocks, queue.length, self.memory // each))
        launch(kernels.score_egos, teams * blocks, block, *arguments(teams, blocks))
        if query.wanted == kernels.FULL:
            self._triangles.array[:] += self._space[-1].array[teams_cuda.TRIANGLES]
