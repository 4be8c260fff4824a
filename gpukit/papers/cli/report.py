"""``gpukit papers report``: the tables, figures and claims of a paper, compared with measurements, and its page."""

from typing import TYPE_CHECKING, Annotated, Literal

from gpukit.cli.command import group, with_run
from gpukit.cli.common import Run
from gpukit.cli.options import argument, option
from gpukit.cli.workflow.report import (
    DegreesOption,
    Page,
    RecordsArgument,
    TablesOption,
    TsvOption,
    collect,
    read_tables,
    show,
)
from gpukit.errors import UsageError
from gpukit.papers.report import claims as judging
from gpukit.papers.report import rebuild
from gpukit.papers.report.tables import KINDS, read_table, write_table
from gpukit.report.tables import write_rows

if TYPE_CHECKING:
    Kind = str
else:
    Kind = Literal[tuple(KINDS)]

app = group("A paper's tables, figures and claims, rebuilt.")


@app.command("table")
@with_run(writes="tsv")
def table(
    run: Run,
    kind: Annotated[Kind, argument(None, "What to collect.")],
    records: RecordsArgument,
    out: TsvOption,
    graph: DegreesOption = None,
) -> None:
    """Collect records or artifacts into one tidy table, including the kinds that only papers need."""
    collect(run, kind, records, out, graph, KINDS)


@app.command("page")
@with_run(writes="html")
def page(run: Run, asked: Page) -> None:
    """Write one self-contained HTML page about a rebuilt paper."""
    from gpukit.papers.report.page import write_page

    show(run, asked, write_page, KINDS)


@app.command("item")
@with_run(writes="tsv")
def item_(
    run: Run,
    name: Annotated[
        Literal["gim", "imgpu", "kpar", "diversity", "merit"],
        argument("PAPER", "gim, imgpu, kpar, diversity or merit."),
    ],
    item: Annotated[str, argument("ITEM", "A table or figure of it, as table-2.")],
    table: TablesOption,
    printed: Annotated[str, option("--printed PRINTED.tsv", "The values that the paper prints.")],
    out: TsvOption,
    out_figure: Annotated[str, option("--figure", "The figure to write: .svg, .pdf or .png.")],
) -> None:
    """Rebuild a table or figure of a paper: measured and printed values side by side."""
    rows = rebuild.rebuild(name, item, read_tables(table, KINDS), printed)
    rebuild.plot_item(name, item, rows, out_figure)
    write_rows(rebuild.COLUMNS, rows, out)
    run.finish()


@app.command("claims")
@with_run(writes="tsv")
def claims(
    run: Run,
    table: Annotated[str, argument("CLAIMS.tsv", "The claims of the paper, and the rules that decide.")],
    items: Annotated[
        list[str],
        option(
            "--items ITEMS.tsv",
            "A table of kind items of that paper; of several, the last that has an item on a graph.",
        ),
    ],
    scale: Annotated[
        Literal["smoke", "small", "full"],
        option("--scale", "The scale of the rebuild; smoke decides no claim about speed."),
    ],
    out: TsvOption,
) -> None:
    """Judge what a paper claims: reproduced, contradicted, not decided or not judged, and why."""
    evidence = judging.joined([read_table("items", path) for path in items])
    if len(named := {row["publication"] for row in evidence}) != 1:
        papers = ", ".join(sorted(named)) or "no paper"
        raise UsageError(f"items of {papers} in {', '.join(items)}; give those of one paper")
    rows = judging.judge(judging.read_claims(table), evidence, named.pop(), scale)
    write_table("claims", rows, out)
    run.finish({"verdicts": judging.count(rows)}, judging.count(rows))


@app.command("reproduction")
@with_run(writes="md")
def reproduction(
    run: Run,
    verdicts: Annotated[
        list[str], argument("VERDICTS.tsv...", "The tables of `papers report claims`, one for each paper.")
    ],
    out: Annotated[str, option("--out", "The Markdown file to write.")],
    into: Annotated[
        str | None, option("--into FILE", "A text to put the short table into, between <!-- reproduction --> lines.")
    ] = None,
) -> None:
    """Write the verdicts on the papers' claims as a page, and as a short table into another text."""
    from gpukit.files import write_text
    from gpukit.papers.report.reproduction import page, write_summary

    found = [read_table("claims", path) for path in verdicts]
    write_text(out, page(found))
    if into is not None:
        write_summary(found, into)
    run.finish()
