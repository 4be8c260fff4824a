"""Edges in a sheet of Excel: its rows are read as the lines of a CSV, so that what is said of that holds here, too."""

import csv
import io
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any

from gpukit.errors import InputError, UsageError
from gpukit.graph.read.edgelist import EdgeList, ReadOptions, in_one_line, library
from gpukit.graph.read.text import read_text
from gpukit.wording import spelled

TITLE = "Excel"


def read_workbook(name: str, content: bytes, options: ReadOptions, weights: float) -> EdgeList:
    """Read the edges in a workbook: in its only sheet that holds something, or in the one that was named.

    The number of a row stands for that of a line. Of formulas the values count that Excel has kept.

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
        If it cannot be read, it cannot be told which sheet is meant, or a row is no edge.
    UsageError
        If openpyxl is missing, or what is said does not fit.
    """
    if options.separator is not None:
        raise UsageError(
            f"{name} is a workbook of {TITLE}, where nothing separates columns; leave {spelled('sep')} out"
        )
    openpyxl = library(name, f"a workbook of {TITLE}", "openpyxl", "excel")
    with in_one_line(name, TITLE):
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheets = {sheet.title: [*sheet.iter_rows(values_only=True)] for sheet in book.worksheets}
    rows = sheets[_sheet(name, sheets, options.sheet)]
    text = io.StringIO()
    point = options.decimal or "."
    lines = ([_word(cell, point) for cell in row] for row in rows)
    csv.writer(text, lineterminator="\n").writerows(line if any(line) else [] for line in lines)
    told = replace(options, separator="comma")
    listed = read_text(name, iter([(1, text.getvalue().encode())]), told, weights)
    said = listed.said | {"separator": "cell borders"}
    dialect = None if listed.dialect is None else replace(listed.dialect, between="cell borders")
    return replace(listed, said=said, dialect=dialect)


def _sheet(name: str, sheets: dict[str, list[Any]], wanted: str | None) -> str:
    """Return the title of the sheet to read."""
    filled = [title for title, rows in sheets.items() if any(one is not None for row in rows for one in row)]
    if wanted is not None and wanted not in sheets:
        raise UsageError(
            f"{spelled('sheet')}: {name} has no sheet {wanted[:40]!r}; there are {', '.join(sheets)[:120]}"
        )
    if wanted is None and len(filled) != 1:
        if not filled:
            raise InputError(f"{name} has no edges: its sheets are empty")
        raise InputError(
            f"{name} has {len(filled)} sheets ({', '.join(filled)[:120]}); {spelled('sheet')} NAME says which to read"
        )
    return wanted or filled[0]


def _word(value: Any, point: str) -> str:
    """Return what a cell says, in one line; ``point`` is what decimals begin with."""
    if value is None:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value).replace(".", point)
    if isinstance(value, datetime | date | time):
        return value.isoformat(*([" "] if isinstance(value, datetime) else []))
    return " ".join(str(value).split())
