"""Exact reach of each vertex of a world, by tree sums and join labels (CPU).

``reach.py`` has the rule. A label is a list of up to ``INLINE`` joins. If that is too short, it is a bitset over the
joins of the world. If the bitsets do not fit either, no label is kept and a search counts. A world with a heavy
component h is split. A component that reaches h reaches everything that h reaches, plus its own reach elsewhere. So the
two parts are labelled separately, and the labels stay short.
"""

from typing import NamedTuple

import numpy as np
from numba import int64, uint64

from gpukit.device.compiled import njit
from gpukit.imgpu.reach import BITSET, INLINE, JOIN, NONE, SEARCH

BITS = 1 << 22
"""Most 64-bit words for bitsets."""


class Labels(NamedTuple):
    """Working space for the labels of one world; arrays have one element per slot unless stated otherwise.

    Attributes
    ----------
    parent : int32 array
        The only parent of a component, or ``NONE`` or ``JOIN``.
    total, reach : int64 arrays
        T, and the result, at the representative slot of a component.
    skip : uint8 array
        Components to ignore.
    place : int32 array
        Place of a component in ``order``.
    start, size : int32 arrays
        Position of the label of a component; and its length, ``BITSET`` or ``SEARCH``.
    mark : int32 array
        The last component that visited a slot.
    join_no, joins : int32 arrays
        Number of a join, and the join of each number.
    above : uint8 array
        1 if a component reaches the heavy one, 2 if the heavy one reaches it or it is the heavy one.
    pool : int32 array
        Lists, packed end to end.
    bits : uint64 array, shape (BITS,)
        Bitsets, packed end to end.
    """

    parent: np.ndarray
    total: np.ndarray
    reach: np.ndarray
    skip: np.ndarray
    place: np.ndarray
    start: np.ndarray
    size: np.ndarray
    mark: np.ndarray
    join_no: np.ndarray
    joins: np.ndarray
    above: np.ndarray
    pool: np.ndarray
    bits: np.ndarray


def make_labels(slots: int, bits: int = BITS) -> Labels:
    """Return working space for worlds of up to ``slots`` slots."""
    types = {"total": np.int64, "reach": np.int64, "skip": np.uint8, "above": np.uint8}
    arrays = {name: np.empty(slots, types.get(name, np.int32)) for name in Labels._fields}
    arrays["pool"] = np.empty(min(INLINE * (slots + 2), 1 << 28), np.int32)
    arrays["bits"] = np.empty(bits, np.uint64)
    return Labels(**arrays)


@njit
def _find_joins(world, slots, components, labels):
    """Fill ``parent`` and number the joins; return their number."""
    comp, row, heads, members, order = world.comp, world.row, world.heads, world.members, world.order
    parent, skip, join_no, numbered = labels.parent, labels.skip, labels.join_no, labels.joins
    for s in range(slots):
        parent[s] = NONE
    joins = 0
    for i in range(components):
        c = members[order[i + 1] - 1]
        if skip[c]:
            continue
        for j in range(order[i], order[i + 1]):
            u = members[j]
            for e in range(row[u], row[u + 1]):
                v = comp[heads[e]]
                if v == c or skip[v] or parent[v] == c or parent[v] == JOIN:
                    continue
                if parent[v] == NONE:
                    parent[v] = c
                else:
                    parent[v] = JOIN
                    join_no[v] = joins
                    numbered[joins] = v
                    joins += 1
    return joins


@njit
def _search(world, labels, c):
    """Return the reach of a component, counted by a search."""
    mark, stack = labels.mark, world.stack
    mark[c] = -2 - c
    stack[0] = c
    top = 1
    found = 0
    while top > 0:
        top -= 1
        u = stack[top]
        found += world.weight[u]
        i = labels.place[u]
        if i < 0:
            continue
        for j in range(world.order[i], world.order[i + 1]):
            s = world.members[j]
            for e in range(world.row[s], world.row[s + 1]):
                v = world.comp[world.heads[e]]
                if mark[v] != -2 - c and labels.skip[v] == 0:
                    mark[v] = -2 - c
                    stack[top] = v
                    top += 1
    return found


@njit
def _label_as_bitset(world, labels, i, c, base, words):
    """Write J of component c, the i-th, to ``bits`` from ``base`` on; return Σ T(j), or -1 if a child has no label."""
    bits, total, joins = labels.bits, labels.total, labels.joins
    bits[base : base + words] = 0
    for j in range(world.order[i], world.order[i + 1]):
        s = world.members[j]
        for e in range(world.row[s], world.row[s + 1]):
            v = world.comp[world.heads[e]]
            if v == c or labels.skip[v]:
                continue
            if labels.parent[v] == JOIN:
                number = labels.join_no[v]
                bits[base + (number >> 6)] |= uint64(1) << uint64(number & 63)
            if labels.size[v] == SEARCH:
                return int64(-1)
            if labels.size[v] == BITSET:
                for k in range(words):
                    bits[base + k] |= bits[labels.start[v] * words + k]
            else:
                for k in range(labels.start[v], labels.start[v] + labels.size[v]):
                    number = labels.join_no[labels.pool[k]]
                    bits[base + (number >> 6)] |= uint64(1) << uint64(number & 63)
    found = int64(0)
    for k in range(words):
        word = bits[base + k]
        number = k << 6
        while word:
            if word & uint64(1):
                found += total[joins[number]]
            word >>= uint64(1)
            number += 1
    return found


@njit
def _sum_trees(world, tails, slots, components, labels):
    """Fill ``total`` with T, and ``reach`` with the same values, which are final for components that reach no join."""
    parent, total, reach, skip = labels.parent, labels.total, labels.reach, labels.skip
    weight, members, order = world.weight, world.members, world.order
    for s in range(slots):
        total[s] = 0
    for s in range(tails, slots):
        if skip[s] == 0:
            total[s] = 1
            reach[s] = 1
            if parent[s] >= 0:
                total[parent[s]] += 1
    for i in range(components):
        c = members[order[i + 1] - 1]
        if skip[c] == 0:
            total[c] += weight[c]
            reach[c] = total[c]
            if parent[c] >= 0:
                total[parent[c]] += total[c]


@njit
def _add_labels(world, slots, components, labels, joins):
    """Label every component, children first, and add Σ T(j) over the joins j of its label to its ``reach``."""
    comp, row, heads, members, order = world.comp, world.row, world.heads, world.members, world.order
    parent, total, reach, skip, place = labels.parent, labels.total, labels.reach, labels.skip, labels.place
    size, start, mark, pool = labels.size, labels.start, labels.mark, labels.pool
    for s in range(slots):
        mark[s] = -1
        size[s] = 0
        place[s] = -1
    words = (joins + 63) >> 6
    rows = used = 0
    for i in range(components):
        c = members[order[i + 1] - 1]
        place[c] = i
        if skip[c]:
            continue
        # Try a list. It fails if it gets too long, the pool is full, or the label of a child is not a list. This code
        # stays in the loop: a function call per component would take longer than its work.
        end, is_list = used, True
        for j in range(order[i], order[i + 1]):
            u = members[j]
            for e in range(row[u], row[u + 1]):
                v = comp[heads[e]]
                if v == c or skip[v]:
                    continue
                if size[v] < 0 or end - used >= INLINE or end + INLINE + 1 > len(pool):
                    is_list = False
                    break
                if parent[v] == JOIN and mark[v] != c:
                    mark[v] = c
                    pool[end] = v
                    end += 1
                for k in range(start[v], start[v] + size[v]):
                    if mark[pool[k]] != c:
                        mark[pool[k]] = c
                        pool[end] = pool[k]
                        end += 1
            if not is_list:
                break
        if is_list and end - used <= INLINE:
            start[c], size[c] = used, end - used
            for k in range(used, end):
                reach[c] += total[pool[k]]
            used = end
            continue
        # Try a bitset, if there is room and every child has a label; otherwise search.
        found, size[c] = int64(-1), SEARCH
        if (rows + 1) * words <= len(labels.bits):
            found = _label_as_bitset(world, labels, i, c, rows * words, words)
        if found >= 0:
            start[c], size[c] = rows, BITSET
            rows += 1
            reach[c] += found
        else:
            reach[c] = _search(world, labels, c)


@njit
def _reach_without(world, tails, slots, components, labels):
    """Fill ``reach`` of the components that are not skipped, within these (Algorithm 2, lines 7 to 13)."""
    joins = _find_joins(world, slots, components, labels)
    _sum_trees(world, tails, slots, components, labels)
    if joins > 0:
        _add_labels(world, slots, components, labels, joins)


@njit
def _split(world, tails, slots, components, labels, heavy):
    """Mark in ``above`` what reaches the heavy component (1) and what it reaches (2); return its reach."""
    above, place, stack = labels.above, labels.place, world.stack
    for s in range(slots):
        above[s] = 0
        place[s] = -1
    for i in range(components):
        place[world.members[world.order[i + 1] - 1]] = i
    above[heavy] = 2
    stack[0] = heavy
    top = 1
    found = int64(0)
    while top > 0:
        top -= 1
        u = stack[top]
        found += world.weight[u]
        if place[u] < 0:
            continue
        for j in range(world.order[place[u]], world.order[place[u] + 1]):
            s = world.members[j]
            for e in range(world.row[s], world.row[s + 1]):
                v = world.comp[world.heads[e]]
                if above[v] == 0 and labels.skip[v] == 0:
                    above[v] = 2
                    stack[top] = v
                    top += 1
    for i in range(place[heavy] + 1, components):
        c = world.members[world.order[i + 1] - 1]
        for j in range(world.order[i], world.order[i + 1]):
            s = world.members[j]
            for e in range(world.row[s], world.row[s + 1]):
                v = world.comp[world.heads[e]]
                if above[v] == 1 or v == heavy:
                    above[c] = 1
    return found


@njit
def reach_all(world, tails, slots, components, labels, split):
    """Fill ``labels.reach`` for every component that is not gone, at its representative slot.

    Parameters
    ----------
    world : World
        Condensed (:func:`gpukit.imgpu.condense_cpu.condense`).
    tails, slots, components : int
        Its sizes.
    labels : Labels
        Working space.
    split : int
        Least weight at which the heaviest component splits the world; does not change the result.
    """
    skip, gone = labels.skip, world.gone
    for slot in range(slots):
        skip[slot] = gone[slot]
    heavy = -1
    for i in range(components):
        c = world.members[world.order[i + 1] - 1]
        if world.weight[c] >= split and (heavy < 0 or world.weight[c] > world.weight[heavy]):
            heavy = c
    if heavy < 0:
        _reach_without(world, tails, slots, components, labels)
        return
    below = _split(world, tails, slots, components, labels, heavy)
    above = labels.above
    for s in range(slots):
        skip[s] = gone[s] | (above[s] == 2)
    _reach_without(world, tails, slots, components, labels)
    for s in range(slots):
        if above[s] == 1:
            labels.reach[s] += below
        skip[s] = gone[s] | (above[s] == 1) | (s == heavy)
    _reach_without(world, tails, slots, components, labels)
    labels.reach[heavy] = below
