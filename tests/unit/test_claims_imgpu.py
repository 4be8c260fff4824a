"""IMGPU: its figures in README and docs/imgpu.md."""

# ruff: noqa: E501

import csv

from claims import RESULTS, each_of, one, paper, record, says


def imgpu(name, graph, method="fixed"):
    run = one(name, graph=graph, method=method)
    spent = run["algorithm_ms"]
    return (spent["median"] if isinstance(spent, dict) else spent) / 1e3


def by_speed_up(graph):
    return paper("imgpu", graph, "mixgreedy", "time") / paper("imgpu", graph, "imgpu-o", "speed-up over mixgreedy")


def reading(graph, how):
    found = next(
        r for r in record("imgpu-readings")["runs"] if (r["graph"]["name"], r["graph"]["reading"]) == (graph, how)
    )
    return found["spread"], found["random"], found["random"] / found["spread"]


def levels(graph):
    """Return how many levels a graph has, and how many of fewer than 100 components."""
    rows = csv.DictReader((RESULTS / "imgpu-directed" / "figure-4.tsv").open(), delimiter="\t")
    sizes = [float(row["ours"]) for row in rows if (row["graph"], row["quantity"]) == (graph, "nodes of the level")]
    return len(sizes), sum(size < 100 for size in sizes)


def passes(switch):
    return one("imgpu-h200-nethept", method="switches")["pass_ms"][switch]


SHARED = "imgpu-h100-shared"
OTHERS = record(SHARED)["others"]


def turn(version):
    return one(SHARED, version=version)["algorithm_ms"]["median"]


def method(version, name):
    return one(SHARED, version=version)["methods"][name]["ms"]


LISTED = "imgpu-h100-listed"
LATER = record(LISTED)["others"]


def listed(version, graph="amazon-size"):
    return one(LISTED, graph=graph, version=version)


README = [
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
]

PAGE = [
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
        "on one H100 a run took {:.0f} ms before and {:.0f} ms afterwards, with {:.1f} and {:.1f} GB of memory.",
        (turn("old"), turn("new"), *(one(SHARED, version=v)["peak_memory"] / 1e9 for v in ("old", "new"))),
    ),
    (
        "it was {:.0f} ms and, with a draft of the same kernels, {:.0f} ms",
        [OTHERS["earlier"]["algorithm_ms"][version] for version in ("old", "new")],
    ),
    (
        "took {:.0f} ms on the H100 and {:.0f} on the H200.",
        (one(SHARED, version="new")["phases_ms"]["selection"], OTHERS["earlier"]["selection_ms"]["new"]),
    ),
    (
        "The Twitter-sized graph took {:,.0f} ms on the H200. In a call that waits for the GPU around each step, {:.0f} of {:,.0f} ms",
        (
            OTHERS["twitter"]["algorithm_ms"]["old"],
            OTHERS["twitter"]["by_falling_gain_ms"],
            OTHERS["twitter"]["algorithm_ms"]["draft"],
        ),
    ),
    (
        "in turn on one H100 a run took {:.0f} ms before and takes {:.0f} ms ({:.0f} to {:.0f} in five runs; "
        "`imgpu-h100-listed.json`; the answers are the same), with {:.1f} and {:.1f} GB of memory.",
        (
            listed("old")["algorithm_ms"]["median"],
            *(listed("new")["algorithm_ms"][which] for which in ("median", "min", "max")),
            *(listed(version)["peak_memory"] / 1e9 for version in ("old", "new")),
        ),
    ),
    (
        "Now it takes {:.0f} ms on an H100, with {:.0f} GB, after {:.1f} s of copying the graph.",
        (
            listed("new", "twitter-size")["algorithm_ms"]["median"],
            listed("new", "twitter-size")["peak_memory"] / 1e9,
            listed("new", "twitter-size")["phases_ms"]["transfer"] / 1e3,
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
]


EARLIER = OTHERS["earlier"]

PERFORMANCE = [
    (
        "kept in {:.0f} instead of {:.0f} ms, and counted again in {:.0f} instead of {:.0f}.",
        [method(version, name) for name in ("_count", "_count_kept") for version in ("new", "old")],
    ),
    (
        "all were sorted, in {:.0f} of {:,.0f} ms",
        (OTHERS["twitter"]["by_falling_gain_ms"], OTHERS["twitter"]["algorithm_ms"]["draft"]),
    ),
    (
        "took the kernel from {:.0f} to {:.0f} ms",
        [EARLIER["sum_gains_ms"][how] for how in ("old", "core_first_global")],
    ),
    (
        "instead of 1,024 save {:.0f} of {:.0f} ms there, and after 32 a run takes {:.1f} s",
        (
            EARLIER["refresh"]["1024"] - EARLIER["refresh"]["64"],
            EARLIER["refresh"]["1024"],
            EARLIER["refresh"]["32"] / 1e3,
        ),
    ),
    (
        "Then {:,.0f} of {:,.0f} thousand cycles of a block for a world were searches",
        [LATER["kilocycles"]["old"][what] for what in ("search", "all")],
    ),
    (
        "does not say that they are new: {:,.0f} of {:,.0f}.",
        [LATER["kilocycles"]["new"][what] for what in ("search", "all")],
    ),
    (
        "drawn, counted and kept in {:.0f} instead of {:.0f} ms, and counted again in {:.0f} instead of {:.0f}. CuPy's",
        [LATER["kernels_ms"][name][which] for name in ("sum_gains", "sum_gains_kept") for which in ("new", "old")],
    ),
    (
        "CuPy's `bincount` took {:.0f} ms of their index and a count by 32-bit atomics takes {:.0f}.",
        [LATER["index_ms"][what] for what in ("bincount", "count")],
    ),
    (
        "Choices work out {:,} gains in {} calls instead of {:,} in {}.",
        [
            number
            for version in ("new", "old")
            for number in (listed(version)["evaluations"], listed(version)["methods"]["evaluate"]["calls"])
        ],
    ),
    (
        "Of {:.0f} ms drawing, counting and keeping is {:.0f}, the index {:.0f}, evaluations {:.0f}, counting again {:.0f} and "
        "choosing {:.0f} (in a call that waits around each), {:.0f} of it",
        (
            listed("new")["algorithm_ms"]["median"],
            *(listed("new")["methods"][name]["ms"] for name in ("_count", "_index", "evaluate", "gains", "choose")),
            LATER["first_choice_ms"]["4224 x 64"],
        ),
    ),
    (
        "other launch shapes take {:.0f} to {:.0f}.",
        [pick(ms for shape, ms in LATER["first_choice_ms"].items() if shape != "4224 x 64") for pick in (min, max)],
    ),
    (
        "Drawing takes {:.0f} thousand cycles of a world, finding its core {:.0f} and its rows {:.0f}. At Twitter's size "
        "{:.0f} of {:.0f} ms draw and count worlds.",
        (
            *(LATER["kilocycles"]["new"][what] for what in ("draw", "core", "number")),
            listed("new", "twitter-size")["methods"]["_count"]["ms"],
            listed("new", "twitter-size")["algorithm_ms"]["median"],
        ),
    ),
]


@each_of(readme=README, imgpu=PAGE, performance=PERFORMANCE)
def test_sentence_says_what_the_record_holds(document, sentence, values):
    says(document, sentence, values)
