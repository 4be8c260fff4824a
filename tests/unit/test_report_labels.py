"""Names that come with the data are words: no mathematics, no markup, nothing that breaks tables, figures or pages."""

import json
import os
import re
import warnings
from xml.etree import ElementTree

import pytest

from gpukit.artifacts import write_metrics
from gpukit.errors import InputError
from gpukit.papers.report import rebuild as paper
from gpukit.report import diversity, gim, imgpu, kpar, merit
from gpukit.report.page import write_page
from gpukit.report.records import read_record
from gpukit.report.tables import KINDS, make_table, read_table, write_table
from gpukit.report.text import label, printable

NAMES = {
    r"$\frac$": r"$\frac$",
    "$x^2$ and $": "$x^2$ and $",
    r"\$5": r"\$5",
    "_hidden": "_hidden",
    "<b>&amp;": "<b>&amp;",
    "bell\a": r"bell\x07",
    "a\tb\nc": r"a\tb\nc",
    "next\x85line\u2028": "next\\x85line\u2028",
    "half\udcff": r"half\udcff",
    "none\ufffe": r"none\ufffe",
}
"""Names, and how they are shown."""

WORST = "_$\\frac$ <b>&\a\u2028"
SHOWN = "_$\\frac$ <b>&\\x07\u2028"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_shown_as_it_is(name):
    assert printable(name) == NAMES[name] and printable(printable(name)) == printable(name)
    assert label(name).replace(r"\$", "$").lstrip("\u200b") == NAMES[name]


def rows(kind, **given):
    """Return two rows of a table with a plain value in every column that is not given."""
    values = {str: "cpu", int: 2, float: 1.5}
    return [
        {name: values.get(cast, "1") for name, cast in KINDS[kind].columns.items()} | given | {"k": k} for k in (1, 9)
    ]


def draw_all(name, folder):
    """Draw every kind of figure whose labels come from a table."""
    files = [str(folder / f"{number}.svg") for number in range(14)]
    out = iter(files)
    one = {"graph": name, "model": "ic"}
    gim.plot_spread(rows("spread", **one, method="gim"), name, "ic", next(out))
    gim.plot_runtime(rows("runs", **one), next(out))
    for view in imgpu.VIEWS:
        more = {"method": "fixed", "optimisation": "none"}
        imgpu.plot(rows(imgpu.VIEWS[view], graph=name, **more), name, view, next(out))
    for view in ("cost", "time"):
        merit.plot(rows("merit-campaigns", **one, policy="coupled"), name, "ic", view, next(out))
    for quantity, (kind, _) in kpar.QUANTITIES.items():
        kpar.plot_curve(rows(kind, graph=name, method="kpar"), name, quantity, next(out))
    kpar.plot_arrivals(rows("kpar-arrivals", graph=name), next(out))
    diversity.plot_time(rows("diversity-runs", **one), next(out))
    return [file for file in files if os.path.exists(file)]


def test_every_figure_shows_the_name(tmp_path):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*[Gg]lyph")
        drawn = draw_all(WORST, tmp_path)
    assert len(drawn) == 13
    for file in drawn:
        text = "".join(ElementTree.parse(file).getroot().itertext())
        assert SHOWN in text, file


def test_the_items_of_papers_show_the_name(tmp_path):
    base = dict.fromkeys(paper.COLUMNS, "") | {"item": "figure-4", "quantity": "time", "unit": "s", "repeats": 1}
    base |= {"ours": "1", "ours_sd": paper.NA, "paper": paper.NA, "data": "stand-in: x"}
    for item, methods in (("figure-4", ("imm", "gim")), ("figure-4", ("gim",)), ("table-2", ("imm", "gim"))):
        found = [
            base | {"graph": graph, "method": method, "x": x}
            for graph in (WORST, "other")
            for method in methods
            for x in ("1", "2")
        ]
        paper.plot_item("gim", item, found, str(tmp_path / "x.svg"))
        text = "".join(ElementTree.parse(tmp_path / "x.svg").getroot().itertext())
        assert SHOWN in text


@pytest.mark.parametrize("name", NAMES)
def test_a_table_keeps_its_form(tmp_path, name):
    write_table("spread", rows("spread", graph=name, model="ic", method="gim"), str(tmp_path / "t.tsv"))
    assert [row["graph"] for row in read_table("spread", str(tmp_path / "t.tsv"))] == [NAMES[name]] * 2


def test_a_file_name_of_any_bytes_stands_in_the_table_of_artifacts(tmp_path):
    path = str(tmp_path / os.fsdecode(b"m\xff\t.h5"))
    write_metrics(path, {"a": [1]})
    write_table("artifacts", make_table("artifacts", [(path, path)]), str(tmp_path / "t.tsv"))
    assert read_table("artifacts", str(tmp_path / "t.tsv"))[0]["file"].endswith(r"m\udcff\t.h5")


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "bell\a", "$x$"])
def test_a_page_shows_the_name(tmp_path, name):
    tables = {
        "runs": rows("runs", graph=name, model="ic")[:1],
        "seeds": rows("seeds", graph=name, model="ic"),
        "spread": rows("spread", graph=name, model="ic", method="gim")
        + rows("spread", graph=name, model="ic", method="degree"),
        "artifacts": rows("artifacts", file=name),
    }
    gim.plot_spread(tables["spread"], name, "ic", str(tmp_path / "s.svg"))
    gim.plot_runtime(tables["runs"], str(tmp_path / "r.svg"))
    figures = {f"spread/{name}/ic": str(tmp_path / "s.svg"), "runtime": str(tmp_path / "r.svg")}
    write_page(str(tmp_path / "page.html"), tables, figures)
    text = (tmp_path / "page.html").read_text()
    assert (
        text.count("<script") == 1
        and "<script>alert" not in text
        and "\a" not in text
        and not re.search("[\x00-\x08\x0b-\x1f]", text)
    )
    assert printable(name).replace("<", "&lt;").replace(">", "&gt;") in text


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, "{", ""])
def test_json_that_cannot_be_read_is_one_line(tmp_path, text):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(InputError, match="is not JSON"):
        read_record(str(tmp_path / "r.json"))
    (tmp_path / "r.json").write_text(json.dumps([1]))
    with pytest.raises(InputError, match="is not a JSON object"):
        read_record(str(tmp_path / "r.json"))
