"""Candidates of a query and their scores, by a team of blocks on a GPU."""

from numba import cuda, int64

from gpukit.kpar.lists_cuda import list_candidates, list_reached
from gpukit.kpar.select_cuda import kth
from gpukit.kpar.starts_cuda import add_starts
from gpukit.kpar.sweep_cuda import DRAW, FORWARD, INVERTED, lengths, sweep
from gpukit.kpar.team_cuda import FIRST, SECOND, TOTAL_A, counters, meet, share_out


@cuda.jit(device=True)
def propose(
    large, size, k, span, dense, touched, residue, reserve, arrivals, by_arrivals, src_begin, rho, most, candidates,
    scores, limits, control, home, member, blocks, phase, turn, pool, sums, stage, local, shared,
):  # fmt: skip
    """List in ``candidates`` the vertices that could be among the k best; all threads of the team.

    ``large`` are the ``size`` vertices among which the k largest reserves are; ``scores`` and ``limits`` are room.

    Returns
    -------
    least, count, cost, phase, turn
        The k-th largest reserve, the number of candidates and of the entries of their start lists, all 0 where there
        are fewer than k reserves; the new phase and turn.
    """
    if size < k:
        return int64(0), int64(0), int64(0), phase, turn
    me, everyone = member * cuda.blockDim.x + cuda.threadIdx.x, blocks * cuda.blockDim.x
    i = me
    while i < size:
        scores[i] = reserve[large[i]]
        i += everyone
    phase = meet(control, home, member, blocks, phase)
    least, _, _, phase, turn = kth(
        scores, size, k, limits, scores, control, home, member, blocks, phase, turn, pool, sums, local, shared
    )
    at = counters(home, phase)
    list_candidates(
        span, dense, touched, residue, reserve, arrivals, by_arrivals, src_begin, rho, most, least, candidates,
        control, home, member, blocks, phase, sums, stage, shared,
    )  # fmt: skip
    phase = meet(control, home, member, blocks, phase)
    return least, control[at + FIRST], control[at + TOTAL_A], phase, turn


@cuda.jit(device=True)
def estimate(
    forward, light, least, candidates, count, carriers, size, ends, span, dense, touched, indptr, indices, go_on,
    row_begin, row_ends, row_freqs, src_begin, starts, frequent_begin, frequencies, walks, seed, tag, residue, reserve,
    unit, walked, scores, limits, rho, most, tiled,
    control, home, member, blocks, phase, pool, sums, stage, local, shared,
):  # fmt: skip
    """Write the candidates' reserves and what walks carry to them to ``scores``; all threads of the team.

    The walks are those of the ``size`` carriers where ``forward``, listing in ``ends`` where they end, and those in the
    candidates' start lists otherwise. Without a ``least`` reserve the candidates are found here: all with a score.

    Returns
    -------
    count, phase
        The number of candidates and the new phase.
    """
    me, everyone = member * cuda.blockDim.x + cuda.threadIdx.x, blocks * cuda.blockDim.x
    kind, items, rows, begin = INVERTED, candidates, count, src_begin
    if forward:
        kind, items, rows, begin = DRAW if light else FORWARD, carriers, size, row_begin
    lengths(
        kind, items, rows, begin, go_on, walks, residue, reserve, scores, limits, control, home, member, blocks, sums
    )
    phase = meet(control, home, member, blocks, phase)
    whole = share_out(control, home, blocks, pool, sums)
    at = counters(home, phase)
    if forward:
        sweep(
            kind, items, rows, whole, 0, indptr, indices, go_on, seed, tag, walks, begin, row_ends, row_freqs,
            residue, reserve, unit, walked, scores, limits, touched, ends, rho, most, tiled,
            control, home, member, blocks, phase, pool, sums, stage, local, shared,
        )  # fmt: skip
    else:
        add_starts(
            items, rows, whole, begin, starts, frequent_begin, frequencies, unit, scores, limits, tiled,
            member, blocks, pool,
        )  # fmt: skip
    phase = meet(control, home, member, blocks, phase)
    if forward:
        reached = control[at + SECOND]
        if least == 0:
            at = counters(home, phase)
            list_reached(
                span, dense, touched, reserve, reached, ends, candidates,
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
            walked[ends[j]] = 0
            j += everyone
    return count, phase
