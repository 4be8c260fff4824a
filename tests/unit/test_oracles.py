"""The oracles against hand-made answers, against each other and against theorems."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from oracles import bounds, coverage, statistics, worlds
from oracles.binomial import binomial_cdf, poisson_binomial

from gpukit.graph.csr import Weights

HALF = Fraction(1, 2)


def test_path_spread_by_hand(make_graph):
    graph = make_graph(3, [(0, 1, 0.5), (1, 2, 0.25)])
    for model in ("ic", "lt"):
        assert worlds.spread(graph, [0], model) == 1 + HALF + Fraction(1, 8)
        assert worlds.spread(graph, [0], model, targets=[0, 0, 8]) == 1
    assert worlds.rounds_spread(graph, [[0], [0]], "ic") == 1 + Fraction(3, 4) + (1 - Fraction(7, 8) ** 2)


def test_models_differ_where_two_edges_meet(make_graph):
    graph = make_graph(3, [(0, 2, 0.5), (1, 2, 0.5)])
    assert worlds.activation(graph, [0, 1], "ic")[2] == Fraction(3, 4)
    assert worlds.activation(graph, [0, 1], "lt")[2] == 1


def test_rr_sets_by_hand(make_graph):
    graph = make_graph(2, [(0, 1, 0.25)])
    assert worlds.rr_distribution(graph, "ic") == {0b01: HALF, 0b10: Fraction(3, 8), 0b11: Fraction(1, 8)}
    assert worlds.rr_membership(graph, "lt", roots=[0, 3]) == [Fraction(1, 4), 1]


@pytest.mark.parametrize("model", ["ic", "lt"])
@pytest.mark.parametrize("key", range(4))
def test_rr_sets_give_the_spread(random_graph, model, key):
    """W · Pr[S hits a random RR set] is the weighted spread of S (Borgs et al. 2014), exactly."""
    graph = random_graph(6, 9, key)
    roots = [3, 0, 1, 5, 2, 1]
    distribution = worlds.rr_distribution(graph, model, roots)
    assert sum(distribution.values()) == 1
    for seeds in ([0], [2, 5], [1, 3, 4]):
        hit = sum(p for members, p in distribution.items() if members & worlds.mask_of(seeds))
        assert 12 * hit == worlds.spread(graph, seeds, model, roots)


def test_worlds_are_a_distribution(random_graph):
    for scheme in (Weights(), Weights("const", 0.25)):
        graph = random_graph(6, 8, 7, scheme)
        assert sum(chance for chance, _ in worlds.ic_worlds(graph)) == 1
    assert sum(chance for chance, _ in worlds.lt_worlds(random_graph(6, 8, 7))) == 1


def test_greedy_ties_and_optimum():
    sets = [[0, 2], [0, 3], [1, 2], [1, 3], [4]]
    assert coverage.greedy(sets, 5, 3) == ([0, 1, 4], [2, 4, 5])
    assert coverage.best_seed_set(5, 2, lambda s: coverage.covered(sets, s)) == ((0, 1), 4)
    assert coverage.optimum_bound(sets, 5, 2) == 4
    assert coverage.greedy([[]], 3, 2) == ([0, 1], [0, 0])


def test_optimum_bound_is_one():
    generator = np.random.default_rng(5)
    for _ in range(20):
        sets = [np.flatnonzero(generator.random(7) < 0.3).tolist() for _ in range(12)]
        best = coverage.best_seed_set(7, 3, lambda s, sets=sets: coverage.covered(sets, s))[1]
        chosen, counts = coverage.greedy(sets, 7, 3)
        assert counts[-1] <= best <= coverage.optimum_bound(sets, 7, 3)
        assert counts[-1] == coverage.covered(sets, chosen) >= (1 - 1 / math.e) * best


def test_greedy_rounds_keeps_to_the_matroid():
    assert coverage.greedy_rounds([[0, 4], [0], [1], [5], [2]], 3, 2, 1) == ([0, 5], [2, 3])
    assert coverage.greedy_rounds([[0], [0], [1], [1], [5]], 3, 2, 1) == ([0, 5], [2, 3])


def _log_comb(n, k):
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


@pytest.mark.parametrize(("n", "k", "epsilon"), [(75_879, 50, 0.1), (1000, 1, 0.5), (10, 10, 0.3)])
def test_opim_in_floats(n, k, epsilon):
    result = bounds.opim(n, k, epsilon)
    six, rho = math.log(6 * n), 1 - 1 / math.e
    root = rho * math.sqrt(six) + math.sqrt(rho * (_log_comb(n, k) + six))
    assert float(result.theta_max) == pytest.approx(2 * n * root**2 / (epsilon**2 * k), rel=1e-9)
    assert result.theta_0 == math.ceil(2 * root**2)
    assert result.i_max == math.ceil(math.log2(n / (epsilon**2 * k))) + 1
    assert float(result.a) == pytest.approx(math.log(3 * result.i_max * n))


def test_opim_bounds_hold_the_estimate():
    for covered, theta in ((0, 100), (37, 100), (90, 100)):
        lower = bounds.opim_lower(covered, theta, 1000, 10, 5)
        upper = bounds.opim_upper(covered, theta, 1000, 10)
        assert 5 <= lower <= max(5, 1000 * covered / theta) <= upper <= 1000
    assert float(bounds.opim_upper(4, 1000, 1000, 2)) == pytest.approx((math.sqrt(5) + 1) ** 2)
    assert float(bounds.opim_lower(16, 16, 16, 2, 1)) == pytest.approx((math.sqrt(16 + 4 / 9) - 1) ** 2 - 1 / 9)


def test_imm_in_floats():
    n, k, epsilon = 75_879, 50, 0.1
    ell, prime, logs = 1 + math.log(2) / math.log(n), math.sqrt(2) * 0.1, _log_comb(n, k)
    x = n / 2**3
    tries = (2 + 2 / 3 * prime) * (logs + ell * math.log(n) + math.log(math.log2(n))) * n / prime**2 / x
    sizes = bounds.imm_search_sizes(n, k, epsilon)
    assert len(sizes) == 15
    assert sizes[2] == math.ceil(tries)
    alpha = math.sqrt(ell * math.log(n) + math.log(2))
    beta = math.sqrt((1 - 1 / math.e) * (logs + ell * math.log(n) + math.log(2)))
    theta = 2 * n * ((1 - 1 / math.e) * alpha + beta) ** 2 / epsilon**2 / 9000
    assert bounds.imm_final_size(n, k, epsilon, 9000) == math.ceil(theta)


def test_grid_floor_beside_its_own_points():
    assert bounds.grid_floor(1) == (0, 1)
    assert bounds.grid_floor("1.0099")[0] == 0
    for j in (1, 17, 400):
        point, step = Decimal("1.01") ** j, Decimal("1e-20")
        assert bounds.grid_floor(point * (1 + step))[0] == j
        assert bounds.grid_floor(point * (1 - step))[0] == j - 1


def test_binomials():
    assert binomial_cdf(2, HALF) == [Fraction(1, 4), Fraction(3, 4), 1]
    chances = [Fraction(1, 3)] * 5
    cumulated = np.cumsum(poisson_binomial(chances)).tolist()
    assert cumulated == binomial_cdf(5, Fraction(1, 3))
    assert poisson_binomial([HALF, 1]) == [0, HALF, HALF]


def test_statistics_notice_a_wrong_coin():
    """A fair coin passes, one with probability 0.51 does not, at 200,000 tosses."""
    tosses = 200_000
    fair = {0: HALF, 1: HALF}
    for share, passes in ((0.5, True), (0.51, False)):
        counts = {0: int(tosses * (1 - share)), 1: int(tosses * share)}
        assert (statistics.chi_square_p(counts, fair) > statistics.ALPHA) == passes
        if passes:
            statistics.check_mean(share, HALF, tosses, 1)
            statistics.check_cells(counts, fair)
        else:
            with pytest.raises(AssertionError):
                statistics.check_mean(share, HALF, tosses, 1)
            with pytest.raises(AssertionError):
                statistics.check_cells(counts, fair)
    with pytest.raises(AssertionError):
        statistics.check_cells({2: 1}, fair)
