"""One seed, one answer: threads change nothing."""

from dataclasses import replace

import numpy as np
import pytest

from gpukit.device.select import Device
from gpukit.gim import Params, maximise
from gpukit.graph.csr import Weights

CASES = [
    Params(k=6, epsilon=0.1, min_sets=0),
    Params(k=6, epsilon=0.3, bound="imm", model="lt"),
    Params(k=3, epsilon=0.2, bound="imm", samples="fresh", sampler="scan", min_sets=0),
    Params(k=2, rounds=3, epsilon=0.1, max_members=300_000),
    Params(k=5, include=[4], exclude=[9, 11], root_weights=np.arange(400), max_members=300_000),
    Params(budget=90, costs=np.arange(400) % 37 + 1, min_sets=5000),
]


@pytest.mark.parametrize("params", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("scheme", [Weights(), Weights("trivalency", seed=1)], ids=["wc", "trivalency"])
def test_threads_change_nothing(random_graph, params, scheme):
    graph = random_graph(400, 1500, 8, scheme)
    one, two, five = (
        maximise(graph, replace(params, seed=2**64 - 1), Device("cpu", "", (), threads, "")) for threads in (1, 2, 5)
    )
    for other in (two, five):
        assert np.array_equal(one.seeds, other.seeds) and np.array_equal(one.gains, other.gains)
        assert one.facts() == other.facts() and one.history == other.history
