"""Cores of ego-networks, computed by a team of blocks: for one k, or all by H-index (algorithm 4 of the paper)."""

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device
from gpukit.diversity.teams_cuda import join, next_bit, open_round, team_barrier


@device
def _count_degrees(ego, team):
    """Write the degree of each member (lines 2-3); a thread per member."""
    for i in range(team.rank, ego.size, team.members):
        count = int32(0)
        for w in range(ego.words):
            count += int32(cuda.popc(ego.bits[ego.matrix + i * ego.words + w]))
        ego.nodes[ego.stamp + i] = count


@device
def peel_core(k, ego, team, phase):
    """Remove members of degree < k until none is left; their degree becomes negative. One thread per member."""
    _count_degrees(ego, team)
    phase = team_barrier(team, phase)
    round_ = int32(1)
    while True:
        flag = open_round(team, round_)
        for i in range(team.rank, ego.size, team.members):
            if 0 <= ego.nodes[ego.stamp + i] < k:
                # Neighbours may be decrementing this degree now; a value far below zero keeps it dead.
                cuda.atomic.add(ego.nodes, ego.stamp + i, -(1 << 20))
                for w in range(ego.words):
                    word = uint32(ego.bits[ego.matrix + i * ego.words + w])
                    while word != uint32(0):
                        j, word = next_bit(w, word)
                        cuda.atomic.add(ego.nodes, ego.stamp + j, -1)
                team.control[flag] = 1
        phase = team_barrier(team, phase)
        if team.control[flag] == 0:
            return phase
        round_ += 1


@device
def _count_reaching(i, value, ego):
    """Return how many neighbours of member i have at least ``value``."""
    reaching = int32(0)
    for w in range(ego.words):
        word = uint32(ego.bits[ego.matrix + i * ego.words + w])
        while word != uint32(0):
            j, word = next_bit(w, word)
            reaching += int32(ego.nodes[ego.stamp + j] >= value)
    return reaching


@device
def decompose_cores(ego, team, phase):
    """Write the coreness of each member: the fixed point of c(u) ← H-index of the neighbours' c (lines 5-11)."""
    _count_degrees(ego, team)
    phase = team_barrier(team, phase)
    round_ = int32(1)
    while True:
        flag = open_round(team, round_)
        for i in range(team.rank, ego.size, team.members):
            before = ego.nodes[ego.stamp + i]
            # Bisect for the largest h such that h neighbours have values >= h; it is at most the old value.
            h, high = int32(0), before
            while h < high:
                middle = (h + high + 1) >> 1
                if _count_reaching(i, middle, ego) >= middle:
                    h = middle
                else:
                    high = middle - 1
            if h < before:
                ego.nodes[ego.stamp + i] = h
                team.control[flag] = 1
        phase = team_barrier(team, phase)
        if team.control[flag] == 0:
            return phase
        round_ += 1


@device
def join_core(k, ego, team):
    """Join the ends of the edges between members of degree k or more (line 12); one thread per word of the matrix."""
    for x in range(team.rank, ego.size * ego.words, team.members):
        i, w = x // ego.words, x % ego.words
        if w >= i >> 5 and ego.nodes[ego.stamp + i] >= k:
            word = uint32(ego.bits[ego.matrix + x])
            while word != uint32(0):
                j, word = next_bit(w, word)
                if j > i and ego.nodes[ego.stamp + j] >= k:
                    join(ego, int64(i), j)
