"""GAMCSS, the paper's GPU competitor (sections 3.1 and 5): sets in one array for all, drawn anew every round.

As the paper describes it: a warp draws a set, testing every in-edge as gIM does, into working space of its own, and
copies it to the common array at a place that a global counter gives; each seed takes a launch that looks for the
largest count per cost and one that goes through all sets, with the host in between. Sets and seeds are those of the
CPU collection with scan tables.
"""

from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, xp
from gpukit.device.launch import launch
from gpukit.errors import DeviceError, UsageError
from gpukit.merit import gamcss_cuda as kernels
from gpukit.merit.cover_cuda import BLOCK
from gpukit.merit.sets import Selection, lead
from gpukit.merit.sets_cuda import OwningSets
from gpukit.merit.update_cuda import MEMBERS, OVERFLOW, PROBES

WARP = 32

MOST_MEMBERS = 2**31 - 1
"""Members of all sets at most: places in the common array are 32-bit numbers, as in the paper's code."""


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

    def _plan(self, size: int) -> int:
        # A third of the rings counts at most, and the common array may be twice as long as that.
        return super()._plan(size) + 4 * self.segments * self.length

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
        members = int(control[MEMBERS])
        if members > MOST_MEMBERS:
            raise DeviceError(
                f"{size:,} mRR sets have {members:,} members, and GAMCSS numbers {MOST_MEMBERS:,} at most; "
                "use another method (segmented draws the same sets), or a larger epsilon"
            )
        self.size = self._valid = size
        self._common.reserve(members, int(self._used.host()[0]))
        launch(kernels.pack, self._grid(size - low), WARP,
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
        return 1 if xp is np else min(sets, 4 * self.state.blocks)

    def select(self, b: int, costs: np.ndarray, judge: Any) -> Selection:
        """Choose up to b seeds by coverage per cost, with two launches each."""
        state = self.state
        state.costs.array[:] = xp.asarray(costs.astype(np.int32))
        state.covered.reserve(self._valid, 0)
        sets = (self._starts.view, self._sizes.view, self._common.view)
        grid = self._grid(self._valid)
        counts = state.counts.array
        if self._counted == 0:
            counts.fill(0)
        launch(kernels.count, grid, WARP, *sets, self._counted, self._valid, state.counts.view)
        self._counted = self._valid
        state.work.array[:] = counts
        first = xp.argsort(-(counts / state.costs.array))[: 2 * b]
        leaders = lead(Buffer(counts[first]).host(), Buffer(state.costs.array[first]).host(), b)
        state.covered.array.fill(0)
        blocks = 1 if xp is np else 4 * 132
        champions = Buffer((3, blocks), np.int64)
        seeds: list[int] = []
        gains: list[int] = []
        while len(seeds) < b:
            launch(kernels.lead, blocks, BLOCK, state.work.view, state.costs.view, champions.view)
            best = (-1, 0, 1)
            for v, hits, cost in champions.host().T.tolist():
                ahead = hits * best[2] - best[1] * cost
                if v >= 0 and (best[0] < 0 or ahead > 0 or (ahead == 0 and v < best[0])):
                    best = (v, hits, cost)
            if best[0] < 0:
                break
            seeds.append(best[0])
            gains.append(best[1])
            launch(kernels.cover, grid, WARP, *sets, self._valid, best[0], state.covered.view, state.work.view)
        chosen = np.array(seeds, np.int32)
        hits = None if judge is None else judge.count_hits(chosen)
        return Selection(chosen, np.array(gains, np.int64), hits, leaders)

    def count_hits(self, seeds: np.ndarray) -> int:
        """Return how many valid sets hold a seed."""
        marks, hits = self.state.none, Buffer(1, np.int64, 0)
        marks.array[xp.asarray(seeds)] = 1
        views = (self._starts.view, self._sizes.view, self._common.view)
        launch(
            kernels.count_hits, 1 if xp is np else self.state.blocks, WARP, *views, self._valid, marks.view, hits.view
        )
        marks.array[xp.asarray(seeds)] = 0
        return int(hits.host()[0])

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32) of the valid sets, members of a set ascending."""
        starts, sizes, common = self._starts.host(self._valid), self._sizes.host(self._valid), self._common.host()
        sets = [np.sort(common[low : low + size]) for low, size in zip(starts, sizes, strict=True)]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
        return offsets, np.concatenate([np.zeros(0, np.int32), *sets])
