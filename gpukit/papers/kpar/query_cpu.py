"""The kernel of a query with the printed variants of the paper, and with checks (Numba)."""

import numba
import numpy as np
from numba import int64

from gpukit.device.compiled import njit
from gpukit.kpar.problem import ONE, UNIT
from gpukit.kpar.query.answer_cpu import (
    begin,
    collect_frontier,
    estimate,
    forget_walked,
    leave_clean,
    propose,
    push_round,
    value_walks,
    write_answer,
)
from gpukit.kpar.query.bounds import refused_at, take_top
from gpukit.kpar.rule import any_walk_end, goes_forward, threshold_of

RESORT = 2
"""A value in a trace: walks were drawn as a last resort. Otherwise the entry says whether forward rows were read."""


@njit
def printed_refused_at(step, count, printed, request, ws):
    """Return the first position at which the printed stop test fails (lines 14 to 22 of algorithm 3), 0 if none.

    An ablation, and unsound: it never tests equation (1), and skips small positions. Bounds are those of equation (12):
    (1 ± ε')·π̂, where ε' solves (2ε'/3 + 2)/(ε'²·π̂) = c.

    Parameters
    ----------
    step, count, request, ws
        As for :func:`gpukit.kpar.query.bounds.refused_at`.
    printed : float64 array, shape (steps, 2)
        For each δ: c, and the bound (11) on vertices that were not processed.
    """
    k, delta_min, epsilon, keys = request.k, request.delta_min, request.epsilon, ws.keys
    c, outside = printed[step, 0], printed[step, 1]
    length = min(k, count)
    if length < k:
        return length + 1
    take_top(ws.candidates, ws.scores, count, length, keys, ws.ids, ws.spare_keys, ws.spare_ids)
    last = 0
    for i in range(length):
        score = float(keys[i]) * UNIT
        if score * (1.0 - _printed_error(c, score)) < delta_min:
            break
        last = i + 1
    if last == 0:
        return 1
    score = float(keys[last - 1]) * UNIT
    if score * (1.0 - _printed_error(c, score)) < (1.0 - epsilon) * outside * (1.0 + _printed_error(c, outside)):
        return last
    for i in range(min(last, length - 1)):
        score, following = float(keys[i]) * UNIT, float(keys[i + 1]) * UNIT
        upper = following * (1.0 + _printed_error(c, following))
        if score * (1.0 - _printed_error(c, score)) <= (1.0 - epsilon) * upper:
            return i + 1
    return 0


@numba.njit(inline="always")
def _printed_error(c, score):
    """Return ε' of equation (12): the positive root of c·π̂·x² - 2x/3 - 2."""
    return (2.0 / 3.0 + np.sqrt(4.0 / 9.0 + 8.0 * c * score)) / (2.0 * c * score)


@njit
def watched_push(size, met, threshold, edges, chances, watch, ws):
    """Push as a query does; with ``watch`` count the rounds after which residues and reserves do not sum to one."""
    rounds = pushed = pushed_along = wrong = 0
    frontier, upcoming = ws.frontier, ws.upcoming
    while size > 0:
        rounds += 1
        pushed += size
        size, met, along = push_round(frontier, size, upcoming, met, threshold, edges, chances, ws)
        pushed_along += along
        frontier, upcoming = upcoming, frontier
        if watch:
            total = int64(0)
            for v in range(len(edges.indptr) - 1):
                total += ws.state[2 * v] + ws.reserves[2 * v]
            wrong += int64(total != ONE)
    return met, rounds, pushed, pushed_along, wrong


@njit
def last_resort(edges, chances, seed, tag, worth, met, ws):
    """Distribute all residues by new walks (lines 27 to 31 of algorithm 3); return the number of vertices with a score.

    One walk represents at most ``worth`` units. The walks have a separate round of the stream ``tag``.
    """
    reserves, walked, reached = ws.reserves, ws.walked, ws.upcoming
    ends = 0
    for j in range(met):
        v = ws.touched[j]
        rest = ws.state[2 * v]
        if rest > 0:
            walks = (rest + worth - 1) // worth
            value, extra = rest // walks, rest % walks
            for i in range(walks):
                t = any_walk_end(
                    edges.indptr, edges.indices, chances, edges.one_minus_alpha, seed, tag + (2 << 8), i, v
                )
                if walked[t] == 0:
                    reached[ends] = t
                    ends += 1
                walked[t] += value + int64(i < extra)
    count = 0
    for j in range(met):
        v = ws.touched[j]
        if reserves[2 * v] > 0:
            ws.candidates[count], ws.scores[count] = v, reserves[2 * v] + walked[v]
            count += 1
    for j in range(ends):
        v = reached[j]
        if reserves[2 * v] == 0 and walked[v] > 0:
            ws.candidates[count], ws.scores[count] = v, walked[v]
            count += 1
        walked[v] = 0
    return count


@njit
def answer(edges, chances, walks, batch, first, last, request, printed, resort, watch, ws, out):
    """Answer queries like :func:`gpukit.kpar.query.answer_cpu.answer`, with ablations and checks.

    Parameters
    ----------
    edges, chances, walks, batch, first, last, request, ws, out
        As there.
    printed : float64 array, shape (steps, 2), or (0, 2)
        For the printed stop test, which then replaces the sound one.
    resort : int
        For walks as a last resort: the residue that one walk represents; 0 without them.
    watch : bool
        Whether to check after every round that residues and reserves sum to one.

    Returns
    -------
    int
        Number of rounds whose residues and reserves did not sum to one; 0 unless ``watch``.
    """
    steps, wrong = len(request.rhos), 0
    for q in range(first, last):
        met = size = begin(q, batch, ws)
        least_reserve, worked = int64(0), int64(0)
        for step in range(steps):
            threshold = threshold_of(request.rhos[step])
            if step > 0:
                size = collect_frontier(met, threshold, ws)
            met, rounds, pushed, pushed_along, lost = watched_push(size, met, threshold, edges, chances, watch, ws)
            wrong += lost
            large, forward_cost, left = value_walks(
                met, max(least_reserve, 1), threshold.coarse, walks.row_begin, walks.row_until, None, ws
            )
            final = left == 0 or (step == steps - 1 and resort == 0)
            trace = out.traces[q, step]
            trace[0], trace[1], trace[2], trace[3], trace[4] = step, rounds, pushed, pushed_along, met
            worked += pushed_along
            if worked < request.patience[step] and not final:
                trace[8] = -1
                continue
            least_reserve, count, cost = propose(large, request.k, met, walks, threshold, None, ws)
            forward = walks.light or goes_forward(least_reserve, forward_cost, cost)
            count, reached = estimate(forward, least_reserve, count, met, edges, chances, walks, None, ws)
            refused = 0
            if not final and len(printed) > 0:
                refused = printed_refused_at(step, count, printed, request, ws)
            elif not final:
                refused = refused_at(step, count, least_reserve, request, ws)
            trace[5], trace[6] = count, forward_cost if forward else cost
            trace[7], trace[8] = int64(forward), refused
            forget_walked(reached, ws)
            if refused != 0 and step == steps - 1:
                count = last_resort(edges, chances, walks.seed, walks.tag, resort, met, ws)
                trace[7] = RESORT
                refused = 0
            if refused == 0:
                write_answer(q, step + 1, count, request.k, ws, out)
                break
        leave_clean(met, ws)
    return wrong
