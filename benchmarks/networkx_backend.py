"""Time the NetworkX backend beside NetworkX itself, with the conversion of the graph and without.

    python benchmarks/networkx_backend.py soc-Epinions1.txt.xz --out benchmarks/results/networkx-backend.json

Both take turns in one process, and must return the same. Before each conversion the cache of the graph is emptied;
*cached* is the next call. Compiled code is loaded before.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import networkx as nx

from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.files import write_text
from gpukit.nx.info import FUNCTIONS
from gpukit.papers.cli.bench_record import command_line

CALLS = (
    ("pagerank", "directed", ()),
    ("core_number", "directed", ()),
    ("pagerank", "undirected", ()),
    ("core_number", "undirected", ()),
    ("k_core", "undirected", ()),
    ("triangles", "undirected", ()),
    ("clustering", "undirected", ()),
    ("k_truss", "undirected", (4,)),
)
SLOW = ("clustering", "k_truss")
"""Take NetworkX half a minute: one pair."""


def main() -> int:
    """Measure, print the record, and write it if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("edges", type=Path, help="edge list of whole numbers")
    parser.add_argument("--pairs", type=int, default=3, help="times that both run")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    load = os.getloadavg()
    nx.config.warnings_to_ignore.add("cache")
    graphs = {
        kind: nx.read_edgelist(asked.edges, create_using=make, nodetype=int)
        for kind, make in (("directed", nx.DiGraph), ("undirected", nx.Graph))
    }
    for graph in graphs.values():
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    runs = [_compare(name, kind, graphs[kind], rest, 1 if name in SLOW else asked.pairs) for name, kind, rest in CALLS]
    record = {
        "benchmark": "networkx-backend",
        "command": command_line("python benchmarks/networkx_backend.py", sys.argv[1:]),
        "device": choose("cpu").record(),
        "versions": versions() | {"networkx": nx.__version__},
        "graph": {
            "name": asked.edges.name.split(".")[0],
            "n": len(graphs["directed"]),
            **{kind: graph.number_of_edges() for kind, graph in graphs.items()},
        },
        "load_average": {"before": load, "after": os.getloadavg()},
        "runs": runs,
    }
    text = json.dumps(record, indent=1) + "\n"
    print(text, end="")
    if asked.out:
        write_text(asked.out, text)
    return 0


def _compare(name: str, kind: str, graph: nx.Graph, rest: tuple, pairs: int) -> dict[str, Any]:
    """Run a function of NetworkX and of the backend in turn."""
    assert name in FUNCTIONS
    function = getattr(nx, name)
    small = nx.gnm_random_graph(50, 300, seed=1, directed=graph.is_directed())
    function(small, *rest, backend="gpukit")
    theirs, converted, cached = [], [], []
    for _ in range(pairs):
        seconds, expected = _timed(lambda: function(graph, *rest, backend="networkx"))
        theirs.append(seconds)
        graph.__networkx_cache__.clear()
        for spent in (converted, cached):
            seconds, found = _timed(lambda: function(graph, *rest, backend="gpukit"))
            spent.append(seconds)
    return {
        "name": name,
        "kind": kind,
        "arguments": list(rest),
        "largest_difference": _difference(expected, found),
        "networkx_s": _spread(theirs),
        "converted_s": _spread(converted),
        "cached_s": _spread(cached),
        "speedup_converted": median(a / b for a, b in zip(theirs, converted, strict=True)),
        "speedup_cached": median(a / b for a, b in zip(theirs, cached, strict=True)),
    }


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def _spread(seconds: list[float]) -> dict[str, Any]:
    return {"median": median(seconds), "min": min(seconds), "max": max(seconds), "each": seconds}


def _difference(expected: Any, found: Any) -> float:
    """Return the largest difference of two numbers for a node, 0 where all is equal; fails where it must be."""
    if isinstance(expected, nx.Graph):
        assert dict(expected.nodes(data=True)) == dict(found.nodes(data=True)) and expected.adj == found.adj
        return 0.0
    if not isinstance(expected, dict):
        return abs(expected - found)
    assert list(expected) == list(found)
    if expected == found:
        return 0.0
    return max(abs(expected[node] - found[node]) for node in expected)


if __name__ == "__main__":
    sys.exit(main())
