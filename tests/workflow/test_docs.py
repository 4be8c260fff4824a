"""The documents: commands in them exist with those options, links lead somewhere, figures have a text."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from gpukit.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(page: Path) -> list[str]:
    fenced = re.findall(r"^```\w*\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    lines = [line.split("  #")[0].strip() for block in fenced for line in block.splitlines()]
    return [line for line in lines if line.startswith("gpukit ")]


def resolve(words: list[str]):
    """Return the command that words name, and the words after its name."""
    command, context = typer.main.get_command(app.app), None
    while hasattr(command, "resolve_command"):
        context = type(command).context_class(command, info_name="gpukit", parent=context)
        _, command, words = command.resolve_command(context, words)
    return command, words


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_commands_exist_with_their_options(page):
    for line in commands(page):
        command, rest = resolve(shlex.split(line)[1:])
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        own = rest[: rest.index("--")] if "--" in rest else rest  # what follows is for other commands
        used = {word for word in own if re.match(r"--?[A-Za-z]", word)}
        assert used <= known | {"--help"}, f"{line}: {sorted(used - known)} unknown"


def test_there_are_commands_to_check():
    assert len([line for page in PAGES for line in commands(page)]) > 10


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_to_files_and_figures_have_a_text(page):
    for image, text, target in re.findall(r"(!?)\[([^\]]*)\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is missing"
        assert text or not image
