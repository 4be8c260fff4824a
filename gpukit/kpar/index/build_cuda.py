"""The index of inverted walks on a GPU: equal to that of ``build_cpu.py``, bit for bit.

CuPy does the sorting, prefix sums and runs of equal keys. Graph and index may already be in device memory.
"""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from numba import int64, uint32

from gpukit.device.arrays import free_memory, on_gpu, xp
from gpukit.device.kernels import cuda, kernel
from gpukit.device.memory import check_budget, check_host, readable
from gpukit.device.philox import Stream, stream_tag
from gpukit.device.placing import Placement
from gpukit.device.select import for_kernels
from gpukit.graph.csr import Graph
from gpukit.kpar import rule
from gpukit.kpar.groups import edges_of
from gpukit.kpar.index.build import BYTES_PER_WALK, Index, hubs_of, index_of_forward, light_index, walk_counts
from gpukit.kpar.problem import Constants, Params, begins
from gpukit.kpar.rows_cuda import for_each, on_device, row_of, starts_of, to_host
from gpukit.kpar.weights_cuda import chances_for
from gpukit.wording import spelled

_log = logging.getLogger("gpukit")

PEAK_PER_WALK = 52
"""Most bytes per walk while the index is made: its key, twice during the sort, and arrays of the runs."""

BYTES_PER_VERTEX = 80
"""Most bytes per vertex while the walks are counted."""

LEAST_ROOM = 1 << 29
"""Bytes for walks, or an eighth of the free memory: with less, it is better to leave the edges in host memory."""

any_walk_end = for_kernels(rule.any_walk_end)


_i32, _i64, _u32, _int, _number = "int32[::1]", "int64[::1]", "uint32[::1]", "int64", "uint64"
_DRAWN = (_number, _number, _int, _i64, _int, _int, _i64)


@kernel((_i64, _i32, None, *_DRAWN), (_i64, _i32, "uint64[::1]", *_DRAWN))
def walk_keys(indptr, indices, chances, one_minus_alpha, seed, tag, places, first, count, keys):
    """Draw the walks first … first + count - 1 and write start << 32 | end of each; a thread owns a walk.

    ``places`` (int64, n + 1) are the prefix sums of ω: walk i belongs to the vertex whose range contains i. If
    ``chances`` is None, all out-edges of a vertex count alike; a weighted step is a binary search of 8-byte reads in
    the row.
    """
    i = cuda.grid(1)
    if i < count:
        walk = first + int64(i)
        v = row_of(places, walk)
        end = any_walk_end(indptr, indices, chances, one_minus_alpha, seed, tag, walk - places[v], v)
        keys[i] = v << 32 | end


@kernel((_i64, _i32, None, *_DRAWN), (_i64, _i32, "uint64[::1]", *_DRAWN))
def walk_arrivals(indptr, indices, chances, one_minus_alpha, seed, tag, places, first, count, arrivals):
    """Count in ``arrivals`` the ends of walks, drawn as in :func:`walk_keys`, and store nothing else."""
    i = cuda.grid(1)
    if i < count:
        walk = first + int64(i)
        v = row_of(places, walk)
        end = any_walk_end(indptr, indices, chances, one_minus_alpha, seed, tag, walk - places[v], v)
        cuda.atomic.add(arrivals, end, 1)


@kernel((_i64, _i32, _i64, _i64, _i32))
def place_starts(pairs, frequent, src_begin, frequent_begin, starts):
    """Write the start lists, frequent starts first; a thread owns an entry (about 40 bytes read, 4 written).

    Parameters
    ----------
    pairs : int64 array, shape (entries,)
        end << 32 | start, ascending.
    frequent : int32 array, shape (entries + 1,)
        Number of entries with a frequency above one before each entry.
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


@kernel((_i64, _i32, _i64, _u32, _i64, _u32))
def entry_keys(src_begin, starts, frequent_begin, frequencies, keys, freqs):
    """Write start << 32 | end and the frequency of each entry of a doubled CSR; a thread owns an entry."""
    i = cuda.grid(1)
    if i < len(starts):
        end = row_of(src_begin, int64(i))
        keys[i] = int64(starts[i]) << 32 | end
        place = int64(i) - src_begin[end]
        often = frequent_begin[end]
        freqs[i] = frequencies[often + place] if place < frequent_begin[end + 1] - often else uint32(1)


def _runs(keys: Any) -> tuple[Any, Any]:
    """Return the distinct keys of an ascending array, and the first place of each, with the length appended (int64)."""
    changes = xp.empty(len(keys), np.bool_)
    changes[:1] = True
    xp.not_equal(keys[1:], keys[:-1], out=changes[1:])
    begin = xp.empty(int(changes.sum()) + 1, np.int64)
    begin[:-1] = xp.flatnonzero(changes)
    begin[-1] = len(keys)
    return keys[begin[:-1]], begin


def _rows(keys: Any, first: int, last: int) -> tuple[Any, Any, Any]:
    """Return the forward rows (:attr:`Index.forward`) of vertices first … last - 1, given their sorted walk keys."""
    pairs, begin = _runs(keys)
    return starts_of(pairs, last, first), pairs.astype(np.int32), xp.diff(begin).astype(np.uint32)


def build_index(
    graph: Graph,
    order: Any,
    params: Params | None = None,
    *,
    seed: int = 0,
    hubs: bool = False,
    adaptive: bool = True,
    memory: int | None = None,
    gpu: int = 0,
) -> Index:
    """Draw the walks of every vertex as :func:`gpukit.kpar.index.build.build_index` does; arrays stay on the GPU.

    If the GPU has no room for all walks at once, they are drawn in parts, and the arrays are in host memory. Edges that
    do not fit are read from there (``device/placing.py``).

    Raises
    ------
    UsageError
        If a vertex would get 2**32 walks or more.
    DeviceError
        If the walks of one vertex do not fit, or the host has no room for all walks.
    """
    params = params or Params()
    n = graph.n
    with on_gpu(gpu):
        constants = Constants.of(n, graph.m, params)
        graph = _placed(graph, params)
        walks = walk_counts(graph, xp.asarray(order), constants, adaptive=adaptive, xp=xp)
        places = xp.zeros(n + 1, np.int64)
        xp.cumsum(walks, out=places[1:], dtype=np.int64)
        total = int(places[-1])
        indptr, indices, one_minus_alpha = edges_of(graph, params)
        chances = chances_for(graph, params)
        drawn = (indptr, indices, chances, one_minus_alpha, np.uint64(seed), stream_tag(Stream.WALK), places)
        if memory is not None and BYTES_PER_WALK * total > memory:
            arrivals = xp.zeros(n, np.int64)
            for_each(walk_arrivals, total, *drawn, 0, total, arrivals)
            high = hubs_of(arrivals, constants, xp) if hubs else None
            return light_index(params, seed, walks, arrivals, high, xp)
        room = max(0, free_memory() - 16 * n) // PEAK_PER_WALK
        if total > room:
            return _in_parts(room, params, constants, walks, drawn, seed=seed, hubs=hubs)
        keys = _drawn_keys(drawn, 0, total)
        keys.sort()
        row_begin, ends, freqs = _rows(keys, 0, n)
        # The low words of a sum do not overlap, so the sum swaps both halves.
        keys = (keys << 32) + (keys >> 32)
        keys.sort()
        pairs, begin = _runs(keys)
        del keys
        src_begin = starts_of(pairs, n)
        arrivals = xp.diff(begin[src_begin])
        counts = xp.diff(begin).astype(np.uint32)
        del begin
        frequent = xp.zeros(len(pairs) + 1, np.int32)
        xp.cumsum(counts > 1, out=frequent[1:], dtype=np.int32)
        frequent_begin = frequent[src_begin].astype(np.int64)
        starts = xp.empty(len(pairs), np.int32)
        for_each(place_starts, len(pairs), pairs, frequent, src_begin, frequent_begin, starts)
        high = hubs_of(arrivals, constants, xp) if hubs else None
        frequencies = counts[counts > 1]
        forward = (row_begin, ends, freqs)
        return Index(
            params, seed, walks, arrivals, src_begin, starts, frequent_begin, frequencies, high, False, forward
        )


def _drawn_keys(drawn: tuple, first: int, last: int) -> Any:
    """Return start << 32 | end of the walks first … last - 1 (int64); ``drawn`` are arguments of :func:`walk_keys`."""
    keys = xp.empty(last - first, np.int64)
    for_each(walk_keys, last - first, *drawn, first, last - first, keys)
    return keys


def _placed(graph: Graph, params: Params) -> Graph:
    """Return the graph with its out-edges placed for walks: on the GPU, or in host memory if they do not fit."""
    if params.weighted:
        return on_device(graph)
    working = {"counts": BYTES_PER_VERTEX * graph.n, "walks": min(LEAST_ROOM, free_memory() // 8)}
    kept = {"indptr": graph.indptr, "indices": graph.indices}
    held = Placement(kept, ("indices",), working, f"use {spelled('device', 'cpu')}", share=1).here()
    return replace(graph, **{name: there.array for name, there in held.items()})


def _in_parts(
    room: int, params: Params, constants: Constants, walks: Any, drawn: tuple, *, seed: int, hubs: bool
) -> Index:
    """Return the index, in host memory; the GPU has room for ``room`` walks at a time.

    Walks are drawn and sorted on the GPU in parts of consecutive vertices, and inverted on the host.
    """
    begin, counts = to_host(drawn[-1]), to_host(walks)
    n, total, largest = len(counts), int(begin[-1]), int(counts.max())
    advice = f"use {spelled('device', 'cpu')}, a GPU with more memory, or {spelled('memory', 0)}"
    check_budget({"the walks of one vertex": PEAK_PER_WALK * largest}, PEAK_PER_WALK * room, "the GPU", advice)
    check_host({f"drawing {total:,} walks": BYTES_PER_WALK * total}, advice)
    _log.info("walks are drawn in parts, as the GPU has %s free for them", readable(PEAK_PER_WALK * room))
    ends, freqs, lengths = [], [], np.zeros(n, np.int64)
    first = 0
    while first < n:
        last = int(np.searchsorted(begin, begin[first] + room, side="right")) - 1
        keys = _drawn_keys(drawn, int(begin[first]), int(begin[last]))
        keys.sort()
        rows, own_ends, own_freqs = map(to_host, _rows(keys, first, last))
        del keys
        lengths[first:last] = np.diff(rows)
        ends.append(own_ends)
        freqs.append(own_freqs)
        first = last
    forward = (begins(lengths), np.concatenate(ends), np.concatenate(freqs))
    return index_of_forward(params, seed, counts, forward, constants, hubs=hubs)


def forward_rows(n: int, src_begin: Any, starts: Any, frequent_begin: Any, frequencies: Any) -> tuple[Any, Any, Any]:
    """Return the forward rows of a doubled CSR on the GPU: row starts (int64), ends (int32), frequencies (uint32)."""
    keys, freqs = xp.empty(len(starts), np.int64), xp.empty(len(starts), np.uint32)
    for_each(entry_keys, len(starts), src_begin, starts, frequent_begin, frequencies, keys, freqs)
    order = xp.argsort(keys)
    keys = keys[order]
    return starts_of(keys, n), keys.astype(np.int32), freqs[order]


def on_host(index: Index) -> Index:
    """Return the index with its arrays in host memory and no forward rows."""
    names = ("walks", "arrivals", "src_begin", "starts", "frequent_begin", "frequencies", "hubs")
    arrays = {name: to_host(array) for name in names if (array := getattr(index, name)) is not None}
    return Index.of(index.params, index.seed, arrays, light=index.light)
