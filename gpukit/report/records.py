"""What every table is made from: records of runs, and the description of a kind of table."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpukit.errors import InputError, UsageError
from gpukit.files import read_text

Row = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """A kind of table.

    Attributes
    ----------
    columns : mapping of str to type
        Its columns with units in their names, and how a text becomes a value.
    labels : tuple of str
        The leading columns: what the label of a record, ``A/B/…``, says of it. Empty: records have no labels.
    read : callable
        Returns the rows of one file, without the columns of the label.
    """

    columns: Mapping[str, type]
    labels: tuple[str, ...]
    read: Callable[[str], list[Row]]


DEVICE = {"device": str, "device_name": str, "gpus": int, "threads": int}
"""Columns that say where a run took place."""


SPREAD = {"k": int, "spread_vertices": float, "stderr_vertices": float, "runs": int}
"""Columns of an evaluated spread."""


def spread_rows(path: str) -> list[Row]:
    """Return the rows, with the columns of :data:`SPREAD`, of a metrics artifact by ``gpukit evaluate spread``.

    Raises
    ------
    InputError
        If the file is missing, broken or of another kind.
    """
    from gpukit.artifacts import read_metrics

    columns = read_metrics(path).arrays
    try:
        k, spread, stderr, runs = (columns[name] for name in ("k", "spread", "stderr", "runs"))
    except KeyError as error:
        raise InputError(f"{path} has no {error}; give the metrics of `gpukit evaluate spread`") from None
    return [
        {"k": int(a), "spread_vertices": float(b), "stderr_vertices": float(c), "runs": int(d)}
        for a, b, c, d in zip(k, spread, stderr, runs, strict=True)
    ]


def need_rows(rows: Sequence[object], table: str) -> None:
    """Refuse to draw a table without rows; raises InputError."""
    if not rows:
        raise InputError(f"{table} has no rows; there is nothing to draw")


def rows_of(rows: Sequence[Row], graph: str, model: str | None = None) -> list[Row]:
    """Return the rows of a graph, under a diffusion model if one is given; raises UsageError if there are none."""
    chosen = [row for row in rows if row["graph"] == graph and (model is None or row["model"] == model)]
    if not chosen:
        under = "" if model is None else f" under model {model!r}"
        raise UsageError(f"the table has no row of graph {graph!r}{under}")
    return chosen


def read_record(path: str) -> dict[str, Any]:
    """Return the JSON object that a command printed.

    Raises
    ------
    InputError
        If the file is missing or holds no JSON object.
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
    """Yield the record of a command; what the body then misses in it becomes an InputError that names the command."""
    record = read_record(path)
    try:
        yield record
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise InputError(f"{path} is not a record of `gpukit {command} --json`: {error} is missing or wrong") from None


def device_columns(record: Mapping[str, Any]) -> Row:
    """Return the columns of :data:`DEVICE`."""
    device = record["device"]
    gpus = len(device["gpus"]) if isinstance(device["gpus"], list) else device["gpus"]
    return {"device": device["kind"], "device_name": device["name"], "gpus": gpus, "threads": device["threads"]}


def device_name(row: Row) -> str:
    """Return what people call the device of a row with the columns of :data:`DEVICE`."""
    if row["gpus"]:
        return f"{row['gpus']} × {row['device_name']}"
    return f"{row['device_name']}, {row['threads']} thread{'s' if row['threads'] != 1 else ''}"


ASIDE = ("read", "load", "write")
"""Phases that are not a system's work: files, and compiled code."""


def work_seconds(record: Mapping[str, Any]) -> float:
    """Return the time of the phases in which a system worked; looking for GPUs and imports are in none of them."""
    return sum(float(spent) for name, spent in record["time_s"].items() if name not in (*ASIDE, "total"))


def phase_columns(record: Mapping[str, Any], phases: tuple[str, ...]) -> Row:
    """Return the seconds of some phases, of all the others together, and in total."""
    time = record["time_s"]
    total = float(time["total"])
    spent = {f"time_{phase}_s": float(time.get(phase, 0.0)) for phase in phases}
    return {**spent, "time_other_s": round(max(total - sum(spent.values()), 0.0), 6), "time_total_s": total}


def phase_types(phases: tuple[str, ...]) -> dict[str, type]:
    """Return the columns of :func:`phase_columns`."""
    return {f"time_{phase}_s": float for phase in (*phases, "other", "total")}
