"""SpeedPPR against the dense solve and the power method."""

from dataclasses import replace

import numpy as np
import pytest
from oracles.ppr import exact

from gpukit.evaluate.ppr import judge, power_method
from gpukit.graph.csr import Weights
from gpukit.kpar import Params, Sources
from gpukit.kpar.groups import edges_of
from gpukit.kpar.problem import ONE
from gpukit.papers.kpar import speedppr as module
from gpukit.papers.kpar.speedppr import speedppr, speedppr_index


@pytest.fixture
def graph(random_graph):
    """Return a graph with vertices that absorb."""
    return random_graph(200, 900, 4)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_within_the_error_of_the_dense_solve(graph, weighted):
    weights = None
    if weighted:
        words = np.random.default_rng(3).integers(1 << 20, 1 << 32, graph.m, np.uint32)
        graph = replace(graph, weights=Weights("file"), probabilities=words)
        weights = words.astype(float) + 1
    index = speedppr_index(graph, Params(weighted=weighted), seed=2)
    assert len(index.ends) == graph.m
    queries = [Sources.single([0]), Sources.weighted([7, 11, 30], [1, 3, 2])]
    found = speedppr(graph, index, Sources.together(queries), graph.n)
    for q, query in enumerate(queries):
        start = np.zeros(graph.n)
        start[query.vertices] = query.mass / ONE
        truth, own = exact(graph, start, weights=weights), slice(found.offsets[q], found.offsets[q + 1])
        score = np.zeros(graph.n)
        score[found.nodes[own]] = found.scores[own] / ONE
        # No unit is lost: walks carry all that is left.
        assert int(found.scores[own].sum()) == ONE
        counted = truth > 1 / graph.n
        assert counted.sum() > 5 and (np.abs(score - truth)[counted] <= 0.5 * truth[counted]).all()


def test_pushes_alone_leave_what_they_may_and_no_vertex_more_walks_than_edges(graph):
    index, edges = speedppr_index(graph, Params()), edges_of(graph, Params())
    for few in (1, graph.n):
        # With few vertices in the queue at most, scans do the rest.
        room = module._Room.of(graph.n)
        room.residue[0] = ONE
        left = module._from_queue(few, ONE, 0, index.worth, edges, None, room)
        assert left == room.residue.sum() and left + room.reserve.sum() == ONE and not room.queued.any()
        left = module._power_push(left, index.worth, index.targets, edges, None, room)
        assert left == room.residue.sum() and left + room.reserve.sum() == ONE and left <= index.targets[-1]
    assert (room.residue <= index.worth * np.diff(graph.indptr)).all() and room.residue.any()
    start = np.zeros(graph.n)
    start[0] = 1
    short = exact(graph, start) - room.reserve / ONE
    assert (short >= -1e-12).all() and short.sum() <= left / ONE + 1e-9


def test_answers_are_right_and_do_not_depend_on_threads(graph):
    index, sources = speedppr_index(graph, seed=1, threads=2), Sources.single(np.arange(40))
    assert np.array_equal(index.ends, speedppr_index(graph, seed=1).ends)
    found, again = (speedppr(graph, index, sources, 10, threads=threads) for threads in (1, 3))
    assert np.array_equal(found.nodes, again.nodes) and np.array_equal(found.scores, again.scores)
    truths = power_method(graph, sources.offsets, sources.vertices, sources.mass / ONE, 0.2)
    quality = judge(truths, found.offsets, found.nodes, found.scores / ONE, 10, epsilon=0.5, delta=1 / graph.n)
    assert quality.violations == 0 and quality.precision > 0.9
