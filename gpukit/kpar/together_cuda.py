"""Start lists read once for several queries of a team on a GPU.

On a large graph the unit of residue that a walk carries is at another place for every entry of a start list, and a
sector of 32 bytes is read for the 8 that count. A team therefore *suspends* queries that come to need start lists, each
in a *slot* of its own, until all TOGETHER slots are taken or no queries are left; :func:`gather_together` then lays the
units of all slots side by side and reads the lists of all candidates once, and the queries are resumed.
"""

from typing import Any, NamedTuple

from numba import cuda, int64

from gpukit.kpar import team_cuda as teams
from gpukit.kpar.starts_cuda import add_starts_together
from gpukit.kpar.sweep_cuda import FORWARD, lengths
from gpukit.kpar.team_cuda import AT_ONCE

QUERY, MET, LISTED, COUNT, LEAST, STEP, WORKED, EXACT = 0, 1, 2, 3, 4, 5, 6, 7
"""What a suspended query leaves."""

IN_UNION = 0
"""Counter: vertices that are candidates of any slot."""


class Progress(NamedTuple):
    """How far a query is.

    Its number; vertices met, and whether all are listed; candidates, and the k-th largest reserve; the step, edges
    pushed along so far, and whether nothing is left to walks.
    """

    query: Any
    met: Any
    listed: Any
    count: Any
    least_reserve: Any
    step: Any
    worked: Any
    exact: Any


class Space(NamedTuple):
    """The working space of all teams (:func:`gpukit.kpar.query_cuda.answer`)."""

    long: Any
    short: Any
    top: Any
    control: Any
    quads: Any
    marks: Any


@cuda.jit(device=True)
def suspend(team, slot, progress):
    """Leave a query, its candidates known, in a slot; one thread."""
    control, at = team.control, team.home + teams.SUSPENDED + slot * teams.HELD
    control[at + QUERY], control[at + MET] = progress.query, progress.met
    control[at + LISTED], control[at + COUNT] = int64(progress.listed), progress.count
    control[at + LEAST], control[at + STEP] = progress.least_reserve, progress.step
    control[at + WORKED], control[at + EXACT] = progress.worked, int64(progress.exact)


@cuda.jit(device=True)
def resume(team, slot):
    """Return the progress that :func:`suspend` left; all threads."""
    control, at = team.control, team.home + teams.SUSPENDED + slot * teams.HELD
    return Progress(
        query=control[at + QUERY],
        met=control[at + MET],
        listed=control[at + LISTED] != 0,
        count=control[at + COUNT],
        least_reserve=control[at + LEAST],
        step=control[at + STEP],
        worked=control[at + WORKED],
        exact=control[at + EXACT] != 0,
    )


@cuda.jit(device=True)
def gather_together(space, number, taken, one_minus_alpha, walks, team, phase):
    """Write the scores of the candidates of all suspended queries; all threads of the team.

    The units of each vertex are laid side by side, the candidates of all slots listed once, and
    :func:`add_starts_together` adds up their lists. Five phases, in one body: cut, its instructions come in another
    order.

    Parameters
    ----------
    space : Space
        The first slot's FRONTIER, UPCOMING and LIMITS are room; WALKED is zero at the start and at the end.
    number : int
        Of the team.
    taken : int
        Slots with a query; the units of the others are zero.
    one_minus_alpha, walks, team, phase
        As elsewhere.

    Returns
    -------
    int
        The new phase.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    rank, members = team.block * block_size + tid, team.blocks * block_size
    long, short, control = space.long, space.short, team.control
    n, first = len(walks.counts), number * teams.TOGETHER
    marks, union, limits = short[first, teams.FRONTIER], short[first, teams.UPCOMING], long[first, teams.LIMITS]
    units = space.quads[number]
    # The units of a vertex become neighbours. A thread belongs to one slot: neighbours write side by side.
    own = rank % teams.TOGETHER
    unit, walked = long[first + own, teams.UNIT], long[first + own, teams.WALKED]
    values = cuda.local.array(AT_ONCE, int64)
    stride = members // teams.TOGETHER
    v = int64(rank // teams.TOGETHER)
    while v < n:
        for i in range(AT_ONCE):
            values[i] = unit[min(v + i * stride, n - 1)]
        for i in range(AT_ONCE):
            if v + i * stride < n:
                units[(v + i * stride) * teams.TOGETHER + own] = values[i]
        v += AT_ONCE * stride
    v = int64(rank)
    while v < n:
        marks[v] = 0
        v += members
    phase = teams.team_barrier(team, phase)

    # The candidates of all slots, each once: the first thread to mark a vertex lists it.
    at = teams.counters(team, phase)
    in_union = teams.Staged(team.memory.stage, team.memory.small, 0, union, control, at, IN_UNION)
    for slot in range(taken):
        candidates = short[first + slot, teams.CANDIDATES]
        count = control[team.home + teams.SUSPENDED + slot * teams.HELD + COUNT]
        passes, fullest = 0, -1
        base = team.block * block_size
        while base < count:
            if base + tid < count:
                u = int64(candidates[base + tid])
                if cuda.atomic.add(marks, u, 1) == 0:
                    fullest = max(fullest, teams.put(in_union, u))
            if teams.time_to_flush(passes, fullest, team.memory.small):
                teams.flush(in_union)
                fullest = -1
            passes += 1
            base += members
    teams.flush(in_union)
    phase = teams.team_barrier(team, phase)

    # What the walks in their start lists carry, for all slots at once.
    size = control[at + IN_UNION]
    # Of the arrays of vertices, rows of this kind have none read.
    lengths(
        FORWARD, union, size, walks.src_begin, None, one_minus_alpha, walks.counts, unit, unit, unit, limits, team,
        team.memory.sums,
    )  # fmt: skip
    phase = teams.team_barrier(team, phase)
    whole = teams.prefix_over_blocks(team, team.memory.pool, team.memory.sums)
    add_starts_together(union, size, whole, walks, units, walked, limits, team, team.memory.pool)
    phase = teams.team_barrier(team, phase)

    # The scores of each slot's candidates: reserve, and what walks brought.
    for slot in range(taken):
        candidates = short[first + slot, teams.CANDIDATES]
        count = control[team.home + teams.SUSPENDED + slot * teams.HELD + COUNT]
        scores, reserve = long[first + slot, teams.SCORES], long[first + slot, teams.RESERVE]
        carried = long[first + slot, teams.WALKED]
        j = int64(rank)
        while j < count:
            scores[j] = reserve[candidates[j]] + carried[candidates[j]]
            j += members
    phase = teams.team_barrier(team, phase)
    j = int64(rank // teams.TOGETHER)
    while j < size:
        walked[union[j]] = 0
        j += stride
    return phase
