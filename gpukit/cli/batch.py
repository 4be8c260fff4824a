"""``gpukit batch``: run several commands in one process, because starting a process takes longer than many commands."""

import io
import shlex
import sys
from contextlib import redirect_stdout
from typing import Annotated

from gpukit import pending
from gpukit.cli.command import with_run
from gpukit.cli.common import Run
from gpukit.cli.options import argument
from gpukit.errors import UsageError
from gpukit.files import read_lines, write_text


@with_run()
def batch(
    run: Run,
    commands: Annotated[str, argument("FILE|-", "The commands, one per line, without `gpukit`; - is standard input.")],
    more: Annotated[list[str] | None, argument("[-- OPTION...]", "Further options for every command.")] = None,
) -> None:
    """Run commands in one process, one after another until one fails.

    `> FILE` at the end of a line redirects its output.

    Empty lines, and lines that begin with #, are ignored. The exit code is that of the failed command.
    """
    lines = sys.stdin.read().splitlines() if commands == "-" else read_lines(commands)
    file = "" if commands == "-" else f"{commands}, "
    asked = [
        (place := f"{file}line {number}", *_split(place, line))
        for number, line in enumerate(lines, start=1)
        if line.strip()[:1] not in ("", "#")
    ]
    for place, words, target in asked:
        try:
            run_command([*words, *(more or [])], target)
        except Exception as error:
            error.add_note(place)
            raise
    run.finish({"commands": len(asked)})


def _split(place: str, line: str) -> tuple[list[str], str | None]:
    """Return the words of a line, and the file for its output."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{place}: {line[:80]!r}: {str(error).lower()}") from None
    if words[:1] == ["batch"]:
        raise UsageError(f"{place}: a batch cannot be in a batch; write its lines here")
    if ">" not in words:
        return words, None
    if words.index(">") != len(words) - 2:
        raise UsageError(f"{place}: {line[:80]!r}: one file, and nothing else, can follow >")
    return words[:-2], words[-1]


def run_command(words: list[str], target: str | None) -> None:
    """Run a command, with its output in a file if one is given. If it raises an exception, nothing is written."""
    import typer

    from gpukit.cli.app import app

    printed = io.StringIO()
    with redirect_stdout(printed if target else sys.stdout), pending.beside():
        try:
            with typer.main.get_command(app).make_context("gpukit", [*words], obj=tuple(words)) as context:
                context.command.invoke(context)
        except typer.Exit as end:  # from --help and --version
            if end.exit_code:
                raise
    if target:
        write_text(target, printed.getvalue())
