"""Run every frequent kernel once on small graphs; ``make gpu-sanitize`` runs these tests under NVIDIA's sanitizers.

Memory comes from CUDA itself. Blocks of CuPy's pool would hide reads beyond the end of an array and of memory that was
never written. Tests of cooperative kernels have ``cooperative`` in their names, because ``racecheck`` does not know
barriers between blocks.
"""

import numpy as np
import pytest

from gpukit import gim, imgpu
from gpukit.diversity import Params as Circles
from gpukit.diversity import build_network, decompose, make_network
from gpukit.diversity.egos import extract
from gpukit.evaluate import forward_spread
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.kpar import Params, Prepared, Sources, build_index, query, rank
from gpukit.merit import Costs, SimulatedWorld
from gpukit.merit import Params as Campaign
from gpukit.papers.merit.factory import sets_in, simulate
from gpukit.worlds.collection import CpuCollection
from gpukit.worlds.reverse import Ending, prepare


@pytest.fixture(autouse=True)
def _every_array_by_itself(gpu):
    from gpukit.device.arrays import xp

    if xp is np:
        yield
        return
    xp.cuda.set_allocator(None)
    yield
    xp.cuda.set_allocator(xp.get_default_memory_pool().malloc)


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize(("model", "sampler"), [("ic", "skip"), ("lt", "skip"), ("ic", "scan"), ("lt", "scan")])
def test_samplers(random_graph, gpu, model, sampler, rounds):
    from gpukit.papers.gim.per_edge_cuda import PerEdge
    from gpukit.worlds.collection_cuda import CudaCollection

    reverse = prepare(random_graph(300, 1500, 1), model, sampler, rounds=rounds)
    per_edge = PerEdge() if sampler == "scan" else None
    cpu, cuda = CpuCollection(reverse, 5), CudaCollection(reverse, 5, sampler=per_edge)
    for size in (200, 40_000):
        cpu.extend(size)
        cuda.extend(size)
    for one, other in zip(cpu.export(), cuda.export(), strict=True):
        assert np.array_equal(one, other)


def test_sampler_of_sets_that_end_early(random_graph, gpu):
    from gpukit.worlds.collection_cuda import CudaCollection

    reverse = prepare(random_graph(300, 1500, 1, Weights("const", 0.2)), "ic", kept=True)
    marks = np.zeros(300, np.uint8)
    marks[:20], marks[10:40] = 1, 3
    for ending in (Ending(marks, 3, 15, 300), Ending(marks, 3, -1, 30)):
        cpu, cuda = CpuCollection(reverse, 5, ending=ending), CudaCollection(reverse, 5, ending=ending)
        for size in (200, 40_000):
            cpu.extend(size)
            cuda.extend(size)
        for one, other in zip(cpu.export(), cuda.export(), strict=True):
            assert np.array_equal(one, other)


@pytest.mark.quick
@pytest.mark.parametrize("model", ["ic", "lt"])
def test_selection_cooperative(random_graph, gpu, model):
    graph, params = random_graph(300, 1500, 2), gim.Params(5, model=model, min_sets=5000, seed=3)
    cpu, cuda = gim.maximise(graph, params), gim.maximise(graph, params, gpu)
    assert np.array_equal(cpu.seeds, cuda.seeds) and cpu.facts() == cuda.facts()


@pytest.mark.quick
@pytest.mark.parametrize("model", ["ic", "lt"])
def test_spread(random_graph, gpu, model):
    graph = random_graph(300, 1500, 3)
    cpu, cuda = (forward_spread(graph, [0, 9], model=model, runs=300, device=one) for one in (None, gpu))
    assert cpu == cuda


@pytest.mark.parametrize("fresh", [pytest.param(False, marks=pytest.mark.quick), True])
def test_worlds(random_graph, gpu, fresh):
    graph, params = random_graph(200, 900, 4, Weights("const", 0.3)), imgpu.Params(3, 100, fresh, seed=5)
    cpu, cuda = imgpu.maximise(graph, params), imgpu.maximise(graph, params, gpu)
    assert cpu.seeds.tolist() == cuda.seeds.tolist() and cpu.gains.tolist() == cuda.gains.tolist()


@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.quick), True])
def test_queries_cooperative(random_graph, gpu, weighted):
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared
    from gpukit.kpar.batch.workspace_cuda import GROUP_SIZE, Shape

    graph, params = random_graph(400, 2000, 5, Weights("trivalency")), Params(weighted=weighted)
    index, sources = build_index(graph, rank(graph, params).order, params, seed=3), Sources.single(np.arange(9))
    among = np.arange(400) % 2 == 0 if weighted else None
    expected, cuda = query(Prepared.of(graph, index), sources, 20, among=among), CudaPrepared.of(graph, index)
    for shape in (Shape(), Shape(2, 3, slots_per_team=GROUP_SIZE)):
        found = cuda.query(sources, 20, among=among, shape=shape)
        assert np.array_equal(found.nodes, expected.nodes) and np.array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.quick), True])
def test_rank_and_index(random_graph, gpu, weighted):
    from gpukit.kpar import rank_cuda
    from gpukit.kpar.index import build_cuda
    from gpukit.kpar.rows_cuda import to_host

    graph, params = random_graph(400, 2000, 6, Weights("trivalency")), Params(weighted=weighted)
    expected, found = rank(graph, params), rank_cuda.rank(graph, params)
    assert np.array_equal(expected.pagerank, to_host(found.pagerank))
    index = build_cuda.on_host(build_cuda.build_index(graph, expected.order, params, seed=3))
    assert np.array_equal(index.starts, build_index(graph, expected.order, params, seed=3).starts)


@pytest.mark.parametrize(
    ("storage", "options"),
    [
        pytest.param("tables", {}, marks=pytest.mark.quick),
        ("segments", {}),
        ("global", {"update": "regenerate", "ids": "fresh"}),
    ],
)
def test_campaign_cooperative(random_graph, gpu, storage, options):
    graph = random_graph(200, 900, 7)
    params = Campaign(60, 4, seed=3, costs=Costs.degree(graph), **options)
    how = {"sampler": "scan" if storage == "global" else "skip", "make_sets": sets_in(storage)}
    cpu, cuda = (simulate(graph, params, SimulatedWorld(graph, "ic", 4), device, **how) for device in (None, gpu))
    assert [one.batch.tolist() for one in cpu.rounds] == [one.batch.tolist() for one in cuda.rounds]


def circles(n, m):
    u, v = np.random.default_rng(8).integers(0, n, (2, m))
    return build_graph(u, v, weights=Weights("none"), undirected=True, ids=False, n=n, transpose=False)


@pytest.mark.parametrize("model", ["comp", "core", pytest.param("truss", marks=pytest.mark.quick)])
def test_circles_cooperative(gpu, model):
    graph = circles(120, 1500)
    cpu, cuda, everyone = build_network(graph), make_network(graph, gpu), np.arange(graph.n)
    for full in (False, True):
        cuda.full = full
        assert np.array_equal(cpu.scores(everyone, Circles(model, 2)), cuda.scores(everyone, Circles(model, 2)))


@pytest.mark.quick
def test_decomposition_cooperative(gpu):
    from gpukit.diversity import egos_cuda

    graph = circles(120, 1500)
    assert np.array_equal(decompose(graph).trussness, decompose(graph, gpu).trussness)
    assert np.array_equal(extract(graph, np.arange(40)).indices, egos_cuda.extract(graph, np.arange(40)).indices)


@pytest.mark.parametrize("size", [1, 255, 256, 1_000_003])
def test_steps_over_elements(gpu, size):
    from gpukit.device.arrays import Buffer, copy_of, on_gpu
    from gpukit.device.elements_cuda import filled, nonzero, rounded_up

    rng = np.random.default_rng(size)
    values, flags = rng.random(size) * 2**20, (rng.random(size) < 0.3).astype(np.uint8)
    with on_gpu(0):
        assert (filled(size, 2**31 - 1).host() == 2**31 - 1).all()
        for scale in (1 / 3, 1000.0):
            assert np.array_equal(rounded_up(Buffer(values), scale).host(), np.ceil(values * scale).astype(np.int32))
        for some in (flags, 0 * flags, 0 * flags + 1):
            assert np.array_equal(nonzero(Buffer(some)).host(), np.flatnonzero(some))
        assert np.array_equal(copy_of(Buffer(values).array).get(), values)
