"""A paper's tables and figures rebuilt: what was measured here beside the value that the paper prints.

The printed values are typed from the papers' text, in ``workflow/paper``; of figures, those that it repeats.
"""

from collections.abc import Iterator, Mapping
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from gpukit.errors import InputError, UsageError
from gpukit.report import paper_items
from gpukit.report.figure import draw, legend
from gpukit.report.files import read_text
from gpukit.report.observations import Item, Observation
from gpukit.report.paper_items import ITEMS, NAMES
from gpukit.report.records import Kind, Row, need_rows
from gpukit.report.style import MARKERS, MUTED, SERIES

if TYPE_CHECKING:
    from gpukit.report.page import Parts

COLUMNS = ("item", "graph", "data", "method", "setting", "x", "quantity", "unit", "repeats", "ours", "ours_sd", "paper")
"""Columns of a rebuilt item; NA where there is no value."""

NA = "NA"


def _rows(path: str) -> list[Row]:
    header, *lines = read_text(path).splitlines() or [""]
    if header.split("\t") != list(COLUMNS):
        raise InputError(
            f"{path} is not a table by `gpukit report paper`: its first line must name {', '.join(COLUMNS)}"
        )
    rows = [dict(zip(COLUMNS, line.split("\t"), strict=False)) for line in lines]
    return [{name: row.get(name, "") for name in COLUMNS[1:]} for row in rows]


KINDS = paper_items.KINDS | {
    "items": Kind(dict.fromkeys(("publication", *COLUMNS), str), ("publication", "item"), _rows),
}
"""The tables that only papers need."""


def section(parts: "Parts") -> dict[str, Any]:
    """Return what the template ``paper.html.j2`` shows, out of the table ``items``."""
    items: dict[str, dict[str, Any]] = {}
    for row in parts.rows("items"):
        wanted = _item(row["publication"], row["item"])
        item = items.setdefault(
            row["item"],
            {
                "name": row["item"].replace("-", " "),
                "anchor": f"item-{row['item']}",
                "title": wanted.title,
                "axis": wanted.axis,
                "figure": parts.figure(f"item/{row['item']}"),
                "rows": [],
            },
        )
        item["rows"].append(row | {"name": NAMES.get(row["method"], row["method"])})
    for item in items.values():
        item["stand_ins"] = {row["graph"]: row["data"] for row in item["rows"] if row["data"].startswith("stand-in")}
    settings = {row["setting"] for row in parts.rows("items")}
    devices = sorted({setting.rpartition("; ")[2] for setting in settings if "; " in setting})
    return {"items": list(items.values()), "devices": devices}


def rebuild(paper: str, item: str, tables: Mapping[str, list[Row]], printed_file: str) -> list[Row]:
    """Set what was measured beside what the paper prints.

    Parameters
    ----------
    paper, item : str
        A key of :data:`gpukit.report.paper_items.ITEMS`, and one below it.
    tables : mapping of str to list of dict
        Rows of the tables that the item needs, and of ``graphs``.
    printed_file : str
        TSV file of the values that the paper prints: item, graph, method, x, quantity, unit, paper.

    Returns
    -------
    list of dict
        With the keys :data:`COLUMNS`. Repeated observations are one row, with their mean and standard deviation; a
        printed value without an observation is a row of its own.

    Raises
    ------
    InputError
        If the file of printed values is broken.
    UsageError
        If there is no such item, or a table is missing.
    """
    wanted = _item(paper, item)
    for kind in ("graphs", *wanted.needs):
        if kind not in tables:
            raise UsageError(f"{item} needs the table {kind}; add --table {kind}=FILE")
    values: dict[tuple[str, ...], list[Observation]] = {}
    for one in wanted.observe(tables):
        values.setdefault(one.key, []).append(one)
    data = {row["graph"]: row["data"] for row in tables["graphs"]}
    left = dict(_printed(printed_file, item))
    rows = []
    for key, several in values.items():
        found = [one.value for one in several]
        measured: Row = {"ours": f"{mean(found):.6g}", "ours_sd": f"{stdev(found):.3g}" if len(found) > 1 else NA}
        measured |= {"setting": several[0].setting, "data": data.get(key[0], "stand-in"), "repeats": len(found)}
        rows.append(_row(item, key) | measured | {"paper": left.pop(key, NA)})
    absent: Row = {"ours": NA, "ours_sd": NA, "setting": "", "repeats": 0}
    rows += [_row(item, key) | absent | {"data": data.get(key[0], NA), "paper": value} for key, value in left.items()]
    return rows


def _item(paper: str, item: str) -> Item:
    if item not in ITEMS[paper]:
        raise UsageError(f"{paper} has no {item}; choose from {', '.join(ITEMS[paper])}")
    return ITEMS[paper][item]


def _row(item: str, key: tuple[str, ...]) -> Row:
    return {"item": item, **dict(zip(("graph", "method", "x", "quantity", "unit"), key, strict=True))}


def _printed(path: str, item: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (key, value) of the printed values of an item."""
    header, *lines = read_text(path).splitlines() or [""]
    if header.split("\t") != ["item", "graph", "method", "x", "quantity", "unit", "paper"]:
        raise InputError(f"{path} is not a file of printed values: item, graph, method, x, quantity, unit, paper")
    for number, line in enumerate(lines, start=2):
        try:
            name, graph, method, x, quantity, unit, value = line.split("\t")
            float(value)
        except ValueError:
            raise InputError(f"{path}, line {number}: {line[:80]!r} does not fit the first line") from None
        if name == item:
            yield (graph, method, x, quantity, unit), value


def plot_item(paper: str, item: str, rows: list[Row], path: str) -> None:
    """Draw the first quantity of an item: lines over the axis, or a row of dots for each graph; the paper's are hollow.

    Parameters
    ----------
    paper, item : str
        As for :func:`rebuild`.
    rows : list of dict
        What it returned.
    path : str
        The SVG file to write.

    Raises
    ------
    InputError
        If there are no rows.
    UsageError
        If there is no such item, or matplotlib is not installed.
    """
    wanted = _item(paper, item)
    need_rows(rows, item)
    quantity, unit = rows[0]["quantity"], rows[0]["unit"]
    rows = [row for row in rows if row["quantity"] == quantity]
    graphs, methods = (list(dict.fromkeys(row[name] for row in rows)) for name in ("graph", "method"))
    size = (5.6, 3.8) if wanted.axis else (5.6, 1.6 + 0.34 * len(graphs))
    with draw(path, f"{paper}-{item}", size) as (figure, axes):
        series = (
            [(graph, method) for graph in graphs for method in methods]
            if wanted.axis
            else [("", method) for method in methods]
        )
        for graph, method in series:
            hue = graphs.index(graph) if wanted.axis else methods.index(method)
            style: dict[str, Any] = {"color": SERIES[hue % len(SERIES)]}
            style["marker"] = MARKERS[(methods.index(method) if wanted.axis else hue) % len(MARKERS)]
            for source, look in (("ours", {}), ("paper", {"markerfacecolor": "none", "markersize": 7.5})):
                points = [row for row in rows if row["method"] == method and graph in ("", row["graph"])]
                points = [row for row in points if row[source] != NA]
                if not points:
                    continue
                name = NAMES.get(method, method) or "graph"
                label = " ".join(filter(None, (graph, name, "in the paper" if source == "paper" else "")))
                values = [float(row[source]) for row in points]
                if wanted.axis:
                    line = "-" if source == "ours" else "none"
                    axes.plot([float(row["x"]) for row in points], values, label=label, linestyle=line, **style, **look)
                else:
                    places = [graphs.index(row["graph"]) for row in points]
                    axes.plot(values, places, label=label, linestyle="none", **style, **look)
        _scale(axes, wanted, rows, f"{quantity}, {unit}" if unit != "1" else quantity)
        if not wanted.axis:
            axes.set_yticks(range(len(graphs)), graphs)
            axes.set_ylim(len(graphs) - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
        standing = {row["graph"] for row in rows if row["data"].startswith("stand-in")}
        axes.set_title(wanted.title, loc="left", pad=18 if standing else 6)
        if standing:
            note = f"synthetic stand-ins: {len(standing)} of {len(graphs)} graphs"
            axes.annotate(note, (0, 1), (0, 5), xycoords="axes fraction", textcoords="offset points", color=MUTED)
        axes.grid(True)
        legend(figure, axes, columns=2 if wanted.axis else 3)


def _scale(axes: Any, wanted: Item, rows: list[Row], name: str) -> None:
    """Name the axes, and make those logarithmic whose values span a decade."""
    values = [float(row[source]) for row in rows for source in ("ours", "paper") if row[source] != NA]
    logarithmic = min(values) > 0 and max(values) > 10 * min(values)
    if not wanted.axis:
        axes.set_xlabel(name)
        axes.set_xscale("log" if logarithmic else "linear")
        return
    axes.set_ylabel(name)
    axes.set_yscale("log" if logarithmic else "linear")
    places = [float(row["x"]) for row in rows if row["x"] != ""]
    if not logarithmic:
        axes.ticklabel_format(axis="y", useOffset=False)
    axes.set_xscale("log" if max(places) > 20 * min(places) > 0 else "linear")
    axes.set_xlabel(wanted.axis)
