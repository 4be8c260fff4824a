"""``gpukit cite``: BibTeX from CITATION.cff, which is in the wheel."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from gpukit import __version__
from gpukit.cli import cite
from gpukit.papers.report.publications import PUBLICATIONS

ROOT = Path(__file__).parents[2]


def fields(text):
    """Return key and fields of each BibTeX entry, read by its braces."""
    found = {}
    for key, body in re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        found[key] = dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.MULTILINE))
    return found


def test_every_paper_is_an_entry(good, record):
    whole = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    found = fields(good("cite"))
    assert list(found) == ["gpukit", *cite.ORDER] == ["gpukit", *PUBLICATIONS]
    for name, entry in zip(cite.ORDER, whole["references"], strict=True):
        assert found[name]["title"] == f"{{{entry['title']}}}" and PUBLICATIONS[name].title == entry["title"]
        assert found[name].get("doi") == entry.get("doi")
        assert found[name].get("year", "") == str(entry.get("year", ""))
        assert fields(good("cite", name)) == {name: found[name]}
        assert record("cite", name)["citations"] == {name: entry}
    assert found["kpar"]["author"].startswith("Shi, Jieming and Yang, Renchi and ") and found["kpar"]["number"] == "1"
    assert [found["kpar"][name] for name in ("volume", "number", "pages")] == ["13", "1", "15--28"]
    assert (found["imgpu"]["volume"], found["imgpu"]["number"]) == ("25", "1")
    assert found["gpukit"]["url"] == whole["repository-code"]
    assert (found["gpukit"]["version"], found["gpukit"]["year"]) == (__version__, whole["date-released"][:4])


def test_the_wheel_carries_the_file(run, monkeypatch, tmp_path):
    carried = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert carried["force-include"]["CITATION.cff"] == "gpukit/CITATION.cff"
    package = Path(cite.__file__).parents[1]
    assert cite.PLACES == (package / "CITATION.cff", ROOT / "CITATION.cff")
    monkeypatch.setattr(cite, "PLACES", (tmp_path / "none",))
    code, out, err = run("cite", "gim")
    assert (code, out) == (3, "") and "CITATION.cff is not in this installation" in err


@pytest.mark.parametrize("name", ["nobody", "GIM"])
def test_an_unknown_system(run, name):
    code, _, err = run("cite", name)
    assert code == 2 and "is not one of" in err and err.count("\n") == 1
