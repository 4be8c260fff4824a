"""``gpukit gim``: influence maximisation, in one step or in shards, and seeds of simple methods to compare with."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from gpukit.api import needs
from gpukit.api.seeds import budget_units, default_costs, maximise, record_of
from gpukit.cli import options
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.gim.common import need_edges, summary_of
from gpukit.cli.gim.shards import sample, select
from gpukit.cli.gim.sweep import read_under, sweep
from gpukit.cli.options import option
from gpukit.cli.vertices.read import vertex_costs, vertex_list, vertex_weights
from gpukit.graph.tiny import one_edge
from gpukit.parameters.gim import Params, check_limits

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph

app = group("Influence maximisation by reverse-reachable sets.")


@dataclass(frozen=True)
class Limits:
    """Options about vertices: the allowed seeds, their costs, and the weight of each vertex."""

    include: Annotated[str | None, option("--include A,B,…|FILE", "Vertices that must be seeds.")] = None
    exclude: Annotated[str | None, option("--exclude A,B,…|FILE", "Vertices that cannot be seeds.")] = None
    targets: options.TargetsOption = None
    costs: Annotated[Path | None, option("--costs FILE", "Lines `id cost` of seeds; 1 if not named.")] = None
    budget: Annotated[str | None, option("--budget B", "Largest total cost of the seeds; replaces -k.")] = None


@app.command("run")
@with_run("out", *DEVICE, "seed", "explain", writes="seeds", estimate=needs.rr_sets)
def run_(
    run: Run,
    graph_file: options.GraphArgument,
    params: Params,
    limits: Limits,
    weights: Annotated[
        str | None,
        option(
            "--weights A,B,…",
            "Edge probabilities that replace the graph's; with several, the seeds of each are compared.",
        ),
    ] = None,
) -> None:
    """Find k seeds, or seeds within a budget, of large expected spread, and state how good they are."""
    find(run, graph_file, params, limits, weights=weights)


def find(
    run: Run, graph_file: Path, params: Params, limits: Limits, methods_of: Any = None, weights: str | None = None
) -> None:
    """Find seeds; ``methods_of`` returns the methods for parameters and a device, if they are not the default ones."""
    run.params = {**params.record(), "budget": limits.budget}
    check_limits(params.k, limits.budget, limits.costs)
    budget = None if limits.budget is None else budget_units(limits.budget)
    tables = params.model == "ic" and params.sampler == "skip"
    graphs = {}
    if weights is None:
        run.read_graph(graph_file, tables=tables)
    else:
        graphs = read_under(run, graph_file, weights, tables=tables)
    graph = run.graph
    with run.phase("read"):
        given, decimals = _read_limits(run, graph, limits)
    params = replace(params, **given, budget=budget)
    methods = None if methods_of is None else partial(methods_of, params)
    if len(graphs) > 1:
        sweep(run, graphs, params, decimals)
        return
    artifact, result = maximise(run, params, decimals=decimals, methods=methods)
    run.put(artifact)
    record = record_of(graph.original(result.seeds).tolist(), result)
    under = f"{params.model} with {graph.weights}"
    run.finish({**record, "selection": params.selection}, summary_of(record, graph.n, under))


@app.command("baseline")
@with_run("out", "seed", writes="seeds")
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
        choose(one_edge(graph), 1)  # loads compiled code before the measured phases
    with run.phase("selection"):
        seeds = choose(graph, k)
    run.finish({"seeds": run.save_seeds(seeds, method)})


def _read_limits(run: Run, graph: "Graph", limits: Limits) -> tuple[dict[str, Any], int]:
    """Return the arguments of ``Params`` about vertices, and the decimals of the weights.

    Given ids are added to the parameters, files to the inputs.
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
        given["costs"], _ = vertex_costs(limits.costs, graph, run.inputs)
    elif limits.budget is not None:
        given["costs"] = default_costs(graph)
    return given, decimals


app.command("sample")(sample)
app.command("select")(select)
