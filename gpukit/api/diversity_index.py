"""An index of the circles for every k at once; it answers searches for structural diversity in milliseconds."""

from typing import TYPE_CHECKING, Any, Unpack

from gpukit.api.diversity import diversity_artifact, make_undirected
from gpukit.api.graph import Graph
from gpukit.api.in_memory import GraphLike, as_graph, open_graph
from gpukit.api.keywords import keywords
from gpukit.api.results import Content, Diversity, another_graph
from gpukit.api.session import Session, Where
from gpukit.errors import UsageError
from gpukit.parameters.diversity import USUAL_T, Context, Params
from gpukit.parameters.option import length_of
from gpukit.parameters.values import flag
from gpukit.wording import spelled

if TYPE_CHECKING:
    from pathlib import Path

    from gpukit.artifacts import Artifact
    from gpukit.diversity import Index

DECOMPOSITION_VISITS = 64
"""Least number of steps per arc to compute the trussness of ego-networks; ``auto`` chooses the device by it."""


# Shared with the commands


def make_index(session: Session) -> "tuple[Artifact, Index]":
    """Build the index of the session's undirected graph; return it as an artifact and as an object."""
    from gpukit.artifacts import make
    from gpukit.diversity import build_index, build_network

    if session.gpus > 1:
        raise UsageError(f"{spelled('gpus')} is {session.gpus}; diversity index uses one GPU")
    graph = session.graph
    where = session.use_device(work=DECOMPOSITION_VISITS * graph.m)
    with session.phase("triangles"):
        network = build_network(graph, where.threads)
        trusses: Any = network
        if where.kind == "cuda":
            from gpukit.diversity.scores_cuda import CudaNetwork

            trusses = CudaNetwork(graph)
    with session.phase("index"), session.progress("ego-networks") as update:
        index = build_index(graph, network, trusses, update)
    with session.phase("write"):
        attributes = {"n": graph.n, "m": graph.m, "graph": session.inputs["graph"]}
        return make("contexts", index.arrays, attributes, params=session.params, inputs=session.inputs), index


def read_index(path: "Path", model: str, graph: str) -> "Index":
    """Return the part of an index that searches of a model need; raises InputError if the index is of another graph."""
    from gpukit.artifacts import read
    from gpukit.artifacts.layout import KINDS
    from gpukit.diversity import Index

    rows = "core" if model == "comp" else model
    wanted = {
        "offsets",
        f"{rows}/members",
        f"{rows}/links",
        *(f"{model}/{name}" for name in ("first", "vertices", "scores")),
    }
    file = read(path, "contexts", skip=tuple(row.path for row in KINDS["contexts"].arrays if row.path not in wanted))
    if file.attributes["graph"] != graph:
        again = "make it again with `gpukit diversity index` on this one"
        raise another_graph(path, file.attributes["graph"], graph, again)
    return Index.of(file.arrays)


def use_index(session: Session, index: "Index") -> None:
    """Set the graph of a session to the graph of an index, whose directions were ignored if it had any."""
    from gpukit.graph.csr import Graph, Weights

    given, rows = session.graph, next(iter(index.rows.values()))
    session.graph = Graph(index.offsets, rows.members, given.ids, Weights("none"), undirected=True, labels=given.labels)


# For Python only


class DiversityIndex(Content):
    """The circles of every vertex for every k and model: ``gpukit diversity index`` and ``search --index``.

    Parameters
    ----------
    graph : Graph or graph-like
    undirected : bool
        Whether to ignore the directions of a directed graph.
    device, gpus, threads, progress
        As in :func:`gpukit.influence_maximization`; searches need no device.

    Raises
    ------
    UsageError, InputError, DeviceError
        For the same reasons as on the command line.

    Examples
    --------
    >>> import gpukit as gk, networkx as nx
    >>> index = gk.DiversityIndex(nx.karate_club_graph())
    >>> index.search(k=3, model="comp", t=2).scores, index.search(k=4, model="truss", t=1).scores
    ({0: 2, 1: 1}, {0: 1})
    """

    @keywords()
    def __init__(self, graph: GraphLike, *, undirected: bool = False, **where: Unpack[Where]) -> None:
        with Session(**where) as session:
            session.params = {"undirected": flag("undirected", undirected)}
            opened = open_graph(session, graph, transpose=False)
            make_undirected(session, session.graph, undirected)
            artifact, index = make_index(session)
        self._ready(opened, artifact, index)

    @classmethod
    def _of(cls, artifact: "Artifact", graph: GraphLike) -> "DiversityIndex":
        """Return the index of an artifact on its graph."""
        from gpukit.diversity import Index

        opened = as_graph(graph)
        if opened.digest != artifact.attributes["graph"]:
            raise another_graph("the index", artifact.attributes["graph"], opened.digest)
        made = cls.__new__(cls)
        made._ready(opened, artifact, Index.of(artifact.arrays))
        return made

    def _ready(self, opened: Graph, artifact: "Artifact", index: "Index") -> None:
        self._opened, self._graph, self._artifact, self._index = opened, opened.csr, artifact, index

    def _content(self) -> "Artifact":
        return self._artifact

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._opened

    @property
    def largest(self) -> dict[str, int]:
        """The largest k of each model for which a vertex has a circle."""
        return self._index.largest

    def lines(self) -> list[str]:
        """Return what is printed of it."""
        shown = ", ".join(f"{model} to k = {k}" for model, k in self.largest.items())
        return [f"DiversityIndex: {self._opened.n:,} vertices, {shown}"]

    def search(self, k: int = Params.k, *, model: Context = Params.model, t: int | None = None) -> Diversity:
        """Find the t vertices with the most circles, and these circles, as :func:`structural_diversity` does.

        Parameters
        ----------
        k : int
            Threshold of the model.
        model : str
            ``comp``, ``core`` or ``truss``.
        t : int, optional
            Number of vertices to find; 100, or n if smaller, by default.
        """
        params = Params(model, k)
        with Session() as session:
            session.params = {**params.record(), "undirected": bool(self._artifact.params.get("undirected"))}
            length = session.params["t"] = length_of("t", t, USUAL_T, self._index.n)
            found = self._index.search(params, length)
            graph = self._opened.csr
            session.graph, session.labels = graph, graph.labels
            session.inputs["graph"] = self._opened.digest
            details = {"scored": found.scored, "symmetrised": not graph.undirected}
            return Diversity(diversity_artifact(session, params, found), details, graph)
