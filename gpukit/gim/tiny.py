"""Seed selection on a tiny input: another process compiles it this way while a run compiles the samplers of RR sets."""

import numpy as np

from gpukit.gim.baselines import degree_discount
from gpukit.graph.csr import Graph, Weights
from gpukit.graph.tiny import one_edge
from gpukit.worlds.collection import Query, coverage_of, select_from
from gpukit.worlds.cover_cpu import undivided
from gpukit.worlds.reverse import prepare


def choose() -> None:
    """Choose a seed of a graph with one edge by degree discount, which GPU runs also need, and then from one set."""
    graph = one_edge(Graph(np.zeros(2, np.int64), np.zeros(0, np.int32), weights=Weights("wc")))
    degree_discount(graph, 1)
    offsets, members, counts = np.array([0, 1]), np.zeros(1, np.int32), np.array([1, 0], np.int32)
    shares = undivided(offsets, counts)
    found = select_from(prepare(graph, "ic", "skip"), offsets, members, shares, Query(1, bounds=True))
    coverage_of(graph.n, offsets, members, found.seeds)
