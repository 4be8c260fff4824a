"""The kernel of a query on a GPU: the answers of ``query_cpu.py``, to the bit, from source to list in one launch.

A *team* of blocks (``team_cuda.py``) answers a query from its first push to its answer and takes the next one: all
blocks together for one query at a time, or a few blocks each for many at once. Pushes, walks forward and start lists
are *sweeps* over the rows of a list of vertices, split into tiles of equal length whatever the rows' lengths.
"""

import numba
from numba import cuda, float64, int32, int64

from gpukit.device.select import register_limit
from gpukit.kpar.bounds_cuda import WORTH, from_key, lower_bound, to_key, upper_bound
from gpukit.kpar.lists_cuda import list_candidates, list_reached, settle
from gpukit.kpar.problem import ONE
from gpukit.kpar.select_cuda import IDS, KEYS, UPPERS, kth, sort_best, take_best
from gpukit.kpar.starts_cuda import add_starts
from gpukit.kpar.sweep_cuda import DRAW, FORWARD, INVERTED, PUSH, collect_frontier, lengths, sweep
from gpukit.kpar.team_cuda import (
    CONTROL,
    FIRST,
    FLAG,
    POOL,
    SCANNED,
    SECOND,
    STAGE,
    TOTAL_A,
    TOTAL_B,
    counters,
    meet,
    share_out,
)

REGISTERS = 64
"""Registers a thread may take: two blocks of 512 threads on a multiprocessor."""

AUTO, SCAN, ATOMIC = 0, 1, 2
"""How the next frontier is collected: by reading all residues after a round, or by the push that lifts one over its
limit; ``AUTO`` scans after rounds that push along more than n/2 edges."""

RESIDUE, RESERVE, UNIT, WALKED, SCORES, LIMITS, SPARE, LONG_ROWS = 0, 1, 2, 3, 4, 5, 6, 7
TOUCHED, FRONTIER, UPCOMING, CANDIDATES, SHORT_ROWS = 0, 1, 2, 3, 4
"""Rows of a team's arrays of n int64 and of n int32."""

TRACED = 9
"""Columns of a trace (:data:`gpukit.kpar.problem.TRACE`)."""


@cuda.jit(cache=True, **register_limit(REGISTERS))
def answer(
    indptr, indices, go_on, row_begin, row_ends, row_freqs, src_begin, starts, frequent_begin, frequencies, walks,
    arrivals, by_arrivals, light, seed, tag, sources, queries, blocks, k, rhos, bounds, patience, delta_min, epsilon,
    collect, tiled_push, tiled_estimate, long, short, top, control, out,
):  # fmt: skip
    """Answer queries; cooperative, ``blocks`` blocks of at most 512 threads (a power of two) a query.

    Parameters
    ----------
    indptr … by_arrivals, light, seed, tag
        As in :func:`gpukit.kpar.query_cpu.answer`, with ω (uint32) and ω_I (int64).
    sources : int64 array
        The queries, packed: where each begins and where the last one ends (counted from the first vertex), then all
        vertices, then their mass.
    queries : int
    blocks : int
        Blocks of a team; the grid is a multiple of it.
    k, rhos, bounds, patience, delta_min, epsilon
        As on the CPU.
    collect : int
        AUTO, SCAN or ATOMIC.
    tiled_push, tiled_estimate : bool
        Whether rows are split into tiles; otherwise a thread takes a whole row (ablations).
    long : int64 array, shape (teams, LONG_ROWS, n), zero at the start and at the end in its first four rows
    short : int32 array, shape (teams, SHORT_ROWS, n)
    top : int64 array, shape (teams, TOP_ROWS, power of two ≥ k)
    control : int64 array, shape (1 + teams * CONTROL,)
        Zero at the start; the first one counts queries taken.
    out : int64 array, shape (queries, 2 + steps * TRACED + 2 k)
        Receives length, number of steps, the trace, scores and vertices of each answer.

    Notes
    -----
    A round takes two phases (take residues, push), a step about ten more. An edge pushed costs 4 bytes read and an
    8-byte atomic add; an entry of the index 4 bytes and an 8-byte read, forward 8 bytes and an atomic add. Passes over
    vertices read the list of those met, or all where more than an eighth was met.
    """
    cuda.cg.this_grid().sync()
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    team, member = cuda.blockIdx.x // blocks, cuda.blockIdx.x % blocks
    me, everyone = member * width + lane, blocks * width
    home = 1 + team * CONTROL
    pool = cuda.shared.array(POOL, int64)
    sums = cuda.shared.array(SCANNED, int64)
    stage = cuda.shared.array(STAGE, int32)
    local = cuda.shared.array(STAGE, int32)
    shared = cuda.shared.array(8, int32)
    residue, reserve, unit, walked = long[team, RESIDUE], long[team, RESERVE], long[team, UNIT], long[team, WALKED]
    scores, limits, spare = long[team, SCORES], long[team, LIMITS], long[team, SPARE]
    touched, candidates = short[team, TOUCHED], short[team, CANDIDATES]
    frontier, upcoming = short[team, FRONTIER], short[team, UPCOMING]
    best_keys, best_ids, best_uppers = top[team, KEYS], top[team, IDS], top[team, UPPERS]
    n, steps = len(indptr) - 1, len(rhos)
    if lane < 8:
        shared[lane] = 0
    phase, turn = int64(1), 0
    while True:
        phase = meet(control, home, member, blocks, phase)
        at = counters(home, phase)
        if me == 0:
            control[at + FIRST] = cuda.atomic.add(control, 0, 1)
        phase = meet(control, home, member, blocks, phase)
        q = control[at + FIRST]
        if q >= queries:
            break
        met = size = sources[q + 1] - sources[q]
        first_vertex = queries + 1 + sources[q]
        first_mass = first_vertex + sources[queries]
        i = me
        while i < size:
            v = sources[first_vertex + i]
            residue[v] = sources[first_mass + i]
            touched[i] = v
            frontier[i] = v
            i += everyone
        phase = meet(control, home, member, blocks, phase)
        listed, dense, span = True, False, met
        least, step, refused, worked = int64(0), 0, int64(-1), int64(0)
        while refused != 0:
            rho = rhos[step]
            most = int64(ONE) // rho
            rounds, pushed, edges = int64(0), int64(0), int64(0)
            if step > 0:
                collect_frontier(
                    span, dense, touched, residue, walks, rho, most, frontier,
                    control, home, member, blocks, phase, local, shared,
                )  # fmt: skip
                at = counters(home, phase)
                phase = meet(control, home, member, blocks, phase)
                size = control[at + SECOND]
            while size > 0:
                rounds += 1
                pushed += size
                lengths(
                    PUSH, frontier, size, indptr, go_on, walks, residue, reserve, scores, limits,
                    control, home, member, blocks, sums,
                )  # fmt: skip
                phase = meet(control, home, member, blocks, phase)
                whole = share_out(control, home, blocks, pool, sums)
                edges += whole
                scanning = collect == SCAN or (collect == AUTO and whole > n >> 1)
                listed = listed and not scanning
                collected = 0 if scanning else 1 + int64(listed)
                at = counters(home, phase)
                sweep(
                    PUSH, frontier, size, whole, collected, indptr, indices, go_on, seed, tag, walks, indptr, indices,
                    row_freqs, residue, reserve, unit, walked, scores, limits, touched[met:], upcoming, rho, most,
                    tiled_push,
                    control, home, member, blocks, phase, pool, sums, stage, local, shared,
                )  # fmt: skip
                phase = meet(control, home, member, blocks, phase)
                met += control[at + FIRST]
                if scanning:
                    at = counters(home, phase)
                    collect_frontier(
                        n, True, touched, residue, walks, rho, most, upcoming,
                        control, home, member, blocks, phase, local, shared,
                    )  # fmt: skip
                    phase = meet(control, home, member, blocks, phase)
                size = control[at + SECOND]
                frontier, upcoming = upcoming, frontier

            dense = not listed or met > n >> 3
            span = n if dense else met
            at = counters(home, phase)
            settle(
                span, dense, touched, residue, reserve, unit, walks, row_begin, max(least, int64(1)), frontier,
                upcoming, control, home, member, blocks, phase, sums, stage, local, shared,
            )  # fmt: skip
            phase = meet(control, home, member, blocks, phase)
            carriers, large = control[at + FIRST], control[at + SECOND]
            forward_cost, seen = control[at + TOTAL_A], control[at + TOTAL_B]
            final = control[at + FLAG] == 0 or step == steps - 1
            entries, forward, count = int64(0), False, int64(0)
            worked += edges
            refused = int64(-1)
            if final or worked >= patience[step]:
                least, inverted_cost = int64(0), int64(0)
                if large >= k:
                    i = me
                    while i < large:
                        scores[i] = reserve[upcoming[i]]
                        i += everyone
                    phase = meet(control, home, member, blocks, phase)
                    least, _, _, phase, turn = kth(
                        scores, large, k, limits, scores, control, home, member, blocks, phase, turn, pool, sums, local,
                        shared,
                    )  # fmt: skip
                    at = counters(home, phase)
                    list_candidates(
                        span, dense, touched, residue, reserve, arrivals, by_arrivals, src_begin, rho, most, least,
                        candidates, control, home, member, blocks, phase, sums, stage, shared,
                    )  # fmt: skip
                    phase = meet(control, home, member, blocks, phase)
                    count, inverted_cost = control[at + FIRST], control[at + TOTAL_A]
                forward = light or least == 0 or forward_cost < inverted_cost
                entries = forward_cost if forward else inverted_cost
                kind, items, rows, begin = INVERTED, candidates, count, src_begin
                if forward:
                    kind, items, rows, begin = DRAW if light else FORWARD, frontier, carriers, row_begin
                lengths(
                    kind, items, rows, begin, go_on, walks, residue, reserve, scores, limits,
                    control, home, member, blocks, sums,
                )  # fmt: skip
                phase = meet(control, home, member, blocks, phase)
                whole = share_out(control, home, blocks, pool, sums)
                at = counters(home, phase)
                if forward:
                    sweep(
                        kind, items, rows, whole, 0, indptr, indices, go_on, seed, tag, walks, begin, row_ends,
                        row_freqs, residue, reserve, unit, walked, scores, limits, touched, upcoming, rho, most,
                        tiled_estimate, control, home, member, blocks, phase, pool, sums, stage, local, shared,
                    )  # fmt: skip
                else:
                    add_starts(
                        items, rows, whole, begin, starts, frequent_begin, frequencies, unit, scores, limits,
                        tiled_estimate, member, blocks, pool,
                    )  # fmt: skip
                phase = meet(control, home, member, blocks, phase)
                if forward:
                    reached = control[at + SECOND]
                    if least == 0:
                        at = counters(home, phase)
                        list_reached(
                            span, dense, touched, reserve, reached, upcoming, candidates,
                            control, home, member, blocks, phase, stage, shared,
                        )  # fmt: skip
                        phase = meet(control, home, member, blocks, phase)
                        count = control[at + FIRST]
                    j = me
                    while j < count:
                        scores[j] = reserve[candidates[j]] + walked[candidates[j]]
                        j += everyone
                    phase = meet(control, home, member, blocks, phase)
                    j = me
                    while j < reached:
                        walked[upcoming[j]] = 0
                        j += everyone

                length = min(int64(k), count)
                outside = upper_bound(bounds, step, float64(least) * WORTH, float64(least) * WORTH)
                refused = int64(0)
                if not final and count < k and outside > delta_min:
                    refused = count + 1
                elif length > 0:
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
                            limits, count, length, spare, scores, control, home, member, blocks, phase, turn,
                            pool, sums, local, shared,
                        )  # fmt: skip
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
                            refused = int64(k)
                    if refused == 0:
                        phase = sort_best(top[team], not final, control, home, member, blocks, phase, pool)
                    if refused == 0 and not final:
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
                            elif (
                                low < (1.0 - epsilon) * limit
                                or value > (1.0 + epsilon) * low
                                or value < (1.0 - epsilon) * high
                            ):
                                cuda.atomic.max(control, at + SECOND, length - i)
                            i += everyone
                        phase = meet(control, home, member, blocks, phase)
                        if control[at + SECOND] > control[at + FIRST]:
                            refused = length - control[at + SECOND] + 1
            if me == 0:
                row = 2 + step * TRACED
                out[q, row], out[q, row + 1], out[q, row + 2], out[q, row + 3] = step, rounds, pushed, edges
                out[q, row + 4], out[q, row + 5], out[q, row + 6] = seen, count, entries
                out[q, row + 7], out[q, row + 8] = int64(forward), refused
            step += 1
        length = min(int64(k), count)
        if me == 0:
            out[q, 0], out[q, 1] = length, step
        row = 2 + steps * TRACED
        i = me
        while i < length:
            out[q, row + i], out[q, row + k + i] = best_keys[i], best_ids[i]
            i += everyone
        j = me
        while j < span:
            v = j if dense else int64(touched[j])
            residue[v] = 0
            reserve[v] = 0
            unit[v] = 0
            j += everyone


_i32, _i64, _u32, _f64 = numba.int32[::1], numba.int64[::1], numba.uint32[::1], numba.float64[::1]
_int, _seed, _float, _flag = numba.int64, numba.uint64, numba.float64, numba.boolean

KERNELS = {
    "answer": (
        answer,
        (_i64, _i32, _seed, _i64, _i32, _u32, _i64, _i32, _i64, _u32, _u32, _i64, _i32, _flag, _seed, _int, _i64)
        + (_int, _int, _int, _i64, numba.float64[:, ::1], _i64, _float, _float, _int, _flag, _flag)
        + (numba.int64[:, :, ::1], numba.int32[:, :, ::1], numba.int64[:, :, ::1])
        + (_i64, numba.int64[:, ::1]),
    ),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
