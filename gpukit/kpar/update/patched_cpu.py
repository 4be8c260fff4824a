"""Kernels that renew the data of queries after updates, on the CPU (Numba).

Rows are in shared arrays, with gaps between them. A changed row is written after all others, so a reader of the old
places still finds the old row.
"""

import numpy as np
from numba import int32, int64, uint32

from gpukit.device.compiled import njit
from gpukit.kpar.problem import WALKS_AN_EDGE
from gpukit.kpar.weights import cumulate


@njit
def net_changes(before, after, number):
    """Compute the net change of each pair.

    Parameters
    ----------
    before, after : int64 arrays
        Pairs of rows, row << 32 | other, in any order, also several times.
    number : int64 array
        The vertex in each row.

    Returns
    -------
    keys, nets : int64 arrays
        Pairs of vertices, ascending, whose count changes, and the change.
    """
    ends, nets = np.empty(len(before) + len(after), np.int64), np.empty(len(before) + len(after), np.int64)
    for i in range(len(before)):
        ends[i] = (number[before[i] >> 32] << 32 | number[before[i] & 0xFFFFFFFF]) << 1
    for i in range(len(after)):
        ends[len(before) + i] = (number[after[i] >> 32] << 32 | number[after[i] & 0xFFFFFFFF]) << 1 | 1
    ends.sort()
    count = 0
    for i in range(len(ends)):
        key, net = ends[i] >> 1, 2 * (ends[i] & 1) - 1
        if count > 0 and ends[count - 1] == key:
            nets[count - 1] += net
        else:
            if count > 0 and nets[count - 1] == 0:
                count -= 1
            ends[count], nets[count] = key, net
            count += 1
    if count > 0 and nets[count - 1] == 0:
        count -= 1
    return ends[:count].copy(), nets[:count].copy()


@njit
def turned(keys, nets):
    """Return pairs with their sides exchanged, ascending, and their nets."""
    other = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        other[i] = (keys[i] & 0xFFFFFFFF) << 32 | keys[i] >> 32
    order = np.argsort(other)
    return other[order], nets[order]


@njit
def room_for_rows(begin, until, keys):
    """Return an upper bound on the entries of the rows in which these pairs change."""
    room, last = len(keys), int64(-1)
    for i in range(len(keys)):
        v = keys[i] >> 32
        if v != last:
            room += until[v] - begin[v]
        last = v
    return room


@njit
def merge_rows(begin, until, items, counts, used, keys, nets):
    """Write the rows in which pairs change after the ``used`` entries, and update ``begin`` and ``until``.

    Returns
    -------
    int
        Number of used entries afterwards.
    """
    i = 0
    while i < len(keys):
        v, first = keys[i] >> 32, used
        place, end = begin[v], until[v]
        while i < len(keys) and keys[i] >> 32 == v:
            item, count = int32(keys[i] & 0xFFFFFFFF), nets[i]
            while place < end and items[place] < item:
                items[used], counts[used] = items[place], counts[place]
                used += 1
                place += 1
            if place < end and items[place] == item:
                count += int64(counts[place])
                place += 1
            if count > 0:
                items[used], counts[used] = item, uint32(count)
                used += 1
            i += 1
        while place < end:
            items[used], counts[used] = items[place], counts[place]
            used += 1
            place += 1
        begin[v], until[v] = first, used
    return used


@njit
def write_edges(tables, tails, number, begin, until, heads, chances, used):
    """Write the out-edges of tails (rows, int64) after the ``used`` ones, from their slot tables; see merge_rows."""
    weighted = len(tables.weights) > 0
    for g in range(len(tails)):
        row = tails[g]
        v, table, bits = number[row], tables.where[row] >> 16, tables.where[row] & 255
        found, count = np.empty(tables.degree[row], np.int64), 0
        for slot in range(table, table + ((int64(1) << bits) if bits > 0 else 0)):
            if tables.slots[slot] >= 0:
                found[count] = number[tables.slots[slot]] << 32 | (int64(tables.weights[slot]) if weighted else 0)
                count += 1
        found.sort()
        begin[v], until[v] = used, used + count
        words = np.empty(count if weighted else 0, np.uint32)
        for i in range(count):
            heads[used + i] = int32(found[i] >> 32)
            if weighted:
                words[i] = uint32(found[i] & 0xFFFFFFFF)
        if weighted:
            cumulate(words, 0, count, chances[used : used + count])
        used += count
    return used


@njit
def close_row_gaps(begin, until, items, counts, more_items, more_counts):
    """Copy all rows without gaps, and update ``begin`` and ``until``; return the end."""
    used = 0
    for v in range(len(until)):
        first, begin[v] = begin[v], used
        for i in range(first, until[v]):
            more_items[used] = items[i]
            if len(counts) > 0:
                more_counts[used] = counts[i]
            used += 1
        until[v] = used
    return used


@njit
def change_arrivals(keys, nets, arrivals, by_arrivals):
    """Add changes of walks, by end << 32 | start, to ``arrivals``.

    Returns
    -------
    ends : int64 array
        Vertices at which the number of walks that end has changed.
    more : int64 array
        The change of this number.
    order : int32 array
        Vertices by falling arrivals, then by id; ``by_arrivals`` is the previous order.
    """
    ends, more, count = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64), 0
    for i in range(len(keys)):
        v = keys[i] >> 32
        if count > 0 and ends[count - 1] == v:
            more[count - 1] += nets[i]
            continue
        if count > 0 and more[count - 1] == 0:
            count -= 1
        ends[count], more[count] = v, nets[i]
        count += 1
    if count > 0 and more[count - 1] == 0:
        count -= 1
    ends, more = ends[:count].copy(), more[:count].copy()
    moves, falling = np.zeros(len(arrivals), np.bool_), np.empty(count, np.int64)
    for i in range(count):
        arrivals[ends[i]] += more[i]
        moves[ends[i]] = True
        falling[i] = -arrivals[ends[i]]
    moved = ends[np.argsort(falling, kind="mergesort")]
    order, place, j = np.empty(len(by_arrivals), np.int32), 0, 0
    for i in range(len(by_arrivals)):
        v = int64(by_arrivals[i])
        if moves[v]:
            continue
        while j < count and (arrivals[moved[j]] > arrivals[v] or (arrivals[moved[j]] == arrivals[v] and moved[j] < v)):
            order[place] = moved[j]
            place += 1
            j += 1
        order[place] = v
        place += 1
    while j < count:
        order[place] = moved[j]
        place += 1
        j += 1
    return ends, more, order


@njit
def walks_around(begin, until, tails, arrivals):
    """Return the number of walks that end at the tails of the in-edges of each vertex (int64)."""
    around = np.zeros(len(until), np.int64)
    for v in range(len(until)):
        for i in range(begin[v], until[v]):
            around[v] += arrivals[tails[i]]
    return around


@njit
def change_around(keys, nets, arrivals, around):
    """Update ``around`` for added and removed in-edges, by head << 32 | tail; it was computed from ``arrivals``."""
    for i in range(len(keys)):
        around[keys[i] >> 32] += nets[i] * arrivals[keys[i] & 0xFFFFFFFF]


@njit
def price(edges_begin, edges_until, heads, ends, more, begin, until, around):
    """Update it for changed arrivals along the out-edges; return the prices of :class:`gpukit.kpar.groups.InEdges`."""
    for i in range(len(ends)):
        for e in range(edges_begin[ends[i]], edges_until[ends[i]]):
            around[heads[e]] += more[i]
    prices = np.empty(len(until), np.int64)
    for v in range(len(until)):
        prices[v] = until[v] - begin[v] + around[v] // WALKS_AN_EDGE
    return prices
