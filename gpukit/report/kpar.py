"""kPAR in the report: its tables, figures and section of the page."""

from typing import TYPE_CHECKING, Any

from gpukit.errors import InputError
from gpukit.report.figure import draw, legend
from gpukit.report.records import DEVICE, Kind, Row, device_columns, need_rows, record_of, rows_of, work_seconds
from gpukit.report.style import MARKERS, RANKINGS, SERIES
from gpukit.report.text import label

if TYPE_CHECKING:
    from gpukit.report.parts import Parts

BEST = 10
"""Places of an answer that are shown."""

GRID = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0)
"""Steps of a decade at which the distribution of ω_I is counted."""


def _times(path: str) -> list[Row]:
    with record_of(path, "kpar rank` or `gpukit kpar index") as record:
        seconds = record["time_s"]
        row = {
            "n_vertices": record["graph"]["n"],
            "m_edges": record["graph"]["m"],
            **device_columns(record),
            "time_work_s": round(work_seconds(record), 6),
            "time_total_s": float(seconds["total"]),
        }
    return [row]


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
    most = int(arrivals[-1]) if len(arrivals) else 0
    limits = sorted({round(step * 10**power) for power in range(len(str(most))) for step in GRID} | {most})
    return [
        {"omega_i_walks": limit, "vertices": int(len(arrivals) - np.searchsorted(arrivals, limit))}
        for limit in limits
        if 0 < limit <= most
    ]


def _queries(path: str) -> list[Row]:
    with record_of(path, "kpar query") as record:
        seconds = record["time_s"]
        row = {
            "queries": len(record["results"]),
            **device_columns(record),
            "time_answer_s": float(seconds["power"] if "power" in seconds else seconds["query"]),
            "time_index_s": float(seconds.get("index", 0.0)),
            "index_bytes": record.get("index_bytes", 0),
            "time_total_s": float(seconds["total"]),
        }
    return [row]


def _quality(path: str) -> list[Row]:
    names = ("queries", "precision", "ndcg", "violations", "positions", "max_error")
    with record_of(path, "evaluate ppr") as record:
        return [
            {name: record[name] for name in names} | {name: record["params"][name] for name in ("alpha", "epsilon")}
        ]


def _answers(path: str) -> list[Row]:
    """Return the first places of the first answer that is longer than one, or of the first."""
    from gpukit.artifacts import read_topk

    a = read_topk(path).arrays
    lengths = a["offsets"][1:] - a["offsets"][:-1]
    if not len(lengths):
        return []
    q = int((lengths > 1).argmax())
    part = slice(a["offsets"][q], min(a["offsets"][q + 1], a["offsets"][q] + BEST))
    own = a["sources"][a["source_offsets"][q] : a["source_offsets"][q + 1]].tolist()
    originals = dict(zip(a["internal"].tolist(), a["nodes"].tolist(), strict=True))
    source = "+".join(str(originals.get(vertex, "?")) for vertex in own)
    return [
        {"source": source, "place": place, "vertex": int(vertex), "score": float(score) / 2.0**62}
        for place, (vertex, score) in enumerate(zip(a["nodes"][part], a["scores"][part], strict=True), start=1)
    ]


_GRAPH: dict[str, type] = {"graph": str}
_ANSWERS: dict[str, type] = {"graph": str, "method": str, "k": int}

KINDS = {
    "kpar-times": Kind(
        {**_GRAPH, "step": str, "n_vertices": int, "m_edges": int, **DEVICE}
        | {"time_work_s": float, "time_total_s": float},
        ("graph", "step"),
        _times,
    ),
    "kpar-index": Kind(
        {**_GRAPH, "n_vertices": int, "entries": int, "frequent_entries": int, "index_bytes": int}, ("graph",), _index
    ),
    "kpar-arrivals": Kind({**_GRAPH, "omega_i_walks": int, "vertices": int}, ("graph",), _arrivals),
    "kpar-queries": Kind(
        {**_ANSWERS, "queries": int, **DEVICE, "time_answer_s": float, "time_index_s": float}
        | {"index_bytes": int, "time_total_s": float},
        ("graph", "method", "k"),
        _queries,
    ),
    "kpar-quality": Kind(
        {**_ANSWERS, "queries": int, "precision": float, "ndcg": float, "violations": int, "positions": int}
        | {"max_error": float, "alpha": float, "epsilon": float},
        ("graph", "method", "k"),
        _quality,
    ),
    "kpar-answers": Kind(
        {"graph": str, "method": str, "source": str, "place": int, "vertex": int, "score": float},
        ("graph", "method"),
        _answers,
    ),
}
"""The tables. ``time_work_s`` is the time without files and loading; ``time_answer_s`` that of all queries together,
``time_index_s`` and ``index_bytes`` are those of an index which a competitor builds for itself."""

QUANTITIES = {
    "time": ("kpar-queries", "time of a query, ms"),
    "precision": ("kpar-quality", "precision@k"),
    "ndcg": ("kpar-quality", "NDCG@k"),
}
"""What is drawn against k: the kind of table it comes from, and the name of the axis."""


def query_ms(row: Row) -> float:
    """Return the mean time of a query in milliseconds."""
    return row["time_answer_s"] * 1e3 / row["queries"]


def plot_curve(rows: list[Row], graph: str, quantity: str, path: str) -> None:
    """Draw a quantity against k, a line for each method.

    Parameters
    ----------
    rows : list of dict
        A table of the kind that :data:`QUANTITIES` names.
    graph, quantity : str
        What to draw.
    path : str
        The SVG file to write.

    Raises
    ------
    UsageError
        If the table has no such graph, or matplotlib is not installed.
    """
    chosen = rows_of(rows, graph)
    with draw(path, f"kpar-{quantity}-{graph}", (4.4, 3.2)) as (figure, axes):
        from matplotlib.ticker import LogLocator

        ticks = sorted({row["k"] for row in chosen})
        for method, colour, marker in zip(RANKINGS, SERIES, MARKERS, strict=False):
            points = sorted((row for row in chosen if row["method"] == method), key=lambda row: row["k"])
            values = [query_ms(row) if quantity == "time" else row[quantity] for row in points]
            line = {"label": RANKINGS[method], "color": colour, "linewidth": 1.6}
            if method == "truth" and values:  # its time does not depend on k
                axes.axhline(values[-1], linestyle=(0, (4, 3)), **line)
            elif values:
                axes.plot([row["k"] for row in points], values, marker=marker, markersize=4.5, **line)
        axes.set_xscale("log")
        axes.set_xticks(ticks, [f"{k:,}" for k in ticks])
        if quantity == "time":
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
        else:
            low = min(row[quantity] for row in chosen)
            axes.set_ylim(1 - 1.15 * max(1 - low, 1e-6), 1 + 0.05 * max(1 - low, 1e-6))
            axes.ticklabel_format(axis="y", useOffset=False)
        axes.minorticks_off()
        axes.set_xlabel("k")
        axes.set_ylabel(QUANTITIES[quantity][1])
        axes.set_title(label(graph))
        axes.grid(True)
        legend(figure, axes)


def plot_arrivals(rows: list[Row], path: str) -> None:
    """Draw how many vertices have at least how many walks of the index ending at them.

    Parameters
    ----------
    rows : list of dict
        A table of kind ``kpar-arrivals``.
    path : str
        The SVG file to write.

    Raises
    ------
    InputError
        If the table has no rows.
    UsageError
        If matplotlib is not installed.
    """
    need_rows(rows, "the table of arrivals")
    graphs = dict.fromkeys(row["graph"] for row in rows)
    with draw(path, "arrivals", (5.2, 3.4)) as (figure, axes):
        for number, graph in enumerate(graphs):
            points = [row for row in rows if row["graph"] == graph]
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
        axes.set_xlabel("walks of the index that end at a vertex")
        axes.set_ylabel("vertices with at least as many")
        axes.grid(True)
        legend(figure, axes, columns=3)


def section(parts: "Parts") -> dict[str, Any]:
    """Return what the template ``kpar.html.j2`` shows, out of the tables whose names begin with ``kpar``."""
    times, sizes, best = parts.rows("kpar-times"), parts.rows("kpar-index"), parts.rows("kpar-answers")
    quality = {(row["graph"], row["method"], row["k"]): row for row in parts.rows("kpar-quality")}
    queries = parts.rows("kpar-queries")
    graphs: list[dict[str, Any]] = []
    for size in sizes:
        graph = size["graph"]
        own = [row for row in queries if row["graph"] == graph]
        rows = [
            {"name": RANKINGS[row["method"]], "ms": query_ms(row), **row, **found}
            for row in own
            if (found := quality.get((graph, row["method"], row["k"])))
        ]
        kpar = [row for row in rows if row["method"] == "kpar"]
        exact = [row for row in own if row["method"] == "truth"]
        if not kpar or not exact:
            raise InputError(f"the tables of queries and quality lack the rows of kpar or the truth on {graph}")
        truth = {row["vertex"]: row for row in best if (row["graph"], row["method"]) == (graph, "truth")}
        answer = [row for row in best if (row["graph"], row["method"]) == (graph, "kpar")]
        graphs.append(
            {
                "name": graph,
                "anchor": f"kpar-{len(graphs) + 1}",
                "size": size,
                "steps": {row["step"]: row for row in times if row["graph"] == graph},
                "rows": rows,
                "last": max(kpar, key=lambda row: row["k"]),
                "exact_ms": query_ms(exact[-1]),
                "violations": sum(row["violations"] for row in kpar),
                "positions": sum(row["positions"] for row in kpar),
                "answer": answer,
                "truth": truth,
                "figures": {name: parts.figure(f"kpar-{name}/{graph}") for name in QUANTITIES},
            }
        )
    return {"graphs": graphs, "arrivals": parts.figure("arrivals")}
