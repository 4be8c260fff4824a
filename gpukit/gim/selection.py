"""Choosing seeds from a collection: by its index, under a budget, or by a function for sets in host memory."""

from dataclasses import dataclass

import numpy as np

from gpukit.device.timing import PhaseTimer
from gpukit.gim.problem import Problem
from gpukit.worlds.collection import Collection, Query


@dataclass(frozen=True, eq=False)
class Choice:
    """Chosen elements and what they cover.

    Attributes
    ----------
    seeds : int32 array, shape (s,)
        Elements ``round * n + v`` in order of choice.
    gains : int64 array, shape (s,)
        Sets each newly covered.
    coverage_upper : int or None
        Upper bound Λ₁ᵘ on what any allowed set covers, where asked for.
    hit : int or None
        Sets of the judging collection that the seeds cover.
    """

    seeds: np.ndarray
    gains: np.ndarray
    coverage_upper: int | None
    hit: int | None = None

    @property
    def covered(self) -> int:
        """Sets that the seeds cover."""
        return int(self.gains.sum())


def choose(
    collection: Collection, problem: Problem, timer: PhaseTimer, *, bounds: bool, judge: Collection | None = None
) -> Choice:
    """Choose seeds greedily and bound what any other choice covers; count their hits in ``judge``, if given.

    With k seeds a round, any allowed set O covers at most Λ(S_i) + the k largest marginal counts given S_i (of each
    round), for every greedy prefix S_i that holds the forced vertices; the least of these is the bound. Source: Tang et
    al., SIGMOD 2018, section 5; under a budget see :func:`gpukit.gim.budget.choose`.
    """
    if problem.costs is None and problem.greedy is None:
        with timer.phase("selection"):
            found = collection.select(Query(problem.k_max, problem.forced, problem.blocked, bounds), judge)
            return Choice(found.seeds, found.gains, _least_bound(found.gains, found.largest, problem), found.hit)
    with timer.phase("transfer"):
        offsets, members = collection.export()
    n, rounds = collection.reverse.n, collection.reverse.rounds
    blocked = np.zeros(n * rounds, np.bool_) if problem.blocked is None else problem.blocked
    upper: int | None
    with timer.phase("selection"):
        counts = np.bincount(members, minlength=n * rounds)
        if problem.costs is not None:
            from gpukit.gim import budget

            seeds, gains, upper = budget.choose(
                offsets, members, counts, problem.costs, problem.forced, blocked, problem.budget_left
            )
        else:
            assert problem.greedy is not None
            seeds, gains, largest = problem.greedy(
                offsets, members, counts, n, rounds, problem.k_max, problem.forced, blocked.copy(), bounds
            )
            upper = _least_bound(gains, largest if bounds else None, problem)
        return Choice(seeds, gains, upper, None if judge is None else int(judge.coverage(seeds)[-1]))


def _least_bound(gains: np.ndarray, largest: np.ndarray | None, problem: Problem) -> int | None:
    """Return the least of Λ(S_i) + largest[i] over the prefixes that hold the forced vertices."""
    if largest is None:
        return None
    covered = np.concatenate([np.zeros(1, np.int64), np.cumsum(gains)])
    return int((covered + largest)[len(problem.forced) :].min())
