"""``gpukit gim``: influence maximisation, in one step or in shards, and simple seeds to compare with."""

import hashlib
import math
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpukit.cli.common import (
    DeviceChoice,
    DeviceOption,
    GpusOption,
    JsonOption,
    OutOption,
    Run,
    SeedOption,
    ThreadsOption,
    VerboseOption,
)
from gpukit.cli.gim_options import (
    MEMBERS_PER_SET,
    BlockOption,
    Bound,
    GraphArgument,
    GridOption,
    KOption,
    Method,
    Model,
    ModelOption,
    RoundsOption,
    Sampler,
    SamplerOption,
    Samples,
    Selecting,
    launch_shape,
    need_edges,
    record_of,
    stored,
    summary_of,
)
from gpukit.cli.gim_shards import sample, select
from gpukit.cli.loading import one_edge
from gpukit.cli.numbers import in_units
from gpukit.cli.vertices import vertex_list, vertex_numbers
from gpukit.device.select import Device
from gpukit.errors import UsageError

if TYPE_CHECKING:
    from gpukit.gim import Params
    from gpukit.graph.csr import Graph

COST_DECIMALS = 6
_UNIT = 10**COST_DECIMALS

app = typer.Typer(help="Influence maximisation by reverse-reachable sets.", no_args_is_help=True, add_completion=False)


@app.command("run")
def run_(
    graph_file: GraphArgument,
    out: OutOption,
    k: Annotated[
        int | None, typer.Option("-k", metavar="K", help="Number of seeds (of each round); or give --budget.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", metavar="E", help="Accuracy of the guarantee, in [1e-6, 1).")
    ] = 0.1,
    model: ModelOption = Model.ic,
    bound: Annotated[Bound, typer.Option("--bound", help="How many RR sets are enough: OPIM-C or IMM.")] = Bound.opim,
    sampler: SamplerOption = Sampler.skip,
    samples: Annotated[
        Samples, typer.Option("--samples", help="IMM: re-use the search phase's sets soundly, not, or as printed.")
    ] = Samples.grid,
    selection: Annotated[
        Selecting, typer.Option("--selection", help="Choose seeds by an index, or by a scan of all sets a seed.")
    ] = Selecting.by_index,
    rounds: RoundsOption = 1,
    min_sets: Annotated[
        int, typer.Option("--min-sets", metavar="N", help="Fewest RR sets, all collections together.")
    ] = 200_000,
    include: Annotated[
        str | None, typer.Option("--include", metavar="A,B,…|FILE", help="Vertices that must be seeds.")
    ] = None,
    exclude: Annotated[
        str | None, typer.Option("--exclude", metavar="A,B,…|FILE", help="Vertices that cannot be seeds.")
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option("--targets", metavar="FILE", help="Lines `id weight`: what a vertex counts for; 0 if not named."),
    ] = None,
    costs: Annotated[
        Path | None, typer.Option("--costs", metavar="FILE", help="Lines `id cost`: what a seed costs; 1 if not named.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="B", help="What the seeds may cost together, instead of -k.")
    ] = None,
    block: BlockOption = None,
    grid: GridOption = None,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Find k seeds, or seeds within a budget, of large expected spread, and say how good they are."""
    params: dict[str, Any] = {
        "k": k,
        "epsilon": epsilon,
        "model": model.value,
        "bound": bound.value,
        "sampler": sampler.value,
        "samples": samples.value,
        "rounds": rounds,
        "min_sets": min_sets,
        "budget": budget,
    }
    run = Run(params, seed=seed, out=out, as_json=as_json, verbose=verbose)
    if k is None and budget is None:
        raise UsageError("give the number of seeds by -k, or what they may cost by --budget")
    budget_units = None if budget is None else _budget(budget)
    if not 1e-6 <= epsilon < 1:
        raise UsageError(f"--epsilon is {epsilon}; it must lie in [1e-6, 1): less would take over 10^12 RR sets")
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file

        skipping = model == Model.ic and sampler == Sampler.skip
        graph, source, tables = read_graph_file(graph_file, tables=skipping)
        inputs = {"graph": source}
        forced, barred = vertex_list(include, "--include", graph), vertex_list(exclude, "--exclude", graph)
        for name, vertices in (("include", forced), ("exclude", barred)):
            if vertices:
                run.params[name] = graph.original(vertices).tolist()
        weights = prices = None
        if targets is not None:
            content = targets.read_bytes()
            weights = vertex_numbers(
                targets, content, graph, default=0, decimals=0, low=Decimal(0), high=Decimal(2**53)
            )
            inputs["targets"] = hashlib.sha256(content).hexdigest()
        if costs is not None:
            low, high = Decimal(1) / _UNIT, Decimal(2**31 - 1) / _UNIT
            content = costs.read_bytes()
            prices = vertex_numbers(costs, content, graph, default=_UNIT, decimals=COST_DECIMALS, low=low, high=high)
            inputs["costs"] = hashlib.sha256(content).hexdigest()
        elif budget is not None:
            import numpy as np

            prices = np.full(graph.n, _UNIT)
    work = _work(graph, k or 50, epsilon, bound, sampler, min_sets) * rounds
    chosen = run.use_device(device.value, gpus, threads, work=work)
    with run.phase("load"):
        from gpukit.gim import Params, maximise

        asked = Params(
            k=k,
            epsilon=epsilon,
            model=model.value,
            bound=bound.value,
            sampler=sampler.value,
            samples=samples.value,
            selection=selection.value,
            rounds=rounds,
            min_sets=min_sets,
            seed=seed,
            include=forced,
            exclude=barred,
            root_weights=weights,
            costs=prices,
            budget=budget_units,
        )
        _load(graph, asked, chosen)
    shape = launch_shape(block, grid, chosen.kind)
    with run.progress("RR sets") as update:
        result = maximise(graph, asked, chosen, tables=tables, shape=shape, timer=run.timer, progress=update)
    with run.phase("write"):
        from gpukit.artifacts import write_seeds

        method = f"gim {bound.value}"
        original = graph.original(result.seeds)
        known = stored(run, inputs, result)
        write_seeds(out, original, result.seeds, n=graph.n, method=method, inputs=inputs, **known)
    record = record_of(original.tolist(), result)
    run.finish(graph, {**record, "selection": selection.value}, summary_of(record, graph.n))


@app.command("baseline")
def baseline(
    graph_file: GraphArgument,
    out: OutOption,
    k: KOption,
    method: Annotated[Method, typer.Option("--method", help="By out-degree, by degree discount, or at random.")],
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Choose k seeds without RR sets and without a guarantee, to compare with."""
    run = Run({"method": method.value, "k": k}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file

        graph, source, _ = read_graph_file(graph_file)
        inputs = {"graph": source}
    need_edges(graph)
    run.use_device(threads=1)
    with run.phase("load"):
        from gpukit.gim import baselines

        ranked = {Method.degree: baselines.degree, Method.degree_discount: baselines.degree_discount}
        choose = ranked.get(method) or partial(baselines.random, seed=seed)
        choose(one_edge(graph), 1)  # compiled code, before what people compare
    with run.phase("selection"):
        seeds = choose(graph, k)
    with run.phase("write"):
        from gpukit.artifacts import write_seeds

        original = graph.original(seeds)
        write_seeds(
            out, original, seeds, n=graph.n, method=method.value, graph=inputs["graph"], seed=seed, params=run.params
        )
    run.finish(graph, {"seeds": original.tolist()})


def _load(graph: "Graph", asked: "Params", device: Device) -> None:
    """Load compiled code with a run on one edge, before the phases that people compare."""
    from gpukit.gim import Params, maximise

    same = ("model", "bound", "sampler", "selection", "rounds")
    trifle = Params(k=1, epsilon=0.9, min_sets=0, **{name: getattr(asked, name) for name in same})
    maximise(one_edge(graph), trifle, device)


def _budget(text: str) -> int:
    """Return a budget in units of 10**-6."""
    units = in_units(text, COST_DECIMALS)
    if units is None or not 0 < units < 2**62:
        raise UsageError(f"--budget: {text[:40]!r} is not a number > 0 with at most {COST_DECIMALS} decimals")
    return units


def _work(graph: "Graph", k: int, epsilon: float, bound: Bound, sampler: Sampler, min_sets: int) -> float:
    """Estimate the vertex and edge visits of a run, for the choice of the device only: 20 members a set.

    OPIM-C stops after about 16 · (0.05/ε)² times its first size; IMM needs about what an optimum of 0.15 n asks for.
    """
    k = max(1, min(k, graph.n))
    log_sets = math.lgamma(graph.n + 1) - math.lgamma(k + 1) - math.lgamma(graph.n - k + 1)
    first = 2 * (0.64 * math.sqrt(math.log(6 * graph.n)) + math.sqrt(0.64 * (log_sets + math.log(6 * graph.n)))) ** 2
    sets = first / (0.15 * epsilon**2) if bound == Bound.imm else 2 * first * max(1.0, 16 * (0.05 / epsilon) ** 2)
    scanned = graph.m / graph.n if sampler == Sampler.scan else 1.0
    return max(sets, min_sets) * MEMBERS_PER_SET * scanned


app.command("sample")(sample)
app.command("select")(select)
