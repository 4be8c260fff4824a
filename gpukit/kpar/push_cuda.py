"""Adaptive forward push by a team of blocks on a GPU: rounds until no residue is above its limit."""

from numba import cuda, int64

from gpukit.kpar.sweep_cuda import PUSH, collect_frontier, lengths, sweep
from gpukit.kpar.team_cuda import FIRST, SECOND, counters, meet, share_out

AUTO, SCAN, ATOMIC = 0, 1, 2
"""How the next frontier is collected: by reading all residues after a round, or by the push that lifts one over its
limit; ``AUTO`` scans after rounds that push along more than n/2 edges."""


@cuda.jit(device=True)
def push(
    frontier, upcoming, size, met, listed, collect, tiled, indptr, indices, go_on, seed, tag, walks, row_freqs,
    residue, reserve, unit, walked, scores, limits, touched, rho, most,
    control, home, member, blocks, phase, pool, sums, stage, local, shared,
):  # fmt: skip
    """Push from the ``size`` vertices of the frontier, and those that this lifts over their limits; all threads.

    A round takes two phases: take residues, push. ``frontier``, ``upcoming``, ``scores`` and ``limits`` are undefined
    afterwards. Arrays that only other kinds of sweeps read are any of their type.

    Returns
    -------
    met, listed
        Vertices met so far, and whether ``touched`` lists them all.
    rounds, pushed, edges, phase
        What it took, and the new phase.
    """
    n = len(indptr) - 1
    rounds, pushed, edges = int64(0), int64(0), int64(0)
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
            row_freqs, residue, reserve, unit, walked, scores, limits, touched[met:], upcoming, rho, most, tiled,
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
    return met, listed, rounds, pushed, edges, phase
