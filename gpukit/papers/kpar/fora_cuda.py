"""Kernels of the baselines on a GPU: FORA+ with the rounds, sweeps and selection of a query, and Monte Carlo."""

from typing import Any, NamedTuple

from numba import int64, uint64

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.select import for_kernels
from gpukit.kpar import rule
from gpukit.kpar.groups import Edges
from gpukit.kpar.query import sweep_cuda as sweeps
from gpukit.kpar.query import team_cuda as teams
from gpukit.kpar.query.answer_cuda import NUMBER, REGISTERS
from gpukit.kpar.query.select_cuda import IDS, KEYS, sort_best, take_best
from gpukit.kpar.rows_cuda import row_of
from gpukit.kpar.rule import threshold_of

LISTED = 0
"""Counter: vertices listed."""

any_walk_end = for_kernels(rule.any_walk_end)

_i32, _i64, _u32 = "int32[::1]", "int64[::1]", "uint32[::1]"
_int, _seed = "int64", "uint64"
_ENDS, _COUNTS = ((_seed, _seed, _int, _i64, _i32), (_seed, _seed, _int, _i32, _i64, _i64, _i64, _i64))
_CHANCES = (None, "uint64[::1]")


@kernel(*((_i64, _i32, one, *_ENDS) for one in _CHANCES))
def walk_ends(indptr, indices, chances, one_minus_alpha, seed, tag, places, ends):
    """Write where each walk ends, in order; a thread owns a walk, ``places`` (int64, n + 1) says from where."""
    i = cuda.grid(1)
    if i < len(ends):
        v = row_of(places, int64(i))
        ends[i] = any_walk_end(indptr, indices, chances, one_minus_alpha, seed, tag, int64(i) - places[v], v)


@kernel(*((_i64, _i32, one, *_COUNTS) for one in _CHANCES))
def walk_counts(indptr, indices, chances, one_minus_alpha, seed, tag, vertices, walks, worth, extra, reserve):
    """Draw the walks of a Monte Carlo query; a thread owns a walk and adds the mass it stands for where it ends.

    ``walks`` (int64, sources + 1) are prefix sums; a walk of source s stands for ``worth[s]`` units, one of the first
    ``extra[s]`` for one more.
    """
    i = cuda.grid(1)
    if i < walks[len(walks) - 1]:
        s = row_of(walks, int64(i))
        j = int64(i) - walks[s]
        more = int64(1) if j < extra[s] else int64(0)
        cuda.atomic.add(
            reserve, any_walk_end(indptr, indices, chances, one_minus_alpha, seed, tag, j, int64(vertices[s])),
            worth[s] + more,
        )  # fmt: skip


class ForaIndex(NamedTuple):
    """Out-degrees (uint32), and what :class:`gpukit.papers.kpar.baselines.Fora` has; ``frequencies`` are not read."""

    degrees: Any
    limit: Any
    worth: Any
    places: Any
    ends: Any
    frequencies: Any


@device
def _list_positive(n, values, index, divide, target, counts, team, phase):
    """List the vertices with a positive value; with ``divide`` those with out-edges, and ⌈value / worth⌉."""
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    memory, at = team.memory, teams.counters(team, phase)
    listed = teams.Staged(memory.stage, memory.small, 0, target, team.control, at, LISTED)
    passes, fullest = 0, -1
    first = team.block * block_size
    while first < n:
        v = first + tid
        if v < n and values[v] > 0 and (not divide or index.degrees[v] > 0):
            if divide:
                counts[v] = int64(uint64(values[v] + index.worth - 1) // uint64(index.worth))
            fullest = max(fullest, teams.put(listed, v))
        if teams.time_to_flush(passes, fullest, team.memory.small):
            teams.flush(listed)
            fullest = -1
        passes += 1
        first += team.blocks * block_size
    teams.flush(listed)


_EDGES = group(Edges, _i64, _i32, _seed)
_REST = (
    group(ForaIndex, _u32, _int, _int, _i64, _i32, _u32), _i64, _int, _int, _int,
    "int64[:, :, ::1]", "int32[:, :, ::1]", "int64[:, :, ::1]", _i64, "int64[:, ::1]",
)  # fmt: skip


# whole: the baseline in one launch, its steps in the order of the paper
@kernel(*((_EDGES, one, *_REST) for one in _CHANCES), max_registers=REGISTERS)
def fora(edges, chances, index, sources, queries, blocks, k, long, short, top, control, out):
    """Answer queries by FORA+; cooperative, like :func:`gpukit.kpar.query.answer_cuda.answer`.

    Parameters
    ----------
    edges, chances, sources, queries, blocks, long, short, top, control
        As there.
    index : ForaIndex
    k : int
        Length of an answer.
    out : int64 array, shape (queries, 2 + 2 k)
        Receives length, rounds, scores and vertices of each answer.
    """
    cuda.cg.this_grid().sync()
    tid, block_size = cuda.threadIdx.x, cuda.blockDim.x
    number, block = cuda.blockIdx.x // blocks, cuda.blockIdx.x % blocks
    rank, members = block * block_size + tid, blocks * block_size
    memory = teams.block_memory()
    team = teams.Team(control, 1 + number * teams.CONTROL, block, blocks, memory)
    residue, reserve, walks = long[number, teams.RESIDUE], long[number, teams.RESERVE], long[number, teams.WALKED]
    scores, limits, spare = long[number, teams.SCORES], long[number, teams.LIMITS], long[number, teams.SPARE]
    frontier, upcoming = short[number, teams.FRONTIER], short[number, teams.UPCOMING]
    candidates = short[number, teams.CANDIDATES]
    # Arrays that only other kinds of sweeps read are any of their type.
    slot = teams.Slot(
        residue, reserve, walks, scores, scores, limits, spare, spare, candidates, candidates, frontier, upcoming,
        index.degrees,
    )  # fmt: skip
    keys, ids = top[number, KEYS], top[number, IDS]
    degrees, n = index.degrees, len(index.degrees)
    threshold = threshold_of(index.limit)
    drawn = sweeps.Drawn(degrees, uint64(0), 0)
    teams.clear(memory.small)
    phase, parity = int64(1), 0
    while True:
        phase = teams.team_barrier(team, phase)
        at = teams.counters(team, phase)
        if rank == 0:
            control[at + NUMBER] = cuda.atomic.add(control, 0, 1)
        phase = teams.team_barrier(team, phase)
        q = control[at + NUMBER]
        if q >= queries:
            break
        size = sources[q + 1] - sources[q]
        first_vertex = queries + 1 + sources[q]
        first_mass = first_vertex + sources[queries]
        i = rank
        while i < size:
            residue[sources[first_vertex + i]] = sources[first_mass + i]
            frontier[i] = sources[first_vertex + i]
            i += members
        phase = teams.team_barrier(team, phase)
        # Push to r_max, in synchronous rounds.
        rounds = 0
        while size > 0:
            rounds += 1
            sweeps.lengths(
                sweeps.PUSH, frontier, size, edges.indptr, chances, edges.one_minus_alpha, degrees, residue, reserve,
                scores, limits, team, team.memory.sums,
            )  # fmt: skip
            phase = teams.team_barrier(team, phase)
            whole = teams.prefix_over_blocks(team, team.memory.pool, team.memory.sums)
            at = teams.counters(team, phase)
            sweeps.sweep(
                sweeps.PUSH, sweeps.Work(frontier, size, whole),
                sweeps.Targets(sweeps.LIFTED_ONLY, upcoming), edges, chances, drawn,
                sweeps.Rows(edges.indptr, index.ends, index.frequencies), slot, threshold, team, phase,
            )  # fmt: skip
            phase = teams.team_barrier(team, phase)
            size = control[at + sweeps.LIFTED]
            frontier, upcoming = upcoming, frontier
        # As many stored walks of each vertex as its residue asks for carry it to their ends.
        at = teams.counters(team, phase)
        _list_positive(n, residue, index, True, frontier, walks, team, phase)
        phase = teams.team_barrier(team, phase)
        size = control[at + LISTED]
        sweeps.lengths(
            sweeps.CARRY, frontier, size, index.places, None, edges.one_minus_alpha, walks, residue, reserve, scores,
            limits, team, team.memory.sums,
        )  # fmt: skip
        v = rank
        while v < n:
            if degrees[v] == 0:
                reserve[v] += residue[v]
            v += members
        phase = teams.team_barrier(team, phase)
        whole = teams.prefix_over_blocks(team, team.memory.pool, team.memory.sums)
        sweeps.sweep(
            sweeps.CARRY, sweeps.Work(frontier, size, whole), sweeps.Targets(sweeps.UNLISTED, upcoming),
            edges, None, drawn, sweeps.Rows(index.places, index.ends, index.frequencies), slot, threshold, team, phase,
        )  # fmt: skip
        phase = teams.team_barrier(team, phase)
        # The k best of all vertices.
        at = teams.counters(team, phase)
        _list_positive(n, reserve, index, False, candidates, walks, team, phase)
        phase = teams.team_barrier(team, phase)
        count = control[at + LISTED]
        length = min(int64(k), count)
        j = rank
        while j < count:
            scores[j] = reserve[candidates[j]]
            j += members
        phase = teams.team_barrier(team, phase)
        _, phase, parity = take_best(slot, count, length, top[number], team, phase, parity)
        phase = sort_best(top[number], False, team, phase, team.memory.pool)
        if rank == 0:
            out[q, 0], out[q, 1] = length, rounds
        i = rank
        while i < length:
            out[q, 2 + i], out[q, 2 + k + i] = keys[i], ids[i]
            i += members
        v = rank
        while v < n:
            residue[v] = 0
            reserve[v] = 0
            v += members
