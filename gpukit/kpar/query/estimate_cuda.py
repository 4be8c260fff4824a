"""Candidates of a query and their scores, by a team of blocks on a GPU."""

from numba import int64

from gpukit.device.kernels import cuda, device
from gpukit.kpar.query import sweep_cuda as sweeps
from gpukit.kpar.query.lists_cuda import LIST_ENTRIES, LISTED, list_candidates, list_reached
from gpukit.kpar.query.select_cuda import kth
from gpukit.kpar.query.starts_cuda import add_starts
from gpukit.kpar.query.team_cuda import counters, prefix_over_blocks, team_barrier


@device
def propose(size, floor, k, met, walks, slot, threshold, among, team, phase, parity):
    """List in ``candidates`` the vertices that could be among the k best; all threads of the team.

    The first ``size`` vertices of ``upcoming`` are those with a reserve of at least ``floor``; the k largest reserves
    are among them. ``scores`` and ``limits`` are working space.

    Returns
    -------
    least_reserve, count, cost, phase, parity
        e₀, the k-th largest reserve; the number of candidates; the number of entries of their start lists. These are 0
        if there are fewer than k reserves. Then the new phase and parity.
    """
    if size < k:
        return int64(0), int64(0), int64(0), phase, parity
    rank, members = team.block * cuda.blockDim.x + cuda.threadIdx.x, team.blocks * cuda.blockDim.x
    i = rank
    while i < size:
        slot.scores[i] = slot.reserve[slot.upcoming[i]]
        i += members
    phase = team_barrier(team, phase)
    least_reserve, _, _, phase, parity = kth(slot.scores, size, k, slot.limits, slot.scores, team, phase, parity)
    at = counters(team, phase)
    list_candidates(size if floor <= 1 else int64(0), met, slot, walks, threshold, least_reserve, among, team, phase)
    phase = team_barrier(team, phase)
    return least_reserve, team.control[at + LISTED], team.control[at + LIST_ENTRIES], phase, parity


@device
def estimate(forward, least_reserve, sizes, met, edges, chances, walks, slot, threshold, among, team, phase):
    """Write the candidates' reserves plus the mass that walks carry to ``scores``; all threads of the team.

    ``sizes`` are the numbers of candidates and of carriers. If ``forward``, the carriers in ``frontier`` send their
    walks; the mass at the ends stays in ``walked`` (:func:`forget_walked`), and ``upcoming`` lists the ends. Otherwise
    the walks are those in the candidates' start lists. If ``least_reserve`` is 0, all vertices with a score become
    candidates.

    Returns
    -------
    count, reached, phase
        The number of candidates; the number of vertices with nonzero ``walked``, which ``upcoming`` lists; the new
        phase.
    """
    rank, members = team.block * cuda.blockDim.x + cuda.threadIdx.x, team.blocks * cuda.blockDim.x
    count, carriers = sizes
    kind, items, size, begin = sweeps.INVERTED, slot.candidates, count, walks.src_begin
    if forward:
        kind, items, size, begin = (
            sweeps.DRAW if walks.light else sweeps.FORWARD,
            slot.frontier,
            carriers,
            walks.row_begin,
        )
    sweeps.lengths(
        kind, items, size, begin, None, edges.one_minus_alpha, walks.counts, slot.residue, slot.reserve, slot.scores,
        slot.limits, team, team.memory.sums,
    )  # fmt: skip
    phase = team_barrier(team, phase)
    whole = prefix_over_blocks(team, team.memory.pool, team.memory.sums)
    at = counters(team, phase)
    if forward:
        sweeps.sweep(
            kind, sweeps.Work(items, size, whole), sweeps.Targets(sweeps.UNLISTED, slot.upcoming), edges,
            chances, sweeps.Drawn(walks.counts, walks.seed, walks.tag),
            sweeps.Rows(begin, walks.row_ends, walks.row_freqs), slot, threshold, team, phase,
        )  # fmt: skip
    else:
        add_starts(items, size, whole, begin, walks, slot, threshold.coarse, team, team.memory.pool)
    phase = team_barrier(team, phase)
    reached = int64(0)
    if forward:
        reached = team.control[at + sweeps.ENDS]
        if least_reserve == 0:
            at = counters(team, phase)
            list_reached(met, slot, reached, among, team, phase)
            phase = team_barrier(team, phase)
            count = team.control[at + LISTED]
        j = rank
        while j < count:
            slot.scores[j] = slot.reserve[slot.candidates[j]] + slot.walked[slot.candidates[j]]
            j += members
        phase = team_barrier(team, phase)
    return count, reached, phase


@device
def forget_walked(reached, slot, team):
    """Reset ``walked`` to zero for the vertices that ``upcoming`` lists."""
    j = team.block * cuda.blockDim.x + cuda.threadIdx.x
    while j < reached:
        slot.walked[slot.upcoming[j]] = 0
        j += team.blocks * cuda.blockDim.x
