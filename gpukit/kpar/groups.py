"""What travels together into the kernels of a query, on the CPU and on GPUs: arrays and numbers under one name."""

from typing import Any, NamedTuple

import numpy as np

from gpukit.graph.csr import Graph
from gpukit.kpar.problem import Params


class Edges(NamedTuple):
    """The out-edges: row starts (int64, n + 1), heads (int32, m), and 1 - α in units of 2**-32."""

    indptr: Any
    indices: Any
    one_minus_alpha: Any


def edges_of(graph: Graph, params: Params) -> Edges:
    """Return the out-edges of a graph, wherever its arrays are, for walks with this α."""
    return Edges(graph.indptr, graph.indices, np.uint64(params.one_minus_alpha))


class Walks(NamedTuple):
    """The index, by start and by end (:class:`gpukit.kpar.index.build.Index`).

    ``counts`` is ω and ``arrivals`` ω_I; ``by_arrivals`` (int32) are the vertices by falling ω_I. ``light``, ``seed``
    and ``tag`` say whether the index holds no rows, so that walks are drawn again, and their key.
    """

    row_begin: Any
    row_ends: Any
    row_freqs: Any
    src_begin: Any
    starts: Any
    frequent_begin: Any
    frequencies: Any
    counts: Any
    arrivals: Any
    by_arrivals: Any
    light: Any
    seed: Any
    tag: Any


class InEdges(NamedTuple):
    """The in-edges: row starts (int64, n + 1) and tails (int32, m), and what a backward push from a vertex costs.

    ``prices`` is int64 (n,). All are empty where no answer is to be refined.
    """

    begin: Any
    tails: Any
    prices: Any


NO_IN_EDGES = InEdges(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))
"""In place of in-edges, where answers are not to be refined."""


class Request(NamedTuple):
    """What is asked of every query of a batch.

    ``k`` is the length of an answer; ``rhos`` (int64), ``bounds`` (float64, six columns) and ``patience`` (int64) have
    for each value of δ its ρ, the coefficients of the bounds, and how many edges a query must have pushed along to be
    tested there.
    """

    k: Any
    rhos: Any
    bounds: Any
    patience: Any
    delta_min: Any
    epsilon: Any


class Threshold(NamedTuple):
    """Which residues wait: those up to ω · ρ, and all where ω is above ``walks_max``, where the product overflows.

    ``coarse`` is how many of its lowest bits what a walk carries leaves out (:func:`gpukit.kpar.rule.threshold_of`).
    """

    rho: Any
    walks_max: Any
    coarse: Any


class Stop(NamedTuple):
    """Where a query stopped.

    The step; candidates, and e₀; edges pushed along; whether the step was the last one whatever the test says, and
    whether nothing is left to walks; whether what they bring was found forward, and so is in ``walked``.
    """

    step: Any
    count: Any
    least_reserve: Any
    worked: Any
    final: Any
    exact: Any
    forward: Any
