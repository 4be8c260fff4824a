"""A graph on a GPU, ready for sampling, with the state that the collections of its RR sets share."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from gpukit.device.arrays import Buffer, free_memory, xp
from gpukit.device.launch import launch
from gpukit.device.placing import Placement
from gpukit.wording import spelled
from gpukit.worlds import room, walk_cuda
from gpukit.worlds.block_cuda import Output
from gpukit.worlds.reverse import Reverse, SamplerTables, Samples
from gpukit.worlds.select_cuda import Chooser

HOP_SHARE = 4
"""Walks are used if ``walk_steps`` takes at most one part in HOP_SHARE of the free memory."""

ELEMENT_BYTES = 10
"""Working space of selections per element: counts (4), state (1), position (4), two words for 32 elements."""

SLACK = 1.25
"""Initial room for pairs, as a multiple of the expected number; it grows if blocks run out of room for large sets."""


ARRAYS = ("rows", "indptr", "indices", "accept", "thresholds", "lt_prefix", "roots")
"""The arrays of a :class:`Reverse` that a GPU reads."""


def placement(reverse: Reverse, gpus: Sequence[int] = ()) -> Placement:
    """Choose the placement of a graph's arrays, for these GPUs or the current one; raises DeviceError if none fits."""
    arrays = {name: getattr(reverse, name) for name in ARRAYS}
    vertices = {"vertices": ELEMENT_BYTES * reverse.elements}
    return Placement(arrays, ("indices", "accept", "lt_prefix"), vertices, f"use {spelled('device', 'cpu')}", gpus=gpus)


class DeviceGraph:
    """The arrays of a :class:`Reverse` on the current GPU, and working space that its collections share.

    Parameters
    ----------
    reverse : Reverse
    placed : Placement, optional
        Where its arrays are placed (:func:`placement`), if that was chosen for several GPUs, one of which is current.

    Attributes
    ----------
    tables : SamplerTables
        The graph, for kernels.
    walk_steps : Buffer or None
        For each edge, the row of its tail, once :meth:`link` has made it.
    chooser : Chooser
        Selects from any of the collections.
    no_ids, not_met : Buffer
        Empty arguments for launches that draw every set completely.
    mean : float or None
        Mean number of members of a set; None before any is drawn.
    slack : float
        Room for members, as a multiple of the expected number.

    Raises
    ------
    DeviceError
        If the graph does not fit even with its edges in host memory.
    """

    def __init__(self, reverse: Reverse, placed: Placement | None = None) -> None:
        on_device = (placed or placement(reverse)).here()
        self.rows, self.indptr, self.indices, self.accept, self.thresholds, self.lt_prefix, self.roots = (
            on_device[name] for name in ARRAYS
        )
        views = {name: one.view for name, one in on_device.items() if name in SamplerTables._fields}
        self.tables: SamplerTables = reverse.tables._replace(**views)
        self.walk_steps: Buffer | None = None
        self.chooser = Chooser(reverse)
        self.no_ids, self.not_met = Buffer(0, np.int64), Buffer(1, np.int32, 0)
        # Weak: a collection refers to its graph, and frees its memory when nobody uses it.
        self.collections: WeakSet[Any] = WeakSet()
        self.budget = 0
        self.mean: float | None = None
        self.slack = SLACK

    def add(self, collection: Any, memory: int | None) -> None:
        """Register a collection; the first one sets the budget, unless ``memory`` gives it."""
        if memory is not None or not self.budget:
            self.budget = int(room.SHARE * free_memory()) if memory is None else memory
        self.collections.add(collection)

    def spare(self) -> int:
        """Return the bytes that each collection may take in addition to those it holds (``room.py``)."""
        alive = list(self.collections)
        return (self.budget - sum(one.held() for one in alive)) // len(alive)

    def link(self) -> bool:
        """Make ``walk_steps`` (:func:`gpukit.worlds.walk_cuda.link`) if there is room; return whether it exists."""
        m = len(self.indices)
        if self.walk_steps is None and 0 < HOP_SHARE * 16 * m <= free_memory():
            self.walk_steps = Buffer((m, 2), np.uint64)
            block = 32 if xp is np else 256
            grid = min(-(-m // block), 1 << 16)
            launch(walk_cuda.link, grid, block, self.rows.view, self.indices.view, self.walk_steps.view)
        return self.walk_steps is not None


class Batch(NamedTuple):
    """Sets that one launch draws, the memory it may use, and where the sets go.

    Attributes
    ----------
    graph : DeviceGraph
    samples : Samples
    pairs : int
        Number of members that there is room for.
    expected : int
        Number of members that the sets are expected to have.
    out : Output
    control : int64 array
        Zero at the start; places ``OVERFLOW``, ``TICKET`` and ``MEMBER_TAIL`` of :mod:`gpukit.worlds.block_cuda`.
    """

    graph: DeviceGraph
    samples: Samples
    pairs: int
    expected: int
    out: Output
    control: Any


def part_of(samples: Samples, low: int, count: int) -> Samples:
    """Return a part of a request, for one launch."""
    if len(samples.kept):
        return samples._replace(size=count, kept=Buffer(samples.kept.array[low : low + count]).view)
    return samples._replace(first=samples.first + low, size=count, kept=samples.kept.view)
