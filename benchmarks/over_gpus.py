"""Time one call of each system that runs on several GPUs, on one and on all of them, in turn, in one process.

    python benchmarks/over_gpus.py --out over-gpus-h200x2.json imgpu=twitter-size.h5 spread=rmat-22.h5

Each call is what a user of the Python interface makes, with the graph in host memory. Answers must be equal. The record
is written after each system.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import gpukit as gk
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.files import replacing
from gpukit.papers.cli.bench_record import command_line


def imgpu(graph: gk.Graph, gpus: int) -> Any:
    """50 seeds over 200 fixed worlds."""
    return gk.simulated_seeds(graph, k=50, worlds=200, seed=1, device="cuda", gpus=gpus)


def merit(graph: gk.Graph, gpus: int) -> Any:
    """Campaigns in 8 hidden worlds, to half a per cent of the vertices."""
    eta = max(1, graph.n // 200)
    return gk.seed_minimization(graph, eta=eta, batch=16, worlds=8, seed=1, device="cuda", gpus=gpus)


def spread(graph: gk.Graph, gpus: int) -> Any:
    """20,000 cascades from the 50 vertices of the largest out-degree."""
    seeds = np.argsort(-np.diff(graph.csr.indptr), kind="stable")[:50].tolist()
    return gk.estimate_spread(graph, seeds, runs=20_000, seed=1, device="cuda", gpus=gpus)


def gim(graph: gk.Graph, gpus: int) -> Any:
    """50 seeds by IMM."""
    return gk.influence_maximization(graph, k=50, epsilon=0.05, seed=1, device="cuda", gpus=gpus)


SYSTEMS: dict[str, Callable[[gk.Graph, int], Any]] = {"imgpu": imgpu, "merit": merit, "spread": spread, "gim": gim}


def main() -> int:
    """Measure, print each system, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="+", metavar="SYSTEM=G.h5", help=f"systems are {', '.join(SYSTEMS)}")
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    runs: list[dict[str, Any]] = []
    record = {
        "benchmark": "over-gpus",
        "command": command_line("python benchmarks/over_gpus.py", [re.sub("=.*/", "=", word) for word in sys.argv[1:]]),
        "device": choose("cuda", asked.gpus).record(),
        "versions": versions(),
        "runs": runs,
    }
    for word in asked.graphs:
        system, _, path = word.partition("=")
        graph = gk.read_graph(path)
        spent: dict[int, list[float]] = {asked.gpus: [], 1: []}
        answers = set()
        for _ in range(asked.repeat + 1):
            for gpus, times in spent.items():
                start = perf_counter()
                found = SYSTEMS[system](graph, gpus)
                times.append(1e3 * (perf_counter() - start))
                answers.add(found.digest)
        times = {gpus: median(each[1:]) for gpus, each in spent.items()}
        runs.append({
            "system": system,
            "what": SYSTEMS[system].__doc__,
            "graph": {"name": Path(path).stem, "n": graph.n, "m": graph.m},
            "ms": times,
            "ratio": times[1] / times[asked.gpus],
            "same": len(answers) == 1,
            "each_ms": spent,
        })  # fmt: skip
        print(json.dumps(runs[-1]), flush=True)
        with replacing(asked.out) as temporary:
            Path(temporary).write_text(json.dumps(record, indent=1) + "\n")
    return int(not all(each["same"] for each in runs))


if __name__ == "__main__":
    sys.exit(main())
