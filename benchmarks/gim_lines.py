"""Time and spread of ``gim run`` on one CPU thread where what they must be is written down: k = 50, ten seeds a line.

    python benchmarks/gim_lines.py --out benchmarks/results/gim-lines-cpu-1.json

For an idle machine. Each line is a process of its own, so that its peak of memory is, too. Times are those of sampling
and selection, warm; spreads are means over the seeds, each judged by forward simulation to 0.2 %.
"""

import argparse
import json
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from gpukit.artifacts import read_graph_file
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.device.timing import PhaseTimer
from gpukit.evaluate import Until, forward_spread
from gpukit.files import replacing
from gpukit.gim import Params, maximise
from gpukit.papers.cli.bench_record import command_line
from gpukit.worlds.collection import CpuCollection, Report

DATA = Path(__file__).resolve().parents[1] / "data"
SEEDS = range(10)


class Line(NamedTuple):
    """What is run, in how many seconds, and how far it must reach at least."""

    graph: str
    weights: str
    k: int
    optimism: float | None
    seconds: float | None
    spread: float | None


LINES = [
    Line("NetHEPT", "const:0.01", 50, 0.01, 0.6, 72.3),
    Line("soc-Epinions1", "const:0.001", 50, 0.01, 1.0, 78.6),
    Line("soc-Epinions1", "const:0.1", 50, 0.01, 1.0, 10_383),
    Line("soc-Slashdot0902", "const:0.1", 50, 0.01, 1.0, 24_144),
    Line("R-MAT 20", "const:0.1", 50, 0.01, 1.5, 229_371),
    Line("soc-Epinions1", "const:0.1", 50, None, 0.1, 10_383),
    Line("soc-Slashdot0902", "const:0.1", 50, None, 0.1, 24_144),
    Line("R-MAT 20", "const:0.1", 50, None, 0.2, 229_371),
    Line("NetHEPT", "wc", 5, 0.01, None, 182),
    Line("NetHEPT", "wc", 50, 0.01, None, None),
    Line("soc-Epinions1", "wc", 50, 0.01, None, None),
]
"""Spreads at p = 0.1 are those of HIST's seeds by the same simulation."""


def main() -> int:
    """Measure, print a line each, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", help="of these graphs alone, with commas between them")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    wanted = [line for line in LINES if asked.graphs is None or line.graph in asked.graphs.split(",")]
    runs = []
    with (
        tempfile.TemporaryDirectory() as folder,
        multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool,
    ):
        for line in wanted:
            found = pool.apply(measure, (line, _made(line, Path(folder))))
            runs.append(found)
            what = " ".join(f"{name} {value}" for name, value in found["what"].items())
            said = f"{found['spread']:,.2f} in {found['time_s']:.3f} s, wanted {line.spread} in {line.seconds}"
            print(f"{'met' if found['met'] else 'NOT MET'}: {what}: {said}", flush=True)
    record = {
        "benchmark": "gim-lines",
        "command": command_line("python benchmarks/gim_lines.py", sys.argv[1:]),
        "device": choose("cpu", 1, 1).record(),
        "versions": versions(),
        "params": {"epsilon": Params(k=1).epsilon, "seeds": len(SEEDS)},
        "runs": runs,
    }
    if asked.out:
        with replacing(asked.out) as temporary:
            Path(temporary).write_text(json.dumps(record, indent=1) + "\n")
    return int(not all(one["met"] for one in runs))


def _made(line: Line, folder: Path) -> Path:
    """Write the graph of a line, unless it is there."""
    out = folder / f"{line.graph}-{line.weights}.h5"
    words = [sys.executable, "-m", "gpukit", "graph"]
    if line.graph == "R-MAT 20":
        words += ["generate", "rmat", "--scale", "20", "--seed", "1"]
    else:
        edges = next(DATA.glob(f"{line.graph}.txt.*"))
        words += ["import", str(edges), *(["--undirected"] * (line.graph == "NetHEPT"))]
    if not out.exists():
        subprocess.run([*words, "--weights", line.weights, "--out", str(out)], check=True, capture_output=True)
    return out


def measure(line: Line, path: Path) -> dict[str, Any]:
    """Return what ten seeds give, the largest of all collections together, and the peak of the process, in MiB."""
    graph, _, tables = read_graph_file(path, tables=True)
    device, held = choose("cpu", 1, 1), _Held()
    params: dict[str, Any] = {"k": line.k, "optimism": line.optimism}
    maximise(graph, Params(**params, max_members=10**6), device, tables=tables)  # compiled code
    times, spreads, phases = [], [], []
    for seed in SEEDS:
        timer = PhaseTimer()
        found = maximise(graph, Params(**params, seed=seed), device, tables=tables, timer=timer)
        took = timer.seconds()
        phases.append({name: round(value, 4) for name, value in took.items()})
        times.append(took["sampling"] + took["selection"])
        spreads.append(forward_spread(graph, found.seeds, runs=Until(0.002), seed=1, device=device).spread)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    met = (line.seconds is None or mean(times) <= line.seconds) and mean(spreads) >= (line.spread or 0)
    return {
        "what": {"graph": line.graph, "weights": line.weights, "k": line.k, "optimism": line.optimism},
        "wanted": {"seconds": line.seconds, "spread": line.spread},
        "met": met,
        "spread": round(mean(spreads), 3),
        "spreads": [round(one, 3) for one in spreads],
        "time_s": round(mean(times), 4),
        "phases": phases,
        "collections_mib": round(held.most / 2**20, 1),
        "peak_mib": round(peak),
    }


class _Held:
    """Watches the bytes of all CPU collections that there are at once."""

    def __init__(self) -> None:
        self.most = 0
        self.alive: weakref.WeakSet[CpuCollection] = weakref.WeakSet()
        extend = CpuCollection.extend

        def watched(collection: CpuCollection, size: int, report: Report | None = None) -> None:
            extend(collection, size, report)
            self.alive.add(collection)
            self.most = max(self.most, sum(one._offsets.nbytes + one._members.nbytes for one in self.alive))

        setattr(CpuCollection, "extend", watched)  # noqa: B010


if __name__ == "__main__":
    sys.exit(main())
