"""Structural diversity: its figures in README and docs/diversity.md."""

# ruff: noqa: E501

from claims import each_of, one, paper, record, says


def diversity(graph, method="score", model="truss", name="diversity-h200", **more):
    return one(name, graph=graph, method=method, model=model, **more)["ms"]["median"]


def prepared(graph):
    """Return the milliseconds of copying a graph to the GPU and preparing it, before any score or search."""
    return one("diversity-h200", graph=graph, method="score", model="truss")["graph"]["network_ms"]["median"]


def diversity_row(graph):
    """Return the row of a graph in the table of times, three figures where they are large."""
    full = one("diversity-h200", graph=graph, method="full", model="truss")
    floor = one("diversity-h200", graph=graph, method="score", model="truss")["floor_ms"]
    large = rate(full["triangles_per_second"])
    search = diversity(graph, "search")
    return (
        f"| {prepared(graph):.1f} | {diversity(graph):.1f} | {floor:.2f} | {three(full['ms']['median'])} | {large} | "
        f"{diversity(graph, model='core'):.1f} | {diversity(graph, model='comp'):.1f} | {three(search)} |"
    )


def rate(value):
    return f"{value / 1e9:.1f}·10⁹" if value > 1e9 else f"{value / 1e6:.0f}·10⁶"


def full_rows():
    """Return the rows of the table of full decompositions before and since they are made in shared memory."""
    before, since = (
        [one(name, graph=graph) for graph in TRUSS] for name in ("diversity-h100-full-before", "diversity-h100-full")
    )
    for title, runs in (("in global memory", before), ("in shared memory where they fit", since)):
        yield f"| {title} | {' | '.join(three(run['ms']['median']) for run in runs)} |"
    yield f"| ego triangles/s | {' | '.join(rate(run['triangles_per_second']) for run in since)} |"


def slowest():
    """Return the largest ratio of the times since and before."""
    since, before = ("diversity-h100-full", "diversity-h100-full-before")
    return max(one(since, graph=graph)["ms"]["median"] / one(before, graph=graph)["ms"]["median"] for graph in TRUSS)


def three(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def four(balance, name="diversity-h200-x4"):
    return one(name, balance=balance)


def on_four(balance, name="diversity-h200-x4"):
    return four(balance, name)["ms"]["median"]


ALONE = "diversity-h200-livejournal-size"
TRUSS = ("wiki-Vote", "email-Enron", "soc-Epinions1", "web-NotreDame", "livejournal-size")

README = [
    (
        "takes {:.0f} ms on web-NotreDame (the paper, on four V100s: {:.1f} s) and {:.0f} ms on a graph of LiveJournal's",
        (
            prepared("web-NotreDame") + diversity("web-NotreDame", "search"),
            paper("diversity", "NotreDame", "mgpu-div-d", "time, truss"),
            prepared("livejournal-size") + diversity("livejournal-size", "search"),
        ),
    ),
]

PAGE = [
    *((diversity_row(graph), ()) for graph in TRUSS),
    ("full decomposition of `livejournal-size` took {:.0f} ms on one H200", (one(ALONE)["ms"]["median"],)),
    *((row, ()) for row in full_rows()),
    ("On small graphs with hubs it takes up to {:.1f} times as long", (slowest(),)),
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
]


@each_of(readme=README, diversity=PAGE)
def test_sentence_says_what_the_record_holds(document, sentence, values):
    says(document, sentence, values)


def test_last_scores_on_real_graphs():
    """docs/diversity.md: the last score of the answer is 1 to 3."""
    found = [run for run in record("diversity-h200")["runs"] if run["method"] == "search"]
    last = {run["t_th_score"] for run in found if run["graph"]["name"] != "livejournal-size"}
    assert last == {1, 2, 3}


def test_both_versions_decomposed_the_same():
    """The records of full decompositions in global and in shared memory: same graphs, scores and triangles."""
    before, since = (record(f"diversity-h100-full{suffix}")["runs"] for suffix in ("-before", ""))
    for one_run, other in zip(before, since, strict=True):
        assert one_run["graph"]["digest"] == other["graph"]["digest"]
        assert [one_run[key] for key in ("scores_sum", "ego_triangles")] == [
            other[key] for key in ("scores_sum", "ego_triangles")
        ]
