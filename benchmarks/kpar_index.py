"""Time a kPAR index from a graph in host memory to a file, on a GPU: ``gpukit papers bench kpar`` leaves the file out.

    python benchmarks/kpar_index.py --rmat 25:1700000000 --file /tmp/index.h5 --out kpar-index-h200-twitter-size.json

Each time the index is built by the GPU and copied to host memory (the first time its kernels are compiled), and written
with its digest. The file is removed.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from gpukit.artifacts import irw_artifact, put
from gpukit.cli.doctor import versions
from gpukit.device.arrays import on_gpu, xp
from gpukit.device.select import choose
from gpukit.files import write_text
from gpukit.kpar.problem import Params
from gpukit.kpar.rank_cuda import rank
from gpukit.kpar.run import index_on
from gpukit.papers.bench.graphs import rmat_graph
from gpukit.papers.bench.kpar import on_host
from gpukit.papers.cli.bench_record import command_line

ROWS = ("src_begin", "starts", "frequent_begin", "frequencies", "walks", "arrivals")


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rmat", required=True, metavar="SCALE:DRAWS", help="an R-MAT graph, made on the GPU")
    parser.add_argument("--file", type=Path, required=True, help="where the index is written, and removed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=2, help="times")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    scale, draws = map(int, asked.rmat.split(":"))
    device, params, each = choose("cuda"), Params(), []
    with on_gpu(0):
        graph = rmat_graph(scale, draws, asked.seed)
        order = xp.asnumpy(rank(graph, params, gpu=0).order)
        graph = on_host(graph)
        xp.get_default_memory_pool().free_all_blocks()
        for _ in range(asked.repeat):
            each.append(once(device, graph, order, params, asked.file, asked.seed))
    record = {
        "benchmark": "kpar-index",
        "command": command_line("python benchmarks/kpar_index.py", sys.argv[1:]),
        "device": device.record(),
        "versions": versions(),
        "graph": {"name": f"rmat-{asked.rmat}", "seed": asked.seed, "n": graph.n, "m": graph.m},
        "runs": each,
    }
    text = json.dumps(record, indent=1) + "\n"
    sys.stdout.write(text)
    if asked.out is not None:
        write_text(asked.out, text)
    return 0


def once(device: Any, graph: Any, order: Any, params: Params, file: Path, seed: int) -> dict[str, float]:
    """Build and write an index; return the seconds of both and the bytes of the file."""
    start = time.perf_counter()
    found = index_on(device, graph, order, params, hubs=False, adaptive=True, memory=1 << 40, seed=seed)
    built = time.perf_counter()
    rows = {name: getattr(found, name) for name in ROWS}
    put(file, irw_artifact(rows, alpha=params.alpha, epsilon=params.epsilon, light=False, graph="0" * 64, seed=seed))
    written = time.perf_counter()
    size = os.path.getsize(file)
    file.unlink()
    return {"index_s": built - start, "write_s": written - built, "bytes": size}


if __name__ == "__main__":
    raise SystemExit(main())
