"""Measure personalised PageRank as a memory: weighted graphs whose edges, weights and vertices come and go.

    python benchmarks/kpar_memory.py --out benchmarks/results/kpar-memory-cpu.json

``rmat`` times single updates and batches of 10⁴ on a weighted R-MAT of 16 M edges; ``process`` a query after an update
on 12,300 vertices with 51,600 undirected edges, ``http`` the same of 8 clients of a server; ``random`` makes 10⁵ random
updates of five graphs, and compares index and answers with those of one made anew at 50 checkpoints; ``kills`` kills
`gpukit kpar update` at random times, and tests what is left. The program ends with 1 where something is not as it
should be.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gpukit as gk
from gpukit.artifacts.verify import verify
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.files import write_text
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Graph, Weights
from gpukit.graph.generators.attachment import ba
from gpukit.graph.generators.quadrants import rmat
from gpukit.graph.generators.uniform import er
from gpukit.kpar import Prepared, Sources
from gpukit.kpar.index.build import Index
from gpukit.kpar.problem import Params
from gpukit.kpar.rank import rank
from gpukit.kpar.update.changes import NO_EDGES, Edges
from gpukit.kpar.update.open_index import OpenIndex
from gpukit.kpar.update.paths import build_updatable, sizes_of
from gpukit.papers.cli.bench_record import command_line

WEIGHTED = Params(weighted=True)


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="random,process,http,kills,rmat")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scale", type=int, default=20, help="of the R-MAT")
    parser.add_argument("--share", type=float, default=1.0, help="of all updates, queries and kills")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    known = {"random": random_updates, "process": in_process, "http": over_http, "kills": kills, "rmat": on_rmat}
    record: dict[str, Any] = {
        "benchmark": "kpar-memory",
        "command": command_line("python benchmarks/kpar_memory.py", sys.argv[1:]),
        "device": choose("cpu", threads=asked.threads).record(),
        "versions": versions(),
        "load": os.getloadavg(),
    }
    for part in asked.parts.split(","):
        record[part] = known[part](asked)
        record[part]["load_after"] = os.getloadavg()
        print(part, json.dumps(record[part]), file=sys.stderr, flush=True)
    text = json.dumps(record, indent=1) + "\n"
    sys.stdout.write(text)
    if asked.out is not None:
        write_text(asked.out, text)
    return 0 if all(record[part]["right"] for part in asked.parts.split(",")) else 1


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what work returns, and its seconds: passed, and of all cores."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def equal(found: Index, expected: Index) -> bool:
    """Say whether all arrays of two indexes are equal."""
    assert found.paths is not None
    assert expected.paths is not None
    names = ("walks", "arrivals", "src_begin", "starts", "frequent_begin", "frequencies")
    pairs = [(getattr(found, name), getattr(expected, name)) for name in names]
    pairs += zip(found.paths, expected.paths, strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def quantiles(seconds: list[float]) -> dict[str, float]:
    """Return the median and the 99th percentile in ms."""
    return {"median_ms": 1e3 * float(np.median(seconds)), "p99_ms": 1e3 * float(np.quantile(seconds, 0.99))}


def both_quantiles(spent: list[dict[str, float]]) -> dict[str, Any]:
    """Return :func:`quantiles` of the seconds passed, and of those of all cores."""
    wall, cpu = ([one[name] for one in spent] for name in ("wall_s", "cpu_s"))
    return {**quantiles(wall), "cpu": quantiles(cpu)}


def words_like(generator: np.random.Generator, count: int) -> np.ndarray:
    """Return weights less one whose logarithms are normal, as those of counts and similarities."""
    return (np.minimum(generator.lognormal(0, 1, count) * 2**27, 2**32) - 1).clip(0).astype(np.uint32)


class World:
    """A weighted graph in rows, as an open index has it, and random updates of it."""

    def __init__(self, n: int, u: np.ndarray, v: np.ndarray, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        keys = np.unique(np.asarray(u, np.int64) << 32 | np.asarray(v, np.int64))
        keys = keys[keys >> 32 != keys & 0xFFFFFFFF]
        self.edges = dict(zip(keys.tolist(), words_like(self.generator, len(keys)).tolist(), strict=True))
        self.rows, self.size = list(range(n)), n
        self.keys: list[int] = []

    def graph(self) -> Graph:
        """Return the graph of the rows that are there."""
        place = np.full(self.size, -1)
        place[self.rows] = np.arange(len(self.rows))
        keys = np.array(list(self.edges), np.int64)
        words = np.array(list(self.edges.values()), np.float64)
        ends = place[keys >> 32], place[keys & 0xFFFFFFFF]
        return build_graph(*ends, w=(words + 1) / 2**32, weights=Weights("file"), ids=False, n=len(self.rows))

    def update(self, following: OpenIndex) -> None:
        """Change one thing, here and in the index: an edge, a weight, or at times a vertex."""
        generator, draw = self.generator, self.generator.random()
        word = words_like(generator, 1)
        come: list[int] = []
        leave: list[int] = []
        edges = [NO_EDGES] * 3
        if draw < 0.02:
            come = [2**63 | int(generator.integers(2**63))]
            self.rows.append(self.size)
            self.size += 1
        elif draw < 0.03:
            leave = [self.rows.pop(int(generator.integers(len(self.rows))))]
            gone = [key for key in self.edges if key >> 32 == leave[0] or key & 0xFFFFFFFF == leave[0]]
            for key in gone:
                del self.edges[key]
        elif draw < 0.4:
            u, v = (self.rows[int(place)] for place in generator.integers(len(self.rows), size=2))
            if u != v:
                self.edges.setdefault(u << 32 | v, int(word[0]))
                edges[0] = Edges.of([u], [v], word)
        else:
            key = self.keys[int(generator.integers(len(self.keys)))]  # at times one that is gone
            kind = 1 if draw < 0.7 else 2
            edges[kind] = Edges(np.array([key]), 0, word)
            if kind == 1:
                self.edges.pop(key, None)
            elif key in self.edges:
                self.edges[key] = int(word[0])
        following.update(*edges, come=come, leave=leave)


def random_updates(asked: argparse.Namespace) -> dict[str, Any]:
    """Update five graphs at random, and compare with what is made anew."""
    count, checkpoints, right, done = int(20_000 * asked.share), 10, True, 0
    cycle = np.arange(3000)
    shapes = [
        rmat(scale=12, edges=30_000, seed=1)[:2] + (1 << 12,),
        ba(3000, 4, 2)[:2] + (3000,),
        er(5000, 20_000, 3)[:2] + (5000,),
        (np.zeros(800, np.int64), np.arange(1, 801), 801),
        (cycle, np.roll(cycle, 1), 3000),
    ]
    for number, (u, v, n) in enumerate(shapes):
        world = World(n, np.append(u, v[: len(v) // 2]), np.append(v, u[: len(u) // 2]), number)
        graph = world.graph()
        index = build_updatable(graph, sizes_of(graph, rank(graph, WEIGHTED).order, WEIGHTED), WEIGHTED, seed=number)
        following = OpenIndex(graph, index, asked.threads)
        for _ in range(checkpoints):
            world.keys = list(world.edges)
            for _ in range(max(1, count // checkpoints)):
                world.update(following)
                done += 1
            found, graph = following.index(np.array(world.rows)), world.graph()
            assert found.paths is not None
            expected = build_updatable(graph, found.paths, WEIGHTED, seed=number)
            sources = Sources.single(world.generator.integers(graph.n, size=10).tolist())
            answers = [Prepared.of(graph, one).query(sources, 10, refine=True) for one in (found, expected)]
            same = all(
                np.array_equal(getattr(answers[0], name), getattr(answers[1], name)) for name in ("nodes", "scores")
            )
            right &= equal(found, expected) and same
    return {"updates": done, "graphs": len(shapes), "checkpoints": checkpoints * len(shapes), "right": bool(right)}


def small_graph() -> gk.Graph:
    """Return a weighted graph of the size of an agent's memory."""
    generator = np.random.default_rng(5)
    u, v = generator.integers(0, 12_300, 51_600) ** 2 // 12_300, generator.integers(0, 12_300, 51_600)
    return gk.from_edges(u, v, generator.uniform(0.1, 10, 51_600), undirected=True, scale="100")


def in_process(asked: argparse.Namespace) -> dict[str, Any]:
    """Time queries after updates, and again, when there is nothing to follow."""
    graph, generator = small_graph(), np.random.default_rng(1)
    index = gk.PageRankIndex(graph, weighted=True, updatable=True, threads=asked.threads, device="cpu")
    updates, queries, again, names = [], [], [], graph.vertices
    for _ in range(int(300 * asked.share) + 5):
        u, v, source = (names[int(place)] for place in generator.integers(len(names), size=3))
        if u == v:
            continue
        _, spent = timed(lambda u=u, v=v: index.add_edges([(u, v, 1.5)]))  # type: ignore[misc]
        updates.append(spent)
        for kept in (queries, again):
            _, spent = timed(lambda source=source: index.top_k(source, k=10))  # type: ignore[misc]
            kept.append(spent)
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "I.h5")
        anew = gk.load(Path(folder) / "I.h5", graph=index.graph)
    same = all(anew.top_k(source, k=10) == index.top_k(source, k=10) for source in names[:20])
    times = {"update": updates, "query_after": queries, "query_again": again}
    found = {name: both_quantiles(spent[5:]) for name, spent in times.items()}
    return {"n": graph.n, "m": graph.m, **found, "right": same}


def over_http(asked: argparse.Namespace) -> dict[str, Any]:
    """Time queries of 8 clients of a server whose graph changes ten times a second; before that, what costs nothing."""
    graph = small_graph()
    with tempfile.TemporaryDirectory() as folder:
        graph.save(f"{folder}/G.h5")
        gk.PageRankIndex(graph, weighted=True, updatable=True, device="cpu").save(f"{folder}/I.h5")
        words = ["kpar", "serve", f"{folder}/G.h5", "--index", f"{folder}/I.h5", "--updatable", "--port", "0", "-v"]
        server = subprocess.Popen([sys.executable, "-m", "gpukit", *words], stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        port = next(int(found[1]) for line in server.stderr if (found := re.search(r"http://127.0.0.1:(\d+)", line)))
        threading.Thread(target=server.stderr.read, daemon=True).start()
        seconds, failed = max(2, 20 * asked.share), []
        asking = ask_all(port, graph, seconds / 4, failed, "/health")
        nothing = joined(asking)
        asking = ask_all(port, graph, seconds, failed)
        until = time.perf_counter() + seconds
        link, changed = http.client.HTTPConnection("127.0.0.1", port), []
        generator = np.random.default_rng(2)
        while time.perf_counter() < until:
            u, v = generator.choice(graph.vertices[:2000], 2).tolist()
            began = time.perf_counter()
            answer = request(link, "POST", "/v1/edges", {"edges": [[u, v, 1.0]]})
            changed.append(time.perf_counter() - began)
            failed += [answer] if "version" not in answer else []
            time.sleep(0.1)
        queries = joined(asking)
        server.send_signal(signal.SIGTERM)
        server.wait()
    rates = {"clients": 8, "queries_per_s": len(queries) / seconds, "query": quantiles(queries)}
    return {
        **rates, "update": quantiles(changed), "health": quantiles(nothing), "failed": failed[:3], "right": not failed,
    }  # fmt: skip


Asking = tuple[list[threading.Thread], list[list[float]]]


def ask_all(port: int, graph: gk.Graph, seconds: float, failed: list[Any], path: str = "/v1/topk") -> Asking:
    """Let 8 clients ask for so long."""
    spent: list[list[float]] = [[] for _ in range(8)]
    until = time.perf_counter() + seconds
    clients = [threading.Thread(target=client, args=(port, graph, one, until, failed, path)) for one in spent]
    for one in clients:
        one.start()
    return clients, spent


def joined(asking: Asking) -> list[float]:
    """Return the seconds of all requests, once the clients are done."""
    for one in asking[0]:
        one.join()
    return [second for spent in asking[1] for second in spent]


def client(port: int, graph: gk.Graph, spent: list[float], until: float, failed: list[Any], path: str) -> None:
    """Ask until the time is over."""
    link, generator, names = http.client.HTTPConnection("127.0.0.1", port), np.random.default_rng(), graph.vertices
    while time.perf_counter() < until:
        source = names[int(generator.integers(len(names)))]
        began = time.perf_counter()
        if path == "/health":
            answer = request(link, "GET", path, {})
        else:
            answer = request(link, "POST", path, {"k": 10, "sources": [source]})
        spent.append(time.perf_counter() - began)
        failed += [answer] if not answer.keys() & {"results", "status"} else []


def request(link: http.client.HTTPConnection, method: str, path: str, body: Any) -> dict[str, Any]:
    """Return the answer to a request."""
    link.request(method, path, json.dumps(body))
    answer: dict[str, Any] = json.loads(link.getresponse().read())
    return answer


def kills(asked: argparse.Namespace) -> dict[str, Any]:
    """Kill `gpukit kpar update`, which replaces its own output, at random times; the old files or the new ones stay."""
    generator, count, counts = np.random.default_rng(3), int(200 * asked.share), {"old": 0, "new": 0, "wrong": 0}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        graph = small_graph()
        graph.save(here / "G.h5")
        gk.PageRankIndex(graph, weighted=True, updatable=True, device="cpu").save(here / "I.h5")
        sets = []
        for which in (0, 1):
            lines = [f"{graph.vertices[which + i]} {graph.vertices[100 + 7 * i]} 2.5\n" for i in range(50)]
            (here / f"{which}.txt").write_text("".join(lines))
            run_update(here, which, f"{which}-G.h5", f"{which}-I.h5").wait()
            sets.append([(here / f"{which}-{name}.h5").read_bytes() for name in "GI"])
        began = time.perf_counter()
        run_update(here, 1, "X-G.h5", "X-I.h5").wait()
        whole = time.perf_counter() - began
        for _ in range(count):
            for name in "GI":
                shutil.copy(here / f"0-{name}.h5", here / f"out-{name}.h5")
            process = run_update(here, 1, "out-G.h5", "out-I.h5")
            time.sleep(float(generator.uniform(0.3, 2)) * whole)
            process.kill()
            process.wait()
            found = [(here / f"out-{name}.h5").read_bytes() for name in "GI"]
            fits = [[found[file] == sets[which][file] for which in (0, 1)] for file in (0, 1)]
            if not (any(fits[0]) and any(fits[1])):
                counts["wrong"] += 1
            else:
                counts["new" if fits[1][1] else "old"] += 1
        for name in "GI":
            verify(here / f"out-{name}.h5")
    return {"kills": count, "seconds_of_an_update": whole, **counts, "right": counts["wrong"] == 0}


def run_update(here: Path, which: int, graph: str, index: str) -> "subprocess.Popen[bytes]":
    """Begin an update that adds the edges of a file."""
    words = ["--add", str(here / f"{which}.txt"), "--out-graph", str(here / graph), "--out", str(here / index)]
    line = ["kpar", "update", str(here / "G.h5"), "--index", str(here / "I.h5"), *words]
    return subprocess.Popen([sys.executable, "-m", "gpukit", *line], stdout=subprocess.DEVNULL)


def on_rmat(asked: argparse.Namespace) -> dict[str, Any]:
    """Time updates of a large graph: a third of edges each that come, that go, and that get other weights."""
    generator = np.random.default_rng(1)
    u, v, n = rmat(scale=asked.scale, edges=16_000_000 >> (20 - asked.scale), seed=1)
    words = words_like(generator, len(u)).astype(np.float64)
    graph = build_graph(u, v, w=(words + 1) / 2**32, weights=Weights("file"), ids=False, n=n, transpose=False)
    sizes = sizes_of(graph, rank(graph, WEIGHTED).order, WEIGHTED)
    index, build = timed(lambda: build_updatable(graph, sizes, WEIGHTED, seed=1, threads=asked.threads))
    following, opening = timed(lambda: OpenIndex(graph, index, asked.threads))
    keys = np.repeat(np.arange(n, dtype=np.int64) << 32, np.diff(graph.indptr)) | graph.indices
    found: dict[str, Any] = {"n": n, "m": graph.m, "made_anew": build, "open": opening}
    for size, edges in ((1, 20_000), (10_000, 100_000)):
        batches = [a_batch(keys, size, generator) for _ in range(max(1, int(edges * asked.share) // size))]
        following.update(*a_batch(keys, size, generator))
        done, seconds = timed(lambda batches=batches: [following.update(*one) for one in batches])  # type: ignore[misc]
        changed, redrawn = sum(len(one.keys) for one, _ in done), sum(drawn for _, drawn in done)
        rates = {"updates_per_s": changed / seconds["wall_s"], "updates": changed}
        rates |= {"cpu_us_each": 1e6 * seconds["cpu_s"] / changed, "redrawn_each": redrawn / changed}
        found[f"batches_of_{size}"] = rates
    now = following.index()
    there, weights = following.words_of(every := np.union1d(keys, following_keys(following)))
    every, weights = every[there], weights[there].astype(np.float64)
    after = build_graph(
        every >> 32, every & 0xFFFFFFFF, w=(weights + 1) / 2**32, weights=Weights("file"), ids=False, n=n,
        transpose=False,
    )  # fmt: skip
    found["right"] = equal(now, build_updatable(after, sizes, WEIGHTED, seed=1, threads=asked.threads))
    return found


def following_keys(following: OpenIndex) -> np.ndarray:
    """Return the edges that an open index holds."""
    from gpukit.kpar.update.tables_cpu import edges_of

    found: np.ndarray = edges_of(following.tables, np.ones(following.n, bool))
    return found


def a_batch(keys: np.ndarray, size: int, generator: np.random.Generator) -> tuple[Edges, Edges, Edges]:
    """Return edges to add, to remove and to weigh; a single one is one of these by chance."""
    come, gone, other = np.array_split(generator.integers(0, len(keys), size + 3), 3)
    if size == 1:
        chosen = int(generator.integers(3))
        come, gone, other = (part[: chosen == kind] for kind, part in enumerate((come, gone, other)))
    goes, weighs = np.unique(keys[gone]), np.unique(keys[other])
    weighs = np.setdiff1d(weighs, goes)
    tails, heads = (
        keys[come] >> 32,
        keys[generator.permutation(come) if size > 1 else (come + 1) % len(keys)] & 0xFFFFFFFF,
    )
    fresh = np.setdiff1d((tails << 32 | heads)[tails != heads], np.append(goes, weighs))
    return (
        Edges(fresh, 0, words_like(generator, len(fresh))),
        Edges(goes, 0),
        Edges(weighs, 0, words_like(generator, len(weighs))),
    )


if __name__ == "__main__":
    raise SystemExit(main())
