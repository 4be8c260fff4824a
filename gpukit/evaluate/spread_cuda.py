"""Forward Monte Carlo on GPUs (Numba CUDA): the functions of ``spread_cpu.py``, one block a run.

A block keeps its run's state in its row of global scratch: which vertices are active (a bit, or the LT weight received)
and the queue of those activated in this round. Between two levels of the search the block synchronises.
"""

from collections.abc import Sequence

import numpy as np
from numba import cuda, int32, int64, types, uint32

from gpukit.device.context import loading, numba_on
from gpukit.device.memory import check_budget
from gpukit.device.philox import draw4
from gpukit.evaluate.batches import Progress, share_runs
from gpukit.evaluate.plan import Plan
from gpukit.evaluate.rule import lt_quota, lt_weights
from gpukit.graph.probabilities import out_probabilities

LANES = 8
"""Threads that share a frontier vertex: its edges in groups of four (IC) or one by one (LT)."""

THREADS = 128
BLOCKS_PER_MULTIPROCESSOR = 8
RUNS_PER_BLOCK = 16
"""Runs of a block in one launch: launches cost little beside them, and Ctrl-C and progress get their turn."""

ACTIVE = 1 << 62
"""LT weight that a seed receives: above every quota, and far from overflow with all in-edges added."""


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


@cuda.jit(cache=True)
def ic_runs(
    indptr, indices, thresholds,
    targets, seeds, stage_starts, stage_rounds, seed, tag, first,
    active, seen, queue, values,
):  # fmt: skip
    """Run the independent cascades first … first + len(values) - 1, one after the other in each block.

    A group of ``LANES`` threads owns a frontier vertex; each of them makes every LANES-th Philox call of its row, reads
    four thresholds a call, and claims the heads of live edges with an atomic on the bitmap. Cost: one call for four
    out-edges of each activated vertex, n / 32 words to clear a round.

    Parameters
    ----------
    indptr, indices, thresholds, targets, seeds, stage_starts, stage_rounds, seed, tag, first, values
        As on the CPU (:func:`gpukit.evaluate.spread_cpu.ic_runs`).
    active, seen : uint32 arrays, shapes (blocks, words) and (blocks, words or 1)
        Bitmaps with 32 vertices a word: active in this round, and in any round of the run.
    queue : int32 array, shape (blocks, n)
    """
    shared = cuda.shared.array(1, int32)
    total = cuda.shared.array(1, int64)
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    lane, group, groups = thread % LANES, thread // LANES, threads // LANES
    n = len(indptr) - 1
    stages = len(stage_rounds)
    rounds = stage_rounds[stages - 1] + 1
    my_active, my_seen, my_queue = active[cuda.blockIdx.x], seen[cuda.blockIdx.x], queue[cuda.blockIdx.x]
    for i in range(cuda.blockIdx.x, len(values), cuda.gridDim.x):
        head = 0
        for stage in range(stages):
            if stage == 0 or stage_rounds[stage] != stage_rounds[stage - 1]:
                for j in range(thread, (n + 31) >> 5, threads):
                    my_active[j] = 0
                    if stage == 0 and rounds > 1:
                        my_seen[j] = 0
                if thread == 0:
                    shared[0] = 0
                    if stage == 0:
                        total[0] = 0
                head = 0
                cuda.syncthreads()
            round_tag = tag + (stage_rounds[stage] << 8)
            gain = int64(0)
            for j in range(stage_starts[stage] + thread, stage_starts[stage + 1], threads):
                v = seeds[j]
                if _claim(my_active, v):
                    my_queue[cuda.atomic.add(shared, 0, 1)] = v
                    gain += _gain(v, targets, my_seen, rounds)
            cuda.syncthreads()
            tail = shared[0]
            while head < tail:
                cuda.syncthreads()
                for j in range(head + group, tail, groups):
                    u = my_queue[j]
                    start = indptr[u]
                    degree = indptr[u + 1] - start
                    for call in range(lane, (degree + 3) >> 2, LANES):
                        w0, w1, w2, w3 = draw4(seed, round_tag, first + i, u, call)
                        for k in range(4):
                            edge = 4 * call + k
                            if edge < degree:
                                word = (w0 if k == 0 else w1) if k < 2 else (w2 if k == 2 else w3)
                                if word <= thresholds[start + edge]:
                                    v = indices[start + edge]
                                    if _claim(my_active, v):
                                        my_queue[cuda.atomic.add(shared, 0, 1)] = v
                                        gain += _gain(v, targets, my_seen, rounds)
                cuda.syncthreads()
                head = tail
                tail = shared[0]
            if gain:
                cuda.atomic.add(total, 0, gain)
            cuda.syncthreads()
            if thread == 0:
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


@cuda.jit(cache=True)
def lt_runs(
    indptr, indices, weights, scales,
    targets, seeds, stage_starts, stage_rounds, seed, tag, first,
    received, seen, queue, values,
):  # fmt: skip
    """Run the threshold cascades first … first + len(values) - 1, one after the other in each block.

    A group of ``LANES`` threads owns a frontier vertex and takes its out-edges in turn; each adds the weight to its
    head with a 64-bit atomic, and the one addition that passes the head's quota activates it. Cost: one atomic and one
    Philox call an out-edge of each activated vertex, n words to clear a round.

    Parameters
    ----------
    received : int64 array, shape (blocks, n)
        Weight that each vertex received in this round; a seed's is at least ``ACTIVE``.
    indptr, indices, weights, scales, targets, seeds, stage_starts, stage_rounds, seed, tag, first, values
        As on the CPU (:func:`gpukit.evaluate.spread_cpu.lt_runs`).
    seen, queue
        As in :func:`ic_runs`.
    """
    shared = cuda.shared.array(1, int32)
    total = cuda.shared.array(1, int64)
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    lane, group, groups = thread % LANES, thread // LANES, threads // LANES
    n = len(indptr) - 1
    stages = len(stage_rounds)
    rounds = stage_rounds[stages - 1] + 1
    my_received, my_seen, my_queue = received[cuda.blockIdx.x], seen[cuda.blockIdx.x], queue[cuda.blockIdx.x]
    for i in range(cuda.blockIdx.x, len(values), cuda.gridDim.x):
        head = 0
        for stage in range(stages):
            if stage == 0 or stage_rounds[stage] != stage_rounds[stage - 1]:
                for j in range(thread, n, threads):
                    my_received[j] = 0
                if stage == 0 and rounds > 1:
                    for j in range(thread, (n + 31) >> 5, threads):
                        my_seen[j] = 0
                if thread == 0:
                    shared[0] = 0
                    if stage == 0:
                        total[0] = 0
                head = 0
                cuda.syncthreads()
            round_tag = tag + (stage_rounds[stage] << 8)
            gain = int64(0)
            for j in range(stage_starts[stage] + thread, stage_starts[stage + 1], threads):
                v = seeds[j]
                if _receive(my_received, v, int64(ACTIVE), scales, seed, round_tag, first + i):
                    my_queue[cuda.atomic.add(shared, 0, 1)] = v
                    gain += _gain(v, targets, my_seen, rounds)
            cuda.syncthreads()
            tail = shared[0]
            while head < tail:
                cuda.syncthreads()
                for j in range(head + group, tail, groups):
                    u = my_queue[j]
                    for edge in range(indptr[u] + lane, indptr[u + 1], LANES):
                        v = indices[edge]
                        weight = int64(weights[edge]) + 1 if len(weights) else int64(1)
                        if _receive(my_received, v, weight, scales, seed, round_tag, first + i):
                            my_queue[cuda.atomic.add(shared, 0, 1)] = v
                            gain += _gain(v, targets, my_seen, rounds)
                cuda.syncthreads()
                head = tail
                tail = shared[0]
            if gain:
                cuda.atomic.add(total, 0, gain)
            cuda.syncthreads()
            if thread == 0:
                values[i, stage] = total[0]


_STAGES = (types.int64[::1], types.int32[::1], types.int64[::1], types.int64[::1])
_KEY = (types.uint64, types.int64, types.int64)
_EDGES = (types.int64[::1], types.int32[::1], types.uint32[::1])
_SCRATCH = (types.uint32[:, ::1], types.int32[:, ::1], types.int64[:, ::1])

KERNELS = {
    "ic_runs": (ic_runs, (*_EDGES, *_STAGES, *_KEY, types.uint32[:, ::1], *_SCRATCH)),
    "lt_runs": (lt_runs, (*_EDGES, types.int64[::1], *_STAGES, *_KEY, types.int64[:, ::1], *_SCRATCH)),
}
"""Every kernel with the types of the arguments it is launched with."""


def run_on_gpus(
    plan: Plan,
    runs: int,
    gpus: Sequence[int],
    progress: Progress | None = None,
    *,
    blocks: int | None = None,
    threads: int = THREADS,
) -> np.ndarray:
    """Return the value of each run at each stage; batches of runs go to whichever GPU is free.

    Parameters
    ----------
    plan : Plan
    runs : int
        Run ids 0 … runs - 1.
    gpus : sequence of int
        CUDA device numbers.
    progress : callable or None
        Called with (runs done, runs).
    blocks : int or None
        Blocks of a launch, each with scratch of its own; by default 8 a multiprocessor, fewer where memory is short.
    threads : int
        Threads of a block, a multiple of ``LANES``.

    Returns
    -------
    int64 array, shape (runs, stages)

    Raises
    ------
    DeviceError
        If the graph and the scratch of one block do not fit into a GPU.
    """
    graph = plan.graph
    words = (out_probabilities(graph),) if plan.model == "ic" else lt_weights(graph)
    inputs = (graph.indptr, graph.indices, *words, *plan.stages)
    values = np.empty((runs, len(plan.stage_rounds)), np.int64)
    states = []
    for gpu in gpus:
        with numba_on(gpu):
            size = min(blocks or _most_blocks(plan, inputs), runs)
            arrays = [cuda.to_device(array) for array in inputs]
            scratch = [cuda.device_array((size, width), dtype) for width, dtype in _scratch(plan)]
            states.append((gpu, size, arrays, scratch))
    kernel = ic_runs if plan.model == "ic" else lt_runs

    def run_batch(state: tuple, first: int, count: int) -> None:
        gpu, size, arrays, scratch = state
        with numba_on(gpu):
            part = cuda.device_array((count, values.shape[1]), np.int64)
            with loading:
                kernel[size, threads](*arrays, np.uint64(plan.seed), plan.tag, first, *scratch, part)
            part.copy_to_host(values[first : first + count])

    share_runs(states, run_batch, runs, RUNS_PER_BLOCK * max(state[1] for state in states), progress)
    return values


def _scratch(plan: Plan) -> list[tuple[int, type]]:
    """Return width and type of each scratch array of a block."""
    n = plan.graph.n
    words = (n + 31) // 32
    state = (words, np.uint32) if plan.model == "ic" else (n, np.int64)
    return [state, (words if plan.stage_rounds[-1] > 0 else 1, np.uint32), (n, np.int32)]


def _most_blocks(plan: Plan, inputs: Sequence[np.ndarray]) -> int:
    """Return how many blocks the current GPU runs at once, no more than its free memory has room for."""
    free = int(0.9 * min(cuda.current_context().get_memory_info()[0], float(1 << 62)))
    block = sum(width * np.dtype(dtype).itemsize for width, dtype in _scratch(plan))
    block += 8 * RUNS_PER_BLOCK * len(plan.stage_rounds)
    needs = {"graph": sum(array.nbytes for array in inputs), "one run": block}
    check_budget(needs, free, "the GPU", "use --device cpu")
    multiprocessors = getattr(cuda.get_current_device(), "MULTIPROCESSOR_COUNT", 1)
    return min(BLOCKS_PER_MULTIPROCESSOR * multiprocessors, (free - needs["graph"]) // block)
