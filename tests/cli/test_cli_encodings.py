"""Names on a standard output that is not UTF-8: data is right or refused, and a terminal shows a readable name."""

import csv
import json
import os
import subprocess
import sys

import pytest

from gpukit.cli.app import main

NAMES = ["Zoë", r"Zo\xeb", "日本"]
CPU = ("--device", "cpu")
OTHERS = {
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with seeds on a graph by names, and on one whose names are ASCII."""
    folder = tmp_path_factory.mktemp("encodings")
    for kind, names in (("odd", NAMES), ("plain", ["ann", "bob", "cy"])):
        edges = [(a, b) for a in names for b in names if a != b]
        (folder / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in edges))
        graph, seeds = (str(folder / f"{kind}{end}.h5") for end in ("", "-seeds"))
        assert main(["graph", "import", str(folder / "edges.csv"), "--out", graph]) == 0
        assert main(["gim", "baseline", graph, "--method", "degree", "-k", "3", "--out", seeds]) == 0
    return folder


def run(folder, variables, *words):
    """Run a command with some variables; return its exit code, and what it printed as bytes and as text."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONIO", "PYTHONUTF8"))}
    command = [sys.executable, "-m", "gpukit", *words]
    done = subprocess.run(command, cwd=folder, env=kept | variables, capture_output=True, timeout=200)
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.mark.parametrize("variables", OTHERS.values(), ids=OTHERS)
def test_a_table_is_utf8_or_refused(folder, variables):
    code, out, err = run(folder, variables, "export", "odd-seeds.h5")
    assert code == 2 and out.isascii() and out.count(rb"Zo\xeb") <= 1
    assert err.startswith("gpukit: error: the table has names in UTF-8, and standard output is set to ")
    assert err.endswith("; give --out X.csv, or set PYTHONIOENCODING=utf-8\n") and err.count("\n") == 1
    code, out, _ = run(folder, variables, "export", "plain-seeds.h5")
    assert code == 0 and b'"ann"' in out


def test_the_remedies_work(folder, tmp_path):
    variables = {"PYTHONIOENCODING": "latin-1"}
    assert run(folder, variables, "export", "odd-seeds.h5", "--out", str(tmp_path / "t.csv"))[0] == 0
    code, out, _ = run(folder, {"PYTHONIOENCODING": "utf-8", "LC_ALL": "C"}, "export", "odd-seeds.h5")
    assert code == 0 and out == (tmp_path / "t.csv").read_bytes()
    assert {row["vertex"] for row in csv.DictReader(out.decode().splitlines())} == set(NAMES)


@pytest.mark.parametrize("variables", OTHERS.values(), ids=OTHERS)
def test_json_can_be_read_back(folder, variables):
    code, out, _ = run(folder, variables, "export", "odd-seeds.h5", "--json")
    assert code == 0 and {row["vertex"] for row in json.loads(out.decode("ascii"))["rows"]} == set(NAMES)
    words = ("gim", "baseline", "odd.h5", "--method", "degree", "-k", "3", "--out", "again.h5", "--json")
    code, out, _ = run(folder, variables, *words)
    assert code == 0 and set(json.loads(out.decode("ascii"))["seeds"]) == set(NAMES)


@pytest.mark.parametrize("variables", OTHERS.values(), ids=OTHERS)
def test_a_screen_shows_different_names_differently(folder, variables):
    code, out, _ = run(folder, variables, "gim", "baseline", "odd.h5", "--method", "degree", "-k", "3", "--out", "s.h5")
    first = b"Zo\xeb" if variables.get("PYTHONIOENCODING") == "latin-1" else rb"Zo\xeb"
    (line,) = [line for line in out.splitlines() if line.startswith(b"seeds")]
    assert code == 0 and set(line.removeprefix(b"seeds").strip().split(b", ")) == {first, rb"Zo\\xeb", rb"\u65e5\u672c"}
