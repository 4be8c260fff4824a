"""Graphs from objects of other libraries in memory: NetworkX, SciPy, pandas, Arrow, and plain lists."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpukit.api.columns import array_of, table_of
from gpukit.api.edges import build, need_edges, parallel_of, seed_of
from gpukit.api.graph import Graph
from gpukit.api.session import Session
from gpukit.errors import InputError, UsageError, WrongType
from gpukit.parameters.graph import Import, Parallel, Scale
from gpukit.parameters.option import declared
from gpukit.parameters.values import flag, optional, text, type_of, whole
from gpukit.wording import spelled

if TYPE_CHECKING:
    import numpy as np

    from gpukit.graph.read.edgelist import EdgeList

GraphLike = Any
"""A :class:`Graph`, a NetworkX graph, a SciPy sparse matrix, or a table of edges (pandas, Polars, Arrow)."""


Column = Any
"""A list, a NumPy or Arrow array, a column of pandas or Polars, or a tensor on the CPU."""


def open_graph(session: Session, graph: GraphLike, weights: str | None = None, *, transpose: bool = True) -> Graph:
    """Set the graph of a session from a graph-like object, and return it as a :class:`Graph`."""
    with session.phase("read"):
        found = as_graph(graph, weights)
        session.graph = found._transposed if transpose else found.csr
        session.labels = session.graph.labels
        session.inputs["graph"] = found.digest
        return found


def as_graph(graph: GraphLike, weights: str | None = None) -> Graph:
    """Return a graph-like object as a :class:`Graph`.

    Parameters
    ----------
    graph : Graph, networkx.Graph, sparse matrix or array of SciPy, table of pandas, Polars or Arrow
        A table has the ends of edges in columns whose names say so, or has only two columns. Attributes, values and
        further columns are ignored.
    weights : str, optional
        Edge probabilities; those of a Graph, or ``wc``, by default.

    Raises
    ------
    WrongType
        If it is something else.
    """
    if isinstance(graph, Graph):
        return graph if weights is None else graph.with_weights(weights)
    weights = optional(text, "weights", weights) or "wc"
    kinds = {parent.__module__.partition(".")[0] for parent in type(graph).__mro__}
    name = type(graph).__name__
    if "networkx" in kinds:
        return from_networkx(graph, weights=weights)
    if "scipy" in kinds and hasattr(graph, "tocoo"):
        return from_scipy(graph, weights=weights)
    if "pandas" in kinds and name == "DataFrame":
        return from_pandas(graph, weights=weights)
    if hasattr(graph, "column_names") or hasattr(graph, "__arrow_c_stream__") or hasattr(graph, "__dataframe__"):
        return from_arrow(graph, weights=weights)
    raise WrongType(
        f"{type_of(graph)} is no graph; give one by gpukit.read_edges, read_graph or from_…, or a graph of NetworkX, a "
        "sparse matrix of SciPy, or a table of pandas, Polars or Arrow"
    )


def from_networkx(
    graph: Any,
    *,
    weight: str | None = None,
    weights: str | None = None,
    parallel_edges: Parallel | None = None,
    scale: Scale | None = None,
    seed: int = 0,
) -> Graph:
    """Make a graph from a NetworkX graph; its nodes must be all whole numbers or all texts.

    Parameters
    ----------
    graph : networkx.Graph
        Directed or not, with parallel edges or without.
    weight : str, optional
        The edge attribute with the probability; none is read by default.
    weights, parallel_edges, scale, seed
        As in :func:`read_edges`.

    Raises
    ------
    InputError
        If nodes are of another kind, an edge lacks the attribute, or there are no edges.

    Examples
    --------
    >>> import gpukit as gk, networkx as nx
    >>> gk.from_networkx(nx.path_graph(["a", "b", "c"]))
    Graph: 3 vertices, 4 edges, weights wc, undirected
    """
    if not {"nodes", "edges", "is_directed"} <= set(dir(graph)):
        raise WrongType(f"{type_of(graph)} is no graph of NetworkX")
    import numpy as np

    from gpukit.graph.read.edgelist import of_one_kind
    from gpukit.graph.read.networks import edges_of_networkx

    scheme = _scheme(weights, weight is not None, "weight")
    nodes = list(graph)
    values = np.empty(len(nodes), object)
    values[:] = nodes
    called = of_one_kind("the graph", values)
    found = edges_of_networkx("the graph", graph, called, weight, _nothing_said(), _highest(scale))
    return _made(found, scheme, parallel_edges, False, seed, scale)


def from_scipy(
    matrix: Any,
    *,
    weights: str | None = None,
    undirected: bool = False,
    parallel_edges: Parallel | None = None,
    scale: Scale | None = None,
    seed: int = 0,
) -> Graph:
    """Make a graph from a SciPy sparse matrix: entry (i, j) is the edge i → j, vertices are 0 … n-1.

    Parameters
    ----------
    matrix : sparse array or matrix
        Square; its values are read only with ``weights="file"``, as probabilities.
    weights, undirected, parallel_edges, scale, seed
        As in :func:`read_edges`.

    Raises
    ------
    InputError
        If it is not square, or a value is no probability, or there are no entries.

    Examples
    --------
    >>> import gpukit as gk
    >>> from scipy.sparse import csr_array
    >>> gk.from_scipy(csr_array([[0, 1], [0, 0]]))
    Graph: 2 vertices, 1 edge, weights wc, directed
    """
    if not hasattr(matrix, "tocoo"):
        raise WrongType(f"{type_of(matrix)} is no sparse matrix of SciPy")
    from gpukit.graph.read.edgelist import edges_of_matrix

    scheme = optional(text, "weights", weights) or "wc"
    found = edges_of_matrix("the matrix", "SciPy", matrix, _highest(scale) if scheme == "file" else 0)
    return _made(found, scheme, parallel_edges, undirected, seed, scale)


def from_pandas(
    frame: Any,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    *,
    weights: str | None = None,
    undirected: bool = False,
    parallel_edges: Parallel | None = None,
    scale: Scale | None = None,
    seed: int = 0,
) -> Graph:
    """Make a graph from a DataFrame with one edge per row.

    Parameters
    ----------
    frame : pandas.DataFrame
        Or a Polars DataFrame.
    source, target, weight : column names, optional
        The columns of the ends of edges, or named levels of the index; by default columns whose names say so, or the
        only two. Weights are probabilities, or counts with ``scale``.
    weights, undirected, parallel_edges, scale, seed
        As in :func:`read_edges`.

    Raises
    ------
    UsageError
        If there is no such column.
    InputError
        If a column does not hold vertices of one kind, or probabilities, or there are no rows.

    Examples
    --------
    >>> import gpukit as gk, pandas as pd
    >>> gk.from_pandas(pd.DataFrame({"from": ["ann"], "to": ["bob"]}), "from", "to")
    Graph: 2 vertices, 1 edge, weights wc, directed
    """
    named = (source, target, weight)
    held, levels = list(getattr(frame, "columns", ())), list(getattr(getattr(frame, "index", None), "names", ()))
    if wanted := [one for one in levels if one is not None and one in named and one not in held]:
        frame = frame.reset_index(level=wanted)
    how = (weights, undirected, parallel_edges, seed, scale)
    return _from_table("the frame", "DataFrame of pandas", frame, named, *how)


def from_arrow(
    table: Any,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    *,
    weights: str | None = None,
    undirected: bool = False,
    parallel_edges: Parallel | None = None,
    scale: Scale | None = None,
    seed: int = 0,
) -> Graph:
    """Make a graph from an Arrow table with one edge per row; parameters and errors are those of :func:`from_pandas`.

    A table of another library works, too, if pyarrow can read its ``__arrow_c_stream__`` or ``__dataframe__``.

    Examples
    --------
    >>> import gpukit as gk
    >>> import pyarrow as pa  # doctest: +SKIP
    >>> gk.from_arrow(pa.table({"source": [0, 1], "target": [1, 2]}))  # doctest: +SKIP
    Graph: 3 vertices, 2 edges, weights wc, directed
    """
    return _from_table(
        "the table", "table of Arrow", table, (source, target, weight), weights, undirected, parallel_edges, seed, scale
    )


def _from_table(
    name: str,
    kind: str,
    table: Any,
    named: tuple[Any, Any, Any],
    weights: str | None,
    undirected: bool,
    parallel: Parallel | None,
    seed: int,
    scale: Scale | None,
) -> Graph:
    """Make a graph from a table with one edge per row; messages use ``name`` and ``kind``."""
    found = table_of(table)
    if found is None:
        raise WrongType(f"{type_of(table)} is no {kind}")
    there, column = found
    scheme = _scheme(weights, named[2] is not None, "weight")
    wanted = _columns(name, there, *named)
    arrays = [array_of(f"{name}, column {str(one)!r}", column(one)) for one in wanted]
    titles = [f"column {str(one)!r}" for one in wanted]
    return _from_arrays(name, arrays, scheme, undirected, None, parallel, seed, scale, titles)


def from_edges(
    u: Column,
    v: Column,
    w: Column | None = None,
    *,
    weights: str | None = None,
    undirected: bool = False,
    vertices: int | None = None,
    parallel_edges: Parallel | None = None,
    scale: Scale | None = None,
    seed: int = 0,
) -> Graph:
    """Make a graph from edges ``u[i] → v[i]``.

    Parameters
    ----------
    u, v : sequences of int or of str
        Tails and heads: lists, NumPy or Arrow arrays, columns of pandas or Polars, or tensors on the CPU.
    w : sequence of float, optional
        Probabilities.
    vertices : int, optional
        The graph has the vertices 0 … N-1, including those without edges.
    weights, undirected, parallel_edges, scale, seed
        As in :func:`read_edges`; ``weights="file"`` means ``w``, and is the default if ``w`` is given.

    Raises
    ------
    InputError
        If vertices are not all of one kind, a weight is no probability, or there are no edges.
    UsageError
        If their lengths differ.

    Examples
    --------
    >>> import gpukit as gk
    >>> gk.from_edges([7, 9], [9, 12], undirected=True).vertices
    [7, 9, 12]
    """
    scheme = _scheme(weights, w is not None, "w")
    columns = [array_of("the edges", one) for one in (u, v, *([] if w is None else [w]))]
    return _from_arrays(
        "the edges", columns, scheme, undirected, vertices, parallel_edges, seed, scale, ("u", "v", "w")
    )


def _from_arrays(
    name: str,
    columns: "Sequence[np.ndarray]",
    weights: str,
    undirected: bool,
    vertices: int | None,
    parallel: Parallel | None,
    seed: int,
    scale: Scale | None,
    titles: Sequence[str],
) -> Graph:
    """Make a graph from columns; messages use ``name`` and ``titles``."""
    from gpukit.graph.read.edgelist import edges_of_columns

    lengths = [len(one) for one in columns]
    if len(set(lengths)) > 1:
        raise UsageError(f"{name} have columns of {' and '.join(map(str, lengths))} rows; give as many of each")
    found = edges_of_columns(name, columns, _nothing_said(), _highest(scale), titles)
    if vertices is not None:
        if found.labels is not None:
            raise UsageError(
                f"{spelled('vertices')} goes with whole numbers, and the ids of these edges are names; leave it out"
            )
        found = replace(found, n=declared(Import)["vertices"].checked(vertices))
    return _made(found, weights, parallel, undirected, seed, scale)


def _columns(name: str, there: list[Any], source: Any, target: Any, weight: Any) -> list[Any]:
    """Return the columns of a table to read: the named ones, or if none are named, the possible ends of edges."""
    if (source is None) != (target is None):
        raise UsageError("give both source and target, or none of them")
    if source is None:
        from gpukit.graph.read.dialect import choose_columns

        named = not all(isinstance(one, int) for one in there)
        others = [one for one in there if weight is None or one != weight]
        places = choose_columns(name, [str(one) for one in others], named, _nothing_said(), False)
        source, target = (others[place] for place in places)
    wanted = [source, target, *([] if weight is None else [weight])]
    for one in wanted:
        if there.count(one) != 1:
            how = "two columns are" if there.count(one) else "no column is"
            listed = ", ".join(map(str, there))[:120]
            raise UsageError(f"{how} called {str(one)[:40]!r} in {name}; there are {listed}")
    return wanted


def _scheme(weights: str | None, named: bool, what: str) -> str:
    """Return the scheme of edge probabilities; it must be ``file`` if and only if weights are named."""
    found = optional(text, "weights", weights) or ("file" if named else "wc")
    if (found == "file") != named:
        problem = f"{what} names probabilities, which weights {found} does not read" if named else "weights file reads"
        raise UsageError(f"{problem}; " + ("leave one of them out" if named else f"give {what}, which holds them"))
    return found


def _nothing_said() -> Any:
    from gpukit.graph.read.edgelist import ReadOptions

    return ReadOptions()


def _highest(scale: Scale | None) -> float:
    """Return the highest accepted weight: that of a probability, or with ``scale`` that of a count."""
    from gpukit.graph.lines import COUNTS, PROBABILITIES

    return COUNTS if scale else PROBABILITIES


def _made(
    found: "EdgeList", weights: str, parallel: Parallel | None, undirected: bool, seed: int, scale: Scale | None
) -> Graph:
    """Build the graph of edges in memory, as an import of the same edges does."""
    from gpukit.graph.probabilities import parse_weights

    undirected = flag("undirected", undirected)
    with Session(seed=whole("seed", seed)) as session:
        how = parallel_of(parallel, scale)
        session.params = {"undirected": undirected, "weights": weights, "parallel_edges": how, "vertices": found.n}
        session.params |= {"scale": scale} if scale is not None else {}
        parse_weights(weights, session.seed)
        if optional(text, "scale", scale) is not None and weights != "file":
            raise UsageError(f"scale makes probabilities of weights, but weights is {weights}; give those of the edges")
        if not len(found.u):
            raise InputError("the graph has no edges; a graph needs at least one")
        session.use_device()
        graph = build(session, found, how, undirected=undirected or bool(found.undirected), facts={}, scale=scale)
        need_edges(graph)
        return Graph(graph, params=session.params, seed=seed_of(session))
