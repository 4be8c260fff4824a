"""PageRank on a GPU: that of ``rank.py``, to the bit."""

from typing import Any

import numba
import numpy as np
from numba import cuda, int64, uint64

from gpukit.device.arrays import Absent, free_memory, on_gpu, xp
from gpukit.device.compiled import kernel
from gpukit.device.memory import check_budget
from gpukit.device.select import for_kernels
from gpukit.graph.csr import Graph
from gpukit.kpar import rule
from gpukit.kpar.problem import Params
from gpukit.kpar.rank import Rank, spread_mass
from gpukit.kpar.rows_cuda import GROUP, first_rows, for_each, on_device, transposed
from gpukit.kpar.rule import passed_on
from gpukit.kpar.weights_cuda import BYTES_PER_EDGE, chances_for

edge_part = for_kernels(rule.edge_part)


@kernel
def rank_shares(indptr, chances, one_minus_alpha, rest, share, rank):
    """Take the mass of each vertex: leave what each out-edge takes in ``share``, add the rest to ``rank``.

    Unless ``chances`` is None, what all of them take together. A thread owns a vertex (48 bytes).
    """
    v = cuda.grid(1)
    if v < len(rest):
        degree = uint64(indptr[v + 1] - indptr[v])
        part, shares = uint64(0), degree if chances is None else uint64(1)
        if degree > 0:
            part = passed_on(rest[v], one_minus_alpha) // shares
        share[v] = part
        rank[v] += rest[v] - shares * part
        rest[v] = uint64(0)


@kernel
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


@kernel
def rank_scatter(indptr, indices, chances, rows, share, rest):
    """Add to ``rest`` what each out-edge takes of its row's ``share``; a thread owns GROUP: an atomic add each."""
    group = cuda.grid(1)
    first = group * int64(GROUP)
    last = min(first + GROUP, int64(len(indices)))
    if first < last:
        row = int64(rows[group])
        for e in range(first, last):
            while e >= indptr[row + 1]:
                row += 1
            taken = edge_part(int64(share[row]), chances, e, indptr[row], indptr[row + 1] - 1)
            if taken > 0:
                cuda.atomic.add(rest, indices[e], uint64(taken))


def rank(graph: Graph, params: Params | None = None, *, tolerance: float = 1e-10, gpu: int = 0) -> Rank:
    """Compute PageRank and the PRO-rank list as :func:`gpukit.kpar.rank.rank` does; arrays stay on the GPU.

    Raises
    ------
    DeviceError
        If the graph and its transpose, or its edge weights, do not fit.
    InputError
        If edges are to be weighted and the graph has no weights.
    """
    params = params or Params()
    n, m = graph.n, graph.m
    with on_gpu(gpu):
        by_edge = ("edge weights", BYTES_PER_EDGE) if params.weighted else ("the transpose, sorted", 24)
        needs = {by_edge[0]: by_edge[1] * m, "mass and PageRank": 48 * n}
        if xp is not np:
            check_budget(needs, free_memory(), f"GPU {gpu}", "use --device cpu")
        graph = on_device(graph)
        chances = chances_for(graph, params)
        # Along weighted edges what each takes is known at its tail.
        begin, ends = transposed(graph) if chances is None else (graph.indptr, graph.indices)
        groups = -(-m // GROUP)
        rows = xp.empty(groups, np.int32)
        for_each(first_rows, groups, begin, m, rows)
        share, one_minus_alpha = xp.zeros(n, np.uint64), np.uint64(params.one_minus_alpha)

        def one_round(rest: Any, pagerank: Any) -> None:
            for_each(rank_shares, n, graph.indptr, chances, one_minus_alpha, rest, share, pagerank)
            if chances is None:
                for_each(rank_gather, groups, begin, ends, rows, share, rest)
            else:
                for_each(rank_scatter, groups, begin, ends, chances, rows, share, rest)

        return spread_mass(graph, params, tolerance, one_round, xp)


_i32, _i64, _u64, _number = numba.int32[::1], numba.int64[::1], numba.uint64[::1], numba.uint64

KERNELS = {
    "rank_shares": (rank_shares, (_i64, Absent.kind, _number, _u64, _u64, _u64)),
    "rank_shares_weighted": (rank_shares, (_i64, _u64, _number, _u64, _u64, _u64)),
    "rank_scatter": (rank_scatter, (_i64, _i32, _u64, _i32, _u64, _u64)),
    "rank_gather": (rank_gather, (_i64, _i32, _i32, _u64, _u64)),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
