"""Every command gives the same answer on a graph with names as on the same graph with numbers, but in names."""

import csv
import io
import json

import networkx as nx
import numpy as np
import pytest

from gpukit.artifacts import read, read_graph
from gpukit.artifacts.labels import names_in

N = 24
ODD = ["New York, NY", "Zoë", "a:1", 'the "one"', "#tag", "42", "x y", "日本", "émile", "O'Neill"]
NAMES = sorted([*ODD, *(f"user{i}" for i in range(N - len(ODD)))], key=str.encode)
CPU = ("--device", "cpu")


def quote(name):
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a graph by names and the same one by numbers, which are the places of the names."""
    from gpukit.cli.app import main

    folder = tmp_path_factory.mktemp("labels")
    edges = sorted(nx.connected_watts_strogatz_graph(N, 6, 0.3, seed=5).edges)
    (folder / "names.csv").write_text(
        "source,target\n" + "".join(f"{quote(NAMES[v])},{quote(NAMES[u])}\n" for u, v in edges)
    )
    (folder / "numbers.csv").write_text("".join(f"{u},{v}\n" for u, v in edges))
    for name, more in (("names", ["--ids", "text"]), ("numbers", [])):
        words = ["graph", "import", folder / f"{name}.csv", "--undirected", "--out", folder / f"{name}.h5", *more]
        assert main([str(word) for word in words]) == 0
    return folder


PLACE = {name: i for i, name in enumerate(NAMES)}
WITHOUT = {"time_s", "choice_s", "digest", "device", "dag_share"}


def in_numbers(value):
    """Return a record with numbers for names, and without what differs between any two runs."""
    if isinstance(value, dict):
        return {key: in_numbers(item) for key, item in value.items() if key not in WITHOUT}
    if isinstance(value, list):
        return [in_numbers(item) for item in value]
    return PLACE.get(value, value) if isinstance(value, str) else value


@pytest.fixture
def both(folder, record):
    """Return a function that runs a command on both graphs, and returns the record of the one with names."""

    def both(*words, **files):
        found = {}
        for kind in ("names", "numbers"):
            given = []
            for word in words:
                if isinstance(word, list):  # vertices, as the graph calls them
                    word = ",".join(quote(NAMES[v]) if kind == "names" else str(v) for v in word)
                elif str(word) in files:
                    path = folder / f"{kind}-{word}.txt"
                    path.write_text(files[str(word)](lambda v, kind=kind: quote(NAMES[v]) if kind == "names" else v))
                    word = path
                elif str(word).endswith(".h5"):
                    word = folder / (f"{kind}.h5" if word == "G.h5" else f"{kind}-{word}")
                given.append(word)
            found[kind] = record(*given)
        assert in_numbers(found["names"]) == in_numbers(found["numbers"])
        return found["names"]

    return both


def test_the_graph(folder, both, good):
    graph = read_graph(folder / "names.h5")
    assert graph.original(np.arange(N)).tolist() == NAMES
    numbers = read_graph(folder / "numbers.h5")
    assert np.array_equal(graph.indices, numbers.indices) and np.array_equal(graph.indptr, numbers.indptr)
    assert "names.h5: ok" in good("verify", folder / "names.h5")


def test_gim(folder, both, good):
    gim = ("gim", "run", "G.h5", "--out", "s.h5", *CPU, "--min-sets", 100)
    assert set(both(*gim, "-k", 4)["seeds"]) <= set(NAMES)
    seeds = read(folder / "names-s.h5")
    assert names_in(seeds, seeds.arrays["seeds"]) == both(*gim, "-k", 4)["seeds"]
    limited = both(*gim, "-k", 4, "--include", [0, 3], "--exclude", [5])
    assert {NAMES[0], NAMES[3]} <= set(limited["seeds"])
    listed = {"file": lambda call: "# some\n" + "".join(f"{call(v)}\n" for v in (1, 2, 7))}
    both(*gim, "-k", 4, "--include", "file", **listed)
    costs = {"costs": lambda call: "".join(f"{call(v)} {1 + v / 8}\n" for v in range(N))}
    both("gim", "run", "G.h5", "--out", "s.h5", *CPU, "--min-sets", 100, "--budget", 5, "--costs", "costs", **costs)
    both(*gim, "-k", 2, "--targets", "costs", costs=lambda call: "".join(f"{call(v)}, {v}\n" for v in range(9)))
    both("gim", "baseline", "G.h5", "-k", 3, "--method", "degree", "--out", "b.h5")
    both("gim", "sample", "G.h5", "--out", "rr.h5", "--count", 500, *CPU)
    chosen = both("gim", "select", "rr.h5", "--out", "t.h5", "-k", 3)
    both("evaluate", "spread", "G.h5", "--seeds", "t.h5", "--runs", 50, *CPU)
    both("evaluate", "spread", "G.h5", "--ids", [1, 2, 3], "--runs", 50, *CPU)
    both("evaluate", "spread", "G.h5", "--seeds", "file", "--runs", 50, *CPU, **listed)
    text = good("gim", "select", folder / "names-rr.h5", "--out", folder / "t.h5", "-k", 20)
    assert '"New York, NY"' in text and '"the ""one"""' in text and len(chosen["seeds"]) == 3
    good("verify", *(folder / f"names-{name}.h5" for name in ("s", "b", "rr", "t")))


def test_seeds_of_another_graph_are_found_by_name(folder, record, run):
    (folder / "other.csv").write_text("bob,Zoë\nZoë,日本\nbob,ann\nzed,bob\n")
    record("graph", "import", folder / "other.csv", "--out", folder / "other.h5")
    record("gim", "baseline", folder / "other.h5", "-k", 1, "--method", "degree", "--out", folder / "o.h5")
    code, _, err = run("evaluate", "spread", folder / "names.h5", "--seeds", folder / "o.h5", *CPU)
    assert code == 3 and "is not in the graph" in err
    (folder / "zoe.csv").write_text("Zoë,ann\nann,Zoë\nZoë,bob\n")
    record("graph", "import", folder / "zoe.csv", "--out", folder / "zoe.h5")
    record("gim", "baseline", folder / "zoe.h5", "-k", 1, "--method", "degree", "--out", folder / "z.h5")
    known = record("evaluate", "spread", folder / "names.h5", "--seeds", folder / "z.h5", *CPU, "--runs", 50)
    again = record("evaluate", "spread", folder / "names.h5", "--ids", "Zoë", *CPU, "--runs", 50)
    assert known["spread"] == again["spread"]
    code, _, err = run("evaluate", "spread", folder / "numbers.h5", "--seeds", folder / "z.h5", *CPU)
    assert code == 3 and "names vertices by names" in err


def test_imgpu(both):
    both("imgpu", "run", "G.h5", "--out", "i.h5", "-k", 3, "--worlds", 64, *CPU)
    both("imgpu", "reach", "G.h5", "--out", "r.h5", "--worlds", 32, *CPU)
    both("papers", "imgpu", "baseline", "G.h5", "--out", "p.h5", "-k", 2, "--method", "pmia")
    both("papers", "imgpu", "shape", "G.h5", "--worlds", 4)


def test_kpar(folder, both, good, record):
    both("kpar", "rank", "G.h5", "--out", "pr.h5", *CPU)
    both("kpar", "index", "G.h5", "--out", "irw.h5", *CPU)
    query = ("kpar", "query", "G.h5", "--index", "irw.h5", "-k", 5, *CPU, "--out")
    first = both(*query, "a.h5", "--source", [PLACE["New York, NY"]])
    assert first["results"][0]["source"] == "New York, NY"
    both(*query, "a.h5", "--source", [1, 2])
    lines = {"sources": lambda call: f"{call(3)}\n# none\n{call(1)}:2,{call(4)}:3\n"}
    many = both(*query, "a.h5", "--sources", "sources", **lines)
    assert [name for name, _ in many["results"][1]["source"]] == [NAMES[1], NAMES[4]]
    both(*query, "p1.h5", "--sources", "sources", "--part", "1/2", **lines)
    both(*query, "p2.h5", "--sources", "sources", "--part", "2/2", **lines)
    both("kpar", "gather", "p1.h5", "p2.h5", "--out", "whole.h5")
    assert (folder / "names-whole.h5").read_bytes() == (folder / "names-a.h5").read_bytes()
    both("kpar", "truth", "G.h5", "-k", 5, "--out", "truth.h5", "--source", [3])
    both("papers", "kpar", "baseline", "G.h5", "-k", 5, "--out", "m.h5", "--source", [3], *CPU)
    both("evaluate", "ppr", "G.h5", "--answers", "a.h5")
    good("verify", folder / "names-a.h5", folder / "names-truth.h5")


def test_what_is_a_name_as_it_stands_has_no_weight(folder, record, run):
    truth = ("kpar", "truth", folder / "names.h5", "-k", 1, "--source")
    assert record(*truth, "a:1")["results"][0]["source"] == "a:1"
    assert record(*truth, "a:1:3,Zoë")["results"][0]["source"] == [["Zoë", 0.25], ["a:1", 0.75]]
    assert record(*truth, '"a:1":3, "New York, NY"')["results"][0]["source"] == [["New York, NY", 0.25], ["a:1", 0.75]]
    assert record(*truth, '"the ""one""":2')["results"][0]["source"] == 'the "one"'
    for wrong in ('"Zoë', '"Zoë" x', '"Zoë":0', "Zoë,", ",", ""):
        assert run(*truth, wrong)[0] in (2, 3)
    code, _, err = run(*truth, '"a:1:3"')
    assert code == 3 and "vertex 'a:1:3' is not in the graph" in err
    code, _, err = run(*truth, "Zoë:x")
    assert code == 2 and "neither a name nor NAME:WEIGHT" in err
    code, _, err = run(*truth, "Zoe:2")
    assert code == 3 and "vertex 'Zoe' is not in the graph" in err
    assert record(*truth, ODD[0])["results"][0]["source"] == ODD[0] == "New York, NY"
    assert record(*truth, "New York, NY:3,Zoë")["results"][0]["source"] == [["New York, NY", 0.75], ["Zoë", 0.25]]
    code, _, err = run(*truth, "New York,Zoë")
    assert code == 3 and "vertex 'New York,Zoë' is not in the graph" in err and "those with a comma in quotes" in err
    assert "did you mean 'New York, NY'? Otherwise give names as in the edge list" in err
    (folder / "bare.txt").write_text(f"Zoë\n{ODD[0]}\n")
    code, _, err = run("kpar", "truth", folder / "names.h5", "-k", 1, "--sources", folder / "bare.txt")
    assert code == 3 and "line 2: vertex 'New York' is not" in err and "those with a comma in quotes" in err


def test_sources_that_are_printed_and_exported_are_taken_back(folder, good, record):
    """Names that hold commas, quotes, colons, blanks and a number sign, alone and in a set."""
    queries = [*map(quote, ODD), ", ".join(f"{quote(name)}:0.{place}" for place, name in enumerate(ODD[:5], 1))]
    queries.append(f"{quote(ODD[6])}:1e-3,{quote(ODD[2])}")
    (folder / "queries.txt").write_text("\n".join(queries) + "\n")
    truth = ("kpar", "truth", folder / "names.h5", "-k", 2)
    results = record(*truth, "--sources", folder / "queries.txt", "--out", folder / "odd.h5")["results"]
    rows = list(csv.DictReader(good("export", folder / "odd.h5").splitlines()))
    exported = [row["source"] for row in rows if row["place"] == "1"]
    printed = [
        line.removeprefix("from ").partition("  ")[0]
        for text in exported for line in good(*truth, "--source", text).splitlines() if line.startswith("from ")
    ]  # fmt: skip
    assert exported == printed and exported[0] == '"New York, NY"'
    (folder / "again.txt").write_text("\n".join(printed) + "\n")
    again = record(*truth, "--sources", folder / "again.txt")["results"]
    for found, expected in zip(again, results, strict=True):
        assert found["nodes"] == expected["nodes"] and found["scores"] == pytest.approx(expected["scores"], rel=1e-10)


def test_merit(folder, both, good, record):
    both("merit", "run", "G.h5", "--out", "c.h5", "--eta", 12, "--batch", 2, *CPU)
    costs = {"costs": lambda call: "".join(f"{call(v)}\t{1 + v}\n" for v in range(N))}
    both("merit", "run", "G.h5", "--out", "c.h5", "--eta", 12, "--batch", 2, "--costs", "costs", *CPU, **costs)
    both("papers", "merit", "once", "G.h5", "--out", "o.h5", "--eta", 9)
    started = both("merit", "start", "G.h5", "--out", "st.h5", "--eta", 12, "--batch", 2, *CPU)
    new = [v for v in range(N) if NAMES[v] not in started["batch"]][:3]
    both("merit", "next", "G.h5", "st.h5", "--observed", new, *CPU)
    both("merit", "next", "G.h5", "st.h5", "--observed", "", *CPU)
    batch = [PLACE[name] for name in started["batch"]]
    rest = [v for v in range(N) if v not in batch]
    replay = {"replay": lambda call: f"{','.join(str(call(v)) for v in [*batch, *rest])}\n"}
    both("merit", "run", "G.h5", "--out", "c.h5", "--eta", 12, "--batch", 2, "--replay", "replay", *CPU, **replay)
    good("verify", folder / "names-c.h5", folder / "names-st.h5", folder / "names-o.h5")


def test_diversity(folder, both, good):
    search = ("diversity", "search", "G.h5", "-t", 6, "--model", "comp", "-k", 2, *CPU, "--out")
    found = both(*search, "d.h5")
    assert found["top"][0]["vertex"] in NAMES
    both(*search, "d1.h5", "--part", "1/2")
    both(*search, "d2.h5", "--part", "2/2")
    both("diversity", "gather", "d1.h5", "d2.h5", "--out", "dg.h5")
    assert (folder / "names-dg.h5").read_bytes() == (folder / "names-d.h5").read_bytes()
    both("evaluate", "diversity", "G.h5", "--answers", "d.h5")
    both("diversity", "egos", "G.h5", "--out", "e.h5", "--vertices", [3, 5], *CPU)
    both("diversity", "decompose", "G.h5", "--out", "dec.h5", *CPU)
    good("verify", *(folder / f"names-{name}.h5" for name in ("d", "d1", "e", "dec")))


FILES = {
    "unknown": ("Zoë\nnobody\n", "line 2: vertex 'nobody' is not in the graph"),
    "twice": ('Zoë\n"Zoë"\n', "line 2: vertex Zoë is given twice, first in line 1"),
    "two names in quotes": ('"Zoë","x y"\n', "line 1: 2 names"),
    "open quote": ('"Zoë\n', "line 1: a quote is not closed"),
    "nothing": ("# none\n", "names no vertices"),
    "no UTF-8": (b"Zo\xeb\n", "line 1: not text in UTF-8"),
}


@pytest.mark.parametrize("key", FILES)
def test_files_of_names_that_are_wrong(folder, run, key):
    content, expected = FILES[key]
    path = folder / "wrong.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out = folder / "wrong.h5"
    code, _, err = run("diversity", "egos", folder / "names.h5", "--out", out, *CPU, "--vertices", path)
    (line,) = [line for line in err.splitlines() if "error" in line]
    assert code == 3 and expected in line and not out.exists()


def test_a_line_is_a_name_with_its_blanks_and_commas(folder, record):
    (folder / "lines.txt").write_text('x y\nNew York, NY\n"the ""one"""\n"#tag"\n')
    egos = ("diversity", "egos", folder / "names.h5", "--out", folder / "l.h5", *CPU, "--vertices")
    assert record(*egos, folder / "lines.txt")["egos"] == 4
    (folder / "numbers.txt").write_text('New York, NY,3\nx y\t4\n"the ""one""" 5\n42;6\n')
    gim = ("gim", "run", folder / "names.h5", "--out", folder / "s.h5", *CPU, "-k", 1, "--min-sets", 10)
    record(*gim, "--targets", folder / "numbers.txt")


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("--include", "nobody"), 2, "'nobody' is neither a vertex of the graph nor a file"),
        (("--include", "Zoë,Zoë"), 2, "vertex Zoë is given twice"),
        (("--include", '"Zoë'), 2, "a quote is not closed"),
        (("--include", ""), 2, "'' is neither a vertex"),
        (
            ("--include", "New York"),
            2,
            "'New York' is neither a vertex of the graph nor a file; did you mean 'New York, NY'?",
        ),
    ],
)
def test_options_that_name_nobody(folder, run, words, code, expected):
    found, _, err = run("gim", "run", folder / "names.h5", "--out", folder / "x.h5", "-k", 1, *CPU, *words)
    assert found == code and expected in err


def test_names_do_not_go_with_a_number_of_vertices(folder, run):
    code, _, err = run(
        "graph", "import", folder / "names.csv", "--vertices", 99, "--out", folder / "x.h5", "--ids", "text"
    )
    assert code == 2 and "--vertices goes with whole numbers" in err


def test_the_report_shows_names(folder, record):
    from gpukit.report.tables import make_table, read_table, write_table

    good = ("--out", folder / "s.h5", *CPU, "--min-sets", 100)
    seeds = record("gim", "run", folder / "names.h5", "-k", 4, "--include", '"New York, NY",42', *good)["seeds"]
    rows = make_table("seeds", [("toy/ic", str(folder / "s.h5"))])
    assert [row["vertex"] for row in rows] == seeds
    write_table("seeds", rows, str(folder / "seeds.tsv"))
    assert [str(row["vertex"]) for row in read_table("seeds", str(folder / "seeds.tsv"))] == seeds
    record("diversity", "search", folder / "names.h5", "--out", folder / "d.h5", *CPU, "-t", 3, "-k", 2)
    top = make_table("diversity-top", [("toy/truss", str(folder / "d.h5"))])
    assert all(row["vertex"] in NAMES for row in top)
    json.dumps(top)


def test_people_read_names_in_quotes_and_scores_behind_them(folder, good):
    told = good("kpar", "query", folder / "names.h5", "--source", quote(ODD[0]), "-k", 3, *CPU)
    assert '  "New York, NY" (0.' in told


def test_sources_on_standard_input(folder, record, monkeypatch):
    text = f"{quote(ODD[0])}\nZoë:0.5,42\n".encode()
    (folder / "lines.txt").write_bytes(text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    truth = ("kpar", "truth", folder / "names.h5", "-k", 2, "--sources")
    assert record(*truth, "-")["results"] == record(*truth, folder / "lines.txt")["results"]


def test_seeds_on_standard_input(folder, record, run, monkeypatch):
    text = "Zoë\n42\n".encode()
    (folder / "seeds.txt").write_bytes(text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    spread = ("evaluate", "spread", folder / "names.h5", "--runs", 50, *CPU, "--seeds")
    assert record(*spread, "-")["spread"] == record(*spread, folder / "seeds.txt")["spread"] > 2
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((folder / "names.h5").read_bytes())))
    code, _, err = run(*spread, "-")
    assert code == 2 and "--seeds - is a text; give an artifact by the name of its file" in err
