"""Graph and index on a GPU, and batches of queries on it (kernel: ``answer_cuda.py``)."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from gpukit.device.arrays import Buffer, Far, free_memory, on_gpu, xp
from gpukit.device.launch import launch
from gpukit.device.memory import check_budget
from gpukit.device.philox import Stream, stream_tag
from gpukit.device.placing import Placement
from gpukit.device.select import simulated
from gpukit.graph.csr import Graph
from gpukit.kpar.batch.heads_cuda import Heads, heads_of
from gpukit.kpar.batch.push_cuda import clean_up, propose_all, push_first
from gpukit.kpar.batch.starts_cuda import gather_batched
from gpukit.kpar.batch.workspace_cuda import BLOCK, BYTES_PER_VERTEX, Shape, Workspaces
from gpukit.kpar.groups import Edges, InEdges, Request, Walks
from gpukit.kpar.index.build import Index, light_index
from gpukit.kpar.index.build_cuda import forward_rows, on_host
from gpukit.kpar.problem import CONTENDERS, TRACE, WALKS_AN_EDGE, Constants, Result, Sources
from gpukit.kpar.query import answer_cuda
from gpukit.kpar.query.answer import Ready, Task
from gpukit.kpar.query.refine_cpu import make_in_edges
from gpukit.kpar.query.team_cuda import TeamArrays
from gpukit.kpar.rows_cuda import to_host, transposed
from gpukit.kpar.weights_cuda import BYTES_PER_EDGE, edge_chances
from gpukit.wording import spelled

ANSWERING = 16
"""Most teams that continue queries begun together: with more teams, a query that continues alone takes longer."""

ROWS_BY_START, ROWS_BY_END = Walks._fields[:3], Walks._fields[3:7]
"""Names of the arrays of an index by start, and by end."""

ENTRIES = ("row_ends", "row_freqs", "starts", "frequencies")
"""Names of the arrays with an element for each entry, or each frequent entry. Start lists, which are read most, come
last: arrays of equal size go to host memory in this order."""


class Batch(NamedTuple):
    """Arguments of the kernels for a batch (:func:`gpukit.kpar.query.answer_cuda.answer`)."""

    among: Any
    edges: Edges
    chances: Any
    walks: Walks
    in_edges: InEdges
    request: Request

    def places(self) -> int:
        """Return how many of the best vertices a query keeps: those of its answer, and the contenders after it."""
        return self.request.k + (CONTENDERS // 2 if len(self.in_edges.begin.array) > 0 else 0)


@dataclass(eq=False)
class CudaPrepared(Ready):
    """A graph and its index in the memory of a GPU, ready for queries.

    Attributes
    ----------
    graph : Graph
    index : Index
        Index with its arrays in host or device memory.
    constants : Constants
    gpu : int
        CUDA device number.
    arrays : dict of Buffer
        Graph and index on the device; also the ``chances`` of the edges, if these are weighted.
    space : Workspaces
    light : bool
        Whether queries draw the walks again: the index holds no rows, or they do not fit on the GPU.
    heads : Heads or None
        The heads of the edges, once queries have begun together.
    """

    gpu: int
    arrays: dict[str, Buffer]
    space: Workspaces
    light: bool
    heads: Heads | None = field(default=None, repr=False)

    @classmethod
    def of(cls, graph: Graph, index: Index, gpu: int = 0) -> "CudaPrepared":
        """Copy a graph and an index that was built on it to a GPU (:meth:`of_each`)."""
        return cls.of_each(graph, index, (gpu,))[0]

    @classmethod
    def of_each(cls, graph: Graph, index: Index, gpus: Sequence[int]) -> "list[CudaPrepared]":
        """Copy a graph and an index built on it to GPUs; arrays that are already there are not copied.

        Edges that do not fit are split among several GPUs or placed in host memory (``device/placing.py``). Rows that
        do not fit are left out (``light``), and walks are drawn again. There are two exceptions in which rows go to
        host memory instead. First, if the edges are not in the GPU's memory: a walk would read one word through the bus
        for each step, whereas rows are read in sequence. Second, the rows of an updatable index, whose walks are never
        drawn again.

        Raises
        ------
        DeviceError
            If not even vertices and counts fit.
        """
        kept = {"indptr": graph.indptr, "indices": graph.indices, "walks": index.walks, "arrivals": index.arrivals}
        working = (BYTES_PER_VERTEX + 32) * graph.n
        needed = {"working space": working}
        if index.params.weighted:
            needed["edge weights"] = BYTES_PER_EDGE * graph.m
        placed, held, free = Placement(kept, ("indices",), needed, f"use {spelled('device', 'cpu')}", gpus=gpus), [], []
        for gpu in gpus:
            with on_gpu(gpu):
                held.append(placed.here())
                if index.params.weighted:
                    held[-1]["chances"] = Buffer(edge_chances(graph))
                free.append(free_memory())
        rows = {name: getattr(index, name) for name in ROWS_BY_END}
        # Forward rows are made from sorted pairs: two words per entry, twice during the sort.
        sorting = 0 if index.forward is not None and _missing(dict(enumerate(index.forward))) == 0 else 40
        lacking = working + _missing(rows) + sorting * len(index.starts) > min(free)
        light = index.light or (lacking and not index.updatable and not isinstance(held[0]["indices"], Far))
        elsewhere = None
        if lacking and not light:
            with on_gpu(gpus[0]):
                forward = index.forward or on_host(index).with_forward().forward
            assert forward is not None
            rows |= dict(zip(ROWS_BY_START, forward, strict=True))
            elsewhere = Placement(
                rows, ENTRIES, {"working space": working}, f"use {spelled('device', 'cpu')}", share=1, gpus=gpus
            )
        constants, prepared = Constants.of(graph.n, graph.m, index.params), []
        for gpu, arrays in zip(gpus, held, strict=True):
            with on_gpu(gpu):
                arrays |= _rows_here(graph.n, index, light) if elsewhere is None else elsewhere.here()
                order = xp.argsort(-arrays["arrivals"].array, kind="stable")
                arrays["by_arrivals"] = Buffer(order.astype(np.int32))
                prepared.append(cls(graph, index, constants, gpu, arrays, Workspaces(graph.n, graph.m), light))
        return prepared

    def answers(self, task: Task, threads: int, shape: Shape | None) -> Result:
        """Answer a batch, one launch after the other."""
        sources, among, steps, request, in_edges, progress = task
        named, shape, refined = None if among is None else Buffer(among), shape or Shape(), len(in_edges.begin) > 0
        batch = self._batch(named and named.view, request, in_edges)
        if self.light:
            shape = replace(shape, slots_per_team=1)
        width = 2 + len(steps) * len(TRACE) + (3 if refined else 2) * request.k
        rows, order = np.empty((len(sources), width), np.int64), self._order(sources, shape)
        sources = sources.take(order)
        for first, last in self.space.launches(len(sources), width, shape):
            rows[order[first:last]] = self._launch(sources, first, last, batch, shape, width)
            if progress is not None:
                progress(last, len(sources))
        return _unpacked(rows, request.k, steps, refined)

    def on_device(self) -> AbstractContextManager[Any]:
        """Return a context in which this GPU is current."""
        return on_gpu(self.gpu)

    def placed(self, array: np.ndarray) -> Any:
        """Return an array on the GPU."""
        return Buffer(array)

    def _order(self, sources: Sources, shape: Shape) -> np.ndarray:
        """Return the order of queries: if they begin together, those without out-edges to push along come last."""
        order = np.arange(len(sources))
        if self.space.teams(len(sources), shape)[1] > 1:
            indptr, vertices = self.arrays["indptr"].array, xp.asarray(sources.vertices)
            degrees = to_host(indptr[vertices + 1] - indptr[vertices])
            order = np.argsort(np.add.reduceat(degrees, sources.offsets[:-1]) == 0, kind="stable")
        return order

    def _batch(self, among: Any, request: Request, in_edges: InEdges) -> Batch:
        """Return the arguments of the kernels for a batch."""
        index, a = self.index, self.arrays
        rows = (a[name].view for name in (*ROWS_BY_START, *ROWS_BY_END, "walks", "arrivals", "by_arrivals"))
        return Batch(
            among=among,
            edges=Edges(a["indptr"].view, a["indices"].view, np.uint64(index.params.one_minus_alpha)),
            chances=a["chances"].view if "chances" in a else None,
            walks=Walks._make((*rows, self.light, np.uint64(index.seed), stream_tag(Stream.WALK))),
            in_edges=InEdges._make(buffer.view for buffer in in_edges),
            request=Request._make(getattr(one, "view", one) for one in request),
        )

    def _heads(self) -> Heads:
        """Return the heads of the edges with ω, as a kernel argument; kept until ``make_in_edges`` needs the room."""
        if self.heads is None:
            self.heads = heads_of(self.graph.n, self.arrays["indices"], self.arrays["walks"].array)
        return self.heads._replace(words=self.heads.words.view)

    def make_in_edges(self) -> InEdges:
        """Return :class:`InEdges` as Buffers; if the device lacks room, the host makes them and keeps the tails."""
        n, m, advice = self.graph.n, self.graph.m, f"use {spelled('device', 'cpu')}, or {spelled('depth', 'auto')}"
        self.heads = None  # they only save time, and are made again if there is room
        needs, free = {"in-edges": 4 * m + 16 * n, "sorting them": 16 * m}, free_memory(tidied=True)
        working = BYTES_PER_VERTEX * n
        if sum(needs.values()) + working > free and isinstance(self.graph.indices, np.ndarray):
            in_edges = make_in_edges(self.graph, to_host(self.index.arrivals))
            return InEdges(**Placement(in_edges._asdict(), ("tails",), {"working space": working}, advice).here())
        check_budget(needs, free, f"GPU {self.gpu}", advice)
        begin, tails = transposed(self.graph)
        sums = xp.zeros(m + 1, np.int64)
        sums[1:] = xp.cumsum(self.arrays["arrivals"].array[tails])
        return InEdges(Buffer(begin), Buffer(tails), Buffer(xp.diff(begin) + xp.diff(sums[begin]) // WALKS_AN_EDGE))

    def _launch(self, sources: Sources, first: int, last: int, batch: Batch, shape: Shape, width: int) -> np.ndarray:
        """Answer the queries ``first`` … ``last`` - 1; return the kernel's rows, ``width`` words each."""
        queries, places = last - first, batch.places()
        source, out = self.space.sources(sources, first, last), self.space.out(queries, width)
        *given, request = batch

        def arguments(blocks: int, space: TeamArrays) -> tuple:
            return *given, source, queries, begun, blocks, request, space, out.view

        begun = 0
        teams, blocks, slots_per_team = self.space.spread(answer_cuda.answer, arguments, queries, places, shape)
        slots = teams * slots_per_team
        if slots_per_team > 1 and not (simulated() or shape.blocks):
            teams = min(slots, ANSWERING)
            blocks = self.space.blocks(answer_cuda.answer, (), teams)
        for begun in range(0, queries, slots if slots_per_team > 1 else queries):
            space = self.space.arrays(slots // slots_per_team, slots_per_team, places)
            if slots_per_team > 1:
                self._begin(source, queries, begun, slots, batch, space)
            launch(answer_cuda.answer, teams * blocks, BLOCK, *arguments(blocks, space))
            if slots_per_team > 1:
                clean_up(slots, self.space.marks, space)
        return out.host()

    def _begin(self, source: Any, queries: int, first: int, slots: int, batch: Batch, space: TeamArrays) -> None:
        """Begin the queries from ``first`` on, one per slot, up to the scores of those that read start lists."""
        states = self.space.states
        assert states is not None
        among, edges, chances, walks, _, request = batch
        push_first(
            self.graph, source, queries, first, among, edges, self._heads(), chances, walks, request.rhos, states, space
        )  # fmt: skip
        taken = min(slots, queries - first)

        def arguments(blocks: int) -> tuple:
            return blocks, taken, request.k, request.rhos, request.patience, walks, among, space

        blocks = 1 if simulated() else self.space.blocks(propose_all, arguments(1), taken)
        teams = taken if simulated() else min(taken, self.space.blocks(propose_all, arguments(1), 1))
        launch(propose_all, teams * blocks, BLOCK, *arguments(blocks))
        self.space.clear_control()
        gather_batched(slots, self.graph.n, walks, space)
        self.space.clear_control()


def _rows_here(n: int, index: Index, light: bool) -> dict[str, Buffer]:
    """Return the rows of an index on the current GPU, empty if ``light``; forward rows are made there if missing."""
    held = light_index(index.params, index.seed, index.walks, index.arrivals, None) if light else index
    rows = {name: Buffer(getattr(held, name)) for name in ROWS_BY_END}
    forward = held.forward
    if forward is None:
        forward = forward_rows(n, *(rows[name].array for name in ROWS_BY_END))
    return rows | {name: Buffer(a) for name, a in zip(ROWS_BY_START, forward, strict=True)}


def _missing(arrays: dict) -> int:
    """Return the bytes of the arrays that are not in device memory."""
    return sum(array.nbytes for array in arrays.values() if isinstance(array, np.ndarray))


def _unpacked(rows: np.ndarray, k: int, schedule: list, refined: bool) -> Result:
    """Return the result stored in the kernel's rows."""
    end = 2 + len(schedule) * len(TRACE)
    traces = rows[:, 2:end].reshape(len(rows), len(schedule), len(TRACE))
    steps = rows[:, 1].astype(np.int32)
    scores, nodes = rows[:, end : end + k], rows[:, end + k : end + 2 * k]
    certain = rows[:, end + 2 * k :] if refined else None
    return Result.of_rows(rows[:, 0], nodes, scores, steps, traces, schedule, certain)
