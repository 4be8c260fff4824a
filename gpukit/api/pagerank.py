"""The vertices most relevant to a source: top-k personalised PageRank."""

import logging
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, Unpack

from gpukit.api.everybody import KIND, write_all
from gpukit.api.graph import Graph, read_graph
from gpukit.api.in_memory import GraphLike, as_graph, open_graph
from gpukit.api.keywords import keywords
from gpukit.api.pagerank_answers import answer, answer_arrays, answer_exactly, answers_artifact, restricted
from gpukit.api.pagerank_changes import Follows
from gpukit.api.pagerank_index import INDEX_VISITS, RANK_VISITS, index, index_artifact, index_of, rank
from gpukit.api.parts import part_of
from gpukit.api.resident import open_files
from gpukit.api.results import Answer, Label, Later, TopK, another_graph, path_of
from gpukit.api.session import DeviceName, Session, Where
from gpukit.api.vertices import Vertices, is_label, weights_of
from gpukit.errors import UsageError, WrongType
from gpukit.parameters.kpar import DEPTH, MEMORY, STOP, USUAL_K, Depth, Params, Stop
from gpukit.parameters.option import SEED, length_of
from gpukit.parameters.values import flag, optional, text, type_of

if TYPE_CHECKING:
    import os

    import numpy as np

    from gpukit.api.everybody import PageRankEdges
    from gpukit.artifacts import Artifact
    from gpukit.device.select import Device
    from gpukit.kpar.engine import Engine
    from gpukit.kpar.index.build import Index
    from gpukit.kpar.problem import Result, Sources

_log = logging.getLogger("gpukit")

OPENED_QUERIES = 1000
"""Number of queries to an opened index that `auto` assumes."""

Source = Label | Mapping[Any, int]
"""The source of one query: a vertex, or vertices with weights."""


class PageRankIndex(Follows):
    """An index of random walks from every vertex, which answers queries: ``gpukit kpar index`` and ``kpar query``.

    Parameters
    ----------
    graph : Graph or graph-like
    alpha : float
        Probability that a walk stops, in (0, 1).
    epsilon : float
        Relative error, in (0, 0.5].
    weights : str, optional
        Edge probabilities, as in :func:`gpukit.read_edges`; those of a Graph, or ``wc``, by default.
    weighted : bool
        Whether walks choose edges in proportion to their weights. The weights must be ``file``, or drawn for each edge.
    hubs, adaptive, memory
        As the options of ``gpukit papers kpar index``.
    updatable : bool
        Whether :meth:`update` can add and remove edges and vertices later; such an index is made on the CPU.
    device, gpus, threads, seed, progress
        As in :func:`gpukit.influence_maximization`; queries run on the same device.

    Raises
    ------
    UsageError, InputError, DeviceError
        For the same reasons as on the command line.

    Examples
    --------
    >>> import gpukit as gk
    >>> index = gk.PageRankIndex(gk.from_edges(["ann", "bob"], ["bob", "cy"], undirected=True))
    >>> index.top_k("ann", k=2).vertices
    ['bob', 'ann']
    >>> index.top_k({"ann": 1, "cy": 1}, k=1).vertices
    ['bob']
    """

    _digest: str | None = None
    _read = False

    @keywords()
    def __init__(
        self,
        graph: GraphLike,
        *,
        alpha: float = Params.alpha,
        epsilon: float = Params.epsilon,
        weights: str | None = None,
        weighted: bool = False,
        hubs: bool = False,
        adaptive: bool = True,
        memory: int | None = None,
        updatable: bool = False,
        seed: int = 0,
        **where: Unpack[Where],
    ) -> None:
        params = Params(alpha, epsilon, weighted)
        hubs, adaptive, updatable = flag("hubs", hubs), flag("adaptive", adaptive), flag("updatable", updatable)
        memory = MEMORY.checked(memory)
        self._where: dict[str, Any] = {**where}
        device = self._where.pop("device")
        with Session(device=device, seed=SEED.checked(seed), **self._where) as session:
            session.params = {**params.record(), "hubs": hubs, "adaptive": adaptive}
            self._opened = open_graph(session, graph, weights)
            if updatable:
                self._artifact, self._index = self._updatable(session, params, hubs, adaptive, memory)
            else:
                work = (INDEX_VISITS + RANK_VISITS) * session.graph.m
                placed = session.use_device(device, work=work)
                order = rank(session, placed, params).order
                self._artifact, self._index = index(
                    session, placed, order, params, hubs=hubs, adaptive=adaptive, memory=memory
                )
        self._ready(device, session.graph)

    @staticmethod
    def _updatable(
        session: Session, params: Params, hubs: bool, adaptive: bool, memory: int | None
    ) -> "tuple[Artifact, Index]":
        """Make an index that follows its graph."""
        from gpukit.api.pagerank_update import resized
        from gpukit.kpar.update.paths import check_updatable

        check_updatable(params, memory)
        session.params["updatable"] = True
        where = session.use_device("cpu", reason="an updatable index is made on the CPU")
        order = rank(session, where, params).order
        found = resized(session, where, order, params, hubs=hubs, adaptive=adaptive)
        return index_artifact(found, session.params, session.inputs), found

    @classmethod
    def _of(cls, artifact: "Artifact", graph: GraphLike, device: str = "auto") -> "PageRankIndex":
        """Return the index of an artifact on its graph."""
        made = cls.__new__(cls)
        made._where = {"gpus": 1, "threads": None, "progress": False}
        made._opened = as_graph(graph)
        if made._opened.digest != artifact.attributes["graph"]:
            raise another_graph("the index", artifact.attributes["graph"], made._opened.digest)
        made._artifact, made._index = artifact, index_of(artifact)
        made._ready(device, made._opened.csr)
        return made

    @classmethod
    def open(
        cls,
        graph: "str | os.PathLike[str]",
        index: "str | os.PathLike[str]",
        *,
        device: DeviceName = "auto",
        gpus: int = 1,
        threads: int | None = None,
    ) -> "PageRankIndex":
        """Open the files of a graph and of its index, for a program that asks many queries, from any of its threads.

        The prepared data of queries are stored next to the index, in ``IRW.h5.ready``. Later openings map this file
        into memory, which takes no longer for a large graph. Queries from several threads are answered concurrently.

        Parameters
        ----------
        graph, index : path
            Files that ``gpukit graph import`` and ``gpukit kpar index`` wrote.
        device, gpus, threads
            The device for queries; GPUs are leased until the program ends.

        Raises
        ------
        UsageError, InputError, DeviceError
            For the same reasons as on the command line.

        Examples
        --------
        >>> import gpukit as gk, tempfile, os
        >>> folder = tempfile.mkdtemp()
        >>> path = gk.from_edges(["ann", "bob"], ["bob", "cy"], undirected=True)
        >>> path.save(os.path.join(folder, "G.h5"))
        >>> gk.PageRankIndex(path).save(os.path.join(folder, "IRW.h5"))
        >>> with gk.PageRankIndex.open(os.path.join(folder, "G.h5"), os.path.join(folder, "IRW.h5")) as index:
        ...     index.top_k("ann", k=2).vertices
        ['bob', 'ann']
        """
        made = cls.__new__(cls)
        made._where = {"gpus": gpus, "threads": threads, "progress": False}
        made._files = path_of(graph), path_of(index)
        with Session(device=device, **made._where) as session:
            files = open_files(*made._files)
            csr, made._index = files.prepared.graph, files.prepared.index
            made._opened, made._digest = Graph(csr, digest=files.graph.payload), files.index.payload
            made._ready(device, csr)
            where = session.use_device(device, work=OPENED_QUERIES * csr.m)
            from gpukit.kpar.engine import Engine

            made._prepared = where, files.on(where)
            made._engine = Engine(where, made._prepared[1], refine=True)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy, also for pickling; a copy of an opened index opens the same files again."""
        self._follow()
        names = ("_files", "_artifact", "_opened", "_index") if self._files is None else ("_files",)
        return {name: getattr(self, name) for name in (*names, "_where", "_device")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["_files"] is not None:
            where = {name: state["_where"][name] for name in ("gpus", "threads")}
            state = vars(PageRankIndex.open(*state["_files"], device=state["_device"], **where))
        vars(self).update(state)
        if self._files is None:
            self._ready(self._device, self._opened.csr)

    def _ready(self, device: str, graph: Any) -> None:
        self._graph = graph
        self._device = device
        self._prepared: tuple[Device, Any] | None = None
        self._engine: Engine | None = None
        self._one_at_a_time = Lock()
        self._follower = None

    def close(self) -> None:
        """End the threads of an opened index, after they have answered the pending queries."""
        if self._engine is not None:
            self._engine.close()

    def __enter__(self) -> "PageRankIndex":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _content(self) -> "Artifact":
        self._follow()
        if self._artifact is None:
            from gpukit.artifacts import read_irw

            assert self._files is not None
            self._artifact = read_irw(self._files[1])
        return self._artifact

    @property
    def digest(self) -> str:
        """The SHA-256 of its content, the ``digest`` of the file."""
        return self._digest or self._content().payload

    @property
    def graph(self) -> Graph:
        """The graph, with the changes of all updates."""
        self._follow()
        if self._files is not None and not self._read:
            self._opened, self._read = read_graph(self._files[0]), True
        return self._opened

    @property
    def alpha(self) -> float:
        """Probability that a walk stops."""
        return float(self._index.params.alpha)

    @property
    def epsilon(self) -> float:
        """Relative error."""
        return float(self._index.params.epsilon)

    def lines(self) -> list[str]:
        """Return what is printed of it."""
        self._follow()
        walks = f"{self._index.total:,} walks, α = {self.alpha}, ε = {self.epsilon}"
        return [f"PageRankIndex: {self._opened.n:,} vertices, {walks}"]

    def top_k(
        self,
        source: Source,
        k: int | None = None,
        *,
        depth: Depth = "refined",
        among: Vertices | None = None,
        exclude: Vertices = (),
    ) -> TopK:
        """Return the k vertices with the largest personalised PageRank of one source.

        Parameters
        ----------
        source : vertex, or mapping of vertices to weights, whole or decimal; of weight 0 a vertex is left out
        k : int, optional
            Length of the answer; 100, or n if smaller, by default.
        depth : str
            ``auto``: stop as soon as the guarantee holds. ``refined``: then also examine the vertices near the end of
            the answer again, and report which places are certain. ``end``: halve the error. ``exact``: the true k best,
            by the power method; ``details["tied"]`` lists vertices outside the answer that tie with its last one.
        among : vertices, optional
            The only vertices that answers may name; all by default.
        exclude : vertices, optional
            Vertices that answers leave out.
        """
        return self.top_k_many([source], k, depth=depth, among=among, exclude=exclude)

    def top_k_many(
        self,
        sources: Iterable[Source],
        k: int | None = None,
        *,
        depth: Depth = "refined",
        among: Vertices | None = None,
        exclude: Vertices = (),
    ) -> TopK:
        """Return the answers of many queries at once; parameters are those of :meth:`top_k`.

        Examples
        --------
        >>> import gpukit as gk
        >>> index = gk.PageRankIndex(gk.from_edges([1, 2], [2, 3], undirected=True))
        >>> [answer[0][0] for answer in index.top_k_many([1, {3: 2, 2: 1}], k=1)]
        [2, 2]
        """
        if is_label(sources) or isinstance(sources, Mapping) or not hasattr(sources, "__iter__"):
            raise WrongType(f"sources is {type_of(sources)}; give a list, or one source to top_k")
        depth = DEPTH.checked(depth)
        from gpukit.kpar.problem import Sources

        if depth == "exact" or isinstance(sources, Answer) or isinstance(among, Answer):
            self._follow()
        else:
            self._follow_for_queries()
        graph, asked = self._opened.csr, self._index.params
        digest = "" if self._behind else self._opened.digest
        with Session(device=self._device, seed=0, **self._where) as session:
            session.graph, session.labels = graph, graph.labels
            if isinstance(sources, Answer):
                sources._check_graph(graph, digest, "sources")
            length, named, counted = restricted(session, graph, k, among, exclude, digest)
            queries = [Sources.weighted(*weights_of(graph, one, "source")) for one in sources]
            if not queries:
                raise UsageError("there are no sources; give at least one")
            joined = Sources.joined(queries)
            session.params = {"k": length, "depth": depth, "bounds": "exact", **asked.record(), **counted}
            details: dict[str, Any] = {}
            if depth == "exact":
                session.graph = self.graph.csr  # an opened index has no edge weights
                result, tied = answer_exactly(session, joined, asked, length, named)
                details["tied"] = [graph.original(one).tolist() for one in tied]
            else:
                result = self._answer(session, joined, length, depth, named)
                details["steps"] = result.steps.tolist()
            return TopK(self._later(session, joined, result), details, graph)

    def _later(self, session: Session, joined: "Sources", result: "Result") -> Later:
        """Return answers whose artifact is made on first use, with the present digests of graph and index."""
        inputs = None if self._behind else {"graph": self._opened.digest, "index": self.digest}
        updates, further = 0 if self._follower is None else self._follower.updates, session.inputs

        def make() -> "Artifact":
            known = inputs
            if known is None:
                assert self._follower is not None
                if self._follower.updates != updates:
                    raise UsageError(
                        "the index has changed since this answer, and its digest is not known; ask again, and save or "
                        "compare the answer before the next update"
                    )
                known = {"graph": self.graph.digest, "index": self.digest}
            session.inputs = known | further
            return answers_artifact(session, joined, result, "kpar", epsilon=self.epsilon)

        said = {"n": session.graph.n, "k": session.params["k"], "alpha": self.alpha}
        return Later(answer_arrays(session.graph, joined, result), said, make)

    def _answer(self, session: Session, joined: "Sources", k: int, depth: str, among: "np.ndarray | None") -> "Result":
        """Answer queries: in the threads of an opened index, or in this thread."""
        if self._engine is not None and depth == "refined" and among is None:
            return self._engine.answer(joined, k)
        with self._one_at_a_time:
            where, prepared = self._prepare(session, float(session.graph.m) * len(joined))
            return answer(session, where, prepared, joined, k, depth=depth, among=among)

    def write_all(
        self,
        path: "str | os.PathLike[str]",
        k: int | None = None,
        *,
        depth: Stop = "refined",
        part: str | None = None,
        force: bool = False,
    ) -> int:
        """Write the answers of all vertices as a Parquet table: ``gpukit kpar all``; needs the package pyarrow.

        After a kill, the same call continues from the last complete batch.

        Parameters
        ----------
        path : path
            The file of the table, with the columns ``source``, ``target`` and ``weight``; the targets of each source
            are ordered by falling weight.
        k : int, optional
            Length of an answer; 100, or n if smaller, by default.
        depth : str
            ``refined`` or ``auto``, as of :meth:`top_k`.
        part : str, optional
            ``I/N``: only the I-th of N ranges of vertices.
        force : bool
            Whether to replace even a file that is no such table.

        Returns
        -------
        int
            The number of rows.

        Raises
        ------
        UsageError
            If pyarrow is not installed, a value is out of range, or another file would be replaced.
        InputError
            If it cannot be written.

        Examples
        --------
        >>> import gpukit as gk
        >>> index = gk.PageRankIndex(gk.from_edges([1, 2], [2, 3], undirected=True))
        >>> index.write_all("near.parquet", k=2)  # doctest: +SKIP
        6
        """
        from gpukit.artifacts.batches import check_called_parquet, check_parquet, check_table_replaced

        check_parquet()
        out = path_of(path)
        if not flag("force", force):
            check_table_replaced(out, KIND, "write_all()")
        check_called_parquet(out)
        depth = STOP.checked(depth)
        self._follow()
        graph, asked = self._opened.csr, self._index.params
        with Session(device=self._device, seed=0, **self._where) as session:
            session.graph, session.labels = graph, graph.labels
            length = length_of("k", k, USUAL_K, graph.n)
            session.inputs = {"graph": self._opened.digest, "index": self.digest}
            session.params = {"k": length, "depth": depth, **asked.record()}
            in_part, first, last = part_of(optional(text, "part", part), graph.n, "vertices")
            session.params |= in_part
            with self._one_at_a_time:
                where, prepared = self._prepare(session, float(graph.m) * (last - first))
                return write_all(session, where, prepared, out, length, first, last, refine=depth == "refined")[0]

    def all_edges(self, k: int | None = None, *, depth: Stop = "refined") -> "PageRankEdges":
        """Return the answers of all vertices as edges in memory, the same as :meth:`write_all` writes.

        Parameters
        ----------
        k : int, optional
            Length of an answer; 100, or n if smaller, by default.
        depth : str
            ``refined`` or ``auto``, as of :meth:`top_k`.

        Returns
        -------
        gpukit.api.everybody.PageRankEdges
            ``edge_index`` (int64, shape (2, rows)) and ``edge_weight`` (float32) of PyTorch Geometric, as NumPy arrays
            that ``torch.from_numpy`` and ``from_dlpack`` take without a copy; ``to_arrow()`` returns a table.

        Examples
        --------
        >>> import gpukit as gk
        >>> index = gk.PageRankIndex(gk.from_edges(["ann", "bob"], ["bob", "cy"], undirected=True))
        >>> edges = index.all_edges(k=1)
        >>> edges.edge_index.tolist(), edges.vertices
        ([[0, 1, 2], [1, 1, 1]], ['ann', 'bob', 'cy'])
        """
        from gpukit.api.everybody import all_edges
        from gpukit.kpar.problem import Sources

        depth = STOP.checked(depth)
        self._follow()
        graph = self._opened.csr
        length = length_of("k", k, USUAL_K, graph.n)
        with Session(device=self._device, seed=0, **self._where) as session:
            session.graph = graph
            with self._one_at_a_time:
                where, prepared = self._prepare(session, float(graph.m) * graph.n)
                every = Sources.single(range(graph.n))
                return all_edges(graph, answer(session, where, prepared, every, length, depth=depth))

    def _prepare(self, session: Session, work: float) -> "tuple[Device, Any]":
        """Return the device, and the graph and the index on it; they stay there for the next query."""
        from gpukit.kpar.run import prepare_on

        asked = self._device
        if self._prepared is not None and self._on_cpu:
            session.device = device = self._prepared[0]  # the choice of a device takes longer than a query
            if self._follower is not None:
                self._prepared = device, [self._follower.prepared()]
            return self._prepared
        if asked == "auto" and self._prepared is not None:
            asked = self._prepared[0].kind  # the device that has the graph and the index
        device = session.use_device(asked, work=work)
        if self._follower is not None and device.kind == "cpu":
            self._prepared = device, [self._follower.prepared()]
            return self._prepared
        if self._prepared is None or (self._prepared[0].kind, self._prepared[0].gpus) != (device.kind, device.gpus):
            with session.phase("prepare"):
                self._prepared = device, prepare_on(device, self._opened.csr, self._index)
        return device, self._prepared[1]
