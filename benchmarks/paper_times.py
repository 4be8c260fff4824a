"""What rebuilding a paper takes: the time of its methods at small scale as recorded, and an estimate at full scale.

``python benchmarks/paper_times.py``: a line for each paper. A method's time on a graph is taken to grow with the edges,
with the worlds of IMGPU and MERIT, and in MERIT with η too, of which a campaign has as many more rounds. A graph that
only full scale has takes a method's median time for an edge. Imports, files, checks and kPAR's truth are not in it.
"""

import csv
from pathlib import Path
from statistics import median

import yaml

from gpukit.cli.workflow.graph_sizes import size_of

ROOT = Path(__file__).resolve().parent.parent
RECORDED = {paper: f"paper-small/{paper}" for paper in ("gim", "kpar", "merit", "diversity")} | {
    "imgpu": "imgpu-directed"
}
"""Tables of small scale; those of IMGPU are of its graphs read as directed, with half the arcs."""
PARTS = {"merit": ("figure-11", "figure-12", "figure-13", "figure-14", "figure-15")}
"""Items whose times are parts of what another item has."""
QUERIES = 100
"""Of a row that has the time of one."""
MORE = {
    "gim": 4.3,  # as printed IMM draws every edge, which took so much longer on one thread
    "imgpu": 20_000 / 1000,  # worlds
    "kpar": 1,
    "merit": 10 * 10 / 5,  # η, worlds
    "diversity": 1,
}
"""How many times the work of a graph of one size is at full scale that of the recorded rows."""


def edges(paper, scale):
    """Return the edges of each graph of a scale."""
    configuration = yaml.safe_load((ROOT / f"config/paper/{paper}.yaml").read_text())
    plain = {"generate": "", "fetch": "", "edges": "", "undirected": False}
    return {graph["name"]: size_of(plain | graph, [ROOT]).edges for graph in configuration["scales"][scale]["graphs"]}


def seconds(row):
    """Return the time of all repeats of a row, or None if it has none of its own."""
    unit = {"s": 1.0, "ms": 1e-3}.get(row["unit"])
    if unit is None or row["ours"] == "NA" or row["quantity"] == "kernel time":
        return None
    queries = QUERIES if row["quantity"] == "time of a query" else 1
    return float(row["ours"]) * unit * queries * int(row["repeats"])


def estimate(paper):
    """Return the seconds at small and full scale, on GPUs and on CPUs each."""
    small, full = edges(paper, "small"), edges(paper, "full")
    spent = {}
    for path in sorted((ROOT / "benchmarks/results" / RECORDED[paper]).glob("*.tsv")):
        if path.stem in PARTS.get(paper, ()):
            continue
        for row in csv.DictReader(path.open(encoding="utf-8"), delimiter="\t"):
            took = seconds(row)
            if took is not None and row["graph"] in small:
                method = (path.stem, row["method"], row["quantity"], row["x"], "×" in row["setting"])
                spent.setdefault(method, {})[row["graph"]] = took
    found = {scale: {True: 0.0, False: 0.0} for scale in ("small", "full")}
    for method, by_graph in spent.items():
        on_gpu = method[-1]
        found["small"][on_gpu] += sum(by_graph.values())
        each = median(took / small[graph] for graph, took in by_graph.items())
        # Rivals that a paper leaves out on a graph are left out at small scale, too.
        new = full.keys() - small.keys()
        times = [took / small[graph] * full[graph] for graph, took in by_graph.items()]
        times += [each * full[graph] for graph in new if not graph.startswith("ba-")]
        found["full"][on_gpu] += MORE[paper] * sum(times)
    return found


def duration(took):
    """Return a time with two digits, in the largest unit that it fills."""
    size, unit = next(
        (size, unit) for size, unit in ((3600, "h"), (60, "min"), (1, "s")) if took >= size or unit == "s"
    )
    return f"{float(f'{took / size:.2g}'):g} {unit}"


def main():
    """Print a row for each paper: small scale on GPUs and CPUs, then full scale."""
    for path in sorted((ROOT / "config/paper").glob("*.yaml")):
        found = estimate(path.stem)
        times = [found[scale][on_gpu] for scale in ("small", "full") for on_gpu in (True, False)]
        print(path.stem, *map(duration, times), sep=" | ")


if __name__ == "__main__":
    main()
