"""The final estimate of candidates: the spread of each, from sets that had no part in choosing any of them."""

from collections.abc import Sequence
from decimal import Decimal
from math import sqrt
from typing import NamedTuple

import numpy as np

from gpukit.gim.problem import Problem
from gpukit.gim.sentinel import Another, orders
from gpukit.graph.csr import Graph
from gpukit.worlds.reverse import NEVER, Ending

FIRST = 3 << 46
"""First sample id of the judging sets."""

APART = 1 << 40
"""Ids between the parts that are drawn one after the other; a part replaces the one before."""

PARTS = (1, 2)
"""Possible numbers of judging parts; each part has as many sets as one of the collections that chose."""

ACCURATE = 0.005
"""Standard error, as a share of the estimate, at which no more sets are drawn."""

ADDED = 4
"""Added to the variance of a number of hits; the sample variance is 0 if no set or every set is hit."""


class Candidate(NamedTuple):
    """Seeds, and the method that proposed them."""

    name: str
    seeds: np.ndarray


class Verdict(NamedTuple):
    """Estimated spreads of candidates.

    Attributes
    ----------
    best : int
        The candidate of the largest spread; the first one among equals.
    sets : int
        Number of judging sets.
    hits : list of int
        Number of judging sets that each candidate hits.
    spreads : list of float
        Estimated spread of each.
    gains : int64 array or None
        Sets that each seed of the best candidate newly hits; None if sets ended early.
    """

    best: int
    sets: int
    hits: list[int]
    spreads: list[float]
    gains: np.ndarray | None


def judge(problem: Problem, candidates: Sequence[Candidate], another: Another, size: int) -> Verdict:
    """Estimate the spread of candidates.

    Parameters
    ----------
    problem : Problem
    candidates : sequence of Candidate
    another : callable
        Returns an empty collection that begins at a sample id.
    size : int
        Sets of one part.
    """
    early = problem.sentinel is not None
    ending = _met_by_all(problem.graph, candidates) if early else NEVER
    bonus = [problem.known.bonus(one.seeds) for one in candidates]
    prefixes = [np.zeros(len(one.seeds) + 1, np.int64) for one in candidates]
    drawn = ended = 0
    for parts in PARTS:
        while drawn < parts:
            sets = another(FIRST + drawn * APART, ending)
            sets.extend(size)
            for i, one in enumerate(candidates):
                prefixes[i] += sets.coverage(one.seeds)
            ended += sets.ended() if early else 0
            drawn += 1
        total = drawn * size
        hits = [int(one[-1]) + ended for one in prefixes]
        worth = [known + problem.known.gamma * hit / total for known, hit in zip(bonus, hits, strict=True)]
        best = max(range(len(worth)), key=lambda i: (worth[i], -i))
        if standard_error(problem.known.gamma, hits[best], total, 0) <= ACCURATE * float(worth[best]):
            break
    gains = None if early else np.diff(prefixes[best])
    return Verdict(best, total, hits, [float(one) for one in worth], gains)


def _met_by_all(graph: Graph, candidates: Sequence[Candidate]) -> Ending:
    """Return the rule that ends a set once all candidates hit it, usually at a seed that they have in common."""
    seeds, times = np.unique(np.concatenate([one.seeds for one in candidates]), return_counts=True)
    marks = orders(graph, seeds[times == len(candidates)])
    for i, one in enumerate(candidates):
        marks[one.seeds] |= np.uint8(1 << i)
    return Ending(marks, (1 << len(candidates)) - 1, -1, graph.n)


def standard_error(gamma: Decimal | int, hits: int, sets: int, added: int = ADDED) -> float:
    """Return the standard error of Γ times the share of sets hit.

    From the sample alone (``added`` = 0) it is 0 if no set or every set is hit, and too small if nearly none or nearly
    all are. With the default, two standard errors on either side contain the expected share in at least 95 % of the
    samples, whatever that share and the number of sets (by enumeration of the binomial distributions of up to 3,000
    sets).
    """
    share = hits / sets
    return float(gamma) * sqrt((share * (1 - share) + added / sets) / sets)
