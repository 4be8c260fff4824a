"""GAMCSS, the paper's GPU competitor (sections 3.1 and 5): sets in one array for all, drawn anew every round.

As the paper describes it: a warp draws a set, testing every in-edge as gIM does, into working space of its own, and
copies it to the common array at a place that a global counter gives; each seed takes a launch that looks for the
largest count per cost and one that goes through all sets, with the host in between. Sets and seeds are those of the
CPU collection with scan tables.
"""

from typing import Any

import numba
import numpy as np
from numba import cuda, int32, int64

from gpukit.device.arrays import Buffer, xp
from gpukit.errors import UsageError
from gpukit.merit.cuda import BATCH, MEMBERS, OVERFLOW, PROBES, scan_batch, wrapped
from gpukit.merit.cuda_select import BLOCK, better, reduce_best
from gpukit.merit.sets_cuda import OwningSets

WARP = 32


@cuda.jit(cache=True)
def pack(starts, sizes, ring, segments, low, high, common, used):
    """Copy the sets low … high - 1 to the common array, at places that the counter ``used[0]`` gives; a block a set."""
    shared = cuda.shared.array(1, int64)
    length = int64(len(ring) // segments)
    for r in range(low + cuda.blockIdx.x, high, cuda.gridDim.x):
        base, start = r % segments * length, int64(starts[r])
        if cuda.threadIdx.x == 0:
            shared[0] = cuda.atomic.add(used, 0, int64(sizes[r]))
        cuda.syncthreads()
        place = shared[0]
        for i in range(cuda.threadIdx.x, sizes[r], cuda.blockDim.x):
            common[place + i] = ring[base + wrapped(start + i, length)]
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            starts[r] = place


@cuda.jit(cache=True)
def count(starts, sizes, common, low, high, counts):
    """Add the occurrences in the sets low … high - 1 to ``counts``; a block a set."""
    for r in range(low + cuda.blockIdx.x, high, cuda.gridDim.x):
        for i in range(cuda.threadIdx.x, sizes[r], cuda.blockDim.x):
            cuda.atomic.add(counts, common[starts[r] + i], 1)


@cuda.jit(cache=True)
def lead(work, costs, champions):
    """Write the best vertex of each block's share, with its count and cost, to ``champions``; blocks of BLOCK."""
    best = cuda.shared.array(BLOCK, int64)
    best_count = cuda.shared.array(BLOCK, int64)
    best_cost = cuda.shared.array(BLOCK, int64)
    top, top_count, top_cost = int64(-1), int64(0), int64(1)
    for v in range(cuda.grid(1), len(work), cuda.gridsize(1)):
        if work[v] > 0 and better(int64(work[v]), costs[v], v, top_count, top_cost, top):
            top, top_count, top_cost = int64(v), int64(work[v]), int64(costs[v])
    lane = cuda.threadIdx.x
    best[lane], best_count[lane], best_cost[lane] = top, top_count, top_cost
    reduce_best(best, best_count, best_cost)
    if lane == 0:
        block = cuda.blockIdx.x
        champions[0, block], champions[1, block], champions[2, block] = best[0], best_count[0], best_cost[0]


@cuda.jit(cache=True)
def cover(starts, sizes, common, high, seed, covered, work):
    """Cover the sets that hold a seed and take their members out of ``work`` (algorithm 3); a block a set."""
    held = cuda.shared.array(1, int32)
    for r in range(cuda.blockIdx.x, high, cuda.gridDim.x):
        if cuda.threadIdx.x == 0:
            held[0] = 0
        cuda.syncthreads()
        if covered[r] == 0:
            for i in range(cuda.threadIdx.x, sizes[r], cuda.blockDim.x):
                if common[starts[r] + i] == seed:
                    held[0] = 1
        cuda.syncthreads()
        if held[0] != 0:
            for i in range(cuda.threadIdx.x, sizes[r], cuda.blockDim.x):
                cuda.atomic.add(work, common[starts[r] + i], -1)
            if cuda.threadIdx.x == 0:
                covered[r] = 1
        cuda.syncthreads()


@cuda.jit(cache=True)
def count_hits(starts, sizes, common, high, marks, hits):
    """Add the number of sets with a marked member to ``hits[0]``."""
    found = cuda.shared.array(BATCH, int32)
    for place in range(cuda.blockIdx.x * BATCH, high, cuda.gridDim.x * BATCH):
        scan_batch(starts, sizes, common, 1, place, high, marks, 1, found)
        for q in range(cuda.threadIdx.x, BATCH, cuda.blockDim.x):
            if found[q] != 0:
                cuda.atomic.add(hits, 0, 1)
        cuda.syncthreads()


class GamcssSets(OwningSets):
    """A collection that is never updated: the owner restarts it every round."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._common, self._used = Buffer(1, np.int32), Buffer(1, np.int64, 0)
        super().__init__(*args, **options)

    def restart(self, first: int) -> None:
        """Forget all sets; the next ones have ids from ``first`` on."""
        super().restart(first)
        self._used.array.fill(0)

    def memory(self) -> int:
        """Return the bytes of device memory taken, with what collections share."""
        return super().memory() + int(self._common.array.nbytes)

    def update(self, size: int) -> None:
        """Refuse what this system cannot do.

        Raises
        ------
        UsageError
            If there are sets of an earlier round.
        """
        if min(size, self.size) > self._valid:
            raise UsageError("this storage has no update; use --update regenerate")

    def _block(self, grid: int) -> int:
        return WARP

    def extend(self, size: int) -> None:
        """Draw sets until there are ``size``, a warp each, then copy them to the common array."""
        low = self.size
        if size <= low:
            return
        while True:
            self._rings.array.fill(0)
            self._make_room(size)
            self._advance(low, low, size)
            control = self._control.host()
            if control[OVERFLOW] == 0:
                break
            self._forget_overflow(size)
        self.size = self._valid = size
        self._common.reserve(int(control[MEMBERS]), int(self._used.host()[0]))
        pack[self._grid(size - low), WARP](
            self._starts.view, self._sizes.view, self._ring.view, self.segments, low, size, self._common.view,
            self._used.view,
        )  # fmt: skip

    def _forget_overflow(self, size: int) -> None:
        """Make longer rings; what was copied before stays."""
        self._probes += int(self._control.host()[PROBES])
        self._control.array.fill(0)
        self._new_rings(size, 2 * self.length)

    def _new_rings(self, size: int, least: int) -> None:
        super()._new_rings(size, least)
        self._control.array[MEMBERS] = int(self._used.host()[0])

    def _grid(self, sets: int) -> int:
        return 1 if xp is np else min(sets, 8 * self.state.blocks)

    def select(self, b: int, costs: np.ndarray, judge: Any) -> tuple[np.ndarray, np.ndarray, int | None]:
        """Choose up to b seeds by coverage per cost, with two launches each."""
        state = self.state
        state.costs.array[:] = xp.asarray(costs.astype(np.int32))
        state.covered.reserve(self._valid, 0)
        sets = (self._starts.view, self._sizes.view, self._common.view)
        grid = self._grid(self._valid)
        if self._counted == 0:
            state.counts.array.fill(0)
        count[grid, WARP](*sets, self._counted, self._valid, state.counts.view)
        self._counted = self._valid
        state.work.array[:] = state.counts.array
        state.covered.array.fill(0)
        blocks = 1 if xp is np else 4 * 132
        champions = Buffer((3, blocks), np.int64)
        seeds: list[int] = []
        gains: list[int] = []
        while len(seeds) < b:
            lead[blocks, BLOCK](state.work.view, state.costs.view, champions.view)
            best = (-1, 0, 1)
            for v, hits, cost in champions.host().T.tolist():
                ahead = hits * best[2] - best[1] * cost
                if v >= 0 and (best[0] < 0 or ahead > 0 or (ahead == 0 and v < best[0])):
                    best = (v, hits, cost)
            if best[0] < 0:
                break
            seeds.append(best[0])
            gains.append(best[1])
            cover[grid, WARP](*sets, self._valid, best[0], state.covered.view, state.work.view)
        chosen = np.array(seeds, np.int32)
        return chosen, np.array(gains, np.int64), None if judge is None else judge.count_hits(chosen)

    def count_hits(self, seeds: np.ndarray) -> int:
        """Return how many valid sets hold a seed."""
        marks, hits = self.state.none, Buffer(1, np.int64, 0)
        marks.array[xp.asarray(seeds)] = 1
        count_hits[1 if xp is np else self.state.blocks, WARP](
            self._starts.view, self._sizes.view, self._common.view, self._valid, marks.view, hits.view
        )
        marks.array[xp.asarray(seeds)] = 0
        return int(hits.host()[0])

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32) of the valid sets, members of a set ascending."""
        starts, sizes, common = self._starts.host(self._valid), self._sizes.host(self._valid), self._common.host()
        sets = [np.sort(common[low : low + size]) for low, size in zip(starts, sizes, strict=True)]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        return offsets, np.concatenate([np.zeros(0, np.int32), *sets])


_u8, _i32, _i64, _int = numba.uint8[::1], numba.int32[::1], numba.int64[::1], numba.int64

KERNELS = {
    "pack": (pack, (_i32, _i32, _i32, _int, _int, _int, _i32, _i64)),
    "count": (count, (_i32, _i32, _i32, _int, _int, _i32)),
    "lead": (lead, (_i32, _i32, numba.int64[:, ::1])),
    "cover": (cover, (_i32, _i32, _i32, _int, _int, _i32, _i32)),
    "count_hits": (count_hits, (_i32, _i32, _i32, _int, _u8, _i64)),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
