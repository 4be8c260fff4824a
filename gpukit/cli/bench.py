"""``gpukit bench``: timed runs with everything needed to judge them."""

import json
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

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
from gpukit.errors import UsageError

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Time systems side by side.")


@app.callback()
def _group() -> None:
    """Time systems side by side."""


@app.command("gim")
def gim(
    graphs: Annotated[list[Path], typer.Argument(metavar="G.h5…", help="Graphs to run on.")],
    models: Annotated[str, typer.Option("--models", help="Diffusion models, with commas between them.")] = "ic,lt",
    bounds: Annotated[
        str, typer.Option("--bounds", help="Of opim, imm, imm-fresh; with commas between them.")
    ] = "opim,imm",
    k: Annotated[int, typer.Option("-k", help="Seeds.")] = 50,
    epsilon: Annotated[float, typer.Option("--epsilon", help="Approximation error, in (0, 1).")] = 0.05,
    min_sets: Annotated[int, typer.Option("--min-sets", help="Least number of RR sets.")] = 0,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Timed runs of each configuration.")] = 7,
    out: Annotated[Path | None, typer.Option("--out", help="Where to keep the record (JSON).")] = None,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Time influence maximisation, warm: every model and bound on every graph."""
    run = Run({"k": k, "epsilon": epsilon}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    where = run.use_device(device, gpus, threads)
    from gpukit.artifacts import digest, read_graph, read_tables
    from gpukit.bench.gim import copy_bandwidth, measure, peak_memory
    from gpukit.cli.doctor import versions
    from gpukit.gim.problem import Params

    bandwidth = copy_bandwidth(where)
    record: dict[str, Any] = {
        "benchmark": "gim",
        "device": where.record(),
        "versions": versions(),
        "copy_bandwidth": bandwidth,
        "runs": [],
    }
    lines: dict[str, str] = {}
    for path in graphs:
        graph, tables = read_graph(path), read_tables(path)
        facts = {"name": path.stem, "n": graph.n, "m": graph.m, "weights": str(graph.weights), "digest": digest(path)}
        for model in models.split(","):
            for bound in bounds.split(","):
                params = Params(
                    k=k, epsilon=epsilon, model=model, bound=bound.removesuffix("-fresh"), min_sets=min_sets, seed=seed,
                    samples="fresh" if bound.endswith("-fresh") else "grid",
                )  # fmt: skip
                found = measure(graph, params, where, tables=tables, repeat=repeat, bandwidth=bandwidth)
                record["runs"].append({"graph": facts, **found, "peak_memory": peak_memory(where)})
                spent = found["algorithm_ms"]
                lines[f"{path.stem} {model} {bound}"] = (
                    f"{spent['median']:.2f} ms ({spent['min']:.2f} to {spent['max']:.2f}), {found['rr_sets']:,} RR sets"
                    f", sampling floor {100 * found['floor_share']:.0f} %"
                )
    if out is not None:
        out.write_text(json.dumps(record, indent=1) + "\n")
    run.finish(record=record, summary=lines)


@app.command("diversity")
def diversity(
    graphs: Annotated[list[Path], typer.Argument(metavar="G.h5…", help="Undirected graphs to run on.")],
    models: Annotated[str, typer.Option("--models", help="Of comp, core, truss; with commas between them.")] = "truss",
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            help="Of score, full, search, extract, scatter, no-gpu-ego, cpu-div, mcpu-div, bc-div, pgl-div.",
        ),
    ] = "score,full,search",
    balances: Annotated[
        str, typer.Option("--balances", help="Of none, pack, random, exhausted, dynamic; several GPUs.")
    ] = "dynamic",
    fractions: Annotated[
        str, typer.Option("--fractions", help="Parts of the vertices timed for the cost model; several GPUs.")
    ] = "0.01",
    k: Annotated[str, typer.Option("-k", help="Thresholds, with commas between them.")] = "4",
    t: Annotated[int, typer.Option("-t", help="Vertices to find.")] = 100,
    sample: Annotated[
        int, typer.Option("--sample", min=1, help="Vertices that bc-div and pgl-div are timed on.")
    ] = 200,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Timed runs of each configuration.")] = 7,
    out: Annotated[Path | None, typer.Option("--out", help="Where to keep the record (JSON).")] = None,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Time structural diversity, warm: every vertex scored, the search, ablations and baselines."""
    run = Run({"t": t, "repeat": repeat}, out=out, as_json=as_json, verbose=verbose)
    where = run.use_device(device, gpus, threads)
    from gpukit.artifacts import digest, read_graph
    from gpukit.bench.diversity import METHODS, Bench
    from gpukit.bench.gim import copy_bandwidth, peak_memory
    from gpukit.cli.doctor import versions
    from gpukit.diversity import Params, as_undirected

    for method in methods.split(","):
        if method not in METHODS:
            raise UsageError(f"--methods: {method!r} is unknown; choose {', '.join(METHODS)}")
    settings = [
        (balance, fraction, Params(model, _number(one, "-k", int)))
        for balance in balances.split(",")
        for fraction in (_number(one, "--fractions", float) for one in fractions.split(","))
        for model in models.split(",")
        for one in k.split(",")
    ]
    bandwidth = copy_bandwidth(where)
    record: dict[str, Any] = {"benchmark": "diversity", "device": where.record(), "versions": versions()}
    record |= {"copy_bandwidth": bandwidth, "runs": []}
    lines: dict[str, str] = {}
    for path in graphs:
        graph = as_undirected(read_graph(path, transpose=False))
        facts = {"name": path.stem, "n": graph.n, "m": graph.m, "digest": digest(path)}
        for balance, fraction, params in settings:
            bench = Bench(graph, where, repeat=repeat, bandwidth=bandwidth, balance=balance, fraction=fraction)
            facts |= {"ego_edges": bench.ego_edges, "network_ms": bench.build}
            for method in methods.split(","):
                found = bench.measure(method, params, t, sample) | {"fraction": fraction}
                record["runs"].append({"graph": facts, **found, "peak_memory": peak_memory(where)})
                spent = found["ms"]
                name = f"{path.stem} {params.model} k={params.k} {method}"
                name += f" {balance} {fraction}" if len(where.gpus) > 1 else ""
                lines[name] = f"{spent['median']:.2f} ms ({spent['min']:.2f} to {spent['max']:.2f})"
    if out is not None:
        out.write_text(json.dumps(record, indent=1) + "\n")
    run.finish(record=record, summary=lines)


@app.command("merit")
def merit(
    graphs: Annotated[list[Path], typer.Argument(metavar="G.h5…", help="Graphs to run on.")],
    etas: Annotated[str, typer.Option("--eta", help="Targets, with commas between them.")] = "1000",
    batch: Annotated[int, typer.Option("--batch", "-b", help="Seeds of a round at most.")] = 16,
    models: Annotated[str, typer.Option("--models", help="Diffusion models, with commas between them.")] = "ic,lt",
    methods: Annotated[
        str, typer.Option("--methods", help="Of merit, printed, segmented, gamcss, pasti, asti; with commas.")
    ] = "merit,segmented",
    certificates: Annotated[str, typer.Option("--certificates", help="Of fresh, paper; with commas.")] = "fresh",
    groups: Annotated[str, typer.Option("--groups", help="β of the update, with commas between them.")] = "1",
    worlds: Annotated[int, typer.Option("--worlds", min=1, help="Hidden worlds, a campaign each.")] = 3,
    out: Annotated[Path | None, typer.Option("--out", help="Where to keep the record (JSON).")] = None,
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
    from gpukit.artifacts import digest, read_graph, read_tables
    from gpukit.bench.gim import copy_bandwidth
    from gpukit.bench.merit import measure
    from gpukit.cli.doctor import versions
    from gpukit.merit import Params

    bandwidth = copy_bandwidth(where)
    record: dict[str, Any] = {"benchmark": "merit", "device": where.record(), "versions": versions()}
    record |= {"copy_bandwidth": bandwidth, "runs": []}
    lines: dict[str, str] = {}
    for path in graphs:
        graph, tables = read_graph(path), read_tables(path)
        facts = {"name": path.stem, "n": graph.n, "m": graph.m, "weights": str(graph.weights), "digest": digest(path)}
        for model, eta, certificate, method, beta in product(
            models.split(","), etas.split(","), certificates.split(","), methods.split(","), groups.split(",")
        ):
            params = Params(_number(eta, "--eta", int), batch, model, certificate=certificate, seed=seed)
            found = measure(
                graph, params, method, where, tables=tables, worlds=worlds, groups=_number(beta, "--groups", int),
                bandwidth=bandwidth,
            )  # fmt: skip
            record["runs"].append({"graph": facts, **found})
            lines[f"{path.stem} {model} η {eta} {certificate} {method} β {beta}"] = (
                f"{found['time_s']['mean']:.3f} s, cost {found['cost']['mean']:,.2f}, {found['rounds']:.1f} rounds, "
                f"{found['probes']:,.0f} probes"
            )
    if out is not None:
        out.write_text(json.dumps(record, indent=1) + "\n")
    run.finish(record=record, summary=lines)


def _number(text: str, option: str, kind: Any) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"{option}: {text!r} is not a number") from None
