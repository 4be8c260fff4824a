"""The lines that must not become slower, and the program that times them."""

import json
import re
import sys
from pathlib import Path

import pytest
from held import HELD, changed, kernels_of, main, verdict

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
LINES = HELD["lines"]


def test_each_line_is_whole():
    assert len(LINES) >= 25
    assert len({line["name"] for line in LINES}) == len(LINES)
    for line in LINES:
        assert set(line["devices"]) <= {"cpu", "cuda"} and line["devices"], line["name"]
        known = {"data", *HELD["files"]}
        assert set(re.findall(r"{(\w+)}", line["command"])) <= known, line["name"]
    for line in LINES:
        assert "cuda" not in line["devices"] or line["rooms"], f"{line['name']}: name the rooms whose kernels it runs"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([100, 101, 102], [116, 117, 118], "slower"),
        ([100, 101, 102], [112, 113, 114], "same"),
        ([100, 101, 150], [117, 118, 149], "same"),
        ([117, 118, 119], [100, 101, 102], "faster"),
        ([], [5], "new"),
    ],
)
def test_verdicts(before, after, expected):
    assert verdict(before, after, 1.15) == expected


def test_a_slowdown_put_in_on_purpose_is_found(tmp_path, monkeypatch, capsys):
    """Two versions that only say how long they took."""
    line = {"name": "a", "command": "bench", "measure": "runs.0.s", "unit": "s", "devices": ["cpu"], "rooms": []}
    monkeypatch.setitem(HELD, "lines", [line])
    words = ["held", "--runs", "2", "--out", str(tmp_path / "record.json")]
    for name, seconds in (("old", 1), ("new", 1.2)):
        package = tmp_path / name / "gpukit"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text(f'print(\'{{"runs": [{{"s": {seconds}}}]}}\')\n')
        words += ["--version", f"{name}={sys.executable}:{tmp_path / name}"]
    monkeypatch.setattr(sys, "argv", words)
    assert main() == 1
    assert capsys.readouterr().out == "slower  a: 1000.0 -> 1200.0 ms\n"
    found = json.loads((tmp_path / "record.json").read_text())["lines"][0]
    assert found["verdict"] == "slower" and found["ms"] == {"old": [1000, 1000], "new": [1200, 1200]}


def test_changed_kernels_are_named():
    line = {"name": "a", "rooms": ["worlds"]}
    assert changed({"kernels": {"worlds": kernels_of("worlds")}, "lines": [line]}) == []
    assert changed({"kernels": {"worlds": "0" * 16}, "lines": [line]}) == ["a"]


@pytest.mark.parametrize("path", sorted(RESULTS.glob("held-*.json")), ids=lambda path: path.stem)
def test_records_hold_lines_there_are(path):
    """Lines whose kernels changed since the record are printed: their figures are of an earlier version."""
    record = json.loads(path.read_text())
    wanted = {line["name"] for line in LINES if record["device"] in line["devices"]}
    assert {line["name"] for line in record["lines"]} <= wanted
    if record["device"] == "cuda":
        print("\n".join(f"{path.stem}: kernels changed since: {name}" for name in changed(record)))
