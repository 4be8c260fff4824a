"""Every function of the backend against NetworkX itself: results to the last digit, their order, and errors."""

import random
from math import inf, nan

import networkx as nx
import pytest

from gpukit.nx.backend import can_run
from gpukit.nx.info import FUNCTIONS


def weighted(graph, seed):
    """Give most edges a weight, some of them 0, and all a colour."""
    chance = random.Random(seed)
    for _, _, data in graph.edges(data=True):
        data["colour"] = [chance.choice("rgb")]
        if chance.random() < 0.8:
            data["weight"] = chance.choice([0, 0.5, 1, 3, 2**40])
    for place, (_, data) in enumerate(graph.nodes(data=True)):
        data["place"] = place
    graph.graph["name"] = "weighted"
    return graph


def renamed(graph, name, seed=1):
    """Return a graph of other nodes, which come in no order."""
    nodes = list(graph)
    random.Random(seed).shuffle(nodes)
    result = type(graph)()
    result.add_nodes_from(map(name, nodes))
    result.add_edges_from((name(u), name(v)) for u, v in graph.edges)
    return result


def mixed(node):
    return [node, f"n{node}", (node, "x"), frozenset([node]), node + 0.5][node % 5]


def one_and_true():
    graph = nx.Graph([(1, 2), (True, 3), (2.0, 3), (3, 0), (4, 5)])
    graph.add_node(6)
    return graph


def dangling():
    """A directed graph in which half of the nodes have no edge to follow."""
    graph = nx.gnm_random_graph(40, 150, seed=3, directed=True)
    graph.remove_edges_from([edge for edge in graph.edges if edge[0] % 2])
    return graph


GRAPHS = {
    "empty": nx.Graph,
    "empty directed": nx.DiGraph,
    "one node": lambda: nx.empty_graph(1),
    "isolated": lambda: nx.empty_graph(7, nx.DiGraph),
    "edge": lambda: nx.path_graph(2),
    "star": lambda: nx.star_graph(6),
    "cycle": lambda: nx.cycle_graph(8, nx.DiGraph),
    "complete": lambda: nx.complete_graph(9),
    "complete directed": lambda: nx.complete_graph(5, nx.DiGraph),
    "karate": nx.karate_club_graph,
    "sparse": lambda: nx.gnm_random_graph(60, 50, seed=2),
    "dense": lambda: nx.gnm_random_graph(40, 500, seed=2),
    "directed": lambda: nx.gnm_random_graph(50, 400, seed=4, directed=True),
    "dangling": dangling,
    "hubs": lambda: nx.powerlaw_cluster_graph(200, 4, 0.6, seed=5),
    "weighted": lambda: weighted(nx.gnm_random_graph(50, 200, seed=6), 6),
    "weighted directed": lambda: weighted(nx.gnm_random_graph(50, 200, seed=7, directed=True), 7),
    "texts": lambda: renamed(nx.gnm_random_graph(50, 200, seed=8), str),
    "tuples": lambda: renamed(nx.gnm_random_graph(50, 200, seed=9), lambda node: (node % 3, str(node))),
    "mixed": lambda: renamed(nx.gnm_random_graph(50, 200, seed=10, directed=True), mixed),
    "shuffled": lambda: renamed(nx.powerlaw_cluster_graph(80, 5, 0.5, seed=11), lambda node: node),
    "far apart": lambda: renamed(nx.gnm_random_graph(40, 100, seed=12), lambda node: (node - 20) * 10**15),
    "huge": lambda: renamed(nx.gnm_random_graph(40, 100, seed=13), lambda node: node + 2**70),
    "negative": lambda: renamed(nx.gnm_random_graph(40, 100, seed=14), lambda node: 3 * node - 50),
    "one and true": one_and_true,
    "view": lambda: nx.gnm_random_graph(60, 400, seed=15).subgraph(range(0, 60, 2)),
    "reversed": lambda: nx.gnm_random_graph(50, 300, seed=16, directed=True).reverse(copy=False),
    "frozen": lambda: nx.freeze(nx.gnm_random_graph(30, 100, seed=17)),
    "loops": lambda: nx.Graph([(0, 0), (0, 1), (1, 2), (2, 0), (2, 2), (3, 3)]),
    "loops directed": lambda: nx.DiGraph([(0, 0), (0, 1), (1, 2), (2, 0), (3, 3)]),
}
RANDOM = ["dense", "directed", "dangling", "hubs", "weighted", "weighted directed", "texts", "mixed", "one and true"]


def outcome(function, *args, **kwargs):
    """Return the result, or the kind and text of an error."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)


def both(name, graph, *args, **kwargs):
    """Return what NetworkX and the backend make of a call, where the backend can make anything of it."""
    function = getattr(nx, name)
    theirs = outcome(function, graph, *args, **kwargs, backend="networkx")
    if graph.is_multigraph() or can_run(name, (graph, *args), kwargs) is True:
        return theirs, outcome(function, graph, *args, **kwargs, backend="gpukit")
    with pytest.raises(NotImplementedError):
        function(graph, *args, **kwargs, backend="gpukit")
    return theirs, theirs


def check(name, graph, *args, **kwargs):
    theirs, ours = both(name, graph, *args, **kwargs)
    if isinstance(theirs, nx.Graph):
        return same_graphs(graph, theirs, ours)
    assert type(ours) is type(theirs)
    if name == "pagerank" and isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-300)
        assert {type(value) for value in ours.values()} <= {float}
    else:
        assert ours == theirs
        if isinstance(theirs, dict):
            assert list(ours) == list(theirs)
            assert [type(value) for value in ours.values()] == [type(value) for value in theirs.values()]


def same_graphs(graph, theirs, ours):
    assert type(ours) is type(theirs) and ours.graph == theirs.graph
    assert dict(ours.nodes(data=True)) == dict(theirs.nodes(data=True))
    assert ours._adj == theirs._adj
    assert list(ours) == list(theirs)
    for u, v, data in ours.edges(data=True):
        back = ours._pred if ours.is_directed() else ours._adj
        assert back[v][u] is data and data is not graph[u][v]
    assert all(ours.nodes[node] is not graph.nodes[node] for node in ours)
    ours.add_edge("new", "edge")  # it is a graph like any other


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"k_corona", "k_truss"}))
def test_like_networkx(name, kind):
    check(name, GRAPHS[kind]())


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("name", ["k_core", "k_corona", "k_crust", "k_shell", "k_truss"])
def test_every_k(name, kind):
    graph = GRAPHS[kind]()
    for k in (-1, 0, 1, 2, 2.5, 3, 4, 5, 9, 100, float("inf")):
        check(name, graph, k)


@pytest.mark.parametrize("kind", RANDOM)
def test_pagerank_with_all_it_takes(kind):
    graph, chance = GRAPHS[kind](), random.Random(1)
    nodes = list(graph)
    some = {node: chance.random() for node in nodes[::3]}
    for settings in (
        {"alpha": 0.3},
        {"alpha": 1, "max_iter": 500},
        {"tol": 1e-12, "max_iter": 1000},
        {"personalization": some},
        {"personalization": {nodes[0]: 1}, "alpha": 0.5},
        {"personalization": {nodes[0]: 2, "nowhere": 3}},
        {"nstart": some},
        {"dangling": some},
        {"dangling": {nodes[1]: 1}, "personalization": some},
        {"weight": None},
        {"weight": "colour" if "weighted" not in kind else "no such"},
    ):
        check("pagerank", graph, **settings)


@pytest.mark.parametrize("kind", RANDOM)
def test_pagerank_fails_as_there(kind):
    graph = GRAPHS[kind]()
    node = next(iter(graph))
    for settings in (
        {"max_iter": 0},
        {"max_iter": 2, "tol": 1e-15},
        {"personalization": {node: 0}},
        {"personalization": {"nowhere": 1}},
        {"personalization": {}},
        {"max_iter": 2.5},
    ):
        theirs, ours = both("pagerank", graph, **settings)
        assert ours == theirs and isinstance(ours, tuple)
    with pytest.warns(RuntimeWarning):  # 0 / 0, in both
        assert (
            both("pagerank", graph, nstart={node: 0})
            == ((nx.PowerIterationFailedConvergence,) + both("pagerank", graph, max_iter=100, tol=0)[0][1:],) * 2
        )


ODD_WEIGHTS = [
    [1, -1, 2, 1],
    [-1, -2, -3, -1],
    [1, "2.5", True, 0.1],
    [1, None, 1, 1],
    [inf, 1, 1, 1],
    [1, -inf, 1, 1],
    [inf, -inf, 1, 1],
    [1, 1, nan, 1],
    [1e308, 1e308, 1, 1],
    [5e-324, 0, 1, 1],
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("weights", ODD_WEIGHTS)
@pytest.mark.parametrize("make", [nx.Graph, nx.DiGraph])
def test_pagerank_with_odd_weights(weights, make):
    graph = make()
    graph.add_weighted_edges_from(
        (u, v, w) for (u, v), w in zip([(0, 1), (0, 2), (1, 2), (2, 3)], weights, strict=True)
    )
    check("pagerank", graph)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("weight", [0, -1, True, inf, nan, 1e308])
def test_pagerank_with_odd_weights_of_loops(weight):
    for make in (nx.Graph, nx.DiGraph):
        graph = make([(0, 1), (1, 2), (2, 0)])
        graph.add_edge(1, 1, weight=weight)
        check("pagerank", graph)


def test_pagerank_adds_weights_in_the_order_of_nodes():
    """Where they cancel out, the order decides whether the sum is 0."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(4))
    graph.add_weighted_edges_from([(0, 1, 1e16), (0, 3, -1e16), (0, 2, 1), (1, 0, 1), (2, 0, 1), (3, 0, 1)])
    check("pagerank", graph)


@pytest.mark.parametrize("weight", ["heavy", [1], {}, 10**400])
def test_pagerank_says_each_time_that_a_weight_is_no_number(weight):
    graph = nx.path_graph(3)
    graph[0][1]["weight"] = weight
    for _ in range(2):
        theirs, ours = both("pagerank", graph)
        assert ours[0] is theirs[0] and issubclass(ours[0], TypeError | ValueError | OverflowError)


def test_pagerank_refuses_lists_as_weights():
    for graph in (nx.path_graph(2), nx.path_graph(3), nx.cycle_graph(3, nx.DiGraph)):
        nx.set_edge_attributes(graph, [1], "weight")
        theirs, ours = both("pagerank", graph)
        assert ours[0] is theirs[0] is ValueError


@pytest.mark.parametrize("name", ["triangles", "clustering", "average_clustering", "generalized_degree"])
def test_nodes_that_are_asked_for(name):
    graph = renamed(nx.powerlaw_cluster_graph(40, 4, 0.7, seed=3), str)
    nodes = list(graph)
    repeated, wrong = (nodes[2], nodes[1], nodes[2]), [nodes[0], "nowhere"]
    for asked in (nodes[3], nodes[5:9], set(nodes[:4]), repeated, [], wrong, "nowhere", 17, [[]], graph):
        theirs, ours = both(name, graph, asked)
        assert ours == theirs, asked
        assert type(ours) is type(theirs)
    found = getattr(nx, name)(graph, iter(nodes[:5]), backend="gpukit")
    assert found == both(name, graph, nodes[:5])[0]


def test_average_clustering_without_zeros():
    for kind in ("sparse", "hubs", "star"):
        theirs, ours = both("average_clustering", GRAPHS[kind](), count_zeros=False)
        assert ours == theirs


@pytest.mark.parametrize("name", ["k_core", "k_shell", "k_crust", "k_corona"])
def test_core_numbers_that_are_given(name):
    graph = GRAPHS["weighted"]()
    numbers = nx.core_number(graph)
    made_up = {node: node % 4 for node in graph}
    for k in (None, 0, 1, 2, 3):
        for given in (numbers, made_up):
            check(name, graph, k, core_number=given)
    few = {node: 1 for node in list(graph)[:9]}
    theirs, ours = both(name, graph, 1, few)
    if isinstance(theirs, tuple):
        assert name == "k_corona" and theirs[0] is KeyError is ours[0]
    else:
        assert set(ours) == set(theirs)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("make", [nx.MultiGraph, nx.MultiDiGraph])
def test_multigraphs_are_refused(name, make):
    theirs, ours = both(name, make([(0, 1), (0, 1), (1, 2)]), *([2] if name in ("k_corona", "k_truss") else []))
    assert ours == theirs or ours[0] is NotImplementedError
    assert ours[0] in (NotImplementedError, nx.NetworkXNotImplemented)


@pytest.mark.parametrize("name", ["core_number", "k_core", "k_truss"])
def test_loops_are_refused_as_there(name):
    theirs, ours = both(name, GRAPHS["loops"](), *([3] if name == "k_truss" else []))
    assert ours == theirs and ours[0] is nx.NetworkXNotImplemented and "self loops" in ours[1]


def test_k_that_is_no_number():
    theirs, ours = both("k_truss", nx.complete_graph(4), "three")
    assert ours == theirs and ours[0] is TypeError


def test_rows_are_those_of_a_copy():
    for kind in ("shuffled", "directed", "weighted", "texts"):
        graph = GRAPHS[kind]()
        ours, copied = nx.k_core(graph, 0, backend="gpukit"), graph.copy()
        sides = ["_succ", "_pred"] if graph.is_directed() else ["_adj"]
        for side in sides:
            theirs = getattr(copied, side)
            assert [list(row) for row in getattr(ours, side).values()] == [list(row) for row in theirs.values()]
    graph = GRAPHS["shuffled"]()
    theirs, ours = both("k_truss", graph, 4)
    assert 0 < len(ours) < len(graph)
    assert [(u, list(row)) for u, row in ours.adj.items()] == [(u, list(row)) for u, row in theirs.adj.items()]


def test_few_nodes_of_a_view_have_the_order_of_networkx():
    """NetworkX takes them from a set, if they are fewer than half of the nodes of the underlying graph."""
    graph = nx.empty_graph(reversed(range(10)))
    graph.add_edges_from(nx.complete_graph(range(6, 10)).edges)
    view = graph.subgraph(range(4, 10))
    theirs, ours = both("k_core", view)
    assert list(ours) == list(theirs) != [node for node in view if node in theirs]


def test_the_number_of_threads_does_not_matter():
    import numba

    graph = weighted(nx.gnm_random_graph(3000, 20000, seed=1, directed=True), 1)
    expected = nx.pagerank(graph, backend="gpukit")
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        assert nx.pagerank(graph, backend="gpukit") == expected
    finally:
        numba.set_num_threads(threads)
