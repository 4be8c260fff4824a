"""Compare the certificates of ``gim run`` with enumeration on small graphs, for many seeds, and count what is untrue.

    python benchmarks/gim_certificates.py --runs 50 --processes 32 --out benchmarks/results/gim-certificates.json

A run is untrue if its seeds reach less than its guarantee says, or than its lower bound, or if some allowed set reaches
more than its upper bound. All worlds of a graph of 8 vertices are listed, so nothing is estimated. The tests do the
same for fewer seeds.
"""

import argparse
import json
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from gpukit.cli.doctor import versions
from gpukit.files import replacing
from gpukit.gim import Params, maximise, run
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Graph, Weights
from gpukit.papers.cli.bench_record import command_line

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from oracles.worlds import reach, worlds  # noqa: E402

N, EDGES, K = 8, 10, 2
ROUNDING = 1e-9

WEIGHTS = {
    "wc": Weights(),
    "const:0.5": Weights("const", 0.5),
    "const:0.1": Weights("const", 0.1),
    "trivalency": Weights("trivalency", seed=3),
    "uniform:0:0.4": Weights("uniform", seed=3, low=0.0, high=0.4),
}

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "plain": {"sets": "plain"},
    "certificate alone": {"optimism": None},
    "certificate alone, plain": {"optimism": None, "sets": "plain"},
    "sentinel": {},
    "sentinel, certificate alone": {"optimism": None},
    "targets": {},
    "forced and barred": {},
    "budget": {},
}
"""What differs from K seeds, ε = 0.3, an optimism of 0.1 and at most 20,000 members."""


class Task(NamedTuple):
    """Runs of one setting on one graph."""

    shape: int
    weights: str
    model: str
    setting: str
    runs: int


class Exact(NamedTuple):
    """What every set of vertices of a graph reaches, by enumeration: ``spread[mask]``; the weights counted with."""

    spread: np.ndarray
    targets: np.ndarray | None
    costs: np.ndarray


def main() -> int:
    """Compare, write the record, and return 1 if anything was untrue."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=int, default=8, help="graphs, each with all weights")
    parser.add_argument("--runs", type=int, default=50, help="seeds of the random numbers, of each setting and graph")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    tasks = list(_tasks(asked.graphs, asked.runs))
    for setting in SETTINGS:  # compiles once for all processes
        check(Task(0, "wc", "ic", setting, 1))
    with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
        found = pool.map(check, tasks, chunksize=1)
    total: dict[str, Counter] = {}
    for task, counts in zip(tasks, found, strict=True):
        total.setdefault(f"{task.model} {task.setting}", Counter()).update(counts)
    whole = sum(total.values(), Counter())
    record = {
        "benchmark": "gim-certificates",
        "command": command_line("python benchmarks/gim_certificates.py", sys.argv[1:]),
        "versions": versions(),
        "params": {"n": N, "edges": EDGES, "k": K, "graphs": asked.graphs, "weights": list(WEIGHTS)},
        "runs": whole["runs"],
        "untrue": whole["untrue"],
        "settings": {name: dict(counts) for name, counts in total.items()},
    }
    text = json.dumps(record, indent=1) + "\n"
    print(text, end="")
    if asked.out:
        with replacing(asked.out) as temporary:
            Path(temporary).write_text(text)
    return int(whole["untrue"] > 0)


def _tasks(graphs: int, runs: int) -> Iterator[Task]:
    for shape, weights, setting in product(range(graphs), WEIGHTS, SETTINGS):
        yield Task(shape, weights, "ic", setting, runs)
        if weights == "wc" and not setting.startswith("sentinel"):
            yield Task(shape, weights, "lt", setting, runs)


def check(task: Task) -> Counter:
    """Return the number of runs, of those that were untrue, and of those with each kind of guarantee."""
    graph, counts = graph_of(task.shape, task.weights), Counter()
    for seed in range(task.runs):
        rng = np.random.default_rng([task.shape, seed])
        weighted = task.setting == "targets"
        exact = enumerated(task.shape, task.weights, task.model, weighted)
        given: dict[str, Any] = {"k": K}
        allowed = [mask for mask in range(1 << N) if mask.bit_count() <= K]
        if weighted:
            given["root_weights"] = exact.targets
        if task.setting == "forced and barred":
            forced, barred = rng.permutation(N)[:2].tolist()
            given |= {"include": [forced], "exclude": [barred]}
            allowed = [mask for mask in allowed if mask >> forced & 1 and not mask >> barred & 1]
        if task.setting == "budget":
            given |= {"k": None, "budget": 4, "costs": exact.costs}
            bought = [sum(int(exact.costs[v]) for v in range(N) if mask >> v & 1) for mask in range(1 << N)]
            allowed = [mask for mask in range(1 << N) if bought[mask] <= 4]
        params = Params(
            model=task.model,
            **{"epsilon": 0.3, "optimism": 0.1, "max_members": 20_000, "seed": seed, **given, **SETTINGS[task.setting]},
        )
        if task.setting.startswith("sentinel"):
            with patch.object(run, "find", lambda problem, another, vertex=seed % N: vertex):
                found = maximise(graph, params)
        else:
            found = maximise(graph, params)
        chosen = sum(1 << v for v in found.seeds.tolist())
        value, best = exact.spread[chosen], exact.spread[allowed].max()
        true = chosen in allowed and found.guarantee * best <= value + ROUNDING
        true &= found.lower <= value + ROUNDING and (found.upper is None or found.upper >= best - ROUNDING)
        counts.update(["runs", found.guarantee_kind] + ([] if true else ["untrue"]))
    return counts


@cache
def graph_of(shape: int, weights: str) -> Graph:
    """Return a random graph with these edge probabilities."""
    rng = np.random.default_rng(shape)
    pairs = [(u, v) for u in range(N) for v in range(N) if u != v]
    edges = np.array(pairs)[rng.choice(len(pairs), EDGES, replace=False)]
    return build_graph(edges[:, 0], edges[:, 1], weights=WEIGHTS[weights], ids=False, n=N)


@cache
def enumerated(shape: int, weights: str, model: str, weighted: bool) -> Exact:
    """Return what every set of vertices reaches, over all worlds."""
    rng = np.random.default_rng(1000 + shape)
    targets = rng.integers(0, 5, N) + (np.arange(N) == shape % N)
    counts = targets if weighted else np.ones(N, np.int64)
    worth = np.array([sum(int(counts[v]) for v in range(N) if mask >> v & 1) for mask in range(1 << N)])
    spread = np.zeros(1 << N)
    for chance, rows in worlds(graph_of(shape, weights), model):
        reached = np.zeros(1 << N, np.int64)
        for v in range(N):
            reached[np.arange(1 << N) >> v & 1 > 0] |= reach(rows, 1 << v)
        spread += float(chance) * worth[reached]
    return Exact(spread, targets, rng.integers(1, 4, N))


if __name__ == "__main__":
    sys.exit(main())
