"""``gpukit evaluate spread``: the record, the artifact, and one line with the right exit code for each error."""

import json

import numpy as np
import pytest

from gpukit.artifacts import read_header, read_metrics, write_graph, write_seeds
from gpukit.cli.app import main
from gpukit.evaluate import forward_curve, forward_rounds, forward_spread
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.wording import with_error


@pytest.fixture(scope="module")
def graph():
    """A graph whose original ids are not its internal ones."""
    generator = np.random.default_rng(1)
    u, v = 10 * generator.integers(1, 60, (2, 200))
    return build_graph(u, v, weights=Weights())


@pytest.fixture
def folder(tmp_path, graph):
    write_graph(tmp_path / "G.h5", graph)
    return tmp_path


def _run(capsys, *words):
    code = main(["evaluate", "spread", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


def _json(capsys, *words):
    code, out, err = _run(capsys, *words, "--device", "cpu", "--json")
    assert code == 0, err
    return json.loads(out)


def test_record_and_artifact(capsys, folder, graph):
    chosen = graph.original([4, 0, 9, 2])
    write_seeds(
        folder / "S.h5", chosen, [4, 0, 9, 2], n=graph.n, method="x", graph=read_header(folder / "G.h5").payload
    )
    words = (folder / "G.h5", "--seeds", folder / "S.h5", "--runs", 500, "--seed", 7)
    record = _json(capsys, *words, "--prefixes", "3,1", "--out", folder / "M.h5")
    curve = forward_curve(graph, [4, 0, 9, 2], [1, 3, 4], runs=500, seed=7)
    assert (record["spread"], record["stderr"], record["runs"]) == (curve[-1].spread, curve[-1].stderr, 500)
    assert [point["k"] for point in record["curve"]] == [1, 3, 4]
    assert [point["spread"] for point in record["curve"]] == [one.spread for one in curve]
    assert {"params", "graph", "device", "seed", "time_s"} <= record.keys()
    assert record["graph"] == {"n": graph.n, "m": graph.m}
    stored = read_metrics(folder / "M.h5")
    assert {name: array.tolist() for name, array in stored.arrays.items()} == {
        "k": [1, 3, 4],
        "spread": [one.spread for one in curve],
        "stderr": [one.stderr for one in curve],
        "runs": [500, 500, 500],
    }
    assert stored.inputs == {
        "graph": read_header(folder / "G.h5").payload,
        "seeds": read_header(folder / "S.h5").payload,
    }
    before = (folder / "M.h5").read_bytes()
    _json(capsys, *words, "--prefixes", "1,3", "--out", folder / "M.h5", "--threads", 1)
    assert (folder / "M.h5").read_bytes() == before


def test_prefixes_beyond_the_seeds_are_left_out_on_request(capsys, folder, graph):
    (folder / "mine.txt").write_text("\n".join(map(str, graph.original([4, 0, 9]))) + "\n")
    words = (folder / "G.h5", "--seeds", folder / "mine.txt", "--runs", 100, "--prefixes", "1,2,7")
    code, _, err = _run(capsys, *words)
    assert code == 2 and "prefixes go up to 7, and there are 3 seeds" in err
    record = _json(capsys, *words, "--clip", "--out", folder / "M.h5")
    assert [point["k"] for point in record["curve"]] == [1, 2, 3] and record["params"]["prefixes"] == [1, 2]
    _json(capsys, *words[:-1], "1,2", "--out", folder / "same.h5")
    assert (folder / "M.h5").read_bytes() == (folder / "same.h5").read_bytes()


def test_targets_are_what_vertices_count_for(capsys, folder, graph):
    weights = np.zeros(graph.n, np.int64)
    weights[[1, 2, 3]] = 25, 100, 1
    (folder / "T.txt").write_text(
        "".join(f"{v} {w / 100}\n" for v, w in zip(graph.original([1, 2, 3]), (25, 100, 1), strict=True))
    )
    words = (folder / "G.h5", "--ids", ",".join(map(str, graph.original([4, 0]))), "--runs", 200, "--seed", 7)
    record = _json(capsys, *words, "--prefixes", "1", "--targets", folder / "T.txt")
    curve = forward_curve(graph, [4, 0], [1, 2], runs=200, seed=7, targets=weights)
    assert [point["spread"] for point in record["curve"]] == [one.spread / 100 for one in curve]
    assert [point["stderr"] for point in record["curve"]] == [one.stderr / 100 for one in curve]


def test_ids_and_text_files(capsys, folder, graph):
    first, second = (int(original) for original in graph.original([4, 9]))
    expected = forward_spread(graph, [4, 9], model="lt", runs=300)
    (folder / "ids.txt").write_text(f"# seeds\n{first}\n\n{second} # the last\n")
    for seeds in (("--ids", f"{first}, {second}"), ("--seeds", folder / "ids.txt")):
        record = _json(capsys, folder / "G.h5", *seeds, "--model", "lt", "--runs", 300)
        assert (record["spread"], record["stderr"]) == (expected.spread, expected.stderr)


def test_seeds_of_several_rounds(capsys, folder, graph):
    internal = [4, 0, 4]
    write_seeds(
        folder / "S.h5", graph.original(internal), internal, n=graph.n, method="x", graph="0" * 64, rounds=[0, 0, 1]
    )
    words = (folder / "G.h5", "--seeds", folder / "S.h5", "--runs", 200, "--device", "cpu")
    code, out, err = _run(capsys, *words, "--json")
    assert code == 0
    assert "another graph" in err
    record = json.loads(out)
    assert (record["k"], record["spread"]) == (3, forward_rounds(graph, [[4, 0], [4]], runs=200).spread)
    assert _run(capsys, *words, "--prefixes", "1")[0] == 2


def test_an_error_in_place_of_runs(capsys, folder, graph, caplog):
    chosen = [4, 0, 9]
    words = (folder / "G.h5", "--ids", ",".join(map(str, graph.original(chosen))), "--seed", 7, "--prefixes", "1")
    record = _json(capsys, *words, "--error", 0.02, "--out", folder / "M.h5")
    assert record["error"] == max(2 * one["stderr"] / one["spread"] for one in record["curve"]) <= 0.02
    assert record["runs"] in [1024 << i for i in range(10)]
    assert record["params"]["error"] == 0.02
    curve = forward_curve(graph, chosen, [1, 3], runs=record["runs"], seed=7)
    assert [(one["spread"], one["stderr"]) for one in record["curve"]] == [(one.spread, one.stderr) for one in curve]
    assert read_metrics(folder / "M.h5").arrays["runs"].tolist() == 2 * [record["runs"]]
    assert "--max-runs" not in caplog.text
    code, out, err = _run(capsys, *words, "--error", 0.001, "--max-runs", 100, "--device", "cpu", "--json")
    assert (code, json.loads(out)["runs"]) == (0, 100)
    assert json.loads(out)["error"] > 0.001
    said = [line for line in err.splitlines() if "after 100 cascades" in line]
    assert len(said) == 1 and said[0].endswith("raise --max-runs")


def test_summary_for_people(capsys, folder, graph):
    words = (folder / "G.h5", "--ids", int(graph.original([4])[0]), "--runs", 100, "--device", "cpu")
    record = json.loads(_run(capsys, *words, "--json")[1])
    code, out, _ = _run(capsys, *words)
    assert code == 0
    first, second = out.splitlines()[:2]
    assert first == f"spread of 1 seed  {with_error(record['spread'], 2 * record['stderr'])}"
    assert second.endswith("100; ± is two standard errors")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--ids", "10", "--runs", "1"], 2, "1 runs"),
        (["--ids", "10", "--runs", "100", "--error", "0.1"], 2, "either --runs or --error"),
        (["--ids", "10", "--max-runs", "100"], 2, "--max-runs is for --error"),
        (["--ids", "10", "--error", "0"], 2, "error is 0.0"),
        (["--ids", "10", "--error", "0.1", "--max-runs", "1"], 2, "max_runs is 1"),
        (["--ids", "10", "--seed", "-1"], 2, "--seed"),
        (["--ids", "10,10"], 2, "vertex 10 is among the seeds more than once"),
        (["--ids", "10,x"], 2, "'x' is not a whole number"),
        (["--ids", ""], 2, "'' is not a whole number"),
        (["--ids", "10", "--prefixes", "0"], 2, "prefixes"),
        (["--ids", "10", "--prefixes", "2"], 2, "prefixes"),
        (["--ids", "10", "--prefixes", "1;2"], 2, "--prefixes"),
        (["--ids", "10", "--model", "sir"], 2, "--model"),
        ([], 2, "either --seeds or --ids"),
        (["--ids", "10", "--seeds", "ids.txt"], 2, "either --seeds or --ids"),
        (["--ids", "11"], 3, "vertex 11 is not in the graph"),
        (["--ids", "99999999999999999999"], 2, "not a whole number"),
        (["--ids", "9" * 5000], 2, "not a whole number"),
        (["--seeds", "missing.h5"], 3, "missing.h5"),
        (["--seeds", "."], 3, "directory"),
        (["--seeds", "empty.txt"], 3, "names no vertices"),
        (["--seeds", "letters.txt"], 3, "line 2: 'ten' is not a vertex id"),
        (["--seeds", "minus.txt"], 3, "line 1"),
        (["--seeds", "twice.txt"], 3, "twice.txt, line 3: vertex 10 is given twice, first in line 1"),
        (["--seeds", "long.txt"], 3, "line 1: '9999"),
        (["--seeds", "junk.bin"], 3, "line 1"),
        (["--seeds", "G.h5"], 3, "graph"),
        (["--seeds", "cut.h5"], 3, "cut.h5"),
        (["--ids", "10", "--out", "nowhere/M.h5"], 3, "nowhere"),
        (["--ids", "10", "--device", "cuda"], 4, "GPU"),
    ],
)
def test_one_line_and_the_exit_code(capsys, folder, monkeypatch, words, code, message):
    monkeypatch.chdir(folder)
    (folder / "ids.txt").write_text("10\n")
    (folder / "empty.txt").write_text("# nothing\n")
    (folder / "letters.txt").write_text("10\nten\n")
    (folder / "minus.txt").write_text("-1\n")
    (folder / "twice.txt").write_text("10\n20\n10\n")
    (folder / "long.txt").write_text("9" * 5000)
    (folder / "junk.bin").write_bytes(bytes(range(128, 256)))
    (folder / "cut.h5").write_bytes((folder / "G.h5").read_bytes()[:200])
    if "cuda" in words:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    found, out, err = _run(capsys, "G.h5", *words, *([] if "--device" in words else ["--device", "cpu"]))
    lines = [line for line in err.splitlines() if "error" in line]
    assert (found, out) == (code, "")
    assert len(lines) == 1 and message in lines[0]
    assert "Traceback" not in err
    assert not list(folder.rglob("M.h5"))


def test_broken_graphs(capsys, tmp_path):
    heavy = build_graph(np.array([0, 1]), np.array([2, 2]), w=np.array([0.75, 0.75]), weights=Weights("file"))
    write_graph(tmp_path / "heavy.h5", heavy)
    write_graph(tmp_path / "none.h5", build_graph(np.array([0]), np.array([1]), weights=Weights("none")))
    for words, code, message in (
        (("heavy.h5", "--model", "lt"), 3, "vertex 2"),
        (("none.h5",), 3, "no edge probabilities"),
        (("missing.h5",), 3, "missing.h5"),
    ):
        name, *rest = words
        found, _, err = _run(capsys, tmp_path / name, "--ids", "0", "--device", "cpu", *rest)
        assert (found, message in err) == (code, True), err
