"""Shapes of traversals, compared with networkx on the whole graph and on worlds listed arc by arc."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from test_imgpu_reach import arcs_of

from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.papers.imgpu.shape import BINS, NEAR, describe
from gpukit.worlds.blocks import prepare_blocks


def skewed(n=60, m=200, undirected=False, weights=None):
    u, v = np.random.default_rng(5).integers(0, n, (2, m))
    return build_graph(u // 3, v, weights=weights or Weights("const", 0.3), undirected=undirected, ids=False, n=n)


def levels_of(graph, arcs):
    """Return the level of each vertex, and of each component that has arcs."""
    whole = nx.DiGraph(list(arcs))
    dag = nx.condensation(whole)
    above = {}
    for c in reversed(list(nx.topological_sort(dag))):
        above[c] = max((above[d] + 1 for d in dag.successors(c)), default=0)
    level = [0] * graph.n
    for v, c in dag.graph["mapping"].items():
        level[v] = above[c]
    return level, list(above.values())


def pairs_kept(before, now):
    alike = [(u, v) for u, v in combinations(range(len(before)), 2) if before[u] == before[v]]
    return sum(now[u] == now[v] for u, v in alike) / len(alike)


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("weights", [Weights("const", 0.3), Weights()], ids=str)
def test_shape_is_that_of_networkx(undirected, weights):
    graph = skewed(undirected=undirected, weights=weights)
    rows = [graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist() for v in range(graph.n)]
    everything = [(u, v) for u, row in enumerate(rows) for v in row]
    degree = [len(row) for row in rows]
    level, components = levels_of(graph, everything)
    found = describe(graph, 7, 5)
    assert found.levels.tolist() == np.bincount(components).tolist()
    assert found.degrees.sum() == graph.n and found.degrees[0] == degree.count(0)
    for place, count in enumerate(found.degrees[1:].tolist()):
        assert count == sum(2**place <= d < 2 ** (place + 1) for d in degree)
    assert (found.below_10, found.above_10000) == (sum(d < 10 for d in degree), 0)
    by_degree, by_level = [], []
    for world in range(5):
        live = arcs_of(prepare_blocks(graph, pairs=False), 7, world)
        by_degree.append(pairs_kept(degree, [sum(u == v for u, _ in live) for v in range(graph.n)]))
        by_level.append(pairs_kept(level, levels_of(graph, live)[0]))
    assert found.same_degree == pytest.approx(np.mean(by_degree))
    assert found.same_level == pytest.approx(np.mean(by_level))
    assert 0 <= found.dag_share <= 1
    order = sorted(range(graph.n), key=lambda v: (level[v], degree[v], v))
    best = sorted(range(graph.n), key=lambda v: (-degree[v], v))[:5]
    assert [hub.vertex for hub in found.hubs] == best
    for hub in found.hubs:
        places = sorted(order.index(v) for v in rows[hub.vertex])
        assert hub.children.tolist() == [sum(p * BINS // graph.n == part for p in places) for part in range(BINS)]
        close = [b - a <= NEAR for a, b in zip(places, places[1:], strict=False)]
        assert hub.near == pytest.approx(sum(close) / len(close))


def test_a_path_has_a_level_a_vertex_and_nothing_to_compare():
    path = build_graph(np.arange(3), np.arange(1, 4), weights=Weights("const", 1.0), ids=False, n=4)
    found = describe(path, 0, 2)
    assert found.levels.tolist() == [1, 1, 1, 1]
    assert found.same_degree == found.same_level == 1
    assert [hub.children.sum() for hub in found.hubs] == [1, 1, 1, 0] and all(hub.near == 0 for hub in found.hubs)
