"""MERIT: its figures in README and docs/merit.md."""

# ruff: noqa: E501

from statistics import mean

import pytest
from claims import each_of, one, record, says


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


def cpu(eta, method, certificate):
    run = merit("merit-cpu-1", "soc-Epinions1", eta, method, certificate)
    making = run["phases_s"]["update"] + run["phases_s"]["generate"]
    return run["rounds"], run["time_s"]["mean"], run["updating_probes"] / 1e6, making


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


CELLS = [(graph, eta) for graph in ("soc-Epinions1", "soc-Slashdot0902") for eta in (1000, 5000)]
LIVE = ("merit-h200-livejournal-size", "livejournal-size", 25_000, "merit")
TABLES = ("merit-h100-livejournal-size", "lj", 25_000, "merit")
YOUTUBE = ("merit-h100-youtube-size", "merit-h100-youtube-size-segments")

README = [
    (
        "plans a campaign for 25,000 people of a graph of LiveJournal's size in {:.0f} s, on one H100",
        (seconds(*TABLES),),
    ),
]

PAGE = [
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
        "in tables that campaign takes {:.1f} s on one H100 (`merit-h100-livejournal-size.json`), with {:.0f} GB",
        (seconds(*TABLES), one("merit-h100-livejournal-size")["memory"] / 1e9),
    ),
    (
        "takes {:.2f} s in tables, with {:.0f} GB, and {:.2f} in segments, with {:.0f}",
        [
            value
            for name in YOUTUBE
            for value in (seconds(name, "youtube-size", 1000, "merit"), one(name)["memory"] / 1e9)
        ],
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
]


@each_of(readme=README, merit=PAGE)
def test_sentence_says_what_the_record_holds(document, sentence, values):
    says(document, sentence, values)


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
