"""The kernel behind :mod:`gpukit.graph.read.text`."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from gpukit.device.compiled import njit

NOT_PLAIN, TOO_WIDE = -1, -2
MAX_DIGITS = 18
"""Digits of an id that cannot leave 64 bits."""

_U = np.uint64
_ZEROS, _ABOVE, _TOP = _U(0x3030303030303030), _U(0x4646464646464646), _U(0x8080808080808080)
_FOURTH = _U(0x000000FF000000FF)
_HUNDREDS, _UNITS = _U(100 + (1000000 << 32)), _U(1 + (10000 << 32))


@njit
def parse_ids(text, words, u, v, highest, width, comma):
    """Read ``u v`` lines of plain text; fields behind two ids are counted.

    Parameters
    ----------
    text : uint8 array
        Whole lines, the last one ended by a line feed, too: every loop over bytes stops there.
    words : uint64 array
        The eight bytes from each place of the text on, the first one the lowest; it may be shorter, or empty.
    u, v : int32 or int64 arrays
        Take the ids; with room for a line of every four bytes.
    highest : int64
        The highest id that they can hold.
    width : int64
        Fields of each line; 0: two or more.
    comma : bool
        Whether one comma stands between fields, with blanks around it or none; else blanks and tabs do.

    Returns
    -------
    int
        The number of edges; NOT_PLAIN where a line is not what it should be, or may mean something else than it seems
        to (an id with leading zeros can be a name), TOO_WIDE where an id is above ``highest``. Cost: one pass over the
        bytes.
    """
    at, count = 0, 0
    while at < len(text):
        if text[at] < 48:  # no digit: blanks, a comment (# or %), an empty line
            while text[at] == 32 or text[at] == 9:
                at += 1
            if text[at] == 35 or text[at] == 37:
                while text[at] != 10:
                    at += 1
            if text[at] == 10:
                at += 1
                continue
        tail, end = _eight_digits(words[at], at) if at < len(words) else (0, at)
        if end - at == 8 or at >= len(words):
            tail, end = _more_digits(text, end, tail)
        if end == at or end - at > MAX_DIGITS or (text[at] == 48 and end - at > 1):
            return NOT_PLAIN
        at = _separator(text, end, comma)
        if at == end:
            return NOT_PLAIN
        head, end = _eight_digits(words[at], at) if at < len(words) else (0, at)
        if end - at == 8 or at >= len(words):
            head, end = _more_digits(text, end, head)
        if end == at or end - at > MAX_DIGITS or (text[at] == 48 and end - at > 1):
            return NOT_PLAIN
        at, fields = end, 2
        if text[at] != 10:
            at, fields = _more_fields(text, end, comma)
        if fields != width and (width or fields < 2):
            return NOT_PLAIN
        if tail > highest or head > highest:
            return TOO_WIDE
        u[count] = tail
        v[count] = head
        count += 1
        at += 1
    return count


@intrinsic
def _trailing_zeros(context, number):
    """Return how many of the lowest bits of a number are 0: an instruction of the processor (64 for the number 0)."""

    def instruction(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return number(number), instruction


@njit
def _eight_digits(word, at):
    """Return the number of the digits that eight bytes begin with, and where they end, the first byte being at ``at``.

    Without a branch, which would be mispredicted at the end of most numbers: pairs of digits, then of pairs, … are
    joined in place (D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience, 2021).
    """
    others = ((word + _ABOVE) | (word - _ZEROS)) & _TOP  # its lowest bit is right: only a byte of the kind can carry
    bits = _trailing_zeros(others) & ~_U(7)  # 64 if all are digits
    digits = (word ^ _ZEROS) << ((_U(64) - bits) & _U(63))  # zeros before the first digit
    digits = digits * _U(10) + (digits >> _U(8))
    value = ((digits & _FOURTH) * _HUNDREDS + ((digits >> _U(16)) & _FOURTH) * _UNITS) >> _U(32)
    return np.int64(value), at + np.int64(bits >> _U(3))


@njit
def _more_digits(text, at, value):
    """Return a number whose first digits have a value, and where it ends."""
    while 48 <= text[at] <= 57:
        value = 10 * value + (text[at] - 48)
        at += 1
    return value, at


@njit
def _separator(text, at, comma):
    """Return the end of a separator, blanks and tabs with a comma among them if ``comma``; ``at`` if there is none."""
    start = at
    while text[at] == 32 or text[at] == 9:
        at += 1
    if not comma:
        return at
    if text[at] != 44:
        return start
    at += 1
    while text[at] == 32 or text[at] == 9:
        at += 1
    return at


@njit
def _more_fields(text, at, comma):
    """Return the end of a line, and the number of its fields, of which two end at ``at``; 0 where it is not plain."""
    fields, blank = 2, False
    while comma and (text[at] == 32 or text[at] == 9):
        at += 1
    if text[at] != 10 and (text[at] != 44 if comma else text[at] != 32 and text[at] != 9):
        return at, 0
    while text[at] != 10:
        byte = text[at]
        if (byte < 32 and byte != 9) or byte > 126 or byte == 34:
            return at, 0
        is_blank = byte == 32 or byte == 9
        if byte == 44 if comma else blank and not is_blank:
            fields += 1
        blank = is_blank
        at += 1
    return at, fields
