"""The live-edge rule: which in-edges of a vertex are live in a sample, the same on every device.

Everything here is scalar integer code, compiled for CPUs and, inside the kernels, for CUDA. A decision depends only on
(seed, stream, round, sample id, vertex). So a set can be drawn again, extended or restricted with the same coins.
"""

import numba
from numba import int64, uint32, uint64

from gpukit.device.philox import draw4, join64

LT_CASCADE, LT_CONSTANT, LT_PREFIX = 0, 1, 2
"""How an LT vertex chooses: uniformly (weighted cascade), by division (constant), by binary search in a prefix sum."""

CALLS_PER_ROW = 256
"""Draw numbers between two rows of a vertex."""

_LOW32 = 0xFFFFFFFF


@numba.njit
def word_of(words, i):
    """Return word i (0 to 3) of a tuple of four."""
    if i < 2:
        return words[0] if i == 0 else words[1]
    return words[2] if i == 2 else words[3]


@numba.njit
def biased(product, size):
    """Return whether Lemire's product ``word * size`` must be redrawn for a result uniform over [0, size)."""
    low = uint32(product & uint64(_LOW32))
    if low >= uint32(size):
        return False
    return low < (uint32(0) - uint32(size)) % uint32(size)


@numba.njit(inline="always")
def _uniform_below(size, words, seed, tag, sample, vertex, draw):
    """Return a number uniform over [0, size) from ``words``, the draw with number ``draw``; a biased one is redrawn."""
    call = draw
    word = 0
    product = uint64(words[0]) * size
    while biased(product, size):
        word += 1
        if word == 4:
            call += 1
            word = 0
            words = draw4(seed, tag, sample, vertex, call)
        product = uint64(word_of(words, word)) * size
    return int64(product >> uint64(32))


@numba.njit
def live_edges(length, meta, start, base, accept, thresholds, seed, tag, sample, vertex, words, out):
    """Write the live edges of one row, as positions in [0, length), to ``out`` and return their number.

    Source: the number of live edges by inversion of the binomial distribution, then distinct positions by Lemire's
    unbiased multiplication ("Fast random integer generation in an interval", ACM TOMACS 2019); repeats are redrawn.

    Parameters
    ----------
    length, meta, start : uint32
        The row (see :func:`gpukit.worlds.tables.build_tables`).
    base : int
        First draw number of the row: 256 times its position among the rows of the vertex.
    accept : uint32 array
        Probability minus one of each edge of the row's kind, or any array where no row needs it.
    thresholds : uint64 array
        The tables.
    seed, tag, sample, vertex
        The key of the draws (see :func:`gpukit.device.philox.draw4`).
    words : tuple of 4 uint32
        The draw at ``base``, which every row needs; a caller may make it for many rows at once.
    out : uint32 array, shape (64,)
        Receives the positions, in no particular order.

    Returns
    -------
    int
        Number of live edges, at most 64.
    """
    kind = uint32(meta) & uint32(255)
    offset = uint32(meta) >> uint32(8)
    size = uint32(length)
    live = 0
    if kind == uint32(0) or kind == uint32(255):
        limit = uint64(thresholds[offset]) if kind == uint32(0) else uint64(0)
        for j in range(size):
            if kind == uint32(255):
                limit = uint64(accept[uint64(start) + uint64(j)]) + uint64(1)
            if limit <= uint64(_LOW32):
                if (j & 3) == 0 and j > 0:
                    words = draw4(seed, tag, sample, vertex, base + (j >> 2))
                if uint64(word_of(words, j & 3)) >= limit:
                    continue
            out[live] = uint32(j)
            live += 1
        return live
    uniform = join64(words[0], words[1])
    if uniform < thresholds[offset]:
        return 0
    chosen = 1
    while chosen < kind and thresholds[offset + uint32(chosen)] <= uniform:
        chosen += 1
    word = 2
    call = base
    distinct = 0
    accepted = uint64(0)
    while distinct < chosen:
        if word == 4:
            call += 1
            word = 0
            words = draw4(seed, tag, sample, vertex, call)
        product = uint64(word_of(words, word)) * uint64(size)
        word += 1
        if biased(product, size):
            continue
        position = uint32(product >> uint64(32))
        repeat = False
        for j in range(distinct):
            if out[j] == position:
                repeat = True
        if repeat:
            continue
        out[distinct] = position
        if len(accept) > 1:
            if word == 4:
                call += 1
                word = 0
                words = draw4(seed, tag, sample, vertex, call)
            if word_of(words, word) <= accept[uint64(start) + uint64(position)]:
                accepted |= uint64(1) << uint64(distinct)
            word += 1
        distinct += 1
    if len(accept) <= 1:
        return distinct
    for j in range(distinct):
        if (accepted >> uint64(j)) & uint64(1):
            out[live] = out[j]
            live += 1
    return live


@numba.njit
def any_live(length, meta, start, base, accept, thresholds, seed, tag, sample, vertex, words, out):
    """Return whether a row has a live edge; takes the arguments, and makes the draws, of :func:`live_edges`."""
    kind = uint32(meta) & uint32(255)
    if kind != uint32(0) and kind != uint32(255):
        none_live = join64(words[0], words[1]) < thresholds[uint32(meta) >> uint32(8)]
        if none_live or len(accept) <= 1:
            return not none_live
    return live_edges(length, meta, start, base, accept, thresholds, seed, tag, sample, vertex, words, out) > 0


@numba.njit
def is_kept(tables, samples, sample, root, words, out):
    """Return whether an in-edge of a root is live, so that its set is not trivial.

    Parameters
    ----------
    tables, samples
        :class:`gpukit.worlds.reverse.SamplerTables` and ``Samples``.
    sample, root : int
        The sample id and its root.
    words : tuple of 4 uint32
        The first draw of the root in this sample.
    out : uint32 array, shape (64,)
        Working space.
    """
    row, draw = root, 0
    start, length = int64(tables.rows[row, 0]), tables.rows[row, 1]
    if tables.lt_kind >= 0:
        chosen = lt_choice(
            tables.lt_kind, int64(length), start, tables.lt_constant, tables.lt_prefix,
            samples.seed, samples.tag, sample, root, 0,
        )  # fmt: skip
        return chosen >= 0
    while True:
        if length > 0:
            if draw > 0:
                words = draw4(samples.seed, samples.tag, sample, root, draw)
            if any_live(
                length, tables.rows[row, 2], start, draw, tables.accept, tables.thresholds,
                samples.seed, samples.tag, sample, root, words, out,
            ):  # fmt: skip
                return True
        row = int64(tables.rows[row, 3])
        if row == 0:
            return False
        start, length = int64(tables.rows[row, 0]), tables.rows[row, 1]
        draw += CALLS_PER_ROW


@numba.njit
def lt_choice(kind, degree, start, constant, prefix, seed, tag, sample, vertex, draw):
    """Return the position in [0, degree) of the one live in-edge of a vertex under LT, or -1 for none.

    Parameters
    ----------
    kind : int
        ``LT_CASCADE``, ``LT_CONSTANT`` or ``LT_PREFIX``.
    degree, start : int
        Number and first index of the in-edges.
    constant : uint64
        32-bit fixed-point weight of every edge, for ``LT_CONSTANT``.
    prefix : uint32 array
        Cumulative 32-bit weights within each row, minus one, for ``LT_PREFIX``.
    seed, tag, sample, vertex
        The key of the draws.
    draw : int
        Number of the first draw: 0, or 256 times the number of choices made before.

    Returns
    -------
    int
        Position of the chosen in-edge, or -1.
    """
    if degree == 0:
        return int64(-1)
    words = draw4(seed, tag, sample, vertex, draw)
    if kind == LT_CASCADE:
        return _uniform_below(uint64(degree), words, seed, tag, sample, vertex, draw)
    uniform = words[0]
    if kind == LT_CONSTANT:
        position = uint64(uniform) // uint64(constant)
        return int64(position) if position < uint64(degree) else int64(-1)
    low, high = start, start + degree
    while low < high:
        middle = (low + high) >> 1
        if prefix[middle] < uniform:
            low = middle + 1
        else:
            high = middle
    return int64(low - start) if low < start + degree else int64(-1)


@numba.njit
def draw_root(n, cumulative, seed, tag, sample):
    """Return the root of a sample: uniform over [0, n), or weighted by ``cumulative``.

    Parameters
    ----------
    n : int
        Number of vertices, at least 1.
    cumulative : uint64 array
        Inclusive prefix sums of integer vertex weights, shape (n,), or shape (0,) for uniform roots.
    seed, tag, sample
        The key of the draws.

    Returns
    -------
    int
        Vertex id.
    """
    words = draw4(seed, tag, sample, 0, 0)
    if len(cumulative) == 0:
        return _uniform_below(uint64(n), words, seed, tag, sample, 0, 0)
    call = 0
    total = uint64(cumulative[n - 1])
    mask = total - uint64(1)
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> uint64(shift)
    value = join64(words[0], words[1]) & mask
    while value >= total:
        call += 1
        words = draw4(seed, tag, sample, 0, call)
        value = join64(words[0], words[1]) & mask
    low, high = int64(0), int64(n) - int64(1)
    while low < high:
        middle = (low + high) >> 1
        if cumulative[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low
