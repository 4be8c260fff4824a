"""``gpukit gim run --weights A,B,…``: choose seeds under several edge probabilities, and compare their spreads."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.main import get_current_context

from gpukit.api.graph import Graph, read_graph
from gpukit.api.seeds import maximise
from gpukit.api.spread import measure
from gpukit.cli.common import Run, cut_list
from gpukit.cli.outputs import check_kind, check_out
from gpukit.errors import UsageError
from gpukit.graph.lines import quoted

if TYPE_CHECKING:
    from gpukit.gim import Params, Result

RUNS = 2000
"""Cascades to evaluate each seed set under each choice of probabilities."""

SHOWN = 10
"""Most seeds of each set in the summary."""


def read_under(run: Run, graph_file: Path, text: str, *, tables: bool) -> dict[str, Graph]:
    """Return a graph with each of several edge probabilities; ``weights`` lists these, separated by commas.

    The first becomes the graph of the run; ``tables`` says whether to make sampling tables.
    """
    schemes = [one.strip() for one in text.split(",")]
    if len(set(schemes)) < len(schemes):
        raise UsageError(f"--weights {text[:80]} names one twice; name each once")
    with run.phase("read"):
        given = read_graph(graph_file)
        graphs = {scheme: given.with_weights(scheme, seed=run.seed) for scheme in schemes}
    _turn_to(run, graphs[schemes[0]], tables)
    return graphs


def _turn_to(run: Run, graph: Graph, tables: bool = False) -> None:
    """Set the graph of a run."""
    with run.phase("read"):
        run.graph, run.labels = graph._transposed, graph.csr.labels
        run.tables = graph.tables() if tables else None
        run.inputs["graph"] = graph.digest


def sweep(run: Run, graphs: Mapping[str, Graph], params: "Params", decimals: int) -> None:
    """Find seeds on each graph, write them to files named by probabilities, and print their spreads and overlaps."""
    outs = [_named(run.target, scheme) for scheme in graphs]
    for path in outs:
        check_out(path)
        if not get_current_context().params["force"]:
            check_kind(path, "seeds")
    tables = params.model == "ic" and params.sampler == "skip"
    found: list[Result] = []
    for graph, run.out in zip(graphs.values(), outs, strict=True):
        _turn_to(run, graph, tables)
        artifact, result = maximise(run, params, decimals=decimals)
        run.put(artifact)
        found.append(result)
    judged = [_reached(run, graph, found, params) for graph in graphs.values()]
    common = [[len(set(one.seeds.tolist()) & set(other.seeds.tolist())) for other in found] for one in found]
    run.out = None
    names = [run.graph.original(one.seeds).tolist() for one in found]
    listed = [
        {
            "weights": scheme, "seeds": seeds, "guarantee": one.guarantee, "spread_estimate": one.spread_estimate,
            "reached": [points[place]["spread"] for points in judged],
            "stderr": [points[place]["stderr"] for points in judged],
            "common": common[place], "written": str(path),
        }
        for place, (scheme, one, seeds, path) in enumerate(zip(graphs, found, names, outs, strict=True))
    ]  # fmt: skip
    run.finish({"sweep": listed}, _lines(list(graphs), listed))


def _reached(run: Run, graph: Graph, found: "Sequence[Result]", params: "Params") -> list[dict[str, Any]]:
    """Return the spread of the seeds of each result on a graph."""
    _turn_to(run, graph)
    points = []
    for one in found:
        turns = [0] * len(one.seeds) if one.rounds is None else one.rounds.tolist()
        rounds = [[v for v, turn in zip(one.seeds.tolist(), turns, strict=True) if turn == r] for r in sorted({*turns})]
        points.append(measure(run, rounds, [], model=params.model, runs=RUNS)[1][-1])
    return points


def _named(out: Path, scheme: str) -> Path:
    """Return the name of the file for one of several edge probabilities."""
    return out.with_name(f"{out.stem}-{re.sub('[^A-Za-z0-9.]', '-', scheme)}{out.suffix}")


def _lines(schemes: list[str], listed: list[dict[str, Any]]) -> dict[str, str]:
    """Return the summary: the seeds, a table of their spreads, and a table of their overlaps."""
    width = max(12, *map(len, schemes))

    def row(cells: Sequence[Any], form: Callable[[Any], str] = str) -> str:
        return "  ".join(f"{form(cell):>{width}}" for cell in cells)

    lines = {}
    for one in listed:
        lines[f"seeds, {one['weights']}"] = cut_list([*map(quoted, one["seeds"][:SHOWN])], len(one["seeds"]))
    lines["spread under"] = row(schemes)
    lines |= {f"of seeds, {one['weights']}": row(one["reached"], lambda spread: f"{spread:,.1f}") for one in listed}
    lines["shared with seeds"] = row(schemes)
    lines |= {f"by seeds, {one['weights']}": row(one["common"]) for one in listed}
    shares = ["none" if one["guarantee"] is None else f"{one['guarantee']:.4f}" for one in listed]
    lines["guarantee, each under its own"] = row(shares)
    return lines | {f"written, {one['weights']}": one["written"] for one in listed}
