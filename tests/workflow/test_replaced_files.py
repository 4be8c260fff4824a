"""Edge lists as people have them: replaced by older files, touched, with odd names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GRAPH = "results/graphs/x.h5"


def snakemake(folder, name="edges.txt"):
    """Import an edge list of a folder by the workflow; return whether that was necessary."""
    entry = {"name": "x", "edges": name, "systems": ["kpar"]}
    (folder / "mine.yaml").write_text(yaml.safe_dump({"graphs": [entry], "kpar": {"k": [2]}}))
    command = [sys.executable, "-m", "snakemake", GRAPH, "-s", str(ROOT / "Snakefile"), "--cores", "1"]
    done = subprocess.run(
        [*command, "--configfile", "mine.yaml"], cwd=folder, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return "Nothing to be done" not in done.stderr


def write(path, step, of=120_000, age_s=0):
    """Write an edge list, so long that Snakemake compares no checksums, and as old as asked for."""
    path.write_text("".join(f"{v} {v * step % of}\n" for v in range(1, of)))
    assert path.stat().st_size > 1 << 20
    if age_s:
        os.utime(path, ns=(path.stat().st_mtime_ns - age_s * 10**9,) * 2)


@pytest.mark.long
def test_another_edge_list_is_imported_whatever_its_time(tmp_path):
    edges, graph = tmp_path / "edges.txt", tmp_path / GRAPH
    write(edges, 7)
    assert snakemake(tmp_path)
    first = graph.read_bytes()
    assert not snakemake(tmp_path)

    write(edges, 11, age_s=10**6)
    assert snakemake(tmp_path), "replaced by an older one"
    assert graph.read_bytes() != first
    assert not snakemake(tmp_path)

    write(edges, 7, age_s=2 * 10**6)
    assert snakemake(tmp_path), "and by the first one again"
    assert graph.read_bytes() == first

    os.utime(edges)
    assert not snakemake(tmp_path), "only touched"


@pytest.mark.long
@pytest.mark.parametrize("name", ["-g.csv", "--help", ' it\'s $HOME; & (a) #`b` "c" \\d *~%s.csv', "two\nlines.csv"])
def test_a_file_may_have_any_name(tmp_path, name):
    (tmp_path / name).write_text("source,target\n" + "".join(f"{v},{v + 1}\n" for v in range(40)))
    assert snakemake(tmp_path, name)
    assert not snakemake(tmp_path, name)
