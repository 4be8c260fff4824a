"""Imports go one way: cli, api, systems and services, then worlds, then graph and device, then files, then errors."""

import ast
import re
from pathlib import Path

import networkx
import pytest

ROOT = Path(__file__).parents[2] / "gpukit"
SYSTEMS = {"gim", "imgpu", "kpar", "merit", "diversity"}
BASE = {"errors", "wording", "parameters", "files", "portable", "remote", "graph", "device", "worlds"}
ALLOWED = {
    "errors": {"wording"},
    "wording": set(),
    "parameters": {"errors", "wording"},
    "files": {"errors", "pending", "portable", "remote"},
    "remote": {"errors"},
    "portable": set(),
    "pending": {"errors"},
    "device": {"errors", "files", "portable", "remote", "wording"},
    "graph": {"errors", "files", "device", "wording"},
    "worlds": {"errors", "files", "device", "graph", "wording"},
    "datasets": {"errors", "files", "graph", "device", "portable", "wording"},
    "artifacts": BASE | {"pending"},
    "evaluate": BASE,
    "report": BASE | {"artifacts"},
    "nx": BASE | {"diversity"},
    "api": BASE | SYSTEMS | {"artifacts", "datasets", "evaluate"},
    "cli": BASE | SYSTEMS | {"api", "pending", "artifacts", "datasets", "evaluate", "report"},
    "papers": BASE | SYSTEMS | {"api", "artifacts", "cli", "datasets", "evaluate", "report"},
} | {system: BASE | {"evaluate"} for system in SYSTEMS}
"""What each room, a folder or a module, may import beside itself. No room may import ``papers``."""

OWN_LIBRARIES = {"h5py": {"artifacts"}, "typer": {"cli", "papers"}, "snakemake": set()}
"""Libraries that only some rooms may import."""

FILES = sorted(path for path in ROOT.rglob("*.py") if not path.name.startswith("__") or path.parent != ROOT)


def imported(path):
    """Return every module that a file names in an import, wherever it stands."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "gpukit" and len(parts) > 1 and parts[1] in ALLOWED:
            assert parts[1] == room or parts[1] in ALLOWED[room], f"{path} imports {name}"
        if parts[0] in OWN_LIBRARIES:
            assert room in OWN_LIBRARIES[parts[0]], f"{path} imports {name}"


def test_no_modules_import_each_other():
    """Wherever an import stands: in a function, or for type checkers alone."""
    modules = {}
    for path in ROOT.rglob("*.py"):
        parts = ("gpukit", *path.relative_to(ROOT).with_suffix("").parts)
        modules[".".join(parts).removesuffix(".__init__")] = path
    graph = networkx.DiGraph()
    for module, path in modules.items():
        # What a package hands on is imported by its users from where it lies, or by the package itself.
        graph.add_edges_from((module, name) for name in imported(path) if name in modules and not is_package(name))
    circles = [sorted(circle) for circle in networkx.strongly_connected_components(graph) if len(circle) > 1]
    assert circles == []


def is_package(module):
    return (ROOT.parent / module.replace(".", "/")).is_dir()


STEPS = re.findall(r"^\|(.+)\|([^|]+)\|$", (ROOT.parent / "docs" / "architecture.md").read_text(), re.MULTILINE)
PLACES = [place for _, cell in STEPS for place in re.findall(r"`([a-z]\w+(?:\.\w+)+)`", cell)]


def test_every_system_has_its_steps_listed():
    assert {place.removeprefix("papers.").split(".")[0] for place in PLACES} >= SYSTEMS


@pytest.mark.parametrize("place", PLACES)
def test_steps_of_the_papers_are_where_the_page_says(place):
    """``kpar.query.answer_cpu.push`` is ``push`` in ``gpukit/kpar/query/answer_cpu.py``; or a class is between."""
    words = place.split(".")
    depth = next(i for i in range(len(words), 0, -1) if (ROOT.joinpath(*words[:i])).with_suffix(".py").is_file())
    body = ast.parse(ROOT.joinpath(*words[:depth]).with_suffix(".py").read_text()).body
    assert words[depth:], f"{place} names a file; name what is in it"
    for word in words[depth:]:
        found = [one for one in body if getattr(one, "name", None) == word]
        found += [one for one in body if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == word]
        assert found, f"{place}: there is no {word}"
        body = getattr(found[0], "body", [])
