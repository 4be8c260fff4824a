"""``gpukit graph``: edge lists and random graphs into graph artifacts, and what such a file holds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from gpukit.api.edges import Import, import_edges, seed_of
from gpukit.cli.command import with_run
from gpukit.cli.common import Run, print_json, print_table
from gpukit.cli.generate import generate
from gpukit.cli.graph_common import graph_facts, show_estimate, shown, write_graph_file
from gpukit.cli.options import (
    CompressOption,
    ScaleOption,
    TransposeOption,
    WeightsOption,
    argument,
    option,
)

app = typer.Typer(help="Import, generate and describe graphs.", no_args_is_help=True, add_completion=False)
app.add_typer(generate, name="generate")


def _format(name: str | None) -> str | None:
    """Print the formats instead of an import, where these are asked for."""
    if name != "list":
        return name
    from gpukit.graph.read.formats import FORMATS

    print_table({name: " ".join((form.title, *form.suffixes)) for name, form in FORMATS.items()})
    raise typer.Exit()


@dataclass(frozen=True)
class FileOptions:
    """What the user says of a file; the rest is found by looking."""

    sep: Annotated[
        str | None,
        option("--sep space|tab|comma|semicolon|C", "What stands between columns; found by looking by default."),
    ] = None
    header: Annotated[
        bool | None, option("--header/--no-header", "The first line names the columns; found by looking by default.")
    ] = None
    columns: Annotated[
        str | None,
        option("--columns SOURCE,TARGET[,WEIGHT]", "The columns to read, by name or by number from 1."),
    ] = None
    ids: Annotated[
        Literal["integer", "text"] | None, option("--ids", "Whole numbers or names; as in the first edge by default.")
    ] = None
    format: Annotated[
        str | None,
        option(
            "--format NAME",
            "The format; found by looking by default. `--format list` shows all.",
            is_eager=True,
            callback=_format,
        ),
    ] = None
    comment: Annotated[str | None, option("--comment C|none", "What a comment begins with; # and % by default.")] = None
    skip_bad: Annotated[
        int | None, option("--skip-bad N", "Skip up to N lines that are no edges, and say which; none by default.")
    ] = None


@dataclass(frozen=True)
class Names:
    """What becomes of names that are written in several ways."""

    fold_case: Annotated[bool, option("--fold-case", "Read names in lower case.")] = False
    strip: Annotated[bool, option("--strip", "Read runs of blanks inside names as one blank.")] = False


@app.command("import")
@with_run("out", "threads", "seed", writes="graph")
def import_graph(
    run: Run,
    edges: Annotated[
        Path,
        argument("EDGES", "Text, CSV, a file of another library, also packed by gzip, …; - for standard input."),
    ],
    *,
    undirected: Annotated[
        bool | None,
        option("--undirected/--directed", "Edges stand for both directions, or for one; as the file says by default."),
    ] = None,
    weights: WeightsOption = "wc",
    parallel: Annotated[
        Literal["sum", "max", "combine", "first", "merge"] | None,
        option(
            "--parallel-edges",
            "Of a repeated edge: the sum of counts (the default with --scale), the largest weight (else; also called "
            "merge), that many chances, or the first line.",
        ),
    ] = None,
    scale: ScaleOption = None,
    vertices: Annotated[int | None, option("--vertices N", "The ids are 0 … N-1, also those without edges.")] = None,
    dataset: Annotated[
        str | None, option("--dataset NAME", "The file is this one of `gpukit data list`; it says the rest.")
    ] = None,
    transpose: TransposeOption = True,
    file: FileOptions,
    names: Names,
    compress: CompressOption = False,
    estimate: Annotated[
        bool, option("--estimate", "Say what memory and time it will take, by the start of the text; write nothing.")
    ] = False,
) -> None:
    """Import an edge list: drop self-loops, merge parallel edges, sort, keep the original ids.

    With --dataset NAME the options of the catalogue apply, and the file must have as many vertices and edge lines.
    """
    said = vars(file) | {name: True for name, on in vars(names).items() if on}
    asked = Import(undirected, weights, parallel, scale, vertices, dataset, transpose, said)
    if estimate:
        from gpukit.api.estimate import estimate_import

        show_estimate(run, estimate_import(run, edges, asked))
        return
    graph, understood, _ = import_edges(run, edges, asked)
    write_graph_file(run, graph, compress, seed_of(run), {"text": understood} if understood else {})


@app.command("info")
@with_run()
def info(run: Run, graph_file: Annotated[Path, argument("G.h5", "A graph.")]) -> None:
    """Show what a graph file holds and what import did to the edge list."""
    record = graph_facts(graph_file)
    if run.as_json:
        print_json(record)
        return
    print_table({name.replace("_", " "): shown(value) for name, value in record.items()})
