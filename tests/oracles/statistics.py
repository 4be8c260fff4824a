"""Tests of random output with a proved bound on the probability of a false alarm.

Seeds are fixed, so a test that passes keeps passing. If a seed or the keying of draws changes, each check fails a
correct program with probability at most ``alpha``, 1e-6 by default.
"""

import math
from collections.abc import Mapping

ALPHA = 1e-6


def hoeffding_radius(runs: int, width: float, alpha: float = ALPHA) -> float:
    """Return r with Pr[|mean - expectation| > r] <= alpha, for independent values in a range of this width."""
    return width * math.sqrt(math.log(2 / alpha) / (2 * runs))


def check_mean(mean: float, expected, runs: int, width: float, alpha: float = ALPHA) -> None:
    """Fail if a mean of ``runs`` independent values in a range of this width is too far from its expectation."""
    radius = hoeffding_radius(runs, width, alpha)
    assert abs(mean - float(expected)) <= radius, f"mean {mean} is not within {radius:.4g} of {float(expected)}"


def bernstein_radius(runs: int, p: float, alpha: float) -> float:
    """Return r with Pr[|count / runs - p| > r] <= alpha for a binomial count."""
    log = math.log(2 / alpha)
    return math.sqrt(2 * p * (1 - p) * log / runs) + 2 * log / (3 * runs)


def check_cells(counts: Mapping, probabilities: Mapping, alpha: float = ALPHA) -> None:
    """Fail if outcomes do not follow a distribution.

    An outcome of probability zero fails at once; every other cell must lie within Bernstein's bound of its probability,
    with alpha shared among the cells (a union bound).

    Parameters
    ----------
    counts : mapping
        Number of times each outcome was seen.
    probabilities : mapping
        Probability of each possible outcome; they sum to one.
    """
    impossible = [outcome for outcome in counts if counts[outcome] and not probabilities.get(outcome)]
    assert not impossible, f"outcome {impossible[0]} has probability zero"
    runs = sum(counts.values())
    for outcome, p in probabilities.items():
        radius = bernstein_radius(runs, float(p), alpha / len(probabilities))
        share = counts.get(outcome, 0) / runs
        assert abs(share - float(p)) <= radius, f"{outcome}: share {share} is not within {radius:.4g} of {float(p):.6g}"


def chi_square_p(counts: Mapping, probabilities: Mapping) -> float:
    """Return the p-value of Pearson's chi-square test, small cells (expected < 10) pooled; asymptotic.

    Sharper than :func:`check_cells` for many cells that are each a little off: compare it with ``ALPHA``.
    """
    from scipy.stats import chi2

    runs = sum(counts.values())
    pairs = [(counts.get(outcome, 0), float(p) * runs) for outcome, p in probabilities.items() if p]
    cells = [pair for pair in pairs if pair[1] >= 10]
    rest = [pair for pair in pairs if pair[1] < 10]
    pooled = (sum(seen for seen, _ in rest), sum(expected for _, expected in rest))
    if pooled[1] >= 10:
        cells.append(pooled)
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in cells)
    return float(chi2.sf(statistic, len(cells) - 1))
