"""An RR collection on a GPU: the sets, seeds and counts of the CPU collection.

``room.py`` says what it may take of the memory. Where that is not to be had after all, because another program took it,
the collection moves to host memory, or draws fewer sets at a time, and goes on.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

import numpy as np

from gpukit.device.arrays import Buffer, OutOfMemory, copy, side_stream, wait_for_stream, xp
from gpukit.device.launch import launch
from gpukit.errors import DeviceError
from gpukit.worlds import candidates_cuda, room, sample_cuda, samplers_cuda, walk_cuda
from gpukit.worlds.collection import (
    Collection,
    Query,
    Sampler,
    Selection,
    check_ids,
    coverage_of,
    select_from,
    shared_out,
)
from gpukit.worlds.cover_cpu import sort_sets
from gpukit.worlds.cover_cuda import Sets
from gpukit.worlds.graph_cuda import SLACK, Batch, DeviceGraph, bytes_of, release
from gpukit.worlds.host_sets import HostSets, gather
from gpukit.worlds.reverse import NEVER, Ending, Reverse, Samples

MIN_LAUNCH_SETS = 1 << 15
"""Sets drawn at least: a launch costs as much as these, and later requests find them there."""

FEW_SETS, USUAL_MEMBERS = 64, 64
"""So few sets are drawn alone, to know how large they are; larger than usual ones, fewer ahead."""

SIDE_LAUNCH_SETS = 1 << 17
"""Sets of a launch that leaves room for another one beside it: most blocks are done long before those of large sets."""

VALUES = candidates_cuda.CHOSEN
"""Values of elements at most where a GPU chooses."""

SPARE_PAIRS = 1 << 23
"""Pairs the queue holds beyond what is expected. Few sets hold most members: of 1,024 blocks that draw 32 sets of R-MAT
22 each, 23 members a set, the fullest has 5,000 to 5,400 pairs, and all is drawn again where it has no room."""

LOOKS, LOOK_BYTES = 1 << 24, 64
"""Ids that are looked at together at most to leave out trivial sets, and the bytes that each may take of the budget."""

MAX_PAIRS, MIN_PAIRS = 2**31 - 1, 1 << 10
"""Pairs of a batch at most, and whatever is left."""

SPILL_SHARE = 16
"""A collection moves to the host when a batch may take less than one of so many parts of its memory."""


class CudaCollection:
    """An RR collection on the current GPU; spilled to host memory when it outgrows the device.

    Parameters
    ----------
    reverse : Reverse
        The graph, ready for sampling.
    seed : int
        The user's seed, in [0, 2**64).
    first : int
        First sample id.
    sampler : Sampler, optional
        What draws in place of the samplers of this package.
    memory : int, optional
        Bytes of device memory that all collections of the graph may use together; most of what is free if not given.
    graph : DeviceGraph, optional
        The graph's arrays where another collection has copied them already.
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
        self.reverse, self.seed, self.first = reverse, seed, first
        marks = ending.marks & np.uint8(ending.all_marks)
        # Where there is one for all, it is that of sets that end at a limit: zero, which takes no copy.
        self.ending, self._marks = ending, Buffer(1, np.uint8, 0) if len(marks) == 1 and not marks[0] else Buffer(marks)
        self.graph = graph or DeviceGraph(reverse)
        usual = (reverse.model, reverse.sampler, reverse.rounds) == ("lt", "skip", 1) and len(ending.marks) == 0
        walks = usual and self.graph.link()
        self._sampler = sampler or (samplers_cuda.walk if walks else samplers_cuda.skip)
        self._whole_room = sampler is not None
        self.size = self.ids = 0
        self._all = Buffer(0, np.int64)
        self.drawn = 0
        self._used = 0
        self._found = 0
        self._ended: int | None = 0
        self._mean = self.graph.mean or 32.0
        self._host: HostSets | None = None
        self._give_back()
        self._counts = Buffer(reverse.elements, np.int32, 0)
        self._control = Buffer(sample_cuda.CONTROL, np.int64, 0)
        self._samplers = self.graph.work
        self.graph.add(self, memory)

    def held(self) -> int:
        """Return the bytes of device memory that belong to this collection alone."""
        return sum(int(one.array.nbytes) for one in (self._starts, self._sizes, self._entries, self._counts))

    def extend(self, size: int) -> None:
        """Draw sets until there are ``size``."""
        for _ in self.extending(size):
            pass

    def extending(self, size: int, on_side: bool = False) -> Iterator[None]:
        """Draw sets until there are ``size``, and stop after each launch, when the host could do something else.

        ``on_side``: few sets, which leave much of the GPU idle, are drawn on a stream of their own.
        """
        while size > self.drawn:
            count = max(size, self._ahead(size)) - self.drawn
            ids = self.reverse.ids_for(count)
            check_ids(self.first, self.ids + ids)
            turns = self._appending(self.ids, ids)
            self.ids += ids
            small = count <= SIDE_LAUNCH_SETS
            if on_side and not small:
                release(self.graph.side_work)  # of smaller launches before
            yield from self._on_side_stream(turns) if on_side and small else turns
        self.size = max(self.size, size)

    def extend_over(self, ids: int) -> None:
        """Draw the sets of the first ``ids`` sample ids, however many these are; nothing was drawn before."""
        check_ids(self.first, ids)
        self.append(0, ids)
        self.ids, self.size = ids, self.drawn

    def _ahead(self, size: int) -> int:
        """Return how many sets a launch that is to lead to so many draws in all, as they cost little more."""
        if self.graph.mean is None:
            return size if size <= FEW_SETS else MIN_LAUNCH_SETS
        return int(MIN_LAUNCH_SETS * min(1.0, USUAL_MEMBERS / self.graph.mean))

    def _on_side_stream(self, turns: Iterator[None]) -> Iterator[None]:
        """Take turns on a stream, and in working space for samplers, of their own."""
        self._samplers, stream = self.graph.side_work, side_stream()
        more = True
        try:
            while more:
                with stream:
                    more = next(turns, self) is not self
                if more:
                    yield
        finally:
            self._samplers = self.graph.work

    def append(self, low: int, count: int) -> None:
        """Draw the sets with ids ``first + low`` …, but trivial ones that are left out, and number them on."""
        for _ in self._appending(low, count):
            pass

    def _appending(self, low: int, count: int) -> Iterator[None]:
        """Do the same, and stop after each launch."""
        whole = self.reverse.samples(self.seed, self.first + low, count, self.ending)
        whole = whole._replace(kept=self._all, marks=self._marks.view)
        if self.reverse.quiet is None:
            yield from self._in_batches(whole)
            return
        looks = max(MIN_LAUNCH_SETS, min(LOOKS, self.graph.budget // LOOK_BYTES))
        for start in range(0, count, looks):
            part = whole._replace(first=whole.first + start, size=min(looks, count - start))
            kept = self._keep(part)
            yield from self._in_batches(part._replace(size=len(kept), kept=kept))

    def _keep(self, samples: Samples) -> Buffer:
        """Return which of the ids are of sets that are not trivial, as int64 counted from the first."""
        flags = Buffer(samples.size, np.uint8)
        block = 32 if xp is np else sample_cuda.BLOCK
        grid = min(-(-samples.size // block), 1 << 16)
        launch(sample_cuda.keep, grid, block, self.graph.tables, samples._replace(kept=self._all.view), flags.view)
        return Buffer(xp.flatnonzero(flags.array))

    def _in_batches(self, samples: Samples) -> Iterator[None]:
        """Draw in as many batches as fit, and stop after each launch."""
        low, count = 0, samples.size
        batch, limit = count, MAX_PAIRS
        while count > 0:
            batch, each = min(batch, count), self._pairs_of_a_set()
            pairs_max = min(self._room(count), limit)
            spare = min(SPARE_PAIRS, pairs_max // 4)
            expected = int(each * batch) + spare
            if expected > pairs_max and batch > 1:
                batch = max(1, int((pairs_max - spare) / each))
                expected = pairs_max
            pairs = pairs_max if self._whole_room else min(expected, pairs_max)
            before, full = self._found, False
            try:
                done = yield from self._drawing(_part(samples, low, batch), pairs, self._target(count))
            except OutOfMemory:
                full = True  # dealt with below, where no frame holds the arrays that it was about any more
            if full:
                wait_for_stream()  # before anything that it still copies from is given back
                release(self._samplers)
                if self._used and self._host is None:
                    self._spill()
                elif pairs > MIN_PAIRS:
                    limit = max(MIN_PAIRS, pairs // 4)
                else:
                    raise DeviceError(
                        f"a batch of {MIN_PAIRS} pairs finds no room on the GPU, {self.graph.budget / 2**20:.0f} MiB "
                        "of which were for RR sets at first; end what else runs there, or use --device cpu"
                    )
                continue
            if done is None:
                if expected < pairs_max:
                    if self.graph.mean is None:
                        self._mean *= 4
                    else:
                        self.graph.slack *= 4
                elif batch > 1:
                    batch = max(1, batch // 4)
                elif self._used and self._host is None:
                    self._spill()
                else:
                    raise DeviceError(
                        f"one RR set needs more than the {self.graph.budget / 2**20:.0f} MiB of device memory there "
                        "are; use --device cpu"
                    )
                continue
            self.drawn, low, count = self.drawn + batch, low + batch, count - batch
            self._used += done
            if self._host is not None:
                self._move_to_host(batch)
            self._mean = self.graph.mean = max(1.0, self._found / self.drawn / self.reverse.rounds)
            # That more was needed may have been for a mean that was too low.
            sufficed = (pairs - spare) / max(1, self._found - before)
            self.graph.slack = max(SLACK, min(self.graph.slack, sufficed))

    def _pairs_of_a_set(self) -> float:
        """Return for how many members of a set there is to be room."""
        return self.graph.slack * self._mean * self.reverse.rounds

    def _room(self, count: int) -> int:
        """Return how many pairs the next batch may have; a collection that leaves too few moves to the host."""
        self._give_back_index(int(self._pairs_of_a_set() * count) + SPARE_PAIRS, max(self._target(count), count))
        pairs = self._most_pairs(count)
        if self._used and self._host is None and pairs * room.PAIR < self._memory() // SPILL_SHARE:
            self._spill()
            pairs = self._most_pairs(count)
        pairs = max(MIN_PAIRS, min(pairs, MAX_PAIRS))
        if bytes_of(self._samplers) > room.PAIR * pairs:
            release(self._samplers)
        return pairs

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
        entries, places, used = self._held()
        chooser = self.graph.chooser
        larger = chooser.index_bytes() > room.INDEXED * used + room.COVERED * places
        if used + pairs > entries or sets > places or larger:
            chooser.forget_index()

    def _most_pairs(self, count: int, pair: int = room.PAIR) -> int:
        """Return the most pairs of a batch when so many sets are to come."""
        memory, held, sets = self._memory(), self._held(), self._target(count)
        pairs = room.most_pairs(memory, held, sets, pair)
        if self._host is not None:  # the sets of a batch, which are no more than these
            sets = min(count, int(max(0, pairs) / self._pairs_of_a_set()))
            pairs = room.most_pairs(memory, held, sets, pair)
        return pairs

    def _drawing(self, samples: Samples, pairs: int, target: int = 0) -> Generator[None, None, int | None]:
        """Draw sets after those there are, stop after each launch; return their members, or None if they do not fit.

        ``target``: for how many sets to make room, where there is too little.
        """
        base, count = 0 if self._host is not None else self.drawn, samples.size
        # What is replaced may belong to another stream, which would use it again before this one has copied it.
        replaced = [one.array for one in (self._starts, self._sizes, self._entries)]
        places = room.most_entries(self._memory(), self._held(), max(target, base + count), pairs)
        self._starts.reserve(base + count, base, target)
        self._sizes.reserve(base + count, base, target)
        self._entries.reserve(self._used + pairs, self._used, places)
        self._control.array.fill(0)
        before = self._counts.array.copy() if self.drawn else None  # nothing was counted yet
        out = sample_cuda.Output(
            self._sizes.view, self._starts.view, base, self._entries.view, self._used, self._counts.view
        )
        self._sampler(Batch(self.graph, samples, pairs, self._samplers, out, self._control.view))
        yield
        control = self._control.host()
        del replaced
        short = self._used + control[sample_cuda.MEMBER_TAIL] > len(self._entries)
        walks = self._sampler is samplers_cuda.walk
        short |= walks and control[sample_cuda.TICKET] < count
        if control[sample_cuda.OVERFLOW] or short:
            self._counts.array[:] = 0 if before is None else before
            release(self._samplers, "visited", "found")  # bits of elements that found no place are still set
            if control[sample_cuda.OVERFLOW] == walk_cuda.DEEP and walks:
                self._sampler = samplers_cuda.skip
                return (yield from self._drawing(samples, pairs, target))
            return None
        early = len(self.ending.marks) > 0
        self._found += int(control[sample_cuda.VISITED if early else sample_cuda.MEMBER_TAIL])
        if self._ended is not None:
            self._ended += int(control[sample_cuda.ENDED])
        return int(control[sample_cuda.MEMBER_TAIL])

    def members(self) -> int:
        """Return the number of members of all sets."""
        if self._host is not None:
            return int(self._host.sets(self.size)[0][-1])
        return self._used if self.size == self.drawn else int(self._sizes.host(self.size).sum(dtype=np.int64))

    def select(self, query: Query, judge: Collection | None = None) -> Selection:
        """Choose k elements a round greedily (:func:`gpukit.worlds.cover_cpu.greedy`); ``judge`` counts its hits."""
        on_device = judge if isinstance(judge, CudaCollection) and judge._host is None else None
        try:
            result = None if self._host is not None else self._select_on_device(query, on_device)
        except OutOfMemory:
            release(self.graph.work)
            self.graph.chooser.release()
            result = None
        if result is None:
            sets = self._sets()
            with shared_out(*sets, self.reverse.elements) as shares:
                result = select_from(self.reverse, *sets, shares, query)
            on_device = None
        if judge is not None and on_device is None:
            result = replace(result, hit=int(judge.coverage(result.seeds)[-1]))
        return result

    def _select_on_device(self, query: Query, judge: "CudaCollection | None") -> Selection | None:
        """Return None if the candidates did not suffice, or the values are too large for them."""
        chooser = self.graph.chooser
        own = query.own
        if own is not None and own.unit * self.size + own.highest * own.scale > VALUES:
            return None
        results = chooser.choose(self._on_device(), self.drawn, query)
        if judge is not None:
            judge.graph.chooser.cover(judge._on_device(), judge.drawn, results.seeds, results.hits)
        return chooser.selection(query, judge is not None)

    def _on_device(self) -> Sets:
        """Return the first ``size`` sets, for sample_cuda."""
        return Sets(
            self._starts.view, self._sizes.view, self.size, self._entries.view, self._used,
            self._counts.view, self.size == self.drawn,
        )  # fmt: skip

    def coverage(self, seeds: np.ndarray) -> np.ndarray:
        """Return, as int64 (len(seeds) + 1,), how many sets the first i seeds cover."""
        if self._host is None:
            try:
                totals = Buffer(len(seeds) + 1, np.int64, 0)
                self.graph.chooser.cover(self._on_device(), self.drawn, Buffer(seeds.astype(np.int64)), totals)
                return np.concatenate([[0], np.cumsum(totals.host()[:-1])])
            except OutOfMemory:
                release(self.graph.work)
        return coverage_of(self.reverse.elements, *self._sets(), seeds)

    def ended(self) -> int:
        """Return how many sets ended early and have no member that stands for them."""
        if self._ended is not None and self.size == self.drawn:
            return self._ended
        if self._host is not None:
            return int(np.count_nonzero(np.diff(self._host.sets(self.size)[0]) == 0))
        return int(np.count_nonzero(self._sizes.host(self.size) == 0))

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32) in host memory, members of a set ascending."""
        offsets, members = self._sets()
        sort_sets(offsets, members)
        return offsets, members

    def _sets(self) -> tuple[np.ndarray, np.ndarray]:
        return self._fetched(0, self.size) if self._host is None else self._host.sets(self.size)

    def _fetched(self, low: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sets low … end - 1 on the device in host memory."""
        return gather(self._starts.host(end)[low:], self._sizes.host(end)[low:], self._entries.host(self._used))

    def piece(self, low: int, count: int) -> "Piece":
        """Draw ``count`` sets from id ``first + low`` on and return where they are."""
        sets, used = self.drawn, self._used
        self.append(low, count)
        return Piece(sets, self.drawn, used, self._used)

    def take_over(self, other: "CudaCollection", piece: "Piece") -> None:
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
        if self._most_pairs(count, 0) < members:
            return False
        places = room.most_entries(self._memory(), self._held(), self._target(count), 0)
        try:
            for array in (self._starts, self._sizes):
                array.reserve(self.drawn + count, self.drawn, self._target(count))
            self._entries.reserve(self._used + members, self._used, min(places, 2 * (self._used + members)))
        except OutOfMemory:
            return False
        return True

    def take_counts(self, other: "CudaCollection") -> None:
        """Add the occurrence counters of another collection, on any GPU."""
        counts = xp.empty_like(self._counts.array)
        copy(counts, other._counts.array)
        self._counts.array += counts

    def clear(self) -> None:
        """Forget all sets and the memory they took, but not how large they were."""
        self.drawn = self._used = self._found = self._ended = 0
        self._counts.array.fill(0)
        self._host = None
        self._give_back()

    def _give_back(self) -> None:
        self._starts = self._sizes = self._entries = Buffer(1, np.int64)  # there may be no room beside those there were
        self._starts, self._sizes = Buffer(MIN_LAUNCH_SETS, np.int64), Buffer(MIN_LAUNCH_SETS, np.int32)

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


def _part(samples: Samples, low: int, count: int) -> Samples:
    """Return a part of a request, for sample_cuda."""
    if len(samples.kept):
        return samples._replace(size=count, kept=Buffer(samples.kept.array[low : low + count]).view)
    return samples._replace(first=samples.first + low, size=count, kept=samples.kept.view)


@dataclass(frozen=True)
class Piece:
    """Sets ``sets`` … ``sets_end`` - 1 of a collection, whose members are entries ``used`` … ``used_end`` - 1."""

    sets: int
    sets_end: int
    used: int
    used_end: int
