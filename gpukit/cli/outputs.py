"""Checks of output files before a command does any work, in one module for all commands."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any

from gpukit.errors import UsageError
from gpukit.files import PathLike, check_target, local
from gpukit.remote import sent

# Parameters that are not input files: `merit next` updates its state; the others are names, even if files have them.
_NO_INPUTS = ("state", "name", "graph")

_KINDS = {"out_figure": "svg", "out_graph": "graph", "out_record": "json"}
"""Outputs whose kind differs from the kind that a command declares."""

_PICTURES = (b"%PDF-", b"\x89PNG\r\n")

SIGNS: dict[str, tuple[str, Callable[[bytes], bool]]] = {
    "data": ("a data set packed by gzip or xz", lambda first: first.startswith((b"\x1f\x8b", b"\xfd7zXZ"))),
    "md": ("Markdown with a title", lambda first: first.startswith(b"# ")),
    "html": ("an HTML page", lambda first: first[:15].lower() == b"<!doctype html>"),
    "json": ("the record of a run", lambda first: first.startswith(b'{"params": ')),
    "record": ("the record of a benchmark", lambda first: first.startswith(b'{\n "benchmark": "')),
    "svg": ("a figure", lambda first: first.startswith(_PICTURES) or b"<!DOCTYPE svg" in first),
    "tsv": ("a table with tabs", lambda first: b"\t" in first.partition(b"\n")[0] and b"\0" not in first),
}
"""Kinds of files that are no artifacts: the name of each, and a test of its first bytes."""


def guarded(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command's function, preceded by a check of its outputs.

    Outputs are the parameters ``out`` and ``out_…``: one file, or a list of ``NAME=FILE``. All other parameters that
    name files are inputs. Raises like :func:`check_out`, and UsageError if two outputs are the same file, or an
    existing output is of another kind than the command writes. If a command can write to standard output, its output is
    a text, and ``-`` is no file.
    """
    writes = getattr(callback, "writes", None)

    @wraps(callback)
    def checked(**values: Any) -> Any:
        with ExitStack() as stack:
            for name, value in values.items():
                if is_output(name) and isinstance(value, str | Path):
                    present = writes is not None and not values["force"]
                    values[name] = type(value)(stack.enter_context(sent(value, present)))
                elif not is_output(name) and name not in _NO_INPUTS:
                    values[name] = _here(value)
            return here(**values)

    def here(**values: Any) -> Any:
        outputs = [(name, path) for name, value in values.items() if is_output(name) for path in _files(value)]
        inputs = {name: value for name, value in values.items() if not is_output(name) and name not in _NO_INPUTS}
        for _, path in outputs:
            check_out(path, _words(inputs))
        real = [os.path.realpath(path) for _, path in outputs]
        if twice := [path for place, (_, path) in zip(real, outputs, strict=True) if real.count(place) > 1]:
            raise UsageError(f"two outputs have the one name {twice[0]}; give each its own")
        if writes is not None and not values["force"]:
            for name, path in outputs:
                check_kind(path, _KINDS.get(name.removesuffix("s"), writes))
        return callback(**values)

    return checked


def _here(value: Any) -> Any:
    """Return the value of an input; files at web addresses are replaced by local copies."""
    if isinstance(value, list):
        return [_here(one) for one in value]
    return local(value) if isinstance(value, Path) else value


def is_output(name: str) -> bool:
    """Return whether the parameter of a command names a file that it writes."""
    return name == "out" or name.startswith("out_")


def _files(value: Any) -> Iterator[PathLike]:
    """Yield the files named by the value of an output."""
    several = isinstance(value, list | tuple)
    for one in value if several else [value]:
        if one not in (None, "-"):
            yield one.partition("=")[2] if several and isinstance(one, str) else one


def check_out(path: PathLike, inputs: Iterable[str] = ()) -> None:
    """Check that an output can be written, and is not also an input.

    Parameters
    ----------
    path : path
        The output.
    inputs : iterable of str
        Words that may be paths of inputs.

    Raises
    ------
    InputError
        Like :func:`gpukit.files.check_target`.
    UsageError
        If it is also an input, under this or another name.
    """
    if os.path.exists(path) and any(os.path.exists(one) and os.path.samefile(one, path) for one in inputs):
        raise UsageError(f"--out {path} is an input, too, and would be lost; name another file")
    check_target(path)


def check_kind(path: PathLike, writes: str) -> None:
    """Check that an output does not replace a file of another kind."""
    from gpukit.artifacts.kept import check_replaced, first_bytes, would_lose

    if writes not in SIGNS:
        check_replaced(path, writes, "this command")
        return
    title, is_one = SIGNS[writes]
    first = first_bytes(path)
    if first and not is_one(first):
        raise would_lose(path, f"is not {title}, which this command writes")


def _words(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of a command, and the file in ``LABEL=FILE``."""
    for value in values.values():
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, str | os.PathLike):
                yield os.fspath(one)
                yield os.fspath(one).partition("=")[2]
