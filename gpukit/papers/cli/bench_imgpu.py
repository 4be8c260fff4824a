"""``gpukit papers bench imgpu``: greedy choice over Monte-Carlo worlds, timed."""

from typing import Annotated, Any

from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.cli.options import option
from gpukit.errors import UsageError
from gpukit.papers.cli.bench_record import Record, each_graph
from gpukit.papers.cli.options import SEEDS_TIMED, GraphsArgument, Kept, RepeatOption, SeedsTimedOption
from gpukit.parameters.imgpu import USUAL_WORLDS
from gpukit.parameters.option import length_of


@with_run("device", "threads", seed=1, writes="record")
def imgpu(
    run: Run,
    graphs: GraphsArgument,
    *,
    modes: Annotated[str, option("--modes", "Of fixed, fresh; with commas between them; or none.")] = "fixed,fresh",
    k: SeedsTimedOption = None,
    worlds: Annotated[int, option("--worlds", "Live-edge worlds.")] = USUAL_WORLDS,
    repeat: RepeatOption = 5,
    mixgreedy: Annotated[bool, option("--mixgreedy", "Time MixGreedy too (one thread, every arc).")] = False,
    switches: Annotated[bool, option("--switches", "Time one pass with each optimisation too.")] = False,
    kept: Kept,
) -> None:
    """Time greedy choice over Monte-Carlo worlds after a warm-up."""
    run.params = {"k": SEEDS_TIMED if k is None else k, "worlds": worlds}
    chosen = [] if modes == "none" else modes.split(",")
    if not set(chosen) <= {"fixed", "fresh"}:
        raise UsageError(f"--modes is {modes}; fixed and fresh, with a comma between them, or none are allowed")
    if not (chosen or mixgreedy or switches):
        raise UsageError("--modes is none, and nothing else is to be timed; add --mixgreedy or --switches")
    where = run.use_device()
    import numba

    from gpukit.imgpu import Params
    from gpukit.papers.bench import imgpu as bench
    from gpukit.papers.bench.machine import peak_memory

    record = Record("imgpu", run, kept.compare)
    asked = {"worlds": worlds, "seed": run.seed}
    for name, facts, graph, _ in each_graph(graphs):
        size = length_of("k", k, SEEDS_TIMED, graph.n)
        rival: dict[str, Any] | None = None
        if mixgreedy:
            numba.set_num_threads(1)
            rival = bench.measure_mix_greedy(graph, size, worlds, run.seed)
            numba.set_num_threads(where.threads)
            record.add(facts, {"method": "mixgreedy", "params": {"k": size} | asked} | rival)
            record.lines[f"{name} mixgreedy"] = f"{rival['algorithm_ms']:,.0f} ms, spread {rival['spread']:,.2f}"
        for mode in chosen:
            params = Params(size, worlds, mode == "fresh", run.seed)
            found = bench.measure(graph, params, where, repeat=repeat, bandwidth=record.bandwidth)
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
            found = bench.switches(graph, worlds, where, repeat=repeat, seed=run.seed)
            record.add(facts, {"method": "switches", "params": asked, "pass_ms": found})
            record.lines[f"{name} pass"] = ", ".join(f"{way} {spent:.1f} ms" for way, spent in found.items())
    record.finish()
