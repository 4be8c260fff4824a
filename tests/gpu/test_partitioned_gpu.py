"""Arrays whose parts lie on several GPUs. Tests that need two GPUs are skipped on a machine with one."""

import gc
from contextlib import nullcontext

import numpy as np
import pytest

from gpukit.device import arrays
from gpukit.device.partitioned import Partitioned, Region, granularity, split, unreadable
from gpukit.device.select import choose, detect
from gpukit.errors import DeviceError
from gpukit.evaluate import forward_spread
from gpukit.gim import Params, maximise
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights

needs_two = pytest.mark.skipif(len(detect()[0]) < 2, reason="needs two GPUs")


@pytest.fixture
def several(gpu):
    """Return the device choice of two GPUs that can read each other's memory."""
    device = choose("cuda", 2)
    if unreadable(device.gpus):
        pytest.skip(unreadable(device.gpus))
    return device


@pytest.fixture
def limit():
    """Return a function that limits the memory of each GPU until the test ends."""
    gpus = tuple(range(len(detect()[0])))

    def limit_to(size):
        gc.collect()
        for one in gpus:
            with arrays.on_gpu(one):
                arrays.xp.get_default_memory_pool().free_all_blocks()
        arrays.limit_memory(size, gpus)

    yield limit_to
    arrays.limit_memory(None, gpus)


@pytest.fixture
def elsewhere(monkeypatch):
    """Return a list that gets (kind, bytes) of each array that is not copied to every GPU."""
    from gpukit.device import placing

    found: list[tuple[str, int]] = []

    def noted(kind, name):
        class Noted(kind):
            def __init__(self, array, *given):
                found.append((name, array.nbytes))
                super().__init__(array, *given)

        return Noted

    monkeypatch.setattr(placing, "Pinned", noted(arrays.Pinned, "host"))
    monkeypatch.setattr(placing, "Partitioned", noted(Partitioned, "gpus"))
    return found


GIVEN = [np.arange(3_000_001, dtype=np.int64), np.arange(7, dtype=np.uint32).reshape(7, 1), np.ones(1, np.uint8)]


@pytest.mark.parametrize("array", GIVEN, ids=lambda array: str(array.dtype))
def test_an_array_on_one_gpu_is_what_was_copied(gpu, array):
    with arrays.on_gpu(0):
        found = Partitioned(array, split(array.nbytes, [1 << 30], granularity((0,))), (0,))
        assert np.array_equal(found.host(), array) and found.array.dtype == array.dtype


@needs_two
@pytest.mark.parametrize("array", GIVEN, ids=lambda array: str(array.dtype))
def test_each_gpu_reads_what_was_copied(several, array):
    grain = granularity(several.gpus)
    for rooms in ([1 << 30, 1 << 30], [grain, 1 << 30], [1 << 30, grain], [0, 1 << 30]):
        parts = split(array.nbytes, rooms, grain)
        if parts is None:
            continue
        with arrays.on_gpu(0):
            whole = Partitioned(array, parts, several.gpus)
            assert np.array_equal(whole.host(), array)
        with arrays.on_gpu(1):
            other = whole.here()
            assert other.array.data.ptr == whole.array.data.ptr and other.array.device.id == 1
            del whole
            assert np.array_equal(other.host(), array)
            assert np.array_equal(arrays.on_host(other.array[::-1].copy()), array[::-1])


def test_its_memory_counts_and_goes_back(gpu, limit):
    limit(64 << 20)
    with arrays.on_gpu(0):
        free = arrays.free_memory()
        array = np.zeros(20 << 20, np.uint8)
        found = Partitioned(array, split(array.nbytes, [1 << 30], granularity((0,))), (0,))
        view = found.here()
        del found
        assert arrays.free_memory() == free - array.nbytes and arrays.used_memory() >= array.nbytes
        with pytest.raises(arrays.OutOfMemory):
            arrays.xp.empty(45 << 20, np.uint8)
        del view
        gc.collect()
        assert arrays.free_memory() == free and not arrays.beyond_pool
        assert arrays.xp.empty(45 << 20, np.uint8).nbytes == 45 << 20


def test_what_a_gpu_has_not_is_refused_and_leaves_nothing(gpu):
    """Regions that together exceed the memory of the GPU are freed, also if the driver refuses their second part."""
    part = 4 << 30
    times = detect()[0][0].memory // part + 1
    with arrays.on_gpu(0):
        for sizes in ((part,), (part, 1 << 41)):
            for _ in range(times):
                with pytest.raises(DeviceError, match="OUT_OF_MEMORY") if len(sizes) > 1 else nullcontext():
                    Region([(0, size) for size in sizes], (0,))
        assert not arrays.beyond_pool


def dense(model):
    """Return a graph with 16 MB of edges and small RR sets."""
    tails, heads = np.random.default_rng(3).integers(0, 20_000, (2, 4_000_000))
    weights = Weights("const", 0.004) if model == "ic" else Weights()
    return build_graph(tails, heads, weights=weights, ids=False, n=20_000)


@needs_two
@pytest.mark.parametrize("model", ["ic", "lt"])
def test_seeds_and_spread_in_a_graph_in_parts(gpu, several, limit, elsewhere, model):
    """Seeds and spread equal those of one GPU and of the CPU, and all memory is freed."""
    graph = dense(model)
    params = Params(k=10, epsilon=0.5, model=model, optimism=None, seed=3)
    seeds = maximise(graph, params, gpu).seeds
    spread = forward_spread(graph, seeds, model=model, runs=500, seed=4, device=gpu)
    assert not elsewhere and spread == forward_spread(graph, seeds, model=model, runs=500, seed=4)
    # Three quarters are for the graph, which has 4 bytes an edge beside its vertices.
    limit(5 * graph.m)
    assert maximise(graph, params, several).seeds.tolist() == seeds.tolist()
    assert set(elsewhere) == {("gpus", 4 * graph.m)}
    elsewhere.clear()
    assert forward_spread(graph, seeds, model=model, runs=500, seed=4, device=several) == spread
    assert elsewhere == [("gpus", 4 * graph.m)]
    gc.collect()
    assert not arrays.beyond_pool


@needs_two
def test_sets_in_a_graph_in_parts_are_those_of_the_cpu(several, limit, elsewhere):
    from gpukit.worlds.collection import CpuCollection
    from gpukit.worlds.collection_devices import MultiCudaCollection
    from gpukit.worlds.reverse import prepare

    graph = dense("ic")
    reverse = prepare(graph, "ic")
    limit(5 * graph.m)
    with arrays.on_gpu(0):
        parts = MultiCudaCollection(reverse, 5, gpus=several.gpus)
        cpu = CpuCollection(reverse, 5)
        for size in (300, 5000):
            cpu.extend(size)
            parts.extend(size)
        assert elsewhere == [("gpus", 4 * graph.m)]
        for a, b in zip(cpu.export(), parts.export(), strict=True):
            assert np.array_equal(a, b)


@needs_two
def test_pinned_memory_is_shared_and_read_by_both(several):
    array = np.arange(1 << 20, dtype=np.int64)
    with arrays.on_gpu(0):
        one = arrays.Pinned(array, several.gpus)
    with arrays.on_gpu(1):
        other = one.here()
        del one
        assert other.array.data.ptr == array.ctypes.data and np.array_equal(other.host(), array)


@needs_two
def test_answers_in_a_graph_in_parts(several, limit, elsewhere):
    from gpukit.kpar import Params as RankParams
    from gpukit.kpar import build_index, rank
    from gpukit.kpar.batch.prepared_cuda import CudaPrepared
    from gpukit.kpar.problem import Sources
    from gpukit.kpar.run import prepare_on, query_on

    graph = dense("ic")
    index = build_index(graph, rank(graph).order, RankParams(), seed=1)
    sources = Sources.single(np.arange(20))
    expected = CudaPrepared.of(graph, index).query(sources, 10)
    limit(6 * graph.m)
    found = query_on(several, prepare_on(several, graph, index), sources, 10)
    assert elsewhere[0] == ("gpus", 4 * graph.m)
    assert np.array_equal(found.nodes, expected.nodes) and np.array_equal(found.scores, expected.scores)
