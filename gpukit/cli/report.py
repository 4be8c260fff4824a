"""``gpukit report``: tables, figures and the page of the workflow."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gpukit.errors import UsageError

if TYPE_CHECKING:
    from gpukit.report.records import Row

app = typer.Typer(
    help="Tables, figures and a report page out of run records and artifacts.",
    no_args_is_help=True,
    add_completion=False,
)
plot = typer.Typer(help="Draw a figure out of a table.", no_args_is_help=True, add_completion=False)
app.add_typer(plot, name="plot")

OutOption = Annotated[str, typer.Option(help="The SVG file to write.")]
GraphOption = Annotated[str, typer.Option(help="The graph to draw.")]


class Table(StrEnum):
    """The kinds of tables."""

    runs = "runs"
    seeds = "seeds"
    spread = "spread"
    imgpu_runs = "imgpu-runs"
    imgpu_times = "imgpu-times"
    imgpu_spread = "imgpu-spread"
    imgpu_levels = "imgpu-levels"
    imgpu_switches = "imgpu-switches"
    kpar_times = "kpar-times"
    kpar_index = "kpar-index"
    kpar_arrivals = "kpar-arrivals"
    kpar_queries = "kpar-queries"
    kpar_quality = "kpar-quality"
    kpar_answers = "kpar-answers"
    merit_campaigns = "merit-campaigns"
    diversity_runs = "diversity-runs"
    diversity_top = "diversity-top"
    diversity_checks = "diversity-checks"
    graphs = "graphs"
    gim_cells = "gim-cells"
    imgpu_measures = "imgpu-measures"
    diversity_measures = "diversity-measures"
    merit_measures = "merit-measures"
    items = "items"
    artifacts = "artifacts"


class Paper(StrEnum):
    """The papers whose tables and figures can be rebuilt."""

    gim = "gim"
    imgpu = "imgpu"
    kpar = "kpar"
    diversity = "diversity"
    merit = "merit"


class View(StrEnum):
    """What `plot imgpu` draws."""

    spread = "spread"
    time = "time"
    levels = "levels"
    switches = "switches"


class Campaigns(StrEnum):
    """What `plot merit` draws."""

    cost = "cost"
    time = "time"
    phases = "phases"


class Quantity(StrEnum):
    """What `plot kpar` draws against k."""

    time = "time"
    precision = "precision"
    ndcg = "ndcg"


@app.command("table")
def table(
    kind: Annotated[Table, typer.Argument(help="What to collect.")],
    records: Annotated[
        list[str],
        typer.Argument(
            metavar="[LABEL=]FILE...",
            help="Records (--json output of commands) or artifacts, labelled as the kind needs: GRAPH, GRAPH/MODEL, "
            "GRAPH/MODEL/METHOD, GRAPH/MODEL/POLICY/ETA, GRAPH/STEP, GRAPH/METHOD, GRAPH/METHOD/K, GRAPH/MEASURE or "
            "PAPER/ITEM; no label for artifacts.",
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
    graph: GraphOption,
    model: Annotated[str, typer.Option(help="The diffusion model to draw: ic or lt.")],
    out: OutOption,
) -> None:
    """Draw the spread of each method against the number of seeds, with error bars."""
    from gpukit.report import gim
    from gpukit.report.tables import read_table

    gim.plot_spread(read_table("spread", table), graph, model, out)


@plot.command("runtime")
def plot_runtime(
    table: Annotated[str, typer.Argument(metavar="RUNS.tsv", help="A table of kind runs.")], out: OutOption
) -> None:
    """Draw where the time of the gIM runs went."""
    from gpukit.report import gim
    from gpukit.report.tables import read_table

    gim.plot_runtime(read_table("runs", table), out)


@plot.command("imgpu")
def plot_imgpu(
    table: Annotated[str, typer.Argument(metavar="TABLE.tsv", help="Of kind imgpu-times, or imgpu-VIEW.")],
    graph: GraphOption,
    view: Annotated[View, typer.Option(help="What to draw.")],
    out: OutOption,
) -> None:
    """Draw spread or time against k, components by level, or the effect of the optimisations."""
    from gpukit.report import imgpu
    from gpukit.report.tables import read_table

    imgpu.plot(read_table(imgpu.VIEWS[view.value], table), graph, view.value, out)


@plot.command("merit")
def plot_merit(
    table: Annotated[str, typer.Argument(metavar="CAMPAIGNS.tsv", help="A table of kind merit-campaigns.")],
    graph: GraphOption,
    view: Annotated[Campaigns, typer.Option(help="What to draw.")],
    model: Annotated[str, typer.Option(help="The diffusion model to draw: ic or lt.")],
    out: OutOption,
) -> None:
    """Draw cost or time of campaigns against η with the range over worlds, or where the time went."""
    from gpukit.report import merit
    from gpukit.report.tables import read_table

    merit.plot(read_table("merit-campaigns", table), graph, model, view.value, out)


@plot.command("kpar")
def plot_kpar(
    table: Annotated[str, typer.Argument(metavar="TABLE.tsv", help="Of kind kpar-queries (time) or kpar-quality.")],
    graph: GraphOption,
    quantity: Annotated[Quantity, typer.Option(help="What to draw against k.")],
    out: OutOption,
) -> None:
    """Draw time, precision or NDCG of top-k queries against k, a line for each method."""
    from gpukit.report import kpar
    from gpukit.report.tables import read_table

    kpar.plot_curve(read_table(kpar.QUANTITIES[quantity.value][0], table), graph, quantity.value, out)


@plot.command("arrivals")
def plot_arrivals(
    table: Annotated[str, typer.Argument(metavar="ARRIVALS.tsv", help="A table of kind kpar-arrivals.")], out: OutOption
) -> None:
    """Draw how many walks of a kPAR index end at how many vertices."""
    from gpukit.report import kpar
    from gpukit.report.tables import read_table

    kpar.plot_arrivals(read_table("kpar-arrivals", table), out)


@plot.command("scores")
def plot_scores(
    table: Annotated[str, typer.Argument(metavar="TOP.tsv", help="A table of kind diversity-top.")], out: OutOption
) -> None:
    """Draw how many vertices of the answers have how many circles."""
    from gpukit.report import diversity
    from gpukit.report.tables import read_table

    diversity.plot_scores(read_table("diversity-top", table), out)


@plot.command("diversity-time")
def plot_diversity_time(
    table: Annotated[str, typer.Argument(metavar="RUNS.tsv", help="A table of kind diversity-runs.")], out: OutOption
) -> None:
    """Draw where the time of the structural diversity searches went."""
    from gpukit.report import diversity
    from gpukit.report.tables import read_table

    diversity.plot_time(read_table("diversity-runs", table), out)


@plot.command("ego")
def plot_ego(
    egos: Annotated[str, typer.Argument(metavar="E.h5", help="Ego-networks by `diversity egos`.")],
    answers: Annotated[str, typer.Option(metavar="D.h5", help="The answer by `diversity search`.")],
    out: OutOption,
) -> None:
    """Draw the ego-network of the first vertex of an answer, coloured by circle."""
    from gpukit.report import ego

    ego.plot_ego(egos, answers, out)


@app.command("page")
def page(
    table: Annotated[list[str], typer.Option(metavar="KIND=FILE", help="A table; repeat it.")],
    figure: Annotated[list[str], typer.Option(metavar="NAME=FILE", help="A figure, as spread/GRAPH/MODEL; repeat it.")],
    out: Annotated[str, typer.Option(help="The HTML file to write.")],
) -> None:
    """Write one self-contained HTML page about every system whose tables are given."""
    from gpukit.report.page import write_page

    write_page(out, _read(table), dict(_labelled(figure)))


@app.command("paper")
def paper(
    name: Annotated[Paper, typer.Argument(metavar="PAPER", help="gim, imgpu, kpar, diversity or merit.")],
    item: Annotated[str, typer.Argument(metavar="ITEM", help="A table or figure of it, as table-2.")],
    table: Annotated[list[str], typer.Option(metavar="KIND=FILE", help="A table it is made of; repeat it.")],
    printed: Annotated[str, typer.Option(metavar="PRINTED.tsv", help="The values that the paper prints.")],
    out: Annotated[str, typer.Option(help="The TSV file to write.")],
    out_figure: Annotated[str, typer.Option("--figure", help="The SVG file to write.")],
) -> None:
    """Rebuild a table or figure of a paper: what was measured beside what the paper prints."""
    from gpukit.report import paper as papers
    from gpukit.report.tables import write_rows

    rows = papers.rebuild(name.value, item, _read(table), printed)
    papers.plot_item(name.value, item, rows, out_figure)
    write_rows(papers.COLUMNS, rows, out)


def _read(tables: list[str]) -> "dict[str, list[Row]]":
    """Read the tables of KIND=FILE arguments."""
    from gpukit.report.tables import KINDS, read_table

    named = dict(_labelled(tables))
    if unknown := sorted(set(named) - set(KINDS)):
        raise UsageError(f"--table {unknown[0]}: there is no such kind of table; choose from {', '.join(KINDS)}")
    return {kind: read_table(kind, path) for kind, path in named.items()}


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
