"""``data: real``: graphs come from a server on this machine, whole, cut or altered, into a checkout that knows it."""

import gzip
import http.server
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]
ROOT = Path(__file__).resolve().parents[2]
LINES = b"".join(b"%d %d\n" % (u, (u * u + 3 * d) % 900) for u in range(900) for d in (1, 2, 3, 4))
GOOD = gzip.compress(LINES, mtime=0)
OTHER = gzip.compress(LINES.replace(b"5 ", b"6 "), mtime=0)
SHORT = gzip.compress(LINES[: LINES.index(b"\n", len(LINES) // 2) + 1], mtime=0)


class Server:
    """Serves one file under a version; ``cut`` is how many bytes of it come before the line breaks off."""

    def __init__(self):
        self.body, self.tag, self.cut, self.asked = GOOD, '"1"', None, 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked += 1
                wanted = self.headers.get("Range") if self.headers.get("If-Range") == outer.tag else None
                first = int(wanted[6:-1]) if wanted else 0
                self.send_response(206 if wanted else 200)
                self.send_header("Content-Length", str(len(outer.body) - first))
                self.send_header("ETag", outer.tag)
                if wanted:
                    self.send_header("Content-Range", f"bytes {first}-{len(outer.body) - 1}/{len(outer.body)}")
                self.end_headers()
                self.wfile.write(outer.body[first : outer.cut])

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_port}/toy.txt.gz"


@pytest.fixture(scope="module")
def server():
    one = Server()
    yield one
    one.http.shutdown()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory, server):
    """Return a checkout whose catalogue has the server's graph and one that is gone; it takes plain HTTP from here."""
    root = tmp_path_factory.mktemp("checkout")
    for name in ("gpukit", "workflow", "envs", "config", "profiles", "snakemake_logger_plugin_gpukit"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Snakefile", root)
    transfer = root / "gpukit/datasets/transfer.py"
    text = transfer.read_text()
    assert text.count("LOOPBACK = False") == 1
    transfer.write_text(text.replace("LOOPBACK = False", "LOOPBACK = True"))
    toy = {"title": "a toy", "n": 900, "m": 3600, "directed": True, "used_by": {}, "licence": "none"}
    gone = toy | {"note": "its server was switched off"}
    catalogue = {"datasets": {"toy": toy | {"url": server.url}, "gone": gone}}
    (root / "config/datasets.yaml").write_text(yaml.safe_dump(catalogue))
    return root


@pytest.fixture
def build(checkout, server, tmp_path):
    """Return what builds the graph in a folder of its own, with one record of digests for all; and what was said."""
    server.body, server.tag, server.cut = GOOD, '"1"', None
    graphs = [
        {"name": "com-Orkut", "real": "toy", "generate": "er --vertices 60 --edges 300"},
        {"name": "soc-Pokec", "real": "gone", "generate": "er --vertices 60 --edges 300"},
    ]
    mine = {"paper": "gim", "experiments": {"table-2": {"methods": ["gim"], "k": [3]}}}
    mine["scales"] = {"smoke": {"graphs": graphs}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(mine))

    def run(folder="results", data="real"):
        words = ["-m", "snakemake", "-s", str(checkout / "Snakefile"), "--cores", "1", "--show-failed-logs"]
        words += ["--configfile", "mine.yaml", "--config", f"data={data}", f"results={folder}"]
        done = subprocess.run(
            [sys.executable, *words, "--", f"{folder}/graphs/com-Orkut.h5", f"{folder}/graphs/soc-Pokec.h5"],
            cwd=tmp_path,
            env=os.environ | {"XDG_DATA_HOME": str(tmp_path / "data"), "PYTHONPATH": str(checkout)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout

    return run, tmp_path


def test_a_good_file_is_imported_and_what_cannot_be_had_is_named(build, server):
    run, folder = build
    code, text = run()
    assert code == 0, text
    assert "soc-Pokec stays a stand-in: its server was switched off" in text and "com-Orkut stays" not in text
    records = [(folder / f"results/graphs/{name}.json").read_text() for name in ("com-Orkut", "soc-Pokec")]
    assert '"n": 900' in records[0] and '"generator"' not in records[0] and '"generator"' in records[1]
    (known,) = (folder / "data/gpukit/fetched").glob("toy-*.sha256")
    before, asked = known.read_text(), server.asked
    # Elsewhere the file is fetched anew and compared; another one of the same numbers of vertices and lines is refused.
    assert run("again")[0] == 0 and server.asked == asked + 1 and known.read_text() == before
    server.body, server.tag = OTHER, '"2"'
    code, text = run("altered")
    assert code == 1 and f"but had {before.strip()} when it was first fetched" in " ".join(text.split())
    assert not (folder / "altered/graphs/com-Orkut.h5").exists()


def test_a_cut_file_is_no_graph_and_is_gone_on_with(build, server):
    run, folder = build
    server.cut = 1000
    code, text = run()
    assert code == 1 and "run again to go on after 1000 bytes" in " ".join(text.split())
    assert not list((folder / "results/graphs").glob("com-Orkut*"))
    server.cut = None
    code, text = run()
    assert code == 0, text


def test_a_file_of_another_size_is_refused_at_the_first_time(build, server):
    run, folder = build
    server.body = SHORT
    code, text = run()
    assert code == 1 and "edge lines, but toy has 900 and 3,600" in " ".join(text.split())
    assert not list((folder / "results/graphs").glob("com-Orkut*"))


def test_a_local_copy_goes_before_a_download_and_has_the_size_of_the_catalogue(build, server, monkeypatch):
    run, folder = build
    monkeypatch.setenv("GPUKIT_DATA", str(folder / "copies"))
    (folder / "copies").mkdir()
    # What no server has is taken, too; a copy of another size is refused.
    (folder / "copies/gone.txt.gz").write_bytes(GOOD)
    (folder / "copies/toy-short.txt.gz").write_bytes(SHORT)
    asked = server.asked
    code, text = run()
    assert code == 1 and "edge lines, but toy has 900 and 3,600" in " ".join(text.split()) and "a stand-in" not in text
    (folder / "copies/toy-short.txt.gz").write_bytes(GOOD)
    code, text = run("again")
    assert code == 0 and server.asked == asked, text
    assert '"generator"' not in (folder / "again/graphs/soc-Pokec.json").read_text()


def test_without_the_switch_nothing_is_fetched(build, server):
    run, _ = build
    asked = server.asked
    code, text = run(data="stand-ins")
    assert code == 0 and server.asked == asked and "stays a stand-in" not in text, text
