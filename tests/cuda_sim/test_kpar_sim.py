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
