"""The figures that the documents state, looked up in the records: what the tests of each system's figures share.

A sentence with ``{}`` is filled with values of the records, rounded as it says, and must stand in its document.
"""

import csv
import json
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


@cache
def record(name):
    return json.loads((RESULTS / f"{name}.json").read_text())


def _holds(run, asked):
    """Whether a run has these settings, at the top, in its parameters, or in its graph (``graph``: the name)."""
    for key, value in asked.items():
        found = run["graph"]["name"] if key == "graph" else run.get(key, run.get("params", {}).get(key))
        if found != value:
            return False
    return True


def one(name, **asked):
    """Return the only run of a record with these settings."""
    found = [run for run in record(name)["runs"] if _holds(run, asked)]
    assert len(found) == 1, f"{name}: {len(found)} runs with {asked}"
    return found[0]


def paper(name, graph, method, quantity, k=None):
    """Return what a paper prints, where ``workflow/paper`` holds it."""
    rows = csv.DictReader((ROOT / "workflow" / "paper" / f"{name}.tsv").open(), delimiter="\t")
    found = {
        row["paper"] for row in rows
        if (row["graph"], row["method"], row["quantity"]) == (graph, method, quantity) and k in (None, row["x"])
    }  # fmt: skip
    assert len(found) == 1, found
    return float(found.pop())


def says(document, sentence, values):
    """Check that a document has a sentence, filled with values; where lines break does not matter."""
    text = " ".join((ROOT / document).read_text().split())
    said = " ".join(sentence.format(*values).split())
    assert said in text, f"{document} should say: {said}"


def each_of(**claims):
    """Return the mark of a test that runs for every claim: (sentence, values), in lists by the name of the document."""
    places = {"readme": "README.md"}
    rows = [(places.get(name, f"docs/{name}.md"), *claim) for name, listed in claims.items() for claim in listed]
    return pytest.mark.parametrize(("document", "sentence", "values"), rows, ids=lambda part: str(part)[:40])
