"""Time batches of kPAR queries on a GPU that stop by themselves, refined ones, and along weighted edges, in turn.

    python benchmarks/kpar_depths.py --rmat 22:75000000 -k 100 --out benchmarks/results/kpar-depths-h200.json
    python benchmarks/kpar_depths.py --rmat 22:75000000 -k 10,100 --weighted uniform:0:1

A figure is the median of the quotients of neighbours. With ``--weighted`` the same graph has a second index, whose
walks follow the weights; both are made twice, and the second time counts.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import cupy

from gpukit.cli.doctor import versions
from gpukit.device.arrays import on_gpu, synchronise, xp
from gpukit.files import replacing
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import drawn_stored, parse_weights
from gpukit.kpar import Params, rank_cuda
from gpukit.kpar.batch.prepared_cuda import CudaPrepared
from gpukit.kpar.index import build_cuda
from gpukit.papers.bench.graphs import rmat_graph
from gpukit.papers.bench.kpar import on_host, random_sources
from gpukit.papers.cli.bench_record import command_line

SEED = 1


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rmat", default="22:75000000", help="SCALE:DRAWS of a graph that is made on the GPU")
    parser.add_argument("-k", default="100", help="lengths of answers, several with commas between them")
    parser.add_argument("--queries", type=int, default=512)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--weighted", metavar="uniform:LO:HI|trivalency", help="also along edges with such weights")
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
    graph = rmat_graph(*map(int, asked.rmat.split(":")), SEED)
    made, ready = {}, {}
    ready["auto"], made["auto"] = prepared(graph, Params())
    ways = {"auto": False, "refined": True}
    if asked.weighted:
        scheme, there = parse_weights(asked.weighted, SEED), on_host(graph)
        words = xp.asarray(drawn_stored(scheme, there.indptr, there.indices))
        weighted = replace(graph, weights=scheme, probabilities=words)
        ready["weighted"], made["weighted"] = prepared(weighted, Params(weighted=True))
        ways |= {"weighted": False, "weighted-refined": True}
    print(json.dumps(made), flush=True)
    sources, runs = random_sources(graph, asked.queries, SEED), []
    for k in map(int, asked.k.split(",")):
        each: dict[str, list[float]] = {way: [] for way in ways}
        certain = {}
        for _ in range(asked.pairs + 1):
            for way, refine in ways.items():
                start = time.perf_counter()
                found = ready["weighted" if "weighted" in way else "auto"].query(sources, k, refine=refine)
                each[way].append(1e3 * (time.perf_counter() - start) / len(sources))
                if refine:
                    certain[way] = float(found.certain.mean())
        # The first of each makes in-edges, schedules and room.
        warm = {way: spent[1:] for way, spent in each.items()}
        run = {
            "k": k,
            "queries": len(sources),
            "queries_per_s": {way: 1e3 / median(spent) for way, spent in warm.items()},
            "refined_over_auto": quotient(warm["refined"], warm["auto"]),
            "certain": certain["refined"],
            "each_ms_per_query": each,
        }
        if asked.weighted:
            run |= {
                "weighted_over_auto": quotient(warm["weighted"], warm["auto"]),
                "weighted_refined_over_refined": quotient(warm["weighted-refined"], warm["refined"]),
                "weighted_certain": certain["weighted-refined"],
            }
        runs.append(run)
        print(json.dumps(run), flush=True)
    params = Params()
    return {
        "benchmark": "kpar-depths",
        "command": command_line("python benchmarks/kpar_depths.py", sys.argv[1:]),
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "versions": versions(),
        "graph": {"name": f"rmat-{asked.rmat}", "seed": SEED, "n": graph.n, "m": graph.m},
        "params": {"epsilon": params.epsilon, "alpha": params.alpha, "seed": SEED, "weighted": asked.weighted},
        "made": made,
        "runs": runs,
    }


def prepared(graph: Graph, params: Params) -> tuple[CudaPrepared, dict[str, float]]:
    """Return graph and index, ready for queries, and the seconds of rank, index and preparing, the second time."""
    for _ in range(2):
        clock = [time.perf_counter()]
        order = rank_cuda.rank(graph, params).order
        synchronise(0)
        clock.append(time.perf_counter())
        index = build_cuda.build_index(graph, order, params, seed=SEED)
        synchronise(0)
        clock.append(time.perf_counter())
        ready = CudaPrepared.of(graph, index)
        synchronise(0)
        clock.append(time.perf_counter())
    spent = [after - before for before, after in zip(clock, clock[1:], strict=False)]
    return ready, dict(zip(("rank_s", "index_s", "prepare_s"), spent, strict=True))


def quotient(some: list[float], others: list[float]) -> float:
    """Return the median of the quotients of neighbours."""
    return median(a / b for a, b in zip(some, others, strict=True))


if __name__ == "__main__":
    sys.exit(main())
