"""An RR collection on a GPU: the same sets, seeds and counts as the CPU collection.

``room.py`` defines how much memory a collection may take. If less memory is free than planned, because another program
took it, the collection moves to host memory, or draws fewer sets at a time.
"""

import gc
from contextlib import suppress

import numpy as np

from gpukit.device.arrays import Buffer, OutOfMemory, copy, copy_of, xp
from gpukit.device.elements_cuda import nonzero
from gpukit.device.launch import launch
from gpukit.errors import DeviceError
from gpukit.wording import spelled
from gpukit.worlds import block_cuda, candidates_cuda, room, sample_cuda, samplers_cuda, walk_cuda
from gpukit.worlds.collection import (
    Query,
    Report,
    Sampler,
    Selection,
    check_ids,
    coverage_of,
    select_from,
    shared_out,
)
from gpukit.worlds.cover_cpu import gather_sets, sort_sets
from gpukit.worlds.cover_cuda import Sets
from gpukit.worlds.graph_cuda import SLACK, Batch, DeviceGraph, part_of
from gpukit.worlds.reverse import NEVER, Ending, Reverse, Samples

VALUES = candidates_cuda.CHOSEN
"""Largest value of an element for which a GPU chooses."""

SPARE_PAIRS = 1 << 23
"""Pairs the queue holds in addition to the expected number, because few sets hold most members. Example: 1,024 blocks
draw 32 sets of R-MAT 22 each, 23 members a set; the fullest block has 5,000 to 5,400 pairs. If it has no room for them,
the whole batch is drawn again."""

LIMITED = 3
"""Pairs for each member of a set that ends at a limit: itself, and two words if some of its rows are left."""

LOOKS, LOOK_BYTES = 1 << 24, 64
"""Most ids that are examined for triviality at once, and the bytes of the budget that each may take."""

FEWEST_LOOKS = 1 << 15
"""Least number of ids that are examined at once, even if the budget is smaller."""

MAX_PAIRS, MIN_PAIRS = 2**31 - 1, 1 << 10
"""Most pairs of a batch, and the fewest that are tried, however little memory is left."""

SPILL_SHARE = 16
"""A collection moves to the host if a batch may take less than one part in SPILL_SHARE of its memory."""

TOO_FEW, NO_MEMORY = -1, -2
"""Results of a batch instead of its number of members: its room was too small, or could not be allocated."""


class HostSets:
    """Sets in host memory, as a list of pieces."""

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


class CudaCollection:
    """An RR collection on the current GPU; it moves to host memory when it outgrows the device.

    Parameters
    ----------
    reverse : Reverse
        The graph, ready for sampling.
    seed : int
        The user's seed, in [0, 2**64).
    first : int
        First sample id.
    sampler : Sampler, optional
        Draws instead of the samplers of this package.
    memory : int, optional
        Bytes of device memory that all collections of the graph may use together; most of the free memory if not given.
    graph : DeviceGraph, optional
        The graph's arrays, if another collection has copied them already.
    ending : Ending
        When sets end early.
    """

    def __init__(
        self,
        reverse: Reverse,
        seed: int,
        first: int = 0,
        *,
        sampler: Sampler | None = None,
        memory: int | None = None,
        graph: DeviceGraph | None = None,
        ending: Ending = NEVER,
    ) -> None:
        self.reverse, self.seed, self.first, self.ending = reverse, seed, first, ending
        self.graph = graph or DeviceGraph(reverse)
        self.size = self.drawn = self.ids = self._used = self._found = 0
        self._mean = self.graph.mean or 32.0
        self._host: HostSets | None = None
        self._counts = Buffer(reverse.elements, np.int32, 0)
        self._give_back()
        self._marks = Buffer(ending.marks & np.uint8(ending.all_marks))
        usual = (reverse.model, reverse.sampler, reverse.rounds) == ("lt", "skip", 1) and len(ending.marks) == 0
        walks = usual and self.graph.link()
        self._sampler = sampler or (samplers_cuda.walk if walks else samplers_cuda.skip)
        self._whole_room = sampler is not None
        self._control = Buffer(block_cuda.CONTROL, np.int64)
        self.graph.add(self, memory)

    def extend(self, size: int, report: Report | None = None) -> None:
        """Draw sets until there are ``size``."""
        while size > self.drawn:
            ids = self.reverse.ids_for(size - self.drawn)
            check_ids(self.first, self.ids + ids)
            self.append(self.ids, ids, report)
            self.ids += ids
        self.size = max(self.size, size)

    def extend_over(self, ids: int) -> None:
        """Draw the sets of the first ``ids`` sample ids, whatever their number; no set may exist before."""
        check_ids(self.first, ids)
        self.append(0, ids)
        self.ids, self.size = ids, self.drawn

    def append(self, low: int, count: int, report: Report | None = None) -> None:
        """Append the sets with ids from ``first + low`` on, without trivial ones if these are left out."""
        whole = self.reverse.samples(self.seed, self.first + low, count, self.ending)
        whole = whole._replace(kept=self.graph.no_ids, marks=self._marks.view)
        if self.reverse.singleton is None:
            self._in_batches(whole, report)
            return
        looks = max(FEWEST_LOOKS, min(LOOKS, self.graph.budget // LOOK_BYTES))
        for start in range(0, count, looks):
            part = whole._replace(first=whole.first + start, size=min(looks, count - start))
            kept = self._keep(part)
            self._in_batches(part._replace(size=len(kept), kept=kept), report)

    def _keep(self, samples: Samples) -> Buffer:
        """Return the ids whose sets are not trivial, as int64 relative to the first id."""
        flags = Buffer(samples.size, np.uint8)
        block = 32 if xp is np else block_cuda.BLOCK
        grid = min(-(-samples.size // block), 1 << 16)
        asked = samples._replace(kept=self.graph.no_ids.view)
        launch(sample_cuda.keep, grid, block, self.graph.tables, asked, flags.view)
        return nonzero(flags)

    def _in_batches(self, samples: Samples, report: Report | None) -> None:
        """Draw sets in as few batches as the memory allows."""
        low, left = 0, samples.size
        batch, limit, tidied = left, MAX_PAIRS, False
        while left > 0:
            batch, each = min(batch, left), self._pairs_of_a_set()
            most_pairs, memory = self._room(left, limit)
            spare = min(SPARE_PAIRS, most_pairs // 4)
            if 0 < self.ending.limit < self.reverse.n:
                spare = min(spare, LIMITED * batch * (self.ending.limit + block_cuda.MARGIN))
            pairs = int(each * batch) + spare
            if pairs > most_pairs and not tidied:
                # Numba's compiler leaves frames behind that refer to unused collections, which still count against the
                # memory.
                gc.collect()
                tidied = True
                continue
            if pairs > most_pairs and batch > 1:
                batch = max(1, int((most_pairs - spare) / each))
            all_room = pairs >= most_pairs or self._whole_room
            pairs, found = most_pairs if all_room else pairs, self._found
            try:
                members = self._draw(part_of(samples, low, batch), pairs, memory, self._target(left))
            except OutOfMemory:
                members = NO_MEMORY  # from here on, no frame refers to the arrays of the attempt
            if members == TOO_FEW and not all_room and self.graph.mean is None:
                self._mean *= 4
            elif members == TOO_FEW and not all_room:
                self.graph.slack *= 4
            elif members == TOO_FEW and batch > 1:
                batch = max(1, batch // 4)
            elif members < 0 and self._used and self._host is None:
                self._spill()
            elif members == NO_MEMORY and pairs > MIN_PAIRS:
                limit = max(MIN_PAIRS, pairs // 4)
            elif members == NO_MEMORY:
                raise DeviceError(
                    f"a batch of {MIN_PAIRS} pairs finds no room on the GPU, {self.graph.budget / 2**20:.0f} MiB "
                    f"of which were for RR sets at first; end what else runs there, or use {spelled('device', 'cpu')}"
                )
            elif members == TOO_FEW:
                raise DeviceError(
                    f"one RR set needs more than the {self.graph.budget / 2**20:.0f} MiB of device memory there "
                    f"are; use {spelled('device', 'cpu')}"
                )
            else:
                self.drawn, low, left = self.drawn + batch, low + batch, left - batch
                self._used += members
                if self._host is not None:
                    self._move_to_host(batch)
                self._mean = self.graph.mean = max(1.0, self._found / self.drawn / self.reverse.rounds)
                # A larger slack may have been needed only because the mean was too low.
                sufficed = (pairs - spare) / max(1, self._found - found)
                self.graph.slack = max(SLACK, min(self.graph.slack, sufficed))
                if report is not None:
                    report(self.drawn)

    def _room(self, count: int, limit: int) -> tuple[int, int]:
        """Return the most pairs of the next batch, and the memory; if these are few, move to the host first."""
        memory = self._memory()
        pairs = self._most_pairs(memory, count)
        if self._used and self._host is None and pairs * room.PAIR < memory // SPILL_SHARE:
            self._spill()
            return self._room(count, limit)
        return max(MIN_PAIRS, min(pairs, limit)), memory

    def _draw(self, samples: Samples, pairs: int, memory: int, target: int = 0) -> int:
        """Draw a batch of sets and return the number of their members, or TOO_FEW.

        ``target`` is the number of sets to allocate room for when an array has to grow.
        """
        base, count = 0 if self._host is not None else self.drawn, samples.size
        places = room.most_entries(memory, self._held(), max(target, base + count), pairs)
        self._starts.reserve(base + count, base, target)
        self._sizes.reserve(base + count, base, target)
        self._entries.reserve(self._used + pairs, self._used, places)
        self._control.array.fill(0)
        before = copy_of(self._counts.array)
        out = block_cuda.Output(
            self._sizes.view, self._starts.view, base, self._entries.view, self._used, self._counts.view
        )
        expected = int(min(pairs, self._pairs_of_a_set() * count))
        self._sampler(Batch(self.graph, samples, pairs, expected, out, self._control.view))
        control = self._control.host().tolist()
        walks = self._sampler is samplers_cuda.walk
        short = self._used + control[block_cuda.MEMBER_TAIL] > len(self._entries)
        short |= walks and control[block_cuda.TICKET] < count
        if not control[block_cuda.OVERFLOW] and not short:
            self._found += control[block_cuda.VISITED if len(self.ending.marks) else block_cuda.MEMBER_TAIL]
            return int(control[block_cuda.MEMBER_TAIL])
        self._counts.array[:] = before
        if walks and control[block_cuda.OVERFLOW] == walk_cuda.DEEP:
            self._sampler = samplers_cuda.skip
            return self._draw(samples, pairs, memory, target)
        return TOO_FEW

    def select(self, query: Query) -> Selection:
        """Choose k elements of each round greedily (:func:`gpukit.worlds.cover_cpu.greedy`)."""
        try:
            found = self._select_on_device(query) if self._host is None else None
        except OutOfMemory:
            found = None
        if found is not None:
            return found
        sets = self._sets(self.size)
        with shared_out(*sets, self.reverse.elements) as shares:
            return select_from(self.reverse, *sets, shares, query)

    def _select_on_device(self, query: Query) -> Selection | None:
        """Return the selection, or None if the candidates did not suffice or the values are too large for a GPU."""
        bonus = query.bonus
        if bonus is not None and bonus.unit * self.size + bonus.highest * bonus.scale > VALUES:
            return None
        return self.graph.chooser.select(self._on_device(), query)

    def _on_device(self) -> Sets:
        """Return the first ``size`` sets as an argument of kernels."""
        return Sets(
            self._starts.view, self._sizes.view, self.size, self._entries.view, self._used, self._counts.view,
            self.size == self.drawn,
        )  # fmt: skip

    def coverage(self, seeds: np.ndarray) -> np.ndarray:
        """Return, as int64 (len(seeds) + 1,), how many sets the first i seeds cover."""
        if self._host is None:
            with suppress(OutOfMemory):
                return self.graph.chooser.coverage(self._on_device(), seeds)
        return coverage_of(self.reverse.elements, *self._sets(self.size), seeds)

    def ended(self) -> int:
        """Return the number of sets that ended early and have no representative."""
        sizes = self._sizes.host(self.size) if self._host is None else np.diff(self._host.sets(self.size)[0])
        return int(np.count_nonzero(sizes == 0))

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32) in host memory, members of a set ascending."""
        offsets, members = self._sets(self.size)
        sort_sets(offsets, members)
        return offsets, members

    def clear(self) -> None:
        """Remove all sets and free their memory, but keep the estimate of their size."""
        self.drawn = self._used = self._found = 0
        self._counts.array.fill(0)
        self._host = None
        self._give_back()

    def _give_back(self) -> None:
        """Free the memory that grows with the number of sets."""
        self._starts, self._sizes, self._entries = Buffer(0, np.int64), Buffer(0, np.int32), Buffer(0, np.int64)

    def members(self) -> int:
        """Return the number of members of all sets."""
        if self._host is not None:
            return int(self._host.sets(self.size)[0][-1])
        return self._used if self.size == self.drawn else int(self._sizes.host(self.size).sum(dtype=np.int64))

    def held(self) -> int:
        """Return the bytes of device memory that only this collection uses."""
        return sum(int(one.array.nbytes) for one in (self._starts, self._sizes, self._entries, self._counts))

    def _pairs_of_a_set(self) -> float:
        """Return the number of members per set to allocate room for."""
        return self.graph.slack * self._mean * self.reverse.rounds

    def _memory(self) -> int:
        """Return the bytes that entries, sets, sampler and selection may take (``room.py``)."""
        return self.held() + self.graph.spare() - 2 * room.COUNTER * self.reverse.elements

    def _held(self) -> room.Held:
        return room.Held(len(self._entries), len(self._starts), self._used)

    def _target(self, count: int) -> int:
        """Return the number of sets to allocate room for when ``count`` are to come; 0 once batches go to the host."""
        return 0 if self._host is not None else 9 * (self.drawn + count) // 8

    def _most_pairs(self, memory: int, count: int, pair: int = room.PAIR) -> int:
        """Return the most pairs of a batch when ``count`` sets are to come and ``memory`` bytes may be taken."""
        held, sets = self._held(), self._target(count)
        pairs = room.most_pairs(memory, held, sets, pair)
        if self._host is not None:  # the sets of one batch; there are no more
            sets = min(count, int(max(0, pairs) / self._pairs_of_a_set()))
            pairs = room.most_pairs(memory, held, sets, pair)
        return pairs

    def _sets(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets and members of the first ``size`` sets in host memory, in the order of their numbers."""
        return self._fetched(size) if self._host is None else self._host.sets(size)

    def _fetched(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the same for sets on the device."""
        offsets = np.zeros(size + 1, np.int64)
        np.cumsum(self._sizes.host(size), out=offsets[1:])
        members = np.empty(int(offsets[-1]), np.int32)
        gather_sets(self._starts.host(size), offsets, self._entries.host(self._used), members)
        return offsets, members

    def take_over(self, other: "CudaCollection") -> None:
        """Append the sets and counters of another collection, on any GPU, to this one."""
        count, members = other.drawn, other._used
        if self._host is None and (other._host is not None or not self._make_room(count, members)):
            self._spill()
        if self._host is not None:
            self._host.add(*other._sets(count))
        else:
            starts = self._starts.array[self.drawn : self.drawn + count]
            entries = self._entries.array[self._used : self._used + members]
            copy(starts, other._starts.array[:count])
            copy(self._sizes.array[self.drawn : self.drawn + count], other._sizes.array[:count])
            copy(entries, other._entries.array[:members])
            starts += self._used
            entries += self.drawn << 32
            self._used += members
        self.drawn += count
        counts = xp.empty_like(self._counts.array)
        copy(counts, other._counts.array)
        self._counts.array += counts

    def _make_room(self, count: int, members: int) -> bool:
        """Allocate room for more sets if the memory allows; return whether it does."""
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

    def _spill(self) -> None:
        """Move the collection to host memory for good."""
        self._host = HostSets()
        self._move_to_host(self.drawn)
        self._give_back()

    def _move_to_host(self, batch: int) -> None:
        assert self._host is not None
        self._host.add(*self._fetched(batch))
        self._used = 0
