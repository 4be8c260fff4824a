"""Kernels of graphs that change, on the CPU (Numba): slot tables, walks on them, and which walks a change meets."""

from typing import Any, NamedTuple

import numpy as np
from numba import int32, int64, uint16, uint64

from gpukit.device.compiled import njit
from gpukit.kpar.update.rule import bits_for, chosen, drawn, home, slot_of


class Key(NamedTuple):
    """The key of all draws, and the probability of going on in units of 2**-32 (uint64)."""

    seed: Any
    tag: Any
    one_minus_alpha: Any


class SlotTables(NamedTuple):
    """The slot tables: where each is (int64, n: first slot << 8 | log2 of its slots, 0: none), and out-degrees.

    ``degree`` is int64 (n). ``slots`` (int32) has a head or -1; what lies between tables is not read.
    """

    where: Any
    degree: Any
    slots: Any


class Changes(NamedTuple):
    """Edges to add and to remove, by tail: of tail ``tails[g]`` those from ``first[g]`` to ``first[g + 1]``.

    ``heads`` (int32) and ``adds`` (bool) have their heads, ascending in a group, and which kind each is; ``where``
    (int64) says as in :class:`SlotTables` where each table will be, the same place if it keeps its size. ``old_begin``
    (int64, groups + 1), ``old_bits`` (uint8) and ``old_slots`` (int32) have room for the tables as they were, and
    ``states`` (uint8) for what became of each slot of a table that keeps its size: EMPTY, SAME or OTHER.
    """

    tails: Any
    first: Any
    heads: Any
    adds: Any
    where: Any
    old_begin: Any
    old_bits: Any
    old_slots: Any
    states: Any


class OldPaths(NamedTuple):
    """Paths as they were: where the walks of each vertex stand (int64, n + 1), each path begins, and all of them."""

    places: Any
    begin: Any
    vertices: Any


UNCUT = 0xFFFF
"""Stands for no step, which no walk reaches."""

EMPTY, SAME, OTHER = range(3)
"""States of a slot: empty before and now, with the head it had, and with another or one of the two empty."""

CHUNK = 1 << 12
"""Visits that a thread looks at before the next one's turn: 64 KiB, which stay in its cache."""


@njit
def insert(slots, begin, bits, tail, head):
    """Put an edge that is not there into a table: at a slot, the lower head stays and the other goes on."""
    mask = (int64(1) << int64(bits)) - 1
    place = home(tail, head, bits)
    while True:
        there = slots[begin + place]
        if there < 0:
            slots[begin + place] = head
            return
        if there > head:
            slots[begin + place] = head
            head = there
        place = (place + 1) & mask


@njit
def find(slots, begin, bits, tail, head):
    """Return the slot of an edge, or -1; a slot that is empty or has a higher head ends the search."""
    if bits == 0:
        return int64(-1)
    mask = (int64(1) << int64(bits)) - 1
    place = home(tail, head, bits)
    while 0 <= slots[begin + place] < head:
        place = (place + 1) & mask
    return place if slots[begin + place] == head else int64(-1)


@njit
def remove(slots, begin, bits, tail, head):
    """Take an edge that is there out of a table: the lowest head that would rather be in its slot moves there, ….

    Cost: the square of a stretch of occupied slots, of which a table at most half full has short ones.
    """
    mask = (int64(1) << int64(bits)) - 1
    hole = find(slots, begin, bits, tail, head)
    while True:
        lowest, from_there = int32(-1), hole
        place = (hole + 1) & mask
        while slots[begin + place] >= 0:
            there = slots[begin + place]
            wanted = home(tail, there, bits)
            if ((hole - wanted) & mask) < ((place - wanted) & mask) and (lowest < 0 or there < lowest):
                lowest, from_there = there, place
            place = (place + 1) & mask
        slots[begin + hole] = lowest
        if lowest < 0:
            return
        hole = from_there


@njit
def fill_tables(indptr, indices, first, last, tables):
    """Build the tables of the vertices first … last - 1 from the rows of a graph; begins and bits are there."""
    for v in range(first, last):
        begin, bits = tables.where[v] >> 8, tables.where[v] & 255
        if bits == 0:
            continue
        for i in range(begin, begin + (int64(1) << int64(bits))):
            tables.slots[i] = -1
        for e in range(indptr[v], indptr[v + 1]):
            insert(tables.slots, begin, bits, v, indices[e])


@njit
def are_edges(keys, tables):
    """Return which edges, by tail << 32 | head, are there (bool)."""
    there = np.empty(len(keys), np.bool_)
    for i in range(len(keys)):
        v = keys[i] >> 32
        there[i] = find(tables.slots, tables.where[v] >> 8, tables.where[v] & 255, v, keys[i] & 0xFFFFFFFF) >= 0
    return there


@njit
def grouped(added, removed, degree):
    """Merge ascending keys of edges that come and that go, and group them by tail.

    Returns
    -------
    keys, adds, tails, first, degrees
        As those of :class:`gpukit.kpar.update.changes.Changed`, with the out-degrees ``degree`` (int64, n) before.
    """
    m = len(added) + len(removed)
    keys, adds = np.empty(m, np.int64), np.empty(m, np.bool_)
    tails, first, degrees = np.empty(m, np.int64), np.empty(m + 1, np.int64), np.empty(m, np.int64)
    i = j = count = 0
    for k in range(m):
        comes = j == len(removed) or (i < len(added) and added[i] < removed[j])
        keys[k] = added[i] if comes else removed[j]
        adds[k] = comes
        i, j = i + int64(comes), j + int64(not comes)
        v = keys[k] >> 32
        if count == 0 or tails[count - 1] != v:
            tails[count], first[count], degrees[count] = v, k, degree[v]
            count += 1
        degrees[count - 1] += 1 if comes else -1
    first[count] = m
    return keys, adds, tails[:count], first[: count + 1], degrees[:count]


@njit
def in_both(one, other):
    """Return how many numbers two ascending arrays have in common."""
    i = j = count = 0
    while i < len(one) and j < len(other):
        count += int64(one[i] == other[j])
        i, j = i + int64(one[i] <= other[j]), j + int64(other[j] <= one[i])
    return count


@njit
def places_of(tails, degrees, where, used):
    """Return where the tables of the tails go to, and where copies of them as they are begin that lie end to end.

    Parameters
    ----------
    tails, degrees : int64 arrays
        The out-degrees are those that the tails will have.
    where : int64 array, shape (n,)
        Of the tables as they are.
    used : int
        Slots in use; tables of another size come behind them.

    Returns
    -------
    new_where : int64 array
        As ``where``, of the tails alone.
    old_begin : int64 array, shape (tails + 1,)
    used : int
        Slots in use from then on.
    """
    new_where, old_begin = np.empty(len(tails), np.int64), np.zeros(len(tails) + 1, np.int64)
    for g in range(len(tails)):
        bits, new_bits = where[tails[g]] & 255, int64(bits_for(degrees[g]))
        old_begin[g + 1] = old_begin[g] + ((int64(1) << bits) if bits > 0 else 0)
        new_where[g] = where[tails[g]]
        if new_bits != bits:
            new_where[g] = used << 8 | new_bits if new_bits > 0 else 0
            used += (int64(1) << new_bits) if new_bits > 0 else 0
    return new_where, old_begin, used


@njit
def in_rows(keys, indptr, indices):
    """Return which edges, by tail << 32 | head, are in the rows of a graph (bool)."""
    there = np.empty(len(keys), np.bool_)
    for i in range(len(keys)):
        head = keys[i] & 0xFFFFFFFF
        low, end = indptr[keys[i] >> 32], indptr[(keys[i] >> 32) + 1]
        high = end
        while low < high:
            middle = (low + high) >> 1
            if indices[middle] < head:
                low = middle + 1
            else:
                high = middle
        there[i] = low < end and indices[low] == head
    return there


@njit
def change_tables(changes, tables, first, last):
    """Change the tables of the tails ``first`` … ``last`` - 1, and write what they were, and the states of slots."""
    for g in range(first, last):
        v = changes.tails[g]
        low, high = changes.first[g], changes.first[g + 1]
        begin, bits, kept = tables.where[v] >> 8, tables.where[v] & 255, changes.old_begin[g]
        size = changes.old_begin[g + 1] - kept
        # By slices, as loops over an offset and a number are not compiled to vector instructions.
        table = tables.slots[begin : begin + size]
        old, states = changes.old_slots[kept : kept + size], changes.states[kept : kept + size]
        changes.old_bits[g] = bits
        for i in range(size):
            old[i] = table[i]
        for i in range(low, high):
            if not changes.adds[i]:
                remove(tables.slots, begin, bits, v, changes.heads[i])
                tables.degree[v] -= 1
            else:
                tables.degree[v] += 1
        new_begin, new_bits = changes.where[g] >> 8, changes.where[g] & 255
        if new_bits != bits:
            tables.where[v] = changes.where[g]
            room = (int64(1) << new_bits) if new_bits > 0 else 0
            for i in range(new_begin, new_begin + room):
                tables.slots[i] = -1
            for head in table:
                if head >= 0:
                    insert(tables.slots, new_begin, new_bits, v, head)
        for i in range(low, high):
            if changes.adds[i]:
                insert(tables.slots, new_begin, new_bits, v, changes.heads[i])
        if new_bits == bits:
            for i in range(size):
                states[i] = OTHER if old[i] != table[i] else SAME if table[i] >= 0 else EMPTY


@njit
def differs(changes, group, tables, word):
    """Say whether a step on from the tail of a group chooses otherwise, can choose no more, or for the first time."""
    where = tables.where[changes.tails[group]]
    begin, bits = where >> 8, where & 255
    old_begin, old_bits = changes.old_begin[group], int64(changes.old_bits[group])
    if old_bits != bits:
        if old_bits == 0 or bits == 0:
            return True
        return chosen(changes.old_slots, old_begin, old_bits, word) != chosen(tables.slots, begin, bits, word)
    attempt = 0
    while changes.states[old_begin + slot_of(word, attempt, bits)] == EMPTY:
        attempt += 1
    return changes.states[old_begin + slot_of(word, attempt, bits)] == OTHER


@njit
def changed_visits(changes, group, low, high, tables, visits, met, count, pending):
    """Look at the visits ``low`` … ``high`` - 1 of the tail of a group: which steps on from it choose otherwise now.

    It is what :func:`differs` says, but the visits make each attempt together, since a jump that cannot be foretold
    takes longer than an attempt: one that ended is overwritten in ``pending`` (int64, at least so many) by the next.

    ``visits`` (uint64) has two words of each: whose it is, and the 64 bits. Writes the first word of those that do to
    ``met`` (int64) from ``count`` on, and returns how many there are.
    """
    begin, bits = changes.old_begin[group], tables.where[changes.tails[group]] & 255
    if bits != changes.old_bits[group]:
        for i in range(low, high):
            if differs(changes, group, tables, visits[2 * i + 1]):
                met[count] = int64(visits[2 * i])
                count += 1
        return count
    # Unsigned numbers, since others may count from an array's end, which is asked at each access.
    states, going = changes.states[begin : begin + (int64(1) << bits)], uint64(0)
    for i in range(uint64(low), uint64(high)):
        state = states[uint64(slot_of(visits[uint64(2) * i + uint64(1)], 0, bits))]
        pending[going] = i
        going += uint64(state == EMPTY)
        if state == OTHER:
            met[count] = int64(visits[uint64(2) * i])
            count += 1
    attempt = 1
    while going > 0:
        left, going = going, uint64(0)
        for i in range(left):
            visit = uint64(pending[i])
            state = states[uint64(slot_of(visits[uint64(2) * visit + uint64(1)], attempt, bits))]
            pending[going] = visit
            going += uint64(state == EMPTY)
            if state == OTHER:
                met[count] = int64(visits[uint64(2) * visit])
                count += 1
        attempt += 1
    return count


@njit
def longest(key, steps_max, walk, vertex):
    """Return how many steps walk ``walk`` from ``vertex`` goes where no vertex absorbs, at most ``steps_max``."""
    step = 0
    while step < steps_max and uint64(drawn(key.seed, key.tag, walk, vertex, step)[0]) < key.one_minus_alpha:
        step += 1
    return step


@njit
def longest_walks(key, steps_max, walks, places, first, last, room):
    """Write :func:`longest` of all walks of the vertices first … last - 1 to ``room`` (uint16), from ``places`` on."""
    for v in range(first, last):
        for j in range(int64(walks[v])):
            room[places[v] + j] = uint16(longest(key, steps_max, j, v))


@njit
def next_of(key, tables, walk, vertex, here, step):
    """Return where walk ``walk`` from ``vertex`` goes to in step ``step`` from ``here``, or -1 where it ends."""
    where = tables.where[here]
    if where == 0:
        return int64(-1)
    w0, word = drawn(key.seed, key.tag, walk, vertex, step)
    if uint64(w0) >= key.one_minus_alpha:
        return int64(-1)
    return int64(chosen(tables.slots, where >> 8, where & 255, word))


@njit
def draw_paths(key, tables, walks, places, cells, first, last, moves, path):
    """Draw all walks of the vertices first … last - 1: where each goes, one step after another.

    Parameters
    ----------
    key, tables
    walks : integer array, shape (n,)
    places : int64 array, shape (n + 1,)
        Number of the first walk of each vertex.
    cells : int64 array, shape (walks + 1,)
        Where the path of each walk begins in ``path``: room for its longest.
    moves : uint16 array, shape (walks,)
        Receives how many steps each goes.
    path : int32 array
        Receives the vertex after each step.
    """
    for v in range(first, last):
        for j in range(int64(walks[v])):
            r = places[v] + j
            step = 0
            here = next_of(key, tables, j, v, int64(v), step)
            while here >= 0:
                path[cells[r] + step] = here
                step += 1
                here = next_of(key, tables, j, v, here, step)
            moves[r] = uint16(step)


@njit
def changed_paths(key, groups, changes, tables, old, counts, places, first, last, cuts, moves):
    """Find where the walks of the vertices first … last - 1 leave their old paths, and how many steps they go now.

    Parameters
    ----------
    key, changes, tables
        The tables are those behind the changes.
    groups : int32 array, shape (n,)
        The group of each vertex among the changes, or -1.
    old : OldPaths
    counts : int64 array, shape (n,)
        How many walks each vertex has now.
    places : int64 array, shape (n + 1,)
        Where they stand.
    cuts, moves : uint16 arrays, shape (walks,)
        Receive the step at which a walk leaves its path (UNCUT: none), and how many steps it goes.
    """
    for v in range(first, last):
        for j in range(counts[v]):
            r = places[v] + j
            here, step, length = int64(v), 0, 0
            cut = j >= old.places[v + 1] - old.places[v]
            if not cut:
                before = old.places[v] + j
                length = old.begin[before + 1] - old.begin[before]
                while not cut:
                    g = groups[here]
                    if g >= 0:
                        w0, word = drawn(key.seed, key.tag, j, v, step)
                        # One that ended did so by its own draw, or for want of edges.
                        if uint64(w0) < key.one_minus_alpha:
                            cut = differs(changes, g, tables, word)
                    if cut or step == length:
                        break
                    here = int64(old.vertices[old.begin[before] + step])
                    step += 1
            cuts[r] = uint16(step) if cut else uint16(UNCUT)
            if cut:
                length = step
                here = next_of(key, tables, j, v, here, length)
                while here >= 0:
                    length += 1
                    here = next_of(key, tables, j, v, here, length)
            moves[r] = uint16(length)


@njit
def renew_paths(key, tables, old, counts, places, begin, first, last, cuts, vertices):
    """Write the paths of the vertices first … last - 1, end to end (from ``begin``): old, and drawn from cuts on."""
    for v in range(first, last):
        for j in range(counts[v]):
            r = places[v] + j
            out = begin[r]
            kept = begin[r + 1] - out if cuts[r] == UNCUT else int64(cuts[r])
            here = int64(v)
            if kept > 0:
                before = old.begin[old.places[v] + j]
                for t in range(kept):
                    vertices[out + t] = old.vertices[before + t]
                here = int64(vertices[out + kept - 1])
            for t in range(kept, begin[r + 1] - out):
                here = next_of(key, tables, j, v, here, t)
                vertices[out + t] = here


@njit
def pack_paths(cells, moves, begin, first, last, path, packed):
    """Copy the paths of the walks first … last - 1, with gaps between them, end to end (from ``begin``)."""
    for r in range(first, last):
        for i in range(int64(moves[r])):
            packed[begin[r] + i] = path[cells[r] + i]


@njit
def ends_of(places, begin, path, first, last, ends):
    """Write where each walk of the vertices first … last - 1 ends: the last vertex of its path, or its start."""
    for v in range(first, last):
        for r in range(places[v], places[v + 1]):
            ends[r] = path[begin[r + 1] - 1] if begin[r + 1] > begin[r] else v
