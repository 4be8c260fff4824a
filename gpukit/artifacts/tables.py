"""Artifacts as tables: rows in the order of the file, vertices by their external names, plain units."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpukit.artifacts.artifact import Artifact, given
from gpukit.artifacts.bounds import graph_of
from gpukit.artifacts.checks import tails_of
from gpukit.artifacts.labels import Texts, labels_of, some_labels_of
from gpukit.errors import UsageError
from gpukit.graph.csr import Graph
from gpukit.graph.lines import source_words
from gpukit.wording import spelled

CHUNK = 1 << 20
"""Rows per piece."""

MASS = 2.0**-62
"""The unit of PageRank in files, as a probability."""

Columns = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table that is produced in pieces.

    Attributes
    ----------
    rows : int
        Number of rows.
    take : callable
        ``take(first, last)`` returns the columns of rows first … last - 1: arrays or lists by name, with None for
        missing values.
    """

    rows: int
    take: Callable[[int, int], Columns]

    def chunks(self) -> Iterator[Columns]:
        """Yield the columns of the table's pieces; an empty table has one piece without rows."""
        for first in range(0, max(self.rows, 1), CHUNK):
            yield self.take(first, min(first + CHUNK, self.rows))


class _Names:
    """The external names of the vertices of an artifact, from its own labels or from its graph, if given."""

    def __init__(self, artifact: Artifact, graph: Graph | None) -> None:
        self.graph = graph
        self._labels: Texts | None = some_labels_of([artifact]) or (None if graph is None else graph.labels)

    def of_numbers(self, numbers: np.ndarray) -> np.ndarray:
        """Return the external names of vertices given by original ids."""
        if self._labels is None:
            return numbers
        distinct, places = np.unique(numbers, return_inverse=True)
        return self._labels.texts(distinct)[places]

    def of_internal(self, vertices: np.ndarray) -> np.ndarray:
        """Return the external names of vertices given by internal ids."""
        if self._labels is None:
            assert self.graph is not None
            return self.graph.numbers(vertices)
        return self.of_numbers(vertices)


def table_of(artifact: Artifact, graph: Graph | None = None) -> Table:
    """Return an artifact as a table.

    Parameters
    ----------
    artifact : Artifact
        The artifact, read in full.
    graph : Graph, optional
        The graph it was computed on: for degrees, and for names of vertices if the file has only internal ids.

    Raises
    ------
    UsageError
        If the graph is required and not given.
    """
    kind = artifact.kind
    if kind in ("pagerank", "irw", "contexts") and graph is None:
        raise UsageError(f"a {kind} artifact holds no ids of vertices; give its graph by {spelled('graph')}")
    return _TABLES[kind](artifact, _Names(artifact, graph))


def whole(columns: Columns) -> Table:
    """Return a table of complete columns."""
    rows = len(next(iter(columns.values()))) if columns else 0
    return Table(rows, lambda first, last: {name: column[first:last] for name, column in columns.items()})


def _or_nothing(values: list[Any], kind: str) -> Any:
    """Return a column with missing values (None) as a pandas array."""
    import pandas as pd

    return pd.array(values, dtype=kind)


def _graph(artifact: Artifact, _: _Names) -> Table:
    """Return the directed edges, with their probabilities if the graph has any."""
    graph = graph_of(artifact)
    starts, heads = graph.indptr, graph.indices
    names = _Names(artifact, graph)
    words = None
    if graph.weights.scheme != "none":
        from gpukit.graph.probabilities import out_probabilities

        words = out_probabilities(graph)

    def take(first: int, last: int) -> Columns:
        places = np.arange(first, last)
        tails = np.searchsorted(starts, places, side="right") - 1
        columns: Columns = {"source": names.of_internal(tails), "target": names.of_internal(heads[first:last])}
        return columns if words is None else columns | {"probability": (words[first:last] + 1.0) * 2.0**-32}

    return Table(len(heads), take)


def _seeds(artifact: Artifact, names: _Names) -> Table:
    get, seeds, rounds = artifact.arrays.get, artifact.arrays["seeds"], artifact.arrays.get("rounds")
    degrees = get("degrees") if names.graph is None else np.diff(names.graph.indptr)[artifact.arrays["internal"]]
    rounds = None if rounds is None else rounds + 1
    columns = {"order": np.arange(1, len(seeds) + 1), "vertex": names.of_numbers(seeds), "round": rounds}
    return whole(given({**columns, "gain": get("gains"), "spread_gain": get("spread_gains"), "degree": degrees}))


def _topk(artifact: Artifact, names: _Names) -> Table:
    arrays = artifact.arrays
    query = tails_of(arrays["offsets"])
    found = _sources(artifact, names)
    sources = np.array(found, object if found and isinstance(found[0], str) else np.int64)
    certain: Columns = {"certain": arrays["certain"].view(np.bool_)} if "certain" in arrays else {}
    return whole(
        {
            "query": query + 1,
            "source": sources[query],
            "place": np.arange(len(query)) - arrays["offsets"][:-1][query] + 1,
            "vertex": names.of_numbers(arrays["nodes"]),
            "score": arrays["scores"] * MASS,
            **certain,
        }
    )


def _sources(artifact: Artifact, names: _Names) -> list[Any]:
    """Return the source of each query: the vertex's name, or all in the syntax of ``--source`` if one has several."""
    arrays = artifact.arrays
    offsets, vertices, mass = arrays["source_offsets"], arrays["sources"], arrays["source_mass"] * MASS
    if names.graph is None and "labels/vertices" not in arrays:
        # An answer nearly always contains its sources, and so their ids.
        known = dict(zip(arrays["internal"].tolist(), arrays["nodes"].tolist(), strict=True))
        try:
            called = [known[vertex] for vertex in vertices.tolist()]
        except KeyError:
            raise UsageError(
                f"the file does not hold the ids of all sources; give its graph by {spelled('graph')}"
            ) from None
    else:
        called = names.of_internal(vertices).tolist()
    if len(called) == len(offsets) - 1:
        return called
    shares = mass.tolist()
    return [",".join(source_words(called[start:end], shares[start:end])) for start, end in pairwise(offsets.tolist())]


def _of_rows(names: str, rows: list[tuple[Any, ...]]) -> Columns:
    """Return the columns of rows; ``names`` lists the column names."""
    return {name: [row[i] for row in rows] for i, name in enumerate(names.split())}


def _campaign(artifact: Artifact, names: _Names) -> Table:
    """Return, for each round, a row per seed in order of choice, then a row per other vertex that it activated."""
    arrays, rows = artifact.arrays, []
    costs = (arrays["cost"] * float(artifact.attributes["unit"])).round(9).tolist()  # 1.85, not 1.8499999999999999
    batches = np.split(arrays["seeds"], arrays["batch_begin"][1:-1])
    reached = np.split(arrays["activated"], arrays["activated_begin"][1:-1])
    spans = pairwise(arrays["first_round"].tolist())
    for campaign, (world, span) in enumerate(zip(arrays["worlds"].tolist(), spans, strict=True), 1):
        for place, r in enumerate(range(*span), 1):
            seeds, active = batches[r].tolist(), reached[r].tolist()
            ordered = [*enumerate(seeds, 1), *((None, vertex) for vertex in sorted({*active} - {*seeds}))]
            about = campaign, None if world < 0 else world, place
            rows += [(*about, order, vertex, True if active else None, costs[r]) for order, vertex in ordered]
    columns = _of_rows("campaign world round order vertex activated round_cost", rows)
    columns["vertex"] = names.of_numbers(np.array(columns["vertex"], np.int64))
    columns |= {name: _or_nothing(columns[name], "Int64") for name in ("world", "order")}
    return whole(columns | {"activated": _or_nothing(columns["activated"], "boolean")})


def _diversity(artifact: Artifact, names: _Names) -> Table:
    """Return a row for each member of each context; a vertex without contexts has one row without a member."""
    arrays, rows = artifact.arrays, []
    members = names.of_numbers(arrays["members"])
    contexts = [part.tolist() for part in np.split(members, arrays["offsets"][1:-1])]
    scores = arrays["scores"].tolist()
    tied = Counter(scores)
    answers = zip(names.of_numbers(arrays["vertices"]).tolist(), scores, strict=True)
    for place, ((vertex, score), span) in enumerate(zip(answers, pairwise(arrays["first"].tolist()), strict=True), 1):
        held: list[Any] = [(circle, member) for circle, i in enumerate(range(*span), 1) for member in contexts[i]]
        rows += [(place, vertex, score, tied[score], *one) for one in held or [(None, None)]]
    columns = _of_rows("rank vertex score tied circle member", rows)
    columns["circle"] = _or_nothing(columns["circle"], "Int64")
    kind = "Int64" if len(members) and members.dtype.kind != "O" else "string"
    return whole(columns | {"member": _or_nothing(columns["member"], kind)})


def _egonets(artifact: Artifact, names: _Names) -> Table:
    """Return each edge between two neighbours of a centre once."""
    arrays = artifact.arrays
    tails = tails_of(arrays["indptr"])
    ego = tails_of(arrays["node_begin"])[tails]
    heads = arrays["node_begin"][ego] + arrays["indices"]
    once = tails < heads
    columns = {"centre": arrays["centres"][ego], "source": arrays["nodes"][tails], "target": arrays["nodes"][heads]}
    return whole({name: names.of_numbers(column[once]) for name, column in columns.items()})


def _contexts(artifact: Artifact, names: _Names) -> Table:
    """Return a row for each vertex with contexts, for each k of each model, in the order of a search."""
    arrays, parts = artifact.arrays, []
    for model in ("comp", "core", "truss"):
        first = arrays[f"{model}/first"]
        k = tails_of(first)
        ranks = np.arange(len(k)) - first[k] + 1
        parts.append((np.full(len(k), model, object), k, ranks, arrays[f"{model}/vertices"], arrays[f"{model}/scores"]))
    columns = dict(
        zip(("model", "k", "rank", "vertex", "score"), map(np.concatenate, zip(*parts, strict=True)), strict=True)
    )
    return whole(columns | {"vertex": names.of_internal(columns["vertex"])})


def _decomposition(artifact: Artifact, names: _Names) -> Table:
    arrays = artifact.arrays
    columns: Columns = {"source": names.of_numbers(arrays["tails"]), "target": names.of_numbers(arrays["heads"])}
    columns["trussness"] = arrays["trussness"]
    if names.graph is not None:
        for side, end in (("source", "tails"), ("target", "heads")):
            columns[f"{side}_coreness"] = arrays["coreness"][names.graph.of_numbers(arrays[end])]
    return whole(columns)


def _pagerank(artifact: Artifact, names: _Names) -> Table:
    arrays = artifact.arrays
    places, order = np.zeros(len(arrays["pagerank"]), int), arrays["order"]
    places[order] = np.arange(1, len(order) + 1)
    vertices, ranks = names.of_internal(np.arange(len(places))), [place or None for place in places.tolist()]
    return whole({"vertex": vertices, "pagerank": arrays["pagerank"] * MASS, "pro_rank": _or_nothing(ranks, "Int64")})


def _irw(artifact: Artifact, names: _Names) -> Table:
    arrays = artifact.arrays
    vertices = names.of_internal(np.arange(len(arrays["walks"])))
    return whole({"vertex": vertices, "walks": arrays["walks"], "arrivals": arrays["arrivals"]})


def _rrsets(artifact: Artifact, _: _Names) -> Table:
    """Return the members of all sets. Sets are named by sample ids, or numbered from 0 if trivial sets are left out."""
    arrays, a = artifact.arrays, artifact.attributes
    n, offsets, members = a["n"], arrays["offsets"], arrays["members"]
    base = 0 if "own" in arrays else a["first"]
    none = np.zeros(n + 1, np.int64)  # the file itself has the names of all vertices, like a graph
    names = _Names(artifact, Graph(none, np.zeros(0, np.int32), arrays.get("ids"), labels=labels_of(arrays)))

    def take(first: int, last: int) -> Columns:
        sets = np.searchsorted(offsets, np.arange(first, last), side="right") - 1
        vertices = members[first:last] % n
        columns: Columns = {"set": sets + base, "vertex": names.of_internal(vertices)}
        return columns | ({"round": members[first:last] // n + 1} if a["rounds"] > 1 else {})

    return Table(len(members), take)


def _metrics(artifact: Artifact, names: _Names) -> Table:
    columns: Columns = {name: artifact.arrays[f"columns/{name}"] for name in artifact.attributes["columns"]}
    if artifact.attributes.get("metric") == "reach":
        columns["vertex"] = names.of_numbers(columns["vertex"])
    return whole(columns)


_TABLES: dict[str, Callable[[Artifact, _Names], Table]] = {
    "graph": _graph,
    "rrsets": _rrsets,
    "seeds": _seeds,
    "pagerank": _pagerank,
    "irw": _irw,
    "topk": _topk,
    "campaign": _campaign,
    "egonets": _egonets,
    "diversity": _diversity,
    "contexts": _contexts,
    "decomposition": _decomposition,
    "metrics": _metrics,
}
