"""``gpukit graph``: import edge lists, generate random graphs, and describe graph files."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from gpukit.api.edges import import_edges, seed_of
from gpukit.cli.command import with_run
from gpukit.cli.common import Run, print_json, print_table
from gpukit.cli.graph.common import graph_facts, show_estimate, shown, write_graph_file
from gpukit.cli.graph.generate import generate
from gpukit.cli.options import (
    CompressOption,
    argument,
    option,
)
from gpukit.parameters.graph import Import, Text

app = typer.Typer(help="Import, generate and describe graphs.", no_args_is_help=True, add_completion=False)
app.add_typer(generate, name="generate")


def _format(name: str | None) -> str | None:
    """Print the formats instead of importing, if this is requested."""
    if name != "list":
        return name
    from gpukit.graph.read.formats import FORMATS

    print_table({name: " ".join((form.title, *form.suffixes)) for name, form in FORMATS.items()})
    raise typer.Exit()


FormatOption = Annotated[
    str | None,
    option(
        "--format NAME",
        "The format; detected by default. `--format list` shows all.",
        is_eager=True,
        callback=_format,
    ),
]


@app.command("import")
@with_run("out", "threads", "seed", writes="graph")
def import_graph(
    run: Run,
    edges: Annotated[
        Path,
        argument("EDGES", "Text, CSV, or a file of another library, also compressed; - for standard input."),
    ],
    *,
    asked: Import,
    text: Text,
    format: FormatOption = None,
    compress: CompressOption = False,
    estimate: Annotated[
        bool, option("--estimate", "Estimate memory and time from the start of the text; write nothing.")
    ] = False,
) -> None:
    """Import an edge list: drop self-loops, merge parallel edges, sort, keep the original ids.

    With --dataset NAME the options of the catalogue apply, and the file must have as many vertices and edge lines.
    """
    asked = replace(asked, text=replace(text, format=format))
    if estimate:
        from gpukit.api.estimate import estimate_import

        show_estimate(run, estimate_import(run, edges, asked))
        return
    graph, understood, _ = import_edges(run, edges, asked)
    more: dict[str, Any] = {"text": understood} if understood else {}
    more |= {"skipped": run.skipped} if run.skipped else {}
    write_graph_file(run, graph, compress, seed_of(run), more)


@app.command("info")
@with_run()
def info(run: Run, graph_file: Annotated[Path, argument("G.h5", "A graph.")]) -> None:
    """Show the contents of a graph file, and the changes that the import made to the edge list."""
    record = graph_facts(graph_file)
    if run.as_json:
        print_json(record)
        return
    print_table({name.replace("_", " "): shown(value) for name, value in record.items()})
