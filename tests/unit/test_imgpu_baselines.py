"""Greedy choice by simulation against trying every vertex, and PMIA where it is exact."""

import numpy as np
import pytest
from oracles.reach import greedy
from oracles.worlds import spread
from test_imgpu_reach import arcs_of

from gpukit.errors import InputError, UsageError
from gpukit.evaluate import forward_spread
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.papers.imgpu.baselines import celf, esmce, mix_greedy, new_greedy, pmia
from gpukit.worlds.blocks import prepare_blocks


def by_trying(n, k, value):
    seeds = []
    for _ in range(k):
        seeds.append(max((v for v in range(n) if v not in seeds), key=lambda v: (value([*seeds, v]), -v)))
    return seeds


def test_celf_is_greedy_over_its_cascades(random_graph):
    """Marginal gains over the same cascades never grow, so lazy evaluation chooses as full evaluation does."""
    graph = random_graph(25, 70, 1, Weights("const", 0.2))
    expected = by_trying(25, 5, lambda seeds: forward_spread(graph, seeds, runs=300, seed=4).total)
    assert celf(graph, 5, 300, 4).tolist() == expected
    assert esmce(graph, 5, 300, 4, error=0.0).tolist() == expected
    rough = esmce(graph, 5, 300, 4, error=0.5)
    assert len(set(rough.tolist())) == 5


@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("kind", ["directed", "undirected"])
def test_new_greedy_and_mix_greedy(random_graph, kind, skip):
    if kind == "directed":
        graph = random_graph(30, 90, 2, Weights("const", 0.2))
    else:
        u, v = np.random.default_rng(2).integers(0, 30, (2, 50))
        graph = build_graph(u, v, weights=Weights("const", 0.2), undirected=True, ids=False, n=30)
    ready, k, runs = prepare_blocks(graph, skip=skip), 3, 25
    worlds = [arcs_of(ready, 6, id_) for id_ in range(runs * k)]
    expected, _ = greedy(graph.n, worlds, k, True)
    assert new_greedy(graph, k, runs, 6, skip=skip).tolist() == expected
    mixed = mix_greedy(graph, k, runs, 6, skip=skip)
    assert mixed[0] == expected[0] and len(set(mixed.tolist())) == k


@pytest.mark.parametrize("key", range(4))
def test_pmia_is_exact_on_trees(make_graph, key):
    """With one path at most between any two vertices, influence along paths is all there is."""
    generator = np.random.default_rng(key)
    edges = []
    for v in range(1, 9):
        u = int(generator.integers(0, v))
        edges.append((u, v) if generator.random() < 0.5 else (v, u))
    graph = make_graph(9, edges, Weights("const", 0.5))
    chosen = pmia(graph, 4, threshold=1e-6).tolist()
    for i in range(4):
        best = max(spread(graph, [*chosen[:i], v], "ic") for v in range(9))
        assert spread(graph, chosen[: i + 1], "ic") == best


def test_pmia_gives_up_improbable_paths(make_graph):
    """0 reaches five vertices in two steps, 6 reaches two in one: which is better is a matter of the threshold."""
    edges = [(0, 1), *((1, v) for v in range(2, 6)), (6, 7), (6, 8)]
    graph = make_graph(9, edges, Weights("const", 0.5))
    assert pmia(graph, 2, threshold=0.01).tolist() == [1, 6]
    assert pmia(graph, 1, threshold=0.6).tolist() == [0]
    chain = make_graph(6, [(0, 1), (1, 2), (2, 3), (4, 5), (4, 3)], Weights("const", 0.9))
    assert pmia(chain, 1, threshold=0.5).tolist() == [0]
    assert pmia(chain, 1, threshold=0.85).tolist() == [4]


def test_pmia_sees_a_certain_edge(make_graph):
    """Probability 1, twice into one vertex, once a seed is chosen: no division by zero, the rest is chosen well."""
    graph = make_graph(6, [(0, 2), (1, 2), (2, 3), (4, 3), (4, 5)], Weights("const", 1.0))
    chosen = pmia(graph, 3).tolist()
    assert chosen[:2] == [0, 4] and chosen[2] == 1


def test_wrong_parameters(random_graph, make_graph):
    graph = random_graph(10, 20, 1, Weights("const", 0.2))
    for method in (lambda g, k: celf(g, k, 5), lambda g, k: new_greedy(g, k, 5), lambda g, k: mix_greedy(g, k, 5),
                   lambda g, k: esmce(g, k, 5), pmia):  # fmt: skip
        with pytest.raises(UsageError, match="k is 0"):
            method(graph, 0)
        with pytest.raises(InputError, match="no edges"):
            method(make_graph(3, []), 1)
        with pytest.raises(InputError, match="no edge probabilities"):
            method(make_graph(2, [(0, 1)], Weights("none")), 1)
