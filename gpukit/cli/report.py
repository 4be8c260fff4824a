"""``gpukit report``: tables, figures and the page of the workflow."""

from enum import StrEnum
from typing import Annotated

import typer

from gpukit.errors import UsageError

app = typer.Typer(help="Tables, figures and a report page out of run records and artifacts.", no_args_is_help=True)
plot = typer.Typer(help="Draw a figure out of a table.", no_args_is_help=True)
app.add_typer(plot, name="plot")


class Table(StrEnum):
    """The kinds of tables."""

    runs = "runs"
    seeds = "seeds"
    spread = "spread"
    artifacts = "artifacts"


@app.command("table")
def table(
    kind: Annotated[Table, typer.Argument(help="What to collect.")],
    records: Annotated[
        list[str],
        typer.Argument(
            metavar="[LABEL=]FILE...",
            help="GRAPH/MODEL=run.json for runs, GRAPH/MODEL=S.h5 for seeds, GRAPH/MODEL/METHOD=M.h5 for spread, "
            "FILE for artifacts.",
        ),
    ],
    out: Annotated[str, typer.Option(help="The TSV file to write.")],
) -> None:
    """Collect records or artifacts into one tidy table with units in the column names."""
    from gpukit.report.tables import make_table, write_table

    labelled = [(path, path) for path in records] if kind is Table.artifacts else _labelled(records)
    write_table(kind.value, make_table(kind.value, labelled), out)


@plot.command("spread")
def plot_spread(
    table: Annotated[str, typer.Argument(metavar="SPREAD.tsv", help="A table of kind spread.")],
    graph: Annotated[str, typer.Option(help="The graph to draw.")],
    model: Annotated[str, typer.Option(help="The diffusion model to draw: ic or lt.")],
    out: Annotated[str, typer.Option(help="The SVG file to write.")],
) -> None:
    """Draw the spread of each method against the number of seeds, with error bars."""
    from gpukit.report import plots
    from gpukit.report.tables import read_table

    plots.plot_spread(read_table("spread", table), graph, model, out)


@plot.command("runtime")
def plot_runtime(
    table: Annotated[str, typer.Argument(metavar="RUNS.tsv", help="A table of kind runs.")],
    out: Annotated[str, typer.Option(help="The SVG file to write.")],
) -> None:
    """Draw where the time of the runs went."""
    from gpukit.report import plots
    from gpukit.report.tables import read_table

    plots.plot_runtime(read_table("runs", table), out)


@app.command("page")
def page(
    runs: Annotated[str, typer.Option(help="Table of kind runs.")],
    seeds: Annotated[str, typer.Option(help="Table of kind seeds.")],
    spread: Annotated[str, typer.Option(help="Table of kind spread.")],
    artifacts: Annotated[str, typer.Option(help="Table of kind artifacts.")],
    runtime: Annotated[str, typer.Option(help="The figure of `plot runtime`.")],
    curve: Annotated[list[str], typer.Option(metavar="GRAPH/MODEL=FILE", help="A figure of `plot spread`; repeat it.")],
    out: Annotated[str, typer.Option(help="The HTML file to write.")],
) -> None:
    """Write one self-contained HTML page: findings, figures, tables, provenance."""
    from gpukit.report.page import write_page
    from gpukit.report.tables import read_table

    write_page(
        out,
        runs=read_table("runs", runs),
        seeds=read_table("seeds", seeds),
        spread=read_table("spread", spread),
        artifacts=read_table("artifacts", artifacts),
        curves=_labelled(curve),
        runtime=runtime,
    )


def _labelled(records: list[str]) -> list[tuple[str, str]]:
    """Split LABEL=FILE arguments at the first equals sign; a label names one record."""
    pairs: list[tuple[str, str]] = []
    for record in records:
        label, sign, path = record.partition("=")
        if not (label and sign and path):
            raise UsageError(f"{record!r} is not of the form LABEL=FILE")
        if label in dict(pairs):
            raise UsageError(f"label {label!r} is given twice; each names one file")
        pairs.append((label, path))
    return pairs
