"""The benchmark of rivals of kPAR: exact scores where walks return to the source, and the share of right answers."""

import numpy as np
import ppr_rivals
import pytest

from gpukit.evaluate.ppr import power_method
from gpukit.graph.csr import Weights


@pytest.mark.parametrize("alpha", [0.2, 0.05])
def test_walks_that_return_to_the_source(make_graph, alpha):
    """Scores of all sources with out-edges, against the stationary distribution of the chain with restarts."""
    graph = make_graph(6, [(0, 1), (0, 2), (1, 2), (2, 0), (2, 3), (1, 4), (4, 5)], Weights("none"))
    ends = np.flatnonzero(np.diff(graph.indptr) == 0)
    assert ends.tolist() == [3, 5]
    sources = np.array([0, 1, 2, 4])
    exact = np.array(list(power_method(graph, np.arange(5), sources, np.ones(4), alpha)))
    found = ppr_rivals.returning(graph, exact, alpha)
    for source, row in zip(sources, found, strict=True):
        step = np.zeros((6, 6))
        for u in range(6):
            heads = graph.indices[graph.indptr[u] : graph.indptr[u + 1]]
            step[u, heads if len(heads) else [source]] = 1 / max(len(heads), 1)
        start = np.eye(6)[source]
        expected = alpha * np.linalg.solve(np.eye(6) - (1 - alpha) * step.T, start)
        assert row == pytest.approx(expected, abs=1e-9)


def test_right_answers():
    exact = np.array([[0.4, 0.3, 0.1, 0.1, 0.1, 0.0], [0.9, 0.1, 0.0, 0.0, 0.0, 0.0]])
    answers = [np.array([0, 2, 4]), np.array([0, 5])]
    assert ppr_rivals.right(exact, answers, 3) == (1 + 1 / 2) / 2  # ties are right; row 2 has two
    assert ppr_rivals.right(exact, answers, 2) == (1 / 2 + 1 / 2) / 2
    best = ppr_rivals.ordered(exact, 3)
    assert [one.tolist() for one in best] == [[0, 1, 2], [0, 1]]
