"""Conversion of graphs, NetworkX's cache of converted graphs, and when the backend can and should run."""

import pickle

import networkx as nx
import numpy as np
import pytest

from gpukit.nx.backend import can_run, convert_from_nx, convert_to_nx, should_run

ALL = {"preserve_edge_attrs": True, "preserve_node_attrs": True, "preserve_graph_attrs": True}


def coloured(make):
    graph = make(name="coloured")
    graph.add_node("c", size=3)
    graph.add_edge("b", "a", weight=2.5, colour="red")
    graph.add_edge("a", "c", weight=1)
    graph.add_edge("c", "c")
    graph.add_edge("c", "b", colour="blue")
    return graph


@pytest.fixture(params=[nx.Graph, nx.DiGraph])
def graph(request):
    return coloured(request.param)


def rows(graph):
    return {node: list(row.items()) for node, row in graph.adjacency()}


def test_there_and_back(graph):
    found = convert_to_nx(convert_from_nx(graph, **ALL))
    assert type(found) is type(graph) and found.graph == graph.graph
    assert list(found.nodes(data=True)) == list(graph.nodes(data=True))
    assert rows(found) == rows(graph.copy())
    for u, v in graph.edges:
        assert found[u][v] == graph[u][v] and found[u][v] is not graph[u][v]


def test_without_attributes(graph):
    found = convert_to_nx(convert_from_nx(graph))
    assert found.graph == {} and found.number_of_nodes() == 3 and set(found.edges) == set(graph.edges)
    assert not any(data for _, data in found.nodes(data=True)) and not any(data for *_, data in found.edges(data=True))


def test_chosen_attributes(graph):
    chosen = convert_from_nx(graph, edge_attrs={"weight": 1, "colour": "?"}, node_attrs={"size": None, "mood": "good"})
    found = convert_to_nx(chosen)
    assert dict(found.nodes(data=True)) == {
        "c": {"size": 3, "mood": "good"}, "b": {"mood": "good"}, "a": {"mood": "good"},
    }  # fmt: skip
    assert {u + v: data for u, v, data in found.edges(data=True)} == {
        u + v: {"weight": data.get("weight", 1), "colour": data.get("colour", "?")}
        for u, v, data in graph.edges(data=True)
    }
    assert convert_from_nx(nx.path_graph(4), edge_attrs={"weight": 1}).values == {"weight": None}
    assert convert_to_nx(convert_from_nx(nx.path_graph(2), edge_attrs={"weight": 1}))[0][1] == {"weight": 1}


def test_what_it_is(graph):
    found = convert_from_nx(graph)
    assert repr(found) == f"<{type(graph).__name__} of 3 nodes, for gpukit>"
    assert len(found) == found.number_of_nodes() == 3 and list(found) == ["c", "b", "a"]
    assert found.number_of_edges() == graph.number_of_edges() and found.self_loops == 1
    assert found.is_directed() == graph.is_directed() and not found.is_multigraph()
    assert "a" in found and "d" not in found and [] not in found
    assert found.incoming[0].tolist() == np.cumsum([0, *([3, 2, 2] if not graph.is_directed() else [2, 1, 1])]).tolist()
    again = pickle.loads(pickle.dumps(found))
    assert rows(convert_to_nx(again)) == rows(convert_to_nx(found))


def test_anything_else_is_handed_back():
    assert convert_to_nx({1: 2}) == {1: 2}


class Thin(nx.Graph):
    """As in NetworkX's documentation: one dict for all edges."""

    everywhere = {"weight": 1}  # noqa: RUF012

    def single_edge_dict(self):
        return self.everywhere

    edge_attr_dict_factory = single_edge_dict


class Opposite(nx.Graph):
    def neighbors(self, node):
        return iter(set(self) - set(self._adj[node]))


def test_graphs_of_other_classes():
    thin = nx.powerlaw_cluster_graph(30, 3, 0.9, seed=1, create_using=nx.Graph)
    thin = Thin(thin.edges)
    found, expected = (nx.k_core(thin, 3, backend=backend) for backend in ("gpukit", "networkx"))
    assert type(found) is Thin and found.adj == expected.adj
    opposite = Opposite([(0, 1)])
    assert "own way" in can_run("core_number", (opposite,), {})
    with pytest.raises(NotImplementedError, match="Opposite has its own way"):
        convert_from_nx(opposite)
    assert "own way" in can_run("pagerank", (nx.PlanarEmbedding(),), {})


def cached(graph):
    return graph.__networkx_cache__.get("backends", {}).get("gpukit", {})


def test_networkx_keeps_what_was_converted():
    graph = nx.gnm_random_graph(30, 100, seed=1)
    nx.core_number(graph, backend="gpukit")
    (kept,) = cached(graph).values()
    nx.core_number(graph, backend="gpukit")
    assert list(cached(graph).values()) == [kept]
    nx.pagerank(graph, backend="gpukit")  # wants weights
    (weighted,) = cached(graph).values()
    assert weighted is not kept
    nx.core_number(graph, backend="gpukit")
    assert list(cached(graph).values()) == [weighted]
    graph.add_edge(0, 100)
    assert not cached(graph)
    assert nx.core_number(graph, backend="gpukit") == nx.core_number(graph)
    assert nx.core_number(kept) == nx.core_number(nx.gnm_random_graph(30, 100, seed=1))


def test_attributes_of_a_graph_are_not_kept_as_they_were():
    graph = nx.complete_graph(4)
    for name in ("first", "second"):
        graph.graph["name"] = graph.nodes[0]["name"] = graph[0][1]["name"] = name
        core = nx.k_core(graph, backend="gpukit")
        assert core.graph["name"] == core.nodes[0]["name"] == core[0][1]["name"] == name


def test_a_view_is_converted_each_time():
    """NetworkX does not empty the cache of a view when the underlying graph changes."""
    graph = nx.path_graph(6)
    for view in (graph.subgraph(range(5)), graph.to_directed(as_view=True), graph.copy(as_view=True)):
        before = nx.core_number(view, backend="gpukit")
        graph.add_edge(len(graph), 0)
        graph.add_edges_from([(0, 2), (1, 3), (0, 3)])
        assert nx.core_number(view, backend="gpukit") == nx.core_number(view) != before
        graph.remove_edges_from([(0, 2), (1, 3), (0, 3)])


def test_an_edge_with_other_attributes_at_each_end():
    """PageRank takes what the first end has, and a copy is updated by the second end, as in NetworkX."""
    arcs = nx.DiGraph()
    arcs.add_edge(0, 1, weight=1, colour="red")
    arcs.add_edge(1, 0, weight=9)
    arcs.add_edges_from([(1, 2), (2, 0)], weight=1)
    view = arcs.to_undirected(as_view=True)
    graph = nx.Graph(arcs.edges)
    graph._adj[0][1], graph._adj[1][0] = arcs[0][1], arcs[1][0]
    for each in (view, graph):
        core = nx.k_core(each, backend="gpukit")
        assert core[0][1] == core[1][0] == {"weight": 9, "colour": "red"}
        assert nx.pagerank(each, backend="gpukit") == pytest.approx(dict.fromkeys(range(3), 1 / 3))
    assert arcs[0][1] == {"weight": 1, "colour": "red"} and arcs[1][0] == {"weight": 9}


def test_edges_that_one_end_does_not_show_are_left_to_networkx():
    graph = nx.cycle_graph(3)
    view = nx.subgraph_view(graph, filter_edge=lambda u, v: (v - u) % 3 == 1)
    for each in (view, view.to_directed(as_view=True)):
        with pytest.raises(NotImplementedError, match="from one of their ends only"):
            convert_from_nx(each)
    assert nx.subgraph_view(graph.to_directed(), filter_edge=lambda u, v: u < v).size() == 3
    assert len(convert_from_nx(nx.subgraph_view(graph.to_directed(), filter_edge=lambda u, v: u < v)).indices) == 3


def test_weights_of_a_graph_with_all_attributes():
    graph = nx.gnm_random_graph(30, 100, seed=1)
    for place, (_, _, data) in enumerate(graph.edges(data=True)):
        data["weight"] = place % 7
    core = nx.k_core(graph, backend="gpukit")
    (kept,) = cached(graph).values()
    for weight in ("weight", None, "no such"):
        found = nx.pagerank(graph, weight=weight, backend="gpukit")
        assert found == pytest.approx(nx.pagerank(graph, weight=weight), rel=1e-12)
    assert list(cached(graph).values()) == [kept]
    assert core.number_of_edges() and all(core[u][v] == graph[u][v] for u, v in core.edges)


def test_a_converted_graph_does_not_follow_the_graph():
    """Only attributes are shared; who changes the graph behind NetworkX's back is told so by its warning."""
    graph = nx.complete_graph(6)
    kept = convert_from_nx(graph, **ALL)
    graph.remove_node(0)
    assert len(nx.k_core(kept, 5)) == 6 and nx.triangles(kept)[0] == 10
    assert len(nx.k_truss(kept, 6).edges) == 15


def test_can_run_says_why_not():
    graph = nx.path_graph(3)
    assert can_run("pagerank", (graph,), {}) is True and can_run("clustering", (), {"G": graph}) is True
    assert can_run("pagerank", (nx.MultiGraph(),), {}) == "multigraphs are not converted"
    for arguments in (((graph, None, "weight"), {}), ((graph,), {"weight": "weight"})):
        assert "weighted" in can_run("clustering", *arguments) and "weighted" in can_run(
            "average_clustering", *arguments
        )
    for name in ("clustering", "average_clustering", "transitivity"):
        assert "directed" in can_run(name, (nx.DiGraph(),), {})
    assert can_run("core_number", (nx.DiGraph(),), {}) is True
    assert can_run("pagerank", (convert_from_nx(graph),), {}) is True


def test_should_run_says_why_not():
    small, large = nx.path_graph(20), nx.empty_graph(5000)
    assert "small" in should_run("pagerank", (small,), {})
    assert should_run("pagerank", (nx.complete_graph(100),), {}) is True
    assert should_run("pagerank", (large,), {}) is True
    for asked in (7, [1, 2, 3], {"nodes": [5]}):
        arguments = ((large,), asked) if isinstance(asked, dict) else ((large, asked), {})
        assert "nodes are asked for" in should_run("triangles", *arguments)
    for asked in (list(range(1000)), iter([1]), None):
        assert should_run("triangles", (large, asked), {}) is True
    assert should_run("pagerank", (large, 0.5), {}) is True  # alpha, not nodes


def test_what_was_found_stays_with_a_converted_graph(monkeypatch):
    """Triangles are counted once, and edges peeled again only for a larger k; a graph that changed is another one."""
    from gpukit.diversity import decomposition, scores

    graph, calls = nx.powerlaw_cluster_graph(60, 4, 0.6, seed=2), []
    for module, name in ((scores, "build_network"), (decomposition, "truss_numbers")):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, f=original, n=name, **how: calls.append(n) or f(*given, **how))
    wanted = nx.triangles(graph)
    for _ in range(2):
        assert nx.triangles(graph, backend="gpukit") == wanted
        assert nx.clustering(graph, backend="gpukit") == nx.clustering(graph)
    assert calls.count("build_network") == 1
    for k in (4, 3, 5, 4, 5):
        assert nx.k_truss(graph, k, backend="gpukit").edges == nx.k_truss(graph, k).edges
    assert calls.count("truss_numbers") == 2
    graph.remove_edge(*next(iter(graph.edges)))
    assert nx.triangles(graph, backend="gpukit") == nx.triangles(graph)
    assert nx.k_truss(graph, 4, backend="gpukit").edges == nx.k_truss(graph, 4).edges
