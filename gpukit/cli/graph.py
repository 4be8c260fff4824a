"""``gpukit graph``: edge lists and random graphs into graph artifacts, and what such a file holds."""

import hashlib
import logging
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpukit.cli.common import (
    CompressOption,
    JsonOption,
    OutOption,
    Run,
    SeedOption,
    ThreadsOption,
    VerboseOption,
    print_json,
    set_logging,
)
from gpukit.cli.generate import generate
from gpukit.cli.graph_output import (
    TransposeOption,
    UndirectedOption,
    WeightsOption,
    graph_facts,
    shown,
    write_graph_file,
)
from gpukit.errors import UsageError

app = typer.Typer(help="Import, generate and describe graphs.", no_args_is_help=True, add_completion=False)
app.add_typer(generate, name="generate")

_log = logging.getLogger("gpukit")


class Parallel(StrEnum):
    """Values of ``--parallel-edges``."""

    merge = "merge"
    combine = "combine"


@app.command("import")
def import_graph(
    edges: Annotated[Path, typer.Argument(metavar="EDGES", help="Text, CSV or Matrix Market, also gzipped.")],
    out: OutOption,
    undirected: UndirectedOption = False,
    weights: WeightsOption = "wc",
    parallel: Annotated[
        Parallel,
        typer.Option("--parallel-edges", help="Count a repeated edge once, or as that many independent chances."),
    ] = Parallel.merge,
    vertices: Annotated[
        int | None, typer.Option("--vertices", metavar="N", help="The ids are 0 … N-1, also those without edges.")
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", metavar="NAME", help="The file is this one of `gpukit data list`; it says the rest."),
    ] = None,
    transpose: TransposeOption = True,
    compress: CompressOption = False,
    threads: ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
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
    params = {"undirected": undirected, "weights": weights, "parallel_edges": parallel.value, "vertices": vertices}
    params |= {"dataset": known.name} if known is not None else {}
    run = Run(params, seed=seed, out=out, as_json=as_json, verbose=verbose)
    run.use_device(threads=threads)
    from gpukit.graph.build import build_graph
    from gpukit.graph.probabilities import parse_weights
    from gpukit.graph.readers import read_edges

    scheme = parse_weights(weights, seed)
    if vertices is not None and vertices < 1:
        raise UsageError(f"--vertices is {vertices}; a graph has at least 1")
    with run.phase("read"), run.progress("read") as update:
        listed = read_edges(edges, scheme.scheme == "file", update)
        inputs = {"edges": _file_digest(edges)} if edges.is_file() else {}
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
            parallel=parallel.value,
            ids=listed.ids if listed.ids is not None else vertices is None,
            n=vertices,
            transpose=transpose,
        )
        del listed
    if known is not None:
        known.check_sizes(edges, graph.n, lines)
        if known.approximate:
            _log.info("the sizes of %s are known roughly only, and not compared", known.name)
    write_graph_file(run, graph, compress, inputs, seed if scheme.scheme == "trivalency" else None)


def _file_digest(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@app.command("info")
def info(
    graph_file: Annotated[Path, typer.Argument(metavar="G.h5", help="A graph.")],
    as_json: JsonOption = False,
    verbose: VerboseOption = 0,
) -> None:
    """Show what a graph file holds and what import did to the edge list."""
    set_logging(verbose)
    record = graph_facts(graph_file)
    if as_json:
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
