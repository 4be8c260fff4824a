"""Running commands in the process of the test; a module's ``GROUP`` holds the first words of all its commands."""

import json

import pytest

from gpukit.cli.app import main


@pytest.fixture
def run(request, capsys):
    """Return a function that runs a command and returns its exit code, standard output and standard error."""
    group = getattr(request.module, "GROUP", ())

    def run(*words):
        code = main([*group, *map(str, words)])
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
