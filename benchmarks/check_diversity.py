"""Compare structural diversity with NetworkX on a whole graph, for k = 2 … 6, and record what was compared.

    python benchmarks/check_diversity.py data/wiki-Vote.txt.gz --out benchmarks/results/diversity-check.json

Components and cores: scores and contexts of all vertices. Trusses: of a sample, the largest ego-networks included. It
takes minutes; the tests compare fewer vertices.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np

from gpukit.diversity import Params, build_network, search
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.graph.read.formats import read_edges

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from oracles import diversity as oracle  # noqa: E402

KS = (2, 3, 4, 5, 6)


def contexts_of(net: nx.Graph, model: str, k: int) -> list[list[int]]:
    """Return the contexts in one ego-network, ordered by first member."""
    if model == "comp":
        parts = [part for part in nx.connected_components(net) if len(part) >= k]
    else:
        parts = list(nx.connected_components(nx.k_core(net, k) if model == "core" else nx.k_truss(net, k)))
    return sorted(sorted(part) for part in parts)


def main() -> int:
    """Compare, write the record, and return the number of differences (at most 100)."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("edges", type=Path)
    parser.add_argument("--sample", type=int, default=500, help="vertices that trusses are compared for")
    parser.add_argument("--largest", type=int, default=50, help="of them, those of the largest ego-networks")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    found = read_edges(asked.edges, weights=False)
    graph = build_graph(found.u, found.v, weights=Weights("none"), undirected=True, transpose=False)
    network, reference = build_network(graph, 1), oracle.as_networkx(graph)
    everyone = np.arange(graph.n)
    largest = network.order[np.argsort(-network.cost, kind="stable")[: asked.largest]]
    rest = np.setdiff1d(everyone, largest)
    drawn = np.random.default_rng(1).choice(rest, min(len(rest), asked.sample - len(largest)), replace=False)
    for_truss = set(np.concatenate([largest, drawn]).tolist())
    known, listed = {}, {}
    for model in ("comp", "core", "truss"):
        for k in KS:
            params = Params(model, k)
            known[model, k] = network.scores(everyone, params)
            listed[model, k] = network.contexts(everyone, known[model, k], params)
    compared, different = dict.fromkeys(("comp", "core", "truss"), 0), []
    start = time.perf_counter()
    for v in range(graph.n):
        net = oracle.ego(reference, v)
        for model, k in known:
            if model != "truss" or v in for_truss:
                compared[model] += 1
                if [part.tolist() for part in listed[model, k].of(v)] != contexts_of(net, model, k):
                    different.append([int(v), model, k])
    for (model, k), scores in known.items():
        for t in (1, 100, 1000, graph.n):
            answer = search(network, Params(model, k), t)
            if answer.vertices.tolist() != np.lexsort((everyone, -scores))[:t].tolist():
                different.append([t, model, k])
    record = {
        "benchmark": "diversity-check",
        "graph": {"file": asked.edges.name, "n": graph.n, "m": graph.m},
        "k": KS,
        "vertices": {"comp": graph.n, "core": graph.n, "truss": len(for_truss)},
        "compared": compared,
        "largest_ego_edges": oracle.ego(reference, int(largest[0])).number_of_edges(),
        "different": different,
        "networkx": nx.__version__,
        "seconds": round(time.perf_counter() - start, 1),
    }
    print(json.dumps(record, indent=1))
    if asked.out:
        asked.out.write_text(json.dumps(record, indent=1) + "\n")
    return min(len(different), 100)


if __name__ == "__main__":
    sys.exit(main())
