"""The kernel of a query on the CPU (Numba): adaptive forward push, candidates, estimates, bounds and the stop test.

One call answers a range of queries on one core, in its own workspace; an answer depends on neither the range nor the
workspace. Values are int64 in units of 2**-62; none exceeds 2**62. Values that are read together are stored together:
``state`` holds (residue, ω plus the mark ``SEEN``) and ``reserves`` holds (reserve, ω_I) of each vertex.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64

from gpukit.device.compiled import njit
from gpukit.kpar.groups import NO_IN_EDGES, Stop
from gpukit.kpar.problem import CONTENDERS, TRACE, Result, Step
from gpukit.kpar.query.bounds import refused_at, take_top
from gpukit.kpar.query.refine_cpu import finish
from gpukit.kpar.rule import any_walk_end, goes_forward, left_out, passed_on, passed_up_to, shift_of, threshold_of
from gpukit.kpar.spaced import spaced_in_edges
from gpukit.worlds.highest import largest_first

ABSORBS = 1 << 52
"""Stored in ``state`` instead of ω = 0 for a vertex without out-edges. No threshold lets such a vertex into a frontier:
what it receives stays residue until the end of a push and then becomes reserve."""
SEEN = 1 << 53
"""Added to ω in ``state`` once a query has reached the vertex."""


class Workspace(NamedTuple):
    """Arrays of one thread, shape (n,) or (2 n,); ``key_bits`` and ``keys`` share memory."""

    state: np.ndarray
    reserves: np.ndarray
    unit: np.ndarray
    walked: np.ndarray
    touched: np.ndarray
    frontier: np.ndarray
    upcoming: np.ndarray
    taken: np.ndarray
    candidates: np.ndarray
    scores: np.ndarray
    keys: np.ndarray
    key_bits: np.ndarray
    spare_keys: np.ndarray
    ids: np.ndarray
    spare_ids: np.ndarray
    limits: np.ndarray


class Batch(NamedTuple):
    """Queries (:class:`gpukit.kpar.problem.Sources`), with ``mass`` as int64.

    ``in_edges`` (:class:`gpukit.kpar.spaced.SpacedInEdges`) are for refining answers.
    """

    offsets: Any
    vertices: Any
    mass: Any
    in_edges: Any = spaced_in_edges(NO_IN_EDGES)


class Answers(NamedTuple):
    """Arrays that queries write.

    Vertices (int32), scores (int64) and certainty flags (bool), shape (queries, k); lengths and numbers of steps, shape
    (queries,); and the traces, int64 (queries, steps, columns).
    """

    nodes: Any
    scores: Any
    lengths: Any
    steps: Any
    traces: Any
    certain: Any

    @classmethod
    def of(cls, queries: int, k: int, steps: int) -> "Answers":
        """Return arrays for the answers of ``queries`` queries, with k positions and at most ``steps`` steps."""
        places = (queries, k)
        return cls(
            np.empty(places, np.int32), np.empty(places, np.int64), np.zeros(queries, np.int64),
            np.zeros(queries, np.int32), np.zeros((queries, steps, len(TRACE)), np.int64), np.zeros(places, np.bool_),
        )  # fmt: skip

    def result(self, schedule: list[Step], *, certain: bool) -> Result:
        """Return the answers; without ``certain``, they do not say which positions are certain."""
        flags = self.certain if certain else None
        return Result.of_rows(self.lengths, self.nodes, self.scores, self.steps, self.traces, schedule, flags)


def workspace(walks: np.ndarray, arrivals: np.ndarray) -> Workspace:
    """Return a zeroed workspace for an index with these ω and ω_I."""
    n = len(walks)
    state, reserves = np.zeros(2 * n, np.int64), np.zeros(2 * n, np.int64)
    state[1::2], reserves[1::2] = np.where(walks == 0, ABSORBS, walks.astype(np.int64)), arrivals
    keys = np.zeros(n, np.int64)
    # One element more: the branchless append writes one element past the last entry.
    lists = {name: np.zeros(n + 1, np.int32) for name in ("touched", "frontier", "upcoming", "candidates", "ids")}
    sums = {name: np.zeros(n, np.int64) for name in ("unit", "walked", "taken", "scores", "spare_keys")}
    spare_ids = np.zeros(n, np.int32)
    return Workspace(
        state=state, reserves=reserves, keys=keys, key_bits=keys.view(np.float64), spare_ids=spare_ids,
        limits=np.zeros(n, np.float64), **lists, **sums,
    )  # fmt: skip


@njit
def begin(q, batch, ws):
    """Give the sources of a query their mass and make them the frontier; return their number."""
    size = uint64(0)
    for i in range(batch.offsets[q], batch.offsets[q + 1]):
        v = batch.vertices[i]
        ws.state[2 * v] = batch.mass[i]
        ws.state[2 * v + 1] |= SEEN
        ws.touched[size] = v
        ws.frontier[size] = v
        size += uint64(1)
    return size


@njit
def collect_frontier(met, threshold, ws):
    """List in ``frontier`` the vertices met so far whose residue is above their threshold; return their number."""
    size = uint64(0)
    for j in range(met):
        v = ws.touched[j]
        rest, w = ws.state[2 * v], ws.state[2 * v + 1] ^ SEEN
        if w <= threshold.walks_max and rest > w * threshold.rho:
            ws.frontier[size] = v
            size += uint64(1)
    return size


@njit(error_model="numpy")
def push_round(frontier, size, upcoming, met, threshold, edges, chances, ws):
    """Push once from the ``size`` vertices of a frontier: all their residue is taken before any is pushed.

    Returns
    -------
    following, met, pushed_along
        Number of vertices lifted over their thresholds, which ``upcoming`` lists; number of vertices met so far; number
        of edges pushed along.
    """
    state, reserves, touched, taken = ws.state, ws.reserves, ws.touched, ws.taken
    indptr, indices, one_minus_alpha, until = edges
    rho, walks_max, _ = threshold
    pushed_along = 0
    for j in range(size):
        v = frontier[j]
        taken[j] = state[2 * v]
        state[2 * v] = 0
    following = uint64(0)
    for j in range(size):
        v = frontier[j]
        start, end = indptr[v], until[v]
        passed = share = before = int64(0)
        if end > start:
            passed = int64(passed_on(uint64(taken[j]), one_minus_alpha))
            if chances is None:
                share = int64(uint64(passed) // uint64(end - start))
                passed = (end - start) * share
        reserves[2 * v] += taken[j] - passed
        if passed == 0:
            continue
        pushed_along += end - start
        for e in range(start, end):
            if chances is not None:
                reach = passed_up_to(passed, chances, e, end - 1)
                share, before = reach - before, reach
                if share == 0:
                    continue
            u = uint64(indices[e])
            place = u << uint64(1)
            word = state[place + uint64(1)]
            # Branchless append: the entry stays only if the counter advances.
            touched[met] = u
            met += uint64(word < SEEN)
            word |= SEEN
            w = word ^ SEEN
            old = state[place]
            state[place] = old + share
            state[place + uint64(1)] = word
            limit = w * rho
            upcoming[following] = u
            following += uint64((w <= walks_max) & (old <= limit) & (old + share > limit))
    return following, met, pushed_along


@njit
def push(size, met, threshold, edges, chances, ws):
    """Push until no residue is above its threshold (algorithm 2).

    Returns
    -------
    met, rounds, pushed, pushed_along
        Number of vertices met so far; numbers of rounds, of vertices pushed from, and of edges pushed along.
    """
    rounds = pushed = pushed_along = 0
    frontier, upcoming = ws.frontier, ws.upcoming
    while size > 0:
        rounds += 1
        pushed += size
        size, met, along = push_round(frontier, size, upcoming, met, threshold, edges, chances, ws)
        pushed_along += along
        frontier, upcoming = upcoming, frontier
    return met, rounds, pushed, pushed_along


@njit(error_model="numpy")
def value_walks(met, floor, coarse, row_begin, row_until, among, ws):
    """After a push, turn residues of absorbing vertices into reserve, and set ``unit``, the mass per walk.

    The lowest ``coarse`` bits of a unit are zero. Of its other bits, only the leading
    :data:`gpukit.kpar.rule.SIGNIFICANT` are kept.

    Returns
    -------
    count, forward_cost, left
        Number of reserves of at least ``floor``, which are in ``keys``; number of entries in the forward rows of the
        vertices with a unit; a number that is nonzero if residue is left.
    """
    state, reserves, unit, keys = ws.state, ws.reserves, ws.unit, ws.keys
    count = 0
    forward_cost = 0
    left = int64(0)
    for j in range(met):
        v = ws.touched[j]
        rest, w = state[2 * v], state[2 * v + 1] ^ SEEN
        if w == ABSORBS:
            reserves[2 * v] += rest
            state[2 * v] = rest = 0
        keys[count] = reserves[2 * v]
        count += int64(reserves[2 * v] >= floor and not left_out(v, among))
        left |= rest
        value = int64(0)
        if rest > 0:
            value = int64(uint64(rest) // uint64(w)) >> coarse
            shift = shift_of(value)
            value = value >> shift << shift << coarse
        unit[v] = value
        if value > 0:
            forward_cost += row_until[v] - row_begin[v]
    return count, forward_cost, left


@njit
def propose(size, k, met, walks, threshold, among, ws):
    """List in ``candidates`` the vertices that could be among the k best: reserve + ω_I · ρ is at least e₀.

    The first ``size`` keys are reserves; the k largest reserves are among them.

    Returns
    -------
    least_reserve, count, inverted_cost
        e₀, the k-th largest reserve; the number of candidates; the number of entries of their start lists. All are 0 if
        there are fewer than k reserves.
    """
    state, reserves, candidates = ws.state, ws.reserves, ws.candidates
    src_begin, src_until, by_arrivals = walks.src_begin, walks.src_until, walks.by_arrivals
    rho, walks_max, _ = threshold
    count = 0
    inverted_cost = 0
    if size < k:
        return int64(0), count, inverted_cost
    least_reserve = largest_first(ws.keys, size, k)
    for j in range(met):
        v = ws.touched[j]
        if left_out(v, among):
            continue
        arrivals = reserves[2 * v + 1]
        if arrivals > walks_max or reserves[2 * v] + arrivals * rho >= least_reserve:
            candidates[count] = v
            count += 1
            inverted_cost += src_until[v] - src_begin[v]
    # Vertices not met have no reserve. The list is sorted by ω_I, so no vertex after the first failure is a candidate.
    for j in range(len(by_arrivals)):
        v = by_arrivals[j]
        arrivals = reserves[2 * v + 1]
        if arrivals <= walks_max and arrivals * rho < least_reserve:
            break
        if state[2 * v + 1] < SEEN and not left_out(v, among):
            candidates[count] = v
            count += 1
            inverted_cost += src_until[v] - src_begin[v]
    return least_reserve, count, inverted_cost


@njit
def walk_forward(met, edges, chances, walks, ws):
    """Add each vertex's unit to ``walked`` at the ends of its walks; list the ends in ``upcoming``; return how many."""
    unit, walked, reached = ws.unit, ws.walked, ws.upcoming
    count = 0
    for j in range(met):
        v = ws.touched[j]
        value = unit[v]
        if value == 0:
            continue
        if walks.light:
            for i in range(ws.state[2 * v + 1] ^ SEEN):
                t = any_walk_end(
                    edges.indptr, edges.indices, chances, edges.one_minus_alpha, walks.seed, walks.tag, i, v
                )
                if walked[t] == 0:
                    reached[count] = t
                    count += 1
                walked[t] += value
        else:
            for i in range(walks.row_begin[v], walks.row_until[v]):
                t = walks.row_ends[i]
                old = walked[t]
                walked[t] = old + value * int64(walks.row_freqs[i])
                if old == 0:
                    reached[count] = t
                    count += 1
    return count


@njit
def list_reached(met, reached, among, ws):
    """List as candidates all vertices with a score: a reserve, or walks that end there; return their number."""
    count = 0
    for j in range(met):
        v = ws.touched[j]
        if ws.reserves[2 * v] > 0 and not left_out(v, among):
            ws.candidates[count] = v
            count += 1
    for j in range(reached):
        v = ws.upcoming[j]
        if ws.reserves[2 * v] == 0 and not left_out(v, among):
            ws.candidates[count] = v
            count += 1
    return count


@njit
def add_starts(count, walks, ws):
    """Write to ``scores`` the candidates' reserves plus the mass that walks in their start lists carry."""
    unit, starts = ws.unit, walks.starts
    for j in range(count):
        v = ws.candidates[j]
        total = ws.reserves[2 * v]
        low, high = walks.src_begin[v], walks.src_until[v]
        often = walks.frequent_begin[v]
        once = low + walks.frequent_until[v] - often
        for i in range(low, once):
            total += unit[starts[i]] * int64(walks.frequencies[often + i - low])
        for i in range(once, high):
            total += unit[starts[i]]
        ws.scores[j] = total


@njit
def estimate(forward, least_reserve, count, met, edges, chances, walks, among, ws):
    """Write to ``scores`` the candidates' reserves plus the mass that walks carry: forward, or by their start lists.

    If ``least_reserve`` is 0, all vertices with a score become candidates.

    Returns
    -------
    count, reached
        The number of candidates, and the number of vertices with nonzero ``walked``, which ``upcoming`` lists.
    """
    if not forward:
        add_starts(count, walks, ws)
        return count, 0
    reached = walk_forward(met, edges, chances, walks, ws)
    if least_reserve == 0:
        count = list_reached(met, reached, among, ws)
    for j in range(count):
        v = ws.candidates[j]
        ws.scores[j] = ws.reserves[2 * v] + ws.walked[v]
    return count, reached


@njit
def forget_walked(reached, ws):
    """Reset ``walked`` to zero for the vertices that ``upcoming`` lists."""
    for j in range(reached):
        ws.walked[ws.upcoming[j]] = 0


@njit
def write_places(q, steps, length, ws, out):
    """Write the first ``length`` sorted candidates as the answer of query q."""
    for i in range(length):
        out.nodes[q, i] = ws.ids[i]
        out.scores[q, i] = ws.keys[i]
    out.lengths[q] = length
    out.steps[q] = steps


@njit
def write_answer(q, steps, count, k, ws, out):
    """Sort the k best candidates, or all if there are fewer, and write them as the answer of query q."""
    length = min(k, count)
    if length > 0:
        take_top(ws.candidates, ws.scores, count, length, ws.keys, ws.ids, ws.spare_keys, ws.spare_ids)
    write_places(q, steps, length, ws, out)


@njit
def leave_clean(met, ws):
    """Reset everything that a query wrote to zero."""
    for j in range(met):
        v = ws.touched[j]
        ws.state[2 * v] = 0
        ws.reserves[2 * v] = 0
        ws.unit[v] = 0
        ws.state[2 * v + 1] ^= SEEN


@njit
def answer(among, edges, chances, walks, batch, first, last, request, ws, out):
    """Answer the queries first … last - 1 (algorithm 3, repaired; docs/kpar.md).

    Parameters
    ----------
    among : bool array, shape (n,), or None
        Marks the vertices that answers may name: an answer has the k best of these. None: all vertices.
    edges : gpukit.kpar.spaced.SpacedEdges
    chances : uint64 array, shape (m,), or None
        Chances of the edges (:func:`gpukit.kpar.weights.edge_chances`). None: the out-edges of a vertex are equally
        likely.
    walks : gpukit.kpar.spaced.SpacedWalks
    batch : Batch
    first, last : int
    request : gpukit.kpar.groups.Request
    ws : Workspace
    out : Answers
    """
    steps = len(request.rhos)
    for q in range(first, last):
        # Lines 2 to 5: the sources have all mass and form the first frontier.
        met = size = begin(q, batch, ws)
        least_reserve, worked = int64(0), int64(0)
        for step in range(steps):
            threshold = threshold_of(request.rhos[step])
            # Line 26: find the frontier for the new thresholds.
            if step > 0:
                size = collect_frontier(met, threshold, ws)
            # Line 7: push; afterwards no residue is above its threshold.
            met, rounds, pushed, pushed_along = push(size, met, threshold, edges, chances, ws)
            # e₀ never decreases, so smaller reserves can be ignored.
            large, forward_cost, left = value_walks(
                met, max(least_reserve, 1), threshold.coarse, walks.row_begin, walks.row_until, among, ws
            )
            final = left == 0 or step == steps - 1
            trace = out.traces[q, step]
            trace[0], trace[1], trace[2], trace[3], trace[4] = step, rounds, pushed, pushed_along, met
            worked += pushed_along
            if worked < request.patience[step] and not final:
                trace[8] = -1
                continue
            # Line 8: list candidates; no other vertex is among the k best.
            least_reserve, count, cost = propose(large, request.k, met, walks, threshold, among, ws)
            # Lines 9 to 13: estimate the candidates by the cheaper method.
            forward = walks.light or goes_forward(least_reserve, forward_cost, cost)
            count, reached = estimate(forward, least_reserve, count, met, edges, chances, walks, among, ws)
            # Lines 14 to 23: test whether the bounds allow the query to stop.
            refused = 0
            if not final:
                refused = refused_at(step, count, least_reserve, request, ws)
            trace[5], trace[6] = count, forward_cost if forward else cost
            trace[7], trace[8] = int64(forward), refused
            if refused == 0:
                looked_at = CONTENDERS // 2 if len(batch.in_edges.begin) > 0 else 0
                length = min(request.k + looked_at, count)
                if length > 0:
                    stopped = Stop(step, count, least_reserve, worked, final, left == 0, forward)
                    reached = finish(
                        stopped, length, reached, edges, chances, walks, batch.in_edges, request, ws, out.certain[q]
                    )
                write_places(q, step + 1, min(request.k, length), ws, out)
            forget_walked(reached, ws)
            if refused == 0:
                break
        leave_clean(met, ws)
