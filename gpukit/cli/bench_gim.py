"""``gpukit bench gim``: influence maximisation, timed."""

from typing import Annotated

import typer

from gpukit.cli.bench_record import CompareOption, GraphsArgument, Record, RecordOption, graph_facts, named
from gpukit.cli.common import (
    DeviceChoice,
    DeviceOption,
    GpusOption,
    JsonOption,
    Run,
    SeedOption,
    ThreadsOption,
    VerboseOption,
)
from gpukit.cli.numbers import at_most

DEFAULT_K = 50


def gim(
    context: typer.Context,
    graphs: GraphsArgument,
    models: Annotated[str, typer.Option("--models", help="Diffusion models, with commas between them.")] = "ic,lt",
    bounds: Annotated[
        str, typer.Option("--bounds", help="Of opim, imm, imm-fresh; with commas between them.")
    ] = "opim,imm",
    k: Annotated[int | None, typer.Option("-k", help="Seeds; 50, or n if smaller, by default.")] = None,
    epsilon: Annotated[float, typer.Option("--epsilon", help="Approximation error, in (0, 1).")] = 0.05,
    min_sets: Annotated[int, typer.Option("--min-sets", help="Least number of RR sets.")] = 0,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Timed runs of each configuration.")] = 7,
    out: RecordOption = None,
    compare: CompareOption = None,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Time influence maximisation, warm: every model and bound on every graph."""
    run = Run(
        {"k": DEFAULT_K if k is None else k, "epsilon": epsilon}, seed=seed, out=out, as_json=as_json, verbose=verbose
    )
    where = run.use_device(device, gpus, threads)
    from gpukit.artifacts import read_graph_file
    from gpukit.bench.gim import measure
    from gpukit.bench.machine import peak_memory
    from gpukit.gim.problem import Params

    record = Record("gim", context, run, compare)
    bandwidth = record.copy_bandwidth()
    for name, path in named(graphs):
        graph, digest, tables = read_graph_file(path, tables=True)
        facts = graph_facts(path, graph, digest)
        size = at_most(k, DEFAULT_K, graph.n)
        for model in models.split(","):
            for bound in bounds.split(","):
                params = Params(
                    k=size, epsilon=epsilon, model=model, bound=bound.removesuffix("-fresh"), min_sets=min_sets,
                    seed=seed, samples="fresh" if bound.endswith("-fresh") else "grid",
                )  # fmt: skip
                found = measure(graph, params, where, tables=tables, repeat=repeat, bandwidth=bandwidth)
                record.add(facts, found | {"peak_memory": peak_memory(where)})
                spent = found["algorithm_ms"]
                record.lines[f"{name} {model} {bound}"] = (
                    f"{spent['median']:.2f} ms ({spent['min']:.2f} to {spent['max']:.2f}), {found['rr_sets']:,} RR sets"
                    f", sampling floor {100 * found['floor_share']:.0f} %"
                )
    record.finish()
