"""Numbers in options and files: decimal ones, items of lists, and defaults that a small graph lowers."""

from decimal import Decimal, DecimalException, Inexact, localcontext
from typing import Any

from gpukit.errors import UsageError
from gpukit.graph.parsing import NUMBER


def number(text: str, option: str, kind: Any) -> Any:
    """Return an item of a list option as a number.

    Raises
    ------
    UsageError
        If it is not one.
    """
    try:
        if NUMBER.fullmatch(text.strip(" ")):
            return kind(text)
    except ValueError:
        pass
    raise UsageError(f"{option}: {text!r} is not a number")


def in_units(text: str, decimals: int) -> int | None:
    """Return a decimal number in units of 10**-decimals; None if it is none, or not a whole number of them."""
    if not NUMBER.fullmatch(text):
        return None
    with localcontext() as context:
        context.traps[Inexact] = True  # else more than 28 digits are rounded first, and then found to fit
        try:
            units = Decimal(text).scaleb(decimals)
            return int(units) if units.adjusted() < context.prec and units == units.to_integral_value() else None
        except DecimalException:
            return None


def at_most(given: int | None, default: int, n: int) -> int:
    """Return what was given, whatever it is; nothing given, the default, or n where there are fewer vertices."""
    return min(default, n) if given is None else given
