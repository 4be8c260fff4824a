"""kPAR's indexes that follow their graphs: slot tables and paths against plain Python, updates against making anew."""

import math
from dataclasses import fields

import numpy as np
import pytest
from oracles import updates as oracle
from oracles.ppr import exact, kpar

from gpukit.errors import InputError, UsageError
from gpukit.graph.build import build_graph
from gpukit.graph.change import change
from gpukit.graph.csr import Weights
from gpukit.kpar import Params, Prepared, Sources, query, rank
from gpukit.kpar.index.build import Paths, walk_counts
from gpukit.kpar.problem import ONE, Constants
from gpukit.kpar.update import open_index
from gpukit.kpar.update.changes import Changed, Edges
from gpukit.kpar.update.once import updated
from gpukit.kpar.update.open_index import OpenIndex
from gpukit.kpar.update.paths import build_updatable, sizes_of, tables_of
from gpukit.kpar.update.tables_cpu import are_edges, change_tables

PARAMS = Params(epsilon=0.5)
SEED = 2**40 + 5
NONE = Edges.of([], [])


def graph_of(keys, n, **options):
    keys = np.array(sorted(keys), np.int64)
    return build_graph(keys >> 32, keys & 0xFFFFFFFF, ids=False, n=n, **({"weights": Weights("none")} | options))


def keys_of(graph):
    return set((np.repeat(np.arange(graph.n) << 32, np.diff(graph.indptr)) | graph.indices).tolist())


def edges(*pairs):
    return Edges.of(*zip(*pairs, strict=True)) if pairs else NONE


def make(graph, params=PARAMS, **options):
    return build_updatable(graph, sizes_of(graph, rank(graph, params).order, params), params, seed=SEED, **options)


def check_same(found, expected):
    """All arrays are equal, and of equal types."""
    for one in fields(expected):
        if one.name in ("params", "forward", "paths"):
            continue
        a, b = getattr(found, one.name), getattr(expected, one.name)
        assert np.array_equal(a, b) and getattr(a, "dtype", None) == getattr(b, "dtype", None), one.name
    for name, a, b in zip(Paths._fields, found.paths, expected.paths, strict=True):
        assert np.array_equal(a, b) and getattr(a, "dtype", None) == getattr(b, "dtype", None), name


def rebuilt(graph, index):
    return build_updatable(graph, index.paths, index.params, seed=index.seed, hubs=index.hubs is not None)


def table_at(tables, v):
    begin, bits = divmod(int(tables.where[v]), 256)
    slots = tables.slots[begin : begin + (1 << bits if bits else 0)].tolist()
    return [None if head < 0 else head for head in slots]


def test_oracle_knows_philox():
    assert oracle.philox((0,) * 4, (0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    known = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)
    assert oracle.philox(*known) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def test_tables_are_the_oracle_s_whatever_came_before():
    n, generator = 90, np.random.default_rng(5)
    keys = {int(generator.integers(0, 6)) << 32 | int(head) for head in generator.integers(6, n, 150)}
    tables, used = tables_of(graph_of(keys, n), 1, 1 << 14)
    for _ in range(150):
        heads = generator.integers(6, n, int(generator.integers(1, 30)))
        drawn = set((generator.integers(0, 6, len(heads)) << 32 | heads).tolist())
        goes = {key for key in keys & drawn if generator.random() < 0.9} | {
            key for key in sorted(keys)[:: int(generator.integers(2, 40))] if key not in drawn
        }
        comes = drawn - keys
        assert are_edges(np.array(sorted(drawn), np.int64), tables).tolist() == [key in keys for key in sorted(drawn)]
        keys = keys - goes | comes
        changed = Changed.of(*(np.array(sorted(part), np.int64) for part in (comes, goes)), tables.degree.copy())
        changes, used = changed.groups(tables, used)
        change_tables(changes, tables, 0, len(changed.tails))
        if used > len(tables.slots) - 4096:
            tables, used = tables_of(graph_of(keys, n), 1, 1 << 14)
        for v in range(6):
            heads = [key & 0xFFFFFFFF for key in keys if key >> 32 == v]
            assert table_at(tables, v) == oracle.table(v, heads)


@pytest.mark.parametrize(("n", "m"), [(1, 0), (2, 1), (9, 30), (60, 240)])
def test_index_is_the_oracle_s(random_graph, n, m):
    graph = random_graph(n, m, 3)
    index = make(graph, threads=2)
    counts = walk_counts(graph, rank(graph).order, Constants.of(n, graph.m, PARAMS))
    assert np.array_equal(index.walks, counts) and index.updatable
    rows = [graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist() for v in range(n)]
    found = oracle.paths(rows, counts.tolist(), PARAMS.one_minus_alpha, SEED)
    assert index.paths.moves.tolist() == [len(path) - 1 for path in found]
    assert index.paths.vertices.tolist() == [v for path in found for v in path[1:]]
    begin, often = index.src_begin, index.frequent_begin
    for end, (starts, frequencies) in enumerate(oracle.start_lists(found, n)):
        assert index.starts[begin[end] : begin[end + 1]].tolist() == starts
        assert index.frequencies[often[end] : often[end + 1]].tolist() == frequencies


def test_every_edge_is_equally_likely(make_graph):
    """Of walks that go on from a vertex with 11 edges in 32 slots: the chi-square statistic, and π by a dense solve."""
    graph = make_graph(12, [(0, v) for v in range(1, 12)])
    sizes = Paths(1, np.full(12, 100, np.uint8), *make(graph).paths[2:])
    index = build_updatable(graph, sizes, PARAMS, seed=1)
    steps = index.paths.moves > 0
    counts = np.bincount(index.paths.vertices, minlength=12)[1:]
    assert len(steps) > 40_000 and abs(steps.mean() - 0.8) < 5 * math.sqrt(0.16 / len(steps))
    expected = counts.sum() / 11
    assert ((counts - expected) ** 2 / expected).sum() < 10 + 5 * math.sqrt(20)


def test_walks_end_as_personalised_page_rank_says(random_graph):
    graph = random_graph(20, 70, 8)
    sizes = make(graph).paths._replace(factors=np.full(20, 40, np.uint8))
    index = build_updatable(graph, sizes, PARAMS, seed=9)
    begin, ends, freqs = index.forward
    for v in np.flatnonzero(index.walks).tolist():
        pi, walks = exact(graph, np.eye(20)[v]), int(index.walks[v])
        found = np.zeros(20)
        found[ends[begin[v] : begin[v + 1]]] = freqs[begin[v] : begin[v + 1]] / walks
        assert np.all(np.abs(found - pi) <= 5.5 * np.sqrt(pi * (1 - pi) / walks) + 1e-12)


def test_queries_are_the_oracle_s(random_graph):
    graph = random_graph(40, 160, 6)
    index = updated(graph, make(graph), Changed.between(graph, edges((1, 2), (3, 5)), edges((0, 1))))[0]
    graph = graph_of(keys_of(graph) - {1} | {1 << 32 | 2, 3 << 32 | 5}, 40)
    ready = Prepared.of(graph, index)
    found = query(ready, Sources.single([0, 7]), 6)
    steps = ready.schedule(6, False)[0]
    for q, source in enumerate((0, 7)):
        part = slice(found.offsets[q], found.offsets[q + 1])
        expected, _ = kpar(graph, ready.index, steps, float(ready.constants.delta_min), {source: ONE}, 6)
        assert list(zip(found.nodes[part].tolist(), found.scores[part].tolist(), strict=True)) == expected


@pytest.fixture(params=["as it is", "no room, many threads"])
def ways(request, monkeypatch):
    """Let pools move all the time, and small batches be shared among threads, too."""
    if request.param != "as it is":
        monkeypatch.setattr(open_index, "SPARE", 0)
        monkeypatch.setattr(open_index, "ALONE", -1)
        monkeypatch.setattr(open_index, "_OPENED_AT_ONCE", 64)
        monkeypatch.setattr(open_index, "AT_ONCE", 3)


@pytest.mark.parametrize(("n", "m", "batches"), [(2, 1, 12), (5, 8, 25), (60, 240, 25)])
def test_any_updates_give_what_is_made_anew(ways, n, m, batches):
    generator = np.random.default_rng(n)
    keys = set(list({int(u) << 32 | int(v) for u, v in generator.integers(0, n, (4 * m, 2)) if u != v})[:m])
    graph = graph_of(keys, n)
    index = make(graph, hubs=True)
    following = OpenIndex(graph, index, 3)
    check_same(following.index(), index)
    for batch in range(batches):
        size = int(generator.integers(1, 4 * n if batch % 4 == 3 else 6))
        comes = Edges.of(*generator.integers(0, n, (2, size)))
        there = np.setdiff1d(np.array(sorted(keys), np.int64), comes.keys)
        goes = Edges(there[generator.random(len(there)) < size / (2 * len(keys) + 1)], 0)
        changed = Changed.between(graph, comes, goes)
        also, redrawn = following.update(comes, goes)
        assert np.array_equal(also.keys, changed.keys) and np.array_equal(also.adds, changed.adds)
        once, count = updated(graph, index, changed, 2)
        assert count == redrawn
        graph = change(graph, changed.keys[changed.adds], changed.keys[~changed.adds])
        keys = (keys | set(comes.keys.tolist())) - set(goes.keys.tolist())
        assert keys_of(graph) == keys and following.m == graph.m
        expected = rebuilt(graph, index)
        check_same(once, expected)
        check_same(following.index(), expected)
        index = once


def test_order_and_batches_do_not_matter(random_graph):
    graph = random_graph(30, 90, 2)
    index = make(graph)
    generator = np.random.default_rng(4)
    comes = np.setdiff1d(Edges.of(*generator.integers(0, 30, (2, 80))).keys, list(keys_of(graph)))
    goes = generator.permutation(sorted(keys_of(graph)))[:60]
    at_once = OpenIndex(graph, index)
    at_once.update(Edges(comes, 0), Edges(np.sort(goes), 0))
    one_by_one = OpenIndex(graph, index)
    for key, is_new in generator.permutation([(key, 1) for key in comes] + [(key, 0) for key in goes]).tolist():
        one = Edges(np.array([key]), 0)
        assert one_by_one.update(*((one, NONE) if is_new else (NONE, one)))[0].added == is_new
    check_same(one_by_one.index(), at_once.index())


def test_back_again_is_as_before(random_graph):
    graph = random_graph(25, 60, 7)
    index = make(graph)
    following = OpenIndex(graph, index)
    everything, fresh = Edges(np.array(sorted(keys_of(graph))), 0), edges((0, 1), (0, 2), (24, 3), (5, 6), (6, 5))
    fresh = Edges(np.setdiff1d(fresh.keys, everything.keys), 0)
    following.update(fresh, NONE)
    following.update(NONE, fresh)
    check_same(following.index(), index)
    changed, _ = following.update(NONE, everything)
    assert changed.removed == graph.m and following.index().total == 0
    following.update(everything, NONE)
    check_same(following.index(), index)


def test_dangling_vertices_gain_and_lose_their_only_edge(make_graph):
    graph = make_graph(4, [(0, 1), (2, 0), (2, 1)])
    index = make(graph)
    following = OpenIndex(graph, index)
    following.update(edges((1, 3)), NONE)
    grown = following.index()
    assert grown.walks[1] > 0 and 3 in grown.paths.vertices
    check_same(grown, rebuilt(make_graph(4, [(0, 1), (1, 3), (2, 0), (2, 1)]), index))
    following.update(NONE, edges((0, 1)))
    check_same(following.index(), rebuilt(make_graph(4, [(1, 3), (2, 0), (2, 1)]), index))
    following.update(edges((0, 1)), edges((1, 3)))
    check_same(following.index(), index)


def test_what_is_no_news_counts_and_changes_nothing(make_graph):
    graph = make_graph(4, [(0, 1), (1, 2), (2, 0)])
    index = make(graph)
    following = OpenIndex(graph, index)
    comes, goes = edges((0, 1), (0, 1), (3, 3), (1, 2)), edges((3, 0), (0, 0))
    assert (len(comes.keys), comes.loops, goes.loops) == (2, 1, 1)
    changed, redrawn = following.update(comes, goes)
    assert (changed.added, changed.removed, redrawn) == (0, 0, 0)
    check_same(following.index(), index)
    check_same(updated(graph, index, changed)[0], index)
    for refused in (following.update, lambda *both: Changed.between(graph, *both)):
        with pytest.raises(InputError, match="1 edges are to be both added and removed"):
            refused(edges((3, 0), (1, 0)), edges((3, 0)))
    both = Edges.of([0, 2], [1, 2], both_ways=True)
    assert both.keys.tolist() == [1, 1 << 32] and both.loops == 1


def test_what_an_updatable_index_cannot_be(make_graph):
    graph = make_graph(3, [(0, 1)], Weights("const", 0.5))
    for params, words in ((Params(weighted=True), "takes all edges alike"), (Params(0.001), "needs at least 0.01")):
        with pytest.raises(UsageError, match=words):
            build_updatable(graph, make(graph).paths, params)
    plain = make(graph)
    with pytest.raises(InputError, match="was not made for updates"):
        OpenIndex(graph, type(plain)(**{**vars(plain), "paths": None}))


def test_a_broken_off_update_is_the_last(make_graph, monkeypatch):
    following = OpenIndex(graph := make_graph(3, [(0, 1)]), make(graph))

    def broken(*_):
        raise MemoryError

    monkeypatch.setattr(open_index, "all_changed_visits", broken)
    with pytest.raises(MemoryError):
        following.update(edges((1, 2)), NONE)
    for refused in (following.index, lambda: following.update(NONE, NONE)):
        with pytest.raises(UsageError, match="was broken off"):
            refused()


@pytest.mark.parametrize("options", [
    {"weights": Weights("wc")}, {"weights": Weights("trivalency", seed=5)},
    {"weights": Weights("uniform", seed=5, low=0.1, high=0.4)}, {"weights": Weights("const", 0.5), "transpose": False},
])  # fmt: skip
def test_changed_graph_is_as_if_imported(options):
    generator = np.random.default_rng(3)
    keys = {int(u) << 32 | int(v) for u, v in generator.integers(0, 20, (60, 2)) if u != v}
    graph = graph_of(keys, 20, **options)
    comes, goes = {1 << 32 | 19, 19 << 32, 7 << 32 | 8} - keys, set(sorted(keys)[::5])
    found = change(graph, *(np.array(sorted(part)) for part in (comes, goes)))
    expected = graph_of(keys - goes | comes, 20, **options)
    for one in fields(expected):
        a, b = getattr(found, one.name), getattr(expected, one.name)
        if one.name == "facts":
            assert all(a[name] == b[name] for name in ("isolated", "dangling", "max_in_degree", "max_out_degree"))
        else:
            assert np.array_equal(a, b) if isinstance(b, np.ndarray) else a == b, one.name


def test_edges_with_probabilities_of_their_own_only_go():
    graph = build_graph(np.array([0, 0, 1]), np.array([1, 2, 2]), w=np.array([0.5, 0.25, 1]), weights=Weights("file"))
    found = change(graph, np.empty(0, np.int64), np.array([1]))
    assert found.probabilities.tolist() == [2**30 - 1, 2**32 - 1] and found.indices.tolist() == [2, 2]
    with pytest.raises(InputError, match="have probabilities of their own"):
        change(graph, np.array([2 << 32]), np.empty(0, np.int64))
