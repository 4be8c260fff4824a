"""Time batches of kPAR queries on a GPU that stop by themselves, and refined ones, in turn.

    python benchmarks/kpar_depths.py --rmat 22:75000000 -k 100 --out benchmarks/results/kpar-depths-h200.json

The figure is the median of the quotients of neighbours.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import cupy

from gpukit.bench.graphs import rmat_graph
from gpukit.bench.kpar import random_sources
from gpukit.cli.bench_record import command_line
from gpukit.cli.doctor import versions
from gpukit.device.arrays import on_gpu
from gpukit.files import replacing
from gpukit.kpar import Params, index_cuda, rank_cuda
from gpukit.kpar.prepared_cuda import CudaPrepared

SEED = 1
DEPTHS = {"auto": False, "refined": True}


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rmat", default="22:75000000", help="SCALE:DRAWS of a graph that is made on the GPU")
    parser.add_argument("-k", default="100", help="lengths of answers, several with commas between them")
    parser.add_argument("--queries", type=int, default=512)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    with on_gpu(0):
        record = measured(asked)
    if asked.out:
        with replacing(asked.out) as temporary:
            Path(temporary).write_text(json.dumps(record, indent=1) + "\n")
    return 0


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    """Return the record; prints each run."""
    graph, params = rmat_graph(*map(int, asked.rmat.split(":")), SEED), Params()
    order = rank_cuda.rank(graph, params).order
    ready = CudaPrepared.of(graph, index_cuda.build_index(graph, order, params, seed=SEED))
    sources, runs = random_sources(graph, asked.queries, SEED), []
    for k in map(int, asked.k.split(",")):
        each: dict[str, list[float]] = {depth: [] for depth in DEPTHS}
        for _ in range(asked.pairs + 1):
            for depth, refine in DEPTHS.items():
                start = time.perf_counter()
                found = ready.query(sources, k, refine=refine)
                each[depth].append(1e3 * (time.perf_counter() - start) / len(sources))
        # The first of each makes in-edges, schedules and room.
        auto, refined = each["auto"][1:], each["refined"][1:]
        runs.append(
            {
                "k": k,
                "queries": len(sources),
                "queries_per_s": {"auto": 1e3 / median(auto), "refined": 1e3 / median(refined)},
                "refined_over_auto": median(b / a for a, b in zip(auto, refined, strict=True)),
                "certain": float(found.certain.mean()),
                "each_ms_per_query": each,
            }
        )
        print(json.dumps(runs[-1]), flush=True)
    return {
        "benchmark": "kpar-depths",
        "command": command_line("python benchmarks/kpar_depths.py", sys.argv[1:]),
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "versions": versions(),
        "graph": {"name": f"rmat-{asked.rmat}", "seed": SEED, "n": graph.n, "m": graph.m},
        "params": {"epsilon": params.epsilon, "alpha": params.alpha, "seed": SEED},
        "runs": runs,
    }


if __name__ == "__main__":
    sys.exit(main())
