"""The binomial distribution in exact fractions."""

from fractions import Fraction
from math import comb


def binomial_cdf(trials: int, p: Fraction) -> list[Fraction]:
    """Return Pr[X <= k] for k = 0 … trials."""
    total = Fraction(0)
    result = []
    for k in range(trials + 1):
        total += comb(trials, k) * p**k * (1 - p) ** (trials - k)
        result.append(total)
    return result


def poisson_binomial(chances) -> list[Fraction]:
    """Return Pr[X = k] for the number X of successes in independent trials of these probabilities."""
    result = [Fraction(1)]
    for p in chances:
        result = [
            (result[k] * (1 - p) if k < len(result) else 0) + (result[k - 1] * p if k else 0)
            for k in range(len(result) + 1)
        ]
    return result
