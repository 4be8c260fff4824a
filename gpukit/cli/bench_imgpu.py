"""``gpukit bench imgpu``: greedy choice over Monte-Carlo worlds, timed."""

from typing import Annotated, Any

import typer

from gpukit.cli.bench_record import CompareOption, GraphsArgument, Record, RecordOption, graph_facts, named
from gpukit.cli.common import (
    DeviceChoice,
    DeviceOption,
    JsonOption,
    Run,
    SeedOption,
    ThreadsOption,
    VerboseOption,
)
from gpukit.cli.numbers import at_most
from gpukit.errors import UsageError

DEFAULT_K = 50


def imgpu(
    context: typer.Context,
    graphs: GraphsArgument,
    modes: Annotated[str, typer.Option("--modes", help="Of fixed, fresh; with commas between them.")] = "fixed,fresh",
    k: Annotated[int | None, typer.Option("-k", help="Seeds; 50, or n if smaller, by default.")] = None,
    worlds: Annotated[int, typer.Option("--worlds", help="Live-edge worlds.")] = 20_000,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Timed runs of each configuration.")] = 5,
    mixgreedy: Annotated[bool, typer.Option("--mixgreedy", help="Time MixGreedy too (one thread, every arc).")] = False,
    switches: Annotated[bool, typer.Option("--switches", help="Time one pass with each optimisation too.")] = False,
    out: RecordOption = None,
    compare: CompareOption = None,
    device: DeviceOption = DeviceChoice.auto,
    threads: ThreadsOption = None,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Time greedy choice over Monte-Carlo worlds, warm."""
    run = Run(
        {"k": DEFAULT_K if k is None else k, "worlds": worlds}, seed=seed, out=out, as_json=as_json, verbose=verbose
    )
    chosen = modes.split(",")
    if not set(chosen) <= {"fixed", "fresh"}:
        raise UsageError(f"--modes is {modes}; fixed and fresh are allowed, with a comma between them")
    where = run.use_device(device, threads=threads)
    import numba

    from gpukit.artifacts import read_graph_file
    from gpukit.bench import imgpu as bench
    from gpukit.bench.machine import peak_memory
    from gpukit.imgpu import Params

    record = Record("imgpu", context, run, compare)
    bandwidth = record.copy_bandwidth()
    asked = {"worlds": worlds, "seed": seed}
    for name, path in named(graphs):
        graph, digest, _ = read_graph_file(path)
        facts = graph_facts(path, graph, digest)
        size = at_most(k, DEFAULT_K, graph.n)
        rival: dict[str, Any] | None = None
        if mixgreedy:
            numba.set_num_threads(1)
            rival = bench.measure_mix_greedy(graph, size, worlds, seed)
            numba.set_num_threads(where.threads)
            record.add(facts, {"method": "mixgreedy", "params": {"k": size} | asked} | rival)
            record.lines[f"{name} mixgreedy"] = f"{rival['algorithm_ms']:,.0f} ms, spread {rival['spread']:,.2f}"
        for mode in chosen:
            params = Params(size, worlds, mode == "fresh", seed)
            found = bench.measure(graph, params, where, repeat=repeat, bandwidth=bandwidth)
            spent = found["algorithm_ms"]
            line = (
                f"{spent['median']:,.1f} ms ({spent['min']:,.1f} to {spent['max']:,.1f}), spread {found['spread']:,.2f}"
            )
            if rival is not None:
                found["times_mixgreedy"] = rival["algorithm_ms"] / spent["median"]
                line += f", {found['times_mixgreedy']:,.0f} times as fast as mixgreedy"
            record.add(facts, {"method": mode} | found | {"peak_memory": peak_memory(where)})
            record.lines[f"{name} {mode}"] = line
        if switches:
            found = bench.switches(graph, worlds, where, repeat=repeat, seed=seed)
            record.add(facts, {"method": "switches", "params": asked, "pass_ms": found})
            record.lines[f"{name} pass"] = ", ".join(f"{way} {spent:.1f} ms" for way, spent in found.items())
    record.finish()
