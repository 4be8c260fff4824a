"""The records in results/, and what papers print, as tables.py and tests look them up."""

import csv
import json
import tomllib
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DATES: dict[str, str] = tomllib.loads((RESULTS / "dates.toml").read_text("utf-8"))
"""The days of records that hold none."""


@cache
def record(name: str) -> dict[str, Any]:
    """Return a record by its name."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def there(name: str) -> bool:
    """Say whether there is a record of this name."""
    return (RESULTS / f"{name}.json").is_file()


def one(name: str, **asked: Any) -> dict[str, Any]:
    """Return the only run of a record with these settings."""
    found = [run for run in record(name)["runs"] if _holds(run, asked)]
    assert len(found) == 1, f"{name}: {len(found)} runs with {asked}"
    return found[0]


def _holds(run: dict[str, Any], asked: dict[str, Any]) -> bool:
    """Say whether a run has these settings, at the top, in its parameters, or in its graph (``graph``: the name)."""
    for key, value in asked.items():
        found = run["graph"]["name"] if key == "graph" else run.get(key, run.get("params", {}).get(key))
        if found != value:
            return False
    return True


def held_ms(device: str, line: str) -> float | None:
    """Return the milliseconds of a line of held.toml in the newest version of its record; None where there is none."""
    if not there(f"held-{device}"):
        return None
    found = [one for one in record(f"held-{device}")["lines"] if one["name"] == line]
    return median(list(found[0]["ms"].values())[-1]) if found else None


def paper(name: str, graph: str, method: str, quantity: str, k: str | None = None) -> float:
    """Return what a paper prints, where ``workflow/paper`` holds it."""
    with (ROOT / "workflow" / "paper" / f"{name}.tsv").open(encoding="utf-8") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        found = {
            row["paper"]
            for row in rows
            if (row["graph"], row["method"], row["quantity"]) == (graph, method, quantity) and k in (None, row["x"])
        }
    assert len(found) == 1, found
    return float(found.pop())
