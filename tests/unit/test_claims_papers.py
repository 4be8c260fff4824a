"""Differences between measurements and papers: the figures of docs/papers, by the recorded rows of small and full scale."""

# ruff: noqa: E501

import csv
import runpy

import pytest
from claims import RESULTS, ROOT, one, record, says


def row(paper, item, graph, method, quantity="time", x="", scale="small"):
    """Return the value of the only such row."""
    with (RESULTS / f"paper-{scale}" / paper / f"{item}.tsv").open() as file:
        rows = [each for each in csv.DictReader(file, delimiter="\t") if each["ours"] != "NA"]
    names = {"graph": graph, "method": method, "quantity": quantity, "x": str(x)}
    found = [float(each["ours"]) for each in rows if names.items() <= each.items()]
    assert len(found) == 1, (paper, item, names, found)
    return found[0]


def shares(graph, scale="small"):
    return [
        100 * row("gim", "figure-3", graph, "gim", f"share of {part}", scale=scale)
        for part in ("selection", "sampling")
    ]


def epsilon(method):
    return [
        row("gim", "figure-6", "soc-Epinions1", method, x=x, scale="full") for x in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
    ]


def over_imm(item, method, scale="full"):
    return row("gim", item, "soc-Epinions1", method, "speed-up over imm", scale=scale)


def spread(method):
    return row("gim", "table-2", "soc-Epinions1", method, "spread", scale="full")


def query(method, k):
    return row("kpar", "figure-6", "DBLP", method, "time of a query", k)


def reference(method, graph):
    return row("imgpu", "figure-9", graph, method, scale="full")


def share(graph, method, k="", which="mean "):
    return row("imgpu", "figure-8", graph, method, f"{'' if k else which}share of IMGPU's spread", k, "full")


def precision(graph, method, k):
    (run,) = (
        run for run in record("fora-precision")["runs"] if (run["graph"], run["method"], run["k"]) == (graph, method, k)
    )
    return run["precision"]


MODELS = ("truss", "core", "comp")
AT_HAND = ("Wiki-Vote", "Email-Enron", "Epinions", "Gowalla", "NotreDame")


def search(graph, method, model):
    return 1e3 * row("diversity", "table-2", graph, method, f"time, {model}", scale="full")


def over_four_gpus(model):
    """Return the least and the largest factor of one CPU thread over four GPUs with dynamic stealing."""
    factors = [search(graph, "cpu-div", model) / search(graph, "mgpu-div-d", model) for graph in AT_HAND]
    return min(factors), max(factors)


def anew(item):
    """Return the least and the largest factor of sets drawn anew over MERIT's sets on com-DBLP."""
    etas = (1000, 2000, 3000, 4000, 5000) if item == "figure-6" else (1000, 1500, 2000, 2500, 3000)
    factors = [row("merit", item, "DBLP", "merit", "speed-up over segmented", x, "full") for x in etas]
    return min(factors), max(factors)


def push(k):
    return [row("kpar", "figure-9", "Twitter", method, "time of a query", k, "full") for method in ("kpar", "kpar-ip")]


def livejournal(name, **asked):
    return one(name, **asked)["ms"]["median"]


EPINIONS, WIKI = "soc-Epinions1.txt.gz", "wiki-Vote.txt.gz"
BALANCES = [("diversity-h200-x4-five", name) for name in ("none", "pack", "random", "exhausted", "dynamic")]
SENTENCES = {
    "gim": [
        ("takes {:.0f} % of the time against {:.0f} % of sampling", shares("soc-Epinions1", "full")),
        ("samples for {:.0f} %.", (100 * row("gim", "figure-3", "soc-Epinions1", "imm", "share of sampling", scale="full"),)),
        ("falls from {:.2f} to {:.2f} s.", epsilon("imm")[::5]),
        ("blocks of 64 and of 128 take {:.0f} and {:.0f} % more", [100 * (row("gim", "figure-8a", "soc-Epinions1", "gim", "time relative to block 32", x, "full") - 1) for x in (64, 128)]),
        ("between {:.0f} and {:.0f} ms for any ε", [1e3 * bound(epsilon("gim")) for bound in (min, max)]),
        ("gIM is {:.0f} times as fast as IMM on one thread, and {:.0f} times over several rounds", [over_imm(item, "gim") for item in ("table-2", "table-3")]),
        ("{:.1f} % less than gIM's, {:,.0f} of gIM's {:,.0f}", (100 * (1 - spread("skim") / spread("gim")), spread("skim"), spread("gim"))),
        ("takes {:.2f} s of one thread", (row("gim", "table-2", "soc-Epinions1", "skim", scale="full"),)),
    ],
    "imgpu": [
        ("NetHEPT takes {:.0f} s, where MixGreedy takes {:.1f} s", [row("imgpu", "figure-9", "NetHEPT", method, scale="full") for method in ("buta-cpu", "mixgreedy")]),
        ("It takes {:.2f} s on NetHEPT, where MixGreedy takes {:.1f} s on one thread: {:.1f} times", (reference("imgpu", "NetHEPT"), reference("mixgreedy", "NetHEPT"), reference("mixgreedy", "NetHEPT") / reference("imgpu", "NetHEPT"))),
        ("a choice takes {:.2f} times as long on NetHEPT and {:.2f} times on Amazon", [1 / row("imgpu", "figure-10", graph, "imgpu-o", "speed-up over imgpu", scale="full") for graph in ("NetHEPT", "Amazon")]),
        ("on Amazon* (5.2.1): {:.1f} % on average, and {:.1f} % at k = 50", (100 * share("Amazon", "random"), 100 * share("Amazon", "random", 50))),
        ("{:.2f} and {:.2f} of 50 seeds, and at most {:.1f} % less, of one seed", (*(row("imgpu", "figure-8", "NetHEPT", method, "spread", 50, "full") for method in ("imgpu", "mixgreedy")), 100 * (1 - share("NetHEPT", "random", which="smallest ")))),
        ("PMIA's seeds reach {:.1f} % less on NetHEPT and {:.1f} % less on Amazon", [100 * (1 - share(graph, "pmia")) for graph in ("NetHEPT", "Amazon")]),
    ],
    "kpar": [
        ("FORA+ {:.4f}, kPAR {:.4f} at k = 1,000 on LiveJournal's stand-in", [row("kpar", "figure-7", "LiveJournal", method, "precision", 1000) for method in ("fora", "kpar")]),
        ("the claim holds there (FORA+ {:.4f})", (row("kpar", "figure-7", "LiveJournal", "fora, δ 16/n", "precision", 1000),)),
        ("takes {:.3f} ms per query at k = 10 and {:.3f} at k = 1,000 (an H100, five runs). Our FORA+ at δ = 16/n takes {:.3f} and {:.3f} ms", [query(method, k) for method in ("kpar", "fora, δ 16/n") for k in (10, 1000)]),
        ("kPAR is {:.2f} times as fast at k = 10 and {:.2f} times as fast at k = 1,000, where its answers are more precise ({:.3f} against {:.3f}). At δ = 1/n FORA+ takes {:.2f} ms", [query("fora, δ 16/n", k) / query("kpar", k) for k in (10, 1000)] + [row("kpar", "figure-7", "DBLP", method, "precision", 1000) for method in ("kpar", "fora, δ 16/n")] + [query("fora", 1000)]),
        ("kPAR has {:.4f}, FORA+ {:.4f} on soc-Epinions1 at k = 100; {:.4f} and {:.4f} at k = 1,000; {:.3f} and {:.3f} on wiki-Vote", [precision(graph, method, k) for graph, k in ((EPINIONS, 100), (EPINIONS, 1000), (WIKI, 1000)) for method in ("kpar", "fora, δ 16/n")]),
        ("at k = 1,000 it is {:.2f} times as fast ({:.2f} ms instead of {:.2f})", [push(1000)[1] / push(1000)[0], *push(1000)]),
    ],
    "merit": [
        ("{:.3f} s for {:.3f} of 8 on DBLP's stand-in, {:.3f} for {:.3f} on LiveJournal's", [row("merit", "figure-9", graph, f"merit, η {eta}", x=groups) for graph, eta in (("DBLP", 500), ("LiveJournal", 2500)) for groups in (1, 8)]),
        ("{:.2f} s for {:.2f} on com-DBLP", [row("merit", "figure-9", "DBLP", "merit, η 5000", x=groups, scale="full") for groups in (1, 8)]),
        ("1, 2, 4, 8 and 16 take {:.1f}, {:.1f}, {:.1f}, {:.1f} and {:.1f} s", [row("merit", "figure-10", "DBLP", "merit, η 3000", x=groups, scale="full") for groups in (1, 2, 4, 8, 16)]),
        ("{:.1f} to {:.1f} times as fast under IC, {:.1f} to {:.1f} times under LT", [*anew("figure-6"), *anew("figure-8")]),
    ],
    "diversity": [
        ("{:.0f} to {:.0f} times for truss, {:.1f} to {:.1f} for core, {:.1f} to {:.1f} for comp", [end for model in ("truss", "core", "comp") for end in over_four_gpus(model)]),
        ("truss on Gowalla takes {:.0f} ms for {:.0f} without stealing, on NotreDame {:.0f} for {:.0f}", [search(graph, method, "truss") for graph in ("Gowalla", "NotreDame") for method in ("gpu-div", "mgpu-div")]),
        ("on Gowalla: {:.0f} ms for {:.0f} at 1 %", [1e3 * row("diversity", "figure-7", "Gowalla", "mgpu-div-d", "time, truss", x, "full") for x in (0.1, 1)]),
        ("four take {:.0f} ms for {:.0f}", (livejournal("diversity-h200-x4", balance="none"), livejournal("diversity-h200-livejournal-size"))),
        ("all balances take {:.0f} to {:.0f} ms", (livejournal("diversity-h200-x4", balance="none"), max(livejournal(name, balance=balance) for name, balance in BALANCES))),
        ("within 3 % of each other (`imbalance` {:.2f})", (one("diversity-h200-x4", balance="none")["imbalance"],)),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("page", "sentence", "values"),
    [(page, *each) for page, listed in SENTENCES.items() for each in listed],
    ids=lambda part: str(part)[:30],
)
def test_figures_are_those_of_the_records(page, sentence, values):
    says(f"docs/papers/{page}.md", sentence, values)


def test_what_the_sentences_say_of_these_figures_holds():
    pairs = [(graph, k) for graph in (EPINIONS, WIKI) for k in (100, 1000)]
    assert all(precision(*pair[:1], "kpar", pair[1]) > precision(pair[0], "fora, δ 16/n", pair[1]) for pair in pairs)
    assert abs(precision(EPINIONS, "kpar", 10) - precision(EPINIONS, "fora, δ 16/n", 10)) <= 0.0011
    assert all(search(one, "gpu-div", model) < search(one, "mgpu-div", model) for one in AT_HAND for model in MODELS)


def test_times_of_a_rebuild_are_those_of_the_estimate():
    program = runpy.run_path(str(ROOT / "benchmarks/paper_times.py"))
    names = {"gim": "gIM", "imgpu": "IMGPU", "kpar": "kPAR", "merit": "MERIT", "diversity": "Structural diversity"}
    for paper, name in names.items():
        found = program["estimate"](paper)
        times = [program["duration"](found[scale][on_gpu]) for scale in ("small", "full") for on_gpu in (True, False)]
        says("docs/workflow.md", "| {} | {} | {} | {} | {} |", (name, *times))
