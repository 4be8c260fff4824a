"""Small files like those of users: each is read as intended or refused with a reason; a second reader reads them,
too."""

import tomllib
from pathlib import Path

import pytest
from oracles import edge_files

from gpukit.errors import GpukitError
from gpukit.graph.lines import COUNTS
from gpukit.graph.read.edgelist import ReadOptions
from gpukit.graph.read.formats import read_edges

FOLDER = Path(__file__).parents[1] / "cases"
CASES = [case for path in sorted(FOLDER.glob("*.toml")) for case in tomllib.loads(path.read_text("utf-8"))["case"]]


def written(case, folder):
    path = folder / case["name"]
    path.write_bytes(case["content"].encode(case.get("encoding", "utf-8")))
    return path


def named(edges):
    """Return the edges as the file names them."""
    if edges.labels is not None:
        ends = [edges.labels.texts(end).tolist() for end in (edges.u, edges.v)]
    else:
        ends = [(end if edges.ids is None else edges.ids[end]).tolist() for end in (edges.u, edges.v)]
    return [f"{u}>{v}" for u, v in zip(*ends, strict=True)]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_file_is_read_as_it_is_meant(case, tmp_path):
    path, options = written(case, tmp_path), ReadOptions(**case.get("options", {}))
    highest = COUNTS if "weights" in case or case.get("scale") else 0
    if "refused" in case:
        with pytest.raises(GpukitError, match=case["refused"]) as caught:
            read_edges(path, highest, options=options)
        assert "\n" not in str(caught.value)
        return
    found = read_edges(path, highest, options=options)
    weights = case.get("weights", [0] * len(case["edges"]))
    read = [0] * len(found.u) if found.w is None else found.w.tolist()
    assert sorted(zip(named(found), read, strict=True)) == sorted(zip(case["edges"], weights, strict=True))
    assert found.undirected == case.get("undirected")
    assert case.get("said", "") == "" or any(
        edge_files.matches(case["said"], note) for note in (*found.notes, *found.bad)
    )


SECOND = [case for case in CASES if "edges" in case and edge_files.reads(case)]


@pytest.mark.parametrize("case", SECOND, ids=[case["name"] for case in SECOND])
def test_a_second_reader_agrees(case, tmp_path):
    expected = {(tuple(edge.split(">")), case.get("undirected") is True) for edge in case["edges"]}
    both = {(end, both) for end, both in expected} | {((v, u), both) for (u, v), both in expected if both}
    assert edge_files.read(written(case, tmp_path), case) == {end for end, _ in both}
