"""The kernel of a query on the CPU (Numba): adaptive forward push, candidates, estimates, bounds and the stop test.

One call answers a range of queries on one core, in a workspace of its own; an answer depends on neither the range nor
the workspace. Values are int64 in units of 2**-62: none exceeds 2**62. Pairs that are read together lie together:
``state`` holds (residue, ω and the mark ``SEEN``) and ``reserves`` (reserve, ω_I) of each vertex.
"""

from typing import NamedTuple

import numba
import numpy as np
from numba import int64, uint64

from gpukit.kpar.bounds import largest_first, printed_refused_at, refused_at, take_top
from gpukit.kpar.problem import ONE
from gpukit.kpar.rule import any_walk_end, passed_on, passed_up_to

ABSORBS = 1 << 52
"""Stands in ``state`` for the ω = 0 of a vertex without out-edges, which no threshold lets into a frontier: what it
gets waits as residue to the end of a push and is reserve then."""
RESORT = 2
"""Stands in a trace where others say whether forward rows were read: walks were drawn as a last resort."""
SEEN = 1 << 53
"""Added to ω in ``state`` while a vertex is among those the query has met."""


class Workspace(NamedTuple):
    """Arrays of one thread, shape (n,) or (2 n,); ``key_bits`` and ``keys`` are the same memory, and so on."""

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


def workspace(walks: np.ndarray, arrivals: np.ndarray) -> Workspace:
    """Return a clean workspace for an index with these ω and ω_I."""
    n = len(walks)
    state, reserves = np.zeros(2 * n, np.int64), np.zeros(2 * n, np.int64)
    state[1::2], reserves[1::2] = np.where(walks == 0, ABSORBS, walks.astype(np.int64)), arrivals
    keys = np.zeros(n, np.int64)
    # One more: appending without a branch writes behind the last entry.
    lists = {name: np.zeros(n + 1, np.int32) for name in ("touched", "frontier", "upcoming", "candidates", "ids")}
    sums = {name: np.zeros(n, np.int64) for name in ("unit", "walked", "taken", "scores", "spare_keys")}
    spare_ids = np.zeros(n, np.int32)
    return Workspace(
        state=state, reserves=reserves, keys=keys, key_bits=keys.view(np.float64), spare_ids=spare_ids, **lists, **sums
    )


@numba.njit(nogil=True, cache=True)
def last_resort(
    indptr, indices, chances, go_on, seed, tag, worth, touched, met, state, reserves, walked, reached, candidates,
    scores,
):  # fmt: skip
    """Let fresh walks carry all residues (lines 27 to 31 of algorithm 3); return how many vertices have a score.

    One walk stands for ``worth`` units or less. The walks are those of a round of their own of the stream ``tag``.
    """
    ends = 0
    for j in range(met):
        v = touched[j]
        rest = state[2 * v]
        if rest > 0:
            walks = (rest + worth - 1) // worth
            value, extra = rest // walks, rest % walks
            for i in range(walks):
                t = any_walk_end(indptr, indices, chances, go_on, seed, tag + (2 << 8), i, v)
                if walked[t] == 0:
                    reached[ends] = t
                    ends += 1
                walked[t] += value + int64(i < extra)
    count = 0
    for j in range(met):
        v = touched[j]
        if reserves[2 * v] > 0:
            candidates[count], scores[count] = v, reserves[2 * v] + walked[v]
            count += 1
    for j in range(ends):
        v = reached[j]
        if reserves[2 * v] == 0 and walked[v] > 0:
            candidates[count], scores[count] = v, walked[v]
            count += 1
        walked[v] = 0
    return count


@numba.njit(nogil=True, cache=True, error_model="numpy")
def answer(
    indptr, indices, chances, go_on, row_begin, row_ends, row_freqs, src_begin, starts, frequent_begin, frequencies,
    by_arrivals, light, seed, tag, offsets, vertices, mass, first, last, k, rhos, bounds, patience, printed, resort,
    delta_min, epsilon, watch, ws, out_nodes, out_scores, out_lengths, out_steps, out_trace,
):  # fmt: skip
    """Answer the queries first … last - 1.

    Parameters
    ----------
    indptr, indices, chances, go_on
        The graph, the chances of its edges (:func:`gpukit.kpar.weights.edge_chances`) or None where they count alike,
        and the probability of going on in units of 2**-32.
    row_begin, row_ends, row_freqs, src_begin, starts, frequent_begin, frequencies
        The index by start and by end (:class:`gpukit.kpar.index.Index`).
    by_arrivals : int32 array, shape (n,)
        Vertices by falling ω_I.
    light, seed, tag
        Whether the index holds no rows, so that walks are drawn again, and their key.
    offsets, vertices, mass
        The queries (:class:`gpukit.kpar.problem.Sources`), mass as int64.
    k, rhos, bounds, patience, delta_min, epsilon
        Length of an answer; of each δ ρ (int64), the bounds' coefficients, and how many edges (int64) a query must have
        pushed along to be tested there.
    printed : float64 array, shape (steps, 2), or (0, 2)
        For the ablation with the printed stop test, which takes the place of the sound one then.
    resort : int
        For the ablation with walks as a last resort: the residue that one of them carries; 0 without.
    watch : bool
        Whether to check after every round that residues and reserves sum to one.
    ws : Workspace
    out_nodes, out_scores, out_lengths, out_steps, out_trace
        Receive the answers, int32 and int64 (queries, k), lengths and numbers of steps (queries,), and the traces.

    Returns
    -------
    int
        Number of rounds whose sum was not one; 0 unless ``watch``.
    """
    state, reserves, unit, walked = ws.state, ws.reserves, ws.unit, ws.walked
    touched, frontier, upcoming, taken = ws.touched, ws.frontier, ws.upcoming, ws.taken
    candidates, scores, keys = ws.candidates, ws.scores, ws.keys
    scratch = (ws.keys, ws.key_bits, ws.ids, ws.spare_keys, ws.spare_ids)
    n = len(indptr) - 1
    wrong = 0
    for q in range(first, last):
        met = size = uint64(0)
        for i in range(offsets[q], offsets[q + 1]):
            v = vertices[i]
            state[2 * v] = mass[i]
            state[2 * v + 1] |= SEEN
            touched[met] = v
            frontier[size] = v
            met += uint64(1)
            size += uint64(1)
        least_reserve = 0
        worked = int64(0)
        for step in range(len(rhos)):
            rho = rhos[step]
            most = ONE // rho
            rounds = pushed = edges = 0
            if step > 0:
                size = uint64(0)
                for j in range(met):
                    v = touched[j]
                    rest, w = state[2 * v], state[2 * v + 1] ^ SEEN
                    if w <= most and rest > w * rho:
                        frontier[size] = v
                        size += uint64(1)
            while size > 0:
                rounds += 1
                pushed += size
                for j in range(size):
                    v = frontier[j]
                    taken[j] = state[2 * v]
                    state[2 * v] = 0
                following = uint64(0)
                for j in range(size):
                    v = frontier[j]
                    start, end = indptr[v], indptr[v + 1]
                    passed = share = before = int64(0)
                    if end > start:
                        passed = int64(passed_on(uint64(taken[j]), go_on))
                        if chances is None:
                            share = int64(uint64(passed) // uint64(end - start))
                            passed = (end - start) * share
                    reserves[2 * v] += taken[j] - passed
                    if passed == 0:
                        continue
                    edges += end - start
                    for e in range(start, end):
                        if chances is not None:
                            reach = passed_up_to(passed, chances, e, end - 1)
                            share, before = reach - before, reach
                            if share == 0:
                                continue
                        u = uint64(indices[e])
                        place = u << uint64(1)
                        word = state[place + uint64(1)]
                        # Appending without a branch: the entry stays when the counter moves on.
                        touched[met] = u
                        met += uint64(word < SEEN)
                        word |= SEEN
                        w = word ^ SEEN
                        old = state[place]
                        state[place] = old + share
                        state[place + uint64(1)] = word
                        limit = w * rho
                        upcoming[following] = u
                        following += uint64((w <= most) & (old <= limit) & (old + share > limit))
                frontier, upcoming = upcoming, frontier
                size = following
                if watch:
                    total = int64(0)
                    for v in range(n):
                        total += state[2 * v] + reserves[2 * v]
                    wrong += int64(total != ONE)

            # e₀ never falls, so smaller reserves need no look. Units of residue a walk stands for, on the same pass.
            floor = max(least_reserve, 1)
            count = 0
            forward_cost = 0
            left = int64(0)
            for j in range(met):
                v = touched[j]
                rest, w = state[2 * v], state[2 * v + 1] ^ SEEN
                if w == ABSORBS:
                    reserves[2 * v] += rest
                    state[2 * v] = rest = 0
                keys[count] = reserves[2 * v]
                count += int64(reserves[2 * v] >= floor)
                left |= rest
                value = int64(0)
                if rest > 0:
                    value = int64(uint64(rest) // uint64(w))
                unit[v] = value
                if value > 0:
                    forward_cost += row_begin[v + 1] - row_begin[v]
            final = left == 0 or (step == len(rhos) - 1 and resort == 0)
            trace = out_trace[q, step]
            trace[0], trace[1], trace[2], trace[3], trace[4] = step, rounds, pushed, edges, met
            worked += edges
            if worked < patience[step] and not final:
                trace[8] = -1
                continue
            least_reserve = largest_first(keys, count, k) if count >= k else 0

            count = 0
            inverted_cost = 0
            if least_reserve > 0:
                for j in range(met):
                    v = touched[j]
                    arrivals = reserves[2 * v + 1]
                    if arrivals > most or reserves[2 * v] + arrivals * rho >= least_reserve:
                        candidates[count] = v
                        count += 1
                        inverted_cost += src_begin[v + 1] - src_begin[v]
                for j in range(n):
                    v = by_arrivals[j]
                    arrivals = reserves[2 * v + 1]
                    if arrivals <= most and arrivals * rho < least_reserve:
                        break
                    if state[2 * v + 1] < SEEN:
                        candidates[count] = v
                        count += 1
                        inverted_cost += src_begin[v + 1] - src_begin[v]
            forward = light or least_reserve == 0 or forward_cost < inverted_cost
            if forward:
                reached = 0
                for j in range(met):
                    v = touched[j]
                    value = unit[v]
                    if value == 0:
                        continue
                    if light:
                        for i in range(state[2 * v + 1] ^ SEEN):
                            t = any_walk_end(indptr, indices, chances, go_on, seed, tag, i, v)
                            if walked[t] == 0:
                                upcoming[reached] = t
                                reached += 1
                            walked[t] += value
                    else:
                        for i in range(row_begin[v], row_begin[v + 1]):
                            t = row_ends[i]
                            old = walked[t]
                            walked[t] = old + value * int64(row_freqs[i])
                            if old == 0:
                                upcoming[reached] = t
                                reached += 1
                if least_reserve == 0:
                    for j in range(met):
                        v = touched[j]
                        if reserves[2 * v] > 0:
                            candidates[count] = v
                            count += 1
                    for j in range(reached):
                        v = upcoming[j]
                        if reserves[2 * v] == 0:
                            candidates[count] = v
                            count += 1
                for j in range(count):
                    v = candidates[j]
                    scores[j] = reserves[2 * v] + walked[v]
                for j in range(reached):
                    walked[upcoming[j]] = 0
            else:
                for j in range(count):
                    v = candidates[j]
                    total = reserves[2 * v]
                    low, high = src_begin[v], src_begin[v + 1]
                    often = frequent_begin[v]
                    once = low + frequent_begin[v + 1] - often
                    for i in range(low, once):
                        total += unit[starts[i]] * int64(frequencies[often + i - low])
                    for i in range(once, high):
                        total += unit[starts[i]]
                    scores[j] = total

            refused = 0
            if not final and len(printed) > 0:
                refused = printed_refused_at(
                    step, candidates, scores, count, k, scratch, printed, delta_min, epsilon
                )  # fmt: skip
            elif not final:
                refused = refused_at(
                    step, candidates, scores, count, k, least_reserve, scratch, reserves, bounds, delta_min, epsilon
                )
            trace[5], trace[6] = count, forward_cost if forward else inverted_cost
            trace[7], trace[8] = int64(forward), refused
            if refused != 0 and step == len(rhos) - 1:
                count = last_resort(
                    indptr, indices, chances, go_on, seed, tag, resort, touched, met, state, reserves, walked, upcoming,
                    candidates, scores,
                )  # fmt: skip
                trace[7] = RESORT
                refused = 0
            if refused == 0:
                length = min(k, count)
                if length > 0:
                    take_top(candidates, scores, count, length, keys, ws.ids, ws.spare_keys, ws.spare_ids)
                for i in range(length):
                    out_nodes[q, i] = ws.ids[i]
                    out_scores[q, i] = keys[i]
                out_lengths[q] = length
                out_steps[q] = step + 1
                break
        for j in range(met):
            v = touched[j]
            state[2 * v] = 0
            reserves[2 * v] = 0
            unit[v] = 0
            state[2 * v + 1] ^= SEEN
    return wrong
