"""Rules that decide a claim: conditions on the values of each graph, or of all graphs together."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean
from typing import NamedTuple


class Point(NamedTuple):
    """A value, its relative error, and whether it is a lower bound."""

    value: float
    error: float = 0.0
    least: bool = False

    def over(self, other: "Point") -> "Point":
        """Return the ratio of two values."""
        ratio = self.value / other.value if other.value else math.inf
        return Point(ratio, math.hypot(self.error, other.error), self.least)


Series = dict[float, Point]
"""Values by the place on the axis, in ascending order."""

ROUNDED = 1 + 1e-5
"""Rebuilt rows have six digits: numbers that differ by less than this count as equal."""

Truth = bool | None
"""Whether a condition holds; None if the errors of the values are too large to decide."""


class Finding(NamedTuple):
    """The result of a rule: values as text, whether it holds, whether this is final despite missing graphs, a note."""

    measured: str
    holds: Truth
    final: bool
    said: str = ""


@dataclass(frozen=True)
class Rule:
    """A rule with its numbers.

    Attributes
    ----------
    text : str
        The rule as written.
    tolerance : float
        See the README of the claims.
    numbers : tuple of float
        The numbers to compare values with, one per graph; empty for rules about a curve.
    of_graph : callable
        Returns the values to show from a graph's series, and whether they fit the graph's number.
    combined : bool
        Whether the values of all graphs are combined.
    some : bool
        Whether it is enough that the rule holds on one graph.
    graphs : tuple of str
        The graphs in the order of the numbers.
    place : float, optional
        The place on the axis to which the rule refers.
    """

    text: str
    tolerance: float
    numbers: tuple[float, ...]
    of_graph: "Callable[[Rule, Sequence[Point], Series, float], tuple[list[float], Truth]]"
    combined: bool
    some: bool
    graphs: tuple[str, ...]
    place: float | None = None

    def decide(self, found: Mapping[str, list[Series]]) -> Finding:
        """Apply the rule to the series of those graphs that have any."""
        shown: list[str] = []
        truths: dict[str, Truth] = {}
        if self.combined:
            points = [point for series in found.values() for one in series for point in one.values()]
            whole = len(found) == len(self.graphs)
            values, truth = self.of_graph(self, points, {}, self.numbers[0]) if points else ([], None)
            enough = truth is True and "largest of all ≥" in self.text
            return Finding(_text(values), truth, enough) if whole or enough else Finding("", None, False)
        for graph, several in found.items():
            wanted = self.numbers[self.graphs.index(graph)] if self.numbers else math.nan
            each = [self.of_graph(self, list(series.values()), series, wanted) for series in several]
            shown.append(f"{graph} {_text([value for values, _ in each for value in values])}")
            truths[graph] = any_of(truth for _, truth in each) if self.some else all_of(truth for _, truth in each)
        holds = any_of(truths.values()) if self.some else all_of(truths.values())
        if not truths:
            return Finding("", None, False)
        failing = [graph for graph, truth in truths.items() if truth is False]
        said = f"not on {', '.join(failing)}" if failing and not self.some and len(failing) < len(self.graphs) else ""
        return Finding("; ".join(shown), holds, holds is self.some, said)


def all_of(truths: Iterable[Truth]) -> Truth:
    """Return whether all hold: False if one is False, otherwise None if one is None."""
    known = list(truths)
    return False if False in known else None if None in known else True


def any_of(truths: Iterable[Truth]) -> Truth:
    """Return whether at least one holds."""
    known = list(truths)
    return True if True in known else None if None in known else False


def _text(values: Sequence[float]) -> str:
    """Return values as a text: the value, or the smallest and the largest."""
    low, high = (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _within(point: Point, low: float, high: float) -> Truth:
    """Return whether a value lies between two bounds, both allowed."""
    ends = sorted((point.value / (1 + point.error), point.value * (1 + point.error)))
    if ends[0] >= low and ends[1] <= high:
        return True
    return False if ends[1] < low or ends[0] > high else None


def _compare(point: Point, sign: str, wanted: float, slack: float) -> Truth:
    """Compare a value with a number, up to a factor of ``slack``."""
    slack *= ROUNDED if sign == "=" else 1.0
    strict = math.nextafter if sign in "<>" else lambda bound, _: bound
    low = {"<": -math.inf, "≤": -math.inf, ">": strict(wanted / slack, math.inf)}.get(sign, wanted / slack)
    high = {">": math.inf, "≥": math.inf, "<": strict(wanted * slack, -math.inf)}.get(sign, wanted * slack)
    return _within(point, low, high)


def _mean_of(points: Sequence[Point]) -> Point:
    value = mean(point.value for point in points)
    off = math.hypot(*(point.value * point.error for point in points)) / len(points)
    return Point(value, off / abs(value) if value else 0.0)


def _gathered(
    choose: Callable[[Sequence[Point]], Sequence[Point]], sign: str
) -> "Callable[..., tuple[list[float], Truth]]":
    """Return a rule that compares some of the values, or a function of them, with a number."""

    def compared(rule: Rule, points: Sequence[Point], _: Series, wanted: float) -> tuple[list[float], Truth]:
        chosen = choose(points)
        truths = [_compare(point, sign, wanted, 1 + rule.tolerance) for point in chosen]
        return [point.value for point in chosen], all_of(truths)

    return compared


def _steps(points: Sequence[Point], tolerance: float) -> Truth:
    """Return whether values never fall by more than a tolerance, and the last is above the first."""
    steady = [_compare(after.over(before), "≥", 1, 1 + tolerance) for before, after in pairwise(points)]
    return all_of([*steady, _compare(points[-1].over(points[0]), ">", 1, 1)])


def _rises(rule: Rule, points: Sequence[Point], _: Series, __: float) -> tuple[list[float], Truth]:
    return [point.value for point in points], _steps(points, rule.tolerance)


def _falls(rule: Rule, points: Sequence[Point], _: Series, __: float) -> tuple[list[float], Truth]:
    return [point.value for point in points], _steps(points[::-1], rule.tolerance)


def _dips(rule: Rule, points: Sequence[Point], _: Series, __: float) -> tuple[list[float], Truth]:
    drops = [_compare(after.over(before), "<", 1, 1) for before, after in pairwise(points)]
    return [point.value for point in points], any_of(drops)


def _range(points: Sequence[Point]) -> Point:
    return max(points).over(min(points))


def _flat(rule: Rule, points: Sequence[Point], _: Series, __: float) -> tuple[list[float], Truth]:
    return [point.value for point in points], _compare(_range(points), "≤", 1, 1 + rule.tolerance)


def _varies(rule: Rule, points: Sequence[Point], _: Series, __: float) -> tuple[list[float], Truth]:
    return [point.value for point in points], _compare(_range(points), ">", 1 + rule.tolerance, 1)


def _power(rule: Rule, points: Sequence[Point], series: Series, wanted: float) -> tuple[list[float], Truth]:
    """Compare the slope of log v over log x with a number."""
    if min(series) <= 0 or min(points).value <= 0 or len(series) < 2:
        return [point.value for point in points], None
    across = [math.log(x) for x in series]
    off = [x - mean(across) for x in across]
    width = sum(x * x for x in off)
    slope = sum(x * math.log(point.value) for x, point in zip(off, points, strict=True)) / width
    error = math.hypot(*(x * point.error for x, point in zip(off, points, strict=True))) / width
    return [slope], _within(Point(slope, error / abs(slope or 1)), wanted - rule.tolerance, wanted + rule.tolerance)


def _least(place: float) -> "Callable[..., tuple[list[float], Truth]]":
    def least(rule: Rule, points: Sequence[Point], series: Series, _: float) -> tuple[list[float], Truth]:
        """Show the place of the smallest value; compare the value at the wanted place with it."""
        others = [point for x, point in series.items() if x != place]
        truths = [_compare(series[place].over(point), "≤", 1, 1 + rule.tolerance) for point in others]
        return [min(series, key=lambda x: series[x])], all_of(truths)

    return least


def _gain(place: float) -> "Callable[..., tuple[list[float], Truth]]":
    def gain(rule: Rule, points: Sequence[Point], series: Series, wanted: float) -> tuple[list[float], Truth]:
        best = max(series[place].over(point) for x, point in series.items() if x != place)
        return [best.value], _compare(best, "≥", wanted, 1 + rule.tolerance)

    return gain


_CURVES = {"rises": _rises, "falls": _falls, "dips": _dips, "flat": _flat, "varies": _varies}
_CHOICES: dict[str, Callable[[Sequence[Point]], Sequence[Point]]] = {
    "each": lambda points: points,
    "mean": lambda points: [_mean_of(points)],
    "largest": lambda points: [max(points)],
}
_NUMBER = r"-?[0-9.]+"
_COMPARED = re.compile(rf"(each|mean|largest)( of all)? ([=≥≤<>])((?: {_NUMBER})+)")
_PLACED = re.compile(rf"(power|least at|gain over) ({_NUMBER})(?: ≥ ({_NUMBER}(?: {_NUMBER})*))?")


def parse_rule(text: str, tolerance: float, graphs: tuple[str, ...]) -> Rule:
    """Return the rule with a given text; raises ValueError if there is none.

    Parameters
    ----------
    text : str
        The text, as in the README of the claims.
    tolerance : float
        At least 0.
    graphs : tuple of str
        The graphs of the claim.
    """
    if not tolerance >= 0:
        raise ValueError(f"the tolerance is {tolerance}; at least 0 is needed")

    def spread(numbers: str) -> tuple[float, ...]:
        values = tuple(map(float, numbers.split()))
        if len(values) not in (1, len(graphs)):
            raise ValueError(
                f"{text!r} has {len(values)} numbers for {len(graphs)} graphs; one or one for each is needed"
            )
        return values * len(graphs) if len(values) == 1 else values

    if text in _CURVES:
        return Rule(text, tolerance, (), _CURVES[text], False, text in ("dips", "varies"), graphs)
    if found := _COMPARED.fullmatch(text):
        return Rule(
            text, tolerance, spread(found[4]), _gathered(_CHOICES[found[1]], found[3]), bool(found[2]), False, graphs
        )
    found = _PLACED.fullmatch(text)
    if found is None or (found[1] == "gain over") != bool(found[3]):
        raise ValueError(f"{text!r} is no rule; the README of the claims has them")
    place = float(found[2])
    if found[1] == "power":
        return Rule(text, tolerance, spread(found[2]), _power, False, False, graphs)
    if found[1] == "least at":
        return Rule(text, tolerance, (), _least(place), False, False, graphs, place)
    return Rule(text, tolerance, spread(found[3]), _gain(place), False, False, graphs, place)
