"""Kernels of ranking, indexing and walking on the CPU (Numba); the kernel of a query is in ``query_cpu.py``.

All sums are of integers, so that neither order nor number of threads can change them.
"""

import numba
import numpy as np
from numba import int64, uint32, uint64

from gpukit.device.philox import draw4

_REDRAWS = 1 << 31


@numba.njit(inline="always")
def passed_on(amount, go_on):
    """Return ⌊amount · go_on / 2**32⌋: what a vertex passes on of ``amount`` units, exact in 64 bits."""
    high = (amount >> uint64(32)) * go_on
    low = ((amount & uint64(0xFFFFFFFF)) * go_on) >> uint64(32)
    return high + low


@numba.njit(inline="always")
def part_of(amount, chance):
    """Return ⌊amount · chance / 2**64⌋ for amounts below 2**62, exact in 64 bits."""
    low = uint64(0xFFFFFFFF)
    amount_high, amount_low = amount >> uint64(32), amount & low
    chance_high, chance_low = chance >> uint64(32), chance & low
    # Below 2**30 · 2**32 + 2**32 + 2**32: no sum overflows.
    middle = amount_high * chance_low + ((amount_low * chance_low) >> uint64(32))
    carried = amount_low * chance_high + (middle & low)
    return amount_high * chance_high + (middle >> uint64(32)) + (carried >> uint64(32))


@numba.njit
def passed_up_to(amount, chances, edge, last):
    """Return how much of ``amount`` (int64) takes the edges of a row up to ``edge``; the last one takes the rest."""
    if edge == last:
        return amount
    return int64(part_of(uint64(amount), chances[edge]))


@numba.njit(nogil=True, cache=True, parallel=True)
def rank_round(indptr, in_indptr, in_indices, go_on, rest, share, rank):
    """Push all mass once: add what stays to ``rank``, leave what arrives in ``rest``.

    Parameters
    ----------
    indptr, in_indptr, in_indices
        Row starts of the out-edges, and the transpose.
    go_on : uint64
        Probability of going on, in units of 2**-32.
    rest, share, rank : uint64 arrays, shape (n,)
        Mass to push; room for what each out-edge takes; PageRank so far.
    """
    n = len(indptr) - 1
    for v in numba.prange(n):
        degree = uint64(indptr[v + 1] - indptr[v])
        share[v] = uint64(0)
        if degree > 0:
            share[v] = passed_on(rest[v], go_on) // degree
        rank[v] += rest[v] - degree * share[v]
    for v in numba.prange(n):
        total = uint64(0)
        for e in range(in_indptr[v], in_indptr[v + 1]):
            total += share[in_indices[e]]
        rest[v] = total


@numba.njit(nogil=True, cache=True, parallel=True)
def weighted_rank_round(indptr, in_indptr, places, chances, go_on, rest, flow, rank):
    """Do what :func:`rank_round` does, along weighted edges.

    Parameters
    ----------
    indptr, in_indptr : int64 arrays, shape (n + 1,)
    places : uint32 array, shape (m,)
        Where each in-edge stands among the out-edges.
    chances : uint64 array, shape (m,)
        See :func:`gpukit.kpar.weights.edge_chances`.
    flow : uint64 array, shape (m,)
        Room for what each out-edge takes.
    go_on, rest, rank
        As there.
    """
    n = len(indptr) - 1
    for v in numba.prange(n):
        passed = before = int64(0)
        if indptr[v + 1] > indptr[v]:
            passed = int64(passed_on(rest[v], go_on))
        for e in range(indptr[v], indptr[v + 1]):
            reach = passed_up_to(passed, chances, e, indptr[v + 1] - 1)
            flow[e] = uint64(reach - before)
            before = reach
        rank[v] += rest[v] - uint64(passed)
    for v in numba.prange(n):
        total = uint64(0)
        for i in range(in_indptr[v], in_indptr[v + 1]):
            total += flow[places[i]]
        rest[v] = total


@numba.njit(inline="always")
def walk_end(indptr, indices, go_on, seed, tag, walk, vertex):
    """Return where a walk from ``vertex`` ends.

    Step t uses words 2(t mod 2) and 2(t mod 2) + 1 of call t/2 at (tag, walk, vertex): one to stop, one to choose. A
    choice that Lemire's test rejects is drawn again from calls at 2**31 + t.
    """
    here = int64(vertex)
    step = 0
    w0, w1, w2, w3 = uint32(0), uint32(0), uint32(0), uint32(0)
    while True:
        start = indptr[here]
        degree = uint64(indptr[here + 1] - start)
        if degree == 0:
            return here
        if step & 1 == 0:
            w0, w1, w2, w3 = draw4(seed, tag, walk, vertex, step >> 1)
        else:
            w0, w1 = w2, w3
        if uint64(w0) >= go_on:
            return here
        product = uint64(w1) * degree
        low = product & uint64(0xFFFFFFFF)
        if low < degree:
            least = (uint64(1) << uint64(32)) % degree
            again = 0
            while low < least:
                r0, r1, r2, r3 = draw4(seed, tag, walk, vertex, _REDRAWS + step + (again << 16))
                product = uint64(r0) * degree
                low = product & uint64(0xFFFFFFFF)
                again += 1
        here = int64(indices[start + int64(product >> uint64(32))])
        step += 1


@numba.njit
def weighted_walk_end(indptr, indices, chances, go_on, seed, tag, walk, vertex):
    """Return where a walk from ``vertex`` along weighted edges ends: step t uses three words of call t."""
    here = int64(vertex)
    step = 0
    while True:
        first, last = indptr[here], indptr[here + 1] - 1
        if last < first:
            return here
        w0, w1, w2, _ = draw4(seed, tag, walk, vertex, step)
        if uint64(w0) >= go_on:
            return here
        choice = (uint64(w1) << uint64(32)) | uint64(w2)
        while first < last:
            middle = (first + last) >> 1
            if choice < chances[middle]:
                last = middle
            else:
                first = middle + 1
        here = int64(indices[first])
        step += 1


@numba.njit
def any_walk_end(indptr, indices, chances, go_on, seed, tag, walk, vertex):
    """Return where a walk from ``vertex`` ends; edges count alike where ``chances`` is None."""
    if chances is None:
        return walk_end(indptr, indices, go_on, seed, tag, walk, vertex)
    return weighted_walk_end(indptr, indices, chances, go_on, seed, tag, walk, vertex)


@numba.njit(nogil=True, cache=True)
def walk_rows(indptr, indices, chances, go_on, seed, tag, walks, places, first, last, ends, freqs, lengths):
    """Draw all walks of the vertices first … last - 1 and count where they end.

    Parameters
    ----------
    indptr, indices, chances, go_on, seed, tag
        The graph, the chances of its edges or None, the probability of going on, and the stream.
    walks : uint32 array, shape (n,)
        Walks of each vertex.
    places : int64 array, shape (n + 1,)
        Where each vertex may write in ``ends`` and ``freqs``: prefix sums of ``walks``.
    ends, freqs : int32 and uint32 arrays
        Receive the distinct ends of each vertex, ascending, and how many walks end there.
    lengths : int64 array, shape (n,)
        Receives the number of distinct ends.
    """
    most = 0
    for v in range(first, last):
        most = max(most, int64(walks[v]))
    found = np.empty(most, np.int32)
    for v in range(first, last):
        count = int64(walks[v])
        for j in range(count):
            found[j] = any_walk_end(indptr, indices, chances, go_on, seed, tag, j, v)
        if count > 24:
            found[:count].sort()
        else:
            for i in range(1, count):
                moving = found[i]
                j = i - 1
                while j >= 0 and found[j] > moving:
                    found[j + 1] = found[j]
                    j -= 1
                found[j + 1] = moving
        place = places[v] - 1
        previous = -1
        for j in range(count):
            if found[j] != previous:
                previous = found[j]
                place += 1
                ends[place] = previous
                freqs[place] = 0
            freqs[place] += uint32(1)
        lengths[v] = place + 1 - places[v]


@numba.njit(nogil=True, cache=True)
def walk_arrivals(indptr, indices, chances, go_on, seed, tag, walks, first, last, arrivals):
    """Count in ``arrivals`` (int64, n) where the walks of the vertices first … last - 1 end, and keep nothing else."""
    for v in range(first, last):
        for j in range(int64(walks[v])):
            arrivals[any_walk_end(indptr, indices, chances, go_on, seed, tag, j, v)] += 1


@numba.njit(nogil=True, cache=True)
def pack_rows(places, lengths, row_begin, ends, freqs, packed_ends, packed_freqs):
    """Copy rows with gaps between them (from ``places``) end to end (from ``row_begin``)."""
    for v in range(len(lengths)):
        shift = places[v] - row_begin[v]
        for i in range(row_begin[v], row_begin[v + 1]):
            packed_ends[i] = ends[i + shift]
            packed_freqs[i] = freqs[i + shift]


@numba.njit(nogil=True, cache=True)
def invert_rows(n, row_begin, ends, freqs):
    """Return the doubled CSR of forward rows: start lists of each end, frequent starts first, both parts ascending.

    Returns
    -------
    src_begin : int64 array, shape (n + 1,)
    starts : int32 array
    frequent_begin : int64 array, shape (n + 1,)
    frequencies : uint32 array
        Of the frequent starts only, those with more than one walk.
    arrivals : int64 array, shape (n,)
        ω_I: walks that end at each vertex.
    """
    src_begin, frequent_begin = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    arrivals = np.zeros(n, np.int64)
    for i in range(len(ends)):
        src_begin[ends[i] + 1] += 1
        arrivals[ends[i]] += int64(freqs[i])
        if freqs[i] > 1:
            frequent_begin[ends[i] + 1] += 1
    for t in range(n):
        src_begin[t + 1] += src_begin[t]
        frequent_begin[t + 1] += frequent_begin[t]
    starts = np.empty(len(ends), np.int32)
    frequencies = np.empty(frequent_begin[n], np.uint32)
    often = frequent_begin[:n].copy()
    once = np.empty(n, np.int64)
    for t in range(n):
        once[t] = src_begin[t] + frequent_begin[t + 1] - frequent_begin[t]
    for v in range(n):
        for i in range(row_begin[v], row_begin[v + 1]):
            t = ends[i]
            if freqs[i] > 1:
                frequencies[often[t]] = freqs[i]
                starts[src_begin[t] + often[t] - frequent_begin[t]] = v
                often[t] += 1
            else:
                starts[once[t]] = v
                once[t] += 1
    return src_begin, starts, frequent_begin, frequencies, arrivals


@numba.njit(nogil=True, cache=True)
def forward_rows(n, src_begin, starts, frequent_begin, frequencies):
    """Return the forward rows of a doubled CSR: row starts (int64, n + 1), ends (int32), frequencies (uint32)."""
    row_begin = np.zeros(n + 1, np.int64)
    for i in range(len(starts)):
        row_begin[starts[i] + 1] += 1
    for v in range(n):
        row_begin[v + 1] += row_begin[v]
    ends, freqs = np.empty(len(starts), np.int32), np.empty(len(starts), np.uint32)
    place = row_begin[:n].copy()
    for t in range(n):
        often = frequent_begin[t + 1] - frequent_begin[t]
        for i in range(src_begin[t], src_begin[t + 1]):
            v = starts[i]
            j = i - src_begin[t]
            ends[place[v]] = t
            freqs[place[v]] = frequencies[frequent_begin[t] + j] if j < often else uint32(1)
            place[v] += 1
    return row_begin, ends, freqs
