"""The decorator of commands: it declares the options that commands share, and passes a :class:`Run` to the command.

A command is a function of a run, of its own options, and of groups of options. A group is a dataclass whose fields are
options, or the parameters of a system, as :mod:`gpukit.parameters` declares them. Typer sees a function of all these
options, one after another, followed by the common options:

    @app.command("rank")
    @with_run("out", *DEVICE, "seed")
    def rank(run: Run, graph_file: GraphArgument, walk: Walk) -> None: ...

So an option is declared once, in the module that reads it.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import typer
from typer.models import ArgumentInfo

from gpukit.api.needs import Estimate
from gpukit.cli import options
from gpukit.cli.common import Run
from gpukit.cli.estimate import show_needs
from gpukit.parameters.option import ABLATIONS, Parameter, Parameters, declared, declares, parameter

EMPTY = inspect.Parameter.empty

COMMON: dict[str, tuple[Any, Any]] = {
    "device": (options.DeviceOption, "auto"),
    "gpus": (options.GpusOption, 1),
    "threads": (options.ThreadsOption, None),
    "gpu_memory": (options.GpuMemoryOption, None),
    "seed": (options.SeedOption, 0),
    "explain": (options.ExplainOption, False),
    "as_json": (options.JsonOption, False),
    "verbose": (options.VerboseOption, 0),
}
"""Type and default of the common options, in the order of the help; they end every list of options."""

ALWAYS = ("as_json", "verbose")
DEVICE = ("device", "gpus", "threads", "gpu_memory")
"""Options of a command that runs on either device."""


def group(text: str) -> typer.Typer:
    """Return a group of commands with its help."""
    return typer.Typer(help=text, no_args_is_help=True, add_completion=False)


def with_run(
    *names: str, writes: str | None = None, estimate: Estimate | None = None, **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a command from ``function(run, …)``.

    Parameters
    ----------
    names : str
        The common options of the command, from :data:`COMMON`, and ``out``, which is then required; every command has
        ``--json`` and ``-v``. A command with an optional output declares its own parameter ``out``, which is also
        passed to the run.
    writes : str, optional
        The kind of file that the command writes: a kind of artifact, or a key of :data:`gpukit.cli.outputs.SIGNS`. The
        command then also has ``--force``, and replaces a file of another kind only with this option.
    estimate : callable, optional
        Returns the needs of the command; the command then has ``--estimate``. Its graph is ``graph_file``.
    defaults
        Further common options, with the command's own defaults.
    """
    wanted = [name for name in COMMON if name in (*names, *defaults, *ALWAYS)]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        _, *own = inspect.signature(function).parameters.values()  # the first parameter is the run
        groups = {one.name: found for one in own if (found := Group.of(one.annotation)) is not None}
        given = [option for one in own for option in _options_of(one)]
        checks = {
            one.name: parameter(one.name, one.annotation, one.default) for one in given if declares(one.annotation)
        }
        parameters = [_typed(one, checks.get(one.name)) for one in given]
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
            values |= {name: one.checked(one.of_word(values[name])) for name, one in checks.items()}
            made = {name: group.made(values) for name, group in groups.items()}
            function(run, **{one.name: made.get(one.name, values.get(one.name)) for one in own})

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        command.writes = writes  # type: ignore[attr-defined]
        return command

    return decorate


class Group(NamedTuple):
    """A group of options: a dataclass, and the names of its fields that become options of the command.

    ``Params`` stands for all parameters except ablations, ``Annotated[Params, "alpha"]`` for the named ones, and
    ``Annotated[Params, ABLATIONS]`` for all.
    """

    kind: Any
    names: list[str]

    @classmethod
    def of(cls, annotation: Any) -> "Group | None":
        """Return the group that a parameter of a command denotes; None if it is an option."""
        kind, *only = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
        if not isinstance(kind, type) or not is_dataclass(kind):
            return None
        if not issubclass(kind, Parameters):
            return cls(kind, [one.name for one in fields(kind)])
        known = {
            name: one.option.panel for name, one in declared(kind).items() if one.option.command and name not in COMMON
        }
        if not only:
            return cls(kind, [name for name, panel in known.items() if panel != ABLATIONS])
        return cls(kind, [*known] if only == [ABLATIONS] else only)

    def options(self) -> list[inspect.Parameter]:
        """Return the options."""
        known = {one.name: one for one in fields(self.kind)}
        found = [known[name] for name in self.names]
        return [_option(one.name, one.type, EMPTY if one.default is MISSING else one.default) for one in found]

    def made(self, values: Mapping[str, Any]) -> Any:
        """Return the group with the checked values of its options."""
        given = {name: values[name] for name in self.names}
        if issubclass(self.kind, Parameters) and "seed" in declared(self.kind):
            given["seed"] = values["seed"]
        return self.kind(**given)


def _options_of(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return the options of a parameter of a command: itself, or those of its group."""
    group = Group.of(parameter.annotation)
    if group is None:
        return [_option(parameter.name, parameter.annotation, parameter.default)]
    return group.options()


def _option(name: str, kind: Any, usual: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=usual, annotation=kind)


def _typed(one: inspect.Parameter, known: Parameter | None) -> inspect.Parameter:
    """Return an option in the form of Typer."""
    return (
        one if known is None else one.replace(annotation=options.typer_type(known), default=options.default_of(known))
    )


def _is_argument(parameter: inspect.Parameter) -> bool:
    """Return whether a parameter is a positional argument."""
    return any(isinstance(one, ArgumentInfo) for one in get_args(parameter.annotation)[1:])
