"""What the collections of a campaign share on a GPU."""

from typing import Any
from weakref import WeakSet

import numpy as np

from gpukit.device.arrays import Buffer, free_memory, resident_blocks, xp
from gpukit.device.launch import launch
from gpukit.device.memory import check_budget
from gpukit.merit import cover_cuda, discover_cuda, hashed_cuda
from gpukit.merit import update_cuda as kernels
from gpukit.merit.residual import Residual
from gpukit.merit.rule import InEdges
from gpukit.worlds.graph_cuda import DeviceGraph
from gpukit.worlds.reverse import Reverse

SHARE, SEARCH_SHARE = 0.7, 0.08
"""Shares of the free memory that the members of all collections, and bitmaps or queues of searches, may take."""

MIN_SEGMENTS = 32

PER_BLOCK = 4
"""Segments for each block that the GPU holds at once: blocks that end early make room for others."""

INVERTED = 1 << 22
"""Occurrences of candidates that the index of a selection has room for."""

WAITING, WAITING_EACH = 1 << 25, 64
"""Members of sets in tables that may wait for a search at most, and for each vertex."""


class DeviceState:
    """What the two collections of a campaign share on a GPU: graph, residual graph, bitmaps, working space.

    Parameters
    ----------
    reverse : Reverse
    residual : Residual
    tables : bool
        Whether the sets may lie in tables; else they lie in rings.

    Attributes
    ----------
    tables : bool
        Whether they do: until :meth:`use_rings`.
    """

    def __init__(self, reverse: Reverse, residual: Residual, *, tables: bool) -> None:
        n = reverse.n
        self.block = 32 if xp is np else kernels.BLOCK
        self.blocks = 2 if xp is np else resident_blocks(kernels.BLOCK, kernels.REGISTERS)
        words, free = (n + 31) // 32, free_memory(tidied=True)
        self.segments = PER_BLOCK * self.blocks
        while self.segments > MIN_SEGMENTS and 4 * words * self.segments > SEARCH_SHARE * free:
            self.segments //= 2
        # All that waits may be members of one set.
        waiting = 4 * n if xp is np else min(WAITING, WAITING_EACH * n, int(SEARCH_SHARE * free) // 16)
        self.tables = tables and waiting >= n
        searches = {"queues": 16 * waiting, "others": 4 * words + 4 * hashed_cuda.PARTS * n} if self.tables else {}
        needs = {"graph": _graph_bytes(reverse), "vertices": 30 * n}
        needs |= searches or {"bitmaps": 4 * words * self.segments}
        needs |= {"selection": 4 * INVERTED, "filter": 4 * discover_cuda.FILTER_WORDS}
        check_budget(needs, free, "the GPU", "use --device cpu")
        self.planned = sum(needs.values())
        self.ring_memory = int(SHARE * (free - sum(needs.values())))
        self.graph = g = DeviceGraph(reverse)
        self.visited = Buffer((1 if self.tables else self.segments, words), np.uint32, 0)
        self.waiting = Buffer((2, waiting if self.tables else 0), np.int64)
        self.parts = Buffer((hashed_cuda.PARTS if self.tables else 0, n), np.int32)
        self.deaths, self.died = Buffer(64, np.int32), 0
        self.dead, self.living_in = Buffer(n, np.uint8, 0), Buffer(residual.living_in)
        self.filter = Buffer(discover_cuda.FILTER_WORDS, np.uint32, 0)
        self.counts, self.work = Buffer(n, np.int32), Buffer(n, np.int32)
        self.marks, self.covered = Buffer(n, np.uint8, 0), Buffer(1, np.int32)
        self.slot, self.inverted = Buffer(n, np.int32), Buffer(INVERTED, np.int32)
        self.histogram = Buffer(cover_cuda.EPOCHS * cover_cuda.BUCKETS, np.int32)
        candidates = cover_cuda.MAX_CANDIDATES
        self.candidates, self.list_fill = Buffer(candidates, np.int32), Buffer(candidates, np.int32)
        self.list_start, self.taken = Buffer(candidates, np.int64), Buffer((4, candidates), np.int32)
        self.costs = Buffer(n, np.int32)
        self.costs_of: np.ndarray | None = None
        self.champions, self.result = Buffer((3, 1), np.int64), Buffer(1, np.int64)
        self.no_order = Buffer(np.empty(0, np.int32))
        self.edges = InEdges(
            g.rows.view, g.indices.view, g.accept.view, g.thresholds.view, reverse.lt_kind,
            np.uint64(reverse.lt_constant), g.lt_prefix.view,
        )  # fmt: skip
        # Weak: a collection holds its state, and both give their memory back when nobody uses them.
        self.collections: WeakSet[Any] = WeakSet()

    def mark_dead(self, vertices: np.ndarray, weakened: np.ndarray, living_in: np.ndarray) -> None:
        """Mark vertices as dead, and note how many living in-neighbours those that lost one still have."""
        pairs = len(vertices) * self.visited.array.shape[0]
        grid = 1 if xp is np else min(4 * self.blocks, -(-pairs // 128))
        threads = 32 if xp is np else 128
        before, self.died = self.died, self.died + len(vertices)
        self.deaths.reserve(self.died, before)
        self.deaths.write(before, vertices)
        views = (self.dead.view, self.filter.view, self.visited.view)
        launch(discover_cuda.mark_dead, grid, threads, self.deaths.view, before, self.died, *views)
        if len(weakened):
            self.living_in.array[xp.asarray(weakened)] = xp.asarray(living_in[weakened])

    def use_rings(self) -> None:
        """Let all sets lie in rings from now on; those of this round are drawn again."""
        self.tables = False
        self.waiting, self.parts = Buffer((2, 0), np.int64), Buffer((0, 0), np.int32)
        valid = [(one, one._valid) for one in self.collections]
        for one, _ in valid:
            one.restart(one.first)
        self.visited = Buffer(xp.tile(self.visited.array, (self.segments, 1)))
        self.planned += int(self.visited.array.nbytes)
        for one, size in valid:
            one.extend(size)

    def space(self) -> cover_cuda.Space:
        """Return the working space of a selection for its kernel."""
        return cover_cuda.Space(
            self.work.view, self.slot.view, self.covered.view, self.marks.view, self.champions.view,
            self.histogram.view, self.candidates.view, self.list_start.view, self.list_fill.view, self.inverted.view,
            self.taken.view,
        )  # fmt: skip

    def bytes(self) -> int:
        """Return the device memory taken."""
        g = self.graph
        return total_bytes(
            g.rows, g.indptr, g.indices, g.accept, g.thresholds, g.lt_prefix, self.visited, self.dead, self.living_in,
            self.filter, self.counts, self.work, self.marks, self.covered, self.costs, self.slot, self.inverted,
            self.waiting, self.parts, self.deaths,
        )  # fmt: skip


def _graph_bytes(reverse: Reverse) -> int:
    arrays = (reverse.rows, reverse.indptr, reverse.indices, reverse.accept, reverse.thresholds, reverse.lt_prefix)
    return sum(array.nbytes for array in arrays)


def total_bytes(*buffers: Buffer) -> int:
    """Return the bytes that arrays of the device take."""
    return sum(int(one.array.nbytes) for one in buffers)
