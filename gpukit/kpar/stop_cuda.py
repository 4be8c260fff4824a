"""The stop test of a query by a team of blocks on a GPU, and the k best in order: that of ``bounds.py``."""

from numba import cuda, float64, int64

from gpukit.kpar.bounds_cuda import WORTH, from_key, lower_bound, to_key, upper_bound
from gpukit.kpar.select_cuda import IDS, KEYS, UPPERS, kth, sort_best, take_best
from gpukit.kpar.team_cuda import FIRST, SECOND, counters, meet


@cuda.jit(device=True)
def refused_at(
    step, final, candidates, scores, count, k, least, reserve, bounds, delta_min, epsilon, limits, spare, top,
    control, home, member, blocks, phase, turn, pool, sums, local, shared,
):  # fmt: skip
    """Put the k best candidates, or all, into ``top`` and test them unless ``final``; all threads of the team.

    ``scores``, ``limits`` and ``spare`` are undefined afterwards; ``top`` is sorted where the test did not refuse
    before that.

    Returns
    -------
    refused, phase, turn
        The first place that the test refuses, 0 where it passes; the new phase and turn.
    """
    me, everyone = member * cuda.blockDim.x + cuda.threadIdx.x, blocks * cuda.blockDim.x
    best_keys, best_ids, best_uppers = top[KEYS], top[IDS], top[UPPERS]
    length = min(int64(k), count)
    outside = upper_bound(bounds, step, float64(least) * WORTH, float64(least) * WORTH)
    if not final and count < k and outside > delta_min:
        return count + 1, phase, turn
    if length == 0:
        return int64(0), phase, turn
    lowest, phase, turn = take_best(
        scores, candidates, count, length, limits, spare, best_keys, best_ids,
        control, home, member, blocks, phase, turn, pool, sums, local, shared,
    )  # fmt: skip
    if not final:
        j = me
        while j < count:
            by_walks = float64(scores[j] - reserve[candidates[j]]) * WORTH
            limits[j] = to_key(upper_bound(bounds, step, float64(scores[j]) * WORTH, by_walks))
            j += everyone
        phase = meet(control, home, member, blocks, phase)
        upper, above, _, phase, turn = kth(
            limits, count, length, spare, scores, control, home, member, blocks, phase, turn, pool, sums, local, shared
        )
        at = counters(home, phase)
        j = me
        while j < count:
            if limits[j] > upper:
                best_uppers[cuda.atomic.add(control, at + FIRST, 1)] = limits[j]
            j += everyone
        i = above + me
        while i < len(best_uppers):
            best_uppers[i] = upper if i < length else int64(-1)
            i += everyone
        phase = meet(control, home, member, blocks, phase)
        highest = max(from_key(upper), outside)
        if count >= k and highest > delta_min and float64(lowest) * WORTH < (1.0 - epsilon) * highest:
            return int64(k), phase, turn
    phase = sort_best(top, not final, control, home, member, blocks, phase, pool)
    if final:
        return int64(0), phase, turn
    at = counters(home, phase)
    i = me
    while i < length:
        limit = max(from_key(best_uppers[i]), outside)
        score, kept = best_keys[i], reserve[best_ids[i]]
        value, by_walks = float64(score) * WORTH, float64(score - kept) * WORTH
        high = upper_bound(bounds, step, value, by_walks)
        low = lower_bound(bounds, step, value, by_walks, float64(kept) * WORTH)
        if limit <= delta_min:
            cuda.atomic.max(control, at + FIRST, length - i)
        elif low < (1.0 - epsilon) * limit or value > (1.0 + epsilon) * low or value < (1.0 - epsilon) * high:
            cuda.atomic.max(control, at + SECOND, length - i)
        i += everyone
    phase = meet(control, home, member, blocks, phase)
    refused = int64(0)
    if control[at + SECOND] > control[at + FIRST]:
        refused = length - control[at + SECOND] + 1
    return refused, phase, turn
