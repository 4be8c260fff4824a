"""GPU state shared by the collections of a campaign, and the launch of a selection."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, begin_to_read, free_memory, resident_blocks, xp
from gpukit.device.kernels import Kernel
from gpukit.device.launch import cooperative_grid, launch
from gpukit.device.memory import check_budget
from gpukit.merit import cover_cuda, hashed_cuda
from gpukit.merit.residual import Residual
from gpukit.merit.rule import InEdges
from gpukit.merit.sets import Selection, top_by_ratio
from gpukit.wording import spelled
from gpukit.worlds.graph_cuda import DeviceGraph
from gpukit.worlds.reverse import Reverse

SHARE, SEARCH_SHARE = 0.7, 0.08
"""Shares of the free memory for the members of all collections, and for the queues of searches."""

COVERED = 1 << 22
"""Initial room of the list of sets that a seed covers."""

WAITING, WAITING_FEW, WAITING_EACH = 1 << 25, 1 << 20, 64
"""Members that may wait for a search: the most, a base for any graph, and an addition per vertex."""

FEW_MEMBERS = 1 << 26
"""If all sets have fewer members, a selection uses half as many blocks, because each block reads all candidates."""


class DeviceState:
    """GPU state shared by the two collections of a campaign: graph, residual graph, queues, working space.

    Parameters
    ----------
    reverse : Reverse
    residual : Residual

    Attributes
    ----------
    planned : int
        Bytes that the budget planned for.
    set_memory : int
        Bytes available to the members of all collections.
    """

    def __init__(self, reverse: Reverse, residual: Residual) -> None:
        n, free = reverse.n, free_memory(tidied=True)
        needs = {"graph": _graph_bytes(reverse), "vertices": 30 * n, "selection": 4 * COVERED}
        needs |= self._plan_searches(n, free)
        check_budget(needs, free, "the GPU", f"use {spelled('device', 'cpu')}")
        self.planned = sum(needs.values())
        self.set_memory = int(SHARE * (free - self.planned))
        self.graph = g = DeviceGraph(reverse)
        self._make_searches(n)
        self.dead, self.living_in = Buffer(n, np.uint8, 0), Buffer(residual.living_in)
        self.work, self.slot, self.costs = (Buffer(n, np.int32) for _ in range(3))
        self.marks, self.covered, self.inverted = Buffer(n, np.uint8, 0), Buffer(1, np.int32), Buffer(COVERED, np.int32)
        self.histogram = Buffer(cover_cuda.EPOCHS * cover_cuda.BUCKETS, np.int32)
        candidates = cover_cuda.MAX_CANDIDATES
        self.candidates, self.list_fill = Buffer(candidates, np.int32), Buffer(candidates, np.int32)
        self.list_start, self.taken = Buffer(candidates, np.int64), Buffer((4, candidates), np.int32)
        self.champions, self.result = Buffer((3, 1), np.int64), Buffer(1, np.int64)
        self._costs_of: np.ndarray | None = None
        self.edges = InEdges(
            g.rows.view, g.indices.view, g.accept.view, g.thresholds.view, reverse.lt_kind,
            np.uint64(reverse.lt_constant), g.lt_prefix.view,
        )  # fmt: skip

    def _plan_searches(self, n: int, free: int) -> dict[str, int]:
        """Return the bytes of search memory, by name."""
        wanted = 4 * n if xp is np else min(WAITING, WAITING_FEW + WAITING_EACH * n, int(SEARCH_SHARE * free) // 16)
        self._capacity = max(n, wanted)  # all waiting entries may be members of one set
        return {"queues": 16 * self._capacity, "counts": 4 * hashed_cuda.PARTS * n}

    def _make_searches(self, n: int) -> None:
        """Allocate the arrays that :meth:`_plan_searches` planned for."""
        self.waiting = Buffer((2, self._capacity), np.int64)
        self.parts = Buffer((hashed_cuda.PARTS, n), np.int32)
        self.deaths, self.died = Buffer(64, np.int32), 0

    def mark_dead(self, vertices: np.ndarray, weakened: np.ndarray, living_in: np.ndarray) -> None:
        """Mark vertices as dead, and update the living in-neighbour counts of the vertices that lost one."""
        before, self.died = self.died, self.died + len(vertices)
        self.deaths.reserve(self.died, before)
        self.deaths.write(before, vertices)
        grid = 1 if xp is np else min(resident_blocks(128, 32), -(-len(vertices) // 128))
        launch(hashed_cuda.mark_dead, grid, 32 if xp is np else 128,
            self.deaths.view, before, self.died, self.dead.view,
        )  # fmt: skip
        self.weaken(weakened, living_in)

    def weaken(self, weakened: np.ndarray, living_in: np.ndarray) -> None:
        """Update the living in-neighbour counts of vertices that lost one."""
        if len(weakened):
            self.living_in.array[xp.asarray(weakened)] = xp.asarray(living_in[weakened])

    def select(
        self, kernel: Kernel, sets: tuple[Any, ...], costs: np.ndarray, b: int, counts: Any, members: int
    ) -> np.ndarray:
        """Launch a selection (:func:`gpukit.merit.cover_cuda.select`) and return its result in host memory.

        Parameters
        ----------
        kernel : Kernel
        sets : tuple
            The kernel's arguments before ``costs``: the collection and the judging one.
        costs : int64 array, shape (n,)
        b : int
            Most seeds.
        counts : View
            Occurrences of the vertices, in the form of the kernel.
        members : int
            Total members of the sets at their last count.
        """
        if self._costs_of is not costs:
            self.costs.array[:] = xp.asarray(costs.astype(np.int32))
            self._costs_of = costs
        room = cover_cuda.RESULT + 2 * b + cover_cuda.MAX_CANDIDATES
        if len(self.result) != room:
            self.result = Buffer(room, np.int64)
        self.result.array.fill(0)
        block = 32 if xp is np else cover_cuda.BLOCK
        for _ in range(2):
            args = (*sets, self.costs.view, b, counts, self._space(), self.result.view)
            grid = cooperative_grid(kernel, block, args)
            grid = max(1, grid // 2) if members < FEW_MEMBERS else grid
            if self.champions.array.shape[1] >= grid:
                break
            self.champions = Buffer((3, grid), np.int64)
        launch(kernel, grid, block, *args)
        return begin_to_read(self.result.array)()[0]

    def _space(self) -> cover_cuda.SelectionMemory:
        """Return the working space of a selection for its kernel."""
        return cover_cuda.SelectionMemory(
            self.work.view, self.slot.view, self.covered.view, self.marks.view, self.champions.view,
            self.histogram.view, self.candidates.view, self.list_start.view, self.list_fill.view, self.inverted.view,
            self.taken.view,
        )  # fmt: skip

    def bytes(self) -> int:
        """Return the bytes of device memory taken."""
        g = self.graph
        return total_bytes(
            g.rows, g.indptr, g.indices, g.accept, g.thresholds, g.lt_prefix, self.dead, self.living_in, self.work,
            self.marks, self.covered, self.costs, self.slot, self.inverted, *self._searches,
        )  # fmt: skip

    @property
    def _searches(self) -> tuple[Buffer, ...]:
        """The arrays of searches."""
        return self.waiting, self.parts, self.deaths


def selection_of(
    result: np.ndarray, b: int, costs: np.ndarray, judged: bool, counts: Callable[[], np.ndarray]
) -> Selection:
    """Return the selection in a result of :meth:`DeviceState.select`; ``counts`` returns the counts of all vertices."""
    chosen, start = int(result[cover_cuda.CHOSEN]), cover_cuda.RESULT
    seeds, gains = result[start : start + chosen].astype(np.int32), result[start + b : start + b + chosen].copy()
    known = int(result[cover_cuda.FOUND])
    if known >= 2 * b:
        pairs = result[start + 2 * b : start + 2 * b + known]
        leaders = top_by_ratio(pairs >> 32, pairs & 0xFFFFFFFF, b)
    else:
        leaders = top_by_ratio(counts(), costs, b)
    return Selection(seeds, gains, int(result[cover_cuda.HITS]) if judged else None, leaders)


def _graph_bytes(reverse: Reverse) -> int:
    arrays = (reverse.rows, reverse.indptr, reverse.indices, reverse.accept, reverse.thresholds, reverse.lt_prefix)
    return sum(array.nbytes for array in arrays)


def total_bytes(*buffers: Buffer) -> int:
    """Return the total bytes of device arrays."""
    return sum(int(one.array.nbytes) for one in buffers)
