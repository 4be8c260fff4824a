"""Influence maximisation against exhaustive search over tiny graphs, where every spread is known exactly."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from oracles.bounds import imm, imm_final_size, imm_levels, imm_search_sizes, opim
from oracles.statistics import check_mean
from oracles.worlds import rounds_spread, spread

from gpukit.errors import InputError, UsageError
from gpukit.gim import Params, run
from gpukit.gim import opim as opim_module
from gpukit.graph.csr import Graph, Weights
from gpukit.papers.gim import maximise
from gpukit.worlds.tables import build_tables

EDGES = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 6), (6, 4), (7, 5), (2, 0)]
REPEATS = 200
EXACT = 1e-9


@pytest.fixture(scope="module", params=["wc", "trivalency", "const"])
def tiny(request, make_graph):
    scheme = {"wc": Weights(), "trivalency": Weights("trivalency", seed=3), "const": Weights("const", 0.5)}
    return make_graph(8, EDGES, scheme[request.param])


@pytest.fixture(scope="module")
def cascade(make_graph):
    return make_graph(8, EDGES)


def spreads(graph, model, weights=None):
    """Return a function: exact spread of a set of vertices."""

    @cache
    def exact(seeds):
        return spread(graph, seeds, model, weights)

    return exact


@pytest.fixture(scope="module")
def cascade_exact(cascade):
    return spreads(cascade, "ic")


def repeated(graph, params):
    """Results of OPIM-C as published; test_gim_twofold.py has those of the default."""
    params = replace(params, optimism=None)
    return [maximise(graph, replace(params, seed=seed), tables=None) for seed in range(REPEATS)]


def check(results, exact, best, width):
    """The guarantee and both bounds hold in every run; the estimate is right on average."""
    errors = []
    for result in results:
        value = exact(tuple(sorted(result.seeds.tolist())))
        assert result.guarantee_kind == "certified"
        assert result.guarantee * float(best) <= float(value) + EXACT
        assert result.lower <= float(value) + EXACT
        assert result.upper >= float(best) - EXACT
        errors.append(result.spread_estimate - float(value))
    check_mean(float(np.mean(errors)), 0, REPEATS * results[0].history[0].sets, 2 * width)


@pytest.mark.parametrize("model", ["ic", "lt"])
def test_guarantee_and_estimate(tiny, model):
    exact = spreads(tiny, model)
    best = max(exact(seeds) for seeds in combinations(range(8), 2))
    check(repeated(tiny, Params(k=2, epsilon=0.3, model=model, min_sets=0)), exact, best, 8)


def test_many_sets_find_the_best(cascade):
    exact = spreads(cascade, "ic")
    ranked = sorted(combinations(range(8), 2), key=exact, reverse=True)
    found = maximise(cascade, Params(k=2, epsilon=0.1, min_sets=200_000))
    value = exact(tuple(sorted(found.seeds.tolist())))
    assert float(exact(ranked[0]) - value) < 0.02, "only a set as good as the best, or nearly"
    assert found.rr_sets >= 200_000
    assert abs(found.spread_estimate - float(value)) < 0.05


def test_sizes_are_those_of_the_formulas(cascade):
    plan = opim(8, 2, 0.02)
    found = maximise(cascade, Params(k=2, epsilon=0.02, optimism=None))
    sizes = [step.sets for step in found.history]
    assert sizes[0] == plan.theta_0 and sizes == sorted(set(sizes))
    assert set(sizes) <= {plan.theta_0 * 2**i for i in range(plan.i_max)}
    assert found.rr_sets == 2 * sizes[-1]
    assert all(step.upper is None or step.lower / step.upper < 0.632 - 0.02 for step in found.history[:-1])
    assert found.guarantee >= 0.632 - 0.02


def test_bounds_left_out_change_nothing(random_graph, monkeypatch):
    graph = random_graph(300, 1200, 1)
    cases = [
        Params(k=5, epsilon=epsilon, optimism=None, min_sets=sets) for epsilon in (0.02, 0.1, 0.4) for sets in (0, 3000)
    ]
    fast = [maximise(graph, case) for case in cases]
    choose = opim_module.choose
    monkeypatch.setattr(opim_module, "choose", lambda *words, bounds, **more: choose(*words, bounds=True, **more))
    for one, other in zip(fast, (maximise(graph, case) for case in cases), strict=True):
        assert one.seeds.tolist() == other.seeds.tolist()
        assert (one.rr_sets, one.guarantee, one.lower, one.upper) == (
            other.rr_sets,
            other.guarantee,
            other.lower,
            other.upper,
        )


def test_several_rounds(make_graph):
    graph = make_graph(5, [(0, 1), (1, 2), (3, 2), (3, 4), (4, 1)])
    pairs = [(a, b) for a in range(5) for b in range(5)]
    values = {pair: rounds_spread(graph, [[pair[0]], [pair[1]]], "ic") for pair in pairs}
    best = float(max(values.values()))
    for result in repeated(graph, Params(k=1, rounds=2, epsilon=0.2, min_sets=0)):
        order = np.argsort(result.rounds)
        assert result.rounds[order].tolist() == [0, 1]
        value = float(values[tuple(result.seeds[order].tolist())])
        assert result.guarantee >= 0.3
        assert result.guarantee * best <= value + EXACT
        assert result.lower <= value + EXACT and result.upper >= best - EXACT


def test_weighted_roots(cascade):
    weights = np.array([0, 0, 0, 5, 0, 100, 1, 0])
    exact = spreads(cascade, "ic", tuple(weights.tolist()))
    best = max(exact(seeds) for seeds in combinations(range(8), 2))
    results = repeated(cascade, Params(k=2, epsilon=0.3, min_sets=0, root_weights=weights))
    check(results, exact, best, 106)
    assert all(5 in result.seeds for result in results)


def test_include_and_exclude(cascade):
    exact = spreads(cascade, "ic")
    best = max(exact(seeds) for seeds in combinations((0, 1, 2, 6, 7), 3) if 6 in seeds)
    params = Params(k=3, epsilon=0.3, min_sets=0, include=[6], exclude=[3, 4, 5])
    results = repeated(cascade, params)
    check(results, exact, best, 8)
    for result in results:
        assert result.seeds[0] == 6 and not {3, 4, 5} & set(result.seeds.tolist())


def test_included_seeds_keep_their_order_and_can_be_all(cascade):
    found = maximise(cascade, Params(k=3, include=[5, 1, 7], min_sets=0))
    assert found.seeds.tolist() == [5, 1, 7]
    assert (found.guarantee, found.guarantee_kind) == (1.0, "certified")


@pytest.mark.parametrize("bound", ["opim", "imm"])
@pytest.mark.parametrize("budget", [3, 7, 10, 26])
def test_budget(cascade, cascade_exact, bound, budget):
    costs, exact = np.array([4, 1, 3, 9, 2, 2, 1, 1]), cascade_exact
    allowed = [s for size in range(1, 9) for s in combinations(range(8), size) if costs[list(s)].sum() <= budget]
    best = float(max(exact(seeds) for seeds in allowed))
    for seed in range(25):
        found = maximise(cascade, Params(budget=budget, costs=costs, bound=bound, epsilon=0.2, min_sets=0, seed=seed))
        chosen = tuple(sorted(found.seeds.tolist()))
        assert len(set(chosen)) == len(chosen) and costs[list(chosen)].sum() <= budget
        assert found.guarantee >= 0.316 - 0.2
        assert found.guarantee * best <= float(exact(chosen)) + EXACT
        if bound == "opim":
            assert found.upper >= best - EXACT


def test_budget_with_seeds_to_include(cascade):
    costs = np.array([4, 1, 3, 9, 2, 2, 1, 1])
    found = maximise(cascade, Params(budget=12, costs=costs, include=[3], exclude=[7], min_sets=500))
    assert found.seeds[0] == 3 and 7 not in found.seeds and costs[found.seeds].sum() <= 12


def test_unit_costs_are_a_number_of_seeds(cascade):
    by_budget = maximise(cascade, Params(budget=3, min_sets=1000))
    assert by_budget.seeds.tolist() == maximise(cascade, Params(k=3, min_sets=1000)).seeds.tolist()


def test_printed_imm_sizes(random_graph):
    found = maximise(random_graph(60, 150, 2), Params(k=3, epsilon=0.3, bound="imm", samples="original", min_sets=0))
    *search, last = found.history
    assert [step.sets for step in search] == imm_search_sizes(60, 3, 0.3)[: len(search)]
    factor = 1 + imm(60, 3, 0.3).epsilon_prime
    scores = [60 * step.covered / step.sets for step in search]
    assert all(score < float(factor) * 60 / 2 ** (i + 1) for i, score in enumerate(scores[:-1]))
    assert scores[-1] >= float(factor) * 60 / 2 ** len(search)
    lower = 60 * Fraction(search[-1].covered, search[-1].sets) / Fraction(str(factor))
    assert abs(last.sets - imm_final_size(60, 3, 0.3, float(lower))) <= 1
    assert found.rr_sets == last.sets
    assert (found.guarantee, found.guarantee_kind) == (None, "none")


@pytest.mark.parametrize("samples", ["grid", "fresh"])
@pytest.mark.parametrize("case", [(60, 150, 3, 0.3), (400, 500, 2, 0.2), (400, 500, 1, 0.7), (30, 2, 3, 0.3)])
def test_guided_imm_sizes(random_graph, samples, case):
    """The last level tried is proved, or the lowest; no other was; the sizes are the oracle's for these levels."""
    n, edges, k, epsilon = case
    found = maximise(random_graph(n, edges, 2), Params(k=k, epsilon=epsilon, bound="imm", samples=samples, min_sets=0))
    levels = imm_levels(n, k, epsilon)
    factor = 1 + imm(n, k, epsilon).epsilon_prime
    wanted = levels.enough if samples == "grid" else levels.proof
    pilot, *search = found.history if samples == "grid" else found.history[:-1]
    assert pilot.phase == "pilot" and 8 * (pilot.sets - 1) < levels.proof[max(levels.proof)] <= 8 * pilot.sets
    proved = []
    for step in search:
        level = max(j for j, size in wanted.items() if size >= step.sets)
        assert wanted[level] == step.sets
        proved.append(n * Fraction(step.covered, step.sets) >= Fraction(str(factor * Decimal("1.01") ** level)))
    assert not any(proved[:-1])
    lowest = bool(search) and search[-1].sets == wanted[min(wanted)]
    assert not search or proved[-1] or lowest
    last = found.history[-1]
    if samples == "fresh":
        step = (search or [pilot])[-1]
        lower = max(k, n * Fraction(step.covered, step.sets) / Fraction(str(factor))) if not lowest else k
        assert abs(last.sets - imm_final_size(n, k, epsilon, float(lower))) <= 1 or lowest
        assert found.rr_sets == last.sets + step.sets
    else:
        assert found.rr_sets == last.sets
    assert found.guarantee == pytest.approx(max(0, 0.63212 - epsilon), abs=1e-5)
    assert found.guarantee_kind == "a priori"


def test_fresh_sets_are_not_the_search_sets(random_graph):
    graph = random_graph(60, 150, 2)
    grid, fresh = (
        maximise(graph, Params(k=3, epsilon=0.3, bound="imm", samples=samples, min_sets=20_000))
        for samples in ("grid", "fresh")
    )
    assert grid.history[-1].sets == fresh.history[-1].sets == 20_000
    assert grid.history[-1].covered != fresh.history[-1].covered
    assert fresh.rr_sets > grid.rr_sets == 20_000


@pytest.mark.parametrize("model", ["ic", "lt"])
def test_imm_finds_good_seeds(cascade, model):
    exact = spreads(cascade, model)
    best = float(max(exact(seeds) for seeds in combinations(range(8), 2)))
    for seed in range(20):
        found = maximise(cascade, Params(k=2, epsilon=0.3, model=model, bound="imm", min_sets=0, seed=seed))
        assert float(exact(tuple(sorted(found.seeds.tolist())))) >= found.guarantee * best
    several = maximise(cascade, Params(k=2, rounds=2, epsilon=0.3, model=model, bound="imm", min_sets=0))
    assert several.guarantee == pytest.approx(0.2)
    assert sorted(several.rounds.tolist()) == [0, 0, 1, 1]


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("bound", ["opim", "imm"])
def test_scan_selection_chooses_the_same(random_graph, rounds, bound):
    graph = random_graph(80, 300, 5)
    more = {"include": [7, 3]} if rounds == 1 else {}
    params = Params(k=4, rounds=rounds, bound=bound, epsilon=0.2, min_sets=2000, exclude=[1, 2], **more)
    one, other = maximise(graph, params), maximise(graph, replace(params, selection="scan"))
    assert one.seeds.tolist() == other.seeds.tolist() and one.gains.tolist() == other.gains.tolist()
    assert (one.guarantee, one.lower, one.upper) == (other.guarantee, other.lower, other.upper)
    assert (one.rounds is None) == (other.rounds is None) == (rounds == 1)


@pytest.mark.parametrize("asked", [{"selection": "scan"}, {"bound": "imm", "samples": "original"}])
def test_the_system_refuses_what_is_the_papers(random_graph, asked):
    with pytest.raises(UsageError, match=r"gpukit\.papers\.gim"):
        run.maximise(random_graph(20, 60, 5), Params(k=2, **asked))


def test_tables_at_hand_change_nothing(random_graph):
    graph = random_graph(80, 300, 5, Weights("trivalency", seed=1))
    params = Params(k=4, min_sets=1000)
    one, other = maximise(graph, params), maximise(graph, params, tables=build_tables(graph))
    assert one.seeds.tolist() == other.seeds.tolist() and one.spread_estimate == other.spread_estimate


@pytest.mark.parametrize("bound", ["opim", "imm"])
@pytest.mark.parametrize(
    ("n", "edges", "k"),
    [
        (2, [(0, 1)], 1),
        (2, [(0, 1)], 2),
        (3, [(0, 1), (1, 2)], 1),
        (3, [(0, 1), (1, 2)], 3),
        (40, [(0, v) for v in range(1, 40)], 1),
        (40, [(v, 0) for v in range(1, 40)], 3),
        (9, [(u, v) for u in range(9) for v in range(9) if u != v], 4),
        (30, [(0, 1), (2, 3)], 30),
    ],
)
def test_shapes_of_graphs(make_graph, bound, n, edges, k):
    found = maximise(make_graph(n, edges), Params(k=k, bound=bound, min_sets=0))
    assert len(set(found.seeds.tolist())) == k
    estimate = found.selection_estimate if found.spread_estimate is None else found.spread_estimate
    assert k <= estimate <= n or k < n
    assert 0 < found.guarantee <= 1
    if k == n:
        assert (found.guarantee, found.spread_estimate) == (1.0, n)


@pytest.mark.parametrize("samples", ["grid", "fresh", "original"])
def test_imm_estimates_on_the_sets_it_chose_from(random_graph, samples):
    found = maximise(random_graph(80, 300, 5), Params(k=4, bound="imm", samples=samples, min_sets=0, epsilon=0.5))
    assert found.spread_estimate is None
    assert found.selection_estimate == 80 * found.history[-1].covered / found.history[-1].sets


def test_star_is_led_by_its_hub(make_graph):
    assert maximise(make_graph(40, [(0, v) for v in range(1, 40)]), Params(k=1)).seeds.tolist() == [0]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 9}, "k is 9; 1 to 8"),
        ({"k": None}, "number of seeds by -k, or what"),
        ({"budget": 3}, "either -k"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 1.0}, "epsilon"),
        ({"epsilon": 9e-7}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"model": "sir"}, "choose ic or lt"),
        ({"bound": "x"}, "opim or imm"),
        ({"sampler": "x"}, "skip or scan"),
        ({"samples": "x"}, "grid or fresh or original"),
        ({"selection": "x"}, "index or scan"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 256}, "rounds"),
        ({"min_sets": -1}, "--min-sets is -1; 0 to 2\\^40 - 1"),
        ({"seed": 2**64}, "seed"),
        ({"include": [1, 2, 3]}, "k is 2"),
        ({"include": [8]}, "not in"),
        ({"include": [1, 1]}, "twice"),
        ({"include": [1], "exclude": [1]}, "both"),
        ({"exclude": [0, 1, 2, 3, 4, 5, 6]}, "only 1"),
        ({"include": [1], "rounds": 2}, "one round"),
        ({"root_weights": np.zeros(8, np.int64)}, "the targets count 0 together"),
        ({"root_weights": np.array([1, -1, 0, 0, 0, 0, 0, 5])}, "root weights"),
        ({"root_weights": np.ones(7, np.int64)}, "root weights"),
        ({"root_weights": np.array([1] + [0] * 7), "exclude": [0]}, "no target"),
        ({"costs": np.ones(8, np.int64)}, "budget"),
        ({"k": None, "budget": 5, "costs": np.zeros(8, np.int64)}, "costs must be"),
        ({"k": None, "budget": 5, "costs": np.full(8, 6)}, "below the cost"),
        ({"k": None, "budget": 5, "costs": np.full(8, 3), "include": [1, 2]}, "more than the budget"),
        ({"k": None, "budget": 0}, "below the cost"),
        ({"k": None, "budget": 5, "rounds": 2}, "one round"),
    ],
)
def test_what_is_not_allowed(cascade, change, line):
    with pytest.raises(UsageError, match=line):
        maximise(cascade, Params(**({"k": 2} | change)))


def test_graphs_that_cannot_be_used(make_graph, cascade):
    with pytest.raises(InputError, match="no edges"):
        maximise(Graph(np.zeros(6, np.int64), np.zeros(0, np.int32)), Params(k=1))
    with pytest.raises(InputError, match="transpose"):
        maximise(replace(cascade, in_indptr=None, in_indices=None), Params(k=1))
    with pytest.raises(InputError, match="vertex 3"):
        maximise(make_graph(4, [(0, 3), (1, 3), (2, 3)], Weights("const", 0.5)), Params(k=1, model="lt"))
