"""Judge answers of top-k personalised PageRank: the power method, precision, NDCG and Definition 1 of the kPAR paper.

It uses floating point and SciPy, and shares no code with the search.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gpukit.errors import UsageError
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import edge_weights

TOLERANCE = 1e-10
"""Mass of a walk distribution that the power method may leave undistributed."""

LEFT = 1e-14
"""Remaining mass below which rounding errors are larger than the differences between values."""

TIE = 1e-9
BLOCK = 16
"""Sources whose vectors advance together."""

ROOM = 8 << 30
"""Most bytes of blocks that advance concurrently; a single block may need more."""


@dataclass(frozen=True)
class Quality:
    """The quality of the answers of a batch; means are over queries.

    Attributes
    ----------
    queries, k : int
        Number of queries and length of an answer.
    precision : float
        Share of the min(k, reachable) first places whose vertices have a π of at least the k-th largest (ties are
        hits).
    ndcg : float
        Discounted gain of the answers, with gain π, as a share of the best possible.
    violations, positions : int
        Positions with π(v*_i) > δ at which Definition 1 fails, and their number.
    queries_violated : int
        Queries with at least one such violation.
    max_error : float
        Largest absolute error of π̂ of a returned vertex.
    each : list of (precision, ndcg, violations) a query
    """

    queries: int
    k: int
    precision: float
    ndcg: float
    violations: int
    positions: int
    queries_violated: int
    max_error: float
    each: list[tuple[float, float, int]]


def power_method(
    graph: Graph,
    offsets: np.ndarray,
    vertices: np.ndarray,
    mass: np.ndarray,
    alpha: float,
    *,
    weighted: bool = False,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[np.ndarray]:
    """Yield the personalised PageRank of each query, exact except for a mass of 1e-10.

    A walk stops with probability alpha at a vertex with out-edges, and always at one without.

    Parameters
    ----------
    graph : Graph
    offsets, vertices : int64 and integer arrays
        Internal ids of the sources, query by query.
    mass : float64 array
        Start probabilities; they sum to 1 in each query.
    alpha : float
        In (0, 1).
    weighted : bool
        Whether a walk chooses edges in proportion to their probabilities in the graph, instead of uniformly.
    threads : int
        Most blocks of sources that are processed concurrently, if there is room.
    progress : callable, optional
        Called with (queries done, queries).

    Yields
    ------
    float64 array, shape (n,)

    Raises
    ------
    InputError
        If edges are to be weighted and the graph has no weights.
    """
    forward, stops = _steps(graph, alpha, weighted)
    queries = len(offsets) - 1
    # A block holds three vectors for each of its sources.
    threads = max(1, min(threads, ROOM // (3 * 8 * BLOCK * max(graph.n, 1))))

    def spread(first: int) -> np.ndarray:
        """Return π of the queries of a block, one column per query."""
        last = min(first + BLOCK, queries)
        rest = np.zeros((graph.n, last - first))
        for q in range(first, last):
            part = slice(offsets[q], offsets[q + 1])
            rest[vertices[part], q - first] = mass[part]
        found = np.zeros_like(rest)
        while rest.sum(axis=0).max() > TOLERANCE:
            found += stops[:, None] * rest
            rest = forward @ rest
        return found

    with ThreadPoolExecutor(threads) as pool:
        for together in range(0, queries, threads * BLOCK):
            blocks = range(together, min(together + threads * BLOCK, queries), BLOCK)
            for first, found in zip(blocks, pool.map(spread, blocks), strict=True):
                for column in range(found.shape[1]):
                    if progress is not None:
                        progress(first + column + 1, queries)
                    yield np.ascontiguousarray(found[:, column])


def _steps(graph: Graph, alpha: float, weighted: bool) -> tuple[Any, np.ndarray]:
    """Return the matrix that advances a walk distribution by a step, and each vertex's stop probability (float64)."""
    from scipy.sparse import csr_array

    degrees = np.diff(graph.indptr)
    weights = edge_weights(graph).astype(np.float64) + 1 if weighted else np.ones(graph.m)
    sums = np.bincount(np.repeat(np.arange(graph.n), degrees), weights=weights, minlength=graph.n)
    values = (1 - alpha) * weights / np.repeat(sums, degrees)
    forward = csr_array((values, graph.indices, graph.indptr), shape=(graph.n, graph.n)).T.tocsr()
    return forward, np.where(degrees > 0, alpha, 1.0)


class Certified(NamedTuple):
    """The k best vertices of a query, proved by bounds.

    Attributes
    ----------
    vertices, scores : int64 and float64 arrays
        By decreasing π, ties by id; each score is off by at most ``error``.
    certain : bool array
        Whether no vertex outside the answer ties with this one.
    tied : int64 array
        The vertices outside that tie with the last vertex of the answer, ascending.
    error : float
        Two values tie if they differ by less than twice this.
    """

    vertices: np.ndarray
    scores: np.ndarray
    certain: np.ndarray
    tied: np.ndarray
    error: float


def certified(
    graph: Graph, offsets: np.ndarray, vertices: np.ndarray, mass: np.ndarray, alpha: float, k: int, *,
    weighted: bool = False, among: np.ndarray | None = None,
) -> Iterator[Certified]:  # fmt: skip
    """Yield the k vertices with the largest personalised PageRank of each query, certified by bounds; ties are listed.

    The power method continues until the remaining mass and the rounding errors together cannot change the order of the
    k + 1 best, or until 1e-14 of the mass is left. Values that are not separated by then tie. Parameters are those of
    :func:`power_method`; ``among`` (bool, n) marks the vertices that an answer may name.
    """
    forward, stops = _steps(graph, alpha, weighted)
    # A sum of d products rounds d + 1 times, each by at most 2**-53 of its value; the mass that stops rounds once more.
    rounding = (int(np.diff(forward.indptr).max(initial=0)) + 4) * 2.0**-53
    for low, high in pairwise(offsets.tolist()):
        rest, found, rounds, seen = np.zeros(graph.n), np.zeros(graph.n), 0, 0
        rest[vertices[low:high]] = mass[low:high]
        while True:
            found += stops * rest
            rest = forward @ rest
            rounds += 1
            left = float(rest.sum())
            reached = int(np.count_nonzero(found))
            if rounds % 4 and left > LEFT:
                continue
            values = found if among is None else np.where(among, found, 0)
            order = top(values, k + 1)
            error = left + rounds * rounding * float(values.max(initial=0))
            apart = bool(np.all(-np.diff(values[order]) > 2 * error)) and len(order) == k + 1
            if apart or (left <= LEFT and reached == seen):
                break
            seen = reached
        yield _certified(values, k, error)


def _certified(values: np.ndarray, k: int, error: float) -> Certified:
    """Return the k best by values with an error of at most ``error``; vertices of a tie are ordered by id."""
    order = top(values, len(values))
    if len(order):
        groups = np.concatenate([[0], np.cumsum(-np.diff(values[order]) > 2 * error)])
        order = order[np.lexsort((order, groups))]
        last = groups[min(k, len(order)) - 1]
        across = len(order) > k and groups[k] == last
        chosen, tied = order[:k], np.sort(order[k:][groups[k:] == last])
        certain = (groups[: len(chosen)] != last) | (not across)
        return Certified(chosen, values[chosen], certain, tied, error)
    return Certified(order, values[order], np.empty(0, bool), order, error)


def top(values: np.ndarray, k: int) -> np.ndarray:
    """Return the vertices of the k largest positive values (int64), by decreasing value, then by id."""
    order = np.flatnonzero(values > 0)
    return order[np.argsort(-values[order], kind="stable")][:k]


@dataclass(frozen=True)
class Answers:
    """Answers to a batch of queries, and the parameters to judge them by.

    Attributes
    ----------
    offsets, nodes, scores : int64, integer and float64 arrays
        Concatenated answers: internal ids and π̂, best first.
    k : int
        Length of an answer; a missing place counts as score 0.
    epsilon, delta : float
        Parameters of Definition 1, which judges only places with π(v*_i) > delta.
    """

    offsets: np.ndarray
    nodes: np.ndarray
    scores: np.ndarray
    k: int
    epsilon: float
    delta: float


def judge(
    truths: Iterator[np.ndarray],
    offsets: np.ndarray,
    nodes: np.ndarray,
    scores: np.ndarray,
    k: int,
    *,
    epsilon: float,
    delta: float,
) -> Quality:
    """Compare answers with the truth; arguments and errors are those of :class:`Answers` and :func:`judge_all`."""
    return judge_all(truths, [Answers(offsets, nodes, scores, k, epsilon, delta)])[0]


def judge_all(truths: Iterator[np.ndarray], every: Sequence[Answers]) -> list[Quality]:
    """Compare several answers to the same queries with the truth, which is computed once.

    Parameters
    ----------
    truths : iterator of float64 array, shape (n,)
        π of each query, in order.
    every : sequence of Answers

    Returns
    -------
    list of Quality

    Raises
    ------
    UsageError
        If there is no query.
    """
    if any(len(answers.offsets) < 2 for answers in every):
        raise UsageError("there are no answers to judge; give at least one query")
    longest = max(answers.k for answers in every)
    judged = []
    for q, truth in enumerate(truths):
        best = truth[top(truth, longest)]  # sorted once: this takes longer than judging
        judged.append([_judge_one(truth, best[: answers.k], answers, q) for answers in every])
    return [_summary(answers.k, each) for answers, each in zip(every, zip(*judged, strict=True), strict=True)]


class _Judged(NamedTuple):
    """The quality of the answer to one query; as in :class:`Quality`."""

    precision: float
    ndcg: float
    violations: int
    positions: int
    error: float


def _judge_one(truth: np.ndarray, best: np.ndarray, answers: Answers, q: int) -> _Judged:
    """Compare the answer to one query with the truth; ``best`` has the min(k, reachable) largest true values."""
    part = slice(answers.offsets[q], answers.offsets[q + 1])
    k, epsilon = answers.k, answers.epsilon
    found, estimate = answers.nodes[part][:k].astype(np.int64), answers.scores[part][:k]
    reach = len(best)
    actual = np.zeros(reach)
    actual[: min(len(found), reach)] = truth[found[:reach]]
    claimed = np.zeros(reach)
    claimed[: min(len(found), reach)] = estimate[:reach]
    hits = int(np.count_nonzero(truth[found[:reach]] >= best[-1] * (1 - TIE))) if reach else 0
    discount = 1 / np.log2(np.arange(2, reach + 2))
    judged = best > answers.delta
    broken = (np.abs(claimed - actual) > epsilon * actual) | (actual < (1 - epsilon) * best) | (actual == 0)
    return _Judged(
        hits / reach,
        math.fsum(actual * discount) / math.fsum(best * discount),
        int((broken & judged).sum()),
        int(judged.sum()),
        float(np.abs(estimate - truth[found]).max()) if len(found) else 0.0,
    )


def _summary(k: int, each: Sequence[_Judged]) -> Quality:
    """Return the means and sums over the queries."""
    return Quality(
        len(each),
        k,
        math.fsum(one.precision for one in each) / len(each),
        math.fsum(one.ndcg for one in each) / len(each),
        sum(one.violations for one in each),
        sum(one.positions for one in each),
        sum(1 for one in each if one.violations),
        max(one.error for one in each),
        [one[:3] for one in each],
    )
