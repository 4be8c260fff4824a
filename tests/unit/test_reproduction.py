"""The page with verdicts on the papers' claims: it follows from the recorded rows and the committed rules, and is
readable."""

from pathlib import Path

import pytest

from gpukit.errors import InputError
from gpukit.papers.report.claims import TYPED, joined, judge, read_claims
from gpukit.papers.report.publications import PUBLICATIONS
from gpukit.papers.report.reproduction import page, write_summary
from gpukit.papers.report.tables import make_table

ROOT = Path(__file__).resolve().parents[2]


def verdict(claim, said="not decided", paper="gim", **changes):
    row = {"publication": paper, "scale": "small", **dict.fromkeys(TYPED, ""), "claim": claim, "text": claim}
    return (
        row
        | {"section": "4.2", "printed": "9", "measured": "", "rule": "", "verdict": said, "why": "", "kind": "value"}
        | changes
    )


def test_the_committed_page_is_what_the_recorded_rows_give(tmp_path):
    tables = []
    for paper in PUBLICATIONS:
        folders = [ROOT / f"benchmarks/results/paper-{scale}" / paper for scale in ("small", "full")]
        recorded = [sorted(folder.glob("*.tsv")) for folder in folders]
        rows = joined([make_table("items", [(f"{paper}/{one.stem}", str(one)) for one in paths]) for paths in recorded])
        tables.append(judge(read_claims(str(ROOT / f"workflow/paper/claims/{paper}.tsv")), rows, paper, "small"))
    assert page(tables) == (ROOT / "docs/reproduction.md").read_text(), "run `make reproduction`"
    readme = (ROOT / "README.md").read_text()
    (tmp_path / "README.md").write_text(readme)
    write_summary(tables, str(tmp_path / "README.md"))
    assert (tmp_path / "README.md").read_text() == readme, "run `make reproduction`"


def test_every_claim_is_there_with_its_verdict():
    kpar = [
        verdict("fast|er", "contradicted", "kpar", measured="A 3", rule="f: each > 4", why="docs/kpar.md#index"),
        verdict("typo", "erratum", "kpar", why="line 5 has it"),
        verdict("sure", "reproduced", "kpar", why="tests/unit/test_x.py::test_y"),
        verdict("other", "not judged", "kpar", why="not rebuilt"),
    ]
    gim = [
        verdict("small", why="A: a stand-in"),
        verdict("large", why="holds on A; B, C: a stand-in", measured="A 3", rule="f: flat"),
    ]
    lines = page([kpar, gim]).splitlines()
    assert lines.index("## gIM") < lines.index("## kPAR"), "in the order of the documentation"
    assert "| gIM | small | 0 | 0 | 0 | 2 | 0 |" in lines and "| kPAR | small | 1 | 1 | 1 | 0 | 1 |" in lines
    assert "| fast\\|er (4.2) | 9 | A 3 | f: each > 4 | [kpar.md](kpar.md#index) |" in lines
    assert "| typo (4.2) | 9 | by proof |  | line 5 has it |" in lines
    assert "| sure (4.2) | 9 | by proof |  | `tests/unit/test_x.py::test_y` |" in lines
    place = lines.index("**a stand-in**")
    assert lines[place + 2 : place + 4] == ["- small (4.2)", "- large (4.2): A 3 — f: flat"]
    place = lines.index("### kPAR: not judged, as no run of ours can decide")
    assert lines[place + 2 : place + 5] == ["**not rebuilt**", "", "- other (4.2)"]
    assert "### kPAR: not decided" not in "\n".join(lines)


def test_the_table_goes_between_its_lines_alone(tmp_path):
    text = tmp_path / "t.md"
    text.write_text("before\n<!-- reproduction -->\nold\n<!-- /reproduction -->\nafter\n")
    write_summary([[verdict("a", "reproduced")]], str(text))
    lines = text.read_text().splitlines()
    assert (lines[0], lines[1], lines[-2], lines[-1]) == (
        "before", "<!-- reproduction -->", "<!-- /reproduction -->", "after"
    )  # fmt: skip
    assert lines[4:-2] == ["| gIM | small | 1 | 0 | 0 | 0 | 0 |"]
    text.write_text("nothing\n")
    with pytest.raises(InputError, match="lacks the lines <!-- reproduction -->"):
        write_summary([[verdict("a")]], str(text))
    assert text.read_text() == "nothing\n"


def test_a_table_is_of_one_paper_and_no_paper_has_two():
    for tables in ([[]], [[verdict("a"), verdict("b", paper="kpar")]], [[verdict("a")], [verdict("b")]]):
        with pytest.raises(InputError, match="give one for each paper"):
            page(tables)
