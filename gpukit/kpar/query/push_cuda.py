"""Adaptive forward push by a team of blocks on a GPU: rounds until no residue is above its threshold."""

from numba import int64

from gpukit.device.kernels import device
from gpukit.kpar.query import sweep_cuda as sweeps
from gpukit.kpar.query.lists_cuda import collect_frontier
from gpukit.kpar.query.team_cuda import Met, counters, prefix_over_blocks, team_barrier


@device
def push(frontier, upcoming, size, listed, edges, chances, walks, slot, threshold, team, phase):
    """Push from the ``size`` vertices of the frontier, then from those lifted over their thresholds (algorithm 2).

    A round takes two phases: take residues, push. After a round along more than n/2 edges, a third phase reads all
    residues to find the next frontier. Otherwise the thread whose push lifts a residue over its threshold lists the
    vertex. ``frontier``, ``upcoming``, ``scores`` and ``limits`` of the slot are undefined afterwards. All threads of
    the team call it.

    Returns
    -------
    listed
        Whether all vertices met so far have a mark.
    rounds, pushed, edges, phase
        Numbers of rounds, vertices pushed from and edges, and the new phase.
    """
    # A push reads the edges; only other kinds of sweep read frequencies.
    rows = sweeps.Rows(edges.indptr, edges.indices, walks.row_freqs)
    drawn = sweeps.Drawn(walks.counts, walks.seed, walks.tag)
    n = len(edges.indptr) - 1
    rounds, pushed, pushed_along = int64(0), int64(0), int64(0)
    while size > 0:
        rounds += 1
        pushed += size
        sweeps.lengths(
            sweeps.PUSH, frontier, size, edges.indptr, chances, edges.one_minus_alpha, walks.counts, slot.residue,
            slot.reserve, slot.scores, slot.limits, team, team.memory.sums,
        )  # fmt: skip
        phase = team_barrier(team, phase)
        whole = prefix_over_blocks(team, team.memory.pool, team.memory.sums)
        pushed_along += whole
        scanning = whole > n >> 1
        listed = listed and not scanning
        collected = sweeps.UNLISTED if scanning else sweeps.MARKED if listed else sweeps.LIFTED_ONLY
        at = counters(team, phase)
        sweeps.sweep(
            sweeps.PUSH, sweeps.Work(frontier, size, whole), sweeps.Targets(collected, upcoming), edges,
            chances, drawn, rows, slot, threshold, team, phase,
        )  # fmt: skip
        phase = team_barrier(team, phase)
        if scanning:
            at = counters(team, phase)
            collect_frontier(Met(n, True), slot, walks.counts, threshold, upcoming, team, phase)
            phase = team_barrier(team, phase)
        size = team.control[at + sweeps.LIFTED]
        frontier, upcoming = upcoming, frontier
    return listed, rounds, pushed, pushed_along, phase
