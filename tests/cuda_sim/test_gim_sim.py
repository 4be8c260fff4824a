"""Bounds, rounds and kernels of influence maximisation in the simulator give the answers of the CPU; tiny graphs."""

import numpy as np
import pytest

from gpukit.gim import Params
from gpukit.papers.gim import maximise

CASES = [
    Params(k=2, epsilon=0.5, optimism=None),
    Params(k=2, epsilon=0.9, optimism=0.9, max_members=40),
    Params(k=2, epsilon=0.9, model="lt", optimism=None),
    Params(k=1, rounds=2, epsilon=0.9, optimism=None),
    Params(k=2, epsilon=0.9, bound="imm", samples="fresh", include=[5], exclude=[0], min_sets=0),
    Params(budget=4, epsilon=0.9, optimism=None),
    Params(k=2, epsilon=0.9, sampler="scan", selection="scan", optimism=None),
]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    from gpukit.gim import twofold
    from gpukit.worlds import candidates_cuda, collection_cuda

    monkeypatch.setattr(twofold, "START", 64)
    monkeypatch.setattr(collection_cuda, "SPARE_PAIRS", 1000)
    monkeypatch.setattr(candidates_cuda, "MAX_CANDIDATES", 256)


@pytest.mark.long
@pytest.mark.parametrize("params", CASES, ids=range(len(CASES)))
def test_simulator_equals_the_cpu(make_graph, simulator, params):
    graph = make_graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3)])
    cpu, gpu = maximise(graph, params), maximise(graph, params, simulator)
    assert np.array_equal(cpu.seeds, gpu.seeds) and np.array_equal(cpu.gains, gpu.gains)
    assert cpu.facts() == gpu.facts() and cpu.history == gpu.history
