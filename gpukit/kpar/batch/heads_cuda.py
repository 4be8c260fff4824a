"""Heads of edges stored together with ω, so that a push on a GPU seldom reads ω itself.

A push adds to the residue of a head and checks whether this lifts it over ω · ρ. On a large graph ω is at a random
place of an array of megabytes. Reading it adds a third to the time of the atomic add. But a head does not use all 31
bits. The bits above it hold ω to a few binary digits. ω itself is read only if these digits do not decide whether the
head is lifted.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import int64

from gpukit.device.arrays import Buffer, Far, free_memory, xp
from gpukit.device.kernels import device, group
from gpukit.kpar.problem import ONE

EXPONENT = 5
"""Bits for the magnitude of ω; the remaining bits are its binary digits after the first."""

BARE = 31
"""Bits of a head that is stored without ω."""

SHARE = 4
"""Heads may take at most one part in SHARE of the free memory."""


class Heads(NamedTuple):
    """Heads of edges (int32, m): the vertex in the lower ``bits``, and above them the code of its ω.

    The code is an unsigned floating-point number with ``digits`` binary digits after the first. Below 2^digits it is ω
    itself. Otherwise ω is rounded down to 2^e · (2^digits + d), and the code is (e + 1) · 2^digits + d. If ``bits`` is
    BARE, there is no code.
    """

    words: Any
    bits: Any
    digits: Any


HEADS = group(Heads, "int32[::1]", "int64", "int64")
"""The type of :class:`Heads` in signatures of kernels."""


@device
def walks_within(word, heads):
    """Return the lowest and the highest ω that the code of a head allows."""
    if heads.bits == BARE:
        return int64(1), int64(ONE)
    code = word >> heads.bits
    e, least = (code >> heads.digits) - 1, code & ((int64(1) << heads.digits) - 1)
    if e < 0:
        return least, least
    least = ((int64(1) << heads.digits) + least) << e
    return least, least + (int64(1) << e) - 1


def _codes(walks: Any, digits: int) -> Any:
    """Return the code of each ω (int64) with ``digits`` digits (:class:`Heads`); ``walks`` is uint32."""
    large = xp.maximum(walks.astype(np.int64), 1 << digits)
    e = xp.frexp(large.astype(np.float64))[1].astype(np.int64) - 1 - digits
    return xp.where(walks < 1 << digits, walks.astype(np.int64), ((e + 1) << digits) + (large >> e) - (1 << digits))


def heads_of(n: int, indices: Buffer, walks: Any) -> Heads:
    """Return the heads of a graph's edges, stored together with ω; ``words`` is a Buffer.

    ``indices`` (int32, m) is returned unchanged if a head has too few free bits, if a second array does not fit into
    memory, or if the edges are not in this GPU's memory. ``walks`` is ω (uint32, n).
    """
    bits = max(1, (n - 1).bit_length())
    digits = BARE - bits - EXPONENT
    if digits < 0 or isinstance(indices, Far) or SHARE * indices.array.nbytes > free_memory():
        return Heads(indices, BARE, 0)
    words = xp.take((_codes(walks, digits) << bits).astype(np.int32), indices.array)
    words |= indices.array
    return Heads(Buffer(words), bits, digits)
