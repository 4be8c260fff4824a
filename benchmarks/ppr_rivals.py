"""Time four index-free methods of single-source PageRank beside kPAR on one CPU thread, in turn, and judge all answers.

    git clone https://github.com/StyLishPoor/Cache-Efficient-PPR ../ppr && cd ../ppr
    g++ -O3 -march=native -std=c++17 -I. -c ../gpukit/benchmarks/ppr_rivals.cpp -o answers.o
    options="-O3 -c -m64 -march=native -std=c++17 -DSFMT_MEXP=19937 -ISFMT-src-1.5.1 -include ctime -include numeric"
    make CPPFLAGS="$options" LDFLAGS="-static -O3 -m64 -Wl,--wrap=_ZN5Graph5resetEv answers.o"
    cd ../gpukit
    python benchmarks/ppr_rivals.py --program ../ppr/SSPPR --revision 0e70214 --graph soc-Epinions1 --out record.json

The program is that of Tsuchida, Matsumoto, Shin and Kaneko, "Cache-Efficient Approach for Index-Free Personalized
PageRank", IEEE Access 11, 2023. It has the authors' CachePPR, and their versions of FORA, ResAcc and SpeedPPR, all with
epsilon = 0.5, which is kPAR's, too. The user compiles it, with the options of its makefile; newer compilers need the
two headers named above.

Times are CPU seconds, theirs by the program's own timer. Theirs are of all scores of a source, and of no sorting; ours
of the k best, by an index that was made before and whose time is said apart. Each round runs each of their methods on
all sources, and after each of them ours.

A walk of theirs that leaves a vertex without out-edges goes on at the source; one of ours ends. So each side's answers
are compared with the exact ones by its own rule. Those of theirs follow from ours: if H is the probability that a walk
ends for want of out-edges, every other score is divided by 1 - (1 - alpha) H, and so is alpha times the score of a
vertex without out-edges.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numba
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from gpukit.artifacts import read_graph_file
from gpukit.cli.doctor import versions
from gpukit.device.select import choose
from gpukit.evaluate.ppr import power_method
from gpukit.files import write_text
from gpukit.graph.csr import Graph
from gpukit.kpar.problem import ONE, Params, Sources
from gpukit.kpar.query.answer import Prepared, query
from gpukit.kpar.run import index_on, rank_on
from gpukit.papers.bench.kpar import random_sources

DATA = Path(__file__).resolve().parents[1] / "data"
GRAPHS = ("soc-Epinions1", "web-NotreDame")
METHODS = ("Fora", "ResAcc", "SpeedPPR", "CachePPR")
ALPHAS, KS, SEED = (0.2, 0.05, 0.01), (10, 100, 1000), 1
EPSILONS, THEIR_EPSILON = (0.5, 0.1), 0.5
SAME = 1e-9
"""Relative difference below which two scores tie."""


def main() -> int:
    """Measure, print a line for each alpha, and write the record after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="their program SSPPR, compiled")
    parser.add_argument("--revision", required=True, help="commit of their code")
    parser.add_argument("--graph", choices=GRAPHS, required=True)
    parser.add_argument("--queries", type=int, default=20, help="with alpha = 0.2; fewer where queries take longer")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    numba.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "graph.h5")
        words = [
            "graph",
            "import",
            DATA / f"{asked.graph}.txt.xz",
            "--weights",
            "none",
            "--no-transpose",
            "--out",
            file,
        ]
        subprocess.run([sys.executable, "-m", "gpukit", *map(str, words)], check=True, stdout=subprocess.DEVNULL)
        graph = read_graph_file(file)[0]
        rivals = Rivals(asked.program, Path(folder), graph)
        record = {
            "benchmark": "ppr-rivals",
            "command": "python benchmarks/ppr_rivals.py " + " ".join(sys.argv[1:]),
            "date": time.strftime("%Y-%m-%d"),
            "device": choose("cpu", threads=1).record(),
            "versions": versions() | {"g++": compiler()},
            "authors": {"code": "github.com/StyLishPoor/Cache-Efficient-PPR", "revision": asked.revision},
            "graph": {"name": asked.graph, "n": graph.n, "m": graph.m},
            "seed": SEED,
            "rounds": asked.rounds,
        }
        runs: list[dict[str, Any]] = []
        for alpha in ALPHAS:
            queries = round(asked.queries * (alpha / ALPHAS[0]) ** 0.5)
            runs.append({"alpha": alpha, **measured(graph, alpha, queries, rivals, asked.rounds)})
            runs[-1]["load"] = os.getloadavg()[0]
            print(asked.graph, alpha, said(runs[-1]), flush=True)
            write_text(asked.out, json.dumps({**record, "runs": runs}, indent=1) + "\n")
    return 0


def compiler() -> str:
    """Return the version of the compiler that is likely to have made their program."""
    return subprocess.run(["g++", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]


class Rivals:
    """Their program and its input as text: edges, the number of vertices and edges, and sources.

    Parameters
    ----------
    program, folder : path
    graph : Graph
    """

    def __init__(self, program: Path, folder: Path, graph: Graph) -> None:
        self.program, self.folder, self.graph = program.resolve(), folder, graph
        self.sources: list[int] = []
        tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
        np.savetxt(folder / "edges", np.column_stack([tails, graph.indices]), "%d")
        Path(folder, "size").write_text(f"{graph.n} {graph.m}\n")
        self.matrix = csr_array((np.ones(graph.m), graph.indices, graph.indptr), shape=(graph.n, graph.n))

    def ask_from(self, sources: Sources) -> None:
        """Write the sources of the queries that follow, one vertex each."""
        self.sources = sources.vertices.tolist()
        Path(self.folder, "sources").write_text("".join(f"{source}\n" for source in self.sources))

    def ask(self, method: str, alpha: float) -> tuple[float, np.ndarray]:
        """Return the mean milliseconds of a query by their timer, and their scores (one row per source), by vertex.

        CachePPR numbers vertices in the order in which a breadth-first search meets them, and its answer does, too.
        """
        inputs, answers = {"graph": "edges", "attribute": "size", "query": "sources"}, self.folder / "answers"
        answers.unlink(missing_ok=True)
        words = [word for key, name in inputs.items() for word in (f"-{key}", str(self.folder / name))]
        words += ["-algo", method, "-query_size", str(len(self.sources)), "-alpha", str(alpha)]
        environment = os.environ | {"PPR_ANSWERS": str(answers)}
        done = subprocess.run([self.program, *words], check=True, stdout=subprocess.PIPE, text=True, env=environment)
        times = [float(found) for found in re.findall(r"Computation Time: (\S+)", done.stdout)]
        if len(times) != len(self.sources):
            raise SystemExit(f"their program said: {done.stdout}")
        found = np.fromfile(answers).reshape(len(self.sources), self.graph.n)
        if method == "CachePPR":
            for row, source in zip(found, self.sources, strict=True):
                order = breadth_first_order(self.matrix, source, return_predecessors=False)
                met = row[: len(order)].copy()
                row[:] = 0
                row[order] = met
        return 1e3 * float(np.mean(times)), found


def measured(graph: Graph, alpha: float, queries: int, rivals: Rivals, rounds: int) -> dict[str, Any]:
    """Return what one graph and alpha took: milliseconds of a query in each round, and precision, by method and k."""
    sources = random_sources(graph, queries, SEED)
    rivals.ask_from(sources)
    exact = np.array(list(power_method(graph, sources.offsets, sources.vertices, sources.mass / ONE, alpha)))
    indexes, ours = [], {}
    for epsilon in EPSILONS:
        made, prepared = index_of(graph, Params(alpha, epsilon))
        indexes.append({"epsilon": epsilon, **made})
        for k in KS:
            answers = [query(prepared, sources.part(q, q + 1), k, refine=True).nodes for q in range(queries)]
            run = {"method": "kPAR", "epsilon": epsilon, "k": k, "ms": [], "precision": right(exact, answers, k)}
            ours[epsilon, k] = prepared, run
    theirs = {method: {"method": method, "epsilon": THEIR_EPSILON, "ms": []} for method in METHODS}
    their_exact = returning(graph, exact, alpha)
    for place in range(rounds):
        for method, run in theirs.items():
            spent, scores = rivals.ask(method, alpha)
            run["ms"].append(spent)
            if place == 0:
                best = ordered(scores, max(KS))
                run["precision"] = {k: right(their_exact, [one[:k] for one in best], k) for k in KS}
            for (_, k), (prepared, mine) in ours.items():
                mine["ms"].append(ours_ms(prepared, sources, k))
    return {"queries": queries, "indexes": indexes, "methods": [*theirs.values(), *(run for _, run in ours.values())]}


def index_of(graph: Graph, params: Params) -> tuple[dict[str, Any], Prepared]:
    """Make an index twice, first to load compiled code; return its CPU seconds and walks, and what answers queries."""
    device = choose("cpu", threads=1)
    for _ in range(2):
        start = time.process_time()
        index = index_on(device, graph, rank_on(device, graph, params).order, params, seed=SEED)
        spent = time.process_time() - start
    return {"s": spent, "walks": int(index.walks.sum())}, Prepared.of(graph, index)


def ours_ms(prepared: Prepared, sources: Sources, k: int) -> float:
    """Return the mean CPU milliseconds of our queries, one at a time."""
    start = time.process_time()
    for q in range(len(sources)):
        query(prepared, sources.part(q, q + 1), k, refine=True)
    return 1e3 * (time.process_time() - start) / len(sources)


def returning(graph: Graph, exact: np.ndarray, alpha: float) -> np.ndarray:
    """Return the exact scores if walks return to the source from vertices without out-edges."""
    ends = np.diff(graph.indptr) == 0
    scale = 1 / (1 - (1 - alpha) * exact[:, ends].sum(axis=1, keepdims=True))
    return exact * scale * np.where(ends, alpha, 1.0)


def ordered(scores: np.ndarray, k: int) -> list[np.ndarray]:
    """Return the k best vertices of each row with a positive score, ties by id."""
    return [order[row[order] > 0] for row in scores for order in [np.argsort(-row, kind="stable")[:k]]]


def right(exact: np.ndarray, answers: Sequence[np.ndarray], k: int) -> float:
    """Return the mean share of the k best that are in the answers; a vertex as good as the k-th counts."""
    shares = []
    for row, answer in zip(exact, answers, strict=True):
        wanted = min(k, int(np.count_nonzero(row)))
        last = np.partition(row, len(row) - wanted)[len(row) - wanted]
        shares.append(min(1.0, float((row[answer] >= last * (1 - SAME)).sum()) / wanted))
    return float(np.mean(shares))


def said(run: dict[str, Any]) -> str:
    """Return a run in a line."""
    return "; ".join(
        f"{one['method']} {one['epsilon']} {one.get('k', '')} {median(one['ms']):.2f} ms {one['precision']}"
        for one in run["methods"]
    )


if __name__ == "__main__":
    sys.exit(main())
