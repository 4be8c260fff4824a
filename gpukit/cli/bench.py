"""``gpukit bench``: timed runs with everything needed to judge them."""

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


@app.command("imgpu")
def imgpu(
    graphs: Annotated[list[Path], typer.Argument(metavar="G.h5…", help="Graphs to run on.")],
    modes: Annotated[str, typer.Option("--modes", help="Of fixed, fresh; with commas between them.")] = "fixed,fresh",
    k: Annotated[int, typer.Option("-k", help="Seeds.")] = 50,
    worlds: Annotated[int, typer.Option("--worlds", help="Live-edge worlds.")] = 20_000,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Timed runs of each configuration.")] = 5,
    mixgreedy: Annotated[bool, typer.Option("--mixgreedy", help="Time MixGreedy too (one thread, every arc).")] = False,
    switches: Annotated[bool, typer.Option("--switches", help="Time one pass with each optimisation too.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Where to keep the record (JSON).")] = None,
    device: DeviceOption = DeviceChoice.auto,
    threads: ThreadsOption = None,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Time greedy choice over Monte-Carlo worlds, warm."""
    run = Run({"k": k, "worlds": worlds}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    chosen = modes.split(",")
    if not set(chosen) <= {"fixed", "fresh"}:
        raise UsageError(f"--modes is {modes}; fixed and fresh are allowed, with a comma between them")
    where = run.use_device(device, threads=threads)
    import numba

    from gpukit.artifacts import digest, read_graph
    from gpukit.bench import imgpu as bench
    from gpukit.bench.gim import copy_bandwidth, peak_memory
    from gpukit.cli.doctor import versions
    from gpukit.imgpu import Params

    bandwidth = copy_bandwidth(where)
    record: dict[str, Any] = {
        "benchmark": "imgpu",
        "device": where.record(),
        "versions": versions(),
        "copy_bandwidth": bandwidth,
        "runs": [],
    }
    lines: dict[str, str] = {}
    for path in graphs:
        graph = read_graph(path)
        facts = {"name": path.stem, "n": graph.n, "m": graph.m, "weights": str(graph.weights), "digest": digest(path)}
        rival: dict[str, Any] | None = None
        if mixgreedy:
            numba.set_num_threads(1)
            rival = bench.measure_mix_greedy(graph, k, worlds, seed)
            numba.set_num_threads(where.threads)
            record["runs"].append({"graph": facts, "method": "mixgreedy", **rival})
            lines[f"{path.stem} mixgreedy"] = f"{rival['algorithm_ms']:,.0f} ms, spread {rival['spread']:,.2f}"
        for mode in chosen:
            params = Params(k, worlds, mode == "fresh", seed)
            found = bench.measure(graph, params, where, repeat=repeat, bandwidth=bandwidth)
            spent = found["algorithm_ms"]
            line = (
                f"{spent['median']:,.1f} ms ({spent['min']:,.1f} to {spent['max']:,.1f}), spread {found['spread']:,.2f}"
            )
            if rival is not None:
                found["times_mixgreedy"] = rival["algorithm_ms"] / spent["median"]
                line += f", {found['times_mixgreedy']:,.0f} times as fast as mixgreedy"
            record["runs"].append({"graph": facts, "method": mode, **found, "peak_memory": peak_memory(where)})
            lines[f"{path.stem} {mode}"] = line
        if switches:
            found = bench.switches(graph, worlds, where, repeat=repeat, seed=seed)
            record["runs"].append({"graph": facts, "method": "switches", "pass_ms": found})
            lines[f"{path.stem} pass"] = ", ".join(f"{name} {spent:.1f} ms" for name, spent in found.items())
    if out is not None:
        out.write_text(json.dumps(record, indent=1) + "\n")
    run.finish(record=record, summary=lines)
