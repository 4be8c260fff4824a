"""``gpukit bench diversity``: structural diversity, timed."""

from typing import Annotated

import typer

from gpukit.cli.bench_record import CompareOption, GraphsArgument, Record, RecordOption, graph_facts, named
from gpukit.cli.common import (
    DeviceChoice,
    DeviceOption,
    GpusOption,
    JsonOption,
    Run,
    ThreadsOption,
    VerboseOption,
)
from gpukit.cli.diversity import DEFAULT_T, TOption, UndirectedOption
from gpukit.cli.numbers import at_most, number
from gpukit.errors import UsageError


def diversity(
    context: typer.Context,
    graphs: GraphsArgument,
    models: Annotated[str, typer.Option("--models", help="Of comp, core, truss; with commas between them.")] = "truss",
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            help="Of score, full, search, extract, scatter, no-gpu-ego, cpu-div, mcpu-div, bc-div, pgl-div, steal.",
        ),
    ] = "score,full,search",
    balances: Annotated[
        str, typer.Option("--balances", help="Of none, pack, random, exhausted, dynamic; several GPUs.")
    ] = "dynamic",
    fractions: Annotated[
        str, typer.Option("--fractions", help="Parts of the vertices timed for the cost model; several GPUs.")
    ] = "0.01",
    k: Annotated[str, typer.Option("-k", help="Thresholds, with commas between them.")] = "4",
    t: TOption = None,
    undirected: UndirectedOption = False,
    sample: Annotated[
        int, typer.Option("--sample", min=1, help="Vertices that bc-div and pgl-div are timed on.")
    ] = 200,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Timed runs of each configuration.")] = 7,
    out: RecordOption = None,
    compare: CompareOption = None,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Time structural diversity, warm: every vertex scored, the search, ablations and baselines."""
    asked = {"t": DEFAULT_T if t is None else t, "undirected": undirected, "repeat": repeat}
    run = Run(asked, out=out, as_json=as_json, verbose=verbose)
    where = run.use_device(device, gpus, threads)
    from gpukit.artifacts import read_graph_file
    from gpukit.bench.diversity import METHODS, Bench
    from gpukit.bench.machine import peak_memory
    from gpukit.diversity import Params, as_undirected
    from gpukit.diversity.problem import check_t

    for method in methods.split(","):
        if method not in METHODS:
            raise UsageError(f"--methods: {method!r} is unknown; choose {', '.join(METHODS)}")
    settings = [
        (balance, fraction, Params(model, number(one, "-k", int)))
        for balance in balances.split(",")
        for fraction in (number(one, "--fractions", float) for one in fractions.split(","))
        for model in models.split(",")
        for one in k.split(",")
    ]
    record = Record("diversity", context, run, compare)
    bandwidth = record.copy_bandwidth()
    for name, path in named(graphs):
        given, digest, _ = read_graph_file(path, transpose=False)
        graph = as_undirected(given, undirected)
        length = at_most(t, DEFAULT_T, graph.n)
        check_t(length, graph.n)
        known = graph_facts(path, graph, digest)
        for balance, fraction, params in settings:
            bench = Bench(graph, where, repeat=repeat, bandwidth=bandwidth, balance=balance, fraction=fraction)
            facts = known | {"ego_edges": bench.ego_edges, "network_ms": bench.build}
            for method in methods.split(","):
                found = bench.measure(method, params, length, sample) | {"fraction": fraction}
                found |= {"balance": balance} if len(where.gpus) > 1 else {}
                record.add(facts, found | {"peak_memory": peak_memory(where)})
                title = f"{name} {params.model} k={params.k} {method}"
                title += f" {balance} {fraction}" if len(where.gpus) > 1 else ""
                if method == "steal":
                    record.lines[f"{title} {balance}"] = f"{found['makespan']:.3f} times an even share, simulated"
                    continue
                spent = found["ms"]
                record.lines[title] = f"{spent['median']:.2f} ms ({spent['min']:.2f} to {spent['max']:.2f})"
    record.finish()
