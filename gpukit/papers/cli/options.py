"""Declarations of options of the papers' commands."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from gpukit.cli.options import argument, option
from gpukit.errors import UsageError
from gpukit.parameters.option import Option

SeedsOption = Annotated[int, Option("Number of seeds.", metavar="K")]

# Benchmarks

SEEDS_TIMED, ETA_TIMED = 50, 1000
"""Default numbers of seeds and default targets, as far as the graph has as many vertices."""

GraphsArgument = Annotated[list[Path], argument("G.h5…", "Graphs to run on.")]
DiffusionOption = Annotated[str, option("--models", "Diffusion models, with commas between them.")]
SeedsTimedOption = Annotated[int | None, option("-k --k", f"Seeds; {SEEDS_TIMED}, or n if smaller, by default.")]
RelativeErrorOption = Annotated[float, option("--epsilon", "Relative error, in (0, 0.5].")]
RepeatOption = Annotated[int, option("--repeat", "Timed runs of each configuration.", min=1)]
CampaignsOption = Annotated[
    str | None, option("--eta", f"Targets, with commas between them; {ETA_TIMED}, or n if smaller, by default.")
]
RecordOption = Annotated[Path | None, option("--out FILE", "The file of the record (JSON), updated after each run.")]


@dataclass(frozen=True)
class Kept:
    """Options for the record of a benchmark."""

    out: RecordOption = None
    compare: Annotated[
        Path | None, option("--compare OLD.json", "An older record; exit code 1 if a time grew beyond noise.")
    ] = None


def ablation(spec: str, text: str) -> Any:
    """Return the option of an ablation: it selects a paper's variant, or switches off a part to measure its effect."""
    return option(spec, text, rich_help_panel="Ablations")


def check_groups(groups: int | None) -> None:
    """Check β, the number of groups by load in MERIT's update; raises UsageError."""
    if groups not in (None, 1, 2, 4, 8, 16):
        raise UsageError(f"--groups is {groups}; 1, 2, 4, 8 and 16 are allowed")
