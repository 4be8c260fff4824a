"""The kernel of a query on a GPU: the answers of ``query_cpu.py``, to the bit, from source to list in one launch.

A *team* of blocks (``team_cuda.py``) answers a query from its first push to its answer and takes the next one: all
blocks together for one query at a time, or a few blocks each for many at once. Pushes, walks forward and start lists
are *sweeps* over the rows of a list of vertices, split into tiles of equal length whatever the rows' lengths.
"""

import numba
from numba import cuda, int32, int64, types, uint32

from gpukit.device.arrays import Absent
from gpukit.device.compiled import kernel
from gpukit.kpar import lists_cuda as lists
from gpukit.kpar import team_cuda as teams
from gpukit.kpar.estimate_cuda import estimate, forget_walked, propose
from gpukit.kpar.groups import Asked, Edges, Stopped, Tails, Threshold, Walks
from gpukit.kpar.problem import ONE
from gpukit.kpar.push_cuda import Ways, push
from gpukit.kpar.refine_cuda import settle
from gpukit.kpar.select_cuda import IDS, KEYS
from gpukit.kpar.stop_cuda import refused_at
from gpukit.kpar.team_cuda import POOL, PREFIX_SUMS, SMALL, STAGE
from gpukit.kpar.together_cuda import Progress, Space, gather_together, resume, suspend

REGISTERS = 64
"""Registers a thread may take: two blocks of 512 threads on a multiprocessor."""

TRACED = 9
"""Columns of a trace (:data:`gpukit.kpar.problem.TRACE`)."""

NUMBER = 0
"""Counter: the query that a team takes next."""


@cuda.jit(device=True)
def begin(q, sources, queries, slot, team):
    """Give the sources of a query their mass, and make them the frontier; returns how many there are."""
    rank, members = team.block * cuda.blockDim.x + cuda.threadIdx.x, team.blocks * cuda.blockDim.x
    size = sources[q + 1] - sources[q]
    first_vertex = queries + 1 + sources[q]
    first_mass = first_vertex + sources[queries]
    i = rank
    while i < size:
        v = sources[first_vertex + i]
        slot.residue[v] = sources[first_mass + i]
        cuda.atomic.or_(slot.marks, v >> 5, uint32(1) << uint32(v & 31))
        slot.frontier[i] = v
        i += members
    return size


@cuda.jit(device=True)
def leave_clean(span, dense, slot, team):
    """Set what a query wrote to zero again."""
    rank, members = team.block * cuda.blockDim.x + cuda.threadIdx.x, team.blocks * cuda.blockDim.x
    j = rank
    while j < span:
        v = j if dense else int64(slot.touched[j])
        slot.residue[v] = 0
        slot.reserve[v] = 0
        slot.unit[v] = 0
        slot.marks[v >> 5] = 0
        j += members


# whole: the loop over rounds of algorithm 3; what is left shares a dozen values that change in every phase
@kernel(max_registers=REGISTERS)
def answer(among, edges, chances, walks, into, sources, queries, blocks, together, asked, ways, space, out):
    """Answer queries; cooperative, ``blocks`` blocks of at most 512 threads (a power of two) a query.

    Parameters
    ----------
    among, edges, chances, walks, asked
        As in :func:`gpukit.kpar.query_cpu.answer`; compiled anew where ``among`` or ``chances`` are None.
    into : gpukit.kpar.groups.Tails
        The in-edges, by which answers are refined; empty where they are not to be.
    sources : int64 array
        The queries, packed: where each begins and where the last one ends (counted from the first vertex), then all
        vertices, then their mass.
    queries : int
    blocks : int
        Blocks of a team; the grid is a multiple of it.
    together : int
        Slots of a team: TOGETHER, for queries whose start lists are read together (``together_cuda.py``), or 1.
    ways : Ways
        How frontiers are collected, and whether rows are split into tiles; otherwise a thread takes a whole row.
    space : Space
        ``long``, int64 (teams * together, LONG_ROWS, n), is zero at the start and at the end in its first four rows;
        ``short`` is int32 (teams * together, SHORT_ROWS, n); ``top`` int64 (teams, TOP_ROWS, power of two ≥ k, or
        k + CONTENDERS / 2 with ``into``); ``control`` int64 (1 + teams * CONTROL,), zero at the start, its first place
        counts queries taken; ``quads`` int64 (teams, n * together), not read where ``together`` is 1; ``marks`` uint32
        (teams * together, ⌈n / 32⌉), zero at the start and at the end.
    out : int64 array, shape (queries, 2 + steps * TRACED + 2 k), or 3 k with ``into``
        Receives length, number of steps, the trace, scores, vertices and which are certain of each answer.

    Notes
    -----
    A round takes two phases (take residues, push), a step about eleven more. An edge pushed costs 4 bytes read (20
    along weighted edges, 8 of them read a moment before) and an 8-byte atomic add; an entry of the index 4 bytes and an
    8-byte read, forward 8 bytes and an atomic add. Passes over vertices read the list of those met, or all where more
    than a quarter was met.

    With several slots a query that needs start lists is suspended at its first test, once its candidates are known.
    When it is resumed, with their scores, it goes on alone.

    The steps that stand here in full would be compiled to another order of instructions as functions of their own.
    """
    cuda.cg.this_grid().sync()
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    number, block = cuda.blockIdx.x // blocks, cuda.blockIdx.x % blocks
    rank, members = block * block_size + tid, blocks * block_size
    memory = teams.Memory(
        pool=cuda.shared.array(POOL, int64),
        sums=cuda.shared.array(PREFIX_SUMS, int64),
        stage=cuda.shared.array(STAGE, int32),
        other_stage=cuda.shared.array(STAGE, int32),
        small=cuda.shared.array(SMALL, int32),
    )
    team = teams.Team(space.control, 1 + number * teams.CONTROL, block, blocks, memory)
    control, best_keys, best_ids = space.control, space.top[number, KEYS], space.top[number, IDS]
    n, steps = len(edges.indptr) - 1, len(asked.rhos)
    long, short = space.long, space.short
    teams.clear(memory.small)
    phase, turn = int64(1), 0
    # Queries suspended, how many of these were resumed, and whether none is left to take.
    waiting, resumed, over = 0, 0, False
    while True:
        fresh = waiting < together and not over
        if not fresh and waiting == 0:
            break
        place = waiting if fresh else resumed
        own = number * together + place
        residue, reserve = long[own, teams.RESIDUE], long[own, teams.RESERVE]
        unit, walked = long[own, teams.UNIT], long[own, teams.WALKED]
        scores, limits = long[own, teams.SCORES], long[own, teams.LIMITS]
        spare, room = long[own, teams.SPARE], long[own, teams.ROOM]
        touched, candidates = short[own, teams.TOUCHED], short[own, teams.CANDIDATES]
        frontier, upcoming = short[own, teams.FRONTIER], short[own, teams.UPCOMING]
        slot = teams.Slot(
            residue, reserve, unit, walked, scores, limits, spare, room, touched, candidates, frontier, upcoming,
            space.marks[own],
        )  # fmt: skip
        if fresh:
            # Lines 2 to 5 of algorithm 3: the sources have all mass, and are the first frontier.
            phase = teams.team_barrier(team, phase)
            at = teams.counters(team, phase)
            if rank == 0:
                control[at + NUMBER] = cuda.atomic.add(control, 0, 1)
            phase = teams.team_barrier(team, phase)
            q = control[at + NUMBER]
            if q >= queries:
                over = True
                continue
            size = begin(q, sources, queries, slot, team)
            phase = teams.team_barrier(team, phase)
            count_met, listed, dense, span = int64(0), True, False, int64(0)
            count, least_reserve, step, worked, exact = int64(0), int64(0), int64(0), int64(0), False
        else:
            if resumed == 0:
                phase = gather_together(space, number, waiting, edges.one_minus_alpha, walks, team, phase)
            resumed += 1
            q, count_met, listed, count, least_reserve, step, worked, exact = resume(team, place)
            dense = not listed or count_met > n >> 2
            span = n if dense else count_met
        scored, waits, refused, forward, reached = not fresh, False, int64(-1), False, int64(0)
        while refused != 0:
            row = 2 + step * TRACED
            tested, final = True, exact or step == steps - 1
            if not scored:
                threshold = Threshold(asked.rhos[step], int64(ONE) // asked.rhos[step])
                # Line 26: the frontier under the new thresholds.
                if step > 0:
                    lists.collect_frontier(
                        teams.Met(span, dense), slot, walks.counts, threshold, slot.frontier, team, phase
                    )
                    at = teams.counters(team, phase)
                    phase = teams.team_barrier(team, phase)
                    size = control[at + lists.LIFTED]
                # Line 7: no residue is above its threshold afterwards.
                listed, rounds, pushed, pushed_along, phase = push(
                    frontier, upcoming, size, listed, ways, edges, chances, walks, slot, threshold, team, phase
                )
                if listed:
                    at = teams.counters(team, phase)
                    lists.list_met(slot, team, phase)
                    phase = teams.team_barrier(team, phase)
                    count_met = control[at + lists.IN_ALL]
                dense = not listed or count_met > n >> 2
                span = n if dense else count_met
                at = teams.counters(team, phase)
                lists.value_walks(teams.Met(span, dense), slot, walks, max(least_reserve, int64(1)), among, team, phase)
                phase = teams.team_barrier(team, phase)
                carriers, large = control[at + lists.CARRIERS], control[at + lists.LARGE]
                forward_cost, seen = control[at + lists.FORWARD_ENTRIES], control[at + lists.SEEN]
                exact = control[at + lists.RESIDUE_LEFT] == 0
                final = exact or step == steps - 1
                worked += pushed_along
                tested = final or worked >= asked.patience[step]
                count, entries, reached, forward = int64(0), int64(0), int64(0), False
                # Line 8: whoever is no candidate is not among the k best.
                if tested:
                    least_reserve, count, entries, phase, turn = propose(
                        large, asked.k, teams.Met(span, dense), walks, slot, threshold, among, team, phase, turn
                    )
                    forward = walks.light or least_reserve == 0 or forward_cost < entries
                    if forward:
                        entries = forward_cost
                if rank == 0:
                    out[q, row], out[q, row + 1], out[q, row + 2], out[q, row + 3] = step, rounds, pushed, pushed_along
                    out[q, row + 4], out[q, row + 6], out[q, row + 7] = seen, entries, int64(forward)
                waits = tested and fresh and together > 1 and not forward
                if waits:
                    break
                # Lines 9 to 13: the candidates' scores.
                if tested:
                    count, reached, phase = estimate(
                        forward, least_reserve, (count, carriers), teams.Met(span, dense), edges, chances, walks, slot,
                        threshold, among, ways.tiled_estimate, team, phase,
                    )  # fmt: skip
            # Lines 14 to 23: bounds, and whether they allow to stop.
            refused = int64(-1)
            if tested:
                refused, phase, turn = refused_at(
                    step, final, count, least_reserve, slot, asked, space.top[number], team, phase, turn
                )
                if refused == 0 and count > 0 and len(into.begin) > 0:
                    phase, turn = settle(
                        Stopped(step, count, least_reserve, worked, final, exact, forward), edges, chances, walks, into,
                        asked, slot, space.top[number], ways.tiled_estimate,
                        out[q, 2 + steps * TRACED + 2 * asked.k :], team, phase, turn,
                    )  # fmt: skip
                forget_walked(reached, slot, team)
            if rank == 0:
                out[q, row + 5], out[q, row + 8] = count, refused
            step += 1
            scored = False
        if waits:
            if rank == 0:
                suspend(team, place, Progress(q, count_met, listed, count, least_reserve, step, worked, exact))
            waiting += 1
            continue
        length = min(int64(asked.k), count)
        if rank == 0:
            out[q, 0], out[q, 1] = length, step
        row = 2 + steps * TRACED
        i = rank
        while i < length:
            out[q, row + i], out[q, row + asked.k + i] = best_keys[i], best_ids[i]
            i += members
        leave_clean(span, dense, slot, team)
        if resumed == waiting:
            waiting = resumed = 0


_i32, _i64, _u32 = numba.int32[::1], numba.int64[::1], numba.uint32[::1]
_int, _seed, _float, _flag = numba.int64, numba.uint64, numba.float64, numba.boolean
_long, _none = numba.int64[:, :, ::1], Absent.kind

_ARGUMENTS = (
    types.NamedTuple((_i64, _i32, _seed), Edges),
    _none,
    types.NamedTuple((_i64, _i32, _u32, _i64, _i32, _i64, _u32, _u32, _i64, _i32, _flag, _seed, _int), Walks),
    types.NamedTuple((_i64, _i32, _i64), Tails),
    _i64, _int, _int, _int,
    types.NamedTuple((_int, _i64, numba.float64[:, ::1], _i64, _float, _float), Asked),
    types.NamedTuple((_int, _flag, _flag), Ways),
    types.NamedTuple((_long, numba.int32[:, :, ::1], _long, _i64, numba.int64[:, ::1], numba.uint32[:, ::1]), Space),
    numba.int64[:, ::1],
)  # fmt: skip

KERNELS = {
    "answer": (answer, (_none, *_ARGUMENTS)),
    "answer_weighted_among": (
        answer,
        (numba.boolean[::1], _ARGUMENTS[0], numba.uint64[::1], *_ARGUMENTS[2:]),
    ),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
