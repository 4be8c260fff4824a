"""Selection of the best scores, and the test whether they are good enough to stop (section 3.4 of the paper, repaired).

Bounds are float64 sums, products and square roots, which round alike everywhere as long as nothing is fused.
"""

import numba
import numpy as np
from numba import int64

from gpukit.kpar.problem import SCALE_BITS

_UNIT = 2.0**-SCALE_BITS


@numba.njit(nogil=True, cache=True)
def largest_first(keys, count, k):
    """Reorder ``keys[:count]`` so that its k largest come first, and return the k-th largest (Hoare's selection)."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) >> 1
        a, b, c = keys[low], keys[middle], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] > pivot:
                i += 1
            while keys[j] < pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    return keys[k - 1]


@numba.njit(nogil=True, cache=True)
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


@numba.njit(nogil=True, cache=True)
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
            # Negative, so that the largest of them are the lowest ids.
            spare_keys[ties] = -int64(candidates[j])
            ties += 1
    if above < k:
        largest_first(spare_keys, ties, k - above)
        for j in range(k - above):
            keys[above + j], ids[above + j] = least, -spare_keys[j]
    sort_falling(keys, ids, k, spare_keys, spare_ids)


@numba.njit(nogil=True, cache=True)
def refused_at(step, candidates, scores, count, k, least_reserve, ws, reserves, bounds, delta_min, epsilon):
    """Return the first position at which the stop test fails, 0 if none.

    Parameters
    ----------
    step : int
        The value of δ.
    candidates, scores, count
        The candidates and their π̂.
    k : int
        Length of the answer.
    least_reserve : int
        e₀; vertices that are no candidates have an upper bound no larger than at π̂ = Y = e₀.
    ws, reserves
        Scratch arrays, and the reserves.
    bounds : float64 array, shape (steps, 6)
        Coefficients of upper and lower bounds.
    delta_min, epsilon : float
    """
    keys, key_bits, ids, spare_keys, spare_ids = ws
    ua, ub, ud = bounds[step, 0], bounds[step, 1], bounds[step, 2]
    la, lb, ld = bounds[step, 3], bounds[step, 4], bounds[step, 5]
    outside = float(least_reserve) * _UNIT
    outside = outside + ua + np.sqrt(ub + ud * outside)
    if count < k and outside > delta_min:
        return count + 1
    length = min(k, count)
    if length == 0:
        return 0
    for j in range(count):
        keys[j] = scores[j]
    least = float(largest_first(keys, count, length)) * _UNIT
    for j in range(count):
        score = float(scores[j]) * _UNIT
        by_walks = float(scores[j] - reserves[2 * candidates[j]]) * _UNIT
        key_bits[j] = score + ua + np.sqrt(ub + ud * by_walks)
    # Positive floating-point numbers and their bits as integers have the same order.
    largest_first(keys, count, length)
    highest = max(key_bits[length - 1], outside)
    # No lower bound exceeds π̂, so this cheap test fails only where the full one would.
    if count >= k and highest > delta_min and least < (1.0 - epsilon) * highest:
        return k
    sort_falling(keys, ids, length, spare_keys, spare_ids)
    limits = np.empty(length, np.float64)
    for i in range(length):
        limits[i] = max(key_bits[i], outside)
    take_top(candidates, scores, count, length, keys, ids, spare_keys, spare_ids)
    for i in range(length):
        if limits[i] <= delta_min:
            break
        score = float(keys[i]) * _UNIT
        reserve = float(reserves[2 * ids[i]]) * _UNIT
        by_walks = float(keys[i] - reserves[2 * ids[i]]) * _UNIT
        upper = score + ua + np.sqrt(ub + ud * by_walks)
        lower = max(reserve, score + la - np.sqrt(lb + ld * by_walks))
        if lower < (1.0 - epsilon) * limits[i] or score > (1.0 + epsilon) * lower or score < (1.0 - epsilon) * upper:
            return i + 1
    return 0


@numba.njit(nogil=True, cache=True)
def printed_refused_at(step, candidates, scores, count, k, ws, printed, delta_min, epsilon):
    """Return the first position at which the printed stop test fails (lines 14 to 22 of algorithm 3), 0 if none.

    An ablation, and unsound: it never tests equation (1) and passes over small positions. Bounds are those of equation
    (12): (1 ± ε')·π̂, where ε' solves (2ε'/3 + 2)/(ε'²·π̂) = c.

    Parameters
    ----------
    step, candidates, scores, count, k, ws, delta_min, epsilon
        As for :func:`refused_at`; ``ws`` are the scratch arrays.
    printed : float64 array, shape (steps, 2)
        c, and the bound (11) on vertices not processed, of each δ.
    """
    keys, _, ids, spare_keys, spare_ids = ws
    c, outside = printed[step, 0], printed[step, 1]
    length = min(k, count)
    if length < k:
        return length + 1
    take_top(candidates, scores, count, length, keys, ids, spare_keys, spare_ids)
    last = 0
    for i in range(length):
        score = float(keys[i]) * _UNIT
        if score * (1.0 - _printed_error(c, score)) < delta_min:
            break
        last = i + 1
    if last == 0:
        return 1
    score = float(keys[last - 1]) * _UNIT
    if score * (1.0 - _printed_error(c, score)) < (1.0 - epsilon) * outside * (1.0 + _printed_error(c, outside)):
        return last
    for i in range(min(last, length - 1)):
        score, following = float(keys[i]) * _UNIT, float(keys[i + 1]) * _UNIT
        upper = following * (1.0 + _printed_error(c, following))
        if score * (1.0 - _printed_error(c, score)) <= (1.0 - epsilon) * upper:
            return i + 1
    return 0


@numba.njit(inline="always")
def _printed_error(c, score):
    """Return ε' of equation (12): the positive root of c·π̂·x² - 2x/3 - 2."""
    return (2.0 / 3.0 + np.sqrt(4.0 / 9.0 + 8.0 * c * score)) / (2.0 * c * score)
