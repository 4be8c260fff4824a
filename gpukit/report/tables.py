"""Tidy tables: one row per observation, units in the column names, tabs between columns."""

import json
from collections.abc import Iterable, Mapping, Sequence

from gpukit.errors import InputError
from gpukit.files import write_text
from gpukit.report import diversity, gim, imgpu, kpar, merit
from gpukit.report.records import Kind, Row, read_typed
from gpukit.report.text import printable


def _artifact(path: str) -> list[Row]:
    from gpukit.artifacts import read_header

    header = read_header(path)
    return [
        {
            "file": path,
            "kind": header.kind,
            "seed": "" if header.seed is None else header.seed,
            "params": json.dumps(header.params, sort_keys=True),
            "payload_sha256": header.payload,
        }
    ]


KINDS: dict[str, Kind] = {
    **{name: kind for one in (gim, imgpu, kpar, merit, diversity) for name, kind in one.KINDS.items()},
    "artifacts": Kind({}, dict.fromkeys(("file", "kind", "seed", "params", "payload_sha256"), str), _artifact),
}
"""The kinds of tables by name; rebuilt papers have more (:data:`gpukit.papers.report.tables.KINDS`)."""

Kinds = Mapping[str, Kind]


def write_table(kind: str, rows: Iterable[Mapping[str, object]], path: str, kinds: Kinds = KINDS) -> None:
    """Write rows as a TSV file.

    Parameters
    ----------
    kind : str
        A key of ``kinds``.
    rows : iterable of mapping
        The values of every column of that kind.
    path : str
        The target.
    kinds : mapping of str to Kind
        The known kinds.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    write_rows(kinds[kind].columns, rows, path)


def write_rows(columns: Iterable[str], rows: Iterable[Mapping[str, object]], path: str) -> None:
    """Write some columns of rows as a TSV file; raises InputError if it cannot be written."""
    columns = list(columns)
    lines = ["\t".join(columns), *("\t".join(printable(str(row[column])) for column in columns) for row in rows)]
    write_text(path, "\n".join(lines) + "\n")


def read_table(kind: str, path: str, kinds: Kinds = KINDS) -> list[Row]:
    """Read a table that :func:`write_table` wrote, with typed values.

    Raises
    ------
    InputError
        If the file is missing, has other columns, or a value has another type.
    """
    return read_typed(path, kinds[kind].columns, f"a table of {kind}")


def make_table(kind: str, records: Sequence[tuple[str, str]], kinds: Kinds = KINDS) -> list[Row]:
    """Collect the rows of a table.

    Parameters
    ----------
    kind : str
        A key of ``kinds``.
    records : sequence of (label, path)
        The inputs: JSON output of commands, or artifacts, labelled as the kind requires. Text after a # in a label only
        distinguishes repeats of a run; no column has it.
    kinds : mapping of str to Kind
        The known kinds.

    Returns
    -------
    list of dict
        In the order of the records.

    Raises
    ------
    InputError
        If a file is missing, damaged or of the wrong kind, or a label has the wrong form.
    """
    wanted = kinds[kind]
    rows: list[Row] = []
    for label, path in records:
        label = label.partition("#")[0]
        names = dict(zip(wanted.labels, label.split("/"), strict=False))
        if wanted.labels and (label.count("/") != len(wanted.labels) - 1 or not all(names.values())):
            form = "/".join(part.upper() for part in wanted.labels)
            raise InputError(f"label {label!r}: a table of {kind} needs {form}=FILE")
        try:
            typed = {name: wanted.columns[name](text) for name, text in names.items()}
        except ValueError:
            numbers = " and ".join(name.upper() for name in names if wanted.columns[name] is int)
            raise InputError(f"label {label!r}: {numbers} must be a whole number") from None
        rows.extend(typed | row for row in wanted.read(path))
    return rows
