"""Edge-list readers: accepted files, refused files, and the messages."""

import gzip
import hashlib
import os
import re

import pytest

from gpukit.errors import InputError
from gpukit.graph.read import source
from gpukit.graph.read.formats import read_edges

BIGGEST = 2**63 - 1


@pytest.fixture
def edge_file(tmp_path):
    def write(content, name="e.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def pairs(edges):
    return list(zip(edges.u.tolist(), edges.v.tolist(), strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "1 2\n3 4\n",
        "1\t2\n3\t4",
        "1,2\n3,4\n",
        "1 , 2\n3,\t4\n",
        "  1   2  \n\n   \n3\t 4\t\n",
        "1 2\r\n3 4\r\n",
        "1 2\r3 4\r",
        "# from\tto, 5 6\n1 2\n   % more\n3 4\n#",
        "\ufeff1 2\n3 4\n",
        "1 2 0.5 99\n3 4 x y\n",
    ],
)
def test_layouts_of_text_give_the_same_edges(edge_file, text):
    assert pairs(read_edges(edge_file(text))) == [(1, 2), (3, 4)]


@pytest.mark.parametrize("name", ["e.txt", "e.tsv", "e.csv", "e.gz", "e"])
def test_the_name_does_not_matter(edge_file, name):
    assert pairs(read_edges(edge_file("5 7\n", name))) == [(5, 7)]


def test_gzip_is_recognised_by_content_and_may_have_several_members(edge_file):
    path = edge_file(gzip.compress(b"1 2\n3 ") + gzip.compress(b"4\n"), "e.txt")
    assert pairs(read_edges(path)) == [(1, 2), (3, 4)]


def test_ids_up_to_the_largest_64_bit_number(edge_file):
    edges = read_edges(edge_file(f"{BIGGEST} 0\n{BIGGEST - 1} {2**53 + 1}\n"))
    assert pairs(edges) == [(BIGGEST, 0), (BIGGEST - 1, 2**53 + 1)]


def test_small_and_large_ids_in_different_blocks(edge_file, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", 16)
    listed = [(i, 2**62 + i if i > 50 else i + 1) for i in range(100)]
    assert pairs(read_edges(edge_file("".join(f"{u} {v}\n" for u, v in listed)))) == listed


def test_weights_are_the_nearest_floats(edge_file):
    texts = ["0.1", "1", "0", "1e-3", ".25", "0.30000000000000004", "0.99999999999999989", "1E-320"]
    edges = read_edges(edge_file("".join(f"1,{i},{t}\n" for i, t in enumerate(texts))), weights=True)
    assert edges.w.tolist() == [float(t) for t in texts]
    assert edges.dialect.width == 3


def test_the_third_column_is_reported_but_not_read_without_weights(edge_file):
    edges = read_edges(edge_file("1 2 nonsense\n"))
    assert edges.w is None
    assert edges.dialect.width == 3


@pytest.mark.parametrize("size", [3, 7, 64])
def test_lines_across_blocks(edge_file, monkeypatch, size):
    monkeypatch.setattr(source, "BLOCK_BYTES", size)
    listed = [(i * 37, i * 11) for i in range(200)]
    text = "# head\n" + "".join(f"{u}\t{v}\n" + ("\n% x\n" if u % 5 == 0 else "") for u, v in listed)
    assert pairs(read_edges(edge_file(text))) == listed


def test_a_pipe_can_be_read():
    read_end, write_end = os.pipe()
    os.write(write_end, b"1 2\n")
    os.close(write_end)
    assert pairs(read_edges(f"/dev/fd/{read_end}", progress=lambda done, size: None)) == [(1, 2)]
    os.close(read_end)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.txt", b"1 2\n" * 9),
        ("e.gz", gzip.compress(b"1 2\n" * 9) + gzip.compress(b"3 4\n")),
        ("e.gz", gzip.compress(b"1 2\n" * 9) + bytes(20)),
    ],
    ids=["text", "two gzip members", "gzip and zeros"],  # contents of gzip tell the time
)
def test_the_digest_is_of_the_bytes_that_were_read(edge_file, monkeypatch, name, content):
    """Whatever becomes of the file meanwhile."""
    monkeypatch.setattr(source, "BLOCK_BYTES", 8)
    path = edge_file(content, name)

    def replace_it(done, size):
        path.with_name("other").write_bytes(b"5 6\n")
        path.with_name("other").replace(path)

    assert read_edges(path, progress=replace_it).digest == hashlib.sha256(content).hexdigest()
    assert path.read_bytes() == b"5 6\n"


def test_a_pipe_has_no_digest():
    read_end, write_end = os.pipe()
    os.write(write_end, b"1 2\n")
    os.close(write_end)
    assert read_edges(f"/dev/fd/{read_end}").digest is None
    os.close(read_end)


def test_progress_ends_at_the_size_of_the_file(edge_file, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", 8)
    path = edge_file("1 2\n" * 10)
    told = []
    read_edges(path, progress=lambda done, size: told.append((done, size)))
    assert told[-1] == (40, 40)
    assert told == sorted(told)


BAD = {
    "one field": ("1 2\n\n3\n", "line 3: 1 field, 2 in the first line; --format edges"),
    "letters": ("1 2\n# c\n4 b\n", "line 3: 'b' is not a vertex id"),
    "a header below an edge": ("1,2\nsource,target\n", "line 2: 'source'.*--ids text"),
    "negative": ("0 1\n-1 2\n", r"line 2: vertex id '-1' is outside \[0, 2\*\*63 - 1\]"),
    "beyond 63 bits": (f"1 {BIGGEST + 1}\n", "line 1: vertex id '9223372036854775808' is outside"),
    "beyond 64 bits": ("1 2\n7 99999999999999999999999\n", "line 2: vertex id '99999999999999999999999' is outside"),
    "endless digits": ("1 " + "9" * 5000 + "\n", "line 1: vertex id '9999.*…' is outside"),
    "nan": ("1 nan\n", "line 1: 'nan' is not a vertex id"),
    "float": ("1.0 2\n", "line 1: '1.0' is not a vertex id"),
    "exponent": ("1e3 2\n", "line 1: '1e3' is not a vertex id"),
    "booleans": ("1 2\nTrue True\n", "line 2: 'True' is not a vertex id"),
    "underscore": ("1_0 2\n", "line 1: '1_0' is not a vertex id"),
    "other digits": ("1 ٣\n", "line 1: '٣' is not a vertex id"),
    "empty field": ("1,2,3\n1,,2\n", "line 2: '' is not a vertex id"),
    "comma first": (",5,7\n1,2,3\n", "line 1: '' is not a vertex id"),
    "leading comma": ("1,2,3\n ,1,2\n", "line 2: '' is not a vertex id"),
    "empty": ("", "is empty"),
    "comments only": ("# 1 2\n\n% 3 4\n", "has no edges"),
    "binary": (bytes(range(256)) * 9, "line 1: .*"),
    "zeros": (b"\0" * 50, "line 1: not text"),
    "no line end": (b"\0" * 3_000_000, "line of more than"),
    "vertical tab": (b"1\x0b2\n", "line 1: not text"),
    "zeros after an edge": (b"1 2\n3 4 5\0\0\0\n", "line 2: not text"),
    "a vertical tab": (b"1 2\n\x0b3 4\n", "line 2: not text"),
    "a form feed at the end": (b"1 2\n\x0c", "line 2: not text"),
    "digits of another script": ("1 2\n3 ٣\n".encode(), "line 2: '٣' is not a vertex id"),
    "hdf5": (b"\x89HDF\r\n\x1a\n", "is an HDF5 file"),
    "zip": (b"PK\x03\x04aa", "is a zip archive"),
    "truncated gzip": (gzip.compress(b"1 2\n" * 5000)[:-9], "truncated gzip"),
    "gzip header only": (b"\x1f\x8b", "truncated gzip"),
    "damaged gzip": (gzip.compress(b"1 2\n" * 9)[:-8] + b"x" * 8, "damaged gzip"),
    "gzip and more": (gzip.compress(b"1 2\n") + b"more", "damaged gzip"),
}


@pytest.mark.parametrize("key", BAD)
def test_bad_input_is_one_clear_line(edge_file, key):
    content, expected = BAD[key]
    path = edge_file(content)
    with pytest.raises(InputError) as caught:
        read_edges(path)
    message = str(caught.value)
    assert re.search(expected, message)
    assert message.startswith(str(path)) and "\n" not in message and len(message) < 300


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 2 0.5\n1 3 1.5\n", "line 2: weight '1.5'"),
        ("1 2 -0.1\n", "line 1: weight '-0.1'"),
        ("1 2 nan\n", "line 1: weight 'nan'"),
        ("1 2 inf\n", "line 1: weight 'inf'"),
        ("1 2 0x1\n", "line 1: weight '0x1'"),
        ("1 2 0.1_1\n", "line 1: weight '0.1_1'"),
        ("1 2 p\n", "line 1: weight 'p'"),
        ("1 2 0.5\n1 3\n", "line 2: 2 fields, 3 in the first line"),
        ("1,2,\n", "line 1: weight ''"),
    ],
)
def test_bad_weights_are_named(edge_file, text, expected):
    with pytest.raises(InputError, match=expected):
        read_edges(edge_file(text), weights=True)


def test_the_line_number_counts_blocks_before(edge_file, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", 32)
    with pytest.raises(InputError, match="line 501: 'x'"):
        read_edges(edge_file("1 2\n" * 500 + "3 x\n" + "1 2\n" * 500))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_edges(tmp_path / "none.txt")
    with pytest.raises(InputError, match="Is a directory"):
        read_edges(tmp_path)


# Matrix Market

HEAD = "%%MatrixMarket matrix coordinate "


def test_matrix_market_pattern(edge_file):
    edges = read_edges(edge_file(HEAD + "pattern general\n% note\n\n4 4 3\n1 2\n4 1\n2 2\n", "a.mtx"))
    assert sorted(pairs(edges)) == [(0, 1), (1, 1), (3, 0)]
    assert edges.ids.tolist() == [1, 2, 3, 4]
    assert edges.undirected is None


def test_matrix_market_real_symmetric_gzipped(edge_file):
    edges = read_edges(edge_file(gzip.compress(f"{HEAD}real symmetric\n3 3 1\n3 1 0.25\n".encode()), "a.mtx.gz"), True)
    assert (pairs(edges), edges.w.tolist(), edges.undirected) == ([(2, 0)], [0.25], True)


def test_matrix_market_equals_scipy(edge_file, tmp_path):
    import scipy.io
    import scipy.sparse

    matrix = scipy.sparse.random(30, 30, density=0.1, random_state=3)
    scipy.io.mmwrite(tmp_path / "m.mtx", matrix, symmetry="general")
    edges = read_edges(tmp_path / "m.mtx", True)
    again = scipy.sparse.coo_array((edges.w, (edges.u, edges.v)), shape=(30, 30))
    assert abs(again - matrix).max() == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 2\n", "cannot be read as Matrix Market .*Missing banner"),
        (HEAD + "complex general\n2 2 1\n1 2 1 1\n", "is 2 by 2, coordinate, complex, general; a graph is square"),
        (HEAD + "pattern hermitian\n2 2 1\n1 2\n", "hermitian; a graph is square"),
        ("%%MatrixMarket matrix array real general\n1 1\n1\n", "array, real, general; a graph is square, coordinate"),
        (HEAD + "pattern\n2 2 1\n1 2\n", "Invalid MatrixMarket header"),
        (HEAD + "pattern general\n% c\n2 2\n1 2\n", "cannot be read as Matrix Market"),
        (HEAD + "pattern general\n2 3 1\n1 2\n", "is 2 by 3, coordinate"),
        (HEAD + "pattern general\n", "Line 2: .*Premature EOF"),
        (HEAD + "pattern general\n2 2 2\n1 2\n", "cannot be read as Matrix Market"),
        (HEAD + "pattern general\n2 2 1\n1 3\n", "Line 3: .*index out of bounds"),
        (HEAD + "pattern general\n2 2 1\n0 1\n", "Line 3: .*index out of bounds"),
        (HEAD + "pattern general\n2 2 0\n", "has no edges"),
        (HEAD + "real general\n2 2 1\n1 2 7.5\n", "edge 1: weight 7.5"),
        (HEAD + "pattern general\n2 2 1\n1 2\n", "pattern matrix has no weights"),
    ],
)
def test_bad_matrix_market(edge_file, text, expected):
    with pytest.raises(InputError, match=expected):
        read_edges(edge_file(text, "a.mtx"), weights="weights" in expected or "weight" in expected)


def test_another_spreadsheet_is_told_to_be_saved(edge_file):
    path = edge_file(b"PK\x03\x04" + bytes(20))
    workbook = path.rename(path.with_name("edges.ods"))
    with pytest.raises(InputError, match="edges.ods is a spreadsheet; save the sheet of edges as .xlsx or CSV"):
        read_edges(workbook)


def test_dates_and_texts_are_no_weights(edge_file):
    path = edge_file("date,from,to,note\n2024-01-02,ann,bob,new\n2024-01-03,bob,cy,old\n")
    with pytest.raises(InputError, match=r"has 4 columns .*; which one is the weight\?"):
        read_edges(path, 1)
