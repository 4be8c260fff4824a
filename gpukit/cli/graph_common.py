"""What ``graph import`` and ``graph generate`` share: options, writing the artifact, the record of a graph."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpukit.cli.common import Run
from gpukit.errors import InputError

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph

WeightsOption = Annotated[
    str,
    typer.Option(
        "--weights",
        metavar="wc|const:P|trivalency|file|none",
        help="Edge probabilities: 1/in-degree, constant, 0.1/0.01/0.001 by chance, third column, none.",
    ),
]
TransposeOption = Annotated[
    bool, typer.Option("--transpose/--no-transpose", help="Keep the in-edges and the sampling tables too.")
]
UndirectedOption = Annotated[bool, typer.Option("--undirected", help="Each edge stands for both directions.")]


def write_graph_file(run: Run, graph: "Graph", compress: bool, inputs: dict[str, str], seed: int | None) -> None:
    """Build the sampling tables, write the artifact and print the record."""
    if not graph.m:
        raise InputError(
            f"the graph has no edges: {graph.facts['self_loops_dropped']} self-loops and "
            f"{graph.facts['zero_probability_dropped']} edges of probability 0 were dropped; give one with edges"
        )
    tables = None
    if graph.in_indptr is not None and graph.weights.scheme != "none":
        from gpukit.worlds.tables import build_tables

        with run.phase("tables"):
            tables = build_tables(graph)
    with run.phase("write"):
        from gpukit.artifacts import write_graph

        assert run.out is not None
        write_graph(run.out, graph, tables, compress=compress, inputs=inputs, params=run.params, seed=seed)
    record = graph_facts(run.out)
    run.finish(graph, record, {name: shown(value) for name, value in record.items() if name not in ("n", "m")})


def graph_facts(path: Path) -> dict[str, Any]:
    """Return what ``graph info`` tells, from the header alone: a graph may have gigabytes."""
    from gpukit.artifacts import read_header
    from gpukit.graph.csr import Weights

    header = read_header(path, "graph")
    attributes = header.attributes
    n, m = attributes["n"], attributes["m"]
    return {
        "n": n,
        "m": m,
        "undirected": attributes["undirected"],
        "weights": str(Weights(attributes["scheme"], attributes.get("p"))),
        "transpose": "transpose/indices_1" in header.checksums,
        "mean_degree": round(m / n, 4) if n else 0.0,
        **attributes["facts"],
        "digest": header.payload,
    }


def shown(value: Any) -> str:
    """Return a fact as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items() if item is not None)
    return f"{value:,}" if isinstance(value, int) else str(value)
