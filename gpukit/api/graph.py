"""Graphs for Python: from files, tables, matrices and the graphs of other libraries."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from gpukit.api.edges import import_edges, need_edges, seed_of
from gpukit.api.keywords import keywords
from gpukit.api.results import Content, Label, path_of
from gpukit.api.session import Progress, Session, split
from gpukit.errors import UsageError, WrongType
from gpukit.files import local
from gpukit.graph.lines import quoted
from gpukit.parameters.graph import Decimal, Ids, Import, Parallel, Scale, Text
from gpukit.parameters.option import SEED
from gpukit.parameters.values import optional, text, unfit, whole
from gpukit.wording import counted

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import numpy as np

    from gpukit.artifacts import Artifact
    from gpukit.graph import csr


class Graph(Content):
    """A directed graph with edge probabilities; an undirected one holds each edge in both directions.

    Made by :func:`read_edges`, :func:`read_graph` or one of the functions ``from_…``.

    Parameters
    ----------
    graph : gpukit.graph.csr.Graph
        Its arrays.
    params, inputs, seed
        The parameters, input digests and seed of the import, as ``graph import`` stores them.
    tables : mapping of arrays, optional
        Its sampling tables, if available.
    digest : str, optional
        Its digest, if known.

    Attributes
    ----------
    skipped : list of str
        The lines that :func:`read_edges` left out because of ``skip_bad``, each with its number and what is wrong.

    Examples
    --------
    >>> import gpukit as gk
    >>> gk.from_edges(["ann", "bob"], ["bob", "cy"])
    Graph: 3 vertices, 2 edges, weights wc, directed
    """

    def __init__(
        self,
        graph: "csr.Graph",
        *,
        params: Mapping[str, Any] | None = None,
        inputs: Mapping[str, str] | None = None,
        seed: int | None = None,
        tables: "Mapping[str, np.ndarray] | None" = None,
        digest: str | None = None,
    ) -> None:
        from gpukit.graph import csr

        if not isinstance(graph, csr.Graph):
            raise unfit("graph", graph, "a gpukit.graph.csr.Graph (gpukit.from_… and read_… make a Graph)")
        self.csr = graph
        self._digest = digest
        self._graph = None
        self._made: dict[str, Any] = {"params": dict(params or {}), "inputs": dict(inputs or {}), "seed": seed}
        self._tables = tables
        self.skipped: list[str] = []

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.csr.n

    @property
    def m(self) -> int:
        """Number of directed edges."""
        return self.csr.m

    @property
    def undirected(self) -> bool:
        """Whether the graph is undirected, so that every edge is stored in both directions."""
        return self.csr.undirected

    @property
    def weights(self) -> str:
        """The scheme of the edge probabilities, as a value of ``weights``."""
        return str(self.csr.weights)

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about its import: ``self_loops_dropped``, ``parallel_edges_merged`` and more."""
        return dict(self.csr.facts)

    @property
    def vertices(self) -> list[Label]:
        """The external names of the vertices, in the order of the graph."""
        return self.csr.original(range(self.n)).tolist()

    @cached_property
    def _artifact(self) -> "Artifact":
        from gpukit.artifacts import graph_artifact

        return graph_artifact(self.csr)

    def _content(self) -> "Artifact":
        return self._artifact

    @property
    def digest(self) -> str:
        """The SHA-256 of vertices, edges and probabilities, the ``digest`` of the file."""
        return self._digest or self._artifact.payload

    @cached_property
    def _transposed(self) -> "csr.Graph":
        """The graph with its in-edges."""
        from gpukit.graph.build import transpose

        return transpose(self.csr)

    def tables(self) -> "Mapping[str, np.ndarray] | None":
        """Return the sampling tables; None for a graph without probabilities."""
        if self._tables is None and self.csr.weights.scheme != "none":
            from gpukit.worlds.tables import build_tables

            self._tables = build_tables(self._transposed)
        return self._tables

    def _put(self, target: "Path", compress: bool) -> None:
        from gpukit.artifacts import write_graph

        if self._digest is not None:
            self._tables = None  # a file lists them in a different order
        kept = self.csr.in_indptr is not None
        write_graph(target, self.csr, self.tables() if kept else None, compress=compress, **self._made)

    def lines(self) -> list[str]:
        """Return what is printed of it."""
        how = "undirected" if self.undirected else "directed"
        return [f"Graph: {counted(self.n, 'vertex')}, {counted(self.m, 'edge')}, weights {self.weights}, {how}"]

    def __len__(self) -> int:
        return self.n

    def with_weights(self, weights: str, *, seed: int = 0) -> "Graph":
        """Return the graph with other edge probabilities, as an import with these would make it.

        Parameters
        ----------
        weights : str
            ``wc``, ``const:P``, ``trivalency``, ``uniform:LO:HI`` or ``none``.
        seed : int
            The seed of ``trivalency`` and ``uniform``.

        Raises
        ------
        UsageError
            If the graph has explicit probabilities (its edges of probability 0 were dropped), or ``weights`` is
            ``file``.

        Examples
        --------
        >>> import gpukit as gk
        >>> gk.from_edges([0], [1]).with_weights("const:0.1").weights
        'const:0.1'
        """
        from gpukit.graph.build import transpose
        from gpukit.graph.probabilities import drawn_stored, parse_weights

        seed = SEED.checked(seed)
        scheme = parse_weights(text("weights", weights), seed)
        if scheme == self.csr.weights:
            return self
        if "file" in (scheme.scheme, self.csr.weights.scheme):
            raise UsageError(
                f"the graph has weights {self.weights} and cannot be given weights {weights}; make it again with these"
            )
        words = drawn_stored(scheme, self.csr.indptr, self.csr.indices) if scheme.drawn else None
        graph = replace(
            self.csr, weights=scheme, probabilities=words, in_indptr=None, in_indices=None, in_probabilities=None
        )
        made = self._made | {"params": self._made["params"] | {"weights": weights}}
        made["seed"] = seed if scheme.drawn else None
        return Graph(graph if self.csr.in_indptr is None else transpose(graph), **made)


def read_graph(path: "str | os.PathLike[str]") -> Graph:
    """Read a graph that :meth:`Graph.save` or ``gpukit graph import`` wrote.

    Raises
    ------
    InputError
        If the file is missing, of another kind or broken.

    Examples
    --------
    >>> import gpukit as gk, tempfile, os
    >>> file = os.path.join(tempfile.mkdtemp(), "G.h5")
    >>> gk.from_edges([0, 1], [1, 2]).save(file)
    >>> gk.read_graph(file)
    Graph: 3 vertices, 2 edges, weights wc, directed
    """
    from gpukit.artifacts import read_graph_file, read_header

    found = read_graph_file(path_of(path), tables=True)
    header = read_header(path_of(path), "graph")
    return Graph(
        found.graph, params=header.params, inputs=header.inputs, seed=header.seed, tables=found.tables,
        digest=found.digest,
    )  # fmt: skip


class TextOptions(TypedDict, total=False):
    """Rare options for a file of edges, and the options of a session."""

    sep: str | None
    header: bool | None
    ids: Ids | None
    format: str | None
    comment: str | None
    skip_bad: int | None
    decimal: Decimal | None
    sheet: str | None
    encoding: str | None
    fold_case: bool
    strip: bool
    threads: int | None
    progress: Progress


@keywords(Text)
def read_edges(
    path: "str | os.PathLike[str]",
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    undirected: bool | None = None,
    weights: str | None = None,
    parallel_edges: Parallel | None = None,
    scale: Scale | None = None,
    vertices: int | None = None,
    dataset: str | None = None,
    transpose: bool = True,
    seed: int = 0,
    **more: Unpack[TextOptions],
) -> Graph:
    """Read an edge list, as ``gpukit graph import`` does.

    Parameters
    ----------
    path : path
        Text, CSV, or a file in a format that ``gpukit graph import --format list`` shows; also compressed.
    source, target, weight : str or int, optional
        Columns by name or by number from 1; detected by default. A column of weights holds probabilities.
    undirected : bool, optional
        Whether each listed edge is an edge in both directions; by default what the file says, or else false.
    weights : str, optional
        Edge probabilities: ``wc`` (1/in-degree, the default), ``const:P``, ``trivalency``, ``uniform:LO:HI``, ``file``
        (from the file; the default if ``weight`` is given) or ``none``.
    parallel_edges : str
        The treatment of repeated edges: ``sum`` adds the counts, ``max`` (or ``merge``) keeps the largest weight,
        ``first`` keeps the weight of the first line, and ``combine`` counts each as a separate chance. The default is
        ``sum`` with ``scale``, otherwise ``max``.
    scale : str, optional
        Turn counts into probabilities: ``max`` divides by the largest count, ``in-sum`` by the sum of the counts into
        the head, and a number (as a text) by this number.
    vertices : int, optional
        The graph has the vertices 0 … N-1, including those without edges.
    dataset : str, optional
        The file is this data set of ``gpukit data list``.
    transpose : bool
        Whether to keep the in-edges.
    sep, header, ids
        For a text: the separator of columns, whether the first line names them, and whether ids are whole numbers or
        names.
    format, comment, skip_bad
        The name of the format, the character that starts a comment (or ``none``), and the most invalid lines to skip.
    decimal, sheet
        The decimal mark of weights, ``.`` or ``,``; and the sheet of an Excel workbook.
    encoding
        The encoding of a text, by a name that Python knows; UTF-8 by default.
    fold_case, strip
        Whether names that differ only in case, or only in runs of blanks, are the same. The most frequent spelling is
        kept.
    threads, seed, progress
        As in :func:`influence_maximization`; the seed is used by ``trivalency`` and ``uniform``.

    Raises
    ------
    InputError, UsageError
        For the same reasons as on the command line.

    Examples
    --------
    >>> import gpukit as gk, tempfile, os
    >>> file = os.path.join(tempfile.mkdtemp(), "friends.csv")
    >>> with open(file, "w") as stream:
    ...     print("from,to,strength", "ann,bob,0.5", "bob,cy,0.25", sep=chr(10), file=stream)
    >>> gk.read_edges(file, source="from", target="to", weight="strength", undirected=True)
    Graph: 3 vertices, 4 edges, weights file, undirected
    """
    where, said = split(more)
    if (source is None) != (target is None):
        raise UsageError("give both source and target, or none of them")
    if weight is not None and source is None:
        raise UsageError("weight names a column beside source and target; give these, too")
    wanted = [optional(_column, *one) for one in (("source", source), ("target", target), ("weight", weight))]
    columns = None if source is None else ",".join(quoted(one) for one in wanted if one is not None)
    asked = Import(
        undirected=undirected,
        weights=optional(text, "weights", weights) or ("wc" if weight is None else "file"),
        parallel_edges=parallel_edges,
        scale=scale,
        vertices=vertices,
        dataset=dataset,
        transpose=transpose,
        text=Text(columns=columns, **said),
    )
    with Session(seed=SEED.checked(seed), **where) as session:
        graph, _, _ = import_edges(session, path_of(local(path_of(path))), asked)
        need_edges(graph)
        made = Graph(graph, params=session.params, inputs=session.inputs, seed=seed_of(session))
        made.skipped = [*session.skipped]
        return made


def _column(name: str, value: Any) -> str | int:
    """Return the name of a column, or its number; raises WrongType for anything else."""
    if isinstance(value, str):
        return str(value)
    try:
        return whole(name, value)
    except WrongType:
        raise unfit(name, value, "the name or the number of a column") from None
