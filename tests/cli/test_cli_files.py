"""``gpukit inspect``, ``verify`` and ``diff``: the commands on artifacts of every kind; and ``doctor``."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from test_cli_core import ROOT, gpukit_command

import gpukit
from gpukit import artifacts
from gpukit.cli import app
from gpukit.graph.csr import Graph

needs_plugin = pytest.mark.skipif(find_spec("hdf5plugin") is None, reason="needs hdf5plugin")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    made = {name: tmp_path / f"{name}.h5" for name in ("a", "same", "other", "seeds", "broken")}
    columns = {"x": np.arange(5), "y": np.linspace(0, 1, 5)}
    artifacts.write_metrics(made["a"], columns, {"unit": "s", "scale": 1.0}, params={"k": 3}, seed=1)
    artifacts.write_metrics(made["same"], columns, {"unit": "s", "scale": 1.0}, params={"k": 3}, seed=1)
    columns["x"][3] = 9
    artifacts.write_metrics(made["other"], {**columns, "z": np.arange(5)}, {"unit": "ms"}, params={"k": 4}, seed=2)
    artifacts.write_seeds(made["seeds"], [4], [0], n=1, method="x", graph="ab" * 32)
    made["broken"].write_bytes(made["a"].read_bytes()[:-9])
    return made


def test_diff_equal(files: dict[str, Path], capsys: pytest.CaptureFixture) -> None:
    assert app.main(["diff", str(files["a"]), str(files["same"])]) == 0
    assert capsys.readouterr() == ("", "")
    assert app.main(["diff", "--json", str(files["a"]), str(files["same"])]) == 0
    assert json.loads(capsys.readouterr().out) == {"equal": True, "differences": []}


def test_diff_names_every_difference(files: dict[str, Path], capsys: pytest.CaptureFixture) -> None:
    assert app.main(["diff", str(files["a"]), str(files["other"])]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "attributes.columns: ['x', 'y'] and ['x', 'y', 'z']",
        "attributes.scale: only in the first",
        "attributes.unit: 's' and 'ms'",
        "params.k: 3 and 4",
        "seed: 1 and 2",
        "dataset columns/x: 1 of 5 entries differ, first at [3]: 3 and 9",
        "dataset columns/z: only in the second",
    ]
    assert "differ in 7 places" in err and err.count("\n") == 1


def test_diff_of_shapes_types_kinds_and_tolerance(
    tmp_path: Path, files: dict[str, Path], capsys: pytest.CaptureFixture
) -> None:
    def lines(a: Path, b: Path, *words: str) -> list[str]:
        code = app.main(["diff", str(a), str(b), *words])
        found = capsys.readouterr().out.splitlines()
        assert code == (1 if found else 0)
        return found

    assert lines(files["a"], files["seeds"]) == ["kind: metrics and seeds"]
    one, two, three = (tmp_path / f"{i}.h5" for i in range(3))
    artifacts.write_metrics(one, {"x": [1.0, np.nan]}, {"v": 1.0})
    artifacts.write_metrics(two, {"x": [1.0 + 1e-9, np.nan]}, {"v": 1.0 + 1e-9})
    artifacts.write_metrics(three, {"x": [1]})
    assert len(lines(one, two)) == 2 and lines(one, two, "--rtol", "1e-6") == []
    assert lines(two, three)[-1] == "dataset columns/x: type float64 and int64"
    artifacts.write_metrics(one, {"x": [1, 2]})
    assert lines(one, three) == ["dataset columns/x: shape (2,) and (1,)"]


def test_diff_says_names_of_vertices(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "e.csv").write_text("source,target\nhub,ann\nhub,bob\nbob,cleo\n")
    graph, one, two = (str(tmp_path / name) for name in ("g.h5", "one.h5", "two.h5"))
    assert app.main(["graph", "import", str(tmp_path / "e.csv"), "--out", graph]) == 0
    for name, out in (("hub", one), ("bob", two)):
        assert app.main(["kpar", "truth", graph, "--source", name, "-k", "1", "--out", out]) == 0
    capsys.readouterr()
    assert app.main(["diff", one, two]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "dataset nodes: 1 of 1 entries differ, first at [0]: ann and cleo" in lines
    assert "dataset sources: 1 of 1 entries differ, first at [0]: hub and bob" in lines


@needs_plugin
def test_diff_ignores_how_arrays_are_stored(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    graph = Graph(np.array([0, 1, 1]), np.array([1], np.int32))
    artifacts.write_graph(tmp_path / "a.h5", graph)
    artifacts.write_graph(tmp_path / "b.h5", graph, compress=True)
    assert app.main(["diff", str(tmp_path / "a.h5"), str(tmp_path / "b.h5")]) == 0


def test_verify(files: dict[str, Path], capsys: pytest.CaptureFixture) -> None:
    assert app.main(["verify", str(files["a"]), str(files["seeds"])]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["ok", "ok"]
    assert app.main(["verify", str(files["broken"]), str(files["a"])]) == 3
    out, err = capsys.readouterr()
    assert "a.h5: ok" in out and err == f"gpukit: error: {files['broken']} is truncated; make or copy it again\n"
    assert app.main(["verify", "--json", str(files["broken"]), "none.h5", str(files["a"])]) == 3
    out, err = capsys.readouterr()
    assert [one["ok"] for one in json.loads(out)["files"]] == [False, False, True]
    assert err.startswith("gpukit: error: 2 of 3 files are broken: ") and err.count("\n") == 1


def test_inspect(files: dict[str, Path], capsys: pytest.CaptureFixture) -> None:
    assert app.main(["inspect", str(files["a"])]) == 0
    out = capsys.readouterr().out
    assert "metrics, layout 1, by gpukit" in out and "columns/x  int64 [5]" in out and "@unit: s" in out
    assert app.main(["inspect", "--json", str(files["a"])]) == 0
    (one,) = json.loads(capsys.readouterr().out)["files"]
    assert (one["kind"], one["seed"], one["params"]) == ("metrics", 1, {"k": 3})
    assert app.main(["inspect", str(files["broken"])]) == 3


def test_a_reader_that_stops_early(files: dict[str, Path]) -> None:
    words = " ".join(str(files["a"]) for _ in range(300))
    line = f"{sys.executable} -m gpukit inspect {words} | head -n 1"
    done = subprocess.run(
        ["bash", "-c", line], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.stdout.count("\n") == 1 and done.stderr == ""


def test_output_to_a_full_disk(files: dict[str, Path]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "gpukit", "inspect", str(files["a"])]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and done.stderr.startswith("gpukit: error: No space left on device; free ")


def test_doctor() -> None:
    done = gpukit_command("doctor", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0 and done.stdout.count("\n") == 1
    assert report["devices"][0]["kind"] == "cpu" and report["versions"]["gpukit"] == gpukit.__version__
    assert set(report["extras"]) == {name for name, version in report["versions"].items() if version is None}
    states = {check["name"]: check["status"] for check in report["checks"]}
    assert states["cpu: Philox known answers"] == states["hdf5: write, read, compare"] == "ok"


def test_doctor_reports_a_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr("gpukit.cli.doctor._philox_cpu", lambda: False)
    monkeypatch.setattr("gpukit.device.select.detect", lambda: ((), "no NVIDIA driver"))
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    assert app.main(["doctor"]) == 1
    out, err = capsys.readouterr()
    assert (
        "failed   cpu: Philox known answers" in out and "skipped  cuda: Philox known answers (no NVIDIA driver)" in out
    )
    assert err == "gpukit: error: self-test failed: cpu: Philox known answers; see the details above\n"


ADDRESS = "https://x.example/a.b"
ADDRESSED = (
    ("graph", "info", ADDRESS),
    ("graph", "import", ADDRESS, "--out", "g.h5"),
    ("gim", "run", ADDRESS, "-k", "1", "--out", "s.h5"),
    ("kpar", "query", ADDRESS, "--source", "1"),
    ("kpar", "serve", "g.h5", "--index", ADDRESS),
    ("evaluate", "spread", "G.h5", "--seeds", ADDRESS),
    ("kpar", "truth", "G.h5", "-k", "1", "--sources", ADDRESS, "--out", "t.h5"),
    ("papers", "bench", "gim", ADDRESS),
    ("verify", ADDRESS),
    ("export", ADDRESS),
    ("demo", "d", "--graph", ADDRESS),
)


@pytest.mark.parametrize("words", ADDRESSED, ids=" ".join)
def test_an_address_is_told_how_to_be_fetched(run, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    artifacts.write_graph("G.h5", Graph(np.array([0, 1, 2]), np.array([1, 0], np.int32)))
    (tmp_path / "g.h5").write_bytes((tmp_path / "G.h5").read_bytes())
    code, _, err = run(*words)
    wanted = f"{ADDRESS} is an address, and files are read; fetch it first, as by curl -LO {ADDRESS}"
    assert code == 3 and wanted in err.splitlines()[-1], err
