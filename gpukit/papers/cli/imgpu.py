"""``gpukit papers imgpu``: IMGPU with the paper's optimisations, its competitors, and the shape of its worlds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from gpukit.api import needs
from gpukit.api.seeds import laps
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.imgpu import find
from gpukit.cli.options import GraphArgument, option
from gpukit.graph.tiny import one_edge
from gpukit.papers.cli.imgpu_shape import shape
from gpukit.papers.cli.options import SeedsOption, ablation
from gpukit.parameters.gim import Sampler
from gpukit.parameters.imgpu import USUAL_WORLDS, Params
from gpukit.parameters.option import ABLATIONS, Option

if TYPE_CHECKING:
    import numpy as np

    from gpukit.device.select import Device
    from gpukit.graph.csr import Graph

app = group("IMGPU with the paper's optimisations, and its competitors.")

Method = Literal["celf", "newgreedy", "mixgreedy", "esmce", "pmia"]


@dataclass(frozen=True)
class Optimisations:
    """Options for the paper's count of a world, level by level, and its optimisations.

    Each of them draws the two arcs of an undirected edge separately, as the components of the paper's directed worlds
    need. Apart from that, none changes an answer.
    """

    combine: Annotated[
        bool,
        ablation("--combine", "Optimisation K: adjacent small levels at once. Same answer."),
    ] = False
    reorder: Annotated[
        bool,
        ablation("--reorder", "Optimisation R: vertices by level and degree. Same answer."),
    ] = False
    unroll: Annotated[
        int, Option("Optimisation U: children read at a time. Same answer.", metavar="U", ge=1, le=128, panel=ABLATIONS)
    ] = 16
    by_level: Annotated[
        bool,
        ablation("--by-level", "Count level by level, as the paper; each arc of an undirected edge has its own draw."),
    ] = False

    def options(self) -> dict[str, Any]:
        """Return the corresponding arguments of :func:`gpukit.imgpu.maximise`."""
        if not (self.by_level or self.combine or self.reorder):
            return {}
        from gpukit.papers.imgpu.levels import make_worlds

        switches = {"combine": self.combine, "reorder": self.reorder, "unroll": self.unroll}
        return {"make": make_worlds, "pairs": False, **switches}


@app.command("run")
@with_run("out", *DEVICE, "seed", writes="seeds", estimate=needs.worlds)
def run_(run: Run, graph_file: GraphArgument, params: Params, optimisations: Optimisations) -> None:
    """Find seeds like `imgpu run`, with the paper's optimisations.

    The answer is the same, except on an undirected graph, where they draw each arc separately.
    """
    find(run, graph_file, params, **optimisations.options())


@app.command("baseline")
@with_run("out", "seed", threads=1, writes="seeds")
def baseline(
    run: Run,
    graph_file: GraphArgument,
    k: SeedsOption,
    method: Annotated[Method, option("--method", "How to choose; see docs/imgpu.md.")],
    worlds: Annotated[int, Option("Simulations of an estimate.", metavar="R", ge=2, lt=2**31)] = USUAL_WORLDS,
    sampler: Annotated[
        Sampler, option("--sampler", "newgreedy, mixgreedy: a draw an arc, or dead arcs skipped.")
    ] = "scan",
) -> None:
    """Choose k seeds by a competitor of IMGPU, on the CPU."""
    run.params = {"method": method, "k": k, "worlds": worlds, "sampler": sampler}
    graph, _ = run.read_graph(graph_file)
    device = run.use_device()
    asked = {"method": method, "sampler": sampler, "seed": run.seed, "device": device}
    with run.phase("load"):
        _choose(one_edge(graph), 1, 2, **asked)  # loads compiled code before the measured phases
    start = run.timer.seconds()["total"]
    with run.phase("selection"), run.progress("seeds") as update:
        seeds = _choose(graph, k, worlds, **asked, timer=run.timer, progress=update)
    original = run.save_seeds(seeds, method)
    run.finish({"seeds": original, "choice_s": laps(run, start)}, {"seeds": original})


def _choose(
    graph: "Graph", k: int, worlds: int, *, method: Method, sampler: str, seed: int, device: "Device", **more: Any
) -> "np.ndarray":
    """Return the seeds of a baseline; ``more`` has its timer and its progress."""
    from gpukit.papers.imgpu import baselines

    if method in ("celf", "esmce"):
        choose = baselines.celf if method == "celf" else baselines.esmce
        return choose(graph, k, worlds, seed, device=device, **more)
    if method == "pmia":
        return baselines.pmia(graph, k, **more)
    greedy = baselines.new_greedy if method == "newgreedy" else baselines.mix_greedy
    return greedy(graph, k, worlds, seed, skip=sampler == "skip", **more)


app.command("shape")(shape)
