"""Trivial RR sets, {root}: their probability is known for every vertex, so a collection need not draw them.

A set is trivial if no in-edge of its root is live. If edge probabilities are small, nearly all sets are trivial, and
they only add noise. Let q(v) be the probability that no in-edge of v is live, W_v the weight of v, and
Γ = Σ W_v (1 - q(v)). Then

    I(S) = Σ over v in S of W_v q(v)  +  Γ · Pr[S hits an RR set | it is not trivial].

The first term is modular and known. The second is a coverage, estimated from the *kept* sets. The idea is that of SKIS:
Nguyen, Nguyen, Phan, Dinh, "Importance sketching of influence dynamics in billion-scale networks", ICDM 2017.
docs/gim.md has the proof.
"""

from collections.abc import Sequence

import numpy as np
from numba import uint64

from gpukit.device.compiled import njit

ONE = 1 << 63
"""Probability 1 in units of 2**-63; 64-bit integers can hold both 0 and 1."""

_PIECE = 1 << 15
"""Number of products of 16-bit and 32-bit numbers whose sum always fits into 64 bits."""


@njit
def _times(q, word):
    """Return ⌊q · word / 2**32⌋ for q <= 2**63 and word <= 2**32."""
    return (q >> uint64(32)) * word + ((q & uint64(0xFFFFFFFF)) * word >> uint64(32))


@njit
def singleton_by_rows(rows, thresholds, n):
    """Return q of each vertex, in units of 2**-63 (uint64), from sampling tables with equal probabilities in a row."""
    singleton = np.empty(n, np.uint64)
    for v in range(n):
        q, row = uint64(ONE), v
        while True:
            length, meta = rows[row, 1], rows[row, 2]
            first = thresholds[meta >> 8]
            if meta & 255:
                q = _times(q, first >> uint64(32)) + (_times(q, first & uint64(0xFFFFFFFF)) >> uint64(32))
            else:
                for _ in range(length):
                    q = _times(q, uint64(1 << 32) - first)
            row = rows[row, 3]
            if row == 0:
                break
        singleton[v] = q
    return singleton


@njit
def singleton_by_edges(indptr, probabilities):
    """Return q of each vertex, as above, from the fixed-point probability of each in-edge: times 2**32, minus one."""
    singleton = np.empty(len(indptr) - 1, np.uint64)
    for v in range(len(singleton)):
        q = uint64(ONE)
        for e in range(indptr[v], indptr[v + 1]):
            q = _times(q, uint64(0xFFFFFFFF) - uint64(probabilities[e]))
        singleton[v] = q
    return singleton


def singleton_of_sums(sums: np.ndarray) -> np.ndarray:
    """Return q of each vertex under LT, with at most one live in-edge, from sums of fixed-point weights (uint64)."""
    return (uint64(1 << 32) - np.minimum(sums, uint64(1 << 32))) << uint64(31)


def kept_mass(singleton: np.ndarray, weights: np.ndarray | None) -> int:
    """Return Γ, exactly, in units of 2**-63.

    Parameters
    ----------
    singleton : uint64 array, shape (n,)
        q of each vertex.
    weights : int64 array, shape (n,), or None
        Weight of each vertex; 1 each if not given.
    """
    larger = uint64(ONE) - singleton
    whole = np.ones(1, np.uint64) if weights is None else weights.astype(np.uint64)
    total = 0
    for high in range(0, int(whole.max()).bit_length(), 16):
        for low in (0, 32):
            products = (whole >> uint64(high) & uint64(0xFFFF)) * (larger >> uint64(low) & uint64(0xFFFFFFFF))
            total += sum(_sums(products)) << (high + low)
    return total


def _sums(products: np.ndarray) -> Sequence[int]:
    return np.add.reduceat(products, np.arange(0, len(products), _PIECE)).tolist()
