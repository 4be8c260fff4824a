"""Tidy tables: one row an observation, units in the column names, tabs between columns."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gpukit.errors import InputError
from gpukit.report.files import read_text, write_text

Row = dict[str, Any]

PHASES = ("sampling", "selection", "load")
"""The phases of a run that have a column each; what is left of the total is ``other``."""

COLUMNS: dict[str, dict[str, type]] = {
    "runs": {
        "graph": str,
        "model": str,
        "n_vertices": int,
        "m_edges": int,
        "k": int,
        "epsilon": float,
        "bound": str,
        "sampler": str,
        "seed": int,
        "rr_sets": int,
        "spread_estimate_vertices": float,
        "guarantee": float,
        "guarantee_kind": str,
        "device": str,
        "device_name": str,
        "gpus": int,
        "threads": int,
        "time_sampling_s": float,
        "time_selection_s": float,
        "time_load_s": float,
        "time_other_s": float,
        "time_total_s": float,
    },
    "seeds": {"graph": str, "model": str, "rank": int, "vertex": int},
    "spread": {
        "graph": str,
        "model": str,
        "method": str,
        "k": int,
        "spread_vertices": float,
        "stderr_vertices": float,
        "runs": int,
    },
    "artifacts": {"file": str, "kind": str, "seed": str, "payload_sha256": str},
}
"""The columns of each table with their types; a guarantee of ``nan`` is none."""


def write_table(kind: str, rows: Iterable[Mapping[str, Any]], path: str) -> None:
    """Write rows as a TSV file.

    Parameters
    ----------
    kind : str
        A key of :data:`COLUMNS`.
    rows : iterable of mapping
        The values of every column of that kind.
    path : str
        The target.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    columns = list(COLUMNS[kind])
    lines = ["\t".join(columns), *("\t".join(str(row[column]) for column in columns) for row in rows)]
    write_text(path, "\n".join(lines) + "\n")


def read_table(kind: str, path: str) -> list[Row]:
    """Read a table that :func:`write_table` wrote, with typed values.

    Raises
    ------
    InputError
        If the file is missing, has other columns or a value of another type.
    """
    columns = COLUMNS[kind]
    header, *lines = read_text(path).splitlines() or [""]
    if header.split("\t") != list(columns):
        raise InputError(f"{path} is not a table of {kind}: its first line must name {', '.join(columns)}")
    rows = []
    for number, line in enumerate(lines, start=2):
        fields = line.split("\t")
        try:
            rows.append({name: cast(text) for (name, cast), text in zip(columns.items(), fields, strict=True)})
        except ValueError:
            raise InputError(f"{path}, line {number}: {line[:80]!r} does not fit {', '.join(columns)}") from None
    return rows


def make_table(kind: str, records: Sequence[tuple[str, str]]) -> list[Row]:
    """Collect the rows of a table.

    Parameters
    ----------
    kind : str
        A key of :data:`COLUMNS`.
    records : sequence of (label, path)
        What to read. Labels are GRAPH/MODEL for ``runs`` and ``seeds``, GRAPH/MODEL/METHOD for ``spread``; a table
        of ``artifacts`` names files by their paths. Files are the ``--json`` output of ``gpukit gim run`` for ``runs``
        and artifacts otherwise.

    Returns
    -------
    list of dict
        In the order of the records.

    Raises
    ------
    InputError
        If a file is missing, broken or of the wrong kind, or a label has the wrong form.
    """
    parts, read = _READERS[kind]
    rows: list[Row] = []
    for label, path in records:
        names = dict(zip(parts, label.split("/"), strict=False))
        if parts and (label.count("/") != len(parts) - 1 or not all(names.values())):
            raise InputError(f"label {label!r}: a table of {kind} needs {'/'.join(p.upper() for p in parts)}=FILE")
        rows.extend(names | row for row in read(path))
    return rows


def _run(path: str) -> list[Row]:
    record = _record(path)
    try:
        params, device, time = record["params"], record["device"], record["time_s"]
        total = float(time["total"])
        phases = {phase: float(time.get(phase, 0.0)) for phase in PHASES}
        row = {
            "n_vertices": record["graph"]["n"],
            "m_edges": record["graph"]["m"],
            **{name: params[name] for name in ("k", "epsilon", "bound", "sampler")},
            "seed": record["seed"],
            "rr_sets": record["rr_sets"],
            "spread_estimate_vertices": record["spread_estimate"],
            "guarantee": math.nan if record["guarantee"] is None else record["guarantee"],
            "guarantee_kind": record["guarantee_kind"],
            "device": device["kind"],
            "device_name": device["name"],
            "gpus": len(device["gpus"]) if isinstance(device["gpus"], list) else device["gpus"],
            "threads": device["threads"],
            **{f"time_{phase}_s": seconds for phase, seconds in phases.items()},
            "time_other_s": round(max(total - sum(phases.values()), 0.0), 6),
            "time_total_s": total,
        }
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is not a record of `gpukit gim run --json`: {error} is missing or wrong") from None
    return [row]


def _record(path: str) -> dict[str, Any]:
    try:
        record = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON (line {error.lineno}); give the `--json` output of a run") from None
    if not isinstance(record, dict):
        raise InputError(f"{path} is not a JSON object; give the `--json` output of a run")
    return record


def _seeds(path: str) -> list[Row]:
    from gpukit.artifacts import read_seeds

    return [{"rank": rank, "vertex": int(vertex)} for rank, vertex in enumerate(read_seeds(path).seeds, start=1)]


def _spread(path: str) -> list[Row]:
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


def _artifact(path: str) -> list[Row]:
    from gpukit.artifacts import read_header

    header = read_header(path)
    return [
        {
            "file": path,
            "kind": header.kind,
            "seed": "" if header.seed is None else header.seed,
            "payload_sha256": header.payload,
        }
    ]


_READERS: dict[str, tuple[tuple[str, ...], Callable[[str], list[Row]]]] = {
    "runs": (("graph", "model"), _run),
    "seeds": (("graph", "model"), _seeds),
    "spread": (("graph", "model", "method"), _spread),
    "artifacts": ((), _artifact),
}
