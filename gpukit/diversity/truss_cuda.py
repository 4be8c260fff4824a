"""Trusses of ego-networks by a team of blocks: for one k, or full decomposition (algorithms 5 to 7 of the paper).

Bits of the maximal truss are never cleared, so every order of removal ends at the same truss. So an edge may be cleared
while other edges are being counted.
"""

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device
from gpukit.diversity.matrix_cuda import clear, common
from gpukit.diversity.teams_cuda import DOOMED, FLAGS, GOING, NONE, TRIANGLES, open_round, team_barrier


@device
def ends_of(ego, e):
    """Return the ends of edge e of the list."""
    pair = int64(ego.edges[ego.listed + e])
    return pair >> 16, pair & 0xFFFF


@device
def lazy_truss(k, count, ego, team, phase):
    """Remove edges in fewer than k - 2 triangles until none is left; removed edges become 0 in the list.

    One thread per edge. An edge is counted again only if one of its ends lost an edge since. Returns the next barrier.
    """
    round_ = int32(1)
    while True:
        flag = open_round(team, round_)
        changed = False
        for e in range(ego.listed + team.rank, ego.listed + count, team.members):
            pair = int64(ego.edges[e])
            if pair != 0:
                i, j = pair >> 16, pair & 0xFFFF
                if ego.nodes[ego.stamp + i] >= round_ - 1 or ego.nodes[ego.stamp + j] >= round_ - 1:
                    if common(ego, i, j, k - 2) < k - 2:
                        ego.edges[e] = uint32(0)
                        clear(ego, i, j)
                        ego.nodes[ego.stamp + i] = round_
                        ego.nodes[ego.stamp + j] = round_
                        changed = True
        if changed:
            team.control[flag] = 1
        phase = team_barrier(team, phase)
        if team.control[flag] == 0:
            return phase
        round_ += 1


@device
def _count_support(count, ego, values, out, team):
    """Count the triangles of each edge (algorithm 5, lines 1-4), and find the lowest support."""
    least, seen = int64(NONE), int64(0)
    for e in range(team.rank, count, team.members):
        i, j = ends_of(ego, e)
        support = common(ego, i, j, NONE)
        values[out + e] = -1 - support
        least = min(least, int64(support))
        seen += support
    if least < NONE:
        cuda.atomic.min(team.control, team.home + FLAGS, least)
        cuda.atomic.add(team.control, TRIANGLES, seen)


@device
def _search_edges(level, flag, going, count, ego, values, out, team):
    """Mark edges whose support has fallen to the level as doomed (algorithm 6); find the lowest support above it."""
    least = int64(NONE)
    found = False
    for e in range(team.rank, count, team.members):
        value = int64(values[out + e])
        if value < 0:
            i, j = ends_of(ego, e)
            losses = int64(ego.nodes[ego.stamp + i]) + int64(ego.nodes[ego.stamp + j])
            support = -1 - value - losses
            if support <= level:
                support = int64(common(ego, i, j, NONE))
                if support <= level:
                    values[out + e] = DOOMED
                    found = True
                else:
                    values[out + e] = -1 - (support + losses)
            if support > level:
                least = min(least, support)
    if found:
        team.control[going] = 1
    if least < team.control[flag]:
        cuda.atomic.min(team.control, flag, least)


@device
def _peel_edges(level, count, ego, values, out, team):
    """Remove the doomed edges, which are in no truss above this level (algorithm 7)."""
    for e in range(team.rank, count, team.members):
        if values[out + e] == DOOMED:
            i, j = ends_of(ego, e)
            values[out + e] = level + 2
            clear(ego, i, j)
            cuda.atomic.add(ego.nodes, ego.stamp + i, 1)
            cuda.atomic.add(ego.nodes, ego.stamp + j, 1)


@device
def decompose_truss(count, ego, values, out, team, phase):
    """Write the trussness of every edge; one thread per edge (algorithm 5). Returns the next barrier.

    As in PKT, edges of the lowest support are removed together, level by level. Supports are not decremented. Since an
    edge was counted it has lost at most as many triangles as its ends have lost edges. It is counted again once this
    bound reaches the level. In ``values`` a living edge has -1 - (support + lost edges of its ends), both at the time
    of its count; an edge that is removed next has ``DOOMED``.
    """
    _count_support(count, ego, values, out, team)
    phase = team_barrier(team, phase)
    level, round_ = team.control[team.home + FLAGS], int32(1)
    while level < NONE:
        flag, going = team.home + FLAGS + round_ % 3, team.home + GOING + round_ % 3
        if team.rank == 0:
            team.control[team.home + FLAGS + (round_ + 1) % 3] = NONE
            team.control[team.home + GOING + (round_ + 1) % 3] = 0
        _search_edges(level, flag, going, count, ego, values, out, team)
        phase = team_barrier(team, phase)
        if team.control[going] == 0:
            level = team.control[flag]
        else:
            _peel_edges(level, count, ego, values, out, team)
            phase = team_barrier(team, phase)
        round_ += 1
    return phase
