"""The examples in the docstrings of the Python API, and on its page."""

import doctest
import gzip
import importlib
import pkgutil
import re
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


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example on the page runs, in order, in a folder with the file that the page shows."""
    text = PAGE.read_text()
    (shown,) = re.findall(r"^```\n(from,to.*?)^```", text, re.DOTALL | re.MULTILINE)
    (tmp_path / "friends.csv").write_text(shown)
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(PAGE), module_relative=False, optionflags=FLAGS)
    assert found.failed == 0 and found.attempted > 25


@pytest.mark.parametrize("number", range(4))
def test_the_page_on_other_libraries(number: int) -> None:
    """Every example runs, those of igraph where that is installed; the last one goes on with what was before."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", (PAGE.parent / "from-others.md").read_text(), re.DOTALL | re.MULTILINE
    )
    assert len(blocks) == 4
    if "igraph" in blocks[number]:
        pytest.importorskip("igraph")
    runner, text = doctest.DocTestRunner(optionflags=FLAGS), "".join(blocks[2:] if number == 3 else [blocks[number]])
    runner.run(doctest.DocTestParser().get_doctest(text, {}, "from-others", None, 0))
    assert runner.failures == 0 and runner.tries > 4


def test_the_examples_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (PAGE.parents[1] / "README.md").read_text()
    first, session = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    edges = "".join(f"{v} {v + step}\n" for v in range(30) for step in (1, 7))
    (tmp_path / "friends.txt.gz").write_bytes(gzip.compress(edges.encode()))
    monkeypatch.chdir(tmp_path)
    exec(first, {})
    assert capsys.readouterr().out.startswith("Spread: ")
    parsed = doctest.DocTestParser().get_doctest(session, {}, "README", None, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(parsed)
    assert runner.failures == 0 and runner.tries > 3
