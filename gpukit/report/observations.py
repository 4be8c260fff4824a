"""What the tables and figures of papers consist of: observations, and how they come out of the tables of the report."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gpukit.report.records import Row

Tables = Mapping[str, list[Row]]


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


@dataclass(frozen=True)
class Item:
    """A table or figure: title, name of the axis (a figure's), the kinds of table it needs, and what it is made of."""

    title: str
    axis: str
    needs: tuple[str, ...]
    observe: Callable[[Tables], Iterator[Observation]]
