"""Artifacts: round trips, equal bytes, the layout table, other readers."""

import hashlib
import json
import os
import stat
import time
from importlib.util import find_spec
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit import artifacts
from gpukit.artifacts import store
from gpukit.artifacts.describe import describe
from gpukit.artifacts.layout import KINDS, Array, Attribute, Kind
from gpukit.artifacts.verify import verify
from gpukit.errors import InputError
from gpukit.graph.csr import Graph, Weights
from gpukit.worlds.tables import build_tables

DIGEST = "ab" * 32
needs_plugin = pytest.mark.skipif(find_spec("hdf5plugin") is None, reason="needs hdf5plugin")


def graph_of(n: int, edges: set[tuple[int, int]], *, ids=None, p: dict | None = None, transpose=True, **rest) -> Graph:
    """Build a graph with plain Python, one edge at a time."""
    rows = sorted((u, v) for u, v in edges if u != v)
    back = sorted((v, u) for u, v in rows)

    def starts(pairs):
        counts = [0] * (n + 1)
        for row, _ in pairs:
            counts[row + 1] += 1
        return np.cumsum(counts, dtype=np.int64)

    def column(pairs):
        return np.array([second for _, second in pairs], np.int32)

    return Graph(
        indptr=starts(rows),
        indices=column(rows),
        ids=ids,
        probabilities=None if p is None else np.array([p[edge] for edge in rows], np.uint32),
        in_indptr=starts(back) if transpose else None,
        in_indices=column(back) if transpose else None,
        in_probabilities=None if p is None or not transpose else np.array([p[v, u] for u, v in back], np.uint32),
        **rest,
    )


def same_graph(a: Graph, b: Graph) -> bool:
    for name in ("indptr", "indices", "ids", "probabilities", "in_indptr", "in_indices", "in_probabilities"):
        x, y = getattr(a, name), getattr(b, name)
        if (x is None) != (y is None) or (x is not None and (x.dtype != y.dtype or not np.array_equal(x, y))):
            return False
    return (a.weights, a.undirected, a.facts) == (b.weights, b.undirected, b.facts)


STAR = {(0, v) for v in range(1, 6)}
CLIQUE = {(u, v) for u in range(5) for v in range(5)}
SHAPES = {
    "empty": (0, set()),
    "one vertex": (1, set()),
    "no edges": (4, set()),
    "star": (6, STAR),
    "clique": (5, CLIQUE),
    "disconnected": (7, {(0, 1), (1, 0), (5, 4)}),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("compress", [False, pytest.param(True, marks=needs_plugin)])
def test_graph_round_trip(tmp_path: Path, shape: str, compress: bool) -> None:
    n, edges = SHAPES[shape]
    graph = graph_of(
        n, edges, ids=np.arange(n, dtype=np.int64) * 3, facts={"self_loops_dropped": 2}, weights=Weights("const", p=0.1)
    )
    digest = artifacts.write_graph(tmp_path / "G.h5", graph, compress=compress)
    assert same_graph(artifacts.read_graph(tmp_path / "G.h5"), graph)
    assert artifacts.read_graph_file(tmp_path / "G.h5", tables=True)[1:] == (digest, None)
    verify(tmp_path / "G.h5")


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.data())
def test_random_graphs_round_trip(tmp_path_factory: pytest.TempPathFactory, n: int, data: st.DataObject) -> None:
    vertex = st.integers(0, n - 1)
    edges = data.draw(st.sets(st.tuples(vertex, vertex)))
    p = {edge: data.draw(st.integers(0, 2**32 - 1)) for edge in sorted(edges)}
    graph = graph_of(n, edges, p=p, weights=Weights("trivalency", seed=2**64 - 1))
    path = tmp_path_factory.mktemp("random") / "G.h5"
    tables = build_tables(graph)
    artifacts.write_graph(path, graph, tables)
    verify(path)
    assert same_graph(artifacts.read_graph(path), graph)
    read = artifacts.read_graph_file(path, tables=True).tables
    assert read is not None and read.keys() == tables.keys()
    assert all(np.array_equal(read[name], tables[name]) and read[name].dtype == tables[name].dtype for name in tables)


@needs_plugin
def test_transpose_and_tables_leave_the_digest(tmp_path: Path) -> None:
    whole, bare = graph_of(6, STAR), graph_of(6, STAR, transpose=False)
    digests = {
        artifacts.write_graph(tmp_path / "a.h5", whole),
        artifacts.write_graph(tmp_path / "b.h5", bare),
        artifacts.write_graph(tmp_path / "c.h5", whole, build_tables(whole), compress=True, seed=3, params={"x": 1}),
    }
    digests.add(artifacts.write_graph(tmp_path / "e.h5", graph_of(6, STAR, facts={"self_loops_dropped": 1})))
    assert len(digests) == 1
    assert artifacts.read_graph(tmp_path / "b.h5").in_indptr is None
    assert artifacts.read_graph(tmp_path / "a.h5", transpose=False).in_indices is None
    other = artifacts.write_graph(tmp_path / "d.h5", graph_of(6, STAR, weights=Weights("const", p=0.5)))
    assert other not in digests


@pytest.mark.parametrize("compress", [False, pytest.param(True, marks=needs_plugin)])
def test_equal_content_gives_equal_bytes(tmp_path: Path, compress: bool) -> None:
    graph = graph_of(5, CLIQUE, ids=np.arange(5, dtype=np.int64) + 10)
    found = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        params = {"k": np.int64(3), "b": 0.5} if name == "first" else {"b": 0.5, "k": 3}
        artifacts.write_graph(
            folder / f"{name}.h5", graph, build_tables(graph), params=params, seed=1, compress=compress
        )
        found.append(hashlib.sha256((folder / f"{name}.h5").read_bytes()).hexdigest())
        time.sleep(1.1)  # HDF5 stores whole seconds, where it stores times
    assert found[0] == found[1]


def test_large_arrays_have_tree_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(6, STAR, ids=np.arange(6, dtype=np.int64) * 3)
    small = artifacts.write_graph(tmp_path / "small.h5", graph)
    monkeypatch.setattr(store, "TREE_FROM", 45)
    monkeypatch.setattr(store, "PIECE", 10)
    large = artifacts.write_graph(tmp_path / "large.h5", graph)
    assert small == large
    with h5py.File(tmp_path / "small.h5") as file:
        assert "gpukit_trees" not in file.attrs
    with h5py.File(tmp_path / "large.h5") as file:
        trees, ids = json.loads(file.attrs["gpukit_trees"]), file["ids"][()].tobytes()
    leaves = [hashlib.sha256(ids[start : start + 10]).digest() for start in range(0, len(ids), 10)]
    assert trees.keys() == {"ids", "pointers_to_1", "transpose/pointers_to_1"}
    assert trees["ids"] == hashlib.sha256(b"".join(leaves)).hexdigest()
    for name in ("small", "large"):
        verify(tmp_path / f"{name}.h5")


def test_no_time_host_or_path_inside(tmp_path: Path) -> None:
    artifacts.write_graph(tmp_path / "G.h5", graph_of(6, STAR), params={"weights": "wc"}, seed=1)
    content = (tmp_path / "G.h5").read_bytes()
    for word in (str(tmp_path), os.uname().nodename, str(Path.home())):
        assert word.encode() not in content
    with pytest.raises(TypeError):
        artifacts.write_graph(tmp_path / "H.h5", graph_of(6, STAR), params={"file": tmp_path})
    assert not (tmp_path / "H.h5").exists()


def test_binsparse_reads_the_graph(tmp_path: Path) -> None:
    binsparse = pytest.importorskip("binsparse")
    graph = graph_of(7, {(0, 1), (1, 0), (5, 4), (5, 6)})
    artifacts.write_graph(tmp_path / "G.h5", graph, build_tables(graph))
    expected = np.zeros((7, 7), int)
    for u, v in ((0, 1), (1, 0), (5, 4), (5, 6)):
        expected[u, v] = 1
    tensor = binsparse.load_binsparse(tmp_path / "G.h5")
    with h5py.File(tmp_path / "G.h5") as file:
        back = binsparse.BinsparseTensor.parse(binsparse.HDF5BinsparseContainer(file["transpose"]))
    for found, wanted in ((tensor, expected), (back, expected.T)):
        dense = np.zeros((7, 7), int)
        rows = np.repeat(np.arange(7), np.diff(found.pointers_to_1))
        dense[rows, found.indices_1] = np.asarray(found.values)
        assert tuple(found.shape) == (7, 7) and np.array_equal(dense, wanted)


def test_root_attributes(tmp_path: Path) -> None:
    path = tmp_path / "S.h5"
    artifacts.write_seeds(path, [7], [1], n=3, method="degree", graph=DIGEST, params={"k": 1}, seed=2**64 - 1)
    with h5py.File(path) as file:
        root = dict(file.attrs)
        assert hashlib.sha256(file["seeds"][()].tobytes()).hexdigest() == json.loads(root["gpukit_checksums"])["seeds"]
    assert (root["gpukit_kind"], root["gpukit_version"], root["gpukit_seed"]) == ("seeds", 1, 2**64 - 1)
    assert root["gpukit_params"] == '{"k":1}'
    assert json.loads(root["gpukit_inputs"]) == {"graph": DIGEST}
    assert root["gpukit_payload_sha256"] == artifacts.read_header(path).payload


def test_rrsets_round_trip(tmp_path: Path) -> None:
    offsets, members = np.array([0, 1, 3, 6]), np.array([2, 0, 3, 0, 1, 3], np.int32)
    path = tmp_path / "RR.h5"
    asked = dict(n=4, first=2**40, stream="IC", model="ic", sampler="skip", rounds=1, graph=DIGEST, seed=5)
    written = artifacts.RRSets(offsets, members, **asked, params={"a": 1})
    artifacts.write_rrsets(path, written)
    sets = artifacts.read_rrsets(path)
    assert np.array_equal(sets.offsets, offsets) and np.array_equal(sets.members, members) and sets.count == 3
    assert {name: getattr(sets, name) for name in asked} == asked and sets.params == {"a": 1}
    verify(path)


def test_seeds_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "S.h5"
    artifacts.write_seeds(
        path,
        [30, 10],
        [3, 1],
        n=4,
        method="opim",
        graph=DIGEST,
        gains=[9, 2],
        spread_estimate=2.5,
        rr_sets=11,
        guarantee={"ratio": 0.5},
    )
    found = artifacts.read_seeds(path)
    assert (found.seeds.tolist(), found.internal.tolist()) == ([30, 10], [3, 1])
    assert found.gains is not None and found.gains.tolist() == [9, 2] and found.rounds is None
    assert (found.spread_estimate, found.rr_sets, found.guarantee, found.seed) == (2.5, 11, {"ratio": 0.5}, None)
    verify(path)


def test_metrics_round_trip_keeps_the_order(tmp_path: Path) -> None:
    path = tmp_path / "M.h5"
    artifacts.write_metrics(path, {"z": [1, 2], "a": [0.5, np.nan]}, {"unit": "s"})
    found = artifacts.read_metrics(path)
    assert list(found.arrays) == ["z", "a"] and found.attributes == {"unit": "s"}
    assert found.arrays["z"].dtype == np.int64 and found.arrays["a"].dtype == np.float64
    np.testing.assert_array_equal(found.arrays["a"], [0.5, np.nan])
    verify(path)


def test_long_texts_fit(tmp_path: Path) -> None:
    forced = list(range(50_000))
    artifacts.write_metrics(tmp_path / "M.h5", {f"column{i}": [i] for i in range(500)}, params={"forced": forced})
    assert artifacts.read_header(tmp_path / "M.h5").params == {"forced": forced}
    verify(tmp_path / "M.h5")


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        artifacts.write_metrics(tmp_path / "M.h5", {"a": [1]})
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "M.h5").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("columns", "word"),
    [({"a": [1, 2], "b": [1]}, "1 entries; 2 are needed"), ({"a": [[1]]}, "axes")],
)
def test_write_refuses_what_the_table_forbids(tmp_path: Path, columns: dict, word: str) -> None:
    with pytest.raises(InputError, match=word):
        artifacts.write_metrics(tmp_path / "M.h5", columns)
    assert not list(tmp_path.iterdir())


def test_write_refuses_wrong_types(tmp_path: Path) -> None:
    arrays = {"offsets": np.array([0, 1]), "members": np.array([0], np.int64)}
    attributes = dict(
        n=1, elements=1, first=0, count=1, stream="IC", model="ic", sampler="skip", rounds=1, graph=DIGEST
    )
    with pytest.raises(InputError, match="members has type <i8; int32"):
        store.write(tmp_path / "a.h5", "rrsets", arrays, attributes, seed=1)
    arrays["members"] = arrays["members"].astype(np.int32)
    with pytest.raises(InputError, match="type int is needed"):
        store.write(tmp_path / "a.h5", "rrsets", arrays, {**attributes, "first": True}, seed=1)
    with pytest.raises(InputError, match="needs the attribute stream"):
        store.write(tmp_path / "a.h5", "rrsets", arrays, {k: v for k, v in attributes.items() if k != "stream"}, seed=1)
    with pytest.raises(InputError, match="unknown attribute extra"):
        store.write(tmp_path / "a.h5", "rrsets", arrays, {**attributes, "extra": 1}, seed=1)
    with pytest.raises(InputError, match="unknown dataset more"):
        store.write(tmp_path / "a.h5", "rrsets", {**arrays, "more": np.zeros(1)}, attributes, seed=1)
    store.write(tmp_path / "a.h5", "rrsets", arrays, attributes, seed=1)


@needs_plugin
def test_describe_names_every_dataset(tmp_path: Path) -> None:
    star = graph_of(6, STAR)
    artifacts.write_graph(tmp_path / "G.h5", star, build_tables(star), compress=True)
    found = describe(tmp_path / "G.h5")
    rows = {entry["path"]: (entry["dtype"], entry["shape"]) for entry in found["datasets"]}
    assert rows["indices_1"] == ("int32", [5]) and rows["tables/rows"] == ("uint32", [6, 4])
    assert all(entry["meaning"] != "unknown" for entry in found["datasets"])


def layout_tree(kind: Kind) -> str:
    """Return the layout of a kind as a tree, as in docs/artifacts.md."""
    rows: list[tuple[str, str, str]] = []
    for attribute in kind.attributes:
        rows.append((f"@{attribute.name}", attribute.type if attribute.type != "any" else "JSON", _note(attribute)))
    groups: set[str] = set()
    for array in kind.arrays:
        group, _, name = array.path.rpartition("/")
        if group and group not in groups:
            groups.add(group)
            rows.append((f"{group}/", "", ""))
        dtype = " or ".join(array.dtypes) if len(array.dtypes) < 4 else "number"
        rows.append((f"{'  ' if group else ''}{name}", f"{dtype} [{', '.join(array.shape)}]", _note(array)))
    left, middle = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    lines = [f"{a:<{left}}  {b:<{middle}}  {c}".rstrip() for a, b, c in rows]
    newer = f", {kind.newest} with the arrays marked so" if kind.newest > kind.version else ""
    return "\n".join([f"{kind.name} (layout {kind.version}{newer})", *(f"  {line}" for line in lines)])


def _note(row: Array | Attribute) -> str:
    since = row.since if isinstance(row, Array) else 1
    found = (("optional", not row.required), ("derived", row.derived), (f"layout {since}", since > 1))
    marks = ", ".join(mark for mark, holds in found if holds)
    return f"{row.meaning} ({marks})" if marks else row.meaning


def test_the_page_shows_every_kind() -> None:
    page = (Path(__file__).parents[2] / "docs" / "artifacts.md").read_text()
    for kind in KINDS.values():
        assert layout_tree(kind) in page, f"docs/artifacts.md lacks the layout of {kind.name}:\n{layout_tree(kind)}"
