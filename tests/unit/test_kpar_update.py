"""kPAR's indexes that follow their graphs: slot tables and paths against plain Python, updates against making anew."""

import math
from dataclasses import fields

import numpy as np
import pytest
from oracles import updates as oracle
from oracles.ppr import exact, kpar

from gpukit.errors import InputError, UsageError
from gpukit.graph.build import build_graph
from gpukit.graph.change import Vertices, change
from gpukit.graph.csr import Weights
from gpukit.kpar import Params, Prepared, Sources, query, rank
from gpukit.kpar.index.build import Paths, walk_counts
from gpukit.kpar.problem import ONE, Constants
from gpukit.kpar.spaced import spaced_in_edges
from gpukit.kpar.update import open_index, patched
from gpukit.kpar.update.changes import Edges, Noted
from gpukit.kpar.update.open_index import OpenIndex
from gpukit.kpar.update.paths import build_updatable, sizes_of
from gpukit.kpar.update.tables_cpu import ADD, REMOVE, WEIGH

pytestmark = pytest.mark.long

PARAMS = Params(epsilon=0.5)
SEED = 2**40 + 5
NONE = Edges.of([], [])


WEIGHTED = Params(weighted=True)


def graph_of(keys, n, **options):
    """Return the graph of edges by tail << 32 | head; of a dict, the weights less one in units of 2**-32."""
    ends = np.array(sorted(keys), np.int64)
    if isinstance(keys, dict):
        words = np.array([keys[key] for key in ends.tolist()], np.float64)
        options = {"weights": Weights("file"), "w": (words + 1) / 2**32} | options
    return build_graph(ends >> 32, ends & 0xFFFFFFFF, ids=False, n=n, **({"weights": Weights("none")} | options))


def keys_of(graph):
    return set((np.repeat(np.arange(graph.n) << 32, np.diff(graph.indptr)) | graph.indices).tolist())


def edges(*pairs):
    return Edges.of(*zip(*pairs, strict=True)) if pairs else NONE


def weighed(keys):
    """Return edges with the weights, less one, that a dict has."""
    return Edges(np.array(sorted(keys), np.int64), 0, np.array([keys[key] for key in sorted(keys)], np.uint32))


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
    """Return the slots of a table as the oracle has them."""
    begin, unit, bits = int(tables.where[v]) >> 16, int(tables.where[v]) >> 8 & 255, int(tables.where[v]) & 255
    slots = tables.slots[begin : begin + (1 << bits if bits else 0)].tolist()
    words = tables.weights[begin : begin + len(slots)].tolist() or [0] * len(slots)
    return [
        None
        if slot == -1
        else (slot, word % (1 << unit) + 1, 1 << unit)
        if slot >= 0
        else (-2 - slot, *[1 << unit] * 2)
        for slot, word in zip(slots, words, strict=True)
    ]


def test_oracle_knows_philox():
    assert oracle.philox((0,) * 4, (0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    known = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)
    assert oracle.philox(*known) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def a_word(generator):
    """Return a weight less one: of any size, often the same as others, at times the least or the most."""
    return int(generator.choice([0, 2**32 - 1, 2**20, int(2 ** generator.uniform(0, 32)) - 1]))


class Random:
    """A graph in rows as updates change it, and updates at random."""

    def __init__(self, n, m, seed, weighted):
        self.generator, self.weighted = np.random.default_rng(seed), weighted
        self.rows, self.names, self.edges = list(range(n)), list(range(n)), {}
        self.edges = {key: self.word() for key in self.keys(m)}

    def word(self):
        return a_word(self.generator) if self.weighted else 0

    def keys(self, m):
        pairs = self.generator.choice(self.rows, (m, 2)).tolist() if self.rows else []
        return [u << 32 | v for u, v in pairs if u != v]

    def edges_as_given(self):
        return self.edges if self.weighted else set(self.edges)

    def graph(self, order):
        """Return the graph whose vertices are rows in this order."""
        place = {row: number for number, row in enumerate(order)}
        keys = {place[key >> 32] << 32 | place[key & 0xFFFFFFFF]: word for key, word in self.edges.items()}
        return graph_of(keys if self.weighted else set(keys), len(order))

    def update(self, size, vertices):
        """Return what is to come, go and be weighed, the names of new vertices and the rows of those that leave."""
        generator = self.generator
        leave = [row for row in self.rows if generator.random() < 0.5 / len(self.rows)] if vertices else []
        come = [2**63 | int(name) for name in generator.integers(0, 2**63, int(generator.integers(0, 3) * vertices))]
        self.rows = [row for row in self.rows if row not in leave] + list(
            range(len(self.names), len(self.names) + len(come))
        )
        self.names += come
        add = {key: self.word() for key in self.keys(size)}
        kept = [key for key in self.edges if key not in add and {key >> 32, key & 0xFFFFFFFF}.isdisjoint(leave)]
        goes = {key for key in self.edges if key not in add and generator.random() < size / (2 * len(self.edges))}
        weigh = (
            {key: self.word() for key in kept if key not in goes and generator.random() < 0.1} if self.weighted else {}
        )
        self.edges = (
            {key: self.edges[key] for key in kept if key not in goes}
            | {key: self.edges.get(key, word) for key, word in add.items()}
            | {key: self.edges[key] for key in add if key in self.edges}
            | weigh
        )
        told = weighed(add) if self.weighted else Edges(np.array(sorted(add), np.int64), 0)
        return (told, Edges(np.array(sorted(goes), np.int64), 0), weighed(weigh)), {"come": come, "leave": leave}


@pytest.mark.parametrize("weighted", [False, True])
def test_tables_are_the_oracle_s_whatever_came_before(weighted):
    world = Random(40, 150, 5, weighted)
    graph = world.graph(range(40))
    following = OpenIndex(graph, make(graph, WEIGHTED if weighted else PARAMS))
    for _ in range(60):
        edges, vertices = world.update(int(world.generator.integers(1, 30)), 1)
        following.update(*edges, **vertices)
        keys = np.unique(np.array(world.keys(20) + list(world.edges)[:20], np.int64))
        there, words = following.words_of(keys)
        assert there.tolist() == [key in world.edges for key in keys.tolist()]
        assert words.tolist() == [world.edges.get(key, 0) for key in keys.tolist()]
        for v in range(len(world.names)):
            row = {key & 0xFFFFFFFF: word + 1 for key, word in world.edges.items() if key >> 32 == v}
            assert table_at(following.tables, v) == oracle.table(v, row, world.names)
            assert following.tables.degree[v] == len(row) and following.tables.weight[v] == sum(row.values())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_walks_are_the_oracle_s(weighted, named):
    world = Random(30, 120, 8, weighted)
    graph, params = world.graph(range(30)), WEIGHTED if weighted else PARAMS
    names = np.random.default_rng(1).integers(0, 2**63, 30).astype(np.uint64) | np.uint64(2**63) if named else None
    index = build_updatable(graph, make(graph, params).paths._replace(names=names), params, seed=SEED)
    rows = [{key & 0xFFFFFFFF: word + 1 for key, word in world.edges.items() if key >> 32 == v} for v in range(30)]
    found = oracle.paths(rows, index.walks, params.one_minus_alpha, SEED, names.tolist() if named else None)
    assert index.paths.moves.tolist() == [len(path) - 1 for path in found]
    assert index.paths.vertices.tolist() == [v for path in found for v in path[1:]]


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


def test_edges_are_as_likely_as_their_weights():
    """Of walks that go on from a vertex whose edges weigh from 2**-32 to 1: the chi-square statistic."""
    words = {head: 2 ** (head * 3) - 1 for head in range(1, 11)} | {11: 2**32 - 1, 12: 3 * 2**30}
    graph = graph_of(words, 13)
    sizes = make(graph, WEIGHTED).paths._replace(sized_for=1, factors=np.full(13, 100, np.uint8))
    index = build_updatable(graph, sizes, WEIGHTED, seed=1)
    counts = np.bincount(index.paths.vertices, minlength=13)[1:]
    share = np.array([words[head] + 1 for head in range(1, 13)], np.float64)
    expected = counts.sum() * share / share.sum()
    large = expected > 5
    assert counts.sum() > 40_000 and large.sum() >= 4 and counts[~large].sum() < 60
    assert ((counts - expected) ** 2 / expected)[large].sum() < large.sum() + 5 * math.sqrt(2 * large.sum())


@pytest.mark.parametrize("weighted", [False, True])
def test_walks_end_as_personalised_page_rank_says(weighted):
    graph, params = Random(20, 70, 8, weighted).graph(range(20)), WEIGHTED if weighted else PARAMS
    sizes = make(graph, params).paths._replace(factors=np.full(20, 40, np.uint8))
    index = build_updatable(graph, sizes, params, seed=9)
    begin, ends, freqs = index.forward
    for v in np.flatnonzero(index.walks).tolist():
        pi, walks = (
            exact(graph, np.eye(20)[v], weights=graph.probabilities + 1.0 if weighted else None),
            int(index.walks[v]),
        )
        found = np.zeros(20)
        found[ends[begin[v] : begin[v + 1]]] = freqs[begin[v] : begin[v + 1]] / walks
        assert np.all(np.abs(found - pi) <= 5.5 * np.sqrt(pi * (1 - pi) / walks) + 1e-12)


def test_queries_are_the_oracle_s(random_graph):
    graph = random_graph(40, 160, 6)
    following = OpenIndex(graph, make(graph))
    following.update(edges((1, 2), (3, 5)), edges((0, 1)))
    index = following.index()
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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "m", "batches"), [(2, 1, 12), (5, 8, 25), (60, 240, 25)])
def test_any_updates_give_what_is_made_anew(ways, n, m, batches, weighted):
    world = Random(n, m, n, weighted)
    graph, params = world.graph(range(n)), WEIGHTED if weighted else PARAMS
    index = make(graph, params, hubs=True)
    following = OpenIndex(graph, index, 3)
    check_same(following.index(), index)
    for batch in range(batches):
        edges, vertices = world.update(int(world.generator.integers(1, 4 * n if batch % 4 == 3 else 6)), batch % 2)
        following.update(*edges, **vertices)
        order = world.generator.permutation(world.rows) if batch % 3 else np.array(world.rows)
        graph = world.graph(order.tolist())
        found = following.index(order)
        assert following.m == graph.m
        names = found.paths.names if found.paths.names is not None else np.arange(graph.n)
        assert names.tolist() == [world.names[row] for row in order]
        check_same(found, rebuilt(graph, found))
        if batch % 5 == 4:  # opened again
            following = OpenIndex(graph, found, 2)
            world.names = names.tolist()
            place = {row: number for number, row in enumerate(order.tolist())}
            world.rows = list(range(graph.n))
            world.edges = {place[key >> 32] << 32 | place[key & 0xFFFFFFFF]: word for key, word in world.edges.items()}


def check_same_rows(found, expected, lists):
    """Rows with gaps between them hold what rows end to end hold; ``lists`` has the names of each kind."""
    for begin, until, *columns in lists:
        ends = [(getattr(one, begin), getattr(one, until)) for one in (found, expected)]
        assert len(ends[0][0]) == len(ends[0][1]) + 1, "as of rows end to end, so that compiled code serves both"
        for v in range(len(ends[0][1])):
            first, second = (slice(low[v], high[v]) for low, high in ends)
            for column in columns:
                a, b = getattr(found, column)[first].tolist(), getattr(expected, column)[second].tolist()
                assert a == b, (column, v)


def check_same_prepared(found, graph, index):
    """What queries read is what it would be if it were made anew; start lists hold the same in another order."""
    expected = Prepared.of(graph, index)
    (edges, walks), (old_edges, old_walks) = found.rows(), expected.rows()
    check_same_rows(edges, old_edges, [("indptr", "until", "indices")])
    check_same_rows(walks, old_walks, [("row_begin", "row_until", "row_ends", "row_freqs")])
    for v in range(graph.n):
        low, high, often = old_walks.src_begin[v], old_walks.src_until[v], old_walks.frequent_begin[v]
        counts = np.ones(high - low, int)
        counts[: old_walks.frequent_until[v] - often] = old_walks.frequencies[often : old_walks.frequent_until[v]]
        here = slice(walks.src_begin[v], walks.src_until[v])
        assert walks.starts[here].tolist() == sorted(old_walks.starts[low:high].tolist())
        assert dict(zip(walks.starts[here].tolist(), walks.frequencies[here].tolist(), strict=True)) == dict(
            zip(old_walks.starts[low:high].tolist(), counts.tolist(), strict=True)
        )
    for name in ("counts", "arrivals", "by_arrivals"):
        a, b = getattr(walks, name), getattr(old_walks, name)
        assert np.array_equal(a, b) and a.dtype == b.dtype, name
    if expected.chances is not None:
        for v in range(graph.n):
            a = found.chances[edges.indptr[v] : edges.until[v]]
            assert np.array_equal(a[:-1], expected.chances[graph.indptr[v] : graph.indptr[v + 1]][:-1])
    in_edges, whole = found.in_edges(), spaced_in_edges(expected.in_edges())
    check_same_rows(in_edges, whole, [("begin", "until", "tails")])
    assert np.array_equal(in_edges.prices, whole.prices)
    return expected


@pytest.mark.parametrize("spare", [0.5, 0.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "m"), [(3, 2), (40, 160)])
def test_queries_follow_updates_row_by_row(n, m, weighted, spare, monkeypatch):
    """After each update, rows and answers are those of an index made anew; what was prepared before stays as it was."""
    monkeypatch.setattr(patched, "SPARE", spare)  # 0: rows move to new arrays at each update
    world = Random(n, m, n, weighted)
    graph, params = world.graph(range(n)), WEIGHTED if weighted else PARAMS
    index, sources, k = make(graph, params), Sources.single(range(n)), min(n, 5)
    following = OpenIndex(graph, index, 2)
    now = patched.Patched.from_whole(Prepared.of(graph, index))
    following.noted, before = Noted(10**9), []
    for batch in range(15):
        for _ in range(1 + batch % 3):  # several updates before a query
            following.update(*world.update(int(world.generator.integers(1, 6)), False)[0])
        if not following.noted.edges:
            continue
        now = now.after(following.noted, following.tables, following.counts, np.arange(n))
        following.noted = Noted(10**9)
        graph = world.graph(range(n))
        expected = check_same_prepared(now, graph, following.index())
        for refine in (True, False):
            answers = [one.query(sources, k, refine=refine, threads=2) for one in (now, expected)]
            for name in ("offsets", "nodes", "scores", "steps", "certain"):
                assert np.array_equal(getattr(answers[0], name), getattr(answers[1], name)), name
            assert all(np.array_equal(a, b) for a, b in zip(*(one.traces for one in answers), strict=True))
        before.append((now, now.query(sources, k)))
    for one, answer in before:
        again = one.query(sources, k)
        assert np.array_equal(again.nodes, answer.nodes) and np.array_equal(again.scores, answer.scores)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_update_of_an_index_opened_for_it(weighted):
    """Only the walks through what changes are listed, and the result is that of an index opened for many updates."""
    world = Random(40, 160, 9, weighted)
    graph = world.graph(range(40))
    index = make(graph, WEIGHTED if weighted else PARAMS)
    edges, vertices = world.update(12, True)
    while not vertices["leave"]:
        world = Random(40, 160, int(world.generator.integers(1000)), weighted)
        graph = world.graph(range(40))
        index = make(graph, WEIGHTED if weighted else PARAMS)
        edges, vertices = world.update(12, True)
    found = []
    for once in (True, False):
        following = OpenIndex(graph, index, 2, once=once)
        changed, redrawn = following.update(*edges, **vertices)
        found.append((following.index(np.array(world.rows)), changed.keys.tolist(), redrawn))
        if once:
            with pytest.raises(UsageError, match="opened for one update"):
                following.update(NONE, NONE)
    check_same(found[0][0], found[1][0])
    assert found[0][1:] == found[1][1:]


def test_many_changes_are_not_noted(random_graph):
    graph = random_graph(30, 90, 2)
    following = OpenIndex(graph, make(graph))
    following.note()
    left = following.noted.left
    assert left == following.counts.sum() // open_index.WALKS_PER_NOTE > 0
    goes = np.array(sorted(keys_of(graph)))
    following.update(NONE, Edges(goes[:1], 0))
    assert [one.keys.tolist() for one in following.noted.edges] == [goes[:1].tolist()] and following.noted.left < left
    following.update(NONE, Edges(goes[1:], 0))
    assert following.noted is None


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
        assert one_by_one.update(*((one, NONE) if is_new else (NONE, one)))[0].count(ADD) == is_new
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
    assert changed.count(REMOVE) == graph.m and following.index().total == 0
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
    assert (len(changed.keys), changed.already_there, changed.not_there, redrawn) == (0, 2, 1, 0)
    check_same(following.index(), index)
    with pytest.raises(InputError, match="1 edges are to be both added and removed"):
        following.update(edges((3, 0), (1, 0)), edges((3, 0)), come=[2**63])
    assert following.n == 4
    both = Edges.of([0, 2], [1, 2], both_ways=True)
    assert both.keys.tolist() == [1, 1 << 32] and both.loops == 1
    with pytest.raises(InputError, match="given twice, with two weights"):
        Edges.of([0, 1], [1, 0], np.array([5, 6], np.uint32), both_ways=True)
    with pytest.raises(InputError, match="has an end that is to be removed"):
        following.update(edges((3, 0)), NONE, leave=[3])


def test_weights_back_again_are_as_before():
    world = Random(30, 200, 3, True)
    graph = world.graph(range(30))
    index = make(graph, WEIGHTED)
    following = OpenIndex(graph, index)
    changed, redrawn = following.update(NONE, NONE, weighed(world.edges))
    assert len(changed.keys) == redrawn == changed.not_there == 0
    key = next(iter(world.edges))
    other = {key: world.edges[key] ^ 1}
    changed, redrawn = following.update(NONE, NONE, weighed(other | {key ^ 1: 5}))
    assert changed.count(WEIGH) == 1 and changed.not_there == int(key ^ 1 not in world.edges)
    following.update(NONE, NONE, weighed({one: world.edges[one] for one in changed.keys.tolist()}))
    check_same(following.index(), index)
    following.update(NONE, NONE, leave=range(30))
    assert following.m == 0 and following.index().total == 0


def test_what_an_updatable_index_cannot_be(make_graph):
    graph = make_graph(3, [(0, 1)], Weights("const", 0.5))
    with pytest.raises(UsageError, match="needs at least 0.01"):
        build_updatable(graph, make(graph).paths, Params(0.001))
    with pytest.raises(InputError, match="no weights of its edges"):
        build_updatable(graph, make(graph).paths, WEIGHTED)
    plain = make(graph)
    with pytest.raises(InputError, match="was not made for updates"):
        OpenIndex(graph, type(plain)(**{**vars(plain), "paths": None}))


def test_a_broken_off_update_is_the_last(make_graph, monkeypatch):
    following = OpenIndex(graph := make_graph(3, [(0, 1)]), make(graph))

    def broken(*_):
        raise MemoryError

    monkeypatch.setattr(open_index, "base_counts", broken)
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
    keys_now = np.array(sorted(comes | goes))
    found = change(graph, keys_now, np.isin(keys_now, list(comes)))
    expected = graph_of(keys - goes | comes, 20, **options)
    for one in fields(expected):
        a, b = getattr(found, one.name), getattr(expected, one.name)
        if one.name == "facts":
            assert all(a[name] == b[name] for name in ("isolated", "dangling", "max_in_degree", "max_out_degree"))
        else:
            assert np.array_equal(a, b) if isinstance(b, np.ndarray) else a == b, one.name


def test_changed_weights_are_as_if_imported():
    graph = graph_of({1: 7, 2: 8, 1 << 32 | 2: 9}, 3)
    found = change(graph, np.array([1]), np.array([False]))
    assert found.probabilities.tolist() == [8, 9] and found.indices.tolist() == [2, 2]
    found = change(graph, np.array([1, 2 << 32]), np.array([True, True]), np.array([70, 6], np.uint32))
    assert found.probabilities.tolist() == [70, 8, 9, 6] and found.in_probabilities.tolist() == [6, 70, 8, 9]
    with pytest.raises(InputError, match="have individual probabilities"):
        change(graph, np.array([2 << 32]), np.array([True]))


def test_graph_with_other_vertices():
    graph = graph_of({1: 7, 2: 8, 1 << 32 | 2: 9}, 3)
    vertices = Vertices(3, np.array([1, 2, 7]), None, np.array([-1, 0, 1]))  # 0 goes, 7 comes
    found = change(graph, np.array([1 << 32 | 2]), np.array([True]), np.array([6], np.uint32), vertices)
    assert keys_of(found) == {1, 1 << 32 | 2} and found.ids.tolist() == [1, 2, 7]
    assert found.probabilities.tolist() == [9, 6] and found.in_probabilities.tolist() == [9, 6]
