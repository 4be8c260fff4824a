"""The judge of personalised PageRank: the power method against a dense solve, and each measure on hand-made answers."""

from fractions import Fraction

import numpy as np
import pytest
from oracles.ppr import exact, networkx_ppr

from gpukit.errors import UsageError
from gpukit.evaluate.ppr import certified, judge, power_method, top


def test_power_method_agrees_with_a_dense_solve_and_networkx(random_graph):
    graph = random_graph(80, 160, 2)
    assert (np.diff(graph.indptr) == 0).any()
    start = np.zeros(80)
    start[[3, 4]] = 0.3, 0.7
    offsets = np.arange(22)
    offsets[-1] = 22
    vertices, mass = np.array([*range(20), 3, 4]), np.array([1.0] * 20 + [0.3, 0.7])
    found = list(power_method(graph, offsets, vertices, mass, 0.2))
    assert len(found) == 21
    for v in range(20):
        np.testing.assert_allclose(found[v], exact(graph, np.eye(80)[v]), atol=2e-10)
    np.testing.assert_allclose(found[20], networkx_ppr(graph, start), atol=2e-10)
    done: list[tuple[int, int]] = []
    for threads in (2, 3):
        again = power_method(graph, offsets, vertices, mass, 0.2, threads=threads, progress=lambda *at: done.append(at))
        assert all(np.array_equal(one, other) for one, other in zip(found, again, strict=True)), "to the bit"
    assert done == 2 * [(q, 21) for q in range(1, 22)]


def _judge(truth, nodes, scores, k, **more):
    values = {"epsilon": 0.5, "delta": 0.05, **more}
    offsets = np.array([0, len(nodes)])
    return judge(iter([np.array(truth)]), offsets, np.array(nodes, int), np.array(scores, float), k, **values)


TRUTH = [0.4, 0.3, 0.2, 0.06, 0.04, 0.0]


def test_perfect_answer():
    found = _judge(TRUTH, [0, 1, 2], [0.4, 0.3, 0.2], 3)
    assert (found.precision, found.ndcg, found.violations, found.positions) == (1, pytest.approx(1), 0, 3)
    assert found.max_error == 0


def test_wrong_vertex_wrong_score_and_missing_place():
    assert _judge(TRUTH, [0, 1, 4], [0.4, 0.3, 0.04], 3).violations == 1  # equation (2) at place 3
    assert _judge(TRUTH, [0, 1, 2], [0.4, 0.3, 0.31], 3).violations == 1  # equation (1) at place 3
    short = _judge(TRUTH, [0, 1], [0.4, 0.3], 3)
    assert (short.violations, short.precision) == (1, pytest.approx(2 / 3))
    assert _judge(TRUTH, [0, 1, 4], [0.4, 0.3, 0.04], 3, delta=0.25).violations == 0
    gain = 0.4 + 0.3 / np.log2(3)
    assert short.ndcg == pytest.approx(gain / (gain + 0.1))


def test_ties_are_hits_and_precision_divides_by_what_can_be_reached():
    found = _judge([0.4, 0.2, 0.2, 0.2, 0, 0], [0, 3], [0.4, 0.2], 2)
    assert (found.precision, found.ndcg) == (1, pytest.approx(1))
    assert _judge(TRUTH, [0, 1, 2, 3, 4], TRUTH[:5], 6).precision == 1


def test_no_answers():
    with pytest.raises(UsageError):
        judge(iter([]), np.array([0]), np.array([], int), np.array([]), 1, epsilon=0.5, delta=0.1)


def solved(graph, start, alpha):
    """Return π in fractions, by elimination."""
    n = graph.n
    rows = [graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist() for v in range(n)]
    words = None if graph.probabilities is None else (graph.probabilities.astype(object) + 1).tolist()
    table = [[Fraction(int(u == v)) for u in range(n)] + [start.get(v, Fraction(0))] for v in range(n)]
    for v, heads in enumerate(rows):
        weights = [1] * len(heads) if words is None else words[graph.indptr[v] : graph.indptr[v + 1]]
        for head, weight in zip(heads, weights, strict=True):
            table[head][v] -= (1 - alpha) * Fraction(weight, sum(weights))
    for v in range(n):
        table[v] = [one / table[v][v] for one in table[v]]
        for u in range(n):
            if u != v and table[u][v]:
                table[u] = [a - table[u][v] * b for a, b in zip(table[u], table[v], strict=True)]
    return [row[n] * (alpha if heads else 1) for row, heads in zip(table, rows, strict=True)]


def test_certified_answers_are_the_true_ones_ties_included(make_graph):
    """Random graphs, many of them with symmetries, against fractions; 2,000 of them were right."""
    generator, ties = np.random.default_rng(7), 0
    for _ in range(200):
        n = int(generator.integers(1, 8))
        pairs = generator.integers(0, n, (int(generator.integers(0, 2 * n + 1)), 2)).tolist()
        kind = int(generator.integers(0, 4))
        if kind == 1:
            pairs += [pair[::-1] for pair in pairs]
        weighted = kind == 2 and any(u != v for u, v in pairs)
        edges = [(u, v, float(generator.choice([0.5, 0.25, 1]))) for u, v in pairs] if weighted else pairs
        graph = make_graph(n, edges if kind < 3 else [(v, (v + 1) % n) for v in range(n)])
        alpha, k = float(generator.choice([0.2, 0.5])), int(generator.integers(1, n + 1))
        sources = np.unique(generator.integers(0, n, 2))
        mass = np.full(len(sources), 1 / len(sources))
        among = generator.random(n) < 0.7 if generator.random() < 0.3 else None
        wanted = solved(graph, {v: Fraction(1, len(sources)) for v in sources.tolist()}, Fraction(str(alpha)))
        named = [v for v in range(n) if wanted[v] > 0 and (among is None or among[v])]
        order = sorted(named, key=lambda v: (-wanted[v], v))
        (found,) = certified(
            graph, np.array([0, len(sources)]), sources, mass, alpha, k, weighted=weighted, among=among
        )
        assert found.vertices.tolist() == order[:k]
        assert all(abs(float(wanted[v]) - s) <= found.error for v, s in zip(order, found.scores.tolist(), strict=False))
        tied = sorted(v for v in order[k:] if wanted[v] == wanted[order[k - 1]])
        assert found.tied.tolist() == tied
        assert found.certain.tolist() == [not tied or wanted[v] != wanted[order[k - 1]] for v in order[:k]]
        ties += bool(tied)
    assert ties > 10


def test_certified_answers_stop_early_where_they_can(random_graph):
    graph = random_graph(200, 1500, 5)
    (best,) = certified(graph, np.array([0, 1]), np.array([3]), np.ones(1), 0.2, 1)
    (vector,) = power_method(graph, np.array([0, 1]), np.array([3]), np.ones(1), 0.2)
    assert best.error > 1e-6 and best.vertices[0] == vector.argmax() and best.certain.all()
    (most,) = certified(graph, np.array([0, 1]), np.array([3]), np.ones(1), 0.2, 200)
    assert most.error < 1e-11 and np.abs(most.scores - vector[most.vertices]).max() < 1e-9
    assert np.array_equal(most.vertices, top(vector, 200))
