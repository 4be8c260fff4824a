"""Sampling tables: they let an IC sampler skip edges that are not live, and an LT sampler choose one in-edge at once.

The in-edges of a vertex are cut into *rows* of edges that are sampled together. A row has at most 64 live edges and its
own draws, so rows can be sampled in any order and by different threads.

- Equal probabilities (weighted cascade, constant): one row per vertex, or blocks of ``floor(8 / p)`` edges if more than
  8 live edges are expected.
- Unequal probabilities: in-edges are grouped into classes ``2**-b >= p > 2**-(b+1)``. A class is sampled at ``2**-b``,
  and an edge is accepted with probability ``p * 2**b``.

A row of at most 4 edges, or with p >= 1/4, is *direct*: one 32-bit draw per edge. For any other row, the sampler first
draws the number of live edges: it compares one 64-bit draw with the cumulative binomial distribution. It then draws
that many distinct positions.
"""

import numba
import numpy as np

from gpukit.device.compiled import njit
from gpukit.errors import InputError
from gpukit.graph.csr import Graph
from gpukit.graph.kernels import in_parts, rows_by_edges
from gpukit.graph.probabilities import in_probabilities, no_probabilities, threshold
from gpukit.wording import spelled

MAX_LIVE = 64
"""Most live edges of a row; the size of the buffer a sampler needs."""

DIRECT_EDGES = 4
EQUAL, OWN = 0, 255
"""Low byte of ``meta`` for direct rows: one threshold for the row, or one per edge."""

_WEIGHT_BITS = 192
_CUT_BITS = 80
_TWO32 = 1 << 32


def binomial_thresholds(trials: int, numerator: int, denominator: int) -> list[int]:
    """Return 64-bit thresholds; the number of those at or below a uniform 64-bit draw is binomially distributed.

    Threshold k is ``floor(2**64 * Pr[X <= k])`` for X ~ Binomial(trials, numerator / denominator). An integer recursion
    runs outwards from the mode and stops when a weight falls below 2**-80 of the mode's. The result is exact to 2**-64.

    Parameters
    ----------
    trials : int
        Number of edges, at least 1.
    numerator, denominator : int
        The probability of an edge, 0 < numerator < denominator.

    Returns
    -------
    list of int
        Thresholds below 2**64, ascending.
    """
    failures = denominator - numerator
    mode = (trials + 1) * numerator // denominator
    peak = 1 << _WEIGHT_BITS
    cut = peak >> _CUT_BITS
    above, weight, k = [], peak, mode
    while k < trials:
        weight = weight * (trials - k) * numerator // ((k + 1) * failures)
        k += 1
        if weight < cut:
            break
        above.append(weight)
    below, weight, k = [], peak, mode
    while k > 0:
        weight = weight * k * failures // ((trials - k + 1) * numerator)
        k -= 1
        below.append(weight if weight >= cut else 0)
        if weight < cut:
            below.extend([0] * k)
            break
    weights = below[::-1] + [peak] + above
    total = sum(weights)
    thresholds, cumulated = [], 0
    for weight in weights[:-1]:
        cumulated += weight
        thresholds.append((cumulated << 64) // total)
    return thresholds


class TableStore:
    """The thresholds of many rows, concatenated, with ``meta`` words; equal (trials, probability) share thresholds."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self.meta_of: dict[tuple[int, int, int], int] = {}

    def equal(self, threshold: int) -> int:
        """Return the meta word of direct rows whose edges share a 32-bit threshold in [1, 2**32]."""
        return self._add((0, threshold, _TWO32), [threshold], EQUAL)

    def binomial(self, trials: int, numerator: int, denominator: int) -> int:
        """Return the meta word of rows with ``trials`` edges of one probability."""
        key = (trials, numerator, denominator)
        if key in self.meta_of:
            return self.meta_of[key]
        thresholds = binomial_thresholds(*key)
        return self._add(key, thresholds, len(thresholds))

    def _add(self, key: tuple[int, int, int], values: list[int], kind: int) -> int:
        if key not in self.meta_of:
            offset = len(self.values)
            if offset >= 1 << 24 or (kind not in (EQUAL, OWN) and kind > MAX_LIVE):
                raise InputError(
                    f"sampling tables would need {offset} thresholds (at most {1 << 24}); the graph has too many "
                    "distinct degrees for the skip sampler; use `gpukit papers gim run --sampler scan`"
                )
            self.values.extend(values)
            self.meta_of[key] = offset << 8 | kind
        return self.meta_of[key]

    def array(self) -> np.ndarray:
        """Return all thresholds (uint64), at least one."""
        return np.array(self.values or [0], dtype=np.uint64)


def equal_rows(indptr: np.ndarray, longest: int = 1 << 32) -> np.ndarray:
    """Cut the in-edges of each vertex into rows of at most ``longest`` edges, and return these rows with meta 0."""
    n = len(indptr) - 1
    degrees = np.diff(indptr)
    extra = np.maximum(-(-degrees // longest) - 1, 0)
    first_extra = n + np.cumsum(extra) - extra
    rows = np.zeros((n + int(extra.sum()), 4), dtype=np.uint32)
    rows[:n, 0] = indptr[:-1]
    rows[:n, 1] = np.minimum(degrees, longest)
    rows[:n, 3] = np.where(extra > 0, first_extra, 0)
    owner = np.repeat(np.arange(n), extra)
    block = np.arange(len(owner)) - (first_extra[owner] - n) + 1
    rows[n:, 0] = indptr[owner] + block * longest
    rows[n:, 1] = np.minimum(degrees[owner] - block * longest, longest)
    rows[n:, 3] = np.where(block < extra[owner], n + np.arange(len(owner)) + 1, 0)
    return rows


def _set_meta(rows: np.ndarray, meta_of_length) -> None:
    lengths, inverse = np.unique(rows[:, 1], return_inverse=True)
    rows[:, 2] = np.array([meta_of_length(int(length)) if length else 0 for length in lengths], dtype=np.uint32)[
        inverse
    ]


def _weighted_cascade(indptr: np.ndarray) -> dict[str, np.ndarray]:
    store = TableStore()
    rows = equal_rows(indptr)
    _set_meta(
        rows, lambda d: store.equal((2 * _TWO32 + d) // (2 * d)) if d <= DIRECT_EDGES else store.binomial(d, 1, d)
    )
    return {"rows": rows, "thresholds": store.array()}


def _constant(indptr: np.ndarray, p: float) -> dict[str, np.ndarray]:
    store = TableStore()
    t = threshold(p)
    direct = t >= _TWO32 // 4
    rows = equal_rows(indptr, MAX_LIVE if direct else 8 * _TWO32 // t)
    _set_meta(rows, lambda d: store.equal(t) if direct or d <= DIRECT_EDGES else store.binomial(d, t, _TWO32))
    return {"rows": rows, "thresholds": store.array()}


@njit
def probability_class(stored):
    """Return b with 2**-b >= p > 2**-(b+1) for the stored fixed-point p (minus one)."""
    b = 32
    for step in (16, 8, 4, 2, 1):
        if stored >> numba.uint32(step):
            stored >>= numba.uint32(step)
            b -= step
    return b - numba.int64(stored)


@njit
def _row_length_limit(b):
    """Return the most edges of a row of class b: 64 if it is direct, otherwise a number with 8 expected live edges."""
    return 64 if b <= 1 else 8 << b


@njit
def _count_rows(indptr, probabilities, extra, low, end):
    """Count the rows of vertices low … end - 1 beyond the first of each vertex."""
    sizes = np.zeros(33, np.int64)
    for v in range(low, end):
        sizes[:] = 0
        for e in range(indptr[v], indptr[v + 1]):
            sizes[probability_class(probabilities[e])] += 1
        rows = 0
        for b in range(33):
            rows += -(-sizes[b] // _row_length_limit(b))
        extra[v] = max(rows - 1, 0)


@njit
def _fill_rows(indptr, neighbours, probabilities, first_extra, rows, classes, indices, accept, low, end):
    """Write the rows of vertices low … end - 1, the rows' classes, and the in-edges in row order."""
    sizes = np.zeros(34, np.int64)
    for v in range(low, end):
        sizes[:] = 0
        for e in range(indptr[v], indptr[v + 1]):
            sizes[probability_class(probabilities[e]) + 1] += 1
        for b in range(33):
            sizes[b + 1] += sizes[b]
        row = v
        start = indptr[v]
        rows[v, 0] = start
        following = first_extra[v]
        for b in range(33):
            length = sizes[b + 1] - sizes[b]
            limit = _row_length_limit(b)
            done = 0
            while done < length:
                if start + sizes[b] + done > indptr[v]:
                    rows[row, 3] = following
                    row = following
                    following += 1
                rows[row, 0] = start + sizes[b] + done
                rows[row, 1] = min(limit, length - done)
                classes[row] = b
                done += limit
        for e in range(indptr[v], indptr[v + 1]):
            b = probability_class(probabilities[e])
            position = start + sizes[b]
            sizes[b] += 1
            indices[position] = neighbours[e]
            accept[position] = probabilities[e]


@njit
def scale_rows(rows, classes, accept, low, end):
    """Make the probabilities of edges in rows low … end - 1 conditional on being chosen by the row's draws."""
    for row in range(low, end):
        b = classes[row]
        if b > 1 and rows[row, 1] > 4:
            for e in range(rows[row, 0], np.int64(rows[row, 0]) + np.int64(rows[row, 1])):
                accept[e] = ((np.uint64(accept[e]) + np.uint64(1)) << np.uint64(b)) - np.uint64(1)


def _classes(indptr: np.ndarray, neighbours: np.ndarray, probabilities: np.ndarray) -> dict[str, np.ndarray]:
    n, threads = len(indptr) - 1, numba.get_num_threads()
    vertices, extra = rows_by_edges(indptr, threads), np.zeros(n, np.int64)
    in_parts(_count_rows, vertices, indptr, probabilities, extra)
    rows = np.zeros((n + int(extra.sum()), 4), dtype=np.uint32)
    classes = np.zeros(len(rows), dtype=np.uint8)
    indices, accept = np.empty_like(neighbours), np.empty_like(probabilities)
    first_extra = n + np.cumsum(extra) - extra
    in_parts(_fill_rows, vertices, indptr, neighbours, probabilities, first_extra, rows, classes, indices, accept)
    in_parts(scale_rows, np.arange(threads + 1) * len(rows) // threads, rows, classes, accept)
    # A kind of rows is a class and a length; the kinds of one class have consecutive numbers.
    ends = np.cumsum([int(rows[classes == b, 1].max(initial=0)) + 1 for b in range(33)])
    first = np.concatenate([[0], ends[:-1]])
    kinds = first[classes] + rows[:, 1]
    store, meta = TableStore(), np.zeros(ends[-1], np.uint32)
    for kind in np.flatnonzero(np.bincount(kinds)).tolist():
        b = int(np.searchsorted(ends, kind, side="right"))
        length = kind - int(first[b])
        meta[kind] = OWN if b <= 1 or length <= DIRECT_EDGES else store.binomial(length, 1, 1 << b)
    rows[:, 2] = meta[kinds]
    return {"rows": rows, "thresholds": store.array(), "indices": indices, "accept": accept}


def build_tables(graph: Graph) -> dict[str, np.ndarray]:
    """Return the sampling tables of a graph with a transpose and edge probabilities.

    Parameters
    ----------
    graph : Graph
        With ``in_indptr`` and ``in_indices``, and ``in_probabilities`` for the schemes ``trivalency`` and ``file``.

    Returns
    -------
    dict of arrays
        ``rows`` (uint32, (r, 4), r >= n): start, length, meta and next row (0: none) of each row; row v is the first
        row of vertex v. ``meta`` is ``offset << 8 | kind``. Kind 0: direct, all edges share the threshold
        ``thresholds[offset]``. Kind 255: direct, edge e has threshold ``accept[e]``. Otherwise the kind is the number
        of binomial thresholds at ``offset``. ``thresholds`` (uint64). For unequal probabilities also ``indices``
        (int32, (m,)), the in-edges in row order, and ``accept`` (uint32, (m,)): the probability, minus one, that a
        chosen edge is live.

    Raises
    ------
    InputError
        If the graph has no transpose or no probabilities.
    """
    if graph.in_indptr is None or graph.in_indices is None:
        raise InputError(f"the graph has no transpose, sampling needs one; import it with {spelled('transpose', True)}")
    if graph.weights.scheme == "none":
        raise no_probabilities()
    if graph.weights.scheme == "wc":
        return _weighted_cascade(graph.in_indptr)
    if graph.weights.scheme == "const":
        assert graph.weights.p is not None
        return _constant(graph.in_indptr, graph.weights.p)
    return _classes(graph.in_indptr, graph.in_indices, in_probabilities(graph))


def build_per_edge_tables(graph: Graph) -> dict[str, np.ndarray]:
    """Return tables in which every row is direct: one 32-bit draw per edge, as in the papers' samplers.

    The arrays are those of :func:`build_tables`; the in-edges keep their order, and ``accept`` is their probability
    minus one.
    """
    assert graph.in_indptr is not None
    rows = equal_rows(graph.in_indptr, MAX_LIVE)
    rows[:, 2] = OWN
    return {"rows": rows, "thresholds": np.zeros(1, np.uint64), "accept": in_probabilities(graph)}
