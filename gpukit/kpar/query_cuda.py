"""The kernel of a query on a GPU: the answers of ``query_cpu.py``, to the bit, from source to list in one launch.

A *team* of blocks (``team_cuda.py``) answers a query from its first push to its answer and takes the next one: all
blocks together for one query at a time, or a few blocks each for many at once. Pushes, walks forward and start lists
are *sweeps* over the rows of a list of vertices, split into tiles of equal length whatever the rows' lengths.
"""

import numba
from numba import cuda, int32, int64

from gpukit.device.select import register_limit
from gpukit.kpar.estimate_cuda import estimate, propose
from gpukit.kpar.lists_cuda import settle
from gpukit.kpar.problem import ONE
from gpukit.kpar.push_cuda import push
from gpukit.kpar.select_cuda import IDS, KEYS
from gpukit.kpar.stop_cuda import refused_at
from gpukit.kpar.sweep_cuda import collect_frontier
from gpukit.kpar.team_cuda import (
    CANDIDATES,
    CONTROL,
    FIRST,
    FLAG,
    FRONTIER,
    LIMITS,
    POOL,
    RESERVE,
    RESIDUE,
    SCANNED,
    SCORES,
    SECOND,
    SMALL,
    SPARE,
    STAGE,
    TOTAL_A,
    TOTAL_B,
    TOUCHED,
    UNIT,
    UPCOMING,
    WALKED,
    clear,
    counters,
    meet,
)
from gpukit.kpar.together_cuda import gather_together, put_off, take_up

REGISTERS = 64
"""Registers a thread may take: two blocks of 512 threads on a multiprocessor."""

TRACED = 9
"""Columns of a trace (:data:`gpukit.kpar.problem.TRACE`)."""


@cuda.jit(cache=True, **register_limit(REGISTERS))
def answer(
    indptr, indices, go_on, row_begin, row_ends, row_freqs, src_begin, starts, frequent_begin, frequencies, walks,
    arrivals, by_arrivals, light, seed, tag, sources, queries, blocks, together, k, rhos, bounds, patience, delta_min,
    epsilon, collect, tiled_push, tiled_estimate, long, short, top, control, quads, out,
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
    together : int
        Slots of a team: TOGETHER, for queries whose start lists are read together (``together_cuda.py``), or 1.
    k, rhos, bounds, patience, delta_min, epsilon
        As on the CPU.
    collect : int
        AUTO, SCAN or ATOMIC.
    tiled_push, tiled_estimate : bool
        Whether rows are split into tiles; otherwise a thread takes a whole row (ablations).
    long : int64 array, shape (teams * together, LONG_ROWS, n)
        Zero at the start and at the end in its first four rows.
    short : int32 array, shape (teams * together, SHORT_ROWS, n)
    top : int64 array, shape (teams, TOP_ROWS, power of two ≥ k)
    control : int64 array, shape (1 + teams * CONTROL,)
        Zero at the start; the first one counts queries taken.
    quads : int64 array, shape (teams, n * together)
        Not read where ``together`` is 1.
    out : int64 array, shape (queries, 2 + steps * TRACED + 2 k)
        Receives length, number of steps, the trace, scores and vertices of each answer.

    Notes
    -----
    A round takes two phases (take residues, push), a step about ten more. An edge pushed costs 4 bytes read and an
    8-byte atomic add; an entry of the index 4 bytes and an 8-byte read, forward 8 bytes and an atomic add. Passes over
    vertices read the list of those met, or all where more than an eighth was met.

    With several slots a query that needs start lists is put off at its first test, once its candidates are known. When
    it is taken up again, with their scores, it goes on alone.
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
    shared = cuda.shared.array(SMALL, int32)
    best_keys, best_ids = top[team, KEYS], top[team, IDS]
    n, steps = len(indptr) - 1, len(rhos)
    clear(shared)
    phase, turn = int64(1), 0
    # Queries put off, how many of these were taken up again, and whether none is left to take.
    waiting, resumed, over = 0, 0, False
    while True:
        fresh = waiting < together and not over
        if not fresh and waiting == 0:
            break
        slot = waiting if fresh else resumed
        own = team * together + slot
        residue, reserve, unit, walked = long[own, RESIDUE], long[own, RESERVE], long[own, UNIT], long[own, WALKED]
        scores, limits, spare = long[own, SCORES], long[own, LIMITS], long[own, SPARE]
        touched, candidates = short[own, TOUCHED], short[own, CANDIDATES]
        frontier, upcoming = short[own, FRONTIER], short[own, UPCOMING]
        if fresh:
            phase = meet(control, home, member, blocks, phase)
            at = counters(home, phase)
            if me == 0:
                control[at + FIRST] = cuda.atomic.add(control, 0, 1)
            phase = meet(control, home, member, blocks, phase)
            q = control[at + FIRST]
            if q >= queries:
                over = True
                continue
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
            count, least, step, worked, final = int64(0), int64(0), int64(0), int64(0), False
        else:
            if resumed == 0:
                phase = gather_together(
                    long, short, quads, team, waiting, src_begin, starts, frequent_begin, frequencies, go_on, walks,
                    control, home, member, blocks, phase, pool, sums, stage, shared,
                )  # fmt: skip
            resumed += 1
            q, met, listed, count, least, step, worked, final = take_up(control, home, slot)
            dense = not listed or met > n >> 3
            span = n if dense else met
        scored, waits, refused = not fresh, False, int64(-1)
        while refused != 0:
            row = 2 + step * TRACED
            tested = True
            if not scored:
                rho = rhos[step]
                most = int64(ONE) // rho
                if step > 0:
                    collect_frontier(
                        span, dense, touched, residue, walks, rho, most, frontier,
                        control, home, member, blocks, phase, local, shared,
                    )  # fmt: skip
                    at = counters(home, phase)
                    phase = meet(control, home, member, blocks, phase)
                    size = control[at + SECOND]
                met, listed, rounds, pushed, edges, phase = push(
                    frontier, upcoming, size, met, listed, collect, tiled_push, indptr, indices, go_on, seed, tag,
                    walks, row_freqs, residue, reserve, unit, walked, scores, limits, touched, rho, most,
                    control, home, member, blocks, phase, pool, sums, stage, local, shared,
                )  # fmt: skip
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
                worked += edges
                tested = final or worked >= patience[step]
                count, entries, forward = int64(0), int64(0), False
                if tested:
                    least, count, entries, phase, turn = propose(
                        upcoming, large, k, span, dense, touched, residue, reserve, arrivals, by_arrivals, src_begin,
                        rho, most, candidates, scores, limits,
                        control, home, member, blocks, phase, turn, pool, sums, stage, local, shared,
                    )  # fmt: skip
                    forward = light or least == 0 or forward_cost < entries
                    if forward:
                        entries = forward_cost
                if me == 0:
                    out[q, row], out[q, row + 1], out[q, row + 2], out[q, row + 3] = step, rounds, pushed, edges
                    out[q, row + 4], out[q, row + 6], out[q, row + 7] = seen, entries, int64(forward)
                waits = tested and fresh and together > 1 and not forward
                if waits:
                    break
                if tested:
                    count, phase = estimate(
                        forward, light, least, candidates, count, frontier, carriers, upcoming, span, dense, touched,
                        indptr, indices, go_on, row_begin, row_ends, row_freqs, src_begin, starts, frequent_begin,
                        frequencies, walks, seed, tag, residue, reserve, unit, walked, scores, limits, rho, most,
                        tiled_estimate, control, home, member, blocks, phase, pool, sums, stage, local, shared,
                    )  # fmt: skip
            refused = int64(-1)
            if tested:
                refused, phase, turn = refused_at(
                    step, final, candidates, scores, count, k, least, reserve, bounds, delta_min, epsilon, limits,
                    spare, top[team], control, home, member, blocks, phase, turn, pool, sums, local, shared,
                )  # fmt: skip
            if me == 0:
                out[q, row + 5], out[q, row + 8] = count, refused
            step += 1
            scored = False
        if waits:
            if me == 0:
                put_off(control, home, slot, q, met, listed, count, least, step, worked, final)
            waiting += 1
            continue
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
        if resumed == waiting:
            waiting = resumed = 0


_i32, _i64, _u32, _f64 = numba.int32[::1], numba.int64[::1], numba.uint32[::1], numba.float64[::1]
_int, _seed, _float, _flag = numba.int64, numba.uint64, numba.float64, numba.boolean

KERNELS = {
    "answer": (
        answer,
        (_i64, _i32, _seed, _i64, _i32, _u32, _i64, _i32, _i64, _u32, _u32, _i64, _i32, _flag, _seed, _int, _i64)
        + (_int, _int, _int, _int, _i64, numba.float64[:, ::1], _i64, _float, _float, _int, _flag, _flag)
        + (numba.int64[:, :, ::1], numba.int32[:, :, ::1], numba.int64[:, :, ::1])
        + (_i64, numba.int64[:, ::1], numba.int64[:, ::1]),
    ),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
