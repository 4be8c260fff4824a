"""Time whole commands on 1, 2, 4 … CPU threads, in turn.

    gpukit graph generate rmat --scale 20 --draws 16000000 --out rmat20.h5
    gpukit export rmat20.h5 --out rmat20.tsv && tail -n +2 rmat20.tsv | cut -f 1,2 > rmat20.txt
    python benchmarks/thread_scaling.py --data data --rmat rmat20 --threads 1,2,4,8,16 --out thread-scaling.json

The time of a command is that of its phases of work, as it prints them: without starting, reading its inputs and loading
compiled code, which no thread helps. A round before the first compiles.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.files import write_text
from gpukit.papers.cli.bench_record import command_line

COMMANDS = {
    "import": "graph import {rmat}.txt --out g.h5",
    "gim run": "gim run {rmat}.h5 -k 50 --epsilon 0.05 --bound imm --out s.h5 --device cpu",
    "evaluate spread": "evaluate spread soc-Epinions1.h5 --ids 18,645,634,44,763,71399 --device cpu",
    "imgpu run": "imgpu run NetPHY.h5 -k 50 --worlds 5000 --out i.h5 --device cpu",
    "kpar rank": "kpar rank {rmat}.h5 --out r.h5 --device cpu",
    "kpar index": "kpar index {rmat}.h5 --rank r.h5 --out w.h5 --device cpu",
    "kpar query": "kpar query {rmat}.h5 --index w.h5 --random 200 --out-edges -k 100 --out a.h5 --device cpu",
    "merit run": "merit run soc-Epinions1.h5 --eta 5000 --out m.h5 --device cpu",
    "diversity search": "diversity search web-NotreDame.h5 --model truss -k 4 --out d.h5 --device cpu",
}
"""Later ones read what earlier ones write."""

NOT_WORK = ("total", "load", "prepare")
IMPORTS = {"soc-Epinions1": (), "NetPHY": ("--weights", "const:0.01"), "web-NotreDame": ("--undirected",)}


def main() -> int:
    """Measure, print the record, and write it after each round if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of edge lists")
    parser.add_argument("--rmat", type=Path, required=True, metavar="NAME", help="of NAME.h5 and NAME.txt")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    threads, rmat, load = [*map(int, asked.threads.split(","))], asked.rmat.resolve(), os.getloadavg()
    times: dict[str, dict[int, list[dict[str, float]]]] = {name: {t: [] for t in threads} for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        for name, options in IMPORTS.items():
            text = next(asked.data.resolve().glob(f"{name}.txt.*"))
            _phases(folder, ["graph", "import", str(text), "--out", f"{name}.h5", *options])
        for turn in range(asked.repeat + 1):
            for name, words in COMMANDS.items():
                for t in threads[-1:] if turn == 0 else threads:
                    found = _phases(folder, [*words.format(rmat=rmat).split(), "--threads", str(t)])
                    if turn:
                        times[name][t].append(found)
            if turn:
                record = _record(times, max(threads), load)
                if asked.out:
                    write_text(asked.out, json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))
    return 0


def _phases(folder: str, words: list[str]) -> dict[str, float]:
    """Run a command of gpukit and return the seconds of its phases."""
    ran = subprocess.run(["gpukit", *words, "--json"], cwd=folder, stdout=subprocess.PIPE, check=True)
    return json.loads(ran.stdout)["time_s"]


def _record(times: dict[str, dict[int, list[dict[str, float]]]], most: int, load: tuple[float, ...]) -> dict[str, Any]:
    runs = []
    for name, by_threads in times.items():
        first = None
        for threads, found in by_threads.items():
            each = [_work(name, phases) for phases in found]
            middle = median(each)
            first = first or middle
            runs.append(
                {"command": name, "threads": threads, "work_s": middle, "each_s": each, "times_first": first / middle,
                 "phases_s": found}
            )  # fmt: skip
    return {
        "benchmark": "thread-scaling",
        "command": command_line("python benchmarks/thread_scaling.py", sys.argv[1:]),
        "device": choose("cpu", 1, most).record(),
        "versions": versions(),
        "commands": COMMANDS,
        "load_before": load,
        "runs": runs,
    }


def _work(name: str, phases: dict[str, float]) -> float:
    read = () if name == "import" else ("read",)
    return sum(seconds for phase, seconds in phases.items() if phase not in (*NOT_WORK, *read))


if __name__ == "__main__":
    sys.exit(main())
