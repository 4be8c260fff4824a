"""Artifacts that are missing, foreign, damaged or untrue: one clear InputError each."""

import json
import os
import random
import shutil
import signal
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import h5py
import numpy as np
import pytest
from mutants import change

from gpukit import artifacts
from gpukit.artifacts import store
from gpukit.artifacts.verify import verify
from gpukit.errors import InputError
from gpukit.graph.csr import Graph, Weights
from gpukit.worlds.tables import build_tables

DIGEST = "cd" * 32
needs_plugin = pytest.mark.skipif(find_spec("hdf5plugin") is None, reason="needs hdf5plugin")


def small_graph() -> Graph:
    return Graph(
        indptr=np.array([0, 2, 3, 3]),
        indices=np.array([1, 2, 0], np.int32),
        ids=np.array([5, 7, 9]),
        weights=Weights("file"),
        probabilities=np.array([0, 2, 2**32 - 1], np.uint32),
        in_indptr=np.array([0, 1, 2, 3]),
        in_indices=np.array([1, 0, 0], np.int32),
        in_probabilities=np.array([2**32 - 1, 0, 2], np.uint32),
    )


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    artifacts.write_graph(tmp_path / "G.h5", small_graph(), build_tables(small_graph()), params={"k": 3}, seed=7)
    return tmp_path / "G.h5"


def line_of(path: Path, call: Callable[[Path], object] = artifacts.read_graph) -> str:
    with pytest.raises(InputError) as caught:
        call(path)
    text = str(caught.value)
    assert "\n" not in text and text.startswith((str(path), "cannot read"))
    return text


def test_no_such_file_folder_empty_junk(tmp_path: Path) -> None:
    assert "does not exist" in line_of(tmp_path / "none.h5")
    assert "is a folder" in line_of(tmp_path)
    (tmp_path / "empty.h5").write_bytes(b"")
    assert "is empty" in line_of(tmp_path / "empty.h5")
    for name, junk in (("text", b"1 2\n3 4\n"), ("short", b"\x89HD"), ("gzip", b"\x1f\x8b" + bytes(100))):
        (tmp_path / name).write_bytes(junk)
        assert "not an HDF5 file" in line_of(tmp_path / name)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "cannot read" in line_of(tmp_path / "loop")
    assert "Not a directory" in line_of(tmp_path / "empty.h5" / "G.h5")


def test_no_permission_to_read(graph_file: Path) -> None:
    graph_file.chmod(0)
    if os.access(graph_file, os.R_OK):  # root may read anything: give up that right in a child
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                graph_file.parent.chmod(0o755)
                os.setgroups([])
                os.setuid(65534)
                os.chdir("/")
                artifacts.read_graph(graph_file)
            except InputError as error:
                os.write(writer, str(error).encode())
            finally:
                os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        text = os.read(reader, 1000).decode()
        os.close(reader)
        assert "ermission denied" in text
    else:
        assert "ermission denied" in line_of(graph_file)


def test_foreign_and_unknown(tmp_path: Path, graph_file: Path) -> None:
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["x"] = np.arange(3)
    assert "no gpukit artifact" in line_of(tmp_path / "foreign.h5")
    artifacts.write_metrics(tmp_path / "M.h5", {"a": [1]})
    assert "is of kind metrics, but graph is needed" in line_of(tmp_path / "M.h5")
    rewrite(graph_file, {"gpukit_kind": "sonnet"})
    assert "unknown kind 'sonnet'" in line_of(graph_file)


def rewrite(path: Path, root: dict) -> None:
    """Change root attributes and make the header's checksum fit again, as a writer of such a file would."""
    with h5py.File(path, "r+") as file:
        for key, value in root.items():
            file.attrs[key] = value
        file.attrs["gpukit_header_sha256"] = store._header_sum(dict(file.attrs))


def test_newer_layout(graph_file: Path) -> None:
    rewrite(graph_file, {"gpukit_version": np.int64(3)})
    assert "layout 3 of kind graph" in line_of(graph_file) and "update gpukit" in line_of(graph_file)
    rewrite(graph_file, {"gpukit_version": np.int64(0)})
    assert "layout 0" in line_of(graph_file)


def test_changed_attribute(graph_file: Path) -> None:
    with h5py.File(graph_file, "r+") as file:
        file.attrs["gpukit_params"] = '{"k":4}'
    assert "root attributes" in line_of(graph_file)
    rewrite(graph_file, {"gpukit_params": "{"})
    assert "broken root attribute" in line_of(graph_file)
    rewrite(graph_file, {"gpukit_params": "{}", "gpukit_attributes": "[]"})
    assert "is no JSON object" in line_of(graph_file)


def test_an_attribute_of_another_type(graph_file: Path) -> None:
    with h5py.File(graph_file) as file:
        attributes = json.loads(file.attrs["gpukit_attributes"])
    rewrite(graph_file, {"gpukit_attributes": store.canonical_json(attributes | {"facts": [5]})})
    for call in (artifacts.read_graph, artifacts.read_header):
        assert "attribute facts of a graph is [5]; type object is needed" in line_of(graph_file, call)


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_truncated(graph_file: Path, keep: float) -> None:
    size = graph_file.stat().st_size
    os.truncate(graph_file, int(size * keep))
    assert "truncated" in line_of(graph_file)


def replace_dataset(path: Path, name: str, value: np.ndarray | None) -> None:
    with h5py.File(path, "r+") as file:
        del file[name]
        if value is not None:
            file.create_dataset(name, data=value)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("indices_1", None, "needs the dataset indices_1"),
        ("ids", None, "checksums differ"),
        ("indices_1", np.array([1, 2, 0]), "has type <i8; int32"),
        ("indices_1", np.array([1, 2, 0], ">i4"), "has type >i4; int32"),
        ("indices_1", np.array([[1, 2, 0]], np.int32), "has 2 axes; 1 are needed"),
        ("indices_1", np.array([1, 2], np.int32), "has 2 entries; 3 are needed"),
        ("pointers_to_1", np.array([0, 2, 3]), "has 3 entries; 4 are needed"),
        ("ids", np.array([1, 2]), "has 2 entries; 3 are needed"),
        ("ids", np.array([b"x", b"y", b"z"]), "int64"),
        ("ids", h5py.Empty("i8"), "0 axes"),
    ],
)
def test_wrong_datasets(graph_file: Path, name: str, value: np.ndarray | None, word: str) -> None:
    replace_dataset(graph_file, name, value)
    assert word in line_of(graph_file)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("indices_1", np.array([1, 3, 0], np.int32), "holds 3; 0 to 2 is allowed"),
        ("indices_1", np.array([1, -1, 0], np.int32), "holds -1"),
        ("pointers_to_1", np.array([0, 2, 1, 3]), "and never fall"),
        ("pointers_to_1", np.array([1, 2, 3, 3]), "from 0 to 3"),
        ("pointers_to_1", np.array([0, 2, 3, 2]), "and never fall"),
        ("transpose/pointers_to_1", np.array([0, 4, 2, 3]), "and never fall"),
        ("transpose/indices_1", None, "differ in having indices_1"),
        ("indices_1", np.array([2, 1, 0], np.int32), "indices_1 of row 0 do not ascend"),
    ],
)
def test_values_that_would_leave_an_array_are_caught_though_their_checksums_are_right(
    graph_file: Path, name: str, value: np.ndarray | None, word: str
) -> None:
    change(graph_file, {name: value})
    with pytest.raises(InputError, match=word):
        store.read(graph_file)


def test_changed_data(graph_file: Path) -> None:
    replace_dataset(graph_file, "probabilities", np.array([0, 3, 2**32 - 1], np.uint32))
    assert "checksum of dataset probabilities" in line_of(graph_file)
    assert "checksum of dataset probabilities" in line_of(graph_file, verify)


def edge_graph(**changes) -> Graph:
    return Graph(**{**vars(small_graph()), **changes})


NO_TRANSPOSE = {"in_indptr": None, "in_indices": None, "in_probabilities": None}


@pytest.mark.parametrize(
    ("graph", "word"),
    [
        (edge_graph(indices=np.array([2, 1, 0], np.int32), **NO_TRANSPOSE), r"row 0 do not ascend \(… 2, 1 …\)"),
        (edge_graph(indices=np.array([1, 1, 0], np.int32), **NO_TRANSPOSE), "row 0 do not ascend"),
        (edge_graph(indices=np.array([1, 2, 1], np.int32), **NO_TRANSPOSE), "vertex 1 has an edge to itself"),
        (edge_graph(ids=np.array([5, 5, 9])), "ids of row 0 do not ascend"),
        (edge_graph(ids=np.array([-5, 7, 9])), "ids holds -5"),
        (edge_graph(weights=Weights("wc")), "probabilities and scheme 'wc' do not go together"),
        (edge_graph(weights=Weights("magic")), "unknown scheme 'magic'"),
        (edge_graph(weights=Weights("file", p=0.5)), "p and scheme 'file' do not go together"),
        (edge_graph(weights=Weights("trivalency")), "weights_seed and scheme 'trivalency' do not"),
        (edge_graph(weights=Weights("uniform", seed=1, low=0.1)), "high and scheme 'uniform' do not go together"),
        (edge_graph(weights=Weights("uniform", seed=1, low=0.3, high=0.1)), "low is 0.3 and high is 0.1"),
        (edge_graph(weights=Weights("const", p=1.5), probabilities=None, in_probabilities=None), r"p is 1.5; \(0, 1\]"),
        (edge_graph(in_indices=np.array([2, 0, 0], np.int32)), "transpose is not the transpose"),
        (edge_graph(in_indptr=np.array([0, 0, 2, 3])), "transpose/indices_1 of row 1 do not ascend"),
        (edge_graph(in_probabilities=np.array([0, 1, 2], np.uint32)), "transpose is not the transpose"),
        (edge_graph(undirected=True), "marked undirected"),
    ],
)
def test_verify_finds_untrue_graphs(tmp_path: Path, graph: Graph, word: str) -> None:
    artifacts.write_graph(tmp_path / "G.h5", graph)
    with pytest.raises(InputError, match=word):
        verify(tmp_path / "G.h5")


def test_verify_checks_the_binsparse_descriptor(graph_file: Path) -> None:
    with h5py.File(graph_file, "r+") as file:
        file["transpose"].attrs["binsparse"] = file["transpose"].attrs["binsparse"].replace('"CSR"', '"CSC"')
    assert "descriptor of group /transpose is missing or wrong" in line_of(graph_file, verify)
    with h5py.File(graph_file, "r+") as file:
        del file.attrs["binsparse"]
    assert "descriptor of group / is missing or wrong" in line_of(graph_file, verify)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"members": np.array([1, 0], np.int32)}, "members of row 0 do not ascend"),
        ({"offsets": np.array([0, 0, 2])}, "set 10 is empty"),
        ({"model": "tm"}, "unknown model 'tm'"),
        ({"sampler": "leap"}, "unknown sampler 'leap'"),
        ({"graph": "xyz"}, "must be a SHA-256"),
        ({"first": 2**48}, "sample ids"),
        ({"rounds": 0, "members": np.array([], np.int32), "offsets": np.array([0])}, "there are no sets|rounds is 0"),
    ],
)
def test_verify_finds_untrue_rrsets(tmp_path: Path, change: dict, word: str) -> None:
    good = dict(n=3, first=10, stream="IC", model="ic", sampler="skip", rounds=1, graph=DIGEST, seed=1)
    good |= dict(offsets=np.array([0, 2]), members=np.array([0, 1], np.int32))
    artifacts.write_rrsets(tmp_path / "good.h5", artifacts.RRSets(**good))
    verify(tmp_path / "good.h5")
    with pytest.raises(InputError, match=word):
        artifacts.write_rrsets(tmp_path / "RR.h5", artifacts.RRSets(**good | change))
        verify(tmp_path / "RR.h5")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"gamma": 1}, "gamma does not fit own and the weights"),
        ({"gamma": 0}, "gamma is 0, but there are sets"),
        ({"weights": None}, "gamma does not fit"),
        ({"own": np.array([0, 0, (1 << 63) + 1], np.uint64)}, "own holds 9223372036854775809"),
        ({"weights": np.array([1, 0, 2])}, "gamma does not fit"),
        ({"weights": np.array([1, -1, 2])}, "weights holds -1"),
        ({"weights": np.zeros(3, np.int64)}, "the sum of the weights"),
        ({"kept_of": 0}, "more sets than sample ids"),
        ({"kept_of": 2**48}, "sample ids"),
        ({"rounds": 2}, "one round"),
        ({"sampler": "scan"}, "one round and the sampler skip"),
        ({"decimals": 10}, "decimals is 10"),
        ({"offsets": np.array([0, 1, 2])}, "set 0 is trivial"),
        ({"own": np.zeros(4, np.uint64)}, "own has 4 entries"),
    ],
)
def test_verify_finds_untrue_kept_sets(tmp_path: Path, change: dict, word: str) -> None:
    own, weights = np.array([0, 1 << 62, 1 << 63], np.uint64), np.array([1, 2, 4])
    good = dict(n=3, first=10, stream="IC", model="ic", sampler="skip", rounds=1, graph=DIGEST, seed=1)
    good |= dict(offsets=np.array([0, 2]), members=np.array([0, 1], np.int32), own=own, gamma=2 << 63, kept_of=5)
    good |= dict(weights=weights)
    artifacts.write_rrsets(tmp_path / "good.h5", artifacts.RRSets(**good))
    verify(tmp_path / "good.h5")
    found = artifacts.read_rrsets(tmp_path / "good.h5")
    assert (found.sets, found.drawn, found.gamma) == ("kept", 5, 2 << 63)
    assert found.own.tolist() == own.tolist() and found.weights.tolist() == weights.tolist()
    with pytest.raises(InputError, match=word):
        artifacts.write_rrsets(tmp_path / "RR.h5", artifacts.RRSets(**good | change))
        verify(tmp_path / "RR.h5")


def test_verify_finds_untrue_seeds_and_metrics(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    artifacts.write_seeds(path, [4, 4], [0, 1], n=3, method="x", graph=DIGEST)
    assert "do not belong together" in line_of(path, verify)
    artifacts.write_seeds(path, [4, 4], [0, 0], n=3, method="x", graph=DIGEST)
    assert "names a vertex twice" in line_of(path, verify)
    artifacts.write_seeds(path, [4, 4], [0, 0], n=3, method="x", graph=DIGEST, rounds=[0, 1])
    verify(path)
    artifacts.write_seeds(path, [4], [0], n=3, method="x", graph=DIGEST, gains=[-1])
    assert "gains holds -1" in line_of(path, verify)
    artifacts.write_seeds(path, [4], [0], n=3, method="x", graph="z" * 64)
    assert "SHA-256" in line_of(path, verify)
    store.write(path, "metrics", {"columns/a": np.arange(2)}, {"columns": ["b"]})
    assert "list of columns" in line_of(path, verify)
    assert "list of columns" in line_of(path, artifacts.read_metrics)


@pytest.mark.parametrize("compress", [False, pytest.param(True, marks=needs_plugin)])
def test_random_damage_never_crashes_or_hangs(tmp_path: Path, compress: bool) -> None:
    """Flip single bits. On a few, of the sizes of texts, HDF5 2.0 itself would never end; none is among these."""
    source, damaged = tmp_path / "G.h5", tmp_path / "damaged.h5"
    artifacts.write_graph(
        source, small_graph(), build_tables(small_graph()), params={"k": 3}, seed=7, compress=compress
    )
    content = source.read_bytes()
    draw = random.Random(1)
    places = draw.sample(range(len(content)), 150)
    child = os.fork()
    if child == 0:  # a hang or a crash must not take the test run along
        signal.alarm(60)
        code = 0
        for place in places:
            changed = bytearray(content)
            changed[place] ^= 1 << draw.randrange(8)
            damaged.write_bytes(changed)
            try:
                verify(damaged)
            except InputError as error:
                code |= "\n" in str(error)
            except BaseException:
                code = 2
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0


def test_compressed_without_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "hdf5plugin", None)
    with pytest.raises(InputError, match=r"install gpukit\[compress\]"):
        artifacts.write_graph(tmp_path / "G.h5", small_graph(), compress=True)
    assert not list(tmp_path.iterdir())


def test_outputs_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is a folder"):
        artifacts.write_metrics(tmp_path, {"a": [1]})
    with pytest.raises(InputError, match="there is no folder .*; create it"):
        artifacts.write_metrics(tmp_path / "none" / "M.h5", {"a": [1]})
    shutil.copy(__file__, tmp_path / "file")
    with pytest.raises(InputError, match="file is no folder; name one"):
        artifacts.write_metrics(tmp_path / "file" / "M.h5", {"a": [1]})
