"""The size of the package stays within ``tests/budget.toml``: syntax nodes of each room, without docstrings."""

import ast
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUDGET = tomllib.loads((ROOT / "tests" / "budget.toml").read_text())
CONTEXT = (ast.Load, ast.Store, ast.Del)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def count_nodes(text):
    """Return the syntax nodes of a source. Docstrings, comments and formatting do not count."""
    nodes = [node for node in ast.walk(ast.parse(text)) if not isinstance(node, CONTEXT)]
    docstrings = [node for node in nodes if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False)]
    return len(nodes) - 2 * len(docstrings)  # a statement and its text


def count_rooms():
    """Return the nodes of each room: a folder of the package, or ``gpukit`` for the modules beside the folders."""
    sizes = Counter()
    for path in (ROOT / "gpukit").rglob("*.py"):
        folder, *rest = path.relative_to(ROOT / "gpukit").parts
        sizes[folder if rest else "gpukit"] += count_nodes(path.read_text())
    return sizes


def over_budget(sizes, rooms, product):
    """Return a sentence for each room without a limit or above it, and for the product if it is above its own."""
    found = [f"{one} has no limit in tests/budget.toml; add {size}" for one, size in sizes.items() if one not in rooms]
    sizes = {**sizes, "the product": sum(size for room, size in sizes.items() if room != "papers")}
    return found + [
        f"{room} has {sizes[room]:,} syntax nodes, {sizes[room] - limit:,} over its limit in tests/budget.toml; make "
        "it smaller, or raise the limit and say why in the body of the commit"
        for room, limit in {**rooms, "the product": product}.items()
        if sizes.get(room, 0) > limit
    ]


def test_every_room_is_within_its_budget():
    found = over_budget(count_rooms(), BUDGET["rooms"], BUDGET["product"])
    assert not found, "; ".join(found)


def test_a_limit_is_of_a_room_that_exists():
    assert BUDGET["rooms"].keys() == count_rooms().keys()


def test_docstrings_and_formatting_do_not_count():
    assert count_nodes('"""A module."""\n# a comment\nx = (\n    1\n)\n') == count_nodes("x = 1") == 4


@pytest.mark.parametrize(
    "rooms, product, sentence",
    [
        ({"gim": 7, "papers": 9}, 8, "gim has 8 syntax nodes, 1 over its limit"),
        ({"gim": 8, "papers": 9}, 7, "the product has 8 syntax nodes, 1 over its limit"),
        ({"gim": 8}, 8, "papers has no limit in tests/budget.toml; add 9"),
    ],
)
def test_what_is_over_budget_is_one_sentence(rooms, product, sentence):
    (found,) = over_budget({"gim": 8, "papers": 9}, rooms, product)
    assert found.startswith(sentence)
    assert over_budget({"gim": 8, "papers": 9}, {"gim": 8, "papers": 9}, 8) == []
