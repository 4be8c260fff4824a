"""Checks of the meaning of each kind's numbers, beyond types, shapes and bounds; done in full once per file."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import h5py
import numpy as np

from gpukit.artifacts.artifact import Artifact, Header, canonical_json
from gpukit.artifacts.bounds import graph_of, tables_of
from gpukit.artifacts.structure import need, need_none, rows_ascend

Matrix = tuple[np.ndarray, np.ndarray, np.ndarray]


def tails_of(starts: np.ndarray) -> np.ndarray:
    """Return the row of each entry (int64)."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def is_transpose(first: Matrix, second: Matrix) -> bool:
    """Return whether a matrix is the transpose of another; the rows of both are ascending.

    Parameters
    ----------
    first, second : tuple of indptr, indices, words
        int64 (n + 1,), integers (m,), and uint32 (m,) or (0,): a word per edge, moved along; of equal lengths in both.
    """
    starts, heads, words = first
    order = np.argsort(heads, kind="stable")
    found = tails_of(starts)[order], heads[order], words[order[: len(words)]]
    return all(map(np.array_equal, found, (second[1], tails_of(second[0]), second[2])))


def check_graph(artifact: Artifact) -> None:
    """Check rows, loops, ids, symmetry and the transpose of a graph; raises InputError."""
    arrays, a = artifact.arrays, artifact.attributes
    starts, heads, none = arrays["pointers_to_1"], arrays["indices_1"], np.empty(0, np.uint32)
    need_none(heads[heads == tails_of(starts)], "vertex {} has an edge to itself")
    if a["undirected"]:
        symmetric = is_transpose((starts, heads, none), (starts, heads, none))
        need(symmetric, "the graph is marked undirected but has an edge in one direction only")
    if "transpose/pointers_to_1" in arrays:
        back = arrays["transpose/pointers_to_1"], arrays["transpose/indices_1"]
        words, others = arrays.get("probabilities", none), arrays.get("transpose/probabilities", none)
        same = is_transpose((starts, heads, words), (*back, others))
        need(same, "the group transpose is not the transpose")


def check_tables(artifact: Artifact) -> None:
    """Build the sampling tables of a graph again, and compare; raises InputError."""
    tables = tables_of(artifact)
    if tables is None:
        return
    from gpukit.worlds.tables import build_tables

    need("transpose/indices_1" in artifact.arrays, "there are sampling tables, but no transpose that they belong to")
    for name, expected in build_tables(graph_of(artifact)).items():
        need(np.array_equal(tables[name], expected), f"tables/{name} does not fit the graph")


def _check_originals(original: np.ndarray, internal: np.ndarray, what: str) -> None:
    """Check that original ids can belong to the internal ones: vertex v has the (v + 1)-th smallest original id.

    So original ids differ by at least as much as internal ones, and equal vertices have equal ids.
    """
    order = np.lexsort((original, internal))
    ahead, again = np.diff((original - internal)[order], prepend=0), np.diff(internal[order], prepend=-1) == 0
    need(np.all(ahead >= 0) and not ahead[again].any(), f"{what}: original and internal ids do not belong together")


def check_rrsets(artifact: Artifact) -> None:
    """Check sizes and order of RR sets and their ids; raises InputError."""
    a, offsets = artifact.attributes, artifact.arrays["offsets"]
    sizes = np.diff(offsets)
    need_none(np.flatnonzero(sizes == 0) + a["first"], "set {} is empty; every set holds its root")
    if "own" in artifact.arrays:
        from gpukit.worlds.trivial import kept_mass

        need_none(np.flatnonzero(sizes < 2), "set {} is trivial, but trivial sets are left out")
        gamma = kept_mass(artifact.arrays["own"], artifact.arrays.get("weights"))
        need(gamma == a["gamma"], "gamma does not fit own and the weights")


def check_seeds(artifact: Artifact) -> None:
    """Check that seeds are distinct vertices, with matching ids; raises InputError."""
    arrays = artifact.arrays
    rounds = arrays.get("rounds", np.zeros(len(arrays["seeds"]), np.int32))
    pairs = np.stack((arrays["internal"], rounds), axis=1)
    need(len(np.unique(pairs, axis=0)) == len(pairs), "dataset internal names a vertex twice in one round")
    _check_originals(arrays["seeds"], arrays["internal"], "seeds")


def check_pagerank(artifact: Artifact) -> None:
    """Check that PageRank sums to one, and that the PRO-rank list names no vertex twice; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    spread = sum(arrays["pagerank"].tolist()) + a["remaining"]
    need(not a["n"] or spread == 1 << 62, "PageRank and the remaining mass do not sum to one")
    need(len(np.unique(arrays["order"])) == len(arrays["order"]), "the PRO-rank list names a vertex twice")


def check_irw(artifact: Artifact) -> None:
    """Check that start lists are ascending and fit the numbers of walks from and to each vertex; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    walks, arrivals = arrays["walks"], arrays["arrivals"]
    need(sum(walks.tolist()) == sum(arrivals.tolist()), "as many walks must end as start")
    if "moves" in arrays:
        last = np.cumsum(arrays["moves"], dtype=np.int64) - 1
        ends = np.repeat(np.arange(a["n"]), walks)
        ends[arrays["moves"] > 0] = arrays["paths"][last[arrays["moves"] > 0]]
        need(np.array_equal(np.bincount(ends, minlength=a["n"]), arrivals), "paths and where walks end do not agree")
    if "starts" not in arrays:
        return
    # A start list has two ascending rows: starts with a frequency, then starts of a single walk.
    begin, first, starts = arrays["src_begin"], arrays["frequent_begin"], arrays["starts"]
    often = np.diff(first)
    rows_ascend(np.append(np.stack([begin[:-1], begin[:-1] + often], axis=1), begin[-1]), starts, "starts")
    count = np.ones(len(starts))
    count[np.arange(len(arrays["frequencies"])) + np.repeat(begin[:-1] - first[:-1], often)] = arrays["frequencies"]
    for rows, wanted, what in ((tails_of(begin), arrivals, "that end at"), (starts, walks, "from")):
        found = np.bincount(rows, count, minlength=a["n"])
        need(np.array_equal(found, wanted), f"start lists and walks {what} a vertex do not agree")


def check_topk(artifact: Artifact) -> None:
    """Check lengths, order and repeats of answers, and that the sources of a query sum to one; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    offsets, scores = arrays["offsets"], arrays["scores"]
    need(not np.any(np.diff(offsets) > a["k"]), f"answers are longer than k = {a['k']}")
    answer = tails_of(offsets)
    rising = (scores[1:] > scores[:-1]) & (answer[1:] == answer[:-1])
    need_none(answer[1:][rising], "scores of answer {} do not fall")
    order = np.lexsort((arrays["internal"], answer))
    rows_ascend(offsets, arrays["internal"][order], "vertices, each named once,")
    _check_originals(arrays["nodes"], arrays["internal"], "nodes")
    for q, (start, end) in enumerate(pairwise(arrays["source_offsets"].tolist())):
        need(sum(arrays["source_mass"][start:end].tolist()) == 1 << 62, f"sources of query {q} do not sum to one")


def check_egonets(artifact: Artifact) -> None:
    """Check that ego-networks are undirected simple graphs; raises InputError."""
    arrays = artifact.arrays
    starts, tails = arrays["indptr"], tails_of(arrays["indptr"])
    heads = arrays["node_begin"][tails_of(arrays["node_begin"])[tails]] + arrays["indices"]
    rows_ascend(starts, heads, "heads")
    need(np.all(tails != heads), "a node has an edge to itself")
    there = starts, heads, np.empty(0, np.uint32)
    need(is_transpose(there, there), "an edge has one direction only")


def check_campaign(artifact: Artifact) -> None:
    """Check that campaigns do not contradict themselves; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    begin, activated = arrays["activated_begin"], arrays["activated"]
    batches, reached = np.split(arrays["seeds"], arrays["batch_begin"][1:-1]), np.split(activated, begin[1:-1])
    for i, (low, high) in enumerate(pairwise(arrays["first_round"].tolist())):
        active = activated[begin[low] : begin[high]]
        need(len(np.unique(active)) == len(active), f"campaign {i} activates a vertex twice")
        observed = high - (a["pending"] and high > low)
        short = np.all(begin[low:observed] - begin[low] < a["eta"])
        need(short, f"campaign {i} continues after it has reached its target")
        for r in range(low, observed):
            need(np.isin(batches[r], reached[r]).all(), f"round {r} does not activate its own seeds")
    need(np.all(arrays["covered"] <= arrays["sets"]), "seeds hit more sets than there are")
    need(np.all(np.diff(arrays["batch_begin"]) <= a["batch"]), "a round has more seeds than a batch")
    need(np.array_equal(arrays["stops"] == 2, arrays["sets"] == 0), "only the end game needs no sets")


def _check_ranked(first: np.ndarray, vertices: np.ndarray, scores: np.ndarray, what: str) -> None:
    """Check that lists, which start at ``first``, are ordered by falling score, then ascending id."""
    ordered = (scores[:-1] > scores[1:]) | ((scores[:-1] == scores[1:]) & (vertices[:-1] < vertices[1:]))
    ordered[first[(first > 0) & (first < len(scores))] - 1] = True
    need(ordered.all(), f"{what} must be ordered by falling score, then ascending id")


def check_diversity(artifact: Artifact) -> None:
    """Check order, scores and contexts of a structural diversity search; raises InputError."""
    arrays, a = artifact.arrays, artifact.attributes
    vertices = arrays["vertices"]
    _check_ranked(arrays["first"][:1], vertices, arrays["scores"], "vertices")
    need(np.array_equal(np.diff(arrays["first"]), arrays["scores"]), "scores and numbers of contexts differ")
    _check_originals(vertices, arrays["internal"], "vertices")
    need(len(np.unique(vertices)) == len(vertices), "a vertex is listed twice")
    need(np.all(np.diff(arrays["offsets"]) >= a["k"] + (a["model"] == "core")), "a context has too few members")


def check_contexts(artifact: Artifact) -> None:
    """Check the order of those lists of an index that were read; raises InputError."""
    get = artifact.arrays.get
    for model in ("comp", "core", "truss"):
        first, vertices, scores = (get(f"{model}/{name}") for name in ("first", "vertices", "scores"))
        if first is not None and vertices is not None and scores is not None:
            _check_ranked(first, vertices, scores, f"{model}/vertices")


def check_decomposition(artifact: Artifact) -> None:
    """Check that edges are distinct and ascend, lower end first; raises InputError."""
    arrays = artifact.arrays
    tails, heads = arrays["tails"], arrays["heads"]
    ascending = (tails[:-1] < tails[1:]) | ((tails[:-1] == tails[1:]) & (heads[:-1] < heads[1:]))
    need(np.all(tails < heads) and ascending.all(), "edges must ascend, the lower end first")


CHECKS: dict[str, Callable[[Artifact], None]] = {
    "graph": check_graph,
    "rrsets": check_rrsets,
    "seeds": check_seeds,
    "campaign": check_campaign,
    "egonets": check_egonets,
    "diversity": check_diversity,
    "contexts": check_contexts,
    "decomposition": check_decomposition,
    "pagerank": check_pagerank,
    "irw": check_irw,
    "topk": check_topk,
}


BESIDE: dict[str, Callable[[Artifact], None]] = {"graph": check_tables}
"""Checks that may run concurrently with the work, as those of checksums do. They take long, and no kernel relies on
them."""


def descriptor(group: str, n: int, m: int) -> dict[str, Any]:
    """Return the Binsparse descriptor (version 0.1.0) of a graph (group ``""``) or of its transpose."""
    return {
        "binsparse": {
            "version": "0.1.0",
            "format": "CSR",
            "shape": [n, n],
            "number_of_stored_values": m,
            "data_types": {"pointers_to_1": "int64", "indices_1": "int32", "values": "iso[int8]"},
        },
        "gpukit": {"rows": "heads" if group else "tails", "columns": "tails" if group else "heads"},
    }


def check_descriptors(file: h5py.File, header: Header) -> None:
    """Check the Binsparse descriptors of a graph; raises InputError."""
    a = header.attributes
    for group in ("", "transpose") if header.kind == "graph" else ():
        if f"{group}/values".strip("/") in header.checksums:
            right = file[f"/{group}"].attrs.get("binsparse") == canonical_json(descriptor(group, a["n"], a["m"]))
            need(right, f"the Binsparse descriptor of group /{group} is missing or wrong")
