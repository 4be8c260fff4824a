"""Time gIM, kPAR and forward simulation where the memory of a GPU is smaller than the graph, and where it is not.

    python benchmarks/beyond_memory.py --rmat 19:160000000 --out benchmarks/results/beyond-memory-h200.json

The graph is made on a GPU and copied to the host. All ways run in turn, and must give the same bytes: in memory, with
edges in host memory, and with ``--gpus N`` on so many in the memory of each, and with edges in parts on all of them.
``gim sets`` are RR sets that are drawn from a graph which was placed before. The record is written after each system.
"""

import argparse
import gc
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from gim_huge import both_ways, weighted

from gpukit.cli.doctor import versions
from gpukit.device.arrays import limit_memory, on_gpu, xp
from gpukit.device.select import Device, choose
from gpukit.evaluate import forward_spread
from gpukit.files import replacing
from gpukit.gim import Params, maximise
from gpukit.graph.probabilities import parse_weights
from gpukit.kpar import Params as RankParams
from gpukit.kpar import rank_cuda
from gpukit.kpar.index import build_cuda
from gpukit.kpar.run import prepare_on, query_on
from gpukit.papers.bench.graphs import rmat_graph
from gpukit.papers.bench.kpar import random_sources
from gpukit.papers.cli.bench_record import command_line
from gpukit.worlds.factory import make_collection
from gpukit.worlds.reverse import prepare
from gpukit.worlds.tables import build_tables

Run = Callable[[], bytes]


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rmat", default="19:160000000", metavar="SCALE:DRAWS")
    parser.add_argument("--weights", default="wc")
    parser.add_argument("--share", type=float, default=0.5, help="the memory there may be, as a part of the graph's")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--systems", default="evaluate spread,gim run,gim sets,kpar query")
    parser.add_argument("--sets", type=int, default=1 << 18, help="how many RR sets are drawn")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    one, several = choose("cuda", 1), choose("cuda", asked.gpus)
    scale, draws = map(int, asked.rmat.split(":"))
    with on_gpu(0):
        graph = weighted(both_ways(rmat_graph(scale, draws, asked.seed)), parse_weights(asked.weights, asked.seed))
        xp.get_default_memory_pool().free_all_blocks()
        index = None
        if "kpar query" in asked.systems:
            order = rank_cuda.rank(graph).order
            index = build_cuda.on_host(build_cuda.build_index(graph, order, RankParams(), seed=asked.seed))
        xp.get_default_memory_pool().free_all_blocks()
    rows = (graph.in_indptr, graph.in_indices, graph.in_probabilities)
    size = sum(each.nbytes for each in rows if each is not None)
    limit = int(asked.share * size)
    tables, sources = build_tables(graph), random_sources(graph, 64, asked.seed)
    reverse = prepare(graph, "ic", tables=tables)
    print(f"n = {graph.n:,}, m = {graph.m:,}, {size / 1e9:.2f} GB; limit {limit / 1e9:.2f} GB", flush=True)

    def spread(device: Device) -> Run:
        def run() -> bytes:
            found = forward_spread(graph, list(range(50)), runs=2048, seed=1, device=device)
            return repr((found.spread, found.stderr)).encode()

        return run

    def seeds(device: Device) -> Run:
        params = Params(k=50, epsilon=0.1, optimism=None, seed=asked.seed)
        return lambda: maximise(graph, params, device, tables=tables).seeds.tobytes()

    def sets(device: Device) -> Run:
        first = make_collection(reverse, asked.seed, 0, device)

        def run() -> bytes:
            drawn = make_collection(reverse, asked.seed, 0, device, share_graph_with=first)
            drawn.extend(asked.sets)
            return drawn.coverage(np.arange(50, dtype=np.int32)).tobytes()

        return run

    def answers(device: Device) -> Run:
        prepared = prepare_on(device, graph, index)

        def run() -> bytes:
            found = query_on(device, prepared, sources, 100)
            return found.nodes.tobytes() + found.scores.tobytes()

        return run

    made = {"evaluate spread": spread, "gim run": seeds, "gim sets": sets, "kpar query": answers}
    ways = {"whole": (one, None), "limited": (one, limit)}
    if asked.gpus > 1:
        ways |= {f"{way}_on_{asked.gpus}": (several, size_of_limit) for way, (_, size_of_limit) in ways.items()}
    runs: list[dict[str, Any]] = []
    record = {
        "benchmark": "beyond-memory",
        "command": command_line("python benchmarks/beyond_memory.py", sys.argv[1:]),
        "device": several.record(),
        "versions": versions(),
        "graph": {
            "name": f"rmat-{asked.rmat}", "weights": asked.weights, "seed": asked.seed, "n": graph.n, "m": graph.m,
            "bytes": size,
        },
        "limit": limit,
        "runs": runs,
    }  # fmt: skip
    for name in asked.systems.split(","):
        spent: dict[str, list[float]] = {way: [] for way in ways}
        ready, digests = {}, set()
        for way, (device, size_of_limit) in ways.items():
            with on_gpu(0), limited(size_of_limit, several.gpus):
                start = perf_counter()
                run = made[name](device)
                ready[way] = 1e3 * (perf_counter() - start)
                for _ in range(asked.repeat + 1):
                    start = perf_counter()
                    digests.add(hashlib.sha256(run()).hexdigest())
                    spent[way].append(1e3 * (perf_counter() - start))
                del run
        times = {way: median(each[1:]) for way, each in spent.items()}
        runs.append({
            "system": name,
            "ms": times,
            "limited_over_whole": times["limited"] / times["whole"],
            "same_bytes": len(digests) == 1,
            "ready_ms": ready,
            "each_ms": spent,
        })  # fmt: skip
        print(json.dumps(runs[-1]), flush=True)
        if asked.out:
            with replacing(asked.out) as temporary:
                Path(temporary).write_text(json.dumps(record, indent=1) + "\n")
    return int(not all(each["same_bytes"] for each in runs))


@contextmanager
def limited(size: int | None, gpus: Sequence[int]) -> Iterator[None]:
    """Have only so much memory of each GPU, and give all of it back in the end."""
    limit_memory(size, gpus)
    try:
        yield
    finally:
        limit_memory(None, gpus)
        gc.collect()
        for gpu in gpus:
            with on_gpu(gpu):
                xp.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    sys.exit(main())
