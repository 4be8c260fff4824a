"""What the commands of ``gpukit gim`` share: options, and how a result is stored, recorded and shown."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpukit.cli.common import Run
from gpukit.errors import InputError, UsageError

if TYPE_CHECKING:
    from gpukit.gim import Result
    from gpukit.graph.csr import Graph

MEMBERS_PER_SET = 20
"""A guess for the choice of the device."""


class Model(StrEnum):
    """Values of ``--model``."""

    ic = "ic"
    lt = "lt"


class Bound(StrEnum):
    """Values of ``--bound``."""

    opim = "opim"
    imm = "imm"


class Sampler(StrEnum):
    """Values of ``--sampler``."""

    skip = "skip"
    scan = "scan"


class Samples(StrEnum):
    """Values of ``--samples``."""

    grid = "grid"
    fresh = "fresh"
    original = "original"


class Selecting(StrEnum):
    """Values of ``--selection``."""

    by_index = "index"
    by_scan = "scan"


class Method(StrEnum):
    """Values of ``--method``."""

    degree = "degree"
    degree_discount = "degree-discount"
    random = "random"


GraphArgument = Annotated[Path, typer.Argument(metavar="G.h5", help="The graph.")]
KOption = Annotated[int, typer.Option("-k", metavar="K", help="Number of seeds (of each round).")]
ModelOption = Annotated[Model, typer.Option("--model", help="Independent cascade or linear threshold.")]
SamplerOption = Annotated[Sampler, typer.Option("--sampler", help="Skip dead edges, or test every edge.")]
RoundsOption = Annotated[int, typer.Option("--rounds", metavar="T", help="Rounds of seeding, 1 to 255.")]
BlockOption = Annotated[
    int | None, typer.Option("--block", metavar="N", help="Threads of a block of the scan sampler on a GPU.")
]
GridOption = Annotated[
    int | None, typer.Option("--grid", metavar="N", help="Blocks of the scan sampler on a GPU; 0: as many as fit.")
]


def stored(run: Run, inputs: dict[str, str], result: "Result") -> dict[str, Any]:
    """Return the arguments of ``write_seeds`` that say what is known of the seeds."""
    return {
        "graph": inputs["graph"],
        "gains": result.gains,
        "rounds": result.rounds,
        "spread_estimate": result.spread_estimate,
        "selection_estimate": result.selection_estimate,
        "rr_sets": result.rr_sets,
        "guarantee": {"value": result.guarantee, "kind": result.guarantee_kind},
        "seed": run.seed,
        "params": run.params,
    }


def record_of(seeds: list[int], result: "Result") -> dict[str, Any]:
    """Return the keys of ``--json`` beside those of every run; ``seeds`` are original ids."""
    record: dict[str, Any] = {"seeds": seeds}
    if result.rounds is not None:
        record["rounds"] = result.rounds.tolist()
    record |= result.facts() | {"gains": result.gains.tolist()}
    record["history"] = [vars(step) for step in result.history]
    return record


def summary_of(record: dict[str, Any], n: int) -> dict[str, Any]:
    """Return what people read; ``n`` is the number of vertices."""
    lines = {"seeds": record["seeds"]}
    if "rounds" in record:
        lines["rounds"] = record["rounds"]
    if record["spread_estimate"] is None:
        lines["spread"] = f"{record['selection_estimate']:,.2f} (on the sets it was chosen from, too high)"
    else:
        lines["spread"] = f"{record['spread_estimate']:,.2f} (estimate)"
    lines["RR sets"] = f"{record['rr_sets']:,}"
    if record["guarantee"] is None:
        lines["guarantee"] = "none"
    else:
        kept = f"{record['guarantee']:.4f} of the best possible, {record['guarantee_kind']}"
        lines["guarantee"] = f"{kept}, except with probability 1 in {n:,}"
    return lines


def need_edges(graph: "Graph") -> None:
    """Refuse a graph without edges; raises InputError."""
    if graph.m == 0:
        raise InputError("the graph has no edges, so there is no influence to maximise; give one with edges")


def launch_shape(block: int | None, grid: int | None, kind: str) -> Any:
    """Return the launch shape of the scan sampler; None on the CPU, which has none."""
    if block is not None and not (1 <= block <= 1024 and block % 32 == 0):
        raise UsageError(f"--block is {block}; multiples of 32 up to 1024 are allowed")
    if grid is not None and not 0 <= grid < 2**31:
        raise UsageError(f"--grid is {grid}; 0 to 2^31 - 1 are allowed")
    if kind == "cpu":
        return None
    from gpukit.worlds.collection_cuda import Shape

    return Shape(**{name: value for name, value in (("block", block), ("grid", grid)) if value is not None})
