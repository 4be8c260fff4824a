"""Sets on a GPU: the memory they take, and their way to host memory and to other GPUs.

``room.py`` says how much of the memory a collection may take. ``collection_cuda.py`` draws sets and chooses from them.
"""

from dataclasses import dataclass

import numpy as np

from gpukit.device.arrays import Buffer, OutOfMemory, copy, xp
from gpukit.worlds import cover_cpu, room
from gpukit.worlds.graph_cuda import DeviceGraph, release
from gpukit.worlds.reverse import Reverse


class HostSets:
    """Sets in host memory, in pieces."""

    def __init__(self) -> None:
        self.offsets: list[np.ndarray] = [np.zeros(1, np.int64)]
        self.members: list[np.ndarray] = []
        self.used = 0

    def add(self, offsets: np.ndarray, members: np.ndarray) -> None:
        """Append sets."""
        self.offsets.append(offsets[1:] + self.used)
        self.members.append(members)
        self.used += len(members)

    def sets(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets and members of the first ``size`` sets."""
        self.offsets = [np.concatenate(self.offsets)]
        self.members = [np.concatenate(self.members) if self.members else np.empty(0, np.int32)]
        offsets = self.offsets[0][: size + 1]
        return offsets, self.members[0][: offsets[-1]]


def gather(starts: np.ndarray, sizes: np.ndarray, entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sets that lie anywhere as offsets and members in the order of their numbers."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    packed = np.empty(int(offsets[-1]), np.int32)
    cover_cpu.gather_sets(starts, offsets, entries, packed)
    return offsets, packed


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

    def __init__(self, reverse: Reverse, graph: DeviceGraph) -> None:
        self.reverse, self.graph = reverse, graph
        self.size = self.drawn = self._used = self._found = 0
        self._mean = graph.mean or 32.0
        self._host: HostSets | None = None
        self._counts = Buffer(reverse.elements, np.int32, 0)
        self._give_back()

    def _give_back(self) -> None:
        """Give back the memory that grows with the number of sets."""
        self._starts, self._sizes, self._entries = Buffer(0, np.int64), Buffer(0, np.int32), Buffer(0, np.int64)

    def members(self) -> int:
        """Return the number of members of all sets."""
        if self._host is not None:
            return int(self._host.sets(self.size)[0][-1])
        return self._used if self.size == self.drawn else int(self._sizes.host(self.size).sum(dtype=np.int64))

    def held(self) -> int:
        """Return the bytes of device memory that belong to this collection alone."""
        return sum(int(one.array.nbytes) for one in (self._starts, self._sizes, self._entries, self._counts))

    def _pairs_of_a_set(self) -> float:
        """Return for how many members of a set there is to be room."""
        return self.graph.slack * self._mean * self.reverse.rounds

    def _memory(self) -> int:
        """Return the bytes that entries, sets, sampler and selection may take (``room.py``)."""
        return self.held() + self.graph.spare() - 2 * room.COUNTER * self.reverse.elements

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

    def _sets(self) -> tuple[np.ndarray, np.ndarray]:
        return self._fetched(0, self.size) if self._host is None else self._host.sets(self.size)

    def _fetched(self, low: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sets low … end - 1 on the device in host memory."""
        return gather(self._starts.host(end)[low:], self._sizes.host(end)[low:], self._entries.host(self._used))

    def take_over(self, other: "DeviceSets", piece: Piece) -> None:
        """Copy a piece of another collection, on any GPU, to the end of this one, but for the occurrence counters."""
        count, members = piece.sets_end - piece.sets, piece.used_end - piece.used
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

    def gathered(self, piece: Piece) -> tuple[np.ndarray, np.ndarray]:
        """Return the sets of a piece in host memory."""
        if self._host is None:
            return self._fetched(piece.sets, piece.sets_end)
        offsets, members = self._host.sets(piece.sets_end)
        return offsets[piece.sets :] - offsets[piece.sets], members[offsets[piece.sets] :]

    def _spill(self) -> None:
        """Move the collection to host memory, where it stays from now on."""
        self._host = HostSets()
        self._move_to_host(self.drawn)
        release(self.graph.work)
        self.graph.chooser.forget_index()
        self._give_back()

    def _move_to_host(self, batch: int) -> None:
        assert self._host is not None
        self._host.add(*self._fetched(0, batch))
        self._used = 0
