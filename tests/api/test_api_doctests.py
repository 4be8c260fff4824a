"""The examples in the docstrings of the Python API, and on its page."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import gpukit
import gpukit.api

MODULES = sorted(one.name for one in pkgutil.iter_modules(gpukit.api.__path__))
PAGE = Path(gpukit.__file__).parents[1] / "docs" / "python.md"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings(module: str) -> None:
    found = doctest.testmod(importlib.import_module(f"gpukit.api.{module}"), optionflags=FLAGS)
    assert found.failed == 0


def test_every_name_has_an_example() -> None:
    without = [name for name in gpukit.__all__ if ">>> " not in (getattr(gpukit, name).__doc__ or "")]
    assert without == []
