"""What the commands of ``gpukit merit`` share: options, their values, and how what they ask for is read."""

import hashlib
import os.path
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpukit.cli.common import Run
from gpukit.cli.vertices import vertex_numbers
from gpukit.errors import UsageError

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph
    from gpukit.merit import Costs, Params

COST_DECIMALS = 6


class Model(StrEnum):
    """Values of ``--model``."""

    ic = "ic"
    lt = "lt"


class Update(StrEnum):
    """Values of ``--update``."""

    coupled = "coupled"
    paper = "paper"
    regenerate = "regenerate"


class Certificate(StrEnum):
    """Values of ``--certificate``."""

    fresh = "fresh"
    paper = "paper"


class Residual(StrEnum):
    """Values of ``--lt-residual``."""

    renormalised = "renormalised"
    raw = "raw"


GraphArgument = Annotated[Path, typer.Argument(metavar="G.h5", help="The graph.")]
EtaOption = Annotated[int, typer.Option("--eta", metavar="N", help="Vertices to activate.")]
BatchOption = Annotated[
    int | None,
    typer.Option("--batch", "-b", metavar="B", help="Seeds of a round at most; 16, or n if smaller, by default."),
]
DEFAULT_BATCH = 16
ModelOption = Annotated[Model, typer.Option("--model", help="Independent cascade or linear threshold.")]
EpsilonOption = Annotated[float, typer.Option("--epsilon", metavar="E", help="Accuracy of a choice, in (0, 1).")]
UpdateOption = Annotated[
    Update, typer.Option("--update", help="Sets from round to round: keep their coins, as printed (biased), none.")
]
CertificateOption = Annotated[
    Certificate,
    typer.Option("--certificate", help="Certify a batch on sets no choice depends on, or on those it was chosen from."),
]
ResidualOption = Annotated[
    Residual | None,
    typer.Option(
        "--lt-residual", help="With --model lt, weights of who is left: renormalised (the default), or as they are."
    ),
]
CostsOption = Annotated[
    str, typer.Option("--costs", metavar="degree|uniform|FILE", help="0.01 + 0.01 · d_out, 1, or lines `id cost`.")
]
FreshIdsOption = Annotated[bool, typer.Option("--fresh-ids", help="With --update regenerate: new sets every round.")]
GroupsOption = Annotated[
    int, typer.Option("--groups", metavar="β", help="Groups by load in the update on a GPU: 1, 2, 4, 8 or 16.")
]


def check_groups(groups: int) -> None:
    """Check the number of groups by load; raises UsageError."""
    if groups not in (1, 2, 4, 8, 16):
        raise UsageError(f"--groups is {groups}; 1, 2, 4, 8 and 16 are allowed")


def read_asked(
    run: Run, graph_file: Path, settings: dict[str, Any], costs: str, seed: int
) -> "tuple[Graph, dict[str, str], Params, dict[str, Any] | None]":
    """Return the graph, the digests of the inputs, the checked parameters and the sampling tables.

    A batch of None becomes the default, in ``settings`` and in the parameters of the run.
    """
    with run.phase("read"):
        from gpukit.artifacts import read_graph_file
        from gpukit.merit import Params
        from gpukit.merit.problem import check

        graph, source, tables = read_graph_file(graph_file, tables=settings["model"] == "ic")
        inputs = {"graph": source}
        if settings["batch"] is None:
            settings["batch"] = run.params["batch"] = min(DEFAULT_BATCH, graph.n)
        asked = Params(**settings, costs=_costs(run, graph, costs, inputs), seed=seed)
        check(graph, asked)
        return graph, inputs, asked, tables


def _costs(run: Run, graph: "Graph", text: str, inputs: dict[str, str]) -> "Costs":
    from gpukit.merit import Costs

    if text == "degree":
        return Costs.degree(graph)
    if text == "uniform":
        return Costs.uniform(graph)
    # Not Path(text).exists(): the path of an empty text is the current folder.
    if not os.path.exists(text):
        raise UsageError(f"--costs {text[:40]!r} is neither degree nor uniform nor a file; choose one of them")
    unit = Decimal(1).scaleb(-COST_DECIMALS)
    path = Path(text)
    content = path.read_bytes()
    values = vertex_numbers(
        path,
        content,
        graph,
        default=None,
        decimals=COST_DECIMALS,
        low=unit,
        high=(2**31 - 1) * unit,
    )
    run.params["costs"] = "file"
    inputs["costs"] = hashlib.sha256(content).hexdigest()
    return Costs(values, unit, "file")
