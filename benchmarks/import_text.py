"""Time how fast an edge list in text becomes a graph: the parser alone, and the whole command.

    gpukit graph generate rmat --scale 20 --edges 16000000 --out rmat20.h5
    gpukit export rmat20.h5 --out rmat20.tsv && tail -n +2 rmat20.tsv | cut -f 1,2 > rmat20.txt
    python benchmarks/import_text.py rmat20.txt --repeat 5 --out benchmarks/results/import-text-cpu.json

Times of the processor stand beside those of the clock, since a machine may have other users.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.files import write_text
from gpukit.graph.parsing_cpu import parse_ids
from gpukit.graph.read.text import eight_bytes
from gpukit.papers.cli.bench_record import command_line


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    load = os.getloadavg()
    imported = _imported(asked.text, asked.repeat)  # first: a new process counts the peak of this one as its own
    record = {
        "benchmark": "import-text",
        "command": command_line("python benchmarks/import_text.py", sys.argv[1:]),
        "device": choose("cpu").record(),
        "versions": versions(),
        "file_bytes": asked.text.stat().st_size,
        "parse_one_core": _parsed(asked.text, asked.repeat),
        "graph_import": imported,
        "load_average": {"before": load, "after": os.getloadavg()},
    }
    text = json.dumps(record, indent=1) + "\n"
    print(text, end="")
    if asked.out:
        write_text(asked.out, text)
    return 0


def _parsed(path: Path, count: int) -> dict[str, Any]:
    """Time the parser on the bytes of a file in memory."""
    text = np.fromfile(path, np.uint8)
    u, v = (np.empty(len(text) // 4 + 1, np.int32) for _ in range(2))
    asked = eight_bytes(text), u, v, 2**31 - 1, 2, False
    parse_ids(text[:0], *asked)
    found = _times(lambda: parse_ids(text, *asked), count, resource.RUSAGE_SELF)
    return {**found, "megabytes_per_cpu_second": len(text) / 1e6 / found["cpu_s"]["median"]}


def _imported(path: Path, count: int) -> dict[str, Any]:
    """Time ``gpukit graph import``, a process each time."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["gpukit", "graph", "import", str(path), "--out", f"{folder}/G.h5", "--json"]
        said: list[dict[str, Any]] = []
        peaks: list[int] = []

        def command() -> None:
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                assert process.stdout is not None
                said.append(json.loads(process.stdout.read()))
                _, process.returncode, usage = os.wait4(process.pid, 0)
                peaks.append(usage.ru_maxrss * 1024)

        command()  # compiles, and reads the file into memory
        peaks.clear()
        found = _times(command, count, resource.RUSAGE_CHILDREN)
        graph_bytes = Path(folder, "G.h5").stat().st_size
    phases = {name: min(one["time_s"][name] for one in said) for name in said[0]["time_s"]}
    about = {"n": said[0]["n"], "m": said[0]["m"], "digest": said[0]["digest"]}
    return {**found, "least_s_of_phases": phases, "peak_bytes": max(peaks), "graph_bytes": graph_bytes, **about}


def _times(work: Callable[[], Any], count: int, who: int) -> dict[str, dict[str, float]]:
    """Return median, least and most of the seconds of the clock and of the processor."""
    wall, cpu = [], []
    for _ in range(count):
        before, start = resource.getrusage(who), time.perf_counter()
        work()
        wall.append(time.perf_counter() - start)
        after = resource.getrusage(who)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {
        name: {"median": median(found), "least": min(found), "most": max(found)}
        for name, found in (("wall_s", wall), ("cpu_s", cpu))
    }


if __name__ == "__main__":
    sys.exit(main())
