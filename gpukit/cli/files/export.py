"""``gpukit export``: write any artifact as a table."""

import codecs
import csv
import importlib.util
import json
import logging
import math
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

from gpukit.cli.command import with_run
from gpukit.cli.common import Run, takes_utf8
from gpukit.cli.options import ForceOption, argument, option
from gpukit.errors import InputError, UsageError
from gpukit.files import replacing
from gpukit.wording import places_of

if TYPE_CHECKING:
    import pandas as pd

    from gpukit.artifacts import Artifact
    from gpukit.artifacts.tables import Table

_log = logging.getLogger("gpukit")

SEPARATORS = {".csv": ",", ".tsv": "\t"}
NEEDED = {".parquet": ("pyarrow", "parquet"), ".xlsx": ("openpyxl", "excel")}
"""The package that writes some formats, and the extra that installs it."""
FORMS = (*SEPARATORS, ".json", *NEEDED)

MOST_ROWS, WIDEST = 2**20 - 1, 60
"""Most rows of an Excel sheet below the titles, and greatest width of a column in characters."""
PLACES = 4
"""Decimals that a cell shows by default."""


@with_run()
def export(
    run: Run,
    file: Annotated[Path, argument("FILE", "An artifact.")],
    graph_file: Annotated[
        Path | None, option("--graph G.h5", "Its graph: for degrees, and for names of vertices that it does not hold.")
    ] = None,
    out: Annotated[
        str, option("--out X.csv|.tsv|.json|.parquet|.xlsx|-", "The file of the table; by default CSV on the screen.")
    ] = "-",
    decimal: Annotated[
        Literal[".", ","], option("--decimal", "For CSV: the decimal mark; with a comma, semicolons separate columns.")
    ] = ".",
    bom: Annotated[bool, option("--bom", "For CSV: begin with a byte order mark, so that Excel reads UTF-8.")] = False,
    force: ForceOption = False,
) -> None:
    """Write an artifact as a table: vertices by their names or ids, scores as probabilities, every row."""
    form = _form(out)
    if form not in SEPARATORS and (bom or decimal != "."):
        raise UsageError(f"{'--bom' if bom else '--decimal'} is about a file of CSV or TSV; leave it out")
    with run.phase("read"):
        from gpukit.artifacts import read

        artifact = read(file)
        graph = _graph_of(run, artifact, file, graph_file)
    _tell(artifact)
    from gpukit.artifacts.tables import table_of

    table = table_of(artifact, graph)
    if form is not None and not force:
        _check_replaced(out, form, artifact.kind, next(iter(table.take(0, 0)), ""))
    if form is None:
        _print(artifact.kind, table, run.as_json)
        return
    with run.phase("write"):
        columns = write_table(out, artifact.kind, table, decimal, bom)
    record = {"kind": artifact.kind, "rows": table.rows, "columns": columns}
    run.finish(record, {**record, "rows": f"{table.rows:,}"})


def _form(name: str) -> str | None:
    """Return the format of a table, by the name of its file; None for standard output."""
    if name == "-":
        return None
    form = Path(name).suffix.lower()
    if form not in FORMS:
        raise UsageError(f"--out {name}: the name of a table ends in {', '.join(FORMS)}; or give - for the screen")
    package, extra = NEEDED.get(form, ("csv", ""))
    if importlib.util.find_spec(package) is None:
        raise UsageError(f"--out {name} needs the package {package}; install gpukit[{extra}], or write .csv")
    return form


def write_table(out: str, kind: str, table: "Table", decimal: str = ".", bom: bool = False) -> list[str]:
    """Write the table of an artifact in the format that the name of the file states; return its columns.

    For CSV, ``decimal`` is the decimal mark, and ``bom`` says whether to write a byte order mark.
    """
    form, columns = Path(out).suffix.lower(), list[str]()
    if form == ".xlsx":
        write_book(out, {kind: table})
        return list(table.take(0, 0))
    with replacing(out) as temporary:
        frames = _frames(table, columns)
        if form == ".parquet":
            _write_parquet(temporary, frames)
            return columns
        with open(temporary, "w", encoding="utf-8-sig" if bom else "utf-8", newline="") as stream:
            if form == ".json":
                _write_json(stream, kind, frames)
            else:
                _write_csv(stream, frames, ";" if (form, decimal) == (".csv", ",") else SEPARATORS[form], decimal)
    return columns


def _check_replaced(out: str, form: str, kind: str, column: str) -> None:
    """Refuse to replace a file that is no table of the same kind and format, as its JSON kind or first column tells."""
    from gpukit.artifacts.kept import first_bytes, would_lose

    first = first_bytes(out)
    if not first:
        return
    if form == ".parquet":
        same = first.startswith(b"PAR1") and _first_column(out) == column
    elif form == ".json":
        same = first.startswith(f'{{"kind": {json.dumps(kind)}, '.encode())
    elif form == ".xlsx":
        same = first.startswith(b"PK\x03\x04") and _first_cell(out) == column
    else:
        head = re.split(rb"[,;\t\n]", first.removeprefix(codecs.BOM_UTF8))[0]
        same = head.strip(b'"') == column.encode()
    if not same:
        raise would_lose(out, f"is no {form} table of {kind}, which this command writes")


def _first_column(path: str) -> str:
    import pyarrow
    from pyarrow import parquet

    try:
        return next(iter(parquet.read_schema(path).names), "")
    except (pyarrow.ArrowException, OSError):
        return ""


def _first_cell(path: str) -> Any:
    import pandas as pd

    try:
        return next(iter(pd.read_excel(path, nrows=0, engine="openpyxl")), None)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None


def _graph_of(run: Run, artifact: "Artifact", path: Path, graph_file: Path | None) -> Any:
    """Return the graph of an artifact; None if it is not given."""
    if graph_file is None:
        return None
    if artifact.kind == "graph":
        raise UsageError(f"{path} is a graph itself; leave --graph out")
    graph, _ = run.read_graph(graph_file, transpose=False)
    if artifact.attributes.get("graph") != run.inputs["graph"]:
        raise InputError(f"{path} was not made on {graph_file}; give the graph it was made on")
    return graph


def _tell(artifact: "Artifact") -> None:
    """Log what a table of edges or of RR sets leaves out."""
    if "drawn" in artifact.attributes:
        _log.info(
            "%s of the %s sets drawn are listed, numbered from 0; those of a single vertex are left out",
            f"{artifact.attributes['count']:,}", f"{artifact.attributes['drawn']:,}",
        )  # fmt: skip
    if artifact.kind != "graph":
        return
    if artifact.attributes["undirected"]:
        _log.info("the graph is undirected: every edge is listed in both directions")
    if alone := artifact.attributes["facts"].get("isolated"):
        _log.info("%d vertices have no edges, and no row", alone)


def _frames(table: "Table", columns: list[str]) -> Iterator["pd.DataFrame"]:
    """Yield the pieces of a table as DataFrames, and add the names of its columns to a list."""
    import pandas as pd

    for piece in table.chunks():
        columns[:] = list(piece)
        yield pd.DataFrame(piece)


def _print(kind: str, table: "Table", as_json: bool) -> None:
    """Print a table: JSON in ASCII, CSV in UTF-8.

    Raises
    ------
    UsageError
        If CSV needs UTF-8, and standard output has another encoding, as with ``PYTHONIOENCODING=latin-1``.
    """
    if as_json:
        _write_json(sys.stdout, kind, _frames(table, []), ascii=True)
        return
    out: Any = sys.stdout
    encoding = out.encoding
    if not takes_utf8(out):
        out.reconfigure(encoding="ascii", errors="strict")
    try:
        _write_csv(out, _frames(table, []), ",")
    except UnicodeEncodeError:
        raise UsageError(
            f"the table has names in UTF-8, and standard output is set to {encoding}; give --out X.csv, or set "
            "PYTHONIOENCODING=utf-8"
        ) from None


def _write_csv(stream: TextIO, frames: Iterator["pd.DataFrame"], separator: str, decimal: str = ".") -> None:
    """Write CSV. Texts are in quotes, so that none is taken for a number or a comment; 1 is true, and 0 is false."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    for number, frame in enumerate(frames):
        frame = frame.astype({name: "Int8" for name, column in frame.items() if is_bool_dtype(column)})
        texts = not all(is_numeric_dtype(column) for _, column in frame.items())
        frame.to_csv(
            stream, sep=separator, index=False, header=not number, lineterminator="\n", decimal=decimal,
            quoting=csv.QUOTE_NONNUMERIC if texts else csv.QUOTE_MINIMAL,
        )  # fmt: skip


def _write_json(stream: TextIO, kind: str, frames: Iterator["pd.DataFrame"], *, ascii: bool = False) -> None:
    """Write one JSON object with a list of rows; missing values are null.

    ``ascii`` escapes all non-ASCII characters.
    """
    stream.write(f'{{"kind": {json.dumps(kind)}, "rows": [')
    first = True
    for frame in frames:
        plain = frame.astype(object).replace([math.inf, -math.inf], None)
        for row in plain.where(frame.notna(), None).to_dict("records"):
            stream.write(("" if first else ",") + "\n" + json.dumps(row, allow_nan=False, ensure_ascii=ascii))
            first = False
    stream.write("\n]}\n")


def _write_parquet(path: str, frames: Iterator["pd.DataFrame"]) -> None:
    import pyarrow
    from pyarrow import parquet

    writer = None
    try:
        for frame in frames:
            table = pyarrow.Table.from_pandas(frame, schema=writer and writer.schema, preserve_index=False)
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def write_book(path: str, sheets: Mapping[str, "Table"], about: Mapping[str, Any] | None = None) -> None:
    """Write tables as the sheets of an Excel workbook; needs openpyxl.

    ``about`` fills a first sheet, one row per entry.

    Titles are bold and stay visible. All texts stay texts, even if Excel would read them as formulas. A spread is
    rounded according to its standard error; other numbers show four decimals.

    Raises
    ------
    UsageError
        If a table has more rows than a sheet can hold.
    """
    import pandas as pd
    from openpyxl.styles import Font

    with (
        replacing(path) as temporary,
        open(temporary, "wb") as stream,
        pd.ExcelWriter(stream, engine="openpyxl") as book,
    ):
        if about is not None:
            pd.DataFrame(about.items()).to_excel(book, sheet_name="About", index=False, header=False)
            for column, width in zip("AB", (30, WIDEST), strict=True):
                book.sheets["About"].column_dimensions[column].width = width
        for title, table in sheets.items():
            if table.rows > MOST_ROWS:
                raise UsageError(
                    f"--out {path}: a sheet of Excel has {MOST_ROWS:,} rows, and the table {table.rows:,}; write .csv"
                )
            frame = pd.concat(_frames(table, []))
            if {"spread", "stderr"} <= {*frame}:
                known = [places_of(2 * error) for error in frame["stderr"]]
                for name in ("spread", "stderr"):
                    frame[name] = [*map(round, frame[name], known)]
            frame.to_excel(book, sheet_name=title, index=False, freeze_panes=(1, 0))
            for column in book.sheets[title].columns:
                widest = max(len(str(cell.value)) for cell in column)
                book.sheets[title].column_dimensions[column[0].column_letter].width = min(WIDEST, widest + 2)
                column[0].font = Font(bold=True)
                for cell in column:
                    if cell.data_type == "f":
                        cell.data_type = "s"
                    elif isinstance(cell.value, float) and cell.value != round(cell.value, PLACES):
                        cell.number_format = "0." + "0" * PLACES
