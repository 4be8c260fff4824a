"""Say where the CPU time of a whole `gpukit gim run` goes: Python, libraries, the package, compiled code, the work.

    python benchmarks/start_parts.py NetHEPT.h5 --out benchmarks/results/start-parts-cpu.json

Each run is a process of its own, which imports one after another what the command needs, runs the command, and runs it
once more. What only the first of these took is loading. Times are of the CPU, all threads, and the least of the runs:
others on the machine change them little. Python keeps the bytecode of all modules from the first run, which is not
counted, as it does for an installed package.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gpukit.cli.doctor import versions
from gpukit.device.select import cpu_name
from gpukit.files import write_text

LIBRARIES = ("typer", "numpy", "h5py", "numba")
CHILD = """
import importlib, json, sys, time
from contextlib import redirect_stdout
from io import StringIO
spent = {"python": time.process_time()}
def count(name, call):
    start = time.process_time()
    call()
    spent[name] = time.process_time() - start
for name in sys.argv[1].split(","):
    count(name, lambda: importlib.import_module(name))
count("gpukit", lambda: [importlib.import_module(f"gpukit.{one}") for one in ("cli.gim", "artifacts", "gim")])
from gpukit.cli.app import main
for name in ("first", "again"):
    with redirect_stdout(StringIO()):
        count(name, lambda: main(sys.argv[2:]))
spent["compiled code"] = spent.pop("first") - spent["again"]
spent["work"] = spent.pop("again")
print(json.dumps(spent))
"""


def main() -> None:
    """Measure, print a table and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", type=Path)
    parser.add_argument("--options", default="-k 50 --optimism off", help="of gim run")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    seeds = asked.graph.with_suffix(".seeds.h5")
    command = ["gim", "run", str(asked.graph), *asked.options.split(), "--device", "cpu"]
    command += ["--out", str(seeds), "--force"]
    before = os.getloadavg()
    found = []
    words = [sys.executable, "-c", CHILD, ",".join(LIBRARIES), *command]
    with tempfile.TemporaryDirectory() as bytecode:
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        for run in range(asked.runs + 1):
            done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
            if run:  # the first one may compile
                found.append(json.loads(done.stdout))
    seeds.unlink()
    parts = {name: round(1e3 * min(one[name] for one in found), 1) for name in found[0]}
    record = {
        "benchmark": "start-parts",
        "command": f"python benchmarks/start_parts.py {asked.graph.name} --options '{asked.options}'",
        "date": time.strftime("%Y-%m-%d"),
        "device": {"kind": "cpu", "name": cpu_name()},
        "versions": versions(),
        "load_average": {"before": before, "after": os.getloadavg()},
        "runs": asked.runs,
        "cpu_ms": parts,
    }
    for name, ms in parts.items():
        print(f"{name:14} {ms:6.1f} ms")
    if asked.out:
        write_text(asked.out, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
