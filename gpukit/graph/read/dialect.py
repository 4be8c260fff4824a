"""The dialect of a text edge list: found from its first lines, or given by options.

A guess that could change the graph must be unambiguous. Otherwise the text is refused, and the error names the option
that decides.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpukit.errors import InputError, UsageError
from gpukit.graph.lines import NUMBER, SEPARATORS, count, decimal_comma, separator_name, shown, split
from gpukit.graph.read.edgelist import ReadOptions
from gpukit.wording import spelled

LOOKED_AT = 100
"""Number of lines that decide on the separator, the header and an index."""

INTEGER = re.compile("[-+]?[0-9]+")
ODD_INTEGER = re.compile(r"[+-]?0[0-9]+|\+[0-9]+|[+-]?[0-9]{1,3}(?:,[0-9]{3})+")
"""A whole number in an unusual form, which may be a name: 007, +491, 1,234."""
_TIME = re.compile("[0-9]{8,}")
"""A number that may be a time: a day like 20040415, or seconds or milliseconds since 1970."""
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")
_NO_END = re.compile(rf"{_DATE.pattern}|[^\w\s]+")
"""A date, or a mark such as an arrow."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
_USUAL = bytes(byte for byte in range(256) if byte in (9, 10) or 32 <= byte != 127)

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ENDS = [pair.split() for pair in _WORDS["ends"].split(",")]
_BESIDE = re.compile(f"(?<=.)({_WORDS['beside']})+$")
DIRECTIONS: dict[str, bool] = _WORDS["direction"]
MISSING = {*_WORDS["missing"]}
UNNAMED: list[str] = _WORDS["unnamed"]


@dataclass(frozen=True)
class Dialect:
    """How to read a text.

    Attributes
    ----------
    separator : str or None
        One character; None for runs of blanks and tabs.
    columns : tuple of int
        Positions of source and target, and of the weight if it is read.
    width : int
        Number of fields per line.
    header : int
        Number of the line that names the columns or states sizes; 0 if there is none.
    names : tuple of str
        Names of the columns.
    ids : str
        ``integer`` or ``text``.
    direction : int or None
        Position of the column that says for each edge whether it stands for both directions.
    sizes : tuple of int, or None
        The numbers in the first line, if they may be the numbers of vertices and edges.
    between : str
        The separator of fields, in words.
    options : ReadOptions
    """

    separator: str | None
    columns: tuple[int, ...]
    width: int
    header: int = 0
    names: tuple[str, ...] = ()
    ids: str = "integer"
    direction: int | None = None
    sizes: tuple[int, int] | None = None
    between: str = "space"
    options: ReadOptions = ReadOptions()

    @property
    def plain(self) -> bool:
        """Whether the text is in the plain format: whole numbers, ends first, separated by blanks or commas."""
        default = self.columns == tuple(range(len(self.columns))) and not self.names
        return default and self.ids == "integer" and self.separator in (None, ",") and not self.options.separator

    @property
    def has_index(self) -> bool:
        """Whether the first column has no name, but other columns do."""
        return bool(self.names) and self.names[0] in UNNAMED

    def record(self) -> dict[str, Any]:
        """Return the dialect as a record for people and programs."""
        said = [self.names[place] if self.names else place + 1 for place in self.columns]
        return {"separator": self.between, "header": bool(self.names), "columns": said, "ids": self.ids}


def look(
    name: str, lines: Sequence[tuple[int, bytes]], comments: Sequence[str], options: ReadOptions, weights: float
) -> Dialect:
    """Return the dialect of a text.

    Parameters
    ----------
    name : str
        The file, for messages.
    lines : sequence of (int, bytes)
        Its first lines that are neither blank nor comments, with their numbers; at least one.
    comments : sequence of str
        The comments before them.
    options : ReadOptions
        The user's options.
    weights : float
        The highest weight, 0 to read none.

    Raises
    ------
    InputError
        If the text is not understood; the message names the option that would help.
    UsageError
        If the user's options do not fit.
    """
    texts = [check_text(name, line, at) for at, line in lines]
    separator = _separator(texts, options)
    between = separator_name(separator)
    rows = [_fields(f"{name}, line {at}", text, separator) for (at, _), text in zip(lines, texts, strict=True)]
    where = f"{name}, line {lines[0][0]}"
    sizes = _sizes(rows, separator, options)
    is_header = len(rows[0]) < len(rows[1]) if sizes and not options.header else _has_header(where, rows, options)
    body = rows[is_header:]
    names = rows[0] if is_header and not sizes else []
    sizes = None if options.header else sizes
    if names and all(len(row) == len(names) + 1 for row in body) and _counts_up([row[0] for row in body]):
        names = ["", *names]  # R writes no name above the row numbers
    first = names or (body or rows)[0]
    width = len(first)
    if width < 2:
        advice = f"a line needs two vertex ids, {spelled('sep')} names the separator"
        raise InputError(f"{where}: one field, {shown(texts[0].strip())}; {advice}")
    names = names or named_in_comment(comments, separator, width, options)
    columns = choose_columns(name, names or first, bool(names), options, weights)
    if not names and options.columns is None:
        _check_ends(name, body, weights)
    ends = [[row[place] for place in columns[:2] if place < len(row)] for row in body]
    if body and options.ids is None and all(map(_are_names, texts[is_header:], ends)):
        options = replace(options, ids="text")
    ids = _kind_of_ids(f"{name}, line {lines[is_header][0]}" if body else where, ends, options)
    if not is_header and ids == "integer" and columns == tuple(range(len(columns))):
        names = []  # a plain text, even if a comment names the columns
    if separator == "\t" and not options.separator and not names and ids == "integer" and columns[:2] == (0, 1):
        separator = None  # the kernel and pandas treat blanks and tabs alike
    types = [place for place, word in enumerate(names) if word.casefold() == "type"]
    said = {row[place].casefold() for row in body for place in types if place < len(row)}
    return Dialect(
        separator, columns, width, lines[0][0] if is_header else 0, tuple(names), ids,
        direction=types[0] if len(types) == 1 and said and said <= {*DIRECTIONS} else None,
        sizes=sizes, between=between, options=options,
    )  # fmt: skip


def _sizes(rows: Sequence[Sequence[str]], separator: str | None, options: ReadOptions) -> tuple[int, int] | None:
    """Return the two numbers of the first line if they may state the numbers of vertices and edges."""
    whole = len(rows[0]) == 2 and all(re.fullmatch("[0-9]{1,18}", word) for word in rows[0])
    wanted = options.suspects_first_line and options.header is not False and separator in (None, "\t")
    widths = {len(row) for row in rows[1:]}
    return (int(rows[0][0]), int(rows[0][1])) if whole and wanted and len(widths) == 1 and min(widths) > 1 else None


def named_in_comment(comments: Sequence[str], separator: str | None, width: int, options: ReadOptions) -> list[str]:
    """Return the column names in the last comment before the edges; none if the comment is of another kind."""
    text = comments[-1].lstrip("#% \t") if comments and options.header is not False else ""
    words = split(text, separator) if count(text, separator) == width else []
    is_header = _known_ends(words) is not None or any(one in words for one in options.names)
    return words if is_header else []


def uneven_fields(fields: int, width: int, separator: str | None) -> str:
    """Return the message about a line whose number of fields differs from the first line's."""
    advice = f"{spelled('format', 'edges')} reads the first ones of each"
    if separator is None:
        advice += f", {spelled('format', 'adjlist')} or metis a vertex and its neighbours"
    elif fields > width:
        advice = f"quote names that hold the separator, or name it by {spelled('sep')}"
    return f"{fields} field{'s' * (fields != 1)}, {width} in the first line; {advice}"


def check_text(name: str, block: bytes, line: int) -> str:
    """Return a block as text; raises InputError that names the first line that is not text."""
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        at, what = error.start, f"not text in UTF-8; {spelled('encoding', 'cp1252')} reads what Windows writes"
    else:
        odd = block.translate(None, _USUAL) or b"\xc2" in block  # the regular expression alone takes ten times as long
        control = _CONTROL.search(block) if odd else None
        if control is None:
            return text
        at, what = control.start(), f"not text, it holds the control character {control[0].decode()!r}"
    number = line + block.count(b"\n", 0, at)
    raise InputError(f"{name}, line {number}: {what}")


def _fields(where: str, text: str, separator: str | None) -> list[str]:
    try:
        return split(text, separator)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None


def _separator(texts: Sequence[str], options: ReadOptions) -> str | None:
    """Return the separator: the first of tab, semicolon, comma that splits the first line and most other lines.

    It need not split all other lines: one of them may be wrong, and should then be reported with its own error.
    """
    if options.separator is not None:
        return SEPARATORS.get(options.separator, options.separator)
    if all(map(NUMBER.fullmatch, texts[0].split())):
        return "\t" if "\t" in texts[0].strip() and " " not in texts[0] else None
    for separator in ("\t", ";", ","):
        fields = [count(text.strip(" \t"), separator) for text in texts]
        if fields[0] > 1 and sum(one > 1 for one in fields) > fields.count(1):
            return separator
    return None


def _has_header(where: str, rows: Sequence[Sequence[str]], options: ReadOptions) -> bool:
    """Return whether the first line names the columns, judged by its words and by the lines below."""
    first, rest = rows[0], rows[1:]
    if options.header is not None:
        return options.header
    if any(word in first and not word.isdigit() for word in options.names):
        return True
    if any(map(_is_value, first)):
        return False
    known, used = _known_ends(first), {word for row in rest for word in row}
    if known is not None and first in rest:
        raise InputError(f"{where}: the header is repeated further down; remove the second one")
    # Look for a column of numbers or dates below a word that does not stand for a missing number.
    for place, word in enumerate(first):
        column = [row[place] for row in rest if place < len(row) and not _is_gap(row[place])]
        if column and not _is_gap(word) and (all(map(_is_number, column)) or all(map(_DATE.fullmatch, column))):
            break
    else:
        return known is not None and not used & {first[place] for place in known}
    twice = next((word for word in first if word in used and not _is_gap(word)), None)
    if twice is not None:
        advice = header_advice()
        raise InputError(f"{where}: {shown(twice)} is both the name of a column and a value in it; {advice}")
    return True


def _is_number(word: str) -> bool:
    """Return whether a word is a number, with a decimal point or comma."""
    return decimal_comma(word) or NUMBER.fullmatch(word) is not None


def _is_value(word: str) -> bool:
    return _is_number(word) or _DATE.fullmatch(word) is not None


def _is_gap(word: str) -> bool:
    return word.casefold() in _WORDS["gap"]


def _known_ends(names: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of the two columns whose names mark them as the ends of an edge; None if there are none."""
    plain = [re.sub(r"[\W_]", "", name).casefold() for name in names]
    for words in (plain, [_BESIDE.sub("", name) for name in plain]):
        known = [(words.index(u), words.index(v)) for u, v in _ENDS if words.count(u) == words.count(v) == 1]
        if known:
            return known[0]
    return None


def choose_columns(
    name: str, first: Sequence[str], header: bool, options: ReadOptions, weights: float
) -> tuple[int, ...]:
    """Return the positions of source, target and, if it is read, weight; raises like :func:`look`."""
    named, width = options.names, len(first)
    if width < 2:
        raise InputError(f"{name} has one column; an edge has two ends")
    if len(named) == 3 and not weights:
        raise UsageError(
            f"{spelled('columns')} names a column of weights, which {spelled('weights', 'file')} alone reads; "
            "add it or leave it out"
        )
    if len(named) == 2 and weights:
        raise UsageError(
            f"{spelled('weights', 'file')} reads a column of weights; name it, "
            f"{spelled('columns', 'source,target,weight')}"
        )
    if options.columns is not None:
        places = tuple(_place(name, word, first, header) for word in named)
        if len(set(places)) < len(places):
            raise UsageError(f"{spelled('columns', options.columns)} names a column twice; give each once")
        return places
    others = [place for place, word in enumerate(first) if not header or word not in UNNAMED or (place and not word)]
    of_weights = [place for place in others if header and first[place].casefold() in _WORDS["weight"]]
    ends = _known_ends(first) if header else (0, 1)
    if ends is None:
        able = [place for place in others if place not in of_weights]
        if len(able) != 2 or _is_vertex(first):
            raise _undecided(name, "two are the ends of an edge", first, header, "SOURCE,TARGET")
        ends = able[0], able[1]
    if not weights:
        return ends
    others = [place for place in others if place not in ends]
    if not others:
        needed = f"{spelled('weights', 'file')} needs a third one of probabilities, and an index is none"
        raise InputError(f"{name} has {width} columns; {needed}")
    if header and not of_weights and len(others) > 1:
        raise _undecided(name, "one is the weight", first, header, "SOURCE,TARGET,WEIGHT")
    return *ends, (of_weights or others)[0]


def _is_vertex(names: Sequence[str]) -> bool:
    """Return whether a table may list vertices, judged by the names of its first two columns."""
    first, second = (re.sub(r"[\W_]", "", word).casefold() for word in names[:2])
    return bool({first, _BESIDE.sub("", first)} & {*_WORDS["vertex"]}) and not second.endswith("id")


def header_advice() -> str:
    """Return the advice for a first line that may be a header."""
    return (
        f"{spelled('header', True)} says that the first line names the columns, {spelled('header', False)} that "
        "it is an edge"
    )


def _check_ends(name: str, rows: Sequence[Sequence[str]], weights: float) -> None:
    """Refuse lines without a header whose first two columns may not be the ends of edges; raises InputError."""
    width = len(rows[0]) if rows else 0
    if width < 3:
        return
    first, second, third = columns = [[row[place] for row in rows if place < len(row)] for place in range(3)]
    if not weights and len(rows) == min(width, LOOKED_AT) and all(word in ("0", "1") for row in rows for word in row):
        raise InputError(
            f"{name} looks like a matrix, 0 and 1 in rows; list its edges, or name two {spelled('columns')}"
        )
    are_words = all(any(not _is_value(word) and not _is_gap(word) for word in column) for column in columns)
    if are_words or any(all(map(_NO_END.fullmatch, column)) for column in (first, second)):
        raise _undecided(name, "two are the ends of an edge", rows[0], False, "SOURCE,TARGET")
    what = ""
    if len(third) == len(rows) and all(map(INTEGER.fullmatch, second + third)):
        if not weights and _counts_up(first):
            what = "counts up, as an index does"
        elif all(map(_TIME.fullmatch, first)) and not any(map(_TIME.fullmatch, second)):
            what = "may hold times"
    if what:
        advice = f"{spelled('columns', '2,3')} leaves it out, {spelled('columns', '1,2')} reads it"
        raise InputError(f"{name}: the first of its {width} columns {what}; {advice}")


def _counts_up(column: Sequence[str]) -> bool:
    """Return whether three or more fields count up from 0 or 1, like an index."""
    return len(column) > 2 and any(column == [*map(str, range(i, i + len(column)))] for i in (0, 1))


def _undecided(name: str, what: str, first: Sequence[str], header: bool, form: str) -> InputError:
    """Return the error if it is unclear which columns to read."""
    there = f" ({', '.join(word or 'no name' for word in first)[:120]})" if header else ""
    return InputError(f"{name} has {len(first)} columns{there}; which {what}? Say {spelled('columns', form)}")


def _place(name: str, word: str, first: Sequence[str], header: bool) -> int:
    """Return the position of the column with a name, or with a number from 1."""
    if re.fullmatch("[0-9]{1,9}", word):
        if not 1 <= int(word) <= len(first):
            raise UsageError(f"{spelled('columns')}: there is no column {word}; {name} has {len(first)}")
        return int(word) - 1
    if not header:
        raise UsageError(
            f"{spelled('columns')}: {name} has no header that could name {word[:40]!r}; give numbers from 1"
        )
    if first.count(word) != 1:
        how = "two columns are" if word in first else "no column is"
        raise UsageError(
            f"{spelled('columns')}: {how} called {word[:40]!r} in {name}; there are {', '.join(first)[:120]}"
        )
    return first.index(word)


def _are_names(line: str, ends: Sequence[str]) -> bool:
    """Return whether the ends of an edge are in quotes and another field is not. Quoted numbers are then names."""
    others = re.sub(r'"(?:[^"]|"")*"', "", line)
    return re.search(r"\w", others) is not None and all(f'"{end}"' in line for end in ends)


def _kind_of_ids(where: str, ends: Sequence[Sequence[str]], options: ReadOptions) -> str:
    """Return ``integer`` or ``text``, judged by the first edge; an edge with one of each is refused.

    Numbers in an unusual form (:data:`ODD_INTEGER`) are names, so that two of them never become the same vertex.
    """
    if options.ids is not None:
        return options.ids
    first = ends[0] if ends else []
    others = [end for end in first if not INTEGER.fullmatch(end)]
    if not first or any(ODD_INTEGER.fullmatch(end) for pair in ends for end in pair):
        return "text"
    odd = next((end for end in others if len(others) < len(first) or NUMBER.fullmatch(end)), None)
    if odd is not None:
        raise InputError(
            f"{where}: {shown(odd)} is not a vertex id; ids are whole numbers, {spelled('ids', 'text')} takes "
            f"names, {spelled('columns')} says "
            "in which columns they are"
        )
    return "text" if others else "integer"
