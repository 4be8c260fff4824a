"""Numbers in options: items of lists with commas between them, and defaults that a small graph lowers."""

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


def at_most(given: int | None, default: int, n: int) -> int:
    """Return what was given, whatever it is; nothing given, the default, or n where there are fewer vertices."""
    return min(default, n) if given is None else given
