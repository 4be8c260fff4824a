"""Edge weights as transition probabilities: where a walk that goes on goes to, in exact fixed point, on the CPU."""

import numpy as np
from numba import uint64

from gpukit.device.compiled import njit
from gpukit.graph.csr import Graph
from gpukit.graph.probabilities import edge_weights
from gpukit.kpar.problem import Params
from gpukit.kpar.rule import ratio


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
        # Below 2**32 · 2**31.
        whole = uint64(0)
        for e in range(indptr[v], indptr[v + 1]):
            whole += uint64(words[e]) + uint64(1)
        upto = uint64(0)
        for e in range(indptr[v], indptr[v + 1] - 1):
            upto += uint64(words[e]) + uint64(1)
            chances[e] = ratio(upto, whole)
    return chances
