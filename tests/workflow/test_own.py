"""The examples of the pages about your own rules and tables, run as written."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]


def blocks(page, language):
    """Return the blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / f"docs/{page}.md").read_text(), re.DOTALL | re.MULTILINE)


def test_a_rule_of_ones_own_is_planned(tmp_path):
    (text,) = blocks("howto-rule", "snakemake")
    (tmp_path / "mine.smk").write_text(text.replace('"Snakefile"', repr(str(ROOT / "Snakefile"))))
    command = [sys.executable, "-m", "snakemake", "-s", "mine.smk", "mine", "-n", "-p", "--cores", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^best_ten +2$", done.stdout, re.MULTILINE) and not re.search(
        "^gim_run ", done.stdout, re.MULTILINE
    )
    assert "python -m gpukit export results/kpar/wiki-Vote/kpar-10.h5 --out results/mine/wiki-Vote.csv" in done.stdout


def test_tables_of_polars_and_duckdb_are_graphs_and_answers(monkeypatch):
    for package in ("polars", "duckdb", "pyarrow"):
        pytest.importorskip(package)
    names = {}
    for text in blocks("howto-notebook", "python"):
        exec(text, names)
    assert names["found"]["vertex"].to_list() == names["seeds"].seeds == ["eve", "cleo"]
    assert (names["G"].n, names["G"].m, names["H"].m) == (5, 7, 5)
    assert [row[3] for row in names["best"]] == ["bob", "dan", "ann"]
