"""Downloads of data sets from a server that breaks off, changes its file, or sends another."""

import fcntl
import gzip
import hashlib
import http.server
import io
import logging
import os
import subprocess
import tarfile
import threading
from pathlib import Path

import pytest

from gpukit.datasets import Dataset, fetch, load_catalogue, transfer
from gpukit.errors import InputError

CATALOGUE = load_catalogue()
CONTENT = gzip.compress(b"".join(b"%d %d\n" % (i, i * i % 1009) for i in range(20_000)), mtime=0)


class Server:
    """Serves ``files``; ``cut`` limits the bytes of the next answers, ``ranges`` says whether it can resume."""

    def __init__(self):
        self.files = {"/e.gz": CONTENT}
        self.cut = None
        self.ranges = True
        self.headers = {"ETag": '"one"'}
        self.moved = {}
        self.status = 200
        self.asked = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                start, version = self.headers.get("Range"), self.headers.get("If-Range")
                outer.asked.append((start, version))
                if self.path in outer.moved:
                    self.send_response(302)
                    self.send_header("Location", outer.moved[self.path])
                    self.end_headers()
                    return
                body = outer.files.get(self.path)
                if body is None:
                    self.send_error(404)
                    return
                fits = version is None or version in outer.headers.values()
                first = int(start[6:-1]) if start and outer.ranges and fits else 0
                if first >= len(body):
                    self.send_error(416)
                    return
                self.send_response(206 if first else outer.status)
                self.send_header("Content-Length", str(len(body) - first))
                if first:
                    self.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                end = len(body) if outer.cut is None else first + outer.cut
                self.wfile.write(body[first:end])

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def dataset(self, path="/e.gz", **more):
        values = {"name": "toy", "url": self.url + path} | more
        return Dataset(title="a toy", n=10, m=20, directed=True, used_by={}, licence="none", **values)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(transfer, "LOOPBACK", True)
    one = Server()
    yield one
    one.http.shutdown()
    one.http.server_close()


@pytest.fixture(autouse=True)
def records(tmp_path_factory, monkeypatch):
    """The folder where the SHA-256 of downloads are recorded."""
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    return folder / "gpukit" / "fetched"


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


def broken_off(server, dataset, out, size=5000):
    """Let a download break off, and return the part that it leaves."""
    server.cut = size
    with pytest.raises(InputError, match=f"run again to go on after {size} bytes"):
        fetch(dataset, out)
    server.cut = None
    server.asked.clear()
    (part,) = out.parent.glob(".*.part")
    return part


def test_a_broken_download_leaves_no_target_and_is_resumed(server, tmp_path):
    broken_off(server, server.dataset(), tmp_path / "e.gz")
    assert not (tmp_path / "e.gz").exists()
    fetch(server.dataset(), tmp_path / "e.gz")
    assert server.asked == [("bytes=4999-", '"one"')]
    assert (tmp_path / "e.gz").read_bytes() == CONTENT
    assert names(tmp_path) == ["e.gz"]


def test_a_time_of_change_serves_as_a_version(server, tmp_path):
    server.headers = {"ETag": 'W/"weak"', "Last-Modified": "Mon, 23 Nov 2009 08:00:00 GMT"}
    broken_off(server, server.dataset(), tmp_path / "e.gz")
    fetch(server.dataset(), tmp_path / "e.gz")
    assert server.asked == [("bytes=4999-", "Mon, 23 Nov 2009 08:00:00 GMT")]
    assert (tmp_path / "e.gz").read_bytes() == CONTENT


@pytest.mark.parametrize("headers", [{}, {"ETag": 'W/"weak"'}, {"ETag": '"' + "x" * 100 + '"'}])
def test_without_a_version_a_download_starts_again(server, tmp_path, headers):
    server.headers = headers
    server.cut = 5000
    with pytest.raises(InputError) as caught:
        fetch(server.dataset(), tmp_path / "e.gz")
    assert "run again" not in str(caught.value) and names(tmp_path) == []
    server.cut = None
    fetch(server.dataset(), tmp_path / "e.gz")
    assert server.asked == [(None, None)] * 2
    assert (tmp_path / "e.gz").read_bytes() == CONTENT and names(tmp_path) == ["e.gz"]


OTHER = gzip.compress(b"".join(b"%d %d\n" % (i, i * i % 2003) for i in range(20_000)), mtime=0)


def test_a_file_that_changed_meanwhile_is_not_mixed(server, tmp_path):
    broken_off(server, server.dataset(), tmp_path / "e.gz")
    server.files["/e.gz"], server.headers = OTHER, {"ETag": '"two"'}
    fetch(server.dataset(), tmp_path / "e.gz")
    assert server.asked == [("bytes=4999-", '"one"')]
    assert (tmp_path / "e.gz").read_bytes() == OTHER and names(tmp_path) == ["e.gz"]


def test_a_partial_answer_of_another_version_is_not_taken(server, tmp_path):
    """A server that does not know If-Range, or another part than was asked for."""
    broken_off(server, server.dataset(), tmp_path / "e.gz")
    server.files["/e.gz"], server.headers = OTHER, {"ETag": '"two"', "X": '"one"'}
    fetch(server.dataset(), tmp_path / "e.gz")
    assert server.asked == [("bytes=4999-", '"one"'), (None, None)]
    assert (tmp_path / "e.gz").read_bytes() == OTHER and names(tmp_path) == ["e.gz"]


def test_a_part_that_nobody_asked_for_is_refused(server, tmp_path):
    server.status = 206
    with pytest.raises(InputError, match="sent a part of the file, and was asked for all"):
        fetch(server.dataset(), tmp_path / "e.gz")
    assert names(tmp_path) == []


def test_a_file_that_became_shorter(server, tmp_path):
    broken_off(server, server.dataset(), tmp_path / "e.gz")
    server.files["/e.gz"] = short = gzip.compress(b"1 2\n", mtime=0)
    fetch(server.dataset(), tmp_path / "e.gz")
    assert (tmp_path / "e.gz").read_bytes() == short and names(tmp_path) == ["e.gz"]


def test_a_server_that_cannot_resume_starts_again(server, tmp_path):
    broken_off(server, server.dataset(), tmp_path / "e.gz")
    server.ranges = False
    fetch(server.dataset(), tmp_path / "e.gz")
    assert (tmp_path / "e.gz").read_bytes() == CONTENT


def test_a_complete_part_is_used(server, tmp_path):
    """The process died between the last byte and the new name."""
    part = broken_off(server, server.dataset(), tmp_path / "e.gz")
    part.write_bytes(CONTENT)
    fetch(server.dataset(), tmp_path / "e.gz")
    assert server.asked == [(f"bytes={len(CONTENT) - 1}-", '"one"')]
    assert (tmp_path / "e.gz").read_bytes() == CONTENT and names(tmp_path) == ["e.gz"]


@pytest.mark.parametrize("more", [{"name": "other"}, {"path": "/f.gz"}], ids=["name", "address"])
def test_remains_of_one_data_set_are_not_delivered_as_another(server, tmp_path, more):
    server.files["/f.gz"] = OTHER
    broken_off(server, server.dataset(), tmp_path / "e.gz").write_bytes(CONTENT)
    other = server.dataset(**{"path": "/f.gz"} | more)
    fetch(other, tmp_path / "e.gz")
    assert server.asked == [(None, None)]
    assert (tmp_path / "e.gz").read_bytes() == OTHER


def test_an_old_part_is_nothing_to_go_on_from(server, tmp_path):
    (tmp_path / ".e.gz.part").write_bytes(OTHER)
    fetch(server.dataset(), tmp_path / "e.gz")
    assert server.asked == [(None, None)] and (tmp_path / "e.gz").read_bytes() == CONTENT


@pytest.mark.parametrize("plant", ["link", "hard link", "FIFO"])
def test_a_planted_part_is_neither_followed_nor_written(server, tmp_path, plant):
    part = broken_off(server, server.dataset(), tmp_path / "e.gz")
    part.unlink()
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"precious")
    {"link": part.symlink_to, "hard link": part.hardlink_to, "FIFO": lambda _: os.mkfifo(part)}[plant](theirs)
    with pytest.raises(InputError, match="is not a part of a download of yours; remove it"):
        fetch(server.dataset(), tmp_path / "e.gz")
    assert theirs.read_bytes() == b"precious" and not (tmp_path / "e.gz").exists()


def test_two_processes_do_not_fetch_to_one_part(server, tmp_path):
    part = broken_off(server, server.dataset(), tmp_path / "e.gz")
    with open(part) as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process is fetching"):
            fetch(server.dataset(), tmp_path / "e.gz")
    fetch(server.dataset(), tmp_path / "e.gz")
    assert (tmp_path / "e.gz").read_bytes() == CONTENT


def test_only_secure_addresses(server, tmp_path, monkeypatch):
    server.moved["/e.gz"] = "http://localhost:1/e.gz"
    with pytest.raises(InputError, match="leads to http://localhost:1/e.gz, which is not https"):
        fetch(server.dataset(), tmp_path / "e.gz")
    server.moved["/e.gz"] = server.url + "/there.gz"
    server.files["/there.gz"] = CONTENT
    fetch(server.dataset(), tmp_path / "e.gz")
    monkeypatch.setattr(transfer, "LOOPBACK", False)
    server.asked.clear()
    for url in (server.url + "/e.gz", "ftp://127.0.0.1/e.gz", "file:///etc/passwd"):
        with pytest.raises(InputError, match="is not https"):
            fetch(server.dataset(url=url), tmp_path / "f.gz")
    assert server.asked == [] and names(tmp_path) == ["e.gz"]


def test_another_file_than_at_the_first_time_is_refused(server, tmp_path, records):
    assert not fetch(server.dataset(), tmp_path / "e.gz").verified
    assert fetch(server.dataset(), tmp_path / "f.gz").verified
    server.files["/e.gz"], server.headers = OTHER, {"ETag": '"two"'}
    with pytest.raises(InputError, match=r"has SHA-256 .* but had .* first fetched; .* remove (\S+) and") as caught:
        fetch(server.dataset(), tmp_path / "e.gz")
    (record,) = records.iterdir()
    assert str(record) in str(caught.value) and "\n" not in str(caught.value)
    assert (tmp_path / "e.gz").read_bytes() == CONTENT
    record.unlink()
    server.asked.clear()
    assert not fetch(server.dataset(), tmp_path / "e.gz").verified
    assert server.asked == [(f"bytes={len(OTHER) - 1}-", '"two"')]
    assert (tmp_path / "e.gz").read_bytes() == OTHER and names(tmp_path) == ["e.gz", "f.gz"]


def test_a_broken_record_of_a_download_is_refused(server, tmp_path, records):
    fetch(server.dataset(), tmp_path / "e.gz")
    (record,) = records.iterdir()
    record.write_text("")
    with pytest.raises(InputError, match="holds no SHA-256; remove it"):
        fetch(server.dataset(), tmp_path / "e.gz")


def test_what_cannot_be_recorded_is_said(server, tmp_path, monkeypatch, caplog):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(logging.getLogger("gpukit"), "propagate", True)
    fetch(server.dataset(), tmp_path / "e.gz")
    assert "the SHA-256 is not recorded" in caplog.text and (tmp_path / "e.gz").read_bytes() == CONTENT


def test_a_full_disk_leaves_nothing_of_a_download(server, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)], capture_output=True)
    if mount.returncode:
        pytest.skip("mounting a file system needs root")
    try:
        with pytest.raises(InputError, match="No space left on device; free some space"):
            fetch(server.dataset(), disk / "e.gz")
        assert names(disk) == []
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


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
    with pytest.raises(InputError, match="cannot download .*check the network; .*generate rmat") as caught:
        fetch(dataset, tmp_path / "e.gz")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "e.gz").read_bytes() == b"before"
    assert names(tmp_path) == ["e.gz"]


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
    whole = archive({"toy/out.toy": bytes(range(256)) * 4000})
    for damaged in (whole[:-400], whole[:200] + bytes(100) + whole[300:]):
        server.files["/a.tar.bz2"] = damaged
        with pytest.raises(InputError, match="is damaged"):
            fetch(server.dataset("/a.tar.bz2", member="*/out.toy"), tmp_path / "e.gz")
    assert names(tmp_path) == []


def test_a_full_disk_is_one_line(server, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gpukit.datasets.download.shutil.copyfile", full)
    with pytest.raises(InputError, match="cannot write .*No space left on device"):
        fetch(CATALOGUE["wiki-Vote"], tmp_path / "e.gz")
    assert names(tmp_path) == []
