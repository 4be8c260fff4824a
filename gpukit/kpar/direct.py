"""Top-k personalised PageRank without PageRank and index, for a few queries."""

from collections.abc import Callable

import numpy as np

from gpukit.device.philox import Stream, stream_tag
from gpukit.graph.csr import Graph
from gpukit.kpar.groups import Request, edges_of
from gpukit.kpar.index.build import walk_counts
from gpukit.kpar.problem import ONE, Constants, Params, Result, Sources, step_arrays
from gpukit.kpar.spaced import spaced_edges
from gpukit.kpar.threads import over_threads
from gpukit.kpar.weights import chances_for

EXACT = 1e-9
"""Most mass that may remain undistributed for exact answers."""

_FALLING = np.array([1 << shift for shift in range(48, -1, -4)], np.int64)


def query_directly(
    graph: Graph,
    params: Params,
    sources: Sources,
    k: int,
    *,
    seed: int = 0,
    exact: bool = False,
    among: np.ndarray | None = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Answer a batch with the guarantee of :func:`gpukit.kpar.query.answer.query`, and without an index.

    Parameters
    ----------
    graph : Graph
    params : Params
    sources : Sources
    k : int
        Length of each answer, 1 … n.
    seed : int
        Seed of the walks.
    exact : bool
        Whether to push until at most :data:`EXACT` of the mass is left; no score then differs by more from the true
        one.
    among : bool array, shape (n,), optional
        True for vertices that answers may name; all by default.
    threads : int
        CPU threads; answers do not depend on it.
    progress : callable, optional
        Called with (queries done, queries).

    Raises
    ------
    InputError
        If edges are to be weighted and the graph has no weights.
    """
    from gpukit.kpar.direct_cpu import answer
    from gpukit.kpar.query.answer_cpu import Answers, Batch, workspace

    constants = Constants.of(graph.n, graph.m, params)
    # The frontier has the vertices with a residue above ω · ρ, as with an index; there is no PRO-rank list with more
    # walks.
    walks = walk_counts(graph, np.empty(0, np.int32), constants, adaptive=False)
    schedule = constants.schedule(k)
    rhos, bounds, patience = step_arrays(schedule)
    goal = 0
    if exact:
        # The remaining mass is at most the sum of ω · ρ: the last ρ is small enough for any graph.
        rhos, walks, goal = _FALLING, np.diff(graph.indptr).astype(np.uint32), int(EXACT * ONE)
        schedule, patience = [], np.zeros(len(rhos), np.int64)
    request = Request(k, rhos, bounds, patience, float(constants.delta_min), params.epsilon)
    edges, chances = spaced_edges(edges_of(graph, params)), chances_for(graph, params)
    key = (np.uint64(seed), stream_tag(Stream.WALK))
    batch = Batch(sources.offsets, sources.vertices, sources.mass.view(np.int64))
    count = len(sources)
    out = Answers.of(count, k, len(rhos))
    spaces: list = []
    none, done = np.zeros(graph.n, np.int64), 0

    def work(first: int, last: int) -> None:
        nonlocal done
        try:
            space = spaces.pop()
        except IndexError:
            space = workspace(walks, none)
        answer(among, edges, chances, key, goal, batch, first, last, request, space, out)
        spaces.append(space)
        done += last - first
        if progress is not None:
            progress(done, count)

    over_threads(work, count, threads)
    return out.result(schedule, certain=False)
