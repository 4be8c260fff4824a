"""Words of messages: numbers with their nouns, and options by the names that the reader knows."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

Face = Literal["python", "command", "workflow"]
"""Who reads messages: a program that calls gpukit, the command line, or the configuration of the workflow."""

_face: Face = "python"

_OFF = {"undirected": "directed", "adaptive": "uniform", "fresh": "fixed"}
"""Options of commands that switch another one off, where that is not ``--no-…``."""
_ENDS = ("source", "target", "weight")


@contextmanager
def facing(face: Face) -> Iterator[None]:
    """Let messages name options as a face does while the ``with`` body runs; a decorator, too."""
    global _face
    before, _face = _face, face
    try:
        yield
    finally:
        _face = before


reported_devices: set[str] = set()
"""The lines that named a device: each is printed once in a process, and once for each command."""


def spelled(name: str, value: object = None) -> str:
    """Return an option, with a value if one is given, as the reader of a message writes it.

    ``max_members`` is ``--max-members`` on the command line; ``("device", "cpu")`` is ``device='cpu'`` in Python,
    ``--device cpu`` on the command line, and ``device: cpu`` in a configuration.
    """
    if _face == "command":
        if value is False:
            return f"--{_OFF.get(name, f'no-{name}')}"
        words = f"{'-' if len(name) == 1 else '--'}{name.replace('_', '-')}"
        return words if value is None or value is True else f"{words} {value}"
    if _face == "workflow":
        return name if value is None else f"{name}: {str(value).lower() if isinstance(value, bool) else value}"
    if name == "columns":
        return _columns(value)
    return {"out": "path"}.get(name, name) if value is None else f"{name}={value!r}"


def _columns(value: object) -> str:
    """Return the arguments of Python that ``--columns`` stands for."""
    said = str(value or "").split(",")
    if said == [""] or len(said) > len(_ENDS):
        return "source, target and weight"
    return ", ".join(one if part.lower() == one else f"{one}={part}" for one, part in zip(_ENDS, said, strict=False))


def tied(scores: Sequence[int], shown: int, n: int, noun: str) -> str:
    """Return how many of the vertices with the last score shown are shown: ``9 of 42 with 3 circles``; "" if all are.

    Parameters
    ----------
    scores : sequence of int
        Of the vertices of an answer, falling.
    shown : int
        How many of these are shown.
    n : int
        Vertices that the answer was chosen from: more of them than are in it may have its last score.
    noun : str
        What a score counts.
    """
    if not scores[:shown]:
        return ""
    last = scores[:shown][-1]
    here, there = scores[:shown].count(last), scores.count(last)
    open_end = last == scores[-1] and len(scores) < n
    if here == there and not open_end:
        return ""
    return f"{here:,} of {there:,}{' or more' * open_end} with {counted(last, noun)}, the lowest ids first"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is not one: ``1 vertex``, ``1,500 vertices``."""
    if number == 1:
        return f"1 {noun}"
    for end, instead in (("ex", "ices"), ("y", "ies"), ("s", "ses")):
        if noun.endswith(end):
            return f"{number:,} {noun.removesuffix(end)}{instead}"
    return f"{number:,} {noun}s"


def places_of(error: float) -> int:
    """Return how many places behind the point are known of a number with an error: those of the error's first digit.

    Of an error that begins with 1 two digits count: 962.3871 is 962 with an error of 4, and 962.4 with one of 1.2.
    """
    if not 0 < error < math.inf:
        return 0 if error else 2
    digits = -math.floor(math.log10(error))
    return max(0, digits + (round(error * 10**digits, 1) < 2))


def with_error(value: float, error: float) -> str:
    """Return a number with its error, as far as it is known: ``962 ± 4``."""
    places = places_of(error)
    return f"{value:,.{places}f} ± {error:,.{places}f}"
