"""``gpukit papers diversity``: the search with parts replaced by those of the paper."""

from typing import Annotated, Any, Literal

from gpukit.api import needs
from gpukit.cli.command import DEVICE, group, with_run
from gpukit.cli.common import Run
from gpukit.cli.diversity.commands import Search, find
from gpukit.cli.options import GraphArgument
from gpukit.papers.cli.options import ablation
from gpukit.parameters.diversity import Params

app = group("Structural diversity with parts of the search replaced.")


@app.command("search")
@with_run("out", *DEVICE, writes="diversity", estimate=needs.egos)
def search_(
    run: Run,
    graph_file: GraphArgument,
    params: Params,
    asked: Search,
    full: Annotated[
        bool, ablation("--full", "Decompose every ego-network, as the paper does; the same answer, slower.")
    ] = False,
    balance: Annotated[
        Literal["none", "pack", "random", "exhausted", "dynamic"],
        ablation("--balance", "The balance of work among several GPUs; the same answer."),
    ] = "dynamic",
) -> None:
    """Search like `diversity search`, with the variants of the paper."""

    def make(*what: Any, **how: Any) -> Any:
        from gpukit.papers.diversity.balance import make_network

        return make_network(*what, strategy=balance, **how)

    find(run, graph_file, params, asked, full=full, make=make)
