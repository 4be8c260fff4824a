"""Saving of answers to files, and the files that they replace."""

import re
from pathlib import Path

import pytest

import gpukit as gk
from gpukit.errors import UsageError


def test_what_is_saved_replaces_its_own_kind_alone(tmp_path: Path) -> None:
    graph = gk.from_edges([1, 2], [2, 3], undirected=True)
    table, other = tmp_path / "table.h5", tmp_path / "other.h5"
    table.write_text("mine\n")
    gk.influence_maximization(graph, k=1).save(other)
    for path, found in ((table, "is no artifact"), (other, "is an artifact of kind seeds")):
        before = path.read_bytes()
        line = f"{path} exists, and {found}, but this writes one of kind graph; name another file, or "
        with pytest.raises(UsageError, match=f"^{re.escape(line)}replace it with force=True$"):
            graph.save(path)
        assert path.read_bytes() == before
        graph.save(path, force=True)
        gk.from_edges([1], [2]).save(path)
        assert gk.load(path).m == 1


def test_the_table_of_all_answers_replaces_its_own_kind_alone(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    index, path = gk.PageRankIndex(gk.from_edges([1, 2], [2, 3], undirected=True)), tmp_path / "near.parquet"
    path.write_text("mine\n")
    with pytest.raises(UsageError, match=r"is no table of write_all\(\), .* replace it with force=True$"):
        index.write_all(path, k=2)
    assert path.read_text() == "mine\n"
    assert index.write_all(path, k=2, force=True) == index.write_all(path, k=2) == parquet.read_table(path).num_rows
