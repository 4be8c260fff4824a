"""Forward Monte Carlo on the CPU (Numba). The ``*_cuda.py`` modules give the same values on GPUs.

A run is a sequence of *stages*. Each stage adds seeds and continues until no more vertex is activated, so one run gives
the spread of every prefix of a seed list. A stage with a new round number starts with fresh coins and no active vertex;
a vertex counts once per run.
"""

import numba
import numpy as np
from numba import int64, uint32

from gpukit.device.compiled import njit
from gpukit.device.philox import draw4
from gpukit.evaluate.batches import Progress, share_runs
from gpukit.evaluate.plan import Plan
from gpukit.evaluate.rule import lt_quota

BATCH = 64
"""Runs in a batch of a thread."""

GROUP = 256
"""Philox calls made together, so that they vectorise and cache misses overlap."""

ACTIVE = 1 << 62
"""Subtracted from the entry of an active vertex, so that no further weight activates it again."""


@njit
def ic_runs(edges, stages, seed, tag, first, visited, values):
    """Run the independent cascades first … first + len(values) - 1, one after the other.

    The coins of the out-edges of u in order are the words of ``draw4(seed, tag | round, run, u, 0 …)``, four a call.

    Parameters
    ----------
    edges : IcEdges
        The graph.
    stages : Stages
        Seeds of each stage; seeds are distinct within a round.
    seed, tag : uint64, int64
        Key of the draws; the round is added to the tag.
    first : int64
        First run id.
    visited : uint8 array, shape (n + 1,)
        Zero at first, then kept between calls: the epoch in which a vertex was last activated; the last entry is the
        epoch counter. An epoch is one round of one run.
    values : int64 array, shape (runs, stages)
        Receives the sum of targets over the vertices activated up to each stage.
    """
    indptr, indices, thresholds = edges
    targets, seeds, stage_starts, stage_rounds = stages
    n = len(indptr) - 1
    rounds = stage_rounds[-1] + 1
    queue = np.empty(n + 1, np.int32)
    vertex = np.empty(GROUP, np.int32)
    call = np.empty(GROUP, np.uint32)
    edge = np.empty(GROUP, np.int64)
    live = np.empty(GROUP, np.uint32)
    limits = np.zeros((4, GROUP), np.uint32)
    found = np.empty(4 * GROUP + 1, np.int64)
    epoch = int64(visited[n])
    for i in range(len(values)):
        if epoch + rounds > 255:
            visited[:] = 0
            epoch = 0
        old = epoch
        count = 0
        head = tail = 0
        for stage in range(len(stage_rounds)):
            if stage == 0 or stage_rounds[stage] != stage_rounds[stage - 1]:
                epoch = old + 1 + stage_rounds[stage]
                head = tail = 0
            round_tag = tag + (stage_rounds[stage] << 8)
            for j in range(stage_starts[stage], stage_starts[stage + 1]):
                v = seeds[j]
                if visited[v] != epoch:
                    if visited[v] <= old:
                        count += targets[v] if len(targets) else 1
                    visited[v] = epoch
                    queue[tail] = v
                    tail += 1
            skipped = 0
            while head < tail:
                # Up to GROUP Philox calls of four edges each; the first ``skipped`` calls of the first vertex are done.
                size = 0
                while head < tail and size < GROUP:
                    u = queue[head]
                    low, high = indptr[u] + 4 * skipped, indptr[u + 1]
                    while low < high and size < GROUP:
                        vertex[size] = u
                        call[size] = skipped
                        edge[size] = low
                        live[size] = (1 << min(4, high - low)) - 1
                        size += 1
                        skipped += 1
                        low += 4
                    if low >= high:
                        head += 1
                        skipped = 0
                # Their coins: which of the four edges are live.
                for j in range(size):
                    for k in range(4):
                        limits[k, j] = thresholds[min(edge[j] + k, len(thresholds) - 1)]
                for j in range(size):
                    a, b, c, d = draw4(seed, round_tag, first + i, vertex[j], call[j])
                    hits = uint32(a <= limits[0, j]) | uint32(b <= limits[1, j]) << 1
                    live[j] &= hits | uint32(c <= limits[2, j]) << 2 | uint32(d <= limits[3, j]) << 3
                hits = 0
                for j in range(size):
                    for k in range(4):
                        found[hits] = edge[j] + k
                        hits += (live[j] >> k) & 1
                # Their heads activate.
                for j in range(hits):
                    v = indices[found[j]]
                    if visited[v] != epoch:
                        if visited[v] <= old:
                            count += targets[v] if len(targets) else 1
                        visited[v] = epoch
                        queue[tail] = v
                        tail += 1
            values[i, stage] = count
        epoch = old + rounds
    visited[n] = epoch


@njit
def lt_runs(edges, stages, seed, tag, first, visited, left, values):
    """Run the threshold cascades first … first + len(values) - 1, one after the other.

    The threshold of v comes from ``draw4(seed, tag | round, run, v, 0)``: v activates once the weights of its active
    in-neighbours reach it. No live edge is chosen, so this checks the samplers that choose one. The inner loops always
    write, changed or not, because a branch there would be mispredicted once in five edges.

    Parameters
    ----------
    edges : LtEdges
        The graph.
    left : int64 array, shape (n,)
        Zero before and after: the weight that a vertex still lacks; 0 untouched, negative active.
    stages, seed, tag, first, visited, values
        As in :func:`ic_runs`; an epoch is one run.
    """
    indptr, indices, weights, scales = edges
    targets, seeds, stage_starts, stage_rounds = stages
    n = len(indptr) - 1
    queue = np.empty(n + 1, np.int32)
    touched = np.empty(n + 1, np.int32)
    draws = np.empty((2, GROUP), np.uint32)
    epoch = int64(visited[n])
    for i in range(len(values)):
        if epoch == 255:
            visited[:] = 0
            epoch = 0
        epoch += 1
        count = 0
        head = tail = used = 0
        for stage in range(len(stage_rounds)):
            if stage > 0 and stage_rounds[stage] != stage_rounds[stage - 1]:
                for j in range(used):
                    left[touched[j]] = 0
                head = tail = used = 0
            round_tag = tag + (stage_rounds[stage] << 8)
            for j in range(stage_starts[stage], stage_starts[stage + 1]):
                v = seeds[j]
                if left[v] == 0:
                    touched[used] = v
                    used += 1
                if left[v] >= 0:
                    left[v] = -ACTIVE
                    queue[tail] = v
                    tail += 1
            while head < tail:
                # Some vertices of the frontier, and their heads that are met for the first time.
                old_head, old_used, looked = head, used, 0
                while head < tail and looked < 4 * GROUP:
                    u = queue[head]
                    head += 1
                    looked += indptr[u + 1] - indptr[u]
                    if visited[u] != epoch:
                        visited[u] = epoch
                        count += targets[u] if len(targets) else 1
                    for j in range(indptr[u], indptr[u + 1]):
                        v = uint32(indices[j])
                        lacks = left[v]
                        fresh = int64(lacks == 0)
                        touched[used] = v
                        used += fresh
                        left[v] = lacks + fresh
                # The thresholds of these heads.
                for low in range(old_used, used, GROUP):
                    size = min(GROUP, used - low)
                    for j in range(size):
                        draws[0, j], draws[1, j], _, _ = draw4(seed, round_tag, first + i, touched[low + j], 0)
                    for j in range(size):
                        v = touched[low + j]
                        left[v] = lt_quota(draws[0, j], draws[1, j], scales[v])
                # Subtract the weights; a head whose threshold is reached activates.
                for k in range(old_head, head):
                    u = queue[k]
                    for j in range(indptr[u], indptr[u + 1]):
                        v = uint32(indices[j])
                        lacks = left[v]
                        rest = lacks - (int64(weights[j]) + 1 if len(weights) else 1)
                        passed = int64((rest <= 0) & (lacks > 0))
                        queue[tail] = v
                        tail += passed
                        left[v] = rest - passed * ACTIVE
            values[i, stage] = count
        for j in range(used):
            left[touched[j]] = 0
    visited[n] = epoch


def run_on_cpu(plan: Plan, runs: int, progress: Progress | None = None, *, first: int = 0) -> np.ndarray:
    """Return the value of each run at each stage, with Numba's current number of threads.

    Parameters
    ----------
    plan : Plan
    runs : int
        Run ids first … first + runs - 1.
    progress : callable or None
        Called with (runs done, runs).
    first : int

    Returns
    -------
    int64 array, shape (runs, stages)
    """
    edges, stages, n = plan.edges(), plan.stages, plan.graph.n
    values = np.empty((runs, len(stages.rounds)), np.int64)
    scratch: list[tuple] = [(np.zeros(n + 1, np.uint8),) for _ in range(numba.get_num_threads())]
    if plan.model == "lt":
        scratch = [(*own, np.zeros(n, np.int64)) for own in scratch]
    kernel = ic_runs if plan.model == "ic" else lt_runs

    def run_batch(own: tuple, start: int, count: int) -> None:
        part = values[start : start + count]
        kernel(edges, stages, np.uint64(plan.seed), plan.tag, first + start, *own, part)

    share_runs(scratch, run_batch, runs, BATCH, progress)
    return values
