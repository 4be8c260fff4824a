"""Words from the data, such as names of graphs: shown literally, never as markup."""

import re

# Control characters, surrogates (bytes of a file name that are not UTF-8), and characters that XML does not allow.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    r"""Return a text with escapes such as ``\x07`` for characters that tables, SVG and HTML cannot contain."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def label(text: str) -> str:
    """Return a text for a figure: printable, dollar signs without mathematical meaning, always shown in the legend."""
    # matplotlib hides a label that begins with an underscore; the space put before it has no width.
    hidden = "\u200b" if text.startswith("_") else ""
    return hidden + printable(text).replace("$", r"\$")


def vertex(text: str) -> int | str:
    """Return the vertex in a table cell: an id, or a label."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text
