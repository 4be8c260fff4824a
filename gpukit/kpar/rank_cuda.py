"""PageRank on a GPU: that of ``rank.py``, to the bit."""

from typing import Any

import numba
import numpy as np
from numba import cuda, int64, uint64

from gpukit.device.arrays import free_memory, on_gpu, xp
from gpukit.device.compiled import kernel
from gpukit.device.memory import check_budget
from gpukit.graph.csr import Graph
from gpukit.kpar.problem import Params
from gpukit.kpar.rank import Rank, spread_mass
from gpukit.kpar.rows_cuda import GROUP, first_rows, for_each, on_device, transposed
from gpukit.kpar.rule import passed_on


@kernel
def rank_shares(indptr, one_minus_alpha, rest, share, rank):
    """Take the mass of each vertex: leave what each out-edge takes in ``share``, add the rest to ``rank``.

    A thread owns a vertex (48 bytes).
    """
    v = cuda.grid(1)
    if v < len(rest):
        degree = uint64(indptr[v + 1] - indptr[v])
        part = uint64(0)
        if degree > 0:
            part = passed_on(rest[v], one_minus_alpha) // degree
        share[v] = part
        rank[v] += rest[v] - degree * part
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
        in_indptr, in_indices = transposed(graph)
        groups = -(-m // GROUP)
        rows = xp.empty(groups, np.int32)
        for_each(first_rows, groups, in_indptr, m, rows)
        share, one_minus_alpha = xp.zeros(n, np.uint64), np.uint64(params.one_minus_alpha)

        def one_round(rest: Any, pagerank: Any) -> None:
            for_each(rank_shares, n, graph.indptr, one_minus_alpha, rest, share, pagerank)
            for_each(rank_gather, groups, in_indptr, in_indices, rows, share, rest)

        return spread_mass(graph, params, tolerance, one_round, xp)


_i32, _i64, _u64, _number = numba.int32[::1], numba.int64[::1], numba.uint64[::1], numba.uint64

KERNELS = {
    "rank_shares": (rank_shares, (_i64, _number, _u64, _u64, _u64)),
    "rank_gather": (rank_gather, (_i64, _i32, _i32, _u64, _u64)),
}
"""Each kernel with the signature it is launched with, so that all can be compiled without a GPU."""
