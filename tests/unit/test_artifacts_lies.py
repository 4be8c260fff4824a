"""Artifacts with wrong contents and right checksums: sampling tables, storage, and the meaning of numbers."""

import hashlib
import json
import os
from pathlib import Path

import h5py
import numpy as np
import pytest
from mutants import EDGES, change, refused

from gpukit import artifacts
from gpukit.artifacts import store
from gpukit.artifacts.layout import TABLES
from gpukit.artifacts.verify import verify
from gpukit.cli.app import main
from gpukit.errors import DeviceError
from gpukit.graph.csr import Weights
from gpukit.worlds.tables import build_tables

DIGEST = "ab" * 32


# --- sampling tables --------------------------------------------------------------------------------------------------


def test_a_change_of_the_tables_needs_a_new_version(make_graph) -> None:
    """What stored tables hold is fixed by their version: raise TABLES in layout.py, then change the sums here."""
    found = hashlib.sha256()
    rng = np.random.default_rng(1)
    edges = [(int(u), 0, float(p)) for u, p in zip(range(1, 90), rng.random(89) ** 4, strict=True)]
    for weights in (Weights("wc"), Weights("const", p=0.03), Weights("const", p=0.7), None):
        rows = edges if weights is None else [edge[:2] for edge in edges]
        for name, table in sorted(build_tables(make_graph(90, rows, weights)).items()):
            found.update(name.encode() + table.dtype.str.encode() + table.tobytes())
    assert (TABLES, found.hexdigest()) == (1, "3777e26ee647c174b03e17647435c76910dbfc15806d0bc74fef9371039f380a")


@pytest.mark.parametrize("weights", [Weights("wc"), Weights("const", p=0.1), Weights("trivalency", seed=1)])
def test_wrong_thresholds_are_found_by_verify_and_when_used(tmp_path: Path, make_graph, weights: Weights) -> None:
    graph = make_graph(6, EDGES, weights)
    path = tmp_path / "G.h5"
    artifacts.write_graph(path, graph, build_tables(graph))
    verify(path)
    tables = {name: table.copy() for name, table in build_tables(graph).items()}
    tables["thresholds"] = np.append(tables["thresholds"], np.uint64(7))
    artifacts.write_graph(path, graph, tables)
    refused(path, "tables/thresholds does not fit the graph")
    refused(path, "tables/thresholds", lambda p: artifacts.read_graph_file(p, tables=True))
    artifacts.read_graph(path)  # which does without them


@pytest.mark.parametrize(
    ("column", "value", "word"),
    [(0, 99, "leads out"), (1, 99, "leads out"), (2, 7 << 20, "leads out"), (2, 255, "leads out"), (3, 5, "leads out")],
)
def test_rows_that_lead_out_of_the_tables_are_found_always(file: Path, column: int, value: int, word: str) -> None:
    artifacts.read_graph_file(file, tables=True)
    with h5py.File(file) as opened:
        rows = opened["tables/rows"][()]
    rows[1, column] = value
    change(file, {"tables/rows": rows})
    refused(file, word, lambda path: artifacts.read_graph_file(path, tables=True))


def test_tables_of_another_version_are_built_anew(file: Path, caplog: pytest.LogCaptureFixture, monkeypatch) -> None:
    outs = [file.parent / f"{name}.h5" for name in ("first", "second")]
    words = ["gim", "sample", str(file), "--first", "0", "--count", "99", "--device", "cpu", "--out"]
    assert main([*words, str(outs[0])]) == 0
    graph, digest, _ = artifacts.read_graph_file(file)
    monkeypatch.setattr("gpukit.artifacts.graph.TABLES", TABLES + 1)
    artifacts.write_graph(file, graph, {"rows": np.zeros((1, 1))})
    monkeypatch.undo()
    found = artifacts.read_graph_file(file, tables=True)
    assert found.tables is None and found.digest == digest
    verify(file)
    assert main([*words, str(outs[1])]) == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()


# --- storage ----------------------------------------------------------------------------------------------------------


def soft(file: h5py.File, data: np.ndarray) -> None:
    file["ids"] = h5py.SoftLink("/pointers_to_1")


def external_link(file: h5py.File, data: np.ndarray) -> None:
    file["ids"] = h5py.ExternalLink("other.h5", "/ids")


def external(file: h5py.File, data: np.ndarray) -> None:
    place = Path(file.filename).with_name("data.bin")
    place.write_bytes(data.tobytes())
    file.create_dataset("ids", data.shape, data.dtype, external=[(str(place), 0, data.nbytes)])


def virtual(file: h5py.File, data: np.ndarray) -> None:
    layout = h5py.VirtualLayout(data.shape, data.dtype)
    layout[:] = h5py.VirtualSource(file.filename, "pointers_to_1", (len(data) + 1,))[: len(data)]
    file.create_virtual_dataset("ids", layout)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (soft, "the datasets and the list of checksums differ"),
        (external_link, "the datasets and the list of checksums differ"),
        (external, "outside the file"),
        (virtual, "outside the file"),
    ],
)
@pytest.mark.parametrize("read", [verify, artifacts.read_graph])
def test_data_that_do_not_lie_in_the_file(file: Path, make, word: str, read) -> None:
    with h5py.File(file, "r+") as opened:
        data = opened["ids"][()]
        del opened["ids"]
        make(opened, data)
    refused(file, word, read)


@pytest.mark.parametrize(("chunks", "word"), [(None, "fewer than the 48 bytes"), ((2,), "checksum of dataset ids")])
def test_a_dataset_that_was_not_written(file: Path, chunks: tuple | None, word: str) -> None:
    with h5py.File(file, "r+") as opened:
        shape, kind = opened["ids"].shape, opened["ids"].dtype
        del opened["ids"]
        item = opened.create_dataset("ids", shape, kind, chunks=chunks)
        if chunks:
            item[0] = 5
    refused(file, word, artifacts.read_graph)


@pytest.mark.parametrize("filters", [{}, {"compression": "gzip", "compression_opts": 9}])
def test_a_small_file_that_claims_gigabytes(tmp_path: Path, filters: dict) -> None:
    path = tmp_path / "M.h5"
    artifacts.write_metrics(path, {"a": np.zeros(8)})
    with h5py.File(path, "r+") as file:
        del file["columns/a"]
        item = file.create_dataset("columns/a", (1 << 31,), "f8", chunks=(1 << 20,), **filters)
        item[: 1 << 20] = 0
    assert path.stat().st_size < 10 << 20
    refused(path, "fewer than the 17179869184 bytes", artifacts.read_metrics)


def test_arrays_that_do_not_fit_into_the_memory(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpukit.device.memory.UNASKED", 0)
    monkeypatch.setattr("gpukit.device.memory.host_free_bytes", lambda: 100)
    with pytest.raises(DeviceError, match="100 bytes are free"):
        artifacts.read_graph(file)


def test_a_pipe_is_no_artifact(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "not a regular file")


# --- what verify did not see ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["", "transpose"])
def test_verify_compares_every_field_of_the_descriptor(file: Path, group: str) -> None:
    with h5py.File(file) as opened:
        sound = json.loads(opened[f"/{group}"].attrs["binsparse"])
    fields = [(outer, inner) for outer in sound for inner in sound[outer]]
    for outer, inner in [*fields, ("binsparse", "fill"), ("other", "x")]:
        told = json.loads(json.dumps(sound))
        told.setdefault(outer, {})[inner] = "x"
        with h5py.File(file, "r+") as opened:
            opened[f"/{group}"].attrs["binsparse"] = json.dumps(told)
        refused(file, f"descriptor of group /{group}")


@pytest.mark.parametrize(
    ("seeds", "internal"), [([4, 5], [2, 1]), ([4, 5], [1, 3]), ([1], [2]), ([4, 5], [1, 1]), ([4, 4], [1, 2])]
)
def test_seeds_that_cannot_be_the_ids_of_the_vertices(tmp_path: Path, seeds: list[int], internal: list[int]) -> None:
    artifacts.write_seeds(tmp_path / "S.h5", seeds, internal, n=9, method="x", graph=DIGEST, rounds=range(len(seeds)))
    refused(tmp_path / "S.h5", "internal")
    artifacts.write_seeds(tmp_path / "S.h5", [5, 3, 5], [4, 2, 4], n=9, method="x", graph=DIGEST, rounds=[0, 0, 1])
    verify(tmp_path / "S.h5")


@pytest.mark.parametrize("alpha", [0, 1, 0.0, 1.0, -0.5])
def test_alpha_without_walks(tmp_path: Path, alpha: float) -> None:
    one = np.array([1 << 62], np.uint64)
    starts, vertex = np.array([0, 1]), np.zeros(1, np.int32)
    arrays = {"offsets": starts, "nodes": np.zeros(1, np.int64), "internal": vertex, "scores": one}
    arrays |= {"source_offsets": starts, "sources": vertex, "source_mass": one}
    for found in (0.2, alpha):
        artifacts.put(
            tmp_path / "T.h5", artifacts.topk_artifact(arrays, n=1, k=1, alpha=found, method="x", graph=DIGEST)
        )
        if found == 0.2:
            verify(tmp_path / "T.h5")
    refused(tmp_path / "T.h5", "alpha is")


@pytest.mark.parametrize("unit", ["NaN", "-1", "0", "Infinity", "x", ""])
def test_units_of_a_campaign(tmp_path: Path, unit: str) -> None:
    begin = np.zeros(1, np.int64)
    arrays = {"worlds": np.zeros(0, np.int64), "first_round": begin, "batch_begin": begin, "activated_begin": begin}
    numbers = ("seeds", "activated", "cost", "sets", "covered", "most", "hits", "refused", "judged")
    arrays |= {name: np.zeros(0, np.int64) for name in numbers} | {"stops": np.zeros(0, np.int8)}
    attributes = {"n": 3, "eta": 1, "batch": 1, "model": "ic", "epsilon": 0.5, "update": "coupled", "ids": "kept"}
    attributes |= {"certificate": "fresh", "lt_residual": "raw", "costs": "uniform", "unit": "1", "pending": False}
    store.write(tmp_path / "C.h5", "campaign", arrays, attributes | {"graph": DIGEST}, seed=1)
    verify(tmp_path / "C.h5")
    change(tmp_path / "C.h5", attributes={"unit": unit})
    refused(tmp_path / "C.h5", "unit is")


def test_a_directed_graph_that_claims_to_be_undirected(file: Path) -> None:
    change(file, attributes={"undirected": True})
    refused(file, "one direction only", artifacts.read_graph)
    refused(file, "one direction only", lambda path: artifacts.read_graph(path, transpose=False))


@pytest.fixture
def ranked(tmp_path: Path, make_graph) -> tuple[Path, Path]:
    """Return a PageRank and a walk index, in which some start lists have frequencies."""
    edges = [(u, (u * step + 1) % 40) for u in range(40) for step in (0, 1, 3, 7) if u != (u * step + 1) % 40]
    graph, rank, index = (tmp_path / name for name in ("G.h5", "R.h5", "W.h5"))
    artifacts.write_graph(graph, make_graph(40, sorted(set(edges))))
    assert main(["kpar", "rank", str(graph), "--out", str(rank), "--device", "cpu"]) == 0
    assert main(["kpar", "index", str(graph), "--rank", str(rank), "--out", str(index), "--device", "cpu"]) == 0
    return rank, index


def test_a_list_of_vertices_that_names_one_twice(ranked) -> None:
    path, _ = ranked
    verify(path)
    order = store.read(path).arrays["order"].copy()
    order[3] = order[5]
    change(path, {"order": order})
    refused(path, "the PRO-rank list names a vertex twice")


def test_start_lists_and_walks_must_agree(ranked) -> None:
    _, path = ranked
    verify(path)
    arrays = store.read(path).arrays
    begin, first = arrays["src_begin"], arrays["frequent_begin"]
    often = np.diff(first)
    busy = int(np.flatnonzero(often > 0)[0])  # its list begins with starts that have a frequency
    assert len(arrays["starts"]) and len(arrays["frequencies"])

    def changed(name: str, place: int, by: int) -> dict[str, np.ndarray]:
        values = arrays[name].copy()
        values[place] = int(values[place]) + by
        return {name: values}

    low = changed("frequencies", first[busy], 1 - int(arrays["frequencies"][first[busy]]))
    more = changed("frequencies", first[busy], 1)
    arrived = changed("arrivals", busy, 1) | changed("walks", 0, 1)
    lists = [(begin[v] + often[v], begin[v + 1]) for v in range(40)]
    last = next(end - 1 for start, end in lists if end > start and arrays["starts"][end - 1] < 39)
    other = changed("starts", last, 1)
    for lie, word in (
        (low, "frequencies holds 1"),
        (more, "start lists and walks that end at a vertex do not agree"),
        (arrived, "start lists and walks that end at a vertex do not agree"),
        (changed("walks", 0, 1), "as many walks must end as start"),
        (other, "start lists and walks from a vertex do not agree"),
    ):
        change(path, lie)
        refused(path, word)
        change(path, {name: arrays[name] for name in lie})
    verify(path)
