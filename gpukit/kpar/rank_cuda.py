"""PageRank on a GPU: that of ``rank.py``, to the bit."""

from dataclasses import replace
from typing import Any

import numpy as np
from numba import int64, uint64

from gpukit.device.arrays import free_memory, on_gpu, xp
from gpukit.device.kernels import cuda, kernel
from gpukit.device.memory import check_budget
from gpukit.device.placing import PART, Staged
from gpukit.device.select import for_kernels
from gpukit.graph.csr import Graph
from gpukit.kpar import rule
from gpukit.kpar.problem import Params
from gpukit.kpar.rank import Rank, spread_mass
from gpukit.kpar.rows_cuda import GROUP, first_rows, for_each, on_device, transposed
from gpukit.kpar.rule import passed_on
from gpukit.kpar.weights_cuda import BYTES_PER_EDGE, chances_for
from gpukit.wording import spelled

passed_up_to = for_kernels(rule.passed_up_to)

BYTES_PER_VERTEX = 104
"""Room that a vertex takes at most with its places in both rows, mostly while the PRO-rank list is sorted (98 were
measured)."""


_i32, _i64, _u64, _number = "int32[::1]", "int64[::1]", "uint64[::1]", "uint64"


@kernel((_i64, None, _number, _u64, _u64, _u64), (_i64, _u64, _number, _u64, _u64, _u64))
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


@kernel((_i64, "int64", _i32, _i32, _u64, _u64))
def rank_gather(in_indptr, before, in_indices, rows, share, rest):
    """Add to ``rest`` what arrives along a part of the in-edges, those after the first ``before``.

    A thread owns GROUP of them: one gather each, an atomic add a row.
    """
    group = cuda.grid(1)
    first = before + group * int64(GROUP)
    last = min(first + GROUP, before + int64(len(in_indices)))
    if first < last:
        row = int64(rows[first // GROUP])
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
            total += share[in_indices[e - before]]
        if total > 0:
            cuda.atomic.add(rest, row, total)


@kernel((_i64, _i32, _u64, _i32, _u64, _u64))
def rank_scatter(indptr, indices, chances, rows, share, rest):
    """Add to ``rest`` what each out-edge takes of its row's ``share``; a thread owns GROUP: an atomic add each."""
    group = cuda.grid(1)
    first = group * int64(GROUP)
    last = min(first + GROUP, int64(len(indices)))
    if first < last:
        row = int64(rows[group])
        end, amount = indptr[row + 1], int64(share[row])
        before = int64(0)
        if first > indptr[row]:
            before = passed_up_to(amount, chances, first - 1, end - 1)
        for e in range(first, last):
            while e >= end:
                row += 1
                end, amount, before = indptr[row + 1], int64(share[row]), int64(0)
            upto = passed_up_to(amount, chances, e, end - 1)
            if upto > before:
                cuda.atomic.add(rest, indices[e], uint64(upto - before))
            before = upto


def _left(graph: Graph, edges: dict[str, int], where: str) -> int:
    """Return the bytes of the GPU that are left beside PageRank and what edges need; raises DeviceError if none are."""
    needs = {"mass and PageRank": BYTES_PER_VERTEX * graph.n + 4 * graph.m // GROUP} | edges
    free = free_memory()
    if xp is not np:
        check_budget(needs, free, where, f"use {spelled('device', 'cpu')}")
    return free - sum(needs.values())


def _in_edges(graph: Graph, where: str) -> tuple[Graph, Any, Staged]:
    """Return the graph with its out-degrees on the GPU, and the in-edges: where each row begins, and their tails."""
    if graph.in_indptr is None:
        _left(graph, {"the transpose, sorted": 24 * graph.m}, where)
        graph = on_device(graph)
        begin, tails = transposed(graph)
        return graph, begin, Staged(tails, 4 * graph.m, f"use {spelled('device', 'cpu')}")
    left = _left(graph, {"a part of the edges": 4 * min(PART, graph.m)}, where)
    graph = replace(graph, indptr=xp.asarray(graph.indptr))
    return graph, xp.asarray(graph.in_indptr), Staged(graph.in_indices, left, f"use {spelled('device', 'cpu')}")


def rank(graph: Graph, params: Params | None = None, *, gpu: int = 0) -> Rank:
    """Compute PageRank and the PRO-rank list as :func:`gpukit.kpar.rank.rank` does; arrays stay on the GPU.

    Raises
    ------
    DeviceError
        If PageRank, or the edges of a graph that is weighted or lacks its transpose, do not fit.
    InputError
        If edges are to be weighted and the graph has no weights.
    """
    params = params or Params()
    n, m = graph.n, graph.m
    with on_gpu(gpu):
        # Along weighted edges what each takes is known at its tail.
        if params.weighted:
            _left(graph, {"edge weights": BYTES_PER_EDGE * m}, f"GPU {gpu}")
            graph = on_device(graph)
            begin, chances = graph.indptr, chances_for(graph, params)
        else:
            graph, begin, tails = _in_edges(graph, f"GPU {gpu}")
            chances = None
        groups = -(-m // GROUP)
        rows = xp.empty(groups, np.int32)
        for_each(first_rows, groups, begin, m, rows)
        share, one_minus_alpha = xp.zeros(n, np.uint64), np.uint64(params.one_minus_alpha)

        def one_round(rest: Any, pagerank: Any) -> None:
            for_each(rank_shares, n, graph.indptr, chances, one_minus_alpha, rest, share, pagerank)
            if params.weighted:
                for_each(rank_scatter, groups, begin, graph.indices, chances, rows, share, rest)
                return
            for first, part in tails.parts():
                for_each(rank_gather, -(-len(part) // GROUP), begin, first, part, rows, share, rest)

        return spread_mass(graph, params, one_round, xp)
