"""Forward Monte Carlo on GPUs under linear threshold, a block per run: ``lt_runs`` of ``spread_cpu.py``.

A block keeps its run's state in its row of global scratch: the weight that each vertex has received, and the queue of
the vertices activated in this round. The block synchronises between levels of the search.
"""

from typing import Any, NamedTuple

from numba import int32, int64, uint32

from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.philox import draw4
from gpukit.evaluate.plan import LtEdges, Stages
from gpukit.evaluate.rule import lt_quota

MEMBERS = 8
"""Threads of a team, which divide the out-edges of a frontier vertex."""

ACTIVE = 1 << 62
"""LT weight that a seed receives: above every quota, and far from overflow even with all in-edges added."""


class Scratch(NamedTuple):
    """State of the runs of all blocks, a row for each block.

    Attributes
    ----------
    received : int64 array, shape (blocks, n)
        The weight that each vertex has received in this round, at least ``ACTIVE`` for a seed.
    seen : uint32 array, shape (blocks, words or 1)
        One bit per vertex: whether it was active in any round of the run.
    queue : int32 array, shape (blocks, n)
        The vertices activated in this round.
    """

    received: Any
    seen: Any
    queue: Any


@device
def _claim(bits, v):
    """Set bit v of a bitmap; return whether it was clear, true for only one thread."""
    mask = uint32(1) << uint32(v & 31)
    if bits[v >> 5] & mask:
        return False
    return (cuda.atomic.or_(bits, v >> 5, mask) & mask) == 0


@device
def _gain(v, targets, seen, rounds):
    """Return what the activation of v adds to its run: its weight, or 0 if an earlier round activated it."""
    if rounds > 1 and not _claim(seen, v):
        return int64(0)
    return targets[v] if len(targets) else int64(1)


_i64, _i32, _u32 = "int64[::1]", "int32[::1]", "uint32[::1]"
_stages = group(Stages, _i64, _i32, _i64, _i64)
_key = "uint64", "int64", "int64"
_words, _lists, _values = "uint32[:, ::1]", "int32[:, ::1]", "int64[:, ::1]"


@device
def _receive(received, v, weight, scales, seed, round_tag, run):
    """Add weight to that which v received; return whether this addition passed v's quota, true for only one thread."""
    before = cuda.atomic.add(received, v, weight)
    if before >= ACTIVE:
        return False
    low, high, _, _ = draw4(seed, round_tag, run, v, 0)
    quota = lt_quota(low, high, scales[v])
    return before < quota and before + weight >= quota


@kernel((group(LtEdges, _i64, _i32, _u32, _i64), _stages, *_key, group(Scratch, _values, _words, _lists), _values))
def lt_runs(edges, stages, seed, tag, first, scratch, values):
    """Run the threshold cascades first … first + len(values) - 1, one after the other in each block.

    A team of ``MEMBERS`` threads owns a frontier vertex and divides its out-edges. Each thread adds the weight to its
    head with a 64-bit atomic. The one addition that passes the head's quota activates it. Cost: one atomic and one
    Philox call per out-edge of each activated vertex, n words to clear a round.

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
    own_received, own_seen, own_queue = scratch.received[block], scratch.seen[block], scratch.queue[block]
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
            # Level by level until no vertex is activated; the claims of a level end before its queue is read.
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
