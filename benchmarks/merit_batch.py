"""What the default batch of a campaign costs beside fixed ones, in the same hidden worlds.

    python benchmarks/merit_batch.py --out benchmarks/results/merit-batch.json

Each campaign is simulated in the same worlds with every batch, and with none named. A batch is left out, and null in
the record, if its worlds would take more than ``--seconds`` by the first of them. The last column is the cost of the
default relative to the cheapest batch that was measured.
"""

import argparse
import json
from itertools import product
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any

import gpukit as gk
from gpukit.cli.doctor import versions
from gpukit.files import replacing

DATA = Path(__file__).resolve().parents[1] / "data"
GRAPHS = {"wiki-Vote": False, "NetHEPT": True, "email-Enron": True, "soc-Epinions1": False}
"""Whether edges have no direction."""

BATCHES = (1, 2, 4, 8, 16)


def main() -> None:
    """Measure, print a line for each campaign, and write the record after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--graphs", default=",".join(GRAPHS))
    parser.add_argument("--eta", default="16,17,50,200,1000")
    parser.add_argument("--costs", default="uniform")
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120.0)
    asked = parser.parse_args()
    what = {name: value for name, value in vars(asked).items() if name != "out"}
    record: dict[str, Any] = {
        "benchmark": "batches of campaigns",
        "versions": versions(),
        "what": what,
        "campaigns": [],
    }
    for name, costs in product(asked.graphs.split(","), asked.costs.split(",")):
        graph = gk.read_edges(next(DATA.glob(f"{name}.txt.*")), undirected=GRAPHS[name], weights="wc")
        for eta in map(int, asked.eta.split(",")):
            where = {"costs": costs, "device": "cpu", "threads": asked.threads}
            row = {
                "graph": name,
                "digest": graph.digest,
                "costs": costs,
                "eta": eta,
                **measure(graph, eta, where, asked),
            }
            record["campaigns"].append(row)
            print(name, costs, eta, "default", row["default"], row["cost"], f"{row['relative']:.3f}", flush=True)
            if asked.out is not None:
                with replacing(asked.out) as path:
                    Path(path).write_text(json.dumps(record, indent=1) + "\n")


def measure(graph: gk.Graph, eta: int, where: dict[str, Any], asked: argparse.Namespace) -> dict[str, Any]:
    """Return the mean cost, in the same worlds, by batch and of the default one; None: left out as too long."""
    gk.seed_minimization(graph, eta, batch=16, **where)  # what is compiled is loaded
    started = perf_counter()
    auto = gk.seed_minimization(graph, eta, worlds=asked.worlds, **where)
    row: dict[str, Any] = {"default": auto._content().attributes["batch"], "default_s": perf_counter() - started}
    costs: dict[int, list[float] | None] = {row["default"]: auto.costs}
    for batch in sorted({*BATCHES, row["default"]}, reverse=True):
        if batch == row["default"]:
            continue
        started = perf_counter()
        gk.seed_minimization(graph, eta, batch=batch, **where)
        short = (perf_counter() - started) * asked.worlds <= asked.seconds
        costs[batch] = (
            gk.seed_minimization(graph, eta, batch=batch, worlds=asked.worlds, **where).costs if short else None
        )
    row["cost"] = {batch: None if one is None else round(fmean(one), 4) for batch, one in sorted(costs.items())}
    row["relative"] = row["cost"][row["default"]] / min(one for one in row["cost"].values() if one is not None)
    return row


if __name__ == "__main__":
    main()
