"""The judge of personalised PageRank: the power method against a dense solve, and each measure on hand-made answers."""

import numpy as np
import pytest
from oracles.ppr import exact, networkx_ppr

from gpukit.errors import UsageError
from gpukit.evaluate.ppr import judge, power_method


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
