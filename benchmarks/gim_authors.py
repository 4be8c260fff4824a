"""Time gIM's own program beside ours on one GPU, in turn: k = 50, epsilon = 0.05, weighted cascade.

    python benchmarks/gim_authors.py --binary ../gim/gIM --revision d84b81a --out results/gim-authors-h200.json

The binary is the authors' code (github.com/LIS-Laboratory/gim), which the user compiles: with CUDA 13, ``cub/cub.cuh``
comes from the toolkit and ``cub::Sum`` is called ``cuda::std::plus<>``. It reads edges ``u v p`` without a header, and
its RR sets leave the root out. Its time is its own timer's, of sampling and choice with the graph on the device; ours
is that of the same steps by ``gpukit papers bench gim``. Forward simulation judges all seeds.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from gpukit.artifacts import read_graph_file
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.evaluate import forward_spread
from gpukit.files import write_text
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import out_probabilities
from gpukit.papers.bench.machine import kernels_of

DATA = Path(__file__).resolve().parents[1] / "data"
GRAPHS = {
    "soc-Epinions1": f"graph import {DATA / 'soc-Epinions1.txt.xz'} --weights wc",
    "R-MAT 20": "graph generate rmat --scale 20 --weights wc --seed 1",
    "R-MAT 22": "graph generate rmat --scale 22 --weights wc --seed 1",
}
K, EPSILON, JUDGE_RUNS = 50, 0.05, 10_000


def main() -> int:
    """Measure, print a line for each graph and model, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, required=True, help="the authors' program, compiled")
    parser.add_argument("--revision", required=True, help="commit of the authors' code")
    parser.add_argument("--graphs", default="soc-Epinions1,R-MAT 20", help=f"of {', '.join(GRAPHS)}")
    parser.add_argument("--runs", type=int, default=5, help="runs of their program; ours repeats itself as often")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    device = choose("cuda")
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.graphs.split(","):
            file, text = Path(folder, "graph.h5"), Path(folder, "graph.txt")
            gpukit(*GRAPHS[name].split(), "--out", file, "--force")
            graph = read_graph_file(file)[0]
            write_edges(text, graph)
            for model in ("ic", "lt"):
                found = {
                    "authors": authors(asked.binary, text, model, asked.runs),
                    **ours(graph, file, model, asked.runs),
                }
                for one in found.values():
                    judged = forward_spread(graph, one["seeds"], model=model, runs=JUDGE_RUNS, seed=1, device=device)
                    one |= {"spread": judged.spread, "stderr": judged.stderr}
                runs.append({"graph": {"name": name, "n": graph.n, "m": graph.m}, "model": model, **found})
                said = (
                    f"{who} {one['algorithm_ms']['median']:.2f} ms ({one['spread']:,.0f})" for who, one in found.items()
                )
                print(f"{name} {model}: {', '.join(said)}", flush=True)
    record = {
        "benchmark": "gim-authors",
        "command": "python benchmarks/gim_authors.py " + " ".join(sys.argv[1:]),
        "date": time.strftime("%Y-%m-%d"),
        "device": {"kind": "cuda", "name": device.name},
        "versions": versions(),
        "kernels": {"worlds": kernels_of("worlds")},
        "authors": {"code": "github.com/LIS-Laboratory/gim", "revision": asked.revision},
        "params": {"k": K, "epsilon": EPSILON, "weights": "wc"},
        "runs": runs,
    }
    if asked.out:
        write_text(asked.out, json.dumps(record, indent=1) + "\n")
    return 0


def gpukit(*words: Any) -> str:
    """Run a command of gpukit; return what it printed."""
    return subprocess.run(
        [sys.executable, "-m", "gpukit", *map(str, words)], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def write_edges(path: Path, graph: Graph) -> None:
    """Write a graph as their program reads it: one line ``u v p`` for each edge."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    p = (out_probabilities(graph).astype(np.float64) + 1) / 2**32
    with path.open("w") as stream:
        for low in range(0, graph.m, 1 << 20):
            part = slice(low, low + (1 << 20))
            rows = zip(tails[part].tolist(), graph.indices[part].tolist(), p[part].tolist(), strict=True)
            stream.writelines(f"{u} {v} {x:.9g}\n" for u, v, x in rows)


def authors(binary: Path, text: Path, model: str, repeat: int) -> dict[str, Any]:
    """Run their program; return the milliseconds of its timer, how many RR sets it asked for, and its seeds."""
    words = [binary.resolve(), text, str(K), str(EPSILON), "1" if model == "ic" else "0"]
    times = []
    for _ in range(repeat):
        said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
        found = re.search(r"required RR sets: (\d+).*Time: ([\d.]+) ms.*seed set:([ \d]+)", said, re.DOTALL)
        if found is None:
            raise SystemExit(f"the authors' program said: {said}")
        times.append(float(found[2]))
    spent = {"median": median(times), "min": min(times), "max": max(times)}
    return {
        "algorithm_ms": spent,
        "repeat": repeat,
        "rr_sets": int(found[1]),
        "seeds": list(map(int, found[3].split())),
    }


def ours(graph: Graph, file: Path, model: str, repeat: int) -> dict[str, Any]:
    """Return what ``gpukit papers bench gim`` measures by IMM's and OPIM-C's stopping rules, every set drawn."""
    same = ("-k", K, "--epsilon", EPSILON, "--sets", "plain", "--optimism", "off", "--device", "cuda", "--json")
    words = ("papers", "bench", "gim", file, "--models", model, "--bounds", "imm,opim", "--repeat", repeat)
    found = {}
    for run in json.loads(gpukit(*words, *same))["runs"]:
        bound = run["params"]["bound"]
        out = file.with_name("seeds.h5")
        one = json.loads(
            gpukit("papers", "gim", "run", file, "--model", model, "--bound", bound, "--out", out, "--force", *same)
        )
        kept = {name: run[name] for name in ("algorithm_ms", "repeat", "rr_sets")}
        found[bound] = {**kept, "seeds": graph.internal(one["seeds"]).tolist()}
    return found


if __name__ == "__main__":
    sys.exit(main())
