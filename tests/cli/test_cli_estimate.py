"""``graph import --estimate``: what is said beforehand against what comes."""

import numpy as np
import pytest

from gpukit.graph import readers


@pytest.mark.parametrize("options", [(), ("--undirected", "--weights", "trivalency"), ("--no-transpose",)])
def test_an_estimate_is_near_what_comes(record, tmp_path, monkeypatch, options):
    """Of a tenth of the text; ends are skewed, so that there are ever fewer new ones."""
    monkeypatch.setattr(readers, "BLOCK_BYTES", 1 << 12)
    ends = (20_000 * np.random.default_rng(5).random((100_000, 2)) ** 3).astype(int)
    path = tmp_path / "e.txt"
    np.savetxt(path, ends, "%d")
    said = record("graph", "import", path, "--out", tmp_path / "g.h5", "--estimate", *options)
    assert not (tmp_path / "g.h5").exists() and said["free_bytes"] > 0
    found = said["estimate"]
    assert 0.1 < found["share"] < 0.2
    monkeypatch.undo()
    made = record("graph", "import", path, "--out", tmp_path / "g.h5", *options)
    assert found["vertices"] == pytest.approx(made["n"], rel=0.15)
    assert found["edges"] == pytest.approx(made["m"], rel=0.2)  # repeats become more
    assert found["graph_bytes"] == pytest.approx((tmp_path / "g.h5").stat().st_size, rel=0.5)
    assert found["memory_bytes"] > found["graph_bytes"] and found["time_s"] > 0
    assert set(found) == {"vertices", "edges", "graph_bytes", "memory_bytes", "time_s", "share"}


def test_an_estimate_of_a_small_text_is_exact(good, record, tmp_path):
    edges = tmp_path / "e.txt"
    edges.write_text("# c\n10 20\n20 10\n30 30\n7 20\n")
    found = record("graph", "import", edges, "--out", tmp_path / "g.h5", "--estimate")["estimate"]
    made = record("graph", "import", edges, "--out", tmp_path / "g.h5")
    assert (found["vertices"], found["edges"], found["share"]) == (made["n"], made["m"], 1)
    shown = good("graph", "import", edges, "--out", tmp_path / "h.h5", "--estimate")
    assert "100.0% of the file; nothing was written" in shown and not (tmp_path / "h.h5").exists()


def test_what_cannot_be_estimated_is_one_line(run, tmp_path):
    matrix = tmp_path / "m.mtx"
    matrix.write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")
    loops = tmp_path / "l.txt"
    loops.write_text("1 1\n")
    for path, code, expected in [
        ("-", 2, "- is no file"),
        (tmp_path, 2, "is no file"),
        (matrix, 2, "is a Matrix Market file"),
        (loops, 3, "has no edges to judge by"),
        (tmp_path / "none", 3, "No such file"),
    ]:
        found, out, err = run("graph", "import", path, "--out", tmp_path / "g.h5", "--estimate")
        assert (found, out) == (code, "") and expected in err.splitlines()[-1], err
