"""Ego-networks in CSR against NetworkX: rows, order, chosen centres, any number of threads."""

import networkx as nx
import numpy as np
from oracles import diversity as oracle

from gpukit.diversity.egos import extract
from gpukit.diversity.egos_cpu import SKEW
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights


def undirected(edges, n):
    u, v = np.array(edges, np.int64).reshape(-1, 2).T
    return build_graph(u, v, weights=Weights("none"), undirected=True, ids=False, n=n, transpose=False)


def graphs():
    yield undirected([], 3)
    yield undirected([(0, v) for v in range(1, 40)], 40)
    yield undirected([(a, b) for a in range(9) for b in range(a)], 10)
    for key in range(25):
        generator = np.random.default_rng(key)
        n = int(generator.integers(2, 60))
        edges = n * generator.random((int(n * generator.choice([1, 3, 10])), 2)) ** 2  # hubs at low ids
        yield undirected(edges.astype(np.int64), n)


def test_ego_networks():
    """Both ways to intersect, by marks and by search (rows more than 8 times as long as the other)."""
    sizes, searched = set(), 0
    for graph in graphs():
        reference = oracle.as_networkx(graph)
        centres = np.random.default_rng(graph.m).permutation(graph.n)[: 1 + graph.n // 2]
        found = extract(graph, centres)
        assert found.centres.tolist() == centres.tolist()
        for place, v in enumerate(centres.tolist()):
            net = oracle.ego(reference, v)
            searched += sum(reference.degree(u) > SKEW * len(net) for u in net.nodes if net.degree(u))
            rows = range(found.node_begin[place], found.node_begin[place + 1])
            nodes = found.nodes[rows.start : rows.stop].tolist()
            assert nodes == sorted(net.nodes)
            for row in rows:
                heads = found.indices[found.indptr[row] : found.indptr[row + 1]].tolist()
                neighbours = [nodes[head] for head in heads]
                assert neighbours == sorted(net[nodes[row - rows.start]])
            sizes.add(net.number_of_edges())
    assert 0 in sizes and max(sizes) >= 28
    assert searched > 10


def test_threads_and_repeated_centres():
    for graph in graphs():
        one = extract(graph, np.arange(graph.n))
        assert len(one.indices) == 6 * sum(nx.triangles(oracle.as_networkx(graph)).values()) // 3
        for threads in (2, 5, 1000):
            other = extract(graph, np.arange(graph.n), threads)
            for name in ("centres", "node_begin", "nodes", "indptr", "indices"):
                assert np.array_equal(getattr(one, name), getattr(other, name))
    twice = extract(graph, np.array([3, 3]), 2)
    half = twice.node_begin[1]
    assert np.array_equal(twice.nodes[:half], twice.nodes[half:])
    assert np.array_equal(twice.indices[: twice.indptr[half]], twice.indices[twice.indptr[half] :])
    assert len(extract(graph, np.empty(0, np.int32)).nodes) == 0
