"""``gpukit kpar all``: the answers of `kpar query`, whole or in parts, and the same bytes after any kill."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import gpukit as gk
from gpukit.api import everybody
from gpukit.artifacts import batches, read_irw, write_graph
from gpukit.cli.app import main
from gpukit.errors import UsageError
from gpukit.graph.build import build_graph

parquet = pytest.importorskip("pyarrow.parquet")
ALL = ["kpar", "all", "G.h5", "--index", "I.h5", "-k", 5]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A graph whose original ids are not its internal ones, with vertices without out-edges, and an index of it."""
    folder = tmp_path_factory.mktemp("all")
    u, v = 10 * np.random.default_rng(4).integers(1, 60, (2, 200))
    write_graph(folder / "G.h5", build_graph(u, v))
    assert main(["kpar", "index", str(folder / "G.h5"), "--out", str(folder / "I.h5"), "--device", "cpu"]) == 0
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(everybody, "ROWS", 35)  # batches of seven vertices


def opened():
    return gk.load("I.h5", graph=gk.read_graph("G.h5"))


@pytest.fixture
def whole(good, folder):
    """The bytes of an undisturbed run."""
    good(*ALL, "--out", "whole.parquet")
    return (folder / "whole.parquet").read_bytes()


def test_rows_are_the_answers_of_queries(record, promised, folder):
    found = record(*ALL, "--out", "t.parquet")
    table = parquet.read_table("t.parquet").to_pydict()
    n = found["graph"]["n"]
    graph = gk.read_graph(folder / "G.h5")
    (folder / "every.txt").write_text("".join(f"{vertex}\n" for vertex in graph.vertices))
    asked = record("kpar", "query", "G.h5", "--index", "I.h5", "-k", 5, "--sources", "every.txt")["results"]
    rows = [(one["source"], *pair) for one in asked for pair in zip(one["nodes"], one["scores"], strict=True)]
    assert list(zip(table["source"], table["target"], table["weight"], strict=True)) == rows
    assert (found["vertices"], found["rows"], found["resumed"]) == (n, len(rows), 0)
    assert promised("kpar all") == found.keys() - {"params", "graph", "device", "time_s"}
    assert parquet.ParquetFile("t.parquet").num_row_groups == -(-n // 7) > 5
    assert not [name for name in os.listdir(".") if "batches" in name or "lock" in name]
    told = json.loads(parquet.read_schema("t.parquet").metadata[b"gpukit"])
    assert told["inputs"]["index"] == read_irw("I.h5").payload and told["params"]["k"] == 5


KILLED = """
import os, signal, sys
from gpukit.api import everybody
from gpukit.artifacts.batches import Batches
from gpukit.cli.app import main
everybody.ROWS = 35
put, left = Batches.put, int(sys.argv[1])
def until(*given):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    put(*given)
Batches.put = until
main(sys.argv[2:])
"""


def test_the_bytes_after_kills_are_those_of_one_run(record, whole, folder):
    words = [*map(str, ALL), "--out", "killed.parquet"]
    for after in (1, 4):
        done = subprocess.run([sys.executable, "-c", KILLED, str(after), *words], capture_output=True)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        assert not (folder / "killed.parquet").exists()
    assert len(list((folder / "killed.parquet.batches").glob("*.parquet"))) == 5
    assert record(*words)["resumed"] == 35
    assert (folder / "killed.parquet").read_bytes() == whole
    assert not (folder / "killed.parquet.batches").exists()


def test_a_kill_while_batches_are_joined_costs_nothing(record, whole, folder, monkeypatch):
    words = [*ALL, "--out", "joined.parquet"]
    with monkeypatch.context() as patched, pytest.raises(OSError, match="full"):
        patched.setattr(batches.Batches, "join", lambda *_: (_ for _ in ()).throw(OSError("full")))
        opened().write_all("joined.parquet", 5)
    found = record(*words)
    assert found["resumed"] == found["vertices"]
    assert (folder / "joined.parquet").read_bytes() == whole


def test_parts_are_the_whole_end_to_end(record, whole):
    rows = [record(*ALL, "--part", f"{i}/3", "--out", f"p{i}.parquet")["rows"] for i in (1, 2, 3)]
    slots_per_team = parquet.read_table([f"p{i}.parquet" for i in (1, 2, 3)])
    assert slots_per_team.to_pydict() == parquet.read_table("whole.parquet").to_pydict()
    assert sum(rows) == len(slots_per_team)


def test_python_writes_the_same_bytes(whole, folder):
    index = opened()
    assert index.write_all("python.parquet", 5) == parquet.read_metadata("whole.parquet").num_rows
    assert (folder / "python.parquet").read_bytes() == whole
    index.write_all("part.parquet", 5, part="2/3")
    assert set(parquet.read_table("part.parquet")["source"].to_pylist()) < set(index.graph.vertices)


def test_names_are_texts(good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("ann,bob\nbob,Zoë\nZoë,ann\n")
    good("graph", "import", "e.csv", "--out", "G.h5")
    good("kpar", "index", "G.h5", "--out", "I.h5")
    good(*ALL[:-2], "-k", 2, "--out", "t.parquet")
    table = parquet.read_table("t.parquet")
    assert table["source"].to_pylist() == ["Zoë", "Zoë", "ann", "ann", "bob", "bob"]
    assert table["target"].to_pylist()[:2] == ["Zoë", "ann"]


def test_batches_of_another_run_are_left_alone(run, good, folder, monkeypatch):
    (folder / "x.parquet.batches").mkdir()
    (folder / "x.parquet.batches" / "mine.txt").write_text("mine")
    code, _, err = run(*ALL, "--out", "x.parquet")
    assert code == 2 and "contains other files than batches" in err and (folder / "x.parquet.batches/mine.txt").exists()
    with monkeypatch.context() as patched, pytest.raises(OSError):
        patched.setattr(batches.Batches, "join", lambda *_: (_ for _ in ()).throw(OSError("full")))
        opened().write_all("y.parquet", 4)
    code, _, err = run(*ALL, "--out", "y.parquet")
    assert code == 2 and "contains batches of another run (k 4, not 5)" in err and "Traceback" not in err
    (folder / "y.parquet.batches" / "00000003.parquet").write_bytes(b"PAR1 and no more")
    code, _, err = run(*ALL[:-1], 4, "--out", "y.parquet")
    assert code == 3 and "00000003.parquet is damaged; remove it" in err
    (folder / "y.parquet.batches" / "00000003.parquet").unlink()
    good(*ALL[:-1], 4, "--out", "y.parquet")
    good(*ALL[:-1], 4, "--out", "z.parquet")
    assert (folder / "y.parquet").read_bytes() == (folder / "z.parquet").read_bytes()


@pytest.mark.parametrize(
    "words, says",
    [
        (("--out", "t.h5"), "a name that ends in .parquet"),
        (("--out", "other.parquet"), "is no table of `kpar all`"),
        (("--out", "new.parquet", "-k", 0), "-k is 0"),
        (("--out", "new.parquet", "--part", "9"), "I/N is needed"),
    ],
)
def test_wrong_use_is_a_line(run, folder, words, says):
    (folder / "other.parquet").write_bytes(b"PAR1 of somebody else")
    code, out, err = run(*ALL, *words)
    assert (code, out) == (2, "") and says in err
    assert not (folder / "new.parquet.batches").exists()


def test_without_pyarrow_the_extra_is_named(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    code, _, err = run(*ALL, "--out", "new.parquet")
    assert code == 2 and "install gpukit[parquet]" in err
    with pytest.raises(UsageError, match="install gpukit"):
        opened().write_all("new.parquet")


@pytest.mark.parametrize("names", [False, True])
def test_edges_in_memory_are_those_of_the_table(names, whole):
    graph = gk.read_graph("G.h5")
    index = opened()
    if names:
        graph = gk.from_edges(["ann", "bob", "cy"], ["bob", "cy", "ann"])
        index = gk.PageRankIndex(graph)
        index.write_all("whole.parquet", k=2, force=True)
    edges = index.all_edges(k=2 if names else 5)
    rows = parquet.read_table("whole.parquet")
    called = np.array(edges.vertices, object)
    for ends, column in zip(edges.edge_index, ("source", "target"), strict=True):
        assert called[ends].tolist() == rows[column].to_pylist()
    assert np.array_equal(edges.edge_weight, rows["weight"].to_numpy().astype(np.float32))
    assert (edges.edge_index.dtype, edges.edge_weight.dtype) == (np.int64, np.float32)
    for array in edges[:2]:
        assert array.flags.c_contiguous and np.shares_memory(np.from_dlpack(array), array)
    table = edges.to_arrow()
    assert np.shares_memory(table["weight"].chunk(0).to_numpy(), edges.edge_weight)
    if names:
        assert table["target"].to_pylist() == rows["target"].to_pylist()
