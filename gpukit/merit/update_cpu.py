"""mRR sets on the CPU (Numba): draw and update the sets of a segment. ``search_cuda.py`` makes equal sets on GPUs.

The sets of a segment lie in one arena, in the order in which they were written. A changed set is written again at the
end; clean sets stay in place. The members of a set, in order of discovery, are the queue of its search. One stamp per
vertex says whether the vertex is active or already in the set.
"""

from collections import namedtuple

import numpy as np
from numba import int64, uint32, uint64

from gpukit.device.compiled import njit
from gpukit.device.philox import draw4, philox4x32
from gpukit.merit.rule import SEQUENCE, living_choice, root_count
from gpukit.worlds.rule import CALLS_PER_ROW, LT_CASCADE, biased, live_edges
from gpukit.worlds.sample_cpu import CHILDREN, GROUP, counter_word, draw_group, quick_edges
from gpukit.worlds.tables import MAX_LIVE

DEAD = 2**31 - 1
"""Stamp of an active vertex."""

CALLS = 64
"""Most Philox calls of a root sequence that are made together."""

PROBES, POLLUTED, EXTENDED = 0, 1, 2
"""Positions in ``facts``: vertices whose in-edges were drawn, sets drawn again, sets that gained roots."""


class Scratch(namedtuple("Scratch", "words starts child live")):
    """Working space of a worker: nine rows of words, row starts and live edges of a group, live edges of a row."""


def make_scratch() -> Scratch:
    """Return the working space of a worker."""
    starts, child = np.empty(GROUP, np.int64), np.empty(CHILDREN, np.int64)
    return Scratch(np.empty((9, GROUP), np.uint32), starts, child, np.empty(MAX_LIVE, np.uint32))


@njit
def _draw_calls(first, sample_low, high, seed, w0, w1, w2, w3, size):
    """Fill ``w0`` … ``w3`` with the draws first … of a root sequence; a separate loop, so that it vectorises."""
    k0, k1 = uint32(seed & uint64(0xFFFFFFFF)), uint32(seed >> uint64(32))
    for j in range(size):
        w0[j], w1[j], w2[j], w3[j] = philox4x32(uint32(first + j), uint32(SEQUENCE), sample_low, high, k0, k1)


@njit
def add_roots(arena, begin, roots, tail, wanted, cursor, n, key, sample, visited, stamp, words):
    """Continue the root sequence of a set until it has ``wanted`` roots; return the new tail and cursor.

    The set is ``arena[begin:tail]``. Its first ``roots`` members are roots, stamped ``stamp + 1``; all other members
    are stamped ``stamp``. New roots from outside are appended at the tail; members that become roots move to the front.
    ``cursor`` is the number of used words of the sequence.
    """
    low, high = uint32(uint64(sample) & uint64(0xFFFFFFFF)), counter_word(sample, key.root_tag)
    size, outside = tail - begin, int64(0)
    while roots + outside < wanted:
        calls = min(CALLS, (wanted - roots - outside + 3) // 4 + 1)
        _draw_calls(cursor >> 2, low, high, key.seed, words[0], words[1], words[2], words[3], calls)
        for word in range(cursor & 3, 4 * calls):
            cursor += 1
            product = uint64(words[word & 3, word >> 2]) * uint64(n)
            v = uint32(product >> uint64(32))
            if visited[v] > stamp or biased(product, n):
                continue
            if visited[v] == stamp:
                place = begin + roots
                while arena[place] != v:
                    place += 1
                arena[place] = arena[begin + roots]
                arena[begin + roots] = v
                roots += 1
            else:
                arena[begin + size + outside] = v
                outside += 1
            visited[v] = stamp + 1
            if roots + outside == wanted:
                break
    return begin + size + outside, cursor


@njit
def probe(edges, remaining, key, sample, arena, head, tail, visited, stamp, scratch):
    """Append all unstamped vertices that reach ``arena[head:tail]`` (procedure Probe); return the new tail.

    Afterwards these vertices and all appended ones are stamped ``stamp``, and no unstamped vertex has a live edge to
    one of them.
    """
    words, starts, child, live = scratch
    vertex, low, high = words[0], words[1], words[2]
    w0, w1, w2, w3 = words[3], words[4], words[5], words[6]
    lengths, metas = words[7], words[8]
    rows, indices, accept, thresholds = edges.rows, edges.indices, edges.accept, edges.thresholds
    skips = len(accept) <= 1
    multirow = len(rows) > len(remaining.dead)
    filled = min(GROUP, tail - head + 64)
    low[:filled] = uint32(uint64(sample) & uint64(0xFFFFFFFF))
    high[:filled] = counter_word(sample, key.tag)
    while head < tail:
        # Read the rows and the first draw of the next members of the queue.
        size = min(GROUP, tail - head)
        if size > filled:
            low[:] = low[0]
            high[:] = high[0]
            filled = GROUP
        for j in range(size):
            v = uint32(arena[head + j])
            vertex[j] = v
            starts[j], lengths[j], metas[j] = rows[v, 0], rows[v, 1], rows[v, 2]
        draw_group(vertex, low, high, key.seed, w0, w1, w2, w3, size)
        # Find the positions of their live edges.
        kids = 0
        for j in range(size):
            start, length = starts[j], lengths[j]
            if edges.lt_kind >= 0:
                product = uint64(w0[j]) * uint64(length)
                child[kids] = start + int64(product >> uint64(32))
                easy = (edges.lt_kind == LT_CASCADE) & (uint32(product & uint64(0xFFFFFFFF)) >= length) & (length > 0)
                if easy and remaining.dead[indices[child[kids]]] == 0:
                    kids += 1
                elif length > 0:
                    chosen = living_choice(edges, remaining, int64(length), start, key, sample, vertex[j])
                    child[kids] = start + chosen
                    kids += int64(chosen >= 0)
            else:
                found = quick_edges(metas[j], length, start, thresholds, skips, w0[j], w1[j], w2[j], w3[j], child, kids)
                if found < 0:
                    found = live_edges(
                        length, metas[j], start, 0, accept, thresholds,
                        key.seed, key.tag, sample, vertex[j], (w0[j], w1[j], w2[j], w3[j]), live,
                    )  # fmt: skip
                    for c in range(found):
                        child[kids + c] = start + int64(live[c])
                kids += found
        # Load the tails of all edges before testing any stamp.
        for c in range(kids):
            child[c] = indices[uint64(child[c])]
        for c in range(kids):
            u = uint32(child[c])
            if visited[u] < stamp:
                visited[u] = stamp
                arena[tail] = u
                tail += 1
        # Under IC, read the further rows of members with several rows.
        if multirow and edges.lt_kind < 0:
            for j in range(size):
                row, base = int64(rows[vertex[j], 3]), 0
                while row > 0:
                    base += CALLS_PER_ROW
                    draws = draw4(key.seed, key.tag, sample, vertex[j], base)
                    found = live_edges(
                        rows[row, 1], rows[row, 2], int64(rows[row, 0]), base, accept, thresholds,
                        key.seed, key.tag, sample, vertex[j], draws, live,
                    )  # fmt: skip
                    for c in range(found):
                        u = indices[int64(rows[row, 0]) + int64(live[c])]
                        if visited[u] < stamp:
                            visited[u] = stamp
                            arena[tail] = u
                            tail += 1
                    row = int64(rows[row, 3])
        head += size
    return tail


@njit
def is_clean(arena, start, size, dead):
    """Return whether no member of a set is active (algorithm 3, lines 8 to 11)."""
    found = np.uint8(0)
    for member in arena[start : start + size]:
        found |= dead[uint32(member)]
    return found == 0


@njit
def finish_set(sets, j, arena, start, known, head, tail, wanted, cursor):
    """Move the ``wanted - known`` roots appended at ``head`` to the front, and store the set's metadata."""
    for i in range(wanted - known):
        arena[head + i], arena[start + known + i] = arena[start + known + i], arena[head + i]
    sets.starts[j], sets.sizes[j], sets.roots[j], sets.cursors[j] = start, tail - start, wanted, cursor


@njit
def update_sets(edges, remaining, key, span, sets, arena, tail, visited, stamp, facts, scratch):
    """Bring the sets begin … end - 1 of a segment up to the current round (algorithms 2 and 5).

    A clean set has no active member; a polluted set has one. A clean set with an unchanged number of roots is only
    read. A clean set that gains roots is searched from the new roots alone. A polluted set is searched again from all
    its roots, with the same coins; it becomes the set that a fresh draw of the same id would give.

    Parameters
    ----------
    edges : InEdges
    remaining : Remaining
    key : Key
    span : Span
    sets : Sets
    arena : int32 array
        Members; written from ``tail`` on. A set needs room for ``2 * remaining.living`` members.
    visited : int32 array, shape (n,)
        ``DEAD`` for active vertices, otherwise the stamp of the last set that contained the vertex.
    stamp : int
        Larger than any stamp in use. A set uses two stamps.
    facts : int64 array, shape (3,)
        Counters, incremented.
    scratch : Scratch

    Returns
    -------
    next, tail, stamp : int
        The first set that is not done (``end``, or less if the arena is too short), and the new tail and stamp.
    """
    n, words = len(remaining.dead), scratch.words
    for j in range(span.begin, span.end):
        if tail + 2 * remaining.living > len(arena):
            return j, tail, stamp
        sample = span.first + j * span.step
        wanted = root_count(remaining.living, remaining.eta, key.seed, key.root_tag, sample)
        known, size, cursor = int64(0), int64(0), int64(0)
        if j < span.have:
            start = sets.starts[j]
            if is_clean(arena, start, sets.sizes[j], remaining.dead):
                if wanted == sets.roots[j]:
                    continue
                # Algorithm 5, lines 9 to 12: a clean set that lacks roots is copied to the tail.
                facts[EXTENDED] += 1
                known, size, cursor = int64(sets.roots[j]), int64(sets.sizes[j]), sets.cursors[j]
                old, copy = arena[start : start + size], arena[tail : tail + size]
                for i in range(size):
                    copy[i] = old[i]
                    visited[uint32(old[i])] = stamp + int64(i < known)
            else:
                facts[POLLUTED] += 1
        # Lines 13 to 16 and 21 to 25: draw the missing roots; a new or polluted set lacks all.
        head = tail + size
        last, cursor = add_roots(arena, tail, known, head, wanted, cursor, n, key, sample, visited, stamp, words)
        known = wanted - (last - head)
        # Lines 17 and 26: search from the roots that came from outside.
        last = probe(edges, remaining, key, sample, arena, head, last, visited, stamp, scratch)
        facts[PROBES] += last - head
        stamp += 2
        # Line 18: roots are the first members.
        finish_set(sets, j, arena, tail, known, head, last, wanted, cursor)
        tail = last
    return int64(span.end), tail, stamp


@njit
def compact(starts, sizes, order, arena):
    """Pack the sets at the beginning of an arena, in ``order``, which is by rising start; return the new tail."""
    tail = int64(0)
    for j in order:
        start = starts[j]
        for i in range(sizes[j]):
            arena[tail + i] = arena[start + i]
        starts[j] = tail
        tail += sizes[j]
    return tail
