"""Sampling of RR sets on the CPU (Numba). ``sample_cuda.py`` draws the same sets on GPUs.

A batch of sets advances together, level by level. Its frontier is one array of (set, element) pairs, so that Philox
calls vectorise and cache misses overlap. A small hash table of pairs records which elements a set already has. Element
``round * n + v`` stands for vertex v in a round (a single round except for multi-round influence maximisation).
"""

from collections import namedtuple

import numba
import numpy as np
from numba import int64, uint8, uint32, uint64

from gpukit.device.compiled import njit
from gpukit.device.philox import draw4, join64, philox4x32
from gpukit.worlds.ending_cpu import begin, drop, make_early, next_group, note_member
from gpukit.worlds.rule import CALLS_PER_ROW, LT_CASCADE, biased, draw_root, is_kept, live_edges, lt_choice
from gpukit.worlds.tables import DIRECT_EDGES, MAX_LIVE

BATCH = 512
"""Sets that advance together; their pairs and their hash table fit into a core's cache."""

SINGLETON, LARGER, UNDECIDED = 0, 1, 2
"""Whether a root has a live in-edge: no, yes, or not known from the first row."""

GROUP = 256
"""Frontier elements that are expanded in one group; at most BATCH."""

CHILDREN = 64 * GROUP + 4
"""Capacity for live edges between two passes over the hash table."""


@njit
def _grown(array, used):
    """Return a copy of the first ``used`` elements with twice the capacity of ``array``."""
    states = np.empty(2 * len(array), array.dtype)
    for i in range(used):  # a slice would make Numba compile its error message for unequal lengths
        states[i] = array[i]
    return states


@njit
def _insert(table, key):
    """Insert a nonzero key into an open-addressing table with free slots; return whether it was absent."""
    mask = uint64(len(table) - 1)
    slot = (key * uint64(0x9E3779B97F4A7C15)) >> uint64(32) & mask
    while table[slot] != 0:
        if table[slot] == key:
            return False
        slot = (slot + uint64(1)) & mask
    table[slot] = key
    return True


@njit
def _rehashed(table, pairs):
    """Return a table with the same keys in which ``pairs`` keys fill at most half of the slots."""
    size = len(table)
    while size < 2 * pairs:
        size *= 4
    states = np.zeros(size, np.uint64)
    for key in table:
        if key != 0:
            _insert(states, key)
    return states


@njit
def draw_group(vertex, low, high, seed, w0, w1, w2, w3, size):
    """Fill ``w0`` … ``w3`` with the first draws of many keys; a separate loop, so that it vectorises."""
    k0, k1 = uint32(seed & uint64(0xFFFFFFFF)), uint32(seed >> uint64(32))
    for j in range(size):
        w0[j], w1[j], w2[j], w3[j] = philox4x32(uint32(0), vertex[j], low[j], high[j], k0, k1)


@numba.njit(inline="always")
def counter_word(sample, tag):
    """Return the fourth counter word: bits 32 to 47 of the sample id, the round and the stream."""
    s, t = uint64(sample), uint64(tag)
    return uint32((s >> uint64(32)) | ((t >> uint64(8)) << uint64(16)) | ((t & uint64(0xFF)) << uint64(24)))


@numba.njit(inline="always")
def quick_edges(meta, length, start, thresholds, skips, w0, w1, w2, w3, child, kids):
    """Write the live edges of a row to ``child[kids:]`` and return their number, or -1 if more draws are needed.

    This handles the common cases of :func:`gpukit.worlds.rule.live_edges` without its branches: a direct row with one
    threshold; and a row with at most two live edges, at distinct positions.
    """
    kind, offset = meta & uint32(255), meta >> uint32(8)
    found = int64(-1)
    if kind == 0 and length <= DIRECT_EDGES:
        limit = thresholds[offset]
        found = int64(0)
        child[kids] = start
        found += int64(length > 0) & int64(uint64(w0) < limit)
        child[kids + found] = start + 1
        found += int64(length > 1) & int64(uint64(w1) < limit)
        child[kids + found] = start + 2
        found += int64(length > 2) & int64(uint64(w2) < limit)
        child[kids + found] = start + 3
        found += int64(length > 3) & int64(uint64(w3) < limit)
    elif kind > 2 and skips:
        uniform = join64(w0, w1)
        chosen = (
            int64(thresholds[offset] <= uniform)
            + int64(thresholds[offset + uint32(1)] <= uniform)
            + int64(thresholds[offset + uint32(2)] <= uniform)
        )
        one, two = uint64(w2) * uint64(length), uint64(w3) * uint64(length)
        child[kids] = start + int64(one >> uint64(32))
        child[kids + 1] = start + int64(two >> uint64(32))
        easy = (
            (chosen <= 2)
            & (child[kids] != child[kids + 1])
            & (uint32(one & uint64(0xFFFFFFFF)) >= length)
            & (uint32(two & uint64(0xFFFFFFFF)) >= length)
        )
        found = chosen if easy else int64(-1)
    return found


class Scratch(namedtuple("Scratch", "elements owners child_owner child_shift words child table")):
    """Working space of a worker.

    Attributes
    ----------
    elements, owners : int32 arrays
        The pairs of a batch in the order of discovery: an element, and its set among those of the batch.
    child_owner, child_shift : int32 arrays, child : int64 array, shape (CHILDREN,)
        Live edges to be followed: the set, ``round * n``, and the edge, which its tail replaces later.
    words : uint32 array, shape (9, BATCH)
        The arrays of :class:`_Group`.
    table : uint64 array
        Hash table of pairs, ``owner << 32 | element + 1``.
    """


class _Group(namedtuple("_Group", "vertex low high w0 w1 w2 w3 lengths metas starts")):
    """Frontier elements that are expanded in one group: the keys of their draws, the draws, and their rows."""


class _Children(namedtuple("_Children", "owner shift edge live")):
    """Live edges of a group, and working space for those of one row."""


class _Starts(namedtuple("_Starts", "roots ids limits states")):
    """Roots and ids of upcoming sets. Of examined ids: thresholds, and whether the root has a live in-edge."""


class _More(namedtuple("_More", "row item")):
    """Vertices of a group with further rows: the next row, and the position in the group."""


def make_scratch(rounds: int) -> Scratch:
    """Return a worker's working space; it is reused, because fresh memory costs more than a small batch of sets."""
    pairs = BATCH * max(rounds, 64)
    slots = max(32 * BATCH, 1 << (2 * BATCH * rounds - 1).bit_length())
    return Scratch(
        elements=np.empty(pairs, np.int32),
        owners=np.empty(pairs, np.int32),
        child_owner=np.empty(CHILDREN, np.int32),
        child_shift=np.zeros(CHILDREN, np.int32),
        words=np.empty((9, BATCH), np.uint32),
        child=np.empty(CHILDREN, np.int64),
        table=np.empty(slots, np.uint64),
    )


@njit
def _draw_roots(tables, samples, low, size, group, child):
    """Draw the roots of samples low … low + size - 1 and write them to ``child`` (algorithm 3, line 2)."""
    first, n, roots = samples.first + low, tables.n, tables.roots
    vertex, low_word, high_word, w0 = group.vertex, group.low, group.high, group.w0
    for i in range(size):
        vertex[i] = 0
        low_word[i] = uint32(uint64(first + i) & uint64(0xFFFFFFFF))
        high_word[i] = counter_word(first + i, samples.root_tag)
    draw_group(vertex, low_word, high_word, samples.seed, w0, group.w1, group.w2, group.w3, size)
    for i in range(size):
        product = uint64(w0[i]) * uint64(n)
        root = int64(product >> uint64(32))
        if len(roots) > 0 or biased(product, n):
            root = draw_root(n, roots, samples.seed, samples.root_tag, first + i)
        child[i] = root


@njit
def _keep(tables, samples, low, size, group, child, live, starts, coming):
    """Append the samples of low … low + size - 1 that are not trivial to the upcoming sets.

    Returns the new number of upcoming sets. Their roots and ids are stored. Separate loops read memory, compute, and
    handle the few samples that are left, so that these steps do not wait for each other.
    """
    first, vertex, low_word, high_word = samples.first + low, group.vertex, group.low, group.high
    w0, w1, w2, w3 = group.w0, group.w1, group.w2, group.w3
    for i in range(size):
        vertex[i] = child[i]
        high_word[i] = counter_word(first + i, samples.tag)
    draw_group(vertex, low_word, high_word, samples.seed, w0, w1, w2, w3, size)
    rows, thresholds, lengths, metas, limits = tables.rows, tables.thresholds, group.lengths, group.metas, starts.limits
    for i in range(size):
        root = uint64(child[i])
        lengths[i], metas[i] = rows[root, 1], rows[root, 2] & uint32(255) | uint32(rows[root, 3] > 0) << uint32(8)
        limits[i] = thresholds[rows[root, 2] >> uint32(8)]
    states, roots, ids = starts.states, starts.roots, starts.ids
    if tables.lt_kind >= 0:
        sure = tables.lt_kind == LT_CASCADE
        for i in range(size):
            states[i] = (LARGER if sure else UNDECIDED) if lengths[i] > 0 else SINGLETON
    else:
        _first_rows(lengths, metas, limits, w0, w1, w2, w3, len(tables.accept) <= 1, states, size)
    for i in range(size):
        if states[i] != SINGLETON:
            root = int64(child[i])
            words = (w0[i], w1[i], w2[i], w3[i])
            if states[i] == LARGER or is_kept(tables, samples, first + i, root, words, live):
                roots[coming], ids[coming] = root, low + i
                coming += 1
    return coming


@njit
def _first_rows(lengths, metas, limits, w0, w1, w2, w3, skips, states, size):
    """Set ``states``: whether the first row of each root has a live edge.

    Bit 8 of ``metas`` says whether there are more rows. This is a separate loop, so that it vectorises.
    """
    for i in range(size):
        length, limit, kind = lengths[i], limits[i], metas[i] & uint32(255)
        direct = uint8(kind == uint32(0))
        edges = (
            uint8(length > uint32(0)) & uint8(uint64(w0[i]) < limit)
            | uint8(length > uint32(1)) & uint8(uint64(w1[i]) < limit)
            | uint8(length > uint32(2)) & uint8(uint64(w2[i]) < limit)
            | uint8(length > uint32(3)) & uint8(uint64(w3[i]) < limit)
        )
        drawn = uint8(join64(w0[i], w1[i]) >= limit)
        live = direct & edges | (uint8(1) - direct) & drawn
        long = direct & uint8(length > uint32(DIRECT_EDGES))
        sure = live & (direct | uint8(skips))
        more = live | long | uint8(kind == uint32(255)) | uint8(metas[i] > uint32(255))
        states[i] = sure * uint8(LARGER) + (uint8(1) - sure) * more * uint8(UNDECIDED)


@njit
def _start_sets(tables, samples, low, coming, group, children, starts, elements, owners, table):
    """Start a batch; return numbers of pairs, of sets, of upcoming sets including these, and the next id to examine.

    This is algorithm 3, lines 1 to 7. Afterwards the roots, once for each round, are in the queue and the table, and
    ``starts`` has the ids of the sets, relative to the first id.
    """
    n, rounds, child, roots, ids = tables.n, tables.rounds, children.edge, starts.roots, starts.ids
    while coming < BATCH and low < samples.size:
        size = min(BATCH if samples.kept else BATCH - coming, samples.size - low)
        _draw_roots(tables, samples, low, size, group, child)
        if samples.kept:
            coming = _keep(tables, samples, low, size, group, child, children.live, starts, coming)
        else:
            for i in range(size):
                roots[coming + i], ids[coming + i] = child[i], low + i
            coming += size
        low += size
    batch, used = min(BATCH, coming), 0
    for i in range(batch):
        for t in range(rounds):
            elements[used] = roots[i] + t * n
            owners[used] = i
            _insert(table, uint64(i) << uint64(32) | uint64(roots[i] + t * n + 1))
            used += 1
    return used, batch, coming, low


@njit
def _next_sets(starts, batch, coming):
    """Remove the sets of the batch from the upcoming sets and move the rest to the front; return how many are left."""
    roots, ids = starts.roots, starts.ids
    for i in range(batch, coming):
        roots[i - batch], ids[i - batch] = roots[i], ids[i]
    return coming - batch


@njit
def _draw(tables, samples, ids, elements, owners, size, group):
    """Make the first draws of ``size`` elements; afterwards the group has these draws and the elements' first rows."""
    rows, first, vertex, low_word, high_word = tables.rows, samples.first, group.vertex, group.low, group.high
    starts, lengths, metas = group.starts, group.lengths, group.metas
    for j in range(size):
        v = int64(elements[j])
        round_tag = samples.tag
        if tables.rounds > 1:
            round_tag += v // tables.n << 8
            v %= tables.n
        sample_id = first + ids[owners[j]]
        vertex[j] = v
        low_word[j] = uint32(uint64(sample_id) & uint64(0xFFFFFFFF))
        high_word[j] = counter_word(sample_id, round_tag)
        starts[j], lengths[j], metas[j] = rows[v, 0], rows[v, 1], rows[v, 2]
    draw_group(vertex, low_word, high_word, samples.seed, group.w0, group.w1, group.w2, group.w3, size)


@njit
def _expand(tables, samples, ids, elements, owners, size, group, children, more):
    """Expand a group; return the number of its children, and the number of its elements with further rows.

    This is algorithm 3, lines 15 to 19 (section 3.7 under LT), without a draw for each edge that is not live.
    Afterwards the children are the live in-edges in the first row of each element.
    """
    # Local names for arrays: Numba counts references for an array that is looked up inside a loop.
    rows, accept, thresholds, lt_prefix = tables.rows, tables.accept, tables.thresholds, tables.lt_prefix
    n, rounds, lt_kind, seed, first = tables.n, tables.rounds, tables.lt_kind, samples.seed, samples.first
    vertex, starts, lengths, metas = group.vertex, group.starts, group.lengths, group.metas
    w0, w1, w2, w3 = group.w0, group.w1, group.w2, group.w3
    owner, shift, edge, live = children.owner, children.shift, children.edge, children.live
    more_row, more_item = more.row, more.item
    skips, multirow = len(accept) <= 1, len(rows) > n
    kids = waiting = 0
    for j in range(size):
        start, length = starts[j], lengths[j]
        before = kids
        if lt_kind >= 0:
            product = uint64(w0[j]) * uint64(length)
            edge[kids] = start + int64(product >> uint64(32))
            if lt_kind == LT_CASCADE and uint32(product & uint64(0xFFFFFFFF)) >= length:
                kids += int64(length > 0)
            else:
                chosen = lt_choice(
                    lt_kind, int64(length), start, tables.lt_constant, lt_prefix, seed,
                    samples.tag + (elements[j] // n << 8), first + ids[owners[j]], int64(vertex[j]), 0,
                )  # fmt: skip
                edge[kids] = start + chosen
                kids += int64(chosen >= 0)
        else:
            found = quick_edges(metas[j], length, start, thresholds, skips, w0[j], w1[j], w2[j], w3[j], edge, kids)
            if found < 0:
                found = live_edges(
                    length, metas[j], start, 0, accept, thresholds, seed,
                    samples.tag + (elements[j] // n << 8), first + ids[owners[j]], int64(vertex[j]),
                    (w0[j], w1[j], w2[j], w3[j]), live,
                )  # fmt: skip
                for c in range(found):
                    edge[kids + c] = start + int64(live[c])
            kids += found
            if multirow and rows[vertex[j], 3] > 0:
                more_row[waiting] = rows[vertex[j], 3]
                more_item[waiting] = j
                waiting += 1
        for c in range(before, kids):
            owner[c] = owners[j]
        if rounds > 1:
            for c in range(before, kids):
                shift[c] = elements[j] - int64(vertex[j])
    return kids, waiting


@njit
def _expand_further(tables, samples, ids, elements, owners, waiting, base, group, children, more):
    """Expand the next row of each element that has one; return the same as :func:`_expand`."""
    rows, accept, thresholds, vertex = tables.rows, tables.accept, tables.thresholds, group.vertex
    owner, shift, edge, live = children.owner, children.shift, children.edge, children.live
    more_row, more_item = more.row, more.item
    kids = remaining = 0
    for i in range(waiting):
        row, j = more_row[i], more_item[i]
        start = int64(rows[row, 0])
        round_tag = samples.tag + (elements[j] // tables.n << 8)
        sample_id = samples.first + ids[owners[j]]
        draws = draw4(samples.seed, round_tag, sample_id, vertex[j], base)
        found = live_edges(
            rows[row, 1], rows[row, 2], start, base, accept, thresholds,
            samples.seed, round_tag, sample_id, int64(vertex[j]), draws, live,
        )  # fmt: skip
        for c in range(found):
            edge[kids] = start + int64(live[c])
            owner[kids] = owners[j]
            shift[kids] = elements[j] - int64(vertex[j])
            kids += 1
        if rows[row, 3] > 0:
            more_row[remaining] = rows[row, 3]
            more_item[remaining] = j
            remaining += 1
    return kids, remaining


@njit
def _follow(tables, samples, children, kids, elements, owners, used, table, link, early):
    """Follow the live edges; return the new number of pairs (algorithm 3, lines 19 to 21, with the root visited).

    Afterwards the tails that were not in a set yet are in the set and in the queue.
    """
    indices, child, owner, shift = tables.indices, children.edge, children.owner, children.shift
    for c in range(kids):
        child[c] = int64(indices[child[c]]) + shift[c]
    if len(samples.marks) > 0:
        for c in range(kids):
            if not early.over[owner[c]]:
                if _insert(table, uint64(owner[c]) << uint64(32) | uint64(child[c] + 1)):
                    elements[used] = child[c]
                    owners[used] = owner[c]
                    used += 1
                    note_member(samples, elements[used - 1], owner[c], used - 1, link, early)
        return used
    for c in range(kids):
        if _insert(table, uint64(owner[c]) << uint64(32) | uint64(child[c] + 1)):
            elements[used] = child[c]
            owners[used] = owner[c]
            used += 1
    return used


@njit
def _pack(elements, owners, used, batch, total, offsets, packed, place, counts):
    """Pack the sets of a batch, concatenated from ``total`` on (algorithm 6, lines 3 to 11; algorithm 3, line 13)."""
    place[:] = 0
    for j in range(used):
        place[owners[j] + 1] += 1
        counts[elements[j]] += 1
    place[0] = total
    for i in range(batch):
        place[i + 1] += place[i]
        offsets[i + 1] = place[i + 1]
    for j in range(used):
        packed[place[owners[j]]] = elements[j]
        place[owners[j]] += 1


@njit
def sample(tables, samples, counts, scratch):
    """Draw RR sets; if ``samples.kept``, only those that are not trivial.

    Parameters
    ----------
    tables : gpukit.worlds.reverse.SamplerTables
    samples : gpukit.worlds.reverse.Samples
    counts : int32 array, shape (n * rounds,)
        Occurrence counters, increased by one for every member.
    scratch : Scratch
        Working space of this worker (:func:`make_scratch`).

    Returns
    -------
    offsets : int64 array, shape (sets + 1,)
    members : int32 array, shape (offsets[-1],)
        The sets, concatenated, each in the order of discovery.
    """
    expected = min(samples.size, 1 << 16) if samples.kept else samples.size
    offsets = np.zeros(expected + 1, np.int64)
    packed = np.empty(max(1024, 8 * expected * tables.rounds), np.int32)
    elements, owners, table, words = scratch.elements[:], scratch.owners[:], scratch.table, scratch.words
    group = _Group(
        words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7], words[8],
        np.empty(GROUP, np.int64),
    )  # fmt: skip
    children = _Children(scratch.child_owner, scratch.child_shift, scratch.child, np.empty(MAX_LIVE, np.uint32))
    more = _More(np.empty(GROUP, np.int64), np.empty(GROUP, np.int64))
    place = np.zeros(BATCH + 1, np.int64)
    total = 0
    starts = _Starts(
        np.empty(2 * BATCH, np.int64), np.empty(2 * BATCH, np.int64), np.empty(BATCH, np.uint64),
        np.empty(BATCH, np.uint8),
    )  # fmt: skip
    ids = starts.ids
    may_end = len(samples.marks) > 0
    early = make_early(BATCH, GROUP)
    link = np.empty(len(elements) if may_end else 0, np.int32)
    low = sets = coming = 0
    while low < samples.size or coming > 0:
        table[:] = 0
        used, batch, coming, low = _start_sets(
            tables, samples, low, coming, group, children, starts, elements, owners, table
        )
        if may_end:
            begin(samples, elements, owners, used, link, early)
        head = 0
        while True:
            if may_end:
                front, front_owners = early.elements, early.owners
                size = next_group(elements, owners, link, GROUP, early)
            else:
                front, front_owners = elements[head:], owners[head:]
                size = min(GROUP, used - head)
                head += size
            if size == 0:
                break
            _draw(tables, samples, ids, front, front_owners, size, group)
            kids, waiting = _expand(tables, samples, ids, front, front_owners, size, group, children, more)
            base = 0
            while True:
                if used + kids > len(elements):
                    elements, owners = _grown(elements, used), _grown(owners, used)
                    if may_end:
                        link = _grown(link, used)
                if 2 * (used + kids) > len(table):
                    table = _rehashed(table, used + kids)
                used = _follow(tables, samples, children, kids, elements, owners, used, table, link, early)
                if waiting == 0:
                    break
                base += CALLS_PER_ROW
                kids, waiting = _expand_further(
                    tables, samples, ids, front, front_owners, waiting, base, group, children, more
                )
        if may_end:
            used = drop(samples, elements, owners, used, batch, early.over)
        while total + used > len(packed):
            packed = _grown(packed, total)
        while sets + batch >= len(offsets):
            offsets = _grown(offsets, sets + 1)
        _pack(elements, owners, used, batch, total, offsets[sets:], packed, place, counts)
        total += used
        sets += batch
        coming = _next_sets(starts, batch, coming)
    return offsets[: sets + 1].copy(), packed[:total].copy()
