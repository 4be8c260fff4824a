"""Fuzzers of the texts that people write: edge lists, observations, seeds, costs and sources."""

import gzip
import re
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
ODD = [
    "",
    " ",
    "\t",
    "-",
    "+",
    "-0",
    "+5",
    "00",
    "007",
    "1.0",
    "1e2",
    "1_4",
    "٣",
    "٣.٥",
    "²",
    "nan",
    "inf",
    "-inf",
    "NaN",
    "NA",
    "None",
    "True",
    "false",
    "0x10",
    "1e400",
    "1e-400",
    ".5",
    "5.",
    "1,",
    ",",
    "#",
    "%",
    "# x",
    "100#x",
    ":",
    "100:",
    ":1",
    "100:0",
    "100:1000000001",
    "9" * 19,
    "9" * 20,
    "9" * 5000,
    str(2**31),
    str(2**63 - 1),
    str(2**63),
    str(2**64),
    "\ufeff",
    "\u2028",
    "\u2029",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x85",
    "\xa0",
    "\x00",
    "\x1a",
    '"',
    '"1"',
    "'",
    "\\",
    "\u00e9",
    "\U0001f600",
    "/",
    ".",
    "..",
    "~",
    "$(id)",
]
"""Words that readers may understand differently from people."""
WORDS = st.one_of(
    st.integers(95, 145).map(str), st.integers(0, 2**64).map(str), st.sampled_from(ODD), st.text(max_size=4)
)
NUMBERS = st.one_of(st.floats(0, 1).map(repr), st.decimals(0, 1, places=3).map(str), st.integers(0, 9).map(str), WORDS)
GAPS = st.sampled_from([" ", " ", "\t", ",", ", ", " ,", "  ", ",,", "\x0b", "\xa0"])
ENDS = st.sampled_from(["\n", "\n", "\n", "\n", "\r\n", "\r", "\n\n", "\n# x\n", "\x0c", "\u2028", ""])


def lines_of(*fields: Any) -> st.SearchStrategy[bytes]:
    """Return texts of lines with these fields: correct, with one odd word, with odd gaps and ends, or any bytes."""

    def with_odd(lines: list[list[str]], line: int, field: int, word: str) -> str:
        lines[line % len(lines)][field] = word
        return "".join(" ".join(words) + "\n" for words in lines)

    words = st.tuples(*fields)
    right = words.map(" ".join)
    wrong = st.lists(st.tuples(GAPS, WORDS).map("".join), max_size=5).map("".join)
    line = st.one_of(right, right, right, wrong)
    plain = st.lists(right, max_size=8).map(lambda lines: "".join(f"{one}\n" for one in lines))
    places = (st.integers(0, 3), st.integers(0, len(fields) - 1))
    one_odd = st.builds(with_odd, st.lists(words.map(list), min_size=1, max_size=4), *places, st.sampled_from(ODD))
    strange = st.lists(st.tuples(line, ENDS).map("".join), max_size=8).map("".join)
    content = st.one_of(plain, one_odd, one_odd, strange).map(lambda text: text.encode("utf-8", "surrogatepass"))
    cut = st.tuples(content, st.binary(max_size=4)).map(b"".join)
    return st.one_of(content, content, content, content, st.binary(max_size=60), cut)


class Refused(Exception):
    """The plain reading of the format found that gpukit must refuse the text."""


class Unsaid(Exception):
    """The format does not define the meaning of the text: gpukit may refuse it, with one line, or read it."""


def outcome(call: Any) -> Any:
    """Return the result of a call, or Refused if it ends with one of gpukit's lines; other exceptions pass."""
    from gpukit.cli.app import explain

    try:
        return call()
    except (Exception, SystemExit) as error:
        code, line = explain(error)
        if code not in (2, 3, 4) or "\n" in line or not line.startswith("error: "):
            raise
        return Refused


def compare(found: Any, plain: Any) -> None:
    """Check an outcome against the plain reading."""
    try:
        wanted = plain()
    except Unsaid:
        return
    except Refused:
        wanted = Refused
    assert found == wanted, f"found {found}, by the format {wanted}"


# --- edge lists -------------------------------------------------------------------------------------------------------


def edges(folder: Path) -> tuple[Any, Any]:
    """Return the fuzzer of edge lists: text, gzip and Matrix Market, with weights and without."""
    from gpukit.graph.read.formats import read_edges

    path = folder / "edges"
    ids = st.integers(0, 200).map(str)
    text = lines_of(ids, ids, NUMBERS)
    sizes = st.sampled_from([0, 1, 3, 140, 2**31 - 1, 2**31, 10**17, 10**30, -1])
    matrix = st.tuples(
        st.sampled_from(["pattern", "real", "integer", "complex", "Real"]),
        st.sampled_from(["general", "symmetric", "skew"]),
        st.tuples(sizes, sizes, sizes),
        text,
    ).map(lambda m: f"%%MatrixMarket matrix coordinate {m[0]} {m[1]}\n{' '.join(map(str, m[2]))}\n".encode() + m[3])
    zipped = text.map(lambda content: gzip.compress(content, mtime=0))
    cut = st.tuples(zipped, st.integers(0, 60)).map(lambda pair: pair[0][: -pair[1] or None])
    strategy = st.tuples(st.one_of(text, text, text, matrix, zipped, cut), st.booleans())

    def check(example: tuple[bytes, bool]) -> None:
        content, weights = example
        path.write_bytes(content)

        def call() -> Any:
            read = read_edges(path, weights)
            return read.u.tolist(), read.v.tolist(), None if read.w is None else read.w.tolist()

        compare(outcome(call), lambda: plain_edges(content, weights))

    return strategy, check


def plain_edges(content: bytes, weights: bool) -> Any:
    """Read an edge list as docs/command-line.md describes it, line by line."""
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, ValueError):
            raise Refused from None
        except Exception:
            raise Unsaid from None
    content = content.removeprefix(b"\xef\xbb\xbf")
    if content.startswith(b"%%MatrixMarket"):
        raise Unsaid
    lines = [raw.strip(b" \t") for raw in content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")]
    lines = [line for line in lines if line and line[:1] not in (b"#", b"%")]
    if not lines:
        raise Refused
    if is_other(lines[0].decode("latin-1")) or not all(
        32 <= byte < 127 or byte == 9 for line in lines for byte in line
    ):
        raise Unsaid
    comma, text = b"," in lines[0], b"".join(lines)
    if (
        (comma and not all(b"," in line for line in lines))
        or b'"' in text
        or (comma and (b"\t" in text or b";" in text))
        or (b"\t" in text and b" " in text)
    ):
        raise Unsaid
    rows = [re.split(r"[ \t]*,[ \t]*" if comma else r"[ \t]+", line.decode()) for line in lines]
    first, widths = rows[0], {len(row) for row in rows}
    if len(widths) > 1 and not comma or (len(first) == 2 and first[1] == str(len(rows) - 1)):
        raise Unsaid  # an adjacency list, or numbers of vertices and edges
    if any(re.fullmatch(r"[-+]?0[0-9]+|\+[0-9]+", one) for row in rows for one in row[:2]):
        raise Unsaid  # names
    if (
        len(rows) > 2
        and len(first) > 2
        and first[0].isdigit()
        and [row[0] for row in rows] == [str(int(first[0]) + i) for i in range(len(rows))]
    ):
        raise Unsaid  # an index
    if len(rows) == len(first) > 2 and {one for row in rows for one in row[:2]} <= {"0", "1"}:
        raise Unsaid  # a matrix
    if len(first) < 2 + weights or max(widths) > len(first):
        raise Refused
    u, v, w = [], [], []
    for row in rows:
        if len(row) < 2 + weights or not all(re.fullmatch(r"[-+]?[0-9]{1,40}", one) for one in row[:2]):
            raise Refused
        if not all(0 <= int(one) < 2**63 for one in row[:2]):
            raise Refused
        if weights and (not NUMBER.fullmatch(row[2]) or not 0 <= float(row[2]) <= 1):
            raise Refused
        u.append(int(row[0]))
        v.append(int(row[1]))
        w.append(float(row[2]) if weights else 0.0)
    return u, v, w if weights else None


def is_other(first: str) -> bool:
    """Return whether the first line of an edge list says that the format is not the plain one."""
    ends = re.split(r"[ \t]*,[ \t]*|[ \t]+", first)[:2]
    if len(ends) == 2 and all(re.fullmatch("[-+]?[0-9]+", one) for one in ends):
        return False
    ways = [ends, first.split("\t")[:2], first.split(",")[:2]]
    words = [len(ends) == 2 and not any(NUMBER.fullmatch(one.strip()) for one in ends) for ends in ways]
    return '"' in first or ";" in first or any(words)


# --- vertices, costs, sources -----------------------------------------------------------------------------------------


def people() -> Any:
    """Return a graph of 40 vertices with ids from 100 on."""
    from gpukit.graph.build import build_graph

    tails = np.arange(100, 140)
    return build_graph(tails, np.roll(tails, 1))


def plain_lines(content: bytes) -> list[list[str]]:
    """Return the fields of lines: comments begin with ``#``, and blanks or commas separate fields."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise Refused from None
    if re.search(r"[^\S \t\r\n]|[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff]|\r(?!\n)", text):
        raise Unsaid
    lines = [line.partition("#")[0] for line in re.split(r"\r?\n", text)]
    if any(re.fullmatch(r"[ \t]*,[ \t,]*", line) for line in lines):
        raise Unsaid
    rows = [line.replace(",", " ").split() for line in lines]
    return [row for row in rows if row]


def plain_ids(words: list[str]) -> list[int]:
    """Return the vertices (id - 100) that words name."""
    if not all(re.fullmatch("[0-9]{1,19}", word) and 100 <= int(word) < 140 for word in words):
        raise Refused
    ids = [int(word) - 100 for word in words]
    if len(set(ids)) < len(ids):
        raise Refused
    return ids


def _vertices(folder: Path, option: str, none: bool) -> tuple[Any, Any]:
    from gpukit.cli.vertices.read import vertex_list

    graph, path = people(), folder / "vertices"
    word = st.one_of(st.integers(95, 145).map(str), WORDS)
    given = st.lists(word, max_size=5).map(",".join).filter(lambda text: "\0" not in text)
    strategy = st.one_of(lines_of(st.integers(98, 141).map(str)), given)

    def check(example: bytes | str) -> None:
        if isinstance(example, str):
            found = outcome(lambda: vertex_list(example, option, graph, none=none))
            if found is not Refused:
                words = [word.strip() for word in example.split(",")] if example.strip() else []
                compare(found, lambda: plain_ids(words))
            return
        path.write_bytes(example)

        def plain() -> list[int]:
            rows = plain_lines(example)
            if any(len(row) != 1 for row in rows) or not (rows or none):
                raise Refused
            return plain_ids([row[0] for row in rows])

        compare(outcome(lambda: vertex_list(str(path), option, graph, none=none)), plain)

    return strategy, check


def observed(folder: Path) -> tuple[Any, Any]:
    """Return the fuzzer of ``--observed``: ids, or a file of ids, possibly none."""
    return _vertices(folder, "--observed", True)


def seeds(folder: Path) -> tuple[Any, Any]:
    """Return the fuzzer of seeds: ids, or a file of ids."""
    return _vertices(folder, "--seeds", False)


def costs(folder: Path) -> tuple[Any, Any]:
    """Return the fuzzer of cost files; a vertex that a file does not name has the default cost."""
    from gpukit.cli.vertices.read import vertex_numbers

    graph, path = people(), folder / "costs"
    low, high = Decimal("0.000001"), Decimal("2147.483647")
    whole = "".join(f"{v} {v % 7}.25\n" for v in range(102, 140)).encode()
    number = st.one_of(st.decimals(0, 2200, places=6).map(str), NUMBERS, st.sampled_from(ODD))
    line = lines_of(st.integers(98, 141).map(str), number)
    last = number.map(lambda text: whole + b"100 1\n101 " + text.encode("utf-8", "surrogatepass"))

    def check(content: bytes) -> None:
        path.write_bytes(content)

        def call() -> list[int]:
            return vertex_numbers(path, content, graph, default=7, decimals=6, low=low, high=high).tolist()

        def plain() -> list[int]:
            rows = plain_lines(content)
            if any(len(row) != 2 for row in rows) or not rows:
                raise Refused
            ids, numbers = plain_ids([row[0] for row in rows]), [row[1] for row in rows]
            values = [7] * 40
            for place, text in zip(ids, numbers, strict=True):
                if not NUMBER.fullmatch(text):
                    raise Refused
                try:
                    number = Decimal(text)
                except InvalidOperation:
                    raise Refused from None
                if not low <= number <= high or number * 10**6 % 1:
                    raise Refused
                values[place] = int(number * 10**6)
            return values

        compare(outcome(call), plain)

    return st.one_of(line, last), check


def sources(folder: Path) -> tuple[Any, Any]:
    """Return the fuzzer of files of sources: each line is a query, with words ID or ID:WEIGHT."""
    from gpukit.cli.options import Queries
    from gpukit.cli.vertices.read import read_sources

    graph, path = people(), folder / "sources"
    weighted = st.tuples(st.integers(98, 141), st.integers(0, 10)).map("%d:%d".__mod__)
    word = st.one_of(st.integers(98, 141).map(str), weighted)
    strategy = lines_of(word, word)

    def check(content: bytes) -> None:
        path.write_bytes(content)

        def call() -> Any:
            return len(read_sources(graph, Queries(sources_file=path), 1, {}))

        def plain() -> int:
            rows = plain_lines(content)
            for row in rows:
                number = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,9})?"
                if not all(re.fullmatch(f"[0-9]{{1,19}}(:{number})?", one) for one in row):
                    raise Refused
                pairs = [one.partition(":") for one in row]
                if not all(100 <= int(name) < 140 for name, _, _ in pairs):
                    raise Refused
                weights = [Decimal(weight or 1) for _, _, weight in pairs]
                if not any(weights) or not all(not w or Decimal("1e-300") <= w <= Decimal("1e300") for w in weights):
                    raise Refused
                if any(len(re.sub("[eE].*|[^0-9]", "", weight).lstrip("0")) > 30 for _, _, weight in pairs):
                    raise Refused
                if len({int(name) for name, _, _ in pairs}) < len(pairs):
                    raise Unsaid
            if not rows:
                raise Refused
            return len(rows)

        compare(outcome(call), plain)

    return strategy, check
