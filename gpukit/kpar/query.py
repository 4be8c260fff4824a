"""Top-k personalised PageRank (algorithm 3 of the paper, repaired): batches of queries over all cores."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.device.philox import Stream, stream_tag
from gpukit.graph.csr import Graph
from gpukit.kpar.groups import NOWHERE, Asked, Tails, Walks, edges_of
from gpukit.kpar.index import Index
from gpukit.kpar.problem import TRACE, Constants, Result, Sources, Step, check_k, step_arrays
from gpukit.kpar.threads import over_threads
from gpukit.kpar.weights import chances_for

if TYPE_CHECKING:
    from gpukit.kpar.query_cpu import Workspace

Schedule = tuple[list[Step], np.ndarray, np.ndarray, np.ndarray]
"""Steps, and their ρ, coefficients of the bounds and patience as arrays."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A graph and its index, ready for queries: what does not change from one to the next.

    Attributes
    ----------
    graph : Graph
    index : Index
        With its forward rows, unless it is light.
    constants : Constants
    by_arrivals : int32 array, shape (n,)
        Vertices by falling ω_I, then by id.
    chances : uint64 array, shape (m,), or None
        Of edges, where they are weighted (:func:`gpukit.kpar.weights.edge_chances`).
    spaces : dict of Workspace
        Clean workspaces by thread, kept from one batch to the next.
    schedules : dict
        Schedules that were asked for, which take long beside a query.
    made : dict of Tails
        The in-edges under ``in``, once an answer was refined.
    """

    graph: Graph
    index: Index
    constants: Constants
    by_arrivals: np.ndarray
    chances: np.ndarray | None = None
    spaces: "dict[int, Workspace]" = field(default_factory=dict, repr=False)
    schedules: dict[tuple[int, bool], Schedule] = field(default_factory=dict, repr=False)
    made: dict[str, Tails] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, graph: Graph, index: Index) -> "Prepared":
        """Prepare queries on ``graph`` with an index that was built on it."""
        by_arrivals = np.argsort(-index.arrivals, kind="stable").astype(np.int32)
        chances = chances_for(graph, index.params)
        return cls(graph, index.with_forward(), Constants.of(graph.n, graph.m, index.params), by_arrivals, chances)

    def tails(self) -> Tails:
        """Return the in-edges, made once where the graph does not hold them."""
        if "in" not in self.made:
            from gpukit.kpar.refine_cpu import in_edges

            self.made["in"] = in_edges(self.graph, self.index.arrivals)
        return self.made["in"]

    def walks(self) -> Walks:
        """Return the index as a query takes it."""
        index = self.index
        assert index.forward is not None
        return Walks(
            *index.forward, index.src_begin, index.starts, index.frequent_begin, index.frequencies, index.walks,
            index.arrivals, self.by_arrivals, index.light, np.uint64(index.seed), stream_tag(Stream.WALK),
        )  # fmt: skip

    def schedule(self, k: int, to_end: bool) -> Schedule:
        """Return :meth:`Constants.schedule` and its ρ, coefficients of the bounds and patience as arrays."""
        if (k, to_end) not in self.schedules:
            steps = self.constants.schedule(k, to_end=to_end)
            self.schedules[k, to_end] = steps, *step_arrays(steps)
        return self.schedules[k, to_end]


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

    With probability at least 1 - 1/n for each query, for every i ≤ k with π(v*_i) > δ_min: π̂ of the i-th answer is
    within ε of its π, and that π is at least 1 - ε of the i-th largest. All queries share the walks of the index,
    so failures of different queries are not independent.

    Parameters
    ----------
    prepared : Prepared
    sources : Sources
    k : int
        Length of each answer, 1 … n; fewer where fewer vertices have a positive score.
    threads : int
        CPU threads; answers do not depend on it.
    to_end : bool
        Whether to go on to δ_end at least (relative error ε/2) instead of stopping as soon as the bounds allow.
    refine : bool
        Whether to take a second look at the vertices around the end of the answer (``refine_cpu.py``).
    among : bool array, shape (n,), optional
        Which vertices answers may name; the guarantee holds for the k best of them. All by default.
    progress : callable, optional
        Called with (queries done, queries).

    Returns
    -------
    Result

    Raises
    ------
    UsageError
        If k is out of range.
    """
    from gpukit.kpar.query_cpu import answer

    check_k(k, prepared.graph.n, among)
    into = prepared.tails() if refine else None
    return answer_batch(
        partial(answer, among), prepared, sources, k, prepared.schedule(k, to_end), threads, progress, into
    )


def answer_batch(
    answer: Callable[..., Any],
    prepared: Prepared,
    sources: Sources,
    k: int,
    schedule: Schedule,
    threads: int,
    progress: Callable[[int, int], None] | None,
    into: Tails | None = None,
) -> Result:
    """Share a batch of queries among threads; ``answer`` takes what :func:`gpukit.kpar.query_cpu.answer` takes."""
    from gpukit.kpar.query_cpu import Answers, Batch, workspace

    graph, index, constants = prepared.graph, prepared.index, prepared.constants
    steps, rhos, bounds, patience = schedule
    count, spaces = len(sources), prepared.spaces
    edges, walks = edges_of(graph, index.params), prepared.walks()
    batch = Batch(sources.offsets, sources.vertices, sources.mass.view(np.int64), into or NOWHERE)
    asked = Asked(k, rhos, bounds, patience, float(constants.delta_min), index.params.epsilon)
    out = Answers(
        nodes=np.empty((count, k), np.int32),
        scores=np.empty((count, k), np.int64),
        certain=np.zeros((count, k), np.bool_),
        lengths=np.zeros(count, np.int64),
        steps=np.zeros(count, np.int32),
        traces=np.zeros((count, len(steps), len(TRACE)), np.int64),
    )
    done = 0

    def work(first: int, last: int) -> None:
        nonlocal done
        # Taken out until it is clean again.
        space = spaces.pop(get_ident(), None) or workspace(index.walks, index.arrivals)
        answer(edges, prepared.chances, walks, batch, first, last, asked, space, out)
        spaces[get_ident()] = space
        done += last - first
        if progress is not None:
            progress(done, count)

    over_threads(work, count, threads)
    return Result.of_rows(
        out.lengths, out.nodes, out.scores, out.steps, out.traces, steps, out.certain if into else None
    )
