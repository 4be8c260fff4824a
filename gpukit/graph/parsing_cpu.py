"""The kernel behind :mod:`gpukit.graph.parsing`."""

from gpukit.device.compiled import njit

NOT_PLAIN, TOO_WIDE = -1, -2
MAX_DIGITS = 18
"""Digits of an id that cannot leave 64 bits."""


@njit
def parse_ids(text, u, v, highest):
    """Read ``u v`` lines of plain text; what comes behind two ids is passed over.

    Parameters
    ----------
    text : uint8 array
        Whole lines, the last one ended by a line feed, too: every loop over bytes stops there.
    u, v : int32 or int64 arrays
        Take the ids; with room for a line of every four bytes.
    highest : int64
        The highest id that they can hold.

    Returns
    -------
    int
        The number of edges; NOT_PLAIN where a line is not what it should be, or may mean something else than it seems
        to, TOO_WIDE where an id is above ``highest``. Cost: one pass over the bytes.
    """
    at, count = 0, 0
    while at < len(text):
        while text[at] == 32 or text[at] == 9:
            at += 1
        if text[at] == 35 or text[at] == 37:  # a comment: # or %
            while text[at] != 10:
                at += 1
        if text[at] == 10:
            at += 1
            continue
        tail, end = _number(text, at)
        if end == at or end - at > MAX_DIGITS:
            return NOT_PLAIN
        at = _separator(text, end)
        if at == end:
            return NOT_PLAIN
        head, end = _number(text, at)
        if end == at or end - at > MAX_DIGITS or _separator(text, end) == end and text[end] != 10:
            return NOT_PLAIN
        at = end
        while text[at] != 10:
            if (text[at] < 32 and text[at] != 9) or text[at] > 126:
                return NOT_PLAIN
            at += 1
        if tail > highest or head > highest:
            return TOO_WIDE
        u[count] = tail
        v[count] = head
        count += 1
        at += 1
    return count


@njit
def _number(text, at):
    """Return the number that starts at a place, and where it ends: there, if none does."""
    value = 0
    while 48 <= text[at] <= 57:
        value = 10 * value + (text[at] - 48)
        at += 1
    return value, at


@njit
def _separator(text, at):
    """Return the end of a separator: blanks and tabs, with at most one comma among them."""
    while text[at] == 32 or text[at] == 9:
        at += 1
    if text[at] == 44:
        at += 1
        while text[at] == 32 or text[at] == 9:
            at += 1
    return at
