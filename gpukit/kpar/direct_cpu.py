"""Kernels of a query without an index: pushes, and if needed walks that are drawn for this query.

There are two ways to end a query. After a push, each vertex u can start ⌈r(u)/ρ(δ)⌉ walks, each with at most ρ(δ) of
residue; the bounds of ``bounds.py`` then hold for δ, with the same guarantee. Or the pushes continue until the
remaining residue R is so small that the reserves are enough: π° ≤ π ≤ π° + R. The smaller the residues, the fewer the
walks. So walks are drawn as soon as all walks of the query, including these, cost no more than its pushes. If their
bounds are refused, the next walks are for a quarter of δ. So a query costs at most about twice as much as its pushes.
Costs are integers, so the choice is the same on every machine.
"""

from numba import int64, uint64

from gpukit.device.compiled import njit
from gpukit.kpar.problem import UNIT
from gpukit.kpar.query.answer_cpu import (
    ABSORBS,
    SEEN,
    begin,
    collect_frontier,
    leave_clean,
    list_reached,
    push,
    write_answer,
)
from gpukit.kpar.query.bounds import refused_at, take_top
from gpukit.kpar.rule import any_walk_end, left_out, threshold_of
from gpukit.worlds.highest import largest_first

STEP_COST = 4
"""Cost of a step of a walk, in edges of a push: it needs random numbers, and reads memory at an unpredictable place."""


@njit(error_model="numpy")
def count_walks(met, rho, among, ws):
    """Finish a push: residues of absorbing vertices become reserve.

    List the vertices with a reserve that answers may name.

    Returns
    -------
    count, needed, left
        Candidates, whose reserves are in ``scores``; walks that the residues need at ρ; the sum of the residues.
    """
    count = 0
    needed = left = int64(0)
    for j in range(met):
        v = ws.touched[j]
        if ws.state[2 * v + 1] ^ SEEN == ABSORBS:
            ws.reserves[2 * v] += ws.state[2 * v]
            ws.state[2 * v] = 0
        rest = ws.state[2 * v]
        left += rest
        needed += (rest + rho - 1) // rho
        if ws.reserves[2 * v] > 0 and not left_out(v, among):
            ws.candidates[count] = v
            ws.scores[count] = ws.reserves[2 * v]
            count += 1
    return count, needed, left


@njit
def kth_reserve(count, k, ws):
    """Return the k-th largest reserve of the candidates, or 0 if there are fewer candidates."""
    if count < k:
        return int64(0)
    for j in range(count):
        ws.keys[j] = ws.scores[j]
    return int64(largest_first(ws.keys, count, k))


@njit
def is_certain(count, least, left, request, ws):
    """Return whether the reserves of the candidates are good enough for Definition 1, with π° ≤ π ≤ π° + R."""
    rest, kth = float(left) * UNIT, float(least) * UNIT
    if kth + rest > request.delta_min and kth < (1.0 - request.epsilon) * (kth + rest):
        return False
    # The smallest reserve above δ_min decides; it is the k-th, unless the k-th is below δ_min.
    length = min(request.k, count)
    if length > 0:
        take_top(ws.candidates, ws.scores, count, length, ws.keys, ws.ids, ws.spare_keys, ws.spare_ids)
    for i in range(length):
        score = float(ws.keys[i]) * UNIT
        if score + rest > request.delta_min and score < (1.0 - request.epsilon) * (score + rest):
            return False
    return True


@njit(error_model="numpy")
def draw_walks(met, rho, edges, chances, key, among, ws):
    """Draw the walks of all residues; list the vertices with a score that answers may name, and return their number.

    Walk j of vertex u equals that of an index with this seed.
    """
    seed, tag = key
    walked, reached = ws.walked, ws.upcoming
    ends = 0
    for j in range(met):
        v = ws.touched[j]
        rest = ws.state[2 * v]
        if rest == 0:
            continue
        walks = (rest + rho - 1) // rho
        value = int64(uint64(rest) // uint64(walks))
        for i in range(walks):
            t = any_walk_end(edges.indptr, edges.indices, chances, edges.one_minus_alpha, seed, tag, i, v)
            if walked[t] == 0:
                reached[ends] = t
                ends += 1
            walked[t] += value
    count = list_reached(met, ends, among, ws)
    for j in range(count):
        v = ws.candidates[j]
        ws.scores[j] = ws.reserves[2 * v] + walked[v]
    for j in range(ends):
        walked[reached[j]] = 0
    return count


@njit
def answer(among, edges, chances, key, goal, batch, first, last, request, ws, out):
    """Answer the queries first … last - 1.

    Parameters
    ----------
    among, edges, chances, batch, first, last, request, ws, out
        As in :func:`gpukit.kpar.query.answer_cpu.answer`; the workspace has ω of all vertices, and no ω_I.
    key : tuple of uint64 and int
        Seed and stream of the walks.
    goal : int
        Residue to which the query pushes without walks, in units of 2**-62. 0: it pushes as far as the guarantee needs,
        or draws walks.

    Notes
    -----
    In a trace ``entries`` is the number of walks drawn, ``forward`` is 1 if there were any, and ``failed_at`` is -1 if
    no test was tried.
    """
    steps = len(request.rhos)
    mean_steps = (int64(1) << 32, (int64(1) << 32) - int64(edges.one_minus_alpha))
    for q in range(first, last):
        met = size = begin(q, batch, ws)
        worked, walked, aim = int64(0), int64(0), int64(0)
        for step in range(steps):
            threshold = threshold_of(request.rhos[step])
            if step > 0:
                size = collect_frontier(met, threshold, ws)
            met, rounds, pushed, pushed_along = push(size, met, threshold, edges, chances, ws)
            worked += pushed_along
            final = step == steps - 1
            aim = step if final else aim
            count, needed, left = count_walks(met, request.rhos[aim], among, ws)
            trace = out.traces[q, step]
            trace[0], trace[1], trace[2], trace[3], trace[4] = step, rounds, pushed, pushed_along, met
            trace[5], trace[8] = count, -1
            if worked < request.patience[step] and left > 0 and not final:
                continue
            if goal > 0:
                done = final or left <= goal
            else:
                done = is_certain(count, kth_reserve(count, request.k, ws), left, request, ws)
            cost = needed * STEP_COST * mean_steps[0] // mean_steps[1]
            if done:
                trace[8] = 0
            elif goal == 0 and (final or walked + cost <= worked):
                count = draw_walks(met, request.rhos[aim], edges, chances, key, among, ws)
                refused = 0 if final else refused_at(aim, count, int64(0), request, ws)
                trace[5], trace[6], trace[7], trace[8] = count, needed, 1, refused
                done = refused == 0
                walked, aim = walked + cost, min(aim + 2, steps - 1)
            if done:
                write_answer(q, step + 1, count, request.k, ws, out)
                break
        leave_clean(met, ws)
