"""TopPPR: its guarantee, compared with the power method; its parts, compared with their specifications."""

import numpy as np
import pytest

from gpukit.errors import UsageError
from gpukit.evaluate.ppr import power_method
from gpukit.graph.csr import Graph
from gpukit.kpar import Params, Sources
from gpukit.kpar.problem import ONE, random_vertices
from gpukit.papers.kpar import topppr


def graph_of(n: int, m: int, seed: int) -> Graph:
    """Return a random graph whose in-degrees fall as a power, with its transpose; some vertices have no out-edges."""
    rng = np.random.default_rng(seed)
    tails = rng.integers(n // 10, n, m)
    heads = (n * rng.random(m) ** 3).astype(np.int64)
    pairs = np.unique(np.stack((tails, heads), 1)[tails != heads], axis=0)
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(pairs[:, 0], minlength=n), out=indptr[1:])
    back = pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))]
    in_indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(pairs[:, 1], minlength=n), out=in_indptr[1:])
    heads, tails = pairs[:, 1].astype(np.int32), back[:, 0].astype(np.int32)
    return Graph(indptr, heads, in_indptr=in_indptr, in_indices=tails)


def truth_of(graph, sources, alpha=0.2):
    starts = (sources.offsets, sources.vertices, sources.mass / ONE)
    return list(power_method(graph, *starts, alpha))


@pytest.mark.parametrize("precision", [0.9, 1.0])
@pytest.mark.parametrize("k", [1, 10, 100])
def test_the_promised_share_is_found(k, precision):
    graph = graph_of(3000, 24_000, 1)
    sources = Sources.single(random_vertices(graph.n, 30, 5))
    result = topppr.topppr(graph, sources, k, precision=precision, seed=3)
    for q, truth in enumerate(truth_of(graph, sources)):
        nodes, scores = result.answer(q)
        reachable = int((truth > 0).sum())
        assert len(nodes) == len(set(nodes.tolist())) == min(k, reachable)
        assert np.all(np.diff(scores) <= 0)
        # Scores within 1e-9 of the k-th are as good as it.
        hits = int((truth[nodes] >= np.sort(truth)[-len(nodes)] - 1e-9).sum())
        assert hits >= precision * len(nodes), q


def test_a_set_of_sources_and_another_alpha():
    graph = graph_of(800, 4000, 2)
    sources = Sources.weighted([100, 200, 300], [5, 3, 2])
    result = topppr.topppr(graph, sources, 20, Params(alpha=0.05), precision=1.0)
    (truth,) = truth_of(graph, sources, 0.05)
    assert np.all(truth[result.answer(0)[0]] >= np.sort(truth)[-20] - 1e-9)


def test_threads_change_nothing():
    graph = graph_of(1000, 8000, 3)
    sources = Sources.single(random_vertices(graph.n, 12, 1))
    one, two = (topppr.topppr(graph, sources, 25, seed=7, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.nodes, two.nodes) and np.array_equal(one.scores, two.scores)


def forward(graph, source, limit):
    room = topppr._Room.of(graph.n)
    query = topppr._Query(graph, 5, Params(), 1.0, 0)
    room.met[0], room.known[source], room.residue[source] = source, True, ONE
    met, pushed = topppr._push(query.edges, limit, 1, room)
    return query, room, met, pushed


def test_a_push_loses_nothing_and_ends_below_its_limit():
    graph = graph_of(500, 3000, 4)
    _, room, met, pushed = forward(graph, 77, 1e-4 * ONE)
    assert pushed > 0 and int(room.residue.sum() + room.reserve.sum()) == ONE
    assert np.all(room.residue <= 1e-4 * ONE * np.diff(graph.indptr))
    assert set(room.met[:met]) == set(np.flatnonzero(room.known)) >= set(np.flatnonzero(room.residue + room.reserve))
    assert not room.queued.any()


@pytest.mark.parametrize("threshold", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("target", [3, 9, 60])
def test_a_backward_search_splits_what_walks_bring(threshold, target):
    graph = graph_of(300, 1500, 5)
    query, room, _, _ = forward(graph, 123, 1e-3 * ONE)
    assert (graph.indptr[target + 1] == graph.indptr[target]) == (target < 30)  # with and without out-edges
    found, count, _ = topppr._search(
        graph.in_indptr, graph.in_indices, graph.indptr, query.alpha, threshold, target, room
    )
    seen = room.upcoming[:count]
    assert len(set(seen.tolist())) == count and set(np.flatnonzero(room.back)) <= set(seen.tolist())
    left = np.flatnonzero(room.residue)
    truths = truth_of(graph, Sources.single(left))
    wanted = sum(room.residue[v] / ONE * truth[target] for v, truth in zip(left, truths, strict=True))
    rest = sum(room.residue[v] / ONE * (truth @ room.back) for v, truth in zip(left, truths, strict=True))
    assert found / ONE + rest == pytest.approx(wanted, rel=1e-6, abs=1e-12)


def test_the_table_draws_by_residue():
    graph = graph_of(200, 1200, 6)
    query, room, met, _ = forward(graph, 50, 1e-2 * ONE)
    starts, stays, other = topppr._alias(met, room)
    shares = np.bincount(starts, stays, graph.n) + np.bincount(starts[other], 1 - stays, graph.n)
    residue = room.residue / room.residue.sum()
    assert np.allclose(shares / len(starts), residue, atol=1e-12) and len(starts) > 5


def test_bounds_hold_and_shrink():
    graph = graph_of(2000, 12_000, 7)
    query, room, met, _ = forward(graph, 500, 1e-4 * ONE)
    left = float(room.residue.sum()) / ONE
    (truth,) = truth_of(graph, Sources.single([500]))
    table, width = topppr._alias(met, room), np.inf
    for walks in (1000, 16_000, 256_000):
        room.hits[:] = 0
        met = topppr._walk(query.edges, query.seed, query.tags, table, walks, met, room)
        assert room.hits.sum() == walks
        bounds = topppr._bounds(room.met[:met], left, walks, topppr._log_term(graph.n, 1, 1), room)
        estimates, lower, upper = bounds
        pi = truth[room.met[:met]]
        assert np.all(lower <= pi + 1e-9) and np.all(pi <= upper + 1e-9)
        assert np.all((lower <= estimates + 1e-15) & (estimates <= upper + 1e-15))
        assert (upper - lower).mean() < width
        width = (upper - lower).mean()


def test_what_cannot_be_asked():
    graph = graph_of(50, 200, 8)
    for precision in (0.0, 1.5):
        with pytest.raises(UsageError, match="--precision is"):
            topppr.topppr(graph, Sources.single([7]), 3, precision=precision)
    with pytest.raises(UsageError, match="leave --weighted out"):
        topppr.topppr(graph, Sources.single([7]), 3, Params(weighted=True))


def test_ties_end_with_a_push_to_the_end(monkeypatch):
    """Leaves of a star are equal, so that no bounds tell them apart."""
    n = 40
    indptr = np.arange(n + 1, dtype=np.int64) + n - 2
    indptr[0] = 0
    heads = np.append(np.arange(1, n), np.zeros(n - 1)).astype(np.int32)
    star = Graph(indptr, heads, in_indptr=indptr, in_indices=heads)
    limits = []
    push = topppr._push
    monkeypatch.setattr(topppr, "_push", lambda edges, limit, *rest: limits.append(limit) or push(edges, limit, *rest))
    sources = Sources.single([0])
    nodes, scores = topppr.topppr(star, sources, 5, precision=1.0).answer(0)
    (truth,) = truth_of(star, sources)
    assert nodes[0] == 0 and len(set(nodes.tolist())) == 5
    assert np.allclose(scores, truth[nodes], atol=1e-3) and np.allclose(scores[1:], truth[nodes[1:]], atol=1e-9)
    assert limits[-1] < 2 * topppr.RESOLUTION * ONE / star.m


def test_most_queries_end_with_backward_searches(monkeypatch):
    graph = graph_of(3000, 24_000, 9)
    sources = Sources.single(random_vertices(graph.n, 10, 5))
    searched, refine = [], topppr._refine
    monkeypatch.setattr(topppr, "_refine", lambda *words: searched.append(words[4]) or refine(*words))
    limits, push = [], topppr._push
    monkeypatch.setattr(topppr, "_push", lambda edges, limit, *rest: limits.append(limit) or push(edges, limit, *rest))
    topppr.topppr(graph, sources, 10, precision=1.0)
    assert searched.count(1.0) >= 5 and min(searched) < 0.5, "to falling thresholds"
    assert sum(limit < 1.01 * topppr.RESOLUTION * ONE / graph.m for limit in limits) <= 3
