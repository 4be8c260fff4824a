"""kPAR in the report: its tables, figures and section of the page."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from gpukit.errors import InputError
from gpukit.report import records
from gpukit.report.figure import draw, legend, lines_of, name_axes
from gpukit.report.parts import Parts
from gpukit.report.records import Fields, Kind, Row, of
from gpukit.report.style import MARKERS, MUTED, RANKINGS, SERIES
from gpukit.report.text import label, vertex

BEST = 10
"""Number of places of an answer that are shown."""

GRID = (1.0, 1.25, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 6.3, 8.0)
"""Steps per decade at which the distribution of ω_I is counted; they include 3,000, which figure 3 of kPAR's paper
uses."""


TOTAL: Fields = {"time_total_s": (float, lambda record: float(record["time_s"]["total"]))}

STEP: Fields = {
    **records.SIZE,
    **records.WHERE,
    "time_work_s": (float, lambda record: round(records.work_seconds(record), 6)),
    **TOTAL,
}

QUERIES: Fields = {
    "queries": (int, lambda record: len(record["results"])),
    **records.WHERE,
    "time_answer_s": (float, lambda record: fmean(_each_time(record))),
    "time_index_s": (float, lambda record: float(record["time_s"].get("index", 0.0))),
    "index_bytes": (int, lambda record: record.get("index_bytes", 0)),
    **TOTAL,
}

QUALITY: Fields = {
    "queries": (int, "queries"),
    "precision": (float, "precision"),
    "ndcg": (float, "ndcg"),
    "violations": (int, "violations"),
    "positions": (int, "positions"),
    "max_error": (float, "max_error"),
    "alpha": (float, "params.alpha"),
    "epsilon": (float, "params.epsilon"),
}


def _answer_seconds(seconds: dict[str, float]) -> float:
    """Return the total time of all queries; the truth names this phase ``power``."""
    return float(seconds["power"] if "power" in seconds else seconds["query"])


def _each_time(record: dict[str, Any]) -> list[float]:
    """Return the total time of all queries, for each repetition."""
    return record.get("query_s") or [_answer_seconds(record["time_s"])]


def _repeats(path: str) -> list[Row]:
    with records.record_of(path, "kpar query") as record:
        return [records.values(record, QUERIES) | {"time_answer_s": float(spent)} for spent in _each_time(record)]


def _index(path: str) -> list[Row]:
    from gpukit.artifacts.describe import describe

    found = describe(path)
    if found["kind"] != "irw":
        raise InputError(f"{path} is a {found['kind']}; give an index by `gpukit kpar index`")
    lengths = {entry["path"]: entry["shape"][0] for entry in found["datasets"]}
    return [
        {
            "n_vertices": found["attributes"]["n"],
            "entries": lengths.get("starts", 0),
            "frequent_entries": lengths.get("frequencies", 0),
            "index_bytes": sum(entry["stored_bytes"] for entry in found["datasets"]),
        }
    ]


def _arrivals(path: str) -> list[Row]:
    import numpy as np

    from gpukit.artifacts import read

    lists = ("src_begin", "starts", "frequent_begin", "frequencies", "hubs")
    arrivals = np.sort(read(path, "irw", skip=lists).arrays["arrivals"])
    largest = int(arrivals[-1]) if len(arrivals) else 0
    # Use the steps of every decade, and the largest count as the end of the curve.
    limits = sorted({round(step * 10**power) for power in range(len(str(largest))) for step in GRID} | {largest})
    return [
        {"omega_i_walks": limit, "vertices": int(len(arrivals) - np.searchsorted(arrivals, limit))}
        for limit in limits
        if 0 < limit <= largest
    ]


def _answers(path: str) -> list[Row]:
    """Return the first places of the first answer with several places, or else of the first answer."""
    from gpukit.artifacts import read_topk
    from gpukit.artifacts.labels import names_in

    found = read_topk(path)
    a = found.arrays
    lengths = a["offsets"][1:] - a["offsets"][:-1]
    if not len(lengths):
        return []
    q = int((lengths > 1).argmax())
    # The shown places, and the names of the sources; ids are known if the answer contains the sources.
    part = slice(a["offsets"][q], min(a["offsets"][q + 1], a["offsets"][q] + BEST))
    own = a["sources"][a["source_offsets"][q] : a["source_offsets"][q + 1]].tolist()
    ids = dict(zip(a["internal"].tolist(), a["nodes"].tolist(), strict=True))
    source = "+".join(map(str, names_in(found, own) if "labels/vertices" in a else [ids.get(one, "?") for one in own]))
    shown = zip(names_in(found, a["nodes"][part]), a["scores"][part], strict=True)
    return [
        {"source": source, "place": place, "vertex": name, "score": float(score) / 2.0**62}
        for place, (name, score) in enumerate(shown, start=1)
    ]


ANSWER = {**records.METHOD, "k": int}

KINDS = {
    "kpar-times": records.record_kind({**records.GRAPH, "step": str}, "kpar rank` or `gpukit kpar index", STEP),
    "kpar-index": Kind(
        records.GRAPH, dict.fromkeys(("n_vertices", "entries", "frequent_entries", "index_bytes"), int), _index
    ),
    "kpar-arrivals": Kind(records.GRAPH, {"omega_i_walks": int, "vertices": int}, _arrivals),
    "kpar-queries": records.record_kind(ANSWER, "kpar query", QUERIES),
    "kpar-repeats": Kind(ANSWER, records.types(QUERIES), _repeats),
    "kpar-quality": records.record_kind(ANSWER, "evaluate ppr", QUALITY),
    "kpar-answers": Kind(records.METHOD, {"source": str, "place": int, "vertex": vertex, "score": float}, _answers),
}
"""The tables. ``time_work_s`` is the time without files and loading. ``time_answer_s`` is the time of all queries,
the mean over repetitions; ``kpar-repeats`` has one row per repetition. ``time_index_s`` and ``index_bytes`` belong
to the index that a competitor builds itself."""

QUANTITIES = {
    "time": ("kpar-queries", "time of a query, ms"),
    "precision": ("kpar-quality", "precision@k"),
    "ndcg": ("kpar-quality", "NDCG@k"),
}
"""The quantities drawn against k: the kind of table, and the title of the axis."""


def query_ms(row: Row) -> float:
    """Return the mean time of a query in milliseconds."""
    return row["time_answer_s"] * 1e3 / row["queries"]


def plot_curve(rows: list[Row], graph: str, quantity: str, path: str) -> None:
    """Draw a quantity against k, a line for each method.

    Parameters
    ----------
    rows : list of dict
        A table of the kind in :data:`QUANTITIES`.
    graph, quantity : str
        What to draw.
    path : str
        The file to write, as :func:`gpukit.report.figure.draw` does.

    Raises
    ------
    UsageError
        If the table has no such graph, or matplotlib is not installed.
    """
    chosen = records.rows_of(rows, graph)
    with draw(path, f"kpar-{quantity}-{graph}", (4.4, 3.2)) as (figure, axes):
        from matplotlib.ticker import LogLocator

        ticks = sorted({row["k"] for row in chosen})
        for number, method, points in lines_of(chosen, RANKINGS):
            values = [query_ms(row) if quantity == "time" else row[quantity] for row in points]
            exact = method == "truth"
            line = {"label": RANKINGS[method], "color": MUTED if exact else SERIES[number], "linewidth": 1.6}
            if exact:  # its time does not depend on k
                axes.axhline(values[-1], linestyle=(0, (4, 3)), **line)
            else:
                axes.plot([row["k"] for row in points], values, marker=MARKERS[number], markersize=4.5, **line)
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{k:,}" for k in ticks])
        # Times span decades. Shares crowd just below 1, so the axis ends just above 1.
        if quantity == "time":
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
        else:
            low = min(row[quantity] for row in chosen)
            axes.set_ylim(1 - 1.15 * max(1 - low, 1e-6), 1 + 0.05 * max(1 - low, 1e-6))
            axes.ticklabel_format(axis="y", useOffset=False)
        axes.minorticks_off()
        name_axes(axes, "k", QUANTITIES[quantity][1], graph)
        legend(figure, axes, columns=2)


def plot_arrivals(rows: list[Row], path: str) -> None:
    """Draw the number of vertices with at least a given number of walks of the index that end there.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``kpar-arrivals``.
    path : str
        The file to write, as :func:`gpukit.report.figure.draw` does.

    Raises
    ------
    InputError
        If the table has no rows.
    UsageError
        If matplotlib is not installed.
    """
    records.need_rows(rows, "the table of arrivals")
    graphs = dict.fromkeys(row["graph"] for row in rows)
    with draw(path, "arrivals", (4.4, 3.4)) as (figure, axes):
        for number, graph in enumerate(graphs):
            points = of(rows, graph=graph)
            axes.plot(
                [row["omega_i_walks"] for row in points],
                [row["vertices"] for row in points],
                label=label(graph),
                color=SERIES[number % len(SERIES)],
                marker=MARKERS[number % len(MARKERS)],
                markersize=3.5,
                linewidth=1.4,
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        name_axes(axes, "walks of the index that end at a vertex", "vertices with at least as many")
        legend(figure, axes, columns=2)


def section(parts: Parts) -> dict[str, Any]:
    """Return the data of the template ``kpar.html.j2``, from the tables whose names begin with ``kpar``."""
    times, sizes, best = parts.rows("kpar-times"), parts.rows("kpar-index"), parts.rows("kpar-answers")
    quality = {(row["graph"], row["method"], row["k"]): row for row in parts.rows("kpar-quality")}
    queries, arrivals = parts.rows("kpar-queries"), parts.rows("kpar-arrivals")
    graphs: list[dict[str, Any]] = []
    for size in sizes:
        graph = size["graph"]
        own = of(queries, graph=graph)
        rows = [
            {"name": RANKINGS[row["method"]], "ms": query_ms(row), **row, **found}
            for row in own
            if (found := quality.get((graph, row["method"], row["k"])))
        ]
        kpar, exact = of(rows, method="kpar"), of(own, method="truth")
        if not kpar or not exact:
            raise InputError(f"the tables of queries and quality lack the rows of kpar or the truth on {graph}")
        graphs.append(
            {
                "name": graph,
                "anchor": f"kpar-{len(graphs) + 1}",
                "size": size,
                "steps": {row["step"]: row for row in of(times, graph=graph)},
                "rows": rows,
                "last": max(kpar, key=lambda row: row["k"]),
                "exact_ms": query_ms(exact[-1]),
                "violations": sum(row["violations"] for row in kpar),
                "positions": sum(row["positions"] for row in kpar),
                "answer": of(best, graph=graph, method="kpar"),
                "truth": {row["vertex"]: row for row in of(best, graph=graph, method="truth")},
                "most": max((row["omega_i_walks"] for row in of(arrivals, graph=graph)), default=0),
                "time": parts.figure(f"kpar-time/{graph}"),
            }
        )
    return {"graphs": graphs, "arrivals": parts.figure("arrivals")}


def sources_of(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sources of queries in a configuration, and whether walks follow the weights of edges."""
    asked = configuration.get("kpar", {})
    kind = {int: "random ", type(None): ""}.get(type(asked.get("sources")), "named ")
    able = " with out-edges" if configuration.get("paper") else ""
    return {"noun": f"{kind}source", "able": able, "weighted": bool(asked.get("weighted"))}
