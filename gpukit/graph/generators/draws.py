"""Shared parts of the generators: bounded draws, and the first m distinct edges of a keyed sequence."""

from collections.abc import Callable

import numba
import numpy as np
from numba import uint64

from gpukit.device.philox import Stream, stream_tag
from gpukit.errors import UsageError
from gpukit.graph.memory import DRAW_BYTES, check_drawing

# Each use has its own tag, so that no two generators use the same words.
TAG_RMAT, TAG_ER, TAG_ATTACHMENT, TAG_COMMUNITY, TAG_COIN, TAG_BACKGROUND, TAG_WEIGHT, TAG_FIRST = (
    stream_tag(Stream.GENERATOR, use) for use in range(8)
)
MAX_ROUNDS = 200


@numba.njit
def below64(low, high, bound):
    """Return floor((high · 2**32 + low) · bound / 2**64): a draw in [0, bound), bound < 2**63.

    Each value has probability 1/bound to within 2**-64. The bias, bound / 2**64, is below 2**-27 for every graph that
    fits (bound <= 2**37), so no rejection is needed.
    """
    bound_low, bound_high = uint64(bound) & uint64(0xFFFFFFFF), uint64(bound) >> uint64(32)
    low, high = uint64(low), uint64(high)
    middle = high * bound_low + ((low * bound_low) >> uint64(32))
    carry = (middle & uint64(0xFFFFFFFF)) + low * bound_high
    return high * bound_high + (middle >> uint64(32)) + (carry >> uint64(32))


def first_distinct(draw: Callable[[int, int], np.ndarray], count: int, kept: np.ndarray | None = None) -> np.ndarray:
    """Return the first ``count`` distinct values of a sequence, ascending.

    Each round draws as many values as are missing. So it never draws one too many, and the result does not depend on
    how the sequence is divided.

    Parameters
    ----------
    draw : callable
        ``draw(first, number)`` returns ``number`` values (int64) of the sequence from index ``first`` on; negative ones
        are skipped.
    count : int
        Number of distinct values to return.
    kept : int64 array or None
        Ascending distinct values that count as already drawn.

    Raises
    ------
    UsageError
        If the sequence does not yield enough new values.
    DeviceError
        If the values do not fit into memory.
    """
    found = np.empty(0, np.int64) if kept is None else kept
    position = 0
    for _ in range(MAX_ROUNDS):
        missing = count - len(found)
        if missing <= 0:
            return found
        check_drawing(f"drawing {count:,} edges", DRAW_BYTES * missing)
        new = draw(position, missing)
        position += missing
        new.sort()
        first = new >= 0
        first[1:] &= new[1:] != new[:-1]
        new = new[first]
        if len(found):
            place = np.searchsorted(found, new)
            place[place == len(found)] = 0
            new = new[found[place] != new]
        found = np.concatenate((found, new))
        found.sort(kind="stable")  # two ascending runs: a merge
    raise UsageError(f"the model yields too few distinct edges for {count}; ask for fewer edges or more vertices")


def canonical(keys: np.ndarray, undirected: bool) -> np.ndarray:
    """Replace keys u << 32 | v with u = v by -1 and, if undirected, those with u > v by v << 32 | u."""
    u, v = keys >> 32, keys & 0xFFFFFFFF
    if undirected:
        keys = np.minimum(u, v) << 32 | np.maximum(u, v)
    return np.where(u == v, -1, keys)


def unpack(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return int32 (u, v) of keys u << 32 | v."""
    return (keys >> 32).astype(np.int32), keys.astype(np.int32)


def check_size(n: int, m: int, undirected: bool) -> int:
    """Check 2 <= n < 2**31 and 1 <= m <= the number of possible edges; return that number."""
    if not 2 <= n < 2**31:
        raise UsageError(f"{n} vertices; a generated graph has 2 … 2**31 - 1")
    possible = n * (n - 1) // (2 if undirected else 1)
    if not 1 <= m <= min(possible, 2**32 - 1):
        raise UsageError(f"{m} edges on {n} vertices; 1 … {min(possible, 2**32 - 1)} are possible")
    return possible
