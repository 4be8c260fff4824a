"""Top-k personalised PageRank without an index, in one call."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from gpukit.api.in_memory import GraphLike, open_graph
from gpukit.api.pagerank import Source
from gpukit.api.pagerank_answers import answer_exactly, answers_artifact, restricted
from gpukit.api.results import Label, TopK
from gpukit.api.session import Progress, Session
from gpukit.api.vertices import Vertices, weights_of
from gpukit.errors import UsageError
from gpukit.parameters.kpar import Params
from gpukit.parameters.option import SEED
from gpukit.parameters.values import number, optional

if TYPE_CHECKING:
    import numpy as np

    from gpukit.device.select import Device
    from gpukit.kpar.problem import Result, Sources

REASON = "without an index queries run on the CPU"


def answer_directly(
    session: Session, device: "Device", asked: Params, sources: "Sources", k: int, *, exact: bool,
    among: "np.ndarray | None" = None,
) -> "Result":  # fmt: skip
    """Answer queries by pushes and by walks that are drawn for these queries."""
    import numpy as np

    from gpukit.graph.tiny import one_edge
    from gpukit.kpar.direct import query_directly
    from gpukit.kpar.problem import Sources

    tiny = one_edge(session.graph)
    named = None if among is None else np.ones(tiny.n, np.bool_)
    session.load(lambda: query_directly(tiny, asked, Sources.single([0]), 1, among=named))
    with session.phase("query"), session.progress("queries") as update:
        return query_directly(
            session.graph, asked, sources, k, seed=session.seed, exact=exact, among=among, threads=device.threads,
            progress=update,
        )  # fmt: skip


@overload
def personalized_pagerank(
    graph: GraphLike,
    source: Source,
    k: int | None = ...,
    *,
    alpha: float = ...,
    epsilon: float = ...,
    depth: Literal["auto", "end", "exact"] = ...,
    among: Vertices | None = ...,
    weights: str | None = ...,
    weighted: bool = ...,
    threads: int | None = ...,
    seed: int = ...,
    progress: Progress = ...,
) -> TopK: ...


@overload
def personalized_pagerank(
    graph: GraphLike,
    *,
    damping: float | None = ...,
    reset: Mapping[Any, float] | Sequence[float] | None = ...,
    weights: str | None = ...,
    threads: int | None = ...,
) -> dict[Label, float]: ...


def personalized_pagerank(
    graph: GraphLike,
    source: Source | None = None,
    k: int | None = None,
    *,
    damping: float | None = None,
    reset: Mapping[Any, float] | Sequence[float] | None = None,
    alpha: float = Params.alpha,
    epsilon: float = Params.epsilon,
    depth: Literal["auto", "end", "exact"] = "auto",
    among: Vertices | None = None,
    weights: str | None = None,
    weighted: bool = False,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress = False,
) -> TopK | dict[Label, float]:
    """Return the k best for a source, as ``gpukit kpar query`` without index; or, without a source, all scores.

    For many queries on one graph, :class:`PageRankIndex` takes less time per query.

    Parameters
    ----------
    graph : Graph or graph-like
        Without a source also an igraph graph, whose vertices are 0 … n-1.
    source : vertex, or mapping of vertices to weights, whole or decimal
        Without a source the answer is that of igraph's ``personalized_pagerank`` and NetworkX's ``pagerank``: the score
        of each vertex, by its name. Scores sum to 1. A walk at a vertex without out-edges starts again.
    k : int, optional
        Length of the answer; 100, or n if smaller, by default.
    damping : float, optional
        Without a source: probability that a walk continues, in (0, 1); 0.85 by default.
    reset : mapping of vertices to weights, or a weight for each vertex of a Graph or of igraph, optional
        Without a source: the probability of each vertex as the start of a walk, up to a factor; 0 is allowed. Uniform
        by default.
    alpha : float
        Probability that a walk stops, in (0, 1).
    epsilon : float
        Relative error, in (0, 0.5].
    depth : str
        ``auto``: stop as soon as the guarantee holds. ``end``: continue until 1e-9 of the mass is left. ``exact``: the
        true k best, by the power method; ``details["tied"]`` lists vertices outside the answer that tie with its last
        one.
    among : vertices, optional
        With a source: the only vertices that the answer may name; all by default.
    weights : str, optional
        With a source: edge probabilities, as in :func:`gpukit.read_edges`; those of a Graph, or ``wc``, by default.
        Without a source: the attribute or column with the weight of an edge, ``file`` for a Graph; by default all edges
        count alike.
    weighted : bool
        Whether walks choose edges in proportion to their weights. The weights must be ``file``, or drawn for each edge.
    threads, seed, progress
        As in :func:`gpukit.influence_maximization`.

    Raises
    ------
    UsageError, InputError
        For the same reasons as on the command line.

    Examples
    --------
    >>> import gpukit as gk
    >>> path = gk.from_edges(["ann", "bob"], ["bob", "cy"], undirected=True)
    >>> gk.personalized_pagerank(path, "ann", k=2).vertices
    ['bob', 'ann']
    >>> scores = gk.personalized_pagerank(path, damping=0.5, reset={"ann": 1, "cy": 0})
    >>> {name: round(score, 4) for name, score in scores.items()}
    {'ann': 0.5833, 'bob': 0.3333, 'cy': 0.0833}
    """
    if source is None:
        if among is not None:
            raise UsageError("among goes with a source; give one, or leave it out")
        if (k, alpha, epsilon, depth, weighted) != (None, Params.alpha, Params.epsilon, "auto", False):
            raise UsageError("k, alpha, epsilon, depth and weighted go with a source; give one, or leave them out")
        from gpukit.api.pagerank_scores import DAMPING, scores

        return scores(graph, reset, DAMPING.default if damping is None else damping, weights, threads)
    if optional(number, "damping", damping) is not None or reset is not None:
        raise UsageError(
            "damping and reset are for the scores of all; leave the source out, or give alpha = 1 - damping"
        )
    params = Params(alpha, epsilon, weighted)
    if depth not in ("auto", "end", "exact"):
        raise UsageError(f"depth {depth!r} is unknown here; choose auto, end or exact, or make a PageRankIndex")
    with Session(device="cpu", threads=threads, seed=SEED.checked(seed), progress=progress) as session:
        from gpukit.kpar.problem import Sources

        csr = open_graph(session, graph, weights).csr
        length, named, counted = restricted(session, csr, k, among, ())
        query = Sources.weighted(*weights_of(csr, source, "source"))
        session.params = {"k": length, "depth": depth, "bounds": "exact", **params.record(), **counted}
        device = session.use_device(reason=REASON)
        details: dict[str, Any] = {}
        if depth == "exact":
            result, tied = answer_exactly(session, query, params, length, named)
            details["tied"] = [csr.original(one).tolist() for one in tied]
        else:
            result = answer_directly(session, device, params, query, length, exact=depth == "end", among=named)
            details["steps"] = result.steps.tolist()
        artifact = answers_artifact(session, query, result, "kpar", epsilon=params.epsilon)
        return TopK(artifact, details, csr)
