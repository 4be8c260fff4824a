"""Updates of an index of kPAR while its graph changes: ``gpukit kpar update``, in memory."""

from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any

from gpukit.api.graph import Graph
from gpukit.api.pagerank_index import index_artifact
from gpukit.api.results import Content, Label
from gpukit.api.session import Session
from gpukit.api.vertices import Vertices
from gpukit.errors import UsageError, WrongType
from gpukit.parameters.values import type_of

if TYPE_CHECKING:
    from pathlib import Path

    from gpukit.api.pagerank_update import Follower, Update
    from gpukit.artifacts import Artifact
    from gpukit.kpar.index.build import Index

Edge = tuple[Label, Label] | tuple[Label, Label, float]
"""The ends of an edge, and its weight if edges are weighted."""


class Follows(Content):
    """The part of an index that follows changes of its graph, if the index is updatable."""

    _artifact: "Artifact | None" = None
    _files: "tuple[Path, Path] | None" = None
    _device: str
    _follower: "Follower | None" = None
    _followed = 0
    _opened: Graph
    _index: "Index"
    _one_at_a_time: Lock
    _where: dict[str, Any]
    _prepared: Any

    def _follow(self) -> None:
        """Bring graph and index up to date after updates."""
        if self._follower is None or not self._behind:
            return
        with self._one_at_a_time:
            assert self._artifact is not None
            self._opened, self._index = self._follower.current()
            params = self._artifact.params
            self._artifact = index_artifact(self._index, params, {"graph": self._opened.digest})
            self._graph, self._followed = self._opened.csr, self._follower.updates
            if self._prepared is not None and self._prepared[0].kind != "cpu":
                self._prepared = None

    def _follow_for_queries(self) -> None:
        """Update what the preparation of queries needs: names, and on a GPU also edges and walks."""
        if self._follower is not None and (self._follower.other_vertices or not self._on_cpu):
            self._follow()

    @property
    def _on_cpu(self) -> bool:
        """Whether queries run on the CPU."""
        return self._device == "cpu" or (self._prepared is not None and self._prepared[0].kind == "cpu")

    @property
    def _behind(self) -> bool:
        """Whether there were updates since graph and index were last made."""
        return self._follower is not None and self._follower.updates != self._followed

    def update(
        self,
        *,
        add: Iterable[Edge] = (),
        remove: Iterable[Edge] = (),
        set_weights: Iterable[Edge] = (),
        add_vertices: Vertices = (),
        remove_vertices: Vertices = (),
    ) -> "Update":
        """Change edges and vertices: ``gpukit kpar update``, in memory. If one change is refused, none is made.

        The first update opens the index, which takes about as long as making it. The time of later updates depends on
        the number of walks that they change. On the CPU, a query then renews only the changed rows. The first query,
        and the first one after vertices were added or removed, renews all rows.

        Parameters
        ----------
        add : iterable of pairs of vertices, or of triples with a weight where edges are weighted
            In an undirected graph each is an edge in both directions. An edge that exists already is counted, and keeps
            its weight.
        remove : iterable of pairs of vertices
            Edges to remove. Edges that do not exist are counted.
        set_weights : iterable of triples
            Edges and their new weights. Edges that do not exist are counted.
        add_vertices : vertices
            New vertices; their only edges are those in ``add``. Vertices that exist already are ignored.
        remove_vertices : vertices
            Vertices to remove, with all of their edges. A vertex that is added again later is a new vertex.

        Returns
        -------
        gpukit.api.pagerank_update.Update
            The numbers of additions and removals, and of walks that were drawn again.

        Raises
        ------
        UsageError
            If the index was not made with ``updatable``.
        InputError
            If a vertex is not in the graph, two changes of the same edge contradict each other, or a weight does not
            fit.

        Examples
        --------
        >>> import gpukit as gk
        >>> index = gk.PageRankIndex(gk.from_edges(["ann", "bob"], ["bob", "cy"]), updatable=True)
        >>> index.update(add=[("cy", "ann"), ("ann", "bob")], remove=[("ann", "cy")]).already_there
        1
        >>> index.update(add_vertices=["dan"], add=[("dan", "ann")]).vertices_added
        1
        >>> index.graph.m
        4
        """
        from gpukit.api.pagerank_update import listed_of

        with self._one_at_a_time:
            if self._follower is None:
                self._follower = self._open_for_updates()
            graph, weighted = self._opened.csr, self._index.params.weighted
            edges = (
                listed_of(graph, add, "add", weights=weighted),
                listed_of(graph, remove, "remove", weights=False),
                listed_of(graph, set_weights, "set_weights", weights=True),
            )
            for name, vertices in (("add_vertices", add_vertices), ("remove_vertices", remove_vertices)):
                if isinstance(vertices, str | bytes) or not hasattr(vertices, "__iter__"):
                    raise WrongType(f"{name} is {type_of(vertices)}; give a list of vertices")
            return self._follower.update(*edges, add_vertices, remove_vertices)

    def add_edges(self, edges: Iterable[Edge]) -> "Update":
        """Add edges, each with its weight if edges are weighted; see :meth:`update`."""
        return self.update(add=edges)

    def remove_edges(self, edges: Iterable[Edge]) -> "Update":
        """Remove edges; see :meth:`update`."""
        return self.update(remove=edges)

    def set_weights(self, edges: Iterable[Edge]) -> "Update":
        """Change the weights of edges; see :meth:`update`."""
        return self.update(set_weights=edges)

    def add_vertices(self, vertices: Vertices) -> "Update":
        """Add vertices without edges; see :meth:`update`."""
        return self.update(add_vertices=vertices)

    def remove_vertices(self, vertices: Vertices) -> "Update":
        """Remove vertices and all of their edges; see :meth:`update`."""
        return self.update(remove_vertices=vertices)

    def _open_for_updates(self) -> "Follower":
        """Return the object that changes graph and index; raises UsageError if they cannot be changed."""
        from gpukit.api.pagerank_update import Follower, not_updatable

        if self._files is not None:
            raise UsageError("an opened index is that of its files; gpukit.load one that is to be updated")
        if self._index.paths is None:
            raise UsageError(not_updatable())
        with Session(device="cpu", seed=0, **self._where) as session:
            threads = session.use_device(reason="an index is updated on the CPU").threads
        return Follower(self._opened, self._index, threads)
