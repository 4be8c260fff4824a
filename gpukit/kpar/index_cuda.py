"""PageRank and the index of inverted walks on a GPU: those of ``rank.py`` and ``index.py``, to the bit.

Sorting, prefix sums and runs of equal keys are CuPy's; graph and index may lie in device memory already.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from gpukit.device.arrays import Buffer, free_memory, on_gpu, xp
from gpukit.device.launch import launch
from gpukit.device.memory import check_budget
from gpukit.device.philox import Stream, stream_tag
from gpukit.device.select import simulated
from gpukit.graph.csr import Graph
from gpukit.kpar import cuda as kernels
from gpukit.kpar.index import BYTES_PER_WALK, Index, hubs_of, light_index, walk_counts
from gpukit.kpar.problem import ONE, Constants, Params
from gpukit.kpar.rank import ROUNDS, Rank, check_spread, pro_rank

BLOCK = 8 if simulated() else 256
PEAK_PER_WALK = 52
"""Bytes a walk takes at most while the index is made: its key, twice while sorted, and what runs need."""

_ADVICE = "use --device cpu, a GPU with more memory, or `kpar index --memory 0`"


def on_device(graph: Graph) -> Graph:
    """Return the graph with its out-edges in the memory of the current GPU."""
    return replace(graph, indptr=xp.asarray(graph.indptr), indices=xp.asarray(graph.indices))


def for_each(kernel: Any, count: int, *args: Any) -> None:
    """Run a kernel with a thread for each of ``count`` things; arrays may be anywhere."""
    if count:
        views = [Buffer(a).view if getattr(a, "ndim", 0) else a for a in args]
        launch(kernel, -(-count // BLOCK), BLOCK, *views)


def rank(graph: Graph, params: Params | None = None, *, tolerance: float = 1e-10, gpu: int = 0) -> Rank:
    """Compute PageRank and the PRO-rank list as :func:`gpukit.kpar.rank.rank` does; arrays stay on the GPU.

    Raises
    ------
    DeviceError
        If the graph and its transpose do not fit.
    """
    params = params or Params()
    n, m = graph.n, graph.m
    with on_gpu(gpu):
        needs = {"the transpose, sorted": 24 * m, "mass and PageRank": 48 * n}
        if xp is not np:
            check_budget(needs, free_memory(), f"GPU {gpu}", "use --device cpu")
        graph = on_device(graph)
        in_indptr, in_indices = _transposed(graph)
        groups = -(-m // kernels.GROUP)
        rows = xp.empty(groups, np.int32)
        for_each(kernels.first_rows, groups, in_indptr, m, rows)
        start, extra = divmod(ONE, max(n, 1))
        rest = xp.full(n, start, np.uint64)
        rest[:extra] += np.uint64(1)
        share, pagerank = xp.zeros(n, np.uint64), xp.zeros(n, np.uint64)
        remaining, rounds = (ONE if n else 0), 0
        while remaining > tolerance * ONE and rounds < ROUNDS:
            for_each(kernels.rank_shares, n, graph.indptr, np.uint64(params.go_on), rest, share, pagerank)
            for_each(kernels.rank_gather, groups, in_indptr, in_indices, rows, share, rest)
            remaining = int(rest.sum())
            rounds += 1
        check_spread(remaining, tolerance, params.alpha)
        return Rank(pagerank, pro_rank(graph, pagerank, xp), params.alpha, rounds, remaining)


def _transposed(graph: Graph) -> tuple[Any, Any]:
    """Return row starts and tails of the in-edges."""
    if graph.in_indptr is not None:
        return xp.asarray(graph.in_indptr), xp.asarray(graph.in_indices)
    keys = xp.empty(graph.m, np.int64)
    for_each(kernels.edge_keys, -(-graph.m // kernels.GROUP), graph.indptr, graph.indices, keys)
    keys.sort()
    return _starts_of(keys, graph.n), keys.astype(np.int32)


def _starts_of(pairs: Any, n: int) -> Any:
    """Return where each row 0 … n begins in ascending row << 32 | column."""
    return xp.searchsorted(pairs, xp.arange(n + 1, dtype=np.int64) << 32).astype(np.int64)


def _runs(keys: Any) -> tuple[Any, Any]:
    """Return the distinct keys of an ascending array, and where each begins, the length at the end (int64)."""
    changes = xp.empty(len(keys), np.bool_)
    changes[:1] = True
    xp.not_equal(keys[1:], keys[:-1], out=changes[1:])
    begin = xp.empty(int(changes.sum()) + 1, np.int64)
    begin[:-1] = xp.flatnonzero(changes)
    begin[-1] = len(keys)
    return keys[begin[:-1]], begin


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
    """Draw the walks of every vertex as :func:`gpukit.kpar.index.build_index` does; arrays stay on the GPU.

    Raises
    ------
    UsageError
        If a vertex would get 2**32 walks or more.
    DeviceError
        If the walks do not fit.
    """
    params = params or Params()
    n = graph.n
    with on_gpu(gpu):
        graph = on_device(graph)
        constants = Constants.of(n, graph.m, params)
        walks = walk_counts(graph, xp.asarray(order), constants, adaptive=adaptive, xp=xp)
        places = xp.zeros(n + 1, np.int64)
        xp.cumsum(walks, out=places[1:], dtype=np.int64)
        total = int(places[-1])
        drawn = (graph.indptr, graph.indices, np.uint64(params.go_on), np.uint64(seed), stream_tag(Stream.WALK), places)
        if memory is not None and BYTES_PER_WALK * total > memory:
            arrivals = xp.zeros(n, np.int64)
            for_each(kernels.walk_arrivals, total, *drawn, 0, total, arrivals)
            high = hubs_of(arrivals, constants, xp) if hubs else None
            return light_index(params, seed, walks, arrivals, high, xp)
        if xp is not np:
            check_budget({f"drawing {total:,} walks": PEAK_PER_WALK * total}, free_memory(), f"GPU {gpu}", _ADVICE)
        keys = xp.empty(total, np.int64)
        for_each(kernels.walk_keys, total, *drawn, 0, total, keys)
        keys.sort()
        pairs, begin = _runs(keys)
        row_begin, ends, freqs = _starts_of(pairs, n), pairs.astype(np.int32), xp.diff(begin).astype(np.uint32)
        del pairs, begin
        # The low words of a sum do not meet: both halves change places.
        keys = (keys << 32) + (keys >> 32)
        keys.sort()
        pairs, begin = _runs(keys)
        del keys
        src_begin = _starts_of(pairs, n)
        arrivals = xp.diff(begin[src_begin])
        counts = xp.diff(begin).astype(np.uint32)
        del begin
        frequent = xp.zeros(len(pairs) + 1, np.int32)
        xp.cumsum(counts > 1, out=frequent[1:], dtype=np.int32)
        frequent_begin = frequent[src_begin].astype(np.int64)
        starts = xp.empty(len(pairs), np.int32)
        for_each(kernels.place_starts, len(pairs), pairs, frequent, src_begin, frequent_begin, starts)
        high = hubs_of(arrivals, constants, xp) if hubs else None
        frequencies = counts[counts > 1]
        forward = (row_begin, ends, freqs)
        return Index(
            params, seed, walks, arrivals, src_begin, starts, frequent_begin, frequencies, high, False, forward
        )


def forward_rows(n: int, src_begin: Any, starts: Any, frequent_begin: Any, frequencies: Any) -> tuple[Any, Any, Any]:
    """Return the forward rows of a doubled CSR on the GPU: row starts (int64), ends (int32), frequencies (uint32)."""
    keys, freqs = xp.empty(len(starts), np.int64), xp.empty(len(starts), np.uint32)
    for_each(kernels.entry_keys, len(starts), src_begin, starts, frequent_begin, frequencies, keys, freqs)
    order = xp.argsort(keys)
    keys = keys[order]
    return _starts_of(keys, n), keys.astype(np.int32), freqs[order]


def to_host(array: Any) -> np.ndarray:
    """Return an array in host memory."""
    return array if isinstance(array, np.ndarray) else xp.asnumpy(array)


def on_host(index: Index) -> Index:
    """Return the index with its arrays in host memory and no forward rows."""
    names = ("walks", "arrivals", "src_begin", "starts", "frequent_begin", "frequencies", "hubs")
    arrays = {name: to_host(array) for name in names if (array := getattr(index, name)) is not None}
    return Index.of(index.params, index.seed, arrays, light=index.light)
