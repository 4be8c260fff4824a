"""Structural diversity in the report: its tables, figures and section of the page."""

from functools import partial
from itertools import zip_longest
from typing import Any

from gpukit.errors import InputError
from gpukit.report.figure import draw_bars
from gpukit.report.parts import Parts
from gpukit.report.records import (
    INSTANCE,
    WHERE,
    Fields,
    Kind,
    Row,
    longest,
    need_rows,
    of,
    phase_fields,
    record_kind,
)
from gpukit.report.style import CIRCLES, GRID, MUTED, SERIES
from gpukit.report.text import vertex
from gpukit.wording import tied

PHASES = ("read", "load", "triangles", "bounds", "scores", "contexts")
SHOWN = 10
"""Number of vertices of an answer that the page lists."""


MISTAKES = ("wrong_scores", "wrong_contexts", "misplaced", "missed")
"""Kinds of errors that a check can find; a record lists the vertices of each."""

RUN: Fields = {
    "n_vertices": (int, "graph.n"),
    "m_edges": (int, lambda record: record["graph"]["m"] // 2),
    "directions": (str, lambda record: "ignored" if record["symmetrised"] else "none"),
    "k": (int, "params.k"),
    "t": (int, "params.t"),
    "score_best": (int, lambda record: record["top"][0]["score"]),
    "score_last": (int, lambda record: record["top"][-1]["score"]),
    "scored_vertices": (int, "scored"),
    **WHERE,
    **phase_fields(PHASES),
}


def _count(record: dict[str, Any], kind: str) -> int:
    return len(record[kind])


CHECK: Fields = {
    "listed": (int, "listed"),
    "checked_others": (int, "checked"),
    **{kind: (int, partial(_count, kind=kind)) for kind in MISTAKES},
}


def _top(path: str) -> list[Row]:
    from gpukit.artifacts import read
    from gpukit.artifacts.labels import names_in

    found = read(path, "diversity")
    a = found.arrays
    sizes = (a["offsets"][1:] - a["offsets"][:-1]).tolist()
    return [
        {
            "rank": rank,
            "vertex": name,
            "score": int(score),
            "sizes": " ".join(map(str, sorted(sizes[first:last], reverse=True))),
        }
        for rank, (name, score, first, last) in enumerate(
            zip(names_in(found, a["vertices"]), a["scores"], a["first"][:-1], a["first"][1:], strict=True), start=1
        )
    ]


KINDS = {
    "diversity-runs": record_kind(INSTANCE, "diversity search", RUN),
    "diversity-top": Kind(INSTANCE, {"rank": int, "vertex": vertex, "score": int, "sizes": str}, _top),
    "diversity-checks": record_kind(INSTANCE, "evaluate diversity", CHECK),
}
"""The tables. ``sizes`` lists the number of members of each context, largest first."""


def plot_scores(rows: list[Row], path: str) -> None:
    """Draw the distribution of the number of contexts over the listed vertices.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``diversity-top``.
    path : str
        The file to write, as :func:`gpukit.report.figure.draw` does.

    Raises
    ------
    InputError
        If the table has no rows.
    UsageError
        If matplotlib is not installed.
    """
    need_rows(rows, "the table of vertices")
    labels = list(dict.fromkeys((row["graph"], row["model"]) for row in rows))
    levels = sorted({row["score"] for row in rows})
    # The last colour is shared by all larger scores.
    shown, rest = levels[: len(SERIES) - 1], levels[len(SERIES) - 1 :]
    groups = [([score], f"{score}") for score in shown]
    if rest:
        groups.append((rest, f"{rest[0]} to {rest[-1]}" if len(rest) > 1 else f"{rest[0]}"))
    parts = []
    for (scores, name), colour in zip(groups, SERIES, strict=False):
        counts = [sum(row["score"] in scores for row in of(rows, graph=graph, model=model)) for graph, model in labels]
        parts.append((f"{name} circle{'' if name == '1' else 's'}", colour, counts))
    draw_bars(path, "scores", [" ".join(label) for label in labels], parts, axis="vertices of the answer")


def plot_time(rows: list[Row], path: str) -> None:
    """Draw the seconds of each search by phase as stacked bars.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``diversity-runs``.
    path : str
        The file to write, as :func:`gpukit.report.figure.draw` does.

    Raises
    ------
    InputError
        If the table has no rows.
    UsageError
        If matplotlib is not installed.
    """
    need_rows(rows, "the table of runs")
    shown = dict(zip(("triangles", "bounds", "scores", "contexts"), SERIES, strict=False))
    parts = [(phase, colour, [row[f"time_{phase}_s"] for row in rows]) for phase, colour in shown.items()]
    parts.append(("load", GRID, [row["time_load_s"] for row in rows]))
    parts.append(("files and other", MUTED, [row["time_read_s"] + row["time_other_s"] for row in rows]))
    labels = [f"{row['graph']} {row['model']}" for row in rows]
    draw_bars(path, "diversity-time", labels, parts, axis="seconds", total="{:.2f} s", columns=3)


def section(parts: Parts) -> dict[str, Any]:
    """Return the data of the template ``diversity.html.j2``, from the tables whose names begin with ``diversity``."""
    checks = {(row["graph"], row["model"]): row for row in parts.rows("diversity-checks")}
    top = parts.rows("diversity-top")
    graphs: dict[str, dict[str, Any]] = {}
    for run in parts.rows("diversity-runs"):
        instance = (run["graph"], run["model"])
        vertices = of(top, graph=run["graph"], model=run["model"])
        if instance not in checks or not vertices:
            raise InputError(f"the tables of checks and of vertices lack rows of {run['model']} on {run['graph']}")
        graph = graphs.setdefault(
            run["graph"], {"name": run["graph"], "anchor": f"diversity-{len(graphs) + 1}", "run": run, "models": []}
        )
        check = checks[instance]
        listed = [row for row in vertices if row["score"]][:SHOWN]  # a vertex without circles is not an answer
        graph["models"].append(
            {
                "model": run["model"],
                "name": CIRCLES[run["model"]],
                "run": run,
                "check": check,
                "wrong": sum(check[kind] for kind in MISTAKES),
                "top": listed,
                "equal": tied([row["score"] for row in vertices], len(listed), run["n_vertices"], "circle"),
                "figure": parts.figure(f"ego/{'/'.join(instance)}"),
            }
        )
    for graph in graphs.values():
        graph["places"] = list(zip_longest(*(model["top"] for model in graph["models"])))
    return {
        "graphs": list(graphs.values()),
        "scores": parts.figure("scores"),
        "time": parts.figure("diversity-time"),
        "longest": longest(parts.rows("diversity-runs"), (*PHASES, "other")),
        "spans": _spans(top),
    }


def _spans(top: list[Row]) -> str:
    """Return a sentence on the distribution of the scores."""
    many, best = sum(row["score"] > 1 for row in top), max(row["score"] for row in top)
    listed = f"{many:,} of the {len(top):,} vertices listed {'has' if many == 1 else 'have'}"
    return f"{listed} more than one circle; the most that any has is {best:,}."
