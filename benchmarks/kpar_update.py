"""Time how an index of kPAR follows its graph, edge by edge and in batches, beside a rebuild.

    python benchmarks/kpar_update.py rmat20.h5 --threads 2 --out benchmarks/results/kpar-update-cpu.json

Half of the edges of a batch go, drawn from those that are there, and half come, with tail and head of two edges that
are drawn: hubs change as often as they have edges. The index is compared with one made anew after all updates; the
program ends with 1 if an array differs.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numba
import numpy as np

from gpukit.artifacts import read_graph
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.files import write_text
from gpukit.graph.change import change
from gpukit.graph.csr import Graph
from gpukit.kpar.index.build import Index
from gpukit.kpar.problem import Params
from gpukit.kpar.rank import rank
from gpukit.kpar.update.changes import Edges
from gpukit.kpar.update.open_index import OpenIndex
from gpukit.kpar.update.paths import build_updatable, sizes_of
from gpukit.papers.cli.bench_record import command_line

SIZES = {1: 20_000, 100: 30_000, 10_000: 50_000}
"""Edges of a batch, and of all batches of that size: 10⁵ together."""


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path, help="a graph by `gpukit graph import` or `generate`")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the edges that are changed for each size")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    numba.set_num_threads(asked.threads)
    graph = read_graph(asked.graph, transpose=False)
    parts, same = measured(graph, asked)
    record = {
        "benchmark": "kpar-update",
        "command": command_line("python benchmarks/kpar_update.py", sys.argv[1:]),
        "device": choose("cpu", threads=asked.threads).record(),
        "versions": versions(),
        "load": os.getloadavg(),
        "graph": {"name": asked.graph.stem, "n": graph.n, "m": graph.m},
        **parts,
        "same_as_made_anew": same,
    }
    text = json.dumps(record, indent=1) + "\n"
    sys.stdout.write(text)
    if asked.out is not None:
        write_text(asked.out, text)
    return 0 if same else 1


def measured(graph: Graph, asked: argparse.Namespace) -> tuple[dict[str, Any], bool]:
    """Return the times of each part, and whether the index is what it would be if made anew."""
    params, generator, threads = Params(), np.random.default_rng(asked.seed), asked.threads
    sizes = sizes_of(graph, rank(graph, params).order, params)
    tiny = Graph(np.array([0, 1, 2, 2]), np.array([1, 0], np.int32))
    play(tiny, threads)
    index, build = timed(lambda: build_updatable(graph, sizes, params, seed=asked.seed, threads=threads))
    following, opening = timed(lambda: OpenIndex(graph, index, threads))
    parts: dict[str, Any] = {"rebuild": build, "open": opening, "batches": []}
    for size, edges in SIZES.items():
        batches = [batch(graph, size, generator) for _ in range(max(1, int(edges * asked.share) // size))]
        parts["batches"].append({"edges_of_a_batch": size, **updates(following, batches)})
    found, parts["rows_of_open_index"] = timed(following.index)
    after = graph_of(following, graph)
    expected, _ = timed(lambda: build_updatable(after, sizes, params, seed=asked.seed, threads=threads))
    return parts, equal(found, expected)


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what work returns, and its seconds: passed, and of all cores."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}


def updates(following: OpenIndex, batches: list[tuple[Edges, Edges]]) -> dict[str, float]:
    """Return how many edges a second an open index follows."""

    def work() -> tuple[int, int]:
        done = [following.update(*one) for one in batches]
        return sum(len(edges.keys) for edges, _ in done), sum(redrawn for _, redrawn in done)

    (edges, redrawn), seconds = timed(work)
    rates = {"edges_per_s": edges / seconds["wall_s"], "cpu_us_per_edge": 1e6 * seconds["cpu_s"] / edges}
    return {"edges": edges, **rates, "walks_redrawn_per_edge": redrawn / edges}


def batch(graph: Graph, size: int, generator: np.random.Generator) -> tuple[Edges, Edges]:
    """Return edges to add and to remove; a single edge is one or the other by chance."""
    goes = size // 2 if size > 1 else int(generator.integers(2))
    edges, tails, heads = (generator.integers(0, graph.m, count) for count in (goes, size - goes, size - goes))
    remove = Edges.of(tails_of(graph, edges), graph.indices[edges])
    add = Edges.of(tails_of(graph, tails), graph.indices[heads])
    return Edges(np.setdiff1d(add.keys, remove.keys), add.loops), remove


def tails_of(graph: Graph, edges: np.ndarray) -> np.ndarray:
    """Return the tails of edges by their places in the rows."""
    return np.searchsorted(graph.indptr, edges, side="right") - 1


def graph_of(following: OpenIndex, graph: Graph) -> Graph:
    """Return the graph that an open index has come to, by its slot tables."""
    tables, keys = following.tables, []
    for v in np.flatnonzero(tables.where).tolist():
        begin, bits = int(tables.where[v]) >> 16, int(tables.where[v]) & 255
        heads = tables.slots[begin : begin + (1 << bits)]
        keys.append(v << 32 | np.sort(heads[heads >= 0]).astype(np.int64))
    after = np.concatenate(keys)
    before = np.repeat(np.arange(graph.n, dtype=np.int64) << 32, np.diff(graph.indptr)) | graph.indices
    keys_of_both = np.union1d(before, after)
    return change(graph, keys_of_both, np.isin(keys_of_both, after))


def equal(found: Index, expected: Index) -> bool:
    """Say whether all arrays of two indexes are equal."""
    names = [one.name for one in fields(Index) if isinstance(getattr(expected, one.name), np.ndarray)]
    pairs = [(getattr(found, name), getattr(expected, name)) for name in names]
    assert found.paths is not None
    assert expected.paths is not None
    pairs += zip(found.paths, expected.paths, strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def play(graph: Graph, threads: int) -> None:
    """Do everything once, so that compiled code is loaded."""
    sizes = sizes_of(graph, rank(graph).order, Params())
    index = build_updatable(graph, sizes, threads=threads)
    following = OpenIndex(graph, index, threads)
    following.update(Edges.of([1], [2]), Edges.of([0], [1]))
    following.index()


if __name__ == "__main__":
    raise SystemExit(main())
