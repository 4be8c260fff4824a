"""The documents: commands in them exist with those options, links lead somewhere, figures have a text."""

import importlib.util
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


@pytest.fixture(scope="module")
def build_site():
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "docs/build_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_of_the_site_lead_into_the_repository_where_they_leave_docs(build_site):
    text = "[a](../gim.md#imm) [b](../../workflow/rules/gim.smk) [c](x.md)"
    found = build_site.leaving(text, "papers/gim.md")
    assert found == f"[a](../gim.md#imm) [b]({build_site.REPOSITORY}workflow/rules/gim.smk) [c](x.md)"
    assert build_site.leaving("[b](../README.md)", "gim.md") == f"[b]({build_site.REPOSITORY}README.md)"


def test_a_site_with_a_dead_link_or_a_broken_table_is_refused(build_site, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/index.html").write_text("<h1 id='here'></h1><p>text</p>")
    repository = build_site.REPOSITORY
    good = f'<a href="a/#here"></a><a href="{repository}README.md"></a><code>| x |</code><a href="https://x.org"></a>'
    (tmp_path / "index.html").write_text(good)
    assert build_site.mistakes_of(tmp_path) == []
    for text, message in (
        ('<a href="b/"></a>', "index.html: b/ leads nowhere"),
        ('<img src="a/x.png">', "index.html: a/x.png leads nowhere"),
        ('<a href="a/#there"></a>', "index.html: a/#there names no place of its page"),
        (f'<a href="{repository}gim.md#imm"></a>', f"index.html: {repository}gim.md#imm is not in the repository"),
        ("<p>text\n| a | b |</p>", "index.html: a row of a table is no row: | a | b |"),
    ):
        (tmp_path / "index.html").write_text(good + text)
        assert build_site.mistakes_of(tmp_path) == [message]


def test_the_article_says_what_the_readme_says():
    """Measured numbers of paper.md stand in README.md, counts of claims are its sums, and what is listed is cited."""
    article, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("paper.md", "README.md"))
    measured = re.findall(r"(?<![\w.])[\d,.]+ ms|\d\.\d s\b|\d+,\d+\b", article)
    assert len(measured) > 6 and [one for one in measured if one not in readme] == []
    rows = re.search(r"<!-- reproduction -->(.*?)<!-- /", readme, flags=re.DOTALL)[1]
    counts = [list(map(int, re.findall(r"\| (\d+)", row))) for row in rows.strip().splitlines()[2:]]
    said = re.search(
        r"(\d+) were reproduced.*?(\d+) contradicted.*?(\d+) found.*?(\d+) are not decided.*?(\d+) not judged",
        article,
        flags=re.DOTALL,
    )
    assert list(map(sum, zip(*counts, strict=True))) == list(map(int, said.groups()))
    listed = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper.bib").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(re.findall(r"\[@(\w+)\]", article)) == set(listed)


WRITTEN = ("configuration.md", "reproduction.md")
"""Pages that programs write."""

WIDTH = 100
"""Characters of a line of prose at most; tables, code, headings, HTML and what cannot be broken may be longer."""


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_lines_of_prose_are_short(page):
    text = re.sub(r"^(```|~~~).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!-- (figures|reproduction|counts).*?<!-- (/|end)", "", text, flags=re.DOTALL)  # by programs
    prose = [line for line in text.splitlines() if not re.match(r" {4}|\||#|<|>>>|\[[^]]+\]: ", line)]
    whole = re.compile(r"`[^`]*`|!?\[[^]]*\]\([^)]*\)")
    broken = [line for line in prose if len(line) > WIDTH and " " in whole.sub("x", line.strip().lstrip("-* "))]
    assert page.name in WRITTEN or broken == []
