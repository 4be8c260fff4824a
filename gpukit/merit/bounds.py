"""How many mRR sets a round needs, and when its batch is good enough; decimal arithmetic, the same on every machine.

Source: MERIT, algorithm 1, with the square that is lost in print. A round has n living vertices, of which η are still
to be activated; it chooses a batch of b seeds by greedy coverage per cost.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext

from gpukit.worlds.bounds import CONTEXT, ceiling, doublings, hit_lower, hit_upper, log_choose


@dataclass(frozen=True)
class Plan:
    """Sizes and thresholds of one round.

    Attributes
    ----------
    first : int
        θ: sets of the first trial; they double.
    cap : int
        θ_max: as many sets do without a certificate.
    trials : int
        H: trials at most.
    lower, upper : Decimal
        a₁ and a₂: logarithms of the chance that a bound fails.
    target : Decimal
        ρ_b · (1 - ε̂), with ρ_b = 1 - (1 - 1/b)^b, what greedy coverage per cost promises.
    """

    first: int
    cap: int
    trials: int
    lower: Decimal
    upper: Decimal
    target: Decimal

    def accepts(self, most: int, hits: int) -> bool:
        """Return whether a batch is certified that hits ``hits`` of the judging sets, if none hits over ``most``."""
        with localcontext(CONTEXT):
            return hit_lower(Decimal(hits), self.lower) > self.target * hit_upper(Decimal(most), self.upper)


def most_covered(gains: list[int], costs: list[int], sets: int) -> int:
    """Return a bound on what any seeds that cost no more than a greedy batch cover of the sets it was chosen from.

    Given the first i seeds S_i no vertex adds more per cost than the next seed does, so seeds of cost B cover at most
    Λ(S_i) + B · gain_i / cost_i, for every i. The least of these is at most Λ(S)/ρ_b, the paper's bound, which Krause
    and Guestrin (2005, lemma 3) derive from the same inequalities.

    Parameters
    ----------
    gains, costs : list of int
        What each seed of the batch newly covered, and its cost, in order of choice.
    sets : int
        Number of sets.
    """
    budget, covered, most = sum(costs), 0, sets
    for gain, cost in zip(gains, costs, strict=True):
        most = min(most, covered + gain * budget // cost)
        covered += gain
    return most


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
        ``fresh``: the judging sets are not those the batch was chosen from; ``paper``: they are, which costs a union
        bound over all batches.
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
        factor = max(Decimal(1), n / (accuracy * accuracy * b))
        trials = doublings(factor) + 1
        failure = (3 * trials * inverse).ln()
        return Plan(
            first=ceiling(start),
            cap=ceiling(start * factor),
            trials=trials,
            lower=failure + (batches if certificate == "paper" else 0),
            upper=failure + min(batches, Decimal(batch_costs).ln()),
            target=ratio * (1 - accuracy),
        )
