"""``gpukit diversity``: records, artifacts, and one line with the right exit code for each error."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gpukit as gk
from gpukit.artifacts import read, write_graph
from gpukit.artifacts.verify import verify
from gpukit.cli.app import main
from gpukit.cli.diversity.gather import found_lines
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights


@pytest.fixture
def folder(tmp_path):
    u, v = np.array([(10, 20), (20, 30), (10, 30), (10, 40), (10, 50), (40, 50), (60, 10)]).T
    write_graph(tmp_path / "G.h5", build_graph(u, v, weights=Weights("none"), undirected=True))
    write_graph(tmp_path / "A.h5", build_graph(u, v, weights=Weights("none")))
    nothing = build_graph(u[:0], v[:0], weights=Weights("none"), undirected=True, ids=False, n=3)
    write_graph(tmp_path / "empty.h5", nothing)
    nobody = build_graph(u[:0], v[:0], weights=Weights("none"), undirected=True, ids=False, n=0)
    write_graph(tmp_path / "none-at-all.h5", nobody)
    return tmp_path


@pytest.mark.parametrize("name", ["G.h5", "A.h5"])
@pytest.mark.parametrize("more", [[], ["--full", "--balance", "none", "--threads", "2"]])
def test_search(capsys, folder, name, more):
    words = ["diversity", "search", str(folder / name), "--out", str(folder / "D.h5"), "--model", "comp", "-k", "2"]
    assert main([*["papers"] * bool(more), *words, "-t", "2", "--undirected", "--json", *more]) == 0
    top = json.loads(capsys.readouterr().out)["top"]
    assert top == [
        {"vertex": 10, "score": 2, "contexts": [[20, 30], [40, 50]]},
        {"vertex": 20, "score": 1, "contexts": [[10, 30]]},
    ]
    verify(folder / "D.h5")


@pytest.mark.parametrize("command", ["search", "egos", "decompose"])
def test_ignored_directions_are_told(capsys, folder, command):
    for name, directed in (("A.h5", True), ("G.h5", False)):
        words = ["diversity", command, str(folder / name), "--out", str(folder / "X.h5"), "--undirected"]
        assert main(words) == 0
        assert ("every edge counts both ways" in capsys.readouterr().out) == directed
        assert main([*words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["symmetrised"] is directed


def test_truss_and_its_decomposition_write_the_same_bytes(folder):
    files = [folder / "one.h5", folder / "two.h5"]
    for file, more in zip(files, ([], ["--full"]), strict=True):
        words = ["diversity", "search", str(folder / "G.h5"), "--out", str(file), "-k", "2", "-t", "6"]
        assert main([*["papers"] * bool(more), *words, *more]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    assert read(files[0], "diversity").arrays["scores"].tolist() == [2, 1, 1, 1, 1, 0]


def test_no_more_vertices_than_there_are_by_default(capsys, folder):
    out = folder / "D.h5"
    assert main(["diversity", "search", str(folder / "G.h5"), "--out", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert len(record["top"]) == record["params"]["t"] == read(out).params["t"] == 6


def test_egos(folder):
    out = folder / "E.h5"
    assert main(["diversity", "egos", str(folder / "G.h5"), "--out", str(out), "--vertices", "60,10"]) == 0
    arrays = read(out, "egonets").arrays
    assert arrays["centres"].tolist() == [10, 60]
    assert arrays["nodes"].tolist() == [20, 30, 40, 50, 60, 10]
    assert arrays["indices"].tolist() == [1, 0, 3, 2]
    verify(out)


def test_egos_of_nobody(capsys, folder):
    words = ["diversity", "egos", str(folder / "G.h5"), "--out", str(folder / "E.h5"), "--vertices"]
    for text, what in (("", "''"), ("10,2o", "'2o'")):
        assert main([*words, text]) == 2
        assert f"--vertices: {what} is neither a vertex id nor a file" in capsys.readouterr().err


def test_decompose_egos(capsys, folder):
    command = ["diversity", "decompose", str(folder / "G.h5"), "--out", str(folder / "X.h5"), "--egos", "--json"]
    assert main(command) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["largest"] == {"coreness": 2, "trussness": 3, "degree": 5, "ego_trussness": 2}
    assert record["triangles"] == 2


def test_decompose(capsys, folder):
    out = folder / "X.h5"
    assert main(["diversity", "decompose", str(folder / "G.h5"), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["largest"] == {"coreness": 2, "trussness": 3}
    arrays = read(out, "decomposition").arrays
    assert arrays["coreness"].tolist() == [2, 2, 2, 2, 2, 1]
    edges = zip(arrays["tails"].tolist(), arrays["heads"].tolist(), arrays["trussness"].tolist(), strict=True)
    assert list(edges) == [(10, 20, 3), (10, 30, 3), (10, 40, 3), (10, 50, 3), (10, 60, 2), (20, 30, 3), (40, 50, 3)]
    verify(out)


def test_what_people_do_not_see_is_said():
    found = found_lines([{"vertex": v, "score": 20 - v} for v in range(12)], 30)
    assert list(found.items())[-2:] == [("vertex 9", "11 circles"), ("not shown", "2 more (--json has all)")]
    names = [f"vertex {v}" for v in range(10)]
    assert list(found_lines([{"vertex": v, "score": 1} for v in range(10)], 10)) == names


@pytest.mark.parametrize(
    ("scores", "n", "told"),
    [
        ([4, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1], 12, "4 of 6 with 1 circle, the lowest ids first"),
        ([4, 3, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1], 20, "4 of 6 or more with 1 circle, the lowest ids first"),
        ([2] * 10, 40, "10 of 10 or more with 2 circles, the lowest ids first"),
        ([3] * 11 + [1], 40, "10 of 11 with 3 circles, the lowest ids first"),
        ([2] * 10, 10, None),
        ([2] * 10 + [1] * 5, 40, None),
        ([], 0, None),
    ],
)
def test_equal_scores_are_told(scores, n, told):
    top = [{"vertex": v, "score": score} for v, score in enumerate(scores)]
    assert found_lines(top, n).get("equal") == told


def test_equal_scores_of_a_search(capsys, tmp_path, monkeypatch):
    """Of 60 people with three friends in one circle ten are no ranking: on screen, in Python and in the table."""
    monkeypatch.chdir(tmp_path)
    hubs = np.repeat(np.arange(30), 3)
    friends = 30 + np.arange(90)
    ends = np.concatenate([hubs, friends[::3], friends[1::3]]), np.concatenate([friends, friends[1::3], friends[2::3]])
    write_graph("G.h5", build_graph(*ends, undirected=True))
    words = ["diversity", "search", "G.h5", "--model", "comp", "-k", "3", "--out", "D.h5"]
    assert main([*words, "-t", "70"]) == 0
    assert "equal 10 of 60 with 1 circle, the lowest ids first" in " ".join(capsys.readouterr().out.split())
    assert main([*words, "-t", "20"]) == 0
    told = "10 of 20 or more with 1 circle, the lowest ids first"
    assert f"equal {told}" in " ".join(capsys.readouterr().out.split())
    found = gk.load("D.h5")
    assert found.lines()[-1] == told
    table = found.to_pandas()
    assert table["tied"].tolist() == [20] * len(table) and table["rank"].nunique() == 20


def test_a_graph_without_edges(capsys, folder):
    for command, more in (("egos", []), ("search", ["-t", "3"]), ("decompose", [])):
        out = folder / f"{command}.h5"
        assert main(["diversity", command, str(folder / "empty.h5"), "--out", str(out), *more]) == 0
        verify(out)


@pytest.mark.parametrize(
    ("name", "words", "code", "text"),
    [
        ("A.h5", [], 2, "the graph is directed"),
        ("G.h5", ["-t", "7"], 2, "-t is 7; 1 to 6"),
        ("G.h5", ["-t", "0"], 2, "-t is 0; 1 to 6"),
        ("none-at-all.h5", [], 3, "the graph has no vertices"),
        ("G.h5", ["-k", "1"], 2, "-k is 1; 2 to"),
        ("G.h5", ["--model", "comp", "-k", "0"], 2, "-k is 0; 1 to"),
        ("G.h5", ["--balance", "steal"], 2, "No such option: --balance"),
        ("G.h5", ["--device", "cuda"], 4, "cannot use a GPU"),
        ("G.h5", ["--gpus", "-1"], 2, "--gpus is -1"),
        ("none.h5", [], 3, "does not exist"),
    ],
)
def test_errors(capsys, folder, name, words, code, text):
    out = folder / "D.h5"
    assert main(["diversity", "search", str(folder / name), "--out", str(out), "-t", "2", *words]) == code
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert text in line
    assert not out.exists()


@pytest.mark.parametrize("command", ["egos", "decompose"])
def test_commands_of_one_gpu(capsys, folder, command):
    words = ["diversity", command, str(folder / "G.h5"), "--out", str(folder / "X.h5")]
    assert main([*words, "--gpus", "2"]) == 2
    assert f"diversity {command} uses one GPU" in capsys.readouterr().err
    assert main(["diversity", command, str(folder / "A.h5"), "--out", str(folder / "X.h5")]) == 2
    assert not (folder / "X.h5").exists()


def test_the_simulated_gpu_writes_the_same_files(folder):
    """All commands with ``--device cuda`` in the simulator, which needs a process of its own."""
    commands = {"search": ["-k", "3", "-t", "4"], "egos": [], "decompose": []}
    script = "import sys; from gpukit.cli.app import main; sys.exit(max(main(words.split()) for words in sys.argv[1:]))"
    lines = []
    for command, more in commands.items():
        words = ["diversity", command, str(folder / "G.h5"), *more, "--out"]
        assert main([*words, str(folder / f"{command}.cpu.h5")]) == 0
        lines.append(" ".join([*words, str(folder / f"{command}.gpu.h5"), "--device", "cuda"]))
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run([sys.executable, "-c", script, *lines], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    for command in commands:
        assert (folder / f"{command}.cpu.h5").read_bytes() == (folder / f"{command}.gpu.h5").read_bytes()


def test_bench(capsys, folder, monkeypatch):
    monkeypatch.setattr("gpukit.papers.bench.machine.COPY_BYTES", 1 << 20)
    words = [
        "papers",
        "bench",
        "diversity",
        str(folder / "G.h5"),
        "--device",
        "cpu",
        "--repeat",
        "1",
        "--out",
        str(folder / "b.json"),
    ]
    assert main([*words, "--methods", "score,search", "--models", "comp,truss", "-k", "2,3", "-t", "2"]) == 0
    record = json.loads((folder / "b.json").read_text())
    assert [(run["model"], run["k"], run["method"]) for run in record["runs"]][:3] == [
        ("comp", 2, "score"),
        ("comp", 2, "search"),
        ("comp", 3, "score"),
    ]
    assert len(record["runs"]) == 8
    words[3] = str(folder / "A.h5")
    assert main(words) == 2 and "give --undirected" in capsys.readouterr().err
    assert main([*words, "--undirected", "--methods", "search", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["params"]["undirected"] and again["runs"][0]["t_th_score"] == 0
    assert again["runs"][0]["graph"]["m"] == record["runs"][0]["graph"]["m"] == 14
    for wrong in (["--methods", "speed"], ["-k", "two"], ["--methods", "scatter"], ["--models", "clique"]):
        assert main([*words, *wrong]) == 2
        assert len(capsys.readouterr().err.splitlines()[-1]) > 20


# --- the index -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["G.h5", "A.h5"])
def test_an_index_gives_the_bytes_of_a_search(capsys, folder, name):
    """Of every model and k, whole and in parts, of an undirected graph and of one whose directions are ignored."""
    graph, index = str(folder / name), str(folder / "N.h5")
    assert main(["diversity", "index", graph, "--undirected", "--out", index, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["largest"] == {"comp": 2, "core": 1, "truss": 2} and told["symmetrised"] is (name == "A.h5")
    verify(folder / "N.h5")
    for model, ks in (("comp", (1, 2, 3)), ("core", (1, 2)), ("truss", (2, 3))):
        for k in ks:
            for more in (["-t", "2"], ["-t", "6"], ["--part", "2/2"]):
                words = ["diversity", "search", graph, "--undirected", "--model", model, "-k", str(k), *more, "--json"]
                records = []
                for out, how in (("one.h5", []), ("two.h5", ["--index", index])):
                    assert main([*words, "--out", str(folder / out), *how]) == 0
                    records.append(json.loads(capsys.readouterr().out))
                assert (folder / "one.h5").read_bytes() == (folder / "two.h5").read_bytes()
                for key in ("params", "graph", "top", "symmetrised"):
                    assert records[0][key] == records[1][key]
                assert records[1]["scored"] == 0


def test_what_is_wrong_with_an_index(capsys, folder):
    index, out = str(folder / "N.h5"), ["--out", str(folder / "D.h5")]
    assert main(["diversity", "index", str(folder / "G.h5"), "--out", index, "--threads", "1"]) == 0
    search = ["diversity", "search", str(folder / "G.h5"), "--index", index, *out]
    for words, code, line in (
        (["papers", *search, "--full"], 2, "--index answers on the CPU"),
        ([*search, "--device", "cuda"], 2, "--index answers on the CPU"),
        ([*search, "-t", "7"], 2, "-t is 7; 1 to 6"),
        ([*search, "-k", "1"], 2, "-k is 1"),
        (["diversity", "search", str(folder / "A.h5"), "--index", index, *out], 2, "the graph is directed"),
        (["diversity", "search", str(folder / "A.h5"), "--undirected", "--index", index, *out], 3, "on another graph"),
        (["diversity", "search", str(folder / "G.h5"), "--index", str(folder / "G.h5"), *out], 3, "of kind graph"),
        (["diversity", "index", str(folder / "A.h5"), *out], 2, "the graph is directed"),
        (["diversity", "index", str(folder / "G.h5"), *out, "--gpus", "2", "--device", "cpu"], 2, "--gpus is 2"),
    ):
        capsys.readouterr()
        assert main(words) == code, words
        found = capsys.readouterr()
        assert line in found.err and "Traceback" not in found.err and not (folder / "D.h5").exists()


@pytest.mark.parametrize("name", ["empty.h5", "none-at-all.h5"])
def test_an_index_of_nothing(capsys, folder, name):
    graph, index = str(folder / name), str(folder / "N.h5")
    assert main(["diversity", "index", graph, "--out", index]) == 0
    verify(folder / "N.h5")
    words = ["diversity", "search", graph, "--index", index, "--model", "comp", "--out", str(folder / "D.h5"), "--json"]
    capsys.readouterr()
    assert main(words) == (3 if name == "none-at-all.h5" else 0)
