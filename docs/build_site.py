"""Builds the site: links that leave docs/ lead into the repository, and every link of the finished site has an end.

python docs/build_site.py            # into site/, without the network
"""

import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
REPOSITORY = "https://github.com/gpukit/gpukit/blob/main/"


def main():
    """Build the site from a copy of the pages, check it, and replace the older one."""
    with tempfile.TemporaryDirectory() as aside:
        copy, target = Path(aside), ROOT / "site"
        shutil.copytree(ROOT / "docs", copy / "docs", ignore=shutil.ignore_patterns("*.py", "*.json", "__pycache__"))
        shutil.copy(ROOT / "mkdocs.yml", copy)
        for page in copy.glob("docs/**/*.md"):
            text = page.read_text(encoding="utf-8")
            page.write_text(leaving(text, page.relative_to(copy / "docs").as_posix()), encoding="utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
        found = [done.stdout + done.stderr] if done.returncode else mistakes_of(copy / "site")
        if not found:
            shutil.rmtree(target, ignore_errors=True)
            shutil.move(copy / "site", target)
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


def leaving(text, page):
    """Return the text of a page, whose links to what lies outside docs/ are made addresses."""

    def leave(link):
        target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link[1]))
        return link[0] if target.startswith("docs/") else f"]({REPOSITORY}{target}"

    return re.sub(r"\]\((\.\./[^)\s]*)", leave, text)


def mistakes_of(site):
    """Return a line for each link of a site that leads nowhere, and for each row of a table that became text."""
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    return [one for path, page in pages.items() for one in mistakes(path, page, pages, site)]


def mistakes(path, page, pages, site):
    """Yield a line for each mistake of a page."""
    name = path.relative_to(site)
    for row in page.rows:
        yield f"{name}: a row of a table is no row: {row[:60]}"
    for link in page.links:
        if link.startswith(REPOSITORY):
            if not (ROOT / unquote(urlsplit(link).path.partition("/blob/main/")[2])).exists():
                yield f"{name}: {link} is not in the repository"
            continue
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        if not target.is_file():
            yield f"{name}: {link} leads nowhere"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
            yield f"{name}: {link} names no place of its page"


class Page(HTMLParser):
    """The links and places of a page, and rows of tables that stand in its text."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.rows, self._code = [], {"", "__skip"}, [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """Take note of its links and of what it is called."""
        found = dict(attributes)
        self.links += [found[name] for name in ("href", "src") if found.get(name)]
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        self._code += tag in ("pre", "code", "script", "style")

    def handle_endtag(self, tag):
        """Take note of the end of code."""
        self._code -= tag in ("pre", "code", "script", "style")

    def handle_data(self, text):
        """Take note of lines that should have been rows of a table."""
        if not self._code:
            self.rows += [line for line in text.split("\n") if line.lstrip().startswith("|")]


if __name__ == "__main__":
    sys.exit(main())
