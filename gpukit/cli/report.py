"""``gpukit report``: tables, figures and the page of the workflow."""

import json
from typing import TYPE_CHECKING, Annotated, Literal

from gpukit.cli.command import group, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import argument, option
from gpukit.errors import UsageError
from gpukit.papers.report import claims as judging
from gpukit.papers.report import rebuild as papers
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

app = group("Tables, figures and a report page out of run records and artifacts.")
plot = group("Draw a figure out of a table.")
app.add_typer(plot, name="plot")

OutOption = Annotated[str, option("--out", "The SVG file to write.")]
GraphOption = Annotated[str, option("--graph", "The graph to draw.")]


@app.command("table")
@with_run(writes="tsv")
def table(
    run: Run,
    kind: Annotated[Kind, argument(None, "What to collect.")],
    records: Annotated[
        list[str],
        argument(
            "[LABEL=]FILE...",
            "Records (--json output of commands) or artifacts, labelled as the kind needs: GRAPH, GRAPH/MODEL, "
            "GRAPH/MODEL/METHOD, GRAPH/MODEL/POLICY/ETA, GRAPH/STEP, GRAPH/METHOD, GRAPH/METHOD/K, GRAPH/MEASURE or "
            "PAPER/ITEM; no label for artifacts.",
        ),
    ],
    out: Annotated[str, option("--out", "The TSV file to write.")],
    graph: Annotated[
        list[str] | None, option("--graph GRAPH=G.h5", "A graph, for the degrees of seeds; repeat it.")
    ] = None,
) -> None:
    """Collect records or artifacts into one tidy table with units in the column names."""
    labelled = [(path, path) for path in records] if kind == "artifacts" else _labelled(records)
    if graph and kind != "seeds":
        raise UsageError(f"--graph is for the table of seeds, not of {kind}; leave it out")
    rows = tables.make_table(kind, labelled)
    if graph:  # reading one brings NumPy and h5py, which no other table of records needs
        gim.add_degrees(rows, dict(_labelled(graph)))
    tables.write_table(kind, rows, out)
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


@plot.command("runtime")
@with_run(writes="svg")
def plot_runtime(
    run: Run, table: Annotated[str, argument("RUNS.tsv", "A table of kind runs.")], out: OutOption
) -> None:
    """Draw where the time of the gIM runs went."""
    gim.plot_runtime(tables.read_table("runs", table), out)
    run.finish()


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
    """Draw cost or time of campaigns against η with the range over worlds, or where the time went."""
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


@plot.command("arrivals")
@with_run(writes="svg")
def plot_arrivals(
    run: Run, table: Annotated[str, argument("ARRIVALS.tsv", "A table of kind kpar-arrivals.")], out: OutOption
) -> None:
    """Draw how many walks of a kPAR index end at how many vertices."""
    kpar.plot_arrivals(tables.read_table("kpar-arrivals", table), out)
    run.finish()


@plot.command("scores")
@with_run(writes="svg")
def plot_scores(
    run: Run, table: Annotated[str, argument("TOP.tsv", "A table of kind diversity-top.")], out: OutOption
) -> None:
    """Draw how many vertices of the answers have how many circles."""
    diversity.plot_scores(tables.read_table("diversity-top", table), out)
    run.finish()


@plot.command("diversity-time")
@with_run(writes="svg")
def plot_diversity_time(
    run: Run, table: Annotated[str, argument("RUNS.tsv", "A table of kind diversity-runs.")], out: OutOption
) -> None:
    """Draw where the time of the structural diversity searches went."""
    diversity.plot_time(tables.read_table("diversity-runs", table), out)
    run.finish()


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
        Parts(_read(table or []), dict(_labelled(out_figures))),
        dict(_labelled(egos or [])),
        dict(_labelled(answers or [])),
    )
    run.finish()


@app.command("page")
@with_run(writes="html")
def page(
    run: Run,
    table: Annotated[list[str], option("--table KIND=FILE", "A table; repeat it.")],
    figure: Annotated[list[str], option("--figure NAME=FILE", "A figure, as spread/GRAPH/MODEL; repeat it.")],
    out: Annotated[str, option("--out", "The HTML file to write.")],
    configuration: Annotated[
        str | None, option("--configuration JSON", "What was asked for, an object, to be shown as it is.")
    ] = None,
    lacking: Annotated[
        list[str] | None, option("--lacking GRAPH=REASON", "Why the real graph could not be had; repeat it.")
    ] = None,
) -> None:
    """Write one self-contained HTML page about every system whose tables are given."""
    from gpukit.report.page import write_page

    try:
        shown = None if configuration is None else dict(json.loads(configuration))
    except (ValueError, TypeError, RecursionError):
        raise UsageError(f"--configuration is {configuration!r:.80}; a JSON object is needed") from None
    write_page(out, _read(table), dict(_labelled(figure)), shown, dict(_labelled(lacking or [])))
    run.finish()


@app.command("paper")
@with_run(writes="tsv")
def paper(
    run: Run,
    name: Annotated[
        Literal["gim", "imgpu", "kpar", "diversity", "merit"],
        argument("PAPER", "gim, imgpu, kpar, diversity or merit."),
    ],
    item: Annotated[str, argument("ITEM", "A table or figure of it, as table-2.")],
    table: Annotated[list[str], option("--table KIND=FILE", "A table it is made of; repeat it.")],
    printed: Annotated[str, option("--printed PRINTED.tsv", "The values that the paper prints.")],
    out: Annotated[str, option("--out", "The TSV file to write.")],
    out_figure: Annotated[str, option("--figure", "The SVG file to write.")],
) -> None:
    """Rebuild a table or figure of a paper: what was measured beside what the paper prints."""
    rows = papers.rebuild(name, item, _read(table), printed)
    papers.plot_item(name, item, rows, out_figure)
    tables.write_rows(papers.COLUMNS, rows, out)
    run.finish()


@app.command("claims")
@with_run(writes="tsv")
def claims(
    run: Run,
    table: Annotated[str, argument("CLAIMS.tsv", "What the paper claims, and the rules that decide.")],
    items: Annotated[
        list[str],
        option(
            "--items ITEMS.tsv",
            "A table of kind items of that paper; of several, the last that has an item on a graph.",
        ),
    ],
    scale: Annotated[
        Literal["smoke", "small", "full"], option("--scale", "What it was built at; smoke decides about no speed.")
    ],
    out: Annotated[str, option("--out", "The TSV file to write.")],
) -> None:
    """Judge what a paper claims: reproduced, contradicted, or not decided and why."""
    evidence = judging.joined([tables.read_table("items", path) for path in items])
    if len(named := {row["publication"] for row in evidence}) != 1:
        papers = ", ".join(sorted(named)) or "no paper"
        raise UsageError(f"items of {papers} in {', '.join(items)}; give those of one paper")
    rows = judging.judge(judging.read_claims(table), evidence, named.pop(), scale)
    tables.write_table("claims", rows, out)
    run.finish({"verdicts": judging.count(rows)}, judging.count(rows))


@app.command("reproduction")
@with_run(writes="md")
def reproduction(
    run: Run,
    verdicts: Annotated[list[str], argument("VERDICTS.tsv...", "What `report claims` wrote, a table for each paper.")],
    out: Annotated[str, option("--out", "The Markdown file to write.")],
    into: Annotated[
        str | None, option("--into FILE", "A text to put the short table into, between <!-- reproduction --> lines.")
    ] = None,
) -> None:
    """Write what held of the papers' claims as a page, and as a short table into another text."""
    from gpukit.files import write_text
    from gpukit.papers.report.reproduction import page, write_summary

    found = [tables.read_table("claims", path) for path in verdicts]
    write_text(out, page(found))
    if into is not None:
        write_summary(found, into)
    run.finish()


def _read(given: list[str]) -> "dict[str, list[Row]]":
    """Read the tables of KIND=FILE arguments."""
    named = dict(_labelled(given))
    if unknown := sorted(set(named) - set(tables.KINDS)):
        raise UsageError(f"--table {unknown[0]}: there is no such kind of table; choose from {', '.join(tables.KINDS)}")
    return {kind: tables.read_table(kind, path) for kind, path in named.items()}


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
