"""IMGPU in the report: its tables, figures and section of the page."""

import math
from typing import TYPE_CHECKING, Any

from gpukit.errors import InputError
from gpukit.report.figure import draw, draw_bars, draw_spread, legend, line_style
from gpukit.report.records import (
    DEVICE,
    SPREAD,
    Kind,
    Row,
    device_columns,
    phase_columns,
    phase_types,
    record_of,
    rows_of,
    spread_rows,
)
from gpukit.report.style import SERIES, SIMULATORS, SWITCHES
from gpukit.report.text import label

if TYPE_CHECKING:
    from gpukit.report.parts import Parts

PHASES = ("read", "load", "worlds", "selection", "estimate")

COMMANDS = "imgpu run` or `gpukit imgpu baseline"


def _runs(path: str) -> list[Row]:
    with record_of(path, COMMANDS) as record:
        row = {
            "n_vertices": record["graph"]["n"],
            "m_edges": record["graph"]["m"],
            "k": record["params"]["k"],
            "worlds": record["params"]["worlds"],
            "spread_estimate_vertices": record.get("spread_estimate", math.nan),
            "stderr_vertices": record.get("stderr", math.nan),
            "time_choice_s": record["choice_s"][-1],
            **device_columns(record),
            **phase_columns(record, PHASES),
        }
    return [row]


def _times(path: str) -> list[Row]:
    with record_of(path, COMMANDS) as record:
        return [{"k": k, "time_s": float(seconds)} for k, seconds in enumerate(record["choice_s"], start=1)]


def _levels(path: str) -> list[Row]:
    with record_of(path, "imgpu reach") as record:
        counts = [float(count) for count in record["nodes_per_level"]]
        return [{"level": level, "components": count} for level, count in enumerate(counts)]


def _switches(path: str) -> list[Row]:
    with record_of(path, "bench imgpu --switches") as record:
        spent = [run["pass_ms"] for run in record["runs"] if run["method"] == "switches"][0]
        where, worlds = device_columns(record), record["params"]["worlds"]
        return [
            {"optimisation": name, "worlds": worlds, **where, "time_pass_s": spent[name] / 1e3} for name in SWITCHES
        ]


_METHOD: dict[str, type] = {"graph": str, "method": str}

KINDS = {
    "imgpu-runs": Kind(
        {
            **_METHOD,
            "n_vertices": int,
            "m_edges": int,
            "k": int,
            "worlds": int,
            "spread_estimate_vertices": float,
            "stderr_vertices": float,
            "time_choice_s": float,
            **DEVICE,
            **phase_types(PHASES),
        },
        ("graph", "method"),
        _runs,
    ),
    "imgpu-times": Kind({**_METHOD, "k": int, "time_s": float}, ("graph", "method"), _times),
    "imgpu-spread": Kind({**_METHOD, **SPREAD}, ("graph", "method"), spread_rows),
    "imgpu-levels": Kind({"graph": str, "level": int, "components": float}, ("graph",), _levels),
    "imgpu-switches": Kind(
        {"graph": str, "optimisation": str, "worlds": int, **DEVICE, "time_pass_s": float}, ("graph",), _switches
    ),
}
"""The tables. ``time_choice_s`` and ``time_s`` are the seconds from the graph in memory to the k-th choice, code being
loaded; ``components`` the mean number in a world; an estimate of ``nan`` is none."""

VIEWS = {
    "spread": "imgpu-spread",
    "time": "imgpu-times",
    "levels": "imgpu-levels",
    "switches": "imgpu-switches",
}
"""What is drawn, and the kind of table it comes from."""


def plot(rows: list[Row], graph: str, view: str, path: str) -> None:
    """Draw a view of a graph.

    Parameters
    ----------
    rows : list of dict
        A table of the kind that :data:`VIEWS` names.
    graph, view : str
        What to draw.
    path : str
        The SVG file to write.

    Raises
    ------
    UsageError
        If the table has no such graph, or matplotlib is not installed.
    """
    chosen = rows_of(rows, graph)
    name = f"imgpu-{view}-{graph}"
    if view == "spread":
        draw_spread(path, name, f"{graph}, independent cascade", chosen, SIMULATORS, columns=3)
    elif view == "time":
        _draw_time(path, name, graph, chosen)
    elif view == "levels":
        _draw_levels(path, name, graph, chosen)
    else:
        spent = [row["time_pass_s"] * 1e3 for row in chosen]
        labels = [SWITCHES[row["optimisation"]] for row in chosen]
        axis = f"ms to count the reach of all in {chosen[0]['worlds']:,} worlds"
        draw_bars(path, name, labels, [(graph, SERIES[0], spent)], axis=axis, total="{:.1f}")


def _draw_time(path: str, name: str, graph: str, rows: list[Row]) -> None:
    with draw(path, name, (5.2, 3.5)) as (figure, axes):
        for number, method in enumerate(SIMULATORS):
            points = sorted((row for row in rows if row["method"] == method), key=lambda row: row["k"])
            if points:
                every = max(1, len(points) // 5)
                x, y = [row["k"] for row in points], [row["time_s"] for row in points]
                axes.errorbar(x, y, label=SIMULATORS[method], markevery=every, **line_style(number))
        axes.set_xlim(left=0)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("seeds k")
        axes.set_ylabel("time until the k-th is chosen, s")
        axes.set_title(label(graph))
        axes.grid(True)
        legend(figure, axes, columns=3)


def _draw_levels(path: str, name: str, graph: str, rows: list[Row]) -> None:
    with draw(path, name, (5.2, 3.0)) as (_, axes):
        axes.bar([row["level"] for row in rows], [row["components"] for row in rows], color=SERIES[0], zorder=2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("level: longest way to a component without live arcs out")
        axes.set_ylabel("components in a world, mean")
        axes.set_title(label(graph))
        axes.grid(True, axis="y")


def section(parts: "Parts") -> dict[str, Any]:
    """Return what the template ``imgpu.html.j2`` shows, out of the tables whose names begin with ``imgpu``."""
    runs, spread = parts.rows("imgpu-runs"), parts.rows("imgpu-spread")
    graphs: list[dict[str, Any]] = []
    for graph in dict.fromkeys(row["graph"] for row in runs):
        own = {row["method"]: row for row in runs if row["graph"] == graph}
        curve = _curve([row for row in spread if row["graph"] == graph], graph)
        if "fixed" not in own:
            raise InputError(f"the table of runs has no row of fixed worlds on {graph}")
        graphs.append(
            {
                "name": graph,
                "anchor": f"imgpu-{len(graphs) + 1}",
                "run": own["fixed"],
                "methods": [{"name": name, **own[method]} for method, name in SIMULATORS.items() if method in own],
                "curve": curve,
                "figures": {view: parts.figure(f"imgpu-{view}/{graph}") for view in VIEWS},
                **_finding(own["fixed"], curve),
            }
        )
    return {"graphs": graphs}


def _curve(spread: list[Row], graph: str) -> list[dict[str, Any]]:
    """Return the methods in the order of the legend, each with its points by rising k; fixed worlds are first."""
    curve: list[dict[str, Any]] = [
        {"name": name, "points": sorted(points, key=lambda point: point["k"])}
        for method, name in SIMULATORS.items()
        if (points := [row for row in spread if row["method"] == method])
    ]
    if not curve or curve[0]["name"] != SIMULATORS["fixed"]:
        raise InputError(f"the table of spreads has no rows of fixed worlds on {graph}")
    for other in curve[1:]:
        if [point["k"] for point in other["points"]] != [point["k"] for point in curve[0]["points"]]:
            raise InputError(f"{other['name']} and fixed worlds differ in the numbers of seeds evaluated on {graph}")
    return curve


def _finding(run: Row, curve: list[dict[str, Any]]) -> dict[str, Any]:
    """Compare fixed worlds with the best other method, and its estimate with the simulation."""
    best = curve[0]["points"][-1]
    finding: dict[str, Any] = {"best": best, "rival": None, "apart": None}
    others = curve[1:]
    if others:
        rival = max(others, key=lambda method: method["points"][-1]["spread_vertices"])
        point = rival["points"][-1]
        gain = best["spread_vertices"] - point["spread_vertices"]
        error = math.hypot(best["stderr_vertices"], point["stderr_vertices"])
        finding |= {"rival": rival["name"], "gain": gain, "measurable": abs(gain) > 2 * error}
    if best["k"] == run["k"] and not math.isnan(run["stderr_vertices"]):
        apart = run["spread_estimate_vertices"] - best["spread_vertices"]
        error = math.hypot(best["stderr_vertices"], run["stderr_vertices"])
        finding["apart"] = abs(apart) / error if error else 0.0
    return finding
