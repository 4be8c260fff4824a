"""IMGPU on a GPU: sums and seeds equal those of ``worlds_cpu.py``."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpukit.device.arrays import (
    Buffer,
    OutOfMemory,
    begin_to_read,
    device_attribute,
    for_launch,
    free_memory,
    on_host,
    shared_memory,
    xp,
)
from gpukit.device.launch import launch
from gpukit.device.select import simulated
from gpukit.device.shape import Shape, block_size, fullest, shape
from gpukit.errors import DeviceError
from gpukit.imgpu import count_cuda, fixed_cuda
from gpukit.imgpu.count_cuda import KEPT, OVERFLOW, WIDEST, Kept
from gpukit.imgpu.fixed_cuda import Room, Slots
from gpukit.imgpu.problem import Progress
from gpukit.imgpu.world import Arcs
from gpukit.imgpu.world_cuda import MAX_THREADS, ROWS, Fit, Memory, bytes_of
from gpukit.wording import spelled
from gpukit.worlds.blocks import ArcBlocks

PER_LAUNCH = 1 << 16
"""Most worlds of a launch; progress and Ctrl-C are handled between launches."""

KEPT_SLOT, KEPT_ARC, KEPT_WORLD = 4 + 4 + 4 + 4 + 8, 4, 8
"""Device memory of a kept slot (index, home, state, vertex, row), of an arc, and of a world."""


RESIDENT = 8
"""Most blocks of a multiprocessor that have a world in shared memory."""

STATIC = 6 << 10
"""Most bytes of shared memory of a block besides its world, including what the GPU reserves."""


class CudaWorlds:
    """The worlds of a graph on the current GPU; methods as in :class:`gpukit.imgpu.worlds_cpu.CpuWorlds`.

    Parameters
    ----------
    ready : ArcBlocks
        The graph.
    seed : int
        The user's seed, in [0, 2**64).
    memory : int, optional
        Bytes of device memory to use at most; most of the free memory if not given.
    blocks, threads : int, optional
        Launch shape. These options do not change the result.
    """

    batch = fixed_cuda.BATCH
    """Vertices to evaluate at a time: about the number for one choice, so that most choices wait for one launch."""

    def __init__(
        self,
        ready: ArcBlocks,
        seed: int,
        *,
        memory: int | None = None,
        blocks: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.ready, self.seed = ready, np.uint64(seed)
        self.memory = int(0.8 * free_memory()) if memory is None else memory
        self._arcs = for_launch(Arcs.of(ready))
        mean = ready.mean_live
        self._blocks, self._threads = blocks, threads
        self._widest = 0  # the most slots of a world that did not fit in shared memory
        # Eight standard deviations above the mean: a world that needs more is drawn again with more room.
        self._make_room(int(mean + 8 * mean**0.5 + 32))
        none = np.empty(0, np.int32)
        self._none = Buffer(none)
        self.not_kept = for_launch(Kept(none, none, np.empty(0, np.int64), none, np.empty(0, np.int64)))
        self.drop()

    def _make_room(self, arcs: int) -> None:
        """Make working space for worlds of up to ``arcs`` live arcs."""
        self.cap = 2 * min(arcs, self.ready.most_live) + 2
        fit, self._resident = self._fit_in_shared_memory()
        room = (self.cap + 3) & ~3
        self._fit = fit or Fit(room, room, (self.ready.n + 31) // 32)
        fit_bytes = 0 if fit else bytes_of(self._fit, packed=False)
        world_bytes = 4 * ROWS * self.cap + fit_bytes
        if world_bytes > self.memory:
            raise DeviceError(
                f"one world needs {world_bytes / 2**20:.0f} MiB of the {self.memory / 2**20:.0f} MiB of device memory "
                f"there are; use {spelled('device', 'cpu')}"
            )
        self._kernels = count_cuda.IN_SHARED_MEMORY if fit else count_cuda.IN_GLOBAL_MEMORY
        self.grid = max(1, self.memory // 2 // world_bytes)
        self.grid = min(self._blocks or self._shape(self.grid)[0], self.grid)
        self._memory: Any = None  # free the old arrays first
        self._work, self._words = Buffer(1, np.int32), Buffer(1, np.uint32)
        self._work = Buffer(self.grid * ROWS * self.cap, np.int32)
        self._words = Buffer(self.grid * fit_bytes // 4, np.uint32)
        self._memory = for_launch(Memory(self._work, self.cap, self._words, Buffer(self._words.array.view(np.uint8))))

    def _fit_in_shared_memory(self) -> tuple[Fit | None, int]:
        """Return the room of a block in shared memory and the blocks of a multiprocessor; None if a world may not fit.

        In most graphs a world has fewer slots than arcs; it has at most twice as many. The number is known only after
        drawing.
        """
        arcs, words, n = (self.cap // 2 + 3) & ~3, (self.ready.n + 31) // 32, (self.ready.n + 3) & ~3
        if self.ready.paired or arcs >= 1 << 16:
            return None, 0
        least = min(n, 2 * arcs, max(5 * arcs // 4, 9 * self._widest // 8))
        shared, _ = _multiprocessor()
        for each in range(RESIDENT, 0, -1):
            room = min(shared_memory(), shared // each) - STATIC
            slots = min(n, 2 * arcs, 65_532, (room - 2 * arcs - 8) // 5 & ~3, (room - 6 * words - 8) // 3 & ~3)
            fit = Fit(slots, arcs, words)
            if fit.slots >= least and bytes_of(fit, packed=True) <= room:
                return fit, each
        return None, 0

    def _make_more_room(self, control: np.ndarray) -> None:
        """Make more room after a launch whose ``control`` reports that a world did not fit."""
        if self._resident and control[WIDEST] > self._fit.slots:
            self._widest = int(control[WIDEST])
            self._make_room(self.cap // 2 - 1)
        else:
            self._make_room(2 * self.cap)

    def _shape(self, worlds: int) -> Shape:
        """Return the blocks for this many worlds, at most as many as run concurrently, and their threads."""
        kernel = self._kernels.sum_gains
        if not self._resident:
            return fullest(kernel, worlds, self._threads or _threads(self.ready.mean_live))
        _, registers = _multiprocessor()
        widest = min(MAX_THREADS, registers // (count_cuda.SHARED_REGISTERS * self._resident) // 32 * 32)
        return shape(kernel, worlds, self._threads or block_size(widest, 4), self._resident)

    def _launch(self, kernel: Any, worlds: int, *arguments: Any) -> None:
        """Launch a kernel whose blocks take worlds in turn, with at most one block per working space."""
        worlds = min(self.grid, worlds)
        grid, threads = self._shape(worlds)
        shared = bytes_of(self._fit, packed=True) if self._resident else 0
        launch(kernel, worlds if self._blocks else grid, threads, *arguments, shared=shared)

    def count(self, first: int, count: int, seeds: Sequence[int], gains: Buffer, kept: Kept) -> np.ndarray:
        """Add to ``gains`` over the worlds, keep them unless ``kept`` is ``not_kept``, and return ``control``."""
        control = Buffer(count_cuda.CONTROL, np.int64, 0)
        chosen = Buffer(np.array(seeds, np.int32)) if len(seeds) else self._none
        self._launch(
            self._kernels.sum_gains, count,
            self._arcs, self.seed, first, count, chosen.view, self._fit, self._memory, gains.view, kept, control.view,
        )  # fmt: skip
        return control.host()

    def count_kept(self, kept: Kept, state: Any, gains: Buffer) -> None:
        """Add to ``gains`` over the kept worlds, without the reach of the chosen seeds."""
        control = Buffer(count_cuda.CONTROL, np.int64, 0)
        self._launch(
            self._kernels.sum_gains_kept, self._range[1],
            kept, state, self._fit, self._memory, gains.view, control.view,
        )  # fmt: skip

    def gains(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return what each vertex adds to the seeds' reach, summed over worlds first … (int64; 0 for seeds)."""
        found = self.gains_here(first, count, seeds, progress).host()
        found[np.array(seeds, np.int64)] = 0
        return found

    def gains_here(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> Buffer:
        """Return the result of :meth:`gains` on this GPU; the values of seeds have no meaning."""
        total = Buffer(self.ready.n, np.int64, 0)
        low = first
        if self._kept is not None and (first, count, sorted(seeds)) == (*self._range, sorted(self._chosen)):
            self.count_kept(*self._kept, total)
            low += count
        while low < first + count:
            size = min(PER_LAUNCH, first + count - low)
            before = total.array.copy()
            control = self.count(low, size, seeds, total, self.not_kept)
            if control[OVERFLOW]:
                total = Buffer(before)
                self._make_more_room(control)
                continue
            low += size
            if progress is not None:
                progress(low - first, count)
        total.array += count
        return total

    def reached(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return the number of vertices that the seeds reach in each world (int64)."""
        chosen, values = Buffer(np.array(seeds, np.int32)), Buffer(count, np.int64)
        while True:
            control = Buffer(count_cuda.CONTROL, np.int64, 0)
            self._launch(
                self._kernels.count_reached, count,
                self._arcs, self.seed, first, chosen.view, self._fit, self._memory, values.view, control.view,
            )  # fmt: skip
            found = control.host()
            if not found[OVERFLOW]:
                break
            self._make_more_room(found)
        if progress is not None:
            progress(count, count)
        return values.host()

    def keep(self, first: int, count: int, progress: Progress | None = None) -> np.ndarray | None:
        """Draw worlds, keep them, and return the gains of all vertices; None if they do not fit."""
        found = self.keep_here(first, count, progress)
        return None if found is None else found.host()

    def keep_here(self, first: int, count: int, progress: Progress | None = None) -> Buffer | None:
        """Like :meth:`keep`, but return the gains on this GPU."""
        try:
            return self._keep(first, count, progress)
        except OutOfMemory:  # another process took memory after the budget was made
            self.drop()
            return None

    def drop(self) -> None:
        """Free the kept worlds."""
        self._kept: tuple[Kept, Any] | None = None  # and the state of their slots; None if the graph is paired
        self._range, self._chosen = (0, 0), list[int]()
        self._slots: Slots | None = None
        self._room: Room | None = None

    def _keep(self, first: int, count: int, progress: Progress | None) -> Buffer | None:
        """Like :meth:`keep_here`; raises OutOfMemory if the budgeted memory is not available."""
        self.drop()  # free the old worlds first
        mean = self.ready.mean_live
        arcs = int((2 if self.ready.paired else 1) * (count * mean + 8 * (count * mean) ** 0.5 + 64))
        slots = int(min(self.ready.n * count, 2 * arcs))
        while True:
            spare = self.memory - self._work.array.nbytes - self._words.array.nbytes
            if slots * KEPT_SLOT + arcs * KEPT_ARC + count * KEPT_WORLD > spare or max(slots, arcs) >= 1 << 31:
                return None
            kept = Kept(
                Buffer(slots, np.int32), Buffer(slots, np.int32), Buffer(slots + 1, np.int64), Buffer(arcs, np.int32),
                Buffer(count, np.int64),
            )  # fmt: skip
            total = Buffer(self.ready.n, np.int64, 0)
            control = self.count(first, count, [], total, for_launch(kept))
            used, placed = int(control[KEPT]) >> 32, int(control[KEPT]) & 0xFFFFFFFF
            if not control[OVERFLOW]:
                break
            del kept  # free these before new ones are made
            if used > slots or placed > arcs:
                slots, arcs = max(slots, used), max(arcs, placed)
            else:
                self._make_more_room(control)
        self._index([buffer.array for buffer in kept], used, placed, int(control[WIDEST]) + 1, spare // 8)
        self._range = first, count
        if progress is not None:
            progress(count, count)
        total.array += count
        return total

    def _index(self, kept: Sequence[Any], used: int, placed: int, widest: int, memory: int) -> None:
        """Index the kept worlds, of at most ``widest`` slots each, for searches."""
        vertices, homes, rows, heads, worlds = kept
        counts, owners = Buffer(self.ready.n, np.int32, 0), Buffer(vertices[:used])
        grid, threads = shape(fixed_cuda.count_slots, -(-used // 256), block_size(256))
        launch(fixed_cuda.count_slots, grid, threads, owners.view, counts.view)
        starts = xp.zeros(self.ready.n + 1, np.int64)
        xp.cumsum(counts.array, out=starts[1:])
        index, ends = Buffer(used, np.int32), Buffer(starts[1:].astype(np.int32))
        launch(fixed_cuda.index_slots, grid, threads, owners.view, ends.view, index.view)
        row = rows[: used + 1]
        row[used] = placed
        state = xp.zeros(max(used, 1), np.int32)
        self._slots = for_launch(Slots(starts, index, homes[:used], row, heads[:placed], state))
        if not self.ready.paired:
            _, _, home, rows, heads, state = self._slots
            self._kept = for_launch(Kept(vertices[:used], home, rows, heads, worlds)), state
        self._starts = on_host(starts)
        self._searching, _ = shape(fixed_cuda.evaluate_long, memory // (5 * widest), fixed_cuda.BLOCK)
        seen = Buffer((self._searching, (widest + 31) // 32), np.uint32, 0)
        self._room = for_launch(Room(seen, Buffer((self._searching, widest), np.int32)))

    def _search_shape(self, searches: int) -> tuple[int, int]:
        """Return the blocks for this many searches, and their threads: more threads if there are few searches."""
        least = width = block_size(fixed_cuda.BLOCK)
        while width < MAX_THREADS and 2 * width * max(1, searches) <= least * self._searching:
            width *= 2
        return min(self._searching, max(1, searches)), width

    def evaluate(self, vertices: Sequence[int]) -> list[int]:
        """Return the gain of each vertex beyond the chosen seeds, over the kept worlds."""
        return self.begin_to_evaluate(vertices)()

    def begin_to_evaluate(self, vertices: Sequence[int]) -> Callable[[], list[int]]:
        """Start :meth:`evaluate`; return a function that waits for it and returns its result."""
        sizes = np.array([self._starts[v + 1] - self._starts[v] for v in vertices])
        items = np.concatenate([[0], np.cumsum(sizes)])
        count = int(items[-1])
        totals, left = Buffer(len(vertices) + 1, np.int64, 0), Buffer(max(count, 1), np.int64)
        alone = block_size(fixed_cuda.ALONE_BLOCK)
        launch(
            fixed_cuda.evaluate, max(1, -(-count // alone)), alone,
            Buffer(np.array(vertices, np.int32)).view, Buffer(items).view, self._slots, totals.view, left.view,
        )  # fmt: skip
        how = self._search_shape(count // fixed_cuda.LEFT)
        launch(fixed_cuda.evaluate_long, *how, self._slots, self._room, totals.view, left.view)
        read, worlds = begin_to_read(totals.array), self._range[1]
        return lambda: (read()[0][:-1] + (worlds - sizes)).tolist()

    def choose(self, vertex: int) -> None:
        """Make a vertex a seed in the kept worlds."""
        self._chosen.append(vertex)
        searches = int(self._starts[vertex + 1] - self._starts[vertex])
        launch(fixed_cuda.choose, *self._search_shape(searches), vertex, self._slots, self._room)


def _multiprocessor() -> tuple[int, int]:
    """Return the shared memory in bytes, and the registers, of a multiprocessor."""
    if simulated():
        return shared_memory(), 1 << 16
    names = "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", "MAX_REGISTERS_PER_MULTIPROCESSOR"
    return device_attribute(names[0]), device_attribute(names[1])


def _threads(mean: float) -> int:
    """Return the threads of a block for worlds with this many live arcs on average."""
    return block_size(128 if mean < 1024 else 256 if mean < 65_536 else 512, 4)
