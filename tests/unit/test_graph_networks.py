"""Files of other libraries: the same edges as these libraries wrote, or one line."""

import gzip
import hashlib
import os
import re

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from gpukit.device import memory
from gpukit.errors import DeviceError, InputError, UsageError
from gpukit.graph.pairs import keys_behind
from gpukit.graph.read import edgelist, tables
from gpukit.graph.read.edgelist import ReadOptions
from gpukit.graph.read.formats import read_edges

WRITERS = {"graphml": nx.write_graphml, "gexf": nx.write_gexf, "gml": nx.write_gml, "net": nx.write_pajek}
TITLES = {"graphml": "GraphML", "gexf": "GEXF", "gml": "GML", "net": "Pajek"}
NAMES = ["ann", "bob", "New York", "c,d", "Zoe"]


def ends(edges):
    if edges.labels is not None:
        parts = [edges.labels.texts(end) for end in (edges.u, edges.v)]
    else:
        parts = [end if edges.ids is None else edges.ids[end] for end in (edges.u, edges.v)]
    return list(zip(*(part.tolist() for part in parts), strict=True))


def as_set(pairs, directed):
    return set(pairs) if directed else {frozenset(pair) for pair in pairs}


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("names", [NAMES, [3, 7, 8, 100, 2**40], [0, 1, 2, 3, 4]], ids=["names", "ids", "numbers"])
def test_what_networkx_writes(tmp_path, form, directed, names):
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(names if form != "net" else map(str, names))
    pairs = [(0, 1), (1, 2), (3, 1), (0, 3)]  # the last vertex has no edge
    for i, (u, v) in enumerate(pairs):
        at = [names[u], names[v]] if form != "net" else [str(names[u]), str(names[v])]
        graph.add_edge(*at, weight=0.5 / (i + 1))
    path = tmp_path / f"g.{form}"
    WRITERS[form](graph, path)
    found = read_edges(path, weights=True)
    assert as_set(ends(found), directed) == as_set([(names[u], names[v]) for u, v in pairs], directed)
    assert sorted(found.w.tolist()) == pytest.approx(sorted(0.5 / (i + 1) for i in range(4)))
    assert found.undirected != directed
    count = len(found.labels) if found.labels is not None else found.n if found.ids is None else len(found.ids)
    assert count == 5
    assert (found.n == 5) == (names == [0, 1, 2, 3, 4])
    assert found.said == {"format": TITLES[form], "ids": "text" if names is NAMES else "integer"}
    packed = tmp_path / f"h.{form}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert ends(read_edges(packed)) == ends(found)
    assert read_edges(path, options=ReadOptions(ids="text")).labels is not None


def test_a_matrix_of_scipy(tmp_path):
    matrix = scipy.sparse.random(30, 30, density=0.1, random_state=3).tocsr()
    scipy.sparse.save_npz(tmp_path / "m.npz", matrix)
    found = read_edges(tmp_path / "m.npz", weights=True)
    assert found.n == 30
    again = scipy.sparse.coo_array((found.w, (found.u, found.v)), shape=(30, 30))
    assert abs(again - matrix).max() == 0
    assert read_edges(tmp_path / "m.npz").w is None
    with pytest.raises(UsageError, match="leave --ids text out"):
        read_edges(tmp_path / "m.npz", options=ReadOptions(ids="text"))
    scipy.sparse.save_npz(tmp_path / "r.npz", scipy.sparse.csr_array(np.eye(2, 3)))
    with pytest.raises(InputError, match="2 by 3; a graph is a square matrix"):
        read_edges(tmp_path / "r.npz")
    scipy.sparse.save_npz(tmp_path / "w.npz", scipy.sparse.csr_array(np.eye(3) * 7))
    with pytest.raises(InputError, match="edge 1: weight 7.0 is not a probability"):
        read_edges(tmp_path / "w.npz", weights=True)
    scipy.sparse.save_npz(tmp_path / "e.npz", scipy.sparse.csr_array((3, 3)))
    with pytest.raises(InputError, match="has no edges"):
        read_edges(tmp_path / "e.npz")


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_columns_of_arrow(tmp_path, form):
    pytest.importorskip("pyarrow")
    path = tmp_path / f"e.{form}"

    def written(**columns):
        getattr(pd.DataFrame(columns), f"to_{form}")(path)
        return path

    weighted = written(share=[0.5, 0.25], source=[5, 7], target=[7, 2**40])
    found = read_edges(weighted, weights=True, options=ReadOptions(columns="target,source,share"))
    assert (ends(found), found.w.tolist()) == ([(7, 5), (2**40, 7)], [0.5, 0.25])
    assert ends(read_edges(weighted)) == [(5, 7), (7, 2**40)]
    assert read_edges(weighted, options=ReadOptions(ids="text")).labels.texts(range(3)).tolist() == [
        str(2**40),
        "5",
        "7",
    ]
    assert ends(read_edges(written(a=[" ann", "bob"], b=["bob ", "New York, NY"]))) == [
        ("ann", "bob"),
        ("bob", "New York, NY"),
    ]
    for content, expected in [
        ({"a": [1, -2], "b": [3, 4]}, "vertex id -2 is outside"),
        ({"a": [1.5, 2], "b": [3.0, 4]}, "is neither a whole number nor a name"),
        ({"a": ["x", None], "b": ["y", "z"]}, "column 'a': 1 rows have no vertex"),
        ({"a": ["x", " "], "b": ["y", "z"]}, "'' is no name"),
        ({"a": [1, 2]}, "has one column"),
        ({"a": [1], "b": ["x"]}, "vertices are of type int and str; all whole"),
        ({"a": [], "b": []}, "has no edges"),
    ]:
        with pytest.raises(InputError, match=expected):
            read_edges(written(**content))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="cannot be read as (Parquet|Arrow)"):
        read_edges(path)
    with pytest.raises(UsageError, match="leave --header out"):
        read_edges(written(a=[1], b=[2]), options=ReadOptions(header=True))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_columns_are_read_batch_by_batch(tmp_path, form):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, random = tmp_path / f"e.{form}", np.random.default_rng(4)
    frame = pd.DataFrame(
        {"u": random.integers(0, 2**31, 950), "v": random.integers(0, 50, 950), "w": random.random(950)}
    )

    def written(table, rows=70):
        if form == "parquet":
            parquet.write_table(table, path, row_group_size=rows)
        else:
            with arrow.ipc.new_file(path, table.schema) as file:
                file.write_table(table, rows)
        return path

    def edges(frame):
        return list(zip(frame.u, frame.v, strict=True))

    told = []
    found = read_edges(written(arrow.Table.from_pandas(frame)), 1, lambda done, parts: told.append((done, parts)))
    assert ends(found) == edges(frame) and found.w.tolist() == frame.w.tolist()
    assert found.u.dtype == np.int32 and keys_behind(found.u, found.v) is not None
    assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert told[-1] == (950, 950) and len(told) > 1 and told == sorted(told)
    packed = tmp_path / "e.gml.gz"  # of this name it is looked into
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert ends(read_edges(packed)) == edges(frame)

    for kind in (np.uint8, np.int16, np.uint64):
        narrow = frame % 50
        assert ends(read_edges(written(arrow.Table.from_pandas(narrow.astype(kind))))) == edges(narrow)
    wide = frame.copy()
    wide.loc[800, "v"] = 2**40  # the batches before have 32 bits
    assert ends(read_edges(written(arrow.Table.from_pandas(wide)))) == edges(wide)

    frame.loc[801, "w"] = 1.5
    with pytest.raises(InputError, match=r"edge 802: weight 1.5 is not a probability"):
        read_edges(written(arrow.Table.from_pandas(frame)), 1)
    with_gaps = frame.astype({"v": "Int64"})
    with_gaps.loc[[3, 803], "v"] = pd.NA
    with pytest.raises(InputError, match="column 'v': 1 rows have no vertex"):
        read_edges(written(arrow.Table.from_pandas(with_gaps)))
    twice = arrow.Table.from_arrays([[1], [2], [3]], ["u", "v", "u"])
    with pytest.raises(InputError, match="two columns with the same name"):
        read_edges(written(twice), options=ReadOptions(columns="1,2"))


def test_a_table_that_is_replaced_while_it_is_read(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    path, other = tmp_path / "e.parquet", tmp_path / "f.parquet"
    pd.DataFrame({"u": [1, 2], "v": [3, 4]}).to_parquet(path)
    pd.DataFrame({"u": [5, 6], "v": [7, 8]}).to_parquet(other)
    read = tables.read_table

    def late(*given):
        os.replace(other, path)
        return read(*given)

    monkeypatch.setattr(tables, "read_table", late)
    with pytest.raises(InputError, match="was replaced or written to while it was read; try again"):
        read_edges(path)


def test_a_table_that_cannot_fit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    path = tmp_path / "e.parquet"
    pd.DataFrame({"u": np.arange(3000), "v": np.arange(3000)}).to_parquet(path)
    monkeypatch.setattr(tables, "_numbers", None)  # it is not come to
    monkeypatch.setattr(memory, "UNASKED", 0)
    monkeypatch.setattr(memory, "host_free_bytes", lambda: 20_000)
    with pytest.raises(DeviceError, match="3,000 directed edges"):
        read_edges(path)


BROKEN = {
    "g.graphml": b"<graphml><graph",
    "g.gexf": b"<gexf></gexf>",
    "g.gml": b"graph [ node [",
    "g.net": b"\xff\xfe\x00*Vertices",
    "g.npz": b"PK\x03\x04 and no more",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_one_line(tmp_path, name):
    (tmp_path / name).write_bytes(BROKEN[name])
    with pytest.raises(InputError) as caught:
        read_edges(tmp_path / name)
    assert "\n" not in str(caught.value) and re.search(
        "cannot be read as|has no edges|has 0 graphs|UTF-16", str(caught.value)
    )


def test_a_text_of_numbers_is_a_text_whatever_its_name(tmp_path):
    for name in ("e.net", "e.gml", "e.npz"):
        (tmp_path / name).write_bytes(b"1 2\n")
        assert ends(read_edges(tmp_path / name)) == [(1, 2)]
    (tmp_path / "e.net.gz").write_bytes(gzip.compress(b"1 2\n"))
    assert ends(read_edges(tmp_path / "e.net.gz")) == [(1, 2)]


def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    nx.write_gml(nx.path_graph(3), tmp_path / "g.gml")
    (tmp_path / "e.parquet").write_bytes(b"PAR1....")
    monkeypatch.setattr(edgelist.importlib, "import_module", missing)
    with pytest.raises(UsageError, match=r"package networkx reads; install gpukit\[networkx\]"):
        read_edges(tmp_path / "g.gml")
    with pytest.raises(UsageError, match=r"package pyarrow reads; install gpukit\[parquet\]"):
        read_edges(tmp_path / "e.parquet")


def test_an_edge_without_a_weight(tmp_path):
    nx.write_gml(nx.path_graph(3), tmp_path / "g.gml")
    with pytest.raises(InputError, match="edge '0 1' has no weight"):
        read_edges(tmp_path / "g.gml", weights=True)


def test_the_ends_of_edges_in_a_table_are_found_or_refused(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {"day": pd.to_datetime(["2024-01-31", "2024-02-01"]), "share": [0.5, 1], "a": [5, 6], "b": [6, 7]}
    )
    path = tmp_path / "e.parquet"
    frame = frame.set_axis([5, 3])
    frame[::-1].to_parquet(path)  # with its index
    with pytest.raises(InputError, match=r"\(day, share, a, b, __index_level_0__\); which two are the ends"):
        read_edges(path)
    assert ends(read_edges(path, options=ReadOptions(columns="a,b"))) == [(6, 7), (5, 6)]
    frame[["share", "b", "a"]].rename(columns={"share": "weight"})[::-1].to_parquet(path)
    assert ends(read_edges(path)) == [(7, 6), (6, 5)]
    assert read_edges(path, 1).w.tolist() == [1, 0.5]


def test_a_stream_with_a_gap_is_refused(tmp_path):
    """A gap in a batch behind the first one; what was read of a stream is not there a second time."""
    arrow, ipc = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.ipc")
    table = arrow.table({"u": [1, 2, None, 4, 5, 6], "v": [2, 3, 4, 5, 6, 7]})
    with ipc.new_stream(tmp_path / "e.arrows", table.schema) as stream:
        stream.write_table(table, 2)
    with pytest.raises(InputError, match="column 'u': 1 rows have no vertex"):
        read_edges(tmp_path / "e.arrows")
