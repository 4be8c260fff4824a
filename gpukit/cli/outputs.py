"""What a command is about to write: checked before it does any work, for every command in one place."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any

from gpukit.errors import UsageError
from gpukit.files import PathLike, check_target

# `merit next` brings its state up to date; the others are names, even where a file happens to have the same.
_NO_INPUTS = ("state", "name", "graph")


def guarded(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command's function with a check of its outputs before it.

    Outputs are the parameters ``out`` and ``out_…``; what else names a file is an input. Raises like
    :func:`check_out`, and UsageError where two outputs are one file. A command that can write to standard output takes
    its output as a text, and ``-`` is no file then.
    """

    @wraps(callback)
    def checked(**values: Any) -> Any:
        outputs = [value for name, value in values.items() if value not in (None, "-") and is_output(name)]
        inputs = {name: value for name, value in values.items() if not is_output(name) and name not in _NO_INPUTS}
        for path in outputs:
            check_out(path, _words(inputs))
        if len({os.path.realpath(path) for path in outputs}) < len(outputs):
            raise UsageError(f"two outputs have the one name {outputs[0]}; give each its own")
        return callback(**values)

    return checked


def is_output(name: str) -> bool:
    """Say whether the parameter of a command names a file that it writes."""
    return name == "out" or name.startswith("out_")


def check_out(path: PathLike, inputs: Iterable[str] = ()) -> None:
    """Check that an output can be written, and is none of the inputs.

    Parameters
    ----------
    path : path
        The output.
    inputs : iterable of str
        What may be the path of an input.

    Raises
    ------
    InputError
        Like :func:`gpukit.files.check_target`.
    UsageError
        If it is an input, by this or another name.
    """
    if os.path.exists(path) and any(os.path.exists(one) and os.path.samefile(one, path) for one in inputs):
        raise UsageError(f"--out {path} is an input, too, and would be lost; name another file")
    check_target(path)


def _words(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of a command, and what stands behind the label in ``LABEL=FILE``."""
    for value in values.values():
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, str | os.PathLike):
                yield os.fspath(one)
                yield os.fspath(one).partition("=")[2]
