"""``--explain``: every word that commands print has a paragraph on one page, and this paragraph is printed."""

import re
from pathlib import Path

import numpy as np
import pytest

from gpukit.artifacts import write_graph
from gpukit.cli import common, meanings
from gpukit.graph.build import build_graph
from gpukit.graph.csr import Weights

PAGE = Path(__file__).parents[2] / "docs/numbers.md"
CPU = ("--device", "cpu")
COMMANDS = [
    ("gim", "run", "{}/g.h5", "-k", 2, *CPU, "--out", "{}/s.h5"),
    ("imgpu", "run", "{}/g.h5", "-k", 2, "--worlds", 64, *CPU, "--out", "{}/w.h5"),
    ("evaluate", "spread", "{}/g.h5", "--seeds", "{}/s.h5", "--prefixes", "1", "--runs", 50, *CPU),
    ("kpar", "query", "{}/g.h5", "--source", 0, "-k", 3, "--out", "{}/t.h5"),
    ("evaluate", "ppr", "{}/g.h5", "--answers", "{}/t.h5"),
    ("merit", "run", "{}/g.h5", "--eta", 4, *CPU, "--out", "{}/c.h5"),
    ("merit", "start", "{}/g.h5", "--eta", 4, *CPU, "--out", "{}/r.h5"),
    ("diversity", "search", "{}/g.h5", "-k", 1, "--model", "comp", "-t", 3, "--undirected", *CPU, "--out", "{}/d.h5"),
    ("evaluate", "diversity", "{}/g.h5", "--answers", "{}/d.h5"),
]
PLAIN = {"wrong scores", "wrong contexts", "misplaced", "missed", "not shown"}
"""What says itself what it is."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    u, v = np.array([0, 0, 0, 1, 2, 3, 4, 5, 6, 7]), np.array([1, 2, 3, 2, 3, 4, 5, 6, 7, 0])
    write_graph(folder / "g.h5", build_graph(u, v, weights=Weights()))
    return folder


def test_every_printed_title_has_its_paragraph(folder, good, monkeypatch):
    titles = set()
    monkeypatch.setattr(common, "print_table", lambda lines: titles.update(lines))
    for words in COMMANDS:
        good(*(str(word).format(folder) for word in words))
    assert len(titles) > 20
    assert {title for title in titles - PLAIN if not meanings.explained([title])} == set()


def test_a_command_prints_what_the_page_says(folder, good):
    said = good(*(str(word).format(folder) for word in COMMANDS[0]), "--explain")
    answer, *told = said.split("\n\n")
    words = [one.partition(": ")[0] for one in told]
    assert answer.startswith("seeds ") and {"±", "graph", "time", "seeds", "spread", "optimism", "guarantee"} <= set(
        words
    )
    page = " ".join(re.sub(r"`", "", PAGE.read_text(encoding="utf-8")).split())
    for one in told:
        assert one.partition(": ")[2].strip() in page
    plain = good(*(str(word).format(folder) for word in COMMANDS[0]))
    assert plain.splitlines()[0] == answer.splitlines()[0] and "\n\n" not in plain
    assert good(*(str(word).format(folder) for word in COMMANDS[0]), "--explain", "--json").count("\n") == 1


def test_the_page_has_no_empty_paragraph_and_no_word_twice():
    found = meanings.meanings()
    words = [word for one in found for word in one]
    assert len(words) == len(set(words)) > 30 and all(len(text) > 20 for text in found.values())
    assert not any("##" in text or "`" in text for text in found.values())
    asked = {"gain", "optimism", "certain", "Definition 1", "chosen by", "judges", "cost"}
    assert asked <= set(words)
    assert [*meanings.explained(["uncertain seedsmen"])] == []


@pytest.mark.parametrize("name", ["seeds", "ranking", "campaign", "circles"])
def test_each_how_to_leads_there(name):
    assert "(numbers.md)" in (PAGE.parent / f"howto-{name}.md").read_text(encoding="utf-8")
