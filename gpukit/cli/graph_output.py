"""What ``graph import`` and ``graph generate`` share: options, writing the artifact, the record of a graph."""

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
        digest = write_graph(run.out, graph, tables, compress=compress, inputs=inputs, params=run.params, seed=seed)
    record = graph_facts(graph, digest)
    run.finish(graph, record, {name: shown(value) for name, value in record.items() if name not in ("n", "m")})


def graph_facts(graph: "Graph", digest: str) -> dict[str, Any]:
    """Return what ``graph info`` tells."""
    from gpukit.graph.probabilities import scheme_name

    return {
        "n": graph.n,
        "m": graph.m,
        "undirected": graph.undirected,
        "weights": scheme_name(graph.weights),
        "transpose": graph.in_indptr is not None,
        "mean_degree": round(graph.m / graph.n, 4) if graph.n else 0.0,
        **graph.facts,
        "digest": digest,
    }


def shown(value: Any) -> str:
    """Return a fact as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items() if item is not None)
    return f"{value:,}" if isinstance(value, int) else str(value)
