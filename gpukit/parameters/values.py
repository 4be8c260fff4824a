"""Checks of arguments of Python functions: one per kind of value.

An error names the argument and the value in one line.

Numbers may be NumPy numbers, also as arrays without axes; they are returned as Python numbers, which artifacts store.
Ranges and choices are checked by their owners.
"""

from collections.abc import Callable
from decimal import Decimal
from numbers import Real
from typing import Any, TypeVar

from gpukit.errors import WrongType

Given = TypeVar("Given")


def whole(name: str, value: Any) -> int:
    """Return a whole number; raises WrongType for anything else, also for True and 2.0."""
    if _kind(value) not in ("i", "u"):
        raise unfit(name, value, "a whole number")
    return int(value)


def number(name: str, value: Any) -> float:
    """Return a number as a float; raises WrongType for anything else, also for True and texts."""
    if not is_number(value) or isinstance(value, Decimal):
        raise unfit(name, value, "a number")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """Return True or False; raises WrongType for anything else, also for 1 and ``"no"``."""
    if _kind(value) != "b":
        raise unfit(name, value, "True or False")
    return bool(value)


def text(name: str, value: Any) -> str:
    """Return a text; raises WrongType for anything else."""
    if not isinstance(value, str):
        raise unfit(name, value, "a text")
    return str(value)


def optional(check: Callable[[str, Any], Given], name: str, value: Any) -> Given | None:
    """Return the result of a check, or None if no value was given."""
    return None if value is None else check(name, value)


def is_number(value: Any) -> bool:
    """Return whether a value is a number, exact or not; a truth value is no number."""
    return _kind(value) in ("i", "u", "f") or (isinstance(value, Real | Decimal) and not isinstance(value, bool))


def unfit(name: str, value: Any, needed: str) -> WrongType:
    """Return the error for a value of a wrong type."""
    return WrongType(f"{name} is {str(value)[:40]!r}, {type_of(value)}; {needed} is needed")


def type_of(value: Any) -> str:
    """Return the name of a value's type with its article: ``a str``, ``an int``."""
    name = type(value).__name__
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def _kind(value: Any) -> str:
    """Return NumPy's kind of a single value (``b``, ``i``, ``u``, ``f``); an empty text for other objects."""
    for kind, python in (("b", bool), ("i", int), ("f", float)):
        if isinstance(value, python):
            return kind
    return str(getattr(getattr(value, "dtype", None), "kind", "")) if getattr(value, "shape", None) == () else ""
