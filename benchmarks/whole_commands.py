"""Time whole commands of versions in turn, from the start of a process to its end: first runs, and later ones.

    python benchmarks/whole_commands.py data/soc-Epinions1.txt.gz --version before=/venv/bin/python:/old/checkout \
      --version after=/venv/bin/python:. --device cuda --out benchmarks/results/whole-commands-h200.json

A first run has empty caches of compiled code (Numba's, CuPy's, CUDA's, gpukit's), but Python's modules are compiled.
Versions run one after the other, so that a machine that slows down slows all of them. Artifacts of all versions must
have the same payload.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gpukit.files import write_text

COMMANDS = {
    "gim run": "gim run {graph} -k 50",
    "gim run --model lt": "gim run {graph} -k 50 --model lt",
    "gim run --bound imm": "gim run {graph} -k 50 --bound imm --epsilon 0.1",
    "merit run": "merit run {graph} --eta 2000 --batch 8",
    "imgpu run": "imgpu run {graph} -k 50",
    "kpar index": "kpar index {graph} --rank {rank}",
    "kpar query": "kpar query {graph} --index {index} --sources {sources} -k 100",
    "diversity search": "diversity search {undirected} -k 3 -t 100",
    "evaluate spread": "evaluate spread {graph} --seeds {seeds}",
}
"""What is timed: words of the command line; files in braces are made first, by the last version, on the CPU."""


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("edges", type=Path, help="an edge list")
    parser.add_argument("--version", action="append", required=True, metavar="NAME=PYTHON:CHECKOUT")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--runs", type=int, default=5, help="later runs of each command and version")
    parser.add_argument("--only", default="", help="commands with one of these in their names, as merit,kpar")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    versions = {}
    for one in asked.version:
        name, _, rest = one.partition("=")
        python, _, folder = rest.partition(":")
        versions[name] = (python, str(Path(folder).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        files = _files(asked.edges.resolve(), Path(folder), versions[list(versions)[-1]])
        for version in versions.values():
            _run(version, ["--help"], {})
        cases = [
            _case(name, words, files, versions, Path(folder), asked)
            for name, words in COMMANDS.items()
            if any(part in name for part in asked.only.split(","))
        ]
    record = {
        "benchmark": "whole-commands",
        "command": "python benchmarks/whole_commands.py " + " ".join(sys.argv[1:]),
        "device": asked.device,
        "graph": asked.edges.name,
        "versions": {name: _about(*version) for name, version in versions.items()},
        "cases": cases,
    }
    text = json.dumps(record, indent=1) + "\n"
    print(text, end="")
    if asked.out:
        write_text(asked.out, text)
    return 0


def _files(edges: Path, folder: Path, version: tuple[str, str]) -> dict[str, str]:
    """Make what commands need; return the paths."""
    files = {one: str(folder / f"{one}.h5") for one in ("graph", "undirected", "rank", "index", "seeds")}
    files["sources"] = str(folder / "sources.txt")
    for line in (
        f"graph import {edges} --out {{graph}}",
        f"graph import {edges} --undirected --weights none --out {{undirected}}",
        "kpar rank {graph} --device cpu --out {rank}",
        "kpar index {graph} --rank {rank} --device cpu --out {index}",
    ):
        _run(version, line.format(**files).split(), {})
    _, found = _run(version, "gim run {graph} -k 16 --device cpu --json --out {seeds}".format(**files).split(), {})
    write_text(Path(files["sources"]), "".join(f"{one}\n" for one in found["seeds"]))
    return files


def _case(
    name: str, template: str, files: dict[str, str], versions: dict[str, tuple[str, str]], folder: Path, asked: Any
) -> dict[str, Any]:
    """Time a command: first and later runs of each version, in turn."""
    out = folder / "out.h5"
    words = [*template.format(**files).split(), "--device", asked.device, "--out", str(out), "--json"]
    times: dict[str, dict[str, Any]] = {one: {"first_s": 0.0, "warm_s": []} for one in versions}
    payloads = set()
    out.unlink(missing_ok=True)
    for run in range(asked.runs + 1):
        for one, version in versions.items():
            where = folder / f"caches-{one}-{name.replace(' ', '-')}"
            caches = {
                "NUMBA_CACHE_DIR": "numba",
                "CUPY_CACHE_DIR": "cupy",
                "CUDA_CACHE_PATH": "cuda",
                "XDG_CACHE_HOME": "x",
            }
            seconds, said = _run(version, words, {key: str(where / part) for key, part in caches.items()})
            if run == 0:
                times[one]["first_s"] = round(seconds, 3)
            else:
                times[one]["warm_s"].append(round(seconds, 3))
                times[one]["phases_s"] = said["time_s"]
            payloads.add(_run(version, ["inspect", str(out), "--json"], {})[1]["files"][0]["payload"])
    for each in times.values():
        each["median_s"] = statistics.median(each["warm_s"]) if each["warm_s"] else None
    print(name, {one: (each["first_s"], each["median_s"]) for one, each in times.items()}, file=sys.stderr, flush=True)
    return {"command": f"gpukit {template}", "same_payload": len(payloads) == 1, **times}


def _run(version: tuple[str, str], words: list[str], more: dict[str, str]) -> tuple[float, Any]:
    """Run a command of a version; return its seconds, and what it printed as JSON, or nothing."""
    python, checkout = version
    environment = {**os.environ, **more, "PYTHONPATH": checkout}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have compiled modules
    start = time.perf_counter()
    done = subprocess.run(
        [python, "-m", "gpukit", *words], capture_output=True, text=True, env=environment, cwd=checkout
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return seconds, json.loads(done.stdout) if "--json" in words else None


def _about(python: str, checkout: str) -> dict[str, Any]:
    """Return what `gpukit doctor` says of a version's libraries, and its commit if it is a checkout."""
    found = _run((python, checkout), ["doctor", "--json"], {})[1]
    return {key: found[key] for key in ("versions", "gpus", "python") if key in found}


if __name__ == "__main__":
    sys.exit(main())
