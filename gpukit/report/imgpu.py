"""IMGPU in the report: its tables, figures and section of the page."""

import math
from typing import Any

from gpukit.errors import InputError
from gpukit.report import records
from gpukit.report.figure import draw, draw_bars, draw_curves, name_axes
from gpukit.report.parts import Curve, Parts, curve_of, named, rival_of, sizes_of
from gpukit.report.records import Fields, Kind, Row, of
from gpukit.report.style import SERIES, SIMULATORS, SWITCHES

PHASES = ("read", "load", "worlds", "selection", "estimate")

COMMANDS = "imgpu run` or `gpukit papers imgpu baseline"


RUN: Fields = {
    **records.SIZE,
    "k": (int, "params.k"),
    "worlds": (int, "params.worlds"),
    "spread_estimate_vertices": (float, lambda record: record.get("spread_estimate", math.nan)),
    "stderr_vertices": (float, lambda record: record.get("stderr", math.nan)),
    "time_choice_s": (float, lambda record: record["choice_s"][-1]),
    **records.WHERE,
    **records.phase_fields(PHASES),
}


TIMES: Fields = {
    "k": (int, "number"),
    "vertex": (str, lambda record: str(record["seeds"][record["number"] - 1])),
    "time_s": (float, lambda record: float(record["choice_s"])),
}

LEVELS: Fields = {
    "level": (int, lambda record: record["number"] - 1),
    "components": (float, lambda record: float(record["nodes_per_level"])),
}


def _switches(path: str) -> list[Row]:
    with records.record_of(path, "papers bench imgpu --switches") as record:
        spent = [run["pass_ms"] for run in record["runs"] if run["method"] == "switches"][0]
        where, worlds = records.values(record, records.WHERE), record["params"]["worlds"]
        return [
            {"optimisation": name, "worlds": worlds, **where, "time_pass_s": spent[name] / 1e3} for name in SWITCHES
        ]


KINDS = {
    "imgpu-runs": records.record_kind(records.METHOD, COMMANDS, RUN),
    "imgpu-times": records.record_kind(records.METHOD, COMMANDS, TIMES, each="choice_s"),
    "imgpu-spread": Kind(records.METHOD, records.SPREAD, records.spread_rows),
    "imgpu-levels": records.record_kind(records.GRAPH, "imgpu reach", LEVELS, each="nodes_per_level"),
    "imgpu-switches": Kind(
        records.GRAPH,
        {"optimisation": str, "worlds": int, **records.types(records.WHERE), "time_pass_s": float},
        _switches,
    ),
}
"""The tables. ``time_choice_s`` and ``time_s`` are the seconds from the loaded graph to the k-th choice, with
compiled code loaded. ``components`` is the mean number per world. An estimate of ``nan`` means that there is none."""

VIEWS = {"spread": "imgpu-spread", "time": "imgpu-times", "levels": "imgpu-levels", "switches": "imgpu-switches"}
"""The views, and the kind of table of each."""


def plot(rows: list[Row], graph: str, view: str, path: str) -> None:
    """Draw a view of a graph.

    Parameters
    ----------
    rows : list of dict
        A table of the kind in :data:`VIEWS`.
    graph, view : str
        What to draw.
    path : str
        The file to write, as :func:`gpukit.report.figure.draw` does.

    Raises
    ------
    UsageError
        If the table has no such graph, or matplotlib is not installed.
    """
    chosen = records.rows_of(rows, graph)
    name = f"imgpu-{view}-{graph}"
    if view == "spread":
        draw_curves(path, name, f"{graph}, independent cascade", chosen, named(SIMULATORS, chosen), columns=2)
    elif view == "time":
        axis = "time until the k-th is chosen, s"
        draw_curves(path, name, graph, chosen, SIMULATORS, value="time_s", axis=axis, error="", columns=2)
    elif view == "levels":
        _draw_levels(path, name, graph, chosen)
    else:
        spent = [row["time_pass_s"] * 1e3 for row in chosen]
        labels = [SWITCHES[row["optimisation"]] for row in chosen]
        axis = f"ms to count the reach of all in {chosen[0]['worlds']:,} worlds"
        draw_bars(path, name, labels, [(graph, SERIES[0], spent)], axis=axis, total="{:.1f}")


def _draw_levels(path: str, name: str, graph: str, rows: list[Row]) -> None:
    with draw(path, name, (4.4, 3.0)) as (_, axes):
        axes.bar([row["level"] for row in rows], [row["components"] for row in rows], color=SERIES[0], zorder=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.xaxis.get_major_locator().set_params(integer=True)
        level = "level: longest way to a component without live arcs out"
        name_axes(axes, level, "components in a world, mean", graph, grid="y")


def section(parts: Parts) -> dict[str, Any]:
    """Return the data of the template ``imgpu.html.j2``, from the tables whose names begin with ``imgpu``."""
    runs, spread = parts.rows("imgpu-runs"), parts.rows("imgpu-spread")
    graphs: list[dict[str, Any]] = []
    for graph in dict.fromkeys(row["graph"] for row in runs):
        own = {row["method"]: row for row in of(runs, graph=graph)}
        curve = curve_of(of(spread, graph=graph), SIMULATORS, "name", f"on {graph}")
        switched = of(parts.tables.get("imgpu-switches", []), graph=graph)
        if "fixed" not in own:
            raise InputError(f"the table of runs has no row of fixed worlds on {graph}")
        graphs.append(
            {
                "name": graph,
                "anchor": f"imgpu-{len(graphs) + 1}",
                "run": own["fixed"],
                "methods": [{"name": name, **own[method]} for method, name in SIMULATORS.items() if method in own],
                "curve": curve,
                "sizes": sizes_of(curve),
                "seeds": of(parts.rows("imgpu-times"), graph=graph, method="fixed"),
                "reached": {point["k"]: point for point in curve[0]["points"]},
                "flat": _flat(of(parts.rows("imgpu-levels"), graph=graph)),
                "figures": {
                    view: parts.figure(f"imgpu-{view}/{graph}") for view in VIEWS if view != "switches" or switched
                },
                **_finding(own["fixed"], curve),
            }
        )
    return {"graphs": graphs}


def _finding(run: Row, curve: Curve) -> dict[str, Any]:
    """Compare fixed worlds with the best rival, and the estimate with the simulation, in standard errors."""
    found = rival_of(curve) | {"apart": None}
    best = found["best"]
    if best["k"] == run["k"] and not math.isnan(run["stderr_vertices"]):
        error = math.hypot(best["stderr_vertices"], run["stderr_vertices"])
        apart = abs(run["spread_estimate_vertices"] - best["spread_vertices"])
        found["apart"] = apart / error if error else 0.0
    return found


def _flat(rows: list[Row]) -> str:
    """Return a sentence on the share of components in the first two levels."""
    share = sum(row["components"] for row in rows if row["level"] < 2) / sum(row["components"] for row in rows)
    return f"{100 * share:.0f} % of the components of a world lie on its first two levels, of {len(rows)}."
