"""Make the table of docs/gim.md: what the default of ``gim run`` reaches beside its rivals, cell by cell.

    python benchmarks/gim_quality.py --record benchmarks/results/gim-quality-cells.json --seconds 500 --gpus 2 --cpus 28
    python benchmarks/gim_quality.py --record benchmarks/results/gim-quality-cells.json --table

A cell is a graph, edge probabilities, a model and a number of seeds; all methods of ``gpukit papers bench gim-quality``
are judged in it by forward simulation. Cells are shared among processes, the cheap ones first; what the record holds is
not measured again, so that several calls make the whole of it. The CPU takes what is small, and the GPUs the rest,
several processes each. A rival is left out over ten core-minutes, or over LIMIT_S of a GPU, which is more; one that a
CPU process had no time for goes to a GPU in the next call.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from gpukit.artifacts import read_graph_file
from gpukit.cli.doctor import versions
from gpukit.files import replacing
from gpukit.papers.cli.bench_record import command_line
from gpukit.parameters.gim import Params

DATA = Path(__file__).resolve().parents[1] / "data"
UNDIRECTED = {"NetHEPT", "NetPHY"}
GRAPHS = {
    "wiki-Vote": 104, "NetHEPT": 63, "NetPHY": 348, "soc-Epinions1": 509, "soc-Slashdot0902": 870,
    "web-NotreDame": 1470, "R-MAT-20": 15_361,
}  # fmt: skip
"""Thousands of directed edges."""

SMALL = 400
"""Thousands of edges up to which the CPU takes all settings; of larger graphs those of little influence."""

SCHEMES = {
    "wc": 1, "const:0.001": 1, "const:0.01": 2, "trivalency": 8, "const:0.02": 6, "uniform:0:0.1": 20, "const:0.1": 40,
}  # fmt: skip
"""Edge probabilities under IC, with how much work an edge is, roughly."""

SETTINGS = [*((weights, "ic") for weights in SCHEMES), ("wc", "lt")]

LITTLE = 2
"""Such work that the CPU takes in larger graphs, too."""

KS = (5, 50, 200)
GROUPS = (("gim", "degree", "degree-discount"), ("imgpu",), ("imm", "imm-20"))
RIVALS = ("degree", "degree-discount", "imgpu", "imm", "imm-20")
SEED, ERROR, CORE_S, LIMIT_S = 1, 0.002, 600.0, 30.0
LATE_S = 150
"""A job that a CPU process has not done in such time when the time is up goes to a GPU next."""

FACTS = ("spread", "stderr", "runs", "core_s", "time_s", "rr_sets", "worlds", "optimism", "chosen_by", "guarantee",
         "left_out")  # fmt: skip


class Job(NamedTuple):
    """Methods in the cells of a graph with edge probabilities and a model."""

    graph: str
    weights: str
    model: str
    methods: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its cells but for k."""
        return f"{self.graph} {self.weights} {self.model}"

    @property
    def work(self) -> float:
        """What it is sorted by."""
        rivals = 1 if "gim" in self.methods else 4
        return GRAPHS[self.graph] * SCHEMES[self.weights] * rivals

    @property
    def for_cpu(self) -> bool:
        """Whether a CPU process takes it."""
        size = GRAPHS[self.graph]
        return size <= SMALL or (SCHEMES[self.weights] <= LITTLE and size < 10 * SMALL)


def main() -> int:
    """Measure until the time is up and write the record; or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", type=Path, required=True, help="what there is, and where it is written again")
    parser.add_argument("--out", type=Path, help="write there instead")
    parser.add_argument("--table", action="store_true", help="print the table and measure nothing")
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--a-gpu", type=int, default=2, help="processes of a GPU")
    parser.add_argument("--cpus", type=int, default=1, help="processes without a GPU")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of a process")
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    asked = parser.parse_args()
    record = json.loads(asked.record.read_text()) if asked.record.exists() else {"cells": {}, "late": []}
    if asked.table:
        print(table(record["cells"]))
        return 0
    record |= {
        "benchmark": "gim-quality-cells",
        "command": command_line("python benchmarks/gim_quality.py", sys.argv[1:]),
        "versions": versions(),
        "params": {"seed": SEED, "error": ERROR, "core_s": CORE_S, "gpu_s": LIMIT_S},
    }
    with tempfile.TemporaryDirectory() as folder:
        _Shop(record, asked, Path(folder)).run()
    return 0


class _Shop:
    """The processes, what they are to do, and the record."""

    def __init__(self, record: dict[str, Any], asked: argparse.Namespace, folder: Path) -> None:
        self.record, self.asked, self.folder = record, asked, folder
        self.end = monotonic() + asked.seconds
        wanted = [job for job in _jobs() if job.graph in asked.graphs.split(",") and self._missing(job)]
        late = set(record["late"]) if asked.gpus else set()
        self.cpu = [job for job in wanted if job.for_cpu and str(tuple(job)) not in late]
        self.gpu = [job for job in wanted if job not in self.cpu]

    def _missing(self, job: Job) -> list[tuple[int, str]]:
        done = self.record["cells"]
        return [(k, one) for k, one in product(KS, job.methods) if one not in done.get(f"{job.name} {k}", {})]

    def run(self) -> None:
        """Give jobs to processes that have none until there are none, or the time is up."""
        for name in sorted({job.graph for job in self.cpu + self.gpu}, key=GRAPHS.__getitem__):
            _make(name, self.folder)
        places = [str(i % self.asked.gpus) for i in range(self.asked.gpus * self.asked.a_gpu)] + [""] * self.asked.cpus
        busy: dict[Connection, tuple[Any, str, Job, float]] = {}
        for place in places:
            self._start(place, busy)
        while busy and monotonic() < self.end:
            for connection in wait(list(busy), timeout=1):
                assert isinstance(connection, Connection)
                process, place, job, _ = busy[connection]
                try:
                    told = connection.recv()
                except EOFError:  # it died, for lack of memory perhaps; its job is left
                    print(f"died: {job.name} {job.methods}", flush=True)
                    del busy[connection]
                    self._start(place, busy)
                    continue
                if told is None:
                    del busy[connection]
                    self._next(connection, process, place, busy)
                else:
                    k, method, found = told
                    self.record["cells"].setdefault(f"{job.name} {k}", {})[method] = found
                    self._write()
        for process, place, job, since in busy.values():
            process.kill()
            if not place and monotonic() - since > LATE_S:
                self.record["late"] = sorted({*self.record["late"], str(tuple(job))})
            print(f"no time left: {job.name} {job.methods}", flush=True)
        self._write()
        left = sum(len(self._missing(job)) for job in _jobs())
        print(f"{left} of {3 * 6 * 8 * len(GRAPHS)} measurements are left")

    def _start(self, place: str, busy: dict) -> None:
        """Start a process, if there is a job for it."""
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=work, args=(there, place, self.asked.threads, self.folder), daemon=True)
        if self._next(here, process, place, busy):
            process.start()
            there.close()  # else its end would not be heard

    def _next(self, connection: Connection, process: Any, place: str, busy: dict) -> bool:
        """Give a process its next job; return whether there was one.

        Where its own are done, a GPU takes the longest of the CPU, and the CPU from the GPUs what is no R-MAT.
        """
        ours = [job for job in self.gpu if GRAPHS[job.graph] < 10 * SMALL]
        first, second = (self.gpu, self.cpu) if place else (self.cpu, ours)
        jobs = first or (second[-1:] if place else second)
        if not jobs:
            return False
        job = jobs[0]
        (self.cpu if job in self.cpu else self.gpu).remove(job)
        connection.send((job, self._missing(job)))
        busy[connection] = process, place, job, monotonic()
        return True

    def _write(self) -> None:
        target = self.asked.out or self.asked.record
        with replacing(target) as temporary:
            Path(temporary).write_text(json.dumps(self.record, indent=0, sort_keys=True) + "\n")


def _jobs() -> list[Job]:
    """Return all jobs, cheap ones first."""
    jobs = [Job(graph, *setting, group) for graph, setting, group in product(GRAPHS, SETTINGS, GROUPS)]
    return sorted(jobs, key=lambda job: job.work)


def _make(name: str, folder: Path) -> None:
    """Write a graph artifact."""
    gpukit, out = [sys.executable, "-m", "gpukit", "graph"], ["--out", str(folder / f"{name}.h5")]
    if name.startswith("R-MAT"):
        words = [*gpukit, "generate", "rmat", "--scale", name.rpartition("-")[2], "--seed", "1", *out]
    else:
        words = [*gpukit, "import", str(next(DATA.glob(f"{name}.txt.*"))), *out]
        words += ["--undirected"] if name in UNDIRECTED else []
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def work(connection: Connection, place: str, threads: int, folder: Path) -> None:
    """Do jobs: on the GPU of this number, or on the CPU if there is none; say what is found, and None at the end."""
    os.environ["CUDA_VISIBLE_DEVICES"] = place
    from gpukit.device.select import choose
    from gpukit.graph.probabilities import parse_weights
    from gpukit.papers.bench.gim_quality import Contest, reweighted

    device = choose("cuda" if place else "cpu", 1, threads)
    while True:
        try:
            job, missing = connection.recv()
        except EOFError:  # there are no jobs any more
            return
        stored, _, _ = read_graph_file(folder / f"{job.graph}.h5")
        graph = reweighted(stored, parse_weights(job.weights, SEED))
        contest = Contest(graph, job.model, device, SEED, ERROR, LIMIT_S if place else CORE_S)
        for k, method in _in_order(missing):
            if method == "imm-20" and (k, "imm") not in missing:
                contest.measure("imm", k)
            found = contest.measure(method, k)
            if place and found.get("left_out", "").startswith("over"):
                found["left_out"] = f"over {LIMIT_S:g} s of a GPU"
            kept = {name: found[name] for name in FACTS if name in found} | {"device": device.name}
            connection.send((k, method, kept))
        connection.send(None)


def _in_order(missing: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield what is missing, by k, the rivals in their order."""
    methods = [method for group in GROUPS for method in group]
    yield from sorted(missing, key=lambda one: (one[0], methods.index(one[1])))


# The table


def table(cells: dict[str, dict[str, Any]]) -> str:
    """Return the record as Markdown: losses against the best rival, the worst of them, and what is missing."""
    lines = ["| graph | probabilities | " + " | ".join(f"k = {k}" for k in KS) + " |", "|---" * (2 + len(KS)) + "|"]
    losses: dict[str, float] = {}
    warned, left_out, missing = [], 0, 0
    for graph, (weights, model) in product(GRAPHS, SETTINGS):
        row = []
        for k in KS:
            name = f"{graph} {weights} {model} {k}"
            cell = cells.get(name, {})
            known = RIVALS if model == "ic" else [one for one in RIVALS if one != "imgpu"]
            without = any("left_out" in cell.get(one, {}) for one in known)
            left_out += sum("left_out" in cell.get(one, {}) for one in known)
            missing += sum(method not in cell for method in ("gim", *RIVALS))
            rivals = {one: cell[one]["spread"] for one in RIVALS if "spread" in cell.get(one, {})}
            if "spread" not in cell.get("gim", {}) or not rivals:
                row.append("")
                continue
            best = max(rivals, key=rivals.__getitem__)
            losses[name] = 1 - cell["gim"]["spread"] / rivals[best]
            if (cell["gim"].get("optimism") or 0) > Params.optimism:
                warned.append(name)
            mark = "¹" * without + "²" * any(one not in cell for one in known)
            gain = f"{-100 * losses[name]:+.2f}".replace("-0.00", "0.00").replace("+0.00", "0.00").replace("-", "−")
            row.append(f"{cell['gim']['spread']:,.1f} ({gain} %, {best}){mark}")
        if any(row):
            lines.append(f"| {graph} | {weights}{' LT' if model == 'lt' else ''} | " + " | ".join(row) + " |")
    worst = max(losses, key=losses.__getitem__, default="")
    over = [name for name, loss in losses.items() if loss > 0.015]
    said = [
        f"{len(losses)} cells; {left_out} rivals left out (¹); {missing} measurements not made yet (², or no cell)."
    ]
    if worst:
        said.append(f"Worst: {100 * losses[worst]:.2f} % below the best rival ({worst}).")
    said.append(f"Over 1.5 %: {', '.join(over) or 'none'}.")
    said.append(f"`--max-members` spent: {', '.join(warned) or 'none'}.")
    return "\n".join([*lines, "", *said])


if __name__ == "__main__":
    sys.exit(main())
