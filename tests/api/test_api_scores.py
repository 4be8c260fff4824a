"""Scores of all vertices, against NetworkX, igraph where it is installed, and a dense solve."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import gpukit as gk

pytestmark = pytest.mark.long


def retrieval(seed, n=400, directed=False):
    """Return a weighted graph as retrieval makes them, and a reset vector that is mostly 0."""
    generator = np.random.default_rng(seed)
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(n))
    for u, v in zip(generator.integers(0, n, 4 * n) ** 2 // n, generator.integers(0, n, 4 * n), strict=True):
        if u != v:
            graph.add_edge(int(u), int(v), weight=float(generator.choice([1.0, 0.8, generator.uniform(0, 30)])))
    reset = np.where(generator.random(n) < 0.03, generator.random(n), 0)
    reset[seed] = 0.1
    return graph, reset / reset.sum()


def dense(graph, reset, damping):
    """Return the stationary distribution of a walk that starts again where it is stuck, by a dense solve."""
    weights = nx.to_numpy_array(graph, weight="weight")
    sums = weights.sum(axis=1)
    step = np.where(sums[:, None] > 0, weights / np.where(sums, sums, 1)[:, None], reset)
    return np.linalg.solve(np.eye(len(reset)) - damping * step.T, (1 - damping) * reset)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("damping", [0.5, 0.85])
def test_scores_are_those_of_networkx_and_of_a_solve(directed, damping):
    graph, reset = retrieval(1, directed=directed)
    assert not directed or min(dict(graph.out_degree()).values()) == 0
    found = gk.personalized_pagerank(graph, damping=damping, reset=dict(enumerate(reset.tolist())), weights="weight")
    assert list(found) == list(range(400)) and sum(found.values()) == pytest.approx(1, abs=1e-12)
    assert np.abs(np.array(list(found.values())) - dense(graph, reset, damping)).max() < 2e-10
    theirs = nx.pagerank(graph, alpha=damping, personalization=dict(enumerate(reset)), tol=1e-12, max_iter=1000)
    assert max(abs(found[v] - theirs[v]) for v in graph) < 1e-9
    alike = gk.personalized_pagerank(graph, damping=damping)
    theirs = nx.pagerank(graph, alpha=damping, weight=None, tol=1e-12, max_iter=1000)
    assert max(abs(alike[v] - theirs[v]) for v in graph) < 1e-9


def test_all_kinds_of_graphs_give_the_same():
    graph, reset = retrieval(2, 60)
    wanted = gk.personalized_pagerank(graph, reset={3: 1}, weights="weight")
    u, v, w = zip(*graph.edges(data="weight"), strict=True)
    frame = pd.DataFrame({"source": u, "target": v, "weight": w})
    both = pd.concat([frame, frame.rename(columns={"source": "target", "target": "source"})])
    made = gk.from_edges(u, v, w, undirected=True, vertices=60, scale="max")
    for other, weights in (
        (nx.to_scipy_sparse_array(graph, weight="weight"), "weight"), (made, "file"), (both, "weight"),
    ):  # fmt: skip
        found = gk.personalized_pagerank(other, reset={3: 1}, weights=weights)
        assert all(abs(found[name] - wanted[name]) < 1e-9 for name in found)
    listed = [float(one == 3) for one in range(60)]
    assert gk.personalized_pagerank(made, reset=listed, weights="file") == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_the_top_20_are_those_of_prpack(seed):
    """Up to entries within 1e-6 of each other."""
    igraph = pytest.importorskip("igraph")
    graph, reset = retrieval(seed)
    other = igraph.Graph(n=400, edges=list(graph.edges))
    other.es["weight"] = [weight for _, _, weight in graph.edges(data="weight")]
    theirs = np.array(other.personalized_pagerank(damping=0.5, reset=reset.tolist(), weights="weight"))
    ours = np.array(list(gk.personalized_pagerank(other, damping=0.5, reset=reset.tolist(), weights="weight").values()))
    assert np.abs(ours - theirs).max() < 1e-8
    best = np.argsort(-ours, kind="stable")[:20]
    assert np.all(theirs[best] >= np.sort(theirs)[-20] - 1e-6)


@pytest.mark.parametrize(("options", "says"), [
    ({"reset": {0: 0, 1: 0}}, "none above"), ({"reset": {0: -1, 1: 2}}, "weights below 0"),
    ({"reset": {9: 1}}, "vertex 9"),
    ({"reset": [1, 0]}, r"give \{vertex: weight\}"), ({"reset": 5}, "give"),
    ({"reset": {0: "1"}}, "a number is needed"),
    ({"damping": 1}, "damping"), ({"weights": "strength"}, "strength"), ({"k": 3}, "go with a source"),
    ({"source": 0, "reset": {0: 1}}, "leave the source out"),
])  # fmt: skip
def test_what_is_refused(options, says):
    graph = nx.path_graph(3)
    with pytest.raises(gk.errors.GpukitError, match=says):
        gk.personalized_pagerank(graph, **options)


def test_loops_are_refused():
    with pytest.raises(gk.errors.InputError, match="2 loops"):
        gk.personalized_pagerank(csr_array([[1, 1], [0, 1]]), reset={0: 1})
