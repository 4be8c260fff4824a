"""Edge probabilities: schemes, 32-bit fixed point, and the check for the linear threshold model.

A probability p in (0, 1] is the integer threshold t = max(1, floor(p·2**32 + ½)) in [1, 2**32]. Arrays store t - 1, so
p = 1 fits 32 bits. An edge is live iff a uniform 32-bit draw is <= the stored word.
"""

import math

import numba
import numpy as np
from numba import prange, uint64

from gpukit.device.compiled import njit
from gpukit.device.philox import Stream, draw4, stream_tag
from gpukit.errors import InputError, UsageError
from gpukit.graph.csr import Graph, Weights
from gpukit.graph.kernels import rows_by_edges
from gpukit.graph.lines import NUMBER
from gpukit.wording import spelled

ONE = 2**32
TRIVALENCY = (0.1, 0.01, 0.001)
SCHEMES = "wc, const:P, trivalency, uniform:LO:HI, file or none"


def no_probabilities() -> InputError:
    """Return the error for a graph that was imported without probabilities."""
    schemes = "wc|const:P|trivalency|uniform:LO:HI|file"
    return InputError(f"the graph has no edge probabilities; import it with {spelled('weights')} {schemes}")


def parse_weights(text: str, seed: int = 0) -> Weights:
    """Return the scheme that a text of the form ``wc | const:P | trivalency | uniform:LO:HI | file | none`` names.

    Parameters
    ----------
    text : str
        The scheme; P is a probability in (0, 1], and LO <= HI are in [0, 1].
    seed : int
        Stored for ``trivalency`` and ``uniform`` only.

    Raises
    ------
    UsageError
        If the text has none of these forms.
    """
    if text in ("wc", "file", "none"):
        return Weights(text)
    if text == "trivalency":
        return Weights(text, seed=seed)
    if text.startswith("const:"):
        (p,) = _numbers(text.removeprefix("const:"), 1)
        if not 0 < p <= 1:
            raise UsageError(f"{spelled('weights')} {text}: P must be a probability in (0, 1], as in const:0.01")
        return Weights("const", p=p)
    if text.startswith("uniform:"):
        low, high = _numbers(text.removeprefix("uniform:"), 2)
        if not 0 <= low <= high <= 1:
            raise UsageError(
                f"{spelled('weights')} {text}: LO <= HI must be probabilities in [0, 1], as in uniform:0:0.1"
            )
        return Weights("uniform", seed=seed, low=low, high=high)
    raise UsageError(f"{spelled('weights')} {text}: choose {SCHEMES}")


def _numbers(text: str, count: int) -> list[float]:
    """Return ``count`` numbers separated by colons; NaN for every number that is invalid."""
    words = text.split(":")
    found = [float(word) if NUMBER.fullmatch(word) else math.nan for word in words]
    return found if len(found) == count else [math.nan] * count


def threshold(p: float) -> int:
    """Return the fixed-point threshold, in [1, 2**32], of a probability in (0, 1]."""
    return max(1, math.floor(p * ONE + 0.5))


def stored(p: np.ndarray) -> np.ndarray:
    """Return the stored words (uint32) of probabilities (float64) in (0, 1]."""
    return (np.maximum(np.floor(np.asarray(p, np.float64) * ONE + 0.5), 1.0) - 1.0).astype(np.uint32)


def scaled(w: np.ndarray, heads: np.ndarray, n: int, scale: str) -> np.ndarray:
    """Return the probabilities of weights: divided by the largest, by the sum into the head, or by a number.

    Parameters
    ----------
    w : float64 array, shape (m,)
        Above 0, in an order that does not depend on the input, because floating-point sums depend on the order.
    heads : integer array, shape (m,)
    n : int
        Number of vertices.
    scale : str
        ``max``, ``in-sum`` or the number.

    Raises
    ------
    InputError
        If a weight is above the number, or a sum is not finite.
    """
    if scale not in ("max", "in-sum"):
        if w.max(initial=0) > float(scale):
            raise InputError(
                f"the weight {w.max():g} is above {spelled('scale', scale)}; give the largest possible weight, or more"
            )
        return w / float(scale)
    sums = w if scale == "max" else np.bincount(heads, weights=w, minlength=n)
    if not np.all(np.isfinite(sums)):
        raise InputError(
            "the weights of an edge or into a vertex sum to more than 1.8e308; divide them all by something"
        )
    return w / w.max(initial=0) if scale == "max" else w / sums[heads]


def cascade_stored(in_degree: np.ndarray) -> np.ndarray:
    """Return the stored words (uint32) of p = 1/d, rounded in integers; 0 where d = 0."""
    d = np.maximum(np.asarray(in_degree, np.int64), 1)
    words = (2 * ONE + d) // (2 * d) - 1
    return np.where(np.asarray(in_degree) > 0, words, 0).astype(np.uint32)


@njit(parallel=True)
def _trivalency(indptr, indices, first_rows, seed, tag, words):
    """Return a stored word for each edge: one of three, by a draw keyed by (tail, head)."""
    result = np.empty(len(indices), np.uint32)
    for worker in prange(len(first_rows) - 1):
        for u in range(first_rows[worker], first_rows[worker + 1]):
            for i in range(indptr[u], indptr[u + 1]):
                draw = draw4(seed, tag, u, indices[i], 0)[0]
                result[i] = words[(uint64(draw) * uint64(3)) >> uint64(32)]
    return result


def trivalency_stored(indptr: np.ndarray, indices: np.ndarray, seed: int) -> np.ndarray:
    """Return stored words (uint32, m) of 0.1, 0.01 or 0.001, chosen by a draw keyed by (seed, tail, head).

    Source: Chen, Wang, Wang, KDD 2010. Vertices are internal ids, which ascend with the original ids.
    """
    words = stored(np.array(TRIVALENCY))
    first_rows = rows_by_edges(indptr, numba.get_num_threads())
    return _trivalency(indptr, indices, first_rows, np.uint64(seed), stream_tag(Stream.TRIVALENCY), words)


@njit(parallel=True)
def _uniform(indptr, indices, first_rows, seed, tag, low, high):
    """Return a stored word for each edge: uniform between two thresholds, by a draw keyed by (tail, head)."""
    result = np.empty(len(indices), np.uint32)
    for worker in prange(len(first_rows) - 1):
        for u in range(first_rows[worker], first_rows[worker + 1]):
            for i in range(indptr[u], indptr[u + 1]):
                draw = draw4(seed, tag, u, indices[i], 0)[1]
                above = (uint64(draw) * (high - low + uint64(1))) >> uint64(32)
                result[i] = max(low + above, uint64(1)) - uint64(1)
    return result


def uniform_stored(indptr: np.ndarray, indices: np.ndarray, low: float, high: float, seed: int) -> np.ndarray:
    """Return stored words (uint32, m) of probabilities drawn uniformly from [low, high], keyed as for trivalency.

    All thresholds from that of ``low`` to that of ``high`` are equally likely, up to a relative error of 2**-32.
    Threshold 0 is raised to 1, like any p > 0 below 2**-32. ``high`` must be above 0. The draw uses another word than
    trivalency.
    """
    ends = [np.uint64(threshold(p) if p else 0) for p in (low, high)]
    first_rows = rows_by_edges(indptr, numba.get_num_threads())
    return _uniform(indptr, indices, first_rows, np.uint64(seed), stream_tag(Stream.TRIVALENCY), *ends)


def drawn_stored(weights: Weights, indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the stored words (uint32, m) of a scheme with drawn probabilities."""
    seed = weights.seed or 0
    if weights.scheme == "trivalency":
        return trivalency_stored(indptr, indices, seed)
    return uniform_stored(indptr, indices, weights.low or 0.0, weights.high or 0.0, seed)


def in_probabilities(graph: Graph) -> np.ndarray:
    """Return the stored words (uint32, m) of the in-edges in the order of the transpose, for any scheme.

    Raises
    ------
    InputError
        If the graph has no probabilities or was stored without its transpose.
    """
    if graph.in_indptr is None:
        raise InputError(
            f"the graph was stored without its transpose; import it again with {spelled('transpose', True)}"
        )
    if graph.in_probabilities is not None:
        return graph.in_probabilities
    degrees = np.diff(graph.in_indptr)
    return np.repeat(scheme_stored(graph.weights, degrees), degrees)


def out_probabilities(graph: Graph) -> np.ndarray:
    """Return the stored words (uint32, m) of the out-edges in the order of ``indices``, for any scheme.

    Raises
    ------
    InputError
        If the graph has no probabilities.
    """
    if graph.probabilities is not None:
        return graph.probabilities
    return head_probabilities(graph)[graph.indices]


def edge_weights(graph: Graph) -> np.ndarray:
    """Return the stored words (uint32, m) of the out-edges if they are weights of the edges.

    They are if they were read from a file or drawn for each edge, even if parallel edges were combined afterwards.

    Raises
    ------
    InputError
        If the graph has no probabilities, or they depend only on in-degrees, or all are equal.
    """
    made = graph.facts.get("combined_from", graph.weights.scheme)
    advice = f"import it with {spelled('weights', 'file')}, or leave {spelled('weighted', True)} out"
    if made == "none":
        raise InputError(f"the graph has no edge weights; {advice}")
    if made in ("wc", "const"):
        kind = (
            f"1 / in-degree ({spelled('weights', 'wc')})"
            if made == "wc"
            else f"all {graph.weights.p} ({spelled('weights', 'const')})"
        )
        raise InputError(f"the probabilities of the graph are {kind}, which are no weights of its edges; {advice}")
    if graph.facts.get("scale") == "in-sum":
        raise InputError(
            "the weights of the graph were divided by their sum into each vertex "
            f"({spelled('scale', 'in-sum')}), so they are no properties "
            f"of the edges; import it with {spelled('scale', 'max')}, or leave {spelled('weighted', True)} out"
        )
    assert graph.probabilities is not None
    return graph.probabilities


def head_probabilities(graph: Graph) -> np.ndarray:
    """Return the stored word (uint32, n) of all in-edges of each vertex, for schemes in which they are equal.

    Raises
    ------
    InputError
        If the graph has no probabilities.
    """
    return scheme_stored(graph.weights, in_degrees(graph))


def scheme_stored(weights: Weights, degrees: np.ndarray) -> np.ndarray:
    """Return the stored word of every in-edge of each vertex, for schemes in which they are equal."""
    if weights.scheme == "wc":
        return cascade_stored(degrees)
    if weights.scheme == "const":
        return np.full(len(degrees), threshold(weights.p or 1.0) - 1, np.uint32)
    raise no_probabilities()


def in_degrees(graph: Graph) -> np.ndarray:
    """Return the number of in-edges (int64) of each vertex."""
    if graph.in_indptr is not None:
        return np.diff(graph.in_indptr)
    return np.bincount(graph.indices, minlength=graph.n)


@njit
def _in_sums(indices, words, n):
    """Return the sum of thresholds (int64, n) of the in-edges of each vertex."""
    sums = np.zeros(n, np.int64)
    for i in range(len(indices)):
        sums[indices[i]] += np.int64(words[i]) + 1
    return sums


def check_lt(graph: Graph) -> None:
    """Check that the probabilities of the in-edges of every vertex sum to at most 1.

    Raises
    ------
    InputError
        With the first vertex that breaks it, by original id, and its sum; or if the graph has no probabilities.
    """
    if broken := above_one(graph):
        raise InputError(
            f"{broken}; the linear threshold model allows at most 1: import with {spelled('scale', 'in-sum')} "
            f"or {spelled('weights', 'wc')}, or "
            f"use {spelled('model', 'ic')} (in a workflow scale, weights or models of the graph)"
        )


def above_one(graph: Graph) -> str:
    """Return a text that says where the probabilities of in-edges sum to more than 1; empty if nowhere.

    The sum is over the fixed-point thresholds. Each differs from its probability by at most one unit of 2**-32: half a
    unit by rounding, up to one if p < 2**-33 was raised to a unit. So weights that sum to exactly 1 may give up to
    2**32 + d_in, and more than that means a sum above 1. Weighted cascade sums to 1 by definition.

    Raises
    ------
    InputError
        If the graph has no probabilities.
    """
    if graph.weights.scheme == "wc" and graph.probabilities is None:
        return ""
    degrees = in_degrees(graph)
    if graph.probabilities is None:
        sums = (scheme_stored(graph.weights, degrees).astype(np.int64) + 1) * degrees
    else:
        sums = _in_sums(graph.indices, graph.probabilities, graph.n)
    broken = np.flatnonzero(sums > ONE + degrees)
    if not len(broken):
        return ""
    vertex = broken[0]
    return (
        f"the probabilities into vertex {graph.original(vertex)} sum to {sums[vertex] / ONE:.6g}; "
        f"the sum is too large at {len(broken)} vertices"
    )
