"""kPAR with edge weights: against dense solves, networkx, fractions and a plain Python version."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from oracles.ppr import exact, kpar, networkx_ppr

from gpukit.errors import InputError
from gpukit.evaluate.ppr import judge, power_method
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Graph, Weights
from gpukit.graph.probabilities import edge_weights, parse_weights
from gpukit.kpar import Params, Prepared, Sources, build_index, query, rank
from gpukit.kpar.direct import query_directly
from gpukit.kpar.problem import ONE
from gpukit.kpar.rule import chosen_edge, part_of
from gpukit.kpar.weights import edge_chances
from gpukit.papers.kpar.baselines import fora, fora_index, monte_carlo
from gpukit.papers.kpar.query import query as watched

PARAMS = Params(weighted=True)


def prepare(graph, params=PARAMS, **options):
    return Prepared.of(graph, build_index(graph, rank(graph, params).order, params, **options))


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("offsets", "nodes", "scores"))


def weights_of(graph):
    return graph.probabilities.astype(np.float64) + 1


@pytest.fixture(scope="module")
def graph(make_graph):
    """A graph with dangling vertices and weights of very different size."""
    generator = np.random.default_rng(2)
    edges = generator.integers(0, 300, (1500, 2))
    edges = edges[edges[:, 0] % 17 > 0]
    weights = 10.0 ** -generator.uniform(0, 6, len(edges))
    return make_graph(300, np.column_stack([edges, weights]).tolist())


@pytest.fixture(scope="module")
def prepared(graph):
    return prepare(graph, seed=3)


SHAPES = {
    "star": [(0, i, 1 / i) for i in range(1, 12)] + [(i, 0, 0.5) for i in range(1, 7)],
    "clique": [(i, j, ((i * j) % 5 + 1) / 5) for i in range(12) for j in range(12) if i != j],
    "apart": [(i, (i + 1) % 6, 0.3) for i in range(6)]
    + [(6 + i, 6 + (i + d) % 6, 0.1 * d) for i in range(6) for d in (1, 2)],
    "path": [(i, i + 1, 0.01) for i in range(11)],
    "extreme": [(0, 1, 1.0), (0, 2, 2.0**-32), (1, 0, 1.0), (2, 0, 1e-9), (2, 3, 1e-9)],
}  # fmt: skip


@pytest.fixture(params=SHAPES)
def small(request, make_graph):
    return make_graph(12, SHAPES[request.param])


@pytest.mark.parametrize("shape", [lambda x: x, lambda x: x**9, lambda x: 1 - x**9, lambda x: x // 0.3 / 4])
def test_the_edge_that_a_word_takes(shape):
    """The first whose chance is above it, wherever the search begins: even, skewed and equal chances."""
    generator = np.random.default_rng(5)
    for degree in [1, 2, 3, 9, 100] * 40:
        upto = [int(x * 2.0**64 * (1 - 2.0**-52)) for x in np.sort(shape(generator.random(degree)))]
        row = np.array([7, 7, *upto[:-1], 0, 9], np.uint64)
        at = int(generator.choice(upto)) if degree % 2 else int(generator.integers(2**63)) * 2
        word = max(0, at - int(generator.integers(2)))
        first, last = 2, degree + 1
        expected = next((e for e in range(first, last) if word < row[e]), last)
        assert chosen_edge(row, first, last, np.uint64(word)) == expected


def test_products_are_those_of_whole_numbers():
    generator = np.random.default_rng(1)
    amounts = [0, 1, 2**32 - 1, 2**32, ONE] + [int(generator.integers(0, ONE)) >> int(s) for s in range(0, 60, 3)]
    chances = [0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1] + [int(x) for x in generator.integers(0, 2**64, 20, np.uint64)]
    for amount in amounts:
        for chance in chances:
            assert int(part_of.py_func(np.uint64(amount), np.uint64(chance))) == amount * chance >> 64


def test_chances_are_rounded_down_for_any_weights():
    """Quotients whose digits a first guess misses, too: weights of all sizes, the least and the most."""
    generator = np.random.default_rng(7)
    for length in (1, 2, 3, 17, 200):
        for bits in (1, 16, 31, 32):
            words = generator.integers(0, 2**bits, length, np.uint32, endpoint=False)
            words[generator.random(length) < 0.3] = generator.choice([0, 2**32 - 1])
            heads = np.arange(length, dtype=np.int32)
            graph = Graph(np.array([0, length]), heads, probabilities=words, weights=Weights("file"))
            weights = np.cumsum(words.astype(object) + 1)
            found = edge_chances(graph)
            assert found.tolist()[:-1] == [(int(upto) << 64) // int(weights[-1]) for upto in weights[:-1]]


def test_chances_are_sums_of_fractions(graph, small):
    for one in (graph, small):
        chances = edge_chances(one)
        for v in range(one.n):
            row = slice(one.indptr[v], one.indptr[v + 1])
            words = [int(word) + 1 for word in one.probabilities[row]]
            expected = [int(Fraction(sum(words[:i]), sum(words)) * 2**64) for i in range(1, len(words))]
            assert chances[row].tolist()[:-1] == expected


@pytest.mark.parametrize(
    ("scheme", "options", "says"),
    [
        ("none", {}, "no edge weights"),
        ("wc", {}, "1 / in-degree"),
        ("wc", {"parallel": "combine"}, "1 / in-degree"),
        ("const:0.25", {}, "all 0.25"),
        ("file", {"scale": "in-sum"}, "--scale in-sum"),
    ],
)
def test_what_is_no_weight_of_an_edge_is_refused(scheme, options, says):
    u, v = np.array([0, 0, 0, 1, 2]), np.array([1, 1, 2, 2, 0])
    w = np.arange(1.0, 6) if scheme == "file" else None
    one = build_graph(u, v, w=w, weights=parse_weights(scheme), **options)
    starts = (np.array([0, 1]), np.array([0]), np.ones(1))
    for work in (
        lambda: rank(one, PARAMS),
        lambda: build_index(one, np.arange(3), PARAMS),
        lambda: query_directly(one, PARAMS, Sources.single([0]), 1),
        lambda: next(power_method(one, *starts, 0.2, weighted=True)),
    ):
        with pytest.raises(InputError, match=says):
            work()


@pytest.mark.parametrize(("scheme", "options"), [
    ("file", {"scale": "max"}), ("uniform:0:1", {}), ("trivalency", {}), ("const:0.25", {"parallel": "combine"})
])  # fmt: skip
def test_what_edges_have_of_their_own_is_a_weight(scheme, options):
    u, v = np.array([0, 0, 0, 1, 2]), np.array([1, 1, 2, 2, 0])
    w = np.arange(1.0, 6) if scheme == "file" else None
    one = build_graph(u, v, w=w, weights=parse_weights(scheme), **options)
    assert np.array_equal(edge_weights(one), one.probabilities)


@pytest.mark.long
def test_truth_agrees_with_a_dense_solve_and_networkx(graph, small):
    for one in (graph, small):
        sources = Sources.single(range(0, one.n, 3))
        starts = (sources.offsets, sources.vertices, sources.mass / ONE)
        for v, found in zip(sources.vertices, power_method(one, *starts, 0.2, weighted=True), strict=True):
            start = np.eye(one.n)[v]
            assert found == pytest.approx(exact(one, start, weights=weights_of(one)), rel=1e-7, abs=2e-10)
            assert found == pytest.approx(networkx_ppr(one, start, weights=weights_of(one)), rel=1e-7, abs=1e-9)


def test_pagerank_agrees_with_networkx_and_sums_to_one(graph, small):
    for one in (graph, small):
        found = rank(one, PARAMS)
        assert sum(found.pagerank.tolist()) + found.remaining == ONE
        expected = networkx_ppr(one, np.full(one.n, 1 / one.n), weights=weights_of(one))
        np.testing.assert_allclose(found.pagerank / ONE, expected, atol=2e-10)


@pytest.mark.long
def test_walks_end_where_they_should(graph):
    index = build_index(graph, rank(graph, PARAMS).order, PARAMS, seed=8)
    expected, variance = np.zeros(graph.n), np.zeros(graph.n)
    for v in range(graph.n):
        pi = exact(graph, np.eye(graph.n)[v], weights=weights_of(graph))
        expected += index.walks[v] * pi
        variance += index.walks[v] * pi * (1 - pi)
    often = variance > 1
    z = (index.arrivals - expected)[often] / np.sqrt(variance[often])
    assert often.sum() > 200 and np.abs(z).max() < 5 and abs((z**2).mean() - 1) < 0.4
    assert index.arrivals.sum() == index.total


@pytest.mark.parametrize("k", [1, 10, 150])
def test_query_equals_the_plain_version(graph, prepared, k):
    sets = [Sources.single([v]) for v in (0, 7, 17, 100)] + [Sources.weighted([3, 1, 3, 8], [1, 5, 1, 10**6])]
    found = query(prepared, Sources.joined(sets), k)
    assert same(watched(prepared, Sources.joined(sets), k, watch=True), found)
    delta_min = float(prepared.constants.delta_min)
    for q, source in enumerate(sets):
        start = dict(zip(source.vertices.tolist(), source.mass.tolist(), strict=True))
        expected, steps = kpar(graph, prepared.index, found.schedule, delta_min, start, k)
        nodes, scores = found.nodes, found.scores.tolist()
        a, b = found.offsets[q], found.offsets[q + 1]
        assert list(zip(nodes[a:b].tolist(), scores[a:b], strict=True)) == expected and found.steps[q] == steps


def test_definition_1_holds(graph, prepared):
    sources = Sources.single(np.arange(graph.n))
    delta = float(prepared.constants.delta_min)
    for k, to_end, epsilon in ((5, False, 0.5), (50, False, 0.5), (50, True, 0.25)):
        found = query(prepared, sources, k, threads=2, to_end=to_end)
        starts = (sources.offsets, sources.vertices, sources.mass / ONE)
        truths = power_method(graph, *starts, 0.2, weighted=True)
        quality = judge(truths, found.offsets, found.nodes, found.scores / ONE, k, epsilon=epsilon, delta=delta)
        assert quality.violations == 0 and quality.positions > 700
        assert quality.precision > 0.95 and quality.ndcg > 0.999
        plain = judge(
            power_method(graph, *starts, 0.2), found.offsets, found.nodes, found.scores / ONE, k,
            epsilon=epsilon, delta=delta,
        )  # fmt: skip
        assert plain.violations > 100, "weights make no difference on this graph"


def test_answers_depend_on_neither_threads_nor_batches_nor_rows(graph, prepared):
    sources = Sources.single(np.arange(40))
    whole = query(prepared, sources, 25)
    assert same(query(prepared, sources, 25, threads=3), whole)
    for v in range(0, 40, 7):
        one, answer = query(prepared, Sources.single([v]), 25), whole.answer(v)
        assert np.array_equal(one.nodes, answer[0]) and np.array_equal(one.answer(0)[1], answer[1])
    order = rank(graph, PARAMS).order
    for options in ({"threads": 3}, {"memory": 0}, {"memory": 0, "threads": 2}):
        assert same(query(Prepared.of(graph, build_index(graph, order, PARAMS, seed=3, **options)), sources, 25), whole)


def test_small_shapes_are_close_to_the_truth(small):
    found = watched(prepare(small), Sources.single(range(12)), 12, to_end=True, watch=True)
    assert same(query(prepare(small), Sources.single(range(12)), 12, to_end=True), found)
    for source in range(12):
        truth = exact(small, np.eye(12)[source], weights=weights_of(small))
        nodes, scores = found.answer(source)
        assert set(np.flatnonzero(truth > 0.01)) <= set(nodes.tolist()) <= set(np.flatnonzero(truth).tolist())
        assert np.abs(scores - truth[nodes]).max() < 0.01


def test_equal_weights_are_no_weights(random_graph):
    plain = random_graph(60, 300, 4)
    one = replace(plain, weights=Weights("file"), probabilities=np.full(plain.m, 2**30, np.uint32))
    weighted, plain = rank(one, PARAMS), rank(one)
    np.testing.assert_allclose(weighted.pagerank / ONE, plain.pagerank / ONE, atol=1e-15)
    found = query(prepare(one), Sources.single([3]), 60, to_end=True)
    nodes, scores = found.answer(0)
    assert np.abs(scores - exact(one, np.eye(60)[3])[nodes]).max() < 0.01


def test_last_resort_loses_no_mass(graph, prepared):
    found = watched(prepared, Sources.single(np.arange(40)), graph.n, resort=True)
    sums = [int(found.scores[a:b].sum()) for a, b in zip(found.offsets, found.offsets[1:], strict=False)]
    assert any(trace[-1, 7] == 2 for trace in found.traces) and max(sums) == ONE


@pytest.mark.parametrize("method", ["monte-carlo", "fora"])
def test_baselines_are_close_to_the_truth(graph, method):
    sources = Sources.joined([Sources.single([7]), Sources.weighted([1, 2], [1, 3])])

    def ask(k, threads):
        if method == "fora":
            return fora(graph, fora_index(graph, PARAMS, seed=1, threads=threads), sources, k, threads=threads)
        return monte_carlo(graph, sources, k, PARAMS, threads=threads, seed=1)

    found = ask(graph.n, 2)
    assert same(found, ask(graph.n, 1))
    start = np.zeros(graph.n)
    start[[1, 2]] = 0.25, 0.75
    for q, distribution in enumerate((np.eye(graph.n)[7], start)):
        nodes, scores = found.answer(q)
        truth = exact(graph, distribution, weights=weights_of(graph))
        assert np.abs(scores - truth[nodes]).max() < 0.02 and scores.sum() == pytest.approx(1, abs=1e-15)
