"""Worlds counted by the paper's steps on a GPU, level by level: Algorithm 2, lines 4 to 14, and its optimisations."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import int32, int64

from gpukit.device.arrays import Buffer, for_launch, free_memory
from gpukit.device.kernels import cuda, device, group, kernel
from gpukit.device.launch import launch
from gpukit.device.shape import block_size, fullest
from gpukit.errors import DeviceError
from gpukit.imgpu.count_cuda import ARCS, CONTROL, OVERFLOW, Kept, take_world
from gpukit.imgpu.world_cuda import MAX_THREADS, at, draw
from gpukit.imgpu.worlds_cuda import CudaWorlds
from gpukit.papers.imgpu import label_world_cuda as world
from gpukit.papers.imgpu.condense_cuda import condense
from gpukit.papers.imgpu.label_world_cuda import COMP, COUNTERS, GONE, REACH, ROWS, SLOTS, VERTEX, Memory
from gpukit.papers.imgpu.reach_cuda import reach_all
from gpukit.papers.imgpu.switches import Switches
from gpukit.worlds.blocks import ArcBlocks

REGISTERS = 64
"""Registers that a thread may take: 1,024 threads are then on a multiprocessor."""


@device
def _add_gains(space, slots, gains):
    """Add what each vertex of a world reaches, itself left out, to ``gains``; a vertex that is gone counts -1."""
    work = space.work
    for s in range(cuda.threadIdx.x, slots, cuda.blockDim.x):
        vertex, gone, c = work[at(space, VERTEX) + s], work[at(space, GONE) + s], work[at(space, COMP) + s]
        gain = int64(work[at(space, REACH) + c]) - 1 if gone == 0 else int64(-1)
        if gain != 0:
            cuda.atomic.add(gains, vertex, gain)


_i32, _i64, _int, _bool = "int32[::1]", "int64[::1]", "int64", "boolean"
_how = group(Switches, _int, _bool, _bool, _int)
_memory = group(Memory, _i32, _int, _i32)


@kernel((ARCS, "uint64", _int, _int, _i32, _how, _memory, _i64, _i64), max_registers=REGISTERS)
def sum_gains(arcs, seed, first, count, seeds, how, memory, gains, control):
    """Do what :func:`gpukit.imgpu.count_cuda.sum_gains` does, by labels; the graph must not be paired.

    A block owns a world at a time. Cost: some 90 passes over the world's arcs or slots, 4 bytes each, between barriers
    of the block; one 64-bit atomic for each slot.

    Parameters
    ----------
    how : Switches
        How worlds are counted; changes no sum.
    memory : Memory
        Working space.
    arcs, seed, first, count, seeds, gains, control
        As for :func:`gpukit.imgpu.count_cuda.sum_gains`.
    """
    tid = cuda.threadIdx.x
    counters = cuda.shared.array(COUNTERS, int32)
    partial = cuda.shared.array(MAX_THREADS, int32)
    heaviest = cuda.shared.array(2, int64)
    space = world.space_of(memory, arcs.n, counters)
    while True:
        ticket = take_world(counters, control, count)
        if ticket >= count:
            break
        # Line 5: the live arcs, and local numbers for their vertices.
        if tid == 0:
            counters[SLOTS] = 0
        live = draw(arcs, seed, first + ticket, space)
        if live > memory.cap // 2:
            if tid == 0:
                control[OVERFLOW] = 1
            break
        slots = world.number_slots(space, live)
        # Marginal reach: what the seeds reach is closed, so it can go.
        world.remove_reached(space, seeds, live, slots)
        # Lines 6 to 10: a DAG by level, then every reach, from the sinks up.
        levels, _ = condense(space, live, slots)
        reach_all(space, how, live, slots, levels, partial, heaviest)
        _add_gains(space, slots, gains)  # line 11
        world.forget_slots(space, slots)


class LevelWorlds(CudaWorlds):
    """The worlds of a graph on the current GPU, counted level by level unless it is paired.

    Parameters are those of :class:`gpukit.imgpu.worlds_cuda.CudaWorlds`, and ``how``, the switches. Half of the memory
    is for labels.
    """

    def __init__(
        self, ready: ArcBlocks, seed: int, *, memory: int | None = None, how: Switches, **options: Any
    ) -> None:
        memory = int(0.8 * free_memory()) if memory is None else memory
        super().__init__(ready, seed, memory=memory // 2, **options)
        self.how = how
        self._label_cap = 0

    def _label_memory(self) -> Any:
        """Return working space for worlds of as many arcs as the others have room for."""
        if self._label_cap != self.cap:
            own = 4 * (ROWS * self.cap + self.ready.n)
            if own > self.memory:
                raise DeviceError(
                    f"labels of one world need {own / 2**20:.0f} MiB of the {self.memory / 2**20:.0f} MiB of device "
                    "memory there are for them; leave out --by-level, or use --device cpu"
                )
            fitting = self.memory // own
            grid = min(self._blocks or fullest(sum_gains, fitting, self._label_threads()).grid, fitting)
            self._label_room: Any = None  # the old one goes before there is a new one
            self._label_room = for_launch(
                Memory(Buffer(grid * ROWS * self.cap, np.int32), self.cap, Buffer(grid * self.ready.n, np.int32, -1))
            )
            self._label_cap, self._label_grid = self.cap, grid
        return self._label_room

    def _label_threads(self) -> int:
        """Return the threads of a block."""
        mean = self.ready.mean_live
        return self._threads or block_size(128 if mean < 1024 else 256 if mean < 65_536 else 512, 4)

    def count(self, first: int, count: int, seeds: Sequence[int], gains: Buffer, kept: Kept) -> np.ndarray:
        """Add to ``gains`` over worlds by labels; where they are to be kept, they are counted by searches, too."""
        if self.ready.paired:
            return super().count(first, count, seeds, gains, kept)
        if kept is not self.not_kept:
            control = super().count(first, count, seeds, Buffer(self.ready.n, np.int64, 0), kept)
            if not control[OVERFLOW]:
                self._count_by_labels(first, count, seeds, gains)
            return control
        return self._count_by_labels(first, count, seeds, gains)

    def _count_by_labels(self, first: int, count: int, seeds: Sequence[int], gains: Buffer) -> np.ndarray:
        memory = self._label_memory()
        control, chosen = Buffer(CONTROL, np.int64, 0), Buffer(np.array(seeds, np.int32))
        worlds = min(self._label_grid, count)
        grid, threads = fullest(sum_gains, worlds, self._label_threads())
        launch(
            sum_gains, worlds if self._blocks else grid, threads,
            self._arcs, self.seed, first, count, chosen.view, self.how, memory, gains.view, control.view,
        )  # fmt: skip
        return control.host()

    def count_kept(self, kept: Kept, state: Any, gains: Buffer) -> None:
        """Draw the worlds that are kept again and count them by labels."""
        self._count_by_labels(*self._range, self._chosen, gains)
