"""How the time of kPAR's queries on a GPU depends on the number of blocks and teams: what the defaults are chosen from.

    python benchmarks/kpar_shapes.py --rmat 22:75000000 --out shapes.json

Prints mean milliseconds of a query asked alone by blocks of its team, and queries a second of a batch by teams.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from gpukit.bench.graphs import rmat_graph
from gpukit.bench.kpar import random_sources
from gpukit.cli.doctor import versions
from gpukit.kpar import Params, index_cuda
from gpukit.kpar.prepared_cuda import CudaPrepared, Shape

BLOCKS = (1, 2, 4, 8, 16, 32, 64, 132, 0)
TEAMS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 132, 0)


def main() -> None:
    """Measure one graph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rmat", default="16:600000", help="SCALE:DRAWS[:N] of an R-MAT graph")
    parser.add_argument("-k", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--batch", type=int, default=300)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    scale, draws, *rest = (int(part) for part in asked.rmat.split(":"))
    graph = rmat_graph(scale, draws, 1, vertices=rest[0] if rest else None)
    index = index_cuda.build_index(graph, index_cuda.rank(graph, Params()).order, Params(), seed=1)
    prepared = CudaPrepared.of(graph, index)
    many = random_sources(graph, asked.batch, 1)

    def spent(sources, shape: Shape) -> float:
        start = time.perf_counter()
        prepared.query(sources, asked.k, shape=shape)
        return time.perf_counter() - start

    found = {"graph": {"rmat": asked.rmat, "n": graph.n, "m": graph.m}, "k": asked.k, "versions": versions()}
    found |= {"alone_ms": {}, "batch_queries_per_s": {}}
    one = [many.part(q, q + 1) for q in range(asked.queries)]
    for blocks in BLOCKS:
        shape = Shape(1, blocks)
        spent(one[0], shape)
        found["alone_ms"][blocks] = float(np.mean([1e3 * spent(source, shape) for source in one]))
        print(f"alone, {blocks or 'default'} blocks: {found['alone_ms'][blocks]:.3f} ms", flush=True)
    for teams in TEAMS:
        shape = Shape(teams, 0)
        spent(many.part(0, 2 * max(1, teams)), shape)
        found["batch_queries_per_s"][teams] = asked.batch / spent(many, shape)
        print(f"batch, {teams or 'default'} teams: {found['batch_queries_per_s'][teams]:.0f} queries/s", flush=True)
    if asked.out is not None:
        asked.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
