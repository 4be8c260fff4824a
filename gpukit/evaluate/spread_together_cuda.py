"""Many concurrent independent cascades on GPUs (Numba CUDA): the values of ``ic_runs`` of ``spread_cpu.py``.

A vertex has one bit for each run. So one read of a row serves all runs that reach its vertex in the same level of the
search. This helps for long rows, and for edges in host memory, which are read through the bus.
"""

from typing import Any, NamedTuple

from numba import int32, int64, uint32, uint64

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.philox import draw4
from gpukit.device.select import simulated
from gpukit.evaluate.plan import Stages

THREADS, REGISTERS = 128, 64
"""Most threads of a block, and the most registers per thread."""

STAGE = 4 * THREADS
"""Edges that a block holds in shared memory."""

PIECE = 256
"""Most edges of a row that a team processes at a time."""

WORD, WORDS = 64, 16
"""Runs whose state of a vertex is one word, and the most words."""

RUNS = WORD * WORDS
"""Most concurrent runs of a launch."""

LISTED, PIECES, CONTROL = 0, 3, 6
"""Places in ``control``, each for three levels in rotation: the number of vertices activated in a level, and the number
of pieces of their rows; its length."""


class OutEdges(NamedTuple):
    """The out-edges, as the kernel of the independent cascade reads them.

    Attributes
    ----------
    indptr : int64 array, shape (n + 1,)
    indices : int32 array, shape (m,)
    thresholds : uint32 array, shape (n,) or (m,)
        Probability, minus one, of each edge; or, if equal for all edges into a vertex, of each vertex.
    by_head : bool
        Whether ``thresholds`` has one entry per vertex.
    """

    indptr: Any
    indices: Any
    thresholds: Any
    by_head: Any


class Team(NamedTuple):
    """The threads that read a row together: their number, this thread's rank, its part of the stage, its lane mask."""

    size: Any
    rank: Any
    base: Any
    mask: Any


class Stage(NamedTuple):
    """Heads and thresholds of the edges that a block has loaded, in shared memory."""

    heads: Any
    thresholds: Any


class Coins(NamedTuple):
    """The key of the draws of a round, and the id of the first run."""

    seed: Any
    tag: Any
    first: Any


class Front(NamedTuple):
    """State of concurrent runs; each word has a bit for each run.

    Attributes
    ----------
    active : uint64 array, shape (n, words)
        The runs of this round in which a vertex is active.
    fresh : uint64 array, shape (2, n, words)
        The runs in which a vertex is activated in a level, for even and for odd levels; zero before and after.
    seen : uint64 array, shape (n, words), or (1, words) where there is one round
        The runs in which a vertex was active in any round.
    marks : int32 array, shape (n,)
        The last level whose list contains a vertex.
    lists : int32 array, shape (2, n)
        Vertices that are activated in some run in a level, for even and for odd levels.
    pieces : int64 array, shape (n + m // PIECE,)
        Number << 32 | vertex of each piece of their rows.
    control : int64 array, shape (CONTROL,)
        Zero at the start.
    """

    active: Any
    fresh: Any
    seen: Any
    marks: Any
    lists: Any
    pieces: Any
    control: Any


if simulated():

    @device
    def team_fence(mask):
        """Do nothing: a team is one thread."""

else:

    @device
    def team_fence(mask):
        """Make the writes of a team's threads visible to all of them."""
        cuda.syncwarp(mask)


@device
def _list(front, level, v):
    """Add a vertex to the list of a level, once, however many threads call this."""
    if front.marks[v] != level and cuda.atomic.exch(front.marks, v, level) != level:
        front.lists[level & 1, cuda.atomic.add(front.control, LISTED + level % 3, 1)] = v


@device
def _seed(front, level, v, runs):
    """Activate a seed in those of the first ``runs`` runs in which it is not active."""
    for word in range((runs + WORD - 1) // WORD):
        fresh = ~uint64(0) >> uint64(WORD - min(runs - WORD * word, int64(WORD)))
        fresh &= ~front.active[v, word]
        if fresh:
            front.fresh[level & 1, v, word] = fresh
            _list(front, level, v)


@device
def _activate(front, level, v, indptr, targets, rounds, totals):
    """Record the runs in which a vertex is activated, add its weight to their totals, and list pieces of its row."""
    for word in range(front.active.shape[1]):
        fresh = front.fresh[level & 1, v, word]
        if fresh:
            front.active[v, word] |= fresh
            if rounds > 1:
                before = front.seen[v, word]
                front.seen[v, word] = before | fresh
                fresh &= ~before
            while fresh:
                bit = fresh & (~fresh + uint64(1))
                cuda.atomic.add(totals, WORD * word + cuda.popc(bit - uint64(1)), targets[v] if len(targets) else 1)
                fresh ^= bit
    count = (indptr[v + 1] - indptr[v] + PIECE - 1) // PIECE
    if count > 0:
        place = cuda.atomic.add(front.control, PIECES + level % 3, count)
        for i in range(count):
            front.pieces[place + i] = i << 32 | v


@device
def _reach(front, level, v, word, live):
    """Activate v in the next level, in those runs of ``live`` in which it is not active."""
    if live:
        live &= ~front.active[v, word]
        if live:
            cuda.atomic.or_(front.fresh, ((level + 1) & 1, v, word), live)
            _list(front, level + 1, v)


@device
def _read(edges, first, last, team, stage):
    """Load the edges first … last - 1 into the stage, four per thread of the team; the last edge is repeated.

    Neighbouring threads read neighbouring edges.
    """
    for k in range(4):
        own = k * team.size + team.rank
        edge = min(first + own, last - 1)
        v = edges.indices[edge]
        stage.heads[team.base + own] = v
        stage.thresholds[team.base + own] = edges.thresholds[int64(v) if edges.by_head else edge]
    team_fence(team.mask)


@device
def _draw(front, level, u, call, width, place, stage, coins):
    """Draw the coins of up to four edges of u in each run that activated it, and activate the heads of live edges."""
    heads, thresholds = stage.heads, stage.thresholds
    t0, t1, t2, t3 = thresholds[place], thresholds[place + 1], thresholds[place + 2], thresholds[place + 3]
    none = uint64(0)
    for word in range(front.active.shape[1]):
        fresh = front.fresh[level & 1, u, word]
        if fresh:
            live0, live1, live2, live3 = none, none, none, none
            # The threads of a team have the same runs; their edges are read once for all of these runs.
            while fresh:
                bit = fresh & (~fresh + uint64(1))
                run = coins.first + WORD * word + cuda.popc(bit - uint64(1))
                fresh ^= bit
                w0, w1, w2, w3 = draw4(coins.seed, coins.tag, run, u, call)
                live0 |= bit if w0 <= t0 else none
                live1 |= bit if w1 <= t1 else none
                live2 |= bit if w2 <= t2 else none
                live3 |= bit if w3 <= t3 else none
            _reach(front, level, int64(heads[place]), word, live0)
            _reach(front, level, int64(heads[place + 1]), word, live1 if width > 1 else none)
            _reach(front, level, int64(heads[place + 2]), word, live2 if width > 2 else none)
            _reach(front, level, int64(heads[place + 3]), word, live3 if width > 3 else none)


_i64, _i32, _u32 = "int64[::1]", "int32[::1]", "uint32[::1]"
_words, _lists = "uint64[:, ::1]", "int32[:, ::1]"


@kernel(
    (
        group(OutEdges, _i64, _i32, _u32, "boolean"),
        group(Stages, _i64, _i32, _i64, _i64),
        "uint64",
        "int64",
        "int64",
        "int64",
        group(Front, _words, "uint64[:, :, ::1]", _words, _i32, _lists, _i64, _i64),
        "int64[:, ::1]",
    ),
    max_registers=REGISTERS,
)
def ic_together(edges, stages, seed, tag, first, size, front, values):
    """Run the independent cascades first … first + len(values) - 1, all concurrently; cooperative, any grid.

    The runs advance level by level together, so a row is read once per level, in however many runs its vertex was
    activated. A team of ``size`` threads owns a piece of a row and reads neighbouring edges together. Then each thread
    owns four edges. It makes a Philox call for each run that activated the vertex, and adds the runs in which an edge
    is live to its head with one atomic operation per word. In the next level, a thread owns an activated vertex, counts
    it in each run, and lists the pieces of its row.

    Cost: one call for four out-edges of each activated vertex; 4 or 8 bytes read per edge and level; 8 bytes per vertex
    and word to clear a round.

    Parameters
    ----------
    edges : OutEdges
    stages, seed, tag, first
        As on the CPU (:func:`gpukit.evaluate.spread_cpu.ic_runs`).
    size : int
        Threads of a team, a power of two up to 32; 1 in the simulator.
    front : Front
    values : int64 array, shape (runs, stages)
        As on the CPU, of at most ``RUNS`` runs; zero at the start.
    """
    grid = cuda.cg.this_grid()
    totals = cuda.shared.array(RUNS, int64)
    rank, members = cuda.grid(1), cuda.gridsize(1)
    lane = cuda.threadIdx.x & 31
    mask = uint32(0xFFFFFFFF) >> uint32(32 - size) << uint32(lane - lane % size)
    team = Team(size, rank % size, 4 * (cuda.threadIdx.x - rank % size), mask)
    # One line per array: the simulator tells shared arrays apart by the line that creates them.
    stage = Stage(
        cuda.shared.array(STAGE, int32),
        cuda.shared.array(STAGE, uint32),
    )
    indptr = edges.indptr
    targets, seeds, stage_starts, stage_rounds = stages
    n, runs, words, control = len(indptr) - 1, len(values), front.active.shape[1], front.control
    rounds = stage_rounds[len(stage_rounds) - 1] + 1
    for j in range(cuda.threadIdx.x, RUNS, cuda.blockDim.x):
        totals[j] = 0
    for v in range(rank, n, members):
        front.marks[v] = -1
        for word in range(words if rounds > 1 else 0):
            front.seen[v, word] = 0
    level = 0
    for number in range(len(stage_rounds)):
        if number == 0 or stage_rounds[number] != stage_rounds[number - 1]:
            for j in range(rank, n * words, members):
                front.active[j // words, j % words] = 0
        grid.sync()
        coins = Coins(seed, tag + (stage_rounds[number] << 8), first)
        for j in range(stage_starts[number] + rank, stage_starts[number + 1], members):
            _seed(front, level, int64(seeds[j]), runs)
        # Level by level until no vertex is activated.
        listed = int64(1)
        while listed > 0:
            grid.sync()
            listed, left = control[LISTED + level % 3], control[LISTED + (level + 2) % 3]
            if rank == 0:
                control[LISTED + (level + 1) % 3] = 0
                control[PIECES + (level + 1) % 3] = 0
            for j in range(rank, left, members):
                v = int64(front.lists[(level + 1) & 1, j])
                for word in range(words):
                    front.fresh[(level + 1) & 1, v, word] = 0
            for j in range(rank, listed, members):
                _activate(front, level, int64(front.lists[level & 1, j]), indptr, targets, rounds, totals)
            grid.sync()
            for j in range(rank // size, control[PIECES + level % 3], members // size):
                u, at = front.pieces[j] & 0xFFFFFFFF, (front.pieces[j] >> 32) * PIECE
                start, degree = indptr[u], indptr[u + 1] - indptr[u]
                for i in range(at, min(at + PIECE, degree), 4 * size):
                    _read(edges, start + i, start + degree, team, stage)
                    own = i + 4 * team.rank
                    if own < degree:
                        _draw(front, level, u, own >> 2, degree - own, team.base + 4 * team.rank, stage, coins)
                    team_fence(team.mask)
            level += 1
        for j in range(cuda.threadIdx.x, runs, cuda.blockDim.x):
            if totals[j] > 0:
                cuda.atomic.add(values, (j, number), totals[j])
