"""``gpukit imgpu``: greedy influence maximisation over Monte-Carlo worlds, and what vertices reach in them."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpukit.cli.common import (
    DeviceChoice,
    DeviceOption,
    GpusOption,
    JsonOption,
    OutOption,
    Run,
    SeedOption,
    ThreadsOption,
    VerboseOption,
)
from gpukit.cli.imgpu_shape import shape
from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    import numpy as np

    from gpukit.device.select import Device
    from gpukit.graph.csr import Graph

VISITS = 10
"""Vertex and edge visits a live arc costs in a world; for the choice of the device."""

LEVEL_WORLDS = 100
"""Worlds at most of which the levels are counted."""

app = typer.Typer(
    help="Greedy influence maximisation over Monte-Carlo worlds.", no_args_is_help=True, add_completion=False
)


class Method(StrEnum):
    """Values of ``--method``."""

    celf = "celf"
    newgreedy = "newgreedy"
    mixgreedy = "mixgreedy"
    esmce = "esmce"
    pmia = "pmia"


class Sampler(StrEnum):
    """Values of ``--sampler``."""

    skip = "skip"
    scan = "scan"


GraphArgument = Annotated[Path, typer.Argument(metavar="G.h5", help="The graph.")]
WorldsOption = Annotated[int, typer.Option("--worlds", metavar="R", help="Number of live-edge worlds.")]


@app.command("run")
def run_(
    graph_file: GraphArgument,
    out: OutOption,
    k: Annotated[int, typer.Option("-k", metavar="K", help="Number of seeds.")],
    worlds: WorldsOption = 20_000,
    fresh: Annotated[
        bool, typer.Option("--fresh/--fixed", help="New worlds for every seed, or the same worlds for all.")
    ] = False,
    combine: Annotated[
        bool, typer.Option("--combine", help="Optimisation K: adjacent small levels at once. Same answer.")
    ] = False,
    reorder: Annotated[
        bool, typer.Option("--reorder", help="Optimisation R: vertices by level and degree. Same answer.")
    ] = False,
    unroll: Annotated[
        int, typer.Option("--unroll", metavar="U", help="Optimisation U: children read at a time. Same answer.")
    ] = 16,
    by_level: Annotated[
        bool, typer.Option("--by-level", help="Count level by level on the CPU too, as the paper. Same answer.")
    ] = False,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Find k seeds, each the vertex that adds most to the spread over the worlds (independent cascade)."""
    run = Run({"k": k, "worlds": worlds, "fresh": fresh}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    if not 1 <= unroll <= 128:
        raise UsageError(f"--unroll is {unroll}; 1 to 128 are allowed")
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file

        graph, source, _ = read_graph_file(graph_file)
        inputs = {"graph": source}
    chosen = run.use_device(device.value, gpus, threads, work=_work(graph, worlds, k if fresh else 2))
    how: dict[str, Any] = {"combine": combine, "reorder": reorder, "unroll": unroll}
    if chosen.kind == "cpu":
        how["by_level"] = by_level or combine or reorder
    if len(chosen.gpus) > 1:
        raise UsageError(f"--gpus is {gpus}; imgpu runs on one GPU")
    with run.phase("load"):
        from dataclasses import replace

        from gpukit.imgpu import Params, maximise
        from gpukit.imgpu.problem import check

        asked = Params(k=k, worlds=worlds, fresh=fresh, seed=seed)
        check(graph, k)
        maximise(graph, replace(asked, k=1, worlds=2), chosen, **how)  # compiled code, before what people compare
    start = run.timer.seconds()["total"]
    with run.progress("worlds") as update:
        result = maximise(graph, asked, chosen, timer=run.timer, progress=update, **how)
    with run.phase("write"):
        from gpukit.artifacts import write_seeds

        original = graph.original(result.seeds)
        write_seeds(
            out, original, result.seeds, n=graph.n, method="imgpu", gains=result.gains, graph=inputs["graph"],
            spread_estimate=result.spread_estimate, seed=seed, params=run.params, inputs=inputs,
        )  # fmt: skip
    record = {
        "seeds": original.tolist(),
        **result.facts(),
        "gains": result.gains.tolist(),
        "choice_s": _laps(run, start),
    }
    lines = {
        "seeds": record["seeds"],
        "spread": f"{result.spread_estimate:,.2f} ± {result.stderr:.2g} (in {worlds:,} independent worlds)",
        "worlds": f"{result.drawn:,}" + (", drawn again for each seed" if result.streamed else ""),
    }
    run.finish(graph, record, lines)


@app.command("reach")
def reach(
    graph_file: GraphArgument,
    out: OutOption,
    worlds: WorldsOption = 1000,
    first: Annotated[int, typer.Option("--first", metavar="W", help="Number of the first world.")] = 0,
    device: DeviceOption = DeviceChoice.auto,
    gpus: GpusOption = 1,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Count what every vertex reaches in worlds W … W + R - 1; with one world, its reach there."""
    run = Run({"worlds": worlds, "first": first}, seed=seed, out=out, as_json=as_json, verbose=verbose)
    if not 1 <= worlds < 2**31:
        raise UsageError(f"--worlds is {worlds}; 1 to 2^31 - 1 are allowed")
    if not 0 <= first < 2**47:
        raise UsageError(f"--first is {first}; 0 to 2^47 - 1 are allowed")
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file

        graph, source, _ = read_graph_file(graph_file)
        inputs = {"graph": source}
    if graph.n == 0:
        raise InputError("the graph has no vertices, so there is nothing to count")
    chosen = run.use_device(device.value, gpus, threads, work=_work(graph, worlds, 1))
    if len(chosen.gpus) > 1:
        raise UsageError(f"--gpus is {gpus}; imgpu runs on one GPU")
    with run.phase("load"):
        from gpukit.imgpu.run import make_worlds
        from gpukit.worlds.blocks import prepare_blocks

        counter = make_worlds(prepare_blocks(graph), seed, chosen)
    with run.phase("worlds"), run.progress("worlds") as update:
        totals = counter.gains(first, worlds, [], update)
    with run.phase("write"):
        import numpy as np

        from gpukit.artifacts import write_metrics

        original = graph.original(np.arange(graph.n))
        columns = {"vertex": original, "total": totals, "mean": totals / worlds}
        write_metrics(
            out, columns, {"metric": "reach", "graph": inputs["graph"], "n": graph.n, "worlds": worlds, "first": first},
            params=run.params, seed=seed, inputs=inputs,
        )  # fmt: skip
    with run.phase("levels"):
        from gpukit.imgpu.levels_cpu import nodes_per_level

        levels = nodes_per_level(graph, seed, first, min(worlds, LEVEL_WORLDS))
    best = np.argsort(-totals, kind="stable")[:10]
    mean = float(totals.mean() / worlds)
    largest = [{"vertex": int(original[v]), "reach": float(totals[v] / worlds)} for v in best]
    lines = {f"vertex {one['vertex']}": f"{one['reach']:,.3f}" for one in largest}
    record = {"mean": mean, "largest": largest, "nodes_per_level": levels.tolist()}
    run.finish(graph, record, {**lines, "mean": f"{mean:,.3f}", "levels": len(levels)})


@app.command("baseline")
def baseline(
    graph_file: GraphArgument,
    out: OutOption,
    k: Annotated[int, typer.Option("-k", metavar="K", help="Number of seeds.")],
    method: Annotated[Method, typer.Option("--method", help="How to choose; see docs/imgpu.md.")],
    worlds: Annotated[int, typer.Option("--worlds", metavar="R", help="Simulations of an estimate.")] = 20_000,
    sampler: Annotated[
        Sampler, typer.Option("--sampler", help="newgreedy, mixgreedy: a draw an arc, or dead arcs skipped.")
    ] = Sampler.scan,
    threads: ThreadsOption = 1,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Choose k seeds by what IMGPU is compared with, on the CPU."""
    params = {"method": method.value, "k": k, "worlds": worlds, "sampler": sampler.value}
    run = Run(params, seed=seed, out=out, as_json=as_json, verbose=verbose)
    if not 2 <= worlds < 2**31:
        raise UsageError(f"--worlds is {worlds}; 2 to 2^31 - 1 are allowed")
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file

        graph, source, _ = read_graph_file(graph_file)
        inputs = {"graph": source}
    device = run.use_device(threads=threads)
    with run.phase("load"):
        import numpy as np

        from gpukit.graph.build import build_graph
        from gpukit.graph.csr import Weights

        edge = build_graph(np.zeros(1, np.int64), np.ones(1, np.int64), weights=Weights())
        _choose(edge, method, 1, 2, sampler, seed, device)  # compiled code, before what people compare
    start = run.timer.seconds()["total"]
    with run.phase("selection"), run.progress("seeds") as update:
        seeds = _choose(graph, method, k, worlds, sampler, seed, device, timer=run.timer, progress=update)
    with run.phase("write"):
        from gpukit.artifacts import write_seeds

        original = graph.original(seeds)
        write_seeds(
            out, original, seeds, n=graph.n, method=method.value, graph=inputs["graph"], seed=seed, params=run.params,
            inputs=inputs,
        )  # fmt: skip
    run.finish(graph, {"seeds": original.tolist(), "choice_s": _laps(run, start)}, {"seeds": original.tolist()})


def _choose(
    graph: "Graph", method: Method, k: int, worlds: int, sampler: Sampler, seed: int, device: "Device", **told: Any
) -> "np.ndarray":
    """Return the seeds of a baseline; ``told`` is its timer and its progress."""
    from gpukit.imgpu import baselines

    if method in (Method.celf, Method.esmce):
        choose = baselines.celf if method == Method.celf else baselines.esmce
        return choose(graph, k, worlds, seed, device=device, **told)
    if method == Method.pmia:
        return baselines.pmia(graph, k, **told)
    greedy = baselines.new_greedy if method == Method.newgreedy else baselines.mix_greedy
    return greedy(graph, k, worlds, seed, skip=sampler == Sampler.skip, **told)


def _laps(run: Run, start: float) -> list[float]:
    """Return the seconds from ``start`` until each seed was chosen."""
    return [round(lap - start, 6) for lap in run.timer.laps]


def _work(graph: "Graph", worlds: int, passes: int) -> float:
    """Estimate the vertex and edge visits of a run, for the choice of the device only."""
    scheme, p = graph.weights.scheme, graph.weights.p
    live = graph.m * p if p is not None else graph.n if scheme == "wc" else 0.04 * graph.m
    return live * max(worlds, 1) * passes * VISITS


app.command("shape")(shape)
