"""``gpukit kpar serve``: answers of `kpar query`, errors that are lines of JSON, limits, and a short load test."""

import asyncio
import json
import subprocess
import sys

import numpy as np
import pytest

import gpukit as gk
from gpukit.api.pagerank_update import Follower
from gpukit.api.resident import open_files
from gpukit.artifacts import write_graph
from gpukit.cli.app import main
from gpukit.device.select import choose
from gpukit.errors import UsageError
from gpukit.graph.build import build_graph
from gpukit.kpar.engine import Engine
from gpukit.kpar.query.answer import Prepared

pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")
pyarrow = pytest.importorskip("pyarrow")

from gpukit.cli.kpar import serve_app  # noqa: E402
from gpukit.cli.kpar.serve_app import ARROW, Limits, Served, Service  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A graph whose original ids are not its internal ones, one with names, and an index of each."""
    folder = tmp_path_factory.mktemp("serve")
    u, v = 10 * np.random.default_rng(4).integers(1, 60, (2, 300))
    write_graph(folder / "G.h5", build_graph(u, v))
    (folder / "e.csv").write_text("ann,bob\nbob,Zoë\nZoë,ann\nbob,ann\n")
    assert main(["graph", "import", str(folder / "e.csv"), "--out", str(folder / "names.h5")]) == 0
    for name in ("G", "names"):
        words = ["kpar", "index", str(folder / f"{name}.h5"), "--out", str(folder / f"{name}-I.h5"), "--device", "cpu"]
        assert main(words) == 0
    return folder


class Server:
    """A service, asked as a server would ask it, without a network."""

    def __init__(self, folder, name, **limits):
        files = open_files(folder / f"{name}.h5", folder / f"{name}-I.h5")
        device = choose("cpu", 1, 2)
        self.engine, self.stopping = Engine(device, files.on(device), refine=True), False
        allowed = Limits(**{"body": 4096, "k": 20, "sources": 50, **limits})
        graph = files.prepared.graph
        self.service = Service(Served(graph, self.engine, allowed, {"index": "x"}, lambda: self.stopping))
        self.app = self.service.app()

    def raw(self, method, path, body=b"", headers=(), cut=False):
        """Return status, headers and body of an answer; ``body`` is one piece or several, or all before a cut."""
        pieces = [body] if isinstance(body, bytes) else list(body)
        sent, heads = [], [(name.encode(), value.encode()) for name, value in headers]
        scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
        scope |= {"headers": heads, "http_version": "1.1", "scheme": "http", "server": ("x", 1), "client": ("y", 2)}

        async def receive():
            if not pieces:
                return {"type": "http.disconnect"}
            piece = pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": cut or bool(pieces)}

        async def send(message):
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        start, *rest = sent
        head = {name.decode(): value.decode() for name, value in start["headers"]}
        return start["status"], head, b"".join(one.get("body", b"") for one in rest)

    def ask(self, asked, **more):
        status, _, body = self.raw("POST", "/v1/topk", json.dumps(asked).encode(), **more)
        return status, json.loads(body)


@pytest.fixture(scope="module")
def server(folder):
    server = Server(folder, "G")
    yield server
    server.engine.close()


def opened(folder, name="G"):
    return gk.load(folder / f"{name}-I.h5", graph=gk.read_graph(folder / f"{name}.h5"), device="cpu")


def as_json(answer):
    ((best, certain),) = zip(answer, answer.certain, strict=True)
    return {"nodes": [vertex for vertex, _ in best], "scores": [score for _, score in best], "certain": certain}


def test_answers_are_those_of_the_index(server, folder):
    index = opened(folder)
    some = [*index.graph.vertices[:12], {20: 3, 30: 1, 40: 7}]
    status, found = server.ask(
        {"k": 7, "sources": [{str(v): w for v, w in one.items()} if isinstance(one, dict) else one for one in some]}
    )
    assert status == 200 and found == {"k": 7, "results": [as_json(index.top_k(one, 7)) for one in some]}
    assert server.ask({"sources": ["20"]}) == (200, {"k": 10, "results": [as_json(index.top_k(20, 10))]})


def test_weights_count_by_their_ratios(server, folder, record):
    """Decimals as they are written, which binary numbers would not be, on the server, in commands and in Python."""
    decimals, whole = {20: 0.1, 30: 0.3, 40: 1e-9}, {20: 10**8, 30: 3 * 10**8, 40: 1}
    index = opened(folder)
    fractions, zeros = {20: 0.25, 30: 0.5}, {50: 0, 20: 1, 30: 2, 40: 0.0}  # a weight of 0 is none
    for one, other in ((decimals, whole), (fractions, {20: 1, 30: 2}), (fractions, zeros)):
        found = as_json(index.top_k(one, 5))
        assert found == as_json(index.top_k(other, 5))
        for weights in (one, other):
            asked = {str(vertex): weight for vertex, weight in weights.items()}
            assert server.ask({"k": 5, "sources": [asked]}) == (200, {"k": 5, "results": [found]})
            words = ",".join(f"{vertex}:{weight}" for vertex, weight in weights.items())
            query = ("kpar", "query", folder / "G.h5", "--index", folder / "G-I.h5", "--source", words, "-k", 5)
            (result,) = record(*query, "--device", "cpu")["results"]
            assert {key: result[key] for key in found} == found


def test_the_best_among_some_vertices(server, folder, record):
    """The answer of `kpar query --among`, whatever the other queries; k is at most the number of these vertices."""
    some = opened(folder).graph.vertices[::4]
    words = ("--source", "20", "--among", ",".join(map(str, some)), "--device", "cpu")
    (wanted,) = record("kpar", "query", folder / "G.h5", "--index", folder / "G-I.h5", "-k", 6, *words)["results"]
    found = server.ask({"k": 6, "sources": [20, "30"], "among": [str(some[0]), *some[1:]]})[1]["results"]
    assert found[0] == {key: wanted[key] for key in ("nodes", "scores", "certain")}
    assert set(found[1]["nodes"]) <= set(some) and len(found[1]["nodes"]) == 6
    assert found[0] != server.ask({"k": 6, "sources": [20]})[1]["results"][0]
    assert server.ask({"sources": [20], "among": some[:3]})[1]["k"] == 3
    code, found = server.ask({"k": 4, "sources": [20], "among": some[:3]})
    assert code == 400 and found["error"] == "k is 4; 1 to 3 (the vertices that answers may name) are allowed here"


def test_names_go_in_and_out(folder, monkeypatch):
    index = opened(folder, "names")
    for kept in (serve_app._NAMES_KEPT, 0):
        monkeypatch.setattr(serve_app, "_NAMES_KEPT", kept)
        server = Server(folder, "names")
        assert server.ask({"k": 2, "sources": ["Zoë"]})[1]["results"] == [as_json(index.top_k("Zoë", 2))]
        among = server.ask({"k": 1, "sources": ["Zoë"], "among": ["bob"]})[1]["results"]
        assert among == [as_json(index.top_k("Zoë", 1, among=["bob"]))]
        status, found = server.ask({"sources": ["nobody"]})
        assert status == 422 and "'nobody' is not in the graph" in found["error"]
        for wrong, shown in ((1, "1"), (None, "None"), (0, "0"), (0.0, "0.0"), (False, "False"), ([], "[]")):
            line = {"error": f"{shown} is no name; the vertices of this graph are named by texts"}
            for asked in ({"sources": [wrong]}, {"sources": ["ann", wrong]}, {"sources": ["ann"], "among": [wrong]}):
                assert server.ask(asked) == (400, line)
        table = pyarrow.ipc.open_stream(
            server.raw("POST", "/v1/topk", b'{"k": 1, "sources": ["ann"]}', [("accept", ARROW)])[2]
        )
        assert table.read_all()["vertex"].to_pylist() == [index.top_k("ann", 1).vertices[0]]
        server.engine.close()


def test_arrow_has_the_answers_of_json(server):
    body = json.dumps({"k": 6, "sources": [20, 30, 5 * 10]}).encode()
    _, head, streamed = server.raw("POST", "/v1/topk", body, [("accept", ARROW)])
    table = pyarrow.ipc.open_stream(streamed).read_all().to_pylist()
    results = json.loads(server.raw("POST", "/v1/topk", body)[2])["results"]
    rows = [
        {"query": q, "place": p, "vertex": v, "score": s, "certain": c}
        for q, one in enumerate(results, 1)
        for p, (v, s, c) in enumerate(zip(one["nodes"], one["scores"], one["certain"], strict=True), 1)
    ]
    assert head["content-type"] == ARROW and table == rows


WRONG = [
    (b"{", 400, "no JSON"),
    (b'{"sources": [20], "among": []}', 400, "among must be a list of one vertex or more"),
    (b'{"sources": [20], "among": 30}', 400, "among must be a list of one vertex or more"),
    (b'{"sources": [20], "among": null}', 400, "among must be a list of one vertex or more"),
    (b'{"sources": [20], "among": [{"30": 1}]}', 400, "is no vertex"),
    (b'{"sources": [20], "among": [30, 40, "30"]}', 400, "among: vertex 30 is given twice"),
    (b'{"sources": [20], "among": [30, 5]}', 422, "is not in the graph"),
    (b'{"sources": [20], "among": [' + b"20," * 49 + b"20]}", 400, "51 vertices are named; 50"),
    (b"[1]", 400, "no JSON object"),
    (b"[" * 3000, 400, "no JSON"),
    (b'{"sources": [20], "sources": [30]}', 400, "stands twice"),
    (b'{"sources": [{"20": NaN}]}', 400, "no JSON"),
    (b'{"sources": [20], "depth": "end"}', 400, "'depth' is unknown"),
    (b'{"k": 3}', 400, "sources must be a list"),
    (b'{"sources": []}', 400, "sources must be a list"),
    (b'{"sources": 20}', 400, "sources must be a list"),
    (b'{"k": 0, "sources": [20]}', 400, "k is 0; 1 to 20 are allowed"),
    (b'{"k": 21, "sources": [20]}', 400, "k is 21"),
    (b'{"k": true, "sources": [20]}', 400, "k is True"),
    (b'{"k": 2.5, "sources": [20]}', 400, "k is 2.5"),
    (b'{"sources": [true]}', 400, "is no vertex"),
    (b'{"sources": ["x"]}', 400, "is no vertex"),
    (b'{"sources": [null]}', 400, "is no vertex"),
    (b'{"sources": [[20]]}', 400, "is no vertex"),
    (b'{"sources": [{}]}', 400, "a source is {}"),
    (b'{"sources": [{"20": 0, "30": 0.0}]}', 400, "every weight of a source is 0"),
    (b'{"sources": [{"20": -1}]}', 400, "numbers from 1e-300 to 1e300"),
    (b'{"sources": [{"20": "1"}]}', 400, "numbers from 1e-300 to 1e300"),
    (b'{"sources": [{"20": 1e999}]}', 400, "numbers from 1e-300 to 1e300"),
    (b'{"sources": [{"20": 1e' + b"9" * 30 + b"}]}", 400, "no JSON"),
    (b'{"sources": [{"20": 0.' + b"3" * 31 + b"}]}", 400, "at most 30 digits"),
    (b'{"sources": [' + b"20," * 50 + b"20]}", 400, "51 vertices are named; 50"),
    (b'{"sources": [9223372036854775808]}', 422, "is not in the graph"),
    (b'{"sources": [-1]}', 422, "is not in the graph"),
    (b'{"sources": [5]}', 422, "is not in the graph"),
    (b" " * 5000, 413, "longer than 4,096 bytes"),
    (b"\xff\xfe", 400, "no JSON"),
]


@pytest.mark.parametrize(("body", "wanted", "says"), WRONG)
def test_errors_are_one_line_of_json(server, body, wanted, says):
    halves = [body[: len(body) // 2], body[len(body) // 2 :]]
    for given, headers in ((body, [("content-length", str(len(body)))]), (halves, [])):
        status, head, answer = server.raw("POST", "/v1/topk", given, headers)
        error = json.loads(answer)
        assert (status, head["content-type"], list(error)) == (wanted, "application/json", ["error"])
        assert says in error["error"] and "\n" not in error["error"] and len(error["error"]) < 300


def test_other_paths_and_methods(server):
    others = (("POST", "/v1/topk/", 404), ("GET", "/health/", 404), ("GET", "/" + "x" * 5000, 404))
    for method, path, wanted in (("GET", "/v1/topk", 405), ("POST", "/health", 405), *others):
        status, head, answer = server.raw(method, path)
        assert status == wanted and "POST /v1/topk" in json.loads(answer)["error"] and len(answer) < 300
    assert head.get("allow") is None and server.raw("GET", "/v1/topk")[1]["allow"] == "POST"


def test_a_client_that_goes_costs_nothing(server):
    before = server.service.queries
    status, _, answer = server.raw("POST", "/v1/topk", b'{"sources": [20', cut=True)
    assert (status, json.loads(answer)) == (499, {"error": "the client is gone"})
    assert (server.engine.waiting, server.service.queries) == (0, before)


def test_health_metrics_and_the_end(folder):
    server = Server(folder, "G")
    assert json.loads(server.raw("GET", "/health")[2]) == {"status": "ok", "index": "x"}
    server.ask({"sources": [20, 30]})
    server.ask({"sources": []})
    text = server.raw("GET", "/metrics")[2].decode()
    assert 'gpukit_requests_total{path="/v1/topk",status="200"} 1.0' in text and "gpukit_queries_total 2.0" in text
    assert 'gpukit_requests_total{path="/v1/topk",status="400"} 1.0' in text and "gpukit_waiting_queries 0.0" in text
    assert (server.service.requests, server.service.queries) == (4, 2)
    server.stopping = True
    assert server.raw("GET", "/health")[0] == 503
    server.engine.close()
    status, head, body = server.raw("POST", "/v1/topk", b'{"sources": [20]}')
    assert (status, head["retry-after"]) == (503, "1") and "closed" in json.loads(body)["error"]


def test_a_full_queue_and_a_defect_have_their_codes(folder, monkeypatch):
    server = Server(folder, "G")
    monkeypatch.setattr(server.engine, "_capacity", 1)
    assert server.ask({"sources": [20, 30]})[0] == 503
    monkeypatch.setattr(server.engine, "submit", lambda *_: 1 // 0)
    status, found = server.ask({"sources": [20]})
    assert status == 500 and found["error"].startswith("ZeroDivisionError") and "\n" not in found["error"]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert server.raw("POST", "/v1/topk", b"{}", [("accept", ARROW)])[0] == 406
    server.engine.close()


def test_wrong_use_is_a_line(run, folder, monkeypatch):
    words = ("kpar", "serve", folder / "G.h5", "--index")
    code, _, err = run(*words, folder / "names-I.h5")
    assert code == 3 and "was made on another graph" in err
    code, _, err = run(*words, folder / "G-I.h5", "--port", 65536)
    assert code == 2 and "--port is 65536" in err
    code, _, err = run(*words, folder / "G-I.h5", "--host", "192.0.2.1", "--device", "cpu")
    assert code == 3 and "cannot listen on 192.0.2.1:8750" in err
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = run(*words, folder / "G-I.h5")
    assert code == 2 and "needs the package uvicorn; install gpukit[serve]" in err


@pytest.mark.long
class Following(Server):
    """A service whose graph changes: of three names, with weights up to 4."""

    def __init__(self):
        graph = gk.from_edges(["ann", "bob"], ["bob", "cy"], [1, 2], undirected=True, scale="4")
        index = gk.PageRankIndex(graph, weighted=True, updatable=True)
        device, prepared = choose("cpu", 1, 2), Prepared.of(graph.csr, index._index)
        self.engine, self.stopping = Engine(device, [prepared], refine=True), False
        follower = Follower(graph, index._index, 2)
        served = Served(graph.csr, self.engine, Limits(4096, 20, 50), {}, lambda: self.stopping, follower)
        self.service, self.index = Service(served), index
        self.app = self.service.app()

    def json(self, method, path, body):
        """Return status and answer."""
        status, _, said = self.raw(method, path, json.dumps(body).encode())
        return status, json.loads(said)


def test_edges_come_and_go(folder):
    server = Following()
    ask = {"k": 3, "sources": ["ann", {"cy": 1, "bob": 2}]}
    assert server.json("POST", "/v1/topk", ask)[1]["version"] == 0
    steps = [
        ("POST", {"vertices": ["dan"], "edges": [["dan", "ann", 4], ["ann", "cy", 0.5]]},
         {"add_vertices": ["dan"], "add": [("dan", "ann", 4), ("ann", "cy", 0.5)]}),
        ("PATCH", {"edges": [["ann", "bob", 3]]}, {"set_weights": [("ann", "bob", 3)]}),
        ("DELETE", {"edges": [["bob", "cy"]], "vertices": ["dan"]},
         {"remove": [("bob", "cy")], "remove_vertices": ["dan"]}),
        ("POST", {"edges": [["ann", "bob", 1]]}, {"add": [("ann", "bob", 1)]}),
    ]  # fmt: skip
    for version, (method, body, change) in enumerate(steps, 1):
        status, done = server.json(method, "/v1/edges", body)
        expected = server.index.update(**change)._asdict()
        assert (status, done) == (200, {**expected, "version": min(version, 3)})  # the last one changes nothing
        _, answer = server.json("POST", "/v1/topk", ask)
        found = server.index.top_k_many(["ann", {"cy": 1, "bob": 2}], k=3)
        assert [list(zip(one["nodes"], one["scores"], strict=True)) for one in answer["results"]] == found.answers
        assert answer["version"] == min(version, 3)
    arrow = server.raw("POST", "/v1/topk", json.dumps(ask).encode(), [("accept", ARROW)])[2]
    assert pyarrow.ipc.open_stream(arrow).read_all().schema.metadata == {b"version": b"3"}
    assert server.json("POST", "/v1/topk", {"sources": ["dan"]})[0] == 422
    assert server.json("GET", "/health", {})[1]["version"] == 3


@pytest.mark.parametrize(("method", "body", "wanted", "says"), [
    ("POST", {"edge": []}, 400, "'edge' is unknown; give edges and vertices, each a list"),
    ("PATCH", {"vertices": ["x"]}, 400, "'vertices' is unknown; give edges, each a list"),
    ("DELETE", {}, 400, "give edges and vertices"), ("POST", {"vertices": "x"}, 400, "vertices must be a list"),
    ("POST", {"edges": [["ann", "bob"]]}, 400, "and a weight with each"),
    ("POST", {"edges": [["ann", "eve", 1]]}, 422, "vertex 'eve' is not in the graph"),
    ("PATCH", {"edges": [["ann", "bob", 9]]}, 422, "the weight 9 is outside (0, 4]"),
])  # fmt: skip
def test_changes_that_are_refused(method, body, wanted, says):
    server = Following()
    status, said = server.json(method, "/v1/edges", body)
    assert status == wanted and says in said["error"] and "\n" not in said["error"]
    assert server.json("GET", "/health", {})[1]["version"] == 0


def test_a_graph_that_does_not_change(server):
    status, _, said = server.raw("POST", "/v1/edges", b"{}")
    assert status == 409 and b"start it with --updatable" in said


def test_under_load_all_answers_are_right(folder):
    from serve_load import load

    found = load(folder / "G.h5", folder / "G-I.h5", seconds=0, clients=4, k=5)
    assert found["wrong"] == [] and found["good"] >= 80 and found["bad"] + found["cut"] > 0, found


def test_ended_it_prints_what_it_did(folder, promised):
    words = [sys.executable, "-m", "gpukit.cli.app", "kpar", "serve", folder / "G.h5", "--index", folder / "G-I.h5"]
    with subprocess.Popen([*words, "--port", "0", "--json"], stderr=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert any(b"serving on http://127.0.0.1:" in line for line in started.stderr)
        started.terminate()
        record = json.loads(started.stdout.read())
        assert started.wait(20) == 0
    assert promised("kpar serve") == record.keys() - {"params", "graph", "device", "time_s"}


def test_closed_engines_refuse(folder):
    with gk.PageRankIndex.open(folder / "G.h5", folder / "G-I.h5", device="cpu") as index:
        index.top_k(20, 3)
    with pytest.raises(UsageError, match="closed"):
        index.top_k(20, 3)
