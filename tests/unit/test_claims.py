"""Every figure that the documents state is that of a record: the sentence is made from the record and looked up.

A sentence with ``{}`` is filled with values of the records, rounded as it says, and must stand in its document.
"""

# ruff: noqa: E501

import csv
import json
import math
from functools import cache
from pathlib import Path
from statistics import mean

import pytest

from gpukit.evaluate.spread import forward_spread
from gpukit.gim import Params
from gpukit.gim.baselines import degree
from gpukit.gim.paper import maximise
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights
from gpukit.graph.readers import read_edges

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@cache
def record(name):
    return json.loads((RESULTS / f"{name}.json").read_text())


def _holds(run, asked):
    """Whether a run has these settings, at the top, in its parameters, or in its graph (``graph``: the name)."""
    for key, value in asked.items():
        found = run["graph"]["name"] if key == "graph" else run.get(key, run.get("params", {}).get(key))
        if found != value:
            return False
    return True


def one(name, **asked):
    """Return the only run of a record with these settings."""
    found = [run for run in record(name)["runs"] if _holds(run, asked)]
    assert len(found) == 1, f"{name}: {len(found)} runs with {asked}"
    return found[0]


def gim(graph, model, bound, samples="grid"):
    return one("gim-h200", graph=graph, model=model, bound=bound, samples=samples)["algorithm_ms"]["median"]


def gim_row(graph, model):
    return (gim(graph, model, "imm"), gim(graph, model, "imm", "fresh"), gim(graph, model, "opim"))


def drawing(gpus):
    return one("gim-h200-x4-sampling", graph="rmat22", sets=40_000_000, gpus=gpus)["ms"]["median"]


def imgpu(name, graph, method="fixed"):
    run = one(name, graph=graph, method=method)
    spent = run["algorithm_ms"]
    return (spent["median"] if isinstance(spent, dict) else spent) / 1e3


def diversity(graph, method="score", model="truss", name="diversity-h200", **more):
    return one(name, graph=graph, method=method, model=model, **more)["ms"]["median"]


def prepared(graph):
    """Return the milliseconds of copying a graph to the GPU and preparing it, before any score or search."""
    return one("diversity-h200", graph=graph, method="score", model="truss")["graph"]["network_ms"]["median"]


def diversity_row(graph):
    """Return the row of a graph in the table of times, three figures where they are large."""
    full = one("diversity-h200", graph=graph, method="full", model="truss")
    floor = one("diversity-h200", graph=graph, method="score", model="truss")["floor_ms"]
    rate = full["triangles_per_second"]
    large = f"{rate / 1e9:.1f}·10⁹" if rate > 1e9 else f"{rate / 1e6:.0f}·10⁶"
    search = diversity(graph, "search")
    return (
        f"| {prepared(graph):.1f} | {diversity(graph):.1f} | {floor:.2f} | {three(full['ms']['median'])} | {large} | "
        f"{diversity(graph, model='core'):.1f} | {diversity(graph, model='comp'):.1f} | {three(search)} |"
    )


def three(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def four(balance, name="diversity-h200-x4"):
    return one(name, balance=balance)


def on_four(balance, name="diversity-h200-x4"):
    return four(balance, name)["ms"]["median"]


ALONE = "diversity-h200-livejournal-size"


def kpar(name):
    return record(f"kpar-h200-{name}")["runs"][0]


def at(runs, k=1000):
    return next(run for run in runs if run["k"] == k)


def kpar_row(name, unit=1e3):
    run = kpar(name)
    query, batch = at(run["latency"]), at(run["batch"])
    index = run["preprocessing"]["index_warm_s"]
    return (index * unit, query["mean_ms"], query["times_floor"], batch["queries_per_s"], run["fora"]["mean_ms"])


def merit(name, graph, eta, method, certificate="paper"):
    return one(name, graph=graph, eta=eta, method=method, certificate=certificate)


def seconds(*asked):
    return merit(*asked)["time_s"]["mean"]


def making(*asked, judged=False):
    phases = merit(*asked)["phases_s"]
    return phases["update"] + phases["generate"] + (phases["judge"] if judged else 0)


def merit_row(name, graph, eta, certificate="paper"):
    values = []
    for method in ("merit", "segmented"):
        asked = (name, graph, eta, method, certificate)
        values += [seconds(*asked), making(*asked, judged=certificate == "fresh")]
    return (*values, *(seconds(name, graph, eta, method, certificate) for method in ("gamcss", "pasti")))


CELLS = [(graph, eta) for graph in ("soc-Epinions1", "soc-Slashdot0902") for eta in (1000, 5000)]


def times_merit(method):
    """Return the least and the largest quotient of a method's times and MERIT's, on the two real graphs."""
    cells = [[seconds("merit-h200", *cell, which) for which in (method, "merit")] for cell in CELLS]
    quotients = [other / ours for other, ours in cells]
    return min(quotients), max(quotients)


def cpu(eta, method, certificate):
    run = merit("merit-cpu-1", "soc-Epinions1", eta, method, certificate)
    making = run["phases_s"]["update"] + run["phases_s"]["generate"]
    return run["rounds"], run["time_s"]["mean"], run["updating_probes"] / 1e6, making


def paper(name, graph, method, quantity, k=None):
    """Return what a paper prints, where ``workflow/paper`` holds it."""
    rows = csv.DictReader((ROOT / "workflow" / "paper" / f"{name}.tsv").open(), delimiter="\t")
    found = {
        row["paper"] for row in rows
        if (row["graph"], row["method"], row["quantity"]) == (graph, method, quantity) and k in (None, row["x"])
    }  # fmt: skip
    assert len(found) == 1, found
    return float(found.pop())


def by_speed_up(graph):
    return paper("imgpu", graph, "mixgreedy", "time") / paper("imgpu", graph, "imgpu-o", "speed-up over mixgreedy")


def quality(depth):
    found = [run for run in record("kpar-quality")["runs"] if run["depth"] == depth]
    assert all(run["violations"] == 0 for run in found)
    return (
        sum(run["positions"] for run in found),
        min(run["precision"] for run in found),
        min(run["ndcg"] for run in found),
    )


def reached(method):
    spreads = one("gim-quality", method=method)["spreads"]
    return min(spreads), max(spreads)


def reading(graph, how):
    found = next(
        r for r in record("imgpu-readings")["runs"] if (r["graph"]["name"], r["graph"]["reading"]) == (graph, how)
    )
    return found["spread"], found["random"], found["random"] / found["spread"]


def levels(graph):
    """Return how many levels a graph has, and how many of fewer than 100 components."""
    rows = csv.DictReader((RESULTS / "paper-small" / "imgpu" / "figure-4.tsv").open(), delimiter="\t")
    sizes = [float(row["ours"]) for row in rows if (row["graph"], row["quantity"]) == (graph, "nodes of the level")]
    return len(sizes), sum(size < 100 for size in sizes)


def down(value, digits):
    """Round down, as for what is promised at least."""
    return int(value * 10**digits) / 10**digits


def passes(switch):
    return one("imgpu-h200-nethept", method="switches")["pass_ms"][switch]


def share_of(what, name, graph, eta):
    """Return what MERIT needs of what drawing all sets anew takes."""
    if what == "probes":
        ours, other = (merit(name, graph, eta, method)["updating_probes"] for method in ("merit", "segmented"))
    else:
        ours, other = (making(name, graph, eta, method) for method in ("merit", "segmented"))
    return ours / other


def kernels(eta, registers):
    run = one("merit-h200-update", graph="soc-Epinions1", eta=eta, registers=registers)
    return sum(run["merit_ms"].values()) / sum(run["redrawn_ms"].values())


def paired(method):
    return one("merit-cpu-paired", method=method)["cost"]["each"]


def on_two_threads(graph, method, queries):
    return one("kpar-cpu-threads", graph=graph, method=method, queries=queries)["speed_up"]["median"]


LIVE = ("merit-h200-livejournal-size", "livejournal-size", 25_000, "merit")
GIM_ROW = "{:.1f} ms | {:.1f} ms | {:.1f} ms | {:,.0f} ms |"
KPAR_ROW = "{:.1f} ms | {} | {:,} queries/s | {:.1f} ms |"
FASTER = [*times_merit("pasti"), *times_merit("gamcss")]
TIMES = sorted(seconds("merit-h200", *cell, "merit") for cell in CELLS)
THEIRS = {
    (run["graph"]["name"], run["model"]): run["algorithm_ms"] for run in record("gim-authors-h200")["runs"]
}  # fmt: skip
TRUSS = ("wiki-Vote", "email-Enron", "soc-Epinions1", "web-NotreDame", "livejournal-size")


CLAIMS = {
    "README.md": [
        (
            "| soc-Epinions1 (76 K, 509 K) | IC | " + GIM_ROW,
            (*gim_row("soc-Epinions1", "ic"), THEIRS["soc-Epinions1", "ic"]),
        ),
        ("| | LT | " + GIM_ROW, (*gim_row("soc-Epinions1", "lt"), THEIRS["soc-Epinions1", "lt"])),
        ("| R-MAT 20 (1.0 M, 15.4 M) | IC | " + GIM_ROW, (*gim_row("rmat20", "ic"), THEIRS["rmat20", "ic"])),
        ("| | LT | " + GIM_ROW, (*gim_row("rmat20", "lt"), THEIRS["rmat20", "lt"])),
        ("| R-MAT 22 (4.2 M, 69.9 M) | IC | " + GIM_ROW, (*gim_row("rmat22", "ic"), THEIRS["rmat22", "ic"])),
        ("| | LT | " + GIM_ROW, (*gim_row("rmat22", "lt"), THEIRS["rmat22", "lt"])),
        (
            "Drawing 40 M RR sets of R-MAT 22 takes {:.0f} ms on one H200 and {:.0f} ms on four",
            (drawing(1), drawing(4)),
        ),
        (
            "takes {:.1f} s on two CPU cores and {:.1f} s on the H200",
            [record(f"cold-start-{where}")["runs"][0]["process_s"]["median"] for where in ("cpu", "h200")],
        ),
        (
            "OPIM-C takes {:.0f} ms on soc-Epinions1 and {:.0f} ms on R-MAT 20",
            [
                one("gim-cpu-1", graph=graph, model="ic")["algorithm_ms"]["median"]
                for graph in ("soc-Epinions1", "rmat20")
            ],
        ),
        (
            "50 seeds of NetHEPT over 20,000 worlds in {:.0f} ms, with fresh worlds for every seed, as in the paper, in "
            "{:.2f} s (the paper's speed-ups put it at {:.0f} s); MixGreedy on one CPU thread takes {:.0f} and {:.0f} times",
            (
                1e3 * imgpu("imgpu-h200-nethept", "NetHEPT"),
                imgpu("imgpu-h200-nethept", "NetHEPT", "fresh"),
                by_speed_up("NetHEPT"),
                one("imgpu-h200-nethept", method="fixed")["times_mixgreedy"],
                one("imgpu-h200-nethept", method="fresh")["times_mixgreedy"],
            ),
        ),
        (
            "takes {:.0f} ms on web-NotreDame (the paper, on four V100s: {:.1f} s) and {:.0f} ms on a graph of LiveJournal's",
            (
                prepared("web-NotreDame") + diversity("web-NotreDame", "search"),
                paper("diversity", "NotreDame", "mgpu-div-d", "time, truss"),
                prepared("livejournal-size") + diversity("livejournal-size", "search"),
            ),
        ),
        (
            "in {:.1f} ms (the paper, on a P100: {} ms)",
            (
                at(kpar("twitter-size")["latency"])["mean_ms"],
                paper("kpar", "Twitter", "kpar", "time of a query", "1000"),
            ),
        ),
        (
            "in {:.2f} to {:.2f} s, {:.0f} to {:.0f} times as fast as PASTI on 16 threads and {:.0f} to {:.0f} times as fast "
            "as GAMCSS on the GPU, and for 25,000 of a graph of LiveJournal's size in {:.0f} s",
            (TIMES[0], TIMES[-1], *FASTER, seconds(*LIVE)),
        ),
    ],
    "docs/gim.md": [
        (
            "at ε = 0.05 and reaches {:,.0f} to {:,.0f}; at least 200,000 sets (ε = 0.1) reach {:,.0f} to {:,.0f}.",
            (*reached("opim"), *reached("defaults")),
        ),
    ],
    "docs/imgpu.md": [
        ("The paper's IMGPU_O took {:.0f} s and {:,.0f} s", (by_speed_up("NetHEPT"), by_speed_up("NetPHY"))),
        (
            "| NetHEPT | {:.0f} ms | {:.2f} s | {:.1f} s | {:.1f} s |",
            (
                1e3 * imgpu("imgpu-h200-nethept", "NetHEPT"),
                imgpu("imgpu-h200-nethept", "NetHEPT", "fresh"),
                imgpu("imgpu-cpu-1", "NetHEPT"),
                imgpu("imgpu-h200-nethept", "NetHEPT", "mixgreedy"),
            ),
        ),
        (
            "| NetPHY | {:.0f} ms | {:.1f} s | {:.1f} s | |",
            (
                1e3 * imgpu("imgpu-h200-netphy", "NetPHY"),
                imgpu("imgpu-h200-netphy", "NetPHY", "fresh"),
                imgpu("imgpu-cpu-1", "NetPHY"),
            ),
        ),
        (
            "edges) takes {:.2f} s and {:.0f} GB with fixed worlds",
            (
                imgpu("imgpu-h200-amazon-size", "amazon-size"),
                one("imgpu-h200-amazon-size")["peak_memory"] / 1e9,
            ),
        ),
        (
            "with R = 200 takes {:.1f} s, after {:.1f} s of copying the graph, and {:.0f} GB of memory at most: {:.1f} s to "
            "draw the worlds, {:.1f} s to choose.",
            (
                imgpu("imgpu-h200-twitter-size", "twitter-size"),
                one("imgpu-h200-twitter-size")["phases_ms"]["transfer"] / 1e3,
                one("imgpu-h200-twitter-size")["peak_memory"] / 1e9,
                one("imgpu-h200-twitter-size")["phases_ms"]["worlds"] / 1e3,
                one("imgpu-h200-twitter-size")["phases_ms"]["selection"] / 1e3,
            ),
        ),
        (
            "takes {:.1f} ms on the GPU; K makes it {:.1f} ms, R {:.1f} ms, U {:.1f} ms",
            [passes(switch) for switch in ("none", "K", "R", "U")],
        ),
        ("would take {:.1f} ms", (one("imgpu-h200-nethept", method="fixed")["floor_ms"],)),
        (
            "the whole of NetHEPT has {} levels, {} of them with fewer than 100 components, and NetPHY {} and {}:",
            (*levels("NetHEPT"), *levels("NetPHY")),
        ),
        (
            "MixGreedy's seeds reach {:.2f} of NetHEPT read as directed, those of IMGPU {:.2f}, in the same cascades "
            "(`imgpu-h200-nethept.json`, standard error {:.2f})",
            (
                one("imgpu-h200-nethept", method="mixgreedy")["spread"],
                one("imgpu-h200-nethept", method="fixed")["spread"],
                one("imgpu-h200-nethept", method="fixed")["stderr"],
            ),
        ),
        *(
            (start + " | {:.1f} | {:.1f} | {:.2f} |", reading(graph, how))
            for graph, how, start in (
                ("NetHEPT", "directed", "| NetHEPT | directed, as written"),
                ("NetHEPT", "undirected", "| | undirected"),
                ("NetHEPT", "undirected multigraph", "| | undirected multigraph"),
                ("NetPHY", "directed", "| NetPHY | directed, as written"),
                ("NetPHY", "undirected", "| | undirected"),
                ("NetPHY", "undirected multigraph", "| | undirected multigraph"),
            )
        ),
    ],
    "docs/kpar.md": [
        (
            "| soc-Epinions1 | {:.0f} ms | {:.1f} ms | {:.0f} | {:,.0f} queries/s | {:.1f} ms |",
            kpar_row("soc-Epinions1"),
        ),
        ("72.7 M edges | {:.0f} ms | {:.1f} ms | {:.0f} | {:,.0f} queries/s | {:.1f} ms |", kpar_row("rmat22")),
        ("253 M edges | {:.0f} ms | {:.1f} ms | {:.1f} | {:,.0f} queries/s | {:.1f} ms |", kpar_row("orkut-size")),
        ("1.64 G edges | {:.2f} s | {:.1f} ms | {:.1f} | {:,.0f} queries/s | {:.0f} ms |", kpar_row("twitter-size", 1)),
        (
            "({:.0f} rounds of pushes on soc-Epinions1), and many at a time are {:.0f} times as fast, {:.0f} times for k = 100",
            (
                at(kpar("soc-Epinions1")["latency"])["rounds"],
                *(
                    at(kpar("soc-Epinions1")["latency"], k)["mean_ms"]
                    / at(kpar("soc-Epinions1")["batch"], k)["ms_per_query"]
                    for k in (1000, 100)
                ),
            ),
        ),
        (
            "it is {:.0f} million reads of residue at random places of 268 MB; read for four queries at once they make batches "
            "{:.2f} times as fast",
            (
                at(kpar("twitter-size")["latency"])["entries"] / 1e6,
                at(kpar("twitter-size")["latency"])["mean_ms"] / at(kpar("twitter-size")["batch"])["ms_per_query"],
            ),
        ),
        (
            "they kept {} of {}, {} of {} and {} of {} threads at work",
            [
                number
                for name in ("rmat22", "orkut-size", "twitter-size")
                for run in [kpar(name)["on_threads"]]
                for number in (run["threads_at_work"]["kpar"], run["threads"])
            ],
        ),
        (
            "64 queries of soc-Epinions1 (k = 1000) on two threads are {:.2f} times as fast as on one, FORA+ {:.2f} times",
            [on_two_threads("soc-Epinions1", method, 64) for method in ("kpar", "fora")],
        ),
        (
            "64 queries of web-NotreDame {:.2f} and {:.2f} times",
            [on_two_threads("web-NotreDame", method, 64) for method in ("kpar", "fora")],
        ),
        (
            "8 queries {:.2f} and {:.2f} times on the one, {:.2f} and {:.2f} times on the other",
            [on_two_threads(graph, m, 8) for graph in ("soc-Epinions1", "web-NotreDame") for m in ("kpar", "fora")],
        ),
        (
            "With its file of {:.1f} GB the index of Twitter's size takes {:.1f} s from the graph in host memory: {:.1f} s to "
            "make it and copy it back, {:.1f} s to write it",
            [
                (run["bytes"] / 1e9, run["index_s"] + run["write_s"], run["index_s"], run["write_s"])
                for run in record("kpar-index-h200-twitter-size")["runs"]
            ][-1],
        ),
        ("not one of the {:,} places", quality("auto")[:1]),
        ("not one of the {:,} places", quality("end")[:1]),
        (
            "Mean precision is {} or better in each of these cases and NDCG {};",
            [down(quality("auto")[1], 3), down(quality("auto")[2], 5)],
        ),
        ("with `--depth end` {} and {}.", [down(quality("end")[1], 3), down(quality("end")[2], 5)]),
    ],
    "docs/diversity.md": [
        *((diversity_row(graph), ()) for graph in TRUSS),
        ("Full decomposition of `livejournal-size` takes {:.0f} ms on one H200", (one(ALONE)["ms"]["median"],)),
        (
            "`none` took {:.1f} and `dynamic` {:.1f} ms",
            [on_four(b, "diversity-h200-x4-five") for b in ("none", "dynamic")],
        ),
        (
            "| milliseconds | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |",
            [on_four(b) for b in ("none", "pack", "dynamic")]
            + [on_four(b, "diversity-h200-x4-five") for b in ("random", "exhausted")],
        ),
        (
            "| times as fast as one | {:.2f} | {:.2f} | {:.2f} |",
            [one(ALONE)["ms"]["median"] / on_four(b) for b in ("none", "pack", "dynamic")],
        ),
        (
            "| longest time at work over the mean | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |",
            [four(b)["imbalance"] for b in ("none", "pack", "dynamic")]
            + [four(b, "diversity-h200-x4-five")["imbalance"] for b in ("random", "exhausted")],
        ),
        (
            "Each GPU's thread is at work for {:.0f} to {:.0f} ms of it",
            [
                1e3 * extreme(share["seconds"] for b in ("none", "pack", "dynamic") for share in four(b)["shares"])
                for extreme in (min, max)
            ],
        ),
    ],
    "docs/merit.md": [
        *(
            (
                f"| {graph}, η = {eta:,} | " + "{:.3f} ({:.3f}) | {:.3f} ({:.3f}) | {:.3f} | {:.3f} |",
                merit_row("merit-h200", graph, eta),
            )
            for graph, eta in CELLS
        ),
        *(
            (
                f"| {graph}, η = {eta:,} | " + "{:.3f} ({:.3f}) | {:.3f} ({:.3f}) | {:.3f} | " + pasti + " |",
                merit_row("merit-h200-fresh", graph, eta, "fresh"),
            )
            for (graph, eta), pasti in zip(CELLS, ("{:.3f}", "{:.3f}", "{:.3f}", "{:.2f}"), strict=True)
        ),
        (
            "YouTube's size, η = 1,000 | {:.2f} ({:.2f}) | {:.2f} ({:.2f}) | {:.1f} | {:.1f} |",
            merit_row("merit-h200-youtube-size", "youtube-size", 1000),
        ),
        (
            "YouTube's size, η = 5,000 | {:.2f} ({:.2f}) | {:.2f} ({:.2f}) | | |",
            [
                number("merit-h200-youtube-size-5000", "youtube-size", 5000, method)
                for method in ("merit", "segmented")
                for number in (seconds, making)
            ],
        ),
        (
            "Flickr's size, η = 2,000 | {:.2f} ({:.2f}) | {:.2f} ({:.2f}) | over {} | {:.0f} |",
            [
                number("merit-h200-flickr-size", "flickr-size", 2000, method)
                for method in ("merit", "segmented")
                for number in (seconds, making)
            ]
            + [
                record("merit-h200-update")["stopped"]["after_s"],
                seconds("merit-h200-flickr-size-pasti", "flickr-size", 2000, "pasti"),
            ],
        ),
        ("LiveJournal's size, η = 25,000 | {:.1f} ({:.1f}) | | | |", (seconds(*LIVE), making(*LIVE))),
        (
            "takes MERIT {:.3f} s for η = 1,000 and GAMCSS {:.3f}, for η = 3,000 {:.3f} and {:.3f}",
            [seconds("merit-h200-lt", "soc-Epinions1", eta, m) for eta in (1000, 3000) for m in ("merit", "gamcss")],
        ),
        (
            "LiveJournal's campaign takes {:,} rounds, {:,.0f},000 sets per round, {:.1f} G members at most, and {:.0f} GB",
            [
                (run["rounds"], run["sets"] / run["rounds"] / 1e3, run["members"] / 1e9, run["memory"] / 1e9)
                for run in record("merit-h200-livejournal-size")["runs"]
            ][0],
        ),
        *(
            (
                f"| η = {eta:,}, {said} | {certificate} | " + "{:.1f} | {:.1f} | {:.0f} M | {:.1f} |",
                cpu(eta, method, certificate),
            )
            for eta in (1000, 5000)
            for certificate in ("paper", "fresh")
            for method, said in (
                ("merit", "coupled"),
                ("redrawn", "the same sets anew"),
                ("segmented", "other sets every round"),
            )
        ),
        (
            "the coupled campaigns cost {:.2f} on average, those with other sets every round {:.2f}",
            [mean(paired(method)) for method in ("merit", "segmented")],
        ),
    ],
}


@pytest.mark.parametrize(
    ("document", "sentence", "values"),
    [(document, *claim) for document, claims in CLAIMS.items() for claim in claims],
    ids=lambda part: str(part)[:40],
)
def test_sentence_says_what_the_record_holds(document, sentence, values):
    text = " ".join((ROOT / document).read_text().split())
    said = " ".join(sentence.format(*values).split())
    assert said in text, f"{document} should say: {said}"


@pytest.mark.parametrize(
    ("share", "low", "high"),
    [
        (share_of("probes", "merit-h200-youtube-size", "youtube-size", 1000), 0.24, 0.27),  # a quarter
        (share_of("time", "merit-h200-youtube-size", "youtube-size", 1000), 0.38, 0.45),  # two fifths
        (share_of("probes", "merit-h200-youtube-size-5000", "youtube-size", 5000), 1 / 19.5, 1 / 18.5),
        (share_of("time", "merit-h200-youtube-size-5000", "youtube-size", 5000), 0.18, 0.22),  # a fifth
        (share_of("probes", "merit-h200-flickr-size", "flickr-size", 2000), 1 / 8.5, 1 / 7.5),  # an eighth
        (share_of("time", "merit-h200-flickr-size", "flickr-size", 2000), 0.31, 0.36),  # a third
        (share_of("probes", "merit-h200", "soc-Epinions1", 5000), 0.30, 1 / 3),  # less than a third
        (kernels(5000, 80), 0.68, 0.73),  # seven tenths
    ],
)
def test_shares_that_the_page_of_merit_names_in_words(share, low, high):
    assert low < share < high


def test_last_scores_on_real_graphs():
    """docs/diversity.md: the last score of the answer is 1 to 3."""
    found = [run for run in record("diversity-h200")["runs"] if run["method"] == "search"]
    last = {run["t_th_score"] for run in found if run["graph"]["name"] != "livejournal-size"}
    assert last == {1, 2, 3}


def imported(name, **options):
    listed = read_edges(ROOT / "data" / f"{name}.txt.gz", weights=False)
    return build_graph(listed.u, listed.v, weights=Weights(), **options)


def test_first_result_of_the_readme():
    """NetHEPT, 50 seeds of a million sets: the figures that the README opens with, with its own parameters."""
    graph = imported("NetHEPT", undirected=True)
    found = maximise(graph, Params(k=50, epsilon=0.1, min_sets=1_000_000, seed=1))
    reach, others = (forward_spread(graph, seeds, runs=5000, seed=1) for seeds in (found.seeds, degree(graph, 50)))
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"reach {reach.spread:.0f} ± {math.ceil(2 * reach.stderr)} of them in 5,000 simulated cascades" in text
    assert f"{reach.spread / others.spread - 1:.0%} more than the 50 with most co-authors" in text.replace(" %", "%")
    assert found.guarantee_kind == "certified" and 1 / found.guarantee <= 1.4
    assert "no other 50 can reach more than 1.4 times as many" in text
    assert f"except with a probability of 1 in {graph.n:,}" in text


def test_numbers_of_sets_that_imm_draws():
    graph = imported("soc-Epinions1")
    drawn = [
        maximise(graph, Params(k=50, epsilon=0.1, bound="imm", samples=samples, min_sets=0, seed=1)).rr_sets
        for samples in ("grid", "fresh", "original")
    ]
    said = "`grid` draws {:,} sets, `fresh` {:,}, `original` {:,}.".format(*drawn)
    assert said in " ".join((ROOT / "docs" / "gim.md").read_text().split())
