"""Kernels of an index that is open for updates, on the CPU (Numba): its walks, and the walks through each vertex.

The path of a walk is a range of cells: its record, then one cell for the vertex at each step, vertex << 32 | place + 1.
The place is that of the visit in the vertex's list. The low half is 0 if the walk stops there by its own draw, whatever
the edges are, or if the list is not needed. So a list has the visits after which a walk continues, or would continue if
the vertex had an out-edge. A visit has two words: cell << 16 | step, and the 64 bits by which that step chooses. Data
that are read together are adjacent, because cache misses determine the time of an update. Threads own vertices
(:func:`owner`) or parts of the walks; no thread reads what another one writes. The owners of walks collect changes of
lists, and the owners of the lists make them.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import int64, uint16, uint64

from gpukit.device.compiled import njit
from gpukit.kpar.update.paths_cpu import longest
from gpukit.kpar.update.rule import head_in, slot_of, tried
from gpukit.kpar.update.tables_cpu import CHUNK, changed_visits, draws_of

LISTED = 0xFFFFFFFF
"""Low half of a cell whose visit must be listed."""

UNMARKED, GONE, NEW = -3, -2, -1
"""Marks of records: not affected by a change, removed, and new (to be drawn as a whole). Other marks are the step from
which on the walk must be drawn."""


class Records(NamedTuple):
    """The walks: those of a vertex are adjacent, followed by spare room.

    By vertex (int64, n): the ``first`` record, ``capacity``, and ``counts`` (ω). By record: ``start`` (int32),
    ``cells`` (int64; -1: none yet), ``moves`` (uint16) and ``mark`` (int32). ``path`` (int64) has the cells of all.
    """

    first: Any
    capacity: Any
    counts: Any
    start: Any
    cells: Any
    moves: Any
    mark: Any
    path: Any


class VisitLists(NamedTuple):
    """The visits of each vertex: BEGIN, SIZE and CAPACITY of its list (``of``, int64, shape (n, 3)), and the words."""

    of: Any
    visits: Any


BEGIN, SIZE, CAPACITY = range(3)
"""Columns of a list: its first visit, its size, and its capacity."""


class OldPaths(NamedTuple):
    """The previous paths: start of the walks of each vertex (int64, n + 1), start of each path, and all vertices."""

    places: Any
    begin: Any
    vertices: Any


class Visits(NamedTuple):
    """Visits that are not in a list yet: the vertex of each (int64), and its two words (uint64, shape (visits, 2))."""

    vertices: Any
    words: Any


class Cut(NamedTuple):
    """Records to draw again (int64), and from which step on, or NEW or GONE (int32)."""

    records: Any
    steps: Any


@numba.njit(inline="always")
def owner(vertex, threads):
    """Return the thread that changes the list of a vertex; computed by a product, because a remainder takes longer."""
    return ((uint64(vertex) * uint64(0x9E3779B1) & uint64(LISTED)) * uint64(threads)) >> uint64(32)


@njit
def set_paths(key, tables, records, old, cells, marked, first, last):
    """Write the walks of the vertices first … last - 1 from paths without gaps.

    ``old`` are :class:`OldPaths`; ``cells`` (int64) has the start of each path's room. Visits of the ``marked``
    vertices (bool, n) must be listed.
    """
    for v in range(first, last):
        for j in range(records.counts[v]):
            r, before = records.first[v] + j, old.places[v] + j
            moves, cell = old.begin[before + 1] - old.begin[before], cells[before] + 1
            records.cells[r], records.moves[r] = cell, uint16(moves)
            records.path[cell - 1] = r
            here = int64(v)
            for t in range(moves):
                records.path[cell + t] = here << 32 | (LISTED if marked[here] else 0)
                here = int64(old.vertices[old.begin[before] + t])
            stops = uint64(draws_of(key, j, v, moves)[0]) >= key.one_minus_alpha
            ends = tables.where[here] != 0 or stops or not marked[here]
            records.path[cell + moves] = here << 32 | (0 if ends else LISTED)


@njit
def visits_of(key, records, first, last):
    """Return the visits to be listed of the walks of the vertices first … last - 1."""
    size = 0
    for v in range(first, last):
        for r in range(records.first[v], records.first[v] + records.counts[v]):
            size += int64(records.moves[r]) + 1
    visits, count = Visits(np.empty(size, np.int64), np.empty((size, 2), np.uint64)), 0
    for v in range(first, last):
        for j in range(records.counts[v]):
            r = records.first[v] + j
            for t in range(int64(records.moves[r]) + 1):
                place = records.cells[r] + t
                if records.path[place] & LISTED == LISTED:
                    visits.vertices[count] = records.path[place] >> 32
                    visits.words[count, 0] = uint64(place) << uint64(16) | uint64(t)
                    visits.words[count, 1] = draws_of(key, j, v, t)[1]
                    count += 1
    return Visits(visits.vertices[:count], visits.words[:count])


@njit
def count_listed(records, wanted):
    """Add to ``wanted`` (int64, n) the visits to be listed of all walks."""
    for v in range(len(records.first)):
        for r in range(records.first[v], records.first[v] + records.counts[v]):
            for t in range(int64(records.moves[r]) + 1):
                cell = records.path[records.cells[r] + t]
                if cell & LISTED == LISTED:
                    wanted[cell >> 32] += 1


@njit
def room_for_lists(vertices, wanted, lists):
    """Return the total size of the lists that must move to get room for further visits."""
    room = 0
    for i in range(len(vertices)):
        size = lists.of[vertices[i], SIZE] + wanted[i]
        if size > lists.of[vertices[i], CAPACITY]:
            room += size + (size >> 2) + 2
    return room


@njit
def reserve(vertices, wanted, lists, used):
    """Move lists without enough room to the end, from ``used`` on; return the new end."""
    for i in range(len(vertices)):
        v = vertices[i]
        size = lists.of[v, SIZE] + wanted[i]
        if size > lists.of[v, CAPACITY]:
            before = lists.of[v, BEGIN]
            for j in range(2 * lists.of[v, SIZE]):
                lists.visits[2 * used + j] = lists.visits[2 * before + j]
            lists.of[v, BEGIN], lists.of[v, CAPACITY] = used, size + (size >> 2) + 2
            used += lists.of[v, CAPACITY]
    return used


@njit
def list_visits(visits, records, lists, me, threads):
    """Append the visits of the vertices that this thread owns; return the visits without room (int64)."""
    left, count = np.empty(len(visits.vertices), np.int64), 0
    for i in range(len(visits.vertices)):
        v = visits.vertices[i]
        if owner(v, threads) != me:
            continue
        size = lists.of[v, SIZE]
        if size == lists.of[v, CAPACITY]:
            left[count] = i
            count += 1
            continue
        visit = 2 * (lists.of[v, BEGIN] + size)
        lists.visits[visit] = visits.words[i, 0]
        lists.visits[visit + 1] = visits.words[i, 1]
        lists.of[v, SIZE] = size + 1
        records.path[int64(visits.words[i, 0] >> uint64(16))] = v << 32 | (size + 1)
    return left[:count]


@njit
def stale_cells(records, cut, first, last):
    """Return the cells (int64) of the visits after the cuts ``first`` … ``last`` - 1, and their vertices (int64)."""
    size = 0
    for i in range(first, last):
        size += int64(records.moves[cut.records[i]]) + 1
    cells, vertices, count = np.empty(size, np.int64), np.empty(size, np.int64), 0
    for i in range(first, last):
        if cut.steps[i] == NEW:
            continue
        r = cut.records[i]
        for t in range(0 if cut.steps[i] == GONE else cut.steps[i] + 1, int64(records.moves[r]) + 1):
            cells[count] = records.cells[r] + t
            vertices[count] = records.path[cells[count]] >> 32
            count += int64(records.path[cells[count]] & LISTED > 0)
    return cells[:count], vertices[:count]


@njit
def drop_visits(cells, vertices, records, lists, me, threads):
    """Remove the visits at some cells from the lists of this thread's vertices.

    The last visit of a list fills the gap.
    """
    for i in range(len(cells)):
        v = vertices[i]
        if owner(v, threads) != me:
            continue
        place = (records.path[cells[i]] & LISTED) - 1
        last = lists.of[v, SIZE] - 1
        lists.of[v, SIZE] = last
        if place != last:
            begin = lists.of[v, BEGIN]
            gap, moved = 2 * (begin + place), 2 * (begin + last)
            other = lists.visits[moved]
            lists.visits[gap] = other
            lists.visits[gap + 1] = lists.visits[moved + 1]
            records.path[int64(other >> uint64(16))] = v << 32 | (place + 1)


@njit
def redraw(key, tables, records, cut, first, last):
    """Draw the walks ``first`` … ``last`` - 1 of a cut, from the step of the cut on, or as a whole.

    All of them take a step together, so that memory reads of different walks overlap. Separate loops find the walks
    that continue, their tables, and each attempt at a slot.

    Returns
    -------
    Visits
        The visits to be listed.
    """
    size = last - first
    going, trying, count, left = np.empty(size, np.int64), np.empty(size, np.int64), 0, 0
    here, step = np.empty(size, np.int64), np.empty(size, np.int64)
    where, word = np.empty(size, np.int64), np.empty(size, np.uint64)
    start, walk, begin = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    vertices, words = np.empty(8 * size, np.int64), np.empty((8 * size, 2), np.uint64)
    for i in range(size):
        r, step[i] = cut.records[first + i], cut.steps[first + i]
        if step[i] == GONE:
            records.moves[r] = uint16(0)
            continue
        start[i], begin[i] = records.start[r], records.cells[r]
        walk[i] = r - records.first[start[i]]
        if step[i] == NEW:
            step[i] = 0
            records.path[begin[i]] = start[i] << 32
        here[i] = records.path[begin[i] + step[i]] >> 32
        going[left] = i
        left += 1
    while left > 0:
        if count + left > len(vertices):
            vertices, words = _longer(vertices, words, count)
        for j in range(left):
            where[going[j]] = tables.where[here[going[j]]]
        on = 0
        for j in range(left):
            i = going[j]
            w0, word[i] = draws_of(key, walk[i], start[i], step[i])
            goes_on = uint64(w0) < key.one_minus_alpha
            if goes_on and step[i] > cut.steps[first + i]:
                place = begin[i] + step[i]
                records.path[place] = here[i] << 32 | LISTED
                vertices[count] = here[i]
                words[count, 0], words[count, 1] = uint64(place) << uint64(16) | uint64(step[i]), word[i]
                count += 1
            if goes_on and where[i] != 0:
                going[on] = trying[on] = i
                on += 1
            else:
                records.moves[cut.records[first + i]] = uint16(step[i])
        left, attempt, tries = on, 0, on
        while tries > 0:
            again = 0
            for j in range(tries):
                i = trying[j]
                now = tried(word[i], attempt)
                place = (where[i] >> 16) + slot_of(now, where[i] & 255)
                head = head_in(tables.slots, tables.weights, place, where[i] >> 8 & 255, now)
                here[i] = head
                trying[again] = i
                again += int64(head < 0)
            tries = again
            attempt += 1
        for j in range(left):
            i = going[j]
            step[i] += 1
            records.path[begin[i] + step[i]] = here[i] << 32
    return Visits(vertices[:count], words[:count])


@njit
def _longer(vertices, words, count):
    """Return arrays of twice the length that begin with the first ``count`` rows of these."""
    longer_vertices, longer_words = np.empty(2 * len(vertices), np.int64), np.empty((2 * len(vertices), 2), np.uint64)
    for i in range(count):
        longer_vertices[i] = vertices[i]
        longer_words[i, 0], longer_words[i, 1] = words[i, 0], words[i, 1]
    return longer_vertices, longer_words


@njit
def all_changed_visits(changes, tables, lists, me, threads, met):
    """Examine every ``threads``-th chunk of the visits of the changed vertices; see :func:`changed_visits`."""
    count, chunk = 0, 0
    pending = np.empty(CHUNK, np.int64)
    for g in range(len(changes.tails)):
        v = changes.tails[g]
        begin = lists.of[v, BEGIN]
        end = begin + lists.of[v, SIZE]
        while begin < end:
            if chunk % threads == me:
                high = min(begin + CHUNK, end)
                count = changed_visits(changes, g, begin, high, tables, lists.visits, met, count, pending)
            begin += CHUNK
            chunk += 1
    return count


@njit
def gather_cut(met, count, records, cut, size):
    """Add the affected records to a cut of ``size`` records, each once, at its first affected step.

    Return the new size.
    """
    for i in range(count):
        step = met[i] & 0xFFFF
        r = records.path[(met[i] >> 16) - step - 1]
        if records.mark[r] == UNMARKED:
            cut.records[size] = r
            size += 1
            records.mark[r] = step
        elif records.mark[r] > step:
            records.mark[r] = step
    return size


@njit
def close_cut(records, cut, size):
    """Write the steps of a cut, and clear the marks."""
    for i in range(size):
        r = cut.records[i]
        cut.steps[i] = records.mark[r]
        records.mark[r] = UNMARKED


@njit
def ends_now(records, cut, skipped):
    """Return start << 32 | end (int64) of the walks of a cut, without those whose step is ``skipped`` (NEW or GONE)."""
    keys, count = np.empty(len(cut.records), np.int64), 0
    for i in range(len(cut.records)):
        if cut.steps[i] != skipped:
            r = cut.records[i]
            keys[count] = int64(records.start[r]) << 32 | records.path[records.cells[r] + int64(records.moves[r])] >> 32
            count += 1
    return keys[:count]


@njit
def change_alone(key, changes, tables, records, lists, counted, noted):
    """Find the walks that changes of tables affect, and draw them again, on one core.

    Parameters
    ----------
    key, changes, tables, records, lists
    counted : int64 array
        Marked records of walks that are removed or added.
    noted : bool
        Whether to return the walks before and after.

    Returns
    -------
    redrawn : int
        Number of walks that were drawn again.
    left : Visits
        The visits without room in their lists.
    gone, come : int64 arrays
        :func:`ends_now` of these walks before and after; empty unless ``noted``.
    """
    seen, size = int64(0), len(counted)
    for g in range(len(changes.tails)):
        seen += lists.of[changes.tails[g], SIZE]
    met = np.empty(seen, np.int64)
    count = all_changed_visits(changes, tables, lists, 0, 1, met)
    whole = Cut(np.empty(size + count, np.int64), np.empty(size + count, np.int32))
    for i in range(size):
        whole.records[i] = counted[i]
    size = gather_cut(met, count, records, whole, size)
    close_cut(records, whole, size)
    cut = Cut(whole.records[:size], whole.steps[:size])
    gone = come = met[:0]
    if noted:
        gone = ends_now(records, cut, NEW)
    cells, vertices = stale_cells(records, cut, 0, size)
    drop_visits(cells, vertices, records, lists, 0, 1)
    visits = redraw(key, tables, records, cut, 0, size)
    if noted:
        come = ends_now(records, cut, GONE)
    places = list_visits(visits, records, lists, 0, 1)
    redrawn = 0
    for i in range(size):
        redrawn += int64(cut.steps[i] != GONE)
    return redrawn, Visits(visits.vertices[places], visits.words[places]), gone, come


@njit
def room_for_walks(key, steps_max, tails, counts, records):
    """Return upper bounds on the records and cells of the walks that the tails get to have ``counts`` walks."""
    rows = cells = 0
    for i in range(len(tails)):
        v = tails[i]
        for j in range(records.counts[v], counts[i]):
            cells += longest(key, steps_max, j, v) + 2
        if counts[i] > records.capacity[v]:
            rows += counts[i] + (counts[i] >> 2) + 1
    return rows, cells


@njit
def _move_records(v, capacity, records, used):
    """Move the records of a vertex to ``used``, and update the references in their paths."""
    first = records.first[v]
    for j in range(capacity):
        before, r = first + j, used + j
        records.start[r], records.cells[r], records.mark[r] = v, -1, UNMARKED
        records.moves[r] = uint16(0)
        if j < records.capacity[v]:
            records.cells[r], records.moves[r] = records.cells[before], records.moves[before]
            if records.cells[r] >= 0:
                records.path[records.cells[r] - 1] = r
    records.first[v], records.capacity[v] = used, capacity


@njit
def change_counts(key, steps_max, tails, counts, records, used, cut):
    """Give the tails ``counts`` walks: begin a cut with the removed and the new walks.

    ``used`` (int64, 2), the records and cells in use, is updated. Returns the size of the cut.
    """
    size = 0
    for i in range(len(tails)):
        v, before, now = tails[i], records.counts[tails[i]], counts[i]
        if now > records.capacity[v]:
            capacity = now + (now >> 2) + 1
            _move_records(v, capacity, records, used[0])
            used[0] += capacity
        for j in range(min(before, now), max(before, now)):
            r = records.first[v] + j
            records.mark[r] = NEW if now > before else GONE
            if records.cells[r] < 0:
                records.cells[r] = used[1] + 1
                records.path[used[1]] = r
                used[1] += longest(key, steps_max, j, v) + 2
            cut.records[size] = r
            size += 1
        records.counts[v] = now
    return size


@njit
def close_table_gaps(tables, slots, weights):
    """Copy the slots of all tables without gaps, and update ``tables.where``; return the end."""
    used = 0
    for v in range(len(tables.where)):
        begin, shape = tables.where[v] >> 16, tables.where[v] & 0xFFFF
        if shape > 0:
            size = int64(1) << (shape & 255)
            tables.where[v] = used << 16 | shape
            slots[used : used + size] = tables.slots[begin : begin + size]
            if len(weights) > 0:
                weights[used : used + size] = tables.weights[begin : begin + size]
            used += size
    return used


@njit
def close_list_gaps(lists, visits):
    """Copy all lists, with their spare room, one after the other; return the end."""
    used = 0
    for v in range(len(lists.of)):
        begin = lists.of[v, BEGIN]
        for i in range(2 * lists.of[v, SIZE]):
            visits[2 * used + i] = lists.visits[2 * begin + i]
        lists.of[v, BEGIN] = used
        used += lists.of[v, CAPACITY]
    return used


@njit
def moves_of(records, places, first, last, moves):
    """Write the numbers of steps of the walks of the vertices first … last - 1, from ``places`` on."""
    for v in range(first, last):
        for j in range(records.counts[v]):
            moves[places[v] + j] = records.moves[records.first[v] + j]


@njit
def paths_of(records, number, places, begin, first, last, path):
    """Write the paths of the walks of the vertices first … last - 1 without gaps (from ``begin``).

    ``number`` (int32) has the number of the vertex in each row.
    """
    for v in range(first, last):
        for j in range(records.counts[v]):
            r = records.first[v] + j
            out = begin[places[v] + j]
            for t in range(int64(records.moves[r])):
                path[out + t] = number[records.path[records.cells[r] + t + 1] >> 32]
