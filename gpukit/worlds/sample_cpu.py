"""Sampling of RR sets on the CPU (Numba). ``sample_cuda.py`` draws the same sets on GPUs.

A batch of sets advances together, level by level: its frontier is one array of (set, element) pairs, so that Philox
calls vectorise and cache misses overlap; a small hash table of pairs tells which elements a set already has. Element
``round * n + v`` stands for vertex v in a round (a single round but for multi-round influence maximisation).
"""

import numba
import numpy as np
from numba import int64, uint32, uint64

from gpukit.device.philox import draw4, join64, philox4x32
from gpukit.worlds.rule import CALLS_PER_ROW, LT_CASCADE, biased, draw_root, live_edges, lt_choice
from gpukit.worlds.tables import DIRECT_EDGES, MAX_LIVE

BATCH = 512
"""Sets that advance together: their pairs and hash table stay in a core's cache."""

GROUP = 256
"""Frontier elements that are expanded together; at most BATCH."""

CHILDREN = 64 * GROUP + 4
"""Room for live edges between two passes over the hash table."""


@numba.njit(nogil=True, cache=True)
def _grown(array, used):
    """Return a copy of the first ``used`` elements with room for twice as many as before."""
    larger = np.empty(2 * len(array), array.dtype)
    larger[:used] = array[:used]
    return larger


@numba.njit(nogil=True, cache=True)
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


@numba.njit(nogil=True, cache=True)
def _rehashed(table, pairs):
    """Return a table with the same keys in which ``pairs`` keys fill at most half of the slots."""
    size = len(table)
    while size < 2 * pairs:
        size *= 4
    larger = np.zeros(size, np.uint64)
    for key in table:
        if key != 0:
            _insert(larger, key)
    return larger


@numba.njit(nogil=True, cache=True)
def draw_group(vertex, low, high, seed, w0, w1, w2, w3, size):
    """Fill ``w0`` … ``w3`` with the first draws of many keys; a loop of its own, so that it vectorises."""
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
    """Write the live edges of a row to ``child[kids:]`` and return their number, or -1 if that takes further draws.

    The common cases of :func:`gpukit.worlds.rule.live_edges` without its branches: a direct row with one threshold,
    and at most two live edges at distinct positions.
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


def make_scratch(rounds: int) -> tuple[np.ndarray, ...]:
    """Return the working space of a worker: made once, because fresh memory costs more than a small batch of sets."""
    pairs = BATCH * max(rounds, 64)
    slots = max(32 * BATCH, 1 << (2 * BATCH * rounds - 1).bit_length())
    return (
        np.empty(pairs, np.int32),
        np.empty(pairs, np.int32),
        np.empty(CHILDREN, np.int32),
        np.zeros(CHILDREN, np.int32),
        np.empty((9, BATCH), np.uint32),
        np.empty(CHILDREN, np.int64),
        np.empty(slots, np.uint64),
    )


@numba.njit(nogil=True, cache=True)
def sample(
    rows, indices, accept, thresholds, lt_kind, lt_constant, lt_prefix,
    roots, n, rounds, seed, tag, root_tag, first, count, counts, scratch,
):  # fmt: skip
    """Draw the RR sets first … first + count - 1.

    Parameters
    ----------
    rows, accept, thresholds
        Sampling tables (:func:`gpukit.worlds.tables.build_tables`); under LT only start and length of each row matter.
    indices
        Tails of the in-edges, in row order.
    lt_kind, lt_constant, lt_prefix
        How a vertex chooses under LT (:func:`gpukit.worlds.rule.lt_choice`); ``lt_kind`` -1 means IC.
    roots : uint64 array
        Prefix sums of root weights, or empty (:func:`gpukit.worlds.rule.draw_root`).
    n, rounds : int
        Vertices, and reverse searches from each root.
    seed, tag, root_tag
        Key of the coins and of the roots.
    first, count : int
        The sample ids.
    counts : int32 array, shape (n * rounds,)
        Occurrence counters, increased by one for every member.
    scratch : tuple of arrays
        Working space of this worker (:func:`make_scratch`).

    Returns
    -------
    offsets : int64 array, shape (count + 1,)
    members : int32 array, shape (offsets[-1],)
        Sets end to end, each in the order of discovery.
    """
    offsets = np.zeros(count + 1, np.int64)
    packed = np.empty(max(1024, 8 * count * rounds), np.int32)
    elements, owners, child_owner, child_shift, words, child, table = scratch
    elements, owners = elements[:], owners[:]
    vertex, low_word, high_word = words[0], words[1], words[2]
    w0, w1, w2, w3 = words[3], words[4], words[5], words[6]
    lengths, metas = words[7], words[8]
    starts = np.empty(GROUP, np.int64)
    more_row, more_item = np.empty(GROUP, np.int64), np.empty(GROUP, np.int64)
    live = np.empty(MAX_LIVE, np.uint32)
    place = np.zeros(BATCH + 1, np.int64)
    skips = len(accept) <= 1
    multirow = len(rows) > n
    total = 0
    for low in range(0, count, BATCH):
        batch = min(BATCH, count - low)
        table[:] = 0
        used = 0
        for i in range(batch):
            vertex[i] = 0
            low_word[i] = uint32(uint64(first + low + i) & uint64(0xFFFFFFFF))
            high_word[i] = counter_word(first + low + i, root_tag)
        draw_group(vertex, low_word, high_word, seed, w0, w1, w2, w3, batch)
        for i in range(batch):
            product = uint64(w0[i]) * uint64(n)
            root = int64(product >> uint64(32))
            if len(roots) > 0 or biased(product, n):
                root = draw_root(n, roots, seed, root_tag, first + low + i)
            for t in range(rounds):
                elements[used] = root + t * n
                owners[used] = i
                _insert(table, uint64(i) << uint64(32) | uint64(root + t * n + 1))
                used += 1
        head = 0
        while head < used:
            size = min(GROUP, used - head)
            for j in range(size):
                v = int64(elements[head + j])
                round_tag = tag
                if rounds > 1:
                    round_tag += v // n << 8
                    v %= n
                vertex[j] = v
                low_word[j] = uint32(uint64(first + low + owners[head + j]) & uint64(0xFFFFFFFF))
                high_word[j] = counter_word(first + low + owners[head + j], round_tag)
                starts[j], lengths[j], metas[j] = rows[v, 0], rows[v, 1], rows[v, 2]
            draw_group(vertex, low_word, high_word, seed, w0, w1, w2, w3, size)
            kids = 0
            waiting = 0
            for j in range(size):
                start, length = starts[j], lengths[j]
                before = kids
                if lt_kind >= 0:
                    product = uint64(w0[j]) * uint64(length)
                    child[kids] = start + int64(product >> uint64(32))
                    if lt_kind == LT_CASCADE and uint32(product & uint64(0xFFFFFFFF)) >= length:
                        kids += int64(length > 0)
                    else:
                        chosen = lt_choice(
                            lt_kind, int64(length), start, lt_constant, lt_prefix,
                            seed, tag + (elements[head + j] // n << 8), first + low + owners[head + j], vertex[j], 0,
                        )  # fmt: skip
                        child[kids] = start + chosen
                        kids += int64(chosen >= 0)
                else:
                    found = quick_edges(
                        metas[j], length, start, thresholds, skips, w0[j], w1[j], w2[j], w3[j], child, kids
                    )
                    if found < 0:
                        found = live_edges(
                            length, metas[j], start, 0, accept, thresholds, seed, tag + (elements[head + j] // n << 8),
                            first + low + owners[head + j], vertex[j], (w0[j], w1[j], w2[j], w3[j]), live,
                        )  # fmt: skip
                        for c in range(found):
                            child[kids + c] = start + int64(live[c])
                    kids += found
                    if multirow and rows[vertex[j], 3] > 0:
                        more_row[waiting] = rows[vertex[j], 3]
                        more_item[waiting] = j
                        waiting += 1
                for c in range(before, kids):
                    child_owner[c] = owners[head + j]
                if rounds > 1:
                    for c in range(before, kids):
                        child_shift[c] = elements[head + j] - int64(vertex[j])
            base = 0
            while True:
                if used + kids > len(elements):
                    elements, owners = _grown(elements, used), _grown(owners, used)
                if 2 * (used + kids) > len(table):
                    table = _rehashed(table, used + kids)
                for c in range(kids):
                    child[c] = int64(indices[child[c]]) + child_shift[c]
                for c in range(kids):
                    if _insert(table, uint64(child_owner[c]) << uint64(32) | uint64(child[c] + 1)):
                        elements[used] = child[c]
                        owners[used] = child_owner[c]
                        used += 1
                if waiting == 0:
                    break
                base += CALLS_PER_ROW
                kids = 0
                remaining = 0
                for i in range(waiting):
                    row, j = more_row[i], more_item[i]
                    start = int64(rows[row, 0])
                    round_tag = tag + (elements[head + j] // n << 8)
                    draws = draw4(seed, round_tag, first + low + owners[head + j], vertex[j], base)
                    found = live_edges(
                        rows[row, 1], rows[row, 2], start, base, accept, thresholds,
                        seed, round_tag, first + low + owners[head + j], vertex[j], draws, live,
                    )  # fmt: skip
                    for c in range(found):
                        child[kids] = start + int64(live[c])
                        child_owner[kids] = owners[head + j]
                        child_shift[kids] = elements[head + j] - int64(vertex[j])
                        kids += 1
                    if rows[row, 3] > 0:
                        more_row[remaining] = rows[row, 3]
                        more_item[remaining] = j
                        remaining += 1
                waiting = remaining
            head += size
        while total + used > len(packed):
            packed = _grown(packed, total)
        place[:] = 0
        for j in range(used):
            place[owners[j] + 1] += 1
            counts[elements[j]] += 1
        place[0] = total
        for i in range(batch):
            place[i + 1] += place[i]
            offsets[low + i + 1] = place[i + 1]
        for j in range(used):
            packed[place[owners[j]]] = elements[j]
            place[owners[j]] += 1
        total += used
    return offsets, packed[:total].copy()
