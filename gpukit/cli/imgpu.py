"""``gpukit imgpu``: greedy influence maximisation over Monte-Carlo worlds, and what vertices reach in them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from gpukit import settings
from gpukit.api import needs
from gpukit.api.seeds import laps, simulate, use_one_gpu
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.imgpu_shape import shape
from gpukit.cli.options import GraphArgument, SeedsOption, WorldsOption, ablation, option
from gpukit.errors import InputError, UsageError
from gpukit.graph.trifle import one_edge

if TYPE_CHECKING:
    import numpy as np

    from gpukit.device.select import Device
    from gpukit.graph.csr import Graph

LEVEL_WORLDS = 100
"""Worlds at most of which the levels are counted."""

app = group("Greedy influence maximisation over Monte-Carlo worlds.")


Method = Literal["celf", "newgreedy", "mixgreedy", "esmce", "pmia"]


@dataclass(frozen=True)
class Optimisations:
    """The paper's optimisations of a pass over a world; none changes an answer."""

    combine: Annotated[
        bool,
        ablation("--combine", "Optimisation K: adjacent small levels at once. Same answer."),
    ] = False
    reorder: Annotated[
        bool,
        ablation("--reorder", "Optimisation R: vertices by level and degree. Same answer."),
    ] = False
    unroll: Annotated[int, ablation("--unroll U", "Optimisation U: children read at a time. Same answer.")] = 16
    by_level: Annotated[bool, ablation("--by-level", "Count level by level, as the paper. Same answer.")] = False

    def on(self, kind: str) -> dict[str, Any]:
        """Return the arguments of ``maximise`` on a kind of device."""
        how: dict[str, Any] = {"combine": self.combine, "reorder": self.reorder, "unroll": self.unroll}
        if self.by_level or self.combine or self.reorder:
            if kind == "cpu":
                from gpukit.papers.imgpu import levels_cpu

                how["counting"] = levels_cpu
            else:
                how["search"] = False
        return how


@app.command("run")
@with_run("out", *DEVICE, "seed", writes="seeds", estimate=needs.worlds)
def run_(
    run: Run,
    graph_file: GraphArgument,
    k: SeedsOption,
    *,
    worlds: Annotated[
        int | None, option("--worlds R", "Number of live-edge worlds; by default as many as the choice needs.")
    ] = None,
    fresh: Annotated[bool, option("--fresh/--fixed", "New worlds for every seed, or the same worlds for all.")] = False,
    optimisations: Optimisations,
) -> None:
    """Find k seeds, each the vertex that adds most to the spread over the worlds (independent cascade)."""
    run.params = {"k": k, "worlds": worlds, "fresh": fresh}
    if not 1 <= optimisations.unroll <= 128:
        raise UsageError(f"--unroll is {optimisations.unroll}; 1 to 128 are allowed")
    graph, _ = run.read_graph(graph_file)
    with run.phase("load"):
        from gpukit.imgpu import Params

        asked = Params(k=k, worlds=worlds, fresh=fresh, seed=run.seed)
    artifact, result, choice = simulate(run, asked, optimisations.on)
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
        from gpukit.papers.imgpu.levels_cpu import nodes_per_level

        levels = nodes_per_level(graph, run.seed, first, min(worlds, LEVEL_WORLDS))
    best = np.argsort(-totals, kind="stable")[:10]
    mean = float(totals.mean() / worlds)
    reached = zip(graph.original(best).tolist(), totals[best], strict=True)
    largest = [{"vertex": vertex, "reach": float(total / worlds)} for vertex, total in reached]
    lines = {f"vertex {one['vertex']}": f"{one['reach']:,.3f}" for one in largest}
    record = {"mean": mean, "largest": largest, "nodes_per_level": levels.tolist()}
    run.finish(record, {**lines, "mean": f"{mean:,.3f}", "levels": len(levels)})


@app.command("baseline")
@with_run("out", "seed", threads=1, writes="seeds")
def baseline(
    run: Run,
    graph_file: GraphArgument,
    k: SeedsOption,
    method: Annotated[Method, option("--method", "How to choose; see docs/imgpu.md.")],
    worlds: Annotated[int, option("--worlds R", "Simulations of an estimate.")] = settings.IMGPU_WORLDS,
    sampler: Annotated[
        settings.Sampler, option("--sampler", "newgreedy, mixgreedy: a draw an arc, or dead arcs skipped.")
    ] = "scan",
) -> None:
    """Choose k seeds by what IMGPU is compared with, on the CPU."""
    run.params = {"method": method, "k": k, "worlds": worlds, "sampler": sampler}
    settings.check_worlds(worlds, "--worlds")
    graph, _ = run.read_graph(graph_file)
    device = run.use_device()
    asked = {"method": method, "sampler": sampler, "seed": run.seed, "device": device}
    with run.phase("load"):
        _choose(one_edge(graph), 1, 2, **asked)  # compiled code, before what people compare
    start = run.timer.seconds()["total"]
    with run.phase("selection"), run.progress("seeds") as update:
        seeds = _choose(graph, k, worlds, **asked, timer=run.timer, progress=update)
    original = run.save_seeds(seeds, method)
    run.finish({"seeds": original, "choice_s": laps(run, start)}, {"seeds": original})


def _choose(
    graph: "Graph", k: int, worlds: int, *, method: Method, sampler: str, seed: int, device: "Device", **told: Any
) -> "np.ndarray":
    """Return the seeds of a baseline; ``told`` is its timer and its progress."""
    from gpukit.papers.imgpu import baselines

    if method in ("celf", "esmce"):
        choose = baselines.celf if method == "celf" else baselines.esmce
        return choose(graph, k, worlds, seed, device=device, **told)
    if method == "pmia":
        return baselines.pmia(graph, k, **told)
    greedy = baselines.new_greedy if method == "newgreedy" else baselines.mix_greedy
    return greedy(graph, k, worlds, seed, skip=sampler == "skip", **told)


app.command("shape")(shape)
