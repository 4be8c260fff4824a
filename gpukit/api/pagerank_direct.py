"""Top-k personalised PageRank without an index: a first answer in one call."""

from typing import TYPE_CHECKING, Any, Literal

from gpukit.api.in_memory import GraphLike, open_graph
from gpukit.api.pagerank import Source
from gpukit.api.pagerank_answers import answer_exactly, answers_artifact
from gpukit.api.results import TopK
from gpukit.api.session import Progress, Session
from gpukit.api.vertices import weights_of
from gpukit.errors import UsageError
from gpukit.parameters.kpar import USUAL_K, Params
from gpukit.parameters.option import SEED, length_of

if TYPE_CHECKING:
    from gpukit.device.select import Device
    from gpukit.kpar.problem import Result, Sources

REASON = "without an index queries run on the CPU"


def answer_directly(
    session: Session, device: "Device", asked: Params, sources: "Sources", k: int, *, exact: bool
) -> "Result":
    """Answer queries by pushes and walks of their own."""
    from gpukit.graph.trifle import one_edge
    from gpukit.kpar.direct import query_directly
    from gpukit.kpar.problem import Sources

    session.load(lambda: query_directly(one_edge(session.graph), asked, Sources.single([0]), 1))
    with session.phase("query"), session.progress("queries") as update:
        return query_directly(
            session.graph, asked, sources, k, seed=session.seed, exact=exact, threads=device.threads, progress=update
        )


def personalized_pagerank(
    graph: GraphLike,
    source: Source,
    k: int | None = None,
    *,
    alpha: float = Params.alpha,
    epsilon: float = Params.epsilon,
    depth: Literal["auto", "end", "exact"] = "auto",
    weights: str | None = None,
    weighted: bool = False,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = False,
) -> TopK:
    """Return the k vertices with the largest personalised PageRank of one source: ``gpukit kpar query`` without index.

    For many questions about one graph :class:`PageRankIndex` takes less time for each.

    Parameters
    ----------
    graph : Graph or graph-like
    source : vertex, or mapping of vertices to weights, whole or decimal
    k : int, optional
        Length of the answer; 100, or n if smaller, by default.
    alpha : float
        Probability that a walk stops, in (0, 1).
    epsilon : float
        Relative error, in (0, 0.5].
    depth : str
        ``auto``: stop as soon as the guarantee holds; ``end``: go on until 1e-9 of the mass is left; ``exact``: the
        true k best, by the power method; vertices outside that tie with the last are in ``details["tied"]``.
    weights : str, optional
        Edge probabilities, as in :func:`gpukit.read_edges`; those of a Graph, or ``wc``, by default.
    weighted : bool
        Whether to take edges in proportion to their weights: ``file``, or drawn for each edge.
    threads, seed, progress
        As in :func:`gpukit.influence_maximization`.

    Raises
    ------
    UsageError, InputError
        In the words of the command line.

    Examples
    --------
    >>> import gpukit as gk
    >>> path = gk.from_edges(["ann", "bob"], ["bob", "cy"], undirected=True)
    >>> gk.personalized_pagerank(path, "ann", k=2).vertices
    ['bob', 'ann']
    """
    params = Params(alpha, epsilon, weighted)
    if depth not in ("auto", "end", "exact"):
        raise UsageError(f"depth {depth!r} is unknown here; choose auto, end or exact, or make a PageRankIndex")
    with Session(device="cpu", threads=threads, seed=SEED.checked(seed), progress=progress) as session:
        from gpukit.kpar.problem import Sources

        csr = open_graph(session, graph, weights).csr
        length = length_of("k", k, USUAL_K, csr.n)
        query = Sources.weighted(*weights_of(csr, source, "source"))
        session.params = {"k": length, "depth": depth, "bounds": "exact", **params.record()}
        device = session.use_device(reason=REASON)
        details: dict[str, Any] = {}
        if depth == "exact":
            result, tied = answer_exactly(session, query, params, length)
            details["tied"] = [csr.original(one).tolist() for one in tied]
        else:
            result = answer_directly(session, device, params, query, length, exact=depth == "end")
            details["steps"] = result.steps.tolist()
        artifact = answers_artifact(session, query, result, "kpar", epsilon=params.epsilon)
        return TopK(artifact, details, csr)
