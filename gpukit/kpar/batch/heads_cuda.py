"""Heads of edges with ω beside them, so that a push on a GPU hardly ever reads it at another place.

A push adds to the residue of a head and looks whether that lifts it over ω · ρ. On a large graph ω is at a random place
of megabytes, and reading it takes a third as long again as the atomic add. But a head does not use all 31 bits: those
above hold ω to a few binary digits, and it is read only where these leave open whether the head is lifted.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import int64

from gpukit.device.arrays import Buffer, Far, free_memory, xp
from gpukit.device.kernels import device, group
from gpukit.kpar.problem import ONE

EXPONENT = 5
"""Bits that tell how large ω is; the others are its digits after the first one."""

BARE = 31
"""Bits of a head that has nothing beside it."""

SHARE = 4
"""Of the free memory the part that heads may take."""


class Heads(NamedTuple):
    """Heads of edges (int32, m): the vertex in the lower ``bits``, and above them the code of its ω.

    The code is a floating-point number of ``digits`` binary digits after the first, without a sign: ω itself below
    2^digits, and then 2^e · (2^digits + d) rounded down, as (e + 1) · 2^digits + d. Nothing where ``bits`` is BARE.
    """

    words: Any
    bits: Any
    digits: Any


HEADS = group(Heads, "int32[::1]", "int64", "int64")
"""Its type, in signatures of kernels."""


@device
def walks_within(word, heads):
    """Return the least and the largest that ω of a head may be."""
    if heads.bits == BARE:
        return int64(1), int64(ONE)
    code = word >> heads.bits
    e, least = (code >> heads.digits) - 1, code & ((int64(1) << heads.digits) - 1)
    if e < 0:
        return least, least
    least = ((int64(1) << heads.digits) + least) << e
    return least, least + (int64(1) << e) - 1


def _codes(walks: Any, digits: int) -> Any:
    """Return the code of each ω (int64) with so many digits (:class:`Heads`); ``walks`` is uint32."""
    large = xp.maximum(walks.astype(np.int64), 1 << digits)
    e = xp.frexp(large.astype(np.float64))[1].astype(np.int64) - 1 - digits
    return xp.where(walks < 1 << digits, walks.astype(np.int64), ((e + 1) << digits) + (large >> e) - (1 << digits))


def heads_of(n: int, indices: Buffer, walks: Any) -> Heads:
    """Return the heads of the edges of a graph with ω beside them; ``words`` is a Buffer.

    Those of ``indices`` (int32, m) as they are, where a head has too few free bits, another array of them does not fit
    or they lie elsewhere. ``walks`` is ω (uint32, n).
    """
    bits = max(1, (n - 1).bit_length())
    digits = BARE - bits - EXPONENT
    if digits < 0 or isinstance(indices, Far) or SHARE * indices.array.nbytes > free_memory():
        return Heads(indices, BARE, 0)
    words = xp.take((_codes(walks, digits) << bits).astype(np.int32), indices.array)
    words |= indices.array
    return Heads(Buffer(words), bits, digits)
