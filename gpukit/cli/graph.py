"""``gpukit graph``: edge lists and random graphs into graph artifacts, and what such a file holds."""

import logging
from pathlib import Path
from typing import Annotated, Literal

import typer

from gpukit.cli.command import with_run
from gpukit.cli.common import Run, print_json
from gpukit.cli.generate import generate
from gpukit.cli.graph_common import graph_facts, shown, write_graph_file
from gpukit.cli.options import BothWaysOption, CompressOption, TransposeOption, WeightsOption, argument, option
from gpukit.errors import UsageError

app = typer.Typer(help="Import, generate and describe graphs.", no_args_is_help=True, add_completion=False)
app.add_typer(generate, name="generate")

_log = logging.getLogger("gpukit")


@app.command("import")
@with_run("out", "threads", "seed")
def import_graph(
    run: Run,
    edges: Annotated[Path, argument("EDGES", "Text, CSV or Matrix Market, also gzipped.")],
    undirected: BothWaysOption = False,
    weights: WeightsOption = "wc",
    parallel: Annotated[
        Literal["merge", "combine"],
        option("--parallel-edges", "Count a repeated edge once, or as that many independent chances."),
    ] = "merge",
    vertices: Annotated[int | None, option("--vertices N", "The ids are 0 … N-1, also those without edges.")] = None,
    dataset: Annotated[
        str | None, option("--dataset NAME", "The file is this one of `gpukit data list`; it says the rest.")
    ] = None,
    transpose: TransposeOption = True,
    compress: CompressOption = False,
) -> None:
    """Import an edge list: drop self-loops, merge parallel edges, sort, keep the original ids.

    With --dataset NAME the options of the catalogue apply, and the file must have as many vertices and edge lines.
    """
    known = None
    if dataset is not None:
        from gpukit.datasets import find_dataset

        known = find_dataset(dataset)
        if vertices not in (None, known.vertices):
            raise UsageError(f"--vertices {vertices} contradicts --dataset {known.name}, which says it; leave it out")
        undirected, vertices = undirected or known.undirected, known.vertices
    run.params = {"undirected": undirected, "weights": weights, "parallel_edges": parallel, "vertices": vertices}
    run.params |= {"dataset": known.name} if known is not None else {}
    run.use_device()
    from gpukit.graph.build import build_graph
    from gpukit.graph.probabilities import parse_weights
    from gpukit.graph.readers import read_edges

    scheme = parse_weights(weights, run.seed)
    if vertices is not None and vertices < 1:
        raise UsageError(f"--vertices is {vertices}; a graph has at least 1")
    with run.phase("read"), run.progress("read") as update:
        listed = read_edges(edges, scheme.scheme == "file", update)
        run.inputs = {} if listed.digest is None else {"edges": listed.digest}
    if listed.columns > 2 and scheme.scheme != "file":
        _log.info("the lines have %d columns, the third is not used; --weights file reads it", listed.columns)
    if listed.ids is not None and vertices is not None:
        raise UsageError("--vertices does not go with a Matrix Market file, which declares its vertices")
    lines = len(listed.u)
    with run.phase("build"):
        graph = build_graph(
            listed.u,
            listed.v,
            w=listed.w,
            weights=scheme,
            undirected=undirected or listed.undirected,
            parallel=parallel,
            ids=listed.ids if listed.ids is not None else vertices is None,
            n=vertices,
            transpose=transpose,
        )
        del listed
    if known is not None:
        known.check_sizes(edges, graph.n, lines)
        if known.approximate:
            _log.info("the sizes of %s are known roughly only, and not compared", known.name)
    write_graph_file(run, graph, compress, run.seed if scheme.scheme == "trivalency" else None)


@app.command("info")
@with_run()
def info(run: Run, graph_file: Annotated[Path, argument("G.h5", "A graph.")]) -> None:
    """Show what a graph file holds and what import did to the edge list."""
    record = graph_facts(graph_file)
    if run.as_json:
        print_json(record)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=str(graph_file), show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in record.items():
        table.add_row(name.replace("_", " "), shown(value))
    Console().print(table)
