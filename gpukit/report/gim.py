"""gIM in the report: its tables, figures and section of the page."""

import math
from typing import TYPE_CHECKING, Any

from gpukit.errors import InputError
from gpukit.report.figure import draw_bars, draw_spread
from gpukit.report.records import (
    DEVICE,
    SPREAD,
    Kind,
    Row,
    device_columns,
    need_rows,
    phase_columns,
    phase_types,
    record_of,
    rows_of,
    spread_rows,
)
from gpukit.report.style import GRID, METHODS, MODELS, MUTED, SERIES

if TYPE_CHECKING:
    from gpukit.report.parts import Parts

PHASES = ("sampling", "selection", "load")
"""The phases of a run that have a column each."""


def _run(path: str) -> list[Row]:
    with record_of(path, "gim run") as record:
        params = record["params"]
        row = {
            "n_vertices": record["graph"]["n"],
            "m_edges": record["graph"]["m"],
            **{name: params[name] for name in ("k", "epsilon", "bound", "sampler")},
            "seed": record["seed"],
            "rr_sets": record["rr_sets"],
            "spread_estimate_vertices": math.nan if record["spread_estimate"] is None else record["spread_estimate"],
            "guarantee": math.nan if record["guarantee"] is None else record["guarantee"],
            "guarantee_kind": record["guarantee_kind"],
            **device_columns(record),
            **phase_columns(record, PHASES),
        }
    return [row]


def _seeds(path: str) -> list[Row]:
    from gpukit.artifacts import read_seeds

    return [{"rank": rank, "vertex": int(vertex)} for rank, vertex in enumerate(read_seeds(path).seeds, start=1)]


_INSTANCE: dict[str, type] = {"graph": str, "model": str}

KINDS = {
    "runs": Kind(
        {
            **_INSTANCE,
            "n_vertices": int,
            "m_edges": int,
            "k": int,
            "epsilon": float,
            "bound": str,
            "sampler": str,
            "seed": int,
            "rr_sets": int,
            "spread_estimate_vertices": float,
            "guarantee": float,
            "guarantee_kind": str,
            **DEVICE,
            **phase_types(PHASES),
        },
        ("graph", "model"),
        _run,
    ),
    "seeds": Kind({**_INSTANCE, "rank": int, "vertex": int}, ("graph", "model"), _seeds),
    "spread": Kind(
        {**_INSTANCE, "method": str, **SPREAD},
        ("graph", "model", "method"),
        spread_rows,
    ),
}
"""The tables; a guarantee or an estimate of ``nan`` is none."""


def plot_spread(rows: list[Row], graph: str, model: str, path: str) -> None:
    """Draw the spread of each method against the number of seeds.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``spread``.
    graph, model : str
        The instance to draw.
    path : str
        The SVG file to write.

    Raises
    ------
    UsageError
        If the table has no such instance, or matplotlib is not installed.
    """
    chosen = rows_of(rows, graph, model)
    draw_spread(path, f"spread-{graph}-{model}", f"{graph}, {MODELS.get(model, model)}", chosen, METHODS)


def plot_runtime(rows: list[Row], path: str) -> None:
    """Draw the seconds each run spent on sampling, selection and the rest as stacked bars.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``runs``.
    path : str
        The SVG file to write.

    Raises
    ------
    InputError
        If the table has no rows.
    UsageError
        If matplotlib is not installed.
    """
    need_rows(rows, "the table of runs")
    labels = [f"{row['graph']} {row['model'].upper()}" for row in rows]
    shown = (("sampling", SERIES[0]), ("selection", SERIES[1]), ("load", GRID), ("other", MUTED))
    parts = [(phase, colour, [row[f"time_{phase}_s"] for row in rows]) for phase, colour in shown]
    draw_bars(path, "runtime", labels, parts, axis="seconds", total="{:.2f} s")


def section(parts: "Parts") -> dict[str, Any]:
    """Return what the template ``gim.html.j2`` shows, out of the tables ``runs``, ``seeds`` and ``spread``."""
    seeds, spread = parts.rows("seeds"), parts.rows("spread")
    instances = []
    for number, run in enumerate(parts.rows("runs"), start=1):
        instance = (run["graph"], run["model"])
        curve = _curve(spread, *instance)
        instances.append(
            {
                "anchor": f"instance-{number}",
                "run": run,
                "model": MODELS.get(run["model"], run["model"]),
                "curve": curve,
                "seeds": [row["vertex"] for row in seeds if (row["graph"], row["model"]) == instance],
                "figure": parts.figure(f"spread/{'/'.join(instance)}"),
                **_finding(run, curve),
            }
        )
    return {"instances": instances, "runtime": parts.figure("runtime")}


def _curve(spread: list[Row], graph: str, model: str) -> list[dict[str, Any]]:
    """Return the methods of an instance in the order of the legend, each with its points by rising k; gIM is first."""
    curve: list[dict[str, Any]] = []
    for method, name in METHODS.items():
        points = [row for row in spread if (row["graph"], row["model"], row["method"]) == (graph, model, method)]
        if points:
            curve.append({"method": method, "name": name, "points": sorted(points, key=lambda point: point["k"])})
    if not curve or curve[0]["method"] != "gim":
        raise InputError(f"the table of spreads has no rows of gim on {graph} under {model}")
    for other in curve[1:]:
        if [point["k"] for point in other["points"]] != [point["k"] for point in curve[0]["points"]]:
            raise InputError(
                f"{other['method']} and gim differ in the numbers of seeds evaluated on {graph} under {model}"
            )
    return curve


def _finding(run: Row, curve: list[dict[str, Any]]) -> dict[str, Any]:
    """Compare gIM with the best other method, and its own estimate with the simulation; two standard errors decide."""
    best = curve[0]["points"][-1]
    finding: dict[str, Any] = {"best": best, "share": best["spread_vertices"] / run["n_vertices"], "rival": None}
    if curve[1:]:
        rival = max(curve[1:], key=lambda method: method["points"][-1]["spread_vertices"])
        point = rival["points"][-1]
        gain = best["spread_vertices"] - point["spread_vertices"]
        finding |= {
            "rival": rival["name"],
            "gain": gain / point["spread_vertices"],
            "measurable": abs(gain) > 2 * (best["stderr_vertices"] ** 2 + point["stderr_vertices"] ** 2) ** 0.5,
        }
    if best["k"] == run["k"] and not math.isnan(run["spread_estimate_vertices"]):
        finding["deviation"] = run["spread_estimate_vertices"] / best["spread_vertices"] - 1
    else:
        finding["deviation"] = None
    return finding
