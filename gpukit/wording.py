"""Words of messages: numbers with nouns, and options under the names that the reader uses."""

import math
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

Face = Literal["python", "command", "workflow"]
"""The reader of messages: a program that calls gpukit, the command line, or the configuration of the workflow."""

_face: Face = "python"

_OFF = {"undirected": "directed", "adaptive": "uniform", "fresh": "fixed"}
"""Command options that switch another one off, if their name is not ``--no-…``."""
_ENDS = ("source", "target", "weight")


@contextmanager
def facing(face: Face) -> Iterator[None]:
    """Make messages name options in the form of a face during the ``with`` body; also works as a decorator."""
    global _face
    before, _face = _face, face
    try:
        yield
    finally:
        _face = before


reported_devices: set[str] = set()
"""The lines that named a device: each is printed once in a process, and once for each command."""


def spelled(name: str, value: object = None) -> str:
    """Return an option, with a value if given, in the form in which the reader of a message writes it.

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
    """Return the Python arguments that ``--columns`` stands for."""
    said = str(value or "").split(",")
    if said == [""] or len(said) > len(_ENDS):
        return "source, target and weight"
    return ", ".join(one if part.lower() == one else f"{one}={part}" for one, part in zip(_ENDS, said, strict=False))


def tied(scores: Sequence[int], shown: int, n: int, noun: str) -> str:
    """Return how many of the vertices tied with the last one are shown: ``9 of 42 with 3 circles``; "" if all are.

    Parameters
    ----------
    scores : sequence of int
        Scores of the vertices of an answer, falling.
    shown : int
        Number of vertices that are shown.
    n : int
        Vertices that the answer was chosen from; vertices outside the answer may be tied with its last one.
    noun : str
        The noun that a score counts.
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
    """Return a number with its noun, in the plural unless it is one: ``1 vertex``, ``1,500 vertices``."""
    if number == 1:
        return f"1 {noun}"
    for end, instead in (("ex", "ices"), ("y", "ies"), ("s", "ses")):
        if noun.endswith(end):
            return f"{number:,} {noun.removesuffix(end)}{instead}"
    return f"{number:,} {noun}s"


def reaches_as_many(spread: float, stderr: float, other: float, other_stderr: float) -> bool:
    """Return whether two spreads differ by at most two standard errors of their difference."""
    return abs(spread - other) <= 2 * math.hypot(stderr, other_stderr)


def mean_of(values: Sequence[float]) -> str:
    """Return the mean of independent values, with two standard errors if there are several: ``12.3 ± 1.4``."""
    mean = statistics.fmean(values)
    several = len(values) > 1
    return with_error(mean, 2 * statistics.stdev(values) / math.sqrt(len(values))) if several else f"{mean:,.2f}"


def places_of(error: float) -> int:
    """Return the number of decimals that are known for a number with an error: up to the error's first digit.

    If the error begins with 1, two of its digits count: with an error of 4 a number is 962, with 1.2 it is 962.4.
    """
    if not 0 < error < math.inf:
        return 0 if error else 2
    digits = -math.floor(math.log10(error))
    return max(0, digits + (round(error * 10**digits, 1) < 2))


def with_error(value: float, error: float) -> str:
    """Return a number with its error, with as many decimals as are known: ``962 ± 4``."""
    places = places_of(error)
    return f"{value:,.{places}f} ± {error:,.{places}f}"
