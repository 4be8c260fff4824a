"""What each kind must keep to so that no program that goes on from it can be led astray: checked at every read."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation

import numpy as np

from gpukit.artifacts.artifact import Artifact
from gpukit.artifacts.layout import TABLES
from gpukit.artifacts.structure import need
from gpukit.graph.csr import DRAWN, EXPLICIT

MAX_SAMPLE_ID = 1 << 48
MAX_LIVE = 64


def check_graph_bounds(artifact: Artifact) -> None:
    """Check the scheme, and that sampling tables lead no sampler out of its arrays; raises InputError."""
    a, names = artifact.attributes, artifact.checksums
    explicit = a["scheme"] in EXPLICIT
    need(a["n"] < 1 << 31 and a["m"] < 1 << 32, f"n is {a['n']} and m is {a['m']}; less than 2^31 and 2^32 are allowed")
    need(a["scheme"] in ("wc", "const", "none", *EXPLICIT), f"unknown probability scheme {a['scheme']!r}")
    need(
        ("probabilities" in names) == explicit,
        f"scheme {a['scheme']} and the dataset probabilities do not fit together",
    )
    need((a["scheme"] == "const") == ("p" in a), "the attribute p belongs to scheme const, and to it alone")
    need(0 < a.get("p", 1) <= 1, f"p is {a.get('p')}; (0, 1] is allowed")
    need(
        (a["scheme"] in DRAWN) == ("weights_seed" in a),
        "weights_seed belongs to the schemes trivalency and uniform, and to them alone",
    )
    ranged = a["scheme"] == "uniform"
    need(ranged == ("low" in a) == ("high" in a), "low and high belong to scheme uniform, and to it alone")
    low, high = a.get("low", 0), a.get("high", 1)
    need(0 <= low <= high <= 1, f"low is {low} and high is {high}; 0 <= low <= high <= 1 is allowed")
    tables = tables_of(artifact)
    if tables is None:
        return
    need(a["scheme"] != "none", "there are sampling tables, but no probabilities that they are of")
    shapes = {"rows": (np.uint32, 2), "thresholds": (np.uint64, 1)}
    if explicit:
        shapes |= {"indices": (np.int32, 1), "accept": (np.uint32, 1)}
    found = {name: (table.dtype, table.ndim) for name, table in tables.items()}
    need(found == shapes, "the sampling tables are not those of the graph's scheme")
    rows = tables["rows"]
    need(len(rows) >= a["n"] and rows.shape[1] == 4, "tables/rows does not have a row of four numbers for each vertex")
    if explicit:
        need(len(tables["indices"]) == len(tables["accept"]) == a["m"], "tables/indices and accept must have m entries")
        heads = tables["indices"]
        need(np.all(heads >= 0) and np.all(heads < a["n"]), f"tables/indices holds values outside [0, {a['n']})")
    _check_rows(rows, len(tables["thresholds"]), a["n"], a["m"], explicit)


def _check_rows(rows: np.ndarray, thresholds: int, n: int, m: int, explicit: bool) -> None:
    """Check that rows of sampling tables stay within edges and thresholds, and lead on to later rows alone.

    As :func:`gpukit.worlds.tables.build_tables` describes them: a direct row has at most 64 edges; any other has as
    many thresholds as its kind says, and no more of them than edges.
    """
    start, length, meta, following = rows.astype(np.int64).T
    kind, offset = meta & 255, meta >> 8
    direct, own = (kind == 0) | (kind == 255), kind == 255
    right = start + length <= m
    right &= (following == 0) | ((following > np.maximum(np.arange(len(rows)), n - 1)) & (following < len(rows)))
    right &= np.where(direct, length <= MAX_LIVE, kind <= np.minimum(length, MAX_LIVE))
    right &= np.where(own, explicit, offset + np.maximum(kind, 1) <= thresholds)
    need(right.all(), f"row {int(np.argmin(right)) if len(right) else ''} of tables/rows leads out of the tables")


def tables_of(artifact: Artifact) -> dict[str, np.ndarray] | None:
    """Return the sampling tables that were read, by name; None without, or where they are of another version."""
    tables = {name.removeprefix("tables/"): a for name, a in artifact.arrays.items() if name.startswith("tables/")}
    return tables if tables and artifact.attributes.get("tables", 1) == TABLES else None


def check_rrsets_bounds(artifact: Artifact) -> None:
    """Check what says of which sets a file holds; raises InputError."""
    a = artifact.attributes
    need(artifact.seed is not None, "RR sets need a seed")
    need(1 <= a["rounds"] <= 255, f"rounds is {a['rounds']}; 1 to 255 are allowed")
    need(a["elements"] == a["n"] * a["rounds"] < 1 << 31, "elements must be n · rounds, less than 2^31")
    kept = a.get("sets", "plain") == "kept"
    need(kept or a.get("sets", "plain") == "plain", f"unknown sets {a.get('sets')!r}; kept and plain are allowed")
    need(kept == ("own" in artifact.checksums), "kept sets, and no others, have the dataset own")
    need(all((name in a) == kept for name in ("drawn", "gamma")), "kept sets, and no others, have drawn and gamma")
    need(("weights" in artifact.checksums) == ("decimals" in a), "weights and decimals belong together")
    need(0 <= a.get("decimals", 0) <= 9, f"decimals is {a.get('decimals')}; 0 to 9 are allowed")
    ids = a.get("drawn", a["count"])
    need(ids >= max(a["count"], 1), "there are no sets" if a["count"] < 1 else "there are more sets than sample ids")
    need(0 <= a["first"] and a["first"] + ids <= MAX_SAMPLE_ID, "sample ids must lie in [0, 2^48)")
    if kept:
        need(a["rounds"] == 1 and a["sampler"] == "skip", "kept sets are of one round and the sampler skip")
        need(a["gamma"] > 0 if a["count"] else a["gamma"] >= 0, f"gamma is {a['gamma']}, but there are sets")
        need(artifact.arrays["own"].max(initial=0) <= 1 << 63, "a chance in own exceeds one, 2^63")
    if "weights" in artifact.checksums:
        weights = artifact.arrays["weights"]
        need(np.all(weights >= 0), "weights must not be negative")
        need(0 < sum(weights.tolist()) < 1 << 63, "the sum of the weights must lie in [1, 2^63)")
    need(a["model"] in ("ic", "lt"), f"unknown model {a['model']!r}; ic and lt are allowed")
    need(a["sampler"] in ("skip", "scan"), f"unknown sampler {a['sampler']!r}; skip and scan are allowed")


def check_irw_bounds(artifact: Artifact) -> None:
    """Check parameters, and that no end has more frequencies than starts, which would lead a kernel out of its arrays.

    Raises
    ------
    InputError
        Also when rows are missing from an index that is not light.
    """
    arrays, a = artifact.arrays, artifact.attributes
    need(artifact.seed is not None, "inverted random walks need a seed")
    need(0 < a["alpha"] < 1 and 0 < a["epsilon"] <= 0.5, "alpha in (0, 1) and epsilon in (0, 0.5] are allowed")
    names = ("src_begin", "starts", "frequent_begin", "frequencies")
    for name in names:
        need((name in artifact.checksums) != a["light"], f"dataset {name} belongs to an irw that is not light")
    for name in ("factors", "moves", "paths"):
        need((name in artifact.checksums) == ("sized_for" in a), f"dataset {name} belongs to an irw with sized_for")
    if "moves" in arrays:
        need(not a["light"] and not a.get("weighted"), "an irw with paths is neither light nor weighted")
        need(a["sized_for"] >= 0 and bool(np.all(arrays["factors"] > 0)), "sizes of an irw must be positive")
        walks, steps = int(arrays["walks"].sum(dtype=np.int64)), int(arrays["moves"].sum(dtype=np.int64))
        need(len(arrays["moves"]) == walks and len(arrays["paths"]) == steps, "walks and their paths do not agree")
    if all(name in arrays for name in names):
        over = np.diff(arrays["frequent_begin"]) > np.diff(arrays["src_begin"])
        need(not over.any(), f"vertex {int(np.argmax(over)) if len(over) else ''} has more frequencies than starts")


def check_topk_bounds(artifact: Artifact) -> None:
    """Check the parameters of answers; raises InputError."""
    a = artifact.attributes
    need(0 < a["alpha"] < 1, f"alpha is {a['alpha']}; (0, 1) is allowed")
    need(0 < a.get("epsilon", 0.5) < 1, f"epsilon is {a.get('epsilon')}; (0, 1) is allowed")
    need(1 <= a["k"] <= a["n"], f"k is {a['k']}; 1 to n = {a['n']} are allowed")
    _check_part(artifact)


def _check_part(artifact: Artifact) -> None:
    """Check the parameter part: number, parts, and ids altogether."""
    part = artifact.params.get("part")
    if part is not None:
        whole = isinstance(part, list) and len(part) == 3 and all(type(number) is int for number in part)
        need(whole and 1 <= part[0] <= part[1] <= part[2], f"the parameter part is {part!r}; [I, N, TOTAL] is needed")


def check_campaign_bounds(artifact: Artifact) -> None:
    """Check what a program that goes on with a campaign relies on.

    Raises
    ------
    InputError
        If a parameter is out of range, or rounds are without seeds or without outcome.
    """
    a, arrays = artifact.attributes, artifact.arrays
    need(artifact.seed is not None, "a campaign needs a seed")
    need(1 <= a["eta"] <= a["n"] and 1 <= a["batch"] <= a["n"], "eta and batch must lie in [1, n]")
    need(0 < a["epsilon"] < 1, f"epsilon is {a['epsilon']}; (0, 1) is allowed")
    try:
        unit = Decimal(a["unit"])
    except InvalidOperation:
        unit = Decimal(0)
    need(unit.is_finite() and unit > 0, f"unit is {a['unit']!r}; a decimal number above 0 is needed")
    allowed = {
        "model": ("ic", "lt"),
        "update": ("coupled", "paper", "regenerate"),
        "ids": ("kept", "fresh"),
        "certificate": ("fresh", "paper"),
        "lt_residual": ("renormalised", "raw"),
        "costs": ("degree", "uniform", "file"),
    }
    for name, values in allowed.items():
        need(a[name] in values, f"unknown {name} {a[name]!r}; {' and '.join(values)} are allowed")
    need((a["costs"] == "file") == ("prices" in arrays), "prices go with costs from a file, and with no others")
    need(np.all(arrays.get("prices", np.ones(1, np.int64)) > 0), "prices must be above 0")
    need(np.all(np.diff(arrays["batch_begin"]) > 0), "a round has no seeds")
    outcomes = np.diff(arrays["activated_begin"])
    need(np.all((outcomes[:-1] if a["pending"] else outcomes) > 0), "a round has no outcome")
    need(not a["pending"] or (len(outcomes) > 0 and outcomes[-1] == 0), "the pending round has an outcome already")


def check_diversity_bounds(artifact: Artifact) -> None:
    """Check the parameters of a structural diversity search; raises InputError."""
    a = artifact.attributes
    need(a["model"] in ("comp", "core", "truss"), f"unknown model {a['model']!r}; comp, core and truss are allowed")
    need(a["k"] >= 1, f"k is {a['k']}; at least 1 is needed")
    t = artifact.params.get("t", len(artifact.arrays["vertices"]))
    need(type(t) is int and t >= len(artifact.arrays["vertices"]), f"the parameter t is {t!r}; the length is needed")
    _check_part(artifact)


def check_metrics(artifact: Artifact) -> None:
    """Check that the list of columns names the columns; raises InputError."""
    names = artifact.attributes["columns"]
    need(
        isinstance(names, list)
        and all(isinstance(name, str) for name in names)
        and sorted(f"columns/{name}" for name in names) == sorted(artifact.checksums),
        "the list of columns and the columns differ",
    )


BOUNDS: dict[str, Callable[[Artifact], None]] = {
    "graph": check_graph_bounds,
    "rrsets": check_rrsets_bounds,
    "campaign": check_campaign_bounds,
    "diversity": check_diversity_bounds,
    "irw": check_irw_bounds,
    "topk": check_topk_bounds,
    "metrics": check_metrics,
}
