"""Structural diversity against NetworkX: scores, contexts, bounds, the order of the answer, any number of threads."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from oracles import diversity as oracle

from gpukit.diversity import Params, as_undirected, build_network, ego_trussness, search
from gpukit.diversity.decomposition import decompose, truss_numbers
from gpukit.errors import UsageError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.graph.read.formats import read_edges
from gpukit.papers.diversity import baselines
from gpukit.papers.diversity.baselines import EgoByEgo
from gpukit.parameters.option import length_of

MODELS = ("comp", "core", "truss")
WIKI = Path(__file__).resolve().parents[2] / "data" / "wiki-Vote.txt.gz"


def undirected(edges, n):
    u, v = np.array(edges, np.int64).reshape(-1, 2).T
    return build_graph(u, v, weights=Weights("none"), undirected=True, ids=False, n=n, transpose=False)


def clique(*vertices):
    return [(a, b) for a in vertices for b in vertices if a < b]


def random_edges(key):
    """Return the edges of one of several shapes of random graph, and its number of vertices."""
    generator = np.random.default_rng(key)
    n = int(generator.integers(1, 26))
    density = generator.choice([0.15, 0.35, 0.6, 0.9])
    edges = [(a, b) for a in range(n) for b in range(a) if generator.random() < density]
    if key % 3 == 0 and n > 12:  # overlapping cliques around a hub
        for _ in range(4):
            edges += clique(0, *generator.choice(np.arange(1, n), 5, replace=False).tolist())
    return edges, n


def check_all(graph, model, k, threads=1):
    """Compare scores, contexts and bounds of all vertices with the oracle; return the scores."""
    network, params = build_network(graph, threads), Params(model, k)
    reference = oracle.as_networkx(graph)
    expected = [oracle.contexts(reference, v, model, k) for v in range(graph.n)]
    found = network.scores(np.arange(graph.n), params)
    assert found.tolist() == [len(one) for one in expected]
    listed = network.contexts(np.arange(graph.n), found, params)
    assert [[part.tolist() for part in listed.of(v)] for v in range(graph.n)] == expected
    assert np.all(network.bounds(params) >= found)
    return found


@pytest.mark.parametrize("density", [0.04, 0.08, 0.2, 0.5])
@pytest.mark.parametrize("k", [3, 4, 6])
def test_an_ego_network_of_more_vertices_than_bits_in_a_word(density, k):
    """Triangles with the 64 last vertices are looked at first; some edges have none, some vertices are peeled."""
    generator = np.random.default_rng(k)
    edges = [(0, v) for v in range(1, 110)]
    # Those beyond 110 make triangles that are not in the ego-network.
    edges += [(a, b) for a in range(1, 220) for b in range(1, a) if generator.random() < density]
    graph = undirected(edges, 220)
    network, params = build_network(graph), Params("truss", k)
    found = network.scores(np.arange(1), params)
    contexts = oracle.contexts(oracle.as_networkx(graph), 0, "truss", k)
    assert found.tolist() == [len(contexts)]
    assert [part.tolist() for part in network.contexts(np.arange(1), found, params).of(0)] == contexts


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_random_graphs(model, k):
    seen = set()
    for key in range(40):
        edges, n = random_edges(1000 * k + key)
        graph = undirected(edges, n)
        found = check_all(graph, model, k)
        seen |= set(found.tolist())
        t = 1 + key % n
        answer = search(build_network(graph), Params(model, k), t)
        order = sorted(range(n), key=lambda v: (-found[v], v))[:t]
        assert answer.vertices.tolist() == order
        assert answer.scores.tolist() == found[order].tolist()
    assert {0, 1} <= seen


@pytest.mark.parametrize("model", ["comp", "core"])
def test_k_is_one(model):
    for key in range(15):
        check_all(undirected(*random_edges(key)), model, 1)


def test_support_is_the_degree_in_the_ego_network():
    graph = undirected(*random_edges(3))
    network, reference = build_network(graph), oracle.as_networkx(graph)
    for r in range(network.n):
        v = int(network.order[r])
        net = oracle.ego(reference, v)
        row = slice(network.indptr[r], network.indptr[r + 1])
        neighbours = network.order[network.indices[row]].tolist()
        assert network.support[row].tolist() == [net.degree(u) for u in neighbours]
        assert network.cost[r] == len(net) + net.number_of_edges()


def test_contexts_that_share_a_vertex_are_one_truss():
    bow = clique(1, 2, 3, 4) + clique(4, 5, 6, 7) + clique(8, 9, 10, 11) + [(0, v) for v in range(1, 12)]
    graph = undirected(bow, 12)
    network = build_network(graph)
    answer = search(network, Params("truss", 4), 1)
    assert answer.vertices.tolist() == [0]
    assert [part.tolist() for part in answer.contexts.of(0)] == [[1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11]]


@pytest.mark.parametrize("model", MODELS)
def test_small_shapes(model):
    k = 2
    for edges, n in (([], 1), ([], 5), ([(0, 1)], 2), ([(0, v) for v in range(1, 9)], 9), (clique(*range(7)), 8)):
        check_all(undirected(edges, n), model, k)
    alone = search(build_network(undirected([], 4)), Params(model, k), 3)
    assert alone.vertices.tolist() == [0, 1, 2]
    assert alone.scores.tolist() == [0, 0, 0]
    assert len(alone.contexts.members) == 0


@pytest.fixture(scope="module")
def wiki():
    found = read_edges(WIKI, weights=False)
    return build_graph(found.u, found.v, weights=Weights("none"), undirected=True, transpose=False)


@pytest.fixture(scope="module")
def wiki_networks(wiki):
    return build_network(wiki, 1), build_network(wiki, 3)


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
def test_wiki_vote_sample_and_threads(wiki, wiki_networks, model):
    one, three = wiki_networks
    assert np.array_equal(one.support, three.support)
    params = Params(model, 4)
    everyone = np.arange(wiki.n)
    found = one.scores(everyone, params)
    assert np.array_equal(found, three.scores(everyone, params))
    assert np.all(one.bounds(params) >= found)
    generator = np.random.default_rng(1)
    heaviest = one.order[np.argsort(-one.cost, kind="stable")[: 1 if model == "truss" else 10]]
    sample = np.concatenate([heaviest, generator.choice(wiki.n, 40, replace=False)])
    reference = oracle.as_networkx(wiki)
    listed = one.contexts(sample, found[sample], params)
    for place, v in enumerate(sample.tolist()):
        assert [part.tolist() for part in listed.of(place)] == oracle.contexts(reference, v, model, 4)
    for t in (1, 100, 3000, wiki.n):
        answers = [search(network, params, t) for network in wiki_networks]
        assert answers[0].vertices.tolist() == np.lexsort((everyone, -found))[:t].tolist()
        assert answers[0].scores.tolist() == found[answers[0].vertices].tolist()
        assert np.array_equal(answers[0].vertices, answers[1].vertices)
        assert np.array_equal(answers[0].contexts.members, answers[1].contexts.members)
        assert answers[0].scored == answers[1].scored
    assert search(one, params, 1).scored < np.count_nonzero(one.bounds(params))


def test_bounds_stop_the_search_early():
    # 3,000 triangles each around a vertex of its own, one vertex with two contexts that no other can reach.
    edges = clique(0, 1, 2, 3) + clique(0, 4, 5, 6)
    for i in range(3000):
        edges += clique(*range(7 + 4 * i, 11 + 4 * i))
    answer = search(build_network(undirected(edges, 7 + 12000)), Params("comp", 3), 1)
    assert answer.vertices.tolist() == [0]
    assert answer.scores.tolist() == [2]
    assert answer.scored == 1024


def test_directed_graphs(make_graph):
    graph = make_graph(4, [(0, 1), (1, 0), (2, 1), (0, 2), (3, 0)])
    with pytest.raises(UsageError, match="--undirected"):
        as_undirected(graph)
    found = as_undirected(graph, True)
    assert found.indptr.tolist() == [0, 3, 5, 7, 8]
    assert found.indices.tolist() == [1, 2, 3, 0, 2, 0, 1, 0]
    assert as_undirected(found) is found


@pytest.mark.parametrize(
    ("model", "k", "allowed"), [("comp", 0, "1 to"), ("core", 0, "1 to"), ("truss", 1, "2 to"), ("core", 2**31, "1 to")]
)
def test_k_out_of_range(model, k, allowed):
    with pytest.raises(UsageError, match=f"-k is {k}; {allowed}"):
        Params(model, k)


def test_largest_k_and_wrong_values():
    graph = undirected(clique(*range(6)), 6)
    for model in MODELS:
        assert search(build_network(graph), Params(model, 2**31 - 1), 6).scores.tolist() == [0] * 6
    for t in (0, 7):
        with pytest.raises(UsageError, match="-t is"):
            length_of("t", t, 100, graph.n)
    with pytest.raises(UsageError, match="model"):
        Params("clique", 3)


def test_decomposition_of_ego_networks():
    for key in range(30):
        graph = undirected(*random_edges(key))
        network, reference = build_network(graph, 1 + key % 3), oracle.as_networkx(graph)
        vertices = np.random.default_rng(key).permutation(graph.n)[: 1 + graph.n // 2]
        for k in (2, 4):
            params = Params("truss", k)
            found = network.decompose(vertices, params)
            assert np.array_equal(found.scores, network.scores(vertices, params))
        for place, v in enumerate(vertices.tolist()):
            expected = oracle.trussness(oracle.ego(reference, v))
            by_rank = sorted((sorted(network.rank[list(edge)].tolist()), value) for edge, value in expected.items())
            values = found.trussness[found.offsets[place] : found.offsets[place + 1]]
            assert values.tolist() == [value for _, value in by_rank]


def test_decomposition_of_graphs():
    largest = 0
    for key in range(40):
        graph = undirected(*random_edges(key))
        reference, found = oracle.as_networkx(graph), decompose(graph)
        assert dict(enumerate(found.coreness.tolist())) == nx.core_number(reference)
        edges = zip(found.tails.tolist(), found.heads.tolist(), strict=True)
        values = dict(zip(edges, found.trussness.tolist(), strict=True))
        assert values == oracle.trussness(reference)
        assert list(values) == sorted(values)
        for k in (2, 3, 4, 7):
            assert np.array_equal(truss_numbers(graph, k_max=k)[2], np.minimum(found.trussness, k))
        largest = max(largest, *values.values(), 0)
    assert largest > 10


def test_largest_trussness_of_ego_networks():
    seen = set()
    for key in range(40):
        graph = undirected(*random_edges(key))
        reference = oracle.as_networkx(graph)
        egos = [oracle.trussness(oracle.ego(reference, v)).values() for v in range(graph.n)]
        expected = max((value for values in egos for value in values), default=0)
        of_graph = max(oracle.trussness(reference).values(), default=0)
        assert ego_trussness(build_network(graph), of_graph) == expected
        seen.add(of_graph - expected)
    assert len(seen) > 1


@pytest.mark.long
def test_decomposition_of_wiki_vote(wiki):
    found = decompose(wiki)
    assert ego_trussness(build_network(wiki), 23) == 22  # table 1 of the paper
    assert found.coreness.max() == 53
    assert found.trussness.max() == 23  # table 1 of the paper
    reference = oracle.as_networkx(wiki)
    assert dict(enumerate(found.coreness.tolist())) == nx.core_number(reference)
    kept = found.trussness >= 16
    edges = set(zip(found.tails[kept].tolist(), found.heads[kept].tolist(), strict=True))
    assert edges == {tuple(sorted(edge)) for edge in nx.k_truss(reference, 16).edges}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("batch", [baselines.BATCH, 60, 1], ids=["whole", "cut", "one by one"])
def test_baselines_find_the_same(model, batch, monkeypatch):
    monkeypatch.setattr(baselines, "BATCH", batch)
    for key in range(12):
        graph = undirected(*random_edges(key))
        network, full = build_network(graph), build_network(graph, 2, full=True)
        for k in (2, 3, 5):
            params, everyone = Params(model, k), np.arange(graph.n)
            expected = network.scores(everyone, params)
            assert np.array_equal(EgoByEgo(graph).scores(everyone, params), expected)
            assert np.array_equal(full.scores(everyone, params), expected)
