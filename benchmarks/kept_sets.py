"""Spread and time of ``gim run`` on one CPU thread with trivial sets left out and with all of them drawn.

    python benchmarks/kept_sets.py nethept.h5:const:0.01 soc-Epinions1.h5:wc --out benchmarks/results/gim-kept-sets.json

Both are asked for the same number of RR sets. Times are CPU time of sampling, selection and bounds; spreads are judged
by cascades that have nothing to do with either.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from statistics import mean
from time import process_time
from typing import Any

from gpukit.artifacts import read_graph_file
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.evaluate import forward_spread
from gpukit.files import replacing
from gpukit.gim import Params, baselines, maximise
from gpukit.graph.csr import Graph, Weights
from gpukit.papers.cli.bench_record import command_line, graph_facts

CASCADES, SEED = 20_000, 1
FACTS = ("spread_estimate", "guarantee", "rr_sets")


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="+", help="FILE:wc or FILE:const:P")
    parser.add_argument("-k", type=int, default=50)
    parser.add_argument("--min-sets", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=3, help="seeds of the random numbers")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    runs = []
    for one in asked.graphs:
        name, scheme, *p = one.split(":")
        stored, digest, _ = read_graph_file(Path(name))
        graph = replace(stored, weights=Weights(scheme, float(p[0])) if p else Weights(scheme))
        facts = graph_facts(Path(name), stored, digest) | {"weights": str(graph.weights)}
        runs += [{"graph": facts, "k": asked.k, **found} for found in _measure(graph, asked)]
    record = {
        "benchmark": "kept-sets",
        "command": command_line("python benchmarks/kept_sets.py", sys.argv[1:]),
        "device": choose("cpu", 1, 1).record(),
        "versions": versions(),
        "params": {"epsilon": Params(k=1).epsilon, "min_sets": asked.min_sets, "cascades": CASCADES},
        "runs": runs,
    }
    text = json.dumps(record, indent=1) + "\n"
    print(text, end="")
    if asked.out:
        with replacing(asked.out) as temporary:
            Path(temporary).write_text(text)
    return 0


def _measure(graph: Graph, asked: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what both kinds of sets and degree discount reach, and in what time."""
    found = []
    for sets in ("plain", "kept"):
        each = []
        for seed in range(asked.repeat):
            params = Params(k=asked.k, min_sets=asked.min_sets, sets=sets, seed=seed)
            if not each:
                maximise(graph, params)
            start = process_time()
            result = maximise(graph, params)
            each.append((process_time() - start, _judged(graph, result.seeds), result))
        seconds, spreads, results = zip(*each, strict=True)
        found.append(
            {"method": sets, "cpu_s": mean(seconds), "spread": mean(spreads), "least_spread": min(spreads)}
            | {
                name: mean(getattr(one, name) for one in results)
                for name in ("spread_estimate", "guarantee", "rr_sets")
            }
        )
    rule = _judged(graph, baselines.degree_discount(graph, asked.k))
    return [*found, {"method": "degree-discount", "spread": rule}]


def _judged(graph: Graph, seeds: Any) -> float:
    return forward_spread(graph, seeds.tolist(), model="ic", runs=CASCADES, seed=SEED).spread


if __name__ == "__main__":
    sys.exit(main())
