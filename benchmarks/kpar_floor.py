"""Measure what the memory accesses of kPAR queries alone take on a GPU: a floor for any kernel that makes them.

    python benchmarks/kpar_floor.py --rmat 22:75000000 -k 10,100,1000 --out benchmarks/results/kpar-floor-h100.json

Four queries at a time are followed on the CPU; the GPU then repeats what they read and write at random places, all of a
kind in one launch, with nothing in between: no frontier, no barrier, no list, no test. ``arrays`` are residue, reserve
and unit in an array each, of 8 bytes; ``records`` have those of a vertex side by side, in one sector of 32 bytes. kPAR
beats this floor in start lists: its units have 2 bytes, and a sector has those of sixteen queries.
Passes over the vertices met are made in the order in which they were met, and ``in_order`` of their ids.
"""

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from numba import int64

from gpukit.cli.doctor import versions
from gpukit.device.arrays import Buffer, on_gpu, synchronise
from gpukit.device.compiled import njit
from gpukit.device.kernels import cuda, kernel
from gpukit.device.launch import launch
from gpukit.device.select import choose, simulated
from gpukit.files import write_text
from gpukit.kpar import Params, rank_cuda
from gpukit.kpar.groups import edges_of
from gpukit.kpar.index import build_cuda
from gpukit.kpar.problem import Sources
from gpukit.kpar.query import answer_cpu
from gpukit.kpar.query.answer import Prepared
from gpukit.kpar.rule import threshold_of
from gpukit.papers.bench.graphs import rmat_graph
from gpukit.papers.bench.kpar import on_host, random_sources
from gpukit.papers.bench.machine import timed
from gpukit.papers.cli.bench_record import command_line

SEED = 1
TOGETHER = 4
"""Queries whose accesses a launch makes, and whose units of a vertex are a sector of 32 bytes."""

BLOCK, BLOCKS = (4, TOGETHER) if simulated() else (512, 264)
AHEAD = 4 if simulated() else 8
"""Places that a thread looks up before it uses the first."""

RESIDUE, RESERVE, UNIT, WALKED, RECORD = 0, 1, 2, 3, 4
"""Words of a record, and its length."""


_LISTS, _ROW, _INT = "int32[:, ::1]", "int64[::1]", "int64"


class Accesses(NamedTuple):
    """What four queries touch: heads of the edges pushed along, vertices met, entries of start lists each and of all.

    int32 arrays, one for each query, and one for the lists of all that are a candidate of any.
    """

    heads: list[np.ndarray]
    met: list[np.ndarray]
    entries: list[np.ndarray]
    union: np.ndarray


@kernel((_LISTS, _ROW, _INT, _INT, _ROW, _ROW))
def push(heads, sizes, n, stride, words, sums):
    """Add to the residue of each of ``heads`` (int32, (4, most)); a block belongs to a query, ``blockIdx.x % 4``.

    A head costs 4 bytes read in sequence and an atomic add of 8 bytes that returns what was there.
    """
    q = cuda.blockIdx.x % TOGETHER
    members = cuda.gridDim.x // TOGETHER * cuda.blockDim.x
    i = int64(cuda.blockIdx.x // TOGETHER * cuda.blockDim.x + cuda.threadIdx.x)
    base, total = q * n, int64(0)
    while i + 3 * members < sizes[q]:
        first, second = heads[q, i], heads[q, i + members]
        third, fourth = heads[q, i + 2 * members], heads[q, i + 3 * members]
        total += cuda.atomic.add(words, (base + first) * stride, 1)
        total += cuda.atomic.add(words, (base + second) * stride, 1)
        total += cuda.atomic.add(words, (base + third) * stride, 1)
        total += cuda.atomic.add(words, (base + fourth) * stride, 1)
        i += 4 * members
    sums[cuda.grid(1)] = total


@kernel(("int32[::1]", _INT, _ROW, _ROW))
def read_lists(entries, lanes, units, sums):
    """Add up the units of ``entries`` (int32): ``lanes`` neighbouring threads read those of a vertex, side by side."""
    rank, members = cuda.grid(1), cuda.gridsize(1) // lanes
    lane, total = rank % lanes, int64(0)
    i = int64(rank // lanes)
    places = cuda.local.array(AHEAD, int64)
    while i + (AHEAD - 1) * members < len(entries):
        for j in range(AHEAD):
            places[j] = int64(entries[i + j * members]) * lanes + lane
        for j in range(AHEAD):
            total += units[places[j]]
        i += AHEAD * members
    sums[rank] = total


@kernel((_LISTS, _ROW, _INT, _ROW, _ROW, _ROW, "uint32[::1]", _ROW))
def value_arrays(met, sizes, n, residue, reserve, unit, counts, sums):
    """Read residue, reserve and ω of each vertex met, and write its unit; three arrays of 8 bytes and one of 4."""
    q = cuda.blockIdx.x % TOGETHER
    members = cuda.gridDim.x // TOGETHER * cuda.blockDim.x
    i = int64(cuda.blockIdx.x // TOGETHER * cuda.blockDim.x + cuda.threadIdx.x)
    total = int64(0)
    while i < sizes[q]:
        v = int64(met[q, i])
        total += reserve[q * n + v]
        unit[q * n + v] = residue[q * n + v] + int64(counts[v])
        i += members
    sums[cuda.grid(1)] = total


@kernel((_LISTS, _ROW, _INT, _ROW, _ROW))
def value_records(met, sizes, n, records, sums):
    """Read and write the same where a record has all four, with ω in the place of WALKED."""
    q = cuda.blockIdx.x % TOGETHER
    members = cuda.gridDim.x // TOGETHER * cuda.blockDim.x
    i = int64(cuda.blockIdx.x // TOGETHER * cuda.blockDim.x + cuda.threadIdx.x)
    total = int64(0)
    while i < sizes[q]:
        at = (q * n + int64(met[q, i])) * RECORD
        total += records[at + RESERVE]
        records[at + UNIT] = records[at + RESIDUE] + records[at + WALKED]
        i += members
    sums[cuda.grid(1)] = total


@kernel((_LISTS, _ROW, _INT, _ROW, _ROW, _ROW))
def clean_arrays(met, sizes, n, residue, reserve, unit):
    """Set residue, reserve and unit of each vertex met to zero."""
    q = cuda.blockIdx.x % TOGETHER
    members = cuda.gridDim.x // TOGETHER * cuda.blockDim.x
    i = int64(cuda.blockIdx.x // TOGETHER * cuda.blockDim.x + cuda.threadIdx.x)
    while i < sizes[q]:
        at = q * n + int64(met[q, i])
        residue[at] = 0
        reserve[at] = 0
        unit[at] = 0
        i += members


@kernel((_LISTS, _ROW, _INT, _ROW))
def clean_records(met, sizes, n, records):
    """Set the same to zero in records."""
    q = cuda.blockIdx.x % TOGETHER
    members = cuda.gridDim.x // TOGETHER * cuda.blockDim.x
    i = int64(cuda.blockIdx.x // TOGETHER * cuda.blockDim.x + cuda.threadIdx.x)
    while i < sizes[q]:
        at = (q * n + int64(met[q, i])) * RECORD
        records[at + RESIDUE] = 0
        records[at + RESERVE] = 0
        records[at + UNIT] = 0
        i += members


@njit
def list_rows(items, size, begin, indices, out, at):
    """Append the rows of ``items[:size]`` to ``out`` from ``at`` on; returns where they end."""
    for j in range(size):
        for e in range(begin[items[j]], begin[items[j] + 1]):
            out[at] = indices[e]
            at += 1
    return at


@njit
def candidates(k, met, walks, threshold, ws):
    """Return the number of candidates, listed in the workspace, after a push."""
    size, _, _ = answer_cpu.value_walks(met, 1, threshold.coarse, walks.row_begin, None, ws)
    return answer_cpu.propose(size, k, met, walks, threshold, None, ws)[1]


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rmat", default="22:75000000", help="SCALE:DRAWS of a graph that is made on the GPU")
    parser.add_argument("-k", default="100", help="lengths of answers, several with commas between them")
    parser.add_argument("--queries", type=int, default=16, help=f"a multiple of {TOGETHER}")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    device, params, runs = choose("cuda"), Params(), []
    with on_gpu(0):
        graph = rmat_graph(*map(int, asked.rmat.split(":")), SEED)
        index = build_cuda.build_index(graph, rank_cuda.rank(graph, params).order, params, seed=SEED)
        sources = random_sources(graph, asked.queries, SEED)
        prepared = Prepared.of(on_host(graph), build_cuda.on_host(index))
        for k in map(int, asked.k.split(",")):
            each = [
                measured(accesses_of(sources.part(first, first + TOGETHER), k, prepared), prepared, asked.repeat)
                for first in range(0, len(sources), TOGETHER)
            ]
            runs.append({"k": k} | {name: float(np.mean([one[name] for one in each])) for name in each[0]})
            print(json.dumps(runs[-1]), flush=True)
    record = {
        "benchmark": "kpar-floor",
        "command": command_line("python benchmarks/kpar_floor.py", sys.argv[1:]),
        "device": device.record(),
        "versions": versions(),
        "graph": {"name": f"rmat-{asked.rmat}", "seed": SEED, "n": graph.n, "m": graph.m},
        "params": {"epsilon": params.epsilon, "alpha": params.alpha, "queries": asked.queries},
        "note": "means of a query, in microseconds; those of the first step, where nearly all queries end",
        "runs": runs,
    }
    if asked.out is not None:
        write_text(asked.out, json.dumps(record, indent=1) + "\n")
    return 0


def accesses_of(sources: Sources, k: int, prepared: Prepared) -> Accesses:
    """Follow queries on the CPU to their first test."""
    graph, index = prepared.graph, prepared.index
    walks, batch = prepared.walks(), answer_cpu.Batch(sources.offsets, sources.vertices, sources.mass.view(np.int64))
    edges, ws = edges_of(graph, index.params), answer_cpu.workspace(index.walks, index.arrivals)
    rho = prepared.schedule(k, False)[1][0][0]
    threshold = threshold_of(rho)
    heads, met, found, entries = [], [], [], []
    for q in range(len(sources)):
        size = reached = answer_cpu.begin(q, batch, ws)
        frontier, upcoming = ws.frontier, ws.upcoming
        pushed = []
        while size > 0:
            pushed.append(rows_of(frontier[:size], graph.indptr, graph.indices))
            size, reached, _ = answer_cpu.push_round(
                frontier, size, upcoming, reached, threshold, edges, prepared.chances, ws
            )
            frontier, upcoming = upcoming, frontier
        heads.append(np.concatenate(pushed))
        met.append(ws.touched[:reached].copy())
        found.append(ws.candidates[: candidates(k, reached, walks, threshold, ws)].copy())
        entries.append(rows_of(found[-1], index.src_begin, index.starts))
        answer_cpu.leave_clean(reached, ws)
    return Accesses(heads, met, entries, rows_of(np.unique(np.concatenate(found)), index.src_begin, index.starts))


def rows_of(items: np.ndarray, begin: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the rows of some vertices, one after the other (int32)."""
    out = np.empty(int((begin[items + 1] - begin[items]).sum()), np.int32)
    list_rows(items, len(items), begin, indices, out, 0)
    return out


def measured(accesses: Accesses, prepared: Prepared, repeat: int) -> dict[str, float]:
    """Return the means of one of four queries: what it touches, and the microseconds of each kind of access."""
    n = prepared.graph.n
    heads = side_by_side(accesses.heads)
    pushed, reached = (Buffer(np.array([len(one) for one in part])) for part in accesses[:2])
    residue, reserve, unit = (Buffer(TOGETHER * n, np.int64, 0) for _ in range(3))
    records, counts = Buffer(TOGETHER * n * RECORD, np.int64, 0), Buffer(prepared.index.walks)
    sums, union, alone = Buffer(BLOCK * BLOCKS, np.int64), Buffer(accesses.union), list(map(Buffer, accesses.entries))

    def read_alone() -> None:
        for entries in alone:
            launch(read_lists, BLOCKS, BLOCK, entries.view, 1, unit.view, sums.view)

    pushes = BLOCKS, BLOCK, heads.view, pushed.view, n
    ways = {
        "push_arrays": lambda: launch(push, *pushes, 1, residue.view, sums.view),
        "push_records": lambda: launch(push, *pushes, RECORD, records.view, sums.view),
        "lists_together": lambda: launch(read_lists, BLOCKS, BLOCK, union.view, TOGETHER, records.view, sums.view),
        "lists_alone": read_alone,
    }
    arrays = residue.view, reserve.view, unit.view
    orders = {"": side_by_side(accesses.met), "_in_order": side_by_side([np.sort(one) for one in accesses.met])}
    for order, met in orders.items():
        passes = BLOCKS, BLOCK, met.view, reached.view, n
        ways |= {
            f"value_arrays{order}": partial(launch, value_arrays, *passes, *arrays, counts.view, sums.view),
            f"value_records{order}": partial(launch, value_records, *passes, records.view, sums.view),
            f"clean_arrays{order}": partial(launch, clean_arrays, *passes, *arrays),
            f"clean_records{order}": partial(launch, clean_records, *passes, records.view),
        }
    found = {
        "edges_pushed": sum(map(len, accesses.heads)) / TOGETHER,
        "vertices_met": sum(map(len, accesses.met)) / TOGETHER,
        "entries": sum(map(len, accesses.entries)) / TOGETHER,
        "entries_of_all": len(accesses.union) / TOGETHER,
    }
    for name, way in ways.items():
        each = [timed(lambda way=way: (way(), synchronise(0)))[0] for _ in range(repeat + 1)][1:]
        found[name] = 1e6 * median(each) / TOGETHER
    # Of each kind, the quickest way.
    for kept in ("arrays", "records"):
        kinds = (f"push_{kept}",), ("lists_together", "lists_alone"), *both_orders(kept)
        found[f"floor_{kept}"] = sum(min(found[name] for name in names) for names in kinds)
    return found


def both_orders(kept: str) -> list[tuple[str, str]]:
    """Return the names of the passes over the vertices met, in both orders."""
    return [(f"{kind}_{kept}", f"{kind}_{kept}_in_order") for kind in ("value", "clean")]


def side_by_side(parts: list[np.ndarray]) -> Buffer:
    """Return arrays as the rows of one on the GPU, the shorter ones with zeros behind them."""
    rows = np.zeros((len(parts), max(map(len, parts))), np.int32)
    for row, part in zip(rows, parts, strict=True):
        row[: len(part)] = part
    return Buffer(rows)


if __name__ == "__main__":
    sys.exit(main())
