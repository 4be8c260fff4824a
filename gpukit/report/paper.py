"""A paper's tables and figures rebuilt: what was measured here beside the value that the paper prints.

Each item, ``table-2`` say, is a list of observations: of a graph, by a method, at a place x of a figure's axis, of a
quantity in a unit. The printed values are typed from the papers' text, in ``workflow/paper``; of figures, those that it
repeats.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from gpukit.errors import InputError, UsageError
from gpukit.report.figure import draw, legend
from gpukit.report.files import read_text
from gpukit.report.kpar import query_ms
from gpukit.report.records import DEVICE, Kind, Row, device_columns, device_name, phase_columns, phase_types, record_of
from gpukit.report.style import MARKERS, MUTED, SERIES

if TYPE_CHECKING:
    from gpukit.report.page import Parts

Tables = Mapping[str, list[Row]]

PHASES = ("read", "load", "transfer", "sampling", "selection", "write")


DENSITY = "ba-"
"""What the names of the graphs of gIM's figure 7 begin with; their density follows."""

NAMES = {"imm": "IMM", "ripples": "Ripples", "curipples": "cuRipples", "skim": "SKIM", "gim": "gIM"}
NAMES |= {"kpar": "kPAR", "fora": "FORA+", "monte-carlo": "Monte Carlo", "topppr": "TopPPR"}
"""Methods as people call them."""


@dataclass(frozen=True)
class Observation:
    """One value: of a graph, by a method, at x, of a quantity in a unit; ``setting`` says how it was asked for."""

    graph: str
    method: str
    x: float | str
    quantity: str
    unit: str
    value: float
    setting: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """What a printed value goes by."""
        x = f"{float(self.x):g}" if self.x != "" else ""
        return self.graph, self.method, x, self.quantity, self.unit


def _graphs(path: str) -> list[Row]:
    with record_of(path, "graph import` or `gpukit graph generate") as record:
        generator = record.get("generator")
        shown = {"undirected", "seed", "model"}
        facts = ", ".join(f"{name} {value}" for name, value in (generator or {}).items() if name not in shown)
        return [
            {
                "data": f"stand-in: {generator['model']}, {facts}" if generator else "real",
                "n_vertices": record["n"],
                "m_edges": record["m"] // 2 if record["undirected"] else record["m"],
            }
        ]


def _cells(path: str) -> list[Row]:
    with record_of(path, "gim run") as record:
        return [{"rr_sets": record["rr_sets"], **device_columns(record), **phase_columns(record, PHASES)}]


_CELL = {"graph": str, "method": str, "model": str, "k": int, "epsilon": float, "rounds": int, "sampler": str}
_CELL |= {"block": int, "grid": int, "repeat": int}

KINDS = {
    "graphs": Kind({"graph": str, "data": str, "n_vertices": int, "m_edges": int}, ("graph",), _graphs),
    "gim-cells": Kind({**_CELL, "rr_sets": int, **DEVICE, **phase_types(PHASES)}, tuple(_CELL), _cells),
}
"""The tables that only papers need: the graphs with where they come from, and runs of gIM with their settings."""


def _sizes(tables: Tables) -> Iterator[Observation]:
    for row in tables["graphs"]:
        if row["graph"].startswith(DENSITY):
            continue
        yield Observation(row["graph"], "", "", "vertices", "1", row["n_vertices"])
        yield Observation(row["graph"], "", "", "edges", "1", row["m_edges"])


def _seconds(row: Row) -> float:
    """Return the time of a run without reading the graph, loading code and writing the seeds."""
    return row["time_total_s"] - row["time_read_s"] - row["time_load_s"] - row["time_write_s"]


def _setting(row: Row) -> str:
    asked = f"{row['model']}, k {row['k']}, epsilon {row['epsilon']:g}, rounds {row['rounds']}, {row['sampler']}"
    return f"{asked}; {device_name(row)}"


def _gim_time(tables: Tables, x: str = "") -> Iterator[Observation]:
    for row in tables["gim-cells"]:
        at = row[x] if x else ""
        yield Observation(row["graph"], row["method"], at, "time", "s", _seconds(row), _setting(row))


def _gim_speed(tables: Tables, x: str = "") -> Iterator[Observation]:
    """Yield times, and the ratio of the mean times of imm and of each other method."""
    times: dict[tuple[str, Any], dict[str, list[float]]] = {}
    for row in tables["gim-cells"]:
        times.setdefault((row["graph"], row[x] if x else ""), {}).setdefault(row["method"], []).append(_seconds(row))
    yield from _gim_time(tables, x)
    for (graph, at), methods in times.items():
        for method, spent in methods.items():
            if method != "imm" and "imm" in methods:
                yield Observation(graph, method, at, "speed-up over imm", "1", mean(methods["imm"]) / mean(spent))


def _gim_shares(tables: Tables) -> Iterator[Observation]:
    for row in tables["gim-cells"]:
        for phase in ("sampling", "selection"):
            share = row[f"time_{phase}_s"] / _seconds(row)
            yield Observation(row["graph"], row["method"], "", f"share of {phase}", "1", share, _setting(row))


def _gim_density(tables: Tables) -> Iterator[Observation]:
    """Yield speeds on graphs named ``ba-R`` against the density R."""
    cells = [
        row | {"graph": "Barabási–Albert", "r": int(row["graph"].rpartition("-")[2])} for row in tables["gim-cells"]
    ]
    yield from _gim_speed({"gim-cells": cells}, "r")


def _gim_shape(tables: Tables, name: str) -> Iterator[Observation]:
    """Yield times over those of the first shape of a launch, on each graph."""
    first: dict[str, list[float]] = {}
    base = {row["graph"]: row[name] for row in reversed(tables["gim-cells"])}
    for row in tables["gim-cells"]:
        if row[name] == base[row["graph"]]:
            first.setdefault(row["graph"], []).append(_seconds(row))
    for row in tables["gim-cells"]:
        value = _seconds(row) / mean(first[row["graph"]])
        quantity = f"time relative to {name} {base[row['graph']]}"
        yield Observation(row["graph"], row["method"], row[name], quantity, "1", value, _setting(row))


def _preprocessing(tables: Tables) -> Iterator[Observation]:
    for graph in dict.fromkeys(row["graph"] for row in tables["kpar-times"]):
        spent = sum(row["time_work_s"] for row in tables["kpar-times"] if row["graph"] == graph)
        yield Observation(graph, "kpar", "", "preprocessing", "s", spent)
    for graph in dict.fromkeys(row["graph"] for row in tables["kpar-queries"]):
        spent = [
            row["time_index_s"] for row in tables["kpar-queries"] if (row["graph"], row["method"]) == (graph, "fora")
        ]
        yield from (Observation(graph, "fora", "", "preprocessing", "s", value) for value in spent)
    for row in tables["kpar-index"]:
        yield Observation(row["graph"], "kpar", "", "index", "MB", row["index_bytes"] / 1e6)


def _arrivals(tables: Tables) -> Iterator[Observation]:
    for row in tables["kpar-arrivals"]:
        yield Observation(row["graph"], "kpar", row["omega_i_walks"], "vertices", "1", row["vertices"])


def _query_time(tables: Tables) -> Iterator[Observation]:
    for row in tables["kpar-queries"]:
        if row["method"] != "truth":
            setting = f"{row['queries']} queries; {device_name(row)}"
            yield Observation(row["graph"], row["method"], row["k"], "time of a query", "ms", query_ms(row), setting)


def _query_quality(tables: Tables, name: str) -> Iterator[Observation]:
    for row in tables["kpar-quality"]:
        setting = f"{row['queries']} queries, epsilon {row['epsilon']:g}"
        yield Observation(row["graph"], row["method"], row["k"], name, "1", row[name], setting)


@dataclass(frozen=True)
class Item:
    """A table or figure: title, name of the axis (a figure's), the kinds of table it needs, and what it is made of."""

    title: str
    axis: str
    needs: tuple[str, ...]
    observe: Callable[[Tables], Iterator[Observation]]


_CELLS = ("gim-cells",)

ITEMS: dict[str, dict[str, Item]] = {
    "gim": {
        "table-1": Item("Graphs", "", (), _sizes),
        "table-2": Item("Run time, k = 50, ε = 0.05, IC", "", _CELLS, _gim_speed),
        "table-3": Item("Multi-round influence, k = 10, T = 5", "", _CELLS, _gim_speed),
        "figure-3": Item("Shares of the run time", "", _CELLS, _gim_shares),
        "figure-4": Item("Run time against k, IC, ε = 0.1", "seeds k", _CELLS, lambda t: _gim_time(t, "k")),
        "figure-5": Item("Run time against k, LT, ε = 0.1", "seeds k", _CELLS, lambda t: _gim_time(t, "k")),
        "figure-6": Item("Run time against ε, k = 50", "ε", _CELLS, lambda t: _gim_time(t, "epsilon")),
        "figure-7": Item("Run time against density", "edges a vertex r", _CELLS, _gim_density),
        "figure-8a": Item("Threads of a block", "threads of a block", _CELLS, lambda t: _gim_shape(t, "block")),
        "figure-8b": Item("Blocks of a grid", "blocks", _CELLS, lambda t: _gim_shape(t, "grid")),
    },
    "kpar": {
        "table-2": Item("Graphs", "", (), _sizes),
        "table-3": Item("Preprocessing", "", ("kpar-times", "kpar-index", "kpar-queries"), _preprocessing),
        "figure-3": Item("Vertices with at least ω walks ending there", "walks ω", ("kpar-arrivals",), _arrivals),
        "figure-6": Item("Time of a query", "k", ("kpar-queries",), _query_time),
        "figure-7": Item("Precision", "k", ("kpar-quality",), lambda t: _query_quality(t, "precision")),
        "figure-8": Item("NDCG", "k", ("kpar-quality",), lambda t: _query_quality(t, "ndcg")),
    },
}
"""The items of each paper that can be rebuilt."""

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


KINDS["items"] = Kind(dict.fromkeys(("publication", *COLUMNS), str), ("publication", "item"), _rows)


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


def rebuild(paper: str, item: str, tables: Tables, printed_file: str) -> list[Row]:
    """Set what was measured beside what the paper prints.

    Parameters
    ----------
    paper, item : str
        A key of :data:`ITEMS`, and one below it.
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
    if not rows:
        raise InputError(f"{item} has no rows; there is nothing to draw")
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
