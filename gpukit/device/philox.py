"""Counter-based random numbers: Philox4x32-10, the same bits on every device.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A draw is a pure function of
(seed, stream, sample id, round, vertex, draw), so a sample can be drawn again, extended or restricted anywhere.

The functions are plain scalar integer code. They are compiled once for CPUs (``numba.njit``) and once for CUDA
(numba-cuda compiles the same dispatcher inside a kernel). The explicit casts keep both to unsigned integers of 32 and
64 bits.
"""

from enum import IntEnum

import numba
from numba import uint32, uint64

MAX_SAMPLE_ID = 1 << 48


class Stream(IntEnum):
    """The tag (8 bits) that separates draws for different purposes."""

    ROOT = 1
    IC = 2
    LT = 3
    WALK = 4
    FORWARD_IC = 5
    FORWARD_LT = 6
    TRIVALENCY = 7
    GENERATOR = 8
    BASELINE = 9
    WORLD = 10
    HIDDEN_WORLD = 11
    MRR_ROOT = 12
    LT_CLOCK = 13


@numba.njit(inline="always")
def _round(c0, c1, c2, c3, k0, k1):
    """Return the counter after one round of Philox4x32 with the round key (k0, k1)."""
    p0 = uint64(0xD2511F53) * uint64(c0)
    p1 = uint64(0xCD9E8D57) * uint64(c2)
    return (
        uint32(uint32(p1 >> uint64(32)) ^ c1 ^ k0),
        uint32(p1 & uint64(0xFFFFFFFF)),
        uint32(uint32(p0 >> uint64(32)) ^ c3 ^ k1),
        uint32(p0 & uint64(0xFFFFFFFF)),
    )


@numba.njit(inline="always")
def philox4x32(c0, c1, c2, c3, k0, k1):
    """Return the four 32-bit words of Philox4x32-10 for one counter and key.

    Parameters
    ----------
    c0, c1, c2, c3 : uint32
        The counter.
    k0, k1 : uint32
        The key.

    Returns
    -------
    tuple of 4 uint32
        Uniform, independent words.
    """
    c0, c1, c2, c3, k0, k1 = uint32(c0), uint32(c1), uint32(c2), uint32(c3), uint32(k0), uint32(k1)
    for _ in range(10):
        c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1)
        k0 = uint32((uint64(k0) + uint64(0x9E3779B9)) & uint64(0xFFFFFFFF))
        k1 = uint32((uint64(k1) + uint64(0xBB67AE85)) & uint64(0xFFFFFFFF))
    return c0, c1, c2, c3


@numba.njit(inline="always")
def draw4(seed, tag, sample, vertex, draw):
    """Return four 32-bit words of the keyed stream at (tag, sample, vertex, draw).

    Parameters
    ----------
    seed : uint64
        The user's seed; it is the key, unchanged.
    tag : int
        Stream and round: ``stream | round << 8`` with an 8-bit round (see :func:`stream_tag`).
    sample : int
        Sample id below 2**48.
    vertex : int
        Vertex id below 2**32.
    draw : int
        Number of the call within (tag, sample, vertex), below 2**32.

    Returns
    -------
    tuple of 4 uint32
    """
    s = uint64(sample)
    t = uint64(tag)
    high = ((s >> uint64(32)) & uint64(0xFFFF)) | ((t >> uint64(8)) << uint64(16)) | ((t & uint64(0xFF)) << uint64(24))
    k = uint64(seed)
    return philox4x32(
        uint32(uint64(draw) & uint64(0xFFFFFFFF)),
        uint32(uint64(vertex) & uint64(0xFFFFFFFF)),
        uint32(s & uint64(0xFFFFFFFF)),
        uint32(high),
        uint32(k & uint64(0xFFFFFFFF)),
        uint32(k >> uint64(32)),
    )


@numba.njit
def join64(low, high):
    """Return the 64-bit word with the given low and high 32-bit halves."""
    return uint64(low) | (uint64(high) << uint64(32))


def stream_tag(stream: Stream, round_: int = 0) -> int:
    """Return the tag argument of :func:`draw4` for a stream and a round in [0, 255]."""
    return int(stream) | round_ << 8
