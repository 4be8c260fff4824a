"""A short run of the harness, with a hundred faults, and its counts in the documentation."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fault import counts
from fault.commands import TABLE

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.timeout(900)  # a minute on two idle cores
def test_a_hundred_faults(tmp_path: Path) -> None:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    command = [sys.executable, "-m", "fault", "--seed", "0", "--count", "100", "--keep", str(tmp_path / "faults")]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not re.search("^FAULT", done.stdout, re.MULTILINE)


def test_every_command_is_struck() -> None:
    """Faults strike all commands except those that cannot run here, belong to the workflow, or have separate tests.

    `papers bench counters` needs a GPU and NVIDIA's profiler. `papers report` is part of the workflow, and some
    commands write the workflow. `batch`, `demo` and `warm-up` run other commands. Three commands of kPAR are killed in
    separate tests, because they do more than write one output: `all` keeps its batches, `update` writes two files, and
    `serve` keeps running.
    """
    from gpukit.cli.app import COMMANDS, _load

    def names(command, words):
        inner = getattr(command, "commands", {})
        return [name for key, one in inner.items() for name in names(one, f"{words} {key}")] or [words]

    known = [name for word, _, _ in COMMANDS for name in names(_load(word), word)]
    lines = TABLE.strip().splitlines()
    missing = [name for name in known if not any(line == name or line.startswith(f"{name} ") for line in lines)]
    others = {"ask", "batch", "cite", "demo", "papers bench counters", "warm-up", "workflow init"}
    others |= {f"papers report {name}" for name in ("item", "page", "table")}
    others |= {f"papers {name}" for name in known}  # they run the same functions in other ways
    assert set(missing) <= others | {"kpar all", "kpar serve", "kpar update"}, missing


def test_the_page_shows_the_counts() -> None:
    text = counts.PAGE.read_text()
    assert text == counts.page(text, json.loads(counts.RECORD.read_text())), "run `make reliability`"


def test_sittings_add_up(tmp_path: Path) -> None:
    verdict = {"command": "graph info", "fault": "SIGTERM", "wrong": [], "late": False, "skipped": ""}
    late, failed = verdict | {"late": True}, verdict | {"wrong": ["died"]}
    for seed, first, verdicts in ((1, 1, [verdict, late]), (1, 3, [failed]), (1, 1, [verdict, late])):
        counts.add(tmp_path / "record", "faults", counts.sitting(seed, first, verdicts, 1.0))
    record = json.loads((tmp_path / "record").read_text())
    assert [(one["first"], one["last"]) for one in record["faults"]] == [(1, 2), (3, 3)]
    assert "| **all** | 3 | 1 | 1 | 1 | 0 |" in counts.table(record) and "1/1–2, 1/3–3" in counts.table(record)
