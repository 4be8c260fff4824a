"""Time OPIM-C on a GPU, and what of it is the GPU's, at parts of the GPU for the sets that judge.

    python benchmarks/opim_chain.py soc-Epinions1.h5 rmat22.h5 --shares 1/4,1/5 --out opim-chain.json

Settings take turns run by run, in an order drawn anew each time. What the GPU takes is measured by events in runs in
which a kernel that spins comes first, so that all is launched when it ends: from its end to that of the last copy.
``wall_us`` is of runs without it, on the host. ``loop_us`` is a loop of Python before and after, since the CPUs of a
machine may differ by as much as two to one.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import shuffle
from statistics import quantiles
from typing import Any

import cupy
import numpy as np

from gpukit.cli.doctor import versions
from gpukit.device.arrays import synchronise
from gpukit.device.select import choose
from gpukit.files import replacing
from gpukit.gim import run as run_module
from gpukit.gim.problem import Params
from gpukit.papers.cli.bench_record import command_line, each_graph
from gpukit.papers.gim import maximise
from gpukit.worlds import collection_cuda

PARAMS = Params(k=50, epsilon=0.05, bound="opim", min_sets=200_000, seed=1, sets="plain", optimism=None)
"""Those of the records of `gpukit papers bench gim` for OPIM-C alone."""

RECORDED = "k", "epsilon", "model", "bound", "min_sets", "sets", "seed"

SPINNING = 8_000_000
"""Clock cycles in which the host launches all: some milliseconds."""

WARM = 10
"""Turns that do not count: the first compiles."""

spin = cupy.RawKernel(
    'extern "C" __global__ void spin(long long cycles) { long long t = clock64(); while (clock64() - t < cycles); }',
    "spin",
)


class Chain:
    """Takes the place of :func:`gpukit.gim.opim.opim` in a run, and notes what it takes.

    Attributes
    ----------
    spinning : bool
        Whether a kernel that spins comes first.
    us : float
        Of the last run: of the GPU if it did, of the host if not.
    """

    def __init__(self) -> None:
        self.spinning, self.us = False, 0.0
        self._opim, self._read, self._end = run_module.opim, collection_cuda.begin_to_read, cupy.cuda.Event()
        run_module.opim, collection_cuda.begin_to_read = self._run, self._begin_to_read

    def _run(self, *args: Any, **more: Any) -> Any:
        synchronise(0)
        begin = cupy.cuda.Event()
        if self.spinning:
            spin((1,), (1,), (np.int64(SPINNING),))
        begin.record()
        start = time.perf_counter()
        found = self._opim(*args, **more)
        wall = 1e6 * (time.perf_counter() - start)
        self.us = 1e3 * cupy.cuda.get_elapsed_time(begin, self._end) if self.spinning else wall
        return found

    def _begin_to_read(self, *arrays: Any) -> Callable[[], list[np.ndarray]]:
        read = self._read(*arrays)
        self._end.record()
        return read


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="+", type=Path)
    parser.add_argument("--shares", default="1/4", help="parts of the GPU, several with commas between them")
    parser.add_argument("--repeat", type=int, default=45, help="runs of each setting, with and without that kernel")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    device, chain, before = choose("cuda", 1), Chain(), loop_us()
    runs: list[dict[str, Any]] = []
    for _, facts, graph, tables in each_graph(asked.graphs, tables=True):
        seeds: set[tuple[int, ...]] = set()
        spent: dict[str, dict[str, list[float]]] = {s: {"wall_us": [], "gpu_us": []} for s in asked.shares.split(",")}
        settings = [(share, spinning) for share in spent for spinning in (False, True)]
        for turn in range(-WARM, asked.repeat):
            shuffle(settings)
            for share, spinning in settings:
                collection_cuda.SIDE_SHARE, chain.spinning = float(Fraction(share)), spinning
                seeds.add(tuple(maximise(graph, PARAMS, device, tables=tables).seeds.tolist()))
                if turn >= 0:
                    spent[share]["gpu_us" if spinning else "wall_us"].append(chain.us)
        assert len(seeds) == 1, seeds
        runs.append({
            "graph": facts,
            "shares": {share: {name: spread(values) for name, values in of.items()} for share, of in spent.items()},
        })  # fmt: skip
        print(json.dumps(runs[-1]), flush=True)
    command = command_line("python benchmarks/opim_chain.py", [str(path) for path in asked.graphs])
    record = {
        "benchmark": "opim-chain",
        "command": f"{command} --shares {asked.shares} --repeat {asked.repeat}",
        "device": device.record(),
        "versions": versions(),
        "params": {name: getattr(PARAMS, name) for name in RECORDED},
        "loop_us": [before, loop_us()],
        "runs": runs,
    }
    if asked.out:
        with replacing(asked.out) as temporary:
            Path(temporary).write_text(json.dumps(record, indent=1) + "\n")
    return 0


def spread(values: list[float]) -> dict[str, float]:
    """Return least, first quartile and median."""
    quarter, median, _ = quantiles(values, n=4)
    return {"median": round(median, 1), "first_quartile": round(quarter, 1), "min": round(min(values), 1)}


def loop_us() -> float:
    """Return the least of some times of a loop of Python, in microseconds."""
    best = float("inf")
    for _ in range(9):
        start, total = time.perf_counter(), 0
        for i in range(20_000):
            total += i
        best = min(best, time.perf_counter() - start)
    return round(1e6 * best, 1)


if __name__ == "__main__":
    sys.exit(main())
