"""Labels in artifacts: written labels are read, wrong ones are refused, and files without labels do not change."""

import numpy as np
import pytest

from gpukit import artifacts
from gpukit.artifacts import store
from gpukit.artifacts.labels import SomeLabels, names_in, packed_of, some_labels_of
from gpukit.artifacts.verify import verify
from gpukit.errors import InputError
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Graph
from gpukit.graph.labels import Labels

NAMES = ["New York, NY", "Zoë", "a:1", "ann", "émile", "日本"]
DIGEST = "ab" * 32


def named_graph(names=NAMES, **more) -> Graph:
    n = len(names)
    u = np.arange(n)
    return build_graph(u, (u + 1) % n, labels=Labels.of(names), **more)


def test_a_graph_keeps_its_labels(tmp_path):
    graph = named_graph()
    artifacts.write_graph(tmp_path / "g.h5", graph)
    again = artifacts.read_graph(tmp_path / "g.h5")
    assert again.original(np.arange(6)).tolist() == NAMES
    assert again.internal(["ann", "日本"]).tolist() == [3, 5]
    assert again.numbers([3, 5]).tolist() == again.of_numbers([3, 5]).tolist() == [3, 5]
    header = verify(tmp_path / "g.h5")
    assert header.version == 2
    with pytest.raises(InputError, match="vertex 'nobody' is not in the graph .*names"):
        again.internal(["ann", "nobody"])


def test_labels_count_in_the_digest_and_their_absence_does_not(tmp_path):
    plain = build_graph(np.arange(6), (np.arange(6) + 1) % 6)
    digests = [
        artifacts.write_graph(tmp_path / "a.h5", plain),
        artifacts.write_graph(tmp_path / "b.h5", named_graph()),
        artifacts.write_graph(tmp_path / "c.h5", named_graph([*NAMES[:5], "日本国"])),
        artifacts.write_graph(tmp_path / "d.h5", named_graph(transpose=False)),
    ]
    assert len(set(digests)) == 3 and digests[1] == digests[3]
    assert artifacts.read_header(tmp_path / "a.h5").version == 1


def write_raw(path, labels):
    graph = named_graph()
    offsets, data = labels
    broken = Graph(
        graph.indptr, graph.indices, labels=Labels(np.array(offsets, np.int64), np.frombuffer(data, np.uint8))
    )
    artifacts.write_graph(path, broken)


def offsets_of(parts):
    return [0, *np.cumsum([len(part) for part in parts]).tolist()]


BROKEN = {
    "falls": ([b"b", b"a", b"c", b"d", b"e", b"f"], "must be distinct and ascend"),
    "falls late": ([b"a" * 20 + b"b", b"a" * 20 + b"a", b"c", b"d", b"e", b"f"], "must be distinct and ascend"),
    "equal": ([b"a", b"b", b"b", b"d", b"e", b"f"], "must be distinct"),
    "equal, eight bytes": ([b"a", b"b" * 8, b"b" * 8, b"d", b"e", b"f"], "must be distinct"),
    "longer before shorter": ([b"a", b"b" * 9, b"b" * 8, b"d", b"e", b"f"], "must be distinct and ascend"),
    "empty": ([b"", b"b", b"c", b"d", b"e", b"f"], "a label is empty"),
    "no UTF-8": ([b"a", b"b", b"c", b"d", b"e", b"\xff"], "not UTF-8"),
    "half a character": ([b"a", b"b", b"c", b"d", "é".encode()[:1], "é".encode()[1:]], "within a character"),
    "a line feed": ([b"a", b"b\nc", b"c", b"d", b"e", b"f"], "control character"),
    "a zero": ([b"a", b"a\0", b"c", b"d", b"e", b"f"], "control character"),
    "a control character of two bytes": ([b"a", b"b", b"c", b"d", b"e", "\x85".encode()], "control character"),
    "a blank before": ([b" a", b"b", b"c", b"d", b"e", b"f"], "blanks around"),
    "a blank behind": ([b"a ", b"b", b"c", b"d", b"e", b"f"], "blanks around"),
}


@pytest.mark.parametrize("key", BROKEN)
def test_wrong_labels_are_refused_at_every_read(tmp_path, key):
    parts, expected = BROKEN[key]
    write_raw(tmp_path / "g.h5", (offsets_of(parts), b"".join(parts)))
    for read in (artifacts.read_graph, verify, store.read):
        with pytest.raises(InputError, match=expected):
            read(tmp_path / "g.h5")


def test_offsets_must_rise_to_the_end(tmp_path):
    write_raw(tmp_path / "g.h5", ([0, 1, 3, 2, 4, 5, 6], b"abcdef"))
    with pytest.raises(InputError, match="labels/offsets must rise"):
        artifacts.read_graph(tmp_path / "g.h5")


def write_seeds(path, arrays, **more):
    whole = {"seeds": np.array([4, 1]), "internal": np.array([4, 1], np.int32)} | arrays
    store.write(path, "seeds", whole, {"n": 6, "method": "m", "graph": DIGEST} | more)


def test_seeds_carry_the_labels_of_their_vertices(tmp_path):
    artifacts.write_seeds(
        tmp_path / "s.h5", np.array([4, 1]), np.array([4, 1]), n=6, method="m", graph=DIGEST, labels=Labels.of(NAMES)
    )
    assert artifacts.read_seeds(tmp_path / "s.h5").labels.tolist() == ["émile", "Zoë"]
    assert verify(tmp_path / "s.h5").version == 2
    found = artifacts.read(tmp_path / "s.h5")
    assert found.arrays["labels/vertices"].tolist() == [1, 4]
    assert names_in(found, found.arrays["seeds"]) == ["émile", "Zoë"]


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"labels/vertices": [1], "names": ["Zoë"]}, "seeds contains a vertex without a label"),
        ({"labels/vertices": [4, 1], "names": ["a", "b"]}, "labels/vertices of row 0 do not ascend"),
        ({"labels/vertices": [1, 6], "names": ["a", "b"]}, "labels/vertices holds 6"),
        ({"labels/vertices": [1, 4], "names": ["b", "a"]}, "labels must be distinct and ascend"),
        ({"names": ["a", "b"]}, "there are only labels/offsets, labels/bytes"),
        ({"labels/vertices": [1, 4]}, "there are only labels/vertices"),
        ({"labels/vertices": [1, 4], "names": ["a", "b"], "seeds": [5, 2]}, "without a label"),
        ({"labels/vertices": [1, 2, 4, 5], "names": [*"abcd"], "seeds": [5, 2]}, "seeds and internal differ"),
    ],
)
def test_wrong_labels_of_results_are_refused(tmp_path, arrays, expected):
    kinds = {"labels/vertices": np.int32, "seeds": np.int64}
    made = {name: np.array(values, kinds[name]) for name, values in arrays.items() if name != "names"}
    if "names" in arrays:
        texts = [name.encode() for name in arrays["names"]]
        made |= {
            "labels/offsets": np.array(offsets_of(texts)),
            "labels/bytes": np.frombuffer(b"".join(texts), np.uint8),
        }
    write_seeds(tmp_path / "s.h5", made)
    with pytest.raises(InputError, match=expected):
        artifacts.read(tmp_path / "s.h5")


def test_ids_and_labels_exclude_each_other(tmp_path):
    graph = named_graph()
    artifacts.write_graph(
        tmp_path / "g.h5", Graph(graph.indptr, graph.indices, ids=np.arange(6) + 4, labels=graph.labels)
    )
    with pytest.raises(InputError, match="labels and ids"):
        artifacts.read_graph(tmp_path / "g.h5")


def test_the_labels_of_parts_make_those_of_the_whole():
    whole = Labels.of(NAMES)
    known = SomeLabels(np.array([1, 4], np.int32), whole.take(np.array([1, 4])))
    assert known.texts([4, 1, 4]).tolist() == ["émile", "Zoë", "émile"]
    assert packed_of("seeds", {"seeds": np.array([1])}, None) == {}
    assert some_labels_of([]) is not None
