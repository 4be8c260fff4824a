"""Build a :class:`Graph` from an edge list: compact ids, drop loops, merge parallel edges, sort rows, transpose."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gpukit.errors import InputError, UsageError
from gpukit.graph.csr import DRAWN, EXPLICIT, MAX_EDGES, MAX_VERTICES, Graph, Weights
from gpukit.graph.kernels import combine_groups, mark_ends, merge_keys, pack_keys, transpose_rows
from gpukit.graph.labels import Labels
from gpukit.graph.lines import NUMBER
from gpukit.graph.memory import check_building
from gpukit.graph.pairs import keys_behind
from gpukit.graph.probabilities import (
    ONE,
    cascade_stored,
    drawn_stored,
    in_degrees,
    scaled,
    stored,
    threshold,
)
from gpukit.wording import spelled


def build_graph(
    u: np.ndarray,
    v: np.ndarray,
    *,
    w: np.ndarray | None = None,
    weights: Weights | None = None,
    undirected: bool = False,
    parallel: str = "merge",
    ids: bool | np.ndarray = True,
    n: int | None = None,
    labels: Labels | None = None,
    scale: str | None = None,
    transpose: bool = True,
    facts: dict | None = None,
    consume: bool = False,
) -> Graph:
    """Build the graph of an edge list; the order of the edges does not matter.

    Self-loops are dropped, then edges of probability 0; then parallel edges are merged. A vertex remains even if all
    its edges are dropped.

    ``parallel="combine"`` turns c parallel edges of probability p into one of 1 - (1 - p)**c. This includes weighted
    cascade, where p = 1/d_in and d_in counts parallel edges: each of the c edges is a separate chance, as in Kempe,
    Kleinberg, Tardos (KDD 2003) and Chen, Wang, Yang (KDD 2009). Since 1 - (1 - p)**c <= c·p, the sums into a vertex
    stay <= 1, and the linear threshold model applies. The probabilities are then explicit (scheme ``file``; the fact
    ``combined_from`` keeps the scheme). ``parallel="merge"`` counts an edge once; the largest explicit weight wins.
    ``sum`` adds weights before they are scaled, ``first`` keeps the weight of the first line; with other schemes than
    ``file`` both mean ``merge``. In an undirected graph edges listed as (u, v) and (v, u) are parallel.

    Parameters
    ----------
    u, v : integer arrays, shape (lines,)
        Tails and heads.
    w : float64 array, shape (lines,), or None
        Probabilities in [0, 1], or with ``scale`` finite numbers >= 0. Required by the scheme ``file``; other schemes
        ignore it.
    weights : Weights
        The scheme; weighted cascade if not given.
    undirected : bool
        Whether each listed edge is an edge in both directions.
    parallel : {"merge", "combine", "sum", "first"}
        What to do with parallel edges.
    ids : bool or int64 array
        True: ``u`` and ``v`` hold original ids, which are compacted in ascending order. False: they hold vertices
        0 … n-1. An ascending array: they hold positions in it, and it is the original ids.
    n : int or None
        Number of vertices, with ``ids=False``; by default one more than the largest in ``u`` and ``v``.
    labels : Labels or None
        Names of the vertices; ``u`` and ``v`` hold positions in them. ``ids`` and ``n`` are then ignored.
    scale : str or None
        How weights become probabilities. ``max``: w / max w. ``in-sum``: w / the sum of the weights into the head. A
        number: w / this number. Parallel edges are merged before; edges that combine are scaled separately.
    transpose : bool
        Whether to keep the in-edges as well.
    facts : dict or None
        Initial facts; the facts found here are added.
    consume : bool
        Whether ``u`` and ``v`` may be overwritten. If :mod:`.pairs` allocated them, the graph reuses their memory.

    Returns
    -------
    Graph

    Raises
    ------
    InputError
        If there are too many vertices or edges, or an id is negative or not below ``n``.
    DeviceError
        If the graph does not fit into memory.
    UsageError
        If the scheme needs weights and none are given.
    """
    weights = weights or Weights()
    if weights.scheme == "file" and w is None:
        raise UsageError(
            f"{spelled('weights', 'file')} needs a third column of probabilities; give a file with one, or "
            f"{spelled('weights', 'wc')}"
        )
    if parallel not in ("merge", "combine", "sum", "first"):
        raise UsageError(f"{spelled('parallel_edges')} is {parallel!r}; sum, max, combine and first are allowed")
    if parallel == "sum" and scale is None:
        raise UsageError(
            f"{spelled('parallel_edges', 'sum')} adds counts, and needs {spelled('scale')} to make probabilities of "
            "them; give both"
        )
    if scale is not None and (weights.scheme != "file" or not is_scale(scale)):
        raise UsageError(
            f"{spelled('scale')} is {scale!r}; max, in-sum and a number above 0 are allowed, with weights from the file"
        )
    facts = {"lines": len(u)} | ({"scale": scale} if scale else {}) | (facts or {})
    if labels is not None:
        ids, n = False, len(labels)
    in_place = weights.scheme != "file" and parallel != "combine" and weights.high != 0
    make = _rows_in_place if in_place else _rows
    rows = make(_Listed(u, v, w, weights, undirected, parallel, ids, n, scale, consume), facts, transpose)
    if len(rows.indices) > MAX_EDGES:
        raise InputError(f"{len(rows.indices)} edges are too many; a graph holds at most 2**32 - 1 directed edges")
    indptr, indices, words = rows.indptr, rows.indices, rows.words
    if weights.scheme == "const" and (weights.p or 1) < 1 / ONE and len(indices):
        facts["probabilities_raised"] = len(indices)
    if weights.drawn:
        weights = replace(weights, seed=weights.seed or 0)
        words = drawn_stored(weights, indptr, indices)
    if rows.starts is not None and weights.scheme in ("wc", "const", *DRAWN):
        words = _combined(weights, indices, rows.starts, words, len(indptr) - 1)
        facts["combined_from"] = str(weights)
        weights = Weights("file")
    graph = Graph(indptr, indices, rows.ids, weights, words, undirected=undirected, facts=facts, labels=labels)
    graph = _with_in_edges(graph, rows.room) if transpose else graph
    facts.update(degree_facts(graph))
    return graph


def is_scale(scale: str) -> bool:
    """Return whether a text is a valid scale of weights."""
    return scale in ("max", "in-sum") or (NUMBER.fullmatch(scale) is not None and 0 < float(scale) < math.inf)


class _Listed(NamedTuple):
    """The arguments of :func:`build_graph`, under the same names."""

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray | None
    weights: Weights
    undirected: bool
    parallel: str
    ids: bool | np.ndarray
    n: int | None
    scale: str | None
    consume: bool


class _Rows(NamedTuple):
    """Rows, original ids, words or weights of the edges, ``starts`` of :func:`_merge`, and room for the transpose."""

    indptr: np.ndarray
    indices: np.ndarray
    ids: np.ndarray | None
    words: np.ndarray | None = None
    starts: np.ndarray | None = None
    room: np.ndarray | None = None


def _rows_in_place(listed: _Listed, facts: dict, transpose: bool) -> _Rows:
    """Make rows of edges without individual weights; the listed edges become keys and then rows, in the same memory."""
    keys, n, original = _keys(listed, listed.weights.scheme in EXPLICIT)
    keys.sort()
    words, indptr = keys.view(np.int32), np.empty(n + 1, np.int64)
    kept, loops = merge_keys(keys, indptr, words)
    full = transpose and 2 * kept >= len(keys)  # otherwise most of the memory would remain reserved but unused
    indices = words[:kept] if full else words[:kept].copy()
    halves = 2 if listed.undirected else 1
    facts["self_loops_dropped"] = loops // halves
    facts["zero_probability_dropped"] = 0
    facts["parallel_edges_merged"] = (len(keys) - loops - kept) // halves
    return _Rows(indptr, indices, original, room=words[len(keys) : len(keys) + kept] if full else None)


def _rows(listed: _Listed, facts: dict, transpose: bool) -> _Rows:
    """Make rows of edges that have individual weights, or that count individually."""
    u, v, w, weights, undirected, parallel, _, _, scale, _ = listed
    keys, n, original = _keys(listed._replace(consume=False), weights.scheme in EXPLICIT or parallel == "combine")
    keep = u != v
    facts["self_loops_dropped"] = int(len(keep) - np.count_nonzero(keep))
    facts["zero_probability_dropped"] = 0
    words = None
    if weights.scheme == "file" and w is not None:
        zero = keep & (w == 0)
        facts["zero_probability_dropped"] = int(np.count_nonzero(zero))
        keep &= ~zero
        words = np.tile(w[keep] if scale else _stored(w[keep], facts), 2 if undirected else 1)
    if weights.high == 0:
        facts["zero_probability_dropped"] = int(np.count_nonzero(keep))
        keep[:] = False
    if not keep.all():
        keys = keys[np.tile(keep, 2) if undirected else keep]
    del keep
    if words is None:
        keys.sort()
    else:
        if parallel == "first":  # both halves of an undirected graph hold the same lines
            lines = np.arange(len(keys)) % (len(keys) // (2 if undirected else 1) or 1)
            order = np.lexsort((lines, keys))
        else:
            order = np.lexsort((words, keys)) if scale else np.argsort(keys)
        keys, words = keys[order], words[order]
        del order
        if scale and parallel == "combine":
            words = _stored(scaled(words, keys & 0xFFFFFFFF, n, scale), facts)
    indptr, indices, starts, words, repeats = _merge(keys, words, n, parallel)
    if scale and words is not None and parallel != "combine":
        words = _stored(scaled(words, indices, n, scale), facts)
    facts["parallel_edges_merged"] = repeats // 2 if undirected else repeats
    return _Rows(indptr, indices, original, words, starts)


def _stored(p: np.ndarray, facts: dict) -> np.ndarray:
    """Return the stored words of probabilities; record the number of those raised to the least possible value."""
    if raised := int(np.count_nonzero(p < 1 / ONE)):
        facts["probabilities_raised"] = raised
    return stored(p)


def transpose(graph: Graph) -> Graph:
    """Return the graph with ``in_indptr``, ``in_indices`` and ``in_probabilities`` filled, in O(n + m)."""
    return graph if graph.in_indptr is not None else _with_in_edges(graph)


def _with_in_edges(graph: Graph, room: np.ndarray | None = None) -> Graph:
    words = np.empty(0, np.uint32) if graph.probabilities is None else graph.probabilities
    in_indptr, in_indices, in_words = transpose_rows(graph.indptr, graph.indices, words, room)
    in_probabilities = None if graph.probabilities is None else in_words
    return replace(graph, in_indptr=in_indptr, in_indices=in_indices, in_probabilities=in_probabilities)


def _keys(listed: _Listed, unequal: bool) -> tuple[np.ndarray, int, np.ndarray | None]:
    """Return tail << 32 | head of each edge, the number of vertices, and the original ids if they are not 0 … n-1.

    Undirected edges come twice: first all as listed, then all reversed.
    """
    u, v, ids, n, undirected = listed.u, listed.v, listed.ids, listed.n, listed.undirected
    side_by_side = keys_behind(u, v)
    ends = (u, v) if side_by_side is None else (side_by_side.view(np.int32),)  # contiguous: three times as fast
    low = int(min(some.min(initial=0) for some in ends))
    high = int(max(some.max(initial=-1) for some in ends))
    if low < 0:
        raise InputError(f"vertex id {low} is negative; ids are in [0, 2**63 - 1]")
    original = ids if isinstance(ids, np.ndarray) else None
    rank = None
    if ids is True:
        original, rank = _compact(u, v, high)
        count = high + 1 if original is None else len(original)
    else:
        count = len(original) if original is not None else high + 1 if n is None else n
        if high >= count:
            raise InputError(f"vertex {high} is outside [0, {count - 1}]; the graph was declared with {count} vertices")
    if count > MAX_VERTICES:
        raise InputError(f"{count} vertices are too many; a graph holds at most 2**31 - 1")
    own = side_by_side if listed.consume and not undirected and not callable(rank) else None
    listed_again = 2 * len(u) if undirected else len(u) if own is None or unequal else 0
    check_building(count, listed_again, unequal)
    if own is not None and rank is None:
        return own, count, original
    keys = np.empty(2 * len(u) if undirected else len(u), np.int64) if own is None else own
    halves = [keys[: len(u)], keys[len(u) :]] if undirected else [keys]
    for half, tails, heads in zip(halves, (u, v), (v, u), strict=False):
        if isinstance(rank, np.ndarray):
            pack_keys(tails, heads, rank, half)
            continue
        half[:] = tails if rank is None else rank(tails)
        half <<= 32
        half |= heads if rank is None else rank(heads)
    return keys, count, original


def _compact(
    u: np.ndarray, v: np.ndarray, high: int
) -> tuple[np.ndarray | None, np.ndarray | Callable[[np.ndarray], np.ndarray] | None]:
    """Return the ascending distinct ids and their positions (a table or a function); None, None for ids 0 … high."""
    if high < 4 * len(u) + (1 << 20):
        present = np.zeros(high + 1, bool)
        mark_ends(u, v, present)
        if present.all():
            return None, None
        rank = np.cumsum(present, dtype=np.int32)
        rank -= 1
        return np.flatnonzero(present), rank
    import pandas as pd

    original = np.union1d(_distinct(u), _distinct(v)).astype(np.int64)
    return original, pd.Index(original).get_indexer


def _distinct(values: np.ndarray) -> np.ndarray:
    """Return the ascending distinct values by the vectorised sort; ``np.unique`` hashes, ten times slower here."""
    ordered = np.sort(values)
    return ordered[_first_of_each(ordered)]


def _first_of_each(ordered: np.ndarray) -> np.ndarray:
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def _merge(
    keys: np.ndarray, words: np.ndarray | None, n: int, parallel: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None, int]:
    """Make CSR rows of ascending keys.

    Returns
    -------
    indptr, indices : int64 array, int32 array
        The rows without repeats.
    starts : int64 array or None
        Start of each edge's group among the keys, and the end; only if edges combine.
    words : array or None
        The merged words, or weights.
    repeats : int
        Number of keys removed.
    """
    indptr = np.searchsorted(keys, np.arange(n + 1, dtype=np.int64) << 32)
    first = _first_of_each(keys)
    repeats = len(keys) - int(np.count_nonzero(first))
    starts = None
    if repeats:
        if words is not None or parallel == "combine":
            starts = np.append(np.flatnonzero(first), len(keys))
        if words is not None and starts is not None:
            if parallel == "combine":
                words = combine_groups(starts, words)
            elif parallel == "sum":  # added sequentially, so that rounding is the same everywhere
                words = np.bincount(np.cumsum(first) - 1, weights=words)
            else:
                words = words[starts[:-1]] if parallel == "first" else np.maximum.reduceat(words, starts[:-1])
        kept = np.cumsum(first, dtype=np.uint32 if len(keys) <= MAX_EDGES else np.int64)
        indptr[1:] = np.where(indptr[1:] > 0, kept[indptr[1:] - 1], 0)
        del kept
    indices = keys.astype(np.int32)  # the low half of each key
    return indptr, indices[first] if repeats else indices, starts, words, repeats


def _combined(
    weights: Weights, indices: np.ndarray, starts: np.ndarray, words: np.ndarray | None, n: int
) -> np.ndarray:
    """Return stored words (uint32, m) of 1 - (1 - p)**c; ``words`` are those of p if p is drawn."""
    counts = np.diff(starts)
    if weights.scheme == "wc":
        words = cascade_stored(np.bincount(indices, weights=counts, minlength=n).astype(np.int64))[indices]
    elif weights.scheme == "const":
        words = np.full(len(indices), threshold(weights.p or 1.0) - 1, np.uint32)
    assert words is not None
    return combine_groups(starts, np.repeat(words, counts))


def degree_facts(graph: Graph) -> dict[str, int]:
    """Return the facts about degrees in ``gpukit graph info``."""
    out_degree, in_degree = np.diff(graph.indptr), in_degrees(graph)
    return {
        "isolated": int(np.count_nonzero((out_degree == 0) & (in_degree == 0))),
        "dangling": int(np.count_nonzero(out_degree == 0)),
        "max_in_degree": int(in_degree.max(initial=0)),
        "max_out_degree": int(out_degree.max(initial=0)),
    }
