"""The figures of docs/performance.md: what bounds MERIT and kPAR, a graph of 1.6 billion edges, and more CPU threads."""

# ruff: noqa: E501

import pytest
from claims import each_of, one, record, says

LARGE = record("large-graph-h100")
LIMITED = record("large-graph-limited-h100")
BEYOND = record("beyond-memory-h100")["runs"]
DRAWN = one("spread-over-gpus-h100x2", system="gim sets")
SCALING = record("thread-scaling-16")["runs"]
THREADS = (1, 2, 4, 8, 16)
PHASES, FLOORS = record("kpar-phases-h100"), {run["k"]: run for run in record("kpar-floor-h100")["runs"]}
QUERY, SIZES = PHASES["mean_of_a_query"]["100"], PHASES["sizes"]
SHARED, TRIED = PHASES["shared_by_queries"]["100"], PHASES["tried_ms_per_query_at_k_100"]
LAUNCHES = record("kpar-launches-h200")
LARGEST = LAUNCHES["scale_25"]
TWICE = LARGEST["first_delta"]["forward_counts_twice"]
SIXTEEN = LAUNCHES["units_of_2_bytes"]
SUMS = SIXTEEN["tried"]["sums_by_vertex"]
TODAY = LAUNCHES["units_in_order"]
H200 = record("kpar-batches-h200")
SCALE_25 = record("kpar-floor-h200-scale-25")["runs"][0]["floor_arrays"]
DEPTHS = record("gim-opim-h200")["depths"]
EVERYBODY = H200["all"]
DELTAS = {(run["k"], run["divisor"], run["call"].split(",")[0]): run for run in record("kpar-first-delta-h100")["runs"]}
MERIT = record("merit-h100-kernels")
CAMPAIGN = one("merit-h100-livejournal-size")
WHOLE = record("whole-commands-h200")["cases"][0]
NAMES = {"import": "`graph import` (text)", "gim run": "`gim run` (IMM)"}


def large(name, *phases, record=LARGE):
    """Return the seconds of a command and of its phases, then its peaks in GB, of host and GPU."""
    found = record["commands"][name]
    spent = found["printed"]["time_s"]
    seconds = [sum(spent[part] for part in phase.split("+")) for phase in phases]
    return found["seconds"], *seconds, found["host_peak_bytes"] / 1e9, found["gpu_peak_bytes"] / 1e9


def at_first(k, divisor, call):
    """Return the answers a second when δ begins at the k-th value divided so, and by ten, both measured in one call."""
    return [DELTAS[k, each, call]["queries_per_s"] for each in (divisor, 10)]


def in_kernels(times):
    """Return what a query takes in pushes, start lists, valuing, laying side by side, if that is done, and so on."""
    names = ("push_all", "add_lists", "value_all", "lay_side_by_side", "clean_all", "list_all")
    return [times[name] for name in names if name in times]


def batches(which):
    """Return the answers a second of batches, for k = 10, 100 and 1000."""
    return [run["queries_per_s"]["auto"] for run in record(f"kpar-batches-{which}")["runs"]]


def phase(name, *phases, threads=16):
    """Return the seconds of phases of a command, the mean of its runs."""
    found = one("thread-scaling-16", command=name, threads=threads)["phases_s"]
    return sum(run[part] for run in found for part in phases) / len(found)


def bound(name, *phases):
    """Return what phases take of a command on 16 threads, what that takes, and what the phases take on one."""
    work = one("thread-scaling-16", command=name, threads=16)["work_s"]
    return phase(name, *phases), work, phase(name, *phases, threads=1)


def faster(name, part):
    """Return how many times as fast a phase is on 16 threads as on one."""
    return phase(name, part, threads=1) / phase(name, part)


def kernels(*names):
    """Return the seconds of kernels in a campaign of MERIT, those for new sets, too."""
    return sum(one["ms"] for name, one in MERIT["kernels"].items() if name.split(" ")[0] in names) / 1e3


def search(tried):
    """Return the seconds of MERIT's searches as they were tried, and what they are instead of."""
    found = MERIT["tried"][tried]
    return found["search_ms"] / 1e3, found["in_place_of"] / 1e3


@each_of(
    performance=[
        ("It takes {:.1f} s on one H100 (`merit-h100-livejournal-size.json`): {:.1f} in updates and new sets, {:.1f} in selections", (CAMPAIGN["time_s"]["mean"], CAMPAIGN["phases_s"]["update"] + CAMPAIGN["phases_s"]["generate"], CAMPAIGN["phases_s"]["select"])),
        ("On one machine it took {:.1f} s, and {:.1f} before", (MERIT["campaign_s"]["without"], MERIT["campaign_s"]["the revision before, on the same machine"])),
        ("searches {:.1f} s for {:.1f} G probes, selections {:.1f}, roots {:.1f}, moves to longer tables {:.1f}, counts of parts {:.1f}, looking for the dead {:.1f}; the rest of {:.1f} s is the host's, or waits for it, some {:.1f} ms a round. There were {:.1f} G probes before.", (kernels("search"), MERIT["probes"] / 1e9, kernels("select"), kernels("add_roots", "add_few_roots"), kernels("move_sets"), kernels("count_sets"), kernels("discover"), MERIT["campaign_s"]["with events"], (MERIT["campaign_s"]["with events"] * 1e3 - sum(one["ms"] for one in MERIT["kernels"].values())) / MERIT["rounds"], MERIT["probes_before"] / 1e9)),
        ("Of the first 250 rounds {} have over 20 M probes each, {:.1f} G together", (MERIT["rounds_with_over_20_million_probes_below_250"]["rounds"], MERIT["rounds_with_over_20_million_probes_below_250"]["probes"] / 1e9)),
        ("the last 126 rounds, of few large sets, have {:.1f} G.", (sum(MERIT["probes_of_125_rounds_each"][8:]) / 1e9,)),
        ("{:.1f} s for roots became {:.1f} with up to 1,024.", (MERIT["tried"][2]["add_roots_ms"] / 1e3, MERIT["tried"][2]["in_place_of"] / 1e3)),
        ("without reading its place first (searches {:.1f} s instead of {:.1f})", search(0)),
        ("in the step that finds it ({:.1f}).", search(1)[:1]),
        ("made selections slower ({:.1f} s instead of {:.1f})", (MERIT["tried"][3]["select_ms"] / 1e3, MERIT["tried"][3]["in_place_of"] / 1e3)),
        ("changed nothing (searches {:.1f} s instead of {:.1f})", search(4)),
    ]
)  # fmt: skip
def test_what_bounds_merit(document, sentence, values):
    says(document, sentence, values)


@each_of(
    performance=[
        ("a query pushes along {:.1f} M edges, meets {:.2f} M vertices, and reads {:.0f} M entries of the index for {:,} candidates", (QUERY["edges_pushed"] / 1e6, QUERY["vertices_met"] / 1e6, QUERY["entries"] / 1e6, QUERY["candidates"])),
        ("of an earlier version that took {:.2f} ms", (one("kpar-phases-h100", k=100, teams=4, refined=False)["ms_per_query"],)),
        ("over the vertices takes {:.1f} times as long", (FLOORS[100]["value_arrays"] / FLOORS[100]["value_arrays_in_order"],)),
        ("have together {:.0f} % of the entries", (100 * SHARED["4"]["entries"],)),
        ("the edges that four queries push along in a round are {:.0f} % of their sum, with eight {:.0f} % (counted", (100 * SHARED["4"]["edges_pushed"], 100 * SHARED["8"]["edges_pushed"])),
        ("at scale 19 of an R-MAT {:,} instead of {:,} a second, at 20 {:,} instead of {:,}, at 23 {:,} instead of {:,}; for k = 10 it still was at scale 23, {:,} instead of {:,}.", (*SIZES["k_100"]["19"], *SIZES["k_100"]["20"], *SIZES["k_100"]["23"][:2], *SIZES["k_10"]["23"][:2])),
        ("vertices numbered by degree, {:.0f} % faster", (100 * (1 - TRIED["vertices_numbered_by_degree"] / TRIED["as_it_is"]),)),
        ("took {:.0f} s for {:,} vertices, {:,.0f} a second; so all of it would take {:.0f} minutes.", (EVERYBODY["time_s"]["query"], EVERYBODY["vertices"], EVERYBODY["vertices"] / EVERYBODY["time_s"]["query"], H200["graph"]["n"] / EVERYBODY["vertices"] * EVERYBODY["time_s"]["query"] / 60)),
        ("| today: each query's in order, and laid side by side afterwards | {:,.0f} | {:,.0f} | {:,.0f} | {:.0f} |", (*batches("h200"), H200["scale_25"]["queries_per_s"]["auto"])),
        ("| units of 2 bytes, for sixteen, side by side from the start | {:,} | {:,} | {:,} | {} |", H200["before"]["units_side_by_side"].values()),
        ("| units of 4 bytes, for eight | {:,} | {:,} | {:,} | {} |", H200["before"]["units_of_4_bytes"].values()),
        ("(`kpar-batches-h200-before.json`) | {:,.0f} | {:,.0f} | {:,.0f} | {} |", (*batches("h200-before"), record("kpar-batches-h200-before")["scale_25"]["queries_per_s"])),
        ("An H100, with an earlier version, gave {:,.0f}, {:,.0f} and {:,.0f}.", batches("h100")),
        ("a query pushes along {:.0f} million edges, meets", (LARGEST["first_delta"]["10"][0] / 1e6,)),
        ("with {:.0f} million entries. What", (LARGEST["first_delta"]["10"][1] / 1e6,)),
        ("| units of 4 bytes, for eight | {:.0f} | {:,.0f} | {:.0f} | | {:.0f} | {:.0f} |", in_kernels(LARGEST["after"])),
        ("| units of 2 bytes, for sixteen, side by side from the start | {:.0f} | {:.0f} | {:.0f} | | {:.0f} | {:.0f} |", in_kernels(SIXTEEN["scale_25"])),
        ("| today | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.0f} |", in_kernels(TODAY["scale_25"])),
        ("go through shared memory, {1:.0f} µs instead of {0:.0f}.", TODAY["tried"]["ids_written_one_by_one"]["list_all"]),
        ("and {:.0f} to {:.0f} % slower in batches of teams on an R-MAT 16 and 20.", [100 * (one / other - 1) for one, other in TODAY["tried"]["prefix_sums_by_shuffles"]["teams"].values()]),
        ("With 85 blocks a slot pushes took {:,.0f} µs, with 128 {:,.0f}, with 1,056 {:.0f}.", [LARGEST["push_all_by_blocks_a_slot"][blocks] for blocks in ("85", "128", "1056")]),
        ("more of the units in use: {:,.0f} µs became {:,.0f}.", [LARGEST[when]["add_lists"] for when in ("before", "after")]),
        ("take {:.2f} ms a query in no such order, and {:.2f} in ranges of 2^22 vertices", [LARGEST["entries_alone"][width] / 8 for width in ("none", "4194304")]),
        ("{:.1f} % of the queries followed walks forward, each for a quarter of a second, so that only {} came a second.", (100 * LARGEST["first_delta"]["5"][2], LARGEST["first_delta"]["queries_per_s"]["5"])),
        ("a fifth gives {} instead of {}, two fifths {}, with units", [TWICE["queries_per_s"][divisor] for divisor in ("5", "10", "2.5")]),
        ("two fifths give {:,} instead of {:,} for k = 1000, {:,} instead of {:,} for 100, and {:,} instead of {:,} for 10.", [TWICE["rmat_22"][k][divisor] for k in ("1000", "100", "10") for divisor in ("2.5", "10")]),
        ("forward counted as two of a list, it was {:,} for k = 10.", (H200["before"]["queries_per_s"]["10"],)),
        ("made lists {:.0f} of {:.0f}, and clearing these {:.0f} of {:.0f}.", (SIXTEEN["scale_25"]["add_lists"], SUMS["add_lists"][0], SIXTEEN["scale_25"]["forget_lists"], SUMS["forget_lists"][0])),
        ("are under way ({:.0f}), all sixteen", SIXTEEN["tried"]["next_starts_under_way"]["add_lists"][:1]),
        ("valued by one block ({:.0f} instead of {:.0f})", SIXTEEN["tried"]["all_slots_of_a_stretch_of_vertices"]["value_all"]),
        ("side by side ({:.0f} instead of {:.0f})", SIXTEEN["tried"]["bits_side_by_side"]["list_all"]),
        ("a fifth gives {} instead of {} at scale 25, and", [SIXTEEN["first_delta"]["scale_25"][divisor] for divisor in ("5", "10")]),
        ("{:,} instead of {:,} for k = 1000 on the R-MAT 22.", [SIXTEEN["first_delta"]["rmat_22_sums_by_vertex"]["1000"][divisor] for divisor in ("5", "10")]),
        ("have no out-edges, come at {:,} a second, or {:,} with the second look.", [H200["any_vertex"][name] for name in ("queries_per_s", "refined_queries_per_s")]),
        ("take {:.1f} ms a query at scale 25 (`kpar-floor-h200-scale-25.json`)", (SCALE_25 / 1e3,)),
        ("Pushing went from {} to {}, start lists from {} to {}, and the kernel of all steps from {} to {}.", [LAUNCHES[when][name] for name in ("push_all", "add_lists", "answer") for when in ("before", "after")]),
        ("with units of 8 bytes, {:.0f} %.", (100 * (1 - TRIED["start_lists_of_eight_queries_tiles_of_16"] / TRIED["start_lists_of_four_queries_tiles_of_16"]),)),
        ("a search goes up to {} steps deep there, {} on soc-Epinions1", [DEPTHS[name]["deepest"] for name in ("rmat22", "soc-Epinions1")]),
        ("half of it gives {:,} instead of {:,} a second, twice as much {:,} instead of {:,}", (*at_first(100, 20, "second"), *at_first(100, 5, "first"))),
        ("an eighth of it gives {:,} instead of {:,}.", at_first(10, 80, "second")),
        ("eight times as much gives {:,} instead of {:,} at scale 22", at_first(1000, 1.25, "first")),
        ("with {:.0f} % of the places certain instead of {:.0f} %", [100 * DELTAS[1000, divisor, "first"]["certain"] for divisor in (1.25, 10)]),
        ("at scale 25 only {} instead of {}.", at_first(1000, 1.25, "third")),
    ]
)  # fmt: skip
def test_what_bounds_kpar(document, sentence, values):
    says(document, sentence, values)


@pytest.mark.parametrize("k", FLOORS)
def test_floors_of_kpar(k):
    run = FLOORS[k]
    kinds = ("push_arrays", "lists_together", "value_arrays_in_order", "clean_arrays_in_order", "floor_arrays")
    values = (k, *(run[kind] for kind in kinds), 1e6 / dict(zip(FLOORS, batches("h100"), strict=True))[k])
    says("docs/performance.md", "| {} | {:.0f} | {:.0f} | {:.0f}, {:.0f} | {:.0f} | {:.0f} |", values)


@pytest.mark.parametrize("mib", [16, 32, 64, 128, 256])
def test_random_access(mib):
    run = one("random-access-h100", mib=mib)
    rates = (1e-9 * run[way]["per_s"] for way in ("read_8_bytes", "atomic_add_8_bytes"))
    says("docs/performance.md", "| {} MiB | {:.0f} | {:.0f} |", (mib, *rates))


@each_of(
    performance=[
        ("in Parquet ({:.1f} GB)", (LARGE["drawn"]["bytes"] / 1e9,)),
        ("Its rows, one way, take {:.1f} GB.", (LARGE["csr_bytes"] / 1e9,)),
        ("| `graph import` | {:.0f} | reading {:.0f}, building {:.0f}, writing {:.0f} | {:.0f} GB | – |", large("import", "read", "build", "write")[:5]),
        ("| `gim run -k 50` | {:.0f} | reading and checking {:.0f}, copying {:.1f}, the seeds {:.1f} | {:.0f} GB | {:.0f} GB |", large("gim run", "read", "transfer", "sampling+bounds+selection+judging")),
        ("| `kpar rank` | {:.0f} | PageRank {:.0f} | {:.0f} GB | {:.0f} GB |", large("kpar rank", "rank")),
        ("| `kpar index` | {:.0f} | reading {:.0f}, walks {:.1f}, writing {:.1f} | {:.0f} GB | {:.0f} GB |", large("kpar index", "read", "walks", "write")),
        ("1.5 times the rows, {:.1f} GB", (1.5 * LIMITED["csr_bytes"] / 1e9,)),
        ("| `gim run -k 50` | {:.0f} | reading and checking {:.0f}, loading {:.0f}, the seeds {:.0f} | {:.0f} GB | {:.1f} GB |", large("gim run", "read", "load", "sampling+bounds+selection+judging", record=LIMITED)),
        ("| `kpar rank` | {:.0f} | reading and checking {:.0f}, PageRank {:.1f} | {:.0f} GB | {:.1f} GB |", large("kpar rank", "read", "rank", record=LIMITED)),
        ("| `kpar index` | {:.0f} | reading {:.0f}, walks {:.0f}, writing {:.1f} | {:.0f} GB | {:.1f} GB |", large("kpar index", "read", "walks", "write", record=LIMITED)),
        ("| `kpar query -k 1000`, 100 sources | {:.0f} | reading {:.0f}, preparing {:.0f}, loading {:.0f}, the answers {:.1f} | {:.0f} GB | {:.1f} GB |", large("kpar query", "read", "prepare", "load", "query", record=LIMITED)),
    ]
)  # fmt: skip
def test_figures_of_a_large_graph(document, sentence, values):
    says(document, sentence, values)


@pytest.mark.parametrize("name", record("thread-scaling-16")["commands"])
def test_what_threads_bring(name):
    found = {run["threads"]: run for run in SCALING if run["command"] == name}
    assert tuple(found) == THREADS and all(len(run["each_s"]) == 2 for run in found.values())
    row = "| {} | {:.1f} s |" + " {:.1f} |" * (len(THREADS) - 1)
    shown = (NAMES.get(name, f"`{name}`"), found[1]["work_s"], *(found[one]["times_first"] for one in THREADS[1:]))
    says("docs/performance.md", row, shown)


@each_of(
    performance=[
        ("Two runs of the same differ by up to {:.1f} times", (max(max(run["each_s"]) / min(run["each_s"]) for run in SCALING),)),
        ("gIM on one thread took {:.1f} and {:.1f} s, hence {:.1f} with two.", (*one("thread-scaling-16", command="gim run", threads=1)["each_s"], one("thread-scaling-16", command="gim run", threads=2)["times_first"])),
        ("- `graph import`: reading takes {:.2f} s ({:.2f})", bound("import", "read")[::2]),
        ("building {:.2f} s ({:.2f}), where one splits", bound("import", "build")[::2]),
        ("tables and writing {:.2f} s ({:.2f}).", bound("import", "tables", "write")[::2]),
        ("- `diversity search`: {:.2f} of {:.2f} s ({:.2f}) go by before", bound("diversity search", "triangles")),
        ("- `imgpu run`: choosing takes {:.2f} of {:.2f} s ({:.2f})", bound("imgpu run", "selection")),
        ("- `merit run`: choosing takes {:.2f} of {:.2f} s ({:.2f})", bound("merit run", "select")),
        ("updates of sets are {:.1f} times as fast.", (faster("merit run", "update"),)),
        ("- `gim run`: choosing takes {:.2f} of {:.2f} s ({:.2f})", bound("gim run", "selection")),
        ("drawing is {:.1f} times as fast.", (faster("gim run", "sampling"),)),
        ("- `kpar index`: writing takes {:.2f} of {:.2f} s ({:.2f})", bound("kpar index", "write")),
        ("the walks are {:.1f} times as fast.", (faster("kpar index", "walks"),)),
        ("are in one phase for all but {:.0f} % of their time at most", (100 * max(1 - phase(*both) / bound(*both)[1] for both in (("evaluate spread", "simulate"), ("kpar rank", "rank"), ("kpar query", "query"))),)),
    ]
)  # fmt: skip
def test_what_bounds_more_threads(document, sentence, values):
    says(document, sentence, values)


def test_half_of_the_memory_costs_time_and_nothing_else():
    found = {run["system"]: run for run in BEYOND}
    assert all(run["same_bytes"] and run["limited_over_whole"] < 4 for run in BEYOND)
    times = [found[name]["limited_over_whole"] for name in ("kpar query", "gim run", "evaluate spread")]
    says("docs/command-line.md", "{:.1f}, {:.1f} and {:.1f} times as late for kPAR, gIM and the spread", times)


@pytest.mark.parametrize(
    ("row", "way"),
    [
        ("in the memory of one GPU", "whole"),
        ("limited: in host memory, read by one GPU", "limited"),
        ("in the memory of each of two", "whole_on_2"),
        ("limited: in parts on two", "limited_on_2"),
    ],
)
def test_edges_in_parts(row, way):
    times = DRAWN["ms"]
    says("docs/performance.md", "| {} | {:.1f} | {:.0f} |", (row, times[way], DRAWN["ready_ms"][way]))
    ratios = (times["limited"] / times["limited_on_2"], times["limited_on_2"] / times["whole"])
    says("docs/performance.md", "drawn {:.1f} times as fast as from host memory, and in {:.1f} times the time", ratios)
    found = record("spread-over-gpus-h100x2")
    size = found["limit"] / found["graph"]["bytes"]
    says("docs/performance.md", "an R-MAT of {:.0f} M edges", (found["graph"]["m"] / 1e6,))
    says("docs/performance.md", "The limit is {:.1f} times what the rows take", (size,))
    assert DRAWN["same_bytes"]


def test_a_limit_is_kept_and_changes_nothing():
    for name, found in LIMITED["commands"].items():
        assert found["gpu_peak_bytes"] <= 1.5 * LIMITED["csr_bytes"]
        assert found["exit_code"] == 0 and ("--gpu-memory 9300000000" in found["command"]) == (name != "import")
    for name, part in (
        ("gim run", "rr_sets"), ("gim run", "spread_estimate"), ("kpar rank", "top"), ("kpar index", "walks"), ("kpar index", "entries"),
    ):  # fmt: skip
        assert LIMITED["commands"][name]["printed"][part] == LARGE["commands"][name]["printed"][part]


def test_what_a_first_run_costs():
    sentence = "with nothing kept from before, takes {:.1f} s, and a later one {:.1f} s, from the start of the process"
    assert WHOLE["command"].startswith("gpukit gim run {graph} -k 50")
    says("docs/performance.md", sentence, (WHOLE["after"]["first_s"], WHOLE["after"]["median_s"]))
