"""The readings of the papers refer to existing places, leave out no item or claim, and repeat the typed values."""

import ast
import csv
import re
import shlex
from pathlib import Path

import pytest
from test_docs import resolve

from gpukit.papers.report.items import ITEMS

ROOT = Path(__file__).resolve().parents[2]
PAGES = {path.stem: path for path in sorted((ROOT / "docs/papers").glob("*.md"))}
CHECKED = ("item", "graph", "method", "x", "quantity", "paper")


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def tokens(page: str) -> list[str]:
    return re.findall(r"`([^`]+)`", PAGES[page].read_text(encoding="utf-8"))


def names(path: Path) -> set[str]:
    """Return what a file defines: names of a Python module (also inside of classes), rules of a workflow's file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return set(re.findall(r"^ *(?:rule|use rule \w+ as) (\w+)", text, flags=re.MULTILINE))
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def test_every_paper_has_a_reading_and_it_is_in_the_site():
    assert set(PAGES) == set(ITEMS)
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(f": papers/{page}.md" in site for page in PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_files_and_what_is_named_in_them_exist(page):
    pointed = [one for one in tokens(page) if re.match(r"(gpukit|workflow|config|tests|docs|benchmarks|data)/", one)]
    assert len(pointed) > 20
    for one in pointed:
        file, _, name = one.partition("::")
        assert (ROOT / file).is_file(), f"{page} points to {file}, which is missing"
        assert not name or name in names(ROOT / file), f"{page} points to {one}, and {file} has no {name}"


@pytest.mark.parametrize("page", PAGES)
def test_commands_exist_with_their_options(page):
    for line in (one for one in tokens(page) if one.startswith("gpukit ")):
        command, rest = resolve(shlex.split(line)[1:])
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert {word for word in rest if re.match(r"--?[A-Za-z]", word)} <= known, f"{page} names {line}"


@pytest.mark.parametrize("page", PAGES)
def test_every_item_and_every_claim_has_its_place(page):
    claims = {row["claim"] for row in table(ROOT / f"workflow/paper/claims/{page}.tsv")}
    for kind, wanted in (("item", set(ITEMS[page])), ("claim", claims)):
        assert {one.partition(" ")[2] for one in tokens(page) if one.startswith(f"{kind} ")} == wanted


@pytest.mark.parametrize("page", PAGES)
def test_the_numbers_checked_are_the_typed_ones(page):
    text = PAGES[page].read_text(encoding="utf-8").partition("## Ten numbers checked again")[2]
    rows = [[cell.strip() for cell in line.strip("| ").split(" |")] for line in text.splitlines() if line[:1] == "|"]
    typed = {tuple(row[name] for name in CHECKED) for row in table(ROOT / f"workflow/paper/{page}.tsv")}
    assert len(rows) >= 12  # a head, a rule, and ten numbers
    for row in rows[2:]:
        assert tuple(row) in typed, f"{page}: {row} is not typed so"
