"""Time gIM, kPAR and forward simulation where the memory of a GPU is half as large as the graph, and where it is not.

    python benchmarks/beyond_memory.py --rmat 19:160000000 --out benchmarks/results/beyond-memory-h200.json

The graph is made on the GPU and copied to the host. Both ways run in turn, and must give the same bytes. The record is
written after each system.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from gim_huge import both_ways

from gpukit.bench.graphs import rmat_graph
from gpukit.bench.kpar import random_sources
from gpukit.cli.bench_record import command_line
from gpukit.cli.doctor import versions
from gpukit.device.arrays import limit_memory, on_gpu, xp
from gpukit.device.select import choose
from gpukit.evaluate import forward_spread
from gpukit.files import replacing
from gpukit.gim import Params, maximise
from gpukit.graph.csr import Weights
from gpukit.kpar import Params as RankParams
from gpukit.kpar import index_cuda, rank_cuda
from gpukit.kpar.prepared_cuda import CudaPrepared
from gpukit.worlds.tables import build_tables


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rmat", default="19:160000000", metavar="SCALE:DRAWS")
    parser.add_argument("--share", type=float, default=0.5, help="the memory there may be, as a part of the graph's")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    device = choose("cuda", 1)
    scale, draws = map(int, asked.rmat.split(":"))
    with on_gpu(0):
        graph = replace(both_ways(rmat_graph(scale, draws, asked.seed)), weights=Weights())
        xp.get_default_memory_pool().free_all_blocks()
        index = index_cuda.on_host(
            index_cuda.build_index(graph, rank_cuda.rank(graph).order, RankParams(), seed=asked.seed)
        )
        xp.get_default_memory_pool().free_all_blocks()
    size = sum(one.nbytes for one in (graph.in_indptr, graph.in_indices))
    limit = int(asked.share * size)
    tables, sources = build_tables(graph), random_sources(graph, 64, asked.seed)
    print(f"n = {graph.n:,}, m = {graph.m:,}, {size / 1e9:.2f} GB; limit {limit / 1e9:.2f} GB", flush=True)

    def spread() -> bytes:
        found = forward_spread(graph, list(range(50)), runs=2048, seed=1, device=device)
        return repr((found.spread, found.stderr)).encode()

    def seeds() -> bytes:
        params = Params(k=50, epsilon=0.1, optimism=None, seed=asked.seed)
        return maximise(graph, params, device, tables=tables).seeds.tobytes()

    def opened() -> Callable[[], bytes]:
        with on_gpu(0):
            ready = CudaPrepared.of(graph, index)
            ready.query(sources, 100)

        def query() -> bytes:
            with on_gpu(0):
                found = ready.query(sources, 100)
            return found.nodes.tobytes() + found.scores.tobytes()

        return query

    runs: list[dict[str, Any]] = []
    record = {
        "benchmark": "beyond-memory",
        "command": command_line("python benchmarks/beyond_memory.py", sys.argv[1:]),
        "device": device.record(),
        "versions": versions(),
        "graph": {"name": f"rmat-{asked.rmat}", "seed": asked.seed, "n": graph.n, "m": graph.m, "bytes": size},
        "limit": limit,
        "runs": runs,
    }
    for name, make in (("evaluate spread", lambda: spread), ("gim run", lambda: seeds), ("kpar query", opened)):
        spent: dict[str, list[float]] = {"whole": [], "limited": []}
        digests = set()
        for way, size_of_limit in (("whole", None), ("limited", limit)):
            with limited(size_of_limit):
                run = make()
                for _ in range(asked.repeat + 1):
                    start = perf_counter()
                    digests.add(hashlib.sha256(run()).hexdigest())
                    spent[way].append(1e3 * (perf_counter() - start))
                del run
                xp.get_default_memory_pool().free_all_blocks()
        times = {way: median(each[1:]) for way, each in spent.items()}
        runs.append({
            "system": name,
            "ms": times,
            "limited_over_whole": times["limited"] / times["whole"],
            "same_bytes": len(digests) == 1,
            "each_ms": spent,
        })  # fmt: skip
        print(json.dumps(runs[-1]), flush=True)
        if asked.out:
            with replacing(asked.out) as temporary:
                Path(temporary).write_text(json.dumps(record, indent=1) + "\n")
    return int(not all(one["same_bytes"] for one in runs))


@contextmanager
def limited(size: int | None) -> Iterator[None]:
    """Have only so much memory of the GPU."""
    limit_memory(size, (0,))
    try:
        yield
    finally:
        limit_memory(None, (0,))


if __name__ == "__main__":
    sys.exit(main())
