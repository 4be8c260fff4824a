"""What a paper claims, judged by the rebuilt rows, and why: reproduced, contradicted, an erratum, or open.

The claims are typed in ``workflow/paper/claims``, whose README has the rules.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from gpukit.errors import InputError
from gpukit.papers.report.observations import AT_LEAST
from gpukit.papers.report.publications import PUBLICATIONS, SCALES
from gpukit.papers.report.rules import Point, Rule, Series, parse_rule
from gpukit.report.records import Kind, Row, of, read_typed

CLAIM = (
    *("claim", "section", "text", "printed", "kind", "item"),
    *("quantity", "graphs", "x", "of", "over", "rule", "tolerance", "method"),
)
"""Columns of a table of claims."""

TYPED = ("claim", "section", "text", "printed", "kind", "item")
"""Columns of a claim that its verdict also has."""

JUDGED = ("publication", "scale", *TYPED, "rule", "measured", "verdict", "why")
"""Columns of a table of verdicts."""

REPRODUCED, CONTRADICTED, ERRATUM = "reproduced", "contradicted", "erratum"
UNDECIDED, UNJUDGED = "not decided", "not judged"
VERDICTS = (REPRODUCED, CONTRADICTED, ERRATUM, UNDECIDED, UNJUDGED)

DECIDED = (CONTRADICTED, ERRATUM, REPRODUCED)
"""Verdicts whose claims are listed one by one, in this order."""

OPEN = {UNDECIDED: "for lack of a run that decides", UNJUDGED: "as no run of ours can decide"}
"""Verdicts that are shown by their reasons, and what these have in common."""

AS_PRINTED, OURS = "as printed", "ours"
"""Methods whose rows decide: the paper's method, which can contradict it, and our version of the method, which
cannot."""

REPEATS = 5
"""Least number of runs that decide about a speed."""

SIZES = ("vertices", "edges")
"""Beginnings of the names of claims that state the sizes of the paper's graphs."""

SPEEDS = ("speed", "factor")
"""Kinds of claims that are about time."""

_NA = "NA"
_SIDE = re.compile(r"([^{:]*)(?:: ([^{]*))?(?:\{(.*)\})?")


class Side(NamedTuple):
    """The values of a claim: their methods (the smallest value counts), their quantity, and words of their setting."""

    methods: tuple["Method", ...]


class Method(NamedTuple):
    """A pattern of methods, a quantity (empty: the claim's), and words that the setting of the rows must contain."""

    pattern: str
    quantity: str
    words: tuple[str, ...]


class Lack(Exception):
    """The reason why a graph has no value for a claim."""


@dataclass(frozen=True)
class Claim:
    """A parsed row of a table of claims."""

    row: Row
    rule: Rule | None
    graphs: tuple[str, ...]
    needed: frozenset[str]
    places: Mapping[str, tuple[float, ...]]
    of: Side
    over: Side | None

    @property
    def kind(self) -> str:
        """``speed``, ``factor``, ``value``, ``proof`` or ``missing``."""
        return str(self.row["kind"])

    @property
    def bounded(self) -> bool:
        """Whether lower bounds of the values are enough to show that the claim holds."""
        return self.rule is not None and re.match("(each|mean|largest).* [>≥] ", self.rule.text) is not None

    @property
    def shown(self) -> str:
        """The rule and the rows to which it applies, as a text."""
        if self.rule is None:
            return ""
        row = self.row
        of_what = f"{row['of']} over {row['over']}" if row["over"] else row["of"]
        places = f" at {row['x']}" if row["x"] else ""
        tolerance = f", t {self.rule.tolerance:g}" if self.rule.tolerance else ""
        return f"{row['item']}, {row['quantity']}{of_what and ' of '}{of_what}{places}: {self.rule.text}{tolerance}"


def read_claims(path: str) -> list[Claim]:
    """Read a table of claims.

    Raises
    ------
    InputError
        If the file is missing or broken, or has an invalid rule or number.
    """
    rows = read_typed(path, dict.fromkeys(CLAIM, str), "a table of claims")
    claims = []
    for number, row in enumerate(rows, start=2):
        try:
            claims.append(_understood(row))
        except ValueError as error:
            raise InputError(f"{path}, line {number} ({row['claim']}): {error}") from None
    if twice := next((one for one in claims if len(of(rows, claim=one.row["claim"])) > 1), None):
        raise InputError(f"{path}: two claims are called {twice.row['claim']}; each needs a name of its own")
    return claims


def _understood(row: Row) -> Claim:
    if row["kind"] in ("proof", "missing"):
        if row["kind"] == "proof" and row["rule"].partition(" ")[0] not in DECIDED:
            raise ValueError(f"{row['rule']!r} is no verdict; a proof says {', '.join(DECIDED)}, and by what")
        return Claim(row, None, (), frozenset(), {}, Side(()), None)
    if row["kind"] not in ("speed", "factor", "value"):
        raise ValueError(f"{row['kind']!r} is no kind; choose speed, factor, value, proof or missing")
    if not row["method"]:
        raise ValueError(f"method says what ran: {AS_PRINTED}, {OURS}, or why its rows decide nothing")
    needed, _, further = row["graphs"].partition("|")
    graphs = (*needed.split(), *further.split())
    if not graphs:
        raise ValueError("a rule is about graphs; name them")
    rule = parse_rule(row["rule"], float(row["tolerance"]), graphs)
    places = _places(row["x"], graphs)
    if rule.place is not None and any(rule.place not in each for each in places.values()):
        raise ValueError(f"{rule.text!r} needs the place {rule.place:g} in x")
    over = _side(row["over"]) if row["over"] else None
    return Claim(row, rule, graphs, frozenset(needed.split()), places, _side(row["of"]), over)


def _side(text: str) -> Side:
    methods = []
    for one in text.split(" | "):
        found = _SIDE.fullmatch(one)
        if found is None:
            raise ValueError(f"{one!r} is not METHOD: QUANTITY {{SETTING}}")
        words = tuple(word for word in (found[3] or "").split("; ") if word)
        methods.append(Method(found[1].strip(), (found[2] or "").strip(), words))
    return Side(tuple(methods))


def _places(text: str, graphs: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    """Return the places on the axis for each graph; empty if all places count."""
    if ":" not in text:
        return dict.fromkeys(graphs, tuple(map(float, text.split())))
    places = {
        graph: tuple(map(float, each.split(","))) for graph, _, each in (one.partition(":") for one in text.split())
    }
    if places.keys() != set(graphs):
        raise ValueError(f"x names {', '.join(sorted(places))}, and the graphs are {', '.join(graphs)}")
    return places


def joined(tables: Sequence[Sequence[Row]]) -> list[Row]:
    """Return the rows of several tables ``items``.

    For an item on a graph they come from the last table that measured it.

    Rows of a real graph are preferred to those of a stand-in.
    """
    best: dict[tuple[str, str], tuple[bool, int]] = {}
    for number, rows in enumerate(tables):
        for row in rows:
            if row["ours"] != _NA:
                place = (row["item"], row["graph"])
                best[place] = max(best.get(place, (False, number)), (row["data"] == "real", number))
    return [
        row
        for number, rows in enumerate(tables)
        for row in rows
        if best.get((row["item"], row["graph"]), (False, number))[1] == number
    ]


def judge(claims: Sequence[Claim], rows: Sequence[Row], paper: str, scale: str) -> list[Row]:
    """Judge the claims of a paper.

    Parameters
    ----------
    claims : sequence of Claim
        From :func:`read_claims`.
    rows : sequence of dict
        The rows of the paper in the table ``items``.
    paper : str
        A key of :data:`gpukit.papers.report.publications.PUBLICATIONS`.
    scale : str
        The scale at which it was rebuilt; ``smoke`` decides no claim about speed.

    Returns
    -------
    list of dict
        With the keys :data:`JUDGED`, in the order of the claims.

    Raises
    ------
    InputError
        If a number in a row is invalid.
    """
    for row in rows:
        _check_numbers(row)
    evidence = Evidence(rows, [claim for claim in claims if claim.row["claim"].startswith(SIZES) and claim.rule])
    judged = []
    for claim in claims:
        measured, verdict, why = _verdict(claim, evidence, scale)
        judged.append(
            {"publication": paper, "scale": scale}
            | {name: claim.row[name] for name in TYPED}
            | {"rule": claim.shown, "measured": measured, "verdict": verdict, "why": why}
        )
    return judged


def _check_numbers(row: Row) -> None:
    """Raise InputError if a number of a rebuilt row is invalid."""
    try:
        int(row["repeats"])
        _ = [float(row[name]) for name in ("ours", "ours_sd", "x") if row[name] not in (_NA, "")]
    except ValueError as error:
        raise InputError(f"the row of {row['graph']} in {row['item']} is broken: {error}; rebuild the item") from None


def _verdict(claim: Claim, evidence: "Evidence", scale: str) -> tuple[str, str, str]:
    """Return the measured values, the verdict, and the reason."""
    if claim.kind == "missing":
        return "", UNJUDGED, claim.row["rule"]
    if claim.kind == "proof":
        verdict, _, where = claim.row["rule"].partition(" ")
        return "", verdict, where
    if claim.kind in SPEEDS and scale == "smoke":
        return "", UNDECIDED, "smoke scale decides nothing about speed"
    assert claim.rule is not None
    series: dict[str, list[Series]] = {}
    lacks: dict[str, str] = {}
    absent: list[str] = []
    for graph in claim.graphs:
        try:
            series[graph] = evidence.series(claim, graph)
        except Lack as lack:
            if graph in claim.needed:
                lacks[graph] = str(lack)
            else:
                absent.append(graph)
    found = claim.rule.decide(series)
    standing = [graph for graph in series if evidence.is_stand_in(claim, graph)]
    notes = [f"on stand-ins of the same size: {', '.join(standing)}"] if standing else []
    notes = [found.said, *notes] if found.said else notes
    stopped = [graph for graph, each in series.items() if any(p.least for one in each for p in one.values())]
    if stopped:
        notes.append(f"lower bounds, as runs were stopped: {', '.join(stopped)}")
    notes += [f"not measured on {', '.join(absent)}"] if absent and not lacks else []
    if claim.row["method"] not in (AS_PRINTED, OURS):
        return found.measured, UNJUDGED, claim.row["method"]
    if found.holds is not None and (not lacks or found.final):
        if found.holds:
            return found.measured, REPRODUCED, "; ".join(notes)
        spared = ["a lower bound does not say whether it holds"] if stopped else _spared(claim, standing)
        return found.measured, UNDECIDED if spared else CONTRADICTED, "; ".join([*notes, *spared])
    if found.measured:
        partly = "too much spread to say" if found.holds is None else "holds" if found.holds else "does not hold"
        notes = [f"{partly} on {', '.join(series)}", *notes]
    return found.measured, UNDECIDED, "; ".join([*notes, *_grouped(lacks)])


def _spared(claim: Claim, standing: list[str]) -> list[str]:
    """Return why a claim that does not hold here is not contradicted; an empty text if it is contradicted."""
    if claim.kind == "factor":
        return ["short of the printed factor, on other machines than the paper's"]
    if claim.row["method"] != AS_PRINTED:
        return ["does not hold here, but what ran is not the paper's method line by line"]
    return ["does not hold here, but not on the paper's graphs alone"] if standing else []


def _grouped(lacks: Mapping[str, str]) -> list[str]:
    """Return each reason once, with its graphs."""
    reasons: dict[str, list[str]] = {}
    for graph, reason in lacks.items():
        reasons.setdefault(reason, []).append(graph)
    return [f"{', '.join(graphs)}: {reason}" for reason, graphs in reasons.items()]


class Evidence:
    """The rebuilt rows of a paper, and the printed sizes of its graphs.

    Parameters
    ----------
    rows : sequence of dict
        The table ``items``.
    sizes : sequence of Claim
        The claims :data:`SIZES`, if there are any.
    """

    def __init__(self, rows: Sequence[Row], sizes: Sequence[Claim]) -> None:
        self.rows = [row for row in rows if row["ours"] != _NA]
        self.sizes = sizes

    @cached_property
    def data(self) -> dict[tuple[str, str], str]:
        """The kind of each graph of an item: ``real``, or a stand-in and how it was made."""
        return {(row["item"], row["graph"]): row["data"] for row in self.rows}

    def is_stand_in(self, claim: Claim, graph: str) -> bool:
        """Return whether a graph of a claim is a stand-in for the paper's graph."""
        return self.data.get((claim.row["item"], graph), "").startswith("stand-in")

    def series(self, claim: Claim, graph: str) -> list[Series]:
        """Return the values of a claim on a graph by x, one series per method that matches a pattern; raises Lack."""
        self._check_size(claim, graph)
        tops = self._values(claim, claim.of, graph, claim.bounded)
        if claim.over is not None:
            bottoms = self._values(claim, claim.over, graph)
            tops = [
                {x: point.over(bottom[x]) for x, point in top.items() if x in bottom}
                for top in tops
                for bottom in bottoms
            ]
        places = claim.places[graph]
        chosen = []
        for values in tops:
            if absent := [f"{x:g}" for x in places if x not in values]:
                raise Lack(f"no value at x = {', '.join(absent)}")
            if not values:
                raise Lack("no values of both methods at the same place")
            chosen.append({x: values[x] for x in places or sorted(values)})
        return chosen

    def _check_size(self, claim: Claim, graph: str) -> None:
        """Raise Lack if a graph differs from the paper's, or has another size."""
        data = self.data.get((claim.row["item"], graph))
        if data is None:
            raise Lack("not measured")
        stand_in = self.is_stand_in(claim, graph)
        if stand_in and claim.kind == "value":
            raise Lack("a stand-in")
        names = SIZES if stand_in else SIZES[:1]
        for size in self.sizes:
            name = size.row["quantity"].replace("edge lines", "edges")
            if name not in names or graph not in size.graphs or size is claim:
                continue
            assert size.rule is not None
            found = of(self.rows, item=size.row["item"], graph=graph, quantity=name, data=data)
            wanted = size.rule.numbers[size.graphs.index(graph)]
            if not found or abs(float(found[0]["ours"]) / wanted - 1) > max(size.rule.tolerance, 0.01):
                has = f"{float(found[0]['ours']):,.0f}" if found else "unknown"
                raise Lack(f"{has} {name}, the paper's graph has {wanted:,.0f}")

    def _values(self, claim: Claim, side: Side, graph: str, bounds: bool = False) -> list[dict[float, Point]]:
        """Return the values of a side by x, lower bounds too if they are enough; of several methods the smallest."""
        found: list[dict[str, dict[float, Point]]] = []
        lacks = []
        for method in side.methods:
            try:
                found.append(self._of_method(claim, method, graph, bounds))
            except Lack as lack:
                lacks.append(lack)
        if not found:
            raise lacks[0]
        if len(found) == 1:
            return list(found[0].values())
        # Only competitors that ran count; at each place the smallest value is taken.
        best: dict[float, Point] = {}
        for values in (values for one in found for values in one.values()):
            for x, point in values.items():
                best[x] = min(best.get(x, point), point)
        return [best]

    def _of_method(self, claim: Claim, method: Method, graph: str, bounds: bool) -> dict[str, dict[float, Point]]:
        """Return the values of a method by x, for each name that its pattern fits; raises Lack."""
        pattern = re.compile(".*".join(map(re.escape, method.pattern.split("*"))))
        quantity = method.quantity or claim.row["quantity"]
        name = method.pattern or "it"
        wanted = (quantity, f"{quantity}{AT_LEAST}") if bounds else (quantity,)
        rows = [row for row in of(self.rows, item=claim.row["item"], graph=graph) if row["quantity"] in wanted]
        rows = [row for row in rows if pattern.fullmatch(row["method"])]
        if not rows:
            raise Lack(f"no {quantity} of {name}")
        fitting = [row for row in rows if _says(row["setting"], method.words)]
        if not fitting:
            absent = [word for word in method.words if not _says(rows[0]["setting"], [word])]
            raise Lack(f"no run of {name} with {', '.join(absent or method.words)}")
        if claim.kind in SPEEDS and (few := [row for row in fitting if int(row["repeats"]) < REPEATS]):
            raise Lack(f"{name} has {few[0]['repeats']} of {REPEATS} runs")
        values: dict[str, dict[float, Point]] = {}
        for row in fitting:
            values.setdefault(row["method"], {})[float(row["x"] or "nan")] = _point(row)
        return {one: {0.0 if math.isnan(x) else x: point for x, point in by_x.items()} for one, by_x in values.items()}


def _point(row: Row) -> Point:
    """Return a value, and its two standard errors relative to the value."""
    value, runs = float(row["ours"]), int(row["repeats"])
    spread = 0.0 if row["ours_sd"] == _NA or not value else float(row["ours_sd"]) / abs(value)
    return Point(value, 2 * spread / math.sqrt(runs), row["quantity"].endswith(AT_LEAST))


def _says(setting: str, words: Iterable[str]) -> bool:
    """Return whether a setting contains all of these words.

    A setting with ``4 × …`` also has ``GPU`` and ``4 GPUs``.
    """
    device = re.search(r"(\d+) × ", setting)
    if device:
        setting += f"; GPU; {device[1]} GPU{'s' if device[1] != '1' else ''}"
    return all(re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", setting) for word in words)


def count(rows: Iterable[Row]) -> dict[str, int]:
    """Return the number of verdicts of each kind."""
    verdicts = [row["verdict"] for row in rows]
    return {one: verdicts.count(one) for one in VERDICTS}


def _judged(path: str) -> list[Row]:
    """Return the rows of a table of verdicts; raises InputError if a paper, scale or verdict is unknown."""
    rows = read_typed(path, dict.fromkeys(JUDGED, str), "a table by `gpukit papers report claims`")
    for number, row in enumerate(rows, start=2):
        for name, known in (("publication", PUBLICATIONS), ("scale", SCALES), ("verdict", VERDICTS)):
            if row[name] not in known:
                raise InputError(f"{path}, line {number}: {row[name]!r} is no {name}; known: {', '.join(known)}")
    return rows


KINDS = {"claims": Kind({}, dict.fromkeys(JUDGED, str), _judged)}
"""The table of verdicts."""
