"""``gpukit imgpu``: greedy influence maximisation over Monte-Carlo worlds, and what vertices reach in them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from gpukit import settings
from gpukit.api import needs
from gpukit.api.seeds import simulate, use_one_gpu
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import GraphArgument, SeedsOption, WorldsOption, option
from gpukit.errors import InputError, UsageError

LEVEL_WORLDS = 100
"""Worlds at most of which the levels are counted."""

app = group("Greedy influence maximisation over Monte-Carlo worlds.")


@dataclass(frozen=True)
class Wanted:
    """How many seeds are asked for, and of what worlds."""

    k: SeedsOption
    worlds: Annotated[
        int | None, option("--worlds R", "Number of live-edge worlds; by default as many as the choice needs.")
    ] = None
    fresh: Annotated[bool, option("--fresh/--fixed", "New worlds for every seed, or the same worlds for all.")] = False


@app.command("run")
@with_run("out", *DEVICE, "seed", writes="seeds", estimate=needs.worlds)
def run_(run: Run, graph_file: GraphArgument, wanted: Wanted) -> None:
    """Find k seeds, each the vertex that adds most to the spread over the worlds (independent cascade)."""
    find(run, graph_file, wanted)


def find(run: Run, graph_file: Path, wanted: Wanted, **options: Any) -> None:
    """Find seeds; ``options`` are those of :func:`gpukit.imgpu.maximise`."""
    run.params = dict(vars(wanted))
    graph, _ = run.read_graph(graph_file)
    with run.phase("load"):
        from gpukit.imgpu import Params

        asked = Params(**vars(wanted), seed=run.seed)
    artifact, result, choice = simulate(run, asked, **options)
    run.put(artifact)
    seeds = graph.original(result.seeds).tolist()
    record = {"seeds": seeds, **result.facts(), "gains": result.gains.tolist(), "choice_s": choice}
    optimism = result.optimism
    lines = {
        "seeds": seeds,
        "spread": f"{result.spread_estimate:,.2f} ± {2 * result.stderr:.2g} (two standard errors; "
        f"{result.worlds:,} independent worlds)",
        "worlds": f"{result.drawn:,}" + (", drawn again for each seed" if result.streamed else ""),
    }
    if optimism is not None:
        lines["optimism"] = (
            f"{100 * optimism.value:.2g} % ± {100 * optimism.sd:.2g} %, which chose the number of worlds"
        )
    run.finish(record, lines)


@app.command("reach")
@with_run("out", *DEVICE, "seed", writes="metrics", estimate=needs.worlds)
def reach(
    run: Run,
    graph_file: GraphArgument,
    worlds: WorldsOption = 1000,
    first: Annotated[int, option("--first W", "Number of the first world.")] = 0,
) -> None:
    """Count what every vertex reaches in worlds W … W + R - 1; with one world, its reach there."""
    run.params = {"worlds": worlds, "first": first}
    settings.check_worlds(worlds, "--worlds", 1)
    if not 0 <= first < 2**47:
        raise UsageError(f"--first is {first}; 0 to 2^47 - 1 are allowed")
    graph, _ = run.read_graph(graph_file)
    if graph.n == 0:
        raise InputError("the graph has no vertices, so there is nothing to count")
    device = use_one_gpu(run, worlds, 1)
    with run.phase("load"):
        from gpukit.imgpu.run import make_worlds
        from gpukit.worlds.blocks import prepare_blocks

        counter = make_worlds(prepare_blocks(graph), run.seed, device)
    with run.phase("worlds"), run.progress("worlds") as update:
        totals = counter.gains(first, worlds, [], update)
    import numpy as np

    numbers = graph.numbers(np.arange(graph.n))
    about = {"metric": "reach", "graph": run.inputs["graph"], "n": graph.n, "worlds": worlds, "first": first}
    run.save_metrics({"vertex": numbers, "total": totals, "mean": totals / worlds}, about)
    with run.phase("levels"):
        from gpukit.imgpu.levels_cpu import nodes_per_level

        levels = nodes_per_level(graph, run.seed, first, min(worlds, LEVEL_WORLDS))
    best = np.argsort(-totals, kind="stable")[:10]
    mean = float(totals.mean() / worlds)
    reached = zip(graph.original(best).tolist(), totals[best], strict=True)
    largest = [{"vertex": vertex, "reach": float(total / worlds)} for vertex, total in reached]
    lines = {f"vertex {one['vertex']}": f"{one['reach']:,.3f}" for one in largest}
    record = {"mean": mean, "largest": largest, "nodes_per_level": levels.tolist()}
    run.finish(record, {**lines, "mean": f"{mean:,.3f}", "levels": len(levels)})
