"""Selection of the best scores, and the stop test on them (section 3.4 of the paper, repaired).

Bounds are float64 sums, products and square roots. These round alike everywhere as long as no operations are fused.
"""

import numba
import numpy as np
from numba import int64

from gpukit.device.compiled import njit
from gpukit.kpar.problem import UNIT
from gpukit.kpar.rule import LOST
from gpukit.worlds.highest import largest_first


@njit
def sort_falling(keys, ids, count, spare_keys, spare_ids):
    """Sort pairs by falling key, then rising id, in place (merge sort, bottom up)."""
    width = 1
    source, source_ids, target, target_ids = keys, ids, spare_keys, spare_ids
    swapped = False
    while width < count:
        for low in range(0, count, 2 * width):
            middle, high = min(low + width, count), min(low + 2 * width, count)
            i, j = low, middle
            for place in range(low, high):
                left = i < middle
                if left and j < high:
                    left = source[i] > source[j] or (source[i] == source[j] and source_ids[i] <= source_ids[j])
                if left:
                    target[place], target_ids[place] = source[i], source_ids[i]
                    i += 1
                else:
                    target[place], target_ids[place] = source[j], source_ids[j]
                    j += 1
        source, source_ids, target, target_ids = target, target_ids, source, source_ids
        swapped = not swapped
        width *= 2
    if swapped:
        for i in range(count):
            keys[i], ids[i] = source[i], source_ids[i]


@njit
def take_top(candidates, scores, count, k, keys, ids, spare_keys, spare_ids):
    """Put the k candidates with the largest scores into ``keys`` and ``ids``: falling score, then rising id."""
    for j in range(count):
        keys[j] = scores[j]
    least = largest_first(keys, count, k)
    above = ties = 0
    for j in range(count):
        if scores[j] > least:
            keys[above], ids[above] = scores[j], candidates[j]
            above += 1
        elif scores[j] == least:
            # Keys are negated ids, so that the largest keys have the lowest ids.
            spare_keys[ties] = -int64(candidates[j])
            ties += 1
    if above < k:
        largest_first(spare_keys, ties, k - above)
        for j in range(k - above):
            keys[above + j], ids[above + j] = least, -spare_keys[j]
    sort_falling(keys, ids, k, spare_keys, spare_ids)


@numba.njit(inline="always")
def upper_bound(bounds, step, score, by_walks):
    """Return the upper bound on π for the estimate ``score``; ``by_walks`` is its part from walks, rounded down."""
    lost = by_walks * LOST
    return score + lost + bounds[step, 0] + np.sqrt(bounds[step, 1] + bounds[step, 2] * (by_walks + lost))


@numba.njit(inline="always")
def lower_bound(bounds, step, score, by_walks, reserve):
    """Return the lower bound on π; arguments are those of :func:`upper_bound`, and the reserve."""
    return max(reserve, score + bounds[step, 3] - np.sqrt(bounds[step, 4] + bounds[step, 5] * by_walks))


@njit
def refused_at(step, count, least_reserve, request, ws):
    """Return the first position, from 1 on, at which the stop test fails; 0 if it passes.

    Parameters
    ----------
    step : int
        The value of δ.
    count : int
        Number of candidates. The workspace has the candidates and their estimates π̂.
    least_reserve : int
        e₀. The upper bound of any vertex outside the candidates is at most the upper bound for π̂ = Y = e₀.
    request : gpukit.kpar.groups.Request
    ws : gpukit.kpar.query.answer_cpu.Workspace
        Its keys and ids are undefined afterwards. If the test passes, ``limits`` has the limit that each position was
        tested against.
    """
    k, bounds, delta_min, epsilon = request.k, request.bounds, request.delta_min, request.epsilon
    candidates, scores, reserves = ws.candidates, ws.scores, ws.reserves
    keys, key_bits, ids = ws.keys, ws.key_bits, ws.ids
    outside = upper_bound(bounds, step, float(least_reserve) * UNIT, float(least_reserve) * UNIT)
    if count < k and outside > delta_min:
        return count + 1
    length = min(k, count)
    if length == 0:
        return 0
    for j in range(count):
        keys[j] = scores[j]
    least = float(largest_first(keys, count, length)) * UNIT
    for j in range(count):
        by_walks = float(scores[j] - reserves[2 * candidates[j]]) * UNIT
        key_bits[j] = upper_bound(bounds, step, float(scores[j]) * UNIT, by_walks)
    # Positive floating-point numbers compare in the same order as their bits read as integers.
    largest_first(keys, count, length)
    highest = max(key_bits[length - 1], outside)
    # No lower bound exceeds π̂, so this cheap test fails only if the full one would.
    if count >= k and highest > delta_min and least < (1.0 - epsilon) * highest:
        return k
    sort_falling(keys, ids, length, ws.spare_keys, ws.spare_ids)
    limits = ws.limits
    for i in range(length):
        limits[i] = max(key_bits[i], outside)
    for i in range(length, k):
        limits[i] = outside
    take_top(candidates, scores, count, length, keys, ids, ws.spare_keys, ws.spare_ids)
    # The full test, position by position: equations (1) and (2), as long as the limit is above δ_min.
    for i in range(length):
        if limits[i] <= delta_min:
            break
        score, kept = float(keys[i]) * UNIT, reserves[2 * ids[i]]
        by_walks = float(keys[i] - kept) * UNIT
        upper = upper_bound(bounds, step, score, by_walks)
        lower = lower_bound(bounds, step, score, by_walks, float(kept) * UNIT)
        if lower < (1.0 - epsilon) * limits[i] or score > (1.0 + epsilon) * lower or score < (1.0 - epsilon) * upper:
            return i + 1
    return 0
