"""Sizes and bounds against the printed formulas at 60 digits (oracles/bounds.py)."""

from decimal import Decimal
from math import comb

import pytest
from oracles import bounds as oracle

from gpukit.gim.bounds import (
    BUDGET_RATIO,
    GREEDY_RATIO,
    ROUNDS_RATIO,
    Family,
    grid_floor,
    imm_plan,
    opim_lower,
    opim_plan,
    opim_upper,
)
from gpukit.worlds.bounds import log_choose

CASES = [
    (75879, 50, 0.05),
    (1 << 20, 50, 0.05),
    (4, 1, 0.3),
    (2, 1, 0.1),
    (10, 10, 0.1),
    (5000, 2500, 0.9),
    (317080, 4, 0.01),
]


def family(n, k, rounds=1, mass=None, least=None):
    ratio = GREEDY_RATIO if rounds == 1 else ROUNDS_RATIO
    return Family(n, mass or n, Decimal(mass or n), least or min(n, k * rounds), ratio, rounds * log_choose(n, k))


@pytest.mark.parametrize(("n", "k"), [(5, 0), (5, 5), (50, 7), (3000, 1000), (3000, 1001), (9001, 4000), (1 << 20, 50)])
def test_log_choose(n, k):
    assert abs(log_choose(n, k) - Decimal(comb(n, k)).ln()) < Decimal("1e-22")
    assert abs(log_choose(n, k) - log_choose(n, n - k)) < Decimal("1e-30")


def test_log_choose_refuses_more_than_there_are():
    with pytest.raises(ValueError, match="C"):
        log_choose(3, 4)


def test_ratios():
    assert abs(GREEDY_RATIO - oracle.ratio()) < Decimal("1e-38")
    assert ROUNDS_RATIO == oracle.ratio(2)
    assert abs(BUDGET_RATIO * 2 - GREEDY_RATIO) < Decimal("1e-27")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("rounds", [1, 5])
def test_opim_sizes(case, rounds):
    n, k, epsilon = case
    expected = oracle.opim(n, k, epsilon, rounds)
    plan = opim_plan(family(n, k, rounds), epsilon)
    assert plan.first == expected.theta_0
    assert plan.cap == oracle._ceil(expected.theta_max)
    assert plan.steps == expected.i_max
    assert abs(plan.a - expected.a) < Decimal("1e-35")
    assert plan.first * 2 ** (plan.steps - 1) >= plan.cap, "the cap is reached within the union bound"


def test_opim_sizes_with_weights():
    expected = oracle.opim(1000, 10, 0.1, total=123_456_789, optimum=54_321)
    plan = opim_plan(family(1000, 10, mass=123_456_789, least=54_321), 0.1)
    assert (plan.first, plan.cap, plan.steps) == (
        expected.theta_0,
        oracle._ceil(expected.theta_max),
        expected.i_max,
    )


def test_more_sets_start_the_same_doubling_later():
    few, many = (opim_plan(family(75879, 50), 0.05, sets) for sets in (0, 100_001))
    assert many.first == 50_001
    assert (many.cap, many.steps, many.a, many.target) == (few.cap, few.steps, few.a, few.target)


@pytest.mark.parametrize(("hit", "most", "sets"), [(0, 0, 10), (3, 5, 700), (1695, 2197, 11200), (700, 700, 700)])
def test_opim_bounds(hit, most, sets):
    a = oracle.opim(75879, 50, 0.05).a
    gamma, none = Decimal(75879), Decimal(0)
    lower, upper = opim_lower(hit, sets, gamma, a, none, 50), opim_upper(Decimal(most), sets, gamma, a, none, 75879)
    assert abs(lower - oracle.opim_lower(hit, sets, 75879, a, 50)) < Decimal("1e-30")
    assert abs(upper - oracle.opim_upper(most, sets, 75879, a)) < Decimal("1e-30")
    assert 50 <= lower and upper <= 75879
    if hit:
        assert lower < Decimal(hit) * 75879 / sets < upper or upper == 75879


@pytest.mark.parametrize("case", [case for case in CASES if case[0] >= 4])
def test_imm_sizes(case):
    n, k, epsilon = case
    plan = imm_plan(family(n, k), epsilon)
    assert list(plan.search) == oracle.imm_search_sizes(n, k, epsilon)
    for lower in (Decimal(k), Decimal(n), Decimal("1234.5")):
        assert plan.last(lower) == oracle.imm_final_size(n, k, epsilon, lower)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_imm_of_tiny_graphs_searches_nothing(n):
    plan = imm_plan(family(n, 1), 0.5)
    assert plan.search == ()
    assert plan.last(Decimal(1)) > 0


def test_imm_stops_where_the_paper_does():
    plan = imm_plan(family(1000, 5), 0.2)
    sets = plan.search[2]
    enough = (1 + Decimal(2).sqrt() * Decimal("0.2")) * 125 * sets / 1000  # (1 + ε')·x·θ/n with x = n/8
    assert not plan.found(3, int(enough), sets)
    assert plan.found(3, int(enough) + 1, sets)
    lower = plan.lower(int(enough) + 1, sets)
    assert 125 <= lower < 126
    assert plan.lower(0, sets) == 5


@pytest.mark.parametrize("case", [case for case in CASES if case[0] >= 4])
def test_levels(case):
    n, k, epsilon = case
    plan, expected = imm_plan(family(n, k), epsilon), oracle.imm_levels(n, k, epsilon)
    assert (plan.bottom, plan.top, plan.levels) == (min(expected.proof), max(expected.proof), len(expected.proof))
    for level in {plan.bottom, (plan.bottom + plan.top) // 2, plan.top}:
        assert plan.proof(level) == expected.proof[level]
        assert plan.enough(level) == expected.enough[level]
        sets = plan.proof(level)
        hits = (1 + Decimal(2).sqrt() * Decimal(repr(epsilon))) * Decimal("1.01") ** level * sets / n
        assert not plan.proves(level, int(hits), sets) or hits == int(hits)
        assert plan.proves(level, int(hits) + 1, sets)


def test_guess_leaves_room():
    plan = imm_plan(family(75879, 50), 0.05)
    factor = (1 + Decimal(2).sqrt() * Decimal("0.05")) ** 2
    level = plan.guess(4000, 32768)
    assert Decimal("1.01") ** level <= Decimal(4000) * 75879 / 32768 / factor < Decimal("1.01") ** (level + 1)
    assert plan.guess(0, 32768) == plan.bottom


def test_levels_ask_for_few_more_sets_than_printed():
    plan = imm_plan(family(75879, 50), 0.05)
    level = grid_floor(Decimal("11432.1"))
    assert oracle.grid_floor("11432.1")[0] == level
    assert 1.01 < plan.enough(level) / plan.last(Decimal("11432.1")) < 1.08


def test_weighted_search_reaches_the_least_optimum():
    plan = imm_plan(family(100, 2, mass=10**12, least=3), 0.5)
    smallest = Decimal(10**12) / 2 ** len(plan.search)
    assert 3 <= smallest < 6
    assert list(plan.search) == sorted(plan.search)
