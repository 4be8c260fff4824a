"""Messages in words: numbers in sentences, and options as the command line or Python calls them."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

commands = False
"""Whether a command is running: messages name options (``--max-members``) then, else arguments (``max_members``)."""

_COLUMNS = r"--columns(?: (?P<columns>[^\s;:(),]+(?:,[^\s;:(),]+)+))?"
_CHOICE = r"cpu|cuda|auto|file|none|wc|const|ic|lt|max|in-sum|text|integer|walks|printed|coupled|regenerate|scan"
_OPTION = re.compile(
    r"`[^`]*`|(?:^|(?<=[\s(]))(?:'[^']*'|\"[^\"]*\"|"  # commands, and what users call things, stay as they are
    rf"{_COLUMNS}|--?(?P<name>[a-z][a-z-]*)(?: (?P<value>\d+|{_CHOICE})(?![\w|:.]))?)"
)
_FLAGS = ("fold_case", "force", "strip", "transpose", "undirected", "updatable", "weighted")
"""Options without a value."""
_OTHERS = {"out": "path"}
"""Options whose argument has another name."""
_ENDS = ("source", "target", "weight")


@contextmanager
def of_commands() -> Iterator[None]:
    """Let messages name options, while a command runs; a decorator, too."""
    global commands
    before, commands = commands, True
    try:
        yield
    finally:
        commands = before


def worded(text: str) -> str:
    """Return a message that names options of the command line as who reads it calls them.

    In Python ``--max-members`` is ``max_members``, ``--device cpu`` is ``device='cpu'``, ``--force`` is ``force=True``
    and ``--columns a,b`` is ``source=a, target=b``. Errors and log lines are made of it, so that code words them once.
    """
    return text if commands else _OPTION.sub(_argument, text)


def _argument(found: re.Match[str]) -> str:
    """Return the argument that an option is in Python."""
    name, value = found["name"], found["value"]
    if name is None:
        if not found[0].startswith("--columns"):
            return found[0]
        said = (found["columns"] or "").split(",")
        if said == [""] or len(said) > len(_ENDS):
            return "source, target and weight"
        return ", ".join(
            one if part.lower() == one else f"{one}={part}" for one, part in zip(_ENDS, said, strict=False)
        )
    name = _OTHERS.get(name, name.replace("-", "_"))
    if name in _FLAGS:
        return f"{name}=True" + (f" {value}" if value else "")
    if value is None:
        return name
    return f"{name}={value}" if value.isdigit() else f"{name}='{value}'"


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
