"""The rebuilt tables and figures of a paper: measured and printed values side by side.

The printed values are typed from the papers' text, in ``workflow/paper``. For figures these are the values in the text.
"""

from collections.abc import Mapping
from statistics import geometric_mean, mean, median, stdev
from typing import Any

from gpukit.errors import InputError, UsageError
from gpukit.papers.report import items
from gpukit.papers.report.items import ITEMS, NAMES
from gpukit.papers.report.observations import Item, Observation
from gpukit.report.figure import draw, legend, line_style
from gpukit.report.records import NA, SEVERAL, Kind, Row, need_rows, of, read_typed
from gpukit.report.style import MUTED
from gpukit.report.text import label

COLUMNS = ("item", "graph", "data", "method", "setting", "x", "quantity", "unit", "repeats", "ours", "ours_sd", "paper")
"""Columns of a rebuilt item; :data:`NA` where there is no value."""

KEY = ("graph", "method", "x", "quantity", "unit")
"""The key of an observation and of a printed value."""

SOURCES = {"ours": "", "paper": " in the paper"}
"""The columns that are drawn, and the words that they add to the name in the legend."""

SIZES = {"vertices": "n_vertices", "edges": "m_edges"}
"""Quantities for the size of a graph, and their columns in the table of graphs."""

DEGREE = "average degree"
"""Further quantities for the size of a graph."""

SAME_SIZE = 0.05
"""Relative difference of a graph's size from the printed one, which may be rounded, up to which values share a row."""

OTHER = ", another size"
"""The words in the legend for values printed for a graph of another size; their dots are faint."""

CLOSE = ("precision", "ndcg", "spread")
"""Words in the names of quantities whose values are so close that an axis from zero would hide the differences."""

ANOTHER_SIZE = "printed for "
"""Beginning of the setting of a row with a printed value for a graph of another size."""


def _rows(path: str) -> list[Row]:
    rows = read_typed(path, dict.fromkeys(COLUMNS, str), "a table by `gpukit papers report item`")
    return [{name: row[name] for name in COLUMNS[1:]} for row in rows]


KINDS = items.KINDS | {
    "items": Kind({"publication": str, "item": str}, dict.fromkeys(COLUMNS[1:], str), _rows),
}
"""The tables that only papers need."""


def rebuild(paper: str, item: str, tables: Mapping[str, list[Row]], printed_file: str) -> list[Row]:
    """Pair measured values with the printed ones.

    Parameters
    ----------
    paper, item : str
        A key of :data:`gpukit.papers.report.items.ITEMS`, and a key of its value.
    tables : mapping of str to list of dict
        Rows of the tables that the item needs, and of ``graphs``.
    printed_file : str
        TSV file of the values that the paper prints: item, graph, method, x, quantity, unit, paper.

    Returns
    -------
    list of dict
        With the keys :data:`COLUMNS`. Repeated observations are one row, with their mean and standard deviation. A
        printed value without an observation has a separate row. So has a printed value for a graph of another size, and
        its setting says so; only the sizes themselves share a row.

    Raises
    ------
    InputError
        If the file of printed values is broken.
    UsageError
        If there is no such item, or a table is missing.
    """
    wanted = wanted_item(paper, item)
    for kind in ("graphs", *wanted.needs):
        if kind not in tables:
            raise UsageError(f"{item} needs the table {kind}; add --table {kind}=FILE")
    # Measured values: observations with the same key are repetitions.
    values: dict[tuple[str, ...], list[Observation]] = {}
    for one in wanted.observe(tables):
        values.setdefault(one.key, []).append(one)
    data = {row["graph"]: row["data"] for row in tables["graphs"]}
    typed = _printed(printed_file)
    others = _other_sizes(tables["graphs"], typed)
    left = {tuple(row[name] for name in KEY): row["paper"] for row in of(typed, item=item)}
    rows = []
    for key, several in values.items():
        found = [one.value for one in several]
        measured: Row = {"ours": _digits(mean(found)), "ours_sd": f"{stdev(found):.3g}" if len(found) > 1 else NA}
        measured |= {"setting": several[0].setting, "data": data.get(key[0], SEVERAL), "repeats": len(found)}
        beside = (key[0] not in others or several[0].quantity in (*SIZES, DEGREE)) and not several[0].apart
        rows.append(_row(item, key) | measured | {"paper": left.pop(key, NA) if beside else NA})
    # Printed values without a comparable measurement.
    for key, value in left.items():
        apart = values[key][0].apart if key in values else ""
        absent: Row = {"ours": NA, "ours_sd": NA, "setting": others.get(key[0], apart and ANOTHER_SIZE + apart)}
        rows.append(_row(item, key) | absent | {"data": data.get(key[0], NA), "repeats": 0, "paper": value})
    return rows


def _other_sizes(graphs: list[Row], typed: list[Row]) -> dict[str, str]:
    """Return the graphs whose size differs from the paper's, and the setting of values printed for these.

    A name for several graphs is among them if the size of one of its graphs differs.
    """
    found = {row["graph"]: row for row in graphs}
    sizes: dict[str, dict[str, float]] = {}
    for row in typed:
        if row["quantity"] in SIZES and row["method"] == "":
            sizes.setdefault(row["graph"], {})[row["quantity"]] = float(row["paper"])
    others = {}
    for graph, wanted in sizes.items():
        if graph in found and any(
            abs(found[graph][SIZES[name]] / value - 1) > SAME_SIZE for name, value in wanted.items()
        ):
            size, here = (
                f"{each('vertices'):,.0f} vertices, {each('edges'):,.0f} edges"
                for each in (wanted.__getitem__, lambda name, row=found[graph]: row[SIZES[name]])
            )
            others[graph] = f"{ANOTHER_SIZE}{size}; here {here}"
    together = {row["graph"] for row in typed} - sizes.keys()
    return others | {
        name: f"{ANOTHER_SIZE}other sizes of {', '.join(those)}"
        for name in together
        if (those := [graph for graph in others if name != f"all but {graph}"])
    }


def _digits(value: float) -> str:
    """Return a value with six digits, and a whole number with all digits."""
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"


def wanted_item(paper: str, item: str) -> Item:
    """Return an item of a paper by its name; raises UsageError if there is none."""
    if item not in ITEMS[paper]:
        raise UsageError(f"{paper} has no {item}; choose from {', '.join(ITEMS[paper])}")
    return ITEMS[paper][item]


def _row(item: str, key: tuple[str, ...]) -> Row:
    return {"item": item, **dict(zip(KEY, key, strict=True))}


def _printed(path: str) -> list[Row]:
    """Return the printed values of a paper, as they are typed."""
    rows = read_typed(path, dict.fromkeys(("item", *KEY, "paper"), str), "a file of printed values")
    for number, row in enumerate(rows, start=2):
        try:
            float(row["paper"])
        except ValueError:
            raise InputError(f"{path}, line {number}: {row['paper']!r} is no number") from None
    return rows


def plot_item(paper: str, item: str, rows: list[Row], path: str) -> None:
    """Draw the first quantity of an item; the paper's values are hollow.

    With an axis: lines, with one panel per graph, or one panel if there is a single method. Without: one row of dots
    per graph, and one panel per model of the quantity.

    Parameters
    ----------
    paper, item : str
        As for :func:`rebuild`.
    rows : list of dict
        Its result.
    path : str
        The file to write, as :func:`gpukit.report.figure.draw` does.

    Raises
    ------
    InputError
        If there are no rows.
    UsageError
        If there is no such item, or matplotlib is not installed.
    """
    wanted = wanted_item(paper, item)
    need_rows(rows, item)
    first_of = rows[0]["quantity"]
    head = first_of.partition(", ")[0] + ", "
    alike = {first_of, *(row["quantity"] for row in rows if not wanted.axis and row["quantity"].startswith(head))}
    rows = [row for row in rows if row["quantity"] in alike]
    quantities = list(dict.fromkeys(row["quantity"] for row in rows))
    graphs, methods = (list(dict.fromkeys(row[name] for row in rows)) for name in ("graph", "method"))
    # A line is a method, or a graph if there is a single method; with several methods each graph has a panel.
    standing = {row["graph"] for row in rows if row["data"].startswith("stand-in")}
    panels = graphs if wanted.axis and len(graphs) > 1 and len(methods) > 1 else [""]
    panels = quantities if len(quantities) > 1 else panels
    lines = graphs if wanted.axis and len(methods) == 1 else methods
    columns, deep = min(2, len(panels)), -(-len(panels) // 2)
    labels = {
        f"{_label(row, lines is graphs)}{_tail(row, source)}" for row in rows for source in SOURCES if row[source] != NA
    }
    # Entries in a row of the legend, and room for its rows below the panels.
    across = 2 if wanted.axis or max(map(len, labels)) > 20 else 3
    height = 0.9 + 2.5 * deep if wanted.axis else (1.1 + 0.34 * len(graphs)) * deep
    height += 0.2 * -(-len(labels) // across)
    with draw(path, f"{paper}-{item}", (3.6 * columns + 2.0 * (columns == 1), height)) as (figure, first):
        grid = [first]
        if len(panels) > 1:
            first.remove()
            grid = list(figure.subplots(deep, columns, sharex=True, squeeze=False).flat)
        for axes, panel in zip(grid, panels, strict=False):
            shown = [row for row in rows if panel in ("", row["graph"], row["quantity"])]
            for number, line in enumerate(lines):
                points = [row for row in shown if line == row["graph" if lines is graphs else "method"]]
                if points:
                    name = _label(points[0], lines is graphs)
                    _draw_points(axes, points, number, name, None if wanted.axis else graphs)
            # All panels have the same kind of scale, so that they can be compared.
            _scale(axes, wanted, rows, shown[0]["quantity"])
            axes.grid(True)
            axes.tick_params(labelbottom=True)
            if panel:
                axes.set_title(label(f"{panel}, a stand-in" if panel in standing else panel), loc="left")
        # With an odd number of panels one place of the grid remains empty.
        for axes in grid[len(panels) :]:
            axes.remove()
        for axes in () if wanted.axis else grid[: len(panels)]:
            axes.set_yticks(range(len(graphs)), [label(graph) for graph in graphs])
            axes.set_ylim(len(graphs) - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
        note = f"synthetic stand-ins: {len(standing)} of {len(graphs)} graphs" if standing else ""
        if len(panels) > 1:
            title = f"{wanted.title}; {note}" if note and not wanted.axis else wanted.title
            figure.suptitle(title, x=0.01, ha="left", fontsize=10.5)
        else:
            first.set_title(wanted.title, loc="left", pad=18 if standing else 6)
            if standing:
                first.annotate(note, (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", color=MUTED)
        legend(figure, grid[: len(panels)], columns=across)


def _draw_points(axes: Any, rows: list[Row], number: int, name: str, places: list[str] | None) -> None:
    """Draw ours as a line over x, or as dots at the places of the graphs, and the paper's as hollow dots."""
    style = line_style(number)
    dots = {"color": style["color"], "marker": style["marker"]}
    looks: dict[str, dict[str, Any]] = {
        "ours": {"markersize": 5},
        "paper": {"markerfacecolor": "none", "markersize": 7.5},
    }
    groups: dict[tuple[str, str], list[Row]] = {}
    for source in looks:
        for row in rows:
            if row[source] != NA:
                groups.setdefault((source, _tail(row, source)), []).append(row)
    for (source, tail), points in groups.items():
        text, look = label(name + tail), looks[source]
        values = [float(row[source]) for row in points]
        across = [float(row["x"]) for row in points] if places is None else values
        up = values if places is None else [places.index(row["graph"]) for row in points]
        stroke = style["linestyle"] if places is None and source == "ours" else "none"
        axes.plot(across, up, label=text, linestyle=stroke, **dots, **look, alpha=0.45 if OTHER in tail else 1)


def _tail(row: Row, source: str) -> str:
    """Return the words in the legend about a value, after the name of its line."""
    other = source == "paper" and row["setting"].startswith(ANOTHER_SIZE)
    return SOURCES[source] + (OTHER if other else "")


def _label(row: Row, with_graph: bool) -> str:
    """Return the name of a row's line or dot in the legend."""
    return f"{row['graph']} {name_of(row['method'])}".strip() if with_graph else name_of(row["method"]) or "graph"


def name_of(method: str) -> str:
    """Return the display name of a method; text after a comma is unchanged."""
    head, comma, rest = method.partition(", ")
    return NAMES.get(method) or NAMES.get(head, head) + comma + rest


def _scale(axes: Any, wanted: Item, rows: list[Row], quantity: str) -> None:
    """Name the axes.

    An axis is logarithmic if its values require it; otherwise it begins at zero, unless values are close.
    """
    logarithmic = _geometric([float(row[source]) for row in rows for source in SOURCES if row[source] != NA])
    unit = rows[0]["unit"]
    axis, set_scale = (axes.yaxis, axes.set_yscale) if wanted.axis else (axes.xaxis, axes.set_xscale)
    axis.set_label_text(label(f"{quantity}, {unit}" if unit != "1" else quantity))
    set_scale("log" if logarithmic else "linear")
    if logarithmic:
        axis.set_minor_formatter("")
    elif not any(word in quantity for word in CLOSE):
        highest, set_limits = (axes.dataLim.ymax, axes.set_ylim) if wanted.axis else (axes.dataLim.xmax, axes.set_xlim)
        set_limits(0, 1.05 * highest or 1)
    if wanted.axis:
        if not logarithmic:
            axes.ticklabel_format(axis="y", useOffset=False)
        axes.set_xscale("log" if _geometric([float(row["x"]) for row in rows if row["x"] != ""]) else "linear")
        axes.set_xlabel(wanted.axis)


def _geometric(values: list[float]) -> bool:
    """Return whether values span a decade, and their ratios are spread more evenly than their differences."""
    if min(values) <= 0 or max(values) <= 10 * min(values):
        return False
    return abs(median(values) - geometric_mean(values)) < abs(median(values) - mean(values))
