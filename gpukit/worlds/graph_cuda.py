"""A graph on a GPU, ready for sampling, with what the collections of its RR sets share there."""

from typing import Protocol
from weakref import WeakSet

import numpy as np

from gpukit.device.arrays import Buffer, free_memory, xp
from gpukit.device.launch import launch
from gpukit.device.memory import check_budget
from gpukit.worlds import candidates_cuda, cover_cuda, room, walk_cuda
from gpukit.worlds.reverse import Reverse

HOP_SHARE = 4
"""Walks are drawn where the rows beside the edges take at most this part of the free memory."""

SAMPLERS = ("queue", "ranks", "table", "log", "visited", "found")
"""Working space of samplers, made for a batch and kept for the next."""

ELEMENT_BYTES = 10
"""Working space of selections for an element: counts (4), state (1), position (4), two words for 32 elements."""


class Holder(Protocol):
    """A collection, as its graph sees it."""

    def held(self) -> int:
        """Return the bytes of device memory that belong to it alone."""


class DeviceGraph:
    """The arrays of a :class:`Reverse` on the current GPU, and working space that its collections use in turn.

    ``hops`` has the row of its tail beside each edge once :meth:`link` made it. ``side_work`` is working space of
    samplers for a collection that is drawn while another one is.

    Raises
    ------
    DeviceError
        If the graph does not fit.
    """

    def __init__(self, reverse: Reverse) -> None:
        arrays = (
            reverse.rows, reverse.indptr, reverse.indices, reverse.accept, reverse.thresholds, reverse.lt_prefix,
            reverse.roots,
        )  # fmt: skip
        needs = {"the graph": sum(array.nbytes for array in arrays), "vertices": ELEMENT_BYTES * reverse.elements}
        check_budget(needs, free_memory(), "the GPU", "use --device cpu")
        self.rows, self.indptr, self.indices = Buffer(reverse.rows), Buffer(reverse.indptr), Buffer(reverse.indices)
        self.accept, self.thresholds = Buffer(reverse.accept), Buffer(reverse.thresholds)
        self.lt_prefix, self.roots = Buffer(reverse.lt_prefix), Buffer(reverse.roots)
        self.hops: Buffer | None = None
        self.side_work: dict[str, Buffer] = {}
        # Weak: a collection holds its graph, and gives its memory back when nobody uses it.
        self.collections: WeakSet[Holder] = WeakSet()
        self.budget = 0
        elements, most = reverse.elements, cover_cuda.MAX_CANDIDATES
        self.work: dict[str, Buffer] = {
            "work": Buffer(elements, np.int32),
            "marks": Buffer((elements + 31) // 32, np.int64),
            "parts": Buffer((elements + 31) // 32, np.int64),
            "state": Buffer(elements, np.uint8, candidates_cuda.FREE),
            "position": Buffer(elements, np.int32, 2**31 - 1),
            "candidates": Buffer(most, np.int32),
            "start": Buffer(most, np.int64),
            "end": Buffer(most, np.int64),
            "taken": Buffer((4, most), np.int32),
            "histogram": Buffer(cover_cuda.BUCKETS * cover_cuda.EPOCHS, np.int32),
            "inverted": Buffer(1, np.int32),
            "covered": Buffer(1, np.int32),
            "earliest": Buffer(1, np.int32),
            "none": Buffer(0, np.int32),
        }

    def add(self, collection: Holder, memory: int | None) -> None:
        """Take note of a collection; the first one finds the budget, unless it is given."""
        if memory is not None or not self.budget:
            self.budget = int(room.SHARE * free_memory()) if memory is None else memory
        self.collections.add(collection)

    def spare(self, samplers: dict[str, Buffer]) -> int:
        """Return the bytes that a collection which uses these samplers may take beyond what it holds (``room.py``)."""
        other = self.work if samplers is self.side_work else self.side_work
        held = sum(one.held() for one in self.collections) + bytes_of(other)
        return (self.budget - held) // len(self.collections)

    def link(self) -> bool:
        """Make ``hops`` (:func:`gpukit.worlds.walk_cuda.link`) if there are edges and room; return whether there is."""
        m = len(self.indices)
        if self.hops is None and 0 < HOP_SHARE * 16 * m <= free_memory():
            self.hops = Buffer((m, 2), np.uint64)
            block = 32 if xp is np else 256
            grid = min(-(-m // block), 1 << 16)
            launch(walk_cuda.link, grid, block, self.rows.view, self.indices.view, self.hops.view)
        return self.hops is not None


def bytes_of(samplers: dict[str, Buffer]) -> int:
    """Return the bytes that the working space of samplers takes."""
    return sum(int(samplers[name].array.nbytes) for name in SAMPLERS if name in samplers)
