"""Every function of the backend against NetworkX, over small random graphs, multigraphs and views with attributes.

A view may hold other attributes at the two ends of an edge, or show an edge from one end only.
"""

from math import inf, nan

import networkx as nx
import numba
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpukit.nx.backend import convert_from_nx, convert_to_nx
from gpukit.nx.info import FUNCTIONS

ALL = {"preserve_edge_attrs": True, "preserve_node_attrs": True, "preserve_graph_attrs": True}
CORES = ("k_core", "k_shell", "k_crust", "k_corona", "k_truss")
SOME_NODES = ("average_clustering", "clustering", "generalized_degree", "triangles")
NODES = (range(8), [3, "a", (1, 2), 2.5, frozenset("b"), -7, "c", 2**70])
WEIGHTS = st.sampled_from([1, 2, 0.5, 3.0, True])
WILD = st.sampled_from([0, 0.0, 1, 2, 0.5, -1, inf, -inf, nan, 1e308, 1.5e308, 5e-324])


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Let small graphs be done at once where other processes use the cores, too."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(threads)


def attributes(weights):
    """Draw the attributes of an edge, in any order."""
    return st.fixed_dictionaries({}, optional={"colour": st.lists(st.sampled_from("rgb")), "weight": weights})


def shown(graph, edges):
    """Return a view of the edges whose two ends are among these pairs."""
    ends = set(map(frozenset, edges))
    return nx.subgraph_view(graph, filter_edge=lambda u, v, *key: frozenset([u, v]) in ends)


def from_one_end(graph, draw):
    """Return a view that shows edges from the end that comes first, or from either."""
    place, later = {node: number for number, node in enumerate(graph)}, draw(st.sets(st.sampled_from(list(graph))))
    return nx.subgraph_view(graph, filter_edge=lambda u, v, *key: place[u] <= place[v] or u in later)


def fewer(graph, draw):
    """Return a view without one node, or of all."""
    return nx.restricted_view(graph, draw(st.sets(st.sampled_from(list(graph)), max_size=1)), [])


VIEWS = {
    "frozen": lambda graph, draw: nx.freeze(graph),
    "copy": lambda graph, draw: graph.copy(as_view=True),
    "undirected": lambda graph, draw: graph.to_undirected(as_view=True),
    "directed": lambda graph, draw: graph.to_directed(as_view=True),
    "reversed": lambda graph, draw: graph.reverse(copy=False) if graph.is_directed() else graph,
    "subgraph": lambda graph, draw: graph.subgraph(draw(st.sets(st.sampled_from(list(graph)), min_size=1))),
    "edge subgraph": lambda graph, draw: shown(graph, draw(st.lists(st.sampled_from([*graph.edges()] or [(0, 0)])))),
    "fewer": fewer,
    "one end": from_one_end,
}


@st.composite
def graphs(draw):
    """Draw a graph and up to two views of it."""
    make = draw(st.sampled_from([nx.Graph, nx.Graph, nx.DiGraph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]))
    nodes = draw(st.permutations(draw(st.sampled_from(NODES))))[: draw(st.integers(2, 8))]
    graph = make(title="drawn", tags=["a tag"])
    graph.add_nodes_from((node, {"place": [place]}) for place, node in enumerate(nodes))
    data = attributes(draw(st.sampled_from([WEIGHTS, WEIGHTS, WILD])))
    ends, loops = st.sampled_from(nodes), draw(st.integers(0, 3)) == 0
    for u, v in draw(st.lists(st.tuples(ends, ends), max_size=24)):
        if u != v or loops:
            graph.add_edge(u, v, **draw(data))
    if make is nx.Graph and draw(st.booleans()):
        for u, v in list(graph.edges):
            graph._adj[v][u] = draw(data)
    for view in draw(st.lists(st.sampled_from(list(VIEWS)), max_size=2)):
        graph = VIEWS[view](graph, draw)
        if not len(graph):
            break
    return graph


def outcome(function, *args, **kwargs):
    """Return the result, or the kind and text of an error."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)


def left_to_networkx(name, graph):
    """Return whether the documentation says that a call is left to NetworkX."""
    if graph.is_multigraph():
        return True
    if graph.is_directed() and name in ("average_clustering", "clustering", "transitivity"):
        return True
    back = graph._pred if graph.is_directed() else graph._adj
    return {(u, v) for u, row in graph._adj.items() for v in row} != {(u, v) for v, row in back.items() for u in row}


def check(name, graph, *args, **kwargs):
    theirs, ours = (outcome(getattr(nx, name), graph, *args, backend=b, **kwargs) for b in ("networkx", "gpukit"))
    if isinstance(ours, tuple) and ours[0] is NotImplementedError:
        assert left_to_networkx(name, graph)
    elif isinstance(theirs, nx.Graph):
        same_graphs(ours, theirs, graph)
    elif name == "pagerank" and isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        assert list(ours.values()) == pytest.approx(list(theirs.values()), rel=1e-9, abs=1e-12)
    else:
        assert ours == theirs and type(ours) is type(theirs)
        assert type(theirs) is not dict or list(ours) == list(theirs)


def same_graphs(ours, theirs, graph):
    """Compare two graphs: contents, orders, and whether values of attributes are the same objects."""
    assert type(ours) is type(theirs) and nx.is_frozen(ours) == nx.is_frozen(theirs)
    assert same_data(ours.graph, theirs.graph) and ours.graph is not graph.graph
    assert list(ours) == list(theirs)
    assert all(same_data(ours.nodes[node], theirs.nodes[node]) for node in theirs)
    assert all(ours.nodes[node] is not graph.nodes[node] for node in ours)
    back = "_pred" if ours.is_directed() else "_adj"
    for side in {"_adj", back}:
        rows, expected = getattr(ours, side), getattr(theirs, side)
        assert [(node, list(row)) for node, row in rows.items()] == [(n, list(row)) for n, row in expected.items()]
    for u, v, data in theirs.edges(data=True):
        assert same_data(ours._adj[u][v], data) and ours._adj[u][v] is getattr(ours, back)[v][u]
        assert ours._adj[u][v] is not graph._adj[u][v] and ours._adj[u][v] is not graph._adj[v].get(u)


def same_data(ours, theirs):
    """Return whether two dicts have the same keys in one order, and the same objects."""
    return type(ours) is type(theirs) and list(ours) == list(theirs) and all(ours[key] is theirs[key] for key in theirs)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(derandomize=True, max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(graph=graphs(), k=st.integers(0, 4), data=st.data())
def test_like_networkx(graph, k, data):
    some = data.draw(st.lists(st.sampled_from(list(graph) or [0])))
    numbers = {node: data.draw(st.integers(0, 4)) for node in data.draw(st.permutations(list(graph)))}
    check("pagerank", graph)
    for name in sorted(FUNCTIONS):
        arguments = [(k,)] if name in CORES else [()]
        if name in SOME_NODES:
            arguments += [(some,), (some[0],)] if some else []
        elif name in CORES[:4]:
            arguments += [(k, numbers), (None, numbers)]
        if name in CORES[:3]:
            arguments.append(())
        for args in arguments:
            check(name, graph, *args)
    check("pagerank", graph, weight=None)
    check("pagerank", graph, weight="no such")


@settings(derandomize=True, max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(graph=graphs())
def test_there_and_back(graph):
    converted = outcome(convert_from_nx, graph, **ALL)
    if isinstance(converted, tuple):
        assert converted[0] is NotImplementedError and left_to_networkx("pagerank", graph)
    else:
        same_graphs(convert_to_nx(converted), graph.copy(), graph)
