"""One answer in several parts, each for an equal range of ids."""

from typing import Any

from gpukit.errors import UsageError
from gpukit.wording import spelled


def part_of(text: str | None, total: int, what: str) -> tuple[dict[str, Any], int, int]:
    """Return the value for the parameters, and the range first … last - 1 of the ids of a part.

    Parameters
    ----------
    text : str or None
        ``I/N``, I in [1, N] and N at most ``total``; None means all ids.
    total : int
        Number of ids.
    what : str
        What the ids denote, in the plural, for messages.

    Raises
    ------
    UsageError
        If the text has another form.
    """
    if text is None:
        return {}, 0, total
    number, slash, parts = text.partition("/")
    if not (slash and all(word.isascii() and word.isdigit() and len(word) < 10 for word in (number, parts))):
        raise UsageError(f"{spelled('part')} is {text[:40]!r}; I/N is needed, as 2/4")
    i, n = int(number), int(parts)
    if not 1 <= i <= n <= total:
        raise UsageError(
            f"{spelled('part')} is {text}; 1/N to N/N are allowed, with N at most {total}, the number of {what}"
        )
    return {"part": [i, n, total]}, total * (i - 1) // n, total * i // n
