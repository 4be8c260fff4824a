"""IMGPU on a GPU: the sums and seeds of ``worlds_cpu.py``, to the bit."""

from collections.abc import Sequence

import numpy as np
from numba import cuda

from gpukit.device.arrays import Buffer, free_memory, xp
from gpukit.device.launch import launch
from gpukit.errors import DeviceError
from gpukit.imgpu import fixed_cuda
from gpukit.imgpu.count_cuda import CONTROL, KEPT, MOST_SLOTS, OVERFLOW, count_reached, count_worlds
from gpukit.imgpu.problem import Progress
from gpukit.imgpu.reach_cpu import SPLIT
from gpukit.imgpu.world_cuda import ROWS
from gpukit.worlds.blocks import ArcBlocks

WARPS_PER_MULTIPROCESSOR = 32

PER_LAUNCH = 1 << 16
"""Worlds of a launch at most, so that progress and Ctrl-C get their turn."""

KEPT_SLOT, KEPT_ARC = 4 + 4 + 4 + 4 + 8 + 20, 4
"""Device memory a kept slot takes (index, home, state, vertex, row, and what sorting the index needs), and an arc."""


class CudaWorlds:
    """The worlds of a graph on the current GPU; methods as in :class:`gpukit.imgpu.worlds_cpu.CpuWorlds`.

    Parameters
    ----------
    ready : ArcBlocks
        The graph.
    seed : int
        The user's seed, in [0, 2**64).
    memory : int, optional
        Bytes of device memory to use at most; most of what is free if not given.
    split : int
        Weight from which a component splits its world.
    combine, reorder : bool
        The paper's optimisations K and R.
    unroll : int
        The paper's optimisation U: children read at a time, 1 to 128.
    blocks, threads : int, optional
        Launch shape. None of these changes the result.
    """

    batch = 8
    """Vertices to evaluate at a time."""

    def __init__(
        self,
        ready: ArcBlocks,
        seed: int,
        *,
        memory: int | None = None,
        split: int = SPLIT,
        combine: bool = False,
        reorder: bool = False,
        unroll: int = 16,
        blocks: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.ready, self.seed = ready, np.uint64(seed)
        self.how = (split, combine, reorder, unroll)
        self.memory = int(0.8 * free_memory()) if memory is None else memory
        self._graph = tuple(
            Buffer(array) for array in (ready.tails, ready.heads, ready.blocks, ready.accept, ready.thresholds)
        )
        mean = ready.mean_live
        self._blocks, self._threads = blocks, threads or _threads(mean)
        # Eight standard deviations above the mean: a world that needs more is drawn again with more room.
        self._make_room(int(mean + 8 * mean**0.5 + 32))
        self._none = Buffer(np.empty(0, np.int32))
        self._kept: tuple[Buffer, ...] = ()

    def _make_room(self, arcs: int) -> None:
        """Make working space for worlds of so many live arcs."""
        self.cap = 2 * min(arcs, self.ready.most_live) + 2
        own = 4 * (ROWS * self.cap + self.ready.n)
        most = self._blocks or (
            2 if xp is np else cuda.current_context().device.MULTIPROCESSOR_COUNT
            * max(1, WARPS_PER_MULTIPROCESSOR * 32 // self._threads)
        )  # fmt: skip
        if own > self.memory:
            raise DeviceError(
                f"one world needs {own / 2**20:.0f} MiB of the {self.memory / 2**20:.0f} MiB of device memory there "
                "are; use --device cpu"
            )
        self.grid = int(max(1, min(most, self.memory // 2 // own)))
        self._work, self._slot_of = Buffer(1, np.int32), Buffer(1, np.int32)
        self._work = Buffer(self.grid * ROWS * self.cap, np.int32)
        self._slot_of = Buffer(self.grid * self.ready.n, np.int32, -1)

    def _launch(
        self, first: int, count: int, seeds: Sequence[int], gains: Buffer, kept: tuple[Buffer, ...]
    ) -> np.ndarray:
        """Count worlds once and return ``control``."""
        control = Buffer(CONTROL, np.int64, 0)
        chosen = Buffer(np.array(seeds, np.int32)) if len(seeds) else self._none
        launch(count_worlds, min(self.grid, count), self._threads,
            *(buffer.view for buffer in self._graph), self.ready.n, self.ready.paired, self.seed, first, count,
            chosen.view, *self.how, self._work.view, self.cap, self._slot_of.view, gains.view,
            *(buffer.view for buffer in kept), control.view,
        )  # fmt: skip
        return control.host()

    def gains(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return what each vertex adds to the reach of the seeds, summed over worlds first … (int64; 0 for seeds)."""
        none = (self._none, self._none, Buffer(0, np.int64), self._none)
        total = Buffer(self.ready.n, np.int64, 0)
        low = first
        while low < first + count:
            size = min(PER_LAUNCH, first + count - low)
            before = total.array.copy()
            if self._launch(low, size, seeds, total, none)[OVERFLOW]:
                total = Buffer(before)
                self._make_room(2 * self.cap)
                continue
            low += size
            if progress is not None:
                progress(low - first, count)
        found = total.host() + count
        found[np.array(seeds, np.int64)] = 0
        return found

    def reached(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return how many vertices the seeds reach in each of the worlds (int64)."""
        chosen, values = Buffer(np.array(seeds, np.int32)), Buffer(count, np.int64)
        while True:
            control = Buffer(CONTROL, np.int64, 0)
            launch(count_reached, min(self.grid, count), self._threads,
                *(buffer.view for buffer in self._graph), self.ready.n, self.ready.paired, self.seed, first,
                chosen.view, self._work.view, self.cap, self._slot_of.view, values.view, control.view,
            )  # fmt: skip
            if not control.host()[OVERFLOW]:
                break
            self._make_room(2 * self.cap)
        if progress is not None:
            progress(count, count)
        return values.host()

    def keep(self, first: int, count: int, progress: Progress | None = None) -> np.ndarray | None:
        """Draw worlds, keep them, and return the gains of all vertices; None if they do not fit."""
        mean = self.ready.mean_live
        arcs = int((2 if self.ready.paired else 1) * (count * mean + 8 * (count * mean) ** 0.5 + 64))
        slots = int(min(self.ready.n * count, 2 * arcs))
        while True:
            spare = self.memory - self._work.array.nbytes - self._slot_of.array.nbytes
            if slots * KEPT_SLOT + arcs * KEPT_ARC > spare or max(slots, arcs) >= 1 << 31:
                return None
            kept = (Buffer(slots, np.int32), Buffer(slots, np.int32), Buffer(slots, np.int64), Buffer(arcs, np.int32))
            total = Buffer(self.ready.n, np.int64, 0)
            control = self._launch(first, count, [], total, kept)
            used, placed = int(control[KEPT]) >> 32, int(control[KEPT]) & 0xFFFFFFFF
            if not control[OVERFLOW]:
                break
            del kept  # Before anything is made in its place.
            if used > slots or placed > arcs:
                slots, arcs = max(slots, used), max(arcs, placed)
            else:
                self._make_room(2 * self.cap)
        vertices, homes, rows, heads = (buffer.array for buffer in kept)
        row = xp.append(rows[:used], np.int64(placed))
        index = xp.argsort(vertices[:used]).astype(np.int32)
        starts = xp.zeros(self.ready.n + 1, np.int64)
        xp.cumsum(xp.bincount(vertices[:used], minlength=self.ready.n), out=starts[1:])
        most = int(control[MOST_SLOTS]) + 1
        blocks = self._search_blocks(most, spare // 8)
        self._worlds = count
        self._kept = tuple(Buffer(array) for array in (starts, index, homes[:used], row, heads[:placed]))
        self._state = Buffer(max(used, 1), np.int32, 0)
        self._seen = Buffer((blocks, (most + 31) // 32), np.uint32, 0)
        self._queue = Buffer((blocks, most), np.int32)
        self._starts = starts.copy() if xp is np else starts.get()
        if progress is not None:
            progress(count, count)
        return total.host() + count

    @staticmethod
    def _search_blocks(most: int, memory: int) -> int:
        many = 2 if xp is np else 32 * cuda.current_context().device.MULTIPROCESSOR_COUNT
        return int(max(1, min(many, memory // (5 * most))))

    def evaluate(self, vertices: Sequence[int]) -> list[int]:
        """Return what each vertex adds to the seeds chosen so far, over the worlds that are kept."""
        sizes = np.array([self._starts[v + 1] - self._starts[v] for v in vertices])
        items = np.concatenate([[0], np.cumsum(sizes)])
        totals = Buffer(len(vertices), np.int64, 0)
        blocks = min(len(self._queue), max(1, int(items[-1])))
        launch(fixed_cuda.evaluate, blocks, fixed_cuda.BLOCK,
            Buffer(np.array(vertices, np.int32)).view, Buffer(items).view, *(buffer.view for buffer in self._kept),
            self._state.view, self._seen.view, self._queue.view, totals.view,
        )  # fmt: skip
        return (totals.host() + (self._worlds - sizes)).tolist()

    def choose(self, vertex: int) -> None:
        """Make a vertex a seed in the worlds that are kept."""
        starts, index, _, row, heads = self._kept
        blocks = min(len(self._queue), max(1, int(self._starts[vertex + 1] - self._starts[vertex])))
        views = (buffer.view for buffer in (starts, index, row, heads, self._state, self._queue))
        launch(fixed_cuda.choose, blocks, fixed_cuda.BLOCK, vertex, *views)


def _threads(mean: float) -> int:
    """Return the threads of a block for worlds of so many live arcs on average."""
    if xp is np:
        return 4
    return 128 if mean < 1024 else 256 if mean < 65_536 else 512
