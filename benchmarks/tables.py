"""The blocks of figures in README and docs: which records they are of, and how they read. figures.py writes the pages."""

# ruff: noqa: E501, D401

from collections.abc import Callable, Iterable, Mapping
from statistics import mean, median
from typing import Any

from figures import Block
from gim_quality import table as quality_table
from records import held_ms, one, paper, record, there

BLOCKS: dict[str, Callable[[Block], None]] = {}
NONE = "–"


def block(make: Callable[[Block], None]) -> Callable[[Block], None]:
    """Make a function that of the block with its name."""
    BLOCKS[make.__name__.replace("_", "-")] = make
    return make


def time_of(ms: float) -> str:
    """Return milliseconds as people read them."""
    if ms >= 10_000:
        return f"{ms / 1e3:,.0f} s"
    if ms >= 1000:
        return f"{ms / 1e3:.1f} s"
    return f"{ms:.0f} ms" if ms >= 100 else f"{ms:.1f} ms" if ms >= 1 else f"{ms:.2f} ms"


def range_of(values: Iterable[float], form: str) -> str:
    """Return the least and the largest of some values."""
    found = list(values)
    return f"{form.format(min(found))} to {form.format(max(found))}"


def held(made: Block, device: str, line: str, before: Callable[[], str] | None = None) -> str:
    """Return the time of a line of held.toml; what an older record says where there is no record of held.py yet."""
    ms = held_ms(device, line)
    if ms is not None:
        return made.of(f"held-{device}", "{}", time_of(ms), line=line)
    return before() if before is not None else NONE


# README


def imm(made: Block, graph: str, model: str, bound: str = "imm") -> Callable[[], str]:
    """Return what the older record says of gIM on a GPU."""

    def before() -> str:
        run = one("gim-h200", graph=graph, model=model, bound=bound, samples="grid")
        return made.of("gim-h200", "{}", time_of(run["algorithm_ms"]["median"]))

    return before


@block
def measured(made: Block) -> None:
    """What README says of the speed of each system."""

    def row(title: str, line: str, gpu: Callable[[], str] | None = None, cpu: Callable[[], str] | None = None) -> list:
        return [title, held(made, "h200", line, gpu), held(made, "cpu", line, cpu)]

    def of(name: str, ms: float) -> Callable[[], str]:
        return lambda: made.of(name, "{}", time_of(ms))

    latency = next(one for one in record("kpar-h200-soc-Epinions1")["runs"][0]["latency"] if one["k"] == 100)
    rows = [
        row("gIM: 50 seeds of soc-Epinions1, OPIM-C", "OPIM-C, soc-Epinions1", imm(made, "soc-Epinions1", "ic", "opim"),
            of("gim-cpu-1", one("gim-cpu-1", graph="soc-Epinions1", model="ic")["algorithm_ms"]["median"])),
        row("gIM: 50 seeds of R-MAT 22 (4.2 M vertices), IMM", "IMM, R-MAT 22, IC", imm(made, "rmat22", "ic")),
        row("IMGPU: 50 seeds of NetHEPT, 20,000 worlds", "IMGPU, NetHEPT, 20,000 worlds",
            of("imgpu-h200-nethept", one("imgpu-h200-nethept", method="fixed")["algorithm_ms"]["median"])),
        row("kPAR: the 100 nearest of a vertex of soc-Epinions1", "kPAR, single queries, soc-Epinions1, k = 100",
            of("kpar-h200-soc-Epinions1", latency["mean_ms"])),
        row("MERIT: a campaign for 1,000 people of soc-Epinions1", "MERIT, soc-Epinions1, a campaign for 1,000",
            of("merit-h200", 1e3 * one("merit-h200", graph="soc-Epinions1", method="merit", eta=1000)["time_s"]["mean"])),
        row("structural diversity: trusses of web-NotreDame, all vertices", "trusses, web-NotreDame",
            of("diversity-h200", one("diversity-h200", graph="web-NotreDame", method="score", model="truss")["ms"]["median"])),
        row("`gpukit gim run` on soc-Epinions1, process start to file", "gim run",
            of("whole-commands-h200", 1e3 * record("whole-commands-h200")["cases"][0]["after"]["median_s"])),
    ]  # fmt: skip
    made.table(("the work alone, warm; the last line a whole process", "one H200", "CPU"), rows)


@block
def authors(made: Block) -> None:
    """The times of gIM's authors beside ours, from one run."""

    def said(found: Mapping[str, Any]) -> str:
        time, sets = time_of(found["algorithm_ms"]["median"]), found["rr_sets"] / 1e6
        return made.of("gim-authors-h200", "{}, {:.2f} M sets, {:,.0f} vertices", time, sets, found["spread"])

    rows = [
        [f"{run['graph']['name']}, {run['model'].upper()}", *(said(run[who]) for who in ("authors", "imm", "opim"))]
        for run in record("gim-authors-h200")["runs"]
    ]
    made.table(("graph, model", "gIM, the authors' code", "gpukit, IMM", "gpukit, OPIM-C"), rows)


@block
def over_gpus(made: Block) -> None:
    """Whole calls on one GPU and on two."""
    rows = []
    for run in record("over-gpus-h200x2")["runs"]:
        times = [time_of(run["ms"][count]) for count in ("1", "2")]
        what = f"{run['system']}: {run['what'].removesuffix('.')}, {run['graph']['name']}"
        rows.append([what, *(made.of("over-gpus-h200x2", "{}", time) for time in (*times, f"{run['ratio']:.2f}"))])
    made.table(("a call of the Python interface, warm", "one GPU", "two GPUs", "times as fast"), rows)


@block
def printed(made: Block) -> None:
    """Graphs of the papers' sizes, beside what the papers print."""
    fresh = one("imgpu-h200-nethept", method="fresh")
    gain = paper("imgpu", "NetHEPT", "mixgreedy", "time") / paper(
        "imgpu", "NetHEPT", "imgpu-o", "speed-up over mixgreedy"
    )
    query = record("kpar-h200-twitter-size")["runs"][0]["latency"]
    far = next(one for one in query if one["k"] == 1000)["mean_ms"]
    campaign = one("merit-h100-livejournal-size")["time_s"]["mean"]
    search = one("diversity-h200", graph="web-NotreDame", method="search", model="truss")
    whole = search["ms"]["median"] + search["graph"]["network_ms"]["median"]
    sets = [one("gim-h200-x4-sampling", graph="rmat22", sets=40_000_000, gpus=gpus)["ms"]["median"] for gpus in (1, 4)]
    rows = [
        ["IMGPU: NetHEPT, 20,000 new worlds for each of 50 seeds", made.of("imgpu-h200-nethept", "{}", time_of(fresh["algorithm_ms"]["median"])), f"{gain:.0f} s by its speed-ups"],
        ["kPAR: the 1,000 nearest in a graph of Twitter's size", made.of("kpar-h200-twitter-size", "{}", time_of(far)), f"{paper('kpar', 'Twitter', 'kpar', 'time of a query', '1000')} ms, a P100"],
        ["MERIT: 25,000 people of a graph of LiveJournal's size", made.of("merit-h100-livejournal-size", "{}", time_of(1e3 * campaign)), NONE],
        ["diversity: a whole search of web-NotreDame (truss, k = 4)", made.of("diversity-h200", "{}", time_of(whole)), f"{paper('diversity', 'NotreDame', 'mgpu-div-d', 'time, truss'):.1f} s, four V100s"],
        ["gIM: 40 M RR sets of R-MAT 22, on one GPU and on four", made.of("gim-h200-x4-sampling", "{}, {}", *map(time_of, sets)), NONE],
    ]  # fmt: skip
    made.table(("", "gpukit", "in print"), rows)


# docs/gim.md


@block
def gim_quality_of_bounds(made: Block) -> None:
    """What seeds of either bound reach."""

    def reached(method: str) -> str:
        return made.of("gim-quality", "{}", range_of(one("gim-quality", method=method)["spreads"], "{:,.0f}"))

    made.table(
        ("soc-Epinions1, 20 seed sets", "reach"),
        [
            ["OPIM-C as published, ε = 0.05, 22,400 or 44,800 sets", reached("opim")],
            ["at least 200,000 sets, ε = 0.1", reached("defaults")],
        ],
    )


@block
def gim_certificates(made: Block) -> None:
    """How often a certificate was untrue."""
    found = record("gim-certificates")
    made.say(
        made.of(
            "gim-certificates", "Runs: {:,}; guarantees or bounds that were untrue: {}", found["runs"], found["untrue"]
        )
        + "."
    )


@block
def gim_rivals(made: Block) -> None:
    """What gIM reaches beside its rivals, cell by cell."""
    made.say(made.of("gim-quality-cells", "{}", quality_table(record("gim-quality-cells")["cells"])))


@block
def gim_huge(made: Block) -> None:
    """R-MATs of the sizes of Twitter and Friendster."""
    rows = []
    for size, name in (("41.7 M, 1.47 G", "gim-huge-h100"), ("65.6 M, 2.83 G", "gim-huge-h100-friendster-size")):
        for weights in ("wc", "const:0.02", "uniform:0:0.1"):
            run = one(name, weights=weights)
            values = (run["algorithm_ms"]["median"] / 1e3, run["guarantee"], run["peak_memory"] / 1e9)
            rows.append(
                [
                    size,
                    weights,
                    *(
                        made.of(name, form, value)
                        for form, value in zip(("{:.1f} s", "{:.2f}", "{:.1f} GB"), values, strict=True)
                    ),
                ]
            )
    made.table(("vertices, edges", "weights", "time", "guarantee", "GPU's peak"), rows)


@block
def gim_sentinel(made: Block) -> None:
    """Sets that end at a seed that is chosen first."""
    rows = []
    for run in record("gim-sentinel-h200")["runs"]:
        asked = run["params"]
        rows.append(
            [
                f"{run['graph']['weights']}, k = {asked['k']}, `--sentinels {asked['sentinels']}`",
                made.of("gim-sentinel-h200", "{}", time_of(run["algorithm_ms"]["median"])),
                made.of("gim-sentinel-h200", "{:,.0f}", run["spread_estimate"]),
            ]
        )
    made.table(("probabilities", "time", "reach"), rows)


@block
def gim_kept(made: Block) -> None:
    """What sets that are kept gain."""
    runs = {
        (run["graph"]["name"], run["graph"]["weights"], run["method"]): run for run in record("gim-kept-sets")["runs"]
    }
    rows = []
    for (graph, weights, method), run in runs.items():
        if (graph, weights) in (("soc-Epinions1", "const:0.001"), ("soc-Epinions1", "wc"), ("NetHEPT", "wc")):
            sets = "{:,}".format(run["rr_sets"]) if run.get("rr_sets") else NONE
            time = made.of("gim-kept-sets", "{:.2f} s", run["cpu_s"]) if "cpu_s" in run else NONE
            rows.append(
                [f"{graph}, {weights}, {method}", sets, made.of("gim-kept-sets", "{:,.1f}", run["spread"]), time]
            )
    made.table(("graph, weights, method", "sets", "reach", "one thread"), rows)


# docs/imgpu.md


@block
def imgpu_measured(made: Block) -> None:
    """IMGPU on one H200 and on a CPU."""

    def of(name: str, graph: str, method: str) -> str:
        spent = one(name, graph=graph, method=method)["algorithm_ms"]
        return made.of(name, "{}", time_of(spent["median"] if isinstance(spent, dict) else spent))

    def by_speed_up(graph: str) -> str:
        return f"{paper('imgpu', graph, 'mixgreedy', 'time') / paper('imgpu', graph, 'imgpu-o', 'speed-up over mixgreedy'):,.0f} s"

    rows = [
        [
            graph, of(name, graph, "fixed"), of(name, graph, "fresh"), of("imgpu-cpu-1", graph, "fixed"),
            of(name, graph, "mixgreedy") if graph == "NetHEPT" else NONE, by_speed_up(graph),
        ]
        for graph, name in (("NetHEPT", "imgpu-h200-nethept"), ("NetPHY", "imgpu-h200-netphy"))
    ]  # fmt: skip
    made.table(
        (
            "",
            "fixed",
            "fresh",
            "one CPU thread, fixed",
            "MixGreedy, one thread",
            "the paper's IMGPU_O, by its speed-ups",
        ),
        rows,
    )


@block
def imgpu_sizes(made: Block) -> None:
    """IMGPU at the sizes of Amazon and Twitter, on an H100."""
    rows = []
    for graph, said in (
        ("amazon-size", "Amazon's: 262,144 vertices, 1,234,877 edges, R = 20,000"),
        ("twitter-size", "Twitter's: 11.3 M, 85.3 M, R = 200"),
    ):
        run = one("imgpu-h100-listed", graph=graph, version="new")
        copied = run["phases_ms"]["transfer"] if "phases_ms" in run else None
        rows.append(
            [
                said,
                made.of("imgpu-h100-listed", "{}", time_of(run["algorithm_ms"]["median"])),
                time_of(copied) if copied else NONE,
                f"{run['peak_memory'] / 1e9:.0f} GB",
            ]
        )
    made.table(("size", "50 seeds", "copying the graph before", "GPU's peak"), rows)


@block
def imgpu_passes(made: Block) -> None:
    """A pass by labels with the paper's optimisations."""
    run = one("imgpu-h200-nethept", method="switches")["pass_ms"]
    floor = one("imgpu-h200-nethept", method="fixed")["floor_ms"]
    forms = [made.of("imgpu-h200-nethept", "{:.1f} ms", run[switch]) for switch in ("none", "K", "R", "U")]
    made.table(
        ("NetHEPT, 20,000 worlds", "none", "K", "R", "U", "reading the live arcs alone"),
        [["a pass", *forms, f"{floor:.1f} ms"]],
    )


@block
def imgpu_readings(made: Block) -> None:
    """Spreads of graphs read in three ways."""
    rows = []
    for run in record("imgpu-readings")["runs"]:
        graph, values = run["graph"], (run["spread"], run["random"], run["random"] / run["spread"])
        rows.append(
            [
                f"{graph['name']}, {graph['reading']}",
                *(
                    made.of("imgpu-readings", form, value)
                    for form, value in zip(("{:.1f}", "{:.1f}", "{:.2f}"), values, strict=True)
                ),
            ]
        )
    made.table(("graph, as it is read", "IMGPU", "random", "random / IMGPU"), rows)
    rivals = [one("imgpu-h200-nethept", method=method)["spread"] for method in ("mixgreedy", "fixed")]
    made.table(
        ("NetHEPT, directed, the same cascades", "MixGreedy", "IMGPU"),
        [["reach", *(f"{reach:.2f}" for reach in rivals)]],
    )


# docs/kpar.md


def at(runs: list[dict[str, Any]], k: int = 1000) -> dict[str, Any]:
    """Return the run with this length of answers."""
    return next(run for run in runs if run["k"] == k)


@block
def kpar_measured(made: Block) -> None:
    """KPAR on one H200."""
    sizes = {
        "soc-Epinions1": "soc-Epinions1",
        "rmat22": "R-MAT 22: 4.2 M vertices, 72.7 M edges",
        "orkut-size": "Orkut's size: 3.1 M vertices, 253 M edges",
        "twitter-size": "Twitter's size: 33.6 M vertices, 1.64 G edges",
    }
    later = record("kpar-batches-h200")
    quicker = {
        "rmat22": at(later["runs"])["queries_per_s"]["auto"],
        "twitter-size": later["scale_25"]["queries_per_s"]["auto"],
    }
    rows = []
    for graph, said in sizes.items():
        name = f"kpar-h200-{graph}"
        run = record(name)["runs"][0]
        query, batch = at(run["latency"]), at(run["batch"])["queries_per_s"]
        rows.append([
            said, made.of(name, "{}", time_of(1e3 * run["preprocessing"]["index_warm_s"])),
            made.of(name, "{}", time_of(query["mean_ms"])), made.of(name, "{:.0f}", query["times_floor"]),
            made.of("kpar-batches-h200", "{:,.0f}", quicker[graph]) if graph in quicker else made.of(name, "{:,.0f}", batch),
            made.of(name, "{}", time_of(run["fora"]["mean_ms"])),
        ])  # fmt: skip
    made.table(
        ("graph", "index, warm", "one query", "times its floor", "a second, in batches", "FORA+ here, one query"), rows
    )


@block
def kpar_threads(made: Block) -> None:
    """How many times as fast two CPU threads are as one."""
    runs = record("kpar-cpu-threads")["runs"]
    rows = [
        [
            graph if isinstance(graph, str) else graph["name"],
            run["method"],
            str(run["queries"]),
            made.of("kpar-cpu-threads", "{:.2f}", run["speed_up"]["median"]),
        ]
        for run in runs
        for graph in [run["graph"]]
    ]
    made.table(("graph", "method", "queries", "times as fast on two threads"), rows)


@block
def kpar_precision(made: Block) -> None:
    """Precision of answers against the truth."""
    runs = record("kpar-quality")["runs"]
    graphs = (
        ("web-NotreDame", "web-NotreDame"),
        ("copying model, a fifth", "copying-a-fifth"),
        ("copying model, a half", "copying-a-half"),
        ("soc-Epinions1", "soc-Epinions1"),
    )

    def mean_of(graph: str, k: int, depth: str) -> float:
        (found,) = [
            run["precision"]
            for run in runs
            if (run["graph"]["name"], run["k"], run["depth"], run["sources"]) == (graph, k, depth, "out-edges")
        ]
        return found

    rows = [
        [
            said,
            *(
                made.of("kpar-quality", "{:.4f} → {:.4f}", mean_of(graph, k, "auto"), mean_of(graph, k, "refined"))
                for k in (10, 100, 1000)
            ),
        ]
        for said, graph in graphs
    ]
    made.table(("first look → with the second", "k = 10", "k = 100", "k = 1000"), rows)
    rows = []
    for depth in ("auto", "refined", "end"):
        found = [run for run in runs if run["depth"] == depth]
        least = [min(run[key] for run in found) for key in ("precision", "ndcg")]
        rows.append(
            [
                f"`--depth {depth}`" if depth != "refined" else "the default",
                *(
                    f"{value:,}"
                    for value in (sum(run["positions"] for run in found), sum(run["violations"] for run in found))
                ),
                f"{least[0]:.4f}",
                f"{least[1]:.5f}",
            ]
        )
    made.table(
        (
            "all nine graphs, 200 sources, k = 10, 100, 1000",
            "positions above δ_min",
            "that violate Definition 1",
            "least mean precision",
            "least NDCG",
        ),
        rows,
    )


@block
def kpar_index_of_twitter(made: Block) -> None:
    """The index of a graph of Twitter's size, with its file."""
    run = record("kpar-index-h200-twitter-size")["runs"][-1]
    parts = [made.of("kpar-index-h200-twitter-size", "{:.1f} s", run[key]) for key in ("index_s", "write_s")]
    made.table(
        ("Twitter's size, from the graph in host memory", "made and copied back", "written with its digest", "file"),
        [["the index", *parts, f"{run['bytes'] / 1e9:.1f} GB"]],
    )


@block
def kpar_weighted(made: Block) -> None:
    """What weights of edges cost."""
    found = record("kpar-batches-h200")
    made_ = [found["made"][which] for which in ("auto", "weighted")]
    rows = [
        [f"queries, k = {run['k']}", made.of("kpar-batches-h200", "{:.2f}", run["weighted_over_auto"])]
        for run in found["runs"]
    ]
    rows += [
        [said, made.of("kpar-batches-h200", "{:.1f}", made_[1][key] / made_[0][key])]
        for said, key in (("drawing the walks", "index_s"), ("the rank", "rank_s"))
    ]
    made.table(("R-MAT 22, with `--weighted`", "times as long"), rows)


@block
def kpar_as_batch(made: Block) -> None:
    """Single queries as batches of one."""
    name = "kpar-single-as-batch-h200"
    rows = [
        [
            run["graph"] + (", refined" if run["refined"] else ""),
            made.of(name, "{:.2f}", run["batch_of_one_over_single"]),
        ]
        for run in record(name)["runs"]
    ]
    made.table(("graph", "times as long"), rows)


@block
def kpar_refined(made: Block) -> None:
    """What the second look costs in batches."""
    name, rows = "kpar-batches-h200", []
    for run in record(name)["runs"]:
        if "refined_over_auto" in run:
            rows.append(
                [
                    f"k = {run['k']}",
                    made.of(name, "{:.2f}", run["refined_over_auto"]),
                    made.of(name, "{:.0f} %", 100 * run["certain"]),
                ]
            )
    made.table(("", "times as long", "positions that are certain"), rows)


@block
def kpar_update(made: Block) -> None:
    """Updates of an open index."""
    name = "kpar-update-cpu"
    rows = [
        [f"{run['edges_of_a_batch']:,}", made.of(name, "{:,.0f}", run["edges_per_s"])]
        for run in record(name)["batches"]
    ]
    made.table(("edges of a batch", "edges a second"), rows)


RIVALS = ("CachePPR", "SpeedPPR", "Fora", "ResAcc")
"""Methods of one program, by the names that it takes."""


@block
def kpar_rivals(made: Block) -> None:
    """Methods without an index beside kPAR, on one CPU thread."""
    rows, behind, made_in = [], [], []
    for graph in ("soc-Epinions1", "web-NotreDame"):
        name = f"ppr-rivals-{graph}-cpu"
        for run in record(name)["runs"]:
            spent = made.of(name, "{:.1f} s and {:.1f} s", *(one["s"] for one in run["indexes"]))
            made_in.append(f"{graph}, α = {run['alpha']}: {spent}")
            for k in (10, 100, 1000):
                theirs, ours = rivals_at(run, k)
                cells = [
                    made.of(name, "{}, {:.3f}", time_of(ms), precision)
                    for ms, precision in (*theirs.values(), *ours.values())
                ]
                rows.append([f"{graph}, {run['alpha']}, {k}", *cells])
                behind += [
                    f"{graph}, α = {run['alpha']}, k = {k}, {who}"
                    for who, (ms, precision) in theirs.items()
                    if not any(spent < ms and found >= precision for spent, found in ours.values())
                ]
    heads = [*RIVALS, "kPAR", "kPAR, ε = 0.1"]
    made.table(("graph, α, k", *heads), rows)
    made.say(f"CPU time of the two indexes, once for each graph and α: {'; '.join(made_in)}.")
    made.say(
        f"Neither index gives at least the precision of these methods in less time: {'; '.join(behind)}."
        if behind
        else "In every row, kPAR takes less time than each of the other methods at no lower precision."
    )


def rivals_at(run: dict[str, Any], k: int) -> tuple[dict[str, tuple[float, float]], dict[float, tuple[float, float]]]:
    """Return the milliseconds and the precision of each rival by its name, and of ours by epsilon of the index."""
    theirs = {one["method"]: (median(one["ms"]), one["precision"][str(k)]) for one in run["methods"] if "k" not in one}
    ours = {one["epsilon"]: (median(one["ms"]), one["precision"]) for one in run["methods"] if one.get("k") == k}
    return {who: theirs[who] for who in RIVALS}, ours


# docs/merit.md


def campaign(name: str, graph: str, eta: int, method: str, certificate: str = "paper") -> dict[str, Any]:
    """Return a run of MERIT or a rival."""
    return one(name, graph=graph, eta=eta, method=method, certificate=certificate)


def making(run: dict[str, Any], judged: bool = False) -> float:
    """Return the seconds for the sets of the rounds, with those that judge if asked for."""
    return sum(run["phases_s"][name] for name in ("update", "generate", *(["judge"] if judged else [])))


@block
def merit_gpu(made: Block) -> None:
    """MERIT on one H200."""
    cells = [(graph, eta) for graph in ("soc-Epinions1", "soc-Slashdot0902") for eta in (1000, 5000)]

    def of(name: str, *asked: Any, certificate: str = "paper") -> str:
        run = campaign(name, *asked, certificate)
        return made.of(
            name, "{} ({})", *(time_of(1e3 * s) for s in (run["time_s"]["mean"], making(run, certificate == "fresh")))
        )

    def alone(name: str, *asked: Any) -> str:
        return made.of(name, "{}", time_of(1e3 * campaign(name, *asked)["time_s"]["mean"]))

    rows = [
        [
            f"{graph}, η = {eta:,}",
            *(of("merit-h200", graph, eta, m) for m in ("merit", "segmented")),
            *(alone("merit-h200", graph, eta, m) for m in ("gamcss", "pasti")),
        ]
        for graph, eta in cells
    ]
    flickr = ("merit-h200-flickr-size", "flickr-size", 2000)
    stopped = record("merit-h200-update")["stopped"]["after_s"]
    rows += [
        ["YouTube's size, η = 1,000", *(of("merit-h200-youtube-size", "youtube-size", 1000, m) for m in ("merit", "segmented")), *(alone("merit-h200-youtube-size", "youtube-size", 1000, m) for m in ("gamcss", "pasti"))],
        ["YouTube's size, η = 5,000", *(of("merit-h200-youtube-size-5000", "youtube-size", 5000, m) for m in ("merit", "segmented")), NONE, NONE],
        ["Flickr's size, η = 2,000", *(of(*flickr, m) for m in ("merit", "segmented")), made.of("merit-h200-update", "over {} s", stopped), alone("merit-h200-flickr-size-pasti", *flickr[1:], "pasti")],
        ["LiveJournal's size, η = 25,000", of("merit-h200-livejournal-size", "livejournal-size", 25_000, "merit"), NONE, NONE, NONE],
    ]  # fmt: skip
    head = ("MERIT", "all sets anew", "GAMCSS", "PASTI")
    made.table(("campaign (IC, the paper's certificate)", *head), rows)
    rows = [
        [f"{graph}, η = {eta:,}", *(of("merit-h200-fresh", graph, eta, m, certificate="fresh") for m in ("merit", "segmented")),
         *(made.of("merit-h200-fresh", "{}", time_of(1e3 * campaign("merit-h200-fresh", graph, eta, m, "fresh")["time_s"]["mean"])) for m in ("gamcss", "pasti"))]
        for graph, eta in cells
    ]  # fmt: skip
    made.table(("campaign (certificate on fresh sets)", *head), rows)


@block
def merit_batch(made: Block) -> None:
    """What campaigns of each batch cost."""
    name, rows = "merit-batch", []
    for run in record(name)["campaigns"]:
        costs = [NONE if cost is None else made.of(name, "{:.1f}", cost) for cost in run["cost"].values()]
        rows.append([f"{run['graph']}, η = {run['eta']:,}", str(run["default"]), *costs])
    made.table(("campaign", "default batch", *(f"cost of {batch}" for batch in run["cost"])), rows)


@block
def merit_tables(made: Block) -> None:
    """MERIT with sets in hash tables, on one H100."""
    rows = []
    for said, name in (
        ("LiveJournal's size, η = 25,000, in tables", "merit-h100-livejournal-size"),
        ("YouTube's size, η = 1,000, in tables", "merit-h100-youtube-size"),
        ("YouTube's size, η = 1,000, in segments", "merit-h100-youtube-size-segments"),
    ):
        run = one(name)
        rows.append(
            [
                said,
                made.of(name, "{}", time_of(1e3 * run["time_s"]["mean"])),
                made.of(name, "{:,.0f}", run["rounds"]),
                made.of(name, "{:.0f} GB", run["memory"] / 1e9),
            ]
        )
    made.table(("campaign", "time", "rounds", "GPU's peak"), rows)


@block
def merit_lt(made: Block) -> None:
    """MERIT under linear threshold."""
    name = "merit-h200-lt"
    rows = [
        [
            f"soc-Epinions1, η = {eta:,}",
            *(
                made.of(name, "{}", time_of(1e3 * campaign(name, "soc-Epinions1", eta, m)["time_s"]["mean"]))
                for m in ("merit", "gamcss")
            ),
        ]
        for eta in (1000, 3000)
    ]
    made.table(("campaign (LT)", "MERIT", "GAMCSS"), rows)


@block
def merit_update(made: Block) -> None:
    """What the update needs of what drawing all sets anew takes."""
    rows = []
    for name, graph, eta in (
        ("merit-h200", "soc-Epinions1", 5000),
        ("merit-h200-youtube-size", "youtube-size", 1000),
        ("merit-h200-youtube-size-5000", "youtube-size", 5000),
        ("merit-h200-flickr-size", "flickr-size", 2000),
    ):
        ours, other = (campaign(name, graph, eta, method) for method in ("merit", "segmented"))
        shares = (ours["updating_probes"] / other["updating_probes"], making(ours) / making(other))
        rows.append([f"{graph}, η = {eta:,}", *(made.of(name, "{:.0f} %", 100 * share) for share in shares)])
    made.table(("campaign", "probes", "time"), rows)


@block
def merit_cpu(made: Block) -> None:
    """MERIT on one CPU thread."""
    rows = []
    said = {"merit": "coupled", "redrawn": "the same sets anew", "segmented": "other sets every round"}
    for eta in (1000, 5000):
        for certificate in ("paper", "fresh"):
            for method, name in said.items():
                run = campaign("merit-cpu-1", "soc-Epinions1", eta, method, certificate)
                values = (run["rounds"], run["time_s"]["mean"], run["updating_probes"] / 1e6, making(run))
                rows.append(
                    [
                        f"η = {eta:,}, {name}, {certificate}",
                        *(
                            made.of("merit-cpu-1", form, value)
                            for form, value in zip(("{:.1f}", "{:.1f} s", "{:.0f} M", "{:.1f} s"), values, strict=True)
                        ),
                    ]
                )
    made.table(("campaign and certificate", "rounds", "time", "probes", "time for them"), rows)
    costs = [mean(one("merit-cpu-paired", method=method)["cost"]["each"]) for method in ("merit", "segmented")]
    made.table(
        ("20 paired worlds, η = 1,000", "coupled", "other sets every round"),
        [["mean cost", *(made.of("merit-cpu-paired", "{:.2f}", cost) for cost in costs)]],
    )


# docs/diversity.md

GRAPHS = ("wiki-Vote", "email-Enron", "soc-Epinions1", "web-NotreDame", "livejournal-size")


@block
def diversity_times(made: Block) -> None:
    """Structural diversity on one H200."""
    name, rows = "diversity-h200", []
    for graph in GRAPHS:
        runs = {
            (method, model): one(name, graph=graph, method=method, model=model)
            for method, model in (
                ("score", "truss"),
                ("full", "truss"),
                ("score", "core"),
                ("score", "comp"),
                ("search", "truss"),
            )
        }
        score = runs["score", "truss"]
        values = [
            score["graph"]["network_ms"]["median"],
            score["floor_ms"],
            *(runs[one]["ms"]["median"] for one in runs),
        ]
        rows.append([graph, *(made.of(name, "{}", time_of(ms)) for ms in values)])
    made.table(
        ("graph", "network", "floor, truss", "truss", "truss `--full`", "core", "comp", "search (truss, t = 100)"), rows
    )


@block
def diversity_full(made: Block) -> None:
    """Full decompositions in global and in shared memory, on one H100."""
    rows = []
    for said, name in (
        ("in global memory", "diversity-h100-full-before"),
        ("in shared memory where they fit", "diversity-h100-full"),
    ):
        rows.append([said, *(made.of(name, "{}", time_of(one(name, graph=graph)["ms"]["median"])) for graph in GRAPHS)])
    made.table(("full decomposition", *GRAPHS), rows)


@block
def diversity_four(made: Block) -> None:
    """Full decomposition on four H200, by how work is balanced."""
    alone = one("diversity-h200-livejournal-size")["ms"]["median"]
    rows = []
    for balance in ("none", "pack", "dynamic", "random", "exhausted"):
        before = balance in ("random", "exhausted")
        name = "diversity-h200-x4" + ("-five" if before else "")
        run = one(name, balance=balance)
        faster = NONE if before else made.of("diversity-h200-livejournal-size", "{:.2f}", alone / run["ms"]["median"])
        rows.append(
            [
                balance,
                made.of(name, "{}", time_of(run["ms"]["median"])),
                faster,
                made.of(name, "{:.2f}", run["imbalance"]),
            ]
        )
    made.table(("balance", "time", "times as fast as one", "longest time at work over the mean"), rows)


# docs/networkx.md

CUGRAPH = ("average_clustering", "clustering", "core_number", "k_truss", "pagerank", "transitivity", "triangles")
"""What nx-cugraph 26.08 offers of our functions, as its `_nx_cugraph/__init__.py` says, which the page names."""
PARTS = ("with_conversion", "converted_before", "asked_again")


@block
def networkx(made: Block) -> None:
    """NetworkX, its backend here, and other backends."""
    name = "networkx-rivals"
    found = record(name)
    backends = (*found["rivals"], "gpukit")
    rows = []
    for run in found["runs"]:
        rest = "".join(f", k = {k}" for k in run["arguments"])
        differ = [f"; {one} gives another answer" for one in backends if _differs(run["backends"].get(one))]
        offered = run["name"] in CUGRAPH and (run["name"], run["kind"]) != ("core_number", "directed")
        rows.append(
            [
                f"`{run['name']}`{rest}, {run['kind']}{''.join(differ)}",
                _seconds(made, run["backends"]["networkx"], "alone", found["limit_s"]),
                *(
                    _seconds(made, run["backends"].get(one), part, found["limit_s"])
                    for one in backends
                    for part in PARTS
                ),
                "yes" if offered else "no",
            ]
        )
    head = [f"{one.removesuffix('_networkx')}, {part.replace('_', ' ')}" for one in backends for part in PARTS]
    made.table(("function", "NetworkX", *head, "in nx-cugraph"), rows)
    versions = ", ".join(f"{one} {found['versions'][one]}" for one in ("networkx", *found["rivals"], "python", "numpy"))
    made.say(f"Versions: {versions}.")


def _seconds(made: Block, cell: Mapping[str, Any] | None, part: str, limit: float) -> str:
    """Return the CPU time of a part, or why there is none."""
    if cell is None:
        return NONE
    if part in cell:
        return made.of("networkx-rivals", "{}", time_of(1e3 * cell[part]["median"]))
    return f"over {limit} s" if cell.get("over") else "fails"


def _differs(cell: Mapping[str, Any] | None) -> bool:
    """Say whether an answer is another than NetworkX's by more than rounding."""
    if cell is None or "largest_difference" not in cell:
        return False
    return cell["largest_difference"] is None or cell["largest_difference"] > 1e-9


# docs/performance.md


@block
def threads(made: Block) -> None:
    """What more CPU threads bring."""
    name, rows = "thread-scaling-16", []
    for command in dict.fromkeys(run["command"] for run in record(name)["runs"]):
        work = {count: one(name, command=command, threads=count)["work_s"] for count in (1, 2, 4, 8, 16)}
        rows.append(
            [
                f"`{command}`",
                made.of(name, "{:.1f} s", work[1]),
                *(made.of(name, "{:.1f}", work[1] / work[count]) for count in (2, 4, 8, 16)),
            ]
        )
    made.table(("command", "one thread", "2", "4", "8", "16"), rows)


@block
def large_graph(made: Block) -> None:
    """A graph of 1.6 billion edges."""
    rows = []
    for said, name in (("", "large-graph-h100"), (", 9.3 GB of the GPU", "large-graph-limited-h100")):
        for command, found in record(name)["commands"].items():
            if "printed" not in found:
                continue
            peaks = [found["host_peak_bytes"], found.get("gpu_peak_bytes") or 0]
            rows.append(
                [
                    f"`{command}`{said}",
                    made.of(name, "{:.0f} s", found["seconds"]),
                    *(made.of(name, "{:.1f} GB", peak / 1e9) if peak else NONE for peak in peaks),
                ]
            )
    made.table(("command", "time", "host's peak", "GPU's peak"), rows)


@block
def edges_in_parts(made: Block) -> None:
    """A graph that is larger than one GPU."""
    run = one("spread-over-gpus-h100x2", system="gim sets")
    ways = {
        "whole": "in the memory of one GPU",
        "limited": "in host memory, read by one GPU",
        "whole_on_2": "in the memory of each of two",
        "limited_on_2": "in parts on two",
    }
    rows = [
        [said, *(made.of("spread-over-gpus-h100x2", "{}", time_of(run[key][way])) for key in ("ms", "ready_ms"))]
        for way, said in ways.items()
    ]
    made.table(("where the edges lie", "262,144 RR sets", "placing the graph"), rows)


@block
def beyond_memory(made: Block) -> None:
    """Half of the memory that a graph takes."""
    rows = [
        [f"`{run['system']}`", made.of("beyond-memory-h100", "{:.1f}", run["limited_over_whole"])]
        for run in record("beyond-memory-h100")["runs"]
    ]
    made.table(("with half of the memory that the graph takes", "times as long"), rows)


@block
def floors(made: Block) -> None:
    """What bounds the work: its time over the floor of its traffic."""
    rows = []
    for said, name, asked, time, middle, what in (
        ("IMM, R-MAT 22, IC", "gim-h200", {"graph": "rmat22", "model": "ic", "bound": "imm", "samples": "grid"}, "algorithm_ms", "median", "drawing sets: waits of the deepest searches, then their traffic"),
        ("OPIM-C, R-MAT 22, IC", "gim-h200", {"graph": "rmat22", "model": "ic", "bound": "opim"}, "algorithm_ms", "median", "launches and waits: there are few sets"),
        ("OPIM-C, R-MAT 20, IC, one CPU thread", "gim-cpu-1", {"graph": "rmat20", "model": "ic"}, "algorithm_ms", "median", "drawing sets"),
        ("IMGPU, NetHEPT, fixed worlds", "imgpu-h200-nethept", {"method": "fixed"}, "algorithm_ms", "median", "choosing: a launch or two for each seed"),
        ("IMGPU, NetHEPT, fresh worlds", "imgpu-h200-nethept", {"method": "fresh"}, "algorithm_ms", "median", "drawing worlds: the steps of a world follow each other"),
        ("MERIT, soc-Epinions1, η = 1,000", "merit-h200", {"graph": "soc-Epinions1", "method": "merit", "eta": 1000}, "time_s", "mean", "launches and the host between rounds"),
        ("MERIT, LiveJournal's size, η = 25,000", "merit-h200-livejournal-size", {"method": "merit"}, "time_s", "mean", "updating sets: reads and atomics at random places"),
        ("diversity, web-NotreDame, all scores", "diversity-h200", {"graph": "web-NotreDame", "method": "score", "model": "truss"}, "ms", "median", "launches, and few large ego-networks"),
        ("diversity, LiveJournal's size, all scores", "diversity-h200", {"graph": "livejournal-size", "method": "score", "model": "truss"}, "ms", "median", "intersections of rows"),
    ):  # fmt: skip
        run = one(name, **asked)
        floor = run["floor_s" if time == "time_s" else "floor_ms"]
        rows.append([said, made.of(name, "{:.0f}", run[time][middle] / floor), what])
    made.table(("work", "time over its floor", "what takes the time"), rows)


@block
def first_run(made: Block) -> None:
    """Whole commands on one H200, with nothing kept from before and later."""
    name = "whole-commands-h200"
    rows = []
    for case in record(name)["cases"]:
        found = case["after"]
        rows.append(
            [
                f"`{case['command']}`",
                *(made.of(name, "{}", time_of(1e3 * found[key])) for key in ("first_s", "median_s")),
            ]
        )
    made.table(("soc-Epinions1, whole process on one H200", "first run", "later"), rows)


# docs/reliability.md


@block
def held_lines(made: Block) -> None:
    """All lines that must not become slower."""
    from held import HELD

    rows = []
    for line in HELD["lines"]:
        cells = [held(made, device, line["name"]) for device in ("h200", "cpu")]
        what = {"process": "whole process", "first": "whole process, nothing kept from before"}.get(
            line["measure"], "the work alone, warm"
        )
        rows.append([f"{line['name']}", what, *cells])
    if any(there(f"held-{device}") for device in ("cpu", "h200")):
        made.table(("line of held.toml", "what is timed", "H200", "CPU"), rows)
    else:
        made.say("No record is kept yet.")


# docs/serve.md


@block
def serve_load(made: Block) -> None:
    """A server under load."""
    found = record("kpar-serve-load-cpu")
    counts = [made.of("kpar-serve-load-cpu", "{:,}", found[key]) for key in ("good", "bad", "cut")]
    times = [made.of("kpar-serve-load-cpu", "{:.0f} ms", found["ms"][key]) for key in ("p50", "p99")]
    memory = range_of(found["resident_mib"], "{}")
    rows = [
        [
            "requests",
            *counts,
            made.of("kpar-serve-load-cpu", "{:.0f}", found["requests_a_second"]),
            *times,
            f"{memory} MiB",
        ]
    ]
    made.table(("", "good", "bad", "cut", "a second", "half of them within", "99 % within", "memory"), rows)
