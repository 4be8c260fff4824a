"""Edges in a sheet of Excel; its rows are read as the lines of a CSV, with the same rules."""

import io
import re
from dataclasses import replace
from typing import Any

from gpukit.errors import InputError, UsageError
from gpukit.graph.read.edgelist import EdgeList, ReadOptions, in_one_line, library
from gpukit.graph.read.text import read_text
from gpukit.wording import spelled

TITLE = "Excel"
BETWEEN = "cell borders"


def read_workbook(name: str, content: bytes, options: ReadOptions, weights: float) -> EdgeList:
    """Read the edges in a workbook: in its only sheet with content, or in the named sheet.

    Row numbers are used as line numbers. Formulas count with the values that Excel has stored.

    Parameters
    ----------
    name : str
        The file, for messages.
    content : bytes
    options : ReadOptions
        Without ``separator``.
    weights : float
        The highest weight, 0 to read none.

    Raises
    ------
    InputError
        If it cannot be read, the sheet is ambiguous, or a row is no edge.
    UsageError
        If openpyxl is missing, or the options do not fit.
    """
    if options.separator is not None:
        raise UsageError(f"{name} is a workbook of {TITLE}, which needs no separator; leave {spelled('sep')} out")
    library(name, f"a workbook of {TITLE}", "openpyxl", "excel")
    import pandas as pd

    with in_one_line(name, TITLE):
        sheets = pd.read_excel(
            io.BytesIO(content), sheet_name=None, header=None, dtype=str, keep_default_na=False, engine="openpyxl"
        )
    cells = sheets[_sheet(name, sheets, options.sheet)].replace(r"\s+", " ", regex=True)
    if options.decimal == ",":
        cells = cells.replace(r"^([0-9]*),([0-9]+)$", r"\1.\2", regex=True)
    text = re.sub("(?m)^,*$", "", cells.to_csv(index=False, header=False, lineterminator="\n"))
    known = replace(options, separator="comma", decimal=None)
    listed = read_text(name, iter([(1, text.encode())]), known, weights)
    dialect = None if listed.dialect is None else replace(listed.dialect, between=BETWEEN)
    return replace(listed, said=listed.said | {"separator": BETWEEN}, dialect=dialect)


def _sheet(name: str, sheets: dict[str, Any], wanted: str | None) -> str:
    """Return the title of the sheet to read."""
    there, filled = ", ".join(sheets)[:120], [title for title, cells in sheets.items() if cells.size]
    if wanted is not None and wanted not in sheets:
        raise UsageError(f"{spelled('sheet')}: {name} has no sheet {wanted[:40]!r}; there are {there}")
    if wanted is None and len(filled) != 1:
        raise InputError(
            f"{name} has {len(filled)} sheets that hold something, of {there}; {spelled('sheet')} NAME says which"
        )
    return wanted or filled[0]
