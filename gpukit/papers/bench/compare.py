"""Comparison of two records of one benchmark: which times changed by more than noise.

A time is compared by its median. Its noise is the largest of: the longest over the shortest repetition in the old
record, the same in the new one, and 1.05, because two processes differ by more than repetitions in one do. If the ratio
of the new median to the old one is larger than the noise, the run became slower. A time that was measured once has no
spread, so nothing is concluded from it. Values that depend only on a seed, such as the precision of answers, have no
noise.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

NOISE = 1.05
"""Ratio of two medians up to which there is never a change."""

REGRESSIONS = ("slower", "worse")


@dataclass(frozen=True)
class Figure:
    """One figure of a record: a time, or a measure of quality.

    Attributes
    ----------
    value : float
        The median.
    low, high : float
        Shortest and longest repetition; equal if there was only one.
    better : int
        -1 or 1: whether less or more of a measure of quality is better; 0: it is a time.
    """

    value: float
    low: float
    high: float
    better: int = 0

    @classmethod
    def of(cls, times: Any) -> "Figure":
        """Return a time given as a number, a list of repetitions, or a mapping of ``each`` or median, min and max."""
        if isinstance(times, Mapping):
            times = times["each"] if "each" in times else [times["min"], times["median"], times["max"]]
        each = [float(one) for one in times] if isinstance(times, list) else [float(times)]
        return cls(median(each), min(each), max(each))

    @property
    def spread(self) -> float:
        """The longest repetition over the shortest; 1 if there was only one."""
        return self.high / self.low if self.low > 0 else 1.0


Key = tuple[tuple[tuple[str, Any], ...], str]
"""Graph and settings of a run, and the name of a figure."""

Figures = Iterator[tuple[dict[str, Any], str, Figure]]


@dataclass(frozen=True)
class Comparison:
    """The result of :func:`compare`.

    Attributes
    ----------
    rows : list of dict
        For each figure of both records ``settings``, ``quantity``, ``old``, ``new``, ``ratio`` (new over old; None if
        old is 0), ``noise`` and ``verdict``: ``slower``, ``faster``, ``as before`` or ``no spread`` of a time,
        ``worse``, ``better`` or ``as before`` of a measure of quality.
    only_old, only_new : list of dict
        ``settings`` and ``quantity`` of the figures that the other record lacks.
    """

    rows: list[dict[str, Any]]
    only_old: list[dict[str, Any]]
    only_new: list[dict[str, Any]]

    @property
    def regressions(self) -> int:
        """Number of figures that are slower or worse."""
        return sum(row["verdict"] in REGRESSIONS for row in self.rows)


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> Comparison:
    """Compare two records of one benchmark.

    Raises
    ------
    KeyError, TypeError, ValueError
        If a record lacks an entry, or an entry has another type.
    """
    before, after = figures(old), figures(new)
    rows = [_named(key) | _judged(before[key], after[key]) for key in after if key in before]
    return Comparison(
        rows, [_named(key) for key in before if key not in after], [_named(key) for key in after if key not in before]
    )


def figures(record: Mapping[str, Any]) -> dict[Key, Figure]:
    """Return the figures of a record.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the record lacks an entry, or an entry has another type.
    """
    read, found = READERS[record["benchmark"]], {}
    # Every record has ``params``, but only those of this benchmark are used; in others the runs state their settings.
    shared = record["params"] if record["benchmark"] == "kpar-quality" else {}
    for run in record["runs"]:
        graph = {"graph": run["graph"]["name"]} | _some(run["graph"], "digest", "seed")
        for settings, quantity, figure in read(run):
            settings = graph | shared | settings
            found[tuple((name, _plain(value)) for name, value in settings.items()), quantity] = figure
    return found


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, dict | list) else value


def _named(key: Key) -> dict[str, Any]:
    return {"settings": dict(key[0]), "quantity": key[1]}


def _judged(old: Figure, new: Figure) -> dict[str, Any]:
    # Values that depend only on a seed have no noise; for times the larger spread counts.
    noise = 1.0 if new.better else max(old.spread, new.spread, NOISE)
    if new.better:
        gain = (new.value - old.value) * new.better
        verdict = "better" if gain > 0 else "worse" if gain < 0 else "as before"
    elif old.spread == 1 or new.spread == 1:
        verdict = "no spread"
    elif new.value > noise * old.value:
        verdict = "slower"
    else:
        verdict = "faster" if new.value * noise < old.value else "as before"
    ratio = new.value / old.value if old.value else None
    return {"old": old.value, "new": new.value, "ratio": ratio, "noise": noise, "verdict": verdict}


def _some(entry: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: entry[name] for name in names if name in entry}


def _gim(run: Mapping[str, Any]) -> Figures:
    yield dict(run["params"]), "algorithm_ms", Figure.of(run["algorithm_ms"])


def _gim_quality(run: Mapping[str, Any]) -> Figures:
    if "spread" in run:
        value = float(run["spread"])
        settings = {"weights": run["graph"]["weights"]} | _some(run, "method", "model", "k", "error")
        yield settings, "spread", Figure(value, value, value, 1)


def _imgpu(run: Mapping[str, Any]) -> Figures:
    settings = {"method": run["method"]} | run.get("params", {})
    if "pass_ms" in run:
        for name, spent in run["pass_ms"].items():
            yield settings | {"switches": name}, "pass_ms", Figure.of(spent)
    else:
        yield settings, "algorithm_ms", Figure.of(run["algorithm_ms"])


def _kpar(run: Mapping[str, Any]) -> Figures:
    asked = dict(run.get("params", {}))
    # Records without a depth have queries that do not resolve near ties; competitors have no depth.
    depth = asked.pop("depth", "auto")
    settings = {"kpar": asked | {"depth": depth}, "fora": asked}
    for name, spent in run["preprocessing"].items():
        if name.endswith("_s"):
            yield asked, name, Figure.of(spent)
    # Competitors were timed once in both ways.
    rivals = [("fora", run["fora"])] if "fora" in run else []
    one_by_one = [("kpar", one) for one in run["latency"]] + rivals
    at_once = [("kpar", one) for one in run["batch"]] + rivals
    for name, one in one_by_one:
        # The spread of single queries is the spread over different sources; only a larger change counts.
        spread = Figure(float(one["median_ms"]), float(one["p5_ms"]), float(one["p95_ms"]))
        yield settings[name] | {"method": name} | _some(one, "k", "queries"), "median_ms", spread
    for name, one in at_once:
        yield settings[name] | {"method": name} | _some(one, "k", "queries"), "ms_per_query", _per_query(one)
    if "on_threads" in run:
        of = _some(run["on_threads"], "k", "queries", "threads")
        for name in ("kpar", "fora"):
            figure = _per_query(run["on_threads"][name])
            yield settings[name] | {"method": f"{name} on threads"} | of, "ms_per_query", figure


def _per_query(one: Mapping[str, Any]) -> Figure:
    return Figure.of(one.get("each_ms_per_query", 1e3 / one["queries_per_s"]))


def _kpar_quality(run: Mapping[str, Any]) -> Figures:
    settings = _some(run, "sources", "depth", "k", "queries")
    for name, better in (("precision", 1), ("ndcg", 1), ("violations", -1)):
        value = float(run[name])
        yield settings, name, Figure(value, value, value, better)


def _merit(run: Mapping[str, Any]) -> Figures:
    device = {"device": run["device"]["kind"], "threads": run["device"]["threads"]}
    settings = {"method": run["method"]} | device | run["params"] | _some(run, "groups", "worlds")
    if not run.get("stopped"):  # else the times are lower bounds
        yield settings, "time_s", Figure.of(run["time_s"])


def _diversity(run: Mapping[str, Any]) -> Figures:
    shared = _some(run, "fraction") if run["method"] == "steal" else _some(run, "balance", "fraction")
    yield shared, "network_ms", Figure.of(run["graph"]["network_ms"])
    if "ms" in run:
        settings = _some(run, "method", "model", "k", "t", "vertices") | shared
        yield settings, "ms", Figure.of(run["ms"])


READERS = {
    "gim": _gim,
    "gim-quality": _gim_quality,
    "imgpu": _imgpu,
    "kpar": _kpar,
    "kpar-quality": _kpar_quality,
    "merit": _merit,
    "diversity": _diversity,
}
"""For each benchmark, the function that yields the settings, names and values of the figures of a run."""
