"""Reach of every vertex against a search from every vertex, in hundreds of worlds, sparse to supercritical."""

import numpy as np
import pytest
from oracles.reach import marginal_reach

from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.imgpu import reach_cpu
from gpukit.imgpu.levels_cpu import nodes_per_level
from gpukit.imgpu.world import Arcs
from gpukit.imgpu.world_cpu import draw
from gpukit.imgpu.worlds_cpu import CpuWorlds
from gpukit.papers.imgpu import levels_cpu
from gpukit.papers.imgpu.switches import Switches
from gpukit.worlds.blocks import prepare_blocks


def arcs_of(ready, seed, id_):
    """The live arcs of a world, both directions where one coin decides them."""
    out = np.empty(ready.most_live + 64, np.uint32)
    places = out[: draw(Arcs.of(ready), np.uint64(seed), id_, out)]
    assert np.all(np.diff(places.astype(np.int64)) > 0)
    arcs = list(zip(ready.tails[places].tolist(), ready.heads[places].tolist(), strict=True))
    return arcs + [(v, u) for u, v in arcs] if ready.paired else arcs


LEVELS = [
    {"counting": levels_cpu, "how": how}
    for how in (
        Switches(),
        Switches(combine=True),
        Switches(reorder=True, unroll=1),
        Switches(combine=True, reorder=True, unroll=4),
    )
]


def check(graph, worlds, seeds=(), pairs=True, **options):
    ready = prepare_blocks(graph, pairs=pairs)
    ways = [CpuWorlds(ready, 3, **one) for one in ([options] if options else [{}, *LEVELS])]
    for id_ in range(worlds):
        expected = marginal_reach(graph.n, arcs_of(ready, 3, id_), seeds)
        for found in ways:
            assert found.gains(id_, 1, list(seeds)).tolist() == expected, id_


@pytest.mark.parametrize("p", [0.03, 0.1, 0.3, 0.6, 1.0])
@pytest.mark.parametrize(("n", "m"), [(40, 60), (60, 200), (30, 500)])
def test_random_worlds(random_graph, n, m, p):
    """From a few live arcs to one component of nearly all vertices, cyclic, with and without seeds."""
    graph = random_graph(n, m, 7, Weights("const", p))
    check(graph, 12)
    check(graph, 6, [3, 11, 4])


def acyclic(make_graph, key, p):
    pairs = np.sort(np.random.default_rng(key).integers(0, 70, (400, 2)), axis=1)
    return make_graph(70, pairs[pairs[:, 0] < pairs[:, 1]].tolist(), Weights("const", p))


@pytest.mark.parametrize("key", range(8))
def test_acyclic_worlds(make_graph, key):
    """Many joins above joins: no component has two members, labels grow long."""
    check(acyclic(make_graph, key, 0.2 + 0.1 * key), 5)


@pytest.mark.parametrize("scheme", [Weights(), Weights("trivalency", seed=2)])
def test_other_probabilities(random_graph, scheme):
    check(random_graph(50, 400, 5, scheme), 25, [7])


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1)],
        [(0, v) for v in range(1, 20)],
        [(v, 0) for v in range(1, 20)],
        [(u, v) for u in range(9) for v in range(9) if u != v],
        [(v, v + 1) for v in range(19)],
        [(v, (v + 1) % 20) for v in range(20)],
        [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6)],
        [(0, 1), (1, 0), (0, 2), (1, 2), (2, 3), (3, 2), (4, 2), (4, 3), (5, 4)],
    ],
    ids=["edge", "star", "into", "clique", "path", "cycle", "diamonds", "parallel"],
)
@pytest.mark.parametrize("p", [0.5, 1.0])
def test_shapes(make_graph, edges, p):
    check(make_graph(21, edges, Weights("const", p)), 8)
    check(make_graph(21, edges, Weights("const", p)), 8, [20, 1])


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("p", [0.1, 0.4])
def test_undirected_graphs(pairs, p):
    """One coin an edge and components, or two coins and searches; each right for its own worlds."""
    u, v = np.random.default_rng(4).integers(0, 50, (2, 110))
    graph = build_graph(u, v, weights=Weights("const", p), undirected=True, ids=False, n=50)
    assert prepare_blocks(graph, pairs=pairs).paired == pairs
    check(graph, 15, [], pairs)
    check(graph, 10, [5, 6], pairs)


@pytest.mark.parametrize("bits", [0, 4, 1 << 10])
@pytest.mark.parametrize("split", [2, 1 << 30])
def test_every_kind_of_label_gives_the_same(random_graph, make_graph, monkeypatch, bits, split):
    """Without room for bitsets labels give way to searches; with and without a split of the world."""
    make = reach_cpu.make_labels
    monkeypatch.setattr("gpukit.imgpu.worlds_cpu.make_labels", lambda slots: make(slots, bits))
    for p in (0.05, 0.12, 0.3):
        check(random_graph(150, 900, 2, Weights("const", p)), 4, [9], how=split)
    check(acyclic(make_graph, 1, 0.9), 4, [60], how=split)


def test_labels_longer_than_a_list():
    """A ladder of joins with one source above each rung: |J| from 0 to 120, so lists, then bitsets."""
    n = 121
    tails = [v for v in range(n - 1) for _ in range(2)] + [v for v in range(n - 1)]
    heads = [w for v in range(n - 1) for w in (v + 1, n + v)] + [n + v for v in range(n - 1)]
    rows = [(a, b) for a, b in zip(tails, heads, strict=True)] + [(n + v, v + 1) for v in range(n - 1)]
    graph = build_graph(*np.array(rows).T, weights=Weights("const", 1.0), ids=False, n=2 * n - 1)
    for options in ({}, *LEVELS):
        worlds = CpuWorlds(prepare_blocks(graph), 0, **options)
        assert worlds.gains(0, 1, []).tolist() == marginal_reach(graph.n, rows, [])


@pytest.mark.parametrize("p", [0.1, 0.4])
def test_nodes_per_level(random_graph, p):
    """Longest distances to a sink in the condensed world, by networkx; vertices without live arcs left out."""
    import networkx

    graph = random_graph(40, 120, 5, Weights("const", p))
    for id_ in range(6):
        world = networkx.DiGraph(arcs_of(prepare_blocks(graph), 3, id_))
        dag = networkx.condensation(world)
        level = {}
        for c in reversed(list(networkx.topological_sort(dag))):
            level[c] = max((level[child] + 1 for child in dag[c]), default=0)
        expected = [list(level.values()).count(depth) for depth in range(max(level.values(), default=-1) + 1)]
        assert nodes_per_level(graph, 3, id_, 1).tolist() == expected


@pytest.mark.parametrize("p", [0.3, 1.0])
def test_bands_above_labels_below(make_graph, p):
    """Levels of hundreds of components below bands of few: the ways to count agree."""
    pairs = np.sort(np.random.default_rng(1).integers(0, 1200, (3000, 2)) ** 2 // 1200, axis=1)
    graph = make_graph(1200, pairs[pairs[:, 0] < pairs[:, 1]].tolist(), Weights("const", p))
    first, *others = (CpuWorlds(prepare_blocks(graph), 0, **options).gains(0, 5, [900]) for options in ({}, *LEVELS))
    assert all(np.array_equal(first, other) for other in others)


def test_block_order_and_threads_change_nothing(random_graph):
    graph = random_graph(300, 2000, 3, Weights("const", 0.1))
    ready = prepare_blocks(graph)
    whole = CpuWorlds(ready, 5).gains(0, 300, [1])
    parts = CpuWorlds(ready, 5, threads=3)
    assert np.array_equal(whole, parts.gains(0, 300, [1]))
    assert np.array_equal(whole[2:], (parts.gains(0, 100, [1]) + parts.gains(100, 200, [1]))[2:])
    assert np.array_equal(CpuWorlds(ready, 5).reached(7, 90, [4, 5]), parts.reached(7, 90, [4, 5]))
