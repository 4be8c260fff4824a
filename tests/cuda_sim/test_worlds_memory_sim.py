"""Collections in limited memory: none requests more than the budget, and all adapt if there is less.

The host code makes the arrays. NumPy writes what kernels would write, so millions of entries are possible.
"""

import gc
import weakref

import numpy as np
import pytest

from gpukit.errors import DeviceError
from gpukit.worlds.collection import Query, coverage_of
from gpukit.worlds.reverse import prepare

N, LARGEST = 500, 39


class Pool:
    """Counts the bytes of arrays that came from a buffer and are still in use."""

    def __init__(self) -> None:
        self.alive = self.refused = self.launches = 0
        self.limit = 1 << 62

    def take(self, array) -> None:
        if array.base is not None:
            return
        if self.alive + array.nbytes > self.limit:
            self.refused += 1
            raise MemoryError(f"{self.alive} + {array.nbytes} bytes")
        self.alive += array.nbytes
        weakref.finalize(array, self.give, array.nbytes)

    def give(self, size: int) -> None:
        self.alive -= size


def drawn(first, count):
    """Return the sizes and members of some sets."""
    ids = np.arange(first, first + count)
    sizes = 1 + ids * 2654435761 % LARGEST
    ends = np.cumsum(sizes)
    place = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
    return sizes, (np.repeat(ids, sizes) + place) % N


def written(kernel, grid, block, *args):
    """Replace a launch: write sets like the sampler, and do nothing for a selection, which stays incomplete."""
    from gpukit.device.launch import _simulated
    from gpukit.worlds import sample_cuda as kernels

    if kernel is not kernels.sample:
        return
    args = _simulated(args)
    _, samples, _, _, (_, _, ranks, _), (sizes, starts, base, entries, used, counts), control = args
    first, count = samples.first, samples.size
    found, members = drawn(first, count)
    if len(members) > min(ranks.size, len(entries) - used):
        control[kernels.OVERFLOW] = 1
        return
    sizes[base : base + count] = found
    starts[base : base + count] = used + np.cumsum(found) - found
    entries[used : used + len(members)] = np.repeat(base + np.arange(count), found) << 32 | members
    counts += np.bincount(members, minlength=N).astype(np.int32)
    control[kernels.MEMBER_TAIL] = len(members)


@pytest.fixture
def pool(monkeypatch):
    from gpukit.device.arrays import Buffer
    from gpukit.worlds import collection_cuda, samplers_cuda, select_cuda

    pool, put = Pool(), Buffer._set
    monkeypatch.setattr(Buffer, "_set", lambda self, array: (pool.take(array), put(self, array)) and None)

    def counted(*args):
        pool.launches += 1
        written(*args)

    for module in (samplers_cuda, select_cuda):
        monkeypatch.setattr(module, "launch", counted)
    monkeypatch.setattr(collection_cuda, "SPARE_PAIRS", 2000)
    return pool


def collections(make_graph, budget):
    from gpukit.worlds.collection_cuda import CudaCollection

    reverse = prepare(make_graph(N, [(0, 1)]), "ic")
    one = CudaCollection(reverse, 5, memory=budget)
    return one, CudaCollection(reverse, 5, 1 << 20, memory=budget, graph=one.graph)


def check(one):
    offsets, members = one.export()
    sizes, expected = drawn(one.first, one.size)
    assert np.array_equal(np.diff(offsets), sizes)
    owner = np.repeat(np.arange(one.size), sizes)
    assert np.array_equal(members, expected[np.lexsort((expected, owner))])
    assert np.array_equal(one._counts.array, np.bincount(drawn(one.first, one.drawn)[1], minlength=N))


@pytest.mark.long
@pytest.mark.parametrize("budget", [24 << 20, 100 << 20, 320 << 20])
def test_two_collections_stay_within_the_budget(simulator, make_graph, pool, budget):
    """Both collections double, seeds are chosen in between, and many sets fit before they move to the host."""
    one, two = collections(make_graph, budget)
    pool.limit = budget + (1 << 20)  # the graph, and what grows with the number of seeds
    held, size = 0, 4000
    while size <= 512_000:
        for collection in (one, two):
            collection.extend(size)
        for collection in (one, two):
            if collection._host is None:
                collection._select_on_device(Query(1))
                collection.coverage(np.arange(3))
            held = max(held, 8 * collection._used)
        size *= 2
    assert pool.refused == 0
    assert held > budget // 8 and (None in (one._host, two._host)) == (budget == 320 << 20)
    check(one)
    check(two)


def test_sets_on_the_way_to_the_host_find_room_beside_their_members(simulator, make_graph, pool):
    one, _ = collections(make_graph, 24 << 20)
    one.extend(40_000)
    one._spill()
    one._mean = 1.0
    pairs, (entries, sets, _) = one._most_pairs(one._memory(), 1 << 24), one._held()
    more = int(pairs / one._pairs_of_a_set())
    assert more > sets and 8 * (entries + pairs) + 12 * (sets + more) + 44 * pairs <= one._memory()
    assert pairs > 100_000


@pytest.mark.parametrize("spare", [2000, 1 << 22])
def test_memory_that_is_not_there_after_all(simulator, make_graph, pool, monkeypatch, spare):
    """Another process takes most free memory: sets move to the host, or batches shrink, but not to single sets."""
    from gpukit.worlds import collection_cuda

    monkeypatch.setattr(collection_cuda, "SPARE_PAIRS", spare)
    one, two = collections(make_graph, 24 << 20)
    pool.limit = pool.alive + (5 << 20)
    for size in (4000, 60_000, 250_000):
        one.extend(size)
        two.extend(size)
    assert one._host is not None and two._host is not None
    assert pool.refused > 0 and pool.launches < 1000
    check(one)
    check(two)


def test_collections_that_only_garbage_holds_share_no_memory(simulator, make_graph, pool):
    """Frames of Numba's compiler keep collections alive; unused collections must not reduce the room for sets."""
    from gpukit.worlds.collection_cuda import CudaCollection

    one, two = collections(make_graph, 2_400_000)
    cycle = [CudaCollection(one.reverse, 5, graph=one.graph) for _ in range(6)]
    cycle.append(cycle)
    del cycle
    gc.disable()
    try:
        assert len(one.graph.collections) == 8 and one.graph.spare() < 300_000
        two.extend(300)
    finally:
        gc.enable()
    assert len(one.graph.collections) == 2 and one.graph.spare() > 1_000_000
    check(two)


def test_selections_that_find_no_memory_are_done_on_the_host(simulator, make_graph, pool):
    one, two = collections(make_graph, 100 << 20)
    for bonus in (one, two):
        bonus.extend(40_000)
    expected = one.select(Query(2))
    hits = coverage_of(N, *two.export(), expected.seeds)
    pool.limit = pool.alive + 1000
    found = one.select(Query(2))
    assert np.array_equal(found.seeds, expected.seeds) and np.array_equal(two.coverage(found.seeds), hits)
    assert pool.refused > 0


def test_no_memory_at_all_is_one_line(simulator, make_graph, pool):
    one, _ = collections(make_graph, 24 << 20)
    pool.limit = pool.alive + 1000
    with pytest.raises(DeviceError, match="finds no room on the GPU"):
        one.extend(1000)
