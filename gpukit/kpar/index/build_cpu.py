"""Kernels for the index of inverted walks on the CPU (Numba); ``build_cuda.py`` makes the same index on GPUs."""

import numba
import numpy as np
from numba import int64, uint32

from gpukit.device.compiled import njit
from gpukit.graph.kernels import in_parts, rows_by_edges, transpose_rows
from gpukit.kpar.rule import any_walk_end


@njit
def _tally(found, count, place, ends, freqs):
    """Sort the first ``count`` ends, and write the distinct ones and their frequencies from ``place`` on.

    Returns
    -------
    int
        Number of distinct ends.
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
    """Do the same as :func:`walk_rows`, given the ends of walks (``found``, from ``places`` on); sorts ``found``."""
    for v in range(first, last):
        low, high = places[v], places[v + 1]
        lengths[v] = _tally(found[low:high], high - low, low, ends, freqs)


@njit
def walk_rows(edges, chances, seed, tag, walks, places, first, last, ends, freqs, lengths):
    """Draw all walks of the vertices first … last - 1 and count the walks per end.

    Parameters
    ----------
    edges : gpukit.kpar.groups.Edges
    chances, seed, tag
        The chances of the edges or None, and the stream.
    walks : uint32 array, shape (n,)
        Walks of each vertex.
    places : int64 array, shape (n + 1,)
        Where each vertex writes in ``ends`` and ``freqs``: prefix sums of ``walks``.
    ends, freqs : int32 and uint32 arrays
        Receive the distinct ends of each vertex, ascending, and the number of walks that end there.
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
    """Count in ``arrivals`` (int64, n) the ends of the walks of vertices first … last - 1, and store nothing else."""
    indptr, indices, one_minus_alpha = edges
    for v in range(first, last):
        for j in range(int64(walks[v])):
            arrivals[any_walk_end(indptr, indices, chances, one_minus_alpha, seed, tag, j, v)] += 1


@njit
def pack_rows(places, lengths, row_begin, ends, freqs, packed_ends, packed_freqs):
    """Copy rows with gaps between them (from ``places``) to contiguous rows (from ``row_begin``)."""
    for v in range(len(lengths)):
        shift = places[v] - row_begin[v]
        for i in range(row_begin[v], row_begin[v + 1]):
            packed_ends[i] = ends[i + shift]
            packed_freqs[i] = freqs[i + shift]


def invert_rows(n, row_begin, ends, freqs):
    """Return the doubled CSR of forward rows: start lists of each end, frequent starts first, both parts ascending.

    Returns
    -------
    src_begin : int64 array, shape (n + 1,)
    starts : int32 array
    frequent_begin : int64 array, shape (n + 1,)
    frequencies : uint32 array
        For the frequent starts only, those with more than one walk.
    arrivals : int64 array, shape (n,)
        ω_I: number of walks that end at each vertex.
    """
    src_begin, starts, often = transpose_rows(row_begin, ends, freqs)
    parts = rows_by_edges(src_begin, numba.get_num_threads())
    arrivals, frequent = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
    in_parts(_count_walks, parts, src_begin, often, arrivals, frequent)
    frequent_begin = np.cumsum(frequent)
    frequencies = np.empty(frequent_begin[-1], np.uint32)
    in_parts(_frequent_first, parts, src_begin, frequent_begin, often, starts, frequencies)
    return src_begin, starts, frequent_begin, frequencies, arrivals


@njit
def _count_walks(src_begin, often, arrivals, frequent, first, last):
    """Count for each end first … last - 1 its walks, and its frequent starts, written one place further."""
    for t in range(first, last):
        walks = several = int64(0)
        for i in range(src_begin[t], src_begin[t + 1]):
            walks += int64(often[i])
            several += int64(often[i] > 1)
        arrivals[t], frequent[t + 1] = walks, several


@njit
def _frequent_first(src_begin, frequent_begin, often, starts, frequencies, first, last):
    """Put the frequent starts of the ends first … last - 1 before the rest, and write their frequencies."""
    largest = int64(0)
    for t in range(first, last):
        largest = max(largest, frequent_begin[t + 1] - frequent_begin[t])
    aside = np.empty(largest, np.int32)
    for t in range(first, last):
        low, begin, left = src_begin[t], frequent_begin[t], frequent_begin[t + 1]
        several = left - begin
        if several == 0:
            continue
        free = src_begin[t + 1]
        for i in range(free - 1, low - 1, -1):
            if often[i] > 1:
                left -= 1
                aside[left - begin], frequencies[left] = starts[i], often[i]
            else:
                free -= 1
                starts[free] = starts[i]
        for j in range(several):
            starts[low + j] = aside[j]


def forward_rows(n, src_begin, starts, frequent_begin, frequencies):
    """Return the forward rows of a doubled CSR: row starts (int64, n + 1), ends (int32), frequencies (uint32)."""
    often = np.ones(len(starts), np.uint32)
    in_parts(
        _spread, rows_by_edges(frequent_begin, numba.get_num_threads()), src_begin, frequent_begin, frequencies, often
    )
    return transpose_rows(src_begin, starts, often)


@njit
def _spread(src_begin, frequent_begin, frequencies, often, first, last):
    """Write the frequencies of the ends first … last - 1 to the places of their starts."""
    for t in range(first, last):
        for i in range(frequent_begin[t], frequent_begin[t + 1]):
            often[src_begin[t] + i - frequent_begin[t]] = frequencies[i]
