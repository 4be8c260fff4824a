"""The code that ``graph import`` and ``graph generate`` share: writing the artifact, and the record of a graph."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.api.edges import need_edges
from gpukit.cli.common import Run
from gpukit.device.memory import host_free_bytes, readable

if TYPE_CHECKING:
    from gpukit.graph.csr import Graph


def write_graph_file(
    run: Run, graph: "Graph", compress: bool, seed: int | None, more: dict[str, Any] | None = None
) -> None:
    """Build the sampling tables, write the artifact and print the record.

    ``seed`` is that of the graph, if any; ``more`` is added to the record of ``--json``.
    """
    put_graph(run, run.target, graph, compress, seed)
    record = graph_facts(run.target)
    run.finish(record | (more or {}), {name: shown(value) for name, value in record.items() if name not in ("n", "m")})


def put_graph(run: Run, path: Path, graph: "Graph", compress: bool, seed: int | None) -> str:
    """Build the sampling tables of a graph, write the graph, and return its digest; it becomes the graph of the run."""
    run.graph = graph
    need_edges(graph)
    tables = None
    if graph.in_indptr is not None and graph.weights.scheme != "none":
        from gpukit.worlds.tables import build_tables

        with run.phase("tables"):
            tables = build_tables(graph)
    with run.phase("write"):
        from gpukit.artifacts import write_graph

        return write_graph(path, graph, tables, compress=compress, inputs=run.inputs, params=run.params, seed=seed)


def show_estimate(run: Run, found: dict[str, Any]) -> None:
    """Print the estimated needs of an import."""
    free = host_free_bytes()
    run.out = None
    summary = {
        "graph": f"about {found['vertices']:,} vertices, {found['edges']:,} edges",
        "memory": f"about {readable(found['memory_bytes'])} of the {readable(free)} that are free",
        "expected": f"about {found['time_s']:.1f} s, and a file of {readable(found['graph_bytes'])}",
        "judged by": f"{found['share']:.1%} of the file; nothing was written",
    }
    run.finish({"estimate": found, "free_bytes": free}, summary)


def graph_facts(path: Path) -> dict[str, Any]:
    """Return the facts that ``graph info`` prints; only the header is read, because a file may have gigabytes."""
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
    """Return a fact in the form of the summary."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown(item)}" for name, item in value.items() if item is not None)
    if isinstance(value, list):
        return " and ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
