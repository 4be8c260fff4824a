"""The catalogue, the shipped files, and downloads from a server that breaks off."""

import gzip
import hashlib
import http.server
import io
import tarfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpukit.datasets import Dataset, fetch, load_catalogue, shipped_file
from gpukit.datasets.catalogue import find_dataset
from gpukit.errors import InputError, UsageError
from gpukit.graph import generators
from gpukit.graph.build import build_graph
from gpukit.graph.readers import read_edges

PAPERS = {"gim", "imgpu", "kpar", "merit", "structural-diversity"}
CATALOGUE = load_catalogue()
SHIPPED = [name for name, dataset in CATALOGUE.items() if dataset.shipped]


def test_every_paper_has_its_graphs():
    used = {paper: [d.name for d in CATALOGUE.values() if paper in d.used_by] for paper in PAPERS}
    assert {paper: len(names) for paper, names in used.items()} == {
        "gim": 6,
        "imgpu": 4,
        "kpar": 4,
        "merit": 4,
        "structural-diversity": 8,
    }
    assert {paper for d in CATALOGUE.values() for paper in d.used_by} == PAPERS


@pytest.mark.parametrize("name", CATALOGUE)
def test_entries_are_complete(name):
    dataset = CATALOGUE[name]
    assert dataset.title and dataset.licence and dataset.n > 1 and dataset.m > 0
    assert dataset.page is None or dataset.page.startswith("http")
    assert dataset.shipped or dataset.stand_in
    assert bool(dataset.shipped) <= bool(dataset.sha256 and len(dataset.sha256) == 64)
    assert dataset.url is None or dataset.url.endswith(".gz") or dataset.member


@pytest.mark.parametrize("name", [n for n, d in CATALOGUE.items() if d.stand_in])
def test_stand_ins_are_options_of_a_generator(name):
    dataset = CATALOGUE[name]
    for entry in filter(None, (dataset.stand_in, dataset.stand_in_clustered)):
        options = dict(entry["options"])
        assert options["vertices"] == dataset.n
        assert 0.45 < options["edges"] / dataset.m <= 1
        small = {"vertices": 400, "edges": 900} | ({"triangles": 50} if "triangles" in options else {})
        u, v, n = getattr(generators, entry["model"])(**options | small)
        assert (len(u), n) == (900, 400)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_files_are_what_the_catalogue_says(name, tmp_path):
    dataset = CATALOGUE[name]
    got = fetch(dataset, tmp_path / "e.gz")
    assert (got.sha256, got.verified, got.source) == (dataset.sha256, True, dataset.shipped)
    assert (tmp_path / "e.gz").read_bytes() == shipped_file(dataset).read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["e.gz"]
    edges = read_edges(tmp_path / "e.gz")
    assert len(edges.u) == dataset.m
    if "--vertices" in dataset.options:
        assert dataset.options[dataset.options.index("--vertices") + 1] == str(dataset.n)
        assert max(edges.u.max(), edges.v.max()) < dataset.n
    else:
        assert len(np.union1d(edges.u, edges.v)) == dataset.n


# Counted independently of this code: distinct unordered pairs, self-loops, isolated vertices.
FACTS = {
    "wiki-Vote": (100_762, 0, 0),
    "soc-Epinions1": (405_740, 0, 0),
    "NetHEPT": (31_376, 39, 4),
    "NetPHY": (174_161, 0, 5),
    "email-Enron": (183_831, 0, 0),
    "soc-Slashdot0902": (504_230, 78_303, None),
    "web-NotreDame": (1_090_108, 27_455, None),
}


@pytest.mark.parametrize("name", FACTS)
def test_shipped_graphs_have_the_known_sizes(name):
    edges = read_edges(shipped_file(CATALOGUE[name]))
    options = CATALOGUE[name].options
    n = int(options[options.index("--vertices") + 1]) if "--vertices" in options else None
    graph = build_graph(edges.u, edges.v, undirected=True, ids=n is None, n=n, transpose=False)
    distinct, loops, isolated = FACTS[name]
    assert (graph.n, graph.m) == (CATALOGUE[name].n, 2 * distinct)
    assert graph.facts["self_loops_dropped"] == loops
    assert isolated is None or graph.facts["isolated"] == isolated


def test_names_are_found_in_any_case_and_near_ones_offered():
    assert find_dataset("NETHEPT").name == "NetHEPT"
    with pytest.raises(UsageError, match="did you mean .*soc-Pokec"):
        find_dataset("pokec")
    with pytest.raises(UsageError, match="gpukit data list"):
        find_dataset("zzz")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("datasets: [", "is no catalogue"),
        ("sets: {}", "is no catalogue"),
        ("datasets: {a: 3}", "is no catalogue"),
        ("datasets: {a: {title: t}}", "is no catalogue"),
        ("datasets: {a: {titel: t}}", "a has the unknown key 'titel'"),
    ],
)
def test_a_broken_catalogue_is_one_line(tmp_path, text, expected):
    (tmp_path / "d.yaml").write_text(text)
    with pytest.raises(InputError, match=expected) as caught:
        load_catalogue(tmp_path / "d.yaml")
    assert "\n" not in str(caught.value)


def test_a_missing_catalogue(tmp_path):
    with pytest.raises(InputError, match="no catalogue"):
        load_catalogue(tmp_path / "d.yaml")


def test_a_shipped_file_that_changed_is_refused(tmp_path):
    (tmp_path / "e.gz").write_bytes(b"before")
    with pytest.raises(InputError, match="SHA-256 .* not 00"):
        fetch(replace(CATALOGUE["wiki-Vote"], sha256="00"), tmp_path / "e.gz")
    assert (tmp_path / "e.gz").read_bytes() == b"before"
    assert len(list(tmp_path.iterdir())) == 1


# Downloads

CONTENT = gzip.compress(b"".join(b"%d %d\n" % (i, i * i % 1009) for i in range(20_000)), mtime=0)


class Server:
    """Serves ``files``; ``cut`` limits the bytes of the next answer, ``ranges`` says whether it can resume."""

    def __init__(self):
        self.files = {"/e.gz": CONTENT}
        self.cut = None
        self.ranges = True
        self.asked = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                start = self.headers.get("Range")
                outer.asked.append(start)
                body = outer.files.get(self.path)
                if body is None:
                    self.send_error(404)
                    return
                first = int(start[6:-1]) if start and outer.ranges else 0
                if first >= len(body):
                    self.send_error(416)
                    return
                self.send_response(206 if first else 200)
                self.send_header("Content-Length", str(len(body) - first))
                self.end_headers()
                end = len(body) if outer.cut is None else first + outer.cut
                self.wfile.write(body[first:end])

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def dataset(self, path="/e.gz", **more):
        return Dataset("toy", "a toy", 10, 20, True, {}, "none", url=self.url + path, **more)


@pytest.fixture
def server():
    one = Server()
    yield one
    one.http.shutdown()
    one.http.server_close()


def names(folder: Path):
    return sorted(path.name for path in folder.iterdir())


def test_download_without_a_known_checksum(server, tmp_path):
    told = []
    got = fetch(server.dataset(), tmp_path / "e.gz", lambda done, total: told.append((done, total)))
    assert (tmp_path / "e.gz").read_bytes() == CONTENT
    assert (got.bytes, got.verified, got.source) == (len(CONTENT), False, server.url + "/e.gz")
    assert got.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert names(tmp_path) == ["e.gz"]


def test_download_with_a_known_checksum(server, tmp_path):
    assert fetch(server.dataset(sha256=hashlib.sha256(CONTENT).hexdigest()), tmp_path / "e.gz").verified
    with pytest.raises(InputError, match="has SHA-256 .* not ff; it was removed"):
        fetch(server.dataset(sha256="ff"), tmp_path / "f.gz")
    assert names(tmp_path) == ["e.gz"]


def test_a_broken_download_leaves_no_target_and_is_resumed(server, tmp_path):
    server.cut = 5000
    with pytest.raises(InputError, match="run again to go on after 5000 bytes"):
        fetch(server.dataset(), tmp_path / "e.gz")
    assert names(tmp_path) == [".e.gz.part"]
    server.cut = None
    fetch(server.dataset(), tmp_path / "e.gz")
    assert server.asked == [None, "bytes=5000-"]
    assert (tmp_path / "e.gz").read_bytes() == CONTENT
    assert names(tmp_path) == ["e.gz"]


def test_a_server_that_cannot_resume_starts_again(server, tmp_path):
    (tmp_path / ".e.gz.part").write_bytes(b"x" * 100)
    server.ranges = False
    fetch(server.dataset(), tmp_path / "e.gz")
    assert (tmp_path / "e.gz").read_bytes() == CONTENT


def test_a_complete_part_is_used_and_a_wrong_one_removed(server, tmp_path):
    (tmp_path / ".e.gz.part").write_bytes(CONTENT)
    fetch(server.dataset(), tmp_path / "e.gz")
    (tmp_path / ".f.gz.part").write_bytes(b"x" * 100)
    with pytest.raises(InputError, match="is damaged"):
        fetch(server.dataset(), tmp_path / "f.gz")
    assert names(tmp_path) == ["e.gz"]


def test_a_page_instead_of_the_file_is_damaged(server, tmp_path):
    server.files["/e.gz"] = b"<html>log in first</html>"
    with pytest.raises(InputError, match="damaged .not a gzip file"):
        fetch(server.dataset(), tmp_path / "e.gz")
    assert names(tmp_path) == []


def test_no_such_file_on_the_server(server, tmp_path):
    with pytest.raises(InputError, match="answered 404"):
        fetch(server.dataset("/none.gz"), tmp_path / "e.gz")
    assert names(tmp_path) == []


def test_no_network_is_one_line_and_keeps_the_target(server, tmp_path):
    (tmp_path / "e.gz").write_bytes(b"before")
    dataset = server.dataset(stand_in={"model": "rmat", "options": {}})
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(InputError, match="cannot download .*check the network, or .*generate rmat") as caught:
        fetch(dataset, tmp_path / "e.gz")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "e.gz").read_bytes() == b"before"
    assert names(tmp_path) == ["e.gz"]


def test_without_an_address_the_page_is_named(tmp_path):
    with pytest.raises(InputError, match="twitter-asu cannot be downloaded; see http.*generate rmat"):
        fetch(CATALOGUE["twitter-asu"], tmp_path / "e.gz")


def archive(members):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:bz2") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return target.getvalue()


def test_the_edge_list_is_taken_out_of_an_archive(server, tmp_path):
    server.files["/a.tar.bz2"] = archive({"toy/README": b"no", "toy/out.toy": b"% c\n1 2 1 99\n"})
    dataset = server.dataset("/a.tar.bz2", member="*/out.toy")
    first = fetch(dataset, tmp_path / "e.gz")
    assert gzip.decompress((tmp_path / "e.gz").read_bytes()) == b"% c\n1 2 1 99\n"
    assert first.sha256 == fetch(dataset, tmp_path / "other.gz").sha256
    assert names(tmp_path) == ["e.gz", "other.gz"]


def test_archives_without_the_member_or_damaged(server, tmp_path):
    server.files["/a.tar.bz2"] = archive({"toy/README": b"no"})
    with pytest.raises(InputError, match=r"has no file \*/out.toy"):
        fetch(server.dataset("/a.tar.bz2", member="*/out.toy"), tmp_path / "e.gz")
    server.files["/a.tar.bz2"] = archive({"toy/out.toy": bytes(range(256)) * 4000})[:-400]
    with pytest.raises(InputError, match="is damaged"):
        fetch(server.dataset("/a.tar.bz2", member="*/out.toy"), tmp_path / "e.gz")
    assert names(tmp_path) == []


def test_a_full_disk_is_one_line(server, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gpukit.datasets.download.shutil.copyfileobj", full)
    with pytest.raises(InputError, match="cannot write .*No space left on device"):
        fetch(CATALOGUE["wiki-Vote"], tmp_path / "e.gz")
    assert names(tmp_path) == []
