"""Links of the pages that leave docs/ lead into the repository; and once the site is built, every link has an end."""

import posixpath
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parents[1]
REPOSITORY = "https://github.com/gpukit/gpukit/blob/main/"


def on_page_markdown(markdown, page, **_):
    """Return a page with its links to what lies outside docs/ made addresses."""
    folder = posixpath.dirname(page.file.src_uri)

    def leave(link):
        target = posixpath.normpath(posixpath.join("docs", folder, link[1]))
        return link[0] if target.startswith("docs/") else f"]({REPOSITORY}{target}"

    return re.sub(r"\]\((\.\./[^)\s]*)", leave, markdown)


def on_post_build(config, **_):
    """Refuse a site with a link that leads nowhere, or with a row of a table that became text."""
    site = Path(config.site_dir)
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    if found := [one for path, page in pages.items() for one in mistakes(path, page, pages, site)]:
        raise PluginError("\n".join(found))


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
