"""Edges in columns of Parquet and Arrow, read in batches of rows, so that no table is completely in memory."""

import importlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpukit.errors import InputError
from gpukit.graph.lines import shown
from gpukit.graph.memory import check_building
from gpukit.graph.pairs import Listing
from gpukit.graph.read.dialect import choose_columns
from gpukit.graph.read.edgelist import (
    EdgeList,
    ReadOptions,
    check_weights,
    edges_of_columns,
    in_one_line,
    library,
    numbers_of,
    of_one_kind,
)

_FORMS = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", "Parquet": "parquet", "Arrow": "ipc"}
"""pyarrow's names of the formats, by suffix of the files in a folder, and by title of a file's format."""


def form_of(folder: Path) -> str | None:
    """Return pyarrow's name for the format of the tables in a folder; None if it has no tables."""
    return next((_FORMS[file.suffix] for file in folder.rglob("*") if file.suffix in _FORMS), None)


def read_table(
    name: str,
    kind: str,
    source: str | bytes,
    options: ReadOptions,
    weights: float,
    progress: Callable[[int, int], object] | None = None,
) -> EdgeList:
    """Read the edges of a table.

    Whole numbers are read in batches. Memory: 8 bytes per edge (16 once an id needs more than 31 bits), 8 per weight,
    and some batches. A table with names is read completely.

    Parameters
    ----------
    name : str
        The file, for messages.
    kind : str
        ``Parquet``, ``Arrow``, ``Arrow stream`` or ``a folder of tables``.
    source : str or bytes
        The path of the file, or its content.
    options : ReadOptions
        ``columns`` and ``ids``.
    weights : float
        The highest weight, 0 to read none.
    progress : callable, optional
        ``progress(rows read, rows)``.

    Raises
    ------
    InputError
        If the table cannot be read, or is no graph.
    UsageError
        If pyarrow is missing, or the options do not fit.
    DeviceError
        If this machine has too little memory for the graph.
    """
    options.refuse_text(name, kind, "columns")
    with in_one_line(name, kind):
        schema, count_rows, batches = _opened(name, kind, source)
        places = choose_columns(name, schema.names, True, options, weights)
        wanted = [schema.names[place] for place in places]
        if any(len(schema.get_all_field_indices(title)) > 1 for title in wanted):
            raise InputError(f"{name} has two columns with the same name; rename one")
        rows = count_rows()
        check_building(0, rows, weights > 0)
        titles = [f"column {shown(title)}" for title in wanted]
        arrow, types = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.types")
        chosen = arrow.schema([schema.field(title) for title in wanted])
        if options.ids != "text" and all(map(types.is_integer, chosen.types[:2])):
            found = _numbers(name, titles, batches(wanted), rows, weights, progress)
        else:
            whole = arrow.Table.from_batches(batches(wanted), chosen)
            arrays = [column.to_pandas().to_numpy() for column in whole.columns]
            found = edges_of_columns(name, arrays, options, weights, titles)
    said = {"format": kind, "columns": wanted, "ids": "integer" if found.labels is None else "text"}
    return replace(found, said=said)


def _opened(name: str, kind: str, source: str | bytes) -> tuple[Any, Callable[[], int], Callable[..., Iterator[Any]]]:
    """Return the schema of a table, a function for its number of rows (0: unknown), and one for batches of columns."""
    dataset = library(name, kind, "pyarrow.dataset", "parquet")
    arrow = importlib.import_module("pyarrow")
    if kind == "a folder of tables":
        table = dataset.dataset(source, format=form_of(Path(str(source))), partitioning="hive")
        return table.schema, table.count_rows, lambda columns: table.to_batches(columns)
    file = arrow.OSFile(source) if isinstance(source, str) else arrow.BufferReader(source)
    if kind == "Arrow stream":
        stream = arrow.ipc.open_stream(file)
        return stream.schema, lambda: 0, lambda columns: (batch.select(columns) for batch in stream)
    form = dataset.ParquetFileFormat() if kind == "Parquet" else dataset.IpcFileFormat()
    part = form.make_fragment(file)
    return part.physical_schema, part.count_rows, lambda columns: part.to_batches(columns=columns)


def _numbers(
    name: str,
    titles: list[str],
    batches: Iterator[Any],
    rows: int,
    weights: float,
    progress: Callable[[int, int], object] | None,
) -> EdgeList:
    """Return the edges between vertices given as whole numbers."""
    listing, count = Listing(len(titles) > 2, rows), 0
    for batch in batches:
        ends = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        u, v = (of_one_kind(f"{name}, {title}", end) for title, end in zip(titles[:2], ends, strict=False))
        shares = [check_weights(name, weights, numbers_of(f"{name}, {titles[2]}", one), count) for one in ends[2:]]
        listing.add((u, v, shares[0] if shares else None))
        count += len(u)
        if progress is not None and rows:
            progress(count, rows)
    return EdgeList(*listing.edges())
