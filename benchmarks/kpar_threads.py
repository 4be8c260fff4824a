"""Time batches of kPAR queries and of what they are compared with on one CPU thread and on several, in turn.

    python benchmarks/kpar_threads.py soc-Epinions1.h5 --threads 2 --out benchmarks/results/kpar-cpu-threads.json

Blocks of batches on one thread and on all take turns, and the figure is the median of the quotients of neighbours,
since whatever else the machine does then meets both. A quotient of medians would not say that. A block repeats a batch
for a tenth of a second or more: after batches of a few milliseconds on one thread, the other cores would begin each of
theirs with nothing in their caches. Answers must be the same.
"""

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from gpukit.artifacts import read_graph_file
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.files import replacing
from gpukit.graph.csr import Graph
from gpukit.kpar import Params, Prepared, Result, build_index, query, rank
from gpukit.papers.bench.kpar import random_sources
from gpukit.papers.cli.bench_record import command_line, graph_facts
from gpukit.papers.kpar.baselines import fora, fora_index, monte_carlo

METHODS = ("kpar", "fora", "monte-carlo")
SEED = 1
BLOCK_MS = 100


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", type=Path, nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--queries", default="8,64", help="queries of a batch, several with commas between them")
    parser.add_argument("--methods", default="kpar,fora", help="of kpar, fora and monte-carlo")
    parser.add_argument("-k", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=15, help="runs on one thread and as many on all, at least 1")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    counts, methods = [int(word) for word in asked.queries.split(",")], asked.methods.split(",")
    if asked.pairs < 1 or min(counts) < asked.threads or asked.threads < 2 or not set(methods) <= set(METHODS):
        parser.error("one pair, two threads, a query a thread and methods of kpar, fora, monte-carlo are the least")
    load, runs = os.getloadavg(), []
    for path in asked.graphs:
        graph, digest, _ = read_graph_file(path)
        for method in methods:
            start = time.perf_counter()
            ask = _ready(method, graph, asked.k, asked.threads)
            prepared = time.perf_counter() - start
            for count in counts:
                sources = random_sources(graph, count, SEED)
                found = _measure(partial(ask, sources), asked.threads, asked.pairs)
                what = {"method": method, "k": asked.k, "queries": count, "threads": asked.threads}
                runs.append({"graph": graph_facts(path, graph, digest), **what, "prepare_s": prepared, **found})
    record = {
        "benchmark": "kpar-threads",
        "command": command_line("python benchmarks/kpar_threads.py", sys.argv[1:]),
        "device": choose("cpu", 1, asked.threads).record(),
        "versions": versions(),
        "load_average": {"before": load, "after": os.getloadavg()},
        "params": {"epsilon": Params().epsilon, "seed": SEED},
        "runs": runs,
    }
    text = json.dumps(record, indent=1) + "\n"
    print(text, end="")
    if asked.out:
        with replacing(asked.out) as temporary:
            Path(temporary).write_text(text)
    return 0


def _ready(method: str, graph: Graph, k: int, threads: int) -> Callable[..., Result]:
    """Return a function of sources and ``threads`` that answers; what is made once a graph is made."""
    params = Params()
    if method == "kpar":
        index = build_index(graph, rank(graph, params).order, params, seed=SEED, threads=threads)
        prepared = Prepared.of(graph, index)
        return lambda sources, threads: query(prepared, sources, k, threads=threads)
    if method == "fora":
        walks = fora_index(graph, params, seed=SEED, threads=threads)
        return lambda sources, threads: fora(graph, walks, sources, k, threads=threads)
    return lambda sources, threads: monte_carlo(graph, sources, k, params, seed=SEED, threads=threads)


def _measure(ask: Callable[..., Result], threads: int, pairs: int) -> dict[str, Any]:
    """Return milliseconds of a batch on one thread and on all, in turn, and the median quotient of neighbours."""
    cold, _, expected = _timed(partial(ask, threads=1))
    _timed(partial(ask, threads=threads))
    batches = math.ceil(BLOCK_MS / _timed(partial(ask, threads=1))[0])
    spent: dict[int, list[tuple[float, float]]] = {1: [], threads: []}
    for _ in range(pairs):
        for workers, times in spent.items():
            *both, found = _timed(partial(ask, threads=workers), batches)
            times.append((both[0], both[1]))
            assert np.array_equal(found.nodes, expected.nodes) and np.array_equal(found.scores, expected.scores)
    one, all_ = ([wall for wall, _ in times] for times in spent.values())
    quotients = [slow / fast for slow, fast in zip(one, all_, strict=True)]
    low, high = np.percentile(quotients, [25, 75])
    return {
        "cold_ms": cold,
        "batches_of_a_block": batches,
        "one_thread_ms": {"median": median(one), "min": min(one), "each": one},
        "all_threads_ms": {"median": median(all_), "min": min(all_), "each": all_},
        "cpu_ms": {str(workers): median(cpu for _, cpu in times) for workers, times in spent.items()},
        "speed_up": {"median": median(quotients), "p25": low, "p75": high, "of_least": min(one) / min(all_)},
    }


def _timed(work: Callable[[], Result], times: int = 1) -> tuple[float, float, Result]:
    """Return the milliseconds that pass, those of all processors together, and the result, each for once."""
    start, used = time.perf_counter(), time.process_time()
    for _ in range(times):
        result = work()
    return 1e3 * (time.perf_counter() - start) / times, 1e3 * (time.process_time() - used) / times, result


if __name__ == "__main__":
    sys.exit(main())
