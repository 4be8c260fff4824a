"""Time the lines of held.toml in two versions, in turn, and say which became slower; exit code 1 if one did.

    python benchmarks/held.py --version 8146d10=/venv/bin/python:/old/checkout --version now=/venv/bin/python:. \
      --device cuda --out benchmarks/results/held-cuda.json

The older version comes first. Versions run one after the other, so that a machine that slows down slows all of them.
A line is slower if each run of the newer version took longer than every run of the older one, and the medians differ by
more than the tolerance. A command that the older version does not know has no verdict.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from gpukit.files import write_text
from gpukit.papers.bench.machine import kernels_of

HELD = tomllib.loads((Path(__file__).parent / "held.toml").read_text("utf-8"))
DATA = Path(__file__).parents[1] / "data"
CACHES = {"NUMBA_CACHE_DIR": "numba", "CUPY_CACHE_DIR": "cupy", "CUDA_CACHE_PATH": "cuda", "XDG_CACHE_HOME": "x"}
"""Where compiled code is kept: by Numba, CuPy, CUDA and gpukit."""


class Version(NamedTuple):
    """A version that is timed: its name, its interpreter and its checkout."""

    name: str
    python: str
    checkout: str


class Failed(Exception):
    """A command ended with an error; the code is 2 where a version does not know it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def main() -> int:
    """Measure, print a table, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="append", required=True, metavar="NAME=PYTHON:CHECKOUT")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--runs", type=int, default=3, help="runs of each line and version")
    parser.add_argument("--only", default="", help="lines with one of these in their names, as merit,kpar")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    versions = []
    for one in asked.version:
        name, _, rest = one.partition("=")
        python, _, folder = rest.partition(":")
        versions.append(Version(name, str(Path(python).absolute()), str(Path(folder).resolve())))
    lines = [
        line
        for line in HELD["lines"]
        if asked.device in line["devices"] and any(part in line["name"] for part in asked.only.split(","))
    ]
    with tempfile.TemporaryDirectory() as folder:
        files = _files(lines, Path(folder), versions[-1])
        for version in versions:
            _run(version, ["--help"])
        found = [_time(line, files, versions, Path(folder), asked) for line in lines]
    record = {
        "benchmark": "held",
        "command": "python benchmarks/held.py " + " ".join(sys.argv[1:]),
        "device": asked.device,
        "date": time.strftime("%Y-%m-%d"),
        "versions": {version.name: _about(version) for version in versions},
        "kernels": {room: kernels_of(room) for room in sorted({room for line in lines for room in rooms_of(line)})},
        "lines": found,
    }
    if asked.out:
        write_text(asked.out, json.dumps(record, indent=1) + "\n")
    return int(any(line["verdict"] == "slower" for line in found))


def rooms_of(line: dict[str, Any]) -> list[str]:
    """Return the rooms of the package whose kernels a line runs on a GPU."""
    return line.get("rooms", [])


def changed(record: dict[str, Any]) -> list[str]:
    """Return the names of lines of a record whose kernels are others now."""
    now = {room: kernels_of(room) for room in record["kernels"]}
    return [
        line["name"] for line in record["lines"] if any(now[room] != record["kernels"][room] for room in line["rooms"])
    ]


def verdict(before: list[float], after: list[float], tolerance: float) -> str:
    """Say of the times of a line whether it became slower or faster; ``new`` if the older version does not know it."""
    if not before:
        return "new"
    ratio = statistics.median(after) / statistics.median(before)
    if ratio > tolerance and min(after) > max(before):
        return "slower"
    return "faster" if ratio < 1 / tolerance and max(after) < min(before) else "same"


def _files(lines: list[dict[str, Any]], folder: Path, version: Version) -> dict[str, str]:
    """Make the files that the lines need, and those that these need; return the paths."""
    files = {"data": str(DATA)} | {name: str(folder / f"{name}.h5") for name in HELD["files"]}
    needed = " ".join(line["command"] for line in lines)
    wanted = []
    for name, command in reversed(HELD["files"].items()):
        if f"{{{name}}}" in needed:
            wanted.append((name, command))
            needed += command
    for name, command in reversed(wanted):
        _run(version, [*_on(command.format(**files).split(), "cpu"), "--out", files[name]])
    return files


def _time(
    line: dict[str, Any], files: dict[str, str], versions: list[Version], folder: Path, asked: Any
) -> dict[str, Any]:
    """Time a line in all versions, in turn."""
    words = _on(line["command"].format(**files).split(), asked.device)
    if words[0] != "--help":
        words.append("--json")
        words += [] if "bench" in words else ["--out", str(folder / "out.h5"), "--force"]
    times: dict[str, list[float]] = {version.name: [] for version in versions}
    first = line["measure"] == "first"
    for run in range(asked.runs + (not first)):
        for version in versions:
            caches = folder / f"caches-{version.name}-{run if first else ''}"
            try:
                spent, said = _run(version, words, {name: str(caches / part) for name, part in CACHES.items()})
            except Failed as error:
                if version is versions[-1] or error.code != 2:
                    raise SystemExit(f"{version.name}: {error}") from None
                continue
            if run or first:  # the others fill the caches
                times[version.name].append(
                    round(spent if line["measure"] in ("process", "first") else _at(said, line), 3)
                )
    before, after = times[versions[0].name], times[versions[-1].name]
    result = {
        "name": line["name"],
        "command": "gpukit " + line["command"],
        "measure": line["measure"],
        "rooms": rooms_of(line),
        "ms": times,
        "ratio": round(statistics.median(after) / statistics.median(before), 3) if before else None,
        "verdict": verdict(before, after, line.get("tolerance", HELD["tolerance"])),
    }
    medians = " -> ".join(f"{statistics.median(one):.1f}" if one else "?" for one in times.values())
    print(f"{result['verdict']:7} {line['name']}: {medians} ms", flush=True)
    return result


def _on(words: list[str], device: str) -> list[str]:
    """Return the words of a command with a device, if it takes one."""
    return words if words[0] in ("--help", "graph") else [*words, "--device", device]


def _at(said: Any, line: dict[str, Any]) -> float:
    """Return the milliseconds at a place of what a command printed."""
    for part in line["measure"].split("."):
        said = said[int(part) if part.isdigit() else part]
    return float(said) * (1000 if line.get("unit") == "s" else 1)


def _run(version: Version, words: list[str], more: dict[str, str] | None = None) -> tuple[float, Any]:
    """Run a command of a version; return its milliseconds, and what it printed as JSON, or nothing.

    On the CPU these are milliseconds of CPU time, of which other programs on the machine change little.
    """
    environment = {**os.environ, **(more or {}), "PYTHONPATH": os.pathsep.join([version.checkout, *_packages()])}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have compiled modules
    wall, cpu = time.perf_counter(), _cpu_seconds()
    done = subprocess.run(
        [version.python, "-m", "gpukit", *words],
        capture_output=True, text=True, env=environment, cwd=version.checkout,
    )  # fmt: skip
    spent = 1000 * (time.perf_counter() - wall if "cuda" in words else _cpu_seconds() - cpu)
    if done.returncode:
        raise Failed(done.returncode, f"{' '.join(words)}: {done.stderr}")
    return spent, json.loads(done.stdout) if "--json" in words else None


def _cpu_seconds() -> float:
    """Return the CPU time of all commands that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _packages() -> list[str]:
    """Return the folders of ``PYTHONPATH`` that hold packages other than this one."""
    return [
        one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one and not Path(one, "gpukit").is_dir()
    ]


def _about(version: Version) -> dict[str, Any]:
    """Return what `gpukit doctor` says of a version's libraries and devices."""
    found = _run(version, ["doctor", "--json"])[1]
    return {key: found.get(key) for key in ("versions", "devices")}


if __name__ == "__main__":
    sys.exit(main())
