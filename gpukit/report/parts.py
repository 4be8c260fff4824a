"""Building blocks of the page and its sections: tables, figures as page elements, and comparisons of spreads."""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpukit.errors import InputError, UsageError
from gpukit.files import read_text
from gpukit.report.figure import lines_of
from gpukit.report.records import Row
from gpukit.report.style import VARIABLES

if TYPE_CHECKING:
    from markupsafe import Markup


class Parts:
    """The tables and figures of a page.

    Parameters
    ----------
    tables : mapping of str to list of dict
        Rows by the kind of table.
    figures : mapping of str to str
        Paths of SVG files by name.
    """

    def __init__(self, tables: Mapping[str, list[Row]], figures: Mapping[str, str]) -> None:
        self.tables = tables
        self.figures = figures

    def rows(self, kind: str) -> list[Row]:
        """Return the rows of a table; raises UsageError if it is missing."""
        if kind not in self.tables:
            raise UsageError(f"no table of {kind}; add --table {kind}=FILE")
        return self.tables[kind]

    def figure(self, name: str) -> "Markup":
        """Return a figure as an element for the page; raises UsageError if it is missing."""
        from markupsafe import Markup

        if name not in self.figures:
            raise UsageError(f"no figure for {name}; add --figure {name}=FILE")
        return Markup(_inline(self.figures[name], f"f{list(self.figures).index(name)}"))


def _inline(path: str, prefix: str) -> str:
    """Return an SVG file as an element for the page: unique ids, colours as CSS variables, size set by the page."""
    text = read_text(path)
    found = re.search(r"<svg\b.*</svg>", text, flags=re.DOTALL)
    if found is None:
        raise InputError(f"{path} is not an SVG file; give one that `gpukit report plot` wrote")
    # The page has its own style sheet, and describes each figure in words next to it.
    svg = re.sub(r"<metadata>.*?</metadata>|<style\b.*?</style>", "", found[0], flags=re.DOTALL)
    svg = re.sub(r'(<svg\b[^>]*?) width="[^"]*" height="[^"]*"', r'\1 aria-hidden="true"', svg, count=1)
    # Ids must differ from those of other figures, and references must follow them.
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", svg)
    svg = re.sub(r"\b(font-family:|font: [0-9.]+px) '[^;\"]*", r"\1 var(--sans)", svg)
    # Use CSS variables for colours, so that the dark mode of the page can change them.
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    return re.sub(r"\s*\n\s*", "\n", svg)


Curve = list[dict[str, Any]]
"""Methods in the order of the legend: ``method``, ``name``, ``points`` with the columns of a spread, sorted by k,
and ``at``, the same points by k."""


def named(methods: Mapping[str, str], rows: list[Row]) -> Mapping[str, str]:
    """Return the names of methods; seed sets named by the user follow at the end."""
    return {**methods, **{row["method"]: row["method"] for row in rows if row["method"] not in methods}}


def curve_of(spread: list[Row], methods: Mapping[str, str], called: str, where: str) -> Curve:
    """Return the spread of the methods on one instance; the system's own method is the first.

    Parameters
    ----------
    spread : list of dict
        The rows of the instance.
    methods : mapping of str to str
        Display names in the order of the legend, the system's own first.
    called : str
        How errors name a method: by ``method`` or ``name``.
    where : str
        The instance, for errors.

    Raises
    ------
    InputError
        If the system's own method was not evaluated.
    """
    methods = named(methods, spread)
    curve: Curve = [
        {"method": method, "name": methods[method], "points": points, "at": {point["k"]: point for point in points}}
        for _, method, points in lines_of(spread, methods)
    ]
    own = next(iter(methods))
    own_called = {"method": own, "name": methods[own]}[called]
    if not curve or curve[0]["method"] != own:
        raise InputError(f"the table of spreads has no rows of {own_called} {where}")
    return curve


def sizes_of(curve: Curve) -> list[int]:
    """Return the numbers of seeds at which any method was evaluated."""
    return sorted({k for method in curve for k in method["at"]})


def rival_of(curve: Curve) -> dict[str, Any]:
    """Compare a system with its best rival, at the largest number of seeds that both have.

    Returns
    -------
    dict
        ``best``: the system's point there. ``rival``: name of the best rival, or None. If there is one: ``point``, its
        own point there; ``gain``, the additional vertices that the system reaches; ``measurable``, whether this exceeds
        two standard errors.
    """
    own = curve[0]
    shared = [k for k in own["at"] if any(k in method["at"] for method in curve[1:])]
    best = own["at"][max(shared)] if shared else own["points"][-1]
    if not shared:
        return {"best": best, "rival": None}
    rivals = [method for method in curve[1:] if best["k"] in method["at"]]
    rival = max(rivals, key=lambda method: method["at"][best["k"]]["spread_vertices"])
    point = rival["at"][best["k"]]
    gain = best["spread_vertices"] - point["spread_vertices"]
    error = math.hypot(best["stderr_vertices"], point["stderr_vertices"])
    return {"best": best, "rival": rival["name"], "point": point, "gain": gain, "measurable": abs(gain) > 2 * error}
