"""``gpukit bench merit``: minimum-cost seeding, timed; ``bench counters``: what the GPU counts meanwhile."""

from itertools import product
from typing import Annotated, Any

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
from gpukit.cli.merit_options import DEFAULT_BATCH, BatchOption, check_groups
from gpukit.cli.numbers import at_most, number
from gpukit.device.select import choose
from gpukit.errors import UsageError

EtasOption = Annotated[
    str | None,
    typer.Option("--eta", help="Targets, with commas between them; 1000, or n if smaller, by default."),
]
DEFAULT_ETA = 1000


def merit(
    context: typer.Context,
    graphs: GraphsArgument,
    etas: EtasOption = None,
    batch: BatchOption = None,
    models: Annotated[str, typer.Option("--models", help="Diffusion models, with commas between them.")] = "ic,lt",
    methods: Annotated[
        str, typer.Option("--methods", help="Of merit, printed, redrawn, segmented, gamcss, pasti, asti; with commas.")
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
    asked = {"batch": DEFAULT_BATCH if batch is None else batch, "worlds": worlds}
    run = Run(asked, seed=seed, out=out, as_json=as_json, verbose=verbose)
    targets = None if etas is None else [number(word, "--eta", int) for word in etas.split(",")]
    betas = [number(word, "--groups", int) for word in groups.split(",")]
    for beta in betas:
        check_groups(beta)
    where = run.use_device(device, gpus, threads)
    from gpukit.artifacts import read_graph_file
    from gpukit.bench.merit import measure
    from gpukit.merit import Params

    record = Record("merit", context, run, compare)
    bandwidth = record.copy_bandwidth()
    for name, path in named(graphs):
        graph, digest, tables = read_graph_file(path, tables=True)
        facts = graph_facts(path, graph, digest)
        most = at_most(batch, DEFAULT_BATCH, graph.n)
        for model, eta, certificate, method, beta in product(
            models.split(","),
            targets or [at_most(None, DEFAULT_ETA, graph.n)],
            certificates.split(","),
            methods.split(","),
            betas,
        ):
            params = Params(eta, most, model, certificate=certificate, seed=seed)
            found = measure(
                graph, params, method, where, tables=tables, worlds=worlds, groups=beta,
                bandwidth=bandwidth,
            )  # fmt: skip
            record.add(facts, found)
            record.lines[f"{name} {model} η {eta} {certificate} {method} β {beta}"] = (
                f"{found['time_s']['mean']:.3f} s, cost {found['cost']['mean']:,.2f}, {found['rounds']:.1f} rounds, "
                f"{found['probes']:,.0f} probes"
            )
    record.finish()


def counters(
    context: typer.Context,
    graphs: GraphsArgument,
    etas: EtasOption = None,
    batch: BatchOption = None,
    models: Annotated[str, typer.Option("--models", help="Diffusion models, with commas between them.")] = "ic",
    methods: Annotated[
        str, typer.Option("--methods", help="Of merit, redrawn, segmented, gamcss; with commas.")
    ] = "merit,gamcss",
    launches: Annotated[int, typer.Option("--launches", min=1, help="Launches of a campaign to count at most.")] = 200,
    out: RecordOption = None,
    device: DeviceOption = DeviceChoice.cuda,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Count atomics, occupancy and more in a campaign of each method, by NVIDIA's profiler ncu (Nsight Compute)."""
    asked = {"batch": DEFAULT_BATCH if batch is None else batch, "launches": launches}
    run = Run(asked, seed=seed, out=out, as_json=as_json, verbose=verbose)
    if device == DeviceChoice.cpu:
        raise UsageError("counters are those of a GPU; use --device cuda")
    # No lease: the campaigns run in processes of their own, and these take it.
    run.device = choose("cuda", gpus, threads)
    from gpukit.bench.counters import find_ncu, measure
    from gpukit.merit import Params
    from gpukit.merit.baselines import equip

    ncu = find_ncu()
    targets = [str(DEFAULT_ETA)] if etas is None else etas.split(",")
    campaigns = list(product(models.split(","), targets, methods.split(",")))
    for model, eta, method in campaigns:
        params = Params(number(eta, "--eta", int), asked["batch"], model, seed=seed)
        if equip(method, params, run.device)[1].kind != "cuda":
            raise UsageError(f"{method} runs on CPU threads, where the profiler counts nothing; leave it out")
    record = Record("counters", context, run, None)
    where = ["--device", "cuda", "--gpus", str(gpus), "--threads", str(run.device.threads), "--seed", str(seed)]
    with run.progress("campaigns") as update:
        for done, ((name, path), (model, eta, method)) in enumerate(product(named(graphs), campaigns)):
            update(done, len(graphs) * len(campaigns))
            words = ["bench", "merit", str(path), "--models", model]
            # Left out, it is that process which reads the graph and finds how large they may be.
            words += [] if etas is None else ["--eta", eta]
            words += [] if batch is None else ["--batch", str(batch)]
            found = measure(ncu, [*words, "--methods", method, "--worlds", "1", *where], launches)
            record.add(found.pop("graph"), found)
            record.lines[f"{name} {model} η {found['params']['eta']} {method}"] = _counted(found)
    record.finish()


def _counted(found: dict[str, Any]) -> str:
    """Return counters for people; a question mark for what the profiler has no value of."""

    def shown(name: str, form: str) -> str:
        return "?" if found[name] is None else format(found[name], form)

    return (
        f"{'the first ' if found['cut'] else ''}{found['launches']:,} launches, {shown('kernel_s', '.3f')} s; "
        f"atomics: {shown('global_atomics', ',.0f')} in global, {shown('shared_atomics', ',.0f')} in shared memory; "
        f"occupancy {shown('occupancy_pct', '.1f')} %, {shown('instructions_per_cycle', '.2f')} instructions a cycle, "
        f"SM throughput {shown('sm_throughput_pct', '.1f')} %"
    )
