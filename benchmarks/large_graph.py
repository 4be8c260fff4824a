"""Take a graph of any size from draws to answers: Parquet, import, gIM and kPAR, each a command of its own.

    python benchmarks/large_graph.py --rmat 25:1700000000 --folder /tmp/large --out large-graph.json

The draws of the R-MAT are made on the GPU and written as they come, with loops and repeats. Of each command the record
has its time, the most host memory it took (of the kernel, by ``wait4``), the most that the first GPU held at any of the
moments at which ``nvidia-smi`` was asked, contexts included, and what it printed as JSON, lists left out.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from gpukit.cli.doctor import versions
from gpukit.device.arrays import on_gpu, on_host
from gpukit.files import write_text
from gpukit.papers.bench.graphs import rmat_draws
from gpukit.papers.cli.bench_record import command_line

PART = 1 << 26
"""Draws that are written at a time."""

GROUP = 1 << 24
"""Rows of a row group."""

AFTER = ("gim run", "kpar rank", "kpar index", "kpar query")
"""The commands after the import."""

ASKED_MS = 50
"""How often ``nvidia-smi`` tells the memory in use."""


def main() -> int:
    """Run the commands, print the record, and write it after each if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rmat", required=True, metavar="SCALE:DRAWS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, required=True, help="room for files of some 20 bytes an edge")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--gpu-memory", metavar="BYTES", help="the most that a command may take of the GPU")
    parser.add_argument("-k", default="50,1000", metavar="SEEDS,ANSWERS")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--commands", default=",".join(AFTER), help="after the import; by default all")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if unknown := set(asked.commands.split(",")) - set(AFTER):
        parser.error(f"--commands has {', '.join(sorted(unknown))}; {', '.join(AFTER)} are there")
    asked.folder.mkdir(parents=True, exist_ok=True)
    scale, draws = map(int, asked.rmat.split(":"))
    edges, graph, rank, walks, seeds, answers = (
        str(asked.folder / name) for name in ("e.parquet", "g.h5", "r.h5", "w.h5", "s.h5", "a.h5")
    )
    start = perf_counter()
    # A process of its own gives the GPU back.
    drawing = multiprocessing.get_context("spawn").Process(target=draw, args=(edges, scale, draws, asked.seed))
    drawing.start()
    drawing.join()
    if drawing.exitcode:
        return 1
    record: dict[str, Any] = {
        "benchmark": "large-graph",
        "command": command_line("python benchmarks/large_graph.py", sys.argv[1:]),
        "versions": versions(),
        "threads": os.cpu_count(),
        "drawn": {"draws": draws, "seconds": perf_counter() - start, "bytes": os.path.getsize(edges)},
        "commands": {},
    }
    k_seeds, k_answers = asked.k.split(",")
    on = ("--device", asked.device, *(("--gpu-memory", asked.gpu_memory) if asked.gpu_memory else ()))
    for name, *words in (
        ("import", "graph", "import", edges, "--out", graph),
        ("gim run", "gim", "run", graph, "-k", k_seeds, "--out", seeds, *on),
        ("kpar rank", "kpar", "rank", graph, "--out", rank, *on),
        ("kpar index", "kpar", "index", graph, "--rank", rank, "--out", walks, *on),
        ("kpar query", "kpar", "query", graph, "--index", walks, "--random", str(asked.queries), "--out-edges",
         "-k", k_answers, "--out", answers, *on),
    ):  # fmt: skip
        if name != "import" and name not in asked.commands.split(","):
            continue
        record["commands"][name] = found = measured(words)
        print(name, json.dumps(found), flush=True)
        failed = found["exit_code"]
        if name == "import" and not failed:
            os.unlink(edges)
            n, m = found["printed"]["graph"]["n"], found["printed"]["graph"]["m"]
            record["csr_bytes"] = 4 * m + 8 * (n + 1)
        if asked.out:
            write_text(asked.out, json.dumps(record, indent=1) + "\n")
        if failed:
            return 1
    print(json.dumps(record, indent=1))
    return 0


def draw(path: str, scale: int, draws: int, seed: int) -> None:
    """Write the draws of an R-MAT that are no loops as columns ``source`` and ``target`` of 32 bits."""
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema([("source", pyarrow.int32()), ("target", pyarrow.int32())])
    options: dict[str, Any] = {"use_dictionary": False, "compression": "none", "write_statistics": False}
    with on_gpu(0), parquet.ParquetWriter(path, schema, **options) as file:
        keys = rmat_draws(scale, draws, seed)
        for first in range(0, draws, PART):
            part = keys[first : first + PART]
            part = part[part >= 0]
            ends = [on_host(end.astype("int32")) for end in (part >> 32, part & 0xFFFFFFFF)]
            file.write_table(pyarrow.table(ends, schema=schema), row_group_size=GROUP)


def measured(words: Sequence[str]) -> dict[str, Any]:
    """Run a command of gpukit; return its time, its peaks of memory, and what it printed."""
    with Watch() as watch:
        start = perf_counter()
        process = subprocess.Popen(["gpukit", *words, "--json"], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = perf_counter() - start
    printed = json.loads(said) if said else {}
    return {
        "command": "gpukit " + " ".join(Path(word).name if "/" in word else word for word in words),
        "exit_code": os.waitstatus_to_exitcode(status),
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "host_peak_bytes": usage.ru_maxrss * 1024,
        "gpu_peak_bytes": watch.peak,
        "printed": {name: value for name, value in printed.items() if not isinstance(value, list)},
    }


class Watch:
    """Asks ``nvidia-smi`` for the memory of the first GPU in use, again and again; ``peak`` is None without one."""

    peak: int | None = None

    def __enter__(self) -> "Watch":
        ask = ["nvidia-smi", "--id=0", "--query-gpu=memory.used", "--format=csv,noheader,nounits", f"-lms={ASKED_MS}"]
        try:
            self._asking = subprocess.Popen(ask, stdout=subprocess.PIPE, text=True)
        except FileNotFoundError:
            self._asking = None
        return self

    def __exit__(self, *error: object) -> None:
        if self._asking is not None:
            self._asking.terminate()
            said = self._asking.communicate()[0].split()
            self.peak = max(map(int, said), default=0) << 20


if __name__ == "__main__":
    sys.exit(main())
