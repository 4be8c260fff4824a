"""IMGPU on the CPU (Numba). ``cuda.py`` holds the same functions for GPUs.

A worker takes worlds one at a time; its sums are integers, so the number of workers changes nothing.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np

from gpukit.device.memory import host_free_bytes
from gpukit.imgpu import fixed_cpu
from gpukit.imgpu.problem import Progress
from gpukit.imgpu.reach_cpu import SPLIT, Labels, make_labels
from gpukit.imgpu.simulate_cpu import count_reached, sum_gains
from gpukit.imgpu.world_cpu import Arcs, World, make_world
from gpukit.worlds.blocks import ArcBlocks

BATCH = 64
"""Worlds that a worker takes at a time."""


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
        Bytes that kept worlds may take; half of what is free if not given.
    split : int
        Weight from which a component splits its world.
    by_level, combine, reorder, unroll
        Whether to count level by level, as the paper does, and how (``levels_cpu.py``). None changes the result.
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
        split: int = SPLIT,
        by_level: bool = False,
        combine: bool = False,
        reorder: bool = False,
        unroll: int = 16,
    ) -> None:
        self.ready, self.seed, self.threads = ready, np.uint64(seed), threads
        self.how = (split, by_level, combine, reorder, unroll)
        self.arcs = Arcs.of(ready)
        self.memory = host_free_bytes() // 2 if memory is None else memory
        self._spare: SimpleQueue[tuple[World, Labels]] = SimpleQueue()
        for _ in range(threads):
            world = make_world(ready)
            self._spare.put((world, make_labels(len(world.vertex))))
        self._shards: list[fixed_cpu.Shard] = []

    def _share(self, first: int, count: int, work: Callable, progress: Progress | None = None) -> list:
        """Return ``work(scratch, first, count)`` of batches that cover the worlds, in order."""
        size = max(BATCH, count // 4096)

        def one(low: int):
            scratch = self._spare.get()
            try:
                return work(scratch, low, min(size, first + count - low))
            finally:
                self._spare.put(scratch)

        results = []
        with ThreadPoolExecutor(self.threads) as pool:
            for result in pool.map(one, range(first, first + count, size)):
                results.append(result)
                if progress is not None:
                    progress(min(len(results) * size, count), count)
        return results

    def gains(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return what each vertex adds to the reach of the seeds, summed over worlds first … (int64; 0 for seeds)."""
        chosen = np.array(seeds, np.int64)
        sums = [np.zeros(self.ready.n, np.int64) for _ in range(self.threads)]
        spare: SimpleQueue[np.ndarray] = SimpleQueue()
        for one in sums:
            spare.put(one)

        def work(scratch: tuple[World, Labels], low: int, size: int) -> None:
            own = spare.get()
            sum_gains(self.arcs, self.ready.paired, self.seed, low, size, chosen, own, *scratch, self.how)
            spare.put(own)

        self._share(first, count, work, progress)
        total = sum(sums[1:], sums[0]) + count
        total[chosen] = 0
        return total

    def reached(self, first: int, count: int, seeds: Sequence[int], progress: Progress | None = None) -> np.ndarray:
        """Return how many vertices the seeds reach in each of the worlds (int64)."""
        chosen = np.array(seeds, np.int64)

        def work(scratch: tuple[World, Labels], low: int, size: int) -> np.ndarray:
            values = np.empty(size, np.int64)
            count_reached(self.arcs, self.ready.paired, self.seed, low, chosen, values, scratch[0])
            return values

        return np.concatenate(self._share(first, count, work, progress))

    def keep(self, first: int, count: int, progress: Progress | None = None) -> np.ndarray | None:
        """Draw worlds, keep them, and return the gains of all vertices; None if they do not fit."""
        size = -(-count // self.threads)
        ranges = [(low, min(size, first + count - low)) for low in range(first, first + count, size)]
        scratch = self._spare.get()
        sample = fixed_cpu.keep(
            self.arcs, self.ready.paired, self.seed, first, min(16, count), *scratch, self.how, 1.0, 1.0,
            np.zeros(self.ready.n, np.int64),
        )  # fmt: skip
        self._spare.put(scratch)
        slots, arcs = len(sample[0]) / min(16, count), len(sample[2]) / min(16, count)
        if fixed_cpu.bytes_of(slots, arcs, self.ready.n, count, self.threads) > self.memory or slots * size >= 1.5e9:
            return None

        def one(low_size: tuple[int, int]) -> tuple[fixed_cpu.Shard, np.ndarray]:
            scratch = self._spare.get()
            gains = np.zeros(self.ready.n, np.int64)
            found = fixed_cpu.keep(
                self.arcs, self.ready.paired, self.seed, *low_size, *scratch, self.how, slots, arcs, gains
            )
            self._spare.put(scratch)
            return fixed_cpu.Shard.of(self.ready.n, low_size[1], *found), gains

        with ThreadPoolExecutor(self.threads) as pool:
            found = list(pool.map(one, ranges))
        self._shards = [shard for shard, _ in found]
        if progress is not None:
            progress(count, count)
        return sum((gains for _, gains in found), np.zeros(self.ready.n, np.int64)) + count

    def evaluate(self, vertices: Sequence[int]) -> list[int]:
        """Return what each vertex adds to the seeds chosen so far, over the worlds that are kept."""

        def one(shard: fixed_cpu.Shard) -> list[int]:
            return [fixed_cpu.gain_of(*shard.arrays, v) for v in vertices]

        with ThreadPoolExecutor(self.threads) as pool:
            return [sum(parts) for parts in zip(*pool.map(one, self._shards), strict=True)]

    def choose(self, vertex: int) -> None:
        """Make a vertex a seed in the worlds that are kept."""
        for shard in self._shards:
            fixed_cpu.choose(*shard.arrays, vertex)
