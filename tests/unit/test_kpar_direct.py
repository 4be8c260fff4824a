"""Queries without an index: a plain version to the last unit, Definition 1 against the truth, and the command."""

import json
from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse
from oracles.ppr import exact
from oracles.ppr_direct import kpar_direct

import gpukit as gk
from gpukit.cli.app import main
from gpukit.device.philox import Stream, stream_tag
from gpukit.evaluate.ppr import judge, power_method
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.kpar import Params, Sources
from gpukit.kpar.direct import query_directly
from gpukit.kpar.index.build import walk_counts
from gpukit.kpar.problem import NEVER, ONE, Constants


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("nodes", "scores", "steps"))


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize(("n", "m", "key", "epsilon"), [(200, 1000, 4, 0.5), (120, 130, 5, 0.5), (60, 900, 6, 0.2)])
def test_a_query_equals_the_plain_version(random_graph, monkeypatch, n, m, key, epsilon, coarse):
    graph, params = random_graph(n, m, key), Params(epsilon=epsilon)
    if coarse:
        # From far too large a δ on, so that bounds are refused, walks are cheap, and every kind of patience is met.
        factors, patience = (10**6, 10**5, 10**4, 512, 64, 8, 0.5, 0.1), (0, 0, 0, 0, NEVER, 100, 0, 0)

        def steps(self, k, **options):
            return [self._step(Decimal(f) * self.delta_min, p) for f, p in zip(factors, patience, strict=True)]

        monkeypatch.setattr(Constants, "schedule", steps)
    constants = Constants.of(graph.n, graph.m, params)
    omega = walk_counts(graph, np.empty(0, np.int32), constants, adaptive=False).tolist()
    sets = [Sources.single([v]) for v in np.random.default_rng(key).integers(0, n, 5)]
    sets.append(Sources.weighted([3, 1, 3, 8], [1, 5, 1, 10**6]))
    tried = set()
    some = np.random.default_rng(key + 1).random(n) < 0.3
    for k, among in ((1, None), (10, None), (n // 2, None), (n, None), (1, some), (5, some), (int(some.sum()), some)):
        found = query_directly(graph, params, Sources.joined(sets), k, seed=9, among=among)
        for q, one in enumerate(sets):
            start = dict(zip(one.vertices.tolist(), one.mass.tolist(), strict=True))
            key_of_walks = (np.uint64(9), stream_tag(Stream.WALK))
            expected, steps, drawn = kpar_direct(
                graph, omega, constants.schedule(k), params, float(constants.delta_min), start, k, key_of_walks, among
            )
            part = slice(found.offsets[q], found.offsets[q + 1])
            assert list(zip(found.nodes[part].tolist(), found.scores[part].tolist(), strict=True)) == expected
            trace = found.traces[q]
            assert (found.steps[q], np.where(trace[:, 7] == 1, trace[:, 6], -1).tolist()) == (steps, drawn)
            tried |= {(int(row[7]), int(np.sign(row[8]))) for row in trace}
    if coarse and n == 200:
        assert {(1, 0), (1, 1), (0, -1)} <= tried, "walks that were refused, and that were not, and waiting"


@pytest.mark.parametrize("alpha", [0.2, 0.5])
def test_definition_1_holds(random_graph, alpha):
    """Where walks decide and where pushes do."""
    ways = set()
    for n, m in ((600, 4000), (300, 600)):
        graph, params = random_graph(n, m, 7), Params(alpha)
        sources, delta = Sources.single(np.arange(n)), float(Constants.of(n, m, params).delta_min)
        for k in (5, 60):
            found = query_directly(graph, params, sources, k, threads=2)
            truths = power_method(graph, sources.offsets, sources.vertices, sources.mass / ONE, alpha)
            quality = judge(truths, found.offsets, found.nodes, found.scores / ONE, k, epsilon=0.5, delta=delta)
            assert quality.violations == 0 and quality.positions > 500
            assert quality.precision > 0.9 and quality.ndcg > 0.999
            ways |= {int(trace[-1, 7]) for trace in found.traces}
    assert ways == {0, 1}


def test_the_best_of_some_vertices(random_graph):
    """Definition 1 holds of the vertices that answers may name, and to the end they are the best of all of these."""
    graph, params, among = random_graph(300, 900, 3), Params(), np.arange(300) % 3 == 0
    sources, delta = Sources.single(np.arange(60)), float(Constants.of(graph.n, graph.m, params).delta_min)
    truths = [exact(graph, np.eye(graph.n)[source]) * among for source in range(60)]
    for k in (3, 100):
        found = query_directly(graph, params, sources, k, among=among)
        true = query_directly(graph, params, sources, k, exact=True, among=among)
        for q, truth in enumerate(truths):
            nodes, scores = found.answer(q)
            assert among[nodes].all()
            best = np.sort(truth)[::-1]
            for place, (node, score) in enumerate(zip(nodes, scores, strict=True)):
                if best[place] > delta:
                    assert truth[node] >= 0.5 * best[place] and abs(score - truth[node]) <= 0.5 * truth[node]
            assert np.allclose(true.answer(q)[1], best[: len(true.answer(q)[1])], rtol=0, atol=2e-9)


def test_answers_depend_on_neither_threads_nor_batches(random_graph):
    graph, sources = random_graph(300, 3000, 8), Sources.single(np.arange(50))
    whole = query_directly(graph, Params(), sources, 20, seed=5)
    assert same(query_directly(graph, Params(), sources, 20, seed=5, threads=2), whole)
    for q in (0, 17):
        alone = query_directly(graph, Params(), sources.part(q, q + 1), 20, seed=5)
        assert all(np.array_equal(a, b) for a, b in zip(alone.answer(0), whole.answer(q), strict=True))
    assert any(trace[-1, 7] for trace in whole.traces), "no query drew walks"
    assert not same(query_directly(graph, Params(), sources, 20, seed=6), whole)


def test_edge_cases(make_graph):
    none = make_graph(4, [])
    assert query_directly(none, Params(), Sources.single(range(4)), 4).scores.tolist() == [ONE] * 4
    star = make_graph(12, [(0, i) for i in range(1, 12)])
    found = query_directly(star, Params(), Sources.single([0, 5]), 12)
    assert found.answer(1)[0].tolist() == [5] and np.diff(found.offsets).tolist() == [12, 1]
    for edges in (
        [(i, j) for i in range(12) for j in range(12) if i != j],
        [(i, (i + 1) % 6) for i in range(6)] + [(6 + i, 6 + (i + 1) % 6) for i in range(6)],
        [(i, i + 1) for i in range(11)],
        [(0, i) for i in range(1, 12)] + [(i, 0) for i in range(1, 12)],
    ):
        graph = make_graph(12, edges)
        found = query_directly(graph, Params(), Sources.single(range(12)), 12)
        for source in range(12):
            truth = exact(graph, np.eye(12)[source])
            nodes, scores = found.answer(source)
            above = np.flatnonzero(truth > 0.01)
            assert set(above.tolist()) <= set(nodes.tolist()) <= set(np.flatnonzero(truth > 1e-15).tolist())
            large = truth[nodes] > 0.01
            assert np.all(np.abs(scores - truth[nodes])[large] <= 0.5 * truth[nodes][large])


def test_weighted_edges_count(random_graph):
    generator = np.random.default_rng(3)
    u, v = generator.integers(0, 80, (2, 600))
    graph = build_graph(u, v, w=generator.integers(1, 10, 600) / 10, weights=Weights("file"), n=80)
    found = query_directly(graph, Params(weighted=True), Sources.single(range(graph.n)), 10)
    words = graph.probabilities.astype(float) + 1
    for source in range(graph.n):
        truth = exact(graph, np.eye(graph.n)[source], weights=words)
        nodes, scores = found.answer(source)
        large = truth[nodes] > 0.2
        assert np.all(np.abs(scores - truth[nodes])[large] <= 0.5 * truth[nodes][large])
        assert truth[nodes].min() >= 0.5 * np.sort(truth)[-len(nodes)] - 0.01


def test_the_command_needs_neither_rank_nor_index(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    u, v = 10 * np.random.default_rng(4).integers(1, 60, (2, 400))
    gk.from_edges(u.tolist(), v.tolist(), weights="trivalency").save("G.h5")
    query = ["kpar", "query", "G.h5", "--source", "20", "-k", "5"]

    def run(*words):
        code = main([*query, *words])
        return code, *capsys.readouterr()

    code, out, err = run("--json", "--explain", "--out", "T.h5", "-v")
    record = json.loads(out)
    assert code == 0 and "without an index queries run on the CPU" in err
    assert record["params"] == {
        "k": 5, "depth": "auto", "bounds": "exact", "alpha": 0.2, "epsilon": 0.5, "weighted": False
    }  # fmt: skip
    graph = gk.read_graph("G.h5").csr
    found = query_directly(graph, Params(), Sources.single(graph.internal([20])), 5)
    (one,) = record["results"]
    assert (one["nodes"], one["scores"]) == (graph.original(found.nodes).tolist(), found.answer(0)[1].tolist())
    assert main(["evaluate", "ppr", "G.h5", "--answers", "T.h5"]) == 0 and capsys.readouterr()
    (sure,) = json.loads(run("--json", "--depth", "end")[1])["results"]
    assert (
        sure["scores"]
        == query_directly(graph, Params(), Sources.single(graph.internal([20])), 5, exact=True).answer(0)[1].tolist()
    )
    record = json.loads(run("--json", "--weighted", "--alpha", "0.5")[1])
    assert record["params"]["weighted"] and record["graph"]["weights"] == "trivalency"
    assert ", weighted by trivalency\n" in run("--weighted")[1]
    for words, says in (
        (("--device", "cuda"), "without an index queries run on the CPU"),
        (("--depth", "refined"), "--depth refined needs an index"),
        (("--depth", "end", "--explain"), "--explain tells of values of δ"),
        (("--alpha", "1"), "alpha is 1.0"),
    ):
        code, out, err = run(*words)
        assert (code, out) == (2, "") and says in err
    assert main(["kpar", "index", "G.h5", "--out", "I.h5"]) == 0 and capsys.readouterr()
    code, _, err = run("--index", "I.h5", "--weighted")
    assert code == 2 and "leave --weighted out" in err


def spread_by_hand(graph, start, alpha):
    """Personalised PageRank of weighted edges by SciPy, until less than 1e-12 changes."""
    words = graph.probabilities.astype(float) + 1
    steps = scipy.sparse.csr_array((words, graph.indices, graph.indptr), shape=(graph.n, graph.n))
    sums = steps.sum(axis=1)
    along = (scipy.sparse.diags_array(1 / np.where(sums > 0, sums, 1)) @ steps).T.tocsr()
    now, before = start, np.zeros(graph.n)
    while np.abs(now - before).sum() > 1e-12:
        now, before = alpha * start + (1 - alpha) * (along @ now), now
    return now


def memory_of(seed):
    """Return an undirected weighted graph as retrieval makes them, a reset vector, and its queries."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(200, 1500))
    u, v = (n * generator.random(4 * n) ** 2).astype(int), generator.integers(0, n, 4 * n)
    w = np.round(0.9 * generator.random(4 * n) + 0.1, 3)
    graph = build_graph(u, v, w=w, weights=Weights("file"), undirected=True, n=n, ids=False)
    linked = np.flatnonzero(np.diff(graph.indptr))
    few = dict.fromkeys(linked[::3].tolist(), 0)  # passages, each with a little
    for vertex in [*few, *generator.choice(linked, 20).tolist()]:
        few[vertex] = few.get(vertex, 0) + int(5e4 * generator.random()) + 1
    for vertex in generator.choice(linked, 10).tolist():
        few[vertex] = int(1e6 * generator.random()) + 1
    sources = Sources.weighted(list(few), list(few.values()))
    start = np.zeros(n)
    start[sources.vertices] = sources.mass / ONE
    return graph, start, sources


def test_exact_answers_stand_in_for_prpack():
    """Damping .5, a weighted reset vector: the same top 20 on 20 graphs, up to entries within 1e-6 of the 20th."""
    for seed in range(20):
        graph, start, sources = memory_of(seed)
        truth = spread_by_hand(graph, start, 0.5)
        nodes, scores = query_directly(graph, Params(0.5, weighted=True), sources, 20, exact=True).answer(0)
        best = np.argsort(-truth, kind="stable")[:20]
        last = truth[best[-1]]
        assert truth[nodes].min() >= last - 1e-6, "one that is none of them"
        assert set(best[truth[best] > last + 1e-6].tolist()) <= set(nodes.tolist()), "one of them is missing"
        assert np.all((scores <= truth[nodes] + 1e-11) & (scores >= truth[nodes] - 1e-9 - 1e-11))


def test_exact_answers_are_within_their_bound(random_graph, make_graph):
    for graph in (random_graph(60, 400, 4), random_graph(50, 60, 5), make_graph(3, []), make_graph(4, [(0, 1)])):
        found = query_directly(graph, Params(), Sources.single(range(graph.n)), graph.n, exact=True, threads=2)
        for source in range(graph.n):
            truth = exact(graph, np.eye(graph.n)[source])
            nodes, scores = found.answer(source)
            assert np.abs(scores - truth[nodes]).max() <= 1e-9 + 1e-12
            assert np.delete(truth, nodes).max(initial=0) <= 1e-9
