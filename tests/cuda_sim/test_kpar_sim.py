"""The kernels of kPAR in the simulator give the answers and traces of the CPU; tiny graphs only."""

import numpy as np
import pytest

from gpukit.kpar import Params, Prepared, Sources, build_index, query, rank

SHAPES = {
    "random": (20, None, 60),
    "sparse": (30, None, 35),
    "star": (15, [(0, i) for i in range(1, 15)] + [(i, 0) for i in range(1, 8)], 0),
    "no edges": (3, [], 0),
}


def check_equal(found, expected):
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(found.nodes, expected.nodes) and np.array_equal(found.scores, expected.scores)
    assert [trace.tolist() for trace in found.traces] == [trace.tolist() for trace in expected.traces]


@pytest.fixture(params=SHAPES)
def graph(request, make_graph, random_graph):
    n, edges, m = SHAPES[request.param]
    return random_graph(n, m, 3) if edges is None else make_graph(n, edges)


@pytest.mark.parametrize("collect", ["auto", "scan", "atomic"])
def test_queries_equal_the_cpu(simulator, graph, collect):
    from gpukit.kpar.prepared_cuda import CudaPrepared, Shape

    index = build_index(graph, rank(graph).order, Params(), seed=3)
    cpu, gpu = Prepared.of(graph, index), CudaPrepared.of(graph, index)
    sources = Sources.together([Sources.single([0, graph.n - 1]), Sources.weighted([1, 2, 0], [1, 2, 10**6])])
    for k, to_end in ((1, False), (graph.n // 2, False), (graph.n, True)):
        found = gpu.query(sources, k, to_end=to_end, shape=Shape(collect=collect))
        check_equal(found, query(cpu, sources, k, to_end=to_end))


def test_rank_and_index_equal_the_cpu(simulator, graph):
    from gpukit.kpar import index_cuda

    expected, found = rank(graph), index_cuda.rank(graph, tolerance=1e-10)
    assert np.array_equal(expected.pagerank, found.pagerank) and np.array_equal(expected.order, found.order)
    assert (expected.rounds, expected.remaining) == (found.rounds, found.remaining)
    for options in ({"hubs": True}, {"adaptive": False}, {"memory": 0, "hubs": True}):
        cpu = build_index(graph, expected.order, seed=5, **options)
        gpu = index_cuda.build_index(graph, found.order, seed=5, **options)
        names = ["walks", "arrivals", "src_begin", "starts", "frequent_begin", "frequencies", "hubs"]
        for name in names if "hubs" in options else names[:-1]:
            a, b = getattr(cpu, name), getattr(gpu, name)
            assert a.dtype == b.dtype and np.array_equal(a, b), name
        assert all(np.array_equal(a, b) for a, b in zip(cpu.forward, gpu.forward, strict=True))
        if not cpu.light:
            rows = index_cuda.forward_rows(graph.n, gpu.src_begin, gpu.starts, gpu.frequent_begin, gpu.frequencies)
            assert all(np.array_equal(a, b) for a, b in zip(cpu.forward, rows, strict=True))
