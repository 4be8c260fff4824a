"""Kernels of the index of inverted walks on the CPU (Numba); ``index_cuda.py`` makes the same on GPUs."""

import numpy as np
from numba import int64, uint32

from gpukit.device.compiled import njit
from gpukit.kpar.rule import any_walk_end


@njit
def _tally(found, count, place, ends, freqs):
    """Sort the first ``count`` ends, and write the distinct ones and how often each is there from ``place`` on.

    Returns
    -------
    int
        How many are distinct.
    """
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
    last = place - 1
    previous = -1
    for j in range(count):
        if found[j] != previous:
            previous = found[j]
            last += 1
            ends[last] = previous
            freqs[last] = 0
        freqs[last] += uint32(1)
    return last + 1 - place


@njit
def rows_of_ends(found, places, first, last, ends, freqs, lengths):
    """Write what :func:`walk_rows` does, given where the walks end (``found``, from ``places`` on); sorts ``found``."""
    for v in range(first, last):
        low, high = places[v], places[v + 1]
        lengths[v] = _tally(found[low:high], high - low, low, ends, freqs)


@njit
def walk_rows(edges, chances, seed, tag, walks, places, first, last, ends, freqs, lengths):
    """Draw all walks of the vertices first … last - 1 and count where they end.

    Parameters
    ----------
    edges : gpukit.kpar.groups.Edges
    chances, seed, tag
        The chances of the edges or None, and the stream.
    walks : uint32 array, shape (n,)
        Walks of each vertex.
    places : int64 array, shape (n + 1,)
        Where each vertex may write in ``ends`` and ``freqs``: prefix sums of ``walks``.
    ends, freqs : int32 and uint32 arrays
        Receive the distinct ends of each vertex, ascending, and how many walks end there.
    lengths : int64 array, shape (n,)
        Receives the number of distinct ends.
    """
    indptr, indices, one_minus_alpha = edges
    walks_max = 0
    for v in range(first, last):
        walks_max = max(walks_max, int64(walks[v]))
    found = np.empty(walks_max, np.int32)
    for v in range(first, last):
        count = int64(walks[v])
        for j in range(count):
            found[j] = any_walk_end(indptr, indices, chances, one_minus_alpha, seed, tag, j, v)
        lengths[v] = _tally(found, count, places[v], ends, freqs)


@njit
def walk_arrivals(edges, chances, seed, tag, walks, first, last, arrivals):
    """Count in ``arrivals`` (int64, n) where the walks of the vertices first … last - 1 end, and keep nothing else."""
    indptr, indices, one_minus_alpha = edges
    for v in range(first, last):
        for j in range(int64(walks[v])):
            arrivals[any_walk_end(indptr, indices, chances, one_minus_alpha, seed, tag, j, v)] += 1


@njit
def pack_rows(places, lengths, row_begin, ends, freqs, packed_ends, packed_freqs):
    """Copy rows with gaps between them (from ``places``) end to end (from ``row_begin``)."""
    for v in range(len(lengths)):
        shift = places[v] - row_begin[v]
        for i in range(row_begin[v], row_begin[v + 1]):
            packed_ends[i] = ends[i + shift]
            packed_freqs[i] = freqs[i + shift]


@njit
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


@njit
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
