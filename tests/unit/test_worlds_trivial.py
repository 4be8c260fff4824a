"""Trivial sets: left out without a change of the other sets, and their known probabilities."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from oracles.worlds import spread

from gpukit.device.select import Device
from gpukit.gim import Params, maximise
from gpukit.gim.known import Known
from gpukit.graph.csr import Weights
from gpukit.graph.probabilities import in_probabilities
from gpukit.worlds.collection import CpuCollection
from gpukit.worlds.reverse import prepare
from gpukit.worlds.trivial import ONE

CONSTANT = [Weights("const", p) for p in (0.01, 0.3, 1.0)]
WEIGHTS = [Weights(), *CONSTANT, Weights("trivalency", seed=2)]
MODELS = [("ic", one) for one in WEIGHTS] + [("lt", Weights()), ("lt", Weights("const", 0.03))]
TARGETS = [None, 1, 3]
"""Root weights: none, and so many different ones."""


def targets(n, kinds):
    return None if kinds is None else np.arange(n) % (kinds + 1)


@pytest.mark.parametrize(("model", "weights"), MODELS, ids=str)
@pytest.mark.parametrize("kinds", TARGETS)
@pytest.mark.parametrize("threads", [1, 3])
def test_kept_sets_are_the_plain_ones_of_more_than_a_root(random_graph, model, weights, kinds, threads):
    graph = random_graph(300, 1500, 3, weights)
    # Many in-edges of one vertex are several rows.
    plain, kept = (
        prepare(graph, model, root_weights=targets(graph.n, kinds), kept=is_kept) for is_kept in (False, True)
    )
    collection = CpuCollection(kept, 7, 5, threads=threads)
    collection.extend(700)
    collection.extend(3000)
    every = CpuCollection(plain, 7, 5)
    every.extend(collection.ids)
    offsets, members = every.export()
    expected = [part.tolist() for part in np.split(members, offsets[1:-1]) if len(part) > 1][:3000]
    offsets, members = collection.export()
    assert [part.tolist() for part in np.split(members, offsets[1:-1])] == expected
    assert collection.members() == sum(map(len, expected))
    hit = collection.coverage(np.array([4, 0, 9]))
    assert hit[-1] == sum(not {0, 4, 9}.isdisjoint(one) for one in expected)


@pytest.mark.parametrize(
    "weights", [Weights("const", 0.3), Weights("const", 2.0**-32), Weights("trivalency", seed=1)], ids=str
)
def test_kept_sets_of_vertices_with_several_rows(make_graph, weights):
    graph = make_graph(600, [(v, v % 3) for v in range(3, 600)] + [(0, v) for v in range(3, 40)], weights)
    kept = prepare(graph, "ic", kept=True)
    assert len(kept.rows) > graph.n or weights.p == 2.0**-32
    check_quiet(graph, kept)
    if weights.p != 2.0**-32:
        collection, every = CpuCollection(kept, 7), CpuCollection(prepare(graph, "ic"), 7)
        collection.extend(500)
        every.extend(collection.ids)
        offsets, members = every.export()
        expected = [part.tolist() for part in np.split(members, offsets[1:-1]) if len(part) > 1][:500]
        offsets, members = collection.export()
        assert [part.tolist() for part in np.split(members, offsets[1:-1])] == expected


@pytest.mark.parametrize("threads", [1, 2])
def test_slices_of_ids_without_a_kept_set(make_graph, monkeypatch, threads):
    """Nearly every root is a heavy target without an in-edge, and a slice has few ids."""
    monkeypatch.setattr("gpukit.worlds.collection.SLICE", 1)
    graph, weights = make_graph(3, [(1, 0), (2, 0)]), np.array([1, 40_000, 60_000])
    plain, kept = (prepare(graph, "ic", root_weights=weights, kept=is_kept) for is_kept in (False, True))
    found, every = CpuCollection(kept, 7, threads=threads), CpuCollection(plain, 7)
    for size in (1, 4):
        found.extend(size)
        every.extend(found.ids)
        offsets, members = every.export()
        expected = [part.tolist() for part in np.split(members, offsets[1:-1]) if len(part) > 1][:size]
        offsets, members = found.export()
        assert [part.tolist() for part in np.split(members, offsets[1:-1])] == expected
        assert found.coverage(np.array([0]))[-1] == size


@pytest.mark.parametrize("sets", ["plain", "kept"])
def test_a_heavy_target_that_cannot_be_the_choice(make_graph, sets):
    weights = np.array([1000, 1])
    params, threads = Params(k=1, include=[1], root_weights=weights, seed=4, sets=sets), Device("cpu", "", (), 2, "")
    result = maximise(make_graph(2, [(0, 1)], Weights("const", 0.02)), params, threads)
    assert result.seeds.tolist() == [1] and result.lower <= 1 <= result.upper and result.guarantee == 1


def check_quiet(graph, reverse):
    """Compare q with exact fractions of the stored words; under weighted cascade 1/d is exact, too."""
    words, degrees = in_probabilities(graph), np.diff(graph.in_indptr)
    for v in range(graph.n):
        edges = [Fraction(int(word) + 1, 1 << 32) for word in words[graph.in_indptr[v] : graph.in_indptr[v + 1]]]
        if graph.weights.scheme == "wc":
            edges = [Fraction(1, int(degrees[v]))] * len(edges)
        if reverse.model == "lt":
            expected = 1 - min(Fraction(1), sum(edges))
        else:
            expected = Fraction(1)
            for p in edges:
                expected *= 1 - p
        # Direct rows round a threshold to 2**-32, products down by 2**-63 each.
        slack = Fraction(4, 1 << 32) if graph.weights.scheme == "wc" else Fraction(3 * len(edges) + 1, ONE)
        assert abs(Fraction(int(reverse.singleton[v]), ONE) - expected) <= slack


@pytest.mark.parametrize(("model", "weights"), MODELS, ids=str)
def test_the_chance_of_a_trivial_set(random_graph, model, weights):
    graph = random_graph(120, 700, 5, weights)
    check_quiet(graph, prepare(graph, model, kept=True))


@pytest.mark.parametrize(("model", "weights"), MODELS, ids=str)
@pytest.mark.parametrize("kinds", TARGETS)
def test_the_mass_of_kept_sets(random_graph, model, weights, kinds):
    graph = random_graph(120, 700, 5, weights)
    bonus = targets(graph.n, kinds)
    reverse = prepare(graph, model, root_weights=bonus, kept=True)
    weight = [1] * graph.n if bonus is None else bonus.tolist()
    assert reverse.gamma == sum(w * (ONE - q) for w, q in zip(weight, reverse.singleton.tolist(), strict=True))
    collection = CpuCollection(reverse, 3)
    collection.extend(20_000)
    # Of the ids looked at, this share is kept: four standard errors.
    share = Fraction(reverse.gamma, reverse.mass * ONE)
    found = len(collection._offsets) - 1
    assert abs(found - collection.ids * share) <= 4 * (collection.ids * float(share * (1 - share))) ** 0.5


@pytest.mark.parametrize("weights", [Weights("const", 0.05), Weights("const", 0.4), Weights()], ids=str)
@pytest.mark.parametrize("model", ["ic", "lt"])
def test_estimates_meet_the_exact_spread(make_graph, model, weights):
    """Own worth and coverage together, of every pair of vertices, within four standard errors."""
    if model == "lt" and weights.p == 0.4:
        weights = Weights("const", 0.3)
    graph = make_graph(6, [(0, 1), (1, 2), (2, 3), (3, 1), (0, 4), (4, 2)], weights)
    reverse, sets = prepare(graph, model, kept=True), 40_000
    known, collection = Known.of(reverse, None), CpuCollection(reverse, 11)
    collection.extend(sets)
    for pair in combinations(range(6), 2):
        seeds = np.array(pair)
        share = int(collection.coverage(seeds)[-1]) / sets
        estimate = float(known.bonus(seeds)) + float(known.gamma) * share
        slack = 4 * float(known.gamma) * (share * (1 - share) / sets) ** 0.5 + 1e-6
        assert abs(estimate - float(spread(graph, pair, model))) <= slack


@pytest.mark.long
@pytest.mark.parametrize("p", [0.02, 0.2, 0.6])
@pytest.mark.parametrize("kinds", [None, 2])
def test_certificates_hold(random_graph, p, kinds):
    """Bounds on the seeds and on the best, by enumeration; each may fail with probability 1/n, hardly ever does."""
    wrong = 0
    for key in range(30):
        graph = random_graph(6, 8, key, Weights("const", p))
        bonus = targets(graph.n, kinds)
        result = maximise(graph, Params(k=2, epsilon=0.3, seed=key, min_sets=0, root_weights=bonus))
        exact = {pair: float(spread(graph, pair, "ic", bonus)) for pair in combinations(range(6), 2)}
        reached = exact[tuple(sorted(result.seeds.tolist()))]
        best = max(exact.values())
        wrong += reached < result.lower - 1e-9 or best > result.upper + 1e-9 or reached < result.guarantee * best - 1e-9
        assert result.guarantee >= 1 - 1 / np.e - 0.3
    assert wrong <= 1


def test_nothing_live_needs_no_sets(make_graph):
    """One edge that is hardly ever live: the heaviest are chosen, and no set could say more."""
    graph = make_graph(5, [(0, 1)], Weights("const", 2.0**-32))
    result = maximise(graph, Params(k=2, seed=1))
    assert result.rr_sets == 0 and result.seeds.tolist() == [0, 2] and result.guarantee > 0.999999
    assert result.spread_estimate == result.lower == 2
    everybody = maximise(graph, Params(k=5, seed=1))
    assert everybody.guarantee == 1 and everybody.spread_estimate == 5
    worth = maximise(graph, Params(k=2, seed=1, root_weights=np.array([1, 1, 5, 1, 9])))
    assert worth.seeds.tolist() == [4, 2] and worth.rr_sets == 0
    dear = maximise(graph, Params(budget=5, costs=np.array([3, 1, 2, 9, 2]), seed=1))
    assert sorted(dear.seeds.tolist()) == [1, 2, 4] and dear.rr_sets == 0


@pytest.mark.parametrize("sets", ["plain", "kept"])
def test_everybody_is_a_seed(make_graph, sets):
    graph = make_graph(4, [(0, 1), (1, 2)], Weights("const", 0.5))
    result = maximise(graph, Params(k=4, seed=1, sets=sets))
    assert sorted(result.seeds.tolist()) == [0, 1, 2, 3] and result.guarantee == 1
    assert result.spread_estimate == pytest.approx(4, abs=0.05)


def test_certain_edges(make_graph):
    """p = 1: what has an in-edge is never trivial, what has none always is."""
    graph = make_graph(5, [(0, 1), (1, 2), (3, 4)], Weights("const", 1.0))
    reverse = prepare(graph, "ic", kept=True)
    assert reverse.singleton.tolist() == [ONE, 0, 0, ONE, 0] and reverse.gamma == 3 * ONE
    result = maximise(graph, Params(k=2, seed=1))
    assert result.seeds.tolist() == [0, 3] and result.spread_estimate == pytest.approx(5, abs=0.1)


def test_budget_and_forced_seeds_with_kept_sets(random_graph):
    graph = random_graph(40, 120, 2, Weights("const", 0.1))
    costs = np.arange(40) % 5 + 1
    result = maximise(graph, Params(budget=12, costs=costs, include=[7], exclude=[0, 1], seed=3))
    assert result.seeds[0] == 7 and not {0, 1} & set(result.seeds.tolist()) and costs[result.seeds].sum() <= 12
    plain = maximise(graph, Params(budget=12, costs=costs, include=[7], exclude=[0, 1], seed=3, sets="plain"))
    assert result.spread_estimate == pytest.approx(plain.spread_estimate, rel=0.05)
    assert result.guarantee_kind == "certified"


def test_worth_in_units_is_rounded_up(random_graph):
    reverse = prepare(random_graph(50, 200, 2, Weights("const", 0.07)), "ic", kept=True)
    known = Known.of(reverse, None)
    for sets in (1, 1000, 10**8):
        bonus = known.in_units(sets)
        exact = [known.bonus(np.array([v])) * sets * bonus.unit / known.gamma for v in range(50)]
        assert all(0 <= int(mine) - one < Decimal("1.01") for mine, one in zip(bonus.of(), exact, strict=True))
        assert bonus.unit * sets + bonus.of().max() < 2**31
    everyone = np.arange(50)
    least = sum(sorted(known.bonus(np.array([v])) for v in range(1, 50))[:3]) + known.bonus(np.array([0]))
    assert Decimal(0) <= least - known.least(np.array([0]), everyone[1:], 3) < Decimal("1e-12")
    assert replace(known, singleton=None).bonus(everyone) == 0


@pytest.mark.parametrize("scheme", [Weights(), Weights("const", 0.3), Weights("trivalency", seed=2)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_least_that_seeds_are_known_to_be_worth(random_graph, scheme, weighted):
    """By sorting; many vertices are worth the same, and some nothing."""
    graph = random_graph(300, 900, 3, scheme)
    weights = np.arange(300) % 4 if weighted else None
    known = Known.of(prepare(graph, "ic", root_weights=weights, kept=True), weights)
    free = np.flatnonzero(np.arange(300) % 7 > 0)
    ordered = np.sort(known.values[free])
    for further in (0, 1, 5, 100, len(free)):
        least = known.least(np.array([0, 7]), free, further)
        assert float(least) == pytest.approx(ordered[:further].sum() + known.values[[0, 7]].sum(), rel=1e-12)
