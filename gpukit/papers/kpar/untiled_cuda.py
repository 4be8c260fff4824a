"""kPAR on a GPU without the tiles of the paper's section 4: the ablations of section 5.2, with the same answers.

A thread takes a whole row, however long: of edges when pushing (kPAR_I), and of walks or start lists when adding up
(kPAR_I and kPAR_IP1). All other steps are those of :mod:`gpukit.kpar.query.answer_cuda`. Queries never begin together.
"""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numba import int64, uint32

from gpukit.device.kernels import cuda, device, kernel
from gpukit.device.launch import launch
from gpukit.device.select import for_kernels
from gpukit.kpar import rule
from gpukit.kpar.batch import push_cuda as batched
from gpukit.kpar.batch.prepared_cuda import Batch, CudaPrepared
from gpukit.kpar.batch.workspace_cuda import BLOCK, Shape
from gpukit.kpar.groups import Stop
from gpukit.kpar.problem import Result, Sources
from gpukit.kpar.query import answer_cuda, push_cuda
from gpukit.kpar.query import lists_cuda as lists
from gpukit.kpar.query import sweep_cuda as sweeps
from gpukit.kpar.query import team_cuda as teams
from gpukit.kpar.query.answer import Task
from gpukit.kpar.query.estimate_cuda import forget_walked, propose
from gpukit.kpar.query.refine_cuda import finish
from gpukit.kpar.query.select_cuda import IDS, KEYS
from gpukit.kpar.query.stop_cuda import refused_at
from gpukit.kpar.rule import goes_forward, threshold_of, unpacked

any_walk_end, edge_part = for_kernels(rule.any_walk_end), for_kernels(rule.edge_part)


@device
def push_rows(items, size, collected, upcoming, edges, chances, counts, slot, threshold, team, phase):
    """Push along the rows of items, one thread per row, after :func:`gpukit.kpar.query.sweep_cuda.lengths`."""
    tid, block_size, small = cuda.threadIdx.x, cuda.blockDim.x, team.memory.small
    at = teams.counters(team, phase)
    lifted = teams.Staged(team.memory.other_stage, small, 1, upcoming, team.control, at, sweeps.LIFTED)
    first = team.block * block_size
    while first < size:
        fullest, j = -1, first + tid
        if j < size and slot.scores[j] > 0:
            row, last = edges.indptr[items[j]], edges.indptr[items[j] + 1] - 1
            for e in range(row, last + 1):
                u, value = int64(edges.indices[e]), slot.scores[j]
                if chances is not None:
                    value = edge_part(value, chances, e, row, last)
                if value > 0:
                    old = cuda.atomic.add(slot.residue, u, value)
                    if old == 0 and collected == sweeps.MARKED:
                        cuda.atomic.or_(slot.marks, u >> 5, uint32(1) << uint32(u & 31))
                    w = int64(counts[u])
                    waits = w > 0 and w <= threshold.walks_max and old <= w * threshold.rho
                    if collected != sweeps.UNLISTED and waits and old + value > w * threshold.rho:
                        fullest = max(fullest, teams.put(lifted, u))
        if teams.block_any(fullest >= teams.STAGE >> 1, small):
            teams.flush(lifted)
        first += team.blocks * block_size
    teams.flush(lifted)


@device
def push(frontier, upcoming, size, listed, edges, chances, walks, slot, threshold, team, phase):
    """Push as :func:`gpukit.kpar.query.push_cuda.push` does, and return what it returns."""
    n = len(edges.indptr) - 1
    rounds, pushed, pushed_along = int64(0), int64(0), int64(0)
    while size > 0:
        rounds += 1
        pushed += size
        sweeps.lengths(
            sweeps.PUSH, frontier, size, edges.indptr, chances, edges.one_minus_alpha, walks.counts, slot.residue,
            slot.reserve, slot.scores, slot.limits, team, team.memory.sums,
        )  # fmt: skip
        phase = teams.team_barrier(team, phase)
        whole = teams.prefix_over_blocks(team, team.memory.pool, team.memory.sums)
        pushed_along += whole
        scanning = whole > n >> 1
        listed = listed and not scanning
        collected = sweeps.UNLISTED if scanning else sweeps.MARKED if listed else sweeps.LIFTED_ONLY
        at = teams.counters(team, phase)
        push_rows(frontier, size, collected, upcoming, edges, chances, walks.counts, slot, threshold, team, phase)
        phase = teams.team_barrier(team, phase)
        if scanning:
            at = teams.counters(team, phase)
            lists.collect_frontier(teams.Met(n, True), slot, walks.counts, threshold, upcoming, team, phase)
            phase = teams.team_barrier(team, phase)
        size = team.control[at + sweeps.LIFTED]
        frontier, upcoming = upcoming, frontier
    return listed, rounds, pushed, pushed_along, phase


@device
def walk_forward(size, edges, chances, walks, slot, coarse, team, phase):
    """Let the walks of the ``size`` vertices in ``frontier`` carry their units to their ends; one thread per vertex."""
    tid, block_size, small = cuda.threadIdx.x, cuda.blockDim.x, team.memory.small
    at = teams.counters(team, phase)
    ends = teams.Staged(team.memory.other_stage, small, 1, slot.upcoming, team.control, at, sweeps.ENDS)
    first = team.block * block_size
    while first < size:
        fullest = -1
        if first + tid < size:
            v = int64(slot.frontier[first + tid])
            unit = int64(unpacked(slot.unit[v])) << coarse
            row, length = walks.row_begin[v], walks.row_begin[v + 1] - walks.row_begin[v]
            if walks.light:
                length = int64(walks.counts[v])
            for i in range(length):
                value = unit
                if walks.light:
                    u = any_walk_end(
                        edges.indptr, edges.indices, chances, edges.one_minus_alpha, walks.seed, walks.tag, i, v
                    )
                else:
                    u = int64(walks.row_ends[row + i])
                    value *= int64(walks.row_freqs[row + i])
                if cuda.atomic.add(slot.walked, u, value) == 0:
                    fullest = max(fullest, teams.put(ends, u))
        if teams.block_any(fullest >= teams.STAGE >> 1, small):
            teams.flush(ends)
        first += team.blocks * block_size
    teams.flush(ends)


@device
def walked_to(v, walks, slot):
    """Return what the walks in the start list of a vertex carry, without their lowest bits; one thread."""
    low, often, total = walks.src_begin[v], walks.frequent_begin[v], int64(0)
    frequent = walks.frequent_begin[v + 1] - often
    for i in range(walks.src_begin[v + 1] - low):
        many = int64(walks.frequencies[often + i]) if i < frequent else int64(1)
        total += int64(unpacked(slot.unit[walks.starts[low + i]])) * many
    return total


@device
def estimate(forward, least_reserve, sizes, met, edges, chances, walks, slot, threshold, among, team, phase):
    """Write scores as :func:`gpukit.kpar.query.estimate_cuda.estimate` does, and return what it returns."""
    rank, members = team.block * cuda.blockDim.x + cuda.threadIdx.x, team.blocks * cuda.blockDim.x
    count, carriers = sizes
    reached = int64(0)
    if forward:
        at = teams.counters(team, phase)
        walk_forward(carriers, edges, chances, walks, slot, threshold.coarse, team, phase)
        phase = teams.team_barrier(team, phase)
        reached = team.control[at + sweeps.ENDS]
        if least_reserve == 0:
            at = teams.counters(team, phase)
            lists.list_reached(met, slot, reached, among, team, phase)
            phase = teams.team_barrier(team, phase)
            count = team.control[at + lists.LISTED]
    j = rank
    while j < count:
        v = int64(slot.candidates[j])
        by_walks = slot.walked[v] if forward else walked_to(v, walks, slot) << threshold.coarse
        slot.scores[j] = slot.reserve[v] + by_walks
        j += members
    return count, reached, teams.team_barrier(team, phase)


_FORMS = tuple(product((None, "boolean[::1]"), (None, "uint64[::1]")))


# whole: the loop of gpukit.kpar.query.answer_cuda.answer, with other passes over rows
@kernel(
    *((among, batched.EDGES, chances, "boolean", *answer_cuda.REST) for among, chances in _FORMS),
    max_registers=answer_cuda.REGISTERS,
)
def answer(among, edges, chances, tiled, walks, in_edges, sources, queries, first, blocks, request, space, out):
    """Answer queries; cooperative, like :func:`gpukit.kpar.query.answer_cuda.answer` for queries that were not begun.

    Parameters
    ----------
    among, edges, chances, walks, in_edges, sources, queries, first, blocks, request, space, out
        As there; ``first`` is not read.
    tiled : bool
        Whether long rows are split into tiles when pushing.
    """
    cuda.cg.this_grid().sync()
    number, block = cuda.blockIdx.x // blocks, cuda.blockIdx.x % blocks
    rank, members = block * cuda.blockDim.x + cuda.threadIdx.x, blocks * cuda.blockDim.x
    memory = teams.block_memory()
    team = teams.Team(space.control, 1 + number * teams.CONTROL, block, blocks, memory)
    control, top, slot = space.control, space.top[number], teams.slot_of(space, int64(number))
    n, steps = len(edges.indptr) - 1, len(request.rhos)
    teams.clear(memory.small)
    cuda.syncthreads()
    phase, parity = int64(1), 0
    while True:
        phase = teams.team_barrier(team, phase)
        at = teams.counters(team, phase)
        if rank == 0:
            control[at + answer_cuda.NUMBER] = cuda.atomic.add(control, 0, 1)
        phase = teams.team_barrier(team, phase)
        q = control[at + answer_cuda.NUMBER]
        if q >= queries:
            break
        met, listed, count_met, count = teams.Met(int64(0), False), True, int64(0), int64(0)
        least_reserve, step, worked, refused = int64(0), int64(0), int64(0), int64(-1)
        size = batched.take_sources(q, sources, queries, slot, rank, members)
        phase = teams.team_barrier(team, phase)
        while refused != 0:
            row = 2 + step * answer_cuda.TRACED
            threshold = threshold_of(request.rhos[step])
            floor = max(least_reserve, int64(1))
            if step > 0:
                lists.collect_frontier(met, slot, walks.counts, threshold, slot.frontier, team, phase)
                at = teams.counters(team, phase)
                phase = teams.team_barrier(team, phase)
                size = control[at + lists.LIFTED]
            if tiled:
                listed, rounds, pushed, pushed_along, phase = push_cuda.push(
                    slot.frontier, slot.upcoming, size, listed, edges, chances, walks, slot, threshold, team, phase
                )
            else:
                listed, rounds, pushed, pushed_along, phase = push(
                    slot.frontier, slot.upcoming, size, listed, edges, chances, walks, slot, threshold, team, phase
                )
            if listed:
                at = teams.counters(team, phase)
                lists.list_met(slot, team, phase)
                phase = teams.team_barrier(team, phase)
                count_met = control[at + lists.IN_ALL]
            met = teams.met_of(count_met, listed, n)
            at = teams.counters(team, phase)
            lists.value_walks(met, slot, walks, floor, threshold.coarse, True, among, team, phase)
            phase = teams.team_barrier(team, phase)
            carriers, large = control[at + lists.CARRIERS], control[at + lists.LARGE]
            forward_cost, seen = control[at + lists.FORWARD_ENTRIES], control[at + lists.SEEN]
            exact = control[at + lists.RESIDUE_LEFT] == 0
            final = exact or step == steps - 1
            worked += pushed_along
            count, entries, reached, forward = int64(0), int64(0), int64(0), False
            refused = int64(-1)
            if final or worked >= request.patience[step]:
                least_reserve, count, entries, phase, parity = propose(
                    large, floor, request.k, met, walks, slot, threshold, among, team, phase, parity
                )
                forward = walks.light or goes_forward(least_reserve, forward_cost, entries)
                if forward:
                    entries = forward_cost
                count, reached, phase = estimate(
                    forward, least_reserve, (count, carriers), met, edges, chances, walks, slot, threshold, among,
                    team, phase,
                )  # fmt: skip
                refused, phase, parity = refused_at(
                    step, final, count, least_reserve, slot, request, top, team, phase, parity
                )
                if refused == 0 and count > 0 and len(in_edges.begin) > 0:
                    phase, parity = finish(
                        Stop(step, count, least_reserve, worked, final, exact, forward), edges, chances, walks,
                        in_edges, request, slot, top, out[q, 2 + steps * answer_cuda.TRACED + 2 * request.k :], team,
                        phase, parity,
                    )  # fmt: skip
                forget_walked(reached, slot, team)
            if rank == 0:
                out[q, row], out[q, row + 1], out[q, row + 2], out[q, row + 3] = step, rounds, pushed, pushed_along
                out[q, row + 4], out[q, row + 5], out[q, row + 6] = seen, count, entries
                out[q, row + 7], out[q, row + 8] = int64(forward), refused
            step += 1
        length = min(int64(request.k), count)
        if rank == 0:
            out[q, 0], out[q, 1] = length, step
        row, i = 2 + steps * answer_cuda.TRACED, rank
        while i < length:
            out[q, row + i], out[q, row + request.k + i] = top[KEYS, i], top[IDS, i]
            i += members
        answer_cuda.leave_clean(met, slot, team)


class UntiledPrepared(CudaPrepared):
    """A graph and its index on a GPU, for queries without tiles."""

    tiled_push: bool

    @classmethod
    def like(cls, prepared: CudaPrepared, *, tiled_push: bool) -> "UntiledPrepared":
        """Return what was prepared, for queries that add up walks without tiles; pushes have them if asked for."""
        made = cls(**vars(prepared))
        made.tiled_push = tiled_push
        return made

    def answers(self, task: Task, threads: int, shape: Shape | None) -> Result:
        """Answer a batch as :meth:`gpukit.kpar.batch.prepared_cuda.CudaPrepared.answers`; no queries begin together."""
        return super().answers(task, threads, replace(shape or Shape(), slots_per_team=1))

    def _launch(self, sources: Sources, first: int, last: int, batch: Batch, shape: Shape, width: int) -> np.ndarray:
        queries, places = last - first, batch.places()
        source, out = self.space.sources(sources, first, last), self.space.out(queries, width)
        among, edges, chances, *rest, request = batch
        given = (among, edges, chances, self.tiled_push, *rest, source, queries, 0)

        def arguments(blocks: int, space: Any) -> tuple:
            return *given, blocks, request, space, out.view

        number, blocks, _ = self.space.spread(answer, arguments, queries, places, shape)
        launch(answer, number * blocks, BLOCK, *arguments(blocks, self.space.arrays(number, 1, places)))
        return out.host()
