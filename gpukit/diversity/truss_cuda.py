"""Trusses of ego-networks by a team of blocks: for one k, and decomposed.

Bits of the maximal truss never go, so every order of removal ends at the same truss: an edge is cleared while others
still count.
"""

from numba import cuda, int32, int64, uint32

from gpukit.diversity.matrix_cuda import clear, common
from gpukit.diversity.teams_cuda import DOOMED, FLAGS, GOING, NONE, TRIANGLES, team_sync


@cuda.jit(device=True)
def lazy_truss(
    k, bits, matrix, members, words, nodes, stamp, edges, list_, count, team, control, own, turn, lane, width
):
    """Remove edges in fewer than k - 2 triangles until none is left; removed ones become 0 in the list.

    A thread owns an edge. It is counted again only if an end of it lost an edge since. Returns the next barrier.
    """
    round_ = int32(1)
    while True:
        flag = own + FLAGS + round_ % 3
        if lane == 0:
            control[own + FLAGS + (round_ + 1) % 3] = 0
        changed = False
        for e in range(list_ + lane, list_ + count, width):
            pair = int64(edges[e])
            if pair != 0:
                i, j = pair >> 16, pair & 0xFFFF
                if nodes[stamp + i] >= round_ - 1 or nodes[stamp + j] >= round_ - 1:
                    if common(bits, matrix, members, words, i, j, k - 2) < k - 2:
                        edges[e] = uint32(0)
                        clear(bits, matrix, words, i, j)
                        nodes[stamp + i] = round_
                        nodes[stamp + j] = round_
                        changed = True
        if changed:
            control[flag] = 1
        turn = team_sync(team, control, own, turn)
        if control[flag] == 0:
            return turn
        round_ += 1


@cuda.jit(device=True)
def full_truss(
    bits, matrix, members, words, nodes, lost, edges, list_, count, values, out, team, control, own, turn, lane, width
):
    """Write the trussness of every edge; a thread owns an edge. Returns the next barrier.

    As PKT: edges of the lowest support go together, level by level. Supports are not counted down: an edge has lost at
    most as many triangles as its ends have lost edges since it was counted, and is counted again once that could have
    brought it to the level. A living edge has -1 - (support + lost edges of its ends) in ``values``, both when it was
    counted; one that goes next has ``DOOMED``.
    """
    least, seen = int64(NONE), int64(0)
    for e in range(lane, count, width):
        pair = int64(edges[list_ + e])
        support = common(bits, matrix, members, words, pair >> 16, pair & 0xFFFF, NONE)
        values[out + e] = -1 - support
        least = min(least, int64(support))
        seen += support
    if least < NONE:
        cuda.atomic.min(control, own + FLAGS, least)
        cuda.atomic.add(control, TRIANGLES, seen)
    turn = team_sync(team, control, own, turn)
    level, round_ = control[own + FLAGS], int32(1)
    while level < NONE:
        flag, going = own + FLAGS + round_ % 3, own + GOING + round_ % 3
        if lane == 0:
            control[own + FLAGS + (round_ + 1) % 3] = NONE
            control[own + GOING + (round_ + 1) % 3] = 0
        least = int64(NONE)
        found = False
        for e in range(lane, count, width):
            value = int64(values[out + e])
            if value < 0:
                pair = int64(edges[list_ + e])
                i, j = pair >> 16, pair & 0xFFFF
                losses = int64(nodes[lost + i]) + int64(nodes[lost + j])
                support = -1 - value - losses
                if support <= level:
                    support = int64(common(bits, matrix, members, words, i, j, NONE))
                    if support <= level:
                        values[out + e] = DOOMED
                        found = True
                    else:
                        values[out + e] = -1 - (support + losses)
                if support > level:
                    least = min(least, support)
        if found:
            control[going] = 1
        if least < control[flag]:
            cuda.atomic.min(control, flag, least)
        turn = team_sync(team, control, own, turn)
        if control[going] == 0:
            level = control[flag]
        else:
            for e in range(lane, count, width):
                if values[out + e] == DOOMED:
                    pair = int64(edges[list_ + e])
                    i, j = pair >> 16, pair & 0xFFFF
                    values[out + e] = level + 2
                    clear(bits, matrix, words, i, j)
                    cuda.atomic.add(nodes, lost + i, 1)
                    cuda.atomic.add(nodes, lost + j, 1)
            turn = team_sync(team, control, own, turn)
        round_ += 1
    return turn
