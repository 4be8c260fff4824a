"""Sets on a GPU: the memory they take, their way to host memory and to other GPUs, and how kernels see them.

``room.py`` says what a collection may take of the memory. What draws sets and chooses from them is in
``collection_cuda.py``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpukit.device.arrays import Buffer, OutOfMemory, copy, xp
from gpukit.worlds import block_cuda, room
from gpukit.worlds.cover_cuda import Sets
from gpukit.worlds.graph_cuda import DeviceGraph, release
from gpukit.worlds.host_sets import HostSets, gather
from gpukit.worlds.reverse import Reverse


class Launch(NamedTuple):
    """So many sets, from ``base`` on, that are being drawn."""

    base: int
    sets: int


@dataclass(frozen=True)
class Piece:
    """Sets ``sets`` … ``sets_end`` - 1 of a collection, whose members are entries ``used`` … ``used_end`` - 1."""

    sets: int
    sets_end: int
    used: int
    used_end: int


class DeviceSets:
    """The sets of a collection on the current GPU, or in host memory when they outgrew it.

    Parameters
    ----------
    reverse : Reverse
        The graph, ready for sampling.
    graph : DeviceGraph
        Its arrays on the GPU.
    """

    _starts: Buffer
    _sizes: Buffer
    _entries: Buffer

    def __init__(self, reverse: Reverse, graph: DeviceGraph) -> None:
        self.reverse, self.graph = reverse, graph
        self.size = self.drawn = self._used = 0
        self._ended: int | None = 0
        self._mean = graph.mean or 32.0
        self._host: HostSets | None = None
        self._counts = Buffer(reverse.elements, np.int32, 0)
        self._control, self._clear = Buffer(block_cuda.CONTROL, np.int64, 0), True
        self._launch = Launch(0, 0)
        self._samplers = graph.work
        self._give_back()

    def _give_back(self) -> None:
        """Give back the memory that grows with the number of sets."""
        raise NotImplementedError

    def finish(self) -> bool:
        """Wait for sets that are being drawn."""
        raise NotImplementedError

    def members(self) -> int:
        """Return the number of members of all sets."""
        self.finish()
        if self._host is not None:
            return int(self._host.sets(self.size)[0][-1])
        return self._used if self.size == self.drawn else int(self._sizes.host(self.size).sum(dtype=np.int64))

    def held(self) -> int:
        """Return the bytes of device memory that belong to this collection alone."""
        entries, counts = self._entries.array.nbytes, self._counts.array.nbytes
        return int(self._starts.array.nbytes + self._sizes.array.nbytes + entries + counts)

    def _pairs_of_a_set(self) -> float:
        """Return for how many members of a set there is to be room."""
        return self.graph.slack * self._mean * self.reverse.rounds

    def _memory(self) -> int:
        """Return the bytes that entries, sets, sampler and selection may take (``room.py``)."""
        return self.held() + self.graph.spare(self._samplers) - 2 * room.COUNTER * self.reverse.elements

    def _held(self) -> room.Held:
        return room.Held(len(self._entries), len(self._starts), self._used)

    def _target(self, count: int) -> int:
        """Return how many sets there is to be room for when so many are to come; on the host, they leave by batches."""
        return 0 if self._host is not None else 9 * (self.drawn + count) // 8

    def _give_back_index(self, pairs: int, sets: int) -> None:
        """Give back what seeds were chosen by where so many pairs and sets find no room, or others were chosen from."""
        index = self.graph.chooser.index_bytes()
        if not index:
            return
        entries, places, used = self._held()
        if used + pairs > entries or sets > places or index > room.INDEXED * used + room.COVERED * places:
            self.graph.chooser.forget_index()

    def _most_pairs(self, memory: int, count: int, pair: int = room.PAIR) -> int:
        """Return the most pairs of a batch when so many sets are to come, and there is so much memory."""
        held, sets = self._held(), self._target(count)
        pairs = room.most_pairs(memory, held, sets, pair)
        if self._host is not None:  # the sets of a batch, which are no more than these
            sets = min(count, int(max(0, pairs) / self._pairs_of_a_set()))
            pairs = room.most_pairs(memory, held, sets, pair)
        return pairs

    def _drawn(self) -> int:
        """Return how many sets there are, with those that are being drawn."""
        return max(self.drawn, self._launch.base + self._launch.sets)

    def _members(self) -> int:
        """Return about how many members these have."""
        return self._used + int(self._launch.sets * self._mean * self.reverse.rounds)

    def _on_device(self) -> Sets:
        """Return the first ``size`` sets, for kernels."""
        drawing = self._launch.sets > 0
        control = self._control if drawing else self.graph.nothing
        return Sets(
            self._starts.view, self._sizes.view, self.size, self._entries.view, self._used,
            self._counts.view, self.size == self._drawn(), control.view, self._launch.sets,
        )  # fmt: skip

    def _sets(self) -> tuple[np.ndarray, np.ndarray]:
        self.finish()
        return self._fetched(0, self.size) if self._host is None else self._host.sets(self.size)

    def _fetched(self, low: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sets low … end - 1 on the device in host memory."""
        return gather(self._starts.host(end)[low:], self._sizes.host(end)[low:], self._entries.host(self._used))

    def take_over(self, other: "DeviceSets", piece: "Piece") -> None:
        """Copy a piece of another collection, on any GPU, to the end of this one, but for the occurrence counters."""
        count, members, self._ended = piece.sets_end - piece.sets, piece.used_end - piece.used, None
        if self._host is None and (other._host is not None or not self._make_room(count, members)):
            self._spill()
        if self._host is not None:
            self._host.add(*other.gathered(piece))
        else:
            starts = self._starts.array[self.drawn : self.drawn + count]
            entries = self._entries.array[self._used : self._used + members]
            copy(starts, other._starts.array[piece.sets : piece.sets_end])
            copy(self._sizes.array[self.drawn : self.drawn + count], other._sizes.array[piece.sets : piece.sets_end])
            copy(entries, other._entries.array[piece.used : piece.used_end])
            starts += self._used - piece.used
            entries += (self.drawn - piece.sets) << 32
            self._used += members
        self.drawn += count

    def _make_room(self, count: int, members: int) -> bool:
        """Make room for more sets if there is any; return whether there is."""
        self._give_back_index(members, self._target(count))
        memory = self._memory()
        if self._most_pairs(memory, count, 0) < members:
            return False
        places = room.most_entries(memory, self._held(), self._target(count), 0)
        try:
            for array in (self._starts, self._sizes):
                array.reserve(self.drawn + count, self.drawn, self._target(count))
            self._entries.reserve(self._used + members, self._used, min(places, 2 * (self._used + members)))
        except OutOfMemory:
            return False
        return True

    def take_counts(self, other: "DeviceSets") -> None:
        """Add the occurrence counters of another collection, on any GPU."""
        counts = xp.empty_like(self._counts.array)
        copy(counts, other._counts.array)
        self._counts.array += counts

    def gathered(self, piece: "Piece") -> tuple[np.ndarray, np.ndarray]:
        """Return the sets of a piece in host memory."""
        if self._host is None:
            return self._fetched(piece.sets, piece.sets_end)
        offsets, members = self._host.sets(piece.sets_end)
        return offsets[piece.sets :] - offsets[piece.sets], members[offsets[piece.sets] :]

    def _spill(self) -> None:
        """Move the collection to host memory, where it stays from now on."""
        self._host = HostSets()
        self._move_to_host(self.drawn)
        release(self._samplers)
        self.graph.chooser.forget_index()
        self._give_back()

    def _move_to_host(self, batch: int) -> None:
        assert self._host is not None
        self._host.add(*self._fetched(0, batch))
        self._used = 0
