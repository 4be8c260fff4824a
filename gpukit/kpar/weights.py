"""Edge weights as transition probabilities: where a walk that goes on goes to, in exact fixed point, on the CPU."""

import numpy as np
from numba import uint64

from gpukit.device.compiled import njit
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import edge_weights
from gpukit.kpar.problem import Params


def edge_chances(graph: Graph) -> np.ndarray:
    """Return the chance that a walk takes an edge of its row up to this one, in units of 2**-64.

    Parameters
    ----------
    graph : Graph
        Its edge probabilities are taken as weights: an edge's chance is its share in the sum over the row.

    Returns
    -------
    uint64 array, shape (m,)
        Rounded down; what the last edge of a row has is not read: it takes the rest.

    Raises
    ------
    InputError
        If they are no weights (:func:`gpukit.graph.probabilities.edge_weights`).
    """
    return _cumulated(graph.indptr, edge_weights(graph))


def chances_for(graph: Graph, params: Params) -> np.ndarray | None:
    """Return :func:`edge_chances` where edges are weighted, or None where they count alike."""
    return edge_chances(graph) if params.weighted else None


@njit
def _cumulated(indptr, words):
    """Return ⌊2**64 · (sum up to an edge) / (sum of its row)⌋ of the weights ``words`` + 1."""
    chances = np.zeros(len(words), np.uint64)
    for v in range(len(indptr) - 1):
        cumulate(words, indptr[v], indptr[v + 1], chances)
    return chances


@njit
def cumulate(words, first, last, chances):
    """Write the chances of the edges first … last - 1, which are a row, of the weights ``words`` + 1."""
    # Below 2**32 · 2**31.
    whole, upto, shift = uint64(0), uint64(0), uint64(0)
    for e in range(first, last):
        whole += uint64(words[e]) + uint64(1)
    while whole > 0 and whole << shift < uint64(1) << uint64(63):
        shift += uint64(1)
    for e in range(first, last - 1):
        upto += uint64(words[e]) + uint64(1)
        high, rest = _digit(upto << shift, whole << shift)
        chances[e] = high << uint64(32) | _digit(rest, whole << shift)[0]


@njit
def _digit(part, whole):
    """Return ⌊2**32 · part / whole⌋ and what is left of part < whole, where 2**63 <= whole (Knuth's algorithm D).

    ``gpukit.kpar.rule.ratio`` finds the same quotient bit by bit, which takes a CPU ten times as long.
    """
    high, low = whole >> uint64(32), whole & uint64(0xFFFFFFFF)
    digit = part // high
    rest = part - digit * high
    while rest >> uint64(32) == 0 and digit * low > rest << uint64(32):
        digit -= uint64(1)
        rest += high
    return digit, (part << uint64(32)) - digit * whole
