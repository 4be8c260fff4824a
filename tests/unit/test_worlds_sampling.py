"""RR sets on the CPU: their distribution against enumeration, and equality for any split of the work."""

from collections import Counter

import numpy as np
import pytest
from oracles.statistics import check_cells
from oracles.worlds import mask_of, rr_distribution

from gpukit.device import memory
from gpukit.errors import DeviceError, InputError, UsageError
from gpukit.graph.csr import Weights
from gpukit.worlds import collection as worlds_collection
from gpukit.worlds.collection import CpuCollection, Query, select_from, shared_out
from gpukit.worlds.reverse import prepare

RUNS = 60_000
CASES = [
    ("ic", Weights()),
    ("ic", Weights("const", 0.1)),
    ("ic", Weights("const", 0.4)),
    ("ic", Weights("trivalency", seed=8)),
    ("ic", Weights("uniform", seed=8, low=0.0, high=0.6)),
    ("lt", Weights()),
    ("lt", Weights("const", 0.15)),
]
DENSE = [(u, 6) for u in range(6)] + [(6, 0), (0, 5), (6, 5)]
"""Vertex 6 has 6 in-edges: enough for a table of the binomial distribution."""


def sets_of(collection):
    offsets, members = collection.export()
    return [members[low:high].tolist() for low, high in zip(offsets, offsets[1:], strict=False)]


@pytest.mark.parametrize("sampler", ["skip", "scan"])
@pytest.mark.parametrize(("model", "weights"), CASES)
def test_sets_follow_the_exact_distribution(make_graph, model, weights, sampler):
    """Frequencies of whole RR sets, within the bound of ``check_cells`` (false alarm below 1e-6)."""
    graph = make_graph(7, DENSE, weights)
    collection = CpuCollection(prepare(graph, model, sampler), seed=11)
    collection.extend(RUNS)
    counts = Counter(mask_of(members) for members in sets_of(collection))
    check_cells(counts, rr_distribution(graph, model))


def test_explicit_probabilities_and_weighted_roots(make_graph):
    edges = [
        (0, 5, 0.9),
        (1, 5, 0.2),
        (2, 5, 0.01),
        (3, 5, 0.012),
        (4, 5, 0.011),
        (6, 5, 0.013),
        (7, 5, 0.014),
        (5, 0, 1.0),
    ]
    graph = make_graph(8, edges)
    roots = np.array([0, 0, 3, 0, 0, 9, 1, 0])
    collection = CpuCollection(prepare(graph, "ic", root_weights=roots), seed=4)
    collection.extend(RUNS)
    counts = Counter(mask_of(members) for members in sets_of(collection))
    check_cells(counts, rr_distribution(graph, "ic", roots))


@pytest.mark.parametrize("model", ["ic", "lt"])
@pytest.mark.parametrize("rounds", [1, 3])
def test_sets_do_not_depend_on_the_split(random_graph, model, rounds):
    graph = random_graph(300, 2000, 5)
    reverse = prepare(graph, model, rounds=rounds)
    whole = CpuCollection(reverse, seed=3)
    whole.extend(2500)
    steps = CpuCollection(reverse, seed=3, threads=2)
    for size in (1, 700, 701, 2500):
        steps.extend(size)
    later = CpuCollection(reverse, seed=3, first=1000)
    later.extend(1500)
    for a, b in zip(whole.export(), steps.export(), strict=True):
        assert np.array_equal(a, b)
    assert sets_of(whole)[1000:] == sets_of(later)
    assert whole.members() == len(whole.export()[1])


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_slices_are_reported_and_change_nothing(random_graph, monkeypatch, kept, threads):
    graph = random_graph(300, 1500, 5, Weights("const", 0.1))
    reverse = prepare(graph, "ic", kept=kept)
    whole, reported = CpuCollection(reverse, 3), []
    whole.extend(20_000)
    monkeypatch.setattr(worlds_collection, "SLICE", 5000)
    monkeypatch.setattr(worlds_collection, "PARALLEL", 0)
    sliced = CpuCollection(reverse, 3, 0, threads)
    sliced.extend(3000)
    sliced.extend(20_000, reported.append)
    assert sets_of(whole) == sets_of(sliced)
    assert len(reported) > 4 and reported == sorted(reported)
    assert 3000 < reported[0] < 10_000 and reported[-1] == sliced.drawn >= 20_000


@pytest.mark.parametrize("sets", [2500, 2777])
@pytest.mark.parametrize(("kept", "rounds"), [(True, 1), (False, 3)])
def test_choice_does_not_depend_on_who_has_which_sets(random_graph, monkeypatch, kept, rounds, sets):
    """Threads that draw interleaved pieces, some of them ahead of what counts, and choose each from its own."""
    monkeypatch.setattr(worlds_collection, "PARALLEL", 0)
    monkeypatch.setattr(worlds_collection, "TASK", 100)
    monkeypatch.setattr(worlds_collection, "SELECTORS", 3)
    graph = random_graph(300, 1500, 5, Weights("const", 0.1))
    reverse = prepare(graph, "ic", kept=kept, rounds=rounds)
    alone, shared = CpuCollection(reverse, seed=3), CpuCollection(reverse, seed=3, threads=5)
    alone.extend(sets)
    for size in (600, 601, sets):
        shared.extend(size)
    shared.size = alone.size = 2500
    query = Query(6, forced=np.array([7, 2], np.int32), bounds=True)
    one = alone.select(query)
    hits = alone.coverage(one.seeds)
    for limit, workers in ((0, 3), (10**9, 1)):
        monkeypatch.setattr(worlds_collection, "PARALLEL_SELECTION", limit)
        assert len(shared._shares().ranges) == workers
        other = shared.select(query)
        for what in ("seeds", "gains", "largest"):
            assert np.array_equal(getattr(one, what), getattr(other, what))
        assert shared.coverage(one.seeds).tolist() == hits.tolist() == [0, *np.cumsum(one.gains)]
    totals = np.bincount(shared.export()[1], minlength=reverse.elements)
    assert shared._shares().totals().tolist() == totals.tolist()


@pytest.mark.parametrize("rounds", [1, 3])
def test_choice_from_sets_that_are_shared_out(random_graph, monkeypatch, rounds):
    """Each of several threads has about as many members; more threads than sets leave some without any."""
    reverse = prepare(random_graph(300, 1500, 5, Weights("const", 0.1)), "ic", rounds=rounds)
    alone, query = CpuCollection(reverse, seed=3), Query(6, forced=np.array([7, 2], np.int32), bounds=True)
    monkeypatch.setattr(worlds_collection.numba, "get_num_threads", lambda: 5)
    for sets, limit in ((1000, 0), (3, 0), (1000, 10**9)):
        monkeypatch.setattr(worlds_collection, "PARALLEL_SELECTION", limit)
        alone.extend(sets)
        alone.size = sets
        offsets, members = alone.export()
        expected = alone.select(query)
        with shared_out(offsets, members, reverse.elements) as shares:
            assert len(shares.ranges) == (5 if limit == 0 else 1)
            assert shares.totals().tolist() == np.bincount(members, minlength=reverse.elements).tolist()
            found = select_from(reverse, offsets, members, shares, query)
        for what in ("seeds", "gains", "largest"):
            assert np.array_equal(getattr(expected, what), getattr(found, what))


def test_rounds_are_independent_searches_from_one_root(random_graph):
    graph = random_graph(100, 500, 9)
    one, three = (CpuCollection(prepare(graph, "ic", rounds=t), seed=1) for t in (1, 3))
    one.extend(400)
    three.extend(400)
    parts = [[[e % 100 for e in members if e // 100 == t] for members in sets_of(three)] for t in range(3)]
    assert parts[0] == sets_of(one)
    assert parts[1] != parts[0]
    for first, second in zip(parts[0], parts[1], strict=True):
        assert set(first) & set(second)


@pytest.mark.parametrize(
    ("n", "edges"), [(1, []), (4, []), (2, [(0, 1)]), (40, [(0, v) for v in range(1, 40)]), (9, [(8, 0)])]
)
def test_small_graphs(make_graph, n, edges):
    graph = make_graph(n, edges)
    for model in ("ic", "lt"):
        collection = CpuCollection(prepare(graph, model), seed=0)
        collection.extend(300)
        for members in sets_of(collection):
            assert 1 <= len(members) == len(set(members)) and members == sorted(members)
            assert 0 <= members[0] and members[-1] < n


def test_certain_edges_are_always_live(make_graph):
    """A cycle of probability 1: every set is the whole graph; a clique under p = 1 likewise."""
    cycle = make_graph(50, [(v, (v + 1) % 50) for v in range(50)])
    clique = make_graph(80, [(u, v) for u in range(80) for v in range(80) if u != v], Weights("const", 1.0))
    for graph in (cycle, clique):
        collection = CpuCollection(prepare(graph, "ic"), seed=0)
        collection.extend(30)
        assert all(len(members) == graph.n for members in sets_of(collection))


def test_refusals(make_graph):
    graph = make_graph(3, [(0, 2), (1, 2)], Weights("const", 0.7))
    with pytest.raises(InputError, match="vertex 2"):
        prepare(graph, "lt")
    with pytest.raises(UsageError, match="model"):
        prepare(graph, "sir")
    with pytest.raises(UsageError, match="sampler"):
        prepare(graph, "ic", "fast")
    with pytest.raises(UsageError, match="rounds"):
        prepare(graph, "ic", rounds=0)
    with pytest.raises(UsageError, match="root weights"):
        prepare(graph, "ic", root_weights=np.zeros(3, np.int64))
    with pytest.raises(UsageError, match="2\\*\\*48"):
        CpuCollection(prepare(graph, "ic"), seed=0, first=2**48 - 5).extend(6)


def test_sets_that_do_not_fit_are_not_drawn(random_graph, monkeypatch):
    free = []
    monkeypatch.setattr(memory, "host_free_bytes", lambda: free.pop())
    collection = CpuCollection(prepare(random_graph(200, 800, 1), "ic"), seed=5)
    collection.extend(200_000)  # little memory: nobody asks what is free
    held = 8 * 200_000 + 4 * collection.members()
    monkeypatch.setattr(memory, "UNASKED", 0)
    free.append(3 * held - 4)
    with pytest.raises(DeviceError, match="400,000 RR sets .* free on this machine; draw fewer"):
        collection.extend(400_000)
    assert collection.size == 200_000
    free.append(3 * held)
    collection.extend(400_000)
    assert 8 * 400_000 + 4 * collection.members() == pytest.approx(2 * held, rel=0.01)
    first = CpuCollection(collection.reverse, seed=5, threads=2)
    monkeypatch.setattr(memory, "UNASKED", 1 << 28)
    free.append(1 << 40)
    with pytest.raises(DeviceError, match="100,000,000,000 RR sets"):
        first.extend(10**11)
    assert first.size == worlds_collection.TASK
    first.extend(400_000)
    for one, other in zip(first.export(), collection.export(), strict=True):
        np.testing.assert_array_equal(one, other)
