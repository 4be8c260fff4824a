"""Graphs of NetworkX as rows of neighbours, and back."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from operator import itemgetter, methodcaller
from typing import Any

import networkx as nx
import numpy as np

from gpukit.errors import GpukitError

_PLAIN = ("__getitem__", "add_edges_from", "adj", "neighbors")
"""What a class of graphs must have from NetworkX, so that its rows say what its methods do."""

WIDEST = 8
"""Nodes that are integers are looked up in a table, if that has at most so many places for each."""


@dataclass(eq=False, repr=False)
class NodeRows:
    """A graph of NetworkX as it was when it was converted: what functions of the backend take.

    An edge of an undirected graph is an entry of both rows, a self-loop one of its row.

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
    graph : dict
        Attributes of the graph: its own dict, not a copy; empty if they were not asked for.
    node_data : list of dict, or None
        Attributes of each node, where they were asked for.
    edge_data : list of dict, or None
        Attributes of each entry, where all were asked for: the graph's own, not copies.
    values : dict of str to list or float64 array or None
        Attributes of edges that were asked for by name, by entry: numbers, unless they are none; None stands for 1.
    """

    like: type[nx.Graph]
    index: dict[Any, int]
    indptr: np.ndarray
    indices: np.ndarray
    graph: dict = field(default_factory=dict)
    node_data: list[dict] | None = None
    edge_data: list[dict] | None = None
    values: dict[Hashable, Any] = field(default_factory=dict)

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

    nbunch_iter = nx.Graph.nbunch_iter  # asks whether a node is in ``_adj``, and has the messages that people know

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
        entries = len(self.indices)
        return entries if self.is_directed() else (entries + self.self_loops) // 2

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
    def incoming(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of predecessors, ascending: their starts (int64), positions (int32), and entries (uint32)."""
        from gpukit.graph.kernels import transpose_rows

        return transpose_rows(self.indptr, self.indices, np.arange(len(self.indices), dtype=np.uint32))

    @cached_property
    def outgoing(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of successors, ascending: their starts (int64), positions (int32), and entries (uint32)."""
        from gpukit.graph.kernels import transpose_rows

        return transpose_rows(*self.incoming)

    def weights(self, name: Hashable | None) -> np.ndarray | None:
        """Return an attribute of edges as numbers (float64) by entry, or None if all are 1, as where there is none.

        Raises
        ------
        ValueError, TypeError, OverflowError
            If one is not a number.
        """
        if name is None or (name not in self.values and self.edge_data is None):
            return None
        if name not in self.values:
            self.values[name] = _values(lambda: iter(self.edge_data or ()), name, 1, len(self.indices))
        found = self.values[name]
        return found if found is None else np.array(found, np.float64)


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
    """Return a graph of NetworkX for the functions of the backend.

    Parameters
    ----------
    graph : networkx.Graph or networkx.DiGraph
    edge_attrs, node_attrs : dict, optional
        Attributes to keep, and what stands for them where they are missing.
    preserve_edge_attrs, preserve_node_attrs, preserve_graph_attrs : bool
        Whether to keep all attributes.
    name, graph_name : str, optional
        The function that is called and its argument, as NetworkX says them.

    Raises
    ------
    NotImplementedError
        If it is a multigraph, or of a class that looks at neighbours in its own way; or if there is no place for
        compiled code.
    """
    problem = not_rows(graph)
    if problem:
        raise NotImplementedError(problem)
    adjacency = graph._adj
    indptr = np.zeros(len(adjacency) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, adjacency.values()), np.int64, len(adjacency)), out=indptr[1:])
    index = dict(zip(adjacency, range(len(adjacency)), strict=True))
    indices = _positions(index, adjacency, int(indptr[-1]))
    facts = graph.graph if preserve_graph_attrs else {}
    rows = NodeRows(type(graph), index, indptr, indices, facts)
    try:
        _ = rows.incoming
    except (GpukitError, RuntimeError) as error:  # no place for compiled code
        raise NotImplementedError(str(error)) from error

    def each_edge() -> Iterator[dict]:
        return chain.from_iterable(map(methodcaller("values"), adjacency.values()))

    if preserve_edge_attrs:
        rows.edge_data = list(each_edge())
    elif edge_attrs is not None:
        for key, default in edge_attrs.items():
            rows.values[key] = _values(each_edge, key, default, len(indices))
    if preserve_node_attrs:
        rows.node_data = list(map(graph._node.__getitem__, index))
    elif node_attrs is not None:
        rows.node_data = [_chosen(graph._node[node], node_attrs) for node in index]
    if hasattr(graph, "_graph"):
        # NetworkX does not empty the cache of a view when the graph beneath it changes: nothing is kept there.
        graph.__networkx_cache__ = None
    return rows


def not_rows(graph: Any) -> str:
    """Return why a graph cannot be converted, or an empty text."""
    if graph.is_multigraph():
        return "multigraphs are not converted"
    plain = nx.DiGraph if graph.is_directed() else nx.Graph
    if any(getattr(type(graph), name, None) is not getattr(plain, name) for name in _PLAIN):
        return f"{type(graph).__name__} has its own way to look at neighbours or to add edges"
    return ""


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """Return a converted graph as one of NetworkX, with what was kept of it; anything else as it is."""
    return subgraph(result) if isinstance(result, NodeRows) else result


def subgraph(graph: NodeRows, nodes: np.ndarray | None = None, entries: np.ndarray | None = None) -> nx.Graph:
    """Return nodes and edges as a new graph of NetworkX, in the order of a copy of the old one; attributes are copied.

    Rows are filled as a whole: a tenth of the time of ``add_edges_from``.

    Parameters
    ----------
    graph : NodeRows
    nodes : bool array, shape (n,), optional
        The nodes; all if not given.
    entries : ascending integer array, optional
        The entry of each edge in the row that comes first; all between the nodes if not given.
    """
    kept = np.ones(len(graph), bool) if nodes is None else nodes
    if entries is None:
        once = kept[graph.tails] & kept[graph.indices]
        if not graph.is_directed():
            once &= graph.tails <= graph.indices
        entries = np.flatnonzero(once)
    names, places = graph.nodes, np.flatnonzero(kept).tolist()
    result = graph.like()
    result.graph.update(graph.graph)
    if graph.node_data is None:
        result.add_nodes_from([names[place] for place in places])
    else:
        result.add_nodes_from([(names[place], graph.node_data[place]) for place in places])
    data = _edge_data(graph, entries, result.edge_attr_dict_factory)
    tails, heads, number = graph.tails[entries], graph.indices[entries], np.arange(len(entries))
    back = np.argsort(heads, kind="stable")
    into = heads[back], tails[back], number[back]
    if isinstance(result, nx.DiGraph):
        _fill(result._succ, names, (tails, heads, number), data)
        _fill(result._pred, names, into, data)
    else:
        # As if edges were added row by row: a row begins with the neighbours whose rows came before.
        into = tuple(side[into[0] != into[1]] for side in into)
        rows, others, number = (np.concatenate(both) for both in zip(into, (tails, heads, number), strict=True))
        order = np.argsort(rows, kind="stable")
        _fill(result._adj, names, (rows[order], others[order], number[order]), data)
    return result


def _edge_data(graph: NodeRows, entries: np.ndarray, make: Callable[[], dict]) -> list[dict]:
    """Return new dicts of the attributes of entries."""

    def filled(data: Mapping) -> dict:
        new = make()
        new.update(data)
        return new

    copy = dict if make is dict else filled
    if graph.edge_data is not None:
        return list(map(copy, map(graph.edge_data.__getitem__, entries.tolist())))
    columns = [_column(values, entries) for values in graph.values.values()]
    rows = zip(*columns, strict=True) if columns else iter([()] * len(entries))
    return [copy(dict(zip(graph.values, row, strict=True))) for row in rows]


def _fill(adjacency: dict, names: list, entries: tuple[np.ndarray, ...], data: list[dict]) -> None:
    """Fill the rows of a graph of NetworkX, which are there and empty; entries are ascending rows, columns, numbers."""
    rows, columns, numbers = entries
    neighbours = [names[place] for place in columns.tolist()]
    theirs = [data[number] for number in numbers.tolist()]
    places, starts = np.unique(rows, return_index=True)
    ends = np.append(starts, len(rows))[1:]
    for place, start, end in zip(places.tolist(), starts.tolist(), ends.tolist(), strict=True):
        adjacency[names[place]].update(zip(neighbours[start:end], theirs[start:end], strict=True))


def _positions(index: dict[Any, int], adjacency: Mapping, count: int) -> np.ndarray:
    """Return the positions of all neighbours (int32): by a table where nodes are integers, half the time of a dict."""

    def neighbours() -> Iterator[Any]:
        return chain.from_iterable(adjacency.values())

    if set(map(type, index)) == {int}:
        low, high = min(index), max(index)
        if high - low < WIDEST * len(index) + count and -(2**62) < low and high < 2**62:
            table = np.empty(high - low + 1, np.int32)
            table[np.fromiter(index, np.int64, len(index)) - low] = np.arange(len(index), dtype=np.int32)
            try:
                return table[np.fromiter(neighbours(), np.int64, count) - low]
            except (TypeError, ValueError):
                pass  # a neighbour that equals an integer, but is of another type
    return np.fromiter(map(index.__getitem__, neighbours()), np.int32, count)


def _values(each: Callable[[], Iterable[dict]], name: Hashable, default: Any, count: int) -> Any:
    """Return an attribute of all entries: float64, or a list if one is no number, or None if none has any."""
    if default == 1 and not any(each()):
        return None
    try:
        return np.fromiter(map(itemgetter(name), each()), np.float64, count)
    except (KeyError, TypeError, ValueError, OverflowError):
        found = [data.get(name, default) for data in each()]
    try:
        return np.array(found, np.float64)
    except (TypeError, ValueError, OverflowError):
        return found  # a function that needs numbers says what is wrong


def _chosen(data: Mapping, wanted: Mapping[Hashable, Any]) -> dict:
    """Return the attributes that are wanted; one without a default only if it is there."""
    return {name: data.get(name, default) for name, default in wanted.items() if default is not None or name in data}


def _column(values: Any, entries: np.ndarray) -> list:
    """Return an attribute of some entries; None stands for 1 everywhere."""
    if values is None:
        return [1] * len(entries)
    if isinstance(values, list):
        return [values[entry] for entry in entries.tolist()]
    return values[entries].tolist()
