"""Tables, figures and the page: inputs appear in the output, equal inputs give equal bytes, and the page needs no other
file."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from gpukit.artifacts import write_metrics, write_seeds
from gpukit.cli.app import main
from gpukit.cli.workflow.report import labelled
from gpukit.errors import InputError, UsageError
from gpukit.report.gim import plot_runtime, plot_spread
from gpukit.report.page import write_page
from gpukit.report.tables import make_table, read_table, write_table

RECORD = {
    "params": {"k": 2, "epsilon": 0.1, "bound": "opim", "sampler": "skip", "model": "ic"},
    "graph": {"n": 1000, "m": 5000},
    "device": {"kind": "cpu", "name": "a <processor>", "gpus": [], "threads": 2, "reason": "asked for"},
    "seed": 7,
    "time_s": {"total": 1.0, "read": 0.1, "load": 0.2, "sampling": 0.5, "selection": 0.1},
    "seeds": [40, 20],
    "spread_estimate": 101.0,
    "rr_sets": 123456,
    "guarantee": 0.6,
    "guarantee_kind": "certified",
}


@pytest.fixture
def tables(tmp_path):
    """Return the paths of the four tables of one instance, made from records and artifacts."""
    (tmp_path / "run.json").write_text(json.dumps(RECORD))
    write_seeds(tmp_path / "s.h5", np.array([40, 20]), np.array([4, 2]), n=1000, method="gim", graph="0" * 64, seed=7)
    for method, spread in (("gim", [60.0, 100.0]), ("degree", [60.0, 80.0]), ("random", [1.0, 2.0])):
        columns = {"k": [1, 2], "spread": spread, "stderr": [0.5, 0.5], "runs": [400, 400]}
        write_metrics(tmp_path / f"{method}.h5", columns, seed=7)
    paths = {}
    for kind, records in (
        ("runs", [("toy/ic", "run.json")]),
        ("seeds", [("toy/ic", "s.h5")]),
        ("spread", [(f"toy/ic/{method}", f"{method}.h5") for method in ("random", "gim", "degree")]),
        ("artifacts", [("", "s.h5")]),
    ):
        paths[kind] = str(tmp_path / f"{kind}.tsv")
        write_table(kind, make_table(kind, [(label, str(tmp_path / path)) for label, path in records]), paths[kind])
    return paths


def page(tables, folder):
    plot_spread(read_table("spread", tables["spread"]), "toy", "ic", str(folder / "curve.svg"))
    plot_runtime(read_table("runs", tables["runs"]), str(folder / "runtime.svg"))
    contents = {kind: read_table(kind, path) for kind, path in tables.items()}
    figures = {"spread/toy/ic": str(folder / "curve.svg"), "runtime": str(folder / "runtime.svg")}
    write_page(str(folder / "page.html"), contents, figures)
    return (folder / "page.html").read_text(encoding="utf-8")


def test_tables_hold_what_records_and_artifacts_say(tables):
    (run,) = read_table("runs", tables["runs"])
    assert (run["n_vertices"], run["rr_sets"], run["seed"], run["gpus"]) == (1000, 123456, 7, 0)
    assert (run["time_load_s"], run["time_other_s"]) == (0.2, pytest.approx(0.2))
    assert [row["vertex"] for row in read_table("seeds", tables["seeds"])] == [40, 20]
    spread = read_table("spread", tables["spread"])
    assert [(row["method"], row["k"], row["spread_vertices"]) for row in spread[2:4]] == [
        ("gim", 1, 60.0),
        ("gim", 2, 100.0),
    ]
    (artifact,) = read_table("artifacts", tables["artifacts"])
    assert (
        artifact["kind"] == "seeds"
        and artifact["file"].endswith("s.h5")
        and re.fullmatch("[0-9a-f]{64}", artifact["payload_sha256"])
    )


def test_headers_name_units(tables):
    with open(tables["runs"]) as stream:
        header = stream.readline().split("\t")
    assert {"n_vertices", "m_edges", "time_total_s", "spread_estimate_vertices"} <= {name.strip() for name in header}


@pytest.mark.parametrize(
    ("kind", "label", "text", "complaint"),
    [
        ("runs", "toy", json.dumps(RECORD), "needs GRAPH/MODEL=FILE"),
        ("runs", "toy/ic/gim", json.dumps(RECORD), "needs GRAPH/MODEL=FILE"),
        ("kpar-queries", "toy/kpar/ten", "{}", "label 'toy/kpar/ten': K must be a whole number"),
        ("merit-campaigns", "toy/ic/coupled/x", "{}", "ETA must be a whole number"),
        ("runs", "toy/ic", "{", "is not JSON"),
        ("runs", "toy/ic", "[]", "is not a JSON object"),
        ("runs", "toy/ic", "{}", "'graph' is missing or wrong"),
        ("spread", "toy/ic/gim", "no artifact", "is not an HDF5 file"),
    ],
)
def test_wrong_records_are_refused_in_one_line(tmp_path, kind, label, text, complaint):
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(complaint)) as caught:
        make_table(kind, [(label, str(path))])
    assert "\n" not in str(caught.value)


def test_wrong_tables_are_refused(tmp_path, tables):
    with pytest.raises(InputError, match="is not a table of seeds"):
        read_table("seeds", tables["runs"])
    with pytest.raises(InputError, match="No such file"):
        read_table("seeds", str(tmp_path / "missing.tsv"))
    broken = tmp_path / "broken.tsv"
    broken.write_text("graph\tmodel\trank\tvertex\tout_degree\tgain_sets\ntoy\tic\tfirst\t40\t3\t2\n")
    with pytest.raises(InputError, match="line 2"):
        read_table("seeds", str(broken))


def test_unwritable_table_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="cannot write"):
        write_table("seeds", [], str(tmp_path / "nowhere" / "seeds.tsv"))
    (tmp_path / "taken").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        write_table("seeds", [], str(tmp_path / "taken"))
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_labels(tmp_path):
    assert labelled(["a/b=c=d.h5"]) == [("a/b", "c=d.h5")]
    for wrong in (["a"], ["=x"], ["a="], ["a=x", "a=y"]):
        with pytest.raises(UsageError):
            labelled(wrong)


def test_figures_and_page_are_equal_from_run_to_run(tables, tmp_path):
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        page(tables, tmp_path / name)
        texts.append({path.name: path.read_text() for path in (tmp_path / name).iterdir()})
    assert texts[0] == texts[1] and len(texts[0]) == 3


def test_a_figure_is_what_its_name_ends_in(tables, tmp_path, capsys):
    words = ["report", "plot", "runtime", tables["runs"], "--out"]
    for end, first in (("svg", b"<?xml"), ("pdf", b"%PDF-"), ("png", b"\x89PNG\r\n"), ("PDF", b"%PDF-")):
        one, other = tmp_path / f"one.{end}", tmp_path / f"other.{end}"
        for path in (one, other, one):  # a figure may replace a figure
            assert main([*words, str(path)]) == 0
        assert one.read_bytes().startswith(first) and one.read_bytes() == other.read_bytes()
    capsys.readouterr()
    assert main([*words, str(tmp_path / "x.jpg")]) == 2 and not (tmp_path / "x.jpg").exists()
    told = "x.jpg: a figure is written as .svg, .pdf or .png; let the name end in one of them"
    err = capsys.readouterr().err
    assert told in err and err.count("\n") == 1
    (tmp_path / "notes.pdf").write_text("mine")
    assert main([*words, str(tmp_path / "notes.pdf")]) == 2 and (tmp_path / "notes.pdf").read_text() == "mine"


def test_unknown_instance_has_no_figure(tables, tmp_path):
    with pytest.raises(UsageError, match="no row of graph 'toy' under model 'lt'"):
        plot_spread(read_table("spread", tables["spread"]), "toy", "lt", str(tmp_path / "x.svg"))
    with pytest.raises(InputError, match="no rows"):
        plot_runtime([], str(tmp_path / "x.svg"))
    assert not (tmp_path / "x.svg").exists()


class Checker(HTMLParser):
    """Collects ids and references, and checks that every tag is closed by its own."""

    VOID = {"meta", "br", "hr", "img", "link", "input"}

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.references, self.tags = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        values = dict(attrs)
        if "id" in values:
            self.ids.append(values["id"])
        for name in ("href", "xlink:href", "src"):
            if name in values:
                self.references.append(values[name])
        self.references += re.findall(r"url\(([^)]*)\)", str(values))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_stands_alone(tables, tmp_path):
    text = page(tables, tmp_path)
    found = Checker(text)
    assert len(found.ids) == len(set(found.ids))
    assert found.references
    assert all(reference.startswith("#") and reference[1:] in found.ids for reference in found.references)
    assert "link" not in found.tags and "img" not in found.tags and found.tags.count("script") == 1
    script = text[text.index("<script>") : text.index("</script>")]
    assert len(script) < 6000 and not re.search(r"https?:(?!//www.w3.org/2000/svg)|fetch|import|src", script)
    assert '<html lang="en">' in text and "prefers-color-scheme: dark" in text
    assert not re.search(r"#[0-9a-f]{6}", text[text.index("<body>") :]), "a fixed colour would not follow the dark mode"


def test_page_says_what_was_found(tables, tmp_path):
    text = " ".join(page(tables, tmp_path).split())
    assert "25 % more than the best simple rule, highest degree" in text
    assert "gIM's own estimate lies 1.0 % above the simulation" in text
    assert "100.0 <small>± 1.0 vertices reached" in text
    assert "a &lt;processor&gt;, 2 threads" in text
    assert "At least 60 % of the best that any 2 seeds can do (certified)" in text


def test_page_without_a_guarantee_claims_none(tables, tmp_path):
    (run,) = read_table("runs", tables["runs"])
    write_table("runs", [run | {"guarantee": float("nan"), "guarantee_kind": "none"}], tables["runs"])
    text = page(tables, tmp_path)
    assert not re.search(r"\bnan\b", text) and "At least" not in text


def test_page_does_not_claim_what_is_within_the_error(tables, tmp_path):
    spread = read_table("spread", tables["spread"])
    for row in spread:
        if row["method"] == "degree" and row["k"] == 2:
            row["spread_vertices"] = 99.0
    write_table("spread", spread, tables["spread"])
    text = " ".join(page(tables, tmp_path).split())
    assert "No measurable difference from the best simple rule, highest degree" in text


def test_page_needs_every_figure_and_method(tables, tmp_path):
    page(tables, tmp_path)
    contents = {kind: read_table(kind, path) for kind, path in tables.items()}
    figure = str(tmp_path / "curve.svg")
    figures = {"spread/toy/ic": figure, "runtime": figure}
    out = str(tmp_path / "x.html")
    with pytest.raises(UsageError, match="add --figure spread/toy/ic=FILE"):
        write_page(out, contents, {"runtime": figure})
    with pytest.raises(UsageError, match="add --table seeds=FILE"):
        write_page(out, {kind: rows for kind, rows in contents.items() if kind != "seeds"}, figures)
    with pytest.raises(UsageError, match="at least the tables of one system"):
        write_page(out, {"artifacts": contents["artifacts"]}, figures)
    with pytest.raises(InputError, match="is not an SVG file"):
        write_page(out, contents, figures | {"spread/toy/ic": tables["runs"]})


def test_page_shows_seeds_of_ones_own_beside_the_methods(tables, tmp_path):
    """By their name, where they were evaluated, and compared with gIM at a number of seeds that both have."""
    spread = read_table("spread", tables["spread"])
    (one,) = (row for row in spread if (row["method"], row["k"]) == ("gim", 1))
    mine = one | {"method": "mine", "spread_vertices": one["spread_vertices"] / 1.5}
    write_table("spread", [row for row in spread if row["method"] == "gim"] + [mine], tables["spread"])
    text = page(tables, tmp_path)
    head, body = re.search(r"(<tr><th scope=.col.>seeds.*?</tr>).*?<tbody>(.*?)</tbody>", text, re.DOTALL).groups()
    assert re.findall(r"<th[^>]*>(.*?)</th>", head) == ["seeds", "gIM", "mine"]
    cells = [re.findall(r"<td>(.*?)</td>", row) for row in body.split("</tr>")[:2]]
    assert cells[0][1].startswith("40.0") and cells[1][1] == "–"
    assert "50 % more than the best simple rule, mine" in " ".join(text.split())
    assert "<p>50 % more than mine at 1 seed.</p>" in text
    near = mine | {"spread_vertices": one["spread_vertices"] + 0.5}
    write_table("spread", [row for row in spread if row["method"] != "mine"] + [near], tables["spread"])
    assert "<p>No measurable difference from mine at 1 seed.</p>" in page(tables, tmp_path)
    write_table("spread", [row for row in spread if row["method"] == "gim"] + [mine], tables["spread"])
    plot_spread(read_table("spread", tables["spread"]), "toy", "ic", str(tmp_path / "x.svg"))
    assert ">mine<" in (tmp_path / "x.svg").read_text()


def test_run_without_an_estimate_of_its_spread(tables, tmp_path):
    """IMM has seen all its sets when it chooses: its record holds null, the table nan, and the page says nothing."""
    assert "own estimate" in page(tables, tmp_path)
    (tmp_path / "imm.json").write_text(json.dumps(RECORD | {"spread_estimate": None, "selection_estimate": 120.0}))
    write_table("runs", make_table("runs", [("toy/ic", str(tmp_path / "imm.json"))]), tables["runs"])
    assert np.isnan(read_table("runs", tables["runs"])[0]["spread_estimate_vertices"])
    said = page(tables, tmp_path)
    assert "own estimate" not in said and ">nan" not in said
