"""Observations, which tables and figures of papers consist of, and the code that papers share to make them."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import mean
from typing import Any, TypeVar

from gpukit.report.records import WHERE, Kind, Row, device_name, types

Tables = Mapping[str, list[Row]]
Place = TypeVar("Place", bound=Hashable)

AT_LEAST = " at least"
"""Ends the name of a quantity that is a lower bound, such as the time of a run that was stopped."""


@dataclass(frozen=True)
class Observation:
    """One value: graph, method, place x, quantity, unit; ``setting`` describes the run.

    ``apart`` describes the printed value if it is not comparable.
    """

    graph: str
    method: str
    x: float | str
    quantity: str
    unit: str
    value: float
    setting: str = ""
    apart: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """The key of a printed value."""
        x = f"{float(self.x):g}" if self.x != "" else ""
        return self.graph, self.method, x, self.quantity, self.unit


@dataclass(frozen=True)
class Item:
    """A table or figure: title, name of the axis (of a figure), the needed kinds of tables, and its observations."""

    title: str
    axis: str
    needs: tuple[str, ...]
    observe: Callable[[Tables], Iterator[Observation]]


def measures(
    settings: Mapping[str, type], read: Callable[[str], list[Row]], place: Mapping[str, type] | None = None
) -> Kind:
    """Return a kind of table of measures; a row has the settings of the run, its device, a place, and one value."""
    value = {**(place or {}), "quantity": str, "unit": str, "value": float}
    return Kind({"graph": str, "measure": str}, {**settings, **types(WHERE), **value}, read)


def measure(quantity: str, unit: str, value: float) -> Row:
    """Return the columns of a measure that hold its value."""
    return {"quantity": quantity, "unit": unit, "value": value}


def sizes(rows: Iterable[Row], degree: Callable[[Row], float] | None = None) -> Iterator[Observation]:
    """Yield vertices, edges, lines of the file, and (if the paper has it) average degree of each graph in a table."""
    for row in rows:
        yield Observation(row["graph"], "", "", "vertices", "1", row["n_vertices"])
        yield Observation(row["graph"], "", "", "edges", "1", row["m_edges"])
        if row["edge_lines"]:
            yield Observation(row["graph"], "", "", "edge lines", "1", row["edge_lines"])
        if degree is not None:
            yield Observation(row["graph"], "", "", "average degree", "1", degree(row))


def setting(asked: str, row: Row) -> str:
    """Return the setting and the device of a run as a text; the page expects the device after the semicolon."""
    return f"{asked}; {device_name(row)}"


def seen(rows: Iterable[Row], said: Callable[[Row], str], **shown: str | Callable[[Row], Any]) -> Iterator[Observation]:
    """Yield rows of measures as observations.

    Parameters
    ----------
    rows : iterable of dict
        With ``graph`` and the columns of :func:`measure`; most have ``method``.
    said : callable
        Returns the setting of a row.
    shown : str or callable
        For each field of an observation its column, or a function of the row. If ``x`` is not named, it is empty.
    """
    for row in rows:
        fields = {name: row[name] for name in ("graph", "quantity", "unit", "value")}
        fields |= {"method": row.get("method", ""), "x": "", "setting": said(row)}
        fields |= {name: place(row) if callable(place) else row[place] for name, place in shown.items()}
        yield Observation(**fields)


def means(values: Iterable[tuple[Place, str, float]]) -> dict[Place, dict[str, float]]:
    """Return the mean of the values of each place (a graph with its settings) and method, in order of appearance."""
    found: dict[Place, dict[str, list[float]]] = {}
    for place, method, value in values:
        found.setdefault(place, {}).setdefault(method, []).append(value)
    return {place: {method: mean(each) for method, each in methods.items()} for place, methods in found.items()}


def speeds(spent: Mapping[Place, Mapping[str, float]], base: str) -> Iterator[tuple[Place, str, float]]:
    """Yield the speed-up of each other method over the base, at each place where the base was timed."""
    for place, methods in spent.items():
        for method, seconds in methods.items():
            if base in methods and method != base:
                yield place, method, methods[base] / seconds
