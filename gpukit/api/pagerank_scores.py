"""Personalised PageRank of all vertices as igraph and NetworkX define it, to replace their calls."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from gpukit.api.graph import Graph
from gpukit.api.in_memory import GraphLike, as_graph, from_edges, from_networkx, from_pandas, from_scipy
from gpukit.api.results import Label
from gpukit.api.session import Session
from gpukit.api.vertices import internal
from gpukit.errors import InputError, UsageError, WrongType
from gpukit.parameters.option import Option, parameter
from gpukit.parameters.values import is_number, optional, text, type_of, unfit

if TYPE_CHECKING:
    import numpy as np

DAMPING = parameter("damping", Annotated[float, Option(gt=0, lt=1)], 0.85)


def scores(
    graph: GraphLike, reset: Any, damping: float, weights: str | None, threads: int | None
) -> dict[Label, float]:
    """Return the score of each vertex; see :func:`gpukit.api.pagerank_direct.personalized_pagerank`."""
    import numpy as np

    from gpukit.evaluate.ppr import power_method

    damping = DAMPING.checked(damping)
    with Session(device="cpu", threads=threads) as session:
        opened, weighted = weighted_graph(graph, optional(text, "weights", weights))
        csr, device = opened.csr, session.use_device(reason="scores are found on the CPU")
        if not (reset is None or isinstance(reset, Mapping) or opened is graph or hasattr(graph, "ecount")):
            raise WrongType(f"reset is {type_of(reset)}; give {{vertex: weight}} for this kind of graph")
        vertices, shares = start_of(opened, reset)
        offsets = np.array([0, len(vertices)])
        (found,) = power_method(csr, offsets, vertices, shares, 1 - damping, weighted=weighted, threads=device.threads)
        # Here a walk at a vertex without out-edges starts again, as a walk that stops does; in the power method it ends
        # there. So visits are ends divided by the probability to stop, which is 1 at a vertex without out-edges.
        visits = np.where(np.diff(csr.indptr) > 0, found / (1 - damping), found)
        return dict(zip(opened.vertices, (visits / visits.sum()).tolist(), strict=True))


def weighted_graph(graph: GraphLike, weights: str | None) -> tuple[Graph, bool]:
    """Return a graph-like object as a graph with the named weights, and whether weights were named.

    Raises
    ------
    UsageError, InputError
        If there are no such weights, or if there are loops, which a graph would drop.
    """
    if isinstance(graph, Graph):
        if weights not in (None, "file"):
            raise UsageError(f"weights is {weights!r}; a Graph has its own, 'file', or none")
        return graph, weights is not None
    kinds = {parent.__module__.partition(".")[0] for parent in type(graph).__mro__}
    if "igraph" in kinds:
        found = _of_igraph(graph, weights)
    elif weights is None:
        found = as_graph(graph, "none")
    elif "networkx" in kinds:
        found = from_networkx(graph, weight=weights, scale="max")
    elif "scipy" in kinds:
        found = from_scipy(graph, weights="file", scale="max")
    else:
        found = from_pandas(graph, weight=weights, scale="max")
    if loops := found.facts.get("self_loops_dropped", 0):
        raise InputError(f"the graph has {loops:,} loops, which gpukit drops, so scores would differ; remove them")
    return found, weights is not None


def _of_igraph(graph: Any, weights: str | None) -> Graph:
    """Return an igraph graph as a graph; its vertices are 0 … n-1."""
    if weights is not None and weights not in graph.es.attributes():
        raise UsageError(
            f"weights is {weights!r}; the edges have {', '.join(graph.es.attributes()) or 'no attributes'}"
        )
    u, v = zip(*graph.get_edgelist(), strict=True) if graph.ecount() else ((), ())
    n, undirected = graph.vcount(), not graph.is_directed()
    if weights is None:
        return from_edges(u, v, vertices=n, undirected=undirected, weights="none")
    return from_edges(u, v, graph.es[weights], vertices=n, undirected=undirected, scale="max")


def start_of(graph: Graph, reset: Any) -> "tuple[np.ndarray, np.ndarray]":
    """Return the vertices where walks start, and the probability of each; uniform if ``reset`` is None.

    Raises
    ------
    WrongType, UsageError, InputError
        If ``reset`` is neither weights of vertices nor a weight for each, or they are negative or all 0.
    """
    import numpy as np

    if reset is None:
        return np.arange(graph.n), np.full(graph.n, 1 / max(graph.n, 1))
    if isinstance(reset, Mapping):
        vertices, values = np.array(internal(graph.csr, list(reset), "reset"), np.int64), list(reset.values())
    elif hasattr(reset, "__len__") and not isinstance(reset, str | bytes):
        vertices, values = np.arange(graph.n), list(reset)
        if len(values) != graph.n:
            raise UsageError(f"reset has {len(values):,} numbers, the graph {graph.n:,} vertices; give one for each")
    else:
        raise WrongType(f"reset is {type_of(reset)}; give {{vertex: weight}}, or a weight for each vertex")
    for value in values:
        if not is_number(value):
            raise unfit("a weight of reset", value, "a number")
    shares = np.array(values, np.float64)
    if not np.all((shares >= 0) & (shares < np.inf)) or not shares.sum() > 0:
        raise UsageError("reset has weights below 0, or none above; give finite numbers from 0 on, and one above 0")
    used = shares > 0
    return vertices[used], shares[used] / shares.sum()
