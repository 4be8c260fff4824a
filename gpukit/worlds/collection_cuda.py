"""An RR collection on a GPU: the sets, seeds and counts of the CPU collection.

``room.py`` says what it may take of the memory. Where that is not to be had after all, because another program took it,
the collection moves to host memory, or draws fewer sets at a time, and goes on.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numba import cuda

from gpukit.device.arrays import (
    Buffer,
    OutOfMemory,
    cooperative_grid,
    copy,
    resident_blocks,
    side_stream,
    wait_for_stream,
    xp,
)
from gpukit.device.launch import launch
from gpukit.device.philox import Stream
from gpukit.errors import DeviceError
from gpukit.worlds import candidates_cuda, cover_cpu, cover_cuda, room, scan_cuda, walk_cuda
from gpukit.worlds import sample_cuda as kernels
from gpukit.worlds.collection import Collection, Selection, check_ids
from gpukit.worlds.graph_cuda import SAMPLERS, DeviceGraph, bytes_of
from gpukit.worlds.host_sets import HostSets, gather
from gpukit.worlds.reverse import Reverse

MIN_LAUNCH_SETS = 1 << 15
"""Sets drawn at least: a launch costs as much as these, and later requests find them there."""

SIDE_LAUNCH_SETS = 1 << 16
"""Sets of a launch that leaves room for another one beside it."""

SPARE_PAIRS = 1 << 22
"""Pairs the queue holds beyond what is expected."""

SMALL_GRID = 132
"""Blocks of the selection at least: few make its barriers cheap, a large collection gets more."""

TARGET_CANDIDATES, LARGE_COLLECTION = 1024, 1 << 23
"""Candidates that the selection aims at, and the members from which it takes as many as there is room for: choosing
them again costs a pass over the members."""

WALK_PLACES = room.PAIR // 8
"""Places in the logs of walks for an expected member."""

MIN_PAIRS = 1 << 10
"""Pairs of a batch, whatever is left."""

SPILL_SHARE = 16
"""A collection moves to the host when a batch may take less than one of so many parts of its memory."""


@dataclass(frozen=True)
class Shape:
    """Blocks and threads of the scan sampler (gIM, Fig. 8); 0 blocks: as many as the GPU runs at once."""

    block: int = 32
    grid: int = 0


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
    shape : Shape
        Launch shape of the scan sampler.
    memory : int, optional
        Bytes of device memory that all collections of the graph may use together; most of what is free if not given.
    graph : DeviceGraph, optional
        The graph's arrays where another collection has copied them already.
    """

    def __init__(
        self,
        reverse: Reverse,
        seed: int,
        first: int = 0,
        *,
        shape: Shape | None = None,
        memory: int | None = None,
        graph: DeviceGraph | None = None,
    ) -> None:
        self.reverse, self.seed, self.first = reverse, seed, first
        self.shape = shape or Shape()
        self.graph = graph or DeviceGraph(reverse)
        self._walks = (reverse.model, reverse.sampler, reverse.rounds) == ("lt", "skip", 1) and self.graph.link()
        self.size = 0
        self._drawn = 0
        self._used = 0
        self._mean = 32.0
        self._deep = False
        self._host: HostSets | None = None
        self._give_back()
        self._counts = Buffer(reverse.elements, np.int32, 0)
        self._control = Buffer(kernels.CONTROL, np.int64, 0)
        self._work = self._samplers = self.graph.work
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
        check_ids(self.first, size)
        if size > self._drawn:
            count = max(size, MIN_LAUNCH_SETS) - self._drawn
            turns = self._appending(self._drawn, count)
            yield from self._on_side_stream(turns) if on_side and count <= SIDE_LAUNCH_SETS else turns
        self.size = max(self.size, size)

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
        """Draw the sets with ids ``first + low`` … and number them after those there are."""
        for _ in self._appending(low, count):
            pass

    def _appending(self, low: int, count: int) -> Iterator[None]:
        """Draw in as many batches as fit, and stop after each launch."""
        batch, limit = count, 2**31 - 1
        while count > 0:
            batch = min(batch, count)
            expected = int(1.25 * self._mean * batch * self.reverse.rounds) + SPARE_PAIRS
            most = min(self._room(count), limit)
            if expected > most and batch > 1:
                batch = max(1, int(batch * most / expected))
                expected = most
            pairs = most if self.reverse.sampler == "scan" else min(expected, most)
            try:
                done = yield from self._drawing(low, batch, pairs, self._target(count))
            except OutOfMemory:
                wait_for_stream()  # before anything that it still copies from is given back
                self._release(self._samplers)
                if self._used and self._host is None:
                    self._spill()
                elif pairs > MIN_PAIRS:
                    limit = max(MIN_PAIRS, pairs // 4)
                else:
                    raise DeviceError(
                        f"a batch of {MIN_PAIRS} pairs finds no room on the GPU, {self.graph.budget / 2**20:.0f} MiB "
                        "of which were for RR sets at first; end what else runs there, or use --device cpu"
                    ) from None
                continue
            if done is None:
                if expected < most:
                    self._mean *= 4
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
            self._drawn, low, count = self._drawn + batch, low + batch, count - batch
            self._used += done
            if self._host is not None:
                self._move_to_host(batch)
            self._mean = max(1.0, self.drawn_members() / self._drawn / self.reverse.rounds)

    def drawn_members(self) -> int:
        """Return the number of members of all sets drawn, also those ahead of ``size``."""
        return self._used + (self._host.used if self._host else 0)

    def _room(self, count: int) -> int:
        """Return how many pairs the next batch may have; a collection that leaves too few moves to the host."""
        most = self._most_pairs(count)
        if self._used and self._host is None and most * room.PAIR < self._memory() // SPILL_SHARE:
            self._spill()
            most = self._most_pairs(count)
        most = max(MIN_PAIRS, min(most, 2**31 - 1))
        if bytes_of(self._samplers) > room.PAIR * most:
            self._release(self._samplers)
        return most

    def _memory(self) -> int:
        """Return the bytes that entries, sets, sampler and selection may take (``room.py``)."""
        return self.held() + self.graph.spare(self._samplers) - 2 * room.COUNTER * self.reverse.elements

    def _held(self) -> room.Held:
        return room.Held(len(self._entries), len(self._starts), self._used)

    def _target(self, count: int) -> int:
        """Return how many sets there is to be room for when so many are to come; on the host, they leave by batches."""
        return 0 if self._host is not None else 9 * (self._drawn + count) // 8

    def _most_pairs(self, count: int, pair: int = room.PAIR) -> int:
        """Return the most pairs of a batch when so many sets are to come."""
        return room.most_pairs(self._memory(), self._held(), self._target(count), pair)

    @staticmethod
    def _release(work: dict[str, Buffer], names: tuple[str, ...] = SAMPLERS) -> None:
        for name in names:
            work.pop(name, None)

    def _drawing(self, low: int, count: int, pairs: int, target: int = 0) -> Generator[None, None, int | None]:
        """Draw sets after those there are, stop after each launch; return their members, or None if they do not fit.

        ``target``: for how many sets to make room, where there is too little.
        """
        base = 0 if self._host is not None else self._drawn
        # What is replaced may belong to another stream, which would use it again before this one has copied it.
        replaced = [one.array for one in (self._starts, self._sizes, self._entries)]
        places = room.most_entries(self._memory(), self._held(), target, pairs)
        self._starts.reserve(base + count, base, target)
        self._sizes.reserve(base + count, base, target)
        self._entries.reserve(self._used + pairs, self._used, places)
        self._control.array.fill(0)
        before = self._counts.array.copy()
        r = self.reverse
        walks = self._walks and not self._deep
        sampler = self._walk if walks else self._scan if r.sampler == "scan" else self._skip
        sampler(low, count, pairs, base)
        yield
        control = self._control.host()
        del replaced
        short = self._used + control[kernels.MEMBER_TAIL] > len(self._entries)
        short |= walks and control[kernels.TICKET] < count
        if control[kernels.OVERFLOW] or short:
            self._counts.array[:] = before
            self._release(self._samplers, ("visited", "found"))  # bits of elements that found no place are still set
            if control[kernels.OVERFLOW] == walk_cuda.DEEP and walks:
                self._deep = True
                return (yield from self._drawing(low, count, pairs, target))
            return None
        return int(control[kernels.MEMBER_TAIL])

    def _skip(self, low: int, count: int, pairs: int, base: int) -> None:
        r, g = self.reverse, self.graph
        block = 32 if xp is np else kernels.BLOCK
        blocks = 2 if xp is np else min(resident_blocks(block, kernels.REGISTERS), max(1, count // 32))
        least = 4 * block * r.rounds
        blocks = max(1, min(blocks, pairs // least))
        places = max(pairs // blocks, least)
        work = self._samplers
        if "ranks" not in work or work["ranks"].array.shape[0] != blocks or work["ranks"].array.shape[1] < places:
            self._release(work, ("queue", "ranks", "table"))
            work["queue"], work["ranks"] = Buffer(blocks * places, np.uint64), Buffer((blocks, places), np.int32)
            work["table"] = Buffer(blocks << (2 * places - 1).bit_length(), np.uint64)
        queue, ranks, table = work["queue"], work["ranks"], work["table"]
        group = max(8, min(2 * block // r.rounds, count // (8 * blocks)))
        launch(kernels.sample, blocks, block,
            g.rows.view, g.indices.view, g.accept.view, g.thresholds.view, r.lt_kind, np.uint64(r.lt_constant),
            g.lt_prefix.view, g.roots.view, r.n, r.rounds, np.uint64(self.seed), int(r.stream), int(Stream.ROOT),
            self.first + low, count, group, table.view, queue.view, ranks.view, self._sizes.view, self._starts.view,
            base, self._entries.view, self._used, self._counts.view, self._control.view,
        )  # fmt: skip

    def _walk(self, low: int, count: int, pairs: int, base: int) -> None:
        r, g = self.reverse, self.graph
        assert g.hops is not None
        block = 32 if xp is np else walk_cuda.BLOCK
        most = 2 if xp is np else walk_cuda.BLOCKS * cuda.current_context().device.MULTIPROCESSOR_COUNT
        blocks = min(most, -(-count // block))
        places = WALK_PLACES * pairs // (blocks * block)
        work = self._samplers
        if "log" not in work or work["log"].array.shape[0] != blocks * block or work["log"].array.shape[1] < places:
            work.pop("log", None)
            work["log"] = Buffer((blocks * block, places), np.uint64)
        launch(walk_cuda.walk, blocks, block,
            g.rows.view, g.hops.view, r.lt_kind, np.uint64(r.lt_constant), g.lt_prefix.view, g.roots.view, r.n,
            np.uint64(self.seed), int(r.stream), int(Stream.ROOT), self.first + low, count, work["log"].view,
            self._sizes.view, self._starts.view, base, self._entries.view, self._used, self._counts.view,
            self._control.view,
        )  # fmt: skip

    def _scan(self, low: int, count: int, pairs: int, base: int) -> None:
        r, g = self.reverse, self.graph
        blocks = self.shape.grid or (2 if xp is np else 32 * cuda.current_context().device.MULTIPROCESSOR_COUNT)
        words, space = (r.elements + 31) // 32, room.PAIR * pairs // 4
        blocks = max(1, min(blocks, count, space // (r.elements + words)))
        longest = min(r.elements, max(1024, space // blocks - words))
        work = self._samplers
        if "found" not in work or work["found"].array.shape != (blocks, longest):
            self._release(work, ("visited", "found"))
            work["visited"] = Buffer((blocks, words), np.uint32, 0)
            work["found"] = Buffer((blocks, longest), np.int32)
        visited, found = work["visited"], work["found"]
        launch(scan_cuda.sample_scan, blocks, self.shape.block,
            g.indptr.view, g.indices.view, g.accept.view, r.lt_kind, g.lt_prefix.view, g.roots.view, r.n, r.rounds,
            np.uint64(self.seed), int(r.stream), int(Stream.ROOT), self.first + low, count, visited.view, found.view,
            self._sizes.view, self._starts.view, base, self._entries.view, self._used, self._counts.view,
            self._control.view,
        )  # fmt: skip

    def members(self) -> int:
        """Return the number of members of all sets."""
        if self._host is not None or self.size < self._drawn:
            return int(self._sizes_of_size().sum())
        return self._used

    def _sizes_of_size(self) -> np.ndarray:
        if self._host is not None:
            return np.diff(self._host.sets(self.size)[0])
        return self._sizes.host(self.size).astype(np.int64)

    def select(
        self,
        k: int,
        *,
        forced: np.ndarray,
        blocked: np.ndarray | None = None,
        bounds: bool = False,
        judge: Collection | None = None,
    ) -> Selection:
        """Choose k elements a round greedily (:func:`gpukit.worlds.cover_cpu.greedy`); ``judge`` counts its hits."""
        on_device = judge if isinstance(judge, CudaCollection) and judge._host is None else None
        try:
            result = None if self._host is not None else self._select_on_device(k, forced, blocked, bounds, on_device)
        except OutOfMemory:
            self._release(self._work, (*SAMPLERS, "snapshot", "result"))
            result = None
        if result is None:
            result, on_device = self._select_on_host(k, forced, blocked, bounds), None
        if judge is not None and on_device is None:
            result = replace(result, hit=int(judge.coverage(result.seeds)[-1]))
        return result

    def _select_on_device(
        self,
        k: int,
        forced: np.ndarray,
        blocked: np.ndarray | None,
        bounds: bool,
        judge: "CudaCollection | None",
    ) -> Selection | None:
        """Return None if the candidates did not suffice."""
        r = self.reverse
        picks = k * r.rounds
        work = self._work
        if "snapshot" not in work or len(work["snapshot"]) < picks + 1:
            work["snapshot"] = Buffer((picks + 1, cover_cuda.MAX_CANDIDATES), np.int32)
        work["inverted"].reserve(self._used, 0, self._used)
        work["covered"].reserve(self._drawn, 0, self._drawn)
        if blocked is not None or len(forced) or "restricted" in work:
            work["restricted"] = work["state"]
            work["state"].array.fill(candidates_cuda.FREE)
        if blocked is not None:
            work["state"].array[:] = xp.asarray(blocked.astype(np.uint8))
        if len(forced):
            work["state"].array[xp.asarray(forced)] = candidates_cuda.FORCED
        length = 4 * picks + 2 + cover_cuda.CONTROL
        if "result" not in work or len(work["result"]) != length:
            work["result"] = Buffer(length, np.int64)
            ends = (0, picks, 2 * picks, 3 * picks + 1, 4 * picks + 2, length)
            for name, low, high in zip(("seeds", "gains", "largest", "first", "control"), ends, ends[1:], strict=False):
                work[name] = Buffer(work["result"].array[low:high])
        result = work["result"]
        result.array.fill(0)
        wanted = work["none"] if len(forced) == 0 else Buffer(forced.astype(np.int32))
        aim = max(TARGET_CANDIDATES if self._used < LARGE_COLLECTION else cover_cuda.MAX_CANDIDATES, 16 * picks)
        args = (
            self._starts.view, self._sizes.view, self.size, self._entries.view, self._used,
            self._counts.view, self.size == self._drawn, r.n, r.rounds, k, wanted.view,
            work["state"].view, aim, bounds, work["work"].view, work["histogram"].view, work["candidates"].view,
            work["marks"].view, work["parts"].view, work["start"].view, work["end"].view, work["inverted"].view,
            work["covered"].view, work["taken"].view, work["snapshot"].view, work["seeds"].view, work["gains"].view,
            work["largest"].view, work["control"].view,
        )  # fmt: skip
        block = cover_cuda.BLOCK if xp is not np else 32
        most = cooperative_grid(cover_cuda.greedy, block, args)
        launch(cover_cuda.greedy, min(most, max(SMALL_GRID, self._used >> 15)), block, *args)
        if judge is not None:
            judge._cover(work["seeds"], work["first"])
        host = result.host()
        if host[4 * picks + 2 + cover_cuda.STATUS] != cover_cuda.DONE:
            return None
        sums = host[2 * picks : 3 * picks + 1].copy()
        sums[: len(forced)] = -1
        return Selection(
            host[:picks].astype(np.int32), host[picks : 2 * picks].copy(), sums if bounds else None,
            None if judge is None else int(host[3 * picks + 1 : 4 * picks + 1].sum()),
        )  # fmt: skip

    def _select_on_host(self, k: int, forced: np.ndarray, blocked: np.ndarray | None, bounds: bool) -> Selection:
        r = self.reverse
        offsets, members = self._sets()
        counts = np.bincount(members, minlength=r.elements).astype(np.int32)
        barred = np.zeros(r.elements, np.bool_) if blocked is None else blocked.copy()
        seeds, gains, largest = cover_cpu.greedy(
            offsets, members, counts, r.n, r.rounds, k, forced.astype(np.int32), barred, bounds
        )
        return Selection(seeds, gains, largest if bounds else None)

    def coverage(self, seeds: np.ndarray) -> np.ndarray:
        """Return, as int64 (len(seeds) + 1,), how many sets the first i seeds cover."""
        if self._host is None:
            try:
                totals = Buffer(len(seeds) + 1, np.int64, 0)
                self._cover(Buffer(seeds.astype(np.int64)), totals)
                return np.concatenate([[0], np.cumsum(totals.host()[:-1])])
            except OutOfMemory:
                self._release(self._work)
        position = np.full(self.reverse.elements, len(seeds), np.int32)
        position[seeds] = np.arange(len(seeds), dtype=np.int32)
        return cover_cpu.coverage(*self._sets(), position, len(seeds))

    def _cover(self, seeds: Buffer, totals: Buffer) -> None:
        """Count the sets by the first of the seeds, on the device, that they hold; ``totals`` is zero before."""
        work = self._work
        work["earliest"].reserve(self._drawn, 0, self._drawn)
        args = (
            self._entries.view, self._used, self.size, seeds.view, work["position"].view, work["earliest"].view,
            totals.view,
        )  # fmt: skip
        block = cover_cuda.BLOCK if xp is not np else 32
        most = cooperative_grid(cover_cuda.coverage, block, args)
        launch(cover_cuda.coverage, min(most, max(SMALL_GRID, self._used >> 15)), block, *args)

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32) in host memory, members of a set ascending."""
        offsets, members = self._sets()
        cover_cpu.sort_sets(offsets, members)
        return offsets, members

    def _sets(self) -> tuple[np.ndarray, np.ndarray]:
        if self._host is not None:
            return self._host.sets(self.size)
        return gather(self._starts.host(self.size), self._sizes.host(self.size), self._entries.host(self._used))

    def piece(self, low: int, count: int) -> "Piece":
        """Draw ``count`` sets from id ``first + low`` on and return where they are."""
        sets, used = self._drawn, self._used
        self.append(low, count)
        return Piece(sets, self._drawn, used, self._used)

    def take_over(self, other: "CudaCollection", piece: "Piece") -> None:
        """Copy a piece of another collection, on any GPU, to the end of this one, but for the occurrence counters."""
        count, members = piece.sets_end - piece.sets, piece.used_end - piece.used
        if self._host is None and (other._host is not None or not self._make_room(count, members)):
            self._spill()
        if self._host is not None:
            self._host.add(*other.gathered(piece))
        else:
            starts = self._starts.array[self._drawn : self._drawn + count]
            entries = self._entries.array[self._used : self._used + members]
            copy(starts, other._starts.array[piece.sets : piece.sets_end])
            copy(self._sizes.array[self._drawn : self._drawn + count], other._sizes.array[piece.sets : piece.sets_end])
            copy(entries, other._entries.array[piece.used : piece.used_end])
            starts += self._used - piece.used
            entries += (self._drawn - piece.sets) << 32
            self._used += members
        self._drawn += count

    def _make_room(self, count: int, members: int) -> bool:
        """Make room for more sets if there is any; return whether there is."""
        if self._most_pairs(count, 0) < members:
            return False
        places = room.most_entries(self._memory(), self._held(), self._target(count), 0)
        try:
            for array in (self._starts, self._sizes):
                array.reserve(self._drawn + count, self._drawn, self._target(count))
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
        self._drawn = self._used = 0
        self._counts.array.fill(0)
        self._host = None
        self._give_back()

    def _give_back(self) -> None:
        self._starts, self._sizes = Buffer(MIN_LAUNCH_SETS, np.int64), Buffer(MIN_LAUNCH_SETS, np.int32)
        self._entries = Buffer(1, np.int64)

    def gathered(self, piece: "Piece") -> tuple[np.ndarray, np.ndarray]:
        """Return the sets of a piece in host memory."""
        if self._host is not None:
            offsets, members = self._host.sets(piece.sets_end)
            return offsets[piece.sets :] - offsets[piece.sets], members[offsets[piece.sets] :]
        return gather(
            self._starts.host(piece.sets_end)[piece.sets :], self._sizes.host(piece.sets_end)[piece.sets :],
            self._entries.host(self._used),
        )  # fmt: skip

    def _spill(self) -> None:
        """Move the collection to host memory, where it stays from now on."""
        self._host = HostSets()
        self._host.add(
            *gather(self._starts.host(self._drawn), self._sizes.host(self._drawn), self._entries.host(self._used))
        )
        self._used = 0
        self._release(self._samplers)
        self._work["inverted"] = Buffer(1, np.int32)
        self._give_back()

    def _move_to_host(self, batch: int) -> None:
        assert self._host is not None
        self._host.add(*gather(self._starts.host(batch), self._sizes.host(batch), self._entries.host(self._used)))
        self._used = 0


@dataclass(frozen=True)
class Piece:
    """Sets ``sets`` … ``sets_end`` - 1 of a collection, whose members are entries ``used`` … ``used_end`` - 1."""

    sets: int
    sets_end: int
    used: int
    used_end: int
