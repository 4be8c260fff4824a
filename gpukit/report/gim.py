"""gIM in the report: its tables, figures and section of the page."""

import math
from collections.abc import Mapping
from typing import Any

from gpukit.report import records
from gpukit.report.figure import draw_bars, draw_curves
from gpukit.report.parts import Curve, Parts, curve_of, named, rival_of, sizes_of
from gpukit.report.records import Fields, Row, of
from gpukit.report.style import GRID, METHODS, MODELS, MUTED, SERIES
from gpukit.report.text import vertex

PHASES = ("sampling", "selection", "load")
"""The phases of a run with a column each."""


RUN: Fields = {
    **records.SIZE,
    "k": (int, lambda record: record["params"]["k"] or len(record["seeds"])),  # a budget of costs leaves k open
    "epsilon": (float, "params.epsilon"),
    "bound": (str, "params.bound"),
    "sampler": (str, "params.sampler"),
    "seed": (int, "seed"),
    "rr_sets": (int, "rr_sets"),
    "spread_estimate_vertices": (float, lambda record: _or_nan(record["spread_estimate"])),
    "guarantee": (float, lambda record: _or_nan(record["guarantee"])),
    "guarantee_kind": (str, "guarantee_kind"),
    **records.WHERE,
    **records.phase_fields(PHASES),
}


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _seeds(path: str) -> list[Row]:
    from gpukit.artifacts import read_seeds

    found = read_seeds(path)
    seeds = (found.seeds if found.labels is None else found.labels).tolist()
    gains = [math.nan] * len(seeds) if found.gains is None else found.gains.astype(float).tolist()
    return [
        {"rank": rank, "vertex": seed, "out_degree": math.nan, "gain_sets": gain}
        for rank, (seed, gain) in enumerate(zip(seeds, gains, strict=True), start=1)
    ]


def add_degrees(rows: list[Row], graphs: Mapping[str, str]) -> None:
    """Fill in the out-degrees of seeds on the given graphs.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``seeds``; changed in place.
    graphs : mapping of str to str
        Paths of ``graph`` artifacts by the name of the graph.

    Raises
    ------
    InputError
        If a file is damaged, or lacks a seed.
    """
    from gpukit.artifacts import read_graph

    for name, path in graphs.items():
        own = of(rows, graph=name)
        graph = read_graph(path, transpose=False)
        inside = graph.internal([row["vertex"] for row in own])
        for row, degree in zip(own, graph.indptr[inside + 1] - graph.indptr[inside], strict=True):
            row["out_degree"] = float(degree)


KINDS = {
    "runs": records.record_kind(records.INSTANCE, "gim run", RUN),
    "seeds": records.Kind(
        records.INSTANCE, {"rank": int, "vertex": vertex, "out_degree": float, "gain_sets": float}, _seeds
    ),
    "spread": records.Kind({**records.INSTANCE, "method": str}, records.SPREAD, records.spread_rows),
}
"""The tables; ``nan`` means that there is no guarantee or estimate."""


def plot_spread(rows: list[Row], graph: str, model: str, path: str) -> None:
    """Draw the spread of each method against the number of seeds.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``spread``.
    graph, model : str
        The instance to draw.
    path : str
        The file to write, as :func:`gpukit.report.figure.draw` does.

    Raises
    ------
    UsageError
        If the table has no such instance, or matplotlib is not installed.
    """
    chosen = records.rows_of(rows, graph, model)
    draw_curves(path, f"spread-{graph}-{model}", f"{graph}, {MODELS.get(model, model)}", chosen, named(METHODS, chosen))


def plot_runtime(rows: list[Row], path: str) -> None:
    """Draw the seconds of each run for sampling, selection and the rest as stacked bars.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``runs``.
    path : str
        The file to write, as :func:`gpukit.report.figure.draw` does.

    Raises
    ------
    InputError
        If the table has no rows.
    UsageError
        If matplotlib is not installed.
    """
    records.need_rows(rows, "the table of runs")
    labels = [f"{row['graph']} {row['model'].upper()}" for row in rows]
    shown = (("sampling", SERIES[0]), ("selection", SERIES[1]), ("load", GRID), ("other", MUTED))
    parts = [(phase, colour, [row[f"time_{phase}_s"] for row in rows]) for phase, colour in shown]
    draw_bars(path, "runtime", labels, parts, axis="seconds", total="{:.2f} s")


def section(parts: Parts) -> dict[str, Any]:
    """Return the data of the template ``gim.html.j2``, from the tables ``runs``, ``seeds`` and ``spread``."""
    seeds, spread = parts.rows("seeds"), parts.rows("spread")
    instances = []
    for number, run in enumerate(parts.rows("runs"), start=1):
        graph, model = run["graph"], run["model"]
        own = of(spread, graph=graph, model=model)
        curve = curve_of(own, METHODS, "method", f"on {graph} under {model}")
        instances.append(
            {
                "anchor": f"instance-{number}",
                "run": run,
                "model": MODELS.get(model, model),
                "curve": curve,
                "sizes": sizes_of(curve),
                "seeds": of(seeds, graph=graph, model=model),
                "reached": {point["k"]: point for point in curve[0]["points"]},
                "figure": parts.figure(f"spread/{graph}/{model}"),
                **_finding(run, curve),
            }
        )
    return {
        "instances": instances,
        "runtime": parts.figure("runtime"),
        "longest": records.longest(parts.rows("runs"), (*PHASES, "other")),
    }


def _finding(run: Row, curve: Curve) -> dict[str, Any]:
    """Compare gIM with its best rival, and its estimate with the simulation; gain and deviation are relative."""
    found = rival_of(curve)
    spread, estimate = found["best"]["spread_vertices"], run["spread_estimate_vertices"]
    found |= {"share": spread / run["n_vertices"], "deviation": None}
    own = [rival_of([curve[0], method]) for method in curve[1:] if method["method"] not in METHODS]
    found["own"] = [one | {"gain": one["gain"] / one["point"]["spread_vertices"]} for one in own if one["rival"]]
    if found["rival"]:
        found["gain"] /= found["point"]["spread_vertices"]
    if found["best"]["k"] == run["k"] and not math.isnan(estimate):
        found["deviation"] = estimate / spread - 1
    return found
