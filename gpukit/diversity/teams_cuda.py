"""Shared parts of a team of blocks that owns an ego-network: its barrier, its counters, its union-find."""

from typing import Any, NamedTuple

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device
from gpukit.device.prefix_sum_cuda import add_up

QUEUE, TRIANGLES, TEAMS, PER_TEAM = 0, 1, 16, 16
"""Places in ``control``: ego-networks started, 3 × the triangles seen; the counters of the first team, and the
number of counters per team."""

PLACE, ARRIVED, FOUND, FLAGS, GOING = 0, 1, 2, 4, 8
"""Places in a team's counters: its ego-network, blocks at the barrier, contexts, and two groups of three numbers
that rounds use in rotation."""

NODE_ARRAYS = 4
"""Arrays of a team with one number per member of its ego-network: the last four fields of :class:`Ego`."""

NONE, DOOMED = 0x7FFFFFFF, -0x7FFFFFFF


class Team(NamedTuple):
    """The team of blocks that a thread belongs to."""

    control: Any  # int64: counters of the grid, then of each team
    home: int  # place of this team's counters
    blocks: int
    rank: int  # number of the thread in the team
    members: int  # threads of the team


class Ego(NamedTuple):
    """The current ego-network of a team, and the start of each of its parts of the working space."""

    start: int  # first possible member in ``kept``
    size: int  # number of possible members
    words: int  # in a row of the bit matrix
    bits: Any  # uint32: matrices of all teams
    matrix: int  # first word of this team's matrix
    edges: Any  # uint32: edge lists of all teams
    listed: int  # first place of this team's list
    nodes: Any  # int32: per-member numbers of all teams; the starts of this team's arrays follow:
    stamp: int  # round of the last loss (truss decomposition: edges lost; core: degree, or coreness)
    root: int  # parent in the union-find
    part: int  # size of the component, at its root
    row: int  # first edge of its row in the list


@device
def team_barrier(team, phase):
    """Wait for all blocks of a team, see what they wrote, and return the number of the next barrier."""
    cuda.syncthreads()
    if team.blocks > 1:
        if cuda.threadIdx.x == 0:
            cuda.threadfence()
            cuda.atomic.add(team.control, team.home + ARRIVED, 1)
            while cuda.atomic.add(team.control, team.home + ARRIVED, 0) < team.blocks * phase:
                pass
            cuda.threadfence()
        cuda.syncthreads()
    return phase + 1


@device
def open_round(team, round_):
    """Return the place of this round's flag. Three flags rotate: the next one is cleared while no thread reads it."""
    flag = team.home + FLAGS + round_ % 3
    if team.rank == 0:
        team.control[team.home + FLAGS + (round_ + 1) % 3] = 0
    return flag


@device
def next_bit(w, word):
    """Return the place of the lowest bit set in word w of a row, and the word without it."""
    return (w << 5) + int64(cuda.ffs(word)) - 1, uint32(word & uint32(word - uint32(1)))


@device
def root_of(ego, x):
    """Return the root of member x and halve the path to it."""
    parent = ego.nodes[ego.root + x]
    while parent != x:
        above = ego.nodes[ego.root + parent]
        ego.nodes[ego.root + x] = above
        x = parent
        parent = above
    return x


@device
def join(ego, a, b):
    """Join the components of members a and b; at the end roots are lowest members."""
    while True:
        a, b = root_of(ego, a), root_of(ego, b)
        if a == b:
            return
        if a < b:
            a, b = b, a
        if cuda.atomic.cas(ego.nodes, ego.root + a, int32(a), int32(b)) == a:
            return


@device
def running_sum(nodes, base, count, partial):
    """Replace numbers by their exclusive prefix sums, and append the total; one block."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    chunk = (count + block_size - 1) // block_size
    low = min(count, tid * chunk)
    high = min(count, low + chunk)
    total = int32(0)
    for x in range(low, high):
        total += nodes[base + x]
    partial[tid] = total
    add_up(partial)
    before = partial[tid] - total
    for x in range(low, high):
        number = nodes[base + x]
        nodes[base + x] = before
        before += number
    if tid == block_size - 1:
        nodes[base + count] = before
    cuda.syncthreads()
