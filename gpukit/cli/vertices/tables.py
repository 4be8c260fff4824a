"""Tables as files of vertices: tables of ``gpukit export``, or others with a header; the column ``vertex`` is read."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.errors import InputError, UsageError
from gpukit.graph.lines import split

if TYPE_CHECKING:
    from gpukit.graph.labels import Labels

COLUMN = "vertex"
NUMBERS = ("cost", "costs", "weight", "weights")
"""Possible names of a column with a number for each vertex."""
_OTHERS = ("source", "target", "member", "campaign", "set", "model")
"""Columns of tables that also list other vertices, or several lists of vertices."""


def as_text(path: Path, content: bytes, needed: str | None = COLUMN) -> bytes:
    """Return a table in JSON, Parquet or Excel as CSV, one line per row; return any other file unchanged.

    ``needed`` is a required column.

    Raises
    ------
    InputError
        If the file is no table.
    UsageError
        If it is Parquet or Excel, and the package that reads it is not installed.
    """
    if content.startswith(b"PK\x03\x04"):
        return _csv(path, _rows(path, content, "Excel", "openpyxl", "excel"), needed)
    if content.startswith(b"PAR1"):
        return _csv(path, _rows(path, content, "Parquet", "pyarrow", "parquet"), needed)
    if re.match(rb'\s*\{\s*"', content):
        return _csv(path, _json_rows(path, content), needed)
    return content


def _rows(path: Path, content: bytes, kind: str, package: str, extra: str) -> list[dict[str, Any]]:
    """Return the rows of a Parquet or Excel file, read by pandas; of a workbook those of the first sheet."""
    import pandas as pd

    try:
        read = {"Parquet": pd.read_parquet, "Excel": pd.read_excel}[kind]
        return read(io.BytesIO(content), engine=package).to_dict("records")
    except ImportError:
        raise UsageError(f"{path} is {kind}, which needs the package {package}; install gpukit[{extra}]") from None
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is broken {kind} ({' '.join(str(error).split())[:80]}); make it again") from None


def _json_rows(path: Path, content: bytes) -> list[Any]:
    try:
        table = json.loads(content)
        rows = table["rows"]
    except (ValueError, RecursionError):
        raise InputError(f"{path} begins as JSON and is none; make it again") from None
    except KeyError:
        rows = None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.keys() == rows[0].keys() for row in rows):
        raise InputError(f"{path} is JSON, but no table as `gpukit export` writes it; give that, or a vertex a line")
    return rows


def _csv(path: Path, rows: Sequence[Mapping[str, Any]], needed: str | None) -> bytes:
    if not rows:
        raise InputError(f"{path} is a table without rows; give one vertex or more")
    if needed is not None and needed not in rows[0]:
        raise InputError(f"{path} has no column {needed}; its columns are {', '.join(map(str, rows[0]))[:100]}")
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode(errors="surrogatepass")


def column(path: Path, lines: Sequence[tuple[int, str]], labels: "Labels | None") -> list[tuple[int, str]] | None:
    """Return line and text of each vertex of a table in CSV or TSV, or None if the first line is no header of a table.

    Parameters
    ----------
    path : Path
        The file, for messages.
    lines : sequence of (int, str)
        Its nonempty lines, with their numbers.
    labels : Labels or None
        The names of the vertices of the graph, if they have some.

    Raises
    ------
    InputError
        If the first line could also be names of vertices, other columns also name vertices, or a line does not fit.
    """
    found = _header(lines[0][1]) if lines else None
    if found is None:
        return None
    separator, names = found
    if labels is not None:
        whole, *each = (labels.find([lines[0][1], *names]) >= 0).tolist()
        if whole or all(each):
            raise InputError(
                f"{path}, line {lines[0][0]}: {lines[0][1][:40]!r} names columns of a table, or vertices of the graph; "
                "leave the header out, or give these vertices in another line"
            )
    if other := next((name for name in _OTHERS if name in names), None):
        raise InputError(
            f"{path} has the columns {COLUMN} and {other}, so it is not clear which vertices are meant; give a "
            "file with one a line"
        )
    place, rows = names.index(COLUMN), []
    for number, text in lines[1:]:
        fields = _fields(path, number, text, separator)
        if len(fields) != len(names):
            raise InputError(f"{path}, line {number}: {len(fields)} fields, but the header has {len(names)}")
        rows.append((number, fields))
    if "round" in names and len({fields[names.index("round")] for _, fields in rows}) > 1:
        raise InputError(f"{path} has seeds of several rounds, which only the artifact (.h5) tells apart; give that")
    if not rows:
        raise InputError(f"{path} is a table without rows; give one vertex or more")
    return [(number, fields[place]) for number, fields in rows]


def with_numbers(
    path: Path, lines: Sequence[tuple[int, str]], labels: "Labels | None"
) -> list[tuple[int, str, str]] | None:
    """Return line, vertex and number of each row of a table whose header names one of :data:`NUMBERS`, or None.

    A first line of two words is no header of a table if its first word is a vertex, or if blanks separate later lines.

    Raises
    ------
    InputError
        If it is not clear which column names the vertices, or a row does not fit.
    """
    for separator in (",", "\t", ";"):
        names = [one.casefold() for one in _parts(lines[0][1], separator)]
        places = [place for place, name in enumerate(names) if name in NUMBERS]
        if len(names) > 1 and places:
            break
    else:
        return None
    first = _parts(lines[0][1], separator)[0]
    if len(names) == 2 and (
        (labels is not None and labels.find([first])[0] >= 0)
        or (len(lines) > 1 and len(_parts(lines[1][1], separator)) == 1)
    ):
        return None
    others = [place for place in range(len(names)) if place not in places]
    vertex = [place for place in others if names[place] == COLUMN or len(others) == 1]
    if len(places) > 1 or len(vertex) != 1:
        raise InputError(
            f"{path} has {len(names)} columns ({', '.join(names)[:100]}); keep one of vertices and one of numbers, or "
            f"call that of the vertices {COLUMN}"
        )
    rows = []
    for number, text in lines[1:]:
        fields = _fields(path, number, text, separator)
        if len(fields) != len(names):
            raise InputError(f"{path}, line {number}: {len(fields)} fields, but the header has {len(names)}")
        rows.append((number, fields[vertex[0]], fields[places[0]]))
    return rows


def _parts(text: str, separator: str) -> list[str]:
    """Return the fields of a line; none if its quotes are wrong."""
    try:
        return split(text, separator)
    except ValueError:
        return []


def _header(text: str) -> tuple[str, list[str]] | None:
    """Return the separator and the names of the columns that a line names; None if it does not name any."""
    for separator in (",", "\t", ";"):
        names = _parts(text, separator)
        if COLUMN in names:
            return separator, names
    return None


def _fields(path: Path, number: int, text: str, separator: str) -> list[str]:
    try:
        return split(text, separator)
    except ValueError as error:
        raise InputError(f"{path}, line {number}: {error}") from None
