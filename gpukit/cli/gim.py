"""``gpukit gim``: influence maximisation, in one step or in shards, and simple seeds to compare with."""

import logging
import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from gpukit import settings
from gpukit.cli import options
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.gim_common import (
    MEMBERS_PER_SET,
    known_of,
    launch_shape,
    need_edges,
    optimism_of,
    record_of,
    summary_of,
)
from gpukit.cli.gim_shards import sample, select
from gpukit.cli.loading import one_edge
from gpukit.cli.options import ablation, option
from gpukit.cli.vertices import COST_DECIMALS, in_units, vertex_costs, vertex_list, vertex_weights
from gpukit.device.select import Device
from gpukit.errors import UsageError

if TYPE_CHECKING:
    from gpukit.gim import Params, Result
    from gpukit.graph.csr import Graph

_log = logging.getLogger("gpukit")

app = group("Influence maximisation by reverse-reachable sets.")


@dataclass(frozen=True)
class Wanted:
    """How good the seeds shall be, and how that is found out."""

    k: Annotated[int | None, option("-k --k K", "Number of seeds (of each round); or give --budget.")] = None
    epsilon: Annotated[float, option("--epsilon E", "Accuracy of the guarantee, in [1e-6, 1).")] = settings.GIM_EPSILON
    model: options.ModelOption = options.MODEL
    bound: Annotated[settings.Bound, option("--bound", "How many RR sets are enough: OPIM-C or IMM.")] = (
        settings.default(settings.Bound)
    )
    sampler: options.SamplerOption = options.SAMPLER
    samples: Annotated[
        settings.Samples, ablation("--samples", "IMM: re-use the search phase's sets soundly, not, or as printed.")
    ] = settings.default(settings.Samples)
    selection: Annotated[
        settings.Selection, ablation("--selection", "Choose seeds by an index, or by a scan of all sets a seed.")
    ] = settings.default(settings.Selection)
    sets: Annotated[
        settings.Sets,
        option("--sets", "Leave out RR sets that are nothing but their root, which is known; or draw all of them."),
    ] = settings.default(settings.Sets)
    rounds: options.RoundsOption = 1
    optimism: Annotated[
        str,
        option("--optimism E|off", "OPIM-C: draw sets until noise flatters the choice by so little (a share), or not."),
    ] = str(settings.GIM_OPTIMISM)
    max_members: Annotated[
        int, option("--max-members N", "Most members of the RR sets to choose from; then what is found must do.")
    ] = settings.GIM_MAX_MEMBERS
    min_sets: Annotated[
        int | None,
        option("--min-sets N", f"Fewest RR sets to choose from; 0, or {settings.IMM_MIN_SETS} with IMM, if not given."),
    ] = None


@dataclass(frozen=True)
class Limits:
    """Which vertices can be seeds at what cost, and what each counts for."""

    include: Annotated[str | None, option("--include A,B,…|FILE", "Vertices that must be seeds.")] = None
    exclude: Annotated[str | None, option("--exclude A,B,…|FILE", "Vertices that cannot be seeds.")] = None
    targets: Annotated[
        Path | None,
        option("--targets FILE", "Lines `id weight`: what a vertex counts for, up to 9 decimals; 0 if not named."),
    ] = None
    costs: Annotated[Path | None, option("--costs FILE", "Lines `id cost`: what a seed costs; 1 if not named.")] = None
    budget: Annotated[str | None, option("--budget B", "What the seeds may cost together, instead of -k.")] = None


@app.command("run")
@with_run("out", *DEVICE, "seed")
def run_(run: Run, graph_file: options.GraphArgument, wanted: Wanted, limits: Limits, scan: options.ScanShape) -> None:
    """Find k seeds, or seeds within a budget, of large expected spread, and say how good they are."""
    asked = vars(wanted) | {"optimism": optimism_of(wanted.optimism)}
    run.params = {name: value for name, value in asked.items() if name != "selection"} | {"budget": limits.budget}
    if wanted.k is None and limits.budget is None:
        raise UsageError("give the number of seeds by -k, or what they may cost by --budget")
    if limits.budget is None and limits.costs is not None:
        raise UsageError("--costs are for seeds within a budget; give --budget in place of -k")
    budget = None if limits.budget is None else _budget(limits.budget)
    settings.check_gim_epsilon(wanted.epsilon, "--epsilon")
    graph, tables = run.read_graph(graph_file, tables=wanted.model == "ic" and wanted.sampler == "skip")
    with run.phase("read"):
        given, decimals = _read_limits(run, graph, limits)
    device = run.use_device(work=_work(graph, wanted))
    with run.phase("load"):
        from gpukit.gim import Params
        from gpukit.gim.paper import maximise

        params = Params(**asked, **given, budget=budget, seed=run.seed)
        _load(graph, params, device)
    shape = launch_shape(scan, device.kind)
    with run.progress("RR sets") as update:
        result = maximise(graph, params, device, tables=tables, shape=shape, timer=run.timer, progress=update)
    result = _in_weights(result, decimals)
    if not result.converged:
        assert result.optimism is not None
        _log.warning(
            f"the choice has not converged: optimism is {result.optimism:.3g}, asked for was {wanted.optimism}, and "
            f"more sets would have over {wanted.max_members:,} members; raise --max-members"
        )
    seeds = run.save_seeds(result.seeds, f"gim {wanted.bound}", **known_of(result))
    record = record_of(seeds, result)
    run.finish({**record, "selection": wanted.selection}, summary_of(record, graph.n))


@app.command("baseline")
@with_run("out", "seed")
def baseline(
    run: Run,
    graph_file: options.GraphArgument,
    k: options.RoundSeedsOption,
    method: Annotated[
        Literal["degree", "degree-discount", "random"],
        option("--method", "By out-degree, by degree discount, or at random."),
    ],
) -> None:
    """Choose k seeds without RR sets and without a guarantee, to compare with."""
    run.params = {"method": method, "k": k}
    graph, _ = run.read_graph(graph_file)
    need_edges(graph)
    run.use_device(threads=1)
    with run.phase("load"):
        from gpukit.gim import baselines

        ranked = {"degree": baselines.degree, "degree-discount": baselines.degree_discount}
        choose = ranked.get(method) or partial(baselines.random, seed=run.seed)
        choose(one_edge(graph), 1)  # compiled code, before what people compare
    with run.phase("selection"):
        seeds = choose(graph, k)
    run.finish({"seeds": run.save_seeds(seeds, method)})


def _read_limits(run: Run, graph: "Graph", limits: Limits) -> tuple[dict[str, Any], int]:
    """Return the arguments of ``Params`` that stand for vertices, and the decimals of what these count for.

    Ids given join the parameters, files the inputs.
    """
    given: dict[str, Any] = {}
    decimals = 0
    for name in ("include", "exclude"):
        given[name] = vertex_list(getattr(limits, name), f"--{name}", graph)
        if given[name]:
            run.params[name] = graph.original(given[name]).tolist()
    if limits.targets is not None:
        given["root_weights"], decimals = vertex_weights(limits.targets, graph, run.inputs)
    if limits.costs is not None:
        given["costs"] = vertex_costs(limits.costs, graph, run.inputs)
    elif limits.budget is not None:
        import numpy as np

        given["costs"] = np.full(graph.n, 10**COST_DECIMALS)
    return given, decimals


def _in_weights(result: "Result", decimals: int) -> "Result":
    """Return a result whose spreads, in units of 10**-decimals, are in what the vertices count for."""
    if not decimals:
        return result

    def scaled(found: Any, *names: str) -> Any:
        spreads = {name: getattr(found, name) for name in names}
        return replace(found, **{name: one and one / 10**decimals for name, one in spreads.items()})

    history = tuple(scaled(step, "lower", "upper") for step in result.history)
    rules = {name: spread / 10**decimals for name, spread in result.rules.items()}
    result = replace(result, history=history, rules=rules)
    return scaled(result, "spread_estimate", "stderr", "selection_estimate", "lower", "upper")


def _load(graph: "Graph", asked: "Params", device: Device) -> None:
    """Load compiled code with a run on one edge, before the phases that people compare."""
    from gpukit.gim import Params
    from gpukit.gim.paper import maximise

    same = ("model", "bound", "sampler", "selection", "sets", "rounds", "optimism")
    trifle = Params(k=1, epsilon=0.9, min_sets=0, max_members=1000, **{name: getattr(asked, name) for name in same})
    maximise(one_edge(graph), trifle, device)


def _budget(text: str) -> int:
    """Return a budget in units of 10**-6."""
    units = in_units(text, COST_DECIMALS)
    if units is None or not 0 < units < 2**62:
        raise UsageError(f"--budget: {text[:40]!r} is not a number > 0 with at most {COST_DECIMALS} decimals")
    return units


def _work(graph: "Graph", wanted: Wanted) -> float:
    """Estimate the vertex and edge visits of a run, for the choice of the device only: 20 members a set.

    OPIM-C stops after about 16 · (0.05/ε)² times its first size; IMM needs about what an optimum of 0.15 n asks for.
    """
    k, n, epsilon = max(1, min(wanted.k or 50, graph.n)), graph.n, wanted.epsilon
    log_sets = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    first = 2 * (0.64 * math.sqrt(math.log(6 * n)) + math.sqrt(0.64 * (log_sets + math.log(6 * n)))) ** 2
    sets = first / (0.15 * epsilon**2) if wanted.bound == "imm" else 2 * first * max(1.0, 16 * (0.05 / epsilon) ** 2)
    scanned = graph.m / n if wanted.sampler == "scan" else 1.0
    return max(sets, wanted.min_sets or 0) * MEMBERS_PER_SET * scanned * wanted.rounds


app.command("sample")(sample)
app.command("select")(select)
