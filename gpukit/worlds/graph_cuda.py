"""A graph on a GPU, ready for sampling, with what the collections of its RR sets share there."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol
from weakref import ref

import numpy as np

from gpukit.device.arrays import Buffer, free_memory, join_side_streams, side_streams, xp
from gpukit.device.launch import launch
from gpukit.device.placing import Placement
from gpukit.worlds import room, walk_cuda
from gpukit.worlds.block_cuda import CONTROL, Gate, Output
from gpukit.worlds.reverse import Reverse, Samples, Tables
from gpukit.worlds.select_cuda import Chooser

HOP_SHARE = 4
"""Walks are drawn where the rows beside the edges take at most this part of the free memory."""

SAMPLERS = ("search", "log", "visited", "found")
"""Working space of samplers, made for a batch and kept for the next."""

ELEMENT_BYTES = 10
"""Working space of selections for an element: counts (4), state (1), position (4), two words for 32 elements."""

SLACK = 1.25
"""Room for pairs at first, as a multiple of those that are expected; more once blocks had too little for large sets."""


class Holder(Protocol):
    """A collection, as its graph sees it."""

    def held(self) -> int:
        """Return the bytes of device memory that belong to it alone."""


ARRAYS = ("rows", "indptr", "indices", "accept", "thresholds", "lt_prefix", "roots")
"""Of a :class:`Reverse`, those that a GPU reads."""


def placement(reverse: Reverse, gpus: Sequence[int] = ()) -> Placement:
    """Choose where the arrays of a graph lie, for these GPUs or the current one; raises DeviceError if none fits."""
    arrays = {name: getattr(reverse, name) for name in ARRAYS}
    vertices = {"vertices": ELEMENT_BYTES * reverse.elements}
    return Placement(arrays, ("indices", "accept", "lt_prefix"), vertices, "use --device cpu", gpus=gpus)


class Beside(NamedTuple):
    """A stream beside the current one, and the working space of samplers there."""

    stream: Any
    work: dict[str, Buffer]


class DeviceGraph:
    """The arrays of a :class:`Reverse` for the current GPU, and working space that its collections use in turn.

    ``hops`` has the row of its tail beside each edge once :meth:`link` made it. ``work`` is working space of samplers,
    ``side_work`` for collections that are drawn beside another one; ``chooser`` selects from any of them. ``mean`` is
    how many members a set has, once some were drawn, ``slack`` how many times as many pairs there is to be room for.
    ``nothing`` is the control of a launch that drew nothing, and ``no_ids``, ``no_marks`` and ``not_met`` are what
    launches take of sets that are all drawn, to their ends, and ``gate`` what those take that stop no other one.

    Parameters
    ----------
    reverse : Reverse
    placed : Placement, optional
        Where its arrays lie (:func:`placement`), if that was chosen for several GPUs, one of which is current.

    Raises
    ------
    DeviceError
        If the graph does not fit, its edges in host memory.
    """

    def __init__(self, reverse: Reverse, placed: Placement | None = None) -> None:
        on_device = (placed or placement(reverse)).here()
        self.rows, self.indptr, self.indices, self.accept, self.thresholds, self.lt_prefix, self.roots = (
            on_device[name] for name in ARRAYS
        )
        views = {name: one.view for name, one in on_device.items() if name in Tables._fields}
        self.tables: Tables = reverse.tables._replace(**views)
        self.hops: Buffer | None = None
        self.work: dict[str, Buffer] = {}
        self.side_work: tuple[dict[str, Buffer], ...] = ({}, {})
        self.chooser = Chooser(reverse)
        self.nothing = Buffer(CONTROL, np.int64, 0)
        self.no_ids, self.no_marks, self.not_met = Buffer(0, np.int64), Buffer(0, np.uint8), Buffer(1, np.int32, 0)
        self.gate = Gate(self.no_ids.view, self.no_ids.view, 0)
        # Weak: a collection holds its graph, and gives its memory back when nobody uses it; a WeakSet is slow to read.
        self.collections: list[ref[Holder]] = []
        self.budget = 0
        self.mean: float | None = None
        self.slack = SLACK

    def add(self, collection: Holder, memory: int | None) -> None:
        """Take note of a collection; the first one finds the budget, unless it is given."""
        if memory is not None or not self.budget:
            self.budget = int(room.SHARE * free_memory()) if memory is None else memory
        self.collections.append(ref(collection, self.collections.remove))

    def spare(self, samplers: dict[str, Buffer]) -> int:
        """Return the bytes that a collection which uses these samplers may take beyond what it holds (``room.py``)."""
        # A list of its own: who dies meanwhile takes its reference out.
        alive = [one for of in [*self.collections] if (one := of()) is not None]
        held = sum([one.held() for one in alive])
        held += sum([bytes_of(one) for one in (self.work, *self.side_work) if one and one is not samplers])
        return (self.budget - held) // len(alive)

    def beside(self, count: int = 1) -> list[Beside]:
        """Return where launches are beside others, one or two: they wait for what the GPU was given so far, no more."""
        return [Beside(*one) for one in zip(side_streams(count), self.side_work, strict=False)]

    def forget_sides(self) -> None:
        """Give the working space of launches beside others back, once they are done."""
        join_side_streams()
        for work in self.side_work:
            release(work)

    def link(self) -> bool:
        """Make ``hops`` (:func:`gpukit.worlds.walk_cuda.link`) if there are edges and room; return whether there is."""
        m = len(self.indices)
        if self.hops is None and 0 < HOP_SHARE * 16 * m <= free_memory():
            self.hops = Buffer((m, 2), np.uint64)
            block = 32 if xp is np else 256
            grid = min(-(-m // block), 1 << 16)
            launch(walk_cuda.link, grid, block, self.rows.view, self.indices.view, self.hops.view)
        return self.hops is not None


class Batch(NamedTuple):
    """Sets that one launch draws, what it may use for that, and where they go.

    Attributes
    ----------
    graph : DeviceGraph
    samples : Samples
    pairs : int
        Members that there is room for.
    work : dict of Buffer
        Working space of samplers, kept for the next batch.
    out : Output
    control : int64 array
        Zero; ``OVERFLOW``, ``TICKET`` and ``MEMBER_TAIL`` of :mod:`gpukit.worlds.block_cuda`.
    share : float
        The part of the GPU it may take, in (0, 1]: a search is a chain of waits, and takes as long when fewer blocks
        have more sets.
    gate : Gate
        Of :mod:`gpukit.worlds.block_cuda`; for samplers of sets that may end early.
    """

    graph: DeviceGraph
    samples: Samples
    pairs: int
    work: dict[str, Buffer]
    out: Output
    control: Any
    share: float
    gate: Gate


def part_of(samples: Samples, low: int, count: int) -> Samples:
    """Return a part of a request, for a launch."""
    if len(samples.kept):
        return samples._replace(size=count, kept=Buffer(samples.kept.array[low : low + count]).view)
    return samples._replace(first=samples.first + low, size=count, kept=samples.kept.view)


def bytes_of(samplers: dict[str, Buffer]) -> int:
    """Return the bytes that the working space of samplers takes."""
    return sum([int(one.array.nbytes) for one in samplers.values()])


def release(work: dict[str, Buffer], *names: str) -> None:
    """Give working space of samplers back, all of it unless it is named."""
    for name in names or SAMPLERS:
        work.pop(name, None)
