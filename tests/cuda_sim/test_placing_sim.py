"""Edges that do not fit on a GPU are in host memory, and the answer of every system stays the same."""

from dataclasses import replace

import numpy as np
import pytest

from gpukit.device import arrays, placing
from gpukit.errors import DeviceError
from gpukit.evaluate import forward_spread
from gpukit.graph.csr import Weights


@pytest.fixture
def held_back(simulator, monkeypatch):
    """Return a function that limits the GPU's memory and returns the list of sizes of arrays in host memory."""
    there: list[int] = []

    class Noted(arrays.Pinned):
        def __init__(self, array, gpus=()):
            there.append(array.nbytes)
            super().__init__(array, gpus)

    monkeypatch.setattr(placing, "Pinned", Noted)
    yield lambda size: arrays.limit_memory(size, (0,)) or there
    arrays.limit_memory(None, (0,))


def test_a_limit_is_that_of_one_piece_of_work(simulator):
    """Several commands run in one process, and some have a limit."""
    from gpukit.api.session import Session

    free = arrays.free_memory()
    for asked, expected in ((None, free), (5000, 5000), (6000, 6000), (None, free)):
        Session(device="cuda", gpu_memory=asked).use_device()
        assert arrays.free_memory() == expected


def test_the_largest_arrays_of_edges_go_until_the_rest_has_room(held_back):
    given = {"rows": np.zeros(100, np.int64), "heads": np.zeros(300, np.int32), "words": np.zeros(200, np.int32)}
    for free, expected in ((10_000, []), (3600, [1200]), (1800, [1200, 800])):
        there = held_back(free)
        there.clear()
        placed = placing.Placement(given, ("heads", "words"), {"work": 500}, "use --device cpu").here()
        assert there == expected and list(placed) == list(given)
    held_back(1200)
    with pytest.raises(DeviceError, match="needs 1.3 KiB .*the graph 800 bytes.*1.2 KiB are free on the GPU; use"):
        placing.Placement(given, ("heads", "words"), {"work": 500}, "use --device cpu")


def test_sets_of_a_graph_that_is_larger_than_the_gpu(held_back, random_graph):
    from gpukit.worlds.collection import CpuCollection
    from gpukit.worlds.collection_cuda import CudaCollection
    from gpukit.worlds.reverse import prepare

    reverse = prepare(random_graph(300, 3000, 3, Weights("trivalency", seed=2)), "ic")
    there = held_back(40_000)
    cpu, gpu = CpuCollection(reverse, 5), CudaCollection(reverse, 5)
    assert sorted(there) == [4 * len(reverse.indices)] * 2
    for one in (cpu, gpu):
        one.extend(20)
    for a, b in zip(cpu.export(), gpu.export(), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("model", ["ic", "lt"])
def test_spread_in_a_graph_that_is_larger_than_the_gpu(held_back, random_graph, simulator, model):
    graph = random_graph(200, 2000, 3, Weights("const", 0.05))
    expected = forward_spread(graph, [1, 2, 3], model=model, runs=8, seed=4)
    there = held_back(16_000)
    assert forward_spread(graph, [1, 2, 3], model=model, runs=8, seed=4, device=simulator) == expected
    assert there[0] == 4 * graph.m


@pytest.mark.parametrize("refine", [False, True])
def test_answers_in_a_graph_that_is_larger_than_the_gpu(held_back, random_graph, monkeypatch, refine):
    """The GPU has no room for rows of the index or for sorting in-edges: the host stores the rows and sorts."""
    from gpukit.kpar import Params, Prepared, build_index, query, rank
    from gpukit.kpar.batch import prepared_cuda
    from gpukit.kpar.problem import Sources

    monkeypatch.delattr(prepared_cuda, "transposed")
    graph = random_graph(40, 800, 3)
    index = build_index(graph, rank(graph).order, Params(), seed=1)
    sources = Sources.single(np.arange(3))
    expected = query(Prepared.of(graph, index), sources, 4, refine=refine)
    there = held_back(10_000)
    ready = prepared_cuda.CudaPrepared.of(graph, index)
    found = ready.query(sources, 4, refine=refine)
    assert there[0] == 4 * graph.m and 4 * len(index.starts) in there[1:] and not ready.light
    for name in ("nodes", "scores", "certain"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


def test_start_lists_are_the_last_rows_to_go(held_back, random_graph):
    """Start lists are read most, so they are the last rows that move to the host."""
    from gpukit.kpar import Params, build_index, rank
    from gpukit.kpar.batch import prepared_cuda

    graph = random_graph(40, 800, 3)
    index = replace(build_index(graph, rank(graph).order, Params(), seed=1), updatable=True)
    forward = {"row_ends", "row_freqs"}
    for free, expected in ((12_320, forward | {"starts"}), (12_720, forward)):
        held_back(free)
        ready = prepared_cuda.CudaPrepared.of(graph, index)
        assert {name for name, one in ready.arrays.items() if isinstance(one, arrays.Pinned)} == expected


@pytest.mark.long
def test_rank_and_index_of_a_graph_that_is_larger_than_the_gpu(held_back, random_graph, monkeypatch):
    """First in-edges, then out-edges are in host memory; walks are drawn in parts, and the index is the same."""
    from gpukit.graph.build import transpose
    from gpukit.kpar import build_index, rank, rank_cuda
    from gpukit.kpar.index import build_cuda

    graph = random_graph(60, 900, 3)
    ranked = rank(graph)
    expected = build_index(graph, ranked.order, seed=2, hubs=True)
    parts = []
    drawn_keys = build_cuda._drawn_keys
    monkeypatch.setattr(
        build_cuda, "_drawn_keys", lambda *given: parts.append(given[2] - given[1]) or drawn_keys(*given)
    )
    monkeypatch.setattr(placing, "PART", 64)
    monkeypatch.setattr(rank_cuda, "PART", 64)
    for room, here in ((0, 0), (4 * 64, 64), (4 * 200, 192), (4 * graph.m, graph.m)):
        there = held_back(rank_cuda.BYTES_PER_VERTEX * graph.n + 4 * graph.m // rank_cuda.GROUP + 4 * 64 + room)
        there.clear()
        found = rank_cuda.rank(transpose(graph))
        assert there == [4 * (graph.m - here)] * (here < graph.m)
        assert np.array_equal(found.pagerank, ranked.pagerank) and np.array_equal(found.order, ranked.order)
    largest = int(expected.walks.max())
    size = build_cuda.PEAK_PER_WALK * largest + 16 * graph.n
    there = held_back(size)
    monkeypatch.setattr(build_cuda, "BYTES_PER_VERTEX", (size * 7 // 8 - 8 * (graph.n + 1)) // graph.n)
    index = build_cuda.build_index(graph, ranked.order, seed=2, hubs=True)
    assert there == [4 * graph.m]
    assert len(parts) > 1 and max(parts) <= largest and sum(parts) == expected.total
    for name in ("walks", "arrivals", "src_begin", "starts", "frequent_begin", "frequencies", "hubs"):
        assert np.array_equal(getattr(index, name), getattr(expected, name)), name
    for a, b in zip(index.forward, expected.forward, strict=True):
        assert np.array_equal(a, b)
    held_back(size - 1)
    with pytest.raises(DeviceError, match="the walks of one vertex"):
        build_cuda.build_index(graph, ranked.order, seed=2)


@pytest.mark.parametrize("updatable", [False, True])
def test_rows_that_the_gpu_has_no_room_for(held_back, random_graph, simulator, updatable):
    """The edges fit on the GPU but the rows do not, so walks are drawn again; an updatable index cannot do this."""
    from gpukit.kpar import Params, Prepared, build_index, query, rank
    from gpukit.kpar.batch import prepared_cuda
    from gpukit.kpar.problem import Sources

    graph = random_graph(400, 2400, 3)
    index = replace(build_index(graph, rank(graph).order, Params(), seed=1), updatable=updatable)
    sources = Sources.single(np.arange(2))
    expected = query(Prepared.of(graph, index), sources, 4)
    there = held_back(100_000)
    ready = prepared_cuda.CudaPrepared.of(graph, index)
    assert ready.light == (not updatable) and 4 * graph.m not in there and bool(there) == updatable
    found = ready.query(sources, 4)
    assert np.array_equal(found.nodes, expected.nodes) and np.array_equal(found.scores, expected.scores)
