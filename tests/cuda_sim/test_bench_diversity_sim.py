"""``bench diversity`` in the simulator: every method runs and reports its measurements."""

import numpy as np
import pytest

from gpukit.device.select import Device
from gpukit.diversity import Params
from gpukit.errors import UsageError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.papers.bench.diversity import METHODS, Bench

CPU, GPU = Device("cpu", "cpu", (), 1, ""), Device("cuda", "simulator", (0,), 1, "")


@pytest.mark.long
@pytest.mark.parametrize("device", [CPU, GPU], ids=lambda device: device.kind)
def test_methods(device):
    edges = [(a, b) for a in range(5) for b in range(a)] + [(0, 5), (5, 6)]
    u, v = np.array(edges).T
    graph = build_graph(u, v, weights=Weights("none"), undirected=True, ids=False, n=7, transpose=False)
    bench = Bench(graph, device, repeat=1, bandwidth=1e9, balance="pack", fraction=0.5)
    assert bench.ego_edges == 30  # five cliques of four neighbours
    for method in METHODS:
        if device is CPU and method in ("scatter", "no-gpu-ego"):
            with pytest.raises(UsageError, match="--device cuda"):
                bench.measure(method, Params("truss", 3), 2, 3)
            continue
        params = Params("core" if method == "bc-div" else "truss", 3)
        found = bench.measure(method, params, 2, 3)
        if method == "steal":  # a simulation, over an even share
            assert found["makespan"] >= 1
            continue
        assert found["ms"]["median"] > 0
        if method in ("score", "full"):
            assert found["scores_sum"] == 5
            assert found["floor_ms"] > 0
        if method == "full" and device is GPU:
            assert found["ego_triangles"] == 20
        if method == "search":
            assert found["t_th_score"] == 1
        if method in ("bc-div", "pgl-div"):
            assert (found["vertices"], found["of"]) == (3, 7)
