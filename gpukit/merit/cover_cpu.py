"""Greedy coverage per cost over mRR sets on the CPU (Numba); the costly steps run per segment.

Only vertices with a large count per cost can be chosen. An inverted index of these *candidates* finds the sets that a
seed covers. When ratios have fallen so far that another vertex could be best, the candidates are chosen again. The
result equals a search through all vertices: the largest count per cost, compared as products of integers, ties to the
lower id.
"""

import math

import numba
import numpy as np

from gpukit.device.compiled import njit

BUCKETS = 4096
"""Number of classes of ratios; 32 classes per power of two."""


@numba.njit(inline="always")
def _bucket(count, cost):
    """Return the class of a ratio. It is monotonic in the ratio, because a correctly rounded quotient is."""
    mantissa, exponent = math.frexp(count / cost)
    return 32 * (exponent + 40) + int((mantissa - 0.5) * 64)


@njit
def count_members(starts, sizes, arena, begin, end, counts):
    """Add to ``counts`` how many of the sets begin … end - 1 contain each vertex."""
    for j in range(begin, end):
        for i in range(starts[j], starts[j] + sizes[j]):
            counts[arena[i]] += 1


@njit
def choose_candidates(counts, costs, wanted, slot):
    """Return the candidates, which are the vertices of the highest classes, and the lowest of these classes.

    Classes are added until they have at least ``wanted`` vertices. The lowest class is 0 if they never do; then all
    vertices with a positive count are candidates. Afterwards ``slot`` has the index of each candidate, and -1 for every
    other vertex.
    """
    histogram = np.zeros(BUCKETS, np.int64)
    for v in range(len(counts)):
        slot[v] = -1
        if counts[v] > 0:
            histogram[_bucket(counts[v], costs[v])] += 1
    limit, reached = BUCKETS, 0
    while limit > 0 and reached < wanted:
        limit -= 1
        reached += histogram[limit]
    chosen = np.empty(reached, np.int32)
    size = 0
    for v in range(len(counts)):
        if counts[v] > 0 and _bucket(counts[v], costs[v]) >= limit:
            chosen[size] = v
            slot[v] = size
            size += 1
    return chosen, limit


@njit
def invert(starts, sizes, arena, covered, slot, candidates, known):
    """Return the uncovered sets of each candidate in a segment, end to end, with their starts.

    ``known`` is the number of sets of the segment that contain each vertex if no set is covered yet, otherwise empty.
    """
    list_starts = np.zeros(len(candidates) + 1, np.int64)
    if len(known) > 0:
        for c in range(len(candidates)):
            list_starts[c + 1] = known[candidates[c]]
    else:
        for j in range(len(covered)):
            if not covered[j]:
                for i in range(starts[j], starts[j] + sizes[j]):
                    c = slot[arena[i]]
                    if c >= 0:
                        list_starts[c + 1] += 1
    for c in range(len(candidates)):
        list_starts[c + 1] += list_starts[c]
    fill = list_starts[:-1].copy()
    sets = np.empty(list_starts[-1], np.int32)
    for j in range(len(covered)):
        if not covered[j]:
            for i in range(starts[j], starts[j] + sizes[j]):
                c = slot[arena[i]]
                if c >= 0:
                    sets[fill[c]] = j
                    fill[c] += 1
    return list_starts, sets


@njit
def cover(starts, sizes, arena, covered, list_starts, sets, c, counts):
    """Cover the sets of candidate ``c`` in a segment, and subtract their members from the counts."""
    for k in range(list_starts[c], list_starts[c + 1]):
        j = sets[k]
        if not covered[j]:
            covered[j] = True
            for i in range(starts[j], starts[j] + sizes[j]):
                counts[arena[i]] -= 1


@njit
def best(counts, costs, candidates, limit):
    """Return the candidate of largest count per cost; -1: no count is positive, -2: a non-candidate may be better."""
    top = -1
    for v in candidates:
        if counts[v] > 0 and (top < 0 or np.int64(counts[v]) * costs[top] > np.int64(counts[top]) * costs[v]):
            top = v
    if limit > 0 and (top < 0 or _bucket(counts[top], costs[top]) < limit):
        return -2
    return top


@njit
def count_hits(starts, sizes, arena, end, is_seed):
    """Return how many of the sets 0 … end - 1 contain a seed."""
    hits = 0
    for j in range(end):
        for i in range(starts[j], starts[j] + sizes[j]):
            if is_seed[arena[i]]:
                hits += 1
                break
    return hits
