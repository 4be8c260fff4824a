"""What a table in memory costs: a graph from a frame, 50 seeds of it, and the graph back as a table, in seconds.

    python benchmarks/frames.py --vertices 4847571 --edges 68993773 --out frames.json

The edges are those of an R-MAT. Each library's frame has two int64 columns; Polars and DuckDB are timed where they are
installed. All steps run in this process, after a small graph has loaded all code.
"""

import argparse
import importlib.util
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gpukit as gk
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.files import write_text
from gpukit.graph.generators import rmat


def main() -> None:
    """Measure, print, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, default=4_847_571)
    parser.add_argument("--edges", type=int, default=68_993_773)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    runs = []
    for n, m in ((100, 500), (asked.vertices, asked.edges)):
        tails, heads, _ = rmat(vertices=n, edges=m, seed=1)
        tails, heads = tails.astype(np.int64), heads.astype(np.int64)
        for name, make in _frames(tails, heads).items():
            for number in range(asked.repeat if m == asked.edges else 1):
                run = {"frame": name, "run": number} | _timed(make())
                if m == asked.edges:
                    runs.append(run)
                    print(json.dumps(run), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    record = {
        "benchmark": "frames",
        "command": "python benchmarks/frames.py " + " ".join(sys.argv[1:]),
        "date": time.strftime("%Y-%m-%d"),
        "load": os.getloadavg()[0],
        "versions": versions(),
        "device": choose("cpu").record(),
        "peak_bytes": peak,
        "runs": runs,
    }
    if asked.out:
        write_text(asked.out, json.dumps(record, indent=1) + "\n")


def _frames(tails: np.ndarray, heads: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Return what makes a frame of the edges, for each library that is installed."""
    import pandas as pd
    import pyarrow as pa

    made: dict[str, Callable[[], Any]] = {
        "pandas": lambda: pd.DataFrame({"from": tails, "to": heads}),
        "pyarrow": lambda: pa.table({"from": tails, "to": heads}),
    }
    if importlib.util.find_spec("polars"):
        import polars as pl

        made["polars"] = lambda: pl.DataFrame({"from": tails, "to": heads})
    if importlib.util.find_spec("duckdb"):
        import duckdb

        made["duckdb"] = lambda: duckdb.from_arrow(made["pyarrow"]()).to_arrow_table()
    return made


def _timed(frame: Any) -> dict[str, float]:
    """Return the seconds of each step."""
    spent, clock = {}, time.perf_counter()

    def step(name: str) -> None:
        nonlocal clock
        spent[name], clock = round(time.perf_counter() - clock, 3), time.perf_counter()

    graph = (gk.from_pandas if type(frame).__module__.startswith("pandas") else gk.from_arrow)(frame, "from", "to")
    step("from_frame_s")
    gk.influence_maximization(graph, k=50, device="cpu", seed=1)
    step("seeds_s")
    graph.to_arrow()
    step("to_arrow_s")
    return spent


if __name__ == "__main__":
    main()
