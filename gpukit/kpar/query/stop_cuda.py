"""The stop test of a query by a team of blocks on a GPU, and the k best in order: the test of ``bounds.py``."""

from numba import float64, int64

from gpukit.device.kernels import cuda, device
from gpukit.kpar.problem import UNIT
from gpukit.kpar.query.bounds_cuda import from_key, lower_bound, to_key, upper_bound
from gpukit.kpar.query.select_cuda import IDS, KEYS, UPPERS, kth, sort_best, take_best
from gpukit.kpar.query.team_cuda import counters, team_barrier

LISTED, BELOW, REFUSED = 0, 0, 1
"""Counters: upper bounds listed; and, measured from the end, the distances of the first place whose limit is at most
δ_min and of the first place refused."""


@device
def _first_refused(length, step, outside, reserve, request, top, team, phase):
    """Test the best, place by place: equations (1) and (2) while the limit is above δ_min; all threads of the team.

    Returns
    -------
    refused, phase
        The first place refused, counted from 1, or 0; and the new phase.
    """
    rank, members = team.block * cuda.blockDim.x + cuda.threadIdx.x, team.blocks * cuda.blockDim.x
    best_keys, best_ids, best_uppers = top[KEYS], top[IDS], top[UPPERS]
    bounds, delta_min, epsilon = request.bounds, request.delta_min, request.epsilon
    at = counters(team, phase)
    i = rank
    while i < length:
        limit = max(from_key(best_uppers[i]), outside)
        score, kept = best_keys[i], reserve[best_ids[i]]
        value, by_walks = float64(score) * UNIT, float64(score - kept) * UNIT
        high = upper_bound(bounds, step, value, by_walks)
        low = lower_bound(bounds, step, value, by_walks, float64(kept) * UNIT)
        if limit <= delta_min:
            cuda.atomic.max(team.control, at + BELOW, length - i)
        elif low < (1.0 - epsilon) * limit or value > (1.0 + epsilon) * low or value < (1.0 - epsilon) * high:
            cuda.atomic.max(team.control, at + REFUSED, length - i)
        i += members
    phase = team_barrier(team, phase)
    refused = int64(0)
    if team.control[at + REFUSED] > team.control[at + BELOW]:
        refused = length - team.control[at + REFUSED] + 1
    return refused, phase


@device
def refused_at(step, final, count, least_reserve, slot, request, top, team, phase, parity):
    """Put the k best candidates, or all, into ``top`` and test them unless ``final``; all threads of the team.

    ``limits``, ``spare`` and ``room`` of the slot are undefined afterwards. ``top`` is sorted unless the test refused
    before sorting.

    Returns
    -------
    refused, phase, parity
        The first place that the test refuses, or 0 if it passes; the new phase and parity.
    """
    rank, members = team.block * cuda.blockDim.x + cuda.threadIdx.x, team.blocks * cuda.blockDim.x
    scores, limits, reserve, control = slot.scores, slot.limits, slot.reserve, team.control
    best_uppers = top[UPPERS]
    k, bounds, delta_min, epsilon = request.k, request.bounds, request.delta_min, request.epsilon
    length = min(int64(k), count)
    # U_out: the upper bound of a vertex outside the candidates is at most that at π̂ = Y = e₀.
    outside = upper_bound(bounds, step, float64(least_reserve) * UNIT, float64(least_reserve) * UNIT)
    if not final and count < k and outside > delta_min:
        return count + 1, phase, parity
    if length == 0:
        return int64(0), phase, parity
    lowest, phase, parity = take_best(slot, count, length, top, team, phase, parity)
    if not final:
        # The upper bounds of the candidates, as keys; the largest go to ``top``.
        j = rank
        while j < count:
            by_walks = float64(scores[j] - reserve[slot.candidates[j]]) * UNIT
            limits[j] = to_key(upper_bound(bounds, step, float64(scores[j]) * UNIT, by_walks))
            j += members
        phase = team_barrier(team, phase)
        upper, above, _, phase, parity = kth(limits, count, length, slot.spare, slot.room, team, phase, parity)
        at = counters(team, phase)
        j = rank
        while j < count:
            if limits[j] > upper:
                best_uppers[cuda.atomic.add(control, at + LISTED, 1)] = limits[j]
            j += members
        i = above + rank
        while i < len(best_uppers):
            best_uppers[i] = upper if i < length else int64(-1)
            i += members
        phase = team_barrier(team, phase)
        # No lower bound exceeds π̂, so this cheap test fails only if the full one would.
        highest = max(from_key(upper), outside)
        if count >= k and highest > delta_min and float64(lowest) * UNIT < (1.0 - epsilon) * highest:
            return int64(k), phase, parity
    phase = sort_best(top, not final, team, phase, team.memory.pool)
    if final:
        return int64(0), phase, parity
    refused, phase = _first_refused(length, step, outside, reserve, request, top, team, phase)
    return refused, phase, parity
