"""``gpukit papers gim``: influence maximisation with parts replaced by those of gIM's paper, and SKIM."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from gpukit.api import needs
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.gim.commands import Limits, find
from gpukit.cli.gim.common import need_edges
from gpukit.cli.gim.shards import Range, draw
from gpukit.cli.options import GraphArgument, RoundSeedsOption
from gpukit.errors import UsageError
from gpukit.graph.tiny import one_edge
from gpukit.parameters.gim import Params, SamplerParameter, SetsParameter
from gpukit.parameters.option import ABLATIONS, Option

if TYPE_CHECKING:
    from gpukit.device.select import Device

app = group("gIM with parts of it replaced, and SKIM.")


@dataclass(frozen=True)
class ScanShape:
    """The launch shape of the scan sampler."""

    block: Annotated[
        int | None, Option("Threads of a block of the scan sampler on a GPU.", metavar="N", panel=ABLATIONS)
    ] = None
    grid: Annotated[
        int | None,
        Option("Blocks of the scan sampler on a GPU; 0: as many as fit.", metavar="N", ge=0, lt=2**31, panel=ABLATIONS),
    ] = None

    def on(self, kind: str) -> Any:
        """Return the paper's sampler for a kind of device, None on the CPU; raises UsageError."""
        if self.block is not None and not (1 <= self.block <= 1024 and self.block % 32 == 0):
            raise UsageError(f"--block is {self.block}; multiples of 32 up to 1024 are allowed")
        if kind == "cpu":
            return None
        from gpukit.papers.gim.per_edge_cuda import PerEdge

        return PerEdge(**{name: value for name, value in vars(self).items() if value is not None})


@app.command("run")
@with_run("out", *DEVICE, "seed", writes="seeds", estimate=needs.rr_sets)
def run_(
    run: Run, graph_file: GraphArgument, params: Annotated[Params, ABLATIONS], limits: Limits, scan: ScanShape
) -> None:
    """Find seeds like `gim run`, with the variants of the paper."""

    def methods_of(params: Params, device: "Device") -> Any:
        from gpukit.papers import gim

        return gim.methods_of(params, device, scan.on(device.kind))

    find(run, graph_file, params, limits, methods_of)


@app.command("sample")
@with_run("out", *DEVICE, "seed", writes="rrsets", estimate=needs.rr_sets)
def sample(
    run: Run,
    graph_file: GraphArgument,
    asked: Range,
    *,
    sampler: SamplerParameter = "skip",
    sets: SetsParameter = "kept",
    scan: ScanShape,
) -> None:
    """Draw RR sets like `gim sample`, with the variants of the paper.

    With several rounds or --sampler scan trivial sets are drawn, too.
    """

    def sampler_of(kind: str) -> Any:
        paper = scan.on(kind)
        return paper if sampler == "scan" else None

    draw(run, graph_file, asked, sampler, sets, sampler_of)


@app.command("skim")
@with_run("out", "seed", writes="seeds")
def skim_(run: Run, graph_file: GraphArgument, k: RoundSeedsOption) -> None:
    """Choose k seeds by the sketches of SKIM, under independent cascade."""
    run.params = {"method": "skim", "k": k}
    graph, tables = run.read_graph(graph_file, tables=True)
    need_edges(graph)
    run.use_device(threads=1)
    with run.phase("load"):
        from gpukit.papers.gim.skim import draw_instances, skim

        skim(draw_instances(one_edge(graph), run.seed), 1)
    with run.phase("sampling"):
        world = draw_instances(graph, run.seed, tables=tables)
    with run.phase("selection"):
        seeds, gains = skim(world, k, seed=run.seed)
    estimate = float(gains.sum()) / len(world.in_begin)
    run.finish({"seeds": run.save_seeds(seeds, "skim"), "selection_estimate": estimate})
