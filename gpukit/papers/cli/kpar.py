"""``gpukit papers kpar``: top-k queries with parts replaced by those of kPAR's paper, and its competitors."""

import logging
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from gpukit.api import needs
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.kpar.commands import IndexOptions, Query, ask, build
from gpukit.cli.options import GraphArgument, Queries
from gpukit.errors import UsageError
from gpukit.papers.cli.kpar_baseline import baseline
from gpukit.papers.cli.options import ablation
from gpukit.parameters.kpar import Params

app = group("kPAR with parts of it replaced, and its competitors.")

_log = logging.getLogger("gpukit")


@dataclass(frozen=True)
class Method:
    """Options for the variants of a query."""

    depth: Annotated[
        Literal["refined", "auto", "end", "walks"] | None,
        ablation(
            "--depth",
            "As of `kpar query`; or walks: stop at δ_min and draw walks where the guarantee does not hold yet, as the "
            "paper prints it.",
        ),
    ] = None
    bounds: Annotated[
        Literal["exact", "printed"], ablation("--bounds", "The stop test; printed: the paper's, which is unsound.")
    ] = "exact"
    balance: Annotated[
        Literal["both", "push", "none"],
        ablation("--balance", "On a GPU: split long rows among threads always, only in pushes, or never."),
    ] = "both"

    @property
    def on_cpu(self) -> bool:
        """Whether only the CPU supports the variant."""
        return self.bounds == "printed" or self.depth == "walks"

    def query(
        self, device: Any, prepared: Any, sources: Any, k: int, *, to_end: bool, refine: bool, among: Any, **more: Any
    ) -> Any:
        """Answer queries like :func:`gpukit.kpar.run.query_on`."""
        if self.on_cpu:
            from gpukit.papers.kpar.query import query

            printed, resort = self.bounds == "printed", self.depth == "walks"
            how = {"threads": device.threads, "to_end": to_end, "printed": printed, "resort": resort}
            return query(prepared[0], sources, k, **how, **more)
        from gpukit.kpar.run import query_on

        if device.kind == "cuda" and self.balance != "both":
            from gpukit.papers.kpar.untiled_cuda import UntiledPrepared

            prepared = [UntiledPrepared.like(one, tiled_push=self.balance == "push") for one in prepared]
        return query_on(device, prepared, sources, k, to_end=to_end, refine=refine, among=among, **more)


@app.command("index")
@with_run("out", *DEVICE, "seed", writes="irw", estimate=needs.index)
def index(
    run: Run,
    graph_file: GraphArgument,
    params: Params,
    asked: IndexOptions,
    hubs: Annotated[
        bool, ablation("--hubs", "Also list the vertices where more than 8ψ walks end (H of the paper).")
    ] = False,
    adaptive: Annotated[
        bool, ablation("--adaptive/--uniform", "More walks for the head of the PRO-rank list, or not.")
    ] = True,
) -> None:
    """Make an index like `kpar index`, with the variants of the paper."""
    build(run, graph_file, params, asked, hubs=hubs, adaptive=adaptive)


@app.command("query")
@with_run(*DEVICE, "seed", writes="topk", estimate=needs.answers)
def query_(run: Run, graph_file: GraphArgument, queries: Queries, asked: Query, method: Method) -> None:
    """Answer queries like `kpar query`, with the variants of the paper; all need an index."""
    if asked.index_file is None:
        raise UsageError("papers kpar query needs an index; give --index, or take `gpukit kpar query`")
    if method.on_cpu:
        if run.requested == "cuda":
            raise UsageError("--bounds printed and --depth walks run on the CPU; use --device cpu")
        if asked.among is not None:
            raise UsageError("--among goes without --bounds printed and --depth walks; leave one out")
        run.requested = "cpu"
    if method.bounds == "printed":
        _log.warning("--bounds printed is unsound: its answers come without the guarantee")
    depth = method.depth or ("auto" if method.bounds == "printed" else None)
    ask(run, graph_file, queries, asked, depth, bounds=method.bounds, how=method.query)


app.command("baseline")(baseline)
