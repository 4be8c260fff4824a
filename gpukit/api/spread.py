"""The mean spread of seeds, by forward simulation."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from gpukit.api.graph import Graph
from gpukit.api.in_memory import GraphLike, open_graph
from gpukit.api.keywords import keywords
from gpukit.api.results import Seeds, Spread, made_on
from gpukit.api.session import Session, Where
from gpukit.api.vertices import Vertices, internal
from gpukit.errors import UsageError, WrongType
from gpukit.parameters.option import SEED
from gpukit.parameters.spread import Model
from gpukit.parameters.values import number, optional, type_of, whole
from gpukit.wording import spelled

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts import Artifact


RUNS = 20_000
"""Number of cascades if neither a number nor an error is given."""

_log = logging.getLogger("gpukit")


def cascades(runs: int | None, error: float | None, max_runs: int | None) -> int:
    """Return the requested number of cascades, unless an error determines it; raises UsageError."""
    if error is None and max_runs is not None:
        raise UsageError(f"{spelled('max_runs')} is for {spelled('error')}; give that too, or leave it out")
    if error is not None and runs is not None:
        raise UsageError(
            f"give either {spelled('runs')} or {spelled('error')}: one says how many cascades, the other when to stop"
        )
    return RUNS if runs is None else runs


def measure(
    session: Session,
    rounds: Sequence[Sequence[int]],
    sizes: Sequence[int],
    *,
    model: str,
    runs: int,
    error: float | None = None,
    max_runs: int | None = None,
    targets: "np.ndarray | None" = None,
    decimals: int = 0,
) -> "tuple[Artifact, list[dict[str, Any]], float]":
    """Return the spread of seeds as an artifact and as points of a curve, and the largest relative error of the points.

    The last point belongs to all seeds.

    Parameters
    ----------
    session : Session
        With its graph.
    rounds : sequence of sequences of int
        Internal ids of the seeds of each round.
    sizes : sequence of int
        Lengths of prefixes whose spread is also returned; only for one round.
    model : str
        ``ic`` or ``lt``.
    runs : int
        Number of cascades.
    error : float, optional
        Simulate until two standard errors are at most this share of each spread; replaces ``runs``.
    max_runs : int, optional
        Most cascades.
    targets : int64 array, shape (n,), optional
        The weight of each vertex, in units of 10**-decimals; 1 by default.
    decimals : int
        The decimals of ``targets``.
    """
    if len(rounds) > 1 and sizes:
        raise UsageError(f"{spelled('prefixes')} is for seeds of one round; these have several")
    graph = session.graph
    device = session.use_device(work=0.1 * runs * graph.m)
    with session.phase("simulate"), session.progress("cascades") as update:
        from gpukit.evaluate import Until, forward_curve, forward_rounds

        limits = {} if max_runs is None else {"max_runs": max_runs}
        wanted = runs if error is None else Until(error, **limits)
        how: dict[str, Any] = {"model": model, "runs": wanted, "seed": session.seed, "device": device}
        how |= {"progress": update, "targets": targets}
        if len(rounds) > 1:
            sizes = [sum(len(vertices) for vertices in rounds)]
            curve = [forward_rounds(graph, rounds, **how)]
        else:
            sizes = sorted({*sizes, len(rounds[0])})
            curve = forward_curve(graph, rounds[0], sizes, **how)
    runs, reached, unit = curve[-1].runs, max(one.error for one in curve), 10**decimals
    if decimals:
        curve = [replace(one, spread=one.spread / unit, stderr=one.stderr / unit) for one in curve]
    if error is not None and reached > error:
        _log.warning(
            "after %s cascades two standard errors are still %.3g %% of the spread, not %.3g %%; raise "
                f"{spelled('max_runs')}",
            f"{runs:,}", 100 * reached, 100 * error,
        )  # fmt: skip
    columns = {"k": sizes, "spread": [one.spread for one in curve], "stderr": [one.stderr for one in curve]}
    columns |= {"runs": [runs] * len(sizes)}
    from gpukit.artifacts import metrics_artifact

    about = {"params": session.params, "seed": session.seed, "inputs": session.inputs}
    artifact = metrics_artifact(columns, {"model": model, "rounds": len(rounds)}, **about)
    points = [
        {"k": k, "spread": one.spread, "stderr": one.stderr, "runs": runs} for k, one in zip(sizes, curve, strict=True)
    ]
    return artifact, points, reached


@keywords()
def estimate_spread(
    graph: GraphLike,
    seeds: Seeds | Vertices,
    *,
    weights: str | None = None,
    model: Model = "ic",
    runs: int | None = None,
    error: float | None = None,
    max_runs: int | None = None,
    prefixes: Iterable[int] | None = None,
    seed: int = 0,
    **where: Unpack[Where],
) -> Spread:
    """Estimate the expected spread of seeds by forward Monte Carlo: ``gpukit evaluate spread``.

    Parameters
    ----------
    graph : Graph or graph-like
    seeds : Seeds or vertices
        The seeds. They may have been found with other edge probabilities of the same graph.
    weights : str, optional
        Edge probabilities, as in :func:`gpukit.read_edges`; those of a Graph, or ``wc``, by default.
    model : str
        ``ic`` (independent cascade) or ``lt`` (linear threshold).
    runs : int, optional
        Cascades to simulate, at least 2; 20,000 by default.
    error : float, optional
        Simulate until two standard errors are at most this share of the spread; replaces ``runs``.
    max_runs : int, optional
        With ``error``: most cascades, 4,194,304 by default.
    prefixes : numbers, optional
        Lengths of prefixes; the spread of these first seeds is also estimated.
    device, gpus, threads, seed, progress
        As in :func:`gpukit.influence_maximization`.

    Returns
    -------
    Spread

    Raises
    ------
    UsageError, InputError, DeviceError
        For the same reasons as on the command line.

    Examples
    --------
    >>> import gpukit as gk
    >>> path = gk.from_edges(["a", "b"], ["b", "c"], weights="const:1")
    >>> gk.estimate_spread(path, ["a"], runs=100, prefixes=[1])
    Spread: 3.00 ± 0.00 (two standard errors; 100 cascades)
    """
    if prefixes is not None and not hasattr(prefixes, "__iter__"):
        raise WrongType(f"prefixes is {type_of(prefixes)}; give a list of numbers")
    sizes = sorted({whole("prefixes", one) for one in prefixes or ()})
    error, max_runs = optional(number, "error", error), optional(whole, "max_runs", max_runs)
    runs = cascades(optional(whole, "runs", runs), error, max_runs)
    with Session(seed=SEED.checked(seed), **where) as session:
        session.params = {"model": model, "prefixes": sizes} | (
            {"runs": runs} if error is None else {"error": error, "max_runs": max_runs}
        )
        open_graph(session, graph, weights, transpose=False)
        # Seeds found on this graph may be evaluated with other edge probabilities.
        known = isinstance(graph, Graph) and isinstance(seeds, Seeds) and made_on(seeds.artifact) == graph.digest
        rounds = _rounds(session, seeds, None if known else session.inputs["graph"])
        if isinstance(seeds, Seeds):
            session.inputs["seeds"] = seeds.digest
        else:
            session.params["ids"] = session.graph.original(rounds[0]).tolist()
        artifact, points, reached = measure(
            session, rounds, sizes, model=model, runs=runs, error=error, max_runs=max_runs
        )
        more = {} if error is None else {"error": reached}
        return Spread(artifact, {**points[-1], "curve": points, **more})


def _rounds(session: Session, seeds: Seeds | Vertices, digest: str | None) -> list[list[int]]:
    """Return internal ids of the seeds of each round.

    ``digest`` is that of the graph on which an answer must have been found.
    """
    if not isinstance(seeds, Seeds) or seeds.rounds is None:
        return [internal(session.graph, seeds, "seeds", digest=digest)]
    if digest is not None:
        seeds._check_graph(session.graph, digest, "seeds")
    found: list[list[Any]] = [[] for _ in range(max(seeds.rounds) + 1)]
    for vertex, place in zip(seeds, seeds.rounds, strict=True):
        found[place].append(vertex)
    return [internal(session.graph, vertices, "seeds") for vertices in found]
