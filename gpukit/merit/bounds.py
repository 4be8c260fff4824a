"""How many mRR sets a round needs, and when its batch is good enough, the same on every machine.

Source: MERIT, algorithm 1, with the square that is lost in print. A round has n living vertices, of which η are still
to be activated; it chooses a batch of b seeds by greedy coverage per cost. Decisions are made in decimal arithmetic.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache

from gpukit.worlds.bounds import CONTEXT, ceiling, hit_lower, hit_upper, log_choose

STEP = 16
"""A trial has a sixteenth more sets than the one before. The paper doubles them, which on average draws 1.44 times as
many as are needed; more trials cost no more than a logarithm of their number in the bounds."""

JUDGES = 4
"""One judging set for so many that a batch is chosen from."""

SERVES = 64
"""Rounds that judging sets serve at most."""


def judging(size: int) -> int:
    """Return how many sets judge a batch that was chosen from ``size`` others."""
    return -(-size // JUDGES)


@dataclass(frozen=True)
class Plan:
    """Sizes and thresholds of one round.

    Attributes
    ----------
    sizes : tuple of int
        Sets of each trial: θ first; with the last, θ_max, a batch needs no certificate.
    fresh : bool
        Whether sets other than those a batch was chosen from judge it.
    lower, upper : Decimal
        a₁ and a₂: logarithms of the chance that a bound fails.
    target : Decimal
        ρ_b · (1 - ε̂), with ρ_b = 1 - (1 - 1/b)^b, what greedy coverage per cost guarantees.
    """

    sizes: tuple[int, ...]
    fresh: bool
    lower: Decimal
    upper: Decimal
    target: Decimal

    def judging(self, size: int) -> int:
        """Return how many sets judge a batch that was chosen from ``size`` sets."""
        return judging(size) if self.fresh else size

    def accepts(self, size: int, coverage_upper: int, hits: int) -> bool:
        """Return whether a batch that hits ``hits`` judging sets is certified; none covers over ``coverage_upper``."""
        with localcontext(CONTEXT):
            least = hit_lower(Decimal(hits), self.lower) * size
            return least > self.target * hit_upper(Decimal(coverage_upper), self.upper) * self.judging(size)

    def would_certify(self, size: int, coverage_upper: float, covered: float) -> bool:
        """Return whether a batch would be certified if it hit as large a share of the judging sets as of its own."""
        share = self.judging(size) / size
        lower, upper = float(self.lower), float(self.upper)
        least = math.sqrt(covered * share + 2 * lower / 9) - math.sqrt(lower / 2)
        largest = math.sqrt(coverage_upper + upper / 2) + math.sqrt(upper / 2)
        return least > 0 and least * least - lower / 18 > float(self.target) * largest * largest * share

    def needed(self, size: int, coverage_upper: float, covered: float) -> int:
        """Return the first place in ``sizes`` that would certify, if counts grow as they did up to ``size``."""

        def would_certify(other: int) -> bool:
            return self.would_certify(other, coverage_upper * other / size, covered * other / size)

        return bisect_left(self.sizes, True, key=would_certify)


def max_coverage(gains: list[int], costs: list[int], sets: int, leaders: list[tuple[int, int]]) -> int:
    """Return a bound on what any seeds that cost no more than a greedy batch cover of the sets it was chosen from.

    Given the first i seeds S_i no vertex adds more per cost than the next seed does, so seeds of cost B cover at most
    Λ(S_i) + B · gain_i / cost_i, for every i. The least of these is at most Λ(S)/ρ_b, the paper's bound, which Krause
    and Guestrin (2005, lemma 3) derive from the same inequalities. Nor do seeds cover more than the sum of what each
    covers alone, which is largest for the leaders, with a part of the last one (the fractional knapsack of cost B).

    Parameters
    ----------
    gains, costs : list of int
        What each seed of the batch newly covered, and its cost, in order of choice.
    sets : int
        Number of sets.
    leaders : list of (int, int)
        What vertices cover alone, and their costs: those that cover most per cost, by falling ratio; all other
        vertices have no larger ratio than the last.
    """
    budget, covered, upper = sum(costs), 0, sets
    for gain, cost in zip(gains, costs, strict=True):
        upper = min(upper, covered + gain * budget // cost)
        covered += gain
    left, alone = budget, 0
    for count, cost in leaders[:-1]:
        if cost >= left:
            return min(upper, alone + -(-count * left // cost))
        left -= cost
        alone += count
    for count, cost in leaders[-1:]:
        alone += -(-count * left // cost)
    return min(upper, alone)


@cache
def _ln(value: int) -> Decimal:
    return CONTEXT.ln(Decimal(value))


@cache
def _steps(first: int) -> tuple[int, ...]:
    """Return the sizes of trials from the first on, beyond any that can be needed; rounds seldom differ in them."""
    sizes = [first]
    while sizes[-1] < 1 << 64:
        sizes.append(sizes[-1] + -(-sizes[-1] // STEP))
    return tuple(sizes)


def plan(n: int, b: int, epsilon: float, certificate: str, batch_costs: int) -> Plan:
    """Return sizes and thresholds of a round.

    Parameters
    ----------
    n : int
        Living vertices, >= 2.
    b : int
        Seeds of the batch, in [1, n).
    epsilon : float
        In (0, 1).
    certificate : str
        ``fresh``: the judging sets are not those the batch was chosen from, and serve up to ``SERVES`` rounds, which
        costs a union bound over these; ``paper``: they are, which costs one over all batches.
    batch_costs : int
        Bound on the number of different costs a batch can have: the best set of the same cost depends on it.
    """
    with localcontext(CONTEXT):
        eps = Decimal(repr(epsilon))
        inverse = max(Decimal(n), 2 / eps)  # 1/δ; at least 2/ε, so that ε̂ > 0 on the smallest graphs
        accuracy = (eps - 1 / inverse) * (1 - 1 / inverse)
        ratio = 1 - (1 - Decimal(1) / b) ** b
        six = (6 * inverse).ln()
        batches = log_choose(n, b)
        root = six.sqrt() + ((batches + six) / ratio).sqrt()
        start = 2 * root * root
        steps, cap = _steps(ceiling(start)), ceiling(start * max(Decimal(1), n / (accuracy * accuracy * b)))
        sizes = (*steps[: bisect_left(steps, cap)], cap)
        failure = six + _ln(len(sizes)) - _ln(2)
        return Plan(
            sizes=sizes,
            fresh=certificate == "fresh",
            lower=failure + (batches if certificate == "paper" else _ln(SERVES)),
            upper=failure + min(batches, _ln(batch_costs)),
            target=ratio * (1 - accuracy),
        )
