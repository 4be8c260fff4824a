"""Links of the pages that leave docs/ lead into the repository, which the site does not hold."""

import re

REPOSITORY = "https://github.com/gpukit/gpukit/blob/main/"


def on_page_markdown(markdown, **_):
    """Return a page with its links to ../X made addresses."""
    return re.sub(r"\]\(\.\./", f"]({REPOSITORY}", markdown)
