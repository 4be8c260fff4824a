"""``gpukit evaluate diversity``: right answers pass; for wrong answers it exits with 1 and names the difference."""

import json

import networkx as nx
import numpy as np
import pytest

from gpukit.artifacts import read, write, write_graph
from gpukit.cli.app import main
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights


@pytest.fixture(scope="module", params=[True, False], ids=["undirected", "directed"])
def folder(tmp_path_factory, request):
    """Return a folder with a graph whose original ids are not its internal ones, and the answer to a search on it."""
    path = tmp_path_factory.mktemp("diversity")
    u, v = 10 * np.array(nx.powerlaw_cluster_graph(80, 4, 0.8, seed=2).edges).T + 3
    write_graph(path / "G.h5", build_graph(u, v, weights=Weights("none"), undirected=request.param))
    words = ["--out", path / "D.h5", "--model", "truss", "-k", 3, "-t", 20, "--undirected"]
    assert main([*map(str, ["diversity", "search", path / "G.h5", *words])]) == 0
    return path


def evaluate(capsys, folder, name, *words):
    capsys.readouterr()
    code = main([*map(str, ["evaluate", "diversity", folder / "G.h5", "--answers", folder / name, "--json", *words])])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


def test_a_right_answer_passes(capsys, folder):
    code, record, _ = evaluate(capsys, folder, "D.h5")
    assert code == 0
    assert (record["listed"], record["checked"]) == (20, 60)
    assert [record[kind] for kind in ("wrong_scores", "wrong_contexts", "misplaced", "missed")] == [[]] * 4
    assert record["params"] == {"sample": None, "model": "truss", "k": 3} and record["graph"]["n"] == 80
    few, again, other = (evaluate(capsys, folder, "D.h5", "--sample", 7, "--seed", s)[1] for s in (1, 1, 2))
    assert few["checked"] == again["checked"] == other["checked"] < 60


def test_a_wrong_answer_fails_and_says_where(capsys, folder):
    found = read(folder / "D.h5", "diversity")
    given = dict(params=found.params, inputs=found.inputs)
    scores, first, offsets = (found.arrays[name].copy() for name in ("scores", "first", "offsets"))
    scores[0] += 1
    write(folder / "W.h5", "diversity", {**found.arrays, "scores": scores}, found.attributes, **given)
    code, record, err = evaluate(capsys, folder, "W.h5")
    assert code == 3 and "scores and numbers of contexts differ" in err
    # The last vertex without its last context: a file that does not contradict itself.
    scores[0], scores[-1], first[-1] = scores[0] - 1, scores[-1] - 1, first[-1] - 1
    arrays = {"scores": scores, "first": first, "offsets": offsets[:-1]}
    arrays["members"] = found.arrays["members"][: offsets[-2]]
    write(folder / "W.h5", "diversity", {**found.arrays, **arrays}, found.attributes, **given)
    code, record, err = evaluate(capsys, folder, "W.h5")
    wrong = int(found.arrays["vertices"][-1])
    assert code == 1
    assert record["wrong_scores"] == record["wrong_contexts"] == [wrong] and record["missed"] == []
    assert err.strip().splitlines()[-1].endswith(f"is wrong about 1 vertices, vertex {wrong} for one")


def test_a_part_of_an_answer_is_not_judged(capsys, folder):
    words = ["diversity", "search", folder / "G.h5", "--model", "truss", "-k", 3, "-t", 20, "--undirected"]
    for i in (1, 2):
        assert main([*map(str, [*words, "--part", f"{i}/2", "--out", folder / f"p{i}.h5"])]) == 0
        code, record, err = evaluate(capsys, folder, f"p{i}.h5")
        assert (code, record) == (3, None)
        assert f"p{i}.h5 is part {i} of 2; join them by `gpukit diversity gather` first" in err
    gather = ["diversity", "gather", folder / "p1.h5", folder / "p2.h5", "--out", folder / "joined.h5"]
    assert main([*map(str, gather)]) == 0
    assert evaluate(capsys, folder, "joined.h5")[0] == 0
    assert main([*map(str, [*words, "--part", "1/1", "--out", folder / "p.h5"])]) == 0
    assert evaluate(capsys, folder, "p.h5")[0] == 0


def test_errors(capsys, folder):
    write_graph(folder / "other.h5", build_graph(np.array([1]), np.array([2]), weights=Weights("none")))
    for words, code, message in (
        (["G.h5", "--answers", "G.h5"], 3, "graph"),
        (["G.h5", "--answers", "missing.h5"], 3, "missing.h5"),
        (["other.h5", "--answers", "D.h5"], 3, "another graph"),
        (["G.h5", "--answers", "D.h5", "--sample", "-1"], 2, "--sample is -1"),
        (["G.h5"], 2, "--answers"),
    ):
        paths = [str(folder / word) if word.endswith(".h5") else word for word in words]
        assert main(["evaluate", "diversity", *paths]) == code
        assert message in capsys.readouterr().err.strip().splitlines()[-1]
