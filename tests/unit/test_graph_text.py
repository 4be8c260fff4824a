"""Edge lists with headers, separators, quotes, names and compression: accepted texts, refused texts, and the
messages."""

import bz2
import csv
import gzip
import io
import lzma
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit.errors import GpukitError, InputError, UsageError
from gpukit.graph.labels import Interned, Labels
from gpukit.graph.lines import split
from gpukit.graph.read import source
from gpukit.graph.read.dialect import Dialect
from gpukit.graph.read.edgelist import ReadOptions
from gpukit.graph.read.formats import read_edges
from gpukit.graph.read.text import TextReader

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " ", "|": "|"}
PACKED = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
HEADERS = {"known": ("from", "to"), "odd": ("wer", "wen")}
NAMES = ["ann", "Bob", "émile", "New York, NY", 'the "one"', "42", "a;b", "日本", "x\u00a0y", "zoë b", "a:1", "O'Neill"]


@pytest.fixture
def edge_file(tmp_path):
    def write(content, name="e.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def listed(edges):
    """Return the pairs of an edge list, in the words of the file."""
    ends = [edges.u, edges.v] if edges.labels is None else [edges.labels.texts(end) for end in (edges.u, edges.v)]
    return list(zip(*(end.tolist() for end in ends), strict=True))


def frame(kind):
    """Return some edges as a table; the first line of names is of letters, as the rule wants it."""
    rng = np.random.default_rng(7)
    if kind == "integer":
        u, v = rng.integers(0, 50, (2, 60))
    else:
        u, v = (np.array(NAMES, object)[rng.integers(0, len(NAMES), 60)] for _ in range(2))
        u[0], v[0] = "ann", "Bob"
    return pd.DataFrame({"u": u, "v": v, "w": rng.random(60).round(3)})


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("kind", ["integer", "text"])
@pytest.mark.parametrize("header", [None, *HEADERS])
@pytest.mark.parametrize("separator", SEPARATORS)
def test_what_pandas_writes_is_read(edge_file, separator, header, kind, packed):
    table = frame(kind)
    text = table.to_csv(
        None, sep=SEPARATORS[separator], index=False, header=[*HEADERS[header], "share"] if header else False
    )
    path = edge_file(PACKED[packed](text.encode()))
    asked = ReadOptions(separator=separator) if separator == "|" else ReadOptions()
    if header == "odd":  # nothing says which of three unknown columns are the ends
        with pytest.raises(InputError, match=r"\(wer, wen, share\); which two are the ends .*--columns SOURCE,TARGET"):
            read_edges(path, weights=True, options=asked)
        asked = replace(asked, columns="wer,wen,share")
    found = read_edges(path, weights=True, options=asked)
    assert listed(found) == list(zip(table.u, table.v, strict=True))
    assert found.w.tolist() == pytest.approx(table.w.tolist())
    said = found.dialect.record()
    assert (said["separator"], said["header"], said["ids"]) == (separator, header is not None, kind)
    if header:
        assert said["columns"] == [*HEADERS[header], "share"]
    if kind == "text":
        expected = sorted({*table.u, *table.v}, key=str.encode)
        assert found.labels.texts(np.arange(len(found.labels))).tolist() == expected


def test_columns_by_name_and_number(edge_file):
    path = edge_file("p,a,b,c\n.5,1,2,3\n.25,4,5,6\n")
    assert listed(read_edges(path, options=ReadOptions(columns="c,a"))) == [(3, 1), (6, 4)]
    assert listed(read_edges(path, options=ReadOptions(columns="4,2"))) == [(3, 1), (6, 4)]
    weighted = read_edges(path, weights=True, options=ReadOptions(columns="a,b,p"))
    assert (listed(weighted), weighted.w.tolist()) == ([(1, 2), (4, 5)], [0.5, 0.25])
    assert listed(read_edges(edge_file("x y\n1 2\n"), options=ReadOptions(columns="y,x"))) == [(2, 1)]
    quoted = edge_file('"of, from",to\n1,2\n')
    assert listed(read_edges(quoted, options=ReadOptions(columns='to,"of, from"'))) == [(2, 1)]


def test_a_header_says_which_columns_hold_the_ends(edge_file):
    """A table that pandas wrote with its index."""
    path = edge_file(pd.DataFrame({"source": [5, 6, 7], "target": [6, 7, 5]}).to_csv())
    found = read_edges(path)
    assert listed(found) == [(5, 6), (6, 7), (7, 5)] and found.dialect.has_index


ENDS = {
    "ids with a word behind": "time,Sender_ID,Receiver ID\n7,5,6\n9,6,7\n",
    "callers": "timestamp,caller,callee\n7,5,6\n9,6,7\n",
    "exact before others": "source_name,source,target,target_name\nx,5,6,y\ny,6,7,z\n",
    "target before source": "target,no,source\n6,1,5\n7,1,6\n",
    "beside a weight": "wer,wen,weight\n5,6,2\n6,7,3\n",
    "an index that pandas wrote": ",wer,wen\n4,5,6\n9,6,7\n",
    "one that it wrote again": "Unnamed: 0,wer,wen\n0,5,6\n1,6,7\n",
    "an index that R wrote": '"wer" "wen"\n"1" 5 6\n"2" 6 7\n"3" 7 5\n',
}


@pytest.mark.parametrize("key", ENDS)
def test_the_ends_of_edges_are_found(edge_file, key):
    assert listed(read_edges(edge_file(ENDS[key])))[:2] == [(5, 6), (6, 7)]


@pytest.mark.parametrize(
    "text",
    [
        "id,a,b\n100,5,6\n103,6,7\n",
        "i,a,b\n0,5,6\n1,6,7\n2,7,5\n",
        "no,head,tail\n7,5,6\n9,6,7\n",
        "day,wer,wen,share\n2024-01-31,5,6,0.5\n2024-02-01,6,7,1.5\n",
        "day,wer,wen\n2024-01-31 10:00,ann,bob\n2024-02-01 11:30,bob,cy\n",
        "wer,wen,art,jahr\nann,bob,x,2\nbob,cy,y,3\n",
    ],
)
def test_columns_that_could_all_be_ends_are_refused(edge_file, text):
    with pytest.raises(InputError, match=r"has . columns \(.*two are the ends.*--columns SOURCE,TARGET"):
        read_edges(edge_file(text))


def test_dates_are_no_vertices(edge_file):
    for text in ("31.1.2024;ann;bob\n1.2.2024;bob;cy\n", "2024-01-31,5,6\n2024-02-01,6,7\n"):
        with pytest.raises(InputError, match="has 3 columns; which two are the ends .*--columns SOURCE,TARGET"):
            read_edges(edge_file(text))
        assert len(read_edges(edge_file(text), options=ReadOptions(columns="2,3")).u) == 2


def test_a_weight_is_called_so_or_the_only_further_column(edge_file):
    for text in ("from,to,share\n1,2,0.5\n2,3,0.25\n", "from,to,day,prob\n1,2,2024-01-31,0.5\n2,3,2024-02-01,0.25\n"):
        assert read_edges(edge_file(text), weights=True).w.tolist() == [0.5, 0.25]
    with pytest.raises(InputError, match=r"\(from, to, n, share\); which one is the weight.*--columns SOURCE,TARGET,W"):
        read_edges(edge_file("from,to,n,share\n1,2,1,0.5\n"), weights=True)


def test_an_index_without_a_name_of_columns_is_suspected(edge_file):
    path = edge_file("0,5,6\n1,6,7\n2,7,5\n")
    with pytest.raises(InputError, match="first of its 3 columns counts up, as an index does; --columns 2,3 leaves it"):
        read_edges(path)
    assert listed(read_edges(path, options=ReadOptions(columns="2,3"))) == [(5, 6), (6, 7), (7, 5)]
    assert listed(read_edges(path, options=ReadOptions(columns="1,2"))) == [(0, 5), (1, 6), (2, 7)]
    assert len(read_edges(edge_file("0,5,6\n1,6,7\n2,7,5\n2,5,8\n")).u) == 4


def test_two_columns_that_count_up_are_no_index(edge_file):
    assert len(read_edges(edge_file("0 1\n1 2\n2 3\n")).u) == 3
    assert len(read_edges(edge_file("0 1 0.5\n1 2 0.5\n2 3 0.5\n"), weights=True).u) == 3


HEADER_OR_NOT = {
    "words above numbers": ("a b\n1 2\n", True),
    "known words": ("Source,Target\nann,bob\nbob,cy\n", True),
    "known words that are vertices": ("u,v\nv,w\nw,u\n", False),
    "words above names": ("wer,wen\nann,bob\n", False),
    "known words above names": ("person,friend\nann,bob\n", True),
    "words above a number": ("person,friend,years\nann,bob,3\n", True),
    "words above decimals with a comma": ("von;nach;anteil\nann;bob;0,5\nbob;cy;,25\n", True),
    "decimals with a comma": ("ann;bob;0,5\nbob;cy;,25\n", False),
    "underscores": ("From_Node Id\tTo_Node Id\nann\tbob\n", True),
    "one line": ("ann bob\n", False),
}


@pytest.mark.parametrize("key", HEADER_OR_NOT)
def test_headers_are_found(edge_file, key):
    text, expected = HEADER_OR_NOT[key]
    path = edge_file(text)
    assert bool(read_edges(path).dialect.header) == expected
    lines = text.count("\n")
    assert len(read_edges(path, options=ReadOptions(header=False, ids="text", columns="1,2")).u) == lines
    if lines > 1:
        assert len(read_edges(path, options=ReadOptions(header=True, columns="1,2")).u) == lines - 1


def test_numbers_can_be_names(edge_file):
    found = read_edges(edge_file("10 9\n9 100\n"), options=ReadOptions(ids="text"))
    assert found.labels.texts(range(3)).tolist() == ["10", "100", "9"]
    assert listed(found) == [("10", "9"), ("9", "100")]


def test_blanks_around_names_do_not_count(edge_file):
    found = read_edges(edge_file('ann , bob\n bob,ann\n" ann",cy\n'))
    assert listed(found) == [("ann", "bob"), ("bob", "ann"), ("ann", "cy")]


def test_comments_and_blank_lines(edge_file):
    path = edge_file("# c\n\nsource;target\n% d\n\nann;bob\n#x;y\nbob;cy\n")
    found = read_edges(path)
    assert listed(found) == [("ann", "bob"), ("#x", "y"), ("bob", "cy")]
    assert (found.skipped, found.dialect.header) == (4, 3)
    assert listed(read_edges(edge_file('"#x" b\n'))) == [("#x", "b")]


@pytest.mark.parametrize("size", [3, 17, 200])
@pytest.mark.parametrize("kind", ["integer", "text"])
def test_lines_across_blocks(edge_file, monkeypatch, size, kind):
    monkeypatch.setattr(source, "BLOCK_BYTES", size)
    table = pd.concat([frame(kind)] * 4)
    path = edge_file("# head\n" * 30 + table[["u", "v"]].to_csv(index=False, header=["source", "target"]))
    assert listed(read_edges(path)) == list(zip(table.u, table.v, strict=True))


def test_line_ends_and_a_byte_order_mark(edge_file):
    for end in ("\n", "\r\n", "\r"):
        text = "\ufeff" + end.join(["source,target", "ann,bob", '"cy","dee"'])
        assert listed(read_edges(edge_file(text))) == [("ann", "bob"), ("cy", "dee")]


BAD = {
    "a name among numbers": ("a,b\n1,2\n3,x\n", {}, "line 3: 'x' is not a vertex id.*--ids text"),
    "a number beside a name": ("1 ann\n", {}, "line 1: 'ann' is not a vertex id.*--ids text"),
    "below a header": ("source,target\n1,ann\n", {}, "line 2: 'ann' is not a vertex id.*--ids text"),
    "an empty name": ("ann,bob\n,cy\n", {}, "line 2: a name is empty"),
    "an empty id": ("a;b\n1;2\n;3\n", {}, "line 3: '' is not a vertex id"),
    "a field too many": ("ann bob\nbob cy dee\n", {}, "line 2: 3 fields, 2 in the first line"),
    "a field too few": ("ann,bob\nann,cy\n" + "dee,x\n" * 200 + "cy\n", {}, "line 203: 1 field, 2 in"),
    "an open quote": ('"ann","bob"\n"cy,"dee\n', {}, "line 2: .*quote"),
    "a name over two lines": ('ann,bob\n"c\ny",dee\n', {}, "line 2: a quote is not closed"),
    "an open quote between blanks": ('ann bob\n"cy dee\n', {}, "line 2: a quote"),
    "no UTF-8": (b"ann,bob\nc\xe9,dee\n", {}, "line 2: not text in UTF-8"),
    "a control character": (b"ann,bob\nc\x07y,dee\n", {}, r"line 2: not text.*'\\x07'"),
    "a tab in a name": ('ann,bob\n"c\ty",dee\n', {}, "line 2: the name .* control character"),
    "one field": ("ann\nbob\n", {}, "line 1: one field"),
    "a bar between numbers": ("1|2\n2|3\n", {}, "line 1: one field, '1|2'.*--sep"),
    "a bar and blanks between numbers": ("1 | 2\n2 | 3\n", {}, "has 3 columns; which two are the ends .*--columns"),
    "a bar and blanks between names of two words": (
        "New York | Rio\nRio | Los Angeles\n",
        {},
        "has 4 columns; which two are the ends .*--columns",
    ),
    "a table of Markdown": (
        "| a | b |\n| 1 | 2 |\n",
        {},
        r"line 1: '\|' is both the name of a column and a value in it",
    ),
    "UTF-16": ("source;target\n1;2\n".encode("utf-16"), {}, "is text in UTF-16; .*iconv -f UTF-16"),
    "a bar between words": ("von|nach\n2|3\n", {}, "line 1: one field, .*--sep"),
    "another separator": ("ann:bob\n", {"separator": "|"}, "line 1: one field.*--sep"),
    "a header alone": ("source,target\n", {"header": True}, "has no edges"),
    "negative": ("a,b\n1,-2\n", {}, "line 2: vertex id '-2' is outside"),
    "large": (f"a,b\n1,{2**63}\n", {}, "line 2: vertex id '9223372036854775808' is outside"),
    "a float": ("a,b\n1.0,2.0\n", {}, "line 2: '1.0' is not a vertex id"),
    "truncated xz": (lzma.compress(b"1 2\n" * 999)[:-9], {}, "truncated xz"),
    "truncated bzip2": (bz2.compress(b"1 2\n" * 999)[:-9], {}, "truncated bzip2"),
    "damaged bzip2": (b"BZh91AY&SY" + bytes(99), {}, "damaged bzip2"),
    "damaged xz": (lzma.compress(b"1 2\n")[:20] + b"\xff" * 99, {}, "damaged xz"),
}


@pytest.mark.parametrize("key", BAD)
def test_bad_input_is_one_clear_line(edge_file, key):
    content, asked, expected = BAD[key]
    path = edge_file(content)
    with pytest.raises(InputError) as caught:
        read_edges(path, options=ReadOptions(**asked))
    message = str(caught.value)
    assert re.search(expected, message)
    assert message.startswith(str(path)) and "\n" not in message and len(message) < 300


def test_an_address_is_no_file():
    with pytest.raises(InputError, match="is an address, and files are read; fetch it first"):
        read_edges("https://snap.example/graph.txt.gz")


def test_zstd_needs_what_not_every_python_has(edge_file, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(source.importlib, "import_module", missing)
    with pytest.raises(InputError, match="is zstd; install the package backports.zstd, or unpack"):
        read_edges(edge_file(b"\x28\xb5\x2f\xfd" + bytes(20)))


def test_zstd(edge_file):
    zstd = pytest.importorskip("backports.zstd")
    packed = zstd.compress(b"1 2\n" * 999) + zstd.compress(b"3 4\n")
    assert listed(read_edges(edge_file(packed)))[-2:] == [(1, 2), (3, 4)]
    with pytest.raises(InputError, match="truncated zstd"):
        read_edges(edge_file(packed[:-3]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b,p\n1,2,0.5\n1,3,1.5\n", "line 3: weight '1.5'"),
        ("a,b,p\n1,2,nan\n", "line 2: weight 'nan'"),
        ("a;b;p\n1;2;0,5\n", "line 2: weight '0,5' has a comma; --decimal , reads it as a point"),
        ("a,b,p\n1,2,True\n", "line 2: weight 'True'"),
        ("a,b,p\n1,2,.5\n1,2\n", "line 3: 2 fields, '1,2'; 3 are needed"),
        ("a,b\n1,2\n", "has 2 columns"),
    ],
)
def test_bad_weights_are_named(edge_file, text, expected):
    with pytest.raises(InputError, match=expected):
        read_edges(edge_file(text), weights=True)


@pytest.mark.parametrize(
    ("asked", "weights", "expected"),
    [
        ({"separator": "ab"}, False, "--sep is 'ab'"),
        ({"separator": "1"}, False, "--sep is '1'"),
        ({"columns": "a"}, False, "--columns is 'a'"),
        ({"columns": "a,c"}, False, "no column is called 'c'.*there are a, b"),
        ({"columns": "1,3"}, False, "there is no column 3"),
        ({"columns": "0,1"}, False, "there is no column 0"),
        ({"columns": "1,a"}, False, "names a column twice"),
        ({"columns": "a,b,c"}, False, "--weights file alone reads"),
        ({"columns": "a,b"}, True, "name it"),
        ({"columns": "a,b", "header": False}, False, "has no header"),
    ],
)
def test_what_is_asked_must_fit(edge_file, asked, weights, expected):
    path = edge_file("a,b\n1,2\n")
    with pytest.raises(UsageError, match=expected):
        read_edges(path, weights=weights, options=ReadOptions(**asked))


def test_two_columns_of_one_name(edge_file):
    with pytest.raises(UsageError, match="two columns are called 'a'"):
        read_edges(edge_file("a,a\n1,2\n"), options=ReadOptions(columns="a,2"))


def test_a_matrix_says_itself_how_to_read_it(edge_file):
    path = edge_file("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")
    with pytest.raises(UsageError, match="Matrix Market"):
        read_edges(path, options=ReadOptions(header=True))


# Whatever is written as CSV is read as it was meant, or refused in one line.

_name = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=6).map(str.strip)
_names = st.lists(st.tuples(_name.filter(bool), _name.filter(bool)), min_size=1, max_size=8)
_ids = st.lists(st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1)), min_size=1, max_size=8)
_header = st.sampled_from(
    [None, ("source", "target"), ("Source", "Target"), ("from", "to"), ("src", "dst"), ("wer", "wen")]
)


@pytest.mark.long
@settings(deadline=None, derandomize=True, max_examples=1000)
@given(st.one_of(_names, _ids), _header, st.sampled_from(",;\t| "), st.sampled_from(["", "\n", "\r\n"]), st.booleans())
def test_what_csv_writes_is_read_or_refused(tmp_path_factory, rows, header, separator, end, all_quoted):
    stream = io.StringIO()
    quoting = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(stream, delimiter=separator, lineterminator=end or "\n", quoting=quoting)
    writer.writerows([*([header] if header else []), *rows])
    path = tmp_path_factory.mktemp("fuzz") / "e"
    path.write_bytes(stream.getvalue().encode())
    text = isinstance(rows[0][0], str)
    told = ReadOptions(separator={" ": "space", "\t": "tab"}.get(separator, separator), header=header is not None)
    told = ReadOptions(told.separator, told.header, None, "text" if text else "integer")
    commented = any(str(row[0]).startswith(("#", "%")) for row in rows)
    try:
        found = read_edges(path, options=told)
    except GpukitError as error:
        assert "\n" not in str(error)
        assert text, f"whole numbers are never refused: {error}"
        return
    if not commented:
        assert listed(found) == rows
    # Left to look, it finds the same edges, or says what it does not understand.
    try:
        looked = read_edges(path)
    except GpukitError as error:
        assert "\n" not in str(error)
        return
    if not commented and looked.dialect.record() == found.dialect.record():
        assert listed(looked) == rows
    elif not text and separator != "|":
        assert listed(looked) == rows


_piece = st.sampled_from(
    ["ann", "b", "7", "1.5", "", " ", '"', '""', '"a b"', ",", ";", "\t", "é", "x,y", "  ", "+7", "0"]
)
_line = st.lists(_piece, max_size=6).map("".join)


@settings(deadline=None, derandomize=True, max_examples=1000)
@given(_line, st.sampled_from([",", ";", "\t", None]), st.integers(2, 4), st.booleans(), st.booleans())
def test_a_line_is_cut_as_the_definition_has_it(line, separator, width, names, weights):
    """pandas takes a line if and only if nothing is said to be wrong with it, and cuts it where the definition does."""
    if not line.strip(" \t"):
        return
    columns = (0, 1, width - 1) if weights and width > 2 else (0, 1)
    dialect = Dialect(separator, columns, width, ids="text" if names else "integer")
    reader = TextReader("f", 1.0 if len(columns) > 2 else 0, dialect)
    found, fault = reader._cut(f"{line}\n".encode()), reader._fault(line)
    assert (found is None) == (fault is not None)
    if found is None:
        return
    fields = split(line, separator)
    ends = [int(end[0]) if not names else [*reader.names._numbers][end[0]] for end in found[:2]]
    assert ends == [one if names else int(one) for one in fields[:2]]
    assert len(columns) == 2 or found[2][0] == float(fields[width - 1])


@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=8), min_size=1, max_size=5),
    st.sampled_from([",", ";", "\t"]),
)
def test_lines_are_cut_as_csv_writes_them(fields, separator):
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator="", quoting=csv.QUOTE_ALL).writerow(fields)
    line = stream.getvalue()
    if "\n" not in line and "\r" not in line:
        assert split(line, separator) == [field.strip() for field in fields]
        if not any(ord(c) < 32 for c in line):
            words = " ".join('"' + field.replace('"', '""') + '"' for field in fields)
            assert split(words, None) == [field.strip() for field in fields]


def test_words_between_blanks():
    assert split(' ann\t "b ""c"" d"  e"f ', None) == ["ann", 'b "c" d', 'e"f']
    for line in ('"a', '"a"b', '"a" "b'):
        with pytest.raises(ValueError, match="quote"):
            split(line, None)


# Labels

_texts = st.lists(st.text(st.characters(codec="utf-8"), max_size=5), unique=True, min_size=1, max_size=40)


@settings(deadline=None, derandomize=True)
@given(_texts, st.lists(st.text(max_size=3), max_size=3))
def test_labels_are_found_by_text(texts, others):
    interned = Interned()
    numbers = interned.numbers(texts)
    labels, vertices = interned.ordered()
    assert labels.texts(vertices[numbers]).tolist() == texts
    encoded = [text.encode() for text in labels.texts(np.arange(len(labels)))]
    assert encoded == sorted(encoded)
    expected = [int(vertices[texts.index(text)]) if text in texts else -1 for text in others]
    assert labels.find(others).tolist() == expected
    assert [labels.find([text])[0] for text in others] == expected
    assert Labels.find(labels, texts).tolist() == vertices.tolist()


def test_labels_of_some_vertices():
    labels = Labels.of(["a", "b", "ü"])
    assert labels.take(np.array([0, 2])).texts([0, 1]).tolist() == ["a", "ü"]
    assert labels.texts([[2, 0]]).tolist() == [["ü", "a"]]


def test_blocks_parsed_ahead_keep_their_order_and_their_errors(edge_file, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", 64)
    monkeypatch.setattr(source, "HEAD_BYTES", 64)
    lines = [f"{i} {i + 1}\n" for i in range(500)]
    assert listed(read_edges(edge_file("".join(lines)))) == [(i, i + 1) for i in range(500)]
    lines[30], lines[450] = "30 x\n", "y 451\n"
    cut = gzip.compress("".join(lines).encode(), 0)[:-1500]  # the end of the file is missing, too
    for content in ("".join(lines), cut):
        with pytest.raises(InputError, match="line 31: 'x' is not a vertex id"):
            read_edges(edge_file(content))
    del lines[30]
    with pytest.raises(InputError, match="truncated gzip"):
        read_edges(edge_file(gzip.compress("".join(lines).encode(), 0)[:-1500]))


@pytest.mark.parametrize("separator", [" ", "\t", ",", ";", "|", ":"])
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("weights", [0, 1])
def test_a_number_that_is_a_name_is_refused_after_many_lines(edge_file, separator, quote, weights):
    """It must not be merged with the number that it looks like."""
    share = f"{separator}0.5" if weights else ""
    lines = [f"{i}{separator}{i + 1}{share}" for i in range(150)]
    options = ReadOptions(
        separator={" ": "space", "\t": "tab"}.get(separator, separator) if separator in "|:" else None
    )
    for odd in ("007", "+7"):
        path = edge_file("\n".join([*lines, f"1{separator}{quote}{odd}{quote}{share}", ""]))
        with pytest.raises(InputError, match=f"line 151: '{re.escape(odd)}' is no number in the usual form"):
            read_edges(path, weights, options=options)


def test_a_start_of_many_blank_lines_is_read_at_once(edge_file):
    assert len(read_edges(edge_file("\n" * 300_000 + " # a\n\n" * 20_000 + " " * 60_000 + "1 2\n")).u) == 1


def test_a_bad_line_is_reported_with_how_to_skip_it_and_how_many_there_were(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("from,to\nann,bob\nbob\nann,\n,cy\n")
    with pytest.raises(InputError, match="line 3: 1 field, .*; --skip-bad N skips up to N bad lines$"):
        read_edges(path)
    wanted = "line 5: a name is empty; .*; 3 bad lines so far, more than --skip-bad 2 skips$"
    with pytest.raises(InputError, match=wanted):
        read_edges(path, options=ReadOptions(skip_bad=2))
    assert len(read_edges(path, options=ReadOptions(skip_bad=3)).u) == 1


def test_a_text_in_another_encoding_is_read_where_that_is_named(tmp_path):
    path = tmp_path / "e.csv"
    for encoding in ("cp1252", "utf-16"):
        path.write_bytes("from;to\r\nGroß;Müller\r\n".encode(encoding))
        found = read_edges(path, options=ReadOptions(encoding=encoding))
        assert found.labels.texts(range(2)).tolist() == ["Groß", "Müller"] and found.digest is not None
    path.write_bytes("from;to\nGroß;Müller\n".encode("cp1252"))
    with pytest.raises(InputError, match="line 2: not text in UTF-8; --encoding cp1252 reads"):
        read_edges(path)
    with pytest.raises(InputError, match="is no text in ascii; name another encoding"):
        read_edges(path, options=ReadOptions(encoding="ascii"))
    with pytest.raises(UsageError, match="--encoding is .windows.; a name that Python knows"):
        ReadOptions(encoding="windows")
