"""``gpukit papers bench merit``: minimum-cost seeding, timed; ``counters``: its hardware counters on a GPU."""

import math
from itertools import product
from typing import Annotated, Any

from gpukit.cli.command import DEVICE, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import option
from gpukit.cli.vertices.read import number
from gpukit.device.select import choose
from gpukit.errors import UsageError
from gpukit.papers.cli.bench_record import Record, each_graph, named
from gpukit.papers.cli.options import (
    ETA_TIMED,
    CampaignsOption,
    DiffusionOption,
    GraphsArgument,
    Kept,
    RecordOption,
    check_groups,
)
from gpukit.parameters.merit import USUAL_BATCH
from gpukit.parameters.option import Option, length_of

Batch = Annotated[
    int | None,
    Option(f"Seeds of a round at most; {USUAL_BATCH}, or n if smaller, by default.", metavar="B", short="-b"),
]


@with_run(*DEVICE, seed=1, writes="record")
def merit(
    run: Run,
    graphs: GraphsArgument,
    *,
    etas: CampaignsOption = None,
    batch: Batch = None,
    models: DiffusionOption = "ic,lt",
    methods: Annotated[
        str,
        option(
            "--methods", "Of merit, reused, printed, redrawn, segmented, gamcss, pasti, pasti-4, asti; with commas."
        ),
    ] = "merit,segmented",
    certificates: Annotated[str, option("--certificates", "Of fresh, paper; with commas.")] = "fresh",
    groups: Annotated[
        str | None, option("--groups", "β of the update of sets in segments, with commas; without, they are in tables.")
    ] = None,
    worlds: Annotated[int, option("--worlds", "Hidden worlds, a campaign each.", min=1)] = 3,
    limit: Annotated[
        float | None, option("--limit", "Stop a campaign after so many seconds; its time is then a lower bound.", min=0)
    ] = None,
    kept: Kept,
) -> None:
    """Time campaigns of minimum-cost seeding after a warm-up: every method and target in the same hidden worlds."""
    run.params = {"batch": USUAL_BATCH if batch is None else batch, "worlds": worlds}
    targets = None if etas is None else [number(word, "--eta", int) for word in etas.split(",")]
    betas = [None] if groups is None else [number(word, "--groups", int) for word in groups.split(",")]
    for beta in betas:
        check_groups(beta)
    where = run.use_device()
    from gpukit.merit import Params
    from gpukit.papers.bench.merit import measure

    record = Record("merit", run, kept.compare)
    for name, facts, graph, tables in each_graph(graphs, tables=True):
        fitting = length_of("batch", batch, USUAL_BATCH, graph.n)
        aims = targets or [length_of("eta", None, ETA_TIMED, graph.n)]
        for model, eta, certificate, method, beta in product(
            models.split(","), aims, certificates.split(","), methods.split(","), betas
        ):
            params = Params(eta, fitting, model, certificate=certificate, seed=run.seed)
            found = measure(
                graph, params, method, where,
                tables=tables, worlds=worlds, groups=beta, bandwidth=record.bandwidth,
                limit=math.inf if limit is None else limit,
            )  # fmt: skip
            record.add(facts, found)
            record.lines[f"{name} {model} η {eta} {certificate} {method} β {beta or 1}"] = _said(found)
    record.finish()


def _said(found: dict[str, Any]) -> str:
    """Return the campaigns of a method for people."""
    if found["stopped"]:
        return f"more than {found['time_s']['mean']:.3f} s, {found['stopped']} of {found['worlds']} campaigns stopped"
    return (
        f"{found['time_s']['mean']:.3f} s, cost {found['cost']['mean']:,.2f}, {found['rounds']:.1f} rounds, "
        f"{found['probes']:,.0f} probes"
    )


@with_run(*DEVICE, device="cuda", seed=1, writes="record")
def counters(
    run: Run,
    graphs: GraphsArgument,
    *,
    etas: CampaignsOption = None,
    batch: Batch = None,
    models: DiffusionOption = "ic",
    methods: Annotated[str, option("--methods", "Of merit, redrawn, segmented, gamcss; with commas.")] = "merit,gamcss",
    launches: Annotated[int, option("--launches", "Launches of a campaign to count at most.", min=1)] = 200,
    out: RecordOption = None,
) -> None:
    """Count atomics, occupancy and more in a campaign of each method, with NVIDIA's profiler ncu (Nsight Compute)."""
    run.params = {"batch": USUAL_BATCH if batch is None else batch, "launches": launches}
    if run.requested == "cpu":
        raise UsageError("counters are those of a GPU; use --device cuda")
    # No lease: the campaigns run in separate processes, which take it.
    run.device = choose("cuda", run.gpus, run.threads)
    from gpukit.merit import Params
    from gpukit.papers.bench.counters import find_ncu, measure
    from gpukit.papers.merit.baselines import configure

    ncu = find_ncu()
    targets = [str(ETA_TIMED)] if etas is None else etas.split(",")
    campaigns = list(product(models.split(","), targets, methods.split(",")))
    for model, eta, method in campaigns:
        params = Params(number(eta, "--eta", int), run.params["batch"], model, seed=run.seed)  # type: ignore[arg-type]
        if configure(method, params, run.device)[1].kind != "cuda":
            raise UsageError(f"{method} runs on CPU threads, where the profiler counts nothing; leave it out")
    record = Record("counters", run)
    where = ["--device", "cuda", "--gpus", str(run.gpus), "--threads", str(run.device.threads), "--seed", str(run.seed)]
    with run.progress("campaigns") as update:
        for done, ((name, path), (model, eta, method)) in enumerate(product(named(graphs), campaigns)):
            update(done, len(graphs) * len(campaigns))
            words = ["papers", "bench", "merit", str(path), "--models", model]
            # By default, that process reads the graph and determines how large they may be.
            words += [] if etas is None else ["--eta", eta]
            words += [] if batch is None else ["--batch", str(batch)]
            found = measure(ncu, [*words, "--methods", method, "--worlds", "1", *where], launches)
            record.add(found.pop("graph"), found)
            record.lines[f"{name} {model} η {found['params']['eta']} {method}"] = _counted(found)
    record.finish()


def _counted(found: dict[str, Any]) -> str:
    """Return counters for the summary; a question mark if the profiler has no value."""

    def shown(name: str, form: str) -> str:
        return "?" if found[name] is None else format(found[name], form)

    return (
        f"{'the first ' if found['cut'] else ''}{found['launches']:,} launches, {shown('kernel_s', '.3f')} s; "
        f"atomics: {shown('global_atomics', ',.0f')} in global, {shown('shared_atomics', ',.0f')} in shared memory; "
        f"occupancy {shown('occupancy_pct', '.1f')} %, {shown('instructions_per_cycle', '.2f')} instructions a cycle, "
        f"SM throughput {shown('sm_throughput_pct', '.1f')} %"
    )
