"""Time whole commands, from the start of the process to its end: the help, ``gpukit gim run``, and its first run.

    python benchmarks/cold_start.py soc-Epinions1.h5 --device cpu --out benchmarks/results/cold-start-cpu.json

Each run is a process of its own; one before them, which is not counted, fills the kernel cache and the file cache. The
first run ever has an empty kernel cache. Times of the processor stand beside those of the clock, since a machine may
have other users.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from gpukit.artifacts import read_graph_file
from gpukit.cli.doctor import versions
from gpukit.files import write_text
from gpukit.papers.cli.bench_record import command_line, graph_facts

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
        first, *each = (_timed(words) for _ in range(asked.runs + 1))
        help_ = [_timed(["--help"]) for _ in range(asked.runs)]
        ever = _timed(words, {"NUMBA_CACHE_DIR": f"{folder}/cache"})
    said = [json.loads(one["stdout"]) for one in each]
    found, inside = said[-1], [one["time_s"]["total"] for one in said]
    graph, digest, _ = read_graph_file(asked.graph)
    run = {
        "graph": graph_facts(asked.graph, graph, digest),
        "command": command_line("gpukit", words),
        "params": found["params"],
        "process_s": {"first": first["wall"], **_spread([one["wall"] for one in each])},
        "processor_s": _spread([one["cpu"] for one in each]),
        "command_s": {"median": median(inside), "min": min(inside), "max": max(inside)},
        "first_run_ever": {"process_s": ever["wall"], "processor_s": ever["cpu"], "said": ever["stderr"].splitlines()},
    }
    record = {
        "benchmark": "cold-start",
        "command": command_line("python benchmarks/cold_start.py", sys.argv[1:]),
        "device": found["device"],
        "versions": versions(),
        "load_average": {"before": load, "after": os.getloadavg()},
        "help": {
            "process_s": _spread([one["wall"] for one in help_]),
            "processor_s": _spread([one["cpu"] for one in help_]),
        },
        "runs": [run],
    }
    text = json.dumps(record, indent=1) + "\n"
    print(text, end="")
    if asked.out:
        write_text(asked.out, text)
    return 0


def _timed(words: list[str], more: dict[str, str] | None = None) -> dict[str, Any]:
    """Run a command; return its seconds by the clock and of the processor, and what it printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "gpukit", *words]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(more or {})})
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu, "stdout": done.stdout, "stderr": done.stderr}


def _spread(each: list[float]) -> dict[str, Any]:
    return {"median": median(each), "min": min(each), "max": max(each), "each": each}


if __name__ == "__main__":
    sys.exit(main())
