"""An index of kPAR for a graph that changes: the part that ``gpukit kpar update`` and Python share."""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from gpukit.api.graph import Graph
from gpukit.api.results import Label
from gpukit.api.session import Session
from gpukit.api.vertices import is_label, label_of
from gpukit.errors import InputError, UsageError, WrongType
from gpukit.parameters.values import is_number, type_of
from gpukit.wording import spelled

if TYPE_CHECKING:
    import numpy as np

    from gpukit.device.select import Device
    from gpukit.graph import csr
    from gpukit.graph.change import Vertices
    from gpukit.kpar.index.build import Index, Paths
    from gpukit.kpar.problem import Params
    from gpukit.kpar.query.answer import Prepared
    from gpukit.kpar.update.changes import Edges
    from gpukit.kpar.update.patched import Patched

_MOST_LISTS = 1000
"""Number of updates whose edges are stored separately before they are merged."""


def not_updatable() -> str:
    """Return the message about an index that is not updatable."""
    return f"the index was not made for updates; make it again with {spelled('updatable', True)}"


class Update(NamedTuple):
    """The result of an update.

    Attributes
    ----------
    added, removed : int
        Directed edges: an undirected edge counts twice. Edges of removed vertices count, too.
    already_there, not_there, loops : int
        Edges that were not added because they existed; edges that were not removed or weighted because they did not
        exist; and loops, which are ignored.
    walks_redrawn : int
        Walks that were drawn again, and new walks.
    weighed : int
        Edges with a new weight.
    vertices_added, vertices_removed : int
    """

    added: int
    removed: int
    already_there: int
    not_there: int
    loops: int
    walks_redrawn: int
    weighed: int = 0
    vertices_added: int = 0
    vertices_removed: int = 0


class Listed(NamedTuple):
    """Given edges: the names of vertices, the ends as positions among the names, and weights (float64) or None."""

    names: list[Label]
    tails: Any
    heads: Any
    weights: Any = None


NONE_LISTED = Listed([], [], [])


def device_for_updates(requested: str | None) -> str:
    """Return the device of an updatable index; raises UsageError if a GPU is requested."""
    if requested == "cuda":
        raise UsageError(
            f"an updatable index is made on the CPU; use {spelled('device', 'cpu')} (queries on it run on a GPU, too)"
        )
    return "cpu"


def drawn(session: Session, device: "Device", sizes: "Paths", params: "Params", *, hubs: bool) -> "Index":
    """Draw the walks of an updatable index with given sizes."""
    from gpukit.graph.tiny import one_edge
    from gpukit.kpar.update.paths import build_updatable

    how: dict[str, Any] = {"seed": session.seed, "threads": device.threads, "hubs": hubs}
    tiny = one_edge(session.graph)
    few = sizes._replace(factors=sizes.factors[:2], names=None)
    session.load(lambda: build_updatable(tiny, few, params, **how))
    with session.phase("walks"):
        return build_updatable(session.graph, sizes, params, **how)


def resized(
    session: Session, device: "Device", order: "np.ndarray", params: "Params", *, hubs: bool, adaptive: bool
) -> "Index":
    """Return an updatable index whose sizes follow from the PRO-rank list of its graph."""
    from gpukit.kpar.update.paths import sizes_of

    return drawn(session, device, sizes_of(session.graph, order, params, adaptive=adaptive), params, hubs=hubs)


class Follower:
    """A graph and its updatable index while edges and vertices change; the changed graph and index are made on request.

    Parameters
    ----------
    opened : Graph
    index : Index
        Graph and index before the first update.
    threads : int
        CPU threads.
    once : bool
        Whether there will be only one update, which is faster.
    """

    def __init__(self, opened: Graph, index: "Index", threads: int, *, once: bool = False) -> None:
        import numpy as np

        from gpukit.kpar.update.open_index import OpenIndex

        self._opened, self._whole = opened, index
        self.weighted, self.updates = index.params.weighted, 0
        self._index = OpenIndex(opened.csr, index, threads, once=once)
        self._prepared: Patched | None = None
        self._rows = np.arange(opened.n)  # for the vertices of the graph
        self._came: dict[Label, int] = {}
        self._left: set[int] = set()
        self._touched: list[np.ndarray] = []

    def update(
        self, add: Listed, remove: Listed, weigh: Listed = NONE_LISTED, come: Iterable[Any] = (),
        leave: Iterable[Any] = (),
    ) -> Update:  # fmt: skip
        """Change edges and vertices. If one change is refused, none is made."""
        import numpy as np

        graph = self._opened.csr
        fresh = self._fresh(come)
        leaves = list(dict.fromkeys(self._rows_of([label_of(graph, one, "remove_vertices") for one in leave], {})))
        edges = [
            self._edges(one, what, fresh) for one, what in ((add, "add"), (remove, "remove"), (weigh, "set_weights"))
        ]
        if len(edges[0].keys) and not self.weighted:
            from gpukit.graph.change import check_addable

            check_addable(graph)
        names = list(map(name_of, fresh))
        changed, redrawn = self._index.update(*edges, come=names, leave=leaves)
        self._came |= fresh
        self._left |= set(leaves)
        self._came = {name: row for name, row in self._came.items() if row not in self._left}
        if len(changed.keys):
            self._touched.append(changed.keys)
            if len(self._touched) > _MOST_LISTS:
                self._touched = [np.unique(np.concatenate(self._touched))]
        self.updates += bool(len(changed.keys) or fresh or leaves)
        from gpukit.kpar.update.tables_cpu import ADD, REMOVE, WEIGH

        added, removed, weighed = map(changed.count, (ADD, REMOVE, WEIGH))
        loops = sum(one.loops for one in edges)
        return Update(
            added, removed, changed.already_there, changed.not_there, loops, redrawn, weighed, len(fresh), len(leaves)
        )

    def _fresh(self, come: Iterable[Any]) -> dict[Label, int]:
        """Return the rows of new vertices, without vertices that exist already."""
        graph, first = self._opened.csr, self._index.n
        fresh: dict[Label, int] = {}
        for one in come:
            name = new_label(graph, one)
            if name in fresh or self._find(name) is not None:
                continue
            fresh[name] = first + len(fresh)
        return fresh

    def _find(self, name: Label) -> int | None:
        """Return the row of a vertex, or None."""
        if name in self._came:
            return self._came[name]
        try:
            row = int(self._rows[self._opened.csr.internal([name])[0]])
        except InputError:
            return None
        return None if row in self._left else row

    def _rows_of(self, names: list[Label], fresh: dict[Label, int]) -> "list[int]":
        """Return the rows of vertices; raises InputError if one does not exist."""
        graph = self._opened.csr
        if not (fresh or self._came or self._left):
            found: list[int] = self._rows[graph.internal(names)].tolist() if names else []
            return found
        rows: list[int] = []
        for name in names:
            row = fresh.get(name, self._find(name))
            if row is None:
                raise InputError(f"vertex {str(name)[:40]} is not in the graph; add it in the same update, or before")
            rows.append(row)
        return rows

    def _edges(self, listed: Listed, what: str, fresh: dict[Label, int]) -> "Edges":
        """Return given edges with their ends as rows."""
        import numpy as np

        from gpukit.kpar.update.changes import NO_EDGES, Edges

        if not len(listed.tails):
            return NO_EDGES
        words = None
        if what == "set_weights" and not self.weighted:
            raise UsageError(f"the index takes all edges alike; make it again with {spelled('weighted', True)}")
        if self.weighted and what != "remove":
            if listed.weights is None:
                raise InputError(f"{what}: the edges of this index have weights, and those given have none; give them")
            words = words_for(self._opened.csr, listed.weights, what)
        rows = np.array(self._rows_of(listed.names, fresh), np.int64)
        return Edges.of(rows[listed.tails], rows[listed.heads], words, both_ways=self._opened.csr.undirected)

    @property
    def other_vertices(self) -> bool:
        """Whether vertices were added or removed since graph and index were last made."""
        return bool(self._came or self._left)

    def prepared(self) -> "Prepared":
        """Return graph and index as they are now, ready for queries on the CPU.

        The first call makes everything, and so does a call after vertices, or very many edges, were added or removed.
        Other calls renew only the changed rows.
        """
        import numpy as np

        from gpukit.kpar.query.answer import Prepared
        from gpukit.kpar.update.patched import Patched

        noted = self._index.noted
        if self.other_vertices or noted is None or self._prepared is None:
            opened, index = self.current()
            self._prepared = Patched.from_whole(Prepared.of(opened.csr, index))
        elif noted.edges:
            number = np.empty(self._index.n, np.int64)
            number[self._rows] = np.arange(len(self._rows))
            self._prepared = self._prepared.after(noted, self._index.tables, self._index.counts, number)
        if noted is None or noted.edges:
            self._index.note()
        return self._prepared

    def current(self) -> "tuple[Graph, Index]":
        """Return graph and index as they are now; they are made again if something has changed since the last time."""
        if not self._touched and not self.other_vertices:
            return self._opened, self._whole
        import numpy as np

        from gpukit.graph.change import change

        vertices = self._vertices() if self._came or self._left else None
        number = np.full(self._index.n, -1, np.int64)
        number[self._rows] = np.arange(len(self._rows))
        touched = np.unique(np.concatenate(self._touched)) if self._touched else np.empty(0, np.int64)
        there, words = self._index.words_of(touched)
        tails, heads = number[touched >> 32], number[touched & 0xFFFFFFFF]
        kept = (tails >= 0) & (heads >= 0)
        keys = (tails << 32 | heads)[kept]
        order = np.argsort(keys)
        of_edges = keys[order], there[kept][order], words[kept][order] if self.weighted else None
        csr = change(self._opened.csr, *of_edges, vertices)
        self._opened = Graph(csr, params=self._opened._made["params"], seed=self._opened._made["seed"])
        self._whole = self._index.index(self._rows)
        if vertices is not None:
            self._prepared = None  # its numbers now belong to other vertices
        self._came, self._left, self._touched = {}, set(), []
        return self._opened, self._whole

    def _vertices(self) -> "Vertices":
        """Return the present vertices in the order of their names, and update ``_rows``."""
        import numpy as np

        from gpukit.graph.change import Vertices
        from gpukit.graph.labels import Labels

        graph, before = self._opened.csr, self._rows
        stays = ~np.isin(before, list(self._left))
        old = np.flatnonzero(stays)
        rows = np.append(before[stays], np.array(list(self._came.values()), np.int64))
        ids, labels = None, None
        if graph.labels is not None:
            texts = graph.labels.texts(old).tolist() + list(self._came)
            order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
            labels = Labels.of(texts[place] for place in order.tolist())
        else:
            numbers = np.append(graph.numbers(old), np.array(list(self._came), np.int64))
            order = np.argsort(numbers)
            if not np.array_equal(numbers[order], np.arange(len(order))):
                ids = numbers[order]
        self._rows = rows[order]
        place = np.full(graph.n, -1, np.int64)
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        place[old] = number[: len(old)]
        return Vertices(len(order), ids, labels, place)


def name_of(label: Label) -> int:
    """Return the key of the walks of a vertex added to an index: 2**63 plus its number, or plus a hash of its label."""
    if isinstance(label, int):
        return 1 << 63 | label
    return 1 << 63 | int.from_bytes(hashlib.blake2b(label.encode(), digest_size=8).digest())


def new_label(graph: "csr.Graph", vertex: Any) -> Label:
    """Return the name of a new vertex.

    Raises
    ------
    WrongType, InputError
        If it is no vertex, or is of another kind than the vertices of the graph, or its label is invalid.
    """
    from gpukit.graph.labels import CONTROL

    name = label_of(graph, vertex, "add_vertices")
    if isinstance(name, str):
        surrogates = any("\ud800" <= one <= "\udfff" for one in name)
        if not name or name != name.strip() or CONTROL.search(name) or surrogates:
            advice = "give a text without control characters, and without blanks around it"
            raise InputError(f"add_vertices: {name[:40]!r} is no label; {advice}")
    return name


def words_for(graph: "csr.Graph", weights: Any, what: str) -> "np.ndarray":
    """Return weights of edges as a graph stores them (uint32).

    Raises
    ------
    InputError
        If a weight is out of the range of the graph, or the graph does not state the range.
    """
    import numpy as np

    from gpukit.graph.probabilities import stored

    if graph.weights.scheme != "file" or "combined_from" in graph.facts:
        raise InputError(
            f"the edges of this graph have weights {graph.weights}, not individual weights; import it with "
            f"{spelled('weights', 'file')}"
        )
    scale = graph.facts.get("scale", "1")
    if scale in ("max", "in-sum"):
        raise InputError(
            f"the weights of this graph were divided by a number that is not stored ({spelled('scale', scale)}); "
            f"import it with the largest possible weight ({spelled('scale', 100)})"
        )
    weights, largest = np.asarray(weights, np.float64), float(scale)
    wrong = ~((weights > 0) & (weights <= largest))
    if wrong.any():
        raise InputError(
            f"{what}: the weight {weights[wrong][0]:g} is outside (0, {largest:g}], the range of this graph; remove "
            f"an edge of weight 0; for larger weights import the graph with a larger {spelled('scale')}"
        )
    return stored(weights / largest)


def listed_of(graph: "csr.Graph", edges: Any, what: str, *, weights: bool) -> Listed:
    """Return the edges that a program gives by their ends, and with ``weights`` also by their weight.

    Raises
    ------
    WrongType
        If an item is no edge.
    """
    import numpy as np

    if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
        raise WrongType(f"{what} is {type_of(edges)}; give a list of pairs of vertices")
    columns: list[list[Any]] = [[], [], []]
    kinds = "pairs of vertices, and a weight with each" if weights else "pairs of vertices"
    for edge in edges:
        if is_label(edge) or not hasattr(edge, "__len__") or len(edge) != 2 + weights:
            raise WrongType(f"{what}: {str(edge)[:40]!r} is no edge; give {kinds}")
        for column, vertex in zip(columns[:2], edge, strict=False):
            column.append(label_of(graph, vertex, what))  # otherwise True would be looked up as 1
        if weights and not is_number(edge[2]):
            raise WrongType(f"{what}: {str(edge[2])[:40]!r} is {type_of(edge[2])}, and no weight; give a number")
        columns[2] += [float(edge[2])] if weights else []
    tails, heads, given = columns
    place = {name: number for number, name in enumerate(dict.fromkeys(tails + heads))}
    u, v = (np.array([place[name] for name in side], np.int64) for side in (tails, heads))
    return Listed(list(place), u, v, np.array(given) if weights else None)


def listed(graph: "csr.Graph", edges: Any, what: str) -> Listed:
    """Return the edges read from a file; raises InputError if its vertices are of another kind than the graph's."""
    import numpy as np

    if (edges.labels is None) != (graph.labels is None):
        kinds = ("whole numbers", "names")
        raise InputError(
            f"{what} has {kinds[edges.labels is not None]} for vertices, the graph {kinds[graph.labels is not None]}"
        )
    if edges.labels is not None:
        names = edges.labels.texts(range(len(edges.labels))).tolist()
    elif edges.ids is not None:
        names = edges.ids.tolist()
    else:
        distinct, places = np.unique(np.concatenate([edges.u, edges.v]), return_inverse=True)
        u, v = np.split(places, 2)
        return Listed(distinct.tolist(), u, v, edges.w)
    return Listed(names, edges.u, edges.v, edges.w)
