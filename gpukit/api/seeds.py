"""Seeds that reach most vertices: by RR sets (gIM) and by simulated worlds (IMGPU)."""

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack

from gpukit.api.in_memory import GraphLike, open_graph
from gpukit.api.keywords import keywords
from gpukit.api.results import Seeds
from gpukit.api.session import Session, Where, split
from gpukit.api.vertices import COST_DECIMALS, Vertices, costs_of, in_units, internal, targets_of
from gpukit.errors import UsageError
from gpukit.parameters.gim import Bound, Params, Sampler, Samples, Sentinels, Sets, check_limits
from gpukit.parameters.imgpu import USUAL_WORLDS
from gpukit.parameters.imgpu import Params as WorldParams
from gpukit.parameters.spread import Model
from gpukit.parameters.values import is_number, unfit
from gpukit.wording import spelled

if TYPE_CHECKING:
    import numpy as np

    from gpukit.artifacts import Artifact
    from gpukit.device.select import Device
    from gpukit.gim import Result
    from gpukit.gim.run import Methods
    from gpukit.graph.csr import Graph
    from gpukit.imgpu import Result as WorldResult

_log = logging.getLogger("gpukit")

MEMBERS_PER_SET = 20
"""A rough estimate for the choice of the device."""

PATIENCE_S = 1.0
"""After this many seconds a run that `auto` began on the CPU moves to a GPU, if there is one. A GPU takes as long to
start."""

VISITS = 10
"""Vertex and edge visits per live arc of a world; for the choice of the device."""


# Shared with the commands


def budget_units(text: str) -> int:
    """Return a budget in units of 10**-6."""
    units = in_units(text, COST_DECIMALS)
    if units is None or not 0 < units < 2**62:
        raise UsageError(
            f"{spelled('budget')}: {text[:40]!r} is not a number > 0 with at most {COST_DECIMALS} decimals"
        )
    return units


def default_costs(graph: "Graph") -> "np.ndarray":
    """Return the default costs of seeds for a budget: 1 each, in units of 10**-6."""
    import numpy as np

    return np.full(graph.n, 10**COST_DECIMALS)


def maximise(
    session: Session, params: Params, *, decimals: int = 0, methods: "Callable[[Device], Methods] | None" = None
) -> "tuple[Artifact, Result]":
    """Return the seeds of gIM as an artifact, and the result.

    Parameters
    ----------
    session : Session
        With its graph.
    params : Params
    decimals : int
        Decimals of the weights of vertices; ``params`` has the weights as whole numbers in this unit.
    methods : callable, optional
        Returns the methods for a device; the default methods if not given.
    """
    with session.phase("load"):
        from gpukit.device.compiled import compile_concurrently
        from gpukit.gim.baselines import by_discount

        compile_concurrently("gpukit.gim.tiny:choose", by_discount)
    device = session.use_device(work=_work(session.graph, params))
    try:
        found = _maximise(session, params, device, methods, PATIENCE_S)
    except _Slow:
        # The seeds are the same on every device, so only time is lost. An estimate could not predict how long the CPU
        # takes: this depends on the size of the sets, and on when the choice converges.
        device = session.use_device(reason=f"auto: the CPU has taken over {PATIENCE_S:g} s, and a GPU is here")
        found = _maximise(session, params, device, methods, math.inf)
    found = in_weights(found, decimals)
    if not found.converged:
        assert found.optimism is not None
        _log.warning(
            f"the choice has not converged: optimism is {found.optimism:.3g}, requested was {params.optimism}, and "
            f"more sets would have over {params.max_members:,} members; raise {spelled('max_members')}"
        )
    with session.phase("write"):
        return session.seeds_artifact(found.seeds, f"gim {params.bound}", **known_of(found)), found


class _Slow(Exception):
    """The CPU takes too long, and there is a GPU."""


def _maximise(session: Session, params: Params, device: "Device", methods: Any, patience: float) -> "Result":
    """Return the seeds that gIM finds on a device; raises _Slow at the first size after the patience, in seconds."""
    with session.phase("load"):
        from gpukit.gim.run import DEFAULT

        used = DEFAULT if methods is None else methods(device)
    session.load(lambda: _load(session.graph, params, device, used))
    from gpukit.device.timing import marker
    from gpukit.gim import maximise

    session.timer.mark = marker(device)  # the GPU chooses seeds while it draws sets
    end = perf_counter() + patience
    with session.progress("RR sets") as update:

        def watch(done: int, total: int) -> None:
            update(done, total)
            if perf_counter() > end and session.has_faster():
                raise _Slow

        return maximise(
            session.graph, params, device, tables=session.tables, methods=used, timer=session.timer, progress=watch
        )


def known_of(result: "Result") -> dict[str, Any]:
    """Return the fields of ``SeedSet`` with the estimates and bounds of the seeds."""
    names = ("gains", "spread_gains", "rounds", "spread_estimate", "selection_estimate", "rr_sets")
    guarantee = {"value": result.guarantee, "kind": result.guarantee_kind}
    return {name: getattr(result, name) for name in names} | {"guarantee": guarantee}


def record_of(seeds: list[int], result: "Result") -> dict[str, Any]:
    """Return the keys of ``--json`` that only this command has; ``seeds`` are original ids."""
    record: dict[str, Any] = {"seeds": seeds}
    if result.rounds is not None:
        record["rounds"] = result.rounds.tolist()
    record |= result.facts() | {"gains": result.gains.tolist(), "spread_gains": result.spread_gains.tolist()}
    record["history"] = [vars(step) for step in result.history]
    return record


def simulate(
    session: Session, params: WorldParams, *, pairs: bool = True, **options: Any
) -> "tuple[Artifact, WorldResult, list[float]]":
    """Return the seeds of IMGPU as an artifact, the result, and the seconds until each seed was chosen.

    ``pairs`` is an argument of :func:`gpukit.worlds.blocks.prepare_blocks`, ``options`` are further arguments of
    :func:`gpukit.imgpu.maximise`.
    """
    from gpukit.imgpu import maximise
    from gpukit.imgpu.problem import check
    from gpukit.worlds.blocks import prepare_blocks

    graph = session.graph
    device = use_device(session, params.worlds or USUAL_WORLDS, params.k if params.fresh else 2)
    check(graph, params.k)
    begun = session.timer.seconds()["total"]
    with session.phase("transfer"):
        options["ready"] = prepare_blocks(graph, pairs=pairs)
    prepared = session.timer.seconds()["total"]
    session.load(lambda: maximise(graph, replace(params, k=1, worlds=2), device, **options))
    start = session.timer.seconds()["total"] - (prepared - begun)
    with session.progress("worlds") as update:
        found = maximise(graph, params, device, timer=session.timer, progress=update, **options)
    choice = laps(session, start)
    session.params["worlds"] = found.worlds
    if found.optimism is not None and not found.optimism.enough:
        _log.warning(
            "with %s worlds, the most by default, the optimism is still %.2g %% ± %.2g %%: more "
            f"{spelled('worlds')} may give seeds that are better by as much",
            f"{found.worlds:,}", 100 * found.optimism.value, 100 * found.optimism.sd,
        )  # fmt: skip
    with session.phase("write"):
        gains = {"gains": found.gains, "spread_gains": found.gains / found.worlds}
        known = {**gains, "spread_estimate": found.spread_estimate}
        return session.seeds_artifact(found.seeds, "imgpu", **known), found, choice


def laps(session: Session, start: float) -> list[float]:
    """Return the seconds from ``start`` until each seed was chosen."""
    return [round(lap - start, 6) for lap in session.timer.laps]


def use_device(session: Session, worlds: int, passes: int) -> "Device":
    """Choose the device of IMGPU by a rough estimate of the vertex and edge visits of a run."""
    graph = session.graph
    scheme, p = graph.weights.scheme, graph.weights.p
    live = graph.m * p if p is not None else graph.n if scheme == "wc" else 0.04 * graph.m
    return session.use_device(work=live * max(worlds, 1) * passes * VISITS)


def _load(graph: "Graph", params: Params, device: "Device", methods: "Methods") -> None:
    """Load compiled code with a run on one edge."""
    from gpukit.gim import maximise
    from gpukit.graph.tiny import one_edge

    same = ("model", "bound", "sampler", "selection", "sets", "rounds", "optimism")
    tiny = Params(k=1, epsilon=0.9, min_sets=0, max_members=1000, **{name: getattr(params, name) for name in same})
    maximise(one_edge(graph), tiny, device, methods=methods)


def in_weights(result: "Result", decimals: int) -> "Result":
    """Return a result with its spreads converted from units of 10**-decimals to the given weights."""
    if not decimals:
        return result

    def scaled(found: Any, *names: str) -> Any:
        spreads = {name: getattr(found, name) for name in names}
        return replace(found, **{name: None if one is None else one / 10**decimals for name, one in spreads.items()})

    history = tuple(scaled(step, "lower", "upper") for step in result.history)
    rules = {name: spread / 10**decimals for name, spread in result.rules.items()}
    result = replace(result, history=history, rules=rules)
    return scaled(result, "spread_estimate", "stderr", "selection_estimate", "spread_gains", "lower", "upper")


def _work(graph: "Graph", params: Params) -> float:
    """Estimate the least vertex and edge visits of a run, with 20 members per set; only for the choice of the device.

    The preparation of the graph visits all edges.

    OPIM-C stops after about 16 · (0.05/ε)² times its first size. IMM needs about as many sets as for an optimum of 0.15
    n.
    """
    k, n, epsilon = max(1, min(params.k or 50, graph.n)), graph.n, params.epsilon
    log_sets = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    first = 2 * (0.64 * math.sqrt(math.log(6 * n)) + math.sqrt(0.64 * (log_sets + math.log(6 * n)))) ** 2
    sets = first / (0.15 * epsilon**2) if params.bound == "imm" else 2 * first * max(1.0, 16 * (0.05 / epsilon) ** 2)
    scanned = graph.m / n if params.sampler == "scan" else 1.0
    return graph.m + max(sets, params.min_sets or 0) * MEMBERS_PER_SET * scanned * params.rounds


# For Python only


class GimOptions(Where, total=False):
    """Rare options of :func:`influence_maximization`."""

    bound: Bound
    optimism: float | None
    max_members: int
    min_sets: int | None
    sampler: Sampler
    samples: Samples
    sets: Sets
    sentinels: Sentinels


@keywords(Params)
def influence_maximization(
    graph: GraphLike,
    k: int | None = None,
    *,
    weights: str | None = None,
    epsilon: float = 0.1,
    model: Model = "ic",
    rounds: int = 1,
    include: Vertices = (),
    exclude: Vertices = (),
    targets: Mapping[Any, float] | None = None,
    costs: Mapping[Any, float] | None = None,
    budget: float | str | None = None,
    seed: int = 0,
    **more: Unpack[GimOptions],
) -> Seeds:
    """Find seeds of large expected spread, and state how good they are: ``gpukit gim run``.

    Parameters
    ----------
    graph : Graph or graph-like
    k : int, optional
        Number of seeds (in each round); alternatively give ``budget``.
    weights : str, optional
        Edge probabilities, as in :func:`gpukit.read_edges`; those of a Graph, or ``wc``, by default.
    epsilon : float
        Accuracy of the guarantee, in [1e-6, 1).
    model : str
        ``ic`` (independent cascade) or ``lt`` (linear threshold).
    rounds : int
        Rounds of seeding, 1 to 255.
    include, exclude : vertices
        Vertices that must be seeds, and vertices that cannot be seeds.
    targets : mapping of vertices to numbers, optional
        The weight of each vertex, with up to 9 decimals; 0 if not named.
    costs : mapping of vertices to numbers, optional
        The cost of each vertex as a seed, with up to 6 decimals; 1 if not named.
    budget : number, optional
        The most that the seeds may cost together; replaces ``k``.
    seed : int
        Seed of all random numbers, 0 to 2^64 - 1. The answer depends on the seed, but not on the device.
    bound : str
        ``opim`` or ``imm``: the rule for the number of RR sets.
    optimism : float or None
        With ``opim``: draw sets until noise overrates the choice by at most this share of its spread, in (0, 1). None:
        draw only as many sets as the guarantee needs.
    max_members, min_sets, sampler, samples, sets, sentinels
        As the options of ``gpukit papers gim run``.
    device, gpus, threads
        The device, and the numbers of GPUs and of CPU threads.
    progress : bool or callable
        Whether to show a bar; or a function, called as ``progress(done, total)``.

    Returns
    -------
    Seeds

    Raises
    ------
    UsageError, InputError, DeviceError
        For the same reasons as on the command line.

    Examples
    --------
    >>> import gpukit as gk
    >>> star = gk.from_edges(["hub"] * 3, ["a", "b", "c"], weights="const:1")
    >>> gk.influence_maximization(star, k=1).seeds
    ['hub']
    """
    where, asked = split(more)
    params = Params(k=k, epsilon=epsilon, model=model, rounds=rounds, seed=seed, **asked)
    if budget is not None and not is_number(budget) and not isinstance(budget, str):
        raise unfit("budget", budget, "a number")
    budget_text = None if budget is None else str(budget)
    with Session(seed=seed, **where) as session:
        check_limits(k, budget_text, costs)
        session.params = {**params.record(), "budget": budget_text}
        units = None if budget_text is None else budget_units(budget_text)
        opened = open_graph(session, graph, weights)
        if params.model == "ic" and params.sampler == "skip":
            session.tables = opened.tables()
        limits, decimals = _limits(session, include, exclude, targets, costs)
        if units is not None and costs is None:
            limits["costs"] = default_costs(session.graph)
        artifact, found = maximise(session, replace(params, **limits, budget=units), decimals=decimals)
        details = record_of(session.graph.original(found.seeds).tolist(), found)
        return Seeds(artifact, details, session.graph)


def _limits(
    session: Session, include: Vertices, exclude: Vertices, targets: Any, costs: Any
) -> tuple[dict[str, Any], int]:
    """Return the limits on seeds, the weights and the costs, as parameters; and the decimals of the weights."""
    graph, decimals = session.graph, 0
    found: dict[str, Any] = {}
    for name, vertices in (("include", include), ("exclude", exclude)):
        found[name] = internal(graph, vertices, name, digest=session.inputs["graph"])
        if found[name]:
            session.params[name] = graph.original(found[name]).tolist()
    if targets is not None:
        found["root_weights"], decimals = targets_of(graph, targets, session.inputs)
    if costs is not None:
        found["costs"] = costs_of(graph, costs, session.inputs)
    return found, decimals


@keywords()
def simulated_seeds(
    graph: GraphLike,
    k: int,
    *,
    weights: str | None = None,
    worlds: int | None = None,
    fresh: bool = False,
    seed: int = 0,
    **where: Unpack[Where],
) -> Seeds:
    """Find k seeds; each is the vertex that adds most to the spread over simulated worlds: ``gpukit imgpu run``.

    Parameters
    ----------
    graph : Graph or graph-like
    k : int
        Number of seeds.
    weights : str, optional
        Edge probabilities, as in :func:`gpukit.read_edges`; those of a Graph, or ``wc``, by default.
    worlds : int, optional
        Number of live-edge worlds; by default it is increased until the choice is stable.
    fresh : bool
        Whether each seed is chosen on new worlds.
    device, gpus, threads, seed, progress
        As in :func:`gpukit.influence_maximization`.

    Returns
    -------
    Seeds

    Raises
    ------
    UsageError, InputError, DeviceError
        For the same reasons as on the command line.

    Examples
    --------
    >>> import gpukit as gk
    >>> star = gk.from_edges(["hub"] * 3, ["a", "b", "c"], weights="const:1")
    >>> gk.simulated_seeds(star, k=1, worlds=10).seeds
    ['hub']
    """
    params = WorldParams(k, worlds, fresh, seed)
    with Session(seed=seed, **where) as session:
        session.params = params.record()
        open_graph(session, graph, weights)
        artifact, found, choice = simulate(session, params)
        seeds = session.graph.original(found.seeds).tolist()
        details = {"seeds": seeds, **found.facts(), "gains": found.gains.tolist(), "choice_s": choice}
        return Seeds(artifact, details, session.graph)
