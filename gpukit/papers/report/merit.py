"""The tables and figures of the paper on MERIT, from timed campaigns."""

from collections.abc import Iterator
from typing import Any

from gpukit.papers.report.observations import (
    AT_LEAST,
    Item,
    Observation,
    Tables,
    means,
    measure,
    measures,
    seen,
    setting,
    sizes,
)
from gpukit.report.records import WHERE, Row, of, record_of, values, work_seconds

NAMES = {"merit": "MERIT", "segmented": "MERIT, sets anew", "gamcss": "GAMCSS", "pasti": "PASTI: sets anew"}
NAMES |= {
    "pasti-4": "PASTI-4: sets anew",
    "asti": "ASTI: sets anew, one thread",
    "reused": "MERIT, the paper's certificate",
    "printed": "MERIT as printed",
}
NAMES |= {"once": "all seeds at once", "redrawn": "MERIT, the same sets anew"}

PARTS = {"creation": ("generate", "judge"), "update": ("update",)}
"""The parts of the time that the paper shows, with the phases of each; the rest is ``other``."""

_PART_NAMES = {f"{method}, {part}": f"{name}: {part}" for method, name in NAMES.items() for part in (*PARTS, "other")}
NAMES |= _PART_NAMES

OURS = ("merit", "reused", "redrawn", "segmented", "printed")
"""Methods that are variants of MERIT, not its competitors."""

OUTSIDE = ("diffuse", "transfer")
"""Phases outside the algorithm: the hidden world, and the transfer of the graph to the device."""


COUNTS = {
    "global_atomics": "atomic instructions",
    "atomic_sectors": "sectors of atomics in L2",
    "shared_atomics": "atomic instructions in shared memory",
    "kernel_s": "kernel time",
    "launches": "kernel launches",
}
RATES = {
    "occupancy_pct": "occupancy",
    "instructions_per_cycle": "instructions per cycle",
    "sm_throughput_pct": "SM throughput",
}
"""A profiler's counts and rates of a campaign, by the keys of a record."""

CUT = "first launches"
"""The quantity that gives the number of counted launches, if only the first launches of a campaign were counted."""


def _measures(path: str) -> list[Row]:
    with record_of(path, "papers bench merit`, `gpukit papers bench counters` or `gpukit papers merit once") as record:
        if record.get("benchmark") == "counters":
            return [row for run in record["runs"] for row in _counters(run)]
        if "runs" in record:
            return [row for run in record["runs"] for row in _campaigns(run)]
        asked = record["params"]
        row = {"method": "once", "model": asked["model"], "eta": asked["eta"], "batch": 0, "groups": 0}
        row |= values(record, WHERE)
        return [row | measure("cost", "1", record["cost"]), row | measure("time", "s", work_seconds(record))]


def _labels(run: dict[str, Any]) -> Row:
    asked = {name: run["params"][name] for name in ("model", "eta", "batch")}
    return {"method": run["method"], **asked, "groups": run["groups"], **values(run, WHERE)}


def _campaigns(run: dict[str, Any]) -> Iterator[Row]:
    row = _labels(run)
    if run.get("stopped"):
        for spent in run["time_s"]["each"]:
            yield row | measure(f"time{AT_LEAST}", "s", spent)
        return
    for spent, cost in zip(run["time_s"]["each"], run["cost"]["each"], strict=True):
        yield row | measure("time", "s", spent)
        yield row | measure("cost", "1", cost)
    for phases in run.get("phases_each_s", [run["phases_s"]]):
        parts = {part: sum(phases.get(name, 0.0) for name in names) for part, names in PARTS.items()}
        rest = phases["total"] - sum(parts.values()) - sum(phases.get(name, 0.0) for name in OUTSIDE)
        for part, spent in (parts | {"other": max(rest, 0.0)}).items():
            yield row | measure(f"time of {part}", "s", spent)


def _counters(run: dict[str, Any]) -> Iterator[Row]:
    """Yield the values of a profiler; a missing value has no row."""
    row = _labels(run)
    for key, quantity in (RATES | COUNTS).items():
        if run[key] is not None:
            unit = "%" if key.endswith("_pct") else "s" if key.endswith("_s") else "1"
            yield row | measure(quantity, unit, run[key])
    if run["cut"]:
        yield row | measure(CUT, "1", run["launches"])


KINDS = {"merit-measures": measures({"method": str, "model": str, "eta": int, "batch": int, "groups": int}, _measures)}
"""One row per value of a campaign: its time and cost, the parts of the time, and counters."""


def _setting(row: Row) -> str:
    batches = f"batches of {row['batch']}" if row["batch"] else "at once"
    return setting(f"{row['model']}, η {row['eta']}, {batches}", row)


def _sizes(tables: Tables) -> Iterator[Observation]:
    return sizes(tables["graphs"], lambda row: row["mean_degree"])


def _rows(tables: Tables, quantity: str) -> list[Row]:
    return of(tables["merit-measures"], quantity=quantity)


def _costs(tables: Tables) -> Iterator[Observation]:
    return seen(_rows(tables, "cost"), _setting, x="eta")


def _times(tables: Tables) -> Iterator[Observation]:
    """Yield times, and the speed-up of MERIT over each other method."""
    rows = _rows(tables, "time")
    yield from seen([*rows, *_rows(tables, f"time{AT_LEAST}")], _setting, x="eta")
    best: dict[tuple[str, str], float] = {}
    for (graph, eta), spent in means(((row["graph"], row["eta"]), row["method"], row["value"]) for row in rows).items():
        if "merit" not in spent:
            continue
        ratios = {other: spent[other] / spent["merit"] for other in sorted(spent.keys() - {"merit"})}
        for other, ratio in ratios.items():
            yield Observation(graph, "merit", eta, f"speed-up over {other}", "1", ratio)
        # Variants of MERIT are no competitors.
        if others := [ratio for other, ratio in ratios.items() if other not in OURS]:
            ratios["the fastest other"] = min(others)
        for other, ratio in ratios.items():
            best[graph, other] = max(best.get((graph, other), 0.0), ratio)
    for (graph, other), ratio in sorted(best.items()):
        yield Observation(graph, "merit", "", f"largest speed-up over {other}", "1", ratio)


def _groups(tables: Tables, relative: bool) -> Iterator[Observation]:
    """Yield times against β, or the speed-up over β = 1."""
    rows = _rows(tables, "time")
    spent = means(((row["graph"], row["eta"], row["groups"]), "merit", row["value"]) for row in rows)
    faster = {place: spent[*place[:2], 1]["merit"] / one["merit"] for place, one in spent.items()}

    def said(row: Row) -> str:
        return _setting(row) if row["gpus"] else f"without a GPU β changes nothing: {_setting(row)}"

    if relative:
        for (graph, eta, groups), ratio in faster.items():
            yield Observation(graph, f"merit, η {eta}", groups, "speed-up over β 1", "1", ratio)
    else:
        yield from seen(rows, said, method=lambda row: f"merit, η {row['eta']}", x="groups")
    for graph in dict.fromkeys(row["graph"] for row in rows):
        if ratios := [ratio for (name, _, groups), ratio in faster.items() if name == graph and groups > 1]:
            yield Observation(graph, "merit", "", "largest speed-up over β 1", "1", max(ratios))


def _parts(tables: Tables) -> Iterator[Observation]:
    for part in (*PARTS, "other"):
        rows = [row | {"part": f"{row['method']}, {part}"} for row in _rows(tables, f"time of {part}")]
        yield from seen(rows, _setting, method="part", x="eta", quantity=lambda row: "time")
    yield from (one for one in _times(tables) if one.quantity.startswith(("speed-up", "largest")))


def _profiles(tables: Tables) -> Iterator[Observation]:
    """Yield the ratios of MERIT's counters to each other method's (with the counter as method), then all counters.

    Counts have a ratio only if both campaigns were counted completely; rates always have one.
    """
    cut = {(row["graph"], row["method"], row["eta"]): row["value"] for row in _rows(tables, CUT)}
    found: dict[tuple[str, str, int], dict[str, Row]] = {}
    for quantity in (*RATES.values(), *COUNTS.values()):
        for row in _rows(tables, quantity):
            found.setdefault((row["graph"], quantity, row["eta"]), {})[row["method"]] = row

    def said(row: Row, *methods: str) -> str:
        first = [cut[place] for method in methods if (place := (row["graph"], method, row["eta"])) in cut]
        return f"the first {min(first):,.0f} launches: {_setting(row)}" if first else _setting(row)

    for (graph, quantity, eta), methods in found.items():
        for other in sorted(methods.keys() - {"merit"}) if "merit" in methods else ():
            whole = not any((graph, method, eta) in cut for method in ("merit", other))
            if methods[other]["value"] and (whole or quantity in RATES.values()):
                ratio = methods["merit"]["value"] / methods[other]["value"]
                asked = said(methods["merit"], "merit", other)
                yield Observation(graph, quantity, eta, f"merit over {other}", "1", ratio, asked)
    for (graph, quantity, eta), methods in found.items():
        for method, row in methods.items():
            yield Observation(graph, method, eta, quantity, row["unit"], row["value"], said(row, method))


_RUNS = ("merit-measures",)

ITEMS = {
    "table-1": Item("Graphs", "", (), _sizes),
    "figure-5": Item("Cost of the seeds, IC", "vertices to activate η", _RUNS, _costs),
    "figure-6": Item("Run time, IC", "vertices to activate η", _RUNS, _times),
    "figure-7": Item("Cost of the seeds, LT", "vertices to activate η", _RUNS, _costs),
    "figure-8": Item("Run time, LT", "vertices to activate η", _RUNS, _times),
    "figure-9": Item("Run time against β, IC", "load groups β", _RUNS, lambda t: _groups(t, False)),
    "figure-10": Item("Run time against β, LT", "load groups β", _RUNS, lambda t: _groups(t, False)),
    "figure-11": Item("Parts of the run time, IC, larger graphs", "vertices to activate η", _RUNS, _parts),
    "figure-12": Item("Parts of the run time, LT, larger graphs", "vertices to activate η", _RUNS, _parts),
    "figure-13": Item("Counters of the GPU, MERIT's over GAMCSS's, IC", "", _RUNS, _profiles),
    "figure-14": Item("Parts of the run time, IC, smaller graphs", "vertices to activate η", _RUNS, _parts),
    "figure-15": Item("Parts of the run time, LT, smaller graphs", "vertices to activate η", _RUNS, _parts),
    "figure-16": Item("Speed-up by β, LT", "load groups β", _RUNS, lambda t: _groups(t, True)),
}
"""The items of the paper; figure 13 needs a profiler."""
