"""``gpukit bench merit``: minimum-cost seeding, timed."""

from itertools import product
from typing import Annotated

import typer

from gpukit.cli.bench_record import CompareOption, GraphsArgument, Record, RecordOption, graph_facts
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
from gpukit.cli.numbers import number


def merit(
    context: typer.Context,
    graphs: GraphsArgument,
    etas: Annotated[str, typer.Option("--eta", help="Targets, with commas between them.")] = "1000",
    batch: Annotated[int, typer.Option("--batch", "-b", help="Seeds of a round at most.")] = 16,
    models: Annotated[str, typer.Option("--models", help="Diffusion models, with commas between them.")] = "ic,lt",
    methods: Annotated[
        str, typer.Option("--methods", help="Of merit, printed, segmented, gamcss, pasti, asti; with commas.")
    ] = "merit,segmented",
    certificates: Annotated[str, typer.Option("--certificates", help="Of fresh, paper; with commas.")] = "fresh",
    groups: Annotated[str, typer.Option("--groups", help="β of the update, with commas between them.")] = "1",
    worlds: Annotated[int, typer.Option("--worlds", min=1, help="Hidden worlds, a campaign each.")] = 3,
    out: RecordOption = None,
    compare: CompareOption = None,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Time campaigns of minimum-cost seeding, warm: every method and target in the same hidden worlds."""
    run = Run({"batch": batch, "worlds": worlds}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    where = run.use_device(device, gpus, threads)
    from gpukit.artifacts import read_graph, read_tables
    from gpukit.bench.merit import measure
    from gpukit.merit import Params

    record = Record("merit", context, run, compare)
    bandwidth = record.copy_bandwidth()
    for path in graphs:
        graph, tables = read_graph(path), read_tables(path)
        facts = graph_facts(path, graph)
        for model, eta, certificate, method, beta in product(
            models.split(","), etas.split(","), certificates.split(","), methods.split(","), groups.split(",")
        ):
            params = Params(number(eta, "--eta", int), batch, model, certificate=certificate, seed=seed)
            found = measure(
                graph, params, method, where, tables=tables, worlds=worlds, groups=number(beta, "--groups", int),
                bandwidth=bandwidth,
            )  # fmt: skip
            record.add(facts, found)
            record.lines[f"{path.stem} {model} η {eta} {certificate} {method} β {beta}"] = (
                f"{found['time_s']['mean']:.3f} s, cost {found['cost']['mean']:,.2f}, {found['rounds']:.1f} rounds, "
                f"{found['probes']:,.0f} probes"
            )
    record.finish()
