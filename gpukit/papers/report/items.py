"""The observations of each paper's tables and figures, from the tables of the report.

An observation has a graph, a method, a place x on a figure's axis, and the value of a quantity in a unit.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from gpukit.papers.report import diversity, imgpu, merit
from gpukit.papers.report.observations import Item, Observation, Tables, means, measure, seen, setting, sizes, speeds
from gpukit.report import records
from gpukit.report.kpar import query_ms
from gpukit.report.records import Fields, Row

PHASES = ("sampling", "selection")
"""Phases of a run of gIM whose shares the paper shows."""

DENSITY = "ba-"
"""Beginning of the names of the graphs of gIM's figure 7; their density follows."""

NAMES = {
    "imm": "IMM",
    "imm-16": "IMM on 16 threads",
    "ripples": "Ripples (in print)",  # not rebuilt
    "curipples": "cuRipples (in print)",
    "skim": "SKIM",
    "gim": "gIM",
}
NAMES |= {"kpar-i": "kPAR_I", "kpar-ip1": "kPAR_IP1", "kpar-ip": "kPAR_IP", "kpar": "kPAR"}
NAMES |= {"fora": "FORA+", "fora on the CPU": "FORA+ on the CPU", "monte-carlo": "Monte Carlo"}
NAMES |= {"gim-ours": "gpukit's IMM", "topppr on the CPU": "TopPPR (PTopPPR+CPU)"}
NAMES |= imgpu.NAMES | diversity.NAMES | merit.NAMES
"""Display names of methods."""


def _graphs(path: str) -> list[Row]:
    with records.record_of(path, "graph import` or `gpukit graph generate") as record:
        generator = record.get("generator")
        shown = {"undirected", "seed", "model"}
        facts = ", ".join(f"{name} {value}" for name, value in (generator or {}).items() if name not in shown)
        return [
            {
                "data": f"stand-in: {generator['model']}, {facts}" if generator else "real",
                "n_vertices": record["n"],
                "m_edges": record["m"] // 2 if record["undirected"] else record["m"],
                "mean_degree": round(record["m"] / record["n"], 3) if record["n"] else 0.0,
                "edge_lines": record.get("lines", 0),
            }
        ]


HOW = {"sampler": "", "samples": "", "sets": "", "sentinels": "sentinels "}
"""Parameters of a run of gIM that say whether its sets are those of the paper, and the words before their values."""

_CELL = {"graph": str, "method": str, "model": str, "k": int, "epsilon": float, "rounds": int, "sampler": str}
_CELL |= {"block": int, "grid": int, "repeat": int}

RUN: Fields = {
    "rr_sets": (int, lambda record: record.get("rr_sets", 0)),
    "sets_are": (
        str,
        lambda record: ", ".join(HOW[name] + record["params"][name] for name in HOW if name in record["params"]),
    ),
    **records.WHERE,
    **records.phase_fields(PHASES),
    "time_work_s": (float, records.work_seconds),
}

SPREAD: Fields = {
    "k": (int, "k"),
    "epsilon": (float, lambda record: record["seeds_params"].get("epsilon", math.nan)),
    **records.WHERE,
    "spread_vertices": (float, "spread"),
}

KINDS = {
    "graphs": records.Kind(
        records.GRAPH,
        {"data": str, "n_vertices": int, "m_edges": int, "mean_degree": float, "edge_lines": int},
        _graphs,
    ),
    **imgpu.KINDS,
    **diversity.KINDS,
    **merit.KINDS,
    "gim-cells": records.record_kind(_CELL, "gim run", RUN),
    "gim-spread": records.record_kind({**records.GRAPH, "method": str}, "evaluate spread", SPREAD),
}
"""The tables that only papers need: graphs, their sources, runs of gIM with their settings, and spreads."""


def _sizes(tables: Tables) -> Iterator[Observation]:
    return sizes(row for row in tables["graphs"] if not row["graph"].startswith(DENSITY))


def _setting(row: Row) -> str:
    asked = f"{row['model']}, k {row['k']}, epsilon {row['epsilon']:g}, rounds {row['rounds']}"
    return setting(asked + f", {row['sets_are']}" * bool(row["sets_are"]), row)


def _gim_time(tables: Tables, x: str = "") -> Iterator[Observation]:
    rows = [row | measure("time", "s", row["time_work_s"]) for row in tables["gim-cells"]]
    return seen(rows, _setting, **({"x": x} if x else {}))


def _gim_speed(tables: Tables, x: str = "") -> Iterator[Observation]:
    """Yield times, and the ratio of the mean times of imm and of each other method."""
    yield from _gim_time(tables, x)
    rows = tables["gim-cells"]
    spent = means(((row["graph"], row[x] if x else ""), row["method"], row["time_work_s"]) for row in rows)
    for (graph, at), method, ratio in speeds(spent, "imm"):
        yield Observation(graph, method, at, "speed-up over imm", "1", ratio)


def _gim_beside_others(tables: Tables) -> Iterator[Observation]:
    """Yield speeds, and the spread of seeds if it was simulated."""
    yield from _gim_speed(tables)
    for row in tables.get("gim-spread", []):
        asked = f"k {row['k']}" + ("" if math.isnan(row["epsilon"]) else f", epsilon {row['epsilon']:g}")
        said = setting(asked, row)
        yield Observation(row["graph"], row["method"], "", "spread", "vertices", row["spread_vertices"], said)


def _gim_shares(tables: Tables) -> Iterator[Observation]:
    rows = [
        row | measure(f"share of {phase}", "1", row[f"time_{phase}_s"] / row["time_work_s"])
        for row in tables["gim-cells"]
        for phase in PHASES
    ]
    return seen(rows, _setting)


def _gim_density(tables: Tables) -> Iterator[Observation]:
    """Yield speeds on graphs named ``ba-R`` against the density R."""
    cells = [
        row | {"graph": "Barabási–Albert", "r": int(row["graph"].rpartition("-")[2])} for row in tables["gim-cells"]
    ]
    yield from _gim_speed({"gim-cells": cells}, "r")


SHAPES = {"block": 32, "grid": 2560}
"""The numbers of threads per block and of blocks that the paper chooses; its figure 8 is relative to these."""


def _gim_shape(tables: Tables, name: str) -> Iterator[Observation]:
    """Yield times relative to those of the paper's launch shape, on each graph.

    Without that shape, they are relative to the first.
    """
    rows = tables["gim-cells"]
    base = {row["graph"]: row[name] for row in reversed(rows)}
    base |= {row["graph"]: SHAPES[name] for row in rows if row[name] == SHAPES[name]}
    first = means((row["graph"], "", row["time_work_s"]) for row in rows if row[name] == base[row["graph"]])
    relative = [
        row | measure(f"time relative to {name} {base[graph]}", "1", row["time_work_s"] / first[graph][""])
        for row in rows
        if (graph := row["graph"])
    ]
    return seen(sorted(relative, key=lambda row: (row["graph"], row[name])), _setting, x=name)


RANKED = {"fora-16": "fora, δ 16/n", "fora-cpu": "fora on the CPU, δ 16/n", "topppr": "topppr on the CPU"}
"""Methods by their names in the workflow: FORA+ with the δ of the paper's comparison, and methods without a GPU."""


def _ranking(row: Row) -> str:
    name = str(row["method"])
    return RANKED.get(name, name)


def _preprocessing(tables: Tables) -> Iterator[Observation]:
    steps: dict[str, dict[str, list[Row]]] = {}
    for row in tables["kpar-times"]:
        steps.setdefault(row["graph"], {}).setdefault(row["step"], []).append(row)
    for graph, by_step in steps.items():
        for rows in zip(*by_step.values(), strict=True):  # a repeat
            spent = sum(row["time_work_s"] for row in rows)
            yield Observation(graph, "kpar", "", "preprocessing", "s", spent, setting("rank and index", rows[0]))
    # FORA+ builds its index in the same command; kPAR's steps have separate records.
    for row in tables["kpar-queries"]:
        method = _ranking(row)
        asked = setting("index", row)
        yield Observation(row["graph"], method, "", "preprocessing", "s", row["time_index_s"], asked)
        yield Observation(row["graph"], method, "", "index", "MB", row["index_bytes"] / 1e6, asked)
    for row in tables["kpar-index"]:
        yield Observation(row["graph"], "kpar", "", "index", "MB", row["index_bytes"] / 1e6)


def _arrivals(tables: Tables) -> Iterator[Observation]:
    for row in tables["kpar-arrivals"]:
        yield Observation(row["graph"], "kpar", row["omega_i_walks"], "vertices", "1", row["vertices"])


def _query_time(tables: Tables) -> Iterator[Observation]:
    for row in tables["kpar-repeats"]:
        asked = setting(f"{row['queries']} queries", row)
        yield Observation(row["graph"], _ranking(row), row["k"], "time of a query", "ms", query_ms(row), asked)


def _ablations(tables: Tables) -> Iterator[Observation]:
    """Yield the times of queries without the paper's techniques; the balance of work has a meaning only on a GPU."""
    gpus = {(row["graph"], row["method"]): row["gpus"] for row in tables["kpar-repeats"]}
    for one in _query_time(tables):
        plain = one.method in ("kpar-i", "kpar-ip1") and not gpus[one.graph, one.method]
        yield replace(one, setting=f"without a GPU the same as kPAR_IP: {one.setting}") if plain else one


def _query_quality(tables: Tables, name: str) -> Iterator[Observation]:
    for row in tables["kpar-quality"]:
        asked = f"{row['queries']} queries, epsilon {row['epsilon']:g}"
        method = _ranking(row)
        yield Observation(row["graph"], method, row["k"], name, "1", row[name], asked)


_CELLS = ("gim-cells",)

ITEMS: dict[str, dict[str, Item]] = {
    "gim": {
        "table-1": Item("Graphs", "", (), _sizes),
        "table-2": Item("Run time, k = 50, ε = 0.05, IC", "", _CELLS, _gim_beside_others),
        "table-3": Item("Multi-round influence, k = 10, T = 5", "", _CELLS, _gim_speed),
        "figure-3": Item("Shares of the run time", "", _CELLS, _gim_shares),
        "figure-4": Item("Run time against k, IC, ε = 0.1", "seeds k", _CELLS, lambda t: _gim_time(t, "k")),
        "figure-5": Item("Run time against k, LT, ε = 0.1", "seeds k", _CELLS, lambda t: _gim_time(t, "k")),
        "figure-6": Item("Run time against ε, k = 50", "ε", _CELLS, lambda t: _gim_time(t, "epsilon")),
        "figure-7": Item("Run time against density", "edges a vertex r", _CELLS, _gim_density),
        "figure-8a": Item("Threads of a block", "threads of a block", _CELLS, lambda t: _gim_shape(t, "block")),
        "figure-8b": Item("Blocks of a grid", "blocks, 0: as equation 5", _CELLS, lambda t: _gim_shape(t, "grid")),
    },
    "kpar": {
        "table-2": Item("Graphs", "", (), _sizes),
        "table-3": Item("Preprocessing", "", ("kpar-times", "kpar-index", "kpar-queries"), _preprocessing),
        "figure-3": Item("Vertices with at least ω walks ending there", "walks ω", ("kpar-arrivals",), _arrivals),
        "figure-6": Item("Time of a query", "k", ("kpar-repeats",), _query_time),
        "figure-7": Item("Precision", "k", ("kpar-quality",), lambda t: _query_quality(t, "precision")),
        "figure-8": Item("NDCG", "k", ("kpar-quality",), lambda t: _query_quality(t, "ndcg")),
        "figure-9": Item("Time of a query without the paper's techniques", "k", ("kpar-repeats",), _ablations),
    },
    "imgpu": imgpu.ITEMS,
    "diversity": diversity.ITEMS,
    "merit": merit.ITEMS,
}
"""The items of each paper that can be rebuilt."""
