"""Spread of IMGPU's seeds and of random ones on a graph read in three ways, with every arc at p = 0.01.

    python benchmarks/imgpu_readings.py data/NetHEPT.txt.gz data/NetPHY.txt.xz --out imgpu-readings.json

Read as directed, as undirected, and as an undirected multigraph, in which each parallel edge is a chance of its own.
Seeds are judged by forward simulation, which shares no code with the worlds they were chosen in.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import mean

from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.evaluate.spread import forward_spread
from gpukit.files import replacing
from gpukit.gim.baselines import random
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.graph.read.formats import read_edges
from gpukit.imgpu import Params, maximise
from gpukit.papers.cli.bench_record import command_line
from gpukit.parameters.imgpu import USUAL_WORLDS

K, RANDOM_SETS, RUNS = 50, 20, 20_000
READINGS = {
    "directed": {},
    "undirected": {"undirected": True},
    "undirected multigraph": {"undirected": True, "parallel": "combine"},
}


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("edges", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    device, runs = choose("cpu", 1, None), []
    for path in asked.edges:
        listed = read_edges(path, weights=False)
        for reading, options in READINGS.items():
            graph = build_graph(listed.u, listed.v, weights=Weights("const", 0.01), **options)
            chosen = maximise(graph, Params(K, USUAL_WORLDS, seed=1), device)
            found = forward_spread(graph, chosen.seeds, runs=RUNS, seed=1, device=device)
            others = [forward_spread(graph, random(graph, K, s), runs=RUNS, device=device) for s in range(RANDOM_SETS)]
            facts = {"name": path.name.split(".")[0], "reading": reading, "n": graph.n, "m": graph.m}
            average = mean(other.spread for other in others)
            runs.append({"graph": facts, "spread": found.spread, "stderr": found.stderr, "random": average})
    record = {
        "benchmark": "imgpu-readings",
        "command": command_line("python benchmarks/imgpu_readings.py", sys.argv[1:]),
        "device": device.record(),
        "versions": versions(),
        "params": {"k": K, "p": 0.01, "worlds": USUAL_WORLDS, "runs": RUNS, "random_sets": RANDOM_SETS, "seed": 1},
        "runs": runs,
    }
    text = json.dumps(record, indent=1) + "\n"
    print(text, end="")
    if asked.out:
        with replacing(asked.out) as temporary:
            Path(temporary).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
