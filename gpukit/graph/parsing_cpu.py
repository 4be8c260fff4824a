"""The kernel of :mod:`gpukit.graph.read.text`."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from gpukit.device.compiled import njit

NOT_PLAIN, TOO_WIDE = -1, -2
MAX_DIGITS = 18
"""Most digits of an id; these always fit 64 bits."""

_U = np.uint64
_ZEROS, _ABOVE, _TOP = _U(0x3030303030303030), _U(0x4646464646464646), _U(0x8080808080808080)
_FOURTH = _U(0x000000FF000000FF)
_HUNDREDS, _UNITS = _U(100 + (1000000 << 32)), _U(1 + (10000 << 32))


@njit
def parse_ids(text, words, u, v, highest, width, comma):
    """Read ``u v`` lines of plain text; further fields are only counted.

    Parameters
    ----------
    text : uint8 array
        Whole lines. The last one must also end with a line feed, because every loop over bytes stops there.
    words : uint64 array
        The eight bytes from each place of the text on, the first one lowest; it may be shorter than the text, or empty.
    u, v : int32 or int64 arrays
        Receive the ids; with room for one line per four bytes.
    highest : int64
        The highest id that they can store.
    width : int64
        Fields of each line; 0: any number from two on.
    comma : bool
        Whether fields are separated by one comma, with optional blanks around it; otherwise by blanks and tabs.

    Returns
    -------
    int
        The number of edges. NOT_PLAIN if a line has another form, or may mean something else (an id with leading zeros
        can be a name). TOO_WIDE if an id is above ``highest``. Cost: one pass over the bytes.
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
    """Return the number of trailing zero bits of a number (64 for 0), by an instruction of the processor."""

    def instruction(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return number(number), instruction


@njit
def _eight_digits(word, at):
    """Return the number formed by the leading digits of eight bytes, and its end; the first byte is at ``at``.

    There is no branch, which would be mispredicted at the end of most numbers. Digits are joined to pairs, pairs to
    fours, and so on, in place (D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience,
    2021).
    """
    others = ((word + _ABOVE) | (word - _ZEROS)) & _TOP  # marks non-digits; the lowest mark is right
    bits = _trailing_zeros(others) & ~_U(7)  # 64 if all are digits
    digits = (word ^ _ZEROS) << ((_U(64) - bits) & _U(63))  # zeros before the first digit
    digits = digits * _U(10) + (digits >> _U(8))
    value = ((digits & _FOURTH) * _HUNDREDS + ((digits >> _U(16)) & _FOURTH) * _UNITS) >> _U(32)
    return np.int64(value), at + np.int64(bits >> _U(3))


@njit
def _more_digits(text, at, value):
    """Return the number that continues ``value`` with the next digits, and its end."""
    while 48 <= text[at] <= 57:
        value = 10 * value + (text[at] - 48)
        at += 1
    return value, at


@njit
def _separator(text, at, comma):
    """Return the end of a separator: blanks and tabs, with one comma if ``comma``; ``at`` if there is none."""
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
    """Return the end of a line and the number of its fields, two of them before ``at``; 0 fields if it is not plain."""
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
