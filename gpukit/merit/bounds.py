"""The number of mRR sets of a round and the test of its batch, equal on every machine.

Source: MERIT, algorithm 1, with the square that is missing in print. A round has n inactive vertices, and η of
them remain to be activated. It chooses a batch of b seeds by greedy coverage per cost. Decisions use decimal numbers.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache

from gpukit.worlds.bounds import CONTEXT, ceiling, hit_lower, hit_upper, log_choose

STEP = 16
"""A trial has a sixteenth more sets than the previous one. The paper doubles them, which on average draws 1.44 times
as many sets as needed. More trials cost only the logarithm of their number in the bounds."""

JUDGES = 4
"""Number of sets that a batch is chosen from, divided by the number of judging sets."""

SERVES = 64
"""Most rounds in which the same judging sets are used."""


def judging(size: int) -> int:
    """Return the number of judging sets for a batch chosen from ``size`` sets."""
    return -(-size // JUDGES)


@dataclass(frozen=True)
class Plan:
    """Sizes and thresholds of one round.

    Attributes
    ----------
    sizes : tuple of int
        Number of sets of each trial. The first is θ. The last is θ_max, at which a batch needs no certificate.
    fresh : bool
        Whether a batch is judged by other sets than those it was chosen from.
    lower, upper : Decimal
        a₁ and a₂: negative logarithms of the probability that a bound fails.
    target : Decimal
        ρ_b · (1 - ε̂), where ρ_b = 1 - (1 - 1/b)^b is the guarantee of greedy coverage per cost.
    """

    sizes: tuple[int, ...]
    fresh: bool
    lower: Decimal
    upper: Decimal
    target: Decimal

    def judging(self, size: int) -> int:
        """Return the number of judging sets for a batch chosen from ``size`` sets."""
        return judging(size) if self.fresh else size

    def accepts(self, size: int, coverage_upper: int, hits: int) -> bool:
        """Return whether a batch that hits ``hits`` judging sets is certified.

        ``coverage_upper`` is an upper bound on the coverage of any seeds that cost no more.
        """
        with localcontext(CONTEXT):
            least = hit_lower(Decimal(hits), self.lower) * size
            return least > self.target * hit_upper(Decimal(coverage_upper), self.upper) * self.judging(size)

    def would_certify(self, size: int, coverage_upper: float, covered: float) -> bool:
        """Return whether a batch would be certified if it hit the same share of the judging sets as of its own sets."""
        share = self.judging(size) / size
        lower, upper = float(self.lower), float(self.upper)
        least = math.sqrt(covered * share + 2 * lower / 9) - math.sqrt(lower / 2)
        largest = math.sqrt(coverage_upper + upper / 2) + math.sqrt(upper / 2)
        return least > 0 and least * least - lower / 18 > float(self.target) * largest * largest * share

    def needed(self, size: int, coverage_upper: float, covered: float) -> int:
        """Return the first index into ``sizes`` that would certify, if counts grow in proportion to the sets."""

        def would_certify(other: int) -> bool:
            return self.would_certify(other, coverage_upper * other / size, covered * other / size)

        return bisect_left(self.sizes, True, key=would_certify)


def max_coverage(gains: list[int], costs: list[int], sets: int, leaders: list[tuple[int, int]]) -> int:
    """Return an upper bound on the coverage of any seeds that cost no more than a greedy batch.

    Given the first i seeds S_i, no vertex adds more per cost than the next seed. So seeds of cost B cover at most
    Λ(S_i) + B · gain_i / cost_i, for every i. The least of these bounds is at most Λ(S)/ρ_b, the paper's bound, which
    Krause and Guestrin (2005, lemma 3) derive from the same inequalities. A second bound is the sum of the seeds'
    separate coverages. It is largest for the leaders, with a fraction of the last one (the fractional knapsack of cost
    B).

    Parameters
    ----------
    gains, costs : list of int
        New coverage and cost of each seed of the batch, in order of choice.
    sets : int
        Number of sets.
    leaders : list of (int, int)
        Separate coverage and cost of the vertices with the highest coverage per cost, by falling ratio. No other vertex
        has a larger ratio than the last one.
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
    """Return the sizes of trials, from ``first`` to more than any plan needs; cached, because rounds repeat them."""
    sizes = [first]
    while sizes[-1] < 1 << 64:
        sizes.append(sizes[-1] + -(-sizes[-1] // STEP))
    return tuple(sizes)


def plan(n: int, b: int, epsilon: float, certificate: str, batch_costs: int) -> Plan:
    """Return sizes and thresholds of a round.

    Parameters
    ----------
    n : int
        Number of inactive vertices, >= 2.
    b : int
        Number of seeds of the batch, in [1, n).
    epsilon : float
        In (0, 1).
    certificate : str
        ``fresh``: separate sets judge a batch. They are used for up to ``SERVES`` rounds, so a union bound over these
        rounds is needed. ``paper``: a batch is judged by the sets that it was chosen from, so a union bound over all
        batches is needed.
    batch_costs : int
        Upper bound on the number of different costs that a batch can have. The optimum that a batch is compared with
        depends on its cost, so a union bound over these costs is needed.
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
