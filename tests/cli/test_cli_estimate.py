"""``--estimate``: the prediction compared with the result."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpukit.graph.read import source

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("options", [(), ("--undirected", "--weights", "trivalency"), ("--no-transpose",)])
def test_an_estimate_is_near_what_comes(record, tmp_path, monkeypatch, options):
    """Of a tenth of the text; ends are skewed, so that there are ever fewer new ones."""
    monkeypatch.setattr(source, "BLOCK_BYTES", 1 << 12)
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
        (matrix, 2, "is Matrix Market, and --estimate reads the start of a text"),
        (loops, 3, "has no edges to judge by"),
        (tmp_path / "none", 3, "No such file"),
    ]:
        found, out, err = run("graph", "import", path, "--out", tmp_path / "g.h5", "--estimate")
        assert (found, out) == (code, "") and expected in err.splitlines()[-1], err


MEASURED = """
import sys
from gpukit.cli.app import main
code = main(sys.argv[1:])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(code)
"""

KNOWN = ["kpar rank G --out O", "kpar index G --rank PR --out O", "kpar query G --index I --random 9 -k 9"]
KNOWN += ["evaluate spread G --ids 3,30 --runs 200"]
LEAST = ["gim run G -k 5 --out O", "gim sample G --count 2000 --out O", "merit run G --eta 50 --out O"]
LEAST += ["diversity search G --undirected --model comp -t 3 --out O", "imgpu run C -k 2 --worlds 20 --out O"]


@pytest.mark.parametrize("command", [*KNOWN, *LEAST])
@pytest.mark.parametrize("name", ["wiki-Vote", pytest.param("web-NotreDame", marks=pytest.mark.long)])
def test_needs_are_near_the_peak(good, record, tmp_path, name, command):
    """Of a process that compiles nothing; what comes on top, only a run tells."""
    files = {key: tmp_path / f"{key}.h5" for key in ("G", "C", "PR", "I", "O")}
    (edges,) = (ROOT / "data").glob(f"{name}.txt.*")
    good("graph", "import", edges, "--out", files["G"])
    if "C" in command.split():
        good("graph", "import", edges, "--weights", "const:0.01", "--out", files["C"])
    if "PR" in command.split() or "I" in command.split():
        good("kpar", "rank", files["G"], "--out", files["PR"])
        good("kpar", "index", files["G"], "--rank", files["PR"], "--out", files["I"])
    words = [str(files.get(word, word)) for word in command.split()] + ["--threads", "2"]
    found = record(*words, "--estimate")["estimate"]
    assert not files["O"].exists()
    assert found["memory_bytes"] == sum(found["parts"].values())
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *words], capture_output=True, text=True, check=True, cwd=tmp_path
        )
    peak = 1024 * int(done.stderr.split()[-1])
    if command in KNOWN:
        assert found["on_top"] is None and 1 / 1.5 < found["memory_bytes"] / peak < 1.5, found["memory_bytes"] / peak
    else:
        assert found["on_top"] and found["memory_bytes"] < 1.2 * peak, found["memory_bytes"] / peak
        assert found["parts"]["the graph"] >= 8 * found["edges"], "the edges in both directions, 4 bytes each"


def test_needs_grow_with_what_is_asked(good, record, tmp_path):
    """Walks by the formula that an index follows; without the file of ranks, also what ranks take."""
    graph, out = tmp_path / "G.h5", tmp_path / "I.h5"
    good("graph", "import", ROOT / "data/wiki-Vote.txt.gz", "--out", graph)
    few, many = (record("kpar", "index", graph, "--out", out, "--epsilon", e, "--estimate") for e in (0.5, 0.1))
    assert many["estimate"]["memory_bytes"] > few["estimate"]["memory_bytes"]
    drawn = record("kpar", "index", graph, "--out", out)["walks"]
    walks = next(int(name.split()[0].replace(",", "")) for name in few["estimate"]["parts"] if name.endswith(" walks"))
    assert 0.8 < walks / drawn < 1.25
    shown = good("kpar", "index", graph, "--out", out, "--estimate")
    assert re.search(r"memory    about [0-9.]+ MiB of the .* that are free \(the process", shown)
    assert "roughly" in shown and "nothing was run or written" in shown


def test_an_estimate_needs_a_graph(run, tmp_path):
    code, out, err = run("kpar", "rank", tmp_path / "gone.h5", "--out", tmp_path / "PR.h5", "--estimate")
    assert code == 3 and not out and err.count("\n") == 1 and "does not exist" in err
