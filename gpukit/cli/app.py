"""The root command: it imports subcommands on use, and is the only place that turns errors into exit codes."""

import atexit
import gc
import importlib
import io
import os
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from gpukit import __version__, pending, portable
from gpukit.cli import interrupts
from gpukit.cli.help import SETTINGS, Command, Group, dress
from gpukit.cli.interrupts import INTERRUPTED
from gpukit.cli.outputs import guarded
from gpukit.errors import GpukitError, UsageError, is_interrupt, lacks_gpu_memory
from gpukit.wording import facing, reported_devices

# name, module:attribute (a typer app, or a function that is one command), help
COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("ask", "gpukit.cli.ask:ask", "The four questions about a table or a graph: one page, with tables and pictures."),
    ("doctor", "gpukit.cli.doctor:doctor", "List devices and versions, and test each backend."),
    ("data", "gpukit.cli.files.data:app", "List and fetch data sets."),
    ("graph", "gpukit.cli.graph.commands:app", "Import, generate and describe graphs."),
    ("gim", "gpukit.cli.gim.commands:app", "Influence maximisation by reverse-reachable sets."),
    ("imgpu", "gpukit.cli.imgpu:app", "Greedy influence maximisation over Monte-Carlo worlds."),
    ("kpar", "gpukit.cli.kpar.commands:app", "Top-k personalised PageRank."),
    ("merit", "gpukit.cli.merit.commands:app", "Minimum-cost seeding in rounds, with what was observed in between."),
    (
        "diversity",
        "gpukit.cli.diversity.commands:app",
        "Structural diversity: vertices whose neighbours fall into many circles.",
    ),
    ("evaluate", "gpukit.cli.evaluate:app", "Check results by independent methods."),
    ("report", "gpukit.cli.workflow.report:app", "Tables, figures and a page from run records and artifacts."),
    ("inspect", "gpukit.cli.files.artifacts:inspect", "Show what an artifact holds."),
    ("verify", "gpukit.cli.files.artifacts:verify", "Check artifacts: structure, checksums, meaning."),
    ("diff", "gpukit.cli.files.artifacts:diff", "Compare two artifacts by content."),
    ("export", "gpukit.cli.files.export:export", "Write an artifact as a table: CSV, TSV, JSON, Parquet."),
    ("demo", "gpukit.cli.workflow.demo:demo", "Run every system on real graphs, or on yours, and write a report."),
    ("workflow", "gpukit.cli.workflow.commands:app", "The Snakemake workflow, in a folder of your own."),
    ("papers", "gpukit.papers.cli.app:app", "Rebuild the papers: ablations, competitors, timed runs, claims."),
    ("cite", "gpukit.cli.cite:cite", "How to cite gpukit and the paper of a system, as BibTeX."),
    ("batch", "gpukit.cli.batch:batch", "Run several commands in one process."),
    ("warm-up", "gpukit.cli.warm_up:warm_up", "Compile the CPU code of all commands in advance, as for an image."),
)

SECTIONS = {
    "All four questions at once": ["ask"],
    "Whom to tell first, so that most people hear it": ["gim", "imgpu"],
    "Who is close to somebody": ["kpar"],
    "Reach enough people at least cost": ["merit"],
    "Who joins separate circles": ["diversity"],
    "Data and files": ["data", "graph", "inspect", "verify", "diff", "export"],
    "Workflow and reports": ["demo", "workflow", "batch", "evaluate", "report"],
    "Papers": ["papers", "cite"],
    "This machine": ["doctor", "warm-up"],
}
"""The sections of the help, and their commands."""

MEANT = {
    "help": "--help",
    "import": "graph import",
    "seeds": "gim run",
    "spread": "evaluate spread",
    "pagerank": "kpar query",
    "query": "kpar query",
    "campaign": "merit run",
    "circles": "diversity search",
    "plot": "report plot",
    "run": "ask",
}
"""Words that people may try as commands, and the commands that do this."""

ALIASES = {"bench": ["papers", "bench"]}
"""Former names of commands; kept until version 0.2."""

INTERNAL = 70

_COMPLETE = "_GPUKIT_COMPLETE"
"""The variable by which a shell requests completions of a line."""

_NO_MEMORY = ("failed to map segment", "annot allocate memory", "can't start new thread")
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class LazyGroup(Group):
    """A group that imports the module of a subcommand only to run it; the help needs only the table."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the table."""
        return [name for name, _, _ in COMMANDS]

    def sections(self, ctx: Any) -> dict[str, list[str]]:
        """Return the titles of the sections and their commands."""
        return SECTIONS

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a placeholder with name and help."""
        for name, _, text in COMMANDS:
            if name == cmd_name:
                return Command(name, help=text)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names, with its module imported."""
        if args[0] in MEANT:
            meant = f"gpukit {' '.join(args[1:])} --help" if args[0] == "help" else f"gpukit {MEANT[args[0]]}"
            raise UsageError(f"there is no command {args[0]!r}; did you mean `{' '.join(meant.split())}`?")
        args = [*ALIASES.get(args[0], args[:1]), *args[1:]]
        self.commands = {name: self.get_command(ctx, name) for name, _, _ in COMMANDS}  # for "Did you mean"
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and _load(name), rest


def _load(name: str | None) -> Any:
    target, text = next((target, text) for known, target, text in COMMANDS if known == name)
    module, _, attribute = target.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        single = typer.Typer(add_completion=False)
        single.command(name)(found)
        found = single
    dress(found)
    command = typer.main.get_command(found)
    command.name, command.help = name, command.help or text
    _guard(command)
    return command


def _guard(command: Any) -> None:
    """Make a command, or all commands of a group, check the outputs first."""
    for one in getattr(command, "commands", {}).values():
        _guard(one)
    if command.callback is not None:
        command.callback = guarded(command.callback)


app = typer.Typer(cls=LazyGroup, context_settings=SETTINGS)


def _version(value: bool) -> None:
    if value:
        print(f"gpukit {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print the traceback of a defect of gpukit; any command has it.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check input artifacts in full, also large ones; any command.")
    ] = False,
) -> None:
    """Graph algorithms on GPUs and CPUs: influence maximisation, personalised PageRank, structural diversity.

    Example: gpukit ask mails.csv --source ann --out answers

    To read: gpukit workflow init DIR writes the pages on commands, files and Python into DIR/docs.
    """
    pending.again = verify


def normalise_threads() -> None:
    """Remove thread counts that are not positive: Snakemake exports 0 for ``threads: 0``, which OpenMP refuses.

    OpenBLAS gets one thread: it takes 30 MB for each core when NumPy is imported, and nothing here uses it.
    """
    for name in _THREAD_VARIABLES:
        value = os.environ.get(name)
        if value is not None and (not value.isdigit() or int(value) == 0):
            del os.environ[name]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@facing("command")
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments without the program's name; ``sys.argv`` by default.

    Returns
    -------
    int
        The exit code: 0 done, 1 a comparison failed, 2 wrong usage, 3 bad input, 4 no device or not enough memory on
        it, 5 interrupted, 70 a defect of gpukit.
    """
    normalise_threads()
    words = list(sys.argv[1:] if arguments is None else arguments)
    reported_devices.clear()
    signals = interrupts.Interrupts()
    try:
        if arguments is None:
            warnings.showwarning = _warn
            _prepare_streams()
            signals.watch()
            _check_limits()
        command = typer.main.get_command(app)
        code = 0
        if _COMPLETE in os.environ:
            return _complete(command)
        try:
            with pending.beside(), command.make_context("gpukit", [*words], obj=tuple(words)) as context:
                command.invoke(context)
        except typer.Exit as end:
            code = end.exit_code
        except SystemExit as end:  # Typer ends the installation of completion this way
            if end.code:
                raise
        sys.stdout.flush()  # otherwise Python does it later, and reports a closed pipe in its own way
        if signals.came:
            raise KeyboardInterrupt
        return code
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        # Code that is interrupted may report the interrupt as another failure, as HDF5 does.
        code, line = (INTERRUPTED, interrupts.LINE) if signals.came else explain(error)
        signals.said.set()
        if line:
            place = "".join(f"{note}: " for note in getattr(error, "__notes__", []))  # the line of a batch
            print(f"gpukit: {line.replace('error: ', f'error: {place}', 1)}", file=sys.stderr)
        if code == INTERNAL and any(word == "--verbose" or word.startswith("-v") for word in words):
            import traceback

            traceback.print_exception(error)
        _drop_unwritable_output()
        if code == INTERRUPTED and arguments is None:
            signals.ignore()
        return code


def _complete(command: Any) -> int:
    """Print the completions of the line that the shell passes in its variables."""
    from typer.completion import completion_init, shell_complete

    completion_init()
    return shell_complete(command, {}, "gpukit", _COMPLETE, os.environ[_COMPLETE])


def _prepare_streams() -> None:
    """Make standard output and standard error accept every character, and replace closed streams.

    Raises
    ------
    UsageError
        If standard output is closed. A closed standard error is no error: nobody wants to read it.
    """
    closed = sys.stdout is None
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # otherwise the next opened file would get the number of a closed stream, and receive its output
    os.close(spare)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if closed:
        raise UsageError("standard output is closed; give it a place, if only /dev/null")


def _warn(message: Warning | str, *place: object, **more: object) -> None:
    """Print the warning of a library in one line, without the source line."""
    print(f"gpukit: warning: {' '.join(str(message).split())}", file=sys.stderr)


def _check_limits() -> None:
    """Refuse to run if ``ulimit`` leaves too little memory for NumPy, which would end the process in its own way."""
    resource = portable.resource
    limits = () if resource is None else (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    if any(resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in limits):
        from gpukit.device.memory import check_start

        check_start()


def _drop_unwritable_output() -> None:
    """Discard output that cannot be written (a closed pipe, a full disk).

    Otherwise the exit would fail on it once more.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def lacks_memory(error: BaseException) -> bool:
    """Return whether an exception reports too little memory, on this machine or on a GPU."""
    text = " ".join(str(error).split())
    return isinstance(error, MemoryError) or lacks_gpu_memory(error) or any(sign in text for sign in _NO_MEMORY)


def explain(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the message for an exception."""
    text = " ".join(str(error).split())
    if isinstance(error, GpukitError):
        return error.exit_code, f"error: {text}"
    if isinstance(error, typer.Abort) or is_interrupt(error):
        return INTERRUPTED, interrupts.LINE
    # rich, which prints some tables, ends the program when nobody reads its output any more.
    if isinstance(error.__context__ if isinstance(error, SystemExit) else error, BrokenPipeError):
        return INTERRUPTED, ""
    if lacks_memory(error):
        return 4, f"error: out of memory ({text or 'on this machine'}); use a smaller problem or a larger machine"
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "gpukit"
        message = " ".join(error.format_message().split()).rstrip(".").replace("Value error, ", "")
        said = getattr(getattr(error, "param", None), "help", None)
        if message.startswith("Missing option") and said:
            message += f": {said[0].lower()}{said[1:].rstrip('.')}"
        return 2, f"error: {message}; see `{path} --help`"
    if "no locator available" in text:  # from Numba's cache
        return 3, (
            "error: there is no place for compiled code: neither the installation nor ~/.cache/numba can be written; "
            "set NUMBA_CACHE_DIR to a folder that can"
        )
    module = type(error).__module__
    if module.startswith(("cupy", "cupy_backends", "cuda.")):
        return 4, f"error: the GPU failed: {type(error).__name__}: {text}; see `gpukit doctor`"
    if isinstance(error, OSError):
        from gpukit.files import reason

        name = f"{error.filename}: " if error.filename else ""
        return 3, f"error: {name}{reason(error)}"
    return (
        INTERNAL,
        f"internal error: {type(error).__name__}: {text}; this is a defect, run `gpukit -v …` again and report the "
        "traceback",
    )


def program() -> None:
    """Run the command line and end the process.

    After a successful command Python's regular exit would only take apart its modules, which takes a tenth of a second
    if Numba is loaded. So the process ends directly, after the functions registered for the exit have run. It ends
    regularly if there is a profiler, which writes later, or if other threads are running.

    Garbage is collected less often than usual, because modules and compilers create millions of permanent objects.
    """
    gc.set_threshold(100_000, 20, 20)
    code = main()
    others = [thread for thread in threading.enumerate() if not thread.daemon]
    if code or len(others) > 1 or sys.getprofile() is not None:
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    program()
