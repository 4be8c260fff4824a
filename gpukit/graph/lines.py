"""Lines of delimited text: splitting into fields, recognising numbers, and quoting for messages."""

import csv
import re
import sys
from collections.abc import Sequence
from typing import Any

from gpukit.wording import spelled

MAX_ID = 2**63 - 1

PROBABILITIES = 1.0
COUNTS = sys.float_info.max
"""The highest weight that is accepted: for probabilities, and for weights that are scaled later."""

NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
"""A decimal number. Python accepts more: underscores, digits of every script, words."""

_WORD = re.compile(r'"((?:[^"]|"")*)"(?=[ \t]|$)|([^ \t"][^ \t]*)')
_BLANKS = re.compile(r"[ \t]*")

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": None}
"""Separators by name; None means runs of blanks and tabs."""


def shown(text: str) -> str:
    """Return a piece of the input for a message, quoted and cut at 40 characters."""
    return repr(text if len(text) <= 40 else text[:40] + "…")


def decimal_comma(text: str) -> bool:
    """Return whether a text would be a number if a comma in it were a point."""
    return text.count(",") == 1 and NUMBER.fullmatch(text.replace(",", ".")) is not None


def not_a_weight(highest: float) -> str:
    """Return the part of a message about a weight outside [0, highest]."""
    return (
        f"is not a probability in [0, 1]; {spelled('scale')} takes counts"
        if highest == 1
        else "is not a finite number >= 0"
    )


def separator_name(separator: str | None) -> str:
    """Return the name of a separator, or the separator itself."""
    return next((name for name, one in SEPARATORS.items() if one == separator), separator or "")


def split(line: str, separator: str | None) -> list[str]:
    """Return the fields of a line, without surrounding blanks; quotes follow the rules of CSV.

    Parameters
    ----------
    line : str
        Without its line end.
    separator : str or None
        One character; None for runs of blanks and tabs.

    Raises
    ------
    ValueError
        With a description of the wrong quotes.
    """
    if separator is None:
        return _words(line)
    try:
        rows = list(csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise ValueError(_message(error)) from None
    return [field.strip() for field in rows[0]] if rows else []


def count(line: str, separator: str | None) -> int:
    """Return the number of fields of a line; 0 if its quotes are wrong."""
    try:
        return len(split(line, separator))
    except ValueError:
        return 0


def quoted(item: Any) -> str:
    """Return an item of a list as commands read it: a name with a comma or a quote is put in quotes.

    So is a name that would start a comment.
    """
    return _in_quotes(item) if isinstance(item, str) and re.search('^#|[",]', item) else str(item)


def source_words(vertices: Sequence[Any], shares: Sequence[float]) -> list[str]:
    """Return the source of a query in the syntax of ``--source``: a vertex, or several as ``VERTEX:SHARE``."""
    if len(vertices) == 1:
        return [quoted(vertices[0])]
    names = (_in_quotes(one) if ":" in str(one) else quoted(one) for one in vertices)
    return [f"{name}:{share:.12g}" for name, share in zip(names, shares, strict=True)]


def _in_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _words(line: str) -> list[str]:
    found, at = [], _BLANKS.match(line).end()  # type: ignore[union-attr]
    while at < len(line):
        word = _WORD.match(line, at)
        if word is None:
            raise ValueError("a quote that is not closed, or followed by more text")
        found.append((word[2] if word[1] is None else word[1].replace('""', '"')).strip())
        at = _BLANKS.match(line, word.end()).end()  # type: ignore[union-attr]
    return found


def _message(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end" in text:
        return "a quote is not closed; a field cannot continue in the next line"
    if "expected after" in text:
        return "a closing quote is followed by more text; a quote within a field is written twice"
    return text
