"""An index of kPAR for a graph whose edges change: what ``gpukit kpar update`` and Python share."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from gpukit.api.graph import Graph
from gpukit.api.pagerank_index import index_artifact
from gpukit.api.session import Session
from gpukit.api.vertices import internal, is_label, label_of
from gpukit.errors import InputError, UsageError, WrongType
from gpukit.parameters.values import type_of
from gpukit.wording import spelled

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts import Artifact
    from gpukit.device.select import Device
    from gpukit.graph import csr
    from gpukit.kpar.index.build import Index, Paths
    from gpukit.kpar.problem import Params
    from gpukit.kpar.update.changes import Changed, Edges


def not_updatable() -> str:
    """Return what is said of an index that cannot follow its graph."""
    return f"the index was not made for updates; make it again with {spelled('updatable', True)}"


class Update(NamedTuple):
    """What an update did.

    Attributes
    ----------
    added, removed : int
        Directed edges: an undirected one counts twice.
    already_there, not_there, loops : int
        Edges that were not added because they were there, not removed because they were not, or loops.
    walks_redrawn : int
        Walks that were drawn again, or are new.
    """

    added: int
    removed: int
    already_there: int
    not_there: int
    loops: int
    walks_redrawn: int

    @classmethod
    def of(cls, add: "Edges", remove: "Edges", edges: "Changed", redrawn: int) -> "Update":
        """Return what became of the edges that were given."""
        added, removed = edges.added, edges.removed
        loops = add.loops + remove.loops
        return cls(added, removed, len(add.keys) - added, len(remove.keys) - removed, loops, redrawn)


def device_for_updates(requested: str | None) -> str:
    """Return the device of an updatable index; raises UsageError where it is to be a GPU."""
    if requested == "cuda":
        raise UsageError(
            f"an updatable index is made on the CPU; use {spelled('device', 'cpu')} (queries on it run on a GPU, too)"
        )
    return "cpu"


def drawn(session: Session, device: "Device", sizes: "Paths", params: "Params", *, hubs: bool) -> "Index":
    """Draw the walks of an updatable index with these sizes."""
    from gpukit.graph.trifle import one_edge
    from gpukit.kpar.update.paths import build_updatable

    how: dict[str, Any] = {"seed": session.seed, "threads": device.threads, "hubs": hubs}
    trifle = one_edge(session.graph)
    session.load(lambda: build_updatable(trifle, sizes._replace(factors=sizes.factors[:2]), params, **how))
    with session.phase("walks"):
        return build_updatable(session.graph, sizes, params, **how)


def resized(
    session: Session, device: "Device", order: "np.ndarray", params: "Params", *, hubs: bool, adaptive: bool
) -> "Index":
    """Return an updatable index with sizes by the PRO-rank list of its graph."""
    from gpukit.kpar.update.paths import sizes_of

    return drawn(session, device, sizes_of(session.graph, order, params, adaptive=adaptive), params, hubs=hubs)


class Follower:
    """A graph and its updatable index while edges come and go: the index is open, what it becomes is made when asked.

    Parameters
    ----------
    opened : Graph
    artifact, index
        As they are before the first update.
    threads : int
        CPU threads.
    """

    def __init__(self, opened: Graph, artifact: "Artifact", index: "Index", threads: int) -> None:
        from gpukit.kpar.update.open_index import OpenIndex

        self._opened, self._artifact = opened, artifact
        self._index = OpenIndex(opened.csr, index, threads)
        self._changes: list[Changed] = []

    def update(self, add: Any, remove: Any) -> Update:
        """Add and remove edges, pairs of vertices; all or, where one is refused, none."""
        graph = self._opened.csr
        comes, goes = pairs_of(graph, add, "add"), pairs_of(graph, remove, "remove")
        if len(comes.keys):
            from gpukit.graph.change import check_addable

            check_addable(graph)
        edges, redrawn = self._index.update(comes, goes)
        if len(edges.keys):
            self._changes.append(edges)
        return Update.of(comes, goes, edges, redrawn)

    def news(self) -> "tuple[Graph, Artifact, Index] | None":
        """Return graph and index as they are now; None where nothing has changed since the last time."""
        if not self._changes:
            return None
        import numpy as np

        from gpukit.graph.change import change

        keys = np.concatenate([edges.keys for edges in self._changes])
        adds = np.concatenate([edges.adds for edges in self._changes])
        # An edge that came first was not there before, and one that came last is there now.
        distinct, first = np.unique(keys, return_index=True)
        last = len(keys) - 1 - np.unique(keys[::-1], return_index=True)[1]
        comes, goes = adds[first] & adds[last], ~adds[first] & ~adds[last]
        csr = change(self._opened.csr, distinct[comes], distinct[goes])
        self._opened = Graph(csr, params=self._opened._made["params"], seed=self._opened._made["seed"])
        index = self._index.index()
        self._artifact = index_artifact(index, self._artifact.params, {"graph": self._opened.digest})
        self._changes = []
        return self._opened, self._artifact, index


def pairs_of(graph: "csr.Graph", pairs: Any, what: str) -> "Edges":
    """Return the edges that a program names by their ends.

    Raises
    ------
    WrongType, UsageError, InputError
        If they are no pairs of vertices, or one is not in the graph.
    """
    from gpukit.kpar.update.changes import Edges

    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
        raise WrongType(f"{what} is {type_of(pairs)}; give a list of pairs of vertices")
    ends: list[list[Any]] = [[], []]
    for pair in pairs:
        if is_label(pair) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise WrongType(f"{what}: {str(pair)[:40]!r} is no edge; give pairs of vertices")
        for side, vertex in zip(ends, pair, strict=True):
            side.append(label_of(graph, vertex, what))  # before True is looked up as 1
    named = list(dict.fromkeys(ends[0] + ends[1]))
    place = dict(zip(named, internal(graph, named, what), strict=True))
    return Edges.of(*([place[vertex] for vertex in side] for side in ends), both_ways=graph.undirected)


def listed(graph: "csr.Graph", edges: Any, what: str) -> "Edges":
    """Return the edges of a file that was read; raises InputError where the vertices are not those of the graph."""
    from gpukit.kpar.update.changes import Edges

    if (edges.labels is None) != (graph.labels is None):
        kinds = ("whole numbers", "names")
        raise InputError(
            f"{what} has {kinds[edges.labels is not None]} for vertices, the graph {kinds[graph.labels is not None]}"
        )
    if edges.labels is not None:
        place = graph.internal(edges.labels.texts(range(len(edges.labels))))
    elif edges.ids is not None:
        place = graph.internal(edges.ids)
    else:
        return Edges.of(graph.internal(edges.u), graph.internal(edges.v), both_ways=graph.undirected)
    return Edges.of(place[edges.u], place[edges.v], both_ways=graph.undirected)
