"""Collections of mRR sets that follow the residual graph: the interface, and the CPU collection."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpukit.device.memory import check_host
from gpukit.device.philox import Stream
from gpukit.merit import cover_cpu, update_cpu
from gpukit.merit.residual import Residual
from gpukit.merit.rule import Key, Remaining, Sets, Span, edges_of
from gpukit.wording import counted, spelled
from gpukit.worlds.collection import check_ids
from gpukit.worlds.reverse import Reverse

MIN_CANDIDATES, CANDIDATES_PER_SEED = 512, 16
ROOM = 1 << 16
"""Initial capacity of an arena, in members."""

THREAD_BYTES = 16
"""Bytes of a segment per vertex while it is allocated."""

SET_BYTES = 48
"""Bytes of a set besides its members, while the arrays grow."""


class MrrSets(Protocol):
    """The interface of a collection; the CPU and the CUDA collection give equal answers."""

    size: int
    peak_members: int
    has_history: bool
    """Whether the sets of a round also depend on the updates of earlier rounds."""

    @property
    def probes(self) -> int:
        """Total number of vertices whose in-edges were drawn."""

    def kill(self, vertices: np.ndarray, weakened: np.ndarray) -> None:
        """Note which vertices became active, and which vertices lost an inactive in-neighbour by that."""

    def restart(self, first: int) -> None:
        """Drop all sets; the next ones have ids from ``first`` on."""

    def begin(self, size: int) -> None:
        """Start :meth:`update` for the expected number of sets early, if this takes no time on the host."""

    def update(self, size: int) -> None:
        """Bring the existing sets below ``size``, and no others, up to the current round."""

    def extend(self, size: int) -> None:
        """Draw sets until there are ``size``; all existing sets must be up to date."""

    def select(self, b: int, costs: np.ndarray, judge: Any) -> "Selection":
        """Choose up to b seeds by coverage per cost from the valid sets; stop when no vertex covers a new set.

        The judge is a collection on the same device, or None.
        """

    def memory(self) -> int:
        """Return the peak bytes of device memory so far; 0 on the CPU."""

    def planned(self) -> int:
        """Return the planned bytes of device memory; 0 on the CPU."""

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32) in host memory; the members of a set ascend."""


@dataclass(frozen=True)
class Selection:
    """A greedy batch.

    Attributes
    ----------
    seeds : int32 array
        In order of choice.
    gains : int64 array
        Number of sets that each seed newly covers.
    hits : int or None
        Number of valid sets of the judge that the seeds hit.
    leaders : list of (int, int)
        Number of sets and cost of the 2b vertices with the largest ratios; of all vertices in any set, if these are
        fewer.
    """

    seeds: np.ndarray
    gains: np.ndarray
    hits: int | None
    leaders: list[tuple[int, int]]


def top_by_ratio(counts: np.ndarray, costs: np.ndarray, b: int) -> list[tuple[int, int]]:
    """Return counts (> 0) and costs of the 2b vertices with the largest count per cost, by falling ratio.

    Doubles distinguish quotients of numbers below 2**26, so the order is exact for these.
    """
    ratios = counts / costs
    if len(ratios) > 2 * b:
        # Only the few vertices with at least the 2b-th largest ratio are sorted; ids ascend among them.
        held = np.flatnonzero(ratios >= np.partition(ratios, -2 * b)[-2 * b])
        counts, costs, ratios = counts[held], costs[held], ratios[held]
    order = np.argsort(-ratios, kind="stable")[: 2 * b]
    pairs = zip(counts[order].tolist(), costs[order].tolist(), strict=True)
    return [(count, cost) for count, cost in pairs if count > 0]


def packed(sets: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return sets packed end to end: offsets (int64) and members (int32), which ascend in each set."""
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    return offsets, np.concatenate([np.zeros(0, np.int32), *map(np.sort, sets)])


MakeUpdate = Callable[[], Callable[..., tuple[int, int, int]]]
"""Makes a replacement of :func:`gpukit.merit.update_cpu.update_sets` for one segment; it may keep a history."""


class Segment:
    """The sets of one worker: the arena with their members, and the position of each set in it."""

    def __init__(self, n: int, dead: np.ndarray, update: Callable[..., tuple[int, int, int]]) -> None:
        self.sets = Sets(*(np.empty(64, dtype) for dtype in (np.int64, np.int32, np.int32, np.int64)))
        self.update = update
        self.arena = np.empty(ROOM, np.int32)
        self.have = self.tail = 0
        self.visited = np.where(dead != 0, update_cpu.DEAD, 0).astype(np.int32)
        self.stamp = 1
        self.facts = np.zeros(3, np.int64)
        self.scratch = update_cpu.make_scratch()
        self.counts = np.zeros(n, np.int32)

    @property
    def lists(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts and sizes of the sets, and the arena."""
        return self.sets.starts, self.sets.sizes, self.arena

    def reserve(self, sets: int) -> None:
        """Make room for the metadata of ``sets`` sets."""
        room = len(self.sets.starts)
        if sets > room:
            larger = Sets(*(np.empty(max(sets, 2 * room), old.dtype) for old in self.sets))
            for new, old in zip(larger, self.sets, strict=True):
                new[: self.have] = old[: self.have]
            self.sets = larger

    def make_room(self, needed: int) -> None:
        """Compact the arena, and make room in it for ``needed`` more members."""
        starts, sizes, _, _ = self.sets
        self.tail = int(update_cpu.compact(starts, sizes, np.argsort(starts[: self.have]), self.arena))
        if 2 * self.tail + needed > len(self.arena):
            larger = np.empty(3 * self.tail + 2 * needed, np.int32)
            larger[: self.tail] = self.arena[: self.tail]
            self.arena = larger

    def fresh_stamps(self, sets: int) -> None:
        """Restart the stamps if ``sets`` sets could exhaust them."""
        if self.stamp + 2 * (sets + 1) >= update_cpu.DEAD:
            self.visited[self.visited != update_cpu.DEAD] = 0
            self.stamp = 1


class CpuSets:
    """A collection in host memory, with one segment per thread; set r lies in segment r mod threads.

    Parameters
    ----------
    reverse : Reverse
        The graph, ready for sampling.
    residual : Residual
        The residual graph; its owner reports changes by :meth:`kill`.
    seed : int
        The user's seed.
    first : int
        Id of the first set.
    threads : int
        Workers; the sets do not depend on it.
    raw : bool
        Keep LT weights unchanged (:attr:`gpukit.parameters.merit.Params.lt_residual`).
    make_update : callable, optional
        Makes a replacement of :func:`gpukit.merit.update_cpu.update_sets`.
    """

    def __init__(
        self, reverse: Reverse, residual: Residual, seed: int, first: int = 0, *, threads: int = 1, raw: bool = False,
        make_update: MakeUpdate | None = None,
    ) -> None:  # fmt: skip
        self.reverse, self.residual, self.seed, self.raw = reverse, residual, seed, raw
        self.has_history = make_update is not None
        self.peak_members = 0
        check_host(
            {counted(threads, "thread"): threads * (THREAD_BYTES * reverse.n + 4 * ROOM)}, f"lower {spelled('threads')}"
        )
        updates = [make_update() if make_update else update_cpu.update_sets for _ in range(threads)]
        self._segments = [Segment(reverse.n, residual.dead, update) for update in updates]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._slot = np.empty(reverse.n, np.int32)
        self._is_seed = np.zeros(reverse.n, np.bool_)
        self.restart(first)

    @property
    def probes(self) -> int:
        """Total number of vertices whose in-edges were drawn."""
        return sum(int(one.facts[update_cpu.PROBES]) for one in self._segments)

    def _each(self, work: Callable[[int, Segment], Any]) -> list[Any]:
        if self._pool is None:
            return [work(0, self._segments[0])]
        return list(self._pool.map(work, range(len(self._segments)), self._segments))

    def _share(self, worker: int, size: int) -> int:
        """Return the number of the first ``size`` sets that a segment holds."""
        return max(0, -(-(size - worker) // len(self._segments)))

    def restart(self, first: int) -> None:
        """Drop all sets; the next ones have ids from ``first`` on."""
        self.first, self.size, self._valid, self._counted = first, 0, 0, 0
        for one in self._segments:
            one.have = one.tail = 0
            one.counts[:] = 0

    def kill(self, vertices: np.ndarray, weakened: np.ndarray) -> None:
        """Note which vertices became active; all sets must be checked again."""
        self._valid = self._counted = 0
        for one in self._segments:
            one.visited[vertices] = update_cpu.DEAD
            one.counts[:] = 0

    def begin(self, size: int) -> None:
        """Do nothing, because here the host updates the sets."""

    def update(self, size: int) -> None:
        """Bring the existing sets below ``size`` up to the current round."""
        self._update_sets(self._valid, min(size, self.size))

    def extend(self, size: int) -> None:
        """Draw sets until there are ``size``; all existing sets must be up to date."""
        if size > self.size:
            check_ids(self.first, size)
            assert self._valid == self.size
            self._check_room(size)
            self._update_sets(self.size, size)
            self.size = size

    def _check_room(self, size: int) -> None:
        """Refuse sets that would not fit: an arena grows to three times its content, and is copied while it grows."""
        held = sum(len(one.arena) for one in self._segments)
        members = sum(one.tail for one in self._segments)
        wanted = members // self.size * size if self.size else 0
        if wanted > held:
            needs = {f"{size:,} mRR sets": 4 * 3 * wanted + SET_BYTES * size}
            check_host(needs, "use a larger epsilon or eta, or a machine with more memory")

    def _update_sets(self, low: int, high: int) -> None:
        """Bring the sets low … high - 1 up to the current round; draw those that do not exist yet."""
        if high <= low:
            return
        r, rest = self.reverse, self.residual
        edges = edges_of(r)
        remaining = Remaining(rest.dead, rest.living, rest.eta, rest.living_in, self.raw)
        key = Key(np.uint64(self.seed), int(r.stream), int(Stream.MRR_ROOT))

        def work(worker: int, segment: Segment) -> None:
            begin, end = self._share(worker, low), self._share(worker, high)
            segment.reserve(end)
            segment.fresh_stamps(end - begin)
            while begin < end:
                span = Span(self.first + worker, len(self._segments), begin, segment.have, end)
                done, segment.tail, segment.stamp = segment.update(
                    edges, remaining, key, span, segment.sets, segment.arena, segment.tail, segment.visited,
                    segment.stamp, segment.facts, segment.scratch,
                )  # fmt: skip
                segment.have = max(segment.have, done)
                if done == begin:
                    segment.make_room(2 * self.residual.living)
                begin = done

        self._each(work)
        self._valid = max(self._valid, high)

    def select(self, b: int, costs: np.ndarray, judge: "CpuSets | None") -> Selection:
        """Choose up to b seeds (:meth:`MrrSets.select`)."""
        valid = self._valid

        def count(worker: int, segment: Segment) -> int:
            low, high = self._share(worker, self._counted), self._share(worker, valid)
            cover_cpu.count_members(*segment.lists, low, high, segment.counts)
            return int(segment.sets.sizes[:high].sum())

        self.peak_members = max(self.peak_members, sum(self._each(count)))
        self._counted = valid
        counts = self._segments[0].counts.copy()
        for more in self._segments[1:]:
            counts += more.counts
        marks = [np.zeros(self._share(w, valid), np.bool_) for w in range(len(self._segments))]
        seeds: list[int] = []
        gains: list[int] = []
        leaders: list[tuple[int, int]] | None = None
        wanted = max(MIN_CANDIDATES, CANDIDATES_PER_SEED * b)
        while len(seeds) < b:
            candidates, limit = cover_cpu.choose_candidates(counts, costs, wanted, self._slot)
            if leaders is None:
                first = candidates if len(candidates) >= 2 * b else np.flatnonzero(counts)
                leaders = top_by_ratio(counts[first], costs[first], b)

            def invert(worker: int, segment: Segment, among: np.ndarray = candidates) -> tuple[np.ndarray, np.ndarray]:
                known = segment.counts if not seeds else segment.counts[:0]
                return cover_cpu.invert(*segment.lists, marks[worker], self._slot, among, known)

            lists = self._each(invert)
            v = -2
            while len(seeds) < b:
                v = cover_cpu.best(counts, costs, candidates, limit)
                if v < 0:
                    break
                seeds.append(v)
                gains.append(int(counts[v]))
                for segment, mark, (list_starts, sets) in zip(self._segments, marks, lists, strict=True):
                    cover_cpu.cover(*segment.lists, mark, list_starts, sets, self._slot[v], counts)
            if v == -1:
                break
        chosen = np.array(seeds, np.int32)
        hits = None if judge is None else judge.count_hits(chosen)
        return Selection(chosen, np.array(gains, np.int64), hits, leaders or [])

    def count_hits(self, seeds: np.ndarray) -> int:
        """Return the number of valid sets that contain a seed."""
        self._is_seed[seeds] = True

        def count(worker: int, segment: Segment) -> int:
            return cover_cpu.count_hits(*segment.lists, self._share(worker, self._valid), self._is_seed)

        hits = sum(self._each(count))
        self._is_seed[seeds] = False
        return hits

    def memory(self) -> int:
        """Return the peak bytes of device memory, which is 0 here."""
        return 0

    def planned(self) -> int:
        """Return the planned bytes of device memory, which is 0 here."""
        return 0

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32) of the valid sets; the members of a set ascend."""
        sets = []
        for j in range(self._valid):
            place, worker = divmod(j, len(self._segments))
            starts, sizes, arena = self._segments[worker].lists
            sets.append(arena[starts[place] : starts[place] + sizes[place]])
        return packed(sets)
