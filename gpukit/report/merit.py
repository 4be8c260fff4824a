"""MERIT in the report: its table, figures and section of the page."""

from collections.abc import Callable
from statistics import mean
from typing import TYPE_CHECKING, Any

from gpukit.errors import InputError
from gpukit.report.figure import draw, draw_bars, legend, line_style
from gpukit.report.records import DEVICE, Kind, Row, device_columns, record_of, rows_of
from gpukit.report.style import MODELS, POLICIES, SERIES
from gpukit.report.text import label

if TYPE_CHECKING:
    from gpukit.report.parts import Parts

PHASES = ("generate", "update", "judge", "select")


def _campaigns(path: str) -> list[Row]:
    with record_of(path, "merit run") as record:
        return [
            {
                "n_vertices": record["graph"]["n"],
                "m_edges": record["graph"]["m"],
                "batch": record["params"]["batch"],
                "epsilon": record["params"]["epsilon"],
                "seed": record["seed"],
                "world": one["world"],
                "cost": one["cost"],
                "activated_vertices": one["activated"],
                "rounds": one["rounds"],
                "seeds": one["seeds"],
                "probes": one["probes"],
                **device_columns(record),
                **{f"time_{phase}_s": float(one["time_s"][phase]) for phase in PHASES},
                "time_s": round(sum(one["time_s"][phase] for phase in PHASES), 6),
            }
            for one in record["campaigns"]
        ]


KINDS = {
    "merit-campaigns": Kind(
        {
            **{"graph": str, "model": str, "policy": str, "eta": int},
            **{"n_vertices": int, "m_edges": int, "batch": int, "epsilon": float, "seed": int, "world": int},
            **{"cost": float, "activated_vertices": int, "rounds": int, "seeds": int, "probes": int},
            **DEVICE,
            **{f"time_{phase}_s": float for phase in PHASES},
            "time_s": float,
        },
        ("graph", "model", "policy", "eta"),
        _campaigns,
    )
}
"""The table: a row a campaign. Times are those of one campaign without files, loading and the hidden world."""

VIEWS: dict[str, tuple[str, Callable[[Row], float]]] = {
    "cost": ("cost of a campaign", lambda row: row["cost"]),
    "time": ("time of a campaign, s", lambda row: row["time_s"]),
}
"""What is drawn against η: the name of the axis, and the value; ``phases`` are bars."""


def plot(rows: list[Row], graph: str, model: str, view: str, path: str) -> None:
    """Draw cost or time against η, mean and range over the hidden worlds, or the phases at the largest η.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``merit-campaigns``.
    graph, model, view : str
        What to draw; the view is a key of :data:`VIEWS` or ``phases``.
    path : str
        The SVG file to write.

    Raises
    ------
    UsageError
        If the table has no such instance, or matplotlib is not installed.
    """
    chosen = rows_of(rows, graph, model)
    name = f"merit-{view}-{graph}-{model}"
    if view == "phases":
        most = max(row["eta"] for row in chosen)
        groups = [(POLICIES[policy], _of(chosen, policy, most)) for policy in POLICIES if _of(chosen, policy, most)]
        parts = [
            (phase, colour, [mean(row[f"time_{phase}_s"] for row in own) for _, own in groups])
            for phase, colour in zip(PHASES, SERIES, strict=False)
        ]
        labels = [title for title, _ in groups]
        draw_bars(path, name, labels, parts, axis=f"seconds of a campaign, η = {most:,}", total="{:.2f} s")
        return
    axis, value = VIEWS[view]
    etas = sorted({row["eta"] for row in chosen})
    with draw(path, name, (5.2, 3.5)) as (figure, axes):
        for number, policy in enumerate(POLICIES):
            points = [(eta, [value(row) for row in own]) for eta in etas if (own := _of(chosen, policy, eta))]
            if points:
                middle = [mean(values) for _, values in points]
                below = [max(m - min(values), 0.0) for m, (_, values) in zip(middle, points, strict=True)]
                above = [max(max(values) - m, 0.0) for m, (_, values) in zip(middle, points, strict=True)]
                aside = 0.012 * etas[-1] * (number - 1)  # policies that agree would hide each other
                axes.errorbar(
                    [eta + aside for eta, _ in points],
                    middle,
                    yerr=[below, above],
                    label=POLICIES[policy],
                    **line_style(number),
                )
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.set_xticks(etas)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlabel("η, vertices to activate")
        axes.set_ylabel(axis)
        axes.set_title(label(f"{graph}, {MODELS.get(model, model)}"))
        axes.grid(True)
        legend(figure, axes)


def _of(rows: list[Row], policy: str, eta: int) -> list[Row]:
    """Return the campaigns of a policy and a target."""
    return [row for row in rows if (row["policy"], row["eta"]) == (policy, eta)]


def section(parts: "Parts") -> dict[str, Any]:
    """Return what the template ``merit.html.j2`` shows, out of the table ``merit-campaigns``."""
    rows = parts.rows("merit-campaigns")
    instances: list[dict[str, Any]] = []
    for graph, model in dict.fromkeys((row["graph"], row["model"]) for row in rows):
        own = [row for row in rows if (row["graph"], row["model"]) == (graph, model)]
        etas = sorted({row["eta"] for row in own})
        lines = [_line(policy, eta, found) for eta in etas for policy in POLICIES if (found := _of(own, policy, eta))]
        ours = [line for line in lines if line["policy"] == "coupled"]
        if not ours or ours[-1]["eta"] != etas[-1]:
            raise InputError(f"the table of campaigns has no rows of coupled for η = {etas[-1]} on {graph} ({model})")
        instances.append(
            {
                "graph": graph,
                "model": MODELS.get(model, model),
                "anchor": f"merit-{len(instances) + 1}",
                "run": own[0],
                "last": ours[-1],
                "lines": lines,
                "reached": all(row["activated_vertices"] >= row["eta"] for row in own),
                "agree": _agree(own),
                "figures": {view: parts.figure(f"merit-{view}/{graph}/{model}") for view in (*VIEWS, "phases")},
            }
        )
    return {"instances": instances}


def _line(policy: str, eta: int, found: list[Row]) -> dict[str, Any]:
    """Return mean and range over the worlds of a policy's campaigns for a target."""
    line: dict[str, Any] = {"policy": policy, "name": POLICIES[policy], "eta": eta, "worlds": len(found)}
    for column in ("cost", "time_s", "rounds", "seeds", "probes"):
        values = [row[column] for row in found]
        line[column] = {"mean": mean(values), "low": min(values), "high": max(values)}
    return line


def _agree(rows: list[Row]) -> bool | None:
    """Say whether drawing all sets again led to the same campaigns in every world; None if that was not tried."""
    facts: dict[str, dict[tuple[int, int], tuple[float, int, int, int]]] = {"coupled": {}, "regenerate": {}}
    for row in rows:
        if row["policy"] in facts:
            outcome = (row["cost"], row["activated_vertices"], row["rounds"], row["seeds"])
            facts[row["policy"]][row["eta"], row["world"]] = outcome
    return facts["coupled"] == facts["regenerate"] if facts["regenerate"] else None
