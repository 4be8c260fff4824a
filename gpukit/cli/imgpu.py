"""``gpukit imgpu``: greedy influence maximisation over Monte-Carlo worlds, and the reach of vertices in them."""

from pathlib import Path
from typing import Annotated, Any

from gpukit.api import needs
from gpukit.api.seeds import simulate, use_device
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import GraphArgument, WorldsOption
from gpukit.errors import InputError
from gpukit.parameters.imgpu import Params
from gpukit.parameters.option import Option
from gpukit.wording import with_error

LEVEL_WORLDS = 100
"""Most worlds whose levels are counted."""

app = group("Greedy influence maximisation over Monte-Carlo worlds.")


@app.command("run")
@with_run("out", *DEVICE, "seed", "explain", writes="seeds", estimate=needs.worlds)
def run_(run: Run, graph_file: GraphArgument, params: Params) -> None:
    """Find k seeds; each is the vertex that adds most to the spread over the worlds (independent cascade)."""
    find(run, graph_file, params)


def find(run: Run, graph_file: Path, params: Params, **options: Any) -> None:
    """Find seeds; ``options`` are those of :func:`gpukit.imgpu.maximise`."""
    run.params = params.record()
    graph, _ = run.read_graph(graph_file)
    artifact, result, choice = simulate(run, params, **options)
    run.put(artifact)
    seeds = graph.original(result.seeds).tolist()
    record = {"seeds": seeds, **result.facts(), "gains": result.gains.tolist(), "choice_s": choice}
    optimism = result.optimism
    lines = {
        "seeds": seeds,
        "spread": f"{with_error(result.spread_estimate, 2 * result.stderr)} (two standard errors; "
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
    first: Annotated[int, Option("Number of the first world.", metavar="W", ge=0, lt=2**47)] = 0,
) -> None:
    """Count the vertices that every vertex reaches, summed over the worlds W … W + R - 1."""
    run.params = {"worlds": worlds, "first": first}
    graph, _ = run.read_graph(graph_file)
    if graph.n == 0:
        raise InputError("the graph has no vertices, so there is nothing to count")
    device = use_device(run, worlds, 1)
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
