"""Influence maximisation on a GPU gives the same bits as the CPU, for any launch shape."""

from dataclasses import replace

import numpy as np
import pytest

from gpukit.gim import Params
from gpukit.graph.csr import Weights
from gpukit.papers.gim import maximise

CASES = [
    Params(k=10, epsilon=0.1),
    Params(k=20, epsilon=0.1, optimism=None, min_sets=200_000),
    Params(k=20, epsilon=0.1, sets="plain", max_members=300_000),
    Params(k=10, epsilon=0.1, model="lt", min_sets=0),
    Params(k=10, epsilon=0.2, bound="imm", min_sets=0),
    Params(k=10, epsilon=0.2, bound="imm", samples="fresh", model="lt", min_sets=0),
    Params(k=4, rounds=3, epsilon=0.2, min_sets=0),
    Params(k=4, rounds=3, epsilon=0.2, bound="imm", model="lt", min_sets=0),
    Params(k=10, include=[7, 3], exclude=[1, 2], min_sets=20_000),
    Params(k=10, root_weights=np.arange(3000), min_sets=20_000),
    Params(budget=300, costs=np.arange(3000) % 41 + 1, min_sets=20_000),
]
SCHEMES = {"wc": Weights(), "const": Weights("const", 0.05), "trivalency": Weights("trivalency", seed=1)}


def check_same(one, other):
    assert np.array_equal(one.seeds, other.seeds) and np.array_equal(one.gains, other.gains)
    assert one.facts() == other.facts() and one.history == other.history


@pytest.mark.parametrize("params", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("sampler", ["skip", "scan"])
def test_gpu_equals_the_cpu(random_graph, gpu, params, scheme, sampler):
    if params.model == "lt" and scheme != "wc":
        pytest.skip("weights of this scheme sum to more than LT allows")
    graph = random_graph(3000, 20_000, 4, SCHEMES[scheme])
    params = replace(params, sampler=sampler, seed=5)
    check_same(maximise(graph, params), maximise(graph, params, gpu))


@pytest.mark.parametrize("block", [32, 128])
@pytest.mark.parametrize("grid", [0, 1, 500])
def test_launch_shapes_change_nothing(random_graph, gpu, block, grid):
    from gpukit.papers.gim.per_edge_cuda import PerEdge

    graph = random_graph(3000, 20_000, 4)
    params = Params(k=10, sampler="scan", min_sets=5000)
    check_same(maximise(graph, params), maximise(graph, params, gpu, shape=PerEdge(block, grid)))


@pytest.mark.parametrize("scheme", [Weights("const", 0.3), Weights("const", 0.08)], ids=str)
@pytest.mark.parametrize("params", [Params(k=5), Params(k=20, sets="plain"), Params(k=5, optimism=None)], ids=range(3))
def test_sentinels_equal_the_cpu(random_graph, gpu, monkeypatch, scheme, params):
    """The graph has many large sets; CPU and GPU find the same sentinel."""
    from gpukit.gim import run, sentinel

    found = []
    monkeypatch.setattr(run, "find", lambda *given: found.append(sentinel.find(*given)) or found[-1])
    graph = random_graph(3000, 60_000, 4, scheme)
    check_same(maximise(graph, params), maximise(graph, params, gpu))
    assert found[0] == found[1] is not None


def test_phases_last_until_the_gpu_is_done(random_graph, gpu):
    """The host does not wait at the end of a phase, but the times are positive and add up."""
    from gpukit.device.timing import PhaseTimer, marker

    graph, params = random_graph(3000, 20_000, 4), Params(k=20, optimism=None, min_sets=200_000)
    timer = PhaseTimer(None, marker(gpu))
    maximise(graph, params, gpu, timer=timer)
    total, *phases = timer.seconds().values()
    assert timer.seconds().keys() == {"total", "transfer", "sampling", "bounds", "selection"}
    assert all(seconds > 0 for seconds in phases) and sum(phases) < total
