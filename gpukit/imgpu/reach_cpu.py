"""How many vertices each vertex of a world reaches, exactly, by tree sums and join labels (CPU).

The condensed world is a DAG. A component with at least two parents is a *join*. T(v) is the weight of v plus T of its
children that are no joins: a tree sum, because such a child has one parent. J(v) is every join that v reaches. Only
joins can be reached twice, so reach(v) = T(v) + Σ T(j) over j in J(v). This takes the place of the labels of the
paper's appendix C (equation 1).

A label is a list of up to ``INLINE`` joins, else a bitset over the joins of the world, else, where those would not fit,
it is not kept and a search counts. A world with a heavy component h is split: what reaches h reaches all that h does,
plus what it reaches elsewhere; the rest is labelled without them, and the labels stay short.
"""

from typing import NamedTuple

import numba
import numpy as np
from numba import int64, uint64

INLINE = 32
"""Joins a list holds at most."""

SPLIT = 32
"""Weight from which the heaviest component splits the world."""

BITS = 1 << 22
"""64-bit words for bitsets at most."""

NONE, JOIN = -1, -2
"""No parent, and several parents."""

BITSET, SEARCH = -1, -2
"""Kinds of label other than a list."""


class Labels(NamedTuple):
    """Working space for the labels of one world; arrays have an element a slot unless said otherwise.

    Attributes
    ----------
    parent : int32 array
        The one parent of a component, or ``NONE`` or ``JOIN``.
    total, reach : int64 arrays
        T, and the result, at the slot that stands for a component.
    skip : uint8 array
        Components to leave out.
    place : int32 array
        Place of a component in ``order``.
    start, size : int32 arrays
        Where the label of a component is, and its length, ``BITSET`` or ``SEARCH``.
    mark : int32 array
        The last component that met a slot.
    join_no, joins : int32 arrays
        Number of a join, and the join of each number.
    above : uint8 array
        Whether a component reaches the heavy one (1), is reached by it or is itself (2).
    pool : int32 array
        Lists, end to end.
    bits : uint64 array, shape (BITS,)
        Bitsets, end to end.
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


@numba.njit(nogil=True, cache=True)
def _find_parents(world, components, labels):
    """Fill ``parent`` and number the joins; return how many there are."""
    comp, row, heads, members, order = world.comp, world.row, world.heads, world.members, world.order
    parent, skip = labels.parent, labels.skip
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
                    labels.join_no[v] = joins
                    labels.joins[joins] = v
                    joins += 1
    return joins


@numba.njit(nogil=True, cache=True)
def _search(world, labels, c):
    """Return what a component reaches, by a search."""
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


@numba.njit(nogil=True, cache=True)
def _as_bitset(world, labels, i, c, base, words):
    """Write J of component c, the i-th, to words base … of ``bits``; return Σ T(j), or -1 if a child has no label."""
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


@numba.njit(nogil=True, cache=True)
def _within(world, tails, slots, components, labels):
    """Fill ``reach`` of every component that is not to skip, within those."""
    parent, total, reach, skip = labels.parent, labels.total, labels.reach, labels.skip
    size, start, mark, pool = labels.size, labels.start, labels.mark, labels.pool
    comp, row, heads, members, order = world.comp, world.row, world.heads, world.members, world.order
    for s in range(slots):
        parent[s] = NONE
        total[s] = 0
    joins = _find_parents(world, components, labels)
    for s in range(tails, slots):
        if skip[s] == 0:
            total[s] = 1
            reach[s] = 1
            if parent[s] >= 0:
                total[parent[s]] += 1
    for i in range(components):
        c = members[order[i + 1] - 1]
        if skip[c] == 0:
            total[c] += world.weight[c]
            reach[c] = total[c]
            if parent[c] >= 0:
                total[parent[c]] += total[c]
    if joins == 0:
        return
    for s in range(slots):
        mark[s] = -1
        size[s] = 0
        labels.place[s] = -1
    words = (joins + 63) >> 6
    rows = used = 0
    for i in range(components):
        c = members[order[i + 1] - 1]
        labels.place[c] = i
        if skip[c]:
            continue
        begin = used
        kind = 0
        for j in range(order[i], order[i + 1]):
            u = members[j]
            for e in range(row[u], row[u + 1]):
                v = comp[heads[e]]
                if v == c or skip[v]:
                    continue
                if size[v] < 0 or used - begin >= INLINE or used + INLINE + 1 > len(pool):
                    kind = BITSET
                    break
                if parent[v] == JOIN and mark[v] != c:
                    mark[v] = c
                    pool[used] = v
                    used += 1
                for k in range(start[v], start[v] + size[v]):
                    if mark[pool[k]] != c:
                        mark[pool[k]] = c
                        pool[used] = pool[k]
                        used += 1
            if kind < 0:
                break
        if kind == 0 and used - begin <= INLINE:
            start[c] = begin
            size[c] = used - begin
            for k in range(begin, used):
                reach[c] += total[pool[k]]
            continue
        used = begin
        size[c] = SEARCH
        if (rows + 1) * words <= len(labels.bits):
            found = _as_bitset(world, labels, i, c, rows * words, words)
            if found >= 0:
                size[c] = BITSET
                start[c] = rows
                rows += 1
                reach[c] += found
                continue
        reach[c] = _search(world, labels, c)


@numba.njit(nogil=True, cache=True)
def _split(world, tails, slots, components, labels, heavy):
    """Mark in ``above`` what reaches the heavy component (1) and what it reaches (2); return how many these are."""
    above, stack = labels.above, world.stack
    above[:slots] = 0
    place = labels.place
    for s in range(slots):
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


@numba.njit(nogil=True, cache=True)
def reach_all(world, tails, slots, components, labels, split):
    """Fill ``labels.reach`` for every component that is not gone, at the slot that stands for it.

    Parameters
    ----------
    world : World
        Condensed (:func:`gpukit.imgpu.world_cpu.condense`).
    tails, slots, components : int
        Its sizes.
    labels : Labels
        Working space.
    split : int
        Weight from which the heaviest component splits the world; changes no result.
    """
    skip, gone = labels.skip, world.gone
    skip[:slots] = gone[:slots]
    heavy = -1
    for i in range(components):
        c = world.members[world.order[i + 1] - 1]
        if world.weight[c] >= split and (heavy < 0 or world.weight[c] > world.weight[heavy]):
            heavy = c
    if heavy < 0:
        _within(world, tails, slots, components, labels)
        return
    below = _split(world, tails, slots, components, labels, heavy)
    above = labels.above
    for s in range(slots):
        skip[s] = gone[s] | (above[s] == 2)
    _within(world, tails, slots, components, labels)
    for s in range(slots):
        if above[s] == 1:
            labels.reach[s] += below
        skip[s] = gone[s] | (above[s] == 1) | (s == heavy)
    _within(world, tails, slots, components, labels)
    labels.reach[heavy] = below
