"""The page of a paper: verdicts first, then our values next to printed ones, if graphs have the same size."""

import pytest
from test_report import Checker
from test_report_paper import GRAPHS, HEADER, cell, found

from gpukit.errors import InputError
from gpukit.papers.report.page import beside_print, shapes, write_page
from gpukit.papers.report.rebuild import COLUMNS, NA, plot_item, rebuild
from gpukit.papers.report.tables import make_table


def test_page_shows_ours_beside_the_paper(tmp_path):
    (tmp_path / "p.tsv").write_text(HEADER + "table-2\ttoy\tgim\t\ttime\ts\t0.5\ntable-2\tfar\tskim\t\ttime\ts\t9\n")
    cells = [cell("toy", "gim", 1.0), cell("toy", "gim", 3.0, repeat=1), cell("big", "gim", 4.0)]
    rows = rebuild("gim", "table-2", {"graphs": GRAPHS, "gim-cells": cells}, str(tmp_path / "p.tsv"))
    lines = ["\t".join(COLUMNS), *("\t".join(str(row[name]) for name in COLUMNS) for row in rows)]
    (tmp_path / "table-2.tsv").write_text("\n".join(lines) + "\n")
    plot_item("gim", "table-2", rows, str(tmp_path / "x.svg"))
    items = make_table("items", [("gim/table-2", str(tmp_path / "table-2.tsv"))])
    assert [row["ours"] for row in items] == [row["ours"] for row in rows]
    artifacts = [{"file": "x.h5", "kind": "graph", "seed": "1", "params": "{}", "payload_sha256": "0" * 64}]
    tables, figures = {"items": items, "artifacts": artifacts}, {"item/table-2": str(tmp_path / "x.svg")}
    out = tmp_path / "page.html"
    write_page(str(out), tables, figures)
    text = " ".join(out.read_text().split())
    found = Checker(out.read_text())
    assert all(reference.startswith("#") and reference[1:] in found.ids for reference in found.references)
    assert (
        '<td>2.00 <span class="muted">± 1.41</span></td><td>2</td><td>0.5</td><td>4.00</td><td class="text">worse</td>'
        '<td class="text setting">ic, k 50' in text
    )
    assert '<th scope="row">toy</th><td>2.00<br><span class="muted">0.5; 4.00</span></td><td>–</td>' in text
    assert "<caption>Time, s: ours, below it the print, and ours over it</caption>" in text
    assert "big is a stand-in: rmat, vertices 9." in text and "<td></td><td></td><td>9</td>" in text
    assert "Ours was taken on c, 1 thread;" in text and "<h1>gIM: the paper, rebuilt</h1>" in text
    assert "Not made in this run: table 1, table 3, figure 3," in text
    assert "Graphs: toy, big." in text and "was checked by" not in text
    assert "Reproduced" not in text and "snakemake --cores" not in text, "nothing of verdicts without claims"
    verdict = {"publication": "gim", "scale": "smoke", "section": "4", "printed": "9", "kind": "value", "measured": "8"}
    verdict |= {"item": "table-2", "rule": "table-2, time: each > 1", "why": ""}
    verdicts = [("Quick", "reproduced", ""), ("Small", "contradicted", ""), ("Old", "not decided", "toy: a stand-in")]
    verdicts.append(("Odd", "not decided", "holds on toy; big: a stand-in"))
    claims = [verdict | dict(zip(("text", "verdict", "why"), one, strict=True), claim=one[0]) for one in verdicts]
    write_page(str(out), tables | {"claims": claims}, figures, {"paper": "gim", "scale": "smoke", "results": "r"})
    text = " ".join(out.read_text().split())
    assert "Here at <strong>smoke</strong> scale: minutes" in text
    for name, number in (("Reproduced", 1), ("Contradicted", 1), ("Errata", 0), ("Not decided", 2)):
        assert f'<span class="name">{name}</span><p class="figure">{number}</p>' in text
    assert "<summary>2 claims: a stand-in</summary>" in text and "<p>Quick: <strong>reproduced</strong>.</p>" in text
    command = "snakemake --cores all --configfile config/paper/gim.yaml --config scale=smoke"
    assert f"<pre>{command}</pre>" in text and f"<code>{command} r/items/table-2.tsv</code>" in text
    (tmp_path / "table-2.tsv").write_text("graph\n")
    with pytest.raises(InputError, match="is not a table by `gpukit papers report item`"):
        make_table("items", [("gim/table-2", str(tmp_path / "table-2.tsv"))])


@pytest.mark.parametrize(
    ("quantity", "ours", "paper", "said"),
    [
        ("speed-up over imm", 155, 33.74, "better"),
        ("largest speed-up over pasti", 20, 33.74, "worse"),
        ("time, truss", 0.5, 2, "better"),
        ("time of a query", 3, 2, "worse"),
        ("time", 2.1, 2, "as printed"),
        ("time relative to grid 2560", 3, 2, "other"),
        ("vertices", 3, 2, "other"),
        ("time", "NA", 2, ""),
        ("time", 2, "NA", ""),
        ("cost", 2, 0, ""),
    ],
)
def test_a_value_is_better_worse_or_other_than_print(quantity, ours, paper, said):
    row = {"quantity": quantity, "ours": str(ours), "paper": str(paper), "repeats": "2"}
    assert beside_print(row)["beside"] == said


@pytest.mark.parametrize(
    ("quantity", "said"), [("time, truss", ""), ("largest speed-up over imm", ""), ("cost", "worse")]
)
def test_the_speed_of_one_run_or_of_smoke_scale_is_not_judged(quantity, said):
    row = {"quantity": quantity, "ours": "9", "paper": "2", "repeats": "1"}
    assert beside_print(row)["beside"] == said and beside_print(row)["ratio"] == 4.5
    assert beside_print(row | {"repeats": "5"}, speeds=False)["beside"] == said


def test_what_is_printed_of_another_size_has_a_row_of_its_own(tmp_path):
    sizes = "table-1\ttoy\t\t\tvertices\t1\t31\ntable-1\tbig\t\t\tvertices\t1\t900\ntable-1\tbig\t\t\tedges\t1\t20\n"
    times = "".join(f"table-2\t{graph}\tgim\t\ttime\ts\t7\n" for graph in ("toy", "big", "all graphs", "all but big"))
    (tmp_path / "p.tsv").write_text(HEADER + sizes + times)
    cells = [cell(graph, "gim", 1.0) for graph in ("toy", "big", "all graphs", "all but big")]
    tables = {"graphs": GRAPHS, "gim-cells": cells}
    rows = found(rebuild("gim", "table-2", tables, str(tmp_path / "p.tsv")), quantity="time")
    shown = {row["graph"]: row["paper"] for row in rows if row["ours"] != NA}
    assert shown == {"toy": "7", "big": NA, "all graphs": NA, "all but big": "7"}
    alone = {row["graph"]: (row["paper"], row["setting"]) for row in rows if row["ours"] == NA}
    assert alone == {
        "big": ("7", "printed for 900 vertices, 20 edges; here 9 vertices, 20 edges"),
        "all graphs": ("7", "printed for other sizes of big"),
    }
    plot_item("gim", "table-2", rows, str(tmp_path / "x.svg"))
    text = (tmp_path / "x.svg").read_text()
    assert "gIM in the paper</text>" in text and "gIM in the paper, another size</text>" in text
    side = rebuild("gim", "table-1", tables, str(tmp_path / "p.tsv"))
    assert ("9", "900") in {(row["ours"], row["paper"]) for row in side}, "sizes are there to be compared"


def test_tables_have_the_shape_of_print():
    """Graphs are rows; methods are columns, or quantities where there are no methods; one cell alone is no table."""

    def value(graph, name, quantity, ours, unit="s"):
        return {"graph": graph, "name": name, "quantity": quantity, "unit": unit, "ours": ours}

    rows = [value("A", "IMM", "time", 1), value("A", "gIM", "time", 2), value("B", "gIM", "time", 3)]
    rows += [value("A", "gIM", "time", 4), value("A", "gIM", "speed-up", 5, "1")]
    (shape,) = shapes(rows)
    assert (shape["title"], shape["graphs"], list(shape["columns"])) == ("time, s", ["A", "B"], ["IMM", "gIM"])
    cells = {name: {graph: row["ours"] for graph, row in cells.items()} for name, cells in shape["columns"].items()}
    assert cells == {"IMM": {"A": 1}, "gIM": {"A": 2, "B": 3}}
    (shape,) = shapes([value("A", "", "vertices", 7, "1"), value("A", "", "edges", 8, "1")])
    assert (shape["title"], shape["graphs"], list(shape["columns"])) == ("", ["A"], ["vertices", "edges"])
