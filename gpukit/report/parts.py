"""What the page and its sections are made of: tables, and figures as elements of a page."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpukit.errors import InputError, UsageError
from gpukit.files import read_text
from gpukit.report.records import Row
from gpukit.report.style import VARIABLES

if TYPE_CHECKING:
    from markupsafe import Markup


class Parts:
    """The tables and figures a page is made of.

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
        """Return the rows of a table; raises UsageError if it was not given."""
        if kind not in self.tables:
            raise UsageError(f"no table of {kind}; add --table {kind}=FILE")
        return self.tables[kind]

    def figure(self, name: str) -> "Markup":
        """Return a figure as an element for the page; raises UsageError if it was not given."""
        from markupsafe import Markup

        if name not in self.figures:
            raise UsageError(f"no figure for {name}; add --figure {name}=FILE")
        return Markup(_inline(self.figures[name], f"f{list(self.figures).index(name)}"))


def _inline(path: str, prefix: str) -> str:
    """Return an SVG file as an element for the page: own ids, colours as CSS variables, size from the page."""
    text = read_text(path)
    found = re.search(r"<svg\b.*</svg>", text, flags=re.DOTALL)
    if found is None:
        raise InputError(f"{path} is not an SVG file; give one that `gpukit report plot` wrote")
    svg = re.sub(r"<metadata>.*?</metadata>|<style\b.*?</style>", "", found[0], flags=re.DOTALL)
    svg = re.sub(r'(<svg\b[^>]*?) width="[^"]*" height="[^"]*"', r'\1 aria-hidden="true"', svg, count=1)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", svg)
    svg = re.sub(r"\b(font-family:|font: [0-9.]+px) '[^;\"]*", r"\1 var(--sans)", svg)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    return re.sub(r"\s*\n\s*", "\n", svg)
