"""Scores of ego-networks on a GPU, equal to those of ``contexts_cpu.py``.

A team of blocks owns one ego-network at a time, and takes the next one from a queue sorted by falling cost. A team is
one warp for the many small ego-networks, one block for medium ones, and several blocks for hubs. All run the same code.
"""

from typing import Any, NamedTuple

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.diversity import cores_cuda as cores
from gpukit.diversity import matrix_cuda as matrices
from gpukit.diversity import teams_cuda as teams
from gpukit.diversity import truss_cuda as trusses
from gpukit.diversity.bounds import COMP, CORE, least_size

BLOCK, REGISTERS = 512, 64
"""Most threads of a block, and the most registers of a thread."""

TEAM_CLASSES, SHARED_WORDS = 4, (24, 16, 12, 8, 6, 4, 3, 2, 1)
"""Number of classes of ego-networks with working space in global memory. For each class in shared memory
(:mod:`gpukit.diversity.truss_shared_cuda`): the most words in a row of the bit matrix."""

NO_CLASS = TEAM_CLASSES + len(SHARED_WORDS)
"""Class of ego-networks that cannot have a context and are skipped."""

PER_CLASS, CLASS_TABLE = 4, 4 * (NO_CLASS + 1)
"""Numbers that :func:`classify` computes for each class, and for all classes together."""

COPIES = 32
"""Copies of these numbers in a block; they reduce contention among the threads of a warp."""

MAX_MEMBERS = 1 << 16
"""Most members of an ego-network: an edge of a bit matrix is stored as two 16-bit places."""

SCORE, LABEL, FULL = 0, 1, 2
"""Requested output: scores; also the component of every member; or also the trussness of every edge."""


class Limits(NamedTuple):
    """Largest sizes of the classes; larger ego-networks are in class 0 (several blocks)."""

    warp_members: int  # class 3: a warp
    small_edges: int  # class 2: a small block
    small_words: int
    block_edges: int  # class 1: a large block
    block_words: int
    shared_members: int  # classes from TEAM_CLASSES on, tested first: shared memory, by SHARED_WORDS


class Queue(NamedTuple):
    """The ego-networks of a launch."""

    egos: Any  # int32: ranks of centres, by falling cost
    outs: Any  # int64: first place in ``values`` of each; unused with SCORE
    first: int  # first one to score
    length: int


class Query(NamedTuple):
    """What to compute for each ego-network."""

    model: int
    k: int
    wanted: int  # SCORE, LABEL, or FULL, which decomposes: trussness of every edge, coreness by H-index


class MemberLists(NamedTuple):
    """The lists that ego-networks are built from, for one least degree; by rank."""

    kept_begin: Any  # int64 (n + 1,)
    kept: Any  # int32: possible members of each ego-network, ranks ascending
    up_begin: Any  # int64 (n + 1,)
    up: Any  # int32: neighbours of higher rank of each vertex, by edges that may be in a context


class TeamMemory(NamedTuple):
    """Working space of the teams; only ``control`` needs to be cleared."""

    blocks: int  # of a team
    bits_each: int  # length of a team's part of ``bits``; likewise below
    edges_each: int
    nodes_each: int
    bits: Any  # uint32
    edges: Any  # uint32
    nodes: Any  # int32
    control: Any  # int64 (>= TEAMS + PER_TEAM * teams,): zeros; FULL adds 3 × its triangles to TRIANGLES


# These are inlined before the compiler sees them: calls would change the order of two loads of :func:`score_egos`.
@device(inline="always")
def _next_ego(queue, query, team, phase):
    """Take the next ego-network; return its place in the queue (``length`` or more: none left) and the next barrier."""
    if team.rank == 0:
        team.control[team.home + teams.PLACE] = cuda.atomic.add(team.control, teams.QUEUE, 1)
        team.control[team.home + teams.FOUND] = 0
        for r in range(3):
            lowest = teams.NONE if query.wanted == FULL and query.model > CORE else 0
            team.control[team.home + teams.FLAGS + r] = lowest
            team.control[team.home + teams.GOING + r] = 0
    phase = teams.team_barrier(team, phase)
    return team.control[team.home + teams.PLACE], phase


@device(inline="always")
def _clear(model, ego, team):
    """Clear the matrix and make every member a component of its own."""
    if model != COMP:
        for x in range(team.rank, ego.size * ego.words, team.members):
            ego.bits[ego.matrix + x] = uint32(0)
    for i in range(team.rank, ego.size, team.members):
        ego.nodes[ego.stamp + i] = 0
        ego.nodes[ego.root + i] = i
        ego.nodes[ego.part + i] = 0


@device
def _join_core(query, ego, team, phase):
    """Peel or decompose, and join the members of the k-core (algorithm 4); returns the next barrier."""
    if query.wanted == FULL:
        phase = cores.decompose_cores(ego, team, phase)
    else:
        phase = cores.peel_core(query.k, ego, team, phase)
    cores.join_core(query.k, ego, team)
    return phase


@device
def _join_truss(query, ego, values, outs, place, partial, team, phase):
    """List the edges, remove those outside the k-truss or decompose, and join the rest (algorithm 5)."""
    matrices.survey(ego, team)
    phase = teams.team_barrier(team, phase)
    if team.rank < cuda.blockDim.x:
        teams.running_sum(ego.nodes, ego.row, ego.size, partial)
    phase = teams.team_barrier(team, phase)
    count = int64(ego.nodes[ego.row + ego.size])
    matrices.list_edges(ego, team)
    phase = teams.team_barrier(team, phase)
    out = outs[place]
    if query.wanted == FULL:
        phase = trusses.decompose_truss(count, ego, values, out, team, phase)
    elif query.k > 2:
        phase = trusses.lazy_truss(query.k, count, ego, team, phase)
    for e in range(team.rank, count, team.members):
        pair = int64(ego.edges[ego.listed + e])
        if (values[out + e] >= query.k) if query.wanted == FULL else pair != 0:
            teams.join(ego, pair >> 16, pair & 0xFFFF)
    return phase


@device
def _count_contexts(least, query, ego, values, outs, place, team):
    """Count the components that are large enough (algorithm 3, lines 5-6), and label the members on request."""
    for i in range(team.rank, ego.size, team.members):
        top = teams.root_of(ego, int64(i))
        if query.wanted == LABEL:
            values[outs[place] + i] = top
        if cuda.atomic.add(ego.nodes, ego.part + top, 1) == least - 1:
            cuda.atomic.add(team.control, team.home + teams.FOUND, 1)


_u32, _i32, _i64, _int = "uint32[::1]", "int32[::1]", "int64[::1]", "int64"
_bool = "boolean"
_QUEUE = group(Queue, _i32, _i64, _int, _int)
_QUERY = group(Query, _int, _int, _int)
_LISTS = group(MemberLists, _i64, _i32, _i64, _i32)
_SPACE = group(TeamMemory, *4 * (_int,), _u32, _u32, _i32, _i64)
_LIMITS = group(Limits, *6 * (_int,))


@kernel((_QUEUE, _QUERY, _LISTS, _SPACE, _i32, _i32), max_registers=REGISTERS)
def score_egos(queue, query, lists, space, scores, values):
    """Score ego-networks; cooperative, whole teams of blocks of ``ROW_THREADS`` to ``BLOCK`` threads.

    A team takes the next ego-network of the queue. It finds the edges (one binary search per member and neighbour of
    higher rank, two atomic ORs per edge), lists them, removes those outside contexts, joins the ends of the rest and
    counts the components. A team reuses its own part of global memory: one bit per pair of members, 4 bytes per edge,
    16 bytes per member.

    Parameters
    ----------
    queue : Queue
    query : Query
    lists : MemberLists
    space : TeamMemory
    scores : int32 array, shape (n,)
        Receives the number of contexts, by rank.
    values : int32 array
        ``LABEL``: the lowest member of each member's component. ``FULL``, truss: trussness of each edge, by lower and
        higher member. Otherwise unused.
    """
    cuda.cg.this_grid().sync()
    number = cuda.blockIdx.x // space.blocks
    home = int64(teams.TEAMS + teams.PER_TEAM * number)
    rank = int64(cuda.blockIdx.x % space.blocks * cuda.blockDim.x + cuda.threadIdx.x)
    team = teams.Team(space.control, home, space.blocks, rank, int64(space.blocks * cuda.blockDim.x))
    matrix, listed = int64(number) * space.bits_each, int64(number) * space.edges_each
    room = space.nodes_each // teams.NODE_ARRAYS
    stamp = int64(number) * space.nodes_each
    root, part, row = stamp + room, stamp + 2 * room, stamp + 3 * room
    partial = cuda.shared.array(BLOCK, int32)
    least = least_size(query.model, query.k)
    phase = int64(1)
    while True:
        place, phase = _next_ego(queue, query, team, phase)
        if place >= queue.length:
            break
        place += queue.first
        v = queue.egos[place]
        start = lists.kept_begin[v]
        size = lists.kept_begin[v + 1] - start
        words = (size + 31) >> 5
        ego = teams.Ego(
            start, size, words, space.bits, matrix, space.edges, listed, space.nodes, stamp, root, part, row
        )
        # Algorithm 2: the edges between possible members.
        _clear(query.model, ego, team)
        phase = teams.team_barrier(team, phase)
        matrices.extract_edges(query.model, lists, ego, team)
        phase = teams.team_barrier(team, phase)
        # Algorithms 4, and 5 to 7: every context member is joined with its neighbours in the context.
        if query.model == CORE:
            phase = _join_core(query, ego, team, phase)
        elif query.model > CORE:
            phase = _join_truss(query, ego, values, queue.outs, place, partial, team, phase)
        phase = teams.team_barrier(team, phase)
        # Algorithm 3: count the components.
        _count_contexts(least, query, ego, values, queue.outs, place, team)
        phase = teams.team_barrier(team, phase)
        if team.rank == 0:
            scores[v] = team.control[team.home + teams.FOUND]


@kernel((_i32, _int, _i64, _i64, _bool, _int, _bool, _LIMITS, _i64, _i64, _i32))
def classify(ranks, count, kept_begin, ego_edges, matrix, least, by_edges, limits, keys, classes, scores):
    """Sort ego-networks into classes by size, for :func:`score_egos`; any grid, one thread per ego-network.

    Parameters
    ----------
    ranks : int32 array
        The centres; the first ``count`` are read.
    kept_begin, ego_edges : int64 arrays, shapes (n + 1,) and (n,)
        First possible member, and the upper bound on edges, of each ego-network.
    matrix : bool
        Whether the model needs bit matrices.
    least : int
        Fewest members of an ego-network that is scored.
    by_edges : bool
        Whether an ego-network without edges is skipped.
    limits : Limits
    keys : int64 array, shape (>= ranks,)
        The result: ascends by class, and within a class by falling cost.
    classes : int64 array, shape (CLASS_TABLE,)
        Zeros at the start. The result for each class: its number of ego-networks, and the largest numbers of members,
        of edges and of words of a matrix with its second level.
    scores : int32 array, shape (n,)
        Set to 0 for skipped ego-networks.
    """
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    copy = tid % COPIES
    local = cuda.shared.array((CLASS_TABLE, COPIES), int64)
    for x in range(tid, CLASS_TABLE * COPIES, block_size):
        local[x // COPIES, x % COPIES] = 0
    cuda.syncthreads()
    for x in range(cuda.grid(1), count, cuda.gridsize(1)):
        v = ranks[x]
        members, edges = kept_begin[v + 1] - kept_begin[v], ego_edges[v]
        words = int64(0)
        if matrix:
            words = (members + 31) >> 5
            words = members * (words + ((words + 31) >> 5))
        kind = 0
        if members < least or (by_edges and edges == 0):
            kind = NO_CLASS
            scores[v] = 0
        elif members <= limits.shared_members:
            kind = NO_CLASS - 1
            while members > 32 * SHARED_WORDS[kind - TEAM_CLASSES]:
                kind -= 1
        elif members <= limits.warp_members:
            kind = 3
        elif edges <= limits.small_edges and words <= limits.small_words:
            kind = 2
        elif edges <= limits.block_edges and words <= limits.block_words:
            kind = 1
        keys[x] = (int64(kind + 1) << 56) - edges - members
        cuda.atomic.add(local, (kind * PER_CLASS, copy), 1)
        cuda.atomic.max(local, (kind * PER_CLASS + 1, copy), members)
        cuda.atomic.max(local, (kind * PER_CLASS + 2, copy), edges)
        cuda.atomic.max(local, (kind * PER_CLASS + 3, copy), words)
    cuda.syncthreads()
    for x in range(tid, CLASS_TABLE, block_size):
        total, largest = int64(0), int64(0)
        for c in range(COPIES):
            total += local[x, c]
            largest = max(largest, local[x, c])
        if x % PER_CLASS == 0:
            cuda.atomic.add(classes, x, total)
        else:
            cuda.atomic.max(classes, x, largest)
