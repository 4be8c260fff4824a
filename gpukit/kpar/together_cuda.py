"""Start lists read once for several queries of a team on a GPU.

On a large graph the unit of residue that a walk carries is at another place for every entry of a start list, and a
sector of 32 bytes is read for the 8 that count. A team therefore *puts off* queries that come to need start lists, each
in a *slot* of its own, until all TOGETHER slots are taken or no queries are left; :func:`gather_together` then lays the
units of all slots side by side and reads the lists of all candidates once, and the queries are taken up again.
"""

from numba import cuda, int64

from gpukit.kpar.starts_cuda import add_starts_together
from gpukit.kpar.sweep_cuda import FORWARD, lengths
from gpukit.kpar.team_cuda import (
    AT_ONCE,
    CANDIDATES,
    FIRST,
    FRONTIER,
    HELD,
    LIMITS,
    PUT_OFF,
    RESERVE,
    SCORES,
    TOGETHER,
    UNIT,
    UPCOMING,
    WALKED,
    counters,
    due,
    flush,
    meet,
    put,
    share_out,
)

QUERY, MET, LISTED, COUNT, LEAST, STEP, WORKED, FINAL = 0, 1, 2, 3, 4, 5, 6, 7
"""What a query leaves when it is put off."""


@cuda.jit(device=True)
def put_off(control, home, slot, q, met, listed, count, least, step, worked, final):
    """Leave a query, its candidates known, in a slot; one thread."""
    at = home + PUT_OFF + slot * HELD
    control[at + QUERY], control[at + MET], control[at + LISTED] = q, met, int64(listed)
    control[at + COUNT], control[at + LEAST], control[at + STEP] = count, least, step
    control[at + WORKED], control[at + FINAL] = worked, int64(final)


@cuda.jit(device=True)
def take_up(control, home, slot):
    """Return what :func:`put_off` left: query, met, listed, count, least, step, worked, final; all threads."""
    at = home + PUT_OFF + slot * HELD
    return (
        control[at + QUERY], control[at + MET], control[at + LISTED] != 0, control[at + COUNT], control[at + LEAST],
        control[at + STEP], control[at + WORKED], control[at + FINAL] != 0,
    )  # fmt: skip


@cuda.jit(device=True)
def gather_together(
    long, short, quads, team, taken, src_begin, starts, frequent_begin, frequencies, go_on, walks,
    control, home, member, blocks, phase, pool, sums, stage, shared,
):  # fmt: skip
    """Write the scores of the candidates of all queries put off; all threads of the team.

    Once TOGETHER units of each vertex are moved (64 bytes) and marks cleared (4 bytes), a thread owns a candidate of a
    slot: the first one to mark a vertex lists it. Then :func:`add_starts_together` adds up the lists of all. Five
    phases.

    Parameters
    ----------
    long, short, team
        As in :func:`gpukit.kpar.query_cuda.answer`. The first slot's FRONTIER, UPCOMING and LIMITS are room; WALKED is
        zero at the start and at the end.
    quads : int64 array, shape (teams, n * TOGETHER)
        Room for the units.
    taken : int
        Slots with a query; the units of the others are zero.

    Returns
    -------
    int
        The new phase.
    """
    lane, width = cuda.threadIdx.x, cuda.blockDim.x
    me, everyone = member * width + lane, blocks * width
    n, first = len(walks), team * TOGETHER
    marks, union, limits = short[first, FRONTIER], short[first, UPCOMING], long[first, LIMITS]
    units = quads[team]
    # A thread belongs to one slot: neighbours write side by side.
    own = me % TOGETHER
    unit, walked = long[first + own, UNIT], long[first + own, WALKED]
    values = cuda.local.array(AT_ONCE, int64)
    stride = everyone // TOGETHER
    v = int64(me // TOGETHER)
    while v < n:
        for i in range(AT_ONCE):
            values[i] = unit[min(v + i * stride, n - 1)]
        for i in range(AT_ONCE):
            if v + i * stride < n:
                units[(v + i * stride) * TOGETHER + own] = values[i]
        v += AT_ONCE * stride
    v = int64(me)
    while v < n:
        marks[v] = 0
        v += everyone
    phase = meet(control, home, member, blocks, phase)

    at = counters(home, phase)
    for slot in range(taken):
        candidates, count = short[first + slot, CANDIDATES], control[home + PUT_OFF + slot * HELD + COUNT]
        passes, fullest = 0, -1
        base = member * width
        while base < count:
            if base + lane < count:
                u = int64(candidates[base + lane])
                if cuda.atomic.add(marks, u, 1) == 0:
                    fullest = max(fullest, put(stage, shared, 0, union, control, at + FIRST, u))
            if due(passes, fullest, shared):
                flush(stage, shared, 0, union, control, at + FIRST)
                fullest = -1
            passes += 1
            base += everyone
    flush(stage, shared, 0, union, control, at + FIRST)
    phase = meet(control, home, member, blocks, phase)

    size = control[at + FIRST]
    # Of the arrays of vertices, rows of this kind have none read.
    lengths(
        FORWARD, union, size, src_begin, go_on, walks, unit, unit, unit, limits, control, home, member, blocks, sums
    )
    phase = meet(control, home, member, blocks, phase)
    whole = share_out(control, home, blocks, pool, sums)
    add_starts_together(
        union, size, whole, src_begin, starts, frequent_begin, frequencies, units, walked, limits, member, blocks, pool
    )
    phase = meet(control, home, member, blocks, phase)

    for slot in range(taken):
        candidates, count = short[first + slot, CANDIDATES], control[home + PUT_OFF + slot * HELD + COUNT]
        scores, reserve, carried = long[first + slot, SCORES], long[first + slot, RESERVE], long[first + slot, WALKED]
        j = int64(me)
        while j < count:
            scores[j] = reserve[candidates[j]] + carried[candidates[j]]
            j += everyone
    phase = meet(control, home, member, blocks, phase)
    j = int64(me // TOGETHER)
    while j < size:
        walked[union[j]] = 0
        j += stride
    return phase
