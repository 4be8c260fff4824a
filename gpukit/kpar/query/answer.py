"""Top-k personalised PageRank (algorithm 3 of the paper, repaired): batches of queries, on either device."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpukit.device.philox import Stream, stream_tag
from gpukit.graph.csr import Graph
from gpukit.kpar.groups import NO_IN_EDGES, InEdges, Request, edges_of
from gpukit.kpar.index.build import Index
from gpukit.kpar.problem import Constants, Result, Sources, Step, step_arrays
from gpukit.kpar.spaced import SpacedEdges, SpacedWalks, spaced_edges, spaced_in_edges
from gpukit.kpar.threads import over_threads
from gpukit.kpar.weights import chances_for

if TYPE_CHECKING:
    from gpukit.kpar.query.answer_cpu import Workspace

Schedule = tuple[list[Step], tuple]
"""The steps, and arrays on the device: for each step its ρ, the coefficients of the bounds, and the patience."""


class Task(NamedTuple):
    """A batch: its queries, the vertices that answers may name, the values of δ, and arguments of the kernels.

    ``in_edges`` are for refining answers; they are empty if answers are not refined.
    """

    sources: Sources
    among: np.ndarray | None
    steps: list[Step]
    request: Request
    in_edges: InEdges
    progress: Callable[[int, int], None] | None


@dataclass(eq=False)
class Ready(ABC):
    """A graph and its index on a device, ready for queries; it caches the device arrays that batches need.

    Attributes
    ----------
    graph : Graph
    index : Index
    constants : Constants
    schedules : dict
        Cached schedules by k and depth; computing one takes long compared with a query.
    made : dict of InEdges
        The in-edges on the device: under ``in`` those of the graph, made for the first batch that refines answers;
        under ``nowhere`` empty ones, for batches that do not.
    """

    graph: Graph
    index: Index
    constants: Constants
    schedules: dict[tuple[int, bool], Schedule] = field(default_factory=dict, repr=False, kw_only=True)
    made: dict[str, InEdges] = field(default_factory=dict, repr=False, kw_only=True)

    def query(
        self, sources: Sources, k: int, *, to_end: bool = False, refine: bool = False, among: np.ndarray | None = None,
        progress: Callable[[int, int], None] | None = None, threads: int = 1, shape: Any = None,
    ) -> Result:  # fmt: skip
        """Answer a batch of queries (:func:`query`); on a GPU ``shape`` (None: default) replaces ``threads``."""
        with self.on_device():
            steps, arrays = self.schedule(k, to_end)
            request = Request._make((k, *arrays, float(self.constants.delta_min), self.index.params.epsilon))
            return self.answers(Task(sources, among, steps, request, self.in_edges(refine), progress), threads, shape)

    def schedule(self, k: int, to_end: bool) -> Schedule:
        """Return the steps (:meth:`Constants.schedule`) and their arrays on the device; cached by k and depth."""
        if (k, to_end) not in self.schedules:
            steps = self.constants.schedule(k, to_end=to_end)
            self.schedules[k, to_end] = steps, tuple(map(self.placed, step_arrays(steps)))
        return self.schedules[k, to_end]

    def in_edges(self, refine: bool = True) -> InEdges:
        """Return the in-edges on the device, empty without ``refine``; they are made once."""
        name = "in" if refine else "nowhere"
        if name not in self.made:
            self.made[name] = self.make_in_edges() if refine else InEdges._make(map(self.placed, NO_IN_EDGES))
        return self.made[name]

    def on_device(self) -> AbstractContextManager[Any]:
        """Return the context of a batch."""
        return nullcontext()

    def placed(self, array: np.ndarray) -> Any:
        """Return an array placed on the device."""
        return array

    @abstractmethod
    def make_in_edges(self) -> InEdges:
        """Return the in-edges on the device."""

    @abstractmethod
    def answers(self, task: Task, threads: int, shape: Any) -> Result:
        """Answer a batch; its k and vertices have been checked."""


@dataclass(eq=False)
class Prepared(Ready):
    """A graph and its index, ready for queries on the CPU; the index has its forward rows, unless it is light.

    Attributes
    ----------
    by_arrivals : int32 array, shape (n,)
        Vertices by decreasing ω_I, then by id.
    chances : uint64 array, shape (m,), or None
        Chances of the edges, if these are weighted (:func:`gpukit.kpar.weights.edge_chances`).
    spaces : dict of Workspace
        Clean workspaces by thread, reused between batches.
    """

    by_arrivals: np.ndarray
    chances: np.ndarray | None = None
    spaces: "dict[int, Workspace]" = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, graph: Graph, index: Index) -> "Prepared":
        """Prepare queries on ``graph`` with an index that was built on it."""
        by_arrivals = np.argsort(-index.arrivals, kind="stable").astype(np.int32)
        chances = chances_for(graph, index.params)
        return cls(graph, index.with_forward(), Constants.of(graph.n, graph.m, index.params), by_arrivals, chances)

    def make_in_edges(self) -> InEdges:
        """Return the in-edges."""
        from gpukit.kpar.query.refine_cpu import make_in_edges

        return make_in_edges(self.graph, self.index.arrivals)

    def rows(self) -> tuple[SpacedEdges, SpacedWalks]:
        """Return the out-edges and the index in the form that queries read."""
        index = self.index
        assert index.forward is not None
        begin, ends, freqs = index.forward
        src, frequent = index.src_begin, index.frequent_begin
        return spaced_edges(edges_of(self.graph, index.params)), SpacedWalks(
            begin, begin[1:], ends, freqs, src, src[1:], index.starts, frequent, frequent[1:], index.frequencies,
            index.walks, index.arrivals, self.by_arrivals, index.light, np.uint64(index.seed), stream_tag(Stream.WALK),
        )  # fmt: skip

    def kernel(self, task: Task) -> Callable[..., Any]:
        """Return the function that answers some queries on one core: :func:`gpukit.kpar.query.answer_cpu.answer`."""
        from gpukit.kpar.query.answer_cpu import answer

        return partial(answer, task.among)

    def answers(self, task: Task, threads: int, shape: Any = None) -> Result:
        """Answer a batch, divided among threads."""
        from gpukit.kpar.query.answer_cpu import Answers, Batch, workspace

        sources, _, steps, request, in_edges, progress = task
        count, done = len(sources), 0
        edges, walks = self.rows()
        batch = Batch(sources.offsets, sources.vertices, sources.mass.view(np.int64), spaced_in_edges(in_edges))
        answer, out = self.kernel(task), Answers.of(count, request.k, len(steps))

        def work(first: int, last: int) -> None:
            nonlocal done
            # The workspace leaves the cache until it is clean again.
            space = self.spaces.pop(get_ident(), None) or workspace(walks.counts, walks.arrivals)
            answer(edges, self.chances, walks, batch, first, last, request, space, out)
            self.spaces[get_ident()] = space
            done += last - first
            if progress is not None:
                progress(done, count)

        over_threads(work, count, threads)
        return out.result(steps, certain=len(in_edges.begin) > 0)


def query(
    prepared: Prepared,
    sources: Sources,
    k: int,
    *,
    threads: int = 1,
    to_end: bool = False,
    refine: bool = False,
    among: np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Answer a batch of top-k queries.

    With probability at least 1 - 1/n for each query, two things hold for every i ≤ k with π(v*_i) > δ_min: π̂ of the
    i-th vertex in the answer has a relative error of at most ε, and its π is at least 1 - ε times the i-th largest π.
    All queries share the walks of the index, so failures of different queries are not independent.

    Parameters
    ----------
    prepared : Prepared
    sources : Sources
    k : int
        Length of each answer, 1 … n. An answer is shorter if fewer vertices have a positive score.
    threads : int
        CPU threads; answers do not depend on it.
    to_end : bool
        Whether to continue at least to δ_end (relative error ε/2) instead of stopping as soon as the bounds allow it.
    refine : bool
        Whether to refine the estimates of vertices around the end of the answer (``refine_cpu.py``).
    among : bool array, shape (n,), optional
        Marks the vertices that answers may name; the guarantee holds for the k best of them. All by default.
    progress : callable, optional
        Called with (queries done, queries).

    Returns
    -------
    Result
    """
    return prepared.query(sources, k, threads=threads, to_end=to_end, refine=refine, among=among, progress=progress)
