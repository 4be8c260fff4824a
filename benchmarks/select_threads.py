"""Time the choice of seeds from one collection of RR sets, and the count of what they cover, on 1, 2, 4 … CPU threads.

    python benchmarks/select_threads.py R-MAT-20.h5 --sets 2000000 --threads 1,2,4,8,16 --out gim-select-threads.json

All numbers of threads take turns, so that whatever else the machine does meets them alike. Answers must be the same.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from gpukit.artifacts import read_graph_file
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.files import replacing
from gpukit.papers.cli.bench_record import command_line, graph_facts
from gpukit.worlds.collection import CpuCollection, Query
from gpukit.worlds.reverse import prepare

SEED = 1
PHASES = ("choice", "choice_with_bound", "coverage")


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path)
    parser.add_argument("--sets", type=int, default=2_000_000)
    parser.add_argument("--plain", action="store_true", help="trivial sets too")
    parser.add_argument("-k", type=int, default=50)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    graph, digest, _ = read_graph_file(asked.graph)
    reverse = prepare(graph, "ic", kept=not asked.plain)
    collections = {}
    for threads in map(int, asked.threads.split(",")):
        collections[threads] = CpuCollection(reverse, SEED, 0, threads)
        collections[threads].extend(asked.sets)
    load, times, answers = os.getloadavg(), {threads: dict[str, list]() for threads in collections}, []
    for turn in range(asked.repeat + 1):  # the first compiles, and wakes the threads
        for threads, collection in collections.items():
            found, answer = _once(collection, asked.k)
            answers.append(answer)
            for phase, ms in found.items() if turn else ():
                times[threads].setdefault(phase, []).append(ms)
    assert all(answer == answers[0] for answer in answers)
    medians = {threads: {phase: median(ms) for phase, ms in one.items()} for threads, one in times.items()}
    least = min(collections)
    record = {
        "benchmark": "gim-select-threads",
        "command": command_line("python benchmarks/select_threads.py", sys.argv[1:]),
        "device": choose("cpu", 1, max(collections)).record(),
        "versions": versions(),
        "graph": graph_facts(asked.graph, graph, digest),
        "params": {"sets": asked.sets, "k": asked.k, "kept": not asked.plain, "repeat": asked.repeat, "seed": SEED},
        "members": collections[least].members(),
        "load_before": load,
        "runs": [
            {"threads": threads, "ms": ms, "median_ms": medians[threads],
             "times_one": {phase: medians[least][phase] / medians[threads][phase] for phase in PHASES}}
            for threads, ms in times.items()
        ],
    }  # fmt: skip
    print(json.dumps(record, indent=1))
    if asked.out:
        with replacing(asked.out) as temporary:
            Path(temporary).write_text(json.dumps(record, indent=1) + "\n")
    return 0


def _once(collection: CpuCollection, k: int) -> tuple[dict[str, float], Any]:
    """Return milliseconds of each phase, and what was found."""
    found: dict[str, float] = {}

    def timed(phase: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = work()
        found[phase] = 1e3 * (time.perf_counter() - start)
        return result

    chosen = timed("choice", lambda: collection.select(Query(k)))
    bounded = timed("choice_with_bound", lambda: collection.select(Query(k, bounds=True)))
    hits = timed("coverage", lambda: collection.coverage(chosen.seeds))
    assert np.array_equal(chosen.seeds, bounded.seeds)
    return found, (chosen.seeds.tolist(), chosen.gains.tolist(), bounded.largest.tolist(), hits.tolist())


if __name__ == "__main__":
    sys.exit(main())
