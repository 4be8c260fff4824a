"""What ``graph import`` and ``graph generate`` share: writing the artifact, and the record of a graph."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.api.edges import need_edges
from gpukit.cli.common import Run

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph


def write_graph_file(
    run: Run, graph: "Graph", compress: bool, seed: int | None, more: dict[str, Any] | None = None
) -> None:
    """Build the sampling tables, write the artifact and print the record.

    ``seed`` is that of the graph, if any; ``more`` joins what ``--json`` prints.
    """
    run.graph = graph
    need_edges(graph)
    tables = None
    if graph.in_indptr is not None and graph.weights.scheme != "none":
        from gpukit.worlds.tables import build_tables

        with run.phase("tables"):
            tables = build_tables(graph)
    with run.phase("write"):
        from gpukit.artifacts import write_graph

        write_graph(run.target, graph, tables, compress=compress, inputs=run.inputs, params=run.params, seed=seed)
    record = graph_facts(run.target)
    run.finish(record | (more or {}), {name: shown(value) for name, value in record.items() if name not in ("n", "m")})


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
        "weights": str(Weights.of(attributes)),
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
        return ", ".join(f"{name} {shown(item)}" for name, item in value.items() if item is not None)
    if isinstance(value, list):
        return " and ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
