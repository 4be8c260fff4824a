"""Sentinels for high influence: sets that would hold a large part of the graph end early, at a seed chosen beforehand.

A set that contains a seed is hit, whatever its other members. With one *sentinel* chosen beforehand, nearly all large
sets end after a few steps. The greedy choice, its certificate and its optimism are those of complete sets with that
seed given. None of them shows whether another vertex would be a better sentinel. So at the end the sentinel is
exchanged for the best vertex in its position. docs/gim.md has the proof. The idea follows Guo, Wang, Wei, Chen,
"Influence maximization revisited", SIGMOD 2020 (HIST). There, the members of a set may depend on the order of the
search; here they do not.
"""

from decimal import Decimal
from typing import Protocol

import numpy as np

from gpukit.gim.baselines import degree_by_probability
from gpukit.gim.problem import Problem
from gpukit.gim.selection import Choice
from gpukit.graph.csr import Graph
from gpukit.worlds.collection import Collection, Query
from gpukit.worlds.reverse import NEVER, ORDER_BIT, Ending

PILOT_FIRST, SWAP_FIRST, GAINS_FIRST = (3 << 46) + (1 << 45), (3 << 46) + (2 << 43), (3 << 46) + (1 << 43)
"""First sample ids of three kinds of sets: for the pilot, for the exchange, and to measure the gain of each seed."""

PILOT_SETS, LARGE_SETS = 64, 4
"""Number of the pilot's sets, and the least number of large ones among them for which a sentinel is used."""

LARGE = (256, 1024)
"""A set is large if it has more than 1/64 of the vertices. This limit is at least 256, because shorter sets are cheap,
and at most 1,024."""

TRIES = 4
"""Number of vertices that are tried as the sentinel, those of the largest expected degree."""

MET = 3, 4
"""A sentinel must hit at least three quarters of the number of large sets among the pilot's sets."""

DEGREES = 16, 64
"""Bounds between classes of in-degree, as multiples of the mean degree."""

WORTHWHILE = Decimal("0.001")
"""A sentinel is exchanged if that adds more than this share of the spread. Sets that end at other vertices cost more.
The sets that decide on the exchange cost most, because large sets may contain none of the other seeds."""


class Another(Protocol):
    """Returns an empty collection that begins at a sample id and whose sets may end early."""

    def __call__(self, first: int, ending: Ending = NEVER) -> Collection:
        """Return the collection."""


def find(problem: Problem, another: Another) -> int | None:
    """Return the sentinel for a problem, or None if complete sets are cheap or no vertex is in enough large ones.

    Parameters
    ----------
    problem : Problem
    another : callable
        Returns an empty collection that begins at a sample id.

    Notes
    -----
    The cost is 64 sets of up to 1,024 members. Each vertex tried costs the same sets again, drawn until they reach it.
    """
    params, n = problem.params, problem.graph.n
    asked = params.sentinels == "auto" and params.bound == "opim" and params.model == "ic" and params.rounds == 1
    usual = params.sampler == "skip" and params.selection == "index" and problem.costs is None
    if not asked or not usual or len(problem.forced) or problem.k_max < 2 or problem.unique or n <= LARGE[0]:
        return None
    limit = min(max(n // 64, LARGE[0]), LARGE[1])
    large = _ended(another, Ending(np.zeros(1, np.uint8), 1, -1, limit))
    if large < LARGE_SETS:
        return None
    barred = np.zeros(n, np.bool_) if problem.blocked is None else problem.blocked[:n]
    for vertex in degree_by_probability(problem.graph, min(TRIES, problem.k_max), barred).tolist():
        if MET[1] * _ended(another, ends_at(problem.graph, [vertex])) >= MET[0] * large:
            return vertex
    return None


def _ended(another: Another, ending: Ending) -> int:
    """Return the number of the pilot's sets that end early."""
    sets = another(PILOT_FIRST, ending)
    sets.extend(PILOT_SETS)
    return sets.ended()


def ends_at(graph: Graph, vertices: list[int] | np.ndarray, representative: int = -1) -> Ending:
    """Return the rule that ends a set at the first of some vertices, and replaces it by the representative."""
    marks = orders(graph, vertices)
    marks[vertices] |= 1
    return Ending(marks, 1, representative, graph.n)


def orders(graph: Graph, vertices: list[int] | np.ndarray) -> np.ndarray:
    """Return marks (uint8, n) that order the expansion of members in a search for one of some vertices.

    A member with an in-edge from one of the vertices may bring that vertex in at once, at the cost of its other
    in-edges. Such members of small in-degree come first. Members without such an edge come last.
    """
    marks = np.zeros(graph.n, np.uint8)
    assert graph.in_indptr is not None
    for v in vertices:
        near = graph.indices[graph.indptr[v] : graph.indptr[v + 1]]
        degree = graph.in_indptr[near + 1] - graph.in_indptr[near]
        marks[near] = 1 + len(DEGREES) - np.searchsorted(DEGREES, degree * (graph.n / graph.m)) << ORDER_BIT
    return marks


def has_rivals(problem: Problem, choice: Choice) -> bool:
    """Return whether exchanging the sentinel can pay off, judged by the sets from which the seeds were chosen.

    With S the seeds and s the sentinel, f(S∖{s} ∪ {v}) − f(S) ≤ f(S ∪ {v}) − f(S). The right side is at most the gain
    of the last seed, because each seed had the largest gain when it was chosen.
    """
    known, a_set = problem.known, problem.known.gamma / choice.sets
    last = known.bonus(choice.seeds[-1:]) + a_set * int(choice.gains[-1])
    return last > WORTHWHILE * (known.bonus(choice.seeds) + a_set * choice.covered)


def exchange(problem: Problem, seeds: np.ndarray, another: Another, size: int) -> np.ndarray | None:
    """Return seeds with another vertex instead of the sentinel; None if no vertex is better by more than the noise.

    Parameters
    ----------
    problem : Problem
        With a sentinel.
    seeds : int32 array, shape (k,)
        The sentinel first.
    another : callable
        Returns an empty collection that begins at a sample id.
    size : int
        Number of sets to draw. They end at the other seeds, and were not used to choose these.

    Returns
    -------
    int32 array, shape (k,), or None
        The seed of the largest expected degree comes first, so that it can be the sentinel of later sets.
    """
    others, n = seeds[1:], problem.graph.n
    sets = another(SWAP_FIRST, ends_at(problem.graph, others))
    sets.extend(size)
    blocked = np.zeros(n, np.bool_) if problem.blocked is None else problem.blocked.copy()
    blocked[others] = True
    best = sets.select(Query(1, blocked=blocked, bonus=problem.known.in_units(size)))
    if best.seeds[0] == seeds[0]:
        return None
    hits, ended = int(best.gains[0]), sets.ended()
    before, either = sets.coverage(np.concatenate([seeds[:1], best.seeds]))[1:].tolist()
    noise, known, gamma = 2 * Decimal(2 * either - before - hits).sqrt(), problem.known, problem.known.gamma
    better = known.bonus(best.seeds) - known.bonus(seeds[:1]) + gamma * (hits - before - noise) / size
    if better <= WORTHWHILE * (known.bonus(seeds) + gamma * (ended + before) / size):
        return None
    found = np.concatenate([others, best.seeds])
    barred = np.ones(n, np.bool_)
    barred[found] = False
    first = int(degree_by_probability(problem.graph, 1, barred)[0])
    return np.concatenate([[first], found[found != first]]).astype(np.int32)


def gains(problem: Problem, seeds: np.ndarray, another: Another, size: int) -> np.ndarray:
    """Return, as int64 (k,), how many of ``size`` fresh sets each seed newly hits; sets end at the first seed."""
    sets = another(GAINS_FIRST, ends_at(problem.graph, seeds[:1], int(seeds[0])))
    sets.extend(size)
    return np.diff(sets.coverage(seeds))
