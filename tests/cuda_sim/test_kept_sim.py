"""Sets that are kept in the simulator of a graph of one edge."""

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
