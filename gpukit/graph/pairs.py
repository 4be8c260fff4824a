"""Edges as pairs of 32-bit ids side by side: where they are read they become keys, and then rows, in place."""

import sys

import numpy as np

_TAIL = 1 if sys.byteorder == "little" else 0
"""Which of the two words is the high one of a key, tail << 32 | head."""


def paired(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return room for ``count`` tails and heads (int32), which :func:`keys_behind` knows again."""
    words = np.empty((count, 2), np.int32)
    return words[:, _TAIL], words[:, 1 - _TAIL]


def keys_behind(u: np.ndarray, v: np.ndarray) -> np.ndarray | None:
    """Return the keys (int64, shape (edges,)) in whose halves tails and heads lie; None if they lie elsewhere."""
    words = u.base
    if words is None or words is not v.base or words.dtype != np.int32 or words.shape != (len(u), 2):
        return None
    start = words.ctypes.data
    if (u.ctypes.data, v.ctypes.data) != (start + 4 * _TAIL, start + 4 * (1 - _TAIL)) or not words.flags.c_contiguous:
        return None
    return words.view(np.int64).reshape(-1)
