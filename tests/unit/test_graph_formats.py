"""Random graphs that other libraries wrote, in each variant that they can write, are read back equal."""

import io
import json

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit.graph.lines import COUNTS
from gpukit.graph.read.edgelist import ReadOptions
from gpukit.graph.read.formats import read_edges

_name = st.text(
    st.characters(codec="utf-8", categories=["L", "N"], include_characters=" .-_&<'"), min_size=1, max_size=5
)
_names = st.lists(_name.map(str.strip).filter(bool).map("v{}".format), min_size=2, max_size=7, unique=True)
_ids = st.lists(st.integers(0, 2**40), min_size=2, max_size=7, unique=True)
_NODES = st.one_of(_names, _ids)
OFTEN = settings(deadline=None, derandomize=True, max_examples=60)


@st.composite
def graphs(draw, nodes=_NODES, multi=True):
    """Return a graph of NetworkX without loops, with weights in quarters."""
    kinds = [nx.Graph, nx.DiGraph, *([nx.MultiGraph, nx.MultiDiGraph] if multi else [])]
    graph, called = draw(st.sampled_from(kinds))(), draw(nodes)
    graph.add_nodes_from(called)
    places = st.integers(0, len(called) - 1)
    for u, v, quarters in draw(st.lists(st.tuples(places, places, st.integers(1, 40)), min_size=1, max_size=12)):
        if u != v:
            graph.add_edge(called[u], called[v], weight=quarters / 4)
    if not graph.number_of_edges():
        graph.add_edge(called[0], called[1], weight=1.0)
    return graph


def found(edges):
    """Return the edges as a sorted list of (u, v, weight), the ends in order where there is no direction."""
    called = (
        edges.labels.texts if edges.labels is not None else lambda end: end if edges.ids is None else edges.ids[end]
    )
    w = [0.0] * len(edges.u) if edges.w is None else edges.w.tolist()
    rows = zip(*(map(str, called(end).tolist()) for end in (edges.u, edges.v)), w, strict=True)
    return sorted((u, v, one) if not edges.undirected else (*sorted((u, v)), one) for u, v, one in rows)


def expected(graph, weighted=True):
    rows = ((str(u), str(v), w if weighted else 0.0) for u, v, w in graph.edges(data="weight"))
    return sorted(row if graph.is_directed() else (*sorted(row[:2]), row[2]) for row in rows)


def read(folder, name, content, weights=COUNTS, **said):
    path = folder / name
    path.write_bytes(content)
    return read_edges(path, weights, options=ReadOptions(**said))


def bytes_of(write, graph, **how):
    stream = io.BytesIO()
    write(graph, stream, **how)
    return stream.getvalue()


WRITTEN = {
    "graphml": lambda graph, data: bytes_of(nx.write_graphml, graph, prettyprint=data.draw(st.booleans())),
    "gexf": lambda graph, data: bytes_of(
        nx.write_gexf, graph, version=data.draw(st.sampled_from(["1.1draft", "1.2draft"]))
    ),
    "gml": lambda graph, data: bytes_of(nx.write_gml, nx.relabel_nodes(graph, str)),
    "net": lambda graph, data: bytes_of(nx.write_pajek, nx.relabel_nodes(graph, str)),
    "json": lambda graph, data: json.dumps(
        nx.node_link_data(graph, edges=data.draw(st.sampled_from(["links", "edges"]))),
        ensure_ascii=data.draw(st.booleans()),
    ).encode(),
}


@pytest.mark.parametrize("form", WRITTEN)
def test_networks_that_networkx_wrote(tmp_path_factory, form):
    folder = tmp_path_factory.mktemp(form)

    @OFTEN
    @given(graphs(), st.data())
    def check(graph, data):
        if form == "net":  # it writes a name with a blank or an ampersand in quotes that it does not close rightly
            graph = nx.relabel_nodes(
                graph, {node: "".join(filter(str.isalnum, str(node))) + f"x{i}" for i, node in enumerate(graph)}
            )
        listed = read(folder, f"g.{form}", WRITTEN[form](graph, data))
        assert found(listed) == expected(graph)
        assert listed.undirected == (not graph.is_directed())

    check()


@OFTEN
@given(
    graphs(st.one_of(_names.map(lambda names: [name.replace(" ", "") for name in names]), _ids), multi=False), st.data()
)
def test_lists_that_networkx_wrote(tmp_path_factory, graph, data):
    graph = nx.relabel_nodes(graph, {node: str(node) for node in graph})
    if len({*graph}) < 2 or not graph.number_of_edges():
        return
    folder = tmp_path_factory.mktemp("lists")
    form = data.draw(st.sampled_from(["edgelist", "weighted", "adjlist"]))
    if form == "adjlist":
        listed = read(folder, "g.adjlist", bytes_of(nx.write_adjlist, graph), 0, format="adjlist")
    elif form == "weighted":
        ids = "integer" if all(name.isdigit() for name in graph) else "text"
        listed = read(folder, "g.txt", bytes_of(nx.write_weighted_edgelist, graph), ids=ids, header=False)
    else:
        ids = "integer" if all(name.isdigit() for name in graph) else "text"
        listed = read(folder, "g.edgelist", bytes_of(nx.write_edgelist, graph), ids=ids, header=False)
    wanted = expected(graph, form != "adjlist")
    if not graph.is_directed():  # a list does not say so
        wanted = sorted((*sorted(row[:2]), row[2]) for row in wanted)
    rows = found(listed)
    assert (rows if graph.is_directed() else sorted((*sorted(row[:2]), row[2]) for row in rows)) == wanted


@st.composite
def matrices(draw):
    n = draw(st.integers(1, 6))
    places = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(1, 9))
    entries = draw(st.lists(places, min_size=1, max_size=12))
    u, v, w = (np.array(column) for column in zip(*entries, strict=True))
    return scipy.sparse.coo_array((w / 4, (u, v)), shape=(n, n))


@OFTEN
@given(matrices(), st.sampled_from(["coo", "csr", "csc", "bsr"]), st.booleans(), st.booleans())
def test_matrices_that_scipy_wrote(tmp_path_factory, matrix, form, packed, symmetric):
    """Entries of one place are added, whatever form the matrix has."""
    folder = tmp_path_factory.mktemp("matrices")
    dense = matrix.toarray()
    scipy.sparse.save_npz(folder / "m.npz", matrix.asformat(form), compressed=packed)
    listed = read_edges(folder / "m.npz", COUNTS)
    again = scipy.sparse.coo_array((listed.w, (listed.u, listed.v)), shape=dense.shape).toarray()
    assert np.array_equal(again, dense) and len(listed.u) == np.count_nonzero(dense) and listed.n == len(dense)
    if symmetric:
        dense = dense + dense.T
    field = "pattern" if packed else "real"
    scipy.io.mmwrite(
        folder / "m.mtx", scipy.sparse.coo_array(dense), field=field, symmetry="symmetric" if symmetric else "general"
    )
    listed = read_edges(folder / "m.mtx", 0 if packed else COUNTS)
    w = np.ones(len(listed.u)) if packed else listed.w
    again = scipy.sparse.coo_array((w, (listed.u, listed.v)), shape=dense.shape).toarray()
    wanted = dense > 0 if packed else dense
    assert np.array_equal(again, np.tril(wanted) if symmetric else wanted)
    assert listed.undirected == (True if symmetric else None)


@OFTEN
@given(graphs(multi=False), st.sampled_from(["parquet", "feather", "stream", "folder"]), st.booleans())
def test_tables_that_arrow_wrote(tmp_path_factory, graph, form, dictionary):
    arrow, dataset = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.dataset")
    from pyarrow import feather, ipc, parquet

    u, v, w = zip(*graph.edges(data="weight"), strict=True)
    columns = {"source": arrow.array(u), "target": arrow.array(v), "weight": arrow.array(w)}
    if dictionary and isinstance(u[0], str):
        columns["source"] = columns["source"].dictionary_encode()
    table, path = arrow.table(columns), tmp_path_factory.mktemp("tables") / form
    if form == "parquet":
        parquet.write_table(table, path, row_group_size=3)
    elif form == "feather":
        feather.write_feather(table, str(path))
    elif form == "stream":
        with ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, 2)
    else:
        dataset.write_dataset(table, path, format="parquet", max_rows_per_file=2, max_rows_per_group=2)
    listed = read_edges(path, COUNTS)
    assert found(listed) == sorted((str(a), str(b), c) for a, b, c in zip(u, v, w, strict=True))


def test_a_folder_of_tables_has_columns_in_its_names(tmp_path):
    arrow, dataset = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.dataset")
    table = arrow.table({"source": [1, 1, 2], "target": [2, 3, 3], "year": [2024, 2025, 2025]})
    dataset.write_dataset(table, tmp_path, format="parquet", partitioning=["source"], partitioning_flavor="hive")
    listed = read_edges(tmp_path)
    assert sorted(zip(listed.u.tolist(), listed.v.tolist(), strict=True)) == [(1, 2), (1, 3), (2, 3)]
    before = listed.digest
    next(tmp_path.rglob("*.parquet")).unlink()
    assert read_edges(tmp_path).digest != before
