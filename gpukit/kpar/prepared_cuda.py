"""Graph and index on a GPU, and batches of queries on it (kernel: ``query_cuda.py``)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, Pinned, cooperative_grid, free_memory, on_gpu, xp
from gpukit.device.launch import launch
from gpukit.device.memory import check_budget
from gpukit.device.philox import Stream, stream_tag
from gpukit.device.placing import place
from gpukit.device.select import simulated
from gpukit.graph.csr import Graph
from gpukit.kpar import push_cuda, query_cuda, select_cuda, team_cuda
from gpukit.kpar.groups import NOWHERE, Asked, Edges, Tails, Walks
from gpukit.kpar.index import Index, light_index
from gpukit.kpar.index_cuda import forward_rows, on_host
from gpukit.kpar.problem import CONTENDERS, TRACE, WALKS_AN_EDGE, Constants, Result, Sources, Step, check_k, step_arrays
from gpukit.kpar.refine_cpu import in_edges
from gpukit.kpar.rows_cuda import to_host, transposed
from gpukit.kpar.team_cuda import TOGETHER
from gpukit.kpar.together_cuda import Space as TeamSpace
from gpukit.kpar.weights_cuda import BYTES_PER_EDGE, edge_chances

BLOCK = 4 if simulated() else 512
BYTES_PER_VERTEX = 8 * team_cuda.LONG_ROWS + 4 * team_cuda.SHORT_ROWS + 1
"""Room that each slot of a team takes for a vertex and its mark; with TOGETHER slots 8 bytes more for its unit."""

AT_WORK, AT_WORK_TOGETHER = 20_000_000, 34_000_000
"""Vertices that the teams at work have room for, all together, and where the queries of a team read start lists
together: with more they push each other out of the cache, with fewer they wait for each other."""

LARGE = 2_000_000
"""Vertices above which queries read start lists together, if there are enough of them: their units leave the cache."""

EDGES_A_BLOCK, FEWEST_BLOCKS = 100_000, 8
"""Edges of the graph for each block that answers a query with others, and blocks at least: more only wait longer."""

AHEAD = 1 << 26
"""Most words of answers that one launch leaves in device memory."""

A_LAUNCH = 64
"""Queries of a launch for each team: a team of an H200 took 4 to 17 ms for one on graphs of 0.5 million to 1.6 billion
edges (docs/kpar.md), so that progress and Ctrl-C get their turn about once a second."""

ROWS_BY_START, ROWS_BY_END = Walks._fields[:3], Walks._fields[3:7]
"""Names of the arrays of an index by start and by end."""

ENTRIES = ("row_ends", "row_freqs", "starts", "frequencies")
"""Names of those with an element for each entry, or each frequent one; start lists, which are read most, last: arrays
that are equally large go to host memory in this order."""

COLLECT = {"auto": push_cuda.AUTO, "scan": push_cuda.SCAN, "atomic": push_cuda.ATOMIC}


@dataclass(frozen=True)
class Shape:
    """How the work of a query is spread; answers depend on none of it.

    Attributes
    ----------
    teams : int
        Queries at a time; 0 chooses.
    blocks : int
        Blocks that answer a query together; 0 chooses.
    collect : str
        How a round finds the next frontier: ``auto``, ``scan`` or ``atomic``.
    tiled_push, tiled_estimate : bool
        Whether long rows are split among threads when pushing, and when adding up walks. Off: the ablations of the
        paper's section 5.2 without its sections 4.1 and 4.2.
    together : int
        Queries of a team whose start lists are read together: 1 or ``TOGETHER``; 0 chooses. Those of a light index, or
        without ``tiled_estimate``, are read for each query alone.
    """

    teams: int = 0
    blocks: int = 0
    collect: str = "auto"
    tiled_push: bool = True
    tiled_estimate: bool = True
    together: int = 0


class Space:
    """Working space of the kernels for a graph of n vertices and m edges on the current GPU, kept between batches."""

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m
        self._work: dict[Any, Any] = {}
        self._resident: dict[Any, int] = {}
        self._sources = Buffer(64, np.int64)

    def spread(
        self, kernel: Any, args: Callable[[int, int, TeamSpace], tuple], queries: int, k: int, shape: Shape
    ) -> tuple:
        """Return the launch shape of a kernel and its arguments, with the arrays of enough teams, clean.

        ``args(blocks, together, arrays)`` must return the arguments, given the blocks and the slots of a team.
        """
        if simulated():
            blocks, teams, together = shape.blocks or 1, min(shape.teams or 1, queries), shape.together or 1
            return (teams * blocks, BLOCK), args(blocks, together, self.arrays(teams, together, k))
        if kernel not in self._resident:
            self._resident[kernel] = cooperative_grid(kernel, BLOCK, args(1, 1, self.arrays(1, 1, k)))
        resident = self._resident[kernel]
        teams, together = self._teams(queries, shape)
        teams = min(teams, queries, resident)
        teams, together = self._fitting(teams, together)
        blocks = min(
            shape.blocks or max(FEWEST_BLOCKS, self.m // EDGES_A_BLOCK), resident // teams, team_cuda.MAX_BLOCKS
        )
        return (teams * blocks, BLOCK), args(blocks, together, self.arrays(teams, together, k))

    def _teams(self, queries: int, shape: Shape) -> tuple[int, int]:
        """Return how many teams there should be for so many queries, and the slots of each, whatever the GPU holds."""
        alone, sharing = (max(1, room // max(1, self.n)) for room in (AT_WORK, AT_WORK_TOGETHER))
        teams, together = alone, 1
        if self.n > LARGE and queries >= TOGETHER * sharing and shape.together != 1:
            teams, together = sharing, TOGETHER
        elif alone == 1 and queries > 1:
            together = TOGETHER
        return shape.teams or min(teams, team_cuda.MAX_BLOCKS), shape.together or together

    def _fitting(self, teams: int, together: int) -> tuple[int, int]:
        """Return how many teams and slots of each there is memory for, at most these.

        Slots that only save time leave half of it to what is made later, such as in-edges.
        """
        if self._lacking(teams, together) > 0:
            # Only here, because asking for the free memory goes to the driver.
            free = int(0.9 * free_memory())
            if self._lacking(1, together) > free // 2:
                together = 1
            limit = free // 2 if together > 1 else free
            while teams > 1 and self._lacking(teams, together) > limit:
                teams -= 1
        return teams, together

    def launches(self, queries: int, width: int, shape: Shape) -> Iterator[tuple[int, int]]:
        """Return the first query of each launch and the one after its last, for answers of so many words."""
        size = max(1, min(AHEAD // width, A_LAUNCH * self._teams(queries, shape)[0]))
        return ((first, min(first + size, queries)) for first in range(0, queries, size))

    def _lacking(self, teams: int, together: int) -> int:
        """Return the bytes that the arrays of these teams take beyond those that are held."""
        rows, quads = self._work["rows"], self._work["quads"].array
        missing = self.n * BYTES_PER_VERTEX * max(0, teams * together - rows[0])
        return missing + (max(0, 8 * self.n * teams * together - quads.nbytes) if together > 1 else 0)

    def arrays(self, teams: int, together: int, k: int) -> TeamSpace:
        """Return the views of the arrays of these teams or more (:func:`query_cuda.answer`)."""
        slots = teams * together
        if "rows" not in self._work or self._work["rows"][0] < slots:
            self._work.pop("rows", None)
            long = Buffer((slots, team_cuda.LONG_ROWS, self.n), np.int64, 0)
            short = Buffer((slots, team_cuda.SHORT_ROWS, self.n), np.int32)
            control = Buffer(1 + slots * team_cuda.CONTROL, np.int64)
            marks = Buffer((slots, (self.n + 31) // 32), np.uint32, 0)
            self._work["rows"] = (slots, long, short, control, marks)
        held, long, short, control, marks = self._work["rows"]
        shape = (held, select_cuda.TOP_ROWS, 1 << (k - 1).bit_length())
        if "top" not in self._work or self._work["top"].array.shape != shape:
            self._work["top"] = Buffer(shape, np.int64, 0)
        if "quads" not in self._work:
            self._work["quads"] = Buffer((1, 1), np.int64)
        if together > 1 and self._work["quads"].array.size < slots * self.n:
            self._work["quads"] = Buffer((teams, together * self.n), np.int64)
        control.array.fill(0)
        top, quads = self._work["top"], self._work["quads"]
        return TeamSpace(long.view, short.view, top.view, control.view, quads.view, marks.view)

    def sources(self, sources: Sources, first: int, last: int) -> Any:
        """Return some queries as the kernels take them: offsets, vertices and mass in one int64 array on the device."""
        part = slice(sources.offsets[first], sources.offsets[last])
        offsets, mass = sources.offsets[first : last + 1] - part.start, sources.mass[part].view(np.int64)
        self._sources.load(np.concatenate([offsets, sources.vertices[part], mass]))
        return self._sources.view

    def out(self, queries: int, width: int) -> Buffer:
        """Return room for answers, int64 (queries, width)."""
        if "out" not in self._work or self._work["out"].array.shape != (queries, width):
            self._work["out"] = Buffer((queries, width), np.int64)
        return self._work["out"]


@dataclass(eq=False)
class CudaPrepared:
    """A graph and its index in the memory of a GPU, ready for queries.

    Attributes
    ----------
    graph : Graph
    index : Index
        Their arrays in host or device memory.
    constants : Constants
    gpu : int
        CUDA device number.
    arrays : dict of Buffer
        Graph and index on the device; ``chances`` of the edges too, where they are weighted.
    space : Space
    light : bool
        Whether walks are drawn again by queries: the index holds no rows, or they do not fit onto the GPU.
    schedules : dict
        Schedules, with ρ, coefficients of the bounds and patience on the device, by k and depth.
    made : dict of Tails
        The in-edges on the device: none under ``nowhere``, and under ``in`` once an answer was refined.
    """

    graph: Graph
    index: Index
    constants: Constants
    gpu: int
    arrays: dict[str, Buffer]
    space: Space
    light: bool
    schedules: dict[tuple[int, bool], tuple[list[Step], tuple[Buffer, ...]]] = field(default_factory=dict, repr=False)
    made: dict[str, Tails] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, graph: Graph, index: Index, gpu: int = 0) -> "CudaPrepared":
        """Copy a graph and an index that was built on it to a GPU; arrays that are there already are not copied.

        Edges that do not fit lie in host memory (``device/placing.py``). Rows that do not are left out (``light``), and
        walks drawn again. Where the edges lie in host memory, a word through the bus for each step, rows do too, which
        are read in sequence; and those of an updatable index, whose walks are never drawn again.

        Raises
        ------
        DeviceError
            If not even vertices and counts fit.
        """
        with on_gpu(gpu):
            kept = {"indptr": graph.indptr, "indices": graph.indices, "walks": index.walks, "arrivals": index.arrivals}
            working = (BYTES_PER_VERTEX + 32) * graph.n
            beside = {"working space": working}
            if index.params.weighted:
                beside["edge weights"] = BYTES_PER_EDGE * graph.m
            arrays = place(kept, ("indices",), beside, "use --device cpu")
            if index.params.weighted:
                arrays["chances"] = Buffer(edge_chances(graph))
            rows = {name: getattr(index, name) for name in ROWS_BY_END}
            # Forward rows are made from sorted pairs: two words an entry, twice while they are sorted.
            sorting = 0 if index.forward is not None and _missing(dict(enumerate(index.forward))) == 0 else 40
            lacking = working + _missing(rows) + sorting * len(index.starts) > free_memory()
            light = index.light or (lacking and not index.updatable and not isinstance(arrays["indices"], Pinned))
            if lacking and not light:
                forward = index.forward or on_host(index).with_forward().forward
                assert forward is not None
                rows |= dict(zip(ROWS_BY_START, forward, strict=True))
                arrays |= place(rows, ENTRIES, {"working space": working}, "use --device cpu", share=1)
            else:
                held = light_index(index.params, index.seed, index.walks, index.arrivals, None) if light else index
                arrays |= {name: Buffer(getattr(held, name)) for name in ROWS_BY_END}
                forward = held.forward
                if forward is None:
                    forward = forward_rows(graph.n, *(arrays[name].array for name in ROWS_BY_END))
                arrays |= {name: Buffer(a) for name, a in zip(ROWS_BY_START, forward, strict=True)}
            order = xp.argsort(-arrays["arrivals"].array, kind="stable")
            arrays["by_arrivals"] = Buffer(order.astype(np.int32))
            constants = Constants.of(graph.n, graph.m, index.params)
            return cls(graph, index, constants, gpu, arrays, Space(graph.n, graph.m), light)

    def query(
        self,
        sources: Sources,
        k: int,
        *,
        to_end: bool = False,
        refine: bool = False,
        among: np.ndarray | None = None,
        shape: Shape | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Result:
        """Answer a batch of queries; arguments, result and errors are those of :func:`gpukit.kpar.query.query`.

        Raises
        ------
        DeviceError
            If a refined answer needs in-edges and they do not fit.
        """
        check_k(k, self.constants.n, among)
        with on_gpu(self.gpu):
            named = None if among is None else Buffer(among).view
            schedule, per_step = self._schedule(k, to_end)
            into = self._tails(refine)
            width = 2 + len(schedule) * len(TRACE) + (3 if refine else 2) * k
            rows, shape = np.empty((len(sources), width), np.int64), shape or Shape()
            for first, last in self.space.launches(len(sources), width, shape):
                rows[first:last] = self._launch(sources, first, last, k, named, into, per_step, shape, width)
                if progress is not None:
                    progress(last, len(sources))
        return _unpacked(rows, k, schedule, refine)

    def _schedule(self, k: int, to_end: bool) -> tuple[list[Step], tuple]:
        """Return the schedule, and ρ, coefficients of the bounds and patience on the device."""
        if (k, to_end) not in self.schedules:
            steps = self.constants.schedule(k, to_end=to_end)
            self.schedules[k, to_end] = steps, tuple(Buffer(array) for array in step_arrays(steps))
        steps, buffers = self.schedules[k, to_end]
        return steps, tuple(buffer.view for buffer in buffers)

    def _tails(self, refine: bool) -> Tails:
        """Return the in-edges as Buffers, made once, or none; raises DeviceError if they do not fit."""
        name = "in" if refine else "nowhere"
        if name not in self.made:
            self.made[name] = self._in_edges() if refine else Tails._make(map(Buffer, NOWHERE))
        return self.made[name]

    def _in_edges(self) -> Tails:
        """Return :class:`Tails` as Buffers; where the device lacks room the host makes them, and keeps the tails."""
        n, m, advice = self.graph.n, self.graph.m, "use --device cpu, or --depth auto"
        needs, free = {"in-edges": 4 * m + 16 * n, "sorting them": 16 * m}, free_memory()
        working = BYTES_PER_VERTEX * n
        if sum(needs.values()) + working > free and isinstance(self.graph.indices, np.ndarray):
            into = in_edges(self.graph, to_host(self.index.arrivals))
            return Tails(**place(into._asdict(), ("tails",), {"working space": working}, advice))
        check_budget(needs, free, f"GPU {self.gpu}", advice)
        begin, tails = transposed(self.graph)
        sums = xp.zeros(m + 1, np.int64)
        sums[1:] = xp.cumsum(self.arrays["arrivals"].array[tails])
        return Tails(Buffer(begin), Buffer(tails), Buffer(xp.diff(begin) + xp.diff(sums[begin]) // WALKS_AN_EDGE))

    def _launch(
        self, sources: Sources, first: int, last: int, k: int, among: Any, into: Tails, per_step: tuple, shape: Shape,
        width: int,
    ) -> np.ndarray:  # fmt: skip
        queries, index, a = last - first, self.index, self.arrays
        source, out = self.space.sources(sources, first, last), self.space.out(queries, width)

        edges = Edges(a["indptr"].view, a["indices"].view, np.uint64(index.params.one_minus_alpha))
        chances = a["chances"].view if "chances" in a else None
        rows = (a[name].view for name in (*ROWS_BY_START, *ROWS_BY_END, "walks", "arrivals", "by_arrivals"))
        walks = Walks._make((*rows, self.light, np.uint64(index.seed), stream_tag(Stream.WALK)))
        asked = Asked._make((k, *per_step, float(self.constants.delta_min), index.params.epsilon))
        tails = Tails._make(buffer.view for buffer in into)
        ways = push_cuda.Ways(COLLECT[shape.collect], shape.tiled_push, shape.tiled_estimate)

        def arguments(blocks: int, together: int, space: TeamSpace) -> tuple:
            return (
                among, edges, chances, walks, tails, source, queries, blocks, together, asked, ways, space, out.view
            )  # fmt: skip

        if self.light or not shape.tiled_estimate:
            shape = replace(shape, together=1)
        places = k + CONTENDERS // 2 if len(into.begin) > 0 else k
        size, given = self.space.spread(query_cuda.answer, arguments, queries, places, shape)
        launch(query_cuda.answer, *size, *given)
        return out.host()


def _missing(arrays: dict) -> int:
    """Return the bytes of the arrays that are not in device memory."""
    return sum(array.nbytes for array in arrays.values() if isinstance(array, np.ndarray))


def _unpacked(rows: np.ndarray, k: int, schedule: list, refined: bool) -> Result:
    """Return the result that the kernel's rows hold."""
    end = 2 + len(schedule) * len(TRACE)
    traces = rows[:, 2:end].reshape(len(rows), len(schedule), len(TRACE))
    steps = rows[:, 1].astype(np.int32)
    scores, nodes = rows[:, end : end + k], rows[:, end + k : end + 2 * k]
    certain = rows[:, end + 2 * k :] if refined else None
    return Result.of_rows(rows[:, 0], nodes, scores, steps, traces, schedule, certain)
