"""The kernel of a query on a GPU: the answers of ``answer_cpu.py``, bit for bit, from source to list in one launch.

A *team* of blocks (``team_cuda.py``) answers a query from its first push to its answer and then takes the next query.
Either all blocks work on one query at a time, or a few blocks each on many queries at once. Pushes, forward walks and
start lists are *sweeps* over the rows of a list of vertices, split into tiles of equal length whatever the rows'
lengths.
"""

from itertools import product

from numba import int64, uint32

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.kpar.batch import push_cuda as batched
from gpukit.kpar.groups import InEdges, Request, Stop
from gpukit.kpar.query import lists_cuda as lists
from gpukit.kpar.query import team_cuda as teams
from gpukit.kpar.query.estimate_cuda import estimate, forget_walked, propose
from gpukit.kpar.query.push_cuda import push
from gpukit.kpar.query.refine_cuda import finish
from gpukit.kpar.query.select_cuda import IDS, KEYS
from gpukit.kpar.query.stop_cuda import refused_at
from gpukit.kpar.query.team_cuda import TEAM_ARRAYS
from gpukit.kpar.rule import goes_forward, threshold_of

REGISTERS = 64
"""Most registers per thread: two blocks of 512 threads fit on a multiprocessor."""

TRACED = 9
"""Columns of a trace (:data:`gpukit.kpar.problem.TRACE`)."""

NUMBER = 0
"""Counter: the next query of a team."""


@device
def leave_clean(met, slot, team):
    """Reset everything that a query wrote to zero."""
    rank, members = team.block * cuda.blockDim.x + cuda.threadIdx.x, team.blocks * cuda.blockDim.x
    j = rank
    while j < met.span:
        v = teams.met_vertex(met, slot.touched, j)
        slot.residue[v] = 0
        slot.reserve[v] = 0
        slot.unit[v] = 0
        slot.marks[v >> 5] = 0
        j += members


@device
def mark_all(slot, team):
    """Mark all vertices as met."""
    j = team.block * cuda.blockDim.x + cuda.threadIdx.x
    while j < len(slot.marks):
        slot.marks[j] = uint32(0xFFFFFFFF)
        j += team.blocks * cuda.blockDim.x


_i32, _i64 = "int32[::1]", "int64[::1]"
_int, _float = "int64", "float64"
REST = (
    batched.WALKS, group(InEdges, _i64, _i32, _i64), _i64, _int, _int, _int,
    group(Request, _int, _i64, "float64[:, ::1]", _i64, _float, _float), TEAM_ARRAYS,
    "int64[:, ::1]",
)  # fmt: skip
"""Types of the arguments of :func:`answer` from ``walks`` on."""

_FORMS = tuple(product((None, "boolean[::1]"), (None, "uint64[::1]")))


# whole: the loop over rounds of algorithm 3; its parts share a dozen values that change in every phase
@kernel(*((among, batched.EDGES, chances, *REST) for among, chances in _FORMS), max_registers=REGISTERS)
def answer(among, edges, chances, walks, in_edges, sources, queries, first, blocks, request, space, out):
    """Answer queries; cooperative, ``blocks`` blocks of at most 512 threads (a power of two) per query.

    Parameters
    ----------
    among, edges, chances, walks, request
        As in :func:`gpukit.kpar.query.answer_cpu.answer`; compiled separately for each combination of None.
    in_edges : gpukit.kpar.groups.InEdges
        The in-edges that serve to refine answers; empty if answers are not refined.
    sources : int64 array
        The queries, packed: where each begins and where the last one ends (relative to the first vertex), then all
        vertices, then their mass.
    queries : int
    first : int
        The query in the first slot, if queries were begun before (``batch/push_cuda.py``); the next slots follow.
    blocks : int
        Blocks of a team; the grid is a multiple of it.
    space : TeamArrays
        Working space. ``long``, int64 (slots, LONG_ROWS, n), is zero at the start, except for queries that were begun.
        Its first three rows are zero at the end, or :func:`gpukit.kpar.batch.push_cuda.clean_all` resets them.
        ``short`` is int32 (slots, SHORT_ROWS, n). ``top`` is int64 (teams, TOP_ROWS, power of two ≥ k, or k +
        CONTENDERS / 2 with ``in_edges``). ``control`` is int64 (1 + teams * CONTROL,), zero at the start; its first
        place counts queries taken. ``marks`` is uint32 (slots, ⌈n / 32⌉) and ``units`` uint16 (slots, n), zero like
        ``long``. Each team has one slot, unless ``states``, int64 (slots, STATE_WORDS), has rows. In that case
        ``pairs``, uint32 (n * PAIRS,), is working space for the interleaved units of a group.
    out : int64 array, shape (queries, 2 + steps * TRACED + 2 k), or 3 k with ``in_edges``
        Receives the length, the number of steps, the trace, the scores, the vertices and the certainty flags of each
        answer.

    Notes
    -----
    A round takes two phases (take residues, push), a step about eleven more. A pushed edge costs 4 bytes read (20 along
    weighted edges, 8 of which were read shortly before) and an 8-byte atomic add. An index entry costs 4 bytes and an
    8-byte read; forward, 8 bytes and an atomic add. Passes over vertices read the list of those met, or all vertices if
    more than a quarter was met.

    A query that was begun before this launch has already pushed. If it reads start lists, its scores are known as well
    (``starts_cuda.py``). If it may not stop yet, its team continues it.

    Steps that are written out here would be compiled to another order of instructions as separate functions.
    """
    cuda.cg.this_grid().sync()
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    number, block = cuda.blockIdx.x // blocks, cuda.blockIdx.x % blocks
    rank, members = block * block_size + tid, blocks * block_size
    memory = teams.block_memory()
    team = teams.Team(space.control, 1 + number * teams.CONTROL, block, blocks, memory)
    control, best_keys, best_ids = space.control, space.top[number, KEYS], space.top[number, IDS]
    n, steps = len(edges.indptr) - 1, len(request.rhos)
    begun = len(space.states) > 0
    teams.clear(memory.small)
    cuda.syncthreads()
    phase, parity, taken = int64(1), 0, int64(0)
    while True:
        slot_id, q = int64(number), int64(queries)
        phase = teams.team_barrier(team, phase)
        if begun:
            # A team takes the queries in every ``teams``-th slot.
            slot_id += taken * (cuda.gridDim.x // blocks)
            if slot_id < len(space.states):
                q = first + slot_id
            taken += 1
        else:
            at = teams.counters(team, phase)
            if rank == 0:
                control[at + NUMBER] = cuda.atomic.add(control, 0, 1)
            phase = teams.team_barrier(team, phase)
            q = control[at + NUMBER]
        if q >= queries:
            break
        slot, size, met, listed = teams.slot_of(space, slot_id), int64(0), teams.Met(int64(0), False), True
        count_met, count, least_reserve, step = int64(0), int64(0), int64(0), int64(0)
        worked, exact, refused = int64(0), False, int64(-1)
        # Lines 2 to 5 of algorithm 3: the sources have all mass and form the first frontier.
        if not begun:
            size = batched.take_sources(q, sources, queries, slot, rank, members)
            phase = teams.team_barrier(team, phase)
        while refused != 0:
            row = 2 + step * TRACED
            threshold = threshold_of(request.rhos[step])
            # e₀ never decreases, so smaller reserves can be ignored.
            floor = max(least_reserve, int64(1))
            scored, counted, valued = False, control, int64(0)
            if begun and step == 0:
                counted, valued = space.states[slot_id], int64(batched.VALUED)
                rounds, pushed, pushed_along = counted[batched.ROUNDS], counted[batched.PUSHED], counted[batched.ALONG]
                count_met, scored = counted[batched.LISTED + lists.IN_ALL], counted[batched.WAITS] != 0
                met = teams.met_of(count_met, True, n)
            else:
                # Line 26: the frontier under the new thresholds.
                if step > 0:
                    lists.collect_frontier(met, slot, walks.counts, threshold, slot.frontier, team, phase)
                    at = teams.counters(team, phase)
                    phase = teams.team_barrier(team, phase)
                    size = control[at + lists.LIFTED]
                # Line 7: no residue is above its threshold afterwards.
                listed, rounds, pushed, pushed_along, phase = push(
                    slot.frontier, slot.upcoming, size, listed, edges, chances, walks, slot, threshold, team, phase,
                )  # fmt: skip
                if listed:
                    at = teams.counters(team, phase)
                    lists.list_met(slot, team, phase)
                    phase = teams.team_barrier(team, phase)
                    count_met = control[at + lists.IN_ALL]
                met = teams.met_of(count_met, listed, n)
                valued = teams.counters(team, phase)
                lists.value_walks(met, slot, walks, floor, threshold.coarse, True, among, team, phase)
                phase = teams.team_barrier(team, phase)
            carriers, large = counted[valued + lists.CARRIERS], counted[valued + lists.LARGE]
            forward_cost, seen = counted[valued + lists.FORWARD_ENTRIES], counted[valued + lists.SEEN]
            exact = counted[valued + lists.RESIDUE_LEFT] == 0
            final = exact or step == steps - 1
            worked += pushed_along
            tested = final or worked >= request.patience[step]
            count, entries, reached, forward = int64(0), int64(0), int64(0), False
            # Line 8: a vertex outside the candidates is not among the k best.
            if scored:
                count, least_reserve = counted[batched.COUNT], counted[batched.LEAST_RESERVE]
                entries = counted[batched.ENTRIES]
            elif tested:
                least_reserve, count, entries, phase, parity = propose(
                    large, floor, request.k, met, walks, slot, threshold, among, team, phase, parity
                )
                forward = walks.light or goes_forward(least_reserve, forward_cost, entries)
                if forward:
                    entries = forward_cost
                if forward and begun and step == 0:
                    lists.list_carriers(met, slot, team, phase)
                    at = teams.counters(team, phase)
                    phase = teams.team_barrier(team, phase)
                    carriers = control[at + lists.CARRIERS]
            if rank == 0:
                out[q, row], out[q, row + 1], out[q, row + 2], out[q, row + 3] = step, rounds, pushed, pushed_along
                out[q, row + 4], out[q, row + 6], out[q, row + 7] = seen, entries, int64(forward)
            # Lines 9 to 13: the candidates' scores.
            if tested and not scored:
                count, reached, phase = estimate(
                    forward, least_reserve, (count, carriers), met, edges, chances, walks, slot, threshold,
                    among, team, phase,
                )  # fmt: skip
            # Lines 14 to 23: bounds, and whether they allow to stop.
            refused = int64(-1)
            if tested:
                refused, phase, parity = refused_at(
                    step, final, count, least_reserve, slot, request, space.top[number], team, phase, parity
                )
                if refused == 0 and count > 0 and len(in_edges.begin) > 0:
                    phase, parity = finish(
                        Stop(step, count, least_reserve, worked, final, exact, forward), edges, chances, walks,
                        in_edges, request, slot, space.top[number], out[q, 2 + steps * TRACED + 2 * request.k :],
                        team, phase, parity,
                    )  # fmt: skip
                forget_walked(reached, slot, team)
            if rank == 0:
                out[q, row + 5], out[q, row + 8] = count, refused
            step += 1
        length = min(int64(request.k), count)
        if rank == 0:
            out[q, 0], out[q, 1] = length, step
        row = 2 + steps * TRACED
        i = rank
        while i < length:
            out[q, row + i], out[q, row + request.k + i] = best_keys[i], best_ids[i]
            i += members
        if not begun:
            leave_clean(met, slot, team)
        elif not listed:
            mark_all(slot, team)
