"""Structural diversity in the simulator equals the CPU: support, bounds, scores, contexts and trussness."""

import numpy as np
import pytest

from gpukit.diversity import Params, build_index, build_network, search
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights


def undirected(edges, n):
    u, v = np.array(edges, np.int64).reshape(-1, 2).T
    return build_graph(u, v, weights=Weights("none"), undirected=True, ids=False, n=n, transpose=False)


def clique(*vertices):
    return [(a, b) for a in vertices for b in vertices if a < b]


@pytest.fixture(scope="module")
def graph():
    """Overlapping cliques around a hub, and random edges."""
    generator = np.random.default_rng(4)
    edges = clique(0, 1, 2, 3, 4) + clique(0, 4, 5, 6, 7) + clique(0, 8, 9, 10, 11) + [(0, 12), (11, 13)]
    return undirected(edges + generator.integers(0, 16, (12, 2)).tolist(), 16)


@pytest.fixture
def pair(simulator, graph):
    from gpukit.diversity.scores_cuda import CudaNetwork

    return build_network(graph), CudaNetwork(graph)


def test_network(pair):
    cpu, gpu = pair
    assert np.array_equal(cpu.order, gpu.order)
    assert np.array_equal(cpu.support, gpu.arcs.support.host())
    assert np.array_equal(sum(gpu.sizes(np.arange(cpu.n))), cpu.cost)
    assert gpu.ego_edges == cpu.ego_edges
    for model, k in (("comp", 1), ("comp", 3), ("core", 2), ("truss", 4)):
        assert np.array_equal(cpu.bounds(Params(model, k)), gpu.bounds(Params(model, k)))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(
    ("model", "k"), [("comp", 1), ("comp", 3), ("core", 1), ("core", 3), ("truss", 2), ("truss", 4)]
)
def test_scores_and_contexts(pair, model, k, full):
    cpu, gpu = pair
    gpu.full = full
    params, everyone = Params(model, k), np.arange(cpu.n)
    found = gpu.scores(everyone, params)
    assert np.array_equal(cpu.scores(everyone, params), found)
    some = np.array([5, 0, 14, 11])
    ours, theirs = (one.contexts(some, found[some], params) for one in (gpu, cpu))
    for name in ("first", "offsets", "members"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))


def test_trussness(pair):
    cpu, gpu = pair
    some = np.array([9, 0, 4, 15])
    ours, theirs = gpu.decompose(some, Params("truss", 4)), cpu.decompose(some, Params("truss", 4))
    assert np.array_equal(ours.offsets, theirs.offsets)
    assert np.array_equal(ours.trussness, theirs.trussness)
    assert np.array_equal(ours.scores, theirs.scores)


def test_index(pair, graph):
    cpu, gpu = pair
    ours, theirs = (build_index(graph, cpu, trusses).arrays for trusses in (gpu, cpu))
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_wide_rows_have_a_second_level(simulator, monkeypatch):
    """The rows of a hub with 70 neighbours have three words, which are read through the second level."""
    from gpukit.diversity import matrix_cuda, scores_cuda

    monkeypatch.setattr(matrix_cuda, "PLAIN", 1)
    monkeypatch.setattr(scores_cuda, "SMALL_WORDS", 0)
    monkeypatch.setattr(scores_cuda, "BLOCK_WORDS", 0)
    generator = np.random.default_rng(1)
    edges = [(0, v) for v in range(1, 71)] + clique(*range(3, 9)) + clique(60, 61, 62, 1, 33)
    graph = undirected(edges + generator.integers(0, 71, (25, 2)).tolist(), 71)
    cpu, gpu = build_network(graph), scores_cuda.CudaNetwork(graph)
    for model in ("core", "truss"):
        assert (
            gpu.scores(np.array([0, 61]), Params(model, 4)).tolist()
            == cpu.scores(np.array([0, 61]), Params(model, 4)).tolist()
        )
    ours, theirs = (one.decompose(np.array([0]), Params()) for one in (gpu, cpu))
    assert np.array_equal(ours.scores, theirs.scores)


@pytest.mark.long
@pytest.mark.parametrize("shared", [0, 32, 64, 96])
def test_decompositions_in_shared_and_in_global_memory(simulator, monkeypatch, shared):
    """Rows have one to three words; dense parts and noise give many levels, with several rounds each."""
    from gpukit.diversity import scores_cuda
    from gpukit.diversity.scores_cuda import CudaNetwork

    generator = np.random.default_rng(7)
    dense = [pair for part in (range(1, 29), range(24, 50)) for pair in clique(*part) if generator.random() < 0.8]
    edges = [(0, v) for v in range(1, 71)] + dense + generator.integers(0, 71, (150, 2)).tolist()
    graph = undirected(edges, 71)
    assert CudaNetwork(graph)._shared_members == 0
    monkeypatch.setattr(scores_cuda, "SHARED_EDGES", 0)
    cpu, gpu = build_network(graph), CudaNetwork(graph)
    assert gpu._shared_members >= 96
    gpu._shared_members = shared
    some = np.array([0, 27, 3, 60])
    for k in (2, 5, 14, 40):
        ours, theirs = (one.decompose(some, Params("truss", k)) for one in (gpu, cpu))
        for name in ("offsets", "trussness", "scores"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert theirs.trussness.max() - theirs.trussness.min() > 8
    assert gpu.triangles_of(some, Params()) == 6306


@pytest.mark.parametrize("n", [1, 3])
def test_no_edges(simulator, n):
    from gpukit.diversity.scores_cuda import CudaNetwork

    network = CudaNetwork(undirected([], n))
    for model in ("comp", "core", "truss"):
        assert search(network, Params(model, 2), n).scores.tolist() == [0] * n
    assert search(network, Params("truss", 2), n).contexts.first.tolist() == [0] * (n + 1)


def test_extraction(simulator, graph):
    from gpukit.diversity.egos import extract as on_cpu
    from gpukit.diversity.egos_cuda import extract
    from gpukit.papers.diversity.scatter_cuda import extract_scatter

    for centres in (np.arange(graph.n), np.array([13, 0, 7]), np.empty(0, np.int32)):
        expected, found = on_cpu(graph, centres), extract(graph, centres)
        for name in ("centres", "node_begin", "nodes", "indptr", "indices"):
            assert np.array_equal(getattr(expected, name), getattr(found, name)), name
    expected, found = on_cpu(graph, np.arange(graph.n)), extract_scatter(graph)
    for name in ("node_begin", "nodes", "indptr", "indices"):
        assert np.array_equal(getattr(expected, name), getattr(found, name)), name


def test_decomposition_of_a_graph(simulator, graph):
    from gpukit.diversity.decomposition import decompose, truss_numbers

    for one in (graph, undirected([], 2), undirected(clique(*range(6)) + [(5, 6), (6, 7)], 9)):
        expected, found = decompose(one), decompose(one, simulator)
        for name in ("coreness", "tails", "heads", "trussness"):
            assert np.array_equal(getattr(expected, name), getattr(found, name)), name
        assert np.array_equal(truss_numbers(one, simulator, k_max=4)[2], np.minimum(expected.trussness, 4))


def test_ablation_and_baselines(simulator, graph):
    from gpukit.papers.diversity.baselines import EgoByEgo
    from gpukit.papers.diversity.baselines_cuda import NoGpuEgo

    cpu, everyone = build_network(graph), np.arange(graph.n)
    for model, k in (("comp", 3), ("core", 2), ("truss", 4)):
        expected = cpu.scores(everyone, Params(model, k))
        for full in {False, model == "truss"}:
            assert np.array_equal(NoGpuEgo(graph, full=full).scores(everyone, Params(model, k)), expected)
        some = np.array([0, 15])
        assert np.array_equal(EgoByEgo(graph, simulator).scores(some, Params(model, k)), expected[some])


def test_triangles_are_counted(simulator):
    """The 6 ego-networks of a clique of 6 are cliques of 5, with 10 triangles each."""
    from gpukit.diversity.scores_cuda import CudaNetwork

    network = CudaNetwork(undirected(clique(*range(6)) + [(0, 7)], 8))
    assert network.triangles_of(np.arange(8), Params("truss", 4)) == 60


@pytest.mark.parametrize(("strategy", "full"), [("none", False), ("dynamic", True)])
def test_several_gpus(simulator, monkeypatch, graph, strategy, full):
    """Two networks share the simulated GPU."""
    from gpukit.diversity import scores_devices
    from gpukit.papers.diversity.balance import STRATEGIES, several

    monkeypatch.setattr(scores_devices, "HEAD", 3)
    monkeypatch.setattr(scores_devices, "GROUPS", 4)
    cpu, gpus = build_network(graph), several(graph, [0, 0], STRATEGIES[strategy], 0.3, full)
    params = Params("truss", 3)
    expected, found = search(cpu, params, 5), search(gpus, params, 5)
    for name in ("vertices", "scores", "scored"):
        assert np.array_equal(getattr(expected, name), getattr(found, name))
    assert np.array_equal(expected.contexts.members, found.contexts.members)
    everyone = np.random.default_rng(2).permutation(graph.n)
    assert np.array_equal(gpus.scores(everyone, params), cpu.scores(everyone, params))
    assert sum(share.vertices for share in gpus.shares) == graph.n
    assert gpus.scores(everyone[:0], params).tolist() == []
