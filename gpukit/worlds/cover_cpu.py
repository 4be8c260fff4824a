"""Greedy maximum coverage over an RR collection on the CPU (Numba). ``cover_cuda.py`` chooses the same seeds on a GPU.

Only the elements in many sets can be chosen or count for the bound, so both work on *candidates*: the elements whose
current count reaches a limit that leaves enough of them. An inverted index of the candidates finds the sets a seed
covers, so that all seeds together cost about one pass over the collection. When counts have fallen so far that an
element outside the candidates could matter, the candidates are chosen again; the result is exactly that of a pass over
all elements.
"""

from collections import namedtuple

import numpy as np

from gpukit.device.compiled import njit

CANDIDATES_PER_SEED = 16
MIN_CANDIDATES = 512

LEVELS = 1 << 16
"""Values that a limit is looked for among: those of counts, or of counts without their lowest bits."""

NOTHING = np.empty(0, np.int64)


class Worth(namedtuple("Worth", "own unit")):
    """What elements count for: ``own`` of each (int64, or empty: nothing), and ``unit`` for each set they cover."""


PLAIN = Worth(NOTHING, 1)


@njit(inline="always")
def _value(counts, own, unit, e):
    return np.int64(counts[e]) * unit + (own[e] if len(own) else 0)


@njit
def _limit(counts, worth, pool, blocked, target):
    """Return a limit that at least ``target`` unblocked elements of ``pool`` reach, hardly more; 0 if too few do."""
    own, unit = worth.own, worth.unit
    highest = np.int64(0)
    for e in pool:
        highest = max(highest, _value(counts, own, unit, e))
    shift = 0
    while highest >> shift >= LEVELS:
        shift += 1
    histogram = np.zeros((highest >> shift) + 1, np.int64)
    for e in pool:
        if not blocked[e]:
            histogram[_value(counts, own, unit, e) >> shift] += 1
    reached = 0
    for level in range(len(histogram) - 1, 0, -1):
        reached += histogram[level]
        if reached >= target:
            return level << shift
    return 0


@njit
def _candidates(counts, worth, pool, blocked, limit, slot):
    """Return the unblocked elements of ``pool`` worth >= limit and note their place in ``slot`` (others: -1)."""
    own, unit = worth.own, worth.unit
    chosen = np.empty(len(pool), np.int32)
    size = 0
    for e in pool:
        slot[e] = -1
        if _value(counts, own, unit, e) >= limit and not blocked[e]:
            chosen[size] = e
            slot[e] = size
            size += 1
    return chosen[:size].copy()


@njit
def invert(offsets, members, covered, counts, candidates, slot):
    """Return the uncovered sets of each candidate, end to end, with their starts; ``slot``: where each element is."""
    starts = np.zeros(len(candidates) + 1, np.int64)
    for c in range(len(candidates)):
        starts[c + 1] = starts[c] + counts[candidates[c]]
    fill = starts.copy()
    sets = np.empty(starts[-1], np.int32)
    for s in range(len(covered)):
        if not covered[s]:
            for j in range(offsets[s], offsets[s + 1]):
                c = slot[members[j]]
                if c >= 0:
                    sets[fill[c]] = s
                    fill[c] += 1
    return starts, sets


# Algorithm 7 for one element, with an index in place of lines 1 to 10, and algorithm 1, line 9.
@njit
def cover(starts, sets, c, offsets, members, covered, counts):
    """Cover the sets of entry ``c`` of an index, take their members out of the counts, return how many were new.

    Parameters
    ----------
    starts : int64 array, shape (c + 1,)
        Start of each entry, a vertex or candidate, in ``sets``.
    sets : int32 array
        The sets that hold each entry, end to end.
    c : int
    offsets : int64 array, shape (sets + 1,)
        Start of each set in ``members``.
    members : int32 array
    covered : bool array, shape (sets,)
    counts : int array, shape (elements,)
        Uncovered sets that hold each element.
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
def _largest(counts, worth, candidates, round_of, t, k, blocked, values):
    """Return the sum of the k largest values of candidates of round t, and the k-th of them (-1 if there are fewer).

    What was chosen, and so is blocked, adds nothing more. ``values`` is room for as many as there are candidates.
    """
    own, unit = worth.own, worth.unit
    size = 0
    for c in range(len(candidates)):
        if round_of[c] == t and not blocked[candidates[c]]:
            values[size] = _value(counts, own, unit, candidates[c])
            size += 1
    first = max(size - k, 0)
    _part(values, size, first)
    total = np.int64(0)
    for i in range(first, size):
        total += values[i]
    return total, values[first] if size >= k else np.int64(-1)


@njit
def _part(values, size, place):
    """Move what is lower than the value at ``place`` in order before it, what is higher behind it.

    Source: Hoare, "Algorithm 65: Find", CACM 1961. ``np.partition`` does the same, and takes Numba four
    seconds to compile.
    """
    low, high = 0, size - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            return


@njit
def _eligible(counts, worth, blocked, n, rounds, k):
    """Return, ascending, the elements of positive value, and in each round the k lowest unblocked ones without.

    Of elements that are worth nothing more the lower ones are chosen, so others never are.
    """
    own, unit = worth.own, worth.unit
    found = np.empty(len(counts), np.int32)
    size = 0
    for t in range(rounds):
        idle = 0
        for e in range(t * n, (t + 1) * n):
            found[size] = e
            if _value(counts, own, unit, e) > 0:
                size += 1
            elif idle < k and not blocked[e]:
                idle += 1
                size += 1
    return found[:size].copy()


# OPIM-C, section 5. Returns the sum over all rounds, and whether no other element can be among the largest.
@njit
def _bound(counts, worth, candidates, round_of, rounds, k, limit, blocked, values):
    total, enough = np.int64(0), True
    for t in range(rounds):
        part, last = _largest(counts, worth, candidates, round_of, t, k, blocked, values)
        total += part
        enough &= last >= limit
    return total, enough


# Algorithm 1, line 7. Returns the lowest of the candidates of the highest value that may be chosen, and that value.
@njit
def _best(counts, worth, candidates, round_of, quota, blocked):
    own, unit = worth.own, worth.unit
    best, highest = -1, np.int64(-1)
    for c in range(len(candidates)):
        e = candidates[c]
        value = _value(counts, own, unit, e)
        if value > highest and quota[round_of[c]] > 0 and not blocked[e]:
            best, highest = e, value
    return best, highest


@njit
def greedy(offsets, members, counts, n, rounds, k, forced, blocked, bounds, worth):
    """Choose up to k elements in each round greedily; ties go to the lower element.

    An element is worth what it counts for by itself, and the sets that it newly covers.

    Parameters
    ----------
    offsets : int64 array, shape (s + 1,)
    members : int32 array, shape (offsets[-1],)
        The sets, end to end; an element at most once in a set.
    counts : int32 array, shape (n * rounds,)
        In how many sets each element is. Taken over: ends as the counts in uncovered sets.
    n, rounds, k : int
        Vertices, rounds, seeds in each round (a partition matroid); 1 <= k <= n.
    forced : int32 array
        Elements chosen first, in this order; at most k in a round.
    blocked : bool array, shape (n * rounds,)
        Elements never chosen. Taken over.
    bounds : bool
        Whether to sum the k largest marginal values before each choice after the forced ones, and after the last.
    worth : Worth
        ``PLAIN``: the sets alone.

    Returns
    -------
    seeds : int32 array, shape (k * rounds,), or shorter where too few elements are unblocked
    gains : int64 array
        Sets each seed newly covered.
    largest : int64 array, shape (len(seeds) + 1,)
        Sums of the k largest marginal values of every round given the first i seeds; -1 where not asked for.
    """
    covered = np.zeros(len(offsets) - 1, np.bool_)
    slot = np.full(n * rounds, -1, np.int32)
    quota = np.full(rounds, k, np.int64)
    seeds = np.empty(k * rounds, np.int32)
    gains = np.zeros(k * rounds, np.int64)
    largest = np.full(k * rounds + 1, -1, np.int64)
    target = max(MIN_CANDIDATES, CANDIDATES_PER_SEED * k * rounds)
    chosen = len(forced)
    if chosen > 0:
        for i in range(chosen):
            blocked[forced[i]] = True
            slot[forced[i]] = i
        starts, sets = invert(offsets, members, covered, counts, forced.copy(), slot)
        for i in range(chosen):
            seeds[i] = forced[i]
            gains[i] = cover(starts, sets, i, offsets, members, covered, counts)
            quota[forced[i] // n] -= 1
    pool = np.empty(n * rounds, np.int32)
    size = 0
    for e in range(n * rounds):
        if counts[e] > 0 or len(worth.own) > 0:
            pool[size] = e
            size += 1
    pool = pool[:size]
    while True:
        # An epoch: afterwards the index holds the uncovered sets of all elements that reach the limit.
        limit = _limit(counts, worth, pool, blocked, target)
        if limit == 0:
            pool = _eligible(counts, worth, blocked, n, rounds, k)
        candidates = _candidates(counts, worth, pool, blocked, limit, slot)
        round_of = candidates // n if rounds > 1 else np.zeros(len(candidates), np.int64)
        starts, sets = invert(offsets, members, covered, counts, candidates, slot)
        values = np.empty(len(candidates), np.int64)
        while True:
            total, enough = np.int64(-1), True
            if bounds:
                total, enough = _bound(counts, worth, candidates, round_of, rounds, k, limit, blocked, values)
            best, highest = _best(counts, worth, candidates, round_of, quota, blocked)
            enough &= chosen == k * rounds or highest >= limit
            if limit > 0 and not enough:
                break
            largest[chosen] = total
            if chosen == k * rounds or best < 0:
                return seeds[:chosen], gains[:chosen], largest[: chosen + 1]
            seeds[chosen] = best
            gains[chosen] = cover(starts, sets, slot[best], offsets, members, covered, counts)
            blocked[best] = True
            quota[best // n] -= 1
            chosen += 1
        target *= 2


@njit
def coverage(offsets, members, is_seed, prefix):
    """Count, for each prefix of a seed sequence, the sets it covers.

    Parameters
    ----------
    offsets, members
        The sets.
    is_seed : int32 array, shape (n * rounds,)
        Position of an element in the sequence, or ``prefix`` for others.
    prefix : int
        Length of the sequence.

    Returns
    -------
    int64 array, shape (prefix + 1,)
        Sets covered by the first i seeds.
    """
    hit = np.zeros(prefix + 2, np.int64)
    for s in range(len(offsets) - 1):
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
