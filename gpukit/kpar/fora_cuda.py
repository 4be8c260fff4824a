"""Kernels of the baselines on a GPU: FORA+ with the rounds, sweeps and selection of a query, and Monte Carlo."""

import numba
from numba import cuda, int32, int64, uint64

from gpukit.device.select import for_kernels, register_limit
from gpukit.kpar import rule
from gpukit.kpar.problem import ONE
from gpukit.kpar.query_cuda import REGISTERS
from gpukit.kpar.rows_cuda import row_of
from gpukit.kpar.select_cuda import IDS, KEYS, sort_best, take_best
from gpukit.kpar.sweep_cuda import CARRY, PUSH, lengths, sweep
from gpukit.kpar.team_cuda import (
    CANDIDATES,
    CONTROL,
    FIRST,
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
    UNIT,
    UPCOMING,
    clear,
    counters,
    due,
    flush,
    meet,
    put,
    share_out,
)

walk_end = for_kernels(rule.walk_end)


@cuda.jit(cache=True)
def walk_ends(indptr, indices, go_on, seed, tag, places, ends):
    """Write where each walk ends, in order; a thread owns a walk, ``places`` (int64, n + 1) says from where."""
    i = cuda.grid(1)
    if i < len(ends):
        v = row_of(places, int64(i))
        ends[i] = walk_end(indptr, indices, go_on, seed, tag, int64(i) - places[v], v)


@cuda.jit(cache=True)
def walk_counts(indptr, indices, go_on, seed, tag, vertices, walks, worth, extra, reserve):
    """Draw the walks of a Monte Carlo query; a thread owns a walk and adds the mass it stands for where it ends.

    ``walks`` (int64, sources + 1) are prefix sums; a walk of source s stands for ``worth[s]`` units, one of the first
    ``extra[s]`` for one more.
    """
    i = cuda.grid(1)
    if i < walks[len(walks) - 1]:
        s = row_of(walks, int64(i))
        j = int64(i) - walks[s]
        more = int64(1) if j < extra[s] else int64(0)
        cuda.atomic.add(reserve, walk_end(indptr, indices, go_on, seed, tag, j, int64(vertices[s])), worth[s] + more)


@cuda.jit(device=True)
def _list_positive(
    n, values, divisor, degrees, divide, target, counts, control, home, member, blocks, phase, stage, shared
):
    """List the vertices with a positive value; with ``divide`` those with out-edges, and ⌈value / divisor⌉."""
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    counter = counters(home, phase) + FIRST
    passes, fullest = 0, -1
    first = member * width
    while first < n:
        v = first + lane
        if v < n and values[v] > 0 and (not divide or degrees[v] > 0):
            if divide:
                counts[v] = int64(uint64(values[v] + divisor - 1) // uint64(divisor))
            fullest = max(fullest, put(stage, shared, 0, target, control, counter, v))
        if due(passes, fullest, shared):
            flush(stage, shared, 0, target, control, counter)
            fullest = -1
        passes += 1
        first += blocks * width
    flush(stage, shared, 0, target, control, counter)


@cuda.jit(cache=True, **register_limit(REGISTERS))
def fora(
    indptr, indices, go_on, degrees, limit, worth, places, ends, frequencies, sources, queries, blocks, k,
    long, short, top, control, out,
):  # fmt: skip
    """Answer queries by FORA+; cooperative, like :func:`gpukit.kpar.query_cuda.answer`.

    Parameters
    ----------
    degrees : uint32 array, shape (n,)
        Out-degrees.
    limit, worth, places, ends
        Of :class:`gpukit.kpar.baselines.Fora`.
    frequencies : uint32 array
        Not read.
    out : int64 array, shape (queries, 2 + 2 k)
        Receives length, rounds, scores and vertices of each answer.
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
    residue, reserve, walks = long[team, RESIDUE], long[team, RESERVE], long[team, UNIT]
    scores, limits, spare = long[team, SCORES], long[team, LIMITS], long[team, SPARE]
    frontier, upcoming, candidates = short[team, FRONTIER], short[team, UPCOMING], short[team, CANDIDATES]
    keys, ids = top[team, KEYS], top[team, IDS]
    n = len(degrees)
    most = int64(ONE) // limit
    clear(shared)
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
        size = sources[q + 1] - sources[q]
        first_vertex = queries + 1 + sources[q]
        first_mass = first_vertex + sources[queries]
        i = me
        while i < size:
            residue[sources[first_vertex + i]] = sources[first_mass + i]
            frontier[i] = sources[first_vertex + i]
            i += everyone
        phase = meet(control, home, member, blocks, phase)
        rounds = 0
        while size > 0:
            rounds += 1
            lengths(
                PUSH, frontier, size, indptr, go_on, degrees, residue, reserve, scores, limits,
                control, home, member, blocks, sums,
            )  # fmt: skip
            phase = meet(control, home, member, blocks, phase)
            whole = share_out(control, home, blocks, pool, sums)
            at = counters(home, phase)
            # Arrays that only other kinds of sweeps read are any of their type.
            sweep(
                PUSH, frontier, size, whole, 1, indptr, indices, go_on, uint64(0), 0, degrees, indptr, ends,
                frequencies, residue, reserve, walks, scores, scores, limits, candidates, upcoming, limit, most, True,
                control, home, member, blocks, phase, pool, sums, stage, local, shared,
            )  # fmt: skip
            phase = meet(control, home, member, blocks, phase)
            size = control[at + SECOND]
            frontier, upcoming = upcoming, frontier
        at = counters(home, phase)
        _list_positive(
            n, residue, worth, degrees, True, frontier, walks, control, home, member, blocks, phase, stage, shared
        )
        phase = meet(control, home, member, blocks, phase)
        size = control[at + FIRST]
        lengths(
            CARRY, frontier, size, places, go_on, walks, residue, reserve, scores, limits, control, home, member,
            blocks, sums,
        )  # fmt: skip
        v = me
        while v < n:
            if degrees[v] == 0:
                reserve[v] += residue[v]
            v += everyone
        phase = meet(control, home, member, blocks, phase)
        whole = share_out(control, home, blocks, pool, sums)
        sweep(
            CARRY, frontier, size, whole, 0, indptr, indices, go_on, uint64(0), 0, degrees, places, ends, frequencies,
            residue, reserve, walks, scores, scores, limits, candidates, upcoming, limit, most, True,
            control, home, member, blocks, phase, pool, sums, stage, local, shared,
        )  # fmt: skip
        phase = meet(control, home, member, blocks, phase)
        at = counters(home, phase)
        _list_positive(
            n, reserve, worth, degrees, False, candidates, walks, control, home, member, blocks, phase, stage, shared
        )
        phase = meet(control, home, member, blocks, phase)
        count = control[at + FIRST]
        length = min(int64(k), count)
        j = me
        while j < count:
            scores[j] = reserve[candidates[j]]
            j += everyone
        phase = meet(control, home, member, blocks, phase)
        _, phase, turn = take_best(
            scores, candidates, count, length, limits, spare, keys, ids,
            control, home, member, blocks, phase, turn, pool, sums, local, shared,
        )  # fmt: skip
        phase = sort_best(top[team], False, control, home, member, blocks, phase, pool)
        if me == 0:
            out[q, 0], out[q, 1] = length, rounds
        i = me
        while i < length:
            out[q, 2 + i], out[q, 2 + k + i] = keys[i], ids[i]
            i += everyone
        v = me
        while v < n:
            residue[v] = 0
            reserve[v] = 0
            v += everyone


_i32, _i64, _u32 = numba.int32[::1], numba.int64[::1], numba.uint32[::1]
_int, _seed = numba.int64, numba.uint64

KERNELS = {
    "walk_ends": (walk_ends, (_i64, _i32, _seed, _seed, _int, _i64, _i32)),
    "walk_counts": (walk_counts, (_i64, _i32, _seed, _seed, _int, _i32, _i64, _i64, _i64, _i64)),
    "fora": (
        fora,
        (_i64, _i32, _seed, _u32, _int, _int, _i64, _i32, _u32, _i64, _int, _int, _int)
        + (numba.int64[:, :, ::1], numba.int32[:, :, ::1], numba.int64[:, :, ::1], _i64, numba.int64[:, ::1]),
    ),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
