"""Adaptive forward push by a team of blocks on a GPU: rounds until no residue is above its threshold."""

from typing import Any, NamedTuple

from numba import int64

from gpukit.device.kernels import device
from gpukit.kpar import sweep_cuda as sweeps
from gpukit.kpar.lists_cuda import collect_frontier
from gpukit.kpar.team_cuda import Met, counters, prefix_over_blocks, team_barrier

AUTO, SCAN, ATOMIC = 0, 1, 2
"""How the next frontier is collected: by reading all residues after a round, or by the push that lifts one over its
threshold; ``AUTO`` scans after rounds that push along more than n/2 edges."""


class Ways(NamedTuple):
    """AUTO, SCAN or ATOMIC; whether rows are split into tiles when pushing, and when adding up walks (ablations)."""

    collect: Any
    tiled_push: Any
    tiled_estimate: Any


@device
def push(frontier, upcoming, size, listed, ways, edges, chances, walks, slot, threshold, team, phase):
    """Push from the ``size`` vertices of the frontier, and those that this lifts over their thresholds (algorithm 2).

    A round takes two phases: take residues, push. ``frontier``, ``upcoming``, ``scores`` and ``limits`` of the slot are
    undefined afterwards. All threads of the team.

    Returns
    -------
    listed
        Whether all vertices met so far have a mark.
    rounds, pushed, edges, phase
        What it took, and the new phase.
    """
    # A push reads the edges; only other kinds of sweeps read frequencies.
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
        scanning = ways.collect == SCAN or (ways.collect == AUTO and whole > n >> 1)
        listed = listed and not scanning
        collected = sweeps.UNLISTED if scanning else sweeps.MARKED if listed else sweeps.LIFTED_ONLY
        at = counters(team, phase)
        sweeps.sweep(
            sweeps.PUSH, sweeps.Work(frontier, size, whole), sweeps.Targets(collected, upcoming), edges,
            chances, drawn, rows, slot, threshold, ways.tiled_push, team, phase,
        )  # fmt: skip
        phase = team_barrier(team, phase)
        if scanning:
            at = counters(team, phase)
            collect_frontier(Met(n, True), slot, walks.counts, threshold, upcoming, team, phase)
            phase = team_barrier(team, phase)
        size = team.control[at + sweeps.LIFTED]
        frontier, upcoming = upcoming, frontier
    return listed, rounds, pushed, pushed_along, phase
