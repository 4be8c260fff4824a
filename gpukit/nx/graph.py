"""Conversion of NetworkX graphs to rows of neighbours, and back."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress
from operator import itemgetter, methodcaller
from typing import Any

import networkx as nx
import numpy as np

from gpukit.errors import GpukitError

_PLAIN = ("__getitem__", "add_edges_from", "adj", "neighbors")
"""Members that a class of graphs must inherit from NetworkX, so that its rows agree with its methods."""

WIDEST = 8
"""Integer nodes are looked up in a table, if it needs at most this many entries per node."""


@dataclass(eq=False, repr=False)
class NodeRows:
    """A NetworkX graph at the time of its conversion, as the functions of the backend take it.

    An edge of an undirected graph has an entry in both rows, a self-loop one entry in its row. Edges are numbered in
    the order of their entries. For an undirected edge the entry in the earlier row counts, as in ``Graph.edges``.

    Attributes
    ----------
    like : type
        The class of the graph.
    index : dict
        The position of each node, in the order of the graph.
    indptr : int64 array, shape (n + 1,)
        Starts of rows.
    indices : int32 array, shape (entries,)
        Positions of neighbours (successors), in the order of the graph.
    underlying : int
        Number of nodes of the graph under a view; of the graph itself, if it is no view.
    graph : dict
        Attributes of the graph: its own dict, not a copy; empty if they were not requested.
    node_data : list of dict, or None
        Attributes of each node, if they were requested.
    edge_data : list of dict, or None
        Attributes of each entry, if all were requested: the graph's own dicts, not copies. The two entries of an edge
        may have different dicts.
    values : dict of str to list or float64 array or None
        Edge attributes that were requested by name, one value per edge: float64 if all are numbers, otherwise a list;
        None means 1 for every edge.
    found : dict of str to anything
        Results that functions reuse: the triangles, and the trussness up to some value.
    """

    like: type[nx.Graph]
    index: dict[Any, int]
    indptr: np.ndarray
    indices: np.ndarray
    underlying: int = 0
    graph: dict = field(default_factory=dict)
    node_data: list[dict] | None = None
    edge_data: list[dict] | None = None
    values: dict[Hashable, Any] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)

    __networkx_backend__ = "gpukit"

    def __repr__(self) -> str:
        return f"<{self.like.__name__} of {len(self)} nodes, for gpukit>"

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.index)

    def __contains__(self, node: object) -> bool:
        try:
            return node in self.index
        except TypeError:
            return False

    @property
    def _adj(self) -> dict[Hashable, int]:
        return self.index

    nbunch_iter = nx.Graph.nbunch_iter  # checks whether a node is in ``_adj``, and raises NetworkX's own messages

    def is_directed(self) -> bool:
        """Return whether the graph is directed."""
        return issubclass(self.like, nx.DiGraph)

    def is_multigraph(self) -> bool:
        """Return False: multigraphs are not converted."""
        return False

    def number_of_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.index)

    def number_of_edges(self) -> int:
        """Return the number of edges."""
        return int(self.once.sum())

    @cached_property
    def nodes(self) -> list[Hashable]:
        """The nodes by position."""
        return list(self.index)

    @cached_property
    def tails(self) -> np.ndarray:
        """The row of each entry (int32)."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.indptr))

    @cached_property
    def self_loops(self) -> int:
        """The number of self-loops."""
        return int(np.count_nonzero(self.tails == self.indices))

    @cached_property
    def once(self) -> np.ndarray:
        """Whether each entry counts for its edge (bool)."""
        return np.ones(len(self.indices), bool) if self.is_directed() else self.tails <= self.indices

    @cached_property
    def incoming(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of predecessors, ascending: their starts (int64), positions (int32), and entries (uint32)."""
        from gpukit.graph.kernels import transpose_rows

        return transpose_rows(self.indptr, self.indices, np.arange(len(self.indices), dtype=np.uint32))

    @cached_property
    def outgoing(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of successors, ascending: their starts (int64), positions (int32), and entries (uint32)."""
        from gpukit.graph.kernels import transpose_rows

        return transpose_rows(*self.incoming)

    @cached_property
    def twins(self) -> np.ndarray:
        """In an undirected graph, the other entry of each entry's edge (uint32); for a self-loop the same entry."""
        twins = np.empty_like(self.incoming[2])
        twins[self.outgoing[2]] = self.incoming[2]
        return twins

    @cached_property
    def edges(self) -> np.ndarray:
        """The number of each entry's edge (int64)."""
        numbers = np.cumsum(self.once) - 1
        return numbers if self.is_directed() else np.where(self.once, numbers, numbers[self.twins])

    def weights(self, name: Hashable | None) -> np.ndarray | None:
        """Return an edge attribute as numbers (float64) by entry; None if all are 1, or if no edge has it.

        Raises
        ------
        ValueError, TypeError, OverflowError
            If a value is not a number.
        """
        if name is None or (name not in self.values and self.edge_data is None):
            return None
        if name not in self.values:
            self.values[name] = _values(lambda: compress(self.edge_data or (), self.once), name, 1)
        found = self.values[name]
        return found if found is None else np.asarray(found, np.float64)[self.edges]


def convert_from_nx(
    graph: nx.Graph,
    *,
    edge_attrs: Mapping[Hashable, Any] | None = None,
    node_attrs: Mapping[Hashable, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    preserve_graph_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> NodeRows:
    """Convert a NetworkX graph for the functions of the backend.

    Parameters
    ----------
    graph : networkx.Graph or networkx.DiGraph
    edge_attrs, node_attrs : dict, optional
        Attributes to keep, and their default values.
    preserve_edge_attrs, preserve_node_attrs, preserve_graph_attrs : bool
        Whether to keep all attributes.
    name, graph_name : str, optional
        The called function and its argument; NetworkX passes them.

    Raises
    ------
    NotImplementedError
        If it is a multigraph, or its class overrides the access to neighbours, or it is a view that shows an edge from
        only one of its ends; or if compiled code cannot run.
    """
    problem = not_rows(graph)
    if problem:
        raise NotImplementedError(problem)
    index = dict(zip(graph._adj, range(len(graph._adj)), strict=True))
    facts = graph.graph if preserve_graph_attrs else {}
    rows = NodeRows(type(graph), index, *_rows(graph._adj, index), len(getattr(graph, "_graph", index)), facts)
    try:
        _ = rows.incoming
    except GpukitError as error:  # for example with NUMBA_DISABLE_JIT
        raise NotImplementedError(str(error)) from error
    is_view = hasattr(graph, "_graph")
    if is_view or not graph.is_directed():
        back = NodeRows(type(graph), index, *_rows(graph._pred, index)) if graph.is_directed() else rows
        if not all(map(np.array_equal, back.incoming[:2], rows.outgoing)):
            raise NotImplementedError("the graph has edges that are seen from one of their ends only")

    def each_entry() -> Iterator[dict]:
        return chain.from_iterable(map(methodcaller("values"), graph._adj.values()))

    if preserve_edge_attrs:
        rows.edge_data = list(each_entry())
    elif edge_attrs is not None:
        once = rows.once.tolist()
        for key, default in edge_attrs.items():
            rows.values[key] = _values(lambda: compress(each_entry(), once), key, default)
    if preserve_node_attrs:
        rows.node_data = list(map(graph._node.__getitem__, index))
    elif node_attrs is not None:
        rows.node_data = [_chosen(graph._node[node], node_attrs) for node in index]
    if is_view:
        # NetworkX does not empty the cache of a view when the underlying graph changes, so nothing is kept there.
        graph.__networkx_cache__ = None
    return rows


def not_rows(graph: Any) -> str:
    """Return the reason why a graph cannot be converted, or an empty text."""
    if graph.is_multigraph():
        return "multigraphs are not converted"
    plain = nx.DiGraph if graph.is_directed() else nx.Graph
    if any(getattr(type(graph), name, None) is not getattr(plain, name) for name in _PLAIN):
        return f"{type(graph).__name__} has its own way to look at neighbours or to add edges"
    return ""


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """Return a converted graph as a NetworkX graph, with the kept attributes; return anything else unchanged."""
    return subgraph(result) if isinstance(result, NodeRows) else result


def subgraph(graph: NodeRows, places: np.ndarray | None = None, edges: np.ndarray | None = None) -> nx.Graph:
    """Return nodes and edges as a new NetworkX graph, in the order of a copy of the old graph; attributes are copied.

    Each row is filled at once, in a tenth of the time of ``add_edges_from``.

    Parameters
    ----------
    graph : NodeRows
    places : integer array, optional
        The positions of the nodes, in the order of the new graph; all nodes if not given.
    edges : bool array, optional
        The entries whose edges to keep; all between the nodes if not given.
    """
    if places is None:
        places = np.arange(len(graph))
    rank = np.full(len(graph), -1)
    rank[places] = np.arange(len(places))
    tails, heads = rank[graph.tails], rank[graph.indices]
    kept = (tails >= 0) & (heads >= 0)
    if edges is not None:
        kept &= edges
    if not graph.is_directed():
        kept &= tails <= heads
    entries = np.flatnonzero(kept)
    entries = entries[np.argsort(tails[entries], kind="stable")]
    names = [graph.nodes[place] for place in places.tolist()]
    result = graph.like()
    result.graph.update(graph.graph)
    if graph.node_data is None:
        result.add_nodes_from(names)
    else:
        result.add_nodes_from(zip(names, map(graph.node_data.__getitem__, places.tolist()), strict=True))
    data = _edge_data(graph, entries, result.edge_attr_dict_factory)
    tails, heads, number = tails[entries], heads[entries], np.arange(len(entries))
    back = np.argsort(heads, kind="stable")
    into = heads[back], tails[back], number[back]
    if isinstance(result, nx.DiGraph):
        _fill(result._succ, names, (tails, heads, number), data)
        _fill(result._pred, names, into, data)
    else:
        # The order is as if edges were added row by row: a row begins with the neighbours of earlier rows.
        into = tuple(side[into[0] != into[1]] for side in into)
        rows, others, number = (np.concatenate(both) for both in zip(into, (tails, heads, number), strict=True))
        order = np.argsort(rows, kind="stable")
        _fill(result._adj, names, (rows[order], others[order], number[order]), data)
    return result


def _edge_data(graph: NodeRows, entries: np.ndarray, make: Callable[[], dict]) -> list[dict]:
    """Return new attribute dicts of edges, which are given by their first entries."""

    def filled(data: Mapping) -> dict:
        new = make()
        new.update(data)
        return new

    copy = dict if make is dict else filled
    if graph.edge_data is not None:
        found = [copy(graph.edge_data[entry]) for entry in entries.tolist()]
        if not graph.is_directed():
            # NetworkX copies both entries of an edge into one dict.
            for new, twin in zip(found, graph.twins[entries].tolist(), strict=True):
                new.update(graph.edge_data[twin])
        return found
    edges = graph.edges[entries]
    columns = [_column(values, edges) for values in graph.values.values()]
    rows = zip(*columns, strict=True) if columns else iter([()] * len(edges))
    return [copy(dict(zip(graph.values, row, strict=True))) for row in rows]


def _fill(adjacency: dict, names: list, entries: tuple[np.ndarray, ...], data: list[dict]) -> None:
    """Fill the existing empty rows of a NetworkX graph; entries are ascending rows, columns, and edge numbers."""
    rows, columns, numbers = entries
    neighbours = [names[place] for place in columns.tolist()]
    theirs = [data[number] for number in numbers.tolist()]
    places, starts = np.unique(rows, return_index=True)
    ends = np.append(starts, len(rows))[1:]
    for place, start, end in zip(places.tolist(), starts.tolist(), ends.tolist(), strict=True):
        adjacency[names[place]].update(zip(neighbours[start:end], theirs[start:end], strict=True))


def _rows(adjacency: Mapping, index: dict[Any, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts of rows (int64) and the positions of all neighbours (int32).

    Integer nodes are looked up in a table, which takes half the time of a dict.
    """
    indptr = np.zeros(len(adjacency) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, adjacency.values()), np.int64, len(adjacency)), out=indptr[1:])
    count = int(indptr[-1])

    def neighbours() -> Iterator[Any]:
        return chain.from_iterable(adjacency.values())

    if set(map(type, index)) == {int}:
        low, high = min(index), max(index)
        if high - low < WIDEST * len(index) + count and -(2**62) < low and high < 2**62:
            table = np.empty(high - low + 1, np.int32)
            table[np.fromiter(index, np.int64, len(index)) - low] = np.arange(len(index), dtype=np.int32)
            try:
                return indptr, table[np.fromiter(neighbours(), np.int64, count) - low]
            except (TypeError, ValueError):
                pass  # an object that equals an integer, but has another type: look it up in the dict
    return indptr, np.fromiter(map(index.__getitem__, neighbours()), np.int32, count)


def _values(each: Callable[[], Iterable[dict]], name: Hashable, default: Any) -> Any:
    """Return an attribute of all edges: float64, or a list if one is no number, or None if none has any."""
    if default == 1 and not any(each()):
        return None
    try:
        return np.fromiter(map(itemgetter(name), each()), np.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        found = [data.get(name, default) for data in each()]
    try:
        return np.array(found, np.float64)
    except (TypeError, ValueError, OverflowError):
        return found  # not numbers: a function that needs numbers raises an error later


def _chosen(data: Mapping, wanted: Mapping[Hashable, Any]) -> dict:
    """Return the requested attributes; an attribute without a default only if it is present."""
    return {name: data.get(name, default) for name, default in wanted.items() if default is not None or name in data}


def _column(values: Any, edges: np.ndarray) -> list:
    """Return an attribute of some edges; None means 1 everywhere."""
    if values is None:
        return [1] * len(edges)
    if isinstance(values, list):
        return [values[edge] for edge in edges.tolist()]
    return values[edges].tolist()
