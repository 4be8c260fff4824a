"""IMGPU on several GPUs: they share the worlds, and their counts are added; sums equal those of ``worlds_cpu.py``."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, copy, on_gpu, xp
from gpukit.device.on_each import OnEach
from gpukit.imgpu.problem import Progress
from gpukit.imgpu.worlds_cuda import CudaWorlds
from gpukit.worlds.blocks import ArcBlocks


class MultiCudaWorlds:
    """The worlds of a graph on several GPUs; methods as in :class:`gpukit.imgpu.worlds_cpu.CpuWorlds`.

    Each GPU has a copy of the graph. It draws, keeps and searches a range of consecutive worlds; the ranges differ by
    at most one world. If there are fewer worlds than GPUs, the last GPUs have none.

    Parameters
    ----------
    ready, seed
        As for :class:`CudaWorlds`.
    gpus : sequence of int
        CUDA device numbers, at least one.
    **options
        Further arguments of :class:`CudaWorlds`; ``memory`` is per GPU.
    """

    batch = CudaWorlds.batch

    def __init__(self, ready: ArcBlocks, seed: int, gpus: Sequence[int], **options: Any) -> None:
        self._gpus, self._on_each = tuple(gpus), OnEach(gpus)
        self._parts = self._on_each(self._gpus, lambda: CudaWorlds(ready, seed, **options))
        self._kept: list[CudaWorlds] = []

    def _share(self, method: Callable, first: int, count: int, *arguments: Any, progress: Progress | None) -> list[Any]:
        """Call a method of :class:`CudaWorlds` on each GPU with its range of worlds; return the results in order."""
        used = min(len(self._parts), count)
        bounds, done = [first + count * place // used for place in range(used + 1)], [0] * used

        def work(place: int) -> Any:
            def advance(some: int, _: int) -> None:
                done[place] = some
                if progress is not None:
                    progress(sum(done), count)

            low, high = bounds[place : place + 2]
            return method(self._parts[place], low, high - low, *arguments, advance)

        return self._on_each(self._gpus[:used], work, range(used))

    def gains(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return what each vertex adds to the seeds' reach, summed over worlds first … (int64; 0 for seeds)."""
        found = self._sum(self._share(CudaWorlds.gains_here, first, count, seeds, progress=progress))
        found[np.array(seeds, np.int64)] = 0
        return found

    def reached(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return the number of vertices that the seeds reach in each world (int64)."""
        return np.concatenate(self._share(CudaWorlds.reached, first, count, seeds, progress=progress))

    def keep(self, first: int, count: int, progress: Progress | None = None) -> np.ndarray | None:
        """Draw worlds, keep them, and return the gains of all vertices; None if a GPU has no room for its share."""
        self.drop()  # free the old worlds first
        found = self._share(CudaWorlds.keep_here, first, count, progress=progress)
        if any(one is None for one in found):
            self.drop()
            return None
        self._kept = self._parts[: len(found)]
        return self._sum(found)

    def _sum(self, found: Sequence[Buffer]) -> np.ndarray:
        """Add the per-vertex counts of all GPUs, on the first GPU."""
        with on_gpu(self._gpus[0]):
            total = found[0]
            for other in found[1:]:
                here = xp.empty_like(total.array)
                copy(here, other.array)
                total.array += here
            return total.host()

    def drop(self) -> None:
        """Free the kept worlds."""
        self._kept = []
        for part in self._parts:
            part.drop()

    def evaluate(self, vertices: Sequence[int]) -> list[int]:
        """Return the gain of each vertex beyond the chosen seeds, over the kept worlds."""
        begun = []
        for gpu, part in zip(self._gpus, self._kept, strict=False):
            with on_gpu(gpu):
                begun.append(part.begin_to_evaluate(vertices))
        return [sum(gains) for gains in zip(*(wait() for wait in begun), strict=True)]

    def choose(self, vertex: int) -> None:
        """Make a vertex a seed in the kept worlds."""
        for gpu, part in zip(self._gpus, self._kept, strict=False):
            with on_gpu(gpu):
                part.choose(vertex)
