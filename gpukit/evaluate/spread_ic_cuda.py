"""Independent cascades on GPUs (Numba CUDA), many side by side: ``ic_runs`` of ``spread_cpu.py``.

A vertex has a bit for each run, so that what is read of a row serves all runs that come to it in the same level of the
search: the edges may lie in host memory, which is read through the bus.
"""

from typing import Any, NamedTuple

from numba import cuda, int64, types, uint64

from gpukit.device.compiled import kernel
from gpukit.device.philox import draw4
from gpukit.evaluate.plan import Stages

MEMBERS = 8
"""Threads of a team, which share a piece of a row: its edges in groups of four."""

REGISTERS = 64

PIECE = 256
"""Edges of a row, at most, that a team takes at a time."""

WORD, WORDS = 64, 16
"""Runs whose state of a vertex is one word, and such words at most."""

RUNS = WORD * WORDS
"""Runs that a launch takes side by side at most."""

LISTED, PIECES, CONTROL = 0, 3, 6
"""Places in ``control``, for three levels in turn: vertices that are activated in a level, and pieces of their rows;
its length."""


class OutEdges(NamedTuple):
    """The out-edges, as the kernel of the independent cascade reads them.

    Attributes
    ----------
    indptr, indices
        As in :class:`gpukit.evaluate.plan.IcEdges`.
    thresholds : uint32 array, shape (n,) or (m,)
        Probability, minus one, of all edges into a vertex, where they are equal, or of each edge.
    by_head : bool
        Which of the two.
    """

    indptr: Any
    indices: Any
    thresholds: Any
    by_head: Any


class Front(NamedTuple):
    """What runs keep that go side by side, a bit for each run in each word.

    Attributes
    ----------
    active : uint64 array, shape (n, words)
        The runs of this round in which a vertex is active.
    fresh : uint64 array, shape (2, n, words)
        Those in which it is activated in a level, of even and of odd levels; zero before and after.
    seen : uint64 array, shape (n, words), or (1, words) where there is one round
        Those in which it was active in any round.
    marks : int32 array, shape (n,)
        The last level that lists a vertex.
    lists : int32 array, shape (2, n)
        Vertices that are activated in some run in a level, of even and of odd levels.
    pieces : int64 array, shape (n + m // PIECE,)
        Number << 32 | vertex of the pieces of their rows.
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


@cuda.jit(device=True)
def _list(front, level, v):
    """List a vertex among those that are activated in a level; once, whoever asks for it."""
    if front.marks[v] != level and cuda.atomic.exch(front.marks, v, level) != level:
        front.lists[level & 1, cuda.atomic.add(front.control, LISTED + level % 3, 1)] = v


@cuda.jit(device=True)
def _seed(front, level, v, runs):
    """Have a seed activated in those of ``runs`` runs in which it is not active."""
    for word in range((runs + WORD - 1) // WORD):
        fresh = ~uint64(0) >> uint64(WORD - min(runs - WORD * word, int64(WORD)))
        fresh &= ~front.active[v, word]
        if fresh:
            front.fresh[level & 1, v, word] = fresh
            _list(front, level, v)


@cuda.jit(device=True)
def _activate(front, level, v, indptr, targets, rounds, totals):
    """Note the runs in which a vertex is activated, what it counts in them, and the pieces of its row."""
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


@cuda.jit(device=True)
def _reach(front, level, v, word, live):
    """Have v activated in the next level in those of these runs in which it is not active."""
    if live:
        live &= ~front.active[v, word]
        if live:
            cuda.atomic.or_(front.fresh, ((level + 1) & 1, v, word), live)
            _list(front, level + 1, v)


@cuda.jit(device=True)
def _draw(front, level, u, call, edges, seed, round_tag, first):
    """Draw four coins of u, or those that are left, in each run that activated it, and reach the heads of live edges.

    The edges are read once for all runs.
    """
    indptr, indices, thresholds, by_head = edges
    start, last = indptr[u] + 4 * call, indptr[u + 1] - 1
    e1, e2, e3 = min(start + 1, last), min(start + 2, last), min(start + 3, last)
    v0, v1, v2, v3 = int64(indices[start]), int64(indices[e1]), int64(indices[e2]), int64(indices[e3])
    t0, t1 = thresholds[v0 if by_head else start], thresholds[v1 if by_head else e1]
    t2, t3 = thresholds[v2 if by_head else e2], thresholds[v3 if by_head else e3]
    width, none = last - start + 1, uint64(0)
    for word in range(front.active.shape[1]):
        fresh = front.fresh[level & 1, u, word]
        live0, live1, live2, live3 = none, none, none, none
        while fresh:
            bit = fresh & (~fresh + uint64(1))
            run = first + WORD * word + cuda.popc(bit - uint64(1))
            fresh ^= bit
            w0, w1, w2, w3 = draw4(seed, round_tag, run, u, call)
            live0 |= bit if w0 <= t0 else none
            live1 |= bit if w1 <= t1 else none
            live2 |= bit if w2 <= t2 else none
            live3 |= bit if w3 <= t3 else none
        _reach(front, level, v0, word, live0)
        _reach(front, level, v1, word, live1 if width > 1 else none)
        _reach(front, level, v2, word, live2 if width > 2 else none)
        _reach(front, level, v3, word, live3 if width > 3 else none)


@kernel(max_registers=REGISTERS)
def ic_runs(edges, stages, seed, tag, first, front, values):
    """Run the independent cascades first … first + len(values) - 1, all side by side; cooperative, any grid.

    Level by level, for all runs together, so that a row is read once a level whatever the runs in which its vertex was
    activated. A team of ``MEMBERS`` threads owns a piece of a row; a thread reads four edges, makes a Philox call for
    each of these runs, and adds the runs in which an edge is live to its head with one atomic operation a word. Then a
    thread owns a vertex that was activated, counts it in each run, and lists the pieces of its row. Cost: one call for
    four out-edges of each activated vertex, 4 or 8 bytes read for an edge and level, 8 a vertex and word to clear a
    round.

    Parameters
    ----------
    edges : OutEdges
    stages, seed, tag, first
        As on the CPU (:func:`gpukit.evaluate.spread_cpu.ic_runs`).
    front : Front
    values : int64 array, shape (runs, stages)
        As on the CPU, of at most ``RUNS`` runs; zero at the start.
    """
    grid = cuda.cg.this_grid()
    totals = cuda.shared.array(RUNS, int64)
    rank, members = cuda.grid(1), cuda.gridsize(1)
    team, teams = rank // MEMBERS, members // MEMBERS
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
    for stage in range(len(stage_rounds)):
        if stage == 0 or stage_rounds[stage] != stage_rounds[stage - 1]:
            for j in range(rank, n * words, members):
                front.active[j // words, j % words] = 0
        grid.sync()
        round_tag = tag + (stage_rounds[stage] << 8)
        for j in range(stage_starts[stage] + rank, stage_starts[stage + 1], members):
            _seed(front, level, int64(seeds[j]), runs)
        # Level by level until the spreads run dry.
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
            for j in range(team, control[PIECES + level % 3], teams):
                u, call = front.pieces[j] & 0xFFFFFFFF, (front.pieces[j] >> 32) * (PIECE // 4)
                last = min(call + PIECE // 4, (indptr[u + 1] - indptr[u] + 3) >> 2)
                for i in range(call + rank % MEMBERS, last, MEMBERS):
                    _draw(front, level, u, i, edges, seed, round_tag, first)
            level += 1
        for j in range(cuda.threadIdx.x, runs, cuda.blockDim.x):
            if totals[j] > 0:
                cuda.atomic.add(values, (j, stage), totals[j])


_i64, _i32, _u32 = types.int64[::1], types.int32[::1], types.uint32[::1]
_words, _lists = types.uint64[:, ::1], types.int32[:, ::1]

KERNELS = {
    "ic_runs": (
        ic_runs,
        (
            types.NamedTuple((_i64, _i32, _u32, types.boolean), OutEdges),
            types.NamedTuple((_i64, _i32, _i64, _i64), Stages),
            types.uint64, types.int64, types.int64,
            types.NamedTuple((_words, types.uint64[:, :, ::1], _words, _i32, _lists, _i64, _i64), Front),
            types.int64[:, ::1],
        ),
    ),
}  # fmt: skip
"""Every kernel with the types of the arguments it is launched with."""
