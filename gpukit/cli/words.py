"""Words of the command line as values, where these are plain; all others are for Typer.

Typer converts words by pydantic, whose import takes a tenth of the time of a short command. Here a word is converted
only if there are no two ways to read it, so errors and what is unusual stay Typer's.
"""

import os
import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

_USUAL = {
    "parser": None,
    "min": None,
    "max": None,
    "exists": False,
    "file_okay": True,
    "dir_okay": True,
    "readable": True,
    "writable": False,
    "resolve_path": False,
    "allow_dash": False,
    "path_type": None,
    "case_sensitive": True,
}
"""What Typer knows of a parameter that asks nothing further of its values."""

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,11})\.[0-9]{1,12}")

UNCLEAR = object()
"""Stands for a word that is left to Typer."""


def value_of(word: Any, kind: Any) -> Any:
    """Return what a word, or a default, is as a value of a kind; :data:`UNCLEAR` if that is for Typer to say."""
    text = word if isinstance(word, str) else ""
    if get_origin(kind) is list:
        (inner,) = get_args(kind)
        values = [value_of(one, inner) for one in word] if isinstance(word, list | tuple) else [UNCLEAR]
        return UNCLEAR if UNCLEAR in values else values
    if get_origin(kind) is Literal:
        return word if text in get_args(kind) else UNCLEAR
    if kind is Path and (isinstance(word, Path) or text):
        # Of a path that is there Typer asks whether it can be read, and says so if not.
        return Path(word) if "\0" not in text and (os.access(word, os.R_OK) or not os.path.lexists(word)) else UNCLEAR
    if kind in (str, int, float) and type(word) is kind:
        return word
    if (kind is int and _WHOLE.fullmatch(text)) or (kind is float and (_DECIMAL.fullmatch(text))):
        return kind(text)
    return UNCLEAR


class PlainWords:
    """Takes the place of what converts the words of a parameter, until it meets one that is not plain."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of a parameter, as Typer would."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        described = param.type_descriptor
        found = value_of(value, described.annotation)
        if found is not UNCLEAR and _is_usual(described.parameter_info):
            return found
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _is_usual(known: Any) -> bool:
    return all(getattr(known, name) == value for name, value in _USUAL.items())


def take_plain_words(params: list[Any]) -> list[Any]:
    """Return parameters of Typer that convert plain words without pydantic, where they have the place for it."""
    for one in params:
        if getattr(one, "_runtime_param", one) is None and hasattr(one, "get_runtime_param"):
            one._runtime_param = PlainWords()
    return params
