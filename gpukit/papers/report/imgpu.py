"""The tables and figures of the paper on IMGPU, and the numbers of its text, from single runs of its methods."""

import math
from collections.abc import Iterator
from dataclasses import replace
from statistics import mean
from typing import Any

from gpukit.papers.report.observations import (
    Item,
    Observation,
    Tables,
    means,
    measure,
    measures,
    seen,
    setting,
    sizes,
    speeds,
)
from gpukit.report.records import WHERE, Row, of, record_of, values

NAMES = {"imgpu": "IMGPU", "imgpu-o": "IMGPU_O", "imgpu-k": "IMGPU_K", "imgpu-r": "IMGPU_R", "imgpu-u": "IMGPU_U"}
NAMES |= {"buta-cpu": "BUTA_CPU", "mixgreedy": "MixGreedy", "esmce": "ESMCE", "pmia": "PMIA", "fixed": "fixed worlds"}

UNROLLED = "imgpu-u-"
"""Beginning of the names of runs with unrolled loads; the length follows."""

OPTIMISED = {"imgpu-k": "imgpu-k", "imgpu-r": "imgpu-r", f"{UNROLLED}16": "imgpu-u", "imgpu-o": "imgpu-o"}
"""The names of the runs with optimisations in figure 10."""

LARGEST = "Twitter"
"""The graph that the paper treats apart from the other three."""

EVERY, OTHERS = "all graphs", f"all but {LARGEST}"
"""The graph column of numbers that the text gives for several graphs."""


def _measures(path: str) -> list[Row]:
    with record_of(path, "imgpu run`, `gpukit papers imgpu …`, `gim baseline` or `evaluate spread") as record:
        # A spread belongs to seeds chosen with a given k and number of worlds.
        asked = record.get("seeds_params", record["params"])
        row = {"k": 0, "worlds": 0} | {name: asked.get(name) or 0 for name in ("k", "worlds")}
        row |= values(record, WHERE)
        if "curve" in record:
            found = [("spread", "vertices", point["k"], point["spread"]) for point in record["curve"]]
        elif "hubs" in record:
            found = list(_shape(record))
        else:
            laps = record["choice_s"] if "choice_s" in record else [record["time_s"]["selection"]]
            each = [after - before for before, after in zip([0.0, *laps], laps, strict=False)]
            found = [("time", "s", math.nan, laps[-1]), *(("time of a choice", "s", math.nan, spent) for spent in each)]
        return [row | {"x": x} | measure(name, unit, value) for name, unit, x, value in found]


def _shape(record: dict[str, Any]) -> Iterator[tuple[str, str, float, float]]:
    """Yield (quantity, unit, x, value) of a record of `papers imgpu shape`."""
    n, levels, degrees = record["graph"]["n"], record["levels"], record["degrees"]
    for level, count in enumerate(levels):
        yield "nodes of the level", "1", level, count
    yield "levels with fewer than 100 nodes", "%", math.nan, 100 * sum(count < 100 for count in levels) / len(levels)
    for place, count in enumerate(degrees[1:]):
        if count:
            yield "vertices of degree x to 2x - 1", "1", 2**place, count
    yield "vertices of degree below 10", "%", math.nan, 100 * record["below_10"] / n
    yield "vertices of degree above 10,000", "1", math.nan, record["above_10000"]
    for rank, hub in enumerate(record["hubs"], start=1):
        total = sum(hub["children"]) or 1
        for part, count in enumerate(hub["children"]):
            yield f"children of hub {rank}", "%", 100 * part / record["bins"], 100 * count / total
        yield f"near children of hub {rank}", "%", math.nan, 100 * hub["near"]
    yield "pairs of the same degree", "%", math.nan, 100 * record["same_degree"]
    yield "pairs of the same level", "%", math.nan, 100 * record["same_level"]
    yield "share of DAG conversion", "%", math.nan, 100 * record["dag_share"]


PRINTED_WORLDS = 20_000
"""Worlds of each choice in the paper: times with fewer worlds have separate rows."""

KINDS = {"imgpu-measures": measures({"k": int, "worlds": int}, _measures, {"x": float})}
"""One row per value: the spread at x seeds, the time of each choice, or a graph's shape at x."""


def _rows(tables: Tables, quantity: str) -> list[Row]:
    return of(tables["imgpu-measures"], quantity=quantity)


def _setting(row: Row) -> str:
    return setting(", ".join(f"{name} {row[name]}" for name in ("k", "worlds") if row[name]), row)


def _means(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Return the mean value by graph and measure."""
    return means((row["graph"], row["measure"], row["value"]) for row in rows)


def _sizes(tables: Tables) -> Iterator[Observation]:
    return sizes(tables["graphs"], lambda row: 2 * row["m_edges"] / row["n_vertices"])


def _seen(tables: Tables, *quantities: str, over_all: bool = False) -> Iterator[Observation]:
    """Yield quantities of a graph's shape, and their mean over the graphs."""
    for quantity in quantities:
        rows = _rows(tables, quantity)
        yield from seen(rows, _setting, x=lambda row: "" if math.isnan(row["x"]) else row["x"])
        if over_all and rows:
            yield Observation(EVERY, "", "", f"{quantity}, mean", "%", mean(row["value"] for row in rows))


def _hubs(tables: Tables) -> Iterator[Observation]:
    ranks = sorted({row["quantity"] for row in tables["imgpu-measures"] if row["quantity"].startswith("children of")})
    for prefix, name in (("", "children in a twentieth"), ("near ", "children within 16 places")):
        for rank in ranks:
            for row in _rows(tables, prefix + rank):
                x = "" if prefix else row["x"]
                yield Observation(row["graph"], rank.removeprefix("children of "), x, name, "%", row["value"])


def _spread(tables: Tables) -> Iterator[Observation]:
    """Yield spreads, and their shares of IMGPU's spread for each other method: at the largest k, mean and minimum."""
    reached: dict[tuple[str, str], dict[float, float]] = {}
    for row in _rows(tables, "spread"):
        reached.setdefault((row["graph"], row["measure"]), {})[row["x"]] = row["value"]
        yield Observation(row["graph"], row["measure"], row["x"], "spread", "vertices", row["value"], _setting(row))
    for (graph, method), own in reached.items():
        best = reached.get((graph, "imgpu"), {})
        shares = {k: own[k] / best[k] for k in sorted(own.keys() & best.keys())}
        if method != "imgpu" and shares:
            yield Observation(graph, method, max(shares), "share of IMGPU's spread", "1", shares[max(shares)])
            yield Observation(graph, method, "", "mean share of IMGPU's spread", "1", mean(shares.values()))
            yield Observation(graph, method, "", "smallest share of IMGPU's spread", "1", min(shares.values()))


def _times(tables: Tables) -> Iterator[Observation]:
    """Yield times, and the speed-up of each method over MixGreedy."""
    rows = _rows(tables, "time")
    for one in seen(rows, _setting, method="measure"):
        yield one if f"worlds {PRINTED_WORLDS}" in one.setting else replace(one, apart=f"{PRINTED_WORLDS:,} worlds")
    for graph, method, ratio in speeds(_means(rows), "mixgreedy"):
        yield Observation(graph, method, "", "speed-up over mixgreedy", "1", ratio)


def _optimised(tables: Tables) -> Iterator[Observation]:
    """Yield the speed-up by each optimisation over IMGPU without optimisations, from the time of a choice."""
    ratios: dict[str, dict[str, float]] = {}
    rows = [row for row in _rows(tables, "time of a choice") if row["measure"] in ("imgpu", *OPTIMISED)]
    for graph, spent in _means(rows).items():
        for name, method in OPTIMISED.items():
            if name in spent and "imgpu" in spent:
                ratios.setdefault(method, {})[graph] = spent["imgpu"] / spent[name]
    for method, by_graph in ratios.items():
        for graph, ratio in by_graph.items():
            yield Observation(graph, method, "", "speed-up over imgpu", "1", ratio)
    for method, by_graph in ratios.items():
        if others := [ratio for graph, ratio in by_graph.items() if graph != LARGEST]:
            yield Observation(OTHERS, method, "", "mean speed-up over imgpu", "1", mean(others))
    yield from seen(rows, _setting, method=lambda row: OPTIMISED.get(row["measure"], "imgpu"))


def _unrolled(tables: Tables) -> Iterator[Observation]:
    """Yield the time of a choice by unroll length, and the fastest length over all graphs."""
    rows = [row for row in _rows(tables, "time of a choice") if row["measure"].startswith(UNROLLED)]
    lengths = {row["measure"]: int(row["measure"].removeprefix(UNROLLED)) for row in rows}
    yield from seen(rows, _setting, method=lambda row: "imgpu", x=lambda row: lengths[row["measure"]])
    # All graphs have the same weight: times are relative to the fastest length of each graph.
    relative: dict[str, list[float]] = {}
    for spent in _means(rows).values():
        for name, seconds in spent.items():
            relative.setdefault(name, []).append(seconds / min(spent.values()))
    if relative:
        fastest = min(relative, key=lambda name: mean(relative[name]))
        yield Observation(EVERY, "imgpu", "", "fastest length", "1", lengths[fastest])


_RUNS = ("imgpu-measures",)
_LEVELS = ("nodes of the level", "levels with fewer than 100 nodes")
_DEGREES = ("vertices of degree x to 2x - 1", "vertices of degree below 10", "vertices of degree above 10,000")
_KEPT = ("pairs of the same degree", "pairs of the same level")

ITEMS = {
    "table-1": Item("Graphs", "", (), _sizes),
    "figure-4": Item("Nodes at the levels of the whole graph", "level", _RUNS, lambda t: _seen(t, *_LEVELS)),
    "figure-6": Item("Out-degrees", "degree", _RUNS, lambda t: _seen(t, *_DEGREES)),
    "figure-7": Item("Where the children of the five largest vertices lie, sorted by level and degree",
                     "twentieth of the order, from %", _RUNS, _hubs),
    "figure-8": Item("Spread against k, IC, p = 0.01", "seeds k", _RUNS, _spread),
    "figure-9": Item("Run time, k = 50", "", _RUNS, _times),
    "figure-10": Item("Speed-up by each optimisation", "", _RUNS, _optimised),
    "unroll-lengths": Item("Unroll lengths, section 4.3", "children read at a time", _RUNS, _unrolled),
    "persistence": Item("Pairs of vertices that are alike in a world too, section 4.1", "", _RUNS,
                        lambda t: _seen(t, *_KEPT, over_all=True)),
    "dag-share": Item("Conversion to a DAG, share of the run time, section 5.2.2", "", _RUNS,
                      lambda t: _seen(t, "share of DAG conversion")),
}  # fmt: skip
"""The items of the paper; figures 1 to 3 and 5 are drawings, not measurements."""
