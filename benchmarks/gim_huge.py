"""Time ``gim run`` on R-MAT graphs of the size of Twitter's and Friendster's crawls, generated on the GPU.

    python benchmarks/gim_huge.py --rmat 26:1900000000:41652230 --weights wc,const:0.02 --out gim-huge.json

Edges are drawn, made unique and turned round on the device; rows and tables are made on the host, as an import does,
and are no part of the times. The certificate alone (``--optimism off``) stops the runs, unless ``--optimism`` says
more.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from gpukit.cli.doctor import versions
from gpukit.device.arrays import on_gpu, xp
from gpukit.device.memory import free_bytes
from gpukit.device.select import choose
from gpukit.files import replacing
from gpukit.gim import Params, maximise
from gpukit.graph.csr import Graph, Weights
from gpukit.graph.kernels import transpose_rows
from gpukit.graph.probabilities import drawn_stored, parse_weights
from gpukit.papers.bench.graphs import PART, rmat_graph
from gpukit.papers.bench.machine import peak_memory, timed_phases
from gpukit.papers.cli.bench_record import command_line
from gpukit.parameters.option import declared
from gpukit.worlds.tables import build_tables

PHASES = ("sampling", "selection", "bounds", "judging")


def main() -> int:
    """Measure, print the record, and write it after each setting if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rmat", required=True, metavar="SCALE:DRAWS:N", help="edges among the first N vertices")
    parser.add_argument("--weights", default="wc", help="schemes, with commas between them")
    parser.add_argument("-k", type=int, default=100)
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--optimism", default="off")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    scale, draws, n = map(int, asked.rmat.split(":"))
    device = choose("cuda", 1)
    start = perf_counter()
    with on_gpu(0):
        out_edges = rmat_graph(scale, draws, asked.seed, vertices=n)
        print(f"generated in {perf_counter() - start:.1f} s", flush=True)
        plain = both_ways(out_edges)
        del out_edges
        xp.get_default_memory_pool().free_all_blocks()
    made = perf_counter() - start
    print(f"n = {plain.n:,}, m = {plain.m:,}, generated and copied in {made:.1f} s", flush=True)
    record: dict[str, Any] = {
        "benchmark": "gim-huge",
        "command": command_line("python benchmarks/gim_huge.py", sys.argv[1:]),
        "device": device.record(),
        "versions": versions(),
        "graph": {"name": f"rmat-{asked.rmat}", "seed": asked.seed, "n": plain.n, "m": plain.m, "made_s": made},
        "runs": [],
    }
    for word in asked.weights.split(","):
        start = perf_counter()
        graph = weighted(plain, parse_weights(word, asked.seed))
        tables = build_tables(graph)
        optimism = declared(Params)["optimism"].of_word(asked.optimism)
        params = Params(k=asked.k, epsilon=asked.epsilon, optimism=optimism, seed=asked.seed)
        ready, free = perf_counter() - start, free_bytes(device)
        print(f"{word}: tables in {ready:.1f} s", flush=True)

        def run(timer: Any, graph: Graph = graph, tables: dict = tables, params: Params = params) -> Any:
            return maximise(graph, params, device, tables=tables, timer=timer)

        times, found = timed_phases(run, device, asked.repeat, PHASES)
        facts = {name: found.facts()[name] for name in ("spread_estimate", "stderr", "guarantee", "guarantee_kind")}
        memory = {"peak_memory": peak_memory(device), "free_before": free}
        setting = {"weights": word, "k": asked.k, "epsilon": asked.epsilon, "optimism": asked.optimism}
        record["runs"].append({**setting, **times, **facts, "rr_sets": found.rr_sets, **memory, "tables_s": ready})
        print(json.dumps(record["runs"][-1], indent=1), flush=True)
        if asked.out:
            with replacing(asked.out) as temporary:
                Path(temporary).write_text(json.dumps(record, indent=1) + "\n")
        xp.get_default_memory_pool().free_all_blocks()
    return 0


def both_ways(graph: Graph) -> Graph:
    """Return a graph whose arrays lie on the GPU with its in-edges, all in host memory."""
    indptr, indices = xp.asnumpy(graph.indptr), xp.asnumpy(graph.indices)
    keys = graph.indices.astype(np.int64) << 32
    for first in range(0, len(keys), PART):
        edges = xp.arange(first, min(first + PART, len(keys)), dtype=np.int64)
        keys[first : first + PART] |= xp.searchsorted(graph.indptr, edges, side="right") - 1
    keys.sort()
    in_indptr = xp.asnumpy(xp.searchsorted(keys, xp.arange(len(indptr), dtype=np.int64) << 32).astype(np.int64))
    return Graph(indptr, indices, in_indptr=in_indptr, in_indices=xp.asnumpy(keys.astype(np.int32)))


def weighted(graph: Graph, weights: Weights) -> Graph:
    """Return a graph with edge probabilities; those that are drawn belong to an edge, whichever way it is looked at."""
    graph = replace(graph, weights=weights)
    if weights.scheme in ("wc", "const"):
        return graph
    words = drawn_stored(weights, graph.indptr, graph.indices)
    _, _, in_words = transpose_rows(graph.indptr, graph.indices, words, room=graph.in_indices)
    return replace(graph, probabilities=words, in_probabilities=in_words)


if __name__ == "__main__":
    sys.exit(main())
