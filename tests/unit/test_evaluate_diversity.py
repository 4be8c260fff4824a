"""The check of structural diversity: equal to NetworkX, and it finds every kind of mistake."""

import networkx as nx
import numpy as np
import pytest
from oracles import diversity as oracle

from gpukit.evaluate import diversity
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights

MODELS = ("comp", "core", "truss")


def graph_of(n, edges, undirected=True):
    u, v = np.array(edges, np.int64).reshape(-1, 2).T
    return build_graph(u, v, weights=Weights("none"), undirected=undirected, ids=False, n=n)


GRAPHS = [
    (0, []),
    (1, []),
    (5, []),
    (6, [(0, v) for v in range(1, 6)]),
    (8, [(u, v) for u in range(8) for v in range(u)]),
    (9, [(0, v) for v in range(1, 9)] + [(1, 2), (2, 3), (1, 3), (1, 4), (5, 6), (6, 7), (7, 8), (5, 8), (5, 7)]),
    *[(n, list(nx.gnp_random_graph(n, p, seed=n).edges)) for n, p in ((12, 0.5), (25, 0.35), (40, 0.3))],
    (60, list(nx.powerlaw_cluster_graph(60, 6, 0.8, seed=3).edges)),
]


def all_contexts(graph, model, k):
    found = [[] for _ in range(graph.n)]
    for part, circles in diversity.circles(graph, np.arange(graph.n), model, k):
        for row, owner in enumerate(circles.owners):
            found[part.start + owner].append(circles.members[circles.offsets[row] : circles.offsets[row + 1]].tolist())
    return found


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("batch", [1, 1 << 18])
def test_contexts_are_those_of_networkx(monkeypatch, model, batch):
    monkeypatch.setattr(diversity, "EGO_EDGES", batch)
    monkeypatch.setattr(diversity, "WEDGES", 1 << 22 if batch > 1 else 3)
    for n, edges in GRAPHS:
        graph = graph_of(n, edges)
        whole = oracle.as_networkx(graph)
        for k in range(2, 6):
            wanted = [oracle.contexts(whole, v, model, k) for v in range(n)]
            assert all_contexts(graph, model, k) == wanted, (n, k)


def test_lone_neighbours_are_components_of_one():
    graph = graph_of(6, [(0, v) for v in range(1, 6)])
    assert [len(one) for one in all_contexts(graph, "comp", 1)] == [5, 1, 1, 1, 1, 1]


def test_directions_are_ignored():
    n, edges = GRAPHS[-1]
    mixed = graph_of(n, [(u, v) if (u + v) % 2 else (v, u) for u, v in edges], undirected=False)
    assert all_contexts(mixed, "truss", 4) == all_contexts(graph_of(n, edges), "truss", 4)


@pytest.fixture
def answer():
    """Return a graph, and its ten vertices of most contexts with these."""
    graph = graph_of(60, list(nx.powerlaw_cluster_graph(60, 3, 0.8, seed=3).edges))
    contexts = all_contexts(graph, "truss", 3)
    scores = np.array([len(one) for one in contexts])
    best = np.argsort(-scores, kind="stable")[:10]
    assert scores[best[0]] > scores[best[-1]] > 0
    return graph, best, scores[best], [contexts[v] for v in best]


def judged(graph, *rest):
    return diversity.judge(graph, "truss", 3, *rest, np.arange(graph.n))


def test_a_right_answer_is_right(answer):
    graph, best, _, _ = answer
    verdict = judged(*answer)
    assert verdict.wrong == [] and (verdict.listed, verdict.checked) == (10, graph.n - 10)
    none = diversity.judge(graph, "truss", 3, *answer[1:], np.empty(0, np.int64))
    few = int((np.diff(graph.indptr) < 3).sum())
    assert none.wrong == [] and none.checked == few


def test_every_kind_of_mistake_is_found(answer):
    graph, best, scores, contexts = answer
    assert judged(graph, best, scores + (np.arange(10) == 3), contexts).wrong_scores == [best[3]]
    cut = [[one[:-1] for one in found] if place == 4 else found for place, found in enumerate(contexts)]
    assert judged(graph, best, scores, cut).wrong_contexts == [best[4]]
    fewer = [found[1:] if place == 0 else found for place, found in enumerate(contexts)]
    assert judged(graph, best, scores, fewer).wrong_contexts == [best[0]]
    swap = [1, 0, *range(2, 10)]
    swapped = judged(graph, best[swap], scores[swap], [contexts[place] for place in swap])
    assert swapped.misplaced == [best[1]] and swapped.wrong == [best[1]]
    # Without the second, the first of the others moves up; the second is what was missed.
    left = [0, *range(2, 10)]
    assert judged(graph, best[left], scores[left], [contexts[place] for place in left]).missed == [best[1]]
    twice = [0, 0, *range(2, 10)]
    assert judged(graph, best[twice], scores[twice], [contexts[place] for place in twice]).misplaced == [best[0]]
