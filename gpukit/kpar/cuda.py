"""Kernels of ranking and indexing on a GPU, twins of ``cpu.py``; the kernel of a query is in ``query_cuda.py``."""

import numba
from numba import cuda, int64, uint32, uint64

from gpukit.device.select import for_kernels
from gpukit.kpar import cpu
from gpukit.kpar.cpu import passed_on

GROUP = 32
"""Consecutive entries that a thread visits."""

walk_end = for_kernels(cpu.walk_end)


@cuda.jit(device=True)
def last_upto(offsets, low, high, goal):
    """Return the last of the places low … high - 1 whose offset does not exceed ``goal``, or ``low``; one thread."""
    while high - low > 1:
        middle = (low + high) >> 1
        if offsets[middle] <= goal:
            low = middle
        else:
            high = middle
    return low


@cuda.jit(device=True)
def row_of(begin, entry):
    """Return the row, the last one if others before it are empty, in which an entry lies."""
    return last_upto(begin, int64(0), int64(len(begin) - 1), entry)


@cuda.jit(cache=True)
def edge_keys(begin, indices, keys):
    """Write column << 32 | row of each entry of a CSR; a thread owns GROUP entries (4 bytes read, 8 written each)."""
    first = cuda.grid(1) * int64(GROUP)
    last = min(first + GROUP, int64(len(indices)))
    if first < last:
        row = row_of(begin, first)
        for e in range(first, last):
            while e >= begin[row + 1]:
                row += 1
            keys[e] = int64(indices[e]) << 32 | row


@cuda.jit(cache=True)
def first_rows(begin, entries, rows):
    """Write the row of every GROUP-th entry; a thread owns one (a binary search)."""
    group = cuda.grid(1)
    if group * int64(GROUP) < entries:
        rows[group] = row_of(begin, group * int64(GROUP))


@cuda.jit(cache=True)
def rank_shares(indptr, go_on, rest, share, rank):
    """Take the mass of each vertex: leave what each out-edge takes in ``share``, add the rest to ``rank``.

    A thread owns a vertex (48 bytes).
    """
    v = cuda.grid(1)
    if v < len(rest):
        degree = uint64(indptr[v + 1] - indptr[v])
        part = uint64(0)
        if degree > 0:
            part = passed_on(rest[v], go_on) // degree
        share[v] = part
        rank[v] += rest[v] - degree * part
        rest[v] = uint64(0)


@cuda.jit(cache=True)
def rank_gather(in_indptr, in_indices, rows, share, rest):
    """Add to ``rest`` what arrives along in-edges; a thread owns GROUP: one gather each, an atomic add a row."""
    group = cuda.grid(1)
    first = group * int64(GROUP)
    last = min(first + GROUP, int64(len(in_indices)))
    if first < last:
        row = int64(rows[group])
        end = in_indptr[row + 1]
        total = uint64(0)
        for e in range(first, last):
            if e >= end:
                if total > 0:
                    cuda.atomic.add(rest, row, total)
                total = uint64(0)
                while e >= end:
                    row += 1
                    end = in_indptr[row + 1]
            total += share[in_indices[e]]
        if total > 0:
            cuda.atomic.add(rest, row, total)


@cuda.jit(cache=True)
def walk_keys(indptr, indices, go_on, seed, tag, places, first, count, keys):
    """Draw the walks first … first + count - 1 and write start << 32 | end of each; a thread owns a walk.

    ``places`` (int64, n + 1) are the prefix sums of ω: walk i belongs to the vertex in whose part it lies.
    """
    i = cuda.grid(1)
    if i < count:
        walk = first + int64(i)
        v = row_of(places, walk)
        end = walk_end(indptr, indices, go_on, seed, tag, walk - places[v], v)
        keys[i] = v << 32 | end


@cuda.jit(cache=True)
def walk_arrivals(indptr, indices, go_on, seed, tag, places, first, count, arrivals):
    """Count in ``arrivals`` where walks end, as :func:`walk_keys` draws them, and keep nothing else."""
    i = cuda.grid(1)
    if i < count:
        walk = first + int64(i)
        v = row_of(places, walk)
        cuda.atomic.add(arrivals, walk_end(indptr, indices, go_on, seed, tag, walk - places[v], v), 1)


@cuda.jit(cache=True)
def place_starts(pairs, frequent, src_begin, frequent_begin, starts):
    """Write the start lists, frequent starts first; a thread owns an entry (about 40 bytes read, 4 written).

    Parameters
    ----------
    pairs : int64 array, shape (entries,)
        end << 32 | start, ascending.
    frequent : int32 array, shape (entries + 1,)
        Number of entries with a frequency above one before each.
    src_begin, frequent_begin : int64 arrays, shape (n + 1,)
    starts : int32 array, shape (entries,)
    """
    i = cuda.grid(1)
    if i < len(pairs):
        end = pairs[i] >> 32
        before = int64(frequent[i]) - frequent_begin[end]
        place = src_begin[end] + before
        if frequent[i + 1] == frequent[i]:
            place = int64(i) + (frequent_begin[end + 1] - frequent_begin[end]) - before
        starts[place] = pairs[i] & 0xFFFFFFFF


@cuda.jit(cache=True)
def entry_keys(src_begin, starts, frequent_begin, frequencies, keys, freqs):
    """Write start << 32 | end and the frequency of each entry of a doubled CSR; a thread owns one."""
    i = cuda.grid(1)
    if i < len(starts):
        end = row_of(src_begin, int64(i))
        keys[i] = int64(starts[i]) << 32 | end
        place = int64(i) - src_begin[end]
        often = frequent_begin[end]
        freqs[i] = frequencies[often + place] if place < frequent_begin[end + 1] - often else uint32(1)


_i32, _i64, _u32, _u64 = numba.int32[::1], numba.int64[::1], numba.uint32[::1], numba.uint64[::1]
_int, _seed = numba.int64, numba.uint64

KERNELS = {
    "edge_keys": (edge_keys, (_i64, _i32, _i64)),
    "first_rows": (first_rows, (_i64, _int, _i32)),
    "rank_shares": (rank_shares, (_i64, _seed, _u64, _u64, _u64)),
    "rank_gather": (rank_gather, (_i64, _i32, _i32, _u64, _u64)),
    "walk_keys": (walk_keys, (_i64, _i32, _seed, _seed, _int, _i64, _int, _int, _i64)),
    "walk_arrivals": (walk_arrivals, (_i64, _i32, _seed, _seed, _int, _i64, _int, _int, _i64)),
    "place_starts": (place_starts, (_i64, _i32, _i64, _i64, _i32)),
    "entry_keys": (entry_keys, (_i64, _i32, _i64, _u32, _i64, _u32)),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
