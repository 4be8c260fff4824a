"""Vertices whose friends fall into the most separate circles: structural diversity."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

from gpukit.api.in_memory import GraphLike, open_graph
from gpukit.api.keywords import keywords
from gpukit.api.results import Diversity
from gpukit.api.session import Session, Where
from gpukit.parameters.diversity import USUAL_T, Context, Params
from gpukit.parameters.option import length_of
from gpukit.parameters.values import flag

if TYPE_CHECKING:
    from gpukit.artifacts import Artifact
    from gpukit.diversity import Result
    from gpukit.diversity.problem import Scorer
    from gpukit.graph.csr import Graph

VISITS_PER_ARC = 8
"""Least number of steps of the search per arc; ``auto`` chooses the device by it."""


def make_undirected(session: Session, graph: "Graph", undirected: bool) -> bool:
    """Set the graph of a session, without directions; return whether the graph had directions."""
    from gpukit.diversity import as_undirected

    session.graph = as_undirected(graph, undirected)
    return not graph.undirected


def search(
    session: Session,
    params: Params,
    t: int,
    among: range,
    *,
    full: bool = False,
    make: "Callable[..., Scorer] | None" = None,
) -> "tuple[Artifact, Result, dict[str, Any]]":
    """Return the vertices of ``among`` with the most contexts: as an artifact, as a result, and as a record.

    ``make`` replaces :func:`gpukit.diversity.make_network`.
    """
    from gpukit.diversity import make_network, search

    graph = session.graph
    where = session.use_device(work=VISITS_PER_ARC * graph.m)
    with session.phase("triangles"):
        network = (make or make_network)(graph, where, full=full)
    with session.progress("ego-networks") as update:
        found = search(network, params, t, among=among, timer=session.timer, progress=update)
    artifact, record = answer(session, params, found)
    if shares := getattr(network, "shares", []):  # only with several GPUs
        record["shares"] = [vars(share) for share in shares]
    return artifact, found, record


def diversity_artifact(session: Session, params: Params, found: "Result") -> "Artifact":
    """Return a result as an artifact."""
    graph = session.graph
    arrays = {"vertices": graph.numbers(found.vertices), "internal": found.vertices, "scores": found.scores}
    arrays |= {"first": found.contexts.first, "offsets": found.contexts.offsets}
    arrays["members"] = graph.numbers(found.contexts.members)
    with session.phase("write"):
        attributes = {"n": graph.n, "model": params.model, "k": params.k, **session.inputs}
        return session.artifact("diversity", arrays, attributes)


def answer(session: Session, params: Params, found: "Result") -> "tuple[Artifact, dict[str, Any]]":
    """Return a result as an artifact and as a record."""
    graph = session.graph
    artifact = diversity_artifact(session, params, found)
    top = [
        {
            "vertex": vertex,
            "score": int(score),
            "contexts": [graph.original(part).tolist() for part in found.contexts.of(place)],
        }
        for place, (vertex, score) in enumerate(zip(graph.original(found.vertices).tolist(), found.scores, strict=True))
    ]
    return artifact, {"top": top, "scored": found.scored}


@keywords()
def structural_diversity(
    graph: GraphLike,
    k: int = Params.k,
    *,
    model: Context = Params.model,
    t: int | None = None,
    undirected: bool = False,
    full: bool = False,
    **where: Unpack[Where],
) -> Diversity:
    """Find the t vertices with the most circles among their neighbours, and these circles: ``gpukit diversity search``.

    Parameters
    ----------
    graph : Graph or graph-like
    k : int
        Threshold of the model.
    model : str
        Circles are the connected components (``comp``), cores (``core``) or trusses (``truss``) of the network among
        the neighbours of a vertex.
    t : int, optional
        Number of vertices to find; 100, or n if smaller, by default.
    undirected : bool
        Whether to ignore the directions of a directed graph.
    full : bool
        Whether to decompose every network completely, as the paper does; slower, with the same answer.
    device, gpus, threads, progress
        As in :func:`gpukit.influence_maximization`.

    Returns
    -------
    Diversity

    Raises
    ------
    UsageError, InputError, DeviceError
        For the same reasons as on the command line.

    Examples
    --------
    >>> import gpukit as gk, networkx as nx
    >>> gk.structural_diversity(nx.karate_club_graph(), k=3, model="comp", t=2).scores
    {0: 2, 1: 1}
    """
    with Session(**where) as session:
        params, full = Params(model, k), flag("full", full)
        session.params = {**params.record(), "undirected": flag("undirected", undirected)}
        open_graph(session, graph, transpose=False)
        directed = make_undirected(session, session.graph, undirected)
        n = session.graph.n
        length = session.params["t"] = length_of("t", t, USUAL_T, n)
        artifact, _, record = search(session, params, length, range(n), full=full)
        return Diversity(artifact, record | {"symmetrised": directed}, session.graph)
