"""An index that follows the changes of its graph; only walks that are affected by changed edges are drawn again."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from gpukit.device.memory import check_host
from gpukit.errors import InputError, UsageError
from gpukit.graph.csr import Graph
from gpukit.kpar.index.build import Index, Paths, base_counts
from gpukit.kpar.problem import begins
from gpukit.kpar.update.changes import NO_EDGES, Changed, Edges, Noted, slots_of
from gpukit.kpar.update.paths import (
    MAX_STEPS,
    PARTS_PER_THREAD,
    WEIGHTED,
    index_of_ends,
    key_of,
    longest_of,
    over_parts,
    shares,
    tables_of,
)
from gpukit.kpar.update.paths_cpu import ends_of
from gpukit.kpar.update.tables_cpu import (
    ADD,
    REMOVE,
    Changes,
    SlotTables,
    edges_of,
    place_tables,
    put_in,
    table_begins,
    take_out,
    words_of,
)
from gpukit.kpar.update.visits_cpu import (
    CAPACITY,
    GONE,
    NEW,
    SIZE,
    UNMARKED,
    Cut,
    OldPaths,
    Records,
    VisitLists,
    Visits,
    all_changed_visits,
    change_alone,
    change_counts,
    close_cut,
    close_list_gaps,
    close_table_gaps,
    count_listed,
    drop_visits,
    ends_now,
    gather_cut,
    list_visits,
    moves_of,
    paths_of,
    redraw,
    reserve,
    room_for_lists,
    room_for_walks,
    set_paths,
    stale_cells,
    visits_of,
)
from gpukit.wording import spelled

SPARE = 0.25
"""Spare room, as a share of the used room; the walks of each vertex have the same share of spare room."""

ALONE = 512
"""Numbers of changes, and of walks to draw, up to which one thread does the work: starting others would take longer."""

AT_ONCE = 1 << 11
"""Number of walks that are drawn together: their data stay in a core's cache."""

WALKS_PER_NOTE = 8
"""Number of walks of the index per recorded change: renewing more rows one by one takes longer than renewing all
rows."""

_OPENED_AT_ONCE = 1 << 19
"""Records per step while lists are made."""

BYTES_PER_WALK, BYTES_PER_STEP, BYTES_PER_EDGE = 52, 30, 28
"""Upper bounds of the bytes per walk, step and edge while an index is open."""


class OpenIndex:
    """An updatable index with the data for updates: slot tables, and the walks through each vertex.

    A vertex has a row: its number in the graph, or the next free number if it is added later. Rows of removed vertices
    are not used again. Opening draws the first words of all walks again, which takes about a quarter of the time of
    making the index.

    Parameters
    ----------
    graph : Graph
        The graph of the index. If it is undirected, the caller changes both directions of an edge.
    index : Index
        With its paths.
    threads : int
        CPU threads; the result does not depend on it.
    once : bool
        Whether there will be only one update: then only the walks through the vertices that it changes are listed.

    Raises
    ------
    InputError
        If the index was not made for updates.
    DeviceError
        If there is not enough memory.
    """

    def __init__(self, graph: Graph, index: Index, threads: int = 1, *, once: bool = False) -> None:
        if index.paths is None:
            raise InputError(f"the index was not made for updates; make it again with {spelled('updatable', True)}")
        self.n, self.m, self.threads = graph.n, graph.m, threads
        self._index, self._sized_for = index, index.paths.sized_for
        self._key = key_of(index.params, index.seed, index.paths)
        self._per_edge = index.paths.walks_per_edge(graph.n, index.params)
        self._sized_n = index.paths.sized_n or graph.n
        self._pool = ThreadPoolExecutor(threads)
        total = len(index.paths.moves)
        steps = int(total / index.params.alpha)
        needs = {f"listing the steps of {total:,} walks": BYTES_PER_WALK * total + BYTES_PER_STEP * steps}
        check_host(
            needs | {"slot tables": (WEIGHTED if index.params.weighted else 1) * BYTES_PER_EDGE * graph.m},
            f"make an index with a larger {spelled('epsilon')}",
        )
        self._tables, self._slots_used = tables_of(graph, self._key, index.params, threads, SPARE)
        self._factors = index.paths.factors.copy()
        self._room = np.empty(0, np.int32), np.empty(0, np.uint32), np.empty(0, np.uint8)
        self._whole, self._once = True, once
        self._records: Any = None
        if not once:
            self._open(index.paths, np.ones(self.n, bool))
        self.noted: Noted | None = None

    def _open(self, paths: Paths, marked: np.ndarray) -> None:
        """Make the records of the walks, and list the visits of each marked vertex (bool, n)."""
        counts = self._index.walks.astype(np.int64)
        places, capacity = begins(counts), counts + (counts >> 2)
        first, total = begins(capacity), int(places[-1])
        cells = longest_of(self._key, counts, places, self.threads, more=2)
        self._used = np.array([first[-1], cells[-1]], np.int64)
        room = int(first[-1]) + int(total * SPARE) + 16
        self._records = Records(
            first[:-1].copy(), capacity, counts, _grown(np.repeat(np.arange(self.n, dtype=np.int32), capacity), room),
            np.full(room, -1, np.int64), np.zeros(room, np.uint16), np.full(room, UNMARKED, np.int32),
            np.empty(int(cells[-1] * (1 + SPARE)) + 16, np.int64),
        )  # fmt: skip
        old = OldPaths(places, begins(paths.moves), paths.vertices)
        key, tables, records = self._key, self._tables, self._records
        over_parts(
            lambda low, high: set_paths(key, tables, records, old, cells, marked, low, high), places, self.threads
        )
        self._lists, self._visits_used = VisitLists(np.zeros((self.n, 3), np.int64), np.empty(0, np.uint64)), 0
        wanted = np.zeros(self.n, np.int64)
        count_listed(records, wanted)
        listed = np.flatnonzero(wanted)
        self._reserve(listed, wanted[listed])
        parts = shares(places, self.threads * (total // _OPENED_AT_ONCE + 1))
        for step in range(0, len(parts), self.threads):
            self._list(self._map(lambda ends: visits_of(key, records, *ends), parts[step : step + self.threads]))

    def update(
        self, add: Edges, remove: Edges, weigh: Edges = NO_EDGES, *, come: Any = (), leave: Any = ()
    ) -> tuple[Changed, int]:
        """Change edges and vertices, all at once.

        Parameters
        ----------
        add, remove, weigh : Edges
            Edges by rows. If edges are weighted, ``add`` and ``weigh`` have weights.
        come : sequence of int
            Names of vertices to add, below 2**64; they get the rows from ``n`` on.
        leave : sequence of int
            Rows of vertices to remove, with all of their edges.

        Returns
        -------
        edges : Changed
            The changed edges, and the numbers of edges without a change.
        redrawn : int
            Number of walks that were drawn again, or are new.

        Raises
        ------
        InputError
            If two changes of an edge contradict each other.
        """
        self._check_whole()
        if self._once:
            self._open_for(add, remove, weigh, np.array(leave, np.int64))
        before = self.n
        if len(come):
            self._add_rows(np.array(come, np.uint64))
        try:
            edges = self._news(add, remove, weigh, np.array(leave, np.int64))
        except InputError:
            self.n = before
            raise
        self._whole = False
        redrawn = self._change(edges) if len(edges.keys) else 0
        if self.noted is not None and len(edges.keys):
            self._note(edges)
        self._whole = True
        self.m += edges.count(ADD) - edges.count(REMOVE) if len(edges.keys) else 0
        return edges, redrawn

    def _open_for(self, add: Edges, remove: Edges, weigh: Edges, leave: np.ndarray) -> None:
        """List the visits of the vertices that the only update changes."""
        if self._records is not None:
            raise UsageError("this index was opened for one update; open it again")
        marked = np.zeros(self.n, bool)
        marked[leave] = True
        tails = np.concatenate([one.keys >> 32 for one in (add, remove, weigh)])
        if len(leave):
            tails = np.append(tails, edges_of(self._tables, marked) >> 32)
        marked[tails[tails < self.n]] = True
        paths = self._index.paths
        assert paths is not None
        self._open(paths, marked)

    def note(self) -> None:
        """Record changes from now on, for queries that renew single rows.

        ``noted`` becomes None again if there are too many.
        """
        self.noted = Noted(int(self._records.counts.sum()) // WALKS_PER_NOTE)

    def _note(self, edges: Changed) -> None:
        """Record changed edges, whose walks are recorded already."""
        assert self.noted is not None
        self.noted.edges.append(edges)
        self.noted.left -= len(edges.keys) + len(self.noted.come[-1])
        if self.noted.left < 0:
            self.noted = None

    def _news(self, add: Edges, remove: Edges, weigh: Edges, leave: np.ndarray) -> Changed:
        """Return the changes of edges, including those of removed vertices."""
        gone = None
        if len(leave):
            which = np.zeros(self.n, bool)
            which[leave] = True
            gone = edges_of(self._tables, which)
            for edges in (add, weigh):
                if np.any(which[edges.keys >> 32] | which[edges.keys & 0xFFFFFFFF]):
                    raise InputError(
                        "an edge to add or to weigh has an end that is to be removed; leave one of them out"
                    )
        return Changed.of(self.words_of, add, remove, weigh, gone)

    def _add_rows(self, names: np.ndarray) -> None:
        """Add rows for a number of vertices, without edges and walks."""
        first, self.n = self.n, self.n + len(names)
        records, lists, tables, key = self._records, self._lists, self._tables, self._key
        if self.n > len(tables.where):
            room = int(self.n * (1 + SPARE)) + 16
            rows = {name: _zeros_behind(getattr(tables, name), room) for name in ("where", "degree", "weight", "taken")}
            self._tables = tables._replace(**rows)
            self._lists = lists._replace(of=_zeros_behind(lists.of, room))
            rows = {name: _zeros_behind(getattr(records, name), room) for name in ("first", "capacity", "counts")}
            self._records = records._replace(**rows)
            self._factors = _zeros_behind(self._factors, room)
        if self.n > len(key.names) and len(names):
            self._key = key = key._replace(names=_zeros_behind(key.names, len(self._tables.where)))
        self._factors[first : self.n] = 1
        key.names[first : self.n] = names

    def words_of(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which edges (tail << 32 | head of rows) exist (bool), and their weights minus one (uint32)."""
        found: tuple[np.ndarray, np.ndarray] = words_of(self._key, self._tables, keys)
        return found

    @property
    def counts(self) -> np.ndarray:
        """Number of walks of each row (int64)."""
        return self._records.counts

    @property
    def tables(self) -> SlotTables:
        """The slot tables, with the present edges."""
        return self._tables

    def _check_whole(self) -> None:
        """Refuse to continue after an update was interrupted or ran out of memory; raises UsageError."""
        if not self._whole:
            raise UsageError("an update of this index was broken off before it ended; make the index again")

    def _change(self, edges: Changed) -> int:
        """Change edges; return the number of walks that were drawn again."""
        key = self._key
        changes = self._change_tables(edges)
        tails, degrees = changes.tails, self._tables.degree[changes.tails]
        base = np.array(base_counts(degrees.tolist(), self._per_edge), np.int64)
        cut, size = self._change_counts(tails, base * self._factors[tails])
        tables, records, lists = self._tables, self._records, self._lists
        seen = int(lists.of[tails, SIZE].sum())
        noted = self.noted
        if max(seen >> 6, len(edges.keys)) <= ALONE:
            given = key, changes, tables, records, lists, cut.records, noted is not None
            redrawn, left, gone, come = change_alone(*given)
            if noted is not None:
                noted.gone.append(gone)
                noted.come.append(come)
            self._relist(left, False)
            return int(redrawn)
        met = [np.empty(seen, np.int64) for _ in range(self.threads)]
        found = self._each(all_changed_visits, changes, tables, lists, of=met)
        whole = Cut(np.empty(size + sum(found), np.int64), np.empty(size + sum(found), np.int32))
        whole.records[:size] = cut.records[:size]
        for words, count in zip(met, found, strict=True):
            size = gather_cut(words, count, records, whole, size)
        close_cut(records, whole, size)
        cut = Cut(whole.records[:size], whole.steps[:size])
        many = size > ALONE
        parts = [(low, min(low + AT_ONCE, size)) for low in range(0, max(size, 1), AT_ONCE)]
        if noted is not None:
            noted.gone.append(ends_now(records, cut, NEW))
        stale = self._map(lambda part: stale_cells(records, cut, *part), parts)
        self._each(lambda *me: [drop_visits(*one, records, lists, *me) for one in stale], many=many)
        visits = self._map(lambda part: redraw(key, tables, records, cut, *part), parts)
        self._relist(self._list(visits, many), many)
        if noted is not None:
            noted.come.append(ends_now(records, cut, GONE))
        return size - int((cut.steps == GONE).sum())

    def _change_counts(self, tails: np.ndarray, counts: np.ndarray) -> tuple[Cut, int]:
        """Change the numbers of walks of the tails; return a cut with removed and new walks, and its size."""
        records = self._records
        size = int(np.abs(counts - records.counts[tails]).sum())
        cut = Cut(np.empty(size, np.int64), np.empty(0, np.int32))
        if size == 0:
            return cut, 0
        rows, cells = room_for_walks(self._key, MAX_STEPS, tails, counts, records)
        room, length = int(self._used[0]) + rows, int(self._used[1]) + cells
        if room > len(records.start):
            room = int(room * (1 + SPARE))
            grown = {name: _grown(getattr(records, name), room) for name in ("start", "cells", "moves", "mark")}
            records = records._replace(**grown)
        if length > len(records.path):
            records = records._replace(path=_grown(records.path, int(length * (1 + SPARE))))
        self._records = records
        return cut, change_counts(self._key, MAX_STEPS, tails, counts, records, self._used, cut)

    def _change_tables(self, edges: Changed) -> Changes:
        """Change the slot tables of the tails; return the changes, with the previous tables."""
        key, tables, (tails, first) = self._key, self._tables, edges.groups()
        old, room = table_begins(tails, tables.where), self._room
        if len(room[0]) < old[-1]:  # otherwise reuse that of the previous changes: new memory costs more than its use
            weights = np.empty(old[-1] if len(tables.weights) else 0, np.uint32)
            self._room = room = np.empty(old[-1], np.int32), weights, np.empty(old[-1], np.uint8)
        heads = (edges.keys & 0xFFFFFFFF).astype(np.int32)
        where, shapes = np.empty(len(tails), np.int64), np.empty(len(tails), np.int64)
        changes = Changes(tails, first, heads, edges.kinds, edges.words, where, old, shapes, *room)
        parts = [(0, len(tails))]
        if len(edges.keys) > ALONE:
            parts = shares(old, PARTS_PER_THREAD * self.threads)
        self._map(lambda ends: take_out(key, changes, tables, *ends), parts)
        used = place_tables(changes, tables, self._slots_used)
        if used > len(tables.slots):
            taken = int(slots_of(tables.where & 255).sum())
            size = int((taken + used - self._slots_used) * (1 + SPARE))
            slots, weights = np.empty(size, np.int32), np.empty(size if len(tables.weights) else 0, np.uint32)
            self._slots_used = close_table_gaps(tables, slots, weights)
            self._tables = tables = tables._replace(slots=slots, weights=weights)
            used = place_tables(changes, tables, self._slots_used)
        self._slots_used = used
        self._map(lambda ends: put_in(key, changes, tables, *ends), parts)
        return changes

    def _relist(self, left: Visits, many: bool) -> None:
        """List visits whose lists have no room, after making room."""
        if len(left.vertices):
            self._reserve(*np.unique(left.vertices, return_counts=True))
            self._list([left], many)

    def _list(self, parts: list[Visits], many: bool = True) -> Visits:
        """Add visits to their lists; return the visits without room."""
        records, lists = self._records, self._lists
        left = self._each(lambda *me: [list_visits(one, records, lists, *me) for one in parts], many=many)
        found = [(one, places) for of_thread in left for one, places in zip(parts, of_thread, strict=True)]
        vertices, words = zip(*((one.vertices[places], one.words[places]) for one, places in found), strict=True)
        return Visits(np.concatenate(vertices), np.concatenate(words))

    def _reserve(self, vertices: np.ndarray, wanted: np.ndarray) -> None:
        """Make room for a number of further visits for each of some vertices."""
        lists = self._lists
        room = room_for_lists(vertices, wanted, lists)
        if 2 * (self._visits_used + room) > len(lists.visits):
            words = np.empty(2 * int((lists.of[:, CAPACITY].sum() + room) * (1 + SPARE)), np.uint64)
            self._visits_used = close_list_gaps(lists, words)
            self._lists = lists = lists._replace(visits=words)
        self._visits_used = reserve(vertices, wanted, lists, self._visits_used)

    def _each(self, work: Callable[..., Any], *given: Any, of: list[Any] | None = None, many: bool = True) -> list[Any]:
        """Call ``work(*given, me, threads, …)`` in all threads, or in one; ``of`` has a last argument for each."""
        threads = len(of) if of is not None else self.threads if many else 1
        last = [[one] for one in of] if of is not None else [[]] * threads
        return self._map(lambda me: work(*given, me, threads, *last[me]), list(range(threads)))

    def _map(self, work: Callable[[Any], Any], over: list[Any]) -> list[Any]:
        """Call ``work`` on each, in threads if there are several."""
        return [work(one) for one in over] if len(over) == 1 else list(self._pool.map(work, over))

    def index(self, order: np.ndarray | None = None) -> Index:
        """Return the present index: the same as :func:`gpukit.kpar.update.paths.build_updatable` would make.

        ``order`` (int64) has the row of each vertex of the present graph; by default its number.
        """
        self._check_whole()
        order = np.arange(self.n) if order is None else order
        place = np.full(self.n, -1, np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        counts = self._records.counts[order]
        records = self._records._replace(counts=counts, first=self._records.first[order])
        places = begins(counts)
        moves = np.empty(places[-1], np.uint16)
        over_parts(lambda first, last: moves_of(records, places, first, last, moves), places, self.threads)
        begin = begins(moves)
        path, ends = np.empty(begin[-1], np.int32), np.empty(places[-1], np.int32)

        def collect(first: int, last: int) -> None:
            paths_of(records, place, places, begin, first, last, path)
            ends_of(places, begin, path, first, last, ends)

        over_parts(collect, places, self.threads)
        names = np.arange(self.n, dtype=np.uint64)
        names[self._key.plain :] = self._key.names[self._key.plain : self.n]
        names = names[order]
        plain = np.array_equal(names, np.arange(len(order), dtype=np.uint64))
        sizes = Paths(self._sized_for, self._factors[order], moves, path)
        if self._sized_n != len(order) or not plain:
            sizes = sizes._replace(names=names, sized_n=self._sized_n)
        old, hubs = self._index, self._index.hubs is not None
        return index_of_ends(old.params, old.seed, counts, ends, self.m, sizes, threads=self.threads, hubs=hubs)


def _grown(array: np.ndarray, length: int) -> np.ndarray:
    """Return a longer array that begins with this one."""
    grown = np.empty(length, array.dtype)
    grown[: len(array)] = array
    return grown


def _zeros_behind(array: np.ndarray, length: int) -> np.ndarray:
    """Return a longer array that begins with this one, followed by zeros."""
    grown = np.zeros((length, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
