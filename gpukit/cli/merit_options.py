"""What the commands of ``gpukit merit`` share: options and their values."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


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
BatchOption = Annotated[int, typer.Option("--batch", "-b", metavar="B", help="Seeds of a round at most.")]
ModelOption = Annotated[Model, typer.Option("--model", help="Independent cascade or linear threshold.")]
EpsilonOption = Annotated[float, typer.Option("--epsilon", metavar="E", help="Accuracy of a choice, in (0, 1).")]
UpdateOption = Annotated[
    Update, typer.Option("--update", help="Sets from round to round: keep their coins, as printed (biased), none.")
]
CertificateOption = Annotated[
    Certificate, typer.Option("--certificate", help="Certify a batch on fresh sets, or on those it was chosen from.")
]
ResidualOption = Annotated[
    Residual, typer.Option("--lt-residual", help="LT weights of who is left: renormalised, or as they are.")
]
CostsOption = Annotated[
    str, typer.Option("--costs", metavar="degree|uniform|FILE", help="0.01 + 0.01 · d_out, 1, or lines `id cost`.")
]
FreshIdsOption = Annotated[bool, typer.Option("--fresh-ids", help="With --update regenerate: new sets every round.")]
GroupsOption = Annotated[
    int, typer.Option("--groups", metavar="β", help="Groups by load in the update on a GPU: 1, 2, 4, 8 or 16.")
]
