"""kPAR on a real GPU gives the same answers and traces as the CPU, to the bit, for any launch shape."""

from dataclasses import replace

import numpy as np
import pytest

from gpukit.graph.csr import Weights
from gpukit.graph.probabilities import stored
from gpukit.kpar import Params, Prepared, Sources, build_index, query, rank
from gpukit.kpar.update.paths import build_updatable, sizes_of


def check_equal(found, expected):
    assert (found.certain is None) == (expected.certain is None)
    assert found.certain is None or np.array_equal(found.certain, expected.certain)
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(found.nodes, expected.nodes) and np.array_equal(found.scores, expected.scores)
    assert all(np.array_equal(a, b) for a, b in zip(found.traces, expected.traces, strict=True))


@pytest.fixture(scope="module", params=[(4000, 30_000, 1), (3000, 2500, 2), (20_000, 90_000, 3)], ids=str)
def graph(request, make_graph):
    """A graph with hubs of high in-degree and of high out-degree, dangling vertices, and weights of 10⁻⁹ to 1."""
    n, m, key = request.param
    generator = np.random.default_rng(key)
    tails = (n * generator.random(m) ** 3).astype(np.int64)
    heads = generator.permutation(n)[(n * generator.random(m) ** 2).astype(np.int64)]
    found = make_graph(n, np.column_stack([tails, heads]).tolist())
    weights = stored(10.0 ** -generator.uniform(0, 9, found.m))
    return replace(found, probabilities=weights, weights=Weights("file"))


@pytest.fixture(scope="module", params=["rows", "light", "updatable", "weighted rows", "weighted light"])
def both(request, graph):
    """The same index, prepared on the CPU and on the GPU."""
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared

    params = Params(weighted="weighted" in request.param)
    order = rank(graph, params).order
    if request.param == "updatable":
        index = build_updatable(graph, sizes_of(graph, order, params), seed=3)
    else:
        index = build_index(graph, order, params, seed=3, memory=0 if "light" in request.param else None)
    return Prepared.of(graph, index), CudaPrepared.of(graph, index)


@pytest.mark.parametrize("k", [1, 10, 700, 3000])
@pytest.mark.parametrize("to_end", [False, True])
def test_answers_equal_the_cpu(gpu, both, k, to_end):
    cpu, cuda = both
    generator = np.random.default_rng(7)
    sources = Sources.joined(
        [Sources.single(generator.integers(0, cpu.graph.n, 20)), Sources.weighted([5, 17, 1000], [1, 2, 10**6])]
    )
    check_equal(cuda.query(sources, k, to_end=to_end), query(cpu, sources, k, to_end=to_end, threads=4))


@pytest.mark.parametrize("k", [1, 10, 100, 1000])
def test_refined_answers_equal_the_cpu(gpu, both, k):
    from gpukit.kpar.batch.workspace_cuda import GROUP_SIZE, Shape

    cpu, cuda = both
    sources = Sources.single(np.arange(0, cpu.graph.n, cpu.graph.n // 40))
    expected = query(cpu, sources, k, refine=True, threads=4)
    for shape in (Shape(), Shape(1, 16), Shape(3, 5, slots_per_team=GROUP_SIZE), Shape(7, 1)):
        check_equal(cuda.query(sources, k, refine=True, shape=shape), expected)
    # With fewer edges than vertices queries end with nothing left to walks, and all of their places are certain.
    assert cpu.graph.m < cpu.graph.n or {True, False} == set(expected.certain.tolist())
    check_equal(cuda.query(sources, k), query(cpu, sources, k, threads=4))


@pytest.mark.parametrize("tiled_push", [False, True])
def test_answers_without_tiles_equal_the_cpu(gpu, both, tiled_push):
    from gpukit.papers.kpar.untiled_cuda import UntiledPrepared

    cpu, cuda = both
    sources = Sources.single(np.arange(0, cpu.graph.n, cpu.graph.n // 40))
    untiled = UntiledPrepared.like(cuda, tiled_push=tiled_push)
    for refine in (False, True):
        check_equal(untiled.query(sources, 100, refine=refine), query(cpu, sources, 100, refine=refine, threads=4))


@pytest.mark.parametrize("k", [1, 10, 700])
@pytest.mark.parametrize("refine", [False, True])
def test_answers_among_some_vertices_equal_the_cpu(gpu, both, k, refine):
    from gpukit.kpar.batch.workspace_cuda import GROUP_SIZE, Shape

    cpu, cuda = both
    among = np.random.default_rng(8).random(cpu.graph.n) < 0.3
    sources = Sources.single(np.arange(0, cpu.graph.n, cpu.graph.n // 30))
    expected = query(cpu, sources, k, among=among, refine=refine, threads=4)
    assert among[expected.nodes].all() and not np.array_equal(expected.nodes, query(cpu, sources, k, threads=4).nodes)
    for shape in (Shape(), Shape(3, 5, slots_per_team=GROUP_SIZE)):
        check_equal(cuda.query(sources, k, among=among, refine=refine, shape=shape), expected)


SHAPES = [(1, 0, 1), (1, 1, 1), (1, 100, 1), (7, 3, 1), (300, 1, 1), (1, 0, "group"), (3, 5, "group")]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_launch_shapes_change_nothing(gpu, both, shape, monkeypatch):
    from gpukit.kpar.batch import starts_cuda
    from gpukit.kpar.batch.workspace_cuda import GROUP_SIZE, Shape

    cpu, cuda = both
    monkeypatch.setattr(starts_cuda, "RANGE", 1 + cpu.graph.n // 3)
    sources = Sources.single(np.arange(0, cpu.graph.n, cpu.graph.n // 25))
    shape = Shape(*(GROUP_SIZE if one == "group" else one for one in shape))
    check_equal(cuda.query(sources, 50, shape=shape), query(cpu, sources, 50, threads=4))


@pytest.mark.parametrize("weighted", [False, True])
def test_rank_and_index_equal_the_cpu(gpu, graph, weighted):
    from gpukit.kpar import rank_cuda
    from gpukit.kpar.index import build_cuda

    params = Params(weighted=weighted)
    expected, found = rank(graph, params), rank_cuda.rank(graph, params)
    assert np.array_equal(expected.pagerank, found.pagerank.get()) and np.array_equal(expected.order, found.order.get())
    assert (expected.rounds, expected.remaining) == (found.rounds, found.remaining)
    names = ("walks", "arrivals", "src_begin", "starts", "frequent_begin", "frequencies")
    for options in ({}, {"adaptive": False}, {"memory": 0}):
        cpu = build_index(graph, expected.order, params, seed=5, **options)
        cuda = build_cuda.build_index(graph, found.order, params, seed=5, **options)
        assert all(np.array_equal(getattr(cpu, name), getattr(cuda, name).get()) for name in names)
        assert all(np.array_equal(a, b.get()) for a, b in zip(cpu.forward, cuda.forward, strict=True))
        if not cpu.light:
            rows = build_cuda.forward_rows(graph.n, cuda.src_begin, cuda.starts, cuda.frequent_begin, cuda.frequencies)
            assert all(np.array_equal(a, b.get()) for a, b in zip(cpu.forward, rows, strict=True))


def test_chances_of_edges_equal_the_cpu(gpu, graph):
    """The graph is in host memory, or already on the GPU."""
    from gpukit.device.arrays import xp
    from gpukit.kpar import weights, weights_cuda

    there = replace(graph, indptr=xp.asarray(graph.indptr), indices=xp.asarray(graph.indices))
    for given in (graph, there):
        assert np.array_equal(weights_cuda.edge_chances(given).get(), weights.edge_chances(graph))


@pytest.mark.parametrize("weighted", [False, True])
def test_baselines_equal_the_cpu(gpu, graph, weighted):
    from gpukit.papers.kpar import baselines, baselines_cuda

    sources = Sources.joined([Sources.single([0, 17]), Sources.weighted([1, 2, 0], [1, 2, 9])])
    params, both = Params(weighted=weighted), (baselines, baselines_cuda)
    cpu, cuda = (one.fora_index(graph, params, seed=4) for one in both)
    assert np.array_equal(cpu.places, cuda.places.get()) and np.array_equal(cpu.ends, cuda.ends.get())
    for k in (1, 600):
        for expected, found in (
            (baselines.fora(graph, cpu, sources, k), baselines_cuda.fora(graph, cuda, sources, k)),
            tuple(one.monte_carlo(graph, sources, k, params, seed=4) for one in both),
        ):
            assert np.array_equal(found.offsets, expected.offsets)
            assert np.array_equal(found.nodes, expected.nodes) and np.array_equal(found.scores, expected.scores)
