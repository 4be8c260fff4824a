"""Kernels of graphs that change, on the CPU (Numba): slot tables, and the walks that a change affects."""

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import int32, int64, uint8, uint32, uint64

from gpukit.device.compiled import njit
from gpukit.kpar.update.rule import accepts, bits_for, chosen, drawn, home, slot_of, tried, unit_for


class Key(NamedTuple):
    """The key of all draws: seed and tag, the probability to continue in units of 2**-32 (uint64), and names.

    The first ``plain`` vertices are named by their numbers. ``names`` (uint64) has the names of the other vertices, at
    the vertex's place; they are distinct and at least ``plain``.
    """

    seed: Any
    tag: Any
    one_minus_alpha: Any
    names: Any
    plain: Any


class SlotTables(NamedTuple):
    """The slot tables; ``where`` (int64, n) is first slot << 16 | log2 of the unit << 8 | log2 of the slots.

    0: no table.

    ``degree``, ``weight`` and ``taken`` (int64, n) are the number of edges of a vertex, the sum of their weights, and
    the number of taken slots. ``slots`` (int32) has -1 (empty), the head of a part, or -2 - head for a copy.
    ``weights`` (uint32) has the weight minus one of a part, and the number of a copy; it is empty if all edges have
    weight 1. Slots between tables are not read.
    """

    where: Any
    degree: Any
    weight: Any
    taken: Any
    slots: Any
    weights: Any


class Changes(NamedTuple):
    """Changed edges by tail: those of tail ``tails[g]`` are from ``first[g]`` to ``first[g + 1]``.

    ``heads`` (int32), ``kinds`` (uint8: ADD, REMOVE or WEIGH) and ``words`` (uint32: the new weight minus one) describe
    each change. ``old_begin`` (int64, groups + 1), ``old_shapes`` (int64), ``old_slots`` and ``old_weights`` have room
    for the previous tables, ``where`` (int64) for the new places, and ``states`` (uint8) for the state of each slot of
    a table with an unchanged shape: EMPTY, SAME, OTHER or PART.
    """

    tails: Any
    first: Any
    heads: Any
    kinds: Any
    words: Any
    where: Any
    old_begin: Any
    old_shapes: Any
    old_slots: Any
    old_weights: Any
    states: Any


ADD, REMOVE, WEIGH = range(3)
"""Kinds of changes: an edge is added, removed, or gets another weight."""

EMPTY, SAME, OTHER, PART = range(4)
"""States of a slot: empty before and after; unchanged and always accepted; changed; unchanged and accepted with a
probability."""

CHUNK = 1 << 12
"""Number of visits that a thread examines at a time: 64 KiB, which stay in its cache."""


@numba.njit(inline="always")
def name_of(key, v):
    """Return the name of a vertex (uint64)."""
    if v < key.plain:
        return uint64(v)
    return key.names[v]


@numba.njit(inline="always")
def draws_of(key, walk, v, step):
    """Return the draws of a step of walk ``walk`` from a vertex (:func:`gpukit.kpar.update.rule.drawn`)."""
    return drawn(key.seed, key.tag, walk, name_of(key, v), step)


@numba.njit(inline="always")
def _precedes(key, one, copy, other, other_copy):
    """Return whether a copy of the edge to ``one`` precedes a copy of the edge to ``other``."""
    if one == other:
        return copy < other_copy
    if min(one, other) < key.plain:
        return one < other
    return key.names[one] < key.names[other]


@numba.njit(inline="always")
def _copy_in(tables, slot):
    """Return the head and the number of the copy in a taken slot."""
    head = int64(tables.slots[slot])
    if head >= 0:
        return head, int64(0)
    return -2 - head, int64(tables.weights[slot])


@njit
def _insert(key, tables, begin, bits, tail, head, copy, word):
    """Insert a new copy into a table: in each slot the preceding copy stays, and the other continues to the next."""
    mask = (int64(1) << int64(bits)) - 1
    weighted = len(tables.weights) > 0
    place = home(name_of(key, tail), name_of(key, head), copy, bits)
    while True:
        slot = begin + place
        coded = int32(head if copy == 0 else -2 - head)
        if tables.slots[slot] == -1:
            tables.slots[slot] = coded
            if weighted:
                tables.weights[slot] = word
            return
        there, number = _copy_in(tables, slot)
        if _precedes(key, head, copy, there, number):
            tables.slots[slot] = coded
            if weighted:
                word, tables.weights[slot] = tables.weights[slot], word
            head, copy = there, number
        place = (place + 1) & mask


@njit
def _insert_edge(key, tables, begin, shape, tail, head, word):
    """Insert all copies of an edge of weight ``word`` + 1 into a table."""
    bits = shape & 255
    _insert(key, tables, begin, bits, tail, head, int64(0), word)
    for copy in range(1, (int64(word) >> (shape >> 8)) + 1):
        _insert(key, tables, begin, bits, tail, head, copy, uint32(copy))


@njit
def _find(key, tables, begin, bits, tail, head, copy):
    """Return the place of a copy, or -1.

    The search ends at an empty slot, or at a copy that comes later in the order.
    """
    if bits == 0:
        return int64(-1)
    mask = (int64(1) << int64(bits)) - 1
    place = home(name_of(key, tail), name_of(key, head), copy, bits)
    while tables.slots[begin + place] != -1:
        there, number = _copy_in(tables, begin + place)
        if there == head and number == copy:
            return place
        if _precedes(key, head, copy, there, number):
            break
        place = (place + 1) & mask
    return int64(-1)


@njit
def _remove(key, tables, begin, bits, tail, head, copy):
    """Remove a copy from a table; the first copy in the order that prefers its slot moves there, and so on.

    Cost: the square of the length of a run of taken slots; runs are short, because a table is at most half full.
    """
    mask = (int64(1) << int64(bits)) - 1
    hole = _find(key, tables, begin, bits, tail, head, copy)
    while True:
        first, number, from_there = int64(-1), int64(-1), hole
        place = (hole + 1) & mask
        while tables.slots[begin + place] != -1:
            there, other = _copy_in(tables, begin + place)
            wanted = home(name_of(key, tail), name_of(key, there), other, bits)
            nearer = ((hole - wanted) & mask) < ((place - wanted) & mask)
            if nearer and (first < 0 or _precedes(key, there, other, first, number)):
                first, number, from_there = there, other, place
            place = (place + 1) & mask
        tables.slots[begin + hole] = int32(-1) if first < 0 else tables.slots[begin + from_there]
        if first < 0:
            return
        if len(tables.weights) > 0:
            tables.weights[begin + hole] = tables.weights[begin + from_there]
        hole = from_there


@njit
def _taken(slots, weights, begin, size, unit):
    """Return the number of slots that the edges of a table take with unit 2**unit."""
    count = int64(0)
    for slot in range(begin, begin + size):
        if slots[slot] >= 0:
            count += 1 + (int64(weights[slot]) >> unit if len(weights) > 0 else 0)
    return count


@njit
def size_rows(indptr, words, first, last, tables):
    """Write degrees, weights, taken slots and shapes (as in ``where``) of the vertices first … last - 1.

    ``words`` (uint32, m) are the weights minus one; empty if edges are not weighted.
    """
    for v in range(first, last):
        degree = weight = taken = indptr[v + 1] - indptr[v]
        unit = int64(0)
        if len(words) > 0:
            for e in range(indptr[v], indptr[v + 1]):
                weight += int64(words[e])
            unit = unit_for(weight, degree)
            for e in range(indptr[v], indptr[v + 1]):
                taken += int64(words[e]) >> unit
        tables.degree[v], tables.weight[v], tables.taken[v] = degree, weight, taken
        tables.where[v] = unit << 8 | int64(bits_for(taken))


@njit
def fill_tables(key, indptr, indices, words, first, last, tables):
    """Build the tables of the vertices first … last - 1 from the rows of a graph; ``where`` is already filled."""
    for v in range(first, last):
        begin, shape = tables.where[v] >> 16, tables.where[v] & 0xFFFF
        if shape == 0:
            continue
        for i in range(begin, begin + (int64(1) << (shape & 255))):
            tables.slots[i] = -1
        for e in range(indptr[v], indptr[v + 1]):
            word = words[e] if len(words) > 0 else uint32(0)
            _insert_edge(key, tables, begin, shape, v, int64(indices[e]), word)


@njit
def words_of(key, tables, keys):
    """Return which edges, given by tail << 32 | head, exist (bool), and their weights minus one (uint32)."""
    there, words = np.zeros(len(keys), np.bool_), np.zeros(len(keys), np.uint32)
    for i in range(len(keys)):
        v, head = keys[i] >> 32, keys[i] & 0xFFFFFFFF
        begin = tables.where[v] >> 16
        place = _find(key, tables, begin, tables.where[v] & 255, v, head, int64(0))
        there[i] = place >= 0
        if place >= 0 and len(tables.weights) > 0:
            words[i] = tables.weights[begin + place]
    return there, words


@njit
def edges_of(tables, which):
    """Return the edges, as tail << 32 | head (int64), that have a marked vertex (bool, n) as an end."""
    keys, count = np.empty(16, np.int64), 0
    for v in range(len(which)):
        bits = tables.where[v] & 255
        begin = tables.where[v] >> 16
        for slot in range(begin, begin + ((int64(1) << bits) if bits > 0 else 0)):
            head = int64(tables.slots[slot])
            if head >= 0 and (which[v] or which[head]):
                if count == len(keys):
                    more = np.empty(2 * count, np.int64)
                    more[:count] = keys
                    keys = more
                keys[count] = v << 32 | head
                count += 1
    return np.sort(keys[:count])


@njit
def grouped(keys):
    """Return the tails (int64) of edges by ascending tail << 32 | head, each once, and the first edge of each."""
    tails, first, count = np.empty(len(keys), np.int64), np.empty(len(keys) + 1, np.int64), 0
    for i in range(len(keys)):
        if count == 0 or tails[count - 1] != keys[i] >> 32:
            tails[count], first[count] = keys[i] >> 32, i
            count += 1
    first[count] = len(keys)
    return tails[:count], first[: count + 1]


@njit
def table_begins(tails, where):
    """Return the starts of consecutive copies of the tables of some tails (int64, tails + 1)."""
    begin = np.zeros(len(tails) + 1, np.int64)
    for g in range(len(tails)):
        bits = where[tails[g]] & 255
        begin[g + 1] = begin[g] + ((int64(1) << bits) if bits > 0 else 0)
    return begin


@njit
def take_out(key, changes, tables, first, last):
    """Copy the tables of the tails ``first`` … ``last`` - 1, remove edges from them, and find the new shapes."""
    weighted = len(tables.weights) > 0
    for g in range(first, last):
        v = changes.tails[g]
        low, high = changes.first[g], changes.first[g + 1]
        begin, shape, kept = tables.where[v] >> 16, tables.where[v] & 0xFFFF, changes.old_begin[g]
        size, unit = changes.old_begin[g + 1] - kept, shape >> 8
        changes.old_shapes[g] = shape
        changes.old_slots[kept : kept + size] = tables.slots[begin : begin + size]
        if weighted:
            changes.old_weights[kept : kept + size] = tables.weights[begin : begin + size]
        degree, weight, taken, more = tables.degree[v], tables.weight[v], tables.taken[v], int64(0)
        for i in range(low, high):
            if changes.kinds[i] != ADD:
                head, word = int64(changes.heads[i]), int64(0)
                if weighted:
                    word = int64(tables.weights[begin + _find(key, tables, begin, shape & 255, v, head, int64(0))])
                copies = (word >> unit) + 1
                for copy in range(copies):
                    _remove(key, tables, begin, shape & 255, v, head, copy)
                degree, weight, taken = degree - 1, weight - word - 1, taken - copies
        for i in range(low, high):
            if changes.kinds[i] != REMOVE:
                degree, weight = degree + 1, weight + int64(changes.words[i]) + 1
        new_unit = unit_for(weight, degree)
        if new_unit != unit:
            taken = _taken(tables.slots, tables.weights, begin, size, new_unit)
        for i in range(low, high):
            if changes.kinds[i] != REMOVE:
                more += (int64(changes.words[i]) >> new_unit) + 1
        tables.degree[v], tables.weight[v], tables.taken[v] = degree, weight, taken + more
        changes.where[g] = new_unit << 8 | int64(bits_for(taken + more))


@njit
def place_tables(changes, tables, used):
    """Write the new places of the tables: after the ``used`` slots if the size changed; return the used slots then."""
    for g in range(len(changes.tails)):
        begin, shape = tables.where[changes.tails[g]] >> 16, changes.where[g] & 0xFFFF
        bits = shape & 255
        if bits != changes.old_shapes[g] & 255:
            begin = used if bits > 0 else 0
            used += (int64(1) << bits) if bits > 0 else 0
        changes.where[g] = begin << 16 | shape
    return used


@njit
def put_in(key, changes, tables, first, last):
    """Give the tables of the tails ``first`` … ``last`` - 1 their new shapes, insert edges, and write the states."""
    weighted = len(tables.weights) > 0
    for g in range(first, last):
        v = changes.tails[g]
        begin, shape, kept = changes.where[g] >> 16, changes.where[g] & 0xFFFF, changes.old_begin[g]
        size = changes.old_begin[g + 1] - kept
        if shape != changes.old_shapes[g]:
            old = tables.where[v] >> 16
            slots = tables.slots[old : old + size].copy()
            weights = tables.weights[old : old + size].copy() if weighted else np.empty(0, np.uint32)
            bits = shape & 255
            for i in range(begin, begin + ((int64(1) << bits) if bits > 0 else 0)):
                tables.slots[i] = -1
            for i in range(size):
                if slots[i] >= 0:
                    word = weights[i] if weighted else uint32(0)
                    _insert_edge(key, tables, begin, shape, v, int64(slots[i]), word)
            tables.where[v] = changes.where[g]
        for i in range(changes.first[g], changes.first[g + 1]):
            if changes.kinds[i] != REMOVE:
                _insert_edge(key, tables, begin, shape, v, int64(changes.heads[i]), changes.words[i])
        if shape == changes.old_shapes[g]:
            # By slices, as loops over an offset and a number are not compiled to vector instructions.
            table, states = tables.slots[begin : begin + size], changes.states[kept : kept + size]
            old_table = changes.old_slots[kept : kept + size]
            for i in range(size):
                states[i] = OTHER if old_table[i] != table[i] else SAME if table[i] != -1 else EMPTY
            if shape >> 8 > 0:
                _weigh_states(changes.old_weights[kept : kept + size], tables.weights[begin : begin + size], table,
                              shape >> 8, states)  # fmt: skip


@njit
def _weigh_states(old_weights, weights, table, unit, states):
    """Update the states of slots for changed weights of parts."""
    below = (uint64(1) << uint64(unit)) - uint64(1)
    for i in range(len(states)):
        if states[i] == SAME and table[i] >= 0:
            if (uint64(old_weights[i]) ^ uint64(weights[i])) & below:
                states[i] = uint8(OTHER)
            elif uint64(weights[i]) & below != below:
                states[i] = uint8(PART)


@njit
def _differs(changes, group, tables, word):
    """Return whether the choice of a step from the tail of a group changes, becomes impossible or becomes possible."""
    where, shape = tables.where[changes.tails[group]], changes.old_shapes[group]
    if shape & 255 == 0 or where & 255 == 0:
        return True
    before = chosen(changes.old_slots, changes.old_weights, changes.old_begin[group], shape, word)
    return before != chosen(tables.slots, tables.weights, where >> 16, where & 0xFFFF, word)


@njit
def changed_visits(changes, group, low, high, tables, visits, met, count, pending):
    """Find the visits ``low`` … ``high`` - 1 whose next step differs between the old and the new table of a tail.

    All visits make attempt 1, then the undecided ones make attempt 2, and so on; this avoids mispredicted branches.
    ``pending`` (int64, at least ``high - low``) lists the undecided. ``visits`` (uint64) has two words per visit: its
    id, and its 64 random bits. The ids of visits that differ go to ``met`` (int64) from ``count`` on. Returns the new
    count.
    """
    where = tables.where[changes.tails[group]]
    begin, shape = changes.old_begin[group], where & 0xFFFF
    bits, unit = shape & 255, shape >> 8
    if shape != changes.old_shapes[group]:
        for i in range(low, high):
            if _differs(changes, group, tables, visits[2 * i + 1]):
                met[count] = int64(visits[2 * i])
                count += 1
        return count
    # Unsigned numbers, since others may count from an array's end, which is asked at each access.
    states, going = changes.states[begin : begin + (int64(1) << bits)], uint64(0)
    weights = tables.weights[where >> 16 : (where >> 16) + (int64(1) << bits)]
    for i in range(uint64(low), uint64(high)):
        word = visits[uint64(2) * i + uint64(1)]
        place = uint64(slot_of(word, bits))
        state = states[place]
        pending[going] = i
        going += uint64(state == EMPTY or (state == PART and not accepts(word, weights[place], unit)))
        if state == OTHER and _differs(changes, group, tables, word):
            met[count] = int64(visits[uint64(2) * i])
            count += 1
    attempt = 1
    while going > 0:
        left, going = going, uint64(0)
        for i in range(left):
            visit = uint64(pending[i])
            first = visits[uint64(2) * visit + uint64(1)]
            word = tried(first, attempt)
            place = uint64(slot_of(word, bits))
            state = states[place]
            pending[going] = visit
            going += uint64(state == EMPTY or (state == PART and not accepts(word, weights[place], unit)))
            if state == OTHER and _differs(changes, group, tables, first):
                met[count] = int64(visits[uint64(2) * visit])
                count += 1
        attempt += 1
    return count
