"""``gpukit kpar update``: files, records, and refused changes."""

import signal
import subprocess
import sys

import numpy as np
import pytest

from gpukit.artifacts import read_graph, read_header, read_irw, write_graph
from gpukit.artifacts.verify import verify
from gpukit.cli.app import main
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A graph whose original ids are not its internal ones, its index, and edges to add and to remove."""
    folder = tmp_path_factory.mktemp("update")
    generator = np.random.default_rng(2)
    u, v = 10 * generator.integers(1, 40, (2, 160))
    graph = build_graph(np.append(u, 5), np.append(v, 5), weights=Weights())
    write_graph(folder / "G.h5", graph)
    words = [
        "papers",
        "kpar",
        "index",
        str(folder / "G.h5"),
        "--updatable",
        "--hubs",
        "--seed",
        "7",
        "--epsilon",
        "0.4",
    ]
    assert main([*words, "--out", str(folder / "I.h5")]) == 0
    tail = int(np.flatnonzero(np.diff(graph.indptr))[0])
    gone = graph.original([tail, graph.indices[graph.indptr[tail]]]).tolist()
    (folder / "add.txt").write_text("5 10\n10 5\n390 5\n5 5\n5 10\n")
    (folder / "remove.txt").write_text(f"{gone[0]} {gone[1]}\n5 20\n")
    return folder


def test_index_is_that_of_the_new_graph(folder, tmp_path, good, record, promised):
    words = ("--index", folder / "I.h5", "--add", folder / "add.txt", "--remove", folder / "remove.txt")
    done = record(
        "kpar", "update", folder / "G.h5", *words, "--out-graph", tmp_path / "G2.h5", "--out", tmp_path / "2.h5"
    )
    assert promised("kpar update") == done.keys() - {"params", "graph", "device", "time_s"}
    assert [done[name] for name in ("added", "removed", "already_there", "not_there", "loops")] == [3, 1, 0, 1, 1]
    before, after = read_graph(folder / "G.h5"), read_graph(tmp_path / "G2.h5")
    assert done["graph"] == {"n": after.n, "m": after.m} and after.m == before.m + 2
    assert read_header(tmp_path / "G2.h5").payload == done["digest"] and after.in_indptr is not None
    assert 0 < done["walks_redrawn"] < done["walks"] == len(read_irw(tmp_path / "2.h5", paths=True).arrays["moves"])
    again = ("--updatable", "--hubs", "--seed", 7, "--epsilon", 0.4, "--sizes", folder / "I.h5")
    good("papers", "kpar", "index", tmp_path / "G2.h5", *again, "--out", tmp_path / "S.h5")
    assert (tmp_path / "S.h5").read_bytes() == (tmp_path / "2.h5").read_bytes()
    for name in ("G2.h5", "2.h5"):
        verify(tmp_path / name)
    answer = record("kpar", "query", tmp_path / "G2.h5", "--index", tmp_path / "2.h5", "--source", 5, "-k", 2)
    assert answer["results"][0]["nodes"][0] == 5 and len(answer["results"][0]["nodes"]) == 2


def test_back_again_is_the_same_file(folder, tmp_path, good):
    def update(graph, index, *words):
        places = [tmp_path / f"{name}{len(list(tmp_path.iterdir()))}.h5" for name in "GI"]
        good("kpar", "update", graph, "--index", index, *words, "--out-graph", places[0], "--out", places[1])
        return places

    there = update(folder / "G.h5", folder / "I.h5", "--add", folder / "add.txt")
    back = update(*there, "--remove", folder / "add.txt")
    assert read_header(back[0]).payload == read_header(folder / "G.h5").payload
    assert back[1].read_bytes() == (folder / "I.h5").read_bytes()


def test_resized_is_as_if_made_at_once(folder, tmp_path, good):
    words = ("--index", folder / "I.h5", "--add", folder / "add.txt", "--resize")
    good("kpar", "update", folder / "G.h5", *words, "--out-graph", tmp_path / "G2.h5", "--out", tmp_path / "2.h5")
    asked = ("--updatable", "--hubs", "--seed", 7, "--epsilon", 0.4)
    good("papers", "kpar", "index", tmp_path / "G2.h5", *asked, "--out", tmp_path / "N.h5")
    assert (tmp_path / "N.h5").read_bytes() == (tmp_path / "2.h5").read_bytes()


KILLED = """
import os, signal, sys
from gpukit.cli.app import main
replace, left = os.replace, int(sys.argv[1])
def until(*given, **how):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    replace(*given, **how)
os.replace = until
main(sys.argv[2:])
"""


def test_a_kill_leaves_whole_files_or_none(folder, tmp_path, good):
    asked = ["kpar", "update", str(folder / "G.h5"), "--index", str(folder / "I.h5"), "--add", str(folder / "add.txt")]
    good(*asked, "--out-graph", tmp_path / "whole-G.h5", "--out", tmp_path / "whole-I.h5")
    words = [*asked, "--out-graph", str(tmp_path / "G.h5"), "--out", str(tmp_path / "I.h5")]
    there = []
    for after in (0, 1):
        done = subprocess.run([sys.executable, "-c", KILLED, str(after), *words], capture_output=True)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        there.append([name for name in "GI" if (tmp_path / f"{name}.h5").exists()])
        assert all(
            (tmp_path / f"{name}.h5").read_bytes() == (tmp_path / f"whole-{name}.h5").read_bytes() for name in there[-1]
        )
    assert [len(names) for names in there] == [0, 1]
    good(*words)
    for name in "GI":
        assert (tmp_path / f"{name}.h5").read_bytes() == (tmp_path / f"whole-{name}.h5").read_bytes()


def test_names_and_both_directions(tmp_path, good, record):
    (tmp_path / "e.csv").write_text("ann,bob\nbob,cy\n")
    good("graph", "import", tmp_path / "e.csv", "--undirected", "--out", tmp_path / "G.h5")
    good("kpar", "index", tmp_path / "G.h5", "--updatable", "--out", tmp_path / "I.h5")
    (tmp_path / "add.csv").write_text("cy,ann\n")
    words = ("--index", tmp_path / "I.h5", "--add", tmp_path / "add.csv", "--out-graph", tmp_path / "G2.h5")
    assert record("kpar", "update", tmp_path / "G.h5", *words, "--out", tmp_path / "2.h5")["added"] == 2
    (tmp_path / "numbers.txt").write_text("1 2\n")
    (tmp_path / "e.csv").write_text("ann,bob\nbob,cy\ncy,ann\n")
    good("graph", "import", tmp_path / "e.csv", "--undirected", "--out", tmp_path / "H.h5")
    assert read_header(tmp_path / "H.h5").payload == read_header(tmp_path / "G2.h5").payload


@pytest.fixture(scope="module")
def weighted(tmp_path_factory):
    """A graph of names with weights up to 10, and its index."""
    folder = tmp_path_factory.mktemp("weighted")
    (folder / "e.csv").write_text("ann,bob,2\nbob,cy,8.5\ncy,ann,0.25\n")
    words = ["--weights", "file", "--scale", "10", "--undirected", "--out", str(folder / "G.h5")]
    assert main(["graph", "import", str(folder / "e.csv"), *words]) == 0
    words = ["--updatable", "--weighted", "--out", str(folder / "I.h5")]
    assert main(["kpar", "index", str(folder / "G.h5"), *words]) == 0
    return folder


def test_weights_and_vertices(weighted, tmp_path, good, record):
    """The graph equals an imported one, the index equals a new one, and undoing the changes gives the same file."""
    (tmp_path / "add.csv").write_text("ada,bob,10\nzoe,ada,1\n")
    (tmp_path / "set.csv").write_text("bob,cy,3\nzoe,cy,3\nbob,ann,2\n")
    (tmp_path / "new.txt").write_text("zoe\nada\n")
    (tmp_path / "old.txt").write_text("ann\n")
    words = ("--index", weighted / "I.h5", "--add", tmp_path / "add.csv", "--set-weights", tmp_path / "set.csv")
    words += ("--add-vertices", tmp_path / "new.txt", "--out-graph", tmp_path / "G2.h5", "--out", tmp_path / "2.h5")
    done = record("kpar", "update", weighted / "G.h5", *words)
    names = ("added", "removed", "not_there", "weighed", "vertices_added", "vertices_removed")
    assert [done[name] for name in names] == [4, 0, 2, 2, 2, 0]
    (tmp_path / "e.csv").write_text("ann,bob,2\nbob,cy,3\ncy,ann,0.25\nada,bob,10\nzoe,ada,1\n")
    good(
        "graph", "import", tmp_path / "e.csv", "--weights", "file", "--scale", "10", "--undirected", "--out",
        tmp_path / "H.h5",
    )  # fmt: skip
    found, expected = read_graph(tmp_path / "G2.h5"), read_graph(tmp_path / "H.h5")
    for name in ("indptr", "indices", "probabilities", "in_indices", "in_probabilities"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert found.original(range(5)).tolist() == ["ada", "ann", "bob", "cy", "zoe"]
    again = ("--updatable", "--weighted", "--sizes", tmp_path / "2.h5")
    good("kpar", "index", tmp_path / "G2.h5", *again, "--out", tmp_path / "S.h5")
    assert (tmp_path / "S.h5").read_bytes() == (tmp_path / "2.h5").read_bytes()
    for name in ("G2.h5", "2.h5"):
        verify(tmp_path / name)
    assert read_irw(tmp_path / "2.h5", paths=True).arrays["names"].tolist()[1:4] == [0, 1, 2]
    answer = record("kpar", "query", tmp_path / "G2.h5", "--index", tmp_path / "2.h5", "--source", "zoe", "-k", 2)
    assert answer["results"][0]["nodes"][0] == "ada"
    (tmp_path / "back.csv").write_text("bob,cy,8.5\n")
    words = (
        "--index",
        tmp_path / "2.h5",
        "--remove-vertices",
        tmp_path / "new.txt",
        "--set-weights",
        tmp_path / "back.csv",
    )
    good("kpar", "update", tmp_path / "G2.h5", *words, "--out-graph", tmp_path / "G3.h5", "--out", tmp_path / "3.h5")
    assert read_header(tmp_path / "G3.h5").payload == read_header(weighted / "G.h5").payload
    assert (tmp_path / "3.h5").read_bytes() == (weighted / "I.h5").read_bytes()
    words = ("--index", weighted / "I.h5", "--remove-vertices", tmp_path / "old.txt", "--resize")
    good("kpar", "update", weighted / "G.h5", *words, "--out-graph", tmp_path / "G4.h5", "--out", tmp_path / "4.h5")
    good("kpar", "index", tmp_path / "G4.h5", "--updatable", "--weighted", "--out", tmp_path / "N.h5")
    assert (tmp_path / "N.h5").read_bytes() == (tmp_path / "4.h5").read_bytes()


@pytest.mark.parametrize(("option", "content", "code", "words"), [
    ("--add", "ann,bob\n", 3, "f.csv has"), ("--add", "ann,cy,11\n", 3, "the weight 11 is outside"),
    ("--set-weights", "ann,bob,0\n", 3, "outside (0, 10]"),
    ("--add", "ann,dan,1\n", 3, "vertex 'dan' is not in the graph"),
    ("--add", "ann,bob,1\nbob,ann,2\n", 3, "given twice, with two weights"),
    ("--remove-vertices", "dan\n", 3, "'dan' is not in the graph"),
])  # fmt: skip
def test_weights_and_vertices_that_are_refused(weighted, tmp_path, run, option, content, code, words):
    (tmp_path / "f.csv").write_text(content)
    line = ("--index", weighted / "I.h5", option, tmp_path / "f.csv", "--out-graph", tmp_path / "G2.h5")
    found, out, err = run("kpar", "update", weighted / "G.h5", *line, "--out", tmp_path / "2.h5")
    assert found == code and words in err and err.strip().count("\n") <= 1 and out == ""
    assert not (tmp_path / "2.h5").exists() and not (tmp_path / "G2.h5").exists()


REFUSED = [
    ("nothing to change", 2, ()),
    ("is an input, too", 2, ("--add", "add.txt", "--out-graph", "G.h5")),
    ("two outputs have the one name", 2, ("--add", "add.txt", "--out-graph", "2.h5")),
    ("vertex 7 is not in the graph", 3, ("--add", "stranger.txt")),
    ("vertex 7 is not in the graph", 3, ("--remove", "stranger.txt")),
    ("edges are to be both added and removed", 3, ("--add", "add.txt", "--remove", "add.txt")),
    ("was made on another graph", 3, ("--add", "add.txt", "--index", "H.h5")),
    ("was not made for updates; make it again with --updatable", 3, ("--add", "add.txt", "--index", "P.h5")),
]


@pytest.fixture(scope="module")
def others(folder):
    """Indexes of another graph, and not for updates; edges of vertices that are not there."""
    graph = build_graph(np.array([0, 1]), np.array([1, 0]), weights=Weights())
    write_graph(folder / "other.h5", graph)
    assert main(["kpar", "index", str(folder / "other.h5"), "--updatable", "--out", str(folder / "H.h5")]) == 0
    assert main(["kpar", "index", str(folder / "G.h5"), "--out", str(folder / "P.h5")]) == 0
    (folder / "stranger.txt").write_text("5 7\n")


@pytest.mark.parametrize(("words", "code", "options"), REFUSED, ids=[words for words, *_ in REFUSED])
def test_what_is_refused(folder, others, run, words, code, options):
    asked = dict(zip(options[::2], options[1::2], strict=True))
    asked = {"--index": "I.h5", "--out-graph": "G2.h5", "--out": "2.h5"} | asked
    line = [part for name, file in asked.items() for part in (name, folder / file)]
    found, out, err = run("kpar", "update", folder / "G.h5", *line)
    assert found == code and words in err and err.strip().count("\n") <= 2 and out == ""
    assert not (folder / "2.h5").exists() and not (folder / "G2.h5").exists()


@pytest.mark.parametrize(("words", "options"), [
    ("no weights of its edges", ("--updatable", "--weighted")),
    ("leave one of them out", ("--updatable", "--memory", 1)),
    ("--sizes goes with --updatable", ("--sizes", "I.h5")), ("needs at least 0.01", ("--updatable", "--alpha", 0.005)),
    ("is made on the CPU", ("--updatable", "--device", "cuda")),
    ("give --epsilon as there", ("--updatable", "--sizes", "I.h5")),
    ("was not made for updates", ("--updatable", "--sizes", "P.h5")),
    ("is for 2 vertices", ("--updatable", "--sizes", "H.h5")),
])  # fmt: skip
def test_indexes_that_are_refused(folder, others, run, words, options):
    line = [folder / one if str(one).endswith(".h5") else one for one in options]
    code, _, err = run("kpar", "index", folder / "G.h5", *line, "--out", folder / "X.h5")
    assert code in (2, 3) and words in err and not (folder / "X.h5").exists()
