"""GAMCSS, the paper's GPU competitor (sections 3.1 and 5): one array for all sets, which are drawn again every round.

As the paper describes it, a warp draws a set into its own working space, testing every in-edge as gIM does. It copies
the set to the common array, at a place from a global counter. Each seed takes two launches, with the host in between:
one finds the largest count per cost, the other reads all sets. Sets and seeds equal those of the CPU collection with
scan tables.
"""

from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, xp
from gpukit.device.launch import launch
from gpukit.errors import DeviceError, UsageError
from gpukit.merit.best_cuda import BLOCK
from gpukit.merit.sets import Selection, packed, top_by_ratio
from gpukit.papers.merit import gamcss_cuda as kernels
from gpukit.papers.merit.rings import RingSets

WARP = 32

MAX_MEMBERS = 2**31 - 1
"""Most members of all sets: places in the common array are 32-bit numbers, as in the paper's code."""


class GamcssSets:
    """A collection that is never updated: the owner restarts it every round.

    Parameters
    ----------
    rings : RingSets
        Draws the sets, one warp per set, and stores them until they are copied to the common array.
    """

    peak_members = 0
    has_history = False

    def __init__(self, rings: RingSets) -> None:
        self.rings, self.state = rings, rings.state
        rings.max_block = WARP
        self._common, self._used = Buffer(1, np.int32), Buffer(1, np.int64, 0)
        self._common_planned = 0
        self.restart(0)

    @property
    def probes(self) -> int:
        """Total number of vertices whose in-edges were drawn."""
        return self.rings.probes

    def restart(self, first: int) -> None:
        """Forget all sets; the next ones have ids from ``first`` on."""
        self.rings.restart(first)
        self.size = self._valid = self._counted = 0
        self._used.array.fill(0)

    def memory(self) -> int:
        """Return the used bytes of device memory, including those that collections share."""
        return self.rings.memory() + int(self._common.array.nbytes)

    def planned(self) -> int:
        """Return the planned bytes of device memory, including those that collections share."""
        return self.rings.planned() + self._common_planned

    def kill(self, vertices: np.ndarray, weakened: np.ndarray) -> None:
        """Record that vertices died: no set is valid any more."""
        self._valid = 0
        self.rings.kill(vertices, weakened)

    def begin(self, size: int) -> None:
        """Do nothing."""

    def update(self, size: int) -> None:
        """Refuse an update, which this system does not have.

        Raises
        ------
        UsageError
            If there are sets of an earlier round.
        """
        if min(size, self.size) > self._valid:
            raise UsageError("GAMCSS has no update; use update regenerate")

    def extend(self, size: int) -> None:
        """Draw sets until there are ``size``, then copy them to the common array."""
        low = self.size
        if size <= low:
            return
        used = int(self._used.host()[0])
        members = used + self.rings.draw(low, size)
        # At most a third of the rings is counted, and the common array may be twice as long as that.
        self._common_planned = max(self._common_planned, self.rings.ring_bytes)
        if members > MAX_MEMBERS:
            raise DeviceError(
                f"{size:,} mRR sets have {members:,} members, and GAMCSS numbers {MAX_MEMBERS:,} at most; "
                "use another method (segmented draws the same sets), or a larger epsilon"
            )
        self.size = self._valid = size
        self._common.reserve(members, used)
        starts, sizes, ring, segments = self.rings.views
        launch(kernels.pack, self._grid(size - low), WARP,
            starts, sizes, ring, segments, low, size, self._common.view, self._used.view,
        )  # fmt: skip

    @property
    def _views(self) -> tuple[Any, ...]:
        starts, sizes, _, _ = self.rings.views
        return starts, sizes, self._common.view

    def _grid(self, sets: int) -> int:
        return 1 if xp is np else min(sets, 4 * self.state.blocks)

    def select(self, b: int, costs: np.ndarray, judge: Any) -> Selection:
        """Choose up to b seeds by coverage per cost, with two launches each."""
        state = self.state
        state.costs.array[:] = xp.asarray(costs.astype(np.int32))
        state.covered.reserve(self._valid, 0)
        grid = self._grid(self._valid)
        counts = state.counts.array
        if self._counted == 0:
            counts.fill(0)
        launch(kernels.count, grid, WARP, *self._views, self._counted, self._valid, state.counts.view)
        self._counted = self._valid
        state.work.array[:] = counts
        first = xp.argsort(-(counts / state.costs.array))[: 2 * b]
        leaders = top_by_ratio(Buffer(counts[first]).host(), Buffer(state.costs.array[first]).host(), b)
        state.covered.array.fill(0)
        blocks = 1 if xp is np else 4 * 132
        champions = Buffer((3, blocks), np.int64)
        seeds: list[int] = []
        gains: list[int] = []
        while len(seeds) < b:
            launch(kernels.best_of_blocks, blocks, BLOCK, state.work.view, state.costs.view, champions.view)
            best = (-1, 0, 1)
            for v, hits, cost in champions.host().T.tolist():
                ahead = hits * best[2] - best[1] * cost
                if v >= 0 and (best[0] < 0 or ahead > 0 or (ahead == 0 and v < best[0])):
                    best = (v, hits, cost)
            if best[0] < 0:
                break
            seeds.append(best[0])
            gains.append(best[1])
            launch(kernels.cover, grid, WARP, *self._views, self._valid, best[0], state.covered.view, state.work.view)
        chosen = np.array(seeds, np.int32)
        hits = None if judge is None else judge.count_hits(chosen)
        return Selection(chosen, np.array(gains, np.int64), hits, leaders)

    def count_hits(self, seeds: np.ndarray) -> int:
        """Return the number of valid sets that contain a seed."""
        marks, hits, grid = self.state.marks, Buffer(1, np.int64, 0), 1 if xp is np else self.state.blocks
        marks.array[xp.asarray(seeds)] = 1
        launch(kernels.count_hits, grid, WARP, *self._views, self._valid, marks.view, hits.view)
        marks.array[xp.asarray(seeds)] = 0
        return int(hits.host()[0])

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32) of the valid sets, members of a set ascending."""
        starts, sizes = (buffer[: self._valid] for buffer in self.rings.places())
        common = self._common.host()
        return packed([common[low : low + size] for low, size in zip(starts, sizes, strict=True)])
