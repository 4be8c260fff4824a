"""The options of more than one command: how each is written, what it says in the help, and groups of them.

A group is a frozen dataclass whose fields are options; :func:`gpukit.cli.command.with_run` shows the fields to Typer
and gives the command the whole. Choices and defaults are those of :mod:`gpukit.settings`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gpukit import settings
from gpukit.api.results import check_name
from gpukit.device.select import look_for_gpus


def option(spec: str, text: str, **more: Any) -> Any:
    """Return an option as it is written, with what the help says of it: ``option("--batch -b B", "Seeds of a round")``.

    The words of ``spec`` are its names and, behind them, what stands for its value. ``more`` is for Typer.
    """
    names = [word for word in spec.split() if word.startswith("-")]
    return typer.Option(*names, metavar=spec.rpartition(names[-1])[2].strip() or None, help=text, **more)


def ablation(spec: str, text: str) -> Any:
    """Return an option that rebuilds a variant of a paper, or takes something out of a method to see what it does."""
    return option(spec, text, rich_help_panel="Ablations")


def argument(name: str | None, text: str) -> Any:
    """Return an argument, with what stands for its value and what the help says of it."""
    return typer.Argument(metavar=name, help=text)


# What nearly every command has


def _look_ahead(device: str) -> str:
    """Look for GPUs while the command reads its files."""
    if device != "cpu":
        look_for_gpus()
    return device


def _is_artifact(out: Path | None) -> Path | None:
    """Refuse a name that says of an artifact that it is of another kind."""
    if out is not None:
        check_name(out, f"--out {out}: this command")
    return out


DeviceChoice = Literal["auto", "cpu", "cuda"]
DeviceOption = Annotated[DeviceChoice, option("--device", "Where to run.", callback=_look_ahead)]
GpusOption = Annotated[int, option("--gpus N", "Number of GPUs; 0 means the CPU.")]
ThreadsOption = Annotated[int | None, option("--threads N", "CPU threads; all available by default.")]
GpuMemoryOption = Annotated[
    int | None, option("--gpu-memory BYTES", "Most memory to take of each GPU; what is free by default.", min=1)
]
SeedOption = Annotated[int, option("--seed S", "Seed of all random numbers, 0 to 2^64 - 1.")]
JsonOption = Annotated[bool, option("--json", "Print one JSON object on standard output.")]
VerboseOption = Annotated[int, option("-v --verbose", "More on standard error; -vv for all.", count=True)]
OutOption = Annotated[Path, option("--out FILE", "The artifact to write.", callback=_is_artifact)]
ForceOption = Annotated[bool, option("--force", "Write over a file of another kind, too.")]
EstimateOption = Annotated[bool, option("--estimate", "Say what memory it will take, by sizes alone; run nothing.")]
CompressOption = Annotated[bool, option("--compress", "Compress the artifact (needs hdf5plugin).")]
GraphArgument = Annotated[Path, argument("G.h5", "The graph.")]
MetricsOption = Annotated[Path | None, option("--out M.h5", "A metrics artifact to write.", callback=_is_artifact)]


# Graphs

WeightsOption = Annotated[
    str,
    option(
        "--weights wc|const:P|trivalency|uniform:LO:HI|file|none",
        "Edge probabilities: 1/in-degree, constant, 0.1/0.01/0.001 by chance, uniform in [LO, HI], third column, none.",
    ),
]
TransposeOption = Annotated[
    bool, option("--transpose/--no-transpose", "Keep the in-edges and the sampling tables too.")
]
BothWaysOption = Annotated[bool, option("--undirected", "Each edge stands for both directions.")]
ScaleOption = Annotated[
    Literal["max", "in-sum"] | None,
    option("--scale", "Make probabilities of counts: w / largest w, or w / sum of those into the same vertex."),
]

# Influence maximisation

ModelOption = Annotated[settings.Model, option("--model", "Independent cascade or linear threshold.")]
MODEL = settings.default(settings.Model)
SeedsOption = Annotated[int, option("-k --k K", "Number of seeds.")]
RoundSeedsOption = Annotated[int, option("-k --k K", "Number of seeds (of each round).")]
RoundsOption = Annotated[int, option("--rounds T", "Rounds of seeding, 1 to 255.")]
TargetsOption = Annotated[
    Path | None,
    option("--targets FILE", "Lines `id weight`: what a vertex counts for, up to 9 decimals; 0 if not named."),
]
WorldsOption = Annotated[int, option("--worlds R", "Number of live-edge worlds.")]


# kPAR

AlphaOption = Annotated[float, option("--alpha A", "Probability that a walk stops, in (0, 1).")]
WeightedOption = Annotated[
    bool, option("--weighted", "Take edges in proportion to their weights (`graph import --weights file`).")
]
EpsilonOption = Annotated[float, option("--epsilon E", "Relative error, in (0, 0.5].")]
IndexOption = Annotated[Path, option("--index IRW.h5", "The index by `kpar index`.")]
StopOption = Annotated[
    settings.Stop,
    option(
        "--depth", "Look twice at the vertices around the end of an answer, or stop when the guarantee holds (auto)."
    ),
]
AnswersOption = Annotated[Path | None, option("--out T.h5", "The answers to write.", callback=_is_artifact)]


@dataclass(frozen=True)
class Queries:
    """The queries that kPAR is asked: how long the answers are, and from where."""

    k: Annotated[
        int | None, option("-k --k K", f"Length of an answer; {settings.KPAR_K}, or n if smaller, by default.")
    ] = None
    source: Annotated[str | None, option("--source ID[:W],…", "One query: a vertex, or several with weights.")] = None
    sources_file: Annotated[
        Path | None,
        option("--sources FILE|-", "A query a line: ID, or ID:WEIGHT … of a set; or a table of `export`."),
    ] = None
    random: Annotated[int | None, option("--random N", "N queries from random vertices, chosen by --seed.")] = None
    able: Annotated[bool, option("--out-edges", "With --random: vertices that edges lead away from, alone.")] = False


# MERIT

EtaOption = Annotated[int, option("--eta N", "Vertices to activate.")]
BatchOption = Annotated[
    int | None,
    option("--batch -b B", "Seeds of a round at most; an eighth of what would reach η, 1 to 16, by default."),
]
CostsOption = Annotated[
    str, option("--costs degree|uniform|FILE", "0.01 + 0.01 · d_out, 1, or lines `id cost`; 1 if not named.")
]


@dataclass(frozen=True)
class CampaignOptions:
    """What decides a campaign, simulated or real."""

    eta: EtaOption
    batch: BatchOption = None
    model: ModelOption = MODEL
    epsilon: Annotated[float, option("--epsilon E", "Accuracy of a choice, in (0, 1).")] = settings.MERIT_EPSILON
    costs: CostsOption = "degree"


# Structural diversity

UndirectedOption = Annotated[bool, option("--undirected", "Ignore the directions of a directed graph.")]
TOption = Annotated[
    int | None, option("-t --t T", f"Number of vertices to find; {settings.DIVERSITY_T}, or n if smaller, by default.")
]

# One answer in several files

PartOption = Annotated[str | None, option("--part I/N", "The I-th of N ranges of ids alone, for `gather`.")]
PartsArgument = Annotated[list[Path], argument("PART.h5…", "All the parts, in any order.")]

# Benchmarks

SEEDS_TIMED, ETA_TIMED = 50, 1000
"""Seeds of a run and target of a campaign by default, where the graph has as many vertices."""

GraphsArgument = Annotated[list[Path], argument("G.h5…", "Graphs to run on.")]
DiffusionOption = Annotated[str, option("--models", "Diffusion models, with commas between them.")]
SeedsTimedOption = Annotated[int | None, option("-k --k", f"Seeds; {SEEDS_TIMED}, or n if smaller, by default.")]
RelativeErrorOption = Annotated[float, option("--epsilon", "Relative error, in (0, 0.5].")]
RepeatOption = Annotated[int, option("--repeat", "Timed runs of each configuration.", min=1)]
CampaignsOption = Annotated[
    str | None, option("--eta", f"Targets, with commas between them; {ETA_TIMED}, or n if smaller, by default.")
]
RecordOption = Annotated[Path | None, option("--out FILE", "Where to keep the record (JSON), from run to run.")]


@dataclass(frozen=True)
class Kept:
    """What becomes of the record of a benchmark."""

    out: RecordOption = None
    compare: Annotated[
        Path | None, option("--compare OLD.json", "An older record; exit code 1 if a time grew beyond noise.")
    ] = None
