"""Kernels of a query without an index: pushes, and walks drawn for it alone, or none at all.

Once residues are pushed, every vertex u may send ⌈r(u)/ρ(δ)⌉ walks, each worth ρ(δ) at most: no more than the bounds
of ``bounds.py`` need for δ, and the same guarantee. Or the pushes go on until what is left, R in all, is so little that
the reserves alone do: π° ≤ π ≤ π° + R. The fewer residues, the fewer walks: they are drawn as soon as all drawn so far
cost no more than the pushes did; if their bounds are refused, the next are for a quarter of δ. So a query costs at most
about twice what its pushes do. It is all counted in whole numbers: the choice is the same on every machine.
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
"""What a step of a walk costs, in edges pushed along: random numbers, and a place in memory that nobody can foresee."""


@njit(error_model="numpy")
def count_walks(met, rho, among, ws):
    """After a push: what absorbing vertices got becomes reserve; lists those with a reserve that answers may name.

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
    """Return the k-th largest reserve of the candidates, 0 where there are fewer."""
    if count < k:
        return int64(0)
    for j in range(count):
        ws.keys[j] = ws.scores[j]
    return int64(largest_first(ws.keys, count, k))


@njit
def is_certain(count, least, left, request, ws):
    """Say whether the reserves of the candidates alone are good enough: Definition 1, with π° ≤ π ≤ π° + R."""
    rest, kth = float(left) * UNIT, float(least) * UNIT
    if kth + rest > request.delta_min and kth < (1.0 - request.epsilon) * (kth + rest):
        return False
    # Of places above δ_min the smallest decides; that is another than the k-th where that is below.
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
    """Draw the walks of all residues; lists those with a score that answers may name. Returns how many.

    Walk j of vertex u is the one that an index with this seed holds.
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
        Residue down to which pushes alone go on, in units of 2**-62; 0: to what the guarantee needs, or with walks.

    Notes
    -----
    Of a trace ``entries`` is the number of walks drawn, ``forward`` 1 where some were, and ``failed_at`` -1 where
    neither way was tried.
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
