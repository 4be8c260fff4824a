"""Networks in GraphML, GEXF, GML and node-link JSON, and NetworkX graphs in memory."""

import json
import re
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import numpy as np

from gpukit.errors import InputError
from gpukit.graph.lines import NUMBER, shown
from gpukit.graph.read.edgelist import (
    EdgeList,
    ReadOptions,
    both_ways,
    check_weights,
    library,
    named_by,
    numbers_of,
    vertices_of,
)
from gpukit.wording import spelled


@dataclass
class Network:
    """A network during reading: vertices by key, and edges between keys.

    Attributes
    ----------
    names : dict
        The name of each vertex, by the key that edges use; in the order of the file.
    edges : list of (tail key, head key, weight or None, whether it stands for both directions)
    notes : list of str
        Further notes for the user.
    weight : str
        Name of the weight attribute, for messages.
    """

    names: dict[Any, Any] = field(default_factory=dict)
    edges: list[tuple[Any, Any, Any, bool]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    weight: str = "weight"

    def call(self, labels: dict[Any, Any], keys: str) -> None:
        """Name vertices by their labels (None: no label), or by keys if labels are missing or repeated."""
        given = {str(label).strip() for label in labels.values() if label is not None} - {""}
        self.names = labels if len(given) == len(labels) else {key: key for key in labels}
        if 0 < len(given) < len(labels):
            self.notes.append(f"labels are missing or repeated, so vertices are named by their {keys}")

    def listed(
        self, name: str, kind: str, options: ReadOptions, weights: float, values: np.ndarray | None = None
    ) -> EdgeList:
        """Return the edges.

        ``values``: the names of the vertices, if they are known to be all whole numbers or all texts.

        Raises
        ------
        InputError
            If an edge names an unknown vertex, or has no weight in [0, weights], or two vertices have the same name.
        """
        values = named_by([str(one) for one in self.names.values()], options) if values is None else values
        place = {key: number for number, key in enumerate(self.names)}
        try:
            u, v = (np.array([place[edge[side]] for edge in self.edges], np.int64) for side in (0, 1))
        except KeyError as error:
            raise InputError(
                f"{name}: an edge names the vertex {shown(str(error.args[0]))}, which is not listed"
            ) from None
        w = None
        if weights:
            missing = next((edge for edge in self.edges if edge[2] is None), None)
            if missing is not None:
                edge = shown(f"{missing[0]} {missing[1]}")
                raise InputError(f"{name}: edge {edge} has no {self.weight}; {spelled('weights', 'file')} needs all")
            given = np.array([edge[2] for edge in self.edges], object)
            w = check_weights(name, weights, numbers_of(f"{name}, {self.weight}", given))
        u, v, w, undirected = both_ways(u, v, w, np.array([edge[3] for edge in self.edges], bool))
        vertices, labels = vertices_of(name, values, options)
        ids, vertices = np.unique(vertices, return_inverse=True)
        if len(ids) < len(values):
            raise InputError(f"{name} has two vertices with the same name, apart from surrounding blanks; rename one")
        said = {"format": kind, "ids": "integer" if labels is None else "text"}
        is_plain = len(ids) > 0 and ids[-1] == len(ids) - 1
        known = {"labels": labels} if labels is not None else {"n": len(ids)} if is_plain else {"ids": ids}
        return EdgeList(vertices[u], vertices[v], w, undirected=undirected, said=said, notes=tuple(self.notes), **known)


def decoded(data: bytes, other: str) -> tuple[str, bool]:
    """Return a text, and whether it is in UTF-8; if not, it is decoded with ``other``."""
    try:
        return data.decode("utf-8-sig"), True
    except UnicodeDecodeError:
        return data.decode(other, "replace"), False


_XML = {"graphml": ("directed", "edgedefault", None), "gexf": ("type", "defaultedgetype", "1")}
"""The attribute for the direction of an edge, the one for the default direction, and the default weight."""


def _read_xml(name: str, content: Any, kind: str) -> Network:
    """Read GraphML, or GEXF of any version: vertices are named by id, and nested graphs belong to the outer one.

    Several separate graphs are refused.
    """
    network, graphs, seen, key = Network(), list[ElementTree.Element](), 0, ""
    own, usual, weight = _XML[kind]
    for event, node in ElementTree.iterparse(content, ("start", "end")):
        tag = node.tag.rpartition("}")[2]
        if tag == "hyperedge":
            raise InputError(f"{name} has hyperedges; a graph has edges of two ends")
        if event == "start" and tag == "graph":
            seen += not graphs
            graphs.append(node)
        elif event == "start" and tag == "node":
            network.names[node.get("id")] = node.get("id")
        elif event == "end" and tag == "graph":
            graphs.pop().clear()
        elif event == "end" and (tag, node.get("attr.name")) == ("key", "weight"):
            if node.get("for", "all") in ("edge", "all"):
                key, weight = node.get("id", ""), node.findtext("{*}default")
        elif event == "end" and tag == "edge":
            said = (node.get(own) or graphs[-1].get(usual, "")).strip().lower()
            share = next((one.text for one in node if one.get("key") == key), node.get("weight", weight))
            number = float(share) if NUMBER.fullmatch((share or "").strip()) else share
            both = said not in ("directed", "true", "1")
            network.edges.append((node.get("source"), node.get("target"), number, both))
            node.clear()
    if seen != 1:
        raise InputError(f"{name} has {seen} graphs; one is needed, remove the others")
    return network


def _read_gml(name: str, content: Any) -> Network:
    """Read GML with NetworkX; vertices are named by label, or by id if labels are missing or repeated."""
    networkx = library(name, "GML", "networkx", "networkx")
    text, _ = decoded(content.read(), "latin-1")  # the format itself allows only ASCII
    if not re.search(r"\bmultigraph\s+[01]\b", text):  # many files list an edge twice without declaring it
        text = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", text, count=1)
    graph = networkx.parse_gml(text.splitlines(), label="id")
    both = not graph.is_directed()
    network = Network(edges=[(*edge, both) for edge in graph.edges(data="weight")])
    network.call(dict(graph.nodes(data="label")), "ids")
    return network


def _read_json(name: str, content: Any) -> Network:
    """Read node-link JSON, as written by NetworkX and D3: vertices are named by id, or by position without ids."""
    data = json.loads(content.read().decode("utf-8-sig"))
    found: dict[str, Any] = data if isinstance(data, dict) else {}
    nodes, edges = parts = [found.get("nodes", 0), found.get("links", found.get("edges", 0))]
    if not all(isinstance(part, list) and all(isinstance(one, dict) for one in part) for part in parts):
        raise InputError(
            f"{name} is JSON without lists of nodes and links; of JSON, node-link data is read: convert it to CSV"
        )
    directed = found.get("directed", False)
    if not isinstance(directed, bool):
        raise InputError(f"{name}: 'directed' is {shown(str(directed))}; true or false is needed")
    keys = [one.get("id", place) for place, one in enumerate(nodes)]
    if len({"id" in one for one in nodes}) > 1 or len(set(keys)) < len(keys):
        raise InputError(f"{name}: some nodes have no id, or the same; each needs its own")
    ends = [(edge.get("source"), edge.get("target"), edge.get("weight"), not directed) for edge in edges]
    return Network({key: key for key in keys}, ends)


READERS = {
    "graphml": lambda name, content: _read_xml(name, content, "graphml"),
    "gexf": lambda name, content: _read_xml(name, content, "gexf"),
    "gml": _read_gml,
    "json": _read_json,
}


def edges_of_networkx(
    name: str, graph: Any, values: np.ndarray, weight: str | None, options: ReadOptions, highest: float
) -> EdgeList:
    """Return the edges of a NetworkX graph.

    Parameters
    ----------
    name : str
        For messages.
    graph : networkx.Graph
    values : array
        The name of each node, in order: whole numbers or texts.
    weight : str or None
        The weight attribute of edges.
    options : ReadOptions
    highest : float
        The highest weight.
    """
    both = not graph.is_directed()
    edges = graph.edges(data=weight) if weight else ((*edge, None) for edge in graph.edges())
    network = Network({node: node for node in graph}, [(*edge, both) for edge in edges], weight=weight or "")
    return network.listed(name, "NetworkX", options, highest if weight else 0, values)
