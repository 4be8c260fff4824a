"""``gpukit bench imgpu``: greedy choice over Monte-Carlo worlds, timed."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from gpukit.cli.common import (
    DeviceChoice,
    DeviceOption,
    JsonOption,
    Run,
    SeedOption,
    ThreadsOption,
    VerboseOption,
)
from gpukit.errors import UsageError


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
    from gpukit.bench.machine import copy_bandwidth, peak_memory
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
