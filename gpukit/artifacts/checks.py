"""What the numbers of each kind must mean, beyond types, shapes and bounds: checked in full once a file."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpukit.artifacts.artifact import Artifact
from gpukit.artifacts.bounds import MAX_SAMPLE_ID, tables_of
from gpukit.artifacts.contexts import check_contexts
from gpukit.artifacts.edges import first_loop, rows_ascend, same_edges
from gpukit.artifacts.structure import need

PART = 1 << 26
"""Entries of start lists that are counted at a time."""


def check_graph(artifact: Artifact) -> None:
    """Check rows, loops, ids, symmetry and the transpose of a graph; raises InputError."""
    arrays, a = artifact.arrays, artifact.attributes
    starts, heads, none = arrays["pointers_to_1"], arrays["indices_1"], np.empty(0, np.uint32)
    rows_ascend(starts, heads, "heads")
    loop = first_loop(starts, heads)
    need(loop is None, f"vertex {heads[loop] if loop is not None else ''} has an edge to itself")
    _check_ids(artifact)
    if a["undirected"]:
        there = starts, heads, none
        symmetric = same_edges(there, there)
        need(symmetric, "the graph is marked undirected but has an edge in one direction only")
    if "transpose/pointers_to_1" in arrays:
        back = arrays["transpose/pointers_to_1"], arrays["transpose/indices_1"]
        rows_ascend(*back, "tails in the transpose")
        forth = starts, heads, arrays.get("probabilities", none)
        same = same_edges(forth, (*back, arrays.get("transpose/probabilities", none)))
        need(same, "the group transpose is not the transpose")


def check_tables(artifact: Artifact) -> None:
    """Build the sampling tables of a graph again and compare; raises InputError."""
    tables = tables_of(artifact)
    if tables is None:
        return
    from gpukit.graph.csr import Graph, Weights
    from gpukit.worlds.tables import build_tables

    get, a = artifact.arrays.get, artifact.attributes
    need("transpose/indices_1" in artifact.arrays, "there are sampling tables, but no transpose that they are of")
    graph = Graph(
        artifact.arrays["pointers_to_1"],
        artifact.arrays["indices_1"],
        weights=Weights.of(a),
        in_indptr=get("transpose/pointers_to_1"),
        in_indices=get("transpose/indices_1"),
        in_probabilities=get("transpose/probabilities"),
    )
    for name, expected in build_tables(graph).items():
        need(np.array_equal(tables[name], expected), f"tables/{name} is not what the graph gives")


def _check_ids(artifact: Artifact) -> None:
    ids = artifact.arrays.get("ids", np.empty(0, np.int64))
    need(np.all(ids[1:] > ids[:-1]) and np.all(ids[:1] >= 0), "original ids must be at least 0 and ascend")


def _check_originals(original: np.ndarray, internal: np.ndarray, what: str) -> None:
    """Check that original ids can be those of the internal ones: ascending ids, of which vertex v has the (v + 1)-th.

    So ids grow at least as fast as vertices do, and equal vertices have equal ids.
    """
    order = np.lexsort((original, internal))
    original, internal = original[order], internal[order].astype(np.int64)
    need(np.all(original[:1] >= internal[:1]), f"{what}: an original id is less than its internal id")
    step, gap = np.diff(internal), np.diff(original)
    need(np.all((gap >= step) & ((step > 0) | (gap == 0))), f"{what}: original and internal ids do not belong together")


def check_rrsets(artifact: Artifact) -> None:
    """Check sizes and order of RR sets and their ids; raises InputError."""
    a, offsets = artifact.attributes, artifact.arrays["offsets"]
    empty = np.flatnonzero(offsets[1:] == offsets[:-1])
    need(not len(empty), f"set {a['first'] + (int(empty[0]) if len(empty) else 0)} is empty; every set holds its root")
    rows_ascend(offsets, artifact.arrays["members"], "members")
    _check_ids(artifact)
    if "own" in artifact.arrays:
        from gpukit.worlds.trivial import kept_mass

        small = np.flatnonzero(np.diff(offsets) < 2)
        need(not len(small), f"set {small[0] if len(small) else ''} is trivial, among sets of which these are left out")
        gamma = kept_mass(artifact.arrays["own"], artifact.arrays.get("weights"))
        need(gamma == a["gamma"], "gamma is not what own and the weights give")


def check_seeds(artifact: Artifact) -> None:
    """Check that seeds are distinct vertices, rounds without gaps and gains not negative; raises InputError."""
    arrays, a = artifact.arrays, artifact.attributes
    rounds = arrays.get("rounds", np.zeros(len(arrays["seeds"]), np.int32))
    pairs = np.stack((arrays["internal"], rounds), axis=1)
    need(len(np.unique(pairs, axis=0)) == len(pairs), "dataset internal names a vertex twice in one round")
    need(0 <= rounds.min(initial=0) and rounds.max(initial=0) < 255, "rounds must lie in [0, 255)")
    _check_originals(arrays["seeds"], arrays["internal"], "seeds")
    for name in ("spread_estimate", "rr_sets"):
        need(0 <= a.get(name, 0) < float("inf"), f"{name} is {a.get(name)}; a number of at least 0 is needed")
    for name in ("gains", "spread_gains", "degrees"):
        right = name not in arrays or np.all((arrays[name] >= 0) & np.isfinite(arrays[name]))
        need(right, f"{name} must not be negative")


def check_pagerank(artifact: Artifact) -> None:
    """Check the sum of PageRank and that the PRO-rank list names no vertex twice; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    need(0 < a["alpha"] < 1, f"alpha is {a['alpha']}; (0, 1) is allowed")
    need(a["rounds"] >= 0 and a["remaining"] >= 0, "rounds and remaining must not be negative")
    spread = _exact_sum(arrays["pagerank"]) + a["remaining"]
    need(not a["n"] or spread == 1 << 62, "PageRank and the remaining mass do not sum to one")
    listed = np.zeros(a["n"], bool)
    listed[arrays["order"]] = True
    need(np.count_nonzero(listed) == len(arrays["order"]), "the PRO-rank list names a vertex twice")


def check_irw(artifact: Artifact) -> None:
    """Check that start lists ascend and that walks out and in agree with them; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    walks, arrivals = arrays["walks"], arrays["arrivals"]
    need(np.all(arrivals >= 0), "arrivals must not be negative")
    need(_exact_sum(walks) == _exact_sum(arrivals.astype(np.uint64)), "as many walks must end as start")
    if "hubs" in arrays:
        need(np.all(arrays["hubs"][1:] > arrays["hubs"][:-1]), "hubs must ascend")
    if "moves" in arrays:
        last = np.cumsum(arrays["moves"], dtype=np.int64) - 1
        ends = np.repeat(np.arange(a["n"]), walks)
        ends[arrays["moves"] > 0] = arrays["paths"][last[arrays["moves"] > 0]]
        need(np.array_equal(np.bincount(ends, minlength=a["n"]), arrivals), "paths and where walks end do not agree")
    if a["light"] or "starts" not in arrays:
        return
    # A start list has two rows that ascend: starts with a frequency, and those of a single walk.
    begin, often = arrays["src_begin"], np.diff(arrays["frequent_begin"])
    rows = np.stack([begin[:-1], begin[:-1] + often], axis=1).ravel()
    rows_ascend(np.append(rows, begin[-1]), arrays["starts"], "starts")
    frequencies, first = arrays["frequencies"], arrays["frequent_begin"]
    need(not np.any(frequencies < 2), "a frequency must be 2 or more")
    # Each entry is a walk, one with a frequency so many; no array is made that is as long as the entries.
    sums = np.append(0, np.cumsum(frequencies, dtype=np.int64))
    ended = np.diff(begin) - often + np.diff(sums[first])
    need(np.array_equal(ended, arrivals), "start lists and walks that end at a vertex do not agree")
    place = np.arange(len(frequencies)) + np.repeat(begin[:-1] - first[:-1], often)
    out = np.bincount(arrays["starts"][place], frequencies - 1.0, minlength=a["n"]).astype(np.int64)
    for start in range(0, len(arrays["starts"]), PART):
        out += np.bincount(arrays["starts"][start : start + PART], minlength=a["n"])
    need(np.array_equal(out, walks), "start lists and walks from a vertex do not agree")


def check_topk(artifact: Artifact) -> None:
    """Check lengths, order and repeats of answers, and that sources sum to one; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    offsets, scores = arrays["offsets"], arrays["scores"]
    need(not np.any(np.diff(offsets) > a["k"]), f"answers are longer than k = {a['k']}")
    answer = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rising = (scores[1:] > scores[:-1]) & (answer[1:] == answer[:-1])
    need(not rising.any(), f"scores of answer {answer[int(np.argmax(rising))] if rising.any() else ''} do not fall")
    # Sorted by answer and vertex, a vertex that is named twice stands beside itself.
    order = np.lexsort((arrays["internal"], answer))
    twice = (np.diff(answer[order]) == 0) & (np.diff(arrays["internal"][order]) == 0)
    need(not twice.any(), f"answer {answer[order][int(np.argmax(twice))] if twice.any() else ''} names a vertex twice")
    _check_originals(arrays["nodes"], arrays["internal"], "nodes")
    need(not np.any(arrays.get("certain", np.empty(0, np.uint8)) > 1), "a place is certain (1) or not (0)")
    rows_ascend(arrays["source_offsets"], arrays["sources"], "sources")
    for q, (start, end) in enumerate(zip(arrays["source_offsets"], arrays["source_offsets"][1:], strict=False)):
        need(sum(arrays["source_mass"][start:end].tolist()) == 1 << 62, f"sources of query {q} do not sum to one")


def _exact_sum(values: np.ndarray) -> int:
    """Return the sum of unsigned numbers, however large it is."""
    wide = values.astype(np.uint64)
    return (int((wide >> np.uint64(32)).sum()) << 32) + int((wide & np.uint64(0xFFFFFFFF)).sum())


def check_egonets(artifact: Artifact) -> None:
    """Check that ego-networks are undirected simple graphs within their nodes; raises InputError."""
    arrays = artifact.arrays
    starts, heads, node_begin = arrays["indptr"], arrays["indices"].astype(np.int64), arrays["node_begin"]
    centres = arrays["centres"]
    need(np.all(centres[1:] > centres[:-1]) and np.all(centres[:1] >= 0), "centres must ascend")
    rows_ascend(node_begin, arrays["nodes"], "nodes")
    rows_ascend(starts, heads, "heads")
    sizes = np.diff(node_begin)
    rows = np.repeat(np.arange(len(arrays["nodes"])), np.diff(starts))
    begin = np.repeat(node_begin[:-1], sizes)[rows]
    need(np.all((heads >= 0) & (heads < np.repeat(sizes, sizes)[rows])), "a head lies outside its ego-network")
    need(np.all(rows != begin + heads), "a node has an edge to itself")
    there = starts, begin + heads, np.empty(0, np.uint32)
    need(same_edges(there, there), "an edge is there in one direction only")


def check_campaign(artifact: Artifact) -> None:
    """Check that campaigns do not contradict themselves; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    first, stops = arrays["first_round"], arrays["stops"]
    for i, (low, high) in enumerate(zip(first, first[1:], strict=False)):
        active = arrays["activated"][arrays["activated_begin"][low] : arrays["activated_begin"][high]]
        need(len(np.unique(active)) == len(active), f"campaign {i} activates a vertex twice")
        observed = high - (a["pending"] and high > low)
        reached = arrays["activated_begin"][low:observed] - arrays["activated_begin"][low]
        need(not np.any(reached >= a["eta"]), f"campaign {i} goes on after it has reached its target")
        for r in range(low, observed):
            batch = arrays["seeds"][arrays["batch_begin"][r] : arrays["batch_begin"][r + 1]]
            now = arrays["activated"][arrays["activated_begin"][r] : arrays["activated_begin"][r + 1]]
            need(np.isin(batch, now).all(), f"round {r} does not activate its own seeds")
    rows_ascend(arrays["activated_begin"], arrays["activated"], "activated vertices")
    for name in ("cost", "sets", "covered", "most", "refused", "judged"):
        need(not np.any(arrays[name] < 0), f"{name} must not be negative")
    for name in ("sets", "most", "judged"):
        need(not np.any(arrays[name] > MAX_SAMPLE_ID), f"{name} exceeds 2^48, the number of sample ids")
    # A batch is refused once a size at most, and sizes grow by a sixteenth or more.
    need(not np.any(arrays["refused"] > 1024), "more batches were refused than there are sizes to try")
    need(np.all(arrays["hits"] >= -1) and np.all(arrays["worlds"] >= -1), "hits and worlds must be -1 or more")
    need(np.all(arrays["covered"] <= arrays["sets"]), "seeds hit more sets than there are")
    need(np.all(np.diff(arrays["batch_begin"]) <= a["batch"]), "a round has more seeds than a batch")
    for name in ("seeds", "activated"):
        need(np.all(arrays[name] >= 0), f"{name} must not be negative")
    need(np.all((stops >= 0) & (stops <= 2)), "stops must be 0, 1 or 2")
    need(np.array_equal(stops == 2, arrays["sets"] == 0), "only the end game does without sets")


def check_diversity(artifact: Artifact) -> None:
    """Check order, scores and contexts of a structural diversity search; raises InputError."""
    arrays, a = artifact.arrays, artifact.attributes
    scores, vertices, offsets = arrays["scores"], arrays["vertices"], arrays["offsets"]
    falling = (scores[:-1] > scores[1:]) | ((scores[:-1] == scores[1:]) & (vertices[:-1] < vertices[1:]))
    need(falling.all(), "vertices must lie in the order of falling score, then ascending id")
    need(np.array_equal(np.diff(arrays["first"]), scores), "scores and numbers of contexts differ")
    _check_originals(vertices, arrays["internal"], "vertices")
    need(len(np.unique(vertices)) == len(vertices), "a vertex is listed twice")
    need(np.all(np.diff(offsets) >= a["k"] + (a["model"] == "core")), "a context has too few members")
    rows_ascend(offsets, arrays["members"], "members")


def check_decomposition(artifact: Artifact) -> None:
    """Check that edges ascend and trussness and coreness can be true; raises InputError."""
    arrays = artifact.arrays
    tails, heads = arrays["tails"], arrays["heads"]
    ascending = (tails[:-1] < tails[1:]) | ((tails[:-1] == tails[1:]) & (heads[:-1] < heads[1:]))
    need(np.all(tails < heads) and ascending.all(), "edges must ascend, the lower end first")
    need(np.all(arrays["coreness"] >= 0) and np.all(arrays["trussness"] >= 2), "coreness is 0 or more, trussness 2")
    limit = int(arrays["coreness"].max(initial=0)) + 1
    need(not np.any(arrays["trussness"] > limit), f"trussness exceeds the largest coreness by more than 1 ({limit})")


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
"""Checks that may run beside the work, like those of checksums: they take long, and no kernel relies on them."""


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


def check_descriptors(texts: Mapping[str, object], artifact: Artifact) -> None:
    """Check the Binsparse descriptors (text by group) of a graph against its arrays; raises InputError."""
    if artifact.kind != "graph":
        return
    n, m = artifact.attributes["n"], artifact.attributes["m"]
    for group in ("", "transpose") if "transpose/values" in artifact.arrays else ("",):
        place, text = f"the Binsparse descriptor of group /{group}", texts.get(group)
        try:
            found = json.loads(text) if isinstance(text, str) else None
        except ValueError:
            found = None
        need(isinstance(found, dict), f"{place} is missing or broken")
        wanted = descriptor(group, n, m)
        need(found == wanted, f"{place} says {json.dumps(found)[:200]}, the arrays say {json.dumps(wanted)}")
