"""Numbers in options that take several, with commas between them."""

from typing import Any

from gpukit.errors import UsageError


def number(text: str, option: str, kind: Any) -> Any:
    """Return an item of a list option as a number.

    Raises
    ------
    UsageError
        If it is not one.
    """
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"{option}: {text!r} is not a number") from None
