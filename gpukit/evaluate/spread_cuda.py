"""Forward Monte Carlo on GPUs (Numba CUDA): the functions of ``spread_cpu.py``, a block per run.

A block keeps its run's state in its row of global scratch: which vertices are active (a bit, or the LT weight received)
and the queue of those activated in this round. Between two levels of the search the block synchronises.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, int32, int64, types, uint32

from gpukit.device.arrays import Buffer, for_launch, free_memory, on_gpu
from gpukit.device.compiled import kernel
from gpukit.device.launch import launch
from gpukit.device.philox import draw4
from gpukit.device.placing import place
from gpukit.device.shape import shape
from gpukit.evaluate.batches import Progress, share_runs
from gpukit.evaluate.plan import IcEdges, LtEdges, Plan, Stages
from gpukit.evaluate.rule import lt_quota

MEMBERS = 8
"""Threads of a team, which share a frontier vertex: its edges in groups of four (IC) or one by one (LT)."""

THREADS = 128
BLOCKS_PER_MULTIPROCESSOR = 8
RUNS_PER_BLOCK = 16
"""Runs of a block in one launch: launches cost little beside them, and Ctrl-C and progress get their turn."""

ACTIVE = 1 << 62
"""LT weight that a seed receives: above every quota, and far from overflow with all in-edges added."""


class Scratch(NamedTuple):
    """What blocks keep of their runs, a row for each block.

    Attributes
    ----------
    active : uint32 array, shape (blocks, words), or int64 array, shape (blocks, n)
        Of this round: IC a bit for each vertex, whether it is active; LT the weight that each received, at least
        ``ACTIVE`` for a seed.
    seen : uint32 array, shape (blocks, words or 1)
        A bit for each vertex: active in any round of the run.
    queue : int32 array, shape (blocks, n)
        Those activated in this round.
    """

    active: Any
    seen: Any
    queue: Any


@cuda.jit(device=True)
def _claim(bits, v):
    """Set bit v of a bitmap; return whether it was clear, true for one thread only."""
    mask = uint32(1) << uint32(v & 31)
    if bits[v >> 5] & mask:
        return False
    return (cuda.atomic.or_(bits, v >> 5, mask) & mask) == 0


@cuda.jit(device=True)
def _gain(v, targets, seen, rounds):
    """Return what the activation of v adds to its run: its target, or 0 if an earlier round activated it."""
    if rounds > 1 and not _claim(seen, v):
        return int64(0)
    return targets[v] if len(targets) else int64(1)


@kernel
def ic_runs(edges, stages, seed, tag, first, scratch, values):
    """Run the independent cascades first … first + len(values) - 1, one after the other in each block.

    A team of ``MEMBERS`` threads owns a frontier vertex; each of them makes every MEMBERS-th Philox call of its row,
    reads four thresholds for each call, and claims the heads of live edges with an atomic on the bitmap. Cost: one call
    for four out-edges of each activated vertex, n / 32 words to clear a round.

    Parameters
    ----------
    edges, stages, seed, tag, first, values
        As on the CPU (:func:`gpukit.evaluate.spread_cpu.ic_runs`).
    scratch : Scratch
    """
    queued = cuda.shared.array(1, int32)
    total = cuda.shared.array(1, int64)
    tid, block_size, block = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x
    rank, team, teams = tid % MEMBERS, tid // MEMBERS, block_size // MEMBERS
    indptr, indices, thresholds = edges
    targets, seeds, stage_starts, stage_rounds = stages
    n = len(indptr) - 1
    n_stages = len(stage_rounds)
    rounds = stage_rounds[n_stages - 1] + 1
    own_active, own_seen, own_queue = scratch.active[block], scratch.seen[block], scratch.queue[block]
    for i in range(block, len(values), cuda.gridDim.x):
        head = 0
        for stage in range(n_stages):
            if stage == 0 or stage_rounds[stage] != stage_rounds[stage - 1]:
                for j in range(tid, (n + 31) >> 5, block_size):
                    own_active[j] = 0
                    if stage == 0 and rounds > 1:
                        own_seen[j] = 0
                if tid == 0:
                    queued[0] = 0
                    if stage == 0:
                        total[0] = 0
                head = 0
                cuda.syncthreads()
            round_tag = tag + (stage_rounds[stage] << 8)
            gain = int64(0)
            for j in range(stage_starts[stage] + tid, stage_starts[stage + 1], block_size):
                v = seeds[j]
                if _claim(own_active, v):
                    own_queue[cuda.atomic.add(queued, 0, 1)] = v
                    gain += _gain(v, targets, own_seen, rounds)
            cuda.syncthreads()
            tail = queued[0]
            # Level by level until the spread runs dry; the claims of a level end before its queue is read.
            while head < tail:
                cuda.syncthreads()
                for j in range(head + team, tail, teams):
                    u = own_queue[j]
                    start = indptr[u]
                    degree = indptr[u + 1] - start
                    for call in range(rank, (degree + 3) >> 2, MEMBERS):
                        w0, w1, w2, w3 = draw4(seed, round_tag, first + i, u, call)
                        for k in range(4):
                            edge = 4 * call + k
                            if edge < degree:
                                word = (w0 if k == 0 else w1) if k < 2 else (w2 if k == 2 else w3)
                                if word <= thresholds[start + edge]:
                                    v = indices[start + edge]
                                    if _claim(own_active, v):
                                        own_queue[cuda.atomic.add(queued, 0, 1)] = v
                                        gain += _gain(v, targets, own_seen, rounds)
                cuda.syncthreads()
                head = tail
                tail = queued[0]
            if gain:
                cuda.atomic.add(total, 0, gain)
            cuda.syncthreads()
            if tid == 0:
                values[i, stage] = total[0]


@cuda.jit(device=True)
def _receive(received, v, weight, scales, seed, round_tag, run):
    """Add weight to what v received; return whether it passed v's quota just now, true for one thread only."""
    before = cuda.atomic.add(received, v, weight)
    if before >= ACTIVE:
        return False
    low, high, _, _ = draw4(seed, round_tag, run, v, 0)
    quota = lt_quota(low, high, scales[v])
    return before < quota and before + weight >= quota


@kernel
def lt_runs(edges, stages, seed, tag, first, scratch, values):
    """Run the threshold cascades first … first + len(values) - 1, one after the other in each block.

    A team of ``MEMBERS`` threads owns a frontier vertex and takes its out-edges in turn; each adds the weight to its
    head with a 64-bit atomic, and the one addition that passes the head's quota activates it. Cost: one atomic and one
    Philox call an out-edge of each activated vertex, n words to clear a round.

    Parameters
    ----------
    edges, stages, seed, tag, first, values
        As on the CPU (:func:`gpukit.evaluate.spread_cpu.lt_runs`).
    scratch : Scratch
    """
    queued = cuda.shared.array(1, int32)
    total = cuda.shared.array(1, int64)
    tid, block_size, block = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x
    rank, team, teams = tid % MEMBERS, tid // MEMBERS, block_size // MEMBERS
    indptr, indices, weights, scales = edges
    targets, seeds, stage_starts, stage_rounds = stages
    n = len(indptr) - 1
    n_stages = len(stage_rounds)
    rounds = stage_rounds[n_stages - 1] + 1
    own_received, own_seen, own_queue = scratch.active[block], scratch.seen[block], scratch.queue[block]
    for i in range(block, len(values), cuda.gridDim.x):
        head = 0
        for stage in range(n_stages):
            if stage == 0 or stage_rounds[stage] != stage_rounds[stage - 1]:
                for j in range(tid, n, block_size):
                    own_received[j] = 0
                if stage == 0 and rounds > 1:
                    for j in range(tid, (n + 31) >> 5, block_size):
                        own_seen[j] = 0
                if tid == 0:
                    queued[0] = 0
                    if stage == 0:
                        total[0] = 0
                head = 0
                cuda.syncthreads()
            round_tag = tag + (stage_rounds[stage] << 8)
            gain = int64(0)
            for j in range(stage_starts[stage] + tid, stage_starts[stage + 1], block_size):
                v = seeds[j]
                if _receive(own_received, v, int64(ACTIVE), scales, seed, round_tag, first + i):
                    own_queue[cuda.atomic.add(queued, 0, 1)] = v
                    gain += _gain(v, targets, own_seen, rounds)
            cuda.syncthreads()
            tail = queued[0]
            # Level by level until the spread runs dry; the claims of a level end before its queue is read.
            while head < tail:
                cuda.syncthreads()
                for j in range(head + team, tail, teams):
                    u = own_queue[j]
                    for edge in range(indptr[u] + rank, indptr[u + 1], MEMBERS):
                        v = indices[edge]
                        weight = int64(weights[edge]) + 1 if len(weights) else int64(1)
                        if _receive(own_received, v, weight, scales, seed, round_tag, first + i):
                            own_queue[cuda.atomic.add(queued, 0, 1)] = v
                            gain += _gain(v, targets, own_seen, rounds)
                cuda.syncthreads()
                head = tail
                tail = queued[0]
            if gain:
                cuda.atomic.add(total, 0, gain)
            cuda.syncthreads()
            if tid == 0:
                values[i, stage] = total[0]


_i64, _i32, _u32 = types.int64[::1], types.int32[::1], types.uint32[::1]
_rows = {one: one[:, ::1] for one in (types.uint32, types.int32, types.int64)}
_stages = types.NamedTuple((_i64, _i32, _i64, _i64), Stages)
_key = (types.uint64, types.int64, types.int64)


def _signature(edges: Any, active: Any) -> tuple:
    scratch = types.NamedTuple((_rows[active], _rows[types.uint32], _rows[types.int32]), Scratch)
    return edges, _stages, *_key, scratch, _rows[types.int64]


_BY_EDGE = {"ic": ("indices", "thresholds"), "lt": ("indices", "weights")}
"""What the kernel of a model reads of each edge."""

KERNELS = {
    "ic_runs": (ic_runs, _signature(types.NamedTuple((_i64, _i32, _u32), IcEdges), types.uint32)),
    "lt_runs": (lt_runs, _signature(types.NamedTuple((_i64, _i32, _u32, _i64), LtEdges), types.int64)),
}
"""Every kernel with the types of the arguments it is launched with."""


def run_on_gpus(
    plan: Plan,
    runs: int,
    gpus: Sequence[int],
    progress: Progress | None = None,
    *,
    first: int = 0,
    blocks: int | None = None,
    threads: int = THREADS,
) -> np.ndarray:
    """Return the value of each run at each stage; batches of runs go to whichever GPU is free.

    Parameters
    ----------
    plan : Plan
    runs : int
        Run ids first … first + runs - 1.
    gpus : sequence of int
        CUDA device numbers.
    progress : callable or None
        Called with (runs done, runs).
    first : int
    blocks : int or None
        Blocks of a launch, each with its scratch; by default 8 for each multiprocessor, fewer where memory is short.
    threads : int
        Threads of a block, a multiple of ``MEMBERS``.

    Returns
    -------
    int64 array, shape (runs, stages)

    Raises
    ------
    DeviceError
        If the graph and the scratch of one block do not fit into a GPU.
    """
    edges, stages = plan.edges(), plan.stages
    kernel = ic_runs if plan.model == "ic" else lt_runs
    values = np.empty((runs, len(stages.rounds)), np.int64)
    states = []
    for gpu in gpus:
        with on_gpu(gpu):
            run = {"one run": _bytes_of_a_run(plan)}
            placed = place(edges._asdict(), _BY_EDGE[plan.model], run, "use --device cpu")
            inputs = [type(edges)(**{name: one.view for name, one in placed.items()}), for_launch(stages)]
            size = min(blocks or _most_blocks(kernel, plan, threads), runs)
            scratch = Scratch(*(Buffer((size, width), dtype).view for width, dtype in _scratch(plan)))
            states.append((gpu, size, inputs, scratch))

    def run_batch(state: tuple, start: int, count: int) -> None:
        gpu, size, inputs, scratch = state
        with on_gpu(gpu):
            part = Buffer((count, values.shape[1]), np.int64)
            launch(kernel, size, threads, *inputs, np.uint64(plan.seed), plan.tag, first + start, scratch, part.view)
            values[start : start + count] = part.host()

    share_runs(states, run_batch, runs, RUNS_PER_BLOCK * max(state[1] for state in states), progress)
    return values


def _scratch(plan: Plan) -> list[tuple[int, type]]:
    """Return width and type of each array of :class:`Scratch`."""
    n = plan.graph.n
    words = (n + 31) // 32
    active = (words, np.uint32) if plan.model == "ic" else (n, np.int64)
    return [active, (words if plan.stage_rounds[-1] > 0 else 1, np.uint32), (n, np.int32)]


def _bytes_of_a_run(plan: Plan) -> int:
    """Return what a block takes: its row of the scratch, and the values of its runs."""
    row = sum(width * np.dtype(dtype).itemsize for width, dtype in _scratch(plan))
    return row + 8 * RUNS_PER_BLOCK * len(plan.stage_rounds)


def _most_blocks(kernel: Any, plan: Plan, threads: int) -> int:
    """Return how many blocks the current GPU runs at once, no more than its free memory has room for."""
    return shape(kernel, int(0.9 * free_memory()) // _bytes_of_a_run(plan), threads, BLOCKS_PER_MULTIPROCESSOR).grid
