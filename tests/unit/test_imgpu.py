"""IMGPU against brute force over the same worlds, and against exact spreads of tiny graphs."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from oracles.reach import greedy, searched
from oracles.statistics import check_cells, check_mean
from oracles.worlds import edges, spread
from test_imgpu_reach import arcs_of

from gpukit.device.select import Device
from gpukit.errors import InputError, UsageError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.imgpu import Params, maximise, run
from gpukit.imgpu.optimism import two_fold
from gpukit.imgpu.worlds_cpu import CpuWorlds
from gpukit.parameters.imgpu import ESTIMATE_FIRST
from gpukit.worlds import blocks
from gpukit.worlds.blocks import prepare_blocks

EDGES = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 6), (6, 4), (7, 5), (2, 0)]
SCHEMES = [Weights(), Weights("trivalency", seed=3), Weights("const", 0.5), Weights("const", 0.2)]


def undirected(p=0.3, n=30, m=60):
    u, v = np.random.default_rng(2).integers(0, n, (2, m))
    return build_graph(u, v, weights=Weights("const", p), undirected=True, ids=False, n=n)


def check_same(one, other):
    assert one.seeds.tolist() == other.seeds.tolist() and one.gains.tolist() == other.gains.tolist()
    assert (one.spread_estimate, one.stderr) == (other.spread_estimate, other.stderr)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_mean_reach_is_the_spread(make_graph, scheme):
    """Of every vertex and of what each adds to a seed (Hoeffding, false alarm 1e-6 each), by full enumeration."""
    graph = make_graph(8, EDGES, scheme)
    worlds, runs = CpuWorlds(prepare_blocks(graph), 11), 40_000
    alone, added = worlds.gains(0, runs, []), worlds.gains(0, runs, [2])
    for v in range(8):
        check_mean(alone[v] / runs, spread(graph, [v], "ic"), runs, 7)
        if v != 2:
            check_mean(added[v] / runs, spread(graph, [2, v], "ic") - spread(graph, [2], "ic"), runs, 7)
    check_mean(worlds.reached(0, runs, [2, 5]).mean(), spread(graph, [2, 5], "ic"), runs, 6)


def test_one_coin_an_edge_has_the_spread_of_two():
    graph = undirected(n=6, m=7)
    assert prepare_blocks(graph).paired
    worlds, runs = CpuWorlds(prepare_blocks(graph), 4), 40_000
    alone = worlds.gains(0, runs, [])
    for v in range(6):
        check_mean(alone[v] / runs, spread(graph, [v], "ic"), runs, 5)


@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_worlds_have_their_probabilities(make_graph, scheme, skip):
    """Every set of live arcs comes as often as it should (Bernstein, false alarm 1e-6)."""
    graph = make_graph(5, [(0, 1), (0, 2), (1, 2), (2, 0), (3, 2), (4, 2), (3, 0)], scheme)
    ready = prepare_blocks(graph, skip=skip)
    seen: dict[frozenset, int] = {}
    for id_ in range(4000):
        arcs = frozenset(arcs_of(ready, 1, id_))
        seen[arcs] = seen.get(arcs, 0) + 1
    listed = edges(graph)
    chances = {}
    for mask in range(1 << len(listed)):
        chance = Fraction(1)
        for j, (_, _, p) in enumerate(listed):
            chance *= p if mask >> j & 1 else 1 - p
        chances[frozenset((u, v) for j, (u, v, _) in enumerate(listed) if mask >> j & 1)] = chance
    check_cells(seen, chances)


@pytest.mark.parametrize("scheme", [Weights("const", 0.03), Weights(), Weights("trivalency", seed=1)], ids=str)
def test_each_arc_is_live_as_often_as_it_should(random_graph, scheme):
    """Over blocks of many arcs, tables and classes: the count of each arc, and of pairs in one block."""
    graph = random_graph(60, 1500, 4, scheme)
    ready = prepare_blocks(graph)
    place = {arc: j for j, arc in enumerate(zip(ready.tails.tolist(), ready.heads.tolist(), strict=True))}
    counts = np.zeros(graph.m, np.int64)
    runs = 3000
    for id_ in range(runs):
        for arc in arcs_of(ready, 2, id_):
            counts[place[arc]] += 1
    for u, v, p in edges(graph):
        check_cells({1: counts[place[u, v]], 0: runs - counts[place[u, v]]}, {1: p, 0: 1 - p}, 1e-6 / graph.m)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("scheme", [Weights("const", 0.03), Weights(), Weights("trivalency", seed=1)], ids=str)
def test_arcs_are_in_order_of_kind(random_graph, scheme, workers, monkeypatch):
    """In-degrees, or powers of two that probabilities fall below; within a kind the order of the graph."""
    monkeypatch.setattr(blocks, "_workers", lambda arcs: workers)
    graph = random_graph(60, 1500, 4, scheme)
    degrees = np.bincount(graph.indices)
    kind = {"const": lambda v, p: 0, "wc": lambda v, p: degrees[v]}.get(scheme.scheme, lambda v, p: -int(np.log2(p)))
    expected = sorted(edges(graph), key=lambda one: kind(one[1], float(one[2])))
    ready = prepare_blocks(graph)
    assert list(zip(ready.tails.tolist(), ready.heads.tolist(), strict=True)) == [(u, v) for u, v, _ in expected]
    assert ready.blocks[:, 1].sum() == graph.m
    assert (ready.blocks[1:, 0] == ready.blocks[:-1, 0] + ready.blocks[:-1, 1]).all()
    assert ready.mean_live == pytest.approx(float(sum(p for _, _, p in expected)), rel=1e-8)  # rounded to 2**-32


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("kind", ["sparse", "dense", "undirected", "wc"])
def test_greedy_equals_brute_force(random_graph, kind, fresh):
    """The same seeds and gains as trying every vertex by searches in the same worlds."""
    graph = {
        "sparse": lambda: random_graph(30, 90, 1, Weights("const", 0.1)),
        "dense": lambda: random_graph(25, 200, 2, Weights("const", 0.25)),
        "undirected": undirected,
        "wc": lambda: random_graph(30, 90, 3),
    }[kind]()
    ready, k, worlds = prepare_blocks(graph), 4, 20
    expected = greedy(graph.n, [arcs_of(ready, 6, id_) for id_ in range(worlds * (k if fresh else 1))], k, fresh)
    found = maximise(graph, Params(k, worlds, fresh, seed=6))
    assert (found.seeds.tolist(), found.gains.tolist()) == expected
    values = [len(searched(graph.n, arcs_of(ready, 6, ESTIMATE_FIRST + j), found.seeds)) for j in range(worlds)]
    assert found.spread_estimate == np.mean(values)
    assert found.stderr == pytest.approx(np.std(values, ddof=1) / np.sqrt(worlds))


def test_shards_change_nothing(random_graph, monkeypatch):
    graph = random_graph(200, 900, 1, Weights("const", 0.15))
    expected = maximise(graph, Params(6, 150))
    monkeypatch.setattr("gpukit.imgpu.worlds_cpu.SHARD", 7)
    done = []
    found = maximise(graph, Params(6, 150), Device("cpu", "", (), 2, ""), progress=lambda *one: done.append(one))
    check_same(expected, found)
    assert (10, 150) in done and (150, 150) in done


@pytest.mark.parametrize("fresh", [True, False])
def test_threads_memory_and_splits_change_nothing(random_graph, fresh):
    for graph in (random_graph(200, 900, 1, Weights("const", 0.15)), undirected(0.2, 200, 300)):
        params = Params(6, 150, fresh, seed=2**64 - 1)
        one = maximise(graph, params)
        for threads, options in ((2, {}), (5, {"how": 2}), (1, {"memory": 0})):
            other = maximise(graph, params, Device("cpu", "", (), threads, ""), **options)
            check_same(one, other)
            assert other.streamed == (not fresh and "memory" in options)
            assert other.drawn == (150 * 7 if fresh else 300)


@pytest.mark.parametrize("refresh", [1, 10, 10**9])
@pytest.mark.parametrize("batch", [1, 8])
def test_when_gains_are_worked_out_changes_nothing(random_graph, monkeypatch, refresh, batch):
    graph = random_graph(60, 270, 1, Weights("const", 0.3))
    for k in (15, 60):
        expected = maximise(graph, Params(k, 40))
        with monkeypatch.context() as patch:
            patch.setattr(run, "lazy_greedy", partial(run.lazy_greedy, refresh=refresh))
            patch.setattr(CpuWorlds, "batch", batch)
            check_same(expected, maximise(graph, Params(k, 40)))


@pytest.mark.parametrize("runs", [(256, 64), (8, 1), (7, 3)], ids=str)
def test_vertices_come_by_falling_gain(monkeypatch, runs):
    """All in one turn, and in several; gains far apart, and nearly all the same."""
    monkeypatch.setattr(run, "RUN", runs[0])
    monkeypatch.setattr(run, "FIRST_RUNS", runs[1])
    for gains in (np.random.default_rng(1).integers(0, 50, 300) ** 3, np.repeat([9, 7, 7, 8], 75)):
        gains[[7, 40]] = -1
        order = np.argsort(-gains, kind="stable")[:-2]
        assert list(run.FallingGains(gains)) == [(-gains[v], v) for v in order]
        falling = run.FallingGains(gains)
        given = [v for (_, v), _ in zip(falling, range(20), strict=False)]
        left = np.delete(gains, given)
        for gain in (-1, *gains[::17], gains.max()):
            runs_above = sum(gains[i : i + runs[0]].max() > gain for i in range(0, 300, runs[0]))
            assert falling.above(gain) == runs_above - falling.given <= np.sum(left > gain)
    assert list(run.FallingGains(np.full(3, -1))) == []


@pytest.mark.parametrize(("runs", "fallen", "evaluations"), [(300, 49, 48), (300, 50, 1040), (250, 49, 1040)])
def test_gains_that_fell_together_are_not_worked_out_one_by_one(runs, fallen, evaluations):
    """More than half of what others have goes with the first seed, or no more, or they are few: 32 tries, or 1,024."""
    n, asked = runs * run.RUN, []

    class Together:
        batch = 32

        def gains(self, first, count, seeds):
            asked.append(list(seeds))
            return np.full(n, fallen)

        def evaluate(self, vertices):
            return [fallen] * len(vertices)

        def choose(self, vertex):
            pass

    gains = np.full(n, 100)
    gains[5] = 200
    assert run.lazy_greedy(Together(), gains, 3, 0, 1) == ([5, 0, 1], [200, fallen, fallen], evaluations)
    assert asked == [[5]]


def test_all_vertices_and_prefixes(random_graph):
    graph = random_graph(40, 100, 1, Weights("const", 0.2))
    every = maximise(graph, Params(40, 50))
    assert sorted(every.seeds.tolist()) == list(range(40))
    assert every.gains.sum() == 40 * 50 and every.spread_estimate == 40
    assert maximise(graph, Params(5, 50)).seeds.tolist() == every.seeds[:5].tolist()
    assert maximise(graph, Params(5, 50, seed=1)).seeds.tolist() != every.seeds[:5].tolist()


def test_estimate_is_not_of_the_worlds_seeds_were_chosen_in(random_graph):
    """Few worlds flatter the seeds chosen in them: gains over 5 worlds exceed the estimate on average."""
    graph = random_graph(300, 900, 1, Weights("const", 0.2))
    found = [maximise(graph, Params(5, 5, seed=s)) for s in range(20)]
    flattered = np.mean([result.gains.sum() / 5 for result in found])
    assert flattered > 1.03 * np.mean([result.spread_estimate for result in found])


def test_wrong_parameters(random_graph, make_graph):
    graph = random_graph(30, 60, 1)
    for k in (0, 31):
        with pytest.raises(UsageError, match=f"k is {k}; 1 to 30"):
            maximise(graph, Params(k))
    for options, says in (({"worlds": 1}, "worlds is 1"), ({"worlds": 2**31}, "worlds"), ({"seed": -1}, "seed is -1")):
        with pytest.raises(UsageError, match=says):
            replace(Params(1), **options)
    with pytest.raises(UsageError, match="more than 2\\^47"):
        Params(2**17, 2**31 - 1, fresh=True)
    with pytest.raises(InputError, match="no edges"):
        maximise(make_graph(3, []), Params(1))
    with pytest.raises(InputError, match="no edge probabilities"):
        maximise(make_graph(2, [(0, 1)], Weights("none")), Params(1))


def test_explicit_probabilities_of_undirected_graphs():
    """One coin an edge where both directions have one probability, two where they differ."""
    u, v, w = [0, 1, 2], [1, 2, 3], [0.5, 0.25, 1.0]
    same = build_graph(np.array(u), np.array(v), w=np.array(w), weights=Weights("file"), undirected=True, ids=False)
    assert prepare_blocks(same).paired
    cascade = build_graph(np.array(u), np.array(v), weights=Weights(), undirected=True, ids=False)
    assert not prepare_blocks(cascade).paired


# How many worlds


def _by_hand(graph, k, seed, worlds):
    """Return o and its standard deviation from greedy by brute force on each half, and searches in every world."""
    ready, half = prepare_blocks(graph), worlds // 2
    halves = [[arcs_of(ready, seed, id_) for id_ in range(first, first + half)] for first in (0, half)]
    seeds = [greedy(graph.n, arcs, k, False)[0] for arcs in halves]
    reach = np.array([[[len(searched(graph.n, one, s)) for one in arcs] for arcs in halves] for s in seeds])
    mean = (reach[0, 1].mean() + reach[1, 0].mean()) / 2
    gaps = reach[0, 0] - reach[1, 0], reach[1, 1] - reach[0, 1]
    value = sum(max(gap.mean(), 0) for gap in gaps) / 2 / mean
    return value, np.sqrt(sum(gap.var(ddof=1) / half for gap in gaps)) / 2 / mean


@pytest.mark.parametrize(("k", "key"), [(3, 1), (3, 2), (11, 1), (11, 4)])
def test_the_number_of_worlds_follows_from_two_halves(random_graph, monkeypatch, k, key):
    monkeypatch.setattr(run, "FIRST_WORLDS", 8)
    graph = random_graph(16, 36, key, Weights("const", 0.3))
    found = maximise(graph, Params(k, seed=key))
    tried = [8 << i for i in range(12) if 8 << i <= found.worlds]
    assert tried[-1] == found.worlds > 8
    values = [_by_hand(graph, k, key, worlds) for worlds in tried]
    enough = [value + sd <= 0.01 for value, sd in values]
    stops = enough if k > 10 else [a and b for a, b in zip(enough, [False, *enough], strict=False)]
    assert stops.index(True) == len(tried) - 1
    assert found.optimism == pytest.approx(values[-1])
    given = maximise(graph, Params(k, found.worlds, seed=key))
    check_same(found, given)
    assert (given.optimism, given.facts()["optimism"], found.facts()["optimism"]) == (None, None, found.optimism[0])


@pytest.mark.parametrize("fresh", [True, False])
def test_the_number_of_worlds_does_not_depend_on_the_machine(random_graph, monkeypatch, fresh):
    monkeypatch.setattr(run, "FIRST_WORLDS", 16)
    graph = random_graph(60, 200, 3, Weights("const", 0.2))
    one = maximise(graph, Params(6, None, fresh, seed=4))
    for threads, options in ((3, {}), (1, {"memory": 0})):
        other = maximise(graph, Params(6, None, fresh, seed=4), Device("cpu", "", (), threads, ""), **options)
        check_same(one, other)
        assert (one.worlds, one.optimism) == (other.worlds, other.optimism)
    check_same(one, maximise(graph, Params(6, one.worlds, fresh, seed=4)))


def test_worlds_end_at_the_most(random_graph, monkeypatch):
    monkeypatch.setattr(run, "FIRST_WORLDS", 4)
    monkeypatch.setattr(run, "MAX_WORLDS", 16)
    graph = random_graph(300, 900, 1, Weights("const", 0.05))
    found = maximise(graph, Params(20))
    assert found.worlds == 16 and not found.optimism.enough


def test_seeds_that_agree_have_no_optimism():
    same = np.array([5, 7, 3])
    assert two_fold([same, same], [same, same]) == (0, 0)
    worse = two_fold([same, same + 1], [same + 1, same])
    assert (worse.value, worse.sd) == (0, 0), "each half likes the other's seeds better: no surplus"
    assert two_fold([same, same - 1], [same - 1, same]).value == 1 / 4
