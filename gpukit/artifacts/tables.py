"""Artifacts as tables: rows in the order of the file, vertices as people call them, plain units."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpukit.artifacts.artifact import Artifact
from gpukit.artifacts.labels import Texts, labels_of, some_labels_of
from gpukit.errors import UsageError
from gpukit.graph.csr import Graph, Weights
from gpukit.graph.lines import source_words

CHUNK = 1 << 20
"""Rows made at a time."""

MASS = 2.0**-62
"""The unit of PageRank in files, as a probability."""

Columns = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table that is made piece by piece.

    Attributes
    ----------
    rows : int
        Number of rows.
    take : callable
        ``take(first, last)`` returns the columns of rows first … last - 1: arrays or lists by name, None where a row
        has no value.
    """

    rows: int
    take: Callable[[int, int], Columns]

    def chunks(self) -> Iterator[Columns]:
        """Yield the columns of pieces of the table; at least one, of no rows where it has none."""
        for first in range(0, max(self.rows, 1), CHUNK):
            yield self.take(first, min(first + CHUNK, self.rows))


class _Names:
    """What people call the vertices of an artifact, by what it says itself and by its graph where that is given."""

    def __init__(self, artifact: Artifact, graph: Graph | None) -> None:
        self.graph = graph
        self._labels: Texts | None = some_labels_of([artifact]) or (None if graph is None else graph.labels)

    def of_numbers(self, numbers: np.ndarray) -> np.ndarray:
        """Return what vertices are called that a file names by their original ids."""
        if self._labels is None:
            return numbers
        distinct, places = np.unique(numbers, return_inverse=True)
        return self._labels.texts(distinct)[places]

    def of_internal(self, vertices: np.ndarray) -> np.ndarray:
        """Return what vertices are called that a file names by internal ids."""
        if self._labels is None:
            assert self.graph is not None
            return self.graph.numbers(vertices)
        return self.of_numbers(vertices)


def table_of(artifact: Artifact, graph: Graph | None = None) -> Table:
    """Return an artifact as a table.

    Parameters
    ----------
    artifact : Artifact
        Read in full.
    graph : Graph, optional
        The graph it was made on: for degrees, and for the names of vertices where the file has internal ids alone.

    Raises
    ------
    UsageError
        If the graph is needed and not given.
    """
    kind = artifact.kind
    if kind in ("pagerank", "irw", "contexts") and graph is None:
        raise UsageError(f"a {kind} artifact holds no ids of vertices; give its graph by --graph")
    return _TABLES[kind](artifact, _Names(artifact, graph))


def _whole(columns: Columns) -> Table:
    """Return a table of columns that are there."""
    rows = len(next(iter(columns.values()))) if columns else 0
    return Table(rows, lambda first, last: {name: column[first:last] for name, column in columns.items()})


def _or_nothing(values: list[Any], kind: str) -> Any:
    """Return a column in which a row may have no value, None, as an array of pandas."""
    import pandas as pd

    return pd.array(values, dtype=kind)


def _graph(artifact: Artifact, _: _Names) -> Table:
    """Return the directed edges, each with its probability unless the graph has none."""
    arrays, a = artifact.arrays, artifact.attributes
    starts, heads = arrays["pointers_to_1"], arrays["indices_1"]
    weights = Weights.of(a)
    graph = Graph(starts, heads, arrays.get("ids"), weights, arrays.get("probabilities"), labels=labels_of(arrays))
    names = _Names(artifact, graph)
    words = None
    if weights.scheme != "none":
        from gpukit.graph.probabilities import out_probabilities

        words = out_probabilities(graph)

    def take(first: int, last: int) -> Columns:
        places = np.arange(first, last)
        tails = np.searchsorted(starts, places, side="right") - 1
        columns: Columns = {"source": names.of_internal(tails), "target": names.of_internal(heads[first:last])}
        return columns if words is None else columns | {"probability": (words[first:last] + 1.0) * 2.0**-32}

    return Table(len(heads), take)


def _seeds(artifact: Artifact, names: _Names) -> Table:
    arrays = artifact.arrays
    columns: Columns = {"order": np.arange(1, len(arrays["seeds"]) + 1), "vertex": names.of_numbers(arrays["seeds"])}
    if "rounds" in arrays:
        columns["round"] = arrays["rounds"] + 1
    if "gains" in arrays:
        columns["gain"] = arrays["gains"]
    if "spread_gains" in arrays:
        columns["spread_gain"] = arrays["spread_gains"]
    if names.graph is not None:
        columns["degree"] = np.diff(names.graph.indptr)[arrays["internal"]]
    elif "degrees" in arrays:
        columns["degree"] = arrays["degrees"]
    return _whole(columns)


def _topk(artifact: Artifact, names: _Names) -> Table:
    arrays = artifact.arrays
    lengths = np.diff(arrays["offsets"])
    query = np.repeat(np.arange(len(lengths)), lengths)
    found = _sources(artifact, names)
    sources = np.array(found, object if found and isinstance(found[0], str) else np.int64)
    certain: Columns = {"certain": arrays["certain"].view(np.bool_)} if "certain" in arrays else {}
    return _whole(
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
    """Return the source of each query: what the vertex is called; if any has several, all in words of ``--source``."""
    arrays = artifact.arrays
    offsets, vertices, mass = arrays["source_offsets"], arrays["sources"], arrays["source_mass"] * MASS
    if names.graph is None and "labels/vertices" not in arrays:
        # An answer nearly always holds its sources, and with them their ids.
        known = dict(zip(arrays["internal"].tolist(), arrays["nodes"].tolist(), strict=True))
        if any(vertex not in known for vertex in vertices.tolist()):
            raise UsageError("the file does not hold the ids of all sources; give its graph by --graph")
        called = [known[vertex] for vertex in vertices.tolist()]
    else:
        called = names.of_internal(vertices).tolist()
    if len(called) == len(offsets) - 1:
        return called
    shares = mass.tolist()
    return [",".join(source_words(called[start:end], shares[start:end])) for start, end in pairwise(offsets.tolist())]


def _campaign(artifact: Artifact, names: _Names) -> Table:
    """Return a row for each seed of a round, in order of choice, and behind them for what else it activated."""
    arrays, a = artifact.arrays, artifact.attributes
    cost = arrays["cost"] * float(a["unit"])
    columns: Columns = {
        name: [] for name in ("campaign", "world", "round", "order", "vertex", "activated", "round_cost")
    }
    for campaign, world in enumerate(arrays["worlds"].tolist(), 1):
        for place, r in enumerate(range(*arrays["first_round"][campaign - 1 : campaign + 1].tolist()), 1):
            seeds = arrays["seeds"][arrays["batch_begin"][r] : arrays["batch_begin"][r + 1]].tolist()
            active = arrays["activated"][arrays["activated_begin"][r] : arrays["activated_begin"][r + 1]].tolist()
            others = sorted(set(active) - set(seeds))
            size = len(seeds) + len(others)
            columns["campaign"] += [campaign] * size
            columns["world"] += [None if world < 0 else world] * size
            columns["round"] += [place] * size
            columns["order"] += [*range(1, len(seeds) + 1), *[None] * len(others)]
            columns["vertex"] += [*seeds, *others]
            columns["activated"] += [True if active else None] * size
            columns["round_cost"] += [cost[r]] * size
    columns["vertex"] = names.of_numbers(np.array(columns["vertex"], np.int64))
    columns["activated"] = _or_nothing(columns["activated"], "boolean")
    return _whole(columns | {name: _or_nothing(columns[name], "Int64") for name in ("world", "order")})


def _diversity(artifact: Artifact, names: _Names) -> Table:
    """Return a row for each member of each context; one without a member for a vertex without contexts."""
    arrays = artifact.arrays
    columns: Columns = {name: [] for name in ("rank", "vertex", "score", "tied", "circle", "member")}
    tied = dict(zip(*(some.tolist() for some in np.unique(arrays["scores"], return_counts=True)), strict=True))
    called = names.of_numbers(arrays["vertices"]).tolist()
    members, offsets = names.of_numbers(arrays["members"]).tolist(), arrays["offsets"].tolist()
    for place, vertex in enumerate(called):
        first, last = arrays["first"][place : place + 2].tolist()
        rows = [(i - first + 1, one) for i in range(first, last) for one in members[offsets[i] : offsets[i + 1]]]
        rows = rows or [(None, None)]
        columns["rank"] += [place + 1] * len(rows)
        columns["vertex"] += [vertex] * len(rows)
        columns["score"] += [int(arrays["scores"][place])] * len(rows)
        columns["tied"] += [tied[int(arrays["scores"][place])]] * len(rows)
        columns["circle"] += [circle for circle, _ in rows]
        columns["member"] += [one for _, one in rows]
    columns["circle"] = _or_nothing(columns["circle"], "Int64")
    kind = "Int64" if members and not isinstance(members[0], str) else "string"
    return _whole(columns | {"member": _or_nothing(columns["member"], kind)})


def _egonets(artifact: Artifact, names: _Names) -> Table:
    """Return each edge between two friends of a centre once."""
    arrays = artifact.arrays
    tails = np.repeat(np.arange(len(arrays["nodes"])), np.diff(arrays["indptr"]))
    ego = np.searchsorted(arrays["node_begin"], tails, side="right") - 1
    heads = arrays["node_begin"][ego] + arrays["indices"]
    once = tails < heads
    columns = {"centre": arrays["centres"][ego], "source": arrays["nodes"][tails], "target": arrays["nodes"][heads]}
    return _whole({name: names.of_numbers(column[once]) for name, column in columns.items()})


def _contexts(artifact: Artifact, names: _Names) -> Table:
    """Return a row for each vertex that has contexts, for each k of each model, in the order of a search."""
    arrays, models = artifact.arrays, ("comp", "core", "truss")
    vertices, scores = (
        np.concatenate([arrays[f"{model}/{name}"] for model in models]) for name in ("vertices", "scores")
    )
    lengths = [np.diff(arrays[f"{one}/first"]) for one in models]
    starts = np.cumsum(np.append(0, np.concatenate(lengths)))
    model = np.repeat(np.array(models, object), [len(one) for one in lengths])
    k = np.concatenate([np.arange(len(one)) for one in lengths])

    def take(first: int, last: int) -> Columns:
        places = np.arange(first, last)
        part = np.searchsorted(starts, places, side="right") - 1
        columns: Columns = {"model": model[part], "k": k[part], "rank": places - starts[part] + 1}
        return columns | {"vertex": names.of_internal(vertices[first:last]), "score": scores[first:last]}

    return Table(len(vertices), take)


def _decomposition(artifact: Artifact, names: _Names) -> Table:
    arrays = artifact.arrays
    columns: Columns = {"source": names.of_numbers(arrays["tails"]), "target": names.of_numbers(arrays["heads"])}
    columns["trussness"] = arrays["trussness"]
    if names.graph is not None:
        for side, end in (("source", "tails"), ("target", "heads")):
            columns[f"{side}_coreness"] = arrays["coreness"][names.graph.of_numbers(arrays[end])]
    return _whole(columns)


def _pagerank(artifact: Artifact, names: _Names) -> Table:
    arrays = artifact.arrays
    places: list[int | None] = [None] * len(arrays["pagerank"])
    for place, vertex in enumerate(arrays["order"].tolist(), 1):
        places[vertex] = place
    vertices = names.of_internal(np.arange(len(places)))
    scores = arrays["pagerank"] * MASS
    return _whole({"vertex": vertices, "pagerank": scores, "pro_rank": _or_nothing(places, "Int64")})


def _irw(artifact: Artifact, names: _Names) -> Table:
    arrays = artifact.arrays
    vertices = names.of_internal(np.arange(len(arrays["walks"])))
    return _whole({"vertex": vertices, "walks": arrays["walks"], "arrivals": arrays["arrivals"]})


def _rrsets(artifact: Artifact, _: _Names) -> Table:
    """Return the members of all sets, called by their sample ids, or numbered from 0 where some are left out."""
    arrays, a = artifact.arrays, artifact.attributes
    n, offsets, members = a["n"], arrays["offsets"], arrays["members"]
    base = 0 if "own" in arrays else a["first"]
    none = np.zeros(n + 1, np.int64)  # the file has the names of all vertices itself, as a graph has them
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
    return _whole(columns)


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
