"""An RR collection on a GPU: the sets, seeds and counts of the CPU collection.

``room.py`` says what it may take of the memory. Where that is not to be had after all, because another program took it,
the collection moves to host memory, or draws fewer sets at a time, and goes on.
"""

import gc
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from gpukit.device.arguments import View
from gpukit.device.arrays import Buffer, OutOfMemory, begin_to_read, copy_of, join_side_streams, wait_for_stream, xp
from gpukit.device.elements_cuda import nonzero
from gpukit.device.launch import launch
from gpukit.errors import DeviceError
from gpukit.worlds import block_cuda, candidates_cuda, room, sample_cuda, samplers_cuda, walk_cuda
from gpukit.worlds.collection import (
    Collection,
    NotDrawn,
    Pilot,
    Query,
    Sampler,
    Selection,
    check_ids,
    coverage_of,
    select_from,
    shared_out,
)
from gpukit.worlds.cover_cpu import sort_sets
from gpukit.worlds.graph_cuda import SLACK, Batch, Beside, DeviceGraph, bytes_of, part_of, release
from gpukit.worlds.reverse import NEVER, Ending, Reverse, Samples
from gpukit.worlds.sets_cuda import DeviceSets, Launch, Piece

MIN_LAUNCH_SETS = 1 << 15
"""Sets drawn at least: a launch costs as much as these, and later requests find them there."""

FEW_SETS, USUAL_MEMBERS = 64, 64
"""So few sets are drawn alone, to know how large they are; larger than usual ones, fewer ahead."""

SIDE_LAUNCH_SETS = 1 << 17
"""Sets of a launch that leaves room for another one beside it: most blocks are done long before those of large sets. A
collection has room for as many from the start, since to make arrays anew delays its first launch."""

PILOT_SHARE, SIDE_SHARE = 1 / 16, 1 / 4
"""The part of the GPU that is a pilot's, so that it can stop two launches soon, and that of the second of these, whose
sets judge: it may go on while seeds are chosen from the first."""

VALUES = candidates_cuda.CHOSEN
"""Values of elements at most where a GPU chooses."""

SPARE_PAIRS = 1 << 23
"""Pairs the queue holds beyond what is expected. Few sets hold most members: of 1,024 blocks that draw 32 sets of R-MAT
22 each, 23 members a set, the fullest has 5,000 to 5,400 pairs, and all is drawn again where it has no room."""

LIMITED = 3
"""Pairs for each member of a set that ends at a limit: itself, and two words where some of its rows are left."""

LOOKS, LOOK_BYTES = 1 << 24, 64
"""Ids that are looked at together at most to leave out trivial sets, and the bytes that each may take of the budget."""

MAX_PAIRS, MIN_PAIRS = 2**31 - 1, 1 << 10
"""Pairs of a batch at most, and whatever is left."""

SPILL_SHARE = 16
"""A collection moves to the host when a batch may take less than one of so many parts of its memory."""


class CudaCollection(DeviceSets):
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

    lazy = True

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
        super().__init__(reverse, graph or DeviceGraph(reverse))
        self.seed, self.first, self.ids = seed, first, 0
        marks = ending.marks & np.uint8(ending.all_marks)
        # Where there is one for all, it is that of sets that end at a limit: zero, which takes no copy.
        one = len(marks) == 1 and not marks[0]
        self._marks = self.graph.no_marks if not len(marks) else Buffer(1, np.uint8, 0) if one else Buffer(marks)
        self.ending = ending
        usual = (reverse.model, reverse.sampler, reverse.rounds) == ("lt", "skip", 1) and len(ending.marks) == 0
        walks = usual and self.graph.link()
        self._sampler = sampler or (samplers_cuda.walk if walks else samplers_cuda.skip)
        self._whole_room = sampler is not None
        self._all = self.graph.no_ids
        self._found = 0
        self._turns: Iterator[None] | None = None  # what is left to do of what was begun, and has launched once
        self._share = 1.0
        self._told: np.ndarray | None = None
        self._gate = self.graph.gate
        self._pilot: tuple[Pilot, CudaCollection, Beside] | None = None  # and the collection beside this one
        self.graph.add(self, memory)

    def extend(self, size: int) -> None:
        """Draw sets until there are ``size``."""
        for _ in self.extending(size):
            pass

    def begin(self, size: int, beside: Collection | None = None, pilot: Pilot | None = None) -> None:
        """Begin to draw sets until there are ``size``, and so many of ``beside``; who asks for them waits.

        A pilot is drawn meanwhile, and stops both if too many of its sets are large.
        """
        assert beside is None or isinstance(beside, CudaCollection)
        side = None
        if beside is not None and max(self.drawn, beside.drawn) < size <= self.drawn + SIDE_LAUNCH_SETS:
            side, *others = self.graph.beside(1 if pilot is None else 2)
            self._share, beside._share = 1 - SIDE_SHARE - (PILOT_SHARE if pilot is not None else 0), SIDE_SHARE
            self._pilot = None if pilot is None else (pilot, beside, others[0])
        elif pilot is not None and pilot.many():
            raise NotDrawn
        if not self._begin(size, None):
            self.finish()
        if beside is not None and not beside._begin(size, side):
            self.finish()
            beside.finish()

    def _begin_pilot(self) -> None:
        """Launch the pilot, if any, beside what was begun: others that the host can be ahead with come first."""
        if self._pilot is None:
            return
        pilot, beside, side = self._pilot
        with side.stream:
            ahead = pilot.sets
        assert isinstance(ahead, CudaCollection)
        ahead._gate = block_cuda.Gate(self._control.view, beside._control.view, pilot.few)
        ahead._share = PILOT_SHARE
        ahead._begin(pilot.count, side)

    def _begin(self, size: int, side: Beside | None) -> bool:
        """Launch the first batch, if any, and leave the rest to :meth:`finish`; return whether there is no other."""
        turns = self.extending(size, side)
        if next(turns, self) is not self:
            self._turns = turns
        self.size = max(self.size, size)
        return self._turns is None or (self._host is None and self._drawn() >= size)

    def finish(self, told: np.ndarray | None = None) -> bool:
        """Wait for what was begun; return whether all was drawn at once.

        ``told``: what the launch left in its control, if that is known.

        Raises
        ------
        NotDrawn
            If too many sets of the pilot are large.
        """
        turns, self._turns = self._turns, None
        if turns is None:
            return True
        ahead, self._pilot = self._pilot, None
        if ahead is not None:
            pilot, beside, side = ahead
            if pilot.many():
                self.graph.forget_sides()  # memory of what is given up now may be used again
                beside._turns = None  # they hold it, so that its memory would not be free before garbage is collected
                raise NotDrawn
            release(side.work)
        self._told = told
        return sum(1 for _ in turns) == 0

    def extending(self, size: int, on_side: bool | Beside | None = None) -> Iterator[None]:
        """Draw sets until there are ``size``, and stop after each launch, when the host could do something else.

        ``on_side``: few sets, which leave much of the GPU idle, are drawn beside others, there if that is given.
        """
        self.finish()
        while size > self.drawn:
            count = max(size, self._ahead(size)) - self.drawn
            ids = self.reverse.ids_for(count)
            check_ids(self.first, self.ids + ids)
            turns = self._appending(self.ids, ids)
            self.ids += ids
            small = count <= SIDE_LAUNCH_SETS
            if on_side and not small:
                self.graph.forget_sides()  # of smaller launches before
            if on_side and small:
                turns = self._on_side(turns, on_side if isinstance(on_side, Beside) else self.graph.beside()[0])
            yield from turns
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

    def _on_side(self, turns: Iterator[None], side: Beside) -> Iterator[None]:
        """Take turns on a stream, and in working space for samplers, of their own."""
        self._samplers = side.work
        more = True
        try:
            while more:
                with side.stream:
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
        block = 32 if xp is np else block_cuda.BLOCK
        grid = min(-(-samples.size // block), 1 << 16)
        launch(sample_cuda.keep, grid, block, self.graph.tables, samples._replace(kept=self._all.view), flags.view)
        return nonzero(flags)

    def _in_batches(self, samples: Samples) -> Iterator[None]:
        """Draw in as many batches as fit, and stop after each launch."""
        low, count = 0, samples.size
        batch, limit, tidied = count, MAX_PAIRS, False
        while count > 0:
            batch, each = min(batch, count), self._pairs_of_a_set()
            pairs_max, memory = self._room(count, limit)
            spare = min(SPARE_PAIRS, pairs_max // 4)
            if 0 < self.ending.limit < self.reverse.n:
                spare = min(spare, LIMITED * batch * (self.ending.limit + block_cuda.MARGIN))
            expected = int(each * batch) + spare
            if expected > pairs_max and not tidied:
                # Frames that Numba's compiler left behind hold collections that share the memory and have no user.
                gc.collect()
                tidied = True
                continue
            if expected > pairs_max and batch > 1:
                batch = max(1, int((pairs_max - spare) / each))
                expected = pairs_max
            pairs = pairs_max if self._whole_room else min(expected, pairs_max)
            before, full = self._found, False
            try:
                done = yield from self._drawing(part_of(samples, low, batch), pairs, memory, self._target(count))
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

    def _room(self, count: int, limit: int) -> tuple[int, int]:
        """Return the pairs of the next batch at most, and the memory; a collection that leaves few goes to the host."""
        self._give_back_index(int(self._pairs_of_a_set() * count) + SPARE_PAIRS, max(self._target(count), count))
        memory = self._memory()
        pairs = self._most_pairs(memory, count)
        if self._used and self._host is None and pairs * room.PAIR < memory // SPILL_SHARE:
            self._spill()
            return self._room(count, limit)
        pairs = max(MIN_PAIRS, min(pairs, limit))
        if bytes_of(self._samplers) > room.PAIR * pairs:
            release(self._samplers)
        return pairs, memory

    def _drawing(self, samples: Samples, pairs: int, memory: int, target: int = 0) -> Generator[None, None, int | None]:
        """Draw sets after those there are, stop after each launch; return their members, or None if they do not fit.

        ``target``: for how many sets to make room, where there is too little.
        """
        base, count = 0 if self._host is not None else self.drawn, samples.size
        # What is replaced may belong to another stream, which would use it again before this one has copied it.
        replaced = [one.array for one in (self._starts, self._sizes, self._entries)]
        places = room.most_entries(memory, self._held(), max(target, base + count), pairs)
        self._starts.reserve(base + count, base, target)
        self._sizes.reserve(base + count, base, target)
        self._entries.reserve(self._used + pairs, self._used, places)
        if not self._clear:
            self._control.array.fill(0)
        self._clear = False
        before = copy_of(self._counts.array) if self.drawn else None  # nothing was counted yet
        out = block_cuda.Output(
            self._sizes.view, self._starts.view, base, self._entries.view, self._used, self._counts.view
        )
        self._sampler(
            Batch(self.graph, samples, pairs, self._samplers, out, self._control.view, self._share, self._gate)
        )
        self._launch = Launch(base, count)
        yield
        told, self._told = self._control.host() if self._told is None else self._told, None
        control = told.tolist()
        self._launch, self._share = Launch(0, 0), 1.0
        del replaced
        if control[block_cuda.OVERFLOW] == block_cuda.SHUT:
            raise NotDrawn
        self._gate = self.graph.gate
        short = self._used + control[block_cuda.MEMBER_TAIL] > len(self._entries)
        walks = self._sampler is samplers_cuda.walk
        short |= walks and control[block_cuda.TICKET] < count
        if control[block_cuda.OVERFLOW] or short:
            self._counts.array[:] = 0 if before is None else before
            release(self._samplers, "visited", "found")  # bits of elements that found no place are still set
            if control[block_cuda.OVERFLOW] == walk_cuda.DEEP and walks:
                self._sampler = samplers_cuda.skip
                return (yield from self._drawing(samples, pairs, memory, target))
            return None
        self._found += control[block_cuda.VISITED if len(self.ending.marks) else block_cuda.MEMBER_TAIL]
        if self._ended is not None:
            self._ended += control[block_cuda.ENDED]
        return int(control[block_cuda.MEMBER_TAIL])

    def select(self, query: Query, judge: Collection | None = None) -> Selection:
        """Choose k elements a round greedily (:func:`gpukit.worlds.cover_cpu.greedy`); ``judge`` counts its hits."""
        at_once, result = self._select_at_once(query, judge)
        if result is not None:
            return result
        self.finish()
        if isinstance(judge, CudaCollection):
            judge.finish()
        on_device = judge if isinstance(judge, CudaCollection) and judge._host is None else None
        if not at_once and self._host is None:
            try:
                result = self._select_on_device(query, on_device)
            except OutOfMemory:
                release(self.graph.work)
                self.graph.chooser.release()
        if result is None:
            sets = self._sets()
            with shared_out(*sets, self.reverse.elements) as shares:
                result = select_from(self.reverse, *sets, shares, query)
            on_device = None
        if judge is not None and on_device is None:
            result = replace(result, hit=int(judge.coverage(result.seeds)[-1]))
        return result

    def _select_at_once(self, query: Query, judge: Collection | None) -> tuple[bool, Selection | None]:
        """Choose from sets that are being drawn, without waiting; return whether they found room, and as below."""
        beside = judge if isinstance(judge, CudaCollection) and judge._turns is not None else None
        if self._turns is None or judge is not beside or not self._fits(query):
            return False, None
        try:
            chooser = self.graph.chooser
            results = self._choose(query)
            self._begin_pilot()
            if beside is not None:
                join_side_streams()
                beside._cover(results.seeds, results.hits)
            drawn = [self] if beside is None else [self, beside]
            if self._pilot is not None:
                ahead = self._pilot[0].sets
                assert isinstance(ahead, CudaCollection)
                drawn.insert(0, ahead)  # what it tells comes first
            host, *told = begin_to_read(chooser.all.array, *(one._control.array for one in drawn))()
        except OutOfMemory:
            self.graph.chooser.release()
            return False, None
        if not all([one.finish(control) for one, control in zip(drawn, told, strict=True)]):
            return False, None
        return True, chooser.selection(host, query, judge is not None)

    def _select_on_device(self, query: Query, judge: "CudaCollection | None") -> Selection | None:
        """Return None if the candidates did not suffice, or the values are too large for them."""
        if not self._fits(query):
            return None
        results = self._choose(query)
        if judge is not None:
            judge._cover(results.seeds, results.hits)
        return self.graph.chooser.selection(self.graph.chooser.all.host(), query, judge is not None)

    def _fits(self, query: Query) -> bool:
        """Return whether the values of elements are small enough for a GPU to choose."""
        own = query.own
        return own is None or own.unit * self.size + own.highest * own.scale <= VALUES

    def _choose(self, query: Query) -> Any:
        """Start a selection; return where its results will be."""
        places = len(self._entries) if self._launch.sets else self._used
        return self.graph.chooser.choose(self._on_device(), self._drawn(), places, self._members(), query)

    def _cover(self, seeds: View, totals: View) -> None:
        """Start to count sets by the first of the seeds that they hold."""
        self.graph.chooser.cover(self._on_device(), self._drawn(), self._members(), seeds, totals)

    def coverage(self, seeds: np.ndarray) -> np.ndarray:
        """Return, as int64 (len(seeds) + 1,), how many sets the first i seeds cover."""
        self.finish()
        if self._host is None:
            try:
                totals = Buffer(len(seeds) + 1, np.int64, 0)
                self._cover(Buffer(seeds.astype(np.int64)).view, totals.view)
                return np.concatenate([[0], np.cumsum(totals.host()[:-1])])
            except OutOfMemory:
                release(self.graph.work)
        return coverage_of(self.reverse.elements, *self._sets(), seeds)

    def ended(self) -> int:
        """Return how many sets ended early and have no member that stands for them."""
        self.finish()
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

    def piece(self, low: int, count: int) -> "Piece":
        """Draw ``count`` sets from id ``first + low`` on and return where they are."""
        sets, used = self.drawn, self._used
        self.append(low, count)
        return Piece(sets, self.drawn, used, self._used)

    def clear(self) -> None:
        """Forget all sets and the memory they took, but not how large they were."""
        self.drawn = self._used = self._found = self._ended = 0
        self._counts.array.fill(0)
        self._host = None
        self._give_back()

    def _give_back(self) -> None:
        self._starts = self._sizes = self._entries = Buffer(0, np.int64)  # there may be no room beside those there were
        self._starts, self._sizes = Buffer(SIDE_LAUNCH_SETS, np.int64), Buffer(SIDE_LAUNCH_SETS, np.int32)
