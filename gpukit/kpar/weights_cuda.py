"""Edge weights as transition probabilities on a GPU: those of ``weights.py``, to the bit."""

from typing import Any

import numpy as np
from numba import int64, uint64

from gpukit.device.arrays import xp
from gpukit.device.kernels import cuda, kernel
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import edge_weights
from gpukit.kpar.problem import Params
from gpukit.kpar.rows_cuda import GROUP, for_each, row_of
from gpukit.kpar.rule import ratio

BYTES_PER_EDGE = 28
"""Memory that an edge takes at most while :func:`edge_chances` works; 8 bytes of it stay."""


@kernel(("int64[::1]", "uint64[::1]", "uint64[::1]"))
def row_chances(indptr, sums, chances):
    """Write ⌊2**64 · (sum up to an edge) / (sum of its row)⌋, and 0 for the last edge of a row.

    A thread owns GROUP edges: a binary search, 8 bytes read and 8 written each, and a long division of 64 steps.

    Parameters
    ----------
    indptr : int64 array, shape (n + 1,)
    sums, chances : uint64 arrays, shape (m,)
        Sums of the weights of all edges up to each, below 2**63.
    """
    first = cuda.grid(1) * int64(GROUP)
    last = min(first + GROUP, int64(len(sums)))
    if first < last:
        row = row_of(indptr, first)
        end = int64(0)
        before, whole = uint64(0), uint64(0)
        for e in range(first, last):
            if e >= end:
                while e >= indptr[row + 1]:
                    row += 1
                begin, end = indptr[row], indptr[row + 1]
                before = sums[begin - 1] if begin > 0 else uint64(0)
                whole = sums[end - 1] - before
            chances[e] = ratio(sums[e] - before, whole) if e + 1 < end else uint64(0)


def edge_chances(graph: Graph) -> Any:
    """Return :func:`gpukit.kpar.weights.edge_chances` in the memory of the current GPU.

    Parameters
    ----------
    graph : Graph
        Its arrays may be anywhere.

    Raises
    ------
    InputError
        If its probabilities are no weights (:func:`gpukit.graph.probabilities.edge_weights`).
    """
    sums = xp.asarray(edge_weights(graph)).astype(np.uint64)
    sums += np.uint64(1)
    xp.cumsum(sums, out=sums)
    chances = xp.empty(graph.m, np.uint64)
    for_each(row_chances, -(-graph.m // GROUP), graph.indptr, sums, chances)
    return chances


def chances_for(graph: Graph, params: Params) -> Any:
    """Return :func:`edge_chances` where edges are weighted, or None where they count alike."""
    return edge_chances(graph) if params.weighted else None
