"""Time what checking an artifact costs the first command that reads it; the check is remembered then.

    gpukit graph generate rmat --scale 18 --edges 4000000 --weights trivalency --out rmat18.h5
    python benchmarks/first_read.py rmat18.h5 --pairs 9 --out benchmarks/results/first-read-cpu.json

Commands with ``--verify``, which check everything as a first read does, and without, on a file that was checked before,
take turns. Beside them stand a pass over the file from the disk (its pages dropped from memory before) and from memory,
and a pass of the checksums over its arrays with all cores: what a check of the bytes alone costs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from gpukit.artifacts import read_graph_file
from gpukit.artifacts.store import read
from gpukit.artifacts.sums import TREE_FROM, plain_sums, tree_sums
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.files import replacing
from gpukit.papers.cli.bench_record import command_line, graph_facts

COMMANDS = {
    "graph info": ["graph", "info", "{graph}", "--json"],
    "evaluate spread": ["evaluate", "spread", "{graph}", "--ids", "0,1,2,3,4", "--runs", "200", "--json"],
}


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    load = os.getloadavg()
    graph, digest, _ = read_graph_file(asked.graph)
    record = {
        "benchmark": "first-read",
        "command": command_line("python benchmarks/first_read.py", sys.argv[1:]),
        "device": choose("cpu").record(),
        "versions": versions(),
        "graph": graph_facts(asked.graph, graph, digest),
        "passes": _passes(asked.graph, asked.pairs),
        "runs": [_compare(name, words, asked.graph, asked.pairs) for name, words in COMMANDS.items()],
        "load_average": {"before": load, "after": os.getloadavg()},
    }
    text = json.dumps(record, indent=1) + "\n"
    print(text, end="")
    if asked.out:
        with replacing(asked.out) as temporary:
            Path(temporary).write_text(text)
    return 0


def _passes(path: Path, count: int) -> dict[str, Any]:
    """Time passes over the file, and over its arrays: checksums, and the whole check."""
    arrays = read(path).arrays
    small = {name: array for name, array in arrays.items() if array.nbytes < TREE_FROM}
    return {
        "file_bytes": path.stat().st_size,
        "array_bytes": sum(array.nbytes for array in arrays.values()),
        "tree_from_bytes": TREE_FROM,
        "file_from_disk_s": _seconds(lambda: _scan(path), count, lambda: _forget(path)),
        "file_from_memory_s": _seconds(lambda: _scan(path), count),
        "checksums_s": _seconds(lambda: (tree_sums(arrays), plain_sums(small)), count),
        "whole_check_s": _seconds(lambda: read(path, full=True), count),
    }


def _scan(path: Path) -> None:
    """Read a file from end to end."""
    with open(path, "rb", buffering=0) as file:
        while file.read(4 << 20):
            pass


def _forget(path: Path) -> None:
    """Let the operating system drop the pages of a file."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _seconds(work: Callable[[], Any], count: int, before: Callable[[], None] = lambda: None) -> dict[str, float]:
    """Return the median, least and most seconds of some calls."""
    found = []
    for _ in range(count):
        before()
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return {"median": median(found), "least": min(found), "most": max(found)}


def _compare(name: str, words: list[str], path: Path, pairs: int) -> dict[str, Any]:
    """Run a command with its check and without, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["gpukit", *(word.format(graph=path, folder=folder) for word in words)]
        checked = [command[0], "--verify", *command[1:]]
        subprocess.run(command, check=True, capture_output=True)  # compiled code, and the check is remembered
        first, later = [], []
        for _ in range(pairs):
            for found, one in ((first, checked), (later, command)):
                start = time.perf_counter()
                subprocess.run(one, check=True, capture_output=True)
                found.append(time.perf_counter() - start)
    return {
        "name": name,
        "arguments": " ".join(words).replace("{graph}", path.name),
        "checked_s": median(first),
        "remembered_s": median(later),
        "quotient": median(a / b for a, b in zip(first, later, strict=True)),
        "quotients": [round(a / b, 3) for a, b in zip(first, later, strict=True)],
    }


if __name__ == "__main__":
    sys.exit(main())
