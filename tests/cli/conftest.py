"""Run commands in the process of the test.

A module's ``GROUP`` holds the first words of all its commands. A first word ``papers`` may precede them.
"""

import json
import re
from pathlib import Path

import pytest

from gpukit.cli.app import main


@pytest.fixture
def run(request, capsys):
    """Return a function that runs a command and returns its exit code, standard output and standard error."""
    group = getattr(request.module, "GROUP", ())

    def run(*words):
        first = words[: words[:1] == ("papers",)]
        code = main([*first, *group, *map(str, words[len(first) :])])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def good(run):
    """Return a function that runs a command that must succeed and returns its standard output."""

    def good(*words):
        code, out, err = run(*words)
        assert code == 0, err
        return out

    return good


@pytest.fixture
def record(good):
    """Return a function that runs a command that must succeed and returns its record."""
    return lambda *words: json.loads(good(*words, "--json"))


@pytest.fixture
def promised():
    """Return a function that returns every key that docs/command-line.md names for a command."""
    page = Path(__file__).parents[2] / "docs/command-line.md"
    rows = re.findall(r"^\| (.*?) \| (.*) \|$", page.read_text().partition("## What `--json` holds")[2], re.MULTILINE)

    def promised(command):
        (cell,) = [keys for commands, keys in rows if f"`{command}`" in commands]
        return set(re.findall(r"`(\w+)`", cell))

    return promised
