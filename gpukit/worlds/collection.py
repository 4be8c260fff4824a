"""RR collections: sets of consecutive sample ids on one device. They can grow, choose seeds, and be exported."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from threading import Event
from typing import Any, NamedTuple, Protocol

import numba
import numpy as np

from gpukit.device.memory import check_host
from gpukit.device.philox import MAX_SAMPLE_ID
from gpukit.errors import UsageError
from gpukit.graph.kernels import rows_by_edges
from gpukit.worlds import cover_cpu, sample_cpu
from gpukit.worlds.cover_cpu import Shares
from gpukit.worlds.reverse import NEVER, Ending, Reverse

TASK = 8192
"""Sets that a worker draws at a time."""

PARALLEL = 60_000
"""Least number of members, about 3 ms of work, for which it pays off to wake other threads."""

PARALLEL_SELECTION = 1_000_000
"""Least number of members for which several threads choose seeds; they wait for each other at every seed."""

SLICE = 1 << 24
"""Members after which progress is reported: a few tenths of a second of one thread."""

SELECTORS = 16
"""Most threads that choose seeds; each of them needs counts of all elements."""

LOOKS = 2
"""Number of ids that are tested for trivial sets in the time that drawing one member takes."""

EXPECTED_SIZE = 8
"""Assumed members of a set before any is drawn."""


class Bonus(NamedTuple):
    """The value of elements besides the sets they cover: ⌈values · scale⌉ units; a covered set has ``unit`` units.

    The result is the same on every device: the product of two 64-bit numbers is rounded the same way everywhere.

    Attributes
    ----------
    values : float64 array, shape (n,)
    scale : float
    unit : int
    highest : float
        The largest of the values.
    """

    values: np.ndarray
    scale: float
    unit: int
    highest: float

    def of(self, elements: np.ndarray | None = None) -> np.ndarray:
        """Return the bonus, in units, of these elements or of all (int64)."""
        values = self.values if elements is None else self.values[elements]
        return np.ceil(values * self.scale).astype(np.int64)

    def worth(self) -> cover_cpu.Worth:
        """Return the bonuses for :func:`gpukit.worlds.cover_cpu.greedy`."""
        return cover_cpu.Worth(self.of(), self.unit)


class Query(NamedTuple):
    """A selection to make from a collection.

    Attributes
    ----------
    k : int
        Number of elements of each round.
    forced : int32 array
        Elements chosen first, in this order.
    blocked : bool array, shape (n * rounds,), or None
        Marks the elements that are never chosen.
    bounds : bool
        Whether to bound the coverage of any other choice (``Selection.largest``).
    bonus : Bonus or None
        Values of elements besides the sets they cover. None means no bonus; it works for any number of rounds.
    """

    k: int
    forced: np.ndarray = np.empty(0, np.int32)
    blocked: np.ndarray | None = None
    bounds: bool = False
    bonus: Bonus | None = None


@dataclass(frozen=True, eq=False)
class Selection:
    """Seeds chosen greedily from a collection.

    Attributes
    ----------
    seeds : int32 array, shape (s,)
        Elements ``round * n + v`` in the order of choice.
    gains : int64 array, shape (s,)
        Number of sets that each seed newly covered.
    largest : int64 array, shape (s + 1,), or None
        Sum of the k largest marginal values (of each round) given the first i seeds, with ``bonus``; -1 if i is less
        than the number of forced seeds.
    """

    seeds: np.ndarray
    gains: np.ndarray
    largest: np.ndarray | None


Report = Callable[[int], object]
"""A function that receives the number of sets drawn so far."""


class Collection(Protocol):
    """Interface of collections for the host algorithms; all devices give equal answers.

    Only the first ``size`` of the ``drawn`` sets count. ``drawn`` may exceed ``size`` if trivial sets are left out,
    because it is not known beforehand how many sample ids have a non-trivial set. The first ``ids`` sample ids, from
    ``first`` on, have been examined.
    """

    reverse: Reverse
    size: int
    drawn: int
    first: int
    ids: int

    def extend(self, size: int, report: Report | None = None) -> None:
        """Draw sets until there are ``size``."""

    def extend_over(self, ids: int) -> None:
        """Draw all sets of the first ``ids`` sample ids; the collection must be empty before."""

    def members(self) -> int:
        """Return the number of members of all sets."""

    def select(self, query: Query) -> Selection:
        """Choose k elements of each round greedily (:func:`gpukit.worlds.cover_cpu.greedy`)."""

    def coverage(self, seeds: np.ndarray) -> np.ndarray:
        """Return, as int64 (len(seeds) + 1,), how many sets the first i seeds cover."""

    def ended(self) -> int:
        """Return the number of sets that ended early and have no representative."""

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32) in host memory, members of a set ascending."""


class Sampler(Protocol):
    """A function that draws batches (:class:`gpukit.worlds.graph_cuda.Batch`) on a GPU; it may fill their buffers."""

    def __call__(self, batch: Any) -> None:
        """Launch the kernel."""


def select_from(reverse: Reverse, offsets: np.ndarray, members: np.ndarray, shares: Shares, query: Query) -> Selection:
    """Choose from sets in host memory; the counts of ``shares`` are modified."""
    barred = np.zeros(reverse.elements, np.bool_) if query.blocked is None else query.blocked.copy()
    worth = cover_cpu.PLAIN if query.bonus is None else query.bonus.worth()
    seeds, gains, largest = cover_cpu.greedy(
        offsets, members, shares, reverse.n, reverse.rounds, query.k, query.forced.astype(np.int32), barred,
        query.bounds, worth,
    )  # fmt: skip
    return Selection(seeds, gains, largest if query.bounds else None)


def coverage_of(elements: int, offsets: np.ndarray, members: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Return, as int64 (len(seeds) + 1,), how many sets in host memory the first i seeds cover."""
    return cover_cpu.coverage(offsets, members, cover_cpu.all_sets(offsets), places_of(elements, seeds), len(seeds))


def places_of(elements: int, seeds: np.ndarray) -> np.ndarray:
    """Return the position of each element among the seeds; ``len(seeds)`` for all other elements (int32)."""
    places = np.full(elements, len(seeds), np.int32)
    places[seeds] = np.arange(len(seeds), dtype=np.int32)
    return places


def check_ids(first: int, size: int) -> None:
    """Refuse sample ids of 2**48 and more.

    Raises
    ------
    UsageError
        If ``first + size`` is above 2**48.
    """
    if first + size > MAX_SAMPLE_ID:
        raise UsageError(
            f"sample ids up to {first + size} are needed, allowed are ids below 2**48; "
            "a larger epsilon, and of MERIT a smaller eta, needs fewer"
        )


class CpuCollection:
    """An RR collection in host memory, drawn by threads.

    If trivial sets are left out, the collection has the non-trivial sets of consecutive ids, and may hold more than
    ``size``.

    Parameters
    ----------
    reverse : Reverse
        The graph, ready for sampling.
    seed : int
        The user's seed, in [0, 2**64).
    first : int
        First sample id.
    threads : int
        Worker threads; the sets do not depend on it.
    ending : Ending
        When sets end early.
    """

    def __init__(self, reverse: Reverse, seed: int, first: int = 0, threads: int = 1, ending: Ending = NEVER) -> None:
        self.reverse, self.seed, self.first, self.threads, self.ending = reverse, seed, first, threads, ending
        self.size = self.ids = self.drawn = 0
        self._offsets = np.zeros(1, np.int64)
        self._members = np.empty(0, np.int32)
        self._counts = np.zeros((threads, reverse.elements), np.int32)
        self._ranges: list[list[tuple[int, int]]] = [[] for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads)
        self._tables = reverse.tables
        self._scratch = [sample_cpu.make_scratch(reverse.rounds) for _ in range(threads)]

    def _draw(self, first: int, count: int, worker: int = 0) -> tuple[np.ndarray, np.ndarray]:
        samples = self.reverse.samples(self.seed, first, count, self.ending)
        return sample_cpu.sample(self._tables, samples, self._counts[worker], self._scratch[worker])

    def extend(self, size: int, report: Report | None = None) -> None:
        """Draw sets until there are ``size``; raises DeviceError if they will not fit into memory."""
        if self.size == 0 and size > 16 * TASK:
            self.extend(TASK)  # measure the mean size of sets before drawing many
        self._check_room(size)
        while self.drawn < size:
            self._append(self.reverse.ids_for(size - self.drawn), report)
        self.size = max(self.size, size)

    def extend_over(self, ids: int) -> None:
        """Draw the sets of the first ``ids`` sample ids; raises DeviceError if they will not fit into memory."""
        self._append(min(ids, self.reverse.ids_for(TASK)))  # measure the mean size of sets
        self._check_room(self.reverse.sets_of(ids))
        if ids > self.ids:
            self._append(ids - self.ids)
        self.size = self.drawn

    def _check_room(self, size: int) -> None:
        # Each set needs memory for an offset and its members, a new set twice, while the arrays are concatenated.
        need = int((2 * size - self.size) * (8 + 4 * self._mean()))
        advice = "draw fewer (a larger epsilon, a smaller min_sets or count) or use a machine with more memory"
        check_host({f"{size:,} RR sets": need}, advice)

    def _append(self, ids: int, report: Report | None = None) -> None:
        """Draw the sets of the next ids, with all threads if there is enough work."""
        check_ids(self.first, self.ids + ids)
        looks = 0 if self.reverse.singleton is None else ids / LOOKS
        work = self.reverse.sets_of(ids) * self._mean() + looks
        shared = self.threads > 1 and work >= PARALLEL
        each = max(sample_cpu.BATCH * self.threads, int(ids * SLICE / max(work, SLICE)))
        end, used = self.drawn, self._offsets[-1]
        offsets, members = [self._offsets], [self._members[:used]]
        for low in range(0, ids, each):
            at, count = self.ids + low, min(each, ids - low)
            pieces = self._draw_parallel(at, count) if shared else [self._draw(self.first + at, count)]
            for i, (piece_offsets, piece_members) in enumerate(pieces):
                offsets.append(piece_offsets[1:] + used)
                members.append(piece_members)
                used += len(piece_members)
                start, end = end, end + len(piece_offsets) - 1
                self._ranges[i % self.threads].append((start, end))
            if report is not None:
                report(end)
        self._offsets, self._members = np.concatenate(offsets), np.concatenate(members)
        self.ids, self.drawn = self.ids + ids, end

    def _mean(self) -> float:
        """Return the mean number of members of a set."""
        return int(self._offsets[-1]) / self.drawn if self.drawn else EXPECTED_SIZE

    def _draw_parallel(self, first: int, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Draw ids from ``first`` on in tasks, with counters for each worker.

        A task has at most as many ids as give about TASK sets. After an interrupt, no worker starts another task.
        """
        task = min(self.reverse.ids_for(TASK), max(sample_cpu.BATCH, -(-count // (2 * self.threads))))
        end = first + count
        starts = range(first, end, task)
        stop = Event()

        def work(worker: int) -> list[tuple[np.ndarray, np.ndarray]]:
            drawn = []
            for low in starts[worker :: self.threads]:
                if stop.is_set():
                    break
                drawn.append(self._draw(self.first + low, min(task, end - low), worker))
            return drawn

        try:
            drawn = list(self._pool.map(work, range(self.threads)))
        except BaseException:
            stop.set()
            raise
        return [drawn[i % self.threads][i // self.threads] for i in range(len(starts))]

    def members(self) -> int:
        """Return the number of members of all sets."""
        return int(self._offsets[self.size])

    def _sets(self) -> tuple[np.ndarray, np.ndarray]:
        return self._offsets[: self.size + 1], self._members

    def select(self, query: Query) -> Selection:
        """Choose k elements of each round greedily (:func:`gpukit.worlds.cover_cpu.greedy`)."""
        return select_from(self.reverse, *self._sets(), self._shares(), query)

    def coverage(self, seeds: np.ndarray) -> np.ndarray:
        """Return, as int64 (len(seeds) + 1,), how many sets the first i seeds cover."""
        offsets, members = self._sets()
        places, divided = places_of(self.reverse.elements, seeds), self._divided()
        hits = self._each(len(divided))(
            lambda ranges: cover_cpu.coverage(offsets, members, np.minimum(ranges, self.size), places, len(seeds)),
            divided,
        )
        return np.sum(list(hits), axis=0)

    def _divided(self) -> list[np.ndarray]:
        """Return the ranges of sets, including those beyond ``size``, of each thread that chooses seeds.

        A thread gets all sets of one or more workers, so that the counts of these workers can be added up for it. If
        there are few members, one thread gets all sets.
        """
        threads = min(self.threads, SELECTORS) if self.members() >= PARALLEL_SELECTION else 1
        return [np.array(sum(self._ranges[i::threads], []), np.int64).reshape(-1, 2) for i in range(threads)]

    def _each(self, threads: int) -> Any:
        """Return a replacement of ``map`` that uses this many threads."""
        return map if threads == 1 else self._pool.map

    def _shares(self) -> Shares:
        """Return the division of the sets among threads, with counts that a selection may modify."""
        divided = self._divided()
        threads = len(divided)
        counts = np.stack([self._counts[i::threads].sum(axis=0, dtype=np.int32) for i in range(threads)])
        for i, ranges in enumerate(divided):
            for start, end in ranges[ranges[:, 1] > self.size]:
                later = self._members[self._offsets[max(start, self.size)] : self._offsets[end]]
                counts[i] -= np.bincount(later, minlength=self.reverse.elements).astype(np.int32)
        return Shares([np.minimum(ranges, self.size) for ranges in divided], counts, self._each(threads))

    def ended(self) -> int:
        """Return the number of sets that ended early and have no representative."""
        return int(np.count_nonzero(np.diff(self._sets()[0]) == 0))

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32), members of a set ascending."""
        offsets, members = self._sets()
        members = members[: offsets[-1]].copy()
        cover_cpu.sort_sets(offsets, members)
        return offsets, members


@contextmanager
def shared_out(offsets: np.ndarray, members: np.ndarray, elements: int) -> Iterator[Shares]:
    """Divide sets in host memory among threads, equally by members, and count elements; few members: one thread."""
    threads = min(numba.get_num_threads(), SELECTORS) if len(members) >= PARALLEL_SELECTION else 1
    ranges = [np.array([part]) for part in pairwise(rows_by_edges(offsets, threads).tolist())]
    counts = np.zeros((threads, elements), np.int32)
    with ThreadPoolExecutor(threads) as pool:
        shares = Shares(ranges, counts, map if threads == 1 else pool.map)
        shares.do(lambda i: cover_cpu.count(offsets, members, ranges[i], counts[i]))
        yield shares
