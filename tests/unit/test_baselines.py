"""Baselines against the same rules applied step by step to every vertex, in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from oracles.worlds import edges

from gpukit.errors import InputError, UsageError
from gpukit.gim.baselines import degree, degree_discount, random
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights


def _greedy(n, k, score):
    chosen = []
    for _ in range(k):
        chosen.append(min((v for v in range(n) if v not in chosen), key=lambda v: (-score(v, chosen), v)))
    return chosen


def _printed(graph, k, p):
    around = [set(graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist()) for v in range(graph.n)]

    def score(v, chosen):
        d, t = len(around[v]), len(around[v] & set(chosen))
        return d - 2 * t - (d - t) * t * p

    return _greedy(graph.n, k, score)


def _general(graph, k):
    listed = edges(graph)

    def score(v, chosen):
        alone, gain = Fraction(1), Fraction(1)
        for u, w, p in listed:
            alone *= 1 - p if w == v and u in chosen else 1
            gain += p if u == v and w not in chosen else 0
        return alone * gain

    return _greedy(graph.n, k, score)


def test_degree_prefers_lower_ids(make_graph):
    graph = make_graph(5, [(1, 0), (1, 2), (3, 0), (3, 4), (4, 0)])
    assert degree(graph, 5).tolist() == [1, 3, 4, 0, 2]


@pytest.mark.parametrize("key", range(3))
def test_printed_formula_on_undirected_graphs(key):
    generator = np.random.default_rng(key)
    u, v = generator.integers(0, 30, (2, 70))
    graph = build_graph(u, v, weights=Weights("const", 0.125), undirected=True, ids=False, n=30)
    assert degree_discount(graph, 12).tolist() == _printed(graph, 12, Fraction(1, 8))


def test_printed_formula_when_keys_rise():
    """In a clique with p = 1 the printed expression falls and then rises again with t."""
    u, v = np.triu_indices(9, 1)
    graph = build_graph(u, v, weights=Weights("const", 1.0), undirected=True, ids=False, n=10)
    assert degree_discount(graph, 10).tolist() == _printed(graph, 10, Fraction(1))


@pytest.mark.parametrize("key", range(3))
def test_general_formula_on_directed_graphs(random_graph, make_graph, key):
    """Probabilities are powers of two, so that fixed point is exact and ties are the same."""
    graph = random_graph(25, 60, key, Weights("const", 0.25))
    assert degree_discount(graph, 10).tolist() == _general(graph, 10)
    generator = np.random.default_rng(key)
    rows = [(u, v) for v in range(25) for u in generator.permutation(25)[: 2 ** (v % 3) + 1] if u != v]
    graph = make_graph(25, [(u, v) for v in range(25) for u in [w for w, x in rows if x == v][: 2 ** (v % 3)]])
    assert degree_discount(graph, 10).tolist() == _general(graph, 10)


def test_explicit_probabilities_without_transpose(make_graph):
    generator = np.random.default_rng(3)
    rows = [(int(u), int(v), float(p) / 64) for u, v, p in generator.integers(1, 20, (60, 3))]
    graph = make_graph(20, rows)
    bare = build_graph(*np.array(rows).T[:2].astype(int), w=np.array(rows)[:, 2], weights=Weights("file"),
                       ids=False, n=20, transpose=False)  # fmt: skip
    assert bare.in_indptr is None
    assert degree_discount(graph, 8).tolist() == degree_discount(bare, 8).tolist() == _general(graph, 8)


def test_random_is_a_keyed_permutation(random_graph):
    graph = random_graph(50, 80, 1)
    every = random(graph, 50, seed=9)
    assert sorted(every.tolist()) == list(range(50))
    assert random(graph, 7, seed=9).tolist() == every[:7].tolist()
    assert random(graph, 50, seed=10).tolist() != every.tolist()


def test_random_is_uniform(random_graph):
    """First picks over 2,000 seeds follow the uniform distribution (Bernstein, false alarm 1e-6)."""
    from oracles.statistics import check_cells

    graph = random_graph(8, 10, 1)
    firsts = [int(random(graph, 1, seed=s)[0]) for s in range(2000)]
    check_cells({v: firsts.count(v) for v in range(8)}, dict.fromkeys(range(8), Fraction(1, 8)))


def test_edge_cases(make_graph):
    lonely = make_graph(3, [])
    for method in (degree, degree_discount, random):
        assert sorted(method(lonely, 3).tolist()) == [0, 1, 2]
        for k in (0, 4):
            with pytest.raises(UsageError, match="k ="):
                method(lonely, k)
    with pytest.raises(InputError, match="no edge probabilities"):
        degree_discount(make_graph(2, [(0, 1)], Weights("none")), 1)
