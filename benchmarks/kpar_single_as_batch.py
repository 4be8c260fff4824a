"""Time single kPAR queries on a GPU: each by the kernel of a query alone, and each as a batch of one.

    python benchmarks/kpar_single_as_batch.py --rmat 22:75000000 -k 100 --sources 200
    NUMBA_ENABLE_CUDASIM=1 python benchmarks/kpar_single_as_batch.py --rmat 6:300 -k 5 --sources 5

A query alone pushes and adds up walks in one launch, by a team of all blocks (``kpar/query/answer_cuda.py``). A batch
begins in kernels for many queries (``kpar/batch/push_cuda.py`` and ``starts_cuda.py``), and the team takes on queries
that may not stop at their first test. Here the batch has one query, and the team still has all blocks.

Rank and index come first. Each source is asked in both ways, one after the other, and the order changes from source to
source. The first two sources compile kernels and make room; they do not count. Prints both medians, the median of the
quotients, how many queries stopped at their first test, and whether all answers and traces were equal.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from gpukit.cli.doctor import versions
from gpukit.device.arrays import on_gpu, synchronise
from gpukit.device.select import simulated
from gpukit.files import write_text
from gpukit.kpar import Params, Result, rank_cuda
from gpukit.kpar.batch.prepared_cuda import CudaPrepared
from gpukit.kpar.batch.workspace_cuda import Shape
from gpukit.kpar.index import build_cuda
from gpukit.kpar.query.team_cuda import MAX_BLOCKS
from gpukit.papers.bench.graphs import rmat_graph
from gpukit.papers.bench.kpar import random_sources
from gpukit.papers.cli.bench_record import command_line

SEED = 1

UNCOUNTED = 2
"""Sources asked first, in both orders."""

ALL_BLOCKS = 1 if simulated() else MAX_BLOCKS
PATHS = {"single": Shape(1, ALL_BLOCKS, slots_per_team=1), "batch-of-one": Shape(1, ALL_BLOCKS, slots_per_team=2)}


def main() -> int:
    """Measure, print the record, and write it if asked for; exit 1 if answers differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rmat", default="22:75000000", help="SCALE:DRAWS of a graph that is made on the GPU")
    parser.add_argument("-k", type=int, default=100, help="length of an answer")
    parser.add_argument("--sources", type=int, default=200)
    parser.add_argument("--refine", action="store_true", help="also take a second look at near ties")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    with on_gpu(0):
        record = measured(asked)
    text = json.dumps(record, indent=1) + "\n"
    if asked.out:
        write_text(asked.out, text)
    print(json.dumps({name: value for name, value in record.items() if name != "each_ms"}, indent=1))
    return 0 if record["answers_equal"] else 1


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    """Return the record."""
    graph, params = rmat_graph(*map(int, asked.rmat.split(":")), SEED), Params()
    index = build_cuda.build_index(graph, rank_cuda.rank(graph, params).order, params, seed=SEED)
    prepared = CudaPrepared.of(graph, index)
    synchronise(0)
    sources = random_sources(graph, asked.sources + UNCOUNTED, SEED)
    spent: dict[str, list[float]] = {path: [] for path in PATHS}
    differ, first_test = [], 0
    for q in range(len(sources)):
        found: dict[str, Result] = {}
        for path in list(PATHS)[:: 1 if q % 2 else -1]:
            start = time.perf_counter()
            # It ends with a copy to the host.
            found[path] = prepared.query(sources.part(q, q + 1), asked.k, refine=asked.refine, shape=PATHS[path])
            if q >= UNCOUNTED:
                spent[path].append(1e3 * (time.perf_counter() - start))
        if not same(*found.values()):
            differ.append(int(sources.vertices[q]))
        first_test += int(q >= UNCOUNTED and (found["single"].traces[0][:, 8] != -1).sum() == 1)
    single, batch = spent.values()
    return {
        "benchmark": "kpar-single-as-batch",
        "command": command_line("python benchmarks/kpar_single_as_batch.py", sys.argv[1:]),
        "gpu": gpu_name(),
        "versions": versions(),
        "graph": {"name": f"rmat-{asked.rmat}", "seed": SEED, "n": graph.n, "m": graph.m},
        "k": asked.k,
        "sources": asked.sources,
        "refined": asked.refine,
        "median_ms": {path: median(each) for path, each in spent.items()},
        "batch_of_one_over_single": median(b / a for a, b in zip(single, batch, strict=True)),
        "stopped_at_first_test": first_test,
        "answers_equal": not differ,
        "sources_that_differ": differ,
        "each_ms": spent,
    }


def same(one: Result, other: Result) -> bool:
    """Return whether two results are equal: vertices, scores, steps, traces and certainty."""
    names = ("offsets", "nodes", "scores", "steps", "certain")
    pairs = [(getattr(one, name), getattr(other, name)) for name in names] + [(one.traces, other.traces)]
    return all(np.array_equal(some, others) for some, others in pairs)


def gpu_name() -> str:
    """Return the name of the GPU, or of the simulator."""
    if simulated():
        return "simulator"
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()


if __name__ == "__main__":
    sys.exit(main())
