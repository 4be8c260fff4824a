"""Files at addresses: by HTTP from a server of this machine, and in a bucket of a stand-in for S3 if that is here."""

import http.server
import threading
from pathlib import Path

import pytest

import gpukit as gk
from gpukit import remote
from gpukit.cli.workflow.config_graphs import find_file
from gpukit.errors import InputError

EDGES = "".join(f"{i} {(i * 7 + 3) % 50}\n{i} {i // 2}\n" for i in range(50))


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Return an object with the address of a server, the file that it has, and the files that were fetched of it."""
    pytest.importorskip("fsspec", reason="needs gpukit[cloud]")
    pytest.importorskip("aiohttp", reason="needs gpukit[cloud]")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    class Handler(http.server.BaseHTTPRequestHandler):
        content, cut, got = EDGES.encode(), 0, []

        def do_HEAD(self, body=False):  # noqa: N802
            missing = not self.path.startswith("/e.txt")
            self.send_response(404 if missing else 200)
            self.send_header("ETag", f'"{hash(self.content)}"')
            self.send_header("Content-Length", str(0 if missing else len(self.content)))
            self.end_headers()

        def do_GET(self):  # noqa: N802
            self.do_HEAD()
            if self.path.startswith("/e.txt"):
                self.got.append(self.path)
                self.wfile.write(self.content[: len(self.content) - self.cut])

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        Handler.address = f"http://127.0.0.1:{running.server_port}/e.txt"
        yield Handler
        running.shutdown()


def test_what_a_server_has_is_copied_once_for_each_version(server, good, tmp_path) -> None:
    (tmp_path / "e.txt").write_text(EDGES)
    good("graph", "import", tmp_path / "e.txt", "--out", tmp_path / "here.h5")
    for _ in range(2):
        good("graph", "import", server.address, "--out", tmp_path / "there.h5", "--force")
    assert (tmp_path / "here.h5").read_bytes() == (tmp_path / "there.h5").read_bytes()
    assert len(server.got) == 1
    server.content += b"3 4\n3 9\n"  # which were no edges
    assert gk.read_edges(server.address).m == gk.load(str(tmp_path / "here.h5")).m + 2
    assert len(server.got) == 2


def test_a_configuration_takes_the_copy_of_what_a_server_has(server) -> None:
    copy = find_file(server.address, [])
    assert copy.read_text() == EDGES and find_file(server.address, []) == copy and len(server.got) == 1
    server.content += b"3 4\n"
    assert find_file(server.address, []) != copy
    with pytest.raises(InputError, match=r"/gone: there is no such file; check the address$"):
        find_file(server.address.replace("e.txt", "gone"), [])


def test_a_copy_that_ended_early_is_not_kept(server, run, tmp_path) -> None:
    server.cut = 10
    code, _, err = run("graph", "import", server.address, "--out", tmp_path / "g.h5")
    assert code == 3 and err.startswith(f"gpukit: error: cannot read {server.address}: "), err
    assert list((tmp_path / "cache/gpukit/remote").rglob("*")) == [] and not (tmp_path / "g.h5").exists()
    server.cut = 0
    assert run("graph", "import", server.address, "--out", tmp_path / "g.h5")[0] == 0


def test_a_file_that_is_not_there_and_a_server_that_takes_none(server, run, tmp_path) -> None:
    gone = server.address.replace("e.txt", "gone")
    code, _, err = run("graph", "import", gone, "--out", tmp_path / "g.h5")
    assert (code, err) == (3, f"gpukit: error: cannot read {gone}: there is no such file; check the address\n")
    (tmp_path / "e.txt").write_text(EDGES)
    there = server.address.replace("e.txt", "g.h5")
    code, _, err = run("graph", "import", tmp_path / "e.txt", "--out", there)
    assert code == 3 and f"cannot write {there}: s3:// and gs:// take files" in err


def test_a_bucket_takes_artifacts_and_gives_them_back(good, run, tmp_path, monkeypatch) -> None:
    """Graph and seeds are only in a bucket, and equal those in files."""
    pytest.importorskip("s3fs", reason="needs gpukit[cloud]")
    moto = pytest.importorskip("moto.server", reason="needs moto[server]")
    boto3 = pytest.importorskip("boto3", reason="needs boto3")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    running = moto.ThreadedMotoServer("127.0.0.1", 0)
    running.start()
    place = "http://127.0.0.1:{1}".format(*running.get_host_and_port())
    known = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
    for name, value in {**known, "AWS_ENDPOINT_URL": place}.items():
        monkeypatch.setenv(name, value)
    try:
        store = boto3.client("s3", endpoint_url=place)
        store.create_bucket(Bucket="mine")
        store.put_object(Bucket="mine", Key="e.txt", Body=EDGES.encode())
        (tmp_path / "e.txt").write_text(EDGES)
        for source, folder in ((tmp_path / "e.txt", tmp_path), ("s3://mine/e.txt", "s3://mine")):
            good("graph", "import", source, "--out", f"{folder}/g.h5")
            good("gim", "run", f"{folder}/g.h5", "-k", 2, "--device", "cpu", "--out", f"{folder}/s.h5")
            good("verify", f"{folder}/g.h5", f"{folder}/s.h5")
        for name in ("g.h5", "s.h5"):
            assert store.get_object(Bucket="mine", Key=name)["Body"].read() == (tmp_path / name).read_bytes()
        seeds = gk.load("s3://mine/s.h5")
        assert seeds.seeds == gk.load(str(tmp_path / "s.h5")).seeds
        seeds.save("s3://mine/again.h5")
        assert gk.load("s3://mine/again.h5") == seeds
        taken = ("gim", "run", "s3://mine/g.h5", "-k", 2, "--device", "cpu", "--out", "s3://mine/g.h5")
        code, _, err = run(*taken)
        assert code == 2 and "s3://mine/g.h5 exists, and is an artifact of kind graph" in err
        store.put_object(Bucket="mine", Key="notes", Body=b"not ours")
        code, _, err = run(*taken[:-1], "s3://mine/notes")
        assert code == 2 and "s3://mine/notes exists, and is no artifact" in err
        good(*taken[:-1], "s3://mine/s.h5")
        good(*taken[:-1], "s3://mine/notes", "--force")
        code, _, err = run("gim", "run", "s3://mine/none.h5", "-k", 2, "--out", tmp_path / "t.h5")
        assert code == 3 and "cannot read s3://mine/none.h5: there is no such file" in err
    finally:
        running.stop()


def test_a_bucket_of_google_takes_artifacts_too(good, run, tmp_path, monkeypatch) -> None:
    pytest.importorskip("gcsfs", reason="needs gpukit[cloud]")
    emulator = pytest.importorskip("gcp_storage_emulator.server", reason="needs gcp-storage-emulator")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    running = emulator.create_server("127.0.0.1", 0, in_memory=True, default_bucket="mine")
    running.start()
    try:
        place = f"http://127.0.0.1:{running._api._httpd.server_port}"
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", place)
        (tmp_path / "e.txt").write_text(EDGES)
        for folder in (str(tmp_path), "gs://mine"):
            good("graph", "import", tmp_path / "e.txt", "--out", f"{folder}/g.h5")
            good("gim", "run", f"{folder}/g.h5", "-k", 2, "--device", "cpu", "--out", f"{folder}/s.h5")
            good("verify", f"{folder}/g.h5", f"{folder}/s.h5")
        assert gk.load("gs://mine/s.h5") == gk.load(str(tmp_path / "s.h5"))
        code, _, err = run("gim", "run", "gs://mine/g.h5", "-k", 2, "--device", "cpu", "--out", "gs://mine/g.h5")
        assert code == 2 and "gs://mine/g.h5 exists, and is an artifact of kind graph" in err
        code, _, err = run("gim", "run", "gs://mine/none.h5", "-k", 2, "--out", tmp_path / "t.h5")
        assert code == 3 and "cannot read gs://mine/none.h5: there is no such file" in err
    finally:
        running.stop()


def test_without_the_extra_an_output_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(remote, "_system", lambda address: None)
    star = gk.from_edges(["hub"] * 3, ["a", "b", "c"], weights="const:1")
    with pytest.raises(InputError, match=r"^cannot write s3://b/x.h5; install gpukit\[cloud\], or name a file$"):
        star.save("s3://b/x.h5")


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("s3:/b/x", "s3://b/x"),
        (Path("https://x.org/e.txt"), "https://x.org/e.txt"),
        ("gs://b/x", "gs://b/x"),
        ("s3", None),
        ("s3:", None),
        ("C:/x", None),
        ("ftp://x/y", None),
    ],
)
def test_what_is_an_address(path, address) -> None:
    assert remote.address_of(path) == address
