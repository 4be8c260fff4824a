"""The last word on candidates: what each reaches by sets that had no part in choosing any of them."""

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
"""First sample id of the sets that judge."""

APART = 1 << 40
"""Ids between the parts that are drawn one after the other, each instead of the one before."""

PARTS = (1, 2)
"""How many parts may judge; each has as many sets as a half that chose."""

ACCURATE = 0.005
"""A standard error, as a share of the estimate, at which no more sets are drawn."""

ADDED = 4
"""What is added to the variance of a number of hits, which the sample puts at 0 where none or all are hit."""


class Candidate(NamedTuple):
    """Seeds, and who proposed them."""

    name: str
    seeds: np.ndarray


class Verdict(NamedTuple):
    """What candidates reach.

    Attributes
    ----------
    best : int
        The candidate that reaches most; the first one among equals.
    sets : int
        Sets that judged.
    hits : list of int
        How many of them each candidate hits.
    spreads : list of float
        What each reaches.
    gains : int64 array or None
        Sets that each seed of the best newly hits; None where sets ended early.
    """

    best: int
    sets: int
    hits: list[int]
    spreads: list[float]
    gains: np.ndarray | None


def judge(problem: Problem, candidates: Sequence[Candidate], another: Another, size: int) -> Verdict:
    """Estimate what candidates reach.

    Parameters
    ----------
    problem : Problem
    candidates : sequence of Candidate
    another : callable
        Returns an empty collection that begins at an id.
    size : int
        Sets of a part.
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
    """Return the rule by which a set ends that all candidates hit, most of the time at a seed of all of them."""
    seeds, times = np.unique(np.concatenate([one.seeds for one in candidates]), return_counts=True)
    marks = orders(graph, seeds[times == len(candidates)])
    for i, one in enumerate(candidates):
        marks[one.seeds] |= np.uint8(1 << i)
    return Ending(marks, (1 << len(candidates)) - 1, -1, graph.n)


def standard_error(gamma: Decimal | int, hits: int, sets: int, added: int = ADDED) -> float:
    """Return the standard error of Γ times the share of sets hit.

    By the sample alone (``added`` = 0) it is 0 where none or all are hit, and too small near there. As it is, two
    standard errors on either side hold the expected share in at least 95 % of the samples, whatever that share is and
    however many sets there are (by enumeration of the binomial distributions of up to 3,000 sets).
    """
    share = hits / sets
    return float(gamma) * sqrt((share * (1 - share) + added / sets) / sets)
