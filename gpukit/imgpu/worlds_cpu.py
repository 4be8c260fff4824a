"""IMGPU on the CPU (Numba). ``worlds_cuda.py`` has the same functions for GPUs.

A worker takes a batch of worlds at a time. Its sums are integers, so the number of workers does not change the result.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import Any

import numpy as np

from gpukit.device.memory import host_free_bytes
from gpukit.imgpu import count_cpu, fixed_cpu
from gpukit.imgpu.problem import Progress
from gpukit.imgpu.reach import SPLIT
from gpukit.imgpu.reach_cpu import Labels, make_labels
from gpukit.imgpu.world import Arcs
from gpukit.imgpu.world_cpu import World, make_world
from gpukit.worlds.blocks import ArcBlocks

BATCH = 64
"""Fewest worlds that a worker takes at a time."""

SHARD = 1024
"""Least number of worlds that are stored together, if each thread has this many."""


class CpuWorlds:
    """The worlds of a graph on CPU threads.

    Parameters
    ----------
    ready : ArcBlocks
        The graph.
    seed : int
        The user's seed, in [0, 2**64).
    threads : int
        Workers.
    memory : int, optional
        Bytes that kept worlds may take; half of the free memory if not given.
    counting : module, optional
        Its ``sum_gains`` and ``keep`` count; a replacement of ``count_cpu`` may count differently.
    how : optional
        An argument for these functions; for ``count_cpu`` the weight at which a component splits its world. Neither
        option changes the result.
    """

    batch = 1
    """Vertices to evaluate at a time."""

    def __init__(
        self,
        ready: ArcBlocks,
        seed: int,
        threads: int = 1,
        *,
        memory: int | None = None,
        counting: Any = count_cpu,
        how: Any = SPLIT,
    ) -> None:
        self.ready, self.seed, self.threads = ready, np.uint64(seed), threads
        self.counting, self.how = counting, how
        self.arcs = Arcs.of(ready)
        self.memory = host_free_bytes() // 2 if memory is None else memory
        self._spare: SimpleQueue[tuple[World, Labels]] = SimpleQueue()
        for _ in range(threads):
            world = make_world(ready)
            self._spare.put((world, make_labels(len(world.vertex))))
        self._shards: list[fixed_cpu.Shard] = []
        # The pool is kept: a choice evaluates vertices one by one, each in less time than starting some threads takes.
        self._pool = ThreadPoolExecutor(threads)

    def _share(
        self, first: int, count: int, work: Callable, progress: Progress | None = None, size: int | None = None
    ) -> list:
        """Return ``work(scratch, first, count)`` for batches of ``size`` worlds that cover the range, in order."""
        size = size or max(BATCH, count // 4096)

        def one(low: int):
            scratch = self._spare.get()
            try:
                return work(scratch, low, min(size, first + count - low))
            finally:
                self._spare.put(scratch)

        results = []
        for result in self._pool.map(one, range(first, first + count, size)):
            results.append(result)
            if progress is not None:
                progress(min(len(results) * size, count), count)
        return results

    def gains(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return what each vertex adds to the seeds' reach, summed over worlds first … (int64; 0 for seeds)."""
        chosen = np.array(seeds, np.int64)
        sums = [np.zeros(self.ready.n, np.int64) for _ in range(self.threads)]
        spare: SimpleQueue[np.ndarray] = SimpleQueue()
        for one in sums:
            spare.put(one)

        def work(scratch: tuple[World, Labels], low: int, size: int) -> None:
            own = spare.get()
            self.counting.sum_gains(self.arcs, self.seed, low, size, chosen, self.how, *scratch, own)
            spare.put(own)

        self._share(first, count, work, progress)
        total = sum(sums[1:], sums[0]) + count
        total[chosen] = 0
        return total

    def reached(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return the number of vertices that the seeds reach in each world (int64)."""
        chosen = np.array(seeds, np.int64)

        def work(scratch: tuple[World, Labels], low: int, size: int) -> np.ndarray:
            values = np.empty(size, np.int64)
            count_cpu.count_reached(self.arcs, self.seed, low, chosen, scratch[0], values)
            return values

        return np.concatenate(self._share(first, count, work, progress))

    def keep(self, first: int, count: int, progress: Progress | None = None) -> np.ndarray | None:
        """Draw worlds, keep them, and return the gains of all vertices; None if they do not fit."""
        self._shards = []  # free the old ones first
        n, few = self.ready.n, min(16, count)
        gains = np.zeros(n, np.int64)
        lock = Lock()

        def work(scratch: tuple[World, Labels], low: int, size: int, means: tuple[float, float]) -> fixed_cpu.Shard:
            own = np.zeros(n, np.int64)
            store = self.counting.keep(self.arcs, self.seed, low, size, self.how, *scratch, means, own)
            with lock:
                np.add(gains, own, out=gains)
            return fixed_cpu.Shard.of(n, size, store)

        (sample,) = self._share(first, few, partial(work, means=(1.0, 1.0)), size=few)
        gains[:] = 0
        slots, arcs = len(sample.index) / few, len(sample.heads) / few
        # A few shards per thread, so that progress and Ctrl-C are handled in between; each has an index of all
        # vertices.
        size = min(-(-count // self.threads), max(SHARD, -(-count // (8 * self.threads))))
        if slots * size >= 2**30 or fixed_cpu.bytes_of(slots, arcs, n, count, -(-count // size)) > self.memory:
            return None
        self._shards = self._share(first, count, partial(work, means=(slots, arcs)), progress, size)
        return gains + count

    def evaluate(self, vertices: Sequence[int]) -> list[int]:
        """Return the gain of each vertex beyond the chosen seeds, over the kept worlds."""

        def one(shard: fixed_cpu.Shard) -> list[int]:
            return [fixed_cpu.gain_of(*shard.arrays, v) for v in vertices]

        return [sum(parts) for parts in zip(*self._pool.map(one, self._shards), strict=True)]

    def choose(self, vertex: int) -> None:
        """Make a vertex a seed in the kept worlds."""
        for shard in self._shards:
            fixed_cpu.choose(*shard.arrays, vertex)
