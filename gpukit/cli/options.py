"""The options of more than one command: their spelling, their help, and groups of them.

A group is a frozen dataclass whose fields are options. :func:`gpukit.cli.command.with_run` shows the fields to Typer
and passes the dataclass to the command. :mod:`gpukit.parameters` declares the parameters of systems.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gpukit.api.results import check_name
from gpukit.device.select import look_for_gpus
from gpukit.parameters.kpar import Length
from gpukit.parameters.option import ABLATIONS, EXPERT, SEED, Option, Parameter


def option(spec: str, text: str, **more: Any) -> Any:
    """Return an option from its spelling and its help: ``option("--batch -b B", "Seeds of a round")``.

    The words of ``spec`` are its names and, after them, the placeholder of its value. ``more`` is passed to Typer.
    """
    names = [word for word in spec.split() if word.startswith("-")]
    return typer.Option(*names, metavar=spec.rpartition(names[-1])[2].strip() or None, help=text, **more)


def typer_type(one: Parameter) -> Any:
    """Return the annotation of a parameter for Typer; a parameter that a word can switch off takes words."""
    kind = str if one.option.none else one.kind | None if one.optional else one.kind
    short = f"-{one.name}" if len(one.name) == 1 else one.option.short
    spec = f"{short} {one.option.names or '--' + one.name.replace('_', '-')} {one.option.metavar or ''}"
    return Annotated[kind, option(spec, one.help, rich_help_panel=one.option.panel)]


def default_of(one: Parameter) -> Any:
    """Return the default of a parameter as Typer shows it."""
    return (one.option.none if one.default is None else str(one.default)) if one.option.none else one.default


def words_of(one: Parameter, value: Any) -> list[str]:
    """Return the words of a command line that set a parameter to a value.

    None, and a default ablation, need no words.
    """
    if value is None or (one.option.panel == ABLATIONS and value == one.default):
        return []
    name = f"-{one.name}" if len(one.name) == 1 else one.option.names or f"--{one.name.replace('_', '-')}"
    on, _, off = name.partition("/")
    if one.kind is bool:
        word = on if value else off
        return [word] if word else []
    return [on, str(value)]


def argument(name: str | None, text: str) -> Any:
    """Return an argument from the placeholder of its value and its help."""
    return typer.Argument(metavar=name, help=text)


# Options of nearly every command


def _look_ahead(device: str) -> str:
    """Look for GPUs while the command reads its files."""
    if device != "cpu":
        look_for_gpus()
    return device


def _is_artifact(out: Path | None) -> Path | None:
    """Refuse to write an artifact under a name with the suffix of another format."""
    if out is not None:
        check_name(out, f"--out {out}: this command")
    return out


DeviceChoice = Literal["auto", "cpu", "cuda"]
DeviceOption = Annotated[DeviceChoice, option("--device", "Where to run.", callback=_look_ahead)]
GpusOption = Annotated[int, option("--gpus N", "Number of GPUs; 0 means the CPU.")]
ThreadsOption = Annotated[int | None, option("--threads N", "CPU threads; all available by default.")]
SeedOption = typer_type(SEED)
GpuMemoryOption = Annotated[
    int | None, option("--gpu-memory BYTES", "Most memory to use on each GPU; by default all that is free.", min=1)
]
JsonOption = Annotated[bool, option("--json", "Print one JSON object on standard output.")]
ExplainOption = Annotated[bool, option("--explain", "Explain the printed words.")]
VerboseOption = Annotated[int, option("-v --verbose", "More on standard error; -vv for all.", count=True)]
OutOption = Annotated[Path, option("--out FILE", "The artifact to write.", callback=_is_artifact)]
ForceOption = Annotated[bool, option("--force", "Also overwrite a file of another kind.")]
EstimateOption = Annotated[bool, option("--estimate", "Print the memory that it will take; run nothing.")]
CompressOption = Annotated[bool, option("--compress", "Compress the artifact (needs hdf5plugin).")]
GraphArgument = Annotated[Path, argument("G.h5", "The graph.")]
MetricsOption = Annotated[Path | None, option("--out M.h5", "A metrics artifact to write.", callback=_is_artifact)]


# Influence maximisation

RoundSeedsOption = Annotated[int, option("-k --k K", "Number of seeds (of each round).")]
TargetsOption = Annotated[
    Path | None,
    option("--targets FILE", "Lines `id weight`: weights of vertices, up to 9 decimals; 0 if not named."),
]
WorldsOption = Annotated[int, Option("Number of live-edge worlds.", metavar="R", ge=1, lt=2**31)]


# kPAR

IndexOption = Annotated[Path, option("--index IRW.h5", "The index by `kpar index`.")]
AnswersOption = Annotated[Path | None, option("--out T.h5", "The answers to write.", callback=_is_artifact)]


@dataclass(frozen=True)
class Queries:
    """Options of kPAR's queries: their sources."""

    k: Length = None
    source: Annotated[str | None, option("--source ID[:W],…", "One query: a vertex, or several with weights.")] = None
    sources_file: Annotated[
        Path | None,
        option("--sources FILE|-", "One query per line: ID, or ID:WEIGHT … for a set; or a table of `export`."),
    ] = None
    random: Annotated[
        int | None, Option("N queries from random vertices, chosen by --seed.", metavar="N", ge=1, le=10**7)
    ] = None
    able: Annotated[bool, option("--out-edges", "With --random: only vertices with out-edges.")] = False


# MERIT

CostsOption = Annotated[
    str, option("--costs degree|uniform|FILE", "0.01 + 0.01 · d_out, 1, or lines `id cost`; 1 if not named.")
]


# Structural diversity

UndirectedOption = Annotated[bool, option("--undirected", "Ignore the directions of a directed graph.")]

# One answer in several files

PartOption = Annotated[
    str | None, option("--part I/N", "Only the I-th of N ranges of ids, for `gather`.", rich_help_panel=EXPERT)
]
PartsArgument = Annotated[list[Path], argument("PART.h5…", "All the parts, in any order.")]
