"""MERIT in the report: its table, figures and section of the page."""

from collections.abc import Callable
from statistics import mean
from typing import Any

from gpukit.errors import InputError
from gpukit.report.figure import draw, draw_bars, legend, line_style, name_axes
from gpukit.report.parts import Parts
from gpukit.report.records import INSTANCE, SIZE, WHERE, Fields, Row, of, record_kind, rows_of
from gpukit.report.style import MODELS, POLICIES, SERIES

PHASES = ("generate", "update", "judge", "select")


CAMPAIGN: Fields = {
    **SIZE,
    "batch": (int, "params.batch"),
    "epsilon": (float, "params.epsilon"),
    "seed": (int, "seed"),
    "costs": (str, "params.costs"),
    "unpriced_vertices": (int, lambda record: record.get("unpriced", 0)),
    "world": (int, "campaigns.world"),
    "cost": (float, "campaigns.cost"),
    "activated_vertices": (int, "campaigns.activated"),
    "rounds": (int, "campaigns.rounds"),
    "seeds": (int, "campaigns.seeds"),
    "probes": (int, "campaigns.probes"),
    **WHERE,
    **{f"time_{phase}_s": (float, f"campaigns.time_s.{phase}") for phase in PHASES},
    "time_s": (float, lambda record: round(sum(record["campaigns"]["time_s"][phase] for phase in PHASES), 6)),
}

KINDS = {
    "merit-campaigns": record_kind({**INSTANCE, "policy": str, "eta": int}, "merit run", CAMPAIGN, each="campaigns")
}
"""The table: one row per campaign. Times exclude files, loading and the hidden world."""

VIEWS: dict[str, tuple[str, Callable[[Row], float]]] = {
    "cost": ("cost of a campaign", lambda row: row["cost"]),
    "time": ("time of a campaign, s", lambda row: row["time_s"]),
}
"""The views drawn against η: title of the axis, and value. The view ``phases`` has bars."""


def plot(rows: list[Row], graph: str, model: str, view: str, path: str) -> None:
    """Draw cost or time against η (mean and range over the hidden worlds), or the phases at the largest η.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``merit-campaigns``.
    graph, model, view : str
        What to draw; the view is a key of :data:`VIEWS` or ``phases``.
    path : str
        The file to write, as :func:`gpukit.report.figure.draw` does.

    Raises
    ------
    UsageError
        If the table has no such instance, or matplotlib is not installed.
    """
    chosen = rows_of(rows, graph, model)
    name = f"merit-{view}-{graph}-{model}"
    if view == "phases":
        largest = max(row["eta"] for row in chosen)
        groups = [(name, own) for policy, name in POLICIES.items() if (own := of(chosen, policy=policy, eta=largest))]
        parts = [
            (phase, colour, [mean(row[f"time_{phase}_s"] for row in own) for _, own in groups])
            for phase, colour in zip(PHASES, SERIES, strict=False)
        ]
        labels = [title for title, _ in groups]
        draw_bars(path, name, labels, parts, axis=f"seconds of a campaign, η = {largest:,}", total="{:.2f} s")
        return
    axis, value = VIEWS[view]
    etas = sorted({row["eta"] for row in chosen})
    with draw(path, name, (4.4, 3.5)) as (figure, axes):
        for number, policy in enumerate(POLICIES):
            points = [(eta, [value(row) for row in own]) for eta in etas if (own := of(chosen, policy=policy, eta=eta))]
            if points:
                # Draw means, and bars from the least to the largest world; rounding must not make a bar negative.
                middle = [mean(values) for _, values in points]
                below = [max(m - min(values), 0.0) for m, (_, values) in zip(middle, points, strict=True)]
                above = [max(max(values) - m, 0.0) for m, (_, values) in zip(middle, points, strict=True)]
                aside = 0.012 * etas[-1] * (number - 1)  # otherwise equal policies would hide each other
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
        name_axes(axes, "η, vertices to activate", axis, f"{graph}, {MODELS.get(model, model)}")
        legend(figure, axes, columns=2)


def section(parts: Parts) -> dict[str, Any]:
    """Return the data of the template ``merit.html.j2``, from the table ``merit-campaigns``."""
    rows = parts.rows("merit-campaigns")
    instances: list[dict[str, Any]] = []
    for graph, model in dict.fromkeys((row["graph"], row["model"]) for row in rows):
        own = of(rows, graph=graph, model=model)
        etas = sorted({row["eta"] for row in own})
        lines = [
            _line(policy, eta, found)
            for eta in etas
            for policy in POLICIES
            if (found := of(own, policy=policy, eta=eta))
        ]
        ours = of(lines, policy="coupled")
        if not ours or ours[-1]["eta"] != etas[-1]:
            raise InputError(f"the table of campaigns has no rows of coupled for η = {etas[-1]} on {graph} ({model})")
        instances.append(
            {
                "graph": graph,
                "model": MODELS.get(model, model),
                "anchor": f"merit-{len(instances) + 1}",
                "run": own[0],
                "last": ours[-1],
                "costs": _costs([line for line in lines if line["eta"] == etas[-1]]),
                "slowest": _slowest(of(own, policy="coupled", eta=etas[-1])),
                "lines": lines,
                "reached": all(row["activated_vertices"] >= row["eta"] for row in own),
                "agree": _agree(own),
                "figures": {view: parts.figure(f"merit-{view}/{graph}/{model}") for view in (*VIEWS, "phases")},
            }
        )
    return {"instances": instances}


def _line(policy: str, eta: int, found: list[Row]) -> dict[str, Any]:
    """Return mean and range over the worlds of a policy's campaigns with one target."""
    line: dict[str, Any] = {"policy": policy, "name": POLICIES[policy], "eta": eta, "worlds": len(found)}
    for column in ("cost", "time_s", "rounds", "seeds", "probes"):
        values = [row[column] for row in found]
        line[column] = {"mean": mean(values), "low": min(values), "high": max(values)}
    return line


def _agree(rows: list[Row]) -> bool | None:
    """Return whether redrawing all sets led to the same campaigns in every world; None if this was not run."""
    facts: dict[str, dict[tuple[int, int], tuple[float, int, int, int]]] = {"coupled": {}, "regenerate": {}}
    for row in rows:
        if row["policy"] in facts:
            outcome = (row["cost"], row["activated_vertices"], row["rounds"], row["seeds"])
            facts[row["policy"]][row["eta"], row["world"]] = outcome
    return facts["coupled"] == facts["regenerate"] if facts["regenerate"] else None


def _costs(lines: list[dict[str, Any]]) -> str:
    """Return a sentence on the policy that reaches the largest target at the least cost."""
    costs = {line["name"]: line["cost"]["mean"] for line in lines}
    least = min(costs, key=lambda name: costs[name])
    if max(costs.values()) == costs[least]:
        return f"At η = {lines[0]['eta']:,} a campaign costs {costs[least]:.2f}, whichever way the sets are kept."
    return f"At η = {lines[0]['eta']:,} the cheapest is {least}, at {costs[least]:.2f} on average."


def _slowest(rows: list[Row]) -> str:
    """Return a sentence on the phase that takes most of MERIT's time."""
    spent = {phase: mean(row[f"time_{phase}_s"] for row in rows) for phase in PHASES}
    phase = max(spent, key=lambda name: spent[name])
    return f"MERIT spends most on the phase {phase}: {spent[phase]:.2f} s of a campaign."
