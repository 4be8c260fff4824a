"""The kernel that parses plain texts, against a reading of it line by line."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit.graph.read.dialect import Dialect
from gpukit.graph.read.text import _parse_plain

PIECES = [
    *(b"1", b"42", b"007", b"2147483647", b"2147483648", b"9" * 18, b"9" * 19, b" ", b"\t", b",", b"\n", b"# x", b"%"),
    *(
        b"+3",
        b"-1",
        b"2.5",
        b"a",
        b"\0",
        b"\x0b",
        b"\x7f",
        b"\xe9",
        b'"',
        b"1 2\n",
        b"3,4\n",
        b" 5 ,\t6 x\n",
        b" 5  6 \t\n",
    ),
]


def line_by_line(text, comma, width):
    """Return the edges; None where a line is no edge of plain ids."""
    edges = []
    for line in text.removesuffix(b"\n").split(b"\n"):
        line = line.strip(b" \t")
        if not line or line[:1] in b"#%":
            continue
        fields = [one.strip(b" \t") for one in line.split(b",")] if comma else line.split()
        plain = re.fullmatch(rb"[\t -~]*", line) and len(fields) >= 2 and width in (0, len(fields))
        if not plain or not all(re.fullmatch(rb"0|[1-9][0-9]{0,17}", one) for one in fields[:2]):
            return None
        if b'"' in b"".join(fields[2:]):
            return None
        edges.append((int(fields[0]), int(fields[1])))
    return edges


def read(text, comma, width):
    dialect = Dialect("," if comma else None, (0, 1), width)
    found = _parse_plain(text, dialect, 0)
    return None if found is None else list(zip(found[0].tolist(), found[1].tolist(), strict=True)), found


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.booleans(), st.sampled_from([2, 3]))
@settings(max_examples=1000, deadline=None)
def test_the_kernel_reads_plain_lines_and_no_others(pieces, comma, width):
    text = b"".join(pieces) + b"\n"
    edges, found = read(text, comma, width)
    assert edges == line_by_line(text, comma, width)
    if edges:
        highest = max(max(edge) for edge in edges)
        assert found[0].dtype == (np.int64 if highest >= 2**31 else np.int32)


@pytest.mark.parametrize("comma", [False, True])
@pytest.mark.parametrize("size", range(1, 20))
def test_the_kernel_finds_the_end_of_numbers_of_every_length(size, comma):
    digits = b"9876543210123456789"[:size]
    for byte in range(256):  # eight bytes are behind the start of every number of the first line
        text = b"%b%c7 %b%c\n1 2\n3 4\n5 6\n" % (digits, byte, digits, byte)
        assert read(text, comma, 2)[0] == line_by_line(text, comma, 2), text
