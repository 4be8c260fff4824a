"""Load test of ``gpukit kpar serve``: many clients, bad requests, cut connections and kills, on this machine alone.

    python benchmarks/serve_load.py G.h5 IRW.h5 --minutes 10 --clients 64

The answers of a pool of queries are computed first, by another path (one query at a time, no server). Then clients
ask over the loopback, each in a loop: good requests (JSON and Arrow), bad ones, and some that they cut. After a third
of the time the server is killed (SIGKILL), after half of it ended (SIGTERM, which must exit with 0), and started again.
Every answer must be the one expected, to the last digit; every bad request must get its status and one line of JSON;
no connection may fail but while the server is down, and none may be left open in the end; memory may not grow in the
last 30 % of the time. Prints one JSON object, and exits with 1 if something was wrong.
"""

import argparse
import atexit
import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import gpukit as gk
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.papers.cli.bench_record import command_line

POOL = 200
GROWTH = 1.05
"""Resident memory at the end over that after seven tenths of the time, at most; 16 MiB more are allowed."""
OWN_SOCKETS = 3
"""Of a server without connections: the one it listens at, and two by which its loop wakes itself."""
BAD = (
    ("POST", "/v1/topk", b"{", 400),
    ("POST", "/v1/topk", b'{"sources": [], "k": 3}', 400),
    ("POST", "/v1/topk", b'{"sources": [1], "k": 1000000000}', 400),
    ("POST", "/v1/topk", b'{"sources": [{}]}', 400),
    ("POST", "/v1/topk", b"[" * 20_000, 400),
    ("POST", "/v1/topk", b'{"sources": [9223372036854775807]}', 422),
    ("POST", "/v1/topk", b" " * (1 << 20) + b"{}", 413),
    ("GET", "/v1/topk", b"", 405),
    ("GET", "/no/such/path", b"", 404),
)


class Server:
    """A server process, which can be killed and started again on its port."""

    def __init__(self, graph, index, threads):
        self.words = [sys.executable, "-m", "gpukit.cli.app", "kpar", "serve", graph, "--index", index]
        self.words += ["--device", "cpu", "--json"]
        self.words += ["--threads", str(threads)] if threads else []
        self.port, self.down = 0, threading.Event()
        self.start()

    def start(self):
        """Start it and wait until it listens."""
        self.process = subprocess.Popen(
            [*self.words, "--port", str(self.port)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        atexit.register(self.process.kill)  # a test that breaks off leaves no server behind
        for line in self.process.stderr:
            if found := re.search(r"serving on http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found.group(1))
                break
        else:
            raise SystemExit("the server did not start")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.down.clear()

    def end(self, number):
        """Send a signal and return the exit code."""
        self.down.set()
        self.process.send_signal(number)
        return self.process.wait(30)

    def resident(self):
        """Return resident bytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def left(self, seconds=10):
        """Return how many connections are open in the end; some time may pass until they are closed."""
        for _ in range(10 * seconds):
            links = []
            for one in Path(f"/proc/{self.process.pid}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError):  # closed since it was listed
                    links.append(os.readlink(one))
            if not (left := sum(link.startswith("socket:") for link in links) - OWN_SOCKETS):
                break
            time.sleep(0.1)
        return left


@dataclass
class Counts:
    """What the clients saw."""

    good: int = 0
    bad: int = 0
    cut: int = 0
    retried: int = 0
    wrong: list = field(default_factory=list)
    seconds: list = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def pool_of(graph, index, k, seed):
    """Return requests (sources) and the answers that they must get."""
    choice, vertices = random.Random(seed), index.graph.vertices
    asked = []
    for number in range(POOL):
        several = {v: choice.randint(1, 9) for v in choice.sample(vertices, min(len(vertices), choice.randint(2, 30)))}
        asked.append(choice.choice(vertices) if number % 2 else several)
    return [(one, index.top_k(one, k)) for one in asked]


def expected(answer):
    """Return an answer as the server writes it."""
    nodes, scores = zip(*answer.best, strict=True)
    return {"nodes": list(nodes), "scores": list(scores), "certain": answer.certain[0]}


class Client(threading.Thread):
    """One client: asks until the end, and looks at every answer."""

    def __init__(self, number, server, pool, k, counts, over):
        super().__init__(daemon=True)
        self.choice, self.server, self.pool, self.k = random.Random(number), server, pool, k
        self.counts, self.over, self.connection = counts, over, None

    def run(self):
        """Ask until the end."""
        while not self.over.is_set():
            kind = self.choice.random()
            try:
                if kind < 0.9:
                    self.good(arrow=kind < 0.1)
                elif kind < 0.95:
                    self.bad()
                else:
                    self.cut()
            except (OSError, http.client.HTTPException) as error:
                self.drop()
                self.failed(error)
        self.drop()

    def drop(self):
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def failed(self, error):
        """Bear a failure that a server that is down explains."""
        if self.over.is_set():
            return
        for _ in range(10):
            if self.server.down.is_set():
                break
            time.sleep(0.05)  # a kill shows here before it does there
        else:
            self.told(f"{type(error).__name__}: {error}")
        with self.counts.lock:
            self.counts.retried += 1
        time.sleep(0.1)

    def told(self, line):
        """Note what was wrong."""
        with self.counts.lock:
            self.counts.wrong.append(line)

    def ask(self, method, path, body, accept="application/json"):
        """Return status and body of the answer to a request."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        self.connection.request(method, path, body, {"Accept": accept, "Content-Type": "application/json"})
        response = self.connection.getresponse()
        return response.status, response.read()

    def good(self, arrow):
        """Ask for some of the pool, and compare."""
        some = self.choice.choices(self.pool, k=self.choice.choice((1, 1, 1, 5)))
        sources = [{str(v): w for v, w in one.items()} if isinstance(one, dict) else one for one, _ in some]
        body = json.dumps({"k": self.k, "sources": sources}).encode()
        began = time.perf_counter()
        status, answer = self.ask("POST", "/v1/topk", body, "application/vnd.apache.arrow.stream" if arrow else "*/*")
        took = time.perf_counter() - began
        found = None if status != 200 else read_arrow(answer) if arrow else json.loads(answer)["results"]
        if found != [expected(one) for _, one in some]:
            self.told(f"status {status}, {str(answer)[:200]} for {str(sources)[:200]}")
        with self.counts.lock:
            self.counts.good += 1
            self.counts.seconds.append(took)

    def bad(self):
        """Ask what must be refused."""
        method, path, body, wanted = self.choice.choice(BAD)
        try:
            status, answer = self.ask(method, path, body)
        except BrokenPipeError:
            if wanted != 413:
                raise
            self.drop()
            return  # refused before all of it was sent
        error = json.loads(answer)
        if status != wanted or error.keys() != {"error"} or "\n" in error["error"] or "Traceback" in error["error"]:
            self.told(f"{method} {path} {body[:40]!r}: status {status}, {answer[:200]!r}")
        if status == 413:
            self.drop()
        with self.counts.lock:
            self.counts.bad += 1

    def cut(self):
        """Ask, or half ask, and go."""
        with socket.create_connection(("127.0.0.1", self.server.port), 60) as raw:
            body = json.dumps({"k": self.k, "sources": [self.pool[0][0] if self.choice.random() < 0.5 else 1]})
            sent = f"POST /v1/topk HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
            raw.sendall(sent[: self.choice.randint(1, len(sent))])
        with self.counts.lock:
            self.counts.cut += 1


def read_arrow(answer):
    """Return the answers in a stream of Arrow as JSON has them."""
    import pyarrow

    table = pyarrow.ipc.open_stream(answer).read_all().to_pydict()
    columns = {"nodes": "vertex", "scores": "score", "certain": "certain"}
    found = [{key: [] for key in columns} for _ in range(max(table["query"]))]
    for key, column in columns.items():
        for query, value in zip(table["query"], table[column], strict=True):
            found[query - 1][key].append(value)
    return found


def load(graph, index, *, seconds, clients, k=10, threads=None, least=10):
    """Run the test and return its record; ``wrong`` lists what was.

    Each of its four phases takes its share of the seconds, and more where fewer than ``least`` good answers came.
    """
    opened = gk.load(index, graph=gk.read_graph(graph), device="cpu")
    k = min(k, opened.graph.n)
    pool, counts, over = pool_of(graph, opened, k, seed=1), Counts(), threading.Event()
    server = Server(str(graph), str(index), threads)
    began = time.monotonic()
    asking = [Client(i, server, pool, k, counts, over) for i in range(clients)]
    for one in asking:
        one.start()

    def wait(share):
        before, patience = counts.good, time.monotonic() + 120
        while time.monotonic() < began + share * seconds or counts.good < before + least:
            if time.monotonic() > max(patience, began + seconds + 120):
                counts.wrong.append(f"fewer than {least} good answers until {share:.2f} of the time")
                return
            time.sleep(0.02)

    wait(1 / 3)
    server.end(signal.SIGKILL)
    server.start()
    wait(1 / 2)
    if (code := server.end(signal.SIGTERM)) != 0:
        counts.wrong.append(f"SIGTERM: exit code {code}")
    server.start()
    memory = []
    for share in (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1):
        wait(share)
        memory.append(server.resident())
    over.set()
    took_s = time.monotonic() - began
    for one in asking:
        one.join(60)
    left = server.left()
    if memory[-1] > GROWTH * memory[0] + (16 << 20):
        counts.wrong.append(f"resident memory grew from {memory[0] >> 20} to {memory[-1] >> 20} MiB")
    if left:
        counts.wrong.append(f"{left} connections were left open")
    health = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    health.request("GET", "/health")
    if (status := health.getresponse().status) != 200:
        counts.wrong.append(f"/health is {status} in the end")
    health.close()
    server.end(signal.SIGTERM)
    took = sorted(counts.seconds)
    return {
        "seconds": round(took_s, 1), "clients": clients, "k": k,
        "good": counts.good, "bad": counts.bad, "cut": counts.cut,
        "kills": 1, "graceful_ends": 1, "retried_while_down": counts.retried, "wrong": counts.wrong[:20],
        "requests_a_second": round(len(took) / took_s, 1),
        "ms": {name: round(1e3 * took[int(len(took) * share)], 2) for name, share in (("p50", 0.5), ("p99", 0.99))},
        "resident_mib": [size >> 20 for size in memory], "connections_left": left,
    }  # fmt: skip


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("index")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--threads", type=int)
    parser.add_argument("-k", type=int, default=10)
    given = parser.parse_args()
    record = load(
        given.graph, given.index, seconds=60 * given.minutes, clients=given.clients, k=given.k, threads=given.threads
    )
    graph = gk.read_graph(given.graph)
    about = {
        "benchmark": "kpar-serve-load",
        "command": command_line("python benchmarks/serve_load.py", sys.argv[1:]),
        "device": choose("cpu", threads=given.threads).record(),
        "versions": versions(),
        "graph": {"name": Path(given.graph).stem, "n": graph.n, "m": graph.m},
    }
    print(json.dumps({**about, **record}, indent=1))
    sys.exit(bool(record["wrong"]))


if __name__ == "__main__":
    main()
