"""A collection of mRR sets on a GPU in segments, as in the paper (3.1, 3.3.3); sets and seeds equal those of the CPU.

MERIT itself keeps sets in hash tables (:mod:`gpukit.merit.sets_cuda`). The load groups of figures 9, 10 and 16 and the
method ``segmented`` of figures 11 to 15 need segments, and GAMCSS draws its sets there.
"""

from typing import Any
from weakref import WeakSet

import numpy as np

from gpukit.device.arrays import Buffer, resident_blocks, xp
from gpukit.device.launch import launch
from gpukit.device.memory import check_budget
from gpukit.device.philox import Stream
from gpukit.merit.residual import Residual
from gpukit.merit.rule import Key, Remaining, Sets, Span
from gpukit.merit.sets import Selection, packed
from gpukit.merit.sets_cuda import REACH
from gpukit.merit.state_cuda import SEARCH_SHARE, DeviceState, selection_of, total_bytes
from gpukit.papers.merit import cover_cuda, discover_cuda
from gpukit.papers.merit import update_cuda as kernels
from gpukit.worlds.collection import check_ids
from gpukit.worlds.reverse import Reverse

MAX_BLOCK = kernels.AT_ONCE
"""Most threads of a block: a step has no work for more."""

MIN_LENGTH = 1 << 12
"""Least number of entries of a ring."""

MIN_SEGMENTS = 32

PER_BLOCK = 4
"""Segments per block that the GPU can hold at once: blocks that end early make room for others."""

HEADROOM = 2
"""Factor by which a new ring is longer than expected."""

WIDE = 1000
"""Mean number of members of a set from which on a block has two warps instead of one."""

CROWDED = 4
"""Sets of a segment above which more segments are made, if possible: the sets of a segment wait for each other."""

FEW, SET_BYTES = 64, 25
"""Initial capacity of the arrays in sets, and bytes of device memory per set besides its members; the arrays may be
twice as long as the number of sets."""


class RingState(DeviceState):
    """The data that the collections of a campaign share: bitmaps of searches and a filter of dead vertices."""

    def __init__(self, reverse: Reverse, residual: Residual) -> None:
        self.block = 32 if xp is np else kernels.BLOCK
        self.blocks = 2 if xp is np else resident_blocks(kernels.BLOCK, kernels.REGISTERS)
        self.no_order = Buffer(np.empty(0, np.int32))
        # Weak references: a collection refers to its state, and both free their memory when nobody uses them.
        self.collections: WeakSet[RingSets] = WeakSet()
        super().__init__(reverse, residual)

    def _plan_searches(self, n: int, free: int) -> dict[str, int]:
        """Return the bytes that searches need, by name; also choose the number of segments."""
        words, self.segments = (n + 31) // 32, PER_BLOCK * self.blocks
        while self.segments > MIN_SEGMENTS and 4 * words * self.segments > SEARCH_SHARE * free:
            self.segments //= 2
        return {"bitmaps": 4 * words * self.segments, "filter": 4 * discover_cuda.FILTER_WORDS}

    def _make_searches(self, n: int) -> None:
        """Allocate the arrays that :meth:`_plan_searches` planned."""
        self.visited = Buffer((self.segments, (n + 31) // 32), np.uint32, 0)
        self.filter = Buffer(discover_cuda.FILTER_WORDS, np.uint32, 0)
        self.counts = Buffer(n, np.int32)

    @property
    def _searches(self) -> tuple[Buffer, ...]:
        """The arrays of searches."""
        return self.visited, self.filter, self.counts

    def mark_dead(self, vertices: np.ndarray, weakened: np.ndarray, living_in: np.ndarray) -> None:
        """Mark vertices as dead, and update the number of living in-neighbours of their out-neighbours."""
        if all(one._valid == one.size for one in self.collections):
            # No set contains a vertex that died earlier. The fewer vertices are in the filter, the fewer members match
            # it by chance.
            self.filter.array.fill(0)
        pairs = len(vertices) * self.visited.array.shape[0]
        grid = 1 if xp is np else min(4 * self.blocks, -(-pairs // 128))
        launch(discover_cuda.mark_dead, grid, 32 if xp is np else 128,
            Buffer(vertices).view, 0, len(vertices), self.dead.view, self.filter.view, self.visited.view,
        )  # fmt: skip
        self.weaken(weakened, living_in)


class RingSets:
    """A collection on the current GPU, in segments; set r is in segment r mod segments.

    Parameters
    ----------
    state : RingState
    reverse, residual
        As for :class:`gpukit.merit.sets.CpuSets`.
    seed : int
    raw : bool
        Whether LT weights are not renormalised.
    groups : int
        β: the update processes the segments in this number of launches, ordered by falling number of changed sets. Its
        blocks are larger by this factor, up to ``MAX_BLOCK`` threads.
    share : float
        Share of the memory for the rings of all collections.
    owner : bool
        Whether this collection reports dead vertices to the state; its memory then includes that of the state.
    """

    has_history = False

    def __init__(
        self, state: RingState, reverse: Reverse, residual: Residual, seed: int, *, raw: bool, groups: int,
        share: float, owner: bool,
    ) -> None:  # fmt: skip
        self.state, self.reverse, self.residual = state, reverse, residual
        self.raw, self.groups, self.share, self.owner = raw, groups, share, owner
        self.key = Key(np.uint64(seed), int(reverse.stream), int(Stream.MRR_ROOT))
        self.segments, self.length = state.segments, 0
        self.peak_members = self._members = self._most_bytes = self._planned = self._probes = 0
        self.max_block = MAX_BLOCK
        self._reach = REACH
        self._starts, self._sizes, self._roots = (Buffer(FEW, np.int32) for _ in range(3))
        self._cursors, self._flags = Buffer(FEW, np.int64), Buffer(FEW, np.uint8)
        self._load, self._changed = Buffer(self.segments, np.int32, 0), Buffer(self.segments, np.int32)
        self._ring, self._states = Buffer(1, np.int32), Buffer((self.segments, 4), np.int64, 0)
        self._control = Buffer(kernels.CONTROL, np.int64, 0)
        state.collections.add(self)
        self.restart(0)

    @property
    def probes(self) -> int:
        """Total number of vertices whose in-edges were drawn."""
        return self._probes + int(self._control.host()[kernels.PROBES])

    def memory(self) -> int:
        """Return the peak of used bytes of device memory."""
        taken = total_bytes(self._starts, self._sizes, self._roots, self._cursors, self._flags, self._ring)
        self._most_bytes = max(self._most_bytes, taken)
        return self._most_bytes + (self.state.bytes() if self.owner else 0)

    def planned(self) -> int:
        """Return the largest number of bytes of device memory that was planned when rings were made."""
        return self._planned + (self.state.planned if self.owner else 0)

    def restart(self, first: int) -> None:
        """Forget all sets; the next ones have ids from ``first`` on."""
        self.first, self.size, self._valid, self._counted = first, 0, 0, 0
        self._states.array.fill(0)
        self._control.array[kernels.MEMBERS] = 0

    def kill(self, vertices: np.ndarray, weakened: np.ndarray) -> None:
        """Record that vertices died: all sets must be checked again."""
        if self.owner:
            self.state.mark_dead(vertices, weakened, self.residual.living_in)
        self._valid = 0

    def begin(self, size: int) -> None:
        """Do nothing: an update of sets that are not needed might make new rings."""

    def update(self, size: int) -> None:
        """Update the existing sets below ``size`` to the current round."""
        low, high = self._valid, min(size, self.size)
        if high <= low:
            return
        if self._make_room(size):
            self._update_sets(0, 0, high)
            self.size = high
        else:
            self._update_changed(low, high)
        self._valid = high

    def extend(self, size: int) -> None:
        """Draw sets until there are ``size``; existing sets must be up to date."""
        if size <= self.size:
            return
        check_ids(self.first, size)
        assert self._valid == self.size
        if self._make_room(size):
            self._update_sets(0, 0, size)
        else:
            self._update_sets(self.size, self.size, size)
        self.size = self._valid = size

    def _make_room(self, size: int) -> bool:
        """Make rings for ``size`` sets of this round if the present ones are probably too short.

        Return whether all are new.
        """
        sets = max(size, self.size)
        self._planned = max(self._planned, self._plan(sets))
        for array in (self._starts, self._sizes, self._roots, self._cursors, self._flags):
            array.reserve(size, self.size)
        crowded = sets > CROWDED * self.segments and self._fitting(sets, 0) > self.segments
        if self._needed(sets, self.segments) <= self.length and not crowded:
            return False
        self._new_rings(size, 0)
        return True

    def _needed(self, size: int, segments: int) -> int:
        """Return the length of rings of this round: three times the counted members, four times the largest set."""
        mean = self._mean()
        largest = min(float(self.residual.living), 1.5 * mean + 50)
        sets = -(-size // segments)
        return int(max(MIN_LENGTH, 3 * sets * (mean + kernels.HEADER), 4 * (largest + kernels.HEADER)))

    def _mean(self) -> float:
        """Return the expected number of members of a set of this round."""
        living = self.residual.living
        return min(float(living), (living / self.residual.eta + 1) * self._reach)

    def _room(self) -> int:
        """Return the most entries of all rings together."""
        return int(self.share * self.state.set_memory) // 4

    def _fitting(self, size: int, least: int) -> int:
        """Return the number of rings, of at least ``least`` entries, that are useful and fit into memory."""
        segments = self.state.segments
        while segments > self.state.blocks and segments >= 2 * size:
            segments //= 2
        while segments * max(least, self._needed(size, segments)) > self._room():
            if segments <= MIN_SEGMENTS:
                break
            segments = max(MIN_SEGMENTS, segments // 2)
        return segments

    def _new_rings(self, size: int, least: int) -> None:
        """Make empty rings for a number of sets, with a least number of entries; longer ones if there is memory."""
        room, segments = self._room(), self._fitting(size, least)
        needed = self._needed(size, segments)
        least = max(least, needed)
        check_budget({"mRR sets": 4 * segments * least}, 4 * room, "the GPU for one collection", "use --device cpu")
        self.segments, self.length = segments, max(least, min(HEADROOM * needed, room // segments))
        self._planned = max(self._planned, self._plan(size))
        self.memory()
        self._ring = Buffer(1, np.int32)
        self._ring = Buffer(self.segments * self.length, np.int32)
        self._states.array.fill(0)
        self._counted = 0
        self._control.array[kernels.MEMBERS] = 0

    def _plan(self, size: int) -> int:
        """Return the bytes of the rings plus the most bytes of the arrays, which may remain from more sets."""
        return self.ring_bytes + SET_BYTES * max(2 * size, 2 * FEW, len(self._starts))

    def _longer_rings(self, size: int) -> None:
        """Make empty rings of twice the length, after sets did not fit."""
        self._probes += int(self._control.host()[kernels.PROBES])
        self._control.array.fill(0)
        self._new_rings(size, 2 * self.length)

    def redraw(self) -> None:
        """Draw the valid sets again in longer rings, after they did not fit; other sets are dropped."""
        self._longer_rings(self._valid)
        self._update_sets(0, 0, self._valid)
        self.size = self._valid

    def draw(self, low: int, high: int) -> int:
        """Draw only the sets low … high - 1, into empty rings; return their total number of members.

        This is for an owner that copies them at once and overwrites their starts. The sets below ``low`` are not kept.
        """
        while True:
            self._states.array.fill(0)
            self._make_room(high)
            self._control.array[kernels.MEMBERS] = 0
            self._update_sets(low, low, high)
            control = self._control.host()
            if control[kernels.OVERFLOW] == 0:
                self.size = self._valid = high
                return int(control[kernels.MEMBERS])
            self._longer_rings(high)

    @property
    def views(self) -> Any:
        """Starts, sizes and rings for kernels, and the number of segments."""
        return cover_cuda.RingSets(self._starts.view, self._sizes.view, self._ring.view, self.segments)

    @property
    def ring_bytes(self) -> int:
        """Bytes of the rings."""
        return 4 * self.segments * self.length

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Return starts and sizes of the sets in host memory."""
        return self._starts.host(), self._sizes.host()

    def _update_changed(self, low: int, high: int) -> None:
        """Find which of the sets low … high - 1 changed, and update these to this round."""
        state, rest = self.state, self.residual
        self._load.array.fill(0)
        self._control.array[kernels.CHANGED] = 0
        grid = 1 if xp is np else min(self.state.blocks, -(-(high - low) // discover_cuda.BATCH))
        launch(discover_cuda.discover, grid, 32 if xp is np else 256,
            state.dead.view, state.filter.view, rest.living, rest.eta, self.key.seed, self.key.root_tag,
            self.first, self.segments, low, high,
            discover_cuda.RingSets(self._starts.view, self._sizes.view, self._roots.view, self._ring.view),
            discover_cuda.Changes(self._flags.view, self._load.view, self._changed.view, self._control.view),
        )  # fmt: skip
        # With one group the host need not know the number of changed sets: blocks without work end at once.
        listed = min(self.segments, high - low)
        if self.groups > 1:
            listed = int(self._control.host()[kernels.CHANGED])
            by_load = xp.argsort(-self._load.array[: self.segments])[:listed]
            self._changed.array[:listed] = by_load.astype(np.int32)
        if listed:
            self._update_sets(low, self.size, high, self._changed, listed, self.groups)

    def _update_sets(
        self, begin: int, have: int, end: int, order: Buffer | None = None, listed: int = 0, groups: int = 1
    ) -> None:
        """Update the sets begin … end - 1 to this round, in these segments, or from the segment of set ``begin`` on."""
        state, rest = self.state, self.residual
        if order is None:
            order, listed = state.no_order, min(self.segments, end - begin)
        grid = -(-listed // groups)
        for group in range(groups):
            launch(kernels.update_sets, grid, self._block(grid),
                state.edges, Remaining(state.dead.view, rest.living, rest.eta, state.living_in.view, self.raw),
                self.key, Span(self.first, self.segments, begin, have, end),
                kernels.SegmentGroup(order.view, listed, group), self._flags.view,
                Sets(self._starts.view, self._sizes.view, self._roots.view, self._cursors.view),
                kernels.Rings(self._ring.view, self._states.view), state.visited.view, state.counts.view,
                self._counted, self._control.view,
            )  # fmt: skip

    def _block(self, grid: int) -> int:
        """Return the number of threads of a block: more for large sets, and more if there are fewer blocks."""
        block = self.state.block
        if xp is np:
            return block
        if self._mean() >= WIDE and 2 * block <= self.max_block:
            block *= 2
        while 2 * block * grid <= self.state.block * self.state.blocks and 2 * block <= self.max_block:
            block *= 2
        return block

    def select(self, b: int, costs: np.ndarray, judge: "RingSets | None") -> Selection:
        """Choose up to b seeds (:meth:`gpukit.merit.sets.MrrSets.select`)."""
        state, other = self.state, judge or self
        while True:
            state.covered.reserve(self._valid, 0)
            if self._counted == 0:
                state.counts.array.fill(0)
            sets = (
                self.views, self._counted, self._valid, self._control.view,
                other.views, 0 if judge is None else judge._valid, other._control.view,
            )  # fmt: skip
            result = state.select(cover_cuda.select, sets, costs, b, state.counts.view, self._members)
            if result[cover_cuda.OVER] == 0:
                break
            if result[cover_cuda.OVER] & 1:
                self.redraw()
            if result[cover_cuda.OVER] & 2 and judge is not None:
                judge.redraw()
        self._counted = self._valid
        self._note_members(int(result[cover_cuda.HELD]))
        if judge is not None:
            judge._note_members(int(result[cover_cuda.JUDGE_HELD]))
        return selection_of(result, b, costs, judge is not None, state.counts.host)

    def _note_members(self, members: int) -> None:
        """Record the total number of members of the valid sets."""
        self._members, self.peak_members = members, max(self.peak_members, members)
        self._reach = max(1.0, members / self._valid / (self.residual.living / self.residual.eta))

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32) of the valid sets, members of a set ascending."""
        starts, sizes, ring = self._starts.host(self._valid), self._sizes.host(self._valid), self._ring.host()
        sets = []
        for r in range(self._valid):
            place = (int(starts[r]) + np.arange(sizes[r])) % self.length + r % self.segments * self.length
            sets.append(ring[place])
        return packed(sets)
