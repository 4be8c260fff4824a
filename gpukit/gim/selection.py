"""Selection of seeds from a collection: by its index, under a budget, or by a function for sets in host memory."""

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from gpukit.device.timing import PhaseTimer
from gpukit.gim.problem import Problem
from gpukit.worlds.collection import Bonus, Collection, Query
from gpukit.worlds.cover_cpu import PLAIN


@dataclass(frozen=True, eq=False)
class Choice:
    """Chosen elements and their coverage.

    Attributes
    ----------
    seeds : int32 array, shape (s,)
        Elements ``round * n + v`` in order of choice.
    gains : int64 array, shape (s,)
        Number of sets that each seed newly covered.
    worth : Decimal
        Worth of the seeds, in sets: the sets that they cover, plus the part of their worth that needs no sets.
    worth_upper : Decimal or None
        Upper bound Λ₁ᵘ on the worth of any allowed choice, if requested.
    unit : int
        Number of units per set; known worths were rounded up to these units.
    hit : int or None
        Number of sets of the judging collection that the seeds cover.
    sets : int
        Number of sets that ``gains`` refer to.
    """

    seeds: np.ndarray
    gains: np.ndarray
    worth: Decimal
    worth_upper: Decimal | None
    unit: int = 1
    hit: int | None = None
    sets: int = 0

    @property
    def covered(self) -> int:
        """Number of sets that the seeds cover."""
        return int(self.gains.sum())


def choose(
    collection: Collection,
    problem: Problem,
    timer: PhaseTimer,
    *,
    bounds: bool,
    judge: Collection | None = None,
) -> Choice:
    """Choose seeds greedily from a collection.

    Parameters
    ----------
    collection : Collection
    problem : Problem
    timer : PhaseTimer
        Charged with ``selection``, and with ``transfer`` if sets have to leave a GPU.
    bounds : bool
        Whether to bound the worth of any other choice.
    judge : Collection, optional
        A collection in which to count the sets that the seeds cover.

    Notes
    -----
    Let k be the seeds of a round, and S_i a greedy prefix that holds the forced vertices or the sentinel. Any allowed
    set O is worth at most the worth of S_i plus the k largest marginal values given S_i (of each round). The bound is
    the least of these over all such prefixes. Source: Tang et al., SIGMOD 2018, section 5; under a budget see
    :func:`gpukit.gim.budget.choose`.
    """
    if problem.costs is None and problem.greedy is None:
        with timer.phase("selection"):
            bonus = problem.known.in_units(collection.size)
            query = Query(problem.k_max, problem.prefix, problem.blocked, bounds, bonus)
            found = collection.select(query)
            return _choice(found.seeds, found.gains, found.largest, bonus, problem, collection.size, judge)
    with timer.phase("transfer"):
        offsets, members = collection.export()
    n, rounds = collection.reverse.n, collection.reverse.rounds
    blocked = np.zeros(n * rounds, np.bool_) if problem.blocked is None else problem.blocked
    with timer.phase("selection"):
        bonus = problem.known.in_units(collection.size)
        worth = PLAIN if bonus is None else bonus.worth()
        counts = np.bincount(members, minlength=n * rounds)
        if problem.costs is not None:
            from gpukit.gim import budget

            seeds, gains, upper = budget.choose(
                offsets, members, counts, problem.costs, problem.forced, blocked, problem.budget_left, worth
            )
            choice = _choice(seeds, gains, None, bonus, problem, collection.size, judge)
            return replace(choice, worth_upper=Decimal(upper) / choice.unit)
        assert problem.greedy is not None
        seeds, gains, largest = problem.greedy(
            offsets, members, counts, n, rounds, problem.k_max, problem.forced, blocked.copy(), bounds, worth
        )
        return _choice(seeds, gains, largest if bounds else None, bonus, problem, collection.size, judge)


def _choice(
    seeds: np.ndarray,
    gains: np.ndarray,
    largest: np.ndarray | None,
    bonus: Bonus | None,
    problem: Problem,
    sets: int,
    judge: Collection | None,
) -> Choice:
    """Return a choice; its bound is the least worth of S_i + largest[i] over prefixes that hold ``problem.prefix``."""
    unit = 1 if bonus is None else bonus.unit
    values = gains if bonus is None else unit * gains + bonus.of(seeds)
    worth = np.zeros(len(values) + 1, np.int64)
    values.cumsum(out=worth[1:])
    upper = None
    if largest is not None:
        upper = Decimal(int((worth + largest)[len(problem.prefix) :].min())) / unit
    hit = None if judge is None else int(judge.coverage(seeds)[-1])
    return Choice(seeds, gains, Decimal(int(worth[-1])) / unit, upper, unit, hit, sets)
