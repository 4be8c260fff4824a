"""Kernels read edges in pinned host memory."""

import numpy as np
import pytest

from gpukit.device import arrays
from gpukit.evaluate import forward_spread
from gpukit.gim import Params, maximise
from gpukit.graph.csr import Weights


@pytest.fixture
def limit(gpu):
    """Return a function that limits the memory of the GPU until the test ends."""
    yield lambda size: arrays.limit_memory(size, gpu.gpus)
    arrays.limit_memory(None, gpu.gpus)


@pytest.fixture
def there(monkeypatch):
    """Return a list that gets the size of each array that is placed in host memory."""
    from gpukit.device import placing

    sizes: list[int] = []

    class Noted(placing.Pinned):
        def __init__(self, array, gpus=()):
            sizes.append(array.nbytes)
            super().__init__(array, gpus)

    monkeypatch.setattr(placing, "Pinned", Noted)
    return sizes


def test_a_pinned_array_is_what_was_copied(gpu):
    with arrays.on_gpu(0):
        for given in (np.arange(100_000, dtype=np.int64), np.arange(7, dtype=np.uint32).reshape(7, 1), np.zeros(0)):
            found = arrays.Pinned(given)
            assert np.array_equal(found.host(), given) and found.array.dtype == given.dtype


def test_pages_are_locked_where_they_are_and_unlocked_again(gpu):
    given = np.arange(1 << 22, dtype=np.int64)
    with arrays.on_gpu(0):
        for _ in range(2):
            found = arrays.Pinned(given)
            assert found.array.data.ptr == given.ctypes.data
            again = arrays.Pinned(given)  # its pages are locked already
            assert again.array.data.ptr != given.ctypes.data
            assert np.array_equal(again.host(), given) and np.array_equal(found.host(), given)
            del found, again


def test_a_limit_counts_what_is_in_use(limit):
    """Free blocks of the pool and garbage do not count; an array above the limit is refused."""
    xp = arrays.xp
    xp.get_default_memory_pool().free_all_blocks()
    limit(100 << 20)
    for size in (30 << 20, 60 << 20, 90 << 20):
        cycle = [xp.empty(size, np.uint8)]
        cycle.append(cycle)
        del cycle
    with pytest.raises(arrays.OutOfMemory):
        xp.empty(101 << 20, np.uint8)


@pytest.mark.parametrize(("model", "weights"), [("ic", Weights("trivalency", seed=2)), ("lt", Weights())], ids=str)
def test_seeds_and_spread_in_a_graph_that_is_larger_than_the_gpu(random_graph, gpu, limit, there, model, weights):
    graph = random_graph(20_000, 2_000_000, 3, weights)
    params = Params(k=10, epsilon=0.2, model=model, optimism=None, seed=3)
    seeds = maximise(graph, params, gpu).seeds
    spread = forward_spread(graph, seeds, model=model, runs=500, seed=4, device=gpu)
    assert not there
    arrays.xp.get_default_memory_pool().free_all_blocks()
    limit(5 * graph.m)
    assert maximise(graph, params, gpu).seeds.tolist() == seeds.tolist()
    assert 4 * graph.m in there
    there.clear()
    assert forward_spread(graph, seeds, model=model, runs=500, seed=4, device=gpu) == spread
    assert 4 * graph.m in there


def test_answers_in_a_graph_that_is_larger_than_the_gpu(random_graph, gpu, limit, there):
    from gpukit.kpar import Params as RankParams
    from gpukit.kpar import build_index, rank
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared
    from gpukit.kpar.problem import Sources

    graph = random_graph(20_000, 2_000_000, 3)
    index = build_index(graph, rank(graph).order, RankParams(), seed=1)
    sources = Sources.single(np.arange(20))
    expected = CudaPrepared.of(graph, index).query(sources, 10)
    arrays.xp.get_default_memory_pool().free_all_blocks()
    limit(12_000_000)
    ready = CudaPrepared.of(graph, index)
    found = ready.query(sources, 10)
    # The rows of the index have what the working space leaves.
    assert there == [4 * graph.m] and not ready.light
    assert np.array_equal(found.nodes, expected.nodes) and np.array_equal(found.scores, expected.scores)


def test_rank_and_index_of_a_graph_that_is_larger_than_the_gpu(random_graph, gpu, limit, there, monkeypatch):
    from gpukit.device import placing
    from gpukit.graph.build import transpose
    from gpukit.kpar import build_index, rank, rank_cuda
    from gpukit.kpar.index import build_cuda

    graph = random_graph(20_000, 2_000_000, 3)
    ranked = rank(graph)
    expected = build_index(graph, ranked.order, seed=2)
    arrays.xp.get_default_memory_pool().free_all_blocks()
    limit(9_000_000)
    monkeypatch.setattr(placing, "PART", 1 << 16)
    monkeypatch.setattr(rank_cuda, "PART", 1 << 16)
    found = rank_cuda.rank(transpose(graph))
    assert 0 < there.pop() < 3 * graph.m
    with arrays.on_gpu(0):
        assert np.array_equal(arrays.on_host(found.pagerank), ranked.pagerank)
        assert np.array_equal(arrays.on_host(found.order), ranked.order)
    del found
    index = build_cuda.build_index(graph, ranked.order, seed=2)
    assert there == [4 * graph.m] and build_cuda.PEAK_PER_WALK * index.total > 9_000_000
    for name in ("walks", "arrivals", "src_begin", "starts", "frequent_begin", "frequencies"):
        assert np.array_equal(getattr(index, name), getattr(expected, name)), name
