"""Words that come with the data, such as names of graphs: shown as they are, and never as markup."""

import re

# Control characters, halves of characters (bytes of a file name that are not UTF-8), and what XML does not know.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    r"""Return a text with escapes such as ``\x07`` in place of characters that tables, SVG and HTML cannot hold."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def label(text: str) -> str:
    """Return a text for a figure: printable, its dollar signs no mathematics, and not left out of the legend."""
    # matplotlib takes a label that begins with an underscore for one to be hidden; the space has no width.
    hidden = "\u200b" if text.startswith("_") else ""
    return hidden + printable(text).replace("$", r"\$")


def vertex(text: str) -> int | str:
    """Return the vertex that a table names: an id, or a label."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text
