"""What kind of text an edge list is: found by looking at its first lines, or said.

A guess that can change the graph must be unambiguous; else the text is refused, and the error names the option that
decides.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpukit.errors import InputError, UsageError
from gpukit.graph.lines import NUMBER, SEPARATORS, count, decimal_comma, separator_name, shown, split
from gpukit.graph.read.edgelist import ReadOptions

LOOKED_AT = 100
"""Lines by which the separator, the header and an index are found."""

_INTEGER = re.compile("-?[0-9]+")
ODD_INTEGER = re.compile(r"[+-]?0[0-9]+|\+[0-9]+|[+-]?[0-9]{1,3}(?:,[0-9]{3})+")
"""A whole number that is not written as numbers are, and may be a name: 007, +491, 1,234."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
_USUAL = bytes(byte for byte in range(256) if byte in (9, 10) or 32 <= byte != 127)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:,\d{3})+\.\d+)")
"""A number with thousands apart; without decimals it could be an address, as 192.168.100.200 is."""
_MARK = re.compile(r"[^\w\s]+")
_VERTEX = ("id", "label", "name", "node", "vertex", "user", "person", "account", "page")
"""Names of a first column by which a table may be one of vertices."""
MISSING = frozenset(("na", "n/a", "nan", "null", "\\n"))
"""What stands, in small letters, where a name is missing."""
_GAPS = frozenset(("", "na", "n/a", "nan", "null", "none", "nil", "-", "--", "?", ".", "missing"))
"""What stands, in small letters, where a value is missing."""
DIRECTIONS = {"directed": False, "undirected": True, "mutual": True}
"""What a column ``Type`` of Gephi says, and whether the edge stands for both directions."""
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
class Dialect:
    """How a text is to be read.

    Attributes
    ----------
    separator : str or None
        One character; None for runs of blanks and tabs.
    columns : tuple of int
        Places of source and target, and of the weight where it is read.
    width : int
        Number of fields of a line.
    header : int
        Number of the line that names the columns, or states sizes; 0 without.
    names : tuple of str
        What the columns are called.
    ids : str
        ``integer`` or ``text``.
    index : bool
        Whether the first column is read and counts up, as an index does.
    guessed : bool
        Whether the header is one for the numbers below it alone.
    direction : int or None
        Place of the column that says of each edge whether it stands for both directions.
    sizes : tuple of int, or None
        The numbers of the first line where these may be those of vertices and edges.
    between : str
        What stands between fields, in words.
    options : ReadOptions
    """

    separator: str | None
    columns: tuple[int, ...]
    width: int
    header: int = 0
    names: tuple[str, ...] = ()
    ids: str = "integer"
    index: bool = False
    guessed: bool = False
    direction: int | None = None
    sizes: tuple[int, int] | None = None
    between: str = "space"
    options: ReadOptions = ReadOptions()

    @property
    def plain(self) -> bool:
        """Whether it is of the plain format: whole numbers, the first two the ends, between blanks or commas."""
        default = self.columns == tuple(range(len(self.columns))) and not self.names
        return default and self.ids == "integer" and self.separator in (None, ",") and not self.options.separator

    @property
    def has_index(self) -> bool:
        """Whether the first column has no name beside others that do."""
        return bool(self.names) and is_unnamed(self.names, 0)

    def record(self) -> dict[str, Any]:
        """Return what was understood, for people and programs."""
        said = [self.names[place] if self.names else place + 1 for place in self.columns]
        return {"separator": self.between, "header": bool(self.names), "columns": said, "ids": self.ids}


def look(
    name: str, lines: Sequence[tuple[int, bytes]], comments: Sequence[str], options: ReadOptions, weights: float
) -> Dialect:
    """Return how to read a text.

    Parameters
    ----------
    name : str
        The file, for messages.
    lines : sequence of (int, bytes)
        Its first lines that are neither blank nor comments, with their numbers; at least one.
    comments : sequence of str
        The comments before them.
    options : ReadOptions
        What the user says of it.
    weights : float
        Whether weights are read.

    Raises
    ------
    InputError
        If the text is not understood; the line says which option would help.
    UsageError
        If what the user says of it does not fit.
    """
    number, texts = lines[0][0], [(number, check_text(name, line, number)) for number, line in lines]
    if re.fullmatch('"?sep=."?', texts[0][1].strip(" "), re.IGNORECASE):
        raise InputError(f"{name}, line {number}: {shown(texts[0][1])} is a note for Excel; remove this line")
    between = separator = _separator(texts, options)
    rows = [_fields(name, at, text, separator) for at, text in texts]
    if separator is None and options.separator is None and options.columns is None:
        _check_marks(name, number, rows)
    sizes, header = _sizes(rows, separator, options), False
    if sizes is not None and len(rows[0]) < max(map(len, rows)):  # the line can be no edge beside the others
        rows, header = rows[1:], True
    else:
        if _counts_up(rows[1:]) and all(len(row) == len(rows[0]) + 1 for row in rows[1:]):
            rows[0].insert(0, "")  # R writes the numbers of rows below no name
        header, sizes = (True, None) if _has_header(name, number, rows, options) else (False, sizes)
    named, body = (rows[0], rows[1:]) if header and sizes is None else ([], rows)
    width = len(rows[0])
    if width < 2:
        raise InputError(
            f"{name}, line {number}: one field, {shown(texts[0][1].strip())}; a line needs two vertex ids, --sep names "
            "what stands between them"
        )
    kinds = _kinds(body, width)
    named = named or named_in_comment(comments, separator, width, options)
    columns = choose_columns(name, named or rows[0], bool(named), options, weights, kinds)
    if not header and columns == tuple(range(len(columns))):
        named = []
    at = texts[len(texts) - len(body)][0] if body else number
    ends = [[row[place] for place in columns[:2] if place < len(row)] for row in body]
    raw = [text for _, text in texts[len(texts) - len(body) :]]
    in_quotes = bool(body) and all(map(_are_names, raw, ends))
    if in_quotes and options.ids is None:
        options = replace(options, ids="text")
    ids = _kind_of_ids(name, at, ends, options)
    uneven = next((i for i, row in enumerate(body) if len(row) != width), None)
    if not named and uneven is not None and options.format is None and not options.skip_bad:
        found = texts[uneven + len(texts) - len(body)][0]
        raise InputError(f"{name}, line {found}: {uneven_fields(len(body[uneven]), width, separator)}")
    if separator == "\t" and not options.separator and not named and ids == "integer" and columns[:2] == (0, 1):
        separator = None  # the kernel and pandas take blanks and tabs alike
    is_tab = separator is None and options.separator is None and "\t" in texts[0][1].strip()
    kinds_of_edge = [place for place, word in enumerate(named) if word.casefold() == "type"]
    words = {row[place].casefold() for row in body for place in kinds_of_edge if place < len(row)}
    return Dialect(
        separator, columns, width, number if header else 0, tuple(named), ids,
        index=0 in columns[:2] and not weights and _counts_up(body) and kinds[:3] == ["whole"] * 3,
        guessed=header and sizes is None and options.header is None and _known_ends(rows[0]) is None,
        direction=kinds_of_edge[0] if len(kinds_of_edge) == 1 and words and words <= {*DIRECTIONS} else None,
        sizes=sizes, between="tab" if is_tab else separator_name(between), options=options,
    )  # fmt: skip


def _sizes(rows: Sequence[Sequence[str]], separator: str | None, options: ReadOptions) -> tuple[int, int] | None:
    """Return the two numbers of the first line, where they may state how many vertices and edges there are."""
    first, widths = rows[0], {len(row) for row in rows[1:]}
    whole = len(first) == 2 and all(word.isascii() and word.isdigit() and len(word) < 19 for word in first)
    wanted = options.suspects_first_line and options.header is not False and separator in (None, "\t")
    return (int(first[0]), int(first[1])) if whole and wanted and len(widths) == 1 and min(widths) > 1 else None


def named_in_comment(comments: Sequence[str], separator: str | None, width: int, options: ReadOptions) -> list[str]:
    """Return the names of the columns that the last comment before the edges holds; none if it is of another kind."""
    if not comments or options.header is False:
        return []
    text = comments[-1].lstrip("#% \t")
    try:
        words = split(text, separator)
    except ValueError:
        return []
    is_header = len(words) == width and (_known_ends(words) is not None or any(one in words for one in options.names))
    return words if is_header else []


def uneven_fields(fields: int, width: int, separator: str | None) -> str:
    """Return what is said of a line that has not as many fields as the first, where no header names them."""
    advice = "--format edges reads the first ones of each"
    if separator is None:
        advice += ", --format adjlist a vertex and its neighbours"
    elif fields > width:
        advice = "quote names that hold the separator, or name it by --sep"
    return f"{fields} field{'s' * (fields != 1)}, {width} in the first line; {advice}"


def check_text(name: str, block: bytes, line: int) -> str:
    """Return a block as text; InputError names the line that is none."""
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        at = line + block.count(b"\n", 0, error.start)
        raise InputError(
            f"{name}, line {at}: not text in UTF-8; convert the file (`iconv -f WINDOWS-1252 -t UTF-8`)"
        ) from None
    odd = block.translate(None, _USUAL) or b"\xc2" in block  # the expression alone takes ten times as long
    if odd and (control := _CONTROL.search(block)):
        at = line + block.count(b"\n", 0, control.start())
        raise InputError(f"{name}, line {at}: not text, it holds the control character {control[0].decode()!r}")
    return text


def _fields(name: str, number: int, text: str, separator: str | None) -> list[str]:
    try:
        return split(text, separator)
    except ValueError as error:
        raise InputError(f"{name}, line {number}: {error}") from None


def _separator(texts: Sequence[tuple[int, str]], options: ReadOptions) -> str | None:
    """Return what stands between fields: the first of tab, semicolon, comma that cuts the first and most other lines.

    Not all others: one of them may be at fault, and is to be named for what is wrong with it.
    """
    if options.separator is not None:
        return SEPARATORS.get(options.separator, options.separator)
    if all(NUMBER.fullmatch(word) for word in texts[0][1].split()):
        return None  # blanks and tabs alike
    for separator in ("\t", ";", ","):
        fields = [count(text.strip(" \t"), separator) for _, text in texts]
        cut, whole = sum(one > 1 for one in fields), fields.count(1)
        if fields[0] > 1 and cut > whole:
            return separator
    return None


def _check_marks(name: str, number: int, rows: Sequence[Sequence[str]]) -> None:
    """Refuse lines between whose fields a mark stands with blanks around it: it would be taken for a vertex."""
    if all(map(_INTEGER.fullmatch, rows[0][:2])):
        return
    inner = rows[0][1:-1]
    mark = next((word for word in inner if _MARK.fullmatch(word) and all(word in row for row in rows)), None)
    if mark is None:
        return
    advice = "--sep '|' cuts there" if mark == "|" else "--columns 1,3 leaves it out"
    raise InputError(f"{name}, line {number}: {mark[:40]!r} stands between the fields of each line; {advice}")


def _has_header(name: str, number: int, rows: Sequence[Sequence[str]], options: ReadOptions) -> bool:
    """Say whether the first line names the columns, by the words in it and by what stands below them."""
    if options.header is not None:
        return options.header
    first, rest = rows[0], rows[1:]
    if any(not word.isdigit() and word in first for word in options.names):
        return True
    if any(_is_number(word) or _DATE.fullmatch(word) for word in first):
        return False
    used = {word for row in rest for word in row}
    known = _known_ends(first)
    if known is not None and first in rest:
        raise InputError(f"{name}, line {number}: the header stands again further down; take the other one out")
    # A column of numbers, or of dates, below a word that does not stand for a missing number.
    below = [kind != "text" for kind in _kinds(rest, len(first))]
    if not any(one and word.casefold() not in _GAPS for one, word in zip(below, first, strict=True)):
        return known is not None and not used & {first[place] for place in known}
    used_too = next((word for one, word in zip(below, first, strict=True) if not one and word in used), None)
    if used_too is not None and used_too.casefold() not in _GAPS:
        raise InputError(
            f"{name}, line {number}: {shown(used_too)} stands above a column and in it; --header says that the first "
            "line names the columns, --no-header that it is an edge"
        )
    return True


def _is_number(word: str) -> bool:
    """Say whether a word is a number, its decimals after a point or a comma, its thousands apart or not."""
    return NUMBER.fullmatch(word) is not None or decimal_comma(word) or _THOUSANDS.fullmatch(word) is not None


def _kinds(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return what each column holds: ``whole`` numbers, others too (``number``), ``date`` or ``text``."""
    columns = (
        [row[place] for row in rows if place < len(row) and row[place].casefold() not in _GAPS]
        for place in range(width)
    )
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
    name: str, first: Sequence[str], header: bool, options: ReadOptions, weights: float, kinds: Sequence[str] = ()
) -> tuple[int, ...]:
    """Return the places of source, target and, where it is read, weight; raises like :func:`look`.

    ``kinds`` says what each column holds, as :func:`_kinds` does, where that is known.
    """
    if len(options.names) == 3 and not weights:
        raise UsageError(
            "--columns names a column of weights, which --weights file alone reads; add it or leave it out"
        )
    if len(first) < 2:
        raise InputError(f"{name} has one column; an edge has two ends")
    if options.columns is None:
        ends = _ends(name, first, header, kinds)
        return (*ends, _weight(name, first, header, kinds, ends)) if weights else ends
    places = [_place(name, word, first, header) for word in options.names]
    if len(set(places)) < len(places):
        raise UsageError(f"--columns {options.columns} names a column twice; give each once")
    if weights and len(places) == 2:
        raise UsageError("--weights file reads a column of weights; name it, --columns source,target,weight")
    return tuple(places)


def _ends(name: str, first: Sequence[str], header: bool, kinds: Sequence[str]) -> tuple[int, int]:
    """Return the places of source and target, of a header by its names, or as the only two columns that can be ends."""
    if not header and "date" not in kinds[:2] and not (len(first) > 2 and list(kinds[:3]) == ["text"] * 3):
        return 0, 1
    known = _known_ends(first) if header else None
    if header and known is None and _is_vertex(first):
        raise InputError(_undecided(name, "two are the ends of an edge", first, header, "SOURCE,TARGET"))
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


def _is_vertex(names: Sequence[str]) -> bool:
    """Say whether a table may be one of vertices, by the names of its first two columns."""
    first, second = (re.sub(r"[\W_]", "", word).casefold() for word in names[:2])
    return bool({first, _BESIDE.sub("", first)} & {*_VERTEX}) and not second.endswith("id")


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


def _are_names(line: str, ends: Sequence[str]) -> bool:
    """Say whether the ends of an edge stand in quotes, and another field of the line does not: these are numbers."""
    others = re.sub(r'"(?:[^"]|"")*"', "", line)
    return re.search(r"\w", others) is not None and all(f'"{end}"' in line for end in ends)


def _kind_of_ids(name: str, number: int, ends: Sequence[Sequence[str]], options: ReadOptions) -> str:
    """Return ``integer`` or ``text``, by the first edge; an edge of one of each has to be decided by a person.

    Numbers that are not written as such (:data:`ODD_INTEGER`) are names, so that no two of them become one.
    """
    if options.ids is not None:
        return options.ids
    if any(ODD_INTEGER.fullmatch(end) for pair in ends for end in pair):
        return "text"
    first = ends[0] if ends else []
    whole = [_INTEGER.fullmatch(end) is not None for end in first]
    if all(whole) and first:
        return "integer"
    odd = next(
        (end for end, is_whole in zip(first, whole, strict=True) if not is_whole and NUMBER.fullmatch(end)), None
    )
    if any(whole):
        odd = first[whole.index(False)]
    if odd is not None:
        raise InputError(
            f"{name}, line {number}: {shown(odd)} is not a vertex id; ids are whole numbers, --ids text takes "
            "names, --columns says in which columns they are"
        )
    return "text"


def _counts_up(rows: Sequence[Sequence[str]]) -> bool:
    """Say whether the first of three or more columns counts up from 0 or 1, as a written index does."""
    if len(rows) < 3 or any(len(row) < 3 for row in rows):
        return False
    first = [row[0] for row in rows]
    return any(first == [str(i) for i in range(start, start + len(first))] for start in (0, 1))
