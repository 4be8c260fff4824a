"""Baselines against the same rules applied step by step to every vertex, in exact fractions."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from oracles.worlds import edges

from gpukit.errors import InputError, UsageError
from gpukit.gim import Params, baselines
from gpukit.gim.baselines import degree, degree_discount, random, simple_rules
from gpukit.gim.problem import validate
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights


@pytest.fixture(autouse=True, params=["in all", "in few first"])
def pools(request, monkeypatch):
    """Seeds are looked for among all of these small graphs' vertices, or among a few at first; returns the pools."""
    tried = []
    if request.param == "in few first":
        monkeypatch.setattr(baselines, "FEW", 3)
        monkeypatch.setattr(baselines, "PER_SEED", 0)

    def listed(*asked, made=baselines._pools):
        for pool in made(*asked):
            tried.append(len(pool.vertices))
            yield pool

    monkeypatch.setattr(baselines, "_pools", listed)
    return tried


def _greedy(n, k, score, forced=(), barred=()):
    chosen = [int(v) for v in forced]
    while len(chosen) < k:
        left = (v for v in range(n) if v not in chosen and v not in barred)
        chosen.append(min(left, key=lambda v: (-score(v, chosen), v)))
    return chosen


def _printed(graph, k, p):
    around = [set(graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist()) for v in range(graph.n)]

    def score(v, chosen):
        d, t = len(around[v]), len(around[v] & set(chosen))
        return d - 2 * t - (d - t) * t * p

    return _greedy(graph.n, k, score)


def _general(graph, k, model="ic", weights=None, forced=(), barred=()):
    listed = edges(graph)
    counts = [1] * graph.n if weights is None else weights.tolist()

    def score(v, chosen):
        into = [p for u, w, p in listed if w == v and u in chosen]
        alone = prod((1 - p for p in into), start=Fraction(1)) if model == "ic" else 1 - sum(into)
        return alone * (counts[v] + sum(p * counts[w] for u, w, p in listed if u == v and w not in chosen))

    return _greedy(graph.n, k, score, forced, barred)


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


def test_a_pool_that_does_not_suffice_is_left_for_a_larger_one(random_graph, pools):
    """Discounts leave others ahead of the few that were best at first."""
    graph = random_graph(200, 1500, 4, Weights("const", 0.9))
    assert degree_discount(graph, 40).tolist() == _general(graph, 40)
    assert pools == [200] or (pools[0] < 40 < pools[-1] and pools == sorted(set(pools)))


def test_explicit_probabilities_without_transpose(make_graph):
    generator = np.random.default_rng(3)
    rows = [(int(u), int(v), float(p) / 64) for u, v, p in generator.integers(1, 20, (60, 3))]
    graph = make_graph(20, rows)
    bare = build_graph(*np.array(rows).T[:2].astype(int), w=np.array(rows)[:, 2], weights=Weights("file"),
                       ids=False, n=20, transpose=False)  # fmt: skip
    assert bare.in_indptr is None
    assert degree_discount(graph, 8).tolist() == degree_discount(bare, 8).tolist() == _general(graph, 8)


@pytest.mark.parametrize("model", ["ic", "lt"])
@pytest.mark.parametrize("key", range(6))
def test_the_rules_of_a_problem(make_graph, model, key):
    """Targets, forced and excluded vertices, both models; in-degrees of 1, 2 and 4 keep the fixed point exact."""
    generator = np.random.default_rng(key)
    rows = [(int(u), v) for v in range(30) for u in generator.permutation(30)[: 2 ** (v % 3)] if u != v]
    into = np.bincount([v for _, v in rows], minlength=30)
    graph = make_graph(30, [row for row in rows if into[row[1]] != 3], Weights("wc"))
    order = generator.permutation(30)
    weights = generator.integers(0, 9, 30) if key % 2 else None
    forced, barred = order[: key // 2], order[10 : 10 + 3 * (key // 3)]
    asked = Params(k=12, model=model, include=forced, exclude=barred, root_weights=weights)
    found = dict(simple_rules(validate(graph, asked)))
    assert all(seeds.dtype == np.int32 for seeds in found.values())
    assert found["degree-discount"].tolist() == _general(graph, 12, model, weights, forced, barred)
    counts = np.ones(30, int) if weights is None else weights
    degrees = [int(counts[graph.indices[graph.indptr[v] : graph.indptr[v + 1]]].sum()) for v in range(30)]
    assert found["degree"].tolist() == _greedy(30, 12, lambda v, _: degrees[v], forced, barred)
    assert list(found) == ["degree", "degree-discount"]


def test_a_problem_without_more_is_what_the_baselines_answer(random_graph):
    graph = random_graph(60, 200, 4, Weights("const", 0.1))
    (_, by_degree), (_, discounted) = simple_rules(validate(graph, Params(k=9)))
    assert by_degree.tolist() == degree(graph, 9).tolist()
    assert discounted.tolist() == degree_discount(graph, 9).tolist()


def test_no_rules_for_several_rounds_or_a_budget(random_graph):
    graph = random_graph(20, 60, 2)
    assert simple_rules(validate(graph, Params(k=2, rounds=3))) == []
    assert simple_rules(validate(graph, Params(budget=5))) == []


def test_heavy_targets_lose_low_bits_only(make_graph):
    """Weights whose sum has 63 bits: 2**61 at one vertex, and a vertex that reaches it counts as much as half."""
    weights = np.array([1, 2**61, 2**60, 2**59, 2**61 - 2**33])
    graph = make_graph(5, [(0, 1, 0.5), (2, 0, 1.0), (3, 4, 1.0)])
    assert degree_discount(graph, 5, weights=weights).tolist() == _general(graph, 5, weights=weights)


def test_hubs_do_not_overflow_the_printed_formula():
    """With p = 1 a hub beside the first choice is worse than its 2**17 leaves, and (d - t)·t·p outgrows 64 bits."""
    leaves, others, k = np.arange(2, 2**17 + 2), np.arange(2**17 + 2, 2**18 + 9), 50_000
    u = np.concatenate([np.ones_like(leaves), np.zeros_like(others), [0]])
    graph = build_graph(u, np.concatenate([leaves, others, [1]]), weights=Weights("const", 1.0), undirected=True)
    assert degree_discount(graph, k).tolist() == [0, *range(2, k + 1)]


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
