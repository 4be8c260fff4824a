"""The meanings of the words that commands print, read from docs/numbers.md for ``--explain``."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpukit.files import read_text

PAGES = [folder / "docs/numbers.md" for folder in (Path(__file__).with_name("carried"), Path(__file__).parents[2])]
"""The path of the page: inside the package in a wheel, at the root in a checkout."""


def meanings() -> dict[tuple[str, ...], str]:
    """Return the paragraphs of the page as plain text, by the words that they explain."""
    parts = re.split(r"^### (.+)$", read_text(next(filter(Path.is_file, PAGES), PAGES[0])), flags=re.MULTILINE)[1:]
    found = {}
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        plain = re.sub(r"`|\[([^\]]*)\]\([^)]*\)", r"\1", text.partition("\n## ")[0])
        found[tuple(title.split(", "))] = " ".join(plain.split())
    return found


def explained(lines: Iterable[str]) -> dict[str, str]:
    """Return the meanings of the words that occur in some lines, by word, in the order of the page."""
    text = "\n".join(lines)
    said = {}
    for words, meaning in meanings().items():
        there = next((one for one in words if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text)), None)
        if there is not None:
            said[there] = meaning
    return said


def print_meanings(lines: Mapping[str, object]) -> None:
    """Print the meanings of the words of an answer, below it."""
    for word, meaning in explained(f"{title} {text}" for title, text in lines.items()).items():
        print(f"\n{word}: {meaning}")
