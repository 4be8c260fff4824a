"""Real GPUs give the RR sets, selections and coverage of the CPU.

This holds for any launch shape, memory and number of GPUs."""

import numpy as np
import pytest

from gpukit.graph.csr import Weights
from gpukit.worlds.collection import CpuCollection, Query
from gpukit.worlds.reverse import ORDER_BIT, Ending, prepare

CASES = [
    ("ic", Weights()),
    ("ic", Weights("const", 0.15)),
    ("ic", Weights("trivalency", seed=1)),
    ("lt", Weights()),
    ("lt", Weights("const", 0.02)),
]


def cuda_collection(reverse, **options):
    """Return a collection on the GPU that draws as ``--sampler`` says."""
    from gpukit.papers.gim.per_edge_cuda import PerEdge
    from gpukit.worlds.collection_cuda import CudaCollection

    return CudaCollection(reverse, 5, sampler=PerEdge() if reverse.sampler == "scan" else None, **options)


def check_equal(cpu, gpu):
    for a, b in zip(cpu.export(), gpu.export(), strict=True):
        assert np.array_equal(a, b)
    expected, found = (collection.select(Query(10, bounds=True)) for collection in (cpu, gpu))
    assert np.array_equal(expected.seeds, found.seeds)
    assert np.array_equal(expected.gains, found.gains)
    assert np.array_equal(expected.largest, found.largest)
    assert np.array_equal(cpu.coverage(expected.seeds), gpu.coverage(expected.seeds))


@pytest.mark.parametrize(("model", "weights"), CASES)
@pytest.mark.parametrize("sampler", ["skip", "scan"])
@pytest.mark.parametrize("rounds", [1, 3])
def test_equals_the_cpu(random_graph, gpu, model, weights, sampler, rounds):
    reverse = prepare(random_graph(3000, 20_000, 6, weights), model, sampler, rounds=rounds)
    cpu, cuda = CpuCollection(reverse, 5, threads=4), cuda_collection(reverse)
    for size in (500, 2000):
        cpu.extend(size)
        cuda.extend(size)
        check_equal(cpu, cuda)


@pytest.mark.parametrize("probability", [0.03, 0.5])
def test_more_live_edges_than_a_block_has_room_for_at_a_time(random_graph, gpu, probability):
    """The surplus edges are followed in the loop over rows, which the threads of a warp leave one by one."""
    reverse = prepare(random_graph(2000, 200_000, 3, Weights("const", probability)), "ic")
    cpu, cuda = CpuCollection(reverse, 5, threads=4), cuda_collection(reverse)
    for size in (64, 500):
        cpu.extend(size)
        cuda.extend(size)
        check_equal(cpu, cuda)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("many", [False, True])
def test_sets_of_a_range_of_ids_equal_the_cpu(random_graph, gpu, monkeypatch, kept, many):
    from gpukit.worlds import collection_cuda
    from gpukit.worlds.collection_devices import MultiCudaCollection

    monkeypatch.setattr(collection_cuda, "LOOKS", 1 << 15)
    reverse = prepare(random_graph(3000, 20_000, 6, Weights("const", 0.02)), "ic", kept=kept)
    cpu = CpuCollection(reverse, 5, 9, threads=4)
    cuda = MultiCudaCollection(reverse, 5, 9, gpus=(0, 0)) if many else collection_cuda.CudaCollection(reverse, 5, 9)
    for one in (cpu, cuda):
        one.extend_over(100_000)
    assert (cpu.size, cpu.ids) == (cuda.size, cuda.ids) == (cuda.size, 100_000)
    for a, b in zip(cpu.export(), cuda.export(), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(("model", "weights"), [*CASES, ("ic", Weights("const", 0.002))])
@pytest.mark.parametrize("roots", [None, 3])
def test_kept_sets_and_seeds_equal_the_cpu(random_graph, gpu, monkeypatch, model, weights, roots):
    """Trivial sets are left out, in several passes; the GPU chooses seeds by sets plus the known worth of vertices."""
    from gpukit.gim.known import Known
    from gpukit.worlds import collection_cuda

    monkeypatch.setattr(collection_cuda, "LOOKS", 1 << 15)
    targets = None if roots is None else np.arange(3000) % roots
    reverse = prepare(random_graph(3000, 20_000, 6, weights), model, kept=True, root_weights=targets)
    cpu, cuda = CpuCollection(reverse, 5, threads=4), cuda_collection(reverse)
    known = Known.of(reverse, targets)
    for size in (500, 2000, 40_000):
        cpu.extend(size)
        cuda.extend(size)
        for a, b in zip(cpu.export(), cuda.export(), strict=True):
            assert np.array_equal(a, b)
        bonus = known.in_units(size)
        for forced in ([], [7, 2999]):
            query = Query(10, np.array(forced, np.int32), None, True, bonus)
            expected, found = cpu.select(query), cuda._select_on_device(query)
            assert found is not None or size < 2000
            found = found or cuda.select(query)
            assert np.array_equal(expected.seeds, found.seeds)
            assert np.array_equal(expected.gains, found.gains)
            assert np.array_equal(expected.largest[len(forced) :], found.largest[len(forced) :])


@pytest.mark.parametrize("model", ["ic", "lt"])
@pytest.mark.parametrize("mean", [None, 0.01])
def test_two_collections_of_a_graph_equal_the_cpu(random_graph, gpu, monkeypatch, model, mean):
    """The collections share the arrays of the graph. Sets for which there is too little room are drawn again."""
    from gpukit.worlds import collection_cuda

    if mean is not None:
        monkeypatch.setattr(collection_cuda, "SPARE_PAIRS", 0)
    reverse = prepare(random_graph(3000, 20_000, 6), model)
    first, second = CpuCollection(reverse, 5, threads=4), CpuCollection(reverse, 5, 1 << 47, threads=4)
    mine = collection_cuda.CudaCollection(reverse, 5)
    other = collection_cuda.CudaCollection(reverse, 5, 1 << 47, graph=mine.graph)
    for one in (mine, other):
        one._mean = mean or one._mean
    for size in (100, 60_000, 90_000, 300_000):
        for one in (first, second, mine, other):
            one.extend(size)
        check_equal(first, mine)
        check_equal(second, other)
        seeds = mine.select(Query(20)).seeds
        assert np.array_equal(second.coverage(seeds), other.coverage(seeds))


def test_seeds_in_more_sets_than_there_are_threads(make_graph, gpu):
    from gpukit.worlds.collection_cuda import CudaCollection

    graph = make_graph(60, [(0, v) for v in range(1, 40)] + [(40, v) for v in range(41, 60)])
    reverse = prepare(graph, "ic")
    cpu, cuda = CpuCollection(reverse, 5, threads=4), CudaCollection(reverse, 5)
    for collection in (cpu, cuda):
        collection.extend(900_000)
    assert cpu.select(Query(1)).gains[0] > 2 * 264 * 512
    check_equal(cpu, cuda)


def test_launch_shapes_of_the_scan_sampler(random_graph, gpu):
    from gpukit.papers.gim.per_edge_cuda import PerEdge
    from gpukit.worlds.collection_cuda import CudaCollection

    reverse = prepare(random_graph(3000, 20_000, 6), "ic", "scan")
    cpu = CpuCollection(reverse, 5)
    cpu.extend(1000)
    for shape in (PerEdge(32, 7), PerEdge(64, 300), PerEdge(128, 1)):
        cuda = CudaCollection(reverse, 5, sampler=shape)
        cuda.extend(1000)
        check_equal(cpu, cuda)


def test_little_memory_spills_and_gives_the_same(random_graph, gpu):
    from gpukit.worlds.collection_cuda import CudaCollection

    reverse = prepare(random_graph(3000, 20_000, 6, Weights("const", 0.12)), "ic")
    cpu, cuda = CpuCollection(reverse, 5), CudaCollection(reverse, 5, memory=1 << 21)
    for size in (40_000, 60_000):
        cpu.extend(size)
        cuda.extend(size)
    assert cuda._host is not None
    check_equal(cpu, cuda)


@pytest.mark.parametrize("memory", [None, 1 << 21])
def test_several_gpus_give_the_same(random_graph, gpu, memory):
    """The parts share one GPU, or each has its own."""
    from gpukit.device.select import detect
    from gpukit.worlds.collection_devices import MultiCudaCollection

    reverse = prepare(random_graph(3000, 20_000, 6), "ic")
    count = len(detect()[0])
    cpu = CpuCollection(reverse, 5)
    several = MultiCudaCollection(reverse, 5, gpus=tuple(range(count)) if count > 1 else (0, 0, 0), memory=memory)
    for size in (300, 50_000, 70_000):
        cpu.extend(size)
        several.extend(size)
    check_equal(cpu, several)
    cpu.extend(90_000)
    several.extend(90_000)
    check_equal(cpu, several)


def test_sets_larger_than_their_place_are_drawn_again(random_graph, gpu):
    """Sets of nearly 3,000 members exceed slots for 1,024. They are drawn again by fewer blocks with larger slots."""
    from gpukit.papers.gim.per_edge_cuda import PerEdge
    from gpukit.worlds.collection_cuda import CudaCollection

    reverse = prepare(random_graph(3000, 60_000, 6, Weights("const", 0.3)), "ic", "scan")
    cpu = CpuCollection(reverse, 5)
    cpu.extend(60)
    cuda = CudaCollection(reverse, 5, sampler=PerEdge(32, 64), memory=1 << 22)
    cuda.append(0, 60)
    cuda.size = 60
    check_equal(cpu, cuda)


@pytest.fixture
def limited(gpu):
    """Return a function that limits the bytes, gaps included, by which CuPy's pool may grow."""
    from gpukit.device.arrays import xp

    pool = xp.get_default_memory_pool()
    pool.free_all_blocks()
    yield lambda size: pool.set_limit(size=pool.total_bytes() + size)
    pool.set_limit(size=0)


@pytest.mark.parametrize("budget", [24 << 20, 100 << 20])
@pytest.mark.parametrize("model", ["ic", "lt"])
def test_two_collections_stay_within_the_budget(random_graph, gpu, monkeypatch, model, budget):
    """The memory of both, with old and new arrays while they grow, never exceeds the planned memory."""
    from cupy.cuda import MemoryHook

    from gpukit.device.arrays import xp
    from gpukit.worlds import collection_cuda
    from gpukit.worlds.collection_cuda import CudaCollection

    pool = xp.get_default_memory_pool()

    class Peak(MemoryHook):
        name, most = "peak", 0

        def malloc_postprocess(self, **kwargs):
            self.most = max(self.most, pool.used_bytes())

    monkeypatch.setattr(collection_cuda, "SPARE_PAIRS", 20_000)
    reverse = prepare(random_graph(3000, 20_000, 6), model)
    first, second = CpuCollection(reverse, 5, threads=4), CpuCollection(reverse, 5, 1 << 47, threads=4)
    before = pool.used_bytes()
    mine = CudaCollection(reverse, 5, memory=budget)
    other = CudaCollection(reverse, 5, 1 << 47, memory=budget, graph=mine.graph)
    beside = pool.used_bytes() - before - mine.held() - other.held()
    with Peak() as peak:
        for size in (10_000, 40_000, 160_000, 640_000):
            for one in (first, second, mine, other):
                one.extend(size)
            check_equal(first, mine)
            check_equal(second, other)
    assert peak.most - before - beside <= budget
    assert mine._host is not None


@pytest.mark.parametrize("sampler", ["skip", "scan"])
def test_memory_that_is_not_there_after_all(random_graph, limited, sampler):
    """The plan expects all free memory, but the pool refuses most: sets move to the host, or batches become smaller."""
    reverse = prepare(random_graph(3000, 20_000, 6), "ic", sampler)
    cpu, cuda = CpuCollection(reverse, 5, threads=4), cuda_collection(reverse)
    limited(48 << 20)
    for size in (40_000, 400_000):
        cpu.extend(size)
        cuda.extend(size)
    check_equal(cpu, cuda)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("weights", [Weights("const", 0.2), Weights("trivalency", seed=3)], ids=str)
@pytest.mark.parametrize(("representative", "limit"), [(7, 3000), (-1, 3000), (-1, 40)])
def test_sets_that_end_early_equal_the_cpu(random_graph, gpu, weights, kept, representative, limit):
    from gpukit.worlds.collection_cuda import CudaCollection

    reverse = prepare(random_graph(3000, 20_000, 6, weights), "ic", kept=kept)
    marks = np.zeros(3000, np.uint8)
    marks[100:160], marks[150:400], marks[7] = 1, 2, 3
    marks[::7] |= 2 << ORDER_BIT
    ending = Ending(marks, 3, representative, limit)
    cpu, cuda = CpuCollection(reverse, 5, ending=ending), CudaCollection(reverse, 5, ending=ending)
    for size in (50, 5000, 40_000):
        cpu.extend(size)
        cuda.extend(size)
        for one, other in zip(cpu.export(), cuda.export(), strict=True):
            assert np.array_equal(one, other)
        assert cpu.ended() == cuda.ended() and cpu.members() == cuda.members()
        query = Query(20, np.array([7], np.int32), None, True, None)
        expected, found = cpu.select(query), cuda.select(query)
        assert found.seeds.tolist() == expected.seeds.tolist() and found.gains.tolist() == expected.gains.tolist()
        assert found.largest.tolist() == expected.largest.tolist()
