"""Time whole commands, from the start of the process to its end: ``gpukit gim run`` with a warm kernel cache.

    python benchmarks/cold_start.py soc-Epinions1.h5 --device cpu --out benchmarks/results/cold-start-cpu.json

Each run is a process of its own; one before them, which is not counted, fills the kernel cache and the file cache.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from gpukit.artifacts import read_graph_file
from gpukit.cli.bench_record import command_line, graph_facts
from gpukit.cli.doctor import versions
from gpukit.files import write_text

K = 50


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--runs", type=int, default=15, help="timed processes, at least 1")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if asked.runs < 1:
        parser.error(f"--runs is {asked.runs}; at least 1 is needed")
    load = os.getloadavg()
    with tempfile.TemporaryDirectory() as folder:
        words = ["gim", "run", str(asked.graph), "--out", f"{folder}/seeds.h5", "-k", str(K)]
        words += ["--device", asked.device, "--json"]
        each, inside = [], []
        for _ in range(asked.runs + 1):
            start = time.perf_counter()
            done = subprocess.run([sys.executable, "-m", "gpukit", *words], capture_output=True, text=True)
            each.append(time.perf_counter() - start)
            if done.returncode:
                sys.stderr.write(done.stderr)
                return done.returncode
            found = json.loads(done.stdout)
            inside.append(found["time_s"]["total"])
    first, *each = each
    graph, digest, _ = read_graph_file(asked.graph)
    run = {
        "graph": graph_facts(asked.graph, graph, digest),
        "command": command_line("gpukit", words),
        "params": found["params"],
        "process_s": {"first": first, "median": median(each), "min": min(each), "max": max(each), "each": each},
        "command_s": {"median": median(inside[1:]), "min": min(inside[1:]), "max": max(inside[1:])},
    }
    record = {
        "benchmark": "cold-start",
        "command": command_line("python benchmarks/cold_start.py", sys.argv[1:]),
        "device": found["device"],
        "versions": versions(),
        "load_average": {"before": load, "after": os.getloadavg()},
        "runs": [run],
    }
    text = json.dumps(record, indent=1) + "\n"
    print(text, end="")
    if asked.out:
        write_text(asked.out, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
