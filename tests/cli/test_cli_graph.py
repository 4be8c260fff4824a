"""``gpukit graph`` and ``gpukit data`` from the command line to the file."""

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

from gpukit.artifacts import read_graph, read_graph_file, read_header
from gpukit.cli.app import main
from gpukit.graph.read import formats

PROJECT = Path(__file__).resolve().parents[2]
PATHS = {"PYTHONPATH": str(PROJECT)}
PLAIN_DIGEST = "705842e3cf6a2d328ea3c2678809d6e82532a792e3d9480a3c31b33dba82e5ab"
COMMON = {"params", "graph", "device", "seed", "time_s"}
FACTS = {
    "n",
    "m",
    "undirected",
    "weights",
    "digest",
    "self_loops_dropped",
    "parallel_edges_merged",
    "zero_probability_dropped",
    "isolated",
    "dangling",
    "max_in_degree",
    "max_out_degree",
}


@pytest.fixture
def gpukit(capsys):
    """Return a function that runs the program: (exit code, JSON or text of standard output, standard error)."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in arguments and code == 0 else out, err

    return run


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "e.txt"
    path.write_text("# c\n10 20 0.5\n20 10 0.25\n10 20 0.5\n30 30 0.5\n20 40 0\n7 20 1\n")
    return path


def error_line(err):
    lines = [line for line in err.splitlines() if line.startswith("gpukit: error")]
    assert len(lines) == 1 and "Traceback" not in err
    return lines[0]


def test_import_and_info(gpukit, edges, tmp_path):
    code, record, err = gpukit("graph", "import", edges, "--out", tmp_path / "g.h5", "--json")
    assert code == 0
    assert record.keys() >= COMMON | FACTS
    assert record["graph"] == {"n": 5, "m": 4}
    assert record["time_s"].keys() >= {"total", "read", "build", "tables", "write"}
    assert record["device"]["kind"] == "cpu"
    assert "third is not used" in err
    code, info, _ = gpukit("graph", "info", tmp_path / "g.h5", "--json")
    assert code == 0
    assert {key: info[key] for key in FACTS} == {key: record[key] for key in FACTS}
    expected = {"n": 5, "m": 4, "self_loops_dropped": 1, "parallel_edges_merged": 1, "zero_probability_dropped": 0}
    expected |= {"isolated": 1, "dangling": 2, "max_in_degree": 2, "max_out_degree": 2, "undirected": False}
    assert {key: info[key] for key in expected} == expected
    graph = read_graph(tmp_path / "g.h5")
    assert graph.ids.tolist() == [7, 10, 20, 30, 40]
    assert graph.in_indptr is not None
    assert read_graph_file(tmp_path / "g.h5", tables=True).tables is not None


def test_the_artifact_names_the_edges_it_was_made_of(gpukit, edges, tmp_path, monkeypatch):
    """Not those that another process puts in their place."""
    content, read = edges.read_bytes(), formats.read_edges

    def read_and_replace(path, *more):
        listed = read(path, *more)
        path.write_text("1 2\n")
        return listed

    monkeypatch.setattr(formats, "read_edges", read_and_replace)
    assert gpukit("graph", "import", edges, "--out", tmp_path / "g.h5")[0] == 0
    assert read_header(tmp_path / "g.h5").inputs == {"edges": hashlib.sha256(content).hexdigest()}


def test_info_for_people(gpukit, edges, tmp_path):
    gpukit("graph", "import", edges, "--out", tmp_path / "g.h5")
    code, out, _ = gpukit("graph", "info", tmp_path / "g.h5")
    assert code == 0
    assert "self loops dropped" in out and "parallel edges merged" in out


def test_options_reach_the_graph(gpukit, edges, tmp_path):
    out = tmp_path / "g.h5"
    options = ("--undirected", "--weights", "file", "--parallel-edges", "combine", "--no-transpose")
    code, record, _ = gpukit("graph", "import", edges, "--out", out, *options, "--json")
    assert (code, record["weights"], record["undirected"], record["transpose"]) == (0, "file", True, False)
    assert record["zero_probability_dropped"] == 1
    graph = read_graph(out)
    assert graph.in_indptr is None and read_graph_file(out, tables=True).tables is None
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    p = {
        (int(graph.ids[u]), int(graph.ids[v])): (int(x) + 1) / 2**32
        for u, v, x in zip(tails, graph.indices, graph.probabilities, strict=True)
    }
    both = 1 - 0.5 * 0.5 * 0.75
    assert p == pytest.approx({(10, 20): both, (20, 10): both, (7, 20): 1, (20, 7): 1}, abs=1e-9)


@pytest.mark.parametrize("high", [12_345_678, 2**31 - 1, 2**31, 2**63 - 1])
def test_few_lines_may_have_high_ids(gpukit, tmp_path, high):
    (tmp_path / "e.txt").write_text(f"5 {high}\n7 5\n")
    code, _, err = gpukit("graph", "import", tmp_path / "e.txt", "--out", tmp_path / "g.h5")
    assert code == 0, err
    assert read_graph(tmp_path / "g.h5").ids.tolist() == [5, 7, high]


def test_declared_vertices_and_constant_weights(gpukit, edges, tmp_path):
    options = ("--vertices", 50, "--weights", "const:0.25", "--json")
    code, record, _ = gpukit("graph", "import", edges, "--out", tmp_path / "g.h5", *options)
    assert (code, record["n"], record["weights"]) == (0, 50, "const:0.25")
    assert read_graph(tmp_path / "g.h5").ids is None


def test_equal_runs_give_equal_bytes_and_the_transpose_no_other_digest(gpukit, edges, tmp_path):
    for name, options in {"a": (), "b": ("--threads", 1), "c": ("--no-transpose",)}.items():
        assert gpukit("graph", "import", edges, "--out", tmp_path / name, *options)[0] == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read_header(tmp_path / "a").payload == read_header(tmp_path / "c").payload


def test_the_layout_of_the_text_does_not_change_the_digest(gpukit, tmp_path):
    texts = {"a.txt": b"1 2\n3 1\n", "b.csv": b"# h\n3,1,9\n1,2,9\n", "c.gz": gzip.compress(b"1\t2\r\n3\t1")}
    digests = set()
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
        digests.add(gpukit("graph", "import", tmp_path / name, "--out", tmp_path / "g.h5", "--json")[1]["digest"])
    assert len(digests) == 1


def test_matrix_market_symmetric_is_undirected(gpukit, tmp_path):
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate real symmetric\n4 4 2\n2 1 0.5\n3 3 1\n")
    out = tmp_path / "g.h5"
    code, record, _ = gpukit("graph", "import", tmp_path / "a.mtx", "--out", out, "--weights", "file", "--json")
    assert (code, record["n"], record["m"], record["undirected"]) == (0, 4, 2, True)
    assert read_graph(out).ids.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("weights", ["trivalency", "uniform:0.1:0.5"])
def test_seed_decides_what_is_drawn(gpukit, edges, tmp_path, weights):
    edges.write_text("".join(f"{i} {i + 1}\n" for i in range(60)))
    words = []
    for seed in (1, 1, 2):
        gpukit("graph", "import", edges, "--out", tmp_path / "g.h5", "--weights", weights, "--seed", seed)
        words.append(read_graph(tmp_path / "g.h5").probabilities.tolist())
    assert words[0] == words[1] != words[2]
    assert gpukit("verify", tmp_path / "g.h5")[0] == 0
    assert gpukit("graph", "info", tmp_path / "g.h5", "--json")[1]["weights"] == weights


@pytest.mark.parametrize("scale", ["max", "in-sum"])
def test_counts_of_any_format(gpukit, edges, tmp_path, scale):
    """Counts in a third column, of a matrix, and among names, are read by each reader and give the same graph."""
    edges.write_text("1 3 8\n2 3 2e0\n3 1 5\n")
    (tmp_path / "e.csv").write_text("from,to,calls\n1,3,8\n2,3,2\n3,1,5\n")
    (tmp_path / "e.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n3 3 3\n1 3 8\n2 3 2\n3 1 5\n")
    scipy.sparse.save_npz(tmp_path / "e.npz", scipy.sparse.coo_array(([8, 2, 5], ([0, 1, 2], [2, 2, 0])), shape=(3, 3)))
    expected = {"max": [1, 0.25, 0.625], "in-sum": [0.8, 0.2, 1]}[scale]
    for name in (edges, tmp_path / "e.csv", tmp_path / "e.mtx", tmp_path / "e.npz"):
        words = ("graph", "import", name, "--weights", "file", "--scale", scale, "--out", tmp_path / "g.h5", "--json")
        code, record, _ = gpukit(*words)
        graph = read_graph(tmp_path / "g.h5")
        assert (code, record["scale"], record["params"]["scale"]) == (0, scale, scale)
        assert (graph.probabilities + 1.0).tolist() == pytest.approx([2**32 * p for p in expected], abs=1)
    assert gpukit("verify", tmp_path / "g.h5")[0] == 0


@pytest.mark.parametrize(
    ("content", "options", "code", "expected"),
    [
        ("1 2\n3\n", (), 3, "line 2: 1 field, 2 in the first line"),
        ("5 5\n", (), 3, "no edges: 1 self-loops"),
        ("1 2 0\n", ("--weights", "file"), 3, "no edges: 0 self-loops and 1 edges of probability 0"),
        ("1 2 1.5\n", ("--weights", "file"), 3, "weight '1.5'"),
        ("1 2\n", ("--weights", "file"), 3, "has 2 columns; --weights file needs a third one"),
        ("1 2 3\n", ("--weights", "file"), 3, "--scale takes counts"),
        ("1 2 3\n", ("--scale", "max"), 2, "--scale makes probabilities of a third column, but --weights is wc"),
        ("1 2 -3\n", ("--weights", "file", "--scale", "max"), 3, "weight '-3' is not a finite number >= 0"),
        ("1 2 1e999\n", ("--weights", "file", "--scale", "max"), 3, "weight '1e999' is not a finite number >= 0"),
        ("1 2 3\n", ("--weights", "file", "--scale", "sum"), 2, "--scale"),
        ("1 9\n", ("--vertices", "5"), 3, r"vertex 9 is outside [0, 4]"),
        ("1 2\n", ("--vertices", "0"), 2, "--vertices is 0"),
        ("1 2\n", ("--weights", "const:2"), 2, "--weights const:2"),
        ("1 2\n", ("--weights", "uniform:0.2:0.1"), 2, "--weights uniform:0.2:0.1: LO <= HI"),
        ("1 2\n", ("--weights", "uniform:0:0"), 3, "no edges: 0 self-loops and 1 edges of probability 0"),
        ("1 2\n", ("--parallel-edges", "sum"), 2, "--parallel-edges sum adds counts, and needs --scale"),
        (
            "1 2 1e308\n" * 2,
            ("--weights", "file", "--scale", "max"),
            3,
            "the weights of an edge or into a vertex sum to",
        ),
        ("1 2\n", ("--seed", "-1"), 2, "--seed"),
        ("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", ("--vertices", "5"), 2, "Matrix Market"),
    ],
)
def test_errors_have_one_line_and_leave_nothing(gpukit, tmp_path, content, options, code, expected):
    (tmp_path / "e.txt").write_text(content)
    found, _, err = gpukit("graph", "import", tmp_path / "e.txt", "--out", tmp_path / "g.h5", *options)
    assert found == code
    assert expected in error_line(err)
    assert [path.name for path in tmp_path.iterdir()] == ["e.txt"]


def test_files_that_are_not_there(gpukit, tmp_path):
    for command in (("import", tmp_path / "none", "--out", tmp_path / "g.h5"), ("info", tmp_path / "none.h5")):
        code, _, err = gpukit("graph", *command)
        assert code == 3
        assert "none" in error_line(err)
    (tmp_path / "e.txt").write_text("1 2\n")
    code, _, err = gpukit("graph", "import", tmp_path / "e.txt", "--out", tmp_path / "no" / "g.h5")
    assert code == 3 and "no folder" in error_line(err)


def test_an_input_is_not_overwritten(gpukit, edges, tmp_path):
    edges = edges.rename(tmp_path / "edges")
    assert gpukit("graph", "import", edges, "--out", tmp_path / "g.h5")[0] == 0
    (tmp_path / "other.h5").symlink_to(tmp_path / "g.h5")
    before = {path: path.read_bytes() for path in (edges, tmp_path / "g.h5")}
    for words in (
        ("graph", "import", edges, "--out", edges),
        ("kpar", "rank", tmp_path / "g.h5", "--out", tmp_path / "g.h5"),
        ("gim", "run", tmp_path / "g.h5", "-k", 1, "--out", tmp_path / "other.h5"),
        ("gim", "select", tmp_path / "g.h5", tmp_path / "g.h5", "-k", 1, "--out", tmp_path / "g.h5"),
    ):
        code, _, err = gpukit(*words)
        assert code == 2 and "is an input, too" in error_line(err)
    assert all(path.read_bytes() == content for path, content in before.items())


def test_info_of_something_else(gpukit, edges):
    code, _, err = gpukit("graph", "info", edges)
    assert code == 3
    error_line(err)


# generate

MODELS = {
    "rmat": ("--scale", 8, "--edge-factor", 4),
    "er": ("--vertices", 100, "--edges", 400),
    "ba": ("--vertices", 100, "--attach", 3),
    "holme-kim": ("--vertices", 100, "--attach", 3, "--triad", 0.5),
    "affiliation": ("--vertices", 400, "--edges", 1200, "--triangles", 300),
}


@pytest.mark.parametrize("model", MODELS)
def test_generate(gpukit, tmp_path, model):
    files = [tmp_path / name for name in "abc"]
    records = []
    for path, options in zip(files, (("--seed", 5), ("--seed", 5, "--threads", 1), ("--seed", 6)), strict=True):
        code, record, _ = gpukit("graph", "generate", model, "--out", path, *MODELS[model], *options, "--json")
        assert code == 0
        records.append(record)
    assert records[0].keys() >= COMMON | FACTS
    assert records[0]["generator"]["model"] == model and records[0]["generator"]["seed"] == 5
    assert records[0]["undirected"] == (model not in ("rmat", "er"))
    assert files[0].read_bytes() == files[1].read_bytes()
    assert records[0]["digest"] != records[2]["digest"]
    graph = read_graph(files[0])
    if graph.undirected:
        assert np.array_equal(graph.indptr, graph.in_indptr) and np.array_equal(graph.indices, graph.in_indices)


def test_generate_with_edges_and_undirected(gpukit, tmp_path):
    options = ("--vertices", 300, "--edges", 1000, "--undirected", "--weights", "none", "--json")
    code, record, _ = gpukit("graph", "generate", "rmat", "--out", tmp_path / "g.h5", *options)
    assert (code, record["n"], record["m"], record["weights"]) == (0, 300, 2000, "none")
    assert read_graph_file(tmp_path / "g.h5", tables=True).tables is None


def test_generated_ba_is_connected(gpukit, tmp_path):
    gpukit("graph", "generate", "ba", "--out", tmp_path / "g.h5", "--vertices", 60, "--attach", 2, "--clique", 5)
    graph = read_graph(tmp_path / "g.h5")
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    assert nx.is_connected(nx.Graph(list(zip(tails.tolist(), graph.indices.tolist(), strict=True))))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("rmat",), "either a scale"),
        (("rmat", "--scale", "5", "--edges", "3", "--draws", "3"), "--edges, --draws and"),
        (("rmat", "--scale", "5", "--draws", "5", "--edge-factor", "3"), "--edge-factor exclude each other"),
        (("rmat", "--scale", "5", "--edges", "5", "--edge-factor", "16"), "--edge-factor exclude each other"),
        (("rmat", "--scale", "5", "--edge-factor", "nan"), "edge factor nan"),
        (("rmat", "--scale", "5", "--edge-factor", "1e308"), "edge factor 1e+308"),
        (("er", "--vertices", "3", "--edges", "9"), "9 edges on 3 vertices"),
        (("er", "--vertices", "3"), "--edges"),
        (("ba", "--vertices", "5", "--attach", "9"), "9 edges each"),
        (("er", "--vertices", "9", "--edges", "9", "--weights", "file"), "no third column"),
        (("kronecker",), "kronecker"),
    ],
)
def test_generate_refuses(gpukit, tmp_path, arguments, expected):
    code, _, err = gpukit("graph", "generate", *arguments, "--out", tmp_path / "g.h5")
    assert code == 2
    assert expected in error_line(err)
    assert list(tmp_path.iterdir()) == []


# data


def test_data_list(gpukit):
    code, record, _ = gpukit("data", "list", "--json")
    assert code == 0
    found = {one["name"]: one for one in record["datasets"]}
    assert found["soc-Epinions1"]["n"] == 75_879
    assert found["NetHEPT"]["shipped"] == "data/NetHEPT.txt.gz"
    code, out, _ = gpukit("data", "list")
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines()[1:]}
    assert lines.keys() == found.keys()
    assert all(line.endswith(" ".join(found[name]["used_by"])) for name, line in lines.items())


def test_data_fetch_then_import(gpukit, tmp_path):
    code, record, _ = gpukit("data", "fetch", "wiki-vote", "--out", tmp_path / "w.txt.gz", "--json")
    assert (code, record["name"], record["verified"]) == (0, "wiki-Vote", True)
    code, record, _ = gpukit("graph", "import", tmp_path / "w.txt.gz", "--out", tmp_path / "g.h5", "--json")
    assert (code, record["n"], record["m"]) == (0, 7115, 103_689)


def test_the_name_of_a_packed_file_says_so(gpukit, tmp_path):
    code, _, err = gpukit("data", "fetch", "NetHEPT", "--out", tmp_path / "friends.txt")
    assert code == 2 and "is packed by gzip, and its name has to say so; name friends.txt.gz" in error_line(err)
    assert not list(tmp_path.iterdir())


def test_the_catalogue_says_how_a_data_set_is_imported(gpukit, tmp_path):
    code, record, _ = gpukit("data", "fetch", "NetPHY", "--out", tmp_path / "e f.gz", "--json")
    assert (code, record["import_options"]) == (0, ["--dataset", "NetPHY"])
    code, out, _ = gpukit("data", "fetch", "NetPHY", "--out", tmp_path / "e f.gz")
    assert f"gpukit graph import '{tmp_path}/e f.gz' --dataset NetPHY --out G.h5" in out
    words = ("graph", "import", tmp_path / "e f.gz", "--out", tmp_path / "g.h5", "--json", "--no-transpose")
    code, record, _ = gpukit(*words, "--dataset", "netphy")
    assert (code, record["n"], record["m"], record["undirected"]) == (0, 37_154, 2 * 174_161, True)
    assert record["params"].items() >= {"dataset": "NetPHY", "undirected": True, "vertices": 37_154}.items()
    assert gpukit(*words, "--dataset", "NetPHY", "--vertices", 37_154, "--undirected")[0] == 0
    code, _, err = gpukit(*words, "--dataset", "NetPHY", "--vertices", 40_000)
    assert code == 2 and "--vertices 40000 contradicts --dataset NetPHY" in error_line(err)
    code, _, err = gpukit(*words, "--dataset", "NetHE")
    assert code == 2 and "did you mean NetHEPT" in error_line(err)


def test_another_file_than_the_data_set_is_refused(gpukit, edges, tmp_path):
    gpukit("data", "fetch", "NetHEPT", "--out", tmp_path / "n.gz")
    words = ("--dataset", "com-DBLP", "--out", tmp_path / "g.h5")
    code, _, err = gpukit("graph", "import", tmp_path / "n.gz", *words)
    assert code == 3 and "has 15,233 vertices and 58,891 edge lines" in error_line(err)
    assert "com-DBLP has 317,080 and 1,049,866" in err
    assert not (tmp_path / "g.h5").exists()


def test_rounded_sizes_are_not_compared(gpukit, edges, tmp_path):
    code, _, err = gpukit("graph", "import", edges, "--dataset", "socfb-konect", "--out", tmp_path / "g.h5")
    assert code == 0 and "the sizes of socfb-konect are known roughly only, and not compared" in err


def test_data_fetch_refuses(gpukit, tmp_path):
    code, _, err = gpukit("data", "fetch", "nethep", "--out", tmp_path / "n.gz")
    assert code == 2 and "did you mean NetHEPT" in error_line(err)
    code, _, err = gpukit("data", "fetch", "twitter-asu", "--out", tmp_path / "n.gz")
    assert code == 3 and "cannot be downloaded" in error_line(err)
    code, _, err = gpukit("data", "fetch", "NetHEPT", "--out", tmp_path)
    assert code == 3 and "is a folder" in error_line(err)
    assert list(tmp_path.iterdir()) == []


# As a program


def start(*arguments, **more):
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    command = [sys.executable, "-m", "gpukit", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)


def test_a_pipe_as_input(tmp_path):
    process = start("graph", "import", "/dev/stdin", "--out", tmp_path / "g.h5", "--json", stdin=subprocess.PIPE)
    out, err = process.communicate("1 2\n2 3\n")
    assert process.returncode == 0, err
    assert json.loads(out)["m"] == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 5), (signal.SIGKILL, -9)])
def test_an_interrupted_import_leaves_nothing(tmp_path, number, code):
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as source:
        process = start("graph", "import", "/dev/stdin", "--out", tmp_path / "g.h5", "-v", stdin=source)
    text = b"1 2\n2 3\n" * 50_000  # more than a pipe holds: once it is written, the program is reading
    while text:
        text = text[os.write(write_end, text) :]
    time.sleep(0.2)  # and after this it waits for more
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    os.close(write_end)
    assert process.returncode == code
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_text_with_a_header_gives_the_graph_of_one_without(gpukit, tmp_path):
    digests = set()
    for name, text in {"a": "1 2\n2 3\n", "b": "x;y\n1;2\n2;3\n", "c": "target\tsource\n2\t1\n3\t2\n"}.items():
        (tmp_path / name).write_text(text)
        digests.add(gpukit("graph", "import", tmp_path / name, "--out", tmp_path / "g.h5", "--json")[1]["digest"])
    assert len(digests) == 1


def test_a_plain_file_is_stored_as_before(gpukit, tmp_path):
    """The bytes of the artifact, as the version before headers were read wrote them."""
    (tmp_path / "e").write_text("10 20\n20 30\n30 10\n")
    assert gpukit("graph", "import", tmp_path / "e", "--out", tmp_path / "g.h5")[0] == 0
    header = read_header(tmp_path / "g.h5")
    assert "text" not in header.attributes["facts"] and header.version == 1
    assert set(header.params) == {"undirected", "weights", "parallel_edges", "vertices"}
    assert header.payload == PLAIN_DIGEST


def test_standard_input(tmp_path):
    def imported(content, *, closed=False):
        command = [sys.executable, "-m", "gpukit", "graph", "import", "-", "--out", str(tmp_path / "g.h5"), "--json"]
        if closed:
            command = ["sh", "-c", '"$@" <&-', "sh", *command]
        return subprocess.run(command, cwd=tmp_path, input=content, capture_output=True, env=os.environ | PATHS)

    for content in (b"ann,bob\nbob,cy\n", gzip.compress(b"ann bob\nbob cy\n")):
        done = imported(content)
        assert done.returncode == 0 and json.loads(done.stdout)["n"] == 3
        assert read_header(tmp_path / "g.h5").inputs == {}
    for done, expected in (
        (imported(b"1 2\n3 x\n"), "standard input, line 2: 'x' is not a vertex id"),
        (imported(b""), "standard input is empty"),
        (imported(None, closed=True), "standard input is empty"),
    ):
        assert done.returncode == 3 and expected in error_line(done.stderr.decode())


def test_a_graph_of_networkx_is_that_of_its_edges(gpukit, tmp_path):
    graph = nx.gnm_random_graph(12, 30, seed=1)
    for names in (dict.fromkeys(graph), {v: f"user {v}" for v in graph}):
        named = nx.relabel_nodes(graph, {v: name or v for v, name in names.items()})
        nx.write_graphml(named, tmp_path / "g.graphml")
        nx.write_edgelist(named, tmp_path / "g.txt", delimiter="\t", data=False)
        out = ("--out", tmp_path / "g.h5", "--json")
        code, record, err = gpukit("graph", "import", tmp_path / "g.graphml", *out)
        assert code == 0 and record["undirected"] and "read as GraphML, ids: " in err
        assert record["text"]["format"] == "GraphML"
        assert gpukit("graph", "info", tmp_path / "g.h5", "--json")[1]["text"]["format"] == "GraphML"
        plain = gpukit("graph", "import", tmp_path / "g.txt", "--undirected", *out)[1]
        assert record["digest"] == plain["digest"]
    nx.write_graphml(nx.path_graph(3), tmp_path / "g.graphml")
    code, _, err = gpukit("graph", "import", tmp_path / "g.graphml", "--vertices", 9, "--out", tmp_path / "x.h5")
    assert code == 2 and "--vertices does not go with a GraphML file" in err
