"""``gpukit export``: every kind of artifact as a table, and graphs to text and back."""

import bz2
import gzip
import io
import json
import lzma
import os
from importlib.util import find_spec

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from gpukit.artifacts import read, read_graph, read_header, tables, write_graph, write_metrics
from gpukit.artifacts.layout import KINDS
from gpukit.cli.app import main
from gpukit.graph.build import build_graph
from gpukit.graph.labels import Labels

CPU = ("--device", "cpu")
N = 20
NAMES = sorted(
    ["New York, NY", "Zoë", "a:1", 'the "one"', "#tag", "%", "42", *(f"u{i}" for i in range(N - 7))], key=str.encode
)


NEEDED = {"parquet": "pyarrow", "xlsx": "openpyxl"}
FORMS = ("csv", "tsv", "json", *(form for form, needed in NEEDED.items() if find_spec(needed)))
"""Forms of tables, without those that lack a package."""


@pytest.fixture(scope="module", params=["labels", "ids", "numbers"])
def folder(request, tmp_path_factory):
    """A folder with a graph and results of every kind on it; vertices have names, odd ids, or the numbers 0 … n - 1."""
    folder = tmp_path_factory.mktemp("export")
    u, v = np.array(nx.connected_watts_strogatz_graph(N, 6, 0.2, seed=3).edges).T
    named = {
        "labels": {"labels": Labels.of(NAMES)},
        "ids": {"ids": np.arange(N) * 3 + 7},
        "numbers": {"ids": False, "n": N},
    }
    write_graph(folder / "g.h5", build_graph(u, v, undirected=True, **named[request.param]))
    graph = read_graph(folder / "g.h5")

    def made(*words):
        given = [folder / word if str(word).endswith(".h5") else word for word in words]
        assert main([str(word) for word in given]) == 0

    three, five = graph.original([3, 5]).tolist()
    if graph.labels is not None:
        three, five = f'"{three}"', f'"{five}"'
    (folder / "sources.txt").write_text(f"{three}\n{three}:1,{five}:3\n")
    made("gim", "run", "g.h5", "-k", 4, "--min-sets", 100, *CPU, "--out", "seeds.h5")
    made("gim", "run", "g.h5", "-k", 2, "--rounds", 2, "--min-sets", 100, *CPU, "--out", "rounds.h5")
    made("papers", "gim", "sample", "g.h5", "--count", 30, "--first", 5, "--sets", "plain", *CPU, "--out", "rrsets.h5")
    made("gim", "sample", "g.h5", "--count", 30, "--first", 5, *CPU, "--out", "rr-kept.h5")
    made("gim", "sample", "g.h5", "--count", 30, "--rounds", 2, *CPU, "--out", "rr-rounds.h5")
    made("imgpu", "reach", "g.h5", "--worlds", 8, *CPU, "--out", "reach.h5")
    made("kpar", "rank", "g.h5", *CPU, "--out", "pagerank.h5")
    made("kpar", "index", "g.h5", *CPU, "--out", "irw.h5")
    query = ("kpar", "query", "g.h5", "--index", "irw.h5", "-k", 6, *CPU, "--sources", folder / "sources.txt")
    made(*query, "--out", "topk.h5")
    made("merit", "run", "g.h5", "--eta", 9, "--batch", 2, "--worlds", 2, *CPU, "--out", "campaign.h5")
    made("merit", "start", "g.h5", "--eta", 9, "--batch", 2, *CPU, "--out", "started.h5")
    made("diversity", "search", "g.h5", "-k", 2, "-t", N, "--model", "truss", *CPU, "--out", "diversity.h5")
    made("diversity", "egos", "g.h5", *CPU, "--out", "egonets.h5")
    made("diversity", "decompose", "g.h5", *CPU, "--out", "decomposition.h5")
    return folder


@pytest.fixture
def graph(folder):
    return read_graph(folder / "g.h5")


@pytest.fixture
def exported(folder, good):
    """Return a function that exports a file as CSV and reads it by pandas; ids are integers, names texts."""

    def exported(name, *words):
        text = good("export", folder / name, *words)
        return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""])

    return exported


def called(graph, vertices):
    return graph.original(np.asarray(vertices)).tolist()


def texts(column):
    return [str(one) for one in column]


def test_every_kind_has_a_table():
    assert tables._TABLES.keys() == KINDS.keys()


def test_graph(folder, graph, exported):
    table = exported("g.h5")
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    assert texts(table.source) == texts(called(graph, tails))
    assert texts(table.target) == texts(called(graph, graph.indices))
    degree = table.target.value_counts()
    assert table.probability.tolist() == pytest.approx([1 / degree[v] for v in table.target], abs=1e-9)


def test_seeds(folder, graph, exported):
    seeds = read(folder / "seeds.h5").arrays
    table = exported("seeds.h5", "--graph", folder / "g.h5")
    assert list(table) == ["order", "vertex", "gain", "spread_gain", "degree"]
    assert table.order.tolist() == [1, 2, 3, 4]
    assert texts(table.vertex) == texts(called(graph, seeds["internal"]))
    assert table.gain.tolist() == seeds["gains"].tolist()
    assert table.spread_gain.tolist() == seeds["spread_gains"].tolist()
    assert table.degree.tolist() == np.diff(graph.indptr)[seeds["internal"]].tolist()
    assert list(exported("seeds.h5")) == list(table)
    assert set(exported("rounds.h5")["round"]) == {1, 2}


@pytest.mark.parametrize(("name", "rounds"), [("rrsets.h5", 1), ("rr-kept.h5", 1), ("rr-rounds.h5", 2)])
def test_rrsets(folder, graph, exported, name, rounds):
    found = read(folder / name)
    offsets, members = found.arrays["offsets"], found.arrays["members"]
    table = exported(name)
    count, kept = found.attributes["count"], found.attributes.get("sets") == "kept"
    assert (count < 30) == kept == (name == "rr-kept.h5")
    for i in range(count):
        part = table[table.set == i + (0 if kept else found.attributes["first"])]
        own = members[offsets[i] : offsets[i + 1]]
        assert texts(part.vertex) == texts(called(graph, own % graph.n))
        if rounds > 1:
            assert part["round"].tolist() == (own // graph.n + 1).tolist()


def test_sets_that_are_left_out_are_told(folder, run, tmp_path):
    found = read(folder / "rr-kept.h5").attributes
    told = f"{found['count']} of the 30 sets drawn are listed, numbered from 0; those of a single vertex are left out"
    for name, there in (("rr-kept.h5", True), ("rrsets.h5", False)):
        code, _, err = run("export", folder / name, "--out", tmp_path / "sets.csv", "--force")
        assert code == 0 and (told in err) == there and ("left out" in err) == there


def test_pagerank_and_walks(folder, graph, exported, run):
    table = exported("pagerank.h5", "--graph", folder / "g.h5")
    assert texts(table.vertex) == texts(called(graph, range(N)))
    assert table.pagerank.sum() == pytest.approx(1)
    by_rank = table.dropna().sort_values("pro_rank").index
    assert by_rank.tolist() == read(folder / "pagerank.h5").arrays["order"].tolist()
    walks = exported("irw.h5", "--graph", folder / "g.h5")
    assert walks.walks.sum() == walks.arrivals.sum() > 0
    for name in ("pagerank.h5", "irw.h5"):
        code, _, err = run("export", folder / name)
        assert code == 2 and "give its graph by --graph" in err


def test_topk(folder, graph, exported, record):
    query = ("kpar", "query", folder / "g.h5", "--index", folder / "irw.h5", "-k", 6, *CPU)
    results = record(*query, "--sources", folder / "sources.txt")["results"]
    table = exported("topk.h5", "--graph", folder / "g.h5")
    for number, one in enumerate(results, 1):
        part = table[table["query"] == number]
        assert texts(part.vertex) == texts(one["nodes"]) and part.place.tolist() == [*range(1, len(part) + 1)]
        unit = 1 if max(one["scores"]) <= 1 else 2**62
        assert part.score.tolist() == pytest.approx([score / unit for score in one["scores"]])
        assert 0 < part.score.max() < 1
    three, five = called(graph, [3, 5])
    alone, first, last = (str(one) if isinstance(one, int) else f'"{one}"' for one in (three, three, five))
    assert set(texts(table.source)) == {alone, f"{first}:0.25,{last}:0.75"}


def test_campaigns(folder, graph, exported):
    file = read(folder / "campaign.h5")
    a = file.arrays
    table = exported("campaign.h5")
    assert list(table) == ["campaign", "world", "round", "order", "vertex", "activated", "round_cost"]
    assert sorted(set(table.campaign)) == [1, 2] and table.world.tolist() == (table.campaign - 1).tolist()
    for (campaign, place), part in table.groupby(["campaign", "round"]):
        r = a["first_round"][campaign - 1] + place - 1
        seeds = graph.of_numbers(a["seeds"][a["batch_begin"][r] : a["batch_begin"][r + 1]])
        active = graph.of_numbers(a["activated"][a["activated_begin"][r] : a["activated_begin"][r + 1]])
        chosen = part.dropna(subset="order")
        assert texts(chosen.vertex) == texts(called(graph, seeds))
        assert sorted(texts(part.vertex)) == sorted(texts(called(graph, active)))
        assert part.activated.all() and (part.round_cost == a["cost"][r] * float(file.attributes["unit"])).all()
    started = exported("started.h5")
    assert started.world.isna().all() and started.activated.isna().all() and started.order.tolist() == [1, 2]


def test_diversity_index(folder, graph, exported, record, run):
    record("diversity", "index", folder / "g.h5", *CPU, "--out", folder / "contexts.h5")
    table = exported("contexts.h5", "--graph", folder / "g.h5")
    assert list(table) == ["model", "k", "rank", "vertex", "score"]
    for (model, k), part in table.groupby(["model", "k"]):
        search = ("diversity", "search", folder / "g.h5", "-k", k, "-t", N, "--model", model, *CPU, "--force")
        top = [one for one in record(*search, "--out", folder / "found.h5")["top"] if one["score"]]
        assert texts(part.vertex) == texts([one["vertex"] for one in top])
        assert part.score.tolist() == [one["score"] for one in top] and part["rank"].tolist() == [
            *range(1, len(top) + 1)
        ]
    code, _, err = run("export", folder / "contexts.h5")
    assert code == 2 and "give its graph by --graph" in err


def test_diversity(folder, graph, exported, record):
    search = ("diversity", "search", folder / "g.h5", "-k", 2, "-t", N, "--model", "truss", *CPU)
    top = record(*search, "--out", folder / "again.h5")["top"]
    table = exported("diversity.h5")
    assert table["rank"].max() == N
    for rank, one in enumerate(top, 1):
        part = table[table["rank"] == rank]
        assert set(texts(part.vertex)) == {str(one["vertex"])} and set(part.score) == {one["score"]}
        circles = [texts(own.member) for _, own in part.dropna().groupby("circle")]
        kind = int if graph.labels is None else str
        assert [[kind(float(v)) if kind is int else v for v in circle] for circle in circles] == one["contexts"]


def test_ego_networks_and_cores(folder, graph, exported):
    whole = nx.Graph(zip(np.repeat(np.arange(N), np.diff(graph.indptr)).tolist(), graph.indices.tolist(), strict=True))
    place = {str(name): v for v, name in enumerate(called(graph, range(N)))}
    table = exported("egonets.h5")
    found = {(place[str(c)], frozenset((place[str(u)], place[str(v)]))) for c, u, v in table.itertuples(index=False)}
    assert len(found) == len(table)
    assert found == {(c, frozenset(edge)) for c in whole for edge in whole.subgraph(whole[c]).edges}
    cores = nx.core_number(whole)
    table = exported("decomposition.h5", "--graph", folder / "g.h5")
    assert len(table) == whole.number_of_edges()
    assert table.source_coreness.tolist() == [cores[place[str(v)]] for v in table.source]
    assert table.target_coreness.tolist() == [cores[place[str(v)]] for v in table.target]
    assert list(exported("decomposition.h5")) == ["source", "target", "trussness"]


def test_metrics(folder, graph, exported):
    table = exported("reach.h5", "--graph", folder / "g.h5")
    assert list(table) == ["vertex", "total", "mean"]
    assert texts(table.vertex) == texts(called(graph, range(N)))
    assert (table["mean"] == table.total / 8).all()


def test_forms_say_the_same(folder, good, record, tmp_path):
    expected = pd.read_csv(io.StringIO(good("export", folder / "topk.h5", "--graph", folder / "g.h5")))
    for form in ("csv", "tsv", "json", *(form for form, needed in NEEDED.items() if find_spec(needed))):
        path = tmp_path / f"t.{form}"
        said = record("export", folder / "topk.h5", "--graph", folder / "g.h5", "--out", path)
        assert (said["kind"], said["rows"], said["columns"]) == ("topk", len(expected), list(expected))
        if form == "json":
            found = pd.DataFrame(json.loads(path.read_text())["rows"])
        elif form == "parquet":
            found = pd.read_parquet(path)
        elif form == "xlsx":
            found = pd.read_excel(path)
        else:
            found = pd.read_csv(path, sep="\t" if form == "tsv" else ",")
        pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    printed = record("export", folder / "topk.h5", "--graph", folder / "g.h5")
    assert printed == json.loads((tmp_path / "t.json").read_text())


def test_what_excel_opens_is_text_where_it_was_text_and_rounded_where_it_is_a_guess(tmp_path, good):
    openpyxl = pytest.importorskip("openpyxl")
    names = ["=1+1", "Jürgen, Groß", "007", "ann"]
    pd.DataFrame({"source": names[:3], "target": names[1:]}).to_csv(tmp_path / "e.csv", index=False)
    good("graph", "import", tmp_path / "e.csv", "--ids", "text", "--out", tmp_path / "g.h5")
    good("export", tmp_path / "g.h5", "--out", tmp_path / "t.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx")["graph"]
    cells = {cell.value: cell.data_type for (cell, *_) in sheet.iter_rows(min_row=2)}
    assert cells == dict.fromkeys(names[:3], "s") and sheet.freeze_panes == "A2"
    columns = {"spread": [962.3871, 12.3456, 3.0], "stderr": [2.0, 0.04, 0.0], "score": [0.123456789, 0.5, 4.0]}
    write_metrics(tmp_path / "m.h5", {"k": [1, 2, 3], **columns})
    good("export", tmp_path / "m.h5", "--out", tmp_path / "m.xlsx")
    rows = [*openpyxl.load_workbook(tmp_path / "m.xlsx")["metrics"].iter_rows(min_row=2)]
    assert [[cell.value for cell in row[1:3]] for row in rows] == [[962, 2], [12.35, 0.04], [3, 0]]
    assert [row[3].value for row in rows] == columns["score"]
    assert [row[3].number_format for row in rows] == ["0.0000", "General", "General"]
    good("export", tmp_path / "m.h5", "--out", tmp_path / "m.xlsx")


def test_a_workbook_of_another_kind_is_not_replaced(tmp_path, run, folder):
    pytest.importorskip("openpyxl")
    out = tmp_path / "t.xlsx"
    assert run("export", folder / "seeds.h5", "--out", out)[0] == 0
    code, _, err = run("export", folder / "topk.h5", "--graph", folder / "g.h5", "--out", out)
    assert code == 2 and "is no .xlsx table of topk" in err
    out.write_bytes(b"PK\x03\x04 and no workbook")
    assert run("export", folder / "seeds.h5", "--out", out)[0] == 2


def test_csv_for_an_excel_that_writes_decimals_with_a_comma(tmp_path, good, run):
    write_metrics(tmp_path / "m.h5", {"k": [1, 2], "mean": [0.5, 1.25]})
    good("export", tmp_path / "m.h5", "--decimal", ",", "--bom", "--out", tmp_path / "m.csv")
    assert (tmp_path / "m.csv").read_bytes() == "\ufeffk;mean\n1;0,5\n2;1,25\n".encode()
    good("export", tmp_path / "m.h5", "--out", tmp_path / "m.csv")  # the same table, written otherwise
    assert (tmp_path / "m.csv").read_text() == "k,mean\n1,0.5\n2,1.25\n"
    for words in (("--bom",), ("--decimal", ",", "--out", tmp_path / "m.json")):
        code, _, err = run("export", tmp_path / "m.h5", *words)
        assert code == 2 and f"{words[0]} is about a file of CSV or TSV; leave it out" in err


def test_pieces_make_the_whole(folder, good, monkeypatch):
    names = ("g.h5", "rrsets.h5", "campaign.h5", "diversity.h5")
    whole = [good("export", folder / name) for name in names]
    monkeypatch.setattr(tables, "CHUNK", 7)
    assert [good("export", folder / name) for name in names] == whole


def test_nothing_is_null_in_json(tmp_path, record):
    write_metrics(tmp_path / "m.h5", {"a": [1, 2, 3], "b": [0.1 + 0.2, float("nan"), float("inf")]})
    rows = record("export", tmp_path / "m.h5")["rows"]
    assert rows == [{"a": 1, "b": 0.1 + 0.2}, {"a": 2, "b": None}, {"a": 3, "b": None}]


def test_a_table_without_rows_has_its_columns(tmp_path, good):
    write_metrics(tmp_path / "m.h5", {"a": [], "b": []})
    assert good("export", tmp_path / "m.h5") == "a,b\n"
    assert json.loads(good("export", tmp_path / "m.h5", "--json")) == {"kind": "metrics", "rows": []}


def test_what_is_refused(folder, run, tmp_path, monkeypatch):
    out = tmp_path / "t.csv"
    for words, code, expected in [
        (("seeds.h5", "--out", tmp_path / "t.xls"), 2, "the name of a table ends in .csv, .tsv, .json, .parquet"),
        (("seeds.h5", "--out", tmp_path / "none" / "t.csv"), 3, "there is no folder"),
        (("g.h5", "--graph", folder / "g.h5", "--out", out), 2, "is a graph itself"),
        (("seeds.h5", "--graph", folder / "seeds.h5", "--out", out), 3, "graph is needed here"),
        (("none.h5", "--out", out), 3, "does not exist"),
    ]:
        found, printed, err = run("export", folder / words[0], *words[1:])
        assert found == code and expected in err and not printed and not out.exists()
    write_graph(tmp_path / "other.h5", build_graph(np.array([0]), np.array([1])))
    code, _, err = run("export", folder / "seeds.h5", "--graph", tmp_path / "other.h5", "--out", out)
    assert code == 3 and "was not made on" in err and not out.exists()
    os.link(folder / "seeds.h5", tmp_path / "same.csv")
    code, _, err = run("export", tmp_path / "same.csv", "--out", tmp_path / "same.csv")
    assert code == 2 and "is an input, too" in err
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = run("export", folder / "seeds.h5", "--out", tmp_path / "t.parquet")
    assert code == 2 and "install gpukit[parquet]" in err


def test_sources_that_an_answer_does_not_hold(folder, run, tmp_path):
    """Of a graph without names the file has their internal ids alone."""
    from gpukit.artifacts import store

    file = read(folder / "topk.h5")
    if "labels/vertices" in file.arrays:
        return
    arrays = dict(file.arrays)
    arrays["sources"] = np.setdiff1d(np.arange(N, dtype=np.int32), arrays["internal"])[:1].repeat(1)
    arrays["source_offsets"], arrays["source_mass"] = np.array([0, 1, 1]), np.array([1 << 62], np.uint64)
    arrays["source_offsets"] = np.array([0, 1])
    end = int(arrays["offsets"][1])
    arrays["offsets"] = arrays["offsets"][:2]
    arrays |= {name: arrays[name][:end] for name in ("nodes", "internal", "scores", "certain")}
    store.write(tmp_path / "t.h5", "topk", arrays, file.attributes)
    code, _, err = run("export", tmp_path / "t.h5")
    assert code == 2 and "give its graph by --graph" in err
    assert run("export", tmp_path / "t.h5", "--graph", folder / "g.h5")[0] == 0


# Graphs to text and back

PACKED = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
@pytest.mark.parametrize("kind", ["labels", "ids"])
def test_import_export_import(tmp_path, record, separator, header, kind, packed):
    """pandas is the judge in between: it rewrites the table with this separator."""
    u, v = np.array(nx.gnm_random_graph(N, 50, seed=2, directed=True).edges).T
    w = np.random.default_rng(1).random(50).round(4) + 1e-4
    called = np.array(NAMES, object) if kind == "labels" else np.arange(N) * 5
    first = pd.DataFrame({"source": called[u], "target": called[v], "p": w})
    quoting = {"quoting": 1} if kind == "labels" else {}  # a name that begins with the sign of a comment
    first.to_csv(tmp_path / "first.csv", index=False, **quoting)
    how = ("--weights", "file", *(("--ids", "text") if kind == "labels" else ()))
    made = record("graph", "import", tmp_path / "first.csv", "--out", tmp_path / "a.h5", *how)
    record("export", tmp_path / "a.h5", "--out", tmp_path / "table.csv")
    table = pd.read_csv(tmp_path / "table.csv", dtype={"source": str, "target": str})
    expected = first.astype({"source": str, "target": str})
    assert set(zip(table.source, table.target, strict=True)) == set(zip(expected.source, expected.target, strict=True))
    merged = table.merge(expected, on=["source", "target"])
    assert np.abs(merged.probability - merged.p).max() < 2**-32
    again = table.to_csv(None, index=False, header=header, sep=separator, **quoting)
    (tmp_path / "again").write_bytes(PACKED[packed](again.encode()))
    back = record("graph", "import", tmp_path / "again", "--out", tmp_path / "b.h5", *how)
    assert back["digest"] == made["digest"]
    assert read_header(tmp_path / "b.h5").version == (2 if kind == "labels" else 1)


@pytest.mark.parametrize("weights", ["wc", "const:0.1", "trivalency", "none"])
@pytest.mark.parametrize("undirected", [True, False])
def test_schemes_survive(tmp_path, record, weights, undirected):
    (tmp_path / "e.txt").write_text("ann bob\nbob cy\ncy ann\ndee ann\n")
    how = ("--weights", weights, *(["--undirected"] if undirected else []))
    made = record("graph", "import", tmp_path / "e.txt", "--out", tmp_path / "a.h5", *how)
    record("export", tmp_path / "a.h5", "--out", tmp_path / "t.tsv")
    assert record("graph", "import", tmp_path / "t.tsv", "--out", tmp_path / "b.h5", *how)["digest"] == made["digest"]


def test_what_a_table_of_edges_does_not_show_is_said(tmp_path, run):
    (tmp_path / "e.txt").write_text("ann bob\ncy cy\n")
    assert run("graph", "import", tmp_path / "e.txt", "--undirected", "--out", tmp_path / "a.h5")[0] == 0
    _, out, err = run("export", tmp_path / "a.h5")
    assert "1 vertices have no edges, and no row" in err and "every edge is listed in both directions" in err
    assert out.count("\n") == 3


@pytest.mark.parametrize("form", FORMS)
def test_tables_are_files_of_vertices(folder, good, record, tmp_path, monkeypatch, form):
    """Exported tables are inputs again: as seeds, as sources, as vertices of other options, and on standard input."""
    table = tmp_path / f"seeds.{form}"
    good("export", folder / "seeds.h5", "--out", table)
    spread = ("evaluate", "spread", folder / "g.h5", "--runs", 50, *CPU, "--seeds")
    wanted = record(*spread, folder / "seeds.h5")
    assert record(*spread, table)["spread"] == wanted["spread"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    assert record(*spread, "-")["spread"] == wanted["spread"]
    seeds = called(read_graph(folder / "g.h5"), read(folder / "seeds.h5").arrays["internal"])
    query = ("kpar", "query", folder / "g.h5", "--index", folder / "irw.h5", "-k", 3, *CPU)
    answers = record(*query, "--sources", table, "--among", table)["results"]
    assert [one["source"] for one in answers] == seeds and {v for one in answers for v in one["nodes"]} <= set(seeds)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("topk", "the columns vertex and source"),
        ("campaign", "the columns vertex and campaign"),
        ("diversity", "the columns vertex and member"),
        ("rounds", "seeds of several rounds"),
    ],
)
def test_tables_that_name_more_than_some_vertices_are_refused(folder, good, run, tmp_path, form, name, why):
    table = tmp_path / f"table.{form}"
    good("export", folder / f"{name}.h5", "--out", table)
    for command in (("evaluate", "spread", "--seeds"), ("kpar", "truth", "--out", tmp_path / "t.h5", "--sources")):
        code, _, err = run(*command[:2], folder / "g.h5", *command[2:], table)
        last = err.splitlines()[-1]
        assert code == 3 and last.startswith("gpukit: error: ") and why in last and "table." in last, err
    assert not (tmp_path / "t.h5").exists()


@pytest.mark.parametrize(("name", "column"), [("topk", "certain"), ("campaign", "activated"), ("started", "activated")])
def test_what_is_true_or_false_has_one_form_in_each_medium(folder, good, tmp_path, name, column):
    parquet = pytest.importorskip("pyarrow.parquet")
    words = ("export", folder / f"{name}.h5")
    rows = [row[column] for row in json.loads(good(*words, "--json"))["rows"]]
    assert rows and set(map(type, rows)) <= {bool, type(None)}
    lines = good(*words).splitlines()
    place = lines[0].split(",").index(f'"{column}"' if '"' in lines[0] else column)
    by_csv = pd.read_csv(io.StringIO("\n".join(lines)), dtype=str, keep_default_na=False).iloc[:, place].tolist()
    assert by_csv == [{True: "1", False: "0", None: ""}[one] for one in rows]
    good(*words, "--out", tmp_path / "t.parquet")
    table = parquet.read_table(tmp_path / "t.parquet")
    assert str(table.schema.field(column).type) == "bool" and table[column].to_pylist() == rows


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet"])
def test_names_that_look_like_numbers_come_back(tmp_path, record, form):
    """Without an option: the table says by its quotes that they are names."""
    import gpukit as gk

    names = ["1e5", "007", "12", "#x", "%y", "a,b", 'q"', "1,234", "-1", "nan"]
    first = gk.from_edges(names, names[1:] + names[:1], [0.5] * len(names))
    first.save(tmp_path / "a.h5")
    record("export", tmp_path / "a.h5", "--out", tmp_path / f"t.{form}")
    again = gk.read_edges(tmp_path / f"t.{form}", source="source", target="target", weight="probability")
    assert again.vertices == first.vertices
    assert record("graph", "import", tmp_path / f"t.{form}", "--weights", "file", "--out", tmp_path / "b.h5")[
        "n"
    ] == len(names)
    if form != "parquet":
        assert gk.read_edges(tmp_path / f"t.{form}").vertices == first.vertices
