"""The index of structural diversity: every search as without it, by the definitions; any number of threads."""

import networkx as nx
import numpy as np
import pytest
from oracles import diversity as oracle
from test_diversity import MODELS, clique, random_edges, undirected

from gpukit.artifacts import make
from gpukit.artifacts.checks import check_contexts
from gpukit.diversity import Index, Params, build_index, build_network, search
from gpukit.errors import InputError

SMALLEST = {"comp": 1, "core": 1, "truss": 2}
SHAPES = {
    "nobody": ([], 1),
    "strangers": ([], 4),
    "edge": ([(0, 1)], 3),
    "star": ([(0, v) for v in range(1, 7)], 8),
    "clique": (clique(*range(7)), 7),
    "disconnected": (clique(0, 2, 4, 6) + clique(1, 3, 5), 9),
    "cliques that share a vertex": (
        clique(0, 3, 6, 9) + clique(9, 1, 4, 7) + [(2, v) for v in range(10) if v != 2],
        10,
    ),
    "circles in circles": (clique(0, *range(1, 6)) + clique(0, 5, 6, 7) + clique(0, 7, 8, 9, 2), 11),
    "karate": (list(nx.karate_club_graph().edges), 34),
}
RANDOM = [random_edges(key) for key in range(3, 33)]


def index_of(graph, threads=1):
    network = build_network(graph, threads)
    return network, build_index(graph, network, network)


def listed(result):
    """Return vertices, scores and contexts of an answer."""
    contexts = [[part.tolist() for part in result.contexts.of(place)] for place in range(len(result.vertices))]
    return result.vertices.tolist(), result.scores.tolist(), contexts


def checked(graph, index):
    """Check an index as `verify` does."""
    attributes = {"n": graph.n, "m": graph.m, "graph": "ab" * 32}
    check_contexts(make("contexts", index.arrays, attributes))


@pytest.mark.parametrize("edges_n", [*SHAPES.values(), *RANDOM], ids=[*SHAPES, *map(str, range(len(RANDOM)))])
def test_every_search_by_the_definitions(edges_n):
    """All k up to the first without contexts, and one more; all lengths; all vertices and some."""
    graph = undirected(*edges_n)
    _, index = index_of(graph)
    reference = oracle.as_networkx(graph)
    for model in MODELS:
        k, more = SMALLEST[model], True
        while more:
            expected = [oracle.contexts(reference, v, model, k) for v in range(graph.n)]
            more = any(expected)
            assert more == (k <= index.largest[model])
            for among in (range(graph.n), range(graph.n // 3, graph.n)):
                order = sorted(among, key=lambda v: (-len(expected[v]), v))
                for t in {1, 2, len(order) // 2 + 1, graph.n}:
                    top = order[:t]
                    wanted = (top, [len(expected[v]) for v in top], [expected[v] for v in top])
                    assert listed(index.search(Params(model, k), min(t, graph.n), among=among)) == wanted
            k += 1
    checked(graph, index)


@pytest.mark.parametrize("threads", [2, 3])
def test_the_same_for_any_number_of_threads(threads):
    graph = undirected(list(nx.powerlaw_cluster_graph(120, 6, 0.6, 1).edges), 120)
    one, several = (index_of(graph, count)[1].arrays for count in (1, threads))
    assert one.keys() == several.keys()
    assert all(np.array_equal(one[name], several[name]) and one[name].dtype == several[name].dtype for name in one)


def test_answers_are_those_of_the_search_where_batches_are_small(monkeypatch):
    monkeypatch.setattr("gpukit.diversity.index.AT_ONCE", 50)
    graph = undirected(list(nx.powerlaw_cluster_graph(150, 8, 0.7, 2).edges), 150)
    network, index = index_of(graph, 2)
    for model in MODELS:
        for k in range(SMALLEST[model], index.largest[model] + 2):
            for t in (1, 20, 150):
                assert listed(index.search(Params(model, k), t)) == listed(search(network, Params(model, k), t))
    checked(graph, index)


def test_a_row_depends_on_its_contexts_alone():
    """At each k the lowest member of a part comes first, whatever the degrees of its members in the graph."""
    edges = clique(0, 4, 5, 6, 7) + clique(0, 1, 8, 9) + [(0, 2), (0, 3), (7, 1)]
    for more in ([], [(9, 10), (9, 11), (9, 12)], [(4, v) for v in range(10, 16)]):
        _, index = index_of(undirected(edges + more, 16))
        low, high = index.offsets[:2]
        members, links = (array[low:high].tolist() for array in index.rows["truss"])
        assert members == [1, 8, 9, 4, 5, 6, 7, 2, 3]
        assert links == [0, 3, 3, 2, 4, 4, 4, 0, 0]


def test_what_is_asked_in_vain():
    graph = undirected(clique(0, 1, 2, 3), 5)
    _, index = index_of(graph)
    assert listed(index.search(Params("truss", 2**31 - 1), 2)) == ([0, 1], [0, 0], [[], []])


def test_an_index_that_contradicts_itself():
    graph = undirected(clique(0, 1, 2, 3), 5)
    arrays = index_of(graph)[1].arrays
    arrays["truss/links"] = np.zeros_like(arrays["truss/links"])
    with pytest.raises(InputError, match="make it again"):
        Index.of(arrays).search(Params("truss", 3), 1)


LIES = [
    ("core/scores", lambda a, o: a[::-1], "order"),
    ("core/vertices", lambda a, o: a[::-1], "order"),
    ("comp/vertices", lambda a, o: np.where(a == 33, 32, a), "order"),
]


@pytest.mark.parametrize(("name", "change", "word"), LIES)
def test_lies_of_an_index(name, change, word):
    graph = undirected(*SHAPES["karate"])
    index = index_of(graph)[1]
    arrays = index.arrays
    arrays[name] = change(arrays[name], index.offsets).astype(arrays[name].dtype)
    with pytest.raises(InputError, match=word):
        checked(graph, Index.of(arrays))
