"""Edges in columns of Parquet and Arrow: one batch of rows after the other, so that no table is whole in memory."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

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
    highest_id,
    in_one_line,
    library,
    numbers_of,
)

BATCH_ROWS = 1 << 20
"""Rows of a batch of Parquet; those of Arrow are as they were written."""


@dataclass(frozen=True, eq=False)
class _Table:
    """A file that was opened: the types of its columns, rows where the file says so, and what gives its batches."""

    schema: Any
    rows: int | None
    all_batches: Callable[..., Iterator[Any]]
    parts: int

    def batches(self, wanted: Sequence[str]) -> Iterator[Any]:
        """Yield batches of rows, of these columns in their order."""
        return (batch.select(wanted) for batch in self.all_batches(columns=wanted))


def read_table(
    name: str,
    kind: str,
    source: str | bytes,
    options: ReadOptions,
    weights: float,
    progress: Callable[[int, int], object] | None = None,
) -> EdgeList:
    """Read the edges of a table.

    Whole numbers without gaps are taken batch by batch: beside 8 bytes an edge (16 from the first id of more than 31
    bits on, and 8 of a weight) there is one batch in memory, of Parquet what the file holds of a row group. A table of
    names, or with gaps, is read whole.

    Parameters
    ----------
    name : str
        The file, for messages.
    kind : str
        ``Parquet`` or ``Arrow``, as :mod:`gpukit.graph.read.formats` returns it.
    source : str or bytes
        Where the file is, or its content.
    options : ReadOptions
        ``columns`` and ``ids``.
    weights : float
        The highest weight, 0 to read none.
    progress : callable, optional
        ``progress(parts read, parts)``.

    Returns
    -------
    EdgeList

    Raises
    ------
    InputError
        If it cannot be read, or is no graph.
    UsageError
        If pyarrow is missing, or what is said does not fit.
    DeviceError
        If this machine has not the memory for the graph.
    """
    options.refuse_text(name, kind, "--columns")
    with in_one_line(name, kind):
        return _read(name, kind, _opened(name, kind, source), options, weights, progress)


def _read(
    name: str,
    kind: str,
    table: _Table,
    options: ReadOptions,
    weights: float,
    progress: Callable[[int, int], object] | None,
) -> EdgeList:
    types = importlib.import_module("pyarrow.types")
    tests = {"whole": types.is_integer, "number": types.is_floating, "date": types.is_temporal}
    kinds = [next((kind for kind, is_one in tests.items() if is_one(one)), "text") for one in table.schema.types]
    places = choose_columns(name, list(table.schema.names), True, options, weights, kinds)
    wanted = [table.schema.names[place] for place in places]
    if any(len(table.schema.get_all_field_indices(title)) > 1 for title in wanted):
        raise InputError(f"{name} has two columns of one name; rename one")
    check_building(0, table.rows or 0, weights > 0)
    found = None
    if options.ids != "text" and all(kinds[place] == "whole" for place in places[:2]):
        found = _numbers(name, table, wanted, weights, progress)
    if found is None:
        arrow = importlib.import_module("pyarrow")
        schema = arrow.schema([table.schema.field(title) for title in wanted])
        whole = arrow.Table.from_batches(table.batches(wanted), schema)
        arrays = [whole.column(title).to_pandas().to_numpy() for title in wanted]
        found = edges_of_columns(name, arrays, options, weights, _titles(wanted))
    said = {"format": kind, "columns": wanted, "ids": "integer" if found.labels is None else "text"}
    return replace(found, said=said)


def _opened(name: str, kind: str, source: str | bytes) -> _Table:
    parquet = library(name, kind, "pyarrow.parquet", "parquet")
    arrow = importlib.import_module("pyarrow")
    if kind == "a folder of tables":
        form = (
            "ipc" if any(Path(str(source)).rglob("*.arrow")) or any(Path(str(source)).rglob("*.feather")) else "parquet"
        )
        found = importlib.import_module("pyarrow.dataset").dataset(source, format=form, partitioning="hive")
        return _Table(found.schema, found.count_rows(), found.to_batches, 0)
    file = arrow.OSFile(source) if isinstance(source, str) else arrow.BufferReader(source)
    if kind == "Parquet":
        opened = parquet.ParquetFile(file)
        facts = opened.metadata
        groups = range(facts.num_row_groups)
        parts = sum(-(-facts.row_group(group).num_rows // BATCH_ROWS) for group in groups)

        # One group after the other: the reader of several keeps what it has read of all of them.
        def batches(columns: Sequence[str]) -> Iterator[Any]:
            for group in groups:
                yield from opened.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns)

        return _Table(opened.schema_arrow, facts.num_rows, batches, parts)
    if kind == "Arrow stream":
        stream = arrow.ipc.open_stream(file)
        return _Table(stream.schema, None, lambda columns: iter(stream), 0)
    stream = arrow.ipc.open_file(file)
    count = stream.num_record_batches
    return _Table(stream.schema, None, lambda columns: map(stream.get_batch, range(count)), count)


def _numbers(
    name: str,
    table: _Table,
    wanted: Sequence[str],
    weights: float,
    progress: Callable[[int, int], object] | None,
) -> EdgeList | None:
    """Return the edges between vertices that are whole numbers; None where a row has a gap."""
    titles, listing, count = _titles(wanted), Listing(len(wanted) > 2, table.rows or 0), 0
    for part, batch in enumerate(table.batches(wanted), 1):
        if any(column.null_count for column in batch.columns):
            return None
        u, v, *w = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
        if len(u):
            highest = [highest_id(f"{name}, {title}", end) for title, end in zip(titles[:2], (u, v), strict=True)]
            kind = np.int32 if max(highest) <= np.iinfo(np.int32).max else np.int64
            u, v = u.astype(kind, copy=False), v.astype(kind, copy=False)
            shares = [check_weights(name, weights, numbers_of(f"{name}, {titles[2]}", one), count) for one in w]
            listing.add((u, v, shares[0] if shares else None))
            count += len(u)
        if progress is not None and table.parts:
            progress(part, table.parts)
    return EdgeList(*listing.edges())


def _titles(wanted: Sequence[str]) -> list[str]:
    return [f"column {shown(title)}" for title in wanted]
