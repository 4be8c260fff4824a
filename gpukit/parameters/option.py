"""How a parameter is declared, and how a value is checked.

A parameter is a field of a frozen dataclass on :class:`Parameters`. Its annotation carries an :class:`Option`:

    epsilon: Annotated[float, Option("Accuracy, {range}.", metavar="E", ge=1e-6, lt=1)] = 0.1

Choices are plain strings, also in artifacts: ``Literal["ic", "lt"]``.
"""

from dataclasses import MISSING, dataclass, fields
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from gpukit.errors import BadValue, InputError, UsageError
from gpukit.parameters.values import flag, number, text, whole
from gpukit.wording import spelled

_CHECKS = {int: whole, float: number, bool: flag, str: text}

ABLATIONS = "Ablations"
"""Section of the help for variants of a paper; only commands of papers show it."""

EXPERT = "Expert options"
"""Section of the help for options that few users need."""


@dataclass(frozen=True)
class Option:
    """The declaration of a parameter, besides its name, type and default.

    Attributes
    ----------
    help : str
        Its purpose; ``{range}`` is replaced by its range.
    metavar : str or None
        The placeholder of its value in the help.
    names : str
        The name of its option, if it differs from the parameter's name: ``--fresh/--fixed``.
    short : str
        A further name of one letter, with its dash; parameters with names of one letter get it automatically.
    ge, gt, le, lt : number or None
        Its range: at least, above, at most, below.
    vertices : bool
        Whether it is a number of vertices, from 1 to the number of vertices of the graph (:func:`check_fit`).
    because : str
        Why no other values are allowed.
    none : str
        The word for None on the command line, if there is one.
    panel : str or None
        The section of the help that shows it.
    workflow : bool
        Whether the configuration of the workflow also has it.
    decides : bool
        Whether the answer depends on it, so that artifacts record it.
    command : bool
        Whether commands have it as an option of this name.
    """

    help: str = ""
    metavar: str | None = None
    names: str = ""
    short: str = ""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    vertices: bool = False
    because: str = ""
    none: str = ""
    panel: str | None = None
    workflow: bool = False
    decides: bool = True
    command: bool = True

    def holds(self, value: float) -> bool:
        """Return whether a number is in the range."""
        return (
            (self.ge is None or value >= self.ge)
            and (self.gt is None or value > self.gt)
            and (self.le is None or value <= self.le)
            and (self.lt is None or value < self.lt)
        )


class Parameter(NamedTuple):
    """A parameter as it was declared; its default is MISSING if it must be given."""

    name: str
    kind: Any
    optional: bool
    default: Any
    option: Option

    @property
    def range(self) -> str:
        """The range in words: ``1 to 255``, ``at least 1``, ``in [1e-6, 1)``."""
        one = self.option
        if self.kind is float:
            low, high = (f"{bound:g}".replace("e-0", "e-") for bound in (one.gt or one.ge or 0, one.le or one.lt or 0))
            return f"in {'(' if one.ge is None else '['}{low}, {high}{')' if one.le is None else ']'}"
        highest = one.lt - 1 if one.lt else one.le
        return f"at least {one.ge}" if highest is None else f"{one.ge} to {_power(highest)}"

    @property
    def help(self) -> str:
        """Its text in the help."""
        return self.option.help.replace("{range}", self.range) if "{range}" in self.option.help else self.option.help

    def checked(self, value: Any) -> Any:
        """Return a value with the type of the parameter.

        Raises
        ------
        WrongType
            If the value has another type.
        UsageError
            If the value is not one of the choices, or out of range.
        """
        if value is None and self.optional:
            return None
        if get_origin(self.kind) is Literal:
            if not isinstance(value, str) or value not in get_args(self.kind):
                choices = " or ".join(get_args(self.kind))
                raise UsageError(f"{spelled(self.name)} {value!r} is unknown; choose {choices}")
            return str(value)
        value = _CHECKS[self.kind](self.name, value)
        if not self.option.holds(value):
            raise self.refused(value)
        return value

    def refused(self, value: Any) -> BadValue:
        """Return the error for a value out of range."""
        if self.kind is float:
            allowed = f"it must lie {self.range}"
        else:
            allowed = f"{self.range} {'is needed' if self.range.startswith('at') else 'are allowed'}"
        return BadValue(self.name, value, allowed + self.option.because)

    def of_word(self, word: Any) -> Any:
        """Return the value of a word of the command line, for a parameter with a word for None."""
        if not self.option.none or not isinstance(word, str):
            return word
        try:
            return None if word == self.option.none else self.kind(word)
        except ValueError:
            needed = f"neither a number {self.range} nor {self.option.none}"
            raise UsageError(f"{spelled(self.name)}: {word[:40]!r} is {needed}") from None


class Parameters:
    """The parameters of a system: a frozen dataclass, whose constructor checks them."""

    def __post_init__(self) -> None:
        """Check every parameter separately; raises UsageError."""
        for name, one in declared(type(self)).items():
            object.__setattr__(self, name, one.checked(getattr(self, name)))

    def record(self) -> dict[str, Any]:
        """Return the entries that artifacts record: all parameters on which the answer depends."""
        return {name: getattr(self, name) for name, one in declared(type(self)).items() if one.option.decides}

    def check_fit(self, n: int) -> None:
        """Check the numbers of vertices against those of a graph; raises UsageError."""
        for name, one in declared(type(self)).items():
            if one.option.vertices and getattr(self, name) is not None:
                check_fit(name, getattr(self, name), n)


_known: dict[Any, dict[str, Parameter]] = {}


def declared(kind: Any) -> dict[str, Parameter]:
    """Return the parameters of a class in the order of its fields; fields without an option are left out."""
    if kind not in _known:
        found = [one for one in fields(kind) if declares(one.type)]
        _known[kind] = {one.name: parameter(one.name, one.type, one.default) for one in found}
    return _known[kind]


def declares(annotation: Any) -> bool:
    """Return whether an annotation declares a parameter."""
    return get_origin(annotation) is Annotated and isinstance(get_args(annotation)[1], Option)


def parameter(name: str, annotation: Any, default: Any = MISSING) -> Parameter:
    """Return the parameter that an annotation declares."""
    kind, option = get_args(annotation)
    kinds = [part for part in get_args(kind) if part is not NoneType] if get_origin(kind) is not Literal else [kind]
    (inner,) = kinds or [kind]
    return Parameter(name, inner, inner is not kind, default, option)


def check_fit(name: str, value: int, n: int, what: str = "the number of vertices") -> int:
    """Return a number of vertices if it is in [1, n]; raises UsageError."""
    if not 1 <= value <= n:
        raise BadValue(name, value, f"1 to {n}, {what}, are allowed")
    return value


def length_of(name: str, given: int | None, usual: int, n: int, what: str = "the number of vertices") -> int:
    """Return the requested number of n vertices; by default the usual number, or n if that is less.

    Raises
    ------
    UsageError
        If the number is not in [1, n].
    InputError
        If there are no vertices.
    """
    if n == 0:
        raise InputError("the graph has no vertices, so there is nothing to find")
    return min(usual, n) if given is None else check_fit(name, whole(name, given), n, what)


def _power(value: float) -> str:
    """Return a bound in readable form: ``2^31 - 1``."""
    power = int(value) + 1
    return f"2^{power.bit_length() - 1} - 1" if power >= 2**16 and power & (power - 1) == 0 else f"{value}"


Seed = Annotated[
    int, Option("Seed of all random numbers, {range}.", metavar="S", ge=0, lt=2**64, decides=False)
]  # fmt: skip
SEED = parameter("seed", Seed, 0)
