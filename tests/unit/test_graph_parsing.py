"""The kernel that parses plain texts, against the definition of the format."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit.errors import InputError
from gpukit.graph import parsing
from gpukit.graph.parsing import Format

PLAIN_PIECES = [
    *(b"1", b"42", b"007", b"2147483647", b"2147483648", b"9" * 18, b"9" * 19, b" ", b"\t", b",", b"\n", b"# x", b"%"),
    *(b"+3", b"-1", b"2.5", b"a", b"\0", b"\x0b", b"\x7f", b"\xe9", b"1 2\n", b"3,4\n", b" 5 ,\t6 x\n"),
]
PLAINEST = {b" ", b"\t", b"# x", b"%", b"1 2\n", b"3,4\n", b" 5 ,\t6 x\n"}


@given(st.lists(st.sampled_from(PLAIN_PIECES), max_size=12), st.sampled_from([(0, parsing.MAX_ID), (1, 50)]))
@settings(max_examples=600, deadline=None)
def test_the_kernel_reads_what_the_definition_reads_or_nothing(pieces, bounds):
    text = b"".join(pieces) + b"\n"
    if not read_as_defined(Format("f", 0, *bounds), text) and set(pieces) <= PLAINEST:
        raise AssertionError(f"{text!r} is as plain as can be")


@pytest.mark.parametrize("size", range(1, 20))
def test_the_kernel_finds_the_end_of_numbers_of_every_length(size):
    digits = b"9876543210123456789"[:size]
    for byte in range(256):  # eight bytes are behind the start of every number of the first line
        text = b"%b%c7 %b%c\n1 2\n3 4\n5 6\n" % (digits, byte, digits, byte)
        found = read_as_defined(Format("f", 0), text)
        assert found or size == 19 or byte not in b" \t,", text


def read_as_defined(form, text):
    """Return whether the kernel reads a text, which must then be as the definition does."""
    found = parsing._parse_plain(form, text)
    try:
        u, v, _ = parsing._parse_lines(form, parsing.COMMENT.sub(b"", text), 1)
    except InputError:
        u = v = None
    if found is not None:
        assert u is not None and found[0].tolist() == u.tolist() and found[1].tolist() == v.tolist()
        assert found[2] is None
        assert found[0].dtype == (np.int64 if max([*u, *v], default=0) >= 2**31 else np.int32)
    return found is not None
