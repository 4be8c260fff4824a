"""``gpukit report``: make the tables, figures and page of the workflow."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from gpukit.cli.command import group, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import argument, option
from gpukit.errors import UsageError
from gpukit.report import diversity, gim, imgpu, kpar, merit, tables

if TYPE_CHECKING:
    from gpukit.report.records import Row

    Kind = str
    View = str
    Campaigns = str
    Quantity = str
else:
    Kind = Literal[tuple(tables.KINDS)]
    View = Literal[tuple(imgpu.VIEWS)]
    Campaigns = Literal[(*merit.VIEWS, "phases")]
    Quantity = Literal[tuple(kpar.QUANTITIES)]

app = group("Tables, figures and a report page from run records and artifacts.")
plot = group("Draw a figure from a table.")
app.add_typer(plot, name="plot")

OutOption = Annotated[str, option("--out", "The figure to write: .svg, .pdf or .png.")]
GraphOption = Annotated[str, option("--graph", "The graph to draw.")]
TsvOption = Annotated[str, option("--out", "The TSV file to write.")]
TablesOption = Annotated[list[str], option("--table KIND=FILE", "A table; repeat it.")]
RecordsArgument = Annotated[
    list[str],
    argument(
        "[LABEL=]FILE...",
        "Records (--json output of commands) or artifacts, labelled as the kind needs: GRAPH, GRAPH/MODEL, "
        "GRAPH/MODEL/METHOD, GRAPH/MODEL/POLICY/ETA, GRAPH/STEP, GRAPH/METHOD, GRAPH/METHOD/K, GRAPH/MEASURE or "
        "PAPER/ITEM; no label for artifacts.",
    ),
]
DegreesOption = Annotated[
    list[str] | None, option("--graph GRAPH=G.h5", "A graph, for the degrees of seeds; repeat it.")
]


@dataclass(frozen=True)
class Page:
    """Options of a page: its content and its file."""

    table: TablesOption
    figure: Annotated[list[str], option("--figure NAME=FILE", "A figure, as spread/GRAPH/MODEL; repeat it.")]
    out: Annotated[str, option("--out", "The HTML file to write.")]
    configuration: Annotated[
        str | None, option("--configuration JSON", "The configuration, a JSON object, to be shown unchanged.")
    ] = None
    lacking: Annotated[
        list[str] | None, option("--lacking GRAPH=REASON", "Why the real graph is not available; repeat it.")
    ] = None


@app.command("table")
@with_run(writes="tsv")
def table(
    run: Run,
    kind: Annotated[Kind, argument(None, "What to collect.")],
    records: RecordsArgument,
    out: TsvOption,
    graph: DegreesOption = None,
) -> None:
    """Collect records or artifacts into one tidy table with units in the column names."""
    collect(run, kind, records, out, graph)


def collect(
    run: Run, kind: str, records: list[str], out: str, graph: list[str] | None, kinds: tables.Kinds = tables.KINDS
) -> None:
    """Write a table; ``kinds`` are the possible kinds."""
    files = [(path, path) for path in records] if kind == "artifacts" else labelled(records)
    if graph and kind != "seeds":
        raise UsageError(f"--graph is for the table of seeds, not of {kind}; leave it out")
    rows = tables.make_table(kind, files, kinds)
    if graph:  # reading an artifact imports NumPy and h5py, which other tables do not need
        gim.add_degrees(rows, dict(labelled(graph)))
    tables.write_table(kind, rows, out, kinds)
    run.finish()


@plot.command("spread")
@with_run(writes="svg")
def plot_spread(
    run: Run,
    table: Annotated[str, argument("SPREAD.tsv", "A table of kind spread.")],
    graph: GraphOption,
    model: Annotated[str, option("--model", "The diffusion model to draw: ic or lt.")],
    out: OutOption,
) -> None:
    """Draw the spread of each method against the number of seeds, with error bars."""
    gim.plot_spread(tables.read_table("spread", table), graph, model, out)
    run.finish()


def _plots_whole(name: str, file: str, kind: str, draw: Callable[..., None], text: str) -> None:
    """Add a command that draws a whole table of a kind; ``text`` is its help."""

    @plot.command(name, help=text)
    @with_run(writes="svg")
    def plot_whole(run: Run, table: Annotated[str, argument(file, f"A table of kind {kind}.")], out: OutOption) -> None:
        draw(tables.read_table(kind, table), out)
        run.finish()


_plots_whole("runtime", "RUNS.tsv", "runs", gim.plot_runtime, "Draw the time of the gIM runs by phase.")


@plot.command("imgpu")
@with_run(writes="svg")
def plot_imgpu(
    run: Run,
    table: Annotated[str, argument("TABLE.tsv", "Of kind imgpu-times, or imgpu-VIEW.")],
    graph: GraphOption,
    view: Annotated[View, option("--view", "What to draw.")],
    out: OutOption,
) -> None:
    """Draw spread or time against k, components by level, or the effect of the optimisations."""
    imgpu.plot(tables.read_table(imgpu.VIEWS[view], table), graph, view, out)
    run.finish()


@plot.command("merit")
@with_run(writes="svg")
def plot_merit(
    run: Run,
    table: Annotated[str, argument("CAMPAIGNS.tsv", "A table of kind merit-campaigns.")],
    graph: GraphOption,
    view: Annotated[Campaigns, option("--view", "What to draw.")],
    model: Annotated[str, option("--model", "The diffusion model to draw: ic or lt.")],
    out: OutOption,
) -> None:
    """Draw cost or time of campaigns against η, with the range over worlds, or the time by phase."""
    merit.plot(tables.read_table("merit-campaigns", table), graph, model, view, out)
    run.finish()


@plot.command("kpar")
@with_run(writes="svg")
def plot_kpar(
    run: Run,
    table: Annotated[str, argument("TABLE.tsv", "Of kind kpar-queries (time) or kpar-quality.")],
    graph: GraphOption,
    quantity: Annotated[Quantity, option("--quantity", "What to draw against k.")],
    out: OutOption,
) -> None:
    """Draw time, precision or NDCG of top-k queries against k, a line for each method."""
    kpar.plot_curve(tables.read_table(kpar.QUANTITIES[quantity][0], table), graph, quantity, out)
    run.finish()


_plots_whole(
    "arrivals", "ARRIVALS.tsv", "kpar-arrivals", kpar.plot_arrivals,
    "Draw the numbers of vertices by the number of walks of a kPAR index that end there.",
)  # fmt: skip
_plots_whole(
    "scores", "TOP.tsv", "diversity-top", diversity.plot_scores,
    "Draw the numbers of vertices of the answers by their number of circles.",
)  # fmt: skip
_plots_whole(
    "diversity-time", "RUNS.tsv", "diversity-runs", diversity.plot_time,
    "Draw the time of the structural diversity searches by phase.",
)  # fmt: skip


@plot.command("ego")
@with_run(writes="svg")
def plot_ego(
    run: Run,
    egos: Annotated[str, argument("E.h5", "Ego-networks by `diversity egos`.")],
    answers: Annotated[str, option("--answers D.h5", "The answer by `diversity search`.")],
    out: OutOption,
) -> None:
    """Draw the ego-network of the first vertex of an answer, coloured by circle."""
    from gpukit.report.ego import plot_ego as draw_ego

    draw_ego(egos, answers, out)
    run.finish()


@app.command("figures")
@with_run(writes="svg")
def figures(
    run: Run,
    out_figures: Annotated[
        list[str], option("--figure NAME=FILE", "A figure to draw, as spread/GRAPH/MODEL; repeat it.")
    ],
    table: Annotated[list[str] | None, option("--table KIND=FILE", "A table; repeat it.")] = None,
    egos: Annotated[
        list[str] | None, option("--egos GRAPH/MODEL=E.h5", "Ego-networks, for ego/GRAPH/MODEL; repeat it.")
    ] = None,
    answers: Annotated[
        list[str] | None, option("--answers GRAPH/MODEL=D.h5", "The answer that they belong to; repeat it.")
    ] = None,
) -> None:
    """Draw many figures of the page at once, by the names that `report page` has for them."""
    from gpukit.report.figures import draw_figures
    from gpukit.report.parts import Parts

    draw_figures(
        Parts(read_tables(table or []), dict(labelled(out_figures))),
        dict(labelled(egos or [])),
        dict(labelled(answers or [])),
    )
    run.finish()


@app.command("page")
@with_run(writes="html")
def page(run: Run, asked: Page) -> None:
    """Write one self-contained HTML page about every system whose tables are given."""
    from gpukit.report.page import write_page

    show(run, asked, write_page)


def show(run: Run, asked: Page, write_page: Callable[..., None], kinds: tables.Kinds = tables.KINDS) -> None:
    """Write a page of tables; ``kinds`` are the possible kinds."""
    try:
        shown = None if asked.configuration is None else dict(json.loads(asked.configuration))
    except (ValueError, TypeError, RecursionError):
        raise UsageError(f"--configuration is {asked.configuration!r:.80}; a JSON object is needed") from None
    read, figures = read_tables(asked.table, kinds), dict(labelled(asked.figure))
    write_page(asked.out, read, figures, shown, dict(labelled(asked.lacking or [])))
    run.finish()


def read_tables(given: list[str], kinds: tables.Kinds = tables.KINDS) -> "dict[str, list[Row]]":
    """Read the tables of KIND=FILE arguments."""
    named = dict(labelled(given))
    if unknown := sorted(set(named) - set(kinds)):
        raise UsageError(f"--table {unknown[0]}: there is no such kind of table; choose from {', '.join(kinds)}")
    return {kind: tables.read_table(kind, path, kinds) for kind, path in named.items()}


def labelled(records: list[str]) -> list[tuple[str, str]]:
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
