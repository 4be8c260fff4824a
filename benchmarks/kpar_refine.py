"""Precision and CPU time of `kpar query` with and without a second look, on shipped graphs and copying-model ones.

``python benchmarks/kpar_refine.py [--n 60000] [--queries 100] [GRAPH.txt.gz…]``: for k = 10, 100, 1000 the precision
before and after (tie rule 1e-9), places certain, certain places that are wrong, places that break Definition 1, and
the CPU time of runs in turn: the smallest of each, and the median of the quotients of neighbours. ``--save FOLDER``
writes the generated graphs, for ``gpukit papers bench kpar-quality``, and does nothing else.
"""

import argparse
import time
from pathlib import Path
from statistics import median

import numpy as np

import gpukit as gk
from gpukit.evaluate.ppr import judge, power_method
from gpukit.kpar import Params, Prepared, Sources, build_index, query, rank
from gpukit.kpar.problem import ONE, random_vertices


def copying(n, links, fresh, back, seed):
    """Return a graph of the copying model (Kumar et al., FOCS 2000) in which a share ``back`` of links is returned."""
    generator = np.random.default_rng(seed)
    rows = [[u for u in range(links + 1) if u != v][:links] for v in range(links + 1)]
    for v in range(links + 1, n):
        model, count = rows[generator.integers(v)], min(1 + int(generator.exponential(links)), links)
        new, other = generator.random(count) < fresh, generator.integers(0, v, count)
        rows.append([model[i] if i < len(model) and not new[i] else int(other[i]) for i in range(count)])
    tails = np.repeat(np.arange(n), [len(row) for row in rows])
    heads = np.concatenate(rows)
    returned = generator.random(len(tails)) < back
    both = np.concatenate([tails, heads[returned]]), np.concatenate([heads, tails[returned]])
    return gk.from_edges(*both)


def main():
    """Print a line for each graph and k."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*")
    parser.add_argument("--n", type=int, default=60_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--save", type=Path, metavar="FOLDER")
    asked = parser.parse_args()
    graphs = {
        "copying-a-fifth": copying(asked.n, 12, 0.2, 0.15, 1),
        "copying-a-half": copying(asked.n, 20, 0.5, 0.05, 2),
    }
    if asked.save:
        for name, made in graphs.items():
            made.save(asked.save / f"{name}.h5")
        return
    graphs = {path: gk.read_edges(path) for path in asked.graphs} | graphs
    params = Params()
    for name, made in graphs.items():
        graph = made.csr
        able = np.flatnonzero(np.diff(graph.indptr))
        sources = Sources.single(able[random_vertices(len(able), asked.queries, 7)])
        truths = list(power_method(graph, sources.offsets, sources.vertices, sources.mass / ONE, params.alpha))
        ready = Prepared.of(graph, build_index(graph, rank(graph, params).order, params))
        for k in (10, 100, 1000):
            found, times = {}, {False: [], True: []}
            for _ in range(asked.pairs + 1):
                for refine in times:
                    start = time.thread_time()
                    found[refine] = query(ready, sources, k, refine=refine)
                    times[refine].append(time.thread_time() - start)
            delta = float(ready.constants.delta_min)
            before, after = (
                judge(iter(truths), one.offsets, one.nodes, one.scores / ONE, k, epsilon=params.epsilon, delta=delta)
                for one in found.values()
            )
            wrong = 0
            for q, truth in enumerate(truths):
                own = slice(found[True].offsets[q], found[True].offsets[q + 1])
                sure = found[True].nodes[own][found[True].certain[own]]
                wrong += int((truth[sure] < np.sort(truth)[-k] * (1 - 1e-9)).sum())
            # The first of each makes workspaces and in-edges.
            plain, refined = (times[refine][1:] for refine in (False, True))
            longer = median(b / a for a, b in zip(plain, refined, strict=True))
            print(
                f"{name} k = {k}: precision {before.precision:.4f} -> {after.precision:.4f}, "
                f"{found[True].certain.mean():.3f} certain, {wrong} of them wrong, {after.violations} violations, "
                f"{1000 * min(plain) / len(sources):.3f} -> {1000 * min(refined) / len(sources):.3f} ms "
                f"({longer:.3f} times)",
                flush=True,
            )


if __name__ == "__main__":
    main()
