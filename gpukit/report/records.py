"""The sources of all tables: records of runs, and descriptions of kinds of tables."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpukit.errors import InputError, UsageError
from gpukit.files import read_lines, read_text

Row = dict[str, Any]

NA = "NA"
"""A missing value of a column."""

SEVERAL = "several graphs"
"""The graph of a row that was measured on several graphs."""


@dataclass(frozen=True)
class Kind:
    """A kind of table.

    Attributes
    ----------
    labels : mapping of str to type
        The leading columns, taken from the label ``A/B/…`` of a record. Empty: records have no labels.
    content : mapping of str to callable
        The further columns, with units in their names, and the function that parses a value.
    read : callable
        Returns the rows of one file, without the label columns.
    """

    labels: Mapping[str, type]
    content: Mapping[str, Callable[[str], Any]]
    read: Callable[[str], list[Row]]

    @property
    def columns(self) -> dict[str, Callable[[str], Any]]:
        """All columns in the order of the file."""
        return {**self.labels, **self.content}


GRAPH: dict[str, type] = {"graph": str}
METHOD = {**GRAPH, "method": str}
INSTANCE = {**GRAPH, "model": str}
"""Labels shared by several systems."""

Fields = Mapping[str, tuple[type, str | Callable[[dict[str, Any]], Any]]]
"""Columns taken from a record: the type, and the place (keys separated by dots) or a function of the record."""


def values(record: dict[str, Any], fields: Fields) -> Row:
    """Return the values of some columns; the error of a missing key or wrong type is not caught."""
    return {name: place(record) if callable(place) else _at(record, place) for name, (_, place) in fields.items()}


def _at(record: dict[str, Any], place: str) -> Any:
    found: Any = record
    for key in place.split("."):
        found = found[key]
    return found


def types(fields: Fields) -> dict[str, type]:
    """Return the types of some columns by their names."""
    return {name: kind for name, (kind, _) in fields.items()}


def record_kind(labels: Mapping[str, type], command: str, fields: Fields, each: str = "") -> Kind:
    """Return a kind of table with one row per record, or one per entry of a list in the record.

    Parameters
    ----------
    labels, fields
        The columns. With ``each``, places that begin with its name are in one entry, and ``number`` counts the entries
        from 1.
    command : str
        The command that writes the records, for error messages.
    each : str
        Key of the list; by default there is none.
    """

    def read(path: str) -> list[Row]:
        with record_of(path, command) as record:
            entries = [{each: one} for one in record[each]] if each else [{}]
            return [values(record | one | {"number": n}, fields) for n, one in enumerate(entries, start=1)]

    return Kind(labels, types(fields), read)


def _gpus(record: dict[str, Any]) -> int:
    """Return the number of GPUs of a run; a record lists the GPUs, or has their number."""
    gpus = record["device"]["gpus"]
    return len(gpus) if isinstance(gpus, list) else gpus


SIZE: Fields = {"n_vertices": (int, "graph.n"), "m_edges": (int, "graph.m")}
"""Columns for the size of a graph."""

WHERE: Fields = {
    "device": (str, "device.kind"),
    "device_name": (str, "device.name"),
    "gpus": (int, _gpus),
    "threads": (int, "device.threads"),
}
"""Columns for the device of a run."""

SPREAD = {"k": int, "spread_vertices": float, "stderr_vertices": float, "runs": int}
"""Columns of an evaluated spread."""


def spread_rows(path: str) -> list[Row]:
    """Return the rows of a metrics artifact of ``gpukit evaluate spread``, with the columns of :data:`SPREAD`.

    Raises
    ------
    InputError
        If the file is missing, damaged or of another kind.
    """
    from gpukit.artifacts import read_metrics

    arrays = read_metrics(path).arrays
    try:
        found = [arrays[name] for name in ("k", "spread", "stderr", "runs")]
    except KeyError as error:
        raise InputError(f"{path} has no {error}; give the metrics of `gpukit evaluate spread`") from None
    return [
        {name: kind(value) for (name, kind), value in zip(SPREAD.items(), point, strict=True)}
        for point in zip(*found, strict=True)
    ]


def of(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Return the rows whose columns have the wanted values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def need_rows(rows: Sequence[object], table: str) -> None:
    """Refuse a table without rows; raises InputError."""
    if not rows:
        raise InputError(f"{table} has no rows; there is nothing to draw")


def rows_of(rows: Sequence[Row], graph: str, model: str | None = None) -> list[Row]:
    """Return the rows of a graph, and of a diffusion model if given; raises UsageError if there are none."""
    chosen = of(rows, graph=graph, **({} if model is None else {"model": model}))
    if not chosen:
        under = "" if model is None else f" under model {model!r}"
        raise UsageError(f"the table has no row of graph {graph!r}{under}")
    return chosen


def read_typed(path: str, columns: Mapping[str, Callable[[str], Any]], what: str) -> list[Row]:
    """Read a TSV file with typed values.

    Raises
    ------
    InputError
        If the file is missing, its first line does not name the columns of ``what``, or a value has another type.
    """
    header, *lines = read_lines(path)
    names = ", ".join(columns)
    if header.split("\t") != list(columns):
        raise InputError(f"{path} is not {what}: its first line must name {names}")
    rows = []
    for number, line in enumerate(lines, start=2):
        try:
            fields = zip(columns.items(), line.split("\t"), strict=True)
            rows.append({name: cast(text) for (name, cast), text in fields})
        except ValueError:
            raise InputError(f"{path}, line {number}: {line[:80]!r} does not fit {names}") from None
    return rows


def read_record(path: str) -> dict[str, Any]:
    """Return the JSON object printed by a command.

    Raises
    ------
    InputError
        If the file is missing or is no JSON object.
    """
    try:
        record = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{path} is not JSON{place}; give the `--json` output of a run") from None
    if not isinstance(record, dict):
        raise InputError(f"{path} is not a JSON object; give the `--json` output of a run")
    return record


@contextmanager
def record_of(path: str, command: str) -> Iterator[dict[str, Any]]:
    """Yield the record of a command; missing keys in the body raise an InputError that names the command."""
    record = read_record(path)
    try:
        yield record
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise InputError(f"{path} is not a record of `gpukit {command} --json`: {error} is missing or wrong") from None


def device_name(row: Row) -> str:
    """Return the display name of the device of a row with the columns of :data:`WHERE`."""
    if row["gpus"]:
        return f"{row['gpus']} × {row['device_name']}"
    return f"{row['device_name']}, {row['threads']} thread{'s' if row['threads'] != 1 else ''}"


ASIDE = ("read", "load", "write")
"""Phases that are not a system's own work: files, and loading of compiled code."""


def work_seconds(record: Mapping[str, Any]) -> float:
    """Return the total time of a system's own phases; detecting GPUs and imports belong to no phase."""
    return sum(float(spent) for name, spent in record["time_s"].items() if name not in (*ASIDE, "total"))


def longest(rows: list[Row], phases: Sequence[str]) -> str:
    """Return a sentence on the longest run and its longest phase."""
    row = max(rows, key=lambda one: one["time_total_s"])
    phase = max(phases, key=lambda one: row[f"time_{one}_s"])
    return (
        f"The longest run, {row['graph']} {row['model']}, took {row['time_total_s']:.2f} s, "
        f"{row[f'time_{phase}_s']:.2f} s of it for {phase}."
    )


def phase_fields(phases: tuple[str, ...]) -> Fields:
    """Return the columns for the seconds of some phases, of all remaining phases, and of the total."""

    def spent(record: dict[str, Any], phase: str) -> float:
        return float(record["time_s"].get(phase, 0.0))

    def other(record: dict[str, Any]) -> float:
        # Phases are rounded separately, so their sum may slightly exceed the total.
        return round(max(total(record) - sum(spent(record, phase) for phase in phases), 0.0), 6)

    def total(record: dict[str, Any]) -> float:
        return float(record["time_s"]["total"])

    each: Fields = {f"time_{phase}_s": (float, partial(spent, phase=phase)) for phase in phases}
    return {**each, "time_other_s": (float, other), "time_total_s": (float, total)}
