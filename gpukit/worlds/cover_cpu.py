"""Greedy maximum coverage over an RR collection on the CPU (Numba). ``cover_cuda.py`` chooses the same seeds on a GPU.

Only elements in many sets can be chosen or contribute to the bound. So both use *candidates*: the elements whose
current count reaches a limit, which is low enough to give enough candidates. An inverted index of the candidates finds
the sets that a seed covers, so all seeds together cost about one pass over the collection. When counts have fallen so
far that an element outside the candidates could matter, the candidates are chosen again. The result is exactly that of
a pass over all elements for each seed.

Several workers may share the sets. Each indexes and covers its own sets and keeps its own counts. An element's count is
the sum over the workers, so the choice does not depend on how the sets are divided.
"""

from collections import namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from gpukit.device.compiled import njit
from gpukit.worlds.highest import highest, largest_first, limit_of

CANDIDATES_PER_SEED = 16
MIN_CANDIDATES = 512

NOTHING = np.empty(0, np.int64)


class Worth(namedtuple("Worth", "bonus unit")):
    """Values: the ``bonus`` of each element (int64; empty: no bonus), and ``unit`` for each set that it covers."""


PLAIN = Worth(NOTHING, 1)


class Shares(NamedTuple):
    """How sets are divided among workers.

    Attributes
    ----------
    ranges : list of int64 array, shape (r, 2)
        For each worker, the first set and the end of each of its ranges.
    counts : int32 array, shape (workers, elements)
        Number of a worker's uncovered sets that contain each element. At first no set is covered.
    each : callable
        Applies a function to all workers, as ``map`` does.
    """

    ranges: list[np.ndarray]
    counts: np.ndarray
    each: Callable[[Callable[[int], Any], Iterable[int]], Iterable[Any]]

    def do(self, work: Callable[[int], Any]) -> list[Any]:
        """Apply a function to all workers and return the list of results."""
        return list(self.each(work, range(len(self.ranges))))

    def totals(self) -> np.ndarray:
        """Return the number of uncovered sets that contain each element (int32)."""
        return self.counts[0] if len(self.counts) == 1 else self.counts.sum(axis=0, dtype=np.int32)


def undivided(offsets: np.ndarray, counts: np.ndarray) -> Shares:
    """Give all sets to one worker."""
    return Shares([all_sets(offsets)], counts[None], map)


def all_sets(offsets: np.ndarray) -> np.ndarray:
    """Return the one range, int64 (1, 2), of all sets."""
    return np.array([[0, len(offsets) - 1]])


@njit
def count(offsets, members, ranges, counts):
    """Add to ``counts`` the number of sets in these ranges that contain each element."""
    for start, end in ranges:
        for j in range(offsets[start], offsets[end]):
            counts[members[j]] += 1


def _candidates(counts: np.ndarray, worth: Worth, pool: np.ndarray, blocked: np.ndarray, target: int) -> Any:
    """Return a limit that ``target`` unblocked elements of ``pool`` reach, 0 for too few, and those that reach it."""
    values = counts[pool].astype(np.int64) * worth.unit
    if len(worth.bonus):
        values += worth.bonus[pool]
    values[blocked[pool]] = -1
    limit = limit_of(values, target)
    return limit, pool[values >= limit]


@njit
def invert(offsets, members, ranges, covered, counts, candidates, slot):
    """Return the uncovered sets of each candidate in ranges of sets, concatenated, with the start of each list.

    ``counts`` is the number of uncovered sets in these ranges that contain each element. ``slot`` is the index of each
    element among the candidates, or -1.
    """
    starts = np.zeros(len(candidates) + 1, np.int64)
    for c in range(len(candidates)):
        starts[c + 1] = starts[c] + counts[candidates[c]]
    fill = starts.copy()
    sets = np.empty(starts[-1], np.int32)
    for r in range(len(ranges)):
        for s in range(ranges[r, 0], ranges[r, 1]):
            if not covered[s]:
                for j in range(offsets[s], offsets[s + 1]):
                    c = slot[members[j]]
                    if c >= 0:
                        sets[fill[c]] = s
                        fill[c] += 1
    return starts, sets


@njit
def cover(starts, sets, c, offsets, members, covered, counts):
    """Cover the sets of entry ``c`` of an index and subtract their members from the counts; return how many were new.

    This is algorithm 7 for one element, with an index instead of lines 1 to 10, and algorithm 1, line 9.

    Parameters
    ----------
    starts : int64 array, shape (c + 1,)
        Start of each entry, a vertex or candidate, in ``sets``.
    sets : int32 array
        The sets that contain each entry, concatenated.
    c : int
    offsets : int64 array, shape (sets + 1,)
        Start of each set in ``members``.
    members : int32 array
    covered : bool array, shape (sets,)
    counts : int array, shape (elements,)
        Number of uncovered sets that contain each element.
    """
    gain = 0
    for i in range(starts[c], starts[c + 1]):
        s = sets[i]
        if not covered[s]:
            covered[s] = True
            gain += 1
            for j in range(offsets[s], offsets[s + 1]):
                counts[members[j]] -= 1
    return gain


@njit
def _largest(values, round_of, t, k, blocked, candidates, room):
    """Return the sum of the k largest values of candidates of round t, and the k-th of them (-1 if there are fewer).

    Chosen elements are blocked, so they add nothing. ``room`` is working space with one element per candidate.
    """
    size = 0
    for c in range(len(candidates)):
        if round_of[c] == t and not blocked[candidates[c]]:
            room[size] = values[c]
            size += 1
    last = largest_first(room, size, k) if size >= k else np.int64(-1)
    total = np.int64(0)
    for i in range(min(size, k)):
        total += room[i]
    return total, last


def _idle(counts: np.ndarray, worth: Worth, blocked: np.ndarray, n: int, rounds: int, k: int) -> np.ndarray:
    """Return, for each round, the k unblocked elements in no set with the highest bonus; ties go to lower elements."""
    found = []
    for t in range(rounds):
        part = slice(t * n, (t + 1) * n)
        idle = t * n + np.flatnonzero((counts[part] == 0) & ~blocked[part])
        found.append(idle[highest(worth.bonus[idle], k)] if len(worth.bonus) else idle[:k])
    return np.concatenate(found).astype(np.int32)


@njit
def _look(counts, worth, candidates, round_of, quota, blocked, bounds, k, limit, values, room):
    """Return the first of the best candidates that may be chosen, its value, and two results for the bound.

    The third result is the sum of the k largest values of every round, or -1 unless ``bounds``. The fourth says whether
    this sum is exact: no element outside the candidates, with a value below the limit, can be among the k largest of
    its round. ``counts`` has one row per worker; ``values`` and ``room`` have one element per candidate. Source:
    algorithm 1, line 7; OPIM-C, section 5.
    """
    bonus, unit = worth.bonus, worth.unit
    best, highest = -1, np.int64(-1)
    for c in range(len(candidates)):
        e = candidates[c]
        total = np.int64(0)
        for worker in range(len(counts)):
            total += counts[worker, e]
        values[c] = total * unit + (bonus[e] if len(bonus) else 0)
        if values[c] > highest and quota[round_of[c]] > 0 and not blocked[e]:
            best, highest = e, values[c]
    largest, enough = np.int64(-1), True
    if bounds:
        largest = np.int64(0)
        for t in range(len(quota)):
            part, last = _largest(values, round_of, t, k, blocked, candidates, room)
            largest += part
            enough &= last >= limit
    return best, highest, largest, enough


def greedy(
    offsets: np.ndarray,
    members: np.ndarray,
    shares: Shares,
    n: int,
    rounds: int,
    k: int,
    forced: np.ndarray,
    blocked: np.ndarray,
    bounds: bool,
    worth: Worth,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose up to k elements in each round greedily; ties go to the lower element.

    The marginal value of an element is its bonus plus the value of the sets that it newly covers.

    Parameters
    ----------
    offsets : int64 array, shape (s + 1,)
    members : int32 array, shape (offsets[-1],)
        The sets, concatenated; an element occurs at most once in a set.
    shares : Shares
        How the sets are divided among workers, with counts of n * rounds elements. The counts are modified.
    n, rounds, k : int
        Vertices, rounds, seeds in each round (a partition matroid); 1 <= k <= n.
    forced : int32 array
        Elements chosen first, in this order; at most k in a round.
    blocked : bool array, shape (n * rounds,)
        Marks elements that are never chosen. Modified.
    bounds : bool
        Whether to sum the k largest marginal values before each choice after the forced ones, and after the last.
    worth : Worth
        The values; ``PLAIN`` counts covered sets alone.

    Returns
    -------
    seeds : int32 array, shape (k * rounds,), or shorter where too few elements are unblocked
    gains : int64 array
        Number of sets that each seed newly covered.
    largest : int64 array, shape (len(seeds) + 1,)
        Sums of the k largest marginal values of every round given the first i seeds; -1 where not requested.
    """
    covered = np.zeros(len(offsets) - 1, np.bool_)
    slot = np.full(n * rounds, -1, np.int32)
    quota = np.full(rounds, k, np.int64)
    seeds: list[int] = []
    gains: list[int] = []
    largest = np.full(k * rounds + 1, -1, np.int64)

    def index(candidates: np.ndarray) -> list[Any]:
        slot[candidates] = np.arange(len(candidates), dtype=np.int32)
        return shares.do(
            lambda i: invert(offsets, members, shares.ranges[i], covered, shares.counts[i], candidates, slot)
        )

    def take(e: int, indexes: list[Any]) -> None:
        place = slot[e]
        new = shares.do(lambda i: cover(*indexes[i], place, offsets, members, covered, shares.counts[i]))
        seeds.append(e)
        gains.append(sum(new))
        blocked[e] = True
        quota[e // n] -= 1

    if len(forced):
        of_forced = index(forced)
        for e in forced.tolist():
            take(e, of_forced)
        slot[forced] = -1
    target = max(MIN_CANDIDATES, CANDIDATES_PER_SEED * k * rounds)
    totals = shares.totals()
    # The value of an element in no set never changes. In a round, at most k of these elements are chosen, and at most k
    # others are among the k largest, so only the 2 k best of them matter.
    idle = _idle(totals, worth, blocked, n, rounds, 2 * k)
    pool = np.concatenate([np.flatnonzero(totals > 0).astype(np.int32), idle])
    pool.sort()
    while True:
        # This is one epoch. The indexes list the uncovered sets of each element whose value reaches the limit.
        limit, candidates = _candidates(totals, worth, pool, blocked, target)
        round_of = candidates // n
        indexes = index(candidates)
        values, room = np.empty(len(candidates), np.int64), np.empty(len(candidates), np.int64)
        while True:
            best, highest, total, enough = _look(
                shares.counts, worth, candidates, round_of, quota, blocked, bounds, k, limit, values, room
            )
            enough &= len(seeds) == k * rounds or highest >= limit
            if limit > 0 and not enough:
                break
            largest[len(seeds)] = total
            if len(seeds) == k * rounds or best < 0:
                return np.array(seeds, np.int32), np.array(gains, np.int64), largest[: len(seeds) + 1]
            take(best, indexes)
        slot[candidates] = -1
        totals = shares.totals()
        target *= 2


@njit
def coverage(offsets, members, ranges, is_seed, prefix):
    """Count, for each prefix of a seed sequence, the sets it covers.

    Parameters
    ----------
    offsets, members
        The sets.
    ranges : int64 array, shape (r, 2)
        The ranges to count.
    is_seed : int32 array, shape (n * rounds,)
        Position of an element in the sequence, or ``prefix`` for all other elements.
    prefix : int
        Length of the sequence.

    Returns
    -------
    int64 array, shape (prefix + 1,)
        Number of sets that the first i seeds cover.
    """
    hit = np.zeros(prefix + 2, np.int64)
    for r in range(len(ranges)):
        for s in range(ranges[r, 0], ranges[r, 1]):
            earliest = prefix
            for j in range(offsets[s], offsets[s + 1]):
                earliest = min(earliest, is_seed[members[j]])
            hit[earliest + 1] += 1
    total = np.zeros(prefix + 1, np.int64)
    for i in range(1, prefix + 1):
        total[i] = total[i - 1] + hit[i]
    return total


@njit
def sort_sets(offsets, members):
    """Sort the members of each set in place, ascending."""
    for s in range(len(offsets) - 1):
        members[offsets[s] : offsets[s + 1]].sort()


@njit
def gather_sets(starts, offsets, entries, packed):
    """Copy the elements of each set from ``entries[starts[s]:]`` (set << 32 | element) to ``packed``."""
    for s in range(len(starts)):
        for j in range(offsets[s + 1] - offsets[s]):
            packed[offsets[s] + j] = entries[starts[s] + j] & 0xFFFFFFFF
