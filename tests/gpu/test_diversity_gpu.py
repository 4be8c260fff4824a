"""Structural diversity on a real GPU: the same support, scores, contexts, trussness and ego-networks as on the CPU."""

from pathlib import Path

import numpy as np
import pytest

from gpukit.device.select import choose, detect
from gpukit.diversity import Params, build_network, decompose, make_network, search
from gpukit.diversity.egos import extract
from gpukit.errors import DeviceError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.graph.read.formats import read_edges
from gpukit.papers.diversity.balance import STRATEGIES, several
from gpukit.papers.diversity.balance import make_network as balanced
from gpukit.papers.diversity.baselines import EgoByEgo

DATA = Path(__file__).resolve().parents[2] / "data"
MODELS = ("comp", "core", "truss")


def undirected(u, v, n=None):
    return build_graph(u, v, weights=Weights("none"), undirected=True, ids=n is None, n=n, transpose=False)


def shipped(name):
    found = read_edges(next(DATA.glob(f"{name}.txt.*")), weights=False)
    return undirected(found.u, found.v)


@pytest.fixture(scope="module", params=["soc-Epinions1", "web-NotreDame"])
def real(request):
    return shipped(request.param)


@pytest.fixture(scope="module")
def networks(real, gpu):
    return build_network(real, 8), make_network(real, gpu)


def same(ours, theirs, *names):
    for name in names:
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name


@pytest.mark.parametrize("model", MODELS)
def test_real_graphs(networks, model):
    cpu, gpu = networks
    same(cpu, gpu, "order")
    assert np.array_equal(cpu.support, gpu.arcs.support.host())
    everyone = np.arange(cpu.n)
    for k in (2, 4, 6):
        params = Params(model, k)
        assert np.array_equal(cpu.bounds(params), gpu.bounds(params))
        expected = cpu.scores(everyone, params)
        assert np.array_equal(expected, gpu.scores(everyone, params))
        best = np.argsort(-expected, kind="stable")[:200]
        listed = [one.contexts(best, expected[best], params) for one in (cpu, gpu)]
        same(*listed, "first", "offsets", "members")


@pytest.mark.parametrize("model", ["core", "truss"])
def test_full_decomposition(networks, model):
    cpu, gpu = networks
    params, everyone = Params(model, 4), np.arange(cpu.n)
    gpu.full = True
    try:
        assert np.array_equal(cpu.scores(everyone, params), gpu.scores(everyone, params))
    finally:
        gpu.full = False


def test_trussness_of_ego_networks(networks):
    cpu, gpu = networks
    some = np.unique(np.concatenate([cpu.order[-30:], np.random.default_rng(1).choice(cpu.n, 2000, replace=False)]))
    ours, theirs = gpu.decompose(some, Params()), cpu.decompose(some, Params())
    same(ours, theirs, "offsets", "trussness", "scores")


@pytest.mark.parametrize("model", MODELS)
def test_search(networks, model):
    for k, t in ((4, 100), (3, 2000)):
        ours, theirs = (search(one, Params(model, k), t) for one in networks)
        same(ours, theirs, "vertices", "scores", "scored")
        same(ours.contexts, theirs.contexts, "first", "offsets", "members")


def test_egos_and_decomposition(real, gpu):
    from gpukit.diversity.egos_cuda import extract as on_gpu
    from gpukit.papers.diversity.scatter_cuda import extract_scatter

    expected = extract(real, np.arange(real.n), 8)
    for found in (on_gpu(real, np.arange(real.n)), extract_scatter(real)):
        same(expected, found, "centres", "node_begin", "nodes", "indptr", "indices")
    some = np.array([real.n - 1, 0, 17])
    same(extract(real, some), on_gpu(real, some), "centres", "node_begin", "nodes", "indptr", "indices")
    same(decompose(real), decompose(real, gpu), "coreness", "tails", "heads", "trussness")


def random_graph(key):
    generator = np.random.default_rng(key)
    n = int(generator.integers(1, 150))
    u, v = (n * generator.random((2, int(n * generator.choice([1, 4, 16, 40])))) ** 2).astype(np.int64)
    return undirected(u, v, n)


def test_random_graphs_and_every_shape_of_launch(gpu, monkeypatch):
    """Small graphs are forced into the warp, block and team classes; their rows have a second level or not.

    Decompositions are in shared memory for all ego-networks, for those of up to 32 or 64 members, or for none.
    """
    from gpukit.diversity import scores_cuda

    monkeypatch.setattr(scores_cuda, "SHARED_EDGES", 0)
    for key in range(60):
        graph = random_graph(key)
        cpu, everyone = build_network(graph), np.arange(graph.n)
        monkeypatch.setattr(scores_cuda, "WARP_MEMBERS", 32 if key % 4 == 0 else 0)
        monkeypatch.setattr(scores_cuda, "SMALL_EDGES", 4096 if key % 4 == 1 else 0)
        monkeypatch.setattr(scores_cuda, "BLOCK_EDGES", 1 << 15 if key % 4 == 2 else 0)
        monkeypatch.setattr(scores_cuda, "LARGEST_TEAM", 1 + key % 32)
        monkeypatch.setattr(scores_cuda, "SIDE_MEMBERS", 32 * (key % 5))
        network = make_network(graph, gpu)
        assert network._shared_members >= 256
        network._shared_members = (768, 0, 32, 64)[key % 3 + key % 2]
        for model in MODELS:
            for full in (False, True):
                network.full = full
                params = Params(model, 2 + key % 5)
                assert np.array_equal(cpu.scores(everyone, params), network.scores(everyone, params)), (key, model)
        found, expected = network.decompose(everyone, Params()), cpu.decompose(everyone, Params())
        assert np.array_equal(expected.trussness, found.trussness), key
        same(decompose(graph), decompose(graph, gpu), "coreness", "tails", "heads", "trussness")


@pytest.mark.parametrize("members", [31, 33, 96, 300, 500, 700])
def test_decompositions_in_shared_memory(gpu, monkeypatch, members):
    """A hub with two overlapping dense parts and noise: large and small blocks find the trussness of the CPU."""
    from gpukit.diversity import scores_cuda

    monkeypatch.setattr(scores_cuda, "SHARED_EDGES", 0)
    generator = np.random.default_rng(members)
    u, v = np.triu_indices(members, 1)
    inside = ((u < 0.6 * members) & (v < 0.6 * members)) | ((u > 0.4 * members) & (v > 0.4 * members))
    drawn = generator.random(len(u)) < np.where(inside, 0.8, 0.1)
    u, v = np.append(u[drawn], np.full(members, members)), np.append(v[drawn], np.arange(members))
    graph = undirected(u, v, members + 1)
    some = np.array([members, 0, members // 2])
    cpu, network = build_network(graph, 4), make_network(graph, gpu)
    expected = cpu.decompose(some, Params("truss", 4))
    same(expected, network.decompose(some, Params("truss", 4)), "offsets", "trussness", "scores")
    triangles = network.triangles_of(some, Params())
    network._shared_members = 0
    same(expected, network.decompose(some, Params("truss", 4)), "offsets", "trussness", "scores")
    assert network.triangles_of(some, Params()) == triangles


def test_large_cliques_and_stars(gpu):
    """Ego-networks of a clique of 1,500 are cliques of 1,499; a star has 40,000 leaves in 20,000 pairs."""
    size = 1500
    u, v = np.triu_indices(size, 1)
    network = make_network(undirected(u, v, size), gpu)
    for model in MODELS:
        assert network.scores(np.array([0, 7, size - 1]), Params(model, 1000)).tolist() == [1, 1, 1]
        assert network.scores(np.array([3]), Params(model, 1501)).tolist() == [0]
    trussness = network.decompose(np.array([0, 5]), Params()).trussness
    assert np.all(trussness == size - 1) and len(trussness) == (size - 1) * (size - 2)
    leaves = np.arange(1, 40_001)
    pairs = leaves[:-1:2]
    star = undirected(np.concatenate([np.zeros_like(leaves), pairs]), np.concatenate([leaves, pairs + 1]), 40_001)
    hub = make_network(star, gpu)
    for model, k in (("comp", 2), ("core", 1), ("truss", 2)):
        assert hub.scores(np.array([0]), Params(model, k)).tolist() == [20_000]


def test_ablation_and_baselines(gpu):
    from gpukit.papers.diversity.baselines_cuda import NoGpuEgo

    graph = shipped("wiki-Vote")
    cpu, everyone = build_network(graph, 4), np.arange(graph.n)
    for model in MODELS:
        params = Params(model, 4)
        expected = cpu.scores(everyone, params)
        for full in (False, True):
            assert np.array_equal(NoGpuEgo(graph, full=full).scores(everyone, params), expected)
        assert np.array_equal(EgoByEgo(graph, gpu).scores(everyone[::300], params), expected[::300])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_several_gpus(strategy):
    if len(detect()[0]) < 2:
        pytest.skip("needs two GPUs")
    graph = shipped("soc-Epinions1")
    cpu, everyone = build_network(graph, 8), np.arange(graph.n)
    network = balanced(graph, choose("cuda", min(4, len(detect()[0]))), strategy=strategy)
    for model in MODELS:
        params = Params(model, 4)
        assert np.array_equal(network.scores(everyone, params), cpu.scores(everyone, params))
        assert sum(share.vertices for share in network.shares) == graph.n


def test_several_networks_on_one_gpu(gpu):
    graph = shipped("soc-Epinions1")
    cpu = build_network(graph, 8)
    everyone = np.random.default_rng(1).permutation(graph.n)
    for strategy in STRATEGIES:
        for full in (False, True):
            network = several(graph, [gpu.gpus[0]] * 3, STRATEGIES[strategy], full=full)
            for model in ("core", "truss"):
                params = Params(model, 4)
                assert np.array_equal(network.scores(everyone, params), cpu.scores(everyone, params))
                assert sum(share.vertices for share in network.shares) == graph.n
    ours, theirs = (search(one, Params(), 100) for one in (network, cpu))
    same(ours, theirs, "vertices", "scores", "scored")
    same(ours.contexts, theirs.contexts, "first", "offsets", "members")


def test_too_little_memory(gpu):
    from gpukit.diversity.egos_cuda import extract as on_gpu
    from gpukit.diversity.scores_cuda import CudaNetwork

    graph = shipped("wiki-Vote")
    with pytest.raises(DeviceError, match="the graph"):
        CudaNetwork(graph, memory=1 << 20)
    with pytest.raises(DeviceError, match="row starts"):
        on_gpu(graph, np.arange(graph.n), memory=1 << 20)
    network = CudaNetwork(graph)
    network.memory = 1 << 10
    with pytest.raises(DeviceError, match="ego-network needs"):
        network.scores(np.arange(graph.n), Params())
    network.memory = 1 << 20
    assert np.array_equal(
        network.scores(np.arange(graph.n), Params("core")),
        build_network(graph).scores(np.arange(graph.n), Params("core")),
    )
    with pytest.raises(DeviceError, match="ego edges"):
        network.decompose(np.arange(graph.n), Params())
