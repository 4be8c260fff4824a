"""Networks in GraphML, GEXF, GML and node-link JSON, and those of NetworkX in memory."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.lines import MAX_ID, NUMBER, shown
from gpukit.graph.read.edgelist import EdgeList, ReadOptions, check_weights, edges_of_network, library, numbers_of

_WHOLE = re.compile("0|[1-9][0-9]{0,18}")


@dataclass
class Network:
    """A network while it is read: vertices by key, and edges between keys.

    Attributes
    ----------
    names : dict
        What each vertex is called, by the key that edges name it by; in the order of the file.
    edges : list of (tail key, head key, weight or None, whether it stands for both directions)
    notes : list of str
        What else a reader has to know.
    weight : str
        The attribute that holds weights, for messages.
    """

    names: dict[Any, Any] = field(default_factory=dict)
    edges: list[tuple[Any, Any, Any, bool]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    weight: str = "weight"

    def listed(
        self, name: str, kind: str, options: ReadOptions, weights: float, values: np.ndarray | None = None
    ) -> EdgeList:
        """Return the edges; raises InputError where one names no vertex, or has no weight in [0, weights].

        ``values`` are what vertices are called where that is known to be whole numbers, or to be texts.
        """
        if values is None:
            names = [str(one) for one in self.names.values()]
            whole = options.ids != "text" and all(_WHOLE.fullmatch(one) and int(one) <= MAX_ID for one in names)
            values = np.array([int(one) for one in names], np.int64) if whole else np.array(names, object)
        place = {key: number for number, key in enumerate(self.names)}
        odd = next((key for edge in self.edges for key in edge[:2] if key not in place), None)
        if odd is not None:
            raise InputError(f"{name}: an edge names the vertex {shown(str(odd))}, which is not listed")
        u, v = (np.array([place[edge[side]] for edge in self.edges], np.int64) for side in (0, 1))
        w = None
        if weights:
            missing = next((edge for edge in self.edges if edge[2] is None), None)
            if missing is not None:
                edge = shown(f"{missing[0]} {missing[1]}")
                raise InputError(f"{name}: edge {edge} has no {self.weight}; --weights file needs all")
            given = np.empty(len(self.edges), object)
            given[:] = [edge[2] for edge in self.edges]
            w = check_weights(name, weights, numbers_of(f"{name}, {self.weight}", given))
        both = np.array([edge[3] for edge in self.edges], bool)
        return edges_of_network(name, kind, values, (u, v), w, options, both, tuple(self.notes))


def _number(text: str | None) -> float | str | None:
    """Return a text as the number that it is, if it is one."""
    return float(text) if text is not None and NUMBER.fullmatch(text.strip()) else text


def read_graphml(name: str, content: Any) -> Network:
    """Read GraphML: nested graphs belong to the graph around them; a vertex is called by its id."""
    return _read_xml(name, content, _Graphml)


def read_gexf(name: str, content: Any) -> Network:
    """Read GEXF of any version; a vertex is called by its id, and a weight that is left out is 1."""
    return _read_xml(name, content, _Gexf)


class _Graphml:
    """What GraphML has of its own."""

    def __init__(self) -> None:
        self.weight = ""
        self.default: str | None = None

    def key(self, node: ElementTree.Element) -> None:
        """Learn which key holds the weights of edges, and the weight of edges that hold none."""
        if node.get("attr.name") == "weight" and node.get("for") in ("edge", "all"):
            self.weight = node.get("id", "")
            self.default = next((one.text for one in node if _tag(one) == "default"), None)

    def both_ways(self, edge: ElementTree.Element, graph: ElementTree.Element) -> bool:
        """Say whether an edge stands for both directions."""
        own = edge.get("directed")
        return graph.get("edgedefault") != "directed" if own is None else own.strip().lower() not in ("true", "1")

    def weight_of(self, edge: ElementTree.Element) -> str | None:
        """Return the weight of an edge."""
        return next((one.text for one in edge if one.get("key") == self.weight), self.default)


class _Gexf:
    """What GEXF has of its own."""

    def key(self, node: ElementTree.Element) -> None:
        """GEXF has no keys."""

    def both_ways(self, edge: ElementTree.Element, graph: ElementTree.Element) -> bool:
        """Say whether an edge stands for both directions: of the types directed, undirected and mutual."""
        return edge.get("type", graph.get("defaultedgetype", "undirected")) != "directed"

    def weight_of(self, edge: ElementTree.Element) -> str:
        """Return the weight of an edge."""
        return edge.get("weight", "1")


def _tag(node: ElementTree.Element) -> str:
    return node.tag.rpartition("}")[2]


def _read_xml(name: str, content: Any, form: type[_Graphml] | type[_Gexf]) -> Network:
    """Read the graph of an XML file; several graphs side by side are refused."""
    rules, network, seen = form(), Network(), 0
    graphs: list[ElementTree.Element] = []
    for event, node in ElementTree.iterparse(content, ("start", "end")):
        tag = _tag(node)
        if tag == "hyperedge":
            raise InputError(f"{name} has hyperedges; a graph has edges of two ends")
        if tag == "graph" and event == "start":
            seen += not graphs
            graphs.append(node)
        elif event == "end" and tag == "graph":
            graphs.pop().clear()
        elif event == "end" and tag == "key":
            rules.key(node)
        elif tag == "node" and event == "start":
            if node.get("id") in network.names:
                raise InputError(f"{name} lists the vertex {shown(str(node.get('id')))} twice")
            network.names[node.get("id")] = node.get("id")
        elif event == "end" and tag == "edge":
            both = rules.both_ways(node, graphs[-1])
            network.edges.append((node.get("source"), node.get("target"), _number(rules.weight_of(node)), both))
            node.clear()
    if seen != 1:
        raise InputError(f"{name} has {seen} graphs; one is needed, take the others out")
    return network


def read_gml(name: str, content: Any) -> Network:
    """Read GML by NetworkX; a vertex is called by its label, or by its id where labels are missing or repeated."""
    networkx = library(name, "GML", "networkx", "networkx")
    data = content.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # the format itself knows ASCII alone
    if not re.search(r"\bmultigraph\s+[01]\b", text):  # many files list an edge twice without saying so
        text = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", text, count=1)
    graph = networkx.parse_gml(text.splitlines(), label="id")
    labels = {node: graph.nodes[node].get("label", None) for node in graph}
    network = Network(labels)
    if None in labels.values() or len({str(one).strip() for one in labels.values()}) < len(labels):
        network.names = {node: node for node in graph}
        if any(label is not None for label in labels.values()):
            network.notes.append("labels are missing or repeated, so that vertices are called by their ids")
    both = not graph.is_directed()
    network.edges = [(u, v, values.get("weight"), both) for u, v, values in graph.edges(data=True)]
    return network


def read_json(name: str, content: Any) -> Network:
    """Read node-link JSON, as NetworkX and D3 write it: a vertex is called by its id, or by its place without ids."""
    data = json.load(io.TextIOWrapper(content, "utf-8-sig"))
    edges = data.get("links", data.get("edges")) if isinstance(data, dict) else None
    nodes = data.get("nodes") if isinstance(data, dict) else None
    if not isinstance(nodes, list) or not isinstance(edges, list) or not all(isinstance(one, dict) for one in nodes):
        raise InputError(
            f"{name} is JSON without lists of nodes and links; of JSON, node-link data is read: convert it to CSV"
        )
    if not isinstance(data.get("directed", False), bool):
        raise InputError(f"{name}: 'directed' is {shown(str(data['directed']))}; true or false is needed")
    keys = [one.get("id", place) for place, one in enumerate(nodes)]
    if len({"id" in one for one in nodes}) > 1 or len(set(map(json.dumps, keys))) < len(keys):
        raise InputError(f"{name}: some nodes have no id, or the same; each needs its own")
    network = Network({key: key for key in map(_hashable, keys)})
    for edge in edges:
        u, v = (_hashable(edge.get(side)) for side in ("source", "target"))
        network.edges.append((u, v, edge.get("weight"), not data.get("directed", False)))
    if len({type(key) for key in network.names.values()}) > 1:
        raise InputError(f"{name}: ids are numbers and texts; all of one kind are needed, convert them")
    return network


def _hashable(key: Any) -> Any:
    return key if isinstance(key, str | int | float | None) else json.dumps(key)


READERS: dict[str, Callable[[str, Any], Network]] = {
    "graphml": read_graphml,
    "gexf": read_gexf,
    "gml": read_gml,
    "json": read_json,
}


def edges_of_networkx(
    name: str, graph: Any, values: np.ndarray, weight: str | None, options: ReadOptions, highest: float
) -> EdgeList:
    """Return the edges of a graph of NetworkX.

    Parameters
    ----------
    name : str
        For messages.
    graph : networkx.Graph
    values : array
        What each of its nodes is called, in their order: whole numbers or texts.
    weight : str or None
        The attribute of edges that is their weight.
    options : ReadOptions
    highest : float
        The highest weight.
    """
    both = not graph.is_directed()
    edges = graph.edges(data=weight) if weight else ((*edge, None) for edge in graph.edges())
    network = Network({node: node for node in graph}, [(*edge, both) for edge in edges], weight=weight or "")
    return network.listed(name, "NetworkX", options, highest if weight else 0, values)
