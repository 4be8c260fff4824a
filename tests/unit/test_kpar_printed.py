"""The printed bounds and walks of kPAR's paper, compared with its own theorem."""

import math
from fractions import Fraction

import pytest

from gpukit.kpar import Params
from gpukit.kpar.problem import ONE, Constants


@pytest.mark.parametrize("estimate", [1e-4, 0.003, 0.2])
def test_the_printed_upper_bound_is_below_that_of_theorem_2(estimate):
    # Nothing is in the reserve yet. Lemma 1: the printed ε' is that of which theorem 2 fails with p'_f where π is π̂.
    constants = Constants.of(5000, 40_000, Params())
    step = constants.schedule(10)[0]
    rho, log_term = step.rho / ONE, float(constants.log_term)
    c = rho * log_term
    e = c / (3 * estimate) + math.sqrt((c / (3 * estimate)) ** 2 + 2 * c / estimate)
    assert (2 * e / 3 + 2) / (e * e * estimate) == pytest.approx(1 / c)
    assert (e * estimate) ** 2 / (2 * rho * estimate + 2 * rho * e * estimate / 3) == pytest.approx(log_term)
    # With the true value at the printed bound theorem 2 allows more than p'_f; ours, which does not, lies above it.
    printed = (1 + e) * estimate
    assert (e * estimate) ** 2 / (2 * rho * printed + 2 * rho * e * estimate / 3) < 0.999 * log_term
    a, b, d = step.upper
    assert estimate + a + math.sqrt(b + d * estimate) > printed
    # Lemma 1 itself, where π > δ' = π̂, gives π < π̂/(1 - ε'), which is more than is printed, or nothing.
    assert e >= 1 or estimate / (1 - e) > printed


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_equation_8_asks_for_no_more_walks_than_are_stored(factor):
    # x = d · r_max · ψ / δ_min walks are needed, ⌈x⌉ drawn, and a⌈x⌉ stored; (8) with δ_min cancelled.
    for x in (Fraction(n, 7) for n in range(1, 200)):
        beta = (factor * math.ceil(x) - 1) / x
        assert beta >= 1 and factor * math.ceil(x) - 1 <= math.ceil(beta * x) <= factor * math.ceil(x)
