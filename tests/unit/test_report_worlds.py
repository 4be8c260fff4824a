"""IMGPU and MERIT in the report: tables from the output of commands, figures, and the page."""

import json

import numpy as np
import pytest
from test_report import Checker

from gpukit.artifacts import write_graph
from gpukit.cli.app import main
from gpukit.errors import InputError, UsageError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.report import imgpu, merit
from gpukit.report.page import write_page
from gpukit.report.parts import Parts
from gpukit.report.tables import make_table, read_table, write_table
from gpukit.worlds.tables import build_tables

EVALUATED = {"fixed": "A.h5", "pmia": "P.h5"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with records and artifacts of both systems on a graph of 60 vertices."""
    path = tmp_path_factory.mktemp("report")
    u, v = np.random.default_rng(3).integers(0, 60, (2, 200))
    graph = build_graph(u, v, weights=Weights("const", 0.1))
    write_graph(path / "G.h5", graph, build_tables(graph))
    bench = ("--modes", "fixed", "-k", 1, "--worlds", 20, "--repeat", 1, "--device", "cpu", "--threads", 1)
    seek = ("--eta", 12, "--batch", 3, "--worlds", 2, "--model")
    for name, words in (
        ("fixed.json", ("imgpu", "run", "G.h5", "-k", 4, "--worlds", 400, "--out", "A.h5")),
        ("pmia.json", ("papers", "imgpu", "baseline", "G.h5", "-k", 4, "--method", "pmia", "--out", "P.h5")),
        ("reach.json", ("imgpu", "reach", "G.h5", "--worlds", 50, "--out", "R.h5")),
        ("switches.json", ("papers", "bench", "imgpu", "G.h5", *bench, "--switches")),
        ("coupled.json", ("merit", "run", "G.h5", *seek, "ic", "--out", "C.h5")),
        ("regenerate.json", ("papers", "merit", "run", "G.h5", *seek, "ic", "--update", "regenerate", "--out", "D.h5")),
        *(
            (f"{m}.txt", ("evaluate", "spread", "G.h5", "--seeds", s, "--prefixes", "1,4", "--runs", 500)
             + ("--out", f"{m}.h5"))
            for m, s in EVALUATED.items()
        ),
    ):  # fmt: skip
        words = [str(path / word) if str(word).endswith(".h5") else str(word) for word in words]
        with pytest.MonkeyPatch.context() as patch, (path / name).open("w") as stream:
            patch.setattr("gpukit.papers.bench.machine.COPY_BYTES", 1 << 16)
            patch.setattr("sys.stdout", stream)
            assert main([*words, "--json"]) == 0
    return path


RECORDS = {
    "imgpu-runs": [("toy/fixed", "fixed.json"), ("toy/pmia", "pmia.json")],
    "imgpu-times": [("toy/fixed", "fixed.json"), ("toy/pmia", "pmia.json")],
    "imgpu-spread": [(f"toy/{method}", f"{method}.h5") for method in EVALUATED],
    "imgpu-levels": [("toy", "reach.json")],
    "imgpu-switches": [("toy", "switches.json")],
    "merit-campaigns": [(f"toy/ic/{policy}/12", f"{policy}.json") for policy in ("coupled", "regenerate")],
    "artifacts": [("", "A.h5")],
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


@pytest.fixture(scope="module")
def figures(folder, tables):
    """Return the paths of the figures by name."""
    paths = {f"imgpu-{view}/toy": str(folder / f"imgpu-{view}.svg") for view in imgpu.VIEWS}
    views = (*merit.VIEWS, "phases")
    paths |= {f"merit-{view}/toy/ic": str(folder / f"merit-{view}.svg") for view in views}
    for view, kind in imgpu.VIEWS.items():
        imgpu.plot(tables[kind], "toy", view, paths[f"imgpu-{view}/toy"])
    for view in views:
        merit.plot(tables["merit-campaigns"], "toy", "ic", view, paths[f"merit-{view}/toy/ic"])
    return paths


def read(folder, name):
    return json.loads((folder / name).read_text())


def test_tables_of_imgpu_hold_what_the_commands_said(folder, tables):
    fixed, pmia = tables["imgpu-runs"]
    said = read(folder, "fixed.json")
    assert (fixed["method"], fixed["k"], fixed["worlds"], fixed["n_vertices"]) == ("fixed", 4, 400, said["graph"]["n"])
    assert (fixed["spread_estimate_vertices"], fixed["stderr_vertices"]) == (said["spread_estimate"], said["stderr"])
    assert pmia["stderr_vertices"] != pmia["stderr_vertices"], "a baseline estimates nothing"
    for method in ("fixed", "pmia"):
        times = [row["time_s"] for row in tables["imgpu-times"] if row["method"] == method]
        record = read(folder, f"{method}.json")
        chosen = [row["vertex"] for row in tables["imgpu-times"] if row["method"] == method]
        assert chosen == list(map(str, record["seeds"]))
        assert times == record["choice_s"] and times == sorted(times) and len(times) == 4
        assert 0 < times[-1] < record["time_s"]["total"]
    levels = [row["components"] for row in tables["imgpu-levels"]]
    assert levels == read(folder, "reach.json")["nodes_per_level"]
    (passes,) = (one["pass_ms"] for one in read(folder, "switches.json")["runs"] if one["method"] == "switches")
    assert {row["optimisation"]: row["time_pass_s"] * 1e3 for row in tables["imgpu-switches"]} == pytest.approx(passes)


def test_a_graph_whose_optimisations_were_not_timed_is_shown_without_them(tables, figures):
    both = imgpu.section(Parts(tables, figures))["graphs"]
    kept = {kind: rows for kind, rows in tables.items() if kind != "imgpu-switches"}
    drawn = {name: path for name, path in figures.items() if name != "imgpu-switches/toy"}
    bare = imgpu.section(Parts(kept, drawn))["graphs"]
    assert set(both[0]["figures"]) == set(imgpu.VIEWS)
    assert set(bare[0]["figures"]) == set(imgpu.VIEWS) - {"switches"}


def test_table_of_campaigns_has_a_row_a_world(folder, tables):
    rows, said = tables["merit-campaigns"], read(folder, "coupled.json")
    assert [(row["policy"], row["eta"], row["world"]) for row in rows] == [
        (policy, 12, world) for policy in ("coupled", "regenerate") for world in (0, 1)
    ]
    assert [row["cost"] for row in rows[:2]] == [one["cost"] for one in said["campaigns"]]
    assert all(row["activated_vertices"] >= 12 and row["batch"] == 3 for row in rows)
    for phase in merit.PHASES:
        spent = sum(row[f"time_{phase}_s"] for row in rows[:2])
        assert spent == pytest.approx(said["time_s"].get(phase, 0.0), abs=1e-5)


@pytest.mark.parametrize("kind", ["imgpu-runs", "imgpu-times", "imgpu-levels", "imgpu-switches", "merit-campaigns"])
def test_records_of_other_commands_are_refused(folder, kind):
    (folder / "empty.json").write_text("{}")
    with pytest.raises(InputError, match="is not a record of `gpukit"):
        make_table(kind, [(RECORDS[kind][0][0], str(folder / "empty.json"))])


def test_a_benchmark_without_switches_is_refused(folder):
    (folder / "bare.json").write_text(json.dumps(read(folder, "switches.json") | {"runs": []}))
    with pytest.raises(InputError, match="papers bench imgpu --switches"):
        make_table("imgpu-switches", [("toy", str(folder / "bare.json"))])


def test_figures_are_equal_from_run_to_run_and_refuse_other_graphs(folder, tables, figures):
    out = str(folder / "again.svg")
    imgpu.plot(tables["imgpu-times"], "toy", "time", out)
    assert open(out).read() == open(figures["imgpu-time/toy"]).read()
    merit.plot(tables["merit-campaigns"], "toy", "ic", "cost", out)
    assert open(out).read() == open(figures["merit-cost/toy/ic"]).read()
    with pytest.raises(UsageError, match="no row of graph 'other'"):
        imgpu.plot(tables["imgpu-times"], "other", "time", out)
    with pytest.raises(UsageError, match="under model 'lt'"):
        merit.plot(tables["merit-campaigns"], "toy", "lt", "cost", out)


def test_page_shows_both_systems(folder, tables, figures):
    out = folder / "page.html"

    def text(changed=tables):
        write_page(str(out), changed, figures)
        return " ".join(out.read_text().split())

    whole = text()
    found = Checker(out.read_text())
    assert len(found.ids) == len(set(found.ids))
    assert all(reference.startswith("#") and reference[1:] in found.ids for reference in found.references)
    assert whole.count("<svg") == len(figures)
    assert "The shortest pass" not in whole and "The first to be done" not in whole and "the quickest is" not in whole
    assert "own estimate agrees with the simulation" in whole and "Every campaign reached its target" in whole
    assert "each campaign came out the same" in whole and "Each, the campaigns apart, was checked" in whole
    rows = tables["merit-campaigns"]
    other = [*rows[:2], rows[2] | {"cost": rows[2]["cost"] + 0.01}, rows[3]]
    assert "some campaigns differed" in text(tables | {"merit-campaigns": other})
    short = [rows[0] | {"activated_vertices": 11}, *rows[1:]]
    assert "fell short of its target" in text(tables | {"merit-campaigns": short})
    fixed, pmia = tables["imgpu-runs"]
    wrong = [fixed | {"spread_estimate_vertices": fixed["spread_estimate_vertices"] + 5}, pmia]
    assert "standard errors apart" in text(tables | {"imgpu-runs": wrong})
    alone = text({kind: rows for kind, rows in tables.items() if not kind.startswith("merit")})
    assert "MERIT" not in alone and "Each was checked" in alone


def test_the_page_says_what_seeds_cost(folder, tables, figures):
    out = folder / "page.html"

    def text(costs, unpriced, configuration=None):
        rows = [row | {"costs": costs, "unpriced_vertices": unpriced} for row in tables["merit-campaigns"]]
        write_page(str(out), tables | {"merit-campaigns": rows}, figures, configuration)
        return " ".join(out.read_text().split())

    assert {(row["costs"], row["unpriced_vertices"]) for row in tables["merit-campaigns"]} == {("degree", 0)}
    assert "(MERIT). A seed costs 0.01, and 0.01 more for each edge out of it. The" in text("degree", 0)
    assert "(MERIT). A seed costs 1. The" in text("uniform", 0)
    own = {"merit": {"costs": "prices.csv"}}
    assert "(MERIT). Seeds cost what prices.csv says. The" in text("file", 0, own)
    some = text("file", 3, own)
    assert "what prices.csv says, and 1 where it does not name a vertex: 3 vertices of 60. The" in some
    assert "0.01 more" not in some


def test_page_needs_what_its_sections_show(folder, tables, figures):
    out = str(folder / "y.html")
    with pytest.raises(UsageError, match="add --table imgpu-spread=FILE"):
        write_page(out, {kind: rows for kind, rows in tables.items() if kind != "imgpu-spread"}, figures)
    with pytest.raises(UsageError, match="add --figure merit-cost/toy/ic=FILE"):
        write_page(out, tables, {name: path for name, path in figures.items() if name != "merit-cost/toy/ic"})
    pmia = [row for row in tables["imgpu-spread"] if row["method"] == "pmia"]
    with pytest.raises(InputError, match="no rows of fixed worlds on toy"):
        write_page(out, tables | {"imgpu-spread": pmia}, figures)
    with pytest.raises(InputError, match="no row of fixed worlds on toy"):
        write_page(out, tables | {"imgpu-runs": tables["imgpu-runs"][1:]}, figures)
    with pytest.raises(InputError, match="no rows of coupled for η = 12 on toy"):
        write_page(out, tables | {"merit-campaigns": tables["merit-campaigns"][2:]}, figures)


def test_the_page_says_what_its_charts_show():
    def line(name, cost):
        return {"name": name, "eta": 1000, "cost": {"mean": cost}}

    same = "At η = 1,000 a campaign costs 2.50, whichever way the sets are kept."
    assert merit._costs([line("MERIT", 2.5), line("PASTI", 2.5)]) == same
    wins = "At η = 1,000 the cheapest is PASTI, at 2.40 on average."
    assert merit._costs([line("MERIT", 2.5), line("PASTI", 2.4)]) == wins
    rows = [dict.fromkeys((f"time_{phase}_s" for phase in merit.PHASES), 0.1) | {"time_judge_s": t} for t in (0.0, 0.6)]
    assert merit._slowest(rows) == "MERIT spends most on the phase judge: 0.30 s of a campaign."
    levels = [{"level": level, "components": count} for level, count in enumerate((60.0, 30.0, 10.0))]
    assert imgpu._flat(levels) == "90 % of the components of a world lie on its first two levels, of 3."
