"""Measure how many reads and atomic adds a second a GPU does at random places, by how much memory these are in.

    python benchmarks/random_access.py --repeat 5 --out benchmarks/results/random-access-h100.json

What walks, pushes and RR sets wait for. Each thread takes every so-manieth place of a list, four at a time, as the
kernels of gpukit do. Places are drawn uniformly: a graph with hubs, whose words stay in the caches, is better off.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numba import int64

from gpukit.cli.doctor import versions
from gpukit.device.arrays import Buffer, on_gpu, synchronise, xp
from gpukit.device.kernels import cuda, kernel
from gpukit.device.launch import launch
from gpukit.device.select import choose
from gpukit.files import write_text
from gpukit.papers.bench.machine import copy_bandwidth, timed
from gpukit.papers.cli.bench_record import command_line

BLOCK, BLOCKS = 512, 528
AT_ONCE = 4
"""Places a thread looks up before it uses the first."""

SIZES = (1, 4, 16, 32, 64, 128, 256, 1024)
"""Mebibytes that the places are in."""


@kernel(*(("int32[::1]", f"{kind}[::1]", "int64[::1]") for kind in ("uint8", "int64")))
def read(places, table, sums):
    """Add up ``table`` (uint8 or int64) at ``places`` (int32); a thread owns each so-manieth of them.

    A place costs 4 bytes read in sequence and a read of one word at random.
    """
    members = cuda.gridDim.x * cuda.blockDim.x
    rank = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    total = int64(0)
    i = int64(rank)
    while i + (AT_ONCE - 1) * members < len(places):
        first, second = places[i], places[i + members]
        third, fourth = places[i + 2 * members], places[i + 3 * members]
        total += int64(table[first]) + int64(table[second]) + int64(table[third]) + int64(table[fourth])
        i += AT_ONCE * members
    sums[rank] = total


@kernel(("int32[::1]", "int64[::1]", "int64[::1]"))
def add(places, table, sums):
    """Add one to ``table`` (int64) at each of ``places`` (int32), atomically; a thread owns each so-manieth of them."""
    members = cuda.gridDim.x * cuda.blockDim.x
    rank = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    i = int64(rank)
    while i < len(places):
        cuda.atomic.add(table, places[i], 1)
        i += members
    sums[rank] = 0


WAYS = {"read_1_byte": (read, np.uint8), "read_8_bytes": (read, np.int64), "atomic_add_8_bytes": (add, np.int64)}


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accesses", type=int, default=1 << 28)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="MiB, with commas between them")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    device, runs = choose("cuda"), []
    with on_gpu(0):
        sums = Buffer(BLOCK * BLOCKS, np.int64)
        for size in map(int, asked.sizes.split(",")):
            run: dict[str, Any] = {"mib": size}
            for way, (kind, dtype) in WAYS.items():
                table = Buffer((size << 20) // np.dtype(dtype).itemsize, dtype, 0)
                places = drawn(asked.accesses, len(table.array))
                each = [once(kind, places, table, sums) for _ in range(asked.repeat + 1)][1:]
                run[way] = {
                    "per_s": asked.accesses / median(each),
                    "each_ms": [1e3 * seconds for seconds in each],
                }
            runs.append(run)
            print(json.dumps(run), flush=True)
        bandwidth = copy_bandwidth(device)
    record = {
        "benchmark": "random-access",
        "command": command_line("python benchmarks/random_access.py", sys.argv[1:]),
        "device": device.record(),
        "versions": versions(),
        "accesses": asked.accesses,
        "copy_bytes_per_s": bandwidth,
        "runs": runs,
    }
    if asked.out is not None:
        write_text(asked.out, json.dumps(record, indent=1) + "\n")
    return 0


def drawn(count: int, n: int) -> Buffer:
    """Return uniform places 0 … n - 1 on the GPU, int32."""
    places = Buffer(count, np.int32)
    part = 1 << 26
    for first in range(0, count, part):
        last = min(first + part, count)
        places.array[first:last] = xp.random.randint(0, n, last - first, dtype=np.int32)
    return places


def once(kind: Any, places: Buffer, table: Buffer, sums: Buffer) -> float:
    """Launch once and return the seconds."""

    def run() -> None:
        launch(kind, BLOCKS, BLOCK, places.view, table.view, sums.view)
        synchronise(0)

    return timed(run)[0]


if __name__ == "__main__":
    sys.exit(main())
