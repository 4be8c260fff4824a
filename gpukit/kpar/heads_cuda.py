"""Heads of edges with ω beside them, so that a push on a GPU need not read it at another place.

A push adds to the residue of a head and looks whether that lifts it over ω · ρ. On a large graph ω is at a random place
of megabytes, and reading it takes a third as long again as the atomic add. But a head does not use all 31 bits: those
above hold ω + 1 where it is small, and 0 where it has to be read.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from gpukit.device.arrays import Buffer, Far, free_memory, xp

FEWEST = 4
"""Free bits of a head below which nothing is written into them: they would hold ω of hardly any vertex."""

SHARE = 4
"""Of the free memory the part that heads may take."""


class Heads(NamedTuple):
    """Heads of edges (int32, m): the vertex in the lower ``bits``, and above them ω + 1, or 0 where ω is not known."""

    words: Any
    bits: Any


HEADS = types.NamedTuple((numba.int32[::1], numba.int64), Heads)
"""Its type, in signatures of kernels."""


def heads_of(n: int, indices: Buffer, walks: Any) -> Heads:
    """Return the heads of the edges of a graph with ω beside them; ``words`` is a Buffer.

    Those of ``indices`` (int32, m) as they are, where a head has too few free bits, another array of them does not fit
    or they lie elsewhere. ``walks`` is ω (uint32, n).
    """
    bits = max(1, (n - 1).bit_length())
    if 31 - bits < FEWEST or isinstance(indices, Far) or SHARE * indices.array.nbytes > free_memory():
        return Heads(indices, 31)
    known = walks < (1 << 31 - bits) - 1
    beside = xp.where(known, (walks.astype(np.int64) + 1) << bits, 0).astype(np.int32)
    words = xp.take(beside, indices.array)
    words |= indices.array
    return Heads(Buffer(words), bits)
