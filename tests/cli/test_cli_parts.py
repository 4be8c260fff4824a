"""Answers in parts: gathered in any order they give the file of one run, byte for byte; parts that do not fit are
refused."""

import json

import numpy as np
import pytest

from gpukit.artifacts import read, write_graph
from gpukit.cli.app import main
from gpukit.graph.build import build_graph


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A graph whose original ids are not its internal ones, and an index of it."""
    folder = tmp_path_factory.mktemp("parts")
    u, v = 10 * np.random.default_rng(4).integers(1, 60, (2, 400))
    write_graph(folder / "G.h5", build_graph(u, v, undirected=True))
    assert main(["kpar", "index", str(folder / "G.h5"), "--out", str(folder / "I.h5"), "--device", "cpu"]) == 0
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def search(*options):
    return ["diversity", "search", "G.h5", "--model", "comp", "-k", 2, *options]


QUERY = ["kpar", "query", "G.h5", "--index", "I.h5", "--random", 7, "-k", 5, "--seed", 3]


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_queries_in_parts_are_the_whole(good, folder, parts):
    good(*QUERY, "--out", "whole.h5")
    files = [f"q{i}.h5" for i in range(1, parts + 1)]
    for i, file in enumerate(files, start=1):
        good(*QUERY, "--part", f"{i}/{parts}", "--out", file)
    found = json.loads(good("kpar", "gather", *reversed(files), "--out", "joined.h5", "--json"))
    assert (folder / "joined.h5").read_bytes() == (folder / "whole.h5").read_bytes()
    assert found["queries"] == 7


def test_records_hold_what_the_docs_promise(record, promised):
    record(*QUERY, "--part", "1/1", "--out", "q.h5")
    queries = record("kpar", "gather", "q.h5", "--out", "joined.h5")
    assert promised("kpar gather") == queries.keys() - {"params", "seed", "time_s"}
    record(*search("-t", 3, "--part", "1/1", "--out", "d.h5"))
    best = record("diversity", "gather", "d.h5", "--out", "best.h5")
    assert promised("diversity gather") == (best.keys() | best["top"][0].keys()) - {"params", "time_s"}


def test_queries_of_sets_keep_their_sources(good, folder):
    (folder / "sources.txt").write_text("10\n20:2 30:1\n40\n")
    query = ["kpar", "query", "G.h5", "--index", "I.h5", "--sources", "sources.txt", "-k", 4]
    good(*query, "--out", "whole.h5")
    for i in (1, 2):
        good(*query, "--part", f"{i}/2", "--out", f"s{i}.h5")
    good("kpar", "gather", "s1.h5", "s2.h5", "--out", "joined.h5")
    assert (folder / "joined.h5").read_bytes() == (folder / "whole.h5").read_bytes()


@pytest.mark.parametrize("t", [1, 12, 58])
@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize(("model", "k"), [("comp", 2), ("core", 2), ("truss", 3)])
def test_ranges_of_vertices_are_the_whole(good, folder, model, k, parts, t):
    """Also where an answer holds vertices without circles, and a range fewer vertices than t."""
    command = ["diversity", "search", "G.h5", "--model", model, "-k", k, "-t", t, "--device", "cpu"]
    good(*command, "--out", "best.h5")
    files = [f"d{i}.h5" for i in range(1, parts + 1)]
    for i, file in enumerate(files, start=1):
        good(*command, "--part", f"{i}/{parts}", "--out", file)
        inside = read(file, "diversity").arrays["internal"]
        n = read(file).attributes["n"]
        assert ((n * (i - 1) // parts <= inside) & (inside < n * i // parts)).all()
    found = json.loads(good("diversity", "gather", *reversed(files), "--out", "best_joined.h5", "--json"))
    assert (folder / "best_joined.h5").read_bytes() == (folder / "best.h5").read_bytes()
    assert len(found["top"]) == t


def test_what_is_no_part_of_it_is_refused(good, run):
    for i in (1, 2, 3):
        good(*search("-t", 4, "--part", f"{i}/3", "--out", f"p{i}.h5"))
    good(*search("-t", 5, "--part", "1/3", "--out", "other.h5"))
    good(*search("-t", 4, "--part", "1/2", "--out", "half.h5"))
    good(*search("-t", 4, "--out", "all.h5"))
    gather = ["diversity", "gather", "--out", "no.h5"]
    for files, line in (
        (["p1.h5", "p3.h5"], "part 2 of 3 is missing"),
        (["p1.h5", "p2.h5", "p2.h5", "p3.h5"], "part 2 of 3 is given twice"),
        (["other.h5", "p2.h5", "p3.h5"], "differ in params"),
        (["half.h5", "p2.h5"], "differ in params"),
        (["p1.h5", "all.h5"], "all.h5 is not a part"),
        (["p1.h5", "G.h5"], "diversity"),
    ):
        code, out, err = run(*gather, *files)
        assert (code, out) == (3, "") and line in err and err.count("error:") == 1, err
    good(*QUERY, "--part", "1/2", "--out", "of7.h5")
    good(*[9 if word == 7 else word for word in QUERY], "--part", "2/2", "--out", "of9.h5")
    code, out, err = run("kpar", "gather", "of7.h5", "of9.h5", "--out", "no.h5")
    assert (code, out) == (3, "") and "differ in params" in err
    for part in ("0/3", "4/3", "3", "a/b", "1/999"):
        code, out, err = run(*search("-t", 4, "--device", "cpu", "--part", part, "--out", "no.h5"))
        assert (code, out) == (2, "") and "--part is" in err, err
