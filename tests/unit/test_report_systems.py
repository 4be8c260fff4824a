"""kPAR and structural diversity in the report: tables from the output of commands, figures, and the page."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from test_report import Checker

from gpukit.artifacts import read, write_graph
from gpukit.cli.app import main
from gpukit.errors import InputError, UsageError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.report import diversity, ego, kpar
from gpukit.report.page import environment_of, write_page
from gpukit.report.tables import make_table, read_table, write_table
from gpukit.wording import counted

DRAWN_FROM = ("kpar-queries", "kpar-quality", "kpar-arrivals", "diversity-top", "diversity-runs")
FRIENDS = [(1, v) for v in range(2, 12)] + [(2, 3), (2, 4), (3, 4), (5, 6), (6, 7), (5, 7), (7, 8), (10, 11)]
"""Vertex 1 with two circles for trusses of k = 3, five of its friends in neither."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with records and artifacts of both systems on a graph whose ids are multiples of 10."""
    path = tmp_path_factory.mktemp("report")
    u, v = 10 * np.array(FRIENDS).T
    write_graph(path / "G.h5", build_graph(u, v, weights=Weights("none"), undirected=True))
    asked = ("--random", 4, "--seed", 3, "--out")
    for name, words in (
        ("rank.json", ("kpar", "rank", "G.h5", "--out", "rank.h5")),
        ("index.json", ("kpar", "index", "G.h5", "--rank", "rank.h5", "--out", "index.h5")),
        ("kpar.json", ("kpar", "query", "G.h5", "--index", "index.h5", "-k", 5, *asked, "kpar.h5")),
        ("truth.json", ("kpar", "truth", "G.h5", "-k", 5, *asked, "truth.h5")),
        ("quality.json", ("evaluate", "ppr", "G.h5", "--answers", "kpar.h5")),
        ("truss.json", ("diversity", "search", "G.h5", "--model", "truss", "-k", 3, "-t", 4, "--out", "truss.h5")),
        ("check.json", ("evaluate", "diversity", "G.h5", "--answers", "truss.h5")),
        ("ego.json", ("diversity", "egos", "G.h5", "--vertices", 10, "--out", "ego.h5")),
    ):
        words = [str(path / word) if str(word).endswith(".h5") else str(word) for word in words]
        with pytest.MonkeyPatch.context() as patch, (path / name).open("w") as stream:
            patch.setattr("sys.stdout", stream)
            assert main([*words, "--json"]) == 0
    return path


RECORDS = {
    "kpar-times": [("toy/rank", "rank.json"), ("toy/index", "index.json")],
    "kpar-index": [("toy", "index.h5")],
    "kpar-arrivals": [("toy", "index.h5")],
    "kpar-queries": [("toy/kpar/5", "kpar.json"), ("toy/truth/5", "truth.json")],
    "kpar-quality": [("toy/kpar/5", "quality.json")],
    "kpar-answers": [("toy/kpar", "kpar.h5"), ("toy/truth", "truth.h5")],
    "diversity-runs": [("toy/truss", "truss.json")],
    "diversity-top": [("toy/truss", "truss.h5")],
    "diversity-checks": [("toy/truss", "check.json")],
    "artifacts": [("", "truss.h5")],
}


@pytest.fixture(scope="module")
def tables(folder):
    """Return the rows of every table, written and read again."""
    found = {}
    for kind, records in RECORDS.items():
        path = str(folder / f"{kind}.tsv")
        write_table(kind, make_table(kind, [(label, str(folder / name)) for label, name in records]), path)
        found[kind] = read_table(kind, path)
    return found


def test_figures_drawn_at_once_are_those_drawn_alone(folder, figures, tmp_path):
    words = [f"--table={kind}={folder / kind}.tsv" for kind in DRAWN_FROM]
    words += [f"--figure={name}={tmp_path / name.replace('/', '-')}.svg" for name in figures]
    artifacts = [f"--egos=toy/truss={folder / 'ego.h5'}", f"--answers=toy/truss={folder / 'truss.h5'}"]
    assert main(["report", "figures", *words, *artifacts]) == 0
    for name, path in figures.items():
        assert (tmp_path / f"{name.replace('/', '-')}.svg").read_bytes() == Path(path).read_bytes(), name


@pytest.mark.parametrize("name", ["nothing", "imgpu-spreads/toy", "ego/toy/core", "merit"])
def test_a_figure_that_is_none_is_refused(folder, tables, tmp_path, capsys, name):
    code = main(
        [
            "report",
            "figures",
            f"--table=kpar-queries={folder / 'kpar-queries.tsv'}",
            f"--figure={name}={tmp_path / 'x.svg'}",
        ]
    )
    assert code in (2, 3) and capsys.readouterr().err.count("\n") == 1 and not (tmp_path / "x.svg").exists()


@pytest.fixture(scope="module")
def figures(folder, tables):
    """Return the paths of the figures by name."""
    names = [f"kpar-{quantity}/toy" for quantity in kpar.QUANTITIES]
    names += ["arrivals", "scores", "diversity-time", "ego/toy/truss"]
    paths = {name: str(folder / f"{name.replace('/', '-')}.svg") for name in names}
    for quantity, (kind, _) in kpar.QUANTITIES.items():
        kpar.plot_curve(tables[kind], "toy", quantity, paths[f"kpar-{quantity}/toy"])
    kpar.plot_arrivals(tables["kpar-arrivals"], paths["arrivals"])
    diversity.plot_scores(tables["diversity-top"], paths["scores"])
    diversity.plot_time(tables["diversity-runs"], paths["diversity-time"])
    ego.plot_ego(str(folder / "ego.h5"), str(folder / "truss.h5"), paths["ego/toy/truss"])
    return paths


def test_tables_of_kpar_hold_what_the_commands_said(folder, tables):
    record = json.loads((folder / "kpar.json").read_text())
    query, truth = tables["kpar-queries"]
    assert (query["method"], query["k"], query["queries"], truth["method"]) == ("kpar", 5, 4, "truth")
    assert query["time_answer_s"] == record["time_s"]["query"]
    assert truth["time_answer_s"] == json.loads((folder / "truth.json").read_text())["time_s"]["power"]
    (quality,) = tables["kpar-quality"]
    judged = json.loads((folder / "quality.json").read_text())
    assert all(quality[name] == judged[name] for name in ("precision", "ndcg", "violations", "positions"))
    assert (quality["alpha"], quality["epsilon"]) == (0.2, 0.5)
    best = [row for row in tables["kpar-answers"] if row["method"] == "kpar"]
    first = next(one for one in record["results"] if len(one["nodes"]) > 1)
    assert [row["vertex"] for row in best] == first["nodes"]
    assert [row["score"] for row in best] == pytest.approx(first["scores"])
    assert {row["source"] for row in best} == {str(first["source"])}
    assert [row["step"] for row in tables["kpar-times"]] == ["rank", "index"]


def test_arrivals_count_the_walks_of_the_index(folder, tables):
    arrivals = read(folder / "index.h5", "irw").arrays["arrivals"]
    rows = tables["kpar-arrivals"]
    assert rows[0]["omega_i_walks"] == 1 and rows[-1]["omega_i_walks"] == arrivals.max()
    assert all(row["vertices"] == np.count_nonzero(arrivals >= row["omega_i_walks"]) for row in rows)
    # Where the paper reads its figure 3.
    assert 3 in {row["omega_i_walks"] for row in rows} and 3000 in {round(1000 * step) for step in kpar.GRID}
    (size,) = tables["kpar-index"]
    assert 0 < size["index_bytes"] < (folder / "index.h5").stat().st_size


def test_tables_of_diversity_hold_what_the_commands_said(tables):
    (run,) = tables["diversity-runs"]
    assert (run["n_vertices"], run["m_edges"], run["k"], run["t"], run["score_best"]) == (11, len(FRIENDS), 3, 4, 2)
    top = tables["diversity-top"]
    assert (top[0]["vertex"], top[0]["score"], top[0]["sizes"]) == (10, 2, "3 3")
    (check,) = tables["diversity-checks"]
    wrong = sum(check[kind] for kind in ("wrong_scores", "wrong_contexts", "misplaced", "missed"))
    assert (check["listed"], check["checked_others"], wrong) == (4, 7, 0)


@pytest.mark.parametrize("kind", ["kpar-times", "kpar-queries", "kpar-quality", "diversity-runs", "diversity-checks"])
def test_records_of_other_commands_are_refused(folder, kind):
    (folder / "empty.json").write_text("{}")
    with pytest.raises(InputError, match="is not a record of `gpukit"):
        make_table(kind, [(RECORDS[kind][0][0], str(folder / "empty.json"))])


def test_figures_are_equal_from_run_to_run(folder, tables, figures):
    before = {name: open(path).read() for name, path in figures.items()}
    kpar.plot_curve(tables["kpar-queries"], "toy", "time", str(folder / "again.svg"))
    assert (folder / "again.svg").read_text() == before["kpar-time/toy"]
    ego.plot_ego(str(folder / "ego.h5"), str(folder / "truss.h5"), str(folder / "again.svg"))
    assert (folder / "again.svg").read_text() == before["ego/toy/truss"]


def test_figures_of_nothing_are_refused(folder, tables):
    out = str(folder / "x.svg")
    with pytest.raises(UsageError, match="no row of graph 'other'"):
        kpar.plot_curve(tables["kpar-queries"], "other", "time", out)
    for draw in (kpar.plot_arrivals, diversity.plot_scores, diversity.plot_time):
        with pytest.raises(InputError, match="has no rows"):
            draw([], out)


def test_picture_tells_circles_and_what_is_left_out(folder, figures, monkeypatch):
    text = open(figures["ego/toy/truss"]).read()
    assert "vertex 10: 10 friends" in text
    assert "circle 1: 3 friends" in text and "circle 2: 3 friends" in text and "in no circle: 4" in text
    monkeypatch.setattr(ego, "MOST", 7)
    ego.plot_ego(str(folder / "ego.h5"), str(folder / "truss.h5"), str(folder / "few.svg"))
    text = (folder / "few.svg").read_text()
    assert "vertex 10: 10 friends, 7 of them drawn" in text and "in no circle: 1" in text


def test_friends_have_names_in_the_picture(folder, figures, monkeypatch):
    nodes = read(folder / "ego.h5", "egonets").arrays
    friends = nodes["nodes"][nodes["node_begin"][0] : nodes["node_begin"][1]].tolist()

    def written(file):
        return [one for one in friends if f">{one}</text>" in Path(file).read_text()]

    assert written(figures["ego/toy/truss"]) == friends
    monkeypatch.setattr(ego, "NAMED", 9)
    ego.plot_ego(str(folder / "ego.h5"), str(folder / "truss.h5"), str(folder / "named.svg"))
    answer = read(folder / "truss.h5", "diversity").arrays
    circles = [answer["members"][answer["offsets"][i] : answer["offsets"][i + 1]].tolist() for i in (0, 1)]
    named = written(folder / "named.svg")
    assert len(named) == 2 and all(any(one in circle for one in named) for circle in circles)


def test_the_configuration_has_lines(tables, figures, folder):
    write_page(str(folder / "page.html"), tables, figures, {"results": "here", "odd": "a\nb"})
    text = (folder / "page.html").read_text()
    assert "<pre>{\n  &#34;results&#34;: &#34;here&#34;,\n" in text and "a\\nb" in text


def test_picture_of_the_wrong_vertex_is_refused(folder):
    assert main(["diversity", "egos", str(folder / "G.h5"), "--vertices", "20", "--out", str(folder / "E2.h5")]) == 0
    with pytest.raises(InputError, match="no ego-network of vertex 10"):
        ego.plot_ego(str(folder / "E2.h5"), str(folder / "truss.h5"), str(folder / "x.svg"))


def test_layout_is_finite_and_keeps_vertices_apart():
    generator = np.random.default_rng(5)
    for size in (0, 1, 2, 40):
        circle = generator.integers(-1, 3, size)
        edges = generator.integers(0, max(size, 1), (2 * size, 2))
        edges = edges[edges[:, 0] < edges[:, 1]]
        position = ego.lay_out(edges, circle)
        assert position.shape == (size, 2) and np.isfinite(position).all()
        assert len(np.unique(position, axis=0)) == size


def test_outline_holds_all_points_and_turns_left():
    points = np.random.default_rng(2).normal(size=(50, 2)).round(1)
    corners = ego._around(points, 0.1)
    along = np.roll(corners, -1, axis=0) - corners
    for corner, (x, y) in zip(corners, along, strict=True):
        gap = points - corner
        assert (x * gap[:, 1] - y * gap[:, 0] > 0.09 * np.hypot(x, y)).all()
    for few in (points[:1], np.array([[0, 0], [1, 1], [2, 2]])):
        assert np.hypot(*(ego._around(few, 0.1)[:, None] - few).T).min(axis=0) == pytest.approx(0.1)


def test_page_shows_the_systems_that_are_there(folder, tables, figures):
    out = folder / "page.html"
    write_page(str(out), tables, figures)
    text = " ".join(out.read_text().split())
    found = Checker(out.read_text())
    assert len(found.ids) == len(set(found.ids))
    assert all(reference.startswith("#") and reference[1:] in found.ids for reference in found.references)
    assert "<b>2 trusses</b> among the friends of vertex 10" in text and "(3, 3 members)" in text
    assert "none of 7 other vertices belongs among them" in text
    assert "The guarantee held at all" in text and "Who to tell" not in text
    assert text.count("<svg") == len(figures) - 2, (
        "precision and NDCG are in the table: their axes would hide how near 1 they are"
    )
    broken = tables | {"diversity-checks": [tables["diversity-checks"][0] | {"missed": 3}]}
    write_page(str(out), broken, figures)
    assert "The check found mistakes about 3 vertices" in " ".join(out.read_text().split())
    none = [row | {"score": 0, "sizes": ""} for row in tables["diversity-top"]]
    lonely = [tables["diversity-runs"][0] | {"score_best": 0, "score_last": 0}]
    write_page(str(out), tables | {"diversity-top": none, "diversity-runs": lonely}, figures)
    text = " ".join(out.read_text().split())
    assert "no <b>truss</b> among anybody's friends. A circle is" in text and "at least 1 friend in common" in text
    assert "members)" not in text and "The first vertices of toy" not in text and "friends of vertex 10" not in text
    one = [row | {"score": 1, "sizes": "1"} for row in tables["diversity-top"]]
    lonely = [tables["diversity-runs"][0] | {"score_best": 1, "score_last": 1}]
    write_page(str(out), tables | {"diversity-top": one, "diversity-runs": lonely}, figures)
    text = " ".join(out.read_text().split())
    assert "<b>1 truss</b> among the friends of vertex 10" in text and "(1 member)" in text
    alone = {kind: rows for kind, rows in tables.items() if not kind.startswith("diversity")}
    write_page(str(out), alone, figures)
    assert "spans circles" not in out.read_text()


def test_the_page_says_where_queries_start(folder, tables, figures):
    out = folder / "page.html"

    def text(configuration):
        write_page(str(out), tables, figures, configuration)
        return " ".join(out.read_text().split())

    assert text({"kpar": {"sources": 4}}).count("over 4 random sources") == 2
    named = text({"kpar": {"sources": ["ann"], "weighted": True}})
    assert "random" not in named.partition("<pre>")[0] and named.count("over 4 named sources") == 2
    assert "A walk chooses edges by their weights." in named and "walks choose edges by their weights" in named
    assert "by their weights" not in text({"kpar": {"sources": "list.txt", "weighted": False}})
    assert text({"paper": "kpar", "kpar": {"sources": 4}}).count("over 4 random sources with out-edges") == 2
    assert text(None).count("over 4 sources") == 2


def test_an_undirected_graph_has_no_directions_to_ignore(folder, tables, tmp_path):
    assert {row["directions"] for row in tables["diversity-runs"]} == {"none"}
    graph, record = str(folder / "G.h5"), tmp_path / "asked.json"
    with pytest.MonkeyPatch.context() as patch, record.open("w") as stream:
        patch.setattr("sys.stdout", stream)
        words = ["diversity", "search", graph, "--model", "comp", "-k", "3", "-t", "4", "--undirected", "--json"]
        assert main([*words, "--out", str(tmp_path / "D.h5")]) == 0
    (row,) = make_table("diversity-runs", [("toy/comp", str(record))])
    assert row["directions"] == "none", "--undirected says nothing of a graph that is undirected"


def test_numbers_have_their_nouns():
    assert [counted(1, "vertex"), counted(1500, "other vertex")] == ["1 vertex", "1,500 other vertices"]
    assert [counted(0, "query"), counted(2, "truss"), counted(3, "thread")] == ["0 queries", "2 trusses", "3 threads"]


def test_page_needs_what_its_sections_show(folder, tables, figures):
    out = str(folder / "y.html")
    with pytest.raises(UsageError, match="add --figure ego/toy/truss=FILE"):
        write_page(out, tables, {name: path for name, path in figures.items() if not name.startswith("ego")})
    with pytest.raises(UsageError, match="add --table kpar-quality=FILE"):
        write_page(out, {kind: rows for kind, rows in tables.items() if kind != "kpar-quality"}, figures)
    with pytest.raises(InputError, match="lack the rows of kpar or the truth on toy"):
        write_page(out, tables | {"kpar-queries": tables["kpar-queries"][:1]}, figures)
    with pytest.raises(InputError, match="lack rows of truss on toy"):
        write_page(out, tables | {"diversity-checks": []}, figures)


def test_the_page_ranks_no_method_by_speed(folder, tables, figures):
    """Each method ran once: its time is a fact, and which is faster would be a guess."""
    out = folder / "page.html"
    write_page(str(out), tables, figures)
    text = " ".join(out.read_text().split())
    assert not re.search("fastest|quickest|faster than|times as fast", text)
    assert "Which is faster stays open: that takes repeated runs on an idle machine." in text
    assert "of the places are right, at " in text and "ms a query; the power method, which is exact, took " in text
    assert "over 4 sources, of the queries alone: without files, loading of code, and preparing the index." in text


def test_the_time_of_the_truth_is_without_loading_code(folder):
    assert {"load", "power"} <= json.loads((folder / "truth.json").read_text())["time_s"].keys()


def test_counts_have_no_decimals():
    shown = environment_of().filters
    assert [shown["whole"](value) for value in (96.0, 8.25, 0.0)] == ["96", "8.25", "0"]
    exact = {"spread_vertices": 96.0, "stderr_vertices": 0.0}
    assert (shown["mean"](exact), shown["error"](exact)) == ("96", "0")
    assert shown["vertices"](exact | {"spread_vertices": 1.0}) == "1 vertex"
    assert shown["vertices"](exact | {"stderr_vertices": 0.5}) == "96.0 vertices"


def test_seeds_have_the_degrees_of_their_graph(folder, tmp_path):
    graph, seeds, out = (str(tmp_path / name) for name in ("W.h5", "S.h5", "seeds.tsv"))
    u, v = 10 * np.array(FRIENDS).T
    write_graph(graph, build_graph(u, v, weights=Weights("wc")))
    assert main(["gim", "run", graph, "--out", seeds, "-k", "3", "--min-sets", "100"]) == 0
    assert main(["report", "table", "seeds", f"toy/ic={seeds}", f"--graph=toy={graph}", "--out", out]) == 0
    rows = read_table("seeds", out)
    assert len(rows) == 3 and all(row["out_degree"] == np.sum(u == row["vertex"]) for row in rows)
    assert [row["gain_sets"] for row in rows] == read(seeds, "seeds").arrays["gains"].tolist()
    assert main(["report", "table", "artifacts", seeds, f"--graph=toy={graph}", "--out", out]) == 2
