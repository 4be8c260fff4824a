"""Vertices and values per vertex that a program gives: from external names to internal ids."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, DecimalException, Inexact, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from gpukit.api.results import Answer, Label
from gpukit.errors import InputError, UsageError, WrongType
from gpukit.graph.lines import quoted
from gpukit.parameters.values import is_number, type_of, unfit
from gpukit.wording import counted, spelled

if TYPE_CHECKING:
    import numpy as np

    from gpukit.graph.csr import Graph

COST_DECIMALS = 6
"""Most decimals of a cost or a budget."""
WEIGHT_DECIMALS = 9
"""Most decimals of the weight of a vertex."""
SOURCE_WEIGHTS = "0 and numbers from 1e-300 to 1e300 with at most 30 digits"
"""The allowed weights of the vertices of a source; a vertex of weight 0 is left out."""
_LEAST, _MOST, _DIGITS = Decimal("1e-300"), Decimal("1e300"), 30

Vertices = Iterable[Label]


def in_units(text: str, decimals: int) -> int | None:
    """Return a decimal number in units of 10**-decimals; None if it is no number, or not a whole number of units."""
    from gpukit.graph.lines import NUMBER

    if not NUMBER.fullmatch(text):
        return None
    with localcontext() as context:
        context.traps[Inexact] = True  # otherwise more than 28 digits would be rounded first, and might then fit
        try:
            units = Decimal(text).scaleb(decimals)
            return int(units) if units.adjusted() < context.prec and units == units.to_integral_value() else None
        except DecimalException:
            return None


def source_weight(text: str) -> Fraction | None:
    """Return the exact value of a decimal number, or None if it is not one of :data:`SOURCE_WEIGHTS`."""
    from gpukit.graph.lines import NUMBER

    if not NUMBER.fullmatch(text):
        return None
    try:
        number = Decimal(text)
    except DecimalException:  # an exponent of twenty digits
        return None
    fits = not number or (_LEAST <= number <= _MOST and len(number.as_tuple().digits) <= _DIGITS)
    return Fraction(number) if fits else None


def in_whole_numbers(weights: Sequence[Fraction]) -> list[int]:
    """Return whole numbers with exactly the same ratios as the weights."""
    unit = math.lcm(*(weight.denominator for weight in weights))
    return [weight.numerator * (unit // weight.denominator) for weight in weights]


def is_label(value: Any) -> bool:
    """Return whether a value can be an external name: a text, or a whole number of Python or NumPy."""
    return isinstance(value, str) or (hasattr(value, "__index__") and not isinstance(value, bool) and not _axes(value))


def _axes(value: Any) -> Any:
    return getattr(value, "shape", ())


def internal(
    graph: "Graph", vertices: Vertices, what: str, *, none: bool = True, digest: str | None = None
) -> list[int]:
    """Return internal ids of vertices, each named once, in the given order.

    ``digest`` is the digest of the graph. If the vertices are an answer, it must have been found on this graph.

    Raises
    ------
    WrongType
        If they are no vertices, or texts although the graph has numbers, or numbers although it has texts.
    UsageError
        If a vertex is named twice, or there are no vertices and ``none`` is false.
    InputError
        If a vertex is not in the graph, or they are an answer about another graph.
    """
    if digest is not None and isinstance(vertices, Answer):
        vertices._check_graph(graph, digest, what)
    if isinstance(vertices, str | bytes) or not hasattr(vertices, "__iter__"):
        raise WrongType(f"{what} is {type_of(vertices)}; give a list of vertices")
    given = [label_of(graph, one, what) for one in vertices]
    if not given and not none:
        raise UsageError(f"{what} names no vertices; give at least one")
    found = graph.internal(given).tolist() if given else []
    check_once(graph, found, what)
    return found


def check_once(graph: "Graph", found: list[int], what: str) -> None:
    """Refuse internal ids that name a vertex twice, in two spellings or in one; raises UsageError."""
    if len(set(found)) < len(found):
        again = next(one for place, one in enumerate(found) if one in found[:place])
        raise UsageError(f"{what}: vertex {graph.original([again])[0]} is given twice; give each once")


def without(among: Iterable[int], excluded: Iterable[int]) -> list[int]:
    """Return the vertices that answers may name, without those excluded; raises UsageError if none is left."""
    out = {*excluded}
    left = [vertex for vertex in among if vertex not in out]
    if not left:
        raise UsageError(f"{spelled('exclude')} names all vertices that answers may name; leave one")
    return left


def label_of(graph: "Graph", vertex: Any, what: str) -> Label:
    """Return an external name as an int or str of Python; raises like :func:`internal`."""
    if not is_label(vertex):
        raise WrongType(f"{what}: {str(vertex)[:40]!r} is {type_of(vertex)}, and no vertex; give ids or names")
    if isinstance(vertex, str) != (graph.labels is not None):
        there, given = ("whole numbers", "a text") if graph.labels is None else ("names", "a number")
        raise WrongType(f"{what}: {str(vertex)[:40]!r} is {given}, but the vertices of this graph are {there}")
    if isinstance(vertex, str):
        return str(vertex)
    number = int(vertex)
    if not 0 <= number < 2**63:
        raise InputError(
            f"vertex {number} is not in the graph (it has {counted(graph.n, 'vertex')}); "
            "give original ids of the edge list"
        )
    return number


def weights_of(graph: "Graph", source: Any, what: str) -> tuple[list[int], list[int]]:
    """Return internal ids and weights of one source, as whole numbers: a vertex, or a mapping of vertices to weights.

    Raises
    ------
    WrongType, UsageError, InputError
        As :func:`internal`, or if a weight is not one of :data:`SOURCE_WEIGHTS`.
    """
    if is_label(source):
        return internal(graph, [source], what), [1]
    if not isinstance(source, Mapping):
        raise WrongType(f"{what} is {type_of(source)}; give a vertex, or vertices with weights: {{vertex: weight}}")
    weights: list[Fraction] = []
    for vertex, given in source.items():
        if not is_number(given):
            raise unfit(f"the weight of {what} {str(vertex)[:40]!r}", given, "a number")
        weight = source_weight(str(given))
        if weight is None:
            raise UsageError(f"{what} has weight {str(given)[:40]}; {SOURCE_WEIGHTS} are allowed")
        weights.append(weight)
    return internal(graph, source, what, none=False), in_whole_numbers(weights)


def targets_of(graph: "Graph", given: Any, inputs: dict[str, str]) -> "tuple[np.ndarray, int]":
    """Return the weights of vertices in units of 10**-decimals (0 if not named), and the least sufficient decimals.

    The digest of a file with the same lines is added to ``inputs`` as the digest of the targets.

    Raises
    ------
    WrongType, UsageError, InputError
        As :func:`internal`, or if a number does not fit.
    """
    texts = _texts(given, "targets", inputs)
    needed = range(WEIGHT_DECIMALS + 1)
    fits = (next((i for i in needed if in_units(one, i) is not None), WEIGHT_DECIMALS) for one in texts)
    decimals = max(fits, default=0)
    bounds = (Decimal(0), Decimal(2**53).scaleb(-decimals))
    return _numbers(graph, given, texts, "targets", 0, decimals, bounds), decimals


def costs_of(graph: "Graph", given: Any, inputs: dict[str, str]) -> "np.ndarray":
    """Return the cost of each vertex as a seed, in units of 10**-6, 1 if not named; see :func:`targets_of`."""
    unit = Decimal(1).scaleb(-COST_DECIMALS)
    texts = _texts(given, "costs", inputs)
    return _numbers(graph, given, texts, "costs", 10**COST_DECIMALS, COST_DECIMALS, (unit, (2**31 - 1) * unit))


def _texts(given: Any, what: str, inputs: dict[str, str]) -> list[str]:
    """Return the numbers as texts, and add the digest of a file with the lines ``vertex number`` to ``inputs``."""
    if not isinstance(given, Mapping):
        raise WrongType(f"{what} is {type_of(given)}; give numbers of vertices: {{vertex: number}}")
    for value in given.values():
        if not is_number(value):
            raise WrongType(f"{what}: {str(value)[:40]!r} is {type_of(value)}; numbers are needed")
    texts = [str(getattr(value, "item", lambda value=value: value)()) for value in given.values()]
    lines = "".join(f"{quoted(vertex)} {text}\n" for vertex, text in zip(given, texts, strict=True))
    inputs[what] = hashlib.sha256(lines.encode(errors="surrogatepass")).hexdigest()
    return texts


def _numbers(
    graph: "Graph",
    given: Mapping[Label, Any],
    texts: list[str],
    what: str,
    default: int,
    decimals: int,
    bounds: tuple[Decimal, Decimal],
) -> "np.ndarray":
    """Return a number for each vertex (int64) in units of 10**-decimals; ``default`` units if it is not named."""
    import numpy as np

    low, high = bounds
    units = []
    for text in texts:
        one = in_units(text, decimals)
        if one is None or not low <= Decimal(one).scaleb(-decimals) <= high:
            digits = f"with at most {decimals} decimals" if decimals else "whole"
            raise InputError(f"{what}: {text[:40]!r} is not a number in [{low}, {high}], {digits}")
        units.append(one)
    result = np.full(graph.n, default, np.int64)
    result[internal(graph, given, what)] = units
    return result
