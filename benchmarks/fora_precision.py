"""How precise kPAR and FORA+ are, FORA+ at the δ of its own paper (1/n) and at kPAR's (16/n), against the power method.

``python benchmarks/fora_precision.py GRAPH.txt.gz… --out RECORD.json``: 100 sources with out-edges, a line for
each graph, method and k. The device is of no matter.
"""

import argparse
import json
from pathlib import Path

import gpukit as gk
from gpukit.evaluate.ppr import judge, power_method
from gpukit.kpar import Params, Prepared, build_index, query, rank
from gpukit.kpar.problem import ONE
from gpukit.papers.bench.kpar import random_sources
from gpukit.papers.kpar.baselines import fora, fora_index


def main():
    """Write the record, and print it line by line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    params, runs = Params(), []
    for path in asked.graphs:
        graph = gk.read_edges(path).csr
        sources = random_sources(graph, asked.queries, asked.seed)
        truths = list(power_method(graph, sources.offsets, sources.vertices, sources.mass / ONE, params.alpha))
        ready = Prepared.of(graph, build_index(graph, rank(graph, params).order, params, seed=asked.seed))
        stored = {delta: fora_index(graph, params, delta=delta, seed=asked.seed) for delta in (1, 16)}
        for k in (10, 100, 1000):
            found = {"kpar": query(ready, sources, k)}
            found |= {f"fora, δ {delta}/n": fora(graph, index, sources, k) for delta, index in stored.items()}
            for method, one in found.items():
                quality = judge(
                    iter(truths), one.offsets, one.nodes, one.scores / ONE, k,
                    epsilon=params.epsilon, delta=float(ready.constants.delta_min),
                )  # fmt: skip
                walks = ready.index.total if method == "kpar" else len(stored[16 if "16" in method else 1].ends)
                runs.append(
                    {"graph": Path(path).name, "n": graph.n, "m": graph.m, "method": method, "k": k, "walks": walks}
                    | {name: getattr(quality, name) for name in ("precision", "ndcg", "violations")}
                )
                print(*runs[-1].values())
    record = {"benchmark": "fora-precision", "params": {"queries": asked.queries, "seed": asked.seed}, "runs": runs}
    asked.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
