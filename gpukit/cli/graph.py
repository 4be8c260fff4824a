"""``gpukit graph``: edge lists and random graphs into graph artifacts, and what such a file holds."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gpukit.cli.command import with_run
from gpukit.cli.common import Run, print_json
from gpukit.cli.generate import generate
from gpukit.cli.graph_common import graph_facts, shown, write_graph_file
from gpukit.cli.options import BothWaysOption, CompressOption, TransposeOption, WeightsOption, argument, option
from gpukit.errors import UsageError

if TYPE_CHECKING:
    from gpukit.graph.readers import EdgeList

app = typer.Typer(help="Import, generate and describe graphs.", no_args_is_help=True, add_completion=False)
app.add_typer(generate, name="generate")

_log = logging.getLogger("gpukit")

_KINDS = {"integer": "whole numbers", "text": "names"}


@dataclass(frozen=True)
class TextOptions:
    """What is said of a text; what is not, is found by looking."""

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


@app.command("import")
@with_run("out", "threads", "seed")
def import_graph(
    run: Run,
    edges: Annotated[
        Path,
        argument("EDGES", "Text, CSV, a file of another library, also packed by gzip, …; - for standard input."),
    ],
    *,
    undirected: BothWaysOption = False,
    weights: WeightsOption = "wc",
    parallel: Annotated[
        Literal["merge", "combine"],
        option("--parallel-edges", "Count a repeated edge once, or as that many independent chances."),
    ] = "merge",
    scale: Annotated[
        Literal["max", "in-sum"] | None,
        option("--scale", "Make probabilities of counts: w / largest w, or w / sum of those into the same vertex."),
    ] = None,
    vertices: Annotated[int | None, option("--vertices N", "The ids are 0 … N-1, also those without edges.")] = None,
    dataset: Annotated[
        str | None, option("--dataset NAME", "The file is this one of `gpukit data list`; it says the rest.")
    ] = None,
    transpose: TransposeOption = True,
    text: TextOptions,
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
    run.params |= {"scale": scale} if scale is not None else {}
    run.params |= {name: value for name, value in vars(text).items() if value is not None}
    run.use_device()
    from gpukit.graph.build import build_graph
    from gpukit.graph.dialect import Asked
    from gpukit.graph.parsing import COUNTS, PROBABILITIES
    from gpukit.graph.probabilities import parse_weights
    from gpukit.graph.readers import read_edges

    asked = Asked(text.sep, text.header, text.columns, text.ids)
    scheme = parse_weights(weights, run.seed)
    if scale is not None and scheme.scheme != "file":
        raise UsageError(f"--scale makes probabilities of a third column, but --weights is {weights}; use file")
    highest = (COUNTS if scale else PROBABILITIES) if scheme.scheme == "file" else 0
    if vertices is not None and vertices < 1:
        raise UsageError(f"--vertices is {vertices}; a graph has at least 1")
    with run.phase("read"), run.progress("read") as update:
        listed = read_edges(edges, highest, update, asked)
        run.inputs = {} if listed.digest is None else {"edges": listed.digest}
    understood = _told(listed, highest > 0)
    if (listed.ids is not None or listed.n is not None) and vertices is not None:
        kind = listed.said.get("format", "Matrix Market")
        raise UsageError(f"--vertices does not go with a {kind} file, which declares its vertices")
    if listed.labels is not None and vertices is not None:
        raise UsageError("--vertices goes with whole numbers, and the ids of this file are names; leave it out")
    lines = len(listed.u)
    with run.phase("build"):
        graph = build_graph(
            listed.u,
            listed.v,
            w=listed.w,
            weights=scheme,
            undirected=undirected or listed.undirected,
            parallel=parallel,
            ids=listed.ids if listed.ids is not None else vertices is None and listed.n is None,
            n=vertices if listed.n is None else listed.n,
            labels=listed.labels,
            scale=scale,
            transpose=transpose,
            facts={"text": understood} if understood and not (listed.dialect and listed.dialect.plain) else {},
        )
        del listed
    if known is not None:
        known.check_sizes(edges, graph.n, lines)
        if known.approximate:
            _log.info("the sizes of %s are known roughly only, and not compared", known.name)
    seed = run.seed if scheme.drawn else None
    write_graph_file(run, graph, compress, seed, {"text": understood} if understood else {})


def _told(listed: "EdgeList", weighted: bool) -> dict[str, Any]:
    """Say what was understood of a text, in one line and then what may be a mistake; return it for the record."""
    dialect, record = listed.dialect, listed.said
    if not record:
        return {}
    if dialect is None:
        columns = " in columns " + " and ".join(record["columns"][:2]) if "columns" in record else ""
        _log.info("read as %s, ids%s: %s", record["format"], columns, _KINDS[record["ids"]])
        return record
    columns = " and ".join(map(str, record["columns"][:2])) + "".join(
        f", weight {one}" for one in record["columns"][2:]
    )
    kind = _KINDS[record["ids"]]
    header = "a header" if record["header"] else "no header"
    comments = f"; {listed.comments:,} lines are comments" if listed.comments else ""
    said = (record["separator"], header, columns, kind, comments)
    _log.info("read with %s between columns, %s, ids in columns %s: %s%s", *said)
    if listed.columns > 2 and not weighted:
        first = min({0, 1, 2} - set(dialect.columns))
        _log.info(
            "the lines have %d columns, the %s is not used; --weights file reads it",
            listed.columns, ("first", "second", "third")[first],
        )  # fmt: skip
    if dialect.index:
        _log.info("the first column counts up, as an index does, and was read as ids; --columns 2,3 leaves it out")
    return record


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
