"""The verdicts on the claims of the five papers, as Markdown: a page, and a short table for other texts."""

import re
from collections.abc import Iterable, Sequence

from gpukit.errors import InputError
from gpukit.files import read_text, write_text
from gpukit.papers.report.claims import DECIDED, OPEN, VERDICTS, count
from gpukit.papers.report.page import by_reason
from gpukit.papers.report.publications import PUBLICATIONS, SCALES
from gpukit.report.records import Row, of

BEGIN, END = "<!-- reproduction -->", "<!-- /reproduction -->"
"""Lines of a text that enclose the short table."""

HEAD = """# Verdicts on the papers' claims

Each claim was typed from the paper's text, with its section or table and the rule that decides it. A claim is
*reproduced* by graphs of the paper's size in the paper's setting (a speed by at least five runs, if their spread
allows it), or by a proof or a test. It is *contradicted* only by the paper's own method, as printed, on the paper's own
graph, or by a proof or a counterexample. A printed factor counts as a lower bound, because the GPUs and CPUs are newer
here; if it is not reached, this decides nothing. An *erratum* is a mistake that the paper itself shows. A claim is *not
judged* if no run of ours can decide it: its competitor could not be rebuilt as its authors describe it, or the text or
an appendix lacks what the claim depends on. All other claims are *not decided*; the reason is the graph, the runs or
the precision that they lack. A claim about several graphs is decided by the available ones, and names those on which it
was not measured. The rows are those recorded at small scale, and of real graphs at the papers' own settings. The
papers' pages compare the measurements with the paper: [gIM](papers/gim.md#differences-from-the-paper),
[IMGPU](papers/imgpu.md#differences-from-the-paper), [kPAR](papers/kpar.md#differences-from-the-paper),
[MERIT](papers/merit.md#differences-from-the-paper),
[structural diversity](papers/diversity.md#differences-from-the-paper). [Rebuilding a
paper](workflow.md#rebuilding-a-paper) says how to run it at another scale. `make reproduction` writes this page.
"""


def page(tables: Sequence[list[Row]]) -> str:
    """Return the page.

    Parameters
    ----------
    tables : sequence of list of dict
        Verdicts, a table by ``gpukit papers report claims`` for each paper.

    Raises
    ------
    InputError
        If a table is empty or belongs to several papers, or two tables belong to the same paper.
    """
    papers = _by_paper(tables)
    lines = [HEAD, *_summary(papers), ""]
    for paper, rows in papers.items():
        about, scale = PUBLICATIONS[paper], rows[0]["scale"]
        lines += [f"## {about.name}", "", f"{about.authors}: {about.title}; {about.where}."]
        lines += [f"Judged by rows at {scale} scale: {SCALES[scale]}.", ""]
        for verdict in DECIDED:
            if found := of(rows, verdict=verdict):
                lines += [f"### {about.name}: {verdict}", ""]
                lines += _table(
                    ("claim", "in print", "measured here", "rows and rule", "shown by, or noted"), map(_decided, found)
                )
        for verdict, common in OPEN.items():
            reasons = by_reason(rows, verdict)
            lines += [f"### {about.name}: {verdict}, {common}", ""] if reasons else []
            for why, those in reasons.items():
                lines += [f"**{_text(why)}**", "", *(f"- {_name(one)}" for one in those), ""]
    return "\n".join(lines).rstrip() + "\n"


def write_summary(tables: Sequence[list[Row]], path: str) -> None:
    """Write the short table into a text, between the lines :data:`BEGIN` and :data:`END`.

    Raises
    ------
    InputError
        If the text lacks these lines, or for a reason that :func:`page` names.
    """
    text = read_text(path)
    head, begin, rest = text.partition(BEGIN + "\n")
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise InputError(f"{path} lacks the lines {BEGIN} and {END}, between which the table goes; add them")
    write_text(path, head + begin + "\n".join(_summary(_by_paper(tables))) + "\n" + end + tail)


def _by_paper(tables: Sequence[list[Row]]) -> dict[str, list[Row]]:
    """Return the verdicts of each paper, in the order of the documentation."""
    found: dict[str, list[Row]] = {}
    for rows in tables:
        papers = {row["publication"] for row in rows}
        if len(papers) != 1 or papers <= found.keys():
            raise InputError(
                f"a table has verdicts on {', '.join(sorted(papers)) or 'no paper'}; give one for each paper"
            )
        found[papers.pop()] = rows
    return {paper: found[paper] for paper in PUBLICATIONS if paper in found}


def _summary(papers: dict[str, list[Row]]) -> list[str]:
    head = ("paper", "scale", *VERDICTS)
    rows = [
        (PUBLICATIONS[paper].name, rows[0]["scale"], *map(str, count(rows).values())) for paper, rows in papers.items()
    ]
    return _table(head, rows)[:-1]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    rule = ["---:" if name in VERDICTS else "---" for name in head]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)] + [""]


def _decided(row: Row) -> tuple[str, ...]:
    shown = row["measured"] or "by proof"
    claim = f"{_text(row['text'])} ({row['section']})"
    return claim, _text(row["printed"]), _text(shown), _text(row["rule"]), _reference(row["why"])


def _name(row: Row) -> str:
    """Return an open claim, what there is of it, and its rule."""
    found, rule = (
        f"{head}{_text(row[name])}" * bool(row[name]) for head, name in ((": ", "measured"), (" — ", "rule"))
    )
    return f"{_text(row['text'])} ({row['section']}){found}{rule}"


def _reference(why: str) -> str:
    """Return a note, with pages of the documentation as links, and tests as code."""
    if found := re.fullmatch(r"docs/([\w/-]+\.md)(#[\w-]+)?", why):
        return f"[{found[1]}]({found[1]}{found[2] or ''})"
    return f"`{why}`" if why.startswith("tests/") else _text(why)


def _text(text: str) -> str:
    """Return a text with escapes, so that Markdown shows it unchanged."""
    return re.sub(r"([|*_<\[`])", r"\\\1", text)
