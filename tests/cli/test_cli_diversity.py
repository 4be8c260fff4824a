"""``gpukit diversity``: records, artifacts, and one line with the right exit code for what is wrong."""

import json

import numpy as np
import pytest

from gpukit.artifacts import read, write_graph
from gpukit.artifacts.verify import verify
from gpukit.cli.app import main
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights


@pytest.fixture
def folder(tmp_path):
    u, v = np.array([(10, 20), (20, 30), (10, 30), (10, 40), (10, 50), (40, 50), (60, 10)]).T
    write_graph(tmp_path / "G.h5", build_graph(u, v, weights=Weights("none"), undirected=True))
    write_graph(tmp_path / "A.h5", build_graph(u, v, weights=Weights("none")))
    return tmp_path


@pytest.mark.parametrize("name", ["G.h5", "A.h5"])
def test_search(capsys, folder, name):
    words = ["diversity", "search", str(folder / name), "--out", str(folder / "D.h5"), "--model", "comp", "-k", "2"]
    assert main([*words, "-t", "2", "--undirected", "--json"]) == 0
    top = json.loads(capsys.readouterr().out)["top"]
    assert top == [
        {"vertex": 10, "score": 2, "contexts": [[20, 30], [40, 50]]},
        {"vertex": 20, "score": 1, "contexts": [[10, 30]]},
    ]
    verify(folder / "D.h5")


def test_egos(folder):
    out = folder / "E.h5"
    assert main(["diversity", "egos", str(folder / "G.h5"), "--out", str(out), "--vertices", "60,10"]) == 0
    arrays = read(out, "egonets").arrays
    assert arrays["centres"].tolist() == [10, 60]
    assert arrays["nodes"].tolist() == [20, 30, 40, 50, 60, 10]
    assert arrays["indices"].tolist() == [1, 0, 3, 2]
    verify(out)


@pytest.mark.parametrize(
    ("name", "words", "code"),
    [("A.h5", [], 2), ("G.h5", ["-t", "7"], 2), ("G.h5", ["-k", "1"], 2), ("G.h5", ["--device", "cuda"], 4)],
)
def test_errors(capsys, folder, name, words, code):
    out = folder / "D.h5"
    assert main(["diversity", "search", str(folder / name), "--out", str(out), "-t", "2", *words]) == code
    assert len(capsys.readouterr().err.strip().splitlines()[-1]) > 20
    assert not out.exists()
