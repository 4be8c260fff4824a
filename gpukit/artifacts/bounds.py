"""Bounds of each kind, checked at every reading: with values outside them a kernel could leave its arrays."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, InvalidOperation

import numpy as np

from gpukit.artifacts.artifact import Artifact
from gpukit.artifacts.labels import labels_of
from gpukit.artifacts.layout import INT32, SAMPLE_IDS, TABLES, UINT32, UINT64, Array, Kind
from gpukit.artifacts.structure import check_arrays, check_values, need, need_none
from gpukit.graph.csr import EXPLICIT, Graph, Weights

MAX_LIVE = 64

_TABLES = Kind(
    "set of sampling tables", TABLES, "what samplers draw by",
    (
        Array("rows", UINT32, ("size", "4"), "where the edges and thresholds of each vertex are"),
        Array("thresholds", UINT64, ("thresholds",), "of numbers of live edges"),
        Array("indices", INT32, ("m",), "heads", False, high="n", only=("scheme", EXPLICIT)),
        Array("accept", UINT32, ("m",), "chances of candidates", False, only=("scheme", EXPLICIT)),
    ),
)  # fmt: skip


def check_graph_bounds(artifact: Artifact) -> None:
    """Check the scheme, and that sampling tables keep samplers within their arrays; raises InputError."""
    a, names = artifact.attributes, artifact.checksums
    need(a["n"] < 1 << 31 and a["m"] < 1 << 32, "n must be less than 2^31, m less than 2^32")
    need(0 < a.get("p", 1) <= 1, f"p is {a.get('p')}; (0, 1] is allowed")
    low, high = a.get("low", 0), a.get("high", 1)
    need(0 <= low <= high <= 1, f"low is {low} and high is {high}; 0 <= low <= high <= 1 is allowed")
    if any(name.startswith("transpose/") for name in names):
        for name in ("pointers_to_1", "indices_1", "values", "probabilities"):
            both = (name in names) == (f"transpose/{name}" in names)
            need(both, f"the transpose and the graph differ in having {name}")
    tables = tables_of(artifact)
    if tables is None:
        return
    need(a["scheme"] != "none", "there are sampling tables, but no probabilities that they belong to")
    shapes = {name: (table.dtype, table.shape) for name, table in tables.items()}
    lengths = check_arrays(_TABLES, shapes, a)
    check_values(_TABLES, replace(artifact, arrays=tables, checksums=dict.fromkeys(tables, "")), lengths)
    rows, thresholds = tables["rows"], len(tables["thresholds"])
    need(len(rows) >= a["n"], "tables/rows does not have a row for each vertex")
    _check_rows(rows, thresholds, a["n"], a["m"], a["scheme"] in EXPLICIT)


def _check_rows(rows: np.ndarray, thresholds: int, n: int, m: int, explicit: bool) -> None:
    """Check that rows of sampling tables stay within edges and thresholds, and refer only to later rows.

    The format is that of :func:`gpukit.worlds.tables.build_tables`: a direct row has at most 64 edges. Any other row
    has as many thresholds as its kind says, and no more thresholds than edges.
    """
    start, length, meta, following = rows.astype(np.int64).T
    kind, offset = meta & 255, meta >> 8
    direct, own = (kind == 0) | (kind == 255), kind == 255
    right = start + length <= m
    right &= (following == 0) | ((following > np.maximum(np.arange(len(rows)), n - 1)) & (following < len(rows)))
    right &= np.where(direct, length <= MAX_LIVE, kind <= np.minimum(length, MAX_LIVE))
    right &= np.where(own, explicit, offset + np.maximum(kind, 1) <= thresholds)
    need_none(np.flatnonzero(~right), "row {} of tables/rows leads out of the tables")


def tables_of(artifact: Artifact) -> dict[str, np.ndarray] | None:
    """Return the sampling tables that were read, by name; None if the file has none of this version."""
    tables = {name.removeprefix("tables/"): a for name, a in artifact.arrays.items() if name.startswith("tables/")}
    return tables if tables and artifact.attributes.get("tables", 1) == TABLES else None


def graph_of(artifact: Artifact) -> Graph:
    """Return the graph of an artifact, without arrays that were not read."""
    get, attributes, labels = artifact.arrays.get, artifact.attributes, labels_of(artifact.arrays)
    return Graph(
        indptr=artifact.arrays["pointers_to_1"],
        indices=artifact.arrays["indices_1"],
        ids=get("ids"),
        labels=labels and labels.joined(attributes["facts"]),
        weights=Weights.of(attributes),
        probabilities=get("probabilities"),
        in_indptr=get("transpose/pointers_to_1"),
        in_indices=get("transpose/indices_1"),
        in_probabilities=get("transpose/probabilities"),
        undirected=attributes["undirected"],
        facts=attributes["facts"],
    )


def check_rrsets_bounds(artifact: Artifact) -> None:
    """Check the attributes that say which RR sets a file holds; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    need(artifact.seed is not None, "RR sets need a seed")
    need(a["elements"] == a["n"] * a["rounds"] < 1 << 31, "elements must be n · rounds, less than 2^31")
    kept = a.get("sets") == "kept"
    ids = a.get("drawn", a["count"])
    need(ids >= max(a["count"], 1), "there are no sets, or there are more sets than sample ids")
    need(a["first"] + ids <= SAMPLE_IDS, "sample ids must lie in [0, 2^48)")
    if kept:
        need(a["rounds"] == 1 and a["sampler"] == "skip", "kept sets need one round and the sampler skip")
        need(a["gamma"] >= min(a["count"], 1), f"gamma is {a['gamma']}, but there are sets")
    if "weights" in arrays:
        need(0 < sum(arrays["weights"].tolist()) < 1 << 63, "the sum of the weights must lie in [1, 2^63)")


def check_irw_bounds(artifact: Artifact) -> None:
    """Check parameters, and that no vertex has more frequencies than starts.

    Otherwise kernels would access memory outside their arrays.

    Raises
    ------
    InputError
        Also if an index that is not light lacks rows.
    """
    arrays, a = artifact.arrays, artifact.attributes
    need(artifact.seed is not None, "inverted random walks need a seed")
    need(a["epsilon"] <= 0.5, "epsilon is more than 0.5")
    if "moves" in arrays:
        need(not a["light"], "an irw with paths is not light")
        walks, steps = (arrays[name].sum(dtype=np.int64) for name in ("walks", "moves"))
        need((len(arrays["moves"]), len(arrays["paths"])) == (walks, steps), "walks and their paths do not agree")
    if "names" in arrays:
        need("moves" in arrays, "an irw with names has paths")
        need(len(np.unique(arrays["names"])) == a["n"], "two vertices have one name")
    if "starts" in arrays:
        over = np.diff(arrays["frequent_begin"]) > np.diff(arrays["src_begin"])
        need_none(np.flatnonzero(over), "vertex {} has more frequencies than starts")


def check_topk_bounds(artifact: Artifact) -> None:
    """Check the parameters of answers; raises InputError."""
    a = artifact.attributes
    need(a["k"] <= a["n"], "k is more than n")
    _check_part(artifact)


def _check_part(artifact: Artifact) -> None:
    """Check the parameter part: number of the part, number of parts, and total ids."""
    part = artifact.params.get("part")
    if part is not None:
        whole = isinstance(part, list) and [type(number) for number in part] == [int] * 3
        need(whole and 1 <= part[0] <= part[1] <= part[2], f"the parameter part is {part!r}; [I, N, TOTAL] is needed")


def check_campaign_bounds(artifact: Artifact) -> None:
    """Check the data of a campaign that its continuation relies on.

    Raises
    ------
    InputError
        If a parameter is out of range, or a round lacks seeds or an outcome.
    """
    a, arrays = artifact.attributes, artifact.arrays
    need(artifact.seed is not None, "a campaign needs a seed")
    need(max(a["eta"], a["batch"]) <= a["n"], "eta and batch must lie in [1, n]")
    try:
        unit = Decimal(a["unit"])
    except InvalidOperation:
        unit = Decimal(0)
    need(unit.is_finite() and unit > 0, f"unit is {a['unit']!r}; a decimal number above 0 is needed")
    need(np.all(np.diff(arrays["batch_begin"]) > 0), "a round has no seeds")
    outcomes = np.diff(arrays["activated_begin"])
    need(np.all((outcomes[:-1] if a["pending"] else outcomes) > 0), "a round has no outcome")
    need(not a["pending"] or (len(outcomes) > 0 and outcomes[-1] == 0), "the pending round has an outcome already")


def check_diversity_bounds(artifact: Artifact) -> None:
    """Check the parameters of a structural diversity search; raises InputError."""
    t = artifact.params.get("t", len(artifact.arrays["vertices"]))
    need(type(t) is int and t >= len(artifact.arrays["vertices"]), f"the parameter t is {t!r}; the length is needed")
    _check_part(artifact)


def check_egonets_bounds(artifact: Artifact) -> None:
    """Check that edges lie within their ego-networks; raises InputError."""
    arrays = artifact.arrays
    sizes = np.diff(arrays["node_begin"])
    limits = np.repeat(np.repeat(sizes, sizes), np.diff(arrays["indptr"]))
    need(np.all(arrays["indices"] < limits), "a head lies outside its ego-network")


def check_metrics(artifact: Artifact) -> None:
    """Check that the list of column names fits the columns; raises InputError."""
    names = artifact.attributes["columns"]
    listed = isinstance(names, list) and sorted(f"columns/{name}" for name in names) == sorted(artifact.checksums)
    need(listed, "the list of columns and the columns differ")


BOUNDS: dict[str, Callable[[Artifact], None]] = {
    "graph": check_graph_bounds,
    "rrsets": check_rrsets_bounds,
    "campaign": check_campaign_bounds,
    "diversity": check_diversity_bounds,
    "egonets": check_egonets_bounds,
    "irw": check_irw_bounds,
    "topk": check_topk_bounds,
    "metrics": check_metrics,
}
