"""What the numbers of each kind must mean, beyond types and shapes: the deep part of ``gpukit verify``."""

import json
from collections.abc import Callable, Mapping

import numpy as np

from gpukit.artifacts.store import Artifact
from gpukit.artifacts.structure import is_digest
from gpukit.errors import InputError

MAX_SAMPLE_ID = 1 << 48


def _need(condition: object, line: str) -> None:
    if not condition:
        raise InputError(line)


def rows_ascend(starts: np.ndarray, values: np.ndarray, what: str) -> None:
    """Check that values rise strictly within each row; ``starts`` has one entry more than there are rows.

    Raises
    ------
    InputError
        Naming the first row that does not.
    """
    if len(values) < 2:
        return
    rising = values[1:] > values[:-1]
    inner = starts[1:-1]
    rising[inner[(inner > 0) & (inner < len(values))] - 1] = True
    if not rising.all():
        place = int(np.argmin(rising))
        row = int(np.searchsorted(starts, place, side="right")) - 1
        raise InputError(f"{what} of row {row} do not ascend (… {values[place]}, {values[place + 1]} …)")


def check_graph(artifact: Artifact) -> None:
    """Check rows, loops, ids, scheme, symmetry and the transpose of a graph; raises InputError."""
    arrays, a = artifact.arrays, artifact.attributes
    starts, heads, n = arrays["pointers_to_1"], arrays["indices_1"], a["n"]
    explicit = a["scheme"] in ("trivalency", "file")
    _need(a["scheme"] in ("wc", "const", "trivalency", "file", "none"), f"unknown probability scheme {a['scheme']!r}")
    _need(
        ("probabilities" in arrays) == explicit,
        f"scheme {a['scheme']} and the dataset probabilities do not fit together",
    )
    _need((a["scheme"] == "const") == ("p" in a), "the attribute p belongs to scheme const, and to it alone")
    _need(0 < a.get("p", 1) <= 1, f"p is {a.get('p')}; (0, 1] is allowed")
    _need(
        (a["scheme"] == "trivalency") == ("weights_seed" in a),
        "weights_seed belongs to scheme trivalency, and to it alone",
    )
    rows_ascend(starts, heads, "heads")
    tails = np.repeat(np.arange(n, dtype=np.int32), np.diff(starts))
    loops = np.flatnonzero(tails == heads)
    _need(not len(loops), f"vertex {tails[loops[0]] if len(loops) else ''} has an edge to itself")
    _check_ids(artifact)
    if "transpose/pointers_to_1" in arrays:
        _check_transpose(artifact, a["undirected"])


def _check_ids(artifact: Artifact) -> None:
    ids = artifact.arrays.get("ids", np.empty(0, np.int64))
    _need(np.all(ids[1:] > ids[:-1]) and np.all(ids[:1] >= 0), "original ids must be at least 0 and ascend")


def _check_transpose(artifact: Artifact, undirected: bool) -> None:
    """Compare the stored transpose with SciPy's."""
    from scipy.sparse import csr_array

    arrays, n, m = artifact.arrays, artifact.attributes["n"], artifact.attributes["m"]
    matrix = csr_array((np.arange(m), arrays["indices_1"], arrays["pointers_to_1"]), shape=(n, n)).tocsc()
    order = matrix.data
    for name, expected in (
        ("pointers_to_1", matrix.indptr),
        ("indices_1", matrix.indices),
        ("probabilities", arrays["probabilities"][order] if "probabilities" in arrays else None),
    ):
        _need(
            expected is None or np.array_equal(arrays[f"transpose/{name}"], expected),
            f"transpose/{name} is not the transpose",
        )
        if undirected and expected is not None and name != "probabilities":
            _need(
                np.array_equal(arrays[name], expected),
                "the graph is marked undirected but has an edge in one direction only",
            )


def check_rrsets(artifact: Artifact) -> None:
    """Check ids, sizes and order of RR sets; raises InputError."""
    a, offsets = artifact.attributes, artifact.arrays["offsets"]
    _need(artifact.seed is not None, "RR sets need a seed")
    _need(
        a["rounds"] >= 1 and a["elements"] == a["n"] * a["rounds"], "elements must be n · rounds with rounds at least 1"
    )
    _need(0 <= a["first"] and a["first"] + a["count"] <= MAX_SAMPLE_ID, "sample ids must lie in [0, 2^48)")
    _need(a["model"] in ("ic", "lt"), f"unknown model {a['model']!r}; ic and lt are allowed")
    _need(a["sampler"] in ("skip", "scan"), f"unknown sampler {a['sampler']!r}; skip and scan are allowed")
    _need(is_digest(a["graph"]), "the attribute graph must be a SHA-256")
    empty = np.flatnonzero(offsets[1:] == offsets[:-1])
    _need(not len(empty), f"set {a['first'] + (int(empty[0]) if len(empty) else 0)} is empty; every set holds its root")
    rows_ascend(offsets, artifact.arrays["members"], "members")
    _check_ids(artifact)


def check_seeds(artifact: Artifact) -> None:
    """Check that seeds are distinct and gains not negative; raises InputError."""
    arrays = artifact.arrays
    _need(is_digest(artifact.attributes["graph"]), "the attribute graph must be a SHA-256")
    rounds = arrays.get("rounds", np.zeros(len(arrays["seeds"]), np.int32))
    for name in ("seeds", "internal"):
        pairs = set(zip(arrays[name].tolist(), rounds.tolist(), strict=True))
        _need(len(pairs) == len(rounds), f"dataset {name} names a vertex twice in one round")
    if "gains" in arrays:
        _need(not np.any(arrays["gains"] < 0), "gains must not be negative")


def check_metrics(artifact: Artifact) -> None:
    """Check that the list of columns names the columns; raises InputError."""
    names = artifact.attributes["columns"]
    _need(
        isinstance(names, list) and sorted(f"columns/{name}" for name in names) == sorted(artifact.arrays),
        "the list of columns and the columns differ",
    )


def check_pagerank(artifact: Artifact) -> None:
    """Check the sum of PageRank and that the PRO-rank list names no vertex twice; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    _need(is_digest(a["graph"]), "the attribute graph must be a SHA-256")
    _need(0 < a["alpha"] < 1, f"alpha is {a['alpha']}; (0, 1) is allowed")
    spread = sum(arrays["pagerank"].tolist()) + a["remaining"]
    _need(not a["n"] or spread == 1 << 62, "PageRank and the remaining mass do not sum to one")
    _need(len(np.unique(arrays["order"])) == len(arrays["order"]), "the PRO-rank list names a vertex twice")


def check_irw(artifact: Artifact) -> None:
    """Check that start lists ascend and that walks out and in agree with them; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    _need(is_digest(a["graph"]), "the attribute graph must be a SHA-256")
    _need(artifact.seed is not None, "inverted random walks need a seed")
    _need(0 < a["alpha"] < 1 and 0 < a["epsilon"] <= 0.5, "alpha in (0, 1) and epsilon in (0, 0.5] are allowed")
    walks, arrivals = arrays["walks"], arrays["arrivals"]
    _need(walks.sum(dtype=np.int64) == arrivals.sum(), "as many walks must end as start")
    if a["light"]:
        return
    check_irw_rows(artifact)
    begin, often = arrays["src_begin"], np.diff(arrays["frequent_begin"])
    rows = np.stack([begin[:-1], begin[:-1] + often], axis=1).ravel()
    rows_ascend(np.append(rows, begin[-1]), arrays["starts"], "starts")
    weights = np.ones(len(arrays["starts"]), np.int64)
    place = np.arange(len(arrays["frequencies"])) + np.repeat(begin[:-1] - arrays["frequent_begin"][:-1], often)
    weights[place] = arrays["frequencies"]
    _need(not np.any(arrays["frequencies"] < 2), "a frequency must be 2 or more")
    sums = np.concatenate([[0], np.cumsum(weights)])
    _need(np.array_equal(np.diff(sums[begin]), arrivals), "start lists and walks that end at a vertex do not agree")
    out = np.bincount(arrays["starts"], weights, minlength=a["n"])
    _need(np.array_equal(out.astype(np.int64), walks), "start lists and walks from a vertex do not agree")


def check_irw_rows(artifact: Artifact) -> None:
    """Check that no end has more frequencies than starts, which would lead a kernel out of its arrays.

    Raises
    ------
    InputError
        Also when rows are missing from an index that is not light.
    """
    arrays = artifact.arrays
    if not artifact.attributes["light"]:
        for name in ("src_begin", "starts", "frequent_begin", "frequencies"):
            _need(name in arrays, f"an irw that is not light needs the dataset {name}")
        over = np.diff(arrays["frequent_begin"]) > np.diff(arrays["src_begin"])
        _need(not over.any(), f"vertex {int(np.argmax(over)) if len(over) else ''} has more frequencies than starts")


def check_topk(artifact: Artifact) -> None:
    """Check lengths, order and repeats of answers, and that sources sum to one; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    _need(is_digest(a["graph"]), "the attribute graph must be a SHA-256")
    lengths = np.diff(arrays["offsets"])
    _need(
        1 <= a["k"] <= a["n"] and not np.any(lengths > a["k"]), f"answers are longer than k = {a['k']}, or k is wrong"
    )
    for q, (start, end) in enumerate(zip(arrays["offsets"][:-1], arrays["offsets"][1:], strict=True)):
        scores, nodes = arrays["scores"][start:end], arrays["internal"][start:end]
        _need(not np.any(scores[1:] > scores[:-1]), f"scores of answer {q} do not fall")
        _need(len(np.unique(nodes)) == len(nodes), f"answer {q} names a vertex twice")
        part = slice(arrays["source_offsets"][q], arrays["source_offsets"][q + 1])
        _need(sum(arrays["source_mass"][part].tolist()) == 1 << 62, f"sources of query {q} do not sum to one")


def check_egonets(artifact: Artifact) -> None:
    """Check that ego-networks are undirected simple graphs within their nodes; raises InputError."""
    arrays = artifact.arrays
    starts, heads, node_begin = arrays["indptr"], arrays["indices"].astype(np.int64), arrays["node_begin"]
    _need(is_digest(artifact.attributes["graph"]), "the attribute graph must be a SHA-256")
    rows_ascend(node_begin, arrays["nodes"], "nodes")
    rows_ascend(starts, heads, "heads")
    sizes = np.diff(node_begin)
    rows = np.repeat(np.arange(len(arrays["nodes"])), np.diff(starts))
    begin = np.repeat(node_begin[:-1], sizes)[rows]
    _need(np.all((heads >= 0) & (heads < np.repeat(sizes, sizes)[rows])), "a head lies outside its ego-network")
    _need(np.all(rows != begin + heads), "a node has an edge to itself")
    width = max(len(arrays["nodes"]), 1)
    backwards = (begin + heads) * width + rows
    _need(np.array_equal(np.sort(backwards), rows * width + begin + heads), "an edge is there in one direction only")


def check_campaign(artifact: Artifact) -> None:
    """Check that campaigns do not contradict themselves; raises InputError."""
    a, arrays = artifact.attributes, artifact.arrays
    check_campaign_rows(artifact)
    first, stops = arrays["first_round"], arrays["stops"]
    for i, (low, high) in enumerate(zip(first, first[1:], strict=False)):
        active = arrays["activated"][arrays["activated_begin"][low] : arrays["activated_begin"][high]]
        _need(len(np.unique(active)) == len(active), f"campaign {i} activates a vertex twice")
        observed = high - (a["pending"] and high > low)
        reached = arrays["activated_begin"][low:observed] - arrays["activated_begin"][low]
        _need(not np.any(reached >= a["eta"]), f"campaign {i} goes on after it has reached its target")
        for r in range(low, observed):
            batch = arrays["seeds"][arrays["batch_begin"][r] : arrays["batch_begin"][r + 1]]
            now = arrays["activated"][arrays["activated_begin"][r] : arrays["activated_begin"][r + 1]]
            _need(np.isin(batch, now).all(), f"round {r} does not activate its own seeds")
    rows_ascend(arrays["activated_begin"], arrays["activated"], "activated vertices")
    for name in ("cost", "sets", "covered", "most", "refused", "judged"):
        _need(not np.any(arrays[name] < 0), f"{name} must not be negative")
    _need(np.all((stops >= 0) & (stops <= 2)), "stops must be 0, 1 or 2")
    _need(np.array_equal(stops == 2, arrays["sets"] == 0), "only the end game does without sets")


def check_campaign_rows(artifact: Artifact) -> None:
    """Check what a program that goes on with a campaign relies on.

    Raises
    ------
    InputError
        If a parameter is out of range, or rounds are without seeds or without outcome.
    """
    a, arrays = artifact.attributes, artifact.arrays
    _need(is_digest(a["graph"]), "the attribute graph must be a SHA-256")
    _need(artifact.seed is not None, "a campaign needs a seed")
    _need(1 <= a["eta"] <= a["n"] and 1 <= a["batch"] <= a["n"], "eta and batch must lie in [1, n]")
    allowed = {
        "model": ("ic", "lt"),
        "update": ("coupled", "paper", "regenerate"),
        "ids": ("kept", "fresh"),
        "certificate": ("fresh", "paper"),
        "lt_residual": ("renormalised", "raw"),
        "costs": ("degree", "uniform", "file"),
    }
    for name, values in allowed.items():
        _need(a[name] in values, f"unknown {name} {a[name]!r}; {' and '.join(values)} are allowed")
    _need((a["costs"] == "file") == ("prices" in arrays), "prices go with costs from a file, and with no others")
    _need(np.all(np.diff(arrays["batch_begin"]) > 0), "a round has no seeds")
    outcomes = np.diff(arrays["activated_begin"])
    _need(np.all((outcomes[:-1] if a["pending"] else outcomes) > 0), "a round has no outcome")
    _need(not a["pending"] or (len(outcomes) > 0 and outcomes[-1] == 0), "the pending round has an outcome already")


def check_diversity(artifact: Artifact) -> None:
    """Check order, scores and contexts of a structural diversity search; raises InputError."""
    arrays, a = artifact.arrays, artifact.attributes
    scores, vertices, offsets = arrays["scores"], arrays["vertices"], arrays["offsets"]
    _need(is_digest(a["graph"]), "the attribute graph must be a SHA-256")
    _need(a["model"] in ("comp", "core", "truss"), f"unknown model {a['model']!r}; comp, core and truss are allowed")
    falling = (scores[:-1] > scores[1:]) | ((scores[:-1] == scores[1:]) & (vertices[:-1] < vertices[1:]))
    _need(falling.all(), "vertices must lie in the order of falling score, then ascending id")
    _need(np.array_equal(np.diff(arrays["first"]), scores), "scores and numbers of contexts differ")
    _need(np.all(np.diff(offsets) >= a["k"] + (a["model"] == "core")), "a context has too few members")
    rows_ascend(offsets, arrays["members"], "members")


def check_decomposition(artifact: Artifact) -> None:
    """Check that edges ascend and trussness and coreness can be true; raises InputError."""
    arrays = artifact.arrays
    tails, heads = arrays["tails"], arrays["heads"]
    _need(is_digest(artifact.attributes["graph"]), "the attribute graph must be a SHA-256")
    ascending = (tails[:-1] < tails[1:]) | ((tails[:-1] == tails[1:]) & (heads[:-1] < heads[1:]))
    _need(np.all(tails < heads) and ascending.all(), "edges must ascend, the lower end first")
    _need(np.all(arrays["coreness"] >= 0) and np.all(arrays["trussness"] >= 2), "coreness is 0 or more, trussness 2")
    most = int(arrays["coreness"].max(initial=0)) + 1
    _need(not np.any(arrays["trussness"] > most), f"trussness exceeds the largest coreness by more than 1 ({most})")


CHECKS: dict[str, Callable[[Artifact], None]] = {
    "graph": check_graph,
    "rrsets": check_rrsets,
    "seeds": check_seeds,
    "campaign": check_campaign,
    "egonets": check_egonets,
    "diversity": check_diversity,
    "decomposition": check_decomposition,
    "pagerank": check_pagerank,
    "irw": check_irw,
    "topk": check_topk,
    "metrics": check_metrics,
}


def check_descriptors(texts: Mapping[str, str], artifact: Artifact) -> None:
    """Check the Binsparse descriptors (text by group) of a graph against its arrays; raises InputError."""
    if artifact.kind != "graph":
        return
    n, m = artifact.attributes["n"], artifact.attributes["m"]
    for group in ("", "transpose") if "transpose/values" in artifact.arrays else ("",):
        place = f"the Binsparse descriptor of group /{group}"
        try:
            inner = json.loads(texts[group])["binsparse"]
            found = (inner["version"], inner["format"], inner["shape"], inner["number_of_stored_values"])
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{place} is missing or broken") from None
        _need(found == ("0.1.0", "CSR", [n, n], m), f"{place} says {found}, the arrays say n = {n}, m = {m}")
