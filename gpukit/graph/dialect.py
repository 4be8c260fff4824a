"""What kind of text an edge list is: found by looking at its first lines, or said.

The plain format (whole numbers between blanks or commas, no header) has a parser of its own, which
:mod:`gpukit.graph.parsing` defines; a file whose first line fits it is read by that alone, and refused by it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpukit.errors import InputError, UsageError
from gpukit.graph.lines import SEPARATORS, separator_name, split
from gpukit.graph.parsing import NUMBER, PLAIN_SEPARATOR, decimal_comma, shown

LOOKED_AT = 100
"""Lines by which the separator, the header and an index are found."""

_INTEGER = re.compile("[-+]?[0-9]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:,\d{3})+\.\d+)")
"""A number with thousands apart; without decimals it could be an address, as 192.168.100.200 is."""
_MARK = re.compile(r"[^\w\s]+")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")
_ENDS = (
    ("source", "target"), ("src", "dst"), ("src", "dest"), ("from", "to"), ("u", "v"), ("tail", "head"),
    ("head", "tail"), ("origin", "destination"), ("orig", "dest"), ("startid", "endid"), ("startnode", "endnode"),
    ("caller", "callee"), ("sender", "receiver"), ("sender", "recipient"), ("payer", "payee"), ("donor", "recipient"),
    ("lender", "borrower"), ("buyer", "seller"), ("follower", "followee"), ("follower", "followed"),
    ("truster", "trustee"), ("trustor", "trustee"), ("citing", "cited"), ("referrer", "referred"), ("user", "friend"),
    ("person", "friend"), ("ego", "alter"), ("author", "coauthor"), ("subject", "object"), ("parent", "child"),
    ("node1", "node2"), ("id1", "id2"), ("user1", "user2"), ("person1", "person2"), ("vertex1", "vertex2"),
    ("author1", "author2"), ("protein1", "protein2"), ("gene1", "gene2"), ("v1", "v2"), ("nodea", "nodeb"),
    ("usera", "userb"), ("persona", "personb"), ("von", "nach"),
)  # fmt: skip
"""Names of columns that say which two hold the ends of an edge; capitals and what is neither letter nor digit do not
count, nor does a word of :data:`_BESIDE` behind. Two names that stand here both ways mean the order of the columns."""
_BESIDE = re.compile("(?<=.)(node|vertex|user|account|address|station|name|id|ip)+$")
_WEIGHTS = frozenset(("weight", "weights", "probability", "prob", "p"))
"""Names of a column of weights, which is no end."""


@dataclass(frozen=True)
class Asked:
    """What is said of a text; None is found by looking.

    Attributes
    ----------
    separator : str or None
        ``space``, ``tab``, ``comma``, ``semicolon`` or one character.
    header : bool or None
        Whether the first line names the columns.
    columns : str or None
        ``source,target`` or ``source,target,weight``, by name or by number from 1.
    ids : str or None
        ``integer`` or ``text``.
    """

    separator: str | None = None
    header: bool | None = None
    columns: str | None = None
    ids: str | None = None

    def __post_init__(self) -> None:
        one = self.separator
        if one is not None and one not in SEPARATORS and (len(one) != 1 or one.isalnum() or one in '"\n\r#%'):
            raise UsageError(f"--sep is {one[:40]!r}; space, tab, comma, semicolon or one character is allowed")
        if self.columns is not None and len(self.names) not in (2, 3):
            raise UsageError(f"--columns is {self.columns[:40]!r}; source,target or source,target,weight is needed")

    @property
    def names(self) -> list[str]:
        """The columns one by one."""
        try:
            return split(self.columns or "", ",")
        except ValueError as error:
            raise UsageError(f"--columns: {error}") from None


@dataclass(frozen=True)
class Dialect:
    """How a text is to be read.

    Attributes
    ----------
    plain : bool
        Whether it is of the plain format.
    separator : str or None
        One character; None for runs of blanks and tabs.
    header : int
        Number of the line that names the columns; 0 without.
    names : tuple of str
        What it names them.
    columns : tuple of int
        Places of source and target, and of the weight where it is read.
    width : int
        Number of fields of a line.
    ids : str
        ``integer`` or ``text``.
    index : bool
        Whether the first column is read and counts up, as an index does.
    padded : str
        The first end of an edge that is a whole number and begins with zeros, which are lost.
    """

    plain: bool
    separator: str | None
    columns: tuple[int, ...]
    width: int
    header: int = 0
    names: tuple[str, ...] = field(default=())
    ids: str = "integer"
    index: bool = False
    padded: str = ""

    @property
    def has_index(self) -> bool:
        """Whether the first column has no name beside others that do."""
        return bool(self.names) and is_unnamed(self.names, 0)

    def record(self) -> dict[str, Any]:
        """Return what was understood, for people and programs."""
        said = [self.names[place] if self.header else place + 1 for place in self.columns]
        name = separator_name(self.separator)
        return {"separator": name, "header": bool(self.header), "columns": said, "ids": self.ids}


def text_lines(block: bytes, first: int) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of the lines of a block that are neither blank nor comments."""
    start, number = 0, first
    while start < len(block):
        end = block.find(b"\n", start)
        end = len(block) if end < 0 else end
        line = block[start:end].strip(b" \t")
        if line and not line.startswith((b"#", b"%")):
            yield number, block[start:end]
        start, number = end + 1, number + 1


def look(name: str, lines: Sequence[tuple[int, bytes]], asked: Asked, weights: float) -> Dialect:
    """Return how to read a text.

    Parameters
    ----------
    name : str
        The file, for messages.
    lines : sequence of (int, bytes)
        Its first lines that hold something, with their numbers; at least one.
    asked : Asked
        What is said of it.
    weights : float
        Whether weights are read.

    Raises
    ------
    InputError
        If the text is not understood; the line says which option would help.
    UsageError
        If what is said of it does not fit.
    """
    number, first = lines[0]
    plain = _PlainLine(first)
    if asked in (Asked(), Asked(ids="integer"), Asked(header=False)) and not plain.is_other:
        separator = "," if b"," in first else "\t" if b"\t" in first else None
        rows = [_PlainLine(line).fields for _, line in lines]
        places = (0, 1, 2) if weights else (0, 1)
        index = _counts_up(rows) and not weights
        return Dialect(True, separator, places, len(plain.fields), index=index, padded=_padded(rows, (0, 1)))
    texts = [(number, _decoded(name, number, line)) for number, line in lines]
    if re.fullmatch('"?sep=."?', texts[0][1].strip(" "), re.IGNORECASE):
        raise InputError(f"{name}, line {number}: {shown(texts[0][1])} is a note for Excel; remove this line")
    separator = _separator(texts, asked)
    rows = [_fields(name, number, text, separator) for number, text in texts]
    if separator is None and asked.separator is None and asked.columns is None:
        _check_marks(name, number, rows)
    if _counts_up(rows[1:]) and all(len(row) == len(rows[0]) + 1 for row in rows[1:]):
        rows[0].insert(0, "")  # R writes the numbers of rows below no name
    width = len(rows[0])
    if width < 2:
        raise InputError(
            f"{name}, line {number}: one field, {shown(texts[0][1].strip())}; a line needs two vertex ids, --sep names "
            "what stands between them"
        )
    header = _has_header(rows, asked)
    body = rows[1:] if header else rows
    columns = choose_columns(name, rows[0], header, asked, weights, _kinds(body, width))
    at = texts[1 if header else 0][0] if body else number
    ids = _kind_of_ids(
        name, at, [body[0][place] for place in columns[:2] if place < len(body[0])] if body else [], asked
    )
    return Dialect(
        False, separator, columns, width, number if header else 0, tuple(rows[0]) if header else (), ids,
        0 in columns[:2] and _counts_up(body), _padded(body, columns[:2]) if ids == "integer" else "",
    )  # fmt: skip


class _PlainLine:
    """A line as the plain format has it."""

    def __init__(self, line: bytes) -> None:
        self._text = line.decode("latin-1").strip(" \t")
        self.fields = PLAIN_SEPARATOR.split(self._text)
        self._odd = _CONTROL.search(line) is not None

    @property
    def is_other(self) -> bool:
        """Whether the line is not of the plain format, but can be of another: header, names, other separators."""
        text, ends = self._text, self.fields[:2]
        if self._odd or (len(ends) == 2 and all(_INTEGER.fullmatch(end) for end in ends)):
            return False
        ways = (ends, text.split("\t")[:2], text.split(",")[:2])  # names may hold blanks, and numbers between them
        words = any(len(ends) == 2 and not any(NUMBER.fullmatch(end.strip()) for end in ends) for ends in ways)
        return words or any(mark in text for mark in ';"|')


def check_text(name: str, block: bytes, line: int) -> str:
    """Return a block as text; InputError names the line that is none."""
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        at = line + block.count(b"\n", 0, error.start)
        raise InputError(
            f"{name}, line {at}: not text in UTF-8; convert the file (`iconv -f WINDOWS-1252 -t UTF-8`)"
        ) from None
    if control := _CONTROL.search(block):
        at = line + block.count(b"\n", 0, control.start())
        raise InputError(f"{name}, line {at}: not text, it holds the control character {control[0].decode()!r}")
    return text


def _decoded(name: str, number: int, line: bytes) -> str:
    return check_text(name, line, number)


def _fields(name: str, number: int, text: str, separator: str | None) -> list[str]:
    try:
        return split(text, separator)
    except ValueError as error:
        raise InputError(f"{name}, line {number}: {error}") from None


def _separator(texts: Sequence[tuple[int, str]], asked: Asked) -> str | None:
    """Return what stands between fields: the first of tab, semicolon, comma that cuts the first and most other lines.

    Not all others: one of them may be at fault, and is to be named for what is wrong with it.
    """
    if asked.separator is not None:
        return SEPARATORS.get(asked.separator, asked.separator)
    for separator in ("\t", ";", ","):
        counts = [_count(text, separator) for _, text in texts]
        cut, whole = sum(count > 1 for count in counts), sum(count == 1 for count in counts)
        if counts[0] > 1 and cut > whole:
            return separator
    return None


def _check_marks(name: str, number: int, rows: Sequence[Sequence[str]]) -> None:
    """Refuse lines between whose fields a mark stands with blanks around it: it would be taken for a vertex."""
    inner = rows[0][1:-1]
    mark = next((word for word in inner if _MARK.fullmatch(word) and all(word in row for row in rows)), None)
    if mark is None:
        return
    advice = "--sep '|' cuts there" if mark == "|" else "--columns 1,3 leaves it out"
    raise InputError(f"{name}, line {number}: {mark[:40]!r} stands between the fields of each line; {advice}")


def _count(text: str, separator: str) -> int:
    """Return the number of fields of a line with a separator; 0 where its quotes are wrong."""
    try:
        return len(split(text, separator))
    except ValueError:
        return 0


def _has_header(rows: Sequence[Sequence[str]], asked: Asked) -> bool:
    """Say whether the first line names the columns, by the words in it and by what stands below them."""
    if asked.header is not None:
        return asked.header
    first, rest = rows[0], rows[1:]
    if any(not word.isdigit() and word in first for word in asked.names):
        return True
    if any(_is_number(word) or _DATE.fullmatch(word) for word in first):
        return False
    # A column of numbers, or of dates, below a word.
    if set(_kinds(rest, len(first))) - {"text"}:
        return True
    known = _known_ends(first)
    if known is None:
        return False
    used = {word for row in rest for word in row}
    return not used & {first[place] for place in known}


def _is_number(word: str) -> bool:
    """Say whether a word is a number, its decimals after a point or a comma, its thousands apart or not."""
    return NUMBER.fullmatch(word) is not None or decimal_comma(word) or _THOUSANDS.fullmatch(word) is not None


def _kinds(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return what each column holds: ``whole`` numbers, others too (``number``), ``date`` or ``text``."""
    columns = ([row[place] for row in rows if place < len(row) and row[place]] for place in range(width))
    tests: dict[str, Callable[[str], object]] = {
        "whole": _INTEGER.fullmatch,
        "number": _is_number,
        "date": _DATE.fullmatch,
    }
    return [
        next((kind for kind, is_one in tests.items() if column and all(map(is_one, column))), "text")
        for column in columns
    ]


def _known_ends(names: Sequence[str]) -> tuple[int, int] | None:
    """Return the places of the two columns whose names say that they hold the ends of an edge."""
    plain = [re.sub(r"[\W_]", "", name).casefold() for name in names]
    for words in (plain, [_BESIDE.sub("", name) for name in plain]):
        known = [(words.index(u), words.index(v)) for u, v in _ENDS if words.count(u) == words.count(v) == 1]
        if known:
            source, target = known[0]
            return (target, source) if (target, source) in known and target < source else (source, target)
    return None


def is_unnamed(names: Sequence[str], place: int) -> bool:
    """Say whether a column has no name of its own, as the index that a data frame was written with."""
    return names[place] == "__index_level_0__" or (place == 0 and names[0] in ("", "Unnamed: 0"))


def choose_columns(
    name: str, first: Sequence[str], header: bool, asked: Asked, weights: float, kinds: Sequence[str] = ()
) -> tuple[int, ...]:
    """Return the places of source, target and, where it is read, weight; raises like :func:`look`.

    ``kinds`` says what each column holds, as :func:`_kinds` does, where that is known.
    """
    if len(asked.names) == 3 and not weights:
        raise UsageError(
            "--columns names a column of weights, which --weights file alone reads; add it or leave it out"
        )
    if len(first) < 2:
        raise InputError(f"{name} has one column; an edge has two ends")
    if asked.columns is None:
        ends = _ends(name, first, header, kinds)
        return (*ends, _weight(name, first, header, kinds, ends)) if weights else ends
    places = [_place(name, word, first, header) for word in asked.names]
    if len(set(places)) < len(places):
        raise UsageError(f"--columns {asked.columns} names a column twice; give each once")
    if weights and len(places) == 2:
        raise UsageError("--weights file reads a column of weights; name it, --columns source,target,weight")
    return tuple(places)


def _ends(name: str, first: Sequence[str], header: bool, kinds: Sequence[str]) -> tuple[int, int]:
    """Return the places of source and target, of a header by its names, or as the only two columns that can be ends."""
    if not header and "date" not in kinds[:2]:
        return 0, 1
    known = _known_ends(first) if header else None
    if known is not None or len(first) == 2:
        return known or (0, 1)
    able = [
        place for place, word in enumerate(first)
        if not header or not (word.casefold() in _WEIGHTS or is_unnamed(first, place))
    ]  # fmt: skip
    by_kind = [[place for place in able if not kinds or kinds[place] == kind] for kind in ("whole", "text")]
    pairs = [places for places in by_kind if len(places) > 1]
    if not pairs or any(places != pairs[0] or len(places) > 2 for places in pairs):
        raise InputError(_undecided(name, "two are the ends of an edge", first, header, "SOURCE,TARGET"))
    return pairs[0][0], pairs[0][1]


def _weight(name: str, first: Sequence[str], header: bool, kinds: Sequence[str], ends: tuple[int, int]) -> int:
    """Return the place of the weight: of a header by its name, or as the only further column that can be one."""
    others = [place for place in range(len(first)) if place not in ends]
    if not others:
        raise InputError(f"{name} has {len(first)} columns; --weights file needs a third one of probabilities")
    if not header:
        return others[0]
    named = [place for place in others if first[place].casefold() in _WEIGHTS]
    able = [
        place for place in others
        if not is_unnamed(first, place) and (not kinds or kinds[place] in ("whole", "number"))
    ]  # fmt: skip
    if not named and (len(able) > 1 or (not able and len(others) > 1)):
        raise InputError(_undecided(name, "one is the weight", first, header, "SOURCE,TARGET,WEIGHT"))
    return (named or able or others)[0]


def _undecided(name: str, what: str, first: Sequence[str], header: bool, form: str) -> str:
    """Return what is said where it does not show which columns to read."""
    there = f" ({', '.join(word or 'no name' for word in first)[:120]})" if header else ""
    return f"{name}: which of its {len(first)} columns{there} {what} cannot be told; --columns {form} says it"


def _place(name: str, word: str, first: Sequence[str], header: bool) -> int:
    """Return the place of the column that a name or a number from 1 stands for."""
    if word.isascii() and word.isdigit():
        if not 1 <= int(word[:9]) <= len(first):
            raise UsageError(f"--columns: there is no column {word[:40]}; {name} has {len(first)}")
        return int(word[:9]) - 1
    if not header:
        raise UsageError(f"--columns: {name} has no header that could name {word[:40]!r}; give numbers from 1")
    if first.count(word) != 1:
        there = ", ".join(first)[:120]
        how = "two columns are" if first.count(word) else "no column is"
        raise UsageError(f"--columns: {how} called {word[:40]!r} in {name}; there are {there}")
    return first.index(word)


def _kind_of_ids(name: str, number: int, ends: Sequence[str], asked: Asked) -> str:
    """Return ``integer`` or ``text``, by the first edge; an edge of one of each has to be decided by a person."""
    if asked.ids is not None:
        return asked.ids
    whole = [_INTEGER.fullmatch(end) is not None for end in ends]
    if all(whole) and ends:
        return "integer"
    odd = next((end for end, is_whole in zip(ends, whole, strict=True) if not is_whole and NUMBER.fullmatch(end)), None)
    if any(whole):
        odd = ends[whole.index(False)]
    if odd is not None:
        raise InputError(
            f"{name}, line {number}: {shown(odd)} is not a vertex id; ids are whole numbers, --ids text takes "
            "names, --columns says in which columns they are"
        )
    return "text"


def _padded(rows: Sequence[Sequence[str]], ends: Sequence[int]) -> str:
    """Return the first end of an edge that begins with zeros before other digits; nothing where none does."""
    found = (row[place] for row in rows for place in ends if place < len(row) and re.fullmatch("0[0-9]+", row[place]))
    return next(found, "")


def _counts_up(rows: Sequence[Sequence[str]]) -> bool:
    """Say whether the first of three or more columns counts up from 0 or 1, as a written index does."""
    if len(rows) < 3 or any(len(row) < 3 for row in rows):
        return False
    first = [row[0] for row in rows]
    return any(first == [str(i) for i in range(start, start + len(first))] for start in (0, 1))
