"""A collection of mRR sets on a GPU, in hash tables of equal length; it gives the CPU's sets and seeds."""

from bisect import bisect_left
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, begin_to_read, on_host, resident_blocks, xp
from gpukit.device.launch import cooperative_grid, launch
from gpukit.device.memory import check_budget
from gpukit.device.philox import Stream
from gpukit.merit import cover_cuda, search_cuda
from gpukit.merit import hashed_cuda as kernels
from gpukit.merit.residual import Residual
from gpukit.merit.rule import Key, Remaining
from gpukit.merit.sets import Selection, packed
from gpukit.merit.state_cuda import DeviceState, selection_of, total_bytes
from gpukit.wording import spelled
from gpukit.worlds.collection import check_ids
from gpukit.worlds.reverse import Reverse

REACH = 8.0
"""Expected members per root, before any were counted."""

LARGEST = 2.0
"""Expected ratio of the largest set to the mean, before any were counted."""

LENGTH, PLACES = 2.0, 64
"""Places of a new table: per member of the expected largest set, and in addition."""

SPREAD = 1.2
"""Factor by which the ratio of the largest set to the mean may grow."""

FULL = 0.75
"""Largest expected load factor of a table."""

LENGTHEN = 1.25
"""Least factor by which tables grow when they stay in the same memory."""

LONGEST = 2
"""Most factor relative to newly made tables when they stay in the same memory."""

ASIDE = 1 << 22
"""Most places of tables that are copied aside and moved at once, unless a few tables have more."""

FEW, SET_BYTES = 64, 45
"""Initial room of the arrays in sets, and device memory of a set besides its table. Two of the arrays are shared by
all collections; they may be twice as long as the number of sets."""

ADD_BLOCK = 128
"""Threads of a block that draws the roots of a set; more if there are few sets."""


class CudaSets:
    """A collection on the current GPU; set r is in table r.

    All tables have the same length: twice the expected size of the largest set when they are made. When sets outgrow
    the tables there are usually fewer sets, and the tables are lengthened in the same memory. Otherwise new tables are
    made; members are moved there if there is room for both.

    Parameters
    ----------
    state : DeviceState
    reverse, residual
        As for :class:`gpukit.merit.sets.CpuSets`.
    seed : int
    raw : bool
        Keep LT weights unchanged.
    share : float
        Share of the memory for the members of all collections.
    owner : bool
        Whether this collection reports deaths to the state and includes the state in its memory.
    """

    has_history = False

    def __init__(
        self, state: DeviceState, reverse: Reverse, residual: Residual, seed: int, *, raw: bool, share: float,
        owner: bool,
    ) -> None:  # fmt: skip
        self.state, self.reverse, self.residual = state, reverse, residual
        self.raw, self.share, self.owner = raw, share, owner
        self.key = Key(np.uint64(seed), int(reverse.stream), int(Stream.MRR_ROOT))
        self.peak_members = self._members = self._most_bytes = self._planned = self._probes = 0
        self._reach, self._largest, self._at_once = REACH, LARGEST, 1.0
        self._pool, self.table = Buffer(0, np.int32), 0
        self._sizes, self._roots, self._seen, self._few, self._many = (Buffer(FEW, np.int32) for _ in range(5))
        self._cursors, self._part_of = Buffer(FEW, np.int64), Buffer(FEW, np.uint8)
        self._control = Buffer(kernels.CONTROL, np.int64, 0)
        self._parts: list[tuple[int, int]] = []
        self._seeds: set[int] = set()
        self.restart(0)

    @property
    def probes(self) -> int:
        """Total number of vertices whose in-edges were drawn."""
        return self._probes + int(self._control.host()[kernels.PROBES])

    def memory(self) -> int:
        """Return the most bytes of device memory taken so far."""
        self._most_bytes = max(self._most_bytes, self._bytes())
        return self._most_bytes + (self.state.bytes() if self.owner else 0)

    def planned(self) -> int:
        """Return the most bytes of device memory that the budget planned for."""
        return self._planned + (self.state.planned if self.owner else 0)

    def _bytes(self) -> int:
        """Return the bytes of device memory taken now, without the memory shared by collections."""
        return total_bytes(
            self._sizes, self._roots, self._cursors, self._seen, self._few, self._many, self._part_of, self._pool
        )

    def restart(self, first: int) -> None:
        """Drop all sets; the next ones have ids from ``first`` on."""
        self.first, self.size, self._valid = first, 0, 0
        self._selected = self._known = 0
        self._drop_parts(0)

    def kill(self, vertices: np.ndarray, weakened: np.ndarray) -> None:
        """Note that vertices died: all sets must be checked, but which sets hold the last seeds is known."""
        self._valid = 0
        if not self.owner:
            return
        others = [vertex for vertex in vertices.tolist() if vertex not in self._seeds]
        if len(others) + len(self._seeds) == len(vertices):
            self._known, vertices = self._selected, np.array([*others, *self._seeds], np.int32)
        else:
            self._known = 0
        self._selected = 0
        self.state.mark_dead(vertices, weakened, self.residual.living_in)

    def begin(self, size: int) -> None:
        """Start :meth:`update`, unless tables must become longer."""
        if self._expected <= FULL * self.table:
            self.update(size)

    def update(self, size: int) -> None:
        """Bring the existing sets below ``size``, and no others, up to the current round."""
        low, high = self._valid, min(size, self.size)
        if high <= low:
            self._valid = high
            return
        if self._make_tables(size):
            self._draw(0, high)
            self.size = high
        else:
            self._update_tables(low, high)
        self._valid, self._known = high, 0

    def extend(self, size: int) -> None:
        """Draw sets until there are ``size``; all existing sets must be up to date."""
        if size <= self.size:
            return
        check_ids(self.first, size)
        assert self._valid == self.size
        gone = self._make_tables(size)
        self._draw(0 if gone else self.size, size)
        self.size = self._valid = size

    def redraw(self) -> None:
        """Draw the valid sets again after an overflow; other sets are dropped."""
        control = self._control.host()
        self._probes += int(control[kernels.PROBES])
        self._control.array.fill(0)
        over = int(control[kernels.OVERFLOW])
        if over & kernels.TABLES:
            self._largest *= 2
        if over & kernels.QUEUES:
            self._at_once /= 2
        self._make_tables(self._valid, again=True, too_short=over & kernels.TABLES != 0)
        self._draw(0, self._valid)
        self.size = self._valid

    def _make_tables(self, size: int, *, again: bool = False, too_short: bool = False) -> bool:
        """Make longer or more tables for ``size`` sets of this round if needed; return whether all sets were dropped.

        ``again``: make tables in any case and keep no set; ``too_short``: the present tables overflowed.

        Raises
        ------
        DeviceError
            If there is no room for the tables.
        """
        more = size > len(self._part_of)
        for array in (self._sizes, self._roots, self._cursors, self._seen, self._few, self._many, self._part_of):
            array.reserve(size, self.size)
        if more:
            self._drop_parts(self.size)
        room, held = int(self.share * self.state.set_memory) // 4, len(self._pool)
        expected = self._expected
        self._plan_tables(held)
        enough = expected <= FULL * self.table and not again
        if enough and size * self.table <= held:
            return False
        least = max(ceil(expected / FULL), self.table + 1 if too_short else 1)
        check_budget(
            {"mRR sets": 4 * size * least}, 4 * room, "the GPU for one collection", f"use {spelled('device', 'cpu')}"
        )
        length = self.table if enough else int(LENGTH * expected) + PLACES
        length = min(max(length, 2 * self.table) if too_short else length, room // size)
        kept = 0 if again or length < self.table else min(size, self.size)
        here = held // size
        if kept and LENGTHEN * self.table <= here and expected <= FULL * here:
            # Tables become even longer if there stays room for a quarter more sets; so they are moved less often.
            length = max(min(length, here), min(LONGEST * length, held // (size + size // 4)))
            self._lengthen(kept, length)
        else:
            kept = kept if size * length <= room - held else 0
            self._replace(kept, length, size, room)
        self._drop_parts(kept)
        self.size = kept
        return kept == 0

    @property
    def _expected(self) -> float:
        """Expected members of the largest set of this round."""
        living = self.residual.living
        return min(self._largest * min(float(living), (living / self.residual.eta + 1) * self._reach), living)

    def _lengthen(self, kept: int, length: int) -> None:
        """Move the first ``kept`` sets to longer tables in the same memory, the last ones first.

        A step moves the sets whose new tables begin beyond all remaining old tables. The first few sets move from a
        copy.
        """
        old, entries = self.table, self._pool.array
        aside = min(kept * old, max(ASIDE, int(LENGTHEN / (LENGTHEN - 1)) * old))
        self._plan_tables(len(self._pool) + aside)
        self._most_bytes = max(self._most_bytes, self._bytes() + 4 * aside)
        self.table = length
        while kept > 0:
            source, first = Buffer(0, np.int32), -(-kept * old // length)
            if kept * old <= aside:
                source, first = Buffer(entries[: kept * old].copy()), 0
            self._move(source, old, first, kept)
            kept = first

    def _replace(self, kept: int, length: int, size: int, room: int) -> None:
        """Make new tables of this length for at least ``size`` sets, and move the first ``kept`` sets there.

        The tables normally have room for twice as many sets. They take all the memory for members if otherwise more
        than half of it would be used.
        """
        old, old_length = self._pool, self.table
        if kept == 0:
            old = self._pool = Buffer(0, np.int32)
        places, spare = (2 * size + FEW) * length, room - len(old)
        places = spare if len(old) + places > room // 2 else places
        self._plan_tables(len(old) + places)
        self._pool, self.table = Buffer(places, np.int32), length
        self._most_bytes = max(self._most_bytes, self._bytes() + 4 * len(old))
        if length == old_length:
            self._pool.array[: kept * length] = old.array[: kept * length]
        elif kept:
            self._move(old, old_length, 0, kept)

    def _plan_tables(self, places: int) -> None:
        """Update the planned memory with tables of this many places."""
        self._planned = max(self._planned, 4 * places + SET_BYTES * len(self._seen))

    def _move(self, source: Buffer, old_length: int, low: int, high: int) -> None:
        """Insert the members of the sets low … high - 1 from old tables into the present ones (:func:`move_sets`)."""
        self._pool.array[low * self.table : high * self.table].fill(kernels.EMPTY)
        launch(kernels.move_sets, self._grid((high - low) * -(-old_length // kernels.PIECE)), self._threads(256),
            source.view, old_length, low, high, self._tables, self._control.view,
        )  # fmt: skip

    @property
    def _tables(self) -> kernels.SetTables:
        return kernels.SetTables(
            self._pool.view, self.table, self._sizes.view, self._roots.view, self._cursors.view, self._seen.view
        )

    @property
    def _queues(self) -> kernels.Queues:
        return kernels.Queues(self._few.view, self._many.view, self.state.waiting.view)

    def _grid(self, work: int) -> int:
        """Return the number of blocks for ``work`` pieces of work."""
        return 1 if xp is np else min(work, resident_blocks(search_cuda.BLOCK, 32))

    def _threads(self, block: int) -> int:
        return kernels.BATCH if xp is np else block

    @property
    def _remaining(self) -> Remaining:
        state, rest = self.state, self.residual
        return Remaining(state.dead.view, rest.living, rest.eta, state.living_in.view, self.raw)

    @property
    def _tally(self) -> kernels.Tally:
        return kernels.Tally(self.state.parts.view, self._part_of.view, self._control.view)

    def _update_tables(self, low: int, high: int) -> None:
        """Find the changed sets among low … high - 1, and bring them up to this round."""
        state, sets = self.state, high - low
        launch(kernels.discover, self._grid(-(-sets // kernels.BATCH)), self._threads(256),
            state.edges,
            kernels.Deaths(
                state.deaths.view, state.died, state.died - len(self._seeds), state.covered.view, self._known
            ),
            self._remaining, self.key, self.first, low, high, self._tables, self._queues, self._tally,
        )  # fmt: skip
        many, roots, counted = -1, self._roots_of(sets), None
        if self._passes(roots) > 1:
            # The roots may not all fit in the queue at once, so the host must know their number.
            counted = begin_to_read(self._control.array[kernels.MANY : kernels.QUEUED])
        launch(search_cuda.add_few_roots, self._grid(-(-sets // search_cuda.BLOCK)), self._threads(search_cuda.BLOCK),
            self._remaining, self.key, self.first, self._tables, self._queues, self._tally,
        )  # fmt: skip
        if counted is not None:
            many, roots = counted()[0].tolist()
        self._search(many, roots)

    def _draw(self, low: int, high: int) -> None:
        """Draw the sets low … high - 1."""
        self._many.array[: high - low] = -1 - xp.arange(low, high, dtype=np.int32)
        self._seen.array[low:high] = self.state.died
        self._search(high - low, self._roots_of(high - low))

    def _roots_of(self, sets: int) -> int:
        """Return the most roots of ``sets`` sets."""
        return sets * (1 + self.residual.living // self.residual.eta)

    def _passes(self, roots: int) -> int:
        """Return the number of passes for drawing ``roots`` roots; a pass uses half of the queue for roots.

        Other members seldom fill the rest. After an overflow of the queue there are more passes.
        """
        return max(1, int(-(-2 * roots // self.state.waiting.array.shape[1]) / self._at_once))

    def _search(self, many: int, roots: int) -> None:
        """Add the missing roots of the sets in ``many`` (-1: all), and search from all waiting members."""
        passes = min(self._passes(roots), max(1, many))
        borders = [many * pass_ // passes for pass_ in range(passes)] + [many]
        for begin, end in pairwise(borders):
            sets = max(1, self.size if many < 0 else end - begin)
            launch(search_cuda.add_roots, self._grid(sets), self._threads(_threads_for(sets)),
                self._remaining, self.key, self.first, begin, end, self._tables, self._queues, self._tally,
            )  # fmt: skip
            block = self._threads(search_cuda.BLOCK)
            args = (
                self.state.edges, self._remaining, self.key, self.first, end == many, self._tables, self._queues,
                self._tally,
            )  # fmt: skip
            launch(search_cuda.search, cooperative_grid(search_cuda.search, block, args), block, *args)

    def select(self, b: int, costs: np.ndarray, judge: "CudaSets | None") -> Selection:
        """Choose up to b seeds (:meth:`gpukit.merit.sets.MrrSets.select`)."""
        state, other = self.state, judge or self
        while True:
            state.covered.reserve(self._valid, 0)
            state.inverted.reserve(self._valid, 0)
            counted = self._count_valid()
            sets = (
                self._lists, counted, self._valid, self._control.view,
                other._lists, 0 if judge is None else judge._valid, other._control.view,
            )  # fmt: skip
            result = state.select(cover_cuda.select, sets, costs, b, state.parts.view, self._members)
            if result[cover_cuda.OVER] == 0:
                break
            if result[cover_cuda.OVER] & 1:
                self.redraw()
            if result[cover_cuda.OVER] & 2 and judge is not None:
                judge.redraw()
        self._note_members(int(result[cover_cuda.HELD]))
        self._largest = SPREAD * result[cover_cuda.LARGEST] * self._valid / result[cover_cuda.HELD]
        if judge is not None:
            judge._note_members(int(result[cover_cuda.JUDGE_HELD]))
            judge._largest = self._largest
        found = selection_of(result, b, costs, judge is not None, lambda: on_host(self._counts(counted)))
        self._seeds, self._selected = set(found.seeds.tolist()), self._valid
        return found

    @property
    def _lists(self) -> cover_cuda.StoredSets:
        return cover_cuda.StoredSets(self._pool.view, self.table, self._sizes.view)

    def _note_members(self, members: int) -> None:
        """Record the total number of members of the valid sets."""
        self._members, self.peak_members = members, max(self.peak_members, members)
        self._reach = max(1.0, members / self._valid / (self.residual.living / self.residual.eta))

    def _counts(self, counted: int) -> Any:
        """Return the number of sets that hold each vertex, over the parts given as bits."""
        return sum(self.state.parts.array[part] for part in range(kernels.PARTS) if counted >> part & 1)

    def _count_valid(self) -> int:
        """Return the parts that make up the valid sets, as bits."""
        if self._valid not in [end for end, _ in self._parts]:
            self._cut_parts(self._valid)
        return sum(1 << part for end, part in self._parts if end <= self._valid)

    def _cut_parts(self, size: int) -> None:
        """Make a part end at set ``size``: cut its part in two, and count the smaller piece again."""
        if len(self._parts) == kernels.PARTS:
            self._join_parts(size)
        free = min(set(range(kernels.PARTS)) - {part for _, part in self._parts})
        self.state.parts.array[free].fill(0)
        place = bisect_left(self._parts, (size, 0))
        low = self._parts[place - 1][0] if place > 0 else 0
        if place == len(self._parts):
            self._count_sets(low, size, free, 1)
            self._parts.append((size, free))
            return
        end, part = self._parts[place]
        if size - low <= end - size:
            begin, stop, pieces = low, size, [(size, free), (end, part)]
        else:
            begin, stop, pieces = size, end, [(size, part), (end, free)]
        self._count_sets(begin, stop, part, -1)
        self._count_sets(begin, stop, free, 1)
        self._parts[place : place + 1] = pieces

    def _join_parts(self, size: int) -> None:
        """Join the first two or the last two parts, whichever border is farther from set ``size``."""
        last = len(self._parts) - 2
        place = 0 if abs(self._parts[0][0] - size) > abs(self._parts[last][0] - size) else last
        (end, part), (_, other) = self._parts[place : place + 2]
        counts = self.state.parts.array
        counts[other] += counts[part]
        self._part_of.array[self._parts[place - 1][0] if place > 0 else 0 : end] = other
        del self._parts[place]

    def _count_sets(self, low: int, high: int, part: int, change: int) -> None:
        launch(kernels.count_sets, self._grid(-(-(high - low) // 8)), self._threads(256),
            self._tables, low, high, part, change, self._tally,
        )  # fmt: skip

    def _drop_parts(self, kept: int) -> None:
        """Stop counting the sets from ``kept`` on, and all sets of a part that extends beyond it."""
        self._parts = [(end, part) for end, part in self._parts if end <= kept]
        self._part_of.array[self._parts[-1][0] if self._parts else 0 :] = kernels.UNCOUNTED

    def export(self) -> tuple[np.ndarray, np.ndarray]:
        """Return offsets (int64) and members (int32) of the valid sets; the members of a set ascend."""
        pool, sets = self._pool.host(self._valid * self.table).reshape(self._valid, self.table), []
        for held in pool:
            found = held[(held != kernels.EMPTY) & (held != kernels.GONE)]
            sets.append(np.where(found < 0, -2 - found, found))
        return packed(sets)


def _threads_for(sets: int) -> int:
    """Return the threads of a block that draws the roots of a set; more for few sets, to keep the GPU busy."""
    block, threads = search_cuda.BLOCK, ADD_BLOCK
    resident = 0 if xp is np else block * resident_blocks(block, search_cuda.REGISTERS)
    while threads < search_cuda.MAX_BLOCK and 2 * threads * sets <= resident:
        threads *= 2
    return threads
