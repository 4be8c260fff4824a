"""Graph and index on a GPU, and batches of queries on it (kernel: ``query_cuda.py``)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, cooperative_grid, free_memory, on_gpu, xp
from gpukit.device.philox import Stream, stream_tag
from gpukit.device.select import simulated
from gpukit.errors import DeviceError
from gpukit.graph.csr import Graph
from gpukit.kpar import query_cuda, select_cuda, team_cuda
from gpukit.kpar.index import Index
from gpukit.kpar.problem import TRACE, Constants, Result, Sources, check_k

BLOCK = 4 if simulated() else 512
BYTES_PER_VERTEX = 8 * query_cuda.LONG_ROWS + 4 * query_cuda.SHORT_ROWS
"""Room that a team takes for each vertex."""

MOST_TEAMS = 1024
AHEAD = 1 << 26
"""Most words of answers that one launch leaves in device memory."""

COLLECT = {"auto": query_cuda.AUTO, "scan": query_cuda.SCAN, "atomic": query_cuda.ATOMIC}


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
    """

    teams: int = 0
    blocks: int = 0
    collect: str = "auto"
    tiled_push: bool = True
    tiled_estimate: bool = True


@dataclass(eq=False)
class CudaPrepared:
    """A graph and its index in the memory of a GPU, ready for queries.

    Attributes
    ----------
    index : Index
        Its arrays in host or device memory.
    constants : Constants
    gpu : int
        CUDA device number.
    arrays : dict of Buffer
        Graph and index on the device.
    work : dict of Buffer
        Working space, kept from one batch to the next.
    """

    index: Index
    constants: Constants
    gpu: int
    arrays: dict[str, Buffer]
    work: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, graph: Graph, index: Index, gpu: int = 0) -> "CudaPrepared":
        """Copy a graph and an index that was built on it to a GPU; arrays that are there already are not copied.

        Raises
        ------
        DeviceError
            If they do not fit; the line says so and what to do.
        """
        with on_gpu(gpu):
            source = {
                "indptr": graph.indptr, "indices": graph.indices, "walks": index.walks, "arrivals": index.arrivals,
                "src_begin": index.src_begin, "starts": index.starts, "frequent_begin": index.frequent_begin,
                "frequencies": index.frequencies,
            }  # fmt: skip
            missing = sum(array.nbytes for array in source.values() if isinstance(array, np.ndarray))
            rows = 0 if index.forward is not None and not isinstance(index.forward[0], np.ndarray) else 2
            # Forward rows are made from sorted pairs: two words an entry, twice while they are sorted.
            missing += rows * 16 * len(index.starts) + BYTES_PER_VERTEX * graph.n
            if missing > free_memory() and xp is not np:
                from gpukit.device.memory import readable

                raise DeviceError(
                    f"graph, index and working space need {readable(missing)}, but {readable(free_memory())} are free "
                    f"on GPU {gpu}; make the index with `kpar index --memory 0`, or use --device cpu"
                )
            arrays = {name: Buffer(array) for name, array in source.items()}
            forward = index.forward
            if forward is None:
                from gpukit.kpar.index_cuda import forward_rows

                forward = forward_rows(graph.n, *(arrays[name].array for name in list(source)[4:]))
            for name, array in zip(("row_begin", "row_ends", "row_freqs"), forward, strict=True):
                arrays[name] = Buffer(array)
            order = xp.argsort(-arrays["arrivals"].array, kind="stable") if graph.n else xp.zeros(0)
            arrays["by_arrivals"] = Buffer(order.astype(np.int32))
        return cls(index, Constants.of(graph.n, graph.m, index.params), gpu, arrays)

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.constants.n

    def query(
        self,
        sources: Sources,
        k: int,
        *,
        to_end: bool = False,
        shape: Shape | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Result:
        """Answer a batch of queries; arguments, result and errors are those of :func:`gpukit.kpar.query.query`."""
        check_k(k, self.n)
        shape = shape or Shape()
        schedule = self.constants.schedule(k)
        width = 2 + len(schedule) * len(TRACE) + 2 * k
        chunk = max(1, AHEAD // width)
        rows = np.empty((len(sources), width), np.int64)
        with on_gpu(self.gpu):
            for first in range(0, len(sources), chunk):
                last = min(first + chunk, len(sources))
                rows[first:last] = self._launch(sources, first, last, k, schedule, to_end, shape, width)
                if progress is not None:
                    progress(last, len(sources))
        return _unpacked(rows, k, schedule)

    def _launch(
        self, sources: Sources, first: int, last: int, k: int, schedule: list, to_end: bool, shape: Shape, width: int
    ) -> np.ndarray:
        queries, index = last - first, self.index
        part = slice(sources.offsets[first], sources.offsets[last])
        packed = np.concatenate(
            [sources.offsets[first : last + 1] - part.start, sources.vertices[part], sources.mass[part].view(np.int64)]
        )
        fixed = self._fixed(k, schedule)
        name = ("out", queries, width)
        if name not in self.work:
            self.work = {key: value for key, value in self.work.items() if key[0] != "out"}
            self.work[name] = Buffer((queries, width), np.int64)
        out = self.work[name]
        a = self.arrays
        tag = stream_tag(Stream.WALK)

        def arguments(blocks: int, space: tuple) -> tuple:
            long, short, top, real, limits, control = space
            return (
                a["indptr"].view, a["indices"].view, np.uint64(index.params.go_on), a["row_begin"].view,
                a["row_ends"].view, a["row_freqs"].view, a["src_begin"].view, a["starts"].view,
                a["frequent_begin"].view, a["frequencies"].view, a["walks"].view, a["arrivals"].view,
                a["by_arrivals"].view, index.light, np.uint64(index.seed), tag, source.view, queries, blocks, k,
                *fixed, float(self.constants.delta_min), index.params.epsilon, to_end, COLLECT[shape.collect],
                shape.tiled_push, shape.tiled_estimate, long, short, top, real, limits, control, out.view,
            )  # fmt: skip

        source = Buffer(packed)
        most = cooperative_grid(query_cuda.answer, BLOCK, arguments(1, self._space(1, k)[1:]))
        teams, blocks = self._spread(queries, most, shape)
        space = self._space(teams, k)
        space[0].array.fill(0)
        query_cuda.answer[teams * blocks, BLOCK](*arguments(blocks, space[1:]))
        return out.host()

    def _spread(self, queries: int, most: int, shape: Shape) -> tuple[int, int]:
        """Return the number of teams and the blocks of each."""
        if simulated():
            return 1, 1
        held = self.work["space"][0] if "space" in self.work else 0
        fitting = max(1, held, int(0.9 * free_memory()) // max(1, BYTES_PER_VERTEX * self.n))
        teams = min(shape.teams or MOST_TEAMS, queries, fitting, most)
        blocks = min(shape.blocks or most // teams, most // teams, team_cuda.MOST_BLOCKS)
        return teams, blocks

    def _fixed(self, k: int, schedule: list) -> tuple:
        """Return ρ and the coefficients of the bounds on the device."""
        if ("schedule", k) not in self.work:
            rhos = np.array([step.rho for step in schedule], np.int64)
            bounds = np.array([step.upper + step.lower for step in schedule])
            self.work["schedule", k] = (Buffer(rhos), Buffer(bounds))
        return tuple(buffer.view for buffer in self.work["schedule", k])

    def _space(self, teams: int, k: int) -> tuple:
        """Return control words and the views of the working space of at least ``teams`` teams, clean."""
        if "space" not in self.work or self.work["space"][0] < teams:
            self.work.pop("space", None)
            long = Buffer((teams, query_cuda.LONG_ROWS, self.n), np.int64, 0)
            short = Buffer((teams, query_cuda.SHORT_ROWS, self.n), np.int32)
            control = Buffer(1 + teams * team_cuda.CONTROL, np.int64)
            self.work["space"] = (teams, long, short, Buffer(long.array.view(np.float64)), control)
        held, long, short, real, control = self.work["space"]
        room = 1 << (k - 1).bit_length()
        if ("top", held, room) not in self.work:
            self.work = {key: value for key, value in self.work.items() if key[0] != "top"}
            top = Buffer((held, select_cuda.TOP_ROWS, room), np.int64, 0)
            self.work["top", held, room] = (top, Buffer(top.array.view(np.float64)))
        top, top_real = self.work["top", held, room]
        return control, long.view, short.view, top.view, top_real.view, real.view, control.view


def _unpacked(rows: np.ndarray, k: int, schedule: list) -> Result:
    """Return the result that the kernel's rows hold."""
    lengths, steps = rows[:, 0], rows[:, 1].astype(np.int32)
    end = 2 + len(schedule) * len(TRACE)
    filled = np.arange(k) < lengths[:, None]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    traces = rows[:, 2:end].reshape(len(rows), len(schedule), len(TRACE))
    return Result(
        offsets, rows[:, end + k :][filled].astype(np.int32), rows[:, end : end + k][filled].view(np.uint64), steps,
        [traces[q, : steps[q]] for q in range(len(rows))], schedule,
    )  # fmt: skip
