"""The decorator of commands: it declares what they have in common, and hands over a :class:`Run`.

A command is a function of a run, of its own options, and of groups of options: dataclasses whose fields are options.
What Typer sees is a function of all of these options, one after another, and the common ones behind them:

    @app.command("rank")
    @with_run("out", *DEVICE, "seed")
    def rank(run: Run, graph_file: GraphArgument, walk: Walk) -> None: ...

So an option is declared in one place, and read where it is used.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_args

import typer
from typer.models import ArgumentInfo

from gpukit.api.needs import Estimate
from gpukit.cli import options
from gpukit.cli.common import Run
from gpukit.cli.estimate import show_needs

EMPTY = inspect.Parameter.empty

COMMON: dict[str, tuple[Any, Any]] = {
    "device": (options.DeviceOption, "auto"),
    "gpus": (options.GpusOption, 1),
    "threads": (options.ThreadsOption, None),
    "gpu_memory": (options.GpuMemoryOption, None),
    "seed": (options.SeedOption, 0),
    "as_json": (options.JsonOption, False),
    "verbose": (options.VerboseOption, 0),
}
"""Type and default of the options that end every list of options, in the order in which the help shows them."""

ALWAYS = ("as_json", "verbose")
DEVICE = ("device", "gpus", "threads", "gpu_memory")
"""Options of a command that runs on either device."""


def group(text: str) -> typer.Typer:
    """Return a group of commands, with what the help says of it."""
    return typer.Typer(help=text, no_args_is_help=True, add_completion=False)


def with_run(
    *names: str, writes: str | None = None, estimate: Estimate | None = None, **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a command out of ``function(run, …)``.

    Parameters
    ----------
    names : str
        The common options that the command has, of :data:`COMMON`, and ``out``, which then is required; ``--json`` and
        ``-v`` every command has. A command whose output may be left out has a parameter ``out`` of its own, which the
        run gets to know, too.
    writes : str, optional
        The kind of file that the command writes: a kind of artifact, or one of :data:`gpukit.cli.outputs.SIGNS`. A file
        of another kind is replaced with ``--force`` only, which the command then has, too.
    estimate : callable, optional
        What the command takes, for ``--estimate``, which it then has; its graph is ``graph_file``.
    defaults
        Further ones, with defaults of the command.
    """
    wanted = [name for name in COMMON if name in (*names, *defaults, *ALWAYS)]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        _, *own = inspect.signature(function).parameters.values()  # the first is the run
        groups: dict[str, Any] = {one.name: one.annotation for one in own if is_dataclass(one.annotation)}
        parameters = [option for one in own for option in _options_of(one)]
        if "out" in names:
            arguments = sum(map(_is_argument, parameters))
            parameters.insert(arguments, _option("out", options.OutOption, EMPTY))
        for name in wanted:
            kind, usual = COMMON[name]
            parameters.append(_option(name, kind, defaults.get(name, usual)))
        if writes is not None:
            parameters.append(_option("force", options.ForceOption, False))
        if estimate is not None:
            parameters.append(_option("estimate", options.EstimateOption, False))

        @wraps(function)
        def command(**values: Any) -> None:
            run = Run(**{name: values[name] for name in ("out", *wanted) if name in values})
            run.writes = writes
            if estimate is not None and values["estimate"]:
                show_needs(run, estimate, values)
                return
            given = {
                name: kind(**{one.name: values[one.name] for one in fields(kind)}) for name, kind in groups.items()
            }
            function(run, **{one.name: given.get(one.name, values.get(one.name)) for one in own})

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        command.writes = writes  # type: ignore[attr-defined]
        return command

    return decorate


def _options_of(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return the options that a parameter of a command stands for: itself, or the fields of a group."""
    if not is_dataclass(parameter.annotation):
        return [_option(parameter.name, parameter.annotation, parameter.default)]
    return [
        _option(one.name, one.type, EMPTY if one.default is MISSING else one.default)
        for one in fields(parameter.annotation)
    ]


def _option(name: str, kind: Any, usual: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=usual, annotation=kind)


def _is_argument(parameter: inspect.Parameter) -> bool:
    """Say whether a parameter is an argument, which stands before the options."""
    return any(isinstance(one, ArgumentInfo) for one in get_args(parameter.annotation)[1:])
