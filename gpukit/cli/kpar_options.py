"""Options that commands of ``gpukit kpar`` share."""

from pathlib import Path
from typing import Annotated

import typer

from gpukit.cli.common import DeviceChoice
from gpukit.errors import UsageError

GraphArgument = Annotated[Path, typer.Argument(metavar="G.h5", help="The graph.")]
RankOption = Annotated[
    Path | None, typer.Option("--rank", metavar="PR.h5", help="PageRank by `kpar rank`; computed when not given.")
]
AlphaOption = Annotated[float, typer.Option("--alpha", metavar="A", help="Probability that a walk stops, in (0, 1).")]
WeightedOption = Annotated[
    bool,
    typer.Option("--weighted", help="Take edges in proportion to their weights (--weights of the graph), on the CPU."),
]
EpsilonOption = Annotated[float, typer.Option("--epsilon", metavar="E", help="Relative error, in (0, 0.5].")]
KOption = Annotated[
    int | None, typer.Option("-k", metavar="K", help="Length of an answer; 100, or n if smaller, by default.")
]
DEFAULT_K = 100
SourceOption = Annotated[
    str | None,
    typer.Option("--source", metavar="ID[:W],…", help="One query: a vertex, or several with weights."),
]
SourcesOption = Annotated[
    Path | None, typer.Option("--sources", metavar="FILE", help="A query a line: ID, or ID:WEIGHT … of a set.")
]
RandomOption = Annotated[
    int | None, typer.Option("--random", metavar="N", help="N queries from random vertices, chosen by --seed.")
]


def device_for(device: DeviceChoice, weighted: bool) -> str:
    """Return the device to ask for; raises UsageError for weighted edges on a GPU."""
    if weighted and device is DeviceChoice.cuda:
        raise UsageError("weighted edges run on the CPU; use --device cpu")
    return "cpu" if weighted else device.value
