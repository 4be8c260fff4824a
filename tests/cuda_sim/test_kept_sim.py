"""Kept sets in the simulator: of a graph of one edge, and if few or no ids have a set."""

import numpy as np
import pytest
from test_worlds_sim import check_equal

from gpukit.worlds.collection import CpuCollection
from gpukit.worlds.reverse import prepare


@pytest.mark.parametrize("model", ["ic", "lt"])
@pytest.mark.parametrize("kept", [True, False])
def test_sets_of_a_single_edge_equal_the_cpu(simulator, make_graph, model, kept):
    from gpukit.worlds.collection_cuda import CudaCollection

    reverse = prepare(make_graph(3, [(1, 0, 0.3)]), model, kept=kept)
    cpu, gpu = CpuCollection(reverse, 5), CudaCollection(reverse, 5)
    for one in (cpu, gpu):
        one.extend_over(100)
    check_equal(cpu, gpu)
    assert 0 < cpu.size < 30 if kept else cpu.size == 100


@pytest.mark.parametrize("gpus", [(0,), (0, 0)])
def test_slices_of_ids_without_a_set_equal_the_cpu(simulator, make_graph, monkeypatch, gpus):
    """Nearly every root has no in-edge, so most slices of ids have no set, and some parts of GPUs have none."""
    from gpukit.worlds import collection_cuda
    from gpukit.worlds.collection_devices import MultiCudaCollection

    monkeypatch.setattr(collection_cuda, "FEWEST_LOOKS", 1)
    monkeypatch.setattr(collection_cuda, "LOOKS", 16)
    monkeypatch.setattr("gpukit.worlds.collection.SLICE", 1)
    monkeypatch.setattr("gpukit.worlds.sample_cpu.BATCH", 16)
    reverse = prepare(make_graph(3, [(1, 0), (2, 0)]), "ic", kept=True, root_weights=np.array([1, 40, 60]))
    cpu = CpuCollection(reverse, 5)
    gpu = collection_cuda.CudaCollection(reverse, 5) if gpus == (0,) else MultiCudaCollection(reverse, 5, gpus=gpus)
    for size in (1, 4):
        for one in (cpu, gpu):
            one.extend(size)
        check_equal(cpu, gpu)
    assert cpu.ids > 100
