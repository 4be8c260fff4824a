"""``gpukit bench gim``: influence maximisation, timed."""

import json
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
    from gpukit.bench.gim import measure
    from gpukit.bench.machine import copy_bandwidth, peak_memory
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
